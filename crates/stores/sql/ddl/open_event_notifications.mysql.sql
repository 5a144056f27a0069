CREATE TABLE IF NOT EXISTS courses (
    course_id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    title VARCHAR(255),
    course_string VARCHAR(64)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

CREATE TABLE IF NOT EXISTS sections (
    section_id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    course_id BIGINT,
    section_number VARCHAR(16),
    subject_code VARCHAR(16),
    meeting_summary LONGTEXT
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

CREATE TABLE IF NOT EXISTS open_events (
    open_event_id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    section_id BIGINT,
    term_id VARCHAR(32) NOT NULL,
    campus_code VARCHAR(32) NOT NULL,
    index_number VARCHAR(32) NOT NULL,
    status_before VARCHAR(32),
    status_after VARCHAR(32) NOT NULL,
    event_at DATETIME(6) NOT NULL,
    detected_by VARCHAR(128),
    dedupe_key VARCHAR(255) NOT NULL,
    trace_id VARCHAR(64),
    payload LONGTEXT,
    created_at DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

CREATE TABLE IF NOT EXISTS subscriptions (
    subscription_id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    section_id BIGINT,
    `status` VARCHAR(16) NOT NULL DEFAULT 'active',
    contact_type VARCHAR(16) NOT NULL DEFAULT 'email',
    contact_value VARCHAR(320) NOT NULL,
    contact_hash VARCHAR(128),
    `locale` VARCHAR(35),
    last_known_section_status VARCHAR(32),
    unsubscribe_token VARCHAR(128),
    metadata LONGTEXT,
    created_at DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

CREATE TABLE IF NOT EXISTS {table} (
    notification_id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    open_event_id BIGINT NOT NULL,
    subscription_id BIGINT NOT NULL,
    dedupe_key VARCHAR(255) NOT NULL,
    fanout_status VARCHAR(16) NOT NULL DEFAULT 'pending',
    fanout_attempts INT NOT NULL DEFAULT 0,
    last_attempt_at DATETIME(6),
    locked_by VARCHAR(64),
    locked_at DATETIME(6),
    `error` LONGTEXT,
    created_at DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
    UNIQUE (open_event_id, subscription_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

CREATE TABLE IF NOT EXISTS subscription_events (
    event_id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    subscription_id BIGINT NOT NULL,
    event_type VARCHAR(64) NOT NULL,
    section_status VARCHAR(32),
    created_at DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;

CREATE INDEX subscription_events_subscription ON subscription_events (subscription_id);
