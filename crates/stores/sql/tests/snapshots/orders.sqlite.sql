-- orders: every statement. Written by the snapshot test; do not edit.

-- create
CREATE TABLE "Order" (
  "orderId" TEXT,
    "select" INTEGER,
    "tries" INTEGER,
    "nextAttemptAt" DATETIME,
    "lastAttemptAt" DATETIME,
    "group" TEXT,
    "lastError" TEXT,
    "createdAt" DATETIME,
    "rank" INTEGER,
    "to" TEXT,
    "order" TEXT,
    "bodyHtml" text,
    "meta" TEXT,
    "tenant" TEXT,
    PRIMARY KEY ("orderId")
);

-- create
CREATE INDEX IF NOT EXISTS "Order_mail_claim"
  ON "Order" (
    "rank" DESC,
      (
        COALESCE(
          CASE
            WHEN typeof("nextAttemptAt") IN ('integer', 'real')
            OR "nextAttemptAt" NOT GLOB '*[^0-9]*' THEN CAST("nextAttemptAt" AS INTEGER)
            ELSE CAST(round((julianday("nextAttemptAt") - 2440587.5) * 86400000.0) AS INTEGER)
            END,
            0
        )
      ),
      "orderId"
  )
  WHERE "select" = 0
  AND "tenant" = 'it''s us';

-- create
CREATE INDEX IF NOT EXISTS "Order_mail_lease"
  ON "Order" (
    (
      CASE
        WHEN typeof("lastAttemptAt") IN ('integer', 'real')
        OR "lastAttemptAt" NOT GLOB '*[^0-9]*' THEN CAST("lastAttemptAt" AS INTEGER)
        ELSE CAST(round((julianday("lastAttemptAt") - 2440587.5) * 86400000.0) AS INTEGER)
        END
    )
  )
  WHERE "select" = 1;

-- create
CREATE INDEX IF NOT EXISTS "Order_done_purge"
  ON "Order" (
    (
      CASE
        WHEN typeof("createdAt") IN ('integer', 'real')
        OR "createdAt" NOT GLOB '*[^0-9]*' THEN CAST("createdAt" AS INTEGER)
        ELSE CAST(round((julianday("createdAt") - 2440587.5) * 86400000.0) AS INTEGER)
        END
    )
  )
  WHERE "select" = 2;

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

-- mail: layout Layout { integer_id: false, fences: 2, claim_time: None, pool: 8, fields: ["headers", "html",
--   "subject", "to", "results"], joined: [] }

-- mail: claim 1, step 1: [Limit] -> Keys
SELECT CAST(t."orderId" AS TEXT)
FROM "Order" AS t
WHERE t."select" = 0
  AND COALESCE(
    CASE
      WHEN typeof(t."nextAttemptAt") IN ('integer', 'real')
      OR t."nextAttemptAt" NOT GLOB '*[^0-9]*' THEN CAST(t."nextAttemptAt" AS INTEGER)
      ELSE CAST(round((julianday(t."nextAttemptAt") - 2440587.5) * 86400000.0) AS INTEGER)
      END,
      0
  ) <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
    + 0
  AND COALESCE(t."tries", 0) < 4
  AND t."tenant" = 'it''s us'
ORDER BY t."rank" DESC,
  COALESCE(
    CASE
      WHEN typeof(t."nextAttemptAt") IN ('integer', 'real')
      OR t."nextAttemptAt" NOT GLOB '*[^0-9]*' THEN CAST(t."nextAttemptAt" AS INTEGER)
      ELSE CAST(round((julianday(t."nextAttemptAt") - 2440587.5) * 86400000.0) AS INTEGER)
      END,
      0
  ),
  t."orderId"
LIMIT ?1;

-- mail: claim 1, step 2: [Owner, Held] -> Rows
UPDATE "Order" AS t SET
  "select" = 1,
  "lastAttemptAt" = CASE
    WHEN typeof(COALESCE(t."lastAttemptAt", t."nextAttemptAt", t."createdAt")) IN ('integer', 'real')
    OR COALESCE(t."lastAttemptAt", t."nextAttemptAt", t."createdAt") NOT GLOB '*[^0-9]*' THEN CASE
    WHEN CASE
    WHEN typeof(t."lastAttemptAt") IN ('integer', 'real')
    OR t."lastAttemptAt" NOT GLOB '*[^0-9]*' THEN CAST(t."lastAttemptAt" AS INTEGER)
    ELSE CAST(round((julianday(t."lastAttemptAt") - 2440587.5) * 86400000.0) AS INTEGER)
    END
      BETWEEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 - 1
      AND CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 + 60000
      THEN CASE
    WHEN typeof(t."lastAttemptAt") IN ('integer', 'real')
    OR t."lastAttemptAt" NOT GLOB '*[^0-9]*' THEN CAST(t."lastAttemptAt" AS INTEGER)
    ELSE CAST(round((julianday(t."lastAttemptAt") - 2440587.5) * 86400000.0) AS INTEGER)
    END + 1
    ELSE CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    END
    WHEN COALESCE(t."lastAttemptAt", t."nextAttemptAt", t."createdAt") GLOB '????-??-?? *'
      THEN strftime(
        '%Y-%m-%d %H:%M:%f',
          (
            CASE
              WHEN CASE
              WHEN typeof(t."lastAttemptAt") IN ('integer', 'real')
              OR t."lastAttemptAt" NOT GLOB '*[^0-9]*' THEN CAST(t."lastAttemptAt" AS INTEGER)
              ELSE CAST(round((julianday(t."lastAttemptAt") - 2440587.5) * 86400000.0) AS INTEGER)
              END
                BETWEEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 - 1
                AND CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 + 60000
                THEN CASE
              WHEN typeof(t."lastAttemptAt") IN ('integer', 'real')
              OR t."lastAttemptAt" NOT GLOB '*[^0-9]*' THEN CAST(t."lastAttemptAt" AS INTEGER)
              ELSE CAST(round((julianday(t."lastAttemptAt") - 2440587.5) * 86400000.0) AS INTEGER)
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
            WHEN typeof(t."lastAttemptAt") IN ('integer', 'real')
            OR t."lastAttemptAt" NOT GLOB '*[^0-9]*' THEN CAST(t."lastAttemptAt" AS INTEGER)
            ELSE CAST(round((julianday(t."lastAttemptAt") - 2440587.5) * 86400000.0) AS INTEGER)
            END
              BETWEEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 - 1
              AND CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 + 60000
              THEN CASE
            WHEN typeof(t."lastAttemptAt") IN ('integer', 'real')
            OR t."lastAttemptAt" NOT GLOB '*[^0-9]*' THEN CAST(t."lastAttemptAt" AS INTEGER)
            ELSE CAST(round((julianday(t."lastAttemptAt") - 2440587.5) * 86400000.0) AS INTEGER)
            END + 1
            ELSE CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
            END
        )
          / 1000.0,
        'unixepoch'
    )
    END,
  "group" = ?1
