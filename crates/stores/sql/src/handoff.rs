//! The verbs of a lane with an external queue.

pub(crate) mod statements;

use std::collections::HashSet;

use postrider_seams::handoff::{PointerClaims, PublishSource};
use postrider_seams::row::{ClaimedRow, RowId};
use postrider_seams::store::{Class, Error};

use crate::bind::{Ids, Limit};
use crate::driver::Driver;
use crate::handoff::statements::{HandoffScripts, UnclaimedReason};
use crate::open_table::OpenTable;
use crate::pools::cache::UnorderedRows;
use crate::render::moves::MoveSome;

impl OpenTable {
    /// Claims those of the named rows that may go; a second query finds out why the others were not claimed.
    pub async fn claim_by_id(&self, on: &impl Driver, ids: &[RowId]) -> Result<PointerClaims, Error> {
        let scripts = self.handoff()?;
        let mut taken = PointerClaims::default();
        for part in ids.chunks(self.batch.max(1)) {
            let rows = on.fetch("claim named rows", &scripts.claim, self.claiming(Ids(part))).await?;
            let mut rows = self.now_held(rows);
            self.join_claimed(on, &mut rows).await;
            self.note_crashes(on, &mut rows).await;
            let got: HashSet<&RowId> = rows.iter().map(|row| &row.lease.id).collect();
            let left: Vec<RowId> = part.iter().filter(|id| !got.contains(id)).cloned().collect();
            taken.rows.extend(rows);
            // The rows claimed so far are ours, even if the query about the others fails.
            match self.classify_unclaimed(on, scripts, &left, &mut taken).await {
                Err(error) if taken.rows.is_empty() => return Err(error),
                Err(error) => tracing::warn!(%error, "could not read why rows were not claimed"),
                Ok(()) => {}
            }
        }
        Ok(taken)
    }

    async fn classify_unclaimed(
        &self,
        on: &impl Driver,
        scripts: &HandoffScripts,
        left: &[RowId],
        taken: &mut PointerClaims,
    ) -> Result<(), Error> {
        if left.is_empty() {
            return Ok(());
        }
        for (id, reason) in on.fetch("read named rows", &scripts.unclaimed_reasons, Ids(left)).await? {
            match reason {
                UnclaimedReason::Busy => taken.busy.push(id),
                UnclaimedReason::Unqueueable => taken.unqueueable += 1,
                UnclaimedReason::NotReady => {}
            }
        }
        Ok(())
    }

    /// Claims rows that no queue can carry: those of ordered groups and of pools.
    pub async fn claim_unqueueable(&self, on: &impl Driver, limit: u32) -> Result<Vec<ClaimedRow>, Error> {
        self.claim_free(on, limit, UnorderedRows::OfPools).await
    }

    /// Marks up to `limit` rows to be published, and returns their keys.
    pub async fn mark_published(
        &self,
        on: &impl Driver,
        source: PublishSource,
        limit: u32,
    ) -> Result<Vec<RowId>, Error> {
        let scripts = self.handoff()?;
        let scripts: Vec<&MoveSome> = match source {
            PublishSource::Waiting => self.statements.sweeps.get(scripts.waiting).into_iter().collect(),
            PublishSource::Due => scripts.due.iter().collect(),
        };
        let mut published: Vec<RowId> = Vec::new();
        for script in scripts {
            let left = limit.saturating_sub(u32::try_from(published.len()).unwrap_or(u32::MAX));
            if left > 0 {
                match on.fetch("mark rows as published", script, Limit(left)).await {
                    Ok(keys) => published.extend(keys),
                    // The rows that are already marked must be published.
                    Err(error) if !published.is_empty() => {
                        tracing::warn!(%error, "marking rows of one of several states failed");
                        break;
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(published)
    }

    /// Takes rows back that could not be published, and returns their number.
    pub async fn recall(&self, on: &impl Driver, ids: &[RowId]) -> Result<u64, Error> {
        let mut recalled = 0;
        for part in ids.chunks(self.batch.max(1)) {
            for script in &self.handoff()?.recall {
                recalled += on.fetch("take rows back from the queue", script, Ids(part)).await?.len() as u64;
            }
        }
        Ok(recalled)
    }

    /// Whether the table can have rows that no queue can carry.
    pub fn has_unqueueable_rows(&self) -> bool {
        self.statements.handoff.as_ref().is_some_and(|handoff| handoff.has_unqueueable_rows)
    }

    fn handoff(&self) -> Result<&HandoffScripts, Error> {
        self.statements.handoff.as_ref().ok_or_else(|| {
            let name = &self.contract.name;
            Error::new(Class::Misconfigured, format!("contract {name} was opened for a lane without a queue"))
        })
    }
}
