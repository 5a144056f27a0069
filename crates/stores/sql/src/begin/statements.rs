//! Renders the recovery of rows whose worker is gone, and of rows whose delivery has begun.
//!
//! A reclaim reads expired leases without a lock, the store decides about each row (was its delivery begun, how often
//! did its worker die), and the moves name their rows. Invariant: a crash is counted in the transaction of the move
//! that it causes.

use postrider_contract::{Assignment, CRASHED, ColumnRole, LEASE_EXPIRED, Move, Set, Transition};
use postrider_seams::row::{Lease, RowId};

use crate::begin::marks::CRASHES;
use crate::bind::Limit;
use crate::render::condition::Lookup;
use crate::render::moves::{MoveNamed, MoveSome, Pick};
use crate::render::step_builder::{Source, StepBuilder};
use crate::render::table::Table;
use crate::render::value::Writes;
use crate::settle::params::Leases;
use crate::typed::typed_script;
use crate::{Dialect, Param, Script, Step, Yields};

typed_script! {
    /// Yields the keys of those of the given leases that still hold.
    pub ValidLeases(Leases<'_>) -> RowId, Read, |_, mut row| row.key()
}

/// The scripts that reclaim rows whose lease expired. All moves name their rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReclaimScripts {
    pub find: FindExpired,
    /// Returns rows that were only held, without charging an attempt.
    pub free: MoveNamed,
    /// The same for begun rows with one attempt left; counts the crash.
    pub spared: MoveNamed,
    /// Returns rows and charges an attempt; counts the crash.
    pub charged: MoveNamed,
    /// Moves rows that crash their workers too often to the dead state.
    pub dead: MoveNamed,
}

typed_script! {
    /// Yields the leases that expired.
    pub FindExpired { fences: usize } (Limit) -> Expired, Read, |this, mut row| {
        let lease = row.lease(this.fences)?;
        Some(Expired { lease, last: row.count() == 1, limit: row.small_count() })
    }
}

/// A lease that expired.
#[derive(Debug)]
pub struct Expired {
    pub lease: Lease,
    /// Whether a charge would end the row.
    pub last: bool,
    /// The row's maximum number of attempts.
    pub limit: u32,
}

