//! Claims rows and extends leases.

use postrider_contract::{Role, Transition};
use postrider_rows::{
    Given, Row, counters, due_at, extended, has_attempts_left, int, is_barred, is_ours, role, state_of,
};
use postrider_seams::row::{Detail, Group};
use postrider_seams::store::INLINE_LIMIT;
use postrider_seams::{Claimed, Lease, RowId, Value};

use crate::apply;
use crate::store::MemoryStore;
use crate::table::Table;

impl MemoryStore {
    pub(crate) fn given<'a>(&'a self, now: i64, nothing: &'a Detail) -> Given<'a> {
        Given {
            now,
            worker: &self.worker,
            delay: std::time::Duration::ZERO,
            reason: None,
            receipt: None,
            envelope: nothing,
            outcome: nothing,
        }
    }

    pub(crate) fn claim_rows(&self, limit: u32) -> Vec<Claimed> {
        self.claim_those(limit, |_| true)
    }

    /// Claims up to `limit` rows for which `kind` is true.
    pub(crate) fn claim_those(&self, limit: u32, kind: impl Fn(&Row) -> bool) -> Vec<Claimed> {
        let now = self.table.now();
        let nothing = Detail::new();
        let step = self.contract().lease_move(self.stage(), Transition::Claimed);
        let mut table = self.table.lock();
        let picked = self.pick(&table, now, limit as usize, &kind);
        let befores: Vec<Row> = picked.iter().map(|id| table.rows[id].clone()).collect();
        for id in &picked {
            self.spend(&mut table, id, now, false);
            apply::make(&mut table, self.contract(), &step, id, &self.given(now, &nothing));
        }
        let rows = picked.iter().zip(&befores);
        rows.map(|(id, before)| self.claimed(&table, id, before, now)).collect()
    }

    fn pick(&self, table: &Table, now: i64, limit: usize, kind: &impl Fn(&Row) -> bool) -> Vec<RowId> {
        let (contract, stage) = (self.contract(), self.stage());
        let takes = |row: &Row| {
            kind(row)
                && is_ours(contract, row)
                && !is_barred(contract, row, now)
                && has_attempts_left(contract, stage, row)
                && due_at(contract, stage, row).is_some_and(|due| due <= now)
        };
        if contract.group.as_ref().is_some_and(postrider_contract::Group::keeps_order) {
            return self.pick_both(table, now, limit, &takes);
        }
        if contract.has_shares() {
            let ready = table.in_states(&stage.ready).into_iter().filter(|id| takes(&table.rows[id]));
            return self.in_turns(table, ready, limit, &mut self.permits(table, now));
        }
        if let [only] = stage.ready.as_slice() {
            // With a single ready state, iterate over the index only as far as needed.
            let places = table.index.get(&Some(*only)).into_iter().flatten();
            return places
                .map(|(_, id)| id)
                .filter(|id| takes(&table.rows[*id]))
                .take(limit)
                .cloned()
                .collect();
        }
        table.in_states(&stage.ready).into_iter().filter(|id| takes(&table.rows[id])).take(limit).collect()
    }

    /// Picks free and ordered rows: half of the limit each; either kind may use what the other leaves.
    fn pick_both(&self, table: &Table, now: i64, limit: usize, takes: &impl Fn(&Row) -> bool) -> Vec<RowId> {
        let free = |row: &Row| takes(row) && self.ordered(row).is_none();
        let ready = table.in_states(&self.stage().ready).into_iter().filter(|id| free(&table.rows[id]));
        let mut permits = self.permits(table, now);
        let free = if self.contract().has_shares() {
            self.in_turns(table, ready, limit, &mut permits.clone())
        } else {
            ready.take(limit).collect()
        };
        let is_open = |row: &Row| self.admit(&mut permits.clone(), row);
        let ordered = self.pick_ordered(table, now, limit, takes, &is_open);
        let free_room = (limit / 2).max(limit.saturating_sub(ordered.len()));
        let free: Vec<RowId> =
            free.into_iter().take(free_room).filter(|id| self.admit(&mut permits, &table.rows[id])).collect();
        let mut stopped = std::collections::HashSet::new();
        let ordered = ordered.into_iter().filter(|id| {
            // A run ends before the first row without a pool permit.
            let row = &table.rows[id];
            let group = self.ordered(row).map(|(name, _)| name).unwrap_or_default();
            let goes = !stopped.contains(&group) && self.admit(&mut permits, row);
            if !goes {
                stopped.insert(group);
            }
            goes
        });
        let room = limit - free.len();
        let ordered: Vec<RowId> = ordered.take(room).collect();
        free.into_iter().chain(ordered).collect()
    }

    pub(crate) fn claimed(&self, table: &Table, id: &RowId, before: &Row, now: i64) -> Claimed {
        let (contract, stage) = (self.contract(), self.stage());
        let after = &table.rows[id];
        let fields = self.fields(table, after, now);
        let size = fields.iter().map(|(_, value)| bytes(value)).sum();
        let due = due_at(contract, stage, before).unwrap_or(now);
        let since =
            if due == i64::MIN { int(role(contract, before, Role::Created)).unwrap_or(now) } else { due };
        let text = |value: &Value| value.as_text().map(Into::into);
        let (crashes, crashed_at) = table.crashes.get(&(self.stage, id.clone())).copied().unwrap_or((0, now));
        Claimed {
            lease: Lease { id: id.clone(), fence: self.fence(after) },
            counters: counters(contract, stage, after),
            from: state_of(contract, before),
            group: self.ordered(before).map(|(name, on_error)| Group { key: name.into(), on_error }),
            pool: text(role(contract, before, Role::Pool)),
            share: self.share_of(before).map(Into::into),
            crashes,
            since_crash: now - crashed_at,
            waited_micros: now - since,
            size,
            fields: (size <= INLINE_LIMIT).then_some(fields),
        }
    }

    /// Whether the lease is still valid: the row must be in the claimed state, and every fence value must match.
    pub(crate) fn holds(&self, row: &Row, lease: &Lease) -> bool {
        let state = state_of(self.contract(), row);
        self.claimed_states().into_iter().any(|claimed| state == Some(claimed))
            && self.fence(row) == lease.fence
    }

    pub(crate) fn extend_row(&self, lease: &Lease) -> Option<Lease> {
        let now = self.table.now();
        let nothing = Detail::new();
        let mut table = self.table.lock();
        let before = table.rows.get(&lease.id).filter(|row| self.holds(row, lease))?.clone();
        let after = extended(self.contract(), self.stage(), &before, &self.given(now, &nothing));
        let fence = self.fence(&after);
        table.write(self.contract(), &lease.id, after);
        Some(Lease { id: lease.id.clone(), fence })
    }
}

/// Returns the size of a value in bytes, as the SQL stores measure it.
fn bytes(value: &Value) -> u64 {
    match value {
        Value::Text(text) => text.len() as u64,
        Value::Bytes(bytes) => bytes.len() as u64,
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) => 0,
    }
}
