//! Crash tests: the real binary, several workers, real databases and targets. Workers are killed during their work,
//! databases and brokers are stopped; then the table and what the target received must agree.
//!
//! `POSTRIDER_CRASH_SEED` replays the random choices of a run; `POSTRIDER_CRASH_KILLS` and `POSTRIDER_CRASH_ROWS` make
//! it longer, as `cargo xtask crash` does.

mod emails;
mod faults;
mod kills;
mod mail;
mod notify;
mod outbox;
mod parameters;
mod producer;
mod setup;
mod webhook;

use std::time::Duration;

use crate::support::sql::Sql;
use crate::support::wait::wait_until;

/// Waits until every row is in a final state, with only the remaining workers running.
async fn all_settled(sql: &Sql, open: &str, timeout: Duration) {
    wait_until("every row is settled", timeout, || async {
        let left = sql.count(open).await?;
        (left == 0).then_some(())
    })
    .await;
}

/// Formats the first violations for the message.
fn list_violations(violations: &[String]) -> String {
    let shown = violations.iter().take(20).cloned().collect::<Vec<_>>().join("\n");
    format!("{} violations:\n{shown}", violations.len())
}
