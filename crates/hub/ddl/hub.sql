CREATE TABLE IF NOT EXISTS dispatch_job_metadata (
    id {id} NOT NULL PRIMARY KEY,
    job_id {id} NOT NULL,
    {key} {short128} NOT NULL,
    {value} {name} NOT NULL,
    FOREIGN KEY (job_id) REFERENCES dispatch_jobs (id) ON DELETE CASCADE
){options};

CREATE INDEX {unless} dispatch_job_metadata_search ON dispatch_job_metadata ({key}, {value}, job_id);

CREATE INDEX {unless} dispatch_job_metadata_job ON dispatch_job_metadata (job_id);

{mysql only} CREATE INDEX dispatch_jobs_rare_status ON dispatch_jobs ({status}, id);

CREATE INDEX {unless} dispatch_jobs_of_client ON dispatch_jobs (client_id, id{newest}){where client_id};

CREATE INDEX {unless} dispatch_jobs_of_event ON dispatch_jobs (event_id, id{newest}){where event_id};

CREATE INDEX {unless} dispatch_jobs_of_subscription ON dispatch_jobs (subscription_id, id{newest}){where subscription_id};

CREATE UNIQUE INDEX {unless} dispatch_jobs_idempotency ON dispatch_jobs ({client}, idempotency_key){where idempotency_key};

CREATE TABLE IF NOT EXISTS service_accounts (
    id {id} NOT NULL PRIMARY KEY,
    {code} {name} NOT NULL,
    name {name} NOT NULL,
    description {text},
    client_ids {text} NOT NULL,
    allowed_hosts {text},
    application_id {short},
    active {flag} NOT NULL,
    auth_type {short},
    auth_token_ref {text},
    signing_secret_ref {text},
    signing_algorithm {short},
    previous_signing_secret_ref {text},
    previous_until {time},
    credentials_created_at {time},
    regenerated_at {time},
    roles {text} NOT NULL,
    last_used_at {time},
    created_at {stamp},
    updated_at {stamp}
){options};

CREATE UNIQUE INDEX {unless} service_accounts_code ON service_accounts ({code});

CREATE TABLE IF NOT EXISTS dispatch_events (
    id {id} NOT NULL PRIMARY KEY,
    event_id {name} NOT NULL,
    {source} {name} NOT NULL,
    {code} {name} NOT NULL,
    subject {name},
    client_id {short},
    correlation_id {name},
    data_content_type {name},
    data_schema {long},
    data {text},
    occurred_at {time},
    extensions {text} NOT NULL,
    created_by {id},
{client_key}    created_at {stamp}
){options};

CREATE UNIQUE INDEX {unless} dispatch_events_once ON dispatch_events ({client}, {source}, event_id);

CREATE INDEX {unless} dispatch_events_newest ON dispatch_events (created_at{newest}, id{newest});

CREATE INDEX {unless} dispatch_events_client ON dispatch_events (client_id, created_at, id){where client_id};

CREATE INDEX {unless} dispatch_events_code ON dispatch_events ({code}, created_at, id);

CREATE TABLE IF NOT EXISTS dispatch_subscriptions (
    id {id} NOT NULL PRIMARY KEY,
    {code} {short128} NOT NULL,
    name {name} NOT NULL,
    description {text},
    client_id {short},
    event_code {name} NOT NULL,
    source_prefix {name},
    filters {text} NOT NULL,
    target_url {long} NOT NULL,
    headers {text} NOT NULL,
    service_account_id {id},
    dispatch_pool_id {id},
    {mode} {short} NOT NULL,
    {sequence} {int} NOT NULL,
    data_only {flag} NOT NULL,
    timeout_seconds {int} NOT NULL,
    max_retries {int} NOT NULL,
    retry_strategy {name} NOT NULL,
    expires_after_seconds {int},
    honours_ack {flag} NOT NULL,
    active {flag} NOT NULL,
    paused {flag} NOT NULL,
    paused_reason {text},
{client_key}    created_at {stamp},
    updated_at {stamp}
){options};

CREATE UNIQUE INDEX {unless} dispatch_subscriptions_code ON dispatch_subscriptions ({client}, {code});

CREATE TABLE IF NOT EXISTS dispatch_pools (
    id {id} NOT NULL PRIMARY KEY,
    {code} {short128} NOT NULL,
    name {name} NOT NULL,
    description {text},
    client_id {short},
    concurrency {int},
    rate_per_minute {int},
    paused {flag} NOT NULL,
{client_key}    created_at {stamp},
    updated_at {stamp}
){options};

CREATE UNIQUE INDEX {unless} dispatch_pools_code ON dispatch_pools ({client}, {code});

CREATE TABLE IF NOT EXISTS dispatch_schemas (
    id {name} NOT NULL PRIMARY KEY,
    document {text} NOT NULL,
    created_at {stamp},
    updated_at {stamp}
){options};

CREATE TABLE IF NOT EXISTS postrider_api_keys (
    id {id} NOT NULL PRIMARY KEY,
    name {name} NOT NULL,
    prefix {short} NOT NULL,
    hash {short} NOT NULL,
    {role} {short} NOT NULL,
    client_ids {text} NOT NULL,
    first_admin {int},
    expires_at {time},
    revoked_at {time},
    last_used_at {time},
    created_by {id},
    created_at {stamp}
){options};

CREATE UNIQUE INDEX {unless} postrider_api_keys_prefix ON postrider_api_keys (prefix);

CREATE UNIQUE INDEX {unless} postrider_api_keys_first ON postrider_api_keys (first_admin);

CREATE TABLE IF NOT EXISTS postrider_sessions (
    id {id} NOT NULL PRIMARY KEY,
    hash {short} NOT NULL,
    key_id {id} NOT NULL,
    expires_at {time} NOT NULL,
    created_at {stamp}
){options};

CREATE UNIQUE INDEX {unless} postrider_sessions_hash ON postrider_sessions (hash);

CREATE TABLE IF NOT EXISTS postrider_audit (
    id {id} NOT NULL PRIMARY KEY,
    {at} {stamp},
    key_id {id},
    key_name {name},
    {role} {short},
    {action} {short} NOT NULL,
    entity {short} NOT NULL,
    entity_id {name} NOT NULL,
    client_id {short},
    detail {text}
){options};

CREATE INDEX {unless} postrider_audit_entity ON postrider_audit (entity, entity_id, id);

CREATE TABLE IF NOT EXISTS postrider_settings (
    name {short} NOT NULL PRIMARY KEY,
    {value} {text} NOT NULL
){options};

CREATE TABLE IF NOT EXISTS postrider_requests (
    id {short} NOT NULL PRIMARY KEY,
    fingerprint {short} NOT NULL,
    made {name} NOT NULL,
    created_at {stamp}
){options};

CREATE INDEX {unless} postrider_requests_created ON postrider_requests (created_at);