WHERE t."orderId" IN (SELECT CAST(value AS TEXT) FROM json_each(?2))
RETURNING
  CAST("orderId" AS TEXT),
  CAST("group" AS TEXT),
  CAST("lastAttemptAt" AS TEXT),
  CAST(COALESCE("tries", 0) AS INTEGER),
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
          WHEN typeof("nextAttemptAt") IN ('integer', 'real')
          OR "nextAttemptAt" NOT GLOB '*[^0-9]*' THEN CAST("nextAttemptAt" AS INTEGER)
          ELSE CAST(round((julianday("nextAttemptAt") - 2440587.5) * 86400000.0) AS INTEGER)
          END
      )
        * 1000,
        (
          (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0) - CASE
            WHEN typeof("createdAt") IN ('integer', 'real')
            OR "createdAt" NOT GLOB '*[^0-9]*' THEN CAST("createdAt" AS INTEGER)
            ELSE CAST(round((julianday("createdAt") - 2440587.5) * 86400000.0) AS INTEGER)
            END
        )
          * 1000
    ) AS INTEGER
  ),
  CAST(
    COALESCE(length(CAST("meta" AS BLOB)), 0)
      + COALESCE(length(CAST("bodyHtml" AS BLOB)), 0)
      + COALESCE(length(CAST("order" AS BLOB)), 0)
      + COALESCE(length(CAST("to" AS BLOB)), 0) AS INTEGER
  ),
  CASE WHEN length(CAST("meta" AS BLOB)) <= 65536 THEN "meta" END,
  CASE WHEN length(CAST("bodyHtml" AS BLOB)) <= 65536 THEN "bodyHtml" END,
  CASE WHEN length(CAST("order" AS BLOB)) <= 65536 THEN "order" END,
  CASE WHEN length(CAST("to" AS BLOB)) <= 65536 THEN "to" END,
  (
    SELECT r.results
      FROM postrider_recipients AS r
      WHERE r.source = 'Order'
      AND r.row_id = CAST("Order"."orderId" AS TEXT)
  );

-- mail: load: [Ids] -> Other
SELECT
  CAST(t."orderId" AS TEXT),
  t."meta",
  t."bodyHtml",
  t."order",
  t."to",
  (
    SELECT r.results
      FROM postrider_recipients AS r
      WHERE r.source = 'Order'
      AND r.row_id = CAST(t."orderId" AS TEXT)
  )
FROM "Order" AS t
WHERE t."orderId" IN (SELECT CAST(value AS TEXT) FROM json_each(?1));

-- mail: settle delivered, uniform: [One(Reason), Ids, One(Fence(0)), One(Fence(1))] -> Keys
UPDATE "Order" AS t SET
  "select" = 2,
  "group" = NULL,
  "lastError" = ?1
WHERE t."orderId" IN (SELECT CAST(value AS TEXT) FROM json_each(?2))
  AND +t."select" = 1
  AND CAST(t."group" AS TEXT) IS ?3
  AND CAST(t."lastAttemptAt" AS TEXT) IS ?4
RETURNING CAST("orderId" AS TEXT);

-- mail: settle delivered, each: [Rows([Id, Fence(0), Fence(1), Reason])] -> Keys
UPDATE "Order" AS t SET
  "select" = 2,
  "group" = NULL,
  "lastError" = v."reason"
FROM (
  SELECT
    CAST(value->>'id' AS TEXT) AS "id",
    CAST(value->>'f0' AS TEXT) AS "f0",
    CAST(value->>'f1' AS TEXT) AS "f1",
    value->>'reason' AS "reason"
  FROM json_each(?1)
) AS v
WHERE t."orderId" = v."id"
  AND +t."select" = 1
  AND CAST(t."group" AS TEXT) IS v."f0"
  AND CAST(t."lastAttemptAt" AS TEXT) IS v."f1"
RETURNING CAST("orderId" AS TEXT);

-- mail: settle delivered, remembering, step 1: [Rows([Id, Fence(0), Fence(1), Reason])] -> Keys
UPDATE "Order" AS t SET
  "select" = 2,
  "group" = NULL,
  "lastError" = v."reason"
FROM (
  SELECT
    CAST(value->>'id' AS TEXT) AS "id",
    CAST(value->>'f0' AS TEXT) AS "f0",
    CAST(value->>'f1' AS TEXT) AS "f1",
    value->>'reason' AS "reason"
  FROM json_each(?1)
) AS v
WHERE t."orderId" = v."id"
  AND +t."select" = 1
  AND CAST(t."group" AS TEXT) IS v."f0"
  AND CAST(t."lastAttemptAt" AS TEXT) IS v."f1"
RETURNING CAST("orderId" AS TEXT);

-- mail: settle delivered, remembering, step 2: [Rows([Outcome("remembered_recipients"), Id]), Held] ->
--   Nothing
INSERT INTO postrider_recipients (source, row_id, results, changed_at)
SELECT
  'Order',
  CAST(t."orderId" AS TEXT),
  v."o_remembered_recipients",
  strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
FROM "Order" AS t
  JOIN (
    SELECT
      value->>'o_remembered_recipients' AS "o_remembered_recipients",
      CAST(value->>'id' AS TEXT) AS "id"
    FROM json_each(?1)
  ) AS v
  ON t."orderId" = v."id"
WHERE t."orderId" IN (SELECT CAST(value AS TEXT) FROM json_each(?2))
ON CONFLICT (source, row_id) DO UPDATE SET
  results = excluded.results,
  changed_at = excluded.changed_at;

-- mail: settle delivered, remembering, step 3: [Held] -> Nothing
DELETE FROM postrider_recipients AS r
WHERE r.source = 'Order'
  AND r.row_id IN (SELECT CAST(value AS TEXT) FROM json_each(?1))
  AND r.results NOT LIKE '%"refused"%';

-- mail: settle retry, uniform: [One(Delay), One(Reason), Ids, One(Fence(0)), One(Fence(1))] -> Keys
UPDATE "Order" AS t SET
  "select" = 0,
  "group" = NULL,
  "nextAttemptAt" = CASE
    WHEN typeof(COALESCE(t."nextAttemptAt", t."createdAt")) IN ('integer', 'real')
    OR COALESCE(t."nextAttemptAt", t."createdAt") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
        + CAST(round(?1 * 1000.0) AS INTEGER)
        + 0
    WHEN COALESCE(t."nextAttemptAt", t."createdAt") GLOB '????-??-?? *'
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
  "tries" = COALESCE(t."tries", 0) + 1,
  "lastError" = ?2
WHERE t."orderId" IN (SELECT CAST(value AS TEXT) FROM json_each(?3))
  AND +t."select" = 1
  AND CAST(t."group" AS TEXT) IS ?4
  AND CAST(t."lastAttemptAt" AS TEXT) IS ?5
RETURNING CAST("orderId" AS TEXT);

-- mail: settle retry, each: [Rows([Id, Fence(0), Fence(1), Delay, Reason])] -> Keys
UPDATE "Order" AS t SET
  "select" = 0,
  "group" = NULL,
  "nextAttemptAt" = CASE
    WHEN typeof(COALESCE(t."nextAttemptAt", t."createdAt")) IN ('integer', 'real')
    OR COALESCE(t."nextAttemptAt", t."createdAt") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
        + CAST(round(v."delay" * 1000.0) AS INTEGER)
        + 0
    WHEN COALESCE(t."nextAttemptAt", t."createdAt") GLOB '????-??-?? *'
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
  "tries" = COALESCE(t."tries", 0) + 1,
  "lastError" = v."reason"
