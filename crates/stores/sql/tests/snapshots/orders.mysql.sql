-- orders: every statement. Written by the snapshot test; do not edit.

-- create
CREATE TABLE `Order` (
  `orderId` char(36),
    `select` tinyint,
    `tries` int,
    `nextAttemptAt` datetime(3),
    `lastAttemptAt` datetime(3),
    `group` varchar(40),
    `lastError` varchar(40),
    `createdAt` datetime(3),
    `rank` int,
    `to` varchar(40),
    `order` varchar(40),
    `bodyHtml` text,
    `meta` json,
    `tenant` varchar(40),
    PRIMARY KEY (`orderId`)
);

-- create
CREATE INDEX `Order_mail_claim` ON `Order` (`select`, `tenant`, `rank` DESC, `nextAttemptAt`, `orderId`);

-- create
CREATE INDEX `Order_mail_lease` ON `Order` (`select`, `tenant`, `lastAttemptAt`);

-- create
CREATE INDEX `Order_done_purge` ON `Order` (`select`, `tenant`, `createdAt`);

-- mail: layout Layout { integer_id: false, fences: 2, claim_time: Some(1), pool: 8, fields: ["headers",
--   "html", "subject", "to", "results"], joined: [] }

-- mail: claim 1, step 1: [Owner, Limit] -> Rows
SELECT
  CAST(t.`orderId` AS CHAR),
  CAST(LEFT(?, 40) AS CHAR),
  CAST(
    CAST(
      CASE
        WHEN t.`lastAttemptAt`
          BETWEEN UTC_TIMESTAMP(6) - INTERVAL 1000 MICROSECOND
          AND UTC_TIMESTAMP(6) + INTERVAL 60 SECOND
          THEN t.`lastAttemptAt` + INTERVAL 1000 MICROSECOND
        ELSE UTC_TIMESTAMP(6)
        END AS DATETIME(3)
    ) AS CHAR
  ),
  CAST(COALESCE(t.`tries`, 0) AS SIGNED),
  NULL,
  NULL,
  NULL,
  NULL,
  NULL,
  NULL,
  CAST(
    COALESCE(
      TIMESTAMPDIFF(MICROSECOND, t.`nextAttemptAt`, UTC_TIMESTAMP(6)),
        TIMESTAMPDIFF(MICROSECOND, t.`createdAt`, UTC_TIMESTAMP(6))
    ) AS SIGNED
  ),
  CAST(
    COALESCE(LENGTH(t.`meta`), 0)
      + COALESCE(LENGTH(t.`bodyHtml`), 0)
      + COALESCE(LENGTH(t.`order`), 0)
      + COALESCE(LENGTH(t.`to`), 0) AS SIGNED
  ),
  CASE WHEN LENGTH(t.`meta`) <= 65536 THEN CAST(t.`meta` AS CHAR) END,
  CASE WHEN LENGTH(t.`bodyHtml`) <= 65536 THEN t.`bodyHtml` END,
  CASE WHEN LENGTH(t.`order`) <= 65536 THEN t.`order` END,
  CASE WHEN LENGTH(t.`to`) <= 65536 THEN t.`to` END,
  (
    SELECT r.results
      FROM postrider_recipients AS r
      WHERE r.source = 'Order'
      AND r.row_id = CONVERT(CAST(t.`orderId` AS CHAR) USING utf8mb4) COLLATE utf8mb4_bin
  )
FROM `Order` AS t
WHERE t.`select` = 0
  AND (t.`nextAttemptAt` IS NULL OR t.`nextAttemptAt` <= UTC_TIMESTAMP(6))
  AND COALESCE(t.`tries`, 0) < 4
  AND t.`tenant` = 'it''s us'
ORDER BY t.`rank` DESC, t.`nextAttemptAt`, t.`orderId`
LIMIT ?
FOR UPDATE SKIP LOCKED;

-- mail: claim 1, step 2: [ClaimTime, Owner, Held] -> Nothing
UPDATE `Order` AS t SET
  t.`select` = 1,
  t.`lastAttemptAt` = ?,
  t.`group` = LEFT(?, 40)
WHERE t.`orderId` IN ({held});

-- mail: load: [Ids] -> Other
SELECT
  CAST(t.`orderId` AS CHAR),
  CAST(t.`meta` AS CHAR),
  t.`bodyHtml`,
  t.`order`,
  t.`to`,
  (
    SELECT r.results
      FROM postrider_recipients AS r
      WHERE r.source = 'Order'
      AND r.row_id = CONVERT(CAST(t.`orderId` AS CHAR) USING utf8mb4) COLLATE utf8mb4_bin
  )
FROM `Order` AS t
WHERE t.`orderId` IN ({ids});

-- mail: settle delivered, uniform, step 1: [Ids, One(Fence(0)), One(Fence(1))] -> Keys
SELECT CAST(t.`orderId` AS CHAR)
FROM `Order` AS t
WHERE t.`orderId` IN ({ids})
  AND t.`select` = 1
  AND t.`group` <=> ?
  AND t.`lastAttemptAt` <=> CAST(? AS DATETIME(6))
FOR UPDATE;

-- mail: settle delivered, uniform, step 2: [One(Reason), Held] -> Nothing
UPDATE `Order` AS t SET
  t.`select` = 2,
  t.`group` = NULL,
  t.`lastError` = LEFT(?, 40)
WHERE t.`orderId` IN ({held});

-- mail: settle delivered, each, step 1: [Rows([Id, Fence(0), Fence(1)])] -> Keys
SELECT CAST(t.`orderId` AS CHAR)
FROM (
  SELECT *
    FROM JSON_TABLE(
      ?,
        '$[*]' COLUMNS (
          `id` VARCHAR(255) PATH '$.id', `f0` VARCHAR(255) PATH '$.f0', `f1` DATETIME(6) PATH '$.f1'
        )
    ) AS j
) AS v STRAIGHT_JOIN `Order` AS t
WHERE t.`orderId` = v.`id`
  AND t.`select` = 1
  AND t.`group` <=> v.`f0`
  AND t.`lastAttemptAt` <=> v.`f1`
FOR UPDATE;

-- mail: settle delivered, each, step 2: [Rows([Reason, Id]), Held] -> Nothing
UPDATE `Order` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?, '$[*]' COLUMNS (`reason` LONGTEXT PATH '$.reason', `id` VARCHAR(255) PATH '$.id')
      ) AS j
  ) AS v
  ON t.`orderId` = v.`id` SET
  t.`select` = 2,
  t.`group` = NULL,
  t.`lastError` = LEFT(v.`reason`, 40)
