//! Remembers which sender may already have accepted a mail, so that a retry tries it first.
//!
//! Kept in this process only, and bounded: it avoids a second copy, but does not decide whether a mail is sent.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

/// Largest number of mails that are remembered.
const MAX_MAILS: usize = 10_000;

#[derive(Default)]
pub(super) struct UncertainSenders(Mutex<Remembered>);

#[derive(Default)]
struct Remembered {
    senders: HashMap<String, usize>,
    oldest: VecDeque<String>,
}

impl UncertainSenders {
    /// Returns the index of the sender that may have accepted this mail.
    pub fn sender(&self, key: &str) -> Option<usize> {
        self.lock().senders.get(key).copied()
    }

    /// Remembers the sender of a mail without an answer; forgets the oldest mail if there are too many.
    pub fn remember(&self, key: &str, sender: usize) {
        let mut remembered = self.lock();
        if key.is_empty() || remembered.senders.insert(key.to_owned(), sender).is_some() {
            return;
        }
        remembered.oldest.push_back(key.to_owned());
        if remembered.oldest.len() > MAX_MAILS
            && let Some(key) = remembered.oldest.pop_front()
        {
            remembered.senders.remove(&key);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Remembered> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
