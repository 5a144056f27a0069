-- outbox: every statement. Written by the snapshot test; do not edit.

-- create
CREATE TABLE IF NOT EXISTS `outbox` (
    id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    deal_id VARCHAR(64),
    idempotency_key VARCHAR(255) UNIQUE,
    topic VARCHAR(249) NOT NULL,
    partition_key VARCHAR(255),
    payload LONGTEXT NOT NULL,
    traceparent VARCHAR(255),
    `status` VARCHAR(32) NOT NULL DEFAULT 'PENDING',
    retry_count INT NOT NULL DEFAULT 0,
    version BIGINT NOT NULL DEFAULT 0,
    created_at DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
    processed_at DATETIME(6),
    next_attempt_at DATETIME(6),
    claimed_at DATETIME(6),
    claimed_by VARCHAR(64),
    last_error LONGTEXT
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

-- create
ALTER TABLE `outbox` ADD COLUMN `live_group` VARCHAR(255)
  GENERATED ALWAYS AS (
    CASE
      WHEN ((`status` = 'PENDING') OR (`status` = 'PROCESSING'))
      AND `partition_key` IS NOT NULL THEN `partition_key`
      END
  ) VIRTUAL;

-- create
ALTER TABLE `outbox` ADD COLUMN `keeps_order` TINYINT
  GENERATED ALWAYS AS (
    CASE
      WHEN ((`status` = 'PENDING') OR (`status` = 'PROCESSING'))
      AND `partition_key` IS NOT NULL THEN 1
      WHEN `status` = 'PENDING' THEN 0
      END
  ) VIRTUAL;

-- create
CREATE INDEX `outbox_publish_ready` ON `outbox` (`status`, `keeps_order`, `created_at`, `id`);

-- create
CREATE INDEX `outbox_publish_order` ON `outbox` (`live_group`, `created_at`, `id`);

-- create
CREATE INDEX `outbox_publish_in_flight` ON `outbox` (`status`, `live_group`, `claimed_at`);

-- create
CREATE INDEX `outbox_delivered_purge` ON `outbox` (`status`, `processed_at`);

-- publish: layout Layout { integer_id: true, fences: 1, claim_time: None, pool: 7, fields: ["dedupe",
--   "headers.deal_id", "key", "payload", "topic", "traceparent"], joined: [] }

-- publish: claim 1, step 1: [Limit] -> Rows
SELECT
  CAST(t.`id` AS SIGNED),
  CAST(CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END AS CHAR),
  CAST(t.`retry_count` AS SIGNED),
  NULL,
  NULL,
  CASE WHEN t.`partition_key` IS NOT NULL THEN CAST(t.`partition_key` AS CHAR) END,
  'wait',
  NULL,
  NULL,
  CAST(
    COALESCE(
      TIMESTAMPDIFF(MICROSECOND, t.`next_attempt_at`, UTC_TIMESTAMP(6)),
        TIMESTAMPDIFF(MICROSECOND, t.`created_at`, UTC_TIMESTAMP(6))
    ) AS SIGNED
  ),
  CAST(
    COALESCE(LENGTH(t.`idempotency_key`), 0)
      + COALESCE(LENGTH(t.`deal_id`), 0)
      + COALESCE(LENGTH(t.`partition_key`), 0)
      + COALESCE(LENGTH(t.`payload`), 0)
      + COALESCE(LENGTH(t.`topic`), 0)
      + COALESCE(LENGTH(t.`traceparent`), 0) AS SIGNED
  ),
  CASE WHEN LENGTH(t.`idempotency_key`) <= 65536 THEN t.`idempotency_key` END,
  CASE WHEN LENGTH(t.`deal_id`) <= 65536 THEN t.`deal_id` END,
  CASE WHEN LENGTH(t.`partition_key`) <= 65536 THEN t.`partition_key` END,
  CASE WHEN LENGTH(t.`payload`) <= 65536 THEN t.`payload` END,
  CASE WHEN LENGTH(t.`topic`) <= 65536 THEN t.`topic` END,
  CASE WHEN LENGTH(t.`traceparent`) <= 65536 THEN t.`traceparent` END
FROM `outbox` AS t
WHERE t.`status` = 'PENDING'
  AND (t.`next_attempt_at` IS NULL OR t.`next_attempt_at` <= UTC_TIMESTAMP(6))
  AND t.`retry_count` < 3
  AND t.`created_at` < UTC_TIMESTAMP(6) - INTERVAL 1 SECOND
  AND t.`keeps_order` = 0
ORDER BY t.`created_at`, t.`id`
LIMIT ?
FOR UPDATE SKIP LOCKED;

-- publish: claim 1, step 2: [Owner, Held] -> Nothing
UPDATE `outbox` AS t SET
  t.`status` = 'PROCESSING',
  t.`claimed_at` = CAST(
    CASE
      WHEN t.`claimed_at`
        BETWEEN UTC_TIMESTAMP(6) - INTERVAL 1 MICROSECOND
        AND UTC_TIMESTAMP(6) + INTERVAL 60 SECOND
        THEN t.`claimed_at` + INTERVAL 1 MICROSECOND
      ELSE UTC_TIMESTAMP(6)
      END AS DATETIME(6)
  ),
  t.`claimed_by` = LEFT(?, 64),
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END
WHERE t.`id` IN ({held});

-- publish: claim groups from the start 1: [Fresh, Jumps] -> Groups
SELECT
  CAST(s.g AS CHAR),
  s.kind,
  (
    SELECT
      (
        (
          t.`status` = 'PENDING'
            AND (t.`next_attempt_at` IS NULL OR t.`next_attempt_at` <= UTC_TIMESTAMP(6))
            AND t.`retry_count` < 3
            AND t.`created_at` < UTC_TIMESTAMP(6) - INTERVAL 1 SECOND
        ) IS TRUE
      )
        FROM `outbox` AS t
        WHERE t.`live_group` = s.g
        AND t.`live_group` IS NOT NULL
        ORDER BY t.`live_group`,
      t.`created_at`,
      t.`id` LIMIT 1
  ),
  (
    SELECT
      CAST(t.`id` AS SIGNED) FROM `outbox` AS t WHERE t.`live_group` = s.g ORDER BY t.`live_group`,
      t.`created_at`,
      t.`id` LIMIT 1
  )
FROM (
  SELECT DISTINCT
    f.g,
    0 AS kind
  FROM (
    SELECT
      t.`live_group` AS g
        FROM `outbox` AS t
        WHERE t.`status` = 'PENDING'
        AND t.`keeps_order` = 1
        AND (t.`next_attempt_at` IS NULL OR t.`next_attempt_at` <= UTC_TIMESTAMP(6))
        AND t.`created_at` < UTC_TIMESTAMP(6) - INTERVAL 1 SECOND
        ORDER BY t.`created_at` DESC,
      t.`id` DESC LIMIT ?) AS f
  UNION ALL
  SELECT
    r.g,
    1
  FROM (SELECT t.`live_group` AS g FROM `outbox` AS t WHERE t.`live_group` IS NOT NULL
    GROUP BY t.`live_group` ORDER BY t.`live_group` LIMIT ?) AS r) AS s
ORDER BY s.kind, s.g;

-- publish: claim groups from the start 2, step 1: [Ids] -> Groups
SELECT
  CAST(t.`live_group` AS CHAR),
  1
FROM `outbox` AS t
WHERE t.`id` IN ({ids}) AND t.`live_group` IS NOT NULL
ORDER BY t.`id`
FOR UPDATE SKIP LOCKED;

-- publish: claim groups from the start 2, step 2: [Group, Group, Run] -> Run
SELECT
  CAST(t.`id` AS SIGNED),
  CAST(CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END AS CHAR),
  CAST(t.`retry_count` AS SIGNED),
  NULL,
  NULL,
  CASE WHEN t.`partition_key` IS NOT NULL THEN CAST(t.`partition_key` AS CHAR) END,
  'wait',
  NULL,
  NULL,
  CAST(
    COALESCE(
      TIMESTAMPDIFF(MICROSECOND, t.`next_attempt_at`, UTC_TIMESTAMP(6)),
        TIMESTAMPDIFF(MICROSECOND, t.`created_at`, UTC_TIMESTAMP(6))
    ) AS SIGNED
  ),
  CAST(
    COALESCE(LENGTH(t.`idempotency_key`), 0)
      + COALESCE(LENGTH(t.`deal_id`), 0)
      + COALESCE(LENGTH(t.`partition_key`), 0)
      + COALESCE(LENGTH(t.`payload`), 0)
      + COALESCE(LENGTH(t.`topic`), 0)
      + COALESCE(LENGTH(t.`traceparent`), 0) AS SIGNED
  ),
  CASE WHEN LENGTH(t.`idempotency_key`) <= 65536 THEN t.`idempotency_key` END,
  CASE WHEN LENGTH(t.`deal_id`) <= 65536 THEN t.`deal_id` END,
  CASE WHEN LENGTH(t.`partition_key`) <= 65536 THEN t.`partition_key` END,
  CASE WHEN LENGTH(t.`payload`) <= 65536 THEN t.`payload` END,
  CASE WHEN LENGTH(t.`topic`) <= 65536 THEN t.`topic` END,
  CASE WHEN LENGTH(t.`traceparent`) <= 65536 THEN t.`traceparent` END,
  CASE
    WHEN t.`status` = 'PROCESSING' THEN -1
    WHEN (
      (
        t.`status` = 'PENDING'
          AND (t.`next_attempt_at` IS NULL OR t.`next_attempt_at` <= UTC_TIMESTAMP(6))
          AND t.`retry_count` < 3
          AND t.`created_at` < UTC_TIMESTAMP(6) - INTERVAL 1 SECOND
      ) IS TRUE
    )
      THEN 1
    ELSE 0
    END
FROM `outbox` AS t
WHERE t.`live_group` = ?
  AND t.`live_group` IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM `outbox` AS t WHERE t.`status` = 'PROCESSING' AND t.`live_group` = ?)
