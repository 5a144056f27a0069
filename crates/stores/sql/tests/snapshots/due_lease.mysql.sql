-- due_lease: every statement. Written by the snapshot test; do not edit.

-- create
CREATE TABLE IF NOT EXISTS `jobs` (
    `id` BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    `state` VARCHAR(255) NOT NULL,
    `attempts` INT NOT NULL DEFAULT 0,
    `run_at` BIGINT,
    `error` LONGTEXT,
    `created_at` BIGINT,
    `payload` LONGTEXT
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

-- create
CREATE INDEX `jobs_run_claim` ON `jobs` (`state`, `run_at`, `id`);

-- run: layout Layout { integer_id: true, fences: 1, claim_time: Some(0), pool: 7, fields: ["payload"],
--   joined: [] }

-- run: claim 1, step 1: [Limit] -> Rows
SELECT
  CAST(t.`id` AS SIGNED),
  CAST(
    GREATEST(
      FLOOR(UNIX_TIMESTAMP(UTC_TIMESTAMP(6) + INTERVAL 30 SECOND) * 1000), COALESCE(t.`run_at` + 1, 0)
    ) AS CHAR
  ),
  CAST(COALESCE(t.`attempts`, 0) + 1 AS SIGNED),
  NULL,
  NULL,
  NULL,
  NULL,
  NULL,
  NULL,
  CAST(CAST(FLOOR(UNIX_TIMESTAMP(UTC_TIMESTAMP(6)) * 1000000) - t.`created_at` * 1000 AS SIGNED) AS SIGNED),
  CAST(COALESCE(LENGTH(t.`payload`), 0) AS SIGNED),
  CASE WHEN LENGTH(t.`payload`) <= 65536 THEN t.`payload` END
FROM `jobs` AS t
WHERE t.`state` = 'open'
  AND t.`run_at` <= FLOOR(UNIX_TIMESTAMP(UTC_TIMESTAMP(6)) * 1000)
  AND COALESCE(t.`attempts`, 0) < 10
ORDER BY t.`run_at`, t.`id`
LIMIT ?
FOR UPDATE SKIP LOCKED;

-- run: claim 1, step 2: [ClaimTime, Held] -> Nothing
UPDATE `jobs` AS t SET
  t.`run_at` = ?,
  t.`attempts` = COALESCE(t.`attempts`, 0) + 1
WHERE t.`id` IN ({held});

-- run: load: [Ids] -> Other
SELECT
  CAST(t.`id` AS SIGNED),
  t.`payload`
FROM `jobs` AS t
WHERE t.`id` IN ({ids});

-- run: settle delivered, uniform, step 1: [Ids, One(Fence(0))] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM `jobs` AS t
WHERE t.`id` IN ({ids})
  AND t.`state` = 'open'
  AND t.`run_at` <=> CAST(? AS SIGNED)
FOR UPDATE;

-- run: settle delivered, uniform, step 2: [Held] -> Nothing
UPDATE `jobs` AS t SET
  t.`state` = 'closed',
  t.`error` = NULL
WHERE t.`id` IN ({held});

-- run: settle delivered, each, step 1: [Rows([Id, Fence(0)])] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM (
  SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (`id` BIGINT PATH '$.id', `f0` BIGINT PATH '$.f0')) AS j
) AS v STRAIGHT_JOIN `jobs` AS t
WHERE t.`id` = v.`id`
  AND t.`state` = 'open'
  AND t.`run_at` <=> v.`f0`
FOR UPDATE;

-- run: settle delivered, each, step 2: [Held] -> Nothing
UPDATE `jobs` AS t SET
  t.`state` = 'closed',
  t.`error` = NULL
WHERE t.`id` IN ({held});

-- run: settle retry, uniform, step 1: [Ids, One(Fence(0))] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM `jobs` AS t
WHERE t.`id` IN ({ids})
  AND t.`state` = 'open'
  AND t.`run_at` <=> CAST(? AS SIGNED)
FOR UPDATE;

-- run: settle retry, uniform, step 2: [One(Delay), One(Reason), Held] -> Nothing
UPDATE `jobs` AS t SET
  t.`state` = 'open',
  t.`run_at` = FLOOR(UNIX_TIMESTAMP(UTC_TIMESTAMP(6) + INTERVAL ROUND(? * 1000000) MICROSECOND) * 1000),
  t.`error` = ?
WHERE t.`id` IN ({held});

-- run: settle retry, each, step 1: [Rows([Id, Fence(0)])] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM (
  SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (`id` BIGINT PATH '$.id', `f0` BIGINT PATH '$.f0')) AS j
) AS v STRAIGHT_JOIN `jobs` AS t
WHERE t.`id` = v.`id`
  AND t.`state` = 'open'
  AND t.`run_at` <=> v.`f0`
