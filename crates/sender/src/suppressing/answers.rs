//! Results of suppression look-ups, kept from the claim until the delivery of a row.
//!
//! Kept by row, not by address: a row that is claimed again is looked up again, so that new entries take effect. A
//! result that is older than [`FRESH`] is not used.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::entries;

/// Longest time between look-up and delivery. Rows that wait longer (a slow relay) are looked up again.
const FRESH: Duration = Duration::from_secs(30);

/// Number of results from which on those of undelivered rows are removed.
const MANY: usize = 4096;

#[derive(Debug, Default)]
pub(super) struct Answers(Mutex<HashMap<String, Answer>>);

#[derive(Debug)]
struct Answer {
    recipients: BTreeSet<String>,
    /// The matching entries of the list, with their reasons.
    listed: BTreeMap<String, String>,
    since: Instant,
}

impl Answer {
    fn covers(&self, recipients: &[String]) -> bool {
        self.since.elapsed() < FRESH && recipients.iter().all(|one| self.recipients.contains(one))
    }
}

impl Answers {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Answer>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps the results of one query for these rows.
    pub fn keep(&self, rows: &[(&str, &[String])], listed: &BTreeMap<String, String>) {
        let since = Instant::now();
        let mut kept = self.lock();
        if kept.len() >= MANY {
            kept.retain(|_, answer| answer.since.elapsed() < FRESH);
        }
        for (row, recipients) in rows {
            let own = if listed.is_empty() { BTreeMap::new() } else { concerning(recipients, listed) };
            let recipients = recipients.iter().cloned().collect();
            kept.insert((*row).to_owned(), Answer { recipients, listed: own, since });
        }
    }

    /// Whether there is a result for all of these recipients of the row.
    pub fn has(&self, row: &str, recipients: &[String]) -> bool {
        self.lock().get(row).is_some_and(|answer| answer.covers(recipients))
    }

    /// Removes and returns the entries that match the row; `None` if it must be looked up. A result serves one
    /// delivery.
    pub fn take(&self, row: &str, recipients: &[String]) -> Option<BTreeMap<String, String>> {
        self.lock().remove(row).filter(|answer| answer.covers(recipients)).map(|answer| answer.listed)
    }
}

fn concerning(recipients: &[String], listed: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let all = recipients.iter().flat_map(|address| entries(address));
    all.filter_map(|entry| listed.get_key_value(&entry).map(|(entry, why)| (entry.clone(), why.clone())))
        .collect()
}