FROM (
  SELECT
    CAST(value->>'id' AS TEXT) AS "id",
    CAST(value->>'f0' AS TEXT) AS "f0",
    CAST(value->>'f1' AS TEXT) AS "f1",
    value->>'delay' AS "delay",
    value->>'reason' AS "reason"
  FROM json_each(?1)
) AS v
WHERE t."orderId" = v."id"
  AND +t."select" = 1
  AND CAST(t."group" AS TEXT) IS v."f0"
  AND CAST(t."lastAttemptAt" AS TEXT) IS v."f1"
RETURNING CAST("orderId" AS TEXT);

-- mail: settle retry, remembering, step 1: [Rows([Id, Fence(0), Fence(1), Delay, Reason])] -> Keys
UPDATE "Order" AS t SET
  "select" = 0,
  "group" = NULL,
  "nextAttemptAt" = CASE
    WHEN typeof(COALESCE(t."nextAttemptAt", t."createdAt")) IN ('integer', 'real')
    OR COALESCE(t."nextAttemptAt", t."createdAt") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
        + CAST(round(v."delay" * 1000.0) AS INTEGER)
        + 0
    WHEN COALESCE(t."nextAttemptAt", t."createdAt") GLOB '????-??-?? *'
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
  "tries" = COALESCE(t."tries", 0) + 1,
  "lastError" = v."reason"
FROM (
  SELECT
    CAST(value->>'id' AS TEXT) AS "id",
    CAST(value->>'f0' AS TEXT) AS "f0",
    CAST(value->>'f1' AS TEXT) AS "f1",
    value->>'delay' AS "delay",
    value->>'reason' AS "reason"
  FROM json_each(?1)
) AS v
WHERE t."orderId" = v."id"
  AND +t."select" = 1
  AND CAST(t."group" AS TEXT) IS v."f0"
  AND CAST(t."lastAttemptAt" AS TEXT) IS v."f1"
RETURNING CAST("orderId" AS TEXT);

-- mail: settle retry, remembering, step 2: [Rows([Outcome("remembered_recipients"), Id]), Held] -> Nothing
INSERT INTO postrider_recipients (source, row_id, results, changed_at)
SELECT
  'Order',
  CAST(t."orderId" AS TEXT),
  v."o_remembered_recipients",
  strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
FROM "Order" AS t
  JOIN (
    SELECT
      value->>'o_remembered_recipients' AS "o_remembered_recipients",
      CAST(value->>'id' AS TEXT) AS "id"
    FROM json_each(?1)
  ) AS v
  ON t."orderId" = v."id"
WHERE t."orderId" IN (SELECT CAST(value AS TEXT) FROM json_each(?2))
ON CONFLICT (source, row_id) DO UPDATE SET
  results = excluded.results,
  changed_at = excluded.changed_at;

-- mail: settle dead, uniform: [One(Reason), Ids, One(Fence(0)), One(Fence(1))] -> Keys
UPDATE "Order" AS t SET
  "select" = 9,
  "group" = NULL,
  "tries" = COALESCE(t."tries", 0) + 1,
  "lastError" = ?1
WHERE t."orderId" IN (SELECT CAST(value AS TEXT) FROM json_each(?2))
  AND +t."select" = 1
  AND CAST(t."group" AS TEXT) IS ?3
  AND CAST(t."lastAttemptAt" AS TEXT) IS ?4
RETURNING CAST("orderId" AS TEXT);

-- mail: settle dead, each: [Rows([Id, Fence(0), Fence(1), Reason])] -> Keys
UPDATE "Order" AS t SET
  "select" = 9,
  "group" = NULL,
  "tries" = COALESCE(t."tries", 0) + 1,
  "lastError" = v."reason"
FROM (
  SELECT
    CAST(value->>'id' AS TEXT) AS "id",
    CAST(value->>'f0' AS TEXT) AS "f0",
    CAST(value->>'f1' AS TEXT) AS "f1",
    value->>'reason' AS "reason"
  FROM json_each(?1)
) AS v
WHERE t."orderId" = v."id"
  AND +t."select" = 1
  AND CAST(t."group" AS TEXT) IS v."f0"
  AND CAST(t."lastAttemptAt" AS TEXT) IS v."f1"
RETURNING CAST("orderId" AS TEXT);

-- mail: settle dead, remembering, step 1: [Rows([Id, Fence(0), Fence(1), Reason])] -> Keys
UPDATE "Order" AS t SET
  "select" = 9,
  "group" = NULL,
  "tries" = COALESCE(t."tries", 0) + 1,
  "lastError" = v."reason"
FROM (
  SELECT
    CAST(value->>'id' AS TEXT) AS "id",
    CAST(value->>'f0' AS TEXT) AS "f0",
    CAST(value->>'f1' AS TEXT) AS "f1",
    value->>'reason' AS "reason"
  FROM json_each(?1)
) AS v
WHERE t."orderId" = v."id"
  AND +t."select" = 1
  AND CAST(t."group" AS TEXT) IS v."f0"
  AND CAST(t."lastAttemptAt" AS TEXT) IS v."f1"
RETURNING CAST("orderId" AS TEXT);

-- mail: settle dead, remembering, step 2: [Rows([Outcome("remembered_recipients"), Id]), Held] -> Nothing
INSERT INTO postrider_recipients (source, row_id, results, changed_at)
SELECT
  'Order',
  CAST(t."orderId" AS TEXT),
  v."o_remembered_recipients",
  strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
FROM "Order" AS t
  JOIN (
    SELECT
      value->>'o_remembered_recipients' AS "o_remembered_recipients",
      CAST(value->>'id' AS TEXT) AS "id"
    FROM json_each(?1)
  ) AS v
  ON t."orderId" = v."id"
WHERE t."orderId" IN (SELECT CAST(value AS TEXT) FROM json_each(?2))
ON CONFLICT (source, row_id) DO UPDATE SET
  results = excluded.results,
  changed_at = excluded.changed_at;

-- mail: settle rejected, uniform: [One(Reason), Ids, One(Fence(0)), One(Fence(1))] -> Keys
UPDATE "Order" AS t SET
  "select" = 9,
  "group" = NULL,
  "tries" = COALESCE(t."tries", 0) + 1,
  "lastError" = ?1
WHERE t."orderId" IN (SELECT CAST(value AS TEXT) FROM json_each(?2))
  AND +t."select" = 1
  AND CAST(t."group" AS TEXT) IS ?3
  AND CAST(t."lastAttemptAt" AS TEXT) IS ?4
RETURNING CAST("orderId" AS TEXT);

-- mail: settle rejected, each: [Rows([Id, Fence(0), Fence(1), Reason])] -> Keys
UPDATE "Order" AS t SET
  "select" = 9,
  "group" = NULL,
  "tries" = COALESCE(t."tries", 0) + 1,
  "lastError" = v."reason"
FROM (
  SELECT
    CAST(value->>'id' AS TEXT) AS "id",
    CAST(value->>'f0' AS TEXT) AS "f0",
    CAST(value->>'f1' AS TEXT) AS "f1",
    value->>'reason' AS "reason"
  FROM json_each(?1)
) AS v
WHERE t."orderId" = v."id"
  AND +t."select" = 1
  AND CAST(t."group" AS TEXT) IS v."f0"
  AND CAST(t."lastAttemptAt" AS TEXT) IS v."f1"
