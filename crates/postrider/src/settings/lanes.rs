//! Reads `[lanes.NAME]`: the names of contract, store and transport, the limits, and overrides of the contract.

use std::time::Duration;

use postrider_config::{Node, Place, Value};
use postrider_contract::LaneDefaults as Allowed;

use super::emails::{self, EmailsSettings};
use super::mail::{self, MailSettings};
use super::reader::{Located, Reader, SetKeys};
use super::records::RecordSettings;

/// Contract tables that a lane may override; the contract's reader knows their keys.
const OVERRIDES: [&str; 16] = [
    "table",
    "columns",
    "message",
    "states",
    "due",
    "claim",
    "group",
    "pool",
    "lease",
    "attempts",
    "retry",
    "sweep",
    "cancel",
    "requeue",
    "retention",
    "metrics",
];

/// The key of the interval of maintenance in the table of the contract's sweeps.
const EVERY: &str = "every";

/// A lane as written, before its names are resolved.
#[derive(Debug)]
pub struct RawLane {
    pub name: String,
    pub place: Place,
    pub enabled: bool,
    pub contract: Option<Located<String>>,
    pub stage: Option<Located<String>>,
    pub store: Option<Located<String>>,
    pub transport: Option<Located<String>>,
    pub queue: Option<Located<String>>,
    pub limits: RawLimits,
    /// The contract tables that the lane overrides.
    pub overrides: Node,
    pub mail: MailSettings,
    /// The keys of the lane's own `mail` and `emails` tables.
    pub mail_keys: SetKeys,
    pub emails: EmailsSettings,
    pub emails_keys: SetKeys,
    pub records: RecordSettings,
    /// The place of the first key about records, if there is one.
    pub records_place: Option<Place>,
}

/// The limits that a lane sets; the others come from the contract or from defaults.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RawLimits {
    pub concurrency: Option<u32>,
    pub batch: Option<u32>,
    pub held: Option<u32>,
    pub bytes: Option<u64>,
    pub timeout: Option<Duration>,
    pub poll: Option<Duration>,
    pub sweep: Option<Duration>,
    pub single: Option<bool>,
}

impl RawLane {
    /// Reads the table; `mail` holds the values of `[mail]`, which the lane's own override.
    pub fn read(name: String, reader: &Reader<'_>, mail: &MailSettings) -> Self {
        let place = reader.place().clone();
        let enabled = reader.boolean("enabled").unwrap_or(true);
        let contract = reader.text("contract");
        let stage = reader.text("stage");
        let store = reader.text("store");
        let transport = reader.text("transport");
        let queue = reader.text("queue");
        let limits = RawLimits::read(reader);
        let (mail, mail_keys) = match reader.table("mail") {
            Some(inner) => (MailSettings::read(&inner, mail.clone()), inner.set_keys(mail::KEYS)),
            None => (mail.clone(), SetKeys::new()),
        };
        let (emails, emails_keys) = match reader.table("emails") {
            Some(inner) => (EmailsSettings::read(&inner), inner.set_keys(emails::KEYS)),
            None => (EmailsSettings::default(), SetKeys::new()),
        };
        let (records, records_place) = RecordSettings::read(reader);
        let overrides = overrides(reader);
        reader.finish();
        Self {
            name,
            place,
            enabled,
            contract,
            stage,
            store,
            transport,
            queue,
            limits,
            overrides,
            mail,
            mail_keys,
            emails,
            emails_keys,
            records,
            records_place,
        }
    }
}

impl RawLimits {
    fn read(reader: &Reader<'_>) -> Self {
        Self {
            concurrency: reader.number("concurrency", Allowed::CONCURRENCIES),
            batch: reader.number("batch", Allowed::BATCHES),
            held: reader.number("held", 1..=100_000),
            bytes: reader.size("bytes", 1 << 20..=64 << 30),
            timeout: reader.duration("timeout", Allowed::TIMEOUTS),
            poll: reader.duration("poll", Allowed::POLLS),
            sweep: sweep(reader),
            single: reader.boolean("single"),
        }
    }
}

/// Reads `sweep = "10s"`, or `every` in the table that overrides the contract's sweeps by name.
fn sweep(reader: &Reader<'_>) -> Option<Duration> {
    let item = reader.get("sweep")?;
    let item = if item.is_table() { item.table()?.get(EVERY)? } else { item };
    item.duration(Duration::from_millis(100)..=Duration::from_hours(1))
}

/// Returns the contract tables that the lane overrides, without the keys that are the lane's own.
fn overrides(reader: &Reader<'_>) -> Node {
    let mut overrides = Node::table(reader.place().clone());
    for item in OVERRIDES.into_iter().filter_map(|key| reader.get(key)) {
        let key = item.path.rsplit('.').next().unwrap_or_default();
        if key == "sweep" && !item.is_table() {
            continue;
        }
        let mut value = item.node.clone().typed().value;
        if let Value::Table(entries) = &mut value
            && key == "sweep"
        {
            entries.retain(|entry| entry.key != EVERY);
        }
        overrides.set_at(&[key], item.place(), value);
    }
    overrides
}
