//! Test fixture: a new database for each test, dropped even if the test panics, on PostgreSQL, MySQL and SQLite.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use postrider_contract::Contract;
use postrider_outbox::Connection;
use postrider_seams::row::ClaimedRow;
use postrider_seams::store::Store;
use postrider_sql::{Dialect, ddl};
use sqlx::mysql::{MySqlConnection, MySqlPoolOptions};
use sqlx::postgres::PgPoolOptions;
use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions};
use sqlx::{
    AssertSqlSafe, Connection as _, Executor as _, MySql, PgConnection, Pool, Postgres, Sqlite, Transaction,
};

/// Runs each test on every database.
macro_rules! on_every_database {
    ($($test:ident),* $(,)?) => {
        on_every_database!(@ postgres $($test)*);
        on_every_database!(@ mysql $($test)*);
        on_every_database!(@ sqlite $($test)*);
    };
    (@ $database:ident $($test:ident)*) => {
        mod $database {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $test() {
                crate::base::$database(|base| async move { super::$test(&base).await }).await;
            })*
        }
    };
}
pub(crate) use on_every_database;

/// The operations on a database that the tests need.
#[async_trait]
pub trait Base: Send + Sync + 'static {
    type Db: sqlx::Database<Connection: Connection>;
    const DIALECT: Dialect;

    fn pool(&self) -> &Pool<Self::Db>;
    /// Begins a transaction; on SQLite it acquires the write lock at once.
    async fn begin(&self) -> Transaction<'static, Self::Db>;
    async fn run(&self, statement: &str);
    /// Returns the single value of a query as text.
    async fn text(&self, query: &str) -> Option<String>;
    /// Executes a statement with bound texts and returns the first column, if there is a row.
    async fn run_with(&self, statement: &str, values: &[String]) -> Option<String>;
    /// The SQL expression for the age of a time column, in seconds.
    fn age(column: &str) -> String;
    async fn store(&self, contract: &str, stage: &str) -> Arc<dyn Store>;

    /// Creates the reference table of a built-in contract.
    async fn create(&self, name: &str) {
        for statement in ddl::create(&contract(name), Self::DIALECT).expect("the table of our own contract") {
            self.run(&statement).await;
        }
    }

    async fn count(&self, table: &str) -> String {
        self.text(&format!("SELECT count(*) FROM {table}")).await.expect("a count")
    }

    async fn claim(&self, contract: &str, stage: &str) -> Vec<ClaimedRow> {
        self.store(contract, stage).await.claim(10).await.expect("claim")
    }
}

pub fn contract(name: &str) -> Contract {
    let text = Contract::builtin(name).expect("a contract of ours");
    Contract::parse(&format!("{name}.toml"), text).expect("it parses")
}

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set: run `cargo xtask test`"))
}

async fn spawned<F: Future<Output = ()> + Send + 'static>(test: F) -> impl FnOnce() {
    let ended = tokio::spawn(test).await;
    || {
        if let Err(failure) = ended {
            std::panic::resume_unwind(failure.into_panic());
        }
    }
}

pub struct OnPostgres {
    url: String,
    pool: Pool<Postgres>,
}

pub async fn postgres<T, F>(test: T)
where
    T: FnOnce(OnPostgres) -> F,
    F: Future<Output = ()> + Send + 'static,
{
    let admin = async |statement: String| {
        let url = variable("POSTRIDER_TEST_POSTGRES");
        let mut connection = PgConnection::connect(&url).await.expect("the test server answers");
        connection.execute(AssertSqlSafe(statement)).await.expect("an administrator's statement");
    };
    let name = format!("pr_{:016x}", rand::random::<u64>());
    admin(format!("CREATE DATABASE {name}")).await;
    let base = variable("POSTRIDER_TEST_POSTGRES");
    let (host, _) = base.rsplit_once('/').expect("the URL names a database");
    let url = format!("{host}/{name}");
    let pool = PgPoolOptions::new().max_connections(10).connect(&url).await.expect("the new database");
    let verdict = spawned(test(OnPostgres { url, pool: pool.clone() })).await;
    pool.close().await;
    admin(format!("DROP DATABASE {name} WITH (FORCE)")).await;
    verdict();
}

#[async_trait]
impl Base for OnPostgres {
    type Db = Postgres;
    const DIALECT: Dialect = Dialect::Postgres;

    fn pool(&self) -> &Pool<Postgres> {
        &self.pool
    }

    async fn begin(&self) -> Transaction<'static, Postgres> {
        self.pool.begin().await.expect("begin")
    }

    async fn run(&self, statement: &str) {
        sqlx::raw_sql(AssertSqlSafe(statement)).execute(&self.pool).await.expect(statement);
    }

    async fn text(&self, query: &str) -> Option<String> {
        let query = format!("SELECT ({query})::text");
        sqlx::query_scalar(AssertSqlSafe(query.as_str())).fetch_one(&self.pool).await.expect(&query)
    }

    async fn run_with(&self, statement: &str, values: &[String]) -> Option<String> {
        let query = values
            .iter()
            .fold(sqlx::query_scalar(AssertSqlSafe(statement)), |query, value| query.bind(value.as_str()));
        let id: Option<i64> = query.fetch_optional(&self.pool).await.expect(statement);
        id.map(|id| id.to_string())
    }

    fn age(column: &str) -> String {
        format!("extract(epoch FROM clock_timestamp() - {column})")
    }

    async fn store(&self, name: &str, stage: &str) -> Arc<dyn Store> {
        use postrider_store_postgres::{Database, Settings};
        let database = Database::connect(&Settings::new(&self.url)).expect("settings");
        database.open(contract(name), stage, "test").await.expect("open")
    }
}