ORDER BY t.`created_at`, t.`id`
LIMIT ?
FOR UPDATE;

-- publish: claim groups from the start 2, step 3: [Owner, Held] -> Nothing
UPDATE `outbox` AS t SET
  t.`status` = 'PROCESSING',
  t.`claimed_at` = CAST(
    CASE
      WHEN t.`claimed_at`
        BETWEEN UTC_TIMESTAMP(6) - INTERVAL 1 MICROSECOND
        AND UTC_TIMESTAMP(6) + INTERVAL 60 SECOND
        THEN t.`claimed_at` + INTERVAL 1 MICROSECOND
      ELSE UTC_TIMESTAMP(6)
      END AS DATETIME(6)
  ),
  t.`claimed_by` = LEFT(?, 64),
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END
WHERE t.`id` IN ({held});

-- publish: claim groups from the cursor 1: [Fresh, Cursor, Jumps] -> Groups
SELECT
  CAST(s.g AS CHAR),
  s.kind,
  (
    SELECT
      (
        (
          t.`status` = 'PENDING'
            AND (t.`next_attempt_at` IS NULL OR t.`next_attempt_at` <= UTC_TIMESTAMP(6))
            AND t.`retry_count` < 3
            AND t.`created_at` < UTC_TIMESTAMP(6) - INTERVAL 1 SECOND
        ) IS TRUE
      )
        FROM `outbox` AS t
        WHERE t.`live_group` = s.g
        AND t.`live_group` IS NOT NULL
        ORDER BY t.`live_group`,
      t.`created_at`,
      t.`id` LIMIT 1
  ),
  (
    SELECT
      CAST(t.`id` AS SIGNED) FROM `outbox` AS t WHERE t.`live_group` = s.g ORDER BY t.`live_group`,
      t.`created_at`,
      t.`id` LIMIT 1
  )
