-- orders: every statement. Written by the snapshot test; do not edit.

-- create
CREATE TABLE "Order" (
  "orderId" uuid,
    "select" smallint,
    "tries" integer,
    "nextAttemptAt" timestamp(3) without time zone,
    "lastAttemptAt" timestamp(3) without time zone,
    "group" varchar(40),
    "lastError" varchar(40),
    "createdAt" timestamp(3) without time zone,
    "rank" integer,
    "to" varchar(40),
    "order" varchar(40),
    "bodyHtml" text,
    "meta" jsonb,
    "tenant" varchar(40),
    PRIMARY KEY ("orderId")
);

-- create
CREATE INDEX IF NOT EXISTS "Order_mail_claim"
  ON "Order" ("rank" DESC NULLS LAST, (COALESCE("nextAttemptAt", '-infinity')), "orderId")
  WHERE "select" = 0
  AND "tenant" = 'it''s us';

-- create
CREATE INDEX IF NOT EXISTS "Order_mail_lease" ON "Order" ("lastAttemptAt") WHERE "select" = 1;

-- create
CREATE INDEX IF NOT EXISTS "Order_done_purge" ON "Order" ("createdAt") WHERE "select" = 2;

-- create
CREATE INDEX IF NOT EXISTS "Order_states4"
  ON "Order" (
    (
      CASE
        WHEN "select" = 9 THEN 'failed'
        WHEN "select" = 0
        AND COALESCE("tries", 0) >= 4
        AND "tenant" = 'it''s us' THEN 'no attempts left'
        END
    ),
      "orderId"
  )
  WHERE CASE
  WHEN "select" = 9 THEN 'failed'
  WHEN "select" = 0
  AND COALESCE("tries", 0) >= 4
  AND "tenant" = 'it''s us' THEN 'no attempts left'
  END IS NOT NULL;

-- create, notify
CREATE OR REPLACE FUNCTION "postrider_order"() RETURNS trigger LANGUAGE plpgsql AS $postrider$
BEGIN
  PERFORM pg_notify('postrider_order', '');
  RETURN NULL;
END
$postrider$;

-- create, notify
DO $postrider$
BEGIN
  IF NOT EXISTS (
    SELECT 1 FROM pg_trigger WHERE tgname = 'postrider_order' AND tgrelid = '"Order"'::regclass
  ) THEN
    CREATE TRIGGER "postrider_order"
      AFTER INSERT
      ON "Order"
      FOR EACH STATEMENT
      EXECUTE FUNCTION "postrider_order"();
  END IF;
END
$postrider$;

-- mail: layout Layout { integer_id: false, fences: 2, claim_time: None, pool: 8, fields: ["headers", "html",
--   "subject", "to", "results"], joined: [] }

-- mail: claim 1: [Limit, Owner] -> Rows
WITH pick AS MATERIALIZED (
SELECT t."orderId" AS k
FROM "Order" AS t
WHERE t."select" = 0
  AND COALESCE(t."nextAttemptAt", '-infinity') <= ((now()) AT TIME ZONE 'utc')
  AND COALESCE(t."tries", 0) < 4
  AND t."tenant" = 'it''s us'
ORDER BY t."rank" DESC NULLS LAST, COALESCE(t."nextAttemptAt", '-infinity'), t."orderId"
LIMIT $1
FOR UPDATE SKIP LOCKED),
moved AS (
UPDATE "Order" AS t SET
  "select" = 1,
  "lastAttemptAt" = CASE
    WHEN t."lastAttemptAt"
      BETWEEN ((now()) AT TIME ZONE 'utc') - interval '1000 microseconds'
      AND ((now()) AT TIME ZONE 'utc') + interval '60 seconds'
      THEN t."lastAttemptAt" + interval '1000 microseconds'
    ELSE ((now()) AT TIME ZONE 'utc')
    END,
  "group" = LEFT($2::text, 40)
WHERE t."orderId" = ANY (ARRAY(SELECT k FROM pick))
RETURNING
  t."bodyHtml",
  t."createdAt",
  t."group",
  t."lastAttemptAt",
  t."meta",
  t."nextAttemptAt",
  t."order",
  t."orderId",
  t."rank",
  t."to",
  t."tries")
SELECT
  (t."orderId")::text,
  (t."group")::text,
  (t."lastAttemptAt")::text,
  (COALESCE(t."tries", 0))::bigint,
  NULL,
  NULL,
  NULL,
  NULL,
  NULL,
  NULL,
  (
    COALESCE(
      CASE
        WHEN isfinite(t."nextAttemptAt")
          THEN floor(extract(epoch FROM ((now()) AT TIME ZONE 'utc') - t."nextAttemptAt") * 1000000)::bigint
        END,
        CASE
          WHEN isfinite(t."createdAt")
            THEN floor(extract(epoch FROM ((now()) AT TIME ZONE 'utc') - t."createdAt") * 1000000)::bigint
          END
    )
  )::bigint,
  (
    COALESCE(octet_length(t."meta"::text), 0)
      + COALESCE(octet_length(t."bodyHtml"), 0)
      + COALESCE(octet_length(t."order"), 0)
      + COALESCE(octet_length(t."to"), 0)
  )::bigint,
  CASE WHEN octet_length(t."meta"::text) <= 65536 THEN (t."meta")::text END,
  CASE WHEN octet_length(t."bodyHtml") <= 65536 THEN (t."bodyHtml")::text END,
  CASE WHEN octet_length(t."order") <= 65536 THEN (t."order")::text END,
  CASE WHEN octet_length(t."to") <= 65536 THEN (t."to")::text END,
  (
    SELECT r.results
      FROM postrider_recipients AS r
      WHERE r.source = 'Order'
      AND r.row_id = (t."orderId")::text
  )
FROM moved AS t
WHERE (SELECT set_config('synchronous_commit', 'off', true)) IS NOT NULL
ORDER BY t."rank" DESC NULLS LAST, COALESCE(t."nextAttemptAt", '-infinity'), t."orderId";