pub struct OnMysql {
    url: String,
    pool: Pool<MySql>,
}

pub async fn mysql<T, F>(test: T)
where
    T: FnOnce(OnMysql) -> F,
    F: Future<Output = ()> + Send + 'static,
{
    let base = variable("POSTRIDER_TEST_MYSQL");
    let base = base.trim_end_matches('/').to_owned();
    let admin = async |statement: String| {
        let mut connection = MySqlConnection::connect(&base).await.expect("the test server answers");
        connection.execute(AssertSqlSafe(statement)).await.expect("an administrator's statement");
    };
    let name = format!("pr_{:016x}", rand::random::<u64>());
    admin(format!("CREATE DATABASE {name} CHARACTER SET utf8mb4")).await;
    let url = format!("{base}/{name}");
    let pool = MySqlPoolOptions::new().max_connections(10).connect(&url).await.expect("the new database");
    let verdict = spawned(test(OnMysql { url, pool: pool.clone() })).await;
    pool.close().await;
    admin(format!("DROP DATABASE {name}")).await;
    verdict();
}

#[async_trait]
impl Base for OnMysql {
    type Db = MySql;
    const DIALECT: Dialect = Dialect::Mysql;

    fn pool(&self) -> &Pool<MySql> {
        &self.pool
    }

    async fn begin(&self) -> Transaction<'static, MySql> {
        self.pool.begin().await.expect("begin")
    }

    async fn run(&self, statement: &str) {
        sqlx::raw_sql(AssertSqlSafe(statement)).execute(&self.pool).await.expect(statement);
    }

    async fn text(&self, query: &str) -> Option<String> {
        let query = format!("SELECT CAST(({query}) AS CHAR)");
        sqlx::query_scalar(AssertSqlSafe(query.as_str())).fetch_one(&self.pool).await.expect(&query)
    }

    async fn run_with(&self, statement: &str, values: &[String]) -> Option<String> {
        let query = values
            .iter()
            .fold(sqlx::query(AssertSqlSafe(statement)), |query, value| query.bind(value.as_str()));
        let done = query.execute(&self.pool).await.expect(statement);
        (done.last_insert_id() > 0).then(|| done.last_insert_id().to_string())
    }

    fn age(column: &str) -> String {
        format!("TIMESTAMPDIFF(MICROSECOND, {column}, UTC_TIMESTAMP(6)) / 1000000")
    }

    async fn store(&self, name: &str, stage: &str) -> Arc<dyn Store> {
        use postrider_store_mysql::{Database, Settings};
        let database = Database::connect(&Settings::new(&self.url)).expect("settings");
        database.open(contract(name), stage, "test").await.expect("open")
    }
}

pub struct OnSqlite {
    folder: tempfile::TempDir,
    pool: Pool<Sqlite>,
}

pub async fn sqlite<T, F>(test: T)
where
    T: FnOnce(OnSqlite) -> F,
    F: Future<Output = ()> + Send + 'static,
{
    let folder = tempfile::tempdir().expect("a folder");
    let options = SqliteConnectOptions::new()
        .filename(folder.path().join("test.db"))
        .create_if_missing(true)
        .busy_timeout(Duration::from_secs(20));
    let pool = SqlitePoolOptions::new().max_connections(10).connect_lazy_with(options);
    let verdict = spawned(test(OnSqlite { folder, pool: pool.clone() })).await;
    pool.close().await;
    verdict();
}

#[async_trait]
impl Base for OnSqlite {
    type Db = Sqlite;
    const DIALECT: Dialect = Dialect::Sqlite;

    fn pool(&self) -> &Pool<Sqlite> {
        &self.pool
    }

    async fn begin(&self) -> Transaction<'static, Sqlite> {
        self.pool.begin_with("BEGIN IMMEDIATE").await.expect("begin")
    }

    async fn run(&self, statement: &str) {
        sqlx::raw_sql(AssertSqlSafe(statement)).execute(&self.pool).await.expect(statement);
    }

    async fn text(&self, query: &str) -> Option<String> {
        let query = format!("SELECT CAST(({query}) AS text)");
        sqlx::query_scalar(AssertSqlSafe(query.as_str())).fetch_one(&self.pool).await.expect(&query)
    }

    async fn run_with(&self, statement: &str, values: &[String]) -> Option<String> {
        let query = values
            .iter()
            .fold(sqlx::query_scalar(AssertSqlSafe(statement)), |query, value| query.bind(value.as_str()));
        let ids: Vec<i64> = query.fetch_all(&self.pool).await.expect(statement);
        ids.first().map(ToString::to_string)
    }

    fn age(column: &str) -> String {
        format!("(julianday('now') - julianday({column})) * 86400")
    }

    async fn store(&self, name: &str, stage: &str) -> Arc<dyn Store> {
        use postrider_store_sqlite::{Database, Settings};
        let url = format!("sqlite:{}", self.folder.path().join("test.db").display());
        let database = Database::connect(&Settings::new(url)).expect("settings");
        database.open(contract(name), stage, "test").await.expect("open")
    }
}
