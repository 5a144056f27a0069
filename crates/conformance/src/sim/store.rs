//! A store with the faults of a database: unavailable for a while, slow, answers lost, its worker killed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use postrider_contract::{StateId, Transition};
use postrider_seams::row::Fields;
use postrider_seams::store::{
    Capabilities, Class, Error, LeaseResult, Reclaimed, Settlement, Store, SweepKind,
};
use postrider_seams::{ClaimedRow, Lease, Value};
use postrider_store_memory::{MemoryStore, MemoryTable};
use tokio::time::Instant;

use super::group_order::GroupOrder;
use super::journal::{Event, SimJournal};
use super::random::SimRandom;
use super::worker_life::WorkerLife;
use crate::subject::Subject;

/// The state that all workers of a run share.
pub(crate) struct SimState {
    pub subject: Subject,
    pub table: Arc<MemoryTable>,
    pub random: Arc<SimRandom>,
    pub journal: Arc<SimJournal>,
    /// Whether faults happen.
    pub faulty: AtomicBool,
    /// Whether the database is unreachable.
    pub away: AtomicBool,
    /// Row → the fence of its current holder, as the run observed it.
    pub holders: Mutex<BTreeMap<String, Box<[Value]>>>,
    /// Rows whose delivery has begun since their last claim.
    pub begun: Mutex<BTreeSet<String>>,
    /// Rows of claims whose answer was lost, with the time of the loss and the worker that made the claim.
    pub unanswered: Mutex<BTreeMap<String, (Instant, Arc<WorkerLife>)>>,
    pub order: GroupOrder,
    /// Whether the target accepts a run in one call and keeps its order.
    pub pipelined: bool,
}

impl SimState {
    fn holders(&self) -> MutexGuard<'_, BTreeMap<String, Box<[Value]>>> {
        self.holders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn holds(&self, lease: &Lease) -> bool {
        self.holders().get(&lease.id.to_string()) == Some(&lease.fence)
    }

    fn unanswered(&self) -> MutexGuard<'_, BTreeMap<String, (Instant, Arc<WorkerLife>)>> {
        self.unanswered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn claim(&self, lease: &Lease) {
        self.unanswered().remove(&lease.id.to_string());
        self.begun.lock().unwrap_or_else(PoisonError::into_inner).remove(&lease.id.to_string());
        self.hold(lease);
    }

    fn hold(&self, lease: &Lease) {
        self.holders().insert(lease.id.to_string(), lease.fence.clone());
    }

    fn begin(&self, lease: &Lease) {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner).insert(lease.id.to_string());
    }

    /// Whether the row's delivery has begun since its last claim.
    fn was_begun(&self, row: &str) -> bool {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner).contains(row)
    }

    /// Checks that the fence accepts the holder and rejects all others.
    fn check_fence(&self, lease: &Lease, let_through: bool, what: &str) {
        if self.holds(lease) != let_through {
            let row = lease.id.to_string();
            let who = if let_through { "somebody else's" } else { "the holder's" };
            self.journal.record(Event::GuaranteeBroken {
                row,
                what: format!("{who} {what}, let through: {let_through}"),
            });
        }
    }
}

/// One worker's connection to the table.
pub(crate) struct FaultyStore {
    pub shared: Arc<SimState>,
    pub inner: Arc<MemoryStore>,
    pub life: Arc<WorkerLife>,
}

impl FaultyStore {
    /// Sends a request. A dead worker's calls never return.
    async fn send_request(&self) -> Result<(), Error> {
        self.network_delay().await;
        if self.shared.away.load(Relaxed) {
            return Err(Error::new(Class::Transient, "the database is away"));
        }
        if self.faulty() && self.shared.random.once_in(40) {
            return Err(Error::new(Class::Transient, "the connection dropped before the statement ran"));
        }
        Ok(())
    }

