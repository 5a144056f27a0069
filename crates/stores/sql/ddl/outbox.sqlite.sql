CREATE TABLE IF NOT EXISTS {table} (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    deal_id TEXT,
    idempotency_key TEXT UNIQUE,
    topic TEXT NOT NULL,
    partition_key TEXT,
    payload TEXT NOT NULL,
    traceparent TEXT,
    "status" TEXT NOT NULL DEFAULT 'PENDING',
    retry_count INTEGER NOT NULL DEFAULT 0,
    version INTEGER NOT NULL DEFAULT 0,
    created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    processed_at TEXT,
    next_attempt_at TEXT,
    claimed_at TEXT,
    claimed_by TEXT,
    last_error TEXT
);
