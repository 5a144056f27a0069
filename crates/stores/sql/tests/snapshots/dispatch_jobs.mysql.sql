-- dispatch_jobs: every statement. Written by the snapshot test; do not edit.

-- create
CREATE TABLE IF NOT EXISTS `dispatch_jobs` (
    id VARCHAR(13) NOT NULL PRIMARY KEY,
    external_id VARCHAR(255),
    `source` VARCHAR(255),
    kind VARCHAR(16) NOT NULL DEFAULT 'TASK',
    `code` VARCHAR(255) NOT NULL,
    subject VARCHAR(255),
    event_id VARCHAR(64),
    correlation_id VARCHAR(255),
    traceparent VARCHAR(255),
    target_url VARCHAR(2000) NOT NULL,
    protocol VARCHAR(32) NOT NULL DEFAULT 'HTTP_WEBHOOK',
    headers LONGTEXT,
    payload LONGTEXT,
    payload_content_type VARCHAR(255) NOT NULL DEFAULT 'application/json',
    data_only BOOLEAN NOT NULL DEFAULT true,
    service_account_id VARCHAR(13),
    client_id VARCHAR(64),
    subscription_id VARCHAR(13),
    `mode` VARCHAR(32) NOT NULL DEFAULT 'IMMEDIATE',
    dispatch_pool_id VARCHAR(64),
    message_group VARCHAR(255),
    `sequence` INT NOT NULL DEFAULT 99,
    timeout_seconds INT NOT NULL DEFAULT 30,
    schema_id VARCHAR(255),
    `status` VARCHAR(16) NOT NULL DEFAULT 'QUEUED',
    max_retries INT,
    retry_budget INT,
    retry_strategy VARCHAR(255),
    scheduled_for DATETIME(6),
    expires_at DATETIME(6),
    next_attempt_at DATETIME(6),
    queued_at DATETIME(6),
    attempt_count INT NOT NULL DEFAULT 0,
    last_attempt_at DATETIME(6),
    completed_at DATETIME(6),
    duration_millis BIGINT,
    last_error LONGTEXT,
    idempotency_key VARCHAR(255),
    request_hash VARCHAR(64),
    created_by VARCHAR(13),
    created_at DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
    updated_at DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
    client_key VARCHAR(64) GENERATED ALWAYS AS (COALESCE(client_id, '')) VIRTUAL,
    claimed_by VARCHAR(64),
    lease_until DATETIME(6),
    group_key VARCHAR(350)
      GENERATED ALWAYS AS (
        CASE WHEN message_group IS NOT NULL THEN CONCAT(COALESCE(client_id, ''), ':', message_group) END
      ) STORED
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- create
CREATE UNIQUE INDEX dispatch_jobs_idempotency ON `dispatch_jobs` (client_key, idempotency_key);

-- create
CREATE TABLE IF NOT EXISTS dispatch_attempts (
    id VARCHAR(13) NOT NULL PRIMARY KEY,
    job_id VARCHAR(13) NOT NULL,
    attempt_number INT NOT NULL,
    attempted_at DATETIME(6),
    completed_at DATETIME(6),
    duration_millis BIGINT,
    `status` VARCHAR(32),
    response_code INT,
    response_body LONGTEXT,
    error_message LONGTEXT,
    error_stack_trace LONGTEXT,
    error_type VARCHAR(16),
    created_at DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
    FOREIGN KEY (job_id) REFERENCES `dispatch_jobs` (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- create
CREATE INDEX dispatch_attempts_job ON dispatch_attempts (job_id, attempt_number);

-- create
CREATE TABLE IF NOT EXISTS dispatch_job_metadata (
    id VARCHAR(13) NOT NULL PRIMARY KEY,
    job_id VARCHAR(13) NOT NULL,
    `key` VARCHAR(128) NOT NULL,
    `value` VARCHAR(255) NOT NULL,
    FOREIGN KEY (job_id) REFERENCES `dispatch_jobs` (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- create
CREATE INDEX dispatch_job_metadata_search ON dispatch_job_metadata (`key`, `value`, job_id);

-- create
CREATE INDEX dispatch_job_metadata_job ON dispatch_job_metadata (job_id);

-- create
ALTER TABLE `dispatch_jobs` ADD COLUMN `live_group_mode` VARCHAR(350)
  GENERATED ALWAYS AS (
    CASE
      WHEN (
        (
          (`status` = 'QUEUED')
            OR (`status` = 'ERROR' AND `next_attempt_at` IS NOT NULL)
            OR (`status` = 'IN_PROGRESS')
        )
          OR (
            (`status` = 'ERROR' AND `next_attempt_at` IS NULL)
              AND `mode` NOT IN ('IMMEDIATE', 'NEXT_ON_ERROR')
          )
      )
      AND `group_key` IS NOT NULL
      AND `mode` NOT IN ('IMMEDIATE') THEN `group_key`
      END
  ) VIRTUAL;

-- create
ALTER TABLE `dispatch_jobs` ADD COLUMN `keeps_order_mode` TINYINT
  GENERATED ALWAYS AS (
    CASE
      WHEN (
        (
          (`status` = 'QUEUED')
            OR (`status` = 'ERROR' AND `next_attempt_at` IS NOT NULL)
            OR (`status` = 'IN_PROGRESS')
        )
          OR (
            (`status` = 'ERROR' AND `next_attempt_at` IS NULL)
              AND `mode` NOT IN ('IMMEDIATE', 'NEXT_ON_ERROR')
          )
      )
      AND `group_key` IS NOT NULL
      AND `mode` NOT IN ('IMMEDIATE') THEN 1
      WHEN ((`status` = 'QUEUED') OR (`status` = 'ERROR' AND `next_attempt_at` IS NOT NULL)) THEN 0
      END
  ) VIRTUAL;

-- create
ALTER TABLE `dispatch_jobs` ADD COLUMN `ready_share` VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
  GENERATED ALWAYS AS (
    CASE
      WHEN ((`status` = 'QUEUED') OR (`status` = 'ERROR' AND `next_attempt_at` IS NOT NULL))
        THEN LEFT(
          CONCAT(
            CASE WHEN `group_key` IS NOT NULL AND `mode` NOT IN ('IMMEDIATE') THEN 'o' ELSE 'f' END,
              COALESCE(`dispatch_pool_id`, ''),
              '	',
              COALESCE(`client_id`, '')
          ),
            255
        )
      END
  ) VIRTUAL;

-- create
CREATE INDEX `dispatch_jobs_deliver_ready_mode`
  ON `dispatch_jobs` (`status`, `keeps_order_mode`, `next_attempt_at`, `id`);

-- create
CREATE INDEX `dispatch_jobs_deliver_share` ON `dispatch_jobs` (`ready_share`, `next_attempt_at`, `id`);

-- create
CREATE INDEX `dispatch_jobs_deliver_order_mode`
  ON `dispatch_jobs` (`live_group_mode`, `sequence`, `created_at`, `id`);

-- create
CREATE INDEX `dispatch_jobs_deliver_in_flight_mode`
  ON `dispatch_jobs` (`status`, `live_group_mode`, `dispatch_pool_id`, `lease_until`);

-- create
CREATE INDEX `dispatch_jobs_sweep_scheduled_for` ON `dispatch_jobs` (`status`, `scheduled_for`);

-- create
CREATE INDEX `dispatch_jobs_sweep_expires_at` ON `dispatch_jobs` (`expires_at`);

-- deliver: layout Layout { integer_id: false, fences: 2, claim_time: Some(0), pool: 8, fields: ["account",
--   "client", "code", "content_type", "correlation", "data_only", "dedupe", "event", "headers", "payload",
--   "source", "subject", "subscription", "time", "timeout", "traceparent", "url"], joined: [] }

-- deliver: claim 1, step 1: [Limit] -> Rows
SELECT
  CAST(t.`id` AS CHAR),
  CAST(
    CAST(
      CASE
        WHEN t.`last_attempt_at`
          BETWEEN UTC_TIMESTAMP(6) - INTERVAL 1 MICROSECOND
          AND UTC_TIMESTAMP(6) + INTERVAL 60 SECOND
          THEN t.`last_attempt_at` + INTERVAL 1 MICROSECOND
        ELSE UTC_TIMESTAMP(6)
        END AS DATETIME(6)
    ) AS CHAR
  ),
  CAST(t.`attempt_count` AS CHAR),
  CAST(t.`attempt_count` AS SIGNED),
  CAST(t.`max_retries` AS SIGNED),
  CAST(t.`retry_strategy` AS CHAR),
  CASE WHEN t.`group_key` IS NOT NULL AND t.`mode` NOT IN ('IMMEDIATE') THEN CAST(t.`group_key` AS CHAR) END,
  CASE WHEN t.`mode` IN ('NEXT_ON_ERROR') THEN 'next' ELSE 'block' END,
  CAST(t.`dispatch_pool_id` AS CHAR),
  CAST(t.`client_id` AS CHAR),
  CAST(
    COALESCE(
      TIMESTAMPDIFF(MICROSECOND, t.`next_attempt_at`, UTC_TIMESTAMP(6)),
        TIMESTAMPDIFF(MICROSECOND, t.`created_at`, UTC_TIMESTAMP(6))
    ) AS SIGNED
  ),
  CAST(
    COALESCE(LENGTH(t.`service_account_id`), 0)
      + COALESCE(LENGTH(t.`client_id`), 0)
      + COALESCE(LENGTH(t.`code`), 0)
      + COALESCE(LENGTH(t.`payload_content_type`), 0)
      + COALESCE(LENGTH(t.`correlation_id`), 0)
      + COALESCE(LENGTH(t.`id`), 0)
      + COALESCE(LENGTH(t.`event_id`), 0)
      + COALESCE(LENGTH(t.`headers`), 0)
      + COALESCE(LENGTH(t.`payload`), 0)
      + COALESCE(LENGTH(t.`source`), 0)
      + COALESCE(LENGTH(t.`subject`), 0)
      + COALESCE(LENGTH(t.`subscription_id`), 0)
      + COALESCE(LENGTH(t.`traceparent`), 0)
      + COALESCE(LENGTH(t.`target_url`), 0) AS SIGNED
  ),
  CASE WHEN LENGTH(t.`service_account_id`) <= 65536 THEN t.`service_account_id` END,
  CASE WHEN LENGTH(t.`client_id`) <= 65536 THEN t.`client_id` END,
  CASE WHEN LENGTH(t.`code`) <= 65536 THEN t.`code` END,
  CASE WHEN LENGTH(t.`payload_content_type`) <= 65536 THEN t.`payload_content_type` END,
  CASE WHEN LENGTH(t.`correlation_id`) <= 65536 THEN t.`correlation_id` END,
  CASE WHEN t.`data_only` THEN 'true' WHEN NOT t.`data_only` THEN 'false' END,
  CASE WHEN LENGTH(t.`id`) <= 65536 THEN t.`id` END,
  CASE WHEN LENGTH(t.`event_id`) <= 65536 THEN t.`event_id` END,
  CASE WHEN LENGTH(t.`headers`) <= 65536 THEN t.`headers` END,
  CASE WHEN LENGTH(t.`payload`) <= 65536 THEN t.`payload` END,
  CASE WHEN LENGTH(t.`source`) <= 65536 THEN t.`source` END,
  CASE WHEN LENGTH(t.`subject`) <= 65536 THEN t.`subject` END,
  CASE WHEN LENGTH(t.`subscription_id`) <= 65536 THEN t.`subscription_id` END,
  CAST(t.`created_at` AS CHAR),
  CAST(t.`timeout_seconds` AS CHAR),
  CASE WHEN LENGTH(t.`traceparent`) <= 65536 THEN t.`traceparent` END,
  CASE WHEN LENGTH(t.`target_url`) <= 65536 THEN t.`target_url` END
FROM `dispatch_jobs` AS t
WHERE t.`status` = 'QUEUED'
  AND (t.`next_attempt_at` IS NULL OR t.`next_attempt_at` <= UTC_TIMESTAMP(6))
  AND t.`attempt_count` < GREATEST(COALESCE(t.`max_retries`, 3), 1)
  AND (t.`expires_at` IS NULL OR t.`expires_at` > UTC_TIMESTAMP(6))
  AND (t.`scheduled_for` IS NULL OR t.`scheduled_for` <= UTC_TIMESTAMP(6))
  AND t.`keeps_order_mode` = 0
ORDER BY t.`next_attempt_at`, t.`id`
LIMIT ?
FOR UPDATE SKIP LOCKED;

-- deliver: claim 1, step 2: [ClaimTime, Owner, Held] -> Nothing
UPDATE `dispatch_jobs` AS t SET
  t.`status` = 'IN_PROGRESS',
  t.`last_attempt_at` = ?,
  t.`lease_until` = CAST(
    CASE
      WHEN t.`lease_until`
        BETWEEN UTC_TIMESTAMP(6) + INTERVAL 60 SECOND - INTERVAL 1 MICROSECOND
        AND UTC_TIMESTAMP(6) + INTERVAL 60 SECOND + INTERVAL 60 SECOND
        THEN t.`lease_until` + INTERVAL 1 MICROSECOND
      ELSE UTC_TIMESTAMP(6) + INTERVAL 60 SECOND
      END AS DATETIME(6)
  ),
  t.`claimed_by` = LEFT(?, 64),
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- deliver: claim 2, step 1: [Limit] -> Rows
SELECT
  CAST(t.`id` AS CHAR),
  CAST(
    CAST(
      CASE
        WHEN t.`last_attempt_at`
          BETWEEN UTC_TIMESTAMP(6) - INTERVAL 1 MICROSECOND
          AND UTC_TIMESTAMP(6) + INTERVAL 60 SECOND
          THEN t.`last_attempt_at` + INTERVAL 1 MICROSECOND
        ELSE UTC_TIMESTAMP(6)
        END AS DATETIME(6)
    ) AS CHAR
  ),
  CAST(t.`attempt_count` AS CHAR),
  CAST(t.`attempt_count` AS SIGNED),
  CAST(t.`max_retries` AS SIGNED),
  CAST(t.`retry_strategy` AS CHAR),
  CASE WHEN t.`group_key` IS NOT NULL AND t.`mode` NOT IN ('IMMEDIATE') THEN CAST(t.`group_key` AS CHAR) END,
  CASE WHEN t.`mode` IN ('NEXT_ON_ERROR') THEN 'next' ELSE 'block' END,
  CAST(t.`dispatch_pool_id` AS CHAR),
  CAST(t.`client_id` AS CHAR),
  CAST(
    COALESCE(
      TIMESTAMPDIFF(MICROSECOND, t.`next_attempt_at`, UTC_TIMESTAMP(6)),
        TIMESTAMPDIFF(MICROSECOND, t.`created_at`, UTC_TIMESTAMP(6))
    ) AS SIGNED
  ),
  CAST(
    COALESCE(LENGTH(t.`service_account_id`), 0)
      + COALESCE(LENGTH(t.`client_id`), 0)
      + COALESCE(LENGTH(t.`code`), 0)
      + COALESCE(LENGTH(t.`payload_content_type`), 0)
      + COALESCE(LENGTH(t.`correlation_id`), 0)
      + COALESCE(LENGTH(t.`id`), 0)
      + COALESCE(LENGTH(t.`event_id`), 0)
      + COALESCE(LENGTH(t.`headers`), 0)
      + COALESCE(LENGTH(t.`payload`), 0)
      + COALESCE(LENGTH(t.`source`), 0)
      + COALESCE(LENGTH(t.`subject`), 0)
      + COALESCE(LENGTH(t.`subscription_id`), 0)
      + COALESCE(LENGTH(t.`traceparent`), 0)
      + COALESCE(LENGTH(t.`target_url`), 0) AS SIGNED
  ),
  CASE WHEN LENGTH(t.`service_account_id`) <= 65536 THEN t.`service_account_id` END,
  CASE WHEN LENGTH(t.`client_id`) <= 65536 THEN t.`client_id` END,
  CASE WHEN LENGTH(t.`code`) <= 65536 THEN t.`code` END,
  CASE WHEN LENGTH(t.`payload_content_type`) <= 65536 THEN t.`payload_content_type` END,
  CASE WHEN LENGTH(t.`correlation_id`) <= 65536 THEN t.`correlation_id` END,
  CASE WHEN t.`data_only` THEN 'true' WHEN NOT t.`data_only` THEN 'false' END,
  CASE WHEN LENGTH(t.`id`) <= 65536 THEN t.`id` END,
  CASE WHEN LENGTH(t.`event_id`) <= 65536 THEN t.`event_id` END,
  CASE WHEN LENGTH(t.`headers`) <= 65536 THEN t.`headers` END,
  CASE WHEN LENGTH(t.`payload`) <= 65536 THEN t.`payload` END,
  CASE WHEN LENGTH(t.`source`) <= 65536 THEN t.`source` END,
  CASE WHEN LENGTH(t.`subject`) <= 65536 THEN t.`subject` END,
  CASE WHEN LENGTH(t.`subscription_id`) <= 65536 THEN t.`subscription_id` END,
  CAST(t.`created_at` AS CHAR),
  CAST(t.`timeout_seconds` AS CHAR),
  CASE WHEN LENGTH(t.`traceparent`) <= 65536 THEN t.`traceparent` END,
  CASE WHEN LENGTH(t.`target_url`) <= 65536 THEN t.`target_url` END
FROM `dispatch_jobs` AS t
WHERE t.`status` = 'ERROR' AND t.`next_attempt_at` IS NOT NULL
  AND (t.`next_attempt_at` IS NULL OR t.`next_attempt_at` <= UTC_TIMESTAMP(6))
  AND t.`attempt_count` < GREATEST(COALESCE(t.`max_retries`, 3), 1)
  AND (t.`expires_at` IS NULL OR t.`expires_at` > UTC_TIMESTAMP(6))
  AND t.`keeps_order_mode` = 0
ORDER BY t.`next_attempt_at`, t.`id`
LIMIT ?
FOR UPDATE SKIP LOCKED;

-- deliver: claim 2, step 2: [ClaimTime, Owner, Held] -> Nothing
UPDATE `dispatch_jobs` AS t SET
  t.`status` = 'IN_PROGRESS',
  t.`last_attempt_at` = ?,
  t.`lease_until` = CAST(
    CASE
      WHEN t.`lease_until`
        BETWEEN UTC_TIMESTAMP(6) + INTERVAL 60 SECOND - INTERVAL 1 MICROSECOND
        AND UTC_TIMESTAMP(6) + INTERVAL 60 SECOND + INTERVAL 60 SECOND
        THEN t.`lease_until` + INTERVAL 1 MICROSECOND
      ELSE UTC_TIMESTAMP(6) + INTERVAL 60 SECOND
      END AS DATETIME(6)
  ),
  t.`claimed_by` = LEFT(?, 64),
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- deliver: shares: [Jumps] -> Other
SELECT t.`ready_share` FROM `dispatch_jobs` AS t WHERE t.`ready_share` IS NOT NULL
ORDER BY t.`ready_share` LIMIT ?;

-- deliver: shares from a cursor: [Cursor, Jumps] -> Other
SELECT t.`ready_share` FROM `dispatch_jobs` AS t WHERE t.`ready_share` IS NOT NULL AND t.`ready_share` > ?
ORDER BY t.`ready_share` LIMIT ?;

-- deliver: claim shares, step 1: [Share, Quota] -> Run
SELECT
  CAST(t.`id` AS CHAR),
  CAST(
    CAST(
      CASE
        WHEN t.`last_attempt_at`
          BETWEEN UTC_TIMESTAMP(6) - INTERVAL 1 MICROSECOND
          AND UTC_TIMESTAMP(6) + INTERVAL 60 SECOND
          THEN t.`last_attempt_at` + INTERVAL 1 MICROSECOND
        ELSE UTC_TIMESTAMP(6)
        END AS DATETIME(6)
    ) AS CHAR
  ),
  CAST(t.`attempt_count` AS CHAR),
  CAST(t.`attempt_count` AS SIGNED),
  CAST(t.`max_retries` AS SIGNED),
  CAST(t.`retry_strategy` AS CHAR),
  CASE WHEN t.`group_key` IS NOT NULL AND t.`mode` NOT IN ('IMMEDIATE') THEN CAST(t.`group_key` AS CHAR) END,
  CASE WHEN t.`mode` IN ('NEXT_ON_ERROR') THEN 'next' ELSE 'block' END,
  CAST(t.`dispatch_pool_id` AS CHAR),
  CAST(t.`client_id` AS CHAR),
  CAST(
    COALESCE(
      TIMESTAMPDIFF(MICROSECOND, t.`next_attempt_at`, UTC_TIMESTAMP(6)),
        TIMESTAMPDIFF(MICROSECOND, t.`created_at`, UTC_TIMESTAMP(6))
    ) AS SIGNED
  ),
  CAST(
    COALESCE(LENGTH(t.`service_account_id`), 0)
      + COALESCE(LENGTH(t.`client_id`), 0)
      + COALESCE(LENGTH(t.`code`), 0)
      + COALESCE(LENGTH(t.`payload_content_type`), 0)
      + COALESCE(LENGTH(t.`correlation_id`), 0)
      + COALESCE(LENGTH(t.`id`), 0)
      + COALESCE(LENGTH(t.`event_id`), 0)
      + COALESCE(LENGTH(t.`headers`), 0)
      + COALESCE(LENGTH(t.`payload`), 0)
      + COALESCE(LENGTH(t.`source`), 0)
      + COALESCE(LENGTH(t.`subject`), 0)
      + COALESCE(LENGTH(t.`subscription_id`), 0)
      + COALESCE(LENGTH(t.`traceparent`), 0)
      + COALESCE(LENGTH(t.`target_url`), 0) AS SIGNED
  ),
  CASE WHEN LENGTH(t.`service_account_id`) <= 65536 THEN t.`service_account_id` END,
  CASE WHEN LENGTH(t.`client_id`) <= 65536 THEN t.`client_id` END,
  CASE WHEN LENGTH(t.`code`) <= 65536 THEN t.`code` END,
  CASE WHEN LENGTH(t.`payload_content_type`) <= 65536 THEN t.`payload_content_type` END,
  CASE WHEN LENGTH(t.`correlation_id`) <= 65536 THEN t.`correlation_id` END,
  CASE WHEN t.`data_only` THEN 'true' WHEN NOT t.`data_only` THEN 'false' END,
  CASE WHEN LENGTH(t.`id`) <= 65536 THEN t.`id` END,
  CASE WHEN LENGTH(t.`event_id`) <= 65536 THEN t.`event_id` END,
  CASE WHEN LENGTH(t.`headers`) <= 65536 THEN t.`headers` END,
  CASE WHEN LENGTH(t.`payload`) <= 65536 THEN t.`payload` END,
  CASE WHEN LENGTH(t.`source`) <= 65536 THEN t.`source` END,
  CASE WHEN LENGTH(t.`subject`) <= 65536 THEN t.`subject` END,
  CASE WHEN LENGTH(t.`subscription_id`) <= 65536 THEN t.`subscription_id` END,
  CAST(t.`created_at` AS CHAR),
  CAST(t.`timeout_seconds` AS CHAR),
  CASE WHEN LENGTH(t.`traceparent`) <= 65536 THEN t.`traceparent` END,
  CASE WHEN LENGTH(t.`target_url`) <= 65536 THEN t.`target_url` END,
  1
FROM `dispatch_jobs` AS t
WHERE t.`ready_share` = ?
  AND (t.`next_attempt_at` IS NULL OR t.`next_attempt_at` <= UTC_TIMESTAMP(6))
  AND t.`attempt_count` < GREATEST(COALESCE(t.`max_retries`, 3), 1)
  AND (t.`expires_at` IS NULL OR t.`expires_at` > UTC_TIMESTAMP(6))
  AND (t.`scheduled_for` IS NULL OR t.`scheduled_for` <= UTC_TIMESTAMP(6))
ORDER BY t.`next_attempt_at`, t.`id`
LIMIT ?
FOR UPDATE SKIP LOCKED;

-- deliver: claim shares, step 2: [ClaimTime, Owner, Held] -> Nothing
UPDATE `dispatch_jobs` AS t SET
  t.`status` = 'IN_PROGRESS',
  t.`last_attempt_at` = ?,
  t.`lease_until` = CAST(
    CASE
      WHEN t.`lease_until`
        BETWEEN UTC_TIMESTAMP(6) + INTERVAL 60 SECOND - INTERVAL 1 MICROSECOND
        AND UTC_TIMESTAMP(6) + INTERVAL 60 SECOND + INTERVAL 60 SECOND
        THEN t.`lease_until` + INTERVAL 1 MICROSECOND
      ELSE UTC_TIMESTAMP(6) + INTERVAL 60 SECOND
      END AS DATETIME(6)
  ),
  t.`claimed_by` = LEFT(?, 64),
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- deliver: pools: [Pools] -> Other
SELECT
  CAST(p.`id` AS CHAR),
  CASE WHEN p.`concurrency` IS NOT NULL OR p.`rate_per_minute` IS NOT NULL OR p.`paused` THEN 1 ELSE 0 END,
  CAST(
    CASE
      WHEN p.`paused` THEN 0
      ELSE LEAST(
        1000000,
          CASE
            WHEN p.`concurrency` IS NULL THEN 1000000
            ELSE GREATEST(
              0,
                p.`concurrency`
                  - (
                    (
                      SELECT count(*)
                        FROM `dispatch_jobs` AS t
                        WHERE t.`status` = 'IN_PROGRESS'
                        AND t.`live_group_mode` IS NULL
                        AND t.`dispatch_pool_id` = p.`id`
                    )
                      + (
                        SELECT count(*)
                          FROM `dispatch_jobs` AS t
                          WHERE t.`status` = 'IN_PROGRESS'
                          AND t.`live_group_mode` IS NOT NULL
                          AND t.`dispatch_pool_id` = p.`id`
                      )
                  )
            )
            END,
          CASE
            WHEN p.`rate_per_minute` IS NULL THEN 1000000
            WHEN p.`rate_per_minute` <= 0 THEN 0
            ELSE GREATEST(
              0,
                CEIL(p.`rate_per_minute` / 60)
                  - CEIL(
                    (
                      GREATEST(
                        CASE
                          WHEN b.free_at
                            > (UNIX_TIMESTAMP(NOW(6)) + 0e0)
                              + (CEIL(p.`rate_per_minute` / 60) + 1)
                                * (
                                  6e1
                                    / (
                                      CASE
                                        WHEN p.`rate_per_minute`
                                          > 60
                                          THEN p.`rate_per_minute` - CEIL(p.`rate_per_minute` / 60)
                                        ELSE p.`rate_per_minute`
                                        END
                                    )
                                )
                            THEN 0
                          ELSE COALESCE(b.free_at, 0)
                          END,
                          (UNIX_TIMESTAMP(NOW(6)) + 0e0)
                      )
                        - (UNIX_TIMESTAMP(NOW(6)) + 0e0)
                    )
                      / (
                        6e1
                          / (
                            CASE
                              WHEN p.`rate_per_minute`
                                > 60
                                THEN p.`rate_per_minute` - CEIL(p.`rate_per_minute` / 60)
                              ELSE p.`rate_per_minute`
                              END
                          )
                      )
                  )
            )
            END
      )
      END AS SIGNED
  ),
  CAST(
    CASE
      WHEN p.`rate_per_minute`
        > 0
        THEN GREATEST(
          0,
            (
              CASE
                WHEN b.free_at
                  > (UNIX_TIMESTAMP(NOW(6)) + 0e0)
                    + (CEIL(p.`rate_per_minute` / 60) + 1)
                      * (
                        6e1
                          / (
                            CASE
                              WHEN p.`rate_per_minute`
                                > 60
                                THEN p.`rate_per_minute` - CEIL(p.`rate_per_minute` / 60)
                              ELSE p.`rate_per_minute`
                              END
                          )
                      )
                  THEN 0
                ELSE COALESCE(b.free_at, 0)
                END
                  - (UNIX_TIMESTAMP(NOW(6)) + 0e0)
                  - (CEIL(p.`rate_per_minute` / 60) - 1)
                    * (
                      6e1
                        / (
                          CASE
                            WHEN p.`rate_per_minute`
                              > 60
                              THEN p.`rate_per_minute` - CEIL(p.`rate_per_minute` / 60)
                            ELSE p.`rate_per_minute`
                            END
                        )
                    )
            )
              * 1000000
        )
      ELSE 0
      END AS SIGNED
  )
FROM `dispatch_pools` AS p LEFT JOIN postrider_pools AS b ON b.pool = p.`id`
WHERE p.`id` IN ({pools});

-- deliver: enroll pools: [Pools] -> Nothing
INSERT IGNORE INTO postrider_pools (pool, free_at) SELECT p.`id`,
  0 FROM `dispatch_pools` AS p WHERE p.`id` IN ({pools});

-- deliver: claim shares of limited pools, step 1: [Pools] -> Keys
SELECT b.pool FROM postrider_pools AS b WHERE b.pool IN ({pools}) ORDER BY b.pool
FOR UPDATE SKIP LOCKED;

-- deliver: claim shares of limited pools, step 2: [Held] -> Permits
SELECT
  CAST(p.`id` AS CHAR),
  CAST(
    CASE
      WHEN p.`paused` THEN 0
      ELSE LEAST(
        1000000,
          CASE
            WHEN p.`concurrency` IS NULL THEN 1000000
            ELSE GREATEST(
              0,
                p.`concurrency`
                  - (
                    (
                      SELECT count(*)
                        FROM `dispatch_jobs` AS t
                        WHERE t.`status` = 'IN_PROGRESS'
                        AND t.`live_group_mode` IS NULL
                        AND t.`dispatch_pool_id` = p.`id`
                    )
                      + (
                        SELECT count(*)
                          FROM `dispatch_jobs` AS t
                          WHERE t.`status` = 'IN_PROGRESS'
                          AND t.`live_group_mode` IS NOT NULL
                          AND t.`dispatch_pool_id` = p.`id`
                      )
                  )
            )
            END,
          CASE
            WHEN p.`rate_per_minute` IS NULL THEN 1000000
            WHEN p.`rate_per_minute` <= 0 THEN 0
            ELSE GREATEST(
              0,
                CEIL(p.`rate_per_minute` / 60)
                  - CEIL(
                    (
                      GREATEST(
                        CASE
                          WHEN b.free_at
                            > (UNIX_TIMESTAMP(NOW(6)) + 0e0)
                              + (CEIL(p.`rate_per_minute` / 60) + 1)
                                * (
                                  6e1
                                    / (
                                      CASE
                                        WHEN p.`rate_per_minute`
                                          > 60
                                          THEN p.`rate_per_minute` - CEIL(p.`rate_per_minute` / 60)
                                        ELSE p.`rate_per_minute`
                                        END
                                    )
                                )
                            THEN 0
                          ELSE COALESCE(b.free_at, 0)
                          END,
                          (UNIX_TIMESTAMP(NOW(6)) + 0e0)
                      )
                        - (UNIX_TIMESTAMP(NOW(6)) + 0e0)
                    )
                      / (
                        6e1
                          / (
                            CASE
                              WHEN p.`rate_per_minute`
                                > 60
                                THEN p.`rate_per_minute` - CEIL(p.`rate_per_minute` / 60)
                              ELSE p.`rate_per_minute`
                              END
                          )
                      )
                  )
            )
            END
      )
      END AS SIGNED
  )
FROM postrider_pools AS b JOIN `dispatch_pools` AS p ON p.`id` = b.pool
WHERE b.pool IN ({held});

-- deliver: claim shares of limited pools, step 3: [Share, Quota] -> Run
SELECT
  CAST(t.`id` AS CHAR),
  CAST(
    CAST(
      CASE
        WHEN t.`last_attempt_at`
          BETWEEN UTC_TIMESTAMP(6) - INTERVAL 1 MICROSECOND
          AND UTC_TIMESTAMP(6) + INTERVAL 60 SECOND
          THEN t.`last_attempt_at` + INTERVAL 1 MICROSECOND
        ELSE UTC_TIMESTAMP(6)
        END AS DATETIME(6)
    ) AS CHAR
  ),
  CAST(t.`attempt_count` AS CHAR),
  CAST(t.`attempt_count` AS SIGNED),
  CAST(t.`max_retries` AS SIGNED),
  CAST(t.`retry_strategy` AS CHAR),
  CASE WHEN t.`group_key` IS NOT NULL AND t.`mode` NOT IN ('IMMEDIATE') THEN CAST(t.`group_key` AS CHAR) END,
  CASE WHEN t.`mode` IN ('NEXT_ON_ERROR') THEN 'next' ELSE 'block' END,
  CAST(t.`dispatch_pool_id` AS CHAR),
  CAST(t.`client_id` AS CHAR),
  CAST(
    COALESCE(
      TIMESTAMPDIFF(MICROSECOND, t.`next_attempt_at`, UTC_TIMESTAMP(6)),
        TIMESTAMPDIFF(MICROSECOND, t.`created_at`, UTC_TIMESTAMP(6))
    ) AS SIGNED
  ),
  CAST(
    COALESCE(LENGTH(t.`service_account_id`), 0)
      + COALESCE(LENGTH(t.`client_id`), 0)
      + COALESCE(LENGTH(t.`code`), 0)
      + COALESCE(LENGTH(t.`payload_content_type`), 0)
      + COALESCE(LENGTH(t.`correlation_id`), 0)
      + COALESCE(LENGTH(t.`id`), 0)
      + COALESCE(LENGTH(t.`event_id`), 0)
      + COALESCE(LENGTH(t.`headers`), 0)
      + COALESCE(LENGTH(t.`payload`), 0)
      + COALESCE(LENGTH(t.`source`), 0)
      + COALESCE(LENGTH(t.`subject`), 0)
      + COALESCE(LENGTH(t.`subscription_id`), 0)
      + COALESCE(LENGTH(t.`traceparent`), 0)
      + COALESCE(LENGTH(t.`target_url`), 0) AS SIGNED
  ),
  CASE WHEN LENGTH(t.`service_account_id`) <= 65536 THEN t.`service_account_id` END,
  CASE WHEN LENGTH(t.`client_id`) <= 65536 THEN t.`client_id` END,
  CASE WHEN LENGTH(t.`code`) <= 65536 THEN t.`code` END,
  CASE WHEN LENGTH(t.`payload_content_type`) <= 65536 THEN t.`payload_content_type` END,
  CASE WHEN LENGTH(t.`correlation_id`) <= 65536 THEN t.`correlation_id` END,
  CASE WHEN t.`data_only` THEN 'true' WHEN NOT t.`data_only` THEN 'false' END,
  CASE WHEN LENGTH(t.`id`) <= 65536 THEN t.`id` END,
  CASE WHEN LENGTH(t.`event_id`) <= 65536 THEN t.`event_id` END,
  CASE WHEN LENGTH(t.`headers`) <= 65536 THEN t.`headers` END,
  CASE WHEN LENGTH(t.`payload`) <= 65536 THEN t.`payload` END,
  CASE WHEN LENGTH(t.`source`) <= 65536 THEN t.`source` END,
  CASE WHEN LENGTH(t.`subject`) <= 65536 THEN t.`subject` END,
  CASE WHEN LENGTH(t.`subscription_id`) <= 65536 THEN t.`subscription_id` END,
  CAST(t.`created_at` AS CHAR),
  CAST(t.`timeout_seconds` AS CHAR),
  CASE WHEN LENGTH(t.`traceparent`) <= 65536 THEN t.`traceparent` END,
  CASE WHEN LENGTH(t.`target_url`) <= 65536 THEN t.`target_url` END,
  1
FROM `dispatch_jobs` AS t
WHERE t.`ready_share` = ?
  AND (t.`next_attempt_at` IS NULL OR t.`next_attempt_at` <= UTC_TIMESTAMP(6))
  AND t.`attempt_count` < GREATEST(COALESCE(t.`max_retries`, 3), 1)
  AND (t.`expires_at` IS NULL OR t.`expires_at` > UTC_TIMESTAMP(6))
  AND (t.`scheduled_for` IS NULL OR t.`scheduled_for` <= UTC_TIMESTAMP(6))
ORDER BY t.`next_attempt_at`, t.`id`
LIMIT ?
FOR UPDATE SKIP LOCKED;

-- deliver: claim shares of limited pools, step 4: [ClaimTime, Owner, Held] -> Nothing
UPDATE `dispatch_jobs` AS t SET
  t.`status` = 'IN_PROGRESS',
  t.`last_attempt_at` = ?,
  t.`lease_until` = CAST(
    CASE
      WHEN t.`lease_until`
        BETWEEN UTC_TIMESTAMP(6) + INTERVAL 60 SECOND - INTERVAL 1 MICROSECOND
        AND UTC_TIMESTAMP(6) + INTERVAL 60 SECOND + INTERVAL 60 SECOND
        THEN t.`lease_until` + INTERVAL 1 MICROSECOND
      ELSE UTC_TIMESTAMP(6) + INTERVAL 60 SECOND
      END AS DATETIME(6)
  ),
  t.`claimed_by` = LEFT(?, 64),
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- deliver: claim shares of limited pools, step 5: [Held] -> Nothing
UPDATE postrider_pools AS b
  JOIN (
    SELECT
      t.`dispatch_pool_id` AS pool,
      count(*) AS n
    FROM `dispatch_jobs` AS t
      WHERE t.`id` IN ({held})
      AND t.`dispatch_pool_id` IS NOT NULL
      GROUP BY t.`dispatch_pool_id`
  ) AS x
  JOIN `dispatch_pools` AS p
  ON p.`id` = x.pool
  AND p.`rate_per_minute`
    > 0 SET b.free_at = GREATEST(
      CASE
        WHEN b.free_at
          > (UNIX_TIMESTAMP(NOW(6)) + 0e0)
            + (CEIL(p.`rate_per_minute` / 60) + 1)
              * (
                6e1
                  / (
                    CASE
                      WHEN p.`rate_per_minute` > 60 THEN p.`rate_per_minute` - CEIL(p.`rate_per_minute` / 60)
                      ELSE p.`rate_per_minute`
                      END
                  )
              )
          THEN 0
        ELSE COALESCE(b.free_at, 0)
        END,
        (UNIX_TIMESTAMP(NOW(6)) + 0e0)
    )
      + x.n
        * (
          6e1
            / (
              CASE
                WHEN p.`rate_per_minute` > 60 THEN p.`rate_per_minute` - CEIL(p.`rate_per_minute` / 60)
                ELSE p.`rate_per_minute`
                END
            )
        )
  WHERE b.pool = x.pool;

-- deliver: refund: [Ids] -> Nothing
UPDATE postrider_pools AS b
  JOIN (
    SELECT
      t.`dispatch_pool_id` AS pool,
      count(*) AS n
    FROM `dispatch_jobs` AS t
      WHERE t.`id` IN ({ids})
      AND t.`dispatch_pool_id` IS NOT NULL
      GROUP BY t.`dispatch_pool_id`
  ) AS x
  JOIN `dispatch_pools` AS p
  ON p.`id` = x.pool
  AND p.`rate_per_minute`
    > 0 SET b.free_at = b.free_at
      - x.n
        * (
          6e1
            / (
              CASE
                WHEN p.`rate_per_minute` > 60 THEN p.`rate_per_minute` - CEIL(p.`rate_per_minute` / 60)
                ELSE p.`rate_per_minute`
                END
            )
        )
  WHERE b.pool = x.pool;

-- deliver: claim groups from the start 1: [Open, Fresh, Fresh, Jumps] -> Groups
SELECT
  CAST(s.g AS CHAR),
  s.kind,
  (
    SELECT
      (
        (
          (
            ((t.`status` = 'QUEUED') OR (t.`status` = 'ERROR' AND t.`next_attempt_at` IS NOT NULL))
              AND (t.`next_attempt_at` IS NULL OR t.`next_attempt_at` <= UTC_TIMESTAMP(6))
              AND t.`attempt_count` < GREATEST(COALESCE(t.`max_retries`, 3), 1)
              AND (t.`expires_at` IS NULL OR t.`expires_at` > UTC_TIMESTAMP(6))
              AND (t.`scheduled_for` IS NULL OR t.`scheduled_for` <= UTC_TIMESTAMP(6))
          ) IS TRUE
        )
          AND (
            t.`dispatch_pool_id` IS NULL OR JSON_CONTAINS(?, JSON_QUOTE(CAST(t.`dispatch_pool_id` AS CHAR)))
          )
      )
        FROM `dispatch_jobs` AS t
        WHERE t.`live_group_mode` = s.g
        AND t.`live_group_mode` IS NOT NULL
        AND (
          (
            t.`mode` IN ('NEXT_ON_ERROR')
              AND ((t.`status` = 'QUEUED') OR (t.`status` = 'ERROR' AND t.`next_attempt_at` IS NOT NULL))
              AND t.`attempt_count` > 0
              AND (
                (t.`next_attempt_at` IS NULL OR t.`next_attempt_at` <= UTC_TIMESTAMP(6))
                  AND t.`attempt_count` < GREATEST(COALESCE(t.`max_retries`, 3), 1)
              ) IS NOT TRUE
          )
            OR (
              t.`mode` NOT IN ('IMMEDIATE', 'NEXT_ON_ERROR')
                AND t.`status` = 'ERROR'
                AND t.`next_attempt_at` IS NULL
                AND t.`expires_at` <= UTC_TIMESTAMP(6)
            )
        ) IS NOT TRUE
        ORDER BY t.`live_group_mode`,
      t.`sequence`,
      t.`created_at`,
      t.`id` LIMIT 1
  ),
  (
    SELECT
      CAST(t.`id` AS CHAR)
        FROM `dispatch_jobs` AS t
        WHERE t.`live_group_mode` = s.g
        ORDER BY t.`live_group_mode`,
      t.`sequence`,
      t.`created_at`,
      t.`id` LIMIT 1
  )
FROM (
  SELECT DISTINCT
    f.g,
    0 AS kind
  FROM (
    (
      SELECT
        t.`live_group_mode` AS g
          FROM `dispatch_jobs` AS t
          WHERE t.`status` = 'QUEUED'
          AND t.`keeps_order_mode` = 1
          AND (t.`next_attempt_at` IS NULL OR t.`next_attempt_at` <= UTC_TIMESTAMP(6))
          ORDER BY t.`next_attempt_at` DESC,
        t.`id` DESC LIMIT ?
    )
    UNION ALL (
      SELECT
        t.`live_group_mode` AS g
          FROM `dispatch_jobs` AS t
          WHERE t.`status` = 'ERROR'
          AND t.`next_attempt_at` IS NOT NULL
          AND t.`keeps_order_mode` = 1
          AND (t.`next_attempt_at` IS NULL OR t.`next_attempt_at` <= UTC_TIMESTAMP(6))
          ORDER BY t.`next_attempt_at` DESC,
        t.`id` DESC LIMIT ?
    )) AS f
  UNION ALL
  SELECT
    r.g,
    1
  FROM (SELECT t.`live_group_mode` AS g FROM `dispatch_jobs` AS t WHERE t.`live_group_mode` IS NOT NULL
    GROUP BY t.`live_group_mode` ORDER BY t.`live_group_mode` LIMIT ?) AS r) AS s
ORDER BY s.kind, s.g;

-- deliver: claim groups from the start 2, step 1: [Ids] -> Groups
SELECT
  CAST(t.`live_group_mode` AS CHAR),
  1
FROM `dispatch_jobs` AS t
WHERE t.`id` IN ({ids}) AND t.`live_group_mode` IS NOT NULL
ORDER BY t.`id`
FOR UPDATE SKIP LOCKED;

-- deliver: claim groups from the start 2, step 2: [Open, Group, Group, Run] -> Run
SELECT
  CAST(t.`id` AS CHAR),
  CAST(
    CAST(
      CASE
        WHEN t.`last_attempt_at`
          BETWEEN UTC_TIMESTAMP(6) - INTERVAL 1 MICROSECOND
          AND UTC_TIMESTAMP(6) + INTERVAL 60 SECOND
          THEN t.`last_attempt_at` + INTERVAL 1 MICROSECOND
        ELSE UTC_TIMESTAMP(6)
        END AS DATETIME(6)
    ) AS CHAR
  ),
  CAST(t.`attempt_count` AS CHAR),
  CAST(t.`attempt_count` AS SIGNED),
  CAST(t.`max_retries` AS SIGNED),
  CAST(t.`retry_strategy` AS CHAR),
  CASE WHEN t.`group_key` IS NOT NULL AND t.`mode` NOT IN ('IMMEDIATE') THEN CAST(t.`group_key` AS CHAR) END,
  CASE WHEN t.`mode` IN ('NEXT_ON_ERROR') THEN 'next' ELSE 'block' END,
  CAST(t.`dispatch_pool_id` AS CHAR),
  CAST(t.`client_id` AS CHAR),
  CAST(
    COALESCE(
      TIMESTAMPDIFF(MICROSECOND, t.`next_attempt_at`, UTC_TIMESTAMP(6)),
        TIMESTAMPDIFF(MICROSECOND, t.`created_at`, UTC_TIMESTAMP(6))
    ) AS SIGNED
  ),
  CAST(
    COALESCE(LENGTH(t.`service_account_id`), 0)
      + COALESCE(LENGTH(t.`client_id`), 0)
      + COALESCE(LENGTH(t.`code`), 0)
      + COALESCE(LENGTH(t.`payload_content_type`), 0)
      + COALESCE(LENGTH(t.`correlation_id`), 0)
      + COALESCE(LENGTH(t.`id`), 0)
      + COALESCE(LENGTH(t.`event_id`), 0)
      + COALESCE(LENGTH(t.`headers`), 0)
      + COALESCE(LENGTH(t.`payload`), 0)
      + COALESCE(LENGTH(t.`source`), 0)
      + COALESCE(LENGTH(t.`subject`), 0)
      + COALESCE(LENGTH(t.`subscription_id`), 0)
      + COALESCE(LENGTH(t.`traceparent`), 0)
      + COALESCE(LENGTH(t.`target_url`), 0) AS SIGNED
  ),
  CASE WHEN LENGTH(t.`service_account_id`) <= 65536 THEN t.`service_account_id` END,
  CASE WHEN LENGTH(t.`client_id`) <= 65536 THEN t.`client_id` END,
  CASE WHEN LENGTH(t.`code`) <= 65536 THEN t.`code` END,
  CASE WHEN LENGTH(t.`payload_content_type`) <= 65536 THEN t.`payload_content_type` END,
  CASE WHEN LENGTH(t.`correlation_id`) <= 65536 THEN t.`correlation_id` END,
  CASE WHEN t.`data_only` THEN 'true' WHEN NOT t.`data_only` THEN 'false' END,
  CASE WHEN LENGTH(t.`id`) <= 65536 THEN t.`id` END,
  CASE WHEN LENGTH(t.`event_id`) <= 65536 THEN t.`event_id` END,
  CASE WHEN LENGTH(t.`headers`) <= 65536 THEN t.`headers` END,
  CASE WHEN LENGTH(t.`payload`) <= 65536 THEN t.`payload` END,
  CASE WHEN LENGTH(t.`source`) <= 65536 THEN t.`source` END,
  CASE WHEN LENGTH(t.`subject`) <= 65536 THEN t.`subject` END,
  CASE WHEN LENGTH(t.`subscription_id`) <= 65536 THEN t.`subscription_id` END,
  CAST(t.`created_at` AS CHAR),
  CAST(t.`timeout_seconds` AS CHAR),
  CASE WHEN LENGTH(t.`traceparent`) <= 65536 THEN t.`traceparent` END,
  CASE WHEN LENGTH(t.`target_url`) <= 65536 THEN t.`target_url` END,
  CASE
    WHEN t.`status` = 'IN_PROGRESS' THEN -1
    WHEN (
      (
        (
          ((t.`status` = 'QUEUED') OR (t.`status` = 'ERROR' AND t.`next_attempt_at` IS NOT NULL))
            AND (t.`next_attempt_at` IS NULL OR t.`next_attempt_at` <= UTC_TIMESTAMP(6))
            AND t.`attempt_count` < GREATEST(COALESCE(t.`max_retries`, 3), 1)
            AND (t.`expires_at` IS NULL OR t.`expires_at` > UTC_TIMESTAMP(6))
            AND (t.`scheduled_for` IS NULL OR t.`scheduled_for` <= UTC_TIMESTAMP(6))
        ) IS TRUE
      )
        AND (t.`dispatch_pool_id` IS NULL OR JSON_CONTAINS(?, JSON_QUOTE(CAST(t.`dispatch_pool_id` AS CHAR))))
    )
      THEN 1
    ELSE 0
    END
FROM `dispatch_jobs` AS t
WHERE t.`live_group_mode` = ?
  AND t.`live_group_mode` IS NOT NULL
  AND (
    (
      t.`mode` IN ('NEXT_ON_ERROR')
        AND ((t.`status` = 'QUEUED') OR (t.`status` = 'ERROR' AND t.`next_attempt_at` IS NOT NULL))
        AND t.`attempt_count` > 0
        AND (
          (t.`next_attempt_at` IS NULL OR t.`next_attempt_at` <= UTC_TIMESTAMP(6))
            AND t.`attempt_count` < GREATEST(COALESCE(t.`max_retries`, 3), 1)
        ) IS NOT TRUE
    )
      OR (
        t.`mode` NOT IN ('IMMEDIATE', 'NEXT_ON_ERROR')
          AND t.`status` = 'ERROR'
          AND t.`next_attempt_at` IS NULL
          AND t.`expires_at` <= UTC_TIMESTAMP(6)
      )
  ) IS NOT TRUE
  AND NOT EXISTS (
    SELECT 1 FROM `dispatch_jobs` AS t WHERE t.`status` = 'IN_PROGRESS' AND t.`live_group_mode` = ?
  )
ORDER BY t.`sequence`, t.`created_at`, t.`id`
LIMIT ?
FOR UPDATE;

-- deliver: claim groups from the start 2, step 3: [ClaimTime, Owner, Held] -> Nothing
UPDATE `dispatch_jobs` AS t SET
  t.`status` = 'IN_PROGRESS',
  t.`last_attempt_at` = ?,
  t.`lease_until` = CAST(
    CASE
      WHEN t.`lease_until`
        BETWEEN UTC_TIMESTAMP(6) + INTERVAL 60 SECOND - INTERVAL 1 MICROSECOND
        AND UTC_TIMESTAMP(6) + INTERVAL 60 SECOND + INTERVAL 60 SECOND
        THEN t.`lease_until` + INTERVAL 1 MICROSECOND
      ELSE UTC_TIMESTAMP(6) + INTERVAL 60 SECOND
      END AS DATETIME(6)
  ),
  t.`claimed_by` = LEFT(?, 64),
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- deliver: claim groups from the cursor 1: [Open, Fresh, Fresh, Cursor, Jumps] -> Groups
SELECT
  CAST(s.g AS CHAR),
  s.kind,
  (
    SELECT
      (
        (
          (
            ((t.`status` = 'QUEUED') OR (t.`status` = 'ERROR' AND t.`next_attempt_at` IS NOT NULL))
              AND (t.`next_attempt_at` IS NULL OR t.`next_attempt_at` <= UTC_TIMESTAMP(6))
              AND t.`attempt_count` < GREATEST(COALESCE(t.`max_retries`, 3), 1)
              AND (t.`expires_at` IS NULL OR t.`expires_at` > UTC_TIMESTAMP(6))
              AND (t.`scheduled_for` IS NULL OR t.`scheduled_for` <= UTC_TIMESTAMP(6))
          ) IS TRUE
        )
          AND (
            t.`dispatch_pool_id` IS NULL OR JSON_CONTAINS(?, JSON_QUOTE(CAST(t.`dispatch_pool_id` AS CHAR)))
          )
      )
        FROM `dispatch_jobs` AS t
        WHERE t.`live_group_mode` = s.g
        AND t.`live_group_mode` IS NOT NULL
        AND (
          (
            t.`mode` IN ('NEXT_ON_ERROR')
              AND ((t.`status` = 'QUEUED') OR (t.`status` = 'ERROR' AND t.`next_attempt_at` IS NOT NULL))
              AND t.`attempt_count` > 0
              AND (
                (t.`next_attempt_at` IS NULL OR t.`next_attempt_at` <= UTC_TIMESTAMP(6))
                  AND t.`attempt_count` < GREATEST(COALESCE(t.`max_retries`, 3), 1)
              ) IS NOT TRUE
          )
            OR (
              t.`mode` NOT IN ('IMMEDIATE', 'NEXT_ON_ERROR')
                AND t.`status` = 'ERROR'
                AND t.`next_attempt_at` IS NULL
                AND t.`expires_at` <= UTC_TIMESTAMP(6)
            )
        ) IS NOT TRUE
        ORDER BY t.`live_group_mode`,
      t.`sequence`,
      t.`created_at`,
      t.`id` LIMIT 1
  ),
  (
    SELECT
      CAST(t.`id` AS CHAR)
        FROM `dispatch_jobs` AS t
        WHERE t.`live_group_mode` = s.g
        ORDER BY t.`live_group_mode`,
      t.`sequence`,
      t.`created_at`,
      t.`id` LIMIT 1
  )
FROM (
  SELECT DISTINCT
    f.g,
    0 AS kind
  FROM (
    (
      SELECT
        t.`live_group_mode` AS g
          FROM `dispatch_jobs` AS t
          WHERE t.`status` = 'QUEUED'
          AND t.`keeps_order_mode` = 1
          AND (t.`next_attempt_at` IS NULL OR t.`next_attempt_at` <= UTC_TIMESTAMP(6))
          ORDER BY t.`next_attempt_at` DESC,
        t.`id` DESC LIMIT ?
    )
    UNION ALL (
      SELECT
        t.`live_group_mode` AS g
          FROM `dispatch_jobs` AS t
          WHERE t.`status` = 'ERROR'
          AND t.`next_attempt_at` IS NOT NULL
          AND t.`keeps_order_mode` = 1
          AND (t.`next_attempt_at` IS NULL OR t.`next_attempt_at` <= UTC_TIMESTAMP(6))
          ORDER BY t.`next_attempt_at` DESC,
        t.`id` DESC LIMIT ?
    )) AS f
  UNION ALL
  SELECT
    r.g,
    1
  FROM (SELECT t.`live_group_mode` AS g FROM `dispatch_jobs` AS t WHERE t.`live_group_mode` > ?
    GROUP BY t.`live_group_mode` ORDER BY t.`live_group_mode` LIMIT ?) AS r) AS s
ORDER BY s.kind, s.g;

-- deliver: claim groups from the cursor 2, step 1: [Ids] -> Groups
SELECT
  CAST(t.`live_group_mode` AS CHAR),
  1
FROM `dispatch_jobs` AS t
WHERE t.`id` IN ({ids}) AND t.`live_group_mode` IS NOT NULL
ORDER BY t.`id`
FOR UPDATE SKIP LOCKED;

-- deliver: claim groups from the cursor 2, step 2: [Open, Group, Group, Run] -> Run
SELECT
  CAST(t.`id` AS CHAR),
  CAST(
    CAST(
      CASE
        WHEN t.`last_attempt_at`
          BETWEEN UTC_TIMESTAMP(6) - INTERVAL 1 MICROSECOND
          AND UTC_TIMESTAMP(6) + INTERVAL 60 SECOND
          THEN t.`last_attempt_at` + INTERVAL 1 MICROSECOND
        ELSE UTC_TIMESTAMP(6)
        END AS DATETIME(6)
    ) AS CHAR
  ),
  CAST(t.`attempt_count` AS CHAR),
  CAST(t.`attempt_count` AS SIGNED),
  CAST(t.`max_retries` AS SIGNED),
  CAST(t.`retry_strategy` AS CHAR),
  CASE WHEN t.`group_key` IS NOT NULL AND t.`mode` NOT IN ('IMMEDIATE') THEN CAST(t.`group_key` AS CHAR) END,
  CASE WHEN t.`mode` IN ('NEXT_ON_ERROR') THEN 'next' ELSE 'block' END,
  CAST(t.`dispatch_pool_id` AS CHAR),
  CAST(t.`client_id` AS CHAR),
  CAST(
    COALESCE(
      TIMESTAMPDIFF(MICROSECOND, t.`next_attempt_at`, UTC_TIMESTAMP(6)),
        TIMESTAMPDIFF(MICROSECOND, t.`created_at`, UTC_TIMESTAMP(6))
    ) AS SIGNED
  ),
  CAST(
    COALESCE(LENGTH(t.`service_account_id`), 0)
      + COALESCE(LENGTH(t.`client_id`), 0)
      + COALESCE(LENGTH(t.`code`), 0)
      + COALESCE(LENGTH(t.`payload_content_type`), 0)
      + COALESCE(LENGTH(t.`correlation_id`), 0)
      + COALESCE(LENGTH(t.`id`), 0)
      + COALESCE(LENGTH(t.`event_id`), 0)
      + COALESCE(LENGTH(t.`headers`), 0)
      + COALESCE(LENGTH(t.`payload`), 0)
      + COALESCE(LENGTH(t.`source`), 0)
      + COALESCE(LENGTH(t.`subject`), 0)
      + COALESCE(LENGTH(t.`subscription_id`), 0)
      + COALESCE(LENGTH(t.`traceparent`), 0)
      + COALESCE(LENGTH(t.`target_url`), 0) AS SIGNED
  ),
  CASE WHEN LENGTH(t.`service_account_id`) <= 65536 THEN t.`service_account_id` END,
  CASE WHEN LENGTH(t.`client_id`) <= 65536 THEN t.`client_id` END,
  CASE WHEN LENGTH(t.`code`) <= 65536 THEN t.`code` END,
  CASE WHEN LENGTH(t.`payload_content_type`) <= 65536 THEN t.`payload_content_type` END,
  CASE WHEN LENGTH(t.`correlation_id`) <= 65536 THEN t.`correlation_id` END,
  CASE WHEN t.`data_only` THEN 'true' WHEN NOT t.`data_only` THEN 'false' END,
  CASE WHEN LENGTH(t.`id`) <= 65536 THEN t.`id` END,
  CASE WHEN LENGTH(t.`event_id`) <= 65536 THEN t.`event_id` END,
  CASE WHEN LENGTH(t.`headers`) <= 65536 THEN t.`headers` END,
  CASE WHEN LENGTH(t.`payload`) <= 65536 THEN t.`payload` END,
  CASE WHEN LENGTH(t.`source`) <= 65536 THEN t.`source` END,
  CASE WHEN LENGTH(t.`subject`) <= 65536 THEN t.`subject` END,
  CASE WHEN LENGTH(t.`subscription_id`) <= 65536 THEN t.`subscription_id` END,
  CAST(t.`created_at` AS CHAR),
  CAST(t.`timeout_seconds` AS CHAR),
  CASE WHEN LENGTH(t.`traceparent`) <= 65536 THEN t.`traceparent` END,
  CASE WHEN LENGTH(t.`target_url`) <= 65536 THEN t.`target_url` END,
  CASE
    WHEN t.`status` = 'IN_PROGRESS' THEN -1
    WHEN (
      (
        (
          ((t.`status` = 'QUEUED') OR (t.`status` = 'ERROR' AND t.`next_attempt_at` IS NOT NULL))
            AND (t.`next_attempt_at` IS NULL OR t.`next_attempt_at` <= UTC_TIMESTAMP(6))
            AND t.`attempt_count` < GREATEST(COALESCE(t.`max_retries`, 3), 1)
            AND (t.`expires_at` IS NULL OR t.`expires_at` > UTC_TIMESTAMP(6))
            AND (t.`scheduled_for` IS NULL OR t.`scheduled_for` <= UTC_TIMESTAMP(6))
        ) IS TRUE
      )
        AND (t.`dispatch_pool_id` IS NULL OR JSON_CONTAINS(?, JSON_QUOTE(CAST(t.`dispatch_pool_id` AS CHAR))))
    )
      THEN 1
    ELSE 0
    END
FROM `dispatch_jobs` AS t
WHERE t.`live_group_mode` = ?
  AND t.`live_group_mode` IS NOT NULL
  AND (
    (
      t.`mode` IN ('NEXT_ON_ERROR')
        AND ((t.`status` = 'QUEUED') OR (t.`status` = 'ERROR' AND t.`next_attempt_at` IS NOT NULL))
        AND t.`attempt_count` > 0
        AND (
          (t.`next_attempt_at` IS NULL OR t.`next_attempt_at` <= UTC_TIMESTAMP(6))
            AND t.`attempt_count` < GREATEST(COALESCE(t.`max_retries`, 3), 1)
        ) IS NOT TRUE
    )
      OR (
        t.`mode` NOT IN ('IMMEDIATE', 'NEXT_ON_ERROR')
          AND t.`status` = 'ERROR'
          AND t.`next_attempt_at` IS NULL
          AND t.`expires_at` <= UTC_TIMESTAMP(6)
      )
  ) IS NOT TRUE
  AND NOT EXISTS (
    SELECT 1 FROM `dispatch_jobs` AS t WHERE t.`status` = 'IN_PROGRESS' AND t.`live_group_mode` = ?
  )
ORDER BY t.`sequence`, t.`created_at`, t.`id`
LIMIT ?
FOR UPDATE;

-- deliver: claim groups from the cursor 2, step 3: [ClaimTime, Owner, Held] -> Nothing
UPDATE `dispatch_jobs` AS t SET
  t.`status` = 'IN_PROGRESS',
  t.`last_attempt_at` = ?,
  t.`lease_until` = CAST(
    CASE
      WHEN t.`lease_until`
        BETWEEN UTC_TIMESTAMP(6) + INTERVAL 60 SECOND - INTERVAL 1 MICROSECOND
        AND UTC_TIMESTAMP(6) + INTERVAL 60 SECOND + INTERVAL 60 SECOND
        THEN t.`lease_until` + INTERVAL 1 MICROSECOND
      ELSE UTC_TIMESTAMP(6) + INTERVAL 60 SECOND
      END AS DATETIME(6)
  ),
  t.`claimed_by` = LEFT(?, 64),
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- deliver: claim groups from the start, limited 1: [Open, Fresh, Fresh, Jumps] -> Groups
SELECT
  CAST(s.g AS CHAR),
  s.kind,
  (
    SELECT
      (
        (
          (
            ((t.`status` = 'QUEUED') OR (t.`status` = 'ERROR' AND t.`next_attempt_at` IS NOT NULL))
              AND (t.`next_attempt_at` IS NULL OR t.`next_attempt_at` <= UTC_TIMESTAMP(6))
              AND t.`attempt_count` < GREATEST(COALESCE(t.`max_retries`, 3), 1)
              AND (t.`expires_at` IS NULL OR t.`expires_at` > UTC_TIMESTAMP(6))
              AND (t.`scheduled_for` IS NULL OR t.`scheduled_for` <= UTC_TIMESTAMP(6))
          ) IS TRUE
        )
          AND (
            t.`dispatch_pool_id` IS NULL OR JSON_CONTAINS(?, JSON_QUOTE(CAST(t.`dispatch_pool_id` AS CHAR)))
          )
      )
        FROM `dispatch_jobs` AS t
        WHERE t.`live_group_mode` = s.g
        AND t.`live_group_mode` IS NOT NULL
        AND (
          (
            t.`mode` IN ('NEXT_ON_ERROR')
              AND ((t.`status` = 'QUEUED') OR (t.`status` = 'ERROR' AND t.`next_attempt_at` IS NOT NULL))
              AND t.`attempt_count` > 0
              AND (
                (t.`next_attempt_at` IS NULL OR t.`next_attempt_at` <= UTC_TIMESTAMP(6))
                  AND t.`attempt_count` < GREATEST(COALESCE(t.`max_retries`, 3), 1)
              ) IS NOT TRUE
          )
            OR (
              t.`mode` NOT IN ('IMMEDIATE', 'NEXT_ON_ERROR')
                AND t.`status` = 'ERROR'
                AND t.`next_attempt_at` IS NULL
                AND t.`expires_at` <= UTC_TIMESTAMP(6)
            )
        ) IS NOT TRUE
        ORDER BY t.`live_group_mode`,
      t.`sequence`,
      t.`created_at`,
      t.`id` LIMIT 1
  ),
  (
    SELECT
      CAST(t.`id` AS CHAR)
        FROM `dispatch_jobs` AS t
        WHERE t.`live_group_mode` = s.g
        ORDER BY t.`live_group_mode`,
      t.`sequence`,
      t.`created_at`,
      t.`id` LIMIT 1
  )
FROM (
  SELECT DISTINCT
    f.g,
    0 AS kind
  FROM (
    (
      SELECT
        t.`live_group_mode` AS g
          FROM `dispatch_jobs` AS t
          WHERE t.`status` = 'QUEUED'
          AND t.`keeps_order_mode` = 1
          AND (t.`next_attempt_at` IS NULL OR t.`next_attempt_at` <= UTC_TIMESTAMP(6))
          ORDER BY t.`next_attempt_at` DESC,
        t.`id` DESC LIMIT ?
    )
    UNION ALL (
      SELECT
        t.`live_group_mode` AS g
          FROM `dispatch_jobs` AS t
          WHERE t.`status` = 'ERROR'
          AND t.`next_attempt_at` IS NOT NULL
          AND t.`keeps_order_mode` = 1
          AND (t.`next_attempt_at` IS NULL OR t.`next_attempt_at` <= UTC_TIMESTAMP(6))
          ORDER BY t.`next_attempt_at` DESC,
        t.`id` DESC LIMIT ?
    )) AS f
  UNION ALL
  SELECT
    r.g,
    1
  FROM (SELECT t.`live_group_mode` AS g FROM `dispatch_jobs` AS t WHERE t.`live_group_mode` IS NOT NULL
    GROUP BY t.`live_group_mode` ORDER BY t.`live_group_mode` LIMIT ?) AS r) AS s
ORDER BY s.kind, s.g;

-- deliver: claim groups from the start, limited 2, step 1: [Pools] -> Keys
SELECT b.pool FROM postrider_pools AS b WHERE b.pool IN ({pools}) ORDER BY b.pool
FOR UPDATE SKIP LOCKED;

-- deliver: claim groups from the start, limited 2, step 2: [Held] -> Permits
SELECT
  CAST(p.`id` AS CHAR),
  CAST(
    CASE
      WHEN p.`paused` THEN 0
      ELSE LEAST(
        1000000,
          CASE
            WHEN p.`concurrency` IS NULL THEN 1000000
            ELSE GREATEST(
              0,
                p.`concurrency`
                  - (
                    (
                      SELECT count(*)
                        FROM `dispatch_jobs` AS t
                        WHERE t.`status` = 'IN_PROGRESS'
                        AND t.`live_group_mode` IS NULL
                        AND t.`dispatch_pool_id` = p.`id`
                    )
                      + (
                        SELECT count(*)
                          FROM `dispatch_jobs` AS t
                          WHERE t.`status` = 'IN_PROGRESS'
                          AND t.`live_group_mode` IS NOT NULL
                          AND t.`dispatch_pool_id` = p.`id`
                      )
                  )
            )
            END,
          CASE
            WHEN p.`rate_per_minute` IS NULL THEN 1000000
            WHEN p.`rate_per_minute` <= 0 THEN 0
            ELSE GREATEST(
              0,
                CEIL(p.`rate_per_minute` / 60)
                  - CEIL(
                    (
                      GREATEST(
                        CASE
                          WHEN b.free_at
                            > (UNIX_TIMESTAMP(NOW(6)) + 0e0)
                              + (CEIL(p.`rate_per_minute` / 60) + 1)
                                * (
                                  6e1
                                    / (
                                      CASE
                                        WHEN p.`rate_per_minute`
                                          > 60
                                          THEN p.`rate_per_minute` - CEIL(p.`rate_per_minute` / 60)
                                        ELSE p.`rate_per_minute`
                                        END
                                    )
                                )
                            THEN 0
                          ELSE COALESCE(b.free_at, 0)
                          END,
                          (UNIX_TIMESTAMP(NOW(6)) + 0e0)
                      )
                        - (UNIX_TIMESTAMP(NOW(6)) + 0e0)
                    )
                      / (
                        6e1
                          / (
                            CASE
                              WHEN p.`rate_per_minute`
                                > 60
                                THEN p.`rate_per_minute` - CEIL(p.`rate_per_minute` / 60)
                              ELSE p.`rate_per_minute`
                              END
                          )
                      )
                  )
            )
            END
      )
      END AS SIGNED
  )
FROM postrider_pools AS b JOIN `dispatch_pools` AS p ON p.`id` = b.pool
WHERE b.pool IN ({held});

-- deliver: claim groups from the start, limited 2, step 3: [Ids] -> Groups
SELECT
  CAST(t.`live_group_mode` AS CHAR),
  1
FROM `dispatch_jobs` AS t
WHERE t.`id` IN ({ids}) AND t.`live_group_mode` IS NOT NULL
ORDER BY t.`id`
FOR UPDATE SKIP LOCKED;

-- deliver: claim groups from the start, limited 2, step 4: [Open, Group, Group, Run] -> Run
SELECT
  CAST(t.`id` AS CHAR),
  CAST(
    CAST(
      CASE
        WHEN t.`last_attempt_at`
          BETWEEN UTC_TIMESTAMP(6) - INTERVAL 1 MICROSECOND
          AND UTC_TIMESTAMP(6) + INTERVAL 60 SECOND
          THEN t.`last_attempt_at` + INTERVAL 1 MICROSECOND
        ELSE UTC_TIMESTAMP(6)
        END AS DATETIME(6)
    ) AS CHAR
  ),
  CAST(t.`attempt_count` AS CHAR),
  CAST(t.`attempt_count` AS SIGNED),
  CAST(t.`max_retries` AS SIGNED),
  CAST(t.`retry_strategy` AS CHAR),
  CASE WHEN t.`group_key` IS NOT NULL AND t.`mode` NOT IN ('IMMEDIATE') THEN CAST(t.`group_key` AS CHAR) END,
  CASE WHEN t.`mode` IN ('NEXT_ON_ERROR') THEN 'next' ELSE 'block' END,
  CAST(t.`dispatch_pool_id` AS CHAR),
  CAST(t.`client_id` AS CHAR),
  CAST(
    COALESCE(
      TIMESTAMPDIFF(MICROSECOND, t.`next_attempt_at`, UTC_TIMESTAMP(6)),
        TIMESTAMPDIFF(MICROSECOND, t.`created_at`, UTC_TIMESTAMP(6))
    ) AS SIGNED
  ),
  CAST(
    COALESCE(LENGTH(t.`service_account_id`), 0)
      + COALESCE(LENGTH(t.`client_id`), 0)
      + COALESCE(LENGTH(t.`code`), 0)
      + COALESCE(LENGTH(t.`payload_content_type`), 0)
      + COALESCE(LENGTH(t.`correlation_id`), 0)
      + COALESCE(LENGTH(t.`id`), 0)
      + COALESCE(LENGTH(t.`event_id`), 0)
      + COALESCE(LENGTH(t.`headers`), 0)
      + COALESCE(LENGTH(t.`payload`), 0)
      + COALESCE(LENGTH(t.`source`), 0)
      + COALESCE(LENGTH(t.`subject`), 0)
      + COALESCE(LENGTH(t.`subscription_id`), 0)
      + COALESCE(LENGTH(t.`traceparent`), 0)
      + COALESCE(LENGTH(t.`target_url`), 0) AS SIGNED
  ),
  CASE WHEN LENGTH(t.`service_account_id`) <= 65536 THEN t.`service_account_id` END,
  CASE WHEN LENGTH(t.`client_id`) <= 65536 THEN t.`client_id` END,
  CASE WHEN LENGTH(t.`code`) <= 65536 THEN t.`code` END,
  CASE WHEN LENGTH(t.`payload_content_type`) <= 65536 THEN t.`payload_content_type` END,
  CASE WHEN LENGTH(t.`correlation_id`) <= 65536 THEN t.`correlation_id` END,
  CASE WHEN t.`data_only` THEN 'true' WHEN NOT t.`data_only` THEN 'false' END,
  CASE WHEN LENGTH(t.`id`) <= 65536 THEN t.`id` END,
  CASE WHEN LENGTH(t.`event_id`) <= 65536 THEN t.`event_id` END,
  CASE WHEN LENGTH(t.`headers`) <= 65536 THEN t.`headers` END,
  CASE WHEN LENGTH(t.`payload`) <= 65536 THEN t.`payload` END,
  CASE WHEN LENGTH(t.`source`) <= 65536 THEN t.`source` END,
  CASE WHEN LENGTH(t.`subject`) <= 65536 THEN t.`subject` END,
  CASE WHEN LENGTH(t.`subscription_id`) <= 65536 THEN t.`subscription_id` END,
  CAST(t.`created_at` AS CHAR),
  CAST(t.`timeout_seconds` AS CHAR),
  CASE WHEN LENGTH(t.`traceparent`) <= 65536 THEN t.`traceparent` END,
  CASE WHEN LENGTH(t.`target_url`) <= 65536 THEN t.`target_url` END,
  CASE
    WHEN t.`status` = 'IN_PROGRESS' THEN -1
    WHEN (
      (
        (
          ((t.`status` = 'QUEUED') OR (t.`status` = 'ERROR' AND t.`next_attempt_at` IS NOT NULL))
            AND (t.`next_attempt_at` IS NULL OR t.`next_attempt_at` <= UTC_TIMESTAMP(6))
            AND t.`attempt_count` < GREATEST(COALESCE(t.`max_retries`, 3), 1)
            AND (t.`expires_at` IS NULL OR t.`expires_at` > UTC_TIMESTAMP(6))
            AND (t.`scheduled_for` IS NULL OR t.`scheduled_for` <= UTC_TIMESTAMP(6))
        ) IS TRUE
      )
        AND (t.`dispatch_pool_id` IS NULL OR JSON_CONTAINS(?, JSON_QUOTE(CAST(t.`dispatch_pool_id` AS CHAR))))
    )
      THEN 1
    ELSE 0
    END
FROM `dispatch_jobs` AS t
WHERE t.`live_group_mode` = ?
  AND t.`live_group_mode` IS NOT NULL
  AND (
    (
      t.`mode` IN ('NEXT_ON_ERROR')
        AND ((t.`status` = 'QUEUED') OR (t.`status` = 'ERROR' AND t.`next_attempt_at` IS NOT NULL))
        AND t.`attempt_count` > 0
        AND (
          (t.`next_attempt_at` IS NULL OR t.`next_attempt_at` <= UTC_TIMESTAMP(6))
            AND t.`attempt_count` < GREATEST(COALESCE(t.`max_retries`, 3), 1)
        ) IS NOT TRUE
    )
      OR (
        t.`mode` NOT IN ('IMMEDIATE', 'NEXT_ON_ERROR')
          AND t.`status` = 'ERROR'
          AND t.`next_attempt_at` IS NULL
          AND t.`expires_at` <= UTC_TIMESTAMP(6)
      )
  ) IS NOT TRUE
  AND NOT EXISTS (
    SELECT 1 FROM `dispatch_jobs` AS t WHERE t.`status` = 'IN_PROGRESS' AND t.`live_group_mode` = ?
  )
ORDER BY t.`sequence`, t.`created_at`, t.`id`
LIMIT ?
FOR UPDATE;

-- deliver: claim groups from the start, limited 2, step 5: [ClaimTime, Owner, Held] -> Nothing
UPDATE `dispatch_jobs` AS t SET
  t.`status` = 'IN_PROGRESS',
  t.`last_attempt_at` = ?,
  t.`lease_until` = CAST(
    CASE
      WHEN t.`lease_until`
        BETWEEN UTC_TIMESTAMP(6) + INTERVAL 60 SECOND - INTERVAL 1 MICROSECOND
        AND UTC_TIMESTAMP(6) + INTERVAL 60 SECOND + INTERVAL 60 SECOND
        THEN t.`lease_until` + INTERVAL 1 MICROSECOND
      ELSE UTC_TIMESTAMP(6) + INTERVAL 60 SECOND
      END AS DATETIME(6)
  ),
  t.`claimed_by` = LEFT(?, 64),
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- deliver: claim groups from the start, limited 2, step 6: [Held] -> Nothing
UPDATE postrider_pools AS b
  JOIN (
    SELECT
      t.`dispatch_pool_id` AS pool,
      count(*) AS n
    FROM `dispatch_jobs` AS t
      WHERE t.`id` IN ({held})
      AND t.`dispatch_pool_id` IS NOT NULL
      GROUP BY t.`dispatch_pool_id`
  ) AS x
  JOIN `dispatch_pools` AS p
  ON p.`id` = x.pool
  AND p.`rate_per_minute`
    > 0 SET b.free_at = GREATEST(
      CASE
        WHEN b.free_at
          > (UNIX_TIMESTAMP(NOW(6)) + 0e0)
            + (CEIL(p.`rate_per_minute` / 60) + 1)
              * (
                6e1
                  / (
                    CASE
                      WHEN p.`rate_per_minute` > 60 THEN p.`rate_per_minute` - CEIL(p.`rate_per_minute` / 60)
                      ELSE p.`rate_per_minute`
                      END
                  )
              )
          THEN 0
        ELSE COALESCE(b.free_at, 0)
        END,
        (UNIX_TIMESTAMP(NOW(6)) + 0e0)
    )
      + x.n
        * (
          6e1
            / (
              CASE
                WHEN p.`rate_per_minute` > 60 THEN p.`rate_per_minute` - CEIL(p.`rate_per_minute` / 60)
                ELSE p.`rate_per_minute`
                END
            )
        )
  WHERE b.pool = x.pool;

-- deliver: claim groups from the cursor, limited 1: [Open, Fresh, Fresh, Cursor, Jumps] -> Groups
SELECT
  CAST(s.g AS CHAR),
  s.kind,
  (
    SELECT
      (
        (
          (
            ((t.`status` = 'QUEUED') OR (t.`status` = 'ERROR' AND t.`next_attempt_at` IS NOT NULL))
              AND (t.`next_attempt_at` IS NULL OR t.`next_attempt_at` <= UTC_TIMESTAMP(6))
              AND t.`attempt_count` < GREATEST(COALESCE(t.`max_retries`, 3), 1)
              AND (t.`expires_at` IS NULL OR t.`expires_at` > UTC_TIMESTAMP(6))
              AND (t.`scheduled_for` IS NULL OR t.`scheduled_for` <= UTC_TIMESTAMP(6))
          ) IS TRUE
        )
          AND (
            t.`dispatch_pool_id` IS NULL OR JSON_CONTAINS(?, JSON_QUOTE(CAST(t.`dispatch_pool_id` AS CHAR)))
          )
      )
        FROM `dispatch_jobs` AS t
        WHERE t.`live_group_mode` = s.g
        AND t.`live_group_mode` IS NOT NULL
        AND (
          (
            t.`mode` IN ('NEXT_ON_ERROR')
              AND ((t.`status` = 'QUEUED') OR (t.`status` = 'ERROR' AND t.`next_attempt_at` IS NOT NULL))
              AND t.`attempt_count` > 0
              AND (
                (t.`next_attempt_at` IS NULL OR t.`next_attempt_at` <= UTC_TIMESTAMP(6))
                  AND t.`attempt_count` < GREATEST(COALESCE(t.`max_retries`, 3), 1)
              ) IS NOT TRUE
          )
            OR (
              t.`mode` NOT IN ('IMMEDIATE', 'NEXT_ON_ERROR')
                AND t.`status` = 'ERROR'
                AND t.`next_attempt_at` IS NULL
                AND t.`expires_at` <= UTC_TIMESTAMP(6)
            )
        ) IS NOT TRUE
        ORDER BY t.`live_group_mode`,
      t.`sequence`,
      t.`created_at`,
      t.`id` LIMIT 1
  ),
  (
    SELECT
      CAST(t.`id` AS CHAR)
        FROM `dispatch_jobs` AS t
        WHERE t.`live_group_mode` = s.g
        ORDER BY t.`live_group_mode`,
      t.`sequence`,
      t.`created_at`,
      t.`id` LIMIT 1
  )
FROM (
  SELECT DISTINCT
    f.g,
    0 AS kind
  FROM (
    (
      SELECT
        t.`live_group_mode` AS g
          FROM `dispatch_jobs` AS t
          WHERE t.`status` = 'QUEUED'
          AND t.`keeps_order_mode` = 1
          AND (t.`next_attempt_at` IS NULL OR t.`next_attempt_at` <= UTC_TIMESTAMP(6))
          ORDER BY t.`next_attempt_at` DESC,
        t.`id` DESC LIMIT ?
    )
    UNION ALL (
      SELECT
        t.`live_group_mode` AS g
          FROM `dispatch_jobs` AS t
          WHERE t.`status` = 'ERROR'
          AND t.`next_attempt_at` IS NOT NULL
          AND t.`keeps_order_mode` = 1
          AND (t.`next_attempt_at` IS NULL OR t.`next_attempt_at` <= UTC_TIMESTAMP(6))
          ORDER BY t.`next_attempt_at` DESC,
        t.`id` DESC LIMIT ?
    )) AS f
  UNION ALL
  SELECT
    r.g,
    1
  FROM (SELECT t.`live_group_mode` AS g FROM `dispatch_jobs` AS t WHERE t.`live_group_mode` > ?
    GROUP BY t.`live_group_mode` ORDER BY t.`live_group_mode` LIMIT ?) AS r) AS s
ORDER BY s.kind, s.g;

-- deliver: claim groups from the cursor, limited 2, step 1: [Pools] -> Keys
SELECT b.pool FROM postrider_pools AS b WHERE b.pool IN ({pools}) ORDER BY b.pool
FOR UPDATE SKIP LOCKED;

-- deliver: claim groups from the cursor, limited 2, step 2: [Held] -> Permits
SELECT
  CAST(p.`id` AS CHAR),
  CAST(
    CASE
      WHEN p.`paused` THEN 0
      ELSE LEAST(
        1000000,
          CASE
            WHEN p.`concurrency` IS NULL THEN 1000000
            ELSE GREATEST(
              0,
                p.`concurrency`
                  - (
                    (
                      SELECT count(*)
                        FROM `dispatch_jobs` AS t
                        WHERE t.`status` = 'IN_PROGRESS'
                        AND t.`live_group_mode` IS NULL
                        AND t.`dispatch_pool_id` = p.`id`
                    )
                      + (
                        SELECT count(*)
                          FROM `dispatch_jobs` AS t
                          WHERE t.`status` = 'IN_PROGRESS'
                          AND t.`live_group_mode` IS NOT NULL
                          AND t.`dispatch_pool_id` = p.`id`
                      )
                  )
            )
            END,
          CASE
            WHEN p.`rate_per_minute` IS NULL THEN 1000000
            WHEN p.`rate_per_minute` <= 0 THEN 0
            ELSE GREATEST(
              0,
                CEIL(p.`rate_per_minute` / 60)
                  - CEIL(
                    (
                      GREATEST(
                        CASE
                          WHEN b.free_at
                            > (UNIX_TIMESTAMP(NOW(6)) + 0e0)
                              + (CEIL(p.`rate_per_minute` / 60) + 1)
                                * (
                                  6e1
                                    / (
                                      CASE
                                        WHEN p.`rate_per_minute`
                                          > 60
                                          THEN p.`rate_per_minute` - CEIL(p.`rate_per_minute` / 60)
                                        ELSE p.`rate_per_minute`
                                        END
                                    )
                                )
                            THEN 0
                          ELSE COALESCE(b.free_at, 0)
                          END,
                          (UNIX_TIMESTAMP(NOW(6)) + 0e0)
                      )
                        - (UNIX_TIMESTAMP(NOW(6)) + 0e0)
                    )
                      / (
                        6e1
                          / (
                            CASE
                              WHEN p.`rate_per_minute`
                                > 60
                                THEN p.`rate_per_minute` - CEIL(p.`rate_per_minute` / 60)
                              ELSE p.`rate_per_minute`
                              END
                          )
                      )
                  )
            )
            END
      )
      END AS SIGNED
  )
FROM postrider_pools AS b JOIN `dispatch_pools` AS p ON p.`id` = b.pool
WHERE b.pool IN ({held});

-- deliver: claim groups from the cursor, limited 2, step 3: [Ids] -> Groups
SELECT
  CAST(t.`live_group_mode` AS CHAR),
  1
FROM `dispatch_jobs` AS t
WHERE t.`id` IN ({ids}) AND t.`live_group_mode` IS NOT NULL
ORDER BY t.`id`
FOR UPDATE SKIP LOCKED;

-- deliver: claim groups from the cursor, limited 2, step 4: [Open, Group, Group, Run] -> Run
SELECT
  CAST(t.`id` AS CHAR),
  CAST(
    CAST(
      CASE
        WHEN t.`last_attempt_at`
          BETWEEN UTC_TIMESTAMP(6) - INTERVAL 1 MICROSECOND
          AND UTC_TIMESTAMP(6) + INTERVAL 60 SECOND
          THEN t.`last_attempt_at` + INTERVAL 1 MICROSECOND
        ELSE UTC_TIMESTAMP(6)
        END AS DATETIME(6)
    ) AS CHAR
  ),
  CAST(t.`attempt_count` AS CHAR),
  CAST(t.`attempt_count` AS SIGNED),
  CAST(t.`max_retries` AS SIGNED),
  CAST(t.`retry_strategy` AS CHAR),
  CASE WHEN t.`group_key` IS NOT NULL AND t.`mode` NOT IN ('IMMEDIATE') THEN CAST(t.`group_key` AS CHAR) END,
  CASE WHEN t.`mode` IN ('NEXT_ON_ERROR') THEN 'next' ELSE 'block' END,
  CAST(t.`dispatch_pool_id` AS CHAR),
  CAST(t.`client_id` AS CHAR),
  CAST(
    COALESCE(
      TIMESTAMPDIFF(MICROSECOND, t.`next_attempt_at`, UTC_TIMESTAMP(6)),
        TIMESTAMPDIFF(MICROSECOND, t.`created_at`, UTC_TIMESTAMP(6))
    ) AS SIGNED
  ),
  CAST(
    COALESCE(LENGTH(t.`service_account_id`), 0)
      + COALESCE(LENGTH(t.`client_id`), 0)
      + COALESCE(LENGTH(t.`code`), 0)
      + COALESCE(LENGTH(t.`payload_content_type`), 0)
      + COALESCE(LENGTH(t.`correlation_id`), 0)
      + COALESCE(LENGTH(t.`id`), 0)
      + COALESCE(LENGTH(t.`event_id`), 0)
      + COALESCE(LENGTH(t.`headers`), 0)
      + COALESCE(LENGTH(t.`payload`), 0)
      + COALESCE(LENGTH(t.`source`), 0)
      + COALESCE(LENGTH(t.`subject`), 0)
      + COALESCE(LENGTH(t.`subscription_id`), 0)
      + COALESCE(LENGTH(t.`traceparent`), 0)
      + COALESCE(LENGTH(t.`target_url`), 0) AS SIGNED
  ),
  CASE WHEN LENGTH(t.`service_account_id`) <= 65536 THEN t.`service_account_id` END,
  CASE WHEN LENGTH(t.`client_id`) <= 65536 THEN t.`client_id` END,
  CASE WHEN LENGTH(t.`code`) <= 65536 THEN t.`code` END,
  CASE WHEN LENGTH(t.`payload_content_type`) <= 65536 THEN t.`payload_content_type` END,
  CASE WHEN LENGTH(t.`correlation_id`) <= 65536 THEN t.`correlation_id` END,
  CASE WHEN t.`data_only` THEN 'true' WHEN NOT t.`data_only` THEN 'false' END,
  CASE WHEN LENGTH(t.`id`) <= 65536 THEN t.`id` END,
  CASE WHEN LENGTH(t.`event_id`) <= 65536 THEN t.`event_id` END,
  CASE WHEN LENGTH(t.`headers`) <= 65536 THEN t.`headers` END,
  CASE WHEN LENGTH(t.`payload`) <= 65536 THEN t.`payload` END,
  CASE WHEN LENGTH(t.`source`) <= 65536 THEN t.`source` END,
  CASE WHEN LENGTH(t.`subject`) <= 65536 THEN t.`subject` END,
  CASE WHEN LENGTH(t.`subscription_id`) <= 65536 THEN t.`subscription_id` END,
  CAST(t.`created_at` AS CHAR),
  CAST(t.`timeout_seconds` AS CHAR),
  CASE WHEN LENGTH(t.`traceparent`) <= 65536 THEN t.`traceparent` END,
  CASE WHEN LENGTH(t.`target_url`) <= 65536 THEN t.`target_url` END,
  CASE
    WHEN t.`status` = 'IN_PROGRESS' THEN -1
    WHEN (
      (
        (
          ((t.`status` = 'QUEUED') OR (t.`status` = 'ERROR' AND t.`next_attempt_at` IS NOT NULL))
            AND (t.`next_attempt_at` IS NULL OR t.`next_attempt_at` <= UTC_TIMESTAMP(6))
            AND t.`attempt_count` < GREATEST(COALESCE(t.`max_retries`, 3), 1)
            AND (t.`expires_at` IS NULL OR t.`expires_at` > UTC_TIMESTAMP(6))
            AND (t.`scheduled_for` IS NULL OR t.`scheduled_for` <= UTC_TIMESTAMP(6))
        ) IS TRUE
      )
        AND (t.`dispatch_pool_id` IS NULL OR JSON_CONTAINS(?, JSON_QUOTE(CAST(t.`dispatch_pool_id` AS CHAR))))
    )
      THEN 1
    ELSE 0
    END
FROM `dispatch_jobs` AS t
WHERE t.`live_group_mode` = ?
  AND t.`live_group_mode` IS NOT NULL
  AND (
    (
      t.`mode` IN ('NEXT_ON_ERROR')
        AND ((t.`status` = 'QUEUED') OR (t.`status` = 'ERROR' AND t.`next_attempt_at` IS NOT NULL))
        AND t.`attempt_count` > 0
        AND (
          (t.`next_attempt_at` IS NULL OR t.`next_attempt_at` <= UTC_TIMESTAMP(6))
            AND t.`attempt_count` < GREATEST(COALESCE(t.`max_retries`, 3), 1)
        ) IS NOT TRUE
    )
      OR (
        t.`mode` NOT IN ('IMMEDIATE', 'NEXT_ON_ERROR')
          AND t.`status` = 'ERROR'
          AND t.`next_attempt_at` IS NULL
          AND t.`expires_at` <= UTC_TIMESTAMP(6)
      )
  ) IS NOT TRUE
  AND NOT EXISTS (
    SELECT 1 FROM `dispatch_jobs` AS t WHERE t.`status` = 'IN_PROGRESS' AND t.`live_group_mode` = ?
  )
ORDER BY t.`sequence`, t.`created_at`, t.`id`
LIMIT ?
FOR UPDATE;

-- deliver: claim groups from the cursor, limited 2, step 5: [ClaimTime, Owner, Held] -> Nothing
UPDATE `dispatch_jobs` AS t SET
  t.`status` = 'IN_PROGRESS',
  t.`last_attempt_at` = ?,
  t.`lease_until` = CAST(
    CASE
      WHEN t.`lease_until`
        BETWEEN UTC_TIMESTAMP(6) + INTERVAL 60 SECOND - INTERVAL 1 MICROSECOND
        AND UTC_TIMESTAMP(6) + INTERVAL 60 SECOND + INTERVAL 60 SECOND
        THEN t.`lease_until` + INTERVAL 1 MICROSECOND
      ELSE UTC_TIMESTAMP(6) + INTERVAL 60 SECOND
      END AS DATETIME(6)
  ),
  t.`claimed_by` = LEFT(?, 64),
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- deliver: claim groups from the cursor, limited 2, step 6: [Held] -> Nothing
UPDATE postrider_pools AS b
  JOIN (
    SELECT
      t.`dispatch_pool_id` AS pool,
      count(*) AS n
    FROM `dispatch_jobs` AS t
      WHERE t.`id` IN ({held})
      AND t.`dispatch_pool_id` IS NOT NULL
      GROUP BY t.`dispatch_pool_id`
  ) AS x
  JOIN `dispatch_pools` AS p
  ON p.`id` = x.pool
  AND p.`rate_per_minute`
    > 0 SET b.free_at = GREATEST(
      CASE
        WHEN b.free_at
          > (UNIX_TIMESTAMP(NOW(6)) + 0e0)
            + (CEIL(p.`rate_per_minute` / 60) + 1)
              * (
                6e1
                  / (
                    CASE
                      WHEN p.`rate_per_minute` > 60 THEN p.`rate_per_minute` - CEIL(p.`rate_per_minute` / 60)
                      ELSE p.`rate_per_minute`
                      END
                  )
              )
          THEN 0
        ELSE COALESCE(b.free_at, 0)
        END,
        (UNIX_TIMESTAMP(NOW(6)) + 0e0)
    )
      + x.n
        * (
          6e1
            / (
              CASE
                WHEN p.`rate_per_minute` > 60 THEN p.`rate_per_minute` - CEIL(p.`rate_per_minute` / 60)
                ELSE p.`rate_per_minute`
                END
            )
        )
  WHERE b.pool = x.pool;

-- deliver: load: [Ids] -> Other
SELECT
  CAST(t.`id` AS CHAR),
  t.`service_account_id`,
  t.`client_id`,
  t.`code`,
  t.`payload_content_type`,
  t.`correlation_id`,
  CASE WHEN t.`data_only` THEN 'true' WHEN NOT t.`data_only` THEN 'false' END,
  t.`id`,
  t.`event_id`,
  t.`headers`,
  t.`payload`,
  t.`source`,
  t.`subject`,
  t.`subscription_id`,
  CAST(t.`created_at` AS CHAR),
  CAST(t.`timeout_seconds` AS CHAR),
  t.`traceparent`,
  t.`target_url`
FROM `dispatch_jobs` AS t
WHERE t.`id` IN ({ids});

-- deliver: settle delivered, each, step 1: [Rows([Id, Fence(0), Fence(1)])] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM (
  SELECT *
    FROM JSON_TABLE(
      ?, '$[*]' COLUMNS (`id` VARCHAR(255) PATH '$.id', `f0` DATETIME(6) PATH '$.f0', `f1` BIGINT PATH '$.f1')
    ) AS j
) AS v STRAIGHT_JOIN `dispatch_jobs` AS t
WHERE t.`id` = v.`id`
  AND t.`status` = 'IN_PROGRESS'
  AND t.`last_attempt_at` <=> v.`f0`
  AND t.`attempt_count` <=> v.`f1`
FOR UPDATE;

-- deliver: settle delivered, each, step 2: [Rows([Outcome("duration_ms"), Id]), Held] -> Nothing
UPDATE `dispatch_jobs` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?, '$[*]' COLUMNS (`o_duration_ms` LONGTEXT PATH '$.o_duration_ms', `id` VARCHAR(255) PATH '$.id')
      ) AS j
  ) AS v
  ON t.`id` = v.`id` SET
  t.`duration_millis` = COALESCE(t.`duration_millis`, 0) + COALESCE(v.`o_duration_ms`, 0),
  t.`status` = 'COMPLETED',
  t.`lease_until` = NULL,
  t.`claimed_by` = NULL,
  t.`attempt_count` = t.`attempt_count` + 1,
  t.`last_error` = NULL,
  t.`completed_at` = UTC_TIMESTAMP(6),
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- deliver: settle delivered, each, step 3: [Rows([Tsid, Outcome("duration_ms"), Outcome("result"),
--   Outcome("status"), Outcome("body"), Reason, Outcome("trace"), Outcome("class"), Id]), Held] -> Nothing
INSERT INTO `dispatch_attempts` (
  `id`,
    `job_id`,
    `attempt_number`,
    `attempted_at`,
    `completed_at`,
    `duration_millis`,
    `status`,
    `response_code`,
    `response_body`,
    `error_message`,
    `error_stack_trace`,
    `error_type`,
    `created_at`
)
SELECT
  v.`tsid`,
  t.`id`,
  t.`attempt_count`,
  t.`last_attempt_at`,
  UTC_TIMESTAMP(6),
  v.`o_duration_ms`,
  LEFT(v.`o_result`, 32),
  v.`o_status`,
  v.`o_body`,
  v.`reason`,
  v.`o_trace`,
  LEFT(v.`o_class`, 16),
  UTC_TIMESTAMP(6)
FROM `dispatch_jobs` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?,
          '$[*]' COLUMNS (
            `tsid` CHAR(13) PATH '$.tsid',
              `o_duration_ms` LONGTEXT PATH '$.o_duration_ms',
              `o_result` LONGTEXT PATH '$.o_result',
              `o_status` LONGTEXT PATH '$.o_status',
              `o_body` LONGTEXT PATH '$.o_body',
              `reason` LONGTEXT PATH '$.reason',
              `o_trace` LONGTEXT PATH '$.o_trace',
              `o_class` LONGTEXT PATH '$.o_class',
              `id` VARCHAR(255) PATH '$.id'
          )
      ) AS j
  ) AS v
  ON t.`id` = v.`id`
WHERE t.`id` IN ({held});

-- deliver: settle retry, each, step 1: [Rows([Id, Fence(0), Fence(1)])] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM (
  SELECT *
    FROM JSON_TABLE(
      ?, '$[*]' COLUMNS (`id` VARCHAR(255) PATH '$.id', `f0` DATETIME(6) PATH '$.f0', `f1` BIGINT PATH '$.f1')
    ) AS j
) AS v STRAIGHT_JOIN `dispatch_jobs` AS t
WHERE t.`id` = v.`id`
  AND t.`status` = 'IN_PROGRESS'
  AND t.`last_attempt_at` <=> v.`f0`
  AND t.`attempt_count` <=> v.`f1`
FOR UPDATE;

-- deliver: settle retry, each, step 2: [Rows([Outcome("duration_ms"), Delay, Reason, Id]), Held] -> Nothing
UPDATE `dispatch_jobs` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?,
          '$[*]' COLUMNS (
            `o_duration_ms` LONGTEXT PATH '$.o_duration_ms',
              `delay` DOUBLE PATH '$.delay',
              `reason` LONGTEXT PATH '$.reason',
              `id` VARCHAR(255) PATH '$.id'
          )
      ) AS j
  ) AS v
  ON t.`id` = v.`id` SET
  t.`duration_millis` = COALESCE(t.`duration_millis`, 0) + COALESCE(v.`o_duration_ms`, 0),
  t.`status` = 'ERROR',
  t.`next_attempt_at` = UTC_TIMESTAMP(6) + INTERVAL ROUND(v.`delay` * 1000000) MICROSECOND,
  t.`lease_until` = NULL,
  t.`claimed_by` = NULL,
  t.`attempt_count` = t.`attempt_count` + 1,
  t.`last_error` = v.`reason`,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- deliver: settle retry, each, step 3: [Rows([Tsid, Outcome("duration_ms"), Outcome("result"),
--   Outcome("status"), Outcome("body"), Reason, Outcome("trace"), Outcome("class"), Id]), Held] -> Nothing
INSERT INTO `dispatch_attempts` (
  `id`,
    `job_id`,
    `attempt_number`,
    `attempted_at`,
    `completed_at`,
    `duration_millis`,
    `status`,
    `response_code`,
    `response_body`,
    `error_message`,
    `error_stack_trace`,
    `error_type`,
    `created_at`
)
SELECT
  v.`tsid`,
  t.`id`,
  t.`attempt_count`,
  t.`last_attempt_at`,
  UTC_TIMESTAMP(6),
  v.`o_duration_ms`,
  LEFT(v.`o_result`, 32),
  v.`o_status`,
  v.`o_body`,
  v.`reason`,
  v.`o_trace`,
  LEFT(v.`o_class`, 16),
  UTC_TIMESTAMP(6)
