//! The queue becomes unavailable, and returns.

use serde_json::json;

use super::site::{Site, nats};
use crate::rig::database::Kind;
use crate::rig::hooks::Reply;
use crate::rig::wait::{PATIENCE, until};

async fn jobs_wait_in_the_table(kind: Kind) {
    let mut broker = nats();
    let mut site = Site::open_at(kind, &broker.url(), "", |_, _| Reply::status(200)).await;
    let worker = site.start();
    let (id, status) = site.make(&worker, &json!({}));
    assert_eq!(status, "QUEUED");
    site.becomes(&id, "COMPLETED").await;
    tokio::task::block_in_place(|| broker.kill());
    let mut waiting = Vec::new();
    for _ in 0..3 {
        let (id, status) = site.make(&worker, &json!({}));
        assert_eq!(status, "PENDING", "the answer tells that the queue refused it");
        waiting.push(id);
    }
    until("the lane says so", PATIENCE, || async {
        (worker.health() == (200, "queue_away".to_owned())).then_some(())
    })
    .await;
    // A poller that publishes the jobs again moves them out of PENDING until the queue has refused them.
    until("all are back in the table", PATIENCE, || async {
        (site.sql.count("dispatch_jobs WHERE status = 'PENDING'").await == Some(3)).then_some(())
    })
    .await;
    // Jobs that never use the queue are delivered.
    let (ordered, status) = site.make(&worker, &json!({"messageGroup": "g", "mode": "BLOCK_ON_ERROR"}));
    assert_eq!(status, "QUEUED");
    site.becomes(&ordered, "COMPLETED").await;
    let said = site.home.shop.run(&["status"]).fine();
    assert!(said.out.contains("queue `jobs`"), "{}", said.out);
    let checked = site.home.shop.run(&["check"]);
    assert_eq!(checked.code, Some(1), "{}", checked.out);
    tokio::task::block_in_place(|| broker.start_again()).expect("NATS starts again");
    for id in &waiting {
        assert_eq!(site.becomes(id, "COMPLETED").await, 1);
    }
    until("the lane is well", PATIENCE, || async {
        (worker.health() == (200, "running".to_owned())).then_some(())
    })
    .await;
    assert_eq!(site.receiver.journal().len(), 5, "each once");
    site.home.stop(worker).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn j3_jobs_are_pending_while_the_queue_is_away_on_postgres() {
    jobs_wait_in_the_table(Kind::Postgres).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn j3_jobs_are_pending_while_the_queue_is_away_on_mariadb() {
    jobs_wait_in_the_table(Kind::MariaDb).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn j3_jobs_are_pending_while_the_queue_is_away_on_sqlite() {
    jobs_wait_in_the_table(Kind::Sqlite).await;
}
