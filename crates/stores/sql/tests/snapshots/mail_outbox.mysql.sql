-- mail_outbox: every statement. Written by the snapshot test; do not edit.

-- create
CREATE TABLE IF NOT EXISTS `mail_outbox` (
    id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    `status` VARCHAR(32) NOT NULL DEFAULT 'queued',
    retry_count INT NOT NULL DEFAULT 0,
    next_attempt_at DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
    last_attempt_at DATETIME(6),
    last_error LONGTEXT,
    to_addresses LONGTEXT NOT NULL,
    cc_addresses LONGTEXT,
    bcc_addresses LONGTEXT,
    from_address LONGTEXT,
    reply_to LONGTEXT,
    subject LONGTEXT NOT NULL,
    body_text LONGTEXT,
    body_html LONGTEXT,
    headers LONGTEXT,
    attachments LONGTEXT,
    template VARCHAR(200),
    variables LONGTEXT,
    `locale` VARCHAR(35),
    idempotency_key VARCHAR(255) UNIQUE,
    traceparent VARCHAR(255),
    priority INT NOT NULL DEFAULT 0,
    provider_message_id VARCHAR(500),
    recipient_results LONGTEXT,
    created_at DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
    sent_at DATETIME(6),
    claimed_by VARCHAR(64),
    lease_until DATETIME(6)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

-- create
CREATE INDEX `mail_outbox_dispatch_claim` ON `mail_outbox` (`status`, `next_attempt_at`, `id`);

-- create
CREATE INDEX `mail_outbox_dispatch_lease` ON `mail_outbox` (`status`, `lease_until`);

-- dispatch: layout Layout { integer_id: true, fences: 1, claim_time: Some(0), pool: 7, fields:
--   ["attachments", "bcc", "cc", "created", "dedupe", "from", "headers", "html", "locale", "reply_to",
--   "results", "subject", "template", "text", "to", "traceparent", "variables"], joined: [] }

-- dispatch: claim 1, step 1: [Limit] -> Rows
SELECT
  CAST(t.`id` AS SIGNED),
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
  CAST(t.`retry_count` AS SIGNED),
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
    COALESCE(LENGTH(t.`attachments`), 0)
      + COALESCE(LENGTH(t.`bcc_addresses`), 0)
      + COALESCE(LENGTH(t.`cc_addresses`), 0)
      + COALESCE(LENGTH(t.`idempotency_key`), 0)
      + COALESCE(LENGTH(t.`from_address`), 0)
      + COALESCE(LENGTH(t.`headers`), 0)
      + COALESCE(LENGTH(t.`body_html`), 0)
      + COALESCE(LENGTH(t.`locale`), 0)
      + COALESCE(LENGTH(t.`reply_to`), 0)
      + COALESCE(LENGTH(t.`recipient_results`), 0)
      + COALESCE(LENGTH(t.`subject`), 0)
      + COALESCE(LENGTH(t.`template`), 0)
      + COALESCE(LENGTH(t.`body_text`), 0)
      + COALESCE(LENGTH(t.`to_addresses`), 0)
      + COALESCE(LENGTH(t.`traceparent`), 0)
      + COALESCE(LENGTH(t.`variables`), 0) AS SIGNED
  ),
  CASE WHEN LENGTH(t.`attachments`) <= 65536 THEN t.`attachments` END,
  CASE WHEN LENGTH(t.`bcc_addresses`) <= 65536 THEN t.`bcc_addresses` END,
  CASE WHEN LENGTH(t.`cc_addresses`) <= 65536 THEN t.`cc_addresses` END,
  CAST(t.`created_at` AS CHAR),
  CASE WHEN LENGTH(t.`idempotency_key`) <= 65536 THEN t.`idempotency_key` END,
  CASE WHEN LENGTH(t.`from_address`) <= 65536 THEN t.`from_address` END,
  CASE WHEN LENGTH(t.`headers`) <= 65536 THEN t.`headers` END,
  CASE WHEN LENGTH(t.`body_html`) <= 65536 THEN t.`body_html` END,
  CASE WHEN LENGTH(t.`locale`) <= 65536 THEN t.`locale` END,
  CASE WHEN LENGTH(t.`reply_to`) <= 65536 THEN t.`reply_to` END,
  CASE WHEN LENGTH(t.`recipient_results`) <= 65536 THEN t.`recipient_results` END,
  CASE WHEN LENGTH(t.`subject`) <= 65536 THEN t.`subject` END,
  CASE WHEN LENGTH(t.`template`) <= 65536 THEN t.`template` END,
  CASE WHEN LENGTH(t.`body_text`) <= 65536 THEN t.`body_text` END,
  CASE WHEN LENGTH(t.`to_addresses`) <= 65536 THEN t.`to_addresses` END,
  CASE WHEN LENGTH(t.`traceparent`) <= 65536 THEN t.`traceparent` END,
  CASE WHEN LENGTH(t.`variables`) <= 65536 THEN t.`variables` END
