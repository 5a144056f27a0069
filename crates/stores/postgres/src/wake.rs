//! Wakes a lane when rows are written: by this process, or by another one and reported by LISTEN/NOTIFY. Without the
//! notification trigger, or behind a transaction pooler, rows of other processes are found by polling.

use std::time::Duration;

use postrider_contract::Contract;
use postrider_seams::WakeUp;
use postrider_seams::store::Error;
use postrider_sql::ddl;
use postrider_sql::driver::errors::DriverErrors as _;
use postrider_sql::verify::Waking;
use sqlx::postgres::{PgConnectOptions, PgListener, PgPoolOptions};
use tokio::sync::OnceCell;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::connect::Database;
use crate::error::Errors;
use crate::shape;

const TRIGGER: &str = "SELECT EXISTS (SELECT FROM pg_catalog.pg_trigger \
    WHERE tgrelid = to_regclass($1) AND tgname = $2 AND tgenabled <> 'D')";

/// Whether the table has the notification trigger, enabled. The trigger is named after its channel.
pub async fn has_trigger(database: &Database, contract: &Contract) -> Result<bool, Error> {
    let query = sqlx::query(TRIGGER).bind(shape::qualified(&contract.table)).bind(ddl::channel(contract));
    let (there,): (bool,) = database.one("find the notification trigger", query).await?;
    Ok(there)
}

/// Time without a notification after which the connection is tested.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(20);
/// Time limit for connecting, and for the test of a connection.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The wake-ups of one lane.
pub struct RowNotifier {
    wake_up: WakeUp,
    listens: Option<ListenOptions>,
    waking: Waking,
    listener: OnceCell<Listener>,
}

struct ListenOptions {
    options: PgConnectOptions,
    channel: String,
}

/// The listening task; aborted together with its store.
struct Listener(JoinHandle<()>);

impl Drop for Listener {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl RowNotifier {
    /// Checks the trigger and the pooler; the listener starts with the first wait.
    pub async fn new(database: &Database, contract: &Contract) -> Result<Self, Error> {
        let is_there = has_trigger(database, contract).await?;
        // After a query, as the first query detects a pooler.
        let options = listening(database);
        let waking = match (&options, is_there) {
            (None, trigger) => Waking::BehindPooler { trigger },
            (Some(_), false) => Waking::NoTrigger,
            (Some(_), true) => Waking::AtOnce,
        };
        let listens = options
            .filter(|_| is_there)
            .map(|options| ListenOptions { options, channel: ddl::channel(contract) });
        let wake_up = database.wake_ups.subscribe(&contract.table.name);
        Ok(Self { wake_up, listens, waking, listener: OnceCell::new() })
    }

    /// Whether notifications wake the lane, so that it need not rely on polling.
    pub fn notifies(&self) -> bool {
        self.waking == Waking::AtOnce
    }

    /// Returns how the lane is woken, for `check`.
    pub fn waking(&self) -> Waking {
        self.waking
    }

    /// Returns the lane's wake-ups.
    pub fn wake_up(&self) -> &WakeUp {
        &self.wake_up
    }

    /// Returns when rows were written, or at the deadline. A notification between two waits ends the next one.
    pub async fn wait(&self, deadline: Instant) {
        if let Some(listens) = &self.listens {
            // The first wait starts the listener: a store that never waits needs no connection for it.
            self.listener.get_or_init(|| async { listens.start(self.wake_up.handle()) }).await;
        }
        tokio::select! {
            biased;
            () = self.wake_up.woken() => {}
            () = tokio::time::sleep_until(deadline) => {}
        }
    }
}

impl ListenOptions {
    fn start(&self, lane: WakeUp) -> Listener {
        let (options, channel) = (self.options.clone(), self.channel.clone());
        Listener(tokio::spawn(async move {
            loop {
                if let Err(cause) = listen(&options, &channel, &lane).await {
                    tracing::debug!(%cause, channel, "listening was cut; polling goes on");
                }
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        }))
    }
}

/// Returns the options for LISTEN; `None` behind a transaction pooler that cannot be bypassed.
fn listening(database: &Database) -> Option<PgConnectOptions> {
    let connector = database.pool.connector();
    let plain = connector.pooler().keeps_sessions().then(|| connector.plain_options());
    database.listen.as_ref().or(plain).cloned()
}

/// ListenOptions until the connection is lost. A silent connection is tested periodically: a dead peer sends nothing.
async fn listen(options: &PgConnectOptions, channel: &str, lane: &WakeUp) -> Result<(), sqlx::Error> {
    let pool = PgPoolOptions::new()
        .max_connections(1)
        .max_lifetime(None)
        .idle_timeout(None)
        .acquire_timeout(TIMEOUT)
        .connect_with(options.clone())
        .await?;
    let mut listener = in_time(PgListener::connect_with(&pool)).await?;
    listener.eager_reconnect(false);
    in_time(listener.listen(channel)).await?;
    loop {
        // Rows written before we listened count as a notification too.
        lane.wake();
        loop {
            match tokio::time::timeout(KEEPALIVE_INTERVAL, listener.try_recv()).await {
                Ok(Ok(Some(_))) => break,
                Ok(Ok(None)) => return Ok(()),
                Ok(Err(cause)) => return Err(cause),
                Err(_) => in_time(sqlx::raw_sql("SELECT 1").execute(&mut listener)).await.map(|_| ())?,
            }
        }
    }
}

async fn in_time<T>(work: impl Future<Output = Result<T, sqlx::Error>>) -> Result<T, sqlx::Error> {
    match tokio::time::timeout(TIMEOUT, work).await {
        Ok(outcome) => outcome,
        Err(_) => Err(Errors::no_answer(TIMEOUT)),
    }
}
