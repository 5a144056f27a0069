//! The queue publisher of a lane with an external queue: marks rows as published, publishes pointers to them, and
//! reverts the mark of those that the queue refuses. Two workers may do this at once: each row is marked by only one of
//! them.

use std::sync::Arc;
use std::time::Duration;

use postrider_seams::handoff::PublishSource;
use postrider_seams::{Handoff, Queue, store};

use crate::maintenance::{CHUNK, LOCK_TTL};
use crate::publish::{Published, mark_and_publish};
use crate::runner::Runner;

/// Publishes rows that this worker handed back, deferred or will retry as soon as they fall due, because the next poll
/// may be seconds away. Uses no lock, as it concerns few rows. The poller finds any row that is missed here.
pub(crate) async fn follow(runner: Arc<Runner>, queue: Arc<dyn Queue>) {
    loop {
        runner.retry_timer.next().await;
        if runner.state.has_queue_trouble() {
            continue;
        }
        let Some(handoff) = runner.store.handoff() else { return };
        match chunk(&runner, &*queue, handoff, PublishSource::Due).await {
            // There may be more: continue at the next tick.
            Ok(Published { marked, refused: 0, .. }) if marked >= CHUNK as usize => {
                runner.retry_timer.falls_due(Duration::ZERO);
            }
            Ok(_) => {}
            Err(error) => {
                tracing::warn!(lane = runner.state.name, %error, "rows that fell due could not be published; the poller will");
            }
        }
    }
}

/// Marks and publishes one chunk; reverts the marks of rows that the queue refused.
async fn chunk(
    runner: &Runner,
    queue: &dyn Queue,
    handoff: &dyn Handoff,
    source: PublishSource,
) -> Result<Published, store::Error> {
    let published = mark_and_publish(handoff, queue, source, CHUNK).await?;
    if let Some(error) = &published.error {
        runner.queue_failed(error);
    }
    Ok(published)
}

/// Publishes all rows of this kind, chunk by chunk; one worker at a time does so.
pub(crate) async fn publish_all(
    runner: Arc<Runner>,
    queue: Arc<dyn Queue>,
    source: PublishSource,
) -> Result<(), store::Error> {
    let Some(handoff) = runner.store.handoff() else { return Ok(()) };
    let name = match source {
        PublishSource::Waiting => format!("publish:{}", runner.state.name),
        PublishSource::Due => format!("publish due:{}", runner.state.name),
    };
    let mut published = 0;
    loop {
        // While the queue is known to be away, marking rows would only mean reverting them.
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
        let Published { marked, refused, .. } = chunk(&runner, &*queue, handoff, source).await?;
        published += marked - refused;
        if refused > 0 || marked < CHUNK as usize {
            break;
        }
    }
    runner.store.unlock(&name).await?;
    if published > 0 {
        tracing::info!(lane = runner.state.name, rows = published, task = name, "published");
    }
    Ok(())
}
