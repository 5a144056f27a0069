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
use crate::error::{Error, Fault};
use crate::{classify, connect};

/// A channel, and the exchanges that accepted a message from it: publishing to those cannot close it.
pub(crate) struct Line {
    pub(crate) channel: Channel,
    pub(crate) proven: HashSet<String>,
}

impl Line {
    /// Whether the channel answers a query that changes nothing.
    pub(crate) async fn answers(&self, deadline: Instant) -> bool {
        let asked = self.channel.confirm_select(ConfirmSelectOptions::default());
        matches!(timeout_at(deadline, asked).await, Ok(Ok(())))
    }
}

/// The pool of channels of one broker.
pub struct Pool {
    pub(crate) settings: Settings,
    tls: OwnedTLSConfig,
    connection: AsyncMutex<Option<Connection>>,
    idle: Mutex<Vec<Line>>,
    places: Semaphore,
}

impl Pool {
    pub(crate) fn new(settings: Settings) -> Result<Self, Error> {
        settings.check()?;
        let tls = connect::tls(&settings)?;
        let places = Semaphore::new(settings.channels);
        Ok(Self { settings, tls, connection: AsyncMutex::new(None), idle: Mutex::default(), places })
    }

    /// Waits for the permit to use one channel; `None` if none became free in time.
    pub(crate) async fn place(&self, deadline: Instant) -> Option<SemaphorePermit<'_>> {
        let permit = timeout_at(deadline, self.places.acquire()).await.ok()?;
        Some(permit.expect("the semaphore is never closed"))
    }

    /// Returns a usable channel, idle or new. The caller must hold a permit.
    pub(crate) async fn line(&self, deadline: Instant) -> Result<Line, Fault> {
        let deadline = deadline.min(Instant::now() + self.settings.connect_timeout);
        // Under the lock, so that concurrent callers open one connection.
        let Ok(mut connection) = timeout_at(deadline, self.connection.lock()).await else {
            return Err(Fault::Unreachable("no connection in time".to_owned()));
        };
        if connection.as_ref().is_some_and(|connection| connection.status().blocked()) {
            let reason = "the broker is short of memory or disk and takes no messages (connection blocked)";
            return Err(Fault::Unreachable(reason.to_owned()));
        }
        while let Some(line) = self.take_idle() {
            if line.channel.status().connected() {
                return Ok(line);
            }
        }
        let connected = self.connected(&mut connection, deadline).await?;
        self.opened(timeout_at(deadline, open(connected)).await)
    }

    /// Opens a separate channel on the same connection, not in confirm mode.
    pub async fn channel(&self, deadline: Instant) -> Result<Channel, Fault> {
        let Ok(mut connection) = timeout_at(deadline, self.connection.lock()).await else {
            return Err(Fault::Unreachable("no connection in time".to_owned()));
        };
        let connected = self.connected(&mut connection, deadline).await?;
        self.opened(timeout_at(deadline, connected.create_channel()).await)
    }

    async fn connected<'a>(
        &self,
        connection: &'a mut Option<Connection>,
        deadline: Instant,
    ) -> Result<&'a Connection, Fault> {
        if connection.as_ref().is_none_or(|connection| !connection.status().connected()) {
            *connection = None;
            *connection = Some(connect::connect(&self.settings, &self.tls, deadline).await?);
        }
        Ok(connection.as_ref().expect("just connected, under the lock"))
    }

    fn opened<T>(&self, opened: Result<lapin::Result<T>, Elapsed>) -> Result<T, Fault> {
        match opened {
            Ok(Ok(opened)) => Ok(opened),
            Ok(Err(error)) => Err(classify::connection(&error, &self.settings.target())),
            Err(_) => Err(Fault::Unreachable("the broker opens no channel in time".to_owned())),
        }
    }

    /// Returns a channel to the pool. A channel that is not returned is closed.
    pub(crate) fn keep(&self, line: Line) {
        self.idle().push(line);
    }

    fn take_idle(&self) -> Option<Line> {
        self.idle().pop()
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Line>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn open(connection: &Connection) -> lapin::Result<Line> {
    let channel = connection.create_channel().await?;
    channel.confirm_select(ConfirmSelectOptions::default()).await?;
    // The default exchange always exists.
    Ok(Line { channel, proven: HashSet::from([String::new()]) })
}
