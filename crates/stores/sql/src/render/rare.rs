//! Decides which index finds the rows of a state, for operators and rare sweeps.
//!
//! A row that is delivered at its first attempt costs no index entry beyond those of its claim: one partial index of
//! states holds the rows of all rare states, the rows without attempts left, those that wait for another attempt, and,
//! where claims ask for them by group or pool, the rows in flight. Rows of the other states are found by the indexes of
//! claims, or by the primary key in parts of limited size. MySQL has no partial index; there the indexes of
//! claims start with the state.

use std::collections::BTreeSet;

use postrider_contract::{ClaimedState, Stage, StateId};

use crate::Dialect;
use crate::render::condition::Lookup;
use crate::render::table::Table;

/// The label in the index for rows without attempts left, which has no state's name: names have no spaces.
pub(crate) const SPENT: &str = "no attempts left";

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

    /// The states of rows in flight that the index of states holds, by group and pool.
    fn held_states(&self) -> Vec<StateId> {
        let stages = self.contract.stages.iter().filter_map(|stage| self.of_stage(stage));
        let mut held: Vec<StateId> = stages.filter_map(|table| table.held_state()).collect();
        held.dedup();
        held
    }

    /// The state of this stage's rows in flight, if the index of states holds them.
    pub fn held_state(&self) -> Option<StateId> {
        match self.stage.claimed {
            ClaimedState::State(state) if self.has_held_index() => Some(state),
            _ => None,
        }
    }

    /// The ready states of rows that wait for another attempt, if rows that were never tried have another state.
    fn retried_states(&self) -> Vec<StateId> {
        let retried = |stage: &&Stage| {
            stage.ready.len() > 1
                && stage.ready.first() != Some(&stage.retryable)
                && stage.ready.contains(&stage.retryable)
        };
        self.contract.stages.iter().filter(retried).map(|stage| stage.retryable).collect()
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
            parts.extend(table.contract_filter());
            Some(parts.join(" AND "))
        };
        stages.filter_map(rule).collect()
    }

    /// Returns the first key of the index of states: the row's state by name, or that it has no attempts left. NULL for
    /// a row that the index does not hold. `None` if the table has no such index.
    ///
    /// The condition of the index is that this key is not NULL: both planners know that it follows from an equality.
    pub fn label(&self) -> Option<String> {
        if self.dialect == Dialect::Mysql {
            return None;
        }
        let named = |state: StateId| {
            let name = self.contract.state(state).name.clone();
            (self.in_state(state, Lookup::Index), name)
        };
        let rare = self.held_states().into_iter().chain(self.rare_states()).map(named);
        let spent = self.spent_rules().into_iter().map(|rule| (rule, SPENT.to_owned()));
        let retried = self.retried_states().into_iter().map(named);
        let case =
            |(condition, label): (String, String)| format!(" WHEN {condition} THEN {}", self.text(&label));
        let cases: String = rare.chain(spent).chain(retried).map(case).collect();
        (!cases.is_empty()).then(|| format!("CASE{cases} END"))
    }

    /// Returns the second key of the index of states: the row's key, but NULL for a row in flight, so that the group and
    /// the pool are the next keys of those.
    pub fn key_by_state(&self) -> String {
        let id = self.id();
        match self.held_states().as_slice() {
            [] => id,
            held => format!("CASE WHEN {} THEN NULL ELSE {id} END", self.in_states(held, Lookup::Index)),
        }
    }

    /// Returns the key that orders a page of rows in a state: for a rare one, the index of states has them in order.
    pub fn page_key(&self, state: Option<StateId>) -> String {
        match state {
            Some(state) if self.label().is_some() && self.is_rare(state) => self.key_by_state(),
            _ => self.id(),
        }
    }

    /// Returns what distinguishes the index of states, as part of its name: a changed limit of attempts gets its own.
    pub fn states_mark(&self) -> String {
        if self.spent_rules().is_empty() {
            return String::new();
        }
        let limits: BTreeSet<u32> = self.contract.stages.iter().map(|stage| stage.attempts.max).collect();
        let limits: Vec<String> = limits.iter().map(u32::to_string).collect();
        let own = self.contract.column(postrider_contract::ColumnRole::MaxAttempts).map_or("", |_| "_own");
        format!("{}{own}", limits.join("_"))
    }

    /// Returns the condition that finds the rows of these states by the index of states; empty if it does not hold them
    /// all. It follows from the states, but is needed to match the index.
    pub fn rare_conditions(&self, states: &[StateId]) -> Vec<String> {
        let rare = !states.is_empty() && states.iter().all(|state| self.is_rare(*state));
        let Some(label) = self.label().filter(|_| rare) else { return Vec::new() };
        let name = |state: &StateId| self.text(&self.contract.state(*state).name);
        vec![is_labelled(&label, &states.iter().map(name).collect::<Vec<_>>())]
    }

    /// Returns the condition that finds this stage's rows in flight by the index of states; `None` if another index has
    /// them.
    pub fn held_condition(&self) -> Option<String> {
        let (state, label) = (self.held_state()?, self.label()?);
        let labelled = is_labelled(&label, &[self.text(&self.contract.state(state).name)]);
        // Follows from the label, but is needed to reach the keys behind it.
        Some(format!("{labelled} AND {} IS NULL", self.key_by_state()))
    }

    /// Returns the condition that finds the ready rows without attempts left by the same index.
    pub fn spent_conditions(&self) -> Vec<String> {
        let label = self.label().filter(|_| !self.spent_rules().is_empty());
        label.map(|label| is_labelled(&label, &[self.text(SPENT)])).into_iter().collect()
    }

    /// Returns the conditions that find the rows of a state by an index, without the condition on the state.
    pub fn finding_conditions(&self, state: StateId) -> Vec<String> {
        match self.finding(state) {
            Finding::Ready => {
                let stage = self.contract.stages.iter().find(|stage| stage.ready.contains(&state));
                let several = stage.filter(|stage| stage.ready.len() > 1 && self.dialect != Dialect::Mysql);
                several.map(|stage| self.in_states(&stage.ready, Lookup::Index)).into_iter().collect()
            }
            Finding::ByIndex if self.contract.is_claimed(state) => {
                let stages = self.contract.stages.iter().filter_map(|stage| self.of_stage(stage));
                let mut held = stages.filter(|table| table.held_state() == Some(state));
                held.find_map(|table| table.held_condition()).into_iter().collect()
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
            Some(_) if self.freshness_key().is_some() => {
                let keys = self.freshness_key().into_iter().map(|key| key.expression);
                vec![(ready, keys.chain([self.order_list()]).collect::<Vec<_>>().join(", "))]
            }
            Some(group) => vec![
                (with(self.is_free(group)), self.order_list()),
                (with(self.is_ordered(group)), self.freshness().0),
            ],
        }
    }
}

fn is_labelled(label: &str, names: &[String]) -> String {
    match names {
        [name] => format!("{label} = {name}"),
        names => format!("{label} IN ({})", names.join(", ")),
    }
}
