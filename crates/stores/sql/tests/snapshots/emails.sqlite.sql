-- emails: every statement. Written by the snapshot test; do not edit.

-- create
CREATE TABLE IF NOT EXISTS "emails" (
    id TEXT NOT NULL PRIMARY KEY,
    "status" TEXT NOT NULL,
    eml_file_path TEXT,
    payload_file_path TEXT,
    reason TEXT,
    version INTEGER NOT NULL DEFAULT 1,
    created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    updated_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    attempts INTEGER,
    next_attempt_at TEXT,
    claimed_by TEXT,
    CHECK (
      status IN (
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
      )
    )
);

-- create
CREATE TABLE IF NOT EXISTS email_statuses (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    email_id TEXT NOT NULL,
    "status" TEXT NOT NULL,
    reason TEXT,
    created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    FOREIGN KEY (email_id) REFERENCES "emails" (id) ON DELETE CASCADE
);

-- create
CREATE INDEX IF NOT EXISTS idx_email_id ON email_statuses (email_id);

-- create
CREATE INDEX IF NOT EXISTS "emails_claim"
  ON "emails" (
    "status",
      (
        CASE
          WHEN typeof("updated_at") IN ('integer', 'real')
          OR "updated_at" NOT GLOB '*[^0-9]*' THEN CAST("updated_at" AS INTEGER)
          ELSE CAST(round((julianday("updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
          END
      ),
      "id"
  );

-- create
CREATE INDEX IF NOT EXISTS "emails_states5"
  ON "emails" (
    (
      CASE
        WHEN "status" = 'SENT'
        AND CASE
        WHEN typeof("next_attempt_at") IN ('integer', 'real')
        OR "next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST("next_attempt_at" AS INTEGER)
        ELSE CAST(round((julianday("next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END >= 253402214400000 THEN 'SENT_SILENT'
        WHEN "status" = 'FAILED'
        AND CASE
        WHEN typeof("next_attempt_at") IN ('integer', 'real')
        OR "next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST("next_attempt_at" AS INTEGER)
        ELSE CAST(round((julianday("next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END >= 253402214400000 THEN 'FAILED_SILENT'
        WHEN "status" = 'INVALID' THEN 'INVALID'
        WHEN "status" = 'ACCEPTED'
        AND COALESCE("attempts", 0) >= 5 THEN 'no attempts left'
        WHEN "status" = 'READY'
        AND COALESCE("attempts", 0) >= 5 THEN 'no attempts left'
        WHEN "status" = 'SENT'
        AND (
          CASE
            WHEN typeof("next_attempt_at") IN ('integer', 'real')
            OR "next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST("next_attempt_at" AS INTEGER)
            ELSE CAST(round((julianday("next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
            END IS NULL
            OR CASE
            WHEN typeof("next_attempt_at") IN ('integer', 'real')
            OR "next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST("next_attempt_at" AS INTEGER)
            ELSE CAST(round((julianday("next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
            END < 253402214400000
        )
        AND COALESCE("attempts", 0) >= 5 THEN 'no attempts left'
        WHEN "status" = 'FAILED'
        AND (
          CASE
            WHEN typeof("next_attempt_at") IN ('integer', 'real')
            OR "next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST("next_attempt_at" AS INTEGER)
            ELSE CAST(round((julianday("next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
            END IS NULL
            OR CASE
            WHEN typeof("next_attempt_at") IN ('integer', 'real')
            OR "next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST("next_attempt_at" AS INTEGER)
            ELSE CAST(round((julianday("next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
            END < 253402214400000
        )
        AND COALESCE("attempts", 0) >= 5 THEN 'no attempts left'
        END
    ),
      "id"
  )
  WHERE CASE
  WHEN "status" = 'SENT'
  AND CASE
  WHEN typeof("next_attempt_at") IN ('integer', 'real')
  OR "next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST("next_attempt_at" AS INTEGER)
  ELSE CAST(round((julianday("next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
  END >= 253402214400000 THEN 'SENT_SILENT'
  WHEN "status" = 'FAILED'
  AND CASE
  WHEN typeof("next_attempt_at") IN ('integer', 'real')
  OR "next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST("next_attempt_at" AS INTEGER)
  ELSE CAST(round((julianday("next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
  END >= 253402214400000 THEN 'FAILED_SILENT'
  WHEN "status" = 'INVALID' THEN 'INVALID'
  WHEN "status" = 'ACCEPTED'
  AND COALESCE("attempts", 0) >= 5 THEN 'no attempts left'
  WHEN "status" = 'READY'
  AND COALESCE("attempts", 0) >= 5 THEN 'no attempts left'
  WHEN "status" = 'SENT'
  AND (
    CASE
      WHEN typeof("next_attempt_at") IN ('integer', 'real')
      OR "next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST("next_attempt_at" AS INTEGER)
      ELSE CAST(round((julianday("next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END IS NULL
      OR CASE
      WHEN typeof("next_attempt_at") IN ('integer', 'real')
      OR "next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST("next_attempt_at" AS INTEGER)
      ELSE CAST(round((julianday("next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END < 253402214400000
  )
  AND COALESCE("attempts", 0) >= 5 THEN 'no attempts left'
  WHEN "status" = 'FAILED'
  AND (
    CASE
      WHEN typeof("next_attempt_at") IN ('integer', 'real')
      OR "next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST("next_attempt_at" AS INTEGER)
      ELSE CAST(round((julianday("next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END IS NULL
      OR CASE
      WHEN typeof("next_attempt_at") IN ('integer', 'real')
      OR "next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST("next_attempt_at" AS INTEGER)
      ELSE CAST(round((julianday("next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END < 253402214400000
  )
  AND COALESCE("attempts", 0) >= 5 THEN 'no attempts left'
  END IS NOT NULL;

-- create
CREATE INDEX IF NOT EXISTS "emails_sent_callback_claim"
  ON "emails" (
    (
      CASE
        WHEN typeof("updated_at") IN ('integer', 'real')
        OR "updated_at" NOT GLOB '*[^0-9]*' THEN CAST("updated_at" AS INTEGER)
        ELSE CAST(round((julianday("updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END
    ),
      "id"
  )
  WHERE "status" = 'SENT'
  AND (
    CASE
      WHEN typeof("next_attempt_at") IN ('integer', 'real')
      OR "next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST("next_attempt_at" AS INTEGER)
      ELSE CAST(round((julianday("next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END IS NULL
      OR CASE
      WHEN typeof("next_attempt_at") IN ('integer', 'real')
      OR "next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST("next_attempt_at" AS INTEGER)
      ELSE CAST(round((julianday("next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END < 253402214400000
  );

-- create
CREATE INDEX IF NOT EXISTS "emails_failed_callback_claim"
  ON "emails" (
    (
      CASE
        WHEN typeof("updated_at") IN ('integer', 'real')
        OR "updated_at" NOT GLOB '*[^0-9]*' THEN CAST("updated_at" AS INTEGER)
        ELSE CAST(round((julianday("updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END
    ),
      "id"
  )
  WHERE "status" = 'FAILED'
  AND (
    CASE
      WHEN typeof("next_attempt_at") IN ('integer', 'real')
      OR "next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST("next_attempt_at" AS INTEGER)
      ELSE CAST(round((julianday("next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END IS NULL
      OR CASE
      WHEN typeof("next_attempt_at") IN ('integer', 'real')
      OR "next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST("next_attempt_at" AS INTEGER)
      ELSE CAST(round((julianday("next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END < 253402214400000
  );

-- intake: layout Layout { integer_id: false, fences: 1, claim_time: None, pool: 7, fields: ["eml_path",
--   "payload_path", "reason"], joined: [] }

-- intake: claim 1, step 1: [Limit] -> Keys
SELECT CAST(t."id" AS TEXT)
FROM "emails" AS t
WHERE t."status" = 'ACCEPTED'
  AND COALESCE(
    CASE
      WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
      OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
      ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END,
      0
  ) <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
    + 0
  AND COALESCE(t."attempts", 0) < 5
ORDER BY CASE
  WHEN typeof(t."updated_at") IN ('integer', 'real')
  OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
  ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
  END,
  t."id"
LIMIT ?1;

-- intake: claim 1, step 2: [Owner, Held] -> Rows
UPDATE "emails" AS t SET
  "status" = 'INTAKING',
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*' THEN CASE
    WHEN CASE
    WHEN typeof(t."updated_at") IN ('integer', 'real')
    OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
    ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END
      BETWEEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 - 1
      AND CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 + 60000
      THEN CASE
    WHEN typeof(t."updated_at") IN ('integer', 'real')
    OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
    ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END + 1
    ELSE CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    END
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
      THEN strftime(
        '%Y-%m-%d %H:%M:%f',
          (
            CASE
              WHEN CASE
              WHEN typeof(t."updated_at") IN ('integer', 'real')
              OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
              ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
              END
                BETWEEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 - 1
                AND CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 + 60000
                THEN CASE
              WHEN typeof(t."updated_at") IN ('integer', 'real')
              OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
              ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
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
            WHEN typeof(t."updated_at") IN ('integer', 'real')
            OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
            ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
            END
              BETWEEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 - 1
              AND CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 + 60000
              THEN CASE
            WHEN typeof(t."updated_at") IN ('integer', 'real')
            OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
            ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
            END + 1
            ELSE CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
            END
        )
          / 1000.0,
        'unixepoch'
    )
    END,
  "claimed_by" = ?1,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2))
RETURNING
  CAST("id" AS TEXT),
  CAST("version" AS TEXT),
  CAST(COALESCE("attempts", 0) AS INTEGER),
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
    COALESCE(length(CAST("eml_file_path" AS BLOB)), 0)
      + COALESCE(length(CAST("payload_file_path" AS BLOB)), 0)
      + COALESCE(length(CAST("reason" AS BLOB)), 0) AS INTEGER
  ),
  CASE WHEN length(CAST("eml_file_path" AS BLOB)) <= 65536 THEN "eml_file_path" END,
  CASE WHEN length(CAST("payload_file_path" AS BLOB)) <= 65536 THEN "payload_file_path" END,
  CASE WHEN length(CAST("reason" AS BLOB)) <= 65536 THEN "reason" END;

-- intake: claim 1, step 3: [Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'INTAKING',
  NULL,
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1));

-- intake: load: [Ids] -> Other
SELECT
  CAST(t."id" AS TEXT),
  t."eml_file_path",
  t."payload_file_path",
  t."reason"
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1));

-- intake: settle delivered, uniform, step 1: [One(Outcome("eml_path")), Ids, One(Fence(0))] -> Keys
UPDATE "emails" AS t SET
  "eml_file_path" = COALESCE(?1, t."eml_file_path"),
  "status" = 'READY',
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
  "attempts" = 0,
  "reason" = NULL,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2))
  AND +t."status" = 'INTAKING'
  AND CAST(t."version" AS TEXT) IS ?3
RETURNING CAST("id" AS TEXT);

-- intake: settle delivered, uniform, step 2: [One(Reason), Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'READY',
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2));

-- intake: settle delivered, each, step 1: [Rows([Id, Fence(0), Outcome("eml_path")])] -> Keys
UPDATE "emails" AS t SET
  "eml_file_path" = COALESCE(v."o_eml_path", t."eml_file_path"),
  "status" = 'READY',
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
  "attempts" = 0,
  "reason" = NULL,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
    CAST(value->>'id' AS TEXT) AS "id",
    CAST(value->>'f0' AS TEXT) AS "f0",
    value->>'o_eml_path' AS "o_eml_path"
  FROM json_each(?1)
) AS v
WHERE t."id" = v."id"
  AND +t."status" = 'INTAKING'
  AND CAST(t."version" AS TEXT) IS v."f0"
RETURNING CAST("id" AS TEXT);

-- intake: settle delivered, each, step 2: [Rows([Reason, Id]), Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'READY',
  v."reason",
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
FROM "emails" AS t
  JOIN (SELECT value->>'reason' AS "reason", CAST(value->>'id' AS TEXT) AS "id" FROM json_each(?1)) AS v
  ON t."id" = v."id"
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2));

-- intake: settle retry, uniform, step 1: [One(Delay), One(Reason), Ids, One(Fence(0))] -> Keys
UPDATE "emails" AS t SET
  "status" = 'ACCEPTED',
  "claimed_by" = NULL,
  "next_attempt_at" = CASE
    WHEN typeof(COALESCE(t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
        + CAST(round(?1 * 1000.0) AS INTEGER)
        + 0
    WHEN COALESCE(t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
      THEN strftime(
        '%Y-%m-%d %H:%M:%f',
          (
            CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
              + CAST(round(?1 * 1000.0) AS INTEGER)
              + 0
          )
            / 1000.0,
          'unixepoch'
      )
    ELSE strftime(
      '%Y-%m-%dT%H:%M:%fZ',
        (
          CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
            + CAST(round(?1 * 1000.0) AS INTEGER)
            + 0
        )
          / 1000.0,
        'unixepoch'
    )
    END,
  "attempts" = COALESCE(t."attempts", 0) + 1,
  "reason" = ?2,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?3))
  AND +t."status" = 'INTAKING'
  AND CAST(t."version" AS TEXT) IS ?4
RETURNING CAST("id" AS TEXT);

-- intake: settle retry, uniform, step 2: [One(Reason), Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'ACCEPTED',
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2));

-- intake: settle retry, each, step 1: [Rows([Id, Fence(0), Delay, Reason])] -> Keys
UPDATE "emails" AS t SET
  "status" = 'ACCEPTED',
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
  "attempts" = COALESCE(t."attempts", 0) + 1,
  "reason" = v."reason",
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
    CAST(value->>'id' AS TEXT) AS "id",
    CAST(value->>'f0' AS TEXT) AS "f0",
    value->>'delay' AS "delay",
    value->>'reason' AS "reason"
  FROM json_each(?1)
) AS v
WHERE t."id" = v."id"
  AND +t."status" = 'INTAKING'
  AND CAST(t."version" AS TEXT) IS v."f0"
RETURNING CAST("id" AS TEXT);

-- intake: settle retry, each, step 2: [Rows([Reason, Id]), Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'ACCEPTED',
  v."reason",
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
FROM "emails" AS t
  JOIN (SELECT value->>'reason' AS "reason", CAST(value->>'id' AS TEXT) AS "id" FROM json_each(?1)) AS v
  ON t."id" = v."id"
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2));

-- intake: settle dead, uniform, step 1: [One(Reason), Ids, One(Fence(0))] -> Keys
UPDATE "emails" AS t SET
  "status" = 'INVALID',
  "claimed_by" = NULL,
  "attempts" = COALESCE(t."attempts", 0) + 1,
  "reason" = ?1,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2))
  AND +t."status" = 'INTAKING'
  AND CAST(t."version" AS TEXT) IS ?3
RETURNING CAST("id" AS TEXT);

-- intake: settle dead, uniform, step 2: [One(Reason), Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'INVALID',
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2));

-- intake: settle dead, each, step 1: [Rows([Id, Fence(0), Reason])] -> Keys
UPDATE "emails" AS t SET
  "status" = 'INVALID',
  "claimed_by" = NULL,
  "attempts" = COALESCE(t."attempts", 0) + 1,
  "reason" = v."reason",
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
    CAST(value->>'id' AS TEXT) AS "id",
    CAST(value->>'f0' AS TEXT) AS "f0",
    value->>'reason' AS "reason"
  FROM json_each(?1)
) AS v
WHERE t."id" = v."id"
  AND +t."status" = 'INTAKING'
  AND CAST(t."version" AS TEXT) IS v."f0"
RETURNING CAST("id" AS TEXT);

-- intake: settle dead, each, step 2: [Rows([Reason, Id]), Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'INVALID',
  v."reason",
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
FROM "emails" AS t
  JOIN (SELECT value->>'reason' AS "reason", CAST(value->>'id' AS TEXT) AS "id" FROM json_each(?1)) AS v
  ON t."id" = v."id"
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2));

-- intake: settle rejected, uniform, step 1: [One(Reason), Ids, One(Fence(0))] -> Keys
UPDATE "emails" AS t SET
  "status" = 'INVALID',
  "claimed_by" = NULL,
  "attempts" = COALESCE(t."attempts", 0) + 1,
  "reason" = ?1,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2))
  AND +t."status" = 'INTAKING'
  AND CAST(t."version" AS TEXT) IS ?3
RETURNING CAST("id" AS TEXT);

-- intake: settle rejected, uniform, step 2: [One(Reason), Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'INVALID',
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2));

-- intake: settle rejected, each, step 1: [Rows([Id, Fence(0), Reason])] -> Keys
UPDATE "emails" AS t SET
  "status" = 'INVALID',
  "claimed_by" = NULL,
  "attempts" = COALESCE(t."attempts", 0) + 1,
  "reason" = v."reason",
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
    CAST(value->>'id' AS TEXT) AS "id",
    CAST(value->>'f0' AS TEXT) AS "f0",
    value->>'reason' AS "reason"
  FROM json_each(?1)
) AS v
WHERE t."id" = v."id"
  AND +t."status" = 'INTAKING'
  AND CAST(t."version" AS TEXT) IS v."f0"
RETURNING CAST("id" AS TEXT);

-- intake: settle rejected, each, step 2: [Rows([Reason, Id]), Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'INVALID',
  v."reason",
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
FROM "emails" AS t
  JOIN (SELECT value->>'reason' AS "reason", CAST(value->>'id' AS TEXT) AS "id" FROM json_each(?1)) AS v
  ON t."id" = v."id"
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2));

-- intake: settle skipped, uniform, step 1: [One(Reason), Ids, One(Fence(0))] -> Keys
UPDATE "emails" AS t SET
  "status" = 'INVALID',
  "claimed_by" = NULL,
  "attempts" = COALESCE(t."attempts", 0) + 1,
  "reason" = ?1,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2))
  AND +t."status" = 'INTAKING'
  AND CAST(t."version" AS TEXT) IS ?3
RETURNING CAST("id" AS TEXT);

-- intake: settle skipped, uniform, step 2: [One(Reason), Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'INVALID',
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2));

-- intake: settle skipped, each, step 1: [Rows([Id, Fence(0), Reason])] -> Keys
UPDATE "emails" AS t SET
  "status" = 'INVALID',
  "claimed_by" = NULL,
  "attempts" = COALESCE(t."attempts", 0) + 1,
  "reason" = v."reason",
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
    CAST(value->>'id' AS TEXT) AS "id",
    CAST(value->>'f0' AS TEXT) AS "f0",
    value->>'reason' AS "reason"
  FROM json_each(?1)
) AS v
WHERE t."id" = v."id"
  AND +t."status" = 'INTAKING'
  AND CAST(t."version" AS TEXT) IS v."f0"
RETURNING CAST("id" AS TEXT);

-- intake: settle skipped, each, step 2: [Rows([Reason, Id]), Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'INVALID',
  v."reason",
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
FROM "emails" AS t
  JOIN (SELECT value->>'reason' AS "reason", CAST(value->>'id' AS TEXT) AS "id" FROM json_each(?1)) AS v
  ON t."id" = v."id"
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2));

-- intake: settle deferred, uniform, step 1: [One(Delay), Ids, One(Fence(0))] -> Keys
UPDATE "emails" AS t SET
  "status" = 'ACCEPTED',
  "claimed_by" = NULL,
  "next_attempt_at" = CASE
    WHEN typeof(COALESCE(t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
        + CAST(round(?1 * 1000.0) AS INTEGER)
        + 0
    WHEN COALESCE(t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
      THEN strftime(
        '%Y-%m-%d %H:%M:%f',
          (
            CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
              + CAST(round(?1 * 1000.0) AS INTEGER)
              + 0
          )
            / 1000.0,
          'unixepoch'
      )
    ELSE strftime(
      '%Y-%m-%dT%H:%M:%fZ',
        (
          CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
            + CAST(round(?1 * 1000.0) AS INTEGER)
            + 0
        )
          / 1000.0,
        'unixepoch'
    )
    END,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2))
  AND +t."status" = 'INTAKING'
  AND CAST(t."version" AS TEXT) IS ?3
RETURNING CAST("id" AS TEXT);

-- intake: settle deferred, uniform, step 2: [One(Reason), Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'ACCEPTED',
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2));

-- intake: settle deferred, each, step 1: [Rows([Id, Fence(0), Delay])] -> Keys
UPDATE "emails" AS t SET
  "status" = 'ACCEPTED',
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
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
    CAST(value->>'id' AS TEXT) AS "id",
    CAST(value->>'f0' AS TEXT) AS "f0",
    value->>'delay' AS "delay"
  FROM json_each(?1)
) AS v
WHERE t."id" = v."id"
  AND +t."status" = 'INTAKING'
  AND CAST(t."version" AS TEXT) IS v."f0"
RETURNING CAST("id" AS TEXT);

-- intake: settle deferred, each, step 2: [Rows([Reason, Id]), Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'ACCEPTED',
  v."reason",
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
FROM "emails" AS t
  JOIN (SELECT value->>'reason' AS "reason", CAST(value->>'id' AS TEXT) AS "id" FROM json_each(?1)) AS v
  ON t."id" = v."id"
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2));

-- intake: settle released, uniform, step 1: [Ids, One(Fence(0))] -> Keys
UPDATE "emails" AS t SET
  "status" = 'ACCEPTED',
  "claimed_by" = NULL,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1))
  AND +t."status" = 'INTAKING'
  AND CAST(t."version" AS TEXT) IS ?2
RETURNING CAST("id" AS TEXT);

-- intake: settle released, uniform, step 2: [One(Reason), Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'ACCEPTED',
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2));

-- intake: settle released, each, step 1: [Rows([Id, Fence(0)])] -> Keys
UPDATE "emails" AS t SET
  "status" = 'ACCEPTED',
  "claimed_by" = NULL,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
FROM (SELECT CAST(value->>'id' AS TEXT) AS "id", CAST(value->>'f0' AS TEXT) AS "f0" FROM json_each(?1)) AS v
WHERE t."id" = v."id"
  AND +t."status" = 'INTAKING'
  AND CAST(t."version" AS TEXT) IS v."f0"
RETURNING CAST("id" AS TEXT);

-- intake: settle released, each, step 2: [Rows([Reason, Id]), Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'ACCEPTED',
  v."reason",
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
FROM "emails" AS t
  JOIN (SELECT value->>'reason' AS "reason", CAST(value->>'id' AS TEXT) AS "id" FROM json_each(?1)) AS v
  ON t."id" = v."id"
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2));

-- intake: extend: [Rows([Id, Fence(0)])] -> Leases
UPDATE "emails" AS t SET
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*' THEN CASE
    WHEN CASE
    WHEN typeof(t."updated_at") IN ('integer', 'real')
    OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
    ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END
      BETWEEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 - 1
      AND CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 + 60000
      THEN CASE
    WHEN typeof(t."updated_at") IN ('integer', 'real')
    OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
    ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END + 1
    ELSE CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    END
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
      THEN strftime(
        '%Y-%m-%d %H:%M:%f',
          (
            CASE
              WHEN CASE
              WHEN typeof(t."updated_at") IN ('integer', 'real')
              OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
              ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
              END
                BETWEEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 - 1
                AND CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 + 60000
                THEN CASE
              WHEN typeof(t."updated_at") IN ('integer', 'real')
              OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
              ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
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
            WHEN typeof(t."updated_at") IN ('integer', 'real')
            OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
            ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
            END
              BETWEEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 - 1
              AND CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 + 60000
              THEN CASE
            WHEN typeof(t."updated_at") IN ('integer', 'real')
            OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
            ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
            END + 1
            ELSE CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
            END
        )
          / 1000.0,
        'unixepoch'
    )
    END,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END
FROM (SELECT CAST(value->>'id' AS TEXT) AS "id", CAST(value->>'f0' AS TEXT) AS "f0" FROM json_each(?1)) AS v
WHERE t."id" = v."id"
  AND +t."status" = 'INTAKING'
  AND CAST(t."version" AS TEXT) IS v."f0"
RETURNING
  CAST("id" AS TEXT),
  CAST("version" AS TEXT);

-- intake: leases after a lost extension: [Ids, Owner] -> Leases
SELECT
  CAST(t."id" AS TEXT),
  CAST(t."version" AS TEXT)
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1))
  AND +t."status" = 'INTAKING'
  AND t."claimed_by" = ?2;

-- intake: stamp: [Limit] -> Keys
UPDATE "emails" AS t SET "updated_at" = CASE
  WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
  OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
    THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
  WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
FROM "emails" AS t
WHERE t."status" = 'INTAKING'
  AND (
    t."updated_at" IS NOT NULL
      AND CASE
      WHEN typeof(t."updated_at") IN ('integer', 'real')
      OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
      ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END IS NULL
  )
LIMIT ?1)
RETURNING CAST("id" AS TEXT);

-- intake: leases that still hold: [Rows([Id, Fence(0)])] -> Keys
SELECT CAST(t."id" AS TEXT)
FROM (
  SELECT
    CAST(value->>'id' AS TEXT) AS "id",
    CAST(value->>'f0' AS TEXT) AS "f0"
  FROM json_each(?1)
) AS v CROSS
  JOIN "emails" AS t
WHERE t."id" = v."id"
  AND +t."status" = 'INTAKING'
  AND CAST(t."version" AS TEXT) IS v."f0"
  AND (
    CASE
      WHEN typeof(t."updated_at") IN ('integer', 'real')
      OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
      ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END < CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) - 600000
  ) IS NOT TRUE;

-- intake: look for rows of a lost claim: [Owner] -> Keys
SELECT CAST(t."id" AS TEXT)
FROM "emails" AS t
WHERE t."status" = 'INTAKING'
  AND t."claimed_by" = ?1;

-- intake: release rows of a lost claim, step 1: [Ids, Owner] -> Keys
UPDATE "emails" AS t SET
  "status" = 'ACCEPTED',
  "claimed_by" = NULL,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1))
  AND +t."status" = 'INTAKING'
  AND t."claimed_by" = ?2)
RETURNING CAST("id" AS TEXT);

-- intake: release rows of a lost claim, step 2: [Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'ACCEPTED',
  NULL,
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1));

-- intake: look for expired leases: [Limit] -> Other
SELECT
  CAST(t."id" AS TEXT),
  CAST(t."version" AS TEXT),
  CASE WHEN COALESCE(t."attempts", 0) + 1 >= 5 THEN 1 ELSE 0 END,
  5
FROM "emails" AS t
WHERE t."status" = 'INTAKING'
  AND CASE
    WHEN typeof(t."updated_at") IN ('integer', 'real')
    OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
    ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END < CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) - 600000
ORDER BY CASE
  WHEN typeof(t."updated_at") IN ('integer', 'real')
  OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
  ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
  END
LIMIT ?1;

-- intake: reclaim, free, step 1: [Ids] -> Keys
UPDATE "emails" AS t SET
  "status" = 'ACCEPTED',
  "claimed_by" = NULL,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1))
  AND +t."status" = 'INTAKING'
  AND CASE
    WHEN typeof(t."updated_at") IN ('integer', 'real')
    OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
    ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END < CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) - 600000)
RETURNING CAST("id" AS TEXT);

-- intake: reclaim, free, step 2: [Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'ACCEPTED',
  NULL,
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1));

-- intake: reclaim, spared, step 1: [Ids] -> Keys
UPDATE "emails" AS t SET
  "status" = 'ACCEPTED',
  "claimed_by" = NULL,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1))
  AND +t."status" = 'INTAKING'
  AND CASE
    WHEN typeof(t."updated_at") IN ('integer', 'real')
    OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
    ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END < CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) - 600000)
RETURNING CAST("id" AS TEXT);

-- intake: reclaim, spared, step 2: [Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'ACCEPTED',
  NULL,
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1));

-- intake: reclaim, spared, step 3: [Held] -> Nothing
INSERT INTO postrider_crashes (place, row_id, crashes, crashed_at)
SELECT
  'emails/intake',
  CAST(value AS TEXT),
  1,
  strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
FROM json_each(?1) WHERE true
ON CONFLICT (place, row_id) DO UPDATE SET
  crashes = crashes + 1,
  crashed_at = excluded.crashed_at;

-- intake: reclaim, charged, step 1: [Ids] -> Keys
UPDATE "emails" AS t SET
  "status" = 'ACCEPTED',
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
  "attempts" = COALESCE(t."attempts", 0) + 1,
  "reason" = 'lease expired: the worker that held it is gone',
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1))
  AND +t."status" = 'INTAKING'
  AND CASE
    WHEN typeof(t."updated_at") IN ('integer', 'real')
    OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
    ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END < CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) - 600000)
RETURNING CAST("id" AS TEXT);

-- intake: reclaim, charged, step 2: [Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'ACCEPTED',
  'lease expired: the worker that held it is gone',
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1));

-- intake: reclaim, charged, step 3: [Held] -> Nothing
INSERT INTO postrider_crashes (place, row_id, crashes, crashed_at)
SELECT
  'emails/intake',
  CAST(value AS TEXT),
  1,
  strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
FROM json_each(?1) WHERE true
ON CONFLICT (place, row_id) DO UPDATE SET
  crashes = crashes + 1,
  crashed_at = excluded.crashed_at;

-- intake: reclaim, dead, step 1: [Ids] -> Keys
UPDATE "emails" AS t SET
  "status" = 'INVALID',
  "claimed_by" = NULL,
  "attempts" = COALESCE(t."attempts", 0) + 1,
  "reason" = 'poison row: its workers crashed repeatedly, also when it was delivered alone',
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1))
  AND +t."status" = 'INTAKING'
  AND CASE
    WHEN typeof(t."updated_at") IN ('integer', 'real')
    OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
    ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END < CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) - 600000)
RETURNING CAST("id" AS TEXT);

-- intake: reclaim, dead, step 2: [Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'INVALID',
  'poison row: its workers crashed repeatedly, also when it was delivered alone',
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1));

-- intake: reclaim, dead, step 3: [Held] -> Nothing
DELETE
  FROM postrider_crashes
  WHERE place = 'emails/intake'
  AND row_id IN (SELECT CAST(value AS TEXT) FROM json_each(?1));

-- intake: spent, step 1: [Limit] -> Keys
UPDATE "emails" AS t SET
  "reason" = COALESCE(t."reason", 'no attempts left'),
  "status" = 'INVALID',
  "claimed_by" = NULL,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
FROM "emails" AS t
WHERE t."status" = 'ACCEPTED'
  AND CASE
    WHEN t."status" = 'SENT'
    AND CASE
    WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
    OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
    ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END >= 253402214400000 THEN 'SENT_SILENT'
    WHEN t."status" = 'FAILED'
    AND CASE
    WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
    OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
    ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END >= 253402214400000 THEN 'FAILED_SILENT'
    WHEN t."status" = 'INVALID' THEN 'INVALID'
    WHEN t."status" = 'ACCEPTED'
    AND COALESCE(t."attempts", 0) >= 5 THEN 'no attempts left'
    WHEN t."status" = 'READY'
    AND COALESCE(t."attempts", 0) >= 5 THEN 'no attempts left'
    WHEN t."status" = 'SENT'
    AND (
      CASE
        WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
        OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
        ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END IS NULL
        OR CASE
        WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
        OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
        ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END < 253402214400000
    )
    AND COALESCE(t."attempts", 0) >= 5 THEN 'no attempts left'
    WHEN t."status" = 'FAILED'
    AND (
      CASE
        WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
        OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
        ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END IS NULL
        OR CASE
        WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
        OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
        ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END < 253402214400000
    )
    AND COALESCE(t."attempts", 0) >= 5 THEN 'no attempts left'
    END = 'no attempts left'
  AND COALESCE(t."attempts", 0) >= 5
LIMIT ?1)
RETURNING CAST("id" AS TEXT);

-- intake: spent, step 2: [Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'INVALID',
  'no attempts left',
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1));

-- intake: next due: [] -> Other
SELECT CAST(
  COALESCE(
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
      ),
      0
  ) AS INTEGER
) AS w
FROM "emails" AS t
WHERE t."status" = 'ACCEPTED'
  AND COALESCE(t."attempts", 0) < 5
ORDER BY COALESCE(
  CASE
    WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
    OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
    ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END,
    0
)
LIMIT 1;

-- intake: lag: [] -> Other
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
    FROM "emails" AS t
    WHERE t."status" = 'ACCEPTED'
    AND COALESCE(
      CASE
        WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
        OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
        ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END,
        0
    ) <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
      + 0
    AND COALESCE(t."attempts", 0) < 5
    ORDER BY CASE
    WHEN typeof(t."updated_at") IN ('integer', 'real')
    OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
    ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END
    LIMIT 1
),
  (
    SELECT (
      (
        (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0) - CASE
          WHEN typeof(t."updated_at") IN ('integer', 'real')
          OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
          ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
          END
      )
        * 1000
    )
      / 1000000.0
      FROM "emails" AS t
      WHERE t."status" = 'INTAKING'
      ORDER BY CASE
      WHEN typeof(t."updated_at") IN ('integer', 'real')
      OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
      ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END
      LIMIT 1
  );

-- intake: census SENT: [] -> Other
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
                  t."status",
                  t."next_attempt_at"
                FROM "emails" AS t
                  WHERE t."status" = 'SENT'
                  AND (
                    CASE
                      WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
                      OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
                      ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
                      END IS NULL
                      OR CASE
                      WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
                      OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
                      ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
                      END < 253402214400000
                  )
                  ORDER BY CASE
                  WHEN typeof(t."updated_at") IN ('integer', 'real')
                  OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
                  ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
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
                t."status",
                t."next_attempt_at"
              FROM "emails" AS t
                WHERE t."status" = 'SENT'
                AND (
                  CASE
                    WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
                    OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
                    ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
                    END IS NULL
                    OR CASE
                    WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
                    OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
                    ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
                    END < 253402214400000
                )
                ORDER BY CASE
                WHEN typeof(t."updated_at") IN ('integer', 'real')
                OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
                ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
                END,
                t."id" LIMIT 50000
            ) AS p
        ) AS t
    

WHERE t."status" = 'SENT'
  AND (
    CASE
      WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
      OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
      ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END IS NULL
      OR CASE
      WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
      OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
      ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END < 253402214400000
  )
  LIMIT 10001) AS counted) AS c;

-- intake: census SENT_SILENT: [] -> Other
SELECT
  CAST(COUNT(*) AS INTEGER),
  0
FROM (
  SELECT 1 AS one
    FROM "emails" AS t
    WHERE CASE
    WHEN t."status" = 'SENT'
    AND CASE
    WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
    OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
    ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END >= 253402214400000 THEN 'SENT_SILENT'
    WHEN t."status" = 'FAILED'
    AND CASE
    WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
    OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
    ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END >= 253402214400000 THEN 'FAILED_SILENT'
    WHEN t."status" = 'INVALID' THEN 'INVALID'
    WHEN t."status" = 'ACCEPTED'
    AND COALESCE(t."attempts", 0) >= 5 THEN 'no attempts left'
    WHEN t."status" = 'READY'
    AND COALESCE(t."attempts", 0) >= 5 THEN 'no attempts left'
    WHEN t."status" = 'SENT'
    AND (
      CASE
        WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
        OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
        ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END IS NULL
        OR CASE
        WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
        OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
        ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END < 253402214400000
    )
    AND COALESCE(t."attempts", 0) >= 5 THEN 'no attempts left'
    WHEN t."status" = 'FAILED'
    AND (
      CASE
        WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
        OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
        ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END IS NULL
        OR CASE
        WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
        OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
        ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END < 253402214400000
    )
    AND COALESCE(t."attempts", 0) >= 5 THEN 'no attempts left'
    END = 'SENT_SILENT'
    AND t."status" = 'SENT'
    AND CASE
    WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
    OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
    ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END >= 253402214400000
    LIMIT 10001
) AS counted;

-- intake: census FAILED: [] -> Other
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
                  t."status",
                  t."next_attempt_at"
                FROM "emails" AS t
                  WHERE t."status" = 'FAILED'
                  AND (
                    CASE
                      WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
                      OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
                      ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
                      END IS NULL
                      OR CASE
                      WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
                      OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
                      ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
                      END < 253402214400000
                  )
                  ORDER BY CASE
                  WHEN typeof(t."updated_at") IN ('integer', 'real')
                  OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
                  ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
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
                t."status",
                t."next_attempt_at"
              FROM "emails" AS t
                WHERE t."status" = 'FAILED'
                AND (
                  CASE
                    WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
                    OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
                    ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
                    END IS NULL
                    OR CASE
                    WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
                    OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
                    ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
                    END < 253402214400000
                )
                ORDER BY CASE
                WHEN typeof(t."updated_at") IN ('integer', 'real')
                OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
                ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
                END,
                t."id" LIMIT 50000
            ) AS p
        ) AS t
    

WHERE t."status" = 'FAILED'
  AND (
    CASE
      WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
      OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
      ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END IS NULL
      OR CASE
      WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
      OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
      ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END < 253402214400000
  )
  LIMIT 10001) AS counted) AS c;

-- intake: census FAILED_SILENT: [] -> Other
SELECT
  CAST(COUNT(*) AS INTEGER),
  0
FROM (
  SELECT 1 AS one
    FROM "emails" AS t
    WHERE CASE
    WHEN t."status" = 'SENT'
    AND CASE
    WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
    OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
    ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END >= 253402214400000 THEN 'SENT_SILENT'
    WHEN t."status" = 'FAILED'
    AND CASE
    WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
    OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
    ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END >= 253402214400000 THEN 'FAILED_SILENT'
    WHEN t."status" = 'INVALID' THEN 'INVALID'
    WHEN t."status" = 'ACCEPTED'
    AND COALESCE(t."attempts", 0) >= 5 THEN 'no attempts left'
    WHEN t."status" = 'READY'
    AND COALESCE(t."attempts", 0) >= 5 THEN 'no attempts left'
    WHEN t."status" = 'SENT'
    AND (
      CASE
        WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
        OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
        ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END IS NULL
        OR CASE
        WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
        OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
        ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END < 253402214400000
    )
    AND COALESCE(t."attempts", 0) >= 5 THEN 'no attempts left'
    WHEN t."status" = 'FAILED'
    AND (
      CASE
        WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
        OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
        ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END IS NULL
        OR CASE
        WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
        OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
        ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END < 253402214400000
    )
    AND COALESCE(t."attempts", 0) >= 5 THEN 'no attempts left'
    END = 'FAILED_SILENT'
    AND t."status" = 'FAILED'
    AND CASE
    WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
    OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
    ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END >= 253402214400000
    LIMIT 10001
) AS counted;

-- intake: census ACCEPTED: [] -> Other
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
                FROM "emails" AS t
                  WHERE t."status" = 'ACCEPTED'
                  ORDER BY CASE
                  WHEN typeof(t."updated_at") IN ('integer', 'real')
                  OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
                  ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
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
              FROM "emails" AS t
                WHERE t."status" = 'ACCEPTED'
                ORDER BY CASE
                WHEN typeof(t."updated_at") IN ('integer', 'real')
                OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
                ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
                END,
                t."id" LIMIT 50000
            ) AS p
        ) AS t
    

