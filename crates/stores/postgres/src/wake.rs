//! Waking: LISTEN where the notification trigger is there, else only the deadline. The poll is always enough.

use std::sync::Arc;
use std::time::Duration;

use postrider_contract::Contract;
use postrider_seams::store::Error;
use postrider_sql::ddl;
use sqlx::postgres::{PgConnectOptions, PgListener, PgPoolOptions};
use tokio::sync::{Notify, OnceCell};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::connect::Database;
use crate::{error, shape};

const TRIGGER: &str = "SELECT EXISTS (SELECT FROM pg_catalog.pg_trigger \
    WHERE tgrelid = to_regclass($1) AND tgname = $2 AND tgenabled <> 'D')";

/// Is the notification trigger on this table, and enabled? It has its channel's name.
pub async fn has_trigger(database: &Database, contract: &Contract) -> Result<bool, Error> {
    sqlx::query_scalar(TRIGGER)
        .bind(shape::qualified(&contract.table))
        .bind(ddl::channel(contract))
        .fetch_one(&database.pool)
        .await
        .map_err(|cause| error::classify(&database.place, "look for the notification trigger", cause))
}

/// One lane's ear.
pub struct Waker {
    written: Arc<Notify>,
    listens: Option<Listens>,
    listener: OnceCell<Listener>,
}

struct Listens {
    options: PgConnectOptions,
    channel: String,
}

/// Ends with its store.
struct Listener(JoinHandle<()>);

impl Drop for Listener {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Waker {
    pub async fn new(database: &Database, contract: &Contract) -> Result<Self, Error> {
        let listens = has_trigger(database, contract)
            .await?
            .then(|| Listens { options: database.listen.clone(), channel: ddl::channel(contract) });
        Ok(Self { written: Arc::default(), listens, listener: OnceCell::new() })
    }

    pub fn notifies(&self) -> bool {
        self.listens.is_some()
    }

    /// Returns when rows were written, or at the deadline. A notification between two waits is kept for the next.
    pub async fn wait(&self, deadline: Instant) {
        if let Some(listens) = &self.listens {
            // The first wait starts the listener: whoever never waits has no connection for it.
            self.listener.get_or_init(|| async { listens.start(self.written.clone()) }).await;
        }
        tokio::select! {
            () = self.written.notified() => {}
            () = tokio::time::sleep_until(deadline) => {}
        }
    }
}

impl Listens {
    fn start(&self, written: Arc<Notify>) -> Listener {
        let (options, channel) = (self.options.clone(), self.channel.clone());
        Listener(tokio::spawn(async move {
            loop {
                if let Err(cause) = listen(&options, &channel, &written).await {
                    tracing::debug!(%cause, channel, "listening was cut; polling goes on");
                }
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        }))
    }
}

/// Listens until the connection is lost for good.
async fn listen(options: &PgConnectOptions, channel: &str, written: &Notify) -> Result<(), sqlx::Error> {
    let pool = PgPoolOptions::new()
        .max_connections(1)
        .max_lifetime(None)
        .idle_timeout(None)
        .connect_with(options.clone())
        .await?;
    let mut listener = PgListener::connect_with(&pool).await?;
    listener.listen(channel).await?;
    loop {
        // What was written while nobody listened counts as a notification too.
        written.notify_one();
        listener.try_recv().await?;
    }
}
