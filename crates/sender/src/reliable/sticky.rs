//! Which sender may have a mail already: it is asked first when the mail is tried again.
//!
//! Kept in this process only, and bounded: it saves a second copy, it does not decide whether a mail is sent.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

/// Mails without an answer that are remembered.
const MOST: usize = 10_000;

#[derive(Default)]
pub(super) struct Sticky(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    senders: HashMap<String, usize>,
    oldest: VecDeque<String>,
}

impl Sticky {
    pub fn sender(&self, key: &str) -> Option<usize> {
        self.lock().senders.get(key).copied()
    }

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