impl Table<'_> {
    /// Returns the name of this stage of this table in internal tables.
    pub fn stage_key(&self) -> String {
        let table = &self.contract.table;
        let schema = table.schema.as_deref().map(|schema| format!("{schema}.")).unwrap_or_default();
        format!("{schema}{}/{}", table.name, self.stage.name)
    }

    /// Returns the script that yields those of the given leases that still hold, by the database's clock. It only
    /// reads.
    pub fn valid_leases(&self) -> ValidLeases {
        let writes = Writes {
            step: self.contract.lease_move(self.stage, Transition::Released),
            assignments: Vec::new(),
        };
        let builder = StepBuilder::new(self, Source::Each);
        let mut guard = self.guard(&builder, &writes);
        if let Some(expired) = self.is_expired() {
            guard = format!("{guard}\n  AND ({expired}) IS NOT TRUE");
        }
        let (rows, name) = (builder.rows(), self.name());
        let from = match self.dialect {
            Dialect::Postgres => format!("{name} AS t, {rows}"),
            Dialect::Mysql => format!("{rows} STRAIGHT_JOIN {name} AS t"),
            Dialect::Sqlite => format!("{rows} CROSS JOIN {name} AS t"),
        };
        let text = format!("SELECT {}\nFROM {from}\nWHERE {guard}", self.key());
        ValidLeases { script: Script { steps: vec![builder.finish(&text, Yields::Keys)] } }
    }

    /// Returns the script that gives claimed rows without a claim time one; it writes nothing else.
    ///
    /// The worker that holds such a row has no fence of ours. `None` if no such row can exist.
    pub fn stamp(&self) -> Option<MoveSome> {
        let (column, lacks_it) = self.stamped_column()?;
        let mut conditions: Vec<String> = self.held_condition().into_iter().chain([lacks_it]).collect();
        conditions.extend(self.contract.column(ColumnRole::LeaseUntil).map(|until| self.has_no_time(until)));
        let step = self.contract.lease_move(self.stage, Transition::Reclaimed);
        let assignments = vec![Assignment { column: column.to_owned(), set: Set::Now }];
        let pick = Pick::among(conditions);
        Some(MoveSome { script: self.picked_with(&Writes { step, assignments }, &[], None, &pick) })
    }

    /// Returns the scripts of a reclaim; `None` if a lease ends without a move.
    pub fn reclaim(&self) -> Option<ReclaimScripts> {
        let expired = self.is_expired()?;
        let released = self.contract.lease_move(self.stage, Transition::Released);
        let back = self.contract.reclaim_move(self.stage, self.stage.retryable);
        let dead = self.contract.reclaim_move(self.stage, self.stage.dead);
        let moved = |step: Move<'_>, transition, reason| {
            let pick = Pick::Named { conditions: vec![expired.clone()] };
            self.picked(step, &[transition], reason, &pick)
        };
        let free = moved(released, Transition::Released, None);
        let then = |mut script: Script, step: Step| {
            script.steps.push(step);
            MoveNamed { script }
        };
        Some(ReclaimScripts {
            find: FindExpired { script: self.expired_rows(&expired), fences: self.fence().len() },
            spared: then(free.clone(), self.count_crash()),
            free: MoveNamed { script: free },
            charged: then(moved(back, Transition::Reclaimed, Some(LEASE_EXPIRED)), self.count_crash()),
            dead: self.forgetting_crashes(moved(dead, Transition::Reclaimed, Some(CRASHED)), &dead),
        })
    }

    /// Adds the deletion of crash counts to a move. On MySQL, where it reads the rows, it precedes their own deletion.
    fn forgetting_crashes(&self, mut script: Script, step: &Move<'_>) -> MoveNamed {
        let first = self.dialect == Dialect::Mysql && self.contract.deletes(step);
        let place = script.steps.len() - usize::from(first);
        script.steps.insert(place, self.forget_crashes());
        MoveNamed { script }
    }

    /// Yields the lease of each row whose lease expired, 1 if a charge would end the row, and its maximum number of
    /// attempts.
    fn expired_rows(&self, expired: &str) -> Script {
        let builder = StepBuilder::plain(self);
        let lease = &self.stage.lease;
        let last = if lease.spend { self.lease_was_last(true) } else { self.is_poisoned(true) };
        let last = last.map_or_else(|| "0".to_owned(), |last| format!("CASE WHEN {last} THEN 1 ELSE 0 END"));
        let mut columns = vec![self.key()];
        columns.extend(self.fence().into_iter().map(|(_, column)| self.as_text(&self.col(column))));
        columns.extend([last, self.max_attempts()]);
        let step = self.contract.lease_move(self.stage, Transition::Released);
        let mut parts: Vec<String> = self.held_condition().into_iter().collect();
        parts.extend([self.in_states(step.from, Lookup::Index), expired.to_owned()]);
        parts.extend(self.filter());
        // MySQL would sort the whole table, and the index of rows in flight has another order; every matching row is
        // moved sooner or later.
        let sorted = self.dialect != Dialect::Mysql && !self.has_held_index();
        let order = self.horizon().filter(|_| sorted);
        let order = order.map(|column| format!("\nORDER BY {}", self.instant(column))).unwrap_or_default();
        let text = format!(
            "SELECT {}\nFROM {} AS t\nWHERE {}{order}\nLIMIT {}",
            columns.join(", "),
            self.name(),
            parts.join("\n  AND "),
            builder.bind(Param::Limit)
        );
        Script { steps: vec![builder.finish(&text, Yields::Other)] }
    }

    /// Counts one more crash for the rows that the previous step moved.
    fn count_crash(&self) -> Step {
        let builder = StepBuilder::plain(self);
        let (place, held) = (self.text(&self.stage_key()), builder.bind(Param::Held));
        let text = match self.dialect {
            Dialect::Postgres => format!(
                "INSERT INTO {CRASHES} AS c (place, row_id, crashes, crashed_at)\n\
                 SELECT {place}, k, 1, now() FROM unnest({held}::text[]) AS k\n\
                 ON CONFLICT (place, row_id) DO UPDATE SET crashes = c.crashes + 1, crashed_at = excluded.crashed_at"
            ),
            Dialect::Mysql => format!(
                "INSERT INTO {CRASHES} (place, row_id, crashes, crashed_at)\n\
                 SELECT {place}, CAST({} AS CHAR), 1, UTC_TIMESTAMP(6) FROM {} AS t WHERE {}\n\
                 ON DUPLICATE KEY UPDATE crashes = {CRASHES}.crashes + 1, crashed_at = VALUES(crashed_at)",
                self.key(),
                self.name(),
                builder.among(&self.id(), Param::Held)
            ),
            Dialect::Sqlite => format!(
                "INSERT INTO {CRASHES} (place, row_id, crashes, crashed_at)\n\
                 SELECT {place}, CAST(value AS TEXT), 1, strftime('%Y-%m-%dT%H:%M:%fZ', 'now') FROM json_each({held}) WHERE true\n\
                 ON CONFLICT (place, row_id) DO UPDATE SET crashes = crashes + 1, crashed_at = excluded.crashed_at"
            ),
        };
        builder.finish(&text, Yields::Nothing)
    }

    /// Deletes the crash counts of the rows that the previous step ended, so that a requeued row starts at zero.
    fn forget_crashes(&self) -> Step {
        let builder = StepBuilder::plain(self);
        let (place, held) = (self.text(&self.stage_key()), builder.bind(Param::Held));
        let among = match self.dialect {
            Dialect::Postgres => format!("row_id = ANY ({held}::text[])"),
            Dialect::Mysql => format!(
                "row_id IN (SELECT CAST({} AS CHAR) FROM {} AS t WHERE {})",
                self.key(),
                self.name(),
                builder.among(&self.id(), Param::Held)
            ),
            Dialect::Sqlite => format!("row_id IN (SELECT CAST(value AS TEXT) FROM json_each({held}))"),
        };
        builder.finish(&format!("DELETE FROM {CRASHES} WHERE place = {place} AND {among}"), Yields::Nothing)
    }
}