FROM `mail_outbox` AS t
WHERE t.`status` = 'queued'
  AND t.`next_attempt_at` <= UTC_TIMESTAMP(6)
  AND t.`retry_count` < 5
ORDER BY t.`next_attempt_at`, t.`id`
LIMIT ?
FOR UPDATE SKIP LOCKED;

-- dispatch: claim 1, step 2: [ClaimTime, Owner, Held] -> Nothing
UPDATE `mail_outbox` AS t SET
  t.`status` = 'dispatching',
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
  t.`claimed_by` = LEFT(?, 64)
WHERE t.`id` IN ({held});

-- dispatch: load: [Ids] -> Other
SELECT
  CAST(t.`id` AS SIGNED),
  t.`attachments`,
  t.`bcc_addresses`,
  t.`cc_addresses`,
  CAST(t.`created_at` AS CHAR),
  t.`idempotency_key`,
  t.`from_address`,
  t.`headers`,
  t.`body_html`,
  t.`locale`,
  t.`reply_to`,
  t.`recipient_results`,
  t.`subject`,
  t.`template`,
  t.`body_text`,
  t.`to_addresses`,
  t.`traceparent`,
  t.`variables`
FROM `mail_outbox` AS t
WHERE t.`id` IN ({ids});

-- dispatch: settle delivered, uniform, step 1: [Ids, One(Fence(0))] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM `mail_outbox` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'dispatching'
  AND t.`last_attempt_at` <=> CAST(? AS DATETIME(6))
FOR UPDATE;

-- dispatch: settle delivered, uniform, step 2: [One(Outcome("recipients")), One(Receipt), Held] -> Nothing
UPDATE `mail_outbox` AS t SET
  t.`recipient_results` = COALESCE(?, t.`recipient_results`),
  t.`status` = 'sent',
  t.`lease_until` = NULL,
  t.`claimed_by` = NULL,
  t.`last_error` = NULL,
  t.`provider_message_id` = LEFT(?, 500),
  t.`sent_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- dispatch: settle delivered, each, step 1: [Rows([Id, Fence(0)])] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM (
  SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (`id` BIGINT PATH '$.id', `f0` DATETIME(6) PATH '$.f0')) AS j
) AS v STRAIGHT_JOIN `mail_outbox` AS t
WHERE t.`id` = v.`id`
  AND t.`status` = 'dispatching'
  AND t.`last_attempt_at` <=> v.`f0`
FOR UPDATE;

-- dispatch: settle delivered, each, step 2: [Rows([Outcome("recipients"), Receipt, Id]), Held] -> Nothing
UPDATE `mail_outbox` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?,
          '$[*]' COLUMNS (
            `o_recipients` LONGTEXT PATH '$.o_recipients',
              `receipt` LONGTEXT PATH '$.receipt',
              `id` BIGINT PATH '$.id'
          )
      ) AS j
  ) AS v
  ON t.`id` = v.`id` SET
  t.`recipient_results` = COALESCE(v.`o_recipients`, t.`recipient_results`),
  t.`status` = 'sent',
  t.`lease_until` = NULL,
  t.`claimed_by` = NULL,
  t.`last_error` = NULL,
  t.`provider_message_id` = LEFT(v.`receipt`, 500),
  t.`sent_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- dispatch: settle retry, uniform, step 1: [Ids, One(Fence(0))] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM `mail_outbox` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'dispatching'
  AND t.`last_attempt_at` <=> CAST(? AS DATETIME(6))
FOR UPDATE;

-- dispatch: settle retry, uniform, step 2: [One(Outcome("recipients")), One(Delay), One(Reason), Held] ->
--   Nothing
UPDATE `mail_outbox` AS t SET
  t.`recipient_results` = COALESCE(?, t.`recipient_results`),
  t.`status` = 'queued',
  t.`lease_until` = NULL,
  t.`claimed_by` = NULL,
  t.`next_attempt_at` = UTC_TIMESTAMP(6) + INTERVAL ROUND(? * 1000000) MICROSECOND,
  t.`retry_count` = t.`retry_count` + 1,
  t.`last_error` = ?