WHERE t."status" = 'ACCEPTED' LIMIT 10001) AS counted) AS c;

-- intake: census INTAKING: [] -> Other
SELECT
  CAST(COUNT(*) AS INTEGER),
  0
FROM (SELECT 1 AS one FROM "emails" AS t WHERE t."status" = 'INTAKING' LIMIT 10001) AS counted;

-- intake: census READY: [] -> Other
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
                FROM "emails" AS t
                  WHERE t."status" = 'READY'
                  ORDER BY CASE
                  WHEN typeof(t."updated_at") IN ('integer', 'real')
                  OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
                  ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
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
              FROM "emails" AS t
                WHERE t."status" = 'READY'
                ORDER BY CASE
                WHEN typeof(t."updated_at") IN ('integer', 'real')
                OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
                ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
                END,
                t."id" LIMIT 50000
            ) AS p
        ) AS t
    

WHERE t."status" = 'READY' LIMIT 10001) AS counted) AS c;

-- intake: census INVALID: [] -> Other
SELECT
  CAST(COUNT(*) AS INTEGER),
  0
FROM (
  SELECT 1 AS one
    FROM "emails" AS t
    WHERE CASE
    WHEN t."status" = 'SENT'
    AND CASE
    WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
    OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
    ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END >= 253402214400000 THEN 'SENT_SILENT'
    WHEN t."status" = 'FAILED'
    AND CASE
    WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
    OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
    ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END >= 253402214400000 THEN 'FAILED_SILENT'
    WHEN t."status" = 'INVALID' THEN 'INVALID'
    WHEN t."status" = 'ACCEPTED'
    AND COALESCE(t."attempts", 0) >= 5 THEN 'no attempts left'
    WHEN t."status" = 'READY'
    AND COALESCE(t."attempts", 0) >= 5 THEN 'no attempts left'
    WHEN t."status" = 'SENT'
    AND (
      CASE
        WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
        OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
        ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END IS NULL
        OR CASE
        WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
        OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
        ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END < 253402214400000
    )
    AND COALESCE(t."attempts", 0) >= 5 THEN 'no attempts left'
    WHEN t."status" = 'FAILED'
    AND (
      CASE
        WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
        OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
        ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END IS NULL
        OR CASE
        WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
        OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
        ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END < 253402214400000
    )
    AND COALESCE(t."attempts", 0) >= 5 THEN 'no attempts left'
    END = 'INVALID'
    AND t."status" = 'INVALID'
    LIMIT 10001
) AS counted;