FROM `dispatch_jobs` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?,
          '$[*]' COLUMNS (
            `tsid` CHAR(13) PATH '$.tsid',
              `o_duration_ms` LONGTEXT PATH '$.o_duration_ms',
              `o_result` LONGTEXT PATH '$.o_result',
              `o_status` LONGTEXT PATH '$.o_status',
              `o_body` LONGTEXT PATH '$.o_body',
              `reason` LONGTEXT PATH '$.reason',
              `o_trace` LONGTEXT PATH '$.o_trace',
              `o_class` LONGTEXT PATH '$.o_class',
              `id` VARCHAR(255) PATH '$.id'
          )
      ) AS j
  ) AS v
  ON t.`id` = v.`id`
WHERE t.`id` IN ({held});

-- deliver: settle dead, each, step 1: [Rows([Id, Fence(0), Fence(1)])] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM (
  SELECT *
    FROM JSON_TABLE(
      ?, '$[*]' COLUMNS (`id` VARCHAR(255) PATH '$.id', `f0` DATETIME(6) PATH '$.f0', `f1` BIGINT PATH '$.f1')
    ) AS j
) AS v STRAIGHT_JOIN `dispatch_jobs` AS t
WHERE t.`id` = v.`id`
  AND t.`status` = 'IN_PROGRESS'
  AND t.`last_attempt_at` <=> v.`f0`
  AND t.`attempt_count` <=> v.`f1`
