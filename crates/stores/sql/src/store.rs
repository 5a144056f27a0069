//! The store of a SQL database: the seam traits implemented once, over what each of the three databases provides.

use std::time::Duration;

use async_trait::async_trait;
use postrider_contract::{Contract, Transition};
use postrider_seams::Produce;
use postrider_seams::handoff::{Handoff, PointerClaims, PublishSource};
use postrider_seams::inspect::{
    Finding, HistoryEntry, Inspect, Lag, OperatorAction, Page, Preview, Query, RowPosition, RowView,
    Searchable, SelectedRows, StateCount,
};
use postrider_seams::migrate::{Migrate, MigrateOptions};
use postrider_seams::row::{ClaimedRow, Detail, Fields, Lease, RowId};
use postrider_seams::store::{Capabilities, Error, LeaseResult, Reclaimed, Settlement, Store, SweepKind};
use postrider_seams::wake_ups::WakeUp;
use tokio::time::Instant;

use crate::driver::Driver;
use crate::internal::locks;
use crate::open_table::OpenTable;

/// The table of one contract for one stage, and what only its database has: connections, waking, its own checks.
pub trait SqlTable: Send + Sync {
    type Database: Driver;

    /// Returns the database, the contract opened on it, and its migration.
    fn parts(&self) -> TableParts<'_, Self::Database>;

    /// Number of claims, and of settles, that can run in parallel.
    fn parallel(&self) -> usize;

    /// Whether a new row ends [`SqlTable::wake`].
    fn notifies(&self) -> bool;

    /// Returns the wake-ups of this lane.
    fn wake_up(&self) -> &WakeUp;

    /// Returns when there may be new rows, or at the deadline.
    fn wake(&self, deadline: Instant) -> impl Future<Output = ()> + Send {
        async move {
            tokio::select! {
                biased;
                () = self.wake_up().woken() => {}
                () = tokio::time::sleep_until(deadline) => {}
            }
        }
    }

    /// Returns the findings of `check`.
    fn findings(&self) -> impl Future<Output = Result<Vec<Finding>, Error>> + Send;
}

/// The parts that every table has: its database, the contract opened on it, and its migration.
pub struct TableParts<'a, D> {
    pub database: &'a D,
    pub opened: &'a OpenTable,
    pub migration: &'a dyn Migrate,
}

/// A table as the engine uses it.
pub struct SqlStore<T>(pub T);

impl<T: SqlTable> SqlStore<T> {
    /// Returns the contract with only those optional columns that this table has.
    pub fn contract(&self) -> &Contract {
        &self.opened().contract
    }

    /// Returns the contract opened on this table, with its rendered program.
    pub fn opened(&self) -> &OpenTable {
        self.0.parts().opened
    }

    fn database(&self) -> &T::Database {
        self.0.parts().database
    }

    /// Wakes the lanes on this table, as `rows` of it became ready.
    fn wake_lanes(&self, rows: u64) {
        if rows > 0 {
            self.database().wake_ups().wake(&self.opened().contract.table.name);
        }
    }

    /// Wakes the lanes of the stages that a settle has moved rows to.
    fn wake_next_stages(&self, moves: &[Settlement], answers: &[LeaseResult]) {
        let opened = self.opened();
        let is_ready_elsewhere = |transition| {
            let target = opened.stage.target(transition);
            let mut others = opened.contract.stages.iter().filter(|stage| stage.name != opened.stage.name);
            target.is_some_and(|target| others.any(|stage| stage.ready.contains(&target)))
        };
        let mut written = moves.iter().zip(answers).filter(|(_, answer)| **answer == LeaseResult::Held);
        if written.any(|(settlement, _)| is_ready_elsewhere(settlement.transition)) {
            self.database().wake_ups().wake_others(&opened.contract.table.name, self.0.wake_up());
        }
    }

