//! Results of suppression look-ups, kept from the claim until the delivery of a row.
//!
//! Kept by row, not by address: a row that is claimed again is looked up again, so that new entries take effect. A
//! result that is older than [`VALID_FOR`] is not used.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::entries;

/// Longest time between look-up and delivery. Rows that wait longer (a slow relay) are looked up again.
const VALID_FOR: Duration = Duration::from_secs(30);

/// Number of results from which on those of undelivered rows are removed.
const CLEANUP_THRESHOLD: usize = 4096;

#[derive(Debug, Default)]
pub(super) struct LookupResults(Mutex<HashMap<String, RowLookup>>);

#[derive(Debug)]
struct RowLookup {
    recipients: BTreeSet<String>,
    /// The matching entries of the list, with their reasons.
    listed: BTreeMap<String, String>,
    since: Instant,
}

impl RowLookup {
    fn covers(&self, recipients: &[String]) -> bool {
        self.since.elapsed() < VALID_FOR && recipients.iter().all(|one| self.recipients.contains(one))
    }
}

impl LookupResults {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, RowLookup>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps the results of one query for these rows.
    pub fn store(&self, rows: &[(&str, &[String])], listed: &BTreeMap<String, String>) {
        let since = Instant::now();
        let mut results = self.lock();
        if results.len() >= CLEANUP_THRESHOLD {
            results.retain(|_, lookup| lookup.since.elapsed() < VALID_FOR);
        }
        for (row, recipients) in rows {
            let matching_entries =
                if listed.is_empty() { BTreeMap::new() } else { matching(recipients, listed) };
            let recipients = recipients.iter().cloned().collect();
            results.insert((*row).to_owned(), RowLookup { recipients, listed: matching_entries, since });
        }
    }

    /// Whether there is a result for all of these recipients of the row.
    pub fn has(&self, row: &str, recipients: &[String]) -> bool {
        self.lock().get(row).is_some_and(|lookup| lookup.covers(recipients))
    }

    /// Removes and returns the entries that match the row; `None` if it must be looked up. A result serves one
    /// delivery.
    pub fn take(&self, row: &str, recipients: &[String]) -> Option<BTreeMap<String, String>> {
        self.lock().remove(row).filter(|lookup| lookup.covers(recipients)).map(|lookup| lookup.listed)
    }
}

fn matching(recipients: &[String], listed: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let all = recipients.iter().flat_map(|address| entries(address));
    all.filter_map(|entry| {
        listed.get_key_value(&entry).map(|(entry, reason)| (entry.clone(), reason.clone()))
    })
    .collect()
}
