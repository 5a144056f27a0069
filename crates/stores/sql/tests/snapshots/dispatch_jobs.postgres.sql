-- dispatch_jobs: every statement. Written by the snapshot test; do not edit.

-- create
CREATE TABLE IF NOT EXISTS "dispatch_jobs" (
    id varchar(13) NOT NULL PRIMARY KEY,
    external_id varchar(255),
    "source" varchar(255),
    kind varchar(16) NOT NULL DEFAULT 'TASK',
    "code" varchar(255) NOT NULL,
    subject varchar(255),
    event_id varchar(64),
    correlation_id varchar(255),
    traceparent varchar(255),
    target_url varchar(2000) NOT NULL,
    protocol varchar(32) NOT NULL DEFAULT 'HTTP_WEBHOOK',
    headers text,
    payload text,
    payload_content_type varchar(255) NOT NULL DEFAULT 'application/json',
    data_only boolean NOT NULL DEFAULT true,
    service_account_id varchar(13),
    client_id varchar(64),
    subscription_id varchar(13),
    "mode" varchar(32) NOT NULL DEFAULT 'IMMEDIATE',
    dispatch_pool_id varchar(64),
    message_group varchar(255),
    "sequence" integer NOT NULL DEFAULT 99,
    timeout_seconds integer NOT NULL DEFAULT 30,
    schema_id varchar(255),
    "status" varchar(16) NOT NULL DEFAULT 'QUEUED',
    max_retries integer,
    retry_budget integer,
    retry_strategy varchar(255),
    scheduled_for timestamptz,
    expires_at timestamptz,
    next_attempt_at timestamptz,
    queued_at timestamptz,
    attempt_count integer NOT NULL DEFAULT 0,
    last_attempt_at timestamptz,
    completed_at timestamptz,
    duration_millis bigint,
    last_error text,
    idempotency_key varchar(255),
    request_hash varchar(64),
    created_by varchar(13),
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    claimed_by varchar(64),
    lease_until timestamptz,
    group_key text
      GENERATED ALWAYS AS (
        CASE WHEN message_group IS NOT NULL THEN coalesce(client_id, '') || ':' || message_group END
      ) STORED
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.05);

-- create
CREATE UNIQUE INDEX IF NOT EXISTS dispatch_jobs_idempotency
  ON "dispatch_jobs" (coalesce(client_id, ''), idempotency_key)
  WHERE idempotency_key IS NOT NULL;

-- create
CREATE TABLE IF NOT EXISTS dispatch_attempts (
    id varchar(13) NOT NULL PRIMARY KEY,
    job_id varchar(13) NOT NULL,
    attempt_number integer NOT NULL,
    attempted_at timestamptz,
    completed_at timestamptz,
    duration_millis bigint,
    "status" varchar(32),
    response_code integer,
    response_body text,
    error_message text,
    error_stack_trace text,
    error_type varchar(16),
    created_at timestamptz NOT NULL DEFAULT now(),
    FOREIGN KEY (job_id) REFERENCES "dispatch_jobs" (id) ON DELETE CASCADE
);

-- create
CREATE INDEX IF NOT EXISTS dispatch_attempts_job ON dispatch_attempts (job_id, attempt_number);

-- create
CREATE TABLE IF NOT EXISTS dispatch_job_metadata (
    id varchar(13) NOT NULL PRIMARY KEY,
    job_id varchar(13) NOT NULL,
    "key" varchar(128) NOT NULL,
    "value" varchar(255) NOT NULL,
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
        AND "mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE("dispatch_pool_id", '') || '	'
        ELSE 'f' || COALESCE("dispatch_pool_id", '') || '	' || COALESCE("client_id", '')
        END
    ),
      (
        CASE
          WHEN "group_key" IS NOT NULL
          AND "mode" NOT IN ('IMMEDIATE') THEN COALESCE("next_attempt_at", "created_at")
          ELSE '-infinity'
          END
      ),
      (COALESCE("next_attempt_at", '-infinity')),
      "id"
  )
  WHERE (("status" = 'QUEUED') OR ("status" = 'ERROR' AND "next_attempt_at" IS NOT NULL));

-- create
CREATE INDEX IF NOT EXISTS "dispatch_jobs_deliver_order_mode"
  ON "dispatch_jobs" ("group_key", "sequence", "created_at", "id")
  WHERE (
    (
      ("status" = 'QUEUED')
        OR ("status" = 'ERROR' AND "next_attempt_at" IS NOT NULL)
        OR ("status" = 'IN_PROGRESS')
    )
      OR (("status" = 'ERROR' AND "next_attempt_at" IS NULL) AND "mode" NOT IN ('IMMEDIATE', 'NEXT_ON_ERROR'))
  )
  AND "group_key" IS NOT NULL
  AND "mode" NOT IN ('IMMEDIATE');

-- create
CREATE INDEX IF NOT EXISTS "dispatch_jobs_sweep_on_scheduled_for"
  ON "dispatch_jobs" ("status", (COALESCE("scheduled_for", '-infinity')))
  WHERE (("status" = 'PENDING') OR ("status" = 'QUEUED' AND "scheduled_for" IS NOT NULL));

-- create
CREATE INDEX IF NOT EXISTS "dispatch_jobs_sweep_expires_at"
  ON "dispatch_jobs" ("expires_at")
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
        AND "attempt_count" >= GREATEST(COALESCE("max_retries", 3), 1) THEN 'no attempts left'
        WHEN "status" = 'ERROR'
        AND "next_attempt_at" IS NOT NULL THEN 'RETRYING'
        END
    ),
      (CASE WHEN "status" = 'IN_PROGRESS' THEN NULL ELSE "id" END),
      "group_key",
      "dispatch_pool_id",
      "lease_until"
  )
  WHERE CASE
  WHEN "status" = 'IN_PROGRESS' THEN 'IN_PROGRESS'
  WHEN "status" = 'ERROR'
  AND "next_attempt_at" IS NULL THEN 'DEAD'
  WHEN "status" = 'PENDING' THEN 'PENDING'
  WHEN "status" = 'CANCELLED' THEN 'CANCELLED'
  WHEN (("status" = 'QUEUED') OR ("status" = 'ERROR' AND "next_attempt_at" IS NOT NULL))
  AND "attempt_count" >= GREATEST(COALESCE("max_retries", 3), 1) THEN 'no attempts left'
  WHEN "status" = 'ERROR'
  AND "next_attempt_at" IS NOT NULL THEN 'RETRYING'
  END IS NOT NULL;

-- create, notify
CREATE OR REPLACE FUNCTION "postrider_dispatch_jobs"() RETURNS trigger LANGUAGE plpgsql AS $postrider$
BEGIN
  PERFORM pg_notify('postrider_dispatch_jobs', '');
  RETURN NULL;
END
$postrider$;

-- create, notify
DO $postrider$
BEGIN
  IF NOT EXISTS (
    SELECT 1
      FROM pg_trigger
      WHERE tgname = 'postrider_dispatch_jobs'
      AND tgrelid = '"dispatch_jobs"'::regclass
  ) THEN
    CREATE TRIGGER "postrider_dispatch_jobs"
      AFTER INSERT
      ON "dispatch_jobs"
      FOR EACH STATEMENT
      EXECUTE FUNCTION "postrider_dispatch_jobs"();
  END IF;
END
$postrider$;

-- deliver: layout Layout { integer_id: false, fences: 2, claim_time: None, pool: 8, fields: ["account",
--   "client", "code", "content_type", "correlation", "data_only", "dedupe", "event", "headers", "payload",
--   "source", "subject", "subscription", "time", "timeout", "traceparent", "url"], joined: [] }

-- deliver: claim 1: [Limit, Owner] -> Rows
WITH pick AS MATERIALIZED (
SELECT t."id" AS k
FROM "dispatch_jobs" AS t
WHERE ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
  AND COALESCE(t."next_attempt_at", '-infinity') <= now()
  AND t."attempt_count" < GREATEST(COALESCE(t."max_retries", 3), 1)
  AND (t."expires_at" IS NULL OR t."expires_at" > now())
  AND (t."scheduled_for" IS NULL OR t."scheduled_for" <= now())
  AND (t."group_key" IS NULL OR t."mode" IN ('IMMEDIATE'))
  AND CASE
    WHEN t."group_key" IS NOT NULL
    AND t."mode" NOT IN ('IMMEDIATE') THEN COALESCE(t."next_attempt_at", t."created_at")
    ELSE '-infinity'
    END = '-infinity'
ORDER BY COALESCE(t."next_attempt_at", '-infinity'), t."id"
LIMIT $1
FOR UPDATE SKIP LOCKED),
moved AS (
UPDATE "dispatch_jobs" AS t SET
  "status" = 'IN_PROGRESS',
  "last_attempt_at" = CASE
    WHEN t."last_attempt_at"
      BETWEEN now() - interval '1 microseconds'
      AND now() + interval '60 seconds'
      THEN t."last_attempt_at" + interval '1 microseconds'
    ELSE now()
    END,
  "lease_until" = CASE
    WHEN t."lease_until"
      BETWEEN now() + interval '60 seconds' - interval '1 microseconds'
      AND now() + interval '60 seconds' + interval '60 seconds'
      THEN t."lease_until" + interval '1 microseconds'
    ELSE now() + interval '60 seconds'
    END,
  "claimed_by" = LEFT($2::text, 64),
  "updated_at" = now()
WHERE t."id" = ANY (ARRAY(SELECT k FROM pick))
RETURNING
  t."attempt_count",
  t."client_id",
  t."code",
  t."correlation_id",
  t."created_at",
  t."data_only",
  t."dispatch_pool_id",
  t."event_id",
  t."group_key",
  t."headers",
  t."id",
  t."last_attempt_at",
  t."max_retries",
  t."mode",
  t."next_attempt_at",
  t."payload",
  t."payload_content_type",
  t."retry_strategy",
  t."service_account_id",
  t."source",
  t."subject",
  t."subscription_id",
  t."target_url",
  t."timeout_seconds",
  t."traceparent")
SELECT
  (t."id")::text,
  (t."last_attempt_at")::text,
  (t."attempt_count")::text,
  (t."attempt_count")::bigint,
  (t."max_retries")::bigint,
  (t."retry_strategy")::text,
  CASE WHEN t."group_key" IS NOT NULL AND t."mode" NOT IN ('IMMEDIATE') THEN (t."group_key")::text END,
  CASE WHEN t."mode" IN ('NEXT_ON_ERROR') THEN 'next' ELSE 'block' END,
  (t."dispatch_pool_id")::text,
  (t."client_id")::text,
  (
    COALESCE(
      CASE
        WHEN isfinite(t."next_attempt_at")
          THEN floor(extract(epoch FROM now() - t."next_attempt_at") * 1000000)::bigint
        END,
        CASE
          WHEN isfinite(t."created_at")
            THEN floor(extract(epoch FROM now() - t."created_at") * 1000000)::bigint
          END
    )
  )::bigint,
  (
    COALESCE(octet_length(t."service_account_id"), 0)
      + COALESCE(octet_length(t."client_id"), 0)
      + COALESCE(octet_length(t."code"), 0)
      + COALESCE(octet_length(t."payload_content_type"), 0)
      + COALESCE(octet_length(t."correlation_id"), 0)
      + COALESCE(octet_length(t."id"), 0)
      + COALESCE(octet_length(t."event_id"), 0)
      + COALESCE(octet_length(t."headers"), 0)
      + COALESCE(octet_length(t."payload"), 0)
      + COALESCE(octet_length(t."source"), 0)
      + COALESCE(octet_length(t."subject"), 0)
      + COALESCE(octet_length(t."subscription_id"), 0)
      + COALESCE(octet_length(t."traceparent"), 0)
      + COALESCE(octet_length(t."target_url"), 0)
  )::bigint,
  CASE WHEN octet_length(t."service_account_id") <= 65536 THEN (t."service_account_id")::text END,
  CASE WHEN octet_length(t."client_id") <= 65536 THEN (t."client_id")::text END,
  CASE WHEN octet_length(t."code") <= 65536 THEN (t."code")::text END,
  CASE WHEN octet_length(t."payload_content_type") <= 65536 THEN (t."payload_content_type")::text END,
  CASE WHEN octet_length(t."correlation_id") <= 65536 THEN (t."correlation_id")::text END,
  CASE WHEN t."data_only" THEN 'true' WHEN NOT t."data_only" THEN 'false' END,
  CASE WHEN octet_length(t."id") <= 65536 THEN (t."id")::text END,
  CASE WHEN octet_length(t."event_id") <= 65536 THEN (t."event_id")::text END,
  CASE WHEN octet_length(t."headers") <= 65536 THEN (t."headers")::text END,
  CASE WHEN octet_length(t."payload") <= 65536 THEN (t."payload")::text END,
  CASE WHEN octet_length(t."source") <= 65536 THEN (t."source")::text END,
  CASE WHEN octet_length(t."subject") <= 65536 THEN (t."subject")::text END,
  CASE WHEN octet_length(t."subscription_id") <= 65536 THEN (t."subscription_id")::text END,
  (t."created_at")::text,
  (t."timeout_seconds")::text,
  CASE WHEN octet_length(t."traceparent") <= 65536 THEN (t."traceparent")::text END,
  CASE WHEN octet_length(t."target_url") <= 65536 THEN (t."target_url")::text END
FROM moved AS t
WHERE (SELECT set_config('synchronous_commit', 'off', true)) IS NOT NULL
ORDER BY COALESCE(t."next_attempt_at", '-infinity'), t."id";

-- deliver: shares: [Jumps] -> Other
WITH RECURSIVE ring AS (
(
  SELECT (
    CASE
      WHEN t."group_key" IS NOT NULL
      AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
      ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
      END
  ) AS s
    FROM "dispatch_jobs" AS t
    WHERE ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
    ORDER BY (
      CASE
        WHEN t."group_key" IS NOT NULL
        AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
        ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
        END
    )
    LIMIT 1
)
UNION ALL
SELECT n.s FROM ring AS r CROSS JOIN LATERAL (
SELECT (
  CASE
    WHEN t."group_key" IS NOT NULL
    AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
    ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
    END
) AS s
  FROM "dispatch_jobs" AS t
  WHERE ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
  AND (
    CASE
      WHEN t."group_key" IS NOT NULL
      AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
      ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
      END
  )
    > r.s
  ORDER BY (
    CASE
      WHEN t."group_key" IS NOT NULL
      AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
      ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
      END
  )
  LIMIT 1) AS n)
SELECT s FROM ring LIMIT $1;

-- deliver: shares from a cursor: [Cursor, Jumps] -> Other
WITH RECURSIVE ring AS (
(
  SELECT (
    CASE
      WHEN t."group_key" IS NOT NULL
      AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
      ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
      END
  ) AS s
    FROM "dispatch_jobs" AS t
    WHERE ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
    AND (
      CASE
        WHEN t."group_key" IS NOT NULL
        AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
        ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
        END
    )
      > $1::text
    ORDER BY (
      CASE
        WHEN t."group_key" IS NOT NULL
        AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
        ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
        END
    )
    LIMIT 1
)
UNION ALL
SELECT n.s FROM ring AS r CROSS JOIN LATERAL (
SELECT (
  CASE
    WHEN t."group_key" IS NOT NULL
    AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
    ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
    END
) AS s
  FROM "dispatch_jobs" AS t
  WHERE ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
  AND (
    CASE
      WHEN t."group_key" IS NOT NULL
      AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
      ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
      END
  )
    > r.s
  ORDER BY (
    CASE
      WHEN t."group_key" IS NOT NULL
      AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
      ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
      END
  )
  LIMIT 1) AS n)
SELECT s FROM ring LIMIT $2;

-- deliver: claim shares: [Shares, Quota, Owner] -> Rows
WITH pick AS MATERIALIZED (
SELECT
  y.k,
  y.o0,
  y.o1
FROM (
SELECT
  r.*,
  w.n AS most,
  row_number() OVER (PARTITION BY w.s ORDER BY r.o0, r.o1) AS nth
FROM jsonb_to_recordset($1::jsonb) AS w(s text, n bigint) CROSS JOIN LATERAL (
SELECT
  t."id" AS k,
  COALESCE(t."next_attempt_at", '-infinity') AS o0,
  t."id" AS o1
FROM "dispatch_jobs" AS t
WHERE (
  CASE
    WHEN t."group_key" IS NOT NULL
    AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
    ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
    END
) = w.s
  AND ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
  AND COALESCE(t."next_attempt_at", '-infinity') <= now()
  AND t."attempt_count" < GREATEST(COALESCE(t."max_retries", 3), 1)
  AND (t."expires_at" IS NULL OR t."expires_at" > now())
  AND (t."scheduled_for" IS NULL OR t."scheduled_for" <= now())
  AND (t."group_key" IS NULL OR t."mode" IN ('IMMEDIATE'))
  AND CASE
    WHEN t."group_key" IS NOT NULL
    AND t."mode" NOT IN ('IMMEDIATE') THEN COALESCE(t."next_attempt_at", t."created_at")
    ELSE '-infinity'
    END = '-infinity'
ORDER BY COALESCE(t."next_attempt_at", '-infinity'), t."id"
LIMIT $2
FOR UPDATE SKIP LOCKED) AS r) AS y
WHERE y.nth <= y.most),
moved AS (
UPDATE "dispatch_jobs" AS t SET
  "status" = 'IN_PROGRESS',
  "last_attempt_at" = CASE
    WHEN t."last_attempt_at"
      BETWEEN now() - interval '1 microseconds'
      AND now() + interval '60 seconds'
      THEN t."last_attempt_at" + interval '1 microseconds'
    ELSE now()
    END,
  "lease_until" = CASE
    WHEN t."lease_until"
      BETWEEN now() + interval '60 seconds' - interval '1 microseconds'
      AND now() + interval '60 seconds' + interval '60 seconds'
      THEN t."lease_until" + interval '1 microseconds'
    ELSE now() + interval '60 seconds'
    END,
  "claimed_by" = LEFT($3::text, 64),
  "updated_at" = now()
WHERE t."id" = ANY (ARRAY(SELECT k FROM pick))
RETURNING
  t."attempt_count",
  t."client_id",
  t."code",
  t."correlation_id",
  t."created_at",
  t."data_only",
  t."dispatch_pool_id",
  t."event_id",
  t."group_key",
  t."headers",
  t."id",
  t."last_attempt_at",
  t."max_retries",
  t."mode",
  t."next_attempt_at",
  t."payload",
  t."payload_content_type",
  t."retry_strategy",
  t."service_account_id",
  t."source",
  t."subject",
  t."subscription_id",
  t."target_url",
  t."timeout_seconds",
  t."traceparent")
SELECT
  (t."id")::text,
  (t."last_attempt_at")::text,
  (t."attempt_count")::text,
  (t."attempt_count")::bigint,
  (t."max_retries")::bigint,
  (t."retry_strategy")::text,
  CASE WHEN t."group_key" IS NOT NULL AND t."mode" NOT IN ('IMMEDIATE') THEN (t."group_key")::text END,
  CASE WHEN t."mode" IN ('NEXT_ON_ERROR') THEN 'next' ELSE 'block' END,
  (t."dispatch_pool_id")::text,
  (t."client_id")::text,
  (
    COALESCE(
      CASE
        WHEN isfinite(t."next_attempt_at")
          THEN floor(extract(epoch FROM now() - t."next_attempt_at") * 1000000)::bigint
        END,
        CASE
          WHEN isfinite(t."created_at")
            THEN floor(extract(epoch FROM now() - t."created_at") * 1000000)::bigint
          END
    )
  )::bigint,
  (
    COALESCE(octet_length(t."service_account_id"), 0)
      + COALESCE(octet_length(t."client_id"), 0)
      + COALESCE(octet_length(t."code"), 0)
      + COALESCE(octet_length(t."payload_content_type"), 0)
      + COALESCE(octet_length(t."correlation_id"), 0)
      + COALESCE(octet_length(t."id"), 0)
      + COALESCE(octet_length(t."event_id"), 0)
      + COALESCE(octet_length(t."headers"), 0)
      + COALESCE(octet_length(t."payload"), 0)
      + COALESCE(octet_length(t."source"), 0)
      + COALESCE(octet_length(t."subject"), 0)
      + COALESCE(octet_length(t."subscription_id"), 0)
      + COALESCE(octet_length(t."traceparent"), 0)
      + COALESCE(octet_length(t."target_url"), 0)
  )::bigint,
  CASE WHEN octet_length(t."service_account_id") <= 65536 THEN (t."service_account_id")::text END,
  CASE WHEN octet_length(t."client_id") <= 65536 THEN (t."client_id")::text END,
  CASE WHEN octet_length(t."code") <= 65536 THEN (t."code")::text END,
  CASE WHEN octet_length(t."payload_content_type") <= 65536 THEN (t."payload_content_type")::text END,
  CASE WHEN octet_length(t."correlation_id") <= 65536 THEN (t."correlation_id")::text END,
  CASE WHEN t."data_only" THEN 'true' WHEN NOT t."data_only" THEN 'false' END,
  CASE WHEN octet_length(t."id") <= 65536 THEN (t."id")::text END,
  CASE WHEN octet_length(t."event_id") <= 65536 THEN (t."event_id")::text END,
  CASE WHEN octet_length(t."headers") <= 65536 THEN (t."headers")::text END,
  CASE WHEN octet_length(t."payload") <= 65536 THEN (t."payload")::text END,
  CASE WHEN octet_length(t."source") <= 65536 THEN (t."source")::text END,
  CASE WHEN octet_length(t."subject") <= 65536 THEN (t."subject")::text END,
  CASE WHEN octet_length(t."subscription_id") <= 65536 THEN (t."subscription_id")::text END,
  (t."created_at")::text,
  (t."timeout_seconds")::text,
  CASE WHEN octet_length(t."traceparent") <= 65536 THEN (t."traceparent")::text END,
  CASE WHEN octet_length(t."target_url") <= 65536 THEN (t."target_url")::text END
FROM moved AS t JOIN pick AS p ON p.k = t."id"
WHERE (SELECT set_config('synchronous_commit', 'off', true)) IS NOT NULL
ORDER BY p.o0, p.o1;

