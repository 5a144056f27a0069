-- dispatch_jobs: every statement. Written by the snapshot test; do not edit.

-- create
CREATE TABLE IF NOT EXISTS "dispatch_jobs" (
    id TEXT NOT NULL PRIMARY KEY,
    external_id TEXT,
    "source" TEXT,
    kind TEXT NOT NULL DEFAULT 'TASK',
    "code" TEXT NOT NULL,
    subject TEXT,
    event_id TEXT,
    correlation_id TEXT,
    traceparent TEXT,
    target_url TEXT NOT NULL,
    protocol TEXT NOT NULL DEFAULT 'HTTP_WEBHOOK',
    headers TEXT,
    payload TEXT,
    payload_content_type TEXT NOT NULL DEFAULT 'application/json',
    data_only BOOLEAN NOT NULL DEFAULT 1,
    service_account_id TEXT,
    client_id TEXT,
    subscription_id TEXT,
    "mode" TEXT NOT NULL DEFAULT 'IMMEDIATE',
    dispatch_pool_id TEXT,
    message_group TEXT,
    "sequence" INTEGER NOT NULL DEFAULT 99,
    timeout_seconds INTEGER NOT NULL DEFAULT 30,
    schema_id TEXT,
    "status" TEXT NOT NULL DEFAULT 'QUEUED',
    max_retries INTEGER,
    retry_budget INTEGER,
    retry_strategy TEXT,
    scheduled_for TEXT,
    expires_at TEXT,
    next_attempt_at TEXT,
    queued_at TEXT,
    attempt_count INTEGER NOT NULL DEFAULT 0,
    last_attempt_at TEXT,
    completed_at TEXT,
    duration_millis INTEGER,
    last_error TEXT,
    idempotency_key TEXT,
    request_hash TEXT,
    created_by TEXT,
    created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    updated_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    claimed_by TEXT,
    lease_until TEXT,
    group_key TEXT
      GENERATED ALWAYS AS (
        CASE WHEN message_group IS NOT NULL THEN coalesce(client_id, '') || ':' || message_group END
      ) STORED
);

-- create
CREATE UNIQUE INDEX IF NOT EXISTS dispatch_jobs_idempotency
  ON "dispatch_jobs" (coalesce(client_id, ''), idempotency_key)
  WHERE idempotency_key IS NOT NULL;

-- create
CREATE TABLE IF NOT EXISTS dispatch_attempts (
    id TEXT NOT NULL PRIMARY KEY,
    job_id TEXT NOT NULL,
    attempt_number INTEGER NOT NULL,
    attempted_at TEXT,
    completed_at TEXT,
    duration_millis INTEGER,
    "status" TEXT,
    response_code INTEGER,
    response_body TEXT,
    error_message TEXT,
    error_stack_trace TEXT,
    error_type TEXT,
    created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    FOREIGN KEY (job_id) REFERENCES "dispatch_jobs" (id) ON DELETE CASCADE
);

-- create
CREATE INDEX IF NOT EXISTS dispatch_attempts_job ON dispatch_attempts (job_id, attempt_number);

-- create
CREATE TABLE IF NOT EXISTS dispatch_job_metadata (
    id TEXT NOT NULL PRIMARY KEY,
    job_id TEXT NOT NULL,
    "key" TEXT NOT NULL,
    "value" TEXT NOT NULL,
    FOREIGN KEY (job_id) REFERENCES "dispatch_jobs" (id) ON DELETE CASCADE
);

-- create
CREATE INDEX IF NOT EXISTS dispatch_job_metadata_search ON dispatch_job_metadata ("key", "value", job_id);

-- create
CREATE INDEX IF NOT EXISTS dispatch_job_metadata_job ON dispatch_job_metadata (job_id);

