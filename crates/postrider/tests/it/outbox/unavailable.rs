//! A broker that is unavailable at the start or later is waited for, and readiness, log and `status` report it (O10).

use postrider_services::{Ministack, Nats, RabbitMq};
use rdkafka::mocking::MockCluster;
use rdkafka::producer::DefaultProducerContext;

use super::broker::{Broker, Protocol};
use super::setup::{Event, OutboxLane};
use crate::sandbox::RunningBinary;
use crate::support::database::Kind;
use crate::support::wait::{TIMEOUT, wait_until};

const TOPIC: &str = "deals";

/// Waits until readiness, log and `status` report that the target is away; the process keeps running.
async fn assert_unavailable(outbox: &OutboxLane, running: &RunningBinary) {
    let readiness = wait_until("/readyz says that the broker is away", TIMEOUT, || async {
        let (code, body) = tokio::task::block_in_place(|| running.get("/readyz"));
        (code == 503 && body.contains("unreachable")).then_some(body)
    });
    let body = readiness.await;
    assert!(body.contains("\"lane\":\"events\""), "{body}");
    assert!(running.log().contains("can't be reached"), "{}", running.log());
    let status = tokio::task::block_in_place(|| outbox.sandbox.run(&["status"]).success());
    assert!(status.stdout.contains("transport `broker`"), "{}", status.stdout);
    let check = tokio::task::block_in_place(|| outbox.sandbox.run(&["check"]).code(1));
    assert!(check.stdout.contains("transport `broker`"), "{}", check.stdout);
}

async fn wait_until_healthy(running: &RunningBinary) {
    wait_until("/readyz is fine again", TIMEOUT, || async {
        (tokio::task::block_in_place(|| running.get("/readyz")).0 == 200).then_some(())
    })
    .await;
}

async fn write(outbox: &OutboxLane, names: std::ops::Range<u32>) {
    for number in names {
        let dedupe = format!("event-{number}");
        outbox.insert(&Event { topic: TOPIC, key: Some("k"), payload: "{}", dedupe: &dedupe }).await;
    }
}

/// Waits until all rows are delivered; fails at once with the reason of a failed row instead of a timeout.
async fn all_delivered(outbox: &OutboxLane, count: u64) {
    wait_until(&format!("{count} rows are DELIVERED"), TIMEOUT, || async {
        if outbox.count("FAILED").await > 0 {
            let rows = outbox.sql.rows("SELECT last_error FROM outbox WHERE status = 'FAILED'").await;
            panic!("no row may fail: {:?}", rows.expect("the table can be read").first());
        }
        (outbox.count("DELIVERED").await == count).then_some(())
    })
    .await;
}

/// Starts without the broker, with rows waiting; starts it, stops it while rows are written, and starts it again.
async fn stops_and_returns(broker: &Broker, come: &mut dyn FnMut(), go: &mut dyn FnMut()) {
    broker.make(TOPIC).await;
    tokio::task::block_in_place(&mut *go);
    let outbox = OutboxLane::open(Kind::Sqlite, broker, "").await;
    write(&outbox, 0..20).await;
    let running = outbox.start();
    assert_unavailable(&outbox, &running).await;
    tokio::task::block_in_place(&mut *come);
    all_delivered(&outbox, 20).await;
    wait_until_healthy(&running).await;
    tokio::task::block_in_place(&mut *go);
    write(&outbox, 20..40).await;
    wait_until("the lane notices", TIMEOUT, || async {
        (tokio::task::block_in_place(|| running.get("/readyz")).0 == 503).then_some(())
    })
    .await;
    tokio::task::block_in_place(come);
    all_delivered(&outbox, 40).await;
    assert!(broker.read(TOPIC, 40).await.len() >= 40);
}

#[tokio::test(flavor = "multi_thread")]
async fn o10_nats_unavailable_at_the_start_and_later() {
    let server = tokio::task::block_in_place(|| Nats::start("").unwrap());
    let broker = Broker { protocol: Protocol::Nats, url: server.url() };
    let server = std::cell::RefCell::new(server);
    let (mut come, mut go) = (|| server.borrow_mut().restart().unwrap(), || server.borrow_mut().kill());
    stops_and_returns(&broker, &mut come, &mut go).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn o10_rabbitmq_unavailable_at_the_start_and_later() {
    let server = tokio::task::block_in_place(|| RabbitMq::start("").unwrap());
    let broker = Broker { protocol: Protocol::Amqp, url: server.url() };
    let server = std::cell::RefCell::new(server);
    let mut come = || server.borrow_mut().restart().unwrap();
    // Stop it in order the first time, as the queue has just been declared; later with SIGKILL.
    let mut goes = 0;
    let mut go = || {
        goes += 1;
        if goes == 1 { server.borrow_mut().stop() } else { server.borrow_mut().kill() }
    };
    stops_and_returns(&broker, &mut come, &mut go).await;
}

/// The mock cluster keeps its records while it is down.
#[tokio::test(flavor = "multi_thread")]
async fn o10_kafka_unavailable_at_the_start_and_later() {
    let cluster: MockCluster<'static, DefaultProducerContext> = MockCluster::new(1).unwrap();
    let broker =
        Broker { protocol: Protocol::Kafka, url: format!("kafka://{}", cluster.bootstrap_servers()) };
    cluster.create_topic(TOPIC, 3, 1).unwrap();
    let outbox = OutboxLane::open(Kind::Sqlite, &broker, "").await;
    cluster.broker_down(1).unwrap();
    write(&outbox, 0..20).await;
    let running = outbox.start();
    assert_unavailable(&outbox, &running).await;
    cluster.broker_up(1).unwrap();
    all_delivered(&outbox, 20).await;
    wait_until_healthy(&running).await;
    cluster.broker_down(1).unwrap();
    write(&outbox, 20..40).await;
    wait_until("the lane notices", TIMEOUT, || async {
        (tokio::task::block_in_place(|| running.get("/readyz")).0 == 503).then_some(())
    })
    .await;
    cluster.broker_up(1).unwrap();
    all_delivered(&outbox, 40).await;
    assert!(broker.read(TOPIC, 40).await.len() >= 40);
}

/// The emulator loses its queues at a restart, so rows are written once there is a queue again.
#[tokio::test(flavor = "multi_thread")]
async fn o10_sqs_unavailable_at_the_start() {
    let mut server = tokio::task::block_in_place(|| Ministack::start().unwrap());
    let broker = Broker { protocol: Protocol::Sqs, url: server.url() };
    tokio::task::block_in_place(|| server.kill());
    let outbox = OutboxLane::open(Kind::Sqlite, &broker, "").await;
    let running = outbox.start();
    assert_unavailable(&outbox, &running).await;
    tokio::task::block_in_place(|| server.restart().unwrap());
    broker.make(TOPIC).await;
    write(&outbox, 0..20).await;
    all_delivered(&outbox, 20).await;
    wait_until_healthy(&running).await;
}
