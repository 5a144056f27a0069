//! Batches look-ups: one directory query at a time serves all rows that are composed at that moment.
//!
//! Invariant: a look-up returns data that was read after it was requested, never before. A committed change (a new
//! secret, a pause) therefore applies to every row that is composed later, on every instance.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

use super::directory::{Directory, DirectoryUnavailable, LookupRequest, LookupResult};

#[cfg(test)]
mod tests;

/// Time within which rows that were composed before a pause was committed have reached the transport.
const IN_TRANSIT_TIME: Duration = Duration::from_secs(5);

/// Time limit for writing a pause.
const PAUSE_TIMEOUT: Duration = Duration::from_secs(5);
/// First delay between two attempts to write a pause; each failure doubles it.
const MIN_RETRY_DELAY: Duration = Duration::from_millis(500);
const MAX_RETRY_DELAY: Duration = Duration::from_secs(30);

pub(super) struct BatchedLookups {
    directory: Arc<dyn Directory>,
    next: Mutex<PendingQuery>,
    /// The result of the last query; locked while a query runs.
    last: tokio::sync::Mutex<QueryResult>,
    gone: Arc<Mutex<HashMap<String, GoneReceiver>>>,
}

/// The next query, which still collects ids.
struct PendingQuery {
    number: u64,
    asked: LookupRequest,
}

struct QueryResult {
    number: u64,
    found: Result<Arc<LookupResult>, DirectoryUnavailable>,
}

/// The state of a subscription whose receiver is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GoneReceiver {
    Pausing,
    PausedAt(Instant),
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl BatchedLookups {
    /// Creates an instance that queries this directory.
    pub fn new(directory: Arc<dyn Directory>) -> Self {
        Self {
            directory,
            next: Mutex::new(PendingQuery { number: 1, asked: LookupRequest::default() }),
            last: tokio::sync::Mutex::new(QueryResult { number: 0, found: Ok(Arc::default()) }),
            gone: Arc::default(),
        }
    }

    /// Returns the current data of these ids, at most one of each kind. Without any id, no query is sent.
    pub async fn look_up(
        &self,
        account: Option<&str>,
        subscription: Option<&str>,
    ) -> Result<Arc<LookupResult>, DirectoryUnavailable> {
        if account.is_none() && subscription.is_none() {
            return Ok(Arc::default());
        }
        loop {
            let number_of_query = self.add(account, subscription);
            let mut last = self.last.lock().await;
            if last.number < number_of_query {
                let PendingQuery { number, asked } = self.take_pending();
                let found = self.directory.look_up(&asked).await.map(Arc::new);
                *last = QueryResult { number, found };
            }
            if last.number == number_of_query {
                return last.found.clone();
            }
            // A later query has already replaced the result: request again.
        }
    }

    fn add(&self, account: Option<&str>, subscription: Option<&str>) -> u64 {
        let mut next = lock(&self.next);
        next.asked.accounts.extend(account.map(str::to_owned));
        next.asked.subscriptions.extend(subscription.map(str::to_owned));
        next.number
    }

    fn take_pending(&self) -> PendingQuery {
        let mut next = lock(&self.next);
        let number = next.number + 1;
        std::mem::replace(&mut *next, PendingQuery { number, asked: LookupRequest::default() })
    }

    /// Returns the state of a subscription whose receiver is known to be gone; rows composed earlier must be checked
    /// again.
    pub fn is_gone(&self, subscription: &str) -> Option<GoneReceiver> {
        lock(&self.gone).get(subscription).copied()
    }

    /// Pauses the subscription; [`BatchedLookups::is_gone`] reports it as soon as the call begins. If the pause cannot be
    /// written, it is retried in the background; until then this process sends nothing to the receiver.
    pub async fn pause(&self, subscription: &str) {
        {
            let mut gone = lock(&self.gone);
            let expired = |gone: &GoneReceiver| matches!(gone, GoneReceiver::PausedAt(at) if at.elapsed() >= IN_TRANSIT_TIME);
            gone.retain(|_, receiver| !expired(receiver));
            if gone.insert(subscription.to_owned(), GoneReceiver::Pausing) == Some(GoneReceiver::Pausing) {
                return;
            }
        }
        let pause = Pause {
            directory: Arc::clone(&self.directory),
            gone: Arc::clone(&self.gone),
            subscription: subscription.to_owned(),
        };
        if !pause.write().await {
            tokio::spawn(pause.write_later());
        }
    }
}

/// A pause that is not written yet.
struct Pause {
    directory: Arc<dyn Directory>,
    gone: Arc<Mutex<HashMap<String, GoneReceiver>>>,
    subscription: String,
}

impl Pause {
    /// Writes the pause once; returns whether it succeeded.
    async fn write(&self) -> bool {
        let written = timeout(PAUSE_TIMEOUT, self.directory.pause_subscription(&self.subscription)).await;
        let is_written = matches!(written, Ok(Ok(())));
        if is_written {
            lock(&self.gone).insert(self.subscription.clone(), GoneReceiver::PausedAt(Instant::now()));
        }
        is_written
    }

    async fn write_later(self) {
        let mut wait = MIN_RETRY_DELAY;
        loop {
            sleep(wait).await;
            if self.write().await {
                return;
            }
            wait = (wait * 2).min(MAX_RETRY_DELAY);
        }
    }
}
