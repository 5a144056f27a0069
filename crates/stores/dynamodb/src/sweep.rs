//! Sweeps: moves without a lease. Their condition still names the state and the time that was read.

use std::collections::HashSet;

use postrider_contract::{ATTEMPTS_SPENT, Move, Role, StateId, Transition};
use postrider_rows::{has_attempts_left, is_ours, is_time, role, state_of};
use postrider_seams::Lease;
use postrider_seams::row::Detail;
use postrider_seams::store::Error;

use crate::record::Record;
use crate::store::DynamoStore;

impl DynamoStore {
    /// Returns up to `limit` records in these states that pass the filter.
    pub(crate) async fn choose(
        &self,
        purpose: &str,
        states: &[StateId],
        limit: usize,
        passes: impl Fn(&Record) -> bool + Send,
    ) -> Result<Vec<Record>, Error> {
        let mut chosen: Vec<Record> = Vec::new();
        for status in self.statuses(states) {
            let mut walk = self.walk(purpose, Some(&status));
            while chosen.len() < limit
                && let Some(page) = self.turn(purpose, &mut walk).await?
            {
                let fits = |record: &Record| {
                    state_of(&self.contract, &record.row).is_some_and(|state| states.contains(&state))
                        && is_ours(&self.contract, &record.row)
                        && passes(record)
                };
                let room = limit - chosen.len();
                let mut page: Vec<Record> = page.into_iter().filter(fits).collect();
                page.retain(|record| !chosen.iter().any(|known| known.id == record.id));
                let left = page.len() > room;
                page.truncate(room);
                chosen.extend(page);
                if chosen.len() >= limit {
                    self.stop(&walk, left);
                }
            }
        }
        Ok(chosen)
    }

    /// Moves each record; returns how many were unchanged since they were read.
    pub(crate) async fn make_each(
        &self,
        records: &[Record],
        step: &Move<'_>,
        reason: Option<&str>,
    ) -> Result<u64, Error> {
        let nothing = Detail::new();
        let mut made = 0;
        for record in records {
            let given = self.given(&nothing, reason);
            made += u64::from(self.make(step, record, &given).await?.is_some());
        }
        Ok(made)
    }

    /// Releases the rows that this store has claimed but does not hold.
    pub(crate) async fn release_others(&self, held: &[Lease]) -> Result<u64, Error> {
        let held: HashSet<String> = held.iter().map(|lease| lease.id.to_string()).collect();
        let unheld = |record: &Record| {
            role(&self.contract, &record.row, Role::Owner).as_text() == Some(&self.marks)
                && !held.contains(&record.id)
        };
        let found = self.choose("release", &self.claimed_states(), usize::MAX, unheld).await?;
        let step = self.contract.lease_move(self.stage(), Transition::Released);
        self.make_each(&found, &step, None).await
    }

    pub(crate) async fn sweep_spent(&self, limit: usize) -> Result<u64, Error> {
        let (contract, stage) = (&self.contract, self.stage());
        let spent = |record: &Record| !has_attempts_left(contract, stage, &record.row);
        let found = self.choose("sweep", &stage.ready, limit, spent).await?;
        self.make_each(&found, &contract.spent_move(stage), Some(ATTEMPTS_SPENT)).await
    }

    pub(crate) async fn sweep_contract(&self, index: usize, limit: usize) -> Result<u64, Error> {
        let rule = &self.contract.sweeps[index];
        let now = self.database.clock.now();
        let is_time = |record: &Record| is_time(rule, &record.row, now);
        let found = self.choose("sweep", &rule.from, limit, is_time).await?;
        let step = self.contract.sweep_move(self.stage(), rule);
        self.make_each(&found, &step, rule.reason.as_deref()).await
    }
}
