//! The verbs of a lane with an external queue.

mod statements;

use std::collections::HashSet;

use postrider_seams::handoff::{PointerClaims, PublishSource};
use postrider_seams::row::{ClaimedRow, RowId};
use postrider_seams::store::{Class, Error};

use crate::bind::{self, Values};
use crate::driver::Driver;
use crate::open_table::OpenTable;
use crate::pools::cache::Free;
use crate::{HandoffScripts, Script};

impl OpenTable {
    /// Claims those of the named rows that may go; a second query finds out why the others were not claimed.
    pub async fn claim_by_id(&self, on: &impl Driver, ids: &[RowId]) -> Result<PointerClaims, Error> {
        let scripts = self.handoff()?;
        let mut taken = PointerClaims::default();
        for part in ids.chunks(self.batch.max(1)) {
            let given = Values { claim_time: self.claim_time(), ..Values::ids(on.owner(), part.to_vec()) };
            let done = on.run("claim named rows", &scripts.claim, &given).await?;
            let mut rows = self.read_claimed(done, None);
            self.join_claimed(on, &mut rows).await;
            self.note_crashes(on, &mut rows).await;
            let got: HashSet<&RowId> = rows.iter().map(|row| &row.lease.id).collect();
            let left: Vec<RowId> = part.iter().filter(|id| !got.contains(id)).cloned().collect();
            taken.rows.extend(rows);
            // The rows claimed so far are ours, even if the query about the others fails.
            match self.stand(on, scripts, left, &mut taken).await {
                Err(error) if taken.rows.is_empty() => return Err(error),
                Err(error) => tracing::warn!(%error, "could not read why rows were not claimed"),
                Ok(()) => {}
            }
        }
        Ok(taken)
    }

    async fn stand(
        &self,
        on: &impl Driver,
        scripts: &HandoffScripts,
        left: Vec<RowId>,
        taken: &mut PointerClaims,
    ) -> Result<(), Error> {
        if left.is_empty() {
            return Ok(());
        }
        let given = Values::ids(on.owner(), left);
        for mut row in on.run("read named rows", &scripts.standing, &given).await?.into_rows() {
            let standing = row.get(1).map_or(0, bind::count);
            match row.first_mut().map(std::mem::take).and_then(bind::key) {
                Some(id) if standing == 2 => taken.busy.push(id),
                Some(_) if standing == 1 => taken.unqueueable += 1,
                _ => {}
            }
        }
        Ok(())
    }

    /// Claims rows that no queue can carry: those of ordered groups and of pools.
    pub async fn claim_unqueueable(&self, on: &impl Driver, limit: u32) -> Result<Vec<ClaimedRow>, Error> {
        self.claim_free(on, limit, Free::OfPools).await
    }

    /// Marks up to `limit` rows to be published, and returns their keys.
    pub async fn mark_published(
        &self,
        on: &impl Driver,
        source: PublishSource,
        limit: u32,
    ) -> Result<Vec<RowId>, Error> {
        let scripts = self.handoff()?;
        let scripts: Vec<&Script> = match source {
            PublishSource::Waiting => self.statements.sweeps.get(scripts.waiting).into_iter().collect(),
            PublishSource::Due => scripts.due.iter().collect(),
        };
        let mut published: Vec<RowId> = Vec::new();
        for script in scripts {
            let left = limit.saturating_sub(u32::try_from(published.len()).unwrap_or(u32::MAX));
            if left > 0 {
                let done = on.run("mark rows as published", script, &Values::limit(on.owner(), left)).await;
                match done {
                    Ok(done) => published.extend(done.keys()),
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
                let given = Values::ids(on.owner(), part.to_vec());
                recalled += on.run("take rows back from the queue", script, &given).await?.moved();
            }
        }
        Ok(recalled)
    }

    /// Whether the table can have rows that no queue can carry.
    pub fn may_have_unqueueable_rows(&self) -> bool {
        self.statements.handoff.as_ref().is_some_and(|handoff| handoff.may_have_unqueueable_rows)
    }

    fn handoff(&self) -> Result<&HandoffScripts, Error> {
        self.statements.handoff.as_ref().ok_or_else(|| {
            let name = &self.contract.name;
            Error::new(Class::Misconfigured, format!("contract {name} was opened for a lane without a queue"))
        })
    }
}
