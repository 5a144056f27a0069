//! The suppression list, in an internal table of this database.

use std::collections::BTreeMap;

use async_trait::async_trait;
use postrider_seams::store::Error;
use postrider_seams::{Suppression, Suppressions};
use postrider_sql::internal::suppressions;

use crate::connect::Database;

#[async_trait]
impl Suppressions for Database {
    async fn among(&self, entries: &[String]) -> Result<Option<BTreeMap<String, String>>, Error> {
        suppressions::among(self, entries).await
    }

    async fn add(&self, entry: &str, reason: &str) -> Result<bool, Error> {
        suppressions::add(self, entry, reason).await
    }

    async fn remove(&self, entry: &str) -> Result<bool, Error> {
        suppressions::remove(self, entry).await
    }

    async fn page(&self, after: Option<&str>, limit: u32) -> Result<Vec<Suppression>, Error> {
        suppressions::page(self, after, limit).await
    }
}
