-- open_event_notifications: every statement. Written by the snapshot test; do not edit.

-- create
CREATE TABLE IF NOT EXISTS courses (
    course_id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    title VARCHAR(255),
    course_string VARCHAR(64)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

-- create
CREATE TABLE IF NOT EXISTS sections (
    section_id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    course_id BIGINT,
    section_number VARCHAR(16),
    subject_code VARCHAR(16),
    meeting_summary LONGTEXT
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

-- create
CREATE TABLE IF NOT EXISTS open_events (
    open_event_id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    section_id BIGINT,
    term_id VARCHAR(32) NOT NULL,
    campus_code VARCHAR(32) NOT NULL,
    index_number VARCHAR(32) NOT NULL,
    status_before VARCHAR(32),
    status_after VARCHAR(32) NOT NULL,
    event_at DATETIME(6) NOT NULL,
    detected_by VARCHAR(128),
    dedupe_key VARCHAR(255) NOT NULL,
    trace_id VARCHAR(64),
    payload LONGTEXT,
    created_at DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

-- create
CREATE TABLE IF NOT EXISTS subscriptions (
    subscription_id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    section_id BIGINT,
    `status` VARCHAR(16) NOT NULL DEFAULT 'active',
    contact_type VARCHAR(16) NOT NULL DEFAULT 'email',
    contact_value VARCHAR(320) NOT NULL,
    contact_hash VARCHAR(128),
    `locale` VARCHAR(35),
    last_known_section_status VARCHAR(32),
    unsubscribe_token VARCHAR(128),
    metadata LONGTEXT,
    created_at DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

-- create
CREATE TABLE IF NOT EXISTS `open_event_notifications` (
    notification_id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    open_event_id BIGINT NOT NULL,
    subscription_id BIGINT NOT NULL,
    dedupe_key VARCHAR(255) NOT NULL,
    fanout_status VARCHAR(16) NOT NULL DEFAULT 'pending',
    fanout_attempts INT NOT NULL DEFAULT 0,
    last_attempt_at DATETIME(6),
    locked_by VARCHAR(64),
    locked_at DATETIME(6),
    `error` LONGTEXT,
    created_at DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
    UNIQUE (open_event_id, subscription_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

-- create
CREATE TABLE IF NOT EXISTS subscription_events (
    event_id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    subscription_id BIGINT NOT NULL,
    event_type VARCHAR(64) NOT NULL,
    section_status VARCHAR(32),
    created_at DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

-- create
CREATE INDEX subscription_events_subscription ON subscription_events (subscription_id);

-- create
CREATE INDEX `open_event_notifications_notify_claim`
  ON `open_event_notifications` (`fanout_status`, `notification_id`);

-- create
CREATE INDEX `open_event_notifications_notify_lease`
  ON `open_event_notifications` (`fanout_status`, `locked_at`);

-- create
CREATE INDEX `open_event_notifications_same2` ON `open_event_notifications` (`subscription_id`, `dedupe_key`);

-- notify: layout Layout { integer_id: true, fences: 2, claim_time: Some(1), pool: 8, fields: ["created",
--   "dedupe", "notification_id", "open_event_id", "subscription_id"], joined: ["event.section_id",
--   "event.term_id", "event.campus_code", "event.index_number", "event.status_before", "event.status_after",
--   "event.event_at", "event.detected_by", "event.trace_id", "event.payload", "subscription.status",
--   "subscription.contact_type", "subscription.contact_value", "subscription.contact_hash",
--   "subscription.locale", "subscription.last_known_section_status", "subscription.unsubscribe_token",
--   "subscription.metadata", "section.section_number", "section.subject_code", "section.course_id",
--   "section.meeting_summary", "course.title", "course.course_string", "history.sent", "history.duplicates",
--   "history.in_flight", "clock"] }

-- notify: claim 1, step 1: [Owner, Limit] -> Rows
SELECT
  CAST(t.`notification_id` AS SIGNED),
  CAST(LEFT(?, 64) AS CHAR),
  CAST(
    CAST(
      CASE
        WHEN t.`locked_at`
          BETWEEN UTC_TIMESTAMP(6) - INTERVAL 1 MICROSECOND
          AND UTC_TIMESTAMP(6) + INTERVAL 60 SECOND
          THEN t.`locked_at` + INTERVAL 1 MICROSECOND
        ELSE UTC_TIMESTAMP(6)
        END AS DATETIME(6)
    ) AS CHAR
  ),
  CAST(t.`fanout_attempts` AS SIGNED),
  NULL,
  NULL,
  NULL,
  NULL,
  NULL,
  NULL,
  CAST(
    COALESCE(
      TIMESTAMPDIFF(MICROSECOND, t.`last_attempt_at`, UTC_TIMESTAMP(6)),
        TIMESTAMPDIFF(MICROSECOND, t.`created_at`, UTC_TIMESTAMP(6))
    ) AS SIGNED
  ),
  CAST(COALESCE(LENGTH(t.`dedupe_key`), 0) AS SIGNED),
  CAST(t.`created_at` AS CHAR),
  CASE WHEN LENGTH(t.`dedupe_key`) <= 65536 THEN t.`dedupe_key` END,
  CAST(t.`notification_id` AS CHAR),
  CAST(t.`open_event_id` AS CHAR),
  CAST(t.`subscription_id` AS CHAR)
FROM `open_event_notifications` AS t
WHERE t.`fanout_status` = 'pending' AND t.`locked_at` IS NULL
  AND (
    t.`fanout_attempts` = 0
      OR t.`last_attempt_at` IS NULL
      OR (
        t.`last_attempt_at` <= CASE t.`fanout_attempts`
          WHEN 1 THEN UTC_TIMESTAMP(6)
          WHEN 2 THEN UTC_TIMESTAMP(6) - INTERVAL 2 SECOND
          ELSE UTC_TIMESTAMP(6) - INTERVAL 7 SECOND
          END
          AND t.`last_attempt_at` <= UTC_TIMESTAMP(6)
            + INTERVAL ROUND(
              (
                0
                  - LEAST(
                    GREATEST(
                      CASE
                        WHEN JSON_VALID(t.`error`)
                          THEN COALESCE(
                            CAST(
                              JSON_UNQUOTE(JSON_EXTRACT(t.`error`, '$.retryAfterSeconds')) AS DECIMAL(18, 6)
                            ),
                              0
                          )
                        ELSE 0
                        END,
                        0
                    ),
                      86400
                  )
              )
                * 1000000
            ) MICROSECOND
      )
  )
  AND t.`fanout_attempts` < 3
  AND (t.`created_at` IS NULL OR t.`created_at` >= UTC_TIMESTAMP(6) - INTERVAL 86400 SECOND)
ORDER BY t.`notification_id`
LIMIT ?
FOR UPDATE SKIP LOCKED;

-- notify: claim 1, step 2: [ClaimTime, Owner, Held] -> Nothing
UPDATE `open_event_notifications` AS t SET
  t.`fanout_status` = 'pending',
  t.`locked_at` = ?,
  t.`locked_by` = LEFT(?, 64)
WHERE t.`notification_id` IN ({held});

-- notify: load: [Ids] -> Other
SELECT
  CAST(t.`notification_id` AS SIGNED),
  CAST(t.`created_at` AS CHAR),
  t.`dedupe_key`,
  CAST(t.`notification_id` AS CHAR),
  CAST(t.`open_event_id` AS CHAR),
  CAST(t.`subscription_id` AS CHAR)
FROM `open_event_notifications` AS t
WHERE t.`notification_id` IN ({ids});

-- notify: join: [Ids] -> Other
SELECT
  CAST(t.`notification_id` AS SIGNED),
  CAST(`j_event`.`section_id` AS CHAR),
  CAST(`j_event`.`term_id` AS CHAR),
  CAST(`j_event`.`campus_code` AS CHAR),
  CAST(`j_event`.`index_number` AS CHAR),
  CAST(`j_event`.`status_before` AS CHAR),
  CAST(`j_event`.`status_after` AS CHAR),
  CAST(`j_event`.`event_at` AS CHAR),
  CAST(`j_event`.`detected_by` AS CHAR),
  CAST(`j_event`.`trace_id` AS CHAR),
  CAST(`j_event`.`payload` AS CHAR),
  CAST(`j_subscription`.`status` AS CHAR),
  CAST(`j_subscription`.`contact_type` AS CHAR),
  CAST(`j_subscription`.`contact_value` AS CHAR),
  CAST(`j_subscription`.`contact_hash` AS CHAR),
  CAST(`j_subscription`.`locale` AS CHAR),
  CAST(`j_subscription`.`last_known_section_status` AS CHAR),
  CAST(`j_subscription`.`unsubscribe_token` AS CHAR),
  CAST(`j_subscription`.`metadata` AS CHAR),
  CAST(`j_section`.`section_number` AS CHAR),
  CAST(`j_section`.`subject_code` AS CHAR),
  CAST(`j_section`.`course_id` AS CHAR),
  CAST(`j_section`.`meeting_summary` AS CHAR),
  CAST(`j_course`.`title` AS CHAR),
  CAST(`j_course`.`course_string` AS CHAR),
  CAST(
    (
      SELECT COUNT(*)
        FROM `open_event_notifications` AS c
        WHERE c.`fanout_status` = 'sent'
        AND c.`subscription_id` = t.`subscription_id`
        AND c.`notification_id` <> t.`notification_id`
    ) AS SIGNED
  ),
  CAST(
    (
      SELECT COUNT(*)
        FROM `open_event_notifications` AS c
        WHERE c.`fanout_status` = 'sent'
        AND c.`last_attempt_at` >= UTC_TIMESTAMP(6) - INTERVAL 180 SECOND
        AND c.`subscription_id` = t.`subscription_id`
        AND c.`dedupe_key` = t.`dedupe_key`
        AND c.`notification_id` <> t.`notification_id`
    ) AS SIGNED
  ),
  CAST(
    (
      SELECT COUNT(*)
        FROM `open_event_notifications` AS c
        WHERE c.`fanout_status` = 'pending'
        AND c.`locked_at` IS NOT NULL
        AND NOT (COALESCE(c.`locked_by`, '') = 'deferred')
        AND c.`subscription_id` = t.`subscription_id`
        AND c.`dedupe_key` = t.`dedupe_key`
        AND c.`notification_id` <> t.`notification_id`
        AND (
          c.`locked_at` < t.`locked_at`
            OR (c.`locked_at` = t.`locked_at` AND c.`notification_id` < t.`notification_id`)
        )
    ) AS SIGNED
  ),
  CAST(FLOOR(UNIX_TIMESTAMP(UTC_TIMESTAMP(3)) * 1000) AS SIGNED)
FROM `open_event_notifications` AS t
LEFT JOIN `open_events` AS `j_event` ON `j_event`.`open_event_id` = t.`open_event_id`
LEFT JOIN `subscriptions` AS `j_subscription` ON `j_subscription`.`subscription_id` = t.`subscription_id`
LEFT JOIN `sections` AS `j_section` ON `j_section`.`section_id` = `j_event`.`section_id`
LEFT JOIN `courses` AS `j_course` ON `j_course`.`course_id` = `j_section`.`course_id`
WHERE t.`notification_id` IN ({ids});

-- notify: settle delivered, uniform, step 1: [Ids, One(Fence(0)), One(Fence(1))] -> Keys
SELECT CAST(t.`notification_id` AS SIGNED)
FROM `open_event_notifications` AS t
WHERE t.`notification_id` IN ({ids})
  AND t.`fanout_status` = 'pending' AND t.`locked_at` IS NOT NULL
  AND t.`locked_by` <=> ?
  AND t.`locked_at` <=> CAST(? AS DATETIME(6))
FOR UPDATE;

-- notify: settle delivered, uniform, step 2: [One(Json(Outcome("provider"))),
--   One(Json(Outcome("message_id"))), Held] -> Nothing
UPDATE `open_event_notifications` AS t SET
  t.`error` = JSON_MERGE_PATCH(
    '{}',
      JSON_OBJECT(
        'provider', JSON_EXTRACT(?, '$'), 'providerMessageId', JSON_EXTRACT(?, '$'), 'status', 'sent'
      )
  ),
  t.`locked_at` = NULL,
  t.`fanout_status` = 'sent',
  t.`locked_by` = NULL,
  t.`fanout_attempts` = t.`fanout_attempts` + 1,
  t.`last_attempt_at` = UTC_TIMESTAMP(6)
WHERE t.`notification_id` IN ({held});

-- notify: settle delivered, uniform, step 3: [One(Envelope("section_status")), Held] -> Nothing
INSERT INTO `subscription_events` (`subscription_id`, `event_type`, `section_status`, `created_at`)
SELECT
  t.`subscription_id`,
  'notify_sent',
  LEFT(?, 32),
  UTC_TIMESTAMP(6)
FROM `open_event_notifications` AS t
WHERE t.`notification_id` IN ({held});

-- notify: settle delivered, each, step 1: [Rows([Id, Fence(0), Fence(1)])] -> Keys
SELECT CAST(t.`notification_id` AS SIGNED)
FROM (
  SELECT *
    FROM JSON_TABLE(
      ?, '$[*]' COLUMNS (`id` BIGINT PATH '$.id', `f0` VARCHAR(255) PATH '$.f0', `f1` DATETIME(6) PATH '$.f1')
    ) AS j
) AS v STRAIGHT_JOIN `open_event_notifications` AS t
WHERE t.`notification_id` = v.`id`
  AND t.`fanout_status` = 'pending' AND t.`locked_at` IS NOT NULL
  AND t.`locked_by` <=> v.`f0`
  AND t.`locked_at` <=> v.`f1`
FOR UPDATE;

-- notify: settle delivered, each, step 2: [Rows([Json(Outcome("provider")), Json(Outcome("message_id")),
--   Id]), Held] -> Nothing
UPDATE `open_event_notifications` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?,
          '$[*]' COLUMNS (
            `j_o_provider` LONGTEXT PATH '$.j_o_provider',
              `j_o_message_id` LONGTEXT PATH '$.j_o_message_id',
              `id` BIGINT PATH '$.id'
          )
      ) AS j
  ) AS v
  ON t.`notification_id` = v.`id` SET
  t.`error` = JSON_MERGE_PATCH(
    '{}',
      JSON_OBJECT(
        'provider',
          JSON_EXTRACT(v.`j_o_provider`, '$'),
          'providerMessageId',
          JSON_EXTRACT(v.`j_o_message_id`, '$'),
          'status',
          'sent'
      )
  ),
  t.`locked_at` = NULL,
  t.`fanout_status` = 'sent',
  t.`locked_by` = NULL,
  t.`fanout_attempts` = t.`fanout_attempts` + 1,
  t.`last_attempt_at` = UTC_TIMESTAMP(6)
WHERE t.`notification_id` IN ({held});

-- notify: settle delivered, each, step 3: [Rows([Envelope("section_status"), Id]), Held] -> Nothing
INSERT INTO `subscription_events` (`subscription_id`, `event_type`, `section_status`, `created_at`)
SELECT
  t.`subscription_id`,
  'notify_sent',
  LEFT(v.`e_section_status`, 32),
  UTC_TIMESTAMP(6)
FROM `open_event_notifications` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?, '$[*]' COLUMNS (`e_section_status` LONGTEXT PATH '$.e_section_status', `id` BIGINT PATH '$.id')
      ) AS j
  ) AS v
  ON t.`notification_id` = v.`id`
WHERE t.`notification_id` IN ({held});

-- notify: settle retry, uniform, step 1: [Ids, One(Fence(0)), One(Fence(1))] -> Keys
SELECT CAST(t.`notification_id` AS SIGNED)
FROM `open_event_notifications` AS t
WHERE t.`notification_id` IN ({ids})
  AND t.`fanout_status` = 'pending' AND t.`locked_at` IS NOT NULL
  AND t.`locked_by` <=> ?
  AND t.`locked_at` <=> CAST(? AS DATETIME(6))
FOR UPDATE;

-- notify: settle retry, uniform, step 2: [One(Json(Outcome("provider"))), One(Json(Outcome("code"))),
--   One(Json(Outcome("message"))), One(Json(Outcome("retry_after"))), Held] -> Nothing
UPDATE `open_event_notifications` AS t SET
  t.`error` = JSON_MERGE_PATCH(
    '{}',
      JSON_OBJECT(
        'provider',
          JSON_EXTRACT(?, '$'),
          'status',
          'retryable',
          'code',
          JSON_EXTRACT(?, '$'),
          'message',
          JSON_EXTRACT(?, '$'),
          'retryAfterSeconds',
          JSON_EXTRACT(?, '$')
      )
  ),
  t.`locked_at` = NULL,
  t.`fanout_status` = 'pending',
  t.`locked_by` = NULL,
  t.`fanout_attempts` = t.`fanout_attempts` + 1,
  t.`last_attempt_at` = UTC_TIMESTAMP(6)
WHERE t.`notification_id` IN ({held});

-- notify: settle retry, each, step 1: [Rows([Id, Fence(0), Fence(1)])] -> Keys
SELECT CAST(t.`notification_id` AS SIGNED)
FROM (
  SELECT *
    FROM JSON_TABLE(
      ?, '$[*]' COLUMNS (`id` BIGINT PATH '$.id', `f0` VARCHAR(255) PATH '$.f0', `f1` DATETIME(6) PATH '$.f1')
    ) AS j
) AS v STRAIGHT_JOIN `open_event_notifications` AS t
WHERE t.`notification_id` = v.`id`
  AND t.`fanout_status` = 'pending' AND t.`locked_at` IS NOT NULL
  AND t.`locked_by` <=> v.`f0`
  AND t.`locked_at` <=> v.`f1`
FOR UPDATE;

-- notify: settle retry, each, step 2: [Rows([Json(Outcome("provider")), Json(Outcome("code")),
--   Json(Outcome("message")), Json(Outcome("retry_after")), Id]), Held] -> Nothing
UPDATE `open_event_notifications` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?,
          '$[*]' COLUMNS (
            `j_o_provider` LONGTEXT PATH '$.j_o_provider',
              `j_o_code` LONGTEXT PATH '$.j_o_code',
              `j_o_message` LONGTEXT PATH '$.j_o_message',
              `j_o_retry_after` LONGTEXT PATH '$.j_o_retry_after',
              `id` BIGINT PATH '$.id'
          )
      ) AS j
  ) AS v
  ON t.`notification_id` = v.`id` SET
  t.`error` = JSON_MERGE_PATCH(
    '{}',
      JSON_OBJECT(
        'provider',
          JSON_EXTRACT(v.`j_o_provider`, '$'),
          'status',
          'retryable',
          'code',
          JSON_EXTRACT(v.`j_o_code`, '$'),
          'message',
          JSON_EXTRACT(v.`j_o_message`, '$'),
          'retryAfterSeconds',
          JSON_EXTRACT(v.`j_o_retry_after`, '$')
      )
  ),
  t.`locked_at` = NULL,
  t.`fanout_status` = 'pending',
  t.`locked_by` = NULL,
  t.`fanout_attempts` = t.`fanout_attempts` + 1,
  t.`last_attempt_at` = UTC_TIMESTAMP(6)
WHERE t.`notification_id` IN ({held});

-- notify: settle dead, uniform, step 1: [Ids, One(Fence(0)), One(Fence(1))] -> Keys
SELECT CAST(t.`notification_id` AS SIGNED)
FROM `open_event_notifications` AS t
WHERE t.`notification_id` IN ({ids})
  AND t.`fanout_status` = 'pending' AND t.`locked_at` IS NOT NULL
  AND t.`locked_by` <=> ?
  AND t.`locked_at` <=> CAST(? AS DATETIME(6))
FOR UPDATE;

-- notify: settle dead, uniform, step 2: [One(Json(Outcome("provider"))), One(Json(Outcome("code"))),
--   One(Json(Outcome("message"))), One(Json(Outcome("retry_after"))), Held] -> Nothing
UPDATE `open_event_notifications` AS t SET
  t.`error` = JSON_MERGE_PATCH(
    '{}',
      JSON_OBJECT(
        'provider',
          JSON_EXTRACT(?, '$'),
          'status',
          'failed',
          'code',
          JSON_EXTRACT(?, '$'),
          'message',
          JSON_EXTRACT(?, '$'),
          'retryAfterSeconds',
          JSON_EXTRACT(?, '$')
      )
  ),
  t.`locked_at` = NULL,
  t.`fanout_status` = 'failed',
  t.`locked_by` = NULL,
  t.`fanout_attempts` = t.`fanout_attempts` + 1,
  t.`last_attempt_at` = UTC_TIMESTAMP(6)
WHERE t.`notification_id` IN ({held});

-- notify: settle dead, each, step 1: [Rows([Id, Fence(0), Fence(1)])] -> Keys
SELECT CAST(t.`notification_id` AS SIGNED)
FROM (
  SELECT *
    FROM JSON_TABLE(
      ?, '$[*]' COLUMNS (`id` BIGINT PATH '$.id', `f0` VARCHAR(255) PATH '$.f0', `f1` DATETIME(6) PATH '$.f1')
    ) AS j
) AS v STRAIGHT_JOIN `open_event_notifications` AS t
WHERE t.`notification_id` = v.`id`
  AND t.`fanout_status` = 'pending' AND t.`locked_at` IS NOT NULL
  AND t.`locked_by` <=> v.`f0`
  AND t.`locked_at` <=> v.`f1`
FOR UPDATE;

-- notify: settle dead, each, step 2: [Rows([Json(Outcome("provider")), Json(Outcome("code")),
--   Json(Outcome("message")), Json(Outcome("retry_after")), Id]), Held] -> Nothing
UPDATE `open_event_notifications` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?,
          '$[*]' COLUMNS (
            `j_o_provider` LONGTEXT PATH '$.j_o_provider',
              `j_o_code` LONGTEXT PATH '$.j_o_code',
              `j_o_message` LONGTEXT PATH '$.j_o_message',
              `j_o_retry_after` LONGTEXT PATH '$.j_o_retry_after',
              `id` BIGINT PATH '$.id'
          )
      ) AS j
  ) AS v
  ON t.`notification_id` = v.`id` SET
  t.`error` = JSON_MERGE_PATCH(
    '{}',
      JSON_OBJECT(
        'provider',
          JSON_EXTRACT(v.`j_o_provider`, '$'),
          'status',
          'failed',
          'code',
          JSON_EXTRACT(v.`j_o_code`, '$'),
          'message',
          JSON_EXTRACT(v.`j_o_message`, '$'),
          'retryAfterSeconds',
          JSON_EXTRACT(v.`j_o_retry_after`, '$')
      )
  ),
  t.`locked_at` = NULL,
  t.`fanout_status` = 'failed',
  t.`locked_by` = NULL,
  t.`fanout_attempts` = t.`fanout_attempts` + 1,
  t.`last_attempt_at` = UTC_TIMESTAMP(6)