WHERE t.`id` IN ({held});

-- dispatch: settle retry, each, step 1: [Rows([Id, Fence(0)])] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM (
  SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (`id` BIGINT PATH '$.id', `f0` DATETIME(6) PATH '$.f0')) AS j
) AS v STRAIGHT_JOIN `mail_outbox` AS t
WHERE t.`id` = v.`id`
  AND t.`status` = 'dispatching'
  AND t.`last_attempt_at` <=> v.`f0`
FOR UPDATE;

-- dispatch: settle retry, each, step 2: [Rows([Outcome("recipients"), Delay, Reason, Id]), Held] -> Nothing
UPDATE `mail_outbox` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?,
          '$[*]' COLUMNS (
            `o_recipients` LONGTEXT PATH '$.o_recipients',
              `delay` DOUBLE PATH '$.delay',
              `reason` LONGTEXT PATH '$.reason',
              `id` BIGINT PATH '$.id'
          )
      ) AS j
  ) AS v
  ON t.`id` = v.`id` SET
  t.`recipient_results` = COALESCE(v.`o_recipients`, t.`recipient_results`),
  t.`status` = 'queued',
  t.`lease_until` = NULL,
  t.`claimed_by` = NULL,
  t.`next_attempt_at` = UTC_TIMESTAMP(6) + INTERVAL ROUND(v.`delay` * 1000000) MICROSECOND,
  t.`retry_count` = t.`retry_count` + 1,
  t.`last_error` = v.`reason`
WHERE t.`id` IN ({held});

-- dispatch: settle dead, uniform, step 1: [Ids, One(Fence(0))] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM `mail_outbox` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'dispatching'
  AND t.`last_attempt_at` <=> CAST(? AS DATETIME(6))
FOR UPDATE;

-- dispatch: settle dead, uniform, step 2: [One(Outcome("recipients")), One(Reason), Held] -> Nothing
UPDATE `mail_outbox` AS t SET
  t.`recipient_results` = COALESCE(?, t.`recipient_results`),
  t.`status` = 'failed',
  t.`lease_until` = NULL,
  t.`claimed_by` = NULL,
  t.`retry_count` = t.`retry_count` + 1,
  t.`last_error` = ?
WHERE t.`id` IN ({held});

-- dispatch: settle dead, each, step 1: [Rows([Id, Fence(0)])] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM (
  SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (`id` BIGINT PATH '$.id', `f0` DATETIME(6) PATH '$.f0')) AS j
) AS v STRAIGHT_JOIN `mail_outbox` AS t
WHERE t.`id` = v.`id`
  AND t.`status` = 'dispatching'
  AND t.`last_attempt_at` <=> v.`f0`
FOR UPDATE;

-- dispatch: settle dead, each, step 2: [Rows([Outcome("recipients"), Reason, Id]), Held] -> Nothing
UPDATE `mail_outbox` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?,
          '$[*]' COLUMNS (
            `o_recipients` LONGTEXT PATH '$.o_recipients',
              `reason` LONGTEXT PATH '$.reason',
              `id` BIGINT PATH '$.id'
          )
      ) AS j
  ) AS v
  ON t.`id` = v.`id` SET
  t.`recipient_results` = COALESCE(v.`o_recipients`, t.`recipient_results`),
  t.`status` = 'failed',
  t.`lease_until` = NULL,
  t.`claimed_by` = NULL,
  t.`retry_count` = t.`retry_count` + 1,
  t.`last_error` = v.`reason`
WHERE t.`id` IN ({held});

-- dispatch: settle rejected, uniform, step 1: [Ids, One(Fence(0))] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM `mail_outbox` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'dispatching'
  AND t.`last_attempt_at` <=> CAST(? AS DATETIME(6))
FOR UPDATE;

-- dispatch: settle rejected, uniform, step 2: [One(Outcome("recipients")), One(Reason), Held] -> Nothing
UPDATE `mail_outbox` AS t SET
  t.`recipient_results` = COALESCE(?, t.`recipient_results`),
  t.`status` = 'failed',
  t.`lease_until` = NULL,
  t.`claimed_by` = NULL,
  t.`retry_count` = t.`retry_count` + 1,
  t.`last_error` = ?