FOR UPDATE;

-- run: settle retry, each, step 2: [Rows([Delay, Reason, Id]), Held] -> Nothing
UPDATE `jobs` AS t
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
  t.`state` = 'open',
  t.`run_at` = FLOOR(
    UNIX_TIMESTAMP(UTC_TIMESTAMP(6) + INTERVAL ROUND(v.`delay` * 1000000) MICROSECOND) * 1000
  ),
  t.`error` = v.`reason`
WHERE t.`id` IN ({held});

-- run: settle dead, uniform, step 1: [Ids, One(Fence(0))] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM `jobs` AS t
WHERE t.`id` IN ({ids})
  AND t.`state` = 'open'
  AND t.`run_at` <=> CAST(? AS SIGNED)
FOR UPDATE;

-- run: settle dead, uniform, step 2: [One(Reason), Held] -> Nothing
UPDATE `jobs` AS t SET
  t.`state` = 'broken',
  t.`error` = ?
WHERE t.`id` IN ({held});

-- run: settle dead, each, step 1: [Rows([Id, Fence(0)])] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM (
  SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (`id` BIGINT PATH '$.id', `f0` BIGINT PATH '$.f0')) AS j
) AS v STRAIGHT_JOIN `jobs` AS t
WHERE t.`id` = v.`id`
  AND t.`state` = 'open'
  AND t.`run_at` <=> v.`f0`
FOR UPDATE;

-- run: settle dead, each, step 2: [Rows([Reason, Id]), Held] -> Nothing
UPDATE `jobs` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(?, '$[*]' COLUMNS (`reason` LONGTEXT PATH '$.reason', `id` BIGINT PATH '$.id')) AS j
  ) AS v
  ON t.`id` = v.`id` SET
  t.`state` = 'broken',
  t.`error` = v.`reason`
WHERE t.`id` IN ({held});

-- run: settle rejected, uniform, step 1: [Ids, One(Fence(0))] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM `jobs` AS t
WHERE t.`id` IN ({ids})
  AND t.`state` = 'open'
  AND t.`run_at` <=> CAST(? AS SIGNED)
FOR UPDATE;

-- run: settle rejected, uniform, step 2: [One(Reason), Held] -> Nothing
UPDATE `jobs` AS t SET
  t.`state` = 'broken',
  t.`error` = ?
WHERE t.`id` IN ({held});

-- run: settle rejected, each, step 1: [Rows([Id, Fence(0)])] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM (
  SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (`id` BIGINT PATH '$.id', `f0` BIGINT PATH '$.f0')) AS j
) AS v STRAIGHT_JOIN `jobs` AS t
WHERE t.`id` = v.`id`
  AND t.`state` = 'open'
  AND t.`run_at` <=> v.`f0`
FOR UPDATE;

-- run: settle rejected, each, step 2: [Rows([Reason, Id]), Held] -> Nothing
UPDATE `jobs` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(?, '$[*]' COLUMNS (`reason` LONGTEXT PATH '$.reason', `id` BIGINT PATH '$.id')) AS j
  ) AS v
  ON t.`id` = v.`id` SET
  t.`state` = 'broken',
  t.`error` = v.`reason`
WHERE t.`id` IN ({held});

-- run: settle skipped, uniform, step 1: [Ids, One(Fence(0))] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM `jobs` AS t
WHERE t.`id` IN ({ids})
  AND t.`state` = 'open'
  AND t.`run_at` <=> CAST(? AS SIGNED)
FOR UPDATE;

-- run: settle skipped, uniform, step 2: [One(Reason), Held] -> Nothing
UPDATE `jobs` AS t SET
  t.`state` = 'broken',
  t.`error` = ?
WHERE t.`id` IN ({held});

-- run: settle skipped, each, step 1: [Rows([Id, Fence(0)])] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM (
  SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (`id` BIGINT PATH '$.id', `f0` BIGINT PATH '$.f0')) AS j
) AS v STRAIGHT_JOIN `jobs` AS t
WHERE t.`id` = v.`id`
  AND t.`state` = 'open'
  AND t.`run_at` <=> v.`f0`
FOR UPDATE;

-- run: settle skipped, each, step 2: [Rows([Reason, Id]), Held] -> Nothing
UPDATE `jobs` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(?, '$[*]' COLUMNS (`reason` LONGTEXT PATH '$.reason', `id` BIGINT PATH '$.id')) AS j
  ) AS v
  ON t.`id` = v.`id` SET
  t.`state` = 'broken',
  t.`error` = v.`reason`
WHERE t.`id` IN ({held});

