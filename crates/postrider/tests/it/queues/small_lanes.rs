//! Lanes that hold few rows: jobs of the queue and of the table share the capacity, and all are delivered.

use serde_json::json;

use super::setup::QueueSetup;
use crate::outbox::broker::{Broker, Protocol};
use crate::support::database::Kind;
use crate::support::wait::{TIMEOUT, wait_until};
use crate::support::webhook_receiver::Reply;

const JOBS: u64 = 20;

async fn all_jobs_are_delivered(kind: Kind, protocol: Protocol, limits: &str) {
    let broker = Broker::shared(protocol);
    let mut setup = QueueSetup::open_at(kind, &broker.url, limits, |_, _| Reply::status(200)).await;
    let worker = setup.start();
    for n in 0..JOBS {
        setup.create_job(&worker, &json!({}));
        setup.create_job(&worker, &json!({"messageGroup": format!("g{}", n % 3), "mode": "BLOCK_ON_ERROR"}));
    }
    wait_until("all are delivered", TIMEOUT, || async {
        (setup.sql.count("dispatch_jobs WHERE status = 'COMPLETED'").await == Some(2 * JOBS)).then_some(())
    })
    .await;
    assert_eq!(setup.receiver.journal().len() as u64, 2 * JOBS, "each once");
    assert_eq!(worker.health(), (200, "running".to_owned()));
    setup.installation.stop(worker).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn j03_nats_with_room_for_one_row() {
    all_jobs_are_delivered(Kind::Postgres, Protocol::Nats, "held = 1\n").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn j03_nats_with_room_for_one_batch() {
    all_jobs_are_delivered(Kind::Sqlite, Protocol::Nats, "held = 10\nbatch = 10\n").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn j03_amqp_with_room_for_one_row() {
    all_jobs_are_delivered(Kind::MariaDb, Protocol::Amqp, "held = 1\n").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn j03_amqp_with_room_for_two_rows() {
    all_jobs_are_delivered(Kind::Sqlite, Protocol::Amqp, "held = 2\n").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn j03_sqs_with_room_for_one_row() {
    all_jobs_are_delivered(Kind::Sqlite, Protocol::Sqs, "held = 1\n").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn j03_sqs_with_room_for_one_batch() {
    all_jobs_are_delivered(Kind::Postgres, Protocol::Sqs, "held = 10\nbatch = 10\n").await;
}
