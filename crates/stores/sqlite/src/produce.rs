//! Writing a fresh row, as an application would.

use async_trait::async_trait;
use postrider_seams::Produce;
use postrider_seams::row::Detail;
use postrider_seams::store::Error;

use crate::store::SqliteStore;

#[async_trait]
impl Produce for SqliteStore {
    async fn produce(&self, fields: &Detail) -> Result<String, Error> {
        self.opened.produce(&self.database, fields).await
    }
}
