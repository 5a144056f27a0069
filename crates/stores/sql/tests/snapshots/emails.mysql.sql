-- emails: every statement. Written by the snapshot test; do not edit.

-- create
CREATE TABLE IF NOT EXISTS `emails` (
    id CHAR(36) PRIMARY KEY,
    status ENUM(
      'ACCEPTED',
        'INTAKING',
        'READY',
        'PROCESSING',
        'SENT',
        'FAILED',
        'INVALID',
        'CALLING-SENT-CALLBACK',
        'CALLING-FAILED-CALLBACK',
        'SENT-ACKNOWLEDGED',
        'FAILED-ACKNOWLEDGED'
    ) NOT NULL,
    eml_file_path VARCHAR(500),
    payload_file_path VARCHAR(500),
    reason TEXT,
    version INT NOT NULL DEFAULT 1,
    created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    updated_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
    attempts INT,
    next_attempt_at DATETIME(6),
    claimed_by VARCHAR(64),
    INDEX idx_status (status),
    INDEX idx_status_updated (status, updated_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

-- create
CREATE TABLE IF NOT EXISTS email_statuses (
    id BIGINT AUTO_INCREMENT PRIMARY KEY,
    email_id CHAR(36) NOT NULL,
    status VARCHAR(50) NOT NULL,
    reason TEXT,
    created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    INDEX idx_email_id (email_id),
    FOREIGN KEY (email_id) REFERENCES `emails` (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

-- create
CREATE INDEX `emails_intake_claim` ON `emails` (`status`, `updated_at`, `id`);

-- intake: layout Layout { integer_id: false, fences: 1, claim_time: None, pool: 7, fields: ["eml_path",
--   "payload_path", "reason"], joined: [] }

-- intake: claim 1, step 1: [Limit] -> Rows
SELECT
  CAST(t.`id` AS CHAR),
  CAST(CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END AS CHAR),
  CAST(COALESCE(t.`attempts`, 0) AS SIGNED),
  NULL,
  NULL,
  NULL,
  NULL,
  NULL,
  NULL,
  CAST(
    COALESCE(
      TIMESTAMPDIFF(MICROSECOND, t.`next_attempt_at`, UTC_TIMESTAMP(6)),
        TIMESTAMPDIFF(MICROSECOND, t.`created_at`, UTC_TIMESTAMP(6))
    ) AS SIGNED
  ),
  CAST(
    COALESCE(LENGTH(t.`eml_file_path`), 0)
      + COALESCE(LENGTH(t.`payload_file_path`), 0)
      + COALESCE(LENGTH(t.`reason`), 0) AS SIGNED
  ),
  CASE WHEN LENGTH(t.`eml_file_path`) <= 65536 THEN t.`eml_file_path` END,
  CASE WHEN LENGTH(t.`payload_file_path`) <= 65536 THEN t.`payload_file_path` END,
  CASE WHEN LENGTH(t.`reason`) <= 65536 THEN t.`reason` END
FROM `emails` AS t
WHERE t.`status` = 'ACCEPTED'
  AND (t.`next_attempt_at` IS NULL OR t.`next_attempt_at` <= UTC_TIMESTAMP(6))
  AND COALESCE(t.`attempts`, 0) < 5
ORDER BY t.`updated_at`, t.`id`
LIMIT ?
FOR UPDATE SKIP LOCKED;

-- intake: claim 1, step 2: [Owner, Held] -> Nothing
UPDATE `emails` AS t SET
  t.`status` = 'INTAKING',
  t.`updated_at` = CAST(
    CASE
      WHEN t.`updated_at`
        BETWEEN UTC_TIMESTAMP(6) - INTERVAL 1 SECOND
        AND UTC_TIMESTAMP(6) + INTERVAL 60 SECOND
        THEN t.`updated_at` + INTERVAL 1 SECOND
      ELSE UTC_TIMESTAMP(6)
      END AS DATETIME(0)
  ),
  t.`claimed_by` = LEFT(?, 64),
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END
WHERE t.`id` IN ({held});

-- intake: claim 1, step 3: [Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'INTAKING',
  NULL,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
WHERE t.`id` IN ({held});

-- intake: load: [Ids] -> Other
SELECT
  CAST(t.`id` AS CHAR),
  t.`eml_file_path`,
  t.`payload_file_path`,
  t.`reason`
FROM `emails` AS t
WHERE t.`id` IN ({ids});

-- intake: settle delivered, uniform, step 1: [Ids, One(Fence(0))] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `emails` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'INTAKING'
  AND t.`version` <=> CAST(? AS SIGNED)
FOR UPDATE;

-- intake: settle delivered, uniform, step 2: [One(Outcome("eml_path")), Held] -> Nothing
UPDATE `emails` AS t SET
  t.`eml_file_path` = COALESCE(LEFT(?, 500), t.`eml_file_path`),
  t.`status` = 'READY',
  t.`claimed_by` = NULL,
  t.`next_attempt_at` = UTC_TIMESTAMP(6),
  t.`attempts` = 0,
  t.`reason` = NULL,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- intake: settle delivered, uniform, step 3: [One(Reason), Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'READY',
  ?,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
WHERE t.`id` IN ({held});

-- intake: settle delivered, each, step 1: [Rows([Id, Fence(0)])] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM (
  SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (`id` VARCHAR(255) PATH '$.id', `f0` BIGINT PATH '$.f0')) AS j
) AS v STRAIGHT_JOIN `emails` AS t
WHERE t.`id` = v.`id`
  AND t.`status` = 'INTAKING'
  AND t.`version` <=> v.`f0`
FOR UPDATE;

-- intake: settle delivered, each, step 2: [Rows([Outcome("eml_path"), Id]), Held] -> Nothing
UPDATE `emails` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?, '$[*]' COLUMNS (`o_eml_path` LONGTEXT PATH '$.o_eml_path', `id` VARCHAR(255) PATH '$.id')
      ) AS j
  ) AS v
  ON t.`id` = v.`id` SET
  t.`eml_file_path` = COALESCE(LEFT(v.`o_eml_path`, 500), t.`eml_file_path`),
  t.`status` = 'READY',
  t.`claimed_by` = NULL,
  t.`next_attempt_at` = UTC_TIMESTAMP(6),
  t.`attempts` = 0,
  t.`reason` = NULL,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- intake: settle delivered, each, step 3: [Rows([Reason, Id]), Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'READY',
  v.`reason`,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?, '$[*]' COLUMNS (`reason` LONGTEXT PATH '$.reason', `id` VARCHAR(255) PATH '$.id')
      ) AS j
  ) AS v
  ON t.`id` = v.`id`
WHERE t.`id` IN ({held});

-- intake: settle retry, uniform, step 1: [Ids, One(Fence(0))] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `emails` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'INTAKING'
  AND t.`version` <=> CAST(? AS SIGNED)
FOR UPDATE;

-- intake: settle retry, uniform, step 2: [One(Delay), One(Reason), Held] -> Nothing
UPDATE `emails` AS t SET
  t.`status` = 'ACCEPTED',
  t.`claimed_by` = NULL,
  t.`next_attempt_at` = UTC_TIMESTAMP(6) + INTERVAL ROUND(? * 1000000) MICROSECOND,
  t.`attempts` = COALESCE(t.`attempts`, 0) + 1,
  t.`reason` = ?,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- intake: settle retry, uniform, step 3: [One(Reason), Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'ACCEPTED',
  ?,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
WHERE t.`id` IN ({held});

-- intake: settle retry, each, step 1: [Rows([Id, Fence(0)])] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM (
  SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (`id` VARCHAR(255) PATH '$.id', `f0` BIGINT PATH '$.f0')) AS j
) AS v STRAIGHT_JOIN `emails` AS t
WHERE t.`id` = v.`id`
  AND t.`status` = 'INTAKING'
  AND t.`version` <=> v.`f0`
FOR UPDATE;

-- intake: settle retry, each, step 2: [Rows([Delay, Reason, Id]), Held] -> Nothing
UPDATE `emails` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?,
          '$[*]' COLUMNS (
            `delay` DOUBLE PATH '$.delay', `reason` LONGTEXT PATH '$.reason', `id` VARCHAR(255) PATH '$.id'
          )
      ) AS j
  ) AS v
  ON t.`id` = v.`id` SET
  t.`status` = 'ACCEPTED',
  t.`claimed_by` = NULL,
  t.`next_attempt_at` = UTC_TIMESTAMP(6) + INTERVAL ROUND(v.`delay` * 1000000) MICROSECOND,
  t.`attempts` = COALESCE(t.`attempts`, 0) + 1,
  t.`reason` = v.`reason`,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- intake: settle retry, each, step 3: [Rows([Reason, Id]), Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'ACCEPTED',
  v.`reason`,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?, '$[*]' COLUMNS (`reason` LONGTEXT PATH '$.reason', `id` VARCHAR(255) PATH '$.id')
      ) AS j
  ) AS v
  ON t.`id` = v.`id`
WHERE t.`id` IN ({held});

-- intake: settle dead, uniform, step 1: [Ids, One(Fence(0))] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `emails` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'INTAKING'
  AND t.`version` <=> CAST(? AS SIGNED)
FOR UPDATE;

-- intake: settle dead, uniform, step 2: [One(Reason), Held] -> Nothing
UPDATE `emails` AS t SET
  t.`status` = 'INVALID',
  t.`claimed_by` = NULL,
  t.`attempts` = COALESCE(t.`attempts`, 0) + 1,
  t.`reason` = ?,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- intake: settle dead, uniform, step 3: [One(Reason), Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'INVALID',
  ?,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
WHERE t.`id` IN ({held});

-- intake: settle dead, each, step 1: [Rows([Id, Fence(0)])] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM (
  SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (`id` VARCHAR(255) PATH '$.id', `f0` BIGINT PATH '$.f0')) AS j
) AS v STRAIGHT_JOIN `emails` AS t
WHERE t.`id` = v.`id`
  AND t.`status` = 'INTAKING'
  AND t.`version` <=> v.`f0`
FOR UPDATE;

-- intake: settle dead, each, step 2: [Rows([Reason, Id]), Held] -> Nothing
UPDATE `emails` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?, '$[*]' COLUMNS (`reason` LONGTEXT PATH '$.reason', `id` VARCHAR(255) PATH '$.id')
      ) AS j
  ) AS v
  ON t.`id` = v.`id` SET
  t.`status` = 'INVALID',
  t.`claimed_by` = NULL,
  t.`attempts` = COALESCE(t.`attempts`, 0) + 1,
  t.`reason` = v.`reason`,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- intake: settle dead, each, step 3: [Rows([Reason, Id]), Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'INVALID',
  v.`reason`,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?, '$[*]' COLUMNS (`reason` LONGTEXT PATH '$.reason', `id` VARCHAR(255) PATH '$.id')
      ) AS j
  ) AS v
  ON t.`id` = v.`id`
WHERE t.`id` IN ({held});

-- intake: settle rejected, uniform, step 1: [Ids, One(Fence(0))] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `emails` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'INTAKING'
  AND t.`version` <=> CAST(? AS SIGNED)
FOR UPDATE;

-- intake: settle rejected, uniform, step 2: [One(Reason), Held] -> Nothing
UPDATE `emails` AS t SET
  t.`status` = 'INVALID',
  t.`claimed_by` = NULL,
  t.`attempts` = COALESCE(t.`attempts`, 0) + 1,
  t.`reason` = ?,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- intake: settle rejected, uniform, step 3: [One(Reason), Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'INVALID',
  ?,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
WHERE t.`id` IN ({held});

-- intake: settle rejected, each, step 1: [Rows([Id, Fence(0)])] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM (
  SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (`id` VARCHAR(255) PATH '$.id', `f0` BIGINT PATH '$.f0')) AS j
) AS v STRAIGHT_JOIN `emails` AS t
WHERE t.`id` = v.`id`
  AND t.`status` = 'INTAKING'
  AND t.`version` <=> v.`f0`
FOR UPDATE;

-- intake: settle rejected, each, step 2: [Rows([Reason, Id]), Held] -> Nothing
UPDATE `emails` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?, '$[*]' COLUMNS (`reason` LONGTEXT PATH '$.reason', `id` VARCHAR(255) PATH '$.id')
      ) AS j
  ) AS v
  ON t.`id` = v.`id` SET
  t.`status` = 'INVALID',
  t.`claimed_by` = NULL,
  t.`attempts` = COALESCE(t.`attempts`, 0) + 1,
  t.`reason` = v.`reason`,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- intake: settle rejected, each, step 3: [Rows([Reason, Id]), Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'INVALID',
  v.`reason`,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?, '$[*]' COLUMNS (`reason` LONGTEXT PATH '$.reason', `id` VARCHAR(255) PATH '$.id')
      ) AS j
  ) AS v
  ON t.`id` = v.`id`
WHERE t.`id` IN ({held});

-- intake: settle skipped, uniform, step 1: [Ids, One(Fence(0))] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `emails` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'INTAKING'
  AND t.`version` <=> CAST(? AS SIGNED)
FOR UPDATE;

-- intake: settle skipped, uniform, step 2: [One(Reason), Held] -> Nothing
UPDATE `emails` AS t SET
  t.`status` = 'INVALID',
  t.`claimed_by` = NULL,
  t.`attempts` = COALESCE(t.`attempts`, 0) + 1,
  t.`reason` = ?,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- intake: settle skipped, uniform, step 3: [One(Reason), Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'INVALID',
  ?,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
WHERE t.`id` IN ({held});

-- intake: settle skipped, each, step 1: [Rows([Id, Fence(0)])] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM (
  SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (`id` VARCHAR(255) PATH '$.id', `f0` BIGINT PATH '$.f0')) AS j
) AS v STRAIGHT_JOIN `emails` AS t
WHERE t.`id` = v.`id`
  AND t.`status` = 'INTAKING'
  AND t.`version` <=> v.`f0`
FOR UPDATE;

-- intake: settle skipped, each, step 2: [Rows([Reason, Id]), Held] -> Nothing
UPDATE `emails` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?, '$[*]' COLUMNS (`reason` LONGTEXT PATH '$.reason', `id` VARCHAR(255) PATH '$.id')
      ) AS j
  ) AS v
  ON t.`id` = v.`id` SET
  t.`status` = 'INVALID',
  t.`claimed_by` = NULL,
  t.`attempts` = COALESCE(t.`attempts`, 0) + 1,
  t.`reason` = v.`reason`,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- intake: settle skipped, each, step 3: [Rows([Reason, Id]), Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'INVALID',
  v.`reason`,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?, '$[*]' COLUMNS (`reason` LONGTEXT PATH '$.reason', `id` VARCHAR(255) PATH '$.id')
      ) AS j
  ) AS v
  ON t.`id` = v.`id`
WHERE t.`id` IN ({held});

-- intake: settle deferred, uniform, step 1: [Ids, One(Fence(0))] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `emails` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'INTAKING'
  AND t.`version` <=> CAST(? AS SIGNED)
FOR UPDATE;

-- intake: settle deferred, uniform, step 2: [One(Delay), Held] -> Nothing
UPDATE `emails` AS t SET
  t.`status` = 'ACCEPTED',
  t.`claimed_by` = NULL,
  t.`next_attempt_at` = UTC_TIMESTAMP(6) + INTERVAL ROUND(? * 1000000) MICROSECOND,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- intake: settle deferred, uniform, step 3: [One(Reason), Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'ACCEPTED',
  ?,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
WHERE t.`id` IN ({held});

-- intake: settle deferred, each, step 1: [Rows([Id, Fence(0)])] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM (
  SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (`id` VARCHAR(255) PATH '$.id', `f0` BIGINT PATH '$.f0')) AS j
) AS v STRAIGHT_JOIN `emails` AS t
WHERE t.`id` = v.`id`
  AND t.`status` = 'INTAKING'
  AND t.`version` <=> v.`f0`
FOR UPDATE;

-- intake: settle deferred, each, step 2: [Rows([Delay, Id]), Held] -> Nothing
UPDATE `emails` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(?, '$[*]' COLUMNS (`delay` DOUBLE PATH '$.delay', `id` VARCHAR(255) PATH '$.id')) AS j
  ) AS v
  ON t.`id` = v.`id` SET
  t.`status` = 'ACCEPTED',
  t.`claimed_by` = NULL,
  t.`next_attempt_at` = UTC_TIMESTAMP(6) + INTERVAL ROUND(v.`delay` * 1000000) MICROSECOND,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- intake: settle deferred, each, step 3: [Rows([Reason, Id]), Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'ACCEPTED',
  v.`reason`,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?, '$[*]' COLUMNS (`reason` LONGTEXT PATH '$.reason', `id` VARCHAR(255) PATH '$.id')
      ) AS j
  ) AS v
  ON t.`id` = v.`id`
WHERE t.`id` IN ({held});

-- intake: settle released, uniform, step 1: [Ids, One(Fence(0))] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `emails` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'INTAKING'
  AND t.`version` <=> CAST(? AS SIGNED)
FOR UPDATE;

-- intake: settle released, uniform, step 2: [Held] -> Nothing
UPDATE `emails` AS t SET
  t.`status` = 'ACCEPTED',
  t.`claimed_by` = NULL,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- intake: settle released, uniform, step 3: [One(Reason), Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'ACCEPTED',
  ?,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
WHERE t.`id` IN ({held});

-- intake: settle released, each, step 1: [Rows([Id, Fence(0)])] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM (
  SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (`id` VARCHAR(255) PATH '$.id', `f0` BIGINT PATH '$.f0')) AS j
) AS v STRAIGHT_JOIN `emails` AS t
WHERE t.`id` = v.`id`
  AND t.`status` = 'INTAKING'
  AND t.`version` <=> v.`f0`
FOR UPDATE;

-- intake: settle released, each, step 2: [Held] -> Nothing
UPDATE `emails` AS t SET
  t.`status` = 'ACCEPTED',
  t.`claimed_by` = NULL,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- intake: settle released, each, step 3: [Rows([Reason, Id]), Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'ACCEPTED',
  v.`reason`,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?, '$[*]' COLUMNS (`reason` LONGTEXT PATH '$.reason', `id` VARCHAR(255) PATH '$.id')
      ) AS j
  ) AS v
  ON t.`id` = v.`id`
WHERE t.`id` IN ({held});

-- intake: extend, step 1: [Rows([Id, Fence(0)])] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM (
  SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (`id` VARCHAR(255) PATH '$.id', `f0` BIGINT PATH '$.f0')) AS j
) AS v STRAIGHT_JOIN `emails` AS t
WHERE t.`id` = v.`id`
  AND t.`status` = 'INTAKING'
  AND t.`version` <=> v.`f0`
