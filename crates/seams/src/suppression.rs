//! Suppressions: addresses and domains to which no mail is sent, stored in the same database as the outbox tables.

use std::collections::BTreeMap;

use async_trait::async_trait;
use serde::Serialize;

use crate::store::Error;

/// The maximum length of an entry in characters: the maximum length of an address.
pub const ENTRY_LIMIT: usize = 320;

/// One entry of the suppression list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Suppression {
    /// `local@domain` or `domain`, as [`folded`] returns it.
    pub entry: String,
    pub reason: String,
    /// The time of the entry: RFC 3339, UTC, by the database's clock.
    pub since: String,
}

/// The suppression list of one database.
#[async_trait]
pub trait Suppressions: Send + Sync {
    /// Returns those of these entries that are on the list, with their reasons. One indexed query; reads only. `None`
    /// if the database has no such list (it was never migrated).
    async fn find(&self, entries: &[String]) -> Result<Option<BTreeMap<String, String>>, Error>;

    /// Adds an entry to the list; returns false if it was there, and keeps its reason. Idempotent.
    async fn add(&self, entry: &str, reason: &str) -> Result<bool, Error>;

    /// Removes an entry from the list; returns false if it was not there. Idempotent.
    async fn remove(&self, entry: &str) -> Result<bool, Error>;

    /// Returns one page in the order of the entries: up to `limit` entries after `after`.
    async fn page(&self, after: Option<&str>, limit: u32) -> Result<Vec<Suppression>, Error>;
}

/// Returns the list's spelling of a normalised address or domain, in lower case: mailboxes are compared without case,
/// although a receiver might distinguish it.
pub fn folded(normalised: &str) -> String {
    normalised.to_lowercase()
}
