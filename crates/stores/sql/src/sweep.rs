//! Runs timed maintenance: sweeps and purge.

pub(crate) mod purge;
mod statements;
pub(crate) mod unreadable;

use postrider_seams::store::{Error, SweepKind};

use crate::bind::Limit;
use crate::driver::Driver;
use crate::open_table::OpenTable;
use crate::render::moves::MoveSome;

impl OpenTable {
    /// Runs one sweep on up to `limit` rows, and returns how many moved.
    pub async fn sweep(&self, on: &impl Driver, sweep: SweepKind, limit: u32) -> Result<u64, Error> {
        match sweep {
            SweepKind::Exhausted => {
                self.delete_old_marks(on).await?;
                let unreadable = self.end_unreadable(on, limit).await?;
                Ok(unreadable + moved(on, "sweep rows", self.statements.spent.as_ref(), limit).await?)
            }
            SweepKind::Contract(index) => {
                moved(on, "sweep rows", self.statements.sweeps.get(index), limit).await
            }
        }
    }

    /// Deletes finished rows past their retention, up to `limit` per rule, and returns their number.
    pub async fn purge(&self, on: &impl Driver, limit: u32) -> Result<u64, Error> {
        let mut purged = 0;
        for script in &self.statements.purge {
            purged += on.fetch("purge finished rows", script, Limit(limit)).await?.len() as u64;
        }
        Ok(purged)
    }
}

/// Runs a script and returns how many rows moved; 0 if the contract has no such script.
pub(crate) async fn moved(
    on: &impl Driver,
    doing: &str,
    script: Option<&MoveSome>,
    limit: u32,
) -> Result<u64, Error> {
    match script {
        Some(script) => Ok(on.fetch(doing, script, Limit(limit)).await?.len() as u64),
        None => Ok(0),
    }
}