WHERE t.`notification_id` IN ({held});

-- notify: settle rejected, uniform, step 1: [Ids, One(Fence(0)), One(Fence(1))] -> Keys
SELECT CAST(t.`notification_id` AS SIGNED)
FROM `open_event_notifications` AS t
WHERE t.`notification_id` IN ({ids})
  AND t.`fanout_status` = 'pending' AND t.`locked_at` IS NOT NULL
  AND t.`locked_by` <=> ?
  AND t.`locked_at` <=> CAST(? AS DATETIME(6))
FOR UPDATE;

-- notify: settle rejected, uniform, step 2: [One(Json(Outcome("provider"))), One(Json(Outcome("code"))),
--   One(Json(Outcome("message"))), One(Json(Outcome("retry_after"))), Held] -> Nothing
UPDATE `open_event_notifications` AS t SET
  t.`error` = JSON_MERGE_PATCH(
    '{}',
      JSON_OBJECT(
        'provider',
          JSON_EXTRACT(?, '$'),
          'status',
          'failed',
          'code',
          JSON_EXTRACT(?, '$'),
          'message',
          JSON_EXTRACT(?, '$'),
          'retryAfterSeconds',
          JSON_EXTRACT(?, '$')
      )
  ),
  t.`locked_at` = NULL,
  t.`fanout_status` = 'failed',
  t.`locked_by` = NULL,
  t.`fanout_attempts` = t.`fanout_attempts` + 1,
  t.`last_attempt_at` = UTC_TIMESTAMP(6)
