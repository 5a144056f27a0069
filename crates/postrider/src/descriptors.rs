//! File descriptors: as many as the system grants, and part of them kept back for the lanes.

use postrider_server::ConnectionLimits;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the soft limit to the hard one; answers what is left for the listener's connections: half at most, so that a flood of
/// them can't keep lanes from their databases and targets.
pub fn for_connections(wanted: ConnectionLimits) -> ConnectionLimits {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    let granted = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => limit.maximum,
        Err(error) => {
            tracing::debug!(%error, "the limit of file descriptors could not be raised");
            limit.current
        }
    };
    let half = granted.and_then(|granted| usize::try_from(granted / 2).ok()).unwrap_or(usize::MAX);
    if half < wanted.total {
        tracing::warn!(
            connections = half,
            "[server] connections is lowered to half of the file descriptors that this process may open (ulimit -n)"
        );
    }
    ConnectionLimits { total: wanted.total.min(half), per_address: wanted.per_address.min(half) }
}
