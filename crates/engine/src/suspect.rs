//! Delivers a suspect alone: a row that was being delivered at several crashes in a row.
//!
//! While it is delivered nothing else of its lane is in flight, and no other suspect of the process. If it kills the
//! worker once more, no neighbour pays for it. A suspect that finds another one at it is put off for a moment.

use std::time::Duration;

use postrider_contract::SUSPECT_CRASHES;
use postrider_seams::{Claimed, Failure, Outcome};
use tokio::sync::{RwLockWriteGuard, SemaphorePermit};

use crate::runner::Runner;

/// How long a suspect is put off while another one is delivered.
const LATER: Duration = Duration::from_secs(5);

/// Nothing else of the lane is in flight while this is held.
pub(crate) struct Alone<'a> {
    _only: SemaphorePermit<'a>,
    _lane: RwLockWriteGuard<'a, ()>,
}

pub(crate) fn is_suspect(row: &Claimed) -> bool {
    row.crashes >= SUSPECT_CRASHES
}

/// Waits until nothing else of the lane is in flight; `None` where another suspect is at it.
pub(crate) async fn alone<'a>(runner: &'a Runner, row: &Claimed) -> Option<Alone<'a>> {
    let only = runner.suspects.try_acquire().ok()?;
    tracing::warn!(
        lane = runner.state.name,
        row = %row.lease.id,
        crashes = row.crashes,
        "its workers died while they delivered it: it is delivered alone"
    );
    Some(Alone { _only: only, _lane: runner.alone.write().await })
}

/// What a suspect gets that has to wait: it costs nothing.
pub(crate) fn later() -> Outcome {
    let failure = Failure::new("waits to be delivered alone, after its workers died several times");
    Outcome::Deferred(Failure { after: Some(LATER), ..failure })
}