FROM (
  SELECT DISTINCT
    f.g,
    0 AS kind
  FROM (
    SELECT
      t.`live_group` AS g
        FROM `outbox` AS t
        WHERE t.`status` = 'PENDING'
        AND t.`keeps_order` = 1
        AND (t.`next_attempt_at` IS NULL OR t.`next_attempt_at` <= UTC_TIMESTAMP(6))
        AND t.`created_at` < UTC_TIMESTAMP(6) - INTERVAL 1 SECOND
        ORDER BY t.`created_at` DESC,
      t.`id` DESC LIMIT ?) AS f
  UNION ALL
  SELECT
    r.g,
    1
  FROM (SELECT t.`live_group` AS g FROM `outbox` AS t WHERE t.`live_group` > ?
    GROUP BY t.`live_group` ORDER BY t.`live_group` LIMIT ?) AS r) AS s
ORDER BY s.kind, s.g;

-- publish: claim groups from the cursor 2, step 1: [Ids] -> Groups
SELECT
  CAST(t.`live_group` AS CHAR),
  1
FROM `outbox` AS t
WHERE t.`id` IN ({ids}) AND t.`live_group` IS NOT NULL
ORDER BY t.`id`
FOR UPDATE SKIP LOCKED;

-- publish: claim groups from the cursor 2, step 2: [Group, Group, Run] -> Run
SELECT
  CAST(t.`id` AS SIGNED),
  CAST(CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END AS CHAR),
  CAST(t.`retry_count` AS SIGNED),
  NULL,
  NULL,
  CASE WHEN t.`partition_key` IS NOT NULL THEN CAST(t.`partition_key` AS CHAR) END,
  'wait',
  NULL,
  NULL,
  CAST(
    COALESCE(
      TIMESTAMPDIFF(MICROSECOND, t.`next_attempt_at`, UTC_TIMESTAMP(6)),
        TIMESTAMPDIFF(MICROSECOND, t.`created_at`, UTC_TIMESTAMP(6))
    ) AS SIGNED
  ),
  CAST(
    COALESCE(LENGTH(t.`idempotency_key`), 0)
      + COALESCE(LENGTH(t.`deal_id`), 0)
      + COALESCE(LENGTH(t.`partition_key`), 0)
      + COALESCE(LENGTH(t.`payload`), 0)
      + COALESCE(LENGTH(t.`topic`), 0)
      + COALESCE(LENGTH(t.`traceparent`), 0) AS SIGNED
  ),
  CASE WHEN LENGTH(t.`idempotency_key`) <= 65536 THEN t.`idempotency_key` END,
  CASE WHEN LENGTH(t.`deal_id`) <= 65536 THEN t.`deal_id` END,
  CASE WHEN LENGTH(t.`partition_key`) <= 65536 THEN t.`partition_key` END,
  CASE WHEN LENGTH(t.`payload`) <= 65536 THEN t.`payload` END,
  CASE WHEN LENGTH(t.`topic`) <= 65536 THEN t.`topic` END,
  CASE WHEN LENGTH(t.`traceparent`) <= 65536 THEN t.`traceparent` END,
  CASE
    WHEN t.`status` = 'PROCESSING' THEN -1
    WHEN (
      (
        t.`status` = 'PENDING'
          AND (t.`next_attempt_at` IS NULL OR t.`next_attempt_at` <= UTC_TIMESTAMP(6))
          AND t.`retry_count` < 3
          AND t.`created_at` < UTC_TIMESTAMP(6) - INTERVAL 1 SECOND
      ) IS TRUE
    )
      THEN 1
    ELSE 0
    END
FROM `outbox` AS t
WHERE t.`live_group` = ?
  AND t.`live_group` IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM `outbox` AS t WHERE t.`status` = 'PROCESSING' AND t.`live_group` = ?)
ORDER BY t.`created_at`, t.`id`
LIMIT ?
FOR UPDATE;

