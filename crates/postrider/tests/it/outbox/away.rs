//! A broker that is unavailable at the start or later is waited for, and readiness, log and `status` report it (O10).

use postrider_services::{Ministack, Nats, RabbitMq};
use rdkafka::mocking::MockCluster;
use rdkafka::producer::DefaultProducerContext;

use super::broker::{Broker, Protocol};
use super::site::{Event, Site};
use crate::rig::database::Kind;
use crate::rig::wait::{PATIENCE, until};
use crate::shop::Running;

const TOPIC: &str = "deals";

/// Waits until readiness, log and `status` report that the target is away; the process keeps running.
async fn says_so(site: &Site, running: &Running) {
    let told = until("/readyz says that the broker is away", PATIENCE, || async {
        let (code, body) = tokio::task::block_in_place(|| running.get("/readyz"));
        (code == 503 && body.contains("unreachable")).then_some(body)
    });
    let body = told.await;
    assert!(body.contains("\"lane\":\"events\""), "{body}");
    assert!(running.log().contains("can't be reached"), "{}", running.log());
    let status = tokio::task::block_in_place(|| site.shop.run(&["status"]).fine());
    assert!(status.out.contains("transport `broker`"), "{}", status.out);
    let check = tokio::task::block_in_place(|| site.shop.run(&["check"]).code(1));
    assert!(check.out.contains("transport `broker`"), "{}", check.out);
}

async fn is_fine_again(running: &Running) {
    until("/readyz is fine again", PATIENCE, || async {
        (tokio::task::block_in_place(|| running.get("/readyz")).0 == 200).then_some(())
    })
    .await;
}

async fn write(site: &Site, names: std::ops::Range<u32>) {
    for number in names {
        let dedupe = format!("event-{number}");
        site.insert(&Event { topic: TOPIC, key: Some("k"), payload: "{}", dedupe: &dedupe }).await;
    }
}

/// Waits until all rows are delivered; fails at once with the reason of a failed row instead of a timeout.
async fn all_delivered(site: &Site, count: u64) {
    until(&format!("{count} rows are DELIVERED"), PATIENCE, || async {
        if site.count("FAILED").await > 0 {
            let rows = site.sql.rows("SELECT last_error FROM outbox WHERE status = 'FAILED'").await;
            panic!("no row may fail: {:?}", rows.expect("the table can be read").first());
        }
        (site.count("DELIVERED").await == count).then_some(())
    })
    .await;
}

/// Starts without the broker, with rows waiting; starts it, stops it while rows are written, and starts it again.
async fn comes_and_goes(broker: &Broker, come: &mut dyn FnMut(), go: &mut dyn FnMut()) {
    broker.make(TOPIC).await;
    tokio::task::block_in_place(&mut *go);
    let site = Site::open(Kind::Sqlite, broker, "").await;
    write(&site, 0..20).await;
    let running = site.start();
    says_so(&site, &running).await;
    tokio::task::block_in_place(&mut *come);
    all_delivered(&site, 20).await;
    is_fine_again(&running).await;
    tokio::task::block_in_place(&mut *go);
    write(&site, 20..40).await;
    until("the lane notices", PATIENCE, || async {
        (tokio::task::block_in_place(|| running.get("/readyz")).0 == 503).then_some(())
    })
    .await;
    tokio::task::block_in_place(come);
    all_delivered(&site, 40).await;
    assert!(broker.read(TOPIC, 40).await.len() >= 40);
}

#[tokio::test(flavor = "multi_thread")]
async fn o10_nats_away_at_the_start_and_again_later() {
    let server = tokio::task::block_in_place(|| Nats::start("").unwrap());
    let broker = Broker { protocol: Protocol::Nats, url: server.url() };
    let server = std::cell::RefCell::new(server);
    let (mut come, mut go) = (|| server.borrow_mut().start_again().unwrap(), || server.borrow_mut().kill());
    comes_and_goes(&broker, &mut come, &mut go).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn o10_rabbitmq_away_at_the_start_and_again_later() {
    let server = tokio::task::block_in_place(|| RabbitMq::start("").unwrap());
    let broker = Broker { protocol: Protocol::Amqp, url: server.url() };
    let server = std::cell::RefCell::new(server);
    let mut come = || server.borrow_mut().start_again().unwrap();
    // Stop it in order the first time, as the queue has just been declared; later with SIGKILL.
    let mut goes = 0;
    let mut go = || {
        goes += 1;
        if goes == 1 { server.borrow_mut().stop() } else { server.borrow_mut().kill() }
    };
    comes_and_goes(&broker, &mut come, &mut go).await;
}

/// The mock cluster keeps its records while it is down.
#[tokio::test(flavor = "multi_thread")]
async fn o10_kafka_away_at_the_start_and_again_later() {
    let cluster: MockCluster<'static, DefaultProducerContext> = MockCluster::new(1).unwrap();
    let broker =
        Broker { protocol: Protocol::Kafka, url: format!("kafka://{}", cluster.bootstrap_servers()) };
    cluster.create_topic(TOPIC, 3, 1).unwrap();
    let site = Site::open(Kind::Sqlite, &broker, "").await;
    cluster.broker_down(1).unwrap();
    write(&site, 0..20).await;
    let running = site.start();
    says_so(&site, &running).await;
    cluster.broker_up(1).unwrap();
    all_delivered(&site, 20).await;
    is_fine_again(&running).await;
    cluster.broker_down(1).unwrap();
    write(&site, 20..40).await;
    until("the lane notices", PATIENCE, || async {
        (tokio::task::block_in_place(|| running.get("/readyz")).0 == 503).then_some(())
    })
    .await;
    cluster.broker_up(1).unwrap();
    all_delivered(&site, 40).await;
    assert!(broker.read(TOPIC, 40).await.len() >= 40);
}

/// The emulator loses its queues at a restart, so rows are written once there is a queue again.
#[tokio::test(flavor = "multi_thread")]
async fn o10_sqs_away_at_the_start() {
    let mut server = tokio::task::block_in_place(|| Ministack::start().unwrap());
    let broker = Broker { protocol: Protocol::Sqs, url: server.url() };
    tokio::task::block_in_place(|| server.kill());
    let site = Site::open(Kind::Sqlite, &broker, "").await;
    let running = site.start();
    says_so(&site, &running).await;
    tokio::task::block_in_place(|| server.start_again().unwrap());
    broker.make(TOPIC).await;
    write(&site, 0..20).await;
    all_delivered(&site, 20).await;
    is_fine_again(&running).await;
}