WHERE t.`notification_id` IN ({held});

-- notify: settle rejected, each, step 1: [Rows([Id, Fence(0), Fence(1)])] -> Keys
SELECT CAST(t.`notification_id` AS SIGNED)
FROM (
  SELECT *
    FROM JSON_TABLE(
      ?, '$[*]' COLUMNS (`id` BIGINT PATH '$.id', `f0` VARCHAR(255) PATH '$.f0', `f1` DATETIME(6) PATH '$.f1')
    ) AS j
) AS v STRAIGHT_JOIN `open_event_notifications` AS t
WHERE t.`notification_id` = v.`id`
  AND t.`fanout_status` = 'pending' AND t.`locked_at` IS NOT NULL
  AND t.`locked_by` <=> v.`f0`
  AND t.`locked_at` <=> v.`f1`
FOR UPDATE;

-- notify: settle rejected, each, step 2: [Rows([Json(Outcome("provider")), Json(Outcome("code")),
--   Json(Outcome("message")), Json(Outcome("retry_after")), Id]), Held] -> Nothing
UPDATE `open_event_notifications` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?,
          '$[*]' COLUMNS (
            `j_o_provider` LONGTEXT PATH '$.j_o_provider',
              `j_o_code` LONGTEXT PATH '$.j_o_code',
              `j_o_message` LONGTEXT PATH '$.j_o_message',
              `j_o_retry_after` LONGTEXT PATH '$.j_o_retry_after',
              `id` BIGINT PATH '$.id'
          )
      ) AS j
  ) AS v
  ON t.`notification_id` = v.`id` SET
  t.`error` = JSON_MERGE_PATCH(
    '{}',
      JSON_OBJECT(
        'provider',
          JSON_EXTRACT(v.`j_o_provider`, '$'),
          'status',
          'failed',
          'code',
          JSON_EXTRACT(v.`j_o_code`, '$'),
          'message',
          JSON_EXTRACT(v.`j_o_message`, '$'),
          'retryAfterSeconds',
          JSON_EXTRACT(v.`j_o_retry_after`, '$')
      )
  ),
  t.`locked_at` = NULL,
  t.`fanout_status` = 'failed',
  t.`locked_by` = NULL,
  t.`fanout_attempts` = t.`fanout_attempts` + 1,
  t.`last_attempt_at` = UTC_TIMESTAMP(6)
