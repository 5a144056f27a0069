//! Extensions whose answer was lost. The database may have committed such an extension, and with it a new fence that
//! the caller does not know: its leases would be lost although nobody else has the rows, and what was sent would be sent
//! again after the lease.
//!
//! Owns: which leases this concerns. Invariant: a new fence is adopted only if it is known to be our own: the row is
//! still claimed, and it names this worker as its owner or its version is the one that the extension wrote; a row that
//! this store has claimed again since is left to its new lease.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use postrider_contract::ColumnRole;
use postrider_seams::row::{Lease, RowId, Value};
use postrider_seams::store::{Error, LeaseResult, Settlement};
use tokio::time::Instant;

use crate::bind::{self, Ids};
use crate::driver::Driver;
use crate::open_table::OpenTable;

/// The leases whose last extension has no answer.
#[derive(Debug, Default)]
pub(crate) struct UnansweredExtensions(Mutex<HashMap<RowId, Extension>>);

#[derive(Debug)]
struct Extension {
    at: Instant,
    /// The fence that the caller has.
    given: Box<[Value]>,
    /// The last fence of the row that is known to be ours.
    latest: Box<[Value]>,
}

impl UnansweredExtensions {
    fn lock(&self) -> MutexGuard<'_, HashMap<RowId, Extension>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records leases whose extension failed; those that are older than a lease are over, and are dropped.
    fn add(&self, leases: &[Lease], duration: Duration) {
        let mut extensions = self.lock();
        let at = Instant::now();
        extensions.retain(|_, extension| at - extension.at < duration);
        for lease in leases {
            let latest = match extensions.remove(&lease.id) {
                Some(before) if before.given == lease.fence => before.latest,
                _ => lease.fence.clone(),
            };
            let extension = Extension { at, given: lease.fence.clone(), latest };
            extensions.insert(lease.id.clone(), extension);
        }
    }

    /// Forgets rows whose lease is known again, or over.
    pub(crate) fn forget<'a>(&self, ids: impl Iterator<Item = &'a RowId>) {
        let mut extensions = self.lock();
        if !extensions.is_empty() {
            ids.for_each(|id| drop(extensions.remove(id)));
        }
    }

    /// Returns which of these leases it concerns.
    fn among<'a>(&self, leases: impl Iterator<Item = &'a Lease>) -> Vec<RowId> {
        let extensions = self.lock();
        let concerns = |lease: &&Lease| {
            extensions.get(&lease.id).is_some_and(|extension| extension.given == lease.fence)
        };
        leases.filter(concerns).map(|lease| lease.id.clone()).collect()
    }

    /// Returns the leases whose fence is our own. Without an owner in the table that is a version which is at most one
    /// higher than the last one known.
    fn adopt(&self, found: Vec<Lease>, version: Option<usize>) -> HashMap<RowId, Lease> {
        let mut extensions = self.lock();
        let mut is_own = |lease: &Lease| {
            let extension = extensions.get_mut(&lease.id)?;
            if let Some(at) = version {
                let number = |fence: &[Value]| fence.get(at).and_then(bind::whole);
                let step = number(&lease.fence)?.checked_sub(number(&extension.latest)?)?;
                (0..=1).contains(&step).then_some(())?;
            }
            extension.latest.clone_from(&lease.fence);
            Some(())
        };
        let own = found.into_iter().filter_map(|lease| is_own(&lease).map(|()| (lease.id.clone(), lease)));
        own.collect()
    }
}

impl OpenTable {
    /// Notes that these leases may have been extended, if that changes their fence.
    pub(crate) fn note_unanswered(&self, leases: &[Lease]) {
        if self.statements.renewed.is_some() {
            self.unanswered.add(leases, self.stage.lease.duration);
        }
    }

    /// Reads the leases as they are now of those that an unanswered extension may have changed.
    pub(crate) async fn renewed(
        &self,
        on: &impl Driver,
        leases: impl Iterator<Item = &Lease>,
    ) -> Result<HashMap<RowId, Lease>, Error> {
        let ids = self.unanswered.among(leases);
        let Some(script) = self.statements.renewed.as_ref().filter(|_| !ids.is_empty()) else {
            return Ok(HashMap::new());
        };
        let mut found = Vec::with_capacity(ids.len());
        for part in ids.chunks(self.batch) {
            found.extend(on.fetch("find extended leases", script, Ids(part)).await?);
        }
        let fence = &self.stage.lease.fence;
        let by_version = || fence.iter().position(|role| *role == ColumnRole::Version);
        let version = if self.contract.column(ColumnRole::Owner).is_some() { None } else { by_version() };
        Ok(self.unanswered.adopt(found, version))
    }

    /// Settles once more those rows whose fence an unanswered extension has changed.
    pub(crate) async fn settle_renewed(
        &self,
        on: &impl Driver,
        moves: &[Settlement],
        answers: &mut [LeaseResult],
    ) -> Result<(), Error> {
        let lost = moves.iter().zip(&*answers).filter(|(_, answer)| **answer == LeaseResult::Lost);
        let lost = lost.map(|(settlement, _)| &settlement.lease);
        let behind = moves.iter().flat_map(|settlement| &settlement.releases);
        let renewed = self.renewed(on, lost.chain(behind)).await?;
        if !renewed.is_empty() {
            let mut again: Vec<Settlement> = Vec::new();
            let mut own = Vec::new();
            for (at, settlement) in moves.iter().enumerate() {
                let back = settlement.releases.iter().filter_map(|lease| renewed.get(&lease.id)).cloned();
                match renewed.get(&settlement.lease.id).filter(|_| answers[at] == LeaseResult::Lost) {
                    Some(lease) => {
                        own.push((again.len(), at));
                        let (lease, releases) = (lease.clone(), back.collect());
                        again.push(Settlement { lease, releases, ..settlement.clone() });
                    }
                    None => again.extend(back.map(Settlement::released)),
                }
            }
            let (more, _) = self.settle_once(on, &again).await?;
            for (from, to) in own {
                answers[to] = more[from];
            }
        }
        let behind = moves.iter().flat_map(|settlement| &settlement.releases);
        self.unanswered.forget(moves.iter().map(|one| &one.lease).chain(behind).map(|lease| &lease.id));
        Ok(())
    }
}

#[cfg(test)]
mod tests;
