//! Renders the hand-off to an external queue: rows to publish, the claim of named rows, and the undo when a queue
//! refuses.
//!
//! A row is CARRIED if it keeps no order and has no pool, so that a queue can carry it. Invariant: CARRIED depends on
//! no clock and no other table, so it stays the same for as long as the row exists.

use std::time::Duration;

use postrider_contract::{ColumnRole, StateId, Sweep, Transition, When};
use postrider_seams::row::{ClaimedRow, RowId};

use crate::bind::{Ids, in_order};
use crate::claim::columns::Seen;
use crate::claim::params::Claiming;
use crate::claim::row::ClaimReader;
use crate::render::column::Kind;
use crate::render::condition::Lookup;
use crate::render::moves::{MoveNamed, MoveSome, Pick};
use crate::render::step_builder::StepBuilder;
use crate::render::table::Table;
use crate::render::time::Shift;
use crate::render::value::Writes;
use crate::typed::typed_script;
use crate::{Dialect, Param, Script, Step, Yields};

/// The scripts for an external queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandoffScripts {
    pub claim: ClaimNamed,
    pub unclaimed_reasons: UnclaimedReasons,
    /// Index in `Statements::sweeps` of the sweep that yields the rows to publish.
    pub waiting: usize,
    /// One or two per ready state: marks rows that are due and not on the queue.
    pub due: Vec<MoveSome>,
    /// One per ready state: undoes that for the named rows.
    pub recall: Vec<MoveNamed>,
    /// Whether the table can have rows that no queue can carry.
    pub has_unqueueable_rows: bool,
}

typed_script! {
    /// Claims those of the named rows that may go.
    pub ClaimNamed { reader: ClaimReader } (Claiming<Ids<'_>>) -> ClaimedRow, Write,
    |this, row| this.reader.read(row), sorted in_order
}

typed_script! {
    /// Yields those of the named rows that exist, with the reason why they were not claimed.
    pub UnclaimedReasons(Ids<'_>) -> (RowId, UnclaimedReason), Read, |_, mut row| {
        let id = row.key()?;
        Some((id, match row.count() {
            2 => UnclaimedReason::Busy,
            1 => UnclaimedReason::Unqueueable,
            _ => UnclaimedReason::NotReady,
        }))
    }
}

/// The reason why a named row was not claimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnclaimedReason {
    /// It may go; another transaction had locked it.
    Busy,
    /// It may go, but no queue can carry it.
    Unqueueable,
    NotReady,
}

