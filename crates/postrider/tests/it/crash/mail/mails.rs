//! An application that writes its mails while everything around it breaks.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rand::Rng as _;

use crate::crash::plan::Plan;
use crate::rig::sql::Sql;

const PATIENCE: Duration = Duration::from_mins(3);

/// Writes all rows, in transactions of some rows each, as many as belong to the kills so far: there is always work
/// for the next victim.
pub async fn write(sql: Sql, plan: Plan, kills: Arc<AtomicU32>) {
    let mut dice = plan.dice(1);
    let mut written = 0;
    while written < plan.rows {
        let ahead = kills.load(Ordering::Relaxed) + 1;
        let allowed = (u64::from(plan.rows) * u64::from(ahead) / u64::from(plan.kills)).min(plan.rows.into());
        let allowed = u32::try_from(allowed).expect("no more than all rows");
        if written >= allowed {
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        }
        let until = (written + dice.random_range(1..=40)).min(allowed);
        commit(&sql, written, until).await;
        written = until;
        tokio::time::sleep(Duration::from_millis(dice.random_range(0..30))).await;
    }
}

/// One transaction. Where its answer was lost with the database, the table tells whether it took place.
async fn commit(sql: &Sql, from: u32, until: u32) {
    let rows: Vec<String> = (from..until).map(|number| row(sql, number)).collect();
    let statement = format!(
        "INSERT INTO mail_outbox (idempotency_key, from_address, to_addresses, subject, body_text, next_attempt_at) \
         VALUES {}",
        rows.join(", ")
    );
    let end = Instant::now() + PATIENCE;
    while let Err(error) = sql.execute(&statement).await {
        assert!(
            Instant::now() < end,
            "the application could not write for {} s: {error}",
            PATIENCE.as_secs()
        );
        tokio::time::sleep(Duration::from_millis(100)).await;
        let there = format!("mail_outbox WHERE idempotency_key = '{}'", key(from));
        if sql.count(&there).await == Some(1) {
            return;
        }
    }
}

/// The relay takes its time over most mails, so that a kill finds some under way.
fn row(sql: &Sql, number: u32) -> String {
    let slow = if number.is_multiple_of(10) { "" } else { "slow-0.04-" };
    format!(
        "('{}', 'app@example.org', '{slow}{number}@example.net', '{}', 'Number {number}.', {})",
        key(number),
        subject(number),
        sql.now()
    )
}

pub fn key(number: u32) -> String {
    format!("order-{number:06}")
}

pub fn subject(number: u32) -> String {
    format!("Your order {number:06}")
}
