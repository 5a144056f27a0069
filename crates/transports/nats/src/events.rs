//! Events of the connection other than acknowledgements: that it is lost, and which subjects are denied.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use async_nats::{Event, ServerError};
use tokio::sync::watch;

#[cfg(test)]
mod tests;

/// Maximum number of denied subjects in memory.
const DENIED_LIMIT: usize = 10_000;

#[derive(Debug, Default)]
pub(crate) struct Events {
    lost: AtomicBool,
    /// Number of denials per subject; a publication was denied only if its subject's number grew since.
    denied: Mutex<HashMap<String, u64>>,
    changes: watch::Sender<()>,
}

impl Events {
    pub(crate) fn record(&self, event: &Event) {
        match event {
            Event::Disconnected | Event::Closed => self.lost.store(true, Ordering::Release),
            Event::ServerError(ServerError::Other(text)) => {
                let Some(subject) = denied_subject(text) else { return };
                let mut denied = self.denied.lock().unwrap_or_else(PoisonError::into_inner);
                if denied.len() >= DENIED_LIMIT {
                    denied.clear();
                }
                *denied.entry(subject.to_owned()).or_default() += 1;
            }
            _ => return,
        }
        self.changes.send_replace(());
    }

    pub(crate) fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Acquire)
    }

    pub(crate) fn denials(&self, subject: &str) -> u64 {
        let denied = self.denied.lock().unwrap_or_else(PoisonError::into_inner);
        denied.get(subject).copied().unwrap_or(0)
    }

    /// Returns a receiver that is notified of every later event.
    pub(crate) fn changes(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }
}

/// Parses `Permissions Violation for Publish to "subject"`.
fn denied_subject(text: &str) -> Option<&str> {
    let at = text.to_ascii_lowercase().find("permissions violation for publish to")?;
    text[at..].split('"').nth(1)
}