WHERE t.`notification_id` IN ({held});

-- notify: settle skipped, uniform, step 1: [Ids, One(Fence(0)), One(Fence(1))] -> Keys
SELECT CAST(t.`notification_id` AS SIGNED)
FROM `open_event_notifications` AS t
WHERE t.`notification_id` IN ({ids})
  AND t.`fanout_status` = 'pending' AND t.`locked_at` IS NOT NULL
  AND t.`locked_by` <=> ?
  AND t.`locked_at` <=> CAST(? AS DATETIME(6))
FOR UPDATE;

-- notify: settle skipped, uniform, step 2: [One(Json(Outcome("code"))), One(Json(Outcome("message"))), Held]
--   -> Nothing
UPDATE `open_event_notifications` AS t SET
  t.`error` = JSON_MERGE_PATCH(
    '{}', JSON_OBJECT('code', JSON_EXTRACT(?, '$'), 'message', JSON_EXTRACT(?, '$'))
  ),
  t.`locked_at` = NULL,
  t.`fanout_status` = 'skipped',
  t.`locked_by` = NULL,
  t.`fanout_attempts` = t.`fanout_attempts` + 1,
  t.`last_attempt_at` = UTC_TIMESTAMP(6)
WHERE t.`notification_id` IN ({held});

-- notify: settle skipped, each, step 1: [Rows([Id, Fence(0), Fence(1)])] -> Keys
SELECT CAST(t.`notification_id` AS SIGNED)
FROM (
  SELECT *
    FROM JSON_TABLE(
      ?, '$[*]' COLUMNS (`id` BIGINT PATH '$.id', `f0` VARCHAR(255) PATH '$.f0', `f1` DATETIME(6) PATH '$.f1')
    ) AS j
) AS v STRAIGHT_JOIN `open_event_notifications` AS t
WHERE t.`notification_id` = v.`id`
  AND t.`fanout_status` = 'pending' AND t.`locked_at` IS NOT NULL
  AND t.`locked_by` <=> v.`f0`
  AND t.`locked_at` <=> v.`f1`
FOR UPDATE;

-- notify: settle skipped, each, step 2: [Rows([Json(Outcome("code")), Json(Outcome("message")), Id]), Held]
--   -> Nothing
UPDATE `open_event_notifications` AS t
  JOIN (
    SELECT *
      FROM JSON_TABLE(
        ?,
          '$[*]' COLUMNS (
            `j_o_code` LONGTEXT PATH '$.j_o_code',
              `j_o_message` LONGTEXT PATH '$.j_o_message',
              `id` BIGINT PATH '$.id'
          )
      ) AS j
  ) AS v
  ON t.`notification_id` = v.`id` SET
  t.`error` = JSON_MERGE_PATCH(
    '{}', JSON_OBJECT('code', JSON_EXTRACT(v.`j_o_code`, '$'), 'message', JSON_EXTRACT(v.`j_o_message`, '$'))
  ),
  t.`locked_at` = NULL,
  t.`fanout_status` = 'skipped',
  t.`locked_by` = NULL,
  t.`fanout_attempts` = t.`fanout_attempts` + 1,
  t.`last_attempt_at` = UTC_TIMESTAMP(6)
WHERE t.`notification_id` IN ({held});

-- notify: settle deferred, uniform, step 1: [Ids, One(Fence(0)), One(Fence(1))] -> Keys
SELECT CAST(t.`notification_id` AS SIGNED)
FROM `open_event_notifications` AS t
WHERE t.`notification_id` IN ({ids})
  AND t.`fanout_status` = 'pending' AND t.`locked_at` IS NOT NULL
  AND t.`locked_by` <=> ?
  AND t.`locked_at` <=> CAST(? AS DATETIME(6))
FOR UPDATE;

-- notify: settle deferred, uniform, step 2: [One(Delay), Held] -> Nothing
UPDATE `open_event_notifications` AS t SET
  t.`locked_at` = UTC_TIMESTAMP(6) + INTERVAL ROUND(? * 1000000) MICROSECOND - INTERVAL 120 SECOND,
  t.`locked_by` = 'deferred'
