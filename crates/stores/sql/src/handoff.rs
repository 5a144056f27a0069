//! Hand-off to an external queue: the claim of named rows, the rows to publish, and what is undone when the queue refuses.
//!
//! CARRIED: the row keeps no order and is of no pool, so a queue can carry it. Invariant: CARRIED knows no clock and no
//! other table, so whoever asks gets the same answer for as long as the row lives.

use std::time::Duration;

use postrider_contract::{Role, StateId, Sweep, Transition, When};

use crate::column::Kind;
use crate::condition::Lookup;
use crate::draft::Draft;
use crate::layout::Seen;
use crate::moves::Pick;
use crate::table::Table;
use crate::time::Shift;
use crate::value::Writes;
use crate::{Bind, Dialect, HandoffScripts, Script, Step, Yields};

impl Table<'_> {
    pub fn handoff(&self) -> Option<HandoffScripts> {
        let handoff = self.contract.queue_of(self.stage)?;
        let stale = &self.contract.sweeps[handoff.stale];
        let writes = Writes::of(self.contract, self.contract.lease_move(self.stage, Transition::Claimed));
        let due = |state: &StateId| {
            let state = *state;
            let picks = self.to_offer(handoff.mark, stale, state).into_iter();
            picks.map(move |pick| self.marked(state, handoff.mark, true, &pick))
        };
        let recall = |state: &StateId| {
            let pick = Pick::Named { conditions: self.is_carried() };
            if stale.from.contains(state) {
                let step = self.contract.sweep_move(self.stage, stale);
                return self.picked(step, &[Transition::Swept], None, &pick);
            }
            self.marked(*state, handoff.mark, false, &pick)
        };
        Some(HandoffScripts {
            claim: self.named_claim(&writes),
            standing: Script { steps: vec![self.standing()] },
            waiting: handoff.offer,
            due: self.stage.ready.iter().flat_map(due).collect(),
            recall: self.stage.ready.iter().map(recall).collect(),
            keeps_rows: !self.is_carried().is_empty(),
        })
    }

    /// CARRIED; empty where every row is.
    pub fn is_carried(&self) -> Vec<String> {
        let mut parts: Vec<String> = self.group().map(|group| self.is_free(group)).into_iter().collect();
        if let Some(pool) = self.contract.column(Role::Pool).filter(|_| self.contract.pool.is_some()) {
            let col = self.col(pool);
            parts.push(match self.kind(pool) {
                // As a share's key has it.
                Kind::Text => format!("({col} IS NULL OR {col} = '')"),
                _ => format!("{col} IS NULL"),
            });
        }
        parts
    }

    /// Has the queue lost it? It is not stale while it waits for its time, or for what no queue carries.
    pub fn is_stale(&self, sweep: &Sweep) -> Vec<String> {
        let When::OlderThan { age, since } = &sweep.when else { return Vec::new() };
        let mut parts = self.was_marked_before(since, *age);
        parts.extend(self.is_due());
        parts.extend(self.is_carried());
        parts
    }

    /// Due, and not on the queue. What no sweep takes back is published again after the same time. Two looks, each with an
    /// index of its own: neither reads past what waits for its time, its group or its pool.
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

    /// How the state of what a queue lost is looked up: on PostgreSQL in a form that only the index of such rows has. Its
    /// planner knows how many rows of the table have an old mark, not how many of those, and would rather sort a whole state.
    pub fn lost_lookup(&self) -> Lookup {
        if self.dialect == Dialect::Postgres { Lookup::Check } else { Lookup::Index }
    }

    /// Said although it follows: the index of such rows says it too.
    fn was_marked_before(&self, mark: &str, age: Duration) -> Vec<String> {
        let before = format!("{} < {}", self.instant(mark), self.bound(mark, &Shift::back(age)));
        vec![self.is_set(mark), before]
    }

    fn marked(&self, state: StateId, mark: &str, published: bool, pick: &Pick) -> Script {
        let step = self.contract.mark_move(self.stage, &state);
        let writes = Writes { step, assignments: self.contract.marks(mark, published) };
        self.picked_with(&writes, &[], None, pick)
    }

    /// What makes a row of the ready states one that goes by its pointer; the key alone is to drive the statement.
    fn goes_by_pointer(&self) -> Vec<String> {
        let mut parts = vec![self.in_states(&self.stage.ready, Lookup::Check)];
        parts.extend(self.is_due());
        parts.extend(self.has_attempts_left());
        parts.extend(self.not_barred(&self.stage.ready));
        parts.extend(self.filter());
        parts
    }

    fn named_claim(&self, writes: &Writes<'_>) -> Script {
        let draft = Draft::own(self);
        let mut conditions = vec![draft.among(&self.id(), Bind::Ids)];
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
                Script { steps: vec![self.postgres_moved(draft, &pick, true, writes)] }
            }
            Dialect::Sqlite => {
                let mut steps = vec![draft.finish(&format!("SELECT {}\n{from}", self.key()), Yields::Keys)];
                steps.extend(self.sqlite_mark(writes));
                Script { steps }
            }
            Dialect::Mysql => {
                let columns = draft.layout_columns(writes, Seen::Before).join(", ");
                let text = format!("SELECT {columns}\n{from}\nFOR UPDATE SKIP LOCKED");
                let mut steps = vec![draft.finish(&text, Yields::Rows)];
                steps.extend(self.mysql_mark(writes));
                Script { steps }
            }
        }
    }

    /// Why named rows were not claimed: yields their keys, with 2 where they may go by a queue, 1 where they may go and no
    /// queue carries them, 0 where they may not.
    fn standing(&self) -> Step {
        let draft = Draft::own(self);
        let among = draft.among(&self.id(), Bind::Ids);
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
        draft.finish(&text, Yields::Other)
    }
}