-- create
CREATE INDEX IF NOT EXISTS "dispatch_jobs_deliver_ready_mode"
  ON "dispatch_jobs" (
    (
      CASE
        WHEN "group_key" IS NOT NULL
        AND NOT (typeof("group_key") = 'blob')
        AND "mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE("dispatch_pool_id", '') || '	'
        ELSE 'f' || COALESCE("dispatch_pool_id", '') || '	' || COALESCE("client_id", '')
        END
    ),
      (
        CASE
          WHEN "group_key" IS NOT NULL
          AND NOT (typeof("group_key") = 'blob')
          AND "mode" NOT IN ('IMMEDIATE')
            THEN COALESCE(
              CASE
                WHEN typeof("next_attempt_at") IN ('integer', 'real')
                OR "next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST("next_attempt_at" AS INTEGER)
                ELSE CAST(round((julianday("next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
                END,
                CASE
                  WHEN typeof("created_at") IN ('integer', 'real')
                  OR "created_at" NOT GLOB '*[^0-9]*' THEN CAST("created_at" AS INTEGER)
                  ELSE CAST(round((julianday("created_at") - 2440587.5) * 86400000.0) AS INTEGER)
                  END
            )
          ELSE 0
          END
      ),
      (
        COALESCE(
          CASE
            WHEN typeof("next_attempt_at") IN ('integer', 'real')
            OR "next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST("next_attempt_at" AS INTEGER)
            ELSE CAST(round((julianday("next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
            END,
            0
        )
      ),
      "id"
  )
  WHERE (("status" = 'QUEUED') OR ("status" = 'ERROR' AND "next_attempt_at" IS NOT NULL));

-- create
CREATE INDEX IF NOT EXISTS "dispatch_jobs_deliver_order_mode"
  ON "dispatch_jobs" (
    "group_key",
      "sequence",
      (
        CASE
          WHEN typeof("created_at") IN ('integer', 'real')
          OR "created_at" NOT GLOB '*[^0-9]*' THEN CAST("created_at" AS INTEGER)
          ELSE CAST(round((julianday("created_at") - 2440587.5) * 86400000.0) AS INTEGER)
          END
      ),
      "id"
  )
  WHERE (
    (
      ("status" = 'QUEUED')
        OR ("status" = 'ERROR' AND "next_attempt_at" IS NOT NULL)
        OR ("status" = 'IN_PROGRESS')
    )
      OR (("status" = 'ERROR' AND "next_attempt_at" IS NULL) AND "mode" NOT IN ('IMMEDIATE', 'NEXT_ON_ERROR'))
  )
  AND "group_key" IS NOT NULL
  AND NOT (typeof("group_key") = 'blob')
  AND "mode" NOT IN ('IMMEDIATE');

-- create
CREATE INDEX IF NOT EXISTS "dispatch_jobs_sweep_on_scheduled_for"
  ON "dispatch_jobs" (
    "status",
      (
        COALESCE(
          CASE
            WHEN typeof("scheduled_for") IN ('integer', 'real')
            OR "scheduled_for" NOT GLOB '*[^0-9]*' THEN CAST("scheduled_for" AS INTEGER)
            ELSE CAST(round((julianday("scheduled_for") - 2440587.5) * 86400000.0) AS INTEGER)
            END,
            0
        )
      )
  )
  WHERE (("status" = 'PENDING') OR ("status" = 'QUEUED' AND "scheduled_for" IS NOT NULL));

-- create
CREATE INDEX IF NOT EXISTS "dispatch_jobs_sweep_expires_at"
  ON "dispatch_jobs" (
    (
      CASE
        WHEN typeof("expires_at") IN ('integer', 'real')
        OR "expires_at" NOT GLOB '*[^0-9]*' THEN CAST("expires_at" AS INTEGER)
        ELSE CAST(round((julianday("expires_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END
    )
  )
  WHERE (
    ("status" = 'QUEUED') OR ("status" = 'PENDING') OR ("status" = 'ERROR' AND "next_attempt_at" IS NOT NULL)
  )
  AND "expires_at" IS NOT NULL;

-- create
CREATE INDEX IF NOT EXISTS "dispatch_jobs_states3_own"
  ON "dispatch_jobs" (
    (
      CASE
        WHEN "status" = 'IN_PROGRESS' THEN 'IN_PROGRESS'
        WHEN "status" = 'ERROR'
        AND "next_attempt_at" IS NULL THEN 'DEAD'
        WHEN "status" = 'PENDING' THEN 'PENDING'
        WHEN "status" = 'CANCELLED' THEN 'CANCELLED'
        WHEN (("status" = 'QUEUED') OR ("status" = 'ERROR' AND "next_attempt_at" IS NOT NULL))
        AND "attempt_count" >= max(COALESCE("max_retries", 3), 1) THEN 'no attempts left'
        WHEN "status" = 'ERROR'
        AND "next_attempt_at" IS NOT NULL THEN 'RETRYING'
        END
    ),
      (CASE WHEN "status" = 'IN_PROGRESS' THEN NULL ELSE "id" END),
      "group_key",
      "dispatch_pool_id",
      (
        CASE
          WHEN typeof("lease_until") IN ('integer', 'real')
          OR "lease_until" NOT GLOB '*[^0-9]*' THEN CAST("lease_until" AS INTEGER)
          ELSE CAST(round((julianday("lease_until") - 2440587.5) * 86400000.0) AS INTEGER)
          END
      )
  )
  WHERE CASE
  WHEN "status" = 'IN_PROGRESS' THEN 'IN_PROGRESS'
  WHEN "status" = 'ERROR'
  AND "next_attempt_at" IS NULL THEN 'DEAD'
  WHEN "status" = 'PENDING' THEN 'PENDING'
  WHEN "status" = 'CANCELLED' THEN 'CANCELLED'
  WHEN (("status" = 'QUEUED') OR ("status" = 'ERROR' AND "next_attempt_at" IS NOT NULL))
  AND "attempt_count" >= max(COALESCE("max_retries", 3), 1) THEN 'no attempts left'
  WHEN "status" = 'ERROR'
  AND "next_attempt_at" IS NOT NULL THEN 'RETRYING'
  END IS NOT NULL;

-- deliver: layout Layout { integer_id: false, fences: 2, claim_time: None, pool: 8, fields: ["account",
--   "client", "code", "content_type", "correlation", "data_only", "dedupe", "event", "headers", "payload",
--   "source", "subject", "subscription", "time", "timeout", "traceparent", "url"], joined: [] }

-- deliver: claim 1, step 1: [Limit] -> Keys
SELECT CAST(t."id" AS TEXT)
FROM "dispatch_jobs" AS t
WHERE ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
  AND COALESCE(
    CASE
      WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
      OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
      ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END,
      0
  ) <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
    + 0
  AND t."attempt_count" < max(COALESCE(t."max_retries", 3), 1)
  AND (
    t."expires_at" IS NULL
      OR CASE
      WHEN typeof(t."expires_at") IN ('integer', 'real')
      OR t."expires_at" NOT GLOB '*[^0-9]*' THEN CAST(t."expires_at" AS INTEGER)
      ELSE CAST(round((julianday(t."expires_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END > CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
  )
  AND (
    t."scheduled_for" IS NULL
      OR CASE
      WHEN typeof(t."scheduled_for") IN ('integer', 'real')
      OR t."scheduled_for" NOT GLOB '*[^0-9]*' THEN CAST(t."scheduled_for" AS INTEGER)
      ELSE CAST(round((julianday(t."scheduled_for") - 2440587.5) * 86400000.0) AS INTEGER)
      END <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
  )
  AND (t."group_key" IS NULL OR (typeof(t."group_key") = 'blob') OR t."mode" IN ('IMMEDIATE'))
  AND CASE
    WHEN t."group_key" IS NOT NULL
    AND NOT (typeof(t."group_key") = 'blob')
    AND t."mode" NOT IN ('IMMEDIATE')
      THEN COALESCE(
        CASE
          WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
          OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
          ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
          END,
          CASE
            WHEN typeof(t."created_at") IN ('integer', 'real')
            OR t."created_at" NOT GLOB '*[^0-9]*' THEN CAST(t."created_at" AS INTEGER)
            ELSE CAST(round((julianday(t."created_at") - 2440587.5) * 86400000.0) AS INTEGER)
            END
      )
    ELSE 0
    END = 0
ORDER BY COALESCE(
  CASE
    WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
    OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
    ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END,
    0
),
  t."id"
LIMIT ?1;

-- deliver: claim 1, step 2: [Owner, Held] -> Rows
UPDATE "dispatch_jobs" AS t SET
  "status" = 'IN_PROGRESS',
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
  "claimed_by" = ?1,
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
RETURNING
  CAST("id" AS TEXT),
  CAST("last_attempt_at" AS TEXT),
  CAST("attempt_count" AS TEXT),
  CAST("attempt_count" AS INTEGER),
  CAST("max_retries" AS INTEGER),
  CAST("retry_strategy" AS TEXT),
  CASE
    WHEN "group_key" IS NOT NULL
    AND NOT (typeof("group_key") = 'blob')
    AND "mode" NOT IN ('IMMEDIATE') THEN CAST("group_key" AS TEXT)
    END,
  CASE WHEN "mode" IN ('NEXT_ON_ERROR') THEN 'next' ELSE 'block' END,
  CAST("dispatch_pool_id" AS TEXT),
  CAST("client_id" AS TEXT),
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
    COALESCE(length(CAST("service_account_id" AS BLOB)), 0)
      + COALESCE(length(CAST("client_id" AS BLOB)), 0)
      + COALESCE(length(CAST("code" AS BLOB)), 0)
      + COALESCE(length(CAST("payload_content_type" AS BLOB)), 0)
      + COALESCE(length(CAST("correlation_id" AS BLOB)), 0)
      + COALESCE(length(CAST("id" AS BLOB)), 0)
      + COALESCE(length(CAST("event_id" AS BLOB)), 0)
      + COALESCE(length(CAST("headers" AS BLOB)), 0)
      + COALESCE(length(CAST("payload" AS BLOB)), 0)
      + COALESCE(length(CAST("source" AS BLOB)), 0)
      + COALESCE(length(CAST("subject" AS BLOB)), 0)
      + COALESCE(length(CAST("subscription_id" AS BLOB)), 0)
      + COALESCE(length(CAST("created_at" AS BLOB)), 0)
      + COALESCE(length(CAST("traceparent" AS BLOB)), 0)
      + COALESCE(length(CAST("target_url" AS BLOB)), 0) AS INTEGER
  ),
  CASE WHEN length(CAST("service_account_id" AS BLOB)) <= 65536 THEN "service_account_id" END,
  CASE WHEN length(CAST("client_id" AS BLOB)) <= 65536 THEN "client_id" END,
  CASE WHEN length(CAST("code" AS BLOB)) <= 65536 THEN "code" END,
  CASE WHEN length(CAST("payload_content_type" AS BLOB)) <= 65536 THEN "payload_content_type" END,
  CASE WHEN length(CAST("correlation_id" AS BLOB)) <= 65536 THEN "correlation_id" END,
  CASE WHEN "data_only" THEN 'true' WHEN NOT "data_only" THEN 'false' END,
  CASE WHEN length(CAST("id" AS BLOB)) <= 65536 THEN "id" END,
  CASE WHEN length(CAST("event_id" AS BLOB)) <= 65536 THEN "event_id" END,
  CASE WHEN length(CAST("headers" AS BLOB)) <= 65536 THEN "headers" END,
  CASE WHEN length(CAST("payload" AS BLOB)) <= 65536 THEN "payload" END,
  CASE WHEN length(CAST("source" AS BLOB)) <= 65536 THEN "source" END,
  CASE WHEN length(CAST("subject" AS BLOB)) <= 65536 THEN "subject" END,
  CASE WHEN length(CAST("subscription_id" AS BLOB)) <= 65536 THEN "subscription_id" END,
  CASE WHEN length(CAST("created_at" AS BLOB)) <= 65536 THEN "created_at" END,
  CAST("timeout_seconds" AS TEXT),
  CASE WHEN length(CAST("traceparent" AS BLOB)) <= 65536 THEN "traceparent" END,
  CASE WHEN length(CAST("target_url" AS BLOB)) <= 65536 THEN "target_url" END;

-- deliver: shares: [Jumps] -> Other
SELECT s FROM (
WITH RECURSIVE ring(s) AS (
SELECT *
  FROM (
    SELECT (
      CASE
        WHEN t."group_key" IS NOT NULL
        AND NOT (typeof(t."group_key") = 'blob')
        AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
        ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
        END
    ) AS s
      FROM "dispatch_jobs" AS t
      WHERE ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
      ORDER BY (
        CASE
          WHEN t."group_key" IS NOT NULL
          AND NOT (typeof(t."group_key") = 'blob')
          AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
          ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
          END
      )
      LIMIT 1
  )
UNION ALL
SELECT (
  SELECT (
    CASE
      WHEN t."group_key" IS NOT NULL
      AND NOT (typeof(t."group_key") = 'blob')
      AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
      ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
      END
  ) AS s
    FROM "dispatch_jobs" AS t
    WHERE ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
    AND (
      CASE
        WHEN t."group_key" IS NOT NULL
        AND NOT (typeof(t."group_key") = 'blob')
        AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
        ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
        END
    )
      > r.s
    ORDER BY (
      CASE
        WHEN t."group_key" IS NOT NULL
        AND NOT (typeof(t."group_key") = 'blob')
        AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
        ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
        END
    )
    LIMIT 1
)
  FROM ring AS r
  WHERE r.s IS NOT NULL
LIMIT ?1)
SELECT s FROM ring)
WHERE s IS NOT NULL;

-- deliver: shares from a cursor: [Cursor, Jumps] -> Other
SELECT s FROM (
WITH RECURSIVE ring(s) AS (
SELECT *
  FROM (
    SELECT (
      CASE
        WHEN t."group_key" IS NOT NULL
        AND NOT (typeof(t."group_key") = 'blob')
        AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
        ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
        END
    ) AS s
      FROM "dispatch_jobs" AS t
      WHERE ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
      AND (
        CASE
          WHEN t."group_key" IS NOT NULL
          AND NOT (typeof(t."group_key") = 'blob')
          AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
          ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
          END
      )
        > ?1
      ORDER BY (
        CASE
          WHEN t."group_key" IS NOT NULL
          AND NOT (typeof(t."group_key") = 'blob')
          AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
          ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
          END
      )
      LIMIT 1
  )
UNION ALL
SELECT (
  SELECT (
    CASE
      WHEN t."group_key" IS NOT NULL
      AND NOT (typeof(t."group_key") = 'blob')
      AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
      ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
      END
  ) AS s
    FROM "dispatch_jobs" AS t
    WHERE ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
    AND (
      CASE
        WHEN t."group_key" IS NOT NULL
        AND NOT (typeof(t."group_key") = 'blob')
        AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
        ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
        END
    )
      > r.s
    ORDER BY (
      CASE
        WHEN t."group_key" IS NOT NULL
        AND NOT (typeof(t."group_key") = 'blob')
        AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
        ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
        END
    )
    LIMIT 1
)
  FROM ring AS r
  WHERE r.s IS NOT NULL
LIMIT ?2)
SELECT s FROM ring)
WHERE s IS NOT NULL;

-- deliver: claim shares, step 1: [Shares, Quota] -> Keys
SELECT y.k FROM (
SELECT
  CAST(t."id" AS TEXT) AS k,
  COALESCE(
    CASE
      WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
      OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
      ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END,
      0
  ) AS o0,
  t."id" AS o1,
  j.value->>'n' AS most,
  row_number() OVER (
    PARTITION BY j.key
      ORDER BY COALESCE(
        CASE
          WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
          OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
          ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
          END,
          0
      ),
      t."id"
  ) AS nth
FROM json_each(?1) AS j CROSS JOIN "dispatch_jobs" AS t ON t."id" IN (
  SELECT t."id" FROM "dispatch_jobs" AS t
  WHERE (
    CASE
      WHEN t."group_key" IS NOT NULL
      AND NOT (typeof(t."group_key") = 'blob')
      AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
      ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
      END
  ) = j.value->>'s'
    AND ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
  AND COALESCE(
    CASE
      WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
      OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
      ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END,
      0
  ) <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
    + 0
  AND t."attempt_count" < max(COALESCE(t."max_retries", 3), 1)
  AND (
    t."expires_at" IS NULL
      OR CASE
      WHEN typeof(t."expires_at") IN ('integer', 'real')
      OR t."expires_at" NOT GLOB '*[^0-9]*' THEN CAST(t."expires_at" AS INTEGER)
      ELSE CAST(round((julianday(t."expires_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END > CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
  )
  AND (
    t."scheduled_for" IS NULL
      OR CASE
      WHEN typeof(t."scheduled_for") IN ('integer', 'real')
      OR t."scheduled_for" NOT GLOB '*[^0-9]*' THEN CAST(t."scheduled_for" AS INTEGER)
      ELSE CAST(round((julianday(t."scheduled_for") - 2440587.5) * 86400000.0) AS INTEGER)
      END <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
  )
  AND (t."group_key" IS NULL OR (typeof(t."group_key") = 'blob') OR t."mode" IN ('IMMEDIATE'))
  AND CASE
    WHEN t."group_key" IS NOT NULL
    AND NOT (typeof(t."group_key") = 'blob')
    AND t."mode" NOT IN ('IMMEDIATE')
      THEN COALESCE(
        CASE
          WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
          OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
          ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
          END,
          CASE
            WHEN typeof(t."created_at") IN ('integer', 'real')
            OR t."created_at" NOT GLOB '*[^0-9]*' THEN CAST(t."created_at" AS INTEGER)
            ELSE CAST(round((julianday(t."created_at") - 2440587.5) * 86400000.0) AS INTEGER)
            END
      )
    ELSE 0
    END = 0
  ORDER BY COALESCE(
    CASE
      WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
      OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
      ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END,
      0
  ),
    t."id" LIMIT ?2)) AS y
WHERE y.nth <= y.most
ORDER BY y.o0, y.o1;

-- deliver: claim shares, step 2: [Owner, Held] -> Rows
UPDATE "dispatch_jobs" AS t SET
  "status" = 'IN_PROGRESS',
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
  "claimed_by" = ?1,
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
RETURNING
  CAST("id" AS TEXT),
  CAST("last_attempt_at" AS TEXT),
  CAST("attempt_count" AS TEXT),
  CAST("attempt_count" AS INTEGER),
  CAST("max_retries" AS INTEGER),
  CAST("retry_strategy" AS TEXT),
  CASE
    WHEN "group_key" IS NOT NULL
    AND NOT (typeof("group_key") = 'blob')
    AND "mode" NOT IN ('IMMEDIATE') THEN CAST("group_key" AS TEXT)
    END,
  CASE WHEN "mode" IN ('NEXT_ON_ERROR') THEN 'next' ELSE 'block' END,
  CAST("dispatch_pool_id" AS TEXT),
  CAST("client_id" AS TEXT),
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
    COALESCE(length(CAST("service_account_id" AS BLOB)), 0)
      + COALESCE(length(CAST("client_id" AS BLOB)), 0)
      + COALESCE(length(CAST("code" AS BLOB)), 0)
      + COALESCE(length(CAST("payload_content_type" AS BLOB)), 0)
      + COALESCE(length(CAST("correlation_id" AS BLOB)), 0)
      + COALESCE(length(CAST("id" AS BLOB)), 0)
      + COALESCE(length(CAST("event_id" AS BLOB)), 0)
      + COALESCE(length(CAST("headers" AS BLOB)), 0)
      + COALESCE(length(CAST("payload" AS BLOB)), 0)
      + COALESCE(length(CAST("source" AS BLOB)), 0)
      + COALESCE(length(CAST("subject" AS BLOB)), 0)
      + COALESCE(length(CAST("subscription_id" AS BLOB)), 0)
      + COALESCE(length(CAST("created_at" AS BLOB)), 0)
      + COALESCE(length(CAST("traceparent" AS BLOB)), 0)
      + COALESCE(length(CAST("target_url" AS BLOB)), 0) AS INTEGER
  ),
  CASE WHEN length(CAST("service_account_id" AS BLOB)) <= 65536 THEN "service_account_id" END,
  CASE WHEN length(CAST("client_id" AS BLOB)) <= 65536 THEN "client_id" END,
  CASE WHEN length(CAST("code" AS BLOB)) <= 65536 THEN "code" END,
  CASE WHEN length(CAST("payload_content_type" AS BLOB)) <= 65536 THEN "payload_content_type" END,
  CASE WHEN length(CAST("correlation_id" AS BLOB)) <= 65536 THEN "correlation_id" END,
  CASE WHEN "data_only" THEN 'true' WHEN NOT "data_only" THEN 'false' END,
  CASE WHEN length(CAST("id" AS BLOB)) <= 65536 THEN "id" END,
  CASE WHEN length(CAST("event_id" AS BLOB)) <= 65536 THEN "event_id" END,
  CASE WHEN length(CAST("headers" AS BLOB)) <= 65536 THEN "headers" END,
  CASE WHEN length(CAST("payload" AS BLOB)) <= 65536 THEN "payload" END,
  CASE WHEN length(CAST("source" AS BLOB)) <= 65536 THEN "source" END,
  CASE WHEN length(CAST("subject" AS BLOB)) <= 65536 THEN "subject" END,
  CASE WHEN length(CAST("subscription_id" AS BLOB)) <= 65536 THEN "subscription_id" END,
  CASE WHEN length(CAST("created_at" AS BLOB)) <= 65536 THEN "created_at" END,
  CAST("timeout_seconds" AS TEXT),
  CASE WHEN length(CAST("traceparent" AS BLOB)) <= 65536 THEN "traceparent" END,
  CASE WHEN length(CAST("target_url" AS BLOB)) <= 65536 THEN "target_url" END;

-- deliver: pools: [Pools] -> Other
SELECT
  CAST(p."id" AS TEXT),
  CASE WHEN p."concurrency" IS NOT NULL OR p."rate_per_minute" IS NOT NULL OR p."paused" THEN 1 ELSE 0 END,
  CAST(
    CASE
      WHEN p."paused" THEN 0
      ELSE min(
        1000000,
          CASE
            WHEN p."concurrency" IS NULL THEN 1000000
            ELSE max(
              0,
                p."concurrency"
                  - (
                    (
                      SELECT count(*)
                        FROM "dispatch_jobs" AS t
                        WHERE CASE
                        WHEN t."status" = 'IN_PROGRESS' THEN 'IN_PROGRESS'
                        WHEN t."status" = 'ERROR'
                        AND t."next_attempt_at" IS NULL THEN 'DEAD'
                        WHEN t."status" = 'PENDING' THEN 'PENDING'
                        WHEN t."status" = 'CANCELLED' THEN 'CANCELLED'
                        WHEN (
                          (t."status" = 'QUEUED')
                            OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL)
                        )
                        AND t."attempt_count" >= max(COALESCE(t."max_retries", 3), 1) THEN 'no attempts left'
                        WHEN t."status" = 'ERROR'
                        AND t."next_attempt_at" IS NOT NULL THEN 'RETRYING'
                        END = 'IN_PROGRESS'
                        AND CASE
                        WHEN t."status" = 'IN_PROGRESS' THEN NULL
                        ELSE t."id"
                        END IS NULL
                        AND t."group_key" IS NULL
                        AND t."dispatch_pool_id" = p."id"
                    )
                      + (
                        SELECT count(*)
                          FROM "dispatch_jobs" AS t
                          WHERE CASE
                          WHEN t."status" = 'IN_PROGRESS' THEN 'IN_PROGRESS'
                          WHEN t."status" = 'ERROR'
                          AND t."next_attempt_at" IS NULL THEN 'DEAD'
                          WHEN t."status" = 'PENDING' THEN 'PENDING'
                          WHEN t."status" = 'CANCELLED' THEN 'CANCELLED'
                          WHEN (
                            (t."status" = 'QUEUED')
                              OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL)
                          )
                          AND t."attempt_count" >= max(COALESCE(t."max_retries", 3), 1)
                            THEN 'no attempts left'
                          WHEN t."status" = 'ERROR'
                          AND t."next_attempt_at" IS NOT NULL THEN 'RETRYING'
                          END = 'IN_PROGRESS'
                          AND CASE
                          WHEN t."status" = 'IN_PROGRESS' THEN NULL
                          ELSE t."id"
                          END IS NULL
                          AND t."group_key" IS NOT NULL
                          AND t."dispatch_pool_id" = p."id"
                      )
                  )
            )
            END,
          CASE
            WHEN p."rate_per_minute" IS NULL THEN 1000000
            WHEN p."rate_per_minute" <= 0 THEN 0
            ELSE max(
              0,
                ((p."rate_per_minute" + 59) / 60)
                  - (
                    CAST(
                      (
                        max(
                          CASE
                            WHEN b.free_at
                              > ((julianday('now') - 2440587.5) * 86400.0)
                                + (((p."rate_per_minute" + 59) / 60) + 1)
                                  * (
                                    60.0
                                      / (
                                        CASE
                                          WHEN p."rate_per_minute"
                                            > 60
                                            THEN p."rate_per_minute" - ((p."rate_per_minute" + 59) / 60)
                                          ELSE p."rate_per_minute"
                                          END
                                      )
                                  )
                              THEN 0
                            ELSE COALESCE(b.free_at, 0)
                            END,
                            ((julianday('now') - 2440587.5) * 86400.0)
                        )
                          - ((julianday('now') - 2440587.5) * 86400.0)
                      )
                        / (
                          60.0
                            / (
                              CASE
                                WHEN p."rate_per_minute"
                                  > 60
                                  THEN p."rate_per_minute" - ((p."rate_per_minute" + 59) / 60)
                                ELSE p."rate_per_minute"
                                END
                            )
                        ) AS INTEGER
                    )
                      + (
                        (
                          max(
                            CASE
                              WHEN b.free_at
                                > ((julianday('now') - 2440587.5) * 86400.0)
                                  + (((p."rate_per_minute" + 59) / 60) + 1)
                                    * (
                                      60.0
                                        / (
                                          CASE
                                            WHEN p."rate_per_minute"
                                              > 60
                                              THEN p."rate_per_minute" - ((p."rate_per_minute" + 59) / 60)
                                            ELSE p."rate_per_minute"
                                            END
                                        )
                                    )
                                THEN 0
                              ELSE COALESCE(b.free_at, 0)
                              END,
                              ((julianday('now') - 2440587.5) * 86400.0)
                          )
                            - ((julianday('now') - 2440587.5) * 86400.0)
                        )
                          / (
                            60.0
                              / (
                                CASE
                                  WHEN p."rate_per_minute"
                                    > 60
                                    THEN p."rate_per_minute" - ((p."rate_per_minute" + 59) / 60)
                                  ELSE p."rate_per_minute"
                                  END
                              )
                          )
                          > CAST(
                            (
                              max(
                                CASE
                                  WHEN b.free_at
                                    > ((julianday('now') - 2440587.5) * 86400.0)
                                      + (((p."rate_per_minute" + 59) / 60) + 1)
                                        * (
                                          60.0
                                            / (
                                              CASE
                                                WHEN p."rate_per_minute"
                                                  > 60
                                                  THEN p."rate_per_minute" - ((p."rate_per_minute" + 59) / 60)
                                                ELSE p."rate_per_minute"
                                                END
                                            )
                                        )
                                    THEN 0
                                  ELSE COALESCE(b.free_at, 0)
                                  END,
                                  ((julianday('now') - 2440587.5) * 86400.0)
                              )
                                - ((julianday('now') - 2440587.5) * 86400.0)
                            )
                              / (
                                60.0
                                  / (
                                    CASE
                                      WHEN p."rate_per_minute"
                                        > 60
                                        THEN p."rate_per_minute" - ((p."rate_per_minute" + 59) / 60)
                                      ELSE p."rate_per_minute"
                                      END
                                  )
                              ) AS INTEGER
                          )
                      )
                  )
            )
            END
      )
      END AS INTEGER
  ),
  CAST(
    CASE
      WHEN p."rate_per_minute"
        > 0
        THEN max(
          0,
            (
              CASE
                WHEN b.free_at
                  > ((julianday('now') - 2440587.5) * 86400.0)
                    + (((p."rate_per_minute" + 59) / 60) + 1)
                      * (
                        60.0
                          / (
                            CASE
                              WHEN p."rate_per_minute"
                                > 60
                                THEN p."rate_per_minute" - ((p."rate_per_minute" + 59) / 60)
                              ELSE p."rate_per_minute"
                              END
                          )
                      )
                  THEN 0
                ELSE COALESCE(b.free_at, 0)
                END
                  - ((julianday('now') - 2440587.5) * 86400.0)
                  - (((p."rate_per_minute" + 59) / 60) - 1)
                    * (
                      60.0
                        / (
                          CASE
                            WHEN p."rate_per_minute"
                              > 60
                              THEN p."rate_per_minute" - ((p."rate_per_minute" + 59) / 60)
                            ELSE p."rate_per_minute"
                            END
                        )
                    )
            )
              * 1000000
        )
      ELSE 0
      END AS INTEGER
  )
FROM "dispatch_pools" AS p LEFT JOIN postrider_pools AS b ON b.pool = p."id"
WHERE p."id" IN (SELECT value FROM json_each(?1));

-- deliver: enroll pools: [Pools] -> Nothing
INSERT INTO postrider_pools (pool, free_at) SELECT p."id",
  0 FROM "dispatch_pools" AS p WHERE p."id" IN (SELECT value FROM json_each(?1)) ON CONFLICT DO NOTHING;

-- deliver: claim shares of limited pools, step 1: [Pools] -> Keys
SELECT b.pool FROM postrider_pools AS b WHERE b.pool IN (SELECT value FROM json_each(?1)) ORDER BY b.pool;

-- deliver: claim shares of limited pools, step 2: [Held] -> Permits
SELECT
  CAST(p."id" AS TEXT),
  CAST(
    CASE
      WHEN p."paused" THEN 0
      ELSE min(
        1000000,
          CASE
            WHEN p."concurrency" IS NULL THEN 1000000
            ELSE max(
              0,
                p."concurrency"
                  - (
                    (
                      SELECT count(*)
                        FROM "dispatch_jobs" AS t
                        WHERE CASE
                        WHEN t."status" = 'IN_PROGRESS' THEN 'IN_PROGRESS'
                        WHEN t."status" = 'ERROR'
                        AND t."next_attempt_at" IS NULL THEN 'DEAD'
                        WHEN t."status" = 'PENDING' THEN 'PENDING'
                        WHEN t."status" = 'CANCELLED' THEN 'CANCELLED'
                        WHEN (
                          (t."status" = 'QUEUED')
                            OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL)
                        )
                        AND t."attempt_count" >= max(COALESCE(t."max_retries", 3), 1) THEN 'no attempts left'
                        WHEN t."status" = 'ERROR'
                        AND t."next_attempt_at" IS NOT NULL THEN 'RETRYING'
                        END = 'IN_PROGRESS'
                        AND CASE
                        WHEN t."status" = 'IN_PROGRESS' THEN NULL
                        ELSE t."id"
                        END IS NULL
                        AND t."group_key" IS NULL
                        AND t."dispatch_pool_id" = p."id"
                    )
                      + (
                        SELECT count(*)
                          FROM "dispatch_jobs" AS t
                          WHERE CASE
                          WHEN t."status" = 'IN_PROGRESS' THEN 'IN_PROGRESS'
                          WHEN t."status" = 'ERROR'
                          AND t."next_attempt_at" IS NULL THEN 'DEAD'
                          WHEN t."status" = 'PENDING' THEN 'PENDING'
                          WHEN t."status" = 'CANCELLED' THEN 'CANCELLED'
                          WHEN (
                            (t."status" = 'QUEUED')
                              OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL)
                          )
                          AND t."attempt_count" >= max(COALESCE(t."max_retries", 3), 1)
                            THEN 'no attempts left'
                          WHEN t."status" = 'ERROR'
                          AND t."next_attempt_at" IS NOT NULL THEN 'RETRYING'
                          END = 'IN_PROGRESS'
                          AND CASE
                          WHEN t."status" = 'IN_PROGRESS' THEN NULL
                          ELSE t."id"
                          END IS NULL
                          AND t."group_key" IS NOT NULL
                          AND t."dispatch_pool_id" = p."id"
                      )
                  )
            )
            END,
          CASE
            WHEN p."rate_per_minute" IS NULL THEN 1000000
            WHEN p."rate_per_minute" <= 0 THEN 0
            ELSE max(
              0,
                ((p."rate_per_minute" + 59) / 60)
                  - (
                    CAST(
                      (
                        max(
                          CASE
                            WHEN b.free_at
                              > ((julianday('now') - 2440587.5) * 86400.0)
                                + (((p."rate_per_minute" + 59) / 60) + 1)
                                  * (
                                    60.0
                                      / (
                                        CASE
                                          WHEN p."rate_per_minute"
                                            > 60
                                            THEN p."rate_per_minute" - ((p."rate_per_minute" + 59) / 60)
                                          ELSE p."rate_per_minute"
                                          END
                                      )
                                  )
                              THEN 0
                            ELSE COALESCE(b.free_at, 0)
                            END,
                            ((julianday('now') - 2440587.5) * 86400.0)
                        )
                          - ((julianday('now') - 2440587.5) * 86400.0)
                      )
                        / (
                          60.0
                            / (
                              CASE
                                WHEN p."rate_per_minute"
                                  > 60
                                  THEN p."rate_per_minute" - ((p."rate_per_minute" + 59) / 60)
                                ELSE p."rate_per_minute"
                                END
                            )
                        ) AS INTEGER
                    )
                      + (
                        (
                          max(
                            CASE
                              WHEN b.free_at
                                > ((julianday('now') - 2440587.5) * 86400.0)
                                  + (((p."rate_per_minute" + 59) / 60) + 1)
                                    * (
                                      60.0
                                        / (
                                          CASE
                                            WHEN p."rate_per_minute"
                                              > 60
                                              THEN p."rate_per_minute" - ((p."rate_per_minute" + 59) / 60)
                                            ELSE p."rate_per_minute"
                                            END
                                        )
                                    )
                                THEN 0
                              ELSE COALESCE(b.free_at, 0)
                              END,
                              ((julianday('now') - 2440587.5) * 86400.0)
                          )
                            - ((julianday('now') - 2440587.5) * 86400.0)
                        )
                          / (
                            60.0
                              / (
                                CASE
                                  WHEN p."rate_per_minute"
                                    > 60
                                    THEN p."rate_per_minute" - ((p."rate_per_minute" + 59) / 60)
                                  ELSE p."rate_per_minute"
                                  END
                              )
                          )
                          > CAST(
                            (
                              max(
                                CASE
                                  WHEN b.free_at
                                    > ((julianday('now') - 2440587.5) * 86400.0)
                                      + (((p."rate_per_minute" + 59) / 60) + 1)
                                        * (
                                          60.0
                                            / (
                                              CASE
                                                WHEN p."rate_per_minute"
                                                  > 60
                                                  THEN p."rate_per_minute" - ((p."rate_per_minute" + 59) / 60)
                                                ELSE p."rate_per_minute"
                                                END
                                            )
                                        )
                                    THEN 0
                                  ELSE COALESCE(b.free_at, 0)
                                  END,
                                  ((julianday('now') - 2440587.5) * 86400.0)
                              )
                                - ((julianday('now') - 2440587.5) * 86400.0)
                            )
                              / (
                                60.0
                                  / (
                                    CASE
                                      WHEN p."rate_per_minute"
                                        > 60
                                        THEN p."rate_per_minute" - ((p."rate_per_minute" + 59) / 60)
                                      ELSE p."rate_per_minute"
                                      END
                                  )
                              ) AS INTEGER
                          )
                      )
                  )
            )
            END
      )
      END AS INTEGER
  )
FROM postrider_pools AS b JOIN "dispatch_pools" AS p ON p."id" = b.pool
WHERE b.pool IN (SELECT value FROM json_each(?1));

-- deliver: claim shares of limited pools, step 3: [Shares, Quota] -> Keys
SELECT y.k FROM (
SELECT
  CAST(t."id" AS TEXT) AS k,
  COALESCE(
    CASE
      WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
      OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
      ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END,
      0
  ) AS o0,
  t."id" AS o1,
  j.value->>'n' AS most,
  row_number() OVER (
    PARTITION BY j.key
      ORDER BY COALESCE(
        CASE
          WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
          OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
          ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
          END,
          0
      ),
      t."id"
  ) AS nth
FROM json_each(?1) AS j CROSS JOIN "dispatch_jobs" AS t ON t."id" IN (
  SELECT t."id" FROM "dispatch_jobs" AS t
  WHERE (
    CASE
      WHEN t."group_key" IS NOT NULL
      AND NOT (typeof(t."group_key") = 'blob')
      AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
      ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
      END
  ) = j.value->>'s'
    AND ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
  AND COALESCE(
    CASE
      WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
      OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
      ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END,
      0
  ) <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
    + 0
  AND t."attempt_count" < max(COALESCE(t."max_retries", 3), 1)
  AND (
    t."expires_at" IS NULL
      OR CASE
      WHEN typeof(t."expires_at") IN ('integer', 'real')
      OR t."expires_at" NOT GLOB '*[^0-9]*' THEN CAST(t."expires_at" AS INTEGER)
      ELSE CAST(round((julianday(t."expires_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END > CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
  )
  AND (
    t."scheduled_for" IS NULL
      OR CASE
      WHEN typeof(t."scheduled_for") IN ('integer', 'real')
      OR t."scheduled_for" NOT GLOB '*[^0-9]*' THEN CAST(t."scheduled_for" AS INTEGER)
      ELSE CAST(round((julianday(t."scheduled_for") - 2440587.5) * 86400000.0) AS INTEGER)
      END <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
  )
  AND (t."group_key" IS NULL OR (typeof(t."group_key") = 'blob') OR t."mode" IN ('IMMEDIATE'))
  AND CASE
    WHEN t."group_key" IS NOT NULL
    AND NOT (typeof(t."group_key") = 'blob')
    AND t."mode" NOT IN ('IMMEDIATE')
      THEN COALESCE(
        CASE
          WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
          OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
          ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
          END,
          CASE
            WHEN typeof(t."created_at") IN ('integer', 'real')
            OR t."created_at" NOT GLOB '*[^0-9]*' THEN CAST(t."created_at" AS INTEGER)
            ELSE CAST(round((julianday(t."created_at") - 2440587.5) * 86400000.0) AS INTEGER)
            END
      )
    ELSE 0
    END = 0
  ORDER BY COALESCE(
    CASE
      WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
      OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
      ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END,
      0
  ),
    t."id" LIMIT ?2)) AS y
WHERE y.nth <= y.most
ORDER BY y.o0, y.o1;

-- deliver: claim shares of limited pools, step 4: [Owner, Held] -> Rows
UPDATE "dispatch_jobs" AS t SET
  "status" = 'IN_PROGRESS',
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
  "claimed_by" = ?1,
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
RETURNING
  CAST("id" AS TEXT),
  CAST("last_attempt_at" AS TEXT),
  CAST("attempt_count" AS TEXT),
  CAST("attempt_count" AS INTEGER),
  CAST("max_retries" AS INTEGER),
  CAST("retry_strategy" AS TEXT),
  CASE
    WHEN "group_key" IS NOT NULL
    AND NOT (typeof("group_key") = 'blob')
    AND "mode" NOT IN ('IMMEDIATE') THEN CAST("group_key" AS TEXT)
    END,
  CASE WHEN "mode" IN ('NEXT_ON_ERROR') THEN 'next' ELSE 'block' END,
  CAST("dispatch_pool_id" AS TEXT),
  CAST("client_id" AS TEXT),
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
    COALESCE(length(CAST("service_account_id" AS BLOB)), 0)
      + COALESCE(length(CAST("client_id" AS BLOB)), 0)
      + COALESCE(length(CAST("code" AS BLOB)), 0)
      + COALESCE(length(CAST("payload_content_type" AS BLOB)), 0)
      + COALESCE(length(CAST("correlation_id" AS BLOB)), 0)
      + COALESCE(length(CAST("id" AS BLOB)), 0)
      + COALESCE(length(CAST("event_id" AS BLOB)), 0)
      + COALESCE(length(CAST("headers" AS BLOB)), 0)
      + COALESCE(length(CAST("payload" AS BLOB)), 0)
      + COALESCE(length(CAST("source" AS BLOB)), 0)
      + COALESCE(length(CAST("subject" AS BLOB)), 0)
      + COALESCE(length(CAST("subscription_id" AS BLOB)), 0)
      + COALESCE(length(CAST("created_at" AS BLOB)), 0)
      + COALESCE(length(CAST("traceparent" AS BLOB)), 0)
      + COALESCE(length(CAST("target_url" AS BLOB)), 0) AS INTEGER
  ),
  CASE WHEN length(CAST("service_account_id" AS BLOB)) <= 65536 THEN "service_account_id" END,
  CASE WHEN length(CAST("client_id" AS BLOB)) <= 65536 THEN "client_id" END,
  CASE WHEN length(CAST("code" AS BLOB)) <= 65536 THEN "code" END,
  CASE WHEN length(CAST("payload_content_type" AS BLOB)) <= 65536 THEN "payload_content_type" END,
  CASE WHEN length(CAST("correlation_id" AS BLOB)) <= 65536 THEN "correlation_id" END,
  CASE WHEN "data_only" THEN 'true' WHEN NOT "data_only" THEN 'false' END,
  CASE WHEN length(CAST("id" AS BLOB)) <= 65536 THEN "id" END,
  CASE WHEN length(CAST("event_id" AS BLOB)) <= 65536 THEN "event_id" END,
  CASE WHEN length(CAST("headers" AS BLOB)) <= 65536 THEN "headers" END,
  CASE WHEN length(CAST("payload" AS BLOB)) <= 65536 THEN "payload" END,
  CASE WHEN length(CAST("source" AS BLOB)) <= 65536 THEN "source" END,
  CASE WHEN length(CAST("subject" AS BLOB)) <= 65536 THEN "subject" END,
  CASE WHEN length(CAST("subscription_id" AS BLOB)) <= 65536 THEN "subscription_id" END,
  CASE WHEN length(CAST("created_at" AS BLOB)) <= 65536 THEN "created_at" END,
  CAST("timeout_seconds" AS TEXT),
  CASE WHEN length(CAST("traceparent" AS BLOB)) <= 65536 THEN "traceparent" END,
  CASE WHEN length(CAST("target_url" AS BLOB)) <= 65536 THEN "target_url" END;

-- deliver: claim shares of limited pools, step 5: [Held] -> Nothing
UPDATE postrider_pools AS b SET free_at = max(
  CASE
    WHEN b.free_at
      > ((julianday('now') - 2440587.5) * 86400.0)
        + (((p."rate_per_minute" + 59) / 60) + 1)
          * (
            60.0
              / (
                CASE
                  WHEN p."rate_per_minute" > 60 THEN p."rate_per_minute" - ((p."rate_per_minute" + 59) / 60)
                  ELSE p."rate_per_minute"
                  END
              )
          )
      THEN 0
    ELSE COALESCE(b.free_at, 0)
    END,
    ((julianday('now') - 2440587.5) * 86400.0)
)
  + x.n
    * (
      60.0
        / (
          CASE
            WHEN p."rate_per_minute" > 60 THEN p."rate_per_minute" - ((p."rate_per_minute" + 59) / 60)
            ELSE p."rate_per_minute"
            END
        )
    )
FROM (
  SELECT
    t."dispatch_pool_id" AS pool,
    count(*) AS n
  FROM "dispatch_jobs" AS t
    WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1))
    AND t."dispatch_pool_id" IS NOT NULL
    GROUP BY t."dispatch_pool_id"
) AS x
  JOIN "dispatch_pools" AS p
  ON p."id" = x.pool
  AND p."rate_per_minute" > 0
WHERE b.pool = x.pool;

-- deliver: refund: [Ids] -> Nothing
UPDATE postrider_pools AS b SET free_at = b.free_at
  - x.n
    * (
      60.0
        / (
          CASE
            WHEN p."rate_per_minute" > 60 THEN p."rate_per_minute" - ((p."rate_per_minute" + 59) / 60)
            ELSE p."rate_per_minute"
            END
        )
    )
FROM (
  SELECT
    t."dispatch_pool_id" AS pool,
    count(*) AS n
  FROM "dispatch_jobs" AS t
    WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1))
    AND t."dispatch_pool_id" IS NOT NULL
    GROUP BY t."dispatch_pool_id"
) AS x
  JOIN "dispatch_pools" AS p
  ON p."id" = x.pool
  AND p."rate_per_minute" > 0
WHERE b.pool = x.pool;

-- deliver: claim groups from the start 1: [Open, Fresh, Jumps] -> Groups
SELECT
  CAST(s.g AS TEXT),
  s.kind,
  (
    SELECT
      (
        (
          (
            ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
              AND COALESCE(
                CASE
                  WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
                  OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
                  ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
                  END,
                  0
              ) <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
                + 0
              AND t."attempt_count" < max(COALESCE(t."max_retries", 3), 1)
              AND (
                t."expires_at" IS NULL
                  OR CASE
                  WHEN typeof(t."expires_at") IN ('integer', 'real')
                  OR t."expires_at" NOT GLOB '*[^0-9]*' THEN CAST(t."expires_at" AS INTEGER)
                  ELSE CAST(round((julianday(t."expires_at") - 2440587.5) * 86400000.0) AS INTEGER)
                  END > CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
              )
              AND (
                t."scheduled_for" IS NULL
                  OR CASE
                  WHEN typeof(t."scheduled_for") IN ('integer', 'real')
                  OR t."scheduled_for" NOT GLOB '*[^0-9]*' THEN CAST(t."scheduled_for" AS INTEGER)
                  ELSE CAST(round((julianday(t."scheduled_for") - 2440587.5) * 86400000.0) AS INTEGER)
                  END <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
              )
          ) IS TRUE
        )
          AND (t."dispatch_pool_id" IS NULL OR t."dispatch_pool_id" IN (SELECT value FROM json_each(?1)))
      )
        FROM "dispatch_jobs" AS t
        WHERE t."group_key" = s.g
        AND (
          (
            (t."status" = 'QUEUED')
              OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL)
              OR (t."status" = 'IN_PROGRESS')
          )
            OR (
              (t."status" = 'ERROR' AND t."next_attempt_at" IS NULL)
                AND t."mode" NOT IN ('IMMEDIATE', 'NEXT_ON_ERROR')
            )
        )
        AND t."group_key" IS NOT NULL
        AND NOT (typeof(t."group_key") = 'blob')
        AND t."mode" NOT IN ('IMMEDIATE')
        AND (
          (
            t."mode" IN ('NEXT_ON_ERROR')
              AND ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
              AND t."attempt_count" > 0
              AND (
                COALESCE(
                  CASE
                    WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
                    OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
                    ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
                    END,
                    0
                ) <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
                  + 0
                  AND t."attempt_count" < max(COALESCE(t."max_retries", 3), 1)
              ) IS NOT TRUE
          )
            OR (
              t."mode" NOT IN ('IMMEDIATE', 'NEXT_ON_ERROR')
                AND t."status" = 'ERROR'
                AND t."next_attempt_at" IS NULL
                AND CASE
                WHEN typeof(t."expires_at") IN ('integer', 'real')
                OR t."expires_at" NOT GLOB '*[^0-9]*' THEN CAST(t."expires_at" AS INTEGER)
                ELSE CAST(round((julianday(t."expires_at") - 2440587.5) * 86400000.0) AS INTEGER)
                END <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
            )
        ) IS NOT TRUE
        ORDER BY t."sequence",
      CASE
        WHEN typeof(t."created_at") IN ('integer', 'real')
        OR t."created_at" NOT GLOB '*[^0-9]*' THEN CAST(t."created_at" AS INTEGER)
        ELSE CAST(round((julianday(t."created_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END,
      t."id" LIMIT 1
  )
FROM (
  SELECT DISTINCT
    f.g AS g,
    0 AS kind
  FROM (
    SELECT f.g FROM (WITH RECURSIVE shares(s) AS (
SELECT *
  FROM (
    SELECT (
      CASE
        WHEN t."group_key" IS NOT NULL
        AND NOT (typeof(t."group_key") = 'blob')
        AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
        ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
        END
    ) AS s
      FROM "dispatch_jobs" AS t
      WHERE ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
      AND (
        CASE
          WHEN t."group_key" IS NOT NULL
          AND NOT (typeof(t."group_key") = 'blob')
          AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
          ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
          END
      ) >= 'o'
      ORDER BY (
        CASE
          WHEN t."group_key" IS NOT NULL
          AND NOT (typeof(t."group_key") = 'blob')
          AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
          ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
          END
      )
      LIMIT 1
  )
UNION ALL
SELECT (
  SELECT (
    CASE
      WHEN t."group_key" IS NOT NULL
      AND NOT (typeof(t."group_key") = 'blob')
      AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
      ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
      END
  ) AS s
    FROM "dispatch_jobs" AS t
    WHERE ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
    AND (
      CASE
        WHEN t."group_key" IS NOT NULL
        AND NOT (typeof(t."group_key") = 'blob')
        AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
        ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
        END
    ) >= 'o'
    AND (
      CASE
        WHEN t."group_key" IS NOT NULL
        AND NOT (typeof(t."group_key") = 'blob')
        AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
        ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
        END
    )
      > r.s
    ORDER BY (
      CASE
        WHEN t."group_key" IS NOT NULL
        AND NOT (typeof(t."group_key") = 'blob')
        AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
        ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
        END
    )
    LIMIT 1
)
  FROM shares AS r
  WHERE r.s IS NOT NULL
LIMIT 1000)
SELECT
  t."group_key" AS g,
  CASE
    WHEN t."group_key" IS NOT NULL
    AND NOT (typeof(t."group_key") = 'blob')
    AND t."mode" NOT IN ('IMMEDIATE')
      THEN COALESCE(
        CASE
          WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
          OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
          ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
          END,
          CASE
            WHEN typeof(t."created_at") IN ('integer', 'real')
            OR t."created_at" NOT GLOB '*[^0-9]*' THEN CAST(t."created_at" AS INTEGER)
            ELSE CAST(round((julianday(t."created_at") - 2440587.5) * 86400000.0) AS INTEGER)
            END
      )
    ELSE 0
    END AS k
FROM shares AS r CROSS JOIN "dispatch_jobs" AS t ON t."id" IN (
SELECT t."id"
  FROM "dispatch_jobs" AS t
  WHERE (
    CASE
      WHEN t."group_key" IS NOT NULL
      AND NOT (typeof(t."group_key") = 'blob')
      AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
      ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
      END
  ) = r.s
  AND ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
  AND CASE
  WHEN t."group_key" IS NOT NULL
  AND NOT (typeof(t."group_key") = 'blob')
  AND t."mode" NOT IN ('IMMEDIATE')
    THEN COALESCE(
      CASE
        WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
        OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
        ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END,
        CASE
          WHEN typeof(t."created_at") IN ('integer', 'real')
          OR t."created_at" NOT GLOB '*[^0-9]*' THEN CAST(t."created_at" AS INTEGER)
          ELSE CAST(round((julianday(t."created_at") - 2440587.5) * 86400000.0) AS INTEGER)
          END
    )
  ELSE 0
  END > 0
  AND CASE
  WHEN t."group_key" IS NOT NULL
  AND NOT (typeof(t."group_key") = 'blob')
  AND t."mode" NOT IN ('IMMEDIATE')
    THEN COALESCE(
      CASE
        WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
        OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
        ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END,
        CASE
          WHEN typeof(t."created_at") IN ('integer', 'real')
          OR t."created_at" NOT GLOB '*[^0-9]*' THEN CAST(t."created_at" AS INTEGER)
          ELSE CAST(round((julianday(t."created_at") - 2440587.5) * 86400000.0) AS INTEGER)
          END
    )
  ELSE 0
  END <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
  ORDER BY CASE
  WHEN t."group_key" IS NOT NULL
  AND NOT (typeof(t."group_key") = 'blob')
  AND t."mode" NOT IN ('IMMEDIATE')
    THEN COALESCE(
      CASE
        WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
        OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
        ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END,
        CASE
          WHEN typeof(t."created_at") IN ('integer', 'real')
          OR t."created_at" NOT GLOB '*[^0-9]*' THEN CAST(t."created_at" AS INTEGER)
          ELSE CAST(round((julianday(t."created_at") - 2440587.5) * 86400000.0) AS INTEGER)
          END
    )
  ELSE 0
  END DESC
  LIMIT ?2)
WHERE r.s IS NOT NULL) AS f ORDER BY f.k DESC LIMIT ?2) AS f
  UNION ALL
  SELECT
    q.g,
    1
  FROM (
    WITH RECURSIVE ring(g) AS (
      SELECT min(t."group_key")
        FROM "dispatch_jobs" AS t
        WHERE (
          (
            (t."status" = 'QUEUED')
              OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL)
              OR (t."status" = 'IN_PROGRESS')
          )
            OR (
              (t."status" = 'ERROR' AND t."next_attempt_at" IS NULL)
                AND t."mode" NOT IN ('IMMEDIATE', 'NEXT_ON_ERROR')
            )
        )
        AND t."group_key" IS NOT NULL
        AND NOT (typeof(t."group_key") = 'blob')
        AND t."mode" NOT IN ('IMMEDIATE')
      UNION ALL
      SELECT (
        SELECT min(t."group_key")
          FROM "dispatch_jobs" AS t
          WHERE (
            (
              (t."status" = 'QUEUED')
                OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL)
                OR (t."status" = 'IN_PROGRESS')
            )
              OR (
                (t."status" = 'ERROR' AND t."next_attempt_at" IS NULL)
                  AND t."mode" NOT IN ('IMMEDIATE', 'NEXT_ON_ERROR')
              )
          )
          AND t."group_key" IS NOT NULL
          AND NOT (typeof(t."group_key") = 'blob')
          AND t."mode" NOT IN ('IMMEDIATE')
          AND t."group_key" > r.g
      )
        FROM ring AS r
        WHERE r.g IS NOT NULL
      LIMIT ?3)
    SELECT g FROM ring) AS q) AS s
WHERE s.g IS NOT NULL;

-- deliver: claim groups from the start 2, step 1: [Open, Groups, Run, Limit, Permits] -> Keys
WITH picked AS MATERIALIZED (
SELECT
  y.k,
  y.place,
  y.ord,
  y.pool
FROM (
  SELECT
    CAST(t."id" AS TEXT) AS k,
    CAST(t."dispatch_pool_id" AS TEXT) AS pool,
    j.key AS place,
    row_number() OVER w AS ord,
    min(
      (
        (
          (
            ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
              AND COALESCE(
                CASE
                  WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
                  OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
                  ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
                  END,
                  0
              ) <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
                + 0
              AND t."attempt_count" < max(COALESCE(t."max_retries", 3), 1)
              AND (
                t."expires_at" IS NULL
                  OR CASE
                  WHEN typeof(t."expires_at") IN ('integer', 'real')
                  OR t."expires_at" NOT GLOB '*[^0-9]*' THEN CAST(t."expires_at" AS INTEGER)
                  ELSE CAST(round((julianday(t."expires_at") - 2440587.5) * 86400000.0) AS INTEGER)
                  END > CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
              )
              AND (
                t."scheduled_for" IS NULL
                  OR CASE
                  WHEN typeof(t."scheduled_for") IN ('integer', 'real')
                  OR t."scheduled_for" NOT GLOB '*[^0-9]*' THEN CAST(t."scheduled_for" AS INTEGER)
                  ELSE CAST(round((julianday(t."scheduled_for") - 2440587.5) * 86400000.0) AS INTEGER)
                  END <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
              )
          ) IS TRUE
        )
          AND (t."dispatch_pool_id" IS NULL OR t."dispatch_pool_id" IN (SELECT value FROM json_each(?1)))
      )
    ) OVER w AS ok
  FROM json_each(?2) AS j CROSS JOIN "dispatch_jobs" AS t ON t."id" IN (
    SELECT
      t."id"
        FROM "dispatch_jobs" AS t
        WHERE t."group_key" = j.value
        AND (
          (
            (t."status" = 'QUEUED')
              OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL)
              OR (t."status" = 'IN_PROGRESS')
          )
            OR (
              (t."status" = 'ERROR' AND t."next_attempt_at" IS NULL)
                AND t."mode" NOT IN ('IMMEDIATE', 'NEXT_ON_ERROR')
            )
        )
        AND t."group_key" IS NOT NULL
        AND NOT (typeof(t."group_key") = 'blob')
        AND t."mode" NOT IN ('IMMEDIATE')
        AND (
          (
            t."mode" IN ('NEXT_ON_ERROR')
              AND ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
              AND t."attempt_count" > 0
              AND (
                COALESCE(
                  CASE
                    WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
                    OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
                    ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
                    END,
                    0
                ) <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
                  + 0
                  AND t."attempt_count" < max(COALESCE(t."max_retries", 3), 1)
              ) IS NOT TRUE
          )
            OR (
              t."mode" NOT IN ('IMMEDIATE', 'NEXT_ON_ERROR')
                AND t."status" = 'ERROR'
                AND t."next_attempt_at" IS NULL
                AND CASE
                WHEN typeof(t."expires_at") IN ('integer', 'real')
                OR t."expires_at" NOT GLOB '*[^0-9]*' THEN CAST(t."expires_at" AS INTEGER)
                ELSE CAST(round((julianday(t."expires_at") - 2440587.5) * 86400000.0) AS INTEGER)
                END <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
            )
        ) IS NOT TRUE
        ORDER BY t."sequence",
      CASE
        WHEN typeof(t."created_at") IN ('integer', 'real')
        OR t."created_at" NOT GLOB '*[^0-9]*' THEN CAST(t."created_at" AS INTEGER)
        ELSE CAST(round((julianday(t."created_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END,
      t."id" LIMIT ?3)
WHERE (
  SELECT 1
    FROM "dispatch_jobs" AS t
    WHERE t."group_key" = j.value
    AND CASE
    WHEN t."status" = 'IN_PROGRESS' THEN 'IN_PROGRESS'
    WHEN t."status" = 'ERROR'
    AND t."next_attempt_at" IS NULL THEN 'DEAD'
    WHEN t."status" = 'PENDING' THEN 'PENDING'
    WHEN t."status" = 'CANCELLED' THEN 'CANCELLED'
    WHEN ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
    AND t."attempt_count" >= max(COALESCE(t."max_retries", 3), 1) THEN 'no attempts left'
    WHEN t."status" = 'ERROR'
    AND t."next_attempt_at" IS NOT NULL THEN 'RETRYING'
    END = 'IN_PROGRESS'
    AND CASE
    WHEN t."status" = 'IN_PROGRESS' THEN NULL
    ELSE t."id"
    END IS NULL
    AND t."group_key" IS NOT NULL
    AND NOT (typeof(t."group_key") = 'blob')
    AND t."mode" NOT IN ('IMMEDIATE')
    LIMIT 1
) IS NULL
  WINDOW w AS (
    PARTITION BY j.key ORDER BY t."sequence",
      CASE
        WHEN typeof(t."created_at") IN ('integer', 'real')
        OR t."created_at" NOT GLOB '*[^0-9]*' THEN CAST(t."created_at" AS INTEGER)
        ELSE CAST(round((julianday(t."created_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END,
      t."id"
  )) AS y
WHERE y.ok
ORDER BY y.place, y.ord LIMIT ?4),
pick AS MATERIALIZED (
SELECT
  z.k,
  z.place,
  z.ord
FROM (
  SELECT
    y.k,
    y.place,
    y.ord,
    min(y.n IS NULL OR y.nth <= y.n) OVER (PARTITION BY y.place ORDER BY y.ord) AS ok
  FROM (
    SELECT
      p.*,
      q.n,
      row_number() OVER (PARTITION BY p.pool ORDER BY p.place, p.ord) AS nth
    FROM picked AS p
      LEFT
      JOIN (SELECT value->>'p' AS p, value->>'n' AS n FROM json_each(?5)) AS q
      ON q.p = p.pool) AS y) AS z
WHERE z.ok)
SELECT k FROM pick ORDER BY place, ord;

-- deliver: claim groups from the start 2, step 2: [Owner, Held] -> Rows
UPDATE "dispatch_jobs" AS t SET
  "status" = 'IN_PROGRESS',
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
  "claimed_by" = ?1,
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
RETURNING
  CAST("id" AS TEXT),
  CAST("last_attempt_at" AS TEXT),
  CAST("attempt_count" AS TEXT),
  CAST("attempt_count" AS INTEGER),
  CAST("max_retries" AS INTEGER),
  CAST("retry_strategy" AS TEXT),
  CASE
    WHEN "group_key" IS NOT NULL
    AND NOT (typeof("group_key") = 'blob')
    AND "mode" NOT IN ('IMMEDIATE') THEN CAST("group_key" AS TEXT)
    END,
  CASE WHEN "mode" IN ('NEXT_ON_ERROR') THEN 'next' ELSE 'block' END,
  CAST("dispatch_pool_id" AS TEXT),
  CAST("client_id" AS TEXT),
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
    COALESCE(length(CAST("service_account_id" AS BLOB)), 0)
      + COALESCE(length(CAST("client_id" AS BLOB)), 0)
      + COALESCE(length(CAST("code" AS BLOB)), 0)
      + COALESCE(length(CAST("payload_content_type" AS BLOB)), 0)
      + COALESCE(length(CAST("correlation_id" AS BLOB)), 0)
      + COALESCE(length(CAST("id" AS BLOB)), 0)
      + COALESCE(length(CAST("event_id" AS BLOB)), 0)
      + COALESCE(length(CAST("headers" AS BLOB)), 0)
      + COALESCE(length(CAST("payload" AS BLOB)), 0)
      + COALESCE(length(CAST("source" AS BLOB)), 0)
      + COALESCE(length(CAST("subject" AS BLOB)), 0)
      + COALESCE(length(CAST("subscription_id" AS BLOB)), 0)
      + COALESCE(length(CAST("created_at" AS BLOB)), 0)
      + COALESCE(length(CAST("traceparent" AS BLOB)), 0)
      + COALESCE(length(CAST("target_url" AS BLOB)), 0) AS INTEGER
  ),
  CASE WHEN length(CAST("service_account_id" AS BLOB)) <= 65536 THEN "service_account_id" END,
  CASE WHEN length(CAST("client_id" AS BLOB)) <= 65536 THEN "client_id" END,
  CASE WHEN length(CAST("code" AS BLOB)) <= 65536 THEN "code" END,
  CASE WHEN length(CAST("payload_content_type" AS BLOB)) <= 65536 THEN "payload_content_type" END,
  CASE WHEN length(CAST("correlation_id" AS BLOB)) <= 65536 THEN "correlation_id" END,
  CASE WHEN "data_only" THEN 'true' WHEN NOT "data_only" THEN 'false' END,
  CASE WHEN length(CAST("id" AS BLOB)) <= 65536 THEN "id" END,
  CASE WHEN length(CAST("event_id" AS BLOB)) <= 65536 THEN "event_id" END,
  CASE WHEN length(CAST("headers" AS BLOB)) <= 65536 THEN "headers" END,
  CASE WHEN length(CAST("payload" AS BLOB)) <= 65536 THEN "payload" END,
  CASE WHEN length(CAST("source" AS BLOB)) <= 65536 THEN "source" END,
  CASE WHEN length(CAST("subject" AS BLOB)) <= 65536 THEN "subject" END,
  CASE WHEN length(CAST("subscription_id" AS BLOB)) <= 65536 THEN "subscription_id" END,
  CASE WHEN length(CAST("created_at" AS BLOB)) <= 65536 THEN "created_at" END,
  CAST("timeout_seconds" AS TEXT),
  CASE WHEN length(CAST("traceparent" AS BLOB)) <= 65536 THEN "traceparent" END,
  CASE WHEN length(CAST("target_url" AS BLOB)) <= 65536 THEN "target_url" END;

-- deliver: claim groups from the cursor 1: [Open, Fresh, Cursor, Jumps] -> Groups
SELECT
  CAST(s.g AS TEXT),
  s.kind,
  (
    SELECT
      (
        (
          (
            ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
              AND COALESCE(
                CASE
                  WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
                  OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
                  ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
                  END,
                  0
              ) <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
                + 0
              AND t."attempt_count" < max(COALESCE(t."max_retries", 3), 1)
              AND (
                t."expires_at" IS NULL
                  OR CASE
                  WHEN typeof(t."expires_at") IN ('integer', 'real')
                  OR t."expires_at" NOT GLOB '*[^0-9]*' THEN CAST(t."expires_at" AS INTEGER)
                  ELSE CAST(round((julianday(t."expires_at") - 2440587.5) * 86400000.0) AS INTEGER)
                  END > CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
              )
              AND (
                t."scheduled_for" IS NULL
                  OR CASE
                  WHEN typeof(t."scheduled_for") IN ('integer', 'real')
                  OR t."scheduled_for" NOT GLOB '*[^0-9]*' THEN CAST(t."scheduled_for" AS INTEGER)
                  ELSE CAST(round((julianday(t."scheduled_for") - 2440587.5) * 86400000.0) AS INTEGER)
                  END <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
              )
          ) IS TRUE
        )
          AND (t."dispatch_pool_id" IS NULL OR t."dispatch_pool_id" IN (SELECT value FROM json_each(?1)))
      )
        FROM "dispatch_jobs" AS t
        WHERE t."group_key" = s.g
        AND (
          (
            (t."status" = 'QUEUED')
              OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL)
              OR (t."status" = 'IN_PROGRESS')
          )
            OR (
              (t."status" = 'ERROR' AND t."next_attempt_at" IS NULL)
                AND t."mode" NOT IN ('IMMEDIATE', 'NEXT_ON_ERROR')
            )
        )
        AND t."group_key" IS NOT NULL
        AND NOT (typeof(t."group_key") = 'blob')
        AND t."mode" NOT IN ('IMMEDIATE')
        AND (
          (
            t."mode" IN ('NEXT_ON_ERROR')
              AND ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
              AND t."attempt_count" > 0
              AND (
                COALESCE(
                  CASE
                    WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
                    OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
                    ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
                    END,
                    0
                ) <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
                  + 0
                  AND t."attempt_count" < max(COALESCE(t."max_retries", 3), 1)
              ) IS NOT TRUE
          )
            OR (
              t."mode" NOT IN ('IMMEDIATE', 'NEXT_ON_ERROR')
                AND t."status" = 'ERROR'
                AND t."next_attempt_at" IS NULL
                AND CASE
                WHEN typeof(t."expires_at") IN ('integer', 'real')
                OR t."expires_at" NOT GLOB '*[^0-9]*' THEN CAST(t."expires_at" AS INTEGER)
                ELSE CAST(round((julianday(t."expires_at") - 2440587.5) * 86400000.0) AS INTEGER)
                END <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
            )
        ) IS NOT TRUE
        ORDER BY t."sequence",
      CASE
        WHEN typeof(t."created_at") IN ('integer', 'real')
        OR t."created_at" NOT GLOB '*[^0-9]*' THEN CAST(t."created_at" AS INTEGER)
        ELSE CAST(round((julianday(t."created_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END,
      t."id" LIMIT 1
  )
FROM (
  SELECT DISTINCT
    f.g AS g,
    0 AS kind
  FROM (
    SELECT f.g FROM (WITH RECURSIVE shares(s) AS (
SELECT *
  FROM (
    SELECT (
      CASE
        WHEN t."group_key" IS NOT NULL
        AND NOT (typeof(t."group_key") = 'blob')
        AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
        ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
        END
    ) AS s
      FROM "dispatch_jobs" AS t
      WHERE ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
      AND (
        CASE
          WHEN t."group_key" IS NOT NULL
          AND NOT (typeof(t."group_key") = 'blob')
          AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
          ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
          END
      ) >= 'o'
      ORDER BY (
        CASE
          WHEN t."group_key" IS NOT NULL
          AND NOT (typeof(t."group_key") = 'blob')
          AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
          ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
          END
      )
      LIMIT 1
  )
UNION ALL
SELECT (
  SELECT (
    CASE
      WHEN t."group_key" IS NOT NULL
      AND NOT (typeof(t."group_key") = 'blob')
      AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
      ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
      END
  ) AS s
    FROM "dispatch_jobs" AS t
    WHERE ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
    AND (
      CASE
        WHEN t."group_key" IS NOT NULL
        AND NOT (typeof(t."group_key") = 'blob')
        AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
        ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
        END
    ) >= 'o'
    AND (
      CASE
        WHEN t."group_key" IS NOT NULL
        AND NOT (typeof(t."group_key") = 'blob')
        AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
        ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
        END
    )
      > r.s
    ORDER BY (
      CASE
        WHEN t."group_key" IS NOT NULL
        AND NOT (typeof(t."group_key") = 'blob')
        AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
        ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
        END
    )
    LIMIT 1
)
  FROM shares AS r
  WHERE r.s IS NOT NULL
LIMIT 1000)
SELECT
  t."group_key" AS g,
  CASE
    WHEN t."group_key" IS NOT NULL
    AND NOT (typeof(t."group_key") = 'blob')
    AND t."mode" NOT IN ('IMMEDIATE')
      THEN COALESCE(
        CASE
          WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
          OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
          ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
          END,
          CASE
            WHEN typeof(t."created_at") IN ('integer', 'real')
            OR t."created_at" NOT GLOB '*[^0-9]*' THEN CAST(t."created_at" AS INTEGER)
            ELSE CAST(round((julianday(t."created_at") - 2440587.5) * 86400000.0) AS INTEGER)
            END
      )
    ELSE 0
    END AS k
FROM shares AS r CROSS JOIN "dispatch_jobs" AS t ON t."id" IN (
SELECT t."id"
  FROM "dispatch_jobs" AS t
  WHERE (
    CASE
      WHEN t."group_key" IS NOT NULL
      AND NOT (typeof(t."group_key") = 'blob')
      AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
      ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
      END
  ) = r.s
  AND ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
  AND CASE
  WHEN t."group_key" IS NOT NULL
  AND NOT (typeof(t."group_key") = 'blob')
  AND t."mode" NOT IN ('IMMEDIATE')
    THEN COALESCE(
      CASE
        WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
        OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
        ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END,
        CASE
          WHEN typeof(t."created_at") IN ('integer', 'real')
          OR t."created_at" NOT GLOB '*[^0-9]*' THEN CAST(t."created_at" AS INTEGER)
          ELSE CAST(round((julianday(t."created_at") - 2440587.5) * 86400000.0) AS INTEGER)
          END
    )
  ELSE 0
  END > 0
  AND CASE
  WHEN t."group_key" IS NOT NULL
  AND NOT (typeof(t."group_key") = 'blob')
  AND t."mode" NOT IN ('IMMEDIATE')
    THEN COALESCE(
      CASE
        WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
        OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
        ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END,
        CASE
          WHEN typeof(t."created_at") IN ('integer', 'real')
          OR t."created_at" NOT GLOB '*[^0-9]*' THEN CAST(t."created_at" AS INTEGER)
          ELSE CAST(round((julianday(t."created_at") - 2440587.5) * 86400000.0) AS INTEGER)
          END
    )
  ELSE 0
  END <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
  ORDER BY CASE
  WHEN t."group_key" IS NOT NULL
  AND NOT (typeof(t."group_key") = 'blob')
  AND t."mode" NOT IN ('IMMEDIATE')
    THEN COALESCE(
      CASE
        WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
        OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
        ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END,
        CASE
          WHEN typeof(t."created_at") IN ('integer', 'real')
          OR t."created_at" NOT GLOB '*[^0-9]*' THEN CAST(t."created_at" AS INTEGER)
          ELSE CAST(round((julianday(t."created_at") - 2440587.5) * 86400000.0) AS INTEGER)
          END
    )
  ELSE 0
  END DESC
  LIMIT ?2)
WHERE r.s IS NOT NULL) AS f ORDER BY f.k DESC LIMIT ?2) AS f
  UNION ALL
  SELECT
    q.g,
    1
  FROM (
    WITH RECURSIVE ring(g) AS (
      SELECT min(t."group_key")
        FROM "dispatch_jobs" AS t
        WHERE (
          (
            (t."status" = 'QUEUED')
              OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL)
              OR (t."status" = 'IN_PROGRESS')
          )
            OR (
              (t."status" = 'ERROR' AND t."next_attempt_at" IS NULL)
                AND t."mode" NOT IN ('IMMEDIATE', 'NEXT_ON_ERROR')
            )
        )
        AND t."group_key" IS NOT NULL
        AND NOT (typeof(t."group_key") = 'blob')
        AND t."mode" NOT IN ('IMMEDIATE')
        AND t."group_key" > ?3
      UNION ALL
      SELECT (
        SELECT min(t."group_key")
          FROM "dispatch_jobs" AS t
          WHERE (
            (
              (t."status" = 'QUEUED')
                OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL)
                OR (t."status" = 'IN_PROGRESS')
            )
              OR (
                (t."status" = 'ERROR' AND t."next_attempt_at" IS NULL)
                  AND t."mode" NOT IN ('IMMEDIATE', 'NEXT_ON_ERROR')
              )
          )
          AND t."group_key" IS NOT NULL
          AND NOT (typeof(t."group_key") = 'blob')
          AND t."mode" NOT IN ('IMMEDIATE')
          AND t."group_key" > r.g
      )
        FROM ring AS r
        WHERE r.g IS NOT NULL
      LIMIT ?4)
    SELECT g FROM ring) AS q) AS s
WHERE s.g IS NOT NULL;

-- deliver: claim groups from the cursor 2, step 1: [Open, Groups, Run, Limit, Permits] -> Keys
WITH picked AS MATERIALIZED (
SELECT
  y.k,
  y.place,
  y.ord,
  y.pool
FROM (
  SELECT
    CAST(t."id" AS TEXT) AS k,
    CAST(t."dispatch_pool_id" AS TEXT) AS pool,
    j.key AS place,
    row_number() OVER w AS ord,
    min(
      (
        (
          (
            ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
              AND COALESCE(
                CASE
                  WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
                  OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
                  ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
                  END,
                  0
              ) <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
                + 0
              AND t."attempt_count" < max(COALESCE(t."max_retries", 3), 1)
              AND (
                t."expires_at" IS NULL
                  OR CASE
                  WHEN typeof(t."expires_at") IN ('integer', 'real')
                  OR t."expires_at" NOT GLOB '*[^0-9]*' THEN CAST(t."expires_at" AS INTEGER)
                  ELSE CAST(round((julianday(t."expires_at") - 2440587.5) * 86400000.0) AS INTEGER)
                  END > CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
              )
              AND (
                t."scheduled_for" IS NULL
                  OR CASE
                  WHEN typeof(t."scheduled_for") IN ('integer', 'real')
                  OR t."scheduled_for" NOT GLOB '*[^0-9]*' THEN CAST(t."scheduled_for" AS INTEGER)
                  ELSE CAST(round((julianday(t."scheduled_for") - 2440587.5) * 86400000.0) AS INTEGER)
                  END <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
              )
          ) IS TRUE
        )
          AND (t."dispatch_pool_id" IS NULL OR t."dispatch_pool_id" IN (SELECT value FROM json_each(?1)))
      )
    ) OVER w AS ok
  FROM json_each(?2) AS j CROSS JOIN "dispatch_jobs" AS t ON t."id" IN (
    SELECT
      t."id"
        FROM "dispatch_jobs" AS t
        WHERE t."group_key" = j.value
        AND (
          (
            (t."status" = 'QUEUED')
              OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL)
              OR (t."status" = 'IN_PROGRESS')
          )
            OR (
              (t."status" = 'ERROR' AND t."next_attempt_at" IS NULL)
                AND t."mode" NOT IN ('IMMEDIATE', 'NEXT_ON_ERROR')
            )
        )
        AND t."group_key" IS NOT NULL
        AND NOT (typeof(t."group_key") = 'blob')
        AND t."mode" NOT IN ('IMMEDIATE')
        AND (
          (
            t."mode" IN ('NEXT_ON_ERROR')
              AND ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
              AND t."attempt_count" > 0
              AND (
                COALESCE(
                  CASE
                    WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
                    OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
                    ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
                    END,
                    0
                ) <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
                  + 0
                  AND t."attempt_count" < max(COALESCE(t."max_retries", 3), 1)
              ) IS NOT TRUE
          )
            OR (
              t."mode" NOT IN ('IMMEDIATE', 'NEXT_ON_ERROR')
                AND t."status" = 'ERROR'
                AND t."next_attempt_at" IS NULL
                AND CASE
                WHEN typeof(t."expires_at") IN ('integer', 'real')
                OR t."expires_at" NOT GLOB '*[^0-9]*' THEN CAST(t."expires_at" AS INTEGER)
                ELSE CAST(round((julianday(t."expires_at") - 2440587.5) * 86400000.0) AS INTEGER)
                END <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
            )
        ) IS NOT TRUE
        ORDER BY t."sequence",
      CASE
        WHEN typeof(t."created_at") IN ('integer', 'real')
        OR t."created_at" NOT GLOB '*[^0-9]*' THEN CAST(t."created_at" AS INTEGER)
        ELSE CAST(round((julianday(t."created_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END,
      t."id" LIMIT ?3)
WHERE (
  SELECT 1
    FROM "dispatch_jobs" AS t
    WHERE t."group_key" = j.value
    AND CASE
    WHEN t."status" = 'IN_PROGRESS' THEN 'IN_PROGRESS'
    WHEN t."status" = 'ERROR'
    AND t."next_attempt_at" IS NULL THEN 'DEAD'
    WHEN t."status" = 'PENDING' THEN 'PENDING'
    WHEN t."status" = 'CANCELLED' THEN 'CANCELLED'
    WHEN ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
    AND t."attempt_count" >= max(COALESCE(t."max_retries", 3), 1) THEN 'no attempts left'
    WHEN t."status" = 'ERROR'
    AND t."next_attempt_at" IS NOT NULL THEN 'RETRYING'
    END = 'IN_PROGRESS'
    AND CASE
    WHEN t."status" = 'IN_PROGRESS' THEN NULL
    ELSE t."id"
    END IS NULL
    AND t."group_key" IS NOT NULL
    AND NOT (typeof(t."group_key") = 'blob')
    AND t."mode" NOT IN ('IMMEDIATE')
    LIMIT 1
) IS NULL
  WINDOW w AS (
    PARTITION BY j.key ORDER BY t."sequence",
      CASE
        WHEN typeof(t."created_at") IN ('integer', 'real')
        OR t."created_at" NOT GLOB '*[^0-9]*' THEN CAST(t."created_at" AS INTEGER)
        ELSE CAST(round((julianday(t."created_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END,
      t."id"
  )) AS y
WHERE y.ok
ORDER BY y.place, y.ord LIMIT ?4),
pick AS MATERIALIZED (
SELECT
  z.k,
  z.place,
  z.ord
FROM (
  SELECT
    y.k,
    y.place,
    y.ord,
    min(y.n IS NULL OR y.nth <= y.n) OVER (PARTITION BY y.place ORDER BY y.ord) AS ok
  FROM (
    SELECT
      p.*,
      q.n,
      row_number() OVER (PARTITION BY p.pool ORDER BY p.place, p.ord) AS nth
    FROM picked AS p
      LEFT
      JOIN (SELECT value->>'p' AS p, value->>'n' AS n FROM json_each(?5)) AS q
      ON q.p = p.pool) AS y) AS z
WHERE z.ok)
SELECT k FROM pick ORDER BY place, ord;

-- deliver: claim groups from the cursor 2, step 2: [Owner, Held] -> Rows
UPDATE "dispatch_jobs" AS t SET
  "status" = 'IN_PROGRESS',
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
  "claimed_by" = ?1,
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
RETURNING
  CAST("id" AS TEXT),
  CAST("last_attempt_at" AS TEXT),
  CAST("attempt_count" AS TEXT),
  CAST("attempt_count" AS INTEGER),
  CAST("max_retries" AS INTEGER),
  CAST("retry_strategy" AS TEXT),
  CASE
    WHEN "group_key" IS NOT NULL
    AND NOT (typeof("group_key") = 'blob')
    AND "mode" NOT IN ('IMMEDIATE') THEN CAST("group_key" AS TEXT)
    END,
  CASE WHEN "mode" IN ('NEXT_ON_ERROR') THEN 'next' ELSE 'block' END,
  CAST("dispatch_pool_id" AS TEXT),
  CAST("client_id" AS TEXT),
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
    COALESCE(length(CAST("service_account_id" AS BLOB)), 0)
      + COALESCE(length(CAST("client_id" AS BLOB)), 0)
      + COALESCE(length(CAST("code" AS BLOB)), 0)
      + COALESCE(length(CAST("payload_content_type" AS BLOB)), 0)
      + COALESCE(length(CAST("correlation_id" AS BLOB)), 0)
      + COALESCE(length(CAST("id" AS BLOB)), 0)
      + COALESCE(length(CAST("event_id" AS BLOB)), 0)
      + COALESCE(length(CAST("headers" AS BLOB)), 0)
      + COALESCE(length(CAST("payload" AS BLOB)), 0)
      + COALESCE(length(CAST("source" AS BLOB)), 0)
      + COALESCE(length(CAST("subject" AS BLOB)), 0)
      + COALESCE(length(CAST("subscription_id" AS BLOB)), 0)
      + COALESCE(length(CAST("created_at" AS BLOB)), 0)
      + COALESCE(length(CAST("traceparent" AS BLOB)), 0)
      + COALESCE(length(CAST("target_url" AS BLOB)), 0) AS INTEGER
  ),
  CASE WHEN length(CAST("service_account_id" AS BLOB)) <= 65536 THEN "service_account_id" END,
  CASE WHEN length(CAST("client_id" AS BLOB)) <= 65536 THEN "client_id" END,
  CASE WHEN length(CAST("code" AS BLOB)) <= 65536 THEN "code" END,
  CASE WHEN length(CAST("payload_content_type" AS BLOB)) <= 65536 THEN "payload_content_type" END,
  CASE WHEN length(CAST("correlation_id" AS BLOB)) <= 65536 THEN "correlation_id" END,
  CASE WHEN "data_only" THEN 'true' WHEN NOT "data_only" THEN 'false' END,
  CASE WHEN length(CAST("id" AS BLOB)) <= 65536 THEN "id" END,
  CASE WHEN length(CAST("event_id" AS BLOB)) <= 65536 THEN "event_id" END,
  CASE WHEN length(CAST("headers" AS BLOB)) <= 65536 THEN "headers" END,
  CASE WHEN length(CAST("payload" AS BLOB)) <= 65536 THEN "payload" END,
  CASE WHEN length(CAST("source" AS BLOB)) <= 65536 THEN "source" END,
  CASE WHEN length(CAST("subject" AS BLOB)) <= 65536 THEN "subject" END,
  CASE WHEN length(CAST("subscription_id" AS BLOB)) <= 65536 THEN "subscription_id" END,
  CASE WHEN length(CAST("created_at" AS BLOB)) <= 65536 THEN "created_at" END,
  CAST("timeout_seconds" AS TEXT),
  CASE WHEN length(CAST("traceparent" AS BLOB)) <= 65536 THEN "traceparent" END,
  CASE WHEN length(CAST("target_url" AS BLOB)) <= 65536 THEN "target_url" END;

-- deliver: claim groups from the start, limited 1: [Open, Fresh, Jumps] -> Groups
SELECT
  CAST(s.g AS TEXT),
  s.kind,
  (
    SELECT
      (
        (
          (
            ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
              AND COALESCE(
                CASE
                  WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
                  OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
                  ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
                  END,
                  0
              ) <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
                + 0
              AND t."attempt_count" < max(COALESCE(t."max_retries", 3), 1)
              AND (
                t."expires_at" IS NULL
                  OR CASE
                  WHEN typeof(t."expires_at") IN ('integer', 'real')
                  OR t."expires_at" NOT GLOB '*[^0-9]*' THEN CAST(t."expires_at" AS INTEGER)
                  ELSE CAST(round((julianday(t."expires_at") - 2440587.5) * 86400000.0) AS INTEGER)
                  END > CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
              )
              AND (
                t."scheduled_for" IS NULL
                  OR CASE
                  WHEN typeof(t."scheduled_for") IN ('integer', 'real')
                  OR t."scheduled_for" NOT GLOB '*[^0-9]*' THEN CAST(t."scheduled_for" AS INTEGER)
                  ELSE CAST(round((julianday(t."scheduled_for") - 2440587.5) * 86400000.0) AS INTEGER)
                  END <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
              )
          ) IS TRUE
        )
          AND (t."dispatch_pool_id" IS NULL OR t."dispatch_pool_id" IN (SELECT value FROM json_each(?1)))
      )
        FROM "dispatch_jobs" AS t
        WHERE t."group_key" = s.g
        AND (
          (
            (t."status" = 'QUEUED')
              OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL)
              OR (t."status" = 'IN_PROGRESS')
          )
            OR (
              (t."status" = 'ERROR' AND t."next_attempt_at" IS NULL)
                AND t."mode" NOT IN ('IMMEDIATE', 'NEXT_ON_ERROR')
            )
        )
        AND t."group_key" IS NOT NULL
        AND NOT (typeof(t."group_key") = 'blob')
        AND t."mode" NOT IN ('IMMEDIATE')
        AND (
          (
            t."mode" IN ('NEXT_ON_ERROR')
              AND ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
              AND t."attempt_count" > 0
              AND (
                COALESCE(
                  CASE
                    WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
                    OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
                    ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
                    END,
                    0
                ) <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
                  + 0
                  AND t."attempt_count" < max(COALESCE(t."max_retries", 3), 1)
              ) IS NOT TRUE
          )
            OR (
              t."mode" NOT IN ('IMMEDIATE', 'NEXT_ON_ERROR')
                AND t."status" = 'ERROR'
                AND t."next_attempt_at" IS NULL
                AND CASE
                WHEN typeof(t."expires_at") IN ('integer', 'real')
                OR t."expires_at" NOT GLOB '*[^0-9]*' THEN CAST(t."expires_at" AS INTEGER)
                ELSE CAST(round((julianday(t."expires_at") - 2440587.5) * 86400000.0) AS INTEGER)
                END <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
            )
        ) IS NOT TRUE
        ORDER BY t."sequence",
      CASE
        WHEN typeof(t."created_at") IN ('integer', 'real')
        OR t."created_at" NOT GLOB '*[^0-9]*' THEN CAST(t."created_at" AS INTEGER)
        ELSE CAST(round((julianday(t."created_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END,
      t."id" LIMIT 1
  )
FROM (
  SELECT DISTINCT
    f.g AS g,
    0 AS kind
  FROM (
    SELECT f.g FROM (WITH RECURSIVE shares(s) AS (
SELECT *
  FROM (
    SELECT (
      CASE
        WHEN t."group_key" IS NOT NULL
        AND NOT (typeof(t."group_key") = 'blob')
        AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
        ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
        END
    ) AS s
      FROM "dispatch_jobs" AS t
      WHERE ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
      AND (
        CASE
          WHEN t."group_key" IS NOT NULL
          AND NOT (typeof(t."group_key") = 'blob')
          AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
          ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
          END
      ) >= 'o'
      ORDER BY (
        CASE
          WHEN t."group_key" IS NOT NULL
          AND NOT (typeof(t."group_key") = 'blob')
          AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
          ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
          END
      )
      LIMIT 1
  )
UNION ALL
SELECT (
  SELECT (
    CASE
      WHEN t."group_key" IS NOT NULL
      AND NOT (typeof(t."group_key") = 'blob')
      AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
      ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
      END
  ) AS s
    FROM "dispatch_jobs" AS t
    WHERE ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
    AND (
      CASE
        WHEN t."group_key" IS NOT NULL
        AND NOT (typeof(t."group_key") = 'blob')
        AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
        ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
        END
    ) >= 'o'
    AND (
      CASE
        WHEN t."group_key" IS NOT NULL
        AND NOT (typeof(t."group_key") = 'blob')
        AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
        ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
        END
    )
      > r.s
    ORDER BY (
      CASE
        WHEN t."group_key" IS NOT NULL
        AND NOT (typeof(t."group_key") = 'blob')
        AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
        ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
        END
    )
    LIMIT 1
)
  FROM shares AS r
  WHERE r.s IS NOT NULL
LIMIT 1000)
SELECT
  t."group_key" AS g,
  CASE
    WHEN t."group_key" IS NOT NULL
    AND NOT (typeof(t."group_key") = 'blob')
    AND t."mode" NOT IN ('IMMEDIATE')
      THEN COALESCE(
        CASE
          WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
          OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
          ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
          END,
          CASE
            WHEN typeof(t."created_at") IN ('integer', 'real')
            OR t."created_at" NOT GLOB '*[^0-9]*' THEN CAST(t."created_at" AS INTEGER)
            ELSE CAST(round((julianday(t."created_at") - 2440587.5) * 86400000.0) AS INTEGER)
            END
      )
    ELSE 0
    END AS k
FROM shares AS r CROSS JOIN "dispatch_jobs" AS t ON t."id" IN (
SELECT t."id"
  FROM "dispatch_jobs" AS t
  WHERE (
    CASE
      WHEN t."group_key" IS NOT NULL
      AND NOT (typeof(t."group_key") = 'blob')
      AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
      ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
      END
  ) = r.s
  AND ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
  AND CASE
  WHEN t."group_key" IS NOT NULL
  AND NOT (typeof(t."group_key") = 'blob')
  AND t."mode" NOT IN ('IMMEDIATE')
    THEN COALESCE(
      CASE
        WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
        OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
        ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END,
        CASE
          WHEN typeof(t."created_at") IN ('integer', 'real')
          OR t."created_at" NOT GLOB '*[^0-9]*' THEN CAST(t."created_at" AS INTEGER)
          ELSE CAST(round((julianday(t."created_at") - 2440587.5) * 86400000.0) AS INTEGER)
          END
    )
  ELSE 0
  END > 0
  AND CASE
  WHEN t."group_key" IS NOT NULL
  AND NOT (typeof(t."group_key") = 'blob')
  AND t."mode" NOT IN ('IMMEDIATE')
    THEN COALESCE(
      CASE
        WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
        OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
        ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END,
        CASE
          WHEN typeof(t."created_at") IN ('integer', 'real')
          OR t."created_at" NOT GLOB '*[^0-9]*' THEN CAST(t."created_at" AS INTEGER)
          ELSE CAST(round((julianday(t."created_at") - 2440587.5) * 86400000.0) AS INTEGER)
          END
    )
  ELSE 0
  END <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
  ORDER BY CASE
  WHEN t."group_key" IS NOT NULL
  AND NOT (typeof(t."group_key") = 'blob')
  AND t."mode" NOT IN ('IMMEDIATE')
    THEN COALESCE(
      CASE
        WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
        OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
        ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END,
        CASE
          WHEN typeof(t."created_at") IN ('integer', 'real')
          OR t."created_at" NOT GLOB '*[^0-9]*' THEN CAST(t."created_at" AS INTEGER)
          ELSE CAST(round((julianday(t."created_at") - 2440587.5) * 86400000.0) AS INTEGER)
          END
    )
  ELSE 0
  END DESC
  LIMIT ?2)
WHERE r.s IS NOT NULL) AS f ORDER BY f.k DESC LIMIT ?2) AS f
  UNION ALL
  SELECT
    q.g,
    1
  FROM (
    WITH RECURSIVE ring(g) AS (
      SELECT min(t."group_key")
        FROM "dispatch_jobs" AS t
        WHERE (
          (
            (t."status" = 'QUEUED')
              OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL)
              OR (t."status" = 'IN_PROGRESS')
          )
            OR (
              (t."status" = 'ERROR' AND t."next_attempt_at" IS NULL)
                AND t."mode" NOT IN ('IMMEDIATE', 'NEXT_ON_ERROR')
            )
        )
        AND t."group_key" IS NOT NULL
        AND NOT (typeof(t."group_key") = 'blob')
        AND t."mode" NOT IN ('IMMEDIATE')
      UNION ALL
      SELECT (
        SELECT min(t."group_key")
          FROM "dispatch_jobs" AS t
          WHERE (
            (
              (t."status" = 'QUEUED')
                OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL)
                OR (t."status" = 'IN_PROGRESS')
            )
              OR (
                (t."status" = 'ERROR' AND t."next_attempt_at" IS NULL)
                  AND t."mode" NOT IN ('IMMEDIATE', 'NEXT_ON_ERROR')
              )
          )
          AND t."group_key" IS NOT NULL
          AND NOT (typeof(t."group_key") = 'blob')
          AND t."mode" NOT IN ('IMMEDIATE')
          AND t."group_key" > r.g
      )
        FROM ring AS r
        WHERE r.g IS NOT NULL
      LIMIT ?3)
    SELECT g FROM ring) AS q) AS s
WHERE s.g IS NOT NULL;

-- deliver: claim groups from the start, limited 2, step 1: [Pools] -> Keys
SELECT b.pool FROM postrider_pools AS b WHERE b.pool IN (SELECT value FROM json_each(?1)) ORDER BY b.pool;

-- deliver: claim groups from the start, limited 2, step 2: [Held] -> Permits
SELECT
  CAST(p."id" AS TEXT),
  CAST(
    CASE
      WHEN p."paused" THEN 0
      ELSE min(
        1000000,
          CASE
            WHEN p."concurrency" IS NULL THEN 1000000
            ELSE max(
              0,
                p."concurrency"
                  - (
                    (
                      SELECT count(*)
                        FROM "dispatch_jobs" AS t
                        WHERE CASE
                        WHEN t."status" = 'IN_PROGRESS' THEN 'IN_PROGRESS'
                        WHEN t."status" = 'ERROR'
                        AND t."next_attempt_at" IS NULL THEN 'DEAD'
                        WHEN t."status" = 'PENDING' THEN 'PENDING'
                        WHEN t."status" = 'CANCELLED' THEN 'CANCELLED'
                        WHEN (
                          (t."status" = 'QUEUED')
                            OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL)
                        )
                        AND t."attempt_count" >= max(COALESCE(t."max_retries", 3), 1) THEN 'no attempts left'
                        WHEN t."status" = 'ERROR'
                        AND t."next_attempt_at" IS NOT NULL THEN 'RETRYING'
                        END = 'IN_PROGRESS'
                        AND CASE
                        WHEN t."status" = 'IN_PROGRESS' THEN NULL
                        ELSE t."id"
                        END IS NULL
                        AND t."group_key" IS NULL
                        AND t."dispatch_pool_id" = p."id"
                    )
                      + (
                        SELECT count(*)
                          FROM "dispatch_jobs" AS t
                          WHERE CASE
                          WHEN t."status" = 'IN_PROGRESS' THEN 'IN_PROGRESS'
                          WHEN t."status" = 'ERROR'
                          AND t."next_attempt_at" IS NULL THEN 'DEAD'
                          WHEN t."status" = 'PENDING' THEN 'PENDING'
                          WHEN t."status" = 'CANCELLED' THEN 'CANCELLED'
                          WHEN (
                            (t."status" = 'QUEUED')
                              OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL)
                          )
                          AND t."attempt_count" >= max(COALESCE(t."max_retries", 3), 1)
                            THEN 'no attempts left'
                          WHEN t."status" = 'ERROR'
                          AND t."next_attempt_at" IS NOT NULL THEN 'RETRYING'
                          END = 'IN_PROGRESS'
                          AND CASE
                          WHEN t."status" = 'IN_PROGRESS' THEN NULL
                          ELSE t."id"
                          END IS NULL
                          AND t."group_key" IS NOT NULL
                          AND t."dispatch_pool_id" = p."id"
                      )
                  )
            )
            END,
          CASE
            WHEN p."rate_per_minute" IS NULL THEN 1000000
            WHEN p."rate_per_minute" <= 0 THEN 0
            ELSE max(
              0,
                ((p."rate_per_minute" + 59) / 60)
                  - (
                    CAST(
                      (
                        max(
                          CASE
                            WHEN b.free_at
                              > ((julianday('now') - 2440587.5) * 86400.0)
                                + (((p."rate_per_minute" + 59) / 60) + 1)
                                  * (
                                    60.0
                                      / (
                                        CASE
                                          WHEN p."rate_per_minute"
                                            > 60
                                            THEN p."rate_per_minute" - ((p."rate_per_minute" + 59) / 60)
                                          ELSE p."rate_per_minute"
                                          END
                                      )
                                  )
                              THEN 0
                            ELSE COALESCE(b.free_at, 0)
                            END,
                            ((julianday('now') - 2440587.5) * 86400.0)
                        )
                          - ((julianday('now') - 2440587.5) * 86400.0)
                      )
                        / (
                          60.0
                            / (
                              CASE
                                WHEN p."rate_per_minute"
                                  > 60
                                  THEN p."rate_per_minute" - ((p."rate_per_minute" + 59) / 60)
                                ELSE p."rate_per_minute"
                                END
                            )
                        ) AS INTEGER
                    )
                      + (
                        (
                          max(
                            CASE
                              WHEN b.free_at
                                > ((julianday('now') - 2440587.5) * 86400.0)
                                  + (((p."rate_per_minute" + 59) / 60) + 1)
                                    * (
                                      60.0
                                        / (
                                          CASE
                                            WHEN p."rate_per_minute"
                                              > 60
                                              THEN p."rate_per_minute" - ((p."rate_per_minute" + 59) / 60)
                                            ELSE p."rate_per_minute"
                                            END
                                        )
                                    )
                                THEN 0
                              ELSE COALESCE(b.free_at, 0)
                              END,
                              ((julianday('now') - 2440587.5) * 86400.0)
                          )
                            - ((julianday('now') - 2440587.5) * 86400.0)
                        )
                          / (
                            60.0
                              / (
                                CASE
                                  WHEN p."rate_per_minute"
                                    > 60
                                    THEN p."rate_per_minute" - ((p."rate_per_minute" + 59) / 60)
                                  ELSE p."rate_per_minute"
                                  END
                              )
                          )
                          > CAST(
                            (
                              max(
                                CASE
                                  WHEN b.free_at
                                    > ((julianday('now') - 2440587.5) * 86400.0)
                                      + (((p."rate_per_minute" + 59) / 60) + 1)
                                        * (
                                          60.0
                                            / (
                                              CASE
                                                WHEN p."rate_per_minute"
                                                  > 60
                                                  THEN p."rate_per_minute" - ((p."rate_per_minute" + 59) / 60)
                                                ELSE p."rate_per_minute"
                                                END
                                            )
                                        )
                                    THEN 0
                                  ELSE COALESCE(b.free_at, 0)
                                  END,
                                  ((julianday('now') - 2440587.5) * 86400.0)
                              )
                                - ((julianday('now') - 2440587.5) * 86400.0)
                            )
                              / (
                                60.0
                                  / (
                                    CASE
                                      WHEN p."rate_per_minute"
                                        > 60
                                        THEN p."rate_per_minute" - ((p."rate_per_minute" + 59) / 60)
                                      ELSE p."rate_per_minute"
                                      END
                                  )
                              ) AS INTEGER
                          )
                      )
                  )
            )
            END
      )
      END AS INTEGER
  )
FROM postrider_pools AS b JOIN "dispatch_pools" AS p ON p."id" = b.pool
WHERE b.pool IN (SELECT value FROM json_each(?1));

-- deliver: claim groups from the start, limited 2, step 3: [Open, Groups, Run, Limit, Permits] -> Keys
WITH picked AS MATERIALIZED (
SELECT
  y.k,
  y.place,
  y.ord,
  y.pool
FROM (
  SELECT
    CAST(t."id" AS TEXT) AS k,
    CAST(t."dispatch_pool_id" AS TEXT) AS pool,
    j.key AS place,
    row_number() OVER w AS ord,
    min(
      (
        (
          (
            ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
              AND COALESCE(
                CASE
                  WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
                  OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
                  ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
                  END,
                  0
              ) <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
                + 0
              AND t."attempt_count" < max(COALESCE(t."max_retries", 3), 1)
              AND (
                t."expires_at" IS NULL
                  OR CASE
                  WHEN typeof(t."expires_at") IN ('integer', 'real')
                  OR t."expires_at" NOT GLOB '*[^0-9]*' THEN CAST(t."expires_at" AS INTEGER)
                  ELSE CAST(round((julianday(t."expires_at") - 2440587.5) * 86400000.0) AS INTEGER)
                  END > CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
              )
              AND (
                t."scheduled_for" IS NULL
                  OR CASE
                  WHEN typeof(t."scheduled_for") IN ('integer', 'real')
                  OR t."scheduled_for" NOT GLOB '*[^0-9]*' THEN CAST(t."scheduled_for" AS INTEGER)
                  ELSE CAST(round((julianday(t."scheduled_for") - 2440587.5) * 86400000.0) AS INTEGER)
                  END <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
              )
          ) IS TRUE
        )
          AND (t."dispatch_pool_id" IS NULL OR t."dispatch_pool_id" IN (SELECT value FROM json_each(?1)))
      )
    ) OVER w AS ok
  FROM json_each(?2) AS j CROSS JOIN "dispatch_jobs" AS t ON t."id" IN (
    SELECT
      t."id"
        FROM "dispatch_jobs" AS t
        WHERE t."group_key" = j.value
        AND (
          (
            (t."status" = 'QUEUED')
              OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL)
              OR (t."status" = 'IN_PROGRESS')
          )
            OR (
              (t."status" = 'ERROR' AND t."next_attempt_at" IS NULL)
                AND t."mode" NOT IN ('IMMEDIATE', 'NEXT_ON_ERROR')
            )
        )
        AND t."group_key" IS NOT NULL
        AND NOT (typeof(t."group_key") = 'blob')
        AND t."mode" NOT IN ('IMMEDIATE')
        AND (
          (
            t."mode" IN ('NEXT_ON_ERROR')
              AND ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
              AND t."attempt_count" > 0
              AND (
                COALESCE(
                  CASE
                    WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
                    OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
                    ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
                    END,
                    0
                ) <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
                  + 0
                  AND t."attempt_count" < max(COALESCE(t."max_retries", 3), 1)
              ) IS NOT TRUE
          )
            OR (
              t."mode" NOT IN ('IMMEDIATE', 'NEXT_ON_ERROR')
                AND t."status" = 'ERROR'
                AND t."next_attempt_at" IS NULL
                AND CASE
                WHEN typeof(t."expires_at") IN ('integer', 'real')
                OR t."expires_at" NOT GLOB '*[^0-9]*' THEN CAST(t."expires_at" AS INTEGER)
                ELSE CAST(round((julianday(t."expires_at") - 2440587.5) * 86400000.0) AS INTEGER)
                END <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
            )
        ) IS NOT TRUE
        ORDER BY t."sequence",
      CASE
        WHEN typeof(t."created_at") IN ('integer', 'real')
        OR t."created_at" NOT GLOB '*[^0-9]*' THEN CAST(t."created_at" AS INTEGER)
        ELSE CAST(round((julianday(t."created_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END,
      t."id" LIMIT ?3)
WHERE (
  SELECT 1
    FROM "dispatch_jobs" AS t
    WHERE t."group_key" = j.value
    AND CASE
    WHEN t."status" = 'IN_PROGRESS' THEN 'IN_PROGRESS'
    WHEN t."status" = 'ERROR'
    AND t."next_attempt_at" IS NULL THEN 'DEAD'
    WHEN t."status" = 'PENDING' THEN 'PENDING'
    WHEN t."status" = 'CANCELLED' THEN 'CANCELLED'
    WHEN ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
    AND t."attempt_count" >= max(COALESCE(t."max_retries", 3), 1) THEN 'no attempts left'
    WHEN t."status" = 'ERROR'
    AND t."next_attempt_at" IS NOT NULL THEN 'RETRYING'
    END = 'IN_PROGRESS'
    AND CASE
    WHEN t."status" = 'IN_PROGRESS' THEN NULL
    ELSE t."id"
    END IS NULL
    AND t."group_key" IS NOT NULL
    AND NOT (typeof(t."group_key") = 'blob')
    AND t."mode" NOT IN ('IMMEDIATE')
    LIMIT 1
) IS NULL
  WINDOW w AS (
    PARTITION BY j.key ORDER BY t."sequence",
      CASE
        WHEN typeof(t."created_at") IN ('integer', 'real')
        OR t."created_at" NOT GLOB '*[^0-9]*' THEN CAST(t."created_at" AS INTEGER)
        ELSE CAST(round((julianday(t."created_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END,
      t."id"
  )) AS y
WHERE y.ok
ORDER BY y.place, y.ord LIMIT ?4),
pick AS MATERIALIZED (
SELECT
  z.k,
  z.place,
  z.ord
FROM (
  SELECT
    y.k,
    y.place,
    y.ord,
    min(y.n IS NULL OR y.nth <= y.n) OVER (PARTITION BY y.place ORDER BY y.ord) AS ok
  FROM (
    SELECT
      p.*,
      q.n,
      row_number() OVER (PARTITION BY p.pool ORDER BY p.place, p.ord) AS nth
    FROM picked AS p
      LEFT
      JOIN (SELECT value->>'p' AS p, value->>'n' AS n FROM json_each(?5)) AS q
      ON q.p = p.pool) AS y) AS z
WHERE z.ok)
SELECT k FROM pick ORDER BY place, ord;

-- deliver: claim groups from the start, limited 2, step 4: [Owner, Held] -> Rows
UPDATE "dispatch_jobs" AS t SET
  "status" = 'IN_PROGRESS',
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
  "claimed_by" = ?1,
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
RETURNING
  CAST("id" AS TEXT),
  CAST("last_attempt_at" AS TEXT),
  CAST("attempt_count" AS TEXT),
  CAST("attempt_count" AS INTEGER),
  CAST("max_retries" AS INTEGER),
  CAST("retry_strategy" AS TEXT),
  CASE
    WHEN "group_key" IS NOT NULL
    AND NOT (typeof("group_key") = 'blob')
    AND "mode" NOT IN ('IMMEDIATE') THEN CAST("group_key" AS TEXT)
    END,
  CASE WHEN "mode" IN ('NEXT_ON_ERROR') THEN 'next' ELSE 'block' END,
  CAST("dispatch_pool_id" AS TEXT),
  CAST("client_id" AS TEXT),
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
    COALESCE(length(CAST("service_account_id" AS BLOB)), 0)
      + COALESCE(length(CAST("client_id" AS BLOB)), 0)
      + COALESCE(length(CAST("code" AS BLOB)), 0)
      + COALESCE(length(CAST("payload_content_type" AS BLOB)), 0)
      + COALESCE(length(CAST("correlation_id" AS BLOB)), 0)
      + COALESCE(length(CAST("id" AS BLOB)), 0)
      + COALESCE(length(CAST("event_id" AS BLOB)), 0)
      + COALESCE(length(CAST("headers" AS BLOB)), 0)
      + COALESCE(length(CAST("payload" AS BLOB)), 0)
      + COALESCE(length(CAST("source" AS BLOB)), 0)
      + COALESCE(length(CAST("subject" AS BLOB)), 0)
      + COALESCE(length(CAST("subscription_id" AS BLOB)), 0)
      + COALESCE(length(CAST("created_at" AS BLOB)), 0)
      + COALESCE(length(CAST("traceparent" AS BLOB)), 0)
      + COALESCE(length(CAST("target_url" AS BLOB)), 0) AS INTEGER
  ),
  CASE WHEN length(CAST("service_account_id" AS BLOB)) <= 65536 THEN "service_account_id" END,
  CASE WHEN length(CAST("client_id" AS BLOB)) <= 65536 THEN "client_id" END,
  CASE WHEN length(CAST("code" AS BLOB)) <= 65536 THEN "code" END,
  CASE WHEN length(CAST("payload_content_type" AS BLOB)) <= 65536 THEN "payload_content_type" END,
  CASE WHEN length(CAST("correlation_id" AS BLOB)) <= 65536 THEN "correlation_id" END,
  CASE WHEN "data_only" THEN 'true' WHEN NOT "data_only" THEN 'false' END,
  CASE WHEN length(CAST("id" AS BLOB)) <= 65536 THEN "id" END,
  CASE WHEN length(CAST("event_id" AS BLOB)) <= 65536 THEN "event_id" END,
  CASE WHEN length(CAST("headers" AS BLOB)) <= 65536 THEN "headers" END,
  CASE WHEN length(CAST("payload" AS BLOB)) <= 65536 THEN "payload" END,
  CASE WHEN length(CAST("source" AS BLOB)) <= 65536 THEN "source" END,
  CASE WHEN length(CAST("subject" AS BLOB)) <= 65536 THEN "subject" END,
  CASE WHEN length(CAST("subscription_id" AS BLOB)) <= 65536 THEN "subscription_id" END,
  CASE WHEN length(CAST("created_at" AS BLOB)) <= 65536 THEN "created_at" END,
  CAST("timeout_seconds" AS TEXT),
  CASE WHEN length(CAST("traceparent" AS BLOB)) <= 65536 THEN "traceparent" END,
  CASE WHEN length(CAST("target_url" AS BLOB)) <= 65536 THEN "target_url" END;

-- deliver: claim groups from the start, limited 2, step 5: [Held] -> Nothing
UPDATE postrider_pools AS b SET free_at = max(
  CASE
    WHEN b.free_at
      > ((julianday('now') - 2440587.5) * 86400.0)
        + (((p."rate_per_minute" + 59) / 60) + 1)
          * (
            60.0
              / (
                CASE
                  WHEN p."rate_per_minute" > 60 THEN p."rate_per_minute" - ((p."rate_per_minute" + 59) / 60)
                  ELSE p."rate_per_minute"
                  END
              )
          )
      THEN 0
    ELSE COALESCE(b.free_at, 0)
    END,
    ((julianday('now') - 2440587.5) * 86400.0)
)
  + x.n
    * (
      60.0
        / (
          CASE
            WHEN p."rate_per_minute" > 60 THEN p."rate_per_minute" - ((p."rate_per_minute" + 59) / 60)
            ELSE p."rate_per_minute"
            END
        )
    )
FROM (
  SELECT
    t."dispatch_pool_id" AS pool,
    count(*) AS n
  FROM "dispatch_jobs" AS t
    WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1))
    AND t."dispatch_pool_id" IS NOT NULL
    GROUP BY t."dispatch_pool_id"
) AS x
  JOIN "dispatch_pools" AS p
  ON p."id" = x.pool
  AND p."rate_per_minute" > 0
WHERE b.pool = x.pool;

-- deliver: claim groups from the cursor, limited 1: [Open, Fresh, Cursor, Jumps] -> Groups
SELECT
  CAST(s.g AS TEXT),
  s.kind,
  (
    SELECT
      (
        (
          (
            ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
              AND COALESCE(
                CASE
                  WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
                  OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
                  ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
                  END,
                  0
              ) <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
                + 0
              AND t."attempt_count" < max(COALESCE(t."max_retries", 3), 1)
              AND (
                t."expires_at" IS NULL
                  OR CASE
                  WHEN typeof(t."expires_at") IN ('integer', 'real')
                  OR t."expires_at" NOT GLOB '*[^0-9]*' THEN CAST(t."expires_at" AS INTEGER)
                  ELSE CAST(round((julianday(t."expires_at") - 2440587.5) * 86400000.0) AS INTEGER)
                  END > CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
              )
              AND (
                t."scheduled_for" IS NULL
                  OR CASE
                  WHEN typeof(t."scheduled_for") IN ('integer', 'real')
                  OR t."scheduled_for" NOT GLOB '*[^0-9]*' THEN CAST(t."scheduled_for" AS INTEGER)
                  ELSE CAST(round((julianday(t."scheduled_for") - 2440587.5) * 86400000.0) AS INTEGER)
                  END <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
              )
          ) IS TRUE
        )
          AND (t."dispatch_pool_id" IS NULL OR t."dispatch_pool_id" IN (SELECT value FROM json_each(?1)))
      )
        FROM "dispatch_jobs" AS t
        WHERE t."group_key" = s.g
        AND (
          (
            (t."status" = 'QUEUED')
              OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL)
              OR (t."status" = 'IN_PROGRESS')
          )
            OR (
              (t."status" = 'ERROR' AND t."next_attempt_at" IS NULL)
                AND t."mode" NOT IN ('IMMEDIATE', 'NEXT_ON_ERROR')
            )
        )
        AND t."group_key" IS NOT NULL
        AND NOT (typeof(t."group_key") = 'blob')
        AND t."mode" NOT IN ('IMMEDIATE')
        AND (
          (
            t."mode" IN ('NEXT_ON_ERROR')
              AND ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
              AND t."attempt_count" > 0
              AND (
                COALESCE(
                  CASE
                    WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
                    OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
                    ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
                    END,
                    0
                ) <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
                  + 0
                  AND t."attempt_count" < max(COALESCE(t."max_retries", 3), 1)
              ) IS NOT TRUE
          )
            OR (
              t."mode" NOT IN ('IMMEDIATE', 'NEXT_ON_ERROR')
                AND t."status" = 'ERROR'
                AND t."next_attempt_at" IS NULL
                AND CASE
                WHEN typeof(t."expires_at") IN ('integer', 'real')
                OR t."expires_at" NOT GLOB '*[^0-9]*' THEN CAST(t."expires_at" AS INTEGER)
                ELSE CAST(round((julianday(t."expires_at") - 2440587.5) * 86400000.0) AS INTEGER)
                END <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
            )
        ) IS NOT TRUE
        ORDER BY t."sequence",
      CASE
        WHEN typeof(t."created_at") IN ('integer', 'real')
        OR t."created_at" NOT GLOB '*[^0-9]*' THEN CAST(t."created_at" AS INTEGER)
        ELSE CAST(round((julianday(t."created_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END,
      t."id" LIMIT 1
  )
FROM (
  SELECT DISTINCT
    f.g AS g,
    0 AS kind
  FROM (
    SELECT f.g FROM (WITH RECURSIVE shares(s) AS (
SELECT *
  FROM (
    SELECT (
      CASE
        WHEN t."group_key" IS NOT NULL
        AND NOT (typeof(t."group_key") = 'blob')
        AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
        ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
        END
    ) AS s
      FROM "dispatch_jobs" AS t
      WHERE ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
      AND (
        CASE
          WHEN t."group_key" IS NOT NULL
          AND NOT (typeof(t."group_key") = 'blob')
          AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
          ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
          END
      ) >= 'o'
      ORDER BY (
        CASE
          WHEN t."group_key" IS NOT NULL
          AND NOT (typeof(t."group_key") = 'blob')
          AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
          ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
          END
      )
      LIMIT 1
  )
UNION ALL
SELECT (
  SELECT (
    CASE
      WHEN t."group_key" IS NOT NULL
      AND NOT (typeof(t."group_key") = 'blob')
      AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
      ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
      END
  ) AS s
    FROM "dispatch_jobs" AS t
    WHERE ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
    AND (
      CASE
        WHEN t."group_key" IS NOT NULL
        AND NOT (typeof(t."group_key") = 'blob')
        AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
        ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
        END
    ) >= 'o'
    AND (
      CASE
        WHEN t."group_key" IS NOT NULL
        AND NOT (typeof(t."group_key") = 'blob')
        AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
        ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
        END
    )
      > r.s
    ORDER BY (
      CASE
        WHEN t."group_key" IS NOT NULL
        AND NOT (typeof(t."group_key") = 'blob')
        AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
        ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
        END
    )
    LIMIT 1
)
  FROM shares AS r
  WHERE r.s IS NOT NULL
LIMIT 1000)
SELECT
  t."group_key" AS g,
  CASE
    WHEN t."group_key" IS NOT NULL
    AND NOT (typeof(t."group_key") = 'blob')
    AND t."mode" NOT IN ('IMMEDIATE')
      THEN COALESCE(
        CASE
          WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
          OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
          ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
          END,
          CASE
            WHEN typeof(t."created_at") IN ('integer', 'real')
            OR t."created_at" NOT GLOB '*[^0-9]*' THEN CAST(t."created_at" AS INTEGER)
            ELSE CAST(round((julianday(t."created_at") - 2440587.5) * 86400000.0) AS INTEGER)
            END
      )
    ELSE 0
    END AS k
FROM shares AS r CROSS JOIN "dispatch_jobs" AS t ON t."id" IN (
SELECT t."id"
  FROM "dispatch_jobs" AS t
  WHERE (
    CASE
      WHEN t."group_key" IS NOT NULL
      AND NOT (typeof(t."group_key") = 'blob')
      AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
      ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
      END
  ) = r.s
  AND ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
  AND CASE
  WHEN t."group_key" IS NOT NULL
  AND NOT (typeof(t."group_key") = 'blob')
  AND t."mode" NOT IN ('IMMEDIATE')
    THEN COALESCE(
      CASE
        WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
        OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
        ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END,
        CASE
          WHEN typeof(t."created_at") IN ('integer', 'real')
          OR t."created_at" NOT GLOB '*[^0-9]*' THEN CAST(t."created_at" AS INTEGER)
          ELSE CAST(round((julianday(t."created_at") - 2440587.5) * 86400000.0) AS INTEGER)
          END
    )
  ELSE 0
  END > 0
  AND CASE
  WHEN t."group_key" IS NOT NULL
  AND NOT (typeof(t."group_key") = 'blob')
  AND t."mode" NOT IN ('IMMEDIATE')
    THEN COALESCE(
      CASE
        WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
        OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
        ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END,
        CASE
          WHEN typeof(t."created_at") IN ('integer', 'real')
          OR t."created_at" NOT GLOB '*[^0-9]*' THEN CAST(t."created_at" AS INTEGER)
          ELSE CAST(round((julianday(t."created_at") - 2440587.5) * 86400000.0) AS INTEGER)
          END
    )
  ELSE 0
  END <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
  ORDER BY CASE
  WHEN t."group_key" IS NOT NULL
  AND NOT (typeof(t."group_key") = 'blob')
  AND t."mode" NOT IN ('IMMEDIATE')
    THEN COALESCE(
      CASE
        WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
        OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
        ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END,
        CASE
          WHEN typeof(t."created_at") IN ('integer', 'real')
          OR t."created_at" NOT GLOB '*[^0-9]*' THEN CAST(t."created_at" AS INTEGER)
          ELSE CAST(round((julianday(t."created_at") - 2440587.5) * 86400000.0) AS INTEGER)
          END
    )
  ELSE 0
  END DESC
  LIMIT ?2)
WHERE r.s IS NOT NULL) AS f ORDER BY f.k DESC LIMIT ?2) AS f
  UNION ALL
  SELECT
    q.g,
    1
  FROM (
    WITH RECURSIVE ring(g) AS (
      SELECT min(t."group_key")
        FROM "dispatch_jobs" AS t
        WHERE (
          (
            (t."status" = 'QUEUED')
              OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL)
              OR (t."status" = 'IN_PROGRESS')
          )
            OR (
              (t."status" = 'ERROR' AND t."next_attempt_at" IS NULL)
                AND t."mode" NOT IN ('IMMEDIATE', 'NEXT_ON_ERROR')
            )
        )
        AND t."group_key" IS NOT NULL
        AND NOT (typeof(t."group_key") = 'blob')
        AND t."mode" NOT IN ('IMMEDIATE')
        AND t."group_key" > ?3
      UNION ALL
      SELECT (
        SELECT min(t."group_key")
          FROM "dispatch_jobs" AS t
          WHERE (
            (
              (t."status" = 'QUEUED')
                OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL)
                OR (t."status" = 'IN_PROGRESS')
            )
              OR (
                (t."status" = 'ERROR' AND t."next_attempt_at" IS NULL)
                  AND t."mode" NOT IN ('IMMEDIATE', 'NEXT_ON_ERROR')
              )
          )
          AND t."group_key" IS NOT NULL
          AND NOT (typeof(t."group_key") = 'blob')
          AND t."mode" NOT IN ('IMMEDIATE')
          AND t."group_key" > r.g
      )
        FROM ring AS r
        WHERE r.g IS NOT NULL
      LIMIT ?4)
    SELECT g FROM ring) AS q) AS s
WHERE s.g IS NOT NULL;

-- deliver: claim groups from the cursor, limited 2, step 1: [Pools] -> Keys
SELECT b.pool FROM postrider_pools AS b WHERE b.pool IN (SELECT value FROM json_each(?1)) ORDER BY b.pool;

-- deliver: claim groups from the cursor, limited 2, step 2: [Held] -> Permits
SELECT
  CAST(p."id" AS TEXT),
  CAST(
    CASE
      WHEN p."paused" THEN 0
      ELSE min(
        1000000,
          CASE
            WHEN p."concurrency" IS NULL THEN 1000000
            ELSE max(
              0,
                p."concurrency"
                  - (
                    (
                      SELECT count(*)
                        FROM "dispatch_jobs" AS t
                        WHERE CASE
                        WHEN t."status" = 'IN_PROGRESS' THEN 'IN_PROGRESS'
                        WHEN t."status" = 'ERROR'
                        AND t."next_attempt_at" IS NULL THEN 'DEAD'
                        WHEN t."status" = 'PENDING' THEN 'PENDING'
                        WHEN t."status" = 'CANCELLED' THEN 'CANCELLED'
                        WHEN (
                          (t."status" = 'QUEUED')
                            OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL)
                        )
                        AND t."attempt_count" >= max(COALESCE(t."max_retries", 3), 1) THEN 'no attempts left'
                        WHEN t."status" = 'ERROR'
                        AND t."next_attempt_at" IS NOT NULL THEN 'RETRYING'
                        END = 'IN_PROGRESS'
                        AND CASE
                        WHEN t."status" = 'IN_PROGRESS' THEN NULL
                        ELSE t."id"
                        END IS NULL
                        AND t."group_key" IS NULL
                        AND t."dispatch_pool_id" = p."id"
                    )
                      + (
                        SELECT count(*)
                          FROM "dispatch_jobs" AS t
                          WHERE CASE
                          WHEN t."status" = 'IN_PROGRESS' THEN 'IN_PROGRESS'
                          WHEN t."status" = 'ERROR'
                          AND t."next_attempt_at" IS NULL THEN 'DEAD'
                          WHEN t."status" = 'PENDING' THEN 'PENDING'
                          WHEN t."status" = 'CANCELLED' THEN 'CANCELLED'
                          WHEN (
                            (t."status" = 'QUEUED')
                              OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL)
                          )
                          AND t."attempt_count" >= max(COALESCE(t."max_retries", 3), 1)
                            THEN 'no attempts left'
                          WHEN t."status" = 'ERROR'
                          AND t."next_attempt_at" IS NOT NULL THEN 'RETRYING'
                          END = 'IN_PROGRESS'
                          AND CASE
                          WHEN t."status" = 'IN_PROGRESS' THEN NULL
                          ELSE t."id"
                          END IS NULL
                          AND t."group_key" IS NOT NULL
                          AND t."dispatch_pool_id" = p."id"
                      )
                  )
            )
            END,
          CASE
            WHEN p."rate_per_minute" IS NULL THEN 1000000
            WHEN p."rate_per_minute" <= 0 THEN 0
            ELSE max(
              0,
                ((p."rate_per_minute" + 59) / 60)
                  - (
                    CAST(
                      (
                        max(
                          CASE
                            WHEN b.free_at
                              > ((julianday('now') - 2440587.5) * 86400.0)
                                + (((p."rate_per_minute" + 59) / 60) + 1)
                                  * (
                                    60.0
                                      / (
                                        CASE
                                          WHEN p."rate_per_minute"
                                            > 60
                                            THEN p."rate_per_minute" - ((p."rate_per_minute" + 59) / 60)
                                          ELSE p."rate_per_minute"
                                          END
                                      )
                                  )
                              THEN 0
                            ELSE COALESCE(b.free_at, 0)
                            END,
                            ((julianday('now') - 2440587.5) * 86400.0)
                        )
                          - ((julianday('now') - 2440587.5) * 86400.0)
                      )
                        / (
                          60.0
                            / (
                              CASE
                                WHEN p."rate_per_minute"
                                  > 60
                                  THEN p."rate_per_minute" - ((p."rate_per_minute" + 59) / 60)
                                ELSE p."rate_per_minute"
                                END
                            )
                        ) AS INTEGER
                    )
                      + (
                        (
                          max(
                            CASE
                              WHEN b.free_at
                                > ((julianday('now') - 2440587.5) * 86400.0)
                                  + (((p."rate_per_minute" + 59) / 60) + 1)
                                    * (
                                      60.0
                                        / (
                                          CASE
                                            WHEN p."rate_per_minute"
                                              > 60
                                              THEN p."rate_per_minute" - ((p."rate_per_minute" + 59) / 60)
                                            ELSE p."rate_per_minute"
                                            END
                                        )
                                    )
                                THEN 0
                              ELSE COALESCE(b.free_at, 0)
                              END,
                              ((julianday('now') - 2440587.5) * 86400.0)
                          )
                            - ((julianday('now') - 2440587.5) * 86400.0)
                        )
                          / (
                            60.0
                              / (
                                CASE
                                  WHEN p."rate_per_minute"
                                    > 60
                                    THEN p."rate_per_minute" - ((p."rate_per_minute" + 59) / 60)
                                  ELSE p."rate_per_minute"
                                  END
                              )
                          )
                          > CAST(
                            (
                              max(
                                CASE
                                  WHEN b.free_at
                                    > ((julianday('now') - 2440587.5) * 86400.0)
                                      + (((p."rate_per_minute" + 59) / 60) + 1)
                                        * (
                                          60.0
                                            / (
                                              CASE
                                                WHEN p."rate_per_minute"
                                                  > 60
                                                  THEN p."rate_per_minute" - ((p."rate_per_minute" + 59) / 60)
                                                ELSE p."rate_per_minute"
                                                END
                                            )
                                        )
                                    THEN 0
                                  ELSE COALESCE(b.free_at, 0)
                                  END,
                                  ((julianday('now') - 2440587.5) * 86400.0)
                              )
                                - ((julianday('now') - 2440587.5) * 86400.0)
                            )
                              / (
                                60.0
                                  / (
                                    CASE
                                      WHEN p."rate_per_minute"
                                        > 60
                                        THEN p."rate_per_minute" - ((p."rate_per_minute" + 59) / 60)
                                      ELSE p."rate_per_minute"
                                      END
                                  )
                              ) AS INTEGER
                          )
                      )
                  )
            )
            END
      )
      END AS INTEGER
  )
FROM postrider_pools AS b JOIN "dispatch_pools" AS p ON p."id" = b.pool
WHERE b.pool IN (SELECT value FROM json_each(?1));

-- deliver: claim groups from the cursor, limited 2, step 3: [Open, Groups, Run, Limit, Permits] -> Keys
WITH picked AS MATERIALIZED (
SELECT
  y.k,
  y.place,
  y.ord,
  y.pool
FROM (
  SELECT
    CAST(t."id" AS TEXT) AS k,
    CAST(t."dispatch_pool_id" AS TEXT) AS pool,
    j.key AS place,
    row_number() OVER w AS ord,
    min(
      (
        (
          (
            ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
              AND COALESCE(
                CASE
                  WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
                  OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
                  ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
                  END,
                  0
              ) <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
                + 0
              AND t."attempt_count" < max(COALESCE(t."max_retries", 3), 1)
              AND (
                t."expires_at" IS NULL
                  OR CASE
                  WHEN typeof(t."expires_at") IN ('integer', 'real')
                  OR t."expires_at" NOT GLOB '*[^0-9]*' THEN CAST(t."expires_at" AS INTEGER)
                  ELSE CAST(round((julianday(t."expires_at") - 2440587.5) * 86400000.0) AS INTEGER)
                  END > CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
              )
              AND (
                t."scheduled_for" IS NULL
                  OR CASE
                  WHEN typeof(t."scheduled_for") IN ('integer', 'real')
                  OR t."scheduled_for" NOT GLOB '*[^0-9]*' THEN CAST(t."scheduled_for" AS INTEGER)
                  ELSE CAST(round((julianday(t."scheduled_for") - 2440587.5) * 86400000.0) AS INTEGER)
                  END <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
              )
          ) IS TRUE
        )
          AND (t."dispatch_pool_id" IS NULL OR t."dispatch_pool_id" IN (SELECT value FROM json_each(?1)))
      )
    ) OVER w AS ok
  FROM json_each(?2) AS j CROSS JOIN "dispatch_jobs" AS t ON t."id" IN (
    SELECT
      t."id"
        FROM "dispatch_jobs" AS t
        WHERE t."group_key" = j.value
        AND (
          (
            (t."status" = 'QUEUED')
              OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL)
              OR (t."status" = 'IN_PROGRESS')
          )
            OR (
              (t."status" = 'ERROR' AND t."next_attempt_at" IS NULL)
                AND t."mode" NOT IN ('IMMEDIATE', 'NEXT_ON_ERROR')
            )
        )
        AND t."group_key" IS NOT NULL
        AND NOT (typeof(t."group_key") = 'blob')
        AND t."mode" NOT IN ('IMMEDIATE')
        AND (
          (
            t."mode" IN ('NEXT_ON_ERROR')
              AND ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
              AND t."attempt_count" > 0
              AND (
                COALESCE(
                  CASE
                    WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
                    OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
                    ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
                    END,
                    0
                ) <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
                  + 0
                  AND t."attempt_count" < max(COALESCE(t."max_retries", 3), 1)
              ) IS NOT TRUE
          )
            OR (
              t."mode" NOT IN ('IMMEDIATE', 'NEXT_ON_ERROR')
                AND t."status" = 'ERROR'
                AND t."next_attempt_at" IS NULL
                AND CASE
                WHEN typeof(t."expires_at") IN ('integer', 'real')
                OR t."expires_at" NOT GLOB '*[^0-9]*' THEN CAST(t."expires_at" AS INTEGER)
                ELSE CAST(round((julianday(t."expires_at") - 2440587.5) * 86400000.0) AS INTEGER)
                END <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
            )
        ) IS NOT TRUE
        ORDER BY t."sequence",
      CASE
        WHEN typeof(t."created_at") IN ('integer', 'real')
        OR t."created_at" NOT GLOB '*[^0-9]*' THEN CAST(t."created_at" AS INTEGER)
        ELSE CAST(round((julianday(t."created_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END,
      t."id" LIMIT ?3)
WHERE (
  SELECT 1
    FROM "dispatch_jobs" AS t
    WHERE t."group_key" = j.value
    AND CASE
    WHEN t."status" = 'IN_PROGRESS' THEN 'IN_PROGRESS'
    WHEN t."status" = 'ERROR'
    AND t."next_attempt_at" IS NULL THEN 'DEAD'
    WHEN t."status" = 'PENDING' THEN 'PENDING'
    WHEN t."status" = 'CANCELLED' THEN 'CANCELLED'
    WHEN ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
    AND t."attempt_count" >= max(COALESCE(t."max_retries", 3), 1) THEN 'no attempts left'
    WHEN t."status" = 'ERROR'
    AND t."next_attempt_at" IS NOT NULL THEN 'RETRYING'
    END = 'IN_PROGRESS'
    AND CASE
    WHEN t."status" = 'IN_PROGRESS' THEN NULL
    ELSE t."id"
    END IS NULL
    AND t."group_key" IS NOT NULL
    AND NOT (typeof(t."group_key") = 'blob')
    AND t."mode" NOT IN ('IMMEDIATE')
    LIMIT 1
) IS NULL
  WINDOW w AS (
    PARTITION BY j.key ORDER BY t."sequence",
      CASE
        WHEN typeof(t."created_at") IN ('integer', 'real')
        OR t."created_at" NOT GLOB '*[^0-9]*' THEN CAST(t."created_at" AS INTEGER)
        ELSE CAST(round((julianday(t."created_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END,
      t."id"
  )) AS y
WHERE y.ok
ORDER BY y.place, y.ord LIMIT ?4),
pick AS MATERIALIZED (
SELECT
  z.k,
  z.place,
  z.ord
FROM (
  SELECT
    y.k,
    y.place,
    y.ord,
    min(y.n IS NULL OR y.nth <= y.n) OVER (PARTITION BY y.place ORDER BY y.ord) AS ok
  FROM (
    SELECT
      p.*,
      q.n,
      row_number() OVER (PARTITION BY p.pool ORDER BY p.place, p.ord) AS nth
    FROM picked AS p
      LEFT
      JOIN (SELECT value->>'p' AS p, value->>'n' AS n FROM json_each(?5)) AS q
      ON q.p = p.pool) AS y) AS z
WHERE z.ok)
SELECT k FROM pick ORDER BY place, ord;

-- deliver: claim groups from the cursor, limited 2, step 4: [Owner, Held] -> Rows
UPDATE "dispatch_jobs" AS t SET
  "status" = 'IN_PROGRESS',
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
  "claimed_by" = ?1,
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
RETURNING
  CAST("id" AS TEXT),
  CAST("last_attempt_at" AS TEXT),
  CAST("attempt_count" AS TEXT),
  CAST("attempt_count" AS INTEGER),
  CAST("max_retries" AS INTEGER),
  CAST("retry_strategy" AS TEXT),
  CASE
    WHEN "group_key" IS NOT NULL
    AND NOT (typeof("group_key") = 'blob')
    AND "mode" NOT IN ('IMMEDIATE') THEN CAST("group_key" AS TEXT)
    END,
  CASE WHEN "mode" IN ('NEXT_ON_ERROR') THEN 'next' ELSE 'block' END,
  CAST("dispatch_pool_id" AS TEXT),
  CAST("client_id" AS TEXT),
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
    COALESCE(length(CAST("service_account_id" AS BLOB)), 0)
      + COALESCE(length(CAST("client_id" AS BLOB)), 0)
      + COALESCE(length(CAST("code" AS BLOB)), 0)
      + COALESCE(length(CAST("payload_content_type" AS BLOB)), 0)
      + COALESCE(length(CAST("correlation_id" AS BLOB)), 0)
      + COALESCE(length(CAST("id" AS BLOB)), 0)
      + COALESCE(length(CAST("event_id" AS BLOB)), 0)
      + COALESCE(length(CAST("headers" AS BLOB)), 0)
      + COALESCE(length(CAST("payload" AS BLOB)), 0)
      + COALESCE(length(CAST("source" AS BLOB)), 0)
      + COALESCE(length(CAST("subject" AS BLOB)), 0)
      + COALESCE(length(CAST("subscription_id" AS BLOB)), 0)
      + COALESCE(length(CAST("created_at" AS BLOB)), 0)
      + COALESCE(length(CAST("traceparent" AS BLOB)), 0)
      + COALESCE(length(CAST("target_url" AS BLOB)), 0) AS INTEGER
  ),
  CASE WHEN length(CAST("service_account_id" AS BLOB)) <= 65536 THEN "service_account_id" END,
  CASE WHEN length(CAST("client_id" AS BLOB)) <= 65536 THEN "client_id" END,
  CASE WHEN length(CAST("code" AS BLOB)) <= 65536 THEN "code" END,
  CASE WHEN length(CAST("payload_content_type" AS BLOB)) <= 65536 THEN "payload_content_type" END,
  CASE WHEN length(CAST("correlation_id" AS BLOB)) <= 65536 THEN "correlation_id" END,
  CASE WHEN "data_only" THEN 'true' WHEN NOT "data_only" THEN 'false' END,
  CASE WHEN length(CAST("id" AS BLOB)) <= 65536 THEN "id" END,
  CASE WHEN length(CAST("event_id" AS BLOB)) <= 65536 THEN "event_id" END,
  CASE WHEN length(CAST("headers" AS BLOB)) <= 65536 THEN "headers" END,
  CASE WHEN length(CAST("payload" AS BLOB)) <= 65536 THEN "payload" END,
  CASE WHEN length(CAST("source" AS BLOB)) <= 65536 THEN "source" END,
  CASE WHEN length(CAST("subject" AS BLOB)) <= 65536 THEN "subject" END,
  CASE WHEN length(CAST("subscription_id" AS BLOB)) <= 65536 THEN "subscription_id" END,
  CASE WHEN length(CAST("created_at" AS BLOB)) <= 65536 THEN "created_at" END,
  CAST("timeout_seconds" AS TEXT),
  CASE WHEN length(CAST("traceparent" AS BLOB)) <= 65536 THEN "traceparent" END,
  CASE WHEN length(CAST("target_url" AS BLOB)) <= 65536 THEN "target_url" END;

-- deliver: claim groups from the cursor, limited 2, step 5: [Held] -> Nothing
UPDATE postrider_pools AS b SET free_at = max(
  CASE
    WHEN b.free_at
      > ((julianday('now') - 2440587.5) * 86400.0)
        + (((p."rate_per_minute" + 59) / 60) + 1)
          * (
            60.0
              / (
                CASE
                  WHEN p."rate_per_minute" > 60 THEN p."rate_per_minute" - ((p."rate_per_minute" + 59) / 60)
                  ELSE p."rate_per_minute"
                  END
              )
          )
      THEN 0
    ELSE COALESCE(b.free_at, 0)
    END,
    ((julianday('now') - 2440587.5) * 86400.0)
)
  + x.n
    * (
      60.0
        / (
          CASE
            WHEN p."rate_per_minute" > 60 THEN p."rate_per_minute" - ((p."rate_per_minute" + 59) / 60)
            ELSE p."rate_per_minute"
            END
        )
    )
FROM (
  SELECT
    t."dispatch_pool_id" AS pool,
    count(*) AS n
  FROM "dispatch_jobs" AS t
    WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1))
    AND t."dispatch_pool_id" IS NOT NULL
    GROUP BY t."dispatch_pool_id"
) AS x
  JOIN "dispatch_pools" AS p
  ON p."id" = x.pool
  AND p."rate_per_minute" > 0
WHERE b.pool = x.pool;

-- deliver: load: [Ids] -> Other
SELECT
  CAST(t."id" AS TEXT),
  t."service_account_id",
  t."client_id",
  t."code",
  t."payload_content_type",
  t."correlation_id",
  CASE WHEN t."data_only" THEN 'true' WHEN NOT t."data_only" THEN 'false' END,
  t."id",
  t."event_id",
  t."headers",
  t."payload",
  t."source",
  t."subject",
  t."subscription_id",
  t."created_at",
  CAST(t."timeout_seconds" AS TEXT),
  t."traceparent",
  t."target_url"
FROM "dispatch_jobs" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1));

-- deliver: settle delivered, each, step 1: [Rows([Id, Fence(0), Fence(1), Outcome("duration_ms")])] -> Keys
UPDATE "dispatch_jobs" AS t SET
  "duration_millis" = COALESCE(t."duration_millis", 0) + COALESCE(v."o_duration_ms", 0),
  "status" = 'COMPLETED',
  "lease_until" = NULL,
  "claimed_by" = NULL,
  "attempt_count" = t."attempt_count" + 1,
  "last_error" = NULL,
  "completed_at" = CASE
    WHEN typeof(COALESCE(t."completed_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."completed_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."completed_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
      THEN strftime(
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
    CAST(value->>'f1' AS TEXT) AS "f1",
    value->>'o_duration_ms' AS "o_duration_ms"
  FROM json_each(?1)
) AS v
WHERE t."id" = v."id"
  AND +t."status" = 'IN_PROGRESS'
  AND CAST(t."last_attempt_at" AS TEXT) IS v."f0"
  AND CAST(t."attempt_count" AS TEXT) IS v."f1"
RETURNING CAST("id" AS TEXT);

-- deliver: settle delivered, each, step 2: [Rows([Tsid, Outcome("duration_ms"), Outcome("result"),
--   Outcome("status"), Outcome("body"), Reason, Outcome("trace"), Outcome("class"), Id]), Held] -> Nothing
INSERT INTO "dispatch_attempts" (
  "id",
    "job_id",
    "attempt_number",
    "attempted_at",
    "completed_at",
    "duration_millis",
    "status",
    "response_code",
    "response_body",
    "error_message",
    "error_stack_trace",
    "error_type",
    "created_at"
)
SELECT
  v."tsid",
  t."id",
  t."attempt_count",
  t."last_attempt_at",
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
    END,
  v."o_duration_ms",
  v."o_result",
  v."o_status",
  v."o_body",
  v."reason",
  v."o_trace",
  v."o_class",
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
FROM "dispatch_jobs" AS t
  JOIN (
    SELECT
      value->>'tsid' AS "tsid",
      value->>'o_duration_ms' AS "o_duration_ms",
      value->>'o_result' AS "o_result",
      value->>'o_status' AS "o_status",
      value->>'o_body' AS "o_body",
      value->>'reason' AS "reason",
      value->>'o_trace' AS "o_trace",
      value->>'o_class' AS "o_class",
      CAST(value->>'id' AS TEXT) AS "id"
    FROM json_each(?1)
  ) AS v
  ON t."id" = v."id"
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2));

-- deliver: settle retry, each, step 1: [Rows([Id, Fence(0), Fence(1), Outcome("duration_ms"), Delay,
--   Reason])] -> Keys
UPDATE "dispatch_jobs" AS t SET
  "duration_millis" = COALESCE(t."duration_millis", 0) + COALESCE(v."o_duration_ms", 0),
  "status" = 'ERROR',
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
  "lease_until" = NULL,
  "claimed_by" = NULL,
  "attempt_count" = t."attempt_count" + 1,
  "last_error" = v."reason",
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
    CAST(value->>'f1' AS TEXT) AS "f1",
    value->>'o_duration_ms' AS "o_duration_ms",
    value->>'delay' AS "delay",
    value->>'reason' AS "reason"
  FROM json_each(?1)
) AS v
WHERE t."id" = v."id"
  AND +t."status" = 'IN_PROGRESS'
  AND CAST(t."last_attempt_at" AS TEXT) IS v."f0"
  AND CAST(t."attempt_count" AS TEXT) IS v."f1"
RETURNING CAST("id" AS TEXT);

-- deliver: settle retry, each, step 2: [Rows([Tsid, Outcome("duration_ms"), Outcome("result"),
--   Outcome("status"), Outcome("body"), Reason, Outcome("trace"), Outcome("class"), Id]), Held] -> Nothing
INSERT INTO "dispatch_attempts" (
  "id",
    "job_id",
    "attempt_number",
    "attempted_at",
    "completed_at",
    "duration_millis",
    "status",
    "response_code",
    "response_body",
    "error_message",
    "error_stack_trace",
    "error_type",
    "created_at"
)
SELECT
  v."tsid",
  t."id",
  t."attempt_count",
  t."last_attempt_at",
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
    END,
  v."o_duration_ms",
  v."o_result",
  v."o_status",
  v."o_body",
  v."reason",
  v."o_trace",
  v."o_class",
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
FROM "dispatch_jobs" AS t
  JOIN (
    SELECT
      value->>'tsid' AS "tsid",
      value->>'o_duration_ms' AS "o_duration_ms",
      value->>'o_result' AS "o_result",
      value->>'o_status' AS "o_status",
      value->>'o_body' AS "o_body",
      value->>'reason' AS "reason",
      value->>'o_trace' AS "o_trace",
      value->>'o_class' AS "o_class",
      CAST(value->>'id' AS TEXT) AS "id"
    FROM json_each(?1)
  ) AS v
  ON t."id" = v."id"
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2));

-- deliver: settle dead, each, step 1: [Rows([Id, Fence(0), Fence(1), Outcome("duration_ms"), Reason])] ->
--   Keys
UPDATE "dispatch_jobs" AS t SET
  "duration_millis" = COALESCE(t."duration_millis", 0) + COALESCE(v."o_duration_ms", 0),
  "status" = 'ERROR',
  "next_attempt_at" = NULL,
  "lease_until" = NULL,
  "claimed_by" = NULL,
  "attempt_count" = t."attempt_count" + 1,
  "last_error" = v."reason",
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
    CAST(value->>'f1' AS TEXT) AS "f1",
    value->>'o_duration_ms' AS "o_duration_ms",
    value->>'reason' AS "reason"
  FROM json_each(?1)
) AS v
WHERE t."id" = v."id"
  AND +t."status" = 'IN_PROGRESS'
  AND CAST(t."last_attempt_at" AS TEXT) IS v."f0"
  AND CAST(t."attempt_count" AS TEXT) IS v."f1"
RETURNING CAST("id" AS TEXT);

-- deliver: settle dead, each, step 2: [Rows([Tsid, Outcome("duration_ms"), Outcome("result"),
--   Outcome("status"), Outcome("body"), Reason, Outcome("trace"), Outcome("class"), Id]), Held] -> Nothing
INSERT INTO "dispatch_attempts" (
  "id",
    "job_id",
    "attempt_number",
    "attempted_at",
    "completed_at",
    "duration_millis",
    "status",
    "response_code",
    "response_body",
    "error_message",
    "error_stack_trace",
    "error_type",
    "created_at"
)
SELECT
  v."tsid",
  t."id",
  t."attempt_count",
  t."last_attempt_at",
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
    END,
  v."o_duration_ms",
  v."o_result",
  v."o_status",
  v."o_body",
  v."reason",
  v."o_trace",
  v."o_class",
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
FROM "dispatch_jobs" AS t
  JOIN (
    SELECT
      value->>'tsid' AS "tsid",
      value->>'o_duration_ms' AS "o_duration_ms",
      value->>'o_result' AS "o_result",
      value->>'o_status' AS "o_status",
      value->>'o_body' AS "o_body",
      value->>'reason' AS "reason",
      value->>'o_trace' AS "o_trace",
      value->>'o_class' AS "o_class",
      CAST(value->>'id' AS TEXT) AS "id"
    FROM json_each(?1)
  ) AS v
  ON t."id" = v."id"
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2));

-- deliver: settle rejected, each, step 1: [Rows([Id, Fence(0), Fence(1), Outcome("duration_ms"), Reason])] ->
--   Keys
UPDATE "dispatch_jobs" AS t SET
  "duration_millis" = COALESCE(t."duration_millis", 0) + COALESCE(v."o_duration_ms", 0),
  "status" = 'ERROR',
  "next_attempt_at" = NULL,
  "lease_until" = NULL,
  "claimed_by" = NULL,
  "attempt_count" = t."attempt_count" + 1,
  "last_error" = v."reason",
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
    CAST(value->>'f1' AS TEXT) AS "f1",
    value->>'o_duration_ms' AS "o_duration_ms",
    value->>'reason' AS "reason"
  FROM json_each(?1)
) AS v
WHERE t."id" = v."id"
  AND +t."status" = 'IN_PROGRESS'
  AND CAST(t."last_attempt_at" AS TEXT) IS v."f0"
  AND CAST(t."attempt_count" AS TEXT) IS v."f1"
RETURNING CAST("id" AS TEXT);

-- deliver: settle rejected, each, step 2: [Rows([Tsid, Outcome("duration_ms"), Outcome("result"),
--   Outcome("status"), Outcome("body"), Reason, Outcome("trace"), Outcome("class"), Id]), Held] -> Nothing
INSERT INTO "dispatch_attempts" (
  "id",
    "job_id",
    "attempt_number",
    "attempted_at",
    "completed_at",
    "duration_millis",
    "status",
    "response_code",
    "response_body",
    "error_message",
    "error_stack_trace",
    "error_type",
    "created_at"
)
SELECT
  v."tsid",
  t."id",
  t."attempt_count",
  t."last_attempt_at",
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
    END,
  v."o_duration_ms",
  v."o_result",
  v."o_status",
  v."o_body",
  v."reason",
  v."o_trace",
  v."o_class",
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
FROM "dispatch_jobs" AS t
  JOIN (
    SELECT
      value->>'tsid' AS "tsid",
      value->>'o_duration_ms' AS "o_duration_ms",
      value->>'o_result' AS "o_result",
      value->>'o_status' AS "o_status",
      value->>'o_body' AS "o_body",
      value->>'reason' AS "reason",
      value->>'o_trace' AS "o_trace",
      value->>'o_class' AS "o_class",
      CAST(value->>'id' AS TEXT) AS "id"
    FROM json_each(?1)
  ) AS v
  ON t."id" = v."id"
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2));

-- deliver: settle skipped, uniform: [One(Outcome("duration_ms")), One(Reason), Ids, One(Fence(0)),
--   One(Fence(1))] -> Keys
UPDATE "dispatch_jobs" AS t SET
  "duration_millis" = COALESCE(t."duration_millis", 0) + COALESCE(?1, 0),
  "status" = 'ERROR',
  "next_attempt_at" = NULL,
  "lease_until" = NULL,
  "claimed_by" = NULL,
  "attempt_count" = t."attempt_count" + 1,
  "last_error" = ?2,
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
  AND +t."status" = 'IN_PROGRESS'
  AND CAST(t."last_attempt_at" AS TEXT) IS ?4
  AND CAST(t."attempt_count" AS TEXT) IS ?5
RETURNING CAST("id" AS TEXT);

-- deliver: settle skipped, each: [Rows([Id, Fence(0), Fence(1), Outcome("duration_ms"), Reason])] -> Keys
UPDATE "dispatch_jobs" AS t SET
  "duration_millis" = COALESCE(t."duration_millis", 0) + COALESCE(v."o_duration_ms", 0),
  "status" = 'ERROR',
  "next_attempt_at" = NULL,
  "lease_until" = NULL,
  "claimed_by" = NULL,
  "attempt_count" = t."attempt_count" + 1,
  "last_error" = v."reason",
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
    CAST(value->>'f1' AS TEXT) AS "f1",
    value->>'o_duration_ms' AS "o_duration_ms",
    value->>'reason' AS "reason"
  FROM json_each(?1)
) AS v
WHERE t."id" = v."id"
  AND +t."status" = 'IN_PROGRESS'
  AND CAST(t."last_attempt_at" AS TEXT) IS v."f0"
  AND CAST(t."attempt_count" AS TEXT) IS v."f1"
RETURNING CAST("id" AS TEXT);

-- deliver: settle deferred, uniform: [One(Reason), One(Delay), Ids, One(Fence(0)), One(Fence(1))] -> Keys
UPDATE "dispatch_jobs" AS t SET
  "last_error" = COALESCE(?1, t."last_error"),
  "status" = CASE WHEN COALESCE(t."attempt_count", 0) = 0 THEN 'QUEUED' ELSE 'ERROR' END,
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
  "lease_until" = NULL,
  "claimed_by" = NULL,
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
  AND +t."status" = 'IN_PROGRESS'
  AND CAST(t."last_attempt_at" AS TEXT) IS ?4
  AND CAST(t."attempt_count" AS TEXT) IS ?5
RETURNING CAST("id" AS TEXT);

-- deliver: settle deferred, each: [Rows([Id, Fence(0), Fence(1), Reason, Delay])] -> Keys
UPDATE "dispatch_jobs" AS t SET
  "last_error" = COALESCE(v."reason", t."last_error"),
  "status" = CASE WHEN COALESCE(t."attempt_count", 0) = 0 THEN 'QUEUED' ELSE 'ERROR' END,
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
  "lease_until" = NULL,
  "claimed_by" = NULL,
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
    CAST(value->>'f1' AS TEXT) AS "f1",
    value->>'reason' AS "reason",
    value->>'delay' AS "delay"
  FROM json_each(?1)
) AS v
WHERE t."id" = v."id"
  AND +t."status" = 'IN_PROGRESS'
  AND CAST(t."last_attempt_at" AS TEXT) IS v."f0"
  AND CAST(t."attempt_count" AS TEXT) IS v."f1"
RETURNING CAST("id" AS TEXT);

-- deliver: settle released, uniform: [Ids, One(Fence(0)), One(Fence(1))] -> Keys
UPDATE "dispatch_jobs" AS t SET
  "status" = CASE WHEN COALESCE(t."attempt_count", 0) = 0 THEN 'QUEUED' ELSE 'ERROR' END,
  "next_attempt_at" = COALESCE(
    t."next_attempt_at",
      CASE
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
        END
  ),
  "lease_until" = NULL,
  "claimed_by" = NULL,
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
  AND +t."status" = 'IN_PROGRESS'
  AND CAST(t."last_attempt_at" AS TEXT) IS ?2
  AND CAST(t."attempt_count" AS TEXT) IS ?3
RETURNING CAST("id" AS TEXT);

-- deliver: settle released, each: [Rows([Id, Fence(0), Fence(1)])] -> Keys
UPDATE "dispatch_jobs" AS t SET
  "status" = CASE WHEN COALESCE(t."attempt_count", 0) = 0 THEN 'QUEUED' ELSE 'ERROR' END,
  "next_attempt_at" = COALESCE(
    t."next_attempt_at",
      CASE
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
        END
  ),
  "lease_until" = NULL,
  "claimed_by" = NULL,
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
    CAST(value->>'f1' AS TEXT) AS "f1"
  FROM json_each(?1)
) AS v
WHERE t."id" = v."id"
  AND +t."status" = 'IN_PROGRESS'
  AND CAST(t."last_attempt_at" AS TEXT) IS v."f0"
  AND CAST(t."attempt_count" AS TEXT) IS v."f1"
RETURNING CAST("id" AS TEXT);

-- deliver: extend: [Rows([Id, Fence(0), Fence(1)])] -> Leases
UPDATE "dispatch_jobs" AS t SET
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
    CAST(value->>'f1' AS TEXT) AS "f1"
  FROM json_each(?1)
) AS v
WHERE t."id" = v."id"
  AND +t."status" = 'IN_PROGRESS'
  AND CAST(t."last_attempt_at" AS TEXT) IS v."f0"
  AND CAST(t."attempt_count" AS TEXT) IS v."f1"
RETURNING
  CAST("id" AS TEXT),
  CAST("last_attempt_at" AS TEXT),
  CAST("attempt_count" AS TEXT);

-- deliver: stamp: [Limit] -> Keys
UPDATE "dispatch_jobs" AS t SET "last_attempt_at" = CASE
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
FROM "dispatch_jobs" AS t
WHERE t."status" = 'IN_PROGRESS'
  AND CASE
    WHEN t."status" = 'IN_PROGRESS' THEN 'IN_PROGRESS'
    WHEN t."status" = 'ERROR'
    AND t."next_attempt_at" IS NULL THEN 'DEAD'
    WHEN t."status" = 'PENDING' THEN 'PENDING'
    WHEN t."status" = 'CANCELLED' THEN 'CANCELLED'
    WHEN ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
    AND t."attempt_count" >= max(COALESCE(t."max_retries", 3), 1) THEN 'no attempts left'
    WHEN t."status" = 'ERROR'
    AND t."next_attempt_at" IS NOT NULL THEN 'RETRYING'
    END = 'IN_PROGRESS'
    AND CASE
    WHEN t."status" = 'IN_PROGRESS' THEN NULL
    ELSE t."id"
    END IS NULL
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
RETURNING CAST("id" AS TEXT);

-- deliver: leases that still hold: [Rows([Id, Fence(0), Fence(1)])] -> Keys
SELECT CAST(t."id" AS TEXT)
FROM (
  SELECT
    CAST(value->>'id' AS TEXT) AS "id",
    CAST(value->>'f0' AS TEXT) AS "f0",
    CAST(value->>'f1' AS TEXT) AS "f1"
  FROM json_each(?1)
) AS v CROSS
  JOIN "dispatch_jobs" AS t
WHERE t."id" = v."id"
  AND +t."status" = 'IN_PROGRESS'
  AND CAST(t."last_attempt_at" AS TEXT) IS v."f0"
  AND CAST(t."attempt_count" AS TEXT) IS v."f1"
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

-- deliver: look for rows of a lost claim: [Owner] -> Keys
SELECT CAST(t."id" AS TEXT)
FROM "dispatch_jobs" AS t
WHERE t."status" = 'IN_PROGRESS'
  AND t."claimed_by" = ?1;

-- deliver: release rows of a lost claim: [Ids, Owner] -> Keys
UPDATE "dispatch_jobs" AS t SET
  "status" = CASE WHEN COALESCE(t."attempt_count", 0) = 0 THEN 'QUEUED' ELSE 'ERROR' END,
  "next_attempt_at" = COALESCE(
    t."next_attempt_at",
      CASE
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
        END
  ),
  "lease_until" = NULL,
  "claimed_by" = NULL,
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
FROM "dispatch_jobs" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1))
  AND +t."status" = 'IN_PROGRESS'
  AND t."claimed_by" = ?2)
RETURNING CAST("id" AS TEXT);

-- deliver: look for expired leases: [Limit] -> Other
SELECT
  CAST(t."id" AS TEXT),
  CAST(t."last_attempt_at" AS TEXT),
  CAST(t."attempt_count" AS TEXT),
  CASE WHEN t."attempt_count" + 1 >= max(COALESCE(t."max_retries", 3), 1) THEN 1 ELSE 0 END,
  max(COALESCE(t."max_retries", 3), 1)
FROM "dispatch_jobs" AS t
WHERE CASE
  WHEN t."status" = 'IN_PROGRESS' THEN 'IN_PROGRESS'
  WHEN t."status" = 'ERROR'
  AND t."next_attempt_at" IS NULL THEN 'DEAD'
  WHEN t."status" = 'PENDING' THEN 'PENDING'
  WHEN t."status" = 'CANCELLED' THEN 'CANCELLED'
  WHEN ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
  AND t."attempt_count" >= max(COALESCE(t."max_retries", 3), 1) THEN 'no attempts left'
  WHEN t."status" = 'ERROR'
  AND t."next_attempt_at" IS NOT NULL THEN 'RETRYING'
  END = 'IN_PROGRESS'
  AND CASE
  WHEN t."status" = 'IN_PROGRESS' THEN NULL
  ELSE t."id"
  END IS NULL
  AND t."status" = 'IN_PROGRESS'
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
LIMIT ?1;

-- deliver: reclaim, free: [Ids] -> Keys
UPDATE "dispatch_jobs" AS t SET
  "status" = CASE WHEN COALESCE(t."attempt_count", 0) = 0 THEN 'QUEUED' ELSE 'ERROR' END,
  "next_attempt_at" = COALESCE(
    t."next_attempt_at",
      CASE
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
        END
  ),
  "lease_until" = NULL,
  "claimed_by" = NULL,
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
FROM "dispatch_jobs" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1))
  AND +t."status" = 'IN_PROGRESS'
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
RETURNING CAST("id" AS TEXT);

-- deliver: reclaim, spared, step 1: [Ids] -> Keys
UPDATE "dispatch_jobs" AS t SET
  "status" = CASE WHEN COALESCE(t."attempt_count", 0) = 0 THEN 'QUEUED' ELSE 'ERROR' END,
  "next_attempt_at" = COALESCE(
    t."next_attempt_at",
      CASE
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
        END
  ),
  "lease_until" = NULL,
  "claimed_by" = NULL,
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
FROM "dispatch_jobs" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1))
  AND +t."status" = 'IN_PROGRESS'
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
RETURNING CAST("id" AS TEXT);

-- deliver: reclaim, spared, step 2: [Held] -> Nothing
INSERT INTO postrider_crashes (place, row_id, crashes, crashed_at)
SELECT
  'dispatch_jobs/deliver',
  CAST(value AS TEXT),
  1,
  strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
FROM json_each(?1) WHERE true
ON CONFLICT (place, row_id) DO UPDATE SET
  crashes = crashes + 1,
  crashed_at = excluded.crashed_at;

-- deliver: reclaim, charged, step 1: [Ids] -> Keys
UPDATE "dispatch_jobs" AS t SET
  "status" = 'ERROR',
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
  "lease_until" = NULL,
  "claimed_by" = NULL,
  "attempt_count" = t."attempt_count" + 1,
  "last_error" = 'lease expired: the worker that held it is gone',
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
FROM "dispatch_jobs" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1))
  AND +t."status" = 'IN_PROGRESS'
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
RETURNING CAST("id" AS TEXT);

-- deliver: reclaim, charged, step 2: [Held] -> Nothing
INSERT INTO "dispatch_attempts" (
  "id",
    "job_id",
    "attempt_number",
    "attempted_at",
    "completed_at",
    "status",
    "error_message",
    "error_type",
    "created_at"
)
SELECT
  substr(
    '0123456789ABCDEFGHJKMNPQRSTVWXYZ',
      CAST(
        (
          (
            (
              (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER))
                - 1577836800000
                + ((row_number() OVER ()) >> 12)
            )
              * 4194304
              + (total_changes() & 1023) * 4096
              + ((row_number() OVER ()) & 4095)
          ) >> 60
        ) & 31 AS INTEGER
      )
        + 1,
      1
  )
    || substr(
      '0123456789ABCDEFGHJKMNPQRSTVWXYZ',
        CAST(
          (
            (
              (
                (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER))
                  - 1577836800000
                  + ((row_number() OVER ()) >> 12)
              )
                * 4194304
                + (total_changes() & 1023) * 4096
                + ((row_number() OVER ()) & 4095)
            ) >> 55
          ) & 31 AS INTEGER
        )
          + 1,
        1
    )
    || substr(
      '0123456789ABCDEFGHJKMNPQRSTVWXYZ',
        CAST(
          (
            (
              (
                (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER))
                  - 1577836800000
                  + ((row_number() OVER ()) >> 12)
              )
                * 4194304
                + (total_changes() & 1023) * 4096
                + ((row_number() OVER ()) & 4095)
            ) >> 50
          ) & 31 AS INTEGER
        )
          + 1,
        1
    )
    || substr(
      '0123456789ABCDEFGHJKMNPQRSTVWXYZ',
        CAST(
          (
            (
              (
                (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER))
                  - 1577836800000
                  + ((row_number() OVER ()) >> 12)
              )
                * 4194304
                + (total_changes() & 1023) * 4096
                + ((row_number() OVER ()) & 4095)
            ) >> 45
          ) & 31 AS INTEGER
        )
          + 1,
        1
    )
    || substr(
      '0123456789ABCDEFGHJKMNPQRSTVWXYZ',
        CAST(
          (
            (
              (
                (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER))
                  - 1577836800000
                  + ((row_number() OVER ()) >> 12)
              )
                * 4194304
                + (total_changes() & 1023) * 4096
                + ((row_number() OVER ()) & 4095)
            ) >> 40
          ) & 31 AS INTEGER
        )
          + 1,
        1
    )
    || substr(
      '0123456789ABCDEFGHJKMNPQRSTVWXYZ',
        CAST(
          (
            (
              (
                (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER))
                  - 1577836800000
                  + ((row_number() OVER ()) >> 12)
              )
                * 4194304
                + (total_changes() & 1023) * 4096
                + ((row_number() OVER ()) & 4095)
            ) >> 35
          ) & 31 AS INTEGER
        )
          + 1,
        1
    )
    || substr(
      '0123456789ABCDEFGHJKMNPQRSTVWXYZ',
        CAST(
          (
            (
              (
                (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER))
                  - 1577836800000
                  + ((row_number() OVER ()) >> 12)
              )
                * 4194304
                + (total_changes() & 1023) * 4096
                + ((row_number() OVER ()) & 4095)
            ) >> 30
          ) & 31 AS INTEGER
        )
          + 1,
        1
    )
    || substr(
      '0123456789ABCDEFGHJKMNPQRSTVWXYZ',
        CAST(
          (
            (
              (
                (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER))
                  - 1577836800000
                  + ((row_number() OVER ()) >> 12)
              )
                * 4194304
                + (total_changes() & 1023) * 4096
                + ((row_number() OVER ()) & 4095)
            ) >> 25
          ) & 31 AS INTEGER
        )
          + 1,
        1
    )
    || substr(
      '0123456789ABCDEFGHJKMNPQRSTVWXYZ',
        CAST(
          (
            (
              (
                (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER))
                  - 1577836800000
                  + ((row_number() OVER ()) >> 12)
              )
                * 4194304
                + (total_changes() & 1023) * 4096
                + ((row_number() OVER ()) & 4095)
            ) >> 20
          ) & 31 AS INTEGER
        )
          + 1,
        1
    )
    || substr(
      '0123456789ABCDEFGHJKMNPQRSTVWXYZ',
        CAST(
          (
            (
              (
                (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER))
                  - 1577836800000
                  + ((row_number() OVER ()) >> 12)
              )
                * 4194304
                + (total_changes() & 1023) * 4096
                + ((row_number() OVER ()) & 4095)
            ) >> 15
          ) & 31 AS INTEGER
        )
          + 1,
        1
    )
    || substr(
      '0123456789ABCDEFGHJKMNPQRSTVWXYZ',
        CAST(
          (
            (
              (
                (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER))
                  - 1577836800000
                  + ((row_number() OVER ()) >> 12)
              )
                * 4194304
                + (total_changes() & 1023) * 4096
                + ((row_number() OVER ()) & 4095)
            ) >> 10
          ) & 31 AS INTEGER
        )
          + 1,
        1
    )
    || substr(
      '0123456789ABCDEFGHJKMNPQRSTVWXYZ',
        CAST(
          (
            (
              (
                (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER))
                  - 1577836800000
                  + ((row_number() OVER ()) >> 12)
              )
                * 4194304
                + (total_changes() & 1023) * 4096
                + ((row_number() OVER ()) & 4095)
            ) >> 5
          ) & 31 AS INTEGER
        )
          + 1,
        1
    )
    || substr(
      '0123456789ABCDEFGHJKMNPQRSTVWXYZ',
        CAST(
          (
            (
              (
                (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER))
                  - 1577836800000
                  + ((row_number() OVER ()) >> 12)
              )
                * 4194304
                + (total_changes() & 1023) * 4096
                + ((row_number() OVER ()) & 4095)
            ) >> 0
          ) & 31 AS INTEGER
        )
          + 1,
        1
    ),
  t."id",
  t."attempt_count",
  t."last_attempt_at",
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
    END,
  'CONNECTION_ERROR',
  'worker lost',
  'UNKNOWN',
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
FROM "dispatch_jobs" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1));