-- publish: claim groups from the cursor 2, step 3: [Owner, Held] -> Nothing
UPDATE `outbox` AS t SET
  t.`status` = 'PROCESSING',
  t.`claimed_at` = CAST(
    CASE
      WHEN t.`claimed_at`
        BETWEEN UTC_TIMESTAMP(6) - INTERVAL 1 MICROSECOND
        AND UTC_TIMESTAMP(6) + INTERVAL 60 SECOND
        THEN t.`claimed_at` + INTERVAL 1 MICROSECOND
      ELSE UTC_TIMESTAMP(6)
      END AS DATETIME(6)
  ),
  t.`claimed_by` = LEFT(?, 64),
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END
WHERE t.`id` IN ({held});

-- publish: load: [Ids] -> Other
SELECT
  CAST(t.`id` AS SIGNED),
  t.`idempotency_key`,
  t.`deal_id`,
  t.`partition_key`,
  t.`payload`,
  t.`topic`,
  t.`traceparent`
FROM `outbox` AS t
WHERE t.`id` IN ({ids});

-- publish: settle delivered, uniform, step 1: [Ids, One(Fence(0))] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM `outbox` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'PROCESSING'
  AND t.`version` <=> CAST(? AS SIGNED)
FOR UPDATE;

-- publish: settle delivered, uniform, step 2: [Held] -> Nothing
UPDATE `outbox` AS t SET
  t.`status` = 'DELIVERED',
  t.`claimed_by` = NULL,
  t.`last_error` = NULL,
  t.`processed_at` = UTC_TIMESTAMP(6),
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END
WHERE t.`id` IN ({held});

-- publish: settle delivered, each, step 1: [Rows([Id, Fence(0)])] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM (
  SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (`id` BIGINT PATH '$.id', `f0` BIGINT PATH '$.f0')) AS j
) AS v STRAIGHT_JOIN `outbox` AS t
WHERE t.`id` = v.`id`
  AND t.`status` = 'PROCESSING'
  AND t.`version` <=> v.`f0`
FOR UPDATE;

-- publish: settle delivered, each, step 2: [Held] -> Nothing
UPDATE `outbox` AS t SET
  t.`status` = 'DELIVERED',
  t.`claimed_by` = NULL,
  t.`last_error` = NULL,
  t.`processed_at` = UTC_TIMESTAMP(6),
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END
WHERE t.`id` IN ({held});

-- publish: settle retry, uniform, step 1: [Ids, One(Fence(0))] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM `outbox` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'PROCESSING'
  AND t.`version` <=> CAST(? AS SIGNED)
FOR UPDATE;

-- publish: settle retry, uniform, step 2: [One(Delay), One(Reason), Held] -> Nothing
UPDATE `outbox` AS t SET
  t.`status` = 'PENDING',
  t.`claimed_by` = NULL,
  t.`next_attempt_at` = UTC_TIMESTAMP(6) + INTERVAL ROUND(? * 1000000) MICROSECOND,
  t.`retry_count` = t.`retry_count` + 1,
  t.`last_error` = ?,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END
WHERE t.`id` IN ({held});

-- publish: settle retry, each, step 1: [Rows([Id, Fence(0)])] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM (
  SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (`id` BIGINT PATH '$.id', `f0` BIGINT PATH '$.f0')) AS j
) AS v STRAIGHT_JOIN `outbox` AS t
WHERE t.`id` = v.`id`
  AND t.`status` = 'PROCESSING'
  AND t.`version` <=> v.`f0`
FOR UPDATE;

-- publish: settle retry, each, step 2: [Rows([Delay, Reason, Id]), Held] -> Nothing
UPDATE `outbox` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?,
          '$[*]' COLUMNS (
            `delay` DOUBLE PATH '$.delay', `reason` LONGTEXT PATH '$.reason', `id` BIGINT PATH '$.id'
          )
      ) AS j
  ) AS v
  ON t.`id` = v.`id` SET
  t.`status` = 'PENDING',
  t.`claimed_by` = NULL,
  t.`next_attempt_at` = UTC_TIMESTAMP(6) + INTERVAL ROUND(v.`delay` * 1000000) MICROSECOND,
  t.`retry_count` = t.`retry_count` + 1,
  t.`last_error` = v.`reason`,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END
WHERE t.`id` IN ({held});

-- publish: settle dead, uniform, step 1: [Ids, One(Fence(0))] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM `outbox` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'PROCESSING'
  AND t.`version` <=> CAST(? AS SIGNED)
FOR UPDATE;

-- publish: settle dead, uniform, step 2: [One(Reason), Held] -> Nothing
UPDATE `outbox` AS t SET
  t.`status` = 'FAILED',
  t.`claimed_by` = NULL,
  t.`last_error` = ?,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END
WHERE t.`id` IN ({held});

-- publish: settle dead, each, step 1: [Rows([Id, Fence(0)])] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM (
  SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (`id` BIGINT PATH '$.id', `f0` BIGINT PATH '$.f0')) AS j
) AS v STRAIGHT_JOIN `outbox` AS t
WHERE t.`id` = v.`id`
  AND t.`status` = 'PROCESSING'
  AND t.`version` <=> v.`f0`
FOR UPDATE;