-- intake: census PROCESSING: [] -> Other
SELECT
  CAST(COUNT(*) AS INTEGER),
  0
FROM (SELECT 1 AS one FROM "emails" AS t WHERE t."status" = 'PROCESSING' LIMIT 10001) AS counted;

-- intake: census CALLING-SENT-CALLBACK: [] -> Other
SELECT
  CAST(COUNT(*) AS INTEGER),
  0
FROM (SELECT 1 AS one FROM "emails" AS t WHERE t."status" = 'CALLING-SENT-CALLBACK' LIMIT 10001) AS counted;

-- intake: census SENT-ACKNOWLEDGED: [] -> Other
SELECT
  CAST(c.n AS INTEGER),
  CAST(
    CASE
      WHEN c.n <= 10000
      AND EXISTS (SELECT 1 FROM "emails" AS t ORDER BY t."id" LIMIT 1 OFFSET 50000) THEN 1
      ELSE 0
      END AS INTEGER
  )
FROM (
  SELECT COUNT(*) AS n
    FROM (SELECT 1 AS one FROM (SELECT t."id", t."status" FROM "emails" AS t ORDER BY t."id" LIMIT 50000) AS t

WHERE t."status" = 'SENT-ACKNOWLEDGED' LIMIT 10001) AS counted) AS c;

-- intake: census CALLING-FAILED-CALLBACK: [] -> Other
SELECT
  CAST(COUNT(*) AS INTEGER),
  0
FROM (SELECT 1 AS one FROM "emails" AS t WHERE t."status" = 'CALLING-FAILED-CALLBACK' LIMIT 10001) AS counted;

-- intake: census FAILED-ACKNOWLEDGED: [] -> Other
SELECT
  CAST(c.n AS INTEGER),
  CAST(
    CASE
      WHEN c.n <= 10000
      AND EXISTS (SELECT 1 FROM "emails" AS t ORDER BY t."id" LIMIT 1 OFFSET 50000) THEN 1
      ELSE 0
      END AS INTEGER
  )
FROM (
  SELECT COUNT(*) AS n
    FROM (SELECT 1 AS one FROM (SELECT t."id", t."status" FROM "emails" AS t ORDER BY t."id" LIMIT 50000) AS t

WHERE t."status" = 'FAILED-ACKNOWLEDGED' LIMIT 10001) AS counted) AS c;

-- intake: requeue ids INVALID, step 1: [Ids] -> Keys
UPDATE "emails" AS t SET
  "status" = 'ACCEPTED',
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
  "attempts" = 0,
  "reason" = NULL,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1))
  AND +t."status" = 'INVALID')
RETURNING CAST("id" AS TEXT);

-- intake: requeue ids INVALID, step 2: [Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'ACCEPTED',
  NULL,
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1));

-- intake: requeue ids SENT_SILENT, step 1: [Ids] -> Keys
UPDATE "emails" AS t SET
  "status" = 'SENT',
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
  "claimed_by" = NULL,
  "attempts" = 0,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1))
  AND +t."status" = 'SENT'
    AND CASE
    WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
    OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
    ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END >= 253402214400000)
RETURNING CAST("id" AS TEXT);

-- intake: requeue ids SENT_SILENT, step 2: [Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'SENT',
  NULL,
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1));

-- intake: requeue ids FAILED_SILENT, step 1: [Ids] -> Keys
UPDATE "emails" AS t SET
  "status" = 'FAILED',
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
  "claimed_by" = NULL,
  "attempts" = 0,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1))
  AND +t."status" = 'FAILED'
    AND CASE
    WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
    OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
    ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END >= 253402214400000)
RETURNING CAST("id" AS TEXT);

-- intake: requeue ids FAILED_SILENT, step 2: [Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'FAILED',
  NULL,
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1));

-- intake: requeue state INVALID, step 1: [Since, Limit] -> Keys
UPDATE "emails" AS t SET
  "status" = 'ACCEPTED',
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
  "attempts" = 0,
  "reason" = NULL,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
FROM "emails" AS t
WHERE t."status" = 'INVALID'
  AND CASE
    WHEN t."status" = 'SENT'
    AND CASE
    WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
    OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
    ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END >= 253402214400000 THEN 'SENT_SILENT'
    WHEN t."status" = 'FAILED'
    AND CASE
    WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
    OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
    ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END >= 253402214400000 THEN 'FAILED_SILENT'
    WHEN t."status" = 'INVALID' THEN 'INVALID'
    WHEN t."status" = 'ACCEPTED'
    AND COALESCE(t."attempts", 0) >= 5 THEN 'no attempts left'
    WHEN t."status" = 'READY'
    AND COALESCE(t."attempts", 0) >= 5 THEN 'no attempts left'
    WHEN t."status" = 'SENT'
    AND (
      CASE
        WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
        OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
        ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END IS NULL
        OR CASE
        WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
        OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
        ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END < 253402214400000
    )
    AND COALESCE(t."attempts", 0) >= 5 THEN 'no attempts left'
    WHEN t."status" = 'FAILED'
    AND (
      CASE
        WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
        OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
        ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END IS NULL
        OR CASE
        WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
        OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
        ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END < 253402214400000
    )
    AND COALESCE(t."attempts", 0) >= 5 THEN 'no attempts left'
    END = 'INVALID'
  AND (
    ?1 IS NULL
      OR CASE
      WHEN typeof(t."updated_at") IN ('integer', 'real')
      OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
      ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END >= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
        + CAST(round((0 - ?1) * 1000.0) AS INTEGER)
        + 0
      OR t."updated_at" IS NULL
      AND CASE
      WHEN typeof(t."updated_at") IN ('integer', 'real')
      OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
      ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END >= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
        + CAST(round((0 - ?1) * 1000.0) AS INTEGER)
        + 0
      OR t."updated_at" IS NULL
      AND t."updated_at" IS NULL
      AND CASE
      WHEN typeof(t."created_at") IN ('integer', 'real')
      OR t."created_at" NOT GLOB '*[^0-9]*' THEN CAST(t."created_at" AS INTEGER)
      ELSE CAST(round((julianday(t."created_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END >= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
        + CAST(round((0 - ?1) * 1000.0) AS INTEGER)
        + 0
  )
LIMIT ?2)
RETURNING CAST("id" AS TEXT);

-- intake: requeue state INVALID, step 2: [Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'ACCEPTED',
  NULL,
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1));

-- intake: requeue state SENT_SILENT, step 1: [Since, Limit] -> Keys
UPDATE "emails" AS t SET
  "status" = 'SENT',
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
  "claimed_by" = NULL,
  "attempts" = 0,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
FROM "emails" AS t
WHERE t."status" = 'SENT'
  AND CASE
  WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
  OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
  ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
  END >= 253402214400000
  AND CASE
    WHEN t."status" = 'SENT'
    AND CASE
    WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
    OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
    ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END >= 253402214400000 THEN 'SENT_SILENT'
    WHEN t."status" = 'FAILED'
    AND CASE
    WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
    OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
    ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END >= 253402214400000 THEN 'FAILED_SILENT'
    WHEN t."status" = 'INVALID' THEN 'INVALID'
    WHEN t."status" = 'ACCEPTED'
    AND COALESCE(t."attempts", 0) >= 5 THEN 'no attempts left'
    WHEN t."status" = 'READY'
    AND COALESCE(t."attempts", 0) >= 5 THEN 'no attempts left'
    WHEN t."status" = 'SENT'
    AND (
      CASE
        WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
        OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
        ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END IS NULL
        OR CASE
        WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
        OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
        ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END < 253402214400000
    )
    AND COALESCE(t."attempts", 0) >= 5 THEN 'no attempts left'
    WHEN t."status" = 'FAILED'
    AND (
      CASE
        WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
        OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
        ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END IS NULL
        OR CASE
        WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
        OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
        ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END < 253402214400000
    )
    AND COALESCE(t."attempts", 0) >= 5 THEN 'no attempts left'
    END = 'SENT_SILENT'
  AND (
    ?1 IS NULL
      OR CASE
      WHEN typeof(t."updated_at") IN ('integer', 'real')
      OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
      ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END >= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
        + CAST(round((0 - ?1) * 1000.0) AS INTEGER)
        + 0
      OR t."updated_at" IS NULL
      AND CASE
      WHEN typeof(t."updated_at") IN ('integer', 'real')
      OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
      ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END >= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
        + CAST(round((0 - ?1) * 1000.0) AS INTEGER)
        + 0
      OR t."updated_at" IS NULL
      AND t."updated_at" IS NULL
      AND CASE
      WHEN typeof(t."created_at") IN ('integer', 'real')
      OR t."created_at" NOT GLOB '*[^0-9]*' THEN CAST(t."created_at" AS INTEGER)
      ELSE CAST(round((julianday(t."created_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END >= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
        + CAST(round((0 - ?1) * 1000.0) AS INTEGER)
        + 0
  )
LIMIT ?2)
RETURNING CAST("id" AS TEXT);

-- intake: requeue state SENT_SILENT, step 2: [Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'SENT',
  NULL,
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1));

-- intake: requeue state FAILED_SILENT, step 1: [Since, Limit] -> Keys
UPDATE "emails" AS t SET
  "status" = 'FAILED',
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
  "claimed_by" = NULL,
  "attempts" = 0,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
FROM "emails" AS t
WHERE t."status" = 'FAILED'
  AND CASE
  WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
  OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
  ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
  END >= 253402214400000
  AND CASE
    WHEN t."status" = 'SENT'
    AND CASE
    WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
    OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
    ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END >= 253402214400000 THEN 'SENT_SILENT'
    WHEN t."status" = 'FAILED'
    AND CASE
    WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
    OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
    ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END >= 253402214400000 THEN 'FAILED_SILENT'
    WHEN t."status" = 'INVALID' THEN 'INVALID'
    WHEN t."status" = 'ACCEPTED'
    AND COALESCE(t."attempts", 0) >= 5 THEN 'no attempts left'
    WHEN t."status" = 'READY'
    AND COALESCE(t."attempts", 0) >= 5 THEN 'no attempts left'
    WHEN t."status" = 'SENT'
    AND (
      CASE
        WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
        OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
        ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END IS NULL
        OR CASE
        WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
        OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
        ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END < 253402214400000
    )
    AND COALESCE(t."attempts", 0) >= 5 THEN 'no attempts left'
    WHEN t."status" = 'FAILED'
    AND (
      CASE
        WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
        OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
        ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END IS NULL
        OR CASE
        WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
        OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
        ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END < 253402214400000
    )
    AND COALESCE(t."attempts", 0) >= 5 THEN 'no attempts left'
    END = 'FAILED_SILENT'
  AND (
    ?1 IS NULL
      OR CASE
      WHEN typeof(t."updated_at") IN ('integer', 'real')
      OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
      ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END >= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
        + CAST(round((0 - ?1) * 1000.0) AS INTEGER)
        + 0
      OR t."updated_at" IS NULL
      AND CASE
      WHEN typeof(t."updated_at") IN ('integer', 'real')
      OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
      ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END >= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
        + CAST(round((0 - ?1) * 1000.0) AS INTEGER)
        + 0
      OR t."updated_at" IS NULL
      AND t."updated_at" IS NULL
      AND CASE
      WHEN typeof(t."created_at") IN ('integer', 'real')
      OR t."created_at" NOT GLOB '*[^0-9]*' THEN CAST(t."created_at" AS INTEGER)
      ELSE CAST(round((julianday(t."created_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END >= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
        + CAST(round((0 - ?1) * 1000.0) AS INTEGER)
        + 0
  )
LIMIT ?2)
RETURNING CAST("id" AS TEXT);

-- intake: requeue state FAILED_SILENT, step 2: [Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'FAILED',
  NULL,
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1));

-- intake: release ids INTAKING, step 1: [Ids] -> Keys
UPDATE "emails" AS t SET
  "status" = 'ACCEPTED',
  "claimed_by" = NULL,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1))
  AND +t."status" = 'INTAKING')
RETURNING CAST("id" AS TEXT);

-- intake: release ids INTAKING, step 2: [Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'ACCEPTED',
  NULL,
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1));

-- intake: release state INTAKING, step 1: [Since, Limit] -> Keys
UPDATE "emails" AS t SET
  "status" = 'ACCEPTED',
  "claimed_by" = NULL,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
FROM "emails" AS t
WHERE t."status" = 'INTAKING'
  AND (
    ?1 IS NULL
      OR CASE
      WHEN typeof(t."updated_at") IN ('integer', 'real')
      OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
      ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END >= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
        + CAST(round((0 - ?1) * 1000.0) AS INTEGER)
        + 0
      OR t."updated_at" IS NULL
      AND CASE
      WHEN typeof(t."updated_at") IN ('integer', 'real')
      OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
      ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END >= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
        + CAST(round((0 - ?1) * 1000.0) AS INTEGER)
        + 0
      OR t."updated_at" IS NULL
      AND t."updated_at" IS NULL
      AND CASE
      WHEN typeof(t."created_at") IN ('integer', 'real')
      OR t."created_at" NOT GLOB '*[^0-9]*' THEN CAST(t."created_at" AS INTEGER)
      ELSE CAST(round((julianday(t."created_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END >= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
        + CAST(round((0 - ?1) * 1000.0) AS INTEGER)
        + 0
  )
LIMIT ?2)
RETURNING CAST("id" AS TEXT);

-- intake: release state INTAKING, step 2: [Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'ACCEPTED',
  NULL,
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1));

-- send: layout Layout { integer_id: false, fences: 1, claim_time: None, pool: 7, fields: ["eml_path",
--   "payload_path", "reason", "results"], joined: [] }

-- send: claim 1, step 1: [Limit] -> Keys
SELECT CAST(t."id" AS TEXT)
FROM "emails" AS t
WHERE t."status" = 'READY'
  AND COALESCE(
    CASE
      WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
      OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
      ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END,
      0
  ) <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
    + 0
  AND COALESCE(t."attempts", 0) < 5
ORDER BY CASE
  WHEN typeof(t."updated_at") IN ('integer', 'real')
  OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
  ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
  END,
  t."id"
LIMIT ?1;

-- send: claim 1, step 2: [Owner, Held] -> Rows
UPDATE "emails" AS t SET
  "status" = 'PROCESSING',
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*' THEN CASE
    WHEN CASE
    WHEN typeof(t."updated_at") IN ('integer', 'real')
    OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
    ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END
      BETWEEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 - 1
      AND CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 + 60000
      THEN CASE
    WHEN typeof(t."updated_at") IN ('integer', 'real')
    OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
    ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END + 1
    ELSE CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    END
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
      THEN strftime(
        '%Y-%m-%d %H:%M:%f',
          (
            CASE
              WHEN CASE
              WHEN typeof(t."updated_at") IN ('integer', 'real')
              OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
              ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
              END
                BETWEEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 - 1
                AND CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 + 60000
                THEN CASE
              WHEN typeof(t."updated_at") IN ('integer', 'real')
              OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
              ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
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
            WHEN typeof(t."updated_at") IN ('integer', 'real')
            OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
            ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
            END
              BETWEEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 - 1
              AND CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 + 60000
              THEN CASE
            WHEN typeof(t."updated_at") IN ('integer', 'real')
            OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
            ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
            END + 1
            ELSE CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
            END
        )
          / 1000.0,
        'unixepoch'
    )
    END,
  "claimed_by" = ?1,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2))
RETURNING
  CAST("id" AS TEXT),
  CAST("version" AS TEXT),
  CAST(COALESCE("attempts", 0) AS INTEGER),
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
    COALESCE(length(CAST("eml_file_path" AS BLOB)), 0)
      + COALESCE(length(CAST("payload_file_path" AS BLOB)), 0)
      + COALESCE(length(CAST("reason" AS BLOB)), 0) AS INTEGER
  ),
  CASE WHEN length(CAST("eml_file_path" AS BLOB)) <= 65536 THEN "eml_file_path" END,
  CASE WHEN length(CAST("payload_file_path" AS BLOB)) <= 65536 THEN "payload_file_path" END,
  CASE WHEN length(CAST("reason" AS BLOB)) <= 65536 THEN "reason" END,
  (
    SELECT r.results
      FROM postrider_recipients AS r
      WHERE r.source = 'emails'
      AND r.row_id = CAST("emails"."id" AS TEXT)
  );

-- send: claim 1, step 3: [Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'PROCESSING',
  NULL,
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1));

-- send: load: [Ids] -> Other
SELECT
  CAST(t."id" AS TEXT),
  t."eml_file_path",
  t."payload_file_path",
  t."reason",
  (
    SELECT r.results
      FROM postrider_recipients AS r
      WHERE r.source = 'emails'
      AND r.row_id = CAST(t."id" AS TEXT)
  )
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1));

-- send: settle delivered, uniform, step 1: [One(Outcome("eml_path")), One(Reason), Ids, One(Fence(0))] ->
--   Keys
UPDATE "emails" AS t SET
  "eml_file_path" = COALESCE(?1, t."eml_file_path"),
  "status" = 'SENT',
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
  "attempts" = 0,
  "reason" = ?2,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?3))
  AND +t."status" = 'PROCESSING'
  AND CAST(t."version" AS TEXT) IS ?4
RETURNING CAST("id" AS TEXT);

-- send: settle delivered, uniform, step 2: [One(Reason), Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'SENT',
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2));

-- send: settle delivered, each, step 1: [Rows([Id, Fence(0), Outcome("eml_path"), Reason])] -> Keys
UPDATE "emails" AS t SET
  "eml_file_path" = COALESCE(v."o_eml_path", t."eml_file_path"),
  "status" = 'SENT',
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
  "attempts" = 0,
  "reason" = v."reason",
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
    CAST(value->>'id' AS TEXT) AS "id",
    CAST(value->>'f0' AS TEXT) AS "f0",
    value->>'o_eml_path' AS "o_eml_path",
    value->>'reason' AS "reason"
  FROM json_each(?1)
) AS v
WHERE t."id" = v."id"
  AND +t."status" = 'PROCESSING'
  AND CAST(t."version" AS TEXT) IS v."f0"
RETURNING CAST("id" AS TEXT);

-- send: settle delivered, each, step 2: [Rows([Reason, Id]), Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'SENT',
  v."reason",
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
FROM "emails" AS t
  JOIN (SELECT value->>'reason' AS "reason", CAST(value->>'id' AS TEXT) AS "id" FROM json_each(?1)) AS v
  ON t."id" = v."id"
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2));

-- send: settle delivered, remembering, step 1: [Rows([Id, Fence(0), Outcome("eml_path"), Reason])] -> Keys
UPDATE "emails" AS t SET
  "eml_file_path" = COALESCE(v."o_eml_path", t."eml_file_path"),
  "status" = 'SENT',
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
  "attempts" = 0,
  "reason" = v."reason",
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
    CAST(value->>'id' AS TEXT) AS "id",
    CAST(value->>'f0' AS TEXT) AS "f0",
    value->>'o_eml_path' AS "o_eml_path",
    value->>'reason' AS "reason"
  FROM json_each(?1)
) AS v
WHERE t."id" = v."id"
  AND +t."status" = 'PROCESSING'
  AND CAST(t."version" AS TEXT) IS v."f0"
RETURNING CAST("id" AS TEXT);

-- send: settle delivered, remembering, step 2: [Rows([Reason, Id]), Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'SENT',
  v."reason",
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
FROM "emails" AS t
  JOIN (SELECT value->>'reason' AS "reason", CAST(value->>'id' AS TEXT) AS "id" FROM json_each(?1)) AS v
  ON t."id" = v."id"
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2));

-- send: settle delivered, remembering, step 3: [Rows([Outcome("remembered_recipients"), Id]), Held] ->
--   Nothing
INSERT INTO postrider_recipients (source, row_id, results, changed_at)
SELECT
  'emails',
  CAST(t."id" AS TEXT),
  v."o_remembered_recipients",
  strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
FROM "emails" AS t
  JOIN (
    SELECT
      value->>'o_remembered_recipients' AS "o_remembered_recipients",
      CAST(value->>'id' AS TEXT) AS "id"
    FROM json_each(?1)
  ) AS v
  ON t."id" = v."id"
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2))
ON CONFLICT (source, row_id) DO UPDATE SET
  results = excluded.results,
  changed_at = excluded.changed_at;

