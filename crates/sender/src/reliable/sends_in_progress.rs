//! Joins concurrent sends of one key: a second caller waits for the outcome of the first one's send.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use futures::FutureExt as _;
use futures::future::{BoxFuture, Shared, WeakShared};
use postrider_seams::Outcome;

type Sending = BoxFuture<'static, Outcome>;

/// The sends in progress, by key. Holds weak references only: a send that all callers dropped is dropped.
#[derive(Default)]
pub(super) struct SendsInProgress(Mutex<HashMap<String, WeakShared<Sending>>>);

impl SendsInProgress {
    /// Returns the send in progress, or starts one.
    pub fn join(&self, key: &str, begin: impl FnOnce() -> Sending) -> Shared<Sending> {
        let mut sends = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sending) = sends.get(key).and_then(WeakShared::upgrade) {
            return sending;
        }
        let sending = begin().shared();
        sends.insert(key.to_owned(), sending.downgrade().expect("it has not been polled, so it is not over"));
        sending
    }

    /// Removes a finished send, so that the next one of the key is new; one that is still in progress stays.
    pub fn remove_finished(&self, key: &str) {
        let mut sends = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if sends.get(key).and_then(WeakShared::upgrade).is_none_or(|sending| sending.peek().is_some()) {
            sends.remove(key);
        }
    }
}