-- publish: settle dead, each, step 2: [Rows([Reason, Id]), Held] -> Nothing
UPDATE `outbox` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(?, '$[*]' COLUMNS (`reason` LONGTEXT PATH '$.reason', `id` BIGINT PATH '$.id')) AS j
  ) AS v
  ON t.`id` = v.`id` SET
  t.`status` = 'FAILED',
  t.`claimed_by` = NULL,
  t.`last_error` = v.`reason`,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END
WHERE t.`id` IN ({held});

-- publish: settle rejected, uniform, step 1: [Ids, One(Fence(0))] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM `outbox` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'PROCESSING'
  AND t.`version` <=> CAST(? AS SIGNED)
FOR UPDATE;

-- publish: settle rejected, uniform, step 2: [One(Reason), Held] -> Nothing
UPDATE `outbox` AS t SET
  t.`status` = 'FAILED',
  t.`claimed_by` = NULL,
  t.`last_error` = ?,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END
WHERE t.`id` IN ({held});

-- publish: settle rejected, each, step 1: [Rows([Id, Fence(0)])] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM (
  SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (`id` BIGINT PATH '$.id', `f0` BIGINT PATH '$.f0')) AS j
) AS v STRAIGHT_JOIN `outbox` AS t
WHERE t.`id` = v.`id`
  AND t.`status` = 'PROCESSING'
  AND t.`version` <=> v.`f0`
FOR UPDATE;

-- publish: settle rejected, each, step 2: [Rows([Reason, Id]), Held] -> Nothing
UPDATE `outbox` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(?, '$[*]' COLUMNS (`reason` LONGTEXT PATH '$.reason', `id` BIGINT PATH '$.id')) AS j
  ) AS v
  ON t.`id` = v.`id` SET
  t.`status` = 'FAILED',
  t.`claimed_by` = NULL,
  t.`last_error` = v.`reason`,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END
WHERE t.`id` IN ({held});

-- publish: settle skipped, uniform, step 1: [Ids, One(Fence(0))] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM `outbox` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'PROCESSING'
  AND t.`version` <=> CAST(? AS SIGNED)
FOR UPDATE;

-- publish: settle skipped, uniform, step 2: [One(Reason), Held] -> Nothing
UPDATE `outbox` AS t SET
  t.`status` = 'FAILED',
  t.`claimed_by` = NULL,
  t.`last_error` = ?,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END
WHERE t.`id` IN ({held});

-- publish: settle skipped, each, step 1: [Rows([Id, Fence(0)])] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM (
  SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (`id` BIGINT PATH '$.id', `f0` BIGINT PATH '$.f0')) AS j
) AS v STRAIGHT_JOIN `outbox` AS t
WHERE t.`id` = v.`id`
  AND t.`status` = 'PROCESSING'
  AND t.`version` <=> v.`f0`
FOR UPDATE;

-- publish: settle skipped, each, step 2: [Rows([Reason, Id]), Held] -> Nothing
UPDATE `outbox` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(?, '$[*]' COLUMNS (`reason` LONGTEXT PATH '$.reason', `id` BIGINT PATH '$.id')) AS j
  ) AS v
  ON t.`id` = v.`id` SET
  t.`status` = 'FAILED',
  t.`claimed_by` = NULL,
  t.`last_error` = v.`reason`,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END
WHERE t.`id` IN ({held});

-- publish: settle deferred, uniform, step 1: [Ids, One(Fence(0))] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM `outbox` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'PROCESSING'
  AND t.`version` <=> CAST(? AS SIGNED)
FOR UPDATE;

-- publish: settle deferred, uniform, step 2: [One(Delay), Held] -> Nothing
UPDATE `outbox` AS t SET
  t.`status` = 'PENDING',
  t.`claimed_by` = NULL,
  t.`next_attempt_at` = UTC_TIMESTAMP(6) + INTERVAL ROUND(? * 1000000) MICROSECOND,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END
WHERE t.`id` IN ({held});

-- publish: settle deferred, each, step 1: [Rows([Id, Fence(0)])] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM (
  SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (`id` BIGINT PATH '$.id', `f0` BIGINT PATH '$.f0')) AS j
) AS v STRAIGHT_JOIN `outbox` AS t
WHERE t.`id` = v.`id`
  AND t.`status` = 'PROCESSING'
  AND t.`version` <=> v.`f0`
FOR UPDATE;

-- publish: settle deferred, each, step 2: [Rows([Delay, Id]), Held] -> Nothing
UPDATE `outbox` AS t
  JOIN (
    SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (`delay` DOUBLE PATH '$.delay', `id` BIGINT PATH '$.id')) AS j
  ) AS v
  ON t.`id` = v.`id` SET
  t.`status` = 'PENDING',
  t.`claimed_by` = NULL,
  t.`next_attempt_at` = UTC_TIMESTAMP(6) + INTERVAL ROUND(v.`delay` * 1000000) MICROSECOND,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END
WHERE t.`id` IN ({held});

-- publish: settle released, uniform, step 1: [Ids, One(Fence(0))] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM `outbox` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'PROCESSING'
  AND t.`version` <=> CAST(? AS SIGNED)
FOR UPDATE;

-- publish: settle released, uniform, step 2: [Held] -> Nothing
UPDATE `outbox` AS t SET
  t.`status` = 'PENDING',
  t.`claimed_by` = NULL,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END
WHERE t.`id` IN ({held});

