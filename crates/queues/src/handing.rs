//! Publishes rows that producers have just written to the queue; if the queue refuses them, releases them to the table.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use postrider_seams::handoff::Offer;
use postrider_seams::queue::{Handing, Queue};
use postrider_seams::store::{Class, Error};
use postrider_seams::{Handoff, RowId, Store};
use tokio::time::Instant;

/// Longest time that a producer waits for a queue; a [`crate::Watched`] queue has a shorter limit.
const LONGEST: Duration = Duration::from_secs(10);

/// The queue and the table of one lane, for producers.
pub struct Handed {
    queue: Arc<dyn Queue>,
    store: Arc<dyn Store>,
}

impl Handed {
    /// Combines a queue with a store, which must be opened for a lane with a queue.
    pub fn new(queue: Arc<dyn Queue>, store: Arc<dyn Store>) -> Self {
        Self { queue, store }
    }
}

/// Rows that are published at once.
const CHUNK: u32 = 500;

impl Handed {
    fn handoff(&self) -> Result<&dyn Handoff, Error> {
        let none = || Error::new(Class::Misconfigured, "this store hands nothing to a queue");
        self.store.handoff().ok_or_else(none)
    }

    /// Publishes rows; returns those that the queue refused.
    async fn publish(&self, rows: &[RowId]) -> Vec<RowId> {
        let answers = self.queue.publish(rows, Instant::now() + LONGEST).await;
        let refused = rows.iter().zip(&answers).filter(|(_, answer)| answer.is_err());
        let refused: Vec<RowId> = refused.map(|(row, _)| row.clone()).collect();
        if let Some(Err(error)) = answers.iter().find(|answer| answer.is_err()) {
            tracing::warn!(%error, rows = refused.len(), "the queue refuses jobs; they wait in the table");
        }
        refused
    }
}

#[async_trait]
impl Handing for Handed {
    async fn hand(&self, rows: &[RowId]) -> Result<u64, Error> {
        if rows.is_empty() {
            return Ok(0);
        }
        let refused = self.publish(rows).await;
        if refused.is_empty() { Ok(0) } else { self.handoff()?.recall(&refused).await }
    }

    async fn hand_due(&self) -> Result<u64, Error> {
        let mut handed = 0;
        loop {
            let rows = self.handoff()?.offer(Offer::Due, CHUNK).await?;
            if rows.is_empty() {
                return Ok(handed);
            }
            let refused = self.publish(&rows).await;
            handed += (rows.len() - refused.len()) as u64;
            if !refused.is_empty() {
                self.handoff()?.recall(&refused).await?;
                return Ok(handed);
            }
            if rows.len() < CHUNK as usize {
                return Ok(handed);
            }
        }
    }
}