FOR UPDATE;

-- deliver: settle dead, each, step 2: [Rows([Outcome("duration_ms"), Reason, Id]), Held] -> Nothing
UPDATE `dispatch_jobs` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?,
          '$[*]' COLUMNS (
            `o_duration_ms` LONGTEXT PATH '$.o_duration_ms',
              `reason` LONGTEXT PATH '$.reason',
              `id` VARCHAR(255) PATH '$.id'
          )
      ) AS j
  ) AS v
  ON t.`id` = v.`id` SET
  t.`duration_millis` = COALESCE(t.`duration_millis`, 0) + COALESCE(v.`o_duration_ms`, 0),
  t.`status` = 'ERROR',
  t.`next_attempt_at` = NULL,
  t.`lease_until` = NULL,
  t.`claimed_by` = NULL,
  t.`attempt_count` = t.`attempt_count` + 1,
  t.`last_error` = v.`reason`,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- deliver: settle dead, each, step 3: [Rows([Tsid, Outcome("duration_ms"), Outcome("result"),
--   Outcome("status"), Outcome("body"), Reason, Outcome("trace"), Outcome("class"), Id]), Held] -> Nothing
INSERT INTO `dispatch_attempts` (
  `id`,
    `job_id`,
    `attempt_number`,
    `attempted_at`,
    `completed_at`,
    `duration_millis`,
    `status`,
    `response_code`,
    `response_body`,
    `error_message`,
    `error_stack_trace`,
    `error_type`,
    `created_at`
)
SELECT
  v.`tsid`,
  t.`id`,
  t.`attempt_count`,
  t.`last_attempt_at`,
  UTC_TIMESTAMP(6),
  v.`o_duration_ms`,
  LEFT(v.`o_result`, 32),
  v.`o_status`,
  v.`o_body`,
  v.`reason`,
  v.`o_trace`,
  LEFT(v.`o_class`, 16),
  UTC_TIMESTAMP(6)
