//! Arena: one fresh table on one database, and the independent hands and eyes of the harness on it.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use postrider_seams::{Backend, Value};

use crate::cell::{Cell, Row};

/// Which store is on trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Memory,
    Postgres,
    MariaDb,
    Sqlite,
    DynamoDb,
}

impl Kind {
    pub const ALL: [Self; 5] = [Self::Memory, Self::Postgres, Self::MariaDb, Self::Sqlite, Self::DynamoDb];

    /// The name in tests and in the table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Postgres => "postgres",
            Self::MariaDb => "mariadb",
            Self::Sqlite => "sqlite",
            Self::DynamoDb => "dynamodb",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A column as the database describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableColumn {
    pub name: String,
    pub kind: ColumnKind,
    /// A row can't be inserted without it.
    pub required: bool,
    /// The database computes it; nobody writes it.
    pub generated: bool,
    /// The most characters that it takes, where it is text with a limit.
    pub length: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnKind {
    Int,
    Text,
    Time,
    Uuid,
    Json,
}

/// What a pool may have; `None` is no limit.
#[derive(Debug, Clone, Copy, Default)]
pub struct PoolLimits {
    pub concurrency: Option<i64>,
    pub rate: Option<i64>,
    pub paused: bool,
}

/// The table of pools, for a database that has none.
pub const CREATE_POOLS: &str = "CREATE TABLE dispatch_pools (id varchar(64) NOT NULL PRIMARY KEY, \
    concurrency integer, rate_per_minute integer, paused boolean NOT NULL)";

/// One table, made for one trial, with its own connection that no store shares.
#[async_trait]
pub trait Arena: Send + Sync {
    fn kind(&self) -> Kind;

    /// A store of its own for this worker, as another process would have it.
    async fn open(&self, worker: &str) -> Arc<dyn Backend>;

    /// The columns of the contract's table.
    fn columns(&self) -> &[TableColumn];

    /// The database's clock, in microseconds since 1970.
    async fn now(&self) -> i64;

    /// Inserts rows as a producer would, in one transaction.
    async fn insert(&self, table: &str, rows: &[Row]);

    /// Rows of any table, all columns; of one key if given.
    async fn select(&self, table: &str, key: Option<(&str, &Cell)>) -> Vec<Row>;

    /// Writes columns of one row, as another program would, past every fence.
    async fn update(&self, id: &Cell, changes: &Row);

    /// What a store reads of a fence column, as it is now.
    async fn fence(&self, id: &Cell, column: &str) -> Value;

    /// Writes a pool's limits, as its owner would.
    async fn set_pool(&self, name: &str, limits: PoolLimits);

    /// The trial is over: nothing of it is left.
    async fn close(&self) {}

    /// A worker of somebody else's on the same table, where there is one for this database.
    fn foreign(&self) -> Option<&dyn Foreign> {
        None
    }
}

/// A worker of somebody else's: it runs its own SQL, and knows nothing of ours.
#[async_trait]
pub trait Foreign: Send + Sync {
    /// Claims up to `limit` rows; answers their keys.
    async fn claim(&self, limit: i64) -> Vec<Cell>;
}
