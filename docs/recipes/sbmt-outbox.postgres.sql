CREATE TABLE outbox_items (
  id           bigserial PRIMARY KEY,
  uuid         uuid NOT NULL,
  event_name   varchar NOT NULL,
  event_key    varchar NOT NULL,
  bucket       integer NOT NULL,
  options      jsonb,
  payload      bytea NOT NULL,
  status       integer NOT NULL DEFAULT 0,
  errors_count integer NOT NULL DEFAULT 0,
  error_log    text,
  processed_at timestamp(6),
  created_at   timestamp(6) NOT NULL,
  updated_at   timestamp(6) NOT NULL
);
CREATE UNIQUE INDEX index_outbox_items_on_uuid ON outbox_items (uuid);
CREATE INDEX index_outbox_items_on_status_and_bucket ON outbox_items (status, bucket, errors_count);
CREATE INDEX index_outbox_items_on_event_name_and_event_key ON outbox_items (event_name, event_key);
