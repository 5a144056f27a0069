//! One connection to the relay: buffered writes and replies, each with a time limit.
//!
//! Must not: know what a mail is. Invariant: no call waits past its deadline or past the time limit of its phase.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Instant, timeout_at};

use crate::classify::Stage;
use crate::config::Timeouts;
use crate::ehlo::Offers;
use crate::error::Fault;
use crate::reply::{Reply, ReplyBuffer};
use crate::stream::Stream;

mod open;

pub(crate) use open::open;

/// Time limit of QUIT.
const FAREWELL: Duration = Duration::from_secs(1);
/// Time to wait for a last reply when a relay stops reading.
const LAST_WORDS: Duration = Duration::from_millis(250);

pub(crate) struct Connection {
    stream: Stream,
    replies: ReplyBuffer,
    /// The bytes of the next write.
    pub out: Vec<u8>,
    pub offers: Offers,
    timeouts: Timeouts,
    /// Number of mails begun on this connection.
    pub carried: u32,
    /// Whether the connection was idle before, so that the relay may close it without a failure.
    pub rested: bool,
    /// Whether no reply arrived since it was idle: the network may have dropped it.
    unproven: bool,
    /// Whether the last mail was not ended by its final dot, so that RSET must come first.
    pub dirty: bool,
}

/// A write that failed before its end.
#[derive(Debug)]
pub(crate) struct Cut {
    /// Maximum number of bytes of `out` that can have reached the relay.
    pub written: usize,
    pub fault: Fault,
}

impl Connection {
    fn new(stream: Stream, timeouts: Timeouts) -> Self {
        Self {
            stream,
            replies: ReplyBuffer::default(),
            out: Vec::with_capacity(8 * 1024),
            offers: Offers::default(),
            timeouts,
            carried: 0,
            rested: false,
            unproven: false,
            dirty: false,
        }
    }

    fn patience(&self, stage: Stage) -> Duration {
        match stage {
            Stage::Greeting => self.timeouts.greeting,
            Stage::Ehlo | Stage::StartTls => self.timeouts.ehlo,
            Stage::Auth => self.timeouts.auth,
            Stage::Reset | Stage::Mail if self.unproven => self.timeouts.reuse.min(self.timeouts.mail),
            Stage::Reset | Stage::Mail => self.timeouts.mail,
            Stage::Rcpt => self.timeouts.rcpt,
            Stage::Data => self.timeouts.data,
            Stage::End => self.timeouts.end,
            Stage::Quit => FAREWELL,
        }
    }

    /// Writes all of `out` and empties it.
    pub(crate) async fn flush(&mut self, deadline: Instant) -> Result<(), Cut> {
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
        let fault = match timeout_at(until, sending).await {
            Ok(Ok(())) => {
                self.out.clear();
                return Ok(());
            }
            Ok(Err(error)) => Fault::Lost(format!("the connection broke while sending: {error}")),
            Err(_) => Fault::Lost("the relay stopped taking what we send".to_owned()),
        };
        self.out.clear();
        Err(Cut { written, fault })
    }

    /// Reads the next reply, as the answer to `stage`.
    pub(crate) async fn reply(&mut self, stage: Stage, deadline: Instant) -> Result<Reply<'_>, Fault> {
        let length = match self.whole(stage)? {
            Some(length) => length,
            None => self.receive(stage, deadline).await?,
        };
        self.unproven = false;
        Ok(self.replies.take(length))
    }

    async fn receive(&mut self, stage: Stage, deadline: Instant) -> Result<usize, Fault> {
        let patience = self.patience(stage);
        let until = deadline.min(Instant::now() + patience);
        loop {
            let read = timeout_at(until, self.stream.read_buf(self.replies.space())).await;
            match read {
                Ok(Ok(0)) => {
                    return Err(Fault::Lost(format!(
                        "the relay closed the connection instead of answering {}",
                        stage.name()
                    )));
                }
                Ok(Ok(_)) => {}
                Ok(Err(error)) => {
                    return Err(Fault::Lost(format!(
                        "the connection broke before the answer to {}: {error}",
                        stage.name()
                    )));
                }
                Err(_) => return Err(Fault::Lost(format!("no answer to {} in time", stage.name()))),
            }
            if let Some(length) = self.whole(stage)? {
                return Ok(length);
            }
        }
    }

    fn whole(&self, stage: Stage) -> Result<Option<usize>, Fault> {
        self.replies
            .whole()
            .map_err(|nonsense| Fault::Lost(format!("the relay answered {} with {nonsense}", stage.name())))
    }

    /// Reads the reply that the relay sent before it stopped reading, if any.
    pub(crate) async fn last_words(&mut self, deadline: Instant) -> Option<Reply<'_>> {
        self.reply(Stage::End, deadline.min(Instant::now() + LAST_WORDS)).await.ok()
    }

    /// Sends one line and waits for its reply.
    pub(crate) async fn ask(
        &mut self,
        line: &str,
        stage: Stage,
        deadline: Instant,
    ) -> Result<Reply<'_>, Fault> {
        self.out.extend_from_slice(line.as_bytes());
        self.out.extend_from_slice(b"\r\n");
        self.flush(deadline).await.map_err(|cut| cut.fault)?;
        self.reply(stage, deadline).await
    }

    /// Marks the connection as about to be idle.
    pub(crate) fn rest(&mut self) {
        self.rested = true;
        self.unproven = true;
    }

    /// Whether this idle connection can be used again.
    pub(crate) async fn is_alive(&mut self) -> bool {
        self.replies.is_empty() && self.stream.is_silent().await
    }

    /// Sends QUIT and closes, ignoring errors. Takes a second at most and never passes the deadline.
    pub(crate) async fn quit(mut self, deadline: Option<Instant>) {
        let soon = Instant::now() + FAREWELL;
        let deadline = deadline.map_or(soon, |deadline| deadline.min(soon));
        let _ = self.ask("QUIT", Stage::Quit, deadline).await;
        let _ = timeout_at(deadline, self.stream.shutdown()).await;
    }
}
