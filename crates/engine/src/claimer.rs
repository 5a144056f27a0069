//! Claims rows while there is room, and prefetches while deliveries run. One claimer leads: it alone waits on an idle
//! table. The others assist while the backlog is deep, and send no query otherwise. Every `select!` is `biased`: which
//! of two ready branches runs must be deterministic, so that a simulated run can be replayed from its random seed.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use postrider_seams::{ClaimedRow, store, transport};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::batch::{Batch, HeldRow};
use crate::boot_instant::BootInstant;
use crate::room::{Source, WaitingClaimer};
use crate::runner::Runner;
use crate::sizes::FullClaim;
use crate::state::Phase;
use crate::watchdog;

/// The result of one poll of the table.
enum PollResult {
    /// As many rows as requested: there are more.
    Full,
    /// Fewer rows: no other row of the table is due.
    Drained,
    /// Too little room to be worth a round trip.
    NoRoom,
    Failed(Duration),
}

/// Claims until the lane drains; waits for rows when the table is empty.
pub(crate) async fn lead(runner: Arc<Runner>) {
    let mut changed = runner.state.subscribe();
    let mut freed = runner.room.subscribe();
    let mut place = None;
    let mut failures = 0;
    let mut claimed = Instant::now();
    let mut is_full = false;
    let mut claimed_again_at = None;
    while !is_draining(&runner) {
        if !runner.state.is_open() || !holds_single_lock(&runner).await {
            place = None;
            runner.passed_over.set(false);
            // Wakes when the lane opens or drains; the timeout is for the single-claimer lock.
            let _ = tokio::time::timeout(Duration::from_secs(2), changed.changed()).await;
            continue;
        }
        let late = is_full && runner.is_fair() && claimed.elapsed() >= FAIR_CLAIM_INTERVAL;
        let capacity = if late { ClaimCapacity::All } else { ClaimCapacity::Usual };
        freed.mark_unchanged();
        let result = claim_once(&runner, capacity, &mut place, &mut failures).await;
        is_full = matches!(result, PollResult::NoRoom);
        if !is_full {
            claimed = Instant::now();
        }
        match result {
            PollResult::Full => runner.backlog.notify_waiters(),
            PollResult::Drained => {
                let poll = Instant::now() + runner.lane.limits.poll_interval;
                // A lane that is woken again soon need not know when the next row falls due.
                let soon = Instant::now() + NEXT_DUE_DELAY.min(runner.lane.limits.poll_interval / 4);
                if !woken(&runner, &mut changed, soon).await
                    && let Some(deadline) = idle_deadline(&runner, &mut claimed_again_at).await
                {
                    woken(&runner, &mut changed, deadline.min(poll)).await;
                }
            }
            PollResult::NoRoom => {
                if capacity == ClaimCapacity::All {
                    // The lane holds its maximum. The fairness key with the most waiting rows hands some back, so that
                    // the next claim finds rows of other keys.
                    claimed = Instant::now();
                    runner.release(runner.waiting.evict(runner.lane.limits.batch as usize));
                }
                place.get_or_insert_with(|| runner.room.wait(Source::Table));
                tokio::select! {
                    biased;
                    _ = freed.changed() => {}
                    _ = changed.changed() => {}
                    () = tokio::time::sleep_until(claimed + FAIR_CLAIM_INTERVAL), if runner.is_fair() => {}
                }
            }
            PollResult::Failed(wait) => {
                // The failure itself changed the health; only a later change may cut the wait short.
                changed.mark_unchanged();
                if !is_draining(&runner) {
                    tokio::select! {
                        biased;
                        () = tokio::time::sleep(wait) => {}
                        _ = changed.changed() => {}
                    }
                }
            }
        }
    }
    give_single_lock_back(&runner).await;
}

/// Waits on an idle table. Returns whether anything happened before the deadline: rows may be ready, or the lane's state
/// has changed.
async fn woken(runner: &Runner, changed: &mut watch::Receiver<u64>, deadline: Instant) -> bool {
    tokio::select! {
        biased;
        () = runner.store.wake(deadline) => Instant::now() < deadline,
        // Rows of a group or pool that had to wait until our own rows were settled.
        () = runner.freed.notified() => true,
        _ = changed.changed() => true,
    }
}

