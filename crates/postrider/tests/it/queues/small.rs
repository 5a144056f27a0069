//! Lanes that hold few rows: jobs of the queue and of the table share the capacity, and all are delivered.

use serde_json::json;

use super::site::Site;
use crate::outbox::broker::{Broker, Protocol};
use crate::rig::database::Kind;
use crate::rig::hooks::Reply;
use crate::rig::wait::{PATIENCE, until};

const JOBS: u64 = 20;

async fn everything_goes(kind: Kind, protocol: Protocol, limits: &str) {
    let broker = Broker::shared(protocol);
    let mut site = Site::open_at(kind, &broker.url, limits, |_, _| Reply::status(200)).await;
    let worker = site.start();
    for n in 0..JOBS {
        site.make(&worker, &json!({}));
        site.make(&worker, &json!({"messageGroup": format!("g{}", n % 3), "mode": "BLOCK_ON_ERROR"}));
    }
    until("all are delivered", PATIENCE, || async {
        (site.sql.count("dispatch_jobs WHERE status = 'COMPLETED'").await == Some(2 * JOBS)).then_some(())
    })
    .await;
    assert_eq!(site.receiver.journal().len() as u64, 2 * JOBS, "each once");
    assert_eq!(worker.health(), (200, "running".to_owned()));
    site.home.stop(worker).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn j3_nats_with_room_for_one_row() {
    everything_goes(Kind::Postgres, Protocol::Nats, "held = 1\n").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn j3_nats_with_room_for_one_batch() {
    everything_goes(Kind::Sqlite, Protocol::Nats, "held = 10\nbatch = 10\n").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn j3_amqp_with_room_for_one_row() {
    everything_goes(Kind::MariaDb, Protocol::Amqp, "held = 1\n").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn j3_amqp_with_room_for_two_rows() {
    everything_goes(Kind::Sqlite, Protocol::Amqp, "held = 2\n").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn j3_sqs_with_room_for_one_row() {
    everything_goes(Kind::Sqlite, Protocol::Sqs, "held = 1\n").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn j3_sqs_with_room_for_one_batch() {
    everything_goes(Kind::Postgres, Protocol::Sqs, "held = 10\nbatch = 10\n").await;
}
