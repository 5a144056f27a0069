//! The errors of HTTP requests.

use std::error::Error as StdError;
use std::fmt;

/// The kind of failure, as far as a caller's decision may depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The URL is invalid or cannot be dialled.
    Url,
    /// The guard refuses the address, or plain HTTP to it.
    Address,
    /// Every permitted connection is in use; no request was sent.
    Busy,
    /// The pooled connection that made a DNS lookup unnecessary is gone; no request was sent.
    NotResolved,
    /// Too many DNS lookups are running; no request was sent.
    TooManyLookups,
    /// This machine has no descriptors, memory or local ports left; no request was sent.
    Exhausted,
    /// The resolver did not answer, so it is unknown whether the name exists; no request was sent.
    DnsTimeout,
    /// The name does not exist, or has no address.
    Dns,
    /// No TCP connection could be made.
    Connect,
    /// The server's certificate is not trusted.
    Certificate,
    /// Any other failure of the TLS handshake.
    Tls,
    /// The deadline passed.
    Timeout,
    /// The connection closed before the response was complete.
    Closed,
    /// The response is not valid HTTP.
    Protocol,
}

/// A failed request. Contains no secret: no headers, path or query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    pub kind: ErrorKind,
    pub message: String,
    /// The chain of causes, the nearest first.
    pub causes: Vec<String>,
    /// Whether bytes of the request may have been sent.
    pub sent: bool,
    /// The response's status, if the failure came after it.
    pub status: Option<u16>,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), causes: Vec::new(), sent: false, status: None }
    }

    pub(crate) fn caused_by(mut self, cause: &(dyn StdError + 'static)) -> Self {
        let mut next = Some(cause);
        while let Some(cause) = next {
            let text = cause.to_string();
            if self.causes.last() != Some(&text) {
                self.causes.push(text);
            }
            next = cause.source();
        }
        self
    }

    pub(crate) fn after_sending(mut self) -> Self {
        self.sent = true;
        self
    }

    /// Returns the message and its causes, one per line.
    pub fn chain(&self) -> String {
        let mut chain = self.message.clone();
        for cause in &self.causes {
            chain.push_str("\ncaused by: ");
            chain.push_str(cause);
        }
        chain
    }
}

/// The message and its last cause, which is the most specific one, on one line.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.causes.last() {
            Some(cause) if !self.message.contains(cause.as_str()) => write!(f, "{}: {cause}", self.message),
            _ => f.write_str(&self.message),
        }
    }
}

impl StdError for Error {}
