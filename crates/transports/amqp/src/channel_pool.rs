//! A bounded pool of channels in confirm mode, on one connection, which is replaced when it is lost.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use lapin::options::ConfirmSelectOptions;
use lapin::tcp::OwnedTLSConfig;
use lapin::{Channel, Connection};
use tokio::sync::{Mutex as AsyncMutex, Semaphore, SemaphorePermit};
use tokio::time::error::Elapsed;
use tokio::time::{Instant, timeout_at};

use crate::config::Settings;
use crate::error::{ConnectError, Error};
use crate::{classify, connect};

/// A channel, and the exchanges that accepted a message from it: publishing to those cannot close it.
pub(crate) struct ConfirmChannel {
    pub(crate) inner: Channel,
    pub(crate) known_exchanges: HashSet<String>,
}

impl ConfirmChannel {
    /// Whether the channel answers a query that changes nothing.
    pub(crate) async fn answers(&self, deadline: Instant) -> bool {
        let answer = self.inner.confirm_select(ConfirmSelectOptions::default());
        matches!(timeout_at(deadline, answer).await, Ok(Ok(())))
    }
}

/// The pool of channels of one broker.
pub struct ChannelPool {
    pub(crate) settings: Settings,
    tls: OwnedTLSConfig,
    connection: AsyncMutex<Option<Connection>>,
    idle: Mutex<Vec<ConfirmChannel>>,
    permits: Semaphore,
}

impl ChannelPool {
    pub(crate) fn new(settings: Settings) -> Result<Self, Error> {
        settings.check()?;
        let tls = connect::tls(&settings)?;
        let permits = Semaphore::new(settings.channels);
        Ok(Self { settings, tls, connection: AsyncMutex::new(None), idle: Mutex::default(), permits })
    }

    /// Waits for the permit to use one channel; `None` if none became free in time.
    pub(crate) async fn permit(&self, deadline: Instant) -> Option<SemaphorePermit<'_>> {
        let permit = timeout_at(deadline, self.permits.acquire()).await.ok()?;
        Some(permit.expect("the semaphore is never closed"))
    }

    /// Returns a usable channel, idle or new. The caller must hold a permit.
    pub(crate) async fn confirm_channel(&self, deadline: Instant) -> Result<ConfirmChannel, ConnectError> {
        let deadline = deadline.min(Instant::now() + self.settings.connect_timeout);
        // Under the lock, so that concurrent callers open one connection.
        let Ok(mut connection) = timeout_at(deadline, self.connection.lock()).await else {
            return Err(ConnectError::Unreachable("no connection in time".to_owned()));
        };
        if connection.as_ref().is_some_and(|connection| connection.status().blocked()) {
            let reason = "the broker is short of memory or disk and accepts no messages (connection blocked)";
            return Err(ConnectError::Unreachable(reason.to_owned()));
        }
        while let Some(channel) = self.take_idle() {
            if channel.inner.status().connected() {
                return Ok(channel);
            }
        }
        let connected = self.ensure_connected(&mut connection, deadline).await?;
        self.classify_open(timeout_at(deadline, open_confirm_channel(connected)).await)
    }

    /// Opens a separate channel on the same connection, not in confirm mode.
    pub async fn open_plain_channel(&self, deadline: Instant) -> Result<Channel, ConnectError> {
        let Ok(mut connection) = timeout_at(deadline, self.connection.lock()).await else {
            return Err(ConnectError::Unreachable("no connection in time".to_owned()));
        };
        let connected = self.ensure_connected(&mut connection, deadline).await?;
        self.classify_open(timeout_at(deadline, connected.create_channel()).await)
    }

    async fn ensure_connected<'a>(
        &self,
        connection: &'a mut Option<Connection>,
        deadline: Instant,
    ) -> Result<&'a Connection, ConnectError> {
        if connection.as_ref().is_none_or(|connection| !connection.status().connected()) {
            *connection = None;
            *connection = Some(connect::connect(&self.settings, &self.tls, deadline).await?);
        }
        Ok(connection.as_ref().expect("just connected, under the lock"))
    }

    fn classify_open<T>(&self, opened: Result<lapin::Result<T>, Elapsed>) -> Result<T, ConnectError> {
        match opened {
            Ok(Ok(opened)) => Ok(opened),
            Ok(Err(error)) => Err(classify::connect_error(&error, &self.settings.target())),
            Err(_) => Err(ConnectError::Unreachable("the broker did not open a channel in time".to_owned())),
        }
    }

    /// Returns a channel to the pool. A channel that is not returned is closed.
    pub(crate) fn put_back(&self, channel: ConfirmChannel) {
        self.idle().push(channel);
    }

    fn take_idle(&self) -> Option<ConfirmChannel> {
        self.idle().pop()
    }

    fn idle(&self) -> MutexGuard<'_, Vec<ConfirmChannel>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn open_confirm_channel(connection: &Connection) -> lapin::Result<ConfirmChannel> {
    let channel = connection.create_channel().await?;
    channel.confirm_select(ConfirmSelectOptions::default()).await?;
    // The default exchange always exists.
    Ok(ConfirmChannel { inner: channel, known_exchanges: HashSet::from([String::new()]) })
}
