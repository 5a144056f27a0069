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
pub(crate) struct ConnectionMark {
    /// Counts every event that proves a connection.
    pub connection_events: u64,
    pub up: bool,
}

impl ConnectionMark {
    /// Whether there was certainly no connection from `self` to `later`.
    pub(crate) fn no_connection_until(self, later: Self) -> bool {
        !self.up && !later.up && self.connection_events == later.connection_events
    }
}

/// State shared by the producer's callbacks and the callers that wait for its reports.
#[derive(Debug)]
pub(crate) struct ConnectionMonitor {
    connection_events: AtomicU64,
    state: Mutex<MonitorState>,
    refusal: watch::Sender<Option<String>>,
    /// Number of times that all brokers were reported down.
    all_down_count: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct MonitorState {
    up: bool,
    last_error: Option<String>,
}

impl ConnectionMonitor {
    pub(crate) fn new() -> Self {
        let (refusal, all_down_count) = (watch::Sender::new(None), watch::Sender::new(0));
        Self { connection_events: AtomicU64::new(0), state: Mutex::default(), refusal, all_down_count }
    }

    pub(crate) fn mark(&self) -> ConnectionMark {
        let up = self.state().up;
        ConnectionMark { connection_events: self.connection_events.load(Ordering::Relaxed), up }
    }

    /// Records that the cluster answered.
    pub(crate) fn record_answer(&self) {
        let mut state = self.state();
        if !state.up {
            state.up = true;
            state.last_error = None;
            self.connection_events.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns the last error, as librdkafka describes it.
    pub(crate) fn last_error(&self) -> Option<String> {
        self.state().last_error.clone()
    }

    /// Returns why the cluster refuses us, `None` if it does not.
    pub(crate) fn refusal(&self) -> Option<String> {
        self.refusal.borrow().clone()
    }

    /// Waits until the cluster refuses us.
    pub(crate) async fn wait_refused(&self) {
        let mut refusal = self.refusal.subscribe();
        // The sender lives as long as `self`.
        let _ = refusal.wait_for(Option::is_some).await;
    }

    /// Waits until all brokers are reported down again; returns immediately if none was ever up.
    pub(crate) async fn all_down(&self) {
        let mut all_down_count = self.all_down_count.subscribe();
        let never_up = self.connection_events.load(Ordering::Relaxed) == 0;
        let before = if never_up { 0 } else { *all_down_count.borrow() };
        let _ = all_down_count.wait_for(|count| *count > before).await;
    }

    fn state(&self) -> MutexGuard<'_, MonitorState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn record_error(&self, code: Code, reason: &str) {
        if is_refusal(code, reason) {
            self.refusal.send_replace(Some(format!("the cluster refuses us: {reason}")));
        }
        let mut state = self.state();
        if code == Code::AllBrokersDown {
            if state.up {
                self.connection_events.fetch_add(1, Ordering::Relaxed);
            }
            state.up = false;
            self.all_down_count.send_modify(|count| *count += 1);
        } else {
            if reason.contains("in state UP") {
                self.connection_events.fetch_add(1, Ordering::Relaxed);
            }
            state.last_error = Some(reason.to_owned());
        }
    }
}

/// Whether the error is about our credentials or the cluster's certificate, so that an operator must act.
fn is_refusal(code: Code, reason: &str) -> bool {
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
pub(crate) struct Callbacks(pub std::sync::Arc<ConnectionMonitor>);

impl ClientContext for Callbacks {
    fn log(&self, _: RDKafkaLogLevel, facility: &str, message: &str) {
        tracing::debug!(target: "librdkafka", facility, "{message}");
    }

    fn error(&self, error: KafkaError, reason: &str) {
        if let Some(code) = error.rdkafka_error_code() {
            self.0.record_error(code, reason);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_queued_while_down_was_not_sent_until_a_sign_of_life() {
        let monitor = ConnectionMonitor::new();
        let start = monitor.mark();
        monitor.record_error(
            Code::BrokerTransportFailure,
            "h:1: Connect failed: refused (after 0ms in state CONNECT)",
        );
        monitor.record_error(Code::AllBrokersDown, "1/1 brokers are down");
        monitor.record_error(Code::AllBrokersDown, "1/1 brokers are down");
        assert!(start.no_connection_until(monitor.mark()), "never connected");
        monitor.record_answer();
        assert!(!start.no_connection_until(monitor.mark()));
        let up = monitor.mark();
        assert!(!up.no_connection_until(monitor.mark()), "up is up");
        monitor.record_error(Code::AllBrokersDown, "1/1 brokers are down");
        assert!(!up.no_connection_until(monitor.mark()), "it may have been sent before");
        assert!(!start.no_connection_until(monitor.mark()), "there was a connection in between");
        let down = monitor.mark();
        assert!(down.no_connection_until(monitor.mark()));
    }

    #[test]
    fn a_connection_lost_while_up_is_a_sign_of_life() {
        let monitor = ConnectionMonitor::new();
        let start = monitor.mark();
        monitor.record_error(Code::BrokerTransportFailure, "h:1: Disconnected (after 12ms in state UP)");
        monitor.record_error(Code::AllBrokersDown, "1/1 brokers are down");
        assert!(!start.no_connection_until(monitor.mark()));
    }

    #[test]
    fn g03_refusals_are_about_us() {
        let monitor = ConnectionMonitor::new();
        monitor.record_error(Code::SSL, "SSL handshake failed: unexpected eof");
        assert_eq!(monitor.refusal(), None);
        monitor.record_error(Code::SSL, "SSL handshake failed: certificate verify failed");
        assert!(monitor.refusal().is_some());
        let monitor = ConnectionMonitor::new();
        monitor.record_error(Code::Authentication, "SASL authentication error: wrong password");
        assert!(monitor.refusal().unwrap().contains("wrong password"));
    }
}
