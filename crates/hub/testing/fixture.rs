//! Test fixture: a new database with the tables of the hub for each test, on PostgreSQL, MySQL and SQLite.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;

use async_trait::async_trait;
use postrider_contract::Contract;
use postrider_http::Resolve;
use postrider_hub::access::{Actor, ClientScope, NewKey, Role};
use postrider_hub::{EncryptSecret, Hub, Settings, migrate};
use postrider_seams::Backend;
use postrider_seams::migrate::{Migrate, MigrateOptions};
use postrider_sql::driver::execute::Execute;
use sqlx::{
    AssertSqlSafe, Connection as _, Executor as _, MySqlConnection, MySqlPool, PgConnection, PgPool,
    SqlitePool,
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
                crate::fixture::$database(|fixture| async move { super::$test(&fixture).await }).await;
            })*
        }
    };
}
pub(crate) use on_every_database;

/// A connection pool for the test's own SQL, independent of the store under test.
enum Sql {
    Postgres(PgPool),
    Mysql(MySqlPool),
    Sqlite(SqlitePool),
}

/// A database with an open hub, for one test.
pub struct Fixture {
    pub database: Arc<dyn Execute>,
    pub hub: Arc<Hub>,
    /// The store of a lane that delivers jobs.
    pub lane: Option<Arc<dyn Backend>>,
    sql: Sql,
}

/// A stand-in for encryption that reverses the secret.
struct Reversed;

impl EncryptSecret for Reversed {
    fn encrypt(&self, secret: &str) -> Result<String, String> {
        Ok(format!(
            "encrypted://{}",
            secret.chars().rev().filter(char::is_ascii_alphanumeric).collect::<String>()
        ))
    }

    /// References that end in `2` already use the new key; those that end in `0` use a key that is not set.
    fn reencrypt(&self, reference: &str) -> Result<Option<String>, String> {
        match reference.as_bytes().last() {
            Some(b'2') => Ok(None),
            Some(b'0') => Err("its key is not set".to_owned()),
            _ => Ok(Some(format!("{reference}2"))),
        }
    }
}

/// A resolver that knows two names; all others do not resolve.
struct Book;

#[async_trait]
impl Resolve for Book {
    async fn resolve(&self, host: &str, port: u16) -> std::io::Result<Vec<SocketAddr>> {
        let public = SocketAddr::from(([93, 184, 216, 34], port));
        let private = SocketAddr::from(([10, 0, 0, 7], port));
        match host {
            "inside.example" => Ok(vec![private]),
            "both.example" => Ok(vec![private, public]),
            _ => Err(std::io::ErrorKind::NotFound.into()),
        }
    }
}

impl Fixture {
    async fn new(database: Arc<dyn Execute>, jobs: Arc<dyn Migrate>, sql: Sql) -> Self {
        jobs.apply(MigrateOptions::default()).await.expect("the jobs' table");
        migrate::apply(&*database).await.expect("the hub's tables");
        let hub = Hub::open(Arc::clone(&database), Settings::default(), Some(Arc::new(Reversed))).await;
        let hub = hub.expect("the hub opens").with_resolver(Arc::new(Book));
        Self { database, hub: Arc::new(hub), lane: None, sql }
    }

    /// Executes SQL of the test; panics if it fails.
    pub async fn run(&self, statement: &str) {
        let text = AssertSqlSafe(statement);
        match &self.sql {
            Sql::Postgres(pool) => drop(sqlx::raw_sql(text).execute(pool).await.expect(statement)),
            Sql::Mysql(pool) => drop(sqlx::raw_sql(text).execute(pool).await.expect(statement)),
            Sql::Sqlite(pool) => drop(sqlx::raw_sql(text).execute(pool).await.expect(statement)),
        }
    }

    /// Returns the single value of a query as text; `None` if it is NULL.
    pub async fn text(&self, query: &str) -> Option<String> {
        let shown = match &self.sql {
            Sql::Postgres(_) => format!("SELECT ({query})::text"),
            Sql::Mysql(_) => format!("SELECT CAST(({query}) AS CHAR)"),
            Sql::Sqlite(_) => format!("SELECT CAST(({query}) AS TEXT)"),
        };
        let text = AssertSqlSafe(shown.as_str());
        match &self.sql {
            Sql::Postgres(pool) => sqlx::query_scalar(text).fetch_one(pool).await.expect(query),
            Sql::Mysql(pool) => sqlx::query_scalar(text).fetch_one(pool).await.expect(query),
            Sql::Sqlite(pool) => sqlx::query_scalar(text).fetch_one(pool).await.expect(query),
        }
    }

    /// Returns the number of rows of a table.
    pub async fn count(&self, table: &str) -> u64 {
        let text = self.text(&format!("SELECT count(*) FROM {table}")).await;
        text.expect("a count").parse().expect("a number")
    }

    /// Creates a key of this role for these clients (none: all clients); returns it with its actor.
    pub async fn key(&self, role: Role, clients: &[&str]) -> (String, Actor) {
        let new: NewKey = serde_json::from_value(serde_json::json!({
            "name": format!("{} of {clients:?}", role.name()), "role": role, "clientIds": clients,
        }))
        .expect("a key");
        let shown = self.hub.create_key(&root(), &new, None).await.expect("a key");
        let actor =
            self.hub.authenticate(&shown.key).await.expect("the store answers").expect("a key that opens");
        (shown.key, actor)
    }