-- mail: load: [Ids] -> Other
SELECT
  (t."orderId")::text,
  (t."meta")::text,
  (t."bodyHtml")::text,
  (t."order")::text,
  (t."to")::text,
  (
    SELECT r.results
      FROM postrider_recipients AS r
      WHERE r.source = 'Order'
      AND r.row_id = (t."orderId")::text
  )
FROM "Order" AS t
WHERE t."orderId" = ANY (($1::text[])::uuid[]);

-- mail: settle delivered, uniform: [One(Reason), Ids, One(Fence(0)), One(Fence(1))] -> Keys
UPDATE "Order" AS t SET
  "select" = 2,
  "group" = NULL,
  "lastError" = LEFT($1::text, 40)
WHERE t."orderId" = ANY (($2::text[])::uuid[])
  AND t."select" IS NOT DISTINCT FROM 1
  AND t."group" IS NOT DISTINCT FROM ($3::text)::varchar
  AND t."lastAttemptAt" IS NOT DISTINCT FROM ($4::text)::timestamp(3) without time zone
RETURNING (t."orderId")::text;

-- mail: settle delivered, each: [Array(Id), Array(Fence(0)), Array(Fence(1)), Array(Reason)] -> Keys
UPDATE "Order" AS t SET
  "select" = 2,
  "group" = NULL,
  "lastError" = LEFT(v."reason", 40)
FROM unnest(
  ($1::text[])::uuid[], ($2::text[])::varchar[], ($3::text[])::timestamp(3) without time zone[], $4::text[]
) AS v("id", "f0", "f1", "reason")
WHERE t."orderId" = v."id"
  AND t."orderId" = ANY (($1::text[])::uuid[])
  AND CASE WHEN t."select" IS NOT DISTINCT FROM 1
    AND t."group" IS NOT DISTINCT FROM v."f0"
    AND t."lastAttemptAt" IS NOT DISTINCT FROM v."f1"
  THEN true ELSE false END
RETURNING (t."orderId")::text;

-- mail: settle delivered, remembering, step 1: [Array(Id), Array(Fence(0)), Array(Fence(1)), Array(Reason)]
--   -> Keys
UPDATE "Order" AS t SET
  "select" = 2,
  "group" = NULL,
  "lastError" = LEFT(v."reason", 40)
FROM unnest(
  ($1::text[])::uuid[], ($2::text[])::varchar[], ($3::text[])::timestamp(3) without time zone[], $4::text[]
) AS v("id", "f0", "f1", "reason")
WHERE t."orderId" = v."id"
  AND t."orderId" = ANY (($1::text[])::uuid[])
  AND CASE WHEN t."select" IS NOT DISTINCT FROM 1
    AND t."group" IS NOT DISTINCT FROM v."f0"
    AND t."lastAttemptAt" IS NOT DISTINCT FROM v."f1"
  THEN true ELSE false END
RETURNING (t."orderId")::text;

-- mail: settle delivered, remembering, step 2: [Array(Outcome("remembered_recipients")), Array(Id), Held] ->
--   Nothing
INSERT INTO postrider_recipients (source, row_id, results, changed_at)
SELECT
  'Order',
  (t."orderId")::text,
  v."o_remembered_recipients",
  now()
FROM "Order" AS t
  JOIN unnest($1::text[], ($2::text[])::uuid[]) AS v("o_remembered_recipients", "id")
  ON t."orderId" = v."id"
WHERE t."orderId" = ANY (($3::text[])::uuid[])
ON CONFLICT (source, row_id) DO UPDATE SET
  results = excluded.results,
  changed_at = excluded.changed_at;

-- mail: settle delivered, remembering, step 3: [Held] -> Nothing
DELETE FROM postrider_recipients AS r
WHERE r.source = 'Order' AND r.row_id = ANY ($1::text[]) AND r.results NOT LIKE '%"refused"%';

-- mail: settle retry, uniform: [One(Delay), One(Reason), Ids, One(Fence(0)), One(Fence(1))] -> Keys
UPDATE "Order" AS t SET
  "select" = 0,
  "group" = NULL,
  "nextAttemptAt" = ((now() + make_interval(secs => $1::float8)) AT TIME ZONE 'utc'),
  "tries" = COALESCE(t."tries", 0) + 1,
  "lastError" = LEFT($2::text, 40)
WHERE t."orderId" = ANY (($3::text[])::uuid[])
  AND t."select" IS NOT DISTINCT FROM 1
  AND t."group" IS NOT DISTINCT FROM ($4::text)::varchar
  AND t."lastAttemptAt" IS NOT DISTINCT FROM ($5::text)::timestamp(3) without time zone
RETURNING (t."orderId")::text;

-- mail: settle retry, each: [Array(Id), Array(Fence(0)), Array(Fence(1)), Array(Delay), Array(Reason)] ->
--   Keys
UPDATE "Order" AS t SET
  "select" = 0,
  "group" = NULL,
  "nextAttemptAt" = ((now() + make_interval(secs => v."delay")) AT TIME ZONE 'utc'),
  "tries" = COALESCE(t."tries", 0) + 1,
  "lastError" = LEFT(v."reason", 40)
FROM unnest(
  ($1::text[])::uuid[],
    ($2::text[])::varchar[],
    ($3::text[])::timestamp(3) without time zone[],
    $4::float8[],
    $5::text[]
) AS v("id", "f0", "f1", "delay", "reason")
WHERE t."orderId" = v."id"
  AND t."orderId" = ANY (($1::text[])::uuid[])
  AND CASE WHEN t."select" IS NOT DISTINCT FROM 1
    AND t."group" IS NOT DISTINCT FROM v."f0"
    AND t."lastAttemptAt" IS NOT DISTINCT FROM v."f1"
  THEN true ELSE false END
RETURNING (t."orderId")::text;

