//! The queue becomes unavailable, and returns.

use serde_json::json;

use super::setup::{QueueSetup, nats};
use crate::support::database::Kind;
use crate::support::wait::{TIMEOUT, wait_until};
use crate::support::webhook_receiver::Reply;

async fn jobs_wait_in_the_table(kind: Kind) {
    let mut broker = nats();
    let mut setup = QueueSetup::open_at(kind, &broker.url(), "", |_, _| Reply::status(200)).await;
    let worker = setup.start();
    let (id, status) = setup.create_job(&worker, &json!({}));
    assert_eq!(status, "QUEUED");
    setup.wait_for_status(&id, "COMPLETED").await;
    tokio::task::block_in_place(|| broker.kill());
    let mut waiting = Vec::new();
    for _ in 0..3 {
        let (id, status) = setup.create_job(&worker, &json!({}));
        assert_eq!(status, "PENDING", "the answer shows that the queue refused it");
        waiting.push(id);
    }
    wait_until("the lane says so", TIMEOUT, || async {
        (worker.health() == (200, "queue_away".to_owned())).then_some(())
    })
    .await;
    // A poller that publishes the jobs again moves them out of PENDING until the queue has refused them.
    wait_until("all are back in the table", TIMEOUT, || async {
        (setup.sql.count("dispatch_jobs WHERE status = 'PENDING'").await == Some(3)).then_some(())
    })
    .await;
    // Jobs that never use the queue are delivered.
    let (ordered, status) =
        setup.create_job(&worker, &json!({"messageGroup": "g", "mode": "BLOCK_ON_ERROR"}));
    assert_eq!(status, "QUEUED");
    setup.wait_for_status(&ordered, "COMPLETED").await;
    let output = setup.installation.sandbox.run(&["status"]).success();
    assert!(output.stdout.contains("queue `jobs`"), "{}", output.stdout);
    let checked = setup.installation.sandbox.run(&["check"]);
    assert_eq!(checked.code, Some(1), "{}", checked.stdout);
    tokio::task::block_in_place(|| broker.restart()).expect("NATS starts again");
    for id in &waiting {
        assert_eq!(setup.wait_for_status(id, "COMPLETED").await, 1);
    }
    wait_until("the lane is well", TIMEOUT, || async {
        (worker.health() == (200, "running".to_owned())).then_some(())
    })
    .await;
    assert_eq!(setup.receiver.journal().len(), 5, "each once");
    setup.installation.stop(worker).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn j03_jobs_are_pending_while_the_queue_is_unavailable_on_postgres() {
    jobs_wait_in_the_table(Kind::Postgres).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn j03_jobs_are_pending_while_the_queue_is_unavailable_on_mariadb() {
    jobs_wait_in_the_table(Kind::MariaDb).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn j03_jobs_are_pending_while_the_queue_is_unavailable_on_sqlite() {
    jobs_wait_in_the_table(Kind::Sqlite).await;
}
