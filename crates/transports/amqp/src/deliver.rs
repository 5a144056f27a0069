//! The AMQP transport: uses one channel per call, and opens a new one when the broker closes it.

use std::time::Duration;

use async_trait::async_trait;
use postrider_seams::{Envelope, Failure, Outcome, Transport, transport};
use tokio::time::Instant;

use crate::config::Settings;
use crate::error::{Error, Fault};
use crate::pool::Pool;
use crate::run::{End, Run};

/// Time limit of a probe; a slower answer counts as a failure of the broker.
const PROBE: Duration = Duration::from_secs(10);
/// Interval between probes of an idle lane, each a query over the open connection.
const LOOK_EVERY: Duration = Duration::from_secs(4);

/// Publishes records to one broker.
pub struct Amqp {
    pool: Pool,
}

impl Amqp {
    /// Checks the settings and reads the certificate files, without connecting.
    pub fn new(settings: Settings) -> Result<Self, Error> {
        Ok(Self { pool: Pool::new(settings)? })
    }

    /// Creates the transport from a URL: see [`Settings::from_url`].
    pub fn from_url(url: &str, beside: &[(String, String)]) -> Result<Self, Error> {
        Self::new(Settings::from_url(url, beside)?)
    }

    /// Returns the settings of the broker.
    pub fn settings(&self) -> &Settings {
        &self.pool.settings
    }

    /// Returns the pool of channels, to share the connection.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    async fn carry(&self, run: &mut Run<'_>, deadline: Instant) -> Result<(), Fault> {
        while run.open() > 0 {
            let before = run.open();
            let mut line = self.pool.line(deadline).await?;
            if run.carry(&mut line, deadline).await == End::Sound {
                self.pool.keep(line);
            } else if run.open() == before {
                // Not one record was accepted: another channel would not help.
                return Err(Fault::Unreachable(
                    "the broker closed the channel before it took anything".to_owned(),
                ));
            }
        }
        Ok(())
    }
}

#[async_trait]
impl Transport for Amqp {
    fn capabilities(&self) -> transport::Capabilities {
        transport::Capabilities::new(self.pool.settings.batch, self.pool.settings.channels)
            .looked_at_every(LOOK_EVERY)
    }

    async fn deliver(&self, batch: &[Envelope], deadline: Instant) -> Vec<Outcome> {
        let mut run = Run::new(&self.pool.settings, batch);
        match self.pool.place(deadline).await {
            None => run.settle_rest(&Outcome::Deferred(Failure::new("all channels are in use"))),
            Some(_place) => {
                if let Err(fault) = self.carry(&mut run, deadline).await {
                    run.settle_rest(&fault.into());
                }
            }
        }
        run.finish()
    }

    async fn probe(&self) -> Result<(), transport::Error> {
        let deadline = Instant::now() + PROBE;
        let Some(_place) = self.pool.place(deadline).await else {
            return Err(transport::Error::Unreachable("all channels are in use".to_owned()));
        };
        // An idle channel may be dead without an error.
        let mut line = self.pool.line(deadline).await?;
        if !line.answers(deadline).await {
            line = self.pool.line(deadline).await?;
            if !line.answers(deadline).await {
                return Err(transport::Error::Unreachable("the broker does not answer".to_owned()));
            }
        }
        self.pool.keep(line);
        Ok(())
    }
}
