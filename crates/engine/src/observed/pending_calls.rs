//! Pending store calls: calls that the store has not answered yet. A lane whose calls hang moves no row, and there is
//! no error to report.
//!
//! Owns: since when each call is pending. Must not: time a call out; its answer is still wanted.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// The pending store calls of one lane.
#[derive(Debug, Default)]
pub(crate) struct PendingCalls(Mutex<Open>);

#[derive(Debug, Default)]
struct Open {
    next: u64,
    /// By call number: in the order in which the calls were made.
    open: BTreeMap<u64, (Instant, &'static str)>,
}

/// A pending call; dropped when it is answered or abandoned.
#[derive(Debug)]
pub(crate) struct PendingCall<'a> {
    calls: &'a PendingCalls,
    number: u64,
}

impl PendingCalls {
    fn lock(&self) -> MutexGuard<'_, Open> {
        // Plain values: a panic elsewhere cannot have left them half written.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a call; it is pending until the returned guard is dropped. `verb` names it in the watchdog's report.
    pub fn begin(&self, verb: &'static str) -> PendingCall<'_> {
        let mut calls = self.lock();
        let number = calls.next;
        calls.next += 1;
        calls.open.insert(number, (Instant::now(), verb));
        PendingCall { calls: self, number }
    }

    /// Returns the call that has been pending longest, and for how long.
    pub fn oldest(&self) -> Option<(&'static str, Duration)> {
        self.lock().open.values().next().map(|(since, verb)| (*verb, since.elapsed()))
    }
}

impl Drop for PendingCall<'_> {
    fn drop(&mut self) {
        self.calls.lock().open.remove(&self.number);
    }
}
