//! Renders effects: rows inserted together with a move, in its transaction, for exactly the rows that moved.

use postrider_contract::{Effect, Expr, Transition};

use crate::render::step_builder::{Source, StepBuilder};
use crate::render::table::Table;
use crate::render::value::{TargetColumn, Writes};
use crate::{Dialect, Param, Step, Yields};

/// Lets PostgreSQL cache the plan of foreign-key checks until the transaction ends. The check of each inserted row is a
/// query of its own, and the session's `force_custom_plan` would plan it again for every row: more than half of the
/// time of a settle with attempts. The plan of the statement itself is made before this runs.
const CACHE_PLANS: &str = "\nWHERE (SELECT set_config('plan_cache_mode', 'auto', true)) IS NOT NULL";

impl Table<'_> {
    /// Returns the effects of a move that counts as any of `transitions`.
    pub fn effects(&self, transitions: &[Transition]) -> Vec<&Effect> {
        let wanted = |effect: &&Effect| effect.on.iter().any(|on| transitions.contains(on));
        self.contract.effects.iter().filter(wanted).collect()
    }

    /// Returns the effects as separate statements, over the keys that an earlier step held.
    pub fn effect_steps(
        &self,
        transitions: &[Transition],
        writes: &Writes<'_>,
        source: &Source,
    ) -> Vec<Step> {
        let step = |effect: &Effect| {
            let builder = StepBuilder::new(self, source.clone());
            let insert = builder.insert(effect, writes);
            let id = self.id();
            let from = if builder.has_fields() {
                let key = builder.typed(crate::Field::Id, &self.contract.table.id);
                format!("{} AS t JOIN {} ON {id} = {key}", self.name(), builder.rows())
            } else {
                format!("{} AS t", self.name())
            };
            let among = builder.among(&id, Param::Held);
            builder.finish(&format!("{insert}\nFROM {from}\nWHERE {among}"), Yields::Nothing)
        };
        self.effects(transitions).into_iter().map(step).collect()
    }
}

impl StepBuilder<'_> {
    /// Returns the effects as CTEs of PostgreSQL's move statement: `, effect0 AS (…), …`.
    pub fn effect_parts(&self, transitions: &[Transition], writes: &Writes<'_>) -> String {
        self.reads_moved.set(true);
        let effects = self.table.effects(transitions);
        let parts: Vec<String> = effects
            .into_iter()
            .enumerate()
            .map(|(index, effect)| {
                let plans = if index == 0 { CACHE_PLANS } else { "" };
                format!(",\neffect{index} AS (\n{}\nFROM moved AS t{plans})", self.insert(effect, writes))
            })
            .collect();
        self.reads_moved.set(false);
        parts.concat()
    }

    /// `INSERT INTO … SELECT …`, without its FROM.
    fn insert(&self, effect: &Effect, writes: &Writes<'_>) -> String {
        let table = self.table;
        let related = table.shape.related.get(&effect.table);
        let mut names = Vec::with_capacity(effect.values.len());
        let mut values = Vec::with_capacity(effect.values.len());
        for (name, value) in &effect.values {
            let column = related.and_then(|columns| columns.iter().find(|column| column.name == *name));
            names.push(table.quote(name));
            let target = TargetColumn { column, effect: true };
            let history = table
                .contract
                .history
                .as_ref()
                .filter(|history| history.table == effect.table && matches!(value, Expr::Reason { .. }));
            let untried = history.and_then(|history| self.untried_reason(history, target, writes));
            values.push(untried.unwrap_or_else(|| self.expr(value, target, writes)));
        }
        let into = table.dialect.quoted_path(&effect.table);
        format!("INSERT INTO {into} ({})\nSELECT {}", names.join(", "), values.join(", "))
    }

    /// Returns what `RETURNING` must contain for texts that read moved rows: the columns and the settlement values that
    /// they use. A payload is not among them: copying it would cost as much as the move.
    pub fn moved_columns(&self, texts: &[&str]) -> String {
        debug_assert_eq!(self.table.dialect, Dialect::Postgres);
        let carried = self.carried.borrow();
        let names = carried.iter().map(|field| {
            format!(
                ", v.{} AS {}",
                self.table.quote(&field.key()),
                self.table.quote(&crate::render::step_builder::carried_name(field))
            )
        });
        format!("{}{}", self.table.columns_read_by(texts), names.collect::<String>())
    }
}