-- run: settle deferred, uniform, step 1: [Ids, One(Fence(0))] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM `jobs` AS t
WHERE t.`id` IN ({ids})
  AND t.`state` = 'open'
  AND t.`run_at` <=> CAST(? AS SIGNED)
FOR UPDATE;

-- run: settle deferred, uniform, step 2: [One(Delay), Held] -> Nothing
UPDATE `jobs` AS t SET
  t.`state` = 'open',
  t.`run_at` = FLOOR(UNIX_TIMESTAMP(UTC_TIMESTAMP(6) + INTERVAL ROUND(? * 1000000) MICROSECOND) * 1000),
  t.`attempts` = CASE WHEN t.`attempts` > 0 THEN t.`attempts` - 1 ELSE 0 END
WHERE t.`id` IN ({held});

-- run: settle deferred, each, step 1: [Rows([Id, Fence(0)])] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM (
  SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (`id` BIGINT PATH '$.id', `f0` BIGINT PATH '$.f0')) AS j
) AS v STRAIGHT_JOIN `jobs` AS t
WHERE t.`id` = v.`id`
  AND t.`state` = 'open'
  AND t.`run_at` <=> v.`f0`
FOR UPDATE;

-- run: settle deferred, each, step 2: [Rows([Delay, Id]), Held] -> Nothing
UPDATE `jobs` AS t
  JOIN (
    SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (`delay` DOUBLE PATH '$.delay', `id` BIGINT PATH '$.id')) AS j
  ) AS v
  ON t.`id` = v.`id` SET
  t.`state` = 'open',
  t.`run_at` = FLOOR(
    UNIX_TIMESTAMP(UTC_TIMESTAMP(6) + INTERVAL ROUND(v.`delay` * 1000000) MICROSECOND) * 1000
  ),
  t.`attempts` = CASE WHEN t.`attempts` > 0 THEN t.`attempts` - 1 ELSE 0 END
WHERE t.`id` IN ({held});

-- run: settle released, uniform, step 1: [Ids, One(Fence(0))] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM `jobs` AS t
WHERE t.`id` IN ({ids})
  AND t.`state` = 'open'
  AND t.`run_at` <=> CAST(? AS SIGNED)
FOR UPDATE;

-- run: settle released, uniform, step 2: [Held] -> Nothing
UPDATE `jobs` AS t SET
  t.`state` = 'open',
  t.`run_at` = FLOOR(UNIX_TIMESTAMP(UTC_TIMESTAMP(6)) * 1000),
  t.`attempts` = CASE WHEN t.`attempts` > 0 THEN t.`attempts` - 1 ELSE 0 END
WHERE t.`id` IN ({held});

-- run: settle released, each, step 1: [Rows([Id, Fence(0)])] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM (
  SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (`id` BIGINT PATH '$.id', `f0` BIGINT PATH '$.f0')) AS j
) AS v STRAIGHT_JOIN `jobs` AS t
WHERE t.`id` = v.`id`
  AND t.`state` = 'open'
  AND t.`run_at` <=> v.`f0`
FOR UPDATE;

-- run: settle released, each, step 2: [Held] -> Nothing
UPDATE `jobs` AS t SET
  t.`state` = 'open',
  t.`run_at` = FLOOR(UNIX_TIMESTAMP(UTC_TIMESTAMP(6)) * 1000),
  t.`attempts` = CASE WHEN t.`attempts` > 0 THEN t.`attempts` - 1 ELSE 0 END
WHERE t.`id` IN ({held});

-- run: extend, step 1: [Rows([Id, Fence(0)])] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM (
  SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (`id` BIGINT PATH '$.id', `f0` BIGINT PATH '$.f0')) AS j
) AS v STRAIGHT_JOIN `jobs` AS t
WHERE t.`id` = v.`id`
  AND t.`state` = 'open'
  AND t.`run_at` <=> v.`f0`
FOR UPDATE;

-- run: extend, step 2: [Held] -> Nothing
UPDATE `jobs` AS t SET t.`run_at` = GREATEST(
  FLOOR(UNIX_TIMESTAMP(UTC_TIMESTAMP(6) + INTERVAL 30 SECOND) * 1000), COALESCE(t.`run_at` + 1, 0)
)
WHERE t.`id` IN ({held});

-- run: extend, step 3: [Held] -> Leases
SELECT
  CAST(t.`id` AS SIGNED),
  CAST(t.`run_at` AS CHAR)
FROM `jobs` AS t
WHERE t.`id` IN ({held});

-- run: leases that still hold: [Rows([Id, Fence(0)])] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM (
  SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (`id` BIGINT PATH '$.id', `f0` BIGINT PATH '$.f0')) AS j
) AS v STRAIGHT_JOIN `jobs` AS t
WHERE t.`id` = v.`id`
  AND t.`state` = 'open'
  AND t.`run_at` <=> v.`f0`;