WHERE t.`orderId` IN ({held});

-- mail: settle delivered, remembering, step 1: [Rows([Id, Fence(0), Fence(1)])] -> Keys
SELECT CAST(t.`orderId` AS CHAR)
FROM (
  SELECT *
    FROM JSON_TABLE(
      ?,
        '$[*]' COLUMNS (
          `id` VARCHAR(255) PATH '$.id', `f0` VARCHAR(255) PATH '$.f0', `f1` DATETIME(6) PATH '$.f1'
        )
    ) AS j
) AS v STRAIGHT_JOIN `Order` AS t
WHERE t.`orderId` = v.`id`
  AND t.`select` = 1
  AND t.`group` <=> v.`f0`
  AND t.`lastAttemptAt` <=> v.`f1`
FOR UPDATE;

-- mail: settle delivered, remembering, step 2: [Rows([Reason, Id]), Held] -> Nothing
UPDATE `Order` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?, '$[*]' COLUMNS (`reason` LONGTEXT PATH '$.reason', `id` VARCHAR(255) PATH '$.id')
      ) AS j
  ) AS v
  ON t.`orderId` = v.`id` SET
  t.`select` = 2,
  t.`group` = NULL,
  t.`lastError` = LEFT(v.`reason`, 40)
WHERE t.`orderId` IN ({held});

-- mail: settle delivered, remembering, step 3: [Rows([Outcome("remembered_recipients"), Id]), Held] ->
--   Nothing
INSERT INTO postrider_recipients (source, row_id, results, changed_at)
SELECT
  'Order',
  CONVERT(CAST(t.`orderId` AS CHAR) USING utf8mb4) COLLATE utf8mb4_bin,
  v.`o_remembered_recipients`,
  UTC_TIMESTAMP(6)
FROM `Order` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?,
          '$[*]' COLUMNS (
            `o_remembered_recipients` LONGTEXT PATH '$.o_remembered_recipients', `id` VARCHAR(255) PATH '$.id'
          )
      ) AS j
  ) AS v
  ON t.`orderId` = v.`id`
WHERE t.`orderId` IN ({held})
ON DUPLICATE KEY UPDATE results = VALUES(results), changed_at = VALUES(changed_at);

-- mail: settle delivered, remembering, step 4: [Held] -> Nothing
DELETE r
  FROM postrider_recipients AS r
  JOIN `Order` AS t
  ON r.row_id = CONVERT(CAST(t.`orderId` AS CHAR) USING utf8mb4) COLLATE utf8mb4_bin
WHERE r.source = 'Order' AND t.`orderId` IN ({held}) AND r.results NOT LIKE '%"refused"%';

-- mail: settle retry, uniform, step 1: [Ids, One(Fence(0)), One(Fence(1))] -> Keys
SELECT CAST(t.`orderId` AS CHAR)
FROM `Order` AS t
WHERE t.`orderId` IN ({ids})
  AND t.`select` = 1
  AND t.`group` <=> ?
  AND t.`lastAttemptAt` <=> CAST(? AS DATETIME(6))
FOR UPDATE;

-- mail: settle retry, uniform, step 2: [One(Delay), One(Reason), Held] -> Nothing
UPDATE `Order` AS t SET
  t.`select` = 0,
  t.`group` = NULL,
  t.`nextAttemptAt` = UTC_TIMESTAMP(6) + INTERVAL ROUND(? * 1000000) MICROSECOND,
  t.`tries` = COALESCE(t.`tries`, 0) + 1,
  t.`lastError` = LEFT(?, 40)
WHERE t.`orderId` IN ({held});

-- mail: settle retry, each, step 1: [Rows([Id, Fence(0), Fence(1)])] -> Keys
SELECT CAST(t.`orderId` AS CHAR)
FROM (
  SELECT *
    FROM JSON_TABLE(
      ?,
        '$[*]' COLUMNS (
          `id` VARCHAR(255) PATH '$.id', `f0` VARCHAR(255) PATH '$.f0', `f1` DATETIME(6) PATH '$.f1'
        )
    ) AS j
) AS v STRAIGHT_JOIN `Order` AS t
WHERE t.`orderId` = v.`id`
  AND t.`select` = 1
  AND t.`group` <=> v.`f0`
  AND t.`lastAttemptAt` <=> v.`f1`
FOR UPDATE;

-- mail: settle retry, each, step 2: [Rows([Delay, Reason, Id]), Held] -> Nothing
UPDATE `Order` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?,
          '$[*]' COLUMNS (
            `delay` DOUBLE PATH '$.delay', `reason` LONGTEXT PATH '$.reason', `id` VARCHAR(255) PATH '$.id'
          )
      ) AS j
  ) AS v
  ON t.`orderId` = v.`id` SET
  t.`select` = 0,
  t.`group` = NULL,
  t.`nextAttemptAt` = UTC_TIMESTAMP(6) + INTERVAL ROUND(v.`delay` * 1000000) MICROSECOND,
  t.`tries` = COALESCE(t.`tries`, 0) + 1,
  t.`lastError` = LEFT(v.`reason`, 40)
WHERE t.`orderId` IN ({held});

-- mail: settle retry, remembering, step 1: [Rows([Id, Fence(0), Fence(1)])] -> Keys
SELECT CAST(t.`orderId` AS CHAR)
FROM (
  SELECT *
    FROM JSON_TABLE(
      ?,
        '$[*]' COLUMNS (
          `id` VARCHAR(255) PATH '$.id', `f0` VARCHAR(255) PATH '$.f0', `f1` DATETIME(6) PATH '$.f1'
        )
    ) AS j
) AS v STRAIGHT_JOIN `Order` AS t
WHERE t.`orderId` = v.`id`
  AND t.`select` = 1
  AND t.`group` <=> v.`f0`
  AND t.`lastAttemptAt` <=> v.`f1`
FOR UPDATE;

