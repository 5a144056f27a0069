//! Transitions without a lease: sweeps, purge, and those of operators.

use postrider_contract::{Move, NO_ATTEMPTS_LEFT, StateId};
use postrider_rows::{Row, TransitionInput, column_value, has_attempts_left, int, matches_filter, micros};
use postrider_seams::RowId;
use postrider_seams::row::Detail;

use crate::apply;
use crate::store::MemoryStore;
use crate::table::TableState;

impl MemoryStore {
    /// Makes a transition on each of these rows, with one reason.
    pub(crate) fn make_moves(
        &self,
        table: &mut TableState,
        ids: &[RowId],
        step: &Move<'_>,
        reason: Option<&str>,
    ) {
        let no_detail = Detail::new();
        let input = TransitionInput { reason, ..self.transition_input(self.table.now(), &no_detail) };
        for id in ids {
            apply::apply_move(table, self.contract(), step, id, &input);
        }
    }

    /// Returns the keys of up to `limit` rows that are in these states and for which `passes` is true.
    pub(crate) fn find_rows(
        &self,
        table: &TableState,
        states: &[StateId],
        limit: u32,
        passes: impl Fn(&Row) -> bool,
    ) -> Vec<RowId> {
        let ids = table.in_states(states).into_iter();
        ids.filter(|id| matches_filter(self.contract(), &table.rows[id]) && passes(&table.rows[id]))
            .take(limit as usize)
            .collect()
    }

    pub(crate) fn sweep_spent(&self, limit: u32) -> u64 {
        let (contract, stage) = (self.contract(), self.stage());
        let mut table = self.table.lock();
        let spent =
            self.find_rows(&table, &stage.ready, limit, |row| !has_attempts_left(contract, stage, row));
        let step = contract.exhausted_move(stage);
        self.make_moves(&mut table, &spent, &step, Some(NO_ATTEMPTS_LEFT));
        spent.len() as u64
    }

    pub(crate) fn sweep_contract(&self, index: usize, limit: u32) -> u64 {
        self.sweep_rows(index, limit).len() as u64
    }

    pub(crate) fn sweep_rows(&self, index: usize, limit: u32) -> Vec<RowId> {
        let rule = &self.contract().sweeps[index];
        let now = self.table.now();
        let mut table = self.table.lock();
        let due = self.find_rows(&table, &rule.from, limit, |row| self.is_stale(rule, row, now));
        let step = self.contract().sweep_move(self.stage(), rule);
        self.make_moves(&mut table, &due, &step, rule.reason.as_deref());
        due
    }

    pub(crate) fn purge_rows(&self, limit: u32) -> u64 {
        let now = self.table.now();
        let mut table = self.table.lock();
        let mut purged = 0;
        for rule in &self.contract().retention {
            let since = |row: &Row| rule.since.iter().find_map(|column| int(column_value(row, column)));
            let old = self.find_rows(&table, &[rule.state], limit, |row| {
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
