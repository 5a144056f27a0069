//! When an e-mail came to the stage that tells of it.
//!
//! A step back writes the state's record anew, so the time is kept in `_META`: the first claim of the stage puts there when the
//! record was written that it found, and the move that leads out of the stage takes it away.

use postrider_contract::{Move, Stage, Transition};
use postrider_rows::{Row, int};
use postrider_seams::Value;

use crate::layout::REACHED_AT;
use crate::record::Record;
use crate::store::DynamoStore;

impl DynamoStore {
    pub(crate) fn tells(&self, stage: &Stage) -> bool {
        self.contract.history.as_ref().is_some_and(|history| history.tells.contains(&stage.name))
    }

    /// What a move makes of the time; `forward` where it leads to a state for the first time.
    pub(crate) fn keep_reached(&self, step: &Move<'_>, before: &Row, after: &mut Row, forward: bool) {
        if !self.tells(step.stage) {
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

    /// In milliseconds, as composers know it.
    pub(crate) fn reached(&self, record: &Record) -> Option<Value> {
        let known = record.row.get(REACHED_AT).and_then(int).map(|micros| Value::Int(micros / 1000));
        self.tells(self.stage()).then(|| known.unwrap_or_default())
    }
}
