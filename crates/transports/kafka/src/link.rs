//! The state of librdkafka's connections, from its callbacks other than delivery reports.
//!
//! A report of a record that timed out does not say whether the record was ever sent. This module does, as far as it
//! can be known: if no connection was up since the record was queued, it was not sent.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rdkafka::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::error::{KafkaError, RDKafkaErrorCode as Code};
use tokio::sync::watch;

/// The state of the link when a record was queued. Two equal marks that are `down` have no connection between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mark {
    /// Counts every event that proves a connection.
    pub signs: u64,
    pub up: bool,
}

impl Mark {
    /// Whether there was certainly no connection from `self` to `later`.
    pub(crate) fn nothing_until(self, later: Self) -> bool {
        !self.up && !later.up && self.signs == later.signs
    }
}

/// State shared by the producer's callbacks and the callers that wait for its reports.
#[derive(Debug)]
pub(crate) struct Link {
    signs: AtomicU64,
    state: Mutex<State>,
    refusal: watch::Sender<Option<String>>,
    /// Number of times that all brokers were reported down.
    downs: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct State {
    up: bool,
    trouble: Option<String>,
}

impl Link {
    pub(crate) fn new() -> Self {
        let (refusal, downs) = (watch::Sender::new(None), watch::Sender::new(0));
        Self { signs: AtomicU64::new(0), state: Mutex::default(), refusal, downs }
    }

    pub(crate) fn mark(&self) -> Mark {
        let up = self.state().up;
        Mark { signs: self.signs.load(Ordering::Relaxed), up }
    }

    /// Records that the cluster answered.
    pub(crate) fn answered(&self) {
        let mut state = self.state();
        if !state.up {
            state.up = true;
            state.trouble = None;
            self.signs.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns the last error, as librdkafka describes it.
    pub(crate) fn trouble(&self) -> Option<String> {
        self.state().trouble.clone()
    }

    /// Returns why the cluster refuses us, `None` if it does not.
    pub(crate) fn refusal(&self) -> Option<String> {
        self.refusal.borrow().clone()
    }

    /// Waits until the cluster refuses us.
    pub(crate) async fn refused(&self) {
        let mut refusal = self.refusal.subscribe();
        // The sender lives as long as `self`.
        let _ = refusal.wait_for(Option::is_some).await;
    }

    /// Waits until all brokers are reported down again; returns immediately if none was ever up.
    pub(crate) async fn gone(&self) {
        let mut downs = self.downs.subscribe();
        let never_up = self.signs.load(Ordering::Relaxed) == 0;
        let before = if never_up { 0 } else { *downs.borrow() };
        let _ = downs.wait_for(|count| *count > before).await;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, code: Code, reason: &str) {
        if refuses(code, reason) {
            self.refusal.send_replace(Some(format!("the cluster refuses us: {reason}")));
        }
        let mut state = self.state();
        if code == Code::AllBrokersDown {
            if state.up {
                self.signs.fetch_add(1, Ordering::Relaxed);
            }
            state.up = false;
            self.downs.send_modify(|count| *count += 1);
        } else {
            if reason.contains("in state UP") {
                self.signs.fetch_add(1, Ordering::Relaxed);
            }
            state.trouble = Some(reason.to_owned());
        }
    }
}

/// Whether the error is about our credentials or the cluster's certificate, so that an operator must act.
fn refuses(code: Code, reason: &str) -> bool {
    match code {
        Code::Authentication
        | Code::SaslAuthenticationFailed
        | Code::UnsupportedSASLMechanism
        | Code::ClusterAuthorizationFailed => true,
        Code::SSL => reason.contains("certificate"),
        _ => false,
    }
}

/// Passes librdkafka's callbacks to the link.
pub(crate) struct Callbacks(pub std::sync::Arc<Link>);

impl ClientContext for Callbacks {
    fn log(&self, _: RDKafkaLogLevel, facility: &str, message: &str) {
        tracing::debug!(target: "librdkafka", facility, "{message}");
    }

    fn error(&self, error: KafkaError, reason: &str) {
        if let Some(code) = error.rdkafka_error_code() {
            self.0.note(code, reason);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_queued_while_down_was_not_sent_until_a_sign_of_life() {
        let link = Link::new();
        let start = link.mark();
        link.note(Code::BrokerTransportFailure, "h:1: Connect failed: refused (after 0ms in state CONNECT)");
        link.note(Code::AllBrokersDown, "1/1 brokers are down");
        link.note(Code::AllBrokersDown, "1/1 brokers are down");
        assert!(start.nothing_until(link.mark()), "never connected");
        link.answered();
        assert!(!start.nothing_until(link.mark()));
        let up = link.mark();
        assert!(!up.nothing_until(link.mark()), "up is up");
        link.note(Code::AllBrokersDown, "1/1 brokers are down");
        assert!(!up.nothing_until(link.mark()), "it may have been sent before");
        assert!(!start.nothing_until(link.mark()), "there was a connection in between");
        let down = link.mark();
        assert!(down.nothing_until(link.mark()));
    }

    #[test]
    fn a_connection_lost_while_up_is_a_sign_of_life() {
        let link = Link::new();
        let start = link.mark();
        link.note(Code::BrokerTransportFailure, "h:1: Disconnected (after 12ms in state UP)");
        link.note(Code::AllBrokersDown, "1/1 brokers are down");
        assert!(!start.nothing_until(link.mark()));
    }

    #[test]
    fn g3_refusals_are_about_us() {
        let link = Link::new();
        link.note(Code::SSL, "SSL handshake failed: unexpected eof");
        assert_eq!(link.refusal(), None);
        link.note(Code::SSL, "SSL handshake failed: certificate verify failed");
        assert!(link.refusal().is_some());
        let link = Link::new();
        link.note(Code::Authentication, "SASL authentication error: wrong password");
        assert!(link.refusal().unwrap().contains("wrong password"));
    }
}