-- deliver: pools: [Pools] -> Other
SELECT
  (p."id")::text,
  CASE WHEN p."concurrency" IS NOT NULL OR p."rate_per_minute" IS NOT NULL OR p."paused" THEN 1 ELSE 0 END,
  (
    CASE
      WHEN p."paused" THEN 0
      ELSE LEAST(
        1000000,
          CASE
            WHEN p."concurrency" IS NULL THEN 1000000
            ELSE GREATEST(
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
                        AND t."attempt_count" >= GREATEST(COALESCE(t."max_retries", 3), 1)
                          THEN 'no attempts left'
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
                          AND t."attempt_count" >= GREATEST(COALESCE(t."max_retries", 3), 1)
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
            ELSE GREATEST(
              0,
                CEIL(p."rate_per_minute" / 60.0)
                  - CEIL(
                    (
                      GREATEST(
                        CASE
                          WHEN b.free_at
                            > extract(epoch FROM statement_timestamp())::float8
                              + (CEIL(p."rate_per_minute" / 60.0) + 1)
                                * (
                                  60.0
                                    / NULLIF(
                                      CASE
                                        WHEN p."rate_per_minute"
                                          > 60
                                          THEN p."rate_per_minute" - CEIL(p."rate_per_minute" / 60.0)
                                        ELSE p."rate_per_minute"
                                        END,
                                        0
                                    )
                                )::float8
                            THEN 0
                          ELSE COALESCE(b.free_at, 0)
                          END,
                          extract(epoch FROM statement_timestamp())::float8
                      )
                        - extract(epoch FROM statement_timestamp())::float8
                    )
                      / (
                        60.0
                          / NULLIF(
                            CASE
                              WHEN p."rate_per_minute"
                                > 60
                                THEN p."rate_per_minute" - CEIL(p."rate_per_minute" / 60.0)
                              ELSE p."rate_per_minute"
                              END,
                              0
                          )
                      )::float8
                  )
            )
            END
      )
      END
  )::bigint,
  (
    CASE
      WHEN p."rate_per_minute"
        > 0
        THEN GREATEST(
          0,
            (
              CASE
                WHEN b.free_at
                  > extract(epoch FROM statement_timestamp())::float8
                    + (CEIL(p."rate_per_minute" / 60.0) + 1)
                      * (
                        60.0
                          / NULLIF(
                            CASE
                              WHEN p."rate_per_minute"
                                > 60
                                THEN p."rate_per_minute" - CEIL(p."rate_per_minute" / 60.0)
                              ELSE p."rate_per_minute"
                              END,
                              0
                          )
                      )::float8
                  THEN 0
                ELSE COALESCE(b.free_at, 0)
                END
                  - extract(epoch FROM statement_timestamp())::float8
                  - (CEIL(p."rate_per_minute" / 60.0) - 1)
                    * (
                      60.0
                        / NULLIF(
                          CASE
                            WHEN p."rate_per_minute"
                              > 60
                              THEN p."rate_per_minute" - CEIL(p."rate_per_minute" / 60.0)
                            ELSE p."rate_per_minute"
                            END,
                            0
                        )
                    )::float8
            )
              * 1000000
        )
      ELSE 0
      END
  )::bigint
FROM "dispatch_pools" AS p LEFT JOIN postrider_pools AS b ON b.pool = p."id"
WHERE p."id" = ANY ($1::text[]);

-- deliver: enroll pools: [Pools] -> Nothing
INSERT INTO postrider_pools (pool, free_at) SELECT p."id",
  0 FROM "dispatch_pools" AS p WHERE p."id" = ANY ($1::text[]) ON CONFLICT DO NOTHING;

-- deliver: claim shares of limited pools, step 1: [Pools] -> Keys
SELECT b.pool FROM postrider_pools AS b WHERE b.pool = ANY ($1::text[]) ORDER BY b.pool
FOR UPDATE SKIP LOCKED;

-- deliver: claim shares of limited pools, step 2: [Held] -> Permits
SELECT
  (p."id")::text,
  (
    CASE
      WHEN p."paused" THEN 0
      ELSE LEAST(
        1000000,
          CASE
            WHEN p."concurrency" IS NULL THEN 1000000
            ELSE GREATEST(
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
                        AND t."attempt_count" >= GREATEST(COALESCE(t."max_retries", 3), 1)
                          THEN 'no attempts left'
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
                          AND t."attempt_count" >= GREATEST(COALESCE(t."max_retries", 3), 1)
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
            ELSE GREATEST(
              0,
                CEIL(p."rate_per_minute" / 60.0)
                  - CEIL(
                    (
                      GREATEST(
                        CASE
                          WHEN b.free_at
                            > extract(epoch FROM statement_timestamp())::float8
                              + (CEIL(p."rate_per_minute" / 60.0) + 1)
                                * (
                                  60.0
                                    / NULLIF(
                                      CASE
                                        WHEN p."rate_per_minute"
                                          > 60
                                          THEN p."rate_per_minute" - CEIL(p."rate_per_minute" / 60.0)
                                        ELSE p."rate_per_minute"
                                        END,
                                        0
                                    )
                                )::float8
                            THEN 0
                          ELSE COALESCE(b.free_at, 0)
                          END,
                          extract(epoch FROM statement_timestamp())::float8
                      )
                        - extract(epoch FROM statement_timestamp())::float8
                    )
                      / (
                        60.0
                          / NULLIF(
                            CASE
                              WHEN p."rate_per_minute"
                                > 60
                                THEN p."rate_per_minute" - CEIL(p."rate_per_minute" / 60.0)
                              ELSE p."rate_per_minute"
                              END,
                              0
                          )
                      )::float8
                  )
            )
            END
      )
      END
  )::bigint
FROM postrider_pools AS b JOIN "dispatch_pools" AS p ON p."id" = b.pool
WHERE b.pool = ANY ($1::text[]);

-- deliver: claim shares of limited pools, step 3: [Shares, Quota, Owner] -> Rows
WITH pick AS MATERIALIZED (
SELECT
  y.k,
  y.o0,
  y.o1
FROM (
SELECT
  r.*,
  w.n AS most,
  row_number() OVER (PARTITION BY w.s ORDER BY r.o0, r.o1) AS nth
FROM jsonb_to_recordset($1::jsonb) AS w(s text, n bigint) CROSS JOIN LATERAL (
SELECT
  t."id" AS k,
  COALESCE(t."next_attempt_at", '-infinity') AS o0,
  t."id" AS o1
FROM "dispatch_jobs" AS t
WHERE (
  CASE
    WHEN t."group_key" IS NOT NULL
    AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
    ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
    END
) = w.s
  AND ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
  AND COALESCE(t."next_attempt_at", '-infinity') <= now()
  AND t."attempt_count" < GREATEST(COALESCE(t."max_retries", 3), 1)
  AND (t."expires_at" IS NULL OR t."expires_at" > now())
  AND (t."scheduled_for" IS NULL OR t."scheduled_for" <= now())
  AND (t."group_key" IS NULL OR t."mode" IN ('IMMEDIATE'))
  AND CASE
    WHEN t."group_key" IS NOT NULL
    AND t."mode" NOT IN ('IMMEDIATE') THEN COALESCE(t."next_attempt_at", t."created_at")
    ELSE '-infinity'
    END = '-infinity'
ORDER BY COALESCE(t."next_attempt_at", '-infinity'), t."id"
LIMIT $2
FOR UPDATE SKIP LOCKED) AS r) AS y
WHERE y.nth <= y.most),
moved AS (
UPDATE "dispatch_jobs" AS t SET
  "status" = 'IN_PROGRESS',
  "last_attempt_at" = CASE
    WHEN t."last_attempt_at"
      BETWEEN now() - interval '1 microseconds'
      AND now() + interval '60 seconds'
      THEN t."last_attempt_at" + interval '1 microseconds'
    ELSE now()
    END,
  "lease_until" = CASE
    WHEN t."lease_until"
      BETWEEN now() + interval '60 seconds' - interval '1 microseconds'
      AND now() + interval '60 seconds' + interval '60 seconds'
      THEN t."lease_until" + interval '1 microseconds'
    ELSE now() + interval '60 seconds'
    END,
  "claimed_by" = LEFT($3::text, 64),
  "updated_at" = now()
WHERE t."id" = ANY (ARRAY(SELECT k FROM pick))
RETURNING
  t."attempt_count",
  t."client_id",
  t."code",
  t."correlation_id",
  t."created_at",
  t."data_only",
  t."dispatch_pool_id",
  t."event_id",
  t."group_key",
  t."headers",
  t."id",
  t."last_attempt_at",
  t."max_retries",
  t."mode",
  t."next_attempt_at",
  t."payload",
  t."payload_content_type",
  t."retry_strategy",
  t."service_account_id",
  t."source",
  t."subject",
  t."subscription_id",
  t."target_url",
  t."timeout_seconds",
  t."traceparent")
SELECT
  (t."id")::text,
  (t."last_attempt_at")::text,
  (t."attempt_count")::text,
  (t."attempt_count")::bigint,
  (t."max_retries")::bigint,
  (t."retry_strategy")::text,
  CASE WHEN t."group_key" IS NOT NULL AND t."mode" NOT IN ('IMMEDIATE') THEN (t."group_key")::text END,
  CASE WHEN t."mode" IN ('NEXT_ON_ERROR') THEN 'next' ELSE 'block' END,
  (t."dispatch_pool_id")::text,
  (t."client_id")::text,
  (
    COALESCE(
      CASE
        WHEN isfinite(t."next_attempt_at")
          THEN floor(extract(epoch FROM now() - t."next_attempt_at") * 1000000)::bigint
        END,
        CASE
          WHEN isfinite(t."created_at")
            THEN floor(extract(epoch FROM now() - t."created_at") * 1000000)::bigint
          END
    )
  )::bigint,
  (
    COALESCE(octet_length(t."service_account_id"), 0)
      + COALESCE(octet_length(t."client_id"), 0)
      + COALESCE(octet_length(t."code"), 0)
      + COALESCE(octet_length(t."payload_content_type"), 0)
      + COALESCE(octet_length(t."correlation_id"), 0)
      + COALESCE(octet_length(t."id"), 0)
      + COALESCE(octet_length(t."event_id"), 0)
      + COALESCE(octet_length(t."headers"), 0)
      + COALESCE(octet_length(t."payload"), 0)
      + COALESCE(octet_length(t."source"), 0)
      + COALESCE(octet_length(t."subject"), 0)
      + COALESCE(octet_length(t."subscription_id"), 0)
      + COALESCE(octet_length(t."traceparent"), 0)
      + COALESCE(octet_length(t."target_url"), 0)
  )::bigint,
  CASE WHEN octet_length(t."service_account_id") <= 65536 THEN (t."service_account_id")::text END,
  CASE WHEN octet_length(t."client_id") <= 65536 THEN (t."client_id")::text END,
  CASE WHEN octet_length(t."code") <= 65536 THEN (t."code")::text END,
  CASE WHEN octet_length(t."payload_content_type") <= 65536 THEN (t."payload_content_type")::text END,
  CASE WHEN octet_length(t."correlation_id") <= 65536 THEN (t."correlation_id")::text END,
  CASE WHEN t."data_only" THEN 'true' WHEN NOT t."data_only" THEN 'false' END,
  CASE WHEN octet_length(t."id") <= 65536 THEN (t."id")::text END,
  CASE WHEN octet_length(t."event_id") <= 65536 THEN (t."event_id")::text END,
  CASE WHEN octet_length(t."headers") <= 65536 THEN (t."headers")::text END,
  CASE WHEN octet_length(t."payload") <= 65536 THEN (t."payload")::text END,
  CASE WHEN octet_length(t."source") <= 65536 THEN (t."source")::text END,
  CASE WHEN octet_length(t."subject") <= 65536 THEN (t."subject")::text END,
  CASE WHEN octet_length(t."subscription_id") <= 65536 THEN (t."subscription_id")::text END,
  (t."created_at")::text,
  (t."timeout_seconds")::text,
  CASE WHEN octet_length(t."traceparent") <= 65536 THEN (t."traceparent")::text END,
  CASE WHEN octet_length(t."target_url") <= 65536 THEN (t."target_url")::text END
FROM moved AS t JOIN pick AS p ON p.k = t."id"
WHERE (SELECT set_config('synchronous_commit', 'off', true)) IS NOT NULL
ORDER BY p.o0, p.o1;

-- deliver: claim shares of limited pools, step 4: [Held] -> Nothing
UPDATE postrider_pools AS b SET free_at = GREATEST(
  CASE
    WHEN b.free_at
      > extract(epoch FROM statement_timestamp())::float8
        + (CEIL(p."rate_per_minute" / 60.0) + 1)
          * (
            60.0
              / NULLIF(
                CASE
                  WHEN p."rate_per_minute" > 60 THEN p."rate_per_minute" - CEIL(p."rate_per_minute" / 60.0)
                  ELSE p."rate_per_minute"
                  END,
                  0
              )
          )::float8
      THEN 0
    ELSE COALESCE(b.free_at, 0)
    END,
    extract(epoch FROM statement_timestamp())::float8
)
  + x.n
    * (
      60.0
        / NULLIF(
          CASE
            WHEN p."rate_per_minute" > 60 THEN p."rate_per_minute" - CEIL(p."rate_per_minute" / 60.0)
            ELSE p."rate_per_minute"
            END,
            0
        )
    )::float8
FROM (
  SELECT
    t."dispatch_pool_id" AS pool,
    count(*) AS n
  FROM "dispatch_jobs" AS t
    WHERE t."id" = ANY (($1::text[])::varchar[])
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
        / NULLIF(
          CASE
            WHEN p."rate_per_minute" > 60 THEN p."rate_per_minute" - CEIL(p."rate_per_minute" / 60.0)
            ELSE p."rate_per_minute"
            END,
            0
        )
    )::float8
FROM (
  SELECT
    t."dispatch_pool_id" AS pool,
    count(*) AS n
  FROM "dispatch_jobs" AS t
    WHERE t."id" = ANY (($1::text[])::varchar[])
    AND t."dispatch_pool_id" IS NOT NULL
    GROUP BY t."dispatch_pool_id"
) AS x
  JOIN "dispatch_pools" AS p
  ON p."id" = x.pool
  AND p."rate_per_minute" > 0
WHERE b.pool = x.pool;

-- deliver: claim groups from the start 1, step 1: [Open, Fresh, GroupsWanted, Jumps] -> Groups
SELECT
  (c.g)::text,
  c.kind
FROM (
  WITH RECURSIVE ring AS (
    (
      SELECT
        t."group_key" AS g,
        CASE
          WHEN (
            (
              t."mode" IN ('NEXT_ON_ERROR')
                AND ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
                AND t."attempt_count" > 0
                AND (
                  COALESCE(t."next_attempt_at", '-infinity') <= now()
                    AND t."attempt_count" < GREATEST(COALESCE(t."max_retries", 3), 1)
                ) IS NOT TRUE
            )
              OR (
                t."mode" NOT IN ('IMMEDIATE', 'NEXT_ON_ERROR')
                  AND t."status" = 'ERROR'
                  AND t."next_attempt_at" IS NULL
                  AND t."expires_at" <= now()
              )
          ) IS NOT TRUE
            THEN (
              (
                (
                  ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
                    AND COALESCE(t."next_attempt_at", '-infinity') <= now()
                    AND t."attempt_count" < GREATEST(COALESCE(t."max_retries", 3), 1)
                    AND (t."expires_at" IS NULL OR t."expires_at" > now())
                    AND (t."scheduled_for" IS NULL OR t."scheduled_for" <= now())
                ) IS TRUE
              )
                AND (t."dispatch_pool_id" IS NULL OR jsonb_exists($1::jsonb, (t."dispatch_pool_id")::text))
            )
          END AS ok
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
      AND t."mode" NOT IN ('IMMEDIATE')
    ORDER BY t."group_key", t."sequence", t."created_at", t."id" LIMIT 1)
    UNION ALL
    SELECT
      n.g,
      n.ok
    FROM ring AS r CROSS JOIN LATERAL (
    SELECT
      t."group_key" AS g,
      CASE
        WHEN (
          (
            t."mode" IN ('NEXT_ON_ERROR')
              AND ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
              AND t."attempt_count" > 0
              AND (
                COALESCE(t."next_attempt_at", '-infinity') <= now()
                  AND t."attempt_count" < GREATEST(COALESCE(t."max_retries", 3), 1)
              ) IS NOT TRUE
          )
            OR (
              t."mode" NOT IN ('IMMEDIATE', 'NEXT_ON_ERROR')
                AND t."status" = 'ERROR'
                AND t."next_attempt_at" IS NULL
                AND t."expires_at" <= now()
            )
        ) IS NOT TRUE
          THEN (
            (
              (
                ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
                  AND COALESCE(t."next_attempt_at", '-infinity') <= now()
                  AND t."attempt_count" < GREATEST(COALESCE(t."max_retries", 3), 1)
                  AND (t."expires_at" IS NULL OR t."expires_at" > now())
                  AND (t."scheduled_for" IS NULL OR t."scheduled_for" <= now())
              ) IS TRUE
            )
              AND (t."dispatch_pool_id" IS NULL OR jsonb_exists($1::jsonb, (t."dispatch_pool_id")::text))
          )
        END AS ok
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
      AND t."mode" NOT IN ('IMMEDIATE')
      AND t."group_key" > r.g
    ORDER BY t."group_key", t."sequence", t."created_at", t."id" LIMIT 1) AS n),
  fresh AS MATERIALIZED (
    SELECT DISTINCT f.g FROM (
    SELECT f.g FROM (WITH RECURSIVE shares AS (
(
  SELECT (
    CASE
      WHEN t."group_key" IS NOT NULL
      AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
      ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
      END
  ) AS s
    FROM "dispatch_jobs" AS t
    WHERE ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
    AND (
      CASE
        WHEN t."group_key" IS NOT NULL
        AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
        ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
        END
    ) >= 'o'
    ORDER BY (
      CASE
        WHEN t."group_key" IS NOT NULL
        AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
        ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
        END
    )
    LIMIT 1
)
UNION ALL
SELECT n.s FROM shares AS r CROSS JOIN LATERAL (
SELECT (
  CASE
    WHEN t."group_key" IS NOT NULL
    AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
    ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
    END
) AS s
  FROM "dispatch_jobs" AS t
  WHERE ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
  AND (
    CASE
      WHEN t."group_key" IS NOT NULL
      AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
      ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
      END
  ) >= 'o'
  AND (
    CASE
      WHEN t."group_key" IS NOT NULL
      AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
      ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
      END
  )
    > r.s
  ORDER BY (
    CASE
      WHEN t."group_key" IS NOT NULL
      AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
      ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
      END
  )
  LIMIT 1) AS n)
SELECT
  n.g,
  n.k
FROM (SELECT s FROM shares LIMIT 1000) AS r CROSS JOIN LATERAL (
SELECT
  t."group_key" AS g,
  CASE
    WHEN t."group_key" IS NOT NULL
    AND t."mode" NOT IN ('IMMEDIATE') THEN COALESCE(t."next_attempt_at", t."created_at")
    ELSE '-infinity'
    END AS k
FROM "dispatch_jobs" AS t
  WHERE (
    CASE
      WHEN t."group_key" IS NOT NULL
      AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
      ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
      END
  ) = r.s
  AND ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
  AND CASE
  WHEN t."group_key" IS NOT NULL
  AND t."mode" NOT IN ('IMMEDIATE') THEN COALESCE(t."next_attempt_at", t."created_at")
  ELSE '-infinity'
  END > '-infinity'
  AND CASE
  WHEN t."group_key" IS NOT NULL
  AND t."mode" NOT IN ('IMMEDIATE') THEN COALESCE(t."next_attempt_at", t."created_at")
  ELSE '-infinity'
  END <= now()
  ORDER BY CASE
  WHEN t."group_key" IS NOT NULL
  AND t."mode" NOT IN ('IMMEDIATE') THEN COALESCE(t."next_attempt_at", t."created_at")
  ELSE '-infinity'
  END DESC
  LIMIT $2) AS n) AS f
  ORDER BY f.k DESC
  LIMIT $2) AS f),
  seen AS (
    (SELECT g, ok, 1 AS kind FROM ring LIMIT $3 * 4)
    UNION ALL SELECT (array_agg(l.g))[($3 * 4)::int], NULL, 3 FROM (SELECT g FROM ring LIMIT $3 * 4) AS l
    UNION ALL SELECT g, NULL, 0 FROM fresh
    UNION ALL (SELECT g, ok, 1 FROM ring OFFSET $3 * 4 LIMIT $4)
    UNION ALL SELECT (array_agg(l.g))[($4)::int],
      NULL,
      2 FROM (SELECT g FROM ring OFFSET $3 * 4 LIMIT $4) AS l)
  SELECT
    s.g,
    s.kind,
    CASE WHEN s.kind >= 2 THEN TRUE WHEN COALESCE(s.ok, head.ok) THEN
    pg_try_advisory_xact_lock(
      hashtext('"dispatch_jobs"'::regclass::oid::text || '/deliver'), hashtext((s.g)::text)
    )
      END AS mine
  FROM seen AS s LEFT JOIN LATERAL (
    SELECT (
      (
        (
          ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
            AND COALESCE(t."next_attempt_at", '-infinity') <= now()
            AND t."attempt_count" < GREATEST(COALESCE(t."max_retries", 3), 1)
            AND (t."expires_at" IS NULL OR t."expires_at" > now())
            AND (t."scheduled_for" IS NULL OR t."scheduled_for" <= now())
        ) IS TRUE
      )
        AND (t."dispatch_pool_id" IS NULL OR jsonb_exists($1::jsonb, (t."dispatch_pool_id")::text))
    ) AS ok
      FROM "dispatch_jobs" AS t
    WHERE s.ok IS NULL
      AND s.kind < 2
      AND t."group_key" = s.g
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
      AND t."mode" NOT IN ('IMMEDIATE')
      AND (
        (
          t."mode" IN ('NEXT_ON_ERROR')
            AND ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
            AND t."attempt_count" > 0
            AND (
              COALESCE(t."next_attempt_at", '-infinity') <= now()
                AND t."attempt_count" < GREATEST(COALESCE(t."max_retries", 3), 1)
            ) IS NOT TRUE
        )
          OR (
            t."mode" NOT IN ('IMMEDIATE', 'NEXT_ON_ERROR')
              AND t."status" = 'ERROR'
              AND t."next_attempt_at" IS NULL
              AND t."expires_at" <= now()
          )
      ) IS NOT TRUE
    ORDER BY t."sequence", t."created_at", t."id" LIMIT 1) AS head ON TRUE
  OFFSET 0) AS c
WHERE c.mine
LIMIT $3 + 1;

-- deliver: claim groups from the start 1, step 2: [Groups, Open, Run, Limit, Permits, Owner] -> Rows
WITH picked AS MATERIALIZED (
SELECT
  r.k,
  g.place,
  r.ord,
  r.pool
FROM unnest(($1::text[])::text[]) WITH ORDINALITY AS g(g, place)
CROSS JOIN LATERAL (
  SELECT
    y.k,
    y.ord,
    y.pool
  FROM (
    SELECT
      t."id" AS k,
      (t."dispatch_pool_id")::text AS pool,
      row_number() OVER w AS ord,
      bool_and(
        (
          (
            (
              ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
                AND COALESCE(t."next_attempt_at", '-infinity') <= now()
                AND t."attempt_count" < GREATEST(COALESCE(t."max_retries", 3), 1)
                AND (t."expires_at" IS NULL OR t."expires_at" > now())
                AND (t."scheduled_for" IS NULL OR t."scheduled_for" <= now())
            ) IS TRUE
          )
            AND (t."dispatch_pool_id" IS NULL OR jsonb_exists($2::jsonb, (t."dispatch_pool_id")::text))
        )
      ) OVER w AS ok
    FROM (
      SELECT *
        FROM "dispatch_jobs" AS t
        WHERE t."group_key" = g.g
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
        AND t."mode" NOT IN ('IMMEDIATE')
        AND (
          (
            t."mode" IN ('NEXT_ON_ERROR')
              AND ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
              AND t."attempt_count" > 0
              AND (
                COALESCE(t."next_attempt_at", '-infinity') <= now()
                  AND t."attempt_count" < GREATEST(COALESCE(t."max_retries", 3), 1)
              ) IS NOT TRUE
          )
            OR (
              t."mode" NOT IN ('IMMEDIATE', 'NEXT_ON_ERROR')
                AND t."status" = 'ERROR'
                AND t."next_attempt_at" IS NULL
                AND t."expires_at" <= now()
            )
        ) IS NOT TRUE
    
      ORDER BY t."sequence", t."created_at", t."id" LIMIT $3) AS t
    WINDOW w AS (ORDER BY t."sequence", t."created_at", t."id")) AS y
  WHERE y.ok) AS r
WHERE (
  SELECT 1
    FROM "dispatch_jobs" AS t
    WHERE t."group_key" = g.g
    AND CASE
    WHEN t."status" = 'IN_PROGRESS' THEN 'IN_PROGRESS'
    WHEN t."status" = 'ERROR'
    AND t."next_attempt_at" IS NULL THEN 'DEAD'
    WHEN t."status" = 'PENDING' THEN 'PENDING'
    WHEN t."status" = 'CANCELLED' THEN 'CANCELLED'
    WHEN ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
    AND t."attempt_count" >= GREATEST(COALESCE(t."max_retries", 3), 1) THEN 'no attempts left'
    WHEN t."status" = 'ERROR'
    AND t."next_attempt_at" IS NOT NULL THEN 'RETRYING'
    END = 'IN_PROGRESS'
    AND CASE
    WHEN t."status" = 'IN_PROGRESS' THEN NULL
    ELSE t."id"
    END IS NULL
    AND t."group_key" IS NOT NULL
    AND t."mode" NOT IN ('IMMEDIATE')
    LIMIT 1
) IS NULL
ORDER BY g.place, r.ord LIMIT $4),
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
    bool_and(y.n IS NULL OR y.nth <= y.n) OVER (PARTITION BY y.place ORDER BY y.ord) AS ok
  FROM (
    SELECT
      p.*,
      q.n,
      row_number() OVER (PARTITION BY p.pool ORDER BY p.place, p.ord) AS nth
    FROM picked AS p
      LEFT
      JOIN jsonb_to_recordset($5::jsonb) AS q(p text, n bigint)
      ON q.p = p.pool) AS y) AS z
WHERE z.ok),
locked AS MATERIALIZED (
SELECT t."id" AS k FROM "dispatch_jobs" AS t
WHERE t."id" = ANY (ARRAY(SELECT k FROM pick))
  AND (
    (t."status" IS NOT DISTINCT FROM 'QUEUED')
      OR (t."status" IS NOT DISTINCT FROM 'ERROR' AND t."next_attempt_at" IS NOT NULL)
  )
FOR UPDATE SKIP LOCKED),
mine AS MATERIALIZED (
SELECT
  y.k,
  y.place,
  y.ord
FROM (
  SELECT
    p.k,
    p.place,
    p.ord,
    bool_and(l.k IS NOT NULL) OVER (PARTITION BY p.place ORDER BY p.ord) AS ok
  FROM pick AS p LEFT JOIN locked AS l ON l.k = p.k) AS y
WHERE y.ok),
moved AS (
UPDATE "dispatch_jobs" AS t SET
  "status" = 'IN_PROGRESS',
  "last_attempt_at" = CASE
    WHEN t."last_attempt_at"
      BETWEEN now() - interval '1 microseconds'
      AND now() + interval '60 seconds'
      THEN t."last_attempt_at" + interval '1 microseconds'
    ELSE now()
    END,
  "lease_until" = CASE
    WHEN t."lease_until"
      BETWEEN now() + interval '60 seconds' - interval '1 microseconds'
      AND now() + interval '60 seconds' + interval '60 seconds'
      THEN t."lease_until" + interval '1 microseconds'
    ELSE now() + interval '60 seconds'
    END,
  "claimed_by" = LEFT($6::text, 64),
  "updated_at" = now()
WHERE t."id" = ANY (ARRAY(SELECT k FROM mine))
RETURNING
  t."attempt_count",
  t."client_id",
  t."code",
  t."correlation_id",
  t."created_at",
  t."data_only",
  t."dispatch_pool_id",
  t."event_id",
  t."group_key",
  t."headers",
  t."id",
  t."last_attempt_at",
  t."max_retries",
  t."mode",
  t."next_attempt_at",
  t."payload",
  t."payload_content_type",
  t."retry_strategy",
  t."service_account_id",
  t."source",
  t."subject",
  t."subscription_id",
  t."target_url",
  t."timeout_seconds",
  t."traceparent")
SELECT
  (t."id")::text,
  (t."last_attempt_at")::text,
  (t."attempt_count")::text,
  (t."attempt_count")::bigint,
  (t."max_retries")::bigint,
  (t."retry_strategy")::text,
  CASE WHEN t."group_key" IS NOT NULL AND t."mode" NOT IN ('IMMEDIATE') THEN (t."group_key")::text END,
  CASE WHEN t."mode" IN ('NEXT_ON_ERROR') THEN 'next' ELSE 'block' END,
  (t."dispatch_pool_id")::text,
  (t."client_id")::text,
  (
    COALESCE(
      CASE
        WHEN isfinite(t."next_attempt_at")
          THEN floor(extract(epoch FROM now() - t."next_attempt_at") * 1000000)::bigint
        END,
        CASE
          WHEN isfinite(t."created_at")
            THEN floor(extract(epoch FROM now() - t."created_at") * 1000000)::bigint
          END
    )
  )::bigint,
  (
    COALESCE(octet_length(t."service_account_id"), 0)
      + COALESCE(octet_length(t."client_id"), 0)
      + COALESCE(octet_length(t."code"), 0)
      + COALESCE(octet_length(t."payload_content_type"), 0)
      + COALESCE(octet_length(t."correlation_id"), 0)
      + COALESCE(octet_length(t."id"), 0)
      + COALESCE(octet_length(t."event_id"), 0)
      + COALESCE(octet_length(t."headers"), 0)
      + COALESCE(octet_length(t."payload"), 0)
      + COALESCE(octet_length(t."source"), 0)
      + COALESCE(octet_length(t."subject"), 0)
      + COALESCE(octet_length(t."subscription_id"), 0)
      + COALESCE(octet_length(t."traceparent"), 0)
      + COALESCE(octet_length(t."target_url"), 0)
  )::bigint,
  CASE WHEN octet_length(t."service_account_id") <= 65536 THEN (t."service_account_id")::text END,
  CASE WHEN octet_length(t."client_id") <= 65536 THEN (t."client_id")::text END,
  CASE WHEN octet_length(t."code") <= 65536 THEN (t."code")::text END,
  CASE WHEN octet_length(t."payload_content_type") <= 65536 THEN (t."payload_content_type")::text END,
  CASE WHEN octet_length(t."correlation_id") <= 65536 THEN (t."correlation_id")::text END,
  CASE WHEN t."data_only" THEN 'true' WHEN NOT t."data_only" THEN 'false' END,
  CASE WHEN octet_length(t."id") <= 65536 THEN (t."id")::text END,
  CASE WHEN octet_length(t."event_id") <= 65536 THEN (t."event_id")::text END,
  CASE WHEN octet_length(t."headers") <= 65536 THEN (t."headers")::text END,
  CASE WHEN octet_length(t."payload") <= 65536 THEN (t."payload")::text END,
  CASE WHEN octet_length(t."source") <= 65536 THEN (t."source")::text END,
  CASE WHEN octet_length(t."subject") <= 65536 THEN (t."subject")::text END,
  CASE WHEN octet_length(t."subscription_id") <= 65536 THEN (t."subscription_id")::text END,
  (t."created_at")::text,
  (t."timeout_seconds")::text,
  CASE WHEN octet_length(t."traceparent") <= 65536 THEN (t."traceparent")::text END,
  CASE WHEN octet_length(t."target_url") <= 65536 THEN (t."target_url")::text END
