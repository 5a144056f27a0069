//! AMQP 0.9.1: records, and pointers in an external queue.

use std::sync::Arc;
use std::time::Duration;

use postrider_queues::{AmqpQueue, MonitoredQueue};
use postrider_seams::{Queue, Transport};
use postrider_target_options::InvalidOptions;
use postrider_transport_amqp::{Amqp, Settings};

use super::super::transports::scrubbed_transport;
use crate::settings::QueueSettings;

/// Builds the transport without connecting.
pub(in crate::wiring) fn transport(
    url: &str,
    options: &[(String, String)],
    _: Duration,
) -> Result<Arc<dyn Transport>, String> {
    scrubbed_transport(Amqp::from_url(url, options))
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
    let broker = Settings::from_url(settings.url.reveal(), &settings.options())?;
    let queue = AmqpQueue::new(broker, settings.queue.clone())?;
    Ok(Arc::new(MonitoredQueue::new(queue, lane, settings.publish_timeout)))
}