-- mail: settle retry, remembering, step 2: [Rows([Delay, Reason, Id]), Held] -> Nothing
UPDATE `Order` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?,
          '$[*]' COLUMNS (
            `delay` DOUBLE PATH '$.delay', `reason` LONGTEXT PATH '$.reason', `id` VARCHAR(255) PATH '$.id'
          )
      ) AS j
  ) AS v
  ON t.`orderId` = v.`id` SET
  t.`select` = 0,
  t.`group` = NULL,
  t.`nextAttemptAt` = UTC_TIMESTAMP(6) + INTERVAL ROUND(v.`delay` * 1000000) MICROSECOND,
  t.`tries` = COALESCE(t.`tries`, 0) + 1,
  t.`lastError` = LEFT(v.`reason`, 40)
WHERE t.`orderId` IN ({held});

-- mail: settle retry, remembering, step 3: [Rows([Outcome("remembered_recipients"), Id]), Held] -> Nothing
INSERT INTO postrider_recipients (source, row_id, results, changed_at)
SELECT
  'Order',
  CONVERT(CAST(t.`orderId` AS CHAR) USING utf8mb4) COLLATE utf8mb4_bin,
  v.`o_remembered_recipients`,
  UTC_TIMESTAMP(6)
FROM `Order` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?,
          '$[*]' COLUMNS (
            `o_remembered_recipients` LONGTEXT PATH '$.o_remembered_recipients', `id` VARCHAR(255) PATH '$.id'
          )
      ) AS j
  ) AS v
  ON t.`orderId` = v.`id`
WHERE t.`orderId` IN ({held})
ON DUPLICATE KEY UPDATE results = VALUES(results), changed_at = VALUES(changed_at);

-- mail: settle dead, uniform, step 1: [Ids, One(Fence(0)), One(Fence(1))] -> Keys
SELECT CAST(t.`orderId` AS CHAR)
FROM `Order` AS t
WHERE t.`orderId` IN ({ids})
  AND t.`select` = 1
  AND t.`group` <=> ?
  AND t.`lastAttemptAt` <=> CAST(? AS DATETIME(6))
FOR UPDATE;

-- mail: settle dead, uniform, step 2: [One(Reason), Held] -> Nothing
UPDATE `Order` AS t SET
  t.`select` = 9,
  t.`group` = NULL,
  t.`tries` = COALESCE(t.`tries`, 0) + 1,
  t.`lastError` = LEFT(?, 40)
WHERE t.`orderId` IN ({held});

-- mail: settle dead, each, step 1: [Rows([Id, Fence(0), Fence(1)])] -> Keys
SELECT CAST(t.`orderId` AS CHAR)
FROM (
  SELECT *
    FROM JSON_TABLE(
      ?,
        '$[*]' COLUMNS (
          `id` VARCHAR(255) PATH '$.id', `f0` VARCHAR(255) PATH '$.f0', `f1` DATETIME(6) PATH '$.f1'
        )
    ) AS j
) AS v STRAIGHT_JOIN `Order` AS t
WHERE t.`orderId` = v.`id`
  AND t.`select` = 1
  AND t.`group` <=> v.`f0`
  AND t.`lastAttemptAt` <=> v.`f1`
FOR UPDATE;

-- mail: settle dead, each, step 2: [Rows([Reason, Id]), Held] -> Nothing
UPDATE `Order` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?, '$[*]' COLUMNS (`reason` LONGTEXT PATH '$.reason', `id` VARCHAR(255) PATH '$.id')
      ) AS j
  ) AS v
  ON t.`orderId` = v.`id` SET
  t.`select` = 9,
  t.`group` = NULL,
  t.`tries` = COALESCE(t.`tries`, 0) + 1,
  t.`lastError` = LEFT(v.`reason`, 40)
WHERE t.`orderId` IN ({held});

-- mail: settle dead, remembering, step 1: [Rows([Id, Fence(0), Fence(1)])] -> Keys
SELECT CAST(t.`orderId` AS CHAR)
FROM (
  SELECT *
    FROM JSON_TABLE(
      ?,
        '$[*]' COLUMNS (
          `id` VARCHAR(255) PATH '$.id', `f0` VARCHAR(255) PATH '$.f0', `f1` DATETIME(6) PATH '$.f1'
        )
    ) AS j
) AS v STRAIGHT_JOIN `Order` AS t
WHERE t.`orderId` = v.`id`
  AND t.`select` = 1
  AND t.`group` <=> v.`f0`
  AND t.`lastAttemptAt` <=> v.`f1`
FOR UPDATE;

-- mail: settle dead, remembering, step 2: [Rows([Reason, Id]), Held] -> Nothing
UPDATE `Order` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?, '$[*]' COLUMNS (`reason` LONGTEXT PATH '$.reason', `id` VARCHAR(255) PATH '$.id')
      ) AS j
  ) AS v
  ON t.`orderId` = v.`id` SET
  t.`select` = 9,
  t.`group` = NULL,
  t.`tries` = COALESCE(t.`tries`, 0) + 1,
  t.`lastError` = LEFT(v.`reason`, 40)
WHERE t.`orderId` IN ({held});

-- mail: settle dead, remembering, step 3: [Rows([Outcome("remembered_recipients"), Id]), Held] -> Nothing
INSERT INTO postrider_recipients (source, row_id, results, changed_at)
SELECT
  'Order',
  CONVERT(CAST(t.`orderId` AS CHAR) USING utf8mb4) COLLATE utf8mb4_bin,
  v.`o_remembered_recipients`,
  UTC_TIMESTAMP(6)
FROM `Order` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?,
          '$[*]' COLUMNS (
            `o_remembered_recipients` LONGTEXT PATH '$.o_remembered_recipients', `id` VARCHAR(255) PATH '$.id'
          )
      ) AS j
  ) AS v
  ON t.`orderId` = v.`id`
WHERE t.`orderId` IN ({held})
ON DUPLICATE KEY UPDATE results = VALUES(results), changed_at = VALUES(changed_at);

-- mail: settle rejected, uniform, step 1: [Ids, One(Fence(0)), One(Fence(1))] -> Keys
SELECT CAST(t.`orderId` AS CHAR)
FROM `Order` AS t
WHERE t.`orderId` IN ({ids})
  AND t.`select` = 1
  AND t.`group` <=> ?
  AND t.`lastAttemptAt` <=> CAST(? AS DATETIME(6))
FOR UPDATE;

-- mail: settle rejected, uniform, step 2: [One(Reason), Held] -> Nothing
UPDATE `Order` AS t SET
  t.`select` = 9,
  t.`group` = NULL,
  t.`tries` = COALESCE(t.`tries`, 0) + 1,
  t.`lastError` = LEFT(?, 40)
