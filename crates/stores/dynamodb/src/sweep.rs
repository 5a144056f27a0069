//! Runs sweeps (timed transitions) and releases lost claims. The worker holds no lease on these rows, so each update is
//! conditional on the state and the time that were read.

use std::collections::HashSet;

use postrider_contract::{ColumnRole, Move, NO_ATTEMPTS_LEFT, StateId, Transition};
use postrider_rows::{has_attempts_left, matches_filter, role_value, state_of, sweep_is_due};
use postrider_seams::Lease;
use postrider_seams::row::Detail;
use postrider_seams::store::Error;

use crate::record::Record;
use crate::store::DynamoStore;

impl DynamoStore {
    /// Returns up to `limit` records in these states that pass the filter.
    pub(crate) async fn find_records(
        &self,
        purpose: &str,
        states: &[StateId],
        limit: usize,
        passes: impl Fn(&Record) -> bool + Send,
    ) -> Result<Vec<Record>, Error> {
        let mut chosen: Vec<Record> = Vec::new();
        for status in self.statuses(states) {
            let mut scan = self.scan(purpose, Some(&status));
            while chosen.len() < limit
                && let Some(page) = self.next_page(purpose, &mut scan).await?
            {
                let fits = |record: &Record| {
                    state_of(&self.contract, &record.row).is_some_and(|state| states.contains(&state))
                        && matches_filter(&self.contract, &record.row)
                        && passes(record)
                };
                let room = limit - chosen.len();
                let mut page: Vec<Record> = page.into_iter().filter(fits).collect();
                page.retain(|record| !chosen.iter().any(|known| known.id == record.id));
                let left = page.len() > room;
                page.truncate(room);
                chosen.extend(page);
                if chosen.len() >= limit {
                    self.stop(&scan, left);
                }
            }
        }
        Ok(chosen)
    }

    /// Moves each record; returns how many were unchanged since they were read.
    pub(crate) async fn apply_each(
        &self,
        records: &[Record],
        step: &Move<'_>,
        reason: Option<&str>,
    ) -> Result<u64, Error> {
        let no_detail = Detail::new();
        let mut made = 0;
        for record in records {
            let input = self.transition_input(&no_detail, reason);
            made += u64::from(self.apply_move(step, record, &input).await?.is_some());
        }
        Ok(made)
    }

    /// Releases the rows that this store has claimed but does not hold.
    pub(crate) async fn release_lost_records(&self, held: &[Lease]) -> Result<u64, Error> {
        let held: HashSet<String> = held.iter().map(|lease| lease.id.to_string()).collect();
        let unheld = |record: &Record| {
            role_value(&self.contract, &record.row, ColumnRole::Owner).as_text() == Some(&self.worker)
                && !held.contains(&record.id)
        };
        let found = self.find_records("release", &self.claimed_states(), usize::MAX, unheld).await?;
        let step = self.contract.lease_move(self.stage(), Transition::Released);
        self.apply_each(&found, &step, None).await
    }

    pub(crate) async fn sweep_spent(&self, limit: usize) -> Result<u64, Error> {
        let (contract, stage) = (&self.contract, self.stage());
        let spent = |record: &Record| !has_attempts_left(contract, stage, &record.row);
        let found = self.find_records("sweep", &stage.ready, limit, spent).await?;
        self.apply_each(&found, &contract.exhausted_move(stage), Some(NO_ATTEMPTS_LEFT)).await
    }

    pub(crate) async fn sweep_contract(&self, index: usize, limit: usize) -> Result<u64, Error> {
        let rule = &self.contract.sweeps[index];
        let now = self.database.clock.now();
        let is_due = |record: &Record| sweep_is_due(rule, &record.row, now);
        let found = self.find_records("sweep", &rule.from, limit, is_due).await?;
        let step = self.contract.sweep_move(self.stage(), rule);
        self.apply_each(&found, &step, rule.reason.as_deref()).await
    }
}