    /// Returns the answer, or loses it: the change was made either way.
    async fn return_answer<T>(&self, answer: T) -> Result<T, Error> {
        if self.faulty() && self.shared.random.once_in(150) {
            self.life.kill();
        }
        self.network_delay().await;
        if self.faulty() && self.shared.random.once_in(40) {
            return Err(Error::new(Class::Transient, "the connection dropped after the commit"));
        }
        Ok(answer)
    }

    async fn network_delay(&self) {
        let max = if self.faulty() { Duration::from_millis(400) } else { Duration::from_millis(2) };
        self.life.network_delay(self.shared.random.wait(max)).await;
    }

    fn faulty(&self) -> bool {
        self.shared.faulty.load(Relaxed)
    }

    fn moved(&self, row: String, transition: Transition) {
        self.shared.journal.record(Event::Moved { row, transition, died: false });
    }

    /// Returns the keys of all rows that are claimed now.
    fn claimed_rows(&self) -> Vec<String> {
        let subject = &self.shared.subject;
        let rows = super::run::rows(&self.shared.table, subject);
        let claimed = subject.claimed();
        rows.into_iter().filter(|(_, state, _)| *state == Some(claimed)).map(|(row, _, _)| row).collect()
    }
}

#[async_trait]
impl Store for FaultyStore {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    async fn claim(&self, limit: u32) -> Result<Vec<ClaimedRow>, Error> {
        self.send_request().await?;
        let rows = self.inner.claim(limit).await?;
        for row in &rows {
            self.shared.claim(&row.lease);
            self.moved(row.lease.id.to_string(), Transition::Claimed);
        }
        let claimed: Vec<String> = rows.iter().map(|row| row.lease.id.to_string()).collect();
        let answer = self.return_answer(rows).await;
        if answer.is_err() {
            let lost = |row| (row, (Instant::now(), Arc::clone(&self.life)));
            self.shared.unanswered().extend(claimed.into_iter().map(lost));
        }
        answer
    }

    async fn load(&self, leases: &[Lease]) -> Result<Vec<Option<Fields>>, Error> {
        self.send_request().await?;
        let loaded = self.inner.load(leases).await?;
        self.return_answer(loaded).await
    }

    async fn begin(&self, begun: &[Lease], others: &[Lease]) -> Result<Vec<LeaseResult>, Error> {
        self.send_request().await?;
        let answers = self.inner.begin(begun, others).await?;
        for (lease, answer) in begun.iter().zip(&answers) {
            // A lease that has expired but was not reclaimed yet may be reported either way.
            if *answer == LeaseResult::Held {
                self.shared.check_fence(lease, true, "begin");
                self.shared.begin(lease);
            }
        }
        self.return_answer(answers).await
    }

    async fn settle(&self, moves: &[Settlement]) -> Result<Vec<LeaseResult>, Error> {
        self.send_request().await?;
        let answers = self.inner.settle(moves).await?;
        for (settlement, answer) in moves.iter().zip(&answers) {
            let row = settlement.lease.id.to_string();
            self.shared.check_fence(
                &settlement.lease,
                *answer == LeaseResult::Held,
                settlement.transition.name(),
            );
            for lease in settlement.releases.iter().filter(|lease| self.shared.holds(lease)) {
                let row = lease.id.to_string();
                self.shared.holders().remove(&row);
                self.moved(row, Transition::Released);
            }
            match answer {
                LeaseResult::Held => {
                    self.shared.holders().remove(&row);
                    self.moved(row, settlement.transition);
                }
                LeaseResult::Lost | LeaseResult::Refused => {
                    self.shared.journal.record(Event::SettlementLost { row });
                }
            }
        }
        self.return_answer(answers).await
    }

    async fn extend(&self, leases: &[Lease]) -> Result<Vec<Option<Lease>>, Error> {
        self.send_request().await?;
        let extended = self.inner.extend(leases).await?;
        for (lease, answer) in leases.iter().zip(&extended) {
            self.shared.check_fence(lease, answer.is_some(), "extension");
            if let Some(longer) = answer {
                self.shared.hold(longer);
            }
        }
        self.return_answer(extended).await
    }

