//! Claims rows and extends leases.

use postrider_contract::{ColumnRole, Transition};
use postrider_rows::{
    Row, TransitionInput, counters, due_at, extend_lease, has_attempts_left, int, is_blocked_by_sweep,
    matches_filter, role_value, state_of,
};
use postrider_seams::row::{Detail, RowGroup};
use postrider_seams::store::INLINE_LIMIT;
use postrider_seams::{ClaimedRow, Lease, RowId, Value};

use crate::apply;
use crate::store::MemoryStore;
use crate::table::TableState;

impl MemoryStore {
    pub(crate) fn transition_input<'a>(&'a self, now: i64, no_detail: &'a Detail) -> TransitionInput<'a> {
        TransitionInput {
            now,
            worker: &self.worker,
            delay: std::time::Duration::ZERO,
            reason: None,
            receipt: None,
            envelope: no_detail,
            outcome: no_detail,
        }
    }

    pub(crate) fn claim_rows(&self, limit: u32) -> Vec<ClaimedRow> {
        self.claim_where(limit, |_| true)
    }

    /// Claims up to `limit` rows for which `wanted` is true.
    pub(crate) fn claim_where(&self, limit: u32, wanted: impl Fn(&Row) -> bool) -> Vec<ClaimedRow> {
        let now = self.table.now();
        let no_detail = Detail::new();
        let step = self.contract().lease_move(self.stage(), Transition::Claimed);
        let mut table = self.table.lock();
        let chosen = self.pick(&table, now, limit as usize, &wanted);
        let rows_before: Vec<Row> = chosen.iter().map(|id| table.rows[id].clone()).collect();
        for id in &chosen {
            self.charge_pool(&mut table, id, now, false);
            apply::apply_move(
                &mut table,
                self.contract(),
                &step,
                id,
                &self.transition_input(now, &no_detail),
            );
        }
        let rows = chosen.iter().zip(&rows_before);
        rows.map(|(id, before)| self.claimed(&table, id, before, now)).collect()
    }

    fn pick(&self, table: &TableState, now: i64, limit: usize, wanted: &impl Fn(&Row) -> bool) -> Vec<RowId> {
        let (contract, stage) = (self.contract(), self.stage());
        let is_claimable = |row: &Row| {
            wanted(row)
                && matches_filter(contract, row)
                && !is_blocked_by_sweep(contract, row, now)
                && has_attempts_left(contract, stage, row)
                && due_at(contract, stage, row).is_some_and(|due| due <= now)
        };
        if contract.group.as_ref().is_some_and(postrider_contract::GroupRule::keeps_order) {
            return self.pick_free_and_ordered(table, now, limit, &is_claimable);
        }
        if contract.limits_claims() {
            let ready = table.in_states(&stage.ready).into_iter().filter(|id| is_claimable(&table.rows[id]));
            return self.round_robin(table, ready, limit, &mut self.permits(table, now));
        }
        if let [only] = stage.ready.as_slice() {
            // With a single ready state, iterate over the index only as far as needed.
            let places = table.index.get(&Some(*only)).into_iter().flatten();
            return places
                .map(|(_, id)| id)
                .filter(|id| is_claimable(&table.rows[*id]))
                .take(limit)
                .cloned()
                .collect();
        }
        table
            .in_states(&stage.ready)
            .into_iter()
            .filter(|id| is_claimable(&table.rows[id]))
            .take(limit)
            .collect()
    }

    /// Picks free and ordered rows: half of the limit each; either kind may use what the other leaves.
    fn pick_free_and_ordered(
        &self,
        table: &TableState,
        now: i64,
        limit: usize,
        is_claimable: &impl Fn(&Row) -> bool,
    ) -> Vec<RowId> {
        let free = |row: &Row| is_claimable(row) && self.ordered(row).is_none();
        let ready = table.in_states(&self.stage().ready).into_iter().filter(|id| free(&table.rows[id]));
        let mut permits = self.permits(table, now);
        let free = if self.contract().limits_claims() {
            self.round_robin(table, ready, limit, &mut permits.clone())
        } else {
            ready.take(limit).collect()
        };
        let is_open = |row: &Row| self.admit(&mut permits.clone(), row);
        let ordered = self.pick_ordered(table, now, limit, is_claimable, &is_open);
        let free_limit = (limit / 2).max(limit.saturating_sub(ordered.len()));
        let free: Vec<RowId> = free
            .into_iter()
            .take(free_limit)
            .filter(|id| self.admit(&mut permits, &table.rows[id]))
            .collect();
        let mut stopped_groups = std::collections::HashSet::new();
        let ordered = ordered.into_iter().filter(|id| {
            // A run ends before the first row without a pool permit.
            let row = &table.rows[id];
            let group = self.ordered(row).map(|(name, _)| name).unwrap_or_default();
            let admitted = !stopped_groups.contains(&group) && self.admit(&mut permits, row);
            if !admitted {
                stopped_groups.insert(group);
            }
            admitted
        });
        let remaining = limit - free.len();
        let ordered: Vec<RowId> = ordered.take(remaining).collect();
        free.into_iter().chain(ordered).collect()
    }

    pub(crate) fn claimed(&self, table: &TableState, id: &RowId, before: &Row, now: i64) -> ClaimedRow {
        let (contract, stage) = (self.contract(), self.stage());
        let after = &table.rows[id];
        let fields = self.fields(table, after, now);
        let size = fields.iter().map(|(_, value)| bytes(value)).sum();
        let due = due_at(contract, stage, before).unwrap_or(now);
        let since = if due == i64::MIN {
            int(role_value(contract, before, ColumnRole::Created)).unwrap_or(now)
        } else {
            due
        };
        let text = |value: &Value| value.as_text().map(Into::into);
        let (crashes, crashed_at) = table.crashes.get(&(self.stage, id.clone())).copied().unwrap_or((0, now));
        ClaimedRow {
            lease: Lease { id: id.clone(), fence: self.fence(after) },
            counters: counters(contract, stage, after),
            from: state_of(contract, before),
            group: self.ordered(before).map(|(name, on_error)| RowGroup { key: name.into(), on_error }),
            pool: text(role_value(contract, before, ColumnRole::Pool)),
            share: self.fair_key(before).map(Into::into),
            crashes,
            since_crash: now - crashed_at,
            waited_micros: now - since,
            size,
            fields: (size <= INLINE_LIMIT).then_some(fields),
        }
    }

    /// Whether the lease is still valid: the row must be in the claimed state, and every fence value must match.
    pub(crate) fn lease_holds(&self, row: &Row, lease: &Lease) -> bool {
        let state = state_of(self.contract(), row);
        self.claimed_states().into_iter().any(|claimed| state == Some(claimed))
            && self.fence(row) == lease.fence
    }

    pub(crate) fn extend_row(&self, lease: &Lease) -> Option<Lease> {
        let now = self.table.now();
        let no_detail = Detail::new();
        let mut table = self.table.lock();
        let before = table.rows.get(&lease.id).filter(|row| self.lease_holds(row, lease))?.clone();
        let after =
            extend_lease(self.contract(), self.stage(), &before, &self.transition_input(now, &no_detail));
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