-- run: spent, step 1: [Limit] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM `jobs` AS t
WHERE t.`state` = 'open'
  AND COALESCE(t.`attempts`, 0) >= 10
  AND t.`run_at` <= FLOOR(UNIX_TIMESTAMP(UTC_TIMESTAMP(6)) * 1000)
LIMIT ?;

-- run: spent, step 2: [Held] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM `jobs` AS t
WHERE t.`id` IN ({held})
  AND t.`state` = 'open'
  AND COALESCE(t.`attempts`, 0) >= 10
  AND t.`run_at` <= FLOOR(UNIX_TIMESTAMP(UTC_TIMESTAMP(6)) * 1000)
FOR UPDATE SKIP LOCKED;

-- run: spent, step 3: [Held] -> Nothing
UPDATE `jobs` AS t SET
  t.`error` = COALESCE(t.`error`, 'no attempts left'),
  t.`state` = 'broken'
WHERE t.`id` IN ({held});

-- run: next due: [] -> Other
SELECT CAST(
  0 - (CAST(FLOOR(UNIX_TIMESTAMP(UTC_TIMESTAMP(6)) * 1000000) - t.`run_at` * 1000 AS SIGNED)) AS SIGNED
) AS w
FROM `jobs` AS t
WHERE t.`state` = 'open'
  AND COALESCE(t.`attempts`, 0) < 10
  AND t.`run_at` IS NOT NULL
ORDER BY t.`run_at`
LIMIT 1;

-- run: lag: [] -> Other
SELECT (
  SELECT CAST(
    COALESCE(
      CAST(FLOOR(UNIX_TIMESTAMP(UTC_TIMESTAMP(6)) * 1000000) - t.`run_at` * 1000 AS SIGNED),
        CAST(FLOOR(UNIX_TIMESTAMP(UTC_TIMESTAMP(6)) * 1000000) - t.`created_at` * 1000 AS SIGNED)
    ) AS DOUBLE
  )
    / 1000000
    FROM `jobs` AS t
    WHERE t.`state` = 'open'
    AND t.`run_at` <= FLOOR(UNIX_TIMESTAMP(UTC_TIMESTAMP(6)) * 1000)
    AND COALESCE(t.`attempts`, 0) < 10
    ORDER BY t.`run_at`
    LIMIT 1
),
  NULL;

-- run: census open: [] -> Other
SELECT
  CAST(COUNT(*) AS SIGNED),
  0
FROM (SELECT 1 AS one FROM `jobs` AS t WHERE t.`state` = 'open' LIMIT 10001) AS counted;

-- run: census closed: [] -> Other
SELECT
  CAST(COUNT(*) AS SIGNED),
  0
FROM (SELECT 1 AS one FROM `jobs` AS t WHERE t.`state` = 'closed' LIMIT 10001) AS counted;

-- run: census broken: [] -> Other
SELECT
  CAST(COUNT(*) AS SIGNED),
  0
FROM (SELECT 1 AS one FROM `jobs` AS t WHERE t.`state` = 'broken' LIMIT 10001) AS counted;

-- run: requeue ids broken, step 1: [Ids] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM `jobs` AS t
WHERE t.`id` IN ({ids})
  AND t.`state` = 'broken'
FOR UPDATE;

-- run: requeue ids broken, step 2: [Held] -> Nothing
UPDATE `jobs` AS t SET
  t.`state` = 'open',
  t.`run_at` = FLOOR(UNIX_TIMESTAMP(UTC_TIMESTAMP(6)) * 1000),
  t.`attempts` = 0,
  t.`error` = NULL
WHERE t.`id` IN ({held});

-- run: requeue state broken, step 1: [Since, Since, Limit] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM `jobs` AS t
WHERE t.`state` = 'broken'
  AND (
    ? IS NULL
      OR t.`created_at` >= FLOOR(
        UNIX_TIMESTAMP(UTC_TIMESTAMP(6) + INTERVAL ROUND((0 - ?) * 1000000) MICROSECOND) * 1000
      )
  )
LIMIT ?;

-- run: requeue state broken, step 2: [Held] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM `jobs` AS t
WHERE t.`id` IN ({held})
  AND t.`state` = 'broken'
FOR UPDATE SKIP LOCKED;

-- run: requeue state broken, step 3: [Held] -> Nothing
UPDATE `jobs` AS t SET
  t.`state` = 'open',
  t.`run_at` = FLOOR(UNIX_TIMESTAMP(UTC_TIMESTAMP(6)) * 1000),
  t.`attempts` = 0,
  t.`error` = NULL
WHERE t.`id` IN ({held});