WHERE t.`id` IN ({held});

-- dispatch: settle rejected, each, step 1: [Rows([Id, Fence(0)])] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM (
  SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (`id` BIGINT PATH '$.id', `f0` DATETIME(6) PATH '$.f0')) AS j
) AS v STRAIGHT_JOIN `mail_outbox` AS t
WHERE t.`id` = v.`id`
  AND t.`status` = 'dispatching'
  AND t.`last_attempt_at` <=> v.`f0`
FOR UPDATE;

-- dispatch: settle rejected, each, step 2: [Rows([Outcome("recipients"), Reason, Id]), Held] -> Nothing
UPDATE `mail_outbox` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?,
          '$[*]' COLUMNS (
            `o_recipients` LONGTEXT PATH '$.o_recipients',
              `reason` LONGTEXT PATH '$.reason',
              `id` BIGINT PATH '$.id'
          )
      ) AS j
  ) AS v
  ON t.`id` = v.`id` SET
  t.`recipient_results` = COALESCE(v.`o_recipients`, t.`recipient_results`),
  t.`status` = 'failed',
  t.`lease_until` = NULL,
  t.`claimed_by` = NULL,
  t.`retry_count` = t.`retry_count` + 1,
  t.`last_error` = v.`reason`
WHERE t.`id` IN ({held});

-- dispatch: settle skipped, uniform, step 1: [Ids, One(Fence(0))] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM `mail_outbox` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'dispatching'
  AND t.`last_attempt_at` <=> CAST(? AS DATETIME(6))
FOR UPDATE;

-- dispatch: settle skipped, uniform, step 2: [One(Outcome("recipients")), One(Reason), Held] -> Nothing
UPDATE `mail_outbox` AS t SET
  t.`recipient_results` = COALESCE(?, t.`recipient_results`),
  t.`status` = 'failed',
  t.`lease_until` = NULL,
  t.`claimed_by` = NULL,
  t.`retry_count` = t.`retry_count` + 1,
  t.`last_error` = ?
WHERE t.`id` IN ({held});

-- dispatch: settle skipped, each, step 1: [Rows([Id, Fence(0)])] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM (
  SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (`id` BIGINT PATH '$.id', `f0` DATETIME(6) PATH '$.f0')) AS j
) AS v STRAIGHT_JOIN `mail_outbox` AS t
WHERE t.`id` = v.`id`
  AND t.`status` = 'dispatching'
  AND t.`last_attempt_at` <=> v.`f0`
FOR UPDATE;

-- dispatch: settle skipped, each, step 2: [Rows([Outcome("recipients"), Reason, Id]), Held] -> Nothing
UPDATE `mail_outbox` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?,
          '$[*]' COLUMNS (
            `o_recipients` LONGTEXT PATH '$.o_recipients',
              `reason` LONGTEXT PATH '$.reason',
              `id` BIGINT PATH '$.id'
          )
      ) AS j
  ) AS v
  ON t.`id` = v.`id` SET
  t.`recipient_results` = COALESCE(v.`o_recipients`, t.`recipient_results`),
  t.`status` = 'failed',
  t.`lease_until` = NULL,
  t.`claimed_by` = NULL,
  t.`retry_count` = t.`retry_count` + 1,
  t.`last_error` = v.`reason`
WHERE t.`id` IN ({held});

-- dispatch: settle deferred, uniform, step 1: [Ids, One(Fence(0))] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM `mail_outbox` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'dispatching'
  AND t.`last_attempt_at` <=> CAST(? AS DATETIME(6))
FOR UPDATE;

-- dispatch: settle deferred, uniform, step 2: [One(Outcome("recipients")), One(Delay), Held] -> Nothing
UPDATE `mail_outbox` AS t SET
  t.`recipient_results` = COALESCE(?, t.`recipient_results`),
  t.`status` = 'queued',
  t.`lease_until` = NULL,
  t.`claimed_by` = NULL,
  t.`next_attempt_at` = UTC_TIMESTAMP(6) + INTERVAL ROUND(? * 1000000) MICROSECOND
WHERE t.`id` IN ({held});

-- dispatch: settle deferred, each, step 1: [Rows([Id, Fence(0)])] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM (
  SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (`id` BIGINT PATH '$.id', `f0` DATETIME(6) PATH '$.f0')) AS j
) AS v STRAIGHT_JOIN `mail_outbox` AS t
WHERE t.`id` = v.`id`
  AND t.`status` = 'dispatching'
  AND t.`last_attempt_at` <=> v.`f0`
