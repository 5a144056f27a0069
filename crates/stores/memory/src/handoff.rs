//! Hand-off to an external queue, as simply as possible.

use async_trait::async_trait;
use postrider_contract::{ColumnRole, Sweep, Transition, When};
use postrider_rows::{
    Row, column_value, due_at, has_attempts_left, int, is_blocked_by_sweep, matches_filter, micros,
    role_value, state_of, sweep_is_due,
};
use postrider_seams::handoff::{Handoff, PointerClaims, PublishSource};
use postrider_seams::row::{ClaimedRow, Detail};
use postrider_seams::store::Error;
use postrider_seams::{RowId, Value};

use crate::apply;
use crate::store::MemoryStore;

impl MemoryStore {
    /// Whether a queue can carry the row: it has no order and no pool.
    fn can_be_queued(&self, row: &Row) -> bool {
        let pool = role_value(self.contract(), row, ColumnRole::Pool);
        let pooled = self.contract().pool.is_some() && !matches!(pool.as_text(), None | Some(""));
        self.ordered(row).is_none() && !pooled
    }

    /// Whether the row meets every condition of a claim that concerns the row alone.
    fn is_claimable(&self, row: &Row, now: i64) -> bool {
        let (contract, stage) = (self.contract(), self.stage());
        state_of(contract, row).is_some_and(|state| stage.ready.contains(&state))
            && matches_filter(contract, row)
            && !is_blocked_by_sweep(contract, row, now)
            && has_attempts_left(contract, stage, row)
            && due_at(contract, stage, row).is_some_and(|due| due <= now)
    }

    /// Whether the sweep is due for the row; for rows in a queue: whether the queue has lost it.
    pub(crate) fn is_stale(&self, rule: &Sweep, row: &Row, now: i64) -> bool {
        let due = due_at(self.contract(), self.stage(), row).is_some_and(|due| due <= now);
        sweep_is_due(rule, row, now) && (!rule.only_with_queue || (due && self.can_be_queued(row)))
    }

    fn claim_rows_by_id(&self, ids: &[RowId]) -> PointerClaims {
        let now = self.table.now();
        let no_detail = Detail::new();
        let step = self.contract().lease_move(self.stage(), Transition::Claimed);
        let mut table = self.table.lock();
        let mut claimed = PointerClaims::default();
        for id in ids {
            let Some(before) = table.rows.get(id).filter(|row| self.is_claimable(row, now)).cloned() else {
                continue;
            };
            if !self.can_be_queued(&before) {
                claimed.unqueueable += 1;
                continue;
            }
            apply::apply_move(
                &mut table,
                self.contract(),
                &step,
                id,
                &self.transition_input(now, &no_detail),
            );
            claimed.rows.push(self.claimed(&table, id, &before, now));
        }
        claimed
    }

    fn publish_due(&self, limit: u32) -> Vec<RowId> {
        let Some(handoff) = self.contract().queue_of(self.stage()) else { return Vec::new() };
        let now = self.table.now();
        let stale = &self.contract().sweeps[handoff.stale];
        let mut table = self.table.lock();
        let not_in_queue = |row: &Row| match (int(column_value(row, handoff.published_at)), &stale.when) {
            (None, _) => true,
            (Some(marked), When::OlderThan { age, .. }) => {
                let swept = state_of(self.contract(), row).is_some_and(|state| stale.from.contains(&state));
                !swept && marked < now - micros(*age)
            }
            (Some(_), _) => false,
        };
        let due = self.find_rows(&table, &self.stage().ready, limit, |row| {
            self.is_claimable(row, now) && self.can_be_queued(row) && not_in_queue(row)
        });
        for id in &due {
            self.set_queue_mark(&mut table, id, handoff.published_at, Value::Int(now));
        }
        due
    }

    fn set_queue_mark(&self, table: &mut crate::table::TableState, id: &RowId, mark: &str, value: Value) {
        let mut row = table.rows[id].clone();
        row.insert(mark.to_owned(), value);
        table.write(self.contract(), id, row);
    }

    fn publish_waiting(&self, limit: u32) -> Vec<RowId> {
        let Some(handoff) = self.contract().queue_of(self.stage()) else { return Vec::new() };
        self.sweep_rows(handoff.publish, limit)
    }

    fn recall_rows(&self, ids: &[RowId]) -> u64 {
        let Some(handoff) = self.contract().queue_of(self.stage()) else { return 0 };
        let stale = &self.contract().sweeps[handoff.stale];
        let step = self.contract().sweep_move(self.stage(), stale);
        let mut table = self.table.lock();
        let mut recalled = 0;
        for id in ids {
            let Some(row) = table.rows.get(id) else { continue };
            let Some(state) = state_of(self.contract(), row).filter(|_| self.can_be_queued(row)) else {
                continue;
            };
            if stale.from.contains(&state) {
                self.make_moves(&mut table, std::slice::from_ref(id), &step, None);
            } else if self.stage().ready.contains(&state) {
                self.set_queue_mark(&mut table, id, handoff.published_at, Value::Null);
            } else {
                continue;
            }
            recalled += 1;
        }
        recalled
    }
}

#[async_trait]
impl Handoff for MemoryStore {
    fn may_have_unqueueable_rows(&self) -> bool {
        let group = self.contract().group.as_ref().is_some_and(postrider_contract::GroupRule::keeps_order);
        group || self.contract().pool.is_some()
    }

    async fn claim_by_id(&self, rows: &[RowId]) -> Result<PointerClaims, Error> {
        Ok(self.claim_rows_by_id(rows))
    }

    async fn claim_unqueueable(&self, limit: u32) -> Result<Vec<ClaimedRow>, Error> {
        Ok(self.claim_where(limit, |row| !self.can_be_queued(row)))
    }

    async fn mark_published(&self, source: PublishSource, limit: u32) -> Result<Vec<RowId>, Error> {
        Ok(match source {
            PublishSource::Waiting => self.publish_waiting(limit),
            PublishSource::Due => self.publish_due(limit),
        })
    }

    async fn recall(&self, rows: &[RowId]) -> Result<u64, Error> {
        Ok(self.recall_rows(rows))
    }
}
