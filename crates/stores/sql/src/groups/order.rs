//! Renders the conditions of ordered groups: which rows keep an order, which hold back later rows, which may go.
//!
//! - ORDERED: the row has a group, and its mode is not `parallel`. FREE is the opposite.
//! - LIVE: the row can hold back others: ready, claimed, or (mode `block`) stopped until an operator acts.
//! - READY: the row may go now: state, due time, age, attempts, filter.
//! - PASSED: live, but later rows need not wait: mode `next` after a failure, or stopped and expired.
//!
//! The head of a group is its first LIVE row that is not PASSED; the group is free if that row is READY and none of its
//! rows is in flight. Invariant: ORDERED and LIVE do not depend on a clock, because indexes use them.

use postrider_contract::{
    ClaimedState, ColumnRole, Contract, DueNull, GroupMode, GroupRule, OnError, Stage, When,
};

use crate::Dialect;
use crate::render::condition::Lookup;
use crate::render::ident;
use crate::render::table::Table;
use crate::render::time::Shift;

/// The condition for a mode that every row has.
const ALWAYS: &str = "1 = 1";

/// Returns the name of MySQL's column that holds the group while the row is LIVE and ORDERED.
pub(crate) fn live_column(contract: &Contract, stage: &Stage) -> String {
    let name = match contract.stages.len() {
        1 => "live_group".to_owned(),
        _ => format!("{}_live_group", stage.name.replace('-', "_")),
    };
    let mark = contract.group.as_ref().map(live_mark).unwrap_or_default();
    ident::bounded(&format!("{name}{mark}"))
}

/// Returns the name of MySQL's column that is 1 while the row is LIVE and ORDERED, and 0 for other ready rows: an index
/// that begins with it has both kinds of ready rows in the order of claims.
pub(crate) fn kind_column(contract: &Contract, stage: &Stage) -> String {
    ident::bounded(&live_column(contract, stage).replace("live_group", "keeps_order"))
}

/// Returns what LIVE depends on, as part of a name, so that a changed `on_error` gets its own column and indexes.
pub(crate) fn live_mark(group: &GroupRule) -> String {
    match &group.on_error {
        OnError::Always(GroupMode::Block) => "_block".to_owned(),
        OnError::Always(GroupMode::Parallel | GroupMode::Next | GroupMode::Wait) => String::new(),
        OnError::ByColumn { .. } => ordered_mark(group),
    }
}

/// Returns what ORDERED depends on, as part of a name.
pub(crate) fn ordered_mark(group: &GroupRule) -> String {
    match &group.on_error {
        OnError::Always(_) => String::new(),
        OnError::ByColumn { column, .. } => format!("_{column}"),
    }
}

fn all<const N: usize>(parts: [String; N]) -> String {
    let conditions: Vec<String> = parts.into_iter().filter(|part| part != ALWAYS).collect();
    conditions.join(" AND ")
}

