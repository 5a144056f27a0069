//! How much at once: rows per claim, envelopes per call of the transport, and calls prepared ahead. Each size follows
//! what was measured: a fast target gets full batches, and a distant database larger ones, because every call to it
//! takes a round trip.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use crate::lane::Limits;

/// A moving average of durations, in nanoseconds; 0 before the first. Lost updates between workers are harmless.
#[derive(Debug, Default)]
struct Average(AtomicU64);

impl Average {
    fn note(&self, took: Duration) {
        let took = nanos(took);
        let before = self.0.load(Relaxed);
        let after = if before == 0 { took } else { (before.saturating_mul(7).saturating_add(took)) / 8 };
        self.0.store(after.max(1), Relaxed);
    }

    fn get(&self) -> Option<u64> {
        Some(self.0.load(Relaxed)).filter(|nanos| *nanos > 0)
    }
}

/// The round trip to the database: the shortest of the latest marks.
///
/// A busy database answers most calls late and some at once, a distant one answers every call late. An average cannot
/// tell them apart, and large claims from a busy database would only make it busier, and fair queues unfair.
#[derive(Debug, Default)]
pub(crate) struct RoundTrip(Mutex<Shortest>);

#[derive(Debug, Default)]
struct Shortest {
    /// Of the marks before the present window.
    before: Option<Duration>,
    /// Of the marks in the present window.
    now: Option<Duration>,
    marks: u32,
}

/// The number of marks in a window. The shortest of up to two windows counts.
const WINDOW: u32 = 8;

/// A database whose round trip takes at least this long counts as distant.
const DISTANT: Duration = Duration::from_millis(50);

impl RoundTrip {
    /// Adds the duration of one mark, a call of one round trip.
    pub fn note(&self, took: Duration) {
        let mut shortest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        shortest.now = Some(shortest.now.map_or(took, |now| now.min(took)));
        shortest.marks += 1;
        if shortest.marks == WINDOW {
            *shortest = Shortest { before: shortest.now, now: None, marks: 0 };
        }
    }

    /// Whether the database is distant: its round trip, not its work, takes the time.
    pub fn is_distant(&self) -> bool {
        let shortest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        shortest.before.into_iter().chain(shortest.now).min().is_some_and(|took| took >= DISTANT)
    }
}

/// Claim size: how many rows one claim requests; the lane's batch, and more while deliveries keep up with full claims.
///
/// A claim costs round trips and a commit, however few rows it returns. If a full claim finds that no rows wait any
/// more, claims were the bottleneck, and the next one requests twice as many. With a slow target this does not happen:
/// its rows wait, so the lane holds few of them and leaves the rest to other workers.
///
/// Invariant: the size is between `batch` and `max_batch`, or `max_batch_distant` while the database is distant; the
/// limit of rows held grows with it, and with it the memory, but only as far as rows of their present size fit into
/// `large_row_bytes`.
#[derive(Debug)]
pub(crate) struct ClaimSize(AtomicU32);

/// The number of claims whose rows may be held at once.
const CLAIMS: u64 = 4;

impl ClaimSize {
    /// Starts with the lane's batch.
    pub fn new(limits: &Limits) -> Self {
        Self(AtomicU32::new(limits.batch.max(1)))
    }

    /// Returns how many rows the next claim requests.
    pub fn rows(&self) -> u32 {
        self.0.load(Relaxed)
    }

    /// Returns how many rows may be held with claims of this size.
    pub fn held(&self, limits: &Limits) -> u64 {
        let (rows, held) = (self.rows(), limits.max_held as u64);
        match CLAIMS * u64::from(rows) {
            usual if rows < limits.max_batch => held.min(usual),
            distant if rows > limits.max_batch => held.max(distant),
            _ => held,
        }
    }

    /// Adapts the size after a full claim. Lost updates between claimers are harmless.
    pub fn came_full(&self, limits: &Limits, claim: &FullClaim) {
        let now = self.rows();
        // Rows are delivered while a claim is in flight, so that a distant database needs more of them to wait.
        let (few, many) =
            if claim.is_distant { (now as usize / 2, 2 * now as usize) } else { (0, now as usize) };
        let next = match claim.waiting {
            waiting if waiting <= few => now.saturating_mul(2),
            waiting if waiting >= many => now / 2,
            _ => now,
        };
        let least = limits.batch.max(1);
        let most = if claim.is_distant { distant(limits, claim) } else { limits.max_batch };
        self.0.store(next.clamp(least, most.max(least)), Relaxed);
    }
}

/// What a full claim showed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FullClaim {
    /// Whether the database is distant.
    pub is_distant: bool,
    /// Rows still waiting for delivery when it was answered.
    pub waiting: usize,
    /// The average size of its rows, in bytes.
    pub row_bytes: u64,
}

/// Returns the largest claim from a distant database: rows of this size, held four claims at a time, fit into the
/// lane's byte budget.
fn distant(limits: &Limits, claim: &FullClaim) -> u32 {
    let fit = limits.large_row_bytes / CLAIMS / claim.row_bytes.max(1);
    let fit = u32::try_from(fit).unwrap_or(u32::MAX);
    limits.max_batch_distant.min(fit).max(limits.max_batch)
}

/// Call size: how many envelopes one transport call carries; full batches for a fast target, few for a slow one.
///
/// The rows of one call are settled together, so during a long call many delivered rows are unsettled; if the worker
/// dies then, all of them are delivered twice. A call is therefore sized to take about [`CALL`].
#[derive(Debug, Default)]
pub(crate) struct CallSize(Average);

