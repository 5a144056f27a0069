//! Connecting: lazily, so that a process can start while the database is away.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use postrider_contract::Contract;
use postrider_seams::store::{Class, Error};
use postrider_sql::run::Opened;
use postrider_sql::run::store::SqlStore;
use postrider_sql::{Dialect, bind};
use sqlx::postgres::{PgConnectOptions, PgConnection, PgPool, PgPoolOptions};
use sqlx::{ConnectOptions as _, Connection as _, Executor as _};

use crate::error::Place;
use crate::migrate::Migration;
use crate::store::{PostgresStore, PostgresTable};
use crate::wake::Waker;
use crate::{error, shape};

/// The oldest version that the rendered statements were written for: `AS MATERIALIZED` came with 12.
const OLDEST: i32 = 12;

/// Keys that one statement takes well: past this a settle gains nothing and holds its locks for longer.
const BATCH: usize = 1000;

/// How to reach a database.
#[derive(Clone)]
pub struct Settings {
    /// `postgres://user:password@host:port/database?sslmode=require`.
    pub url: String,
    /// A way around a transaction pooler, for LISTEN; `url` if none.
    pub listen_url: Option<String>,
    /// Connections at most; one more per lane listens where a notification trigger is there.
    pub connections: u32,
    /// This worker's id: unique per start.
    pub instance: String,
    /// The longest wait for a connection.
    pub acquire_timeout: Duration,
    /// The longest that one statement may run.
    pub statement_timeout: Duration,
}

impl Settings {
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            listen_url: None,
            connections: 8,
            instance: bind::instance_id(),
            acquire_timeout: Duration::from_secs(5),
            statement_timeout: Duration::from_secs(30),
        }
    }
}

/// The URLs hold passwords, so they are not shown.
impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("connections", &self.connections)
            .field("instance", &self.instance)
            .field("acquire_timeout", &self.acquire_timeout)
            .field("statement_timeout", &self.statement_timeout)
            .finish_non_exhaustive()
    }
}

/// One database; every lane on it shares its pool.
#[derive(Clone)]
pub struct Database {
    pub(crate) pool: PgPool,
    pub(crate) listen: PgConnectOptions,
    pub(crate) instance: Arc<str>,
    pub(crate) place: Place,
    connections: u32,
    /// The longest wait for a connection.
    patience: Duration,
}

impl Database {
    /// Reads the settings; connects when first asked to do something, not here.
    pub fn connect(settings: &Settings) -> Result<Self, Error> {
        let options = options(&settings.url, settings)?;
        let listen = match &settings.listen_url {
            Some(url) => self::options(url, settings)?,
            None => options.clone(),
        };
        let place = Place::new(&options);
        let pool = PgPoolOptions::new()
            .max_connections(settings.connections.max(1))
            .acquire_timeout(settings.acquire_timeout)
            // A dead connection shows itself as a transient error; a ping before each statement would double the
            // round trips of every claim.
            .test_before_acquire(false)
            .after_connect(|connection, _| Box::pin(take_bytes_as_they_are(connection)))
            .connect_lazy_with(options);
        let instance = Arc::from(settings.instance.as_str());
        let (connections, patience) = (settings.connections.max(1), settings.acquire_timeout);
        Ok(Self { pool, listen, instance, place, connections, patience })
    }

    /// Opens a contract's table for one stage: reads its columns, renders its statements. `lane` names the lane in
    /// messages. A database that is away answers a transient error: try again.
    pub async fn open(
        &self,
        contract: Contract,
        stage: &str,
        lane: &str,
    ) -> Result<Arc<PostgresStore>, Error> {
        self.reach().await?;
        self.refuse_old().await?;
        let shape = shape::read(self, &contract).await?.ok_or_else(|| self.no_table(&contract, lane))?;
        let opened = Opened::new(&contract, stage, Dialect::Postgres, shape, BATCH)
            .map_err(|what| self.misfit(lane, &what))?;
        let waker = Waker::new(self, &opened.contract).await?;
        let migration = Migration::new(self.clone(), contract);
        Ok(Arc::new(SqlStore(PostgresTable { database: self.clone(), opened, waker, migration })))
    }