FOR UPDATE;

-- dispatch: settle deferred, each, step 2: [Rows([Outcome("recipients"), Delay, Id]), Held] -> Nothing
UPDATE `mail_outbox` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?,
          '$[*]' COLUMNS (
            `o_recipients` LONGTEXT PATH '$.o_recipients',
              `delay` DOUBLE PATH '$.delay',
              `id` BIGINT PATH '$.id'
          )
      ) AS j
  ) AS v
  ON t.`id` = v.`id` SET
  t.`recipient_results` = COALESCE(v.`o_recipients`, t.`recipient_results`),
  t.`status` = 'queued',
  t.`lease_until` = NULL,
  t.`claimed_by` = NULL,
  t.`next_attempt_at` = UTC_TIMESTAMP(6) + INTERVAL ROUND(v.`delay` * 1000000) MICROSECOND
WHERE t.`id` IN ({held});

-- dispatch: settle released, uniform, step 1: [Ids, One(Fence(0))] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM `mail_outbox` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'dispatching'
  AND t.`last_attempt_at` <=> CAST(? AS DATETIME(6))
FOR UPDATE;

-- dispatch: settle released, uniform, step 2: [Held] -> Nothing
UPDATE `mail_outbox` AS t SET
  t.`status` = 'queued',
  t.`lease_until` = NULL,
  t.`claimed_by` = NULL
WHERE t.`id` IN ({held});

-- dispatch: settle released, each, step 1: [Rows([Id, Fence(0)])] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM (
  SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (`id` BIGINT PATH '$.id', `f0` DATETIME(6) PATH '$.f0')) AS j
) AS v STRAIGHT_JOIN `mail_outbox` AS t
WHERE t.`id` = v.`id`
  AND t.`status` = 'dispatching'
  AND t.`last_attempt_at` <=> v.`f0`
FOR UPDATE;

-- dispatch: settle released, each, step 2: [Held] -> Nothing
UPDATE `mail_outbox` AS t SET
  t.`status` = 'queued',
  t.`lease_until` = NULL,
  t.`claimed_by` = NULL
WHERE t.`id` IN ({held});

-- dispatch: extend, step 1: [Rows([Id, Fence(0)])] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM (
  SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (`id` BIGINT PATH '$.id', `f0` DATETIME(6) PATH '$.f0')) AS j
) AS v STRAIGHT_JOIN `mail_outbox` AS t
WHERE t.`id` = v.`id`
  AND t.`status` = 'dispatching'
  AND t.`last_attempt_at` <=> v.`f0`
FOR UPDATE;

-- dispatch: extend, step 2: [Held] -> Nothing
UPDATE `mail_outbox` AS t SET t.`lease_until` = CAST(
  CASE
    WHEN t.`lease_until`
      BETWEEN UTC_TIMESTAMP(6) + INTERVAL 60 SECOND - INTERVAL 1 MICROSECOND
      AND UTC_TIMESTAMP(6) + INTERVAL 60 SECOND + INTERVAL 60 SECOND
      THEN t.`lease_until` + INTERVAL 1 MICROSECOND
    ELSE UTC_TIMESTAMP(6) + INTERVAL 60 SECOND
    END AS DATETIME(6)
)
WHERE t.`id` IN ({held});

-- dispatch: extend, step 3: [Held] -> Leases
SELECT
  CAST(t.`id` AS SIGNED),
  CAST(t.`last_attempt_at` AS CHAR)
FROM `mail_outbox` AS t
WHERE t.`id` IN ({held});

-- dispatch: stamp, step 1: [Limit] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM `mail_outbox` AS t
WHERE t.`status` = 'dispatching'
  AND t.`last_attempt_at` IS NULL
  AND t.`lease_until` IS NULL
LIMIT ?;

-- dispatch: stamp, step 2: [Held] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM `mail_outbox` AS t
WHERE t.`id` IN ({held})
  AND t.`status` = 'dispatching'
  AND t.`last_attempt_at` IS NULL
  AND t.`lease_until` IS NULL
FOR UPDATE SKIP LOCKED;

-- dispatch: stamp, step 3: [Held] -> Nothing
UPDATE `mail_outbox` AS t SET t.`last_attempt_at` = UTC_TIMESTAMP(6)
WHERE t.`id` IN ({held});