/// The target duration of one transport call.
const CALL: Duration = Duration::from_millis(250);

impl CallSize {
    /// Adds the duration of one call with this many envelopes.
    pub fn note(&self, took: Duration, envelopes: usize) {
        self.0.note(took / u32::try_from(envelopes.max(1)).unwrap_or(u32::MAX));
    }

    /// Returns how many envelopes one call should carry, at most `batch`.
    pub fn envelopes(&self, batch: usize) -> usize {
        // No measurement yet: a crash would be counted against all rows of a call, tried or not.
        let Some(each) = self.0.get() else { return 1 };
        usize::try_from(nanos(CALL) / each).unwrap_or(usize::MAX).clamp(1, batch.max(1))
    }
}

/// Calls ahead: how many calls are marked as begun and composed while all deliveries are busy.
///
/// The mark costs a round trip to the database. If the database is distant, every delivery would wait for it before
/// each call. So as many calls are marked ahead as are sent during two marks: while one mark is in flight, the calls of
/// the previous one are sent. A crash charges marked rows although they were not sent, so there are never more of them
/// than that, and none if the target is slow or the database near.
///
/// Averages show how many calls could be sent; they do not change while a lane is idle, or while a target hangs. So
/// there are also never more calls ahead than really were sent during the last two marks. This number grows as fast as
/// calls are answered and falls to none when they are not.
#[derive(Debug)]
pub(crate) struct CallsAhead {
    workers: usize,
    most: usize,
    mark: Average,
    call: Average,
    /// When the last calls were answered, oldest first; at most `most`.
    answered: Mutex<VecDeque<Instant>>,
    /// The number of calls ahead by the averages; `None` once the lane has drained.
    calls: Mutex<Option<usize>>,
    /// Wakes those that wait for a change of `calls`, in the order in which they came.
    changed: Notify,
}

/// A mark that takes no longer than this is not worth calls ahead.
const NEAR: Duration = Duration::from_millis(30);

/// The most calls ahead, per concurrent call and in all.
const MOST_AHEAD: (usize, usize) = (32, 512);

impl CallsAhead {
    /// Creates the size for `workers` concurrent calls. `enabled` is false if calls must not be prepared ahead.
    pub fn new(workers: usize, enabled: bool) -> Self {
        let most = if enabled { (workers * MOST_AHEAD.0).min(MOST_AHEAD.1) } else { 0 };
        let (mark, call) = (Average::default(), Average::default());
        let answered = Mutex::default();
        let calls = Mutex::new(Some(0));
        Self { workers, most, mark, call, answered, calls, changed: Notify::new() }
    }

    /// The most calls ahead there can be.
    pub fn most(&self) -> usize {
        self.most
    }

    /// Adds the duration of one mark.
    pub fn note_mark(&self, took: Duration) {
        self.mark.note(took);
        self.adapt();
    }

    /// Adds the duration of one call, which ends now.
    pub fn note_call(&self, took: Duration) {
        self.call.note(took);
        if self.most > 0 {
            let mut answered = self.answered.lock().unwrap_or_else(PoisonError::into_inner);
            answered.push_back(Instant::now());
            if answered.len() > self.most {
                answered.pop_front();
            }
        }
    }

    /// Returns how long a marked call may wait until it is sent: about two marks, or one usual call. After that, the
    /// target is slower than it was, and a crash must not charge rows that wait for it.
    pub fn max_wait_to_send(&self) -> Duration {
        Duration::from_nanos(self.mark.get().unwrap_or(0).saturating_mul(2)).max(CALL)
    }

    fn calls(&self) -> MutexGuard<'_, Option<usize>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns how many calls may be under way now: in the transport, and marked ahead.
    pub fn under_way_at_most(&self) -> usize {
        let ahead = match *self.calls() {
            None | Some(0) => 0,
            Some(calls) => calls.min(self.answered_lately()),
        };
        self.workers + ahead
    }

    /// Returns how many calls were answered during the last two marks.
    fn answered_lately(&self) -> usize {
        let lately = Duration::from_nanos(self.mark.get().unwrap_or(0).saturating_mul(2));
        let mut answered = self.answered.lock().unwrap_or_else(PoisonError::into_inner);
        while answered.front().is_some_and(|at| at.elapsed() > lately) {
            answered.pop_front();
        }
        answered.len()
    }

    fn adapt(&self) {
        let (Some(mark), Some(call)) = (self.mark.get(), self.call.get()) else { return };
        let during = mark.saturating_sub(nanos(NEAR)).saturating_mul(2 * self.workers as u64) / call;
        let is_slow = call > nanos(self.max_wait_to_send());
        let calls = if is_slow { 0 } else { usize::try_from(during).unwrap_or(usize::MAX).min(self.most) };
        let mut now = self.calls();
        if now.is_some_and(|now| now != calls) {
            *now = Some(calls);
            self.changed.notify_waiters();
        }
    }

    /// Waits until this many calls are ahead and one more is wanted. Returns false once the lane has drained.
    pub async fn wants(&self, ahead: usize) -> bool {
        loop {
            let changed = self.changed.notified();
            match *self.calls() {
                None => return false,
                Some(calls) if ahead < calls => return true,
                Some(_) => {}
            }
            changed.await;
        }
    }

    /// Ends all waits: the lane has drained.
    pub fn close(&self) {
        *self.calls() = None;
        self.changed.notify_waiters();
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX / 8)
}

#[cfg(test)]
mod tests;
