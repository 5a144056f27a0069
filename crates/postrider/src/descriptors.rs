//! Divides the file descriptors that the system grants: half for the listener's connections, half for the lanes.

use postrider_server::ConnectionLimits;
use postrider_transport_webhook::Settings as WebhookSettings;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Limits the listener's connections to half of the descriptors, so that a flood of connections cannot block the lanes'
/// access to their databases and targets.
pub fn for_connections(wanted: ConnectionLimits) -> ConnectionLimits {
    let half = half();
    if half < wanted.total {
        tracing::warn!(
            connections = half,
            "[server] connections is lowered to half of the file descriptors that this process may open (ulimit -n)"
        );
    }
    ConnectionLimits { total: wanted.total.min(half), per_address: wanted.per_address.min(half) }
}

/// Limits webhook connections to three quarters of the lanes' half, so that slow receivers cannot block the lanes'
/// access to databases, files and name lookups.
pub fn for_webhooks(wanted: WebhookSettings) -> WebhookSettings {
    let most = (half() / 4 * 3).max(1);
    if most < wanted.connections {
        tracing::warn!(
            connections = most,
            "connections of a webhook transport is lowered: this process may open too few file descriptors (ulimit -n)"
        );
    }
    WebhookSettings { connections: wanted.connections.min(most), ..wanted }
}

/// Raises the soft limit to the hard limit and returns half of it.
fn half() -> usize {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    let granted = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => limit.maximum,
        Err(error) => {
            tracing::debug!(%error, "cannot raise the limit of file descriptors");
            limit.current
        }
    };
    granted.and_then(|granted| usize::try_from(granted / 2).ok()).unwrap_or(usize::MAX)
}
