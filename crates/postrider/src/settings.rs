//! Settings: a TOML file, environment variables over it, and what stands in where there is neither.
//!
//! Owns: finding, reading and checking them. Must not: connect to anything but to what keeps a secret that they refer to. Invariant: a [`Settings`] in hand is right
//! as far as can be told without connecting; every mistake was reported at once, each with its place and its remedy.
//!
//! ```text
//! text ──parse──▶ Tree ◀──overlay── variables      (raw: values with their places)
//!                  │
//!                read, by key ─▶ Server, Store…, Transport…, RawLane, Mail…
//!                  │
//!                look up ─▶ Lane (contract parsed, stage, store and transport found)
//! ```

mod backends;
mod emails;
pub mod keys;
mod lanes;
mod load;
mod lookup;
mod mail;
mod mistake;
mod queues;
mod reader;
mod records;
mod reliable;
mod secret;
mod server;
mod telemetry;
mod tree;
mod units;
mod variables;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use postrider_contract::Contract;
use postrider_engine::Limits;
use postrider_secrets::Safe;

pub use backends::{StoreSettings, TransportSettings};
pub use emails::EmailsSettings;
pub use load::Sources;
pub use lookup::source as contract_source;
pub use mail::MailSettings;
pub use mistake::{Mistakes, listed, suggest};
pub use queues::QueueSettings;
pub use records::{DeadLetter, RecordSettings};
pub use reliable::ReliableSettings;
pub use server::{ApiStore, Server, address};
pub use units::{duration, written};

/// Everything that the process was told, checked.
#[derive(Debug)]
pub struct Settings {
    /// Relative paths in the settings start here.
    pub base: PathBuf,
    pub server: Server,
    /// Where traces go, if anywhere.
    pub telemetry: Option<postrider_telemetry::Settings>,
    pub stores: BTreeMap<String, StoreSettings>,
    pub transports: BTreeMap<String, TransportSettings>,
    pub queues: BTreeMap<String, QueueSettings>,
    /// In the order of their names; those that are not enabled are left out.
    pub lanes: Vec<LaneSettings>,
    /// Only with the built-in settings, untouched, are tables made without being asked for.
    pub makes_tables: bool,
    /// The file with the keys of `encrypted://`, made with the tables; `None` where there is a settings file, or the
    /// environment names keys. Starts at `base`.
    pub own_key: Option<PathBuf>,
    /// Follows the references of accounts, as it did those of the settings.
    pub secrets: Arc<Safe>,
}

/// One lane, its names looked up.
#[derive(Debug, Clone)]
pub struct LaneSettings {
    pub name: String,
    pub contract: Arc<Contract>,
    /// An index into `contract.stages`.
    pub stage: usize,
    /// A key of [`Settings::stores`].
    pub store: String,
    /// A key of [`Settings::transports`].
    pub transport: String,
    /// A key of [`Settings::queues`]; without one the table itself is the queue.
    pub queue: Option<String>,
    pub limits: Limits,
    pub mail: MailSettings,
    /// The e-mail pipeline's files and callbacks.
    pub emails: EmailsSettings,
    pub records: RecordSettings,
}

impl Settings {
    /// The store that has the API's tables, if there is an API.
    pub fn api_store(&self) -> Option<&str> {
        match &self.server.api {
            ApiStore::Off => None,
            ApiStore::Named(store) => Some(&store.value),
            ApiStore::OfJobs => self.jobs_lane().map(|lane| lane.store.as_str()),
        }
    }

    /// The lane that delivers the API's jobs.
    pub fn jobs_lane(&self) -> Option<&LaneSettings> {
        self.lanes.iter().find(|lane| lane.contract.name == "dispatch_jobs")
    }

    /// The named lane, or what would be right.
    pub fn lane(&self, name: &str) -> Result<&LaneSettings, String> {
        self.lanes.iter().find(|lane| lane.name == name).ok_or_else(|| {
            format!("no lane `{name}`{}", suggest(name, self.lanes.iter().map(|lane| lane.name.as_str())))
        })
    }

    /// The named lanes, or all of them if none is named.
    pub fn lanes_named(&self, names: &[String]) -> Result<Vec<&LaneSettings>, String> {
        if names.is_empty() {
            return Ok(self.lanes.iter().collect());
        }
        names.iter().map(|name| self.lane(name)).collect()
    }
}
