//! Connects to a MySQL or MariaDB server, lazily, so that a process can start while the database is unavailable.

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
use postrider_target_options::{OptionMistake, query_mistakes};
use sqlx::ConnectOptions as _;
use sqlx::mysql::MySqlConnectOptions;

use crate::error::DatabaseAddress;
use crate::migrate::Migration;
use crate::session::Connector;
use crate::shape;
use crate::store::{MysqlStore, MysqlTable};

/// Largest number of keys per statement: longer transactions cause more collisions than they save round trips.
const BATCH: usize = 512;

/// Oldest supported versions: the first ones with SKIP LOCKED.
const OLDEST_MYSQL: Version = Version(8, 0, 1);
const OLDEST_MARIADB: Version = Version(10, 6, 0);

/// The settings of a database.
#[derive(Clone)]
pub struct Settings {
    /// `mysql://user:password@host:port/database?ssl-mode=REQUIRED`.
    pub url: String,
    /// Largest number of connections.
    pub connections: u32,
    /// Time limit for getting a connection.
    pub acquire_timeout: Duration,
    /// Time limit of calls that move rows. Maintenance and inspection have [`LONG_DEADLINE_FACTOR`] times as long.
    pub timeout: Duration,
}

/// Time limit of one attempt to connect.
const CONNECT: Duration = Duration::from_secs(3);

/// Maximum idle time of a connection. The server closes sessions that stay silent for longer (`session.rs`).
pub(crate) const IDLE: Duration = Duration::from_mins(1);

/// Factor of the time limit for calls that may take long.
const LONG_DEADLINE_FACTOR: u32 = 4;

impl Settings {
    /// Creates settings with 8 connections, 5 seconds to get one, and 8 seconds per call.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            connections: 8,
            acquire_timeout: Duration::from_secs(5),
            timeout: Duration::from_secs(8),
        }
    }
}

/// Leaves out the URL, as it contains a password.
impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("connections", &self.connections)
            .field("acquire_timeout", &self.acquire_timeout)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