-- deliver: reclaim, charged, step 3: [Held] -> Nothing
INSERT INTO postrider_crashes (place, row_id, crashes, crashed_at)
SELECT
  'dispatch_jobs/deliver',
  CAST(value AS TEXT),
  1,
  strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
FROM json_each(?1) WHERE true
ON CONFLICT (place, row_id) DO UPDATE SET
  crashes = crashes + 1,
  crashed_at = excluded.crashed_at;

-- deliver: reclaim, dead, step 1: [Ids] -> Keys
UPDATE "dispatch_jobs" AS t SET
  "status" = 'ERROR',
  "next_attempt_at" = NULL,
  "lease_until" = NULL,
  "claimed_by" = NULL,
  "attempt_count" = t."attempt_count" + 1,
  "last_error" = 'poison row: its workers crashed repeatedly, also when it was delivered alone',
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
FROM "dispatch_jobs" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1))
  AND +t."status" = 'IN_PROGRESS'
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
RETURNING CAST("id" AS TEXT);

-- deliver: reclaim, dead, step 2: [Held] -> Nothing
INSERT INTO "dispatch_attempts" (
  "id",
    "job_id",
    "attempt_number",
    "attempted_at",
    "completed_at",
    "status",
    "error_message",
    "error_type",
    "created_at"
)
SELECT
  substr(
    '0123456789ABCDEFGHJKMNPQRSTVWXYZ',
      CAST(
        (
          (
            (
              (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER))
                - 1577836800000
                + ((row_number() OVER ()) >> 12)
            )
              * 4194304
              + (total_changes() & 1023) * 4096
              + ((row_number() OVER ()) & 4095)
          ) >> 60
        ) & 31 AS INTEGER
      )
        + 1,
      1
  )
    || substr(
      '0123456789ABCDEFGHJKMNPQRSTVWXYZ',
        CAST(
          (
            (
              (
                (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER))
                  - 1577836800000
                  + ((row_number() OVER ()) >> 12)
              )
                * 4194304
                + (total_changes() & 1023) * 4096
                + ((row_number() OVER ()) & 4095)
            ) >> 55
          ) & 31 AS INTEGER
        )
          + 1,
        1
    )
    || substr(
      '0123456789ABCDEFGHJKMNPQRSTVWXYZ',
        CAST(
          (
            (
              (
                (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER))
                  - 1577836800000
                  + ((row_number() OVER ()) >> 12)
              )
                * 4194304
                + (total_changes() & 1023) * 4096
                + ((row_number() OVER ()) & 4095)
            ) >> 50
          ) & 31 AS INTEGER
        )
          + 1,
        1
    )
    || substr(
      '0123456789ABCDEFGHJKMNPQRSTVWXYZ',
        CAST(
          (
            (
              (
                (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER))
                  - 1577836800000
                  + ((row_number() OVER ()) >> 12)
              )
                * 4194304
                + (total_changes() & 1023) * 4096
                + ((row_number() OVER ()) & 4095)
            ) >> 45
          ) & 31 AS INTEGER
        )
          + 1,
        1
    )
    || substr(
      '0123456789ABCDEFGHJKMNPQRSTVWXYZ',
        CAST(
          (
            (
              (
                (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER))
                  - 1577836800000
                  + ((row_number() OVER ()) >> 12)
              )
                * 4194304
                + (total_changes() & 1023) * 4096
                + ((row_number() OVER ()) & 4095)
            ) >> 40
          ) & 31 AS INTEGER
        )
          + 1,
        1
    )
    || substr(
      '0123456789ABCDEFGHJKMNPQRSTVWXYZ',
        CAST(
          (
            (
              (
                (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER))
                  - 1577836800000
                  + ((row_number() OVER ()) >> 12)
              )
                * 4194304
                + (total_changes() & 1023) * 4096
                + ((row_number() OVER ()) & 4095)
            ) >> 35
          ) & 31 AS INTEGER
        )
          + 1,
        1
    )
    || substr(
      '0123456789ABCDEFGHJKMNPQRSTVWXYZ',
        CAST(
          (
            (
              (
                (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER))
                  - 1577836800000
                  + ((row_number() OVER ()) >> 12)
              )
                * 4194304
                + (total_changes() & 1023) * 4096
                + ((row_number() OVER ()) & 4095)
            ) >> 30
          ) & 31 AS INTEGER
        )
          + 1,
        1
    )
    || substr(
      '0123456789ABCDEFGHJKMNPQRSTVWXYZ',
        CAST(
          (
            (
              (
                (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER))
                  - 1577836800000
                  + ((row_number() OVER ()) >> 12)
              )
                * 4194304
                + (total_changes() & 1023) * 4096
                + ((row_number() OVER ()) & 4095)
            ) >> 25
          ) & 31 AS INTEGER
        )
          + 1,
        1
    )
    || substr(
      '0123456789ABCDEFGHJKMNPQRSTVWXYZ',
        CAST(
          (
            (
              (
                (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER))
                  - 1577836800000
                  + ((row_number() OVER ()) >> 12)
              )
                * 4194304
                + (total_changes() & 1023) * 4096
                + ((row_number() OVER ()) & 4095)
            ) >> 20
          ) & 31 AS INTEGER
        )
          + 1,
        1
    )
    || substr(
      '0123456789ABCDEFGHJKMNPQRSTVWXYZ',
        CAST(
          (
            (
              (
                (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER))
                  - 1577836800000
                  + ((row_number() OVER ()) >> 12)
              )
                * 4194304
                + (total_changes() & 1023) * 4096
                + ((row_number() OVER ()) & 4095)
            ) >> 15
          ) & 31 AS INTEGER
        )
          + 1,
        1
    )
    || substr(
      '0123456789ABCDEFGHJKMNPQRSTVWXYZ',
        CAST(
          (
            (
              (
                (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER))
                  - 1577836800000
                  + ((row_number() OVER ()) >> 12)
              )
                * 4194304
                + (total_changes() & 1023) * 4096
                + ((row_number() OVER ()) & 4095)
            ) >> 10
          ) & 31 AS INTEGER
        )
          + 1,
        1
    )
    || substr(
      '0123456789ABCDEFGHJKMNPQRSTVWXYZ',
        CAST(
          (
            (
              (
                (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER))
                  - 1577836800000
                  + ((row_number() OVER ()) >> 12)
              )
                * 4194304
                + (total_changes() & 1023) * 4096
                + ((row_number() OVER ()) & 4095)
            ) >> 5
          ) & 31 AS INTEGER
        )
          + 1,
        1
    )
    || substr(
      '0123456789ABCDEFGHJKMNPQRSTVWXYZ',
        CAST(
          (
            (
              (
                (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER))
                  - 1577836800000
                  + ((row_number() OVER ()) >> 12)
              )
                * 4194304
                + (total_changes() & 1023) * 4096
                + ((row_number() OVER ()) & 4095)
            ) >> 0
          ) & 31 AS INTEGER
        )
          + 1,
        1
    ),
  t."id",
  t."attempt_count",
  t."last_attempt_at",
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
    END,
  'CONNECTION_ERROR',
  'worker lost',
  'UNKNOWN',
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
FROM "dispatch_jobs" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1));

