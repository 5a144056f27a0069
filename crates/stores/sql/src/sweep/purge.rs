//! Renders the purge: deletes finished rows past their retention.

use postrider_contract::Retention;
use postrider_seams::row::RowId;

use crate::bind::Limit;
use crate::claim::statements::returning;
use crate::render::step_builder::StepBuilder;
use crate::render::table::Table;
use crate::render::time::Shift;
use crate::typed::typed_script;
use crate::{Dialect, Param, Script, Step, Yields};

typed_script! {
    /// Deletes finished rows of one state past their retention, and yields their keys.
    pub PurgeRows(Limit) -> RowId, Write, |_, mut row| row.key()
}

impl Table<'_> {
    /// Returns the scripts that delete finished rows past their retention, measured by the row's own time.
    ///
    /// No live state has a retention.
    pub fn purge(&self) -> Vec<PurgeRows> {
        let one = |rule| PurgeRows { script: self.purge_one(rule) };
        self.contract.retention.iter().map(one).collect()
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
    pub fn purge_with(&self, table: &str, column: &str) -> Step {
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
            return format!("{age} < {}", self.comparable(&rule.since[0], &Shift::back(rule.after)));
        }
        let past: Vec<String> = (0..rule.since.len())
            .map(|index| {
                let column = &rule.since[index];
                let earlier = rule.since[..index].iter();
                let unknown: Vec<String> =
                    earlier.map(|earlier| format!("{} IS NULL AND ", self.col(earlier))).collect();
                let bound = self.comparable(column, &Shift::back(rule.after));
                format!("({}{} < {bound})", unknown.concat(), self.instant(column))
            })
            .collect();
        format!("({})", past.join(" OR "))
    }
}