FOR UPDATE;

-- intake: extend, step 2: [Held] -> Nothing
UPDATE `emails` AS t SET
  t.`updated_at` = CAST(
    CASE
      WHEN t.`updated_at`
        BETWEEN UTC_TIMESTAMP(6) - INTERVAL 1 SECOND
        AND UTC_TIMESTAMP(6) + INTERVAL 60 SECOND
        THEN t.`updated_at` + INTERVAL 1 SECOND
      ELSE UTC_TIMESTAMP(6)
      END AS DATETIME(0)
  ),
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END
WHERE t.`id` IN ({held});

-- intake: extend, step 3: [Held] -> Leases
SELECT
  CAST(t.`id` AS CHAR),
  CAST(t.`version` AS CHAR)
FROM `emails` AS t
WHERE t.`id` IN ({held});

-- intake: leases after a lost extension: [Ids, Owner] -> Leases
SELECT
  CAST(t.`id` AS CHAR),
  CAST(t.`version` AS CHAR)
FROM `emails` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'INTAKING'
  AND t.`claimed_by` = ?;

-- intake: leases that still hold: [Rows([Id, Fence(0)])] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM (
  SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (`id` VARCHAR(255) PATH '$.id', `f0` BIGINT PATH '$.f0')) AS j
) AS v STRAIGHT_JOIN `emails` AS t
WHERE t.`id` = v.`id`
  AND t.`status` = 'INTAKING'
  AND t.`version` <=> v.`f0`
  AND (t.`updated_at` < UTC_TIMESTAMP(6) - INTERVAL 600 SECOND) IS NOT TRUE;

-- intake: look for rows of a lost claim: [Owner] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `emails` AS t
WHERE t.`status` = 'INTAKING'
  AND t.`claimed_by` = ?;

-- intake: release rows of a lost claim, step 1: [Ids, Owner] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `emails` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'INTAKING'
  AND t.`claimed_by` = ?
FOR UPDATE;

-- intake: release rows of a lost claim, step 2: [Held] -> Nothing
UPDATE `emails` AS t SET
  t.`status` = 'ACCEPTED',
  t.`claimed_by` = NULL,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- intake: release rows of a lost claim, step 3: [Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'ACCEPTED',
  NULL,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
WHERE t.`id` IN ({held});

-- intake: look for expired leases: [Limit] -> Other
SELECT
  CAST(t.`id` AS CHAR),
  CAST(t.`version` AS CHAR),
  CASE WHEN COALESCE(t.`attempts`, 0) + 1 >= 5 THEN 1 ELSE 0 END,
  5
FROM `emails` AS t
WHERE t.`status` = 'INTAKING'
  AND t.`updated_at` < UTC_TIMESTAMP(6) - INTERVAL 600 SECOND
LIMIT ?;

-- intake: reclaim, free, step 1: [Ids] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `emails` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'INTAKING'
  AND t.`updated_at` < UTC_TIMESTAMP(6) - INTERVAL 600 SECOND
FOR UPDATE;

-- intake: reclaim, free, step 2: [Held] -> Nothing
UPDATE `emails` AS t SET
  t.`status` = 'ACCEPTED',
  t.`claimed_by` = NULL,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- intake: reclaim, free, step 3: [Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'ACCEPTED',
  NULL,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
WHERE t.`id` IN ({held});

-- intake: reclaim, spared, step 1: [Ids] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `emails` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'INTAKING'
  AND t.`updated_at` < UTC_TIMESTAMP(6) - INTERVAL 600 SECOND
FOR UPDATE;

-- intake: reclaim, spared, step 2: [Held] -> Nothing
UPDATE `emails` AS t SET
  t.`status` = 'ACCEPTED',
  t.`claimed_by` = NULL,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- intake: reclaim, spared, step 3: [Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'ACCEPTED',
  NULL,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
WHERE t.`id` IN ({held});

-- intake: reclaim, spared, step 4: [Held] -> Nothing
INSERT INTO postrider_crashes (place, row_id, crashes, crashed_at)
SELECT
  'emails/intake',
  CAST(CAST(t.`id` AS CHAR) AS CHAR),
  1,
  UTC_TIMESTAMP(6)
FROM `emails` AS t WHERE t.`id` IN ({held})
ON DUPLICATE KEY UPDATE crashes = postrider_crashes.crashes + 1, crashed_at = VALUES(crashed_at);

-- intake: reclaim, charged, step 1: [Ids] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `emails` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'INTAKING'
  AND t.`updated_at` < UTC_TIMESTAMP(6) - INTERVAL 600 SECOND
FOR UPDATE;

-- intake: reclaim, charged, step 2: [Held] -> Nothing
UPDATE `emails` AS t SET
  t.`status` = 'ACCEPTED',
  t.`claimed_by` = NULL,
  t.`next_attempt_at` = UTC_TIMESTAMP(6),
  t.`attempts` = COALESCE(t.`attempts`, 0) + 1,
  t.`reason` = 'lease expired: the worker that held it is gone',
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- intake: reclaim, charged, step 3: [Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'ACCEPTED',
  'lease expired: the worker that held it is gone',
  UTC_TIMESTAMP(6)
FROM `emails` AS t
WHERE t.`id` IN ({held});

-- intake: reclaim, charged, step 4: [Held] -> Nothing
INSERT INTO postrider_crashes (place, row_id, crashes, crashed_at)
SELECT
  'emails/intake',
  CAST(CAST(t.`id` AS CHAR) AS CHAR),
  1,
  UTC_TIMESTAMP(6)
FROM `emails` AS t WHERE t.`id` IN ({held})
ON DUPLICATE KEY UPDATE crashes = postrider_crashes.crashes + 1, crashed_at = VALUES(crashed_at);

-- intake: reclaim, dead, step 1: [Ids] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `emails` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'INTAKING'
  AND t.`updated_at` < UTC_TIMESTAMP(6) - INTERVAL 600 SECOND
FOR UPDATE;

-- intake: reclaim, dead, step 2: [Held] -> Nothing
UPDATE `emails` AS t SET
  t.`status` = 'INVALID',
  t.`claimed_by` = NULL,
  t.`attempts` = COALESCE(t.`attempts`, 0) + 1,
  t.`reason` = 'poison row: its workers crashed repeatedly, also when it was delivered alone',
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- intake: reclaim, dead, step 3: [Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'INVALID',
  'poison row: its workers crashed repeatedly, also when it was delivered alone',
  UTC_TIMESTAMP(6)
FROM `emails` AS t
WHERE t.`id` IN ({held});

-- intake: reclaim, dead, step 4: [Held] -> Nothing
DELETE
  FROM postrider_crashes
  WHERE place = 'emails/intake'
  AND row_id IN (SELECT CAST(CAST(t.`id` AS CHAR) AS CHAR) FROM `emails` AS t WHERE t.`id` IN ({held}));

-- intake: spent, step 1: [Limit] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM (
  SELECT
    t.`id`,
    t.`attempts`
  FROM `emails` AS t WHERE t.`status` = 'ACCEPTED' ORDER BY t.`updated_at`, t.`id` LIMIT 10000
) AS t
WHERE COALESCE(t.`attempts`, 0) >= 5
LIMIT ?;

-- intake: spent, step 2: [Held] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `emails` AS t
WHERE t.`id` IN ({held})
  AND t.`status` = 'ACCEPTED'
  AND COALESCE(t.`attempts`, 0) >= 5
FOR UPDATE SKIP LOCKED;

-- intake: spent, step 3: [Held] -> Nothing
UPDATE `emails` AS t SET
  t.`reason` = COALESCE(t.`reason`, 'no attempts left'),
  t.`status` = 'INVALID',
  t.`claimed_by` = NULL,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- intake: spent, step 4: [Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'INVALID',
  'no attempts left',
  UTC_TIMESTAMP(6)
FROM `emails` AS t
WHERE t.`id` IN ({held});

-- intake: next due: [] -> Other
SELECT CAST(
  COALESCE(0 - (TIMESTAMPDIFF(MICROSECOND, t.`next_attempt_at`, UTC_TIMESTAMP(6))), 0) AS SIGNED
) AS w
FROM `emails` AS t
WHERE t.`status` = 'ACCEPTED'
  AND COALESCE(t.`attempts`, 0) < 5
ORDER BY t.`next_attempt_at`
LIMIT 1;

-- intake: lag: [] -> Other
SELECT (
  SELECT CAST(
    COALESCE(
      TIMESTAMPDIFF(MICROSECOND, t.`next_attempt_at`, UTC_TIMESTAMP(6)),
        TIMESTAMPDIFF(MICROSECOND, t.`created_at`, UTC_TIMESTAMP(6))
    ) AS DOUBLE
  )
    / 1000000
    FROM `emails` AS t
    WHERE t.`status` = 'ACCEPTED'
    AND (t.`next_attempt_at` IS NULL OR t.`next_attempt_at` <= UTC_TIMESTAMP(6))
    AND COALESCE(t.`attempts`, 0) < 5
    ORDER BY t.`updated_at`
    LIMIT 1
),
  (
    SELECT CAST(TIMESTAMPDIFF(MICROSECOND, t.`updated_at`, UTC_TIMESTAMP(6)) AS DOUBLE) / 1000000
      FROM `emails` AS t
      WHERE t.`status` = 'INTAKING'
      ORDER BY t.`updated_at`
      LIMIT 1
  );

-- intake: census SENT: [] -> Other
SELECT
  CAST(COUNT(*) AS SIGNED),
  0
FROM (
  SELECT 1 AS one
    FROM `emails` AS t
    WHERE t.`status` = 'SENT'
    AND (t.`next_attempt_at` IS NULL OR t.`next_attempt_at` < '9999-12-31 00:00:00')
    LIMIT 10001
) AS counted;

-- intake: census SENT_SILENT: [] -> Other
SELECT
  CAST(COUNT(*) AS SIGNED),
  0
FROM (
  SELECT 1 AS one
    FROM `emails` AS t
    WHERE t.`status` = 'SENT'
    AND t.`next_attempt_at` >= '9999-12-31 00:00:00'
    LIMIT 10001
) AS counted;

-- intake: census FAILED: [] -> Other
SELECT
  CAST(COUNT(*) AS SIGNED),
  0
FROM (
  SELECT 1 AS one
    FROM `emails` AS t
    WHERE t.`status` = 'FAILED'
    AND (t.`next_attempt_at` IS NULL OR t.`next_attempt_at` < '9999-12-31 00:00:00')
    LIMIT 10001
) AS counted;

-- intake: census FAILED_SILENT: [] -> Other
SELECT
  CAST(COUNT(*) AS SIGNED),
  0
FROM (
  SELECT 1 AS one
    FROM `emails` AS t
    WHERE t.`status` = 'FAILED'
    AND t.`next_attempt_at` >= '9999-12-31 00:00:00'
    LIMIT 10001
) AS counted;

-- intake: census ACCEPTED: [] -> Other
SELECT
  CAST(COUNT(*) AS SIGNED),
  0
FROM (SELECT 1 AS one FROM `emails` AS t WHERE t.`status` = 'ACCEPTED' LIMIT 10001) AS counted;

-- intake: census INTAKING: [] -> Other
SELECT
  CAST(COUNT(*) AS SIGNED),
  0
FROM (SELECT 1 AS one FROM `emails` AS t WHERE t.`status` = 'INTAKING' LIMIT 10001) AS counted;

-- intake: census READY: [] -> Other
SELECT
  CAST(COUNT(*) AS SIGNED),
  0
FROM (SELECT 1 AS one FROM `emails` AS t WHERE t.`status` = 'READY' LIMIT 10001) AS counted;

-- intake: census INVALID: [] -> Other
SELECT
  CAST(COUNT(*) AS SIGNED),
  0
FROM (SELECT 1 AS one FROM `emails` AS t WHERE t.`status` = 'INVALID' LIMIT 10001) AS counted;

-- intake: census PROCESSING: [] -> Other
SELECT
  CAST(COUNT(*) AS SIGNED),
  0
FROM (SELECT 1 AS one FROM `emails` AS t WHERE t.`status` = 'PROCESSING' LIMIT 10001) AS counted;

-- intake: census CALLING-SENT-CALLBACK: [] -> Other
SELECT
  CAST(COUNT(*) AS SIGNED),
  0
FROM (SELECT 1 AS one FROM `emails` AS t WHERE t.`status` = 'CALLING-SENT-CALLBACK' LIMIT 10001) AS counted;

-- intake: census SENT-ACKNOWLEDGED: [] -> Other
SELECT
  CAST(COUNT(*) AS SIGNED),
  0
FROM (SELECT 1 AS one FROM `emails` AS t WHERE t.`status` = 'SENT-ACKNOWLEDGED' LIMIT 10001) AS counted;

-- intake: census CALLING-FAILED-CALLBACK: [] -> Other
SELECT
  CAST(COUNT(*) AS SIGNED),
  0
FROM (SELECT 1 AS one FROM `emails` AS t WHERE t.`status` = 'CALLING-FAILED-CALLBACK' LIMIT 10001) AS counted;

-- intake: census FAILED-ACKNOWLEDGED: [] -> Other
SELECT
  CAST(COUNT(*) AS SIGNED),
  0
FROM (SELECT 1 AS one FROM `emails` AS t WHERE t.`status` = 'FAILED-ACKNOWLEDGED' LIMIT 10001) AS counted;

-- intake: requeue ids INVALID, step 1: [Ids] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `emails` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'INVALID'
FOR UPDATE;

-- intake: requeue ids INVALID, step 2: [Held] -> Nothing
UPDATE `emails` AS t SET
  t.`status` = 'ACCEPTED',
  t.`claimed_by` = NULL,
  t.`next_attempt_at` = UTC_TIMESTAMP(6),
  t.`attempts` = 0,
  t.`reason` = NULL,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- intake: requeue ids INVALID, step 3: [Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'ACCEPTED',
  NULL,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
WHERE t.`id` IN ({held});

-- intake: requeue ids SENT_SILENT, step 1: [Ids] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `emails` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'SENT' AND t.`next_attempt_at` >= '9999-12-31 00:00:00'
FOR UPDATE;

-- intake: requeue ids SENT_SILENT, step 2: [Held] -> Nothing
UPDATE `emails` AS t SET
  t.`status` = 'SENT',
  t.`next_attempt_at` = UTC_TIMESTAMP(6),
  t.`claimed_by` = NULL,
  t.`attempts` = 0,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- intake: requeue ids SENT_SILENT, step 3: [Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'SENT',
  NULL,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
WHERE t.`id` IN ({held});

-- intake: requeue ids FAILED_SILENT, step 1: [Ids] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `emails` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'FAILED' AND t.`next_attempt_at` >= '9999-12-31 00:00:00'
FOR UPDATE;

-- intake: requeue ids FAILED_SILENT, step 2: [Held] -> Nothing
UPDATE `emails` AS t SET
  t.`status` = 'FAILED',
  t.`next_attempt_at` = UTC_TIMESTAMP(6),
  t.`claimed_by` = NULL,
  t.`attempts` = 0,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- intake: requeue ids FAILED_SILENT, step 3: [Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'FAILED',
  NULL,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
WHERE t.`id` IN ({held});

-- intake: requeue state INVALID, step 1: [Since, Since, Since, Since, Limit] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `emails` AS t
WHERE t.`status` = 'INVALID'
  AND (
    ? IS NULL
      OR t.`updated_at` >= UTC_TIMESTAMP(6) + INTERVAL ROUND((0 - ?) * 1000000) MICROSECOND
      OR t.`updated_at` IS NULL
      AND t.`updated_at` >= UTC_TIMESTAMP(6) + INTERVAL ROUND((0 - ?) * 1000000) MICROSECOND
      OR t.`updated_at` IS NULL
      AND t.`updated_at` IS NULL
      AND t.`created_at` >= UTC_TIMESTAMP(6) + INTERVAL ROUND((0 - ?) * 1000000) MICROSECOND
  )
LIMIT ?;

-- intake: requeue state INVALID, step 2: [Held] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `emails` AS t
WHERE t.`id` IN ({held})
  AND t.`status` = 'INVALID'
FOR UPDATE SKIP LOCKED;

-- intake: requeue state INVALID, step 3: [Held] -> Nothing
UPDATE `emails` AS t SET
  t.`status` = 'ACCEPTED',
  t.`claimed_by` = NULL,
  t.`next_attempt_at` = UTC_TIMESTAMP(6),
  t.`attempts` = 0,
  t.`reason` = NULL,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- intake: requeue state INVALID, step 4: [Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'ACCEPTED',
  NULL,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
WHERE t.`id` IN ({held});

-- intake: requeue state SENT_SILENT, step 1: [Since, Since, Since, Since, Limit] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `emails` AS t
WHERE t.`status` = 'SENT' AND t.`next_attempt_at` >= '9999-12-31 00:00:00'
  AND (
    ? IS NULL
      OR t.`updated_at` >= UTC_TIMESTAMP(6) + INTERVAL ROUND((0 - ?) * 1000000) MICROSECOND
      OR t.`updated_at` IS NULL
      AND t.`updated_at` >= UTC_TIMESTAMP(6) + INTERVAL ROUND((0 - ?) * 1000000) MICROSECOND
      OR t.`updated_at` IS NULL
      AND t.`updated_at` IS NULL
      AND t.`created_at` >= UTC_TIMESTAMP(6) + INTERVAL ROUND((0 - ?) * 1000000) MICROSECOND
  )
LIMIT ?;

-- intake: requeue state SENT_SILENT, step 2: [Held] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `emails` AS t
WHERE t.`id` IN ({held})
  AND t.`status` = 'SENT' AND t.`next_attempt_at` >= '9999-12-31 00:00:00'
FOR UPDATE SKIP LOCKED;

-- intake: requeue state SENT_SILENT, step 3: [Held] -> Nothing
UPDATE `emails` AS t SET
  t.`status` = 'SENT',
  t.`next_attempt_at` = UTC_TIMESTAMP(6),
  t.`claimed_by` = NULL,
  t.`attempts` = 0,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- intake: requeue state SENT_SILENT, step 4: [Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'SENT',
  NULL,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
WHERE t.`id` IN ({held});

-- intake: requeue state FAILED_SILENT, step 1: [Since, Since, Since, Since, Limit] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `emails` AS t
WHERE t.`status` = 'FAILED' AND t.`next_attempt_at` >= '9999-12-31 00:00:00'
  AND (
    ? IS NULL
      OR t.`updated_at` >= UTC_TIMESTAMP(6) + INTERVAL ROUND((0 - ?) * 1000000) MICROSECOND
      OR t.`updated_at` IS NULL
      AND t.`updated_at` >= UTC_TIMESTAMP(6) + INTERVAL ROUND((0 - ?) * 1000000) MICROSECOND
      OR t.`updated_at` IS NULL
      AND t.`updated_at` IS NULL
      AND t.`created_at` >= UTC_TIMESTAMP(6) + INTERVAL ROUND((0 - ?) * 1000000) MICROSECOND
  )
LIMIT ?;

-- intake: requeue state FAILED_SILENT, step 2: [Held] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `emails` AS t
WHERE t.`id` IN ({held})
  AND t.`status` = 'FAILED' AND t.`next_attempt_at` >= '9999-12-31 00:00:00'
FOR UPDATE SKIP LOCKED;

-- intake: requeue state FAILED_SILENT, step 3: [Held] -> Nothing
UPDATE `emails` AS t SET
  t.`status` = 'FAILED',
  t.`next_attempt_at` = UTC_TIMESTAMP(6),
  t.`claimed_by` = NULL,
  t.`attempts` = 0,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- intake: requeue state FAILED_SILENT, step 4: [Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'FAILED',
  NULL,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
WHERE t.`id` IN ({held});

-- intake: release ids INTAKING, step 1: [Ids] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `emails` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'INTAKING'
FOR UPDATE;

-- intake: release ids INTAKING, step 2: [Held] -> Nothing
UPDATE `emails` AS t SET
  t.`status` = 'ACCEPTED',
  t.`claimed_by` = NULL,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- intake: release ids INTAKING, step 3: [Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'ACCEPTED',
  NULL,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
WHERE t.`id` IN ({held});

-- intake: release state INTAKING, step 1: [Since, Since, Since, Since, Limit] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `emails` AS t
WHERE t.`status` = 'INTAKING'
  AND (
    ? IS NULL
      OR t.`updated_at` >= UTC_TIMESTAMP(6) + INTERVAL ROUND((0 - ?) * 1000000) MICROSECOND
      OR t.`updated_at` IS NULL
      AND t.`updated_at` >= UTC_TIMESTAMP(6) + INTERVAL ROUND((0 - ?) * 1000000) MICROSECOND
      OR t.`updated_at` IS NULL
      AND t.`updated_at` IS NULL
      AND t.`created_at` >= UTC_TIMESTAMP(6) + INTERVAL ROUND((0 - ?) * 1000000) MICROSECOND
  )
LIMIT ?;

-- intake: release state INTAKING, step 2: [Held] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `emails` AS t
WHERE t.`id` IN ({held})
  AND t.`status` = 'INTAKING'
FOR UPDATE SKIP LOCKED;

-- intake: release state INTAKING, step 3: [Held] -> Nothing
UPDATE `emails` AS t SET
  t.`status` = 'ACCEPTED',
  t.`claimed_by` = NULL,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- intake: release state INTAKING, step 4: [Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'ACCEPTED',
  NULL,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
WHERE t.`id` IN ({held});

-- send: layout Layout { integer_id: false, fences: 1, claim_time: None, pool: 7, fields: ["eml_path",
--   "payload_path", "reason", "results"], joined: [] }

-- send: claim 1, step 1: [Limit] -> Rows
SELECT
  CAST(t.`id` AS CHAR),
  CAST(CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END AS CHAR),
  CAST(COALESCE(t.`attempts`, 0) AS SIGNED),
  NULL,
  NULL,
  NULL,
  NULL,
  NULL,
  NULL,
  CAST(
    COALESCE(
      TIMESTAMPDIFF(MICROSECOND, t.`next_attempt_at`, UTC_TIMESTAMP(6)),
        TIMESTAMPDIFF(MICROSECOND, t.`created_at`, UTC_TIMESTAMP(6))
    ) AS SIGNED
  ),
  CAST(
    COALESCE(LENGTH(t.`eml_file_path`), 0)
      + COALESCE(LENGTH(t.`payload_file_path`), 0)
      + COALESCE(LENGTH(t.`reason`), 0) AS SIGNED
  ),
  CASE WHEN LENGTH(t.`eml_file_path`) <= 65536 THEN t.`eml_file_path` END,
  CASE WHEN LENGTH(t.`payload_file_path`) <= 65536 THEN t.`payload_file_path` END,
  CASE WHEN LENGTH(t.`reason`) <= 65536 THEN t.`reason` END,
  (
    SELECT r.results
      FROM postrider_recipients AS r
      WHERE r.source = 'emails'
      AND r.row_id = CONVERT(CAST(t.`id` AS CHAR) USING utf8mb4) COLLATE utf8mb4_bin
  )
FROM `emails` AS t
WHERE t.`status` = 'READY'
  AND (t.`next_attempt_at` IS NULL OR t.`next_attempt_at` <= UTC_TIMESTAMP(6))
  AND COALESCE(t.`attempts`, 0) < 5
ORDER BY t.`updated_at`, t.`id`
LIMIT ?
FOR UPDATE SKIP LOCKED;

-- send: claim 1, step 2: [Owner, Held] -> Nothing
UPDATE `emails` AS t SET
  t.`status` = 'PROCESSING',
  t.`updated_at` = CAST(
    CASE
      WHEN t.`updated_at`
        BETWEEN UTC_TIMESTAMP(6) - INTERVAL 1 SECOND
        AND UTC_TIMESTAMP(6) + INTERVAL 60 SECOND
        THEN t.`updated_at` + INTERVAL 1 SECOND
      ELSE UTC_TIMESTAMP(6)
      END AS DATETIME(0)
  ),
  t.`claimed_by` = LEFT(?, 64),
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END
WHERE t.`id` IN ({held});

-- send: claim 1, step 3: [Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'PROCESSING',
  NULL,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
WHERE t.`id` IN ({held});

-- send: load: [Ids] -> Other
SELECT
  CAST(t.`id` AS CHAR),
  t.`eml_file_path`,
  t.`payload_file_path`,
  t.`reason`,
  (
    SELECT r.results
      FROM postrider_recipients AS r
      WHERE r.source = 'emails'
      AND r.row_id = CONVERT(CAST(t.`id` AS CHAR) USING utf8mb4) COLLATE utf8mb4_bin
  )
FROM `emails` AS t
WHERE t.`id` IN ({ids});

-- send: settle delivered, uniform, step 1: [Ids, One(Fence(0))] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `emails` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'PROCESSING'
  AND t.`version` <=> CAST(? AS SIGNED)
FOR UPDATE;

-- send: settle delivered, uniform, step 2: [One(Outcome("eml_path")), One(Reason), Held] -> Nothing
UPDATE `emails` AS t SET
  t.`eml_file_path` = COALESCE(LEFT(?, 500), t.`eml_file_path`),
  t.`status` = 'SENT',
  t.`claimed_by` = NULL,
  t.`next_attempt_at` = UTC_TIMESTAMP(6),
  t.`attempts` = 0,
  t.`reason` = ?,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- send: settle delivered, uniform, step 3: [One(Reason), Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'SENT',
  ?,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
WHERE t.`id` IN ({held});

-- send: settle delivered, each, step 1: [Rows([Id, Fence(0)])] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM (
  SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (`id` VARCHAR(255) PATH '$.id', `f0` BIGINT PATH '$.f0')) AS j
) AS v STRAIGHT_JOIN `emails` AS t
WHERE t.`id` = v.`id`
  AND t.`status` = 'PROCESSING'
  AND t.`version` <=> v.`f0`
FOR UPDATE;

-- send: settle delivered, each, step 2: [Rows([Outcome("eml_path"), Reason, Id]), Held] -> Nothing
UPDATE `emails` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?,
          '$[*]' COLUMNS (
            `o_eml_path` LONGTEXT PATH '$.o_eml_path',
              `reason` LONGTEXT PATH '$.reason',
              `id` VARCHAR(255) PATH '$.id'
          )
      ) AS j
  ) AS v
  ON t.`id` = v.`id` SET
  t.`eml_file_path` = COALESCE(LEFT(v.`o_eml_path`, 500), t.`eml_file_path`),
  t.`status` = 'SENT',
  t.`claimed_by` = NULL,
  t.`next_attempt_at` = UTC_TIMESTAMP(6),
  t.`attempts` = 0,
  t.`reason` = v.`reason`,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- send: settle delivered, each, step 3: [Rows([Reason, Id]), Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'SENT',
  v.`reason`,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?, '$[*]' COLUMNS (`reason` LONGTEXT PATH '$.reason', `id` VARCHAR(255) PATH '$.id')
      ) AS j
  ) AS v
  ON t.`id` = v.`id`
WHERE t.`id` IN ({held});

-- send: settle delivered, remembering, step 1: [Rows([Id, Fence(0)])] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM (
  SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (`id` VARCHAR(255) PATH '$.id', `f0` BIGINT PATH '$.f0')) AS j
) AS v STRAIGHT_JOIN `emails` AS t
WHERE t.`id` = v.`id`
  AND t.`status` = 'PROCESSING'
  AND t.`version` <=> v.`f0`
FOR UPDATE;

-- send: settle delivered, remembering, step 2: [Rows([Outcome("eml_path"), Reason, Id]), Held] -> Nothing
UPDATE `emails` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?,
          '$[*]' COLUMNS (
            `o_eml_path` LONGTEXT PATH '$.o_eml_path',
              `reason` LONGTEXT PATH '$.reason',
              `id` VARCHAR(255) PATH '$.id'
          )
      ) AS j
  ) AS v
  ON t.`id` = v.`id` SET
  t.`eml_file_path` = COALESCE(LEFT(v.`o_eml_path`, 500), t.`eml_file_path`),
  t.`status` = 'SENT',
  t.`claimed_by` = NULL,
  t.`next_attempt_at` = UTC_TIMESTAMP(6),
  t.`attempts` = 0,
  t.`reason` = v.`reason`,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- send: settle delivered, remembering, step 3: [Rows([Reason, Id]), Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'SENT',
  v.`reason`,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?, '$[*]' COLUMNS (`reason` LONGTEXT PATH '$.reason', `id` VARCHAR(255) PATH '$.id')
      ) AS j
  ) AS v
  ON t.`id` = v.`id`
WHERE t.`id` IN ({held});

-- send: settle delivered, remembering, step 4: [Rows([Outcome("remembered_recipients"), Id]), Held] ->
--   Nothing
INSERT INTO postrider_recipients (source, row_id, results, changed_at)
SELECT
  'emails',
  CONVERT(CAST(t.`id` AS CHAR) USING utf8mb4) COLLATE utf8mb4_bin,
  v.`o_remembered_recipients`,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?,
          '$[*]' COLUMNS (
            `o_remembered_recipients` LONGTEXT PATH '$.o_remembered_recipients', `id` VARCHAR(255) PATH '$.id'
          )
      ) AS j
  ) AS v
  ON t.`id` = v.`id`
WHERE t.`id` IN ({held})
ON DUPLICATE KEY UPDATE results = VALUES(results), changed_at = VALUES(changed_at);

-- send: settle delivered, remembering, step 5: [Held] -> Nothing
DELETE r
  FROM postrider_recipients AS r
  JOIN `emails` AS t
  ON r.row_id = CONVERT(CAST(t.`id` AS CHAR) USING utf8mb4) COLLATE utf8mb4_bin
WHERE r.source = 'emails' AND t.`id` IN ({held}) AND r.results NOT LIKE '%"refused"%';

-- send: settle retry, uniform, step 1: [Ids, One(Fence(0))] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `emails` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'PROCESSING'
  AND t.`version` <=> CAST(? AS SIGNED)
FOR UPDATE;

-- send: settle retry, uniform, step 2: [One(Delay), One(Reason), Held] -> Nothing
UPDATE `emails` AS t SET
  t.`status` = 'READY',
  t.`claimed_by` = NULL,
  t.`next_attempt_at` = UTC_TIMESTAMP(6) + INTERVAL ROUND(? * 1000000) MICROSECOND,
  t.`attempts` = COALESCE(t.`attempts`, 0) + 1,
  t.`reason` = ?,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- send: settle retry, uniform, step 3: [One(Reason), Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'READY',
  ?,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
WHERE t.`id` IN ({held});

-- send: settle retry, each, step 1: [Rows([Id, Fence(0)])] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM (
  SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (`id` VARCHAR(255) PATH '$.id', `f0` BIGINT PATH '$.f0')) AS j
) AS v STRAIGHT_JOIN `emails` AS t
WHERE t.`id` = v.`id`
  AND t.`status` = 'PROCESSING'
  AND t.`version` <=> v.`f0`
FOR UPDATE;

-- send: settle retry, each, step 2: [Rows([Delay, Reason, Id]), Held] -> Nothing
UPDATE `emails` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?,
          '$[*]' COLUMNS (
            `delay` DOUBLE PATH '$.delay', `reason` LONGTEXT PATH '$.reason', `id` VARCHAR(255) PATH '$.id'
          )
      ) AS j
  ) AS v
  ON t.`id` = v.`id` SET
  t.`status` = 'READY',
  t.`claimed_by` = NULL,
  t.`next_attempt_at` = UTC_TIMESTAMP(6) + INTERVAL ROUND(v.`delay` * 1000000) MICROSECOND,
  t.`attempts` = COALESCE(t.`attempts`, 0) + 1,
  t.`reason` = v.`reason`,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- send: settle retry, each, step 3: [Rows([Reason, Id]), Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'READY',
  v.`reason`,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?, '$[*]' COLUMNS (`reason` LONGTEXT PATH '$.reason', `id` VARCHAR(255) PATH '$.id')
      ) AS j
  ) AS v
  ON t.`id` = v.`id`
WHERE t.`id` IN ({held});

-- send: settle retry, remembering, step 1: [Rows([Id, Fence(0)])] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM (
  SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (`id` VARCHAR(255) PATH '$.id', `f0` BIGINT PATH '$.f0')) AS j
) AS v STRAIGHT_JOIN `emails` AS t
WHERE t.`id` = v.`id`
  AND t.`status` = 'PROCESSING'
  AND t.`version` <=> v.`f0`
FOR UPDATE;

-- send: settle retry, remembering, step 2: [Rows([Delay, Reason, Id]), Held] -> Nothing
UPDATE `emails` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?,
          '$[*]' COLUMNS (
            `delay` DOUBLE PATH '$.delay', `reason` LONGTEXT PATH '$.reason', `id` VARCHAR(255) PATH '$.id'
          )
      ) AS j
  ) AS v
  ON t.`id` = v.`id` SET
  t.`status` = 'READY',
  t.`claimed_by` = NULL,
  t.`next_attempt_at` = UTC_TIMESTAMP(6) + INTERVAL ROUND(v.`delay` * 1000000) MICROSECOND,
  t.`attempts` = COALESCE(t.`attempts`, 0) + 1,
  t.`reason` = v.`reason`,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- send: settle retry, remembering, step 3: [Rows([Reason, Id]), Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'READY',
  v.`reason`,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?, '$[*]' COLUMNS (`reason` LONGTEXT PATH '$.reason', `id` VARCHAR(255) PATH '$.id')
      ) AS j
  ) AS v
  ON t.`id` = v.`id`
