//! A database for each test, gone however the test ends, with the tables of the hub: the same verbs on all three.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;

use async_trait::async_trait;
use postrider_contract::Contract;
use postrider_http::Resolve;
use postrider_hub::access::{Actor, NewKey, Role, Scope};
use postrider_hub::{Hub, Seal, Settings, migrate};
use postrider_seams::Backend;
use postrider_seams::migrate::{Migrate, Options};
use postrider_sql::plain::Plain;
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
                crate::site::$database(|site| async move { super::$test(&site).await }).await;
            })*
        }
    };
}
pub(crate) use on_every_database;

/// A test's own way to its database, past ours.
enum Sql {
    Postgres(PgPool),
    Mysql(MySqlPool),
    Sqlite(SqlitePool),
}

pub struct Site {
    pub database: Arc<dyn Plain>,
    pub hub: Arc<Hub>,
    /// What a lane of jobs works with.
    pub lane: Option<Arc<dyn Backend>>,
    sql: Sql,
}

/// Hides secrets well enough for a test.
struct Reversed;

impl Seal for Reversed {
    fn seal(&self, secret: &str) -> Result<String, String> {
        Ok(format!(
            "encrypted://{}",
            secret.chars().rev().filter(char::is_ascii_alphanumeric).collect::<String>()
        ))
    }

    /// What ends in `2` has the new key, what ends in `0` one that is gone.
    fn seal_anew(&self, reference: &str) -> Result<Option<String>, String> {
        match reference.as_bytes().last() {
            Some(b'2') => Ok(None),
            Some(b'0') => Err("its key is not set".to_owned()),
            _ => Ok(Some(format!("{reference}2"))),
        }
    }
}

/// Two names; all others lead nowhere.
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

impl Site {
    async fn new(database: Arc<dyn Plain>, jobs: Arc<dyn Migrate>, sql: Sql) -> Self {
        jobs.apply(Options::default()).await.expect("the jobs' table");
        migrate::apply(&*database).await.expect("the hub's tables");
        let hub = Hub::open(Arc::clone(&database), Settings::default(), Some(Arc::new(Reversed))).await;
        let hub = hub.expect("the hub opens").with_resolver(Arc::new(Book));
        Self { database, hub: Arc::new(hub), lane: None, sql }
    }

    pub async fn run(&self, statement: &str) {
        let text = AssertSqlSafe(statement);
        match &self.sql {
            Sql::Postgres(pool) => drop(sqlx::raw_sql(text).execute(pool).await.expect(statement)),
            Sql::Mysql(pool) => drop(sqlx::raw_sql(text).execute(pool).await.expect(statement)),
            Sql::Sqlite(pool) => drop(sqlx::raw_sql(text).execute(pool).await.expect(statement)),
        }
    }

    /// One value, as text.
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

    pub async fn count(&self, table: &str) -> u64 {
        let text = self.text(&format!("SELECT count(*) FROM {table}")).await;
        text.expect("a count").parse().expect("a number")
    }

    /// A key of this role, for these clients (none: all), and who it makes.
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

    pub async fn actor(&self, role: Role, clients: &[&str]) -> Actor {
        self.key(role, clients).await.1
    }
}

/// Somebody who may do all.
pub fn root() -> Actor {
    Actor { key: "0000000000000".to_owned(), name: "root".to_owned(), role: Role::Admin, scope: Scope::All }
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

pub async fn postgres<T, F>(test: T)
where
    T: FnOnce(Site) -> F,
    F: Future<Output = ()> + Send + 'static,
{
    postgres_with(None, test).await;
}

/// With so many connections.
pub async fn postgres_with<T, F>(connections: Option<u32>, test: T)
where
    T: FnOnce(Site) -> F,
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
    let mut site = Site::new(Arc::new(database.clone()), jobs, Sql::Postgres(pool.clone())).await;
    site.lane = Some(database.open(contract(), "deliver", "jobs").await.expect("a lane"));
    let verdict = spawned(test(site)).await;
    database.close().await;
    pool.close().await;
    admin(format!("DROP DATABASE {name} WITH (FORCE)")).await;
    verdict();
}

pub async fn mysql<T, F>(test: T)
where
    T: FnOnce(Site) -> F,
    F: Future<Output = ()> + Send + 'static,
{
    mysql_with(None, test).await;
}

/// With so many connections.
pub async fn mysql_with<T, F>(connections: Option<u32>, test: T)
where
    T: FnOnce(Site) -> F,
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
    let mut site = Site::new(Arc::new(database.clone()), jobs, Sql::Mysql(pool.clone())).await;
    site.lane = Some(database.open(contract(), "deliver", "jobs").await.expect("a lane"));
    let verdict = spawned(test(site)).await;
    database.close().await;
    pool.close().await;
    admin(format!("DROP DATABASE {name}")).await;
    verdict();
}

pub async fn sqlite<T, F>(test: T)
where
    T: FnOnce(Site) -> F,
    F: Future<Output = ()> + Send + 'static,
{
    let folder = tempfile::tempdir().expect("a folder");
    let url = format!("sqlite:{}", folder.path().join("hub.db").display());
    let mut settings = postrider_store_sqlite::Settings::new(&url);
    settings.create = true;
    let database = postrider_store_sqlite::Database::connect(&settings).expect("settings");
    let jobs = database.migration(contract());
    jobs.apply(Options::default()).await.expect("the jobs' table");
    let pool = SqlitePool::connect(&url).await.expect("the new database");
    let mut site = Site::new(Arc::new(database.clone()), jobs, Sql::Sqlite(pool.clone())).await;
    site.lane = Some(database.open(contract(), "deliver", "jobs").await.expect("a lane"));
    let verdict = spawned(test(site)).await;
    database.close().await;
    pool.close().await;
    verdict();
}
