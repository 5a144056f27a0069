//! Why a request came to nothing.

use std::error::Error as StdError;
use std::fmt;

/// The kind of failure, as far as a decision may depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The URL is no URL that can be dialled.
    Url,
    /// The guard refuses the address, or plain HTTP to it.
    Address,
    /// All connections that we may have are in use; nothing was tried.
    Busy,
    /// Too many name look-ups are under way; nothing was tried.
    Lookups,
    /// This machine has no descriptors, memory or local ports left; nothing was tried.
    Exhausted,
    /// The resolver gave no answer about the name, neither an address nor that there is none; nothing was tried.
    Unanswered,
    /// The name does not exist, or has no address.
    Dns,
    /// No TCP connection could be made.
    Connect,
    /// The server's certificate is not to be trusted.
    Certificate,
    /// Any other failure of the TLS handshake.
    Tls,
    /// The deadline passed.
    Timeout,
    /// The connection ended before the answer did.
    Closed,
    /// What came is not HTTP.
    Protocol,
}

/// A request that came to nothing. Holds no secret: neither headers nor path nor query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    pub fault: Fault,
    pub message: String,
    /// What caused it, the nearest first.
    pub causes: Vec<String>,
    /// Bytes of the request may have been sent.
    pub sent: bool,
    /// The answer's status, where it failed after that.
    pub status: Option<u16>,
}

impl Error {
    pub(crate) fn new(fault: Fault, message: impl Into<String>) -> Self {
        Self { fault, message: message.into(), causes: Vec::new(), sent: false, status: None }
    }

    pub(crate) fn caused_by(mut self, cause: &(dyn StdError + 'static)) -> Self {
        let mut next = Some(cause);
        while let Some(cause) = next {
            let words = cause.to_string();
            if self.causes.last() != Some(&words) {
                self.causes.push(words);
            }
            next = cause.source();
        }
        self
    }

    pub(crate) fn after_sending(mut self) -> Self {
        self.sent = true;
        self
    }

    /// The message and its causes, one per line.
    pub fn chain(&self) -> String {
        let mut chain = self.message.clone();
        for cause in &self.causes {
            chain.push_str("\ncaused by: ");
            chain.push_str(cause);
        }
        chain
    }
}

/// The message and its last cause, which tells the most, on one line.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.causes.last() {
            Some(cause) if !self.message.contains(cause.as_str()) => write!(f, "{}: {cause}", self.message),
            _ => f.write_str(&self.message),
        }
    }
}

impl StdError for Error {}
