//! The store of a lane on PostgreSQL: the table, and what is specific to this database.

use postrider_seams::WakeUp;
use postrider_seams::inspect::Finding;
use postrider_seams::store::Error;
use postrider_sql::open_table::OpenTable;
use postrider_sql::store::{SqlStore, SqlTable, TableParts};
use tokio::time::Instant;

use crate::connect::Database;
use crate::migrate::Migration;
use crate::wake::RowNotifier;

/// One contract's table on PostgreSQL, for one stage.
pub type PostgresStore = SqlStore<PostgresTable>;

/// The PostgreSQL part of a store: connections, rendered statements, wake-ups and migration of one table.
pub struct PostgresTable {
    pub(crate) database: Database,
    pub(crate) opened: OpenTable,
    pub(crate) waker: RowNotifier,
    pub(crate) migration: Migration,
}

impl SqlTable for PostgresTable {
    type Database = Database;

    fn parts(&self) -> TableParts<'_, Database> {
        TableParts { database: &self.database, opened: &self.opened, migration: &self.migration }
    }

    fn parallel(&self) -> usize {
        // Two concurrent claims and settles keep the pipeline busy; more would only make the batches smaller.
        (self.database.connections() as usize / 2).clamp(1, 2)
    }

    fn notifies(&self) -> bool {
        self.waker.notifies()
    }

    fn wake_up(&self) -> &WakeUp {
        self.waker.wake_up()
    }

    async fn wake(&self, deadline: Instant) {
        self.waker.wait(deadline).await;
    }

    async fn findings(&self) -> Result<Vec<Finding>, Error> {
        self.verified().await
    }
}
