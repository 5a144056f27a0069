-- outbox: every statement. Written by the snapshot test; do not edit.

-- create
CREATE TABLE IF NOT EXISTS "outbox" (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    deal_id TEXT,
    idempotency_key TEXT UNIQUE,
    topic TEXT NOT NULL,
    partition_key TEXT,
    payload TEXT NOT NULL,
    traceparent TEXT,
    "status" TEXT NOT NULL DEFAULT 'PENDING',
    retry_count INTEGER NOT NULL DEFAULT 0,
    version INTEGER NOT NULL DEFAULT 0,
    created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    processed_at TEXT,
    next_attempt_at TEXT,
    claimed_at TEXT,
    claimed_by TEXT,
    last_error TEXT
);

-- create
CREATE INDEX IF NOT EXISTS "outbox_publish_ready"
  ON "outbox" (
    (
      CASE
        WHEN "partition_key" IS NOT NULL
        AND NOT (typeof("partition_key") = 'blob')
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
        CASE
          WHEN typeof("created_at") IN ('integer', 'real')
          OR "created_at" NOT GLOB '*[^0-9]*' THEN CAST("created_at" AS INTEGER)
          ELSE CAST(round((julianday("created_at") - 2440587.5) * 86400000.0) AS INTEGER)
          END
      ),
      "id"
  )
  WHERE "status" = 'PENDING';

-- create
CREATE INDEX IF NOT EXISTS "outbox_publish_order"
  ON "outbox" (
    "partition_key",
      (
        CASE
          WHEN typeof("created_at") IN ('integer', 'real')
          OR "created_at" NOT GLOB '*[^0-9]*' THEN CAST("created_at" AS INTEGER)
          ELSE CAST(round((julianday("created_at") - 2440587.5) * 86400000.0) AS INTEGER)
          END
      ),
      "id"
  )
  WHERE (("status" = 'PENDING') OR ("status" = 'PROCESSING'))
  AND "partition_key" IS NOT NULL
  AND NOT (typeof("partition_key") = 'blob');

-- create
CREATE INDEX IF NOT EXISTS "outbox_delivered_purge"
  ON "outbox" (
    (
      COALESCE(
        CASE
          WHEN typeof("processed_at") IN ('integer', 'real')
          OR "processed_at" NOT GLOB '*[^0-9]*' THEN CAST("processed_at" AS INTEGER)
          ELSE CAST(round((julianday("processed_at") - 2440587.5) * 86400000.0) AS INTEGER)
          END,
          CASE
            WHEN typeof("created_at") IN ('integer', 'real')
            OR "created_at" NOT GLOB '*[^0-9]*' THEN CAST("created_at" AS INTEGER)
            ELSE CAST(round((julianday("created_at") - 2440587.5) * 86400000.0) AS INTEGER)
            END
      )
    )
  )
  WHERE "status" = 'DELIVERED';

-- create
CREATE INDEX IF NOT EXISTS "outbox_states3"
  ON "outbox" (
    (
      CASE
        WHEN "status" = 'PROCESSING' THEN 'PROCESSING'
        WHEN "status" = 'FAILED' THEN 'FAILED'
        WHEN "status" = 'PENDING'
        AND "retry_count" >= 3 THEN 'no attempts left'
        END
    ),
      (CASE WHEN "status" = 'PROCESSING' THEN NULL ELSE "id" END),
      "partition_key",
      (
        CASE
          WHEN typeof("claimed_at") IN ('integer', 'real')
          OR "claimed_at" NOT GLOB '*[^0-9]*' THEN CAST("claimed_at" AS INTEGER)
          ELSE CAST(round((julianday("claimed_at") - 2440587.5) * 86400000.0) AS INTEGER)
          END
      )
  )
  WHERE CASE
  WHEN "status" = 'PROCESSING' THEN 'PROCESSING'
  WHEN "status" = 'FAILED' THEN 'FAILED'
  WHEN "status" = 'PENDING'
  AND "retry_count" >= 3 THEN 'no attempts left'
  END IS NOT NULL;

-- publish: layout Layout { integer_id: true, fences: 1, claim_time: None, pool: 7, fields: ["dedupe",
--   "headers.deal_id", "key", "payload", "topic", "traceparent"], joined: [] }

