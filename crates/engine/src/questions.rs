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
pub(crate) struct Questions(Mutex<Asked>);

#[derive(Debug, Default)]
struct Asked {
    next: u64,
    /// By call number: in the order in which the calls were made.
    open: BTreeMap<u64, (Instant, &'static str)>,
}

/// A pending call; dropped when it is answered or abandoned.
#[derive(Debug)]
pub(crate) struct Question<'a> {
    among: &'a Questions,
    number: u64,
}

impl Questions {
    fn lock(&self) -> MutexGuard<'_, Asked> {
        // Plain values: a panic elsewhere cannot have left them half written.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a call; it is pending until the returned guard is dropped. `verb` names it in the watchdog's report.
    pub fn ask(&self, verb: &'static str) -> Question<'_> {
        let mut asked = self.lock();
        let number = asked.next;
        asked.next += 1;
        asked.open.insert(number, (Instant::now(), verb));
        Question { among: self, number }
    }

    /// Returns the call that has been pending longest, and for how long.
    pub fn oldest(&self) -> Option<(&'static str, Duration)> {
        self.lock().open.values().next().map(|(since, verb)| (*verb, since.elapsed()))
    }
}

impl Drop for Question<'_> {
    fn drop(&mut self) {
        self.among.lock().open.remove(&self.number);
    }
}
