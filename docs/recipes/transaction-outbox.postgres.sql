CREATE TABLE TXNO_OUTBOX (
  id              VARCHAR(36) PRIMARY KEY,
  invocation      TEXT,
  nextAttemptTime TIMESTAMP(6),
  attempts        INT,
  blocked         BOOLEAN,
  version         INT,
  uniqueRequestId VARCHAR(250) NULL UNIQUE,
  processed       BOOLEAN,
  lastAttemptTime TIMESTAMP(6) NULL,
  topic           VARCHAR(250) NOT NULL DEFAULT '*',
  seq             BIGINT NULL
);
CREATE INDEX IX_TXNO_OUTBOX_1 ON TXNO_OUTBOX (processed, blocked, nextAttemptTime);
