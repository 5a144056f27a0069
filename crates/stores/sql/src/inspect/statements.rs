//! Renders the statements of operators, the purge, and the lag of a lane. Every result is limited in size.

use postrider_contract::{Claimed, Group, OperatorMove, Retention, Role, StateId, Transition};
use postrider_seams::inspect::{COUNT_LIMIT, Verb};

use crate::claim::statements::returning;
use crate::render::condition::Lookup;
use crate::render::step_builder::StepBuilder;
use crate::render::table::Table;
use crate::render::time::Shift;
use crate::{Dialect, InspectScripts, Param, Script, Step, Yields};

/// Number of rows that are read to find the next computed due time.
const LOOKED_AT: u32 = 1_000;

impl Table<'_> {
    /// Returns the scripts of operators' verbs, counts and lag.
    pub fn inspect(&self) -> InspectScripts {
        let contract = self.contract;
        let release = Verb::Release.moves(contract, self.stage);
        let release = (!release.is_empty()).then_some(OperatorMove { moves: release });
        let requeue = contract.requeue.as_ref();
        let cancel = contract.cancel.as_ref();
        InspectScripts {
            census: self.census(),
            requeue_ids: self.operator_by_ids(requeue, Transition::Requeued),
            requeue_state: self.operator_by_state(requeue, Transition::Requeued),
            cancel_ids: self.operator_by_ids(cancel, Transition::Cancelled),
            cancel_state: self.operator_by_state(cancel, Transition::Cancelled),
            release_ids: self.operator_by_ids(release.as_ref(), Transition::Released),
            release_state: self.operator_by_state(release.as_ref(), Transition::Released),
            complete_ids: self.operator_by_ids(contract.complete.as_ref(), Transition::Completed),
            lag: self.lag(),
        }
    }

    fn one(&self, text: &str) -> Script {
        Script { steps: vec![StepBuilder::plain(self).finish(text, Yields::Other)] }
    }

    fn states(&self) -> impl Iterator<Item = StateId> {
        (0..self.contract.states.len()).map(StateId)
    }

    /// The condition that the row is in the state, and that a lane handles it.
    fn ours(&self, state: StateId) -> String {
        let mut parts = vec![self.in_state(state, Lookup::Index)];
        parts.extend(self.filter());
        parts.join(" AND ")
    }

    fn census(&self) -> Vec<(String, Script)> {
        let count = |state: StateId| {
            // Rows without a key count as well: they are there, although no lane can handle them.
            let mut parts = vec![self.in_state(state, Lookup::Index)];
            parts.extend(self.contract_filter());
            let text = format!(
                "SELECT {}\nFROM (SELECT 1 AS one FROM {} AS t WHERE {} LIMIT {}) AS counted",
                self.as_integer("COUNT(*)"),
                self.name(),
                parts.join(" AND "),
                COUNT_LIMIT + 1
            );
            (self.contract.state(state).name.clone(), self.one(&text))
        };
        self.states().map(count).collect()
    }

    /// Returns the scripts that delete finished rows past their retention, measured by the row's own time.
    ///
    /// No live state has a retention.
    pub fn purge(&self) -> Vec<Script> {
        self.contract.retention.iter().map(|rule| self.purge_one(rule)).collect()
    }

    fn purge_one(&self, rule: &Retention) -> Script {
        let builder = StepBuilder::plain(self);
        let limit = builder.bind(Param::Limit);
        let condition = format!("{}\n  AND {}", self.ours(rule.state), self.is_past(rule));
        let (id, name) = (self.id(), self.name());
        match self.dialect {
            Dialect::Postgres => {
                let text = format!(
                    "WITH pick AS MATERIALIZED (\nSELECT {id} AS k\nFROM {name} AS t\nWHERE {condition}\nLIMIT \
                     {limit}\nFOR UPDATE SKIP LOCKED)\nDELETE FROM {name} AS t\nWHERE {id} = ANY (ARRAY(SELECT k FROM \
                     pick))\nRETURNING {}",
                    self.key()
                );
                Script {
                    steps: std::iter::once(builder.finish(&text, Yields::Keys))
                        .chain(self.forget_purged())
                        .collect(),
                }
            }
            Dialect::Mysql => {
                let text = format!(
                    "SELECT {}\nFROM {name} AS t\nWHERE {condition}\nLIMIT {limit}\nFOR UPDATE SKIP LOCKED",
                    self.key()
                );
                let first = builder.finish(&text, Yields::Keys);
                let builder = StepBuilder::plain(self);
                // MariaDB accepts no alias in a plain DELETE.
                let among = builder.among(&self.quote(&self.contract.table.id), Param::Held);
                let second = builder.finish(&format!("DELETE FROM {name}\nWHERE {among}"), Yields::Nothing);
                // Before the rows are deleted: their keys are compared as text.
                Script { steps: std::iter::once(first).chain(self.forget_purged()).chain([second]).collect() }
            }
            Dialect::Sqlite => {
                let text = format!(
                    "DELETE FROM {name} AS t\nWHERE {id} IN (\nSELECT {id}\nFROM {name} AS t\nWHERE {condition}\nLIMIT \
                     {limit})\nRETURNING {}",
                    returning(&self.key())
                );
                let mut steps = vec![builder.finish(&text, Yields::Keys)];
                steps
                    .extend(self.shape.cascades.iter().map(|(table, column)| self.purge_with(table, column)));
                steps.extend(self.forget_purged());
                Script { steps }
            }
        }
    }

    /// Deletes the related rows of the rows that were deleted.
    fn purge_with(&self, table: &str, column: &str) -> Step {
        let builder = StepBuilder::plain(self);
        let among = builder.among(&self.quote(column), Param::Held);
        let text = format!("DELETE FROM {}\nWHERE {among}", self.dialect.quoted_path(table));
        builder.finish(&text, Yields::Nothing)
    }

    /// Returns the row's age column as one expression that an index can hold; `None` on MySQL and for mixed types.
    pub fn purge_age(&self, rule: &Retention) -> Option<String> {
        let mut forms = rule.since.iter().map(|column| self.time(column));
        let first = forms.next()?;
        let instants: Vec<String> = rule.since.iter().map(|column| self.instant(column)).collect();
        match instants.as_slice() {
            [one] => Some(one.clone()),
            _ if self.dialect == Dialect::Mysql || forms.any(|form| form != first) => None,
            many => Some(format!("COALESCE({})", many.join(", "))),
        }
    }

    fn is_past(&self, rule: &Retention) -> String {
        if let Some(age) = self.purge_age(rule) {
            return format!("{age} < {}", self.bound(&rule.since[0], &Shift::back(rule.after)));
        }
        let past: Vec<String> = (0..rule.since.len())
            .map(|index| {
                let column = &rule.since[index];
                let earlier = rule.since[..index].iter();
                let unknown: Vec<String> =
                    earlier.map(|earlier| format!("{} IS NULL AND ", self.col(earlier))).collect();
                let bound = self.bound(column, &Shift::back(rule.after));
                format!("({}{} < {bound})", unknown.concat(), self.instant(column))
            })
            .collect();
        format!("({})", past.join(" OR "))
    }

    /// Returns the script that reads the microseconds until the next ready row is due.
    pub fn next_due(&self) -> Script {
        let ready = self.stage.ready.as_slice();
        // MySQL would read and sort all rows of two states.
        let apart: Vec<&[StateId]> =
            if self.dialect == Dialect::Mysql { ready.chunks(1).collect() } else { vec![ready] };
        let mut looks: Vec<String> = apart.iter().map(|states| self.next_due_of_rows(states)).collect();
        if let Some(group) = self.group() {
            looks.extend(apart.iter().filter_map(|states| self.next_due_of_groups(group, states)));
        }
        if let [only] = looks.as_slice() {
            return self.one(only);
        }
        let named =
            ('a'..).zip(&looks).map(|(name, look)| format!("SELECT {name}.w FROM ({look}) AS {name}"));
        let all = named.collect::<Vec<_>>().join("\nUNION ALL\n");
        self.one(&format!("SELECT min(u.w) FROM (\n{all}) AS u"))
    }

    fn next_due_of_rows(&self, states: &[StateId]) -> String {
        let mut conditions = vec![self.in_states(states, Lookup::Index)];
        conditions.extend(self.has_attempts_left());
        conditions.extend(self.not_barred(states));
        conditions.extend(self.filter());
        conditions.extend(self.group().map(|group| self.is_free(group)));
        let Some(due) = self.contract.column(Role::Due) else {
            return self.next_computed(&conditions);
        };
        let waits = match self.contract.due.null {
            postrider_contract::DueNull::Now => format!("COALESCE(0 - ({}), 0)", self.micros_since(due)),
            postrider_contract::DueNull::Never => {
                conditions.push(format!("{} IS NOT NULL", self.col(due)));
                format!("0 - ({})", self.micros_since(due))
            }
        };
        let order = self.due_key().unwrap_or_else(|| self.id());
        format!(
            "SELECT {} AS w\nFROM {} AS t\nWHERE {}\nORDER BY {order}\nLIMIT 1",
            self.as_integer(&waits),
            self.name(),
            conditions.join("\n  AND ")
        )
    }

    /// No index holds a computed due time: only the first rows in the order of claims are read, and polling finds the
    /// others.
    fn next_computed(&self, conditions: &[String]) -> String {
        let wait = self.computed_wait().unwrap_or_else(|| "0".to_owned());
        let rows = format!(
            "SELECT COALESCE({wait}, 0) AS w FROM {} AS t WHERE {} ORDER BY {} LIMIT {LOOKED_AT}",
            self.name(),
            conditions.join(" AND "),
            self.id()
        );
        let first = self.as_integer("min(looked.w)");
        format!("SELECT CASE WHEN min(looked.w) < 0 THEN 0 ELSE {first} END AS w\nFROM ({rows}) AS looked")
    }

    /// Ordered rows that are due but not claimed wait behind others. The next of them to become due is the next
    /// possible change. `None` if no index has it: then polling finds it.
    fn next_due_of_groups(&self, group: &Group, states: &[StateId]) -> Option<String> {
        let due = self.contract.column(Role::Due)?;
        let (key, arrived) = self.freshness();
        arrived?;
        let by_due = self.contract.claim.order.first().is_some_and(|order| order.role == Role::Due);
        let mut conditions = vec![self.in_states(states, Lookup::Index)];
        conditions.extend(self.filter());
        let key = match self.dialect {
            Dialect::Mysql if !by_due => return None,
            Dialect::Mysql => self.instant(due),
            Dialect::Postgres | Dialect::Sqlite => {
                conditions.push(self.is_ordered(group));
                key
            }
        };
        conditions.push(format!("{key} > {}", self.bound(due, &Shift::NOW)));
        // MySQL would use a skip scan of another index and sort; MariaDB ignores the hint as a comment.
        let hint = if self.dialect == Dialect::Mysql { "/*+ NO_SKIP_SCAN(t) */ " } else { "" };
        Some(format!(
            "SELECT {hint}{} AS w\nFROM {} AS t\nWHERE {}\nORDER BY {key}\nLIMIT 1",
            self.as_integer(&format!("0 - ({})", self.micros_since(due))),
            self.name(),
            conditions.join("\n  AND ")
        ))
    }

    /// Seconds since the oldest due row became due, and since the oldest claim.
    fn lag(&self) -> Script {
        let seconds = |micros: String| match self.dialect {
            Dialect::Postgres => format!("({micros})::float8 / 1000000"),
            Dialect::Mysql => format!("CAST({micros} AS DOUBLE) / 1000000"),
            Dialect::Sqlite => format!("({micros}) / 1000000.0"),
        };
        let oldest = |conditions: Vec<String>, micros: String, order: String| {
            format!(
                "(SELECT {} FROM {} AS t WHERE {} ORDER BY {order} LIMIT 1)",
                seconds(micros),
                self.name(),
                conditions.join(" AND ")
            )
        };
        // The row that is claimed next; the claim's own index finds it.
        let next = |more: Option<String>, order: String| {
            let mut conditions = self.claimable(&self.stage.ready);
            conditions.extend(more);
            oldest(conditions, self.waited_since(|_| true), order)
        };
        let first = self.claim_order().first().map(|(key, direction)| format!("{key}{direction}"));
        let due = match (first, self.group().filter(|_| self.dialect != Dialect::Mysql)) {
            (None, _) => null(),
            (Some(order), None) => next(None, order),
            // Two kinds of rows, each with its own index.
            (Some(order), Some(group)) => format!(
                "(SELECT max(l.w) FROM (SELECT {} AS w UNION ALL SELECT {}) AS l)",
                next(Some(self.is_free(group)), order),
                next(Some(self.is_ordered(group)), self.freshness().0)
            ),
        };
        let claimed = match (self.stage.claimed, self.contract.column(Role::ClaimedAt)) {
            (Claimed::State(state), Some(column)) => {
                oldest(vec![self.ours(state)], self.micros_since(column), self.instant(column))
            }
            _ => null(),
        };
        let (due, claimed) = match self.dialect {
            Dialect::Postgres => (format!("({due})::float8"), format!("({claimed})::float8")),
            Dialect::Mysql | Dialect::Sqlite => (due, claimed),
        };
        self.one(&format!("SELECT {due},\n  {claimed}"))
    }
}

fn null() -> String {
    "NULL".to_owned()
}
