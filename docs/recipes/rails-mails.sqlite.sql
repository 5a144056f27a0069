CREATE TABLE "outbound_mails" (
  "id"           integer PRIMARY KEY AUTOINCREMENT NOT NULL,
  "mail_to"      varchar NOT NULL,
  "mail_from"    varchar,
  "reply_to"     varchar,
  "subject"      varchar NOT NULL,
  "body_text"    text,
  "body_html"    text,
  "status"       integer DEFAULT 0 NOT NULL,
  "attempts"     integer DEFAULT 0 NOT NULL,
  "last_error"   text,
  "send_at"      datetime(6),
  "locked_at"    datetime(6),
  "locked_by"    varchar,
  "sent_at"      datetime(6),
  "lock_version" integer DEFAULT 0 NOT NULL,
  "created_at"   datetime(6) NOT NULL,
  "updated_at"   datetime(6) NOT NULL
);
CREATE INDEX "index_outbound_mails_on_status_and_send_at" ON "outbound_mails" ("status", "send_at");
