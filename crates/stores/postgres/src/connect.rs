//! Connects to a PostgreSQL server, lazily, so that a process can start while the database is unavailable.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use postrider_contract::Contract;
use postrider_seams::WakeUps;
use postrider_seams::store::{Class, Error};
use postrider_sql::driver::Driver as _;
use postrider_sql::driver::pool::{Limits, Pool};
use postrider_sql::open_table::OpenTable;
use postrider_sql::store::SqlStore;
use postrider_sql::{Dialect, bind};
use sqlx::postgres::PgConnectOptions;

use crate::error::DatabaseAddress;
use crate::migrate::Migration;
use crate::session::{Connector, Pooler};
use crate::shape;
use crate::store::{PostgresStore, PostgresTable};
use crate::url_options::url_mistakes;
use crate::wake::RowNotifier;

/// Oldest server version that the rendered statements support: `AS MATERIALIZED` came with 12.
const OLDEST: i32 = 12;

/// Largest number of keys per statement: beyond it a settle is no faster and holds its locks longer.
const BATCH: usize = 1000;

/// The settings of a database.
#[derive(Clone)]
pub struct Settings {
    /// `postgres://user:password@host:port/database?sslmode=require`.
    pub url: String,
    /// URL for LISTEN that bypasses a transaction pooler. Default: `url`.
    pub listen_url: Option<String>,
    /// Largest number of connections; each lane with a notification trigger uses one more to listen.
    pub connections: u32,
    /// Time limit for getting a connection.
    pub acquire_timeout: Duration,
    /// Time limit of calls that move rows. Maintenance and inspection have [`LONG_DEADLINE_FACTOR`] times as long.
    pub timeout: Duration,
    /// The pooler between us and the server; detected if not set.
    pub pooler: Option<Pooler>,
}

/// Time limit of one attempt to connect.
const CONNECT: Duration = Duration::from_secs(3);

/// Factor of the time limit for calls that may take long.
const LONG_DEADLINE_FACTOR: u32 = 4;

impl Settings {
    /// Creates settings with 8 connections, 5 seconds to get one, 8 seconds per call, and detection of poolers.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            listen_url: None,
            connections: 8,
            acquire_timeout: Duration::from_secs(5),
            timeout: Duration::from_secs(8),
            pooler: None,
        }
    }
}

/// Leaves out the URLs, as they contain passwords.
impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("connections", &self.connections)
            .field("acquire_timeout", &self.acquire_timeout)
            .field("timeout", &self.timeout)
            .field("pooler", &self.pooler)
            .finish_non_exhaustive()
    }
}

/// A database; all its lanes share the connection pool.
#[derive(Clone)]
pub struct Database {
    pub(crate) pool: Pool<Connector>,
    /// Options for LISTEN that bypass a pooler.
    pub(crate) listen: Option<PgConnectOptions>,
    /// The worker's id, unique for each opened table: distinguishes the rows of one lane from those of another.
    pub(crate) instance: Arc<str>,
    pub(crate) wake_ups: WakeUps,
    pub(crate) place: DatabaseAddress,
    /// Time limit of a call.
    pub(crate) deadline: Duration,
    /// Time limit of a call that may take long.
    pub(crate) long_deadline: Duration,
    pub(crate) connections: u32,
}

impl Database {
    /// Checks the settings; connects on first use.
    pub fn connect(settings: &Settings) -> Result<Self, Error> {
        let options = options(&settings.url)?;
        let place = DatabaseAddress::new(&options);
        let (deadline, long_deadline) = (settings.timeout, settings.timeout * LONG_DEADLINE_FACTOR);
        let listen = settings.listen_url.as_deref().map(self::options).transpose()?;
        let listen = listen
            .map(|options| Connector::new(options, None, deadline, long_deadline).plain_options().clone());
        let connector = Connector::new(options, settings.pooler, deadline, long_deadline);
        let connections = settings.connections.max(1);
        let limits = Limits {
            connections,
            row_call_timeout: deadline,
            acquire: settings.acquire_timeout,
            connect: CONNECT,
            lifetime: Some(Duration::from_mins(30)),
            idle: Some(Duration::from_mins(10)),
        };
        let instance = bind::instance_id().into();
        let pool = Pool::new(connector, limits);
        let wake_ups = WakeUps::default();
        Ok(Self { pool, listen, instance, wake_ups, place, deadline, long_deadline, connections })
    }

    /// Opens a contract's table for one stage: reads its columns and renders its statements. `lane` names the lane in
    /// messages. Returns a transient error, which can be retried, if the database is unavailable.
    pub async fn open(
        &self,
        contract: Contract,
        stage: &str,
        lane: &str,
    ) -> Result<Arc<PostgresStore>, Error> {
        self.reach().await?;
        self.refuse_old().await?;
        let shape = shape::read(self, &contract).await?.ok_or_else(|| self.no_table(&contract, lane))?;
        let opened = OpenTable::new(&contract, stage, Dialect::Postgres, shape, BATCH)
            .map_err(|what| self.misfit(lane, &what))?;
        let waker = RowNotifier::new(self, &opened.contract).await?;
        let migration = Migration::new(self.clone(), contract);
        let database = Self { instance: bind::instance_id().into(), ..self.clone() };
        Ok(Arc::new(SqlStore(PostgresTable { database, opened, waker, migration })))
    }

    /// Opens a contract for `migrate`, whether or not its table exists.
    pub fn migration(&self, contract: Contract) -> Arc<Migration> {
        Arc::new(Migration::new(self.clone(), contract))
    }

    /// Returns the largest number of connections of this database.
    pub fn connections(&self) -> u32 {
        self.connections
    }

    /// Closes the connections after the running calls have ended.
    pub async fn close(&self) {
        self.pool.close().await;
    }

    async fn refuse_old(&self) -> Result<(), Error> {
        let query = sqlx::query("SELECT current_setting('server_version_num')::int");
        let (version,): (i32,) = self.one("connect", query).await?;
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

fn options(url: &str) -> Result<PgConnectOptions, Error> {
    let mistakes = url_mistakes(url);
    let parsed = PgConnectOptions::from_str(url).ok().filter(|_| mistakes.is_empty());
    parsed.ok_or_else(|| {
        let texts: Vec<String> = mistakes.iter().map(ToString::to_string).collect();
        Error::new(Class::Misconfigured, format!("the store's URL: {}", texts.join("; ")))
    })
}
