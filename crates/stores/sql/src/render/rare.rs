//! Decides which index finds the rows of a state, for operators and rare sweeps.
//!
//! A row that is delivered at its first attempt costs no index entry beyond those of its claim: one partial index
//! holds the rows of all rare states and the rows without attempts left. Rows of the other states are found by the
//! indexes of claims, or by the primary key in parts of limited size. MySQL has no partial index; there the indexes of
//! claims start with the state.

use std::collections::BTreeSet;

use postrider_contract::{Stage, StateId};

use crate::Dialect;
use crate::render::condition::Lookup;
use crate::render::table::Table;

/// The key in the index for rows without attempts left, which has no state's name: names have no spaces.
const SPENT: &str = "no attempts left";

/// Maximum number of rows that are read to find rows of a state that no index of its own holds.
pub(crate) const MAX_ROWS_READ: u64 = 50_000;

/// How the rows of a state are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Finding {
    /// An index starts with a condition on the state, or holds only its rows.
    ByIndex,
    /// The indexes of claims hold its rows.
    Ready,
    /// Only the primary key finds its rows.
    ByKey,
}

impl<'a> Table<'a> {
    /// Returns how the rows of a state are found.
    pub fn finding(&self, state: StateId) -> Finding {
        if self.dialect == Dialect::Mysql || self.contract.is_claimed(state) || self.is_rare(state) {
            Finding::ByIndex
        } else if self.contract.is_ready(state) {
            Finding::Ready
        } else {
            Finding::ByKey
        }
    }

    /// Whether few rows are in this state: no lane claims, holds or delivers them.
    fn is_rare(&self, state: StateId) -> bool {
        let delivered = self.contract.stages.iter().any(|stage| stage.delivered == state);
        let deletes = self.contract.state(state).deletes;
        !(delivered || deletes || self.contract.is_ready(state) || self.contract.is_claimed(state))
    }

    fn rare_states(&self) -> Vec<StateId> {
        (0..self.contract.states.len()).map(StateId).filter(|state| self.is_rare(*state)).collect()
    }

    /// Returns the same table for another stage of its contract.
    pub fn of_stage(&self, stage: &'a Stage) -> Option<Table<'a>> {
        Table::new(self.contract, stage, self.dialect, self.shape).ok()
    }

    /// Returns the table for the stage that claims rows in this state.
    pub fn of_ready_state(&self, state: StateId) -> Option<Table<'a>> {
        self.of_stage(self.contract.stages.iter().find(|stage| stage.ready.contains(&state))?)
    }

