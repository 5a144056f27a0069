//! HTTP/2 without TLS, for clients that know that we speak it (prior knowledge): its limits, and the watch that ends
//! connections which would otherwise stay open forever.
//!
//! HTTP/1 has its time limits in the order of its bytes: a head, a body, a response. An HTTP/2 connection carries many
//! requests at once, so that a watch checks two things: that some request was under way lately, and that the client
//! accepts the responses. A response that the client gives no room for is not polled.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use hyper::server::conn::http2::Builder;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tokio::time::Instant;

use super::accept::{BUFFER, HEAD_TIMEOUT};
use super::connections::ConnectionSlot;

/// Requests at the same time on one connection.
pub const MAX_STREAMS: u32 = 128;
/// Bytes of a request body that are received before its handler reads them; and of all bodies of a connection.
const STREAM_WINDOW: u32 = 64 << 10;
const CONNECTION_WINDOW: u32 = 256 << 10;
/// Time between two tests of a silent connection, and the time limit of the answer.
const PING_INTERVAL: Duration = Duration::from_secs(30);
const PING_TIMEOUT: Duration = Duration::from_secs(20);
/// Time limit for a client to make room for more of a response.
const READ_TIMEOUT: Duration = Duration::from_secs(30);
/// Time between two checks of the watch.
const CHECK_INTERVAL: Duration = Duration::from_secs(5);

/// Returns the settings of connections.
pub fn builder() -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .timer(TokioTimer::new())
        .max_concurrent_streams(MAX_STREAMS)
        .max_header_list_size(u32::try_from(BUFFER).unwrap_or(u32::MAX))
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_send_buf_size(BUFFER)
        .keep_alive_interval(PING_INTERVAL)
        .keep_alive_timeout(PING_TIMEOUT);
    builder
}

/// The responses of one connection that are being sent.
#[derive(Debug, Clone, Default)]
pub struct Responses(Arc<Mutex<Sending>>);

#[derive(Debug, Default)]
struct Sending {
    last: u64,
    /// Since when a response has a part that the client has not made room for.
    unread_since: HashMap<u64, Instant>,
}

impl Responses {
    fn lock(&self) -> MutexGuard<'_, Sending> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tracks the body of a response.
    pub fn track<B>(&self, body: B) -> SentBody<B> {
        let mut sending = self.lock();
        sending.last += 1;
        let id = sending.last;
        // Not polled yet: it waits for room from its beginning.
        sending.unread_since.insert(id, Instant::now());
        SentBody { body, id, responses: self.clone() }
    }

    fn set_unread(&self, id: u64, is_unread: bool) {
        let mut sending = self.lock();
        if is_unread {
            sending.unread_since.insert(id, Instant::now());
        } else {
            sending.unread_since.remove(&id);
        }
    }

    fn is_stalled(&self) -> bool {
        self.lock().unread_since.values().any(|since| since.elapsed() >= READ_TIMEOUT)
    }
}

/// Returns once the connection should end: no request was under way for [`HEAD_TIMEOUT`], or a response is not read.
pub async fn watch(place: &ConnectionSlot, responses: &Responses) {
    loop {
        tokio::time::sleep(CHECK_INTERVAL).await;
        let is_idle = place.waiting_since().is_some_and(|since| since.elapsed() >= HEAD_TIMEOUT);
        if is_idle || responses.is_stalled() {
            return;
        }
    }
}

/// A response body that reports when the client makes room for more of it.
pub struct SentBody<B> {
    body: B,
    id: u64,
    responses: Responses,
}

impl<B: Body<Data = Bytes> + Unpin> Body for SentBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(context);
        // While a stream of events is silent, it is our turn.
        self.responses.set_unread(self.id, frame.is_ready());
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl<B> Drop for SentBody<B> {
    fn drop(&mut self) {
        self.responses.set_unread(self.id, false);
    }
}

#[cfg(test)]
mod tests;
