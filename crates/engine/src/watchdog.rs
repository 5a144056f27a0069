//! Reports a lane that stops moving, and applies an operator's pause from the database to the lane.
//!
//! A lane is stalled if one of these holds, and the store and the target are not known to be away:
//! - the store has not answered a call of the loop (claim, settle, extend, load) for [`UNANSWERED`]: a locked table, or
//!   a database that hangs;
//! - rows are due, and for [`PASSED_OVER`] no claim returned one: another transaction holds them;
//! - the external queue has messages, there is room for rows, and for [`UNRECEIVED`] none was received: the receiver
//!   hangs, or the consumer on the broker delivers nothing;
//! - rows are held whose outcome was not refused, and for [`STALL_MARGIN`] beyond the longest delivery nothing has moved: a part of the loop hangs.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use postrider_contract::ClaimedState;
use postrider_seams::Queue;
use tokio::time::Instant;

use crate::claimer;
use crate::runner::Runner;

const TICK: Duration = Duration::from_secs(1);

/// Time without an answer after which a store call counts as stalled. A claim normally takes milliseconds. Together
/// with the waits before and after it (a poll, a tick, the overview's next refresh), this stays within the ten seconds
/// in which a stall must be reported.
const UNANSWERED: Duration = Duration::from_secs(3);

/// Time for which claims may miss due rows: longer than our own workers block each other.
const PASSED_OVER: Duration = Duration::from_secs(4);

/// Time between two requests for the number of messages in the queue of a lane that receives nothing. Cloud providers
/// bill each request.
const QUEUE_CHECK_INTERVAL: Duration = Duration::from_secs(5);

/// Time for which messages may wait in the queue: longer than they do while a receiver works.
const UNRECEIVED: Duration = Duration::from_secs(4);

/// Time without progress that is allowed in addition to the delivery's time limit and its grace (`send.rs`).
const STALL_MARGIN: Duration = Duration::from_secs(10);

/// Runs the watchdog. The pause flag and the queue have their own loops: a database or a broker that hangs must not
/// keep the watchdog from reporting a stall.
pub(crate) async fn run(runner: Arc<Runner>) {
    tokio::join!(biased; apply_pause_flag(&runner), watch_queue(&runner), watch(&runner));
}

/// Checks whether messages wait in the queue while the lane has room and receives none.
async fn watch_queue(runner: &Runner) {
    let Some(queue) = runner.lane.queue.clone() else { return };
    loop {
        tokio::time::sleep(QUEUE_CHECK_INTERVAL).await;
        let waits = should_receive(runner) && has_messages(&*queue).await;
        // A pointer may have been received during the request.
        runner.unreceived.set(waits && should_receive(runner));
    }
}

fn should_receive(runner: &Runner) -> bool {
    runner.state.is_open()
        && !runner.state.has_queue_trouble()
        && claimer::room(runner) > 0
        && runner.received.elapsed() >= UNRECEIVED
}

async fn has_messages(queue: &dyn Queue) -> bool {
    // If the queue does not answer it is away, which the receiver reports.
    matches!(tokio::time::timeout(QUEUE_CHECK_INTERVAL, queue.waiting()).await, Ok(Ok(messages)) if messages > 0)
}

async fn apply_pause_flag(runner: &Runner) {
    loop {
        match runner.store.paused(&runner.state.name).await {
            Ok(paused) => {
                runner.state.set_paused(paused);
                if paused {
                    runner.release_waiting();
                }
            }
            // The claimer reports the state of the store; the lane keeps the last known pause flag.
            Err(error) => {
                tracing::debug!(lane = runner.state.name, %error, "the pause flag could not be read");
            }
        }
        tokio::time::sleep(TICK).await;
    }
}

async fn watch(runner: &Runner) {
    let mut said = false;
    loop {
        let reason = stalled(runner);
        if let Some(reason) = reason.as_ref().filter(|_| !said) {
            tracing::error!(lane = runner.state.name, reason, "the lane is stalled");
        } else if said && reason.is_none() {
            tracing::info!(lane = runner.state.name, "the lane moves again");
        }
        said = reason.is_some();
        runner.state.set_stalled(reason);
        publish(runner);
        tokio::time::sleep(TICK).await;
    }
}

/// Returns why the lane does not move although it should; `None` if it is not stalled.
fn stalled(runner: &Runner) -> Option<String> {
    if let Some((verb, _)) = runner.pending_calls.oldest().filter(|(_, since)| *since >= UNANSWERED) {
        return Some(format!(
            "the database has not answered ({verb}) for over {} s: is the table locked, or the database overloaded?",
            UNANSWERED.as_secs()
        ));
    }
    if runner.passed_over.lasts().is_some_and(|since| since >= PASSED_OVER) {
        return Some(format!(
            "rows are due, and for over {} s no claim has got one: does another transaction hold them?",
            PASSED_OVER.as_secs()
        ));
    }
    if runner.unreceived.lasts().is_some_and(|since| since >= UNRECEIVED) {
        return Some(format!(
            "the queue has messages, and for over {} s none was received although there is room: restart this worker, and check the consumer on the broker",
            UNRECEIVED.as_secs()
        ));
    }
    let limit = runner.lane.limits.timeout + STALL_MARGIN;
    (runner.state.held() > runner.refused.rows() && runner.since_progress() > limit)
        .then(|| format!("rows are held, and nothing has moved for over {} s", limit.as_secs()))
}

/// Since when a condition has been true without interruption; empty while it is false.
#[derive(Debug, Default)]
pub(crate) struct TrueSince(Mutex<Option<Instant>>);

impl TrueSince {
    /// Sets the condition; the time starts when it changes to true.
    pub fn set(&self, is: bool) {
        let mut since = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *since = if is { since.or_else(|| Some(Instant::now())) } else { None };
    }

    fn lasts(&self) -> Option<Duration> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).map(|since| since.elapsed())
    }
}

/// The time at which something last happened, readable without a lock.
#[derive(Debug)]
pub(crate) struct LastProgress {
    began: Instant,
    /// Milliseconds since `began`.
    at: AtomicU64,
}

impl LastProgress {
    /// Creates one: the progress was now.
    pub fn now() -> Self {
        Self { began: Instant::now(), at: AtomicU64::new(0) }
    }

    /// Records progress now.
    pub fn note(&self) {
        self.at.store(u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX), Relaxed);
    }

    /// Returns the time since the last progress.
    pub fn elapsed(&self) -> Duration {
        self.began.elapsed().saturating_sub(Duration::from_millis(self.at.load(Relaxed)))
    }
}

/// Whether a claim would return every row that [`next_due`](postrider_seams::Store::next_due) reports as due, unless
/// another transaction holds it. Not if a pool may be full, rows must have a minimum age, or a claim leaves rows in
/// their state.
pub(crate) fn misses_rows(runner: &Runner) -> bool {
    let contract = &runner.lane.contract;
    contract.pool.is_none()
        && contract.claim.min_age < UNANSWERED
        && matches!(runner.stage().claimed, ClaimedState::State(_))
        && runner.lane.queue.is_none()
}

fn publish(runner: &Runner) {
    let lane = runner.state.name.clone();
    #[allow(clippy::cast_precision_loss)] // a gauge of rows held is far below 2^52
    metrics::gauge!("postrider_rows_held", "lane" => lane.clone()).set(runner.state.held() as f64);
    let ready = if runner.state.health().is_ready() { 1.0 } else { 0.0 };
    metrics::gauge!("postrider_lane_ready", "lane" => lane).set(ready);
}
