//! Delivers a suspect alone: a row that was being delivered at several crashes in a row.
//!
//! While it is delivered nothing else of its lane is in flight, and no other suspect of the process. Other lanes let it go
//! alone as well: they begin nothing meanwhile. If it kills the worker once more, no neighbour pays for it. Before each
//! try a suspect waits, longer after each crash (`contract/src/crash.rs`); that wait, and the wait for another suspect,
//! cost it nothing.
//! Invariant: another lane waits for a suspect no longer than twice the longest delivery of the suspect's lane. What is in
//! flight beyond that goes beside it.

use std::time::Duration;

use postrider_contract::{Defer, SUSPECT_CRASHES, wait_after_crashes};
use postrider_seams::{Claimed, Failure, Outcome};
use tokio::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard, Semaphore, SemaphorePermit};

use crate::deliverer::GRACE;
use crate::runner::Runner;

/// How long a suspect is put off while another one is delivered.
const LATER: Duration = Duration::from_secs(5);

/// How long a suspect is kept before it is handed back where the table has no place for "not before": it would be claimed again
/// at once, over and over.
const KEPT: Duration = Duration::from_secs(2);

/// Between two notes for the watchdog: who waits for a suspect is not stalled.
const TICK: Duration = Duration::from_secs(1);

/// What the lanes of a process share, so that a suspect can be delivered alone.
#[derive(Debug)]
pub(crate) struct Suspects {
    /// One suspect at a time.
    one: Semaphore,
    /// Deliveries of all lanes read; a suspect writes.
    process: RwLock<()>,
}

impl Default for Suspects {
    fn default() -> Self {
        Self { one: Semaphore::new(1), process: RwLock::new(()) }
    }
}

/// A delivery of rows that are no suspects: none is delivered while this is held.
pub(crate) struct Among<'a> {
    _lane: RwLockReadGuard<'a, ()>,
    _process: RwLockReadGuard<'a, ()>,
}

/// Nothing else of the lane is in flight while this is held, and no suspect of the process.
pub(crate) struct OnlyInLane<'a> {
    _lane: RwLockWriteGuard<'a, ()>,
    _process: RwLockReadGuard<'a, ()>,
}

/// Nothing else is in flight while this is held.
pub(crate) struct Alone<'a> {
    _one: SemaphorePermit<'a>,
    _lane: RwLockWriteGuard<'a, ()>,
    process: Option<RwLockWriteGuard<'a, ()>>,
}

pub(crate) fn is_suspect(row: &Claimed) -> bool {
    row.crashes >= SUSPECT_CRASHES
}

/// Waits until no suspect is being delivered.
pub(crate) async fn among(runner: &Runner) -> Among<'_> {
    Among {
        _lane: runner.alone.read().await,
        _process: not_stalled(runner, runner.suspects.process.read()).await,
    }
}

/// Waits until nothing else of the lane is in flight, for the one row by which a target is tried again.
pub(crate) async fn only_in_lane(runner: &Runner) -> OnlyInLane<'_> {
    OnlyInLane {
        _lane: runner.alone.write().await,
        _process: not_stalled(runner, runner.suspects.process.read()).await,
    }
}

/// Waits until nothing else is in flight. An error is what the row ends with that has to wait longer: it costs nothing.
pub(crate) async fn alone<'a>(runner: &'a Runner, row: &Claimed) -> Result<Alone<'a>, Outcome> {
    let wait = wait_after_crashes(row.crashes, row.since_crash);
    if !wait.is_zero() {
        return Err(later(wait));
    }
    let one = runner.suspects.one.try_acquire().map_err(|_| later(LATER))?;
    tracing::warn!(
        lane = runner.state.name,
        row = %row.lease.id,
        crashes = row.crashes,
        "its workers died while they delivered it: it is delivered alone"
    );
    let lane = runner.alone.write().await;
    let process = not_stalled(runner, runner.suspects.process.write());
    let process = tokio::time::timeout(longest(runner), process).await.ok();
    Ok(Alone { _one: one, _lane: lane, process })
}

impl Alone<'_> {
    /// Runs the delivery. Other lanes go on when it takes longer than it may, as when the store is away.
    pub async fn run(mut self, runner: &Runner, delivery: impl Future<Output = ()>) {
        let mut delivery = std::pin::pin!(delivery);
        if tokio::time::timeout(longest(runner), &mut delivery).await.is_err() {
            self.process = None;
            delivery.await;
        }
    }
}

/// Before rows are handed back that have to wait: a pause where the table cannot hold them back.
pub(crate) async fn put_off(runner: &Runner) {
    if runner.lane.contract.due.defer == Defer::None {
        tokio::time::sleep(KEPT).await;
    }
}

fn later(after: Duration) -> Outcome {
    let failure = Failure::new("waits to be delivered alone, after its workers died several times");
    Outcome::Deferred(Failure { after: Some(after), ..failure })
}

/// The longest time that a delivery of this lane takes.
fn longest(runner: &Runner) -> Duration {
    runner.lane.limits.timeout + GRACE
}

/// Waits, and keeps the watchdog content meanwhile.
async fn not_stalled<T>(runner: &Runner, waits: impl Future<Output = T>) -> T {
    let mut waits = std::pin::pin!(waits);
    loop {
        match tokio::time::timeout(TICK, &mut waits).await {
            Ok(done) => return done,
            Err(_) => runner.note_progress(),
        }
    }
}
