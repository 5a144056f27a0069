//! Crash tests: the real binary, several workers, real databases and targets. Workers are killed during their work,
//! databases and brokers are stopped; then the table and what the target received must agree.
//!
//! `POSTRIDER_CRASH_SEED` replays the random choices of a run; `POSTRIDER_CRASH_KILLS` and `POSTRIDER_CRASH_ROWS` make
//! it longer, as `cargo xtask crash` does.

mod emails;
mod ground;
mod kills;
mod mail;
mod notify;
mod outbox;
mod plan;
mod producer;
mod storm;
mod webhook;

use std::time::Duration;

use crate::rig::sql::Sql;
use crate::rig::wait::until;

/// Waits until every row is in a final state, with only the remaining workers running.
async fn all_settled(sql: &Sql, open: &str, patience: Duration) {
    until("every row is settled", patience, || async {
        let left = sql.count(open).await?;
        (left == 0).then_some(())
    })
    .await;
}

/// Formats the first breaches for the message.
fn told(breaches: &[String]) -> String {
    let shown = breaches.iter().take(20).cloned().collect::<Vec<_>>().join("\n");
    format!("{} breaches:\n{shown}", breaches.len())
}