-- dispatch: leases that still hold: [Rows([Id, Fence(0)])] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM (
  SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (`id` BIGINT PATH '$.id', `f0` DATETIME(6) PATH '$.f0')) AS j
) AS v STRAIGHT_JOIN `mail_outbox` AS t
WHERE t.`id` = v.`id`
  AND t.`status` = 'dispatching'
  AND t.`last_attempt_at` <=> v.`f0`
  AND (
    (
      t.`lease_until` < UTC_TIMESTAMP(6)
        OR (t.`lease_until` IS NULL AND t.`last_attempt_at` < UTC_TIMESTAMP(6) - INTERVAL 300 SECOND)
    )
  ) IS NOT TRUE;

-- dispatch: look for rows of a lost claim: [Owner] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM `mail_outbox` AS t
WHERE t.`status` = 'dispatching'
  AND t.`claimed_by` = ?;

-- dispatch: release rows of a lost claim, step 1: [Ids, Owner] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM `mail_outbox` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'dispatching'
  AND t.`claimed_by` = ?
FOR UPDATE;

-- dispatch: release rows of a lost claim, step 2: [Held] -> Nothing
UPDATE `mail_outbox` AS t SET
  t.`status` = 'queued',
  t.`lease_until` = NULL,
  t.`claimed_by` = NULL
WHERE t.`id` IN ({held});

-- dispatch: look for expired leases: [Limit] -> Other
SELECT
  CAST(t.`id` AS SIGNED),
  CAST(t.`last_attempt_at` AS CHAR),
  CASE WHEN t.`retry_count` + 1 >= 5 THEN 1 ELSE 0 END,
  5
FROM `mail_outbox` AS t
WHERE t.`status` = 'dispatching'
  AND (
    t.`lease_until` < UTC_TIMESTAMP(6)
      OR (t.`lease_until` IS NULL AND t.`last_attempt_at` < UTC_TIMESTAMP(6) - INTERVAL 300 SECOND)
  )
LIMIT ?;

-- dispatch: reclaim, free, step 1: [Ids] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM `mail_outbox` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'dispatching'
  AND (
    t.`lease_until` < UTC_TIMESTAMP(6)
      OR (t.`lease_until` IS NULL AND t.`last_attempt_at` < UTC_TIMESTAMP(6) - INTERVAL 300 SECOND)
  )
FOR UPDATE;

-- dispatch: reclaim, free, step 2: [Held] -> Nothing
UPDATE `mail_outbox` AS t SET
  t.`status` = 'queued',
  t.`lease_until` = NULL,
  t.`claimed_by` = NULL
WHERE t.`id` IN ({held});

-- dispatch: reclaim, spared, step 1: [Ids] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM `mail_outbox` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'dispatching'
  AND (
    t.`lease_until` < UTC_TIMESTAMP(6)
      OR (t.`lease_until` IS NULL AND t.`last_attempt_at` < UTC_TIMESTAMP(6) - INTERVAL 300 SECOND)
  )
FOR UPDATE;

-- dispatch: reclaim, spared, step 2: [Held] -> Nothing
UPDATE `mail_outbox` AS t SET
  t.`status` = 'queued',
  t.`lease_until` = NULL,
  t.`claimed_by` = NULL
WHERE t.`id` IN ({held});

-- dispatch: reclaim, spared, step 3: [Held] -> Nothing
INSERT INTO postrider_crashes (place, row_id, crashes, crashed_at)
SELECT
  'mail_outbox/dispatch',
  CAST(CAST(t.`id` AS SIGNED) AS CHAR),
  1,
  UTC_TIMESTAMP(6)
FROM `mail_outbox` AS t WHERE t.`id` IN ({held})
ON DUPLICATE KEY UPDATE crashes = postrider_crashes.crashes + 1, crashed_at = VALUES(crashed_at);

-- dispatch: reclaim, charged, step 1: [Ids] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM `mail_outbox` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'dispatching'
  AND (
    t.`lease_until` < UTC_TIMESTAMP(6)
      OR (t.`lease_until` IS NULL AND t.`last_attempt_at` < UTC_TIMESTAMP(6) - INTERVAL 300 SECOND)
  )
FOR UPDATE;

-- dispatch: reclaim, charged, step 2: [Held] -> Nothing
UPDATE `mail_outbox` AS t SET
  t.`status` = 'queued',
  t.`lease_until` = NULL,
  t.`claimed_by` = NULL,
  t.`next_attempt_at` = UTC_TIMESTAMP(6),
  t.`retry_count` = t.`retry_count` + 1,
  t.`last_error` = 'lease expired: the worker that held it is gone'
