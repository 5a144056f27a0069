//! Maintenance: lost pointers, jobs that become due, scheduled jobs, and jobs that an application
//! inserted are published.

use serde_json::json;

use super::site::{Site, nats, purge};
use crate::rig::database::Kind;
use crate::rig::hooks::Reply;
use crate::rig::sql::{Cell, Sql};
use crate::rig::wait::{PATIENCE, until};

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
    let mut site = Site::open_at(kind, &broker.url(), STALE, |_, _| Reply::status(200)).await;
    let worker = site.start();
    site.home.shop.run(&["pause", "jobs"]).fine();
    until("paused", PATIENCE, || async { (worker.health().1 == "paused").then_some(()) }).await;
    let (lost, status) = site.make(&worker, &json!({}));
    let (young, _) = site.make(&worker, &json!({}));
    assert_eq!(status, "QUEUED", "a paused lane still takes jobs");
    purge(&broker.url(), &site.queue).await;
    site.home.shop.run(&["resume", "jobs"]).fine();
    until("resumed", PATIENCE, || async { (worker.health().1 == "running").then_some(()) }).await;
    site.sql
        .must(&format!("UPDATE dispatch_jobs SET queued_at = {} WHERE id = '{lost}'", past(&site.sql)))
        .await;
    assert_eq!(site.becomes(&lost, "COMPLETED").await, 1);
    assert_eq!(site.becomes(&young, "QUEUED").await, 0, "the other is not yet stale: nobody looks for it");
    assert!(site.receiver.of(&young).is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn j3_what_the_queue_lost_is_published_again_on_postgres() {
    lost_pointers_are_found(Kind::Postgres).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn j3_what_the_queue_lost_is_published_again_on_mariadb() {
    lost_pointers_are_found(Kind::MariaDb).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn j3_what_the_queue_lost_is_published_again_on_sqlite() {
    lost_pointers_are_found(Kind::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn j3_retries_jobs_for_later_and_rows_of_others_come_to_the_queue_by_themselves() {
    let broker = nats();
    let script = |arrival: &crate::rig::hooks::Arrival, before| {
        Reply::status(if before < 2 && arrival.path == "/twice" { 503 } else { 200 })
    };
    let mut site = Site::open_at(Kind::Sqlite, &broker.url(), "", script).await;
    let worker = site.start();
    let twice = json!({"targetUrl": site.receiver.url("twice"), "retryStrategy": "[1]"});
    let (retried, _) = site.make(&worker, &twice);
    // Insert as an application that does not know the queue.
    let cells: [(&str, Cell); 4] = [
        ("id", "0000000000001".into()),
        ("code", "a:b:c:d".into()),
        ("target_url", site.receiver.url("hook").as_str().into()),
        ("payload", "{}".into()),
    ];
    site.sql.insert("dispatch_jobs", &cells).await;
    let sent = site
        .home
        .shop
        .run(&["send", "webhook", &site.receiver.url("hook"), "--code", "a:b:c:d", "--payload", "{}"])
        .fine();
    assert_eq!(site.becomes(&retried, "COMPLETED").await, 3);
    assert_eq!(site.becomes("0000000000001", "COMPLETED").await, 1);
    assert_eq!(site.becomes(sent.out.trim(), "COMPLETED").await, 1);
    let claimed = worker.figure("postrider_queue_pointers_total{lane=\"jobs\",fate=\"claimed\"}");
    assert_eq!(claimed, 5, "all of them by pointers");
    let later = json!({"scheduledFor": "2999-01-01T00:00:00Z"});
    let (later, status) = site.make(&worker, &later);
    assert_eq!(status, "PENDING", "it is for later");
    site.sql
        .must(&format!("UPDATE dispatch_jobs SET scheduled_for = {} WHERE id = '{later}'", past(&site.sql)))
        .await;
    assert_eq!(site.becomes(&later, "COMPLETED").await, 1);
}