    /// Returns the actor of a new key of this role for these clients (none: all clients).
    pub async fn actor(&self, role: Role, clients: &[&str]) -> Actor {
        self.key(role, clients).await.1
    }
}

/// An admin of all clients.
pub fn root() -> Actor {
    Actor {
        key: "0000000000000".to_owned(),
        name: "root".to_owned(),
        role: Role::Admin,
        scope: ClientScope::All,
    }
}

fn contract() -> Contract {
    let text = Contract::builtin("dispatch_jobs").expect("a contract of ours");
    Contract::parse("dispatch_jobs.toml", text).expect("it parses")
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

fn fresh_name() -> String {
    format!("pr_{:016x}", rand::random::<u64>())
}

/// Runs a test on a new PostgreSQL database and drops it afterwards, even if the test panics.
pub async fn postgres<T, F>(test: T)
where
    T: FnOnce(Fixture) -> F,
    F: Future<Output = ()> + Send + 'static,
{
    postgres_with(None, test).await;
}

/// Runs a test on a new PostgreSQL database with this number of connections; `None`: the default.
pub async fn postgres_with<T, F>(connections: Option<u32>, test: T)
where
    T: FnOnce(Fixture) -> F,
    F: Future<Output = ()> + Send + 'static,
{
    let base = variable("POSTRIDER_TEST_POSTGRES");
    let admin = async |statement: String| {
        let mut connection = PgConnection::connect(&base).await.expect("the test server answers");
        connection.execute(AssertSqlSafe(statement)).await.expect("an administrator's statement");
    };
    let name = fresh_name();
    admin(format!("CREATE DATABASE {name}")).await;
    let (host, _) = base.rsplit_once('/').expect("the URL names a database");
    let url = format!("{host}/{name}");
    let pool = PgPool::connect(&url).await.expect("the new database");
    let mut settings = postrider_store_postgres::Settings::new(&url);
    settings.connections = connections.unwrap_or(settings.connections);
    let database = postrider_store_postgres::Database::connect(&settings).expect("settings");
    let jobs = database.migration(contract());
    let mut fixture = Fixture::new(Arc::new(database.clone()), jobs, Sql::Postgres(pool.clone())).await;
    fixture.lane = Some(database.open(contract(), "deliver", "jobs").await.expect("a lane"));
    let verdict = spawned(test(fixture)).await;
    database.close().await;
    pool.close().await;
    admin(format!("DROP DATABASE {name} WITH (FORCE)")).await;
    verdict();
}

/// Runs a test on a new MySQL database and drops it afterwards, even if the test panics.
pub async fn mysql<T, F>(test: T)
where
    T: FnOnce(Fixture) -> F,
    F: Future<Output = ()> + Send + 'static,
{
    mysql_with(None, test).await;
}

/// Runs a test on a new MySQL database with this number of connections; `None`: the default.
pub async fn mysql_with<T, F>(connections: Option<u32>, test: T)
where
    T: FnOnce(Fixture) -> F,
    F: Future<Output = ()> + Send + 'static,
{
    let base = variable("POSTRIDER_TEST_MYSQL");
    let admin = async |statement: String| {
        let mut connection = MySqlConnection::connect(&base).await.expect("the test server answers");
        connection.execute(AssertSqlSafe(statement)).await.expect("an administrator's statement");
    };
    let name = fresh_name();
    admin(format!("CREATE DATABASE {name}")).await;
    let (host, _) = base.rsplit_once('/').expect("the URL names a database");
    let url = format!("{host}/{name}");
    let pool = MySqlPool::connect(&url).await.expect("the new database");
    let mut settings = postrider_store_mysql::Settings::new(&url);
    settings.connections = connections.unwrap_or(settings.connections);
    let database = postrider_store_mysql::Database::connect(&settings).expect("settings");
    let jobs = database.migration(contract());
    let mut fixture = Fixture::new(Arc::new(database.clone()), jobs, Sql::Mysql(pool.clone())).await;
    fixture.lane = Some(database.open(contract(), "deliver", "jobs").await.expect("a lane"));
    let verdict = spawned(test(fixture)).await;
    database.close().await;
    pool.close().await;
    admin(format!("DROP DATABASE {name}")).await;
    verdict();
}

/// Runs a test on a new SQLite database in a temporary directory.
pub async fn sqlite<T, F>(test: T)
where
    T: FnOnce(Fixture) -> F,
    F: Future<Output = ()> + Send + 'static,
{
    let folder = tempfile::tempdir().expect("a folder");
    let url = format!("sqlite:{}", folder.path().join("hub.db").display());
    let mut settings = postrider_store_sqlite::Settings::new(&url);
    settings.create = true;
    let database = postrider_store_sqlite::Database::connect(&settings).expect("settings");
    let jobs = database.migration(contract());
    jobs.apply(MigrateOptions::default()).await.expect("the jobs' table");
    let pool = SqlitePool::connect(&url).await.expect("the new database");
    let mut fixture = Fixture::new(Arc::new(database.clone()), jobs, Sql::Sqlite(pool.clone())).await;
    fixture.lane = Some(database.open(contract(), "deliver", "jobs").await.expect("a lane"));
    let verdict = spawned(test(fixture)).await;
    database.close().await;
    pool.close().await;
    verdict();
}