-- send: settle delivered, remembering, step 4: [Held] -> Nothing
DELETE FROM postrider_recipients AS r
WHERE r.source = 'emails'
  AND r.row_id IN (SELECT CAST(value AS TEXT) FROM json_each(?1))
  AND r.results NOT LIKE '%"refused"%';

-- send: settle retry, uniform, step 1: [One(Delay), One(Reason), Ids, One(Fence(0))] -> Keys
UPDATE "emails" AS t SET
  "status" = 'READY',
  "claimed_by" = NULL,
  "next_attempt_at" = CASE
    WHEN typeof(COALESCE(t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
        + CAST(round(?1 * 1000.0) AS INTEGER)
        + 0
    WHEN COALESCE(t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
      THEN strftime(
        '%Y-%m-%d %H:%M:%f',
          (
            CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
              + CAST(round(?1 * 1000.0) AS INTEGER)
              + 0
          )
            / 1000.0,
          'unixepoch'
      )
    ELSE strftime(
      '%Y-%m-%dT%H:%M:%fZ',
        (
          CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
            + CAST(round(?1 * 1000.0) AS INTEGER)
            + 0
        )
          / 1000.0,
        'unixepoch'
    )
    END,
  "attempts" = COALESCE(t."attempts", 0) + 1,
  "reason" = ?2,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?3))
  AND +t."status" = 'PROCESSING'
  AND CAST(t."version" AS TEXT) IS ?4
RETURNING CAST("id" AS TEXT);

-- send: settle retry, uniform, step 2: [One(Reason), Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'READY',
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2));

-- send: settle retry, each, step 1: [Rows([Id, Fence(0), Delay, Reason])] -> Keys
UPDATE "emails" AS t SET
  "status" = 'READY',
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
  "attempts" = COALESCE(t."attempts", 0) + 1,
  "reason" = v."reason",
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
    CAST(value->>'id' AS TEXT) AS "id",
    CAST(value->>'f0' AS TEXT) AS "f0",
    value->>'delay' AS "delay",
    value->>'reason' AS "reason"
  FROM json_each(?1)
) AS v
WHERE t."id" = v."id"
  AND +t."status" = 'PROCESSING'
  AND CAST(t."version" AS TEXT) IS v."f0"
RETURNING CAST("id" AS TEXT);

-- send: settle retry, each, step 2: [Rows([Reason, Id]), Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'READY',
  v."reason",
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
FROM "emails" AS t
  JOIN (SELECT value->>'reason' AS "reason", CAST(value->>'id' AS TEXT) AS "id" FROM json_each(?1)) AS v
  ON t."id" = v."id"
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2));

-- send: settle retry, remembering, step 1: [Rows([Id, Fence(0), Delay, Reason])] -> Keys
UPDATE "emails" AS t SET
  "status" = 'READY',
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
  "attempts" = COALESCE(t."attempts", 0) + 1,
  "reason" = v."reason",
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
    CAST(value->>'id' AS TEXT) AS "id",
    CAST(value->>'f0' AS TEXT) AS "f0",
    value->>'delay' AS "delay",
    value->>'reason' AS "reason"
  FROM json_each(?1)
) AS v
WHERE t."id" = v."id"
  AND +t."status" = 'PROCESSING'
  AND CAST(t."version" AS TEXT) IS v."f0"
RETURNING CAST("id" AS TEXT);

-- send: settle retry, remembering, step 2: [Rows([Reason, Id]), Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'READY',
  v."reason",
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
FROM "emails" AS t
  JOIN (SELECT value->>'reason' AS "reason", CAST(value->>'id' AS TEXT) AS "id" FROM json_each(?1)) AS v
  ON t."id" = v."id"
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2));

-- send: settle retry, remembering, step 3: [Rows([Outcome("remembered_recipients"), Id]), Held] -> Nothing
INSERT INTO postrider_recipients (source, row_id, results, changed_at)
SELECT
  'emails',
  CAST(t."id" AS TEXT),
  v."o_remembered_recipients",
  strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
FROM "emails" AS t
  JOIN (
    SELECT
      value->>'o_remembered_recipients' AS "o_remembered_recipients",
      CAST(value->>'id' AS TEXT) AS "id"
    FROM json_each(?1)
  ) AS v
  ON t."id" = v."id"
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2))
ON CONFLICT (source, row_id) DO UPDATE SET
  results = excluded.results,
  changed_at = excluded.changed_at;

-- send: settle dead, uniform, step 1: [One(Reason), Ids, One(Fence(0))] -> Keys
UPDATE "emails" AS t SET
  "status" = 'FAILED',
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
  "attempts" = 0,
  "reason" = ?1,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2))
  AND +t."status" = 'PROCESSING'
  AND CAST(t."version" AS TEXT) IS ?3
RETURNING CAST("id" AS TEXT);

-- send: settle dead, uniform, step 2: [One(Reason), Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'FAILED',
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2));

-- send: settle dead, each, step 1: [Rows([Id, Fence(0), Reason])] -> Keys
UPDATE "emails" AS t SET
  "status" = 'FAILED',
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
  "attempts" = 0,
  "reason" = v."reason",
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
    CAST(value->>'id' AS TEXT) AS "id",
    CAST(value->>'f0' AS TEXT) AS "f0",
    value->>'reason' AS "reason"
  FROM json_each(?1)
) AS v
WHERE t."id" = v."id"
  AND +t."status" = 'PROCESSING'
  AND CAST(t."version" AS TEXT) IS v."f0"
RETURNING CAST("id" AS TEXT);

-- send: settle dead, each, step 2: [Rows([Reason, Id]), Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'FAILED',
  v."reason",
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
FROM "emails" AS t
  JOIN (SELECT value->>'reason' AS "reason", CAST(value->>'id' AS TEXT) AS "id" FROM json_each(?1)) AS v
  ON t."id" = v."id"
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2));

-- send: settle dead, remembering, step 1: [Rows([Id, Fence(0), Reason])] -> Keys
UPDATE "emails" AS t SET
  "status" = 'FAILED',
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
  "attempts" = 0,
  "reason" = v."reason",
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
    CAST(value->>'id' AS TEXT) AS "id",
    CAST(value->>'f0' AS TEXT) AS "f0",
    value->>'reason' AS "reason"
  FROM json_each(?1)
) AS v
WHERE t."id" = v."id"
  AND +t."status" = 'PROCESSING'
  AND CAST(t."version" AS TEXT) IS v."f0"
RETURNING CAST("id" AS TEXT);

-- send: settle dead, remembering, step 2: [Rows([Reason, Id]), Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'FAILED',
  v."reason",
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
FROM "emails" AS t
  JOIN (SELECT value->>'reason' AS "reason", CAST(value->>'id' AS TEXT) AS "id" FROM json_each(?1)) AS v
  ON t."id" = v."id"
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2));

-- send: settle dead, remembering, step 3: [Rows([Outcome("remembered_recipients"), Id]), Held] -> Nothing
INSERT INTO postrider_recipients (source, row_id, results, changed_at)
SELECT
  'emails',
  CAST(t."id" AS TEXT),
  v."o_remembered_recipients",
  strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
FROM "emails" AS t
  JOIN (
    SELECT
      value->>'o_remembered_recipients' AS "o_remembered_recipients",
      CAST(value->>'id' AS TEXT) AS "id"
    FROM json_each(?1)
  ) AS v
  ON t."id" = v."id"
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2))
ON CONFLICT (source, row_id) DO UPDATE SET
  results = excluded.results,
  changed_at = excluded.changed_at;

-- send: settle rejected, uniform, step 1: [One(Reason), Ids, One(Fence(0))] -> Keys
UPDATE "emails" AS t SET
  "status" = 'FAILED',
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
  "attempts" = 0,
  "reason" = ?1,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2))
  AND +t."status" = 'PROCESSING'
  AND CAST(t."version" AS TEXT) IS ?3
RETURNING CAST("id" AS TEXT);

-- send: settle rejected, uniform, step 2: [One(Reason), Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'FAILED',
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2));

-- send: settle rejected, each, step 1: [Rows([Id, Fence(0), Reason])] -> Keys
UPDATE "emails" AS t SET
  "status" = 'FAILED',
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
  "attempts" = 0,
  "reason" = v."reason",
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
    CAST(value->>'id' AS TEXT) AS "id",
    CAST(value->>'f0' AS TEXT) AS "f0",
    value->>'reason' AS "reason"
  FROM json_each(?1)
) AS v
WHERE t."id" = v."id"
  AND +t."status" = 'PROCESSING'
  AND CAST(t."version" AS TEXT) IS v."f0"
RETURNING CAST("id" AS TEXT);

-- send: settle rejected, each, step 2: [Rows([Reason, Id]), Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'FAILED',
  v."reason",
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
FROM "emails" AS t
  JOIN (SELECT value->>'reason' AS "reason", CAST(value->>'id' AS TEXT) AS "id" FROM json_each(?1)) AS v
  ON t."id" = v."id"
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2));

-- send: settle rejected, remembering, step 1: [Rows([Id, Fence(0), Reason])] -> Keys
UPDATE "emails" AS t SET
  "status" = 'FAILED',
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
  "attempts" = 0,
  "reason" = v."reason",
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
    CAST(value->>'id' AS TEXT) AS "id",
    CAST(value->>'f0' AS TEXT) AS "f0",
    value->>'reason' AS "reason"
  FROM json_each(?1)
) AS v
WHERE t."id" = v."id"
  AND +t."status" = 'PROCESSING'
  AND CAST(t."version" AS TEXT) IS v."f0"
RETURNING CAST("id" AS TEXT);

-- send: settle rejected, remembering, step 2: [Rows([Reason, Id]), Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'FAILED',
  v."reason",
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
FROM "emails" AS t
  JOIN (SELECT value->>'reason' AS "reason", CAST(value->>'id' AS TEXT) AS "id" FROM json_each(?1)) AS v
  ON t."id" = v."id"
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2));

-- send: settle rejected, remembering, step 3: [Rows([Outcome("remembered_recipients"), Id]), Held] -> Nothing
INSERT INTO postrider_recipients (source, row_id, results, changed_at)
SELECT
  'emails',
  CAST(t."id" AS TEXT),
  v."o_remembered_recipients",
  strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
FROM "emails" AS t
  JOIN (
    SELECT
      value->>'o_remembered_recipients' AS "o_remembered_recipients",
      CAST(value->>'id' AS TEXT) AS "id"
    FROM json_each(?1)
  ) AS v
  ON t."id" = v."id"
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2))
ON CONFLICT (source, row_id) DO UPDATE SET
  results = excluded.results,
  changed_at = excluded.changed_at;

-- send: settle skipped, uniform, step 1: [One(Reason), Ids, One(Fence(0))] -> Keys
UPDATE "emails" AS t SET
  "status" = 'FAILED',
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
  "attempts" = 0,
  "reason" = ?1,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2))
  AND +t."status" = 'PROCESSING'
  AND CAST(t."version" AS TEXT) IS ?3
RETURNING CAST("id" AS TEXT);

-- send: settle skipped, uniform, step 2: [One(Reason), Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'FAILED',
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2));

-- send: settle skipped, each, step 1: [Rows([Id, Fence(0), Reason])] -> Keys
UPDATE "emails" AS t SET
  "status" = 'FAILED',
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
  "attempts" = 0,
  "reason" = v."reason",
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
    CAST(value->>'id' AS TEXT) AS "id",
    CAST(value->>'f0' AS TEXT) AS "f0",
    value->>'reason' AS "reason"
  FROM json_each(?1)
) AS v
WHERE t."id" = v."id"
  AND +t."status" = 'PROCESSING'
  AND CAST(t."version" AS TEXT) IS v."f0"
RETURNING CAST("id" AS TEXT);

-- send: settle skipped, each, step 2: [Rows([Reason, Id]), Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'FAILED',
  v."reason",
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
FROM "emails" AS t
  JOIN (SELECT value->>'reason' AS "reason", CAST(value->>'id' AS TEXT) AS "id" FROM json_each(?1)) AS v
  ON t."id" = v."id"
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2));

-- send: settle skipped, remembering, step 1: [Rows([Id, Fence(0), Reason])] -> Keys
UPDATE "emails" AS t SET
  "status" = 'FAILED',
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
  "attempts" = 0,
  "reason" = v."reason",
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
    CAST(value->>'id' AS TEXT) AS "id",
    CAST(value->>'f0' AS TEXT) AS "f0",
    value->>'reason' AS "reason"
  FROM json_each(?1)
) AS v
WHERE t."id" = v."id"
  AND +t."status" = 'PROCESSING'
  AND CAST(t."version" AS TEXT) IS v."f0"
RETURNING CAST("id" AS TEXT);

-- send: settle skipped, remembering, step 2: [Rows([Reason, Id]), Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'FAILED',
  v."reason",
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
FROM "emails" AS t
  JOIN (SELECT value->>'reason' AS "reason", CAST(value->>'id' AS TEXT) AS "id" FROM json_each(?1)) AS v
  ON t."id" = v."id"
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2));

-- send: settle skipped, remembering, step 3: [Rows([Outcome("remembered_recipients"), Id]), Held] -> Nothing
INSERT INTO postrider_recipients (source, row_id, results, changed_at)
SELECT
  'emails',
  CAST(t."id" AS TEXT),
  v."o_remembered_recipients",
  strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
FROM "emails" AS t
  JOIN (
    SELECT
      value->>'o_remembered_recipients' AS "o_remembered_recipients",
      CAST(value->>'id' AS TEXT) AS "id"
    FROM json_each(?1)
  ) AS v
  ON t."id" = v."id"
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2))
ON CONFLICT (source, row_id) DO UPDATE SET
  results = excluded.results,
  changed_at = excluded.changed_at;

-- send: settle deferred, uniform, step 1: [One(Delay), Ids, One(Fence(0))] -> Keys
UPDATE "emails" AS t SET
  "status" = 'READY',
  "claimed_by" = NULL,
  "next_attempt_at" = CASE
    WHEN typeof(COALESCE(t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
        + CAST(round(?1 * 1000.0) AS INTEGER)
        + 0
    WHEN COALESCE(t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
      THEN strftime(
        '%Y-%m-%d %H:%M:%f',
          (
            CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
              + CAST(round(?1 * 1000.0) AS INTEGER)
              + 0
          )
            / 1000.0,
          'unixepoch'
      )
    ELSE strftime(
      '%Y-%m-%dT%H:%M:%fZ',
        (
          CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
            + CAST(round(?1 * 1000.0) AS INTEGER)
            + 0
        )
          / 1000.0,
        'unixepoch'
    )
    END,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2))
  AND +t."status" = 'PROCESSING'
  AND CAST(t."version" AS TEXT) IS ?3
RETURNING CAST("id" AS TEXT);

-- send: settle deferred, uniform, step 2: [One(Reason), Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'READY',
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2));

-- send: settle deferred, each, step 1: [Rows([Id, Fence(0), Delay])] -> Keys
UPDATE "emails" AS t SET
  "status" = 'READY',
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
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
    CAST(value->>'id' AS TEXT) AS "id",
    CAST(value->>'f0' AS TEXT) AS "f0",
    value->>'delay' AS "delay"
  FROM json_each(?1)
) AS v
WHERE t."id" = v."id"
  AND +t."status" = 'PROCESSING'
  AND CAST(t."version" AS TEXT) IS v."f0"
RETURNING CAST("id" AS TEXT);

-- send: settle deferred, each, step 2: [Rows([Reason, Id]), Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'READY',
  v."reason",
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
FROM "emails" AS t
  JOIN (SELECT value->>'reason' AS "reason", CAST(value->>'id' AS TEXT) AS "id" FROM json_each(?1)) AS v
  ON t."id" = v."id"
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2));

-- send: settle deferred, remembering, step 1: [Rows([Id, Fence(0), Delay])] -> Keys
UPDATE "emails" AS t SET
  "status" = 'READY',
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
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
    CAST(value->>'id' AS TEXT) AS "id",
    CAST(value->>'f0' AS TEXT) AS "f0",
    value->>'delay' AS "delay"
  FROM json_each(?1)
) AS v
WHERE t."id" = v."id"
  AND +t."status" = 'PROCESSING'
  AND CAST(t."version" AS TEXT) IS v."f0"
RETURNING CAST("id" AS TEXT);

-- send: settle deferred, remembering, step 2: [Rows([Reason, Id]), Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'READY',
  v."reason",
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
FROM "emails" AS t
  JOIN (SELECT value->>'reason' AS "reason", CAST(value->>'id' AS TEXT) AS "id" FROM json_each(?1)) AS v
  ON t."id" = v."id"
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2));

-- send: settle deferred, remembering, step 3: [Rows([Outcome("remembered_recipients"), Id]), Held] -> Nothing
INSERT INTO postrider_recipients (source, row_id, results, changed_at)
SELECT
  'emails',
  CAST(t."id" AS TEXT),
  v."o_remembered_recipients",
  strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
FROM "emails" AS t
  JOIN (
    SELECT
      value->>'o_remembered_recipients' AS "o_remembered_recipients",
      CAST(value->>'id' AS TEXT) AS "id"
    FROM json_each(?1)
  ) AS v
  ON t."id" = v."id"
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2))
ON CONFLICT (source, row_id) DO UPDATE SET
  results = excluded.results,
  changed_at = excluded.changed_at;

-- send: settle released, uniform, step 1: [Ids, One(Fence(0))] -> Keys
UPDATE "emails" AS t SET
  "status" = 'READY',
  "claimed_by" = NULL,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1))
  AND +t."status" = 'PROCESSING'
  AND CAST(t."version" AS TEXT) IS ?2
RETURNING CAST("id" AS TEXT);

-- send: settle released, uniform, step 2: [One(Reason), Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'READY',
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2));

-- send: settle released, each, step 1: [Rows([Id, Fence(0)])] -> Keys
UPDATE "emails" AS t SET
  "status" = 'READY',
  "claimed_by" = NULL,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
FROM (SELECT CAST(value->>'id' AS TEXT) AS "id", CAST(value->>'f0' AS TEXT) AS "f0" FROM json_each(?1)) AS v
WHERE t."id" = v."id"
  AND +t."status" = 'PROCESSING'
  AND CAST(t."version" AS TEXT) IS v."f0"
RETURNING CAST("id" AS TEXT);

-- send: settle released, each, step 2: [Rows([Reason, Id]), Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'READY',
  v."reason",
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
FROM "emails" AS t
  JOIN (SELECT value->>'reason' AS "reason", CAST(value->>'id' AS TEXT) AS "id" FROM json_each(?1)) AS v
  ON t."id" = v."id"
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2));

-- send: extend: [Rows([Id, Fence(0)])] -> Leases
UPDATE "emails" AS t SET
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*' THEN CASE
    WHEN CASE
    WHEN typeof(t."updated_at") IN ('integer', 'real')
    OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
    ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END
      BETWEEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 - 1
      AND CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 + 60000
      THEN CASE
    WHEN typeof(t."updated_at") IN ('integer', 'real')
    OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
    ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END + 1
    ELSE CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    END
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
      THEN strftime(
        '%Y-%m-%d %H:%M:%f',
          (
            CASE
              WHEN CASE
              WHEN typeof(t."updated_at") IN ('integer', 'real')
              OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
              ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
              END
                BETWEEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 - 1
                AND CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 + 60000
                THEN CASE
              WHEN typeof(t."updated_at") IN ('integer', 'real')
              OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
              ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
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
            WHEN typeof(t."updated_at") IN ('integer', 'real')
            OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
            ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
            END
              BETWEEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 - 1
              AND CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 + 60000
              THEN CASE
            WHEN typeof(t."updated_at") IN ('integer', 'real')
            OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
            ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
            END + 1
            ELSE CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
            END
        )
          / 1000.0,
        'unixepoch'
    )
    END,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END
FROM (SELECT CAST(value->>'id' AS TEXT) AS "id", CAST(value->>'f0' AS TEXT) AS "f0" FROM json_each(?1)) AS v
WHERE t."id" = v."id"
  AND +t."status" = 'PROCESSING'
  AND CAST(t."version" AS TEXT) IS v."f0"
RETURNING
  CAST("id" AS TEXT),
  CAST("version" AS TEXT);

-- send: leases after a lost extension: [Ids, Owner] -> Leases
SELECT
  CAST(t."id" AS TEXT),
  CAST(t."version" AS TEXT)
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1))
  AND +t."status" = 'PROCESSING'
  AND t."claimed_by" = ?2;