WHERE t.`id` IN ({held});

-- send: settle retry, remembering, step 4: [Rows([Outcome("remembered_recipients"), Id]), Held] -> Nothing
INSERT INTO postrider_recipients (source, row_id, results, changed_at)
SELECT
  'emails',
  CONVERT(CAST(t.`id` AS CHAR) USING utf8mb4) COLLATE utf8mb4_bin,
  v.`o_remembered_recipients`,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?,
          '$[*]' COLUMNS (
            `o_remembered_recipients` LONGTEXT PATH '$.o_remembered_recipients', `id` VARCHAR(255) PATH '$.id'
          )
      ) AS j
  ) AS v
  ON t.`id` = v.`id`
WHERE t.`id` IN ({held})
ON DUPLICATE KEY UPDATE results = VALUES(results), changed_at = VALUES(changed_at);

-- send: settle dead, uniform, step 1: [Ids, One(Fence(0))] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `emails` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'PROCESSING'
  AND t.`version` <=> CAST(? AS SIGNED)
FOR UPDATE;

-- send: settle dead, uniform, step 2: [One(Reason), Held] -> Nothing
UPDATE `emails` AS t SET
  t.`status` = 'FAILED',
  t.`claimed_by` = NULL,
  t.`next_attempt_at` = UTC_TIMESTAMP(6),
  t.`attempts` = 0,
  t.`reason` = ?,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- send: settle dead, uniform, step 3: [One(Reason), Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'FAILED',
  ?,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
WHERE t.`id` IN ({held});

-- send: settle dead, each, step 1: [Rows([Id, Fence(0)])] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM (
  SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (`id` VARCHAR(255) PATH '$.id', `f0` BIGINT PATH '$.f0')) AS j
) AS v STRAIGHT_JOIN `emails` AS t
WHERE t.`id` = v.`id`
  AND t.`status` = 'PROCESSING'
  AND t.`version` <=> v.`f0`
FOR UPDATE;

-- send: settle dead, each, step 2: [Rows([Reason, Id]), Held] -> Nothing
UPDATE `emails` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?, '$[*]' COLUMNS (`reason` LONGTEXT PATH '$.reason', `id` VARCHAR(255) PATH '$.id')
      ) AS j
  ) AS v
  ON t.`id` = v.`id` SET
  t.`status` = 'FAILED',
  t.`claimed_by` = NULL,
  t.`next_attempt_at` = UTC_TIMESTAMP(6),
  t.`attempts` = 0,
  t.`reason` = v.`reason`,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- send: settle dead, each, step 3: [Rows([Reason, Id]), Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'FAILED',
  v.`reason`,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?, '$[*]' COLUMNS (`reason` LONGTEXT PATH '$.reason', `id` VARCHAR(255) PATH '$.id')
      ) AS j
  ) AS v
  ON t.`id` = v.`id`
WHERE t.`id` IN ({held});

-- send: settle dead, remembering, step 1: [Rows([Id, Fence(0)])] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM (
  SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (`id` VARCHAR(255) PATH '$.id', `f0` BIGINT PATH '$.f0')) AS j
) AS v STRAIGHT_JOIN `emails` AS t
WHERE t.`id` = v.`id`
  AND t.`status` = 'PROCESSING'
  AND t.`version` <=> v.`f0`
