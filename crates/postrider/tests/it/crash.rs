//! Crash tests: the real binary, several workers, real databases and targets. Workers are killed in the middle of their
//! work, databases and brokers taken away; then the table and what the target got must agree.
//!
//! `POSTRIDER_CRASH_SEED` replays a run's choices, `POSTRIDER_CRASH_KILLS` and `POSTRIDER_CRASH_ROWS` make it longer:
//! `cargo xtask crash` does.

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

/// Every row comes to rest by itself: nobody helps but the workers that are left.
async fn all_settled(sql: &Sql, open: &str, patience: Duration) {
    until("every row is settled", patience, || async {
        let left = sql.count(open).await?;
        (left == 0).then_some(())
    })
    .await;
}

/// The first of what should not be.
fn told(breaches: &[String]) -> String {
    let shown = breaches.iter().take(20).cloned().collect::<Vec<_>>().join("\n");
    format!("{} breaches:\n{shown}", breaches.len())
}