-- publish: settle released, each, step 1: [Rows([Id, Fence(0)])] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM (
  SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (`id` BIGINT PATH '$.id', `f0` BIGINT PATH '$.f0')) AS j
) AS v STRAIGHT_JOIN `outbox` AS t
WHERE t.`id` = v.`id`
  AND t.`status` = 'PROCESSING'
  AND t.`version` <=> v.`f0`
FOR UPDATE;

-- publish: settle released, each, step 2: [Held] -> Nothing
UPDATE `outbox` AS t SET
  t.`status` = 'PENDING',
  t.`claimed_by` = NULL,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END
WHERE t.`id` IN ({held});

-- publish: extend, step 1: [Rows([Id, Fence(0)])] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM (
  SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (`id` BIGINT PATH '$.id', `f0` BIGINT PATH '$.f0')) AS j
) AS v STRAIGHT_JOIN `outbox` AS t
WHERE t.`id` = v.`id`
  AND t.`status` = 'PROCESSING'
  AND t.`version` <=> v.`f0`
FOR UPDATE;

-- publish: extend, step 2: [Held] -> Nothing
UPDATE `outbox` AS t SET
  t.`claimed_at` = CAST(
    CASE
      WHEN t.`claimed_at`
        BETWEEN UTC_TIMESTAMP(6) - INTERVAL 1 MICROSECOND
        AND UTC_TIMESTAMP(6) + INTERVAL 60 SECOND
        THEN t.`claimed_at` + INTERVAL 1 MICROSECOND
      ELSE UTC_TIMESTAMP(6)
      END AS DATETIME(6)
  ),
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END
WHERE t.`id` IN ({held});

-- publish: extend, step 3: [Held] -> Leases
SELECT
  CAST(t.`id` AS SIGNED),
  CAST(t.`version` AS CHAR)
FROM `outbox` AS t
WHERE t.`id` IN ({held});

-- publish: leases after a lost extension: [Ids, Owner] -> Leases
SELECT
  CAST(t.`id` AS SIGNED),
  CAST(t.`version` AS CHAR)
FROM `outbox` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'PROCESSING'
  AND t.`claimed_by` = ?;

-- publish: stamp, step 1: [Limit] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM `outbox` AS t
WHERE t.`status` = 'PROCESSING'
  AND t.`claimed_at` IS NULL
LIMIT ?;

-- publish: stamp, step 2: [Held] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM `outbox` AS t
WHERE t.`id` IN ({held})
  AND t.`status` = 'PROCESSING'
  AND t.`claimed_at` IS NULL
FOR UPDATE SKIP LOCKED;