-- mail: settle retry, remembering, step 1: [Array(Id), Array(Fence(0)), Array(Fence(1)), Array(Delay),
--   Array(Reason)] -> Keys
UPDATE "Order" AS t SET
  "select" = 0,
  "group" = NULL,
  "nextAttemptAt" = ((now() + make_interval(secs => v."delay")) AT TIME ZONE 'utc'),
  "tries" = COALESCE(t."tries", 0) + 1,
  "lastError" = LEFT(v."reason", 40)
FROM unnest(
  ($1::text[])::uuid[],
    ($2::text[])::varchar[],
    ($3::text[])::timestamp(3) without time zone[],
    $4::float8[],
    $5::text[]
) AS v("id", "f0", "f1", "delay", "reason")
WHERE t."orderId" = v."id"
  AND t."orderId" = ANY (($1::text[])::uuid[])
  AND CASE WHEN t."select" IS NOT DISTINCT FROM 1
    AND t."group" IS NOT DISTINCT FROM v."f0"
    AND t."lastAttemptAt" IS NOT DISTINCT FROM v."f1"
  THEN true ELSE false END
RETURNING (t."orderId")::text;

-- mail: settle retry, remembering, step 2: [Array(Outcome("remembered_recipients")), Array(Id), Held] ->
--   Nothing
INSERT INTO postrider_recipients (source, row_id, results, changed_at)
SELECT
  'Order',
  (t."orderId")::text,
  v."o_remembered_recipients",
  now()
FROM "Order" AS t
  JOIN unnest($1::text[], ($2::text[])::uuid[]) AS v("o_remembered_recipients", "id")
  ON t."orderId" = v."id"
WHERE t."orderId" = ANY (($3::text[])::uuid[])
ON CONFLICT (source, row_id) DO UPDATE SET
  results = excluded.results,
  changed_at = excluded.changed_at;

-- mail: settle dead, uniform: [One(Reason), Ids, One(Fence(0)), One(Fence(1))] -> Keys
UPDATE "Order" AS t SET
  "select" = 9,
  "group" = NULL,
  "tries" = COALESCE(t."tries", 0) + 1,
  "lastError" = LEFT($1::text, 40)
WHERE t."orderId" = ANY (($2::text[])::uuid[])
  AND t."select" IS NOT DISTINCT FROM 1
  AND t."group" IS NOT DISTINCT FROM ($3::text)::varchar
  AND t."lastAttemptAt" IS NOT DISTINCT FROM ($4::text)::timestamp(3) without time zone
RETURNING (t."orderId")::text;

-- mail: settle dead, each: [Array(Id), Array(Fence(0)), Array(Fence(1)), Array(Reason)] -> Keys
UPDATE "Order" AS t SET
  "select" = 9,
  "group" = NULL,
  "tries" = COALESCE(t."tries", 0) + 1,
  "lastError" = LEFT(v."reason", 40)
FROM unnest(
  ($1::text[])::uuid[], ($2::text[])::varchar[], ($3::text[])::timestamp(3) without time zone[], $4::text[]
) AS v("id", "f0", "f1", "reason")
WHERE t."orderId" = v."id"
  AND t."orderId" = ANY (($1::text[])::uuid[])
  AND CASE WHEN t."select" IS NOT DISTINCT FROM 1
    AND t."group" IS NOT DISTINCT FROM v."f0"
    AND t."lastAttemptAt" IS NOT DISTINCT FROM v."f1"
  THEN true ELSE false END
RETURNING (t."orderId")::text;

-- mail: settle dead, remembering, step 1: [Array(Id), Array(Fence(0)), Array(Fence(1)), Array(Reason)] ->
--   Keys
UPDATE "Order" AS t SET
  "select" = 9,
  "group" = NULL,
  "tries" = COALESCE(t."tries", 0) + 1,
  "lastError" = LEFT(v."reason", 40)
FROM unnest(
  ($1::text[])::uuid[], ($2::text[])::varchar[], ($3::text[])::timestamp(3) without time zone[], $4::text[]
) AS v("id", "f0", "f1", "reason")
WHERE t."orderId" = v."id"
  AND t."orderId" = ANY (($1::text[])::uuid[])
  AND CASE WHEN t."select" IS NOT DISTINCT FROM 1
    AND t."group" IS NOT DISTINCT FROM v."f0"
    AND t."lastAttemptAt" IS NOT DISTINCT FROM v."f1"
  THEN true ELSE false END
RETURNING (t."orderId")::text;

-- mail: settle dead, remembering, step 2: [Array(Outcome("remembered_recipients")), Array(Id), Held] ->
--   Nothing
INSERT INTO postrider_recipients (source, row_id, results, changed_at)
SELECT
  'Order',
  (t."orderId")::text,
  v."o_remembered_recipients",
  now()
FROM "Order" AS t
  JOIN unnest($1::text[], ($2::text[])::uuid[]) AS v("o_remembered_recipients", "id")
  ON t."orderId" = v."id"
WHERE t."orderId" = ANY (($3::text[])::uuid[])
ON CONFLICT (source, row_id) DO UPDATE SET
  results = excluded.results,
  changed_at = excluded.changed_at;

-- mail: settle rejected, uniform: [One(Reason), Ids, One(Fence(0)), One(Fence(1))] -> Keys
UPDATE "Order" AS t SET
  "select" = 9,
  "group" = NULL,
  "tries" = COALESCE(t."tries", 0) + 1,
  "lastError" = LEFT($1::text, 40)
WHERE t."orderId" = ANY (($2::text[])::uuid[])
  AND t."select" IS NOT DISTINCT FROM 1
  AND t."group" IS NOT DISTINCT FROM ($3::text)::varchar
  AND t."lastAttemptAt" IS NOT DISTINCT FROM ($4::text)::timestamp(3) without time zone
RETURNING (t."orderId")::text;

