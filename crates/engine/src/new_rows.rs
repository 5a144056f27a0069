//! Publishes rows that producers have just written to the queue; if the queue refuses them, releases them to the table.

use std::sync::Arc;

use async_trait::async_trait;
use postrider_seams::handoff::Offer;
use postrider_seams::queue::{Handing, Queue};
use postrider_seams::store::{Class, Error};
use postrider_seams::{Handoff, RowId, Store};

use crate::publish::{Published, offer_and_publish, publish};

/// The queue and the table of one lane, for producers.
pub struct NewRowPublisher {
    queue: Arc<dyn Queue>,
    store: Arc<dyn Store>,
}

impl NewRowPublisher {
    /// Combines a queue with a store, which must be opened for a lane with a queue.
    pub fn new(queue: Arc<dyn Queue>, store: Arc<dyn Store>) -> Self {
        Self { queue, store }
    }
}

/// Rows that are published at once.
const CHUNK_ROWS: u32 = 500;

impl NewRowPublisher {
    fn handoff(&self) -> Result<&dyn Handoff, Error> {
        let none = || Error::new(Class::Misconfigured, "this store hands nothing to a queue");
        self.store.handoff().ok_or_else(none)
    }
}

/// Logs that the queue refused rows.
fn report(published: &Published) {
    if let Some(error) = &published.error {
        tracing::warn!(%error, rows = published.refused, "the queue refuses jobs; they wait in the table");
    }
}

#[async_trait]
impl Handing for NewRowPublisher {
    async fn hand(&self, rows: &[RowId]) -> Result<u64, Error> {
        let published = publish(self.handoff()?, &*self.queue, rows).await?;
        report(&published);
        Ok(published.recalled)
    }

    async fn hand_due(&self) -> Result<u64, Error> {
        let mut handed = 0;
        loop {
            let published = offer_and_publish(self.handoff()?, &*self.queue, Offer::Due, CHUNK_ROWS).await?;
            report(&published);
            handed += (published.offered - published.refused) as u64;
            if published.refused > 0 || published.offered < CHUNK_ROWS as usize {
                return Ok(handed);
            }
        }
    }
}
