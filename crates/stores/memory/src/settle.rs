//! Settles rows: transitions guarded by the fence.

use postrider_rows::TransitionInput;
use postrider_seams::store::{LeaseResult, Settlement};

use crate::apply;
use crate::store::MemoryStore;
use crate::table::TableState;

impl MemoryStore {
    /// Settles one row; hands back `releases` first, under the same lock.
    pub(crate) fn settle_row(&self, settlement: &Settlement) -> LeaseResult {
        let mut table = self.table.lock();
        for lease in &settlement.releases {
            self.settle_locked(&mut table, &Settlement::released(lease.clone()));
        }
        self.settle_locked(&mut table, settlement)
    }

    fn settle_locked(&self, table: &mut TableState, settlement: &Settlement) -> LeaseResult {
        let now = self.table.now();
        let held =
            table.rows.get(&settlement.lease.id).is_some_and(|row| self.lease_holds(row, &settlement.lease));
        if !held {
            return LeaseResult::Lost;
        }
        let input = TransitionInput {
            now,
            worker: &self.worker,
            delay: settlement.delay,
            reason: settlement.reason.as_deref(),
            receipt: settlement.receipt.as_deref(),
            envelope: &settlement.envelope,
            outcome: &settlement.outcome,
        };
        if settlement.is_untried() {
            self.charge_pool(table, &settlement.lease.id, now, true);
        }
        if settlement.transition.ends_attempt() {
            table.crashes.remove(&(self.stage, settlement.lease.id.clone()));
        }
        let step = self.contract().lease_move(self.stage(), settlement.transition);
        apply::apply_move(table, self.contract(), &step, &settlement.lease.id, &input);
        LeaseResult::Held
    }
}