FROM `dispatch_jobs` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?,
          '$[*]' COLUMNS (
            `tsid` CHAR(13) PATH '$.tsid',
              `o_duration_ms` LONGTEXT PATH '$.o_duration_ms',
              `o_result` LONGTEXT PATH '$.o_result',
              `o_status` LONGTEXT PATH '$.o_status',
              `o_body` LONGTEXT PATH '$.o_body',
              `reason` LONGTEXT PATH '$.reason',
              `o_trace` LONGTEXT PATH '$.o_trace',
              `o_class` LONGTEXT PATH '$.o_class',
              `id` VARCHAR(255) PATH '$.id'
          )
      ) AS j
  ) AS v
  ON t.`id` = v.`id`
WHERE t.`id` IN ({held});

-- deliver: settle rejected, each, step 1: [Rows([Id, Fence(0), Fence(1)])] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM (
  SELECT *
    FROM JSON_TABLE(
      ?, '$[*]' COLUMNS (`id` VARCHAR(255) PATH '$.id', `f0` DATETIME(6) PATH '$.f0', `f1` BIGINT PATH '$.f1')
    ) AS j
) AS v STRAIGHT_JOIN `dispatch_jobs` AS t
WHERE t.`id` = v.`id`
  AND t.`status` = 'IN_PROGRESS'
  AND t.`last_attempt_at` <=> v.`f0`
  AND t.`attempt_count` <=> v.`f1`
