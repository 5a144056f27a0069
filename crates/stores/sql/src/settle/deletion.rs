//! Renders moves that delete their rows, as `delivered = "delete"` wants it: in the transaction of the move, under the same
//! guard, after the effects have read the rows.

use postrider_contract::Transition;

use crate::render::step_builder::{Source, StepBuilder};
use crate::render::table::Table;
use crate::render::value::Writes;
use crate::{Dialect, Param, Script, Step, Yields};

impl Table<'_> {
    /// Returns the script that deletes the rows that pass the fence.
    pub fn guarded_delete(&self, writes: &Writes<'_>, transitions: &[Transition], source: &Source) -> Script {
        let first = match self.dialect {
            Dialect::Postgres => {
                let builder = StepBuilder::new(self, source.clone());
                let guard = self.guard(&builder, writes);
                let effects = builder.effect_parts(transitions, writes);
                let from = match source {
                    Source::Each => format!("\nUSING {}", builder.rows()),
                    Source::Uniform | Source::Contract { .. } => String::new(),
                };
                let delete = format!("DELETE FROM {} AS t{from}\nWHERE {guard}", self.name());
                return self.postgres_deleted(builder, &delete, &effects);
            }
            Dialect::Mysql => self.mysql_lock(writes, source),
            Dialect::Sqlite => {
                let builder = StepBuilder::new(self, source.clone());
                let guard = self.guard(&builder, writes);
                // The caller's keys drive the search, not the table.
                let from = match source {
                    Source::Each => format!("{} CROSS JOIN {} AS t", builder.rows(), self.name()),
                    Source::Uniform | Source::Contract { .. } => format!("{} AS t", self.name()),
                };
                let text = format!("SELECT {}\nFROM {from}\nWHERE {guard}", self.key());
                builder.finish(&text, Yields::Keys)
            }
        };
        self.deleted_after(vec![first], transitions, writes, source)
    }

    /// Deletes rows in one statement, with the effects that read what it returns.
    pub fn postgres_deleted(&self, builder: StepBuilder<'_>, delete: &str, effects: &str) -> Script {
        let key = self.key();
        let text = if effects.is_empty() {
            format!("{delete}\nRETURNING {key}")
        } else {
            let returned = builder.moved_columns(&[&key, effects]);
            format!(
                "WITH moved AS (\n{delete}\nRETURNING {returned}){effects}\nSELECT {key}\nFROM moved AS t"
            )
        };
        let steps = std::iter::once(builder.finish(&text, Yields::Keys)).chain(self.forget_purged());
        Script { steps: steps.collect() }
    }

    /// Deletes the rows that earlier steps yielded, after their effects.
    pub fn deleted_after(
        &self,
        mut steps: Vec<Step>,
        transitions: &[Transition],
        writes: &Writes<'_>,
        source: &Source,
    ) -> Script {
        steps.extend(self.effect_steps(transitions, writes, source));
        // Before the rows are deleted: on MySQL their keys are compared as text.
        steps.extend(self.forget_purged());
        let builder = StepBuilder::plain(self);
        // MariaDB accepts no alias in a plain DELETE.
        let among = builder.among(&self.quote(&self.contract.table.id), Param::Held);
        steps.push(builder.finish(&format!("DELETE FROM {}\nWHERE {among}", self.name()), Yields::Nothing));
        if self.dialect == Dialect::Sqlite {
            let related = self.shape.cascades.iter();
            steps.extend(related.map(|(table, column)| self.purge_with(table, column)));
        }
        Script { steps }
    }
}
