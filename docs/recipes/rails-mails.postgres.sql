CREATE TABLE outbound_mails (
  id           bigserial PRIMARY KEY,
  mail_to      varchar NOT NULL,
  mail_from    varchar,
  reply_to     varchar,
  subject      varchar NOT NULL,
  body_text    text,
  body_html    text,
  status       integer NOT NULL DEFAULT 0,
  attempts     integer NOT NULL DEFAULT 0,
  last_error   text,
  send_at      timestamp(6),
  locked_at    timestamp(6),
  locked_by    varchar,
  sent_at      timestamp(6),
  lock_version integer NOT NULL DEFAULT 0,
  created_at   timestamp(6) NOT NULL,
  updated_at   timestamp(6) NOT NULL
);
CREATE INDEX index_outbound_mails_on_status_and_send_at ON outbound_mails (status, send_at);
