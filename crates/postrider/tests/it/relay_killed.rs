//! A relay that is killed in the middle of many mails, and comes back.

use std::collections::BTreeSet;
use std::time::Duration;

use postrider_services::{SmtpOptions, SmtpServer};

use crate::support::database::{self, Kind};
use crate::support::installation::Installation;
use crate::support::journal;
use crate::support::sql::Sql;
use crate::support::wait::{TIMEOUT, wait_until};

const MAILS: u64 = 300;
const CONNECTIONS: usize = 4;

/// Each takes the relay a moment, so that it is killed well before the last.
async fn insert(sql: &Sql) {
    let rows: Vec<String> = (0..MAILS)
        .map(|number| format!("('slow-0.02-{number}@example.net', 'killed {number}', 'hello')"))
        .collect();
    sql.must(&format!(
        "INSERT INTO mail_outbox (to_addresses, subject, body_text) VALUES {}",
        rows.join(", ")
    ))
    .await;
}

/// Subject, attempts and error of the rows that an attempt was spent on.
async fn charged_rows(sql: &Sql) -> Vec<Vec<String>> {
    let [subject, attempts, error] =
        ["subject", "retry_count", "coalesce(last_error, '')"].map(|column| sql.text(column));
    let query = format!("SELECT {subject}, {attempts}, {error} FROM mail_outbox WHERE retry_count > 0");
    let rows = sql.rows(&query).await.expect("the table can be read");
    rows.into_iter().map(|row| row.into_iter().flatten().collect()).collect()
}

/// An attempt is spent only on mails whose text had left when the relay died, at most one on each connection.
async fn assert_only_unconfirmed(sql: &Sql) -> BTreeSet<String> {
    let rows = charged_rows(sql).await;
    for row in &rows {
        assert_eq!(row[1], "1", "{row:?}");
        assert!(row[2].starts_with("sent, but not confirmed"), "nothing of it was sent: {row:?}");
    }
    assert!(rows.len() <= CONNECTIONS, "{rows:?}");
    rows.into_iter().map(|mut row| row.swap_remove(0)).collect()
}

async fn kill_relay(kind: Kind) {
    let mut installation = Installation::new();
    let (url, sql) = database::fresh(kind, "relay_killed", &installation.sandbox).await;
    let mut relay =
        tokio::task::block_in_place(|| SmtpServer::start(&SmtpOptions::default())).expect("a relay");
    // What was charged keeps the error of that attempt: it is not tried again before it was looked at.
    installation.write_settings(&format!(
        "[stores.main]\nurl = \"{url}\"\n[transports.relay]\nurl = \"smtp://{}\"\nconnections = {CONNECTIONS}\n\
         [mail]\nfrom = \"shop@example.com\"\n[lanes.mail]\ncontract = \"mail_outbox\"\npoll = \"50ms\"\n\
         sweep = \"200ms\"\nretry.base = \"1h\"\nretry.jitter = 0\n",
        relay.address()
    ));
    installation.sandbox.run(&["migrate"]).success();
    insert(&sql).await;
    let worker = installation.start_worker();
    wait_until("the run is under way", TIMEOUT, || async {
        (journal::read(&relay.journal()).len() >= 40).then_some(())
    })
    .await;
    tokio::task::block_in_place(|| relay.kill());
    let accepted = journal::read(&relay.journal()).len();
    assert!(accepted < 250, "it was killed in the middle: {accepted}");

    wait_until("the lane knows that it is away, and holds nothing", TIMEOUT, || async {
        let held = sql.count("mail_outbox WHERE status = 'dispatching'").await?;
        (held == 0 && worker.get("/readyz").0 == 503).then_some(())
    })
    .await;
    // Long enough for several looks at a relay that is not there.
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(sql.count("mail_outbox WHERE status = 'failed'").await, Some(0));
    let unconfirmed = assert_only_unconfirmed(&sql).await;

    tokio::task::block_in_place(|| relay.restart()).expect("the relay starts again");
    wait_until("all others are sent", TIMEOUT, || async {
        let sent = sql.count("mail_outbox WHERE status = 'sent'").await?;
        (sent == MAILS - unconfirmed.len() as u64).then_some(())
    })
    .await;
    assert_eq!(assert_only_unconfirmed(&sql).await, unconfirmed, "its absence cost nothing more");
    sql.must(&format!("UPDATE mail_outbox SET next_attempt_at = {} WHERE status = 'queued'", sql.now()))
        .await;
    wait_until("all are sent", TIMEOUT, || async {
        (sql.count("mail_outbox WHERE status = 'sent'").await? == MAILS).then_some(())
    })
    .await;
    installation.stop(worker).await;
    let entries = journal::read(&relay.journal());
    let mails = journal::by_subject(&entries);
    assert_eq!(mails.len() as u64, MAILS, "every mail arrived");
    let twice: Vec<_> =
        mails.iter().filter(|(_, copies)| copies.len() > 1).map(|(subject, _)| *subject).collect();
    assert!(twice.iter().all(|subject| unconfirmed.contains(*subject)), "{twice:?} {unconfirmed:?}");
    sql.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn g01_a_killed_relay_costs_no_attempt_for_unsent_mails_on_postgres() {
    kill_relay(Kind::Postgres).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn g01_a_killed_relay_costs_no_attempt_for_unsent_mails_on_sqlite() {
    kill_relay(Kind::Sqlite).await;
}
