//! The store of a lane on SQLite: the table, and what is specific to this database.

use postrider_seams::WakeUp;
use postrider_seams::inspect::Finding;
use postrider_seams::store::Error;
use postrider_sql::open_table::OpenTable;
use postrider_sql::store::{SqlStore, SqlTable, TableParts};
use tokio::time::Instant;

use crate::connect::Database;
use crate::migrate::Migration;
use crate::wake::RowNotifier;

/// One contract's table on SQLite, for one stage.
pub type SqliteStore = SqlStore<SqliteTable>;

/// The SQLite part of a store: connections, rendered statements, wake-ups and migration of one table.
pub struct SqliteTable {
    pub(crate) database: Database,
    pub(crate) opened: OpenTable,
    pub(crate) waker: RowNotifier,
    pub(crate) migration: Migration,
}

impl SqlTable for SqliteTable {
    type Database = Database;

    fn parts(&self) -> TableParts<'_, Database> {
        TableParts { database: &self.database, opened: &self.opened, migration: &self.migration }
    }

    fn parallel(&self) -> usize {
        // There is one writer: concurrent calls would only wait for each other.
        1
    }

    fn notifies(&self) -> bool {
        true
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