-- mail: settle rejected, each: [Array(Id), Array(Fence(0)), Array(Fence(1)), Array(Reason)] -> Keys
UPDATE "Order" AS t SET
  "select" = 9,
  "group" = NULL,
  "tries" = COALESCE(t."tries", 0) + 1,
  "lastError" = LEFT(v."reason", 40)
FROM unnest(
  ($1::text[])::uuid[], ($2::text[])::varchar[], ($3::text[])::timestamp(3) without time zone[], $4::text[]
) AS v("id", "f0", "f1", "reason")
WHERE t."orderId" = v."id"
  AND t."orderId" = ANY (($1::text[])::uuid[])
  AND CASE WHEN t."select" IS NOT DISTINCT FROM 1
    AND t."group" IS NOT DISTINCT FROM v."f0"
    AND t."lastAttemptAt" IS NOT DISTINCT FROM v."f1"
  THEN true ELSE false END
RETURNING (t."orderId")::text;

-- mail: settle rejected, remembering, step 1: [Array(Id), Array(Fence(0)), Array(Fence(1)), Array(Reason)] ->
--   Keys
UPDATE "Order" AS t SET
  "select" = 9,
  "group" = NULL,
  "tries" = COALESCE(t."tries", 0) + 1,
  "lastError" = LEFT(v."reason", 40)
FROM unnest(
  ($1::text[])::uuid[], ($2::text[])::varchar[], ($3::text[])::timestamp(3) without time zone[], $4::text[]
) AS v("id", "f0", "f1", "reason")
WHERE t."orderId" = v."id"
  AND t."orderId" = ANY (($1::text[])::uuid[])
  AND CASE WHEN t."select" IS NOT DISTINCT FROM 1
    AND t."group" IS NOT DISTINCT FROM v."f0"
    AND t."lastAttemptAt" IS NOT DISTINCT FROM v."f1"
  THEN true ELSE false END
RETURNING (t."orderId")::text;

-- mail: settle rejected, remembering, step 2: [Array(Outcome("remembered_recipients")), Array(Id), Held] ->
--   Nothing
INSERT INTO postrider_recipients (source, row_id, results, changed_at)
SELECT
  'Order',
  (t."orderId")::text,
  v."o_remembered_recipients",
  now()
FROM "Order" AS t
  JOIN unnest($1::text[], ($2::text[])::uuid[]) AS v("o_remembered_recipients", "id")
  ON t."orderId" = v."id"
WHERE t."orderId" = ANY (($3::text[])::uuid[])
ON CONFLICT (source, row_id) DO UPDATE SET
  results = excluded.results,
  changed_at = excluded.changed_at;

-- mail: settle skipped, uniform: [One(Reason), Ids, One(Fence(0)), One(Fence(1))] -> Keys
UPDATE "Order" AS t SET
  "select" = 9,
  "group" = NULL,
  "tries" = COALESCE(t."tries", 0) + 1,
  "lastError" = LEFT($1::text, 40)
WHERE t."orderId" = ANY (($2::text[])::uuid[])
  AND t."select" IS NOT DISTINCT FROM 1
  AND t."group" IS NOT DISTINCT FROM ($3::text)::varchar
  AND t."lastAttemptAt" IS NOT DISTINCT FROM ($4::text)::timestamp(3) without time zone
RETURNING (t."orderId")::text;

-- mail: settle skipped, each: [Array(Id), Array(Fence(0)), Array(Fence(1)), Array(Reason)] -> Keys
UPDATE "Order" AS t SET
  "select" = 9,
  "group" = NULL,
  "tries" = COALESCE(t."tries", 0) + 1,
  "lastError" = LEFT(v."reason", 40)
FROM unnest(
  ($1::text[])::uuid[], ($2::text[])::varchar[], ($3::text[])::timestamp(3) without time zone[], $4::text[]
) AS v("id", "f0", "f1", "reason")
WHERE t."orderId" = v."id"
  AND t."orderId" = ANY (($1::text[])::uuid[])
  AND CASE WHEN t."select" IS NOT DISTINCT FROM 1
    AND t."group" IS NOT DISTINCT FROM v."f0"
    AND t."lastAttemptAt" IS NOT DISTINCT FROM v."f1"
  THEN true ELSE false END
RETURNING (t."orderId")::text;

-- mail: settle skipped, remembering, step 1: [Array(Id), Array(Fence(0)), Array(Fence(1)), Array(Reason)] ->
--   Keys
UPDATE "Order" AS t SET
  "select" = 9,
  "group" = NULL,
  "tries" = COALESCE(t."tries", 0) + 1,
  "lastError" = LEFT(v."reason", 40)
FROM unnest(
  ($1::text[])::uuid[], ($2::text[])::varchar[], ($3::text[])::timestamp(3) without time zone[], $4::text[]
) AS v("id", "f0", "f1", "reason")
WHERE t."orderId" = v."id"
  AND t."orderId" = ANY (($1::text[])::uuid[])
  AND CASE WHEN t."select" IS NOT DISTINCT FROM 1
    AND t."group" IS NOT DISTINCT FROM v."f0"
    AND t."lastAttemptAt" IS NOT DISTINCT FROM v."f1"
  THEN true ELSE false END
RETURNING (t."orderId")::text;

-- mail: settle skipped, remembering, step 2: [Array(Outcome("remembered_recipients")), Array(Id), Held] ->
--   Nothing
INSERT INTO postrider_recipients (source, row_id, results, changed_at)
SELECT
  'Order',
  (t."orderId")::text,
  v."o_remembered_recipients",
  now()
FROM "Order" AS t
  JOIN unnest($1::text[], ($2::text[])::uuid[]) AS v("o_remembered_recipients", "id")
  ON t."orderId" = v."id"
WHERE t."orderId" = ANY (($3::text[])::uuid[])
ON CONFLICT (source, row_id) DO UPDATE SET
  results = excluded.results,
  changed_at = excluded.changed_at;