RETURNING CAST("orderId" AS TEXT);

-- mail: settle rejected, remembering, step 1: [Rows([Id, Fence(0), Fence(1), Reason])] -> Keys
UPDATE "Order" AS t SET
  "select" = 9,
  "group" = NULL,
  "tries" = COALESCE(t."tries", 0) + 1,
  "lastError" = v."reason"
FROM (
  SELECT
    CAST(value->>'id' AS TEXT) AS "id",
    CAST(value->>'f0' AS TEXT) AS "f0",
    CAST(value->>'f1' AS TEXT) AS "f1",
    value->>'reason' AS "reason"
  FROM json_each(?1)
) AS v
WHERE t."orderId" = v."id"
  AND +t."select" = 1
  AND CAST(t."group" AS TEXT) IS v."f0"
  AND CAST(t."lastAttemptAt" AS TEXT) IS v."f1"
RETURNING CAST("orderId" AS TEXT);

-- mail: settle rejected, remembering, step 2: [Rows([Outcome("remembered_recipients"), Id]), Held] -> Nothing
INSERT INTO postrider_recipients (source, row_id, results, changed_at)
SELECT
  'Order',
  CAST(t."orderId" AS TEXT),
  v."o_remembered_recipients",
  strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
FROM "Order" AS t
  JOIN (
    SELECT
      value->>'o_remembered_recipients' AS "o_remembered_recipients",
      CAST(value->>'id' AS TEXT) AS "id"
    FROM json_each(?1)
  ) AS v
  ON t."orderId" = v."id"
WHERE t."orderId" IN (SELECT CAST(value AS TEXT) FROM json_each(?2))
ON CONFLICT (source, row_id) DO UPDATE SET
  results = excluded.results,
  changed_at = excluded.changed_at;

-- mail: settle skipped, uniform: [One(Reason), Ids, One(Fence(0)), One(Fence(1))] -> Keys
UPDATE "Order" AS t SET
  "select" = 9,
  "group" = NULL,
  "tries" = COALESCE(t."tries", 0) + 1,
  "lastError" = ?1
WHERE t."orderId" IN (SELECT CAST(value AS TEXT) FROM json_each(?2))
  AND +t."select" = 1
  AND CAST(t."group" AS TEXT) IS ?3
  AND CAST(t."lastAttemptAt" AS TEXT) IS ?4
RETURNING CAST("orderId" AS TEXT);

-- mail: settle skipped, each: [Rows([Id, Fence(0), Fence(1), Reason])] -> Keys
UPDATE "Order" AS t SET
  "select" = 9,
  "group" = NULL,
  "tries" = COALESCE(t."tries", 0) + 1,
  "lastError" = v."reason"
FROM (
  SELECT
    CAST(value->>'id' AS TEXT) AS "id",
    CAST(value->>'f0' AS TEXT) AS "f0",
    CAST(value->>'f1' AS TEXT) AS "f1",
    value->>'reason' AS "reason"
  FROM json_each(?1)
) AS v
WHERE t."orderId" = v."id"
  AND +t."select" = 1
  AND CAST(t."group" AS TEXT) IS v."f0"
  AND CAST(t."lastAttemptAt" AS TEXT) IS v."f1"
RETURNING CAST("orderId" AS TEXT);

-- mail: settle skipped, remembering, step 1: [Rows([Id, Fence(0), Fence(1), Reason])] -> Keys
UPDATE "Order" AS t SET
  "select" = 9,
  "group" = NULL,
  "tries" = COALESCE(t."tries", 0) + 1,
  "lastError" = v."reason"
FROM (
  SELECT
    CAST(value->>'id' AS TEXT) AS "id",
    CAST(value->>'f0' AS TEXT) AS "f0",
    CAST(value->>'f1' AS TEXT) AS "f1",
    value->>'reason' AS "reason"
  FROM json_each(?1)
) AS v
WHERE t."orderId" = v."id"
  AND +t."select" = 1
  AND CAST(t."group" AS TEXT) IS v."f0"
  AND CAST(t."lastAttemptAt" AS TEXT) IS v."f1"
RETURNING CAST("orderId" AS TEXT);

-- mail: settle skipped, remembering, step 2: [Rows([Outcome("remembered_recipients"), Id]), Held] -> Nothing
INSERT INTO postrider_recipients (source, row_id, results, changed_at)
SELECT
  'Order',
  CAST(t."orderId" AS TEXT),
  v."o_remembered_recipients",
  strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
FROM "Order" AS t
  JOIN (
    SELECT
      value->>'o_remembered_recipients' AS "o_remembered_recipients",
      CAST(value->>'id' AS TEXT) AS "id"
    FROM json_each(?1)
  ) AS v
  ON t."orderId" = v."id"
WHERE t."orderId" IN (SELECT CAST(value AS TEXT) FROM json_each(?2))
ON CONFLICT (source, row_id) DO UPDATE SET
  results = excluded.results,
  changed_at = excluded.changed_at;

-- mail: settle deferred, uniform: [One(Delay), Ids, One(Fence(0)), One(Fence(1))] -> Keys
UPDATE "Order" AS t SET
  "select" = 0,
  "group" = NULL,
  "nextAttemptAt" = CASE
    WHEN typeof(COALESCE(t."nextAttemptAt", t."createdAt")) IN ('integer', 'real')
    OR COALESCE(t."nextAttemptAt", t."createdAt") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
        + CAST(round(?1 * 1000.0) AS INTEGER)
        + 0
    WHEN COALESCE(t."nextAttemptAt", t."createdAt") GLOB '????-??-?? *'
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
    END
WHERE t."orderId" IN (SELECT CAST(value AS TEXT) FROM json_each(?2))
  AND +t."select" = 1
  AND CAST(t."group" AS TEXT) IS ?3
  AND CAST(t."lastAttemptAt" AS TEXT) IS ?4
RETURNING CAST("orderId" AS TEXT);

-- mail: settle deferred, each: [Rows([Id, Fence(0), Fence(1), Delay])] -> Keys
UPDATE "Order" AS t SET
  "select" = 0,
  "group" = NULL,
  "nextAttemptAt" = CASE
    WHEN typeof(COALESCE(t."nextAttemptAt", t."createdAt")) IN ('integer', 'real')
    OR COALESCE(t."nextAttemptAt", t."createdAt") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
        + CAST(round(v."delay" * 1000.0) AS INTEGER)
        + 0
    WHEN COALESCE(t."nextAttemptAt", t."createdAt") GLOB '????-??-?? *'
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
    CAST(value->>'id' AS TEXT) AS "id",
    CAST(value->>'f0' AS TEXT) AS "f0",
    CAST(value->>'f1' AS TEXT) AS "f1",
    value->>'delay' AS "delay"
  FROM json_each(?1)
) AS v
WHERE t."orderId" = v."id"
  AND +t."select" = 1
  AND CAST(t."group" AS TEXT) IS v."f0"
  AND CAST(t."lastAttemptAt" AS TEXT) IS v."f1"
RETURNING CAST("orderId" AS TEXT);

