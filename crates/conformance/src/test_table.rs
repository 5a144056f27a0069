//! A test table: one fresh table on one database, and the harness's own access to it, independent of the store under
//! test.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use postrider_seams::{Backend, Value};

use crate::cell::{Cell, Row};

/// The store under test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TestedStore {
    Memory,
    Postgres,
    MariaDb,
    Sqlite,
    DynamoDb,
}

impl TestedStore {
    /// Every store that is tested.
    pub const ALL: [Self; 5] = [Self::Memory, Self::Postgres, Self::MariaDb, Self::Sqlite, Self::DynamoDb];

    /// Returns the name in tests and in the generated table.
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

impl fmt::Display for TestedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A column as the database describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableColumn {
    pub name: String,
    pub kind: ColumnKind,
    /// Whether a row cannot be inserted without it.
    pub required: bool,
    /// Whether the database computes it, so that no statement writes it.
    pub generated: bool,
    /// Maximum length in characters; `None` if there is no limit.
    pub length: Option<usize>,
}

/// The type of a column, as far as the harness distinguishes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnKind {
    Int,
    Text,
    Time,
    Uuid,
    Json,
}

/// The limits of a pool; `None` means no limit.
#[derive(Debug, Clone, Copy, Default)]
pub struct TestPoolLimits {
    pub concurrency: Option<i64>,
    pub rate: Option<i64>,
    pub paused: bool,
}

/// The statement that creates the table of pools, for a database that has none.
pub const CREATE_POOLS: &str = "CREATE TABLE dispatch_pools (id varchar(64) NOT NULL PRIMARY KEY, \
    concurrency integer, rate_per_minute integer, paused boolean NOT NULL)";

/// One table, created for one trial, with the harness's own connection.
#[async_trait]
pub trait TestTable: Send + Sync {
    /// Returns the store under test.
    fn kind(&self) -> TestedStore;

    /// Opens a separate store for this worker, as another process would.
    async fn open(&self, worker: &str) -> Arc<dyn Backend>;

    /// Returns the columns of the contract's table.
    fn columns(&self) -> &[TableColumn];

    /// Returns the database's clock in microseconds since 1970.
    async fn now(&self) -> i64;

    /// Inserts rows as a producer would, in one transaction.
    async fn insert(&self, table: &str, rows: &[Row]);

    /// Selects rows of any table with all columns, optionally only those with a key.
    async fn select(&self, table: &str, key: Option<(&str, &Cell)>) -> Vec<Row>;

    /// Updates columns of one row without comparing the fence, as another program would.
    async fn update(&self, id: &Cell, changes: &Row);

    /// Returns the current value of a fence column, as a store reads it.
    async fn fence(&self, id: &Cell, column: &str) -> Value;

    /// Sets a pool's limits, as its owner would.
    async fn set_pool(&self, name: &str, limits: TestPoolLimits);

    /// Removes everything that the trial created.
    async fn close(&self) {}

    /// Returns a worker of another program on the same table, if there is one for this database.
    fn foreign(&self) -> Option<&dyn OtherProgram> {
        None
    }
}

/// A worker of another program: it runs its own SQL and knows nothing of Postrider.
#[async_trait]
pub trait OtherProgram: Send + Sync {
    /// Claims up to `limit` rows; returns their keys.
    async fn claim(&self, limit: i64) -> Vec<Cell>;
}
