//! A request and its answer.

use std::time::Duration;

use bytes::Bytes;
use hyper::header::HeaderMap;
use hyper::{Method, Version};
use tokio::time::Instant;

use crate::target::Target;

/// A request, whole. `Host` and the length are added when it is sent.
#[derive(Debug, Clone)]
pub struct Call {
    pub method: Method,
    pub target: Target,
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// What one request may take.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub deadline: Instant,
    /// The most bytes of an answer's body that are read. What is longer is cut there, and its connection ends.
    pub body: usize,
}

impl Limits {
    pub fn within(time: Duration, body: usize) -> Self {
        Self { deadline: Instant::now() + time, body }
    }
}

#[derive(Debug, Clone)]
pub struct Answer {
    pub status: u16,
    pub version: Version,
    pub headers: HeaderMap,
    pub body: Bytes,
    /// There was more of the body than was read.
    pub cut: bool,
}

impl Answer {
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }
}
