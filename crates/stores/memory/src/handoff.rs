//! Hand-off to an external queue, as simply as possible.

use async_trait::async_trait;
use postrider_contract::{Role, Sweep, Transition, When};
use postrider_rows::{
    Row, due_at, get, has_attempts_left, int, is_barred, is_ours, is_time, micros, role, state_of,
};
use postrider_seams::handoff::{Handoff, Offer, Taken};
use postrider_seams::row::{Claimed, Detail};
use postrider_seams::store::Error;
use postrider_seams::{RowId, Value};

use crate::apply;
use crate::store::MemoryStore;

impl MemoryStore {
    /// Whether a queue can carry the row: it has no order and no pool.
    fn is_carried(&self, row: &Row) -> bool {
        let pool = role(self.contract(), row, Role::Pool);
        let pooled = self.contract().pool.is_some() && !matches!(pool.as_text(), None | Some(""));
        self.ordered(row).is_none() && !pooled
    }

    /// Whether the row meets every condition of a claim that concerns the row alone.
    fn may_go(&self, row: &Row, now: i64) -> bool {
        let (contract, stage) = (self.contract(), self.stage());
        state_of(contract, row).is_some_and(|state| stage.ready.contains(&state))
            && is_ours(contract, row)
            && !is_barred(contract, row, now)
            && has_attempts_left(contract, stage, row)
            && due_at(contract, stage, row).is_some_and(|due| due <= now)
    }

    /// Whether the sweep is due for the row; for rows in a queue: whether the queue has lost it.
    pub(crate) fn is_stale(&self, rule: &Sweep, row: &Row, now: i64) -> bool {
        let due = due_at(self.contract(), self.stage(), row).is_some_and(|due| due <= now);
        is_time(rule, row, now) && (!rule.only_queued || (due && self.is_carried(row)))
    }

    fn take_named(&self, ids: &[RowId]) -> Taken {
        let now = self.table.now();
        let nothing = Detail::new();
        let step = self.contract().lease_move(self.stage(), Transition::Claimed);
        let mut table = self.table.lock();
        let mut taken = Taken::default();
        for id in ids {
            let Some(before) = table.rows.get(id).filter(|row| self.may_go(row, now)).cloned() else {
                continue;
            };
            if !self.is_carried(&before) {
                taken.kept += 1;
                continue;
            }
            apply::make(&mut table, self.contract(), &step, id, &self.given(now, &nothing));
            taken.rows.push(self.claimed(&table, id, &before, now));
        }
        taken
    }

    fn offer_due(&self, limit: u32) -> Vec<RowId> {
        let Some(handoff) = self.contract().queue_of(self.stage()) else { return Vec::new() };
        let now = self.table.now();
        let stale = &self.contract().sweeps[handoff.stale];
        let mut table = self.table.lock();
        let absent = |row: &Row| match (int(get(row, handoff.mark)), &stale.when) {
            (None, _) => true,
            (Some(marked), When::OlderThan { age, .. }) => {
                let swept = state_of(self.contract(), row).is_some_and(|state| stale.from.contains(&state));
                !swept && marked < now - micros(*age)
            }
            (Some(_), _) => false,
        };
        let due = self.choose(&table, &self.stage().ready, limit, |row| {
            self.may_go(row, now) && self.is_carried(row) && absent(row)
        });
        for id in &due {
            self.set_mark(&mut table, id, handoff.mark, Value::Int(now));
        }
        due
    }

    fn set_mark(&self, table: &mut crate::table::Table, id: &RowId, mark: &str, value: Value) {
        let mut row = table.rows[id].clone();
        row.insert(mark.to_owned(), value);
        table.write(self.contract(), id, row);
    }

    fn offer_waiting(&self, limit: u32) -> Vec<RowId> {
        let Some(handoff) = self.contract().queue_of(self.stage()) else { return Vec::new() };
        self.sweep_rows(handoff.offer, limit)
    }

    fn recall_rows(&self, ids: &[RowId]) -> u64 {
        let Some(handoff) = self.contract().queue_of(self.stage()) else { return 0 };
        let stale = &self.contract().sweeps[handoff.stale];
        let step = self.contract().sweep_move(self.stage(), stale);
        let mut table = self.table.lock();
        let mut recalled = 0;
        for id in ids {
            let Some(row) = table.rows.get(id) else { continue };
            let Some(state) = state_of(self.contract(), row).filter(|_| self.is_carried(row)) else {
                continue;
            };
            if stale.from.contains(&state) {
                self.make_moves(&mut table, std::slice::from_ref(id), &step, None);
            } else if self.stage().ready.contains(&state) {
                self.set_mark(&mut table, id, handoff.mark, Value::Null);
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
    fn keeps_rows(&self) -> bool {
        let group = self.contract().group.as_ref().is_some_and(postrider_contract::Group::keeps_order);
        group || self.contract().pool.is_some()
    }

    async fn claim_named(&self, rows: &[RowId]) -> Result<Taken, Error> {
        Ok(self.take_named(rows))
    }

    async fn claim_kept(&self, limit: u32) -> Result<Vec<Claimed>, Error> {
        Ok(self.claim_those(limit, |row| !self.is_carried(row)))
    }

    async fn offer(&self, offer: Offer, limit: u32) -> Result<Vec<RowId>, Error> {
        Ok(match offer {
            Offer::Waiting => self.offer_waiting(limit),
            Offer::Due => self.offer_due(limit),
        })
    }

    async fn recall(&self, rows: &[RowId]) -> Result<u64, Error> {
        Ok(self.recall_rows(rows))
    }
}
