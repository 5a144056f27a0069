//! One connection to the relay: buffered writes and replies, each with a time limit.
//!
//! Must not: know what a mail is. Invariant: no call waits past its deadline or past the time limit of its phase.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Instant, timeout_at};

use crate::classify::SmtpPhase;
use crate::config::Timeouts;
use crate::ehlo::Extensions;
use crate::error::ConnectionError;
use crate::reply::{Reply, ReplyBuffer};
use crate::stream::Stream;

mod open;

pub(crate) use open::open;

/// Time limit of QUIT.
const QUIT_TIMEOUT: Duration = Duration::from_secs(1);
/// Time to wait for a last reply when a relay stops reading.
const LAST_REPLY_TIMEOUT: Duration = Duration::from_millis(250);

pub(crate) struct Connection {
    stream: Stream,
    replies: ReplyBuffer,
    /// The bytes of the next write.
    pub out: Vec<u8>,
    pub extensions: Extensions,
    timeouts: Timeouts,
    /// Number of mails begun on this connection.
    pub mails_begun: u32,
    /// Whether the connection was idle before, so that the relay may close it without a failure.
    pub was_idle: bool,
    /// Whether no reply arrived since it was idle: the network may have dropped it.
    unconfirmed_since_idle: bool,
    /// Whether the last mail was not ended by its final dot, so that RSET must come first.
    pub dirty: bool,
}

/// A write that failed before its end.
#[derive(Debug)]
pub(crate) struct WriteError {
    /// Maximum number of bytes of `out` that can have reached the relay.
    pub written: usize,
    pub error: ConnectionError,
}

impl Connection {
    fn new(stream: Stream, timeouts: Timeouts) -> Self {
        Self {
            stream,
            replies: ReplyBuffer::default(),
            out: Vec::with_capacity(8 * 1024),
            extensions: Extensions::default(),
            timeouts,
            mails_begun: 0,
            was_idle: false,
            unconfirmed_since_idle: false,
            dirty: false,
        }
    }

    fn phase_timeout(&self, phase: SmtpPhase) -> Duration {
        match phase {
            SmtpPhase::Greeting => self.timeouts.greeting,
            SmtpPhase::Ehlo | SmtpPhase::StartTls => self.timeouts.ehlo,
            SmtpPhase::Auth => self.timeouts.auth,
            SmtpPhase::Reset | SmtpPhase::Mail if self.unconfirmed_since_idle => {
                self.timeouts.reuse.min(self.timeouts.mail)
            }
            SmtpPhase::Reset | SmtpPhase::Mail => self.timeouts.mail,
            SmtpPhase::Rcpt => self.timeouts.rcpt,
            SmtpPhase::Data => self.timeouts.data,
            SmtpPhase::FinalDot => self.timeouts.end,
            SmtpPhase::Quit => QUIT_TIMEOUT,
        }
    }

    /// Writes all of `out` and empties it.
    pub(crate) async fn flush(&mut self, deadline: Instant) -> Result<(), WriteError> {
        let until = deadline.min(Instant::now() + self.timeouts.block);
        let mut written = 0;
        let sending = async {
            while written < self.out.len() {
                match self.stream.write(&self.out[written..]).await? {
                    0 => return Err(std::io::ErrorKind::WriteZero.into()),
                    count => written += count,
                }
            }
            self.stream.flush().await
        };
        let error = match timeout_at(until, sending).await {
            Ok(Ok(())) => {
                self.out.clear();
                return Ok(());
            }
            Ok(Err(error)) => ConnectionError::Lost(format!("the connection broke while sending: {error}")),
            Err(_) => ConnectionError::Lost("the relay stopped reading".to_owned()),
        };
        self.out.clear();
        Err(WriteError { written, error })
    }

    /// Reads the next reply, as the answer to `phase`.
    pub(crate) async fn reply(
        &mut self,
        phase: SmtpPhase,
        deadline: Instant,
    ) -> Result<Reply<'_>, ConnectionError> {
        let length = match self.reply_length(phase)? {
            Some(length) => length,
            None => self.receive(phase, deadline).await?,
        };
        self.unconfirmed_since_idle = false;
        Ok(self.replies.take(length))
    }

    async fn receive(&mut self, phase: SmtpPhase, deadline: Instant) -> Result<usize, ConnectionError> {
        let phase_timeout = self.phase_timeout(phase);
        let until = deadline.min(Instant::now() + phase_timeout);
        loop {
            let read = timeout_at(until, self.stream.read_buf(self.replies.space())).await;
            match read {
                Ok(Ok(0)) => {
                    return Err(ConnectionError::Lost(format!(
                        "the relay closed the connection instead of answering {}",
                        phase.name()
                    )));
                }
                Ok(Ok(_)) => {}
                Ok(Err(error)) => {
                    return Err(ConnectionError::Lost(format!(
                        "the connection broke before the answer to {}: {error}",
                        phase.name()
                    )));
                }
                Err(_) => {
                    return Err(ConnectionError::Lost(format!("no answer to {} in time", phase.name())));
                }
            }
            if let Some(length) = self.reply_length(phase)? {
                return Ok(length);
            }
        }
    }

    fn reply_length(&self, phase: SmtpPhase) -> Result<Option<usize>, ConnectionError> {
        self.replies.complete_length().map_err(|invalid| {
            ConnectionError::Lost(format!("the relay answered {} with {invalid}", phase.name()))
        })
    }

    /// Reads the reply that the relay sent before it stopped reading, if any.
    pub(crate) async fn last_reply(&mut self, deadline: Instant) -> Option<Reply<'_>> {
        self.reply(SmtpPhase::FinalDot, deadline.min(Instant::now() + LAST_REPLY_TIMEOUT)).await.ok()
    }

    /// Sends one line and waits for its reply.
    pub(crate) async fn command(
        &mut self,
        line: &str,
        phase: SmtpPhase,
        deadline: Instant,
    ) -> Result<Reply<'_>, ConnectionError> {
        self.out.extend_from_slice(line.as_bytes());
        self.out.extend_from_slice(b"\r\n");
        self.flush(deadline).await.map_err(|failed| failed.error)?;
        self.reply(phase, deadline).await
    }

    /// Marks the connection as about to be idle.
    pub(crate) fn mark_idle(&mut self) {
        self.was_idle = true;
        self.unconfirmed_since_idle = true;
    }

    /// Whether this idle connection can be used again.
    pub(crate) async fn is_alive(&mut self) -> bool {
        self.replies.is_empty() && self.stream.has_nothing_to_read().await
    }

    /// Sends QUIT and closes, ignoring errors. Takes a second at most and never passes the deadline.
    pub(crate) async fn quit(mut self, deadline: Option<Instant>) {
        let limit = Instant::now() + QUIT_TIMEOUT;
        let deadline = deadline.map_or(limit, |deadline| deadline.min(limit));
        let _ = self.command("QUIT", SmtpPhase::Quit, deadline).await;
        let _ = timeout_at(deadline, self.stream.shutdown()).await;
    }
}