-- deliver: reclaim, dead, step 3: [Held] -> Nothing
DELETE
  FROM postrider_crashes
  WHERE place = 'dispatch_jobs/deliver'
  AND row_id IN (SELECT CAST(value AS TEXT) FROM json_each(?1));

-- deliver: spent: [Limit] -> Keys
UPDATE "dispatch_jobs" AS t SET
  "last_error" = COALESCE(t."last_error", 'no attempts left'),
  "status" = 'ERROR',
  "next_attempt_at" = NULL,
  "lease_until" = NULL,
  "claimed_by" = NULL,
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
FROM "dispatch_jobs" AS t
WHERE ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
  AND CASE
    WHEN t."status" = 'IN_PROGRESS' THEN 'IN_PROGRESS'
    WHEN t."status" = 'ERROR'
    AND t."next_attempt_at" IS NULL THEN 'DEAD'
    WHEN t."status" = 'PENDING' THEN 'PENDING'
    WHEN t."status" = 'CANCELLED' THEN 'CANCELLED'
    WHEN ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
    AND t."attempt_count" >= max(COALESCE(t."max_retries", 3), 1) THEN 'no attempts left'
    WHEN t."status" = 'ERROR'
    AND t."next_attempt_at" IS NOT NULL THEN 'RETRYING'
    END = 'no attempts left'
  AND t."attempt_count" >= max(COALESCE(t."max_retries", 3), 1)