    /// The condition that a ready row of any stage has no attempts left. No index can count rows of another table.
    fn spent_rules(&self) -> Vec<String> {
        if self.contract.counted_history().is_some() {
            return Vec::new();
        }
        let stages = self.contract.stages.iter().filter_map(|stage| self.of_stage(stage));
        let rule = |table: Table<'_>| {
            let mut parts = vec![table.in_states(&table.stage.ready, Lookup::Index), table.is_spent()?];
            parts.extend(table.filter());
            Some(parts.join(" AND "))
        };
        stages.filter_map(rule).collect()
    }

    /// Returns the condition that the index of rare rows holds a row; `None` if the table has no such index.
    pub fn rare_rule(&self) -> Option<String> {
        if self.dialect == Dialect::Mysql {
            return None;
        }
        let states = self.rare_states();
        let rare = (!states.is_empty()).then(|| self.in_states(&states, Lookup::Index));
        let mut rules: Vec<String> = rare.into_iter().chain(self.spent_rules()).collect();
        rules.dedup();
        match rules.as_slice() {
            [] => None,
            [one] => Some(one.clone()),
            many => Some(format!("(({}))", many.join(") OR ("))),
        }
    }

    /// Returns the expression that the index of rare rows starts with: the name of the row's state. `None` if it only
    /// holds rows without attempts left.
    pub fn rare_key(&self) -> Option<String> {
        let case = |state: &StateId| {
            let name = self.text(&self.contract.state(*state).name);
            format!(" WHEN {} THEN {name}", self.in_state(*state, Lookup::Index))
        };
        let cases: String = self.rare_states().iter().map(case).collect();
        (!cases.is_empty()).then(|| format!("CASE{cases} ELSE {} END", self.text(SPENT)))
    }

    /// Returns what distinguishes the index of rare rows, as part of its name: a changed limit of attempts gets its own.
    pub fn rare_mark(&self) -> String {
        if self.spent_rules().is_empty() {
            return String::new();
        }
        let limits: BTreeSet<u32> = self.contract.stages.iter().map(|stage| stage.attempts.max).collect();
        let limits: Vec<String> = limits.iter().map(u32::to_string).collect();
        let own = self.contract.column(postrider_contract::ColumnRole::MaxAttempts).map_or("", |_| "_own");
        format!("{}{own}", limits.join("_"))
    }

    /// Returns the conditions that find the rows of these states by the index of rare rows; empty if it does not hold
    /// them all. They follow from the states, but are needed to match the index.
    pub fn rare_conditions(&self, states: &[StateId]) -> Vec<String> {
        let rare = !states.is_empty() && states.iter().all(|state| self.is_rare(*state));
        let (Some(rule), Some(key)) = (self.rare_rule().filter(|_| rare), self.rare_key()) else {
            return Vec::new();
        };
        let names: Vec<String> =
            states.iter().map(|state| self.text(&self.contract.state(*state).name)).collect();
        vec![
            rule,
            match names.as_slice() {
                [name] => format!("({key}) = {name}"),
                names => format!("({key}) IN ({})", names.join(", ")),
            },
        ]
    }

    /// Returns the conditions that find the ready rows without attempts left by the same index.
    pub fn spent_conditions(&self) -> Vec<String> {
        let Some(rule) = self.rare_rule().filter(|_| !self.spent_rules().is_empty()) else {
            return Vec::new();
        };
        let spent = self.rare_key().map(|key| format!("({key}) = {}", self.text(SPENT)));
        std::iter::once(rule).chain(spent).collect()
    }

    /// Returns the conditions that find the rows of a state by an index, without the condition on the state.
    pub fn finding_conditions(&self, state: StateId) -> Vec<String> {
        match self.finding(state) {
            Finding::Ready => {
                let stage = self.contract.stages.iter().find(|stage| stage.ready.contains(&state));
                let several = stage.filter(|stage| stage.ready.len() > 1 && self.dialect != Dialect::Mysql);
                several.map(|stage| self.in_states(&stage.ready, Lookup::Index)).into_iter().collect()
            }
            Finding::ByIndex => self.rare_conditions(&[state]),
            Finding::ByKey => Vec::new(),
        }
    }

    /// Returns a query for up to `limit` ready rows of this stage by the indexes of claims: their keys and the columns
    /// that decide their state.
    pub fn ready_rows(&self, limit: u64) -> String {
        let columns = self.state_columns(&self.stage.ready);
        let part = |(conditions, order): (Vec<String>, String)| {
            format!(
                "SELECT * FROM (SELECT {} FROM {} AS t WHERE {} ORDER BY {order} LIMIT {limit}) AS p",
                columns.join(", "),
                self.name(),
                conditions.join(" AND ")
            )
        };
        let parts: Vec<String> = self.ready_parts().into_iter().map(part).collect();
        parts.join("\nUNION ALL ")
    }

    /// Returns the key, and the columns that decide whether a lane handles a row and which of these states it is in.
    pub fn state_columns(&self, states: &[StateId]) -> Vec<String> {
        let of_states = states.iter().flat_map(|state| &self.contract.state(*state).conditions);
        let named = of_states.map(|(column, _)| column);
        let mut columns = vec![self.id()];
        for column in named.chain(self.contract.claim.filter.iter().map(|(column, _)| column)) {
            let column = self.col(column);
            if !columns.contains(&column) {
                columns.push(column);
            }
        }
        columns
    }

    /// The conditions and orders of the indexes that hold the ready rows.
    fn ready_parts(&self) -> Vec<(Vec<String>, String)> {
        let mut ready = vec![self.in_states(&self.stage.ready, Lookup::Index)];
        ready.extend(self.filter());
        let with = |more: String| ready.iter().cloned().chain([more]).collect::<Vec<_>>();
        if self.contract.limits_claims() {
            return vec![(vec![self.is_waiting()], self.share_keys().join(", "))];
        }
        match self.group() {
            None => vec![(ready, self.order_list())],
            Some(group) => vec![
                (with(self.is_free(group)), self.order_list()),
                (with(self.is_ordered(group)), self.freshness().0),
            ],
        }
    }
}
