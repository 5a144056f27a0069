//! The settings: a TOML file, environment variables that override it, and defaults.
//!
//! Owns: finding, reading and checking them. Must not: connect to anything except the services that hold the secrets
//! that they refer to. Invariant: a [`Settings`] is valid as far as can be checked without connecting; all mistakes are
//! reported together, each with its place and how to fix it.
//!
//! ```text
//! text ──parse──▶ Node ◀──overlay── variables      (values with their places: postrider-config)
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
mod variables;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use postrider_contract::Contract;
use postrider_engine::Limits;
use postrider_secrets::SecretResolver;

pub use backends::{StoreSettings, TransportSettings};
pub use emails::EmailsSettings;
pub use load::Sources;
pub use lookup::source as contract_source;
pub use mail::MailSettings;
pub use mistake::{InvalidSettings, listed, suggest};
pub use queues::QueueSettings;
pub use records::{DeadLetter, RecordSettings};
pub use reliable::ReliableSettings;
pub use server::{ApiStore, Server, address};

/// The settings of the process, read and checked.
#[derive(Debug)]
pub struct Settings {
    /// The folder that relative paths in the settings start from.
    pub base: PathBuf,
    pub server: Server,
    /// The target of traces; `None` disables them.
    pub telemetry: Option<postrider_telemetry::Settings>,
    pub stores: BTreeMap<String, StoreSettings>,
    pub transports: BTreeMap<String, TransportSettings>,
    pub queues: BTreeMap<String, QueueSettings>,
    /// The enabled lanes, sorted by name.
    pub lanes: Vec<LaneSettings>,
    /// Whether tables are created automatically; true only with the unchanged built-in settings.
    pub creates_tables: bool,
    /// The file with the keys of `encrypted://`, created with the tables and relative to `base`; `None` if there is a
    /// settings file, or the environment names keys.
    pub generated_key_file: Option<PathBuf>,
    /// Resolves the secret references of accounts, as it did those of the settings.
    pub secrets: Arc<SecretResolver>,
}

/// The settings of one lane, with the names of contract, store and transport resolved.
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
    /// A key of [`Settings::queues`]; `None` if the table itself is the queue.
    pub queue: Option<String>,
    pub limits: Limits,
    pub mail: MailSettings,
    /// Files and callbacks of the e-mail pipeline.
    pub emails: EmailsSettings,
    pub records: RecordSettings,
}

impl Settings {
    /// The store that holds the API's tables; `None` if the API is disabled.
    pub fn api_store(&self) -> Option<&str> {
        match &self.server.api {
            ApiStore::Off => None,
            ApiStore::Named(store) => Some(&store.value),
            ApiStore::JobsLaneStore => self.jobs_lane().map(|lane| lane.store.as_str()),
        }
    }

    /// The lane that delivers the API's jobs; `None` if there is none.
    pub fn jobs_lane(&self) -> Option<&LaneSettings> {
        self.lanes.iter().find(|lane| lane.contract.name == "dispatch_jobs")
    }

    /// Returns the lane of this name; the error lists the valid names.
    pub fn lane(&self, name: &str) -> Result<&LaneSettings, String> {
        self.lanes.iter().find(|lane| lane.name == name).ok_or_else(|| {
            format!("no lane `{name}`{}", suggest(name, self.lanes.iter().map(|lane| lane.name.as_str())))
        })
    }

    /// Returns the lanes of these names; all lanes if `names` is empty.
    pub fn lanes_named(&self, names: &[String]) -> Result<Vec<&LaneSettings>, String> {
        if names.is_empty() {
            return Ok(self.lanes.iter().collect());
        }
        names.iter().map(|name| self.lane(name)).collect()
    }
}
