//! Sessions: how one is opened, straight or through a connection pooler, and how a transaction begins on it.
//!
//! A session of our own gets its settings once, in the start-up message. Behind a pooler in transaction mode (PgBouncer)
//! there is no such session: every transaction may run on another server connection, and start-up parameters are refused
//! or ignored. There each call is a transaction that begins with its settings (`SET LOCAL`) in the same round trip, and
//! statements have no name.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use postrider_sql::run::pool::Connect;
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{
    AssertSqlSafe, ConnectOptions as _, Connection as _, Executor as _, Postgres, Row as _, Transaction,
};

use crate::error;

/// What is between us and the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pooler {
    /// Nothing, or nothing that shows: a session of the server's own.
    None,
    /// A pooler that keeps one server connection for as long as a client is connected.
    Session,
    /// A pooler that keeps one for a transaction only.
    Transaction,
}

impl Pooler {
    /// Are sessions kept from one statement to the next?
    pub fn keeps_sessions(self) -> bool {
        self != Self::Transaction
    }

    fn from_code(code: u8) -> Self {
        match code {
            1 => Self::Session,
            2 => Self::Transaction,
            _ => Self::None,
        }
    }

    fn code(self) -> u8 {
        match self {
            Self::None => 0,
            Self::Session => 1,
            Self::Transaction => 2,
        }
    }
}

/// A start-up parameter of our own: it comes back only from a session that took all of them.
const PROBE: &str = "postrider.session";

/// What a session of ours must be, and nothing that a pooler could object to.
#[derive(Clone)]
pub struct Connector {
    /// With the settings in the start-up message.
    direct: PgConnectOptions,
    /// With the start-up parameters that every pooler knows.
    plain: PgConnectOptions,
    settings: Arc<[(&'static str, String)]>,
    /// As it was found, or set. Shared with copies.
    pooler: Arc<AtomicU8>,
    /// Set by an operator: nothing is to be found out.
    is_set: bool,
}

impl Connector {
    pub fn new(options: PgConnectOptions, pooler: Option<Pooler>, timeout: Duration, most: Duration) -> Self {
        let plain =
            options.application_name("postrider").extra_float_digits(None).disable_statement_logging();
        let settings: Arc<[_]> = session_settings(timeout, most).into();
        let direct = plain.clone().options(settings.iter().map(|(name, value)| (*name, value.as_str())));
        let direct = direct.options([(PROBE, "on")]);
        let code = pooler.unwrap_or(Pooler::None).code();
        Self { direct, plain, settings, pooler: Arc::new(AtomicU8::new(code)), is_set: pooler.is_some() }
    }

    pub fn pooler(&self) -> Pooler {
        Pooler::from_code(self.pooler.load(Ordering::Relaxed))
    }

    /// For connections beside the pool, which set what they need by statements.
    pub fn plain_options(&self) -> &PgConnectOptions {
        &self.plain
    }

    /// The first statements of a transaction, sent together.
    fn begin(&self, most: Duration) -> String {
        let local =
            self.settings.iter().filter(|(name, _)| is_local(name)).map(|(name, value)| match *name {
                "statement_timeout" => format!("SET LOCAL statement_timeout = '{}'", most.as_millis()),
                _ => format!("SET LOCAL {name} = '{value}'"),
            });
        let first = ["BEGIN ISOLATION LEVEL READ COMMITTED", "SET LOCAL TimeZone = 'UTC'"];
        first.into_iter().map(str::to_owned).chain(local).collect::<Vec<_>>().join("; ")
    }

    /// Begins a transaction in which a statement may run for `most`.
    pub async fn transaction<'c>(
        &self,
        connection: &'c mut PgConnection,
        most: Duration,
    ) -> Result<Transaction<'c, Postgres>, sqlx::Error> {
        match self.pooler() {
            Pooler::Transaction => connection.begin_with(AssertSqlSafe(self.begin(most))).await,
            Pooler::None | Pooler::Session => connection.begin().await,
        }
    }

    async fn connect_directly(&self) -> Result<Option<PgConnection>, sqlx::Error> {
        let mut connection = match self.direct.connect().await {
            Err(cause) if error::is_unknown_startup_parameter(&cause) => return Ok(None),
            connected => connected?,
        };
        let took_settings = prepare(&mut connection).await?;
        Ok(took_settings.then_some(connection))
    }

    async fn connect_to_pooler(&self) -> Result<PgConnection, sqlx::Error> {
        let mut connection = self.plain.connect().await?;
        prepare(&mut connection).await?;
        if self.pooler() == Pooler::Session {
            let all = self.settings.iter().map(|(name, value)| format!("SET {name} = '{value}'"));
            let all = all.collect::<Vec<_>>().join("; ");
            connection.execute(AssertSqlSafe(all)).await?;
        }
        Ok(connection)
    }
}

