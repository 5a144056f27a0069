//! Kafka, over librdkafka.

use std::sync::Arc;
use std::time::Duration;

use postrider_seams::Transport;
use postrider_target_options::InvalidOptions;
use postrider_transport_kafka::{Kafka, Settings};

use super::super::transports::scrubbed_transport;

/// Builds the transport without connecting; `publish` is the time limit of a message.
pub(in crate::wiring) fn transport(
    url: &str,
    options: &[(String, String)],
    publish: Duration,
) -> Result<Arc<dyn Transport>, String> {
    let settings = Settings::from_url(url, options).map_err(|error| error.to_string())?;
    scrubbed_transport(Kafka::new(settings.within(publish)))
}

/// Checks URL and options.
pub(in crate::wiring) fn check(url: &str, options: &[(String, String)]) -> Result<(), InvalidOptions> {
    Settings::from_url(url, options).map(|_| ())
}
