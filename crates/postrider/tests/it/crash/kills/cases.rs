//! One case per contract, each on one store: settings with the contract's own limits, rows, and a slow target.

use std::any::Any;
use std::time::Duration;

use postrider_services::Proxy;

use super::{CONCURRENCY, ROWS};
use crate::crash::outbox::broker::{Broker, Protocol};
use crate::support::database::{Kind, fresh};
use crate::support::installation::Installation;
use crate::support::relay::Relay;
use crate::support::sql::Sql;
use crate::support::webhook_receiver::{Reply, WebhookReceiver};

pub struct Case {
    pub installation: Installation,
    pub sql: Sql,
    /// The key column.
    pub key: &'static str,
    pub counted: Counted,
    /// Number of kills that must have hit rows in flight.
    pub least_hits: u32,
    /// The target's servers, kept alive as long as the case.
    _target: Vec<Box<dyn Any>>,
}

/// The queries of the audit.
#[derive(Clone, Copy)]
pub struct Counted {
    pub table: &'static str,
    pub dead: &'static str,
    pub delivered: &'static str,
    pub attempts: &'static str,
}

const LEAST_HITS: u32 = 8;

/// Creates the database with its tables.
async fn open(kind: Kind, settings: impl Fn(&str) -> String) -> (Installation, Sql) {
    let installation = Installation::new();
    let (url, sql) = fresh(kind, "kills", &installation.sandbox).await;
    installation.write_settings(&format!("[stores.main]\nurl = \"{url}\"\n{}", settings(&url)));
    installation.sandbox.run(&["migrate"]).success();
    (installation, sql)
}

/// The settings of a lane: defaults, except the lease and what makes a run shorter.
fn lane(name: &str, contract: &str, lease: &str, more: &str) -> String {
    format!(
        "\n[lanes.{name}]\ncontract = \"{contract}\"\nconcurrency = {CONCURRENCY}\nbatch = 50\nheld = 50\n\
         poll = \"100ms\"\nsweep = \"200ms\"\nlease.for = \"{lease}\"\n{more}"
    )
}

fn relay() -> String {
    format!(
        "\n[transports.relay]\nurl = \"smtp://{}\"\nconnections = {CONCURRENCY}\n",
        Relay::shared().address
    )
}

async fn insert(sql: &Sql, into: &str, row: impl Fn(u32) -> String) {
    let rows: Vec<String> = (1..=ROWS).map(row).collect();
    sql.must(&format!("INSERT INTO {into} VALUES {}", rows.join(", "))).await;
}

pub async fn mail_outbox() -> Case {
    let (installation, sql) = open(Kind::MariaDb, |_| relay() + &lane("mail", "mail_outbox", "1s", "")).await;
    let now = sql.now();
    insert(&sql, "mail_outbox (from_address, to_addresses, subject, body_text, next_attempt_at)", |number| {
        format!("('app@example.org', 'slow-1-{number}@example.net', 'Kill {number}', 'Text.', {now})")
    })
    .await;
    let counted = Counted {
        table: "mail_outbox",
        dead: "status = 'failed'",
        delivered: "status = 'sent'",
        attempts: "retry_count",
    };
    Case { installation, sql, key: "id", counted, least_hits: LEAST_HITS, _target: Vec::new() }
}

/// Records of five keys. The broker's acknowledgements take a second.
pub async fn outbox() -> Case {
    let broker = Broker::start(Protocol::Nats);
    let url = broker.url();
    let address = url.trim_start_matches("nats://").split('/').next().unwrap_or_default();
    let proxy = Proxy::start(address.parse().expect("an address")).expect("the proxy starts");
    proxy.delay(Duration::from_millis(300));
    let far = url.replace(address, &proxy.address().to_string());
    let (installation, sql) = open(Kind::Postgres, |_| {
        format!("\n[transports.broker]\nurl = \"{far}\"\n") + &lane("outbox", "outbox", "2s", "")
    })
    .await;
    let (now, topic) = (sql.now(), broker.topic());
    insert(&sql, "outbox (idempotency_key, topic, partition_key, payload, created_at)", |number| {
        format!("('event-{number}', '{topic}', 'deal-{}', '{{}}', {now})", number % 5)
    })
    .await;
    let counted = Counted {
        table: "outbox",
        dead: "status = 'FAILED'",
        delivered: "status = 'DELIVERED'",
        attempts: "retry_count",
    };
    let target: Vec<Box<dyn Any>> = vec![Box::new(proxy), Box::new(broker)];
    Case { installation, sql, key: "id", counted, least_hits: LEAST_HITS, _target: target }
}