    /// For maintenance and inspection, which may take longer than the calls that move rows.
    fn with_long_deadline(&self) -> T::Database {
        self.database().with_long_deadline()
    }
}

#[async_trait]
impl<T: SqlTable> Store for SqlStore<T> {
    fn capabilities(&self) -> Capabilities {
        let lease = self.opened().stage.lease.duration;
        let parallel = self.0.parallel();
        Capabilities {
            notifies: self.0.notifies(),
            claimers: parallel,
            settlers: parallel,
            settle_batch: self.opened().batch,
            settle_batch_distant: self.opened().settle_batch(),
            lease,
            extend_every: lease / 3,
            recipient_results: self.opened().recipient_results_on(Transition::Retry),
            recipient_results_on_deferral: self.opened().recipient_results_on(Transition::Deferred),
            reason_limit: self.opened().reason_limit(self.database().dialect()),
            recipients_limit: self.opened().recipients_limit(self.database().dialect()),
            finds_lost_claims: self.opened().statements.lost_claims.is_some(),
        }
    }

    fn handoff(&self) -> Option<&dyn Handoff> {
        self.opened().statements.handoff.as_ref().map(|_| self as &dyn Handoff)
    }

    async fn claim(&self, limit: u32) -> Result<Vec<ClaimedRow>, Error> {
        self.opened().claim(self.database(), limit).await
    }

    async fn load(&self, leases: &[Lease]) -> Result<Vec<Option<Fields>>, Error> {
        self.opened().load(self.database(), leases).await
    }

    async fn begin(&self, begun: &[Lease], others: &[Lease]) -> Result<Vec<LeaseResult>, Error> {
        self.opened().begin(self.database(), begun, others).await
    }

    async fn settle(&self, moves: &[Settlement]) -> Result<Vec<LeaseResult>, Error> {
        let answers = self.opened().settle(self.database(), moves).await?;
        self.wake_next_stages(moves, &answers);
        Ok(answers)
    }

    async fn extend(&self, leases: &[Lease]) -> Result<Vec<Option<Lease>>, Error> {
        self.opened().extend(self.database(), leases).await
    }

    async fn reclaim(&self, limit: u32) -> Result<Reclaimed, Error> {
        let reclaimed = self.opened().reclaim(&self.with_long_deadline(), limit).await?;
        self.wake_lanes(reclaimed.rows());
        Ok(reclaimed)
    }

    async fn release_lost_claims(&self, held: &[Lease]) -> Result<u64, Error> {
        let released = self.opened().release_lost_claims(self.database(), held).await?;
        self.wake_lanes(released);
        Ok(released)
    }

    async fn sweep(&self, sweep: SweepKind, limit: u32) -> Result<u64, Error> {
        let moved = self.opened().sweep(&self.with_long_deadline(), sweep, limit).await?;
        self.wake_lanes(moved);
        Ok(moved)
    }

    async fn purge(&self, limit: u32) -> Result<u64, Error> {
        self.opened().purge(&self.with_long_deadline(), limit).await
    }

    async fn next_due(&self) -> Result<Option<Duration>, Error> {
        self.opened().next_due(self.database()).await
    }

    async fn wake(&self, deadline: Instant) {
        self.0.wake(deadline).await;
    }

    async fn lock(&self, name: &str, ttl: Duration) -> Result<bool, Error> {
        locks::acquire(self.database(), name, ttl).await
    }

    async fn unlock(&self, name: &str) -> Result<(), Error> {
        locks::release(self.database(), name).await
    }

    async fn paused(&self, lane: &str) -> Result<bool, Error> {
        locks::paused(self.database(), lane).await
    }

    async fn set_paused(&self, lane: &str, paused: bool) -> Result<(), Error> {
        locks::set_paused(self.database(), lane, paused).await
    }
}

#[async_trait]
impl<T: SqlTable> Inspect for SqlStore<T> {
    async fn verify(&self) -> Result<Vec<Finding>, Error> {
        self.0.findings().await
    }