WHERE t.`id` IN ({held});

-- dispatch: reclaim, charged, step 3: [Held] -> Nothing
INSERT INTO postrider_crashes (place, row_id, crashes, crashed_at)
SELECT
  'mail_outbox/dispatch',
  CAST(CAST(t.`id` AS SIGNED) AS CHAR),
  1,
  UTC_TIMESTAMP(6)
FROM `mail_outbox` AS t WHERE t.`id` IN ({held})
ON DUPLICATE KEY UPDATE crashes = postrider_crashes.crashes + 1, crashed_at = VALUES(crashed_at);

-- dispatch: reclaim, dead, step 1: [Ids] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM `mail_outbox` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'dispatching'
  AND (
    t.`lease_until` < UTC_TIMESTAMP(6)
      OR (t.`lease_until` IS NULL AND t.`last_attempt_at` < UTC_TIMESTAMP(6) - INTERVAL 300 SECOND)
  )
FOR UPDATE;

-- dispatch: reclaim, dead, step 2: [Held] -> Nothing
UPDATE `mail_outbox` AS t SET
  t.`status` = 'failed',
  t.`lease_until` = NULL,
  t.`claimed_by` = NULL,
  t.`retry_count` = t.`retry_count` + 1,
  t.`last_error` = 'poison row: its workers crashed repeatedly, also when it was delivered alone'
WHERE t.`id` IN ({held});

-- dispatch: reclaim, dead, step 3: [Held] -> Nothing
DELETE
  FROM postrider_crashes
  WHERE place = 'mail_outbox/dispatch'
  AND row_id IN (SELECT CAST(CAST(t.`id` AS SIGNED) AS CHAR) FROM `mail_outbox` AS t WHERE t.`id` IN ({held}));

-- dispatch: spent, step 1: [Limit] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM (
  SELECT
    t.`id`,
    t.`retry_count`
  FROM `mail_outbox` AS t WHERE t.`status` = 'queued' ORDER BY t.`next_attempt_at`, t.`id` LIMIT 10000
) AS t
WHERE t.`retry_count` >= 5
LIMIT ?;

-- dispatch: spent, step 2: [Held] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM `mail_outbox` AS t
WHERE t.`id` IN ({held})
  AND t.`status` = 'queued'
  AND t.`retry_count` >= 5
FOR UPDATE SKIP LOCKED;

-- dispatch: spent, step 3: [Held] -> Nothing
UPDATE `mail_outbox` AS t SET
  t.`last_error` = COALESCE(t.`last_error`, 'no attempts left'),
  t.`status` = 'failed',
  t.`lease_until` = NULL,
  t.`claimed_by` = NULL
WHERE t.`id` IN ({held});

-- dispatch: next due: [] -> Other
SELECT CAST(0 - (TIMESTAMPDIFF(MICROSECOND, t.`next_attempt_at`, UTC_TIMESTAMP(6))) AS SIGNED) AS w
FROM `mail_outbox` AS t
WHERE t.`status` = 'queued'
  AND t.`retry_count` < 5
  AND t.`next_attempt_at` IS NOT NULL
ORDER BY t.`next_attempt_at`
LIMIT 1;

-- dispatch: lag: [] -> Other
SELECT (
  SELECT CAST(
    COALESCE(
      TIMESTAMPDIFF(MICROSECOND, t.`next_attempt_at`, UTC_TIMESTAMP(6)),
        TIMESTAMPDIFF(MICROSECOND, t.`created_at`, UTC_TIMESTAMP(6))
    ) AS DOUBLE
  )
    / 1000000
    FROM `mail_outbox` AS t
    WHERE t.`status` = 'queued'
    AND t.`next_attempt_at` <= UTC_TIMESTAMP(6)
    AND t.`retry_count` < 5
    ORDER BY t.`next_attempt_at`
    LIMIT 1
),
  (
    SELECT CAST(TIMESTAMPDIFF(MICROSECOND, t.`last_attempt_at`, UTC_TIMESTAMP(6)) AS DOUBLE) / 1000000
      FROM `mail_outbox` AS t
      WHERE t.`status` = 'dispatching'
      ORDER BY t.`last_attempt_at`
      LIMIT 1
  );

-- dispatch: census queued: [] -> Other
SELECT
  CAST(COUNT(*) AS SIGNED),
  0
