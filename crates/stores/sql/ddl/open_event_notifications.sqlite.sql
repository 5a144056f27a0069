CREATE TABLE IF NOT EXISTS courses (
    course_id INTEGER PRIMARY KEY AUTOINCREMENT,
    title TEXT,
    course_string TEXT
);

CREATE TABLE IF NOT EXISTS sections (
    section_id INTEGER PRIMARY KEY AUTOINCREMENT,
    course_id INTEGER,
    section_number TEXT,
    subject_code TEXT,
    meeting_summary TEXT
);

CREATE TABLE IF NOT EXISTS open_events (
    open_event_id INTEGER PRIMARY KEY AUTOINCREMENT,
    section_id INTEGER,
    term_id TEXT NOT NULL,
    campus_code TEXT NOT NULL,
    index_number TEXT NOT NULL,
    status_before TEXT,
    status_after TEXT NOT NULL,
    event_at TEXT NOT NULL,
    detected_by TEXT,
    dedupe_key TEXT NOT NULL,
    trace_id TEXT,
    payload TEXT,
    created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
);

CREATE TABLE IF NOT EXISTS subscriptions (
    subscription_id INTEGER PRIMARY KEY AUTOINCREMENT,
    section_id INTEGER,
    "status" TEXT NOT NULL DEFAULT 'active',
    contact_type TEXT NOT NULL DEFAULT 'email',
    contact_value TEXT NOT NULL,
    contact_hash TEXT,
    "locale" TEXT,
    last_known_section_status TEXT,
    unsubscribe_token TEXT,
    metadata TEXT,
    created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
);

CREATE TABLE IF NOT EXISTS {table} (
    notification_id INTEGER PRIMARY KEY AUTOINCREMENT,
    open_event_id INTEGER NOT NULL,
    subscription_id INTEGER NOT NULL,
    dedupe_key TEXT NOT NULL,
    fanout_status TEXT NOT NULL DEFAULT 'pending',
    fanout_attempts INTEGER NOT NULL DEFAULT 0,
    last_attempt_at TEXT,
    locked_by TEXT,
    locked_at TEXT,
    "error" TEXT,
    created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    UNIQUE (open_event_id, subscription_id)
);

CREATE TABLE IF NOT EXISTS subscription_events (
    event_id INTEGER PRIMARY KEY AUTOINCREMENT,
    subscription_id INTEGER NOT NULL,
    event_type TEXT NOT NULL,
    section_status TEXT,
    created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
);

CREATE INDEX IF NOT EXISTS subscription_events_subscription ON subscription_events (subscription_id);
