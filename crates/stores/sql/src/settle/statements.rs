//! Renders settle and extend: the moves that the fence guards.

use std::collections::BTreeMap;

use postrider_contract::{ClaimedState, ColumnRole, Move, Transition};
use postrider_seams::row::{Lease, RowId};

use crate::bind::Ids;
use crate::claim::statements::returning;
use crate::render::condition::Lookup;
use crate::render::step_builder::{Source, StepBuilder};
use crate::render::table::Table;
use crate::render::value::Writes;
use crate::settle::params::{Leases, Settlements};
use crate::typed::typed_script;
use crate::{Dialect, Field, Param, Script, Step, Yields};

/// The statements of one settling transition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settle {
    /// If all rows share the fence and every other value ([`Param::One`]): `id = ANY($1)`. Absent if values cannot be
    /// shared.
    pub uniform: Option<SettleRows>,
    pub each: SettleRows,
    /// For rows with recipient results to keep, if the internal table keeps them.
    pub remembering: Option<SettleRows>,
}

typed_script! {
    /// Makes the move of rows whose lease still holds, and yields their keys.
    pub SettleRows(Settlements<'_>) -> RowId, Write, |_, mut row| row.key()
}

typed_script! {
    /// Extends leases, and yields them with their new fences.
    pub ExtendLeases { fences: usize } (Leases<'_>) -> Lease, Write, |this, mut row| row.lease(this.fences)
}

typed_script! {
    /// Yields the leases of those of the named rows that this worker holds.
    pub FindHeldLeases { fences: usize } (Ids<'_>) -> Lease, Read, |this, mut row| row.lease(this.fences)
}

impl Table<'_> {
    /// Returns the scripts that settle rows with this transition.
    pub fn settle(&self, transition: Transition) -> Settle {
        let writes = Writes::of(self.contract, self.contract.lease_move(self.stage, transition));
        let transitions = [transition];
        let each = self.guarded(&writes, &transitions, &Source::Each);
        // A new id per row cannot be shared by all rows.
        let deletes = self.contract.deletes(&writes.step);
        let fresh = each.steps.iter().flat_map(|step| &step.params).any(|bind| match bind {
            Param::Array(field) => *field == Field::Tsid,
            Param::Rows(fields) => fields.contains(&Field::Tsid),
            _ => false,
        });
        let uniform = (!fresh).then(|| self.guarded(&writes, &transitions, &Source::Uniform));
        let remembering = if deletes { None } else { self.remembering(transition, &each) };
        let typed = |script| SettleRows { script };
        Settle { uniform: uniform.map(typed), each: typed(each), remembering: remembering.map(typed) }
    }

    /// Returns the settle scripts of rows that an operator cancelled in flight: the row stays cancelled, the attempt is
    /// recorded.
    ///
    /// Only columns about attempts are written; the fence is that of the claim, which a cancel leaves unchanged.
    pub fn late(&self) -> BTreeMap<Transition, Settle> {
        let ClaimedState::State(held) = self.stage.claimed else { return BTreeMap::new() };
        let pairs = self.contract.cancel.iter().flat_map(|cancel| &cancel.moves);
        let Some((_, cancelled)) = pairs.into_iter().find(|(from, _)| *from == held) else {
            return BTreeMap::new();
        };
        let kept = [ColumnRole::Attempts, ColumnRole::Duration, ColumnRole::Updated]
            .map(|role| self.contract.column(role));
        let late = |transition: Transition| {
            let step = self.contract.lease_move(self.stage, transition);
            let step = Move { from: std::slice::from_ref(cancelled), ..step };
            let mut assignments = self.contract.assignments(&step);
            assignments.retain(|one| kept.contains(&Some(one.column.as_str())));
            let script = self.guarded(&Writes { step, assignments }, &[transition], &Source::Each);
            (transition, Settle { uniform: None, each: SettleRows { script }, remembering: None })
        };
        let tries = Transition::SETTLES.into_iter().filter(|settles| {
            (*settles == Transition::Delivered || settles.is_failure())
                && !self.effects(&[*settles]).is_empty()
        });
        tries.map(late).collect()
    }

    fn guarded(&self, writes: &Writes<'_>, transitions: &[Transition], source: &Source) -> Script {
        if self.contract.deletes(&writes.step) {
            return self.guarded_delete(writes, transitions, source);
        }
        match self.dialect {
            Dialect::Postgres => Script { steps: vec![self.postgres_guarded(writes, transitions, source)] },
            Dialect::Mysql => {
                let mut steps = vec![self.mysql_lock(writes, source)];
                steps.push(self.mysql_update(writes, source));
                steps.extend(self.effect_steps(transitions, writes, source));
                Script { steps }
            }
            Dialect::Sqlite => {
                let mut steps = vec![self.sqlite_guarded(writes, source)];
                steps.extend(self.effect_steps(transitions, writes, source));
                Script { steps }
            }
        }
    }

    /// Returns the conditions on key, state and fence; state and fence are only checked, the key alone finds the rows.
    pub fn guard(&self, builder: &StepBuilder<'_>, writes: &Writes<'_>) -> String {
        let mut parts = match builder.source {
            Source::Each => {
                vec![format!("{} = {}", self.id(), builder.typed(Field::Id, &self.contract.table.id))]
            }
            Source::Uniform | Source::Contract { .. } => vec![builder.among(&self.id(), Param::Ids)],
        };
        let mut checks = vec![self.in_states(writes.step.from, Lookup::Check)];
        checks.extend(builder.fence_holds());
        if self.dialect == Dialect::Postgres && builder.source == Source::Each {
            // PostgreSQL believes that almost no row is claimed, because its statistics are older than the claim. It would
            // join every claimed row with every value. So the keys are named once more, outside the join, and the checks
            // stand in a CASE that it does not estimate.
            parts.push(builder.among(&self.id(), Param::Array(Field::Id)));
            parts.push(format!("CASE WHEN {}\n  THEN true ELSE false END", checks.join("\n    AND ")));
        } else {
            parts.extend(checks);
        }
        parts.join("\n  AND ")
    }

    fn postgres_guarded(&self, writes: &Writes<'_>, transitions: &[Transition], source: &Source) -> Step {
        let builder = StepBuilder::new(self, source.clone());
        let guard = self.guard(&builder, writes);
        let sets = builder.set_list(writes);
        let effects = builder.effect_parts(transitions, writes);
        let from = match source {
            Source::Each => format!("\nFROM {}", builder.rows()),
            Source::Uniform | Source::Contract { .. } => String::new(),
        };
        let update = format!("UPDATE {} AS t SET {sets}{from}\nWHERE {guard}", self.name());
        let text = if effects.is_empty() {
            format!("{update}\nRETURNING {}", self.key())
        } else {
            let key = self.key();
            let returned = builder.moved_columns(&[&key, &effects]);
            format!(
                "WITH moved AS (\n{update}\nRETURNING {returned}){effects}\nSELECT {key}\nFROM moved AS t"
            )
        };
        builder.finish(&text, Yields::Keys)
    }

    /// Locks the rows that pass the fence, driven by the caller's keys and in their order.
    pub(super) fn mysql_lock(&self, writes: &Writes<'_>, source: &Source) -> Step {
        let builder = StepBuilder::new(self, source.clone());
        let guard = self.guard(&builder, writes);
        let from = match source {
            Source::Each => format!("{} STRAIGHT_JOIN {} AS t", builder.rows(), self.name()),
            Source::Uniform | Source::Contract { .. } => format!("{} AS t", self.name()),
        };
        builder
            .finish(&format!("SELECT {}\nFROM {from}\nWHERE {guard}\nFOR UPDATE", self.key()), Yields::Keys)
    }

    fn mysql_update(&self, writes: &Writes<'_>, source: &Source) -> Step {
        let builder = StepBuilder::new(self, source.clone());
        let sets = builder.set_list(writes);
        let among = builder.among(&self.id(), Param::Held);
        let table = if builder.has_fields() {
            let key = builder.typed(Field::Id, &self.contract.table.id);
            format!("{} AS t JOIN {} ON {} = {key}", self.name(), builder.rows(), self.id())
        } else {
            format!("{} AS t", self.name())
        };
        builder.finish(&format!("UPDATE {table} SET {sets}\nWHERE {among}"), Yields::Nothing)
    }

    fn sqlite_guarded(&self, writes: &Writes<'_>, source: &Source) -> Step {
        let builder = StepBuilder::new(self, source.clone());
        let text = self.sqlite_update(&builder, writes);
        let key = returning(&self.key());
        builder.finish(&format!("{text}\nRETURNING {key}"), Yields::Keys)
    }

    fn sqlite_update(&self, builder: &StepBuilder<'_>, writes: &Writes<'_>) -> String {
        let guard = self.guard(builder, writes);
        let sets = builder.set_list(writes);
        let from = match builder.source {
            Source::Each => format!("\nFROM {}", builder.rows()),
            Source::Uniform | Source::Contract { .. } => String::new(),
        };
        format!("UPDATE {} AS t SET {sets}{from}\nWHERE {guard}", self.name())
    }

    /// Returns the script that extends leases and yields the new fences; `None` if a lease is kept without a write.
    pub fn extend(&self) -> Option<ExtendLeases> {
        let assignments = self.contract.extension(self.stage);
        if assignments.is_empty() {
            return None;
        }
        // Its rows are those that a settle would find.
        let step = self.contract.lease_move(self.stage, Transition::Released);
        let writes = Writes { step, assignments };
        let columns = self.lease_columns();
        let steps = match self.dialect {
            Dialect::Postgres => {
                let builder = StepBuilder::new(self, Source::Each);
                let guard = self.guard(&builder, &writes);
                let sets = builder.set_list(&writes);
                let rows = builder.rows();
                let text = format!(
                    "UPDATE {} AS t SET {sets}\nFROM {rows}\nWHERE {guard}\nRETURNING {columns}",
                    self.name()
                );
                vec![builder.finish(&text, Yields::Leases)]
            }
            Dialect::Mysql => {
                let builder = StepBuilder::plain(self);
                let among = builder.among(&self.id(), Param::Held);
                let text = format!("SELECT {columns}\nFROM {} AS t\nWHERE {among}", self.name());
                let read = builder.finish(&text, Yields::Leases);
                vec![self.mysql_lock(&writes, &Source::Each), self.mysql_update(&writes, &Source::Each), read]
            }
            Dialect::Sqlite => {
                let builder = StepBuilder::new(self, Source::Each);
                let text = self.sqlite_update(&builder, &writes);
                vec![builder.finish(&format!("{text}\nRETURNING {}", returning(&columns)), Yields::Leases)]
            }
        };
        Some(ExtendLeases { script: Script { steps }, fences: self.fence().len() })
    }

    fn lease_columns(&self) -> String {
        let fences = self.fence().into_iter().map(|(_, column)| self.as_text(&self.col(column)));
        std::iter::once(self.key()).chain(fences).collect::<Vec<_>>().join(", ")
    }

    /// Returns the script that reads leases whose extension got no answer; `None` if an extension does not change the
    /// fence, or if the table shows neither by its owner nor by a version who changed it.
    pub fn renewed(&self) -> Option<FindHeldLeases> {
        let fence = self.fence();
        let extension = self.contract.extension(self.stage);
        let changes = extension.iter().any(|one| fence.iter().any(|(_, column)| *column == one.column));
        let owner = self.role(ColumnRole::Owner);
        if !changes || (owner.is_none() && !self.stage.lease.fence.contains(&ColumnRole::Version)) {
            return None;
        }
        let step = self.contract.lease_move(self.stage, Transition::Released);
        let builder = StepBuilder::plain(self);
        let mut parts = vec![builder.among(&self.id(), Param::Ids), self.in_states(step.from, Lookup::Check)];
        parts.extend(owner.map(|owner| format!("{owner} = {}", builder.worker())));
        let (columns, name) = (self.lease_columns(), self.name());
        let text = format!("SELECT {columns}\nFROM {name} AS t\nWHERE {}", parts.join("\n  AND "));
        let script = Script { steps: vec![builder.finish(&text, Yields::Leases)] };
        Some(FindHeldLeases { script, fences: fence.len() })
    }
}
