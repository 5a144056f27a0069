//! Maintenance: lost pointers, jobs that become due, scheduled jobs, and jobs that an application
//! inserted are published.

use serde_json::json;

use super::setup::{QueueSetup, nats, purge};
use crate::support::database::Kind;
use crate::support::sql::{Cell, Sql};
use crate::support::wait::{TIMEOUT, wait_until};
use crate::support::webhook_receiver::Reply;

const STALE: &str = "[lanes.jobs.sweep.stale]\nevery = \"1s\"\n";

fn past(sql: &Sql) -> &'static str {
    match sql {
        Sql::Postgres(_) => "now() - interval '16 minutes'",
        Sql::MariaDb(_) => "UTC_TIMESTAMP(6) - INTERVAL 16 MINUTE",
        Sql::Sqlite(_) => "strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-16 minutes')",
    }
}

async fn lost_pointers_are_found(kind: Kind) {
    let broker = nats();
    let mut setup = QueueSetup::open_at(kind, &broker.url(), STALE, |_, _| Reply::status(200)).await;
    let worker = setup.start();
    setup.installation.sandbox.run(&["pause", "jobs"]).success();
    wait_until("paused", TIMEOUT, || async { (worker.health().1 == "paused").then_some(()) }).await;
    let (lost, status) = setup.create_job(&worker, &json!({}));
    let (young, _) = setup.create_job(&worker, &json!({}));
    assert_eq!(status, "QUEUED", "a paused lane still takes jobs");
    purge(&broker.url(), &setup.queue).await;
    setup.installation.sandbox.run(&["resume", "jobs"]).success();
    wait_until("resumed", TIMEOUT, || async { (worker.health().1 == "running").then_some(()) }).await;
    setup
        .sql
        .must(&format!("UPDATE dispatch_jobs SET queued_at = {} WHERE id = '{lost}'", past(&setup.sql)))
        .await;
    assert_eq!(setup.wait_for_status(&lost, "COMPLETED").await, 1);
    assert_eq!(
        setup.wait_for_status(&young, "QUEUED").await,
        0,
        "the other is not yet stale: no poller publishes it"
    );
    assert!(setup.receiver.requests_of(&young).is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn j03_lost_pointers_are_published_again_on_postgres() {
    lost_pointers_are_found(Kind::Postgres).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn j03_lost_pointers_are_published_again_on_mariadb() {
    lost_pointers_are_found(Kind::MariaDb).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn j03_lost_pointers_are_published_again_on_sqlite() {
    lost_pointers_are_found(Kind::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn j03_retries_scheduled_jobs_and_inserted_rows_are_published_automatically() {
    let broker = nats();
    let script = |request: &crate::support::webhook_receiver::ReceivedRequest, before| {
        Reply::status(if before < 2 && request.path == "/twice" { 503 } else { 200 })
    };
    let mut setup = QueueSetup::open_at(Kind::Sqlite, &broker.url(), "", script).await;
    let worker = setup.start();
    let twice = json!({"targetUrl": setup.receiver.url("twice"), "retryStrategy": "[1]"});
    let (retried, _) = setup.create_job(&worker, &twice);
    // Insert as an application that does not know the queue.
    let cells: [(&str, Cell); 4] = [
        ("id", "0000000000001".into()),
        ("code", "a:b:c:d".into()),
        ("target_url", setup.receiver.url("hook").as_str().into()),
        ("payload", "{}".into()),
    ];
    setup.sql.insert("dispatch_jobs", &cells).await;
    let sent = setup
        .installation
        .sandbox
        .run(&["send", "webhook", &setup.receiver.url("hook"), "--code", "a:b:c:d", "--payload", "{}"])
        .success();
    assert_eq!(setup.wait_for_status(&retried, "COMPLETED").await, 3);
    assert_eq!(setup.wait_for_status("0000000000001", "COMPLETED").await, 1);
    assert_eq!(setup.wait_for_status(sent.stdout.trim(), "COMPLETED").await, 1);
    let claimed = worker.metric("postrider_queue_pointers_total{lane=\"jobs\",fate=\"claimed\"}");
    assert_eq!(claimed, 5, "all of them by pointers");
    let later = json!({"scheduledFor": "2999-01-01T00:00:00Z"});
    let (later, status) = setup.create_job(&worker, &later);
    assert_eq!(status, "PENDING", "it is for later");
    setup
        .sql
        .must(&format!("UPDATE dispatch_jobs SET scheduled_for = {} WHERE id = '{later}'", past(&setup.sql)))
        .await;
    assert_eq!(setup.wait_for_status(&later, "COMPLETED").await, 1);
}
