CREATE TABLE IF NOT EXISTS {table} (
    id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    deal_id VARCHAR(64),
    idempotency_key VARCHAR(255) UNIQUE,
    topic VARCHAR(249) NOT NULL,
    partition_key VARCHAR(255),
    payload LONGTEXT NOT NULL,
    traceparent VARCHAR(255),
    `status` VARCHAR(32) NOT NULL DEFAULT 'PENDING',
    retry_count INT NOT NULL DEFAULT 0,
    version BIGINT NOT NULL DEFAULT 0,
    created_at DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
    processed_at DATETIME(6),
    next_attempt_at DATETIME(6),
    claimed_at DATETIME(6),
    claimed_by VARCHAR(64),
    last_error LONGTEXT
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