-- mail: settle deferred, remembering, step 1: [Rows([Id, Fence(0), Fence(1), Delay])] -> Keys
UPDATE "Order" AS t SET
  "select" = 0,
  "group" = NULL,
  "nextAttemptAt" = CASE
    WHEN typeof(COALESCE(t."nextAttemptAt", t."createdAt")) IN ('integer', 'real')
    OR COALESCE(t."nextAttemptAt", t."createdAt") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
        + CAST(round(v."delay" * 1000.0) AS INTEGER)
        + 0
    WHEN COALESCE(t."nextAttemptAt", t."createdAt") GLOB '????-??-?? *'
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
    CAST(value->>'id' AS TEXT) AS "id",
    CAST(value->>'f0' AS TEXT) AS "f0",
    CAST(value->>'f1' AS TEXT) AS "f1",
    value->>'delay' AS "delay"
  FROM json_each(?1)
) AS v
WHERE t."orderId" = v."id"
  AND +t."select" = 1
  AND CAST(t."group" AS TEXT) IS v."f0"
  AND CAST(t."lastAttemptAt" AS TEXT) IS v."f1"
RETURNING CAST("orderId" AS TEXT);

-- mail: settle deferred, remembering, step 2: [Rows([Outcome("remembered_recipients"), Id]), Held] -> Nothing
INSERT INTO postrider_recipients (source, row_id, results, changed_at)
SELECT
  'Order',
  CAST(t."orderId" AS TEXT),
  v."o_remembered_recipients",
  strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
FROM "Order" AS t
  JOIN (
    SELECT
      value->>'o_remembered_recipients' AS "o_remembered_recipients",
      CAST(value->>'id' AS TEXT) AS "id"
    FROM json_each(?1)
  ) AS v
  ON t."orderId" = v."id"
WHERE t."orderId" IN (SELECT CAST(value AS TEXT) FROM json_each(?2))
ON CONFLICT (source, row_id) DO UPDATE SET
  results = excluded.results,
  changed_at = excluded.changed_at;

-- mail: settle released, uniform: [Ids, One(Fence(0)), One(Fence(1))] -> Keys
UPDATE "Order" AS t SET
  "select" = 0,
  "group" = NULL
WHERE t."orderId" IN (SELECT CAST(value AS TEXT) FROM json_each(?1))
  AND +t."select" = 1
  AND CAST(t."group" AS TEXT) IS ?2
  AND CAST(t."lastAttemptAt" AS TEXT) IS ?3
RETURNING CAST("orderId" AS TEXT);

-- mail: settle released, each: [Rows([Id, Fence(0), Fence(1)])] -> Keys
UPDATE "Order" AS t SET
  "select" = 0,
  "group" = NULL
FROM (
  SELECT
    CAST(value->>'id' AS TEXT) AS "id",
    CAST(value->>'f0' AS TEXT) AS "f0",
    CAST(value->>'f1' AS TEXT) AS "f1"
  FROM json_each(?1)
) AS v
WHERE t."orderId" = v."id"
  AND +t."select" = 1
  AND CAST(t."group" AS TEXT) IS v."f0"
  AND CAST(t."lastAttemptAt" AS TEXT) IS v."f1"
RETURNING CAST("orderId" AS TEXT);

-- mail: extend: [Rows([Id, Fence(0), Fence(1)])] -> Leases
UPDATE "Order" AS t SET "lastAttemptAt" = CASE
  WHEN typeof(COALESCE(t."lastAttemptAt", t."nextAttemptAt", t."createdAt")) IN ('integer', 'real')
  OR COALESCE(t."lastAttemptAt", t."nextAttemptAt", t."createdAt") NOT GLOB '*[^0-9]*' THEN CASE
  WHEN CASE
  WHEN typeof(t."lastAttemptAt") IN ('integer', 'real')
  OR t."lastAttemptAt" NOT GLOB '*[^0-9]*' THEN CAST(t."lastAttemptAt" AS INTEGER)
  ELSE CAST(round((julianday(t."lastAttemptAt") - 2440587.5) * 86400000.0) AS INTEGER)
  END
    BETWEEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 - 1
    AND CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 + 60000
    THEN CASE
  WHEN typeof(t."lastAttemptAt") IN ('integer', 'real')
  OR t."lastAttemptAt" NOT GLOB '*[^0-9]*' THEN CAST(t."lastAttemptAt" AS INTEGER)
  ELSE CAST(round((julianday(t."lastAttemptAt") - 2440587.5) * 86400000.0) AS INTEGER)
  END + 1
  ELSE CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
  END
  WHEN COALESCE(t."lastAttemptAt", t."nextAttemptAt", t."createdAt") GLOB '????-??-?? *'
    THEN strftime(
      '%Y-%m-%d %H:%M:%f',
        (
          CASE
            WHEN CASE
            WHEN typeof(t."lastAttemptAt") IN ('integer', 'real')
            OR t."lastAttemptAt" NOT GLOB '*[^0-9]*' THEN CAST(t."lastAttemptAt" AS INTEGER)
            ELSE CAST(round((julianday(t."lastAttemptAt") - 2440587.5) * 86400000.0) AS INTEGER)
            END
              BETWEEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 - 1
              AND CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 + 60000
              THEN CASE
            WHEN typeof(t."lastAttemptAt") IN ('integer', 'real')
            OR t."lastAttemptAt" NOT GLOB '*[^0-9]*' THEN CAST(t."lastAttemptAt" AS INTEGER)
            ELSE CAST(round((julianday(t."lastAttemptAt") - 2440587.5) * 86400000.0) AS INTEGER)
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
          WHEN typeof(t."lastAttemptAt") IN ('integer', 'real')
          OR t."lastAttemptAt" NOT GLOB '*[^0-9]*' THEN CAST(t."lastAttemptAt" AS INTEGER)
          ELSE CAST(round((julianday(t."lastAttemptAt") - 2440587.5) * 86400000.0) AS INTEGER)
          END
            BETWEEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 - 1
            AND CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 + 60000
            THEN CASE
          WHEN typeof(t."lastAttemptAt") IN ('integer', 'real')
          OR t."lastAttemptAt" NOT GLOB '*[^0-9]*' THEN CAST(t."lastAttemptAt" AS INTEGER)
          ELSE CAST(round((julianday(t."lastAttemptAt") - 2440587.5) * 86400000.0) AS INTEGER)
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
    CAST(value->>'id' AS TEXT) AS "id",
    CAST(value->>'f0' AS TEXT) AS "f0",
    CAST(value->>'f1' AS TEXT) AS "f1"
  FROM json_each(?1)
) AS v
WHERE t."orderId" = v."id"
  AND +t."select" = 1
  AND CAST(t."group" AS TEXT) IS v."f0"
  AND CAST(t."lastAttemptAt" AS TEXT) IS v."f1"
RETURNING
  CAST("orderId" AS TEXT),
  CAST("group" AS TEXT),
  CAST("lastAttemptAt" AS TEXT);

-- mail: leases after a lost extension: [Ids, Owner] -> Leases
SELECT
  CAST(t."orderId" AS TEXT),
  CAST(t."group" AS TEXT),
  CAST(t."lastAttemptAt" AS TEXT)
FROM "Order" AS t
WHERE t."orderId" IN (SELECT CAST(value AS TEXT) FROM json_each(?1))
  AND +t."select" = 1
  AND t."group" = ?2;

-- mail: stamp: [Limit] -> Keys
UPDATE "Order" AS t SET "lastAttemptAt" = CASE
  WHEN typeof(COALESCE(t."lastAttemptAt", t."nextAttemptAt", t."createdAt")) IN ('integer', 'real')
  OR COALESCE(t."lastAttemptAt", t."nextAttemptAt", t."createdAt") NOT GLOB '*[^0-9]*'
    THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
  WHEN COALESCE(t."lastAttemptAt", t."nextAttemptAt", t."createdAt") GLOB '????-??-?? *'
    THEN strftime(
      '%Y-%m-%d %H:%M:%f',
        (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0) / 1000.0,
        'unixepoch'
    )
  ELSE strftime(
    '%Y-%m-%dT%H:%M:%fZ',
      (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0) / 1000.0,
      'unixepoch'
  )
  END
WHERE t."orderId" IN (
SELECT t."orderId"
FROM "Order" AS t
WHERE t."select" = 1
  AND CASE
    WHEN typeof(t."lastAttemptAt") IN ('integer', 'real')
    OR t."lastAttemptAt" NOT GLOB '*[^0-9]*' THEN CAST(t."lastAttemptAt" AS INTEGER)
    ELSE CAST(round((julianday(t."lastAttemptAt") - 2440587.5) * 86400000.0) AS INTEGER)
    END IS NULL
  AND t."tenant" = 'it''s us'
LIMIT ?1)
RETURNING CAST("orderId" AS TEXT);

-- mail: leases that still hold: [Rows([Id, Fence(0), Fence(1)])] -> Keys
SELECT CAST(t."orderId" AS TEXT)
FROM (
  SELECT
    CAST(value->>'id' AS TEXT) AS "id",
    CAST(value->>'f0' AS TEXT) AS "f0",
    CAST(value->>'f1' AS TEXT) AS "f1"
  FROM json_each(?1)
) AS v CROSS
  JOIN "Order" AS t
WHERE t."orderId" = v."id"
  AND +t."select" = 1
  AND CAST(t."group" AS TEXT) IS v."f0"
  AND CAST(t."lastAttemptAt" AS TEXT) IS v."f1"
  AND (
    CASE
      WHEN typeof(t."lastAttemptAt") IN ('integer', 'real')
      OR t."lastAttemptAt" NOT GLOB '*[^0-9]*' THEN CAST(t."lastAttemptAt" AS INTEGER)
      ELSE CAST(round((julianday(t."lastAttemptAt") - 2440587.5) * 86400000.0) AS INTEGER)
      END < CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) - 300000
  ) IS NOT TRUE;

