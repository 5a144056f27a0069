//! Builds external queues from their URLs; a lane and the API share one instance of each.

use std::sync::{Arc, PoisonError};

use postrider_engine::QueueNewRowPublisher;
use postrider_seams::queue::NewRowPublisher;
use postrider_seams::store::Error;
use postrider_seams::{Queue, Store};
use postrider_target_options::{InvalidOptions, OptionMistake};

use super::Wiring;
use super::kinds::QueueKind;
use super::optional::{amqp, nats, sqs};
use super::scrubbed::ScrubbedQueue;
use crate::failure::Failure;
use crate::settings::{LaneSettings, QueueSettings};

/// Builds the queue without connecting, or returns every mistake in its URL, options and names.
fn connect(settings: &QueueSettings, lane: &str) -> Result<Arc<dyn Queue>, InvalidOptions> {
    match settings.kind {
        QueueKind::Nats => nats::queue(settings, lane),
        QueueKind::Amqp => amqp::queue(settings, lane),
        QueueKind::Sqs => sqs::queue(settings, lane),
    }
}

/// Lists every mistake in a queue's URL, options and names, without connecting.
pub fn queue_mistakes(settings: &QueueSettings) -> Vec<OptionMistake> {
    connect(settings, "").err().map(|error| error.mistakes).unwrap_or_default()
}

impl Wiring {
    /// Returns the lane's external queue, if it has one, without connecting.
    pub fn queue(&self, lane: &LaneSettings) -> Result<Option<Arc<dyn Queue>>, Failure> {
        let Some(name) = &lane.queue else { return Ok(None) };
        let mut cached = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(queue) = cached.get(name) {
            return Ok(Some(Arc::clone(queue)));
        }
        let queue = connect(&self.queue_settings[name], &lane.name)
            .map_err(|error| Failure::Failed(format!("queue `{name}`: {error}")))?;
        let queue: Arc<dyn Queue> = Arc::new(ScrubbedQueue(queue));
        cached.insert(name.clone(), Arc::clone(&queue));
        Ok(Some(queue))
    }

    /// Returns the publisher of new jobs to the lane's queue; `None` if the lane has none.
    pub async fn new_row_publisher(
        &self,
        lane: &LaneSettings,
    ) -> Result<Option<Arc<dyn NewRowPublisher>>, Error> {
        let queue = self.queue(lane).map_err(|failure| {
            Error::new(postrider_seams::store::Class::Misconfigured, failure.to_string())
        })?;
        let Some(queue) = queue else { return Ok(None) };
        let store: Arc<dyn Store> = self.open(lane).await?;
        Ok(Some(Arc::new(QueueNewRowPublisher::new(queue, store))))
    }

    /// Publishes rows that an operator has just made ready, if the lane has an external queue. Errors are not returned,
    /// as the lane's poller finds the rows within seconds.
    pub async fn publish_ready_rows(&self, lane: &LaneSettings) {
        let handed = match self.new_row_publisher(lane).await {
            Ok(None) => return,
            Ok(Some(new_row_publisher)) => new_row_publisher.publish_due().await,
            Err(error) => Err(error),
        };
        if let Err(error) = handed {
            tracing::warn!(lane = lane.name, %error, "cannot publish rows to the queue now; the lane's poller will publish them");
        }
    }
}
