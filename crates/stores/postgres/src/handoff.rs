//! What a lane with an external queue asks besides.

use async_trait::async_trait;
use postrider_seams::handoff::{Handoff, Offer, Taken};
use postrider_seams::row::{Claimed, RowId};
use postrider_seams::store::Error;

use crate::store::PostgresStore;

#[async_trait]
impl Handoff for PostgresStore {
    fn keeps_rows(&self) -> bool {
        self.opened.keeps_rows()
    }

    async fn claim_named(&self, rows: &[RowId]) -> Result<Taken, Error> {
        self.opened.claim_named(&self.database, rows).await
    }

    async fn claim_kept(&self, limit: u32) -> Result<Vec<Claimed>, Error> {
        self.opened.claim_kept(&self.database, limit).await
    }

    async fn offer(&self, offer: Offer, limit: u32) -> Result<Vec<RowId>, Error> {
        self.opened.offer(&self.database, offer, limit).await
    }

    async fn recall(&self, rows: &[RowId]) -> Result<u64, Error> {
        self.opened.recall(&self.database, rows).await
    }
}
