CREATE TABLE IF NOT EXISTS {table} (
    id TEXT NOT NULL PRIMARY KEY,
    "status" TEXT NOT NULL,
    eml_file_path TEXT,
    payload_file_path TEXT,
    reason TEXT,
    version INTEGER NOT NULL DEFAULT 1,
    created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    updated_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    attempts INTEGER,
    next_attempt_at TEXT,
    claimed_by TEXT,
    CHECK (status IN ('ACCEPTED', 'INTAKING', 'READY', 'PROCESSING', 'SENT', 'FAILED', 'INVALID', 'CALLING-SENT-CALLBACK', 'CALLING-FAILED-CALLBACK', 'SENT-ACKNOWLEDGED', 'FAILED-ACKNOWLEDGED'))
);

CREATE TABLE IF NOT EXISTS email_statuses (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    email_id TEXT NOT NULL,
    "status" TEXT NOT NULL,
    reason TEXT,
    created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    FOREIGN KEY (email_id) REFERENCES {table} (id) ON DELETE CASCADE
);

CREATE INDEX IF NOT EXISTS idx_email_id ON email_statuses (email_id);
