//! The AMQP transport: uses one channel per call, and opens a new one when the broker closes it.

use std::time::Duration;

use async_trait::async_trait;
use postrider_seams::{Envelope, Failure, Outcome, Transport, transport};
use tokio::time::Instant;

use crate::channel_pool::ChannelPool;
use crate::config::Settings;
use crate::error::{ConnectError, Error};
use crate::publish_batch::{ChannelState, PublishBatch};

/// Time limit of a probe; a slower answer counts as a failure of the broker.
const PROBE_TIMEOUT: Duration = Duration::from_secs(10);
/// Interval between probes of an idle lane, each a query over the open connection.
const PROBE_INTERVAL: Duration = Duration::from_secs(4);

/// Publishes records to one broker.
pub struct Amqp {
    pool: ChannelPool,
}

impl Amqp {
    /// Checks the settings and reads the certificate files, without connecting.
    pub fn new(settings: Settings) -> Result<Self, Error> {
        Ok(Self { pool: ChannelPool::new(settings)? })
    }

    /// Creates the transport from a URL: see [`Settings::from_url`].
    pub fn from_url(url: &str, overrides: &[(String, String)]) -> Result<Self, Error> {
        Self::new(Settings::from_url(url, overrides)?)
    }

    /// Returns the settings of the broker.
    pub fn settings(&self) -> &Settings {
        &self.pool.settings
    }

    /// Returns the pool of channels, to share the connection.
    pub fn pool(&self) -> &ChannelPool {
        &self.pool
    }

    async fn publish(&self, records: &mut PublishBatch<'_>, deadline: Instant) -> Result<(), ConnectError> {
        while records.pending() > 0 {
            let before = records.pending();
            let mut channel = self.pool.confirm_channel(deadline).await?;
            if records.publish_on(&mut channel, deadline).await == ChannelState::Usable {
                self.pool.put_back(channel);
            } else if records.pending() == before {
                // Not one record was accepted: another channel would not help.
                return Err(ConnectError::Unreachable(
                    "the broker closed the channel before it accepted a record".to_owned(),
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
            .with_probe_interval(PROBE_INTERVAL)
    }

    async fn deliver(&self, batch: &[Envelope], deadline: Instant) -> Vec<Outcome> {
        let mut records = PublishBatch::new(&self.pool.settings, batch);
        match self.pool.permit(deadline).await {
            None => records.set_remaining(&Outcome::Deferred(Failure::new("all channels are in use"))),
            Some(_permit) => {
                if let Err(error) = self.publish(&mut records, deadline).await {
                    records.set_remaining(&error.into());
                }
            }
        }
        records.into_outcomes()
    }

    async fn probe(&self) -> Result<(), transport::Error> {
        let deadline = Instant::now() + PROBE_TIMEOUT;
        let Some(_permit) = self.pool.permit(deadline).await else {
            return Err(transport::Error::Unreachable("all channels are in use".to_owned()));
        };
        // An idle channel may be dead without an error.
        let mut channel = self.pool.confirm_channel(deadline).await?;
        if !channel.answers(deadline).await {
            channel = self.pool.confirm_channel(deadline).await?;
            if !channel.answers(deadline).await {
                return Err(transport::Error::Unreachable("the broker does not answer".to_owned()));
            }
        }
        self.pool.put_back(channel);
        Ok(())
    }
}
