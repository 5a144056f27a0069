//! What the store was asked and has not answered yet: a lane whose questions hang moves no row, and no error says so.
//!
//! Owns: since when each question is open. Must not: time a question out; its answer is still wanted.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

#[derive(Debug, Default)]
pub(crate) struct Questions(Mutex<Asked>);

#[derive(Debug, Default)]
struct Asked {
    next: u64,
    /// In the order in which they were asked.
    open: BTreeMap<u64, (Instant, &'static str)>,
}

/// A question; dropped, it is answered or nobody waits for it any more.
#[derive(Debug)]
pub(crate) struct Question<'a> {
    among: &'a Questions,
    number: u64,
}

impl Questions {
    fn lock(&self) -> MutexGuard<'_, Asked> {
        // Plain values: a panic elsewhere can't have left them half written.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn ask(&self, verb: &'static str) -> Question<'_> {
        let mut asked = self.lock();
        let number = asked.next;
        asked.next += 1;
        asked.open.insert(number, (Instant::now(), verb));
        Question { among: self, number }
    }

    /// The one that has waited longest, and for how long.
    pub fn oldest(&self) -> Option<(&'static str, Duration)> {
        self.lock().open.values().next().map(|(since, verb)| (*verb, since.elapsed()))
    }
}

impl Drop for Question<'_> {
    fn drop(&mut self) {
        self.among.lock().open.remove(&self.number);
    }
}
