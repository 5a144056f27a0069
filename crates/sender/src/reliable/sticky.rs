//! Remembers which sender may already have accepted a mail, so that a retry tries it first.
//!
//! Kept in this process only, and bounded: it avoids a second copy, but does not decide whether a mail is sent.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

/// Largest number of mails that are remembered.
const MOST: usize = 10_000;

#[derive(Default)]
pub(super) struct Sticky(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    senders: HashMap<String, usize>,
    oldest: VecDeque<String>,
}

impl Sticky {
    /// Returns the index of the sender that may have accepted this mail.
    pub fn sender(&self, key: &str) -> Option<usize> {
        self.lock().senders.get(key).copied()
    }

    /// Remembers the sender of a mail without an answer; forgets the oldest mail if there are too many.
    pub fn keep(&self, key: &str, sender: usize) {
        let mut kept = self.lock();
        if key.is_empty() || kept.senders.insert(key.to_owned(), sender).is_some() {
            return;
        }
        kept.oldest.push_back(key.to_owned());
        if kept.oldest.len() > MOST
            && let Some(key) = kept.oldest.pop_front()
        {
            kept.senders.remove(&key);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