    /// Opens a contract for `migrate`, whether its table is there or not.
    pub fn migration(&self, contract: Contract) -> Arc<Migration> {
        Arc::new(Migration::new(self.clone(), contract))
    }

    /// Connections that this database may have at once.
    pub fn connections(&self) -> u32 {
        self.connections
    }

    /// This worker's id.
    pub fn instance(&self) -> &str {
        &self.instance
    }

    /// Gives the connections back. What runs on them ends first.
    pub async fn close(&self) {
        self.pool.close().await;
    }

    /// Connects once where nothing is connected yet: to a server that is away the pool would go on trying until its
    /// time is up, and could not say why.
    pub(crate) async fn reach(&self) -> Result<(), Error> {
        if self.pool.size() > 0 {
            return Ok(());
        }
        let failed = |cause| error::classify(&self.place, "connect", cause);
        let options = self.pool.connect_options();
        let connected = tokio::time::timeout(self.patience, options.connect()).await;
        let connection = connected.map_err(|_| failed(sqlx::Error::PoolTimedOut))?.map_err(failed)?;
        connection.close().await.map_err(failed)
    }

    async fn refuse_old(&self) -> Result<(), Error> {
        let version: i32 = sqlx::query_scalar("SELECT current_setting('server_version_num')::int")
            .fetch_one(&self.pool)
            .await
            .map_err(|cause| error::classify(&self.place, "connect", cause))?;
        if version / 10_000 < OLDEST {
            let found = version / 10_000;
            return Err(Error::new(
                Class::Misconfigured,
                format!("{} is PostgreSQL {found}; Postrider needs {OLDEST} or later", self.place),
            ));
        }
        Ok(())
    }

    fn no_table(&self, contract: &Contract, lane: &str) -> Error {
        Error::new(
            Class::Misconfigured,
            format!(
                "{} has no table {} (lane {lane}): run `postrider migrate`",
                self.place,
                shape::qualified(&contract.table)
            ),
        )
    }

    fn misfit(&self, lane: &str, what: &str) -> Error {
        Error::new(
            Class::Misconfigured,
            format!(
                "{}: lane {lane} does not fit its table: {what}; `postrider check` shows all",
                self.place
            ),
        )
    }
}

/// A database without an encoding of its own (SQL_ASCII) may hold bytes that are no UTF-8. Asked for UTF-8, the server
/// would refuse a whole claim because of one such row; asked for the bytes, that row alone is found unreadable.
async fn take_bytes_as_they_are(connection: &mut PgConnection) -> Result<(), sqlx::Error> {
    let ask = "SELECT set_config('client_encoding', 'SQL_ASCII', false) \
               WHERE current_setting('server_encoding') = 'SQL_ASCII'";
    connection.execute(ask).await.map(|_| ())
}

fn options(url: &str, settings: &Settings) -> Result<PgConnectOptions, Error> {
    // The parser's own message may quote parts of the URL, and so of the password.
    let options = PgConnectOptions::from_str(url).map_err(|_| {
        Error::new(
            Class::Misconfigured,
            "the store's URL can't be read: it should be postgres://user:password@host:5432/database \
             (special characters in the password are percent-encoded)",
        )
    })?;
    let millis = settings.statement_timeout.as_millis().to_string();
    // sqlx itself asks for UTC and UTF-8. Custom plans: the statements' literals must meet the partial indexes, and
    // a generic plan made on an empty table would stay when it is full. No bitmaps: our statements read an index in its
    // order and stop early, while a bitmap of a long group reads and sorts all of it. No JIT: they are short.
    let session = [
        ("default_transaction_isolation", "read committed"),
        ("plan_cache_mode", "force_custom_plan"),
        ("enable_bitmapscan", "off"),
        ("jit", "off"),
        ("statement_timeout", millis.as_str()),
        ("idle_in_transaction_session_timeout", "60000"),
    ];
    Ok(options.application_name("postrider").options(session).disable_statement_logging())
}
