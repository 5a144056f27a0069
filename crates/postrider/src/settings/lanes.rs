//! Reads `[lanes.NAME]`: the names of contract, store and transport, the limits, and overrides of the contract.

use std::time::Duration;

use postrider_contract::LaneSettings as Allowed;

use super::emails::EmailsSettings;
use super::mail::MailSettings;
use super::mistake::Place;
use super::reader::{Found, Reader};
use super::records::RecordSettings;
use super::tree::{Tree, to_toml};

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

/// A lane as written, before its names are resolved.
#[derive(Debug)]
pub struct RawLane {
    pub name: String,
    pub place: Place,
    pub enabled: bool,
    pub contract: Option<Found<String>>,
    pub stage: Option<Found<String>>,
    pub store: Option<Found<String>>,
    pub transport: Option<Found<String>>,
    pub queue: Option<Found<String>>,
    pub limits: RawLimits,
    pub overrides: Overrides,
    pub mail: MailSettings,
    pub emails: EmailsSettings,
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

/// The contract tables that a lane overrides, with the place of each.
#[derive(Debug, Clone, Default)]
pub struct Overrides {
    pub table: toml::Table,
    pub places: Vec<(String, Place)>,
}

impl RawLane {
    /// Reads the table; `mail` holds the values of `[mail]`, which the lane's own override.
    pub fn read(name: String, mut reader: Reader<'_>, mail: &MailSettings) -> Self {
        let place = reader.place().clone();
        let enabled = reader.boolean("enabled").unwrap_or(true);
        let contract = reader.text("contract");
        let stage = reader.text("stage");
        let store = reader.text("store");
        let transport = reader.text("transport");
        let queue = reader.text("queue");
        let limits = RawLimits::read(&mut reader);
        let mail = match reader.table("mail") {
            Some(inner) => MailSettings::read(inner, mail.clone()),
            None => mail.clone(),
        };
        let emails = reader.table("emails").map(EmailsSettings::read).unwrap_or_default();
        let (records, records_place) = RecordSettings::read(&mut reader);
        let overrides = Overrides::read(&mut reader);
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
            emails,
            records,
            records_place,
        }
    }
}

impl RawLimits {
    fn read(reader: &mut Reader<'_>) -> Self {
        Self {
            concurrency: reader.count("concurrency", Allowed::CONCURRENCIES),
            batch: reader.count("batch", Allowed::BATCHES),
            held: reader.count("held", 1..=100_000),
            bytes: reader.bytes("bytes", 1 << 20..=64 << 30),
            timeout: reader.duration("timeout", Allowed::TIMEOUTS),
            poll: reader.duration("poll", Allowed::POLLS),
            sweep: sweep(reader),
            single: reader.boolean("single"),
        }
    }
}

/// Reads `sweep = "10s"`, or `every` in the table that overrides the contract's sweeps by name.
fn sweep(reader: &mut Reader<'_>) -> Option<Duration> {
    let range = Duration::from_millis(100)..=Duration::from_hours(1);
    if !reader.is_table("sweep") {
        return reader.duration("sweep", range);
    }
    let mut inner = reader.table("sweep")?;
    let every = inner.duration("every", range);
    reader.put_back("sweep", inner);
    every
}

impl Overrides {
    fn read(reader: &mut Reader<'_>) -> Self {
        let mut tree = Tree::new();
        let mut places = Vec::new();
        for key in OVERRIDES {
            if let Some(entry) = reader.take(key) {
                note(&mut places, key, &entry);
                tree.insert(key.to_owned(), entry);
            }
        }
        Self { table: to_toml(&tree), places }
    }

    /// The place of the override of a contract key (`retry.base`).
    pub fn place(&self, key: &str) -> Option<&Place> {
        self.places.iter().find(|(known, _)| known == key).map(|(_, place)| place)
    }
}

fn note(places: &mut Vec<(String, Place)>, path: &str, entry: &super::tree::Entry) {
    places.push((path.to_owned(), entry.place.clone()));
    if let super::tree::Value::Table(inner) = &entry.value {
        for (key, entry) in inner {
            note(places, &format!("{path}.{key}"), entry);
        }
    }
}