impl Table<'_> {
    /// Returns the contract's group; `None` if no row of the table keeps an order.
    pub fn group(&self) -> Option<&GroupRule> {
        self.contract.group.as_ref().filter(|group| group.keeps_order())
    }

    /// Returns the column that identifies the group.
    ///
    /// MySQL has no partial index: there it is a generated column that is NULL unless the row is LIVE and ORDERED.
    pub fn group_column(&self, group: &GroupRule) -> String {
        match self.dialect {
            Dialect::Mysql => self.live_column(),
            Dialect::Postgres | Dialect::Sqlite => group.by.clone(),
        }
    }

    /// Returns the name of MySQL's generated group column.
    pub fn live_column(&self) -> String {
        live_column(self.contract, self.stage)
    }

    /// Returns the name of MySQL's generated column of free and ordered rows; `None` until `migrate` has added it.
    pub fn kind_column(&self) -> Option<String> {
        self.group().filter(|_| self.dialect == Dialect::Mysql)?;
        let name = kind_column(self.contract, self.stage);
        self.shape.column(&name).is_some().then_some(name)
    }

    /// Returns the condition that the row is LIVE and ORDERED, as its indexes have it.
    pub fn is_live(&self, group: &GroupRule) -> String {
        match self.dialect {
            Dialect::Mysql => {
                let live = format!("{} IS NOT NULL", self.col(&self.live_column()));
                std::iter::once(live).chain(self.has_key()).collect::<Vec<_>>().join(" AND ")
            }
            Dialect::Postgres | Dialect::Sqlite => self.live_rule(group),
        }
    }

    /// Returns the same condition in terms of the application's columns; MySQL's generated column is defined by it.
    pub fn live_rule(&self, group: &GroupRule) -> String {
        let waiting = self.in_states(&self.stage.blocking_states(GroupMode::Wait), Lookup::Index);
        let state = match self.is_mode(group, GroupMode::Block) {
            None => waiting,
            Some(block) => {
                let stopped = self.in_states(&self.stage.operator_states(), Lookup::Index);
                format!("({waiting} OR ({}))", all([format!("({stopped})"), block]))
            }
        };
        let mut parts = vec![state];
        parts.extend(self.filter());
        parts.push(self.is_ordered(group));
        parts.join(" AND ")
    }

    /// Returns the condition that the row is ORDERED.
    pub fn is_ordered(&self, group: &GroupRule) -> String {
        let by = self.col(&group.by);
        let mut parts = vec![format!("{by} IS NOT NULL")];
        parts.extend(self.is_no_text(group).map(|no_text| format!("NOT {no_text}")));
        parts.extend(group.none.as_ref().map(|none| format!("{by} <> {}", self.literal(none))));
        if let OnError::ByColumn { column, .. } = &group.on_error
            && let Some(free) = self.listed(group, |hold| hold == GroupMode::Parallel)
        {
            let col = self.col(column);
            parts.push(self.or_null(column, &format!("{col} NOT IN ({free})")));
        }
        parts.join(" AND ")
    }

    /// SQLite stores bytes in any column, and no text equals them: such a row belongs to no group, so that it is
    /// claimed and its composer can report what is wrong with it.
    fn is_no_text(&self, group: &GroupRule) -> Option<String> {
        (self.dialect == Dialect::Sqlite).then(|| format!("(typeof({}) = 'blob')", self.col(&group.by)))
    }

    /// Returns the condition that a ready row is FREE.
    pub fn is_free(&self, group: &GroupRule) -> String {
        if self.dialect == Dialect::Mysql {
            return format!("{} IS NULL", self.col(&self.live_column()));
        }
        let by = self.col(&group.by);
        let mut parts = vec![format!("{by} IS NULL")];
        parts.extend(self.is_no_text(group));
        parts.extend(group.none.as_ref().map(|none| format!("{by} = {}", self.literal(none))));
        if let OnError::ByColumn { column, .. } = &group.on_error
            && let Some(free) = self.listed(group, |hold| hold == GroupMode::Parallel)
        {
            parts.push(format!("{} IN ({free})", self.col(column)));
        }
        format!("({})", parts.join(" OR "))
    }

    /// The values of the mode column that have a mode selected by `is`, as a list of literals.
    fn listed(&self, group: &GroupRule, is: impl Fn(GroupMode) -> bool) -> Option<String> {
        let OnError::ByColumn { values, .. } = &group.on_error else { return None };
        let listed = values.iter().filter(|(_, hold)| is(**hold));
        let texts: Vec<String> = listed.map(|(value, _)| self.text(value)).collect();
        (!texts.is_empty()).then(|| texts.join(", "))
    }

    fn or_null(&self, column: &str, condition: &str) -> String {
        if self.shape_of(column).nullable {
            format!("({} IS NULL OR {condition})", self.col(column))
        } else {
            condition.to_owned()
        }
    }

    /// The condition that the row has this mode; `None` if no row has it. Not for `parallel`.
    fn is_mode(&self, group: &GroupRule, mode: GroupMode) -> Option<String> {
        match &group.on_error {
            OnError::Always(always) => (*always == mode).then(|| ALWAYS.to_owned()),
            // An unlisted value blocks.
            OnError::ByColumn { column, .. } if mode == GroupMode::Block => {
                let others = self.listed(group, |hold| hold != GroupMode::Block);
                Some(others.map_or_else(
                    || ALWAYS.to_owned(),
                    |others| self.or_null(column, &format!("{} NOT IN ({others})", self.col(column))),
                ))
            }
            OnError::ByColumn { column, .. } => {
                let own = self.listed(group, |hold| hold == mode)?;
                Some(format!("{} IN ({own})", self.col(column)))
            }
        }
    }

    /// Returns the name of the row's mode.
    pub fn mode_name(&self, group: &GroupRule) -> String {
        match &group.on_error {
            OnError::Always(hold) => self.text(hold.name()),
            OnError::ByColumn { .. } => {
                let case = |hold: GroupMode| {
                    let holds = self.is_mode(group, hold)?;
                    Some(format!(" WHEN {holds} THEN {}", self.text(hold.name())))
                };
                let cases: Vec<String> =
                    [GroupMode::Next, GroupMode::Wait].into_iter().filter_map(case).collect();
                match cases.concat() {
                    none if none.is_empty() => self.text(GroupMode::Block.name()),
                    cases => format!("CASE{cases} ELSE {} END", self.text(GroupMode::Block.name())),
                }
            }
        }
    }

    /// Returns the condition that the row is READY; never NULL.
    pub fn is_ready(&self) -> String {
        format!("(({}) IS TRUE)", self.claimable(&self.stage.ready).join(" AND "))
    }

    /// Returns the condition that the row is not PASSED; never NULL. `None` if no row is ever passed.
    pub fn not_passed(&self, group: &GroupRule) -> Option<String> {
        let mut passed = Vec::new();
        if let Some(next) = self.is_mode(group, GroupMode::Next) {
            let mut may_go: Vec<String> = self.is_due().into_iter().collect();
            may_go.extend(self.has_attempts_left());
            let ready = self.in_states(&self.stage.ready, Lookup::Index);
            let failed = self.attempts().map(|attempts| format!("{attempts} > 0")).unwrap_or_default();
            let not_now = format!("({}) IS NOT TRUE", may_go.join(" AND "));
            passed.push(format!("({})", all([next, ready, failed, not_now])));
        }
        if let Some(block) = self.is_mode(group, GroupMode::Block) {
            for (state, column) in self.expiries() {
                let stopped = self.in_state(state, Lookup::Index);
                let over = format!("{} <= {}", self.instant(column), self.comparable(column, &Shift::NOW));
                passed.push(format!("({})", all([block.clone(), stopped, over])));
            }
        }
        (!passed.is_empty()).then(|| format!("({}) IS NOT TRUE", passed.join(" OR ")))
    }

    /// Stopped states that rows also reach by expiry: no later row waits for an expired one.
    fn expiries(&self) -> Vec<(postrider_contract::StateId, &str)> {
        let stopped = self.stage.operator_states();
        let sweeps =
            self.contract.sweeps.iter().filter(|sweep| stopped.contains(&sweep.to) && !sweep.publish);
        sweeps
            .filter_map(|sweep| match &sweep.when {
                When::At { column } => Some((sweep.to, column.as_str())),
                When::Always | When::OlderThan { .. } | When::Before { .. } => None,
            })
            .collect()
    }

    /// Returns the condition that the row is in flight, as its index has it; `None` if the claimed state is the ready
    /// state.
    ///
    /// In that case a row in flight is not due. With the state's own condition, PostgreSQL would read the index of all
    /// open rows of a group instead.
    pub fn is_in_flight(&self) -> Option<String> {
        match self.stage.claimed {
            ClaimedState::State(_) if self.has_held_index() => self.held_condition(),
            ClaimedState::State(state) => Some(self.in_state(state, Lookup::Index)),
            ClaimedState::Same => None,
        }
    }

    /// Returns the order within a group; NULLs come first in every dialect.
    pub fn group_order(&self, group: &GroupRule) -> Vec<String> {
        let id = &self.contract.table.id;
        let columns = group.sequence.iter().filter(|column| *column != id).chain([id]);
        columns
            .map(|column| {
                let key = if self.time(column).is_some() { self.instant(column) } else { self.col(column) };
                let nulls =
                    self.dialect == Dialect::Postgres && column != id && self.shape_of(column).nullable;
                if nulls { format!("{key} NULLS FIRST") } else { key }
            })
            .collect()
    }

    /// Returns the time at which a ready row became due, as an index key, and the latest such time of the rows that have
    /// arrived.
    ///
    /// The newest rows are the likeliest to be in a free group. Rows that are too young to claim are excluded,
    /// otherwise a search would only see a busy producer's newest rows.
    pub fn freshness(&self) -> (String, Option<String>) {
        let due = self.contract.column(ColumnRole::Due);
        let created = self.contract.column(ColumnRole::Created);
        let old_enough = Shift::back(self.contract.claim.min_age);
        let (key, column, until) = match (due, created) {
            // Two representations of time have no common order that an index could keep.
            (Some(due), Some(created)) if self.contract.due.null == DueNull::Now => {
                let kind = |column| self.time(column).map(|time| std::mem::discriminant(&time));
                if kind(due) != kind(created) {
                    return (self.instant(created), None);
                }
                (format!("COALESCE({}, {})", self.instant(due), self.instant(created)), due, old_enough)
            }
            (Some(due), _) => (self.instant(due), due, Shift::NOW),
            (None, Some(created)) => (self.instant(created), created, old_enough),
            (None, None) => return (self.id(), None),
        };
        let arrived = self.comparable(column, &until);
        (key, Some(arrived))
    }

    /// Whether the index of shares has the ordered rows by the time at which they became due.
    pub fn shares_have_freshness(&self) -> bool {
        self.shares_have_order() && self.freshness_key().is_some()
    }

    /// Returns the conditions that a ready row is FREE, as its index has them; empty if no row keeps an order.
    pub fn free_conditions(&self) -> Vec<String> {
        let Some(group) = self.group() else { return Vec::new() };
        if let Some(kind) = self.kind_column() {
            return vec![format!("{} = 0", self.col(&kind))];
        }
        let of_index = self.freshness_key().map(|key| key.is_free());
        std::iter::once(self.is_free(group)).chain(of_index).collect()
    }

    /// Returns the condition that a ready row is ORDERED, as its index has it.
    ///
    /// With the condition on the row itself, PostgreSQL could read the index of all open rows of groups instead.
    pub fn ordered_condition(&self, group: &GroupRule) -> String {
        if let Some(kind) = self.kind_column() {
            return format!("{} = 1", self.col(&kind));
        }
        self.freshness_key().map_or_else(|| self.is_ordered(group), |key| key.is_ordered())
    }

    /// Returns the first key of the index of all ready rows, by which ordered rows are found while they are fresh, and
    /// its value for free rows; `None` if free and ordered rows have indexes of their own.
    pub fn freshness_key(&self) -> Option<FreshnessKey> {
        let group = self.group().filter(|_| self.dialect != Dialect::Mysql)?;
        let (fresh, arrived) = self.freshness();
        arrived?;
        let column =
            self.contract.column(ColumnRole::Due).or_else(|| self.contract.column(ColumnRole::Created))?;
        let (first, ordered) = (self.first_instant(column), self.is_ordered(group));
        Some(FreshnessKey { expression: format!("CASE WHEN {ordered} THEN {fresh} ELSE {first} END"), first })
    }
}

/// A key of an index of free and ordered rows.
#[derive(Debug, Clone)]
pub(crate) struct FreshnessKey {
    pub expression: String,
    /// The value for free rows, below that of every ordered row.
    first: &'static str,
}

impl FreshnessKey {
    /// Returns the condition that the index's entry is that of a free row.
    pub fn is_free(&self) -> String {
        format!("{} = {}", self.expression, self.first)
    }

    /// Returns the condition that the index's entry is that of an ordered row.
    pub fn is_ordered(&self) -> String {
        format!("{} > {}", self.expression, self.first)
    }
}
