CREATE TABLE IF NOT EXISTS {table} (
    id VARCHAR(13) NOT NULL PRIMARY KEY,
    external_id VARCHAR(255),
    `source` VARCHAR(255),
    kind VARCHAR(16) NOT NULL DEFAULT 'TASK',
    `code` VARCHAR(255) NOT NULL,
    subject VARCHAR(255),
    event_id VARCHAR(64),
    correlation_id VARCHAR(255),
    traceparent VARCHAR(255),
    target_url VARCHAR(2000) NOT NULL,
    protocol VARCHAR(32) NOT NULL DEFAULT 'HTTP_WEBHOOK',
    headers LONGTEXT,
    payload LONGTEXT,
    payload_content_type VARCHAR(255) NOT NULL DEFAULT 'application/json',
    data_only BOOLEAN NOT NULL DEFAULT true,
    service_account_id VARCHAR(13),
    client_id VARCHAR(64),
    subscription_id VARCHAR(13),
    `mode` VARCHAR(32) NOT NULL DEFAULT 'IMMEDIATE',
    dispatch_pool_id VARCHAR(64),
    message_group VARCHAR(255),
    `sequence` INT NOT NULL DEFAULT 99,
    timeout_seconds INT NOT NULL DEFAULT 30,
    schema_id VARCHAR(255),
    `status` VARCHAR(16) NOT NULL DEFAULT 'QUEUED',
    max_retries INT,
    retry_budget INT,
    retry_strategy VARCHAR(255),
    scheduled_for DATETIME(6),
    expires_at DATETIME(6),
    next_attempt_at DATETIME(6),
    queued_at DATETIME(6),
    attempt_count INT NOT NULL DEFAULT 0,
    last_attempt_at DATETIME(6),
    completed_at DATETIME(6),
    duration_millis BIGINT,
    last_error LONGTEXT,
    idempotency_key VARCHAR(255),
    request_hash VARCHAR(64),
    created_by VARCHAR(13),
    created_at DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
    updated_at DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
    client_key VARCHAR(64) GENERATED ALWAYS AS (COALESCE(client_id, '')) VIRTUAL,
    claimed_by VARCHAR(64),
    lease_until DATETIME(6),
    group_key VARCHAR(350) GENERATED ALWAYS AS (CASE WHEN message_group IS NOT NULL THEN CONCAT(COALESCE(client_id, ''), ':', message_group) END) STORED
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE UNIQUE INDEX dispatch_jobs_idempotency ON {table} (client_key, idempotency_key);

CREATE TABLE IF NOT EXISTS dispatch_attempts (
    id VARCHAR(13) NOT NULL PRIMARY KEY,
    job_id VARCHAR(13) NOT NULL,
    attempt_number INT NOT NULL,
    attempted_at DATETIME(6),
    completed_at DATETIME(6),
    duration_millis BIGINT,
    `status` VARCHAR(32),
    response_code INT,
    response_body LONGTEXT,
    error_message LONGTEXT,
    error_stack_trace LONGTEXT,
    error_type VARCHAR(16),
    created_at DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
    FOREIGN KEY (job_id) REFERENCES {table} (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE INDEX dispatch_attempts_job ON dispatch_attempts (job_id, attempt_number);

CREATE TABLE IF NOT EXISTS dispatch_job_metadata (
    id VARCHAR(13) NOT NULL PRIMARY KEY,
    job_id VARCHAR(13) NOT NULL,
    `key` VARCHAR(128) NOT NULL,
    `value` VARCHAR(255) NOT NULL,
    FOREIGN KEY (job_id) REFERENCES {table} (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE INDEX dispatch_job_metadata_search ON dispatch_job_metadata (`key`, `value`, job_id);

CREATE INDEX dispatch_job_metadata_job ON dispatch_job_metadata (job_id);