FOR UPDATE;

-- send: settle dead, remembering, step 2: [Rows([Reason, Id]), Held] -> Nothing
UPDATE `emails` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?, '$[*]' COLUMNS (`reason` LONGTEXT PATH '$.reason', `id` VARCHAR(255) PATH '$.id')
      ) AS j
  ) AS v
  ON t.`id` = v.`id` SET
  t.`status` = 'FAILED',
  t.`claimed_by` = NULL,
  t.`next_attempt_at` = UTC_TIMESTAMP(6),
  t.`attempts` = 0,
  t.`reason` = v.`reason`,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- send: settle dead, remembering, step 3: [Rows([Reason, Id]), Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'FAILED',
  v.`reason`,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?, '$[*]' COLUMNS (`reason` LONGTEXT PATH '$.reason', `id` VARCHAR(255) PATH '$.id')
      ) AS j
  ) AS v
  ON t.`id` = v.`id`
WHERE t.`id` IN ({held});

-- send: settle dead, remembering, step 4: [Rows([Outcome("remembered_recipients"), Id]), Held] -> Nothing
INSERT INTO postrider_recipients (source, row_id, results, changed_at)
SELECT
  'emails',
  CONVERT(CAST(t.`id` AS CHAR) USING utf8mb4) COLLATE utf8mb4_bin,
  v.`o_remembered_recipients`,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?,
          '$[*]' COLUMNS (
            `o_remembered_recipients` LONGTEXT PATH '$.o_remembered_recipients', `id` VARCHAR(255) PATH '$.id'
          )
      ) AS j
  ) AS v
  ON t.`id` = v.`id`
WHERE t.`id` IN ({held})
ON DUPLICATE KEY UPDATE results = VALUES(results), changed_at = VALUES(changed_at);

-- send: settle rejected, uniform, step 1: [Ids, One(Fence(0))] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `emails` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'PROCESSING'
  AND t.`version` <=> CAST(? AS SIGNED)
FOR UPDATE;

-- send: settle rejected, uniform, step 2: [One(Reason), Held] -> Nothing
UPDATE `emails` AS t SET
  t.`status` = 'FAILED',
  t.`claimed_by` = NULL,
  t.`next_attempt_at` = UTC_TIMESTAMP(6),
  t.`attempts` = 0,
  t.`reason` = ?,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- send: settle rejected, uniform, step 3: [One(Reason), Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'FAILED',
  ?,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
WHERE t.`id` IN ({held});

-- send: settle rejected, each, step 1: [Rows([Id, Fence(0)])] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM (
  SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (`id` VARCHAR(255) PATH '$.id', `f0` BIGINT PATH '$.f0')) AS j
) AS v STRAIGHT_JOIN `emails` AS t
WHERE t.`id` = v.`id`
  AND t.`status` = 'PROCESSING'
  AND t.`version` <=> v.`f0`
FOR UPDATE;

-- send: settle rejected, each, step 2: [Rows([Reason, Id]), Held] -> Nothing
UPDATE `emails` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?, '$[*]' COLUMNS (`reason` LONGTEXT PATH '$.reason', `id` VARCHAR(255) PATH '$.id')
      ) AS j
  ) AS v
  ON t.`id` = v.`id` SET
  t.`status` = 'FAILED',
  t.`claimed_by` = NULL,
  t.`next_attempt_at` = UTC_TIMESTAMP(6),
  t.`attempts` = 0,
  t.`reason` = v.`reason`,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- send: settle rejected, each, step 3: [Rows([Reason, Id]), Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'FAILED',
  v.`reason`,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?, '$[*]' COLUMNS (`reason` LONGTEXT PATH '$.reason', `id` VARCHAR(255) PATH '$.id')
      ) AS j
  ) AS v
  ON t.`id` = v.`id`
WHERE t.`id` IN ({held});

-- send: settle rejected, remembering, step 1: [Rows([Id, Fence(0)])] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM (
  SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (`id` VARCHAR(255) PATH '$.id', `f0` BIGINT PATH '$.f0')) AS j
) AS v STRAIGHT_JOIN `emails` AS t
WHERE t.`id` = v.`id`
  AND t.`status` = 'PROCESSING'
  AND t.`version` <=> v.`f0`
FOR UPDATE;

-- send: settle rejected, remembering, step 2: [Rows([Reason, Id]), Held] -> Nothing
UPDATE `emails` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?, '$[*]' COLUMNS (`reason` LONGTEXT PATH '$.reason', `id` VARCHAR(255) PATH '$.id')
      ) AS j
  ) AS v
  ON t.`id` = v.`id` SET
  t.`status` = 'FAILED',
  t.`claimed_by` = NULL,
  t.`next_attempt_at` = UTC_TIMESTAMP(6),
  t.`attempts` = 0,
  t.`reason` = v.`reason`,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- send: settle rejected, remembering, step 3: [Rows([Reason, Id]), Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'FAILED',
  v.`reason`,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?, '$[*]' COLUMNS (`reason` LONGTEXT PATH '$.reason', `id` VARCHAR(255) PATH '$.id')
      ) AS j
  ) AS v
  ON t.`id` = v.`id`
WHERE t.`id` IN ({held});

-- send: settle rejected, remembering, step 4: [Rows([Outcome("remembered_recipients"), Id]), Held] -> Nothing
INSERT INTO postrider_recipients (source, row_id, results, changed_at)
SELECT
  'emails',
  CONVERT(CAST(t.`id` AS CHAR) USING utf8mb4) COLLATE utf8mb4_bin,
  v.`o_remembered_recipients`,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?,
          '$[*]' COLUMNS (
            `o_remembered_recipients` LONGTEXT PATH '$.o_remembered_recipients', `id` VARCHAR(255) PATH '$.id'
          )
      ) AS j
  ) AS v
  ON t.`id` = v.`id`
WHERE t.`id` IN ({held})
ON DUPLICATE KEY UPDATE results = VALUES(results), changed_at = VALUES(changed_at);

-- send: settle skipped, uniform, step 1: [Ids, One(Fence(0))] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `emails` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'PROCESSING'
  AND t.`version` <=> CAST(? AS SIGNED)
FOR UPDATE;

-- send: settle skipped, uniform, step 2: [One(Reason), Held] -> Nothing
UPDATE `emails` AS t SET
  t.`status` = 'FAILED',
  t.`claimed_by` = NULL,
  t.`next_attempt_at` = UTC_TIMESTAMP(6),
  t.`attempts` = 0,
  t.`reason` = ?,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- send: settle skipped, uniform, step 3: [One(Reason), Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'FAILED',
  ?,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
WHERE t.`id` IN ({held});

-- send: settle skipped, each, step 1: [Rows([Id, Fence(0)])] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM (
  SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (`id` VARCHAR(255) PATH '$.id', `f0` BIGINT PATH '$.f0')) AS j
) AS v STRAIGHT_JOIN `emails` AS t
WHERE t.`id` = v.`id`
  AND t.`status` = 'PROCESSING'
  AND t.`version` <=> v.`f0`
FOR UPDATE;

-- send: settle skipped, each, step 2: [Rows([Reason, Id]), Held] -> Nothing
UPDATE `emails` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?, '$[*]' COLUMNS (`reason` LONGTEXT PATH '$.reason', `id` VARCHAR(255) PATH '$.id')
      ) AS j
  ) AS v
  ON t.`id` = v.`id` SET
  t.`status` = 'FAILED',
  t.`claimed_by` = NULL,
  t.`next_attempt_at` = UTC_TIMESTAMP(6),
  t.`attempts` = 0,
  t.`reason` = v.`reason`,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- send: settle skipped, each, step 3: [Rows([Reason, Id]), Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'FAILED',
  v.`reason`,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?, '$[*]' COLUMNS (`reason` LONGTEXT PATH '$.reason', `id` VARCHAR(255) PATH '$.id')
      ) AS j
  ) AS v
  ON t.`id` = v.`id`
WHERE t.`id` IN ({held});

-- send: settle skipped, remembering, step 1: [Rows([Id, Fence(0)])] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM (
  SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (`id` VARCHAR(255) PATH '$.id', `f0` BIGINT PATH '$.f0')) AS j
) AS v STRAIGHT_JOIN `emails` AS t
WHERE t.`id` = v.`id`
  AND t.`status` = 'PROCESSING'
  AND t.`version` <=> v.`f0`
FOR UPDATE;

-- send: settle skipped, remembering, step 2: [Rows([Reason, Id]), Held] -> Nothing
UPDATE `emails` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?, '$[*]' COLUMNS (`reason` LONGTEXT PATH '$.reason', `id` VARCHAR(255) PATH '$.id')
      ) AS j
  ) AS v
  ON t.`id` = v.`id` SET
  t.`status` = 'FAILED',
  t.`claimed_by` = NULL,
  t.`next_attempt_at` = UTC_TIMESTAMP(6),
  t.`attempts` = 0,
  t.`reason` = v.`reason`,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- send: settle skipped, remembering, step 3: [Rows([Reason, Id]), Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'FAILED',
  v.`reason`,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?, '$[*]' COLUMNS (`reason` LONGTEXT PATH '$.reason', `id` VARCHAR(255) PATH '$.id')
      ) AS j
  ) AS v
  ON t.`id` = v.`id`
WHERE t.`id` IN ({held});

-- send: settle skipped, remembering, step 4: [Rows([Outcome("remembered_recipients"), Id]), Held] -> Nothing
INSERT INTO postrider_recipients (source, row_id, results, changed_at)
SELECT
  'emails',
  CONVERT(CAST(t.`id` AS CHAR) USING utf8mb4) COLLATE utf8mb4_bin,
  v.`o_remembered_recipients`,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?,
          '$[*]' COLUMNS (
            `o_remembered_recipients` LONGTEXT PATH '$.o_remembered_recipients', `id` VARCHAR(255) PATH '$.id'
          )
      ) AS j
  ) AS v
  ON t.`id` = v.`id`
WHERE t.`id` IN ({held})
ON DUPLICATE KEY UPDATE results = VALUES(results), changed_at = VALUES(changed_at);

-- send: settle deferred, uniform, step 1: [Ids, One(Fence(0))] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `emails` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'PROCESSING'
  AND t.`version` <=> CAST(? AS SIGNED)
FOR UPDATE;

-- send: settle deferred, uniform, step 2: [One(Delay), Held] -> Nothing
UPDATE `emails` AS t SET
  t.`status` = 'READY',
  t.`claimed_by` = NULL,
  t.`next_attempt_at` = UTC_TIMESTAMP(6) + INTERVAL ROUND(? * 1000000) MICROSECOND,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- send: settle deferred, uniform, step 3: [One(Reason), Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'READY',
  ?,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
WHERE t.`id` IN ({held});

-- send: settle deferred, each, step 1: [Rows([Id, Fence(0)])] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM (
  SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (`id` VARCHAR(255) PATH '$.id', `f0` BIGINT PATH '$.f0')) AS j
) AS v STRAIGHT_JOIN `emails` AS t
WHERE t.`id` = v.`id`
  AND t.`status` = 'PROCESSING'
  AND t.`version` <=> v.`f0`
FOR UPDATE;

-- send: settle deferred, each, step 2: [Rows([Delay, Id]), Held] -> Nothing
UPDATE `emails` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(?, '$[*]' COLUMNS (`delay` DOUBLE PATH '$.delay', `id` VARCHAR(255) PATH '$.id')) AS j
  ) AS v
  ON t.`id` = v.`id` SET
  t.`status` = 'READY',
  t.`claimed_by` = NULL,
  t.`next_attempt_at` = UTC_TIMESTAMP(6) + INTERVAL ROUND(v.`delay` * 1000000) MICROSECOND,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- send: settle deferred, each, step 3: [Rows([Reason, Id]), Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'READY',
  v.`reason`,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?, '$[*]' COLUMNS (`reason` LONGTEXT PATH '$.reason', `id` VARCHAR(255) PATH '$.id')
      ) AS j
  ) AS v
  ON t.`id` = v.`id`
WHERE t.`id` IN ({held});

-- send: settle deferred, remembering, step 1: [Rows([Id, Fence(0)])] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM (
  SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (`id` VARCHAR(255) PATH '$.id', `f0` BIGINT PATH '$.f0')) AS j
) AS v STRAIGHT_JOIN `emails` AS t
WHERE t.`id` = v.`id`
  AND t.`status` = 'PROCESSING'
  AND t.`version` <=> v.`f0`
FOR UPDATE;

-- send: settle deferred, remembering, step 2: [Rows([Delay, Id]), Held] -> Nothing
UPDATE `emails` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(?, '$[*]' COLUMNS (`delay` DOUBLE PATH '$.delay', `id` VARCHAR(255) PATH '$.id')) AS j
  ) AS v
  ON t.`id` = v.`id` SET
  t.`status` = 'READY',
  t.`claimed_by` = NULL,
  t.`next_attempt_at` = UTC_TIMESTAMP(6) + INTERVAL ROUND(v.`delay` * 1000000) MICROSECOND,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- send: settle deferred, remembering, step 3: [Rows([Reason, Id]), Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'READY',
  v.`reason`,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?, '$[*]' COLUMNS (`reason` LONGTEXT PATH '$.reason', `id` VARCHAR(255) PATH '$.id')
      ) AS j
  ) AS v
  ON t.`id` = v.`id`
WHERE t.`id` IN ({held});

-- send: settle deferred, remembering, step 4: [Rows([Outcome("remembered_recipients"), Id]), Held] -> Nothing
INSERT INTO postrider_recipients (source, row_id, results, changed_at)
SELECT
  'emails',
  CONVERT(CAST(t.`id` AS CHAR) USING utf8mb4) COLLATE utf8mb4_bin,
  v.`o_remembered_recipients`,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?,
          '$[*]' COLUMNS (
            `o_remembered_recipients` LONGTEXT PATH '$.o_remembered_recipients', `id` VARCHAR(255) PATH '$.id'
          )
      ) AS j
  ) AS v
  ON t.`id` = v.`id`
WHERE t.`id` IN ({held})
ON DUPLICATE KEY UPDATE results = VALUES(results), changed_at = VALUES(changed_at);

-- send: settle released, uniform, step 1: [Ids, One(Fence(0))] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `emails` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'PROCESSING'
  AND t.`version` <=> CAST(? AS SIGNED)
FOR UPDATE;

-- send: settle released, uniform, step 2: [Held] -> Nothing
UPDATE `emails` AS t SET
  t.`status` = 'READY',
  t.`claimed_by` = NULL,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- send: settle released, uniform, step 3: [One(Reason), Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'READY',
  ?,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
WHERE t.`id` IN ({held});

-- send: settle released, each, step 1: [Rows([Id, Fence(0)])] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM (
  SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (`id` VARCHAR(255) PATH '$.id', `f0` BIGINT PATH '$.f0')) AS j
) AS v STRAIGHT_JOIN `emails` AS t
WHERE t.`id` = v.`id`
  AND t.`status` = 'PROCESSING'
  AND t.`version` <=> v.`f0`
FOR UPDATE;

-- send: settle released, each, step 2: [Held] -> Nothing
UPDATE `emails` AS t SET
  t.`status` = 'READY',
  t.`claimed_by` = NULL,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- send: settle released, each, step 3: [Rows([Reason, Id]), Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'READY',
  v.`reason`,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?, '$[*]' COLUMNS (`reason` LONGTEXT PATH '$.reason', `id` VARCHAR(255) PATH '$.id')
      ) AS j
  ) AS v
  ON t.`id` = v.`id`
WHERE t.`id` IN ({held});

-- send: extend, step 1: [Rows([Id, Fence(0)])] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM (
  SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (`id` VARCHAR(255) PATH '$.id', `f0` BIGINT PATH '$.f0')) AS j
) AS v STRAIGHT_JOIN `emails` AS t
WHERE t.`id` = v.`id`
  AND t.`status` = 'PROCESSING'
  AND t.`version` <=> v.`f0`
FOR UPDATE;

-- send: extend, step 2: [Held] -> Nothing
UPDATE `emails` AS t SET
  t.`updated_at` = CAST(
    CASE
      WHEN t.`updated_at`
        BETWEEN UTC_TIMESTAMP(6) - INTERVAL 1 SECOND
        AND UTC_TIMESTAMP(6) + INTERVAL 60 SECOND
        THEN t.`updated_at` + INTERVAL 1 SECOND
      ELSE UTC_TIMESTAMP(6)
      END AS DATETIME(0)
  ),
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END
WHERE t.`id` IN ({held});

-- send: extend, step 3: [Held] -> Leases
SELECT
  CAST(t.`id` AS CHAR),
  CAST(t.`version` AS CHAR)
FROM `emails` AS t
WHERE t.`id` IN ({held});

-- send: leases after a lost extension: [Ids, Owner] -> Leases
SELECT
  CAST(t.`id` AS CHAR),
  CAST(t.`version` AS CHAR)
FROM `emails` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'PROCESSING'
  AND t.`claimed_by` = ?;

-- send: leases that still hold: [Rows([Id, Fence(0)])] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM (
  SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (`id` VARCHAR(255) PATH '$.id', `f0` BIGINT PATH '$.f0')) AS j
) AS v STRAIGHT_JOIN `emails` AS t
WHERE t.`id` = v.`id`
  AND t.`status` = 'PROCESSING'
  AND t.`version` <=> v.`f0`
  AND (t.`updated_at` < UTC_TIMESTAMP(6) - INTERVAL 600 SECOND) IS NOT TRUE;

-- send: look for rows of a lost claim: [Owner] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `emails` AS t
WHERE t.`status` = 'PROCESSING'
  AND t.`claimed_by` = ?;

-- send: release rows of a lost claim, step 1: [Ids, Owner] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `emails` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'PROCESSING'
  AND t.`claimed_by` = ?
FOR UPDATE;

