-- due_lease: every statement. Written by the snapshot test; do not edit.

-- create
CREATE TABLE IF NOT EXISTS "jobs" (
    "id" INTEGER PRIMARY KEY AUTOINCREMENT,
    "state" TEXT NOT NULL,
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "run_at" INTEGER,
    "error" TEXT,
    "created_at" INTEGER,
    "payload" TEXT
);

-- create
CREATE INDEX IF NOT EXISTS "jobs_run_claim"
  ON "jobs" (
    (
      CASE
        WHEN typeof("run_at") IN ('integer', 'real')
        OR "run_at" NOT GLOB '*[^0-9]*' THEN CAST("run_at" AS INTEGER)
        ELSE CAST(round((julianday("run_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END
    ),
      "id"
  )
  WHERE "state" = 'open';

-- create
CREATE INDEX IF NOT EXISTS "jobs_states10"
  ON "jobs" (
    (
      CASE
        WHEN "state" = 'broken' THEN 'broken'
        WHEN "state" = 'open'
        AND "attempts" >= 10 THEN 'no attempts left'
        END
    ),
      "id"
  )
  WHERE CASE
  WHEN "state" = 'broken' THEN 'broken'
  WHEN "state" = 'open'
  AND "attempts" >= 10 THEN 'no attempts left'
  END IS NOT NULL;

-- run: layout Layout { integer_id: true, fences: 1, claim_time: None, pool: 7, fields: ["payload"], joined:
--   [] }

-- run: claim 1, step 1: [Limit] -> Keys
SELECT CAST(t."id" AS INTEGER)
FROM "jobs" AS t
WHERE t."state" = 'open'
  AND CASE
    WHEN typeof(t."run_at") IN ('integer', 'real')
    OR t."run_at" NOT GLOB '*[^0-9]*' THEN CAST(t."run_at" AS INTEGER)
    ELSE CAST(round((julianday(t."run_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
  AND COALESCE(t."attempts", 0) < 10
ORDER BY CASE
  WHEN typeof(t."run_at") IN ('integer', 'real')
  OR t."run_at" NOT GLOB '*[^0-9]*' THEN CAST(t."run_at" AS INTEGER)
  ELSE CAST(round((julianday(t."run_at") - 2440587.5) * 86400000.0) AS INTEGER)
  END,
  t."id"
LIMIT ?1;

-- run: claim 1, step 2: [Held] -> Rows
UPDATE "jobs" AS t SET
  "run_at" = CASE
    WHEN COALESCE(t."run_at", t."created_at") GLOB '????-??-?? *'
      THEN strftime(
        '%Y-%m-%d %H:%M:%f',
          (
            CASE
              WHEN CASE
              WHEN typeof(t."run_at") IN ('integer', 'real')
              OR t."run_at" NOT GLOB '*[^0-9]*' THEN CAST(t."run_at" AS INTEGER)
              ELSE CAST(round((julianday(t."run_at") - 2440587.5) * 86400000.0) AS INTEGER)
              END
                BETWEEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 30000 - 1
                AND CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 30000 + 60000
                THEN CASE
              WHEN typeof(t."run_at") IN ('integer', 'real')
              OR t."run_at" NOT GLOB '*[^0-9]*' THEN CAST(t."run_at" AS INTEGER)
              ELSE CAST(round((julianday(t."run_at") - 2440587.5) * 86400000.0) AS INTEGER)
              END + 1
              ELSE CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 30000
              END
          )
            / 1000.0,
          'unixepoch'
      )
    WHEN COALESCE(t."run_at", t."created_at") GLOB '????-??-??T*'
      THEN strftime(
        '%Y-%m-%dT%H:%M:%fZ',
          (
            CASE
              WHEN CASE
              WHEN typeof(t."run_at") IN ('integer', 'real')
              OR t."run_at" NOT GLOB '*[^0-9]*' THEN CAST(t."run_at" AS INTEGER)
              ELSE CAST(round((julianday(t."run_at") - 2440587.5) * 86400000.0) AS INTEGER)
              END
                BETWEEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 30000 - 1
                AND CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 30000 + 60000
                THEN CASE
              WHEN typeof(t."run_at") IN ('integer', 'real')
              OR t."run_at" NOT GLOB '*[^0-9]*' THEN CAST(t."run_at" AS INTEGER)
              ELSE CAST(round((julianday(t."run_at") - 2440587.5) * 86400000.0) AS INTEGER)
              END + 1
              ELSE CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 30000
              END
          )
            / 1000.0,
          'unixepoch'
      )
    ELSE CASE
    WHEN CASE
    WHEN typeof(t."run_at") IN ('integer', 'real')
    OR t."run_at" NOT GLOB '*[^0-9]*' THEN CAST(t."run_at" AS INTEGER)
    ELSE CAST(round((julianday(t."run_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END
      BETWEEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 30000 - 1
      AND CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 30000 + 60000
      THEN CASE
    WHEN typeof(t."run_at") IN ('integer', 'real')
    OR t."run_at" NOT GLOB '*[^0-9]*' THEN CAST(t."run_at" AS INTEGER)
    ELSE CAST(round((julianday(t."run_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END + 1
    ELSE CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 30000
    END
    END,
  "attempts" = COALESCE(t."attempts", 0) + 1
WHERE t."id" IN (SELECT CAST(value AS INTEGER) FROM json_each(?1))
RETURNING
  CAST("id" AS INTEGER),
  CAST("run_at" AS TEXT),
  CAST(COALESCE("attempts", 0) AS INTEGER),
  NULL,
  NULL,
  NULL,
  NULL,
  NULL,
  NULL,
  CAST(
    (
      (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0) - CASE
        WHEN typeof("created_at") IN ('integer', 'real')
        OR "created_at" NOT GLOB '*[^0-9]*' THEN CAST("created_at" AS INTEGER)
        ELSE CAST(round((julianday("created_at") - 2440587.5) * 86400000.0) AS INTEGER)
        END
    )
      * 1000 AS INTEGER
  ),
  CAST(COALESCE(length(CAST("payload" AS BLOB)), 0) AS INTEGER),
  CASE WHEN length(CAST("payload" AS BLOB)) <= 65536 THEN "payload" END;

-- run: load: [Ids] -> Other
SELECT
  CAST(t."id" AS INTEGER),
  t."payload"
FROM "jobs" AS t
WHERE t."id" IN (SELECT CAST(value AS INTEGER) FROM json_each(?1));

-- run: settle delivered, uniform: [Ids, One(Fence(0))] -> Keys
UPDATE "jobs" AS t SET
  "state" = 'closed',
  "error" = NULL
WHERE t."id" IN (SELECT CAST(value AS INTEGER) FROM json_each(?1))
  AND +t."state" = 'open'
  AND CAST(t."run_at" AS TEXT) IS ?2
RETURNING CAST("id" AS INTEGER);

-- run: settle delivered, each: [Rows([Id, Fence(0)])] -> Keys
UPDATE "jobs" AS t SET
  "state" = 'closed',
  "error" = NULL
FROM (
  SELECT
    CAST(value->>'id' AS INTEGER) AS "id",
    CAST(value->>'f0' AS TEXT) AS "f0"
  FROM json_each(?1)
) AS v
WHERE t."id" = v."id"
  AND +t."state" = 'open'
  AND CAST(t."run_at" AS TEXT) IS v."f0"
RETURNING CAST("id" AS INTEGER);

-- run: settle retry, uniform: [One(Delay), One(Reason), Ids, One(Fence(0))] -> Keys
UPDATE "jobs" AS t SET
  "state" = 'open',
  "run_at" = CASE
    WHEN COALESCE(t."run_at", t."created_at") GLOB '????-??-?? *'
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
    WHEN COALESCE(t."run_at", t."created_at") GLOB '????-??-??T*'
      THEN strftime(
        '%Y-%m-%dT%H:%M:%fZ',
          (
            CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
              + CAST(round(?1 * 1000.0) AS INTEGER)
              + 0
          )
            / 1000.0,
          'unixepoch'
      )
    ELSE CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
      + CAST(round(?1 * 1000.0) AS INTEGER)
      + 0
    END,
  "error" = ?2
WHERE t."id" IN (SELECT CAST(value AS INTEGER) FROM json_each(?3))
  AND +t."state" = 'open'
  AND CAST(t."run_at" AS TEXT) IS ?4
RETURNING CAST("id" AS INTEGER);

-- run: settle retry, each: [Rows([Id, Fence(0), Delay, Reason])] -> Keys
UPDATE "jobs" AS t SET
  "state" = 'open',
  "run_at" = CASE
    WHEN COALESCE(t."run_at", t."created_at") GLOB '????-??-?? *'
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
    WHEN COALESCE(t."run_at", t."created_at") GLOB '????-??-??T*'
      THEN strftime(
        '%Y-%m-%dT%H:%M:%fZ',
          (
            CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
              + CAST(round(v."delay" * 1000.0) AS INTEGER)
              + 0
          )
            / 1000.0,
          'unixepoch'
      )
    ELSE CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
      + CAST(round(v."delay" * 1000.0) AS INTEGER)
      + 0
    END,
  "error" = v."reason"
FROM (
  SELECT
    CAST(value->>'id' AS INTEGER) AS "id",
    CAST(value->>'f0' AS TEXT) AS "f0",
    value->>'delay' AS "delay",
    value->>'reason' AS "reason"
  FROM json_each(?1)
) AS v
WHERE t."id" = v."id"
  AND +t."state" = 'open'
  AND CAST(t."run_at" AS TEXT) IS v."f0"
RETURNING CAST("id" AS INTEGER);

-- run: settle dead, uniform: [One(Reason), Ids, One(Fence(0))] -> Keys
UPDATE "jobs" AS t SET
  "state" = 'broken',
  "error" = ?1
WHERE t."id" IN (SELECT CAST(value AS INTEGER) FROM json_each(?2))
  AND +t."state" = 'open'
  AND CAST(t."run_at" AS TEXT) IS ?3
RETURNING CAST("id" AS INTEGER);

-- run: settle dead, each: [Rows([Id, Fence(0), Reason])] -> Keys
UPDATE "jobs" AS t SET
  "state" = 'broken',
  "error" = v."reason"
FROM (
  SELECT
    CAST(value->>'id' AS INTEGER) AS "id",
    CAST(value->>'f0' AS TEXT) AS "f0",
    value->>'reason' AS "reason"
  FROM json_each(?1)
) AS v
WHERE t."id" = v."id"
  AND +t."state" = 'open'
  AND CAST(t."run_at" AS TEXT) IS v."f0"
RETURNING CAST("id" AS INTEGER);

-- run: settle rejected, uniform: [One(Reason), Ids, One(Fence(0))] -> Keys
UPDATE "jobs" AS t SET
  "state" = 'broken',
  "error" = ?1
WHERE t."id" IN (SELECT CAST(value AS INTEGER) FROM json_each(?2))
  AND +t."state" = 'open'
  AND CAST(t."run_at" AS TEXT) IS ?3
RETURNING CAST("id" AS INTEGER);

-- run: settle rejected, each: [Rows([Id, Fence(0), Reason])] -> Keys
UPDATE "jobs" AS t SET
  "state" = 'broken',
  "error" = v."reason"
FROM (
  SELECT
    CAST(value->>'id' AS INTEGER) AS "id",
    CAST(value->>'f0' AS TEXT) AS "f0",
    value->>'reason' AS "reason"
  FROM json_each(?1)
) AS v
WHERE t."id" = v."id"
  AND +t."state" = 'open'
  AND CAST(t."run_at" AS TEXT) IS v."f0"
RETURNING CAST("id" AS INTEGER);

-- run: settle skipped, uniform: [One(Reason), Ids, One(Fence(0))] -> Keys
UPDATE "jobs" AS t SET
  "state" = 'broken',
  "error" = ?1
WHERE t."id" IN (SELECT CAST(value AS INTEGER) FROM json_each(?2))
  AND +t."state" = 'open'
  AND CAST(t."run_at" AS TEXT) IS ?3
RETURNING CAST("id" AS INTEGER);

-- run: settle skipped, each: [Rows([Id, Fence(0), Reason])] -> Keys
UPDATE "jobs" AS t SET
  "state" = 'broken',
  "error" = v."reason"
FROM (
  SELECT
    CAST(value->>'id' AS INTEGER) AS "id",
    CAST(value->>'f0' AS TEXT) AS "f0",
    value->>'reason' AS "reason"
  FROM json_each(?1)
) AS v
WHERE t."id" = v."id"
  AND +t."state" = 'open'
  AND CAST(t."run_at" AS TEXT) IS v."f0"
RETURNING CAST("id" AS INTEGER);

-- run: settle deferred, uniform: [One(Delay), Ids, One(Fence(0))] -> Keys
UPDATE "jobs" AS t SET
  "state" = 'open',
  "run_at" = CASE
    WHEN COALESCE(t."run_at", t."created_at") GLOB '????-??-?? *'
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
    WHEN COALESCE(t."run_at", t."created_at") GLOB '????-??-??T*'
      THEN strftime(
        '%Y-%m-%dT%H:%M:%fZ',
          (
            CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
              + CAST(round(?1 * 1000.0) AS INTEGER)
              + 0
          )
            / 1000.0,
          'unixepoch'
      )
    ELSE CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
      + CAST(round(?1 * 1000.0) AS INTEGER)
      + 0
    END,
  "attempts" = CASE WHEN t."attempts" > 0 THEN t."attempts" - 1 ELSE 0 END
WHERE t."id" IN (SELECT CAST(value AS INTEGER) FROM json_each(?2))
  AND +t."state" = 'open'
  AND CAST(t."run_at" AS TEXT) IS ?3
RETURNING CAST("id" AS INTEGER);

-- run: settle deferred, each: [Rows([Id, Fence(0), Delay])] -> Keys
UPDATE "jobs" AS t SET
  "state" = 'open',
  "run_at" = CASE
    WHEN COALESCE(t."run_at", t."created_at") GLOB '????-??-?? *'
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
    WHEN COALESCE(t."run_at", t."created_at") GLOB '????-??-??T*'
      THEN strftime(
        '%Y-%m-%dT%H:%M:%fZ',
          (
            CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
              + CAST(round(v."delay" * 1000.0) AS INTEGER)
              + 0
          )
            / 1000.0,
          'unixepoch'
      )
    ELSE CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
      + CAST(round(v."delay" * 1000.0) AS INTEGER)
      + 0
    END,
  "attempts" = CASE WHEN t."attempts" > 0 THEN t."attempts" - 1 ELSE 0 END
FROM (
  SELECT
    CAST(value->>'id' AS INTEGER) AS "id",
    CAST(value->>'f0' AS TEXT) AS "f0",
    value->>'delay' AS "delay"
  FROM json_each(?1)
) AS v
WHERE t."id" = v."id"
  AND +t."state" = 'open'
  AND CAST(t."run_at" AS TEXT) IS v."f0"
RETURNING CAST("id" AS INTEGER);

-- run: settle released, uniform: [Ids, One(Fence(0))] -> Keys
UPDATE "jobs" AS t SET
  "state" = 'open',
  "run_at" = CASE
    WHEN COALESCE(t."run_at", t."created_at") GLOB '????-??-?? *'
      THEN strftime(
        '%Y-%m-%d %H:%M:%f',
          (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0) / 1000.0,
          'unixepoch'
      )
    WHEN COALESCE(t."run_at", t."created_at") GLOB '????-??-??T*'
      THEN strftime(
        '%Y-%m-%dT%H:%M:%fZ',
          (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0) / 1000.0,
          'unixepoch'
      )
    ELSE CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    END,
  "attempts" = CASE WHEN t."attempts" > 0 THEN t."attempts" - 1 ELSE 0 END
WHERE t."id" IN (SELECT CAST(value AS INTEGER) FROM json_each(?1))
  AND +t."state" = 'open'
  AND CAST(t."run_at" AS TEXT) IS ?2
RETURNING CAST("id" AS INTEGER);

-- run: settle released, each: [Rows([Id, Fence(0)])] -> Keys
UPDATE "jobs" AS t SET
  "state" = 'open',
  "run_at" = CASE
    WHEN COALESCE(t."run_at", t."created_at") GLOB '????-??-?? *'
      THEN strftime(
        '%Y-%m-%d %H:%M:%f',
          (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0) / 1000.0,
          'unixepoch'
      )
    WHEN COALESCE(t."run_at", t."created_at") GLOB '????-??-??T*'
      THEN strftime(
        '%Y-%m-%dT%H:%M:%fZ',
          (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0) / 1000.0,
          'unixepoch'
      )
    ELSE CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    END,
  "attempts" = CASE WHEN t."attempts" > 0 THEN t."attempts" - 1 ELSE 0 END
FROM (
  SELECT
    CAST(value->>'id' AS INTEGER) AS "id",
    CAST(value->>'f0' AS TEXT) AS "f0"
  FROM json_each(?1)
) AS v
WHERE t."id" = v."id"
  AND +t."state" = 'open'
  AND CAST(t."run_at" AS TEXT) IS v."f0"
RETURNING CAST("id" AS INTEGER);

-- run: extend: [Rows([Id, Fence(0)])] -> Leases
UPDATE "jobs" AS t SET "run_at" = CASE
  WHEN COALESCE(t."run_at", t."created_at") GLOB '????-??-?? *'
    THEN strftime(
      '%Y-%m-%d %H:%M:%f',
        (
          CASE
            WHEN CASE
            WHEN typeof(t."run_at") IN ('integer', 'real')
            OR t."run_at" NOT GLOB '*[^0-9]*' THEN CAST(t."run_at" AS INTEGER)
            ELSE CAST(round((julianday(t."run_at") - 2440587.5) * 86400000.0) AS INTEGER)
            END
              BETWEEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 30000 - 1
              AND CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 30000 + 60000
              THEN CASE
            WHEN typeof(t."run_at") IN ('integer', 'real')
            OR t."run_at" NOT GLOB '*[^0-9]*' THEN CAST(t."run_at" AS INTEGER)
            ELSE CAST(round((julianday(t."run_at") - 2440587.5) * 86400000.0) AS INTEGER)
            END + 1
            ELSE CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 30000
            END
        )
          / 1000.0,
        'unixepoch'
    )
  WHEN COALESCE(t."run_at", t."created_at") GLOB '????-??-??T*'
    THEN strftime(
      '%Y-%m-%dT%H:%M:%fZ',
        (
          CASE
            WHEN CASE
            WHEN typeof(t."run_at") IN ('integer', 'real')
            OR t."run_at" NOT GLOB '*[^0-9]*' THEN CAST(t."run_at" AS INTEGER)
            ELSE CAST(round((julianday(t."run_at") - 2440587.5) * 86400000.0) AS INTEGER)
            END
              BETWEEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 30000 - 1
              AND CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 30000 + 60000
              THEN CASE
            WHEN typeof(t."run_at") IN ('integer', 'real')
            OR t."run_at" NOT GLOB '*[^0-9]*' THEN CAST(t."run_at" AS INTEGER)
            ELSE CAST(round((julianday(t."run_at") - 2440587.5) * 86400000.0) AS INTEGER)
            END + 1
            ELSE CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 30000
            END
        )
          / 1000.0,
        'unixepoch'
    )
  ELSE CASE
  WHEN CASE
  WHEN typeof(t."run_at") IN ('integer', 'real')
  OR t."run_at" NOT GLOB '*[^0-9]*' THEN CAST(t."run_at" AS INTEGER)
  ELSE CAST(round((julianday(t."run_at") - 2440587.5) * 86400000.0) AS INTEGER)
  END
    BETWEEN CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 30000 - 1
    AND CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 30000 + 60000
    THEN CASE
  WHEN typeof(t."run_at") IN ('integer', 'real')
  OR t."run_at" NOT GLOB '*[^0-9]*' THEN CAST(t."run_at" AS INTEGER)
  ELSE CAST(round((julianday(t."run_at") - 2440587.5) * 86400000.0) AS INTEGER)
  END + 1
  ELSE CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 30000
  END
  END
FROM (
  SELECT
    CAST(value->>'id' AS INTEGER) AS "id",
    CAST(value->>'f0' AS TEXT) AS "f0"
  FROM json_each(?1)
) AS v
WHERE t."id" = v."id"
  AND +t."state" = 'open'
  AND CAST(t."run_at" AS TEXT) IS v."f0"
RETURNING
  CAST("id" AS INTEGER),
  CAST("run_at" AS TEXT);

-- run: leases that still hold: [Rows([Id, Fence(0)])] -> Keys
SELECT CAST(t."id" AS INTEGER)
FROM (
  SELECT
    CAST(value->>'id' AS INTEGER) AS "id",
    CAST(value->>'f0' AS TEXT) AS "f0"
  FROM json_each(?1)
) AS v CROSS
  JOIN "jobs" AS t
WHERE t."id" = v."id"
  AND +t."state" = 'open'
  AND CAST(t."run_at" AS TEXT) IS v."f0";

-- run: spent: [Limit] -> Keys
UPDATE "jobs" AS t SET
  "error" = COALESCE(t."error", 'no attempts left'),
  "state" = 'broken'
WHERE t."id" IN (
SELECT t."id"
FROM "jobs" AS t
WHERE t."state" = 'open'
  AND CASE
    WHEN t."state" = 'broken' THEN 'broken'
    WHEN t."state" = 'open'
    AND COALESCE(t."attempts", 0) >= 10 THEN 'no attempts left'
    END = 'no attempts left'
  AND COALESCE(t."attempts", 0) >= 10
  AND CASE
    WHEN typeof(t."run_at") IN ('integer', 'real')
    OR t."run_at" NOT GLOB '*[^0-9]*' THEN CAST(t."run_at" AS INTEGER)
    ELSE CAST(round((julianday(t."run_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
LIMIT ?1)
RETURNING CAST("id" AS INTEGER);

-- run: look for unreadable run_at: [Limit] -> Keys
SELECT CAST(t."id" AS INTEGER)
FROM "jobs" AS t
WHERE t."state" = 'open'
  AND (
    t."run_at" IS NOT NULL
      AND CASE
      WHEN typeof(t."run_at") IN ('integer', 'real')
      OR t."run_at" NOT GLOB '*[^0-9]*' THEN CAST(t."run_at" AS INTEGER)
      ELSE CAST(round((julianday(t."run_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END IS NULL
  )
LIMIT ?1;

-- run: end unreadable run_at: [Ids] -> Keys
UPDATE "jobs" AS t SET
  "error" = 'run_at holds a time that can''t be read',
  "state" = 'broken'
WHERE t."id" IN (
SELECT t."id"
FROM "jobs" AS t
WHERE t."id" IN (SELECT CAST(value AS INTEGER) FROM json_each(?1))
  AND +t."state" = 'open'
  AND (
    t."run_at" IS NOT NULL
      AND CASE
      WHEN typeof(t."run_at") IN ('integer', 'real')
      OR t."run_at" NOT GLOB '*[^0-9]*' THEN CAST(t."run_at" AS INTEGER)
      ELSE CAST(round((julianday(t."run_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END IS NULL
  ))
RETURNING CAST("id" AS INTEGER);

-- run: next due: [] -> Other
SELECT CAST(
  0
    - (
      (
        (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0) - CASE
          WHEN typeof(t."run_at") IN ('integer', 'real')
          OR t."run_at" NOT GLOB '*[^0-9]*' THEN CAST(t."run_at" AS INTEGER)
          ELSE CAST(round((julianday(t."run_at") - 2440587.5) * 86400000.0) AS INTEGER)
          END
      )
        * 1000
    ) AS INTEGER
) AS w
FROM "jobs" AS t
WHERE t."state" = 'open'
  AND COALESCE(t."attempts", 0) < 10
  AND t."run_at" IS NOT NULL
ORDER BY CASE
  WHEN typeof(t."run_at") IN ('integer', 'real')
  OR t."run_at" NOT GLOB '*[^0-9]*' THEN CAST(t."run_at" AS INTEGER)
  ELSE CAST(round((julianday(t."run_at") - 2440587.5) * 86400000.0) AS INTEGER)
  END
LIMIT 1;

-- run: lag: [] -> Other
SELECT (
  SELECT (
    COALESCE(
      (
        (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0) - CASE
          WHEN typeof(t."run_at") IN ('integer', 'real')
          OR t."run_at" NOT GLOB '*[^0-9]*' THEN CAST(t."run_at" AS INTEGER)
          ELSE CAST(round((julianday(t."run_at") - 2440587.5) * 86400000.0) AS INTEGER)
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
    FROM "jobs" AS t
    WHERE t."state" = 'open'
    AND CASE
    WHEN typeof(t."run_at") IN ('integer', 'real')
    OR t."run_at" NOT GLOB '*[^0-9]*' THEN CAST(t."run_at" AS INTEGER)
    ELSE CAST(round((julianday(t."run_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END <= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    AND COALESCE(t."attempts", 0) < 10
    ORDER BY CASE
    WHEN typeof(t."run_at") IN ('integer', 'real')
    OR t."run_at" NOT GLOB '*[^0-9]*' THEN CAST(t."run_at" AS INTEGER)
    ELSE CAST(round((julianday(t."run_at") - 2440587.5) * 86400000.0) AS INTEGER)
    END
    LIMIT 1
),
  NULL;

-- run: census open: [] -> Other
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
                  t."state"
                FROM "jobs" AS t
                  WHERE t."state" = 'open'
                  ORDER BY CASE
                  WHEN typeof(t."run_at") IN ('integer', 'real')
                  OR t."run_at" NOT GLOB '*[^0-9]*' THEN CAST(t."run_at" AS INTEGER)
                  ELSE CAST(round((julianday(t."run_at") - 2440587.5) * 86400000.0) AS INTEGER)
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
                t."state"
              FROM "jobs" AS t
                WHERE t."state" = 'open'
                ORDER BY CASE
                WHEN typeof(t."run_at") IN ('integer', 'real')
                OR t."run_at" NOT GLOB '*[^0-9]*' THEN CAST(t."run_at" AS INTEGER)
                ELSE CAST(round((julianday(t."run_at") - 2440587.5) * 86400000.0) AS INTEGER)
                END,
                t."id" LIMIT 50000
            ) AS p
        ) AS t
    

WHERE t."state" = 'open' LIMIT 10001) AS counted) AS c;

-- run: census closed: [] -> Other
SELECT
  CAST(c.n AS INTEGER),
  CAST(
    CASE
      WHEN c.n <= 10000
      AND EXISTS (SELECT 1 FROM "jobs" AS t ORDER BY t."id" LIMIT 1 OFFSET 50000) THEN 1
      ELSE 0
      END AS INTEGER
  )
FROM (
  SELECT COUNT(*) AS n
    FROM (SELECT 1 AS one FROM (SELECT t."id", t."state" FROM "jobs" AS t ORDER BY t."id" LIMIT 50000) AS t

WHERE t."state" = 'closed' LIMIT 10001) AS counted) AS c;

-- run: census broken: [] -> Other
SELECT
  CAST(COUNT(*) AS INTEGER),
  0
FROM (
  SELECT 1 AS one
    FROM "jobs" AS t
    WHERE CASE
    WHEN t."state" = 'broken' THEN 'broken'
    WHEN t."state" = 'open'
    AND COALESCE(t."attempts", 0) >= 10 THEN 'no attempts left'
    END = 'broken'
    AND t."state" = 'broken'
    LIMIT 10001
) AS counted;

-- run: requeue ids broken: [Ids] -> Keys
UPDATE "jobs" AS t SET
  "state" = 'open',
  "run_at" = CASE
    WHEN COALESCE(t."run_at", t."created_at") GLOB '????-??-?? *'
      THEN strftime(
        '%Y-%m-%d %H:%M:%f',
          (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0) / 1000.0,
          'unixepoch'
      )
    WHEN COALESCE(t."run_at", t."created_at") GLOB '????-??-??T*'
      THEN strftime(
        '%Y-%m-%dT%H:%M:%fZ',
          (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0) / 1000.0,
          'unixepoch'
      )
    ELSE CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    END,
  "attempts" = 0,
  "error" = NULL
WHERE t."id" IN (
SELECT t."id"
FROM "jobs" AS t
WHERE t."id" IN (SELECT CAST(value AS INTEGER) FROM json_each(?1))
  AND +t."state" = 'broken')
RETURNING CAST("id" AS INTEGER);

-- run: requeue state broken: [Since, Limit] -> Keys
UPDATE "jobs" AS t SET
  "state" = 'open',
  "run_at" = CASE
    WHEN COALESCE(t."run_at", t."created_at") GLOB '????-??-?? *'
      THEN strftime(
        '%Y-%m-%d %H:%M:%f',
          (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0) / 1000.0,
          'unixepoch'
      )
    WHEN COALESCE(t."run_at", t."created_at") GLOB '????-??-??T*'
      THEN strftime(
        '%Y-%m-%dT%H:%M:%fZ',
          (CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0) / 1000.0,
          'unixepoch'
      )
    ELSE CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER) + 0
    END,
  "attempts" = 0,
  "error" = NULL
WHERE t."id" IN (
SELECT t."id"
FROM "jobs" AS t
WHERE t."state" = 'broken'
  AND CASE
    WHEN t."state" = 'broken' THEN 'broken'
    WHEN t."state" = 'open'
    AND COALESCE(t."attempts", 0) >= 10 THEN 'no attempts left'
    END = 'broken'
  AND (
    ?1 IS NULL
      OR CASE
      WHEN typeof(t."created_at") IN ('integer', 'real')
      OR t."created_at" NOT GLOB '*[^0-9]*' THEN CAST(t."created_at" AS INTEGER)
      ELSE CAST(round((julianday(t."created_at") - 2440587.5) * 86400000.0) AS INTEGER)
      END >= CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)
        + CAST(round((0 - ?1) * 1000.0) AS INTEGER)
        + 0
  )
LIMIT ?2)
RETURNING CAST("id" AS INTEGER);