FROM moved AS t JOIN mine AS p ON p.k = t."id"
WHERE (SELECT set_config('synchronous_commit', 'off', true)) IS NOT NULL
ORDER BY p.place, p.ord;

-- deliver: claim groups from the cursor 1, step 1: [Open, Cursor, Fresh, GroupsWanted, Jumps] -> Groups
SELECT
  (c.g)::text,
  c.kind
FROM (
  WITH RECURSIVE ring AS (
    (
      SELECT
        t."group_key" AS g,
        CASE
          WHEN (
            (
              t."mode" IN ('NEXT_ON_ERROR')
                AND ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
                AND t."attempt_count" > 0
                AND (
                  COALESCE(t."next_attempt_at", '-infinity') <= now()
                    AND t."attempt_count" < GREATEST(COALESCE(t."max_retries", 3), 1)
                ) IS NOT TRUE
            )
              OR (
                t."mode" NOT IN ('IMMEDIATE', 'NEXT_ON_ERROR')
                  AND t."status" = 'ERROR'
                  AND t."next_attempt_at" IS NULL
                  AND t."expires_at" <= now()
              )
          ) IS NOT TRUE
            THEN (
              (
                (
                  ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
                    AND COALESCE(t."next_attempt_at", '-infinity') <= now()
                    AND t."attempt_count" < GREATEST(COALESCE(t."max_retries", 3), 1)
                    AND (t."expires_at" IS NULL OR t."expires_at" > now())
                    AND (t."scheduled_for" IS NULL OR t."scheduled_for" <= now())
                ) IS TRUE
              )
                AND (t."dispatch_pool_id" IS NULL OR jsonb_exists($1::jsonb, (t."dispatch_pool_id")::text))
            )
          END AS ok
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
      AND t."mode" NOT IN ('IMMEDIATE')
      AND t."group_key" > ($2::text)::text
    ORDER BY t."group_key", t."sequence", t."created_at", t."id" LIMIT 1)
    UNION ALL
    SELECT
      n.g,
      n.ok
    FROM ring AS r CROSS JOIN LATERAL (
    SELECT
      t."group_key" AS g,
      CASE
        WHEN (
          (
            t."mode" IN ('NEXT_ON_ERROR')
              AND ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
              AND t."attempt_count" > 0
              AND (
                COALESCE(t."next_attempt_at", '-infinity') <= now()
                  AND t."attempt_count" < GREATEST(COALESCE(t."max_retries", 3), 1)
              ) IS NOT TRUE
          )
            OR (
              t."mode" NOT IN ('IMMEDIATE', 'NEXT_ON_ERROR')
                AND t."status" = 'ERROR'
                AND t."next_attempt_at" IS NULL
                AND t."expires_at" <= now()
            )
        ) IS NOT TRUE
          THEN (
            (
              (
                ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
                  AND COALESCE(t."next_attempt_at", '-infinity') <= now()
                  AND t."attempt_count" < GREATEST(COALESCE(t."max_retries", 3), 1)
                  AND (t."expires_at" IS NULL OR t."expires_at" > now())
                  AND (t."scheduled_for" IS NULL OR t."scheduled_for" <= now())
              ) IS TRUE
            )
              AND (t."dispatch_pool_id" IS NULL OR jsonb_exists($1::jsonb, (t."dispatch_pool_id")::text))
          )
        END AS ok
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
      AND t."mode" NOT IN ('IMMEDIATE')
      AND t."group_key" > r.g
    ORDER BY t."group_key", t."sequence", t."created_at", t."id" LIMIT 1) AS n),
  fresh AS MATERIALIZED (
    SELECT DISTINCT f.g FROM (
    SELECT f.g FROM (WITH RECURSIVE shares AS (
(
  SELECT (
    CASE
      WHEN t."group_key" IS NOT NULL
      AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
      ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
      END
  ) AS s
    FROM "dispatch_jobs" AS t
    WHERE ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
    AND (
      CASE
        WHEN t."group_key" IS NOT NULL
        AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
        ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
        END
    ) >= 'o'
    ORDER BY (
      CASE
        WHEN t."group_key" IS NOT NULL
        AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
        ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
        END
    )
    LIMIT 1
)
UNION ALL
SELECT n.s FROM shares AS r CROSS JOIN LATERAL (
SELECT (
  CASE
    WHEN t."group_key" IS NOT NULL
    AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
    ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
    END
) AS s
  FROM "dispatch_jobs" AS t
  WHERE ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
  AND (
    CASE
      WHEN t."group_key" IS NOT NULL
      AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
      ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
      END
  ) >= 'o'
  AND (
    CASE
      WHEN t."group_key" IS NOT NULL
      AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
      ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
      END
  )
    > r.s
  ORDER BY (
    CASE
      WHEN t."group_key" IS NOT NULL
      AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
      ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
      END
  )
  LIMIT 1) AS n)
SELECT
  n.g,
  n.k
FROM (SELECT s FROM shares LIMIT 1000) AS r CROSS JOIN LATERAL (
SELECT
  t."group_key" AS g,
  CASE
    WHEN t."group_key" IS NOT NULL
    AND t."mode" NOT IN ('IMMEDIATE') THEN COALESCE(t."next_attempt_at", t."created_at")
    ELSE '-infinity'
    END AS k
FROM "dispatch_jobs" AS t
  WHERE (
    CASE
      WHEN t."group_key" IS NOT NULL
      AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
      ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
      END
  ) = r.s
  AND ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
  AND CASE
  WHEN t."group_key" IS NOT NULL
  AND t."mode" NOT IN ('IMMEDIATE') THEN COALESCE(t."next_attempt_at", t."created_at")
  ELSE '-infinity'
  END > '-infinity'
  AND CASE
  WHEN t."group_key" IS NOT NULL
  AND t."mode" NOT IN ('IMMEDIATE') THEN COALESCE(t."next_attempt_at", t."created_at")
  ELSE '-infinity'
  END <= now()
  ORDER BY CASE
  WHEN t."group_key" IS NOT NULL
  AND t."mode" NOT IN ('IMMEDIATE') THEN COALESCE(t."next_attempt_at", t."created_at")
  ELSE '-infinity'
  END DESC
  LIMIT $3) AS n) AS f
  ORDER BY f.k DESC
  LIMIT $3) AS f),
  seen AS (
    (SELECT g, ok, 1 AS kind FROM ring LIMIT $4 * 4)
    UNION ALL SELECT (array_agg(l.g))[($4 * 4)::int], NULL, 3 FROM (SELECT g FROM ring LIMIT $4 * 4) AS l
    UNION ALL SELECT g, NULL, 0 FROM fresh
    UNION ALL (SELECT g, ok, 1 FROM ring OFFSET $4 * 4 LIMIT $5)
    UNION ALL SELECT (array_agg(l.g))[($5)::int],
      NULL,
      2 FROM (SELECT g FROM ring OFFSET $4 * 4 LIMIT $5) AS l)
  SELECT
    s.g,
    s.kind,
    CASE WHEN s.kind >= 2 THEN TRUE WHEN COALESCE(s.ok, head.ok) THEN
    pg_try_advisory_xact_lock(
      hashtext('"dispatch_jobs"'::regclass::oid::text || '/deliver'), hashtext((s.g)::text)
    )
      END AS mine
  FROM seen AS s LEFT JOIN LATERAL (
    SELECT (
      (
        (
          ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
            AND COALESCE(t."next_attempt_at", '-infinity') <= now()
            AND t."attempt_count" < GREATEST(COALESCE(t."max_retries", 3), 1)
            AND (t."expires_at" IS NULL OR t."expires_at" > now())
            AND (t."scheduled_for" IS NULL OR t."scheduled_for" <= now())
        ) IS TRUE
      )
        AND (t."dispatch_pool_id" IS NULL OR jsonb_exists($1::jsonb, (t."dispatch_pool_id")::text))
    ) AS ok
      FROM "dispatch_jobs" AS t
    WHERE s.ok IS NULL
      AND s.kind < 2
      AND t."group_key" = s.g
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
      AND t."mode" NOT IN ('IMMEDIATE')
      AND (
        (
          t."mode" IN ('NEXT_ON_ERROR')
            AND ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
            AND t."attempt_count" > 0
            AND (
              COALESCE(t."next_attempt_at", '-infinity') <= now()
                AND t."attempt_count" < GREATEST(COALESCE(t."max_retries", 3), 1)
            ) IS NOT TRUE
        )
          OR (
            t."mode" NOT IN ('IMMEDIATE', 'NEXT_ON_ERROR')
              AND t."status" = 'ERROR'
              AND t."next_attempt_at" IS NULL
              AND t."expires_at" <= now()
          )
      ) IS NOT TRUE
    ORDER BY t."sequence", t."created_at", t."id" LIMIT 1) AS head ON TRUE
  OFFSET 0) AS c
WHERE c.mine
LIMIT $4 + 1;

-- deliver: claim groups from the cursor 1, step 2: [Groups, Open, Run, Limit, Permits, Owner] -> Rows
WITH picked AS MATERIALIZED (
SELECT
  r.k,
  g.place,
  r.ord,
  r.pool
FROM unnest(($1::text[])::text[]) WITH ORDINALITY AS g(g, place)
CROSS JOIN LATERAL (
  SELECT
    y.k,
    y.ord,
    y.pool
  FROM (
    SELECT
      t."id" AS k,
      (t."dispatch_pool_id")::text AS pool,
      row_number() OVER w AS ord,
      bool_and(
        (
          (
            (
              ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
                AND COALESCE(t."next_attempt_at", '-infinity') <= now()
                AND t."attempt_count" < GREATEST(COALESCE(t."max_retries", 3), 1)
                AND (t."expires_at" IS NULL OR t."expires_at" > now())
                AND (t."scheduled_for" IS NULL OR t."scheduled_for" <= now())
            ) IS TRUE
          )
            AND (t."dispatch_pool_id" IS NULL OR jsonb_exists($2::jsonb, (t."dispatch_pool_id")::text))
        )
      ) OVER w AS ok
    FROM (
      SELECT *
        FROM "dispatch_jobs" AS t
        WHERE t."group_key" = g.g
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
        AND t."mode" NOT IN ('IMMEDIATE')
        AND (
          (
            t."mode" IN ('NEXT_ON_ERROR')
              AND ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
              AND t."attempt_count" > 0
              AND (
                COALESCE(t."next_attempt_at", '-infinity') <= now()
                  AND t."attempt_count" < GREATEST(COALESCE(t."max_retries", 3), 1)
              ) IS NOT TRUE
          )
            OR (
              t."mode" NOT IN ('IMMEDIATE', 'NEXT_ON_ERROR')
                AND t."status" = 'ERROR'
                AND t."next_attempt_at" IS NULL
                AND t."expires_at" <= now()
            )
        ) IS NOT TRUE
    
      ORDER BY t."sequence", t."created_at", t."id" LIMIT $3) AS t
    WINDOW w AS (ORDER BY t."sequence", t."created_at", t."id")) AS y
  WHERE y.ok) AS r
WHERE (
  SELECT 1
    FROM "dispatch_jobs" AS t
    WHERE t."group_key" = g.g
    AND CASE
    WHEN t."status" = 'IN_PROGRESS' THEN 'IN_PROGRESS'
    WHEN t."status" = 'ERROR'
    AND t."next_attempt_at" IS NULL THEN 'DEAD'
    WHEN t."status" = 'PENDING' THEN 'PENDING'
    WHEN t."status" = 'CANCELLED' THEN 'CANCELLED'
    WHEN ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
    AND t."attempt_count" >= GREATEST(COALESCE(t."max_retries", 3), 1) THEN 'no attempts left'
    WHEN t."status" = 'ERROR'
    AND t."next_attempt_at" IS NOT NULL THEN 'RETRYING'
    END = 'IN_PROGRESS'
    AND CASE
    WHEN t."status" = 'IN_PROGRESS' THEN NULL
    ELSE t."id"
    END IS NULL
    AND t."group_key" IS NOT NULL
    AND t."mode" NOT IN ('IMMEDIATE')
    LIMIT 1
) IS NULL
ORDER BY g.place, r.ord LIMIT $4),
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
    bool_and(y.n IS NULL OR y.nth <= y.n) OVER (PARTITION BY y.place ORDER BY y.ord) AS ok
  FROM (
    SELECT
      p.*,
      q.n,
      row_number() OVER (PARTITION BY p.pool ORDER BY p.place, p.ord) AS nth
    FROM picked AS p
      LEFT
      JOIN jsonb_to_recordset($5::jsonb) AS q(p text, n bigint)
      ON q.p = p.pool) AS y) AS z
WHERE z.ok),
locked AS MATERIALIZED (
SELECT t."id" AS k FROM "dispatch_jobs" AS t
WHERE t."id" = ANY (ARRAY(SELECT k FROM pick))
  AND (
    (t."status" IS NOT DISTINCT FROM 'QUEUED')
      OR (t."status" IS NOT DISTINCT FROM 'ERROR' AND t."next_attempt_at" IS NOT NULL)
  )
FOR UPDATE SKIP LOCKED),
mine AS MATERIALIZED (
SELECT
  y.k,
  y.place,
  y.ord
FROM (
  SELECT
    p.k,
    p.place,
    p.ord,
    bool_and(l.k IS NOT NULL) OVER (PARTITION BY p.place ORDER BY p.ord) AS ok
  FROM pick AS p LEFT JOIN locked AS l ON l.k = p.k) AS y
WHERE y.ok),
moved AS (
UPDATE "dispatch_jobs" AS t SET
  "status" = 'IN_PROGRESS',
  "last_attempt_at" = CASE
    WHEN t."last_attempt_at"
      BETWEEN now() - interval '1 microseconds'
      AND now() + interval '60 seconds'
      THEN t."last_attempt_at" + interval '1 microseconds'
    ELSE now()
    END,
  "lease_until" = CASE
    WHEN t."lease_until"
      BETWEEN now() + interval '60 seconds' - interval '1 microseconds'
      AND now() + interval '60 seconds' + interval '60 seconds'
      THEN t."lease_until" + interval '1 microseconds'
    ELSE now() + interval '60 seconds'
    END,
  "claimed_by" = LEFT($6::text, 64),
  "updated_at" = now()
WHERE t."id" = ANY (ARRAY(SELECT k FROM mine))
RETURNING
  t."attempt_count",
  t."client_id",
  t."code",
  t."correlation_id",
  t."created_at",
  t."data_only",
  t."dispatch_pool_id",
  t."event_id",
  t."group_key",
  t."headers",
  t."id",
  t."last_attempt_at",
  t."max_retries",
  t."mode",
  t."next_attempt_at",
  t."payload",
  t."payload_content_type",
  t."retry_strategy",
  t."service_account_id",
  t."source",
  t."subject",
  t."subscription_id",
  t."target_url",
  t."timeout_seconds",
  t."traceparent")
SELECT
  (t."id")::text,
  (t."last_attempt_at")::text,
  (t."attempt_count")::text,
  (t."attempt_count")::bigint,
  (t."max_retries")::bigint,
  (t."retry_strategy")::text,
  CASE WHEN t."group_key" IS NOT NULL AND t."mode" NOT IN ('IMMEDIATE') THEN (t."group_key")::text END,
  CASE WHEN t."mode" IN ('NEXT_ON_ERROR') THEN 'next' ELSE 'block' END,
  (t."dispatch_pool_id")::text,
  (t."client_id")::text,
  (
    COALESCE(
      CASE
        WHEN isfinite(t."next_attempt_at")
          THEN floor(extract(epoch FROM now() - t."next_attempt_at") * 1000000)::bigint
        END,
        CASE
          WHEN isfinite(t."created_at")
            THEN floor(extract(epoch FROM now() - t."created_at") * 1000000)::bigint
          END
    )
  )::bigint,
  (
    COALESCE(octet_length(t."service_account_id"), 0)
      + COALESCE(octet_length(t."client_id"), 0)
      + COALESCE(octet_length(t."code"), 0)
      + COALESCE(octet_length(t."payload_content_type"), 0)
      + COALESCE(octet_length(t."correlation_id"), 0)
      + COALESCE(octet_length(t."id"), 0)
      + COALESCE(octet_length(t."event_id"), 0)
      + COALESCE(octet_length(t."headers"), 0)
      + COALESCE(octet_length(t."payload"), 0)
      + COALESCE(octet_length(t."source"), 0)
      + COALESCE(octet_length(t."subject"), 0)
      + COALESCE(octet_length(t."subscription_id"), 0)
      + COALESCE(octet_length(t."traceparent"), 0)
      + COALESCE(octet_length(t."target_url"), 0)
  )::bigint,
  CASE WHEN octet_length(t."service_account_id") <= 65536 THEN (t."service_account_id")::text END,
  CASE WHEN octet_length(t."client_id") <= 65536 THEN (t."client_id")::text END,
  CASE WHEN octet_length(t."code") <= 65536 THEN (t."code")::text END,
  CASE WHEN octet_length(t."payload_content_type") <= 65536 THEN (t."payload_content_type")::text END,
  CASE WHEN octet_length(t."correlation_id") <= 65536 THEN (t."correlation_id")::text END,
  CASE WHEN t."data_only" THEN 'true' WHEN NOT t."data_only" THEN 'false' END,
  CASE WHEN octet_length(t."id") <= 65536 THEN (t."id")::text END,
  CASE WHEN octet_length(t."event_id") <= 65536 THEN (t."event_id")::text END,
  CASE WHEN octet_length(t."headers") <= 65536 THEN (t."headers")::text END,
  CASE WHEN octet_length(t."payload") <= 65536 THEN (t."payload")::text END,
  CASE WHEN octet_length(t."source") <= 65536 THEN (t."source")::text END,
  CASE WHEN octet_length(t."subject") <= 65536 THEN (t."subject")::text END,
  CASE WHEN octet_length(t."subscription_id") <= 65536 THEN (t."subscription_id")::text END,
  (t."created_at")::text,
  (t."timeout_seconds")::text,
  CASE WHEN octet_length(t."traceparent") <= 65536 THEN (t."traceparent")::text END,
  CASE WHEN octet_length(t."target_url") <= 65536 THEN (t."target_url")::text END
FROM moved AS t JOIN mine AS p ON p.k = t."id"
WHERE (SELECT set_config('synchronous_commit', 'off', true)) IS NOT NULL
ORDER BY p.place, p.ord;

-- deliver: claim groups from the start, limited 1, step 1: [Pools] -> Keys
SELECT b.pool FROM postrider_pools AS b WHERE b.pool = ANY ($1::text[]) ORDER BY b.pool
FOR UPDATE SKIP LOCKED;