-- send: stamp: [Limit] -> Keys
UPDATE "emails" AS t SET "updated_at" = CASE
  WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
  OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
    THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
  WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
FROM "emails" AS t
WHERE t."status" = 'PROCESSING'
  AND (
    t."updated_at" IS NOT NULL
      AND CASE
      WHEN typeof(t."updated_at") IN ('integer', 'real')
      OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
      ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END IS NULL
  )
LIMIT ?1)
RETURNING CAST("id" AS TEXT);

-- send: leases that still hold: [Rows([Id, Fence(0)])] -> Keys
SELECT CAST(t."id" AS TEXT)
FROM (
  SELECT
    CAST(value->>'id' AS TEXT) AS "id",
    CAST(value->>'f0' AS TEXT) AS "f0"
  FROM json_each(?1)
) AS v CROSS
  JOIN "emails" AS t
WHERE t."id" = v."id"
  AND +t."status" = 'PROCESSING'
  AND CAST(t."version" AS TEXT) IS v."f0"
  AND (
    CASE
      WHEN typeof(t."updated_at") IN ('integer', 'real')
      OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
      ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END < CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) - 600000
  ) IS NOT TRUE;

-- send: look for rows of a lost claim: [Owner] -> Keys
SELECT CAST(t."id" AS TEXT)
FROM "emails" AS t
WHERE t."status" = 'PROCESSING'
  AND t."claimed_by" = ?1;

-- send: release rows of a lost claim, step 1: [Ids, Owner] -> Keys
UPDATE "emails" AS t SET
  "status" = 'READY',
  "claimed_by" = NULL,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1))
  AND +t."status" = 'PROCESSING'
  AND t."claimed_by" = ?2)
RETURNING CAST("id" AS TEXT);

-- send: release rows of a lost claim, step 2: [Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'READY',
  NULL,
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1));

-- send: look for expired leases: [Limit] -> Other
SELECT
  CAST(t."id" AS TEXT),
  CAST(t."version" AS TEXT),
  CASE WHEN COALESCE(t."attempts", 0) + 1 >= 5 THEN 1 ELSE 0 END,
  5
FROM "emails" AS t
WHERE t."status" = 'PROCESSING'
  AND CASE
    WHEN typeof(t."updated_at") IN ('integer', 'real')
    OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
    ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END < CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) - 600000
ORDER BY CASE
  WHEN typeof(t."updated_at") IN ('integer', 'real')
  OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
  ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
  END
LIMIT ?1;

-- send: reclaim, free, step 1: [Ids] -> Keys
UPDATE "emails" AS t SET
  "status" = 'READY',
  "claimed_by" = NULL,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1))
  AND +t."status" = 'PROCESSING'
  AND CASE
    WHEN typeof(t."updated_at") IN ('integer', 'real')
    OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
    ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END < CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) - 600000)
RETURNING CAST("id" AS TEXT);

-- send: reclaim, free, step 2: [Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'READY',
  NULL,
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1));

-- send: reclaim, spared, step 1: [Ids] -> Keys
UPDATE "emails" AS t SET
  "status" = 'READY',
  "claimed_by" = NULL,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1))
  AND +t."status" = 'PROCESSING'
  AND CASE
    WHEN typeof(t."updated_at") IN ('integer', 'real')
    OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
    ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END < CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) - 600000)
RETURNING CAST("id" AS TEXT);

-- send: reclaim, spared, step 2: [Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'READY',
  NULL,
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1));

-- send: reclaim, spared, step 3: [Held] -> Nothing
INSERT INTO postrider_crashes (place, row_id, crashes, crashed_at)
SELECT
  'emails/send',
  CAST(value AS TEXT),
  1,
  strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
FROM json_each(?1) WHERE true
ON CONFLICT (place, row_id) DO UPDATE SET
  crashes = crashes + 1,
  crashed_at = excluded.crashed_at;

-- send: reclaim, charged, step 1: [Ids] -> Keys
UPDATE "emails" AS t SET
  "status" = 'READY',
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
  "attempts" = COALESCE(t."attempts", 0) + 1,
  "reason" = 'lease expired: the worker that held it is gone',
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1))
  AND +t."status" = 'PROCESSING'
  AND CASE
    WHEN typeof(t."updated_at") IN ('integer', 'real')
    OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
    ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END < CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) - 600000)
RETURNING CAST("id" AS TEXT);

-- send: reclaim, charged, step 2: [Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'READY',
  'lease expired: the worker that held it is gone',
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1));

-- send: reclaim, charged, step 3: [Held] -> Nothing
INSERT INTO postrider_crashes (place, row_id, crashes, crashed_at)
SELECT
  'emails/send',
  CAST(value AS TEXT),
  1,
  strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
FROM json_each(?1) WHERE true
ON CONFLICT (place, row_id) DO UPDATE SET
  crashes = crashes + 1,
  crashed_at = excluded.crashed_at;

-- send: reclaim, dead, step 1: [Ids] -> Keys
UPDATE "emails" AS t SET
  "status" = 'FAILED',
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
  "attempts" = 0,
  "reason" = 'poison row: its workers crashed repeatedly, also when it was delivered alone',
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1))
  AND +t."status" = 'PROCESSING'
  AND CASE
    WHEN typeof(t."updated_at") IN ('integer', 'real')
    OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
    ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END < CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) - 600000)
RETURNING CAST("id" AS TEXT);

-- send: reclaim, dead, step 2: [Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'FAILED',
  'poison row: its workers crashed repeatedly, also when it was delivered alone',
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1));

-- send: reclaim, dead, step 3: [Held] -> Nothing
DELETE
  FROM postrider_crashes
  WHERE place = 'emails/send'
  AND row_id IN (SELECT CAST(value AS TEXT) FROM json_each(?1));

-- send: spent, step 1: [Limit] -> Keys
UPDATE "emails" AS t SET
  "reason" = COALESCE(t."reason", 'no attempts left'),
  "status" = 'FAILED',
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
  "attempts" = 0,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
FROM "emails" AS t
WHERE t."status" = 'READY'
  AND CASE
    WHEN t."status" = 'SENT'
    AND CASE
    WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
    OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
    ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END >= 253402214400000 THEN 'SENT_SILENT'
    WHEN t."status" = 'FAILED'
    AND CASE
    WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
    OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
    ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END >= 253402214400000 THEN 'FAILED_SILENT'
    WHEN t."status" = 'INVALID' THEN 'INVALID'
    WHEN t."status" = 'ACCEPTED'
    AND COALESCE(t."attempts", 0) >= 5 THEN 'no attempts left'
    WHEN t."status" = 'READY'
    AND COALESCE(t."attempts", 0) >= 5 THEN 'no attempts left'
    WHEN t."status" = 'SENT'
    AND (
      CASE
        WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
        OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
        ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END IS NULL
        OR CASE
        WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
        OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
        ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END < 253402214400000
    )
    AND COALESCE(t."attempts", 0) >= 5 THEN 'no attempts left'
    WHEN t."status" = 'FAILED'
    AND (
      CASE
        WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
        OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
        ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END IS NULL
        OR CASE
        WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
        OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
        ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END < 253402214400000
    )
    AND COALESCE(t."attempts", 0) >= 5 THEN 'no attempts left'
    END = 'no attempts left'
  AND COALESCE(t."attempts", 0) >= 5
LIMIT ?1)
RETURNING CAST("id" AS TEXT);

-- send: spent, step 2: [Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'FAILED',
  'no attempts left',
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1));

-- send: next due: [] -> Other
SELECT CAST(
  COALESCE(
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
      ),
      0
  ) AS INTEGER
) AS w
FROM "emails" AS t
WHERE t."status" = 'READY'
  AND COALESCE(t."attempts", 0) < 5
ORDER BY COALESCE(
  CASE
    WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
    OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
    ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END,
    0
)
LIMIT 1;

-- send: lag: [] -> Other
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
    FROM "emails" AS t
    WHERE t."status" = 'READY'
    AND COALESCE(
      CASE
        WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
        OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
        ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END,
        0
    ) <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
      + 0
    AND COALESCE(t."attempts", 0) < 5
    ORDER BY CASE
    WHEN typeof(t."updated_at") IN ('integer', 'real')
    OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
    ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END
    LIMIT 1
),
  (
    SELECT (
      (
        (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0) - CASE
          WHEN typeof(t."updated_at") IN ('integer', 'real')
          OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
          ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
          END
      )
        * 1000
    )
      / 1000000.0
      FROM "emails" AS t
      WHERE t."status" = 'PROCESSING'
      ORDER BY CASE
      WHEN typeof(t."updated_at") IN ('integer', 'real')
      OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
      ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END
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
UPDATE "emails" AS t SET
  "status" = 'READY',
  "claimed_by" = NULL,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1))
  AND +t."status" = 'PROCESSING')
RETURNING CAST("id" AS TEXT);

-- send: release ids PROCESSING, step 2: [Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'READY',
  NULL,
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1));

-- send: release state PROCESSING, step 1: [Since, Limit] -> Keys
UPDATE "emails" AS t SET
  "status" = 'READY',
  "claimed_by" = NULL,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
FROM "emails" AS t
WHERE t."status" = 'PROCESSING'
  AND (
    ?1 IS NULL
      OR CASE
      WHEN typeof(t."updated_at") IN ('integer', 'real')
      OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
      ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END >= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
        + CAST(round((0 - ?1) * 1000.0) AS INTEGER)
        + 0
      OR t."updated_at" IS NULL
      AND CASE
      WHEN typeof(t."updated_at") IN ('integer', 'real')
      OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
      ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END >= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
        + CAST(round((0 - ?1) * 1000.0) AS INTEGER)
        + 0
      OR t."updated_at" IS NULL
      AND t."updated_at" IS NULL
      AND CASE
      WHEN typeof(t."created_at") IN ('integer', 'real')
      OR t."created_at" NOT GLOB '*[^0-9]*' THEN CAST(t."created_at" AS INTEGER)
      ELSE CAST(round((julianday(t."created_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END >= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
        + CAST(round((0 - ?1) * 1000.0) AS INTEGER)
        + 0
  )
LIMIT ?2)
RETURNING CAST("id" AS TEXT);

-- send: release state PROCESSING, step 2: [Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'READY',
  NULL,
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1));

-- sent_callback: layout Layout { integer_id: false, fences: 1, claim_time: None, pool: 7, fields:
--   ["eml_path", "payload_path", "reason"], joined: ["history.reached", "clock"] }

-- sent_callback: claim 1, step 1: [Limit] -> Keys
SELECT CAST(t."id" AS TEXT)
FROM "emails" AS t
WHERE t."status" = 'SENT'
  AND (
    CASE
      WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
      OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
      ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END IS NULL
      OR CASE
      WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
      OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
      ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END < 253402214400000
  )
  AND COALESCE(
    CASE
      WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
      OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
      ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END,
      0
  ) <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
    + 0
  AND COALESCE(t."attempts", 0) < 5
ORDER BY CASE
  WHEN typeof(t."updated_at") IN ('integer', 'real')
  OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
  ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
  END,
  t."id"
LIMIT ?1;

-- sent_callback: claim 1, step 2: [Owner, Held] -> Rows
UPDATE "emails" AS t SET
  "status" = 'CALLING-SENT-CALLBACK',
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*' THEN CASE
    WHEN CASE
    WHEN typeof(t."updated_at") IN ('integer', 'real')
    OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
    ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END
      BETWEEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 - 1
      AND CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 + 60000
      THEN CASE
    WHEN typeof(t."updated_at") IN ('integer', 'real')
    OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
    ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END + 1
    ELSE CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    END
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
      THEN strftime(
        '%Y-%m-%d %H:%M:%f',
          (
            CASE
              WHEN CASE
              WHEN typeof(t."updated_at") IN ('integer', 'real')
              OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
              ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
              END
                BETWEEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 - 1
                AND CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 + 60000
                THEN CASE
              WHEN typeof(t."updated_at") IN ('integer', 'real')
              OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
              ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
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
            WHEN typeof(t."updated_at") IN ('integer', 'real')
            OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
            ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
            END
              BETWEEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 - 1
              AND CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 + 60000
              THEN CASE
            WHEN typeof(t."updated_at") IN ('integer', 'real')
            OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
            ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
            END + 1
            ELSE CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
            END
        )
          / 1000.0,
        'unixepoch'
    )
    END,
  "claimed_by" = ?1,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2))
RETURNING
  CAST("id" AS TEXT),
  CAST("version" AS TEXT),
  CAST(COALESCE("attempts", 0) AS INTEGER),
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
    COALESCE(length(CAST("eml_file_path" AS BLOB)), 0)
      + COALESCE(length(CAST("payload_file_path" AS BLOB)), 0)
      + COALESCE(length(CAST("reason" AS BLOB)), 0) AS INTEGER
  ),
  CASE WHEN length(CAST("eml_file_path" AS BLOB)) <= 65536 THEN "eml_file_path" END,
  CASE WHEN length(CAST("payload_file_path" AS BLOB)) <= 65536 THEN "payload_file_path" END,
  CASE WHEN length(CAST("reason" AS BLOB)) <= 65536 THEN "reason" END;

-- sent_callback: claim 1, step 3: [Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'CALLING-SENT-CALLBACK',
  NULL,
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1));

-- sent_callback: load: [Ids] -> Other
SELECT
  CAST(t."id" AS TEXT),
  t."eml_file_path",
  t."payload_file_path",
  t."reason"
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1));

-- sent_callback: join: [Ids] -> Other
SELECT
  CAST(t."id" AS TEXT),
  (
    CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
      - CAST(
        (
          (
            (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0) - CASE
              WHEN typeof(
                (
                  SELECT h."created_at"
                    FROM "email_statuses" AS h
                    WHERE h."email_id" = t."id"
                    AND h."status" = 'SENT'
                    AND h."id"
                      > COALESCE(
                        (
                          SELECT MAX(o."id")
                            FROM "email_statuses" AS o
                            WHERE o."email_id" = t."id"
                            AND o."status" NOT IN ('CALLING-SENT-CALLBACK', 'SENT')
                        ),
                          0
                      )
                    ORDER BY h."id"
                    LIMIT 1
                )
              ) IN ('integer', 'real')
              OR (
                SELECT h."created_at"
                  FROM "email_statuses" AS h
                  WHERE h."email_id" = t."id"
                  AND h."status" = 'SENT'
                  AND h."id"
                    > COALESCE(
                      (
                        SELECT MAX(o."id")
                          FROM "email_statuses" AS o
                          WHERE o."email_id" = t."id"
                          AND o."status" NOT IN ('CALLING-SENT-CALLBACK', 'SENT')
                      ),
                        0
                    )
                  ORDER BY h."id"
                  LIMIT 1
              ) NOT GLOB '*[^0-9]*'
                THEN CAST(
                  (
                    SELECT h."created_at"
                      FROM "email_statuses" AS h
                      WHERE h."email_id" = t."id"
                      AND h."status" = 'SENT'
                      AND h."id"
                        > COALESCE(
                          (
                            SELECT MAX(o."id")
                              FROM "email_statuses" AS o
                              WHERE o."email_id" = t."id"
                              AND o."status" NOT IN ('CALLING-SENT-CALLBACK', 'SENT')
                          ),
                            0
                        )
                      ORDER BY h."id"
                      LIMIT 1
                  ) AS INTEGER
                )
              ELSE CAST(
                round(
                  (
                    julianday(
                      (
                        SELECT h."created_at"
                          FROM "email_statuses" AS h
                          WHERE h."email_id" = t."id"
                          AND h."status" = 'SENT'
                          AND h."id"
                            > COALESCE(
                              (
                                SELECT MAX(o."id")
                                  FROM "email_statuses" AS o
                                  WHERE o."email_id" = t."id"
                                  AND o."status" NOT IN ('CALLING-SENT-CALLBACK', 'SENT')
                              ),
                                0
                            )
                          ORDER BY h."id"
                          LIMIT 1
                      )
                    )
                      - 2440587.5
                  )
                    * 86400000.0
                ) AS INTEGER
              )
              END
          )
            * 1000
        )
          / 1000 AS INTEGER
      )
  ),
  CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1));

-- sent_callback: settle delivered, uniform, step 1: [One(Outcome("eml_path")), Ids, One(Fence(0))] -> Keys
UPDATE "emails" AS t SET
  "eml_file_path" = COALESCE(?1, t."eml_file_path"),
  "status" = 'SENT-ACKNOWLEDGED',
  "claimed_by" = NULL,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2))
  AND +t."status" = 'CALLING-SENT-CALLBACK'
  AND CAST(t."version" AS TEXT) IS ?3
RETURNING CAST("id" AS TEXT);

-- sent_callback: settle delivered, uniform, step 2: [One(Reason), Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'SENT-ACKNOWLEDGED',
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2));

-- sent_callback: settle delivered, each, step 1: [Rows([Id, Fence(0), Outcome("eml_path")])] -> Keys
UPDATE "emails" AS t SET
  "eml_file_path" = COALESCE(v."o_eml_path", t."eml_file_path"),
  "status" = 'SENT-ACKNOWLEDGED',
  "claimed_by" = NULL,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
    CAST(value->>'id' AS TEXT) AS "id",
    CAST(value->>'f0' AS TEXT) AS "f0",
    value->>'o_eml_path' AS "o_eml_path"
  FROM json_each(?1)
) AS v
WHERE t."id" = v."id"
  AND +t."status" = 'CALLING-SENT-CALLBACK'
  AND CAST(t."version" AS TEXT) IS v."f0"
RETURNING CAST("id" AS TEXT);

-- sent_callback: settle delivered, each, step 2: [Rows([Reason, Id]), Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'SENT-ACKNOWLEDGED',
  v."reason",
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
FROM "emails" AS t
  JOIN (SELECT value->>'reason' AS "reason", CAST(value->>'id' AS TEXT) AS "id" FROM json_each(?1)) AS v
  ON t."id" = v."id"
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2));

-- sent_callback: settle retry, uniform, step 1: [One(Delay), Ids, One(Fence(0))] -> Keys
UPDATE "emails" AS t SET
  "status" = 'SENT',
  "claimed_by" = NULL,
  "next_attempt_at" = CASE
    WHEN typeof(COALESCE(t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
        + CAST(round(?1 * 1000.0) AS INTEGER)
        + 0
    WHEN COALESCE(t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
      THEN strftime(
        '%Y-%m-%d %H:%M:%f',
          (
            CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
              + CAST(round(?1 * 1000.0) AS INTEGER)
              + 0
          )
            / 1000.0,
          'unixepoch'
      )
    ELSE strftime(
      '%Y-%m-%dT%H:%M:%fZ',
        (
          CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
            + CAST(round(?1 * 1000.0) AS INTEGER)
            + 0
        )
          / 1000.0,
        'unixepoch'
    )
    END,
  "attempts" = COALESCE(t."attempts", 0) + 1,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2))
  AND +t."status" = 'CALLING-SENT-CALLBACK'
  AND CAST(t."version" AS TEXT) IS ?3
RETURNING CAST("id" AS TEXT);

-- sent_callback: settle retry, uniform, step 2: [One(Reason), Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'SENT',
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2));

-- sent_callback: settle retry, each, step 1: [Rows([Id, Fence(0), Delay])] -> Keys
UPDATE "emails" AS t SET
  "status" = 'SENT',
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
  "attempts" = COALESCE(t."attempts", 0) + 1,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
    CAST(value->>'id' AS TEXT) AS "id",
    CAST(value->>'f0' AS TEXT) AS "f0",
    value->>'delay' AS "delay"
  FROM json_each(?1)
) AS v
WHERE t."id" = v."id"
  AND +t."status" = 'CALLING-SENT-CALLBACK'
  AND CAST(t."version" AS TEXT) IS v."f0"
RETURNING CAST("id" AS TEXT);

-- sent_callback: settle retry, each, step 2: [Rows([Reason, Id]), Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'SENT',
  v."reason",
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
FROM "emails" AS t
  JOIN (SELECT value->>'reason' AS "reason", CAST(value->>'id' AS TEXT) AS "id" FROM json_each(?1)) AS v
  ON t."id" = v."id"
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2));

-- sent_callback: settle dead, uniform, step 1: [Ids, One(Fence(0))] -> Keys
UPDATE "emails" AS t SET
  "status" = 'SENT',
  "next_attempt_at" = CASE
    WHEN typeof(COALESCE(t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*' THEN 253402214400000
    WHEN COALESCE(t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
      THEN strftime('%Y-%m-%d %H:%M:%f', (253402214400000) / 1000.0, 'unixepoch')
    ELSE strftime('%Y-%m-%dT%H:%M:%fZ', (253402214400000) / 1000.0, 'unixepoch')
    END,
  "claimed_by" = NULL,
  "attempts" = COALESCE(t."attempts", 0) + 1,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1))
  AND +t."status" = 'CALLING-SENT-CALLBACK'
  AND CAST(t."version" AS TEXT) IS ?2
RETURNING CAST("id" AS TEXT);

-- sent_callback: settle dead, uniform, step 2: [One(Reason), Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'SENT',
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2));

