//! Publishes rows that producers have just written to the queue; if the queue refuses them, releases them to the table.

use std::sync::Arc;

use async_trait::async_trait;
use postrider_seams::handoff::PublishSource;
use postrider_seams::queue::{NewRowPublisher, Queue};
use postrider_seams::store::{Class, Error};
use postrider_seams::{Handoff, RowId, Store};

use crate::publish::{Published, mark_and_publish, publish};

/// The queue and the table of one lane, for producers.
pub struct QueueNewRowPublisher {
    queue: Arc<dyn Queue>,
    store: Arc<dyn Store>,
}

impl QueueNewRowPublisher {
    /// Combines a queue with a store, which must be opened for a lane with a queue.
    pub fn new(queue: Arc<dyn Queue>, store: Arc<dyn Store>) -> Self {
        Self { queue, store }
    }
}

/// Rows that are published at once.
const CHUNK_ROWS: u32 = 500;

impl QueueNewRowPublisher {
    fn handoff(&self) -> Result<&dyn Handoff, Error> {
        let none = || Error::new(Class::Misconfigured, "this store was opened without an external queue");
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
impl NewRowPublisher for QueueNewRowPublisher {
    async fn publish(&self, rows: &[RowId]) -> Result<u64, Error> {
        let published = publish(self.handoff()?, &*self.queue, rows).await?;
        report(&published);
        Ok(published.recalled)
    }

    async fn publish_due(&self) -> Result<u64, Error> {
        let mut handed = 0;
        loop {
            let published =
                mark_and_publish(self.handoff()?, &*self.queue, PublishSource::Due, CHUNK_ROWS).await?;
            report(&published);
            handed += (published.marked - published.refused) as u64;
            if published.refused > 0 || published.marked < CHUNK_ROWS as usize {
                return Ok(handed);
            }
        }
    }
}