-- deliver: claim groups from the start, limited 1, step 2: [Held] -> Permits
SELECT
  (p."id")::text,
  (
    CASE
      WHEN p."paused" THEN 0
      ELSE LEAST(
        1000000,
          CASE
            WHEN p."concurrency" IS NULL THEN 1000000
            ELSE GREATEST(
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
                        AND t."attempt_count" >= GREATEST(COALESCE(t."max_retries", 3), 1)
                          THEN 'no attempts left'
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
                          AND t."attempt_count" >= GREATEST(COALESCE(t."max_retries", 3), 1)
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
            ELSE GREATEST(
              0,
                CEIL(p."rate_per_minute" / 60.0)
                  - CEIL(
                    (
                      GREATEST(
                        CASE
                          WHEN b.free_at
                            > extract(epoch FROM statement_timestamp())::float8
                              + (CEIL(p."rate_per_minute" / 60.0) + 1)
                                * (
                                  60.0
                                    / NULLIF(
                                      CASE
                                        WHEN p."rate_per_minute"
                                          > 60
                                          THEN p."rate_per_minute" - CEIL(p."rate_per_minute" / 60.0)
                                        ELSE p."rate_per_minute"
                                        END,
                                        0
                                    )
                                )::float8
                            THEN 0
                          ELSE COALESCE(b.free_at, 0)
                          END,
                          extract(epoch FROM statement_timestamp())::float8
                      )
                        - extract(epoch FROM statement_timestamp())::float8
                    )
                      / (
                        60.0
                          / NULLIF(
                            CASE
                              WHEN p."rate_per_minute"
                                > 60
                                THEN p."rate_per_minute" - CEIL(p."rate_per_minute" / 60.0)
                              ELSE p."rate_per_minute"
                              END,
                              0
                          )
                      )::float8
                  )
            )
            END
      )
      END
  )::bigint
FROM postrider_pools AS b JOIN "dispatch_pools" AS p ON p."id" = b.pool
WHERE b.pool = ANY ($1::text[]);

-- deliver: claim groups from the start, limited 1, step 3: [Open, Fresh, GroupsWanted, Jumps] -> Groups
SELECT
  (c.g)::text,
  c.kind
FROM (
  WITH RECURSIVE ring AS (
    (
      SELECT
        t."group_key" AS g,
        CASE
          WHEN (
            (
              t."mode" IN ('NEXT_ON_ERROR')
                AND ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
                AND t."attempt_count" > 0
                AND (
                  COALESCE(t."next_attempt_at", '-infinity') <= now()
                    AND t."attempt_count" < GREATEST(COALESCE(t."max_retries", 3), 1)
                ) IS NOT TRUE
            )
              OR (
                t."mode" NOT IN ('IMMEDIATE', 'NEXT_ON_ERROR')
                  AND t."status" = 'ERROR'
                  AND t."next_attempt_at" IS NULL
                  AND t."expires_at" <= now()
              )
          ) IS NOT TRUE
            THEN (
              (
                (
                  ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
                    AND COALESCE(t."next_attempt_at", '-infinity') <= now()
                    AND t."attempt_count" < GREATEST(COALESCE(t."max_retries", 3), 1)
                    AND (t."expires_at" IS NULL OR t."expires_at" > now())
                    AND (t."scheduled_for" IS NULL OR t."scheduled_for" <= now())
                ) IS TRUE
              )
                AND (t."dispatch_pool_id" IS NULL OR jsonb_exists($1::jsonb, (t."dispatch_pool_id")::text))
            )
          END AS ok
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
      AND t."mode" NOT IN ('IMMEDIATE')
    ORDER BY t."group_key", t."sequence", t."created_at", t."id" LIMIT 1)
    UNION ALL
    SELECT
      n.g,
      n.ok
    FROM ring AS r CROSS JOIN LATERAL (
    SELECT
      t."group_key" AS g,
      CASE
        WHEN (
          (
            t."mode" IN ('NEXT_ON_ERROR')
              AND ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
              AND t."attempt_count" > 0
              AND (
                COALESCE(t."next_attempt_at", '-infinity') <= now()
                  AND t."attempt_count" < GREATEST(COALESCE(t."max_retries", 3), 1)
              ) IS NOT TRUE
          )
            OR (
              t."mode" NOT IN ('IMMEDIATE', 'NEXT_ON_ERROR')
                AND t."status" = 'ERROR'
                AND t."next_attempt_at" IS NULL
                AND t."expires_at" <= now()
            )
        ) IS NOT TRUE
          THEN (
            (
              (
                ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
                  AND COALESCE(t."next_attempt_at", '-infinity') <= now()
                  AND t."attempt_count" < GREATEST(COALESCE(t."max_retries", 3), 1)
                  AND (t."expires_at" IS NULL OR t."expires_at" > now())
                  AND (t."scheduled_for" IS NULL OR t."scheduled_for" <= now())
              ) IS TRUE
            )
              AND (t."dispatch_pool_id" IS NULL OR jsonb_exists($1::jsonb, (t."dispatch_pool_id")::text))
          )
        END AS ok
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
      AND t."mode" NOT IN ('IMMEDIATE')
      AND t."group_key" > r.g
    ORDER BY t."group_key", t."sequence", t."created_at", t."id" LIMIT 1) AS n),
  fresh AS MATERIALIZED (
    SELECT DISTINCT f.g FROM (
    SELECT f.g FROM (WITH RECURSIVE shares AS (
(
  SELECT (
    CASE
      WHEN t."group_key" IS NOT NULL
      AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
      ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
      END
  ) AS s
    FROM "dispatch_jobs" AS t
    WHERE ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
    AND (
      CASE
        WHEN t."group_key" IS NOT NULL
        AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
        ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
        END
    ) >= 'o'
    ORDER BY (
      CASE
        WHEN t."group_key" IS NOT NULL
        AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
        ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
        END
    )
    LIMIT 1
)
UNION ALL
SELECT n.s FROM shares AS r CROSS JOIN LATERAL (
SELECT (
  CASE
    WHEN t."group_key" IS NOT NULL
    AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
    ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
    END
) AS s
  FROM "dispatch_jobs" AS t
  WHERE ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
  AND (
    CASE
      WHEN t."group_key" IS NOT NULL
      AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
      ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
      END
  ) >= 'o'
  AND (
    CASE
      WHEN t."group_key" IS NOT NULL
      AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
      ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
      END
  )
    > r.s
  ORDER BY (
    CASE
      WHEN t."group_key" IS NOT NULL
      AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
      ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
      END
  )
  LIMIT 1) AS n)
SELECT
  n.g,
  n.k
FROM (SELECT s FROM shares LIMIT 1000) AS r CROSS JOIN LATERAL (
SELECT
  t."group_key" AS g,
  CASE
    WHEN t."group_key" IS NOT NULL
    AND t."mode" NOT IN ('IMMEDIATE') THEN COALESCE(t."next_attempt_at", t."created_at")
    ELSE '-infinity'
    END AS k
FROM "dispatch_jobs" AS t
  WHERE (
    CASE
      WHEN t."group_key" IS NOT NULL
      AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
      ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
      END
  ) = r.s
  AND ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
  AND CASE
  WHEN t."group_key" IS NOT NULL
  AND t."mode" NOT IN ('IMMEDIATE') THEN COALESCE(t."next_attempt_at", t."created_at")
  ELSE '-infinity'
  END > '-infinity'
  AND CASE
  WHEN t."group_key" IS NOT NULL
  AND t."mode" NOT IN ('IMMEDIATE') THEN COALESCE(t."next_attempt_at", t."created_at")
  ELSE '-infinity'
  END <= now()
  ORDER BY CASE
  WHEN t."group_key" IS NOT NULL
  AND t."mode" NOT IN ('IMMEDIATE') THEN COALESCE(t."next_attempt_at", t."created_at")
  ELSE '-infinity'
  END DESC
  LIMIT $2) AS n) AS f
  ORDER BY f.k DESC
  LIMIT $2) AS f),
  seen AS (
    (SELECT g, ok, 1 AS kind FROM ring LIMIT $3 * 4)
    UNION ALL SELECT (array_agg(l.g))[($3 * 4)::int], NULL, 3 FROM (SELECT g FROM ring LIMIT $3 * 4) AS l
    UNION ALL SELECT g, NULL, 0 FROM fresh
    UNION ALL (SELECT g, ok, 1 FROM ring OFFSET $3 * 4 LIMIT $4)
    UNION ALL SELECT (array_agg(l.g))[($4)::int],
      NULL,
      2 FROM (SELECT g FROM ring OFFSET $3 * 4 LIMIT $4) AS l)
  SELECT
    s.g,
    s.kind,
    CASE WHEN s.kind >= 2 THEN TRUE WHEN COALESCE(s.ok, head.ok) THEN
    pg_try_advisory_xact_lock(
      hashtext('"dispatch_jobs"'::regclass::oid::text || '/deliver'), hashtext((s.g)::text)
    )
      END AS mine
  FROM seen AS s LEFT JOIN LATERAL (
    SELECT (
      (
        (
          ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
            AND COALESCE(t."next_attempt_at", '-infinity') <= now()
            AND t."attempt_count" < GREATEST(COALESCE(t."max_retries", 3), 1)
            AND (t."expires_at" IS NULL OR t."expires_at" > now())
            AND (t."scheduled_for" IS NULL OR t."scheduled_for" <= now())
        ) IS TRUE
      )
        AND (t."dispatch_pool_id" IS NULL OR jsonb_exists($1::jsonb, (t."dispatch_pool_id")::text))
    ) AS ok
      FROM "dispatch_jobs" AS t
    WHERE s.ok IS NULL
      AND s.kind < 2
      AND t."group_key" = s.g
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
      AND t."mode" NOT IN ('IMMEDIATE')
      AND (
        (
          t."mode" IN ('NEXT_ON_ERROR')
            AND ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
            AND t."attempt_count" > 0
            AND (
              COALESCE(t."next_attempt_at", '-infinity') <= now()
                AND t."attempt_count" < GREATEST(COALESCE(t."max_retries", 3), 1)
            ) IS NOT TRUE
        )
          OR (
            t."mode" NOT IN ('IMMEDIATE', 'NEXT_ON_ERROR')
              AND t."status" = 'ERROR'
              AND t."next_attempt_at" IS NULL
              AND t."expires_at" <= now()
          )
      ) IS NOT TRUE
    ORDER BY t."sequence", t."created_at", t."id" LIMIT 1) AS head ON TRUE
  OFFSET 0) AS c
WHERE c.mine
LIMIT $3 + 1;

-- deliver: claim groups from the start, limited 1, step 4: [Groups, Open, Run, Limit, Permits, Owner] -> Rows
WITH picked AS MATERIALIZED (
SELECT
  r.k,
  g.place,
  r.ord,
  r.pool
FROM unnest(($1::text[])::text[]) WITH ORDINALITY AS g(g, place)
CROSS JOIN LATERAL (
  SELECT
    y.k,
    y.ord,
    y.pool
  FROM (
    SELECT
      t."id" AS k,
      (t."dispatch_pool_id")::text AS pool,
      row_number() OVER w AS ord,
      bool_and(
        (
          (
            (
              ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
                AND COALESCE(t."next_attempt_at", '-infinity') <= now()
                AND t."attempt_count" < GREATEST(COALESCE(t."max_retries", 3), 1)
                AND (t."expires_at" IS NULL OR t."expires_at" > now())
                AND (t."scheduled_for" IS NULL OR t."scheduled_for" <= now())
            ) IS TRUE
          )
            AND (t."dispatch_pool_id" IS NULL OR jsonb_exists($2::jsonb, (t."dispatch_pool_id")::text))
        )
      ) OVER w AS ok
    FROM (
      SELECT *
        FROM "dispatch_jobs" AS t
        WHERE t."group_key" = g.g
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
        AND t."mode" NOT IN ('IMMEDIATE')
        AND (
          (
            t."mode" IN ('NEXT_ON_ERROR')
              AND ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
              AND t."attempt_count" > 0
              AND (
                COALESCE(t."next_attempt_at", '-infinity') <= now()
                  AND t."attempt_count" < GREATEST(COALESCE(t."max_retries", 3), 1)
              ) IS NOT TRUE
          )
            OR (
              t."mode" NOT IN ('IMMEDIATE', 'NEXT_ON_ERROR')
                AND t."status" = 'ERROR'
                AND t."next_attempt_at" IS NULL
                AND t."expires_at" <= now()
            )
        ) IS NOT TRUE
    
      ORDER BY t."sequence", t."created_at", t."id" LIMIT $3) AS t
    WINDOW w AS (ORDER BY t."sequence", t."created_at", t."id")) AS y
  WHERE y.ok) AS r
WHERE (
  SELECT 1
    FROM "dispatch_jobs" AS t
    WHERE t."group_key" = g.g
    AND CASE
    WHEN t."status" = 'IN_PROGRESS' THEN 'IN_PROGRESS'
    WHEN t."status" = 'ERROR'
    AND t."next_attempt_at" IS NULL THEN 'DEAD'
    WHEN t."status" = 'PENDING' THEN 'PENDING'
    WHEN t."status" = 'CANCELLED' THEN 'CANCELLED'
    WHEN ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
    AND t."attempt_count" >= GREATEST(COALESCE(t."max_retries", 3), 1) THEN 'no attempts left'
    WHEN t."status" = 'ERROR'
    AND t."next_attempt_at" IS NOT NULL THEN 'RETRYING'
    END = 'IN_PROGRESS'
    AND CASE
    WHEN t."status" = 'IN_PROGRESS' THEN NULL
    ELSE t."id"
    END IS NULL
    AND t."group_key" IS NOT NULL
    AND t."mode" NOT IN ('IMMEDIATE')
    LIMIT 1
) IS NULL
ORDER BY g.place, r.ord LIMIT $4),
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
    bool_and(y.n IS NULL OR y.nth <= y.n) OVER (PARTITION BY y.place ORDER BY y.ord) AS ok
  FROM (
    SELECT
      p.*,
      q.n,
      row_number() OVER (PARTITION BY p.pool ORDER BY p.place, p.ord) AS nth
    FROM picked AS p
      LEFT
      JOIN jsonb_to_recordset($5::jsonb) AS q(p text, n bigint)
      ON q.p = p.pool) AS y) AS z
WHERE z.ok),
locked AS MATERIALIZED (
SELECT t."id" AS k FROM "dispatch_jobs" AS t
WHERE t."id" = ANY (ARRAY(SELECT k FROM pick))
  AND (
    (t."status" IS NOT DISTINCT FROM 'QUEUED')
      OR (t."status" IS NOT DISTINCT FROM 'ERROR' AND t."next_attempt_at" IS NOT NULL)
  )
FOR UPDATE SKIP LOCKED),
mine AS MATERIALIZED (
SELECT
  y.k,
  y.place,
  y.ord
FROM (
  SELECT
    p.k,
    p.place,
    p.ord,
    bool_and(l.k IS NOT NULL) OVER (PARTITION BY p.place ORDER BY p.ord) AS ok
  FROM pick AS p LEFT JOIN locked AS l ON l.k = p.k) AS y
WHERE y.ok),
moved AS (
UPDATE "dispatch_jobs" AS t SET
  "status" = 'IN_PROGRESS',
  "last_attempt_at" = CASE
    WHEN t."last_attempt_at"
      BETWEEN now() - interval '1 microseconds'
      AND now() + interval '60 seconds'
      THEN t."last_attempt_at" + interval '1 microseconds'
    ELSE now()
    END,
  "lease_until" = CASE
    WHEN t."lease_until"
      BETWEEN now() + interval '60 seconds' - interval '1 microseconds'
      AND now() + interval '60 seconds' + interval '60 seconds'
      THEN t."lease_until" + interval '1 microseconds'
    ELSE now() + interval '60 seconds'
    END,
  "claimed_by" = LEFT($6::text, 64),
  "updated_at" = now()
WHERE t."id" = ANY (ARRAY(SELECT k FROM mine))
RETURNING
  t."attempt_count",
  t."client_id",
  t."code",
  t."correlation_id",
  t."created_at",
  t."data_only",
  t."dispatch_pool_id",
  t."event_id",
  t."group_key",
  t."headers",
  t."id",
  t."last_attempt_at",
  t."max_retries",
  t."mode",
  t."next_attempt_at",
  t."payload",
  t."payload_content_type",
  t."retry_strategy",
  t."service_account_id",
  t."source",
  t."subject",
  t."subscription_id",
  t."target_url",
  t."timeout_seconds",
  t."traceparent")
SELECT
  (t."id")::text,
  (t."last_attempt_at")::text,
  (t."attempt_count")::text,
  (t."attempt_count")::bigint,
  (t."max_retries")::bigint,
  (t."retry_strategy")::text,
  CASE WHEN t."group_key" IS NOT NULL AND t."mode" NOT IN ('IMMEDIATE') THEN (t."group_key")::text END,
  CASE WHEN t."mode" IN ('NEXT_ON_ERROR') THEN 'next' ELSE 'block' END,
  (t."dispatch_pool_id")::text,
  (t."client_id")::text,
  (
    COALESCE(
      CASE
        WHEN isfinite(t."next_attempt_at")
          THEN floor(extract(epoch FROM now() - t."next_attempt_at") * 1000000)::bigint
        END,
        CASE
          WHEN isfinite(t."created_at")
            THEN floor(extract(epoch FROM now() - t."created_at") * 1000000)::bigint
          END
    )
  )::bigint,
  (
    COALESCE(octet_length(t."service_account_id"), 0)
      + COALESCE(octet_length(t."client_id"), 0)
      + COALESCE(octet_length(t."code"), 0)
      + COALESCE(octet_length(t."payload_content_type"), 0)
      + COALESCE(octet_length(t."correlation_id"), 0)
      + COALESCE(octet_length(t."id"), 0)
      + COALESCE(octet_length(t."event_id"), 0)
      + COALESCE(octet_length(t."headers"), 0)
      + COALESCE(octet_length(t."payload"), 0)
      + COALESCE(octet_length(t."source"), 0)
      + COALESCE(octet_length(t."subject"), 0)
      + COALESCE(octet_length(t."subscription_id"), 0)
      + COALESCE(octet_length(t."traceparent"), 0)
      + COALESCE(octet_length(t."target_url"), 0)
  )::bigint,
  CASE WHEN octet_length(t."service_account_id") <= 65536 THEN (t."service_account_id")::text END,
  CASE WHEN octet_length(t."client_id") <= 65536 THEN (t."client_id")::text END,
  CASE WHEN octet_length(t."code") <= 65536 THEN (t."code")::text END,
  CASE WHEN octet_length(t."payload_content_type") <= 65536 THEN (t."payload_content_type")::text END,
  CASE WHEN octet_length(t."correlation_id") <= 65536 THEN (t."correlation_id")::text END,
  CASE WHEN t."data_only" THEN 'true' WHEN NOT t."data_only" THEN 'false' END,
  CASE WHEN octet_length(t."id") <= 65536 THEN (t."id")::text END,
  CASE WHEN octet_length(t."event_id") <= 65536 THEN (t."event_id")::text END,
  CASE WHEN octet_length(t."headers") <= 65536 THEN (t."headers")::text END,
  CASE WHEN octet_length(t."payload") <= 65536 THEN (t."payload")::text END,
  CASE WHEN octet_length(t."source") <= 65536 THEN (t."source")::text END,
  CASE WHEN octet_length(t."subject") <= 65536 THEN (t."subject")::text END,
  CASE WHEN octet_length(t."subscription_id") <= 65536 THEN (t."subscription_id")::text END,
  (t."created_at")::text,
  (t."timeout_seconds")::text,
  CASE WHEN octet_length(t."traceparent") <= 65536 THEN (t."traceparent")::text END,
  CASE WHEN octet_length(t."target_url") <= 65536 THEN (t."target_url")::text END
FROM moved AS t JOIN mine AS p ON p.k = t."id"
WHERE (SELECT set_config('synchronous_commit', 'off', true)) IS NOT NULL
ORDER BY p.place, p.ord;

-- deliver: claim groups from the start, limited 1, step 5: [Held] -> Nothing
UPDATE postrider_pools AS b SET free_at = GREATEST(
  CASE
    WHEN b.free_at
      > extract(epoch FROM statement_timestamp())::float8
        + (CEIL(p."rate_per_minute" / 60.0) + 1)
          * (
            60.0
              / NULLIF(
                CASE
                  WHEN p."rate_per_minute" > 60 THEN p."rate_per_minute" - CEIL(p."rate_per_minute" / 60.0)
                  ELSE p."rate_per_minute"
                  END,
                  0
              )
          )::float8
      THEN 0
    ELSE COALESCE(b.free_at, 0)
    END,
    extract(epoch FROM statement_timestamp())::float8
)
  + x.n
    * (
      60.0
        / NULLIF(
          CASE
            WHEN p."rate_per_minute" > 60 THEN p."rate_per_minute" - CEIL(p."rate_per_minute" / 60.0)
            ELSE p."rate_per_minute"
            END,
            0
        )
    )::float8
FROM (
  SELECT
    t."dispatch_pool_id" AS pool,
    count(*) AS n
  FROM "dispatch_jobs" AS t
    WHERE t."id" = ANY (($1::text[])::varchar[])
    AND t."dispatch_pool_id" IS NOT NULL
    GROUP BY t."dispatch_pool_id"
) AS x
  JOIN "dispatch_pools" AS p
  ON p."id" = x.pool
  AND p."rate_per_minute" > 0
WHERE b.pool = x.pool;

-- deliver: claim groups from the cursor, limited 1, step 1: [Pools] -> Keys
SELECT b.pool FROM postrider_pools AS b WHERE b.pool = ANY ($1::text[]) ORDER BY b.pool
FOR UPDATE SKIP LOCKED;

-- deliver: claim groups from the cursor, limited 1, step 2: [Held] -> Permits
SELECT
  (p."id")::text,
  (
    CASE
      WHEN p."paused" THEN 0
      ELSE LEAST(
        1000000,
          CASE
            WHEN p."concurrency" IS NULL THEN 1000000
            ELSE GREATEST(
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
                        AND t."attempt_count" >= GREATEST(COALESCE(t."max_retries", 3), 1)
                          THEN 'no attempts left'
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
                          AND t."attempt_count" >= GREATEST(COALESCE(t."max_retries", 3), 1)
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
            ELSE GREATEST(
              0,
                CEIL(p."rate_per_minute" / 60.0)
                  - CEIL(
                    (
                      GREATEST(
                        CASE
                          WHEN b.free_at
                            > extract(epoch FROM statement_timestamp())::float8
                              + (CEIL(p."rate_per_minute" / 60.0) + 1)
                                * (
                                  60.0
                                    / NULLIF(
                                      CASE
                                        WHEN p."rate_per_minute"
                                          > 60
                                          THEN p."rate_per_minute" - CEIL(p."rate_per_minute" / 60.0)
                                        ELSE p."rate_per_minute"
                                        END,
                                        0
                                    )
                                )::float8
                            THEN 0
                          ELSE COALESCE(b.free_at, 0)
                          END,
                          extract(epoch FROM statement_timestamp())::float8
                      )
                        - extract(epoch FROM statement_timestamp())::float8
                    )
                      / (
                        60.0
                          / NULLIF(
                            CASE
                              WHEN p."rate_per_minute"
                                > 60
                                THEN p."rate_per_minute" - CEIL(p."rate_per_minute" / 60.0)
                              ELSE p."rate_per_minute"
                              END,
                              0
                          )
                      )::float8
                  )
            )
            END
      )
      END
  )::bigint
FROM postrider_pools AS b JOIN "dispatch_pools" AS p ON p."id" = b.pool
WHERE b.pool = ANY ($1::text[]);

-- deliver: claim groups from the cursor, limited 1, step 3: [Open, Cursor, Fresh, GroupsWanted, Jumps] ->
--   Groups
SELECT
  (c.g)::text,
  c.kind
FROM (
  WITH RECURSIVE ring AS (
    (
      SELECT
        t."group_key" AS g,
        CASE
          WHEN (
            (
              t."mode" IN ('NEXT_ON_ERROR')
                AND ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
                AND t."attempt_count" > 0
                AND (
                  COALESCE(t."next_attempt_at", '-infinity') <= now()
                    AND t."attempt_count" < GREATEST(COALESCE(t."max_retries", 3), 1)
                ) IS NOT TRUE
            )
              OR (
                t."mode" NOT IN ('IMMEDIATE', 'NEXT_ON_ERROR')
                  AND t."status" = 'ERROR'
                  AND t."next_attempt_at" IS NULL
                  AND t."expires_at" <= now()
              )
          ) IS NOT TRUE
            THEN (
              (
                (
                  ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
                    AND COALESCE(t."next_attempt_at", '-infinity') <= now()
                    AND t."attempt_count" < GREATEST(COALESCE(t."max_retries", 3), 1)
                    AND (t."expires_at" IS NULL OR t."expires_at" > now())
                    AND (t."scheduled_for" IS NULL OR t."scheduled_for" <= now())
                ) IS TRUE
              )
                AND (t."dispatch_pool_id" IS NULL OR jsonb_exists($1::jsonb, (t."dispatch_pool_id")::text))
            )
          END AS ok
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
      AND t."mode" NOT IN ('IMMEDIATE')
      AND t."group_key" > ($2::text)::text
    ORDER BY t."group_key", t."sequence", t."created_at", t."id" LIMIT 1)
    UNION ALL
    SELECT
      n.g,
      n.ok
    FROM ring AS r CROSS JOIN LATERAL (
    SELECT
      t."group_key" AS g,
      CASE
        WHEN (
          (
            t."mode" IN ('NEXT_ON_ERROR')
              AND ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
              AND t."attempt_count" > 0
              AND (
                COALESCE(t."next_attempt_at", '-infinity') <= now()
                  AND t."attempt_count" < GREATEST(COALESCE(t."max_retries", 3), 1)
              ) IS NOT TRUE
          )
            OR (
              t."mode" NOT IN ('IMMEDIATE', 'NEXT_ON_ERROR')
                AND t."status" = 'ERROR'
                AND t."next_attempt_at" IS NULL
                AND t."expires_at" <= now()
            )
        ) IS NOT TRUE
          THEN (
            (
              (
                ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
                  AND COALESCE(t."next_attempt_at", '-infinity') <= now()
                  AND t."attempt_count" < GREATEST(COALESCE(t."max_retries", 3), 1)
                  AND (t."expires_at" IS NULL OR t."expires_at" > now())
                  AND (t."scheduled_for" IS NULL OR t."scheduled_for" <= now())
              ) IS TRUE
            )
              AND (t."dispatch_pool_id" IS NULL OR jsonb_exists($1::jsonb, (t."dispatch_pool_id")::text))
          )
        END AS ok
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
      AND t."mode" NOT IN ('IMMEDIATE')
      AND t."group_key" > r.g
    ORDER BY t."group_key", t."sequence", t."created_at", t."id" LIMIT 1) AS n),
  fresh AS MATERIALIZED (
    SELECT DISTINCT f.g FROM (
    SELECT f.g FROM (WITH RECURSIVE shares AS (
(
  SELECT (
    CASE
      WHEN t."group_key" IS NOT NULL
      AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
      ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
      END
  ) AS s
    FROM "dispatch_jobs" AS t
    WHERE ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
    AND (
      CASE
        WHEN t."group_key" IS NOT NULL
        AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
        ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
        END
    ) >= 'o'
    ORDER BY (
      CASE
        WHEN t."group_key" IS NOT NULL
        AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
        ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
        END
    )
    LIMIT 1
)
UNION ALL
SELECT n.s FROM shares AS r CROSS JOIN LATERAL (
SELECT (
  CASE
    WHEN t."group_key" IS NOT NULL
    AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
    ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
    END
) AS s
  FROM "dispatch_jobs" AS t
  WHERE ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
  AND (
    CASE
      WHEN t."group_key" IS NOT NULL
      AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
      ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
      END
  ) >= 'o'
  AND (
    CASE
      WHEN t."group_key" IS NOT NULL
      AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
      ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
      END
  )
    > r.s
  ORDER BY (
    CASE
      WHEN t."group_key" IS NOT NULL
      AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
      ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
      END
  )
  LIMIT 1) AS n)
SELECT
  n.g,
  n.k
FROM (SELECT s FROM shares LIMIT 1000) AS r CROSS JOIN LATERAL (
SELECT
  t."group_key" AS g,
  CASE
    WHEN t."group_key" IS NOT NULL
    AND t."mode" NOT IN ('IMMEDIATE') THEN COALESCE(t."next_attempt_at", t."created_at")
    ELSE '-infinity'
    END AS k
FROM "dispatch_jobs" AS t
  WHERE (
    CASE
      WHEN t."group_key" IS NOT NULL
      AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
      ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
      END
  ) = r.s
  AND ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
  AND CASE
  WHEN t."group_key" IS NOT NULL
  AND t."mode" NOT IN ('IMMEDIATE') THEN COALESCE(t."next_attempt_at", t."created_at")
  ELSE '-infinity'
  END > '-infinity'
  AND CASE
  WHEN t."group_key" IS NOT NULL
  AND t."mode" NOT IN ('IMMEDIATE') THEN COALESCE(t."next_attempt_at", t."created_at")
  ELSE '-infinity'
  END <= now()
  ORDER BY CASE
  WHEN t."group_key" IS NOT NULL
  AND t."mode" NOT IN ('IMMEDIATE') THEN COALESCE(t."next_attempt_at", t."created_at")
  ELSE '-infinity'
  END DESC
  LIMIT $3) AS n) AS f
  ORDER BY f.k DESC
  LIMIT $3) AS f),
  seen AS (
    (SELECT g, ok, 1 AS kind FROM ring LIMIT $4 * 4)
    UNION ALL SELECT (array_agg(l.g))[($4 * 4)::int], NULL, 3 FROM (SELECT g FROM ring LIMIT $4 * 4) AS l
    UNION ALL SELECT g, NULL, 0 FROM fresh
    UNION ALL (SELECT g, ok, 1 FROM ring OFFSET $4 * 4 LIMIT $5)
    UNION ALL SELECT (array_agg(l.g))[($5)::int],
      NULL,
      2 FROM (SELECT g FROM ring OFFSET $4 * 4 LIMIT $5) AS l)
  SELECT
    s.g,
    s.kind,
    CASE WHEN s.kind >= 2 THEN TRUE WHEN COALESCE(s.ok, head.ok) THEN
    pg_try_advisory_xact_lock(
      hashtext('"dispatch_jobs"'::regclass::oid::text || '/deliver'), hashtext((s.g)::text)
    )
      END AS mine
  FROM seen AS s LEFT JOIN LATERAL (
    SELECT (
      (
        (
          ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
            AND COALESCE(t."next_attempt_at", '-infinity') <= now()
            AND t."attempt_count" < GREATEST(COALESCE(t."max_retries", 3), 1)
            AND (t."expires_at" IS NULL OR t."expires_at" > now())
            AND (t."scheduled_for" IS NULL OR t."scheduled_for" <= now())
        ) IS TRUE
      )
        AND (t."dispatch_pool_id" IS NULL OR jsonb_exists($1::jsonb, (t."dispatch_pool_id")::text))
    ) AS ok
      FROM "dispatch_jobs" AS t
    WHERE s.ok IS NULL
      AND s.kind < 2
      AND t."group_key" = s.g
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
      AND t."mode" NOT IN ('IMMEDIATE')
      AND (
        (
          t."mode" IN ('NEXT_ON_ERROR')
            AND ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
            AND t."attempt_count" > 0
            AND (
              COALESCE(t."next_attempt_at", '-infinity') <= now()
                AND t."attempt_count" < GREATEST(COALESCE(t."max_retries", 3), 1)
            ) IS NOT TRUE
        )
          OR (
            t."mode" NOT IN ('IMMEDIATE', 'NEXT_ON_ERROR')
              AND t."status" = 'ERROR'
              AND t."next_attempt_at" IS NULL
              AND t."expires_at" <= now()
          )
      ) IS NOT TRUE
    ORDER BY t."sequence", t."created_at", t."id" LIMIT 1) AS head ON TRUE
  OFFSET 0) AS c
WHERE c.mine
LIMIT $4 + 1;

-- deliver: claim groups from the cursor, limited 1, step 4: [Groups, Open, Run, Limit, Permits, Owner] ->
--   Rows
WITH picked AS MATERIALIZED (
SELECT
  r.k,
  g.place,
  r.ord,
  r.pool
FROM unnest(($1::text[])::text[]) WITH ORDINALITY AS g(g, place)
CROSS JOIN LATERAL (
  SELECT
    y.k,
    y.ord,
    y.pool
  FROM (
    SELECT
      t."id" AS k,
      (t."dispatch_pool_id")::text AS pool,
      row_number() OVER w AS ord,
      bool_and(
        (
          (
            (
              ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
                AND COALESCE(t."next_attempt_at", '-infinity') <= now()
                AND t."attempt_count" < GREATEST(COALESCE(t."max_retries", 3), 1)
                AND (t."expires_at" IS NULL OR t."expires_at" > now())
                AND (t."scheduled_for" IS NULL OR t."scheduled_for" <= now())
            ) IS TRUE
          )
            AND (t."dispatch_pool_id" IS NULL OR jsonb_exists($2::jsonb, (t."dispatch_pool_id")::text))
        )
      ) OVER w AS ok
    FROM (
      SELECT *
        FROM "dispatch_jobs" AS t
        WHERE t."group_key" = g.g
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
        AND t."mode" NOT IN ('IMMEDIATE')
        AND (
          (
            t."mode" IN ('NEXT_ON_ERROR')
              AND ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
              AND t."attempt_count" > 0
              AND (
                COALESCE(t."next_attempt_at", '-infinity') <= now()
                  AND t."attempt_count" < GREATEST(COALESCE(t."max_retries", 3), 1)
              ) IS NOT TRUE
          )
            OR (
              t."mode" NOT IN ('IMMEDIATE', 'NEXT_ON_ERROR')
                AND t."status" = 'ERROR'
                AND t."next_attempt_at" IS NULL
                AND t."expires_at" <= now()
            )
        ) IS NOT TRUE
    
      ORDER BY t."sequence", t."created_at", t."id" LIMIT $3) AS t
    WINDOW w AS (ORDER BY t."sequence", t."created_at", t."id")) AS y
  WHERE y.ok) AS r
WHERE (
  SELECT 1
    FROM "dispatch_jobs" AS t
    WHERE t."group_key" = g.g
    AND CASE
    WHEN t."status" = 'IN_PROGRESS' THEN 'IN_PROGRESS'
    WHEN t."status" = 'ERROR'
    AND t."next_attempt_at" IS NULL THEN 'DEAD'
    WHEN t."status" = 'PENDING' THEN 'PENDING'
    WHEN t."status" = 'CANCELLED' THEN 'CANCELLED'
    WHEN ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
    AND t."attempt_count" >= GREATEST(COALESCE(t."max_retries", 3), 1) THEN 'no attempts left'
    WHEN t."status" = 'ERROR'
    AND t."next_attempt_at" IS NOT NULL THEN 'RETRYING'
    END = 'IN_PROGRESS'
    AND CASE
    WHEN t."status" = 'IN_PROGRESS' THEN NULL
    ELSE t."id"
    END IS NULL
    AND t."group_key" IS NOT NULL
    AND t."mode" NOT IN ('IMMEDIATE')
    LIMIT 1
) IS NULL
ORDER BY g.place, r.ord LIMIT $4),
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
    bool_and(y.n IS NULL OR y.nth <= y.n) OVER (PARTITION BY y.place ORDER BY y.ord) AS ok
  FROM (
    SELECT
      p.*,
      q.n,
      row_number() OVER (PARTITION BY p.pool ORDER BY p.place, p.ord) AS nth
    FROM picked AS p
      LEFT
      JOIN jsonb_to_recordset($5::jsonb) AS q(p text, n bigint)
      ON q.p = p.pool) AS y) AS z
