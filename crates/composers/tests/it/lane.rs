//! A notification lane in memory: the real contract, composer and engine, a scripted sender, and a paused clock that
//! advances only when every task waits.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use postrider_composers::mail_job::{Policy, Settings, UrlPattern, Zone};
use postrider_composers::{MailJobComposer, email};
use postrider_contract::{Contract, Layer};
use postrider_engine::{Engine, Lane, Limits};
use postrider_mail::LiveTemplates;
use postrider_mail::address::parse_mailbox;
use postrider_seams::{Content, Dice, Envelope, Outcome, RowId, Transport, Value, transport};
use postrider_store_memory::{MemoryStore, MemoryTable, Row};
use tokio::time::Instant;

/// The joined columns are in the row itself: the memory store has one table.
const JOINED: &str = r#"
[message.event]
term_id = "term_id"
campus_code = "campus_code"
index_number = "index_number"
status_after = "status_after"
event_at = "event_at"
payload = "payload"

[message.subscription]
status = "subscription_status"
contact_type = "contact_type"
contact_value = "contact_value"
locale = "locale"
metadata = "metadata"
"#;

/// The sender's reply to the next mail.
#[derive(Debug, Clone)]
pub enum Reply {
    Says(Outcome),
    Throws,
}

#[derive(Debug)]
pub struct Script {
    replies: Mutex<VecDeque<Reply>>,
    started: Instant,
    pub calls: Mutex<Vec<Duration>>,
    /// The provider's idempotency key and the Message-ID of each call.
    pub keys: Mutex<Vec<[String; 2]>>,
}

#[async_trait]
impl Transport for Script {
    fn capabilities(&self) -> transport::Capabilities {
        transport::Capabilities::new(1, 1)
    }

    async fn deliver(&self, batch: &[Envelope], _deadline: Instant) -> Vec<Outcome> {
        assert_eq!(batch.len(), 1, "one mail a call");
        let Content::Mail(mail) = &batch[0].content else { panic!("a mail") };
        self.keys.lock().unwrap().push([batch[0].dedupe.clone(), mail.message_id.clone()]);
        self.calls.lock().unwrap().push(self.started.elapsed());
        let reply = self.replies.lock().unwrap().pop_front();
        match reply.expect("the script foresees every call") {
            Reply::Says(outcome) => vec![outcome],
            Reply::Throws => panic!("a sender that throws"),
        }
    }

    async fn probe(&self) -> Result<(), transport::Error> {
        Ok(())
    }
}

struct Even;

impl Dice for Even {
    fn roll(&self) -> f64 {
        0.0
    }
}

pub struct Running {
    pub table: Arc<MemoryTable>,
    pub script: Arc<Script>,
    pub store: Arc<MemoryStore>,
    engine: Engine,
    _templates: tempfile::TempDir,
}

pub fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

/// A valid row.
fn row(now: i64) -> Row {
    let payload = r#"{"courseTitle":"A","courseString":"B","sectionNumber":"1","meetingSummary":"Mon"}"#;
    [
        ("notification_id", Value::Int(1)),
        ("open_event_id", Value::Int(2)),
        ("subscription_id", Value::Int(3)),
        ("dedupe_key", text("key")),
        ("fanout_status", text("pending")),
        ("fanout_attempts", Value::Int(0)),
        ("created_at", Value::Int(now)),
        ("term_id", text("2026F")),
        ("campus_code", text("NB")),
        ("index_number", text("07214")),
        ("status_after", text("Open")),
        ("event_at", text("2026-01-01T00:00:00Z")),
        ("payload", text(payload)),
        ("subscription_status", text("active")),
        ("contact_type", text("email")),
        ("contact_value", text("ann@example.net")),
    ]
    .into_iter()
    .map(|(column, value)| (column.to_owned(), value))
    .collect()
}

