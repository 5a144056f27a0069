//! What producers do with rows that they have just written: hand them to the queue, or take them back.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use postrider_seams::queue::{Handing, Queue};
use postrider_seams::store::{Class, Error};
use postrider_seams::{RowId, Store};
use tokio::time::Instant;

/// The longest that a producer waits for a queue; a watched one is less patient.
const LONGEST: Duration = Duration::from_secs(10);

/// A lane's queue, and its table.
pub struct Handed {
    queue: Arc<dyn Queue>,
    store: Arc<dyn Store>,
}

impl Handed {
    /// `store` was opened for a lane with a queue.
    pub fn new(queue: Arc<dyn Queue>, store: Arc<dyn Store>) -> Self {
        Self { queue, store }
    }
}

#[async_trait]
impl Handing for Handed {
    async fn hand(&self, rows: &[RowId]) -> Result<u64, Error> {
        if rows.is_empty() {
            return Ok(0);
        }
        let answers = self.queue.publish(rows, Instant::now() + LONGEST).await;
        let refused: Vec<RowId> = rows
            .iter()
            .zip(&answers)
            .filter(|(_, answer)| answer.is_err())
            .map(|(row, _)| row.clone())
            .collect();
        if refused.is_empty() {
            return Ok(0);
        }
        if let Some(Err(error)) = answers.iter().find(|answer| answer.is_err()) {
            tracing::warn!(%error, rows = refused.len(), "the queue refuses jobs; they wait in the table");
        }
        let none = || Error::new(Class::Misconfigured, "this store hands nothing to a queue");
        self.store.handoff().ok_or_else(none)?.recall(&refused).await
    }
}