WHERE z.ok),
locked AS MATERIALIZED (
SELECT t."id" AS k FROM "dispatch_jobs" AS t
WHERE t."id" = ANY (ARRAY(SELECT k FROM pick))
  AND (
    (t."status" IS NOT DISTINCT FROM 'QUEUED')
      OR (t."status" IS NOT DISTINCT FROM 'ERROR' AND t."next_attempt_at" IS NOT NULL)
  )
FOR UPDATE SKIP LOCKED),
mine AS MATERIALIZED (
SELECT
  y.k,
  y.place,
  y.ord
FROM (
  SELECT
    p.k,
    p.place,
    p.ord,
    bool_and(l.k IS NOT NULL) OVER (PARTITION BY p.place ORDER BY p.ord) AS ok
  FROM pick AS p LEFT JOIN locked AS l ON l.k = p.k) AS y
WHERE y.ok),
moved AS (
UPDATE "dispatch_jobs" AS t SET
  "status" = 'IN_PROGRESS',
  "last_attempt_at" = CASE
    WHEN t."last_attempt_at"
      BETWEEN now() - interval '1 microseconds'
      AND now() + interval '60 seconds'
      THEN t."last_attempt_at" + interval '1 microseconds'
    ELSE now()
    END,
  "lease_until" = CASE
    WHEN t."lease_until"
      BETWEEN now() + interval '60 seconds' - interval '1 microseconds'
      AND now() + interval '60 seconds' + interval '60 seconds'
      THEN t."lease_until" + interval '1 microseconds'
    ELSE now() + interval '60 seconds'
    END,
  "claimed_by" = LEFT($6::text, 64),
  "updated_at" = now()
WHERE t."id" = ANY (ARRAY(SELECT k FROM mine))
RETURNING
  t."attempt_count",
  t."client_id",
  t."code",
  t."correlation_id",
  t."created_at",
  t."data_only",
  t."dispatch_pool_id",
  t."event_id",
  t."group_key",
  t."headers",
  t."id",
  t."last_attempt_at",
  t."max_retries",
  t."mode",
  t."next_attempt_at",
  t."payload",
  t."payload_content_type",
  t."retry_strategy",
  t."service_account_id",
  t."source",
  t."subject",
  t."subscription_id",
  t."target_url",
  t."timeout_seconds",
  t."traceparent")
SELECT
  (t."id")::text,
  (t."last_attempt_at")::text,
  (t."attempt_count")::text,
  (t."attempt_count")::bigint,
  (t."max_retries")::bigint,
  (t."retry_strategy")::text,
  CASE WHEN t."group_key" IS NOT NULL AND t."mode" NOT IN ('IMMEDIATE') THEN (t."group_key")::text END,
  CASE WHEN t."mode" IN ('NEXT_ON_ERROR') THEN 'next' ELSE 'block' END,
  (t."dispatch_pool_id")::text,
  (t."client_id")::text,
  (
    COALESCE(
      CASE
        WHEN isfinite(t."next_attempt_at")
          THEN floor(extract(epoch FROM now() - t."next_attempt_at") * 1000000)::bigint
        END,
        CASE
          WHEN isfinite(t."created_at")
            THEN floor(extract(epoch FROM now() - t."created_at") * 1000000)::bigint
          END
    )
  )::bigint,
  (
    COALESCE(octet_length(t."service_account_id"), 0)
      + COALESCE(octet_length(t."client_id"), 0)
      + COALESCE(octet_length(t."code"), 0)
      + COALESCE(octet_length(t."payload_content_type"), 0)
      + COALESCE(octet_length(t."correlation_id"), 0)
      + COALESCE(octet_length(t."id"), 0)
      + COALESCE(octet_length(t."event_id"), 0)
      + COALESCE(octet_length(t."headers"), 0)
      + COALESCE(octet_length(t."payload"), 0)
      + COALESCE(octet_length(t."source"), 0)
      + COALESCE(octet_length(t."subject"), 0)
      + COALESCE(octet_length(t."subscription_id"), 0)
      + COALESCE(octet_length(t."traceparent"), 0)
      + COALESCE(octet_length(t."target_url"), 0)
  )::bigint,
  CASE WHEN octet_length(t."service_account_id") <= 65536 THEN (t."service_account_id")::text END,
  CASE WHEN octet_length(t."client_id") <= 65536 THEN (t."client_id")::text END,
  CASE WHEN octet_length(t."code") <= 65536 THEN (t."code")::text END,
  CASE WHEN octet_length(t."payload_content_type") <= 65536 THEN (t."payload_content_type")::text END,
  CASE WHEN octet_length(t."correlation_id") <= 65536 THEN (t."correlation_id")::text END,
  CASE WHEN t."data_only" THEN 'true' WHEN NOT t."data_only" THEN 'false' END,
  CASE WHEN octet_length(t."id") <= 65536 THEN (t."id")::text END,
  CASE WHEN octet_length(t."event_id") <= 65536 THEN (t."event_id")::text END,
  CASE WHEN octet_length(t."headers") <= 65536 THEN (t."headers")::text END,
  CASE WHEN octet_length(t."payload") <= 65536 THEN (t."payload")::text END,
  CASE WHEN octet_length(t."source") <= 65536 THEN (t."source")::text END,
  CASE WHEN octet_length(t."subject") <= 65536 THEN (t."subject")::text END,
  CASE WHEN octet_length(t."subscription_id") <= 65536 THEN (t."subscription_id")::text END,
  (t."created_at")::text,
  (t."timeout_seconds")::text,
  CASE WHEN octet_length(t."traceparent") <= 65536 THEN (t."traceparent")::text END,
  CASE WHEN octet_length(t."target_url") <= 65536 THEN (t."target_url")::text END
FROM moved AS t JOIN mine AS p ON p.k = t."id"
WHERE (SELECT set_config('synchronous_commit', 'off', true)) IS NOT NULL
ORDER BY p.place, p.ord;

-- deliver: claim groups from the cursor, limited 1, step 5: [Held] -> Nothing
UPDATE postrider_pools AS b SET free_at = GREATEST(
  CASE
    WHEN b.free_at
      > extract(epoch FROM statement_timestamp())::float8
        + (CEIL(p."rate_per_minute" / 60.0) + 1)
          * (
            60.0
              / NULLIF(
                CASE
                  WHEN p."rate_per_minute" > 60 THEN p."rate_per_minute" - CEIL(p."rate_per_minute" / 60.0)
                  ELSE p."rate_per_minute"
                  END,
                  0
              )
          )::float8
      THEN 0
    ELSE COALESCE(b.free_at, 0)
    END,
    extract(epoch FROM statement_timestamp())::float8
)
  + x.n
    * (
      60.0
        / NULLIF(
          CASE
            WHEN p."rate_per_minute" > 60 THEN p."rate_per_minute" - CEIL(p."rate_per_minute" / 60.0)
            ELSE p."rate_per_minute"
            END,
            0
        )
    )::float8
FROM (
  SELECT
    t."dispatch_pool_id" AS pool,
    count(*) AS n
  FROM "dispatch_jobs" AS t
    WHERE t."id" = ANY (($1::text[])::varchar[])
    AND t."dispatch_pool_id" IS NOT NULL
    GROUP BY t."dispatch_pool_id"
) AS x
  JOIN "dispatch_pools" AS p
  ON p."id" = x.pool
  AND p."rate_per_minute" > 0
WHERE b.pool = x.pool;

-- deliver: load: [Ids] -> Other
SELECT
  (t."id")::text,
  (t."service_account_id")::text,
  (t."client_id")::text,
  (t."code")::text,
  (t."payload_content_type")::text,
  (t."correlation_id")::text,
  CASE WHEN t."data_only" THEN 'true' WHEN NOT t."data_only" THEN 'false' END,
  (t."id")::text,
  (t."event_id")::text,
  (t."headers")::text,
  (t."payload")::text,
  (t."source")::text,
  (t."subject")::text,
  (t."subscription_id")::text,
  (t."created_at")::text,
  (t."timeout_seconds")::text,
  (t."traceparent")::text,
  (t."target_url")::text
FROM "dispatch_jobs" AS t
WHERE t."id" = ANY (($1::text[])::varchar[]);

-- deliver: settle delivered, each: [Array(Id), Array(Fence(0)), Array(Fence(1)),
--   Array(Outcome("duration_ms")), Array(Tsid), Array(Outcome("result")), Array(Outcome("status")),
--   Array(Outcome("body")), Array(Reason), Array(Outcome("trace")), Array(Outcome("class"))] -> Keys
WITH moved AS (
UPDATE "dispatch_jobs" AS t SET
  "duration_millis" = COALESCE(t."duration_millis", 0) + COALESCE((v."o_duration_ms")::bigint, 0),
  "status" = 'COMPLETED',
  "lease_until" = NULL,
  "claimed_by" = NULL,
  "attempt_count" = t."attempt_count" + 1,
  "last_error" = NULL,
  "completed_at" = now(),
  "updated_at" = now()
FROM unnest(
  ($1::text[])::varchar[],
    ($2::text[])::timestamptz[],
    ($3::text[])::integer[],
    $4::text[],
    $5::text[],
    $6::text[],
    $7::text[],
    $8::text[],
    $9::text[],
    $10::text[],
    $11::text[]
) AS v("id",
  "f0",
  "f1",
  "o_duration_ms",
  "tsid",
  "o_result",
  "o_status",
  "o_body",
  "reason",
  "o_trace",
  "o_class")
WHERE t."id" = v."id"
  AND t."id" = ANY (($1::text[])::varchar[])
  AND CASE WHEN t."status" IS NOT DISTINCT FROM 'IN_PROGRESS'
    AND t."last_attempt_at" IS NOT DISTINCT FROM v."f0"
    AND t."attempt_count" IS NOT DISTINCT FROM v."f1"
  THEN true ELSE false END
RETURNING
  t."attempt_count",
  t."id",
  t."last_attempt_at",
  v."tsid" AS "postrider tsid",
  v."o_duration_ms" AS "postrider o_duration_ms",
  v."o_result" AS "postrider o_result",
  v."o_status" AS "postrider o_status",
  v."o_body" AS "postrider o_body",
  v."reason" AS "postrider reason",
  v."o_trace" AS "postrider o_trace",
  v."o_class" AS "postrider o_class"),
effect0 AS (
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
  t."postrider tsid",
  t."id",
  t."attempt_count",
  t."last_attempt_at",
  now(),
  (t."postrider o_duration_ms")::bigint,
  LEFT(t."postrider o_result", 32),
  (t."postrider o_status")::integer,
  t."postrider o_body",
  t."postrider reason",
  t."postrider o_trace",
  LEFT(t."postrider o_class", 16),
  now()
FROM moved AS t
WHERE (SELECT set_config('plan_cache_mode', 'auto', true)) IS NOT NULL)
SELECT (t."id")::text
FROM moved AS t;

-- deliver: settle retry, each: [Array(Id), Array(Fence(0)), Array(Fence(1)), Array(Outcome("duration_ms")),
--   Array(Delay), Array(Reason), Array(Tsid), Array(Outcome("result")), Array(Outcome("status")),
--   Array(Outcome("body")), Array(Outcome("trace")), Array(Outcome("class"))] -> Keys
WITH moved AS (
UPDATE "dispatch_jobs" AS t SET
  "duration_millis" = COALESCE(t."duration_millis", 0) + COALESCE((v."o_duration_ms")::bigint, 0),
  "status" = 'ERROR',
  "next_attempt_at" = now() + make_interval(secs => v."delay"),
  "lease_until" = NULL,
  "claimed_by" = NULL,
  "attempt_count" = t."attempt_count" + 1,
  "last_error" = v."reason",
  "updated_at" = now()
FROM unnest(
  ($1::text[])::varchar[],
    ($2::text[])::timestamptz[],
    ($3::text[])::integer[],
    $4::text[],
    $5::float8[],
    $6::text[],
    $7::text[],
    $8::text[],
    $9::text[],
    $10::text[],
    $11::text[],
    $12::text[]
) AS v("id",
  "f0",
  "f1",
  "o_duration_ms",
  "delay",
  "reason",
  "tsid",
  "o_result",
  "o_status",
  "o_body",
  "o_trace",
  "o_class")
WHERE t."id" = v."id"
  AND t."id" = ANY (($1::text[])::varchar[])
  AND CASE WHEN t."status" IS NOT DISTINCT FROM 'IN_PROGRESS'
    AND t."last_attempt_at" IS NOT DISTINCT FROM v."f0"
    AND t."attempt_count" IS NOT DISTINCT FROM v."f1"
  THEN true ELSE false END
RETURNING
  t."attempt_count",
  t."id",
  t."last_attempt_at",
  v."tsid" AS "postrider tsid",
  v."o_duration_ms" AS "postrider o_duration_ms",
  v."o_result" AS "postrider o_result",
  v."o_status" AS "postrider o_status",
  v."o_body" AS "postrider o_body",
  v."reason" AS "postrider reason",
  v."o_trace" AS "postrider o_trace",
  v."o_class" AS "postrider o_class"),
effect0 AS (
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
  t."postrider tsid",
  t."id",
  t."attempt_count",
  t."last_attempt_at",
  now(),
  (t."postrider o_duration_ms")::bigint,
  LEFT(t."postrider o_result", 32),
  (t."postrider o_status")::integer,
  t."postrider o_body",
  t."postrider reason",
  t."postrider o_trace",
  LEFT(t."postrider o_class", 16),
  now()
FROM moved AS t
WHERE (SELECT set_config('plan_cache_mode', 'auto', true)) IS NOT NULL)
SELECT (t."id")::text
FROM moved AS t;

-- deliver: settle dead, each: [Array(Id), Array(Fence(0)), Array(Fence(1)), Array(Outcome("duration_ms")),
--   Array(Reason), Array(Tsid), Array(Outcome("result")), Array(Outcome("status")), Array(Outcome("body")),
--   Array(Outcome("trace")), Array(Outcome("class"))] -> Keys
WITH moved AS (
UPDATE "dispatch_jobs" AS t SET
  "duration_millis" = COALESCE(t."duration_millis", 0) + COALESCE((v."o_duration_ms")::bigint, 0),
  "status" = 'ERROR',
  "next_attempt_at" = NULL,
  "lease_until" = NULL,
  "claimed_by" = NULL,
  "attempt_count" = t."attempt_count" + 1,
  "last_error" = v."reason",
  "updated_at" = now()
FROM unnest(
  ($1::text[])::varchar[],
    ($2::text[])::timestamptz[],
    ($3::text[])::integer[],
    $4::text[],
    $5::text[],
    $6::text[],
    $7::text[],
    $8::text[],
    $9::text[],
    $10::text[],
    $11::text[]
) AS v("id",
  "f0",
  "f1",
  "o_duration_ms",
  "reason",
  "tsid",
  "o_result",
  "o_status",
  "o_body",
  "o_trace",
  "o_class")
WHERE t."id" = v."id"
  AND t."id" = ANY (($1::text[])::varchar[])
  AND CASE WHEN t."status" IS NOT DISTINCT FROM 'IN_PROGRESS'
    AND t."last_attempt_at" IS NOT DISTINCT FROM v."f0"
    AND t."attempt_count" IS NOT DISTINCT FROM v."f1"
  THEN true ELSE false END
RETURNING
  t."attempt_count",
  t."id",
  t."last_attempt_at",
  v."tsid" AS "postrider tsid",
  v."o_duration_ms" AS "postrider o_duration_ms",
  v."o_result" AS "postrider o_result",
  v."o_status" AS "postrider o_status",
  v."o_body" AS "postrider o_body",
  v."reason" AS "postrider reason",
  v."o_trace" AS "postrider o_trace",
  v."o_class" AS "postrider o_class"),
effect0 AS (
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
  t."postrider tsid",
  t."id",
  t."attempt_count",
  t."last_attempt_at",
  now(),
  (t."postrider o_duration_ms")::bigint,
  LEFT(t."postrider o_result", 32),
  (t."postrider o_status")::integer,
  t."postrider o_body",
  t."postrider reason",
  t."postrider o_trace",
  LEFT(t."postrider o_class", 16),
  now()
FROM moved AS t
WHERE (SELECT set_config('plan_cache_mode', 'auto', true)) IS NOT NULL)
SELECT (t."id")::text
FROM moved AS t;

-- deliver: settle rejected, each: [Array(Id), Array(Fence(0)), Array(Fence(1)),
--   Array(Outcome("duration_ms")), Array(Reason), Array(Tsid), Array(Outcome("result")),
--   Array(Outcome("status")), Array(Outcome("body")), Array(Outcome("trace")), Array(Outcome("class"))] ->
--   Keys
WITH moved AS (
UPDATE "dispatch_jobs" AS t SET
  "duration_millis" = COALESCE(t."duration_millis", 0) + COALESCE((v."o_duration_ms")::bigint, 0),
  "status" = 'ERROR',
  "next_attempt_at" = NULL,
  "lease_until" = NULL,
  "claimed_by" = NULL,
  "attempt_count" = t."attempt_count" + 1,
  "last_error" = v."reason",
  "updated_at" = now()
FROM unnest(
  ($1::text[])::varchar[],
    ($2::text[])::timestamptz[],
    ($3::text[])::integer[],
    $4::text[],
    $5::text[],
    $6::text[],
    $7::text[],
    $8::text[],
    $9::text[],
    $10::text[],
    $11::text[]
) AS v("id",
  "f0",
  "f1",
  "o_duration_ms",
  "reason",
  "tsid",
  "o_result",
  "o_status",
  "o_body",
  "o_trace",
  "o_class")
WHERE t."id" = v."id"
  AND t."id" = ANY (($1::text[])::varchar[])
  AND CASE WHEN t."status" IS NOT DISTINCT FROM 'IN_PROGRESS'
    AND t."last_attempt_at" IS NOT DISTINCT FROM v."f0"
    AND t."attempt_count" IS NOT DISTINCT FROM v."f1"
  THEN true ELSE false END
RETURNING
  t."attempt_count",
  t."id",
  t."last_attempt_at",
  v."tsid" AS "postrider tsid",
  v."o_duration_ms" AS "postrider o_duration_ms",
  v."o_result" AS "postrider o_result",
  v."o_status" AS "postrider o_status",
  v."o_body" AS "postrider o_body",
  v."reason" AS "postrider reason",
  v."o_trace" AS "postrider o_trace",
  v."o_class" AS "postrider o_class"),
effect0 AS (
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
  t."postrider tsid",
  t."id",
  t."attempt_count",
  t."last_attempt_at",
  now(),
  (t."postrider o_duration_ms")::bigint,
  LEFT(t."postrider o_result", 32),
  (t."postrider o_status")::integer,
  t."postrider o_body",
  t."postrider reason",
  t."postrider o_trace",
  LEFT(t."postrider o_class", 16),
  now()
FROM moved AS t
WHERE (SELECT set_config('plan_cache_mode', 'auto', true)) IS NOT NULL)
SELECT (t."id")::text
FROM moved AS t;

-- deliver: settle skipped, uniform: [One(Outcome("duration_ms")), One(Reason), Ids, One(Fence(0)),
--   One(Fence(1))] -> Keys
UPDATE "dispatch_jobs" AS t SET
  "duration_millis" = COALESCE(t."duration_millis", 0) + COALESCE(($1::text)::bigint, 0),
  "status" = 'ERROR',
  "next_attempt_at" = NULL,
  "lease_until" = NULL,
  "claimed_by" = NULL,
  "attempt_count" = t."attempt_count" + 1,
  "last_error" = $2::text,
  "updated_at" = now()
WHERE t."id" = ANY (($3::text[])::varchar[])
  AND t."status" IS NOT DISTINCT FROM 'IN_PROGRESS'
  AND t."last_attempt_at" IS NOT DISTINCT FROM ($4::text)::timestamptz
  AND t."attempt_count" IS NOT DISTINCT FROM ($5::text)::integer
RETURNING (t."id")::text;

-- deliver: settle skipped, each: [Array(Id), Array(Fence(0)), Array(Fence(1)), Array(Outcome("duration_ms")),
--   Array(Reason)] -> Keys
UPDATE "dispatch_jobs" AS t SET
  "duration_millis" = COALESCE(t."duration_millis", 0) + COALESCE((v."o_duration_ms")::bigint, 0),
  "status" = 'ERROR',
  "next_attempt_at" = NULL,
  "lease_until" = NULL,
  "claimed_by" = NULL,
  "attempt_count" = t."attempt_count" + 1,
  "last_error" = v."reason",
  "updated_at" = now()
FROM unnest(
  ($1::text[])::varchar[], ($2::text[])::timestamptz[], ($3::text[])::integer[], $4::text[], $5::text[]
) AS v("id", "f0", "f1", "o_duration_ms", "reason")
WHERE t."id" = v."id"
  AND t."id" = ANY (($1::text[])::varchar[])
  AND CASE WHEN t."status" IS NOT DISTINCT FROM 'IN_PROGRESS'
    AND t."last_attempt_at" IS NOT DISTINCT FROM v."f0"
    AND t."attempt_count" IS NOT DISTINCT FROM v."f1"
  THEN true ELSE false END
RETURNING (t."id")::text;

-- deliver: settle deferred, uniform: [One(Reason), One(Delay), Ids, One(Fence(0)), One(Fence(1))] -> Keys
UPDATE "dispatch_jobs" AS t SET
  "last_error" = COALESCE($1::text, t."last_error"),
  "status" = CASE WHEN COALESCE(t."attempt_count", 0) = 0 THEN 'QUEUED' ELSE 'ERROR' END,
  "next_attempt_at" = now() + make_interval(secs => $2::float8),
  "lease_until" = NULL,
  "claimed_by" = NULL,
  "updated_at" = now()
WHERE t."id" = ANY (($3::text[])::varchar[])
  AND t."status" IS NOT DISTINCT FROM 'IN_PROGRESS'
  AND t."last_attempt_at" IS NOT DISTINCT FROM ($4::text)::timestamptz
  AND t."attempt_count" IS NOT DISTINCT FROM ($5::text)::integer
RETURNING (t."id")::text;

-- deliver: settle deferred, each: [Array(Id), Array(Fence(0)), Array(Fence(1)), Array(Reason), Array(Delay)]
--   -> Keys
UPDATE "dispatch_jobs" AS t SET
  "last_error" = COALESCE(v."reason", t."last_error"),
  "status" = CASE WHEN COALESCE(t."attempt_count", 0) = 0 THEN 'QUEUED' ELSE 'ERROR' END,
  "next_attempt_at" = now() + make_interval(secs => v."delay"),
  "lease_until" = NULL,
  "claimed_by" = NULL,
  "updated_at" = now()
FROM unnest(
  ($1::text[])::varchar[], ($2::text[])::timestamptz[], ($3::text[])::integer[], $4::text[], $5::float8[]
) AS v("id", "f0", "f1", "reason", "delay")
WHERE t."id" = v."id"
  AND t."id" = ANY (($1::text[])::varchar[])
  AND CASE WHEN t."status" IS NOT DISTINCT FROM 'IN_PROGRESS'
    AND t."last_attempt_at" IS NOT DISTINCT FROM v."f0"
    AND t."attempt_count" IS NOT DISTINCT FROM v."f1"
  THEN true ELSE false END
RETURNING (t."id")::text;

-- deliver: settle released, uniform: [Ids, One(Fence(0)), One(Fence(1))] -> Keys
UPDATE "dispatch_jobs" AS t SET
  "status" = CASE WHEN COALESCE(t."attempt_count", 0) = 0 THEN 'QUEUED' ELSE 'ERROR' END,
  "next_attempt_at" = COALESCE(t."next_attempt_at", now()),
  "lease_until" = NULL,
  "claimed_by" = NULL,
  "updated_at" = now()
WHERE t."id" = ANY (($1::text[])::varchar[])
  AND t."status" IS NOT DISTINCT FROM 'IN_PROGRESS'
  AND t."last_attempt_at" IS NOT DISTINCT FROM ($2::text)::timestamptz
  AND t."attempt_count" IS NOT DISTINCT FROM ($3::text)::integer
RETURNING (t."id")::text;