WHERE t.`orderId` IN ({held});

-- mail: settle rejected, each, step 1: [Rows([Id, Fence(0), Fence(1)])] -> Keys
SELECT CAST(t.`orderId` AS CHAR)
FROM (
  SELECT *
    FROM JSON_TABLE(
      ?,
        '$[*]' COLUMNS (
          `id` VARCHAR(255) PATH '$.id', `f0` VARCHAR(255) PATH '$.f0', `f1` DATETIME(6) PATH '$.f1'
        )
    ) AS j
) AS v STRAIGHT_JOIN `Order` AS t
WHERE t.`orderId` = v.`id`
  AND t.`select` = 1
  AND t.`group` <=> v.`f0`
  AND t.`lastAttemptAt` <=> v.`f1`
FOR UPDATE;

-- mail: settle rejected, each, step 2: [Rows([Reason, Id]), Held] -> Nothing
UPDATE `Order` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?, '$[*]' COLUMNS (`reason` LONGTEXT PATH '$.reason', `id` VARCHAR(255) PATH '$.id')
      ) AS j
  ) AS v
  ON t.`orderId` = v.`id` SET
  t.`select` = 9,
  t.`group` = NULL,
  t.`tries` = COALESCE(t.`tries`, 0) + 1,
  t.`lastError` = LEFT(v.`reason`, 40)
WHERE t.`orderId` IN ({held});

-- mail: settle rejected, remembering, step 1: [Rows([Id, Fence(0), Fence(1)])] -> Keys
SELECT CAST(t.`orderId` AS CHAR)
FROM (
  SELECT *
    FROM JSON_TABLE(
      ?,
        '$[*]' COLUMNS (
          `id` VARCHAR(255) PATH '$.id', `f0` VARCHAR(255) PATH '$.f0', `f1` DATETIME(6) PATH '$.f1'
        )
    ) AS j
) AS v STRAIGHT_JOIN `Order` AS t
WHERE t.`orderId` = v.`id`
  AND t.`select` = 1
  AND t.`group` <=> v.`f0`
  AND t.`lastAttemptAt` <=> v.`f1`
FOR UPDATE;

-- mail: settle rejected, remembering, step 2: [Rows([Reason, Id]), Held] -> Nothing
UPDATE `Order` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?, '$[*]' COLUMNS (`reason` LONGTEXT PATH '$.reason', `id` VARCHAR(255) PATH '$.id')
      ) AS j
  ) AS v
  ON t.`orderId` = v.`id` SET
  t.`select` = 9,
  t.`group` = NULL,
  t.`tries` = COALESCE(t.`tries`, 0) + 1,
  t.`lastError` = LEFT(v.`reason`, 40)
WHERE t.`orderId` IN ({held});

-- mail: settle rejected, remembering, step 3: [Rows([Outcome("remembered_recipients"), Id]), Held] -> Nothing
INSERT INTO postrider_recipients (source, row_id, results, changed_at)
SELECT
  'Order',
  CONVERT(CAST(t.`orderId` AS CHAR) USING utf8mb4) COLLATE utf8mb4_bin,
  v.`o_remembered_recipients`,
  UTC_TIMESTAMP(6)
FROM `Order` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?,
          '$[*]' COLUMNS (
            `o_remembered_recipients` LONGTEXT PATH '$.o_remembered_recipients', `id` VARCHAR(255) PATH '$.id'
          )
      ) AS j
  ) AS v
  ON t.`orderId` = v.`id`
WHERE t.`orderId` IN ({held})
ON DUPLICATE KEY UPDATE results = VALUES(results), changed_at = VALUES(changed_at);

-- mail: settle skipped, uniform, step 1: [Ids, One(Fence(0)), One(Fence(1))] -> Keys
SELECT CAST(t.`orderId` AS CHAR)
FROM `Order` AS t
WHERE t.`orderId` IN ({ids})
  AND t.`select` = 1
  AND t.`group` <=> ?
  AND t.`lastAttemptAt` <=> CAST(? AS DATETIME(6))
FOR UPDATE;

-- mail: settle skipped, uniform, step 2: [One(Reason), Held] -> Nothing
UPDATE `Order` AS t SET
  t.`select` = 9,
  t.`group` = NULL,
  t.`tries` = COALESCE(t.`tries`, 0) + 1,
  t.`lastError` = LEFT(?, 40)
WHERE t.`orderId` IN ({held});

-- mail: settle skipped, each, step 1: [Rows([Id, Fence(0), Fence(1)])] -> Keys
SELECT CAST(t.`orderId` AS CHAR)
FROM (
  SELECT *
    FROM JSON_TABLE(
      ?,
        '$[*]' COLUMNS (
          `id` VARCHAR(255) PATH '$.id', `f0` VARCHAR(255) PATH '$.f0', `f1` DATETIME(6) PATH '$.f1'
        )
    ) AS j
) AS v STRAIGHT_JOIN `Order` AS t
WHERE t.`orderId` = v.`id`
  AND t.`select` = 1
  AND t.`group` <=> v.`f0`
  AND t.`lastAttemptAt` <=> v.`f1`
FOR UPDATE;

-- mail: settle skipped, each, step 2: [Rows([Reason, Id]), Held] -> Nothing
UPDATE `Order` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?, '$[*]' COLUMNS (`reason` LONGTEXT PATH '$.reason', `id` VARCHAR(255) PATH '$.id')
      ) AS j
  ) AS v
  ON t.`orderId` = v.`id` SET
  t.`select` = 9,
  t.`group` = NULL,
  t.`tries` = COALESCE(t.`tries`, 0) + 1,
  t.`lastError` = LEFT(v.`reason`, 40)
WHERE t.`orderId` IN ({held});

-- mail: settle skipped, remembering, step 1: [Rows([Id, Fence(0), Fence(1)])] -> Keys
SELECT CAST(t.`orderId` AS CHAR)
FROM (
  SELECT *
    FROM JSON_TABLE(
      ?,
        '$[*]' COLUMNS (
          `id` VARCHAR(255) PATH '$.id', `f0` VARCHAR(255) PATH '$.f0', `f1` DATETIME(6) PATH '$.f1'
        )
    ) AS j
) AS v STRAIGHT_JOIN `Order` AS t
WHERE t.`orderId` = v.`id`
  AND t.`select` = 1
  AND t.`group` <=> v.`f0`
  AND t.`lastAttemptAt` <=> v.`f1`
