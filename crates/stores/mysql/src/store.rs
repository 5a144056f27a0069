//! The table of a lane: what its store has of this database.

use postrider_seams::inspect::Finding;
use postrider_seams::migrate::Migrate;
use postrider_seams::store::Error;
use postrider_sql::run::Opened;
use postrider_sql::run::store::{SqlStore, SqlTable};
use tokio::time::Instant;

use crate::connect::Database;
use crate::migrate::Migration;

/// A claim locks its rows one statement before it marks them: past this it is cut, and the engine asks again.
const CLAIM_LIMIT: u32 = 512;

/// One contract's table on MySQL or MariaDB, for one stage.
pub type MysqlStore = SqlStore<MysqlTable>;

pub struct MysqlTable {
    pub(crate) database: Database,
    pub(crate) opened: Opened,
    pub(crate) migration: Migration,
}

impl SqlTable for MysqlTable {
    type Database = Database;

    fn database(&self) -> &Database {
        &self.database
    }

    fn opened(&self) -> &Opened {
        &self.opened
    }

    fn migration(&self) -> &dyn Migrate {
        &self.migration
    }

    fn parallel(&self) -> usize {
        // Two of each keep both ends of the pipeline busy; more only make the batches smaller.
        (self.database.connections() as usize / 2).clamp(1, 2)
    }

    fn claim_limit(&self) -> u32 {
        CLAIM_LIMIT
    }

    fn notifies(&self) -> bool {
        false
    }

    async fn wake(&self, deadline: Instant) {
        // Nothing notifies here: the poll interval is the latency.
        tokio::time::sleep_until(deadline).await;
    }

    async fn findings(&self) -> Result<Vec<Finding>, Error> {
        self.verified().await
    }
}
