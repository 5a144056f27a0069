//! One worker's view of a table: the verbs of `Store`, each under the table's single lock.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use postrider_contract::{ClaimedState, ColumnRole, Contract, Stage, StateId, Transition};
use postrider_rows::{Row, column_value, due_at, is_blocked_by_sweep, matches_filter, micros};
use postrider_seams::row::CLOCK;
use postrider_seams::store::{Capabilities, Error, LeaseResult, Reclaimed, Settlement, SweepKind};
use postrider_seams::{ClaimedRow, Fields, Handoff, Lease, Store, Value};
use tokio::time::Instant;

use crate::count_field;
use crate::table::{MemoryTable, TableState};

/// A store on a [`MemoryTable`], for one stage and one worker.
pub struct MemoryStore {
    pub(crate) table: Arc<MemoryTable>,
    pub(crate) stage: usize,
    pub(crate) worker: String,
    pub(crate) field_names: Arc<[String]>,
    field_columns: Vec<String>,
}

impl MemoryStore {
    /// Opens a store for one more worker on the table. `worker` must be unique.
    pub fn open(table: &Arc<MemoryTable>, stage: usize, worker: &str) -> Arc<Self> {
        let (mut names, columns): (Vec<_>, Vec<_>) = table.contract.message_columns().into_iter().unzip();
        let counted = table.contract.counts.iter().map(|count| count.field.clone());
        if !table.contract.counts.is_empty() {
            names.extend(counted.chain([CLOCK.to_owned()]));
        }
        Arc::new(Self {
            table: Arc::clone(table),
            stage,
            worker: worker.to_owned(),
            field_names: names.into(),
            field_columns: columns,
        })
    }

    pub(crate) fn contract(&self) -> &Contract {
        &self.table.contract
    }

    pub(crate) fn stage(&self) -> &Stage {
        &self.table.contract.stages[self.stage]
    }

    /// Returns the states in which a claimed row can be.
    pub(crate) fn claimed_states(&self) -> Vec<StateId> {
        match self.stage().claimed {
            ClaimedState::State(state) => vec![state],
            ClaimedState::Same => self.stage().ready.clone(),
        }
    }

    /// Returns the values of the row's fence columns.
    pub(crate) fn fence(&self, row: &Row) -> Box<[Value]> {
        let column = |role| {
            self.contract().column(role).map_or(&Value::Null, |column| column_value(row, column)).clone()
        };
        self.stage().lease.fence.iter().map(|role| column(*role)).collect()
    }

    /// Returns the message columns and the contract's counts. Joined columns are missing: other tables do not exist
    /// here.
    pub(crate) fn fields(&self, table: &TableState, row: &Row, now: i64) -> Fields {
        let contract = self.contract();
        let mut values: Vec<Value> =
            self.field_columns.iter().map(|column| column_value(row, column).clone()).collect();
        if !contract.counts.is_empty() {
            let counts =
                contract.counts.iter().map(|field| count_field::count(contract, field, table, row, now));
            values.extend(counts.chain([now / 1000]).map(Value::Int));
        }
        Fields::new(Arc::clone(&self.field_names), values)
    }
}

#[async_trait]
impl Store for MemoryStore {
    fn capabilities(&self) -> Capabilities {
        let lease = self.stage().lease.duration;
        Capabilities {
            notifies: true,
            claimers: 1,
            settlers: 1,
            settle_batch: 500,
            settle_batch_distant: 2000,
            lease,
            extend_every: lease / 3,
            recipient_results: self.contract().stores_recipients_on(Transition::Retry),
            recipient_results_on_deferral: self.contract().stores_recipients_on(Transition::Deferred),
            reason_limit: None,
            recipients_limit: None,
            finds_lost_claims: self.contract().column(ColumnRole::Owner).is_some(),
        }
    }

    fn handoff(&self) -> Option<&dyn Handoff> {
        self.contract().queue_of(self.stage()).map(|_| self as &dyn Handoff)
    }

