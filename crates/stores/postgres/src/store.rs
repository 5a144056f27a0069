//! The store itself: one contract's table, for one stage.

use std::time::Duration;

use async_trait::async_trait;
use postrider_contract::Contract;
use postrider_seams::Handoff;
use postrider_seams::inspect::{
    Count, Finding, Inspect, Lag, Page, Preview, Query, Recorded, RowView, Searchable, Standing, Verb, Which,
};
use postrider_seams::migrate::{Migrate, Options};
use postrider_seams::row::{Claimed, Fields, Lease};
use postrider_seams::store::{Capabilities, Error, Held, Reclaimed, Settlement, Store, SweepKind, Want};
use postrider_sql::Dialect;
use postrider_sql::run::{Opened, locks};
use tokio::time::Instant;

use crate::connect::Database;
use crate::migrate::Migration;
use crate::wake::Waker;

/// One contract's table on PostgreSQL, for one stage.
pub struct PostgresStore {
    pub(crate) database: Database,
    pub(crate) opened: Opened,
    pub(crate) waker: Waker,
    pub(crate) migration: Migration,
}

impl PostgresStore {
    /// The contract with its optional columns settled: those that this table has.
    pub fn contract(&self) -> &Contract {
        &self.opened.contract
    }

    /// What runs on this table.
    pub fn opened(&self) -> &Opened {
        &self.opened
    }
}

#[async_trait]
impl Store for PostgresStore {
    fn capabilities(&self) -> Capabilities {
        let lease = self.opened.stage.lease.duration;
        // Two of each keep both ends of the pipeline busy; more only make the batches smaller.
        let parallel = (self.database.connections() as usize / 2).clamp(1, 2);
        Capabilities {
            notifies: self.waker.notifies(),
            claimers: parallel,
            settlers: parallel,
            settle_batch: self.opened.batch,
            lease,
            extend_every: lease / 3,
            recipient_results: self.opened.recipient_results(),
        }
    }

    fn handoff(&self) -> Option<&dyn Handoff> {
        self.opened.program.handoff.as_ref().map(|_| self as &dyn Handoff)
    }

    async fn claim(&self, want: &Want) -> Result<Vec<Claimed>, Error> {
        self.opened.claim(&self.database, want).await
    }

    async fn load(&self, leases: &[Lease]) -> Result<Vec<Option<Fields>>, Error> {
        self.opened.load(&self.database, leases).await
    }

    async fn settle(&self, moves: &[Settlement]) -> Result<Vec<Held>, Error> {
        self.opened.settle(&self.database, moves).await
    }

    async fn extend(&self, leases: &[Lease]) -> Result<Vec<Option<Lease>>, Error> {
        self.opened.extend(&self.database, leases).await
    }

    async fn reclaim(&self, limit: u32) -> Result<Reclaimed, Error> {
        self.opened.reclaim(&self.database, limit).await
    }

    async fn sweep(&self, sweep: SweepKind, limit: u32) -> Result<u64, Error> {
        self.opened.sweep(&self.database, sweep, limit).await
    }

    async fn purge(&self, limit: u32) -> Result<u64, Error> {
        self.opened.purge(&self.database, limit).await
    }

    async fn next_due(&self) -> Result<Option<Duration>, Error> {
        self.opened.next_due(&self.database).await
    }

    async fn wake(&self, deadline: Instant) {
        self.waker.wait(deadline).await;
    }

    async fn lock(&self, name: &str, ttl: Duration) -> Result<bool, Error> {
        locks::take(&self.database, name, ttl).await
    }

    async fn unlock(&self, name: &str) -> Result<(), Error> {
        locks::give(&self.database, name).await
    }

    async fn paused(&self, lane: &str) -> Result<bool, Error> {
        locks::paused(&self.database, lane).await
    }

    async fn set_paused(&self, lane: &str, paused: bool) -> Result<(), Error> {
        locks::set_paused(&self.database, lane, paused).await
    }
}

#[async_trait]
impl Inspect for PostgresStore {
    async fn verify(&self) -> Result<Vec<Finding>, Error> {
        self.findings().await
    }

    async fn strange(&self) -> Result<Vec<String>, Error> {
        self.opened.strange(&self.database).await
    }

    async fn census(&self) -> Result<Vec<Count>, Error> {
        self.opened.census(&self.database).await
    }

    fn searches(&self) -> Vec<Searchable> {
        self.opened.searches(Dialect::Postgres)
    }

    async fn browse(&self, query: &Query) -> Result<Page, Error> {
        self.opened.browse(&self.database, query).await
    }

    async fn show(&self, id: &str) -> Result<Option<RowView>, Error> {
        self.opened.show(&self.database, id).await
    }

    async fn history(&self, id: &str) -> Result<Vec<Recorded>, Error> {
        self.opened.history(&self.database, id).await
    }

    async fn standing(&self, row: &RowView) -> Result<Standing, Error> {
        self.opened.standing(&self.database, row).await
    }

    async fn preview(&self, verb: Verb, which: &Which) -> Result<Preview, Error> {
        self.opened.preview(&self.database, verb, which).await
    }

    async fn release(&self, which: &Which) -> Result<u64, Error> {
        self.opened.release(&self.database, which).await
    }

    async fn requeue(&self, which: &Which) -> Result<u64, Error> {
        self.opened.requeue(&self.database, which).await
    }

    async fn cancel(&self, which: &Which) -> Result<u64, Error> {
        self.opened.cancel(&self.database, which).await
    }

    async fn lag(&self) -> Result<Lag, Error> {
        self.opened.lag(&self.database).await
    }
}

#[async_trait]
impl Migrate for PostgresStore {
    async fn plan(&self, options: Options) -> Result<Vec<String>, Error> {
        self.migration.plan(options).await
    }

    async fn apply(&self, options: Options) -> Result<Vec<String>, Error> {
        self.migration.apply(options).await
    }
}
