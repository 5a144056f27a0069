//! The cost of a crash for a begun row, by its own counters.

use postrider_contract::{ColumnRole, Contract, Crash, Stage};

use crate::condition::{counters, role_value};
use crate::{Row, takeover};

/// Returns the effect of a crash on the row. `crashes` is the number of crashes before this one.
pub fn crash(contract: &Contract, stage: &Stage, row: &Row, crashes: u32) -> Crash {
    let counters = counters(contract, stage, row);
    let limit = counters.max_attempts.unwrap_or(stage.attempts.max).max(1);
    let last = match stage.lease.poison.filter(|_| !stage.lease.spend) {
        Some(most) => takeover::count(role_value(contract, row, ColumnRole::Error)) + 1 >= i64::from(most),
        None => stage.is_last(&counters),
    };
    Crash::of(stage, crashes, last, limit)
}
