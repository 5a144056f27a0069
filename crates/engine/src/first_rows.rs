//! The first rows of a new or changed contract: if most of them are rejected, the contract is the likelier mistake, and
//! the lane stops before it ends a whole backlog.
//!
//! Until the contract is judged, rejections are kept back, and their rows stay leased. Then they are settled as usual,
//! or handed back. Invariant: once the contract is known to be good this costs one atomic load per batch of outcomes.

mod verdict;

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use postrider_contract::Transition;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::outcomes::DecidedRow;
use crate::runner::Runner;
use verdict::{Tally, Verdict};

/// The longest time for which a rejection is kept back while too few rows are there to judge the contract.
const KEPT_FOR: Duration = Duration::from_secs(3);
/// Time between two looks at the memory: an operator may have decided that the contract is good.
const MEMORY_EVERY: Duration = Duration::from_secs(5);
/// Wait after a failed read of the memory.
const RETRY: Duration = Duration::from_secs(1);

/// The outcomes of the first rows.
#[derive(Debug)]
pub(crate) struct FirstRows {
    /// Whether outcomes pass unseen.
    judged_good: AtomicBool,
    inner: Mutex<Inner>,
    /// Notified when something is to be done: outcomes are kept, or the contract was judged.
    changed: Notify,
}

#[derive(Debug, Default)]
struct Inner {
    tally: Tally,
    kept: Vec<DecidedRow>,
    /// Since when the first of them has been kept.
    since: Option<Instant>,
    /// The reason of one of the rejections.
    reason: Option<String>,
    stopped: bool,
    /// Rejections that were settled before the contract was judged.
    ended: u64,
}