-- mail: settle deferred, uniform: [One(Delay), Ids, One(Fence(0)), One(Fence(1))] -> Keys
UPDATE "Order" AS t SET
  "select" = 0,
  "group" = NULL,
  "nextAttemptAt" = ((now() + make_interval(secs => $1::float8)) AT TIME ZONE 'utc')
WHERE t."orderId" = ANY (($2::text[])::uuid[])
  AND t."select" IS NOT DISTINCT FROM 1
  AND t."group" IS NOT DISTINCT FROM ($3::text)::varchar
  AND t."lastAttemptAt" IS NOT DISTINCT FROM ($4::text)::timestamp(3) without time zone
RETURNING (t."orderId")::text;

-- mail: settle deferred, each: [Array(Id), Array(Fence(0)), Array(Fence(1)), Array(Delay)] -> Keys
UPDATE "Order" AS t SET
  "select" = 0,
  "group" = NULL,
  "nextAttemptAt" = ((now() + make_interval(secs => v."delay")) AT TIME ZONE 'utc')
FROM unnest(
  ($1::text[])::uuid[], ($2::text[])::varchar[], ($3::text[])::timestamp(3) without time zone[], $4::float8[]
) AS v("id", "f0", "f1", "delay")
WHERE t."orderId" = v."id"
  AND t."orderId" = ANY (($1::text[])::uuid[])
  AND CASE WHEN t."select" IS NOT DISTINCT FROM 1
    AND t."group" IS NOT DISTINCT FROM v."f0"
    AND t."lastAttemptAt" IS NOT DISTINCT FROM v."f1"
  THEN true ELSE false END
RETURNING (t."orderId")::text;

-- mail: settle deferred, remembering, step 1: [Array(Id), Array(Fence(0)), Array(Fence(1)), Array(Delay)] ->
--   Keys
UPDATE "Order" AS t SET
  "select" = 0,
  "group" = NULL,
  "nextAttemptAt" = ((now() + make_interval(secs => v."delay")) AT TIME ZONE 'utc')
FROM unnest(
  ($1::text[])::uuid[], ($2::text[])::varchar[], ($3::text[])::timestamp(3) without time zone[], $4::float8[]
) AS v("id", "f0", "f1", "delay")
WHERE t."orderId" = v."id"
  AND t."orderId" = ANY (($1::text[])::uuid[])
  AND CASE WHEN t."select" IS NOT DISTINCT FROM 1
    AND t."group" IS NOT DISTINCT FROM v."f0"
    AND t."lastAttemptAt" IS NOT DISTINCT FROM v."f1"
  THEN true ELSE false END
RETURNING (t."orderId")::text;

-- mail: settle deferred, remembering, step 2: [Array(Outcome("remembered_recipients")), Array(Id), Held] ->
--   Nothing
INSERT INTO postrider_recipients (source, row_id, results, changed_at)
SELECT
  'Order',
  (t."orderId")::text,
  v."o_remembered_recipients",
  now()
FROM "Order" AS t
  JOIN unnest($1::text[], ($2::text[])::uuid[]) AS v("o_remembered_recipients", "id")
  ON t."orderId" = v."id"
WHERE t."orderId" = ANY (($3::text[])::uuid[])
ON CONFLICT (source, row_id) DO UPDATE SET
  results = excluded.results,
  changed_at = excluded.changed_at;

-- mail: settle released, uniform: [Ids, One(Fence(0)), One(Fence(1))] -> Keys
UPDATE "Order" AS t SET
  "select" = 0,
  "group" = NULL
WHERE t."orderId" = ANY (($1::text[])::uuid[])
  AND t."select" IS NOT DISTINCT FROM 1
  AND t."group" IS NOT DISTINCT FROM ($2::text)::varchar
  AND t."lastAttemptAt" IS NOT DISTINCT FROM ($3::text)::timestamp(3) without time zone
RETURNING (t."orderId")::text;

-- mail: settle released, each: [Array(Id), Array(Fence(0)), Array(Fence(1))] -> Keys
UPDATE "Order" AS t SET
  "select" = 0,
  "group" = NULL
FROM unnest(
  ($1::text[])::uuid[], ($2::text[])::varchar[], ($3::text[])::timestamp(3) without time zone[]
) AS v("id", "f0", "f1")
WHERE t."orderId" = v."id"
  AND t."orderId" = ANY (($1::text[])::uuid[])
  AND CASE WHEN t."select" IS NOT DISTINCT FROM 1
    AND t."group" IS NOT DISTINCT FROM v."f0"
    AND t."lastAttemptAt" IS NOT DISTINCT FROM v."f1"
  THEN true ELSE false END
RETURNING (t."orderId")::text;

-- mail: extend: [Array(Id), Array(Fence(0)), Array(Fence(1))] -> Leases
UPDATE "Order" AS t SET "lastAttemptAt" = CASE
  WHEN t."lastAttemptAt"
    BETWEEN ((now()) AT TIME ZONE 'utc') - interval '1000 microseconds'
    AND ((now()) AT TIME ZONE 'utc') + interval '60 seconds'
    THEN t."lastAttemptAt" + interval '1000 microseconds'
  ELSE ((now()) AT TIME ZONE 'utc')
  END
FROM unnest(
  ($1::text[])::uuid[], ($2::text[])::varchar[], ($3::text[])::timestamp(3) without time zone[]
) AS v("id", "f0", "f1")
WHERE t."orderId" = v."id"
  AND t."orderId" = ANY (($1::text[])::uuid[])
  AND CASE WHEN t."select" IS NOT DISTINCT FROM 1
    AND t."group" IS NOT DISTINCT FROM v."f0"
    AND t."lastAttemptAt" IS NOT DISTINCT FROM v."f1"
  THEN true ELSE false END
RETURNING
  (t."orderId")::text,
  (t."group")::text,
  (t."lastAttemptAt")::text;

