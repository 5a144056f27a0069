//! Renders count fields: counts of other rows of the same table, for the composer, as subqueries of the join statement.

use postrider_contract::{ColumnRole, CountField, StateId};

use crate::Dialect;
use crate::render::condition::Lookup;
use crate::render::table::Table;
use crate::render::time::Shift;

impl Table<'_> {
    /// Returns one subquery for each count field of the contract.
    pub fn count_fields(&self) -> Vec<String> {
        self.contract.counts.iter().map(|field| self.count_field(field)).collect()
    }

    fn count_field(&self, field: &CountField) -> String {
        // The first condition follows from the second, but is needed to match the partial index.
        let mut others: Vec<String> = self.counted_rule().into_iter().collect();
        others.push(self.in_state(field.state, Lookup::Index));
        others.extend(field.within.iter().map(|(age, since)| {
            format!("{} >= {}", self.instant(since), self.comparable(since, &Shift::back(*age)))
        }));
        if field.ahead {
            others.extend(self.was_deferred().map(|deferred| format!("NOT ({deferred})")));
        }
        let mut conditions: Vec<String> = others.iter().map(|condition| of_another(condition)).collect();
        let alike = |column: &String| format!("{} = {}", of_another(&self.col(column)), self.col(column));
        conditions.extend(field.same.iter().map(alike));
        let (other, own) = (of_another(&self.id()), self.id());
        conditions.push(format!("{other} <> {own}"));
        if let Some(claimed_at) = self.contract.column(ColumnRole::ClaimedAt).filter(|_| field.ahead) {
            let own_claim = self.instant(claimed_at);
            let other_claim = of_another(&own_claim);
            conditions.push(format!(
                "({other_claim} < {own_claim} OR ({other_claim} = {own_claim} AND {other} < {own}))"
            ));
        }
        self.as_integer(&format!(
            "(SELECT COUNT(*) FROM {} AS c WHERE {})",
            self.name(),
            conditions.join(" AND ")
        ))
    }

    /// Returns the condition that the row is in a state that is counted; `None` on MySQL, which has no partial index.
    pub fn counted_rule(&self) -> Option<String> {
        let mut states: Vec<StateId> = self.contract.counts.iter().map(|count| count.state).collect();
        states.sort_unstable();
        states.dedup();
        let counts = self.dialect != Dialect::Mysql && !states.is_empty();
        counts.then(|| self.in_states(&states, Lookup::Index))
    }

    /// Returns the database's clock in milliseconds since 1970.
    pub fn epoch_millis(&self) -> String {
        match self.dialect {
            Dialect::Postgres => "floor(extract(epoch FROM now()) * 1000)::bigint".to_owned(),
            Dialect::Mysql => self.as_integer("FLOOR(UNIX_TIMESTAMP(UTC_TIMESTAMP(3)) * 1000)"),
            Dialect::Sqlite => {
                "CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)".to_owned()
            }
        }
    }
}

/// Rewrites conditions on the row to the counted row. (No literal of a contract looks like a column.)
fn of_another(said: &str) -> String {
    said.replace("t.\"", "c.\"").replace("t.`", "c.`")
}