    async fn reclaim(&self, limit: u32) -> Result<Reclaimed, Error> {
        self.send_request().await?;
        // No other task runs in between, so the table can be compared before and after.
        let before = self.claimed_rows();
        let all = super::run::rows(&self.shared.table, &self.shared.subject);
        let reclaimed = self.inner.reclaim(limit).await?;
        let after = self.claimed_rows();
        let dead = self.shared.subject.stage().dead;
        for row in before.into_iter().filter(|row| !after.contains(row)) {
            let now = super::run::rows(&self.shared.table, &self.shared.subject);
            self.shared.holders().remove(&row);
            // Its worker had a whole lease to release the row.
            if let Some((since, life)) = self.shared.unanswered().remove(&row)
                && life.was_running_since(since)
            {
                let what = "a claim whose answer was lost waited out its lease".to_owned();
                self.shared.journal.record(Event::GuaranteeBroken { row: row.clone(), what });
            }
            let died = now.iter().any(|(key, state, _)| *key == row && *state == Some(dead));
            let attempts = |rows: &[(String, Option<StateId>, i64)]| {
                rows.iter().find(|(key, _, _)| *key == row).map_or(0, |(_, _, attempts)| *attempts)
            };
            let charged = attempts(&now) > attempts(&all);
            if (charged || died) && !self.shared.was_begun(&row) {
                let what = "a crash was counted against a row that was never begun".to_owned();
                self.shared.journal.record(Event::GuaranteeBroken { row: row.clone(), what });
            }
            let transition = if charged || died { Transition::Reclaimed } else { Transition::Released };
            self.shared.journal.record(Event::LeaseExpired { row: row.clone() });
            self.shared.journal.record(Event::Moved { row, transition, died });
        }
        self.return_answer(reclaimed).await
    }

    async fn release_lost_claims(&self, held: &[Lease]) -> Result<u64, Error> {
        self.send_request().await?;
        let before = self.claimed_rows();
        let released = self.inner.release_lost_claims(held).await?;
        let after = self.claimed_rows();
        for row in before.into_iter().filter(|row| !after.contains(row)) {
            if self.shared.unanswered().remove(&row).is_none() && self.shared.was_begun(&row) {
                let what = "a row was released as one of a lost claim, and was begun".to_owned();
                self.shared.journal.record(Event::GuaranteeBroken { row: row.clone(), what });
            }
            self.shared.holders().remove(&row);
            self.moved(row, Transition::Released);
        }
        self.return_answer(released).await
    }

    async fn sweep(&self, sweep: SweepKind, limit: u32) -> Result<u64, Error> {
        self.send_request().await?;
        let swept = self.inner.sweep(sweep, limit).await?;
        self.return_answer(swept).await
    }

    async fn purge(&self, limit: u32) -> Result<u64, Error> {
        self.send_request().await?;
        let purged = self.inner.purge(limit).await?;
        self.return_answer(purged).await
    }

    async fn next_due(&self) -> Result<Option<Duration>, Error> {
        self.send_request().await?;
        let due = self.inner.next_due().await?;
        self.return_answer(due).await
    }

    async fn wake(&self, deadline: Instant) {
        self.inner.wake(deadline).await;
    }

    async fn lock(&self, name: &str, ttl: Duration) -> Result<bool, Error> {
        self.send_request().await?;
        let held = self.inner.lock(name, ttl).await?;
        self.return_answer(held).await
    }

    async fn unlock(&self, name: &str) -> Result<(), Error> {
        self.send_request().await?;
        self.inner.unlock(name).await?;
        self.return_answer(()).await
    }

    async fn paused(&self, lane: &str) -> Result<bool, Error> {
        self.send_request().await?;
        self.inner.paused(lane).await
    }

    async fn set_paused(&self, lane: &str, paused: bool) -> Result<(), Error> {
        self.inner.set_paused(lane, paused).await
    }
}