WHERE t.`notification_id` IN ({held});

-- notify: settle deferred, each, step 1: [Rows([Id, Fence(0), Fence(1)])] -> Keys
SELECT CAST(t.`notification_id` AS SIGNED)
FROM (
  SELECT *
    FROM JSON_TABLE(
      ?, '$[*]' COLUMNS (`id` BIGINT PATH '$.id', `f0` VARCHAR(255) PATH '$.f0', `f1` DATETIME(6) PATH '$.f1')
    ) AS j
) AS v STRAIGHT_JOIN `open_event_notifications` AS t
WHERE t.`notification_id` = v.`id`
  AND t.`fanout_status` = 'pending' AND t.`locked_at` IS NOT NULL
  AND t.`locked_by` <=> v.`f0`
  AND t.`locked_at` <=> v.`f1`
FOR UPDATE;

-- notify: settle deferred, each, step 2: [Rows([Delay, Id]), Held] -> Nothing
UPDATE `open_event_notifications` AS t
  JOIN (
    SELECT * FROM JSON_TABLE(?, '$[*]' COLUMNS (`delay` DOUBLE PATH '$.delay', `id` BIGINT PATH '$.id')) AS j
  ) AS v
  ON t.`notification_id` = v.`id` SET
  t.`locked_at` = UTC_TIMESTAMP(6) + INTERVAL ROUND(v.`delay` * 1000000) MICROSECOND - INTERVAL 120 SECOND,
  t.`locked_by` = 'deferred'
WHERE t.`notification_id` IN ({held});

-- notify: settle released, uniform, step 1: [Ids, One(Fence(0)), One(Fence(1))] -> Keys
SELECT CAST(t.`notification_id` AS SIGNED)
FROM `open_event_notifications` AS t
WHERE t.`notification_id` IN ({ids})
  AND t.`fanout_status` = 'pending' AND t.`locked_at` IS NOT NULL
  AND t.`locked_by` <=> ?
  AND t.`locked_at` <=> CAST(? AS DATETIME(6))
FOR UPDATE;

-- notify: settle released, uniform, step 2: [Held] -> Nothing
UPDATE `open_event_notifications` AS t SET
  t.`locked_at` = NULL,
  t.`fanout_status` = 'pending',
  t.`locked_by` = NULL
WHERE t.`notification_id` IN ({held});

-- notify: settle released, each, step 1: [Rows([Id, Fence(0), Fence(1)])] -> Keys
SELECT CAST(t.`notification_id` AS SIGNED)
FROM (
  SELECT *
    FROM JSON_TABLE(
      ?, '$[*]' COLUMNS (`id` BIGINT PATH '$.id', `f0` VARCHAR(255) PATH '$.f0', `f1` DATETIME(6) PATH '$.f1')
    ) AS j
) AS v STRAIGHT_JOIN `open_event_notifications` AS t
WHERE t.`notification_id` = v.`id`
  AND t.`fanout_status` = 'pending' AND t.`locked_at` IS NOT NULL
  AND t.`locked_by` <=> v.`f0`
  AND t.`locked_at` <=> v.`f1`
FOR UPDATE;

-- notify: settle released, each, step 2: [Held] -> Nothing
UPDATE `open_event_notifications` AS t SET
  t.`locked_at` = NULL,
  t.`fanout_status` = 'pending',
  t.`locked_by` = NULL
WHERE t.`notification_id` IN ({held});

-- notify: extend, step 1: [Rows([Id, Fence(0), Fence(1)])] -> Keys
SELECT CAST(t.`notification_id` AS SIGNED)
FROM (
  SELECT *
    FROM JSON_TABLE(
      ?, '$[*]' COLUMNS (`id` BIGINT PATH '$.id', `f0` VARCHAR(255) PATH '$.f0', `f1` DATETIME(6) PATH '$.f1')
    ) AS j
) AS v STRAIGHT_JOIN `open_event_notifications` AS t
WHERE t.`notification_id` = v.`id`
  AND t.`fanout_status` = 'pending' AND t.`locked_at` IS NOT NULL
  AND t.`locked_by` <=> v.`f0`
  AND t.`locked_at` <=> v.`f1`
FOR UPDATE;

-- notify: extend, step 2: [Held] -> Nothing
UPDATE `open_event_notifications` AS t SET t.`locked_at` = CAST(
  CASE
    WHEN t.`locked_at`
      BETWEEN UTC_TIMESTAMP(6) - INTERVAL 1 MICROSECOND
      AND UTC_TIMESTAMP(6) + INTERVAL 60 SECOND
      THEN t.`locked_at` + INTERVAL 1 MICROSECOND
    ELSE UTC_TIMESTAMP(6)
    END AS DATETIME(6)
)
WHERE t.`notification_id` IN ({held});

-- notify: extend, step 3: [Held] -> Leases
SELECT
  CAST(t.`notification_id` AS SIGNED),
  CAST(t.`locked_by` AS CHAR),
  CAST(t.`locked_at` AS CHAR)
FROM `open_event_notifications` AS t
WHERE t.`notification_id` IN ({held});

-- notify: leases after a lost extension: [Ids, Owner] -> Leases
SELECT
  CAST(t.`notification_id` AS SIGNED),
  CAST(t.`locked_by` AS CHAR),
  CAST(t.`locked_at` AS CHAR)
FROM `open_event_notifications` AS t
WHERE t.`notification_id` IN ({ids})
  AND t.`fanout_status` = 'pending' AND t.`locked_at` IS NOT NULL
  AND t.`locked_by` = ?;

-- notify: leases that still hold: [Rows([Id, Fence(0), Fence(1)])] -> Keys
SELECT CAST(t.`notification_id` AS SIGNED)
FROM (
  SELECT *
    FROM JSON_TABLE(
      ?, '$[*]' COLUMNS (`id` BIGINT PATH '$.id', `f0` VARCHAR(255) PATH '$.f0', `f1` DATETIME(6) PATH '$.f1')
    ) AS j
) AS v STRAIGHT_JOIN `open_event_notifications` AS t
WHERE t.`notification_id` = v.`id`
  AND t.`fanout_status` = 'pending' AND t.`locked_at` IS NOT NULL
  AND t.`locked_by` <=> v.`f0`
  AND t.`locked_at` <=> v.`f1`
  AND (t.`locked_at` < UTC_TIMESTAMP(6) - INTERVAL 120 SECOND) IS NOT TRUE;

-- notify: look for rows of a lost claim: [Owner] -> Keys
SELECT CAST(t.`notification_id` AS SIGNED)
FROM `open_event_notifications` AS t
WHERE t.`fanout_status` = 'pending' AND t.`locked_at` IS NOT NULL
  AND t.`locked_by` = ?;

-- notify: release rows of a lost claim, step 1: [Ids, Owner] -> Keys
SELECT CAST(t.`notification_id` AS SIGNED)
FROM `open_event_notifications` AS t
WHERE t.`notification_id` IN ({ids})
  AND t.`fanout_status` = 'pending' AND t.`locked_at` IS NOT NULL
  AND t.`locked_by` = ?
FOR UPDATE;

-- notify: release rows of a lost claim, step 2: [Held] -> Nothing
UPDATE `open_event_notifications` AS t SET
  t.`locked_at` = NULL,
  t.`fanout_status` = 'pending',
  t.`locked_by` = NULL
WHERE t.`notification_id` IN ({held});