FOR UPDATE;

-- deliver: settle rejected, each, step 2: [Rows([Outcome("duration_ms"), Reason, Id]), Held] -> Nothing
UPDATE `dispatch_jobs` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?,
          '$[*]' COLUMNS (
            `o_duration_ms` LONGTEXT PATH '$.o_duration_ms',
              `reason` LONGTEXT PATH '$.reason',
              `id` VARCHAR(255) PATH '$.id'
          )
      ) AS j
  ) AS v
  ON t.`id` = v.`id` SET
  t.`duration_millis` = COALESCE(t.`duration_millis`, 0) + COALESCE(v.`o_duration_ms`, 0),
  t.`status` = 'ERROR',
  t.`next_attempt_at` = NULL,
  t.`lease_until` = NULL,
  t.`claimed_by` = NULL,
  t.`attempt_count` = t.`attempt_count` + 1,
  t.`last_error` = v.`reason`,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- deliver: settle rejected, each, step 3: [Rows([Tsid, Outcome("duration_ms"), Outcome("result"),
--   Outcome("status"), Outcome("body"), Reason, Outcome("trace"), Outcome("class"), Id]), Held] -> Nothing
INSERT INTO `dispatch_attempts` (
  `id`,
    `job_id`,
    `attempt_number`,
    `attempted_at`,
    `completed_at`,
    `duration_millis`,
    `status`,
    `response_code`,
    `response_body`,
    `error_message`,
    `error_stack_trace`,
    `error_type`,
    `created_at`
)
SELECT
  v.`tsid`,
  t.`id`,
  t.`attempt_count`,
  t.`last_attempt_at`,
  UTC_TIMESTAMP(6),
  v.`o_duration_ms`,
  LEFT(v.`o_result`, 32),
  v.`o_status`,
  v.`o_body`,
  v.`reason`,
  v.`o_trace`,
  LEFT(v.`o_class`, 16),
  UTC_TIMESTAMP(6)
FROM `dispatch_jobs` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?,
          '$[*]' COLUMNS (
            `tsid` CHAR(13) PATH '$.tsid',
              `o_duration_ms` LONGTEXT PATH '$.o_duration_ms',
              `o_result` LONGTEXT PATH '$.o_result',
              `o_status` LONGTEXT PATH '$.o_status',
              `o_body` LONGTEXT PATH '$.o_body',
              `reason` LONGTEXT PATH '$.reason',
              `o_trace` LONGTEXT PATH '$.o_trace',
              `o_class` LONGTEXT PATH '$.o_class',
              `id` VARCHAR(255) PATH '$.id'
          )
      ) AS j
  ) AS v
  ON t.`id` = v.`id`
WHERE t.`id` IN ({held});

-- deliver: settle skipped, uniform, step 1: [Ids, One(Fence(0)), One(Fence(1))] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `dispatch_jobs` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'IN_PROGRESS'
  AND t.`last_attempt_at` <=> CAST(? AS DATETIME(6))
  AND t.`attempt_count` <=> CAST(? AS SIGNED)
FOR UPDATE;

-- deliver: settle skipped, uniform, step 2: [One(Outcome("duration_ms")), One(Reason), Held] -> Nothing
UPDATE `dispatch_jobs` AS t SET
  t.`duration_millis` = COALESCE(t.`duration_millis`, 0) + COALESCE(?, 0),
  t.`status` = 'ERROR',
  t.`next_attempt_at` = NULL,
  t.`lease_until` = NULL,
  t.`claimed_by` = NULL,
  t.`attempt_count` = t.`attempt_count` + 1,
  t.`last_error` = ?,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- deliver: settle skipped, each, step 1: [Rows([Id, Fence(0), Fence(1)])] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM (
  SELECT *
    FROM JSON_TABLE(
      ?, '$[*]' COLUMNS (`id` VARCHAR(255) PATH '$.id', `f0` DATETIME(6) PATH '$.f0', `f1` BIGINT PATH '$.f1')
    ) AS j
) AS v STRAIGHT_JOIN `dispatch_jobs` AS t
WHERE t.`id` = v.`id`
  AND t.`status` = 'IN_PROGRESS'
  AND t.`last_attempt_at` <=> v.`f0`
  AND t.`attempt_count` <=> v.`f1`
FOR UPDATE;

-- deliver: settle skipped, each, step 2: [Rows([Outcome("duration_ms"), Reason, Id]), Held] -> Nothing
UPDATE `dispatch_jobs` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?,
          '$[*]' COLUMNS (
            `o_duration_ms` LONGTEXT PATH '$.o_duration_ms',
              `reason` LONGTEXT PATH '$.reason',
              `id` VARCHAR(255) PATH '$.id'
          )
      ) AS j
  ) AS v
  ON t.`id` = v.`id` SET
  t.`duration_millis` = COALESCE(t.`duration_millis`, 0) + COALESCE(v.`o_duration_ms`, 0),
  t.`status` = 'ERROR',
  t.`next_attempt_at` = NULL,
  t.`lease_until` = NULL,
  t.`claimed_by` = NULL,
  t.`attempt_count` = t.`attempt_count` + 1,
  t.`last_error` = v.`reason`,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- deliver: settle deferred, uniform, step 1: [Ids, One(Fence(0)), One(Fence(1))] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `dispatch_jobs` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'IN_PROGRESS'
  AND t.`last_attempt_at` <=> CAST(? AS DATETIME(6))
  AND t.`attempt_count` <=> CAST(? AS SIGNED)
FOR UPDATE;

-- deliver: settle deferred, uniform, step 2: [One(Reason), One(Delay), Held] -> Nothing
UPDATE `dispatch_jobs` AS t SET
  t.`last_error` = COALESCE(?, t.`last_error`),
  t.`status` = CASE WHEN COALESCE(t.`attempt_count`, 0) = 0 THEN 'QUEUED' ELSE 'ERROR' END,
  t.`next_attempt_at` = UTC_TIMESTAMP(6) + INTERVAL ROUND(? * 1000000) MICROSECOND,
  t.`lease_until` = NULL,
  t.`claimed_by` = NULL,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- deliver: settle deferred, each, step 1: [Rows([Id, Fence(0), Fence(1)])] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM (
  SELECT *
    FROM JSON_TABLE(
      ?, '$[*]' COLUMNS (`id` VARCHAR(255) PATH '$.id', `f0` DATETIME(6) PATH '$.f0', `f1` BIGINT PATH '$.f1')
    ) AS j
) AS v STRAIGHT_JOIN `dispatch_jobs` AS t
WHERE t.`id` = v.`id`
  AND t.`status` = 'IN_PROGRESS'
  AND t.`last_attempt_at` <=> v.`f0`
  AND t.`attempt_count` <=> v.`f1`
FOR UPDATE;

-- deliver: settle deferred, each, step 2: [Rows([Reason, Delay, Id]), Held] -> Nothing
UPDATE `dispatch_jobs` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?,
          '$[*]' COLUMNS (
            `reason` LONGTEXT PATH '$.reason', `delay` DOUBLE PATH '$.delay', `id` VARCHAR(255) PATH '$.id'
          )
      ) AS j
  ) AS v
  ON t.`id` = v.`id` SET
  t.`last_error` = COALESCE(v.`reason`, t.`last_error`),
  t.`status` = CASE WHEN COALESCE(t.`attempt_count`, 0) = 0 THEN 'QUEUED' ELSE 'ERROR' END,
  t.`next_attempt_at` = UTC_TIMESTAMP(6) + INTERVAL ROUND(v.`delay` * 1000000) MICROSECOND,
  t.`lease_until` = NULL,
  t.`claimed_by` = NULL,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- deliver: settle released, uniform, step 1: [Ids, One(Fence(0)), One(Fence(1))] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `dispatch_jobs` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'IN_PROGRESS'
  AND t.`last_attempt_at` <=> CAST(? AS DATETIME(6))
  AND t.`attempt_count` <=> CAST(? AS SIGNED)
FOR UPDATE;

-- deliver: settle released, uniform, step 2: [Held] -> Nothing
UPDATE `dispatch_jobs` AS t SET
  t.`status` = CASE WHEN COALESCE(t.`attempt_count`, 0) = 0 THEN 'QUEUED' ELSE 'ERROR' END,
  t.`next_attempt_at` = COALESCE(t.`next_attempt_at`, UTC_TIMESTAMP(6)),
  t.`lease_until` = NULL,
  t.`claimed_by` = NULL,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- deliver: settle released, each, step 1: [Rows([Id, Fence(0), Fence(1)])] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM (
  SELECT *
    FROM JSON_TABLE(
      ?, '$[*]' COLUMNS (`id` VARCHAR(255) PATH '$.id', `f0` DATETIME(6) PATH '$.f0', `f1` BIGINT PATH '$.f1')
    ) AS j
) AS v STRAIGHT_JOIN `dispatch_jobs` AS t
WHERE t.`id` = v.`id`
  AND t.`status` = 'IN_PROGRESS'
  AND t.`last_attempt_at` <=> v.`f0`
  AND t.`attempt_count` <=> v.`f1`
FOR UPDATE;

-- deliver: settle released, each, step 2: [Held] -> Nothing
UPDATE `dispatch_jobs` AS t SET
  t.`status` = CASE WHEN COALESCE(t.`attempt_count`, 0) = 0 THEN 'QUEUED' ELSE 'ERROR' END,
  t.`next_attempt_at` = COALESCE(t.`next_attempt_at`, UTC_TIMESTAMP(6)),
  t.`lease_until` = NULL,
  t.`claimed_by` = NULL,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- deliver: extend, step 1: [Rows([Id, Fence(0), Fence(1)])] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM (
  SELECT *
    FROM JSON_TABLE(
      ?, '$[*]' COLUMNS (`id` VARCHAR(255) PATH '$.id', `f0` DATETIME(6) PATH '$.f0', `f1` BIGINT PATH '$.f1')
    ) AS j
) AS v STRAIGHT_JOIN `dispatch_jobs` AS t
WHERE t.`id` = v.`id`
  AND t.`status` = 'IN_PROGRESS'
  AND t.`last_attempt_at` <=> v.`f0`
  AND t.`attempt_count` <=> v.`f1`
FOR UPDATE;

-- deliver: extend, step 2: [Held] -> Nothing
UPDATE `dispatch_jobs` AS t SET
  t.`lease_until` = CAST(
    CASE
      WHEN t.`lease_until`
        BETWEEN UTC_TIMESTAMP(6) + INTERVAL 60 SECOND - INTERVAL 1 MICROSECOND
        AND UTC_TIMESTAMP(6) + INTERVAL 60 SECOND + INTERVAL 60 SECOND
        THEN t.`lease_until` + INTERVAL 1 MICROSECOND
      ELSE UTC_TIMESTAMP(6) + INTERVAL 60 SECOND
      END AS DATETIME(6)
  ),
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- deliver: extend, step 3: [Held] -> Leases
SELECT
  CAST(t.`id` AS CHAR),
  CAST(t.`last_attempt_at` AS CHAR),
  CAST(t.`attempt_count` AS CHAR)
FROM `dispatch_jobs` AS t
WHERE t.`id` IN ({held});

-- deliver: stamp, step 1: [Limit] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `dispatch_jobs` AS t
WHERE t.`status` = 'IN_PROGRESS'
  AND t.`last_attempt_at` IS NULL
  AND t.`lease_until` IS NULL
LIMIT ?;

-- deliver: stamp, step 2: [Held] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `dispatch_jobs` AS t
WHERE t.`id` IN ({held})
  AND t.`status` = 'IN_PROGRESS'
  AND t.`last_attempt_at` IS NULL
  AND t.`lease_until` IS NULL
FOR UPDATE SKIP LOCKED;