-- publish: claim 1, step 1: [Limit] -> Keys
SELECT CAST(t."id" AS INTEGER)
FROM "outbox" AS t
WHERE t."status" = 'PENDING'
  AND COALESCE(
    CASE
      WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
      OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
      ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END,
      0
  ) <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
    + 0
  AND t."retry_count" < 3
  AND CASE
    WHEN typeof(t."created_at") IN ('integer', 'real')
    OR t."created_at" NOT GLOB '*[^0-9]*' THEN CAST(t."created_at" AS INTEGER)
    ELSE CAST(round((julianday(t."created_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END < CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) - 1000
  AND (t."partition_key" IS NULL OR (typeof(t."partition_key") = 'blob'))
  AND CASE
    WHEN t."partition_key" IS NOT NULL
    AND NOT (typeof(t."partition_key") = 'blob')
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
ORDER BY CASE
  WHEN typeof(t."created_at") IN ('integer', 'real')
  OR t."created_at" NOT GLOB '*[^0-9]*' THEN CAST(t."created_at" AS INTEGER)
  ELSE CAST(round((julianday(t."created_at") - 2440587.5) * 86400000.0) AS INTEGER)
  END,
  t."id"
LIMIT ?1;

-- publish: claim 1, step 2: [Owner, Held] -> Rows
UPDATE "outbox" AS t SET
  "status" = 'PROCESSING',
  "claimed_at" = CASE
    WHEN typeof(COALESCE(t."claimed_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."claimed_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*' THEN CASE
    WHEN CASE
    WHEN typeof(t."claimed_at") IN ('integer', 'real')
    OR t."claimed_at" NOT GLOB '*[^0-9]*' THEN CAST(t."claimed_at" AS INTEGER)
    ELSE CAST(round((julianday(t."claimed_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END
      BETWEEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 - 1
      AND CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 + 60000
      THEN CASE
    WHEN typeof(t."claimed_at") IN ('integer', 'real')
    OR t."claimed_at" NOT GLOB '*[^0-9]*' THEN CAST(t."claimed_at" AS INTEGER)
    ELSE CAST(round((julianday(t."claimed_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END + 1
    ELSE CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    END
    WHEN COALESCE(t."claimed_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
      THEN strftime(
        '%Y-%m-%d %H:%M:%f',
          (
            CASE
              WHEN CASE
              WHEN typeof(t."claimed_at") IN ('integer', 'real')
              OR t."claimed_at" NOT GLOB '*[^0-9]*' THEN CAST(t."claimed_at" AS INTEGER)
              ELSE CAST(round((julianday(t."claimed_at") - 2440587.5) * 86400000.0) AS INTEGER)
              END
                BETWEEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 - 1
                AND CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 + 60000
                THEN CASE
              WHEN typeof(t."claimed_at") IN ('integer', 'real')
              OR t."claimed_at" NOT GLOB '*[^0-9]*' THEN CAST(t."claimed_at" AS INTEGER)
              ELSE CAST(round((julianday(t."claimed_at") - 2440587.5) * 86400000.0) AS INTEGER)
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
            WHEN typeof(t."claimed_at") IN ('integer', 'real')
            OR t."claimed_at" NOT GLOB '*[^0-9]*' THEN CAST(t."claimed_at" AS INTEGER)
            ELSE CAST(round((julianday(t."claimed_at") - 2440587.5) * 86400000.0) AS INTEGER)
            END
              BETWEEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 - 1
              AND CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 + 60000
              THEN CASE
            WHEN typeof(t."claimed_at") IN ('integer', 'real')
            OR t."claimed_at" NOT GLOB '*[^0-9]*' THEN CAST(t."claimed_at" AS INTEGER)
            ELSE CAST(round((julianday(t."claimed_at") - 2440587.5) * 86400000.0) AS INTEGER)
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
WHERE t."id" IN (SELECT CAST(value AS INTEGER) FROM json_each(?2))
RETURNING
  CAST("id" AS INTEGER),
  CAST("version" AS TEXT),
  CAST("retry_count" AS INTEGER),
  NULL,
  NULL,
  CASE
    WHEN "partition_key" IS NOT NULL
    AND NOT (typeof("partition_key") = 'blob') THEN CAST("partition_key" AS TEXT)
    END,
  'wait',
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
    COALESCE(length(CAST("idempotency_key" AS BLOB)), 0)
      + COALESCE(length(CAST("deal_id" AS BLOB)), 0)
      + COALESCE(length(CAST("partition_key" AS BLOB)), 0)
      + COALESCE(length(CAST("payload" AS BLOB)), 0)
      + COALESCE(length(CAST("topic" AS BLOB)), 0)
      + COALESCE(length(CAST("traceparent" AS BLOB)), 0) AS INTEGER
  ),
  CASE WHEN length(CAST("idempotency_key" AS BLOB)) <= 65536 THEN "idempotency_key" END,
  CASE WHEN length(CAST("deal_id" AS BLOB)) <= 65536 THEN "deal_id" END,
  CASE WHEN length(CAST("partition_key" AS BLOB)) <= 65536 THEN "partition_key" END,
  CASE WHEN length(CAST("payload" AS BLOB)) <= 65536 THEN "payload" END,
  CASE WHEN length(CAST("topic" AS BLOB)) <= 65536 THEN "topic" END,
  CASE WHEN length(CAST("traceparent" AS BLOB)) <= 65536 THEN "traceparent" END;

-- publish: claim groups from the start 1: [Fresh, Jumps] -> Groups
SELECT
  CAST(s.g AS TEXT),
  s.kind,
  (
    SELECT
      (
        (
          t."status" = 'PENDING'
            AND COALESCE(
              CASE
                WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
                OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
                ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
                END,
                0
            ) <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
              + 0
            AND t."retry_count" < 3
            AND CASE
            WHEN typeof(t."created_at") IN ('integer', 'real')
            OR t."created_at" NOT GLOB '*[^0-9]*' THEN CAST(t."created_at" AS INTEGER)
            ELSE CAST(round((julianday(t."created_at") - 2440587.5) * 86400000.0) AS INTEGER)
            END < CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) - 1000
        ) IS TRUE
      )
        FROM "outbox" AS t
        WHERE t."partition_key" = s.g
        AND ((t."status" = 'PENDING') OR (t."status" = 'PROCESSING'))
        AND t."partition_key" IS NOT NULL
        AND NOT (typeof(t."partition_key") = 'blob')
        ORDER BY CASE
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
    SELECT t."partition_key" AS g FROM "outbox" AS t
    WHERE t."status" = 'PENDING'
      AND CASE
      WHEN t."partition_key" IS NOT NULL
      AND NOT (typeof(t."partition_key") = 'blob')
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
      WHEN t."partition_key" IS NOT NULL
      AND NOT (typeof(t."partition_key") = 'blob')
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
      END <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) - 1000
    ORDER BY CASE
      WHEN t."partition_key" IS NOT NULL
      AND NOT (typeof(t."partition_key") = 'blob')
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
      LIMIT ?1) AS f
  UNION ALL
  SELECT
    q.g,
    1
  FROM (
    WITH RECURSIVE ring(g) AS (
      SELECT min(t."partition_key")
        FROM "outbox" AS t
        WHERE ((t."status" = 'PENDING') OR (t."status" = 'PROCESSING'))
        AND t."partition_key" IS NOT NULL
        AND NOT (typeof(t."partition_key") = 'blob')
      UNION ALL
      SELECT (
        SELECT min(t."partition_key")
          FROM "outbox" AS t
          WHERE ((t."status" = 'PENDING') OR (t."status" = 'PROCESSING'))
          AND t."partition_key" IS NOT NULL
          AND NOT (typeof(t."partition_key") = 'blob')
          AND t."partition_key" > r.g
      )
        FROM ring AS r
        WHERE r.g IS NOT NULL
      LIMIT ?2)
    SELECT g FROM ring) AS q) AS s
WHERE s.g IS NOT NULL;

-- publish: claim groups from the start 2, step 1: [Groups, Run, Limit] -> Keys
SELECT y.k FROM (
  SELECT
    CAST(t."id" AS INTEGER) AS k,
    j.key AS place,
    row_number() OVER w AS ord,
    min(
      (
        (
          t."status" = 'PENDING'
            AND COALESCE(
              CASE
                WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
                OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
                ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
                END,
                0
            ) <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
              + 0
            AND t."retry_count" < 3
            AND CASE
            WHEN typeof(t."created_at") IN ('integer', 'real')
            OR t."created_at" NOT GLOB '*[^0-9]*' THEN CAST(t."created_at" AS INTEGER)
            ELSE CAST(round((julianday(t."created_at") - 2440587.5) * 86400000.0) AS INTEGER)
            END < CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) - 1000
        ) IS TRUE
      )
    ) OVER w AS ok
  FROM json_each(?1) AS j CROSS JOIN "outbox" AS t ON t."id" IN (
    SELECT
      t."id"
        FROM "outbox" AS t
        WHERE t."partition_key" = j.value
        AND ((t."status" = 'PENDING') OR (t."status" = 'PROCESSING'))
        AND t."partition_key" IS NOT NULL
        AND NOT (typeof(t."partition_key") = 'blob')
        ORDER BY CASE
        WHEN typeof(t."created_at") IN ('integer', 'real')
        OR t."created_at" NOT GLOB '*[^0-9]*' THEN CAST(t."created_at" AS INTEGER)
        ELSE CAST(round((julianday(t."created_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END,
      t."id" LIMIT ?2)
WHERE (
  SELECT 1
    FROM "outbox" AS t
    WHERE t."partition_key" = j.value
    AND CASE
    WHEN t."status" = 'PROCESSING' THEN 'PROCESSING'
    WHEN t."status" = 'FAILED' THEN 'FAILED'
    WHEN t."status" = 'PENDING'
    AND t."retry_count" >= 3 THEN 'no attempts left'
    END = 'PROCESSING'
    AND CASE
    WHEN t."status" = 'PROCESSING' THEN NULL
    ELSE t."id"
    END IS NULL
    AND t."partition_key" IS NOT NULL
    AND NOT (typeof(t."partition_key") = 'blob')
    LIMIT 1
) IS NULL
  WINDOW w AS (
    PARTITION BY j.key
      ORDER BY CASE
      WHEN typeof(t."created_at") IN ('integer', 'real')
      OR t."created_at" NOT GLOB '*[^0-9]*' THEN CAST(t."created_at" AS INTEGER)
      ELSE CAST(round((julianday(t."created_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END,
      t."id"
  )) AS y
WHERE y.ok
ORDER BY y.place, y.ord
LIMIT ?3;

-- publish: claim groups from the start 2, step 2: [Owner, Held] -> Rows
UPDATE "outbox" AS t SET
  "status" = 'PROCESSING',
  "claimed_at" = CASE
    WHEN typeof(COALESCE(t."claimed_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."claimed_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*' THEN CASE
    WHEN CASE
    WHEN typeof(t."claimed_at") IN ('integer', 'real')
    OR t."claimed_at" NOT GLOB '*[^0-9]*' THEN CAST(t."claimed_at" AS INTEGER)
    ELSE CAST(round((julianday(t."claimed_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END
      BETWEEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 - 1
      AND CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 + 60000
      THEN CASE
    WHEN typeof(t."claimed_at") IN ('integer', 'real')
    OR t."claimed_at" NOT GLOB '*[^0-9]*' THEN CAST(t."claimed_at" AS INTEGER)
    ELSE CAST(round((julianday(t."claimed_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END + 1
    ELSE CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    END
    WHEN COALESCE(t."claimed_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
      THEN strftime(
        '%Y-%m-%d %H:%M:%f',
          (
            CASE
              WHEN CASE
              WHEN typeof(t."claimed_at") IN ('integer', 'real')
              OR t."claimed_at" NOT GLOB '*[^0-9]*' THEN CAST(t."claimed_at" AS INTEGER)
              ELSE CAST(round((julianday(t."claimed_at") - 2440587.5) * 86400000.0) AS INTEGER)
              END
                BETWEEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 - 1
                AND CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 + 60000
                THEN CASE
              WHEN typeof(t."claimed_at") IN ('integer', 'real')
              OR t."claimed_at" NOT GLOB '*[^0-9]*' THEN CAST(t."claimed_at" AS INTEGER)
              ELSE CAST(round((julianday(t."claimed_at") - 2440587.5) * 86400000.0) AS INTEGER)
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
            WHEN typeof(t."claimed_at") IN ('integer', 'real')
            OR t."claimed_at" NOT GLOB '*[^0-9]*' THEN CAST(t."claimed_at" AS INTEGER)
            ELSE CAST(round((julianday(t."claimed_at") - 2440587.5) * 86400000.0) AS INTEGER)
            END
              BETWEEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 - 1
              AND CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 + 60000
              THEN CASE
            WHEN typeof(t."claimed_at") IN ('integer', 'real')
            OR t."claimed_at" NOT GLOB '*[^0-9]*' THEN CAST(t."claimed_at" AS INTEGER)
            ELSE CAST(round((julianday(t."claimed_at") - 2440587.5) * 86400000.0) AS INTEGER)
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
WHERE t."id" IN (SELECT CAST(value AS INTEGER) FROM json_each(?2))
RETURNING
  CAST("id" AS INTEGER),
  CAST("version" AS TEXT),
  CAST("retry_count" AS INTEGER),
  NULL,
  NULL,
  CASE
    WHEN "partition_key" IS NOT NULL
    AND NOT (typeof("partition_key") = 'blob') THEN CAST("partition_key" AS TEXT)
    END,
  'wait',
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
    COALESCE(length(CAST("idempotency_key" AS BLOB)), 0)
      + COALESCE(length(CAST("deal_id" AS BLOB)), 0)
      + COALESCE(length(CAST("partition_key" AS BLOB)), 0)
      + COALESCE(length(CAST("payload" AS BLOB)), 0)
      + COALESCE(length(CAST("topic" AS BLOB)), 0)
      + COALESCE(length(CAST("traceparent" AS BLOB)), 0) AS INTEGER
  ),
  CASE WHEN length(CAST("idempotency_key" AS BLOB)) <= 65536 THEN "idempotency_key" END,
  CASE WHEN length(CAST("deal_id" AS BLOB)) <= 65536 THEN "deal_id" END,
  CASE WHEN length(CAST("partition_key" AS BLOB)) <= 65536 THEN "partition_key" END,
  CASE WHEN length(CAST("payload" AS BLOB)) <= 65536 THEN "payload" END,
  CASE WHEN length(CAST("topic" AS BLOB)) <= 65536 THEN "topic" END,
  CASE WHEN length(CAST("traceparent" AS BLOB)) <= 65536 THEN "traceparent" END;

-- publish: claim groups from the cursor 1: [Fresh, Cursor, Jumps] -> Groups
SELECT
  CAST(s.g AS TEXT),
  s.kind,
  (
    SELECT
      (
        (
          t."status" = 'PENDING'
            AND COALESCE(
              CASE
                WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
                OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
                ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
                END,
                0
            ) <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
              + 0
            AND t."retry_count" < 3
            AND CASE
            WHEN typeof(t."created_at") IN ('integer', 'real')
            OR t."created_at" NOT GLOB '*[^0-9]*' THEN CAST(t."created_at" AS INTEGER)
            ELSE CAST(round((julianday(t."created_at") - 2440587.5) * 86400000.0) AS INTEGER)
            END < CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) - 1000
        ) IS TRUE
      )
        FROM "outbox" AS t
        WHERE t."partition_key" = s.g
        AND ((t."status" = 'PENDING') OR (t."status" = 'PROCESSING'))
        AND t."partition_key" IS NOT NULL
        AND NOT (typeof(t."partition_key") = 'blob')
        ORDER BY CASE
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
    SELECT t."partition_key" AS g FROM "outbox" AS t
    WHERE t."status" = 'PENDING'
      AND CASE
      WHEN t."partition_key" IS NOT NULL
      AND NOT (typeof(t."partition_key") = 'blob')
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
      WHEN t."partition_key" IS NOT NULL
      AND NOT (typeof(t."partition_key") = 'blob')
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
      END <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) - 1000
    ORDER BY CASE
      WHEN t."partition_key" IS NOT NULL
      AND NOT (typeof(t."partition_key") = 'blob')
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
      LIMIT ?1) AS f
  UNION ALL
  SELECT
    q.g,
    1
  FROM (
    WITH RECURSIVE ring(g) AS (
      SELECT min(t."partition_key")
        FROM "outbox" AS t
        WHERE ((t."status" = 'PENDING') OR (t."status" = 'PROCESSING'))
        AND t."partition_key" IS NOT NULL
        AND NOT (typeof(t."partition_key") = 'blob')
        AND t."partition_key" > ?2
      UNION ALL
      SELECT (
        SELECT min(t."partition_key")
          FROM "outbox" AS t
          WHERE ((t."status" = 'PENDING') OR (t."status" = 'PROCESSING'))
          AND t."partition_key" IS NOT NULL
          AND NOT (typeof(t."partition_key") = 'blob')
          AND t."partition_key" > r.g
      )
        FROM ring AS r
        WHERE r.g IS NOT NULL
      LIMIT ?3)
    SELECT g FROM ring) AS q) AS s
WHERE s.g IS NOT NULL;

-- publish: claim groups from the cursor 2, step 1: [Groups, Run, Limit] -> Keys
SELECT y.k FROM (
  SELECT
    CAST(t."id" AS INTEGER) AS k,
    j.key AS place,
    row_number() OVER w AS ord,
    min(
      (
        (
          t."status" = 'PENDING'
            AND COALESCE(
              CASE
                WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
                OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
                ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
                END,
                0
            ) <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
              + 0
            AND t."retry_count" < 3
            AND CASE
            WHEN typeof(t."created_at") IN ('integer', 'real')
            OR t."created_at" NOT GLOB '*[^0-9]*' THEN CAST(t."created_at" AS INTEGER)
            ELSE CAST(round((julianday(t."created_at") - 2440587.5) * 86400000.0) AS INTEGER)
            END < CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) - 1000
        ) IS TRUE
      )
    ) OVER w AS ok
  FROM json_each(?1) AS j CROSS JOIN "outbox" AS t ON t."id" IN (
    SELECT
      t."id"
        FROM "outbox" AS t
        WHERE t."partition_key" = j.value
        AND ((t."status" = 'PENDING') OR (t."status" = 'PROCESSING'))
        AND t."partition_key" IS NOT NULL
        AND NOT (typeof(t."partition_key") = 'blob')
        ORDER BY CASE
        WHEN typeof(t."created_at") IN ('integer', 'real')
        OR t."created_at" NOT GLOB '*[^0-9]*' THEN CAST(t."created_at" AS INTEGER)
        ELSE CAST(round((julianday(t."created_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END,
      t."id" LIMIT ?2)
WHERE (
  SELECT 1
    FROM "outbox" AS t
    WHERE t."partition_key" = j.value
    AND CASE
    WHEN t."status" = 'PROCESSING' THEN 'PROCESSING'
    WHEN t."status" = 'FAILED' THEN 'FAILED'
    WHEN t."status" = 'PENDING'
    AND t."retry_count" >= 3 THEN 'no attempts left'
    END = 'PROCESSING'
    AND CASE
    WHEN t."status" = 'PROCESSING' THEN NULL
    ELSE t."id"
    END IS NULL
    AND t."partition_key" IS NOT NULL
    AND NOT (typeof(t."partition_key") = 'blob')
    LIMIT 1
) IS NULL
  WINDOW w AS (
    PARTITION BY j.key
      ORDER BY CASE
      WHEN typeof(t."created_at") IN ('integer', 'real')
      OR t."created_at" NOT GLOB '*[^0-9]*' THEN CAST(t."created_at" AS INTEGER)
      ELSE CAST(round((julianday(t."created_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END,
      t."id"
  )) AS y
WHERE y.ok
ORDER BY y.place, y.ord
LIMIT ?3;

-- publish: claim groups from the cursor 2, step 2: [Owner, Held] -> Rows
UPDATE "outbox" AS t SET
  "status" = 'PROCESSING',
  "claimed_at" = CASE
    WHEN typeof(COALESCE(t."claimed_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."claimed_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*' THEN CASE
    WHEN CASE
    WHEN typeof(t."claimed_at") IN ('integer', 'real')
    OR t."claimed_at" NOT GLOB '*[^0-9]*' THEN CAST(t."claimed_at" AS INTEGER)
    ELSE CAST(round((julianday(t."claimed_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END
      BETWEEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 - 1
      AND CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 + 60000
      THEN CASE
    WHEN typeof(t."claimed_at") IN ('integer', 'real')
    OR t."claimed_at" NOT GLOB '*[^0-9]*' THEN CAST(t."claimed_at" AS INTEGER)
    ELSE CAST(round((julianday(t."claimed_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END + 1
    ELSE CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    END
    WHEN COALESCE(t."claimed_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
      THEN strftime(
        '%Y-%m-%d %H:%M:%f',
          (
            CASE
              WHEN CASE
              WHEN typeof(t."claimed_at") IN ('integer', 'real')
              OR t."claimed_at" NOT GLOB '*[^0-9]*' THEN CAST(t."claimed_at" AS INTEGER)
              ELSE CAST(round((julianday(t."claimed_at") - 2440587.5) * 86400000.0) AS INTEGER)
              END
                BETWEEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 - 1
                AND CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 + 60000
                THEN CASE
              WHEN typeof(t."claimed_at") IN ('integer', 'real')
              OR t."claimed_at" NOT GLOB '*[^0-9]*' THEN CAST(t."claimed_at" AS INTEGER)
              ELSE CAST(round((julianday(t."claimed_at") - 2440587.5) * 86400000.0) AS INTEGER)
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
            WHEN typeof(t."claimed_at") IN ('integer', 'real')
            OR t."claimed_at" NOT GLOB '*[^0-9]*' THEN CAST(t."claimed_at" AS INTEGER)
            ELSE CAST(round((julianday(t."claimed_at") - 2440587.5) * 86400000.0) AS INTEGER)
            END
              BETWEEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 - 1
              AND CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 + 60000
              THEN CASE
            WHEN typeof(t."claimed_at") IN ('integer', 'real')
            OR t."claimed_at" NOT GLOB '*[^0-9]*' THEN CAST(t."claimed_at" AS INTEGER)
            ELSE CAST(round((julianday(t."claimed_at") - 2440587.5) * 86400000.0) AS INTEGER)
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
WHERE t."id" IN (SELECT CAST(value AS INTEGER) FROM json_each(?2))
RETURNING
  CAST("id" AS INTEGER),
  CAST("version" AS TEXT),
  CAST("retry_count" AS INTEGER),
  NULL,
  NULL,
  CASE
    WHEN "partition_key" IS NOT NULL
    AND NOT (typeof("partition_key") = 'blob') THEN CAST("partition_key" AS TEXT)
    END,
  'wait',
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
    COALESCE(length(CAST("idempotency_key" AS BLOB)), 0)
      + COALESCE(length(CAST("deal_id" AS BLOB)), 0)
      + COALESCE(length(CAST("partition_key" AS BLOB)), 0)
      + COALESCE(length(CAST("payload" AS BLOB)), 0)
      + COALESCE(length(CAST("topic" AS BLOB)), 0)
      + COALESCE(length(CAST("traceparent" AS BLOB)), 0) AS INTEGER
  ),
  CASE WHEN length(CAST("idempotency_key" AS BLOB)) <= 65536 THEN "idempotency_key" END,
  CASE WHEN length(CAST("deal_id" AS BLOB)) <= 65536 THEN "deal_id" END,
  CASE WHEN length(CAST("partition_key" AS BLOB)) <= 65536 THEN "partition_key" END,
  CASE WHEN length(CAST("payload" AS BLOB)) <= 65536 THEN "payload" END,
  CASE WHEN length(CAST("topic" AS BLOB)) <= 65536 THEN "topic" END,
  CASE WHEN length(CAST("traceparent" AS BLOB)) <= 65536 THEN "traceparent" END;

-- publish: load: [Ids] -> Other
SELECT
  CAST(t."id" AS INTEGER),
  t."idempotency_key",
  t."deal_id",
  t."partition_key",
  t."payload",
  t."topic",
  t."traceparent"
FROM "outbox" AS t
WHERE t."id" IN (SELECT CAST(value AS INTEGER) FROM json_each(?1));

-- publish: settle delivered, uniform: [Ids, One(Fence(0))] -> Keys
UPDATE "outbox" AS t SET
  "status" = 'DELIVERED',
  "claimed_by" = NULL,
  "last_error" = NULL,
  "processed_at" = CASE
    WHEN typeof(COALESCE(t."processed_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."processed_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."processed_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
      THEN strftime(
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
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END
WHERE t."id" IN (SELECT CAST(value AS INTEGER) FROM json_each(?1))
  AND +t."status" = 'PROCESSING'
  AND CAST(t."version" AS TEXT) IS ?2
RETURNING CAST("id" AS INTEGER);

-- publish: settle delivered, each: [Rows([Id, Fence(0)])] -> Keys
UPDATE "outbox" AS t SET
  "status" = 'DELIVERED',
  "claimed_by" = NULL,
  "last_error" = NULL,
  "processed_at" = CASE
    WHEN typeof(COALESCE(t."processed_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."processed_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
      THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    WHEN COALESCE(t."processed_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
      THEN strftime(
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
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END
FROM (
  SELECT
    CAST(value->>'id' AS INTEGER) AS "id",
    CAST(value->>'f0' AS TEXT) AS "f0"
  FROM json_each(?1)
) AS v
WHERE t."id" = v."id"
  AND +t."status" = 'PROCESSING'
  AND CAST(t."version" AS TEXT) IS v."f0"
RETURNING CAST("id" AS INTEGER);

-- publish: settle retry, uniform: [One(Delay), One(Reason), Ids, One(Fence(0))] -> Keys
UPDATE "outbox" AS t SET
  "status" = 'PENDING',
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
  "retry_count" = t."retry_count" + 1,
  "last_error" = ?2,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END
WHERE t."id" IN (SELECT CAST(value AS INTEGER) FROM json_each(?3))
  AND +t."status" = 'PROCESSING'
  AND CAST(t."version" AS TEXT) IS ?4
RETURNING CAST("id" AS INTEGER);

-- publish: settle retry, each: [Rows([Id, Fence(0), Delay, Reason])] -> Keys
UPDATE "outbox" AS t SET
  "status" = 'PENDING',
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
  "last_error" = v."reason",
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END
FROM (
  SELECT
    CAST(value->>'id' AS INTEGER) AS "id",
    CAST(value->>'f0' AS TEXT) AS "f0",
    value->>'delay' AS "delay",
    value->>'reason' AS "reason"
  FROM json_each(?1)
) AS v
WHERE t."id" = v."id"
  AND +t."status" = 'PROCESSING'
  AND CAST(t."version" AS TEXT) IS v."f0"
RETURNING CAST("id" AS INTEGER);

-- publish: settle dead, uniform: [One(Reason), Ids, One(Fence(0))] -> Keys
UPDATE "outbox" AS t SET
  "status" = 'FAILED',
  "claimed_by" = NULL,
  "last_error" = ?1,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END
WHERE t."id" IN (SELECT CAST(value AS INTEGER) FROM json_each(?2))
  AND +t."status" = 'PROCESSING'
  AND CAST(t."version" AS TEXT) IS ?3
RETURNING CAST("id" AS INTEGER);

-- publish: settle dead, each: [Rows([Id, Fence(0), Reason])] -> Keys
UPDATE "outbox" AS t SET
  "status" = 'FAILED',
  "claimed_by" = NULL,
  "last_error" = v."reason",
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END
FROM (
  SELECT
    CAST(value->>'id' AS INTEGER) AS "id",
    CAST(value->>'f0' AS TEXT) AS "f0",
    value->>'reason' AS "reason"
  FROM json_each(?1)
) AS v
WHERE t."id" = v."id"
  AND +t."status" = 'PROCESSING'
  AND CAST(t."version" AS TEXT) IS v."f0"
RETURNING CAST("id" AS INTEGER);

-- publish: settle rejected, uniform: [One(Reason), Ids, One(Fence(0))] -> Keys
UPDATE "outbox" AS t SET
  "status" = 'FAILED',
  "claimed_by" = NULL,
  "last_error" = ?1,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END
WHERE t."id" IN (SELECT CAST(value AS INTEGER) FROM json_each(?2))
  AND +t."status" = 'PROCESSING'
  AND CAST(t."version" AS TEXT) IS ?3
RETURNING CAST("id" AS INTEGER);

-- publish: settle rejected, each: [Rows([Id, Fence(0), Reason])] -> Keys
UPDATE "outbox" AS t SET
  "status" = 'FAILED',
  "claimed_by" = NULL,
  "last_error" = v."reason",
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END
FROM (
  SELECT
    CAST(value->>'id' AS INTEGER) AS "id",
    CAST(value->>'f0' AS TEXT) AS "f0",
    value->>'reason' AS "reason"
  FROM json_each(?1)
) AS v
WHERE t."id" = v."id"
  AND +t."status" = 'PROCESSING'
  AND CAST(t."version" AS TEXT) IS v."f0"
RETURNING CAST("id" AS INTEGER);

-- publish: settle skipped, uniform: [One(Reason), Ids, One(Fence(0))] -> Keys
UPDATE "outbox" AS t SET
  "status" = 'FAILED',
  "claimed_by" = NULL,
  "last_error" = ?1,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END
WHERE t."id" IN (SELECT CAST(value AS INTEGER) FROM json_each(?2))
  AND +t."status" = 'PROCESSING'
  AND CAST(t."version" AS TEXT) IS ?3
RETURNING CAST("id" AS INTEGER);

-- publish: settle skipped, each: [Rows([Id, Fence(0), Reason])] -> Keys
UPDATE "outbox" AS t SET
  "status" = 'FAILED',
  "claimed_by" = NULL,
  "last_error" = v."reason",
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END
FROM (
  SELECT
    CAST(value->>'id' AS INTEGER) AS "id",
    CAST(value->>'f0' AS TEXT) AS "f0",
    value->>'reason' AS "reason"
  FROM json_each(?1)
) AS v
WHERE t."id" = v."id"
  AND +t."status" = 'PROCESSING'
  AND CAST(t."version" AS TEXT) IS v."f0"
RETURNING CAST("id" AS INTEGER);

-- publish: settle deferred, uniform: [One(Delay), Ids, One(Fence(0))] -> Keys
UPDATE "outbox" AS t SET
  "status" = 'PENDING',
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
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END
WHERE t."id" IN (SELECT CAST(value AS INTEGER) FROM json_each(?2))
  AND +t."status" = 'PROCESSING'
  AND CAST(t."version" AS TEXT) IS ?3
RETURNING CAST("id" AS INTEGER);

-- publish: settle deferred, each: [Rows([Id, Fence(0), Delay])] -> Keys
UPDATE "outbox" AS t SET
  "status" = 'PENDING',
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
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END
FROM (
  SELECT
    CAST(value->>'id' AS INTEGER) AS "id",
    CAST(value->>'f0' AS TEXT) AS "f0",
    value->>'delay' AS "delay"
  FROM json_each(?1)
) AS v
WHERE t."id" = v."id"
  AND +t."status" = 'PROCESSING'
  AND CAST(t."version" AS TEXT) IS v."f0"
RETURNING CAST("id" AS INTEGER);

-- publish: settle released, uniform: [Ids, One(Fence(0))] -> Keys
UPDATE "outbox" AS t SET
  "status" = 'PENDING',
  "claimed_by" = NULL,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END
WHERE t."id" IN (SELECT CAST(value AS INTEGER) FROM json_each(?1))
  AND +t."status" = 'PROCESSING'
  AND CAST(t."version" AS TEXT) IS ?2
RETURNING CAST("id" AS INTEGER);

-- publish: settle released, each: [Rows([Id, Fence(0)])] -> Keys
UPDATE "outbox" AS t SET
  "status" = 'PENDING',
  "claimed_by" = NULL,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END
FROM (
  SELECT
    CAST(value->>'id' AS INTEGER) AS "id",
    CAST(value->>'f0' AS TEXT) AS "f0"
  FROM json_each(?1)
) AS v
WHERE t."id" = v."id"
  AND +t."status" = 'PROCESSING'
  AND CAST(t."version" AS TEXT) IS v."f0"
RETURNING CAST("id" AS INTEGER);

-- publish: extend: [Rows([Id, Fence(0)])] -> Leases
UPDATE "outbox" AS t SET
  "claimed_at" = CASE
    WHEN typeof(COALESCE(t."claimed_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
    OR COALESCE(t."claimed_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*' THEN CASE
    WHEN CASE
    WHEN typeof(t."claimed_at") IN ('integer', 'real')
    OR t."claimed_at" NOT GLOB '*[^0-9]*' THEN CAST(t."claimed_at" AS INTEGER)
    ELSE CAST(round((julianday(t."claimed_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END
      BETWEEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 - 1
      AND CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 + 60000
      THEN CASE
    WHEN typeof(t."claimed_at") IN ('integer', 'real')
    OR t."claimed_at" NOT GLOB '*[^0-9]*' THEN CAST(t."claimed_at" AS INTEGER)
    ELSE CAST(round((julianday(t."claimed_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END + 1
    ELSE CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    END
    WHEN COALESCE(t."claimed_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
      THEN strftime(
        '%Y-%m-%d %H:%M:%f',
          (
            CASE
              WHEN CASE
              WHEN typeof(t."claimed_at") IN ('integer', 'real')
              OR t."claimed_at" NOT GLOB '*[^0-9]*' THEN CAST(t."claimed_at" AS INTEGER)
              ELSE CAST(round((julianday(t."claimed_at") - 2440587.5) * 86400000.0) AS INTEGER)
              END
                BETWEEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 - 1
                AND CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 + 60000
                THEN CASE
              WHEN typeof(t."claimed_at") IN ('integer', 'real')
              OR t."claimed_at" NOT GLOB '*[^0-9]*' THEN CAST(t."claimed_at" AS INTEGER)
              ELSE CAST(round((julianday(t."claimed_at") - 2440587.5) * 86400000.0) AS INTEGER)
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
            WHEN typeof(t."claimed_at") IN ('integer', 'real')
            OR t."claimed_at" NOT GLOB '*[^0-9]*' THEN CAST(t."claimed_at" AS INTEGER)
            ELSE CAST(round((julianday(t."claimed_at") - 2440587.5) * 86400000.0) AS INTEGER)
            END
              BETWEEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 - 1
              AND CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0 + 60000
              THEN CASE
            WHEN typeof(t."claimed_at") IN ('integer', 'real')
            OR t."claimed_at" NOT GLOB '*[^0-9]*' THEN CAST(t."claimed_at" AS INTEGER)
            ELSE CAST(round((julianday(t."claimed_at") - 2440587.5) * 86400000.0) AS INTEGER)
            END + 1
            ELSE CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
            END
        )
          / 1000.0,
        'unixepoch'
    )
    END,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END
FROM (
  SELECT
    CAST(value->>'id' AS INTEGER) AS "id",
    CAST(value->>'f0' AS TEXT) AS "f0"
  FROM json_each(?1)
) AS v
WHERE t."id" = v."id"
  AND +t."status" = 'PROCESSING'
  AND CAST(t."version" AS TEXT) IS v."f0"
RETURNING
  CAST("id" AS INTEGER),
  CAST("version" AS TEXT);

-- publish: leases after a lost extension: [Ids, Owner] -> Leases
SELECT
  CAST(t."id" AS INTEGER),
  CAST(t."version" AS TEXT)
FROM "outbox" AS t
WHERE t."id" IN (SELECT CAST(value AS INTEGER) FROM json_each(?1))
  AND +t."status" = 'PROCESSING'
  AND t."claimed_by" = ?2;

-- publish: stamp: [Limit] -> Keys
UPDATE "outbox" AS t SET "claimed_at" = CASE
  WHEN typeof(COALESCE(t."claimed_at", t."next_attempt_at", t."created_at")) IN ('integer', 'real')
  OR COALESCE(t."claimed_at", t."next_attempt_at", t."created_at") NOT GLOB '*[^0-9]*'
    THEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
  WHEN COALESCE(t."claimed_at", t."next_attempt_at", t."created_at") GLOB '????-??-?? *'
    THEN strftime(
      '%Y-%m-%d %H:%M:%f',
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
FROM "outbox" AS t
WHERE t."status" = 'PROCESSING'
  AND CASE
    WHEN t."status" = 'PROCESSING' THEN 'PROCESSING'
    WHEN t."status" = 'FAILED' THEN 'FAILED'
    WHEN t."status" = 'PENDING'
    AND t."retry_count" >= 3 THEN 'no attempts left'
    END = 'PROCESSING'
    AND CASE
    WHEN t."status" = 'PROCESSING' THEN NULL
    ELSE t."id"
    END IS NULL
  AND CASE
    WHEN typeof(t."claimed_at") IN ('integer', 'real')
    OR t."claimed_at" NOT GLOB '*[^0-9]*' THEN CAST(t."claimed_at" AS INTEGER)
    ELSE CAST(round((julianday(t."claimed_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END IS NULL
LIMIT ?1)
RETURNING CAST("id" AS INTEGER);

-- publish: leases that still hold: [Rows([Id, Fence(0)])] -> Keys
SELECT CAST(t."id" AS INTEGER)
FROM (
  SELECT
    CAST(value->>'id' AS INTEGER) AS "id",
    CAST(value->>'f0' AS TEXT) AS "f0"
  FROM json_each(?1)
) AS v CROSS
  JOIN "outbox" AS t
WHERE t."id" = v."id"
  AND +t."status" = 'PROCESSING'
  AND CAST(t."version" AS TEXT) IS v."f0"
  AND (
    CASE
      WHEN typeof(t."claimed_at") IN ('integer', 'real')
      OR t."claimed_at" NOT GLOB '*[^0-9]*' THEN CAST(t."claimed_at" AS INTEGER)
      ELSE CAST(round((julianday(t."claimed_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END < CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) - 60000
  ) IS NOT TRUE;

-- publish: look for rows of a lost claim: [Owner] -> Keys
SELECT CAST(t."id" AS INTEGER)
FROM "outbox" AS t
WHERE t."status" = 'PROCESSING'
  AND t."claimed_by" = ?1;

-- publish: release rows of a lost claim: [Ids, Owner] -> Keys
UPDATE "outbox" AS t SET
  "status" = 'PENDING',
  "claimed_by" = NULL,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END
WHERE t."id" IN (
SELECT t."id"
FROM "outbox" AS t
WHERE t."id" IN (SELECT CAST(value AS INTEGER) FROM json_each(?1))
  AND +t."status" = 'PROCESSING'
  AND t."claimed_by" = ?2)
RETURNING CAST("id" AS INTEGER);

-- publish: look for expired leases: [Limit] -> Other
SELECT
  CAST(t."id" AS INTEGER),
  CAST(t."version" AS TEXT),
  CASE WHEN t."retry_count" + 1 >= 3 THEN 1 ELSE 0 END,
  3
FROM "outbox" AS t
WHERE CASE
  WHEN t."status" = 'PROCESSING' THEN 'PROCESSING'
  WHEN t."status" = 'FAILED' THEN 'FAILED'
  WHEN t."status" = 'PENDING'
  AND t."retry_count" >= 3 THEN 'no attempts left'
  END = 'PROCESSING'
  AND CASE
  WHEN t."status" = 'PROCESSING' THEN NULL
  ELSE t."id"
  END IS NULL
  AND t."status" = 'PROCESSING'
  AND CASE
    WHEN typeof(t."claimed_at") IN ('integer', 'real')
    OR t."claimed_at" NOT GLOB '*[^0-9]*' THEN CAST(t."claimed_at" AS INTEGER)
    ELSE CAST(round((julianday(t."claimed_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END < CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) - 60000
LIMIT ?1;

-- publish: reclaim, free: [Ids] -> Keys
UPDATE "outbox" AS t SET
  "status" = 'PENDING',
  "claimed_by" = NULL,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END
WHERE t."id" IN (
SELECT t."id"
FROM "outbox" AS t
WHERE t."id" IN (SELECT CAST(value AS INTEGER) FROM json_each(?1))
  AND +t."status" = 'PROCESSING'
  AND CASE
    WHEN typeof(t."claimed_at") IN ('integer', 'real')
    OR t."claimed_at" NOT GLOB '*[^0-9]*' THEN CAST(t."claimed_at" AS INTEGER)
    ELSE CAST(round((julianday(t."claimed_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END < CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) - 60000)
RETURNING CAST("id" AS INTEGER);

-- publish: reclaim, spared, step 1: [Ids] -> Keys
UPDATE "outbox" AS t SET
  "status" = 'PENDING',
  "claimed_by" = NULL,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END
WHERE t."id" IN (
SELECT t."id"
FROM "outbox" AS t
WHERE t."id" IN (SELECT CAST(value AS INTEGER) FROM json_each(?1))
  AND +t."status" = 'PROCESSING'
  AND CASE
    WHEN typeof(t."claimed_at") IN ('integer', 'real')
    OR t."claimed_at" NOT GLOB '*[^0-9]*' THEN CAST(t."claimed_at" AS INTEGER)
    ELSE CAST(round((julianday(t."claimed_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END < CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) - 60000)
RETURNING CAST("id" AS INTEGER);

-- publish: reclaim, spared, step 2: [Held] -> Nothing
INSERT INTO postrider_crashes (place, row_id, crashes, crashed_at)
SELECT
  'outbox/publish',
  CAST(value AS TEXT),
  1,
  strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
FROM json_each(?1) WHERE true
ON CONFLICT (place, row_id) DO UPDATE SET
  crashes = crashes + 1,
  crashed_at = excluded.crashed_at;

-- publish: reclaim, charged, step 1: [Ids] -> Keys
UPDATE "outbox" AS t SET
  "status" = 'PENDING',
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
  "last_error" = 'lease expired: the worker that held it is gone',
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END
WHERE t."id" IN (
SELECT t."id"
FROM "outbox" AS t
WHERE t."id" IN (SELECT CAST(value AS INTEGER) FROM json_each(?1))
  AND +t."status" = 'PROCESSING'
  AND CASE
    WHEN typeof(t."claimed_at") IN ('integer', 'real')
    OR t."claimed_at" NOT GLOB '*[^0-9]*' THEN CAST(t."claimed_at" AS INTEGER)
    ELSE CAST(round((julianday(t."claimed_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END < CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) - 60000)
RETURNING CAST("id" AS INTEGER);

-- publish: reclaim, charged, step 2: [Held] -> Nothing
INSERT INTO postrider_crashes (place, row_id, crashes, crashed_at)
SELECT
  'outbox/publish',
  CAST(value AS TEXT),
  1,
  strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
FROM json_each(?1) WHERE true
ON CONFLICT (place, row_id) DO UPDATE SET
  crashes = crashes + 1,
  crashed_at = excluded.crashed_at;

-- publish: reclaim, dead, step 1: [Ids] -> Keys
UPDATE "outbox" AS t SET
  "status" = 'FAILED',
  "claimed_by" = NULL,
  "last_error" = 'poison row: its workers crashed repeatedly, also when it was delivered alone',
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END
WHERE t."id" IN (
SELECT t."id"
FROM "outbox" AS t
WHERE t."id" IN (SELECT CAST(value AS INTEGER) FROM json_each(?1))
  AND +t."status" = 'PROCESSING'
  AND CASE
    WHEN typeof(t."claimed_at") IN ('integer', 'real')
    OR t."claimed_at" NOT GLOB '*[^0-9]*' THEN CAST(t."claimed_at" AS INTEGER)
    ELSE CAST(round((julianday(t."claimed_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END < CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) - 60000)
RETURNING CAST("id" AS INTEGER);

-- publish: reclaim, dead, step 2: [Held] -> Nothing
DELETE
  FROM postrider_crashes
  WHERE place = 'outbox/publish'
  AND row_id IN (SELECT CAST(value AS TEXT) FROM json_each(?1));

-- publish: spent: [Limit] -> Keys
UPDATE "outbox" AS t SET
  "last_error" = COALESCE(t."last_error", 'no attempts left'),
  "status" = 'FAILED',
  "claimed_by" = NULL,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END
WHERE t."id" IN (
SELECT t."id"
FROM "outbox" AS t
WHERE t."status" = 'PENDING'
  AND CASE
    WHEN t."status" = 'PROCESSING' THEN 'PROCESSING'
    WHEN t."status" = 'FAILED' THEN 'FAILED'
    WHEN t."status" = 'PENDING'
    AND t."retry_count" >= 3 THEN 'no attempts left'
    END = 'no attempts left'
  AND t."retry_count" >= 3
LIMIT ?1)
RETURNING CAST("id" AS INTEGER);

-- publish: look for unreadable created_at: [Limit] -> Keys
SELECT CAST(t."id" AS INTEGER)
FROM "outbox" AS t
WHERE t."status" = 'PENDING'
  AND (
    t."created_at" IS NOT NULL
      AND CASE
      WHEN typeof(t."created_at") IN ('integer', 'real')
      OR t."created_at" NOT GLOB '*[^0-9]*' THEN CAST(t."created_at" AS INTEGER)
      ELSE CAST(round((julianday(t."created_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END IS NULL
  )
LIMIT ?1;

-- publish: end unreadable created_at: [Ids] -> Keys
UPDATE "outbox" AS t SET
  "last_error" = 'created_at holds a time that can''t be read',
  "status" = 'FAILED',
  "claimed_by" = NULL,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END
WHERE t."id" IN (
SELECT t."id"
FROM "outbox" AS t
WHERE t."id" IN (SELECT CAST(value AS INTEGER) FROM json_each(?1))
  AND +t."status" = 'PENDING'
  AND (
    t."created_at" IS NOT NULL
      AND CASE
      WHEN typeof(t."created_at") IN ('integer', 'real')
      OR t."created_at" NOT GLOB '*[^0-9]*' THEN CAST(t."created_at" AS INTEGER)
      ELSE CAST(round((julianday(t."created_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END IS NULL
  ))
RETURNING CAST("id" AS INTEGER);

-- publish: purge 1: [Limit] -> Keys
DELETE FROM "outbox" AS t
WHERE t."id" IN (
SELECT t."id"
FROM "outbox" AS t
WHERE t."status" = 'DELIVERED'
  AND COALESCE(
    CASE
      WHEN typeof(t."processed_at") IN ('integer', 'real')
      OR t."processed_at" NOT GLOB '*[^0-9]*' THEN CAST(t."processed_at" AS INTEGER)
      ELSE CAST(round((julianday(t."processed_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END,
      CASE
        WHEN typeof(t."created_at") IN ('integer', 'real')
        OR t."created_at" NOT GLOB '*[^0-9]*' THEN CAST(t."created_at" AS INTEGER)
        ELSE CAST(round((julianday(t."created_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END
  )
    < CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) - 604800000
LIMIT ?1)
RETURNING CAST("id" AS INTEGER);

-- publish: next due: [] -> Other
SELECT min(u.w) FROM (
SELECT a.w
  FROM (
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
  
FROM "outbox" AS t
WHERE t."status" = 'PENDING'
  AND t."retry_count" < 3
  AND (t."partition_key" IS NULL OR (typeof(t."partition_key") = 'blob'))
  AND CASE
    WHEN t."partition_key" IS NOT NULL
    AND NOT (typeof(t."partition_key") = 'blob')
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
LIMIT 1) AS a
UNION ALL
SELECT b.w
  FROM (
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
  
FROM "outbox" AS t
WHERE t."status" = 'PENDING'
  AND CASE
    WHEN t."partition_key" IS NOT NULL
    AND NOT (typeof(t."partition_key") = 'blob')
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
    WHEN t."partition_key" IS NOT NULL
    AND NOT (typeof(t."partition_key") = 'blob')
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
  WHEN t."partition_key" IS NOT NULL
  AND NOT (typeof(t."partition_key") = 'blob')
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
LIMIT 1) AS b) AS u;

-- publish: lag: [] -> Other
SELECT (
  SELECT max(l.w)
    FROM (
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
          FROM "outbox" AS t
          WHERE t."status" = 'PENDING'
          AND COALESCE(
            CASE
              WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
              OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
              ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
              END,
              0
          ) <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
            + 0
          AND t."retry_count" < 3
          AND CASE
          WHEN typeof(t."created_at") IN ('integer', 'real')
          OR t."created_at" NOT GLOB '*[^0-9]*' THEN CAST(t."created_at" AS INTEGER)
          ELSE CAST(round((julianday(t."created_at") - 2440587.5) * 86400000.0) AS INTEGER)
          END < CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) - 1000
          AND (t."partition_key" IS NULL OR (typeof(t."partition_key") = 'blob'))
          AND CASE
          WHEN t."partition_key" IS NOT NULL
          AND NOT (typeof(t."partition_key") = 'blob')
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
          ORDER BY CASE
          WHEN typeof(t."created_at") IN ('integer', 'real')
          OR t."created_at" NOT GLOB '*[^0-9]*' THEN CAST(t."created_at" AS INTEGER)
          ELSE CAST(round((julianday(t."created_at") - 2440587.5) * 86400000.0) AS INTEGER)
          END
          LIMIT 1
      ) AS w
        UNION ALL SELECT (
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
            FROM "outbox" AS t
            WHERE t."status" = 'PENDING'
            AND COALESCE(
              CASE
                WHEN typeof(t."next_attempt_at") IN ('integer', 'real')
                OR t."next_attempt_at" NOT GLOB '*[^0-9]*' THEN CAST(t."next_attempt_at" AS INTEGER)
                ELSE CAST(round((julianday(t."next_attempt_at") - 2440587.5) * 86400000.0) AS INTEGER)
                END,
                0
            ) <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
              + 0
            AND t."retry_count" < 3
            AND CASE
            WHEN typeof(t."created_at") IN ('integer', 'real')
            OR t."created_at" NOT GLOB '*[^0-9]*' THEN CAST(t."created_at" AS INTEGER)
            ELSE CAST(round((julianday(t."created_at") - 2440587.5) * 86400000.0) AS INTEGER)
            END < CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) - 1000
            AND CASE
            WHEN t."partition_key" IS NOT NULL
            AND NOT (typeof(t."partition_key") = 'blob')
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
            WHEN t."partition_key" IS NOT NULL
            AND NOT (typeof(t."partition_key") = 'blob')
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
        )
    ) AS l
),
  (
    SELECT (
      (
        (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0) - CASE
          WHEN typeof(t."claimed_at") IN ('integer', 'real')
          OR t."claimed_at" NOT GLOB '*[^0-9]*' THEN CAST(t."claimed_at" AS INTEGER)
          ELSE CAST(round((julianday(t."claimed_at") - 2440587.5) * 86400000.0) AS INTEGER)
          END
      )
        * 1000
    )
      / 1000000.0
      FROM "outbox" AS t
      WHERE CASE
      WHEN t."status" = 'PROCESSING' THEN 'PROCESSING'
      WHEN t."status" = 'FAILED' THEN 'FAILED'
      WHEN t."status" = 'PENDING'
      AND t."retry_count" >= 3 THEN 'no attempts left'
      END = 'PROCESSING'
      AND CASE
      WHEN t."status" = 'PROCESSING' THEN NULL
      ELSE t."id"
      END IS NULL
      AND t."status" = 'PROCESSING'
      ORDER BY CASE
      WHEN typeof(t."claimed_at") IN ('integer', 'real')
      OR t."claimed_at" NOT GLOB '*[^0-9]*' THEN CAST(t."claimed_at" AS INTEGER)
      ELSE CAST(round((julianday(t."claimed_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END
      LIMIT 1
  );

-- publish: census PENDING: [] -> Other
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
                FROM "outbox" AS t
                  WHERE t."status" = 'PENDING'
                  ORDER BY CASE
                  WHEN t."partition_key" IS NOT NULL
                  AND NOT (typeof(t."partition_key") = 'blob')
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
                  END,
                  CASE
                    WHEN typeof(t."created_at") IN ('integer', 'real')
                    OR t."created_at" NOT GLOB '*[^0-9]*' THEN CAST(t."created_at" AS INTEGER)
                    ELSE CAST(round((julianday(t."created_at") - 2440587.5) * 86400000.0) AS INTEGER)
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
              FROM "outbox" AS t
                WHERE t."status" = 'PENDING'
                ORDER BY CASE
                WHEN t."partition_key" IS NOT NULL
                AND NOT (typeof(t."partition_key") = 'blob')
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
                END,
                CASE
                  WHEN typeof(t."created_at") IN ('integer', 'real')
                  OR t."created_at" NOT GLOB '*[^0-9]*' THEN CAST(t."created_at" AS INTEGER)
                  ELSE CAST(round((julianday(t."created_at") - 2440587.5) * 86400000.0) AS INTEGER)
                  END,
                t."id" LIMIT 50000
            ) AS p
        ) AS t
    

WHERE t."status" = 'PENDING' LIMIT 10001) AS counted) AS c;

-- publish: census PROCESSING: [] -> Other
SELECT
  CAST(COUNT(*) AS INTEGER),
  0
FROM (
  SELECT 1 AS one
    FROM "outbox" AS t
    WHERE CASE
    WHEN t."status" = 'PROCESSING' THEN 'PROCESSING'
    WHEN t."status" = 'FAILED' THEN 'FAILED'
    WHEN t."status" = 'PENDING'
    AND t."retry_count" >= 3 THEN 'no attempts left'
    END = 'PROCESSING'
    AND CASE
    WHEN t."status" = 'PROCESSING' THEN NULL
    ELSE t."id"
    END IS NULL
    AND t."status" = 'PROCESSING'
    LIMIT 10001
) AS counted;

-- publish: census DELIVERED: [] -> Other
SELECT
  CAST(c.n AS INTEGER),
  CAST(
    CASE
      WHEN c.n <= 10000
      AND EXISTS (SELECT 1 FROM "outbox" AS t ORDER BY t."id" LIMIT 1 OFFSET 50000) THEN 1
      ELSE 0
      END AS INTEGER
  )
FROM (
  SELECT COUNT(*) AS n
    FROM (SELECT 1 AS one FROM (SELECT t."id", t."status" FROM "outbox" AS t ORDER BY t."id" LIMIT 50000) AS t

WHERE t."status" = 'DELIVERED' LIMIT 10001) AS counted) AS c;

-- publish: census FAILED: [] -> Other
SELECT
  CAST(COUNT(*) AS INTEGER),
  0
FROM (
  SELECT 1 AS one
    FROM "outbox" AS t
    WHERE CASE
    WHEN t."status" = 'PROCESSING' THEN 'PROCESSING'
    WHEN t."status" = 'FAILED' THEN 'FAILED'
    WHEN t."status" = 'PENDING'
    AND t."retry_count" >= 3 THEN 'no attempts left'
    END = 'FAILED'
    AND t."status" = 'FAILED'
    LIMIT 10001
) AS counted;

-- publish: requeue ids FAILED: [Ids] -> Keys
UPDATE "outbox" AS t SET
  "status" = 'PENDING',
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
  "processed_at" = NULL,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END
WHERE t."id" IN (
SELECT t."id"
FROM "outbox" AS t
WHERE t."id" IN (SELECT CAST(value AS INTEGER) FROM json_each(?1))
  AND +t."status" = 'FAILED')
RETURNING CAST("id" AS INTEGER);

-- publish: requeue state FAILED: [Since, Limit] -> Keys
UPDATE "outbox" AS t SET
  "status" = 'PENDING',
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
  "processed_at" = NULL,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END
WHERE t."id" IN (
SELECT t."id"
FROM "outbox" AS t
WHERE t."status" = 'FAILED'
  AND CASE
    WHEN t."status" = 'PROCESSING' THEN 'PROCESSING'
    WHEN t."status" = 'FAILED' THEN 'FAILED'
    WHEN t."status" = 'PENDING'
    AND t."retry_count" >= 3 THEN 'no attempts left'
    END = 'FAILED'
  AND (
    ?1 IS NULL
      OR CASE
      WHEN typeof(t."claimed_at") IN ('integer', 'real')
      OR t."claimed_at" NOT GLOB '*[^0-9]*' THEN CAST(t."claimed_at" AS INTEGER)
      ELSE CAST(round((julianday(t."claimed_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END >= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
        + CAST(round((0 - ?1) * 1000.0) AS INTEGER)
        + 0
      OR t."claimed_at" IS NULL
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

-- publish: release ids PROCESSING: [Ids] -> Keys
UPDATE "outbox" AS t SET
  "status" = 'PENDING',
  "claimed_by" = NULL,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END
WHERE t."id" IN (
SELECT t."id"
FROM "outbox" AS t
WHERE t."id" IN (SELECT CAST(value AS INTEGER) FROM json_each(?1))
  AND +t."status" = 'PROCESSING')
RETURNING CAST("id" AS INTEGER);

-- publish: release state PROCESSING: [Since, Limit] -> Keys
UPDATE "outbox" AS t SET
  "status" = 'PENDING',
  "claimed_by" = NULL,
  "version" = CASE WHEN t."version" < 2147483647 THEN t."version" + 1 ELSE 1 END
WHERE t."id" IN (
SELECT t."id"
FROM "outbox" AS t
WHERE t."status" = 'PROCESSING'
  AND CASE
    WHEN t."status" = 'PROCESSING' THEN 'PROCESSING'
    WHEN t."status" = 'FAILED' THEN 'FAILED'
    WHEN t."status" = 'PENDING'
    AND t."retry_count" >= 3 THEN 'no attempts left'
    END = 'PROCESSING'
    AND CASE
    WHEN t."status" = 'PROCESSING' THEN NULL
    ELSE t."id"
    END IS NULL
  AND (
    ?1 IS NULL
      OR CASE
      WHEN typeof(t."claimed_at") IN ('integer', 'real')
      OR t."claimed_at" NOT GLOB '*[^0-9]*' THEN CAST(t."claimed_at" AS INTEGER)
      ELSE CAST(round((julianday(t."claimed_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END >= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
        + CAST(round((0 - ?1) * 1000.0) AS INTEGER)
        + 0
      OR t."claimed_at" IS NULL
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