-- mail: leases after a lost extension: [Ids, Owner] -> Leases
SELECT
  (t."orderId")::text,
  (t."group")::text,
  (t."lastAttemptAt")::text
FROM "Order" AS t
WHERE t."orderId" = ANY (($1::text[])::uuid[])
  AND t."select" IS NOT DISTINCT FROM 1
  AND t."group" = $2::text;

-- mail: stamp: [Limit] -> Keys
WITH pick AS MATERIALIZED (
SELECT t."orderId" AS k
FROM "Order" AS t
WHERE t."select" = 1
  AND t."lastAttemptAt" IS NULL
  AND t."tenant" = 'it''s us'
LIMIT $1
FOR UPDATE SKIP LOCKED),
moved AS (
UPDATE "Order" AS t SET "lastAttemptAt" = ((now()) AT TIME ZONE 'utc')
WHERE t."orderId" = ANY (ARRAY(SELECT k FROM pick))
RETURNING t."orderId")
SELECT (t."orderId")::text
FROM moved AS t;

-- mail: leases that still hold: [Array(Id), Array(Fence(0)), Array(Fence(1))] -> Keys
SELECT (t."orderId")::text
FROM "Order" AS t,
  unnest(
    ($1::text[])::uuid[], ($2::text[])::varchar[], ($3::text[])::timestamp(3) without time zone[]
  ) AS v("id", "f0", "f1")
WHERE t."orderId" = v."id"
  AND t."orderId" = ANY (($1::text[])::uuid[])
  AND CASE WHEN t."select" IS NOT DISTINCT FROM 1
    AND t."group" IS NOT DISTINCT FROM v."f0"
    AND t."lastAttemptAt" IS NOT DISTINCT FROM v."f1"
  THEN true ELSE false END
  AND (t."lastAttemptAt" < ((now() - interval '300 seconds') AT TIME ZONE 'utc')) IS NOT TRUE;

-- mail: look for rows of a lost claim: [Owner] -> Keys
SELECT (t."orderId")::text
FROM "Order" AS t
WHERE t."select" = 1
  AND t."group" = $1::text
  AND t."tenant" = 'it''s us';

-- mail: release rows of a lost claim: [Ids, Owner] -> Keys
WITH pick AS MATERIALIZED (
SELECT t."orderId" AS k
FROM "Order" AS t
WHERE t."orderId" = ANY (($1::text[])::uuid[])
  AND t."select" IS NOT DISTINCT FROM 1
  AND t."group" = $2::text
  AND t."tenant" = 'it''s us'
FOR UPDATE),
moved AS (
UPDATE "Order" AS t SET
  "select" = 0,
  "group" = NULL
WHERE t."orderId" = ANY (ARRAY(SELECT k FROM pick))
RETURNING t."orderId")
SELECT (t."orderId")::text
FROM moved AS t;

-- mail: look for expired leases: [Limit] -> Other
SELECT
  (t."orderId")::text,
  (t."group")::text,
  (t."lastAttemptAt")::text,
  CASE WHEN COALESCE(t."tries", 0) + 1 >= 4 THEN 1 ELSE 0 END,
  4
FROM "Order" AS t
WHERE t."select" = 1
  AND t."lastAttemptAt" < ((now() - interval '300 seconds') AT TIME ZONE 'utc')
  AND t."tenant" = 'it''s us'
ORDER BY t."lastAttemptAt"
LIMIT $1;

-- mail: reclaim, free: [Ids] -> Keys
WITH pick AS MATERIALIZED (
SELECT t."orderId" AS k
FROM "Order" AS t
WHERE t."orderId" = ANY (($1::text[])::uuid[])
  AND t."select" IS NOT DISTINCT FROM 1
  AND t."lastAttemptAt" < ((now() - interval '300 seconds') AT TIME ZONE 'utc')
  AND t."tenant" = 'it''s us'
FOR UPDATE),
moved AS (
UPDATE "Order" AS t SET
  "select" = 0,
  "group" = NULL
WHERE t."orderId" = ANY (ARRAY(SELECT k FROM pick))
RETURNING t."orderId")
SELECT (t."orderId")::text
FROM moved AS t;

-- mail: reclaim, spared, step 1: [Ids] -> Keys
WITH pick AS MATERIALIZED (
SELECT t."orderId" AS k
FROM "Order" AS t
WHERE t."orderId" = ANY (($1::text[])::uuid[])
  AND t."select" IS NOT DISTINCT FROM 1
  AND t."lastAttemptAt" < ((now() - interval '300 seconds') AT TIME ZONE 'utc')
  AND t."tenant" = 'it''s us'
FOR UPDATE),
moved AS (
UPDATE "Order" AS t SET
  "select" = 0,
  "group" = NULL
WHERE t."orderId" = ANY (ARRAY(SELECT k FROM pick))
RETURNING t."orderId")
SELECT (t."orderId")::text
FROM moved AS t;

-- mail: reclaim, spared, step 2: [Held] -> Nothing
INSERT INTO postrider_crashes AS c (place, row_id, crashes, crashed_at)
SELECT
  'Order/mail',
  k,
  1,
  now()
FROM unnest($1::text[]) AS k
ON CONFLICT (place, row_id) DO UPDATE SET
  crashes = c.crashes + 1,
  crashed_at = excluded.crashed_at;

-- mail: reclaim, charged, step 1: [Ids] -> Keys
WITH pick AS MATERIALIZED (
SELECT t."orderId" AS k
FROM "Order" AS t
WHERE t."orderId" = ANY (($1::text[])::uuid[])
  AND t."select" IS NOT DISTINCT FROM 1
  AND t."lastAttemptAt" < ((now() - interval '300 seconds') AT TIME ZONE 'utc')
  AND t."tenant" = 'it''s us'
FOR UPDATE),
moved AS (
UPDATE "Order" AS t SET
  "select" = 0,
  "group" = NULL,
  "nextAttemptAt" = ((now()) AT TIME ZONE 'utc'),
  "tries" = COALESCE(t."tries", 0) + 1,
  "lastError" = LEFT('lease expired: the worker that held it is gone', 40)
WHERE t."orderId" = ANY (ARRAY(SELECT k FROM pick))
RETURNING t."orderId")
SELECT (t."orderId")::text
FROM moved AS t;

