//! The HTTP APIs of mail providers.

use std::sync::Arc;
use std::time::Duration;

use postrider_seams::Transport;
use postrider_target_options::InvalidOptions;
use postrider_transport_provider::{Provider, Settings};

use super::super::transports::scrubbed_transport;

/// Builds the transport without connecting.
pub(in crate::wiring) fn transport(
    url: &str,
    options: &[(String, String)],
    _: Duration,
) -> Result<Arc<dyn Transport>, String> {
    scrubbed_transport(Provider::from_url(url, options))
}

/// Checks URL and options.
pub(in crate::wiring) fn check(url: &str, options: &[(String, String)]) -> Result<(), InvalidOptions> {
    Settings::from_url(url, options).map(|_| ())
}