impl Table<'_> {
    /// Returns the scripts of the hand-off; `None` if the stage has no queue.
    pub fn handoff(&self) -> Option<HandoffScripts> {
        let handoff = self.contract.queue_of(self.stage)?;
        let stale = &self.contract.sweeps[handoff.stale];
        let writes = Writes::of(self.contract, self.contract.lease_move(self.stage, Transition::Claimed));
        let due = |state: &StateId| {
            let state = *state;
            let picks = self.to_offer(handoff.published_at, stale, state).into_iter();
            picks.map(move |pick| MoveSome { script: self.marked(state, handoff.published_at, true, &pick) })
        };
        let recall = |state: &StateId| {
            let pick = Pick::Named { conditions: self.is_carried() };
            let script = if stale.from.contains(state) {
                let step = self.contract.sweep_move(self.stage, stale);
                self.picked(step, &[Transition::Swept], None, &pick)
            } else {
                self.marked(*state, handoff.published_at, false, &pick)
            };
            MoveNamed { script }
        };
        Some(HandoffScripts {
            claim: ClaimNamed { script: self.named_claim(&writes), reader: self.claim_reader(&[]) },
            unclaimed_reasons: UnclaimedReasons { script: Script { steps: vec![self.unclaimed_reasons()] } },
            waiting: handoff.publish,
            due: self.stage.ready.iter().flat_map(due).collect(),
            recall: self.stage.ready.iter().map(recall).collect(),
            has_unqueueable_rows: !self.is_carried().is_empty(),
        })
    }

    /// Returns the conditions that the row is CARRIED; empty if every row is.
    pub fn is_carried(&self) -> Vec<String> {
        let mut parts: Vec<String> = self.group().map(|group| self.is_free(group)).into_iter().collect();
        if let Some(pool) = self.contract.column(ColumnRole::Pool).filter(|_| self.contract.pool.is_some()) {
            let col = self.col(pool);
            parts.push(match self.kind(pool) {
                // An empty pool means no pool, as in the key of a share.
                Kind::Text => format!("({col} IS NULL OR {col} = '')"),
                _ => format!("{col} IS NULL"),
            });
        }
        parts
    }

    /// Returns the conditions that the queue has lost the row.
    ///
    /// A row is not stale while it waits for its due time, or is not CARRIED.
    pub fn is_stale(&self, sweep: &Sweep) -> Vec<String> {
        let When::OlderThan { age, since } = &sweep.when else { return Vec::new() };
        let mut parts = self.was_marked_before(since, *age);
        parts.extend(self.is_due());
        parts.extend(self.is_carried());
        parts
    }

    /// The rows that are due and not on the queue. Rows that no sweep takes back are published again after the same
    /// time. Two queries, each with its own index: neither reads rows that wait for their due time, group or pool.
    fn to_offer(&self, mark: &str, stale: &Sweep, state: StateId) -> Vec<Pick> {
        let pick = |marked: Vec<String>, order: Option<String>, lookup: Lookup| {
            let mut conditions = marked;
            conditions.extend(self.is_due());
            conditions.extend(self.has_attempts_left());
            conditions.extend(self.not_barred(&[state]));
            conditions.extend(self.is_carried());
            Pick::Some { conditions, order, since: Vec::new(), lookup }
        };
        let absent = vec![format!("{} IS NULL", self.col(mark))];
        let mut picks = vec![pick(absent, self.due_key(), Lookup::Index)];
        if let When::OlderThan { age, .. } = &stale.when
            && !stale.from.contains(&state)
        {
            picks.push(pick(
                self.was_marked_before(mark, *age),
                Some(self.instant(mark)),
                self.lost_lookup(),
            ));
        }
        picks
    }

    /// Returns how the state of lost rows is looked up: on PostgreSQL in a form that only the index of such rows has.
    ///
    /// Its planner knows how many rows of the table have an old mark, but not how many of those have this state, and
    /// would sort a whole state instead.
    pub fn lost_lookup(&self) -> Lookup {
        if self.dialect == Dialect::Postgres { Lookup::Check } else { Lookup::Index }
    }

    /// The first condition follows from the second, but is needed to match the partial index.
    fn was_marked_before(&self, mark: &str, age: Duration) -> Vec<String> {
        let before = format!("{} < {}", self.instant(mark), self.comparable(mark, &Shift::back(age)));
        vec![self.is_set(mark), before]
    }

    fn marked(&self, state: StateId, mark: &str, published: bool, pick: &Pick) -> Script {
        let step = self.contract.publication_move(self.stage, &state);
        let writes = Writes { step, assignments: self.contract.published_at_assignments(mark, published) };
        self.picked_with(&writes, &[], None, pick)
    }

    /// The conditions that a ready row can be claimed by its pointer; the key alone must drive the statement.
    fn goes_by_pointer(&self) -> Vec<String> {
        let mut parts = vec![self.in_states(&self.stage.ready, Lookup::Check)];
        parts.extend(self.is_due());
        parts.extend(self.has_attempts_left());
        parts.extend(self.not_barred(&self.stage.ready));
        parts.extend(self.filter());
        parts
    }

    fn named_claim(&self, writes: &Writes<'_>) -> Script {
        let builder = StepBuilder::plain(self);
        let mut conditions = vec![builder.among(&self.id(), Param::Ids)];
        conditions.extend(self.goes_by_pointer());
        conditions.extend(self.is_old_enough());
        conditions.extend(self.is_carried());
        let from = format!(
            "FROM {} AS t\nWHERE {}\nORDER BY {}",
            self.name(),
            conditions.join("\n  AND "),
            self.order_list()
        );
        match self.dialect {
            Dialect::Postgres => {
                let keys = self.claim_order();
                let keys = keys.iter().enumerate().map(|(index, (key, _))| format!(", {key} AS o{index}"));
                let keys: String = keys.collect();
                let pick = format!("SELECT {} AS k{keys}\n{from}\nFOR UPDATE SKIP LOCKED", self.id());
                Script { steps: vec![self.postgres_moved(builder, &pick, true, writes)] }
            }
            Dialect::Sqlite => {
                let mut steps = vec![builder.finish(&format!("SELECT {}\n{from}", self.key()), Yields::Keys)];
                steps.extend(self.sqlite_mark(writes));
                Script { steps }
            }
            Dialect::Mysql => {
                let columns = builder.layout_columns(writes, Seen::Before).join(", ");
                let text = format!("SELECT {columns}\n{from}\nFOR UPDATE SKIP LOCKED");
                let mut steps = vec![builder.finish(&text, Yields::Rows)];
                steps.extend(self.mysql_mark(writes));
                Script { steps }
            }
        }
    }

    /// Reports why named rows were not claimed: their keys, with 2 if the row may go by a queue, 1 if it may go but no
    /// queue carries it, 0 if it may not go.
    fn unclaimed_reasons(&self) -> Step {
        let builder = StepBuilder::plain(self);
        let among = builder.among(&self.id(), Param::Ids);
        let carried = self.is_carried();
        let carried = if carried.is_empty() { "1 = 1".to_owned() } else { carried.join(" AND ") };
        let text = format!(
            "SELECT {}, {}\nFROM {} AS t\nWHERE {among}",
            self.key(),
            self.as_integer(&format!(
                "CASE WHEN {} THEN CASE WHEN {carried} THEN 2 ELSE 1 END ELSE 0 END",
                self.goes_by_pointer().join(" AND ")
            )),
            self.name()
        );
        builder.finish(&text, Yields::Other)
    }
}
