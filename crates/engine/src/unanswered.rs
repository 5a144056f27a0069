//! Claims whose answer was lost. The database may have committed such a claim, and its rows would wait for the end of
//! their lease although no worker delivers them: they are released once the store answers again.
//!
//! Owns: when to search for such rows. Invariant: during a search no claim is in flight, and every row of an answered
//! claim is held; so a row that this store has claimed and the lane does not hold belongs to a claim whose answer was
//! lost.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use postrider_seams::store::{Class, Error};
use postrider_seams::{Lease, RowId};
use tokio::sync::{Notify, RwLock, RwLockReadGuard};
use tokio::time::Instant;

use crate::runner::Runner;

/// The times of the searches, counted from the failure of the claim. The database may still be executing the claim: it
/// can commit for as long as its side of the connection lives, usually a few seconds.
const SEARCH_TIMES: [Duration; 5] = [
    Duration::ZERO,
    Duration::from_secs(2),
    Duration::from_secs(8),
    Duration::from_secs(20),
    Duration::from_secs(40),
];

/// The number of failed searches for which claims wait; after that, claims continue in parallel with the searches.
const HOLDS_CLAIMS: u32 = 3;

/// The number of searches for which a drain waits. A database that commits a claim later than the second one is rare.
const DRAIN_SEARCHES: usize = 2;

/// Time between two tries of a failed search.
const SEARCH_RETRY_DELAY: Duration = Duration::from_secs(1);

/// The lane's claims without an answer.
#[derive(Default)]
pub(crate) struct UnansweredClaims {
    /// Claims read, a search writes.
    gate: RwLock<()>,
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    /// The time of the last claim without an answer, while searches are left.
    since: Option<Instant>,
    /// Searches made since then, and failed tries of the next one.
    searches: usize,
    failed: u32,
    /// Rows that this lane held and lost: they are left to their lease, whatever the database says.
    given_up: Vec<(Instant, RowId)>,
}

impl UnansweredClaims {
    fn state(&self) -> MutexGuard<'_, State> {
        // Plain values: a panic elsewhere can't have left them half written.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self) {
        let mut state = self.state();
        (state.since, state.searches, state.failed) = (Some(Instant::now()), 0, 0);
        self.changed.notify_one();
    }

    /// Returns when the next search is due; `None` if no claim is without an answer.
    fn due(&self) -> Option<Instant> {
        let state = self.state();
        state.since.map(|since| since + SEARCH_TIMES[state.searches.min(SEARCH_TIMES.len() - 1)])
    }

    fn is_due(&self) -> bool {
        self.due().is_some_and(|due| due <= Instant::now())
    }

    fn holds_drain(&self) -> bool {
        let state = self.state();
        state.since.is_some() && state.searches < DRAIN_SEARCHES
    }

    fn holds_claims(&self) -> bool {
        self.is_due() && self.state().failed < HOLDS_CLAIMS
    }

    fn record_search(&self) {
        let mut state = self.state();
        (state.searches, state.failed) = (state.searches + 1, 0);
        if state.searches >= SEARCH_TIMES.len() {
            state.since = None;
        }
    }

    fn failed(&self) {
        self.state().failed += 1;
    }

    /// Stops searching: the rows wait for the end of their lease.
    fn forget(&self) {
        self.state().since = None;
    }

    async fn wait(&self) {
        loop {
            let due = self.due();
            tokio::select! {
                biased;
                () = tokio::time::sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => return,
                () = self.changed.notified() => {}
            }
        }
    }
}

impl Runner {
    /// Waits until the lane may claim. The caller keeps the guard until the rows of the claim are held.
    pub async fn may_claim(&self) -> Result<RwLockReadGuard<'_, ()>, Error> {
        if self.unanswered.holds_claims() {
            self.release_unanswered().await?;
        }
        Ok(self.unanswered.gate.read().await)
    }

    /// Records a failed claim that the database may have committed nevertheless.
    pub fn answered<T>(&self, claimed: Result<T, Error>) -> Result<T, Error> {
        if claimed.as_ref().is_err_and(|error| error.class == Class::Transient) {
            self.unanswered.note();
            self.state.set_unanswered(Some(Instant::now() + self.store.capabilities().lease));
        }
        claimed
    }

    /// Records rows that the lane held and lost.
    pub fn gave_up<'a>(&self, leases: impl Iterator<Item = &'a Lease>) {
        let now = Instant::now();
        let lease = self.store.capabilities().lease;
        let mut state = self.unanswered.state();
        state.given_up.retain(|(at, _)| now - *at < lease);
        state.given_up.extend(leases.map(|lease| (now, lease.id.clone())));
    }

    /// Releases the rows of claims whose answer was lost, if a search is due.
    pub async fn release_unanswered(&self) -> Result<(), Error> {
        let _none_in_flight = self.unanswered.gate.write().await;
        if !self.unanswered.is_due() {
            return Ok(());
        }
        match self.store.release_lost_claims(&self.held()).await {
            Ok(rows) => {
                self.unanswered.record_search();
                if self.store.capabilities().finds_lost_claims && !self.unanswered.holds_drain() {
                    self.state.set_unanswered(None);
                }
                self.note_released(rows);
                Ok(())
            }
            Err(error) if error.class == Class::Transient => {
                self.unanswered.failed();
                Err(error)
            }
            Err(error) => {
                self.unanswered.forget();
                tracing::warn!(lane = self.state.name, %error, "rows of a claim without an answer wait for their lease");
                Ok(())
            }
        }
    }

    /// Searches at the end of a drain until the rows of claims without an answer are released, or the drain's time limit
    /// ends it.
    pub async fn finish_unanswered(&self) {
        while self.store.capabilities().finds_lost_claims && self.unanswered.holds_drain() {
            self.unanswered.wait().await;
            search(self).await;
        }
    }

    /// Returns the leases of all rows that the lane holds, or held and left to their lease.
    fn held(&self) -> Vec<Lease> {
        let mut held: Vec<Lease> =
            self.open_batches().iter().flat_map(|batch| batch.leases()).map(|(_, lease)| lease).collect();
        let state = self.unanswered.state();
        held.extend(state.given_up.iter().map(|(_, id)| Lease { id: id.clone(), fence: Box::default() }));
        held
    }

    fn note_released(&self, rows: u64) {
        if rows == 0 {
            return;
        }
        self.state.counters.reclaimed.fetch_add(rows, Relaxed);
        tracing::warn!(lane = self.state.name, rows, "released rows of a claim whose answer was lost");
        // Wake the claimer or, with a queue, the publisher: the released rows are due.
        self.freed.notify_one();
        if self.lane.queue.is_some() {
            self.retry_timer.falls_due(Duration::ZERO);
        }
    }
}

/// Makes the searches that are due, whether the lane claims or not.
pub(crate) async fn run(runner: Arc<Runner>) {
    loop {
        runner.unanswered.wait().await;
        search(&runner).await;
    }
}

async fn search(runner: &Runner) {
    if let Err(error) = runner.release_unanswered().await {
        tracing::debug!(lane = runner.state.name, %error, "could not find rows of a claim without an answer");
        tokio::time::sleep(SEARCH_RETRY_DELAY).await;
    }
}