FROM (SELECT 1 AS one FROM `mail_outbox` AS t WHERE t.`status` = 'queued' LIMIT 10001) AS counted;

-- dispatch: census dispatching: [] -> Other
SELECT
  CAST(COUNT(*) AS SIGNED),
  0
FROM (SELECT 1 AS one FROM `mail_outbox` AS t WHERE t.`status` = 'dispatching' LIMIT 10001) AS counted;

-- dispatch: census sent: [] -> Other
SELECT
  CAST(COUNT(*) AS SIGNED),
  0
FROM (SELECT 1 AS one FROM `mail_outbox` AS t WHERE t.`status` = 'sent' LIMIT 10001) AS counted;

-- dispatch: census failed: [] -> Other
SELECT
  CAST(COUNT(*) AS SIGNED),
  0
FROM (SELECT 1 AS one FROM `mail_outbox` AS t WHERE t.`status` = 'failed' LIMIT 10001) AS counted;

-- dispatch: requeue ids failed, step 1: [Ids] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM `mail_outbox` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'failed'
FOR UPDATE;

-- dispatch: requeue ids failed, step 2: [Held] -> Nothing
UPDATE `mail_outbox` AS t SET
  t.`status` = 'queued',
  t.`lease_until` = NULL,
  t.`claimed_by` = NULL,
  t.`next_attempt_at` = UTC_TIMESTAMP(6),
  t.`retry_count` = 0,
  t.`last_error` = NULL,
  t.`sent_at` = NULL
WHERE t.`id` IN ({held});

-- dispatch: requeue state failed, step 1: [Since, Since, Since, Limit] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM `mail_outbox` AS t
WHERE t.`status` = 'failed'
  AND (
    ? IS NULL
      OR t.`last_attempt_at` >= UTC_TIMESTAMP(6) + INTERVAL ROUND((0 - ?) * 1000000) MICROSECOND
      OR t.`last_attempt_at` IS NULL
      AND t.`created_at` >= UTC_TIMESTAMP(6) + INTERVAL ROUND((0 - ?) * 1000000) MICROSECOND
  )
LIMIT ?;

-- dispatch: requeue state failed, step 2: [Held] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM `mail_outbox` AS t
WHERE t.`id` IN ({held})
  AND t.`status` = 'failed'
FOR UPDATE SKIP LOCKED;

-- dispatch: requeue state failed, step 3: [Held] -> Nothing
UPDATE `mail_outbox` AS t SET
  t.`status` = 'queued',
  t.`lease_until` = NULL,
  t.`claimed_by` = NULL,
  t.`next_attempt_at` = UTC_TIMESTAMP(6),
  t.`retry_count` = 0,
  t.`last_error` = NULL,
  t.`sent_at` = NULL
WHERE t.`id` IN ({held});

-- dispatch: release ids dispatching, step 1: [Ids] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM `mail_outbox` AS t
WHERE t.`id` IN ({ids})
  AND t.`status` = 'dispatching'
FOR UPDATE;

-- dispatch: release ids dispatching, step 2: [Held] -> Nothing
UPDATE `mail_outbox` AS t SET
  t.`status` = 'queued',
  t.`lease_until` = NULL,
  t.`claimed_by` = NULL
WHERE t.`id` IN ({held});

-- dispatch: release state dispatching, step 1: [Since, Since, Since, Limit] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM `mail_outbox` AS t
WHERE t.`status` = 'dispatching'
  AND (
    ? IS NULL
      OR t.`last_attempt_at` >= UTC_TIMESTAMP(6) + INTERVAL ROUND((0 - ?) * 1000000) MICROSECOND
      OR t.`last_attempt_at` IS NULL
      AND t.`created_at` >= UTC_TIMESTAMP(6) + INTERVAL ROUND((0 - ?) * 1000000) MICROSECOND
  )
LIMIT ?;

-- dispatch: release state dispatching, step 2: [Held] -> Keys
SELECT CAST(t.`id` AS SIGNED)
FROM `mail_outbox` AS t
WHERE t.`id` IN ({held})
  AND t.`status` = 'dispatching'
FOR UPDATE SKIP LOCKED;

-- dispatch: release state dispatching, step 3: [Held] -> Nothing
UPDATE `mail_outbox` AS t SET
  t.`status` = 'queued',
  t.`lease_until` = NULL,
  t.`claimed_by` = NULL
WHERE t.`id` IN ({held});
