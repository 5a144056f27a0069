//! An HTTP request and its response.

use std::time::Duration;

use bytes::Bytes;
use hyper::header::HeaderMap;
use hyper::{Method, Version};
use tokio::time::Instant;

use crate::target::Target;

/// A complete HTTP request. `Host` and `Content-Length` are added when it is sent.
#[derive(Debug, Clone)]
pub struct HttpRequest {
    pub method: Method,
    pub target: Target,
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// Time and size limits of one request.
#[derive(Debug, Clone, Copy)]
pub struct RequestLimits {
    pub deadline: Instant,
    /// Maximum bytes of the response body that are read. A longer body is cut there and its connection is closed.
    pub body: usize,
}

impl RequestLimits {
    /// Returns limits with a deadline `time` from now and at most `body` bytes of response body.
    pub fn within(time: Duration, body: usize) -> Self {
        Self { deadline: Instant::now() + time, body }
    }
}

/// An HTTP response; its body may be cut at the limit.
#[derive(Debug, Clone)]
pub struct HttpResponse {
    pub status: u16,
    pub version: Version,
    pub headers: HeaderMap,
    pub body: Bytes,
    /// Whether the body was longer than the limit.
    pub truncated: bool,
}

impl HttpResponse {
    /// Whether the status is 2xx.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }
}
