//! Opens sessions, directly or through a connection pooler, and begins transactions on them.
//!
//! A direct session gets its settings once, in the start-up message. Behind a pooler in transaction mode (PgBouncer)
//! there is no such session: every transaction may use another server connection, and start-up parameters are refused
//! or ignored. There, each call is a transaction that begins with its settings (`SET LOCAL`) in the same round trip,
//! and statements are unnamed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use postrider_sql::driver::pool::Connect;
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{
    AssertSqlSafe, ConnectOptions as _, Connection as _, Executor as _, Postgres, Row as _, Transaction,
};

use crate::error::{self, Errors};

/// The kind of pooler between us and the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pooler {
    /// No pooler, or none that can be detected: a session on the server itself.
    None,
    /// A pooler that assigns one server connection for as long as a client is connected.
    Session,
    /// A pooler that assigns a server connection for one transaction only.
    Transaction,
}

impl Pooler {
    /// Whether consecutive statements run in the same session.
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

/// A custom start-up parameter: only a session that accepted all of them returns it.
const PROBE: &str = "postrider.session";

/// Opens sessions with our settings, in a way that poolers accept.
#[derive(Clone)]
pub struct Connector {
    /// Options with our settings in the start-up message.
    direct: PgConnectOptions,
    /// Options with only those start-up parameters that every pooler accepts.
    plain: PgConnectOptions,
    settings: Arc<[(&'static str, String)]>,
    /// The pooler, detected or set. Shared by clones.
    pooler: Arc<AtomicU8>,
    /// Whether an operator set the pooler: then it is not detected.
    is_set: bool,
}

impl Connector {
    /// Creates a connector; `most` limits statements, and `pooler: None` means that the pooler is detected.
    pub fn new(options: PgConnectOptions, pooler: Option<Pooler>, timeout: Duration, most: Duration) -> Self {
        let plain =
            options.application_name("postrider").extra_float_digits(None).disable_statement_logging();
        let settings: Arc<[_]> = session_settings(timeout, most).into();
        let direct = plain.clone().options(settings.iter().map(|(name, value)| (*name, value.as_str())));
        let direct = direct.options([(PROBE, "on")]);
        let code = pooler.unwrap_or(Pooler::None).code();
        Self { direct, plain, settings, pooler: Arc::new(AtomicU8::new(code)), is_set: pooler.is_some() }
    }

    /// Returns the pooler as detected so far, or as set.
    pub fn pooler(&self) -> Pooler {
        Pooler::from_code(self.pooler.load(Ordering::Relaxed))
    }

    /// Returns the options for connections outside the pool, which apply their settings by statements.
    pub fn plain_options(&self) -> &PgConnectOptions {
        &self.plain
    }

    /// Returns the first statements of a transaction, which are sent together.
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
    type Errors = Errors;

    async fn connect(&self) -> Result<PgConnection, sqlx::Error> {
        if self.is_set && self.pooler() != Pooler::None {
            return self.connect_to_pooler().await;
        }
        // Tried for each connection: after a change of address a pooler may have appeared or disappeared.
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
        // The socket is closed whatever the server answers.
        connection.close().await.ok();
    }

    fn is_clean(&self, connection: &PgConnection) -> bool {
        !connection.is_in_transaction()
    }
}

/// Returns the settings of a session. Custom plans: the literals must match the partial indexes, and a generic plan
/// made on an empty table would be kept when it is full. No bitmap scans: our statements read an index in order and
/// stop early, while a bitmap scan of a long group reads and sorts all of it. No JIT: the statements are short. The
/// idle timeout ends transactions of workers that are gone, which releases their row locks; the TCP settings end
/// sessions whose peer is gone, in the middle of an answer too.
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
        ("tcp_user_timeout", "30000".to_owned()),
    ]
}

/// Whether our sessions set this setting of the server.
pub(crate) fn sets(name: &str) -> bool {
    session_settings(Duration::ZERO, Duration::ZERO).iter().any(|(known, _)| *known == name)
}

/// Whether `SET LOCAL` applies the setting. The others are part of BEGIN, or concern the server's socket to the pooler.
fn is_local(name: &str) -> bool {
    name != "default_transaction_isolation" && !name.starts_with("tcp_")
}

/// Prepares a new session, and returns whether it accepted our settings.
///
/// A database without an encoding (SQL_ASCII) may hold bytes that are not UTF-8. If the client encoding were UTF-8, the
/// server would refuse a whole claim because of one such row; without conversion, only that row is unreadable.
///
/// If supported (14 and later), the server cancels statements whose client is gone, instead of committing them.
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