-- send: release rows of a lost claim, step 2: [Held] -> Nothing
UPDATE `emails` AS t SET
  t.`status` = 'READY',
  t.`claimed_by` = NULL,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- send: release rows of a lost claim, step 3: [Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'READY',
  NULL,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
WHERE t.`id` IN ({held});

-- send: look for expired leases: [Limit] -> Other
SELECT
  CAST(t.`id` AS CHAR),
  CAST(t.`version` AS CHAR),
  CASE WHEN COALESCE(t.`attempts`, 0) + 1 >= 5 THEN 1 ELSE 0 END,
  5
FROM `emails` AS t
WHERE t.`status` = 'PROCESSING'
  AND t.`updated_at` < UTC_TIMESTAMP(6) - INTERVAL 600 SECOND
LIMIT ?;

-- send: reclaim, free, step 1: [Ids] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `emails` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'PROCESSING'
  AND t.`updated_at` < UTC_TIMESTAMP(6) - INTERVAL 600 SECOND
FOR UPDATE;

-- send: reclaim, free, step 2: [Held] -> Nothing
UPDATE `emails` AS t SET
  t.`status` = 'READY',
  t.`claimed_by` = NULL,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- send: reclaim, free, step 3: [Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'READY',
  NULL,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
WHERE t.`id` IN ({held});

-- send: reclaim, spared, step 1: [Ids] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `emails` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'PROCESSING'
  AND t.`updated_at` < UTC_TIMESTAMP(6) - INTERVAL 600 SECOND
FOR UPDATE;

-- send: reclaim, spared, step 2: [Held] -> Nothing
UPDATE `emails` AS t SET
  t.`status` = 'READY',
  t.`claimed_by` = NULL,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- send: reclaim, spared, step 3: [Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'READY',
  NULL,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
WHERE t.`id` IN ({held});

-- send: reclaim, spared, step 4: [Held] -> Nothing
INSERT INTO postrider_crashes (place, row_id, crashes, crashed_at)
SELECT
  'emails/send',
  CAST(CAST(t.`id` AS CHAR) AS CHAR),
  1,
  UTC_TIMESTAMP(6)
FROM `emails` AS t WHERE t.`id` IN ({held})
ON DUPLICATE KEY UPDATE crashes = postrider_crashes.crashes + 1, crashed_at = VALUES(crashed_at);

-- send: reclaim, charged, step 1: [Ids] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `emails` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'PROCESSING'
  AND t.`updated_at` < UTC_TIMESTAMP(6) - INTERVAL 600 SECOND
FOR UPDATE;

-- send: reclaim, charged, step 2: [Held] -> Nothing
UPDATE `emails` AS t SET
  t.`status` = 'READY',
  t.`claimed_by` = NULL,
  t.`next_attempt_at` = UTC_TIMESTAMP(6),
  t.`attempts` = COALESCE(t.`attempts`, 0) + 1,
  t.`reason` = 'lease expired: the worker that held it is gone',
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- send: reclaim, charged, step 3: [Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'READY',
  'lease expired: the worker that held it is gone',
  UTC_TIMESTAMP(6)
FROM `emails` AS t
WHERE t.`id` IN ({held});

-- send: reclaim, charged, step 4: [Held] -> Nothing
INSERT INTO postrider_crashes (place, row_id, crashes, crashed_at)
SELECT
  'emails/send',
  CAST(CAST(t.`id` AS CHAR) AS CHAR),
  1,
  UTC_TIMESTAMP(6)
FROM `emails` AS t WHERE t.`id` IN ({held})
ON DUPLICATE KEY UPDATE crashes = postrider_crashes.crashes + 1, crashed_at = VALUES(crashed_at);

-- send: reclaim, dead, step 1: [Ids] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `emails` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'PROCESSING'
  AND t.`updated_at` < UTC_TIMESTAMP(6) - INTERVAL 600 SECOND
FOR UPDATE;

-- send: reclaim, dead, step 2: [Held] -> Nothing
UPDATE `emails` AS t SET
  t.`status` = 'FAILED',
  t.`claimed_by` = NULL,
  t.`next_attempt_at` = UTC_TIMESTAMP(6),
  t.`attempts` = 0,
  t.`reason` = 'poison row: its workers crashed repeatedly, also when it was delivered alone',
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- send: reclaim, dead, step 3: [Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'FAILED',
  'poison row: its workers crashed repeatedly, also when it was delivered alone',
  UTC_TIMESTAMP(6)
FROM `emails` AS t
WHERE t.`id` IN ({held});

-- send: reclaim, dead, step 4: [Held] -> Nothing
DELETE
  FROM postrider_crashes
  WHERE place = 'emails/send'
  AND row_id IN (SELECT CAST(CAST(t.`id` AS CHAR) AS CHAR) FROM `emails` AS t WHERE t.`id` IN ({held}));

-- send: spent, step 1: [Limit] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM (
  SELECT
    t.`id`,
    t.`attempts`
  FROM `emails` AS t WHERE t.`status` = 'READY' ORDER BY t.`updated_at`, t.`id` LIMIT 10000
) AS t
WHERE COALESCE(t.`attempts`, 0) >= 5
LIMIT ?;

-- send: spent, step 2: [Held] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `emails` AS t
WHERE t.`id` IN ({held})
  AND t.`status` = 'READY'
  AND COALESCE(t.`attempts`, 0) >= 5
FOR UPDATE SKIP LOCKED;

-- send: spent, step 3: [Held] -> Nothing
UPDATE `emails` AS t SET
  t.`reason` = COALESCE(t.`reason`, 'no attempts left'),
  t.`status` = 'FAILED',
  t.`claimed_by` = NULL,
  t.`next_attempt_at` = UTC_TIMESTAMP(6),
  t.`attempts` = 0,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- send: spent, step 4: [Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'FAILED',
  'no attempts left',
  UTC_TIMESTAMP(6)
FROM `emails` AS t
WHERE t.`id` IN ({held});

-- send: next due: [] -> Other
SELECT CAST(
  COALESCE(0 - (TIMESTAMPDIFF(MICROSECOND, t.`next_attempt_at`, UTC_TIMESTAMP(6))), 0) AS SIGNED
) AS w
FROM `emails` AS t
WHERE t.`status` = 'READY'
  AND COALESCE(t.`attempts`, 0) < 5
ORDER BY t.`next_attempt_at`
LIMIT 1;

-- send: lag: [] -> Other
SELECT (
  SELECT CAST(
    COALESCE(
      TIMESTAMPDIFF(MICROSECOND, t.`next_attempt_at`, UTC_TIMESTAMP(6)),
        TIMESTAMPDIFF(MICROSECOND, t.`created_at`, UTC_TIMESTAMP(6))
    ) AS DOUBLE
  )
    / 1000000
    FROM `emails` AS t
    WHERE t.`status` = 'READY'
    AND (t.`next_attempt_at` IS NULL OR t.`next_attempt_at` <= UTC_TIMESTAMP(6))
    AND COALESCE(t.`attempts`, 0) < 5
    ORDER BY t.`updated_at`
    LIMIT 1
),
  (
    SELECT CAST(TIMESTAMPDIFF(MICROSECOND, t.`updated_at`, UTC_TIMESTAMP(6)) AS DOUBLE) / 1000000
      FROM `emails` AS t
      WHERE t.`status` = 'PROCESSING'
      ORDER BY t.`updated_at`
      LIMIT 1
  );

-- send: census SENT: as above

-- send: census SENT_SILENT: as above

-- send: census FAILED: as above

-- send: census FAILED_SILENT: as above

-- send: census ACCEPTED: as above

-- send: census INTAKING: as above

-- send: census READY: as above

-- send: census INVALID: as above

-- send: census PROCESSING: as above

-- send: census CALLING-SENT-CALLBACK: as above

-- send: census SENT-ACKNOWLEDGED: as above

-- send: census CALLING-FAILED-CALLBACK: as above

-- send: census FAILED-ACKNOWLEDGED: as above

-- send: requeue ids INVALID: as above

-- send: requeue ids SENT_SILENT: as above

-- send: requeue ids FAILED_SILENT: as above

-- send: requeue state INVALID: as above

-- send: requeue state SENT_SILENT: as above

-- send: requeue state FAILED_SILENT: as above

-- send: release ids PROCESSING, step 1: [Ids] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `emails` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'PROCESSING'
FOR UPDATE;

-- send: release ids PROCESSING, step 2: [Held] -> Nothing
UPDATE `emails` AS t SET
  t.`status` = 'READY',
  t.`claimed_by` = NULL,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- send: release ids PROCESSING, step 3: [Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'READY',
  NULL,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
WHERE t.`id` IN ({held});

-- send: release state PROCESSING, step 1: [Since, Since, Since, Since, Limit] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `emails` AS t
WHERE t.`status` = 'PROCESSING'
  AND (
    ? IS NULL
      OR t.`updated_at` >= UTC_TIMESTAMP(6) + INTERVAL ROUND((0 - ?) * 1000000) MICROSECOND
      OR t.`updated_at` IS NULL
      AND t.`updated_at` >= UTC_TIMESTAMP(6) + INTERVAL ROUND((0 - ?) * 1000000) MICROSECOND
      OR t.`updated_at` IS NULL
      AND t.`updated_at` IS NULL
      AND t.`created_at` >= UTC_TIMESTAMP(6) + INTERVAL ROUND((0 - ?) * 1000000) MICROSECOND
  )
LIMIT ?;

-- send: release state PROCESSING, step 2: [Held] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `emails` AS t
WHERE t.`id` IN ({held})
  AND t.`status` = 'PROCESSING'
FOR UPDATE SKIP LOCKED;

-- send: release state PROCESSING, step 3: [Held] -> Nothing
UPDATE `emails` AS t SET
  t.`status` = 'READY',
  t.`claimed_by` = NULL,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- send: release state PROCESSING, step 4: [Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'READY',
  NULL,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
WHERE t.`id` IN ({held});

-- sent_callback: layout Layout { integer_id: false, fences: 1, claim_time: None, pool: 7, fields:
--   ["eml_path", "payload_path", "reason"], joined: ["history.reached", "clock"] }

-- sent_callback: claim 1, step 1: [Limit] -> Rows
SELECT
  CAST(t.`id` AS CHAR),
  CAST(CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END AS CHAR),
  CAST(COALESCE(t.`attempts`, 0) AS SIGNED),
  NULL,
  NULL,
  NULL,
  NULL,
  NULL,
  NULL,
  CAST(
    COALESCE(
      TIMESTAMPDIFF(MICROSECOND, t.`next_attempt_at`, UTC_TIMESTAMP(6)),
        TIMESTAMPDIFF(MICROSECOND, t.`created_at`, UTC_TIMESTAMP(6))
    ) AS SIGNED
  ),
  CAST(
    COALESCE(LENGTH(t.`eml_file_path`), 0)
      + COALESCE(LENGTH(t.`payload_file_path`), 0)
      + COALESCE(LENGTH(t.`reason`), 0) AS SIGNED
  ),
  CASE WHEN LENGTH(t.`eml_file_path`) <= 65536 THEN t.`eml_file_path` END,
  CASE WHEN LENGTH(t.`payload_file_path`) <= 65536 THEN t.`payload_file_path` END,
  CASE WHEN LENGTH(t.`reason`) <= 65536 THEN t.`reason` END
FROM `emails` AS t
WHERE t.`status` = 'SENT' AND (t.`next_attempt_at` IS NULL OR t.`next_attempt_at` < '9999-12-31 00:00:00')
  AND (t.`next_attempt_at` IS NULL OR t.`next_attempt_at` <= UTC_TIMESTAMP(6))
  AND COALESCE(t.`attempts`, 0) < 5
ORDER BY t.`updated_at`, t.`id`
LIMIT ?
FOR UPDATE SKIP LOCKED;

-- sent_callback: claim 1, step 2: [Owner, Held] -> Nothing
UPDATE `emails` AS t SET
  t.`status` = 'CALLING-SENT-CALLBACK',
  t.`updated_at` = CAST(
    CASE
      WHEN t.`updated_at`
        BETWEEN UTC_TIMESTAMP(6) - INTERVAL 1 SECOND
        AND UTC_TIMESTAMP(6) + INTERVAL 60 SECOND
        THEN t.`updated_at` + INTERVAL 1 SECOND
      ELSE UTC_TIMESTAMP(6)
      END AS DATETIME(0)
  ),
  t.`claimed_by` = LEFT(?, 64),
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END
WHERE t.`id` IN ({held});

-- sent_callback: claim 1, step 3: [Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'CALLING-SENT-CALLBACK',
  NULL,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
WHERE t.`id` IN ({held});

-- sent_callback: load: [Ids] -> Other
SELECT
  CAST(t.`id` AS CHAR),
  t.`eml_file_path`,
  t.`payload_file_path`,
  t.`reason`
FROM `emails` AS t
WHERE t.`id` IN ({ids});

-- sent_callback: join: [Ids] -> Other
SELECT
  CAST(t.`id` AS CHAR),
  (
    CAST(FLOOR(UNIX_TIMESTAMP(UTC_TIMESTAMP(3)) * 1000) AS SIGNED)
      - CAST(
        FLOOR(
          (
            TIMESTAMPDIFF(
              MICROSECOND,
                (
                  SELECT h.`created_at`
                    FROM `email_statuses` AS h
                    WHERE h.`email_id` = t.`id`
                    AND h.`status` = 'SENT'
                    AND h.`id`
                      > COALESCE(
                        (
                          SELECT MAX(o.`id`)
                            FROM `email_statuses` AS o
                            WHERE o.`email_id` = t.`id`
                            AND o.`status` NOT IN ('CALLING-SENT-CALLBACK', 'SENT')
                        ),
                          0
                      )
                    ORDER BY h.`id`
                    LIMIT 1
                ),
                UTC_TIMESTAMP(6)
            )
          )
            / 1000
        ) AS SIGNED
      )
  ),
  CAST(FLOOR(UNIX_TIMESTAMP(UTC_TIMESTAMP(3)) * 1000) AS SIGNED)
FROM `emails` AS t
WHERE t.`id` IN ({ids});

-- sent_callback: settle delivered, uniform, step 1: [Ids, One(Fence(0))] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `emails` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'CALLING-SENT-CALLBACK'
  AND t.`version` <=> CAST(? AS SIGNED)
FOR UPDATE;

-- sent_callback: settle delivered, uniform, step 2: [One(Outcome("eml_path")), Held] -> Nothing
UPDATE `emails` AS t SET
  t.`eml_file_path` = COALESCE(LEFT(?, 500), t.`eml_file_path`),
  t.`status` = 'SENT-ACKNOWLEDGED',
  t.`claimed_by` = NULL,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- sent_callback: settle delivered, uniform, step 3: [One(Reason), Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'SENT-ACKNOWLEDGED',
  ?,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
WHERE t.`id` IN ({held});

-- sent_callback: settle delivered, each, step 1: [Rows([Id, Fence(0)])] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM (
  SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (`id` VARCHAR(255) PATH '$.id', `f0` BIGINT PATH '$.f0')) AS j
) AS v STRAIGHT_JOIN `emails` AS t
WHERE t.`id` = v.`id`
  AND t.`status` = 'CALLING-SENT-CALLBACK'
  AND t.`version` <=> v.`f0`
FOR UPDATE;

-- sent_callback: settle delivered, each, step 2: [Rows([Outcome("eml_path"), Id]), Held] -> Nothing
UPDATE `emails` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?, '$[*]' COLUMNS (`o_eml_path` LONGTEXT PATH '$.o_eml_path', `id` VARCHAR(255) PATH '$.id')
      ) AS j
  ) AS v
  ON t.`id` = v.`id` SET
  t.`eml_file_path` = COALESCE(LEFT(v.`o_eml_path`, 500), t.`eml_file_path`),
  t.`status` = 'SENT-ACKNOWLEDGED',
  t.`claimed_by` = NULL,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- sent_callback: settle delivered, each, step 3: [Rows([Reason, Id]), Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'SENT-ACKNOWLEDGED',
  v.`reason`,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?, '$[*]' COLUMNS (`reason` LONGTEXT PATH '$.reason', `id` VARCHAR(255) PATH '$.id')
      ) AS j
  ) AS v
  ON t.`id` = v.`id`
WHERE t.`id` IN ({held});

-- sent_callback: settle retry, uniform, step 1: [Ids, One(Fence(0))] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `emails` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'CALLING-SENT-CALLBACK'
  AND t.`version` <=> CAST(? AS SIGNED)
FOR UPDATE;

-- sent_callback: settle retry, uniform, step 2: [One(Delay), Held] -> Nothing
UPDATE `emails` AS t SET
  t.`status` = 'SENT',
  t.`claimed_by` = NULL,
  t.`next_attempt_at` = UTC_TIMESTAMP(6) + INTERVAL ROUND(? * 1000000) MICROSECOND,
  t.`attempts` = COALESCE(t.`attempts`, 0) + 1,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- sent_callback: settle retry, uniform, step 3: [One(Reason), Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'SENT',
  ?,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
WHERE t.`id` IN ({held});

-- sent_callback: settle retry, each, step 1: [Rows([Id, Fence(0)])] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM (
  SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (`id` VARCHAR(255) PATH '$.id', `f0` BIGINT PATH '$.f0')) AS j
) AS v STRAIGHT_JOIN `emails` AS t
WHERE t.`id` = v.`id`
  AND t.`status` = 'CALLING-SENT-CALLBACK'
  AND t.`version` <=> v.`f0`
FOR UPDATE;

-- sent_callback: settle retry, each, step 2: [Rows([Delay, Id]), Held] -> Nothing
UPDATE `emails` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(?, '$[*]' COLUMNS (`delay` DOUBLE PATH '$.delay', `id` VARCHAR(255) PATH '$.id')) AS j
  ) AS v
  ON t.`id` = v.`id` SET
  t.`status` = 'SENT',
  t.`claimed_by` = NULL,
  t.`next_attempt_at` = UTC_TIMESTAMP(6) + INTERVAL ROUND(v.`delay` * 1000000) MICROSECOND,
  t.`attempts` = COALESCE(t.`attempts`, 0) + 1,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- sent_callback: settle retry, each, step 3: [Rows([Reason, Id]), Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'SENT',
  v.`reason`,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?, '$[*]' COLUMNS (`reason` LONGTEXT PATH '$.reason', `id` VARCHAR(255) PATH '$.id')
      ) AS j
  ) AS v
  ON t.`id` = v.`id`
WHERE t.`id` IN ({held});

-- sent_callback: settle dead, uniform, step 1: [Ids, One(Fence(0))] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `emails` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'CALLING-SENT-CALLBACK'
  AND t.`version` <=> CAST(? AS SIGNED)
FOR UPDATE;

-- sent_callback: settle dead, uniform, step 2: [Held] -> Nothing
UPDATE `emails` AS t SET
  t.`status` = 'SENT',
  t.`next_attempt_at` = '9999-12-31 00:00:00',
  t.`claimed_by` = NULL,
  t.`attempts` = COALESCE(t.`attempts`, 0) + 1,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- sent_callback: settle dead, uniform, step 3: [One(Reason), Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'SENT',
  ?,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
WHERE t.`id` IN ({held});

-- sent_callback: settle dead, each, step 1: [Rows([Id, Fence(0)])] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM (
  SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (`id` VARCHAR(255) PATH '$.id', `f0` BIGINT PATH '$.f0')) AS j
) AS v STRAIGHT_JOIN `emails` AS t
WHERE t.`id` = v.`id`
  AND t.`status` = 'CALLING-SENT-CALLBACK'
  AND t.`version` <=> v.`f0`
FOR UPDATE;

-- sent_callback: settle dead, each, step 2: [Held] -> Nothing
UPDATE `emails` AS t SET
  t.`status` = 'SENT',
  t.`next_attempt_at` = '9999-12-31 00:00:00',
  t.`claimed_by` = NULL,
  t.`attempts` = COALESCE(t.`attempts`, 0) + 1,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- sent_callback: settle dead, each, step 3: [Rows([Reason, Id]), Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'SENT',
  v.`reason`,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?, '$[*]' COLUMNS (`reason` LONGTEXT PATH '$.reason', `id` VARCHAR(255) PATH '$.id')
      ) AS j
  ) AS v
  ON t.`id` = v.`id`
WHERE t.`id` IN ({held});

-- sent_callback: settle rejected, uniform, step 1: [Ids, One(Fence(0))] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `emails` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'CALLING-SENT-CALLBACK'
  AND t.`version` <=> CAST(? AS SIGNED)
FOR UPDATE;

-- sent_callback: settle rejected, uniform, step 2: [Held] -> Nothing
UPDATE `emails` AS t SET
  t.`status` = 'SENT',
  t.`next_attempt_at` = '9999-12-31 00:00:00',
  t.`claimed_by` = NULL,
  t.`attempts` = COALESCE(t.`attempts`, 0) + 1,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- sent_callback: settle rejected, uniform, step 3: [One(Reason), Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'SENT',
  ?,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
WHERE t.`id` IN ({held});

-- sent_callback: settle rejected, each, step 1: [Rows([Id, Fence(0)])] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM (
  SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (`id` VARCHAR(255) PATH '$.id', `f0` BIGINT PATH '$.f0')) AS j
) AS v STRAIGHT_JOIN `emails` AS t
WHERE t.`id` = v.`id`
  AND t.`status` = 'CALLING-SENT-CALLBACK'
  AND t.`version` <=> v.`f0`
FOR UPDATE;

-- sent_callback: settle rejected, each, step 2: [Held] -> Nothing
UPDATE `emails` AS t SET
  t.`status` = 'SENT',
  t.`next_attempt_at` = '9999-12-31 00:00:00',
  t.`claimed_by` = NULL,
  t.`attempts` = COALESCE(t.`attempts`, 0) + 1,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- sent_callback: settle rejected, each, step 3: [Rows([Reason, Id]), Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'SENT',
  v.`reason`,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?, '$[*]' COLUMNS (`reason` LONGTEXT PATH '$.reason', `id` VARCHAR(255) PATH '$.id')
      ) AS j
  ) AS v
  ON t.`id` = v.`id`
WHERE t.`id` IN ({held});

-- sent_callback: settle skipped, uniform, step 1: [Ids, One(Fence(0))] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `emails` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'CALLING-SENT-CALLBACK'
  AND t.`version` <=> CAST(? AS SIGNED)
FOR UPDATE;

-- sent_callback: settle skipped, uniform, step 2: [Held] -> Nothing
UPDATE `emails` AS t SET
  t.`status` = 'SENT',
  t.`next_attempt_at` = '9999-12-31 00:00:00',
  t.`claimed_by` = NULL,
  t.`attempts` = COALESCE(t.`attempts`, 0) + 1,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- sent_callback: settle skipped, uniform, step 3: [One(Reason), Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'SENT',
  ?,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
WHERE t.`id` IN ({held});

-- sent_callback: settle skipped, each, step 1: [Rows([Id, Fence(0)])] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM (
  SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (`id` VARCHAR(255) PATH '$.id', `f0` BIGINT PATH '$.f0')) AS j
) AS v STRAIGHT_JOIN `emails` AS t
WHERE t.`id` = v.`id`
  AND t.`status` = 'CALLING-SENT-CALLBACK'
  AND t.`version` <=> v.`f0`
FOR UPDATE;

-- sent_callback: settle skipped, each, step 2: [Held] -> Nothing
UPDATE `emails` AS t SET
  t.`status` = 'SENT',
  t.`next_attempt_at` = '9999-12-31 00:00:00',
  t.`claimed_by` = NULL,
  t.`attempts` = COALESCE(t.`attempts`, 0) + 1,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- sent_callback: settle skipped, each, step 3: [Rows([Reason, Id]), Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'SENT',
  v.`reason`,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?, '$[*]' COLUMNS (`reason` LONGTEXT PATH '$.reason', `id` VARCHAR(255) PATH '$.id')
      ) AS j
  ) AS v
  ON t.`id` = v.`id`
WHERE t.`id` IN ({held});

-- sent_callback: settle deferred, uniform, step 1: [Ids, One(Fence(0))] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `emails` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'CALLING-SENT-CALLBACK'
  AND t.`version` <=> CAST(? AS SIGNED)
FOR UPDATE;

-- sent_callback: settle deferred, uniform, step 2: [One(Delay), Held] -> Nothing
UPDATE `emails` AS t SET
  t.`status` = 'SENT',
  t.`claimed_by` = NULL,
  t.`next_attempt_at` = UTC_TIMESTAMP(6) + INTERVAL ROUND(? * 1000000) MICROSECOND,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- sent_callback: settle deferred, uniform, step 3: [One(Reason), Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'SENT',
  ?,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
WHERE t.`id` IN ({held});

-- sent_callback: settle deferred, each, step 1: [Rows([Id, Fence(0)])] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM (
  SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (`id` VARCHAR(255) PATH '$.id', `f0` BIGINT PATH '$.f0')) AS j
) AS v STRAIGHT_JOIN `emails` AS t
WHERE t.`id` = v.`id`
  AND t.`status` = 'CALLING-SENT-CALLBACK'
  AND t.`version` <=> v.`f0`
FOR UPDATE;

-- sent_callback: settle deferred, each, step 2: [Rows([Delay, Id]), Held] -> Nothing
UPDATE `emails` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(?, '$[*]' COLUMNS (`delay` DOUBLE PATH '$.delay', `id` VARCHAR(255) PATH '$.id')) AS j
  ) AS v
  ON t.`id` = v.`id` SET
  t.`status` = 'SENT',
  t.`claimed_by` = NULL,
  t.`next_attempt_at` = UTC_TIMESTAMP(6) + INTERVAL ROUND(v.`delay` * 1000000) MICROSECOND,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- sent_callback: settle deferred, each, step 3: [Rows([Reason, Id]), Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'SENT',
  v.`reason`,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?, '$[*]' COLUMNS (`reason` LONGTEXT PATH '$.reason', `id` VARCHAR(255) PATH '$.id')
      ) AS j
  ) AS v
  ON t.`id` = v.`id`