impl Connect for Connector {
    type Connection = PgConnection;
    type Error = sqlx::Error;

    async fn connect(&self) -> Result<PgConnection, sqlx::Error> {
        if self.is_set && self.pooler() != Pooler::None {
            return self.connect_to_pooler().await;
        }
        // Tried with each connection: after a change of address there may be a pooler, or none any more.
        if let Some(connection) = self.connect_directly().await? {
            self.pooler.store(Pooler::None.code(), Ordering::Relaxed);
            return Ok(connection);
        }
        if self.is_set {
            let text = "a pooler refuses or ignores our start-up parameters: set pooler = \"transaction\" (or \
                        \"session\") in the store's settings, or leave it out";
            return Err(sqlx::Error::Configuration(text.into()));
        }
        if self.pooler.swap(Pooler::Transaction.code(), Ordering::Relaxed) != Pooler::Transaction.code() {
            tracing::info!("a connection pooler was found: calls are transactions with unnamed statements");
        }
        self.connect_to_pooler().await
    }

    async fn close(&self, connection: PgConnection) {
        // The socket is closed whatever the server says.
        connection.close().await.ok();
    }

    fn survives(&self, error: &sqlx::Error) -> bool {
        error::leaves_the_session(error)
    }

    fn concerns_all(&self, error: &sqlx::Error) -> bool {
        error::is_read_only(error)
    }

    fn is_clean(&self, connection: &PgConnection) -> bool {
        !connection.is_in_transaction()
    }

    fn comes_back(&self, error: &sqlx::Error) -> bool {
        error::is_starting(error)
    }

    fn no_connection(&self) -> sqlx::Error {
        sqlx::Error::PoolTimedOut
    }

    fn no_answer(&self, within: Duration) -> sqlx::Error {
        error::no_answer(within)
    }

    fn closed(&self) -> sqlx::Error {
        sqlx::Error::PoolClosed
    }
}

/// What a session is set to. Custom plans: the statements' literals must meet the partial indexes, and a generic plan
/// made on an empty table would stay when it is full. No bitmaps: our statements read an index in its order and stop
/// early, while a bitmap of a long group reads and sorts all of it. No JIT: they are short. The idle time of
/// a transaction ends those of a worker that is gone: the rows that it locked are free for others.
fn session_settings(timeout: Duration, most: Duration) -> Vec<(&'static str, String)> {
    let millis = |duration: Duration| duration.as_millis().max(1).to_string();
    vec![
        ("default_transaction_isolation", "read committed".to_owned()),
        ("plan_cache_mode", "force_custom_plan".to_owned()),
        ("enable_bitmapscan", "off".to_owned()),
        ("jit", "off".to_owned()),
        ("statement_timeout", millis(most)),
        ("idle_in_transaction_session_timeout", millis(timeout)),
        ("tcp_keepalives_idle", "30".to_owned()),
        ("tcp_keepalives_interval", "10".to_owned()),
        ("tcp_keepalives_count", "3".to_owned()),
    ]
}

/// Is it about transactions? The others are said by BEGIN, or are about the server's socket, which is the pooler's.
fn is_local(name: &str) -> bool {
    name != "default_transaction_isolation" && !name.starts_with("tcp_")
}

/// A database without an encoding of its own (SQL_ASCII) may hold bytes that are no UTF-8. Asked for UTF-8, the server
/// would refuse a whole claim because of one such row; asked for the bytes, that row alone is found unreadable.
///
/// Where the server can (14 and later), it is asked to cancel statements whose client is gone, instead of running and
/// committing them for nobody. The answer: has the session taken our settings?
async fn prepare(connection: &mut PgConnection) -> Result<bool, sqlx::Error> {
    const PREPARE: &str = "SELECT coalesce(current_setting('postrider.session', true), ''), \
        CASE WHEN current_setting('server_encoding') = 'SQL_ASCII' \
        THEN set_config('client_encoding', 'SQL_ASCII', false) END, \
        CASE WHEN current_setting('server_version_num')::int >= 140000 \
        AND current_setting('postrider.session', true) = 'on' \
        THEN set_config('client_connection_check_interval', '2s', false) END";
    let row = connection.fetch_one(PREPARE).await?;
    Ok(row.try_get::<String, _>(0)? == "on")
}

/// Gives up a transaction because of `cause`. Where the session is lost the server does that by itself.
pub async fn rolled_back(transaction: Transaction<'_, Postgres>, cause: sqlx::Error) -> sqlx::Error {
    if !error::leaves_the_session(&cause) {
        return cause;
    }
    match transaction.rollback().await {
        Ok(()) => cause,
        // The connection is lost, which says more than what went wrong on it.
        Err(lost) => lost,
    }
}
