//! Keeps the time at which an e-mail reached a callback stage.
//!
//! A step back rewrites the state's record, so the time is kept in `_META`: the first claim of the stage stores the
//! time of the record that it found, and the move that leaves the stage removes it.

use postrider_contract::{Move, Stage, Transition};
use postrider_rows::{Row, int};
use postrider_seams::Value;

use crate::layout::REACHED_AT;
use crate::record::Record;
use crate::store::DynamoStore;

impl DynamoStore {
    pub(crate) fn reports_reached_at(&self, stage: &Stage) -> bool {
        self.contract.history.as_ref().is_some_and(|history| history.reached_for.contains(&stage.name))
    }

    /// Sets or removes the time in a move; `forward` if the move leads to a state for the first time.
    pub(crate) fn update_reached_at(&self, step: &Move<'_>, before: &Row, after: &mut Row, forward: bool) {
        if !self.reports_reached_at(step.stage) {
            return;
        }
        if step.transition != Transition::Claimed {
            if forward {
                after.insert(REACHED_AT.to_owned(), Value::Null);
            }
            return;
        }
        let known = before.get(REACHED_AT).and_then(int).is_some();
        if let (false, Some(since)) = (known, before.get(&self.layout.updated)) {
            after.insert(REACHED_AT.to_owned(), since.clone());
        }
    }

    /// Returns the time in milliseconds, the unit of composers.
    pub(crate) fn reached(&self, record: &Record) -> Option<Value> {
        let known = record.row.get(REACHED_AT).and_then(int).map(|micros| Value::Int(micros / 1000));
        self.reports_reached_at(self.stage()).then(|| known.unwrap_or_default())
    }
}
