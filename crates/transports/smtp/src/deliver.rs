//! The transport: takes a connection for each call, and a new one when the relay closes it in between.

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

/// A probe that takes longer tells that the relay is not well.
const PROBE: Duration = Duration::from_secs(30);

/// Hands mails to one relay.
pub struct Smtp {
    pool: Arc<Pool>,
}

impl Smtp {
    /// Checks the settings and reads the certificate file; connects to nothing yet.
    pub fn new(settings: Settings) -> Result<Self, Error> {
        settings.check()?;
        let guard = Guard::new(&settings)?;
        Ok(Self { pool: Arc::new(Pool::new(settings, guard)) })
    }

    /// See [`Settings::from_url`].
    pub fn from_url(url: &str) -> Result<Self, Error> {
        Self::new(Settings::from_url(url)?)
    }

    pub fn settings(&self) -> &Settings {
        &self.pool.settings
    }

    /// Says goodbye to the relay on every idle connection. The transport may still be used.
    pub async fn close(&self) {
        self.pool.close().await;
    }

    /// One connection's worth of the run; `false` if there is no point in going on.
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