-- notify: look for expired leases: [Limit] -> Other
SELECT
  CAST(t.`notification_id` AS SIGNED),
  CAST(t.`locked_by` AS CHAR),
  CAST(t.`locked_at` AS CHAR),
  CASE
    WHEN NOT (COALESCE(t.`locked_by`, '') = 'deferred')
    AND CASE
    WHEN JSON_VALID(t.`error`)
      THEN COALESCE(CAST(JSON_UNQUOTE(JSON_EXTRACT(t.`error`, '$.takeovers')) AS DECIMAL(18, 6)), 0)
    ELSE 0
    END + 1 >= 5 THEN 1
    ELSE 0
    END,
  3
FROM `open_event_notifications` AS t
WHERE t.`fanout_status` = 'pending' AND t.`locked_at` IS NOT NULL
  AND t.`locked_at` < UTC_TIMESTAMP(6) - INTERVAL 120 SECOND
LIMIT ?;

-- notify: reclaim, free, step 1: [Ids] -> Keys
SELECT CAST(t.`notification_id` AS SIGNED)
FROM `open_event_notifications` AS t
WHERE t.`notification_id` IN ({ids})
  AND t.`fanout_status` = 'pending' AND t.`locked_at` IS NOT NULL
  AND t.`locked_at` < UTC_TIMESTAMP(6) - INTERVAL 120 SECOND
FOR UPDATE;

-- notify: reclaim, free, step 2: [Held] -> Nothing
UPDATE `open_event_notifications` AS t SET
  t.`locked_at` = NULL,
  t.`fanout_status` = 'pending',
  t.`locked_by` = NULL
WHERE t.`notification_id` IN ({held});

-- notify: reclaim, spared, step 1: [Ids] -> Keys
SELECT CAST(t.`notification_id` AS SIGNED)
FROM `open_event_notifications` AS t
WHERE t.`notification_id` IN ({ids})
  AND t.`fanout_status` = 'pending' AND t.`locked_at` IS NOT NULL
  AND t.`locked_at` < UTC_TIMESTAMP(6) - INTERVAL 120 SECOND
FOR UPDATE;

-- notify: reclaim, spared, step 2: [Held] -> Nothing
UPDATE `open_event_notifications` AS t SET
  t.`locked_at` = NULL,
  t.`fanout_status` = 'pending',
  t.`locked_by` = NULL
WHERE t.`notification_id` IN ({held});

-- notify: reclaim, spared, step 3: [Held] -> Nothing
INSERT INTO postrider_crashes (place, row_id, crashes, crashed_at)
SELECT
  'open_event_notifications/notify',
  CAST(CAST(t.`notification_id` AS SIGNED) AS CHAR),
  1,
  UTC_TIMESTAMP(6)
FROM `open_event_notifications` AS t WHERE t.`notification_id` IN ({held})
ON DUPLICATE KEY UPDATE crashes = postrider_crashes.crashes + 1, crashed_at = VALUES(crashed_at);

-- notify: reclaim, charged, step 1: [Ids] -> Keys
SELECT CAST(t.`notification_id` AS SIGNED)
FROM `open_event_notifications` AS t
WHERE t.`notification_id` IN ({ids})
  AND t.`fanout_status` = 'pending' AND t.`locked_at` IS NOT NULL
  AND t.`locked_at` < UTC_TIMESTAMP(6) - INTERVAL 120 SECOND
FOR UPDATE;

-- notify: reclaim, charged, step 2: [Held] -> Nothing
UPDATE `open_event_notifications` AS t SET
  t.`error` = CASE
    WHEN COALESCE(t.`locked_by`, '') = 'deferred' THEN t.`error`
    ELSE JSON_MERGE_PATCH(
      CASE
        WHEN t.`error` IS NULL THEN '{}'
        WHEN NOT JSON_VALID(t.`error`) THEN JSON_OBJECT('message', t.`error`)
        WHEN JSON_TYPE(t.`error`) = 'OBJECT' THEN t.`error`
        ELSE '{}'
        END,
        JSON_OBJECT(
          'takeovers',
            CAST(
              CASE
                WHEN JSON_VALID(t.`error`)
                  THEN COALESCE(
                    CAST(JSON_UNQUOTE(JSON_EXTRACT(t.`error`, '$.takeovers')) AS DECIMAL(18, 6)), 0
                  )
                ELSE 0
                END + 1 AS SIGNED
            )
        )
    )
    END,
  t.`locked_at` = NULL,
  t.`fanout_status` = 'pending',
  t.`locked_by` = NULL
WHERE t.`notification_id` IN ({held});

-- notify: reclaim, charged, step 3: [Held] -> Nothing
INSERT INTO postrider_crashes (place, row_id, crashes, crashed_at)
SELECT
  'open_event_notifications/notify',
  CAST(CAST(t.`notification_id` AS SIGNED) AS CHAR),
  1,
  UTC_TIMESTAMP(6)
FROM `open_event_notifications` AS t WHERE t.`notification_id` IN ({held})
ON DUPLICATE KEY UPDATE crashes = postrider_crashes.crashes + 1, crashed_at = VALUES(crashed_at);

-- notify: reclaim, dead, step 1: [Ids] -> Keys
SELECT CAST(t.`notification_id` AS SIGNED)
FROM `open_event_notifications` AS t
WHERE t.`notification_id` IN ({ids})
  AND t.`fanout_status` = 'pending' AND t.`locked_at` IS NOT NULL
  AND t.`locked_at` < UTC_TIMESTAMP(6) - INTERVAL 120 SECOND
FOR UPDATE;

-- notify: reclaim, dead, step 2: [Held] -> Nothing
UPDATE `open_event_notifications` AS t SET
  t.`error` = JSON_OBJECT(
    'code',
      'poison',
      'message',
      'lease expired too often: workers crashed, or lost the lease',
      'takeovers',
      CAST(
        CASE
          WHEN JSON_VALID(t.`error`)
            THEN COALESCE(CAST(JSON_UNQUOTE(JSON_EXTRACT(t.`error`, '$.takeovers')) AS DECIMAL(18, 6)), 0)
          ELSE 0
          END + 1 AS SIGNED
      )
  ),
  t.`locked_at` = NULL,
  t.`fanout_status` = 'failed',
  t.`locked_by` = NULL
WHERE t.`notification_id` IN ({held});

-- notify: reclaim, dead, step 3: [Held] -> Nothing
DELETE
  FROM postrider_crashes
  WHERE place = 'open_event_notifications/notify'
  AND row_id IN (
    SELECT CAST(CAST(t.`notification_id` AS SIGNED) AS CHAR)
      FROM `open_event_notifications` AS t
      WHERE t.`notification_id` IN ({held})
  );

-- notify: spent, step 1: [Limit] -> Keys
SELECT CAST(t.`notification_id` AS SIGNED)
FROM (
  SELECT
    t.`notification_id`,
    t.`fanout_attempts`
  FROM `open_event_notifications` AS t
    WHERE t.`fanout_status` = 'pending'
    AND t.`locked_at` IS NULL
    ORDER BY t.`notification_id`
    LIMIT 10000
) AS t
WHERE t.`fanout_attempts` >= 3
LIMIT ?;

-- notify: spent, step 2: [Held] -> Keys
SELECT CAST(t.`notification_id` AS SIGNED)
FROM `open_event_notifications` AS t
WHERE t.`notification_id` IN ({held})
  AND t.`fanout_status` = 'pending' AND t.`locked_at` IS NULL
  AND t.`fanout_attempts` >= 3
FOR UPDATE SKIP LOCKED;

-- notify: spent, step 3: [Held] -> Nothing
UPDATE `open_event_notifications` AS t SET
  t.`error` = COALESCE(
    t.`error`, JSON_MERGE_PATCH('{}', JSON_OBJECT('code', 'failed', 'message', 'no attempts left'))
  ),
  t.`fanout_status` = 'failed',
  t.`locked_by` = NULL
WHERE t.`notification_id` IN ({held});

