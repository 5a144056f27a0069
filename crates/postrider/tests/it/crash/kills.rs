//! Twenty kills and a slow, healthy target, for every contract: rows that were never sent are charged nothing, no row
//! ends dead, and every row is delivered. Leases are short, so that rows are in flight at more than one kill.

mod cases;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::emails::table::EmailTable;
use crate::support::installation::Installation;
use crate::support::sql::Sql;
use crate::support::wait::{TIMEOUT, wait_until};
use crate::support::worker::Worker;
use cases::{Case, Counted};

const KILLS: u32 = 20;
/// Rows: few enough that rows are begun several times, and more than are in flight at once.
const ROWS: u32 = 10;
/// Concurrent deliveries.
const CONCURRENCY: u32 = 2;
/// Time after which a worker without rows in flight, because rows wait or are leased, is killed anyway.
const IDLE: Duration = Duration::from_secs(2);
/// Time limit of the end: the longest backoff of a suspect row, and a delivery of each row alone.
const END: Duration = Duration::from_mins(4);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn m07_twenty_kills_end_no_mail_on_mariadb() {
    run(cases::mail_outbox().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o05_twenty_kills_end_no_record_on_postgres() {
    run(cases::outbox().await).await;
}

/// Half of the jobs are in one BLOCK_ON_ERROR group, where a dead head would block all jobs behind it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn j02_twenty_kills_end_no_job_on_sqlite() {
    run(cases::dispatch_jobs().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn n13_twenty_kills_end_no_notification_on_sqlite() {
    run(cases::notifications().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn e10_twenty_kills_end_no_email_on_mariadb() {
    run(cases::emails().await).await;
}

/// Without SQL: workers are killed while they hold rows, and boto3 reads the records.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn e10_twenty_kills_end_no_email_on_dynamodb() {
    let mut installation = Installation::new();
    let table = EmailTable::dynamodb();
    let url = table.url();
    installation.write_settings(&format!("[stores.main]\nurl = \"{url}\"\n{}", cases::email_lanes("3s")));
    installation.sandbox.run(&["migrate"]).success();
    table.accept(&cases::payloads(&installation)).await;
    for _ in 0..KILLS {
        let worker = installation.start_worker();
        wait_until_running(&worker).await;
        let end = Instant::now() + IDLE;
        while worker.held() == 0 && Instant::now() < end {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
        installation.kill(worker);
    }
    let worker = installation.start_worker();
    wait_until("every e-mail is sent", END, || async {
        tokio::time::sleep(Duration::from_secs(2)).await;
        let states: Vec<String> = table.histories().await.into_values().map(|mail| mail.latest).collect();
        assert!(
            !states.iter().any(|state| state == "FAILED" || state == "INVALID"),
            "no row may die: {states:?}"
        );
        (states.len() == ROWS as usize && states.iter().all(|state| state == "SENT")).then_some(())
    })
    .await;
    installation.stop(worker).await;
}

async fn run(mut case: Case) {
    let Counted { table, dead, delivered, attempts } = case.counted;
    let key = case.sql.text(case.key);
    let mut begun = BTreeSet::new();
    let mut hits = 0;
    for kill in 0..KILLS {
        let worker = case.installation.start_worker();
        hits += u32::from(
            kill_with_rows_in_flight(&mut case.installation, worker, &case.sql, table, &mut begun).await,
        );
        let spent = format!("SELECT {key} FROM {table} WHERE {attempts} > 0 AND NOT ({delivered})");
        for row in case.sql.rows(&spent).await.expect("rows") {
            let id = row[0].as_deref().expect("a key");
            assert!(begun.contains(id), "kill {kill}: row {id} spent an attempt and was never begun");
        }
    }
    assert!(hits >= case.least_hits, "only {hits} of {KILLS} kills found rows in flight");
    let worker = case.installation.start_worker();
    wait_until("every row is delivered", END, || async {
        let died = case.sql.count(&format!("{table} WHERE {dead}")).await?;
        assert_eq!(died, 0, "no row may die: none of them is to blame");
        (case.sql.count(&format!("{table} WHERE {delivered}")).await? == u64::from(ROWS)).then_some(())
    })
    .await;
    case.installation.stop(worker).await;
}

/// Kills the worker with SIGKILL once it has rows in flight. Records the begun rows, whose list outlives the worker.
async fn kill_with_rows_in_flight(
    installation: &mut Installation,
    worker: Worker,
    sql: &Sql,
    table: &str,
    begun: &mut BTreeSet<String>,
) -> bool {
    let lists = format!("SELECT worker, leases FROM postrider_begun WHERE place LIKE '{table}/%'");
    let before: BTreeSet<_> = workers(&sql.rows(&lists).await.unwrap_or_default());
    wait_until_running(&worker).await;
    let end = Instant::now() + IDLE;
    let mut found = false;
    while !found && Instant::now() < end {
        tokio::time::sleep(Duration::from_millis(20)).await;
        let now = sql.rows(&lists).await.unwrap_or_default();
        found = workers(&now).difference(&before).next().is_some();
    }
    installation.kill(worker);
    for row in sql.rows(&lists).await.expect("lists") {
        let marks: Vec<Vec<Option<String>>> =
            serde_json::from_str(row[1].as_deref().unwrap_or("[]")).expect("a list of leases");
        begun.extend(marks.into_iter().filter_map(|mark| mark.into_iter().next().flatten()));
    }
    found
}

async fn wait_until_running(worker: &Worker) {
    wait_until("a worker is running", TIMEOUT, || async { worker.log().contains("running").then_some(()) })
        .await;
}

fn workers(lists: &[Vec<Option<String>>]) -> BTreeSet<String> {
    lists.iter().filter_map(|row| row[0].clone()).collect()
}
