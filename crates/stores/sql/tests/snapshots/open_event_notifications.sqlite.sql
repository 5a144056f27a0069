-- open_event_notifications: every statement. Written by the snapshot test; do not edit.

-- create
CREATE TABLE IF NOT EXISTS courses (
    course_id INTEGER PRIMARY KEY AUTOINCREMENT,
    title TEXT,
    course_string TEXT
);

-- create
CREATE TABLE IF NOT EXISTS sections (
    section_id INTEGER PRIMARY KEY AUTOINCREMENT,
    course_id INTEGER,
    section_number TEXT,
    subject_code TEXT,
    meeting_summary TEXT
);

-- create
CREATE TABLE IF NOT EXISTS open_events (
    open_event_id INTEGER PRIMARY KEY AUTOINCREMENT,
    section_id INTEGER,
    term_id TEXT NOT NULL,
    campus_code TEXT NOT NULL,
    index_number TEXT NOT NULL,
    status_before TEXT,
    status_after TEXT NOT NULL,
    event_at TEXT NOT NULL,
    detected_by TEXT,
    dedupe_key TEXT NOT NULL,
    trace_id TEXT,
    payload TEXT,
    created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
);

-- create
CREATE TABLE IF NOT EXISTS subscriptions (
    subscription_id INTEGER PRIMARY KEY AUTOINCREMENT,
    section_id INTEGER,
    "status" TEXT NOT NULL DEFAULT 'active',
    contact_type TEXT NOT NULL DEFAULT 'email',
    contact_value TEXT NOT NULL,
    contact_hash TEXT,
    "locale" TEXT,
    last_known_section_status TEXT,
    unsubscribe_token TEXT,
    metadata TEXT,
    created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
);

-- create
CREATE TABLE IF NOT EXISTS "open_event_notifications" (
    notification_id INTEGER PRIMARY KEY AUTOINCREMENT,
    open_event_id INTEGER NOT NULL,
    subscription_id INTEGER NOT NULL,
    dedupe_key TEXT NOT NULL,
    fanout_status TEXT NOT NULL DEFAULT 'pending',
    fanout_attempts INTEGER NOT NULL DEFAULT 0,
    last_attempt_at TEXT,
    locked_by TEXT,
    locked_at TEXT,
    "error" TEXT,
    created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    UNIQUE (open_event_id, subscription_id)
);

-- create
CREATE TABLE IF NOT EXISTS subscription_events (
    event_id INTEGER PRIMARY KEY AUTOINCREMENT,
    subscription_id INTEGER NOT NULL,
    event_type TEXT NOT NULL,
    section_status TEXT,
    created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
);

-- create
CREATE INDEX IF NOT EXISTS subscription_events_subscription ON subscription_events (subscription_id);

-- create
CREATE INDEX IF NOT EXISTS "open_event_notifications_notify_claim"
  ON "open_event_notifications" ("notification_id")
  WHERE "fanout_status" = 'pending'
  AND "locked_at" IS NULL;