-- notify: sweep 1, step 1: [Limit] -> Keys
SELECT CAST(t.`notification_id` AS SIGNED)
FROM `open_event_notifications` AS t
WHERE t.`fanout_status` = 'pending' AND t.`locked_at` IS NULL
  AND t.`created_at` < UTC_TIMESTAMP(6) - INTERVAL 86400 SECOND
LIMIT ?;

-- notify: sweep 1, step 2: [Held] -> Keys
SELECT CAST(t.`notification_id` AS SIGNED)
FROM `open_event_notifications` AS t
WHERE t.`notification_id` IN ({held})
  AND t.`fanout_status` = 'pending' AND t.`locked_at` IS NULL
  AND t.`created_at` < UTC_TIMESTAMP(6) - INTERVAL 86400 SECOND
FOR UPDATE SKIP LOCKED;

-- notify: sweep 1, step 3: [Held] -> Nothing
UPDATE `open_event_notifications` AS t SET
  t.`error` = JSON_MERGE_PATCH('{}', JSON_OBJECT('code', 'expired', 'message', 'expired before delivery')),
  t.`fanout_status` = 'expired',
  t.`locked_by` = NULL
WHERE t.`notification_id` IN ({held});

-- notify: next due: [] -> Other
SELECT CASE WHEN min(looked.w) < 0 THEN 0 ELSE CAST(min(looked.w) AS SIGNED) END AS w
FROM (
  SELECT COALESCE(
    CASE
      WHEN t.`fanout_attempts`
        > 0
        THEN GREATEST(
          CASE t.`fanout_attempts` WHEN 1 THEN 0 WHEN 2 THEN 2000000 ELSE 7000000 END,
            LEAST(
              GREATEST(
                CASE
                  WHEN JSON_VALID(t.`error`)
                    THEN COALESCE(
                      CAST(JSON_UNQUOTE(JSON_EXTRACT(t.`error`, '$.retryAfterSeconds')) AS DECIMAL(18, 6)), 0
                    )
                  ELSE 0
                  END,
                  0
              ),
                86400
            )
              * 1000000
        )
          - (TIMESTAMPDIFF(MICROSECOND, t.`last_attempt_at`, UTC_TIMESTAMP(6)))
      END,
      0
  ) AS w
    FROM `open_event_notifications` AS t
    WHERE t.`fanout_status` = 'pending'
    AND t.`locked_at` IS NULL
    AND t.`fanout_attempts` < 3
    AND (t.`created_at` IS NULL OR t.`created_at` >= UTC_TIMESTAMP(6) - INTERVAL 86400 SECOND)
    ORDER BY t.`notification_id`
    LIMIT 1000
) AS looked;

-- notify: lag: [] -> Other
SELECT (
  SELECT CAST(
    COALESCE(
      TIMESTAMPDIFF(MICROSECOND, t.`last_attempt_at`, UTC_TIMESTAMP(6)),
        TIMESTAMPDIFF(MICROSECOND, t.`created_at`, UTC_TIMESTAMP(6))
    ) AS DOUBLE
  )
    / 1000000
    FROM `open_event_notifications` AS t
    WHERE t.`fanout_status` = 'pending'
    AND t.`locked_at` IS NULL
    AND (
      t.`fanout_attempts` = 0
        OR t.`last_attempt_at` IS NULL
        OR (
          t.`last_attempt_at` <= CASE t.`fanout_attempts`
            WHEN 1 THEN UTC_TIMESTAMP(6)
            WHEN 2 THEN UTC_TIMESTAMP(6) - INTERVAL 2 SECOND
            ELSE UTC_TIMESTAMP(6) - INTERVAL 7 SECOND
            END
            AND t.`last_attempt_at` <= UTC_TIMESTAMP(6)
              + INTERVAL ROUND(
                (
                  0
                    - LEAST(
                      GREATEST(
                        CASE
                          WHEN JSON_VALID(t.`error`)
                            THEN COALESCE(
                              CAST(
                                JSON_UNQUOTE(JSON_EXTRACT(t.`error`, '$.retryAfterSeconds')) AS DECIMAL(18, 6)
                              ),
                                0
                            )
                          ELSE 0
                          END,
                          0
                      ),
                        86400
                    )
                )
                  * 1000000
              ) MICROSECOND
        )
    )
    AND t.`fanout_attempts` < 3
    AND (t.`created_at` IS NULL OR t.`created_at` >= UTC_TIMESTAMP(6) - INTERVAL 86400 SECOND)
    ORDER BY t.`notification_id`
    LIMIT 1
),
  (
    SELECT CAST(TIMESTAMPDIFF(MICROSECOND, t.`locked_at`, UTC_TIMESTAMP(6)) AS DOUBLE) / 1000000
      FROM `open_event_notifications` AS t
      WHERE t.`fanout_status` = 'pending'
      AND t.`locked_at` IS NOT NULL
      ORDER BY t.`locked_at`
      LIMIT 1
  );

-- notify: census waiting: [] -> Other
SELECT
  CAST(COUNT(*) AS SIGNED),
  0
FROM (
  SELECT 1 AS one
    FROM `open_event_notifications` AS t
    WHERE t.`fanout_status` = 'pending'
    AND t.`locked_at` IS NULL
    LIMIT 10001
) AS counted;

-- notify: census locked: [] -> Other
SELECT
  CAST(COUNT(*) AS SIGNED),
  0
FROM (
  SELECT 1 AS one
    FROM `open_event_notifications` AS t
    WHERE t.`fanout_status` = 'pending'
    AND t.`locked_at` IS NOT NULL
    LIMIT 10001
) AS counted;

-- notify: census sent: [] -> Other
SELECT
  CAST(COUNT(*) AS SIGNED),
  0
FROM (
  SELECT 1 AS one FROM `open_event_notifications` AS t WHERE t.`fanout_status` = 'sent' LIMIT 10001
) AS counted;

-- notify: census failed: [] -> Other
SELECT
  CAST(COUNT(*) AS SIGNED),
  0
FROM (
  SELECT 1 AS one FROM `open_event_notifications` AS t WHERE t.`fanout_status` = 'failed' LIMIT 10001
) AS counted;

-- notify: census skipped: [] -> Other
SELECT
  CAST(COUNT(*) AS SIGNED),
  0
FROM (
  SELECT 1 AS one FROM `open_event_notifications` AS t WHERE t.`fanout_status` = 'skipped' LIMIT 10001
) AS counted;

-- notify: census expired: [] -> Other
SELECT
  CAST(COUNT(*) AS SIGNED),
  0
FROM (
  SELECT 1 AS one FROM `open_event_notifications` AS t WHERE t.`fanout_status` = 'expired' LIMIT 10001
) AS counted;

-- notify: requeue ids failed, step 1: [Ids] -> Keys
SELECT CAST(t.`notification_id` AS SIGNED)
FROM `open_event_notifications` AS t
WHERE t.`notification_id` IN ({ids})
  AND t.`fanout_status` = 'failed'
FOR UPDATE;

-- notify: requeue ids failed, step 2: [Held] -> Nothing
UPDATE `open_event_notifications` AS t SET
  t.`fanout_status` = 'pending',
  t.`locked_at` = NULL,
  t.`locked_by` = NULL,
  t.`fanout_attempts` = 0,
  t.`error` = NULL
WHERE t.`notification_id` IN ({held});

-- notify: requeue ids skipped, step 1: [Ids] -> Keys
SELECT CAST(t.`notification_id` AS SIGNED)
FROM `open_event_notifications` AS t
WHERE t.`notification_id` IN ({ids})
  AND t.`fanout_status` = 'skipped'
FOR UPDATE;

