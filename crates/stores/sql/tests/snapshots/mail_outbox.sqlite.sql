-- mail_outbox: every statement. Written by the snapshot test; do not edit.

-- create
CREATE TABLE IF NOT EXISTS "mail_outbox" (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    "status" TEXT NOT NULL DEFAULT 'queued',
    retry_count INTEGER NOT NULL DEFAULT 0,
    next_attempt_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    last_attempt_at TEXT,
    last_error TEXT,
    to_addresses TEXT NOT NULL,
    cc_addresses TEXT,
    bcc_addresses TEXT,
    from_address TEXT,
    reply_to TEXT,
    subject TEXT NOT NULL,
    body_text TEXT,
    body_html TEXT,
    headers TEXT,
    attachments TEXT,
    template TEXT,
    variables TEXT,
    "locale" TEXT,
    idempotency_key TEXT UNIQUE,
    traceparent TEXT,
    priority INTEGER NOT NULL DEFAULT 0,
    provider_message_id TEXT,
    recipient_results TEXT,
    created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    sent_at TEXT,
    claimed_by TEXT,
    lease_until TEXT
);

-- create
CREATE INDEX IF NOT EXISTS "mail_outbox_dispatch_claim"
  ON "mail_outbox" (
    (
      CASE
        WHEN typeof("next_attempt_at") IN ('integer', 'real')
        OR "next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST("next_attempt_at" AS INTEGER)
        ELSE CAST(round((julianday("next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END
    ),
      "id"
  )
  WHERE "status" = 'queued';

-- create
CREATE INDEX IF NOT EXISTS "mail_outbox_dispatch_lease"
  ON "mail_outbox" (
    (
      CASE
        WHEN typeof("lease_until") IN ('integer', 'real')
        OR "lease_until" NOT GLOB '*[^0-9]*' THEN CAST("lease_until" AS INTEGER)
        ELSE CAST(round((julianday("lease_until") - 2440587.5) * 86400000.0) AS INTEGER)
        END
    )
  )
  WHERE "status" = 'dispatching';

-- create
CREATE INDEX IF NOT EXISTS "mail_outbox_states5"
  ON "mail_outbox" (
    (
      CASE
        WHEN "status" = 'failed' THEN 'failed'
        WHEN "status" = 'queued'
        AND "retry_count" >= 5 THEN 'no attempts left'
        END
    ),
      "id"
  )
  WHERE CASE
  WHEN "status" = 'failed' THEN 'failed'
  WHEN "status" = 'queued'
  AND "retry_count" >= 5 THEN 'no attempts left'
  END IS NOT NULL;

-- dispatch: layout Layout { integer_id: true, fences: 1, claim_time: None, pool: 7, fields: ["attachments",
--   "bcc", "cc", "created", "dedupe", "from", "headers", "html", "locale", "reply_to", "results", "subject",
--   "template", "text", "to", "traceparent", "variables"], joined: [] }

-- dispatch: claim 1, step 1: [Limit] -> Keys
SELECT CAST(t."id" AS INTEGER)
FROM "mail_outbox" AS t
WHERE t."status" = 'queued'
  AND CASE
    WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
    OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
    ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
  AND t."retry_count" < 5
ORDER BY CASE
  WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
  OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
  ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
  END,
  t."id"
LIMIT ?1;

-- dispatch: claim 1, step 2: [Owner, Held] -> Rows
UPDATE "mail_outbox" AS t SET
  "status" = 'dispatching',
  "last_attempt_at" = CASE
    WHEN typeof(COALESCE(t."last_attempt_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."last_attempt_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*' THEN CASE
    WHEN CASE
    WHEN typeof(t."last_attempt_at") IN ('integer', 'real')
    OR t."last_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."last_attempt_at" AS INTEGER)
    ELSE CAST(round((julianday(t."last_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END
      BETWEEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 - 1
      AND CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 + 60000
      THEN CASE
    WHEN typeof(t."last_attempt_at") IN ('integer', 'real')
    OR t."last_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."last_attempt_at" AS INTEGER)
    ELSE CAST(round((julianday(t."last_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END + 1
    ELSE CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    END
    WHEN COALESCE(t."last_attempt_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
      THEN strftime(
        '%Y-%m-%d %H:%M:%f',
          (
            CASE
              WHEN CASE
              WHEN typeof(t."last_attempt_at") IN ('integer', 'real')
              OR t."last_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."last_attempt_at" AS INTEGER)
              ELSE CAST(round((julianday(t."last_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
              END
                BETWEEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 - 1
                AND CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 + 60000
                THEN CASE
              WHEN typeof(t."last_attempt_at") IN ('integer', 'real')
              OR t."last_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."last_attempt_at" AS INTEGER)
              ELSE CAST(round((julianday(t."last_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
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
            WHEN typeof(t."last_attempt_at") IN ('integer', 'real')
            OR t."last_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."last_attempt_at" AS INTEGER)
            ELSE CAST(round((julianday(t."last_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
            END
              BETWEEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 - 1
              AND CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 + 60000
              THEN CASE
            WHEN typeof(t."last_attempt_at") IN ('integer', 'real')
            OR t."last_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."last_attempt_at" AS INTEGER)
            ELSE CAST(round((julianday(t."last_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
            END + 1
            ELSE CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
            END
        )
          / 1000.0,
        'unixepoch'
    )
    END,
  "lease_until" = CASE
    WHEN typeof(COALESCE(t."lease_until", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."lease_until", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*' THEN CASE
    WHEN CASE
    WHEN typeof(t."lease_until") IN ('integer', 'real')
    OR t."lease_until" NOT GLOB '*[^0-9]*' THEN CAST(t."lease_until" AS INTEGER)
    ELSE CAST(round((julianday(t."lease_until") - 2440587.5) * 86400000.0) AS INTEGER)
    END
      BETWEEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 60000 - 1
      AND CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 60000 + 60000
      THEN CASE
    WHEN typeof(t."lease_until") IN ('integer', 'real')
    OR t."lease_until" NOT GLOB '*[^0-9]*' THEN CAST(t."lease_until" AS INTEGER)
    ELSE CAST(round((julianday(t."lease_until") - 2440587.5) * 86400000.0) AS INTEGER)
    END + 1
    ELSE CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 60000
    END
    WHEN COALESCE(t."lease_until", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
      THEN strftime(
        '%Y-%m-%d %H:%M:%f',
          (
            CASE
              WHEN CASE
              WHEN typeof(t."lease_until") IN ('integer', 'real')
              OR t."lease_until" NOT GLOB '*[^0-9]*' THEN CAST(t."lease_until" AS INTEGER)
              ELSE CAST(round((julianday(t."lease_until") - 2440587.5) * 86400000.0) AS INTEGER)
              END
                BETWEEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 60000 - 1
                AND CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 60000 + 60000
                THEN CASE
              WHEN typeof(t."lease_until") IN ('integer', 'real')
              OR t."lease_until" NOT GLOB '*[^0-9]*' THEN CAST(t."lease_until" AS INTEGER)
              ELSE CAST(round((julianday(t."lease_until") - 2440587.5) * 86400000.0) AS INTEGER)
              END + 1
              ELSE CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 60000
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
            WHEN typeof(t."lease_until") IN ('integer', 'real')
            OR t."lease_until" NOT GLOB '*[^0-9]*' THEN CAST(t."lease_until" AS INTEGER)
            ELSE CAST(round((julianday(t."lease_until") - 2440587.5) * 86400000.0) AS INTEGER)
            END
              BETWEEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 60000 - 1
              AND CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 60000 + 60000
              THEN CASE
            WHEN typeof(t."lease_until") IN ('integer', 'real')
            OR t."lease_until" NOT GLOB '*[^0-9]*' THEN CAST(t."lease_until" AS INTEGER)
            ELSE CAST(round((julianday(t."lease_until") - 2440587.5) * 86400000.0) AS INTEGER)
            END + 1
            ELSE CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 60000
            END
        )
          / 1000.0,
        'unixepoch'
    )
    END,
  "claimed_by" = ?1
WHERE t."id" IN (SELECT CAST(value AS INTEGER) FROM json_each(?2))
RETURNING
  CAST("id" AS INTEGER),
  CAST("last_attempt_at" AS TEXT),
  CAST("retry_count" AS INTEGER),
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
          WHEN typeof("next_attempt_at") IN ('integer', 'real')
          OR "next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST("next_attempt_at" AS INTEGER)
          ELSE CAST(round((julianday("next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
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
    COALESCE(length(CAST("attachments" AS BLOB)), 0)
      + COALESCE(length(CAST("bcc_addresses" AS BLOB)), 0)
      + COALESCE(length(CAST("cc_addresses" AS BLOB)), 0)
      + COALESCE(length(CAST("created_at" AS BLOB)), 0)
      + COALESCE(length(CAST("idempotency_key" AS BLOB)), 0)
      + COALESCE(length(CAST("from_address" AS BLOB)), 0)
      + COALESCE(length(CAST("headers" AS BLOB)), 0)
      + COALESCE(length(CAST("body_html" AS BLOB)), 0)
      + COALESCE(length(CAST("locale" AS BLOB)), 0)
      + COALESCE(length(CAST("reply_to" AS BLOB)), 0)
      + COALESCE(length(CAST("recipient_results" AS BLOB)), 0)
      + COALESCE(length(CAST("subject" AS BLOB)), 0)
      + COALESCE(length(CAST("template" AS BLOB)), 0)
      + COALESCE(length(CAST("body_text" AS BLOB)), 0)
      + COALESCE(length(CAST("to_addresses" AS BLOB)), 0)
      + COALESCE(length(CAST("traceparent" AS BLOB)), 0)
      + COALESCE(length(CAST("variables" AS BLOB)), 0) AS INTEGER
  ),
  CASE WHEN length(CAST("attachments" AS BLOB)) <= 65536 THEN "attachments" END,
  CASE WHEN length(CAST("bcc_addresses" AS BLOB)) <= 65536 THEN "bcc_addresses" END,
  CASE WHEN length(CAST("cc_addresses" AS BLOB)) <= 65536 THEN "cc_addresses" END,
  CASE WHEN length(CAST("created_at" AS BLOB)) <= 65536 THEN "created_at" END,
  CASE WHEN length(CAST("idempotency_key" AS BLOB)) <= 65536 THEN "idempotency_key" END,
  CASE WHEN length(CAST("from_address" AS BLOB)) <= 65536 THEN "from_address" END,
  CASE WHEN length(CAST("headers" AS BLOB)) <= 65536 THEN "headers" END,
  CASE WHEN length(CAST("body_html" AS BLOB)) <= 65536 THEN "body_html" END,
  CASE WHEN length(CAST("locale" AS BLOB)) <= 65536 THEN "locale" END,
  CASE WHEN length(CAST("reply_to" AS BLOB)) <= 65536 THEN "reply_to" END,
  CASE WHEN length(CAST("recipient_results" AS BLOB)) <= 65536 THEN "recipient_results" END,
  CASE WHEN length(CAST("subject" AS BLOB)) <= 65536 THEN "subject" END,
  CASE WHEN length(CAST("template" AS BLOB)) <= 65536 THEN "template" END,
  CASE WHEN length(CAST("body_text" AS BLOB)) <= 65536 THEN "body_text" END,
  CASE WHEN length(CAST("to_addresses" AS BLOB)) <= 65536 THEN "to_addresses" END,
  CASE WHEN length(CAST("traceparent" AS BLOB)) <= 65536 THEN "traceparent" END,
  CASE WHEN length(CAST("variables" AS BLOB)) <= 65536 THEN "variables" END;

-- dispatch: load: [Ids] -> Other
SELECT
  CAST(t."id" AS INTEGER),
  t."attachments",
  t."bcc_addresses",
  t."cc_addresses",
  t."created_at",
  t."idempotency_key",
  t."from_address",
  t."headers",
  t."body_html",
  t."locale",
  t."reply_to",
  t."recipient_results",
  t."subject",
  t."template",
  t."body_text",
  t."to_addresses",
  t."traceparent",
  t."variables"
FROM "mail_outbox" AS t
WHERE t."id" IN (SELECT CAST(value AS INTEGER) FROM json_each(?1));

-- dispatch: settle delivered, uniform: [One(Outcome("recipients")), One(Receipt), Ids, One(Fence(0))] -> Keys
UPDATE "mail_outbox" AS t SET
  "recipient_results" = COALESCE(?1, t."recipient_results"),
  "status" = 'sent',
  "lease_until" = NULL,
  "claimed_by" = NULL,
  "last_error" = NULL,
  "provider_message_id" = ?2,
  "sent_at" = CASE
    WHEN typeof(COALESCE(t."sent_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."sent_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."sent_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
WHERE t."id" IN (SELECT CAST(value AS INTEGER) FROM json_each(?3))
  AND +t."status" = 'dispatching'
  AND CAST(t."last_attempt_at" AS TEXT) IS ?4
RETURNING CAST("id" AS INTEGER);

-- dispatch: settle delivered, each: [Rows([Id, Fence(0), Outcome("recipients"), Receipt])] -> Keys
UPDATE "mail_outbox" AS t SET
  "recipient_results" = COALESCE(v."o_recipients", t."recipient_results"),
  "status" = 'sent',
  "lease_until" = NULL,
  "claimed_by" = NULL,
  "last_error" = NULL,
  "provider_message_id" = v."receipt",
  "sent_at" = CASE
    WHEN typeof(COALESCE(t."sent_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."sent_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."sent_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
    value->>'o_recipients' AS "o_recipients",
    value->>'receipt' AS "receipt"
  FROM json_each(?1)
) AS v
WHERE t."id" = v."id"
  AND +t."status" = 'dispatching'
  AND CAST(t."last_attempt_at" AS TEXT) IS v."f0"
RETURNING CAST("id" AS INTEGER);

-- dispatch: settle retry, uniform: [One(Outcome("recipients")), One(Delay), One(Reason), Ids, One(Fence(0))]
--   -> Keys
UPDATE "mail_outbox" AS t SET
  "recipient_results" = COALESCE(?1, t."recipient_results"),
  "status" = 'queued',
  "lease_until" = NULL,
  "claimed_by" = NULL,
  "next_attempt_at" = CASE
    WHEN typeof(COALESCE(t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
        + CAST(round(?2 * 1000.0) AS INTEGER)
        + 0
    WHEN COALESCE(t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
      THEN strftime(
        '%Y-%m-%d %H:%M:%f',
          (
            CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
              + CAST(round(?2 * 1000.0) AS INTEGER)
              + 0
          )
            / 1000.0,
          'unixepoch'
      )
    ELSE strftime(
      '%Y-%m-%dT%H:%M:%fZ',
        (
          CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
            + CAST(round(?2 * 1000.0) AS INTEGER)
            + 0
        )
          / 1000.0,
        'unixepoch'
    )
    END,
  "retry_count" = t."retry_count" + 1,
  "last_error" = ?3
WHERE t."id" IN (SELECT CAST(value AS INTEGER) FROM json_each(?4))
  AND +t."status" = 'dispatching'
  AND CAST(t."last_attempt_at" AS TEXT) IS ?5
RETURNING CAST("id" AS INTEGER);

-- dispatch: settle retry, each: [Rows([Id, Fence(0), Outcome("recipients"), Delay, Reason])] -> Keys
UPDATE "mail_outbox" AS t SET
  "recipient_results" = COALESCE(v."o_recipients", t."recipient_results"),
  "status" = 'queued',
  "lease_until" = NULL,
  "claimed_by" = NULL,
  "next_attempt_at" = CASE
    WHEN typeof(COALESCE(t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
        + CAST(round(v."delay" * 1000.0) AS INTEGER)
        + 0
    WHEN COALESCE(t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
      THEN strftime(
        '%Y-%m-%d %H:%M:%f',
          (
            CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
              + CAST(round(v."delay" * 1000.0) AS INTEGER)
              + 0
          )
            / 1000.0,
          'unixepoch'
      )
    ELSE strftime(
      '%Y-%m-%dT%H:%M:%fZ',
        (
          CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
            + CAST(round(v."delay" * 1000.0) AS INTEGER)
            + 0
        )
          / 1000.0,
        'unixepoch'
    )
    END,
  "retry_count" = t."retry_count" + 1,
  "last_error" = v."reason"
FROM (
  SELECT
    CAST(value->>'id' AS INTEGER) AS "id",
    CAST(value->>'f0' AS TEXT) AS "f0",
    value->>'o_recipients' AS "o_recipients",
    value->>'delay' AS "delay",
    value->>'reason' AS "reason"
  FROM json_each(?1)
) AS v
WHERE t."id" = v."id"
  AND +t."status" = 'dispatching'
  AND CAST(t."last_attempt_at" AS TEXT) IS v."f0"
RETURNING CAST("id" AS INTEGER);

-- dispatch: settle dead, uniform: [One(Outcome("recipients")), One(Reason), Ids, One(Fence(0))] -> Keys
UPDATE "mail_outbox" AS t SET
  "recipient_results" = COALESCE(?1, t."recipient_results"),
  "status" = 'failed',
  "lease_until" = NULL,
  "claimed_by" = NULL,
  "retry_count" = t."retry_count" + 1,
  "last_error" = ?2
WHERE t."id" IN (SELECT CAST(value AS INTEGER) FROM json_each(?3))
  AND +t."status" = 'dispatching'
  AND CAST(t."last_attempt_at" AS TEXT) IS ?4
RETURNING CAST("id" AS INTEGER);

-- dispatch: settle dead, each: [Rows([Id, Fence(0), Outcome("recipients"), Reason])] -> Keys
UPDATE "mail_outbox" AS t SET
  "recipient_results" = COALESCE(v."o_recipients", t."recipient_results"),
  "status" = 'failed',
  "lease_until" = NULL,
  "claimed_by" = NULL,
  "retry_count" = t."retry_count" + 1,
  "last_error" = v."reason"
FROM (
  SELECT
    CAST(value->>'id' AS INTEGER) AS "id",
    CAST(value->>'f0' AS TEXT) AS "f0",
    value->>'o_recipients' AS "o_recipients",
    value->>'reason' AS "reason"
  FROM json_each(?1)
) AS v
WHERE t."id" = v."id"
  AND +t."status" = 'dispatching'
  AND CAST(t."last_attempt_at" AS TEXT) IS v."f0"
RETURNING CAST("id" AS INTEGER);

-- dispatch: settle rejected, uniform: [One(Outcome("recipients")), One(Reason), Ids, One(Fence(0))] -> Keys
UPDATE "mail_outbox" AS t SET
  "recipient_results" = COALESCE(?1, t."recipient_results"),
  "status" = 'failed',
  "lease_until" = NULL,
  "claimed_by" = NULL,
  "retry_count" = t."retry_count" + 1,
  "last_error" = ?2
WHERE t."id" IN (SELECT CAST(value AS INTEGER) FROM json_each(?3))
  AND +t."status" = 'dispatching'
  AND CAST(t."last_attempt_at" AS TEXT) IS ?4
RETURNING CAST("id" AS INTEGER);

-- dispatch: settle rejected, each: [Rows([Id, Fence(0), Outcome("recipients"), Reason])] -> Keys
UPDATE "mail_outbox" AS t SET
  "recipient_results" = COALESCE(v."o_recipients", t."recipient_results"),
  "status" = 'failed',
  "lease_until" = NULL,
  "claimed_by" = NULL,
  "retry_count" = t."retry_count" + 1,
  "last_error" = v."reason"
FROM (
  SELECT
    CAST(value->>'id' AS INTEGER) AS "id",
    CAST(value->>'f0' AS TEXT) AS "f0",
    value->>'o_recipients' AS "o_recipients",
    value->>'reason' AS "reason"
  FROM json_each(?1)
) AS v
WHERE t."id" = v."id"
  AND +t."status" = 'dispatching'
  AND CAST(t."last_attempt_at" AS TEXT) IS v."f0"
RETURNING CAST("id" AS INTEGER);

-- dispatch: settle skipped, uniform: [One(Outcome("recipients")), One(Reason), Ids, One(Fence(0))] -> Keys
UPDATE "mail_outbox" AS t SET
  "recipient_results" = COALESCE(?1, t."recipient_results"),
  "status" = 'failed',
  "lease_until" = NULL,
  "claimed_by" = NULL,
  "retry_count" = t."retry_count" + 1,
  "last_error" = ?2
WHERE t."id" IN (SELECT CAST(value AS INTEGER) FROM json_each(?3))
  AND +t."status" = 'dispatching'
  AND CAST(t."last_attempt_at" AS TEXT) IS ?4
RETURNING CAST("id" AS INTEGER);

-- dispatch: settle skipped, each: [Rows([Id, Fence(0), Outcome("recipients"), Reason])] -> Keys
UPDATE "mail_outbox" AS t SET
  "recipient_results" = COALESCE(v."o_recipients", t."recipient_results"),
  "status" = 'failed',
  "lease_until" = NULL,
  "claimed_by" = NULL,
  "retry_count" = t."retry_count" + 1,
  "last_error" = v."reason"
FROM (
  SELECT
    CAST(value->>'id' AS INTEGER) AS "id",
    CAST(value->>'f0' AS TEXT) AS "f0",
    value->>'o_recipients' AS "o_recipients",
    value->>'reason' AS "reason"
  FROM json_each(?1)
) AS v
WHERE t."id" = v."id"
  AND +t."status" = 'dispatching'
  AND CAST(t."last_attempt_at" AS TEXT) IS v."f0"
RETURNING CAST("id" AS INTEGER);

-- dispatch: settle deferred, uniform: [One(Outcome("recipients")), One(Delay), Ids, One(Fence(0))] -> Keys
UPDATE "mail_outbox" AS t SET
  "recipient_results" = COALESCE(?1, t."recipient_results"),
  "status" = 'queued',
  "lease_until" = NULL,
  "claimed_by" = NULL,
  "next_attempt_at" = CASE
    WHEN typeof(COALESCE(t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
        + CAST(round(?2 * 1000.0) AS INTEGER)
        + 0
    WHEN COALESCE(t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
      THEN strftime(
        '%Y-%m-%d %H:%M:%f',
          (
            CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
              + CAST(round(?2 * 1000.0) AS INTEGER)
              + 0
          )
            / 1000.0,
          'unixepoch'
      )
    ELSE strftime(
      '%Y-%m-%dT%H:%M:%fZ',
        (
          CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
            + CAST(round(?2 * 1000.0) AS INTEGER)
            + 0
        )
          / 1000.0,
        'unixepoch'
    )
    END
WHERE t."id" IN (SELECT CAST(value AS INTEGER) FROM json_each(?3))
  AND +t."status" = 'dispatching'
  AND CAST(t."last_attempt_at" AS TEXT) IS ?4
RETURNING CAST("id" AS INTEGER);

-- dispatch: settle deferred, each: [Rows([Id, Fence(0), Outcome("recipients"), Delay])] -> Keys
UPDATE "mail_outbox" AS t SET
  "recipient_results" = COALESCE(v."o_recipients", t."recipient_results"),
  "status" = 'queued',
  "lease_until" = NULL,
  "claimed_by" = NULL,
  "next_attempt_at" = CASE
    WHEN typeof(COALESCE(t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
        + CAST(round(v."delay" * 1000.0) AS INTEGER)
        + 0
    WHEN COALESCE(t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
      THEN strftime(
        '%Y-%m-%d %H:%M:%f',
          (
            CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
              + CAST(round(v."delay" * 1000.0) AS INTEGER)
              + 0
          )
            / 1000.0,
          'unixepoch'
      )
    ELSE strftime(
      '%Y-%m-%dT%H:%M:%fZ',
        (
          CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
            + CAST(round(v."delay" * 1000.0) AS INTEGER)
            + 0
        )
          / 1000.0,
        'unixepoch'
    )
    END
FROM (
  SELECT
    CAST(value->>'id' AS INTEGER) AS "id",
    CAST(value->>'f0' AS TEXT) AS "f0",
    value->>'o_recipients' AS "o_recipients",
    value->>'delay' AS "delay"
  FROM json_each(?1)
) AS v
WHERE t."id" = v."id"
  AND +t."status" = 'dispatching'
  AND CAST(t."last_attempt_at" AS TEXT) IS v."f0"
RETURNING CAST("id" AS INTEGER);

-- dispatch: settle released, uniform: [Ids, One(Fence(0))] -> Keys
UPDATE "mail_outbox" AS t SET
  "status" = 'queued',
  "lease_until" = NULL,
  "claimed_by" = NULL
WHERE t."id" IN (SELECT CAST(value AS INTEGER) FROM json_each(?1))
  AND +t."status" = 'dispatching'
  AND CAST(t."last_attempt_at" AS TEXT) IS ?2
RETURNING CAST("id" AS INTEGER);

-- dispatch: settle released, each: [Rows([Id, Fence(0)])] -> Keys
UPDATE "mail_outbox" AS t SET
  "status" = 'queued',
  "lease_until" = NULL,
  "claimed_by" = NULL
FROM (
  SELECT
    CAST(value->>'id' AS INTEGER) AS "id",
    CAST(value->>'f0' AS TEXT) AS "f0"
  FROM json_each(?1)
) AS v
WHERE t."id" = v."id"
  AND +t."status" = 'dispatching'
  AND CAST(t."last_attempt_at" AS TEXT) IS v."f0"
RETURNING CAST("id" AS INTEGER);

-- dispatch: extend: [Rows([Id, Fence(0)])] -> Leases
UPDATE "mail_outbox" AS t SET "lease_until" = CASE
  WHEN typeof(COALESCE(t."lease_until", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
  OR COALESCE(t."lease_until", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*' THEN CASE
  WHEN CASE
  WHEN typeof(t."lease_until") IN ('integer', 'real')
  OR t."lease_until" NOT GLOB '*[^0-9]*' THEN CAST(t."lease_until" AS INTEGER)
  ELSE CAST(round((julianday(t."lease_until") - 2440587.5) * 86400000.0) AS INTEGER)
  END
    BETWEEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 60000 - 1
    AND CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 60000 + 60000
    THEN CASE
  WHEN typeof(t."lease_until") IN ('integer', 'real')
  OR t."lease_until" NOT GLOB '*[^0-9]*' THEN CAST(t."lease_until" AS INTEGER)
  ELSE CAST(round((julianday(t."lease_until") - 2440587.5) * 86400000.0) AS INTEGER)
  END + 1
  ELSE CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 60000
  END
  WHEN COALESCE(t."lease_until", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
    THEN strftime(
      '%Y-%m-%d %H:%M:%f',
        (
          CASE
            WHEN CASE
            WHEN typeof(t."lease_until") IN ('integer', 'real')
            OR t."lease_until" NOT GLOB '*[^0-9]*' THEN CAST(t."lease_until" AS INTEGER)
            ELSE CAST(round((julianday(t."lease_until") - 2440587.5) * 86400000.0) AS INTEGER)
            END
              BETWEEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 60000 - 1
              AND CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 60000 + 60000
              THEN CASE
            WHEN typeof(t."lease_until") IN ('integer', 'real')
            OR t."lease_until" NOT GLOB '*[^0-9]*' THEN CAST(t."lease_until" AS INTEGER)
            ELSE CAST(round((julianday(t."lease_until") - 2440587.5) * 86400000.0) AS INTEGER)
            END + 1
            ELSE CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 60000
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
          WHEN typeof(t."lease_until") IN ('integer', 'real')
          OR t."lease_until" NOT GLOB '*[^0-9]*' THEN CAST(t."lease_until" AS INTEGER)
          ELSE CAST(round((julianday(t."lease_until") - 2440587.5) * 86400000.0) AS INTEGER)
          END
            BETWEEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 60000 - 1
            AND CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 60000 + 60000
            THEN CASE
          WHEN typeof(t."lease_until") IN ('integer', 'real')
          OR t."lease_until" NOT GLOB '*[^0-9]*' THEN CAST(t."lease_until" AS INTEGER)
          ELSE CAST(round((julianday(t."lease_until") - 2440587.5) * 86400000.0) AS INTEGER)
          END + 1
          ELSE CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 60000
          END
      )
        / 1000.0,
      'unixepoch'
  )
  END
FROM (
  SELECT
    CAST(value->>'id' AS INTEGER) AS "id",
    CAST(value->>'f0' AS TEXT) AS "f0"
  FROM json_each(?1)
) AS v
WHERE t."id" = v."id"
  AND +t."status" = 'dispatching'
  AND CAST(t."last_attempt_at" AS TEXT) IS v."f0"
RETURNING
  CAST("id" AS INTEGER),
  CAST("last_attempt_at" AS TEXT);

-- dispatch: stamp: [Limit] -> Keys
UPDATE "mail_outbox" AS t SET "last_attempt_at" = CASE
  WHEN typeof(COALESCE(t."last_attempt_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
  OR COALESCE(t."last_attempt_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
    THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
  WHEN COALESCE(t."last_attempt_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
WHERE t."id" IN (
SELECT t."id"
FROM "mail_outbox" AS t
WHERE t."status" = 'dispatching'
  AND CASE
    WHEN typeof(t."last_attempt_at") IN ('integer', 'real')
    OR t."last_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."last_attempt_at" AS INTEGER)
    ELSE CAST(round((julianday(t."last_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END IS NULL
  AND CASE
    WHEN typeof(t."lease_until") IN ('integer', 'real')
    OR t."lease_until" NOT GLOB '*[^0-9]*' THEN CAST(t."lease_until" AS INTEGER)
    ELSE CAST(round((julianday(t."lease_until") - 2440587.5) * 86400000.0) AS INTEGER)
    END IS NULL
LIMIT ?1)
RETURNING CAST("id" AS INTEGER);

-- dispatch: leases that still hold: [Rows([Id, Fence(0)])] -> Keys
SELECT CAST(t."id" AS INTEGER)
FROM (
  SELECT
    CAST(value->>'id' AS INTEGER) AS "id",
    CAST(value->>'f0' AS TEXT) AS "f0"
  FROM json_each(?1)
) AS v CROSS
  JOIN "mail_outbox" AS t
WHERE t."id" = v."id"
  AND +t."status" = 'dispatching'
  AND CAST(t."last_attempt_at" AS TEXT) IS v."f0"
  AND (
    (
      CASE
        WHEN typeof(t."lease_until") IN ('integer', 'real')
        OR t."lease_until" NOT GLOB '*[^0-9]*' THEN CAST(t."lease_until" AS INTEGER)
        ELSE CAST(round((julianday(t."lease_until") - 2440587.5) * 86400000.0) AS INTEGER)
        END < CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
        OR (
          CASE
            WHEN typeof(t."lease_until") IN ('integer', 'real')
            OR t."lease_until" NOT GLOB '*[^0-9]*' THEN CAST(t."lease_until" AS INTEGER)
            ELSE CAST(round((julianday(t."lease_until") - 2440587.5) * 86400000.0) AS INTEGER)
            END IS NULL
            AND CASE
            WHEN typeof(t."last_attempt_at") IN ('integer', 'real')
            OR t."last_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."last_attempt_at" AS INTEGER)
            ELSE CAST(round((julianday(t."last_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
            END < CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) - 300000
        )
    )
  ) IS NOT TRUE;

-- dispatch: look for rows of a lost claim: [Owner] -> Keys
SELECT CAST(t."id" AS INTEGER)
FROM "mail_outbox" AS t
WHERE t."status" = 'dispatching'
  AND t."claimed_by" = ?1;

-- dispatch: release rows of a lost claim: [Ids, Owner] -> Keys
UPDATE "mail_outbox" AS t SET
  "status" = 'queued',
  "lease_until" = NULL,
  "claimed_by" = NULL
WHERE t."id" IN (
SELECT t."id"
FROM "mail_outbox" AS t
WHERE t."id" IN (SELECT CAST(value AS INTEGER) FROM json_each(?1))
  AND +t."status" = 'dispatching'
  AND t."claimed_by" = ?2)
RETURNING CAST("id" AS INTEGER);

-- dispatch: look for expired leases: [Limit] -> Other
SELECT
  CAST(t."id" AS INTEGER),
  CAST(t."last_attempt_at" AS TEXT),
  CASE WHEN t."retry_count" + 1 >= 5 THEN 1 ELSE 0 END,
  5
FROM "mail_outbox" AS t
WHERE t."status" = 'dispatching'
  AND (
    CASE
      WHEN typeof(t."lease_until") IN ('integer', 'real')
      OR t."lease_until" NOT GLOB '*[^0-9]*' THEN CAST(t."lease_until" AS INTEGER)
      ELSE CAST(round((julianday(t."lease_until") - 2440587.5) * 86400000.0) AS INTEGER)
      END < CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
      OR (
        CASE
          WHEN typeof(t."lease_until") IN ('integer', 'real')
          OR t."lease_until" NOT GLOB '*[^0-9]*' THEN CAST(t."lease_until" AS INTEGER)
          ELSE CAST(round((julianday(t."lease_until") - 2440587.5) * 86400000.0) AS INTEGER)
          END IS NULL
          AND CASE
          WHEN typeof(t."last_attempt_at") IN ('integer', 'real')
          OR t."last_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."last_attempt_at" AS INTEGER)
          ELSE CAST(round((julianday(t."last_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
          END < CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) - 300000
      )
  )
ORDER BY CASE
  WHEN typeof(t."lease_until") IN ('integer', 'real')
  OR t."lease_until" NOT GLOB '*[^0-9]*' THEN CAST(t."lease_until" AS INTEGER)
  ELSE CAST(round((julianday(t."lease_until") - 2440587.5) * 86400000.0) AS INTEGER)
  END
LIMIT ?1;

-- dispatch: reclaim, free: [Ids] -> Keys
UPDATE "mail_outbox" AS t SET
  "status" = 'queued',
  "lease_until" = NULL,
  "claimed_by" = NULL
WHERE t."id" IN (
SELECT t."id"
FROM "mail_outbox" AS t
WHERE t."id" IN (SELECT CAST(value AS INTEGER) FROM json_each(?1))
  AND +t."status" = 'dispatching'
  AND (
    CASE
      WHEN typeof(t."lease_until") IN ('integer', 'real')
      OR t."lease_until" NOT GLOB '*[^0-9]*' THEN CAST(t."lease_until" AS INTEGER)
      ELSE CAST(round((julianday(t."lease_until") - 2440587.5) * 86400000.0) AS INTEGER)
      END < CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
      OR (
        CASE
          WHEN typeof(t."lease_until") IN ('integer', 'real')
          OR t."lease_until" NOT GLOB '*[^0-9]*' THEN CAST(t."lease_until" AS INTEGER)
          ELSE CAST(round((julianday(t."lease_until") - 2440587.5) * 86400000.0) AS INTEGER)
          END IS NULL
          AND CASE
          WHEN typeof(t."last_attempt_at") IN ('integer', 'real')
          OR t."last_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."last_attempt_at" AS INTEGER)
          ELSE CAST(round((julianday(t."last_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
          END < CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) - 300000
      )
  ))
RETURNING CAST("id" AS INTEGER);

-- dispatch: reclaim, spared, step 1: [Ids] -> Keys
UPDATE "mail_outbox" AS t SET
  "status" = 'queued',
  "lease_until" = NULL,
  "claimed_by" = NULL
WHERE t."id" IN (
SELECT t."id"
FROM "mail_outbox" AS t
WHERE t."id" IN (SELECT CAST(value AS INTEGER) FROM json_each(?1))
  AND +t."status" = 'dispatching'
  AND (
    CASE
      WHEN typeof(t."lease_until") IN ('integer', 'real')
      OR t."lease_until" NOT GLOB '*[^0-9]*' THEN CAST(t."lease_until" AS INTEGER)
      ELSE CAST(round((julianday(t."lease_until") - 2440587.5) * 86400000.0) AS INTEGER)
      END < CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
      OR (
        CASE
          WHEN typeof(t."lease_until") IN ('integer', 'real')
          OR t."lease_until" NOT GLOB '*[^0-9]*' THEN CAST(t."lease_until" AS INTEGER)
          ELSE CAST(round((julianday(t."lease_until") - 2440587.5) * 86400000.0) AS INTEGER)
          END IS NULL
          AND CASE
          WHEN typeof(t."last_attempt_at") IN ('integer', 'real')
          OR t."last_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."last_attempt_at" AS INTEGER)
          ELSE CAST(round((julianday(t."last_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
          END < CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) - 300000
      )
  ))
RETURNING CAST("id" AS INTEGER);

-- dispatch: reclaim, spared, step 2: [Held] -> Nothing
INSERT INTO postrider_crashes (place, row_id, crashes, crashed_at)
SELECT
  'mail_outbox/dispatch',
  CAST(value AS TEXT),
  1,
  strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
FROM json_each(?1) WHERE true
ON CONFLICT (place, row_id) DO UPDATE SET
  crashes = crashes + 1,
  crashed_at = excluded.crashed_at;

-- dispatch: reclaim, charged, step 1: [Ids] -> Keys
UPDATE "mail_outbox" AS t SET
  "status" = 'queued',
  "lease_until" = NULL,
  "claimed_by" = NULL,
  "next_attempt_at" = CASE
    WHEN typeof(COALESCE(t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
    END,
  "retry_count" = t."retry_count" + 1,
  "last_error" = 'lease expired: the worker that held it is gone'
WHERE t."id" IN (
SELECT t."id"
FROM "mail_outbox" AS t
WHERE t."id" IN (SELECT CAST(value AS INTEGER) FROM json_each(?1))
  AND +t."status" = 'dispatching'
  AND (
    CASE
      WHEN typeof(t."lease_until") IN ('integer', 'real')
      OR t."lease_until" NOT GLOB '*[^0-9]*' THEN CAST(t."lease_until" AS INTEGER)
      ELSE CAST(round((julianday(t."lease_until") - 2440587.5) * 86400000.0) AS INTEGER)
      END < CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
      OR (
        CASE
          WHEN typeof(t."lease_until") IN ('integer', 'real')
          OR t."lease_until" NOT GLOB '*[^0-9]*' THEN CAST(t."lease_until" AS INTEGER)
          ELSE CAST(round((julianday(t."lease_until") - 2440587.5) * 86400000.0) AS INTEGER)
          END IS NULL
          AND CASE
          WHEN typeof(t."last_attempt_at") IN ('integer', 'real')
          OR t."last_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."last_attempt_at" AS INTEGER)
          ELSE CAST(round((julianday(t."last_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
          END < CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) - 300000
      )
  ))
RETURNING CAST("id" AS INTEGER);

-- dispatch: reclaim, charged, step 2: [Held] -> Nothing
INSERT INTO postrider_crashes (place, row_id, crashes, crashed_at)
SELECT
  'mail_outbox/dispatch',
  CAST(value AS TEXT),
  1,
  strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
FROM json_each(?1) WHERE true
ON CONFLICT (place, row_id) DO UPDATE SET
  crashes = crashes + 1,
  crashed_at = excluded.crashed_at;

-- dispatch: reclaim, dead, step 1: [Ids] -> Keys
UPDATE "mail_outbox" AS t SET
  "status" = 'failed',
  "lease_until" = NULL,
  "claimed_by" = NULL,
  "retry_count" = t."retry_count" + 1,
  "last_error" = 'poison row: its workers crashed repeatedly, also when it was delivered alone'
WHERE t."id" IN (
SELECT t."id"
FROM "mail_outbox" AS t
WHERE t."id" IN (SELECT CAST(value AS INTEGER) FROM json_each(?1))
  AND +t."status" = 'dispatching'
  AND (
    CASE
      WHEN typeof(t."lease_until") IN ('integer', 'real')
      OR t."lease_until" NOT GLOB '*[^0-9]*' THEN CAST(t."lease_until" AS INTEGER)
      ELSE CAST(round((julianday(t."lease_until") - 2440587.5) * 86400000.0) AS INTEGER)
      END < CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
      OR (
        CASE
          WHEN typeof(t."lease_until") IN ('integer', 'real')
          OR t."lease_until" NOT GLOB '*[^0-9]*' THEN CAST(t."lease_until" AS INTEGER)
          ELSE CAST(round((julianday(t."lease_until") - 2440587.5) * 86400000.0) AS INTEGER)
          END IS NULL
          AND CASE
          WHEN typeof(t."last_attempt_at") IN ('integer', 'real')
          OR t."last_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."last_attempt_at" AS INTEGER)
          ELSE CAST(round((julianday(t."last_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
          END < CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) - 300000
      )
  ))
RETURNING CAST("id" AS INTEGER);

-- dispatch: reclaim, dead, step 2: [Held] -> Nothing
DELETE
  FROM postrider_crashes
  WHERE place = 'mail_outbox/dispatch'
  AND row_id IN (SELECT CAST(value AS TEXT) FROM json_each(?1));

-- dispatch: spent: [Limit] -> Keys
UPDATE "mail_outbox" AS t SET
  "last_error" = COALESCE(t."last_error", 'no attempts left'),
  "status" = 'failed',
  "lease_until" = NULL,
  "claimed_by" = NULL
WHERE t."id" IN (
SELECT t."id"
FROM "mail_outbox" AS t
WHERE t."status" = 'queued'
  AND CASE
    WHEN t."status" = 'failed' THEN 'failed'
    WHEN t."status" = 'queued'
    AND t."retry_count" >= 5 THEN 'no attempts left'
    END = 'no attempts left'
  AND t."retry_count" >= 5
LIMIT ?1)
RETURNING CAST("id" AS INTEGER);

-- dispatch: look for unreadable next_attempt_at: [Limit] -> Keys
SELECT CAST(t."id" AS INTEGER)
FROM "mail_outbox" AS t
WHERE t."status" = 'queued'
  AND (
    t."next_attempt_at" IS NOT NULL
      AND CASE
      WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
      OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
      ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END IS NULL
  )
LIMIT ?1;

-- dispatch: end unreadable next_attempt_at: [Ids] -> Keys
UPDATE "mail_outbox" AS t SET
  "last_error" = 'next_attempt_at holds a time that can''t be read',
  "status" = 'failed',
  "lease_until" = NULL,
  "claimed_by" = NULL
WHERE t."id" IN (
SELECT t."id"
FROM "mail_outbox" AS t
WHERE t."id" IN (SELECT CAST(value AS INTEGER) FROM json_each(?1))
  AND +t."status" = 'queued'
  AND (
    t."next_attempt_at" IS NOT NULL
      AND CASE
      WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
      OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
      ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END IS NULL
  ))
RETURNING CAST("id" AS INTEGER);

-- dispatch: next due: [] -> Other
SELECT CAST(
  0
    - (
      (
        (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0) - CASE
          WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
          OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
          ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
          END
      )
        * 1000
    ) AS INTEGER
) AS w
FROM "mail_outbox" AS t
WHERE t."status" = 'queued'
  AND t."retry_count" < 5
  AND t."next_attempt_at" IS NOT NULL
ORDER BY CASE
  WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
  OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
  ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
  END
LIMIT 1;

-- dispatch: lag: [] -> Other
SELECT (
  SELECT (
    COALESCE(
      (
        (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0) - CASE
          WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
          OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
          ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
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
    FROM "mail_outbox" AS t
    WHERE t."status" = 'queued'
    AND CASE
    WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
    OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
    ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    AND t."retry_count" < 5
    ORDER BY CASE
    WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
    OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
    ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END
    LIMIT 1
),
  (
    SELECT (
      (
        (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0) - CASE
          WHEN typeof(t."last_attempt_at") IN ('integer', 'real')
          OR t."last_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."last_attempt_at" AS INTEGER)
          ELSE CAST(round((julianday(t."last_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
          END
      )
        * 1000
    )
      / 1000000.0
      FROM "mail_outbox" AS t
      WHERE t."status" = 'dispatching'
      ORDER BY CASE
      WHEN typeof(t."last_attempt_at") IN ('integer', 'real')
      OR t."last_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."last_attempt_at" AS INTEGER)
      ELSE CAST(round((julianday(t."last_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END
      LIMIT 1
  );

-- dispatch: census queued: [] -> Other
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
                  t."id",
                  t."status"
                FROM "mail_outbox" AS t
                  WHERE t."status" = 'queued'
                  ORDER BY CASE
                  WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
                  OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
                  ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
                  END,
                  t."id" LIMIT 50001
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
                t."id",
                t."status"
              FROM "mail_outbox" AS t
                WHERE t."status" = 'queued'
                ORDER BY CASE
                WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
                OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
                ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
                END,
                t."id" LIMIT 50000
            ) AS p
        ) AS t
    

WHERE t."status" = 'queued' LIMIT 10001) AS counted) AS c;

-- dispatch: census dispatching: [] -> Other
SELECT
  CAST(COUNT(*) AS INTEGER),
  0
FROM (SELECT 1 AS one FROM "mail_outbox" AS t WHERE t."status" = 'dispatching' LIMIT 10001) AS counted;

-- dispatch: census sent: [] -> Other
SELECT
  CAST(c.n AS INTEGER),
  CAST(
    CASE
      WHEN c.n <= 10000
      AND EXISTS (SELECT 1 FROM "mail_outbox" AS t ORDER BY t."id" LIMIT 1 OFFSET 50000) THEN 1
      ELSE 0
      END AS INTEGER
  )
FROM (
  SELECT COUNT(*) AS n
    FROM (
      SELECT 1 AS one
        FROM (SELECT t."id", t."status" FROM "mail_outbox" AS t ORDER BY t."id" LIMIT 50000) AS t
    

WHERE t."status" = 'sent' LIMIT 10001) AS counted) AS c;

-- dispatch: census failed: [] -> Other
SELECT
  CAST(COUNT(*) AS INTEGER),
  0
FROM (
  SELECT 1 AS one
    FROM "mail_outbox" AS t
    WHERE CASE
    WHEN t."status" = 'failed' THEN 'failed'
    WHEN t."status" = 'queued'
    AND t."retry_count" >= 5 THEN 'no attempts left'
    END = 'failed'
    AND t."status" = 'failed'
    LIMIT 10001
) AS counted;

-- dispatch: requeue ids failed: [Ids] -> Keys
UPDATE "mail_outbox" AS t SET
  "status" = 'queued',
  "lease_until" = NULL,
  "claimed_by" = NULL,
  "next_attempt_at" = CASE
    WHEN typeof(COALESCE(t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
    END,
  "retry_count" = 0,
  "last_error" = NULL,
  "sent_at" = NULL
WHERE t."id" IN (
SELECT t."id"
FROM "mail_outbox" AS t
WHERE t."id" IN (SELECT CAST(value AS INTEGER) FROM json_each(?1))
  AND +t."status" = 'failed')
RETURNING CAST("id" AS INTEGER);

-- dispatch: requeue state failed: [Since, Limit] -> Keys
UPDATE "mail_outbox" AS t SET
  "status" = 'queued',
  "lease_until" = NULL,
  "claimed_by" = NULL,
  "next_attempt_at" = CASE
    WHEN typeof(COALESCE(t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
    END,
  "retry_count" = 0,
  "last_error" = NULL,
  "sent_at" = NULL
WHERE t."id" IN (
SELECT t."id"
FROM "mail_outbox" AS t
WHERE t."status" = 'failed'
  AND CASE
    WHEN t."status" = 'failed' THEN 'failed'
    WHEN t."status" = 'queued'
    AND t."retry_count" >= 5 THEN 'no attempts left'
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
      WHEN typeof(t."created_at") IN ('integer', 'real')
      OR t."created_at" NOT GLOB '*[^0-9]*' THEN CAST(t."created_at" AS INTEGER)
      ELSE CAST(round((julianday(t."created_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END >= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
        + CAST(round((0 - ?1) * 1000.0) AS INTEGER)
        + 0
  )
LIMIT ?2)
RETURNING CAST("id" AS INTEGER);

-- dispatch: release ids dispatching: [Ids] -> Keys
UPDATE "mail_outbox" AS t SET
  "status" = 'queued',
  "lease_until" = NULL,
  "claimed_by" = NULL
WHERE t."id" IN (
SELECT t."id"
FROM "mail_outbox" AS t
WHERE t."id" IN (SELECT CAST(value AS INTEGER) FROM json_each(?1))
  AND +t."status" = 'dispatching')
RETURNING CAST("id" AS INTEGER);

-- dispatch: release state dispatching: [Since, Limit] -> Keys
UPDATE "mail_outbox" AS t SET
  "status" = 'queued',
  "lease_until" = NULL,
  "claimed_by" = NULL
WHERE t."id" IN (
SELECT t."id"
FROM "mail_outbox" AS t
WHERE t."status" = 'dispatching'
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
      WHEN typeof(t."created_at") IN ('integer', 'real')
      OR t."created_at" NOT GLOB '*[^0-9]*' THEN CAST(t."created_at" AS INTEGER)
      ELSE CAST(round((julianday(t."created_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END >= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
        + CAST(round((0 - ?1) * 1000.0) AS INTEGER)
        + 0
  )
LIMIT ?2)
RETURNING CAST("id" AS INTEGER);
