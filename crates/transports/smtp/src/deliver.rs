//! The SMTP transport: uses one connection per call, and opens a new one when the relay closes it.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use postrider_seams::{Envelope, Outcome, Transport, transport};
use tokio::time::Instant;

use crate::classify::Stage;
use crate::config::Settings;
use crate::connection::Connection;
use crate::error::{Error, Fault};
use crate::pool::Pool;
use crate::run::Run;
use crate::session::{End, Session};
use crate::tls::Guard;

/// Time limit of a probe; a slower answer counts as a failure of the relay.
const PROBE: Duration = Duration::from_secs(30);

/// Delivers mails to one relay.
pub struct Smtp {
    pool: Arc<Pool>,
}

impl Smtp {
    /// Checks the settings and reads the certificate file, without connecting.
    pub fn new(settings: Settings) -> Result<Self, Error> {
        settings.check()?;
        let guard = Guard::new(&settings)?;
        Ok(Self { pool: Arc::new(Pool::new(settings, guard)) })
    }

    /// Creates the transport from a URL: see [`Settings::from_url`].
    pub fn from_url(url: &str) -> Result<Self, Error> {
        Self::new(Settings::from_url(url)?)
    }

    /// Returns the settings of the relay.
    pub fn settings(&self) -> &Settings {
        &self.pool.settings
    }

    /// Sends QUIT on every idle connection and closes it. The transport can still be used.
    pub async fn close(&self) {
        self.pool.close().await;
    }

    /// Sends as much of the run as one connection can; `false` if there is no point in continuing.
    async fn round(&self, run: &mut Run<'_>, deadline: Instant) -> bool {
        let Some((place, idle)) = self.pool.take(deadline).await else {
            run.out_of_time("all connections to the relay are in use");
            return false;
        };
        let mut connection = match place.ready(idle, deadline).await {
            Ok(connection) => connection,
            Err(fault) => {
                if let Fault::Unreachable { slow: true, .. } = fault {
                    self.pool.pace.slow_down(Instant::now());
                }
                run.no_connection(fault);
                return false;
            }
        };
        let session = Session {
            connection: &mut connection,
            run,
            pace: &self.pool.pace,
            room: &self.pool.room,
            settings: &self.pool.settings,
            deadline,
        };
        if session.carry().await == End::Sound {
            if connection.carried < self.pool.settings.per_connection {
                place.keep(connection);
            } else {
                connection.quit(Some(deadline)).await;
            }
        }
        true
    }

    async fn greet(&self, deadline: Instant) -> Result<(), Fault> {
        let Some((place, idle)) = self.pool.take(deadline).await else {
            return Err(Fault::unreachable("all connections to the relay are in use"));
        };
        let mut connection = place.ready(idle, deadline).await?;
        if connection.rested && !answers(&mut connection, deadline).await {
            connection = place.ready(None, deadline).await?;
        }
        place.keep(connection);
        Ok(())
    }
}

async fn answers(connection: &mut Connection, deadline: Instant) -> bool {
    connection.ask("NOOP", Stage::Reset, deadline).await.is_ok_and(|reply| reply.is(2))
}

#[async_trait]
impl Transport for Smtp {
    fn capabilities(&self) -> transport::Capabilities {
        transport::Capabilities::new(self.pool.settings.batch, self.pool.settings.connections)
    }

    async fn deliver(&self, batch: &[Envelope], deadline: Instant) -> Vec<Outcome> {
        let mut run = Run::new(batch);
        while run.peek().is_some() {
            if Instant::now() >= deadline {
                run.out_of_time("no time left in this call");
            } else if !self.round(&mut run, deadline).await {
                break;
            }
        }
        run.finish()
    }

    async fn probe(&self) -> Result<(), transport::Error> {
        match self.greet(Instant::now() + PROBE).await {
            Ok(()) => Ok(()),
            Err(Fault::Refused(reason)) => Err(transport::Error::Refused(reason)),
            Err(Fault::Unreachable { reason, .. } | Fault::Exhausted(reason) | Fault::Lost(reason)) => {
                Err(transport::Error::Unreachable(reason))
            }
        }
    }
}