-- deliver: settle released, each: [Array(Id), Array(Fence(0)), Array(Fence(1))] -> Keys
UPDATE "dispatch_jobs" AS t SET
  "status" = CASE WHEN COALESCE(t."attempt_count", 0) = 0 THEN 'QUEUED' ELSE 'ERROR' END,
  "next_attempt_at" = COALESCE(t."next_attempt_at", now()),
  "lease_until" = NULL,
  "claimed_by" = NULL,
  "updated_at" = now()
FROM unnest(
  ($1::text[])::varchar[], ($2::text[])::timestamptz[], ($3::text[])::integer[]
) AS v("id", "f0", "f1")
WHERE t."id" = v."id"
  AND t."id" = ANY (($1::text[])::varchar[])
  AND CASE WHEN t."status" IS NOT DISTINCT FROM 'IN_PROGRESS'
    AND t."last_attempt_at" IS NOT DISTINCT FROM v."f0"
    AND t."attempt_count" IS NOT DISTINCT FROM v."f1"
  THEN true ELSE false END
RETURNING (t."id")::text;

-- deliver: extend: [Array(Id), Array(Fence(0)), Array(Fence(1))] -> Leases
UPDATE "dispatch_jobs" AS t SET
  "lease_until" = CASE
    WHEN t."lease_until"
      BETWEEN now() + interval '60 seconds' - interval '1 microseconds'
      AND now() + interval '60 seconds' + interval '60 seconds'
      THEN t."lease_until" + interval '1 microseconds'
    ELSE now() + interval '60 seconds'
    END,
  "updated_at" = now()
FROM unnest(
  ($1::text[])::varchar[], ($2::text[])::timestamptz[], ($3::text[])::integer[]
) AS v("id", "f0", "f1")
WHERE t."id" = v."id"
  AND t."id" = ANY (($1::text[])::varchar[])
  AND CASE WHEN t."status" IS NOT DISTINCT FROM 'IN_PROGRESS'
    AND t."last_attempt_at" IS NOT DISTINCT FROM v."f0"
    AND t."attempt_count" IS NOT DISTINCT FROM v."f1"
  THEN true ELSE false END
RETURNING
  (t."id")::text,
  (t."last_attempt_at")::text,
  (t."attempt_count")::text;

-- deliver: stamp: [Limit] -> Keys
WITH pick AS MATERIALIZED (
SELECT t."id" AS k
FROM "dispatch_jobs" AS t
WHERE t."status" = 'IN_PROGRESS'
  AND CASE
    WHEN t."status" = 'IN_PROGRESS' THEN 'IN_PROGRESS'
    WHEN t."status" = 'ERROR'
    AND t."next_attempt_at" IS NULL THEN 'DEAD'
    WHEN t."status" = 'PENDING' THEN 'PENDING'
    WHEN t."status" = 'CANCELLED' THEN 'CANCELLED'
    WHEN ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
    AND t."attempt_count" >= GREATEST(COALESCE(t."max_retries", 3), 1) THEN 'no attempts left'
    WHEN t."status" = 'ERROR'
    AND t."next_attempt_at" IS NOT NULL THEN 'RETRYING'
    END = 'IN_PROGRESS'
    AND CASE
    WHEN t."status" = 'IN_PROGRESS' THEN NULL
    ELSE t."id"
    END IS NULL
  AND t."last_attempt_at" IS NULL
  AND t."lease_until" IS NULL
LIMIT $1
FOR UPDATE SKIP LOCKED),
moved AS (
UPDATE "dispatch_jobs" AS t SET "last_attempt_at" = now()
WHERE t."id" = ANY (ARRAY(SELECT k FROM pick))
RETURNING t."id")
SELECT (t."id")::text
FROM moved AS t;

-- deliver: leases that still hold: [Array(Id), Array(Fence(0)), Array(Fence(1))] -> Keys
SELECT (t."id")::text
FROM "dispatch_jobs" AS t,
  unnest(($1::text[])::varchar[], ($2::text[])::timestamptz[], ($3::text[])::integer[]) AS v("id", "f0", "f1")
WHERE t."id" = v."id"
  AND t."id" = ANY (($1::text[])::varchar[])
  AND CASE WHEN t."status" IS NOT DISTINCT FROM 'IN_PROGRESS'
    AND t."last_attempt_at" IS NOT DISTINCT FROM v."f0"
    AND t."attempt_count" IS NOT DISTINCT FROM v."f1"
  THEN true ELSE false END
  AND (
    (
      t."lease_until" < now()
        OR (t."lease_until" IS NULL AND t."last_attempt_at" < now() - interval '300 seconds')
    )
  ) IS NOT TRUE;

-- deliver: look for rows of a lost claim: [Owner] -> Keys
SELECT (t."id")::text
FROM "dispatch_jobs" AS t
WHERE t."status" = 'IN_PROGRESS'
  AND t."claimed_by" = $1::text;

-- deliver: release rows of a lost claim: [Ids, Owner] -> Keys
WITH pick AS MATERIALIZED (
SELECT t."id" AS k
FROM "dispatch_jobs" AS t
WHERE t."id" = ANY (($1::text[])::varchar[])
  AND t."status" IS NOT DISTINCT FROM 'IN_PROGRESS'
  AND t."claimed_by" = $2::text
FOR UPDATE),
moved AS (
UPDATE "dispatch_jobs" AS t SET
  "status" = CASE WHEN COALESCE(t."attempt_count", 0) = 0 THEN 'QUEUED' ELSE 'ERROR' END,
  "next_attempt_at" = COALESCE(t."next_attempt_at", now()),
  "lease_until" = NULL,
  "claimed_by" = NULL,
  "updated_at" = now()
WHERE t."id" = ANY (ARRAY(SELECT k FROM pick))
RETURNING t."id")
SELECT (t."id")::text
FROM moved AS t;

-- deliver: look for expired leases: [Limit] -> Other
SELECT
  (t."id")::text,
  (t."last_attempt_at")::text,
  (t."attempt_count")::text,
  CASE WHEN t."attempt_count" + 1 >= GREATEST(COALESCE(t."max_retries", 3), 1) THEN 1 ELSE 0 END,
  GREATEST(COALESCE(t."max_retries", 3), 1)
FROM "dispatch_jobs" AS t
WHERE CASE
  WHEN t."status" = 'IN_PROGRESS' THEN 'IN_PROGRESS'
  WHEN t."status" = 'ERROR'
  AND t."next_attempt_at" IS NULL THEN 'DEAD'
  WHEN t."status" = 'PENDING' THEN 'PENDING'
  WHEN t."status" = 'CANCELLED' THEN 'CANCELLED'
  WHEN ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
  AND t."attempt_count" >= GREATEST(COALESCE(t."max_retries", 3), 1) THEN 'no attempts left'
  WHEN t."status" = 'ERROR'
  AND t."next_attempt_at" IS NOT NULL THEN 'RETRYING'
  END = 'IN_PROGRESS'
  AND CASE
  WHEN t."status" = 'IN_PROGRESS' THEN NULL
  ELSE t."id"
  END IS NULL
  AND t."status" = 'IN_PROGRESS'
  AND (
    t."lease_until" < now()
      OR (t."lease_until" IS NULL AND t."last_attempt_at" < now() - interval '300 seconds')
  )
LIMIT $1;

-- deliver: reclaim, free: [Ids] -> Keys
WITH pick AS MATERIALIZED (
SELECT t."id" AS k
FROM "dispatch_jobs" AS t
WHERE t."id" = ANY (($1::text[])::varchar[])
  AND t."status" IS NOT DISTINCT FROM 'IN_PROGRESS'
  AND (
    t."lease_until" < now()
      OR (t."lease_until" IS NULL AND t."last_attempt_at" < now() - interval '300 seconds')
  )
FOR UPDATE),
moved AS (
UPDATE "dispatch_jobs" AS t SET
  "status" = CASE WHEN COALESCE(t."attempt_count", 0) = 0 THEN 'QUEUED' ELSE 'ERROR' END,
  "next_attempt_at" = COALESCE(t."next_attempt_at", now()),
  "lease_until" = NULL,
  "claimed_by" = NULL,
  "updated_at" = now()
WHERE t."id" = ANY (ARRAY(SELECT k FROM pick))
RETURNING t."id")
SELECT (t."id")::text
FROM moved AS t;

-- deliver: reclaim, spared, step 1: [Ids] -> Keys
WITH pick AS MATERIALIZED (
SELECT t."id" AS k
FROM "dispatch_jobs" AS t
WHERE t."id" = ANY (($1::text[])::varchar[])
  AND t."status" IS NOT DISTINCT FROM 'IN_PROGRESS'
  AND (
    t."lease_until" < now()
      OR (t."lease_until" IS NULL AND t."last_attempt_at" < now() - interval '300 seconds')
  )
FOR UPDATE),
moved AS (
UPDATE "dispatch_jobs" AS t SET
  "status" = CASE WHEN COALESCE(t."attempt_count", 0) = 0 THEN 'QUEUED' ELSE 'ERROR' END,
  "next_attempt_at" = COALESCE(t."next_attempt_at", now()),
  "lease_until" = NULL,
  "claimed_by" = NULL,
  "updated_at" = now()
WHERE t."id" = ANY (ARRAY(SELECT k FROM pick))
RETURNING t."id")
SELECT (t."id")::text
FROM moved AS t;

-- deliver: reclaim, spared, step 2: [Held] -> Nothing
INSERT INTO postrider_crashes AS c (place, row_id, crashes, crashed_at)
SELECT
  'dispatch_jobs/deliver',
  k,
  1,
  now()
FROM unnest($1::text[]) AS k
ON CONFLICT (place, row_id) DO UPDATE SET
  crashes = c.crashes + 1,
  crashed_at = excluded.crashed_at;

-- deliver: reclaim, charged, step 1: [Ids] -> Keys
WITH pick AS MATERIALIZED (
SELECT t."id" AS k
FROM "dispatch_jobs" AS t
WHERE t."id" = ANY (($1::text[])::varchar[])
  AND t."status" IS NOT DISTINCT FROM 'IN_PROGRESS'
  AND (
    t."lease_until" < now()
      OR (t."lease_until" IS NULL AND t."last_attempt_at" < now() - interval '300 seconds')
  )
FOR UPDATE),
moved AS (
UPDATE "dispatch_jobs" AS t SET
  "status" = 'ERROR',
  "next_attempt_at" = now(),
  "lease_until" = NULL,
  "claimed_by" = NULL,
  "attempt_count" = t."attempt_count" + 1,
  "last_error" = 'lease expired: the worker that held it is gone',
  "updated_at" = now()
WHERE t."id" = ANY (ARRAY(SELECT k FROM pick))
RETURNING
  t."attempt_count",
  t."id",
  t."last_attempt_at"),
effect0 AS (
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
              (floor(extract(epoch FROM now()) * 1000)::bigint)
                - 1577836800000
                + ((row_number() OVER ()) >> 12)
            )
              * 4194304
              + ((floor(extract(epoch FROM now()) * 1000000)::bigint + pg_backend_pid()) & 1023) * 4096
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
                (floor(extract(epoch FROM now()) * 1000)::bigint)
                  - 1577836800000
                  + ((row_number() OVER ()) >> 12)
              )
                * 4194304
                + ((floor(extract(epoch FROM now()) * 1000000)::bigint + pg_backend_pid()) & 1023) * 4096
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
                (floor(extract(epoch FROM now()) * 1000)::bigint)
                  - 1577836800000
                  + ((row_number() OVER ()) >> 12)
              )
                * 4194304
                + ((floor(extract(epoch FROM now()) * 1000000)::bigint + pg_backend_pid()) & 1023) * 4096
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
                (floor(extract(epoch FROM now()) * 1000)::bigint)
                  - 1577836800000
                  + ((row_number() OVER ()) >> 12)
              )
                * 4194304
                + ((floor(extract(epoch FROM now()) * 1000000)::bigint + pg_backend_pid()) & 1023) * 4096
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
                (floor(extract(epoch FROM now()) * 1000)::bigint)
                  - 1577836800000
                  + ((row_number() OVER ()) >> 12)
              )
                * 4194304
                + ((floor(extract(epoch FROM now()) * 1000000)::bigint + pg_backend_pid()) & 1023) * 4096
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
                (floor(extract(epoch FROM now()) * 1000)::bigint)
                  - 1577836800000
                  + ((row_number() OVER ()) >> 12)
              )
                * 4194304
                + ((floor(extract(epoch FROM now()) * 1000000)::bigint + pg_backend_pid()) & 1023) * 4096
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
                (floor(extract(epoch FROM now()) * 1000)::bigint)
                  - 1577836800000
                  + ((row_number() OVER ()) >> 12)
              )
                * 4194304
                + ((floor(extract(epoch FROM now()) * 1000000)::bigint + pg_backend_pid()) & 1023) * 4096
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
                (floor(extract(epoch FROM now()) * 1000)::bigint)
                  - 1577836800000
                  + ((row_number() OVER ()) >> 12)
              )
                * 4194304
                + ((floor(extract(epoch FROM now()) * 1000000)::bigint + pg_backend_pid()) & 1023) * 4096
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
                (floor(extract(epoch FROM now()) * 1000)::bigint)
                  - 1577836800000
                  + ((row_number() OVER ()) >> 12)
              )
                * 4194304
                + ((floor(extract(epoch FROM now()) * 1000000)::bigint + pg_backend_pid()) & 1023) * 4096
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
                (floor(extract(epoch FROM now()) * 1000)::bigint)
                  - 1577836800000
                  + ((row_number() OVER ()) >> 12)
              )
                * 4194304
                + ((floor(extract(epoch FROM now()) * 1000000)::bigint + pg_backend_pid()) & 1023) * 4096
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
                (floor(extract(epoch FROM now()) * 1000)::bigint)
                  - 1577836800000
                  + ((row_number() OVER ()) >> 12)
              )
                * 4194304
                + ((floor(extract(epoch FROM now()) * 1000000)::bigint + pg_backend_pid()) & 1023) * 4096
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
                (floor(extract(epoch FROM now()) * 1000)::bigint)
                  - 1577836800000
                  + ((row_number() OVER ()) >> 12)
              )
                * 4194304
                + ((floor(extract(epoch FROM now()) * 1000000)::bigint + pg_backend_pid()) & 1023) * 4096
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
                (floor(extract(epoch FROM now()) * 1000)::bigint)
                  - 1577836800000
                  + ((row_number() OVER ()) >> 12)
              )
                * 4194304
                + ((floor(extract(epoch FROM now()) * 1000000)::bigint + pg_backend_pid()) & 1023) * 4096
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
  now(),
  'CONNECTION_ERROR',
  'worker lost',
  'UNKNOWN',
  now()
FROM moved AS t
WHERE (SELECT set_config('plan_cache_mode', 'auto', true)) IS NOT NULL)
SELECT (t."id")::text
FROM moved AS t;

-- deliver: reclaim, charged, step 2: [Held] -> Nothing
INSERT INTO postrider_crashes AS c (place, row_id, crashes, crashed_at)
SELECT
  'dispatch_jobs/deliver',
  k,
  1,
  now()
FROM unnest($1::text[]) AS k
ON CONFLICT (place, row_id) DO UPDATE SET
  crashes = c.crashes + 1,
  crashed_at = excluded.crashed_at;

-- deliver: reclaim, dead, step 1: [Ids] -> Keys
WITH pick AS MATERIALIZED (
SELECT t."id" AS k
FROM "dispatch_jobs" AS t
WHERE t."id" = ANY (($1::text[])::varchar[])
  AND t."status" IS NOT DISTINCT FROM 'IN_PROGRESS'
  AND (
    t."lease_until" < now()
      OR (t."lease_until" IS NULL AND t."last_attempt_at" < now() - interval '300 seconds')
  )
FOR UPDATE),
moved AS (
UPDATE "dispatch_jobs" AS t SET
  "status" = 'ERROR',
  "next_attempt_at" = NULL,
  "lease_until" = NULL,
  "claimed_by" = NULL,
  "attempt_count" = t."attempt_count" + 1,
  "last_error" = 'poison row: its workers crashed repeatedly, also when it was delivered alone',
  "updated_at" = now()
WHERE t."id" = ANY (ARRAY(SELECT k FROM pick))
RETURNING
  t."attempt_count",
  t."id",
  t."last_attempt_at"),
effect0 AS (
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
              (floor(extract(epoch FROM now()) * 1000)::bigint)
                - 1577836800000
                + ((row_number() OVER ()) >> 12)
            )
              * 4194304
              + ((floor(extract(epoch FROM now()) * 1000000)::bigint + pg_backend_pid()) & 1023) * 4096
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
                (floor(extract(epoch FROM now()) * 1000)::bigint)
                  - 1577836800000
                  + ((row_number() OVER ()) >> 12)
              )
                * 4194304
                + ((floor(extract(epoch FROM now()) * 1000000)::bigint + pg_backend_pid()) & 1023) * 4096
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
                (floor(extract(epoch FROM now()) * 1000)::bigint)
                  - 1577836800000
                  + ((row_number() OVER ()) >> 12)
              )
                * 4194304
                + ((floor(extract(epoch FROM now()) * 1000000)::bigint + pg_backend_pid()) & 1023) * 4096
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
                (floor(extract(epoch FROM now()) * 1000)::bigint)
                  - 1577836800000
                  + ((row_number() OVER ()) >> 12)
              )
                * 4194304
                + ((floor(extract(epoch FROM now()) * 1000000)::bigint + pg_backend_pid()) & 1023) * 4096
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
                (floor(extract(epoch FROM now()) * 1000)::bigint)
                  - 1577836800000
                  + ((row_number() OVER ()) >> 12)
              )
                * 4194304
                + ((floor(extract(epoch FROM now()) * 1000000)::bigint + pg_backend_pid()) & 1023) * 4096
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
                (floor(extract(epoch FROM now()) * 1000)::bigint)
                  - 1577836800000
                  + ((row_number() OVER ()) >> 12)
              )
                * 4194304
                + ((floor(extract(epoch FROM now()) * 1000000)::bigint + pg_backend_pid()) & 1023) * 4096
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
                (floor(extract(epoch FROM now()) * 1000)::bigint)
                  - 1577836800000
                  + ((row_number() OVER ()) >> 12)
              )
                * 4194304
                + ((floor(extract(epoch FROM now()) * 1000000)::bigint + pg_backend_pid()) & 1023) * 4096
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
                (floor(extract(epoch FROM now()) * 1000)::bigint)
                  - 1577836800000
                  + ((row_number() OVER ()) >> 12)
              )
                * 4194304
                + ((floor(extract(epoch FROM now()) * 1000000)::bigint + pg_backend_pid()) & 1023) * 4096
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
                (floor(extract(epoch FROM now()) * 1000)::bigint)
                  - 1577836800000
                  + ((row_number() OVER ()) >> 12)
              )
                * 4194304
                + ((floor(extract(epoch FROM now()) * 1000000)::bigint + pg_backend_pid()) & 1023) * 4096
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
                (floor(extract(epoch FROM now()) * 1000)::bigint)
                  - 1577836800000
                  + ((row_number() OVER ()) >> 12)
              )
                * 4194304
                + ((floor(extract(epoch FROM now()) * 1000000)::bigint + pg_backend_pid()) & 1023) * 4096
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
                (floor(extract(epoch FROM now()) * 1000)::bigint)
                  - 1577836800000
                  + ((row_number() OVER ()) >> 12)
              )
                * 4194304
                + ((floor(extract(epoch FROM now()) * 1000000)::bigint + pg_backend_pid()) & 1023) * 4096
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
                (floor(extract(epoch FROM now()) * 1000)::bigint)
                  - 1577836800000
                  + ((row_number() OVER ()) >> 12)
              )
                * 4194304
                + ((floor(extract(epoch FROM now()) * 1000000)::bigint + pg_backend_pid()) & 1023) * 4096
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
                (floor(extract(epoch FROM now()) * 1000)::bigint)
                  - 1577836800000
                  + ((row_number() OVER ()) >> 12)
              )
                * 4194304
                + ((floor(extract(epoch FROM now()) * 1000000)::bigint + pg_backend_pid()) & 1023) * 4096
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
  now(),
  'CONNECTION_ERROR',
  'worker lost',
  'UNKNOWN',
  now()
FROM moved AS t
WHERE (SELECT set_config('plan_cache_mode', 'auto', true)) IS NOT NULL)
SELECT (t."id")::text
FROM moved AS t;

-- deliver: reclaim, dead, step 2: [Held] -> Nothing
DELETE FROM postrider_crashes WHERE place = 'dispatch_jobs/deliver' AND row_id = ANY ($1::text[]);

-- deliver: spent: [Limit] -> Keys
WITH pick AS MATERIALIZED (
SELECT t."id" AS k
FROM "dispatch_jobs" AS t
WHERE ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
  AND CASE
    WHEN t."status" = 'IN_PROGRESS' THEN 'IN_PROGRESS'
    WHEN t."status" = 'ERROR'
    AND t."next_attempt_at" IS NULL THEN 'DEAD'
    WHEN t."status" = 'PENDING' THEN 'PENDING'
    WHEN t."status" = 'CANCELLED' THEN 'CANCELLED'
    WHEN ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
    AND t."attempt_count" >= GREATEST(COALESCE(t."max_retries", 3), 1) THEN 'no attempts left'
    WHEN t."status" = 'ERROR'
    AND t."next_attempt_at" IS NOT NULL THEN 'RETRYING'
    END = 'no attempts left'
  AND t."attempt_count" >= GREATEST(COALESCE(t."max_retries", 3), 1)
LIMIT $1
FOR UPDATE SKIP LOCKED),
moved AS (
UPDATE "dispatch_jobs" AS t SET
  "last_error" = COALESCE(t."last_error", 'no attempts left'),
  "status" = 'ERROR',
  "next_attempt_at" = NULL,
  "lease_until" = NULL,
  "claimed_by" = NULL,
  "updated_at" = now()
WHERE t."id" = ANY (ARRAY(SELECT k FROM pick))
RETURNING t."id")
SELECT (t."id")::text
FROM moved AS t;

-- deliver: sweep 1: [Limit] -> Keys
WITH pick AS MATERIALIZED (
SELECT t."id" AS k
FROM "dispatch_jobs" AS t
WHERE t."status" IS NOT DISTINCT FROM 'QUEUED'
  AND t."queued_at" IS NOT NULL
  AND t."queued_at" < now() - interval '900 seconds'
  AND COALESCE(t."next_attempt_at", '-infinity') <= now()
  AND (t."group_key" IS NULL OR t."mode" IN ('IMMEDIATE'))
  AND (t."dispatch_pool_id" IS NULL OR t."dispatch_pool_id" = '')
ORDER BY t."queued_at"
LIMIT $1
FOR UPDATE SKIP LOCKED),
moved AS (
UPDATE "dispatch_jobs" AS t SET
  "status" = 'PENDING',
  "lease_until" = NULL,
  "claimed_by" = NULL,
  "updated_at" = now()
WHERE t."id" = ANY (ARRAY(SELECT k FROM pick))
RETURNING t."id")
SELECT (t."id")::text
FROM moved AS t;

-- deliver: sweep 2: [Limit] -> Keys
WITH pick AS MATERIALIZED (
SELECT t."id" AS k
FROM "dispatch_jobs" AS t
WHERE t."status" = 'PENDING'
  AND ((t."status" = 'PENDING') OR (t."status" = 'QUEUED' AND t."scheduled_for" IS NOT NULL))
  AND COALESCE(t."scheduled_for", '-infinity') <= now()
ORDER BY COALESCE(t."scheduled_for", '-infinity')
LIMIT $1
FOR UPDATE SKIP LOCKED),
moved AS (
UPDATE "dispatch_jobs" AS t SET
  "queued_at" = now(),
  "status" = 'QUEUED',
  "lease_until" = NULL,
  "claimed_by" = NULL,
  "updated_at" = now()
WHERE t."id" = ANY (ARRAY(SELECT k FROM pick))
RETURNING t."id")
SELECT (t."id")::text
FROM moved AS t;

-- deliver: sweep 3: [Limit] -> Keys
WITH pick AS MATERIALIZED (
SELECT t."id" AS k
FROM "dispatch_jobs" AS t
WHERE (
  (t."status" = 'QUEUED')
    OR (t."status" = 'PENDING')
    OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL)
)
  AND t."expires_at" IS NOT NULL
  AND t."expires_at" <= now()
LIMIT $1
FOR UPDATE SKIP LOCKED),
moved AS (
UPDATE "dispatch_jobs" AS t SET
  "status" = 'ERROR',
  "next_attempt_at" = NULL,
  "lease_until" = NULL,
  "claimed_by" = NULL,
  "last_error" = 'expired before delivery',
  "updated_at" = now()
WHERE t."id" = ANY (ARRAY(SELECT k FROM pick))
RETURNING t."id")
SELECT (t."id")::text
FROM moved AS t;

-- deliver: sweep 4: [Limit] -> Keys
WITH pick AS MATERIALIZED (
SELECT t."id" AS k
FROM "dispatch_jobs" AS t
WHERE t."status" = 'QUEUED'
  AND ((t."status" = 'PENDING') OR (t."status" = 'QUEUED' AND t."scheduled_for" IS NOT NULL))
  AND t."scheduled_for" IS NOT NULL
  AND COALESCE(t."scheduled_for", '-infinity') > now()
LIMIT $1
FOR UPDATE SKIP LOCKED),
moved AS (
UPDATE "dispatch_jobs" AS t SET
  "status" = 'PENDING',
  "lease_until" = NULL,
  "claimed_by" = NULL,
  "updated_at" = now()
WHERE t."id" = ANY (ARRAY(SELECT k FROM pick))
RETURNING t."id")
SELECT (t."id")::text
FROM moved AS t;