-- sent_callback: settle dead, each, step 1: [Rows([Id, Fence(0)])] -> Keys
UPDATE "emails" AS t SET
  "status" = 'SENT',
  "next_attempt_at" = CASE
    WHEN typeof(COALESCE(t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*' THEN 253402214400000
    WHEN COALESCE(t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
      THEN strftime('%Y-%m-%d %H:%M:%f', (253402214400000) / 1000.0, 'unixepoch')
    ELSE strftime('%Y-%m-%dT%H:%M:%fZ', (253402214400000) / 1000.0, 'unixepoch')
    END,
  "claimed_by" = NULL,
  "attempts" = COALESCE(t."attempts", 0) + 1,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
FROM (SELECT CAST(value->>'id' AS TEXT) AS "id", CAST(value->>'f0' AS TEXT) AS "f0" FROM json_each(?1)) AS v
WHERE t."id" = v."id"
  AND +t."status" = 'CALLING-SENT-CALLBACK'
  AND CAST(t."version" AS TEXT) IS v."f0"
RETURNING CAST("id" AS TEXT);

-- sent_callback: settle dead, each, step 2: [Rows([Reason, Id]), Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'SENT',
  v."reason",
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
FROM "emails" AS t
  JOIN (SELECT value->>'reason' AS "reason", CAST(value->>'id' AS TEXT) AS "id" FROM json_each(?1)) AS v
  ON t."id" = v."id"
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2));

-- sent_callback: settle rejected, uniform, step 1: [Ids, One(Fence(0))] -> Keys
UPDATE "emails" AS t SET
  "status" = 'SENT',
  "next_attempt_at" = CASE
    WHEN typeof(COALESCE(t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*' THEN 253402214400000
    WHEN COALESCE(t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
      THEN strftime('%Y-%m-%d %H:%M:%f', (253402214400000) / 1000.0, 'unixepoch')
    ELSE strftime('%Y-%m-%dT%H:%M:%fZ', (253402214400000) / 1000.0, 'unixepoch')
    END,
  "claimed_by" = NULL,
  "attempts" = COALESCE(t."attempts", 0) + 1,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1))
  AND +t."status" = 'CALLING-SENT-CALLBACK'
  AND CAST(t."version" AS TEXT) IS ?2
RETURNING CAST("id" AS TEXT);

-- sent_callback: settle rejected, uniform, step 2: [One(Reason), Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'SENT',
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2));

-- sent_callback: settle rejected, each, step 1: [Rows([Id, Fence(0)])] -> Keys
UPDATE "emails" AS t SET
  "status" = 'SENT',
  "next_attempt_at" = CASE
    WHEN typeof(COALESCE(t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*' THEN 253402214400000
    WHEN COALESCE(t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
      THEN strftime('%Y-%m-%d %H:%M:%f', (253402214400000) / 1000.0, 'unixepoch')
    ELSE strftime('%Y-%m-%dT%H:%M:%fZ', (253402214400000) / 1000.0, 'unixepoch')
    END,
  "claimed_by" = NULL,
  "attempts" = COALESCE(t."attempts", 0) + 1,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
FROM (SELECT CAST(value->>'id' AS TEXT) AS "id", CAST(value->>'f0' AS TEXT) AS "f0" FROM json_each(?1)) AS v
WHERE t."id" = v."id"
  AND +t."status" = 'CALLING-SENT-CALLBACK'
  AND CAST(t."version" AS TEXT) IS v."f0"
RETURNING CAST("id" AS TEXT);

-- sent_callback: settle rejected, each, step 2: [Rows([Reason, Id]), Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'SENT',
  v."reason",
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
FROM "emails" AS t
  JOIN (SELECT value->>'reason' AS "reason", CAST(value->>'id' AS TEXT) AS "id" FROM json_each(?1)) AS v
  ON t."id" = v."id"
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2));

-- sent_callback: settle skipped, uniform, step 1: [Ids, One(Fence(0))] -> Keys
UPDATE "emails" AS t SET
  "status" = 'SENT',
  "next_attempt_at" = CASE
    WHEN typeof(COALESCE(t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*' THEN 253402214400000
    WHEN COALESCE(t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
      THEN strftime('%Y-%m-%d %H:%M:%f', (253402214400000) / 1000.0, 'unixepoch')
    ELSE strftime('%Y-%m-%dT%H:%M:%fZ', (253402214400000) / 1000.0, 'unixepoch')
    END,
  "claimed_by" = NULL,
  "attempts" = COALESCE(t."attempts", 0) + 1,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1))
  AND +t."status" = 'CALLING-SENT-CALLBACK'
  AND CAST(t."version" AS TEXT) IS ?2
RETURNING CAST("id" AS TEXT);

-- sent_callback: settle skipped, uniform, step 2: [One(Reason), Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'SENT',
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2));

-- sent_callback: settle skipped, each, step 1: [Rows([Id, Fence(0)])] -> Keys
UPDATE "emails" AS t SET
  "status" = 'SENT',
  "next_attempt_at" = CASE
    WHEN typeof(COALESCE(t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*' THEN 253402214400000
    WHEN COALESCE(t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
      THEN strftime('%Y-%m-%d %H:%M:%f', (253402214400000) / 1000.0, 'unixepoch')
    ELSE strftime('%Y-%m-%dT%H:%M:%fZ', (253402214400000) / 1000.0, 'unixepoch')
    END,
  "claimed_by" = NULL,
  "attempts" = COALESCE(t."attempts", 0) + 1,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
FROM (SELECT CAST(value->>'id' AS TEXT) AS "id", CAST(value->>'f0' AS TEXT) AS "f0" FROM json_each(?1)) AS v
WHERE t."id" = v."id"
  AND +t."status" = 'CALLING-SENT-CALLBACK'
  AND CAST(t."version" AS TEXT) IS v."f0"
RETURNING CAST("id" AS TEXT);

-- sent_callback: settle skipped, each, step 2: [Rows([Reason, Id]), Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'SENT',
  v."reason",
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
FROM "emails" AS t
  JOIN (SELECT value->>'reason' AS "reason", CAST(value->>'id' AS TEXT) AS "id" FROM json_each(?1)) AS v
  ON t."id" = v."id"
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2));

-- sent_callback: settle deferred, uniform, step 1: [One(Delay), Ids, One(Fence(0))] -> Keys
UPDATE "emails" AS t SET
  "status" = 'SENT',
  "claimed_by" = NULL,
  "next_attempt_at" = CASE
    WHEN typeof(COALESCE(t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
        + CAST(round(?1 * 1000.0) AS INTEGER)
        + 0
    WHEN COALESCE(t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
      THEN strftime(
        '%Y-%m-%d %H:%M:%f',
          (
            CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
              + CAST(round(?1 * 1000.0) AS INTEGER)
              + 0
          )
            / 1000.0,
          'unixepoch'
      )
    ELSE strftime(
      '%Y-%m-%dT%H:%M:%fZ',
        (
          CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
            + CAST(round(?1 * 1000.0) AS INTEGER)
            + 0
        )
          / 1000.0,
        'unixepoch'
    )
    END,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2))
  AND +t."status" = 'CALLING-SENT-CALLBACK'
  AND CAST(t."version" AS TEXT) IS ?3
RETURNING CAST("id" AS TEXT);

-- sent_callback: settle deferred, uniform, step 2: [One(Reason), Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'SENT',
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2));

-- sent_callback: settle deferred, each, step 1: [Rows([Id, Fence(0), Delay])] -> Keys
UPDATE "emails" AS t SET
  "status" = 'SENT',
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
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
    CAST(value->>'id' AS TEXT) AS "id",
    CAST(value->>'f0' AS TEXT) AS "f0",
    value->>'delay' AS "delay"
  FROM json_each(?1)
) AS v
WHERE t."id" = v."id"
  AND +t."status" = 'CALLING-SENT-CALLBACK'
  AND CAST(t."version" AS TEXT) IS v."f0"
RETURNING CAST("id" AS TEXT);

-- sent_callback: settle deferred, each, step 2: [Rows([Reason, Id]), Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'SENT',
  v."reason",
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
FROM "emails" AS t
  JOIN (SELECT value->>'reason' AS "reason", CAST(value->>'id' AS TEXT) AS "id" FROM json_each(?1)) AS v
  ON t."id" = v."id"
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2));

-- sent_callback: settle released, uniform, step 1: [Ids, One(Fence(0))] -> Keys
UPDATE "emails" AS t SET
  "status" = 'SENT',
  "claimed_by" = NULL,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1))
  AND +t."status" = 'CALLING-SENT-CALLBACK'
  AND CAST(t."version" AS TEXT) IS ?2
RETURNING CAST("id" AS TEXT);

-- sent_callback: settle released, uniform, step 2: [One(Reason), Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'SENT',
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2));

-- sent_callback: settle released, each, step 1: [Rows([Id, Fence(0)])] -> Keys
UPDATE "emails" AS t SET
  "status" = 'SENT',
  "claimed_by" = NULL,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
FROM (SELECT CAST(value->>'id' AS TEXT) AS "id", CAST(value->>'f0' AS TEXT) AS "f0" FROM json_each(?1)) AS v
WHERE t."id" = v."id"
  AND +t."status" = 'CALLING-SENT-CALLBACK'
  AND CAST(t."version" AS TEXT) IS v."f0"
RETURNING CAST("id" AS TEXT);

-- sent_callback: settle released, each, step 2: [Rows([Reason, Id]), Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'SENT',
  v."reason",
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
FROM "emails" AS t
  JOIN (SELECT value->>'reason' AS "reason", CAST(value->>'id' AS TEXT) AS "id" FROM json_each(?1)) AS v
  ON t."id" = v."id"
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2));

-- sent_callback: extend: [Rows([Id, Fence(0)])] -> Leases
UPDATE "emails" AS t SET
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*' THEN CASE
    WHEN CASE
    WHEN typeof(t."updated_at") IN ('integer', 'real')
    OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
    ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END
      BETWEEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 - 1
      AND CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 + 60000
      THEN CASE
    WHEN typeof(t."updated_at") IN ('integer', 'real')
    OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
    ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END + 1
    ELSE CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    END
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
      THEN strftime(
        '%Y-%m-%d %H:%M:%f',
          (
            CASE
              WHEN CASE
              WHEN typeof(t."updated_at") IN ('integer', 'real')
              OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
              ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
              END
                BETWEEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 - 1
                AND CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 + 60000
                THEN CASE
              WHEN typeof(t."updated_at") IN ('integer', 'real')
              OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
              ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
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
            WHEN typeof(t."updated_at") IN ('integer', 'real')
            OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
            ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
            END
              BETWEEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 - 1
              AND CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 + 60000
              THEN CASE
            WHEN typeof(t."updated_at") IN ('integer', 'real')
            OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
            ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
            END + 1
            ELSE CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
            END
        )
          / 1000.0,
        'unixepoch'
    )
    END,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END
FROM (SELECT CAST(value->>'id' AS TEXT) AS "id", CAST(value->>'f0' AS TEXT) AS "f0" FROM json_each(?1)) AS v
WHERE t."id" = v."id"
  AND +t."status" = 'CALLING-SENT-CALLBACK'
  AND CAST(t."version" AS TEXT) IS v."f0"
RETURNING
  CAST("id" AS TEXT),
  CAST("version" AS TEXT);

-- sent_callback: leases after a lost extension: [Ids, Owner] -> Leases
SELECT
  CAST(t."id" AS TEXT),
  CAST(t."version" AS TEXT)
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1))
  AND +t."status" = 'CALLING-SENT-CALLBACK'
  AND t."claimed_by" = ?2;

-- sent_callback: stamp: [Limit] -> Keys
UPDATE "emails" AS t SET "updated_at" = CASE
  WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
  OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
    THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
  WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
FROM "emails" AS t
WHERE t."status" = 'CALLING-SENT-CALLBACK'
  AND (
    t."updated_at" IS NOT NULL
      AND CASE
      WHEN typeof(t."updated_at") IN ('integer', 'real')
      OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
      ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END IS NULL
  )
LIMIT ?1)
RETURNING CAST("id" AS TEXT);

-- sent_callback: leases that still hold: [Rows([Id, Fence(0)])] -> Keys
SELECT CAST(t."id" AS TEXT)
FROM (
  SELECT
    CAST(value->>'id' AS TEXT) AS "id",
    CAST(value->>'f0' AS TEXT) AS "f0"
  FROM json_each(?1)
) AS v CROSS
  JOIN "emails" AS t
WHERE t."id" = v."id"
  AND +t."status" = 'CALLING-SENT-CALLBACK'
  AND CAST(t."version" AS TEXT) IS v."f0"
  AND (
    CASE
      WHEN typeof(t."updated_at") IN ('integer', 'real')
      OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
      ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END < CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) - 600000
  ) IS NOT TRUE;

-- sent_callback: look for rows of a lost claim: [Owner] -> Keys
SELECT CAST(t."id" AS TEXT)
FROM "emails" AS t
WHERE t."status" = 'CALLING-SENT-CALLBACK'
  AND t."claimed_by" = ?1;

-- sent_callback: release rows of a lost claim, step 1: [Ids, Owner] -> Keys
UPDATE "emails" AS t SET
  "status" = 'SENT',
  "claimed_by" = NULL,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1))
  AND +t."status" = 'CALLING-SENT-CALLBACK'
  AND t."claimed_by" = ?2)
RETURNING CAST("id" AS TEXT);

-- sent_callback: release rows of a lost claim, step 2: [Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'SENT',
  NULL,
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1));

-- sent_callback: look for expired leases: [Limit] -> Other
SELECT
  CAST(t."id" AS TEXT),
  CAST(t."version" AS TEXT),
  CASE WHEN COALESCE(t."attempts", 0) + 1 >= 5 THEN 1 ELSE 0 END,
  5
FROM "emails" AS t
WHERE t."status" = 'CALLING-SENT-CALLBACK'
  AND CASE
    WHEN typeof(t."updated_at") IN ('integer', 'real')
    OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
    ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END < CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) - 600000
ORDER BY CASE
  WHEN typeof(t."updated_at") IN ('integer', 'real')
  OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
  ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
  END
LIMIT ?1;

-- sent_callback: reclaim, free, step 1: [Ids] -> Keys
UPDATE "emails" AS t SET
  "status" = 'SENT',
  "claimed_by" = NULL,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1))
  AND +t."status" = 'CALLING-SENT-CALLBACK'
  AND CASE
    WHEN typeof(t."updated_at") IN ('integer', 'real')
    OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
    ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END < CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) - 600000)
RETURNING CAST("id" AS TEXT);

-- sent_callback: reclaim, free, step 2: [Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'SENT',
  NULL,
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1));

-- sent_callback: reclaim, spared, step 1: [Ids] -> Keys
UPDATE "emails" AS t SET
  "status" = 'SENT',
  "claimed_by" = NULL,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1))
  AND +t."status" = 'CALLING-SENT-CALLBACK'
  AND CASE
    WHEN typeof(t."updated_at") IN ('integer', 'real')
    OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
    ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END < CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) - 600000)
RETURNING CAST("id" AS TEXT);

-- sent_callback: reclaim, spared, step 2: [Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'SENT',
  NULL,
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1));

-- sent_callback: reclaim, spared, step 3: [Held] -> Nothing
INSERT INTO postrider_crashes (place, row_id, crashes, crashed_at)
SELECT
  'emails/sent_callback',
  CAST(value AS TEXT),
  1,
  strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
FROM json_each(?1) WHERE true
ON CONFLICT (place, row_id) DO UPDATE SET
  crashes = crashes + 1,
  crashed_at = excluded.crashed_at;

-- sent_callback: reclaim, charged, step 1: [Ids] -> Keys
UPDATE "emails" AS t SET
  "status" = 'SENT',
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
  "attempts" = COALESCE(t."attempts", 0) + 1,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1))
  AND +t."status" = 'CALLING-SENT-CALLBACK'
  AND CASE
    WHEN typeof(t."updated_at") IN ('integer', 'real')
    OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
    ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END < CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) - 600000)
RETURNING CAST("id" AS TEXT);

-- sent_callback: reclaim, charged, step 2: [Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'SENT',
  'lease expired: the worker that held it is gone',
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1));

-- sent_callback: reclaim, charged, step 3: [Held] -> Nothing
INSERT INTO postrider_crashes (place, row_id, crashes, crashed_at)
SELECT
  'emails/sent_callback',
  CAST(value AS TEXT),
  1,
  strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
FROM json_each(?1) WHERE true
ON CONFLICT (place, row_id) DO UPDATE SET
  crashes = crashes + 1,
  crashed_at = excluded.crashed_at;

-- sent_callback: reclaim, dead, step 1: [Ids] -> Keys
UPDATE "emails" AS t SET
  "status" = 'SENT',
  "next_attempt_at" = CASE
    WHEN typeof(COALESCE(t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*' THEN 253402214400000
    WHEN COALESCE(t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
      THEN strftime('%Y-%m-%d %H:%M:%f', (253402214400000) / 1000.0, 'unixepoch')
    ELSE strftime('%Y-%m-%dT%H:%M:%fZ', (253402214400000) / 1000.0, 'unixepoch')
    END,
  "claimed_by" = NULL,
  "attempts" = COALESCE(t."attempts", 0) + 1,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1))
  AND +t."status" = 'CALLING-SENT-CALLBACK'
  AND CASE
    WHEN typeof(t."updated_at") IN ('integer', 'real')
    OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
    ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END < CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) - 600000)
RETURNING CAST("id" AS TEXT);

-- sent_callback: reclaim, dead, step 2: [Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'SENT',
  'poison row: its workers crashed repeatedly, also when it was delivered alone',
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1));

-- sent_callback: reclaim, dead, step 3: [Held] -> Nothing
DELETE
  FROM postrider_crashes
  WHERE place = 'emails/sent_callback'
  AND row_id IN (SELECT CAST(value AS TEXT) FROM json_each(?1));

-- sent_callback: spent, step 1: [Limit] -> Keys
UPDATE "emails" AS t SET
  "status" = 'SENT',
  "next_attempt_at" = CASE
    WHEN typeof(COALESCE(t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*' THEN 253402214400000
    WHEN COALESCE(t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
      THEN strftime('%Y-%m-%d %H:%M:%f', (253402214400000) / 1000.0, 'unixepoch')
    ELSE strftime('%Y-%m-%dT%H:%M:%fZ', (253402214400000) / 1000.0, 'unixepoch')
    END,
  "claimed_by" = NULL,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
FROM "emails" AS t
WHERE t."status" = 'SENT'
  AND (
    CASE
      WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
      OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
      ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END IS NULL
      OR CASE
      WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
      OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
      ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END < 253402214400000
  )
  AND CASE
    WHEN t."status" = 'SENT'
    AND CASE
    WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
    OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
    ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END >= 253402214400000 THEN 'SENT_SILENT'
    WHEN t."status" = 'FAILED'
    AND CASE
    WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
    OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
    ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END >= 253402214400000 THEN 'FAILED_SILENT'
    WHEN t."status" = 'INVALID' THEN 'INVALID'
    WHEN t."status" = 'ACCEPTED'
    AND COALESCE(t."attempts", 0) >= 5 THEN 'no attempts left'
    WHEN t."status" = 'READY'
    AND COALESCE(t."attempts", 0) >= 5 THEN 'no attempts left'
    WHEN t."status" = 'SENT'
    AND (
      CASE
        WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
        OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
        ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END IS NULL
        OR CASE
        WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
        OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
        ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END < 253402214400000
    )
    AND COALESCE(t."attempts", 0) >= 5 THEN 'no attempts left'
    WHEN t."status" = 'FAILED'
    AND (
      CASE
        WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
        OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
        ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END IS NULL
        OR CASE
        WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
        OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
        ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END < 253402214400000
    )
    AND COALESCE(t."attempts", 0) >= 5 THEN 'no attempts left'
    END = 'no attempts left'
  AND COALESCE(t."attempts", 0) >= 5
LIMIT ?1)
RETURNING CAST("id" AS TEXT);

-- sent_callback: spent, step 2: [Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'SENT',
  'no attempts left',
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1));

-- sent_callback: next due: [] -> Other
SELECT CAST(
  COALESCE(
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
      ),
      0
  ) AS INTEGER
) AS w
FROM "emails" AS t
WHERE t."status" = 'SENT'
  AND (
    CASE
      WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
      OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
      ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END IS NULL
      OR CASE
      WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
      OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
      ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END < 253402214400000
  )
  AND COALESCE(t."attempts", 0) < 5