    async fn unknown_states(&self) -> Result<Vec<String>, Error> {
        self.opened().unknown_states(&self.with_long_deadline()).await
    }

    async fn has_locks(&self) -> Result<bool, Error> {
        locks::exist(self.database()).await
    }

    async fn count_by_state(&self) -> Result<Vec<StateCount>, Error> {
        self.opened().count_by_state(&self.with_long_deadline()).await
    }

    fn searches(&self) -> Vec<Searchable> {
        self.opened().searches(Driver::dialect(self.database()))
    }

    async fn list(&self, query: &Query) -> Result<Page, Error> {
        self.opened().list(&self.with_long_deadline(), query).await
    }

    async fn show(&self, id: &str) -> Result<Option<RowView>, Error> {
        self.opened().show(&self.with_long_deadline(), id).await
    }

    async fn history(&self, id: &str) -> Result<Vec<HistoryEntry>, Error> {
        self.opened().history(&self.with_long_deadline(), id).await
    }

    async fn position(&self, row: &RowView) -> Result<RowPosition, Error> {
        self.opened().standing(&self.with_long_deadline(), row).await
    }

    async fn preview(&self, action: OperatorAction, which: &SelectedRows) -> Result<Preview, Error> {
        self.opened().preview(&self.with_long_deadline(), action, which).await
    }

    async fn release(&self, which: &SelectedRows) -> Result<u64, Error> {
        let released = self.opened().release(&self.with_long_deadline(), which).await?;
        self.wake_lanes(released);
        Ok(released)
    }

    async fn requeue(&self, which: &SelectedRows) -> Result<u64, Error> {
        let requeued = self.opened().requeue(&self.with_long_deadline(), which).await?;
        self.wake_lanes(requeued);
        Ok(requeued)
    }

    async fn cancel(&self, which: &SelectedRows) -> Result<u64, Error> {
        let cancelled = self.opened().cancel(&self.with_long_deadline(), which).await?;
        // The rows of a group behind a cancelled one may be ready now.
        self.wake_lanes(cancelled);
        Ok(cancelled)
    }

    async fn lag(&self) -> Result<Lag, Error> {
        self.opened().lag(&self.with_long_deadline()).await
    }
}

#[async_trait]
impl<T: SqlTable> Migrate for SqlStore<T> {
    async fn plan(&self, options: MigrateOptions) -> Result<Vec<String>, Error> {
        self.0.parts().migration.plan(options).await
    }

    async fn apply(&self, options: MigrateOptions) -> Result<Vec<String>, Error> {
        self.0.parts().migration.apply(options).await
    }
}

#[async_trait]
impl<T: SqlTable> Handoff for SqlStore<T> {
    fn may_have_unqueueable_rows(&self) -> bool {
        self.opened().has_unqueueable_rows()
    }

    async fn claim_by_id(&self, rows: &[RowId]) -> Result<PointerClaims, Error> {
        self.opened().claim_by_id(self.database(), rows).await
    }

    async fn claim_unqueueable(&self, limit: u32) -> Result<Vec<ClaimedRow>, Error> {
        self.opened().claim_unqueueable(self.database(), limit).await
    }

    async fn mark_published(&self, source: PublishSource, limit: u32) -> Result<Vec<RowId>, Error> {
        self.opened().mark_published(self.database(), source, limit).await
    }

    async fn recall(&self, rows: &[RowId]) -> Result<u64, Error> {
        let recalled = self.opened().recall(self.database(), rows).await?;
        self.wake_lanes(recalled);
        Ok(recalled)
    }
}

#[async_trait]
impl<T: SqlTable> Produce for SqlStore<T> {
    async fn produce(&self, fields: &Detail) -> Result<String, Error> {
        let id = self.opened().produce(self.database(), fields).await?;
        self.wake_lanes(1);
        Ok(id)
    }
}
