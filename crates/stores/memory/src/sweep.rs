//! The moves that no lease guards: reclaim, sweeps, purge, and the operator's.

use postrider_contract::{ATTEMPTS_SPENT, LEASE_EXPIRED, Move, Role, StateId};
use postrider_rows::{
    Given, Row, counters, get, has_attempts_left, int, is_ours, lease_end, micros, role, takeover,
    was_deferred,
};
use postrider_seams::row::Detail;
use postrider_seams::store::Reclaimed;
use postrider_seams::{RowId, Value};

use crate::apply;
use crate::store::MemoryStore;
use crate::table::Table;

impl MemoryStore {
    /// Moves each chosen row, with one reason.
    pub(crate) fn make_moves(&self, table: &mut Table, ids: &[RowId], step: &Move<'_>, reason: Option<&str>) {
        let nothing = Detail::new();
        let given = Given { reason, ..self.given(self.table.now(), &nothing) };
        for id in ids {
            apply::make(table, self.contract(), step, id, &given);
        }
    }

    /// Up to `limit` keys of rows in these states that pass.
    pub(crate) fn choose(
        &self,
        table: &Table,
        states: &[StateId],
        limit: u32,
        passes: impl Fn(&Row) -> bool,
    ) -> Vec<RowId> {
        let ids = table.in_states(states).into_iter();
        ids.filter(|id| is_ours(self.contract(), &table.rows[id]) && passes(&table.rows[id]))
            .take(limit as usize)
            .collect()
    }

    pub(crate) fn reclaim_rows(&self, limit: u32) -> Reclaimed {
        let (contract, stage) = (self.contract(), self.stage());
        let now = self.table.now();
        let mut table = self.table.lock();
        let from = self.claimed_states();
        if let Some(column) = contract.stamped(stage) {
            for id in self.choose(&table, &from, limit, |row| lease_end(contract, stage, row).is_none()) {
                let mut row = table.rows[&id].clone();
                row.insert(column.to_owned(), Value::Int(now));
                table.write(contract, &id, row);
            }
        }
        let expired = |row: &Row| lease_end(contract, stage, row).is_some_and(|end| end < now);
        let is_last = |row: &Row| {
            let spent = stage.lease.spend && stage.is_last(&counters(contract, stage, row));
            let takeovers = || takeover::count(role(contract, row, Role::Error)) + 1;
            let poisoned = stage.lease.poison.is_some_and(|most| takeovers() >= i64::from(most));
            spent || (poisoned && !was_deferred(contract, row))
        };
        let dead = self.choose(&table, &from, limit, |row| expired(row) && is_last(row));
        let back = self.choose(&table, &from, limit, |row| expired(row) && !is_last(row));
        for (ids, to) in [(&dead, stage.dead), (&back, stage.retry)] {
            let step = contract.reclaim_move(stage, to);
            self.make_moves(&mut table, ids, &step, Some(LEASE_EXPIRED));
        }
        Reclaimed { retried: back.len() as u64, dead: dead.len() as u64 }
    }

    pub(crate) fn sweep_spent(&self, limit: u32) -> u64 {
        let (contract, stage) = (self.contract(), self.stage());
        let mut table = self.table.lock();
        let spent = self.choose(&table, &stage.ready, limit, |row| !has_attempts_left(contract, stage, row));
        let step = contract.spent_move(stage);
        self.make_moves(&mut table, &spent, &step, Some(ATTEMPTS_SPENT));
        spent.len() as u64
    }

    pub(crate) fn sweep_contract(&self, index: usize, limit: u32) -> u64 {
        self.sweep_rows(index, limit).len() as u64
    }

    pub(crate) fn sweep_rows(&self, index: usize, limit: u32) -> Vec<RowId> {
        let rule = &self.contract().sweeps[index];
        let now = self.table.now();
        let mut table = self.table.lock();
        let due = self.choose(&table, &rule.from, limit, |row| self.is_stale(rule, row, now));
        let step = self.contract().sweep_move(self.stage(), rule);
        self.make_moves(&mut table, &due, &step, rule.reason.as_deref());
        due
    }

    pub(crate) fn purge_rows(&self, limit: u32) -> u64 {
        let now = self.table.now();
        let mut table = self.table.lock();
        let mut purged = 0;
        for rule in &self.contract().retention {
            let since = |row: &Row| rule.since.iter().find_map(|column| int(get(row, column)));
            let old = self.choose(&table, &[rule.state], limit, |row| {
                since(row).is_some_and(|since| since < now - micros(rule.after))
            });
            for id in &old {
                table.delete(self.contract(), id);
            }
            purged += old.len() as u64;
        }
        purged
    }
}
