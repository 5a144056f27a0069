//! Extends leases, several in parallel.
//!
//! An extension changes the fence, which is `UpdatedAt`. The time in it is this store's own, so that an extension whose
//! answer was lost is recognised afterwards. Invariant: until an answer has reached the caller, a lease holds with the
//! fence that the caller has, and with those that its extensions may have written.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use postrider_rows::extend_lease;
use postrider_seams::row::{Detail, RowId};
use postrider_seams::store::Error;
use postrider_seams::{Lease, Value};

use crate::claim::lease_of;
use crate::requests::WriteResult;
use crate::store::{DynamoStore, HELD_LIMIT};

/// The fences that the caller does not know, by record.
#[derive(Debug, Default)]
pub(crate) struct UnknownFences(Mutex<HashMap<String, Fences>>);

#[derive(Debug)]
struct Fences {
    /// The fence that the caller has.
    given: String,
    /// The fences that extensions of it may have written.
    written: Vec<String>,
}

impl UnknownFences {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Fences>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, id: &str, given: &str, written: &str) {
        let mut fences = self.lock();
        if fences.len() >= HELD_LIMIT {
            fences.clear();
        }
        let known = fences.remove(id).filter(|known| known.given == given);
        let mut known = known.unwrap_or_else(|| Fences { given: given.to_owned(), written: Vec::new() });
        known.written.push(written.to_owned());
        fences.insert(id.to_owned(), known);
    }

    /// Whether an extension of the given fence may have written this one.
    pub(crate) fn may_be(&self, id: &str, given: &str, fence: &str) -> bool {
        let fences = self.lock();
        let known = fences.get(id).filter(|known| known.given == given);
        known.is_some_and(|known| known.written.iter().any(|written| written == fence))
    }

    /// Forgets a record whose fence the caller knows, or whose lease is over.
    pub(crate) fn forget(&self, id: &str) {
        self.lock().remove(id);
    }
}

impl DynamoStore {
    pub(crate) async fn extend_all(&self, leases: &[Lease]) -> Result<Vec<Option<Lease>>, Error> {
        let extensions = leases.iter().map(|lease| self.extend_one(lease)).collect();
        let extended: Vec<_> = self.database.in_parallel(extensions).await;
        if extended.iter().all(Result::is_ok) {
            for lease in leases {
                if let RowId::Text(id) = &lease.id {
                    self.unknown_fences.forget(id);
                }
            }
        }
        extended.into_iter().collect()
    }

    async fn extend_one(&self, held: &Lease) -> Result<Option<Lease>, Error> {
        let Some(given) = held.fence.first().and_then(Value::as_text) else { return Ok(None) };
        let Some(before) = self.record_of_lease(held).await? else { return Ok(None) };
        let no_detail = Detail::new();
        let input = self.transition_input(&no_detail, None);
        let mut row = extend_lease(&self.contract, self.stage(), &before.row, &input);
        self.advance_updated_at(&before.row, &mut row, input.now);
        let statement = self.target.update_meta(&self.layout, &before, &row, before.ttl);
        let after = self.after(&before, row, before.ttl);
        let within = self.stage().lease.duration / 4;
        self.unknown_fences.add(&before.id, given, after.fence().unwrap_or_default());
        // Without an answer it is not known which fence the record has: the next call reads it.
        self.held.remove(&before.id);
        let is_written = match self.database.write("extend a lease", &[statement], within).await? {
            WriteResult::Done => true,
            // The service may have made this write, and refuse its repetition.
            WriteResult::Refused(_) => {
                self.record_of_lease(held).await?.is_some_and(|found| found.fence() == after.fence())
            }
        };
        let extended = is_written.then(|| lease_of(&after));
        if is_written {
            self.held.insert(after);
        }
        Ok(extended)
    }
}
