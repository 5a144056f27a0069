//! Finds invalid NULLs: counters that are NULL, moves and effects that write NULL into NOT NULL columns.

use std::collections::BTreeMap;

use postrider_contract::{Absent, ColumnRole, Expr, Move, Set, Transition};
use postrider_seams::inspect::{Finding, Level};
use postrider_seams::store::Error;

use super::{count, finding, nullable};
use crate::ShapeColumn;
use crate::driver::Driver;
use crate::open_table::OpenTable;
use crate::render::condition::Lookup;
use crate::render::table::Table;

/// Whether a value can be NULL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Null {
    Never,
    Sometimes,
    Always,
}

impl OpenTable {
    /// NULL satisfies no comparison: a row with a NULL counter is neither claimed nor swept.
    pub(crate) async fn attempts_finding(
        &self,
        on: &impl Driver,
        table: &Table<'_>,
    ) -> Result<Option<Finding>, Error> {
        let Some(column) = self.contract.column(ColumnRole::Attempts) else { return Ok(None) };
        if self.stage.attempts.nullable != Some(false) || !table.shape_of(column).nullable {
            return Ok(None);
        }
        let (from, ready) = (table.name(), table.in_states(&self.stage.ready, Lookup::Index));
        let id = table.id();
        let sql = format!(
            "SELECT COUNT(*) FROM (SELECT {id} FROM {from} AS t WHERE {ready} AND {} IS NULL LIMIT 1000) AS n",
            table.col(column)
        );
        let rows = count(on, "count rows without a number of attempts", sql).await?;
        let remedy = "remove nullable = false from [attempts]";
        Ok(Some(match rows {
            0 if table.shape_of(column).has_default => return Ok(None),
            0 => {
                let text = format!(
                    "{column} may be NULL, and a row without a number of attempts is never claimed; {remedy}"
                );
                finding(Level::Warning, text, None)
            }
            rows => {
                let text = format!("{rows} rows are never claimed: {column} is NULL; {remedy}");
                finding(Level::Error, text, None)
            }
        }))
    }

    /// Finds moves that write NULL into NOT NULL columns of the table, one finding per column.
    pub(crate) fn null_findings(&self, table: &Table<'_>) -> Vec<Finding> {
        let mut found: BTreeMap<String, (Null, Vec<&str>)> = BTreeMap::new();
        for step in self.moves() {
            for one in self.contract.assignments(&step) {
                let strict = self.shape.column(&one.column).is_some_and(|column| !column.nullable);
                let null = self.set_null(&one.set);
                if !strict || null == Null::Never || one.column == self.contract.table.id {
                    continue;
                }
                let (worst, moves) = found.entry(one.column).or_insert((null, Vec::new()));
                *worst = null.max(*worst);
                if !moves.contains(&step.transition.name()) {
                    moves.push(step.transition.name());
                }
            }
        }
        let one = |(column, (null, moves)): (String, (Null, Vec<&str>))| {
            let sql_type = &table.shape_of(&column).sql_type;
            let fix = nullable(table.dialect, &table.name(), &column, sql_type);
            finding(level(null), not_null(&column, &format!("{} writes", moves.join(", ")), null), fix)
        };
        found.into_iter().map(one).collect()
    }

    /// Every move that a lane of this stage makes.
    pub(super) fn moves(&self) -> Vec<Move<'_>> {
        let (contract, stage) = (&self.contract, &self.stage);
        let settles = std::iter::once(Transition::Claimed).chain(Transition::SETTLES);
        let mut moves: Vec<Move<'_>> = settles.map(|on| contract.lease_move(stage, on)).collect();
        moves.extend([stage.retryable, stage.dead].map(|to| contract.reclaim_move(stage, to)));
        moves.push(contract.exhausted_move(stage));
        moves.extend(contract.sweeps.iter().map(|sweep| contract.sweep_move(stage, sweep)));
        for (by_hand, transition) in [
            (&contract.requeue, Transition::Requeued),
            (&contract.cancel, Transition::Cancelled),
            (&contract.complete, Transition::Completed),
        ] {
            let pairs = by_hand.iter().flat_map(|by_hand| &by_hand.moves);
            moves.extend(pairs.map(|pair| contract.operator_move(stage, transition, pair)));
        }
        moves
    }

    fn set_null(&self, set: &Set) -> Null {
        match set {
            Set::Null => Null::Always,
            Set::Receipt => Null::Sometimes,
            Set::Expr(value) => self.expr_null(value),
            _ => Null::Never,
        }
    }

    fn expr_null(&self, value: &Expr) -> Null {
        match value {
            Expr::Null => Null::Always,
            Expr::Reason { absent: Absent::Null }
            | Expr::Envelope { absent: Absent::Null, .. }
            | Expr::Outcome { absent: Absent::Null, .. } => Null::Sometimes,
            Expr::Row { column, .. } if self.shape.column(column).is_none_or(|column| column.nullable) => {
                Null::Sometimes
            }
            _ => Null::Never,
        }
    }

    /// Finds effects whose rows the other table rejects.
    pub(crate) fn effect_findings(&self) -> Vec<Finding> {
        let mut found = Vec::new();
        for effect in &self.contract.effects {
            let Some(columns) = self.shape.related.get(&effect.table) else { continue };
            for column in columns.iter().filter(|column| !column.nullable) {
                let given =
                    effect.values.iter().find(|(name, _)| *name == column.name).map(|(_, value)| value);
                let on: Vec<&str> = effect.on.iter().map(|on| on.name()).collect();
                found.extend(self.effect_finding(&effect.table, column, given, &on.join(", ")));
            }
        }
        found
    }

    fn effect_finding(
        &self,
        table: &str,
        column: &ShapeColumn,
        given: Option<&Expr>,
        on: &str,
    ) -> Option<Finding> {
        let name = format!("{table}.{}", column.name);
        let (null, how) = match given {
            Some(value) => (self.expr_null(value), format!("the effect of {on} writes")),
            None if column.has_default => return None,
            None => (Null::Always, format!("the effect of {on} gives it no value, which writes")),
        };
        (null != Null::Never).then(|| finding(level(null), not_null(&name, &how, null), None))
    }
}

fn level(null: Null) -> Level {
    if null == Null::Always { Level::Error } else { Level::Warning }
}

fn not_null(column: &str, how: &str, null: Null) -> String {
    let sometimes = if null == Null::Always { "" } else { " if there is no value" };
    format!(
        "{column} is NOT NULL, and {how} NULL{sometimes}: the database refuses such a move; make {column} nullable"
    )
}
