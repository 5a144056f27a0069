//! Handles claims whose result was lost: releases their rows, and keeps the error of a claim that still returned rows.

pub(crate) mod statements;

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use postrider_seams::row::{Lease, RowId};
use postrider_seams::store::{Class, Error};

use crate::driver::Driver;
use crate::open_table::OpenTable;

/// The error of a claim in several transactions of which some succeeded.
#[derive(Debug, Default)]
pub(crate) struct KeptError(Mutex<Option<Error>>);

impl KeptError {
    fn lock(&self) -> MutexGuard<'_, Option<Error>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OpenTable {
    /// Keeps the error of a claim that returned some rows. Those rows are worked on; the next claim returns the error,
    /// so that the caller searches for rows of the transaction whose result was lost.
    pub(crate) fn keep_error(&self, error: Error) {
        tracing::warn!(%error, "a part of a claim failed");
        if error.class == Class::Transient {
            *self.kept_error.lock() = Some(error);
        }
    }

    pub(crate) fn kept_error(&self) -> Result<(), Error> {
        self.kept_error.lock().take().map_or(Ok(()), Err)
    }

    /// Releases rows that this worker claimed but that are not among `held`, and returns their number.
    pub async fn release_lost_claims(&self, on: &impl Driver, held: &[Lease]) -> Result<u64, Error> {
        let Some(scripts) = &self.statements.lost_claims else { return Ok(0) };
        let held: HashSet<&RowId> = held.iter().map(|lease| &lease.id).collect();
        let claimed = on.fetch("find rows of a lost claim", &scripts.find, ()).await?;
        let unheld: Vec<RowId> = claimed.into_iter().filter(|id| !held.contains(id)).collect();
        let released =
            self.reclaim_part(on, "release rows of a lost claim", &scripts.free, unheld.clone()).await?;
        self.refund(on, unheld).await;
        Ok(released)
    }
}