-- deliver: next due: [] -> Other
SELECT min(u.w) FROM (
SELECT a.w FROM (SELECT min(d.w) AS w FROM (WITH RECURSIVE ring AS (
(
  SELECT (
    CASE
      WHEN t."group_key" IS NOT NULL
      AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
      ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
      END
  ) AS s
    FROM "dispatch_jobs" AS t
    WHERE ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
    AND (
      CASE
        WHEN t."group_key" IS NOT NULL
        AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
        ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
        END
    )
      < 'g'
    ORDER BY (
      CASE
        WHEN t."group_key" IS NOT NULL
        AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
        ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
        END
    )
    LIMIT 1
)
UNION ALL
SELECT n.s FROM ring AS r CROSS JOIN LATERAL (
SELECT (
  CASE
    WHEN t."group_key" IS NOT NULL
    AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
    ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
    END
) AS s
  FROM "dispatch_jobs" AS t
  WHERE ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
  AND (
    CASE
      WHEN t."group_key" IS NOT NULL
      AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
      ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
      END
  )
    < 'g'
  AND (
    CASE
      WHEN t."group_key" IS NOT NULL
      AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
      ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
      END
  )
    > r.s
  ORDER BY (
    CASE
      WHEN t."group_key" IS NOT NULL
      AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
      ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
      END
  )
  LIMIT 1) AS n)
SELECT f.w FROM (SELECT s FROM ring LIMIT 1000) AS r CROSS JOIN LATERAL (
SELECT (
  COALESCE(
    0
      - (
        CASE
          WHEN isfinite(t."next_attempt_at")
            THEN floor(extract(epoch FROM now() - t."next_attempt_at") * 1000000)::bigint
          END
      ),
      0
  )
)::bigint AS w
  FROM "dispatch_jobs" AS t
  WHERE (
    CASE
      WHEN t."group_key" IS NOT NULL
      AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
      ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
      END
  ) = r.s
  AND ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
  AND t."attempt_count" < GREATEST(COALESCE(t."max_retries", 3), 1)
  AND (t."expires_at" IS NULL OR t."expires_at" > now())
  AND (t."scheduled_for" IS NULL OR t."scheduled_for" <= now())
  AND (t."group_key" IS NULL OR t."mode" IN ('IMMEDIATE'))
  AND CASE
  WHEN t."group_key" IS NOT NULL
  AND t."mode" NOT IN ('IMMEDIATE') THEN COALESCE(t."next_attempt_at", t."created_at")
  ELSE '-infinity'
  END = '-infinity'
  ORDER BY COALESCE(t."next_attempt_at", '-infinity')
  LIMIT 1) AS f) AS d) AS a
UNION ALL
SELECT b.w FROM (SELECT min(d.w) AS w FROM (WITH RECURSIVE ring AS (
(
  SELECT (
    CASE
      WHEN t."group_key" IS NOT NULL
      AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
      ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
      END
  ) AS s
    FROM "dispatch_jobs" AS t
    WHERE ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
    AND (
      CASE
        WHEN t."group_key" IS NOT NULL
        AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
        ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
        END
    ) >= 'o'
    ORDER BY (
      CASE
        WHEN t."group_key" IS NOT NULL
        AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
        ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
        END
    )
    LIMIT 1
)
UNION ALL
SELECT n.s FROM ring AS r CROSS JOIN LATERAL (
SELECT (
  CASE
    WHEN t."group_key" IS NOT NULL
    AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
    ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
    END
) AS s
  FROM "dispatch_jobs" AS t
  WHERE ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
  AND (
    CASE
      WHEN t."group_key" IS NOT NULL
      AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
      ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
      END
  ) >= 'o'
  AND (
    CASE
      WHEN t."group_key" IS NOT NULL
      AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
      ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
      END
  )
    > r.s
  ORDER BY (
    CASE
      WHEN t."group_key" IS NOT NULL
      AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
      ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
      END
  )
  LIMIT 1) AS n)
SELECT f.w FROM (SELECT s FROM ring LIMIT 1000) AS r CROSS JOIN LATERAL (
SELECT (
  0
    - (
      CASE
        WHEN isfinite(t."next_attempt_at")
          THEN floor(extract(epoch FROM now() - t."next_attempt_at") * 1000000)::bigint
        END
    )
)::bigint AS w
  FROM "dispatch_jobs" AS t
  WHERE (
    CASE
      WHEN t."group_key" IS NOT NULL
      AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
      ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
      END
  ) = r.s
  AND ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
  AND CASE
  WHEN t."group_key" IS NOT NULL
  AND t."mode" NOT IN ('IMMEDIATE') THEN COALESCE(t."next_attempt_at", t."created_at")
  ELSE '-infinity'
  END > '-infinity'
  AND CASE
  WHEN t."group_key" IS NOT NULL
  AND t."mode" NOT IN ('IMMEDIATE') THEN COALESCE(t."next_attempt_at", t."created_at")
  ELSE '-infinity'
  END > now()
  ORDER BY CASE
  WHEN t."group_key" IS NOT NULL
  AND t."mode" NOT IN ('IMMEDIATE') THEN COALESCE(t."next_attempt_at", t."created_at")
  ELSE '-infinity'
  END
  LIMIT 1) AS f) AS d) AS b) AS u;

-- deliver: lag: [] -> Other
SELECT ((SELECT max(l.w) FROM (SELECT (SELECT (max(d.w))::float8 / 1000000 FROM (WITH RECURSIVE ring AS (
(
  SELECT (
    CASE
      WHEN t."group_key" IS NOT NULL
      AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
      ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
      END
  ) AS s
    FROM "dispatch_jobs" AS t
    WHERE ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
    AND (
      CASE
        WHEN t."group_key" IS NOT NULL
        AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
        ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
        END
    )
      < 'g'
    ORDER BY (
      CASE
        WHEN t."group_key" IS NOT NULL
        AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
        ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
        END
    )
    LIMIT 1
)
UNION ALL
SELECT n.s FROM ring AS r CROSS JOIN LATERAL (
SELECT (
  CASE
    WHEN t."group_key" IS NOT NULL
    AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
    ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
    END
) AS s
  FROM "dispatch_jobs" AS t
  WHERE ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
  AND (
    CASE
      WHEN t."group_key" IS NOT NULL
      AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
      ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
      END
  )
    < 'g'
  AND (
    CASE
      WHEN t."group_key" IS NOT NULL
      AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
      ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
      END
  )
    > r.s
  ORDER BY (
    CASE
      WHEN t."group_key" IS NOT NULL
      AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
      ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
      END
  )
  LIMIT 1) AS n)
SELECT f.w FROM (SELECT s FROM ring LIMIT 1000) AS r CROSS JOIN LATERAL (
SELECT COALESCE(
  CASE
    WHEN isfinite(t."next_attempt_at")
      THEN floor(extract(epoch FROM now() - t."next_attempt_at") * 1000000)::bigint
    END,
    CASE
      WHEN isfinite(t."created_at") THEN floor(extract(epoch FROM now() - t."created_at") * 1000000)::bigint
      END
) AS w
  FROM "dispatch_jobs" AS t
  WHERE (
    CASE
      WHEN t."group_key" IS NOT NULL
      AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
      ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
      END
  ) = r.s
  AND ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
  AND COALESCE(t."next_attempt_at", '-infinity') <= now()
  AND t."attempt_count" < GREATEST(COALESCE(t."max_retries", 3), 1)
  AND (t."expires_at" IS NULL OR t."expires_at" > now())
  AND (t."scheduled_for" IS NULL OR t."scheduled_for" <= now())
  AND (t."group_key" IS NULL OR t."mode" IN ('IMMEDIATE'))
  AND CASE
  WHEN t."group_key" IS NOT NULL
  AND t."mode" NOT IN ('IMMEDIATE') THEN COALESCE(t."next_attempt_at", t."created_at")
  ELSE '-infinity'
  END = '-infinity'
  ORDER BY COALESCE(t."next_attempt_at", '-infinity')
  LIMIT 1) AS f) AS d) AS w UNION ALL SELECT (SELECT (max(d.w))::float8 / 1000000
  FROM (WITH RECURSIVE ring AS (
(
  SELECT (
    CASE
      WHEN t."group_key" IS NOT NULL
      AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
      ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
      END
  ) AS s
    FROM "dispatch_jobs" AS t
    WHERE ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
    AND (
      CASE
        WHEN t."group_key" IS NOT NULL
        AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
        ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
        END
    ) >= 'o'
    ORDER BY (
      CASE
        WHEN t."group_key" IS NOT NULL
        AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
        ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
        END
    )
    LIMIT 1
)
UNION ALL
SELECT n.s FROM ring AS r CROSS JOIN LATERAL (
SELECT (
  CASE
    WHEN t."group_key" IS NOT NULL
    AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
    ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
    END
) AS s
  FROM "dispatch_jobs" AS t
  WHERE ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
  AND (
    CASE
      WHEN t."group_key" IS NOT NULL
      AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
      ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
      END
  ) >= 'o'
  AND (
    CASE
      WHEN t."group_key" IS NOT NULL
      AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
      ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
      END
  )
    > r.s
  ORDER BY (
    CASE
      WHEN t."group_key" IS NOT NULL
      AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
      ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
      END
  )
  LIMIT 1) AS n)
SELECT f.w FROM (SELECT s FROM ring LIMIT 1000) AS r CROSS JOIN LATERAL (
SELECT COALESCE(
  CASE
    WHEN isfinite(t."next_attempt_at")
      THEN floor(extract(epoch FROM now() - t."next_attempt_at") * 1000000)::bigint
    END,
    CASE
      WHEN isfinite(t."created_at") THEN floor(extract(epoch FROM now() - t."created_at") * 1000000)::bigint
      END
) AS w
  FROM "dispatch_jobs" AS t
  WHERE (
    CASE
      WHEN t."group_key" IS NOT NULL
      AND t."mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE(t."dispatch_pool_id", '') || '	'
      ELSE 'f' || COALESCE(t."dispatch_pool_id", '') || '	' || COALESCE(t."client_id", '')
      END
  ) = r.s
  AND ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
  AND COALESCE(t."next_attempt_at", '-infinity') <= now()
  AND t."attempt_count" < GREATEST(COALESCE(t."max_retries", 3), 1)
  AND (t."expires_at" IS NULL OR t."expires_at" > now())
  AND (t."scheduled_for" IS NULL OR t."scheduled_for" <= now())
  AND CASE
  WHEN t."group_key" IS NOT NULL
  AND t."mode" NOT IN ('IMMEDIATE') THEN COALESCE(t."next_attempt_at", t."created_at")
  ELSE '-infinity'
  END > '-infinity'
  ORDER BY CASE
  WHEN t."group_key" IS NOT NULL
  AND t."mode" NOT IN ('IMMEDIATE') THEN COALESCE(t."next_attempt_at", t."created_at")
  ELSE '-infinity'
  END
  LIMIT 1) AS f) AS d)) AS l))::float8,
  (
    (
      SELECT (
        CASE
          WHEN isfinite(t."last_attempt_at")
            THEN floor(extract(epoch FROM now() - t."last_attempt_at") * 1000000)::bigint
          END
      )::float8
        / 1000000
        FROM "dispatch_jobs" AS t
        WHERE CASE
        WHEN t."status" = 'IN_PROGRESS' THEN 'IN_PROGRESS'
        WHEN t."status" = 'ERROR'
        AND t."next_attempt_at" IS NULL THEN 'DEAD'
        WHEN t."status" = 'PENDING' THEN 'PENDING'
        WHEN t."status" = 'CANCELLED' THEN 'CANCELLED'
        WHEN ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
        AND t."attempt_count" >= GREATEST(COALESCE(t."max_retries", 3), 1) THEN 'no attempts left'
        WHEN t."status" = 'ERROR'
        AND t."next_attempt_at" IS NOT NULL THEN 'RETRYING'
        END = 'IN_PROGRESS'
        AND CASE
        WHEN t."status" = 'IN_PROGRESS' THEN NULL
        ELSE t."id"
        END IS NULL
        AND t."status" = 'IN_PROGRESS'
        ORDER BY t."last_attempt_at"
        LIMIT 1
    )
  )::float8;

-- deliver: census RETRYING: [] -> Other
SELECT
  (c.n)::bigint,
  (
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
                      AND "mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE("dispatch_pool_id", '') || '	'
                      ELSE 'f' || COALESCE("dispatch_pool_id", '') || '	' || COALESCE("client_id", '')
                      END
                  ),
                  (
                    CASE
                      WHEN "group_key" IS NOT NULL
                      AND "mode" NOT IN ('IMMEDIATE') THEN COALESCE("next_attempt_at", "created_at")
                      ELSE '-infinity'
                      END
                  ),
                  (COALESCE("next_attempt_at", '-infinity')),
                  "id" LIMIT 50001
              ) AS p
          ) AS a
          LIMIT 1 OFFSET 50000
      )
        THEN 1
      ELSE 0
      END
  )::bigint
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
                    AND "mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE("dispatch_pool_id", '') || '	'
                    ELSE 'f' || COALESCE("dispatch_pool_id", '') || '	' || COALESCE("client_id", '')
                    END
                ),
                (
                  CASE
                    WHEN "group_key" IS NOT NULL
                    AND "mode" NOT IN ('IMMEDIATE') THEN COALESCE("next_attempt_at", "created_at")
                    ELSE '-infinity'
                    END
                ),
                (COALESCE("next_attempt_at", '-infinity')),
                "id" LIMIT 50000
            ) AS p
        ) AS t
    

WHERE t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL LIMIT 10001) AS counted) AS c;

-- deliver: census DEAD: [] -> Other
SELECT
  (COUNT(*))::bigint,
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
    AND t."attempt_count" >= GREATEST(COALESCE(t."max_retries", 3), 1) THEN 'no attempts left'
    WHEN t."status" = 'ERROR'
    AND t."next_attempt_at" IS NOT NULL THEN 'RETRYING'
    END = 'DEAD'
    AND t."status" = 'ERROR'
    AND t."next_attempt_at" IS NULL
    LIMIT 10001
) AS counted;

-- deliver: census QUEUED: [] -> Other
SELECT
  (c.n)::bigint,
  (
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
                      AND "mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE("dispatch_pool_id", '') || '	'
                      ELSE 'f' || COALESCE("dispatch_pool_id", '') || '	' || COALESCE("client_id", '')
                      END
                  ),
                  (
                    CASE
                      WHEN "group_key" IS NOT NULL
                      AND "mode" NOT IN ('IMMEDIATE') THEN COALESCE("next_attempt_at", "created_at")
                      ELSE '-infinity'
                      END
                  ),
                  (COALESCE("next_attempt_at", '-infinity')),
                  "id" LIMIT 50001
              ) AS p
          ) AS a
          LIMIT 1 OFFSET 50000
      )
        THEN 1
      ELSE 0
      END
  )::bigint
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
                    AND "mode" NOT IN ('IMMEDIATE') THEN 'o' || COALESCE("dispatch_pool_id", '') || '	'
                    ELSE 'f' || COALESCE("dispatch_pool_id", '') || '	' || COALESCE("client_id", '')
                    END
                ),
                (
                  CASE
                    WHEN "group_key" IS NOT NULL
                    AND "mode" NOT IN ('IMMEDIATE') THEN COALESCE("next_attempt_at", "created_at")
                    ELSE '-infinity'
                    END
                ),
                (COALESCE("next_attempt_at", '-infinity')),
                "id" LIMIT 50000
            ) AS p
        ) AS t
    

WHERE t."status" = 'QUEUED' LIMIT 10001) AS counted) AS c;

-- deliver: census IN_PROGRESS: [] -> Other
SELECT
  (COUNT(*))::bigint,
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
    AND t."attempt_count" >= GREATEST(COALESCE(t."max_retries", 3), 1) THEN 'no attempts left'
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
  (c.n)::bigint,
  (
    CASE
      WHEN c.n <= 10000
      AND EXISTS (SELECT 1 FROM "dispatch_jobs" AS t ORDER BY t."id" LIMIT 1 OFFSET 50000) THEN 1
      ELSE 0
      END
  )::bigint
FROM (
  SELECT COUNT(*) AS n
    FROM (
      SELECT 1 AS one
        FROM (SELECT t."id", t."status" FROM "dispatch_jobs" AS t ORDER BY t."id" LIMIT 50000) AS t
    

WHERE t."status" = 'COMPLETED' LIMIT 10001) AS counted) AS c;

-- deliver: census PENDING: [] -> Other
SELECT
  (COUNT(*))::bigint,
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
    AND t."attempt_count" >= GREATEST(COALESCE(t."max_retries", 3), 1) THEN 'no attempts left'
    WHEN t."status" = 'ERROR'
    AND t."next_attempt_at" IS NOT NULL THEN 'RETRYING'
    END = 'PENDING'
    AND t."status" = 'PENDING'
    LIMIT 10001
) AS counted;

-- deliver: census CANCELLED: [] -> Other
SELECT
  (COUNT(*))::bigint,
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
    AND t."attempt_count" >= GREATEST(COALESCE(t."max_retries", 3), 1) THEN 'no attempts left'
    WHEN t."status" = 'ERROR'
    AND t."next_attempt_at" IS NOT NULL THEN 'RETRYING'
    END = 'CANCELLED'
    AND t."status" = 'CANCELLED'
    LIMIT 10001
) AS counted;

-- deliver: requeue ids DEAD: [Ids] -> Keys
WITH pick AS MATERIALIZED (
SELECT t."id" AS k
FROM "dispatch_jobs" AS t
WHERE t."id" = ANY (($1::text[])::varchar[])
  AND t."status" IS NOT DISTINCT FROM 'ERROR' AND t."next_attempt_at" IS NULL
FOR UPDATE),
moved AS (
UPDATE "dispatch_jobs" AS t SET
  "status" = 'ERROR',
  "next_attempt_at" = now(),
  "lease_until" = NULL,
  "claimed_by" = NULL,
  "attempt_count" = 0,
  "last_error" = NULL,
  "completed_at" = NULL,
  "updated_at" = now()
WHERE t."id" = ANY (ARRAY(SELECT k FROM pick))
RETURNING t."id")
SELECT (t."id")::text
FROM moved AS t;

-- deliver: requeue state DEAD: [Since, Limit] -> Keys
WITH pick AS MATERIALIZED (
SELECT t."id" AS k
FROM "dispatch_jobs" AS t
WHERE t."status" = 'ERROR' AND t."next_attempt_at" IS NULL
  AND CASE
    WHEN t."status" = 'IN_PROGRESS' THEN 'IN_PROGRESS'
    WHEN t."status" = 'ERROR'
    AND t."next_attempt_at" IS NULL THEN 'DEAD'
    WHEN t."status" = 'PENDING' THEN 'PENDING'
    WHEN t."status" = 'CANCELLED' THEN 'CANCELLED'
    WHEN ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
    AND t."attempt_count" >= GREATEST(COALESCE(t."max_retries", 3), 1) THEN 'no attempts left'
    WHEN t."status" = 'ERROR'
    AND t."next_attempt_at" IS NOT NULL THEN 'RETRYING'
    END = 'DEAD'
  AND (
    $1::float8 IS NULL
      OR t."updated_at" >= now() + make_interval(secs => (0 - $1::float8))
      OR t."updated_at" IS NULL
      AND t."last_attempt_at" >= now() + make_interval(secs => (0 - $1::float8))
      OR t."updated_at" IS NULL
      AND t."last_attempt_at" IS NULL
      AND t."created_at" >= now() + make_interval(secs => (0 - $1::float8))
  )
LIMIT $2
FOR UPDATE SKIP LOCKED),
moved AS (
UPDATE "dispatch_jobs" AS t SET
  "status" = 'ERROR',
  "next_attempt_at" = now(),
  "lease_until" = NULL,
  "claimed_by" = NULL,
  "attempt_count" = 0,
  "last_error" = NULL,
  "completed_at" = NULL,
  "updated_at" = now()
WHERE t."id" = ANY (ARRAY(SELECT k FROM pick))
RETURNING t."id")
SELECT (t."id")::text
FROM moved AS t;

-- deliver: cancel ids QUEUED: [Ids] -> Keys
WITH pick AS MATERIALIZED (
SELECT t."id" AS k
FROM "dispatch_jobs" AS t
WHERE t."id" = ANY (($1::text[])::varchar[])
  AND t."status" IS NOT DISTINCT FROM 'QUEUED'
FOR UPDATE),
moved AS (
UPDATE "dispatch_jobs" AS t SET
  "status" = 'CANCELLED',
  "lease_until" = NULL,
  "claimed_by" = NULL,
  "updated_at" = now()
WHERE t."id" = ANY (ARRAY(SELECT k FROM pick))
RETURNING t."id")
SELECT (t."id")::text
FROM moved AS t;

-- deliver: cancel ids PENDING: [Ids] -> Keys
WITH pick AS MATERIALIZED (
SELECT t."id" AS k
FROM "dispatch_jobs" AS t
WHERE t."id" = ANY (($1::text[])::varchar[])
  AND t."status" IS NOT DISTINCT FROM 'PENDING'
FOR UPDATE),
moved AS (
UPDATE "dispatch_jobs" AS t SET
  "status" = 'CANCELLED',
  "lease_until" = NULL,
  "claimed_by" = NULL,
  "updated_at" = now()
WHERE t."id" = ANY (ARRAY(SELECT k FROM pick))
RETURNING t."id")
SELECT (t."id")::text
FROM moved AS t;

-- deliver: cancel ids RETRYING: [Ids] -> Keys
WITH pick AS MATERIALIZED (
SELECT t."id" AS k
FROM "dispatch_jobs" AS t
WHERE t."id" = ANY (($1::text[])::varchar[])
  AND t."status" IS NOT DISTINCT FROM 'ERROR' AND t."next_attempt_at" IS NOT NULL
FOR UPDATE),
moved AS (
UPDATE "dispatch_jobs" AS t SET
  "status" = 'CANCELLED',
  "lease_until" = NULL,
  "claimed_by" = NULL,
  "updated_at" = now()
WHERE t."id" = ANY (ARRAY(SELECT k FROM pick))
RETURNING t."id")
SELECT (t."id")::text
FROM moved AS t;

-- deliver: cancel ids DEAD: [Ids] -> Keys
WITH pick AS MATERIALIZED (
SELECT t."id" AS k
FROM "dispatch_jobs" AS t
WHERE t."id" = ANY (($1::text[])::varchar[])
  AND t."status" IS NOT DISTINCT FROM 'ERROR' AND t."next_attempt_at" IS NULL
FOR UPDATE),
moved AS (
UPDATE "dispatch_jobs" AS t SET
  "status" = 'CANCELLED',
  "lease_until" = NULL,
  "claimed_by" = NULL,
  "updated_at" = now()
WHERE t."id" = ANY (ARRAY(SELECT k FROM pick))
RETURNING t."id")
SELECT (t."id")::text
FROM moved AS t;

-- deliver: cancel ids IN_PROGRESS: [Ids] -> Keys
WITH pick AS MATERIALIZED (
SELECT t."id" AS k
FROM "dispatch_jobs" AS t
WHERE t."id" = ANY (($1::text[])::varchar[])
  AND t."status" IS NOT DISTINCT FROM 'IN_PROGRESS'
FOR UPDATE),
moved AS (
UPDATE "dispatch_jobs" AS t SET
  "status" = 'CANCELLED',
  "lease_until" = NULL,
  "claimed_by" = NULL,
  "updated_at" = now()
WHERE t."id" = ANY (ARRAY(SELECT k FROM pick))
RETURNING t."id")
SELECT (t."id")::text
FROM moved AS t;

-- deliver: cancel state QUEUED: [Since, Limit] -> Keys
WITH pick AS MATERIALIZED (
SELECT t."id" AS k
FROM "dispatch_jobs" AS t
WHERE t."status" = 'QUEUED'
  AND ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
  AND (
    $1::float8 IS NULL
      OR t."updated_at" >= now() + make_interval(secs => (0 - $1::float8))
      OR t."updated_at" IS NULL
      AND t."last_attempt_at" >= now() + make_interval(secs => (0 - $1::float8))
      OR t."updated_at" IS NULL
      AND t."last_attempt_at" IS NULL
      AND t."created_at" >= now() + make_interval(secs => (0 - $1::float8))
  )
LIMIT $2
FOR UPDATE SKIP LOCKED),
moved AS (
UPDATE "dispatch_jobs" AS t SET
  "status" = 'CANCELLED',
  "lease_until" = NULL,
  "claimed_by" = NULL,
  "updated_at" = now()
WHERE t."id" = ANY (ARRAY(SELECT k FROM pick))
RETURNING t."id")
SELECT (t."id")::text
FROM moved AS t;

-- deliver: cancel state PENDING: [Since, Limit] -> Keys
WITH pick AS MATERIALIZED (
SELECT t."id" AS k
FROM "dispatch_jobs" AS t
WHERE t."status" = 'PENDING'
  AND CASE
    WHEN t."status" = 'IN_PROGRESS' THEN 'IN_PROGRESS'
    WHEN t."status" = 'ERROR'
    AND t."next_attempt_at" IS NULL THEN 'DEAD'
    WHEN t."status" = 'PENDING' THEN 'PENDING'
    WHEN t."status" = 'CANCELLED' THEN 'CANCELLED'
    WHEN ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
    AND t."attempt_count" >= GREATEST(COALESCE(t."max_retries", 3), 1) THEN 'no attempts left'
    WHEN t."status" = 'ERROR'
    AND t."next_attempt_at" IS NOT NULL THEN 'RETRYING'
    END = 'PENDING'
  AND (
    $1::float8 IS NULL
      OR t."updated_at" >= now() + make_interval(secs => (0 - $1::float8))
      OR t."updated_at" IS NULL
      AND t."last_attempt_at" >= now() + make_interval(secs => (0 - $1::float8))
      OR t."updated_at" IS NULL
      AND t."last_attempt_at" IS NULL
      AND t."created_at" >= now() + make_interval(secs => (0 - $1::float8))
  )
LIMIT $2
FOR UPDATE SKIP LOCKED),
moved AS (
UPDATE "dispatch_jobs" AS t SET
  "status" = 'CANCELLED',
  "lease_until" = NULL,
  "claimed_by" = NULL,
  "updated_at" = now()
WHERE t."id" = ANY (ARRAY(SELECT k FROM pick))
RETURNING t."id")
SELECT (t."id")::text
FROM moved AS t;

-- deliver: cancel state RETRYING: [Since, Limit] -> Keys
WITH pick AS MATERIALIZED (
SELECT t."id" AS k
FROM "dispatch_jobs" AS t
WHERE t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL
  AND ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
  AND (
    $1::float8 IS NULL
      OR t."updated_at" >= now() + make_interval(secs => (0 - $1::float8))
      OR t."updated_at" IS NULL
      AND t."last_attempt_at" >= now() + make_interval(secs => (0 - $1::float8))
      OR t."updated_at" IS NULL
      AND t."last_attempt_at" IS NULL
      AND t."created_at" >= now() + make_interval(secs => (0 - $1::float8))
  )
LIMIT $2
FOR UPDATE SKIP LOCKED),
moved AS (
UPDATE "dispatch_jobs" AS t SET
  "status" = 'CANCELLED',
  "lease_until" = NULL,
  "claimed_by" = NULL,
  "updated_at" = now()
WHERE t."id" = ANY (ARRAY(SELECT k FROM pick))
RETURNING t."id")
SELECT (t."id")::text
FROM moved AS t;

