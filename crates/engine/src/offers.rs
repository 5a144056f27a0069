//! The pollers of a lane with an external queue: what waits to be published is marked first, published then, and taken
//! back if the queue refuses it. Two workers at once are harmless: each row is marked by one of them.

use std::sync::Arc;
use std::time::Duration;

use postrider_seams::handoff::Offer;
use postrider_seams::{Queue, RowId, store};
use tokio::time::Instant;

use crate::nets::{CHUNK, LOCK_TTL};
use crate::runner::Runner;

/// How long a publication of one chunk may take.
const PUBLISH: Duration = Duration::from_secs(10);

pub(crate) async fn offer(
    runner: Arc<Runner>,
    queue: Arc<dyn Queue>,
    offer: Offer,
) -> Result<(), store::Error> {
    let Some(handoff) = runner.store.handoff() else { return Ok(()) };
    let name = match offer {
        Offer::Waiting => format!("offer:{}", runner.state.name),
        Offer::Due => format!("offer due:{}", runner.state.name),
    };
    let mut published = 0;
    loop {
        // Nothing is moved to and fro while it is known that the queue would refuse it.
        if runner.state.has_queue_trouble()
            && let Err(error) = queue.probe().await
        {
            runner.queue_failed(&error);
            break;
        }
        // Renewed before each chunk.
        if !runner.store.lock(&name, LOCK_TTL).await? {
            return Ok(());
        }
        let rows = handoff.offer(offer, CHUNK).await?;
        let refused = publish(&runner, &*queue, &rows).await;
        published += rows.len() - refused.len();
        if !refused.is_empty() {
            handoff.recall(&refused).await?;
            break;
        }
        if rows.len() < CHUNK as usize {
            break;
        }
    }
    runner.store.unlock(&name).await?;
    if published > 0 {
        tracing::info!(lane = runner.state.name, rows = published, offer = name, "published");
    }
    Ok(())
}

/// Those that the queue refused.
async fn publish(runner: &Runner, queue: &dyn Queue, rows: &[RowId]) -> Vec<RowId> {
    if rows.is_empty() {
        return Vec::new();
    }
    let answers = queue.publish(rows, Instant::now() + PUBLISH).await;
    let mut refused = Vec::new();
    for (row, answer) in rows.iter().zip(answers) {
        if let Err(error) = answer {
            if refused.is_empty() {
                runner.queue_failed(&error);
            }
            refused.push(row.clone());
        }
    }
    refused
}