-- mail: reclaim, charged, step 2: [Held] -> Nothing
INSERT INTO postrider_crashes AS c (place, row_id, crashes, crashed_at)
SELECT
  'Order/mail',
  k,
  1,
  now()
FROM unnest($1::text[]) AS k
ON CONFLICT (place, row_id) DO UPDATE SET
  crashes = c.crashes + 1,
  crashed_at = excluded.crashed_at;

-- mail: reclaim, dead, step 1: [Ids] -> Keys
WITH pick AS MATERIALIZED (
SELECT t."orderId" AS k
FROM "Order" AS t
WHERE t."orderId" = ANY (($1::text[])::uuid[])
  AND t."select" IS NOT DISTINCT FROM 1
  AND t."lastAttemptAt" < ((now() - interval '300 seconds') AT TIME ZONE 'utc')
  AND t."tenant" = 'it''s us'
FOR UPDATE),
moved AS (
UPDATE "Order" AS t SET
  "select" = 9,
  "group" = NULL,
  "tries" = COALESCE(t."tries", 0) + 1,
  "lastError" = LEFT('poison row: its workers crashed repeatedly, also when it was delivered alone', 40)
WHERE t."orderId" = ANY (ARRAY(SELECT k FROM pick))
RETURNING t."orderId")
SELECT (t."orderId")::text
FROM moved AS t;

-- mail: reclaim, dead, step 2: [Held] -> Nothing
DELETE FROM postrider_crashes WHERE place = 'Order/mail' AND row_id = ANY ($1::text[]);

-- mail: spent: [Limit] -> Keys
WITH pick AS MATERIALIZED (
SELECT t."orderId" AS k
FROM "Order" AS t
WHERE t."select" = 0
  AND CASE
    WHEN t."select" = 9 THEN 'failed'
    WHEN t."select" = 0
    AND COALESCE(t."tries", 0) >= 4
    AND t."tenant" = 'it''s us' THEN 'no attempts left'
    END = 'no attempts left'
  AND COALESCE(t."tries", 0) >= 4
  AND t."tenant" = 'it''s us'
LIMIT $1
FOR UPDATE SKIP LOCKED),
moved AS (
UPDATE "Order" AS t SET
  "lastError" = COALESCE(t."lastError", LEFT('no attempts left', 40)),
  "select" = 9,
  "group" = NULL
WHERE t."orderId" = ANY (ARRAY(SELECT k FROM pick))
RETURNING t."orderId")
SELECT (t."orderId")::text
FROM moved AS t;

-- mail: purge 1, step 1: [Limit] -> Keys
WITH pick AS MATERIALIZED (
SELECT t."orderId" AS k
FROM "Order" AS t
WHERE t."select" = 2 AND t."tenant" = 'it''s us'
  AND t."createdAt" < ((now() - interval '2592000 seconds') AT TIME ZONE 'utc')
LIMIT $1
FOR UPDATE SKIP LOCKED)
DELETE FROM "Order" AS t
WHERE t."orderId" = ANY (ARRAY(SELECT k FROM pick))
RETURNING (t."orderId")::text;

-- mail: purge 1, step 2: [Held] -> Nothing
DELETE FROM postrider_recipients AS r
WHERE r.source = 'Order' AND r.row_id = ANY ($1::text[]);

-- mail: next due: [] -> Other
SELECT (
  COALESCE(
    0
      - (
        CASE
          WHEN isfinite(t."nextAttemptAt")
            THEN floor(extract(epoch FROM ((now()) AT TIME ZONE 'utc') - t."nextAttemptAt") * 1000000)::bigint
          END
      ),
      0
  )
)::bigint AS w
FROM "Order" AS t
WHERE t."select" = 0
  AND COALESCE(t."tries", 0) < 4
  AND t."tenant" = 'it''s us'
ORDER BY COALESCE(t."nextAttemptAt", '-infinity')
LIMIT 1;

-- mail: lag: [] -> Other
SELECT (
  (
    SELECT (
      COALESCE(
        CASE
          WHEN isfinite(t."nextAttemptAt")
            THEN floor(extract(epoch FROM ((now()) AT TIME ZONE 'utc') - t."nextAttemptAt") * 1000000)::bigint
          END,
          CASE
            WHEN isfinite(t."createdAt")
              THEN floor(extract(epoch FROM ((now()) AT TIME ZONE 'utc') - t."createdAt") * 1000000)::bigint
            END
      )
    )::float8
      / 1000000
      FROM "Order" AS t
      WHERE t."select" = 0
      AND COALESCE(t."nextAttemptAt", '-infinity') <= ((now()) AT TIME ZONE 'utc')
      AND COALESCE(t."tries", 0) < 4
      AND t."tenant" = 'it''s us'
      ORDER BY t."rank" DESC NULLS LAST
      LIMIT 1
  )
)::float8,
  (
    (
      SELECT (
        CASE
          WHEN isfinite(t."lastAttemptAt")
            THEN floor(extract(epoch FROM ((now()) AT TIME ZONE 'utc') - t."lastAttemptAt") * 1000000)::bigint
          END
      )::float8
        / 1000000
        FROM "Order" AS t
        WHERE t."select" = 1
        AND t."tenant" = 'it''s us'
        ORDER BY t."lastAttemptAt"
        LIMIT 1
    )
  )::float8;