/// Starts a lane with one row that has these changes, and with these overrides of its contract.
pub fn start(changes: &[(&str, Value)], over: &str, replies: Vec<Reply>) -> Running {
    let layers = [JOINED, over].map(|text| Layer::new("test", "", toml::from_str(text).expect("TOML")));
    let file = Contract::builtin("open_event_notifications").expect("a built-in");
    let contract =
        Contract::parse_with("c.toml", file, &layers).unwrap_or_else(|problems| panic!("{problems}"));
    let table = MemoryTable::new(contract.clone());
    let mut first = row(table.now());
    first.extend(changes.iter().map(|(column, value)| ((*column).to_owned(), value.clone())));
    table.insert(first);
    let store = MemoryStore::open(&table, 0, "worker");
    let script = Arc::new(Script {
        replies: Mutex::new(replies.into()),
        started: Instant::now(),
        calls: Mutex::default(),
        keys: Mutex::default(),
    });
    let templates = templates();
    let engine = Engine::new(Arc::new(Even));
    engine.start(Lane {
        name: "notify".to_owned(),
        stage: 0,
        composer: Arc::new(MailJobComposer::new(settings(&contract, templates.path()))),
        contract: Arc::new(contract),
        store: store.clone(),
        transport: script.clone(),
        queue: None,
        contract_memory: None,
        limits: Limits {
            concurrency: 1,
            batch: 50,
            max_batch: 50,
            max_batch_distant: 50,
            max_held: 200,
            large_row_bytes: 1 << 20,
            timeout: Duration::from_secs(30),
            poll_interval: Duration::from_secs(1),
            maintenance_interval: Duration::from_secs(10),
            single_claimer: false,
        },
    });
    Running { table, script, store, engine, _templates: templates }
}

/// Version 2 needs a variable that no job has; version 3 exists in one language only.
fn templates() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (locale, body) in [("v2/en-US", "{{ professor }}"), ("v3/fr", "{{ courseTitle }}")] {
        let place = folder.path().join("open-seat").join(locale);
        std::fs::create_dir_all(&place).expect("a folder");
        std::fs::write(place.join("body.txt"), body).expect("a file");
    }
    folder
}

fn settings(contract: &Contract, templates: &Path) -> Settings {
    let stage = &contract.stages[0];
    let mut mail = email::Settings::new("notify");
    mail.from = Some(parse_mailbox("seats@example.org").expect("an address"));
    Settings {
        mail: Arc::new(mail),
        templates: LiveTemplates::open(Some(templates), "en-US").expect("they can be read"),
        locale: "en-US".to_owned(),
        zone: Zone::UTC,
        manage_url: UrlPattern::parse("https://seats.example/{subscription_id}").expect("a pattern"),
        unsubscribe_url: None,
        policy: Policy {
            max_attempts: stage.attempts.max,
            lock_ttl: stage.lease.duration,
            retry_schedule: vec![Duration::ZERO],
        },
        expires: Some(Duration::from_hours(24)),
    }
}

impl Running {
    pub fn row(&self) -> Row {
        self.table.row(&RowId::Int(1)).expect("the row is there")
    }

    pub fn status(&self) -> String {
        self.row()["fanout_status"].as_text().expect("it has a status").to_owned()
    }

    pub fn error(&self) -> serde_json::Value {
        match self.row().get("error") {
            Some(Value::Text(error)) => serde_json::from_str(error).expect("the error is JSON"),
            _ => serde_json::Value::Null,
        }
    }

    /// Times of the sender's calls, in whole seconds.
    pub fn calls(&self) -> Vec<u64> {
        self.script.calls.lock().unwrap().iter().map(Duration::as_secs).collect()
    }

    /// Lets time pass until the row no longer changes, in steps that grow.
    pub async fn rest(&self) {
        for look in 0..6_000_u64 {
            if self.status() != "pending" {
                return;
            }
            tokio::time::sleep(Duration::from_millis(200 * (1 + look / 20))).await;
        }
        panic!("still pending: {:?}", self.row());
    }

    pub async fn end(self) {
        self.engine.drain(Duration::from_secs(5)).await;
    }
}