-- deliver: cancel state DEAD: [Since, Limit] -> Keys
WITH pick AS MATERIALIZED (
SELECT t."id" AS k
FROM "dispatch_jobs" AS t
WHERE t."status" = 'ERROR' AND t."next_attempt_at" IS NULL
  AND CASE
    WHEN t."status" = 'IN_PROGRESS' THEN 'IN_PROGRESS'
    WHEN t."status" = 'ERROR'
    AND t."next_attempt_at" IS NULL THEN 'DEAD'
    WHEN t."status" = 'PENDING' THEN 'PENDING'
    WHEN t."status" = 'CANCELLED' THEN 'CANCELLED'
    WHEN ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
    AND t."attempt_count" >= GREATEST(COALESCE(t."max_retries", 3), 1) THEN 'no attempts left'
    WHEN t."status" = 'ERROR'
    AND t."next_attempt_at" IS NOT NULL THEN 'RETRYING'
    END = 'DEAD'
  AND (
    $1::float8 IS NULL
      OR t."updated_at" >= now() + make_interval(secs => (0 - $1::float8))
      OR t."updated_at" IS NULL
      AND t."last_attempt_at" >= now() + make_interval(secs => (0 - $1::float8))
      OR t."updated_at" IS NULL
      AND t."last_attempt_at" IS NULL
      AND t."created_at" >= now() + make_interval(secs => (0 - $1::float8))
  )
LIMIT $2
FOR UPDATE SKIP LOCKED),
moved AS (
UPDATE "dispatch_jobs" AS t SET
  "status" = 'CANCELLED',
  "lease_until" = NULL,
  "claimed_by" = NULL,
  "updated_at" = now()
WHERE t."id" = ANY (ARRAY(SELECT k FROM pick))
RETURNING t."id")
SELECT (t."id")::text
FROM moved AS t;

-- deliver: cancel state IN_PROGRESS: [Since, Limit] -> Keys
WITH pick AS MATERIALIZED (
SELECT t."id" AS k
FROM "dispatch_jobs" AS t
WHERE t."status" = 'IN_PROGRESS'
  AND CASE
    WHEN t."status" = 'IN_PROGRESS' THEN 'IN_PROGRESS'
    WHEN t."status" = 'ERROR'
    AND t."next_attempt_at" IS NULL THEN 'DEAD'
    WHEN t."status" = 'PENDING' THEN 'PENDING'
    WHEN t."status" = 'CANCELLED' THEN 'CANCELLED'
    WHEN ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
    AND t."attempt_count" >= GREATEST(COALESCE(t."max_retries", 3), 1) THEN 'no attempts left'
    WHEN t."status" = 'ERROR'
    AND t."next_attempt_at" IS NOT NULL THEN 'RETRYING'
    END = 'IN_PROGRESS'
    AND CASE
    WHEN t."status" = 'IN_PROGRESS' THEN NULL
    ELSE t."id"
    END IS NULL
  AND (
    $1::float8 IS NULL
      OR t."updated_at" >= now() + make_interval(secs => (0 - $1::float8))
      OR t."updated_at" IS NULL
      AND t."last_attempt_at" >= now() + make_interval(secs => (0 - $1::float8))
      OR t."updated_at" IS NULL
      AND t."last_attempt_at" IS NULL
      AND t."created_at" >= now() + make_interval(secs => (0 - $1::float8))
  )
LIMIT $2
FOR UPDATE SKIP LOCKED),
moved AS (
UPDATE "dispatch_jobs" AS t SET
  "status" = 'CANCELLED',
  "lease_until" = NULL,
  "claimed_by" = NULL,
  "updated_at" = now()
WHERE t."id" = ANY (ARRAY(SELECT k FROM pick))
RETURNING t."id")
SELECT (t."id")::text
FROM moved AS t;

-- deliver: release ids IN_PROGRESS: [Ids] -> Keys
WITH pick AS MATERIALIZED (
SELECT t."id" AS k
FROM "dispatch_jobs" AS t
WHERE t."id" = ANY (($1::text[])::varchar[])
  AND t."status" IS NOT DISTINCT FROM 'IN_PROGRESS'
FOR UPDATE),
moved AS (
UPDATE "dispatch_jobs" AS t SET
  "status" = CASE WHEN COALESCE(t."attempt_count", 0) = 0 THEN 'QUEUED' ELSE 'ERROR' END,
  "next_attempt_at" = COALESCE(t."next_attempt_at", now()),
  "lease_until" = NULL,
  "claimed_by" = NULL,
  "updated_at" = now()
WHERE t."id" = ANY (ARRAY(SELECT k FROM pick))
RETURNING t."id")
SELECT (t."id")::text
FROM moved AS t;

-- deliver: release state IN_PROGRESS: [Since, Limit] -> Keys
WITH pick AS MATERIALIZED (
SELECT t."id" AS k
FROM "dispatch_jobs" AS t
WHERE t."status" = 'IN_PROGRESS'
  AND CASE
    WHEN t."status" = 'IN_PROGRESS' THEN 'IN_PROGRESS'
    WHEN t."status" = 'ERROR'
    AND t."next_attempt_at" IS NULL THEN 'DEAD'
    WHEN t."status" = 'PENDING' THEN 'PENDING'
    WHEN t."status" = 'CANCELLED' THEN 'CANCELLED'
    WHEN ((t."status" = 'QUEUED') OR (t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL))
    AND t."attempt_count" >= GREATEST(COALESCE(t."max_retries", 3), 1) THEN 'no attempts left'
    WHEN t."status" = 'ERROR'
    AND t."next_attempt_at" IS NOT NULL THEN 'RETRYING'
    END = 'IN_PROGRESS'
    AND CASE
    WHEN t."status" = 'IN_PROGRESS' THEN NULL
    ELSE t."id"
    END IS NULL
  AND (
    $1::float8 IS NULL
      OR t."updated_at" >= now() + make_interval(secs => (0 - $1::float8))
      OR t."updated_at" IS NULL
      AND t."last_attempt_at" >= now() + make_interval(secs => (0 - $1::float8))
      OR t."updated_at" IS NULL
      AND t."last_attempt_at" IS NULL
      AND t."created_at" >= now() + make_interval(secs => (0 - $1::float8))
  )
LIMIT $2
FOR UPDATE SKIP LOCKED),
moved AS (
UPDATE "dispatch_jobs" AS t SET
  "status" = CASE WHEN COALESCE(t."attempt_count", 0) = 0 THEN 'QUEUED' ELSE 'ERROR' END,
  "next_attempt_at" = COALESCE(t."next_attempt_at", now()),
  "lease_until" = NULL,
  "claimed_by" = NULL,
  "updated_at" = now()
WHERE t."id" = ANY (ARRAY(SELECT k FROM pick))
RETURNING t."id")
SELECT (t."id")::text
FROM moved AS t;

-- deliver: complete ids DEAD: [Ids] -> Keys
WITH pick AS MATERIALIZED (
SELECT t."id" AS k
FROM "dispatch_jobs" AS t
WHERE t."id" = ANY (($1::text[])::varchar[])
  AND t."status" IS NOT DISTINCT FROM 'ERROR' AND t."next_attempt_at" IS NULL
FOR UPDATE),
moved AS (
UPDATE "dispatch_jobs" AS t SET
  "status" = 'COMPLETED',
  "lease_until" = NULL,
  "claimed_by" = NULL,
  "completed_at" = now(),
  "updated_at" = now()
WHERE t."id" = ANY (ARRAY(SELECT k FROM pick))
RETURNING t."id")
SELECT (t."id")::text
FROM moved AS t;

-- deliver: complete ids RETRYING: [Ids] -> Keys
WITH pick AS MATERIALIZED (
SELECT t."id" AS k
FROM "dispatch_jobs" AS t
WHERE t."id" = ANY (($1::text[])::varchar[])
  AND t."status" IS NOT DISTINCT FROM 'ERROR' AND t."next_attempt_at" IS NOT NULL
FOR UPDATE),
moved AS (
UPDATE "dispatch_jobs" AS t SET
  "status" = 'COMPLETED',
  "lease_until" = NULL,
  "claimed_by" = NULL,
  "completed_at" = now(),
  "updated_at" = now()
WHERE t."id" = ANY (ARRAY(SELECT k FROM pick))
RETURNING t."id")
SELECT (t."id")::text
FROM moved AS t;

-- create, with a queue
CREATE INDEX IF NOT EXISTS "dispatch_jobs_deliver_offer"
  ON "dispatch_jobs" ((COALESCE("next_attempt_at", '-infinity')))
  WHERE "status" = 'QUEUED'
  AND "queued_at" IS NULL
  AND ("group_key" IS NULL OR "mode" IN ('IMMEDIATE'))
  AND ("dispatch_pool_id" IS NULL OR "dispatch_pool_id" = '');

-- create, with a queue
CREATE INDEX IF NOT EXISTS "dispatch_jobs_deliver_queued"
  ON "dispatch_jobs" ("queued_at")
  WHERE "status" IS NOT DISTINCT
  FROM 'QUEUED'
  AND "queued_at" IS NOT NULL
  AND ("group_key" IS NULL OR "mode" IN ('IMMEDIATE'))
  AND ("dispatch_pool_id" IS NULL OR "dispatch_pool_id" = '');

-- create, with a queue
CREATE INDEX IF NOT EXISTS "dispatch_jobs_deliver_offer2"
  ON "dispatch_jobs" ((COALESCE("next_attempt_at", '-infinity')))
  WHERE "status" = 'ERROR'
  AND "next_attempt_at" IS NOT NULL
  AND "queued_at" IS NULL
  AND ("group_key" IS NULL OR "mode" IN ('IMMEDIATE'))
  AND ("dispatch_pool_id" IS NULL OR "dispatch_pool_id" = '');

-- create, with a queue
CREATE INDEX IF NOT EXISTS "dispatch_jobs_deliver_queued2"
  ON "dispatch_jobs" ("queued_at")
  WHERE "status" IS NOT DISTINCT
  FROM 'ERROR'
  AND "next_attempt_at" IS NOT NULL
  AND "queued_at" IS NOT NULL
  AND ("group_key" IS NULL OR "mode" IN ('IMMEDIATE'))
  AND ("dispatch_pool_id" IS NULL OR "dispatch_pool_id" = '');

-- deliver, with a queue: claim by key: [Ids, Owner] -> Rows
WITH pick AS MATERIALIZED (
SELECT
  t."id" AS k,
  COALESCE(t."next_attempt_at", '-infinity') AS o0,
  t."id" AS o1
FROM "dispatch_jobs" AS t
WHERE t."id" = ANY (($1::text[])::varchar[])
  AND (
    (t."status" IS NOT DISTINCT FROM 'QUEUED')
      OR (t."status" IS NOT DISTINCT FROM 'ERROR' AND t."next_attempt_at" IS NOT NULL)
  )
  AND COALESCE(t."next_attempt_at", '-infinity') <= now()
  AND t."attempt_count" < GREATEST(COALESCE(t."max_retries", 3), 1)
  AND (t."expires_at" IS NULL OR t."expires_at" > now())
  AND (t."scheduled_for" IS NULL OR t."scheduled_for" <= now())
  AND (t."group_key" IS NULL OR t."mode" IN ('IMMEDIATE'))
  AND (t."dispatch_pool_id" IS NULL OR t."dispatch_pool_id" = '')
ORDER BY COALESCE(t."next_attempt_at", '-infinity'), t."id"
FOR UPDATE SKIP LOCKED),
moved AS (
UPDATE "dispatch_jobs" AS t SET
  "status" = 'IN_PROGRESS',
  "last_attempt_at" = CASE
    WHEN t."last_attempt_at"
      BETWEEN now() - interval '1 microseconds'
      AND now() + interval '60 seconds'
      THEN t."last_attempt_at" + interval '1 microseconds'
    ELSE now()
    END,
  "lease_until" = CASE
    WHEN t."lease_until"
      BETWEEN now() + interval '60 seconds' - interval '1 microseconds'
      AND now() + interval '60 seconds' + interval '60 seconds'
      THEN t."lease_until" + interval '1 microseconds'
    ELSE now() + interval '60 seconds'
    END,
  "claimed_by" = LEFT($2::text, 64),
  "updated_at" = now()
WHERE t."id" = ANY (ARRAY(SELECT k FROM pick))
RETURNING
  t."attempt_count",
  t."client_id",
  t."code",
  t."correlation_id",
  t."created_at",
  t."data_only",
  t."dispatch_pool_id",
  t."event_id",
  t."group_key",
  t."headers",
  t."id",
  t."last_attempt_at",
  t."max_retries",
  t."mode",
  t."next_attempt_at",
  t."payload",
  t."payload_content_type",
  t."retry_strategy",
  t."service_account_id",
  t."source",
  t."subject",
  t."subscription_id",
  t."target_url",
  t."timeout_seconds",
  t."traceparent")
SELECT
  (t."id")::text,
  (t."last_attempt_at")::text,
  (t."attempt_count")::text,
  (t."attempt_count")::bigint,
  (t."max_retries")::bigint,
  (t."retry_strategy")::text,
  CASE WHEN t."group_key" IS NOT NULL AND t."mode" NOT IN ('IMMEDIATE') THEN (t."group_key")::text END,
  CASE WHEN t."mode" IN ('NEXT_ON_ERROR') THEN 'next' ELSE 'block' END,
  (t."dispatch_pool_id")::text,
  (t."client_id")::text,
  (
    COALESCE(
      CASE
        WHEN isfinite(t."next_attempt_at")
          THEN floor(extract(epoch FROM now() - t."next_attempt_at") * 1000000)::bigint
        END,
        CASE
          WHEN isfinite(t."created_at")
            THEN floor(extract(epoch FROM now() - t."created_at") * 1000000)::bigint
          END
    )
  )::bigint,
  (
    COALESCE(octet_length(t."service_account_id"), 0)
      + COALESCE(octet_length(t."client_id"), 0)
      + COALESCE(octet_length(t."code"), 0)
      + COALESCE(octet_length(t."payload_content_type"), 0)
      + COALESCE(octet_length(t."correlation_id"), 0)
      + COALESCE(octet_length(t."id"), 0)
      + COALESCE(octet_length(t."event_id"), 0)
      + COALESCE(octet_length(t."headers"), 0)
      + COALESCE(octet_length(t."payload"), 0)
      + COALESCE(octet_length(t."source"), 0)
      + COALESCE(octet_length(t."subject"), 0)
      + COALESCE(octet_length(t."subscription_id"), 0)
      + COALESCE(octet_length(t."traceparent"), 0)
      + COALESCE(octet_length(t."target_url"), 0)
  )::bigint,
  CASE WHEN octet_length(t."service_account_id") <= 65536 THEN (t."service_account_id")::text END,
  CASE WHEN octet_length(t."client_id") <= 65536 THEN (t."client_id")::text END,
  CASE WHEN octet_length(t."code") <= 65536 THEN (t."code")::text END,
  CASE WHEN octet_length(t."payload_content_type") <= 65536 THEN (t."payload_content_type")::text END,
  CASE WHEN octet_length(t."correlation_id") <= 65536 THEN (t."correlation_id")::text END,
  CASE WHEN t."data_only" THEN 'true' WHEN NOT t."data_only" THEN 'false' END,
  CASE WHEN octet_length(t."id") <= 65536 THEN (t."id")::text END,
  CASE WHEN octet_length(t."event_id") <= 65536 THEN (t."event_id")::text END,
  CASE WHEN octet_length(t."headers") <= 65536 THEN (t."headers")::text END,
  CASE WHEN octet_length(t."payload") <= 65536 THEN (t."payload")::text END,
  CASE WHEN octet_length(t."source") <= 65536 THEN (t."source")::text END,
  CASE WHEN octet_length(t."subject") <= 65536 THEN (t."subject")::text END,
  CASE WHEN octet_length(t."subscription_id") <= 65536 THEN (t."subscription_id")::text END,
  (t."created_at")::text,
  (t."timeout_seconds")::text,
  CASE WHEN octet_length(t."traceparent") <= 65536 THEN (t."traceparent")::text END,
  CASE WHEN octet_length(t."target_url") <= 65536 THEN (t."target_url")::text END
FROM moved AS t JOIN pick AS p ON p.k = t."id"
WHERE (SELECT set_config('synchronous_commit', 'off', true)) IS NOT NULL
ORDER BY p.o0, p.o1;

-- deliver, with a queue: standing: [Ids] -> Other
SELECT
  (t."id")::text,
  (
    CASE
      WHEN (
        (t."status" IS NOT DISTINCT FROM 'QUEUED')
          OR (t."status" IS NOT DISTINCT FROM 'ERROR' AND t."next_attempt_at" IS NOT NULL)
      )
      AND COALESCE(t."next_attempt_at", '-infinity') <= now()
      AND t."attempt_count" < GREATEST(COALESCE(t."max_retries", 3), 1)
      AND (t."expires_at" IS NULL OR t."expires_at" > now())
      AND (t."scheduled_for" IS NULL OR t."scheduled_for" <= now()) THEN CASE
      WHEN (t."group_key" IS NULL OR t."mode" IN ('IMMEDIATE'))
      AND (t."dispatch_pool_id" IS NULL OR t."dispatch_pool_id" = '') THEN 2
      ELSE 1
      END
      ELSE 0
      END
  )::bigint
FROM "dispatch_jobs" AS t
WHERE t."id" = ANY (($1::text[])::varchar[]);

-- deliver, with a queue: offer 1: [Limit] -> Keys
WITH pick AS MATERIALIZED (
SELECT t."id" AS k
FROM "dispatch_jobs" AS t
WHERE t."status" = 'QUEUED'
  AND t."queued_at" IS NULL
  AND COALESCE(t."next_attempt_at", '-infinity') <= now()
  AND t."attempt_count" < GREATEST(COALESCE(t."max_retries", 3), 1)
  AND (t."expires_at" IS NULL OR t."expires_at" > now())
  AND (t."scheduled_for" IS NULL OR t."scheduled_for" <= now())
  AND (t."group_key" IS NULL OR t."mode" IN ('IMMEDIATE'))
  AND (t."dispatch_pool_id" IS NULL OR t."dispatch_pool_id" = '')
ORDER BY COALESCE(t."next_attempt_at", '-infinity')
LIMIT $1
FOR UPDATE SKIP LOCKED),
moved AS (
UPDATE "dispatch_jobs" AS t SET
  "queued_at" = now(),
  "updated_at" = now()
WHERE t."id" = ANY (ARRAY(SELECT k FROM pick))
RETURNING t."id")
SELECT (t."id")::text
FROM moved AS t;

-- deliver, with a queue: offer 2: [Limit] -> Keys
WITH pick AS MATERIALIZED (
SELECT t."id" AS k
FROM "dispatch_jobs" AS t
WHERE t."status" = 'ERROR' AND t."next_attempt_at" IS NOT NULL
  AND t."queued_at" IS NULL
  AND COALESCE(t."next_attempt_at", '-infinity') <= now()
  AND t."attempt_count" < GREATEST(COALESCE(t."max_retries", 3), 1)
  AND (t."expires_at" IS NULL OR t."expires_at" > now())
  AND (t."group_key" IS NULL OR t."mode" IN ('IMMEDIATE'))
  AND (t."dispatch_pool_id" IS NULL OR t."dispatch_pool_id" = '')
ORDER BY COALESCE(t."next_attempt_at", '-infinity')
LIMIT $1
FOR UPDATE SKIP LOCKED),
moved AS (
UPDATE "dispatch_jobs" AS t SET
  "queued_at" = now(),
  "updated_at" = now()
WHERE t."id" = ANY (ARRAY(SELECT k FROM pick))
RETURNING t."id")
SELECT (t."id")::text
FROM moved AS t;

-- deliver, with a queue: offer 3: [Limit] -> Keys
WITH pick AS MATERIALIZED (
SELECT t."id" AS k
FROM "dispatch_jobs" AS t
WHERE t."status" IS NOT DISTINCT FROM 'ERROR' AND t."next_attempt_at" IS NOT NULL
  AND t."queued_at" IS NOT NULL
  AND t."queued_at" < now() - interval '900 seconds'
  AND COALESCE(t."next_attempt_at", '-infinity') <= now()
  AND t."attempt_count" < GREATEST(COALESCE(t."max_retries", 3), 1)
  AND (t."expires_at" IS NULL OR t."expires_at" > now())
  AND (t."group_key" IS NULL OR t."mode" IN ('IMMEDIATE'))
  AND (t."dispatch_pool_id" IS NULL OR t."dispatch_pool_id" = '')
ORDER BY t."queued_at"
LIMIT $1
FOR UPDATE SKIP LOCKED),
moved AS (
UPDATE "dispatch_jobs" AS t SET
  "queued_at" = now(),
  "updated_at" = now()
WHERE t."id" = ANY (ARRAY(SELECT k FROM pick))
RETURNING t."id")
SELECT (t."id")::text
FROM moved AS t;

-- deliver, with a queue: recall 1: [Ids] -> Keys
WITH pick AS MATERIALIZED (
SELECT t."id" AS k
FROM "dispatch_jobs" AS t
WHERE t."id" = ANY (($1::text[])::varchar[])
  AND t."status" IS NOT DISTINCT FROM 'QUEUED'
  AND (t."group_key" IS NULL OR t."mode" IN ('IMMEDIATE'))
  AND (t."dispatch_pool_id" IS NULL OR t."dispatch_pool_id" = '')
FOR UPDATE),
moved AS (
UPDATE "dispatch_jobs" AS t SET
  "status" = 'PENDING',
  "lease_until" = NULL,
  "claimed_by" = NULL,
  "updated_at" = now()
WHERE t."id" = ANY (ARRAY(SELECT k FROM pick))
RETURNING t."id")
SELECT (t."id")::text
FROM moved AS t;

-- deliver, with a queue: recall 2: [Ids] -> Keys
WITH pick AS MATERIALIZED (
SELECT t."id" AS k
FROM "dispatch_jobs" AS t
WHERE t."id" = ANY (($1::text[])::varchar[])
  AND t."status" IS NOT DISTINCT FROM 'ERROR' AND t."next_attempt_at" IS NOT NULL
  AND (t."group_key" IS NULL OR t."mode" IN ('IMMEDIATE'))
  AND (t."dispatch_pool_id" IS NULL OR t."dispatch_pool_id" = '')
FOR UPDATE),
moved AS (
UPDATE "dispatch_jobs" AS t SET
  "queued_at" = NULL,
  "updated_at" = now()
WHERE t."id" = ANY (ARRAY(SELECT k FROM pick))
RETURNING t."id")
SELECT (t."id")::text
FROM moved AS t;

-- deliver, with a queue: settle released, each: [Array(Id), Array(Fence(0)), Array(Fence(1))] -> Keys
UPDATE "dispatch_jobs" AS t SET
  "status" = CASE WHEN COALESCE(t."attempt_count", 0) = 0 THEN 'QUEUED' ELSE 'ERROR' END,
  "next_attempt_at" = COALESCE(t."next_attempt_at", now()),
  "lease_until" = NULL,
  "claimed_by" = NULL,
  "queued_at" = NULL,
  "updated_at" = now()
FROM unnest(
  ($1::text[])::varchar[], ($2::text[])::timestamptz[], ($3::text[])::integer[]
) AS v("id", "f0", "f1")
WHERE t."id" = v."id"
  AND t."id" = ANY (($1::text[])::varchar[])
  AND CASE WHEN t."status" IS NOT DISTINCT FROM 'IN_PROGRESS'
    AND t."last_attempt_at" IS NOT DISTINCT FROM v."f0"
    AND t."attempt_count" IS NOT DISTINCT FROM v."f1"
  THEN true ELSE false END
RETURNING (t."id")::text;

-- deliver, with a queue: settle retry, each: [Array(Id), Array(Fence(0)), Array(Fence(1)),
--   Array(Outcome("duration_ms")), Array(Delay), Array(Reason), Array(Tsid), Array(Outcome("result")),
--   Array(Outcome("status")), Array(Outcome("body")), Array(Outcome("trace")), Array(Outcome("class"))] ->
--   Keys
WITH moved AS (
UPDATE "dispatch_jobs" AS t SET
  "duration_millis" = COALESCE(t."duration_millis", 0) + COALESCE((v."o_duration_ms")::bigint, 0),
  "status" = 'ERROR',
  "next_attempt_at" = now() + make_interval(secs => v."delay"),
  "lease_until" = NULL,
  "claimed_by" = NULL,
  "attempt_count" = t."attempt_count" + 1,
  "last_error" = v."reason",
  "queued_at" = NULL,
  "updated_at" = now()
FROM unnest(
  ($1::text[])::varchar[],
    ($2::text[])::timestamptz[],
    ($3::text[])::integer[],
    $4::text[],
    $5::float8[],
    $6::text[],
    $7::text[],
    $8::text[],
    $9::text[],
    $10::text[],
    $11::text[],
    $12::text[]
) AS v("id",
  "f0",
  "f1",
  "o_duration_ms",
  "delay",
  "reason",
  "tsid",
  "o_result",
  "o_status",
  "o_body",
  "o_trace",
  "o_class")
WHERE t."id" = v."id"
  AND t."id" = ANY (($1::text[])::varchar[])
  AND CASE WHEN t."status" IS NOT DISTINCT FROM 'IN_PROGRESS'
    AND t."last_attempt_at" IS NOT DISTINCT FROM v."f0"
    AND t."attempt_count" IS NOT DISTINCT FROM v."f1"
  THEN true ELSE false END
RETURNING
  t."attempt_count",
  t."id",
  t."last_attempt_at",
  v."tsid" AS "postrider tsid",
  v."o_duration_ms" AS "postrider o_duration_ms",
  v."o_result" AS "postrider o_result",
  v."o_status" AS "postrider o_status",
  v."o_body" AS "postrider o_body",
  v."reason" AS "postrider reason",
  v."o_trace" AS "postrider o_trace",
  v."o_class" AS "postrider o_class"),
effect0 AS (
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
  t."postrider tsid",
  t."id",
  t."attempt_count",
  t."last_attempt_at",
  now(),
  (t."postrider o_duration_ms")::bigint,
  LEFT(t."postrider o_result", 32),
  (t."postrider o_status")::integer,
  t."postrider o_body",
  t."postrider reason",
  t."postrider o_trace",
  LEFT(t."postrider o_class", 16),
  now()
FROM moved AS t
WHERE (SELECT set_config('plan_cache_mode', 'auto', true)) IS NOT NULL)
SELECT (t."id")::text
FROM moved AS t;