-- mail: look for rows of a lost claim: [Owner] -> Keys
SELECT CAST(t."orderId" AS TEXT)
FROM "Order" AS t
WHERE t."select" = 1
  AND t."group" = ?1
  AND t."tenant" = 'it''s us';

-- mail: release rows of a lost claim: [Ids, Owner] -> Keys
UPDATE "Order" AS t SET
  "select" = 0,
  "group" = NULL
WHERE t."orderId" IN (
SELECT t."orderId"
FROM "Order" AS t
WHERE t."orderId" IN (SELECT CAST(value AS TEXT) FROM json_each(?1))
  AND +t."select" = 1
  AND t."group" = ?2
  AND t."tenant" = 'it''s us')
RETURNING CAST("orderId" AS TEXT);

-- mail: look for expired leases: [Limit] -> Other
SELECT
  CAST(t."orderId" AS TEXT),
  CAST(t."group" AS TEXT),
  CAST(t."lastAttemptAt" AS TEXT),
  CASE WHEN COALESCE(t."tries", 0) + 1 >= 4 THEN 1 ELSE 0 END,
  4
FROM "Order" AS t
WHERE t."select" = 1
  AND CASE
    WHEN typeof(t."lastAttemptAt") IN ('integer', 'real')
    OR t."lastAttemptAt" NOT GLOB '*[^0-9]*' THEN CAST(t."lastAttemptAt" AS INTEGER)
    ELSE CAST(round((julianday(t."lastAttemptAt") - 2440587.5) * 86400000.0) AS INTEGER)
    END < CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) - 300000
  AND t."tenant" = 'it''s us'
ORDER BY CASE
  WHEN typeof(t."lastAttemptAt") IN ('integer', 'real')
  OR t."lastAttemptAt" NOT GLOB '*[^0-9]*' THEN CAST(t."lastAttemptAt" AS INTEGER)
  ELSE CAST(round((julianday(t."lastAttemptAt") - 2440587.5) * 86400000.0) AS INTEGER)
  END
LIMIT ?1;

-- mail: reclaim, free: [Ids] -> Keys
UPDATE "Order" AS t SET
  "select" = 0,
  "group" = NULL
WHERE t."orderId" IN (
SELECT t."orderId"
FROM "Order" AS t
WHERE t."orderId" IN (SELECT CAST(value AS TEXT) FROM json_each(?1))
  AND +t."select" = 1
  AND CASE
    WHEN typeof(t."lastAttemptAt") IN ('integer', 'real')
    OR t."lastAttemptAt" NOT GLOB '*[^0-9]*' THEN CAST(t."lastAttemptAt" AS INTEGER)
    ELSE CAST(round((julianday(t."lastAttemptAt") - 2440587.5) * 86400000.0) AS INTEGER)
    END < CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) - 300000
  AND t."tenant" = 'it''s us')
RETURNING CAST("orderId" AS TEXT);

-- mail: reclaim, spared, step 1: [Ids] -> Keys
UPDATE "Order" AS t SET
  "select" = 0,
  "group" = NULL
WHERE t."orderId" IN (
SELECT t."orderId"
FROM "Order" AS t
WHERE t."orderId" IN (SELECT CAST(value AS TEXT) FROM json_each(?1))
  AND +t."select" = 1
  AND CASE
    WHEN typeof(t."lastAttemptAt") IN ('integer', 'real')
    OR t."lastAttemptAt" NOT GLOB '*[^0-9]*' THEN CAST(t."lastAttemptAt" AS INTEGER)
    ELSE CAST(round((julianday(t."lastAttemptAt") - 2440587.5) * 86400000.0) AS INTEGER)
    END < CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) - 300000
  AND t."tenant" = 'it''s us')
RETURNING CAST("orderId" AS TEXT);

-- mail: reclaim, spared, step 2: [Held] -> Nothing
INSERT INTO postrider_crashes (place, row_id, crashes, crashed_at)
SELECT
  'Order/mail',
  CAST(value AS TEXT),
  1,
  strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
FROM json_each(?1) WHERE true
ON CONFLICT (place, row_id) DO UPDATE SET
  crashes = crashes + 1,
  crashed_at = excluded.crashed_at;