FOR UPDATE;

-- mail: settle skipped, remembering, step 2: [Rows([Reason, Id]), Held] -> Nothing
UPDATE `Order` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?, '$[*]' COLUMNS (`reason` LONGTEXT PATH '$.reason', `id` VARCHAR(255) PATH '$.id')
      ) AS j
  ) AS v
  ON t.`orderId` = v.`id` SET
  t.`select` = 9,
  t.`group` = NULL,
  t.`tries` = COALESCE(t.`tries`, 0) + 1,
  t.`lastError` = LEFT(v.`reason`, 40)
WHERE t.`orderId` IN ({held});

-- mail: settle skipped, remembering, step 3: [Rows([Outcome("remembered_recipients"), Id]), Held] -> Nothing
INSERT INTO postrider_recipients (source, row_id, results, changed_at)
SELECT
  'Order',
  CONVERT(CAST(t.`orderId` AS CHAR) USING utf8mb4) COLLATE utf8mb4_bin,
  v.`o_remembered_recipients`,
  UTC_TIMESTAMP(6)
FROM `Order` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?,
          '$[*]' COLUMNS (
            `o_remembered_recipients` LONGTEXT PATH '$.o_remembered_recipients', `id` VARCHAR(255) PATH '$.id'
          )
      ) AS j
  ) AS v
  ON t.`orderId` = v.`id`
WHERE t.`orderId` IN ({held})
ON DUPLICATE KEY UPDATE results = VALUES(results), changed_at = VALUES(changed_at);

-- mail: settle deferred, uniform, step 1: [Ids, One(Fence(0)), One(Fence(1))] -> Keys
SELECT CAST(t.`orderId` AS CHAR)
FROM `Order` AS t
WHERE t.`orderId` IN ({ids})
  AND t.`select` = 1
  AND t.`group` <=> ?
  AND t.`lastAttemptAt` <=> CAST(? AS DATETIME(6))
FOR UPDATE;

-- mail: settle deferred, uniform, step 2: [One(Delay), Held] -> Nothing
UPDATE `Order` AS t SET
  t.`select` = 0,
  t.`group` = NULL,
  t.`nextAttemptAt` = UTC_TIMESTAMP(6) + INTERVAL ROUND(? * 1000000) MICROSECOND
WHERE t.`orderId` IN ({held});

-- mail: settle deferred, each, step 1: [Rows([Id, Fence(0), Fence(1)])] -> Keys
SELECT CAST(t.`orderId` AS CHAR)
FROM (
  SELECT *
    FROM JSON_TABLE(
      ?,
        '$[*]' COLUMNS (
          `id` VARCHAR(255) PATH '$.id', `f0` VARCHAR(255) PATH '$.f0', `f1` DATETIME(6) PATH '$.f1'
        )
    ) AS j
) AS v STRAIGHT_JOIN `Order` AS t
WHERE t.`orderId` = v.`id`
  AND t.`select` = 1
  AND t.`group` <=> v.`f0`
  AND t.`lastAttemptAt` <=> v.`f1`
FOR UPDATE;

-- mail: settle deferred, each, step 2: [Rows([Delay, Id]), Held] -> Nothing
UPDATE `Order` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(?, '$[*]' COLUMNS (`delay` DOUBLE PATH '$.delay', `id` VARCHAR(255) PATH '$.id')) AS j
  ) AS v
  ON t.`orderId` = v.`id` SET
  t.`select` = 0,
  t.`group` = NULL,
  t.`nextAttemptAt` = UTC_TIMESTAMP(6) + INTERVAL ROUND(v.`delay` * 1000000) MICROSECOND
WHERE t.`orderId` IN ({held});

-- mail: settle deferred, remembering, step 1: [Rows([Id, Fence(0), Fence(1)])] -> Keys
SELECT CAST(t.`orderId` AS CHAR)
FROM (
  SELECT *
    FROM JSON_TABLE(
      ?,
        '$[*]' COLUMNS (
          `id` VARCHAR(255) PATH '$.id', `f0` VARCHAR(255) PATH '$.f0', `f1` DATETIME(6) PATH '$.f1'
        )
    ) AS j
) AS v STRAIGHT_JOIN `Order` AS t
WHERE t.`orderId` = v.`id`
  AND t.`select` = 1
  AND t.`group` <=> v.`f0`
  AND t.`lastAttemptAt` <=> v.`f1`
FOR UPDATE;

-- mail: settle deferred, remembering, step 2: [Rows([Delay, Id]), Held] -> Nothing
UPDATE `Order` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(?, '$[*]' COLUMNS (`delay` DOUBLE PATH '$.delay', `id` VARCHAR(255) PATH '$.id')) AS j
  ) AS v
  ON t.`orderId` = v.`id` SET
  t.`select` = 0,
  t.`group` = NULL,
  t.`nextAttemptAt` = UTC_TIMESTAMP(6) + INTERVAL ROUND(v.`delay` * 1000000) MICROSECOND
WHERE t.`orderId` IN ({held});

-- mail: settle deferred, remembering, step 3: [Rows([Outcome("remembered_recipients"), Id]), Held] -> Nothing
INSERT INTO postrider_recipients (source, row_id, results, changed_at)
SELECT
  'Order',
  CONVERT(CAST(t.`orderId` AS CHAR) USING utf8mb4) COLLATE utf8mb4_bin,
  v.`o_remembered_recipients`,
  UTC_TIMESTAMP(6)
FROM `Order` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?,
          '$[*]' COLUMNS (
            `o_remembered_recipients` LONGTEXT PATH '$.o_remembered_recipients', `id` VARCHAR(255) PATH '$.id'
          )
      ) AS j
  ) AS v
  ON t.`orderId` = v.`id`
WHERE t.`orderId` IN ({held})
ON DUPLICATE KEY UPDATE results = VALUES(results), changed_at = VALUES(changed_at);

-- mail: settle released, uniform, step 1: [Ids, One(Fence(0)), One(Fence(1))] -> Keys
SELECT CAST(t.`orderId` AS CHAR)
FROM `Order` AS t
WHERE t.`orderId` IN ({ids})
  AND t.`select` = 1
  AND t.`group` <=> ?
  AND t.`lastAttemptAt` <=> CAST(? AS DATETIME(6))
