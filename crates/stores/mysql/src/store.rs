//! The store of a lane on MySQL or MariaDB: the table, and what is specific to this database.

use postrider_seams::WakeUp;
use postrider_seams::inspect::Finding;
use postrider_seams::store::Error;
use postrider_sql::open_table::OpenTable;
use postrider_sql::store::{SqlStore, SqlTable, TableParts};

use crate::connect::Database;
use crate::migrate::Migration;

/// One contract's table on MySQL or MariaDB, for one stage.
pub type MysqlStore = SqlStore<MysqlTable>;

/// The MySQL part of a store: connections, rendered statements, wake-ups and migration of one table.
pub struct MysqlTable {
    pub(crate) database: Database,
    pub(crate) opened: OpenTable,
    pub(crate) wake_up: WakeUp,
    pub(crate) migration: Migration,
}

impl SqlTable for MysqlTable {
    type Database = Database;

    fn parts(&self) -> TableParts<'_, Database> {
        TableParts { database: &self.database, opened: &self.opened, migration: &self.migration }
    }

    fn parallel(&self) -> usize {
        // Two concurrent claims and settles keep the pipeline busy; more would only make the batches smaller.
        (self.database.connections() as usize / 2).clamp(1, 2)
    }

    fn notifies(&self) -> bool {
        false
    }

    /// MySQL has no notifications: the poll interval is the latency of rows that another process writes.
    fn wake_up(&self) -> &WakeUp {
        &self.wake_up
    }

    async fn findings(&self) -> Result<Vec<Finding>, Error> {
        self.verified().await
    }
}
