//! Suppressions: addresses and domains that get no mail any more, kept beside the tables of one database.

use std::collections::BTreeMap;

use async_trait::async_trait;
use serde::Serialize;

use crate::store::Error;

/// The longest entry, in characters: what an address may have.
pub const ENTRY_LIMIT: usize = 320;

/// One entry of the list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Suppression {
    /// `local@domain` or `domain`, as [`folded`] writes it.
    pub entry: String,
    pub reason: String,
    /// RFC 3339, UTC, by the database's clock.
    pub since: String,
}

#[async_trait]
pub trait Suppressions: Send + Sync {
    /// Which of these entries are on the list, and why. One indexed query; reads only. `None` where the database has no
    /// such list (it was never migrated).
    async fn among(&self, entries: &[String]) -> Result<Option<BTreeMap<String, String>>, Error>;

    /// Puts an entry on the list; one that is there keeps its reason. False if it was there. Idempotent.
    async fn add(&self, entry: &str, reason: &str) -> Result<bool, Error>;

    /// Takes an entry off the list. False if it was not there. Idempotent.
    async fn remove(&self, entry: &str) -> Result<bool, Error>;

    /// One page in the order of the entries, those after `after`.
    async fn page(&self, after: Option<&str>, limit: u32) -> Result<Vec<Suppression>, Error>;
}

/// How the list writes a normalised address or domain: case does not tell mailboxes apart, though a receiver might.
pub fn folded(normalised: &str) -> String {
    normalised.to_lowercase()
}
