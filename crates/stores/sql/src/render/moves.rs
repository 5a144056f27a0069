//! Renders moves without a lease, as sweeps and operators make them. Each one selects rows, locks them, moves them and
//! inserts their effects in one transaction; rows that another worker has locked are skipped.

use postrider_contract::{ColumnRole, Move, StateId, Transition};

use postrider_seams::row::RowId;

use crate::bind::{Ids, Limit};
use crate::claim::statements::returning;
use crate::render::condition::Lookup;
use crate::render::step_builder::{Source, StepBuilder};
use crate::render::table::Table;
use crate::render::time::Shift;
use crate::render::value::Writes;
use crate::typed::typed_script;
use crate::{Dialect, Param, Script, Step, Yields};

typed_script! {
    /// Moves rows up to a limit, and yields their keys.
    pub MoveSome(Limit) -> RowId, Write, |_, mut row| row.key()
}

typed_script! {
    /// Moves those of the named rows that may move, and yields their keys.
    pub MoveNamed(Ids<'_>) -> RowId, Write, |_, mut row| row.key()
}

/// The rows that a move selects in its from-states.
pub(crate) enum Pick {
    /// Up to a limit, rows that satisfy the conditions, in the order of this expression.
    Some { conditions: Vec<String>, order: Option<String>, since: Vec<String>, lookup: Lookup },
    /// Up to a limit, rows that satisfy the conditions, among the first rows in the order of claims.
    Front { conditions: Vec<String> },
    /// The caller's keys that satisfy the conditions.
    Named { conditions: Vec<String> },
    /// The caller's keys that this worker has claimed.
    Claimed { owner: String },
}

/// Maximum number of rows that [`Pick::Front`] reads.
const FRONT: u32 = 10_000;

impl Pick {
    fn names_rows(&self) -> bool {
        matches!(self, Self::Named { .. } | Self::Claimed { .. })
    }

    /// Selects rows that satisfy the conditions, in any order.
    pub fn among(conditions: Vec<String>) -> Self {
        Self::Some { conditions, order: None, since: Vec::new(), lookup: Lookup::Index }
    }
}

impl Table<'_> {
    /// The first rows in the order of claims, with only the columns that the conditions on spent rows need.
    fn front(&self, states: &[StateId]) -> String {
        let mut columns = vec![self.id()];
        columns.extend(
            [ColumnRole::Attempts, ColumnRole::MaxAttempts].into_iter().filter_map(|role| self.role(role)),
        );
        let mut parts = vec![self.in_states(states, Lookup::Index)];
        parts.extend(self.filter());
        format!(
            "(SELECT {} FROM {} AS t WHERE {} ORDER BY {} LIMIT {FRONT}) AS t",
            columns.join(", "),
            self.name(),
            parts.join(" AND "),
            self.order_list()
        )
    }

    /// Returns the script that selects rows, moves them and inserts the effects of `transitions`.
    pub fn picked(
        &self,
        step: Move<'_>,
        transitions: &[Transition],
        reason: Option<&str>,
        pick: &Pick,
    ) -> Script {
        self.picked_with(&Writes::of(self.contract, step), transitions, reason, pick)
    }

    /// Returns the same script with the given writes, which may differ from those of the contract's move.
    pub fn picked_with(
        &self,
        writes: &Writes<'_>,
        transitions: &[Transition],
        reason: Option<&str>,
        pick: &Pick,
    ) -> Script {
        let source = Source::Contract { reason: reason.map(str::to_owned) };
        match self.dialect {
            Dialect::Postgres => self.postgres_picked(writes, transitions, &source, pick),
            Dialect::Mysql => self.mysql_picked(writes, transitions, &source, pick),
            Dialect::Sqlite => self.sqlite_picked(writes, transitions, &source, pick),
        }
    }

    /// `FROM … WHERE … [ORDER BY … LIMIT …]`.
    fn picking(&self, builder: &StepBuilder<'_>, writes: &Writes<'_>, pick: &Pick) -> String {
        let mut parts = Vec::new();
        let mut tail = String::new();
        match pick {
            Pick::Front { conditions } => {
                let (front, conditions) = (self.front(writes.step.from), conditions.join("\n  AND "));
                return format!("FROM {front}\nWHERE {conditions}\nLIMIT {}", builder.bind(Param::Limit));
            }
            Pick::Named { conditions } => {
                parts.push(builder.among(&self.id(), Param::Ids));
                parts.push(self.in_states(writes.step.from, Lookup::Check));
                parts.extend(conditions.iter().cloned());
            }
            Pick::Claimed { owner } => {
                parts.push(builder.among(&self.id(), Param::Ids));
                parts.push(self.in_states(writes.step.from, Lookup::Check));
                parts.push(format!("{owner} = {}", builder.worker()));
            }
            Pick::Some { conditions, order, since, lookup } => {
                parts.push(self.in_states(writes.step.from, *lookup));
                parts.extend(conditions.iter().cloned());
                if !since.is_empty() {
                    parts.push(self.changed_within(builder, since));
                }
                // MySQL would sort, and lock, the whole table; every matching row is moved sooner or later.
                if let Some(order) = order.as_ref().filter(|_| self.dialect != Dialect::Mysql) {
                    tail = format!("\nORDER BY {order}");
                }
                tail = format!("{tail}\nLIMIT {}", builder.bind(Param::Limit));
            }
        }
        parts.extend(self.filter());
        parts.extend(self.spent_by_counter(&writes.step));
        format!("FROM {} AS t\nWHERE {}{tail}", self.name(), parts.join("\n  AND "))
    }

    /// The condition of an operator's move from a state to itself: it moves only spent rows.
    fn spent_by_counter(&self, step: &Move<'_>) -> Option<String> {
        let same = step.from.iter().any(|from| step.to == Some(*from));
        self.is_spent().filter(|_| same && step.transition == Transition::Requeued)
    }

    /// The first of the columns that is not NULL is the time of the row's last change.
    fn changed_within(&self, builder: &StepBuilder<'_>, columns: &[String]) -> String {
        let since = builder.bind(Param::Since);
        let since = if self.dialect == Dialect::Postgres { format!("{since}::float8") } else { since };
        let back = Shift::Values { seconds: format!("(0 - {since})"), micros: 0 };
        let mut unknown = String::new();
        let mut parts = vec![format!("{since} IS NULL")];
        for column in columns {
            parts.push(format!("{unknown}{} >= {}", self.instant(column), self.comparable(column, &back)));
            unknown = format!("{unknown}{} IS NULL AND ", self.col(column));
        }
        format!("({})", parts.join(" OR "))
    }

    fn postgres_picked(
        &self,
        writes: &Writes<'_>,
        transitions: &[Transition],
        source: &Source,
        pick: &Pick,
    ) -> Script {
        let builder = StepBuilder::new(self, source.clone());
        let picking = self.picking(&builder, writes, pick);
        let lock = if pick.names_rows() { "FOR UPDATE" } else { "FOR UPDATE SKIP LOCKED" };
        if self.contract.deletes(&writes.step) {
            let effects = builder.effect_parts(transitions, writes);
            let (id, name) = (self.id(), self.name());
            // The rows are locked by a subquery, because a DELETE that returns them can be the only CTE that the effects read.
            let delete =
                format!("DELETE FROM {name} AS t\nWHERE {id} = ANY (ARRAY(SELECT {id}\n{picking}\n{lock}))");
            return self.postgres_deleted(builder, &delete, &effects);
        }
        let sets = builder.set_list(writes);
        let effects = builder.effect_parts(transitions, writes);
        let key = self.key();
        let returned = self.columns_read_by(&[&key, &effects]);
        let text = format!(
            "WITH pick AS MATERIALIZED (\nSELECT {} AS k\n{picking}\n{lock}),\nmoved AS (\nUPDATE {} AS t SET {sets}\n\
             WHERE {} = ANY (ARRAY(SELECT k FROM pick))\nRETURNING {returned}){effects}\nSELECT {}\nFROM moved AS t",
            self.id(),
            self.name(),
            self.id(),
            key
        );
        Script { steps: vec![builder.finish(&text, Yields::Keys)] }
    }

    fn mysql_picked(
        &self,
        writes: &Writes<'_>,
        transitions: &[Transition],
        source: &Source,
        pick: &Pick,
    ) -> Script {
        let mut steps = vec![self.mysql_search(writes, pick)];
        if let Pick::Some { conditions, .. } | Pick::Front { conditions } = pick {
            steps.push(self.mysql_lock_held(writes, conditions));
        }
        if self.contract.deletes(&writes.step) {
            return self.deleted_after(steps, transitions, writes, source);
        }
        let builder = StepBuilder::new(self, source.clone());
        let sets = builder.set_list(writes);
        let among = builder.among(&self.id(), Param::Held);
        let update = format!("UPDATE {} AS t SET {sets}\nWHERE {among}", self.name());
        steps.push(builder.finish(&update, Yields::Nothing));
        steps.extend(self.effect_steps(transitions, writes, source));
        Script { steps }
    }

    /// Selects without a lock: a scan that locks would hide ready rows from claims while it runs.
    fn mysql_search(&self, writes: &Writes<'_>, pick: &Pick) -> Step {
        let builder = StepBuilder::plain(self);
        let picking = self.picking(&builder, writes, pick);
        let lock = if pick.names_rows() { "\nFOR UPDATE" } else { "" };
        builder.finish(&format!("SELECT {}\n{picking}{lock}", self.key()), Yields::Keys)
    }

    /// Locks the rows that the search found and that still satisfy the conditions.
    fn mysql_lock_held(&self, writes: &Writes<'_>, conditions: &[String]) -> Step {
        let builder = StepBuilder::plain(self);
        let mut parts = vec![builder.among(&self.id(), Param::Held)];
        parts.push(self.in_states(writes.step.from, Lookup::Check));
        parts.extend(conditions.iter().cloned());
        parts.extend(self.spent_by_counter(&writes.step));
        let text = format!(
            "SELECT {}\nFROM {} AS t\nWHERE {}\nFOR UPDATE SKIP LOCKED",
            self.key(),
            self.name(),
            parts.join("\n  AND ")
        );
        builder.finish(&text, Yields::Keys)
    }

    fn sqlite_picked(
        &self,
        writes: &Writes<'_>,
        transitions: &[Transition],
        source: &Source,
        pick: &Pick,
    ) -> Script {
        let builder = StepBuilder::new(self, source.clone());
        let picking = self.picking(&builder, writes, pick);
        if self.contract.deletes(&writes.step) {
            let text = format!("SELECT {}\n{picking}", self.key());
            let first = builder.finish(&text, Yields::Keys);
            return self.deleted_after(vec![first], transitions, writes, source);
        }
        let sets = builder.set_list(writes);
        let text = format!(
            "UPDATE {} AS t SET {sets}\nWHERE {} IN (\nSELECT {}\n{picking})\nRETURNING {}",
            self.name(),
            self.id(),
            self.id(),
            returning(&self.key())
        );
        let mut steps = vec![builder.finish(&text, Yields::Keys)];
        steps.extend(self.effect_steps(transitions, writes, source));
        Script { steps }
    }
}
