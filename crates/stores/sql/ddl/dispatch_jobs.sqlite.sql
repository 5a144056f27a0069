CREATE TABLE IF NOT EXISTS {table} (
    id TEXT NOT NULL PRIMARY KEY,
    external_id TEXT,
    "source" TEXT,
    kind TEXT NOT NULL DEFAULT 'TASK',
    "code" TEXT NOT NULL,
    subject TEXT,
    event_id TEXT,
    correlation_id TEXT,
    traceparent TEXT,
    target_url TEXT NOT NULL,
    protocol TEXT NOT NULL DEFAULT 'HTTP_WEBHOOK',
    headers TEXT,
    payload TEXT,
    payload_content_type TEXT NOT NULL DEFAULT 'application/json',
    data_only BOOLEAN NOT NULL DEFAULT 1,
    service_account_id TEXT,
    client_id TEXT,
    subscription_id TEXT,
    "mode" TEXT NOT NULL DEFAULT 'IMMEDIATE',
    dispatch_pool_id TEXT,
    message_group TEXT,
    "sequence" INTEGER NOT NULL DEFAULT 99,
    timeout_seconds INTEGER NOT NULL DEFAULT 30,
    schema_id TEXT,
    "status" TEXT NOT NULL DEFAULT 'QUEUED',
    max_retries INTEGER,
    retry_budget INTEGER,
    retry_strategy TEXT,
    scheduled_for TEXT,
    expires_at TEXT,
    next_attempt_at TEXT,
    queued_at TEXT,
    attempt_count INTEGER NOT NULL DEFAULT 0,
    last_attempt_at TEXT,
    completed_at TEXT,
    duration_millis INTEGER,
    last_error TEXT,
    idempotency_key TEXT,
    request_hash TEXT,
    created_by TEXT,
    created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    updated_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    claimed_by TEXT,
    lease_until TEXT,
    group_key TEXT GENERATED ALWAYS AS (CASE WHEN message_group IS NOT NULL THEN coalesce(client_id, '') || ':' || message_group END) STORED
);

CREATE UNIQUE INDEX IF NOT EXISTS dispatch_jobs_idempotency ON {table} (coalesce(client_id, ''), idempotency_key) WHERE idempotency_key IS NOT NULL;

CREATE TABLE IF NOT EXISTS dispatch_attempts (
    id TEXT NOT NULL PRIMARY KEY,
    job_id TEXT NOT NULL,
    attempt_number INTEGER NOT NULL,
    attempted_at TEXT,
    completed_at TEXT,
    duration_millis INTEGER,
    "status" TEXT,
    response_code INTEGER,
    response_body TEXT,
    error_message TEXT,
    error_stack_trace TEXT,
    error_type TEXT,
    created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    FOREIGN KEY (job_id) REFERENCES {table} (id) ON DELETE CASCADE
);

CREATE INDEX IF NOT EXISTS dispatch_attempts_job ON dispatch_attempts (job_id, attempt_number);

CREATE TABLE IF NOT EXISTS dispatch_job_metadata (
    id TEXT NOT NULL PRIMARY KEY,
    job_id TEXT NOT NULL,
    "key" TEXT NOT NULL,
    "value" TEXT NOT NULL,
    FOREIGN KEY (job_id) REFERENCES {table} (id) ON DELETE CASCADE
);

CREATE INDEX IF NOT EXISTS dispatch_job_metadata_search ON dispatch_job_metadata ("key", "value", job_id);

CREATE INDEX IF NOT EXISTS dispatch_job_metadata_job ON dispatch_job_metadata (job_id);