LIMIT ?1)
RETURNING CAST("id" AS TEXT);

-- deliver: look for unreadable expires_at: [Limit] -> Keys
SELECT CAST(t."id" AS TEXT)
FROM "dispatch_jobs" AS t
WHERE ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
  AND (
    t."expires_at" IS NOT NULL
      AND CASE
      WHEN typeof(t."expires_at") IN ('integer', 'real')
      OR t."expires_at" NOT GLOB '*[^0-9]*' THEN CAST(t."expires_at" AS INTEGER)
      ELSE CAST(round((julianday(t."expires_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END IS NULL
  )
LIMIT ?1;

-- deliver: end unreadable expires_at: [Ids] -> Keys
UPDATE "dispatch_jobs" AS t SET
  "last_error" = 'expires_at holds a time that can''t be read',
  "status" = 'ERROR',
  "next_attempt_at" = NULL,
  "lease_until" = NULL,
  "claimed_by" = NULL,
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
FROM "dispatch_jobs" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1))
  AND ((+t."status" = 'QUEUED') OR (+t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
  AND (
    t."expires_at" IS NOT NULL
      AND CASE
      WHEN typeof(t."expires_at") IN ('integer', 'real')
      OR t."expires_at" NOT GLOB '*[^0-9]*' THEN CAST(t."expires_at" AS INTEGER)
      ELSE CAST(round((julianday(t."expires_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END IS NULL
  ))
RETURNING CAST("id" AS TEXT);

-- deliver: look for unreadable scheduled_for: [Limit] -> Keys
SELECT CAST(t."id" AS TEXT)
FROM "dispatch_jobs" AS t
WHERE t."status" = 'QUEUED'
  AND (
    t."scheduled_for" IS NOT NULL
      AND CASE
      WHEN typeof(t."scheduled_for") IN ('integer', 'real')
      OR t."scheduled_for" NOT GLOB '*[^0-9]*' THEN CAST(t."scheduled_for" AS INTEGER)
      ELSE CAST(round((julianday(t."scheduled_for") - 2440587.5) * 86400000.0) AS INTEGER)
      END IS NULL
  )
LIMIT ?1;

-- deliver: end unreadable scheduled_for: [Ids] -> Keys
UPDATE "dispatch_jobs" AS t SET
  "last_error" = 'scheduled_for holds a time that can''t be read',
  "status" = 'ERROR',
  "next_attempt_at" = NULL,
  "lease_until" = NULL,
  "claimed_by" = NULL,
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
FROM "dispatch_jobs" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1))
  AND ((+t."status" = 'QUEUED') OR (+t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
  AND (
    t."scheduled_for" IS NOT NULL
      AND CASE
      WHEN typeof(t."scheduled_for") IN ('integer', 'real')
      OR t."scheduled_for" NOT GLOB '*[^0-9]*' THEN CAST(t."scheduled_for" AS INTEGER)
      ELSE CAST(round((julianday(t."scheduled_for") - 2440587.5) * 86400000.0) AS INTEGER)
      END IS NULL
  ))
RETURNING CAST("id" AS TEXT);

-- deliver: sweep 1: [Limit] -> Keys
UPDATE "dispatch_jobs" AS t SET
  "status" = 'PENDING',
  "lease_until" = NULL,
  "claimed_by" = NULL,
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
FROM "dispatch_jobs" AS t
WHERE t."status" = 'QUEUED'
  AND t."queued_at" IS NOT NULL
  AND CASE
    WHEN typeof(t."queued_at") IN ('integer', 'real')
    OR t."queued_at" NOT GLOB '*[^0-9]*' THEN CAST(t."queued_at" AS INTEGER)
    ELSE CAST(round((julianday(t."queued_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END < CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) - 900000
  AND COALESCE(
    CASE
      WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
      OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
      ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END,
      0
  ) <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
    + 0
  AND (t."group_key" IS NULL OR (typeof(t."group_key") = 'blob') OR t."mode" IN ('IMMEDIATE'))
  AND (t."dispatch_pool_id" IS NULL OR t."dispatch_pool_id" = '')
ORDER BY CASE
  WHEN typeof(t."queued_at") IN ('integer', 'real')
  OR t."queued_at" NOT GLOB '*[^0-9]*' THEN CAST(t."queued_at" AS INTEGER)
  ELSE CAST(round((julianday(t."queued_at") - 2440587.5) * 86400000.0) AS INTEGER)
  END
LIMIT ?1)
RETURNING CAST("id" AS TEXT);

-- deliver: sweep 2: [Limit] -> Keys
UPDATE "dispatch_jobs" AS t SET
  "queued_at" = CASE
    WHEN typeof(COALESCE(t."queued_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."queued_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."queued_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
      THEN strftime(
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
  "status" = 'QUEUED',
  "lease_until" = NULL,
  "claimed_by" = NULL,
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
FROM "dispatch_jobs" AS t
WHERE t."status" = 'PENDING'
  AND ((t."status" = 'PENDING') OR (t."status" = 'QUEUED' AND t."scheduled_for" IS NOT NULL))
  AND COALESCE(
    CASE
      WHEN typeof(t."scheduled_for") IN ('integer', 'real')
      OR t."scheduled_for" NOT GLOB '*[^0-9]*' THEN CAST(t."scheduled_for" AS INTEGER)
      ELSE CAST(round((julianday(t."scheduled_for") - 2440587.5) * 86400000.0) AS INTEGER)
      END,
      0
  ) <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
    + 0
ORDER BY COALESCE(
  CASE
    WHEN typeof(t."scheduled_for") IN ('integer', 'real')
    OR t."scheduled_for" NOT GLOB '*[^0-9]*' THEN CAST(t."scheduled_for" AS INTEGER)
    ELSE CAST(round((julianday(t."scheduled_for") - 2440587.5) * 86400000.0) AS INTEGER)
    END,
    0
)
LIMIT ?1)
RETURNING CAST("id" AS TEXT);

-- deliver: sweep 3: [Limit] -> Keys
UPDATE "dispatch_jobs" AS t SET
  "status" = 'ERROR',
  "next_attempt_at" = NULL,
  "lease_until" = NULL,
  "claimed_by" = NULL,
  "last_error" = 'expired before delivery',
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
FROM "dispatch_jobs" AS t
WHERE (
  (t."status" = 'QUEUED')
    OR (t."status" = 'PENDING')
    OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL)
)
  AND t."expires_at" IS NOT NULL
  AND CASE
    WHEN typeof(t."expires_at") IN ('integer', 'real')
    OR t."expires_at" NOT GLOB '*[^0-9]*' THEN CAST(t."expires_at" AS INTEGER)
    ELSE CAST(round((julianday(t."expires_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
LIMIT ?1)
RETURNING CAST("id" AS TEXT);

-- deliver: sweep 4: [Limit] -> Keys
UPDATE "dispatch_jobs" AS t SET
  "status" = 'PENDING',
  "lease_until" = NULL,
  "claimed_by" = NULL,
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
FROM "dispatch_jobs" AS t
WHERE t."status" = 'QUEUED'
  AND ((t."status" = 'PENDING') OR (t."status" = 'QUEUED' AND t."scheduled_for" IS NOT NULL))
  AND t."scheduled_for" IS NOT NULL
  AND COALESCE(
    CASE
      WHEN typeof(t."scheduled_for") IN ('integer', 'real')
      OR t."scheduled_for" NOT GLOB '*[^0-9]*' THEN CAST(t."scheduled_for" AS INTEGER)
      ELSE CAST(round((julianday(t."scheduled_for") - 2440587.5) * 86400000.0) AS INTEGER)
      END,
      0
  )
    > CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
LIMIT ?1)
RETURNING CAST("id" AS TEXT);

-- deliver: next due: [] -> Other
SELECT min(u.w) FROM (
SELECT a.w FROM (SELECT min(d.w) AS w FROM (WITH RECURSIVE ring(s) AS (
SELECT *
  FROM (
    SELECT (
      CASE
        WHEN t."group_key" IS NOT NULL
        AND NOT (typeof(t."group_key") = 'blob')
        AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
        ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
        END
    ) AS s
      FROM "dispatch_jobs" AS t
      WHERE ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
      AND (
        CASE
          WHEN t."group_key" IS NOT NULL
          AND NOT (typeof(t."group_key") = 'blob')
          AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
          ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
          END
      )
        < 'g'
      ORDER BY (
        CASE
          WHEN t."group_key" IS NOT NULL
          AND NOT (typeof(t."group_key") = 'blob')
          AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
          ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
          END
      )
      LIMIT 1
  )
UNION ALL
SELECT (
  SELECT (
    CASE
      WHEN t."group_key" IS NOT NULL
      AND NOT (typeof(t."group_key") = 'blob')
      AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
      ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
      END
  ) AS s
    FROM "dispatch_jobs" AS t
    WHERE ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
    AND (
      CASE
        WHEN t."group_key" IS NOT NULL
        AND NOT (typeof(t."group_key") = 'blob')
        AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
        ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
        END
    )
      < 'g'
    AND (
      CASE
        WHEN t."group_key" IS NOT NULL
        AND NOT (typeof(t."group_key") = 'blob')
        AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
        ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
        END
    )
      > r.s
    ORDER BY (
      CASE
        WHEN t."group_key" IS NOT NULL
        AND NOT (typeof(t."group_key") = 'blob')
        AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
        ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
        END
    )
    LIMIT 1
)
  FROM ring AS r
  WHERE r.s IS NOT NULL
LIMIT 1000)
SELECT (
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
    FROM "dispatch_jobs" AS t
    WHERE (
      CASE
        WHEN t."group_key" IS NOT NULL
        AND NOT (typeof(t."group_key") = 'blob')
        AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
        ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
        END
    ) = ring.s
    AND ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
    AND t."attempt_count" < max(COALESCE(t."max_retries", 3), 1)
    AND (
      t."expires_at" IS NULL
        OR CASE
        WHEN typeof(t."expires_at") IN ('integer', 'real')
        OR t."expires_at" NOT GLOB '*[^0-9]*' THEN CAST(t."expires_at" AS INTEGER)
        ELSE CAST(round((julianday(t."expires_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END > CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    )
    AND (
      t."scheduled_for" IS NULL
        OR CASE
        WHEN typeof(t."scheduled_for") IN ('integer', 'real')
        OR t."scheduled_for" NOT GLOB '*[^0-9]*' THEN CAST(t."scheduled_for" AS INTEGER)
        ELSE CAST(round((julianday(t."scheduled_for") - 2440587.5) * 86400000.0) AS INTEGER)
        END <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    )
    AND (t."group_key" IS NULL OR (typeof(t."group_key") = 'blob') OR t."mode" IN ('IMMEDIATE'))
    AND CASE
    WHEN t."group_key" IS NOT NULL
    AND NOT (typeof(t."group_key") = 'blob')
    AND t."mode" NOT IN ('IMMEDIATE')
      THEN COALESCE(
        CASE
          WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
          OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
          ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
          END,
          CASE
            WHEN typeof(t."created_at") IN ('integer', 'real')
            OR t."created_at" NOT GLOB '*[^0-9]*' THEN CAST(t."created_at" AS INTEGER)
            ELSE CAST(round((julianday(t."created_at") - 2440587.5) * 86400000.0) AS INTEGER)
            END
      )
    ELSE 0
    END = 0
    ORDER BY COALESCE(
      CASE
        WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
        OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
        ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END,
        0
    )
    LIMIT 1
) AS w
  FROM ring
  WHERE ring.s IS NOT NULL) AS d) AS a
UNION ALL
SELECT b.w FROM (SELECT min(d.w) AS w FROM (WITH RECURSIVE ring(s) AS (
SELECT *
  FROM (
    SELECT (
      CASE
        WHEN t."group_key" IS NOT NULL
        AND NOT (typeof(t."group_key") = 'blob')
        AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
        ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
        END
    ) AS s
      FROM "dispatch_jobs" AS t
      WHERE ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
      AND (
        CASE
          WHEN t."group_key" IS NOT NULL
          AND NOT (typeof(t."group_key") = 'blob')
          AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
          ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
          END
      ) >= 'o'
      ORDER BY (
        CASE
          WHEN t."group_key" IS NOT NULL
          AND NOT (typeof(t."group_key") = 'blob')
          AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
          ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
          END
      )
      LIMIT 1
  )
UNION ALL
SELECT (
  SELECT (
    CASE
      WHEN t."group_key" IS NOT NULL
      AND NOT (typeof(t."group_key") = 'blob')
      AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
      ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
      END
  ) AS s
    FROM "dispatch_jobs" AS t
    WHERE ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
    AND (
      CASE
        WHEN t."group_key" IS NOT NULL
        AND NOT (typeof(t."group_key") = 'blob')
        AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
        ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
        END
    ) >= 'o'
    AND (
      CASE
        WHEN t."group_key" IS NOT NULL
        AND NOT (typeof(t."group_key") = 'blob')
        AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
        ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
        END
    )
      > r.s
    ORDER BY (
      CASE
        WHEN t."group_key" IS NOT NULL
        AND NOT (typeof(t."group_key") = 'blob')
        AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
        ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
        END
    )
    LIMIT 1
)
  FROM ring AS r
  WHERE r.s IS NOT NULL
LIMIT 1000)
SELECT (
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
    FROM "dispatch_jobs" AS t
    WHERE (
      CASE
        WHEN t."group_key" IS NOT NULL
        AND NOT (typeof(t."group_key") = 'blob')
        AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
        ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
        END
    ) = ring.s
    AND ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
    AND CASE
    WHEN t."group_key" IS NOT NULL
    AND NOT (typeof(t."group_key") = 'blob')
    AND t."mode" NOT IN ('IMMEDIATE')
      THEN COALESCE(
        CASE
          WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
          OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
          ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
          END,
          CASE
            WHEN typeof(t."created_at") IN ('integer', 'real')
            OR t."created_at" NOT GLOB '*[^0-9]*' THEN CAST(t."created_at" AS INTEGER)
            ELSE CAST(round((julianday(t."created_at") - 2440587.5) * 86400000.0) AS INTEGER)
            END
      )
    ELSE 0
    END > 0
    AND CASE
    WHEN t."group_key" IS NOT NULL
    AND NOT (typeof(t."group_key") = 'blob')
    AND t."mode" NOT IN ('IMMEDIATE')
      THEN COALESCE(
        CASE
          WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
          OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
          ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
          END,
          CASE
            WHEN typeof(t."created_at") IN ('integer', 'real')
            OR t."created_at" NOT GLOB '*[^0-9]*' THEN CAST(t."created_at" AS INTEGER)
            ELSE CAST(round((julianday(t."created_at") - 2440587.5) * 86400000.0) AS INTEGER)
            END
      )
    ELSE 0
    END > CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    ORDER BY CASE
    WHEN t."group_key" IS NOT NULL
    AND NOT (typeof(t."group_key") = 'blob')
    AND t."mode" NOT IN ('IMMEDIATE')
      THEN COALESCE(
        CASE
          WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
          OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
          ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
          END,
          CASE
            WHEN typeof(t."created_at") IN ('integer', 'real')
            OR t."created_at" NOT GLOB '*[^0-9]*' THEN CAST(t."created_at" AS INTEGER)
            ELSE CAST(round((julianday(t."created_at") - 2440587.5) * 86400000.0) AS INTEGER)
            END
      )
    ELSE 0
    END
    LIMIT 1
) AS w
  FROM ring
  WHERE ring.s IS NOT NULL) AS d) AS b) AS u;

-- deliver: lag: [] -> Other
SELECT (SELECT max(l.w) FROM (SELECT (SELECT (max(d.w)) / 1000000.0 FROM (WITH RECURSIVE ring(s) AS (
SELECT *
  FROM (
    SELECT (
      CASE
        WHEN t."group_key" IS NOT NULL
        AND NOT (typeof(t."group_key") = 'blob')
        AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
        ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
        END
    ) AS s
      FROM "dispatch_jobs" AS t
      WHERE ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
      AND (
        CASE
          WHEN t."group_key" IS NOT NULL
          AND NOT (typeof(t."group_key") = 'blob')
          AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
          ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
          END
      )
        < 'g'
      ORDER BY (
        CASE
          WHEN t."group_key" IS NOT NULL
          AND NOT (typeof(t."group_key") = 'blob')
          AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
          ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
          END
      )
      LIMIT 1
  )
UNION ALL
SELECT (
  SELECT (
    CASE
      WHEN t."group_key" IS NOT NULL
      AND NOT (typeof(t."group_key") = 'blob')
      AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
      ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
      END
  ) AS s
    FROM "dispatch_jobs" AS t
    WHERE ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
    AND (
      CASE
        WHEN t."group_key" IS NOT NULL
        AND NOT (typeof(t."group_key") = 'blob')
        AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
        ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
        END
    )
      < 'g'
    AND (
      CASE
        WHEN t."group_key" IS NOT NULL
        AND NOT (typeof(t."group_key") = 'blob')
        AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
        ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
        END
    )
      > r.s
    ORDER BY (
      CASE
        WHEN t."group_key" IS NOT NULL
        AND NOT (typeof(t."group_key") = 'blob')
        AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
        ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
        END
    )
    LIMIT 1
)
  FROM ring AS r
  WHERE r.s IS NOT NULL
LIMIT 1000)
SELECT (
  SELECT COALESCE(
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
  ) AS w
    FROM "dispatch_jobs" AS t
    WHERE (
      CASE
        WHEN t."group_key" IS NOT NULL
        AND NOT (typeof(t."group_key") = 'blob')
        AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
        ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
        END
    ) = ring.s
    AND ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
    AND COALESCE(
      CASE
        WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
        OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
        ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END,
        0
    ) <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
      + 0
    AND t."attempt_count" < max(COALESCE(t."max_retries", 3), 1)
    AND (
      t."expires_at" IS NULL
        OR CASE
        WHEN typeof(t."expires_at") IN ('integer', 'real')
        OR t."expires_at" NOT GLOB '*[^0-9]*' THEN CAST(t."expires_at" AS INTEGER)
        ELSE CAST(round((julianday(t."expires_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END > CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    )
    AND (
      t."scheduled_for" IS NULL
        OR CASE
        WHEN typeof(t."scheduled_for") IN ('integer', 'real')
        OR t."scheduled_for" NOT GLOB '*[^0-9]*' THEN CAST(t."scheduled_for" AS INTEGER)
        ELSE CAST(round((julianday(t."scheduled_for") - 2440587.5) * 86400000.0) AS INTEGER)
        END <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    )
    AND (t."group_key" IS NULL OR (typeof(t."group_key") = 'blob') OR t."mode" IN ('IMMEDIATE'))
    AND CASE
    WHEN t."group_key" IS NOT NULL
    AND NOT (typeof(t."group_key") = 'blob')
    AND t."mode" NOT IN ('IMMEDIATE')
      THEN COALESCE(
        CASE
          WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
          OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
          ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
          END,
          CASE
            WHEN typeof(t."created_at") IN ('integer', 'real')
            OR t."created_at" NOT GLOB '*[^0-9]*' THEN CAST(t."created_at" AS INTEGER)
            ELSE CAST(round((julianday(t."created_at") - 2440587.5) * 86400000.0) AS INTEGER)
            END
      )
    ELSE 0
    END = 0
    ORDER BY COALESCE(
      CASE
        WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
        OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
        ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END,
        0
    )
    LIMIT 1
) AS w
  FROM ring
  WHERE ring.s IS NOT NULL) AS d) AS w UNION ALL SELECT (SELECT (max(d.w)) / 1000000.0
  FROM (WITH RECURSIVE ring(s) AS (
SELECT *
  FROM (
    SELECT (
      CASE
        WHEN t."group_key" IS NOT NULL
        AND NOT (typeof(t."group_key") = 'blob')
        AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
        ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
        END
    ) AS s
      FROM "dispatch_jobs" AS t
      WHERE ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
      AND (
        CASE
          WHEN t."group_key" IS NOT NULL
          AND NOT (typeof(t."group_key") = 'blob')
          AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
          ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
          END
      ) >= 'o'
      ORDER BY (
        CASE
          WHEN t."group_key" IS NOT NULL
          AND NOT (typeof(t."group_key") = 'blob')
          AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
          ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
          END
      )
      LIMIT 1
  )
UNION ALL
SELECT (
  SELECT (
    CASE
      WHEN t."group_key" IS NOT NULL
      AND NOT (typeof(t."group_key") = 'blob')
      AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
      ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
      END
  ) AS s
    FROM "dispatch_jobs" AS t
    WHERE ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
    AND (
      CASE
        WHEN t."group_key" IS NOT NULL
        AND NOT (typeof(t."group_key") = 'blob')
        AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
        ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
        END
    ) >= 'o'
    AND (
      CASE
        WHEN t."group_key" IS NOT NULL
        AND NOT (typeof(t."group_key") = 'blob')
        AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
        ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
        END
    )
      > r.s
    ORDER BY (
      CASE
        WHEN t."group_key" IS NOT NULL
        AND NOT (typeof(t."group_key") = 'blob')
        AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
        ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
        END
    )
    LIMIT 1
)
  FROM ring AS r
  WHERE r.s IS NOT NULL
LIMIT 1000)
SELECT (
  SELECT COALESCE(
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
  ) AS w
    FROM "dispatch_jobs" AS t
    WHERE (
      CASE
        WHEN t."group_key" IS NOT NULL
        AND NOT (typeof(t."group_key") = 'blob')
        AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
        ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
        END
    ) = ring.s
    AND ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
    AND COALESCE(
      CASE
        WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
        OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
        ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END,
        0
    ) <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
      + 0
    AND t."attempt_count" < max(COALESCE(t."max_retries", 3), 1)
    AND (
      t."expires_at" IS NULL
        OR CASE
        WHEN typeof(t."expires_at") IN ('integer', 'real')
        OR t."expires_at" NOT GLOB '*[^0-9]*' THEN CAST(t."expires_at" AS INTEGER)
        ELSE CAST(round((julianday(t."expires_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END > CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    )
    AND (
      t."scheduled_for" IS NULL
        OR CASE
        WHEN typeof(t."scheduled_for") IN ('integer', 'real')
        OR t."scheduled_for" NOT GLOB '*[^0-9]*' THEN CAST(t."scheduled_for" AS INTEGER)
        ELSE CAST(round((julianday(t."scheduled_for") - 2440587.5) * 86400000.0) AS INTEGER)
        END <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    )
    AND CASE
    WHEN t."group_key" IS NOT NULL
    AND NOT (typeof(t."group_key") = 'blob')
    AND t."mode" NOT IN ('IMMEDIATE')
      THEN COALESCE(
        CASE
          WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
          OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
          ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
          END,
          CASE
            WHEN typeof(t."created_at") IN ('integer', 'real')
            OR t."created_at" NOT GLOB '*[^0-9]*' THEN CAST(t."created_at" AS INTEGER)
            ELSE CAST(round((julianday(t."created_at") - 2440587.5) * 86400000.0) AS INTEGER)
            END
      )
    ELSE 0
    END > 0
    ORDER BY CASE
    WHEN t."group_key" IS NOT NULL
    AND NOT (typeof(t."group_key") = 'blob')
    AND t."mode" NOT IN ('IMMEDIATE')
      THEN COALESCE(
        CASE
          WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
          OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
          ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
          END,
          CASE
            WHEN typeof(t."created_at") IN ('integer', 'real')
            OR t."created_at" NOT GLOB '*[^0-9]*' THEN CAST(t."created_at" AS INTEGER)
            ELSE CAST(round((julianday(t."created_at") - 2440587.5) * 86400000.0) AS INTEGER)
            END
      )
    ELSE 0
    END
    LIMIT 1
) AS w
  FROM ring
  WHERE ring.s IS NOT NULL) AS d)) AS l),
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
      FROM "dispatch_jobs" AS t
      WHERE CASE
      WHEN t."status" = 'IN_PROGRESS' THEN 'IN_PROGRESS'
      WHEN t."status" = 'ERROR'
      AND t."next_attempt_at" IS NULL THEN 'DEAD'
      WHEN t."status" = 'PENDING' THEN 'PENDING'
      WHEN t."status" = 'CANCELLED' THEN 'CANCELLED'
      WHEN ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
      AND t."attempt_count" >= max(COALESCE(t."max_retries", 3), 1) THEN 'no attempts left'
      WHEN t."status" = 'ERROR'
      AND t."next_attempt_at" IS NOT NULL THEN 'RETRYING'
      END = 'IN_PROGRESS'
      AND CASE
      WHEN t."status" = 'IN_PROGRESS' THEN NULL
      ELSE t."id"
      END IS NULL
      AND t."status" = 'IN_PROGRESS'
      ORDER BY CASE
      WHEN typeof(t."last_attempt_at") IN ('integer', 'real')
      OR t."last_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."last_attempt_at" AS INTEGER)
      ELSE CAST(round((julianday(t."last_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END
      LIMIT 1
  );

-- deliver: census RETRYING: [] -> Other
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
                FROM "dispatch_jobs" AS t
                  WHERE (
                    (t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL)
                  )
                  ORDER BY (
                    CASE
                      WHEN "group_key" IS NOT NULL
                      AND NOT (typeof("group_key") = 'blob')
                      AND "mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE("dispatch_pool_id", '') || '	'
                      ELSE 'f' || COALESCE("dispatch_pool_id", '') || '	' || COALESCE("client_id", '')
                      END
                  ),
                  (
                    CASE
                      WHEN "group_key" IS NOT NULL
                      AND NOT (typeof("group_key") = 'blob')
                      AND "mode" NOT IN ('IMMEDIATE')
                        THEN COALESCE(
                          CASE
                            WHEN typeof("next_attempt_at") IN ('integer', 'real')
                            OR "next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST("next_attempt_at" AS INTEGER)
                            ELSE CAST(
                              round((julianday("next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER
                            )
                            END,
                            CASE
                              WHEN typeof("created_at") IN ('integer', 'real')
                              OR "created_at" NOT GLOB '*[^0-9]*' THEN CAST("created_at" AS INTEGER)
                              ELSE CAST(round((julianday("created_at") - 2440587.5) * 86400000.0) AS INTEGER)
                              END
                        )
                      ELSE 0
                      END
                  ),
                  (
                    COALESCE(
                      CASE
                        WHEN typeof("next_attempt_at") IN ('integer', 'real')
                        OR "next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST("next_attempt_at" AS INTEGER)
                        ELSE CAST(round((julianday("next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
                        END,
                        0
                    )
                  ),
                  "id" LIMIT 50001
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
              FROM "dispatch_jobs" AS t
                WHERE ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
                ORDER BY (
                  CASE
                    WHEN "group_key" IS NOT NULL
                    AND NOT (typeof("group_key") = 'blob')
                    AND "mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE("dispatch_pool_id", '') || '	'
                    ELSE 'f' || COALESCE("dispatch_pool_id", '') || '	' || COALESCE("client_id", '')
                    END
                ),
                (
                  CASE
                    WHEN "group_key" IS NOT NULL
                    AND NOT (typeof("group_key") = 'blob')
                    AND "mode" NOT IN ('IMMEDIATE')
                      THEN COALESCE(
                        CASE
                          WHEN typeof("next_attempt_at") IN ('integer', 'real')
                          OR "next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST("next_attempt_at" AS INTEGER)
                          ELSE CAST(round((julianday("next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
                          END,
                          CASE
                            WHEN typeof("created_at") IN ('integer', 'real')
                            OR "created_at" NOT GLOB '*[^0-9]*' THEN CAST("created_at" AS INTEGER)
                            ELSE CAST(round((julianday("created_at") - 2440587.5) * 86400000.0) AS INTEGER)
                            END
                      )
                    ELSE 0
                    END
                ),
                (
                  COALESCE(
                    CASE
                      WHEN typeof("next_attempt_at") IN ('integer', 'real')
                      OR "next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST("next_attempt_at" AS INTEGER)
                      ELSE CAST(round((julianday("next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
                      END,
                      0
                  )
                ),
                "id" LIMIT 50000
            ) AS p
        ) AS t
    

WHERE t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL LIMIT 10001) AS counted) AS c;

-- deliver: census DEAD: [] -> Other
SELECT
  CAST(COUNT(*) AS INTEGER),
  0
FROM (
  SELECT 1 AS one
    FROM "dispatch_jobs" AS t
    WHERE CASE
    WHEN t."status" = 'IN_PROGRESS' THEN 'IN_PROGRESS'
    WHEN t."status" = 'ERROR'
    AND t."next_attempt_at" IS NULL THEN 'DEAD'
    WHEN t."status" = 'PENDING' THEN 'PENDING'
    WHEN t."status" = 'CANCELLED' THEN 'CANCELLED'
    WHEN ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
    AND t."attempt_count" >= max(COALESCE(t."max_retries", 3), 1) THEN 'no attempts left'
    WHEN t."status" = 'ERROR'
    AND t."next_attempt_at" IS NOT NULL THEN 'RETRYING'
    END = 'DEAD'
    AND t."status" = 'ERROR'
    AND t."next_attempt_at" IS NULL
    LIMIT 10001
) AS counted;

-- deliver: census QUEUED: [] -> Other
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
                FROM "dispatch_jobs" AS t
                  WHERE (
                    (t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL)
                  )
                  ORDER BY (
                    CASE
                      WHEN "group_key" IS NOT NULL
                      AND NOT (typeof("group_key") = 'blob')
                      AND "mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE("dispatch_pool_id", '') || '	'
                      ELSE 'f' || COALESCE("dispatch_pool_id", '') || '	' || COALESCE("client_id", '')
                      END
                  ),
                  (
                    CASE
                      WHEN "group_key" IS NOT NULL
                      AND NOT (typeof("group_key") = 'blob')
                      AND "mode" NOT IN ('IMMEDIATE')
                        THEN COALESCE(
                          CASE
                            WHEN typeof("next_attempt_at") IN ('integer', 'real')
                            OR "next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST("next_attempt_at" AS INTEGER)
                            ELSE CAST(
                              round((julianday("next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER
                            )
                            END,
                            CASE
                              WHEN typeof("created_at") IN ('integer', 'real')
                              OR "created_at" NOT GLOB '*[^0-9]*' THEN CAST("created_at" AS INTEGER)
                              ELSE CAST(round((julianday("created_at") - 2440587.5) * 86400000.0) AS INTEGER)
                              END
                        )
                      ELSE 0
                      END
                  ),
                  (
                    COALESCE(
                      CASE
                        WHEN typeof("next_attempt_at") IN ('integer', 'real')
                        OR "next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST("next_attempt_at" AS INTEGER)
                        ELSE CAST(round((julianday("next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
                        END,
                        0
                    )
                  ),
                  "id" LIMIT 50001
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
              FROM "dispatch_jobs" AS t
                WHERE ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
                ORDER BY (
                  CASE
                    WHEN "group_key" IS NOT NULL
                    AND NOT (typeof("group_key") = 'blob')
                    AND "mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE("dispatch_pool_id", '') || '	'
                    ELSE 'f' || COALESCE("dispatch_pool_id", '') || '	' || COALESCE("client_id", '')
                    END
                ),
                (
                  CASE
                    WHEN "group_key" IS NOT NULL
                    AND NOT (typeof("group_key") = 'blob')
                    AND "mode" NOT IN ('IMMEDIATE')
                      THEN COALESCE(
                        CASE
                          WHEN typeof("next_attempt_at") IN ('integer', 'real')
                          OR "next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST("next_attempt_at" AS INTEGER)
                          ELSE CAST(round((julianday("next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
                          END,
                          CASE
                            WHEN typeof("created_at") IN ('integer', 'real')
                            OR "created_at" NOT GLOB '*[^0-9]*' THEN CAST("created_at" AS INTEGER)
                            ELSE CAST(round((julianday("created_at") - 2440587.5) * 86400000.0) AS INTEGER)
                            END
                      )
                    ELSE 0
                    END
                ),
                (
                  COALESCE(
                    CASE
                      WHEN typeof("next_attempt_at") IN ('integer', 'real')
                      OR "next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST("next_attempt_at" AS INTEGER)
                      ELSE CAST(round((julianday("next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
                      END,
                      0
                  )
                ),
                "id" LIMIT 50000
            ) AS p
        ) AS t
    

WHERE t."status" = 'QUEUED' LIMIT 10001) AS counted) AS c;

-- deliver: census IN_PROGRESS: [] -> Other
SELECT
  CAST(COUNT(*) AS INTEGER),
  0
FROM (
  SELECT 1 AS one
    FROM "dispatch_jobs" AS t
    WHERE CASE
    WHEN t."status" = 'IN_PROGRESS' THEN 'IN_PROGRESS'
    WHEN t."status" = 'ERROR'
    AND t."next_attempt_at" IS NULL THEN 'DEAD'
    WHEN t."status" = 'PENDING' THEN 'PENDING'
    WHEN t."status" = 'CANCELLED' THEN 'CANCELLED'
    WHEN ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
    AND t."attempt_count" >= max(COALESCE(t."max_retries", 3), 1) THEN 'no attempts left'
    WHEN t."status" = 'ERROR'
    AND t."next_attempt_at" IS NOT NULL THEN 'RETRYING'
    END = 'IN_PROGRESS'
    AND CASE
    WHEN t."status" = 'IN_PROGRESS' THEN NULL
    ELSE t."id"
    END IS NULL
    AND t."status" = 'IN_PROGRESS'
    LIMIT 10001
) AS counted;

-- deliver: census COMPLETED: [] -> Other
SELECT
  CAST(c.n AS INTEGER),
  CAST(
    CASE
      WHEN c.n <= 10000
      AND EXISTS (SELECT 1 FROM "dispatch_jobs" AS t ORDER BY t."id" LIMIT 1 OFFSET 50000) THEN 1
      ELSE 0
      END AS INTEGER
  )
FROM (
  SELECT COUNT(*) AS n
    FROM (
      SELECT 1 AS one
        FROM (SELECT t."id", t."status" FROM "dispatch_jobs" AS t ORDER BY t."id" LIMIT 50000) AS t
    

WHERE t."status" = 'COMPLETED' LIMIT 10001) AS counted) AS c;

-- deliver: census PENDING: [] -> Other
SELECT
  CAST(COUNT(*) AS INTEGER),
  0
FROM (
  SELECT 1 AS one
    FROM "dispatch_jobs" AS t
    WHERE CASE
    WHEN t."status" = 'IN_PROGRESS' THEN 'IN_PROGRESS'
    WHEN t."status" = 'ERROR'
    AND t."next_attempt_at" IS NULL THEN 'DEAD'
    WHEN t."status" = 'PENDING' THEN 'PENDING'
    WHEN t."status" = 'CANCELLED' THEN 'CANCELLED'
    WHEN ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
    AND t."attempt_count" >= max(COALESCE(t."max_retries", 3), 1) THEN 'no attempts left'
    WHEN t."status" = 'ERROR'
    AND t."next_attempt_at" IS NOT NULL THEN 'RETRYING'
    END = 'PENDING'
    AND t."status" = 'PENDING'
    LIMIT 10001
) AS counted;

-- deliver: census CANCELLED: [] -> Other
SELECT
  CAST(COUNT(*) AS INTEGER),
  0
FROM (
  SELECT 1 AS one
    FROM "dispatch_jobs" AS t
    WHERE CASE
    WHEN t."status" = 'IN_PROGRESS' THEN 'IN_PROGRESS'
    WHEN t."status" = 'ERROR'
    AND t."next_attempt_at" IS NULL THEN 'DEAD'
    WHEN t."status" = 'PENDING' THEN 'PENDING'
    WHEN t."status" = 'CANCELLED' THEN 'CANCELLED'
    WHEN ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
    AND t."attempt_count" >= max(COALESCE(t."max_retries", 3), 1) THEN 'no attempts left'
    WHEN t."status" = 'ERROR'
    AND t."next_attempt_at" IS NOT NULL THEN 'RETRYING'
    END = 'CANCELLED'
    AND t."status" = 'CANCELLED'
    LIMIT 10001
) AS counted;

-- deliver: requeue ids DEAD: [Ids] -> Keys
UPDATE "dispatch_jobs" AS t SET
  "status" = 'ERROR',
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
  "lease_until" = NULL,
  "claimed_by" = NULL,
  "attempt_count" = 0,
  "last_error" = NULL,
  "completed_at" = NULL,
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
FROM "dispatch_jobs" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1))
  AND +t."status" = 'ERROR' AND t."next_attempt_at" IS NULL)
RETURNING CAST("id" AS TEXT);

-- deliver: requeue state DEAD: [Since, Limit] -> Keys
UPDATE "dispatch_jobs" AS t SET
  "status" = 'ERROR',
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
  "lease_until" = NULL,
  "claimed_by" = NULL,
  "attempt_count" = 0,
  "last_error" = NULL,
  "completed_at" = NULL,
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
FROM "dispatch_jobs" AS t
WHERE t."status" = 'ERROR' AND t."next_attempt_at" IS NULL
  AND CASE
    WHEN t."status" = 'IN_PROGRESS' THEN 'IN_PROGRESS'
    WHEN t."status" = 'ERROR'
    AND t."next_attempt_at" IS NULL THEN 'DEAD'
    WHEN t."status" = 'PENDING' THEN 'PENDING'
    WHEN t."status" = 'CANCELLED' THEN 'CANCELLED'
    WHEN ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
    AND t."attempt_count" >= max(COALESCE(t."max_retries", 3), 1) THEN 'no attempts left'
    WHEN t."status" = 'ERROR'
    AND t."next_attempt_at" IS NOT NULL THEN 'RETRYING'
    END = 'DEAD'
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
      WHEN typeof(t."last_attempt_at") IN ('integer', 'real')
      OR t."last_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."last_attempt_at" AS INTEGER)
      ELSE CAST(round((julianday(t."last_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END >= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
        + CAST(round((0 - ?1) * 1000.0) AS INTEGER)
        + 0
      OR t."updated_at" IS NULL
      AND t."last_attempt_at" IS NULL
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

-- deliver: cancel ids QUEUED: [Ids] -> Keys
UPDATE "dispatch_jobs" AS t SET
  "status" = 'CANCELLED',
  "lease_until" = NULL,
  "claimed_by" = NULL,
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
FROM "dispatch_jobs" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1))
  AND +t."status" = 'QUEUED')
RETURNING CAST("id" AS TEXT);

-- deliver: cancel ids PENDING: [Ids] -> Keys
UPDATE "dispatch_jobs" AS t SET
  "status" = 'CANCELLED',
  "lease_until" = NULL,
  "claimed_by" = NULL,
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
FROM "dispatch_jobs" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1))
  AND +t."status" = 'PENDING')
RETURNING CAST("id" AS TEXT);

-- deliver: cancel ids RETRYING: [Ids] -> Keys
UPDATE "dispatch_jobs" AS t SET
  "status" = 'CANCELLED',
  "lease_until" = NULL,
  "claimed_by" = NULL,
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
FROM "dispatch_jobs" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1))
  AND +t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL)
RETURNING CAST("id" AS TEXT);

-- deliver: cancel ids DEAD: [Ids] -> Keys
UPDATE "dispatch_jobs" AS t SET
  "status" = 'CANCELLED',
  "lease_until" = NULL,
  "claimed_by" = NULL,
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
FROM "dispatch_jobs" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1))
  AND +t."status" = 'ERROR' AND t."next_attempt_at" IS NULL)
RETURNING CAST("id" AS TEXT);

-- deliver: cancel ids IN_PROGRESS: [Ids] -> Keys
UPDATE "dispatch_jobs" AS t SET
  "status" = 'CANCELLED',
  "lease_until" = NULL,
  "claimed_by" = NULL,
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
FROM "dispatch_jobs" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1))
  AND +t."status" = 'IN_PROGRESS')
RETURNING CAST("id" AS TEXT);

-- deliver: cancel state QUEUED: [Since, Limit] -> Keys
UPDATE "dispatch_jobs" AS t SET
  "status" = 'CANCELLED',
  "lease_until" = NULL,
  "claimed_by" = NULL,
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
FROM "dispatch_jobs" AS t
WHERE t."status" = 'QUEUED'
  AND ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
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
      WHEN typeof(t."last_attempt_at") IN ('integer', 'real')
      OR t."last_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."last_attempt_at" AS INTEGER)
      ELSE CAST(round((julianday(t."last_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END >= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
        + CAST(round((0 - ?1) * 1000.0) AS INTEGER)
        + 0
      OR t."updated_at" IS NULL
      AND t."last_attempt_at" IS NULL
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

-- deliver: cancel state PENDING: [Since, Limit] -> Keys
UPDATE "dispatch_jobs" AS t SET
  "status" = 'CANCELLED',
  "lease_until" = NULL,
  "claimed_by" = NULL,
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
FROM "dispatch_jobs" AS t
WHERE t."status" = 'PENDING'
  AND CASE
    WHEN t."status" = 'IN_PROGRESS' THEN 'IN_PROGRESS'
    WHEN t."status" = 'ERROR'
    AND t."next_attempt_at" IS NULL THEN 'DEAD'
    WHEN t."status" = 'PENDING' THEN 'PENDING'
    WHEN t."status" = 'CANCELLED' THEN 'CANCELLED'
    WHEN ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
    AND t."attempt_count" >= max(COALESCE(t."max_retries", 3), 1) THEN 'no attempts left'
    WHEN t."status" = 'ERROR'
    AND t."next_attempt_at" IS NOT NULL THEN 'RETRYING'
    END = 'PENDING'
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
      WHEN typeof(t."last_attempt_at") IN ('integer', 'real')
      OR t."last_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."last_attempt_at" AS INTEGER)
      ELSE CAST(round((julianday(t."last_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END >= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
        + CAST(round((0 - ?1) * 1000.0) AS INTEGER)
        + 0
      OR t."updated_at" IS NULL
      AND t."last_attempt_at" IS NULL
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

-- deliver: cancel state RETRYING: [Since, Limit] -> Keys
UPDATE "dispatch_jobs" AS t SET
  "status" = 'CANCELLED',
  "lease_until" = NULL,
  "claimed_by" = NULL,
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
FROM "dispatch_jobs" AS t
WHERE t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL
  AND ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
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
      WHEN typeof(t."last_attempt_at") IN ('integer', 'real')
      OR t."last_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."last_attempt_at" AS INTEGER)
      ELSE CAST(round((julianday(t."last_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END >= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
        + CAST(round((0 - ?1) * 1000.0) AS INTEGER)
        + 0
      OR t."updated_at" IS NULL
      AND t."last_attempt_at" IS NULL
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

-- deliver: cancel state DEAD: [Since, Limit] -> Keys
UPDATE "dispatch_jobs" AS t SET
  "status" = 'CANCELLED',
  "lease_until" = NULL,
  "claimed_by" = NULL,
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
FROM "dispatch_jobs" AS t
WHERE t."status" = 'ERROR' AND t."next_attempt_at" IS NULL
  AND CASE
    WHEN t."status" = 'IN_PROGRESS' THEN 'IN_PROGRESS'
    WHEN t."status" = 'ERROR'
    AND t."next_attempt_at" IS NULL THEN 'DEAD'
    WHEN t."status" = 'PENDING' THEN 'PENDING'
    WHEN t."status" = 'CANCELLED' THEN 'CANCELLED'
    WHEN ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
    AND t."attempt_count" >= max(COALESCE(t."max_retries", 3), 1) THEN 'no attempts left'
    WHEN t."status" = 'ERROR'
    AND t."next_attempt_at" IS NOT NULL THEN 'RETRYING'
    END = 'DEAD'
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
      WHEN typeof(t."last_attempt_at") IN ('integer', 'real')
      OR t."last_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."last_attempt_at" AS INTEGER)
      ELSE CAST(round((julianday(t."last_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END >= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
        + CAST(round((0 - ?1) * 1000.0) AS INTEGER)
        + 0
      OR t."updated_at" IS NULL
      AND t."last_attempt_at" IS NULL
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

-- deliver: cancel state IN_PROGRESS: [Since, Limit] -> Keys
UPDATE "dispatch_jobs" AS t SET
  "status" = 'CANCELLED',
  "lease_until" = NULL,
  "claimed_by" = NULL,
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
FROM "dispatch_jobs" AS t
WHERE t."status" = 'IN_PROGRESS'
  AND CASE
    WHEN t."status" = 'IN_PROGRESS' THEN 'IN_PROGRESS'
    WHEN t."status" = 'ERROR'
    AND t."next_attempt_at" IS NULL THEN 'DEAD'
    WHEN t."status" = 'PENDING' THEN 'PENDING'
    WHEN t."status" = 'CANCELLED' THEN 'CANCELLED'
    WHEN ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
    AND t."attempt_count" >= max(COALESCE(t."max_retries", 3), 1) THEN 'no attempts left'
    WHEN t."status" = 'ERROR'
    AND t."next_attempt_at" IS NOT NULL THEN 'RETRYING'
    END = 'IN_PROGRESS'
    AND CASE
    WHEN t."status" = 'IN_PROGRESS' THEN NULL
    ELSE t."id"
    END IS NULL
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
      WHEN typeof(t."last_attempt_at") IN ('integer', 'real')
      OR t."last_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."last_attempt_at" AS INTEGER)
      ELSE CAST(round((julianday(t."last_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END >= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
        + CAST(round((0 - ?1) * 1000.0) AS INTEGER)
        + 0
      OR t."updated_at" IS NULL
      AND t."last_attempt_at" IS NULL
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

-- deliver: release ids IN_PROGRESS: [Ids] -> Keys
UPDATE "dispatch_jobs" AS t SET
  "status" = CASE WHEN COALESCE(t."attempt_count", 0) = 0 THEN 'QUEUED' ELSE 'ERROR' END,
  "next_attempt_at" = COALESCE(
    t."next_attempt_at",
      CASE
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
        END
  ),
  "lease_until" = NULL,
  "claimed_by" = NULL,
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
FROM "dispatch_jobs" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1))
  AND +t."status" = 'IN_PROGRESS')
RETURNING CAST("id" AS TEXT);

-- deliver: release state IN_PROGRESS: [Since, Limit] -> Keys
UPDATE "dispatch_jobs" AS t SET
  "status" = CASE WHEN COALESCE(t."attempt_count", 0) = 0 THEN 'QUEUED' ELSE 'ERROR' END,
  "next_attempt_at" = COALESCE(
    t."next_attempt_at",
      CASE
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
        END
  ),
  "lease_until" = NULL,
  "claimed_by" = NULL,
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
FROM "dispatch_jobs" AS t
WHERE t."status" = 'IN_PROGRESS'
  AND CASE
    WHEN t."status" = 'IN_PROGRESS' THEN 'IN_PROGRESS'
    WHEN t."status" = 'ERROR'
    AND t."next_attempt_at" IS NULL THEN 'DEAD'
    WHEN t."status" = 'PENDING' THEN 'PENDING'
    WHEN t."status" = 'CANCELLED' THEN 'CANCELLED'
    WHEN ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
    AND t."attempt_count" >= max(COALESCE(t."max_retries", 3), 1) THEN 'no attempts left'
    WHEN t."status" = 'ERROR'
    AND t."next_attempt_at" IS NOT NULL THEN 'RETRYING'
    END = 'IN_PROGRESS'
    AND CASE
    WHEN t."status" = 'IN_PROGRESS' THEN NULL
    ELSE t."id"
    END IS NULL
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
      WHEN typeof(t."last_attempt_at") IN ('integer', 'real')
      OR t."last_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."last_attempt_at" AS INTEGER)
      ELSE CAST(round((julianday(t."last_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END >= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
        + CAST(round((0 - ?1) * 1000.0) AS INTEGER)
        + 0
      OR t."updated_at" IS NULL
      AND t."last_attempt_at" IS NULL
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

-- deliver: complete ids DEAD: [Ids] -> Keys
UPDATE "dispatch_jobs" AS t SET
  "status" = 'COMPLETED',
  "lease_until" = NULL,
  "claimed_by" = NULL,
  "completed_at" = CASE
    WHEN typeof(COALESCE(t."completed_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."completed_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."completed_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
      THEN strftime(
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
FROM "dispatch_jobs" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1))
  AND +t."status" = 'ERROR' AND t."next_attempt_at" IS NULL)
RETURNING CAST("id" AS TEXT);

-- deliver: complete ids RETRYING: [Ids] -> Keys
UPDATE "dispatch_jobs" AS t SET
  "status" = 'COMPLETED',
  "lease_until" = NULL,
  "claimed_by" = NULL,
  "completed_at" = CASE
    WHEN typeof(COALESCE(t."completed_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."completed_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."completed_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
      THEN strftime(
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
FROM "dispatch_jobs" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1))
  AND +t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL)
RETURNING CAST("id" AS TEXT);

-- create, with a queue
CREATE INDEX IF NOT EXISTS "dispatch_jobs_deliver_offer"
  ON "dispatch_jobs" (
    (
      COALESCE(
        CASE
          WHEN typeof("next_attempt_at") IN ('integer', 'real')
          OR "next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST("next_attempt_at" AS INTEGER)
          ELSE CAST(round((julianday("next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
          END,
          0
      )
    )
  )
  WHERE "status" = 'QUEUED'
  AND "queued_at" IS NULL
  AND ("group_key" IS NULL OR (typeof("group_key") = 'blob') OR "mode" IN ('IMMEDIATE'))
  AND ("dispatch_pool_id" IS NULL OR "dispatch_pool_id" = '');

-- create, with a queue
CREATE INDEX IF NOT EXISTS "dispatch_jobs_deliver_queued"
  ON "dispatch_jobs" (
    (
      CASE
        WHEN typeof("queued_at") IN ('integer', 'real')
        OR "queued_at" NOT GLOB '*[^0-9]*' THEN CAST("queued_at" AS INTEGER)
        ELSE CAST(round((julianday("queued_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END
    )
  )
  WHERE "status" = 'QUEUED'
  AND "queued_at" IS NOT NULL
  AND ("group_key" IS NULL OR (typeof("group_key") = 'blob') OR "mode" IN ('IMMEDIATE'))
  AND ("dispatch_pool_id" IS NULL OR "dispatch_pool_id" = '');

-- create, with a queue
CREATE INDEX IF NOT EXISTS "dispatch_jobs_deliver_offer2"
  ON "dispatch_jobs" (
    (
      COALESCE(
        CASE
          WHEN typeof("next_attempt_at") IN ('integer', 'real')
          OR "next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST("next_attempt_at" AS INTEGER)
          ELSE CAST(round((julianday("next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
          END,
          0
      )
    )
  )
  WHERE "status" = 'ERROR'
  AND "next_attempt_at" IS NOT NULL
  AND "queued_at" IS NULL
  AND ("group_key" IS NULL OR (typeof("group_key") = 'blob') OR "mode" IN ('IMMEDIATE'))
  AND ("dispatch_pool_id" IS NULL OR "dispatch_pool_id" = '');

-- create, with a queue
CREATE INDEX IF NOT EXISTS "dispatch_jobs_deliver_queued2"
  ON "dispatch_jobs" (
    (
      CASE
        WHEN typeof("queued_at") IN ('integer', 'real')
        OR "queued_at" NOT GLOB '*[^0-9]*' THEN CAST("queued_at" AS INTEGER)
        ELSE CAST(round((julianday("queued_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END
    )
  )
  WHERE "status" = 'ERROR'
  AND "next_attempt_at" IS NOT NULL
  AND "queued_at" IS NOT NULL
  AND ("group_key" IS NULL OR (typeof("group_key") = 'blob') OR "mode" IN ('IMMEDIATE'))
  AND ("dispatch_pool_id" IS NULL OR "dispatch_pool_id" = '');

-- deliver, with a queue: claim by key, step 1: [Ids] -> Keys
SELECT CAST(t."id" AS TEXT)
FROM "dispatch_jobs" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1))
  AND ((+t."status" = 'QUEUED') OR (+t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
  AND COALESCE(
    CASE
      WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
      OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
      ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END,
      0
  ) <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
    + 0
  AND t."attempt_count" < max(COALESCE(t."max_retries", 3), 1)
  AND (
    t."expires_at" IS NULL
      OR CASE
      WHEN typeof(t."expires_at") IN ('integer', 'real')
      OR t."expires_at" NOT GLOB '*[^0-9]*' THEN CAST(t."expires_at" AS INTEGER)
      ELSE CAST(round((julianday(t."expires_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END > CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
  )
  AND (
    t."scheduled_for" IS NULL
      OR CASE
      WHEN typeof(t."scheduled_for") IN ('integer', 'real')
      OR t."scheduled_for" NOT GLOB '*[^0-9]*' THEN CAST(t."scheduled_for" AS INTEGER)
      ELSE CAST(round((julianday(t."scheduled_for") - 2440587.5) * 86400000.0) AS INTEGER)
      END <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
  )
  AND (t."group_key" IS NULL OR (typeof(t."group_key") = 'blob') OR t."mode" IN ('IMMEDIATE'))
  AND (t."dispatch_pool_id" IS NULL OR t."dispatch_pool_id" = '')
ORDER BY COALESCE(
  CASE
    WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
    OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
    ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END,
    0
),
  t."id";

-- deliver, with a queue: claim by key, step 2: [Owner, Held] -> Rows
UPDATE "dispatch_jobs" AS t SET
  "status" = 'IN_PROGRESS',
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
  "claimed_by" = ?1,
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
RETURNING
  CAST("id" AS TEXT),
  CAST("last_attempt_at" AS TEXT),
  CAST("attempt_count" AS TEXT),
  CAST("attempt_count" AS INTEGER),
  CAST("max_retries" AS INTEGER),
  CAST("retry_strategy" AS TEXT),
  CASE
    WHEN "group_key" IS NOT NULL
    AND NOT (typeof("group_key") = 'blob')
    AND "mode" NOT IN ('IMMEDIATE') THEN CAST("group_key" AS TEXT)
    END,
  CASE WHEN "mode" IN ('NEXT_ON_ERROR') THEN 'next' ELSE 'block' END,
  CAST("dispatch_pool_id" AS TEXT),
  CAST("client_id" AS TEXT),
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
    COALESCE(length(CAST("service_account_id" AS BLOB)), 0)
      + COALESCE(length(CAST("client_id" AS BLOB)), 0)
      + COALESCE(length(CAST("code" AS BLOB)), 0)
      + COALESCE(length(CAST("payload_content_type" AS BLOB)), 0)
      + COALESCE(length(CAST("correlation_id" AS BLOB)), 0)
      + COALESCE(length(CAST("id" AS BLOB)), 0)
      + COALESCE(length(CAST("event_id" AS BLOB)), 0)
      + COALESCE(length(CAST("headers" AS BLOB)), 0)
      + COALESCE(length(CAST("payload" AS BLOB)), 0)
      + COALESCE(length(CAST("source" AS BLOB)), 0)
      + COALESCE(length(CAST("subject" AS BLOB)), 0)
      + COALESCE(length(CAST("subscription_id" AS BLOB)), 0)
      + COALESCE(length(CAST("created_at" AS BLOB)), 0)
      + COALESCE(length(CAST("traceparent" AS BLOB)), 0)
      + COALESCE(length(CAST("target_url" AS BLOB)), 0) AS INTEGER
  ),
  CASE WHEN length(CAST("service_account_id" AS BLOB)) <= 65536 THEN "service_account_id" END,
  CASE WHEN length(CAST("client_id" AS BLOB)) <= 65536 THEN "client_id" END,
  CASE WHEN length(CAST("code" AS BLOB)) <= 65536 THEN "code" END,
  CASE WHEN length(CAST("payload_content_type" AS BLOB)) <= 65536 THEN "payload_content_type" END,
  CASE WHEN length(CAST("correlation_id" AS BLOB)) <= 65536 THEN "correlation_id" END,
  CASE WHEN "data_only" THEN 'true' WHEN NOT "data_only" THEN 'false' END,
  CASE WHEN length(CAST("id" AS BLOB)) <= 65536 THEN "id" END,
  CASE WHEN length(CAST("event_id" AS BLOB)) <= 65536 THEN "event_id" END,
  CASE WHEN length(CAST("headers" AS BLOB)) <= 65536 THEN "headers" END,
  CASE WHEN length(CAST("payload" AS BLOB)) <= 65536 THEN "payload" END,
  CASE WHEN length(CAST("source" AS BLOB)) <= 65536 THEN "source" END,
  CASE WHEN length(CAST("subject" AS BLOB)) <= 65536 THEN "subject" END,
  CASE WHEN length(CAST("subscription_id" AS BLOB)) <= 65536 THEN "subscription_id" END,
  CASE WHEN length(CAST("created_at" AS BLOB)) <= 65536 THEN "created_at" END,
  CAST("timeout_seconds" AS TEXT),
  CASE WHEN length(CAST("traceparent" AS BLOB)) <= 65536 THEN "traceparent" END,
  CASE WHEN length(CAST("target_url" AS BLOB)) <= 65536 THEN "target_url" END;

-- deliver, with a queue: standing: [Ids] -> Other
SELECT
  CAST(t."id" AS TEXT),
  CAST(
    CASE
      WHEN ((+t."status" = 'QUEUED') OR (+t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
      AND COALESCE(
        CASE
          WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
          OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
          ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
          END,
          0
      ) <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
        + 0
      AND t."attempt_count" < max(COALESCE(t."max_retries", 3), 1)
      AND (
        t."expires_at" IS NULL
          OR CASE
          WHEN typeof(t."expires_at") IN ('integer', 'real')
          OR t."expires_at" NOT GLOB '*[^0-9]*' THEN CAST(t."expires_at" AS INTEGER)
          ELSE CAST(round((julianday(t."expires_at") - 2440587.5) * 86400000.0) AS INTEGER)
          END > CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
      )
      AND (
        t."scheduled_for" IS NULL
          OR CASE
          WHEN typeof(t."scheduled_for") IN ('integer', 'real')
          OR t."scheduled_for" NOT GLOB '*[^0-9]*' THEN CAST(t."scheduled_for" AS INTEGER)
          ELSE CAST(round((julianday(t."scheduled_for") - 2440587.5) * 86400000.0) AS INTEGER)
          END <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
      )
        THEN CASE
      WHEN (t."group_key" IS NULL OR (typeof(t."group_key") = 'blob') OR t."mode" IN ('IMMEDIATE'))
      AND (t."dispatch_pool_id" IS NULL OR t."dispatch_pool_id" = '') THEN 2
      ELSE 1
      END
      ELSE 0
      END AS INTEGER
  )
FROM "dispatch_jobs" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1));

-- deliver, with a queue: offer 1: [Limit] -> Keys
UPDATE "dispatch_jobs" AS t SET
  "queued_at" = CASE
    WHEN typeof(COALESCE(t."queued_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."queued_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."queued_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
      THEN strftime(
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
FROM "dispatch_jobs" AS t
WHERE t."status" = 'QUEUED'
  AND t."queued_at" IS NULL
  AND COALESCE(
    CASE
      WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
      OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
      ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END,
      0
  ) <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
    + 0
  AND t."attempt_count" < max(COALESCE(t."max_retries", 3), 1)
  AND (
    t."expires_at" IS NULL
      OR CASE
      WHEN typeof(t."expires_at") IN ('integer', 'real')
      OR t."expires_at" NOT GLOB '*[^0-9]*' THEN CAST(t."expires_at" AS INTEGER)
      ELSE CAST(round((julianday(t."expires_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END > CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
  )
  AND (
    t."scheduled_for" IS NULL
      OR CASE
      WHEN typeof(t."scheduled_for") IN ('integer', 'real')
      OR t."scheduled_for" NOT GLOB '*[^0-9]*' THEN CAST(t."scheduled_for" AS INTEGER)
      ELSE CAST(round((julianday(t."scheduled_for") - 2440587.5) * 86400000.0) AS INTEGER)
      END <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
  )
  AND (t."group_key" IS NULL OR (typeof(t."group_key") = 'blob') OR t."mode" IN ('IMMEDIATE'))
  AND (t."dispatch_pool_id" IS NULL OR t."dispatch_pool_id" = '')
ORDER BY COALESCE(
  CASE
    WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
    OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
    ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END,
    0
)
LIMIT ?1)
RETURNING CAST("id" AS TEXT);

-- deliver, with a queue: offer 2: [Limit] -> Keys
UPDATE "dispatch_jobs" AS t SET
  "queued_at" = CASE
    WHEN typeof(COALESCE(t."queued_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."queued_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."queued_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
      THEN strftime(
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
FROM "dispatch_jobs" AS t
WHERE t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL
  AND t."queued_at" IS NULL
  AND COALESCE(
    CASE
      WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
      OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
      ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END,
      0
  ) <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
    + 0
  AND t."attempt_count" < max(COALESCE(t."max_retries", 3), 1)
  AND (
    t."expires_at" IS NULL
      OR CASE
      WHEN typeof(t."expires_at") IN ('integer', 'real')
      OR t."expires_at" NOT GLOB '*[^0-9]*' THEN CAST(t."expires_at" AS INTEGER)
      ELSE CAST(round((julianday(t."expires_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END > CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
  )
  AND (t."group_key" IS NULL OR (typeof(t."group_key") = 'blob') OR t."mode" IN ('IMMEDIATE'))
  AND (t."dispatch_pool_id" IS NULL OR t."dispatch_pool_id" = '')
ORDER BY COALESCE(
  CASE
    WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
    OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
    ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END,
    0
)
LIMIT ?1)
RETURNING CAST("id" AS TEXT);

-- deliver, with a queue: offer 3: [Limit] -> Keys
UPDATE "dispatch_jobs" AS t SET
  "queued_at" = CASE
    WHEN typeof(COALESCE(t."queued_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."queued_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."queued_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
      THEN strftime(
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
FROM "dispatch_jobs" AS t
WHERE t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL
  AND t."queued_at" IS NOT NULL
  AND CASE
    WHEN typeof(t."queued_at") IN ('integer', 'real')
    OR t."queued_at" NOT GLOB '*[^0-9]*' THEN CAST(t."queued_at" AS INTEGER)
    ELSE CAST(round((julianday(t."queued_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END < CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) - 900000
  AND COALESCE(
    CASE
      WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
      OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
      ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END,
      0
  ) <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
    + 0
  AND t."attempt_count" < max(COALESCE(t."max_retries", 3), 1)
  AND (
    t."expires_at" IS NULL
      OR CASE
      WHEN typeof(t."expires_at") IN ('integer', 'real')
      OR t."expires_at" NOT GLOB '*[^0-9]*' THEN CAST(t."expires_at" AS INTEGER)
      ELSE CAST(round((julianday(t."expires_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END > CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
  )
  AND (t."group_key" IS NULL OR (typeof(t."group_key") = 'blob') OR t."mode" IN ('IMMEDIATE'))
  AND (t."dispatch_pool_id" IS NULL OR t."dispatch_pool_id" = '')
ORDER BY CASE
  WHEN typeof(t."queued_at") IN ('integer', 'real')
  OR t."queued_at" NOT GLOB '*[^0-9]*' THEN CAST(t."queued_at" AS INTEGER)
  ELSE CAST(round((julianday(t."queued_at") - 2440587.5) * 86400000.0) AS INTEGER)
  END
LIMIT ?1)
RETURNING CAST("id" AS TEXT);

-- deliver, with a queue: recall 1: [Ids] -> Keys
UPDATE "dispatch_jobs" AS t SET
  "status" = 'PENDING',
  "lease_until" = NULL,
  "claimed_by" = NULL,
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
FROM "dispatch_jobs" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1))
  AND +t."status" = 'QUEUED'
  AND (t."group_key" IS NULL OR (typeof(t."group_key") = 'blob') OR t."mode" IN ('IMMEDIATE'))
  AND (t."dispatch_pool_id" IS NULL OR t."dispatch_pool_id" = ''))
RETURNING CAST("id" AS TEXT);

-- deliver, with a queue: recall 2: [Ids] -> Keys
UPDATE "dispatch_jobs" AS t SET
  "queued_at" = NULL,
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
FROM "dispatch_jobs" AS t
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?1))
  AND +t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL
  AND (t."group_key" IS NULL OR (typeof(t."group_key") = 'blob') OR t."mode" IN ('IMMEDIATE'))
  AND (t."dispatch_pool_id" IS NULL OR t."dispatch_pool_id" = ''))
RETURNING CAST("id" AS TEXT);

-- deliver, with a queue: settle released, each: [Rows([Id, Fence(0), Fence(1)])] -> Keys
UPDATE "dispatch_jobs" AS t SET
  "status" = CASE WHEN COALESCE(t."attempt_count", 0) = 0 THEN 'QUEUED' ELSE 'ERROR' END,
  "next_attempt_at" = COALESCE(
    t."next_attempt_at",
      CASE
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
        END
  ),
  "lease_until" = NULL,
  "claimed_by" = NULL,
  "queued_at" = NULL,
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
    CAST(value->>'f1' AS TEXT) AS "f1"
  FROM json_each(?1)
) AS v
WHERE t."id" = v."id"
  AND +t."status" = 'IN_PROGRESS'
  AND CAST(t."last_attempt_at" AS TEXT) IS v."f0"
  AND CAST(t."attempt_count" AS TEXT) IS v."f1"
RETURNING CAST("id" AS TEXT);

-- deliver, with a queue: settle retry, each, step 1: [Rows([Id, Fence(0), Fence(1), Outcome("duration_ms"),
--   Delay, Reason])] -> Keys
UPDATE "dispatch_jobs" AS t SET
  "duration_millis" = COALESCE(t."duration_millis", 0) + COALESCE(v."o_duration_ms", 0),
  "status" = 'ERROR',
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
  "lease_until" = NULL,
  "claimed_by" = NULL,
  "attempt_count" = t."attempt_count" + 1,
  "last_error" = v."reason",
  "queued_at" = NULL,
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
    CAST(value->>'f1' AS TEXT) AS "f1",
    value->>'o_duration_ms' AS "o_duration_ms",
    value->>'delay' AS "delay",
    value->>'reason' AS "reason"
  FROM json_each(?1)
) AS v
WHERE t."id" = v."id"
  AND +t."status" = 'IN_PROGRESS'
  AND CAST(t."last_attempt_at" AS TEXT) IS v."f0"
  AND CAST(t."attempt_count" AS TEXT) IS v."f1"
RETURNING CAST("id" AS TEXT);

-- deliver, with a queue: settle retry, each, step 2: [Rows([Tsid, Outcome("duration_ms"), Outcome("result"),
--   Outcome("status"), Outcome("body"), Reason, Outcome("trace"), Outcome("class"), Id]), Held] -> Nothing
INSERT INTO "dispatch_attempts" (
  "id",
    "job_id",
    "attempt_number",
    "attempted_at",
    "completed_at",
    "duration_millis",
    "status",
    "response_code",
    "response_body",
    "error_message",
    "error_stack_trace",
    "error_type",
    "created_at"
)
SELECT
  v."tsid",
  t."id",
  t."attempt_count",
  t."last_attempt_at",
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
    END,
  v."o_duration_ms",
  v."o_result",
  v."o_status",
  v."o_body",
  v."reason",
  v."o_trace",
  v."o_class",
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
FROM "dispatch_jobs" AS t
  JOIN (
    SELECT
      value->>'tsid' AS "tsid",
      value->>'o_duration_ms' AS "o_duration_ms",
      value->>'o_result' AS "o_result",
      value->>'o_status' AS "o_status",
      value->>'o_body' AS "o_body",
      value->>'reason' AS "reason",
      value->>'o_trace' AS "o_trace",
      value->>'o_class' AS "o_class",
      CAST(value->>'id' AS TEXT) AS "id"
    FROM json_each(?1)
  ) AS v
  ON t."id" = v."id"
WHERE t."id" IN (SELECT CAST(value AS TEXT) FROM json_each(?2));