impl FirstRows {
    /// Starts to watch; `false` lets every outcome pass.
    pub fn new(watches: bool) -> Self {
        Self { judged_good: AtomicBool::new(!watches), inner: Mutex::default(), changed: Notify::new() }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes rows that go through the composer.
    pub fn composed(&self, rows: usize) {
        if !self.judged_good.load(Relaxed) {
            self.lock().tally.composed(rows);
        }
    }

    /// Returns the outcomes that may be settled now. Rejections are kept until the contract is judged, and handed back
    /// once it stopped the lane.
    pub fn pass(&self, rows: Vec<DecidedRow>) -> Vec<DecidedRow> {
        if self.judged_good.load(Relaxed) {
            return rows;
        }
        let mut inner = self.lock();
        let mut passed = Vec::with_capacity(rows.len());
        for row in rows {
            match row.transition {
                Transition::Rejected if inner.stopped => passed.extend(handed_back(row)),
                Transition::Rejected => {
                    inner.tally.rejected();
                    inner.reason = inner.reason.take().or_else(|| row.reason.clone());
                    inner.since = inner.since.or_else(|| Some(Instant::now()));
                    inner.kept.push(row);
                }
                transition => {
                    let untried = matches!(transition, Transition::Released | Transition::Deferred);
                    if !untried && !inner.stopped {
                        inner.tally.other();
                    }
                    passed.push(row);
                }
            }
        }
        passed.extend(self.judge(&mut inner, false));
        drop(inner);
        self.changed.notify_one();
        passed
    }

    /// Judges the contract if enough rows are there; returns the outcomes that are kept no longer. `pause`: no further
    /// row came for a while.
    fn judge(&self, inner: &mut Inner, pause: bool) -> Vec<DecidedRow> {
        if inner.stopped {
            return Vec::new();
        }
        match inner.tally.verdict(pause) {
            Verdict::Open if !pause => return Vec::new(),
            Verdict::Open => inner.ended += inner.kept.len() as u64,
            Verdict::Good => self.judged_good.store(true, Relaxed),
            Verdict::Bad => {
                inner.stopped = true;
                inner.since = None;
                return std::mem::take(&mut inner.kept).into_iter().filter_map(handed_back).collect();
            }
        }
        inner.since = None;
        std::mem::take(&mut inner.kept)
    }

    /// Returns what was kept too long, or is kept when the lane ends.
    pub fn take_kept(&self, ends: bool) -> Vec<DecidedRow> {
        let mut inner = self.lock();
        let is_due = inner.since.is_some_and(|since| ends || since.elapsed() >= KEPT_FOR);
        if is_due { self.judge(&mut inner, true) } else { Vec::new() }
    }

    /// Lets every outcome pass from now on; returns those that were kept.
    fn accept(&self) -> Vec<DecidedRow> {
        self.judged_good.store(true, Relaxed);
        let mut inner = self.lock();
        inner.since = None;
        std::mem::take(&mut inner.kept)
    }

    /// Returns why the lane stops, once it does.
    fn stop_reason(&self, runner: &Runner) -> Option<String> {
        let inner = self.lock();
        if !inner.stopped {
            return None;
        }
        let (lane, state) = (&runner.state.name, runner.lane.contract.state(runner.stage().rejected));
        let ended = match inner.ended {
            0 => "no row was ended by it".to_owned(),
            ended => format!(
                "{ended} rows were ended by it before: `postrider list {lane} --state {state}` shows them, `postrider requeue \
                 {lane} --state {state} --since 1h` takes them back",
                state = state.name
            ),
        };
        Some(format!(
            "{} of the first {} rows of contract {} were rejected ({}), so the contract is probably wrong; {ended}; see `postrider \
             preview {lane}`, correct the contract and start again, or accept it with `postrider resume {lane}`",
            inner.tally.rejections(),
            inner.tally.rows(),
            runner.lane.contract.name,
            inner.reason.as_deref().unwrap_or("no reason"),
        ))
    }
}

/// The move that hands back a rejected row, with the rows of its group behind it.
fn handed_back(row: DecidedRow) -> Option<DecidedRow> {
    let leases = std::iter::once(row.lease).chain(row.behind).collect();
    DecidedRow::released_together(leases)
}

/// Watches until the contract is known to be good.
pub(crate) async fn run(runner: Arc<Runner>) {
    let Some(memory) = runner.lane.contract_memory.clone() else { return };
    let first_rows = &runner.outcomes.first_rows;
    if is_known(&runner).await {
        return runner.outcomes.settle_now(first_rows.accept());
    }
    loop {
        if let Some(reason) = first_rows.stop_reason(&runner) {
            return stop(&runner, reason).await;
        }
        if first_rows.judged_good.load(Relaxed) {
            if let Err(error) = memory.remember_good().await {
                tracing::debug!(lane = runner.state.name, %error, "cannot remember that the contract is good");
            }
            return;
        }
        tokio::select! {
            () = first_rows.changed.notified() => {}
            () = tokio::time::sleep(KEPT_FOR / 6) => runner.outcomes.push_kept(),
        }
    }
}

/// Reads the memory; while it cannot be read, the contract counts as new.
async fn is_known(runner: &Runner) -> bool {
    let Some(memory) = &runner.lane.contract_memory else { return true };
    match memory.is_good().await {
        Ok(known) => known,
        Err(error) => {
            tracing::debug!(lane = runner.state.name, %error, "cannot read whether the contract is known");
            tokio::time::sleep(RETRY).await;
            false
        }
    }
}

/// Stops the lane until an operator accepts the contract.
async fn stop(runner: &Runner, reason: String) {
    tracing::error!(lane = runner.state.name, reason, "the lane stops");
    runner.state.set_contract(Some(reason));
    runner.release_waiting();
    if let Some(memory) = &runner.lane.contract_memory
        && let Err(error) = memory.remember_stopped().await
    {
        tracing::debug!(lane = runner.state.name, %error, "cannot remember that the lane stopped");
    }
    while !is_known(runner).await {
        tokio::time::sleep(MEMORY_EVERY).await;
    }
    runner.outcomes.settle_now(runner.outcomes.first_rows.accept());
    runner.state.set_contract(None);
    tracing::info!(lane = runner.state.name, "the contract was accepted; the lane goes on");
}

#[cfg(test)]
mod tests;
