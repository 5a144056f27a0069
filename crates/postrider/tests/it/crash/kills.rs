//! Twenty kills and a slow, healthy relay: what was never handed over costs nothing, and no row dies.

use crate::rig::database::{Kind, fresh};
use crate::rig::home::Home;
use crate::rig::relay::Relay;
use crate::rig::sql::Sql;
use crate::rig::wait::{PATIENCE, until};

const KILLS: u32 = 20;
const ROWS: u32 = 60;
/// Deliveries at once: at most so many rows are begun at a kill.
const CONCURRENCY: u64 = 2;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn m07_twenty_kills_and_a_slow_relay_kill_no_row_on_postgres() {
    run(Kind::Postgres).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn m07_twenty_kills_and_a_slow_relay_kill_no_row_on_mariadb() {
    run(Kind::MariaDb).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn m07_twenty_kills_and_a_slow_relay_kill_no_row_on_sqlite() {
    run(Kind::Sqlite).await;
}

/// The contract's own five attempts; only the lease is short, so that a run takes seconds.
fn settings(url: &str, relay: &str) -> String {
    format!(
        r#"
[stores.main]
url = "{url}"

[transports.relay]
url = "smtp://{relay}"
connections = {CONCURRENCY}

[lanes.mail_outbox]
contract = "mail_outbox"
concurrency = {CONCURRENCY}
batch = 50
held = 50
poll = "100ms"
sweep = "200ms"
lease.for = "1s"
"#
    )
}

async fn run(kind: Kind) {
    let mut home = Home::new();
    let (url, sql) = fresh(kind, "kills", &home.shop).await;
    home.settle_in(&settings(&url, &Relay::shared().address));
    home.shop.run(&["migrate"]).fine();
    insert(&sql).await;
    for kill in 0..u64::from(KILLS) {
        let worker = home.start_worker();
        // A list of its own, beside those of the dead: rows are on their way, and more are held.
        until("rows are in flight", PATIENCE, || async {
            (sql.count("postrider_begun").await? > kill).then_some(())
        })
        .await;
        home.kill(worker);
    }
    assert_eq!(sql.count("mail_outbox WHERE status = 'failed'").await, Some(0), "no row died");
    let sum = format!("SELECT {} FROM mail_outbox", sql.text("sum(retry_count)"));
    let spent = sql.rows(&sum).await.expect("rows");
    let spent: u64 = spent[0][0].as_deref().unwrap_or("0").parse().expect("a number");
    let most = u64::from(KILLS) * CONCURRENCY;
    assert!(spent <= most, "{spent} attempts were spent; at most {most} rows can have been begun");
    let worker = home.start_worker();
    until("the rest goes on", PATIENCE, || async {
        (sql.count("mail_outbox WHERE status = 'sent'").await? > 0).then_some(())
    })
    .await;
    home.kill(worker);
}

/// The relay takes two seconds for each.
async fn insert(sql: &Sql) {
    let row = |number: u32| {
        format!(
            "('app@example.org', 'slow-2-{number}@example.net', 'Kill {number}', 'Number {number}.', {})",
            sql.now()
        )
    };
    let rows: Vec<String> = (0..ROWS).map(row).collect();
    let columns = "from_address, to_addresses, subject, body_text, next_attempt_at";
    sql.must(&format!("INSERT INTO mail_outbox ({columns}) VALUES {}", rows.join(", "))).await;
}