-- mail: reclaim, charged, step 1: [Ids] -> Keys
UPDATE "Order" AS t SET
  "select" = 0,
  "group" = NULL,
  "nextAttemptAt" = CASE
    WHEN typeof(COALESCE(t."nextAttemptAt", t."createdAt")) IN ('integer', 'real')
    OR COALESCE(t."nextAttemptAt", t."createdAt") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."nextAttemptAt", t."createdAt") GLOB '????-??-?? *'
      THEN strftime(
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
  "tries" = COALESCE(t."tries", 0) + 1,
  "lastError" = 'lease expired: the worker that held it is gone'
WHERE t."orderId" IN (
SELECT t."orderId"
FROM "Order" AS t
WHERE t."orderId" IN (SELECT CAST(value AS TEXT) FROM json_each(?1))
  AND +t."select" = 1
  AND CASE
    WHEN typeof(t."lastAttemptAt") IN ('integer', 'real')
    OR t."lastAttemptAt" NOT GLOB '*[^0-9]*' THEN CAST(t."lastAttemptAt" AS INTEGER)
    ELSE CAST(round((julianday(t."lastAttemptAt") - 2440587.5) * 86400000.0) AS INTEGER)
    END < CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) - 300000
  AND t."tenant" = 'it''s us')
RETURNING CAST("orderId" AS TEXT);

-- mail: reclaim, charged, step 2: [Held] -> Nothing
INSERT INTO postrider_crashes (place, row_id, crashes, crashed_at)
SELECT
  'Order/mail',
  CAST(value AS TEXT),
  1,
  strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
FROM json_each(?1) WHERE true
ON CONFLICT (place, row_id) DO UPDATE SET
  crashes = crashes + 1,
  crashed_at = excluded.crashed_at;

-- mail: reclaim, dead, step 1: [Ids] -> Keys
UPDATE "Order" AS t SET
  "select" = 9,
  "group" = NULL,
  "tries" = COALESCE(t."tries", 0) + 1,
  "lastError" = 'poison row: its workers crashed repeatedly, also when it was delivered alone'
WHERE t."orderId" IN (
SELECT t."orderId"
FROM "Order" AS t
WHERE t."orderId" IN (SELECT CAST(value AS TEXT) FROM json_each(?1))
  AND +t."select" = 1
  AND CASE
    WHEN typeof(t."lastAttemptAt") IN ('integer', 'real')
    OR t."lastAttemptAt" NOT GLOB '*[^0-9]*' THEN CAST(t."lastAttemptAt" AS INTEGER)
    ELSE CAST(round((julianday(t."lastAttemptAt") - 2440587.5) * 86400000.0) AS INTEGER)
    END < CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) - 300000
  AND t."tenant" = 'it''s us')
RETURNING CAST("orderId" AS TEXT);

-- mail: reclaim, dead, step 2: [Held] -> Nothing
DELETE
  FROM postrider_crashes
  WHERE place = 'Order/mail'
  AND row_id IN (SELECT CAST(value AS TEXT) FROM json_each(?1));

-- mail: spent: [Limit] -> Keys
UPDATE "Order" AS t SET
  "lastError" = COALESCE(t."lastError", 'no attempts left'),
  "select" = 9,
  "group" = NULL
WHERE t."orderId" IN (
SELECT t."orderId"
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
LIMIT ?1)
RETURNING CAST("orderId" AS TEXT);

-- mail: purge 1, step 1: [Limit] -> Keys
DELETE FROM "Order" AS t
WHERE t."orderId" IN (
SELECT t."orderId"
FROM "Order" AS t
WHERE t."select" = 2 AND t."tenant" = 'it''s us'
  AND CASE
    WHEN typeof(t."createdAt") IN ('integer', 'real')
    OR t."createdAt" NOT GLOB '*[^0-9]*' THEN CAST(t."createdAt" AS INTEGER)
    ELSE CAST(round((julianday(t."createdAt") - 2440587.5) * 86400000.0) AS INTEGER)
    END < CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) - 2592000000
LIMIT ?1)
RETURNING CAST("orderId" AS TEXT);

-- mail: purge 1, step 2: [Held] -> Nothing
DELETE FROM postrider_recipients AS r
WHERE r.source = 'Order' AND r.row_id IN (SELECT CAST(value AS TEXT) FROM json_each(?1));

-- mail: next due: [] -> Other
SELECT CAST(
  COALESCE(
    0
      - (
        (
          (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0) - CASE
            WHEN typeof(t."nextAttemptAt") IN ('integer', 'real')
            OR t."nextAttemptAt" NOT GLOB '*[^0-9]*' THEN CAST(t."nextAttemptAt" AS INTEGER)
            ELSE CAST(round((julianday(t."nextAttemptAt") - 2440587.5) * 86400000.0) AS INTEGER)
            END
        )
          * 1000
      ),
      0
  ) AS INTEGER
) AS w
FROM "Order" AS t
WHERE t."select" = 0
  AND COALESCE(t."tries", 0) < 4
  AND t."tenant" = 'it''s us'
ORDER BY COALESCE(
  CASE
    WHEN typeof(t."nextAttemptAt") IN ('integer', 'real')
    OR t."nextAttemptAt" NOT GLOB '*[^0-9]*' THEN CAST(t."nextAttemptAt" AS INTEGER)
    ELSE CAST(round((julianday(t."nextAttemptAt") - 2440587.5) * 86400000.0) AS INTEGER)
    END,
    0
)
LIMIT 1;

-- mail: lag: [] -> Other
SELECT (
  SELECT (
    COALESCE(
      (
        (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0) - CASE
          WHEN typeof(t."nextAttemptAt") IN ('integer', 'real')
          OR t."nextAttemptAt" NOT GLOB '*[^0-9]*' THEN CAST(t."nextAttemptAt" AS INTEGER)
          ELSE CAST(round((julianday(t."nextAttemptAt") - 2440587.5) * 86400000.0) AS INTEGER)
          END
      )
        * 1000,
        (
          (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0) - CASE
            WHEN typeof(t."createdAt") IN ('integer', 'real')
            OR t."createdAt" NOT GLOB '*[^0-9]*' THEN CAST(t."createdAt" AS INTEGER)
            ELSE CAST(round((julianday(t."createdAt") - 2440587.5) * 86400000.0) AS INTEGER)
            END
        )
          * 1000
    )
  )
    / 1000000.0
    FROM "Order" AS t
    WHERE t."select" = 0
    AND COALESCE(
      CASE
        WHEN typeof(t."nextAttemptAt") IN ('integer', 'real')
        OR t."nextAttemptAt" NOT GLOB '*[^0-9]*' THEN CAST(t."nextAttemptAt" AS INTEGER)
        ELSE CAST(round((julianday(t."nextAttemptAt") - 2440587.5) * 86400000.0) AS INTEGER)
        END,
        0
    ) <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
      + 0
    AND COALESCE(t."tries", 0) < 4
    AND t."tenant" = 'it''s us'
    ORDER BY t."rank" DESC
    LIMIT 1
),
  (
    SELECT (
      (
        (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0) - CASE
          WHEN typeof(t."lastAttemptAt") IN ('integer', 'real')
          OR t."lastAttemptAt" NOT GLOB '*[^0-9]*' THEN CAST(t."lastAttemptAt" AS INTEGER)
          ELSE CAST(round((julianday(t."lastAttemptAt") - 2440587.5) * 86400000.0) AS INTEGER)
          END
      )
        * 1000
    )
      / 1000000.0
      FROM "Order" AS t
      WHERE t."select" = 1
      AND t."tenant" = 'it''s us'
      ORDER BY CASE
      WHEN typeof(t."lastAttemptAt") IN ('integer', 'real')
      OR t."lastAttemptAt" NOT GLOB '*[^0-9]*' THEN CAST(t."lastAttemptAt" AS INTEGER)
      ELSE CAST(round((julianday(t."lastAttemptAt") - 2440587.5) * 86400000.0) AS INTEGER)
      END
      LIMIT 1
  );

