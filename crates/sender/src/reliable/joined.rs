//! Sends of one key that are under way: whoever comes second waits for the first one's outcome.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use futures::FutureExt as _;
use futures::future::{BoxFuture, Shared, WeakShared};
use postrider_seams::Outcome;

type Sending = BoxFuture<'static, Outcome>;

/// Holds nothing alive: a send that everybody gave up is gone.
#[derive(Default)]
pub(super) struct Joined(Mutex<HashMap<String, WeakShared<Sending>>>);

impl Joined {
    /// The send under way, or the one that is begun now.
    pub fn join(&self, key: &str, begin: impl FnOnce() -> Sending) -> Shared<Sending> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sending) = known.get(key).and_then(WeakShared::upgrade) {
            return sending;
        }
        let sending = begin().shared();
        known.insert(key.to_owned(), sending.downgrade().expect("it has not been polled, so it is not over"));
        sending
    }

    /// After an outcome: the next send of the key is a new one, unless one is still under way.
    pub fn leave(&self, key: &str) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.get(key).and_then(WeakShared::upgrade).is_none_or(|sending| sending.peek().is_some()) {
            known.remove(key);
        }
    }
}
