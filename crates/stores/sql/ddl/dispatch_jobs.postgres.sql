CREATE TABLE IF NOT EXISTS {table} (
    id varchar(13) NOT NULL PRIMARY KEY,
    external_id varchar(255),
    "source" varchar(255),
    kind varchar(16) NOT NULL DEFAULT 'TASK',
    "code" varchar(255) NOT NULL,
    subject varchar(255),
    event_id varchar(64),
    correlation_id varchar(255),
    traceparent varchar(255),
    target_url varchar(2000) NOT NULL,
    protocol varchar(32) NOT NULL DEFAULT 'HTTP_WEBHOOK',
    headers text,
    payload text,
    payload_content_type varchar(255) NOT NULL DEFAULT 'application/json',
    data_only boolean NOT NULL DEFAULT true,
    service_account_id varchar(13),
    client_id varchar(64),
    subscription_id varchar(13),
    "mode" varchar(32) NOT NULL DEFAULT 'IMMEDIATE',
    dispatch_pool_id varchar(64),
    message_group varchar(255),
    "sequence" integer NOT NULL DEFAULT 99,
    timeout_seconds integer NOT NULL DEFAULT 30,
    schema_id varchar(255),
    "status" varchar(16) NOT NULL DEFAULT 'QUEUED',
    max_retries integer,
    retry_budget integer,
    retry_strategy varchar(255),
    scheduled_for timestamptz,
    expires_at timestamptz,
    next_attempt_at timestamptz,
    queued_at timestamptz,
    attempt_count integer NOT NULL DEFAULT 0,
    last_attempt_at timestamptz,
    completed_at timestamptz,
    duration_millis bigint,
    last_error text,
    idempotency_key varchar(255),
    request_hash varchar(64),
    created_by varchar(13),
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    claimed_by varchar(64),
    lease_until timestamptz,
    group_key text GENERATED ALWAYS AS (CASE WHEN message_group IS NOT NULL THEN coalesce(client_id, '') || ':' || message_group END) STORED
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.05);

CREATE UNIQUE INDEX IF NOT EXISTS dispatch_jobs_idempotency ON {table} (coalesce(client_id, ''), idempotency_key) WHERE idempotency_key IS NOT NULL;

CREATE TABLE IF NOT EXISTS dispatch_attempts (
    id varchar(13) NOT NULL PRIMARY KEY,
    job_id varchar(13) NOT NULL,
    attempt_number integer NOT NULL,
    attempted_at timestamptz,
    completed_at timestamptz,
    duration_millis bigint,
    "status" varchar(32),
    response_code integer,
    response_body text,
    error_message text,
    error_stack_trace text,
    error_type varchar(16),
    created_at timestamptz NOT NULL DEFAULT now(),
    FOREIGN KEY (job_id) REFERENCES {table} (id) ON DELETE CASCADE
);

CREATE INDEX IF NOT EXISTS dispatch_attempts_job ON dispatch_attempts (job_id, attempt_number);

CREATE TABLE IF NOT EXISTS dispatch_job_metadata (
    id varchar(13) NOT NULL PRIMARY KEY,
    job_id varchar(13) NOT NULL,
    "key" varchar(128) NOT NULL,
    "value" varchar(255) NOT NULL,
    FOREIGN KEY (job_id) REFERENCES {table} (id) ON DELETE CASCADE
);

CREATE INDEX IF NOT EXISTS dispatch_job_metadata_search ON dispatch_job_metadata ("key", "value", job_id);

CREATE INDEX IF NOT EXISTS dispatch_job_metadata_job ON dispatch_job_metadata (job_id);