WHERE t.`id` IN ({held});

-- sent_callback: settle released, uniform, step 1: [Ids, One(Fence(0))] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `emails` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'CALLING-SENT-CALLBACK'
  AND t.`version` <=> CAST(? AS SIGNED)
FOR UPDATE;

-- sent_callback: settle released, uniform, step 2: [Held] -> Nothing
UPDATE `emails` AS t SET
  t.`status` = 'SENT',
  t.`claimed_by` = NULL,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- sent_callback: settle released, uniform, step 3: [One(Reason), Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'SENT',
  ?,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
WHERE t.`id` IN ({held});

-- sent_callback: settle released, each, step 1: [Rows([Id, Fence(0)])] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM (
  SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (`id` VARCHAR(255) PATH '$.id', `f0` BIGINT PATH '$.f0')) AS j
) AS v STRAIGHT_JOIN `emails` AS t
WHERE t.`id` = v.`id`
  AND t.`status` = 'CALLING-SENT-CALLBACK'
  AND t.`version` <=> v.`f0`
FOR UPDATE;

-- sent_callback: settle released, each, step 2: [Held] -> Nothing
UPDATE `emails` AS t SET
  t.`status` = 'SENT',
  t.`claimed_by` = NULL,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- sent_callback: settle released, each, step 3: [Rows([Reason, Id]), Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'SENT',
  v.`reason`,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?, '$[*]' COLUMNS (`reason` LONGTEXT PATH '$.reason', `id` VARCHAR(255) PATH '$.id')
      ) AS j
  ) AS v
  ON t.`id` = v.`id`
WHERE t.`id` IN ({held});

-- sent_callback: extend, step 1: [Rows([Id, Fence(0)])] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM (
  SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (`id` VARCHAR(255) PATH '$.id', `f0` BIGINT PATH '$.f0')) AS j
) AS v STRAIGHT_JOIN `emails` AS t
WHERE t.`id` = v.`id`
  AND t.`status` = 'CALLING-SENT-CALLBACK'
  AND t.`version` <=> v.`f0`
FOR UPDATE;

-- sent_callback: extend, step 2: [Held] -> Nothing
UPDATE `emails` AS t SET
  t.`updated_at` = CAST(
    CASE
      WHEN t.`updated_at`
        BETWEEN UTC_TIMESTAMP(6) - INTERVAL 1 SECOND
        AND UTC_TIMESTAMP(6) + INTERVAL 60 SECOND
        THEN t.`updated_at` + INTERVAL 1 SECOND
      ELSE UTC_TIMESTAMP(6)
      END AS DATETIME(0)
  ),
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END
WHERE t.`id` IN ({held});

-- sent_callback: extend, step 3: [Held] -> Leases
SELECT
  CAST(t.`id` AS CHAR),
  CAST(t.`version` AS CHAR)
FROM `emails` AS t
WHERE t.`id` IN ({held});

-- sent_callback: leases after a lost extension: [Ids, Owner] -> Leases
SELECT
  CAST(t.`id` AS CHAR),
  CAST(t.`version` AS CHAR)
FROM `emails` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'CALLING-SENT-CALLBACK'
  AND t.`claimed_by` = ?;

-- sent_callback: leases that still hold: [Rows([Id, Fence(0)])] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM (
  SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (`id` VARCHAR(255) PATH '$.id', `f0` BIGINT PATH '$.f0')) AS j
) AS v STRAIGHT_JOIN `emails` AS t
WHERE t.`id` = v.`id`
  AND t.`status` = 'CALLING-SENT-CALLBACK'
  AND t.`version` <=> v.`f0`
  AND (t.`updated_at` < UTC_TIMESTAMP(6) - INTERVAL 600 SECOND) IS NOT TRUE;

-- sent_callback: look for rows of a lost claim: [Owner] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `emails` AS t
WHERE t.`status` = 'CALLING-SENT-CALLBACK'
  AND t.`claimed_by` = ?;

-- sent_callback: release rows of a lost claim, step 1: [Ids, Owner] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `emails` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'CALLING-SENT-CALLBACK'
  AND t.`claimed_by` = ?
FOR UPDATE;

