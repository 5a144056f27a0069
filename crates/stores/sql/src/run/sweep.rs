//! The safety nets: reclaim, sweeps, purge.

use postrider_seams::store::{Error, Reclaimed, SweepKind};

use super::{Opened, Run};
use crate::Script;
use crate::bind::Given;

impl Opened {
    pub async fn reclaim(&self, on: &impl Run, limit: u32) -> Result<Reclaimed, Error> {
        let stamp = self.program.stamp.as_ref();
        moved(on, "note when claims without a time were seen", stamp, limit).await?;
        // The poison guard first, so that what is left can all go back.
        let dead = self.program.reclaim_dead.as_ref();
        let dead = moved(on, "end rows whose claims keep expiring", dead, limit).await?;
        let retried = moved(on, "take back expired leases", self.program.reclaim.as_ref(), limit).await?;
        Ok(Reclaimed { retried, dead })
    }

    pub async fn sweep(&self, on: &impl Run, sweep: SweepKind, limit: u32) -> Result<u64, Error> {
        let script = match sweep {
            SweepKind::Spent => self.program.spent.as_ref(),
            SweepKind::Contract(index) => self.program.sweeps.get(index),
        };
        moved(on, "sweep rows", script, limit).await
    }

    pub async fn purge(&self, on: &impl Run, limit: u32) -> Result<u64, Error> {
        let mut purged = 0;
        for script in &self.program.purge {
            purged += moved(on, "purge finished rows", Some(script), limit).await?;
        }
        Ok(purged)
    }
}

/// Rows that the script moved; none where the contract has no such script.
async fn moved(on: &impl Run, doing: &str, script: Option<&Script>, limit: u32) -> Result<u64, Error> {
    match script {
        Some(script) => Ok(on.run(doing, script, &Given::limit(on.owner(), limit)).await?.moved()),
        None => Ok(0),
    }
}