ORDER BY COALESCE(
  CASE
    WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
    OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
    ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END,
    0
)
LIMIT 1;

-- sent_callback: lag: [] -> Other
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
    FROM "emails" AS t
    WHERE t."status" = 'SENT'
    AND (
      CASE
        WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
        OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
        ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END IS NULL
        OR CASE
        WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
        OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
        ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END < 253402214400000
    )
    AND COALESCE(
      CASE
        WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
        OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
        ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END,
        0
    ) <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
      + 0
    AND COALESCE(t."attempts", 0) < 5
    ORDER BY CASE
    WHEN typeof(t."updated_at") IN ('integer', 'real')
    OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
    ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END
    LIMIT 1
),
  (
    SELECT (
      (
        (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0) - CASE
          WHEN typeof(t."updated_at") IN ('integer', 'real')
          OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
          ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
          END
      )
        * 1000
    )
      / 1000000.0
      FROM "emails" AS t
      WHERE t."status" = 'CALLING-SENT-CALLBACK'
      ORDER BY CASE
      WHEN typeof(t."updated_at") IN ('integer', 'real')
      OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
      ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END
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
UPDATE "emails" AS t SET
  "status" = 'ACCEPTED',
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
  "attempts" = 0,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1))
  AND +t."status" = 'INVALID')
RETURNING CAST("id" AS TEXT);

-- sent_callback: requeue ids INVALID, step 2: [Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'ACCEPTED',
  NULL,
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1));

-- sent_callback: requeue ids SENT_SILENT: as above

-- sent_callback: requeue ids FAILED_SILENT: as above

-- sent_callback: requeue state INVALID, step 1: [Since, Limit] -> Keys
UPDATE "emails" AS t SET
  "status" = 'ACCEPTED',
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
  "attempts" = 0,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
FROM "emails" AS t
WHERE t."status" = 'INVALID'
  AND CASE
    WHEN t."status" = 'SENT'
    AND CASE
    WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
    OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
    ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END >= 253402214400000 THEN 'SENT_SILENT'
    WHEN t."status" = 'FAILED'
    AND CASE
    WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
    OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
    ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END >= 253402214400000 THEN 'FAILED_SILENT'
    WHEN t."status" = 'INVALID' THEN 'INVALID'
    WHEN t."status" = 'ACCEPTED'
    AND COALESCE(t."attempts", 0) >= 5 THEN 'no attempts left'
    WHEN t."status" = 'READY'
    AND COALESCE(t."attempts", 0) >= 5 THEN 'no attempts left'
    WHEN t."status" = 'SENT'
    AND (
      CASE
        WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
        OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
        ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END IS NULL
        OR CASE
        WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
        OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
        ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END < 253402214400000
    )
    AND COALESCE(t."attempts", 0) >= 5 THEN 'no attempts left'
    WHEN t."status" = 'FAILED'
    AND (
      CASE
        WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
        OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
        ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END IS NULL
        OR CASE
        WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
        OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
        ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END < 253402214400000
    )
    AND COALESCE(t."attempts", 0) >= 5 THEN 'no attempts left'
    END = 'INVALID'
  AND (
    ?1 IS NULL
      OR CASE
      WHEN typeof(t."updated_at") IN ('integer', 'real')
      OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
      ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END >= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
        + CAST(round((0 - ?1) * 1000.0) AS INTEGER)
        + 0
      OR t."updated_at" IS NULL
      AND CASE
      WHEN typeof(t."updated_at") IN ('integer', 'real')
      OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
      ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END >= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
        + CAST(round((0 - ?1) * 1000.0) AS INTEGER)
        + 0
      OR t."updated_at" IS NULL
      AND t."updated_at" IS NULL
      AND CASE
      WHEN typeof(t."created_at") IN ('integer', 'real')
      OR t."created_at" NOT GLOB '*[^0-9]*' THEN CAST(t."created_at" AS INTEGER)
      ELSE CAST(round((julianday(t."created_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END >= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
        + CAST(round((0 - ?1) * 1000.0) AS INTEGER)
        + 0
  )
LIMIT ?2)
RETURNING CAST("id" AS TEXT);

-- sent_callback: requeue state INVALID, step 2: [Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'ACCEPTED',
  NULL,
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1));

-- sent_callback: requeue state SENT_SILENT: as above

-- sent_callback: requeue state FAILED_SILENT: as above

-- sent_callback: release ids CALLING-SENT-CALLBACK, step 1: [Ids] -> Keys
UPDATE "emails" AS t SET
  "status" = 'SENT',
  "claimed_by" = NULL,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1))
  AND +t."status" = 'CALLING-SENT-CALLBACK')
RETURNING CAST("id" AS TEXT);

-- sent_callback: release ids CALLING-SENT-CALLBACK, step 2: [Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'SENT',
  NULL,
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1));

-- sent_callback: release state CALLING-SENT-CALLBACK, step 1: [Since, Limit] -> Keys
UPDATE "emails" AS t SET
  "status" = 'SENT',
  "claimed_by" = NULL,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
FROM "emails" AS t
WHERE t."status" = 'CALLING-SENT-CALLBACK'
  AND (
    ?1 IS NULL
      OR CASE
      WHEN typeof(t."updated_at") IN ('integer', 'real')
      OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
      ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END >= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
        + CAST(round((0 - ?1) * 1000.0) AS INTEGER)
        + 0
      OR t."updated_at" IS NULL
      AND CASE
      WHEN typeof(t."updated_at") IN ('integer', 'real')
      OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
      ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END >= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
        + CAST(round((0 - ?1) * 1000.0) AS INTEGER)
        + 0
      OR t."updated_at" IS NULL
      AND t."updated_at" IS NULL
      AND CASE
      WHEN typeof(t."created_at") IN ('integer', 'real')
      OR t."created_at" NOT GLOB '*[^0-9]*' THEN CAST(t."created_at" AS INTEGER)
      ELSE CAST(round((julianday(t."created_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END >= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
        + CAST(round((0 - ?1) * 1000.0) AS INTEGER)
        + 0
  )
LIMIT ?2)
RETURNING CAST("id" AS TEXT);

-- sent_callback: release state CALLING-SENT-CALLBACK, step 2: [Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'SENT',
  NULL,
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1));

-- failed_callback: layout Layout { integer_id: false, fences: 1, claim_time: None, pool: 7, fields:
--   ["eml_path", "payload_path", "reason"], joined: ["history.reached", "clock"] }

-- failed_callback: claim 1, step 1: [Limit] -> Keys
SELECT CAST(t."id" AS TEXT)
FROM "emails" AS t
WHERE t."status" = 'FAILED'
  AND (
    CASE
      WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
      OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
      ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END IS NULL
      OR CASE
      WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
      OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
      ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END < 253402214400000
  )
  AND COALESCE(
    CASE
      WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
      OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
      ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END,
      0
  ) <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
    + 0
  AND COALESCE(t."attempts", 0) < 5
ORDER BY CASE
  WHEN typeof(t."updated_at") IN ('integer', 'real')
  OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
  ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
  END,
  t."id"
LIMIT ?1;

-- failed_callback: claim 1, step 2: [Owner, Held] -> Rows
UPDATE "emails" AS t SET
  "status" = 'CALLING-FAILED-CALLBACK',
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*' THEN CASE
    WHEN CASE
    WHEN typeof(t."updated_at") IN ('integer', 'real')
    OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
    ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END
      BETWEEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 - 1
      AND CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 + 60000
      THEN CASE
    WHEN typeof(t."updated_at") IN ('integer', 'real')
    OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
    ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END + 1
    ELSE CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    END
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
      THEN strftime(
        '%Y-%m-%d %H:%M:%f',
          (
            CASE
              WHEN CASE
              WHEN typeof(t."updated_at") IN ('integer', 'real')
              OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
              ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
              END
                BETWEEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 - 1
                AND CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 + 60000
                THEN CASE
              WHEN typeof(t."updated_at") IN ('integer', 'real')
              OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
              ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
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
            WHEN typeof(t."updated_at") IN ('integer', 'real')
            OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
            ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
            END
              BETWEEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 - 1
              AND CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 + 60000
              THEN CASE
            WHEN typeof(t."updated_at") IN ('integer', 'real')
            OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
            ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
            END + 1
            ELSE CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
            END
        )
          / 1000.0,
        'unixepoch'
    )
    END,
  "claimed_by" = ?1,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2))
RETURNING
  CAST("id" AS TEXT),
  CAST("version" AS TEXT),
  CAST(COALESCE("attempts", 0) AS INTEGER),
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
    COALESCE(length(CAST("eml_file_path" AS BLOB)), 0)
      + COALESCE(length(CAST("payload_file_path" AS BLOB)), 0)
      + COALESCE(length(CAST("reason" AS BLOB)), 0) AS INTEGER
  ),
  CASE WHEN length(CAST("eml_file_path" AS BLOB)) <= 65536 THEN "eml_file_path" END,
  CASE WHEN length(CAST("payload_file_path" AS BLOB)) <= 65536 THEN "payload_file_path" END,
  CASE WHEN length(CAST("reason" AS BLOB)) <= 65536 THEN "reason" END;

-- failed_callback: claim 1, step 3: [Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'CALLING-FAILED-CALLBACK',
  NULL,
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1));

-- failed_callback: load: as above

-- failed_callback: join: [Ids] -> Other
SELECT
  CAST(t."id" AS TEXT),
  (
    CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
      - CAST(
        (
          (
            (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0) - CASE
              WHEN typeof(
                (
                  SELECT h."created_at"
                    FROM "email_statuses" AS h
                    WHERE h."email_id" = t."id"
                    AND h."status" = 'FAILED'
                    AND h."id"
                      > COALESCE(
                        (
                          SELECT MAX(o."id")
                            FROM "email_statuses" AS o
                            WHERE o."email_id" = t."id"
                            AND o."status" NOT IN ('CALLING-FAILED-CALLBACK', 'FAILED')
                        ),
                          0
                      )
                    ORDER BY h."id"
                    LIMIT 1
                )
              ) IN ('integer', 'real')
              OR (
                SELECT h."created_at"
                  FROM "email_statuses" AS h
                  WHERE h."email_id" = t."id"
                  AND h."status" = 'FAILED'
                  AND h."id"
                    > COALESCE(
                      (
                        SELECT MAX(o."id")
                          FROM "email_statuses" AS o
                          WHERE o."email_id" = t."id"
                          AND o."status" NOT IN ('CALLING-FAILED-CALLBACK', 'FAILED')
                      ),
                        0
                    )
                  ORDER BY h."id"
                  LIMIT 1
              ) NOT GLOB '*[^0-9]*'
                THEN CAST(
                  (
                    SELECT h."created_at"
                      FROM "email_statuses" AS h
                      WHERE h."email_id" = t."id"
                      AND h."status" = 'FAILED'
                      AND h."id"
                        > COALESCE(
                          (
                            SELECT MAX(o."id")
                              FROM "email_statuses" AS o
                              WHERE o."email_id" = t."id"
                              AND o."status" NOT IN ('CALLING-FAILED-CALLBACK', 'FAILED')
                          ),
                            0
                        )
                      ORDER BY h."id"
                      LIMIT 1
                  ) AS INTEGER
                )
              ELSE CAST(
                round(
                  (
                    julianday(
                      (
                        SELECT h."created_at"
                          FROM "email_statuses" AS h
                          WHERE h."email_id" = t."id"
                          AND h."status" = 'FAILED'
                          AND h."id"
                            > COALESCE(
                              (
                                SELECT MAX(o."id")
                                  FROM "email_statuses" AS o
                                  WHERE o."email_id" = t."id"
                                  AND o."status" NOT IN ('CALLING-FAILED-CALLBACK', 'FAILED')
                              ),
                                0
                            )
                          ORDER BY h."id"
                          LIMIT 1
                      )
                    )
                      - 2440587.5
                  )
                    * 86400000.0
                ) AS INTEGER
              )
              END
          )
            * 1000
        )
          / 1000 AS INTEGER
      )
  ),
  CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1));

-- failed_callback: settle delivered, uniform, step 1: [One(Outcome("eml_path")), Ids, One(Fence(0))] -> Keys
UPDATE "emails" AS t SET
  "eml_file_path" = COALESCE(?1, t."eml_file_path"),
  "status" = 'FAILED-ACKNOWLEDGED',
  "claimed_by" = NULL,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2))
  AND +t."status" = 'CALLING-FAILED-CALLBACK'
  AND CAST(t."version" AS TEXT) IS ?3
RETURNING CAST("id" AS TEXT);

-- failed_callback: settle delivered, uniform, step 2: [One(Reason), Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'FAILED-ACKNOWLEDGED',
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2));

-- failed_callback: settle delivered, each, step 1: [Rows([Id, Fence(0), Outcome("eml_path")])] -> Keys
UPDATE "emails" AS t SET
  "eml_file_path" = COALESCE(v."o_eml_path", t."eml_file_path"),
  "status" = 'FAILED-ACKNOWLEDGED',
  "claimed_by" = NULL,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
    CAST(value->>'id' AS TEXT) AS "id",
    CAST(value->>'f0' AS TEXT) AS "f0",
    value->>'o_eml_path' AS "o_eml_path"
  FROM json_each(?1)
) AS v
WHERE t."id" = v."id"
  AND +t."status" = 'CALLING-FAILED-CALLBACK'
  AND CAST(t."version" AS TEXT) IS v."f0"
RETURNING CAST("id" AS TEXT);

-- failed_callback: settle delivered, each, step 2: [Rows([Reason, Id]), Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'FAILED-ACKNOWLEDGED',
  v."reason",
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
FROM "emails" AS t
  JOIN (SELECT value->>'reason' AS "reason", CAST(value->>'id' AS TEXT) AS "id" FROM json_each(?1)) AS v
  ON t."id" = v."id"
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2));

-- failed_callback: settle retry, uniform, step 1: [One(Delay), Ids, One(Fence(0))] -> Keys
UPDATE "emails" AS t SET
  "status" = 'FAILED',
  "claimed_by" = NULL,
  "next_attempt_at" = CASE
    WHEN typeof(COALESCE(t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
        + CAST(round(?1 * 1000.0) AS INTEGER)
        + 0
    WHEN COALESCE(t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
      THEN strftime(
        '%Y-%m-%d %H:%M:%f',
          (
            CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
              + CAST(round(?1 * 1000.0) AS INTEGER)
              + 0
          )
            / 1000.0,
          'unixepoch'
      )
    ELSE strftime(
      '%Y-%m-%dT%H:%M:%fZ',
        (
          CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
            + CAST(round(?1 * 1000.0) AS INTEGER)
            + 0
        )
          / 1000.0,
        'unixepoch'
    )
    END,
  "attempts" = COALESCE(t."attempts", 0) + 1,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2))
  AND +t."status" = 'CALLING-FAILED-CALLBACK'
  AND CAST(t."version" AS TEXT) IS ?3
RETURNING CAST("id" AS TEXT);

-- failed_callback: settle retry, uniform, step 2: [One(Reason), Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'FAILED',
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2));

-- failed_callback: settle retry, each, step 1: [Rows([Id, Fence(0), Delay])] -> Keys
UPDATE "emails" AS t SET
  "status" = 'FAILED',
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
  "attempts" = COALESCE(t."attempts", 0) + 1,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
    CAST(value->>'id' AS TEXT) AS "id",
    CAST(value->>'f0' AS TEXT) AS "f0",
    value->>'delay' AS "delay"
  FROM json_each(?1)
) AS v
WHERE t."id" = v."id"
  AND +t."status" = 'CALLING-FAILED-CALLBACK'
  AND CAST(t."version" AS TEXT) IS v."f0"
RETURNING CAST("id" AS TEXT);

-- failed_callback: settle retry, each, step 2: [Rows([Reason, Id]), Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'FAILED',
  v."reason",
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
FROM "emails" AS t
  JOIN (SELECT value->>'reason' AS "reason", CAST(value->>'id' AS TEXT) AS "id" FROM json_each(?1)) AS v
  ON t."id" = v."id"
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2));

-- failed_callback: settle dead, uniform, step 1: [Ids, One(Fence(0))] -> Keys
UPDATE "emails" AS t SET
  "status" = 'FAILED',
  "next_attempt_at" = CASE
    WHEN typeof(COALESCE(t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*' THEN 253402214400000
    WHEN COALESCE(t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
      THEN strftime('%Y-%m-%d %H:%M:%f', (253402214400000) / 1000.0, 'unixepoch')
    ELSE strftime('%Y-%m-%dT%H:%M:%fZ', (253402214400000) / 1000.0, 'unixepoch')
    END,
  "claimed_by" = NULL,
  "attempts" = COALESCE(t."attempts", 0) + 1,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1))
  AND +t."status" = 'CALLING-FAILED-CALLBACK'
  AND CAST(t."version" AS TEXT) IS ?2
RETURNING CAST("id" AS TEXT);

-- failed_callback: settle dead, uniform, step 2: [One(Reason), Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'FAILED',
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2));

