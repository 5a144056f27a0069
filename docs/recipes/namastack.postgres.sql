CREATE TABLE outbox_record (
  id                VARCHAR(255)             NOT NULL PRIMARY KEY,
  status            VARCHAR(20)              NOT NULL,
  record_key        VARCHAR(255)             NOT NULL,
  record_type       VARCHAR(255)             NOT NULL,
  payload           TEXT                     NOT NULL,
  context           TEXT,
  created_at        TIMESTAMP WITH TIME ZONE NOT NULL,
  completed_at      TIMESTAMP WITH TIME ZONE,
  failure_count     INT                      NOT NULL,
  failure_reason    VARCHAR(1000),
  next_retry_at     TIMESTAMP WITH TIME ZONE NOT NULL,
  partition_no      INTEGER                  NOT NULL,
  handler_id        VARCHAR(1000)            NOT NULL
);
CREATE INDEX idx_outbox_record_key_created ON outbox_record (record_key, created_at);
CREATE INDEX idx_outbox_partition_status_retry ON outbox_record (partition_no, status, next_retry_at);
