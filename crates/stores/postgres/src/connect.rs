//! Connecting: lazily, so that a process can start while the database is away.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use postrider_contract::Contract;
use postrider_seams::store::{Class, Error};
use postrider_sql::run::Opened;
use postrider_sql::run::pool::{Limits, Pool};
use postrider_sql::run::store::SqlStore;
use postrider_sql::{Dialect, bind};
use sqlx::postgres::PgConnectOptions;

use crate::error::Place;
use crate::migrate::Migration;
use crate::session::{Connector, Pooler};
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
    /// The longest wait for a connection.
    pub acquire_timeout: Duration,
    /// The longest wait for an answer, of calls that move rows. Maintenance and inspection have [`PATIENT`] times as long.
    pub timeout: Duration,
    /// What is between us and the server; found out if not set.
    pub pooler: Option<Pooler>,
}

/// The longest that one attempt to connect may take.
const CONNECT: Duration = Duration::from_secs(3);

/// Calls that may take long have so many times the timeout.
const PATIENT: u32 = 4;

impl Settings {
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

/// The URLs hold passwords, so they are not shown.
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

/// One database; every lane on it shares its pool.
#[derive(Clone)]
pub struct Database {
    pub(crate) pool: Pool<Connector>,
    /// A way past a pooler, for LISTEN.
    pub(crate) listen: Option<PgConnectOptions>,
    /// The worker's id, one for each table that is opened: it tells the rows of one lane from those of another.
    pub(crate) instance: Arc<str>,
    pub(crate) place: Place,
    /// The longest wait for an answer.
    pub(crate) deadline: Duration,
    /// The same for calls that may take long.
    pub(crate) patience: Duration,
    pub(crate) connections: u32,
}

impl Database {
    /// Reads the settings; connects when first asked to do something, not here.
    pub fn connect(settings: &Settings) -> Result<Self, Error> {
        let options = options(&settings.url)?;
        let place = Place::new(&options);
        let (deadline, patience) = (settings.timeout, settings.timeout * PATIENT);
        let listen = settings.listen_url.as_deref().map(self::options).transpose()?;
        let listen =
            listen.map(|options| Connector::new(options, None, deadline, patience).plain_options().clone());
        let connector = Connector::new(options, settings.pooler, deadline, patience);
        let connections = settings.connections.max(1);
        let limits = Limits {
            connections,
            acquire: settings.acquire_timeout,
            connect: CONNECT,
            lifetime: Some(Duration::from_mins(30)),
            idle: Some(Duration::from_mins(10)),
        };
        let instance = bind::instance_id().into();
        let pool = Pool::new(connector, limits);
        Ok(Self { pool, listen, instance, place, deadline, patience, connections })
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
        let database = Self { instance: bind::instance_id().into(), ..self.clone() };
        Ok(Arc::new(SqlStore(PostgresTable { database, opened, waker, migration })))
    }

    /// Opens a contract for `migrate`, whether its table is there or not.
    pub fn migration(&self, contract: Contract) -> Arc<Migration> {
        Arc::new(Migration::new(self.clone(), contract))
    }

    /// Connections that this database may have at once.
    pub fn connections(&self) -> u32 {
        self.connections
    }

    /// Gives the connections back. What runs on them ends first.
    pub async fn close(&self) {
        self.pool.close().await;
    }

    /// Fails at once, with the reason, where the server can't be reached.
    pub(crate) async fn reach(&self) -> Result<(), Error> {
        self.pool.reach().await.map_err(|cause| error::classify(&self.place, "connect", cause))
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
    // The parser's own message may quote parts of the URL, and so of the password.
    PgConnectOptions::from_str(url).map_err(|_| {
        Error::new(
            Class::Misconfigured,
            "the store's URL can't be read: it should be postgres://user:password@host:5432/database \
             (special characters in the password are percent-encoded)",
        )
    })
}