FOR UPDATE;

-- mail: settle released, uniform, step 2: [Held] -> Nothing
UPDATE `Order` AS t SET
  t.`select` = 0,
  t.`group` = NULL
WHERE t.`orderId` IN ({held});

-- mail: settle released, each, step 1: [Rows([Id, Fence(0), Fence(1)])] -> Keys
SELECT CAST(t.`orderId` AS CHAR)
FROM (
  SELECT *
    FROM JSON_TABLE(
      ?,
        '$[*]' COLUMNS (
          `id` VARCHAR(255) PATH '$.id', `f0` VARCHAR(255) PATH '$.f0', `f1` DATETIME(6) PATH '$.f1'
        )
    ) AS j
) AS v STRAIGHT_JOIN `Order` AS t
WHERE t.`orderId` = v.`id`
  AND t.`select` = 1
  AND t.`group` <=> v.`f0`
  AND t.`lastAttemptAt` <=> v.`f1`
FOR UPDATE;

-- mail: settle released, each, step 2: [Held] -> Nothing
UPDATE `Order` AS t SET
  t.`select` = 0,
  t.`group` = NULL
WHERE t.`orderId` IN ({held});

-- mail: extend, step 1: [Rows([Id, Fence(0), Fence(1)])] -> Keys
SELECT CAST(t.`orderId` AS CHAR)
FROM (
  SELECT *
    FROM JSON_TABLE(
      ?,
        '$[*]' COLUMNS (
          `id` VARCHAR(255) PATH '$.id', `f0` VARCHAR(255) PATH '$.f0', `f1` DATETIME(6) PATH '$.f1'
        )
    ) AS j
) AS v STRAIGHT_JOIN `Order` AS t
WHERE t.`orderId` = v.`id`
  AND t.`select` = 1
  AND t.`group` <=> v.`f0`
  AND t.`lastAttemptAt` <=> v.`f1`
FOR UPDATE;

-- mail: extend, step 2: [Held] -> Nothing
UPDATE `Order` AS t SET t.`lastAttemptAt` = CAST(
  CASE
    WHEN t.`lastAttemptAt`
      BETWEEN UTC_TIMESTAMP(6) - INTERVAL 1000 MICROSECOND
      AND UTC_TIMESTAMP(6) + INTERVAL 60 SECOND
      THEN t.`lastAttemptAt` + INTERVAL 1000 MICROSECOND
    ELSE UTC_TIMESTAMP(6)
    END AS DATETIME(3)
)
WHERE t.`orderId` IN ({held});

-- mail: extend, step 3: [Held] -> Leases
SELECT
  CAST(t.`orderId` AS CHAR),
  CAST(t.`group` AS CHAR),
  CAST(t.`lastAttemptAt` AS CHAR)
FROM `Order` AS t
WHERE t.`orderId` IN ({held});

-- mail: leases after a lost extension: [Ids, Owner] -> Leases
SELECT
  CAST(t.`orderId` AS CHAR),
  CAST(t.`group` AS CHAR),
  CAST(t.`lastAttemptAt` AS CHAR)
FROM `Order` AS t
WHERE t.`orderId` IN ({ids})
  AND t.`select` = 1
  AND t.`group` = ?;

-- mail: stamp, step 1: [Limit] -> Keys
SELECT CAST(t.`orderId` AS CHAR)
FROM `Order` AS t
WHERE t.`select` = 1
  AND t.`lastAttemptAt` IS NULL
  AND t.`tenant` = 'it''s us'
LIMIT ?;

-- mail: stamp, step 2: [Held] -> Keys
SELECT CAST(t.`orderId` AS CHAR)
FROM `Order` AS t
WHERE t.`orderId` IN ({held})
  AND t.`select` = 1
  AND t.`lastAttemptAt` IS NULL
FOR UPDATE SKIP LOCKED;

-- mail: stamp, step 3: [Held] -> Nothing
UPDATE `Order` AS t SET t.`lastAttemptAt` = UTC_TIMESTAMP(6)
WHERE t.`orderId` IN ({held});

-- mail: leases that still hold: [Rows([Id, Fence(0), Fence(1)])] -> Keys
SELECT CAST(t.`orderId` AS CHAR)
FROM (
  SELECT *
    FROM JSON_TABLE(
      ?,
        '$[*]' COLUMNS (
          `id` VARCHAR(255) PATH '$.id', `f0` VARCHAR(255) PATH '$.f0', `f1` DATETIME(6) PATH '$.f1'
        )
    ) AS j
) AS v STRAIGHT_JOIN `Order` AS t
WHERE t.`orderId` = v.`id`
  AND t.`select` = 1
  AND t.`group` <=> v.`f0`
  AND t.`lastAttemptAt` <=> v.`f1`
  AND (t.`lastAttemptAt` < UTC_TIMESTAMP(6) - INTERVAL 300 SECOND) IS NOT TRUE;

-- mail: look for rows of a lost claim: [Owner] -> Keys
SELECT CAST(t.`orderId` AS CHAR)
FROM `Order` AS t
WHERE t.`select` = 1
  AND t.`group` = ?
  AND t.`tenant` = 'it''s us';

-- mail: release rows of a lost claim, step 1: [Ids, Owner] -> Keys
SELECT CAST(t.`orderId` AS CHAR)
FROM `Order` AS t
WHERE t.`orderId` IN ({ids})
  AND t.`select` = 1
  AND t.`group` = ?
  AND t.`tenant` = 'it''s us'
FOR UPDATE;

-- mail: release rows of a lost claim, step 2: [Held] -> Nothing
UPDATE `Order` AS t SET
  t.`select` = 0,
  t.`group` = NULL
WHERE t.`orderId` IN ({held});

-- mail: look for expired leases: [Limit] -> Other
SELECT
  CAST(t.`orderId` AS CHAR),
  CAST(t.`group` AS CHAR),
  CAST(t.`lastAttemptAt` AS CHAR),
  CASE WHEN COALESCE(t.`tries`, 0) + 1 >= 4 THEN 1 ELSE 0 END,
  4
FROM `Order` AS t
WHERE t.`select` = 1
  AND t.`lastAttemptAt` < UTC_TIMESTAMP(6) - INTERVAL 300 SECOND
  AND t.`tenant` = 'it''s us'
LIMIT ?;

