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
const LARGEST_PAGE: i32 = 1600;
/// Maximum of pages of one walk.
const MOST_PAGES: usize = 50;
/// Maximum of pages of one claim, which are smaller.
const MOST_CLAIM_PAGES: usize = 200;

/// The positions at which walks stopped, by purpose.
#[derive(Debug, Default)]
pub(crate) struct Cursors(Mutex<HashMap<String, String>>);

impl Cursors {
    fn take(&self, walk: &str) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(walk)
    }

    fn keep(&self, walk: &str, token: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(walk.to_owned(), token);
    }
}

/// One walk over the `_META` records in a state.
#[derive(Debug)]
pub(crate) struct Walk {
    name: String,
    status: Option<String>,
    /// The token of the page that was read last.
    here: Option<String>,
    /// The token of the next page.
    next: Option<String>,
    /// Whether it began in the middle and continues from the start when it reaches the end.
    wraps: bool,
    pages: usize,
    most_pages: usize,
    size: i32,
    largest: i32,
    ended: bool,
}

impl Walk {
    /// Whether the walk has seen every record.
    pub(crate) fn saw_all(&self) -> bool {
        self.ended && self.pages < self.most_pages
    }
}

impl DynamoStore {
    /// Starts a walk for a claim: every page has the size of its batch.
    pub(crate) fn claim_walk(&self, status: &str) -> Walk {
        let walk = self.walk("claim", Some(status));
        Walk { largest: walk.size, most_pages: MOST_CLAIM_PAGES, ..walk }
    }

    /// Starts a walk. `purpose` separates the positions of different walks over the same state.
    pub(crate) fn walk(&self, purpose: &str, status: Option<&str>) -> Walk {
        let name = format!("{purpose} {}", status.unwrap_or_default());
        let next = self.cursors.take(&name);
        Walk {
            name,
            status: status.map(str::to_owned),
            here: None,
            wraps: next.is_some(),
            next,
            pages: 0,
            most_pages: MOST_PAGES,
            size: i32::try_from(self.contract.claim.batch).unwrap_or(LARGEST_PAGE).clamp(1, LARGEST_PAGE),
            largest: LARGEST_PAGE,
            ended: false,
        }
    }

    /// Reads the next page; `None` at the end. Leaves out records whose time to live is over.
    pub(crate) async fn turn(&self, what: &str, walk: &mut Walk) -> Result<Option<Vec<Record>>, Error> {
        if walk.ended {
            return Ok(None);
        }
        let statement = self.target.by_state(walk.status.as_deref());
        let asked = self.database.select(what, &statement, walk.next.as_deref(), Some(walk.size)).await;
        let (items, next) = match asked {
            // The service no longer accepts the position of an earlier walk: start from the beginning.
            Err(error) if error.class == Class::Permanent && walk.wraps && walk.pages == 0 => {
                walk.next = None;
                self.database.select(what, &statement, None, Some(walk.size)).await?
            }
            other => other?,
        };
        walk.here = std::mem::replace(&mut walk.next, next);
        walk.pages += 1;
        walk.size = (walk.size * 2).min(walk.largest);
        if walk.next.is_none() {
            walk.ended = !std::mem::take(&mut walk.wraps);
        }
        if walk.pages >= walk.most_pages && !walk.ended {
            walk.ended = true;
            self.stop(walk, false);
        }
        let now = self.database.clock.now();
        let records = items.iter().filter_map(|item| Record::read(&self.layout, &self.target.ttl, item));
        Ok(Some(records.filter(|record| !record.is_expired(now)).collect()))
    }

    /// Ends the walk early and keeps its position. `left`: the last page still has records to claim.
    pub(crate) fn stop(&self, walk: &Walk, left: bool) {
        let place = if left { &walk.here } else { &walk.next };
        if let Some(token) = place {
            self.cursors.keep(&walk.name, token.clone());
        }
    }
}
