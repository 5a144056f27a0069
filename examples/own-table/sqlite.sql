CREATE TABLE "order" (
  "orderId"   TEXT PRIMARY KEY,
  "state"     INTEGER NOT NULL DEFAULT 0,
  "tryCount"  INTEGER,
  "notBefore" TEXT,
  "takenAt"   TEXT,
  "lastError" TEXT,
  "createdAt" TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP,
  "to"        TEXT NOT NULL,
  "from"      TEXT NOT NULL,
  "select"    TEXT NOT NULL,
  "body"      TEXT NOT NULL,
  "amount"    NUMERIC
);