-- create
CREATE INDEX IF NOT EXISTS "open_event_notifications_notify_lease"
  ON "open_event_notifications" (
    (
      CASE
        WHEN typeof("locked_at") IN ('integer', 'real')
        OR "locked_at" NOT GLOB '*[^0-9]*' THEN CAST("locked_at" AS INTEGER)
        ELSE CAST(round((julianday("locked_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END
    )
  )
  WHERE "fanout_status" = 'pending'
  AND "locked_at" IS NOT NULL;

-- create
CREATE INDEX IF NOT EXISTS "open_event_notifications_states3"
  ON "open_event_notifications" (
    (
      CASE
        WHEN "fanout_status" = 'failed' THEN 'failed'
        WHEN "fanout_status" = 'skipped' THEN 'skipped'
        WHEN "fanout_status" = 'expired' THEN 'expired'
        WHEN "fanout_status" = 'pending'
        AND "locked_at" IS NULL
        AND "fanout_attempts" >= 3 THEN 'no attempts left'
        END
    ),
      "notification_id"
  )
  WHERE CASE
  WHEN "fanout_status" = 'failed' THEN 'failed'
  WHEN "fanout_status" = 'skipped' THEN 'skipped'
  WHEN "fanout_status" = 'expired' THEN 'expired'
  WHEN "fanout_status" = 'pending'
  AND "locked_at" IS NULL
  AND "fanout_attempts" >= 3 THEN 'no attempts left'
  END IS NOT NULL;

-- create
CREATE INDEX IF NOT EXISTS "open_event_notifications_counted2"
  ON "open_event_notifications" ("subscription_id", "dedupe_key")
  WHERE (("fanout_status" = 'pending' AND "locked_at" IS NOT NULL) OR ("fanout_status" = 'sent'));

-- notify: layout Layout { integer_id: true, fences: 2, claim_time: None, pool: 8, fields: ["created",
--   "dedupe", "notification_id", "open_event_id", "subscription_id"], joined: ["event.section_id",
--   "event.term_id", "event.campus_code", "event.index_number", "event.status_before", "event.status_after",
--   "event.event_at", "event.detected_by", "event.trace_id", "event.payload", "subscription.status",
--   "subscription.contact_type", "subscription.contact_value", "subscription.contact_hash",
--   "subscription.locale", "subscription.last_known_section_status", "subscription.unsubscribe_token",
--   "subscription.metadata", "section.section_number", "section.subject_code", "section.course_id",
--   "section.meeting_summary", "course.title", "course.course_string", "history.sent", "history.duplicates",
--   "history.in_flight", "clock"] }

-- notify: claim 1, step 1: [Limit] -> Keys
SELECT CAST(t."notification_id" AS INTEGER)
FROM "open_event_notifications" AS t
WHERE t."fanout_status" = 'pending' AND t."locked_at" IS NULL
  AND (
    t."fanout_attempts" = 0
      OR t."last_attempt_at" IS NULL
      OR (
        CASE
          WHEN typeof(t."last_attempt_at") IN ('integer', 'real')
          OR t."last_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."last_attempt_at" AS INTEGER)
          ELSE CAST(round((julianday(t."last_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
          END <= CASE t."fanout_attempts"
          WHEN 1 THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
          WHEN 2 THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) - 2000
          ELSE CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) - 7000
          END
          AND CASE
          WHEN typeof(t."last_attempt_at") IN ('integer', 'real')
          OR t."last_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."last_attempt_at" AS INTEGER)
          ELSE CAST(round((julianday(t."last_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
          END <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
            + CAST(
              round(
                (
                  0
                    - min(
                      max(
                        CASE
                          WHEN json_valid(t."error")
                            THEN COALESCE(CAST(json_extract(t."error", '$.retryAfterSeconds') AS REAL), 0)
                          ELSE 0
                          END,
                          0
                      ),
                        86400
                    )
                )
                  * 1000.0
              ) AS INTEGER
            )
            + 0
      )
  )
  AND t."fanout_attempts" < 3
  AND (
    t."created_at" IS NULL
      OR CASE
      WHEN typeof(t."created_at") IN ('integer', 'real')
      OR t."created_at" NOT GLOB '*[^0-9]*' THEN CAST(t."created_at" AS INTEGER)
      ELSE CAST(round((julianday(t."created_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END >= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) - 86400000
  )
ORDER BY t."notification_id"
LIMIT ?1;

-- notify: claim 1, step 2: [Owner, Held] -> Rows
UPDATE "open_event_notifications" AS t SET
  "fanout_status" = 'pending',
  "locked_at" = CASE
    WHEN typeof(COALESCE(t."locked_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."locked_at", t."created_at") NOT GLOB '*[^0-9]*' THEN CASE
    WHEN CASE
    WHEN typeof(t."locked_at") IN ('integer', 'real')
    OR t."locked_at" NOT GLOB '*[^0-9]*' THEN CAST(t."locked_at" AS INTEGER)
    ELSE CAST(round((julianday(t."locked_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END
      BETWEEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 - 1
      AND CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 + 60000
      THEN CASE
    WHEN typeof(t."locked_at") IN ('integer', 'real')
    OR t."locked_at" NOT GLOB '*[^0-9]*' THEN CAST(t."locked_at" AS INTEGER)
    ELSE CAST(round((julianday(t."locked_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END + 1
    ELSE CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    END
    WHEN COALESCE(t."locked_at", t."created_at") GLOB '????-??-?? *'
      THEN strftime(
        '%Y-%m-%d %H:%M:%f',
          (
            CASE
              WHEN CASE
              WHEN typeof(t."locked_at") IN ('integer', 'real')
              OR t."locked_at" NOT GLOB '*[^0-9]*' THEN CAST(t."locked_at" AS INTEGER)
              ELSE CAST(round((julianday(t."locked_at") - 2440587.5) * 86400000.0) AS INTEGER)
              END
                BETWEEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 - 1
                AND CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 + 60000
                THEN CASE
              WHEN typeof(t."locked_at") IN ('integer', 'real')
              OR t."locked_at" NOT GLOB '*[^0-9]*' THEN CAST(t."locked_at" AS INTEGER)
              ELSE CAST(round((julianday(t."locked_at") - 2440587.5) * 86400000.0) AS INTEGER)
              END + 1
              ELSE CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
              END
          )
            / 1000.0,
          'unixepoch'
      )
    ELSE strftime(
      '%Y-%m-%dT%H:%M:%fZ',
        (
          CASE
            WHEN CASE
            WHEN typeof(t."locked_at") IN ('integer', 'real')
            OR t."locked_at" NOT GLOB '*[^0-9]*' THEN CAST(t."locked_at" AS INTEGER)
            ELSE CAST(round((julianday(t."locked_at") - 2440587.5) * 86400000.0) AS INTEGER)
            END
              BETWEEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 - 1
              AND CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 + 60000
              THEN CASE
            WHEN typeof(t."locked_at") IN ('integer', 'real')
            OR t."locked_at" NOT GLOB '*[^0-9]*' THEN CAST(t."locked_at" AS INTEGER)
            ELSE CAST(round((julianday(t."locked_at") - 2440587.5) * 86400000.0) AS INTEGER)
            END + 1
            ELSE CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
            END
        )
          / 1000.0,
        'unixepoch'
    )
    END,
  "locked_by" = ?1
WHERE t."notification_id" IN (SELECT CAST(value AS INTEGER) FROM json_each(?2))
RETURNING
  CAST("notification_id" AS INTEGER),
  CAST("locked_by" AS TEXT),
  CAST("locked_at" AS TEXT),
  CAST("fanout_attempts" AS INTEGER),
  NULL,
  NULL,
  NULL,
  NULL,
  NULL,
  NULL,
  CAST(
    COALESCE(
      (
        (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0) - CASE
          WHEN typeof("last_attempt_at") IN ('integer', 'real')
          OR "last_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST("last_attempt_at" AS INTEGER)
          ELSE CAST(round((julianday("last_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
          END
      )
        * 1000,
        (
          (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0) - CASE
            WHEN typeof("created_at") IN ('integer', 'real')
            OR "created_at" NOT GLOB '*[^0-9]*' THEN CAST("created_at" AS INTEGER)
            ELSE CAST(round((julianday("created_at") - 2440587.5) * 86400000.0) AS INTEGER)
            END
        )
          * 1000
    ) AS INTEGER
  ),
  CAST(
    COALESCE(length(CAST("created_at" AS BLOB)), 0)
      + COALESCE(length(CAST("dedupe_key" AS BLOB)), 0) AS INTEGER
  ),
  CASE WHEN length(CAST("created_at" AS BLOB)) <= 65536 THEN "created_at" END,
  CASE WHEN length(CAST("dedupe_key" AS BLOB)) <= 65536 THEN "dedupe_key" END,
  CAST("notification_id" AS TEXT),
  CAST("open_event_id" AS TEXT),
  CAST("subscription_id" AS TEXT);

-- notify: load: [Ids] -> Other
SELECT
  CAST(t."notification_id" AS INTEGER),
  t."created_at",
  t."dedupe_key",
  CAST(t."notification_id" AS TEXT),
  CAST(t."open_event_id" AS TEXT),
  CAST(t."subscription_id" AS TEXT)
FROM "open_event_notifications" AS t
WHERE t."notification_id" IN (SELECT CAST(value AS INTEGER) FROM json_each(?1));

-- notify: join: [Ids] -> Other
SELECT
  CAST(t."notification_id" AS INTEGER),
  CAST("j_event"."section_id" AS TEXT),
  CAST("j_event"."term_id" AS TEXT),
  CAST("j_event"."campus_code" AS TEXT),
  CAST("j_event"."index_number" AS TEXT),
  CAST("j_event"."status_before" AS TEXT),
  CAST("j_event"."status_after" AS TEXT),
  CAST("j_event"."event_at" AS TEXT),
  CAST("j_event"."detected_by" AS TEXT),
  CAST("j_event"."trace_id" AS TEXT),
  CAST("j_event"."payload" AS TEXT),
  CAST("j_subscription"."status" AS TEXT),
  CAST("j_subscription"."contact_type" AS TEXT),
  CAST("j_subscription"."contact_value" AS TEXT),
  CAST("j_subscription"."contact_hash" AS TEXT),
  CAST("j_subscription"."locale" AS TEXT),
  CAST("j_subscription"."last_known_section_status" AS TEXT),
  CAST("j_subscription"."unsubscribe_token" AS TEXT),
  CAST("j_subscription"."metadata" AS TEXT),
  CAST("j_section"."section_number" AS TEXT),
  CAST("j_section"."subject_code" AS TEXT),
  CAST("j_section"."course_id" AS TEXT),
  CAST("j_section"."meeting_summary" AS TEXT),
  CAST("j_course"."title" AS TEXT),
  CAST("j_course"."course_string" AS TEXT),
  CAST(
    (
      SELECT COUNT(*)
        FROM "open_event_notifications" AS c
        WHERE ((c."fanout_status" = 'pending' AND c."locked_at" IS NOT NULL) OR (c."fanout_status" = 'sent'))
        AND c."fanout_status" = 'sent'
        AND c."subscription_id" = t."subscription_id"
        AND c."notification_id" <> t."notification_id"
    ) AS INTEGER
  ),
  CAST(
    (
      SELECT COUNT(*)
        FROM "open_event_notifications" AS c
        WHERE ((c."fanout_status" = 'pending' AND c."locked_at" IS NOT NULL) OR (c."fanout_status" = 'sent'))
        AND c."fanout_status" = 'sent'
        AND CASE
        WHEN typeof(c."last_attempt_at") IN ('integer', 'real')
        OR c."last_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(c."last_attempt_at" AS INTEGER)
        ELSE CAST(round((julianday(c."last_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END >= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) - 180000
        AND c."subscription_id" = t."subscription_id"
        AND c."dedupe_key" = t."dedupe_key"
        AND c."notification_id" <> t."notification_id"
    ) AS INTEGER
  ),
  CAST(
    (
      SELECT COUNT(*)
        FROM "open_event_notifications" AS c
        WHERE ((c."fanout_status" = 'pending' AND c."locked_at" IS NOT NULL) OR (c."fanout_status" = 'sent'))
        AND c."fanout_status" = 'pending'
        AND c."locked_at" IS NOT NULL
        AND NOT (COALESCE(c."locked_by", '') = 'deferred')
        AND c."subscription_id" = t."subscription_id"
        AND c."dedupe_key" = t."dedupe_key"
        AND c."notification_id" <> t."notification_id"
        AND (
          CASE
            WHEN typeof(c."locked_at") IN ('integer', 'real')
            OR c."locked_at" NOT GLOB '*[^0-9]*' THEN CAST(c."locked_at" AS INTEGER)
            ELSE CAST(round((julianday(c."locked_at") - 2440587.5) * 86400000.0) AS INTEGER)
            END < CASE
            WHEN typeof(t."locked_at") IN ('integer', 'real')
            OR t."locked_at" NOT GLOB '*[^0-9]*' THEN CAST(t."locked_at" AS INTEGER)
            ELSE CAST(round((julianday(t."locked_at") - 2440587.5) * 86400000.0) AS INTEGER)
            END
            OR (
              CASE
                WHEN typeof(c."locked_at") IN ('integer', 'real')
                OR c."locked_at" NOT GLOB '*[^0-9]*' THEN CAST(c."locked_at" AS INTEGER)
                ELSE CAST(round((julianday(c."locked_at") - 2440587.5) * 86400000.0) AS INTEGER)
                END = CASE
                WHEN typeof(t."locked_at") IN ('integer', 'real')
                OR t."locked_at" NOT GLOB '*[^0-9]*' THEN CAST(t."locked_at" AS INTEGER)
                ELSE CAST(round((julianday(t."locked_at") - 2440587.5) * 86400000.0) AS INTEGER)
                END
                AND c."notification_id" < t."notification_id"
            )
        )
    ) AS INTEGER
  ),
  CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
FROM "open_event_notifications" AS t
LEFT JOIN "open_events" AS "j_event" ON "j_event"."open_event_id" = t."open_event_id"
LEFT JOIN "subscriptions" AS "j_subscription" ON "j_subscription"."subscription_id" = t."subscription_id"
LEFT JOIN "sections" AS "j_section" ON "j_section"."section_id" = "j_event"."section_id"
LEFT JOIN "courses" AS "j_course" ON "j_course"."course_id" = "j_section"."course_id"
WHERE t."notification_id" IN (SELECT CAST(value AS INTEGER) FROM json_each(?1));

-- notify: settle delivered, uniform, step 1: [One(Json(Outcome("provider"))),
--   One(Json(Outcome("message_id"))), Ids, One(Fence(0)), One(Fence(1))] -> Keys
UPDATE "open_event_notifications" AS t SET
  "error" = json_patch(
    '{}', json_object('provider', json(?1), 'providerMessageId', json(?2), 'status', 'sent')
  ),
  "locked_at" = NULL,
  "fanout_status" = 'sent',
  "locked_by" = NULL,
  "fanout_attempts" = t."fanout_attempts" + 1,
  "last_attempt_at" = CASE
    WHEN typeof(COALESCE(t."last_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."last_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."last_attempt_at", t."created_at") GLOB '????-??-?? *'
      THEN strftime(
        '%Y-%m-%d %H:%M:%f',
          (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0) / 1000.0,
          'unixepoch'
      )
    ELSE strftime(
      '%Y-%m-%dT%H:%M:%fZ',
        (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0) / 1000.0,
        'unixepoch'
    )
    END
WHERE t."notification_id" IN (SELECT CAST(value AS INTEGER) FROM json_each(?3))
  AND +t."fanout_status" = 'pending' AND t."locked_at" IS NOT NULL
  AND CAST(t."locked_by" AS TEXT) IS ?4
  AND CAST(t."locked_at" AS TEXT) IS ?5
RETURNING CAST("notification_id" AS INTEGER);

-- notify: settle delivered, uniform, step 2: [One(Envelope("section_status")), Held] -> Nothing
INSERT INTO "subscription_events" ("subscription_id", "event_type", "section_status", "created_at")
SELECT
  t."subscription_id",
  'notify_sent',
  ?1,
  CASE
    WHEN typeof(t."created_at") IN ('integer', 'real')
    OR t."created_at" NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN t."created_at" GLOB '????-??-?? *'
      THEN strftime(
        '%Y-%m-%d %H:%M:%f',
          (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0) / 1000.0,
          'unixepoch'
      )
    ELSE strftime(
      '%Y-%m-%dT%H:%M:%fZ',
        (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0) / 1000.0,
        'unixepoch'
    )
    END
FROM "open_event_notifications" AS t
WHERE t."notification_id" IN (SELECT CAST(value AS INTEGER) FROM json_each(?2));

-- notify: settle delivered, each, step 1: [Rows([Id, Fence(0), Fence(1), Json(Outcome("provider")),
--   Json(Outcome("message_id"))])] -> Keys
UPDATE "open_event_notifications" AS t SET
  "error" = json_patch(
    '{}',
      json_object(
        'provider', json(v."j_o_provider"), 'providerMessageId', json(v."j_o_message_id"), 'status', 'sent'
      )
  ),
  "locked_at" = NULL,
  "fanout_status" = 'sent',
  "locked_by" = NULL,
  "fanout_attempts" = t."fanout_attempts" + 1,
  "last_attempt_at" = CASE
    WHEN typeof(COALESCE(t."last_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."last_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."last_attempt_at", t."created_at") GLOB '????-??-?? *'
      THEN strftime(
        '%Y-%m-%d %H:%M:%f',
          (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0) / 1000.0,
          'unixepoch'
      )
    ELSE strftime(
      '%Y-%m-%dT%H:%M:%fZ',
        (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0) / 1000.0,
        'unixepoch'
    )
    END
FROM (
  SELECT
    CAST(value->>'id' AS INTEGER) AS "id",
    CAST(value->>'f0' AS TEXT) AS "f0",
    CAST(value->>'f1' AS TEXT) AS "f1",
    value->>'j_o_provider' AS "j_o_provider",
    value->>'j_o_message_id' AS "j_o_message_id"
  FROM json_each(?1)
) AS v
WHERE t."notification_id" = v."id"
  AND +t."fanout_status" = 'pending' AND t."locked_at" IS NOT NULL
  AND CAST(t."locked_by" AS TEXT) IS v."f0"
  AND CAST(t."locked_at" AS TEXT) IS v."f1"
RETURNING CAST("notification_id" AS INTEGER);

-- notify: settle delivered, each, step 2: [Rows([Envelope("section_status"), Id]), Held] -> Nothing
INSERT INTO "subscription_events" ("subscription_id", "event_type", "section_status", "created_at")
SELECT
  t."subscription_id",
  'notify_sent',
  v."e_section_status",
  CASE
    WHEN typeof(t."created_at") IN ('integer', 'real')
    OR t."created_at" NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN t."created_at" GLOB '????-??-?? *'
      THEN strftime(
        '%Y-%m-%d %H:%M:%f',
          (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0) / 1000.0,
          'unixepoch'
      )
    ELSE strftime(
      '%Y-%m-%dT%H:%M:%fZ',
        (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0) / 1000.0,
        'unixepoch'
    )
    END
FROM "open_event_notifications" AS t
  JOIN (
    SELECT
      value->>'e_section_status' AS "e_section_status",
      CAST(value->>'id' AS INTEGER) AS "id"
    FROM json_each(?1)
  ) AS v
  ON t."notification_id" = v."id"
WHERE t."notification_id" IN (SELECT CAST(value AS INTEGER) FROM json_each(?2));

-- notify: settle retry, uniform: [One(Json(Outcome("provider"))), One(Json(Outcome("code"))),
--   One(Json(Outcome("message"))), One(Json(Outcome("retry_after"))), Ids, One(Fence(0)), One(Fence(1))] ->
--   Keys
UPDATE "open_event_notifications" AS t SET
  "error" = json_patch(
    '{}',
      json_object(
        'provider',
          json(?1),
          'status',
          'retryable',
          'code',
          json(?2),
          'message',
          json(?3),
          'retryAfterSeconds',
          json(?4)
      )
  ),
  "locked_at" = NULL,
  "fanout_status" = 'pending',
  "locked_by" = NULL,
  "fanout_attempts" = t."fanout_attempts" + 1,
  "last_attempt_at" = CASE
    WHEN typeof(COALESCE(t."last_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."last_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."last_attempt_at", t."created_at") GLOB '????-??-?? *'
      THEN strftime(
        '%Y-%m-%d %H:%M:%f',
          (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0) / 1000.0,
          'unixepoch'
      )
    ELSE strftime(
      '%Y-%m-%dT%H:%M:%fZ',
        (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0) / 1000.0,
        'unixepoch'
    )
    END
WHERE t."notification_id" IN (SELECT CAST(value AS INTEGER) FROM json_each(?5))
  AND +t."fanout_status" = 'pending' AND t."locked_at" IS NOT NULL
  AND CAST(t."locked_by" AS TEXT) IS ?6
  AND CAST(t."locked_at" AS TEXT) IS ?7
RETURNING CAST("notification_id" AS INTEGER);

-- notify: settle retry, each: [Rows([Id, Fence(0), Fence(1), Json(Outcome("provider")),
--   Json(Outcome("code")), Json(Outcome("message")), Json(Outcome("retry_after"))])] -> Keys
UPDATE "open_event_notifications" AS t SET
  "error" = json_patch(
    '{}',
      json_object(
        'provider',
          json(v."j_o_provider"),
          'status',
          'retryable',
          'code',
          json(v."j_o_code"),
          'message',
          json(v."j_o_message"),
          'retryAfterSeconds',
          json(v."j_o_retry_after")
      )
  ),
  "locked_at" = NULL,
  "fanout_status" = 'pending',
  "locked_by" = NULL,
  "fanout_attempts" = t."fanout_attempts" + 1,
  "last_attempt_at" = CASE
    WHEN typeof(COALESCE(t."last_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."last_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."last_attempt_at", t."created_at") GLOB '????-??-?? *'
      THEN strftime(
        '%Y-%m-%d %H:%M:%f',
          (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0) / 1000.0,
          'unixepoch'
      )
    ELSE strftime(
      '%Y-%m-%dT%H:%M:%fZ',
        (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0) / 1000.0,
        'unixepoch'
    )
    END
FROM (
  SELECT
    CAST(value->>'id' AS INTEGER) AS "id",
    CAST(value->>'f0' AS TEXT) AS "f0",
    CAST(value->>'f1' AS TEXT) AS "f1",
    value->>'j_o_provider' AS "j_o_provider",
    value->>'j_o_code' AS "j_o_code",
    value->>'j_o_message' AS "j_o_message",
    value->>'j_o_retry_after' AS "j_o_retry_after"
  FROM json_each(?1)
) AS v
WHERE t."notification_id" = v."id"
  AND +t."fanout_status" = 'pending' AND t."locked_at" IS NOT NULL
  AND CAST(t."locked_by" AS TEXT) IS v."f0"
  AND CAST(t."locked_at" AS TEXT) IS v."f1"
RETURNING CAST("notification_id" AS INTEGER);

-- notify: settle dead, uniform: [One(Json(Outcome("provider"))), One(Json(Outcome("code"))),
--   One(Json(Outcome("message"))), One(Json(Outcome("retry_after"))), Ids, One(Fence(0)), One(Fence(1))] ->
--   Keys
UPDATE "open_event_notifications" AS t SET
  "error" = json_patch(
    '{}',
      json_object(
        'provider',
          json(?1),
          'status',
          'failed',
          'code',
          json(?2),
          'message',
          json(?3),
          'retryAfterSeconds',
          json(?4)
      )
  ),
  "locked_at" = NULL,
  "fanout_status" = 'failed',
  "locked_by" = NULL,
  "fanout_attempts" = t."fanout_attempts" + 1,
  "last_attempt_at" = CASE
    WHEN typeof(COALESCE(t."last_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."last_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."last_attempt_at", t."created_at") GLOB '????-??-?? *'
      THEN strftime(
        '%Y-%m-%d %H:%M:%f',
          (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0) / 1000.0,
          'unixepoch'
      )
    ELSE strftime(
      '%Y-%m-%dT%H:%M:%fZ',
        (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0) / 1000.0,
        'unixepoch'
    )
    END
WHERE t."notification_id" IN (SELECT CAST(value AS INTEGER) FROM json_each(?5))
  AND +t."fanout_status" = 'pending' AND t."locked_at" IS NOT NULL
  AND CAST(t."locked_by" AS TEXT) IS ?6
  AND CAST(t."locked_at" AS TEXT) IS ?7
RETURNING CAST("notification_id" AS INTEGER);

-- notify: settle dead, each: [Rows([Id, Fence(0), Fence(1), Json(Outcome("provider")), Json(Outcome("code")),
--   Json(Outcome("message")), Json(Outcome("retry_after"))])] -> Keys
UPDATE "open_event_notifications" AS t SET
  "error" = json_patch(
    '{}',
      json_object(
        'provider',
          json(v."j_o_provider"),
          'status',
          'failed',
          'code',
          json(v."j_o_code"),
          'message',
          json(v."j_o_message"),
          'retryAfterSeconds',
          json(v."j_o_retry_after")
      )
  ),
  "locked_at" = NULL,
  "fanout_status" = 'failed',
  "locked_by" = NULL,
  "fanout_attempts" = t."fanout_attempts" + 1,
  "last_attempt_at" = CASE
    WHEN typeof(COALESCE(t."last_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."last_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."last_attempt_at", t."created_at") GLOB '????-??-?? *'
      THEN strftime(
        '%Y-%m-%d %H:%M:%f',
          (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0) / 1000.0,
          'unixepoch'
      )
    ELSE strftime(
      '%Y-%m-%dT%H:%M:%fZ',
        (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0) / 1000.0,
        'unixepoch'
    )
    END
FROM (
  SELECT
    CAST(value->>'id' AS INTEGER) AS "id",
    CAST(value->>'f0' AS TEXT) AS "f0",
    CAST(value->>'f1' AS TEXT) AS "f1",
    value->>'j_o_provider' AS "j_o_provider",
    value->>'j_o_code' AS "j_o_code",
    value->>'j_o_message' AS "j_o_message",
    value->>'j_o_retry_after' AS "j_o_retry_after"
  FROM json_each(?1)
) AS v
WHERE t."notification_id" = v."id"
  AND +t."fanout_status" = 'pending' AND t."locked_at" IS NOT NULL
  AND CAST(t."locked_by" AS TEXT) IS v."f0"
  AND CAST(t."locked_at" AS TEXT) IS v."f1"
RETURNING CAST("notification_id" AS INTEGER);

-- notify: settle rejected, uniform: [One(Json(Outcome("provider"))), One(Json(Outcome("code"))),
--   One(Json(Outcome("message"))), One(Json(Outcome("retry_after"))), Ids, One(Fence(0)), One(Fence(1))] ->
--   Keys
UPDATE "open_event_notifications" AS t SET
  "error" = json_patch(
    '{}',
      json_object(
        'provider',
          json(?1),
          'status',
          'failed',
          'code',
          json(?2),
          'message',
          json(?3),
          'retryAfterSeconds',
          json(?4)
      )
  ),
  "locked_at" = NULL,
  "fanout_status" = 'failed',
  "locked_by" = NULL,
  "fanout_attempts" = t."fanout_attempts" + 1,
  "last_attempt_at" = CASE
    WHEN typeof(COALESCE(t."last_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."last_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."last_attempt_at", t."created_at") GLOB '????-??-?? *'
      THEN strftime(
        '%Y-%m-%d %H:%M:%f',
          (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0) / 1000.0,
          'unixepoch'
      )
    ELSE strftime(
      '%Y-%m-%dT%H:%M:%fZ',
        (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0) / 1000.0,
        'unixepoch'
    )
    END
WHERE t."notification_id" IN (SELECT CAST(value AS INTEGER) FROM json_each(?5))
  AND +t."fanout_status" = 'pending' AND t."locked_at" IS NOT NULL
  AND CAST(t."locked_by" AS TEXT) IS ?6
  AND CAST(t."locked_at" AS TEXT) IS ?7
RETURNING CAST("notification_id" AS INTEGER);

-- notify: settle rejected, each: [Rows([Id, Fence(0), Fence(1), Json(Outcome("provider")),
--   Json(Outcome("code")), Json(Outcome("message")), Json(Outcome("retry_after"))])] -> Keys
UPDATE "open_event_notifications" AS t SET
  "error" = json_patch(
    '{}',
      json_object(
        'provider',
          json(v."j_o_provider"),
          'status',
          'failed',
          'code',
          json(v."j_o_code"),
          'message',
          json(v."j_o_message"),
          'retryAfterSeconds',
          json(v."j_o_retry_after")
      )
  ),
  "locked_at" = NULL,
  "fanout_status" = 'failed',
  "locked_by" = NULL,
  "fanout_attempts" = t."fanout_attempts" + 1,
  "last_attempt_at" = CASE
    WHEN typeof(COALESCE(t."last_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."last_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."last_attempt_at", t."created_at") GLOB '????-??-?? *'
      THEN strftime(
        '%Y-%m-%d %H:%M:%f',
          (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0) / 1000.0,
          'unixepoch'
      )
    ELSE strftime(
      '%Y-%m-%dT%H:%M:%fZ',
        (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0) / 1000.0,
        'unixepoch'
    )
    END
FROM (
  SELECT
    CAST(value->>'id' AS INTEGER) AS "id",
    CAST(value->>'f0' AS TEXT) AS "f0",
    CAST(value->>'f1' AS TEXT) AS "f1",
    value->>'j_o_provider' AS "j_o_provider",
    value->>'j_o_code' AS "j_o_code",
    value->>'j_o_message' AS "j_o_message",
    value->>'j_o_retry_after' AS "j_o_retry_after"
  FROM json_each(?1)
) AS v
WHERE t."notification_id" = v."id"
  AND +t."fanout_status" = 'pending' AND t."locked_at" IS NOT NULL
  AND CAST(t."locked_by" AS TEXT) IS v."f0"
  AND CAST(t."locked_at" AS TEXT) IS v."f1"
RETURNING CAST("notification_id" AS INTEGER);

-- notify: settle skipped, uniform: [One(Json(Outcome("code"))), One(Json(Outcome("message"))), Ids,
--   One(Fence(0)), One(Fence(1))] -> Keys
UPDATE "open_event_notifications" AS t SET
  "error" = json_patch('{}', json_object('code', json(?1), 'message', json(?2))),
  "locked_at" = NULL,
  "fanout_status" = 'skipped',
  "locked_by" = NULL,
  "fanout_attempts" = t."fanout_attempts" + 1,
  "last_attempt_at" = CASE
    WHEN typeof(COALESCE(t."last_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."last_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."last_attempt_at", t."created_at") GLOB '????-??-?? *'
      THEN strftime(
        '%Y-%m-%d %H:%M:%f',
          (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0) / 1000.0,
          'unixepoch'
      )
    ELSE strftime(
      '%Y-%m-%dT%H:%M:%fZ',
        (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0) / 1000.0,
        'unixepoch'
    )
    END
WHERE t."notification_id" IN (SELECT CAST(value AS INTEGER) FROM json_each(?3))
  AND +t."fanout_status" = 'pending' AND t."locked_at" IS NOT NULL
  AND CAST(t."locked_by" AS TEXT) IS ?4
  AND CAST(t."locked_at" AS TEXT) IS ?5
RETURNING CAST("notification_id" AS INTEGER);

-- notify: settle skipped, each: [Rows([Id, Fence(0), Fence(1), Json(Outcome("code")),
--   Json(Outcome("message"))])] -> Keys
UPDATE "open_event_notifications" AS t SET
  "error" = json_patch('{}', json_object('code', json(v."j_o_code"), 'message', json(v."j_o_message"))),
  "locked_at" = NULL,
  "fanout_status" = 'skipped',
  "locked_by" = NULL,
  "fanout_attempts" = t."fanout_attempts" + 1,
  "last_attempt_at" = CASE
    WHEN typeof(COALESCE(t."last_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."last_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."last_attempt_at", t."created_at") GLOB '????-??-?? *'
      THEN strftime(
        '%Y-%m-%d %H:%M:%f',
          (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0) / 1000.0,
          'unixepoch'
      )
    ELSE strftime(
      '%Y-%m-%dT%H:%M:%fZ',
        (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0) / 1000.0,
        'unixepoch'
    )
    END
FROM (
  SELECT
    CAST(value->>'id' AS INTEGER) AS "id",
    CAST(value->>'f0' AS TEXT) AS "f0",
    CAST(value->>'f1' AS TEXT) AS "f1",
    value->>'j_o_code' AS "j_o_code",
    value->>'j_o_message' AS "j_o_message"
  FROM json_each(?1)
) AS v
WHERE t."notification_id" = v."id"
  AND +t."fanout_status" = 'pending' AND t."locked_at" IS NOT NULL
  AND CAST(t."locked_by" AS TEXT) IS v."f0"
  AND CAST(t."locked_at" AS TEXT) IS v."f1"
RETURNING CAST("notification_id" AS INTEGER);

-- notify: settle deferred, uniform: [One(Delay), Ids, One(Fence(0)), One(Fence(1))] -> Keys
UPDATE "open_event_notifications" AS t SET
  "locked_at" = CASE
    WHEN typeof(COALESCE(t."locked_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."locked_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
        + CAST(round(?1 * 1000.0) AS INTEGER)
        - 120000
    WHEN COALESCE(t."locked_at", t."created_at") GLOB '????-??-?? *'
      THEN strftime(
        '%Y-%m-%d %H:%M:%f',
          (
            CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
              + CAST(round(?1 * 1000.0) AS INTEGER)
              - 120000
          )
            / 1000.0,
          'unixepoch'
      )
    ELSE strftime(
      '%Y-%m-%dT%H:%M:%fZ',
        (
          CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
            + CAST(round(?1 * 1000.0) AS INTEGER)
            - 120000
        )
          / 1000.0,
        'unixepoch'
    )
    END,
  "locked_by" = 'deferred'
WHERE t."notification_id" IN (SELECT CAST(value AS INTEGER) FROM json_each(?2))
  AND +t."fanout_status" = 'pending' AND t."locked_at" IS NOT NULL
  AND CAST(t."locked_by" AS TEXT) IS ?3
  AND CAST(t."locked_at" AS TEXT) IS ?4
RETURNING CAST("notification_id" AS INTEGER);

-- notify: settle deferred, each: [Rows([Id, Fence(0), Fence(1), Delay])] -> Keys
UPDATE "open_event_notifications" AS t SET
  "locked_at" = CASE
    WHEN typeof(COALESCE(t."locked_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."locked_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
        + CAST(round(v."delay" * 1000.0) AS INTEGER)
        - 120000
    WHEN COALESCE(t."locked_at", t."created_at") GLOB '????-??-?? *'
      THEN strftime(
        '%Y-%m-%d %H:%M:%f',
          (
            CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
              + CAST(round(v."delay" * 1000.0) AS INTEGER)
              - 120000
          )
            / 1000.0,
          'unixepoch'
      )
    ELSE strftime(
      '%Y-%m-%dT%H:%M:%fZ',
        (
          CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
            + CAST(round(v."delay" * 1000.0) AS INTEGER)
            - 120000
        )
          / 1000.0,
        'unixepoch'
    )
    END,
  "locked_by" = 'deferred'
FROM (
  SELECT
    CAST(value->>'id' AS INTEGER) AS "id",
    CAST(value->>'f0' AS TEXT) AS "f0",
    CAST(value->>'f1' AS TEXT) AS "f1",
    value->>'delay' AS "delay"
  FROM json_each(?1)
) AS v
WHERE t."notification_id" = v."id"
  AND +t."fanout_status" = 'pending' AND t."locked_at" IS NOT NULL
  AND CAST(t."locked_by" AS TEXT) IS v."f0"
  AND CAST(t."locked_at" AS TEXT) IS v."f1"
RETURNING CAST("notification_id" AS INTEGER);

-- notify: settle released, uniform: [Ids, One(Fence(0)), One(Fence(1))] -> Keys
UPDATE "open_event_notifications" AS t SET
  "locked_at" = NULL,
  "fanout_status" = 'pending',
  "locked_by" = NULL
WHERE t."notification_id" IN (SELECT CAST(value AS INTEGER) FROM json_each(?1))
  AND +t."fanout_status" = 'pending' AND t."locked_at" IS NOT NULL
  AND CAST(t."locked_by" AS TEXT) IS ?2
  AND CAST(t."locked_at" AS TEXT) IS ?3
RETURNING CAST("notification_id" AS INTEGER);

-- notify: settle released, each: [Rows([Id, Fence(0), Fence(1)])] -> Keys
UPDATE "open_event_notifications" AS t SET
  "locked_at" = NULL,
  "fanout_status" = 'pending',
  "locked_by" = NULL
FROM (
  SELECT
    CAST(value->>'id' AS INTEGER) AS "id",
    CAST(value->>'f0' AS TEXT) AS "f0",
    CAST(value->>'f1' AS TEXT) AS "f1"
  FROM json_each(?1)
) AS v
WHERE t."notification_id" = v."id"
  AND +t."fanout_status" = 'pending' AND t."locked_at" IS NOT NULL
  AND CAST(t."locked_by" AS TEXT) IS v."f0"
  AND CAST(t."locked_at" AS TEXT) IS v."f1"
RETURNING CAST("notification_id" AS INTEGER);

-- notify: extend: [Rows([Id, Fence(0), Fence(1)])] -> Leases
UPDATE "open_event_notifications" AS t SET "locked_at" = CASE
  WHEN typeof(COALESCE(t."locked_at", t."created_at")) IN ('integer', 'real')
  OR COALESCE(t."locked_at", t."created_at") NOT GLOB '*[^0-9]*' THEN CASE
  WHEN CASE
  WHEN typeof(t."locked_at") IN ('integer', 'real')
  OR t."locked_at" NOT GLOB '*[^0-9]*' THEN CAST(t."locked_at" AS INTEGER)
  ELSE CAST(round((julianday(t."locked_at") - 2440587.5) * 86400000.0) AS INTEGER)
  END
    BETWEEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 - 1
    AND CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 + 60000
    THEN CASE
  WHEN typeof(t."locked_at") IN ('integer', 'real')
  OR t."locked_at" NOT GLOB '*[^0-9]*' THEN CAST(t."locked_at" AS INTEGER)
  ELSE CAST(round((julianday(t."locked_at") - 2440587.5) * 86400000.0) AS INTEGER)
  END + 1
  ELSE CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
  END
  WHEN COALESCE(t."locked_at", t."created_at") GLOB '????-??-?? *'
    THEN strftime(
      '%Y-%m-%d %H:%M:%f',
        (
          CASE
            WHEN CASE
            WHEN typeof(t."locked_at") IN ('integer', 'real')
            OR t."locked_at" NOT GLOB '*[^0-9]*' THEN CAST(t."locked_at" AS INTEGER)
            ELSE CAST(round((julianday(t."locked_at") - 2440587.5) * 86400000.0) AS INTEGER)
            END
              BETWEEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 - 1
              AND CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 + 60000
              THEN CASE
            WHEN typeof(t."locked_at") IN ('integer', 'real')
            OR t."locked_at" NOT GLOB '*[^0-9]*' THEN CAST(t."locked_at" AS INTEGER)
            ELSE CAST(round((julianday(t."locked_at") - 2440587.5) * 86400000.0) AS INTEGER)
            END + 1
            ELSE CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
            END
        )
          / 1000.0,
        'unixepoch'
    )
  ELSE strftime(
    '%Y-%m-%dT%H:%M:%fZ',
      (
        CASE
          WHEN CASE
          WHEN typeof(t."locked_at") IN ('integer', 'real')
          OR t."locked_at" NOT GLOB '*[^0-9]*' THEN CAST(t."locked_at" AS INTEGER)
          ELSE CAST(round((julianday(t."locked_at") - 2440587.5) * 86400000.0) AS INTEGER)
          END
            BETWEEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 - 1
            AND CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 + 60000
            THEN CASE
          WHEN typeof(t."locked_at") IN ('integer', 'real')
          OR t."locked_at" NOT GLOB '*[^0-9]*' THEN CAST(t."locked_at" AS INTEGER)
          ELSE CAST(round((julianday(t."locked_at") - 2440587.5) * 86400000.0) AS INTEGER)
          END + 1
          ELSE CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
          END
      )
        / 1000.0,
      'unixepoch'
  )
  END
FROM (
  SELECT
    CAST(value->>'id' AS INTEGER) AS "id",
    CAST(value->>'f0' AS TEXT) AS "f0",
    CAST(value->>'f1' AS TEXT) AS "f1"
  FROM json_each(?1)
) AS v
WHERE t."notification_id" = v."id"
  AND +t."fanout_status" = 'pending' AND t."locked_at" IS NOT NULL
  AND CAST(t."locked_by" AS TEXT) IS v."f0"
  AND CAST(t."locked_at" AS TEXT) IS v."f1"
RETURNING
  CAST("notification_id" AS INTEGER),
  CAST("locked_by" AS TEXT),
  CAST("locked_at" AS TEXT);

-- notify: leases after a lost extension: [Ids, Owner] -> Leases
SELECT
  CAST(t."notification_id" AS INTEGER),
  CAST(t."locked_by" AS TEXT),
  CAST(t."locked_at" AS TEXT)
FROM "open_event_notifications" AS t
WHERE t."notification_id" IN (SELECT CAST(value AS INTEGER) FROM json_each(?1))
  AND +t."fanout_status" = 'pending' AND t."locked_at" IS NOT NULL
  AND t."locked_by" = ?2;

-- notify: stamp: [Limit] -> Keys
UPDATE "open_event_notifications" AS t SET "locked_at" = CASE
  WHEN typeof(COALESCE(t."locked_at", t."created_at")) IN ('integer', 'real')
  OR COALESCE(t."locked_at", t."created_at") NOT GLOB '*[^0-9]*'
    THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
  WHEN COALESCE(t."locked_at", t."created_at") GLOB '????-??-?? *'
    THEN strftime(
      '%Y-%m-%d %H:%M:%f',
        (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0) / 1000.0,
        'unixepoch'
    )
  ELSE strftime(
    '%Y-%m-%dT%H:%M:%fZ',
      (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0) / 1000.0,
      'unixepoch'
  )
  END
WHERE t."notification_id" IN (
SELECT t."notification_id"
FROM "open_event_notifications" AS t
WHERE t."fanout_status" = 'pending' AND t."locked_at" IS NOT NULL
  AND (
    t."locked_at" IS NOT NULL
      AND CASE
      WHEN typeof(t."locked_at") IN ('integer', 'real')
      OR t."locked_at" NOT GLOB '*[^0-9]*' THEN CAST(t."locked_at" AS INTEGER)
      ELSE CAST(round((julianday(t."locked_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END IS NULL
  )
LIMIT ?1)
RETURNING CAST("notification_id" AS INTEGER);

-- notify: leases that still hold: [Rows([Id, Fence(0), Fence(1)])] -> Keys
SELECT CAST(t."notification_id" AS INTEGER)
FROM (
  SELECT
    CAST(value->>'id' AS INTEGER) AS "id",
    CAST(value->>'f0' AS TEXT) AS "f0",
    CAST(value->>'f1' AS TEXT) AS "f1"
  FROM json_each(?1)
) AS v CROSS
  JOIN "open_event_notifications" AS t
WHERE t."notification_id" = v."id"
  AND +t."fanout_status" = 'pending' AND t."locked_at" IS NOT NULL
  AND CAST(t."locked_by" AS TEXT) IS v."f0"
  AND CAST(t."locked_at" AS TEXT) IS v."f1"
  AND (
    CASE
      WHEN typeof(t."locked_at") IN ('integer', 'real')
      OR t."locked_at" NOT GLOB '*[^0-9]*' THEN CAST(t."locked_at" AS INTEGER)
      ELSE CAST(round((julianday(t."locked_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END < CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) - 120000
  ) IS NOT TRUE;

-- notify: look for rows of a lost claim: [Owner] -> Keys
SELECT CAST(t."notification_id" AS INTEGER)
FROM "open_event_notifications" AS t
WHERE t."fanout_status" = 'pending' AND t."locked_at" IS NOT NULL
  AND t."locked_by" = ?1;

-- notify: release rows of a lost claim: [Ids, Owner] -> Keys
UPDATE "open_event_notifications" AS t SET
  "locked_at" = NULL,
  "fanout_status" = 'pending',
  "locked_by" = NULL
WHERE t."notification_id" IN (
SELECT t."notification_id"
FROM "open_event_notifications" AS t
WHERE t."notification_id" IN (SELECT CAST(value AS INTEGER) FROM json_each(?1))
  AND +t."fanout_status" = 'pending' AND t."locked_at" IS NOT NULL
  AND t."locked_by" = ?2)
RETURNING CAST("notification_id" AS INTEGER);

-- notify: look for expired leases: [Limit] -> Other
SELECT
  CAST(t."notification_id" AS INTEGER),
  CAST(t."locked_by" AS TEXT),
  CAST(t."locked_at" AS TEXT),
  CASE
    WHEN NOT (COALESCE(t."locked_by", '') = 'deferred')
    AND CASE
    WHEN json_valid(t."error") THEN COALESCE(CAST(json_extract(t."error", '$.takeovers') AS REAL), 0)
    ELSE 0
    END + 1 >= 5 THEN 1
    ELSE 0
    END,
  3
FROM "open_event_notifications" AS t
WHERE t."fanout_status" = 'pending' AND t."locked_at" IS NOT NULL
  AND CASE
    WHEN typeof(t."locked_at") IN ('integer', 'real')
    OR t."locked_at" NOT GLOB '*[^0-9]*' THEN CAST(t."locked_at" AS INTEGER)
    ELSE CAST(round((julianday(t."locked_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END < CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) - 120000
ORDER BY CASE
  WHEN typeof(t."locked_at") IN ('integer', 'real')
  OR t."locked_at" NOT GLOB '*[^0-9]*' THEN CAST(t."locked_at" AS INTEGER)
  ELSE CAST(round((julianday(t."locked_at") - 2440587.5) * 86400000.0) AS INTEGER)
  END
LIMIT ?1;

-- notify: reclaim, free: [Ids] -> Keys
UPDATE "open_event_notifications" AS t SET
  "locked_at" = NULL,
  "fanout_status" = 'pending',
  "locked_by" = NULL
WHERE t."notification_id" IN (
SELECT t."notification_id"
FROM "open_event_notifications" AS t
WHERE t."notification_id" IN (SELECT CAST(value AS INTEGER) FROM json_each(?1))
  AND +t."fanout_status" = 'pending' AND t."locked_at" IS NOT NULL
  AND CASE
    WHEN typeof(t."locked_at") IN ('integer', 'real')
    OR t."locked_at" NOT GLOB '*[^0-9]*' THEN CAST(t."locked_at" AS INTEGER)
    ELSE CAST(round((julianday(t."locked_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END < CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) - 120000)
RETURNING CAST("notification_id" AS INTEGER);

-- notify: reclaim, spared, step 1: [Ids] -> Keys
UPDATE "open_event_notifications" AS t SET
  "locked_at" = NULL,
  "fanout_status" = 'pending',
  "locked_by" = NULL
WHERE t."notification_id" IN (
SELECT t."notification_id"
FROM "open_event_notifications" AS t
WHERE t."notification_id" IN (SELECT CAST(value AS INTEGER) FROM json_each(?1))
  AND +t."fanout_status" = 'pending' AND t."locked_at" IS NOT NULL
  AND CASE
    WHEN typeof(t."locked_at") IN ('integer', 'real')
    OR t."locked_at" NOT GLOB '*[^0-9]*' THEN CAST(t."locked_at" AS INTEGER)
    ELSE CAST(round((julianday(t."locked_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END < CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) - 120000)
RETURNING CAST("notification_id" AS INTEGER);

-- notify: reclaim, spared, step 2: [Held] -> Nothing
INSERT INTO postrider_crashes (place, row_id, crashes, crashed_at)
SELECT
  'open_event_notifications/notify',
  CAST(value AS TEXT),
  1,
  strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
FROM json_each(?1) WHERE true
ON CONFLICT (place, row_id) DO UPDATE SET
  crashes = crashes + 1,
  crashed_at = excluded.crashed_at;

-- notify: reclaim, charged, step 1: [Ids] -> Keys
UPDATE "open_event_notifications" AS t SET
  "error" = CASE
    WHEN COALESCE(t."locked_by", '') = 'deferred' THEN t."error"
    ELSE json_patch(
      CASE
        WHEN t."error" IS NULL THEN '{}'
        WHEN NOT json_valid(t."error") THEN json_object('message', t."error")
        WHEN json_type(t."error") = 'object' THEN t."error"
        ELSE '{}'
        END,
        json_object(
          'takeovers',
            CAST(
              CASE
                WHEN json_valid(t."error")
                  THEN COALESCE(CAST(json_extract(t."error", '$.takeovers') AS REAL), 0)
                ELSE 0
                END + 1 AS INTEGER
            )
        )
    )
    END,
  "locked_at" = NULL,
  "fanout_status" = 'pending',
  "locked_by" = NULL
WHERE t."notification_id" IN (
SELECT t."notification_id"
FROM "open_event_notifications" AS t
WHERE t."notification_id" IN (SELECT CAST(value AS INTEGER) FROM json_each(?1))
  AND +t."fanout_status" = 'pending' AND t."locked_at" IS NOT NULL
  AND CASE
    WHEN typeof(t."locked_at") IN ('integer', 'real')
    OR t."locked_at" NOT GLOB '*[^0-9]*' THEN CAST(t."locked_at" AS INTEGER)
    ELSE CAST(round((julianday(t."locked_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END < CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) - 120000)
RETURNING CAST("notification_id" AS INTEGER);

-- notify: reclaim, charged, step 2: [Held] -> Nothing
INSERT INTO postrider_crashes (place, row_id, crashes, crashed_at)
SELECT
  'open_event_notifications/notify',
  CAST(value AS TEXT),
  1,
  strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
FROM json_each(?1) WHERE true
ON CONFLICT (place, row_id) DO UPDATE SET
  crashes = crashes + 1,
  crashed_at = excluded.crashed_at;

-- notify: reclaim, dead, step 1: [Ids] -> Keys
UPDATE "open_event_notifications" AS t SET
  "error" = json_object(
    'code',
      'poison',
      'message',
      'lease expired too often: workers crashed, or lost the lease',
      'takeovers',
      CAST(
        CASE
          WHEN json_valid(t."error") THEN COALESCE(CAST(json_extract(t."error", '$.takeovers') AS REAL), 0)
          ELSE 0
          END + 1 AS INTEGER
      )
  ),
  "locked_at" = NULL,
  "fanout_status" = 'failed',
  "locked_by" = NULL
WHERE t."notification_id" IN (
SELECT t."notification_id"
FROM "open_event_notifications" AS t
WHERE t."notification_id" IN (SELECT CAST(value AS INTEGER) FROM json_each(?1))
  AND +t."fanout_status" = 'pending' AND t."locked_at" IS NOT NULL
  AND CASE
    WHEN typeof(t."locked_at") IN ('integer', 'real')
    OR t."locked_at" NOT GLOB '*[^0-9]*' THEN CAST(t."locked_at" AS INTEGER)
    ELSE CAST(round((julianday(t."locked_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END < CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) - 120000)
RETURNING CAST("notification_id" AS INTEGER);

-- notify: reclaim, dead, step 2: [Held] -> Nothing
DELETE
  FROM postrider_crashes
  WHERE place = 'open_event_notifications/notify'
  AND row_id IN (SELECT CAST(value AS TEXT) FROM json_each(?1));

-- notify: spent: [Limit] -> Keys
UPDATE "open_event_notifications" AS t SET
  "error" = COALESCE(
    t."error", json_patch('{}', json_object('code', 'failed', 'message', 'no attempts left'))
  ),
  "fanout_status" = 'failed',
  "locked_by" = NULL
WHERE t."notification_id" IN (
SELECT t."notification_id"
FROM "open_event_notifications" AS t
WHERE t."fanout_status" = 'pending' AND t."locked_at" IS NULL
  AND CASE
    WHEN t."fanout_status" = 'failed' THEN 'failed'
    WHEN t."fanout_status" = 'skipped' THEN 'skipped'
    WHEN t."fanout_status" = 'expired' THEN 'expired'
    WHEN t."fanout_status" = 'pending'
    AND t."locked_at" IS NULL
    AND t."fanout_attempts" >= 3 THEN 'no attempts left'
    END = 'no attempts left'
  AND t."fanout_attempts" >= 3
LIMIT ?1)
RETURNING CAST("notification_id" AS INTEGER);

-- notify: look for unreadable last_attempt_at: [Limit] -> Keys
SELECT CAST(t."notification_id" AS INTEGER)
FROM "open_event_notifications" AS t
WHERE t."fanout_status" = 'pending' AND t."locked_at" IS NULL
  AND (
    t."last_attempt_at" IS NOT NULL
      AND CASE
      WHEN typeof(t."last_attempt_at") IN ('integer', 'real')
      OR t."last_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."last_attempt_at" AS INTEGER)
      ELSE CAST(round((julianday(t."last_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END IS NULL
  )
  AND t."fanout_attempts" > 0
LIMIT ?1;

-- notify: end unreadable last_attempt_at: [Ids] -> Keys
UPDATE "open_event_notifications" AS t SET
  "error" = json_patch(
    '{}', json_object('code', 'failed', 'message', 'last_attempt_at holds a time that can''t be read')
  ),
  "fanout_status" = 'failed',
  "locked_by" = NULL
WHERE t."notification_id" IN (
SELECT t."notification_id"
FROM "open_event_notifications" AS t
WHERE t."notification_id" IN (SELECT CAST(value AS INTEGER) FROM json_each(?1))
  AND +t."fanout_status" = 'pending' AND t."locked_at" IS NULL
  AND (
    t."last_attempt_at" IS NOT NULL
      AND CASE
      WHEN typeof(t."last_attempt_at") IN ('integer', 'real')
      OR t."last_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."last_attempt_at" AS INTEGER)
      ELSE CAST(round((julianday(t."last_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END IS NULL
  )
  AND t."fanout_attempts" > 0)
RETURNING CAST("notification_id" AS INTEGER);

-- notify: look for unreadable created_at: [Limit] -> Keys
SELECT CAST(t."notification_id" AS INTEGER)
FROM "open_event_notifications" AS t
WHERE t."fanout_status" = 'pending' AND t."locked_at" IS NULL
  AND (
    t."created_at" IS NOT NULL
      AND CASE
      WHEN typeof(t."created_at") IN ('integer', 'real')
      OR t."created_at" NOT GLOB '*[^0-9]*' THEN CAST(t."created_at" AS INTEGER)
      ELSE CAST(round((julianday(t."created_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END IS NULL
  )
LIMIT ?1;

-- notify: end unreadable created_at: [Ids] -> Keys
UPDATE "open_event_notifications" AS t SET
  "error" = json_patch(
    '{}', json_object('code', 'failed', 'message', 'created_at holds a time that can''t be read')
  ),
  "fanout_status" = 'failed',
  "locked_by" = NULL
WHERE t."notification_id" IN (
SELECT t."notification_id"
FROM "open_event_notifications" AS t
WHERE t."notification_id" IN (SELECT CAST(value AS INTEGER) FROM json_each(?1))
  AND +t."fanout_status" = 'pending' AND t."locked_at" IS NULL
  AND (
    t."created_at" IS NOT NULL
      AND CASE
      WHEN typeof(t."created_at") IN ('integer', 'real')
      OR t."created_at" NOT GLOB '*[^0-9]*' THEN CAST(t."created_at" AS INTEGER)
      ELSE CAST(round((julianday(t."created_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END IS NULL
  ))
RETURNING CAST("notification_id" AS INTEGER);

-- notify: sweep 1: [Limit] -> Keys
UPDATE "open_event_notifications" AS t SET
  "error" = json_patch('{}', json_object('code', 'expired', 'message', 'expired before delivery')),
  "fanout_status" = 'expired',
  "locked_by" = NULL
WHERE t."notification_id" IN (
SELECT t."notification_id"
FROM "open_event_notifications" AS t
WHERE t."fanout_status" = 'pending' AND t."locked_at" IS NULL
  AND CASE
    WHEN typeof(t."created_at") IN ('integer', 'real')
    OR t."created_at" NOT GLOB '*[^0-9]*' THEN CAST(t."created_at" AS INTEGER)
    ELSE CAST(round((julianday(t."created_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END < CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) - 86400000
LIMIT ?1)
RETURNING CAST("notification_id" AS INTEGER);

-- notify: next due: [] -> Other
SELECT CASE WHEN min(looked.w) < 0 THEN 0 ELSE CAST(min(looked.w) AS INTEGER) END AS w
FROM (
  SELECT COALESCE(
    CASE
      WHEN t."fanout_attempts"
        > 0
        THEN max(
          CASE t."fanout_attempts" WHEN 1 THEN 0 WHEN 2 THEN 2000000 ELSE 7000000 END,
            min(
              max(
                CASE
                  WHEN json_valid(t."error")
                    THEN COALESCE(CAST(json_extract(t."error", '$.retryAfterSeconds') AS REAL), 0)
                  ELSE 0
                  END,
                  0
              ),
                86400
            )
              * 1000000
        )
          - (
            (
              (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0) - CASE
                WHEN typeof(t."last_attempt_at") IN ('integer', 'real')
                OR t."last_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."last_attempt_at" AS INTEGER)
                ELSE CAST(round((julianday(t."last_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
                END
            )
              * 1000
          )
      END,
      0
  ) AS w
    FROM "open_event_notifications" AS t
    WHERE t."fanout_status" = 'pending'
    AND t."locked_at" IS NULL
    AND t."fanout_attempts" < 3
    AND (
      t."created_at" IS NULL
        OR CASE
        WHEN typeof(t."created_at") IN ('integer', 'real')
        OR t."created_at" NOT GLOB '*[^0-9]*' THEN CAST(t."created_at" AS INTEGER)
        ELSE CAST(round((julianday(t."created_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END >= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) - 86400000
    )
    ORDER BY t."notification_id"
    LIMIT 1000
) AS looked;

-- notify: lag: [] -> Other
SELECT (
  SELECT (
    COALESCE(
      (
        (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0) - CASE
          WHEN typeof(t."last_attempt_at") IN ('integer', 'real')
          OR t."last_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."last_attempt_at" AS INTEGER)
          ELSE CAST(round((julianday(t."last_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
          END
      )
        * 1000,
        (
          (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0) - CASE
            WHEN typeof(t."created_at") IN ('integer', 'real')
            OR t."created_at" NOT GLOB '*[^0-9]*' THEN CAST(t."created_at" AS INTEGER)
            ELSE CAST(round((julianday(t."created_at") - 2440587.5) * 86400000.0) AS INTEGER)
            END
        )
          * 1000
    )
  )
    / 1000000.0
    FROM "open_event_notifications" AS t
    WHERE t."fanout_status" = 'pending'
    AND t."locked_at" IS NULL
    AND (
      t."fanout_attempts" = 0
        OR t."last_attempt_at" IS NULL
        OR (
          CASE
            WHEN typeof(t."last_attempt_at") IN ('integer', 'real')
            OR t."last_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."last_attempt_at" AS INTEGER)
            ELSE CAST(round((julianday(t."last_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
            END <= CASE t."fanout_attempts"
            WHEN 1 THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
            WHEN 2 THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) - 2000
            ELSE CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) - 7000
            END
            AND CASE
            WHEN typeof(t."last_attempt_at") IN ('integer', 'real')
            OR t."last_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."last_attempt_at" AS INTEGER)
            ELSE CAST(round((julianday(t."last_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
            END <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
              + CAST(
                round(
                  (
                    0
                      - min(
                        max(
                          CASE
                            WHEN json_valid(t."error")
                              THEN COALESCE(CAST(json_extract(t."error", '$.retryAfterSeconds') AS REAL), 0)
                            ELSE 0
                            END,
                            0
                        ),
                          86400
                      )
                  )
                    * 1000.0
                ) AS INTEGER
              )
              + 0
        )
    )
    AND t."fanout_attempts" < 3
    AND (
      t."created_at" IS NULL
        OR CASE
        WHEN typeof(t."created_at") IN ('integer', 'real')
        OR t."created_at" NOT GLOB '*[^0-9]*' THEN CAST(t."created_at" AS INTEGER)
        ELSE CAST(round((julianday(t."created_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END >= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) - 86400000
    )
    ORDER BY t."notification_id"
    LIMIT 1
),
  (
    SELECT (
      (
        (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0) - CASE
          WHEN typeof(t."locked_at") IN ('integer', 'real')
          OR t."locked_at" NOT GLOB '*[^0-9]*' THEN CAST(t."locked_at" AS INTEGER)
          ELSE CAST(round((julianday(t."locked_at") - 2440587.5) * 86400000.0) AS INTEGER)
          END
      )
        * 1000
    )
      / 1000000.0
      FROM "open_event_notifications" AS t
      WHERE t."fanout_status" = 'pending'
      AND t."locked_at" IS NOT NULL
      ORDER BY CASE
      WHEN typeof(t."locked_at") IN ('integer', 'real')
      OR t."locked_at" NOT GLOB '*[^0-9]*' THEN CAST(t."locked_at" AS INTEGER)
      ELSE CAST(round((julianday(t."locked_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END
      LIMIT 1
  );

-- notify: census waiting: [] -> Other
SELECT
  CAST(c.n AS INTEGER),
  CAST(
    CASE
      WHEN c.n <= 10000
      AND EXISTS (
        SELECT 1
          FROM (
            SELECT *
              FROM (
                SELECT
                  t."notification_id",
                  t."fanout_status",
                  t."locked_at"
                FROM "open_event_notifications" AS t
                  WHERE t."fanout_status" = 'pending'
                  AND t."locked_at" IS NULL
                  ORDER BY t."notification_id"
                  LIMIT 50001
              ) AS p
          ) AS a
          LIMIT 1 OFFSET 50000
      )
        THEN 1
      ELSE 0
      END AS INTEGER
  )
FROM (
  SELECT COUNT(*) AS n
    FROM (
      SELECT 1 AS one
        FROM (
          SELECT *
            FROM (
              SELECT
                t."notification_id",
                t."fanout_status",
                t."locked_at"
              FROM "open_event_notifications" AS t
                WHERE t."fanout_status" = 'pending'
                AND t."locked_at" IS NULL
                ORDER BY t."notification_id"
                LIMIT 50000
            ) AS p
        ) AS t
    

WHERE t."fanout_status" = 'pending' AND t."locked_at" IS NULL LIMIT 10001) AS counted) AS c;

-- notify: census locked: [] -> Other
SELECT
  CAST(COUNT(*) AS INTEGER),
  0
FROM (
  SELECT 1 AS one
    FROM "open_event_notifications" AS t
    WHERE t."fanout_status" = 'pending'
    AND t."locked_at" IS NOT NULL
    LIMIT 10001
) AS counted;

-- notify: census sent: [] -> Other
SELECT
  CAST(c.n AS INTEGER),
  CAST(
    CASE
      WHEN c.n <= 10000
      AND EXISTS (
        SELECT 1 FROM "open_event_notifications" AS t ORDER BY t."notification_id" LIMIT 1 OFFSET 50000
      )
        THEN 1
      ELSE 0
      END AS INTEGER
  )
FROM (
  SELECT COUNT(*) AS n
    FROM (
      SELECT 1 AS one
        FROM (
          SELECT
            t."notification_id",
            t."fanout_status"
          FROM "open_event_notifications" AS t ORDER BY t."notification_id" LIMIT 50000
        ) AS t
    

WHERE t."fanout_status" = 'sent' LIMIT 10001) AS counted) AS c;

-- notify: census failed: [] -> Other
SELECT
  CAST(COUNT(*) AS INTEGER),
  0
FROM (
  SELECT 1 AS one
    FROM "open_event_notifications" AS t
    WHERE CASE
    WHEN t."fanout_status" = 'failed' THEN 'failed'
    WHEN t."fanout_status" = 'skipped' THEN 'skipped'
    WHEN t."fanout_status" = 'expired' THEN 'expired'
    WHEN t."fanout_status" = 'pending'
    AND t."locked_at" IS NULL
    AND t."fanout_attempts" >= 3 THEN 'no attempts left'
    END = 'failed'
    AND t."fanout_status" = 'failed'
    LIMIT 10001
) AS counted;

-- notify: census skipped: [] -> Other
SELECT
  CAST(COUNT(*) AS INTEGER),
  0
FROM (
  SELECT 1 AS one
    FROM "open_event_notifications" AS t
    WHERE CASE
    WHEN t."fanout_status" = 'failed' THEN 'failed'
    WHEN t."fanout_status" = 'skipped' THEN 'skipped'
    WHEN t."fanout_status" = 'expired' THEN 'expired'
    WHEN t."fanout_status" = 'pending'
    AND t."locked_at" IS NULL
    AND t."fanout_attempts" >= 3 THEN 'no attempts left'
    END = 'skipped'
    AND t."fanout_status" = 'skipped'
    LIMIT 10001
) AS counted;

-- notify: census expired: [] -> Other
SELECT
  CAST(COUNT(*) AS INTEGER),
  0
FROM (
  SELECT 1 AS one
    FROM "open_event_notifications" AS t
    WHERE CASE
    WHEN t."fanout_status" = 'failed' THEN 'failed'
    WHEN t."fanout_status" = 'skipped' THEN 'skipped'
    WHEN t."fanout_status" = 'expired' THEN 'expired'
    WHEN t."fanout_status" = 'pending'
    AND t."locked_at" IS NULL
    AND t."fanout_attempts" >= 3 THEN 'no attempts left'
    END = 'expired'
    AND t."fanout_status" = 'expired'
    LIMIT 10001
) AS counted;

-- notify: requeue ids failed: [Ids] -> Keys
UPDATE "open_event_notifications" AS t SET
  "fanout_status" = 'pending',
  "locked_at" = NULL,
  "locked_by" = NULL,
  "fanout_attempts" = 0,
  "error" = NULL
WHERE t."notification_id" IN (
SELECT t."notification_id"
FROM "open_event_notifications" AS t
WHERE t."notification_id" IN (SELECT CAST(value AS INTEGER) FROM json_each(?1))
  AND +t."fanout_status" = 'failed')
RETURNING CAST("notification_id" AS INTEGER);

-- notify: requeue ids skipped: [Ids] -> Keys
UPDATE "open_event_notifications" AS t SET
  "fanout_status" = 'pending',
  "locked_at" = NULL,
  "locked_by" = NULL,
  "fanout_attempts" = 0,
  "error" = NULL
WHERE t."notification_id" IN (
SELECT t."notification_id"
FROM "open_event_notifications" AS t
WHERE t."notification_id" IN (SELECT CAST(value AS INTEGER) FROM json_each(?1))
  AND +t."fanout_status" = 'skipped')
RETURNING CAST("notification_id" AS INTEGER);

-- notify: requeue ids expired: [Ids] -> Keys
UPDATE "open_event_notifications" AS t SET
  "fanout_status" = 'pending',
  "locked_at" = NULL,
  "locked_by" = NULL,
  "fanout_attempts" = 0,
  "error" = NULL
WHERE t."notification_id" IN (
SELECT t."notification_id"
FROM "open_event_notifications" AS t
WHERE t."notification_id" IN (SELECT CAST(value AS INTEGER) FROM json_each(?1))
  AND +t."fanout_status" = 'expired')
RETURNING CAST("notification_id" AS INTEGER);

-- notify: requeue state failed: [Since, Limit] -> Keys
UPDATE "open_event_notifications" AS t SET
  "fanout_status" = 'pending',
  "locked_at" = NULL,
  "locked_by" = NULL,
  "fanout_attempts" = 0,
  "error" = NULL
WHERE t."notification_id" IN (
SELECT t."notification_id"
FROM "open_event_notifications" AS t
WHERE t."fanout_status" = 'failed'
  AND CASE
    WHEN t."fanout_status" = 'failed' THEN 'failed'
    WHEN t."fanout_status" = 'skipped' THEN 'skipped'
    WHEN t."fanout_status" = 'expired' THEN 'expired'
    WHEN t."fanout_status" = 'pending'
    AND t."locked_at" IS NULL
    AND t."fanout_attempts" >= 3 THEN 'no attempts left'
    END = 'failed'
  AND (
    ?1 IS NULL
      OR CASE
      WHEN typeof(t."last_attempt_at") IN ('integer', 'real')
      OR t."last_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."last_attempt_at" AS INTEGER)
      ELSE CAST(round((julianday(t."last_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END >= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
        + CAST(round((0 - ?1) * 1000.0) AS INTEGER)
        + 0
      OR t."last_attempt_at" IS NULL
      AND CASE
      WHEN typeof(t."locked_at") IN ('integer', 'real')
      OR t."locked_at" NOT GLOB '*[^0-9]*' THEN CAST(t."locked_at" AS INTEGER)
      ELSE CAST(round((julianday(t."locked_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END >= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
        + CAST(round((0 - ?1) * 1000.0) AS INTEGER)
        + 0
      OR t."last_attempt_at" IS NULL
      AND t."locked_at" IS NULL
      AND CASE
      WHEN typeof(t."created_at") IN ('integer', 'real')
      OR t."created_at" NOT GLOB '*[^0-9]*' THEN CAST(t."created_at" AS INTEGER)
      ELSE CAST(round((julianday(t."created_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END >= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
        + CAST(round((0 - ?1) * 1000.0) AS INTEGER)
        + 0
  )
LIMIT ?2)
RETURNING CAST("notification_id" AS INTEGER);

-- notify: requeue state skipped: [Since, Limit] -> Keys
UPDATE "open_event_notifications" AS t SET
  "fanout_status" = 'pending',
  "locked_at" = NULL,
  "locked_by" = NULL,
  "fanout_attempts" = 0,
  "error" = NULL
WHERE t."notification_id" IN (
SELECT t."notification_id"
FROM "open_event_notifications" AS t
WHERE t."fanout_status" = 'skipped'
  AND CASE
    WHEN t."fanout_status" = 'failed' THEN 'failed'
    WHEN t."fanout_status" = 'skipped' THEN 'skipped'
    WHEN t."fanout_status" = 'expired' THEN 'expired'
    WHEN t."fanout_status" = 'pending'
    AND t."locked_at" IS NULL
    AND t."fanout_attempts" >= 3 THEN 'no attempts left'
    END = 'skipped'
  AND (
    ?1 IS NULL
      OR CASE
      WHEN typeof(t."last_attempt_at") IN ('integer', 'real')
      OR t."last_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."last_attempt_at" AS INTEGER)
      ELSE CAST(round((julianday(t."last_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END >= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
        + CAST(round((0 - ?1) * 1000.0) AS INTEGER)
        + 0
      OR t."last_attempt_at" IS NULL
      AND CASE
      WHEN typeof(t."locked_at") IN ('integer', 'real')
      OR t."locked_at" NOT GLOB '*[^0-9]*' THEN CAST(t."locked_at" AS INTEGER)
      ELSE CAST(round((julianday(t."locked_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END >= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
        + CAST(round((0 - ?1) * 1000.0) AS INTEGER)
        + 0
      OR t."last_attempt_at" IS NULL
      AND t."locked_at" IS NULL
      AND CASE
      WHEN typeof(t."created_at") IN ('integer', 'real')
      OR t."created_at" NOT GLOB '*[^0-9]*' THEN CAST(t."created_at" AS INTEGER)
      ELSE CAST(round((julianday(t."created_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END >= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
        + CAST(round((0 - ?1) * 1000.0) AS INTEGER)
        + 0
  )
LIMIT ?2)
RETURNING CAST("notification_id" AS INTEGER);

-- notify: requeue state expired: [Since, Limit] -> Keys
UPDATE "open_event_notifications" AS t SET
  "fanout_status" = 'pending',
  "locked_at" = NULL,
  "locked_by" = NULL,
  "fanout_attempts" = 0,
  "error" = NULL
WHERE t."notification_id" IN (
SELECT t."notification_id"
FROM "open_event_notifications" AS t
WHERE t."fanout_status" = 'expired'
  AND CASE
    WHEN t."fanout_status" = 'failed' THEN 'failed'
    WHEN t."fanout_status" = 'skipped' THEN 'skipped'
    WHEN t."fanout_status" = 'expired' THEN 'expired'
    WHEN t."fanout_status" = 'pending'
    AND t."locked_at" IS NULL
    AND t."fanout_attempts" >= 3 THEN 'no attempts left'
    END = 'expired'
  AND (
    ?1 IS NULL
      OR CASE
      WHEN typeof(t."last_attempt_at") IN ('integer', 'real')
      OR t."last_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."last_attempt_at" AS INTEGER)
      ELSE CAST(round((julianday(t."last_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END >= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
        + CAST(round((0 - ?1) * 1000.0) AS INTEGER)
        + 0
      OR t."last_attempt_at" IS NULL
      AND CASE
      WHEN typeof(t."locked_at") IN ('integer', 'real')
      OR t."locked_at" NOT GLOB '*[^0-9]*' THEN CAST(t."locked_at" AS INTEGER)
      ELSE CAST(round((julianday(t."locked_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END >= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
        + CAST(round((0 - ?1) * 1000.0) AS INTEGER)
        + 0
      OR t."last_attempt_at" IS NULL
      AND t."locked_at" IS NULL
      AND CASE
      WHEN typeof(t."created_at") IN ('integer', 'real')
      OR t."created_at" NOT GLOB '*[^0-9]*' THEN CAST(t."created_at" AS INTEGER)
      ELSE CAST(round((julianday(t."created_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END >= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
        + CAST(round((0 - ?1) * 1000.0) AS INTEGER)
        + 0
  )
LIMIT ?2)
RETURNING CAST("notification_id" AS INTEGER);

-- notify: release ids locked: [Ids] -> Keys
UPDATE "open_event_notifications" AS t SET
  "locked_at" = NULL,
  "fanout_status" = 'pending',
  "locked_by" = NULL
WHERE t."notification_id" IN (
SELECT t."notification_id"
FROM "open_event_notifications" AS t
WHERE t."notification_id" IN (SELECT CAST(value AS INTEGER) FROM json_each(?1))
  AND +t."fanout_status" = 'pending' AND t."locked_at" IS NOT NULL)
RETURNING CAST("notification_id" AS INTEGER);

-- notify: release state locked: [Since, Limit] -> Keys
UPDATE "open_event_notifications" AS t SET
  "locked_at" = NULL,
  "fanout_status" = 'pending',
  "locked_by" = NULL
WHERE t."notification_id" IN (
SELECT t."notification_id"
FROM "open_event_notifications" AS t
WHERE t."fanout_status" = 'pending' AND t."locked_at" IS NOT NULL
  AND (
    ?1 IS NULL
      OR CASE
      WHEN typeof(t."last_attempt_at") IN ('integer', 'real')
      OR t."last_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."last_attempt_at" AS INTEGER)
      ELSE CAST(round((julianday(t."last_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END >= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
        + CAST(round((0 - ?1) * 1000.0) AS INTEGER)
        + 0
      OR t."last_attempt_at" IS NULL
      AND CASE
      WHEN typeof(t."locked_at") IN ('integer', 'real')
      OR t."locked_at" NOT GLOB '*[^0-9]*' THEN CAST(t."locked_at" AS INTEGER)
      ELSE CAST(round((julianday(t."locked_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END >= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
        + CAST(round((0 - ?1) * 1000.0) AS INTEGER)
        + 0
      OR t."last_attempt_at" IS NULL
      AND t."locked_at" IS NULL
      AND CASE
      WHEN typeof(t."created_at") IN ('integer', 'real')
      OR t."created_at" NOT GLOB '*[^0-9]*' THEN CAST(t."created_at" AS INTEGER)
      ELSE CAST(round((julianday(t."created_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END >= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
        + CAST(round((0 - ?1) * 1000.0) AS INTEGER)
        + 0
  )
LIMIT ?2)
RETURNING CAST("notification_id" AS INTEGER);
