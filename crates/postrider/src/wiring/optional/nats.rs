//! NATS JetStream: records, and pointers in an external queue.

use std::sync::Arc;
use std::time::Duration;

use postrider_queues::{MonitoredQueue, NatsNames, NatsQueue};
use postrider_seams::{Queue, Transport};
use postrider_target_options::InvalidOptions;
use postrider_transport_nats::{Nats, Settings};

use super::super::transports::scrubbed_transport;
use crate::settings::QueueSettings;

/// The default name of the consumer that all workers of a NATS queue share.
const CONSUMER: &str = "postrider";

/// Builds the transport without connecting.
pub(in crate::wiring) fn transport(
    url: &str,
    options: &[(String, String)],
    _: Duration,
) -> Result<Arc<dyn Transport>, String> {
    scrubbed_transport(Nats::from_url(url, options))
}

/// Checks URL and options.
pub(in crate::wiring) fn check(url: &str, options: &[(String, String)]) -> Result<(), InvalidOptions> {
    Settings::from_url(url, options).map(|_| ())
}

/// Builds the external queue without connecting.
pub(in crate::wiring) fn queue(
    settings: &QueueSettings,
    lane: &str,
) -> Result<Arc<dyn Queue>, InvalidOptions> {
    let names = NatsNames {
        stream: settings.queue.clone(),
        subject: settings.subject.clone().unwrap_or_else(|| settings.queue.clone()),
        consumer: settings.consumer.clone().unwrap_or_else(|| CONSUMER.to_owned()),
    };
    let broker = Settings::from_url(settings.url.reveal(), &settings.options())?;
    let queue = NatsQueue::new(broker, names, settings.patience)?;
    Ok(Arc::new(MonitoredQueue::new(queue, lane, settings.publish_timeout)))
}
