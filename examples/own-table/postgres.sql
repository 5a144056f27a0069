CREATE TABLE "order" (
  "orderId"   uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  "state"     smallint NOT NULL DEFAULT 0,
  "tryCount"  integer,
  "notBefore" timestamptz,
  "takenAt"   timestamptz,
  "lastError" text,
  "createdAt" timestamptz NOT NULL DEFAULT now(),
  "to"        text NOT NULL,
  "from"      text NOT NULL,
  "select"    text NOT NULL,
  "body"      text NOT NULL,
  "amount"    numeric(12, 2)
);
