//! A stream with time limits on writes: a client that does not read its response, or reads it very slowly, cannot hold a
//! connection forever.
//!
//! A backlog begins with a write that the client has no room for, and ends when everything is written. The events of a
//! stream are written one by one, so that a stream may last as long as its client keeps up.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

/// Time limit from a write that the client has no room for until the next that succeeds.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);
/// Time limit of a whole backlog: [`WRITE_TIMEOUT`], plus a second per this many bytes that were written.
const MIN_BYTES_PER_SECOND: u64 = 16 << 10;

/// A stream whose writes fail after a time limit.
pub struct WriteTimeout<S> {
    stream: S,
    deadline: Pin<Box<Sleep>>,
    waits: bool,
    backlog: Option<Backlog>,
}

struct Backlog {
    began: Instant,
    written: u64,
}

impl Backlog {
    fn deadline(&self) -> Instant {
        self.began + WRITE_TIMEOUT + Duration::from_secs(self.written / MIN_BYTES_PER_SECOND)
    }
}

impl<S> WriteTimeout<S> {
    /// Wraps a stream.
    pub fn new(stream: S) -> Self {
        Self { stream, deadline: Box::pin(tokio::time::sleep(WRITE_TIMEOUT)), waits: false, backlog: None }
    }

    /// Returns the result of a write, or an error if it has waited too long or the client reads too slowly.
    fn bounded<T>(&mut self, written: Poll<io::Result<T>>, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.waits = false;
            return written;
        }
        if !self.waits {
            self.waits = true;
            let now = Instant::now();
            let backlog = self.backlog.get_or_insert(Backlog { began: now, written: 0 });
            self.deadline.as_mut().reset(backlog.deadline().min(now + WRITE_TIMEOUT));
        }
        ready!(self.deadline.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }

    /// Bounds a write, and counts what is written of a backlog.
    fn counted(
        &mut self,
        written: Poll<io::Result<usize>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        if let (Poll::Ready(Ok(bytes)), Some(backlog)) = (&written, &mut self.backlog) {
            backlog.written += *bytes as u64;
        }
        self.bounded(written, context)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WriteTimeout<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WriteTimeout<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.counted(written, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.counted(written, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        if flushed.is_ready() {
            // A flush follows the last write.
            self.backlog = None;
        }
        self.bounded(flushed, context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let ended = Pin::new(&mut self.stream).poll_shutdown(context);
        self.bounded(ended, context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_reads_nothing_times_out() {
        let (ours, _theirs) = tokio::io::duplex(8);
        let mut stream = WriteTimeout::new(ours);
        let error = stream.write_all(&[0; 100]).await.expect_err("nobody reads");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    /// Reads this many bytes every five seconds.
    async fn read_slowly(mut stream: DuplexStream, bytes: usize) {
        let mut buffer = vec![0; bytes];
        while stream.read(&mut buffer).await.is_ok_and(|read| read > 0) {
            tokio::time::sleep(Duration::from_secs(5)).await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_reads_a_response_byte_by_byte_times_out() {
        let (ours, theirs) = tokio::io::duplex(8);
        tokio::spawn(read_slowly(theirs, 8));
        let (mut stream, start) = (WriteTimeout::new(ours), Instant::now());
        let error = stream.write_all(&[0; 4096]).await.expect_err("it is read too slowly");
        assert_eq!((error.kind(), start.elapsed().as_secs()), (io::ErrorKind::TimedOut, 30));
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_keeps_up_may_read_for_longer() {
        let (ours, theirs) = tokio::io::duplex(128 << 10);
        tokio::spawn(read_slowly(theirs, 128 << 10));
        let (mut stream, start) = (WriteTimeout::new(ours), Instant::now());
        stream.write_all(&vec![0; 2 << 20]).await.expect("it is read fast enough");
        assert!(start.elapsed() > WRITE_TIMEOUT);

        let (ours, theirs) = tokio::io::duplex(8);
        tokio::spawn(read_slowly(theirs, 8));
        let (mut stream, start) = (WriteTimeout::new(ours), Instant::now());
        while start.elapsed() < WRITE_TIMEOUT * 4 {
            stream.write_all(&[0; 16]).await.expect("each event is read in time");
            stream.flush().await.expect("each event is read in time");
        }
    }
}