-- mail: census new: [] -> Other
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
                  t."orderId",
                  t."select",
                  t."tenant"
                FROM "Order" AS t
                  WHERE t."select" = 0
                  AND t."tenant" = 'it''s us'
                  ORDER BY t."rank" DESC NULLS LAST,
                  COALESCE(t."nextAttemptAt", '-infinity'),
                  t."orderId" LIMIT 50001
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
                t."orderId",
                t."select",
                t."tenant"
              FROM "Order" AS t
                WHERE t."select" = 0
                AND t."tenant" = 'it''s us'
                ORDER BY t."rank" DESC NULLS LAST,
                COALESCE(t."nextAttemptAt", '-infinity'),
                t."orderId" LIMIT 50000
            ) AS p
        ) AS t
    

WHERE t."select" = 0 LIMIT 10001) AS counted) AS c;

-- mail: census taken: [] -> Other
SELECT
  (COUNT(*))::bigint,
  0
FROM (
  SELECT 1 AS one FROM "Order" AS t WHERE t."select" = 1 AND t."tenant" = 'it''s us' LIMIT 10001
) AS counted;

-- mail: census done: [] -> Other
SELECT
  (c.n)::bigint,
  (
    CASE
      WHEN c.n <= 10000
      AND EXISTS (SELECT 1 FROM "Order" AS t ORDER BY t."orderId" LIMIT 1 OFFSET 50000) THEN 1
      ELSE 0
      END
  )::bigint
FROM (
  SELECT COUNT(*) AS n
    FROM (
      SELECT 1 AS one
        FROM (
          SELECT
            t."orderId",
            t."select",
            t."tenant"
          FROM "Order" AS t ORDER BY t."orderId" LIMIT 50000
        ) AS t
    

WHERE t."select" = 2 AND t."tenant" = 'it''s us' LIMIT 10001) AS counted) AS c;

-- mail: census failed: [] -> Other
SELECT
  (COUNT(*))::bigint,
  0
FROM (
  SELECT 1 AS one
    FROM "Order" AS t
    WHERE CASE
    WHEN t."select" = 9 THEN 'failed'
    WHEN t."select" = 0
    AND COALESCE(t."tries", 0) >= 4
    AND t."tenant" = 'it''s us' THEN 'no attempts left'
    END = 'failed'
    AND t."select" = 9
    AND t."tenant" = 'it''s us'
    LIMIT 10001
) AS counted;

-- mail: requeue ids failed: [Ids] -> Keys
WITH pick AS MATERIALIZED (
SELECT t."orderId" AS k
FROM "Order" AS t
WHERE t."orderId" = ANY (($1::text[])::uuid[])
  AND t."select" IS NOT DISTINCT FROM 9
  AND t."tenant" = 'it''s us'
FOR UPDATE),
moved AS (
UPDATE "Order" AS t SET
  "select" = 0,
  "group" = NULL,
  "nextAttemptAt" = ((now()) AT TIME ZONE 'utc'),
  "tries" = 0,
  "lastError" = NULL
WHERE t."orderId" = ANY (ARRAY(SELECT k FROM pick))
RETURNING t."orderId")
SELECT (t."orderId")::text
FROM moved AS t;

-- mail: requeue state failed: [Since, Limit] -> Keys
WITH pick AS MATERIALIZED (
SELECT t."orderId" AS k
FROM "Order" AS t
WHERE t."select" = 9
  AND CASE
    WHEN t."select" = 9 THEN 'failed'
    WHEN t."select" = 0
    AND COALESCE(t."tries", 0) >= 4
    AND t."tenant" = 'it''s us' THEN 'no attempts left'
    END = 'failed'
  AND (
    $1::float8 IS NULL
      OR t."lastAttemptAt" >= ((now() + make_interval(secs => (0 - $1::float8))) AT TIME ZONE 'utc')
      OR t."lastAttemptAt" IS NULL
      AND t."createdAt" >= ((now() + make_interval(secs => (0 - $1::float8))) AT TIME ZONE 'utc')
  )
  AND t."tenant" = 'it''s us'
LIMIT $2
FOR UPDATE SKIP LOCKED),
moved AS (
UPDATE "Order" AS t SET
  "select" = 0,
  "group" = NULL,
  "nextAttemptAt" = ((now()) AT TIME ZONE 'utc'),
  "tries" = 0,
  "lastError" = NULL
WHERE t."orderId" = ANY (ARRAY(SELECT k FROM pick))
RETURNING t."orderId")
SELECT (t."orderId")::text
FROM moved AS t;

-- mail: release ids taken: [Ids] -> Keys
WITH pick AS MATERIALIZED (
SELECT t."orderId" AS k
FROM "Order" AS t
WHERE t."orderId" = ANY (($1::text[])::uuid[])
  AND t."select" IS NOT DISTINCT FROM 1
  AND t."tenant" = 'it''s us'
FOR UPDATE),
moved AS (
UPDATE "Order" AS t SET
  "select" = 0,
  "group" = NULL
WHERE t."orderId" = ANY (ARRAY(SELECT k FROM pick))
RETURNING t."orderId")
SELECT (t."orderId")::text
FROM moved AS t;

-- mail: release state taken: [Since, Limit] -> Keys
WITH pick AS MATERIALIZED (
SELECT t."orderId" AS k
FROM "Order" AS t
WHERE t."select" = 1
  AND (
    $1::float8 IS NULL
      OR t."lastAttemptAt" >= ((now() + make_interval(secs => (0 - $1::float8))) AT TIME ZONE 'utc')
      OR t."lastAttemptAt" IS NULL
      AND t."createdAt" >= ((now() + make_interval(secs => (0 - $1::float8))) AT TIME ZONE 'utc')
  )
  AND t."tenant" = 'it''s us'
LIMIT $2
FOR UPDATE SKIP LOCKED),
moved AS (
UPDATE "Order" AS t SET
  "select" = 0,
  "group" = NULL
WHERE t."orderId" = ANY (ARRAY(SELECT k FROM pick))
RETURNING t."orderId")
SELECT (t."orderId")::text
FROM moved AS t;