    async fn claim(&self, limit: u32) -> Result<Vec<ClaimedRow>, Error> {
        Ok(self.claim_rows(limit))
    }

    async fn load(&self, leases: &[Lease]) -> Result<Vec<Option<Fields>>, Error> {
        let table = self.table.lock();
        let now = self.table.now();
        let fields = |lease: &Lease| table.rows.get(&lease.id).map(|row| self.fields(&table, row, now));
        Ok(leases.iter().map(fields).collect())
    }

    async fn begin(&self, begun: &[Lease], others: &[Lease]) -> Result<Vec<LeaseResult>, Error> {
        Ok(self.begin_rows(begun, others))
    }

    async fn settle(&self, moves: &[Settlement]) -> Result<Vec<LeaseResult>, Error> {
        Ok(moves.iter().map(|settlement| self.settle_row(settlement)).collect())
    }

    async fn extend(&self, leases: &[Lease]) -> Result<Vec<Option<Lease>>, Error> {
        Ok(leases.iter().map(|lease| self.extend_row(lease)).collect())
    }

    async fn reclaim(&self, limit: u32) -> Result<Reclaimed, Error> {
        Ok(self.reclaim_rows(limit))
    }

    async fn release_lost_claims(&self, held: &[Lease]) -> Result<u64, Error> {
        Ok(self.release_lost_rows(held))
    }

    async fn sweep(&self, sweep: SweepKind, limit: u32) -> Result<u64, Error> {
        Ok(match sweep {
            SweepKind::Exhausted => self.sweep_spent(limit),
            SweepKind::Contract(index) => self.sweep_contract(index, limit),
        })
    }

    async fn purge(&self, limit: u32) -> Result<u64, Error> {
        Ok(self.purge_rows(limit))
    }

    async fn next_due(&self) -> Result<Option<Duration>, Error> {
        let now = self.table.now();
        let table = self.table.lock();
        let due = table
            .in_states(&self.stage().ready)
            .iter()
            .map(|id| &table.rows[id])
            .filter(|row| {
                matches_filter(self.contract(), row) && !is_blocked_by_sweep(self.contract(), row, now)
            })
            .filter_map(|row| Some((row, due_at(self.contract(), self.stage(), row)?)))
            // An ordered row that is due but was not claimed waits behind another row.
            .filter(|(row, due)| *due > now || self.ordered(row).is_none())
            .map(|(row, due)| due.max(now + self.rate_wait(&table, row, now).unwrap_or(i64::MIN / 2)))
            .min();
        Ok(due.map(|due| Duration::from_micros(u64::try_from(due.saturating_sub(now)).unwrap_or(0))))
    }

    async fn wake(&self, deadline: Instant) {
        let _ = tokio::time::timeout_at(deadline, self.table.written.notified()).await;
    }

    async fn lock(&self, name: &str, ttl: Duration) -> Result<bool, Error> {
        let now = self.table.now();
        let mut table = self.table.lock();
        let free = table.locks.get(name).is_none_or(|(owner, until)| *owner == self.worker || *until < now);
        if free {
            table.locks.insert(name.to_owned(), (self.worker.clone(), now + micros(ttl)));
        }
        Ok(free)
    }

    async fn unlock(&self, name: &str) -> Result<(), Error> {
        let mut table = self.table.lock();
        if table.locks.get(name).is_some_and(|(owner, _)| *owner == self.worker) {
            table.locks.remove(name);
        }
        Ok(())
    }

    async fn paused(&self, lane: &str) -> Result<bool, Error> {
        Ok(self.table.lock().paused.contains(lane))
    }

    async fn set_paused(&self, lane: &str, paused: bool) -> Result<(), Error> {
        let mut table = self.table.lock();
        if paused {
            table.paused.insert(lane.to_owned());
        } else {
            table.paused.remove(lane);
        }
        Ok(())
    }
}
