//! The SMTP transport: uses one connection at a time per call, and opens a new one when the relay closes it.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use postrider_seams::{Envelope, Outcome, Transport, transport};
use tokio::time::Instant;

use crate::classify::SmtpPhase;
use crate::config::Settings;
use crate::connection::Connection;
use crate::connection_pool::SmtpConnectionPool;
use crate::error::{ConnectionError, Error};
use crate::mail_batch::MailBatch;
use crate::session::{ConnectionState, SmtpSession};
use crate::tls::RelayTls;

/// Time limit of a probe; a slower answer counts as a failure of the relay.
const PROBE_TIMEOUT: Duration = Duration::from_secs(30);

/// Delivers mails to one relay.
pub struct Smtp {
    pool: Arc<SmtpConnectionPool>,
}

impl Smtp {
    /// Checks the settings and reads the certificate file, without connecting.
    pub fn new(settings: Settings) -> Result<Self, Error> {
        settings.check()?;
        let tls = RelayTls::new(&settings)?;
        Ok(Self { pool: Arc::new(SmtpConnectionPool::new(settings, tls)) })
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

    /// Sends as much of the batch as one connection can; `false` if there is no point in continuing.
    async fn send_on_one_connection(&self, mails: &mut MailBatch<'_>, deadline: Instant) -> bool {
        let Some((permit, idle)) = self.pool.acquire(deadline).await else {
            mails.out_of_time("all connections to the relay are in use");
            return false;
        };
        let mut connection = match permit.connect(idle, deadline).await {
            Ok(connection) => connection,
            Err(error) => {
                if let ConnectionError::Unreachable { slow: true, .. } = error {
                    self.pool.rate_limiter.slow_down(Instant::now());
                }
                mails.connect_failed(error);
                return false;
            }
        };
        let session = SmtpSession {
            connection: &mut connection,
            mails,
            rate_limiter: &self.pool.rate_limiter,
            recipient_limit: &self.pool.recipient_limit,
            settings: &self.pool.settings,
            deadline,
        };
        if session.send_mails().await == ConnectionState::Usable {
            if connection.mails_begun < self.pool.settings.per_connection {
                permit.put_back(connection);
            } else {
                connection.quit(Some(deadline)).await;
            }
        }
        true
    }

    async fn check_relay(&self, deadline: Instant) -> Result<(), ConnectionError> {
        let Some((permit, idle)) = self.pool.acquire(deadline).await else {
            return Err(ConnectionError::unreachable("all connections to the relay are in use"));
        };
        let mut connection = permit.connect(idle, deadline).await?;
        if connection.was_idle && !answers(&mut connection, deadline).await {
            connection = permit.connect(None, deadline).await?;
        }
        permit.put_back(connection);
        Ok(())
    }
}

async fn answers(connection: &mut Connection, deadline: Instant) -> bool {
    connection.command("NOOP", SmtpPhase::Reset, deadline).await.is_ok_and(|reply| reply.is(2))
}

#[async_trait]
impl Transport for Smtp {
    fn capabilities(&self) -> transport::Capabilities {
        transport::Capabilities::new(self.pool.settings.batch, self.pool.settings.connections)
    }

    async fn deliver(&self, batch: &[Envelope], deadline: Instant) -> Vec<Outcome> {
        let mut mails = MailBatch::new(batch);
        while mails.next_untried().is_some() {
            if Instant::now() >= deadline {
                mails.out_of_time("no time left in this call");
            } else if !self.send_on_one_connection(&mut mails, deadline).await {
                break;
            }
        }
        mails.into_outcomes()
    }

    async fn probe(&self) -> Result<(), transport::Error> {
        match self.check_relay(Instant::now() + PROBE_TIMEOUT).await {
            Ok(()) => Ok(()),
            Err(ConnectionError::Refused(reason)) => Err(transport::Error::Refused(reason)),
            Err(
                ConnectionError::Unreachable { reason, .. }
                | ConnectionError::Exhausted(reason)
                | ConnectionError::Lost(reason),
            ) => Err(transport::Error::Unreachable(reason)),
        }
    }
}
