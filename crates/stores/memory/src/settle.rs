//! Settle: one fenced move.

use postrider_seams::store::{Held, Settlement};

use crate::apply::{self, Given};
use crate::store::MemoryStore;

impl MemoryStore {
    pub(crate) fn settle_row(&self, settlement: &Settlement) -> Held {
        let now = self.table.now();
        let mut table = self.table.lock();
        let held = table.rows.get(&settlement.lease.id).is_some_and(|row| self.holds(row, &settlement.lease));
        if !held {
            return Held::Lost;
        }
        let given = Given {
            now,
            worker: &self.worker,
            delay: settlement.delay,
            reason: settlement.reason.as_deref(),
            receipt: settlement.receipt.as_deref(),
            envelope: &settlement.envelope,
            outcome: &settlement.outcome,
        };
        let step = self.contract().lease_move(self.stage(), settlement.transition);
        apply::make(&mut table, self.contract(), &step, &settlement.lease.id, &given);
        Held::Held
    }
}