/// A database; all its lanes share the connection pool.
#[derive(Clone)]
pub struct Database {
    pub(crate) pool: Pool<Connector>,
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
        let connections = settings.connections.max(1);
        let (deadline, long_deadline) = (settings.timeout, settings.timeout * LONG_DEADLINE_FACTOR);
        let limits = Limits {
            connections,
            row_call_timeout: deadline,
            acquire: settings.acquire_timeout,
            connect: CONNECT,
            lifetime: Some(Duration::from_mins(30)),
            idle: Some(IDLE),
        };
        let pool = Pool::new(Connector::new(options, deadline, long_deadline), limits);
        let instance = bind::instance_id().into();
        let wake_ups = WakeUps::default();
        Ok(Self { pool, instance, wake_ups, place, deadline, long_deadline, connections })
    }

    /// Opens a contract's table for one stage: reads its columns and renders its statements. `lane` names the lane in
    /// messages. Returns a transient error, which can be retried, if the database is unavailable.
    pub async fn open(&self, contract: Contract, stage: &str, lane: &str) -> Result<Arc<MysqlStore>, Error> {
        self.reach().await?;
        self.refuse_old().await?;
        let shape = shape::read(self, &contract).await?.ok_or_else(|| self.no_table(&contract, lane))?;
        let opened = OpenTable::new(&contract, stage, Dialect::Mysql, shape, BATCH).map_err(|what| {
            let place = &self.place;
            let text =
                format!("{place}: lane {lane} does not fit its table: {what}; `postrider check` shows all");
            Error::new(Class::Misconfigured, text)
        })?;
        let migration = Migration::new(self.clone(), contract);
        let database = Self { instance: bind::instance_id().into(), ..self.clone() };
        let wake_up = self.wake_ups.subscribe(&opened.contract.table.name);
        Ok(Arc::new(SqlStore(MysqlTable { database, opened, wake_up, migration })))
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

    /// Returns the server's version string.
    pub(crate) async fn version(&self) -> Result<String, Error> {
        let found: Vec<(String,)> =
            self.all("connect", sqlx::query("SELECT CAST(VERSION() AS CHAR)")).await?;
        Ok(found.into_iter().next().map(|(version,)| version).unwrap_or_default())
    }

    async fn refuse_old(&self) -> Result<(), Error> {
        let version = self.version().await?;
        let Some(oldest) = too_old(&version) else { return Ok(()) };
        Err(Error::new(
            Class::Misconfigured,
            format!(
                "{} is version {version}, which has no SKIP LOCKED; Postrider needs {oldest} or later",
                self.place
            ),
        ))
    }

    fn no_table(&self, contract: &Contract, lane: &str) -> Error {
        let (place, table) = (&self.place, &contract.table.name);
        Error::new(
            Class::Misconfigured,
            format!("{place} has no table {table} (lane {lane}): run `postrider migrate`"),
        )
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Version(u32, u32, u32);

/// Returns the required version if the server is too old.
fn too_old(version: &str) -> Option<&'static str> {
    let mariadb = version.contains("MariaDB");
    // Some MariaDB servers send this prefix before their version, for old clients.
    let plain = version.strip_prefix("5.5.5-").filter(|_| mariadb).unwrap_or(version);
    let mut parts = plain.split(|c: char| !c.is_ascii_digit()).map(|part| part.parse().unwrap_or(0));
    let mut next = || parts.next().unwrap_or(0);
    let found = Version(next(), next(), next());
    match mariadb {
        true if found < OLDEST_MARIADB => Some("MariaDB 10.6"),
        false if found < OLDEST_MYSQL => Some("MySQL 8.0.1"),
        _ => None,
    }
}

/// The options that the driver reads from a URL. It ignores any other, a misspelled `ssl_mode` too.
const URL_OPTIONS: [&str; 11] = [
    "ssl-mode",
    "sslmode",
    "ssl-ca",
    "sslca",
    "ssl-cert",
    "sslcert",
    "ssl-key",
    "sslkey",
    "socket",
    "collation",
    "statement-cache-capacity",
];

/// Options that the driver reads, and that would change what our sessions rely on.
const OUR_OPTIONS: [(&str, &str); 3] = [
    ("time-zone", "cannot be set: Postrider's sessions are always in UTC"),
    ("timezone", "cannot be set: Postrider's sessions are always in UTC"),
    ("charset", "cannot be set: Postrider's sessions always use utf8mb4"),
];

/// Lists every mistake in a database's URL, without connecting and without secrets.
pub fn url_mistakes(url: &str) -> Vec<OptionMistake> {
    let is_valid = |url: &str| MySqlConnectOptions::from_str(url).is_ok();
    let mut mistakes = query_mistakes(url, &URL_OPTIONS, &OUR_OPTIONS, is_valid);
    // The parser's message may quote parts of the URL, and thus of the password.
    match MySqlConnectOptions::from_str(url) {
        Err(_) if mistakes.is_empty() => mistakes.push(
            "can't be read: it should be mysql://user:password@host:3306/database (special characters in the \
             password are percent-encoded)"
                .into(),
        ),
        Ok(options) if options.get_database().is_none_or(str::is_empty) => mistakes.push(
            "names no database: it should be mysql://user:password@host:3306/database".into(),
        ),
        _ => {}
    }
    mistakes
}

fn options(url: &str) -> Result<MySqlConnectOptions, Error> {
    let invalid = |mistakes: &[OptionMistake]| {
        let texts: Vec<String> = mistakes.iter().map(ToString::to_string).collect();
        Error::new(Class::Misconfigured, format!("the store's URL: {}", texts.join("; ")))
    };
    let mistakes = url_mistakes(url);
    let parsed = MySqlConnectOptions::from_str(url).ok().filter(|_| mistakes.is_empty());
    let options = parsed.ok_or_else(|| invalid(&mistakes))?;
    // sqlx sets UTC and utf8mb4; `session.rs` sets the rest.
    Ok(options.pipes_as_concat(false).no_engine_substitution(false).disable_statement_logging())
}

#[cfg(test)]
mod tests {
    use super::{options, too_old, url_mistakes};

    #[test]
    fn an_option_that_the_driver_would_ignore_and_one_that_is_ours_are_mistakes() {
        let mistakes = |query: &str| {
            let found = url_mistakes(&format!("mysql://app:hunter2@db/shop?{query}"));
            found.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
        };
        assert_eq!(mistakes("ssl-mode=VERIFY_IDENTITY&ssl-ca=ca.pem&socket=/run/m.sock"), "");
        assert_eq!(
            mistakes("ssl_mode=VERIFY_IDENTITY"),
            "ssl_mode is not an option of this database; did you mean `ssl-mode`?"
        );
        assert_eq!(mistakes("ssl-mode=VERIFY"), "ssl-mode has an invalid value");
        for ours in ["time-zone=%2B08:00", "timezone=SYSTEM"] {
            assert!(mistakes(ours).contains("always in UTC"), "{ours}");
        }
        assert!(mistakes("charset=latin1").contains("utf8mb4"));
        let error = options("mysql://app:hunter2@db/shop?time-zone=%2B08:00").unwrap_err().to_string();
        assert!(error.contains("always in UTC") && !error.contains("hunter2"), "{error}");
        assert!(url_mistakes("mysql://db")[0].what.contains("names no database"));
        assert!(url_mistakes("mysql://db:port/x")[0].what.contains("can't be read"));
    }

    #[test]
    fn servers_without_skip_locked_are_refused() {
        for old in ["5.7.44-log", "8.0.0-dmr", "10.5.23-MariaDB-1", "5.5.5-10.3.39-MariaDB"] {
            assert!(too_old(old).is_some(), "{old}");
        }
        for fine in [
            "8.0.1",
            "8.4.3",
            "9.7.0",
            "10.6.0-MariaDB",
            "10.11.19-MariaDB-0+deb12u1",
            "5.5.5-11.4.2-MariaDB",
        ] {
            assert!(too_old(fine).is_none(), "{fine}");
        }
    }
}
