//! A broker that hangs (SIGSTOP: its connections stay open, and nothing answers) costs no attempt (O2).

use std::collections::BTreeMap;
use std::time::Duration;

use futures::StreamExt as _;
use postrider_services::{Ministack, Nats, RabbitMq};
use rdkafka::mocking::MockCluster;
use rdkafka::producer::DefaultProducerContext;
use rustix::process::Signal;

use super::broker::{Broker, Protocol, Seen};
use super::setup::{Event, OutboxLane};
use crate::support::database::Kind;
use crate::support::wait::wait_until;

const TOPIC: &str = "deals";
const KEYS: u32 = 20;
/// Several times the acknowledgement timeout.
const HANGS: Duration = Duration::from_secs(22);
const TIMEOUT: Duration = Duration::from_mins(2);

async fn write(outbox: &OutboxLane, numbers: std::ops::Range<u32>) {
    for number in numbers {
        let (key, payload, dedupe) =
            (format!("k-{}", number % KEYS), number.to_string(), format!("event-{number}"));
        outbox.insert(&Event { topic: TOPIC, key: Some(&key), payload: &payload, dedupe: &dedupe }).await;
    }
}

/// Freezes the broker during a run.
async fn freeze_during_run(broker: &Broker, freeze: impl Fn(), thaw: impl Fn()) {
    let outbox = OutboxLane::open(Kind::Sqlite, broker, "batch = 20").await;
    write(&outbox, 0..600).await;
    let running = outbox.start();
    wait_until("a part is delivered", TIMEOUT, || async {
        (outbox.count("DELIVERED").await >= 40).then_some(())
    })
    .await;
    tokio::task::block_in_place(freeze);
    write(&outbox, 600..700).await;
    let began = tokio::time::Instant::now();
    wait_until("the lane says so", HANGS, || async {
        (tokio::task::block_in_place(|| running.get("/readyz")).0 == 503).then_some(())
    })
    .await;
    tokio::time::sleep(HANGS.saturating_sub(began.elapsed())).await;
    let open = outbox.sql.count("outbox WHERE status <> 'DELIVERED'").await.expect("the database is there");
    assert!(open >= 100, "it was frozen in the middle of the run: {open} rows are left");
    assert_eq!(outbox.count("FAILED").await, 0, "no row fails while it hangs");
    tokio::task::block_in_place(thaw);
    wait_until("all are delivered", TIMEOUT, || async {
        assert_eq!(outbox.count("FAILED").await, 0, "no row fails afterwards");
        (outbox.count("DELIVERED").await == 700).then_some(())
    })
    .await;
    assert_eq!(outbox.sql.count("outbox WHERE retry_count > 0").await, Some(0), "nothing is spent");
    drop(running);
}

/// Asserts that the first copies of each key's records are in the order of its rows.
fn assert_in_order(seen: &[Seen]) {
    let mut highest: BTreeMap<&str, i64> = BTreeMap::new();
    let mut known = std::collections::BTreeSet::new();
    for one in seen {
        let number: i64 = std::str::from_utf8(&one.payload).unwrap().parse().unwrap();
        if known.insert(number) {
            let before = highest.insert(one.key.as_deref().unwrap(), number);
            assert!(before.is_none_or(|before| before < number), "{before:?} before {number}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn o02_a_hanging_nats_costs_no_attempt() {
    let server = tokio::task::block_in_place(|| Nats::start("").unwrap());
    let broker = Broker { protocol: Protocol::Nats, url: server.url() };
    broker.make(TOPIC).await;
    freeze_during_run(&broker, || server.freeze(), || server.thaw()).await;
    // JetStream drops duplicates.
    assert_in_order(&broker.read(TOPIC, 700).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn o02_a_hanging_rabbitmq_costs_no_attempt() {
    let server = tokio::task::block_in_place(|| RabbitMq::start("").unwrap());
    let broker = Broker { protocol: Protocol::Amqp, url: server.url() };
    broker.make(TOPIC).await;
    freeze_during_run(&broker, || server.freeze(), || server.thaw()).await;
    assert_in_order(&broker.read(TOPIC, 700).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn o02_a_hanging_sqs_costs_no_attempt() {
    let server = tokio::task::block_in_place(|| Ministack::start().unwrap());
    let broker = Broker { protocol: Protocol::Sqs, url: server.url() };
    broker.make(TOPIC).await;
    freeze_during_run(&broker, || server.freeze(), || server.thaw()).await;
}

/// The mock cluster answers after a minute; its connections stay open.
#[tokio::test(flavor = "multi_thread")]
async fn o02_a_hanging_kafka_costs_no_attempt() {
    let cluster: MockCluster<'static, DefaultProducerContext> = MockCluster::new(1).unwrap();
    cluster.create_topic(TOPIC, 3, 1).unwrap();
    let url = format!("kafka://{}", cluster.bootstrap_servers());
    let broker = Broker { protocol: Protocol::Kafka, url };
    let answers_after = |delay: Duration| cluster.broker_round_trip_time(1, delay).unwrap();
    freeze_during_run(&broker, || answers_after(Duration::from_mins(1)), || answers_after(Duration::ZERO))
        .await;
}

/// A subject without a stream gives no acknowledgement. The rows of the same call that were acknowledged are settled
/// within the acknowledgement timeout, also during a stop, and published once.
#[tokio::test(flavor = "multi_thread")]
async fn o02_acknowledged_rows_of_a_call_are_settled_at_shutdown_while_one_is_not_acknowledged() {
    let server = tokio::task::block_in_place(|| Nats::start("").unwrap());
    let broker = Broker { protocol: Protocol::Nats, url: server.url() };
    broker.make(TOPIC).await;
    let plain = async_nats::connect(server.url()).await.unwrap();
    let (one, other) = (plain.subscribe(TOPIC).await.unwrap(), plain.subscribe("plain").await.unwrap());
    let mut heard = futures::stream::select(one, other);
    plain.flush().await.unwrap();
    let outbox = OutboxLane::open(Kind::Sqlite, &broker, "timeout = \"5m\"").await;
    for number in 0..40 {
        let topic = if number == 20 { "plain" } else { TOPIC };
        let dedupe = format!("event-{number}");
        outbox.insert(&Event { topic, key: None, payload: "{}", dedupe: &dedupe }).await;
    }
    let mut running = outbox.start();
    let mut published: BTreeMap<String, usize> = BTreeMap::new();
    let mut hear = async |wait: Duration, enough: usize| {
        while published.values().sum::<usize>() < enough {
            let Ok(Some(message)) = tokio::time::timeout(wait, heard.next()).await else { break };
            let id = message.headers.unwrap().get("Nats-Msg-Id").unwrap().to_string();
            *published.entry(id).or_default() += 1;
        }
        published.clone()
    };
    assert_eq!(hear(TIMEOUT, 40).await.len(), 40, "all are published");
    running.signal(Signal::TERM);
    let code = tokio::task::block_in_place(|| running.ended(Duration::from_secs(20)));
    assert_eq!(code, Some(0), "{}", running.log());
    assert_eq!(outbox.count("DELIVERED").await, 39);
    let row = outbox.row("event-20").await;
    assert_eq!(row.status, "FAILED", "{row:?}");
    assert!(row.error.unwrap_or_default().contains("no stream has the subject plain"));
    let _again = outbox.start();
    let published = hear(Duration::from_secs(5), usize::MAX).await;
    assert!(published.values().all(|times| *times == 1), "{published:?}");
}
