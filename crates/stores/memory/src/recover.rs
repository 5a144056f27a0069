//! Records rows whose delivery has begun, and recovers rows whose worker is gone.

use std::collections::HashSet;

use postrider_contract::{CRASHED, ColumnRole, Crash, LEASE_EXPIRED, Transition};
use postrider_rows::{Row, crash, lease_end, role_value};
use postrider_seams::store::{LeaseResult, Reclaimed};
use postrider_seams::{Lease, RowId, Value};

use crate::store::MemoryStore;
use crate::table::TableState;

impl MemoryStore {
    /// Replaces the begun rows of this worker by these, without those that lost their lease; returns which of `begun`
    /// still hold it.
    pub(crate) fn begin_rows(&self, begun: &[Lease], others: &[Lease]) -> Vec<LeaseResult> {
        let now = self.table.now();
        let mut table = self.table.lock();
        let is_held = |lease: &&Lease| {
            table
                .rows
                .get(&lease.id)
                .is_some_and(|row| self.lease_holds(row, lease) && !self.lease_expired(row, now))
        };
        let list: Vec<Lease> = begun.iter().filter(is_held).chain(others).cloned().collect();
        let answers = begun
            .iter()
            .map(|lease| if is_held(&lease) { LeaseResult::Held } else { LeaseResult::Lost })
            .collect();
        table.begun.insert((self.stage, self.worker.clone()), list);
        answers
    }

    pub(crate) fn reclaim_rows(&self, limit: u32) -> Reclaimed {
        let now = self.table.now();
        let mut table = self.table.lock();
        self.stamp_untimed_claims(&mut table, limit, now);
        let expired =
            self.find_rows(&table, &self.claimed_states(), limit, |row| self.lease_expired(row, now));
        let mut reclaimed = Reclaimed::default();
        for id in expired {
            if self.is_begun(&table, &id) {
                let crash = self.count_crash(&mut table, &id);
                *(if crash == Crash::Dead { &mut reclaimed.dead } else { &mut reclaimed.retried }) += 1;
            } else {
                self.release_row(&mut table, &id);
                reclaimed.free += 1;
            }
        }
        reclaimed
    }

    /// Releases rows that this worker has claimed and does not hold.
    pub(crate) fn release_lost_rows(&self, held: &[Lease]) -> u64 {
        if self.contract().column(ColumnRole::Owner).is_none() {
            return 0;
        }
        let held: HashSet<&RowId> = held.iter().map(|lease| &lease.id).collect();
        let mut table = self.table.lock();
        let claimed = self.find_rows(&table, &self.claimed_states(), u32::MAX, |row| {
            role_value(self.contract(), row, ColumnRole::Owner).as_text() == Some(&self.worker)
        });
        let unheld: Vec<RowId> = claimed.into_iter().filter(|id| !held.contains(id)).collect();
        for id in &unheld {
            self.release_row(&mut table, id);
        }
        unheld.len() as u64
    }

    fn lease_expired(&self, row: &Row, now: i64) -> bool {
        lease_end(self.contract(), self.stage(), row).is_some_and(|end| end < now)
    }

    /// Stamps claims of other programs that left no time with the time at which they are first seen.
    fn stamp_untimed_claims(&self, table: &mut TableState, limit: u32, now: i64) {
        let (contract, stage) = (self.contract(), self.stage());
        let Some(column) = contract.nullable_claim_time(stage) else { return };
        let unstamped = |row: &Row| lease_end(contract, stage, row).is_none();
        for id in self.find_rows(table, &self.claimed_states(), limit, unstamped) {
            let mut row = table.rows[&id].clone();
            row.insert(column.to_owned(), Value::Int(now));
            table.write(contract, &id, row);
        }
    }

    /// Whether a worker had begun to deliver the row under the lease that the row has now.
    fn is_begun(&self, table: &TableState, id: &RowId) -> bool {
        let lease = Lease { id: id.clone(), fence: self.fence(&table.rows[id]) };
        let lists = table.begun.iter().filter(|((stage, _), _)| *stage == self.stage);
        lists.into_iter().any(|(_, begun)| begun.contains(&lease))
    }

    fn count_crash(&self, table: &mut TableState, id: &RowId) -> Crash {
        let (contract, stage) = (self.contract(), self.stage());
        let place = (self.stage, id.clone());
        let crashes = table.crashes.get(&place).map_or(0, |(crashes, _)| *crashes);
        let crash = crash(contract, stage, &table.rows[id], crashes);
        table.crashes.insert(place.clone(), (crashes + 1, self.table.now()));
        let ids = std::slice::from_ref(id);
        match crash {
            Crash::Charged => {
                let back = contract.reclaim_move(stage, stage.retryable);
                self.make_moves(table, ids, &back, Some(LEASE_EXPIRED));
            }
            Crash::Spared => self.release_row(table, id),
            Crash::Dead => {
                table.crashes.remove(&place);
                let dead = contract.reclaim_move(stage, stage.dead);
                self.make_moves(table, ids, &dead, Some(CRASHED));
            }
        }
        crash
    }

    fn release_row(&self, table: &mut TableState, id: &RowId) {
        let now = self.table.now();
        self.charge_pool(table, id, now, true);
        let back = self.contract().lease_move(self.stage(), Transition::Released);
        self.make_moves(table, std::slice::from_ref(id), &back, None);
    }
}
