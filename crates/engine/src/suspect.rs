//! Delivers suspects alone. A suspect is a row that was being delivered at several crashes in a row.
//!
//! During its delivery nothing else of its lane is in flight, no other suspect of the process, and other lanes begin no
//! delivery. If the suspect kills the worker again, the crash is counted against no other row. Before each try a
//! suspect waits, longer after each crash (`contract/src/crash.rs`); that wait, and the wait for another suspect, cost
//! it no attempt.
//! Invariant: another lane waits for a suspect no longer than twice the longest delivery of the suspect's lane.
//! Deliveries that take longer run at the same time as the suspect. Calls that are only prepared are not sent meanwhile:
//! they are handed back (`call.rs`).

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use postrider_contract::{Defer, SUSPECT_CRASHES, wait_after_crashes};
use postrider_seams::{ClaimedRow, Failure, Outcome};
use tokio::sync::{Notify, RwLock, RwLockReadGuard, RwLockWriteGuard, Semaphore, SemaphorePermit};

use crate::runner::Runner;
use crate::send::GRACE;

/// Delay of a suspect while another one is being delivered.
const SUSPECT_RETRY_DELAY: Duration = Duration::from_secs(5);

/// Time for which a suspect is held before it is handed back if the table has no "not before" column: otherwise it
/// would be claimed again at once, over and over.
const KEPT: Duration = Duration::from_secs(2);

/// Time between two progress notes while waiting for a suspect: a lane that waits for one is not stalled.
const TICK: Duration = Duration::from_secs(1);

/// The locks that the lanes of a process share, so that a suspect can be delivered alone.
#[derive(Debug)]
pub(crate) struct Suspects {
    /// One suspect at a time.
    one: Semaphore,
    /// Deliveries of all lanes read; the delivery of a suspect writes.
    process: RwLock<()>,
    /// The lane whose suspect is, or is about to be, delivered.
    lane: Mutex<Option<String>>,
    /// Wakes those that wait for a change of `lane`, in the order in which they came.
    changed: Notify,
}

impl Default for Suspects {
    fn default() -> Self {
        let (one, process) = (Semaphore::new(1), RwLock::new(()));
        Self { one, process, lane: Mutex::default(), changed: Notify::new() }
    }
}

impl Suspects {
    /// Whether a suspect of another lane must be alone now.
    pub fn is_elsewhere(&self, lane: &str) -> bool {
        self.lane().as_deref().is_some_and(|suspects| suspects != lane)
    }

    fn lane(&self) -> MutexGuard<'_, Option<String>> {
        self.lane.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn announce(&self, lane: Option<String>) {
        *self.lane() = lane;
        self.changed.notify_waiters();
    }

    /// Waits until a suspect of another lane must be alone, or until there is none any more.
    pub async fn elsewhere(&self, lane: &str, is: bool) {
        loop {
            let changed = self.changed.notified();
            if self.is_elsewhere(lane) == is {
                return;
            }
            changed.await;
        }
    }
}

/// Announces to the other lanes that a suspect must be alone, until it is dropped.
struct Announced<'a>(&'a Suspects);

impl<'a> Announced<'a> {
    fn new(runner: &'a Runner) -> Self {
        runner.suspects.announce(Some(runner.state.name.clone()));
        Self(&runner.suspects)
    }
}

impl Drop for Announced<'_> {
    fn drop(&mut self) {
        self.0.announce(None);
    }
}

/// A guard for the delivery of ordinary rows: no suspect is delivered while it is held.
pub(crate) struct OrdinaryDeliveryGuard<'a> {
    _lane: RwLockReadGuard<'a, ()>,
    _process: RwLockReadGuard<'a, ()>,
}

/// A guard under which nothing else of the lane is in flight, and no suspect of the process.
pub(crate) struct LaneExclusiveGuard<'a> {
    _lane: RwLockWriteGuard<'a, ()>,
    _process: RwLockReadGuard<'a, ()>,
}