-- sent_callback: release rows of a lost claim, step 2: [Held] -> Nothing
UPDATE `emails` AS t SET
  t.`status` = 'SENT',
  t.`claimed_by` = NULL,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- sent_callback: release rows of a lost claim, step 3: [Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'SENT',
  NULL,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
WHERE t.`id` IN ({held});

-- sent_callback: look for expired leases: [Limit] -> Other
SELECT
  CAST(t.`id` AS CHAR),
  CAST(t.`version` AS CHAR),
  CASE WHEN COALESCE(t.`attempts`, 0) + 1 >= 5 THEN 1 ELSE 0 END,
  5
FROM `emails` AS t
WHERE t.`status` = 'CALLING-SENT-CALLBACK'
  AND t.`updated_at` < UTC_TIMESTAMP(6) - INTERVAL 600 SECOND
LIMIT ?;

-- sent_callback: reclaim, free, step 1: [Ids] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `emails` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'CALLING-SENT-CALLBACK'
  AND t.`updated_at` < UTC_TIMESTAMP(6) - INTERVAL 600 SECOND
FOR UPDATE;

-- sent_callback: reclaim, free, step 2: [Held] -> Nothing
UPDATE `emails` AS t SET
  t.`status` = 'SENT',
  t.`claimed_by` = NULL,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- sent_callback: reclaim, free, step 3: [Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'SENT',
  NULL,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
WHERE t.`id` IN ({held});

-- sent_callback: reclaim, spared, step 1: [Ids] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `emails` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'CALLING-SENT-CALLBACK'
  AND t.`updated_at` < UTC_TIMESTAMP(6) - INTERVAL 600 SECOND
FOR UPDATE;

-- sent_callback: reclaim, spared, step 2: [Held] -> Nothing
UPDATE `emails` AS t SET
  t.`status` = 'SENT',
  t.`claimed_by` = NULL,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- sent_callback: reclaim, spared, step 3: [Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'SENT',
  NULL,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
WHERE t.`id` IN ({held});

-- sent_callback: reclaim, spared, step 4: [Held] -> Nothing
INSERT INTO postrider_crashes (place, row_id, crashes, crashed_at)
SELECT
  'emails/sent_callback',
  CAST(CAST(t.`id` AS CHAR) AS CHAR),
  1,
  UTC_TIMESTAMP(6)
FROM `emails` AS t WHERE t.`id` IN ({held})
ON DUPLICATE KEY UPDATE crashes = postrider_crashes.crashes + 1, crashed_at = VALUES(crashed_at);

-- sent_callback: reclaim, charged, step 1: [Ids] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `emails` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'CALLING-SENT-CALLBACK'
  AND t.`updated_at` < UTC_TIMESTAMP(6) - INTERVAL 600 SECOND
FOR UPDATE;

-- sent_callback: reclaim, charged, step 2: [Held] -> Nothing
UPDATE `emails` AS t SET
  t.`status` = 'SENT',
  t.`claimed_by` = NULL,
  t.`next_attempt_at` = UTC_TIMESTAMP(6),
  t.`attempts` = COALESCE(t.`attempts`, 0) + 1,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- sent_callback: reclaim, charged, step 3: [Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'SENT',
  'lease expired: the worker that held it is gone',
  UTC_TIMESTAMP(6)
FROM `emails` AS t
WHERE t.`id` IN ({held});

-- sent_callback: reclaim, charged, step 4: [Held] -> Nothing
INSERT INTO postrider_crashes (place, row_id, crashes, crashed_at)
SELECT
  'emails/sent_callback',
  CAST(CAST(t.`id` AS CHAR) AS CHAR),
  1,
  UTC_TIMESTAMP(6)
FROM `emails` AS t WHERE t.`id` IN ({held})
ON DUPLICATE KEY UPDATE crashes = postrider_crashes.crashes + 1, crashed_at = VALUES(crashed_at);

-- sent_callback: reclaim, dead, step 1: [Ids] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `emails` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'CALLING-SENT-CALLBACK'
  AND t.`updated_at` < UTC_TIMESTAMP(6) - INTERVAL 600 SECOND
FOR UPDATE;

-- sent_callback: reclaim, dead, step 2: [Held] -> Nothing
UPDATE `emails` AS t SET
  t.`status` = 'SENT',
  t.`next_attempt_at` = '9999-12-31 00:00:00',
  t.`claimed_by` = NULL,
  t.`attempts` = COALESCE(t.`attempts`, 0) + 1,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- sent_callback: reclaim, dead, step 3: [Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'SENT',
  'poison row: its workers crashed repeatedly, also when it was delivered alone',
  UTC_TIMESTAMP(6)
FROM `emails` AS t
WHERE t.`id` IN ({held});

-- sent_callback: reclaim, dead, step 4: [Held] -> Nothing
DELETE
  FROM postrider_crashes
  WHERE place = 'emails/sent_callback'
  AND row_id IN (SELECT CAST(CAST(t.`id` AS CHAR) AS CHAR) FROM `emails` AS t WHERE t.`id` IN ({held}));

-- sent_callback: spent, step 1: [Limit] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM (
  SELECT
    t.`id`,
    t.`attempts`
  FROM `emails` AS t
    WHERE t.`status` = 'SENT'
    AND (t.`next_attempt_at` IS NULL OR t.`next_attempt_at` < '9999-12-31 00:00:00')
    ORDER BY t.`updated_at`,
    t.`id` LIMIT 10000
) AS t
WHERE COALESCE(t.`attempts`, 0) >= 5
LIMIT ?;

-- sent_callback: spent, step 2: [Held] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `emails` AS t
WHERE t.`id` IN ({held})
  AND t.`status` = 'SENT' AND (t.`next_attempt_at` IS NULL OR t.`next_attempt_at` < '9999-12-31 00:00:00')
  AND COALESCE(t.`attempts`, 0) >= 5
FOR UPDATE SKIP LOCKED;

-- sent_callback: spent, step 3: [Held] -> Nothing
UPDATE `emails` AS t SET
  t.`status` = 'SENT',
  t.`next_attempt_at` = '9999-12-31 00:00:00',
  t.`claimed_by` = NULL,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- sent_callback: spent, step 4: [Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'SENT',
  'no attempts left',
  UTC_TIMESTAMP(6)
FROM `emails` AS t
WHERE t.`id` IN ({held});

-- sent_callback: next due: [] -> Other
SELECT CAST(
  COALESCE(0 - (TIMESTAMPDIFF(MICROSECOND, t.`next_attempt_at`, UTC_TIMESTAMP(6))), 0) AS SIGNED
) AS w
FROM `emails` AS t
WHERE t.`status` = 'SENT' AND (t.`next_attempt_at` IS NULL OR t.`next_attempt_at` < '9999-12-31 00:00:00')
  AND COALESCE(t.`attempts`, 0) < 5
ORDER BY t.`next_attempt_at`
LIMIT 1;

-- sent_callback: lag: [] -> Other
SELECT (
  SELECT CAST(
    COALESCE(
      TIMESTAMPDIFF(MICROSECOND, t.`next_attempt_at`, UTC_TIMESTAMP(6)),
        TIMESTAMPDIFF(MICROSECOND, t.`created_at`, UTC_TIMESTAMP(6))
    ) AS DOUBLE
  )
    / 1000000
    FROM `emails` AS t
    WHERE t.`status` = 'SENT'
    AND (t.`next_attempt_at` IS NULL OR t.`next_attempt_at` < '9999-12-31 00:00:00')
    AND (t.`next_attempt_at` IS NULL OR t.`next_attempt_at` <= UTC_TIMESTAMP(6))
    AND COALESCE(t.`attempts`, 0) < 5
    ORDER BY t.`updated_at`
    LIMIT 1
),
  (
    SELECT CAST(TIMESTAMPDIFF(MICROSECOND, t.`updated_at`, UTC_TIMESTAMP(6)) AS DOUBLE) / 1000000
      FROM `emails` AS t
      WHERE t.`status` = 'CALLING-SENT-CALLBACK'
      ORDER BY t.`updated_at`
      LIMIT 1
  );

-- sent_callback: census SENT: as above

-- sent_callback: census SENT_SILENT: as above

-- sent_callback: census FAILED: as above

-- sent_callback: census FAILED_SILENT: as above

-- sent_callback: census ACCEPTED: as above

-- sent_callback: census INTAKING: as above

-- sent_callback: census READY: as above

-- sent_callback: census INVALID: as above

-- sent_callback: census PROCESSING: as above

-- sent_callback: census CALLING-SENT-CALLBACK: as above

-- sent_callback: census SENT-ACKNOWLEDGED: as above

-- sent_callback: census CALLING-FAILED-CALLBACK: as above

-- sent_callback: census FAILED-ACKNOWLEDGED: as above

-- sent_callback: requeue ids INVALID, step 1: [Ids] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `emails` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'INVALID'
FOR UPDATE;

-- sent_callback: requeue ids INVALID, step 2: [Held] -> Nothing
UPDATE `emails` AS t SET
  t.`status` = 'ACCEPTED',
  t.`claimed_by` = NULL,
  t.`next_attempt_at` = UTC_TIMESTAMP(6),
  t.`attempts` = 0,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- sent_callback: requeue ids INVALID, step 3: [Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'ACCEPTED',
  NULL,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
WHERE t.`id` IN ({held});

-- sent_callback: requeue ids SENT_SILENT: as above

-- sent_callback: requeue ids FAILED_SILENT: as above

-- sent_callback: requeue state INVALID, step 1: [Since, Since, Since, Since, Limit] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `emails` AS t
WHERE t.`status` = 'INVALID'
  AND (
    ? IS NULL
      OR t.`updated_at` >= UTC_TIMESTAMP(6) + INTERVAL ROUND((0 - ?) * 1000000) MICROSECOND
      OR t.`updated_at` IS NULL
      AND t.`updated_at` >= UTC_TIMESTAMP(6) + INTERVAL ROUND((0 - ?) * 1000000) MICROSECOND
      OR t.`updated_at` IS NULL
      AND t.`updated_at` IS NULL
      AND t.`created_at` >= UTC_TIMESTAMP(6) + INTERVAL ROUND((0 - ?) * 1000000) MICROSECOND
  )
LIMIT ?;

-- sent_callback: requeue state INVALID, step 2: [Held] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `emails` AS t
WHERE t.`id` IN ({held})
  AND t.`status` = 'INVALID'
FOR UPDATE SKIP LOCKED;

-- sent_callback: requeue state INVALID, step 3: [Held] -> Nothing
UPDATE `emails` AS t SET
  t.`status` = 'ACCEPTED',
  t.`claimed_by` = NULL,
  t.`next_attempt_at` = UTC_TIMESTAMP(6),
  t.`attempts` = 0,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- sent_callback: requeue state INVALID, step 4: [Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'ACCEPTED',
  NULL,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
WHERE t.`id` IN ({held});

-- sent_callback: requeue state SENT_SILENT: as above

-- sent_callback: requeue state FAILED_SILENT: as above

-- sent_callback: release ids CALLING-SENT-CALLBACK, step 1: [Ids] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `emails` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'CALLING-SENT-CALLBACK'
FOR UPDATE;

-- sent_callback: release ids CALLING-SENT-CALLBACK, step 2: [Held] -> Nothing
UPDATE `emails` AS t SET
  t.`status` = 'SENT',
  t.`claimed_by` = NULL,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- sent_callback: release ids CALLING-SENT-CALLBACK, step 3: [Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'SENT',
  NULL,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
WHERE t.`id` IN ({held});

-- sent_callback: release state CALLING-SENT-CALLBACK, step 1: [Since, Since, Since, Since, Limit] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `emails` AS t
WHERE t.`status` = 'CALLING-SENT-CALLBACK'
  AND (
    ? IS NULL
      OR t.`updated_at` >= UTC_TIMESTAMP(6) + INTERVAL ROUND((0 - ?) * 1000000) MICROSECOND
      OR t.`updated_at` IS NULL
      AND t.`updated_at` >= UTC_TIMESTAMP(6) + INTERVAL ROUND((0 - ?) * 1000000) MICROSECOND
      OR t.`updated_at` IS NULL
      AND t.`updated_at` IS NULL
      AND t.`created_at` >= UTC_TIMESTAMP(6) + INTERVAL ROUND((0 - ?) * 1000000) MICROSECOND
  )
LIMIT ?;

-- sent_callback: release state CALLING-SENT-CALLBACK, step 2: [Held] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `emails` AS t
WHERE t.`id` IN ({held})
  AND t.`status` = 'CALLING-SENT-CALLBACK'
FOR UPDATE SKIP LOCKED;

-- sent_callback: release state CALLING-SENT-CALLBACK, step 3: [Held] -> Nothing
UPDATE `emails` AS t SET
  t.`status` = 'SENT',
  t.`claimed_by` = NULL,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- sent_callback: release state CALLING-SENT-CALLBACK, step 4: [Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'SENT',
  NULL,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
WHERE t.`id` IN ({held});

-- failed_callback: layout Layout { integer_id: false, fences: 1, claim_time: None, pool: 7, fields:
--   ["eml_path", "payload_path", "reason"], joined: ["history.reached", "clock"] }

-- failed_callback: claim 1, step 1: [Limit] -> Rows
SELECT
  CAST(t.`id` AS CHAR),
  CAST(CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END AS CHAR),
  CAST(COALESCE(t.`attempts`, 0) AS SIGNED),
  NULL,
  NULL,
  NULL,
  NULL,
  NULL,
  NULL,
  CAST(
    COALESCE(
      TIMESTAMPDIFF(MICROSECOND, t.`next_attempt_at`, UTC_TIMESTAMP(6)),
        TIMESTAMPDIFF(MICROSECOND, t.`created_at`, UTC_TIMESTAMP(6))
    ) AS SIGNED
  ),
  CAST(
    COALESCE(LENGTH(t.`eml_file_path`), 0)
      + COALESCE(LENGTH(t.`payload_file_path`), 0)
      + COALESCE(LENGTH(t.`reason`), 0) AS SIGNED
  ),
  CASE WHEN LENGTH(t.`eml_file_path`) <= 65536 THEN t.`eml_file_path` END,
  CASE WHEN LENGTH(t.`payload_file_path`) <= 65536 THEN t.`payload_file_path` END,
  CASE WHEN LENGTH(t.`reason`) <= 65536 THEN t.`reason` END
FROM `emails` AS t
WHERE t.`status` = 'FAILED' AND (t.`next_attempt_at` IS NULL OR t.`next_attempt_at` < '9999-12-31 00:00:00')
  AND (t.`next_attempt_at` IS NULL OR t.`next_attempt_at` <= UTC_TIMESTAMP(6))
  AND COALESCE(t.`attempts`, 0) < 5
ORDER BY t.`updated_at`, t.`id`
LIMIT ?
FOR UPDATE SKIP LOCKED;

-- failed_callback: claim 1, step 2: [Owner, Held] -> Nothing
UPDATE `emails` AS t SET
  t.`status` = 'CALLING-FAILED-CALLBACK',
  t.`updated_at` = CAST(
    CASE
      WHEN t.`updated_at`
        BETWEEN UTC_TIMESTAMP(6) - INTERVAL 1 SECOND
        AND UTC_TIMESTAMP(6) + INTERVAL 60 SECOND
        THEN t.`updated_at` + INTERVAL 1 SECOND
      ELSE UTC_TIMESTAMP(6)
      END AS DATETIME(0)
  ),
  t.`claimed_by` = LEFT(?, 64),
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END
WHERE t.`id` IN ({held});

-- failed_callback: claim 1, step 3: [Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'CALLING-FAILED-CALLBACK',
  NULL,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
WHERE t.`id` IN ({held});

-- failed_callback: load: as above

-- failed_callback: join: [Ids] -> Other
SELECT
  CAST(t.`id` AS CHAR),
  (
    CAST(FLOOR(UNIX_TIMESTAMP(UTC_TIMESTAMP(3)) * 1000) AS SIGNED)
      - CAST(
        FLOOR(
          (
            TIMESTAMPDIFF(
              MICROSECOND,
                (
                  SELECT h.`created_at`
                    FROM `email_statuses` AS h
                    WHERE h.`email_id` = t.`id`
                    AND h.`status` = 'FAILED'
                    AND h.`id`
                      > COALESCE(
                        (
                          SELECT MAX(o.`id`)
                            FROM `email_statuses` AS o
                            WHERE o.`email_id` = t.`id`
                            AND o.`status` NOT IN ('CALLING-FAILED-CALLBACK', 'FAILED')
                        ),
                          0
                      )
                    ORDER BY h.`id`
                    LIMIT 1
                ),
                UTC_TIMESTAMP(6)
            )
          )
            / 1000
        ) AS SIGNED
      )
  ),
  CAST(FLOOR(UNIX_TIMESTAMP(UTC_TIMESTAMP(3)) * 1000) AS SIGNED)
FROM `emails` AS t
WHERE t.`id` IN ({ids});

-- failed_callback: settle delivered, uniform, step 1: [Ids, One(Fence(0))] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `emails` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'CALLING-FAILED-CALLBACK'
  AND t.`version` <=> CAST(? AS SIGNED)
FOR UPDATE;

-- failed_callback: settle delivered, uniform, step 2: [One(Outcome("eml_path")), Held] -> Nothing
UPDATE `emails` AS t SET
  t.`eml_file_path` = COALESCE(LEFT(?, 500), t.`eml_file_path`),
  t.`status` = 'FAILED-ACKNOWLEDGED',
  t.`claimed_by` = NULL,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- failed_callback: settle delivered, uniform, step 3: [One(Reason), Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'FAILED-ACKNOWLEDGED',
  ?,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
WHERE t.`id` IN ({held});

-- failed_callback: settle delivered, each, step 1: [Rows([Id, Fence(0)])] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM (
  SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (`id` VARCHAR(255) PATH '$.id', `f0` BIGINT PATH '$.f0')) AS j
) AS v STRAIGHT_JOIN `emails` AS t
WHERE t.`id` = v.`id`
  AND t.`status` = 'CALLING-FAILED-CALLBACK'
  AND t.`version` <=> v.`f0`
FOR UPDATE;

-- failed_callback: settle delivered, each, step 2: [Rows([Outcome("eml_path"), Id]), Held] -> Nothing
UPDATE `emails` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?, '$[*]' COLUMNS (`o_eml_path` LONGTEXT PATH '$.o_eml_path', `id` VARCHAR(255) PATH '$.id')
      ) AS j
  ) AS v
  ON t.`id` = v.`id` SET
  t.`eml_file_path` = COALESCE(LEFT(v.`o_eml_path`, 500), t.`eml_file_path`),
  t.`status` = 'FAILED-ACKNOWLEDGED',
  t.`claimed_by` = NULL,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- failed_callback: settle delivered, each, step 3: [Rows([Reason, Id]), Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'FAILED-ACKNOWLEDGED',
  v.`reason`,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?, '$[*]' COLUMNS (`reason` LONGTEXT PATH '$.reason', `id` VARCHAR(255) PATH '$.id')
      ) AS j
  ) AS v
  ON t.`id` = v.`id`
WHERE t.`id` IN ({held});

-- failed_callback: settle retry, uniform, step 1: [Ids, One(Fence(0))] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `emails` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'CALLING-FAILED-CALLBACK'
  AND t.`version` <=> CAST(? AS SIGNED)
FOR UPDATE;

-- failed_callback: settle retry, uniform, step 2: [One(Delay), Held] -> Nothing
UPDATE `emails` AS t SET
  t.`status` = 'FAILED',
  t.`claimed_by` = NULL,
  t.`next_attempt_at` = UTC_TIMESTAMP(6) + INTERVAL ROUND(? * 1000000) MICROSECOND,
  t.`attempts` = COALESCE(t.`attempts`, 0) + 1,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- failed_callback: settle retry, uniform, step 3: [One(Reason), Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'FAILED',
  ?,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
WHERE t.`id` IN ({held});

-- failed_callback: settle retry, each, step 1: [Rows([Id, Fence(0)])] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM (
  SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (`id` VARCHAR(255) PATH '$.id', `f0` BIGINT PATH '$.f0')) AS j
) AS v STRAIGHT_JOIN `emails` AS t
WHERE t.`id` = v.`id`
  AND t.`status` = 'CALLING-FAILED-CALLBACK'
  AND t.`version` <=> v.`f0`
FOR UPDATE;

-- failed_callback: settle retry, each, step 2: [Rows([Delay, Id]), Held] -> Nothing
UPDATE `emails` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(?, '$[*]' COLUMNS (`delay` DOUBLE PATH '$.delay', `id` VARCHAR(255) PATH '$.id')) AS j
  ) AS v
  ON t.`id` = v.`id` SET
  t.`status` = 'FAILED',
  t.`claimed_by` = NULL,
  t.`next_attempt_at` = UTC_TIMESTAMP(6) + INTERVAL ROUND(v.`delay` * 1000000) MICROSECOND,
  t.`attempts` = COALESCE(t.`attempts`, 0) + 1,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- failed_callback: settle retry, each, step 3: [Rows([Reason, Id]), Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'FAILED',
  v.`reason`,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?, '$[*]' COLUMNS (`reason` LONGTEXT PATH '$.reason', `id` VARCHAR(255) PATH '$.id')
      ) AS j
  ) AS v
  ON t.`id` = v.`id`
WHERE t.`id` IN ({held});

-- failed_callback: settle dead, uniform, step 1: [Ids, One(Fence(0))] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `emails` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'CALLING-FAILED-CALLBACK'
  AND t.`version` <=> CAST(? AS SIGNED)
FOR UPDATE;

-- failed_callback: settle dead, uniform, step 2: [Held] -> Nothing
UPDATE `emails` AS t SET
  t.`status` = 'FAILED',
  t.`next_attempt_at` = '9999-12-31 00:00:00',
  t.`claimed_by` = NULL,
  t.`attempts` = COALESCE(t.`attempts`, 0) + 1,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- failed_callback: settle dead, uniform, step 3: [One(Reason), Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'FAILED',
  ?,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
WHERE t.`id` IN ({held});

-- failed_callback: settle dead, each, step 1: [Rows([Id, Fence(0)])] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM (
  SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (`id` VARCHAR(255) PATH '$.id', `f0` BIGINT PATH '$.f0')) AS j
) AS v STRAIGHT_JOIN `emails` AS t
WHERE t.`id` = v.`id`
  AND t.`status` = 'CALLING-FAILED-CALLBACK'
  AND t.`version` <=> v.`f0`
FOR UPDATE;

-- failed_callback: settle dead, each, step 2: [Held] -> Nothing
UPDATE `emails` AS t SET
  t.`status` = 'FAILED',
  t.`next_attempt_at` = '9999-12-31 00:00:00',
  t.`claimed_by` = NULL,
  t.`attempts` = COALESCE(t.`attempts`, 0) + 1,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- failed_callback: settle dead, each, step 3: [Rows([Reason, Id]), Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'FAILED',
  v.`reason`,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?, '$[*]' COLUMNS (`reason` LONGTEXT PATH '$.reason', `id` VARCHAR(255) PATH '$.id')
      ) AS j
  ) AS v
  ON t.`id` = v.`id`
WHERE t.`id` IN ({held});

-- failed_callback: settle rejected, uniform, step 1: [Ids, One(Fence(0))] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `emails` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'CALLING-FAILED-CALLBACK'
  AND t.`version` <=> CAST(? AS SIGNED)
FOR UPDATE;

-- failed_callback: settle rejected, uniform, step 2: [Held] -> Nothing
UPDATE `emails` AS t SET
  t.`status` = 'FAILED',
  t.`next_attempt_at` = '9999-12-31 00:00:00',
  t.`claimed_by` = NULL,
  t.`attempts` = COALESCE(t.`attempts`, 0) + 1,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- failed_callback: settle rejected, uniform, step 3: [One(Reason), Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'FAILED',
  ?,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
WHERE t.`id` IN ({held});

-- failed_callback: settle rejected, each, step 1: [Rows([Id, Fence(0)])] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM (
  SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (`id` VARCHAR(255) PATH '$.id', `f0` BIGINT PATH '$.f0')) AS j
) AS v STRAIGHT_JOIN `emails` AS t
WHERE t.`id` = v.`id`
  AND t.`status` = 'CALLING-FAILED-CALLBACK'
  AND t.`version` <=> v.`f0`
FOR UPDATE;

-- failed_callback: settle rejected, each, step 2: [Held] -> Nothing
UPDATE `emails` AS t SET
  t.`status` = 'FAILED',
  t.`next_attempt_at` = '9999-12-31 00:00:00',
  t.`claimed_by` = NULL,
  t.`attempts` = COALESCE(t.`attempts`, 0) + 1,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- failed_callback: settle rejected, each, step 3: [Rows([Reason, Id]), Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'FAILED',
  v.`reason`,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?, '$[*]' COLUMNS (`reason` LONGTEXT PATH '$.reason', `id` VARCHAR(255) PATH '$.id')
      ) AS j
  ) AS v
  ON t.`id` = v.`id`
WHERE t.`id` IN ({held});

-- failed_callback: settle skipped, uniform, step 1: [Ids, One(Fence(0))] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `emails` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'CALLING-FAILED-CALLBACK'
  AND t.`version` <=> CAST(? AS SIGNED)
FOR UPDATE;

-- failed_callback: settle skipped, uniform, step 2: [Held] -> Nothing
UPDATE `emails` AS t SET
  t.`status` = 'FAILED',
  t.`next_attempt_at` = '9999-12-31 00:00:00',
  t.`claimed_by` = NULL,
  t.`attempts` = COALESCE(t.`attempts`, 0) + 1,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- failed_callback: settle skipped, uniform, step 3: [One(Reason), Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'FAILED',
  ?,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
WHERE t.`id` IN ({held});

-- failed_callback: settle skipped, each, step 1: [Rows([Id, Fence(0)])] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM (
  SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (`id` VARCHAR(255) PATH '$.id', `f0` BIGINT PATH '$.f0')) AS j
) AS v STRAIGHT_JOIN `emails` AS t
WHERE t.`id` = v.`id`
  AND t.`status` = 'CALLING-FAILED-CALLBACK'
  AND t.`version` <=> v.`f0`
FOR UPDATE;

-- failed_callback: settle skipped, each, step 2: [Held] -> Nothing
UPDATE `emails` AS t SET
  t.`status` = 'FAILED',
  t.`next_attempt_at` = '9999-12-31 00:00:00',
  t.`claimed_by` = NULL,
  t.`attempts` = COALESCE(t.`attempts`, 0) + 1,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- failed_callback: settle skipped, each, step 3: [Rows([Reason, Id]), Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'FAILED',
  v.`reason`,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?, '$[*]' COLUMNS (`reason` LONGTEXT PATH '$.reason', `id` VARCHAR(255) PATH '$.id')
      ) AS j
  ) AS v
  ON t.`id` = v.`id`
WHERE t.`id` IN ({held});

-- failed_callback: settle deferred, uniform, step 1: [Ids, One(Fence(0))] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `emails` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'CALLING-FAILED-CALLBACK'
  AND t.`version` <=> CAST(? AS SIGNED)
FOR UPDATE;

-- failed_callback: settle deferred, uniform, step 2: [One(Delay), Held] -> Nothing
UPDATE `emails` AS t SET
  t.`status` = 'FAILED',
  t.`claimed_by` = NULL,
  t.`next_attempt_at` = UTC_TIMESTAMP(6) + INTERVAL ROUND(? * 1000000) MICROSECOND,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- failed_callback: settle deferred, uniform, step 3: [One(Reason), Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'FAILED',
  ?,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
WHERE t.`id` IN ({held});

-- failed_callback: settle deferred, each, step 1: [Rows([Id, Fence(0)])] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM (
  SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (`id` VARCHAR(255) PATH '$.id', `f0` BIGINT PATH '$.f0')) AS j
) AS v STRAIGHT_JOIN `emails` AS t
WHERE t.`id` = v.`id`
  AND t.`status` = 'CALLING-FAILED-CALLBACK'
  AND t.`version` <=> v.`f0`
FOR UPDATE;

-- failed_callback: settle deferred, each, step 2: [Rows([Delay, Id]), Held] -> Nothing
UPDATE `emails` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(?, '$[*]' COLUMNS (`delay` DOUBLE PATH '$.delay', `id` VARCHAR(255) PATH '$.id')) AS j
  ) AS v
  ON t.`id` = v.`id` SET
  t.`status` = 'FAILED',
  t.`claimed_by` = NULL,
  t.`next_attempt_at` = UTC_TIMESTAMP(6) + INTERVAL ROUND(v.`delay` * 1000000) MICROSECOND,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- failed_callback: settle deferred, each, step 3: [Rows([Reason, Id]), Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'FAILED',
  v.`reason`,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?, '$[*]' COLUMNS (`reason` LONGTEXT PATH '$.reason', `id` VARCHAR(255) PATH '$.id')
      ) AS j
  ) AS v
  ON t.`id` = v.`id`
WHERE t.`id` IN ({held});

-- failed_callback: settle released, uniform, step 1: [Ids, One(Fence(0))] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `emails` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'CALLING-FAILED-CALLBACK'
  AND t.`version` <=> CAST(? AS SIGNED)
FOR UPDATE;

-- failed_callback: settle released, uniform, step 2: [Held] -> Nothing
UPDATE `emails` AS t SET
  t.`status` = 'FAILED',
  t.`claimed_by` = NULL,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- failed_callback: settle released, uniform, step 3: [One(Reason), Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'FAILED',
  ?,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
WHERE t.`id` IN ({held});

-- failed_callback: settle released, each, step 1: [Rows([Id, Fence(0)])] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM (
  SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (`id` VARCHAR(255) PATH '$.id', `f0` BIGINT PATH '$.f0')) AS j
) AS v STRAIGHT_JOIN `emails` AS t
WHERE t.`id` = v.`id`
  AND t.`status` = 'CALLING-FAILED-CALLBACK'
  AND t.`version` <=> v.`f0`
FOR UPDATE;

-- failed_callback: settle released, each, step 2: [Held] -> Nothing
UPDATE `emails` AS t SET
  t.`status` = 'FAILED',
  t.`claimed_by` = NULL,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- failed_callback: settle released, each, step 3: [Rows([Reason, Id]), Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'FAILED',
  v.`reason`,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?, '$[*]' COLUMNS (`reason` LONGTEXT PATH '$.reason', `id` VARCHAR(255) PATH '$.id')
      ) AS j
  ) AS v
  ON t.`id` = v.`id`