-- mail: census new: [] -> Other
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
                  t."orderId",
                  t."select",
                  t."tenant"
                FROM "Order" AS t WHERE t."select" = 0 AND t."tenant" = 'it''s us' ORDER BY t."rank" DESC,
                  COALESCE(
                    CASE
                      WHEN typeof(t."nextAttemptAt") IN ('integer', 'real')
                      OR t."nextAttemptAt" NOT GLOB '*[^0-9]*' THEN CAST(t."nextAttemptAt" AS INTEGER)
                      ELSE CAST(round((julianday(t."nextAttemptAt") - 2440587.5) * 86400000.0) AS INTEGER)
                      END,
                      0
                  ),
                  t."orderId" LIMIT 50001
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
                t."orderId",
                t."select",
                t."tenant"
              FROM "Order" AS t WHERE t."select" = 0 AND t."tenant" = 'it''s us' ORDER BY t."rank" DESC,
                COALESCE(
                  CASE
                    WHEN typeof(t."nextAttemptAt") IN ('integer', 'real')
                    OR t."nextAttemptAt" NOT GLOB '*[^0-9]*' THEN CAST(t."nextAttemptAt" AS INTEGER)
                    ELSE CAST(round((julianday(t."nextAttemptAt") - 2440587.5) * 86400000.0) AS INTEGER)
                    END,
                    0
                ),
                t."orderId" LIMIT 50000
            ) AS p
        ) AS t
    

WHERE t."select" = 0 LIMIT 10001) AS counted) AS c;

-- mail: census taken: [] -> Other
SELECT
  CAST(COUNT(*) AS INTEGER),
  0
FROM (
  SELECT 1 AS one FROM "Order" AS t WHERE t."select" = 1 AND t."tenant" = 'it''s us' LIMIT 10001
) AS counted;

-- mail: census done: [] -> Other
SELECT
  CAST(c.n AS INTEGER),
  CAST(
    CASE
      WHEN c.n <= 10000
      AND EXISTS (SELECT 1 FROM "Order" AS t ORDER BY t."orderId" LIMIT 1 OFFSET 50000) THEN 1
      ELSE 0
      END AS INTEGER
  )
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
  CAST(COUNT(*) AS INTEGER),
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
UPDATE "Order" AS t SET
  "select" = 0,
  "group" = NULL,
  "nextAttemptAt" = CASE
    WHEN typeof(COALESCE(t."nextAttemptAt", t."createdAt")) IN ('integer', 'real')
    OR COALESCE(t."nextAttemptAt", t."createdAt") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."nextAttemptAt", t."createdAt") GLOB '????-??-?? *'
      THEN strftime(
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
  "tries" = 0,
  "lastError" = NULL
WHERE t."orderId" IN (
SELECT t."orderId"
FROM "Order" AS t
WHERE t."orderId" IN (SELECT CAST(value AS TEXT) FROM json_each(?1))
  AND +t."select" = 9
  AND t."tenant" = 'it''s us')
RETURNING CAST("orderId" AS TEXT);

-- mail: requeue state failed: [Since, Limit] -> Keys
UPDATE "Order" AS t SET
  "select" = 0,
  "group" = NULL,
  "nextAttemptAt" = CASE
    WHEN typeof(COALESCE(t."nextAttemptAt", t."createdAt")) IN ('integer', 'real')
    OR COALESCE(t."nextAttemptAt", t."createdAt") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."nextAttemptAt", t."createdAt") GLOB '????-??-?? *'
      THEN strftime(
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
  "tries" = 0,
  "lastError" = NULL
WHERE t."orderId" IN (
SELECT t."orderId"
FROM "Order" AS t
WHERE t."select" = 9
  AND CASE
    WHEN t."select" = 9 THEN 'failed'
    WHEN t."select" = 0
    AND COALESCE(t."tries", 0) >= 4
    AND t."tenant" = 'it''s us' THEN 'no attempts left'
    END = 'failed'
  AND (
    ?1 IS NULL
      OR CASE
      WHEN typeof(t."lastAttemptAt") IN ('integer', 'real')
      OR t."lastAttemptAt" NOT GLOB '*[^0-9]*' THEN CAST(t."lastAttemptAt" AS INTEGER)
      ELSE CAST(round((julianday(t."lastAttemptAt") - 2440587.5) * 86400000.0) AS INTEGER)
      END >= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
        + CAST(round((0 - ?1) * 1000.0) AS INTEGER)
        + 0
      OR t."lastAttemptAt" IS NULL
      AND CASE
      WHEN typeof(t."createdAt") IN ('integer', 'real')
      OR t."createdAt" NOT GLOB '*[^0-9]*' THEN CAST(t."createdAt" AS INTEGER)
      ELSE CAST(round((julianday(t."createdAt") - 2440587.5) * 86400000.0) AS INTEGER)
      END >= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
        + CAST(round((0 - ?1) * 1000.0) AS INTEGER)
        + 0
  )
  AND t."tenant" = 'it''s us'
LIMIT ?2)
RETURNING CAST("orderId" AS TEXT);

-- mail: release ids taken: [Ids] -> Keys
UPDATE "Order" AS t SET
  "select" = 0,
  "group" = NULL
WHERE t."orderId" IN (
SELECT t."orderId"
FROM "Order" AS t
WHERE t."orderId" IN (SELECT CAST(value AS TEXT) FROM json_each(?1))
  AND +t."select" = 1
  AND t."tenant" = 'it''s us')
RETURNING CAST("orderId" AS TEXT);

-- mail: release state taken: [Since, Limit] -> Keys
UPDATE "Order" AS t SET
  "select" = 0,
  "group" = NULL
WHERE t."orderId" IN (
SELECT t."orderId"
FROM "Order" AS t
WHERE t."select" = 1
  AND (
    ?1 IS NULL
      OR CASE
      WHEN typeof(t."lastAttemptAt") IN ('integer', 'real')
      OR t."lastAttemptAt" NOT GLOB '*[^0-9]*' THEN CAST(t."lastAttemptAt" AS INTEGER)
      ELSE CAST(round((julianday(t."lastAttemptAt") - 2440587.5) * 86400000.0) AS INTEGER)
      END >= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
        + CAST(round((0 - ?1) * 1000.0) AS INTEGER)
        + 0
      OR t."lastAttemptAt" IS NULL
      AND CASE
      WHEN typeof(t."createdAt") IN ('integer', 'real')
      OR t."createdAt" NOT GLOB '*[^0-9]*' THEN CAST(t."createdAt" AS INTEGER)
      ELSE CAST(round((julianday(t."createdAt") - 2440587.5) * 86400000.0) AS INTEGER)
      END >= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
        + CAST(round((0 - ?1) * 1000.0) AS INTEGER)
        + 0
  )
  AND t."tenant" = 'it''s us'
LIMIT ?2)
RETURNING CAST("orderId" AS TEXT);