/// Claims in parallel with the leader for as long as claims return full batches.
pub(crate) async fn assist(runner: Arc<Runner>) {
    let mut changed = runner.state.subscribe();
    let mut freed = runner.room.subscribe();
    let mut failures = 0;
    while !is_draining(&runner) {
        tokio::select! {
            biased;
            () = runner.backlog.notified() => {}
            _ = changed.changed() => continue,
        }
        // The leader waits for room on behalf of all claimers.
        let mut place = None;
        while runner.state.is_open() && !runner.lane.limits.single_claimer {
            freed.mark_unchanged();
            match claim_once(&runner, ClaimCapacity::Usual, &mut place, &mut failures).await {
                PollResult::Full => {}
                PollResult::NoRoom => {
                    tokio::select! {
                        biased;
                        _ = freed.changed() => {}
                        _ = changed.changed() => {}
                    }
                }
                PollResult::Drained | PollResult::Failed(_) => break,
            }
        }
    }
}

/// The part of the lane's capacity that a claim may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ClaimCapacity {
    /// The capacity that claims of the current size need.
    Usual,
    /// The whole capacity: slow rows fill the usual one, and a client that sends its first row must not wait for them.
    All,
}

/// The longest time without a claim on a lane whose clients share it fairly.
const FAIR_CLAIM_INTERVAL: Duration = Duration::from_millis(500);

/// Makes one claim. `place` is the claimer's place among those that wait for room; it is dropped once there is some.
async fn claim_once<'a>(
    runner: &'a Runner,
    capacity: ClaimCapacity,
    place: &mut Option<WaitingClaimer<'a>>,
    failures: &mut u32,
) -> PollResult {
    let Some(limit) = reserve(runner, capacity) else { return PollResult::NoRoom };
    *place = None;
    let reserved = &runner.state.counters.reserved;
    reserved.fetch_add(u64::from(limit), Relaxed);
    let claimed = claim(runner, limit).await;
    reserved.fetch_sub(u64::from(limit), Relaxed);
    match claimed {
        Ok(rows) => {
            *failures = 0;
            runner.store_is_back();
            let got = rows.len() as u64;
            if got > 0 {
                runner.passed_over.set(false);
            }
            let full = got >= u64::from(limit);
            if full {
                let row_bytes = rows.iter().map(|held| held.row.inline_bytes()).sum::<u64>() / got.max(1);
                let is_distant = runner.round_trip.is_distant();
                let claim = FullClaim { is_distant, waiting: runner.waiting.rows(), row_bytes };
                runner.claim_size.came_full(&runner.lane.limits, &claim);
            }
            give_room_back(runner, u64::from(limit) - got.min(u64::from(limit)));
            accept(runner, rows).await;
            if full { PollResult::Full } else { PollResult::Drained }
        }
        Err(error) => {
            give_room_back(runner, u64::from(limit));
            *failures += 1;
            let wait = runner.store_failed(&error, *failures);
            tracing::warn!(lane = runner.state.name, %error, "claim failed; trying again");
            PollResult::Failed(wait)
        }
    }
}

async fn claim(runner: &Runner, limit: u32) -> Result<Vec<HeldRow>, store::Error> {
    let _claiming = runner.may_claim().await?;
    let asked = BootInstant::now();
    let rows = runner.answered(runner.claim(limit).await)?;
    Ok(hold(runner, rows, asked))
}

/// Opens a batch for claimed rows: from now on their leases are extended.
pub(crate) fn hold(runner: &Runner, rows: Vec<ClaimedRow>, asked: BootInstant) -> Vec<HeldRow> {
    if rows.is_empty() {
        return Vec::new();
    }
    runner.state.counters.claimed.fetch_add(rows.len() as u64, Relaxed);
    runner.note_progress();
    let (batch, held) = Batch::open(rows, asked, runner.store.capabilities().lease);
    runner.register_batch(&batch);
    held
}

/// Queues the rows for delivery.
pub(crate) async fn accept(runner: &Runner, rows: Vec<HeldRow>) {
    if !rows.is_empty() {
        look_up(runner, &rows).await;
        runner.waiting.push(rows);
    }
}

/// Looks up the recipients of all rows of a claim at once: a query for each transport call would cost a database round
/// trip per call.
async fn look_up(runner: &Runner, rows: &[HeldRow]) {
    let claimed: Vec<&ClaimedRow> = rows.iter().map(|held| &held.row).collect();
    let recipients = runner.lane.composer.recipients(&claimed).await;
    let addressed = claimed
        .iter()
        .zip(recipients)
        .map(|(row, recipients)| transport::Addressed { row: row.lease.id.to_string(), recipients });
    let addressed: Vec<_> = addressed.filter(|one| !one.recipients.is_empty()).collect();
    if !addressed.is_empty() {
        runner.transport.look_up_claimed(&addressed).await;
    }
}

/// Returns how many more rows the lane may hold, at most one claim's worth.
pub(crate) fn room(runner: &Runner) -> u64 {
    let bound = runner.claim_size.held(&runner.lane.limits);
    let most = u64::from(runner.claim_size.rows()).min(bound).max(1);
    bound.saturating_sub(runner.state.counters.held.load(Relaxed)).min(most)
}