pub async fn dispatch_jobs() -> Case {
    let receiver = WebhookReceiver::start(|_, _| Reply::status(200).after(Duration::from_secs(1))).await;
    let (installation, sql) = open(Kind::Sqlite, |_| {
        "\n[transports.hooks]\nurl = \"webhook://\"\nallow = \"127.0.0.0/8\"\n".to_owned()
            + &lane("jobs", "dispatch_jobs", "1s", "timeout = \"10s\"\n")
    })
    .await;
    let url = receiver.url("hook");
    let columns = "id, code, target_url, payload, client_id, message_group, mode, sequence";
    insert(&sql, &format!("dispatch_jobs ({columns})"), |number| {
        let (group, mode) =
            if number % 2 == 0 { ("'orders'", "BLOCK_ON_ERROR") } else { ("NULL", "IMMEDIATE") };
        format!("('K{number:012}', 'shop:orders:order:created', '{url}', '{{}}', 'shop', {group}, '{mode}', {number})")
    })
    .await;
    let counted = Counted {
        table: "dispatch_jobs",
        dead: "status = 'ERROR' AND next_attempt_at IS NULL",
        delivered: "status = 'COMPLETED'",
        attempts: "attempt_count",
    };
    Case { installation, sql, key: "id", counted, least_hits: LEAST_HITS, _target: vec![Box::new(receiver)] }
}

/// A lock of 30 s is the shortest that the schema allows, so few kills hit rows that no dead worker holds.
pub async fn notifications() -> Case {
    let mail = r#"
[mail]
from = "Seats <seats@example.org>"
manage_url = "https://seats.example.org/s/{subscription_id}"
unsubscribe_url = "https://seats.example.org/u?t={token}"
"#;
    let (installation, sql) =
        open(Kind::Sqlite, |_| relay() + mail + &lane("notify", "open_event_notifications", "30s", "")).await;
    sql.must("INSERT INTO courses (course_id, title, course_string) VALUES (1, 'Algorithms', '01:198:344')")
        .await;
    sql.must("INSERT INTO sections (section_id, course_id, section_number, meeting_summary) VALUES (1, 1, '03', 'Mon')")
        .await;
    sql.must(
        "INSERT INTO open_events (open_event_id, section_id, term_id, campus_code, index_number, status_before, \
         status_after, event_at, detected_by, dedupe_key, trace_id, payload) VALUES (1, 1, '2026F', 'NB', '07214', \
         'Closed', 'Open', datetime('now'), 'poller', 'key-1', 'trace-1', '{\"courseTitle\": \"Algorithms\"}')",
    )
    .await;
    insert(&sql, "subscriptions (subscription_id, section_id, contact_value, unsubscribe_token)", |number| {
        format!("({number}, 1, 'slow-1-{number}@example.net', 't{number}')")
    })
    .await;
    insert(&sql, "open_event_notifications (open_event_id, subscription_id, dedupe_key)", |number| {
        format!("(1, {number}, 'key-1')")
    })
    .await;
    let counted = Counted {
        table: "open_event_notifications",
        dead: "fanout_status = 'failed'",
        delivered: "fanout_status = 'sent'",
        attempts: "fanout_attempts",
    };
    Case { installation, sql, key: "notification_id", counted, least_hits: 2, _target: Vec::new() }
}

pub async fn emails() -> Case {
    let (installation, sql) = open(Kind::MariaDb, |_| email_lanes("1s")).await;
    let payloads = payloads(&installation);
    insert(&sql, "emails (id, status, payload_file_path)", |number| {
        let (id, path) = &payloads[number as usize - 1];
        format!("('{id}', 'ACCEPTED', '{path}')")
    })
    .await;
    let counted = Counted {
        table: "emails",
        dead: "status IN ('INVALID', 'FAILED')",
        delivered: "status = 'SENT'",
        attempts: "COALESCE(attempts, 0)",
    };
    Case { installation, sql, key: "id", counted, least_hits: LEAST_HITS, _target: Vec::new() }
}

/// The stages up to SENT; callbacks would only take longer.
pub fn email_lanes(lease: &str) -> String {
    let stage = |name: &str| {
        let transport = if name == "send" { "transport = \"relay\"\n" } else { "" };
        let files = format!("[lanes.{name}.emails]\nbase = \"mnt\"\n");
        lane(name, "emails", lease, &format!("stage = \"{name}\"\n{transport}{files}"))
    };
    relay() + &stage("intake") + &stage("send")
}

/// Writes the payloads; returns id and file of each e-mail.
pub fn payloads(installation: &Installation) -> Vec<(String, String)> {
    let folder = installation.sandbox.path("mnt").join("payloads");
    std::fs::create_dir_all(&folder).expect("a folder");
    let write = |number: u32| {
        let id = format!("kill-{number}");
        let payload = serde_json::json!({
            "id": id, "from": "app@example.org", "to": format!("slow-1-{number}@example.net"),
            "subject": format!("Kill {number}"), "body_text": "Text.",
        });
        let path = folder.join(format!("{id}.json"));
        std::fs::write(&path, payload.to_string()).expect("a payload");
        (id, path.display().to_string())
    };
    (1..=ROWS).map(write).collect()
}