-- failed_callback: settle dead, each, step 1: [Rows([Id, Fence(0)])] -> Keys
UPDATE "emails" AS t SET
  "status" = 'FAILED',
  "next_attempt_at" = CASE
    WHEN typeof(COALESCE(t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*' THEN 253402214400000
    WHEN COALESCE(t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
      THEN strftime('%Y-%m-%d %H:%M:%f', (253402214400000) / 1000.0, 'unixepoch')
    ELSE strftime('%Y-%m-%dT%H:%M:%fZ', (253402214400000) / 1000.0, 'unixepoch')
    END,
  "claimed_by" = NULL,
  "attempts" = COALESCE(t."attempts", 0) + 1,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
FROM (SELECT CAST(value->>'id' AS TEXT) AS "id", CAST(value->>'f0' AS TEXT) AS "f0" FROM json_each(?1)) AS v
WHERE t."id" = v."id"
  AND +t."status" = 'CALLING-FAILED-CALLBACK'
  AND CAST(t."version" AS TEXT) IS v."f0"
RETURNING CAST("id" AS TEXT);

-- failed_callback: settle dead, each, step 2: [Rows([Reason, Id]), Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'FAILED',
  v."reason",
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
FROM "emails" AS t
  JOIN (SELECT value->>'reason' AS "reason", CAST(value->>'id' AS TEXT) AS "id" FROM json_each(?1)) AS v
  ON t."id" = v."id"
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2));

-- failed_callback: settle rejected, uniform, step 1: [Ids, One(Fence(0))] -> Keys
UPDATE "emails" AS t SET
  "status" = 'FAILED',
  "next_attempt_at" = CASE
    WHEN typeof(COALESCE(t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*' THEN 253402214400000
    WHEN COALESCE(t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
      THEN strftime('%Y-%m-%d %H:%M:%f', (253402214400000) / 1000.0, 'unixepoch')
    ELSE strftime('%Y-%m-%dT%H:%M:%fZ', (253402214400000) / 1000.0, 'unixepoch')
    END,
  "claimed_by" = NULL,
  "attempts" = COALESCE(t."attempts", 0) + 1,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1))
  AND +t."status" = 'CALLING-FAILED-CALLBACK'
  AND CAST(t."version" AS TEXT) IS ?2
RETURNING CAST("id" AS TEXT);

-- failed_callback: settle rejected, uniform, step 2: [One(Reason), Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'FAILED',
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2));

-- failed_callback: settle rejected, each, step 1: [Rows([Id, Fence(0)])] -> Keys
UPDATE "emails" AS t SET
  "status" = 'FAILED',
  "next_attempt_at" = CASE
    WHEN typeof(COALESCE(t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*' THEN 253402214400000
    WHEN COALESCE(t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
      THEN strftime('%Y-%m-%d %H:%M:%f', (253402214400000) / 1000.0, 'unixepoch')
    ELSE strftime('%Y-%m-%dT%H:%M:%fZ', (253402214400000) / 1000.0, 'unixepoch')
    END,
  "claimed_by" = NULL,
  "attempts" = COALESCE(t."attempts", 0) + 1,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
FROM (SELECT CAST(value->>'id' AS TEXT) AS "id", CAST(value->>'f0' AS TEXT) AS "f0" FROM json_each(?1)) AS v
WHERE t."id" = v."id"
  AND +t."status" = 'CALLING-FAILED-CALLBACK'
  AND CAST(t."version" AS TEXT) IS v."f0"
RETURNING CAST("id" AS TEXT);

-- failed_callback: settle rejected, each, step 2: [Rows([Reason, Id]), Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'FAILED',
  v."reason",
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
FROM "emails" AS t
  JOIN (SELECT value->>'reason' AS "reason", CAST(value->>'id' AS TEXT) AS "id" FROM json_each(?1)) AS v
  ON t."id" = v."id"
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2));

-- failed_callback: settle skipped, uniform, step 1: [Ids, One(Fence(0))] -> Keys
UPDATE "emails" AS t SET
  "status" = 'FAILED',
  "next_attempt_at" = CASE
    WHEN typeof(COALESCE(t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*' THEN 253402214400000
    WHEN COALESCE(t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
      THEN strftime('%Y-%m-%d %H:%M:%f', (253402214400000) / 1000.0, 'unixepoch')
    ELSE strftime('%Y-%m-%dT%H:%M:%fZ', (253402214400000) / 1000.0, 'unixepoch')
    END,
  "claimed_by" = NULL,
  "attempts" = COALESCE(t."attempts", 0) + 1,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1))
  AND +t."status" = 'CALLING-FAILED-CALLBACK'
  AND CAST(t."version" AS TEXT) IS ?2
RETURNING CAST("id" AS TEXT);

-- failed_callback: settle skipped, uniform, step 2: [One(Reason), Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'FAILED',
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2));

-- failed_callback: settle skipped, each, step 1: [Rows([Id, Fence(0)])] -> Keys
UPDATE "emails" AS t SET
  "status" = 'FAILED',
  "next_attempt_at" = CASE
    WHEN typeof(COALESCE(t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*' THEN 253402214400000
    WHEN COALESCE(t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
      THEN strftime('%Y-%m-%d %H:%M:%f', (253402214400000) / 1000.0, 'unixepoch')
    ELSE strftime('%Y-%m-%dT%H:%M:%fZ', (253402214400000) / 1000.0, 'unixepoch')
    END,
  "claimed_by" = NULL,
  "attempts" = COALESCE(t."attempts", 0) + 1,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
FROM (SELECT CAST(value->>'id' AS TEXT) AS "id", CAST(value->>'f0' AS TEXT) AS "f0" FROM json_each(?1)) AS v
WHERE t."id" = v."id"
  AND +t."status" = 'CALLING-FAILED-CALLBACK'
  AND CAST(t."version" AS TEXT) IS v."f0"
RETURNING CAST("id" AS TEXT);

-- failed_callback: settle skipped, each, step 2: [Rows([Reason, Id]), Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'FAILED',
  v."reason",
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
FROM "emails" AS t
  JOIN (SELECT value->>'reason' AS "reason", CAST(value->>'id' AS TEXT) AS "id" FROM json_each(?1)) AS v
  ON t."id" = v."id"
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2));

-- failed_callback: settle deferred, uniform, step 1: [One(Delay), Ids, One(Fence(0))] -> Keys
UPDATE "emails" AS t SET
  "status" = 'FAILED',
  "claimed_by" = NULL,
  "next_attempt_at" = CASE
    WHEN typeof(COALESCE(t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
        + CAST(round(?1 * 1000.0) AS INTEGER)
        + 0
    WHEN COALESCE(t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
      THEN strftime(
        '%Y-%m-%d %H:%M:%f',
          (
            CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
              + CAST(round(?1 * 1000.0) AS INTEGER)
              + 0
          )
            / 1000.0,
          'unixepoch'
      )
    ELSE strftime(
      '%Y-%m-%dT%H:%M:%fZ',
        (
          CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
            + CAST(round(?1 * 1000.0) AS INTEGER)
            + 0
        )
          / 1000.0,
        'unixepoch'
    )
    END,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2))
  AND +t."status" = 'CALLING-FAILED-CALLBACK'
  AND CAST(t."version" AS TEXT) IS ?3
RETURNING CAST("id" AS TEXT);

-- failed_callback: settle deferred, uniform, step 2: [One(Reason), Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'FAILED',
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2));

-- failed_callback: settle deferred, each, step 1: [Rows([Id, Fence(0), Delay])] -> Keys
UPDATE "emails" AS t SET
  "status" = 'FAILED',
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
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
    CAST(value->>'id' AS TEXT) AS "id",
    CAST(value->>'f0' AS TEXT) AS "f0",
    value->>'delay' AS "delay"
  FROM json_each(?1)
) AS v
WHERE t."id" = v."id"
  AND +t."status" = 'CALLING-FAILED-CALLBACK'
  AND CAST(t."version" AS TEXT) IS v."f0"
RETURNING CAST("id" AS TEXT);

-- failed_callback: settle deferred, each, step 2: [Rows([Reason, Id]), Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'FAILED',
  v."reason",
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
FROM "emails" AS t
  JOIN (SELECT value->>'reason' AS "reason", CAST(value->>'id' AS TEXT) AS "id" FROM json_each(?1)) AS v
  ON t."id" = v."id"
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2));

-- failed_callback: settle released, uniform, step 1: [Ids, One(Fence(0))] -> Keys
UPDATE "emails" AS t SET
  "status" = 'FAILED',
  "claimed_by" = NULL,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1))
  AND +t."status" = 'CALLING-FAILED-CALLBACK'
  AND CAST(t."version" AS TEXT) IS ?2
RETURNING CAST("id" AS TEXT);

-- failed_callback: settle released, uniform, step 2: [One(Reason), Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'FAILED',
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2));

-- failed_callback: settle released, each, step 1: [Rows([Id, Fence(0)])] -> Keys
UPDATE "emails" AS t SET
  "status" = 'FAILED',
  "claimed_by" = NULL,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
FROM (SELECT CAST(value->>'id' AS TEXT) AS "id", CAST(value->>'f0' AS TEXT) AS "f0" FROM json_each(?1)) AS v
WHERE t."id" = v."id"
  AND +t."status" = 'CALLING-FAILED-CALLBACK'
  AND CAST(t."version" AS TEXT) IS v."f0"
RETURNING CAST("id" AS TEXT);

-- failed_callback: settle released, each, step 2: [Rows([Reason, Id]), Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'FAILED',
  v."reason",
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
FROM "emails" AS t
  JOIN (SELECT value->>'reason' AS "reason", CAST(value->>'id' AS TEXT) AS "id" FROM json_each(?1)) AS v
  ON t."id" = v."id"
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2));

-- failed_callback: extend: [Rows([Id, Fence(0)])] -> Leases
UPDATE "emails" AS t SET
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*' THEN CASE
    WHEN CASE
    WHEN typeof(t."updated_at") IN ('integer', 'real')
    OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
    ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END
      BETWEEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 - 1
      AND CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 + 60000
      THEN CASE
    WHEN typeof(t."updated_at") IN ('integer', 'real')
    OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
    ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END + 1
    ELSE CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    END
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
      THEN strftime(
        '%Y-%m-%d %H:%M:%f',
          (
            CASE
              WHEN CASE
              WHEN typeof(t."updated_at") IN ('integer', 'real')
              OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
              ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
              END
                BETWEEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 - 1
                AND CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 + 60000
                THEN CASE
              WHEN typeof(t."updated_at") IN ('integer', 'real')
              OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
              ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
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
            WHEN typeof(t."updated_at") IN ('integer', 'real')
            OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
            ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
            END
              BETWEEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 - 1
              AND CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 + 60000
              THEN CASE
            WHEN typeof(t."updated_at") IN ('integer', 'real')
            OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
            ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
            END + 1
            ELSE CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
            END
        )
          / 1000.0,
        'unixepoch'
    )
    END,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END
FROM (SELECT CAST(value->>'id' AS TEXT) AS "id", CAST(value->>'f0' AS TEXT) AS "f0" FROM json_each(?1)) AS v
WHERE t."id" = v."id"
  AND +t."status" = 'CALLING-FAILED-CALLBACK'
  AND CAST(t."version" AS TEXT) IS v."f0"
RETURNING
  CAST("id" AS TEXT),
  CAST("version" AS TEXT);

-- failed_callback: leases after a lost extension: [Ids, Owner] -> Leases
SELECT
  CAST(t."id" AS TEXT),
  CAST(t."version" AS TEXT)
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1))
  AND +t."status" = 'CALLING-FAILED-CALLBACK'
  AND t."claimed_by" = ?2;

-- failed_callback: stamp: [Limit] -> Keys
UPDATE "emails" AS t SET "updated_at" = CASE
  WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
  OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
    THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
  WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
FROM "emails" AS t
WHERE t."status" = 'CALLING-FAILED-CALLBACK'
  AND (
    t."updated_at" IS NOT NULL
      AND CASE
      WHEN typeof(t."updated_at") IN ('integer', 'real')
      OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
      ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END IS NULL
  )
LIMIT ?1)
RETURNING CAST("id" AS TEXT);

-- failed_callback: leases that still hold: [Rows([Id, Fence(0)])] -> Keys
SELECT CAST(t."id" AS TEXT)
FROM (
  SELECT
    CAST(value->>'id' AS TEXT) AS "id",
    CAST(value->>'f0' AS TEXT) AS "f0"
  FROM json_each(?1)
) AS v CROSS
  JOIN "emails" AS t
WHERE t."id" = v."id"
  AND +t."status" = 'CALLING-FAILED-CALLBACK'
  AND CAST(t."version" AS TEXT) IS v."f0"
  AND (
    CASE
      WHEN typeof(t."updated_at") IN ('integer', 'real')
      OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
      ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END < CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) - 600000
  ) IS NOT TRUE;

-- failed_callback: look for rows of a lost claim: [Owner] -> Keys
SELECT CAST(t."id" AS TEXT)
FROM "emails" AS t
WHERE t."status" = 'CALLING-FAILED-CALLBACK'
  AND t."claimed_by" = ?1;

-- failed_callback: release rows of a lost claim, step 1: [Ids, Owner] -> Keys
UPDATE "emails" AS t SET
  "status" = 'FAILED',
  "claimed_by" = NULL,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1))
  AND +t."status" = 'CALLING-FAILED-CALLBACK'
  AND t."claimed_by" = ?2)
RETURNING CAST("id" AS TEXT);

-- failed_callback: release rows of a lost claim, step 2: [Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'FAILED',
  NULL,
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1));

-- failed_callback: look for expired leases: [Limit] -> Other
SELECT
  CAST(t."id" AS TEXT),
  CAST(t."version" AS TEXT),
  CASE WHEN COALESCE(t."attempts", 0) + 1 >= 5 THEN 1 ELSE 0 END,
  5
FROM "emails" AS t
WHERE t."status" = 'CALLING-FAILED-CALLBACK'
  AND CASE
    WHEN typeof(t."updated_at") IN ('integer', 'real')
    OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
    ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END < CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) - 600000
ORDER BY CASE
  WHEN typeof(t."updated_at") IN ('integer', 'real')
  OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
  ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
  END
LIMIT ?1;

-- failed_callback: reclaim, free, step 1: [Ids] -> Keys
UPDATE "emails" AS t SET
  "status" = 'FAILED',
  "claimed_by" = NULL,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1))
  AND +t."status" = 'CALLING-FAILED-CALLBACK'
  AND CASE
    WHEN typeof(t."updated_at") IN ('integer', 'real')
    OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
    ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END < CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) - 600000)
RETURNING CAST("id" AS TEXT);

-- failed_callback: reclaim, free, step 2: [Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'FAILED',
  NULL,
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1));

-- failed_callback: reclaim, spared, step 1: [Ids] -> Keys
UPDATE "emails" AS t SET
  "status" = 'FAILED',
  "claimed_by" = NULL,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1))
  AND +t."status" = 'CALLING-FAILED-CALLBACK'
  AND CASE
    WHEN typeof(t."updated_at") IN ('integer', 'real')
    OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
    ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END < CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) - 600000)
RETURNING CAST("id" AS TEXT);

-- failed_callback: reclaim, spared, step 2: [Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'FAILED',
  NULL,
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1));

-- failed_callback: reclaim, spared, step 3: [Held] -> Nothing
INSERT INTO postrider_crashes (place, row_id, crashes, crashed_at)
SELECT
  'emails/failed_callback',
  CAST(value AS TEXT),
  1,
  strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
FROM json_each(?1) WHERE true
ON CONFLICT (place, row_id) DO UPDATE SET
  crashes = crashes + 1,
  crashed_at = excluded.crashed_at;

-- failed_callback: reclaim, charged, step 1: [Ids] -> Keys
UPDATE "emails" AS t SET
  "status" = 'FAILED',
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
  "attempts" = COALESCE(t."attempts", 0) + 1,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1))
  AND +t."status" = 'CALLING-FAILED-CALLBACK'
  AND CASE
    WHEN typeof(t."updated_at") IN ('integer', 'real')
    OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
    ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END < CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) - 600000)
RETURNING CAST("id" AS TEXT);

-- failed_callback: reclaim, charged, step 2: [Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'FAILED',
  'lease expired: the worker that held it is gone',
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1));

-- failed_callback: reclaim, charged, step 3: [Held] -> Nothing
INSERT INTO postrider_crashes (place, row_id, crashes, crashed_at)
SELECT
  'emails/failed_callback',
  CAST(value AS TEXT),
  1,
  strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
FROM json_each(?1) WHERE true
ON CONFLICT (place, row_id) DO UPDATE SET
  crashes = crashes + 1,
  crashed_at = excluded.crashed_at;

-- failed_callback: reclaim, dead, step 1: [Ids] -> Keys
UPDATE "emails" AS t SET
  "status" = 'FAILED',
  "next_attempt_at" = CASE
    WHEN typeof(COALESCE(t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*' THEN 253402214400000
    WHEN COALESCE(t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
      THEN strftime('%Y-%m-%d %H:%M:%f', (253402214400000) / 1000.0, 'unixepoch')
    ELSE strftime('%Y-%m-%dT%H:%M:%fZ', (253402214400000) / 1000.0, 'unixepoch')
    END,
  "claimed_by" = NULL,
  "attempts" = COALESCE(t."attempts", 0) + 1,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1))
  AND +t."status" = 'CALLING-FAILED-CALLBACK'
  AND CASE
    WHEN typeof(t."updated_at") IN ('integer', 'real')
    OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
    ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END < CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) - 600000)
RETURNING CAST("id" AS TEXT);

-- failed_callback: reclaim, dead, step 2: [Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'FAILED',
  'poison row: its workers crashed repeatedly, also when it was delivered alone',
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1));

-- failed_callback: reclaim, dead, step 3: [Held] -> Nothing
DELETE
  FROM postrider_crashes
  WHERE place = 'emails/failed_callback'
  AND row_id IN (SELECT CAST(value AS TEXT) FROM json_each(?1));

-- failed_callback: spent, step 1: [Limit] -> Keys
UPDATE "emails" AS t SET
  "status" = 'FAILED',
  "next_attempt_at" = CASE
    WHEN typeof(COALESCE(t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*' THEN 253402214400000
    WHEN COALESCE(t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
      THEN strftime('%Y-%m-%d %H:%M:%f', (253402214400000) / 1000.0, 'unixepoch')
    ELSE strftime('%Y-%m-%dT%H:%M:%fZ', (253402214400000) / 1000.0, 'unixepoch')
    END,
  "claimed_by" = NULL,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
FROM "emails" AS t
WHERE t."status" = 'FAILED'
  AND (
    CASE
      WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
      OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
      ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END IS NULL
      OR CASE
      WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
      OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
      ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END < 253402214400000
  )
  AND CASE
    WHEN t."status" = 'SENT'
    AND CASE
    WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
    OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
    ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END >= 253402214400000 THEN 'SENT_SILENT'
    WHEN t."status" = 'FAILED'
    AND CASE
    WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
    OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
    ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END >= 253402214400000 THEN 'FAILED_SILENT'
    WHEN t."status" = 'INVALID' THEN 'INVALID'
    WHEN t."status" = 'ACCEPTED'
    AND COALESCE(t."attempts", 0) >= 5 THEN 'no attempts left'
    WHEN t."status" = 'READY'
    AND COALESCE(t."attempts", 0) >= 5 THEN 'no attempts left'
    WHEN t."status" = 'SENT'
    AND (
      CASE
        WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
        OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
        ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END IS NULL
        OR CASE
        WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
        OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
        ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END < 253402214400000
    )
    AND COALESCE(t."attempts", 0) >= 5 THEN 'no attempts left'
    WHEN t."status" = 'FAILED'
    AND (
      CASE
        WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
        OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
        ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END IS NULL
        OR CASE
        WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
        OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
        ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END < 253402214400000
    )
    AND COALESCE(t."attempts", 0) >= 5 THEN 'no attempts left'
    END = 'no attempts left'
  AND COALESCE(t."attempts", 0) >= 5
LIMIT ?1)
RETURNING CAST("id" AS TEXT);

-- failed_callback: spent, step 2: [Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'FAILED',
  'no attempts left',
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1));

-- failed_callback: next due: [] -> Other
SELECT CAST(
  COALESCE(
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
      ),
      0
  ) AS INTEGER
) AS w
FROM "emails" AS t
WHERE t."status" = 'FAILED'
  AND (
    CASE
      WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
      OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
      ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END IS NULL
      OR CASE
      WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
      OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
      ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END < 253402214400000
  )
  AND COALESCE(t."attempts", 0) < 5
ORDER BY COALESCE(
  CASE
    WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
    OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
    ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END,
    0
)
LIMIT 1;

-- failed_callback: lag: [] -> Other
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
    FROM "emails" AS t
    WHERE t."status" = 'FAILED'
    AND (
      CASE
        WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
        OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
        ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END IS NULL
        OR CASE
        WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
        OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
        ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END < 253402214400000
    )
    AND COALESCE(
      CASE
        WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
        OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
        ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END,
        0
    ) <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
      + 0
    AND COALESCE(t."attempts", 0) < 5
    ORDER BY CASE
    WHEN typeof(t."updated_at") IN ('integer', 'real')
    OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
    ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END
    LIMIT 1
),
  (
    SELECT (
      (
        (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0) - CASE
          WHEN typeof(t."updated_at") IN ('integer', 'real')
          OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
          ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
          END
      )
        * 1000
    )
      / 1000000.0
      FROM "emails" AS t
      WHERE t."status" = 'CALLING-FAILED-CALLBACK'
      ORDER BY CASE
      WHEN typeof(t."updated_at") IN ('integer', 'real')
      OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
      ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END
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
UPDATE "emails" AS t SET
  "status" = 'FAILED',
  "claimed_by" = NULL,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1))
  AND +t."status" = 'CALLING-FAILED-CALLBACK')
RETURNING CAST("id" AS TEXT);

-- failed_callback: release ids CALLING-FAILED-CALLBACK, step 2: [Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'FAILED',
  NULL,
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1));

-- failed_callback: release state CALLING-FAILED-CALLBACK, step 1: [Since, Limit] -> Keys
UPDATE "emails" AS t SET
  "status" = 'FAILED',
  "claimed_by" = NULL,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END,
  "updated_at" = CASE
    WHEN typeof(COALESCE(t."updated_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."updated_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."updated_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
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
FROM "emails" AS t
WHERE t."status" = 'CALLING-FAILED-CALLBACK'
  AND (
    ?1 IS NULL
      OR CASE
      WHEN typeof(t."updated_at") IN ('integer', 'real')
      OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
      ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END >= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
        + CAST(round((0 - ?1) * 1000.0) AS INTEGER)
        + 0
      OR t."updated_at" IS NULL
      AND CASE
      WHEN typeof(t."updated_at") IN ('integer', 'real')
      OR t."updated_at" NOT GLOB '*[^0-9]*' THEN CAST(t."updated_at" AS INTEGER)
      ELSE CAST(round((julianday(t."updated_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END >= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
        + CAST(round((0 - ?1) * 1000.0) AS INTEGER)
        + 0
      OR t."updated_at" IS NULL
      AND t."updated_at" IS NULL
      AND CASE
      WHEN typeof(t."created_at") IN ('integer', 'real')
      OR t."created_at" NOT GLOB '*[^0-9]*' THEN CAST(t."created_at" AS INTEGER)
      ELSE CAST(round((julianday(t."created_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END >= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
        + CAST(round((0 - ?1) * 1000.0) AS INTEGER)
        + 0
  )
LIMIT ?2)
RETURNING CAST("id" AS TEXT);

-- failed_callback: release state CALLING-FAILED-CALLBACK, step 2: [Held] -> Nothing
INSERT INTO "email_statuses" ("email_id", "status", "reason", "created_at")
SELECT
  t."id",
  'FAILED',
  NULL,
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
FROM "emails" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1));
