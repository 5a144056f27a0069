//! Ordered groups, as simply as possible: every claim scans the whole table and applies the rules literally.

use std::collections::BTreeMap;

use postrider_contract::{ClaimedState, GroupMode, GroupRule, OnError, When};
use postrider_rows::{Row, column_value, counters, int, literal, matches_filter, state_of};
use postrider_seams::{RowId, Value};

use crate::store::MemoryStore;
use crate::table::{OrderKey, TableState, sort_key};

/// A row's place in its group.
type GroupPosition = (Vec<OrderKey>, RowId);

impl MemoryStore {
    fn group(&self) -> Option<&GroupRule> {
        self.contract().group.as_ref().filter(|group| group.keeps_order())
    }

    /// Returns the row's group and what a failure does to it; `None` if the row has no order.
    pub(crate) fn ordered(&self, row: &Row) -> Option<(String, GroupMode)> {
        let group = self.group()?;
        let value = column_value(row, &group.by);
        let name = match value {
            Value::Text(text) => text.clone(),
            Value::Int(int) => int.to_string(),
            _ => return None,
        };
        if group.none.as_ref().is_some_and(|none| literal(none) == *value) {
            return None;
        }
        let mode = match &group.on_error {
            OnError::Always(_) => None,
            OnError::ByColumn { column, .. } => column_value(row, column).as_text(),
        };
        let hold = group.hold(mode);
        (hold != GroupMode::Parallel).then_some((name, hold))
    }

    /// Picks rows of ordered groups: of each group without a row in flight, the first rows that may all be delivered
    /// now.
    pub(crate) fn pick_ordered(
        &self,
        table: &TableState,
        now: i64,
        limit: usize,
        is_claimable: &impl Fn(&Row) -> bool,
        is_open: &impl Fn(&Row) -> bool,
    ) -> Vec<RowId> {
        let Some(group) = self.group() else { return Vec::new() };
        let mut runs: Vec<Vec<RowId>> = Vec::new();
        for positions in self.live_groups(table, group).into_values() {
            let rows = || positions.iter().map(|(_, id)| (id, &table.rows[id]));
            if rows().any(|(_, row)| self.is_in_flight(row)) {
                continue;
            }
            let blocking = rows().filter(|(_, row)| !self.is_skipped(row, now, is_claimable));
            let run: Vec<RowId> = blocking
                .take_while(|(_, row)| self.is_ready(row) && is_claimable(row) && is_open(row))
                .map(|(id, _)| id.clone())
                .collect();
            if !run.is_empty() {
                runs.push(run);
            }
        }
        let run_limit = (limit / runs.len().max(1)).max(group.run as usize);
        runs.into_iter().flat_map(|run| run.into_iter().take(run_limit)).take(limit).collect()
    }

    /// Returns every row that can block others, by group, in order.
    fn live_groups(&self, table: &TableState, group: &GroupRule) -> BTreeMap<String, Vec<GroupPosition>> {
        let mut groups: BTreeMap<String, Vec<GroupPosition>> = BTreeMap::new();
        for (id, row) in &table.rows {
            let Some((name, hold)) = self.ordered(row) else { continue };
            let blocks = state_of(self.contract(), row)
                .is_some_and(|state| self.stage().blocking_states(hold).contains(&state));
            if blocks && matches_filter(self.contract(), row) {
                let position =
                    group.sequence.iter().map(|column| sort_key(column_value(row, column), false)).collect();
                groups.entry(name).or_default().push((position, id.clone()));
            }
        }
        for positions in groups.values_mut() {
            positions.sort();
        }
        groups
    }

    fn is_ready(&self, row: &Row) -> bool {
        state_of(self.contract(), row).is_some_and(|state| self.stage().ready.contains(&state))
    }

    fn is_in_flight(&self, row: &Row) -> bool {
        matches!(self.stage().claimed, ClaimedState::State(claimed) if state_of(self.contract(), row) == Some(claimed))
    }

    /// Whether rows behind this one need not wait for it.
    fn is_skipped(&self, row: &Row, now: i64, is_claimable: &impl Fn(&Row) -> bool) -> bool {
        match self.ordered(row) {
            Some((_, GroupMode::Next)) => {
                let failed = counters(self.contract(), self.stage(), row).attempts > 0;
                failed && self.is_ready(row) && !is_claimable(row)
            }
            Some((_, GroupMode::Block)) => self.is_expired(row, now),
            _ => false,
        }
    }

    /// Whether the row was stopped by a sweep and its time is over.
    fn is_expired(&self, row: &Row, now: i64) -> bool {
        let state = state_of(self.contract(), row);
        self.contract().sweeps.iter().any(|sweep| match &sweep.when {
            When::At { column } => {
                let stops = self.stage().operator_states().contains(&sweep.to) && !sweep.publish;
                stops && state == Some(sweep.to) && int(column_value(row, column)).is_some_and(|at| at <= now)
            }
            When::Always | When::OlderThan { .. } | When::Before { .. } => false,
        })
    }
}