WHERE t.`id` IN ({held});

-- failed_callback: extend, step 1: [Rows([Id, Fence(0)])] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM (
  SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (`id` VARCHAR(255) PATH '$.id', `f0` BIGINT PATH '$.f0')) AS j
) AS v STRAIGHT_JOIN `emails` AS t
WHERE t.`id` = v.`id`
  AND t.`status` = 'CALLING-FAILED-CALLBACK'
  AND t.`version` <=> v.`f0`
FOR UPDATE;

-- failed_callback: extend, step 2: [Held] -> Nothing
UPDATE `emails` AS t SET
  t.`updated_at` = CAST(
    CASE
      WHEN t.`updated_at`
        BETWEEN UTC_TIMESTAMP(6) - INTERVAL 1 SECOND
        AND UTC_TIMESTAMP(6) + INTERVAL 60 SECOND
        THEN t.`updated_at` + INTERVAL 1 SECOND
      ELSE UTC_TIMESTAMP(6)
      END AS DATETIME(0)
  ),
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END
WHERE t.`id` IN ({held});

-- failed_callback: extend, step 3: [Held] -> Leases
SELECT
  CAST(t.`id` AS CHAR),
  CAST(t.`version` AS CHAR)
FROM `emails` AS t
WHERE t.`id` IN ({held});

-- failed_callback: leases after a lost extension: [Ids, Owner] -> Leases
SELECT
  CAST(t.`id` AS CHAR),
  CAST(t.`version` AS CHAR)
FROM `emails` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'CALLING-FAILED-CALLBACK'
  AND t.`claimed_by` = ?;

-- failed_callback: leases that still hold: [Rows([Id, Fence(0)])] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM (
  SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (`id` VARCHAR(255) PATH '$.id', `f0` BIGINT PATH '$.f0')) AS j
) AS v STRAIGHT_JOIN `emails` AS t
WHERE t.`id` = v.`id`
  AND t.`status` = 'CALLING-FAILED-CALLBACK'
  AND t.`version` <=> v.`f0`
  AND (t.`updated_at` < UTC_TIMESTAMP(6) - INTERVAL 600 SECOND) IS NOT TRUE;

-- failed_callback: look for rows of a lost claim: [Owner] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `emails` AS t
WHERE t.`status` = 'CALLING-FAILED-CALLBACK'
  AND t.`claimed_by` = ?;

-- failed_callback: release rows of a lost claim, step 1: [Ids, Owner] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `emails` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'CALLING-FAILED-CALLBACK'
  AND t.`claimed_by` = ?
FOR UPDATE;

-- failed_callback: release rows of a lost claim, step 2: [Held] -> Nothing
UPDATE `emails` AS t SET
  t.`status` = 'FAILED',
  t.`claimed_by` = NULL,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- failed_callback: release rows of a lost claim, step 3: [Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'FAILED',
  NULL,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
WHERE t.`id` IN ({held});

-- failed_callback: look for expired leases: [Limit] -> Other
SELECT
  CAST(t.`id` AS CHAR),
  CAST(t.`version` AS CHAR),
  CASE WHEN COALESCE(t.`attempts`, 0) + 1 >= 5 THEN 1 ELSE 0 END,
  5
FROM `emails` AS t
WHERE t.`status` = 'CALLING-FAILED-CALLBACK'
  AND t.`updated_at` < UTC_TIMESTAMP(6) - INTERVAL 600 SECOND
LIMIT ?;

-- failed_callback: reclaim, free, step 1: [Ids] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `emails` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'CALLING-FAILED-CALLBACK'
  AND t.`updated_at` < UTC_TIMESTAMP(6) - INTERVAL 600 SECOND
FOR UPDATE;

-- failed_callback: reclaim, free, step 2: [Held] -> Nothing
UPDATE `emails` AS t SET
  t.`status` = 'FAILED',
  t.`claimed_by` = NULL,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- failed_callback: reclaim, free, step 3: [Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'FAILED',
  NULL,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
WHERE t.`id` IN ({held});

-- failed_callback: reclaim, spared, step 1: [Ids] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `emails` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'CALLING-FAILED-CALLBACK'
  AND t.`updated_at` < UTC_TIMESTAMP(6) - INTERVAL 600 SECOND
FOR UPDATE;

-- failed_callback: reclaim, spared, step 2: [Held] -> Nothing
UPDATE `emails` AS t SET
  t.`status` = 'FAILED',
  t.`claimed_by` = NULL,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- failed_callback: reclaim, spared, step 3: [Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'FAILED',
  NULL,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
WHERE t.`id` IN ({held});

-- failed_callback: reclaim, spared, step 4: [Held] -> Nothing
INSERT INTO postrider_crashes (place, row_id, crashes, crashed_at)
SELECT
  'emails/failed_callback',
  CAST(CAST(t.`id` AS CHAR) AS CHAR),
  1,
  UTC_TIMESTAMP(6)
FROM `emails` AS t WHERE t.`id` IN ({held})
ON DUPLICATE KEY UPDATE crashes = postrider_crashes.crashes + 1, crashed_at = VALUES(crashed_at);

-- failed_callback: reclaim, charged, step 1: [Ids] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `emails` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'CALLING-FAILED-CALLBACK'
  AND t.`updated_at` < UTC_TIMESTAMP(6) - INTERVAL 600 SECOND
FOR UPDATE;

-- failed_callback: reclaim, charged, step 2: [Held] -> Nothing
UPDATE `emails` AS t SET
  t.`status` = 'FAILED',
  t.`claimed_by` = NULL,
  t.`next_attempt_at` = UTC_TIMESTAMP(6),
  t.`attempts` = COALESCE(t.`attempts`, 0) + 1,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- failed_callback: reclaim, charged, step 3: [Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'FAILED',
  'lease expired: the worker that held it is gone',
  UTC_TIMESTAMP(6)
FROM `emails` AS t
WHERE t.`id` IN ({held});

-- failed_callback: reclaim, charged, step 4: [Held] -> Nothing
INSERT INTO postrider_crashes (place, row_id, crashes, crashed_at)
SELECT
  'emails/failed_callback',
  CAST(CAST(t.`id` AS CHAR) AS CHAR),
  1,
  UTC_TIMESTAMP(6)
FROM `emails` AS t WHERE t.`id` IN ({held})
ON DUPLICATE KEY UPDATE crashes = postrider_crashes.crashes + 1, crashed_at = VALUES(crashed_at);

-- failed_callback: reclaim, dead, step 1: [Ids] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `emails` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'CALLING-FAILED-CALLBACK'
  AND t.`updated_at` < UTC_TIMESTAMP(6) - INTERVAL 600 SECOND
FOR UPDATE;

-- failed_callback: reclaim, dead, step 2: [Held] -> Nothing
UPDATE `emails` AS t SET
  t.`status` = 'FAILED',
  t.`next_attempt_at` = '9999-12-31 00:00:00',
  t.`claimed_by` = NULL,
  t.`attempts` = COALESCE(t.`attempts`, 0) + 1,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- failed_callback: reclaim, dead, step 3: [Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'FAILED',
  'poison row: its workers crashed repeatedly, also when it was delivered alone',
  UTC_TIMESTAMP(6)
FROM `emails` AS t
WHERE t.`id` IN ({held});

-- failed_callback: reclaim, dead, step 4: [Held] -> Nothing
DELETE
  FROM postrider_crashes
  WHERE place = 'emails/failed_callback'
  AND row_id IN (SELECT CAST(CAST(t.`id` AS CHAR) AS CHAR) FROM `emails` AS t WHERE t.`id` IN ({held}));

-- failed_callback: spent, step 1: [Limit] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM (
  SELECT
    t.`id`,
    t.`attempts`
  FROM `emails` AS t
    WHERE t.`status` = 'FAILED'
    AND (t.`next_attempt_at` IS NULL OR t.`next_attempt_at` < '9999-12-31 00:00:00')
    ORDER BY t.`updated_at`,
    t.`id` LIMIT 10000
) AS t
WHERE COALESCE(t.`attempts`, 0) >= 5
LIMIT ?;

-- failed_callback: spent, step 2: [Held] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `emails` AS t
WHERE t.`id` IN ({held})
  AND t.`status` = 'FAILED' AND (t.`next_attempt_at` IS NULL OR t.`next_attempt_at` < '9999-12-31 00:00:00')
  AND COALESCE(t.`attempts`, 0) >= 5
FOR UPDATE SKIP LOCKED;

-- failed_callback: spent, step 3: [Held] -> Nothing
UPDATE `emails` AS t SET
  t.`status` = 'FAILED',
  t.`next_attempt_at` = '9999-12-31 00:00:00',
  t.`claimed_by` = NULL,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- failed_callback: spent, step 4: [Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'FAILED',
  'no attempts left',
  UTC_TIMESTAMP(6)
FROM `emails` AS t
WHERE t.`id` IN ({held});

-- failed_callback: next due: [] -> Other
SELECT CAST(
  COALESCE(0 - (TIMESTAMPDIFF(MICROSECOND, t.`next_attempt_at`, UTC_TIMESTAMP(6))), 0) AS SIGNED
) AS w
FROM `emails` AS t
WHERE t.`status` = 'FAILED' AND (t.`next_attempt_at` IS NULL OR t.`next_attempt_at` < '9999-12-31 00:00:00')
  AND COALESCE(t.`attempts`, 0) < 5
ORDER BY t.`next_attempt_at`
LIMIT 1;

-- failed_callback: lag: [] -> Other
SELECT (
  SELECT CAST(
    COALESCE(
      TIMESTAMPDIFF(MICROSECOND, t.`next_attempt_at`, UTC_TIMESTAMP(6)),
        TIMESTAMPDIFF(MICROSECOND, t.`created_at`, UTC_TIMESTAMP(6))
    ) AS DOUBLE
  )
    / 1000000
    FROM `emails` AS t
    WHERE t.`status` = 'FAILED'
    AND (t.`next_attempt_at` IS NULL OR t.`next_attempt_at` < '9999-12-31 00:00:00')
    AND (t.`next_attempt_at` IS NULL OR t.`next_attempt_at` <= UTC_TIMESTAMP(6))
    AND COALESCE(t.`attempts`, 0) < 5
    ORDER BY t.`updated_at`
    LIMIT 1
),
  (
    SELECT CAST(TIMESTAMPDIFF(MICROSECOND, t.`updated_at`, UTC_TIMESTAMP(6)) AS DOUBLE) / 1000000
      FROM `emails` AS t
      WHERE t.`status` = 'CALLING-FAILED-CALLBACK'
      ORDER BY t.`updated_at`
      LIMIT 1
  );

-- failed_callback: census SENT: as above

-- failed_callback: census SENT_SILENT: as above

-- failed_callback: census FAILED: as above

-- failed_callback: census FAILED_SILENT: as above

-- failed_callback: census ACCEPTED: as above

-- failed_callback: census INTAKING: as above

-- failed_callback: census READY: as above

-- failed_callback: census INVALID: as above

-- failed_callback: census PROCESSING: as above

-- failed_callback: census CALLING-SENT-CALLBACK: as above

-- failed_callback: census SENT-ACKNOWLEDGED: as above

-- failed_callback: census CALLING-FAILED-CALLBACK: as above

-- failed_callback: census FAILED-ACKNOWLEDGED: as above

-- failed_callback: requeue ids INVALID: as above

-- failed_callback: requeue ids SENT_SILENT: as above

-- failed_callback: requeue ids FAILED_SILENT: as above

-- failed_callback: requeue state INVALID: as above

-- failed_callback: requeue state SENT_SILENT: as above

-- failed_callback: requeue state FAILED_SILENT: as above

-- failed_callback: release ids CALLING-FAILED-CALLBACK, step 1: [Ids] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `emails` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'CALLING-FAILED-CALLBACK'
FOR UPDATE;

-- failed_callback: release ids CALLING-FAILED-CALLBACK, step 2: [Held] -> Nothing
UPDATE `emails` AS t SET
  t.`status` = 'FAILED',
  t.`claimed_by` = NULL,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- failed_callback: release ids CALLING-FAILED-CALLBACK, step 3: [Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'FAILED',
  NULL,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
WHERE t.`id` IN ({held});

-- failed_callback: release state CALLING-FAILED-CALLBACK, step 1: [Since, Since, Since, Since, Limit] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `emails` AS t
WHERE t.`status` = 'CALLING-FAILED-CALLBACK'
  AND (
    ? IS NULL
      OR t.`updated_at` >= UTC_TIMESTAMP(6) + INTERVAL ROUND((0 - ?) * 1000000) MICROSECOND
      OR t.`updated_at` IS NULL
      AND t.`updated_at` >= UTC_TIMESTAMP(6) + INTERVAL ROUND((0 - ?) * 1000000) MICROSECOND
      OR t.`updated_at` IS NULL
      AND t.`updated_at` IS NULL
      AND t.`created_at` >= UTC_TIMESTAMP(6) + INTERVAL ROUND((0 - ?) * 1000000) MICROSECOND
  )
LIMIT ?;

-- failed_callback: release state CALLING-FAILED-CALLBACK, step 2: [Held] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `emails` AS t
WHERE t.`id` IN ({held})
  AND t.`status` = 'CALLING-FAILED-CALLBACK'
FOR UPDATE SKIP LOCKED;

-- failed_callback: release state CALLING-FAILED-CALLBACK, step 3: [Held] -> Nothing
UPDATE `emails` AS t SET
  t.`status` = 'FAILED',
  t.`claimed_by` = NULL,
  t.`version` = CASE WHEN t.`version` < 2147483647 THEN t.`version` + 1 ELSE 1 END,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- failed_callback: release state CALLING-FAILED-CALLBACK, step 4: [Held] -> Nothing
INSERT INTO `email_statuses` (`email_id`, `status`, `reason`, `created_at`)
SELECT
  t.`id`,
  'FAILED',
  NULL,
  UTC_TIMESTAMP(6)
FROM `emails` AS t
WHERE t.`id` IN ({held});