/// A guard under which nothing else is in flight.
pub(crate) struct ProcessExclusiveGuard<'a> {
    /// Dropped before `_one`, so that it never ends the announcement of the next suspect.
    announced: Option<Announced<'a>>,
    process: Option<RwLockWriteGuard<'a, ()>>,
    _lane: RwLockWriteGuard<'a, ()>,
    _one: SemaphorePermit<'a>,
}

pub(crate) fn is_suspect(row: &ClaimedRow) -> bool {
    row.crashes >= SUSPECT_CRASHES
}

/// Waits until no suspect is being delivered.
pub(crate) async fn among(runner: &Runner) -> OrdinaryDeliveryGuard<'_> {
    OrdinaryDeliveryGuard { _lane: runner.alone.read().await, _process: no_suspect_elsewhere(runner).await }
}

/// Waits until nothing else of the lane is in flight, for the one row of a trial.
pub(crate) async fn only_in_lane(runner: &Runner) -> LaneExclusiveGuard<'_> {
    LaneExclusiveGuard { _lane: runner.alone.write().await, _process: no_suspect_elsewhere(runner).await }
}

/// Waits until no suspect of another lane is being delivered. A suspect that did not get the lock in time is not alone
/// with what is in flight by then, but nothing else begins beside it.
async fn no_suspect_elsewhere(runner: &Runner) -> RwLockReadGuard<'_, ()> {
    let suspects = &runner.suspects;
    not_stalled(runner, async {
        suspects.elsewhere(&runner.state.name, false).await;
        suspects.process.read().await
    })
    .await
}

/// Waits until nothing else is in flight. Returns an outcome that defers the row, at no cost, if it must wait longer.
pub(crate) async fn alone<'a>(
    runner: &'a Runner,
    row: &ClaimedRow,
) -> Result<ProcessExclusiveGuard<'a>, Outcome> {
    let wait = wait_after_crashes(row.crashes, row.since_crash);
    if !wait.is_zero() {
        return Err(later(wait));
    }
    let one = runner.suspects.one.try_acquire().map_err(|_| later(SUSPECT_RETRY_DELAY))?;
    tracing::warn!(
        lane = runner.state.name,
        row = %row.lease.id,
        crashes = row.crashes,
        "its workers died while they delivered it: it is delivered alone"
    );
    let lane = runner.alone.write().await;
    let announced = Announced::new(runner);
    let process = not_stalled(runner, runner.suspects.process.write());
    let process = tokio::time::timeout(longest(runner), process).await.ok();
    Ok(ProcessExclusiveGuard { announced: Some(announced), process, _lane: lane, _one: one })
}

impl ProcessExclusiveGuard<'_> {
    /// Runs the delivery. If it takes too long, for example because the store is away, other lanes resume meanwhile.
    pub async fn run(mut self, runner: &Runner, delivery: impl Future<Output = ()>) {
        let mut delivery = std::pin::pin!(delivery);
        if tokio::time::timeout(longest(runner), &mut delivery).await.is_err() {
            (self.process, self.announced) = (None, None);
            delivery.await;
        }
    }
}

/// Pauses before deferred rows are handed back, if the table has no column to defer them.
pub(crate) async fn put_off(runner: &Runner) {
    if runner.lane.contract.due.defer == Defer::None {
        tokio::time::sleep(KEPT).await;
    }
}

fn later(after: Duration) -> Outcome {
    let failure = Failure::new("waits to be delivered alone, after its workers died several times");
    Outcome::Deferred(Failure { after: Some(after), ..failure })
}

/// Returns the longest time that a delivery of this lane may take.
fn longest(runner: &Runner) -> Duration {
    runner.lane.limits.timeout + GRACE
}

/// Waits, and notes progress meanwhile, so that the watchdog does not report a stall.
async fn not_stalled<T>(runner: &Runner, waits: impl Future<Output = T>) -> T {
    let mut waits = std::pin::pin!(waits);
    loop {
        match tokio::time::timeout(TICK, &mut waits).await {
            Ok(done) => return done,
            Err(_) => runner.note_progress(),
        }
    }
}
