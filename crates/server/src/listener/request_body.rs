//! A request body as it arrives: its connection counts as waiting until all of it was received.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};

use super::connections::RequestInFlight;

/// A request body that reports its progress to its connection.
pub struct TrackedBody {
    body: Incoming,
    request: Arc<RequestInFlight>,
}

impl TrackedBody {
    /// Wraps the body of a request.
    pub fn new(body: Incoming, request: Arc<RequestInFlight>) -> Self {
        if body.is_end_stream() {
            request.mark_received();
        }
        Self { body, request }
    }
}

impl Body for TrackedBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(context);
        match &frame {
            Poll::Ready(Some(Ok(_))) if !self.body.is_end_stream() => self.request.mark_progress(),
            Poll::Ready(_) => self.request.mark_received(),
            Poll::Pending => {}
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for TrackedBody {
    /// Marks the request as received: its handler reads no more of it.
    fn drop(&mut self) {
        self.request.mark_received();
    }
}
