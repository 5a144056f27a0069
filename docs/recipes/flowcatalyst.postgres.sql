CREATE TABLE outbox_messages (
  id            VARCHAR(13) PRIMARY KEY,
  type          VARCHAR(20) NOT NULL,
  message_group VARCHAR(255),
  payload       TEXT NOT NULL,
  status        SMALLINT NOT NULL DEFAULT 0,
  retry_count   SMALLINT NOT NULL DEFAULT 0,
  created_at    TIMESTAMPTZ NOT NULL DEFAULT now(),
  updated_at    TIMESTAMPTZ NOT NULL DEFAULT now(),
  error_message TEXT,
  client_id     VARCHAR(26),
  payload_size  INTEGER,
  headers       JSONB
);
CREATE INDEX idx_outbox_messages_pending ON outbox_messages (status, message_group, created_at);