-- deliver: stamp, step 3: [Held] -> Nothing
UPDATE `dispatch_jobs` AS t SET t.`last_attempt_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- deliver: leases that still hold: [Rows([Id, Fence(0), Fence(1)])] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM (
  SELECT *
    FROM JSON_TABLE(
      ?, '$[*]' COLUMNS (`id` VARCHAR(255) PATH '$.id', `f0` DATETIME(6) PATH '$.f0', `f1` BIGINT PATH '$.f1')
    ) AS j
) AS v STRAIGHT_JOIN `dispatch_jobs` AS t
WHERE t.`id` = v.`id`
  AND t.`status` = 'IN_PROGRESS'
  AND t.`last_attempt_at` <=> v.`f0`
  AND t.`attempt_count` <=> v.`f1`
  AND (
    (
      t.`lease_until` < UTC_TIMESTAMP(6)
        OR (t.`lease_until` IS NULL AND t.`last_attempt_at` < UTC_TIMESTAMP(6) - INTERVAL 300 SECOND)
    )
  ) IS NOT TRUE;

-- deliver: look for rows of a lost claim: [Owner] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `dispatch_jobs` AS t
WHERE t.`status` = 'IN_PROGRESS'
  AND t.`claimed_by` = ?;

-- deliver: release rows of a lost claim, step 1: [Ids, Owner] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `dispatch_jobs` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'IN_PROGRESS'
  AND t.`claimed_by` = ?
FOR UPDATE;

-- deliver: release rows of a lost claim, step 2: [Held] -> Nothing
UPDATE `dispatch_jobs` AS t SET
  t.`status` = CASE WHEN COALESCE(t.`attempt_count`, 0) = 0 THEN 'QUEUED' ELSE 'ERROR' END,
  t.`next_attempt_at` = COALESCE(t.`next_attempt_at`, UTC_TIMESTAMP(6)),
  t.`lease_until` = NULL,
  t.`claimed_by` = NULL,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- deliver: look for expired leases: [Limit] -> Other
SELECT
  CAST(t.`id` AS CHAR),
  CAST(t.`last_attempt_at` AS CHAR),
  CAST(t.`attempt_count` AS CHAR),
  CASE WHEN t.`attempt_count` + 1 >= GREATEST(COALESCE(t.`max_retries`, 3), 1) THEN 1 ELSE 0 END,
  GREATEST(COALESCE(t.`max_retries`, 3), 1)
FROM `dispatch_jobs` AS t
WHERE t.`status` = 'IN_PROGRESS'
  AND (
    t.`lease_until` < UTC_TIMESTAMP(6)
      OR (t.`lease_until` IS NULL AND t.`last_attempt_at` < UTC_TIMESTAMP(6) - INTERVAL 300 SECOND)
  )
LIMIT ?;

-- deliver: reclaim, free, step 1: [Ids] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `dispatch_jobs` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'IN_PROGRESS'
  AND (
    t.`lease_until` < UTC_TIMESTAMP(6)
      OR (t.`lease_until` IS NULL AND t.`last_attempt_at` < UTC_TIMESTAMP(6) - INTERVAL 300 SECOND)
  )
FOR UPDATE;

-- deliver: reclaim, free, step 2: [Held] -> Nothing
UPDATE `dispatch_jobs` AS t SET
  t.`status` = CASE WHEN COALESCE(t.`attempt_count`, 0) = 0 THEN 'QUEUED' ELSE 'ERROR' END,
  t.`next_attempt_at` = COALESCE(t.`next_attempt_at`, UTC_TIMESTAMP(6)),
  t.`lease_until` = NULL,
  t.`claimed_by` = NULL,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- deliver: reclaim, spared, step 1: [Ids] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `dispatch_jobs` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'IN_PROGRESS'
  AND (
    t.`lease_until` < UTC_TIMESTAMP(6)
      OR (t.`lease_until` IS NULL AND t.`last_attempt_at` < UTC_TIMESTAMP(6) - INTERVAL 300 SECOND)
  )
FOR UPDATE;

-- deliver: reclaim, spared, step 2: [Held] -> Nothing
UPDATE `dispatch_jobs` AS t SET
  t.`status` = CASE WHEN COALESCE(t.`attempt_count`, 0) = 0 THEN 'QUEUED' ELSE 'ERROR' END,
  t.`next_attempt_at` = COALESCE(t.`next_attempt_at`, UTC_TIMESTAMP(6)),
  t.`lease_until` = NULL,
  t.`claimed_by` = NULL,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- deliver: reclaim, spared, step 3: [Held] -> Nothing
INSERT INTO postrider_crashes (place, row_id, crashes, crashed_at)
SELECT
  'dispatch_jobs/deliver',
  CAST(CAST(t.`id` AS CHAR) AS CHAR),
  1,
  UTC_TIMESTAMP(6)
FROM `dispatch_jobs` AS t WHERE t.`id` IN ({held})
ON DUPLICATE KEY UPDATE crashes = postrider_crashes.crashes + 1, crashed_at = VALUES(crashed_at);

-- deliver: reclaim, charged, step 1: [Ids] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `dispatch_jobs` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'IN_PROGRESS'
  AND (
    t.`lease_until` < UTC_TIMESTAMP(6)
      OR (t.`lease_until` IS NULL AND t.`last_attempt_at` < UTC_TIMESTAMP(6) - INTERVAL 300 SECOND)
  )
FOR UPDATE;

-- deliver: reclaim, charged, step 2: [Held] -> Nothing
UPDATE `dispatch_jobs` AS t SET
  t.`status` = 'ERROR',
  t.`next_attempt_at` = UTC_TIMESTAMP(6),
  t.`lease_until` = NULL,
  t.`claimed_by` = NULL,
  t.`attempt_count` = t.`attempt_count` + 1,
  t.`last_error` = 'lease expired: the worker that held it is gone',
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- deliver: reclaim, charged, step 3: [Held] -> Nothing
INSERT INTO `dispatch_attempts` (
  `id`,
    `job_id`,
    `attempt_number`,
    `attempted_at`,
    `completed_at`,
    `status`,
    `error_message`,
    `error_type`,
    `created_at`
)
SELECT
  CONCAT(
    substr(
      '0123456789ABCDEFGHJKMNPQRSTVWXYZ',
        CAST(
          (
            CAST(
              (
                (
                  (FLOOR(UNIX_TIMESTAMP(UTC_TIMESTAMP(6)) * 1000))
                    - 1577836800000
                    + ((row_number() OVER ()) >> 12)
                )
                  * 4194304
                  + ((FLOOR(UNIX_TIMESTAMP(UTC_TIMESTAMP(6)) * 1000000) + CONNECTION_ID()) & 1023) * 4096
                  + ((row_number() OVER ()) & 4095)
              ) AS UNSIGNED
            ) >> 60
          ) & 31 AS SIGNED
        )
          + 1,
        1
    ),
      substr(
        '0123456789ABCDEFGHJKMNPQRSTVWXYZ',
          CAST(
            (
              CAST(
                (
                  (
                    (FLOOR(UNIX_TIMESTAMP(UTC_TIMESTAMP(6)) * 1000))
                      - 1577836800000
                      + ((row_number() OVER ()) >> 12)
                  )
                    * 4194304
                    + ((FLOOR(UNIX_TIMESTAMP(UTC_TIMESTAMP(6)) * 1000000) + CONNECTION_ID()) & 1023) * 4096
                    + ((row_number() OVER ()) & 4095)
                ) AS UNSIGNED
              ) >> 55
            ) & 31 AS SIGNED
          )
            + 1,
          1
      ),
      substr(
        '0123456789ABCDEFGHJKMNPQRSTVWXYZ',
          CAST(
            (
              CAST(
                (
                  (
                    (FLOOR(UNIX_TIMESTAMP(UTC_TIMESTAMP(6)) * 1000))
                      - 1577836800000
                      + ((row_number() OVER ()) >> 12)
                  )
                    * 4194304
                    + ((FLOOR(UNIX_TIMESTAMP(UTC_TIMESTAMP(6)) * 1000000) + CONNECTION_ID()) & 1023) * 4096
                    + ((row_number() OVER ()) & 4095)
                ) AS UNSIGNED
              ) >> 50
            ) & 31 AS SIGNED
          )
            + 1,
          1
      ),
      substr(
        '0123456789ABCDEFGHJKMNPQRSTVWXYZ',
          CAST(
            (
              CAST(
                (
                  (
                    (FLOOR(UNIX_TIMESTAMP(UTC_TIMESTAMP(6)) * 1000))
                      - 1577836800000
                      + ((row_number() OVER ()) >> 12)
                  )
                    * 4194304
                    + ((FLOOR(UNIX_TIMESTAMP(UTC_TIMESTAMP(6)) * 1000000) + CONNECTION_ID()) & 1023) * 4096
                    + ((row_number() OVER ()) & 4095)
                ) AS UNSIGNED
              ) >> 45
            ) & 31 AS SIGNED
          )
            + 1,
          1
      ),
      substr(
        '0123456789ABCDEFGHJKMNPQRSTVWXYZ',
          CAST(
            (
              CAST(
                (
                  (
                    (FLOOR(UNIX_TIMESTAMP(UTC_TIMESTAMP(6)) * 1000))
                      - 1577836800000
                      + ((row_number() OVER ()) >> 12)
                  )
                    * 4194304
                    + ((FLOOR(UNIX_TIMESTAMP(UTC_TIMESTAMP(6)) * 1000000) + CONNECTION_ID()) & 1023) * 4096
                    + ((row_number() OVER ()) & 4095)
                ) AS UNSIGNED
              ) >> 40
            ) & 31 AS SIGNED
          )
            + 1,
          1
      ),
      substr(
        '0123456789ABCDEFGHJKMNPQRSTVWXYZ',
          CAST(
            (
              CAST(
                (
                  (
                    (FLOOR(UNIX_TIMESTAMP(UTC_TIMESTAMP(6)) * 1000))
                      - 1577836800000
                      + ((row_number() OVER ()) >> 12)
                  )
                    * 4194304
                    + ((FLOOR(UNIX_TIMESTAMP(UTC_TIMESTAMP(6)) * 1000000) + CONNECTION_ID()) & 1023) * 4096
                    + ((row_number() OVER ()) & 4095)
                ) AS UNSIGNED
              ) >> 35
            ) & 31 AS SIGNED
          )
            + 1,
          1
      ),
      substr(
        '0123456789ABCDEFGHJKMNPQRSTVWXYZ',
          CAST(
            (
              CAST(
                (
                  (
                    (FLOOR(UNIX_TIMESTAMP(UTC_TIMESTAMP(6)) * 1000))
                      - 1577836800000
                      + ((row_number() OVER ()) >> 12)
                  )
                    * 4194304
                    + ((FLOOR(UNIX_TIMESTAMP(UTC_TIMESTAMP(6)) * 1000000) + CONNECTION_ID()) & 1023) * 4096
                    + ((row_number() OVER ()) & 4095)
                ) AS UNSIGNED
              ) >> 30
            ) & 31 AS SIGNED
          )
            + 1,
          1
      ),
      substr(
        '0123456789ABCDEFGHJKMNPQRSTVWXYZ',
          CAST(
            (
              CAST(
                (
                  (
                    (FLOOR(UNIX_TIMESTAMP(UTC_TIMESTAMP(6)) * 1000))
                      - 1577836800000
                      + ((row_number() OVER ()) >> 12)
                  )
                    * 4194304
                    + ((FLOOR(UNIX_TIMESTAMP(UTC_TIMESTAMP(6)) * 1000000) + CONNECTION_ID()) & 1023) * 4096
                    + ((row_number() OVER ()) & 4095)
                ) AS UNSIGNED
              ) >> 25
            ) & 31 AS SIGNED
          )
            + 1,
          1
      ),
      substr(
        '0123456789ABCDEFGHJKMNPQRSTVWXYZ',
          CAST(
            (
              CAST(
                (
                  (
                    (FLOOR(UNIX_TIMESTAMP(UTC_TIMESTAMP(6)) * 1000))
                      - 1577836800000
                      + ((row_number() OVER ()) >> 12)
                  )
                    * 4194304
                    + ((FLOOR(UNIX_TIMESTAMP(UTC_TIMESTAMP(6)) * 1000000) + CONNECTION_ID()) & 1023) * 4096
                    + ((row_number() OVER ()) & 4095)
                ) AS UNSIGNED
              ) >> 20
            ) & 31 AS SIGNED
          )
            + 1,
          1
      ),
      substr(
        '0123456789ABCDEFGHJKMNPQRSTVWXYZ',
          CAST(
            (
              CAST(
                (
                  (
                    (FLOOR(UNIX_TIMESTAMP(UTC_TIMESTAMP(6)) * 1000))
                      - 1577836800000
                      + ((row_number() OVER ()) >> 12)
                  )
                    * 4194304
                    + ((FLOOR(UNIX_TIMESTAMP(UTC_TIMESTAMP(6)) * 1000000) + CONNECTION_ID()) & 1023) * 4096
                    + ((row_number() OVER ()) & 4095)
                ) AS UNSIGNED
              ) >> 15
            ) & 31 AS SIGNED
          )
            + 1,
          1
      ),
      substr(
        '0123456789ABCDEFGHJKMNPQRSTVWXYZ',
          CAST(
            (
              CAST(
                (
                  (
                    (FLOOR(UNIX_TIMESTAMP(UTC_TIMESTAMP(6)) * 1000))
                      - 1577836800000
                      + ((row_number() OVER ()) >> 12)
                  )
                    * 4194304
                    + ((FLOOR(UNIX_TIMESTAMP(UTC_TIMESTAMP(6)) * 1000000) + CONNECTION_ID()) & 1023) * 4096
                    + ((row_number() OVER ()) & 4095)
                ) AS UNSIGNED
              ) >> 10
            ) & 31 AS SIGNED
          )
            + 1,
          1
      ),
      substr(
        '0123456789ABCDEFGHJKMNPQRSTVWXYZ',
          CAST(
            (
              CAST(
                (
                  (
                    (FLOOR(UNIX_TIMESTAMP(UTC_TIMESTAMP(6)) * 1000))
                      - 1577836800000
                      + ((row_number() OVER ()) >> 12)
                  )
                    * 4194304
                    + ((FLOOR(UNIX_TIMESTAMP(UTC_TIMESTAMP(6)) * 1000000) + CONNECTION_ID()) & 1023) * 4096
                    + ((row_number() OVER ()) & 4095)
                ) AS UNSIGNED
              ) >> 5
            ) & 31 AS SIGNED
          )
            + 1,
          1
      ),
      substr(
        '0123456789ABCDEFGHJKMNPQRSTVWXYZ',
          CAST(
            (
              CAST(
                (
                  (
                    (FLOOR(UNIX_TIMESTAMP(UTC_TIMESTAMP(6)) * 1000))
                      - 1577836800000
                      + ((row_number() OVER ()) >> 12)
                  )
                    * 4194304
                    + ((FLOOR(UNIX_TIMESTAMP(UTC_TIMESTAMP(6)) * 1000000) + CONNECTION_ID()) & 1023) * 4096
                    + ((row_number() OVER ()) & 4095)
                ) AS UNSIGNED
              ) >> 0
            ) & 31 AS SIGNED
          )
            + 1,
          1
      )
  ),
  t.`id`,
  t.`attempt_count`,
  t.`last_attempt_at`,
  UTC_TIMESTAMP(6),
  'CONNECTION_ERROR',
  'worker lost',
  'UNKNOWN',
  UTC_TIMESTAMP(6)
FROM `dispatch_jobs` AS t
WHERE t.`id` IN ({held});

-- deliver: reclaim, charged, step 4: [Held] -> Nothing
INSERT INTO postrider_crashes (place, row_id, crashes, crashed_at)
SELECT
  'dispatch_jobs/deliver',
  CAST(CAST(t.`id` AS CHAR) AS CHAR),
  1,
  UTC_TIMESTAMP(6)
FROM `dispatch_jobs` AS t WHERE t.`id` IN ({held})
ON DUPLICATE KEY UPDATE crashes = postrider_crashes.crashes + 1, crashed_at = VALUES(crashed_at);

-- deliver: reclaim, dead, step 1: [Ids] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `dispatch_jobs` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'IN_PROGRESS'
  AND (
    t.`lease_until` < UTC_TIMESTAMP(6)
      OR (t.`lease_until` IS NULL AND t.`last_attempt_at` < UTC_TIMESTAMP(6) - INTERVAL 300 SECOND)
  )
FOR UPDATE;

-- deliver: reclaim, dead, step 2: [Held] -> Nothing
UPDATE `dispatch_jobs` AS t SET
  t.`status` = 'ERROR',
  t.`next_attempt_at` = NULL,
  t.`lease_until` = NULL,
  t.`claimed_by` = NULL,
  t.`attempt_count` = t.`attempt_count` + 1,
  t.`last_error` = 'poison row: its workers crashed repeatedly, also when it was delivered alone',
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- deliver: reclaim, dead, step 3: [Held] -> Nothing
INSERT INTO `dispatch_attempts` (
  `id`,
    `job_id`,
    `attempt_number`,
    `attempted_at`,
    `completed_at`,
    `status`,
    `error_message`,
    `error_type`,
    `created_at`
)
SELECT
  CONCAT(
    substr(
      '0123456789ABCDEFGHJKMNPQRSTVWXYZ',
        CAST(
          (
            CAST(
              (
                (
                  (FLOOR(UNIX_TIMESTAMP(UTC_TIMESTAMP(6)) * 1000))
                    - 1577836800000
                    + ((row_number() OVER ()) >> 12)
                )
                  * 4194304
                  + ((FLOOR(UNIX_TIMESTAMP(UTC_TIMESTAMP(6)) * 1000000) + CONNECTION_ID()) & 1023) * 4096
                  + ((row_number() OVER ()) & 4095)
              ) AS UNSIGNED
            ) >> 60
          ) & 31 AS SIGNED
        )
          + 1,
        1
    ),
      substr(
        '0123456789ABCDEFGHJKMNPQRSTVWXYZ',
          CAST(
            (
              CAST(
                (
                  (
                    (FLOOR(UNIX_TIMESTAMP(UTC_TIMESTAMP(6)) * 1000))
                      - 1577836800000
                      + ((row_number() OVER ()) >> 12)
                  )
                    * 4194304
                    + ((FLOOR(UNIX_TIMESTAMP(UTC_TIMESTAMP(6)) * 1000000) + CONNECTION_ID()) & 1023) * 4096
                    + ((row_number() OVER ()) & 4095)
                ) AS UNSIGNED
              ) >> 55
            ) & 31 AS SIGNED
          )
            + 1,
          1
      ),
      substr(
        '0123456789ABCDEFGHJKMNPQRSTVWXYZ',
          CAST(
            (
              CAST(
                (
                  (
                    (FLOOR(UNIX_TIMESTAMP(UTC_TIMESTAMP(6)) * 1000))
                      - 1577836800000
                      + ((row_number() OVER ()) >> 12)
                  )
                    * 4194304
                    + ((FLOOR(UNIX_TIMESTAMP(UTC_TIMESTAMP(6)) * 1000000) + CONNECTION_ID()) & 1023) * 4096
                    + ((row_number() OVER ()) & 4095)
                ) AS UNSIGNED
              ) >> 50
            ) & 31 AS SIGNED
          )
            + 1,
          1
      ),
      substr(
        '0123456789ABCDEFGHJKMNPQRSTVWXYZ',
          CAST(
            (
              CAST(
                (
                  (
                    (FLOOR(UNIX_TIMESTAMP(UTC_TIMESTAMP(6)) * 1000))
                      - 1577836800000
                      + ((row_number() OVER ()) >> 12)
                  )
                    * 4194304
                    + ((FLOOR(UNIX_TIMESTAMP(UTC_TIMESTAMP(6)) * 1000000) + CONNECTION_ID()) & 1023) * 4096
                    + ((row_number() OVER ()) & 4095)
                ) AS UNSIGNED
              ) >> 45
            ) & 31 AS SIGNED
          )
            + 1,
          1
      ),
      substr(
        '0123456789ABCDEFGHJKMNPQRSTVWXYZ',
          CAST(
            (
              CAST(
                (
                  (
                    (FLOOR(UNIX_TIMESTAMP(UTC_TIMESTAMP(6)) * 1000))
                      - 1577836800000
                      + ((row_number() OVER ()) >> 12)
                  )
                    * 4194304
                    + ((FLOOR(UNIX_TIMESTAMP(UTC_TIMESTAMP(6)) * 1000000) + CONNECTION_ID()) & 1023) * 4096
                    + ((row_number() OVER ()) & 4095)
                ) AS UNSIGNED
              ) >> 40
            ) & 31 AS SIGNED
          )
            + 1,
          1
      ),
      substr(
        '0123456789ABCDEFGHJKMNPQRSTVWXYZ',
          CAST(
            (
              CAST(
                (
                  (
                    (FLOOR(UNIX_TIMESTAMP(UTC_TIMESTAMP(6)) * 1000))
                      - 1577836800000
                      + ((row_number() OVER ()) >> 12)
                  )
                    * 4194304
                    + ((FLOOR(UNIX_TIMESTAMP(UTC_TIMESTAMP(6)) * 1000000) + CONNECTION_ID()) & 1023) * 4096
                    + ((row_number() OVER ()) & 4095)
                ) AS UNSIGNED
              ) >> 35
            ) & 31 AS SIGNED
          )
            + 1,
          1
      ),
      substr(
        '0123456789ABCDEFGHJKMNPQRSTVWXYZ',
          CAST(
            (
              CAST(
                (
                  (
                    (FLOOR(UNIX_TIMESTAMP(UTC_TIMESTAMP(6)) * 1000))
                      - 1577836800000
                      + ((row_number() OVER ()) >> 12)
                  )
                    * 4194304
                    + ((FLOOR(UNIX_TIMESTAMP(UTC_TIMESTAMP(6)) * 1000000) + CONNECTION_ID()) & 1023) * 4096
                    + ((row_number() OVER ()) & 4095)
                ) AS UNSIGNED
              ) >> 30
            ) & 31 AS SIGNED
          )
            + 1,
          1
      ),
      substr(
        '0123456789ABCDEFGHJKMNPQRSTVWXYZ',
          CAST(
            (
              CAST(
                (
                  (
                    (FLOOR(UNIX_TIMESTAMP(UTC_TIMESTAMP(6)) * 1000))
                      - 1577836800000
                      + ((row_number() OVER ()) >> 12)
                  )
                    * 4194304
                    + ((FLOOR(UNIX_TIMESTAMP(UTC_TIMESTAMP(6)) * 1000000) + CONNECTION_ID()) & 1023) * 4096
                    + ((row_number() OVER ()) & 4095)
                ) AS UNSIGNED
              ) >> 25
            ) & 31 AS SIGNED
          )
            + 1,
          1
      ),
      substr(
        '0123456789ABCDEFGHJKMNPQRSTVWXYZ',
          CAST(
            (
              CAST(
                (
                  (
                    (FLOOR(UNIX_TIMESTAMP(UTC_TIMESTAMP(6)) * 1000))
                      - 1577836800000
                      + ((row_number() OVER ()) >> 12)
                  )
                    * 4194304
                    + ((FLOOR(UNIX_TIMESTAMP(UTC_TIMESTAMP(6)) * 1000000) + CONNECTION_ID()) & 1023) * 4096
                    + ((row_number() OVER ()) & 4095)
                ) AS UNSIGNED
              ) >> 20
            ) & 31 AS SIGNED
          )
            + 1,
          1
      ),
      substr(
        '0123456789ABCDEFGHJKMNPQRSTVWXYZ',
          CAST(
            (
              CAST(
                (
                  (
                    (FLOOR(UNIX_TIMESTAMP(UTC_TIMESTAMP(6)) * 1000))
                      - 1577836800000
                      + ((row_number() OVER ()) >> 12)
                  )
                    * 4194304
                    + ((FLOOR(UNIX_TIMESTAMP(UTC_TIMESTAMP(6)) * 1000000) + CONNECTION_ID()) & 1023) * 4096
                    + ((row_number() OVER ()) & 4095)
                ) AS UNSIGNED
              ) >> 15
            ) & 31 AS SIGNED
          )
            + 1,
          1
      ),
      substr(
        '0123456789ABCDEFGHJKMNPQRSTVWXYZ',
          CAST(
            (
              CAST(
                (
                  (
                    (FLOOR(UNIX_TIMESTAMP(UTC_TIMESTAMP(6)) * 1000))
                      - 1577836800000
                      + ((row_number() OVER ()) >> 12)
                  )
                    * 4194304
                    + ((FLOOR(UNIX_TIMESTAMP(UTC_TIMESTAMP(6)) * 1000000) + CONNECTION_ID()) & 1023) * 4096
                    + ((row_number() OVER ()) & 4095)
                ) AS UNSIGNED
              ) >> 10
            ) & 31 AS SIGNED
          )
            + 1,
          1
      ),
      substr(
        '0123456789ABCDEFGHJKMNPQRSTVWXYZ',
          CAST(
            (
              CAST(
                (
                  (
                    (FLOOR(UNIX_TIMESTAMP(UTC_TIMESTAMP(6)) * 1000))
                      - 1577836800000
                      + ((row_number() OVER ()) >> 12)
                  )
                    * 4194304
                    + ((FLOOR(UNIX_TIMESTAMP(UTC_TIMESTAMP(6)) * 1000000) + CONNECTION_ID()) & 1023) * 4096
                    + ((row_number() OVER ()) & 4095)
                ) AS UNSIGNED
              ) >> 5
            ) & 31 AS SIGNED
          )
            + 1,
          1
      ),
      substr(
        '0123456789ABCDEFGHJKMNPQRSTVWXYZ',
          CAST(
            (
              CAST(
                (
                  (
                    (FLOOR(UNIX_TIMESTAMP(UTC_TIMESTAMP(6)) * 1000))
                      - 1577836800000
                      + ((row_number() OVER ()) >> 12)
                  )
                    * 4194304
                    + ((FLOOR(UNIX_TIMESTAMP(UTC_TIMESTAMP(6)) * 1000000) + CONNECTION_ID()) & 1023) * 4096
                    + ((row_number() OVER ()) & 4095)
                ) AS UNSIGNED
              ) >> 0
            ) & 31 AS SIGNED
          )
            + 1,
          1
      )
  ),
  t.`id`,
  t.`attempt_count`,
  t.`last_attempt_at`,
  UTC_TIMESTAMP(6),
  'CONNECTION_ERROR',
  'worker lost',
  'UNKNOWN',
  UTC_TIMESTAMP(6)
FROM `dispatch_jobs` AS t
WHERE t.`id` IN ({held});

-- deliver: reclaim, dead, step 4: [Held] -> Nothing
DELETE
  FROM postrider_crashes
  WHERE place = 'dispatch_jobs/deliver'
  AND row_id IN (SELECT CAST(CAST(t.`id` AS CHAR) AS CHAR) FROM `dispatch_jobs` AS t WHERE t.`id` IN ({held}));

-- deliver: spent, step 1: [Limit] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `dispatch_jobs` AS t
WHERE ((t.`status` = 'QUEUED') OR (t.`status` = 'ERROR' AND t.`next_attempt_at` IS NOT NULL))
  AND t.`attempt_count` >= GREATEST(COALESCE(t.`max_retries`, 3), 1)
LIMIT ?;

-- deliver: spent, step 2: [Held] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `dispatch_jobs` AS t
WHERE t.`id` IN ({held})
  AND ((t.`status` = 'QUEUED') OR (t.`status` = 'ERROR' AND t.`next_attempt_at` IS NOT NULL))
  AND t.`attempt_count` >= GREATEST(COALESCE(t.`max_retries`, 3), 1)
FOR UPDATE SKIP LOCKED;

-- deliver: spent, step 3: [Held] -> Nothing
UPDATE `dispatch_jobs` AS t SET
  t.`last_error` = COALESCE(t.`last_error`, 'no attempts left'),
  t.`status` = 'ERROR',
  t.`next_attempt_at` = NULL,
  t.`lease_until` = NULL,
  t.`claimed_by` = NULL,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- deliver: sweep 1, step 1: [Limit] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `dispatch_jobs` AS t
WHERE t.`status` = 'QUEUED'
  AND t.`queued_at` IS NOT NULL
  AND t.`queued_at` < UTC_TIMESTAMP(6) - INTERVAL 900 SECOND
  AND (t.`next_attempt_at` IS NULL OR t.`next_attempt_at` <= UTC_TIMESTAMP(6))
  AND t.`live_group_mode` IS NULL
  AND (t.`dispatch_pool_id` IS NULL OR t.`dispatch_pool_id` = '')
LIMIT ?;

-- deliver: sweep 1, step 2: [Held] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `dispatch_jobs` AS t
WHERE t.`id` IN ({held})
  AND t.`status` = 'QUEUED'
  AND t.`queued_at` IS NOT NULL
  AND t.`queued_at` < UTC_TIMESTAMP(6) - INTERVAL 900 SECOND
  AND (t.`next_attempt_at` IS NULL OR t.`next_attempt_at` <= UTC_TIMESTAMP(6))
  AND t.`live_group_mode` IS NULL
  AND (t.`dispatch_pool_id` IS NULL OR t.`dispatch_pool_id` = '')
FOR UPDATE SKIP LOCKED;

-- deliver: sweep 1, step 3: [Held] -> Nothing
UPDATE `dispatch_jobs` AS t SET
  t.`status` = 'PENDING',
  t.`lease_until` = NULL,
  t.`claimed_by` = NULL,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- deliver: sweep 2, step 1: [Limit] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `dispatch_jobs` AS t
WHERE t.`status` = 'PENDING'
  AND (t.`scheduled_for` IS NULL OR t.`scheduled_for` <= UTC_TIMESTAMP(6))
LIMIT ?;

-- deliver: sweep 2, step 2: [Held] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `dispatch_jobs` AS t
WHERE t.`id` IN ({held})
  AND t.`status` = 'PENDING'
  AND (t.`scheduled_for` IS NULL OR t.`scheduled_for` <= UTC_TIMESTAMP(6))
FOR UPDATE SKIP LOCKED;

-- deliver: sweep 2, step 3: [Held] -> Nothing
UPDATE `dispatch_jobs` AS t SET
  t.`queued_at` = UTC_TIMESTAMP(6),
  t.`status` = 'QUEUED',
  t.`lease_until` = NULL,
  t.`claimed_by` = NULL,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- deliver: sweep 3, step 1: [Limit] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `dispatch_jobs` AS t
WHERE (
  (t.`status` = 'QUEUED')
    OR (t.`status` = 'PENDING')
    OR (t.`status` = 'ERROR' AND t.`next_attempt_at` IS NOT NULL)
)
  AND t.`expires_at` IS NOT NULL
  AND t.`expires_at` <= UTC_TIMESTAMP(6)
LIMIT ?;

-- deliver: sweep 3, step 2: [Held] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `dispatch_jobs` AS t
WHERE t.`id` IN ({held})
  AND (
    (t.`status` = 'QUEUED')
      OR (t.`status` = 'PENDING')
      OR (t.`status` = 'ERROR' AND t.`next_attempt_at` IS NOT NULL)
  )
  AND t.`expires_at` IS NOT NULL
  AND t.`expires_at` <= UTC_TIMESTAMP(6)
FOR UPDATE SKIP LOCKED;

-- deliver: sweep 3, step 3: [Held] -> Nothing
UPDATE `dispatch_jobs` AS t SET
  t.`status` = 'ERROR',
  t.`next_attempt_at` = NULL,
  t.`lease_until` = NULL,
  t.`claimed_by` = NULL,
  t.`last_error` = 'expired before delivery',
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- deliver: sweep 4, step 1: [Limit] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `dispatch_jobs` AS t
WHERE t.`status` = 'QUEUED'
  AND t.`scheduled_for` IS NOT NULL
  AND t.`scheduled_for` > UTC_TIMESTAMP(6)
LIMIT ?;

-- deliver: sweep 4, step 2: [Held] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `dispatch_jobs` AS t
WHERE t.`id` IN ({held})
  AND t.`status` = 'QUEUED'
  AND t.`scheduled_for` IS NOT NULL
  AND t.`scheduled_for` > UTC_TIMESTAMP(6)
FOR UPDATE SKIP LOCKED;

-- deliver: sweep 4, step 3: [Held] -> Nothing
UPDATE `dispatch_jobs` AS t SET
  t.`status` = 'PENDING',
  t.`lease_until` = NULL,
  t.`claimed_by` = NULL,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- deliver: next due: [] -> Other
SELECT min(u.w) FROM (
SELECT a.w
  FROM (
    SELECT CAST(
      COALESCE(0 - (TIMESTAMPDIFF(MICROSECOND, t.`next_attempt_at`, UTC_TIMESTAMP(6))), 0) AS SIGNED
    ) AS w
  
FROM `dispatch_jobs` AS t
WHERE t.`status` = 'QUEUED'
  AND t.`attempt_count` < GREATEST(COALESCE(t.`max_retries`, 3), 1)
  AND (t.`expires_at` IS NULL OR t.`expires_at` > UTC_TIMESTAMP(6))
  AND (t.`scheduled_for` IS NULL OR t.`scheduled_for` <= UTC_TIMESTAMP(6))
  AND t.`keeps_order_mode` = 0
ORDER BY t.`next_attempt_at`
LIMIT 1) AS a
UNION ALL
SELECT b.w
  FROM (
    SELECT CAST(
      COALESCE(0 - (TIMESTAMPDIFF(MICROSECOND, t.`next_attempt_at`, UTC_TIMESTAMP(6))), 0) AS SIGNED
    ) AS w
  
FROM `dispatch_jobs` AS t
WHERE t.`status` = 'ERROR' AND t.`next_attempt_at` IS NOT NULL
  AND t.`attempt_count` < GREATEST(COALESCE(t.`max_retries`, 3), 1)
  AND (t.`expires_at` IS NULL OR t.`expires_at` > UTC_TIMESTAMP(6))
  AND t.`keeps_order_mode` = 0
ORDER BY t.`next_attempt_at`
LIMIT 1) AS b
UNION ALL
SELECT c.w
  FROM (
    SELECT /*+ NO_SKIP_SCAN(t) */ CAST(
      0 - (TIMESTAMPDIFF(MICROSECOND, t.`next_attempt_at`, UTC_TIMESTAMP(6))) AS SIGNED
    ) AS w
  
FROM `dispatch_jobs` AS t
WHERE t.`status` = 'QUEUED'
  AND t.`keeps_order_mode` = 1
  AND t.`next_attempt_at` > UTC_TIMESTAMP(6)
ORDER BY t.`next_attempt_at`
LIMIT 1) AS c
UNION ALL
SELECT d.w
  FROM (
    SELECT /*+ NO_SKIP_SCAN(t) */ CAST(
      0 - (TIMESTAMPDIFF(MICROSECOND, t.`next_attempt_at`, UTC_TIMESTAMP(6))) AS SIGNED
    ) AS w
  
FROM `dispatch_jobs` AS t
WHERE t.`status` = 'ERROR' AND t.`next_attempt_at` IS NOT NULL
  AND t.`keeps_order_mode` = 1
  AND t.`next_attempt_at` > UTC_TIMESTAMP(6)
ORDER BY t.`next_attempt_at`
LIMIT 1) AS d) AS u;

-- deliver: lag: [] -> Other
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
          FROM `dispatch_jobs` AS t
          WHERE ((t.`status` = 'QUEUED') OR (t.`status` = 'ERROR' AND t.`next_attempt_at` IS NOT NULL))
          AND (t.`next_attempt_at` IS NULL OR t.`next_attempt_at` <= UTC_TIMESTAMP(6))
          AND t.`attempt_count` < GREATEST(COALESCE(t.`max_retries`, 3), 1)
          AND (t.`expires_at` IS NULL OR t.`expires_at` > UTC_TIMESTAMP(6))
          AND (t.`scheduled_for` IS NULL OR t.`scheduled_for` <= UTC_TIMESTAMP(6))
          AND t.`keeps_order_mode` = 0
          ORDER BY t.`next_attempt_at`
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
            FROM `dispatch_jobs` AS t
            WHERE ((t.`status` = 'QUEUED') OR (t.`status` = 'ERROR' AND t.`next_attempt_at` IS NOT NULL))
            AND (t.`next_attempt_at` IS NULL OR t.`next_attempt_at` <= UTC_TIMESTAMP(6))
            AND t.`attempt_count` < GREATEST(COALESCE(t.`max_retries`, 3), 1)
            AND (t.`expires_at` IS NULL OR t.`expires_at` > UTC_TIMESTAMP(6))
            AND (t.`scheduled_for` IS NULL OR t.`scheduled_for` <= UTC_TIMESTAMP(6))
            AND t.`keeps_order_mode` = 1
            ORDER BY t.`next_attempt_at`
            LIMIT 1
        )
    ) AS l
),
  (
    SELECT CAST(TIMESTAMPDIFF(MICROSECOND, t.`last_attempt_at`, UTC_TIMESTAMP(6)) AS DOUBLE) / 1000000
      FROM `dispatch_jobs` AS t
      WHERE t.`status` = 'IN_PROGRESS'
      ORDER BY t.`last_attempt_at`
      LIMIT 1
  );

-- deliver: census RETRYING: [] -> Other
SELECT
  CAST(COUNT(*) AS SIGNED),
  0
FROM (
  SELECT 1 AS one
    FROM `dispatch_jobs` AS t
    WHERE t.`status` = 'ERROR'
    AND t.`next_attempt_at` IS NOT NULL
    LIMIT 10001
) AS counted;

-- deliver: census DEAD: [] -> Other
SELECT
  CAST(COUNT(*) AS SIGNED),
  0
FROM (
  SELECT 1 AS one
    FROM `dispatch_jobs` AS t
    WHERE t.`status` = 'ERROR'
    AND t.`next_attempt_at` IS NULL
    LIMIT 10001
) AS counted;

-- deliver: census QUEUED: [] -> Other
SELECT
  CAST(COUNT(*) AS SIGNED),
  0
FROM (SELECT 1 AS one FROM `dispatch_jobs` AS t WHERE t.`status` = 'QUEUED' LIMIT 10001) AS counted;

-- deliver: census IN_PROGRESS: [] -> Other
SELECT
  CAST(COUNT(*) AS SIGNED),
  0
FROM (SELECT 1 AS one FROM `dispatch_jobs` AS t WHERE t.`status` = 'IN_PROGRESS' LIMIT 10001) AS counted;

-- deliver: census COMPLETED: [] -> Other
SELECT
  CAST(COUNT(*) AS SIGNED),
  0
FROM (SELECT 1 AS one FROM `dispatch_jobs` AS t WHERE t.`status` = 'COMPLETED' LIMIT 10001) AS counted;

-- deliver: census PENDING: [] -> Other
SELECT
  CAST(COUNT(*) AS SIGNED),
  0
FROM (SELECT 1 AS one FROM `dispatch_jobs` AS t WHERE t.`status` = 'PENDING' LIMIT 10001) AS counted;

-- deliver: census CANCELLED: [] -> Other
SELECT
  CAST(COUNT(*) AS SIGNED),
  0
FROM (SELECT 1 AS one FROM `dispatch_jobs` AS t WHERE t.`status` = 'CANCELLED' LIMIT 10001) AS counted;

-- deliver: requeue ids DEAD, step 1: [Ids] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `dispatch_jobs` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'ERROR' AND t.`next_attempt_at` IS NULL
FOR UPDATE;

-- deliver: requeue ids DEAD, step 2: [Held] -> Nothing
UPDATE `dispatch_jobs` AS t SET
  t.`status` = 'ERROR',
  t.`next_attempt_at` = UTC_TIMESTAMP(6),
  t.`lease_until` = NULL,
  t.`claimed_by` = NULL,
  t.`attempt_count` = 0,
  t.`last_error` = NULL,
  t.`completed_at` = NULL,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- deliver: requeue state DEAD, step 1: [Since, Since, Since, Since, Limit] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `dispatch_jobs` AS t
WHERE t.`status` = 'ERROR' AND t.`next_attempt_at` IS NULL
  AND (
    ? IS NULL
      OR t.`updated_at` >= UTC_TIMESTAMP(6) + INTERVAL ROUND((0 - ?) * 1000000) MICROSECOND
      OR t.`updated_at` IS NULL
      AND t.`last_attempt_at` >= UTC_TIMESTAMP(6) + INTERVAL ROUND((0 - ?) * 1000000) MICROSECOND
      OR t.`updated_at` IS NULL
      AND t.`last_attempt_at` IS NULL
      AND t.`created_at` >= UTC_TIMESTAMP(6) + INTERVAL ROUND((0 - ?) * 1000000) MICROSECOND
  )
LIMIT ?;

-- deliver: requeue state DEAD, step 2: [Held] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `dispatch_jobs` AS t
WHERE t.`id` IN ({held})
  AND t.`status` = 'ERROR' AND t.`next_attempt_at` IS NULL
FOR UPDATE SKIP LOCKED;

-- deliver: requeue state DEAD, step 3: [Held] -> Nothing
UPDATE `dispatch_jobs` AS t SET
  t.`status` = 'ERROR',
  t.`next_attempt_at` = UTC_TIMESTAMP(6),
  t.`lease_until` = NULL,
  t.`claimed_by` = NULL,
  t.`attempt_count` = 0,
  t.`last_error` = NULL,
  t.`completed_at` = NULL,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- deliver: cancel ids QUEUED, step 1: [Ids] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `dispatch_jobs` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'QUEUED'
FOR UPDATE;

-- deliver: cancel ids QUEUED, step 2: [Held] -> Nothing
UPDATE `dispatch_jobs` AS t SET
  t.`status` = 'CANCELLED',
  t.`lease_until` = NULL,
  t.`claimed_by` = NULL,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- deliver: cancel ids PENDING, step 1: [Ids] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `dispatch_jobs` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'PENDING'
FOR UPDATE;

-- deliver: cancel ids PENDING, step 2: [Held] -> Nothing
UPDATE `dispatch_jobs` AS t SET
  t.`status` = 'CANCELLED',
  t.`lease_until` = NULL,
  t.`claimed_by` = NULL,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- deliver: cancel ids RETRYING, step 1: [Ids] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `dispatch_jobs` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'ERROR' AND t.`next_attempt_at` IS NOT NULL
FOR UPDATE;

-- deliver: cancel ids RETRYING, step 2: [Held] -> Nothing
UPDATE `dispatch_jobs` AS t SET
  t.`status` = 'CANCELLED',
  t.`lease_until` = NULL,
  t.`claimed_by` = NULL,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- deliver: cancel ids DEAD, step 1: [Ids] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `dispatch_jobs` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'ERROR' AND t.`next_attempt_at` IS NULL
FOR UPDATE;

-- deliver: cancel ids DEAD, step 2: [Held] -> Nothing
UPDATE `dispatch_jobs` AS t SET
  t.`status` = 'CANCELLED',
  t.`lease_until` = NULL,
  t.`claimed_by` = NULL,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- deliver: cancel ids IN_PROGRESS, step 1: [Ids] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `dispatch_jobs` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'IN_PROGRESS'
FOR UPDATE;

-- deliver: cancel ids IN_PROGRESS, step 2: [Held] -> Nothing
UPDATE `dispatch_jobs` AS t SET
  t.`status` = 'CANCELLED',
  t.`lease_until` = NULL,
  t.`claimed_by` = NULL,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- deliver: cancel state QUEUED, step 1: [Since, Since, Since, Since, Limit] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `dispatch_jobs` AS t
WHERE t.`status` = 'QUEUED'
  AND (
    ? IS NULL
      OR t.`updated_at` >= UTC_TIMESTAMP(6) + INTERVAL ROUND((0 - ?) * 1000000) MICROSECOND
      OR t.`updated_at` IS NULL
      AND t.`last_attempt_at` >= UTC_TIMESTAMP(6) + INTERVAL ROUND((0 - ?) * 1000000) MICROSECOND
      OR t.`updated_at` IS NULL
      AND t.`last_attempt_at` IS NULL
      AND t.`created_at` >= UTC_TIMESTAMP(6) + INTERVAL ROUND((0 - ?) * 1000000) MICROSECOND
  )
LIMIT ?;

-- deliver: cancel state QUEUED, step 2: [Held] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `dispatch_jobs` AS t
WHERE t.`id` IN ({held})
  AND t.`status` = 'QUEUED'
FOR UPDATE SKIP LOCKED;

-- deliver: cancel state QUEUED, step 3: [Held] -> Nothing
UPDATE `dispatch_jobs` AS t SET
  t.`status` = 'CANCELLED',
  t.`lease_until` = NULL,
  t.`claimed_by` = NULL,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- deliver: cancel state PENDING, step 1: [Since, Since, Since, Since, Limit] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `dispatch_jobs` AS t
WHERE t.`status` = 'PENDING'
  AND (
    ? IS NULL
      OR t.`updated_at` >= UTC_TIMESTAMP(6) + INTERVAL ROUND((0 - ?) * 1000000) MICROSECOND
      OR t.`updated_at` IS NULL
      AND t.`last_attempt_at` >= UTC_TIMESTAMP(6) + INTERVAL ROUND((0 - ?) * 1000000) MICROSECOND
      OR t.`updated_at` IS NULL
      AND t.`last_attempt_at` IS NULL
      AND t.`created_at` >= UTC_TIMESTAMP(6) + INTERVAL ROUND((0 - ?) * 1000000) MICROSECOND
  )
LIMIT ?;

-- deliver: cancel state PENDING, step 2: [Held] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `dispatch_jobs` AS t
WHERE t.`id` IN ({held})
  AND t.`status` = 'PENDING'
FOR UPDATE SKIP LOCKED;

-- deliver: cancel state PENDING, step 3: [Held] -> Nothing
UPDATE `dispatch_jobs` AS t SET
  t.`status` = 'CANCELLED',
  t.`lease_until` = NULL,
  t.`claimed_by` = NULL,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- deliver: cancel state RETRYING, step 1: [Since, Since, Since, Since, Limit] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `dispatch_jobs` AS t
WHERE t.`status` = 'ERROR' AND t.`next_attempt_at` IS NOT NULL
  AND (
    ? IS NULL
      OR t.`updated_at` >= UTC_TIMESTAMP(6) + INTERVAL ROUND((0 - ?) * 1000000) MICROSECOND
      OR t.`updated_at` IS NULL
      AND t.`last_attempt_at` >= UTC_TIMESTAMP(6) + INTERVAL ROUND((0 - ?) * 1000000) MICROSECOND
      OR t.`updated_at` IS NULL
      AND t.`last_attempt_at` IS NULL
      AND t.`created_at` >= UTC_TIMESTAMP(6) + INTERVAL ROUND((0 - ?) * 1000000) MICROSECOND
  )
LIMIT ?;

-- deliver: cancel state RETRYING, step 2: [Held] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `dispatch_jobs` AS t
WHERE t.`id` IN ({held})
  AND t.`status` = 'ERROR' AND t.`next_attempt_at` IS NOT NULL
FOR UPDATE SKIP LOCKED;

-- deliver: cancel state RETRYING, step 3: [Held] -> Nothing
UPDATE `dispatch_jobs` AS t SET
  t.`status` = 'CANCELLED',
  t.`lease_until` = NULL,
  t.`claimed_by` = NULL,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- deliver: cancel state DEAD, step 1: [Since, Since, Since, Since, Limit] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `dispatch_jobs` AS t
WHERE t.`status` = 'ERROR' AND t.`next_attempt_at` IS NULL
  AND (
    ? IS NULL
      OR t.`updated_at` >= UTC_TIMESTAMP(6) + INTERVAL ROUND((0 - ?) * 1000000) MICROSECOND
      OR t.`updated_at` IS NULL
      AND t.`last_attempt_at` >= UTC_TIMESTAMP(6) + INTERVAL ROUND((0 - ?) * 1000000) MICROSECOND
      OR t.`updated_at` IS NULL
      AND t.`last_attempt_at` IS NULL
      AND t.`created_at` >= UTC_TIMESTAMP(6) + INTERVAL ROUND((0 - ?) * 1000000) MICROSECOND
  )
LIMIT ?;

-- deliver: cancel state DEAD, step 2: [Held] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `dispatch_jobs` AS t
WHERE t.`id` IN ({held})
  AND t.`status` = 'ERROR' AND t.`next_attempt_at` IS NULL
FOR UPDATE SKIP LOCKED;

-- deliver: cancel state DEAD, step 3: [Held] -> Nothing
UPDATE `dispatch_jobs` AS t SET
  t.`status` = 'CANCELLED',
  t.`lease_until` = NULL,
  t.`claimed_by` = NULL,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- deliver: cancel state IN_PROGRESS, step 1: [Since, Since, Since, Since, Limit] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `dispatch_jobs` AS t
WHERE t.`status` = 'IN_PROGRESS'
  AND (
    ? IS NULL
      OR t.`updated_at` >= UTC_TIMESTAMP(6) + INTERVAL ROUND((0 - ?) * 1000000) MICROSECOND
      OR t.`updated_at` IS NULL
      AND t.`last_attempt_at` >= UTC_TIMESTAMP(6) + INTERVAL ROUND((0 - ?) * 1000000) MICROSECOND
      OR t.`updated_at` IS NULL
      AND t.`last_attempt_at` IS NULL
      AND t.`created_at` >= UTC_TIMESTAMP(6) + INTERVAL ROUND((0 - ?) * 1000000) MICROSECOND
  )
LIMIT ?;

-- deliver: cancel state IN_PROGRESS, step 2: [Held] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `dispatch_jobs` AS t
WHERE t.`id` IN ({held})
  AND t.`status` = 'IN_PROGRESS'
FOR UPDATE SKIP LOCKED;

-- deliver: cancel state IN_PROGRESS, step 3: [Held] -> Nothing
UPDATE `dispatch_jobs` AS t SET
  t.`status` = 'CANCELLED',
  t.`lease_until` = NULL,
  t.`claimed_by` = NULL,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- deliver: release ids IN_PROGRESS, step 1: [Ids] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `dispatch_jobs` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'IN_PROGRESS'
FOR UPDATE;

-- deliver: release ids IN_PROGRESS, step 2: [Held] -> Nothing
UPDATE `dispatch_jobs` AS t SET
  t.`status` = CASE WHEN COALESCE(t.`attempt_count`, 0) = 0 THEN 'QUEUED' ELSE 'ERROR' END,
  t.`next_attempt_at` = COALESCE(t.`next_attempt_at`, UTC_TIMESTAMP(6)),
  t.`lease_until` = NULL,
  t.`claimed_by` = NULL,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- deliver: release state IN_PROGRESS, step 1: [Since, Since, Since, Since, Limit] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `dispatch_jobs` AS t
WHERE t.`status` = 'IN_PROGRESS'
  AND (
    ? IS NULL
      OR t.`updated_at` >= UTC_TIMESTAMP(6) + INTERVAL ROUND((0 - ?) * 1000000) MICROSECOND
      OR t.`updated_at` IS NULL
      AND t.`last_attempt_at` >= UTC_TIMESTAMP(6) + INTERVAL ROUND((0 - ?) * 1000000) MICROSECOND
      OR t.`updated_at` IS NULL
      AND t.`last_attempt_at` IS NULL
      AND t.`created_at` >= UTC_TIMESTAMP(6) + INTERVAL ROUND((0 - ?) * 1000000) MICROSECOND
  )
LIMIT ?;

-- deliver: release state IN_PROGRESS, step 2: [Held] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `dispatch_jobs` AS t
WHERE t.`id` IN ({held})
  AND t.`status` = 'IN_PROGRESS'
FOR UPDATE SKIP LOCKED;

-- deliver: release state IN_PROGRESS, step 3: [Held] -> Nothing
UPDATE `dispatch_jobs` AS t SET
  t.`status` = CASE WHEN COALESCE(t.`attempt_count`, 0) = 0 THEN 'QUEUED' ELSE 'ERROR' END,
  t.`next_attempt_at` = COALESCE(t.`next_attempt_at`, UTC_TIMESTAMP(6)),
  t.`lease_until` = NULL,
  t.`claimed_by` = NULL,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- deliver: complete ids DEAD, step 1: [Ids] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `dispatch_jobs` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'ERROR' AND t.`next_attempt_at` IS NULL
FOR UPDATE;

-- deliver: complete ids DEAD, step 2: [Held] -> Nothing
UPDATE `dispatch_jobs` AS t SET
  t.`status` = 'COMPLETED',
  t.`lease_until` = NULL,
  t.`claimed_by` = NULL,
  t.`completed_at` = UTC_TIMESTAMP(6),
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- deliver: complete ids RETRYING, step 1: [Ids] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `dispatch_jobs` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'ERROR' AND t.`next_attempt_at` IS NOT NULL
FOR UPDATE;

-- deliver: complete ids RETRYING, step 2: [Held] -> Nothing
UPDATE `dispatch_jobs` AS t SET
  t.`status` = 'COMPLETED',
  t.`lease_until` = NULL,
  t.`claimed_by` = NULL,
  t.`completed_at` = UTC_TIMESTAMP(6),
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- create, with a queue
CREATE INDEX `dispatch_jobs_deliver_offer`
  ON `dispatch_jobs` (`status`, `live_group_mode`, `dispatch_pool_id`, `queued_at`, `next_attempt_at`);

-- deliver, with a queue: claim by key, step 1: [Ids] -> Rows
SELECT
  CAST(t.`id` AS CHAR),
  CAST(
    CAST(
      CASE
        WHEN t.`last_attempt_at`
          BETWEEN UTC_TIMESTAMP(6) - INTERVAL 1 MICROSECOND
          AND UTC_TIMESTAMP(6) + INTERVAL 60 SECOND
          THEN t.`last_attempt_at` + INTERVAL 1 MICROSECOND
        ELSE UTC_TIMESTAMP(6)
        END AS DATETIME(6)
    ) AS CHAR
  ),
  CAST(t.`attempt_count` AS CHAR),
  CAST(t.`attempt_count` AS SIGNED),
  CAST(t.`max_retries` AS SIGNED),
  CAST(t.`retry_strategy` AS CHAR),
  CASE WHEN t.`group_key` IS NOT NULL AND t.`mode` NOT IN ('IMMEDIATE') THEN CAST(t.`group_key` AS CHAR) END,
  CASE WHEN t.`mode` IN ('NEXT_ON_ERROR') THEN 'next' ELSE 'block' END,
  CAST(t.`dispatch_pool_id` AS CHAR),
  CAST(t.`client_id` AS CHAR),
  CAST(
    COALESCE(
      TIMESTAMPDIFF(MICROSECOND, t.`next_attempt_at`, UTC_TIMESTAMP(6)),
        TIMESTAMPDIFF(MICROSECOND, t.`created_at`, UTC_TIMESTAMP(6))
    ) AS SIGNED
  ),
  CAST(
    COALESCE(LENGTH(t.`service_account_id`), 0)
      + COALESCE(LENGTH(t.`client_id`), 0)
      + COALESCE(LENGTH(t.`code`), 0)
      + COALESCE(LENGTH(t.`payload_content_type`), 0)
      + COALESCE(LENGTH(t.`correlation_id`), 0)
      + COALESCE(LENGTH(t.`id`), 0)
      + COALESCE(LENGTH(t.`event_id`), 0)
      + COALESCE(LENGTH(t.`headers`), 0)
      + COALESCE(LENGTH(t.`payload`), 0)
      + COALESCE(LENGTH(t.`source`), 0)
      + COALESCE(LENGTH(t.`subject`), 0)
      + COALESCE(LENGTH(t.`subscription_id`), 0)
      + COALESCE(LENGTH(t.`traceparent`), 0)
      + COALESCE(LENGTH(t.`target_url`), 0) AS SIGNED
  ),
  CASE WHEN LENGTH(t.`service_account_id`) <= 65536 THEN t.`service_account_id` END,
  CASE WHEN LENGTH(t.`client_id`) <= 65536 THEN t.`client_id` END,
  CASE WHEN LENGTH(t.`code`) <= 65536 THEN t.`code` END,
  CASE WHEN LENGTH(t.`payload_content_type`) <= 65536 THEN t.`payload_content_type` END,
  CASE WHEN LENGTH(t.`correlation_id`) <= 65536 THEN t.`correlation_id` END,
  CASE WHEN t.`data_only` THEN 'true' WHEN NOT t.`data_only` THEN 'false' END,
  CASE WHEN LENGTH(t.`id`) <= 65536 THEN t.`id` END,
  CASE WHEN LENGTH(t.`event_id`) <= 65536 THEN t.`event_id` END,
  CASE WHEN LENGTH(t.`headers`) <= 65536 THEN t.`headers` END,
  CASE WHEN LENGTH(t.`payload`) <= 65536 THEN t.`payload` END,
  CASE WHEN LENGTH(t.`source`) <= 65536 THEN t.`source` END,
  CASE WHEN LENGTH(t.`subject`) <= 65536 THEN t.`subject` END,
  CASE WHEN LENGTH(t.`subscription_id`) <= 65536 THEN t.`subscription_id` END,
  CAST(t.`created_at` AS CHAR),
  CAST(t.`timeout_seconds` AS CHAR),
  CASE WHEN LENGTH(t.`traceparent`) <= 65536 THEN t.`traceparent` END,
  CASE WHEN LENGTH(t.`target_url`) <= 65536 THEN t.`target_url` END
FROM `dispatch_jobs` AS t
WHERE t.`id` IN ({ids})
  AND ((t.`status` = 'QUEUED') OR (t.`status` = 'ERROR' AND t.`next_attempt_at` IS NOT NULL))
  AND (t.`next_attempt_at` IS NULL OR t.`next_attempt_at` <= UTC_TIMESTAMP(6))
  AND t.`attempt_count` < GREATEST(COALESCE(t.`max_retries`, 3), 1)
  AND (t.`expires_at` IS NULL OR t.`expires_at` > UTC_TIMESTAMP(6))
  AND (t.`scheduled_for` IS NULL OR t.`scheduled_for` <= UTC_TIMESTAMP(6))
  AND t.`live_group_mode` IS NULL
  AND (t.`dispatch_pool_id` IS NULL OR t.`dispatch_pool_id` = '')
ORDER BY t.`next_attempt_at`, t.`id`
FOR UPDATE SKIP LOCKED;

-- deliver, with a queue: claim by key, step 2: [ClaimTime, Owner, Held] -> Nothing
UPDATE `dispatch_jobs` AS t SET
  t.`status` = 'IN_PROGRESS',
  t.`last_attempt_at` = ?,
  t.`lease_until` = CAST(
    CASE
      WHEN t.`lease_until`
        BETWEEN UTC_TIMESTAMP(6) + INTERVAL 60 SECOND - INTERVAL 1 MICROSECOND
        AND UTC_TIMESTAMP(6) + INTERVAL 60 SECOND + INTERVAL 60 SECOND
        THEN t.`lease_until` + INTERVAL 1 MICROSECOND
      ELSE UTC_TIMESTAMP(6) + INTERVAL 60 SECOND
      END AS DATETIME(6)
  ),
  t.`claimed_by` = LEFT(?, 64),
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- deliver, with a queue: standing: [Ids] -> Other
SELECT
  CAST(t.`id` AS CHAR),
  CAST(
    CASE
      WHEN ((t.`status` = 'QUEUED') OR (t.`status` = 'ERROR' AND t.`next_attempt_at` IS NOT NULL))
      AND (t.`next_attempt_at` IS NULL OR t.`next_attempt_at` <= UTC_TIMESTAMP(6))
      AND t.`attempt_count` < GREATEST(COALESCE(t.`max_retries`, 3), 1)
      AND (t.`expires_at` IS NULL OR t.`expires_at` > UTC_TIMESTAMP(6))
      AND (t.`scheduled_for` IS NULL OR t.`scheduled_for` <= UTC_TIMESTAMP(6)) THEN CASE
      WHEN t.`live_group_mode` IS NULL
      AND (t.`dispatch_pool_id` IS NULL OR t.`dispatch_pool_id` = '') THEN 2
      ELSE 1
      END
      ELSE 0
      END AS SIGNED
  )
FROM `dispatch_jobs` AS t
WHERE t.`id` IN ({ids});

-- deliver, with a queue: offer 1, step 1: [Limit] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `dispatch_jobs` AS t
WHERE t.`status` = 'QUEUED'
  AND t.`queued_at` IS NULL
  AND (t.`next_attempt_at` IS NULL OR t.`next_attempt_at` <= UTC_TIMESTAMP(6))
  AND t.`attempt_count` < GREATEST(COALESCE(t.`max_retries`, 3), 1)
  AND (t.`expires_at` IS NULL OR t.`expires_at` > UTC_TIMESTAMP(6))
  AND (t.`scheduled_for` IS NULL OR t.`scheduled_for` <= UTC_TIMESTAMP(6))
  AND t.`live_group_mode` IS NULL
  AND (t.`dispatch_pool_id` IS NULL OR t.`dispatch_pool_id` = '')
LIMIT ?;

-- deliver, with a queue: offer 1, step 2: [Held] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `dispatch_jobs` AS t
WHERE t.`id` IN ({held})
  AND t.`status` = 'QUEUED'
  AND t.`queued_at` IS NULL
  AND (t.`next_attempt_at` IS NULL OR t.`next_attempt_at` <= UTC_TIMESTAMP(6))
  AND t.`attempt_count` < GREATEST(COALESCE(t.`max_retries`, 3), 1)
  AND (t.`expires_at` IS NULL OR t.`expires_at` > UTC_TIMESTAMP(6))
  AND (t.`scheduled_for` IS NULL OR t.`scheduled_for` <= UTC_TIMESTAMP(6))
  AND t.`live_group_mode` IS NULL
  AND (t.`dispatch_pool_id` IS NULL OR t.`dispatch_pool_id` = '')
FOR UPDATE SKIP LOCKED;

-- deliver, with a queue: offer 1, step 3: [Held] -> Nothing
UPDATE `dispatch_jobs` AS t SET
  t.`queued_at` = UTC_TIMESTAMP(6),
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- deliver, with a queue: offer 2, step 1: [Limit] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `dispatch_jobs` AS t
WHERE t.`status` = 'ERROR' AND t.`next_attempt_at` IS NOT NULL
  AND t.`queued_at` IS NULL
  AND (t.`next_attempt_at` IS NULL OR t.`next_attempt_at` <= UTC_TIMESTAMP(6))
  AND t.`attempt_count` < GREATEST(COALESCE(t.`max_retries`, 3), 1)
  AND (t.`expires_at` IS NULL OR t.`expires_at` > UTC_TIMESTAMP(6))
  AND t.`live_group_mode` IS NULL
  AND (t.`dispatch_pool_id` IS NULL OR t.`dispatch_pool_id` = '')
LIMIT ?;

-- deliver, with a queue: offer 2, step 2: [Held] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `dispatch_jobs` AS t
WHERE t.`id` IN ({held})
  AND t.`status` = 'ERROR' AND t.`next_attempt_at` IS NOT NULL
  AND t.`queued_at` IS NULL
  AND (t.`next_attempt_at` IS NULL OR t.`next_attempt_at` <= UTC_TIMESTAMP(6))
  AND t.`attempt_count` < GREATEST(COALESCE(t.`max_retries`, 3), 1)
  AND (t.`expires_at` IS NULL OR t.`expires_at` > UTC_TIMESTAMP(6))
  AND t.`live_group_mode` IS NULL
  AND (t.`dispatch_pool_id` IS NULL OR t.`dispatch_pool_id` = '')
FOR UPDATE SKIP LOCKED;

-- deliver, with a queue: offer 2, step 3: [Held] -> Nothing
UPDATE `dispatch_jobs` AS t SET
  t.`queued_at` = UTC_TIMESTAMP(6),
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- deliver, with a queue: offer 3, step 1: [Limit] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `dispatch_jobs` AS t
WHERE t.`status` = 'ERROR' AND t.`next_attempt_at` IS NOT NULL
  AND t.`queued_at` IS NOT NULL
  AND t.`queued_at` < UTC_TIMESTAMP(6) - INTERVAL 900 SECOND
  AND (t.`next_attempt_at` IS NULL OR t.`next_attempt_at` <= UTC_TIMESTAMP(6))
  AND t.`attempt_count` < GREATEST(COALESCE(t.`max_retries`, 3), 1)
  AND (t.`expires_at` IS NULL OR t.`expires_at` > UTC_TIMESTAMP(6))
  AND t.`live_group_mode` IS NULL
  AND (t.`dispatch_pool_id` IS NULL OR t.`dispatch_pool_id` = '')
LIMIT ?;

-- deliver, with a queue: offer 3, step 2: [Held] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `dispatch_jobs` AS t
WHERE t.`id` IN ({held})
  AND t.`status` = 'ERROR' AND t.`next_attempt_at` IS NOT NULL
  AND t.`queued_at` IS NOT NULL
  AND t.`queued_at` < UTC_TIMESTAMP(6) - INTERVAL 900 SECOND
  AND (t.`next_attempt_at` IS NULL OR t.`next_attempt_at` <= UTC_TIMESTAMP(6))
  AND t.`attempt_count` < GREATEST(COALESCE(t.`max_retries`, 3), 1)
  AND (t.`expires_at` IS NULL OR t.`expires_at` > UTC_TIMESTAMP(6))
  AND t.`live_group_mode` IS NULL
  AND (t.`dispatch_pool_id` IS NULL OR t.`dispatch_pool_id` = '')
FOR UPDATE SKIP LOCKED;

-- deliver, with a queue: offer 3, step 3: [Held] -> Nothing
UPDATE `dispatch_jobs` AS t SET
  t.`queued_at` = UTC_TIMESTAMP(6),
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- deliver, with a queue: recall 1, step 1: [Ids] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `dispatch_jobs` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'QUEUED'
  AND t.`live_group_mode` IS NULL
  AND (t.`dispatch_pool_id` IS NULL OR t.`dispatch_pool_id` = '')
FOR UPDATE;

-- deliver, with a queue: recall 1, step 2: [Held] -> Nothing
UPDATE `dispatch_jobs` AS t SET
  t.`status` = 'PENDING',
  t.`lease_until` = NULL,
  t.`claimed_by` = NULL,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- deliver, with a queue: recall 2, step 1: [Ids] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM `dispatch_jobs` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'ERROR' AND t.`next_attempt_at` IS NOT NULL
  AND t.`live_group_mode` IS NULL
  AND (t.`dispatch_pool_id` IS NULL OR t.`dispatch_pool_id` = '')
FOR UPDATE;

-- deliver, with a queue: recall 2, step 2: [Held] -> Nothing
UPDATE `dispatch_jobs` AS t SET
  t.`queued_at` = NULL,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- deliver, with a queue: settle released, each, step 1: [Rows([Id, Fence(0), Fence(1)])] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM (
  SELECT *
    FROM JSON_TABLE(
      ?, '$[*]' COLUMNS (`id` VARCHAR(255) PATH '$.id', `f0` DATETIME(6) PATH '$.f0', `f1` BIGINT PATH '$.f1')
    ) AS j
) AS v STRAIGHT_JOIN `dispatch_jobs` AS t
WHERE t.`id` = v.`id`
  AND t.`status` = 'IN_PROGRESS'
  AND t.`last_attempt_at` <=> v.`f0`
  AND t.`attempt_count` <=> v.`f1`
FOR UPDATE;

-- deliver, with a queue: settle released, each, step 2: [Held] -> Nothing
UPDATE `dispatch_jobs` AS t SET
  t.`status` = CASE WHEN COALESCE(t.`attempt_count`, 0) = 0 THEN 'QUEUED' ELSE 'ERROR' END,
  t.`next_attempt_at` = COALESCE(t.`next_attempt_at`, UTC_TIMESTAMP(6)),
  t.`lease_until` = NULL,
  t.`claimed_by` = NULL,
  t.`queued_at` = NULL,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- deliver, with a queue: settle retry, each, step 1: [Rows([Id, Fence(0), Fence(1)])] -> Keys
SELECT CAST(t.`id` AS CHAR)
FROM (
  SELECT *
    FROM JSON_TABLE(
      ?, '$[*]' COLUMNS (`id` VARCHAR(255) PATH '$.id', `f0` DATETIME(6) PATH '$.f0', `f1` BIGINT PATH '$.f1')
    ) AS j
) AS v STRAIGHT_JOIN `dispatch_jobs` AS t
WHERE t.`id` = v.`id`
  AND t.`status` = 'IN_PROGRESS'
  AND t.`last_attempt_at` <=> v.`f0`
  AND t.`attempt_count` <=> v.`f1`
FOR UPDATE;

-- deliver, with a queue: settle retry, each, step 2: [Rows([Outcome("duration_ms"), Delay, Reason, Id]),
--   Held] -> Nothing
UPDATE `dispatch_jobs` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?,
          '$[*]' COLUMNS (
            `o_duration_ms` LONGTEXT PATH '$.o_duration_ms',
              `delay` DOUBLE PATH '$.delay',
              `reason` LONGTEXT PATH '$.reason',
              `id` VARCHAR(255) PATH '$.id'
          )
      ) AS j
  ) AS v
  ON t.`id` = v.`id` SET
  t.`duration_millis` = COALESCE(t.`duration_millis`, 0) + COALESCE(v.`o_duration_ms`, 0),
  t.`status` = 'ERROR',
  t.`next_attempt_at` = UTC_TIMESTAMP(6) + INTERVAL ROUND(v.`delay` * 1000000) MICROSECOND,
  t.`lease_until` = NULL,
  t.`claimed_by` = NULL,
  t.`attempt_count` = t.`attempt_count` + 1,
  t.`last_error` = v.`reason`,
  t.`queued_at` = NULL,
  t.`updated_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- deliver, with a queue: settle retry, each, step 3: [Rows([Tsid, Outcome("duration_ms"), Outcome("result"),
--   Outcome("status"), Outcome("body"), Reason, Outcome("trace"), Outcome("class"), Id]), Held] -> Nothing
INSERT INTO `dispatch_attempts` (
  `id`,
    `job_id`,
    `attempt_number`,
    `attempted_at`,
    `completed_at`,
    `duration_millis`,
    `status`,
    `response_code`,
    `response_body`,
    `error_message`,
    `error_stack_trace`,
    `error_type`,
    `created_at`
)
SELECT
  v.`tsid`,
  t.`id`,
  t.`attempt_count`,
  t.`last_attempt_at`,
  UTC_TIMESTAMP(6),
  v.`o_duration_ms`,
  LEFT(v.`o_result`, 32),
  v.`o_status`,
  v.`o_body`,
  v.`reason`,
  v.`o_trace`,
  LEFT(v.`o_class`, 16),
  UTC_TIMESTAMP(6)
FROM `dispatch_jobs` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?,
          '$[*]' COLUMNS (
            `tsid` CHAR(13) PATH '$.tsid',
              `o_duration_ms` LONGTEXT PATH '$.o_duration_ms',
              `o_result` LONGTEXT PATH '$.o_result',
              `o_status` LONGTEXT PATH '$.o_status',
              `o_body` LONGTEXT PATH '$.o_body',
              `reason` LONGTEXT PATH '$.reason',
              `o_trace` LONGTEXT PATH '$.o_trace',
              `o_class` LONGTEXT PATH '$.o_class',
              `id` VARCHAR(255) PATH '$.id'
          )
      ) AS j
  ) AS v
  ON t.`id` = v.`id`
WHERE t.`id` IN ({held});
