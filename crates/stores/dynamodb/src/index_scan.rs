//! Walks the index page by page, starting where the last walk stopped.
//!
//! Invariant: a walk is bounded; the next one begins with what it did not see.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use postrider_seams::store::{Class, Error};

use crate::record::Record;
use crate::store::DynamoStore;

/// The largest page of a walk for a census, a check or a sweep. Such a walk begins with the claim's batch size and
/// doubles it with each page, because the index has the records of all states and a filter selects ours. Pages of a
/// claim keep the batch size (25 by default), as the specification requires (rule E4).
const MAX_PAGE: i32 = 1600;
/// Maximum of pages of one walk.
const MAX_PAGES: usize = 50;
/// Maximum of pages of one claim, which are smaller.
const MAX_CLAIM_PAGES: usize = 200;

/// The positions at which walks stopped, by purpose.
#[derive(Debug, Default)]
pub(crate) struct ScanPositions(Mutex<HashMap<String, String>>);

impl ScanPositions {
    fn remove(&self, scan: &str) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(scan)
    }

    fn insert(&self, scan: &str, token: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(scan.to_owned(), token);
    }
}

/// One walk over the `_META` records in a state.
#[derive(Debug)]
pub(crate) struct IndexScan {
    name: String,
    status: Option<String>,
    /// The token of the page that was read last.
    current: Option<String>,
    /// The token of the next page.
    next: Option<String>,
    /// Whether it began in the middle and continues from the start when it reaches the end.
    wraps: bool,
    pages: usize,
    max_pages: usize,
    size: i32,
    max_size: i32,
    ended: bool,
}

impl IndexScan {
    /// Whether the walk has seen every record.
    pub(crate) fn saw_all(&self) -> bool {
        self.ended && self.pages < self.max_pages
    }
}

impl DynamoStore {
    /// Starts a walk for a claim: every page has the size of its batch.
    pub(crate) fn claim_scan(&self, status: &str) -> IndexScan {
        let scan = self.scan("claim", Some(status));
        IndexScan { max_size: scan.size, max_pages: MAX_CLAIM_PAGES, ..scan }
    }

    /// Starts a walk. `purpose` separates the positions of different walks over the same state.
    pub(crate) fn scan(&self, purpose: &str, status: Option<&str>) -> IndexScan {
        let name = format!("{purpose} {}", status.unwrap_or_default());
        let next = self.scan_positions.remove(&name);
        IndexScan {
            name,
            status: status.map(str::to_owned),
            current: None,
            wraps: next.is_some(),
            next,
            pages: 0,
            max_pages: MAX_PAGES,
            size: i32::try_from(self.contract.claim.batch).unwrap_or(MAX_PAGE).clamp(1, MAX_PAGE),
            max_size: MAX_PAGE,
            ended: false,
        }
    }

    /// Reads the next page; `None` at the end. Leaves out records whose time to live is over.
    pub(crate) async fn next_page(
        &self,
        what: &str,
        scan: &mut IndexScan,
    ) -> Result<Option<Vec<Record>>, Error> {
        if scan.ended {
            return Ok(None);
        }
        let statement = self.target.by_state(scan.status.as_deref());
        let page = self.database.select(what, &statement, scan.next.as_deref(), Some(scan.size)).await;
        let (items, next) = match page {
            // The service no longer accepts the position of an earlier walk: start from the beginning.
            Err(error) if error.class == Class::Permanent && scan.wraps && scan.pages == 0 => {
                scan.next = None;
                self.database.select(what, &statement, None, Some(scan.size)).await?
            }
            other => other?,
        };
        scan.current = std::mem::replace(&mut scan.next, next);
        scan.pages += 1;
        scan.size = (scan.size * 2).min(scan.max_size);
        if scan.next.is_none() {
            scan.ended = !std::mem::take(&mut scan.wraps);
        }
        if scan.pages >= scan.max_pages && !scan.ended {
            scan.ended = true;
            self.stop(scan, false);
        }
        let now = self.database.clock.now();
        let records = items.iter().filter_map(|item| Record::read(&self.layout, &self.target.ttl, item));
        Ok(Some(records.filter(|record| !record.is_expired(now)).collect()))
    }

    /// Ends the walk early and keeps its position. `left`: the last page still has records to claim.
    pub(crate) fn stop(&self, scan: &IndexScan, left: bool) {
        let position = if left { &scan.current } else { &scan.next };
        if let Some(token) = position {
            self.scan_positions.insert(&scan.name, token.clone());
        }
    }
}