-- mail: reclaim, free, step 1: [Ids] -> Keys
SELECT CAST(t.`orderId` AS CHAR)
FROM `Order` AS t
WHERE t.`orderId` IN ({ids})
  AND t.`select` = 1
  AND t.`lastAttemptAt` < UTC_TIMESTAMP(6) - INTERVAL 300 SECOND
  AND t.`tenant` = 'it''s us'
FOR UPDATE;

-- mail: reclaim, free, step 2: [Held] -> Nothing
UPDATE `Order` AS t SET
  t.`select` = 0,
  t.`group` = NULL
WHERE t.`orderId` IN ({held});

-- mail: reclaim, spared, step 1: [Ids] -> Keys
SELECT CAST(t.`orderId` AS CHAR)
FROM `Order` AS t
WHERE t.`orderId` IN ({ids})
  AND t.`select` = 1
  AND t.`lastAttemptAt` < UTC_TIMESTAMP(6) - INTERVAL 300 SECOND
  AND t.`tenant` = 'it''s us'
FOR UPDATE;

-- mail: reclaim, spared, step 2: [Held] -> Nothing
UPDATE `Order` AS t SET
  t.`select` = 0,
  t.`group` = NULL
WHERE t.`orderId` IN ({held});

-- mail: reclaim, spared, step 3: [Held] -> Nothing
INSERT INTO postrider_crashes (place, row_id, crashes, crashed_at)
SELECT
  'Order/mail',
  CAST(CAST(t.`orderId` AS CHAR) AS CHAR),
  1,
  UTC_TIMESTAMP(6)
FROM `Order` AS t WHERE t.`orderId` IN ({held})
ON DUPLICATE KEY UPDATE crashes = postrider_crashes.crashes + 1, crashed_at = VALUES(crashed_at);

-- mail: reclaim, charged, step 1: [Ids] -> Keys
SELECT CAST(t.`orderId` AS CHAR)
FROM `Order` AS t
WHERE t.`orderId` IN ({ids})
  AND t.`select` = 1
  AND t.`lastAttemptAt` < UTC_TIMESTAMP(6) - INTERVAL 300 SECOND
  AND t.`tenant` = 'it''s us'
FOR UPDATE;

-- mail: reclaim, charged, step 2: [Held] -> Nothing
UPDATE `Order` AS t SET
  t.`select` = 0,
  t.`group` = NULL,
  t.`nextAttemptAt` = UTC_TIMESTAMP(6),
  t.`tries` = COALESCE(t.`tries`, 0) + 1,
  t.`lastError` = LEFT('lease expired: the worker that held it is gone', 40)
WHERE t.`orderId` IN ({held});

-- mail: reclaim, charged, step 3: [Held] -> Nothing
INSERT INTO postrider_crashes (place, row_id, crashes, crashed_at)
SELECT
  'Order/mail',
  CAST(CAST(t.`orderId` AS CHAR) AS CHAR),
  1,
  UTC_TIMESTAMP(6)
FROM `Order` AS t WHERE t.`orderId` IN ({held})
ON DUPLICATE KEY UPDATE crashes = postrider_crashes.crashes + 1, crashed_at = VALUES(crashed_at);

-- mail: reclaim, dead, step 1: [Ids] -> Keys
SELECT CAST(t.`orderId` AS CHAR)
FROM `Order` AS t
WHERE t.`orderId` IN ({ids})
  AND t.`select` = 1
  AND t.`lastAttemptAt` < UTC_TIMESTAMP(6) - INTERVAL 300 SECOND
  AND t.`tenant` = 'it''s us'
FOR UPDATE;

-- mail: reclaim, dead, step 2: [Held] -> Nothing
UPDATE `Order` AS t SET
  t.`select` = 9,
  t.`group` = NULL,
  t.`tries` = COALESCE(t.`tries`, 0) + 1,
  t.`lastError` = LEFT('poison row: its workers crashed repeatedly, also when it was delivered alone', 40)
WHERE t.`orderId` IN ({held});

-- mail: reclaim, dead, step 3: [Held] -> Nothing
DELETE
  FROM postrider_crashes
  WHERE place = 'Order/mail'
  AND row_id IN (
    SELECT CAST(CAST(t.`orderId` AS CHAR) AS CHAR) FROM `Order` AS t WHERE t.`orderId` IN ({held})
  );

-- mail: spent, step 1: [Limit] -> Keys
SELECT CAST(t.`orderId` AS CHAR)
FROM (
  SELECT
    t.`orderId`,
    t.`tries`
  FROM `Order` AS t WHERE t.`select` = 0 AND t.`tenant` = 'it''s us' ORDER BY t.`rank` DESC,
    t.`nextAttemptAt`,
    t.`orderId` LIMIT 10000
) AS t
WHERE COALESCE(t.`tries`, 0) >= 4
LIMIT ?;

-- mail: spent, step 2: [Held] -> Keys
SELECT CAST(t.`orderId` AS CHAR)
FROM `Order` AS t
WHERE t.`orderId` IN ({held})
  AND t.`select` = 0
  AND COALESCE(t.`tries`, 0) >= 4
FOR UPDATE SKIP LOCKED;

-- mail: spent, step 3: [Held] -> Nothing
UPDATE `Order` AS t SET
  t.`lastError` = COALESCE(t.`lastError`, LEFT('no attempts left', 40)),
  t.`select` = 9,
  t.`group` = NULL
WHERE t.`orderId` IN ({held});

-- mail: purge 1, step 1: [Limit] -> Keys
SELECT CAST(t.`orderId` AS CHAR)
FROM `Order` AS t
WHERE t.`select` = 2 AND t.`tenant` = 'it''s us'
  AND t.`createdAt` < UTC_TIMESTAMP(6) - INTERVAL 2592000 SECOND
LIMIT ?
FOR UPDATE SKIP LOCKED;

-- mail: purge 1, step 2: [Held] -> Nothing
DELETE r
  FROM postrider_recipients AS r
  JOIN `Order` AS t
  ON r.row_id = CONVERT(CAST(t.`orderId` AS CHAR) USING utf8mb4) COLLATE utf8mb4_bin
WHERE r.source = 'Order' AND t.`orderId` IN ({held});

-- mail: purge 1, step 3: [Held] -> Nothing
DELETE FROM `Order`
WHERE `orderId` IN ({held});