/// Reserves room for up to `rows` rows of the queue; returns the number reserved.
pub(crate) fn reserve_up_to(runner: &Runner, rows: u64) -> u64 {
    if !runner.room.may(Source::Queue) {
        return 0;
    }
    let bound = runner.claim_size.held(&runner.lane.limits);
    let held = &runner.state.counters.held;
    let mut now = held.load(Relaxed);
    loop {
        let room = bound.saturating_sub(now).min(rows);
        if room == 0 {
            return 0;
        }
        match held.compare_exchange_weak(now, now + room, Relaxed, Relaxed) {
            Ok(_) => {
                runner.room.took(Source::Queue);
                return room;
            }
            Err(seen) => now = seen,
        }
    }
}

/// Reserves room for a claim. While rows wait for delivery, only a whole batch is worth a round trip; otherwise half of
/// one is. If the queue's rows wait for room too, any room is used: they would take every freed slot before half a
/// batch is free.
fn reserve(runner: &Runner, capacity: ClaimCapacity) -> Option<u32> {
    if !runner.room.may(Source::Table) {
        return None;
    }
    let limits = &runner.lane.limits;
    let all = capacity == ClaimCapacity::All;
    let contended = runner.room.is_contended(Source::Table);
    let bound = if all { limits.max_held as u64 } else { runner.claim_size.held(limits) };
    let most = u64::from(if all { limits.batch } else { runner.claim_size.rows() }).min(bound).max(1);
    let patient = bound >= 2 * most && !runner.waiting.is_empty();
    let least = if all || contended {
        1
    } else if patient {
        most
    } else {
        most.div_ceil(2)
    };
    let held = &runner.state.counters.held;
    let mut now = held.load(Relaxed);
    loop {
        let room = bound.saturating_sub(now).min(most);
        if room < least {
            return None;
        }
        match held.compare_exchange_weak(now, now + room, Relaxed, Relaxed) {
            Ok(_) => {
                runner.room.took(Source::Table);
                return u32::try_from(room).ok();
            }
            Err(seen) => now = seen,
        }
    }
}

/// Returns room that a claim reserved and did not use.
pub(crate) fn give_room_back(runner: &Runner, rows: u64) {
    if rows > 0 {
        runner.state.counters.held.fetch_sub(rows, Relaxed);
        runner.room.freed();
    }
}

/// How long an idle lane waits to be woken before it asks when the next row falls due.
const NEXT_DUE_DELAY: Duration = Duration::from_millis(20);

/// The longest poll interval while a row is due but claims do not return it, probably because it is locked.
const LOCKED_ROW_POLL: Duration = Duration::from_secs(2);

/// Returns when to poll next: after the poll interval, or earlier if a row falls due before that. `None` if a row is due
/// that may have become so since the last claim: it is claimed now.
///
/// `claimed_again_at` is the number of rows claimed so far when that happened: if the next claim returns no row, the due
/// row is locked by another worker, or exempt. Then the lane waits for the poll interval instead of polling at once.
async fn idle_deadline(runner: &Runner, claimed_again_at: &mut Option<u64>) -> Option<Instant> {
    let poll = runner.lane.limits.poll_interval;
    let due = runner.store.next_due().await;
    let is_due = matches!(due, Ok(Some(Duration::ZERO)));
    let now = is_due.then(|| runner.state.counters.claimed.load(Relaxed));
    let before = std::mem::replace(claimed_again_at, now);
    if is_due && before != now {
        return None;
    }
    let passed_over = is_due && watchdog::misses_rows(runner);
    runner.passed_over.set(passed_over);
    let wait = match due {
        Ok(Some(due)) if due > Duration::ZERO => poll.min(due),
        _ if passed_over => poll.min(LOCKED_ROW_POLL),
        _ => poll,
    };
    Some(Instant::now() + wait)
}

pub(crate) fn is_draining(runner: &Runner) -> bool {
    matches!(runner.state.phase(), Phase::Draining | Phase::Stopped)
}

const SINGLE_LOCK_TTL: Duration = Duration::from_secs(15);

fn single_lock(runner: &Runner) -> String {
    format!("claim:{}", runner.state.name)
}

async fn holds_single_lock(runner: &Runner) -> bool {
    if !runner.lane.limits.single_claimer {
        return true;
    }
    runner.store.lock(&single_lock(runner), SINGLE_LOCK_TTL).await.unwrap_or(false)
}

async fn give_single_lock_back(runner: &Runner) {
    if runner.lane.limits.single_claimer
        && let Err(error) = runner.store.unlock(&single_lock(runner)).await
    {
        tracing::warn!(lane = runner.state.name, %error, "the single-claimer lock could not be given back; it expires");
    }
}
