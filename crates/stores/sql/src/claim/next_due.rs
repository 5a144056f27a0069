//! Renders the query for the next due row, which decides when a lane polls again.

use std::time::Duration;

use postrider_contract::{ColumnRole, GroupRule, StateId};
use postrider_seams::row::Value;

use crate::pools::walk::ShareKind;
use crate::render::condition::Lookup;
use crate::render::table::Table;
use crate::render::time::Shift;
use crate::typed::typed_script;
use crate::{Dialect, Script};

typed_script! {
    /// Yields the time until the next ready row is due, zero if one is; `None` if no row is known to wait.
    pub NextDue(()) -> Option<Duration>, Read, |_, mut row| match row.value() {
        Value::Int(micros) => Some(Some(Duration::from_micros(u64::try_from(micros).unwrap_or(0)))),
        _ => Some(None),
    }
}

/// Number of rows that are read to find the next computed due time.
const MAX_ROWS_READ: u32 = 1_000;

impl Table<'_> {
    /// Returns the script that reads the microseconds until the next ready row is due.
    pub fn next_due(&self) -> NextDue {
        NextDue { script: self.next_due_script() }
    }

    fn next_due_script(&self) -> Script {
        let ready = self.stage.ready.as_slice();
        // MySQL would read and sort all rows of two states.
        let apart: Vec<&[StateId]> =
            if self.dialect == Dialect::Mysql { ready.chunks(1).collect() } else { vec![ready] };
        let mut searches: Vec<String> = apart.iter().map(|states| self.next_due_of_rows(states)).collect();
        if let Some(group) = self.group() {
            searches.extend(apart.iter().filter_map(|states| self.next_due_of_groups(group, states)));
        }
        if let [only] = searches.as_slice() {
            return self.one(only);
        }
        let named =
            ('a'..).zip(&searches).map(|(name, search)| format!("SELECT {name}.w FROM ({search}) AS {name}"));
        let all = named.collect::<Vec<_>>().join("\nUNION ALL\n");
        self.one(&format!("SELECT min(u.w) FROM (\n{all}) AS u"))
    }

    fn next_due_of_rows(&self, states: &[StateId]) -> String {
        let mut conditions = vec![self.in_states(states, Lookup::Index)];
        conditions.extend(self.has_attempts_left());
        conditions.extend(self.not_barred(states));
        conditions.extend(self.filter());
        conditions.extend(self.free_conditions());
        let Some(due) = self.contract.column(ColumnRole::Due) else {
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
        if self.shares_have_order() {
            let firsts = self.first_of_shares(ShareKind::Free, &self.as_integer(&waits), &conditions, &order);
            return format!("SELECT min(d.w) AS w FROM ({firsts}) AS d");
        }
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
            "SELECT COALESCE({wait}, 0) AS w FROM {} AS t WHERE {} ORDER BY {} LIMIT {MAX_ROWS_READ}",
            self.name(),
            conditions.join(" AND "),
            self.id()
        );
        let first = self.as_integer("min(looked.w)");
        format!("SELECT CASE WHEN min(looked.w) < 0 THEN 0 ELSE {first} END AS w\nFROM ({rows}) AS looked")
    }

    /// Ordered rows that are due but not claimed wait behind others. The next of them to become due is the next
    /// possible change. `None` if no index has it: then polling finds it.
    fn next_due_of_groups(&self, group: &GroupRule, states: &[StateId]) -> Option<String> {
        let due = self.contract.column(ColumnRole::Due)?;
        let (mut key, arrived) = self.freshness();
        arrived?;
        let by_due = self.contract.claim.order.first().is_some_and(|order| order.is_by(ColumnRole::Due));
        let mut conditions = vec![self.in_states(states, Lookup::Index)];
        conditions.extend(self.filter());
        let key = match self.dialect {
            Dialect::Mysql if !by_due => return None,
            Dialect::Mysql => {
                conditions.extend(self.kind_column().map(|_| self.ordered_condition(group)));
                self.instant(due)
            }
            Dialect::Postgres | Dialect::Sqlite => {
                conditions.push(self.ordered_condition(group));
                if let Some(of_all) = self.freshness_key() {
                    key = of_all.expression;
                }
                key
            }
        };
        conditions.push(format!("{key} > {}", self.comparable(due, &Shift::NOW)));
        let waits = self.as_integer(&format!("0 - ({})", self.micros_since(due)));
        if self.shares_have_freshness() {
            let firsts = self.first_of_shares(ShareKind::Ordered, &waits, &conditions, &key);
            return Some(format!("SELECT min(d.w) AS w FROM ({firsts}) AS d"));
        }
        // MySQL would use a skip scan of another index and sort; MariaDB ignores the hint as a comment.
        let hint = if self.dialect == Dialect::Mysql { "/*+ NO_SKIP_SCAN(t) */ " } else { "" };
        Some(format!(
            "SELECT {hint}{waits} AS w\nFROM {} AS t\nWHERE {}\nORDER BY {key}\nLIMIT 1",
            self.name(),
            conditions.join("\n  AND ")
        ))
    }
}
