//! Migrations: an in-memory table needs none.

use async_trait::async_trait;
use postrider_seams::migrate::{Migrate, MigrateOptions};
use postrider_seams::store::Error;

use crate::store::MemoryStore;

#[async_trait]
impl Migrate for MemoryStore {
    async fn plan(&self, _options: MigrateOptions) -> Result<Vec<String>, Error> {
        Ok(Vec::new())
    }

    async fn apply(&self, _options: MigrateOptions) -> Result<Vec<String>, Error> {
        Ok(Vec::new())
    }
}