-- publish: stamp, step 3: [Held] -> Nothing
UPDATE `outbox` AS t SET t.`claimed_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- publish: leases that still hold: [Rows([Id, Fence(0)])] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM (
  SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (`id` BIGINT PATH '$.id', `f0` BIGINT PATH '$.f0')) AS j
) AS v STRAIGHT_JOIN `outbox` AS t
WHERE t.`id` = v.`id`
  AND t.`status` = 'PROCESSING'
  AND t.`version` <=> v.`f0`
  AND (t.`claimed_at` < UTC_TIMESTAMP(6) - INTERVAL 60 SECOND) IS NOT TRUE;

-- publish: look for rows of a lost claim: [Owner] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM `outbox` AS t
WHERE t.`status` = 'PROCESSING'
  AND t.`claimed_by` = ?;

-- publish: release rows of a lost claim, step 1: [Ids, Owner] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM `outbox` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'PROCESSING'
  AND t.`claimed_by` = ?
FOR UPDATE;

-- publish: release rows of a lost claim, step 2: [Held] -> Nothing
UPDATE `outbox` AS t SET
  t.`status` = 'PENDING',
  t.`claimed_by` = NULL,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END
WHERE t.`id` IN ({held});

-- publish: look for expired leases: [Limit] -> Other
SELECT
  CAST(t.`id` AS SIGNED),
  CAST(t.`version` AS CHAR),
  CASE WHEN t.`retry_count` + 1 >= 3 THEN 1 ELSE 0 END,
  3
FROM `outbox` AS t
WHERE t.`status` = 'PROCESSING'
  AND t.`claimed_at` < UTC_TIMESTAMP(6) - INTERVAL 60 SECOND
LIMIT ?;

-- publish: reclaim, free, step 1: [Ids] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM `outbox` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'PROCESSING'
  AND t.`claimed_at` < UTC_TIMESTAMP(6) - INTERVAL 60 SECOND
FOR UPDATE;

-- publish: reclaim, free, step 2: [Held] -> Nothing
UPDATE `outbox` AS t SET
  t.`status` = 'PENDING',
  t.`claimed_by` = NULL,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END
WHERE t.`id` IN ({held});

-- publish: reclaim, spared, step 1: [Ids] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM `outbox` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'PROCESSING'
  AND t.`claimed_at` < UTC_TIMESTAMP(6) - INTERVAL 60 SECOND
FOR UPDATE;

-- publish: reclaim, spared, step 2: [Held] -> Nothing
UPDATE `outbox` AS t SET
  t.`status` = 'PENDING',
  t.`claimed_by` = NULL,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END
WHERE t.`id` IN ({held});

-- publish: reclaim, spared, step 3: [Held] -> Nothing
INSERT INTO postrider_crashes (place, row_id, crashes, crashed_at)
SELECT
  'outbox/publish',
  CAST(CAST(t.`id` AS SIGNED) AS CHAR),
  1,
  UTC_TIMESTAMP(6)
FROM `outbox` AS t WHERE t.`id` IN ({held})
ON DUPLICATE KEY UPDATE crashes = postrider_crashes.crashes + 1, crashed_at = VALUES(crashed_at);

-- publish: reclaim, charged, step 1: [Ids] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM `outbox` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'PROCESSING'
  AND t.`claimed_at` < UTC_TIMESTAMP(6) - INTERVAL 60 SECOND
FOR UPDATE;

-- publish: reclaim, charged, step 2: [Held] -> Nothing
UPDATE `outbox` AS t SET
  t.`status` = 'PENDING',
  t.`claimed_by` = NULL,
  t.`next_attempt_at` = UTC_TIMESTAMP(6),
  t.`retry_count` = t.`retry_count` + 1,
  t.`last_error` = 'lease expired: the worker that held it is gone',
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END
WHERE t.`id` IN ({held});

-- publish: reclaim, charged, step 3: [Held] -> Nothing
INSERT INTO postrider_crashes (place, row_id, crashes, crashed_at)
SELECT
  'outbox/publish',
  CAST(CAST(t.`id` AS SIGNED) AS CHAR),
  1,
  UTC_TIMESTAMP(6)
FROM `outbox` AS t WHERE t.`id` IN ({held})
ON DUPLICATE KEY UPDATE crashes = postrider_crashes.crashes + 1, crashed_at = VALUES(crashed_at);

-- publish: reclaim, dead, step 1: [Ids] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM `outbox` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'PROCESSING'
  AND t.`claimed_at` < UTC_TIMESTAMP(6) - INTERVAL 60 SECOND
FOR UPDATE;

-- publish: reclaim, dead, step 2: [Held] -> Nothing
UPDATE `outbox` AS t SET
  t.`status` = 'FAILED',
  t.`claimed_by` = NULL,
  t.`last_error` = 'poison row: its workers crashed repeatedly, also when it was delivered alone',
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END
WHERE t.`id` IN ({held});

-- publish: reclaim, dead, step 3: [Held] -> Nothing
DELETE
  FROM postrider_crashes
  WHERE place = 'outbox/publish'
  AND row_id IN (SELECT CAST(CAST(t.`id` AS SIGNED) AS CHAR) FROM `outbox` AS t WHERE t.`id` IN ({held}));

-- publish: spent, step 1: [Limit] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM `outbox` AS t
WHERE t.`status` = 'PENDING'
  AND t.`retry_count` >= 3
LIMIT ?;

-- publish: spent, step 2: [Held] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM `outbox` AS t
WHERE t.`id` IN ({held})
  AND t.`status` = 'PENDING'
  AND t.`retry_count` >= 3
FOR UPDATE SKIP LOCKED;

-- publish: spent, step 3: [Held] -> Nothing
UPDATE `outbox` AS t SET
  t.`last_error` = COALESCE(t.`last_error`, 'no attempts left'),
  t.`status` = 'FAILED',
  t.`claimed_by` = NULL,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END
WHERE t.`id` IN ({held});

-- publish: purge 1, step 1: [Limit] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM `outbox` AS t
WHERE t.`status` = 'DELIVERED'
  AND (
    (t.`processed_at` < UTC_TIMESTAMP(6) - INTERVAL 604800 SECOND)
      OR (t.`processed_at` IS NULL AND t.`created_at` < UTC_TIMESTAMP(6) - INTERVAL 604800 SECOND)
  )
LIMIT ?
FOR UPDATE SKIP LOCKED;

-- publish: purge 1, step 2: [Held] -> Nothing
DELETE FROM `outbox`
WHERE `id` IN ({held});

-- publish: next due: [] -> Other
SELECT CAST(
  COALESCE(0 - (TIMESTAMPDIFF(MICROSECOND, t.`next_attempt_at`, UTC_TIMESTAMP(6))), 0) AS SIGNED
) AS w
FROM `outbox` AS t
WHERE t.`status` = 'PENDING'
  AND t.`retry_count` < 3
  AND t.`keeps_order` = 0
ORDER BY t.`next_attempt_at`
LIMIT 1;

-- publish: lag: [] -> Other
SELECT (
  SELECT max(l.w)
    FROM (
      SELECT (
        SELECT CAST(
          COALESCE(
            TIMESTAMPDIFF(MICROSECOND, t.`next_attempt_at`, UTC_TIMESTAMP(6)),
              TIMESTAMPDIFF(MICROSECOND, t.`created_at`, UTC_TIMESTAMP(6))
          ) AS DOUBLE
        )
          / 1000000
          FROM `outbox` AS t
          WHERE t.`status` = 'PENDING'
          AND (t.`next_attempt_at` IS NULL OR t.`next_attempt_at` <= UTC_TIMESTAMP(6))
          AND t.`retry_count` < 3
          AND t.`created_at` < UTC_TIMESTAMP(6) - INTERVAL 1 SECOND
          AND t.`keeps_order` = 0
          ORDER BY t.`created_at`
          LIMIT 1
      ) AS w
        UNION ALL SELECT (
          SELECT CAST(
            COALESCE(
              TIMESTAMPDIFF(MICROSECOND, t.`next_attempt_at`, UTC_TIMESTAMP(6)),
                TIMESTAMPDIFF(MICROSECOND, t.`created_at`, UTC_TIMESTAMP(6))
            ) AS DOUBLE
          )
            / 1000000
            FROM `outbox` AS t
            WHERE t.`status` = 'PENDING'
            AND (t.`next_attempt_at` IS NULL OR t.`next_attempt_at` <= UTC_TIMESTAMP(6))
            AND t.`retry_count` < 3
            AND t.`created_at` < UTC_TIMESTAMP(6) - INTERVAL 1 SECOND
            AND t.`keeps_order` = 1
            ORDER BY t.`created_at`
            LIMIT 1
        )
    ) AS l
),
  (
    SELECT CAST(TIMESTAMPDIFF(MICROSECOND, t.`claimed_at`, UTC_TIMESTAMP(6)) AS DOUBLE) / 1000000
      FROM `outbox` AS t
      WHERE t.`status` = 'PROCESSING'
      ORDER BY t.`claimed_at`
      LIMIT 1
  );

-- publish: census PENDING: [] -> Other
SELECT
  CAST(COUNT(*) AS SIGNED),
  0
FROM (SELECT 1 AS one FROM `outbox` AS t WHERE t.`status` = 'PENDING' LIMIT 10001) AS counted;

-- publish: census PROCESSING: [] -> Other
SELECT
  CAST(COUNT(*) AS SIGNED),
  0
FROM (SELECT 1 AS one FROM `outbox` AS t WHERE t.`status` = 'PROCESSING' LIMIT 10001) AS counted;

-- publish: census DELIVERED: [] -> Other
SELECT
  CAST(COUNT(*) AS SIGNED),
  0
FROM (SELECT 1 AS one FROM `outbox` AS t WHERE t.`status` = 'DELIVERED' LIMIT 10001) AS counted;

-- publish: census FAILED: [] -> Other
SELECT
  CAST(COUNT(*) AS SIGNED),
  0
FROM (SELECT 1 AS one FROM `outbox` AS t WHERE t.`status` = 'FAILED' LIMIT 10001) AS counted;

-- publish: requeue ids FAILED, step 1: [Ids] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM `outbox` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'FAILED'
FOR UPDATE;

-- publish: requeue ids FAILED, step 2: [Held] -> Nothing
UPDATE `outbox` AS t SET
  t.`status` = 'PENDING',
  t.`claimed_by` = NULL,
  t.`next_attempt_at` = UTC_TIMESTAMP(6),
  t.`retry_count` = 0,
  t.`last_error` = NULL,
  t.`processed_at` = NULL,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END
WHERE t.`id` IN ({held});

-- publish: requeue state FAILED, step 1: [Since, Since, Since, Limit] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM `outbox` AS t
WHERE t.`status` = 'FAILED'
  AND (
    ? IS NULL
      OR t.`claimed_at` >= UTC_TIMESTAMP(6) + INTERVAL ROUND((0 - ?) * 1000000) MICROSECOND
      OR t.`claimed_at` IS NULL
      AND t.`created_at` >= UTC_TIMESTAMP(6) + INTERVAL ROUND((0 - ?) * 1000000) MICROSECOND
  )
LIMIT ?;

-- publish: requeue state FAILED, step 2: [Held] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM `outbox` AS t
WHERE t.`id` IN ({held})
  AND t.`status` = 'FAILED'
FOR UPDATE SKIP LOCKED;

-- publish: requeue state FAILED, step 3: [Held] -> Nothing
UPDATE `outbox` AS t SET
  t.`status` = 'PENDING',
  t.`claimed_by` = NULL,
  t.`next_attempt_at` = UTC_TIMESTAMP(6),
  t.`retry_count` = 0,
  t.`last_error` = NULL,
  t.`processed_at` = NULL,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END
WHERE t.`id` IN ({held});

-- publish: release ids PROCESSING, step 1: [Ids] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM `outbox` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'PROCESSING'
FOR UPDATE;

-- publish: release ids PROCESSING, step 2: [Held] -> Nothing
UPDATE `outbox` AS t SET
  t.`status` = 'PENDING',
  t.`claimed_by` = NULL,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END
WHERE t.`id` IN ({held});

-- publish: release state PROCESSING, step 1: [Since, Since, Since, Limit] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM `outbox` AS t
WHERE t.`status` = 'PROCESSING'
  AND (
    ? IS NULL
      OR t.`claimed_at` >= UTC_TIMESTAMP(6) + INTERVAL ROUND((0 - ?) * 1000000) MICROSECOND
      OR t.`claimed_at` IS NULL
      AND t.`created_at` >= UTC_TIMESTAMP(6) + INTERVAL ROUND((0 - ?) * 1000000) MICROSECOND
  )
LIMIT ?;

-- publish: release state PROCESSING, step 2: [Held] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM `outbox` AS t
WHERE t.`id` IN ({held})
  AND t.`status` = 'PROCESSING'
FOR UPDATE SKIP LOCKED;

-- publish: release state PROCESSING, step 3: [Held] -> Nothing
UPDATE `outbox` AS t SET
  t.`status` = 'PENDING',
  t.`claimed_by` = NULL,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END
WHERE t.`id` IN ({held});