-- mail: next due: [] -> Other
SELECT CAST(COALESCE(0 - (TIMESTAMPDIFF(MICROSECOND, t.`nextAttemptAt`, UTC_TIMESTAMP(6))), 0) AS SIGNED) AS w
FROM `Order` AS t
WHERE t.`select` = 0
  AND COALESCE(t.`tries`, 0) < 4
  AND t.`tenant` = 'it''s us'
ORDER BY t.`nextAttemptAt`
LIMIT 1;

-- mail: lag: [] -> Other
SELECT (
  SELECT CAST(
    COALESCE(
      TIMESTAMPDIFF(MICROSECOND, t.`nextAttemptAt`, UTC_TIMESTAMP(6)),
        TIMESTAMPDIFF(MICROSECOND, t.`createdAt`, UTC_TIMESTAMP(6))
    ) AS DOUBLE
  )
    / 1000000
    FROM `Order` AS t
    WHERE t.`select` = 0
    AND (t.`nextAttemptAt` IS NULL OR t.`nextAttemptAt` <= UTC_TIMESTAMP(6))
    AND COALESCE(t.`tries`, 0) < 4
    AND t.`tenant` = 'it''s us'
    ORDER BY t.`rank` DESC
    LIMIT 1
),
  (
    SELECT CAST(TIMESTAMPDIFF(MICROSECOND, t.`lastAttemptAt`, UTC_TIMESTAMP(6)) AS DOUBLE) / 1000000
      FROM `Order` AS t
      WHERE t.`select` = 1
      AND t.`tenant` = 'it''s us'
      ORDER BY t.`lastAttemptAt`
      LIMIT 1
  );

-- mail: census new: [] -> Other
SELECT
  CAST(COUNT(*) AS SIGNED),
  0
FROM (
  SELECT 1 AS one FROM `Order` AS t WHERE t.`select` = 0 AND t.`tenant` = 'it''s us' LIMIT 10001
) AS counted;

-- mail: census taken: [] -> Other
SELECT
  CAST(COUNT(*) AS SIGNED),
  0
FROM (
  SELECT 1 AS one FROM `Order` AS t WHERE t.`select` = 1 AND t.`tenant` = 'it''s us' LIMIT 10001
) AS counted;

-- mail: census done: [] -> Other
SELECT
  CAST(COUNT(*) AS SIGNED),
  0
FROM (
  SELECT 1 AS one FROM `Order` AS t WHERE t.`select` = 2 AND t.`tenant` = 'it''s us' LIMIT 10001
) AS counted;

-- mail: census failed: [] -> Other
SELECT
  CAST(COUNT(*) AS SIGNED),
  0
FROM (
  SELECT 1 AS one FROM `Order` AS t WHERE t.`select` = 9 AND t.`tenant` = 'it''s us' LIMIT 10001
) AS counted;

-- mail: requeue ids failed, step 1: [Ids] -> Keys
SELECT CAST(t.`orderId` AS CHAR)
FROM `Order` AS t
WHERE t.`orderId` IN ({ids})
  AND t.`select` = 9
  AND t.`tenant` = 'it''s us'
FOR UPDATE;

-- mail: requeue ids failed, step 2: [Held] -> Nothing
UPDATE `Order` AS t SET
  t.`select` = 0,
  t.`group` = NULL,
  t.`nextAttemptAt` = UTC_TIMESTAMP(6),
  t.`tries` = 0,
  t.`lastError` = NULL
WHERE t.`orderId` IN ({held});

-- mail: requeue state failed, step 1: [Since, Since, Since, Limit] -> Keys
SELECT CAST(t.`orderId` AS CHAR)
FROM `Order` AS t
WHERE t.`select` = 9
  AND (
    ? IS NULL
      OR t.`lastAttemptAt` >= UTC_TIMESTAMP(6) + INTERVAL ROUND((0 - ?) * 1000000) MICROSECOND
      OR t.`lastAttemptAt` IS NULL
      AND t.`createdAt` >= UTC_TIMESTAMP(6) + INTERVAL ROUND((0 - ?) * 1000000) MICROSECOND
  )
  AND t.`tenant` = 'it''s us'
LIMIT ?;

-- mail: requeue state failed, step 2: [Held] -> Keys
SELECT CAST(t.`orderId` AS CHAR)
FROM `Order` AS t
WHERE t.`orderId` IN ({held})
  AND t.`select` = 9
FOR UPDATE SKIP LOCKED;

-- mail: requeue state failed, step 3: [Held] -> Nothing
UPDATE `Order` AS t SET
  t.`select` = 0,
  t.`group` = NULL,
  t.`nextAttemptAt` = UTC_TIMESTAMP(6),
  t.`tries` = 0,
  t.`lastError` = NULL
WHERE t.`orderId` IN ({held});

-- mail: release ids taken, step 1: [Ids] -> Keys
SELECT CAST(t.`orderId` AS CHAR)
FROM `Order` AS t
WHERE t.`orderId` IN ({ids})
  AND t.`select` = 1
  AND t.`tenant` = 'it''s us'
FOR UPDATE;

-- mail: release ids taken, step 2: [Held] -> Nothing
UPDATE `Order` AS t SET
  t.`select` = 0,
  t.`group` = NULL
WHERE t.`orderId` IN ({held});

-- mail: release state taken, step 1: [Since, Since, Since, Limit] -> Keys
SELECT CAST(t.`orderId` AS CHAR)
FROM `Order` AS t
WHERE t.`select` = 1
  AND (
    ? IS NULL
      OR t.`lastAttemptAt` >= UTC_TIMESTAMP(6) + INTERVAL ROUND((0 - ?) * 1000000) MICROSECOND
      OR t.`lastAttemptAt` IS NULL
      AND t.`createdAt` >= UTC_TIMESTAMP(6) + INTERVAL ROUND((0 - ?) * 1000000) MICROSECOND
  )
  AND t.`tenant` = 'it''s us'
LIMIT ?;

-- mail: release state taken, step 2: [Held] -> Keys
SELECT CAST(t.`orderId` AS CHAR)
FROM `Order` AS t
WHERE t.`orderId` IN ({held})
  AND t.`select` = 1
FOR UPDATE SKIP LOCKED;

-- mail: release state taken, step 3: [Held] -> Nothing
UPDATE `Order` AS t SET
  t.`select` = 0,
  t.`group` = NULL
WHERE t.`orderId` IN ({held});