-- notify: requeue ids skipped, step 2: [Held] -> Nothing
UPDATE `open_event_notifications` AS t SET
  t.`fanout_status` = 'pending',
  t.`locked_at` = NULL,
  t.`locked_by` = NULL,
  t.`fanout_attempts` = 0,
  t.`error` = NULL
WHERE t.`notification_id` IN ({held});

-- notify: requeue ids expired, step 1: [Ids] -> Keys
SELECT CAST(t.`notification_id` AS SIGNED)
FROM `open_event_notifications` AS t
WHERE t.`notification_id` IN ({ids})
  AND t.`fanout_status` = 'expired'
FOR UPDATE;

-- notify: requeue ids expired, step 2: [Held] -> Nothing
UPDATE `open_event_notifications` AS t SET
  t.`fanout_status` = 'pending',
  t.`locked_at` = NULL,
  t.`locked_by` = NULL,
  t.`fanout_attempts` = 0,
  t.`error` = NULL
WHERE t.`notification_id` IN ({held});

-- notify: requeue state failed, step 1: [Since, Since, Since, Since, Limit] -> Keys
SELECT CAST(t.`notification_id` AS SIGNED)
FROM `open_event_notifications` AS t
WHERE t.`fanout_status` = 'failed'
  AND (
    ? IS NULL
      OR t.`last_attempt_at` >= UTC_TIMESTAMP(6) + INTERVAL ROUND((0 - ?) * 1000000) MICROSECOND
      OR t.`last_attempt_at` IS NULL
      AND t.`locked_at` >= UTC_TIMESTAMP(6) + INTERVAL ROUND((0 - ?) * 1000000) MICROSECOND
      OR t.`last_attempt_at` IS NULL
      AND t.`locked_at` IS NULL
      AND t.`created_at` >= UTC_TIMESTAMP(6) + INTERVAL ROUND((0 - ?) * 1000000) MICROSECOND
  )
LIMIT ?;

-- notify: requeue state failed, step 2: [Held] -> Keys
SELECT CAST(t.`notification_id` AS SIGNED)
FROM `open_event_notifications` AS t
WHERE t.`notification_id` IN ({held})
  AND t.`fanout_status` = 'failed'
FOR UPDATE SKIP LOCKED;

-- notify: requeue state failed, step 3: [Held] -> Nothing
UPDATE `open_event_notifications` AS t SET
  t.`fanout_status` = 'pending',
  t.`locked_at` = NULL,
  t.`locked_by` = NULL,
  t.`fanout_attempts` = 0,
  t.`error` = NULL
WHERE t.`notification_id` IN ({held});

-- notify: requeue state skipped, step 1: [Since, Since, Since, Since, Limit] -> Keys
SELECT CAST(t.`notification_id` AS SIGNED)
FROM `open_event_notifications` AS t
WHERE t.`fanout_status` = 'skipped'
  AND (
    ? IS NULL
      OR t.`last_attempt_at` >= UTC_TIMESTAMP(6) + INTERVAL ROUND((0 - ?) * 1000000) MICROSECOND
      OR t.`last_attempt_at` IS NULL
      AND t.`locked_at` >= UTC_TIMESTAMP(6) + INTERVAL ROUND((0 - ?) * 1000000) MICROSECOND
      OR t.`last_attempt_at` IS NULL
      AND t.`locked_at` IS NULL
      AND t.`created_at` >= UTC_TIMESTAMP(6) + INTERVAL ROUND((0 - ?) * 1000000) MICROSECOND
  )
LIMIT ?;

-- notify: requeue state skipped, step 2: [Held] -> Keys
SELECT CAST(t.`notification_id` AS SIGNED)
FROM `open_event_notifications` AS t
WHERE t.`notification_id` IN ({held})
  AND t.`fanout_status` = 'skipped'
FOR UPDATE SKIP LOCKED;

-- notify: requeue state skipped, step 3: [Held] -> Nothing
UPDATE `open_event_notifications` AS t SET
  t.`fanout_status` = 'pending',
  t.`locked_at` = NULL,
  t.`locked_by` = NULL,
  t.`fanout_attempts` = 0,
  t.`error` = NULL
WHERE t.`notification_id` IN ({held});

-- notify: requeue state expired, step 1: [Since, Since, Since, Since, Limit] -> Keys
SELECT CAST(t.`notification_id` AS SIGNED)
FROM `open_event_notifications` AS t
WHERE t.`fanout_status` = 'expired'
  AND (
    ? IS NULL
      OR t.`last_attempt_at` >= UTC_TIMESTAMP(6) + INTERVAL ROUND((0 - ?) * 1000000) MICROSECOND
      OR t.`last_attempt_at` IS NULL
      AND t.`locked_at` >= UTC_TIMESTAMP(6) + INTERVAL ROUND((0 - ?) * 1000000) MICROSECOND
      OR t.`last_attempt_at` IS NULL
      AND t.`locked_at` IS NULL
      AND t.`created_at` >= UTC_TIMESTAMP(6) + INTERVAL ROUND((0 - ?) * 1000000) MICROSECOND
  )
LIMIT ?;

-- notify: requeue state expired, step 2: [Held] -> Keys
SELECT CAST(t.`notification_id` AS SIGNED)
FROM `open_event_notifications` AS t
WHERE t.`notification_id` IN ({held})
  AND t.`fanout_status` = 'expired'
FOR UPDATE SKIP LOCKED;

-- notify: requeue state expired, step 3: [Held] -> Nothing
UPDATE `open_event_notifications` AS t SET
  t.`fanout_status` = 'pending',
  t.`locked_at` = NULL,
  t.`locked_by` = NULL,
  t.`fanout_attempts` = 0,
  t.`error` = NULL
WHERE t.`notification_id` IN ({held});

-- notify: release ids locked, step 1: [Ids] -> Keys
SELECT CAST(t.`notification_id` AS SIGNED)
FROM `open_event_notifications` AS t
WHERE t.`notification_id` IN ({ids})
  AND t.`fanout_status` = 'pending' AND t.`locked_at` IS NOT NULL
FOR UPDATE;

-- notify: release ids locked, step 2: [Held] -> Nothing
UPDATE `open_event_notifications` AS t SET
  t.`locked_at` = NULL,
  t.`fanout_status` = 'pending',
  t.`locked_by` = NULL
WHERE t.`notification_id` IN ({held});

-- notify: release state locked, step 1: [Since, Since, Since, Since, Limit] -> Keys
SELECT CAST(t.`notification_id` AS SIGNED)
FROM `open_event_notifications` AS t
WHERE t.`fanout_status` = 'pending' AND t.`locked_at` IS NOT NULL
  AND (
    ? IS NULL
      OR t.`last_attempt_at` >= UTC_TIMESTAMP(6) + INTERVAL ROUND((0 - ?) * 1000000) MICROSECOND
      OR t.`last_attempt_at` IS NULL
      AND t.`locked_at` >= UTC_TIMESTAMP(6) + INTERVAL ROUND((0 - ?) * 1000000) MICROSECOND
      OR t.`last_attempt_at` IS NULL
      AND t.`locked_at` IS NULL
      AND t.`created_at` >= UTC_TIMESTAMP(6) + INTERVAL ROUND((0 - ?) * 1000000) MICROSECOND
  )
LIMIT ?;

-- notify: release state locked, step 2: [Held] -> Keys
SELECT CAST(t.`notification_id` AS SIGNED)
FROM `open_event_notifications` AS t
WHERE t.`notification_id` IN ({held})
  AND t.`fanout_status` = 'pending' AND t.`locked_at` IS NOT NULL
FOR UPDATE SKIP LOCKED;

-- notify: release state locked, step 3: [Held] -> Nothing
UPDATE `open_event_notifications` AS t SET
  t.`locked_at` = NULL,
  t.`fanout_status` = 'pending',
  t.`locked_by` = NULL
WHERE t.`notification_id` IN ({held});
