//! Dead letters (O9): off by default, published before the row is FAILED, and never a reason to delay the row.

use rdkafka::mocking::MockCluster;
use rdkafka::producer::DefaultProducerContext;
use rdkafka::types::RDKafkaRespErr;

use super::broker::{ALL, Broker, Protocol, unique};
use super::setup::{Event, OutboxLane};
use crate::support::database::Kind;

type Cluster = MockCluster<'static, DefaultProducerContext>;

/// A broker without these topics. The Kafka broker of the tests creates topics when they are written to, so a mock
/// cluster replaces it, which lives as long as the returned value.
fn broker_without(protocol: Protocol, topics: &[&str]) -> (Broker, Option<Cluster>) {
    if protocol != Protocol::Kafka {
        return (Broker::shared(protocol), None);
    }
    let cluster: Cluster = MockCluster::new(1).unwrap();
    for topic in topics {
        cluster.topic_error(topic, RDKafkaRespErr::RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART).unwrap();
    }
    let url = format!("kafka://{}", cluster.bootstrap_servers());
    (Broker { protocol, url }, Some(cluster))
}

fn dead_letter_topic(protocol: Protocol, topic: &str) -> String {
    match protocol {
        Protocol::Sqs => format!("{topic}-dlq"),
        _ => format!("{topic}.dlq"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn o09_a_refused_row_goes_to_the_dead_letters_with_its_error() {
    for protocol in ALL {
        let topic = unique("nobody");
        let letters = dead_letter_topic(protocol, &topic);
        let (broker, cluster) = broker_without(protocol, &[&topic]);
        match &cluster {
            Some(cluster) => cluster.create_topic(&letters, 3, 1).unwrap(),
            None => broker.make(&letters).await,
        }
        let outbox = OutboxLane::open(Kind::Sqlite, &broker, "dead_letter = true").await;
        outbox.insert(&Event { topic: &topic, key: Some("k"), payload: "{\"a\":1}", dedupe: "e-1" }).await;
        let _running = outbox.start();
        let row = outbox.eventually("e-1", "FAILED").await;
        let letter = &broker.read(&letters, 1).await[0];
        assert_eq!(letter.payload, b"{\"a\":1}", "{protocol:?}");
        assert_eq!(letter.key.as_deref(), Some("k"), "{protocol:?}");
        assert_eq!(row.error.as_deref(), Some(letter.header("error")), "{protocol:?}: the row's own reason");
        assert_eq!(letter.header("original-topic"), topic, "{protocol:?}");
        assert_eq!(
            (letter.header("attempts"), letter.header("idempotency-key")),
            ("1", "e-1"),
            "{protocol:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn o09_dead_letters_of_a_fifo_queue_go_to_a_fifo_queue() {
    let broker = Broker::shared(Protocol::Sqs);
    let name = unique("nobody");
    broker.make(&format!("{name}-lost.fifo")).await;
    let outbox = OutboxLane::open(Kind::Sqlite, &broker, "dead_letter = \"-lost\"").await;
    let topic = format!("{name}.fifo");
    outbox.insert(&Event { topic: &topic, key: Some("k"), payload: "{}", dedupe: "e-1" }).await;
    let _running = outbox.start();
    outbox.eventually("e-1", "FAILED").await;
    assert_eq!(broker.read(&format!("{name}-lost.fifo"), 1).await[0].header("original-topic"), topic);
}

#[tokio::test(flavor = "multi_thread")]
async fn o09_a_row_without_attempts_left_goes_to_the_dead_letters() {
    let (broker, topic) = super::rules::full_queue().await;
    broker.make(&format!("{topic}.dlq")).await;
    let outbox =
        OutboxLane::open(Kind::Postgres, &broker, "dead_letter = true\nretry.base = \"100ms\"").await;
    outbox.insert(&Event { topic: &topic, key: Some("k"), payload: "{}", dedupe: "e-1" }).await;
    let _running = outbox.start();
    outbox.eventually("e-1", "FAILED").await;
    let letter = &broker.read(&format!("{topic}.dlq"), 1).await[0];
    assert_eq!(letter.header("attempts"), "3");
    assert!(letter.header("error").contains("nack"), "{letter:?}");
}

/// A dead letter that cannot be published neither delays the row nor is retried forever; the row records the failure.
#[tokio::test(flavor = "multi_thread")]
async fn o09_a_dead_letter_that_fails_leaves_the_row_failed_and_is_logged() {
    for protocol in ALL {
        let topic = unique("nobody");
        let (broker, _cluster) = broker_without(protocol, &[&topic, &dead_letter_topic(protocol, &topic)]);
        let outbox = OutboxLane::open(Kind::Sqlite, &broker, "dead_letter = true").await;
        outbox.insert(&Event { topic: &topic, key: Some("k"), payload: "{}", dedupe: "e-1" }).await;
        let running = outbox.start();
        let row = outbox.eventually("e-1", "FAILED").await;
        let reason = row.error.unwrap_or_default();
        assert!(reason.contains("dead letter not sent"), "{protocol:?}: {reason}");
        let (_, figures) = tokio::task::block_in_place(|| running.get("/metrics"));
        let failed = "postrider_dead_letters_total{lane=\"events\",outcome=\"failed\"} 1";
        assert!(figures.contains(failed), "{protocol:?}: {figures}");
        assert_eq!(
            outbox.sandbox.run(&["requeue", "events", "--state", "FAILED"]).success().stdout,
            "1\n",
            "not lost"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn o09_without_the_setting_there_are_no_dead_letters() {
    let broker = Broker::shared(Protocol::Nats);
    let topic = unique("nobody");
    let outbox = OutboxLane::open(Kind::Sqlite, &broker, "").await;
    outbox.insert(&Event { topic: &topic, key: None, payload: "{}", dedupe: "e-1" }).await;
    let running = outbox.start();
    let row = outbox.eventually("e-1", "FAILED").await;
    assert!(!row.error.unwrap_or_default().contains("dead letter"));
    let (_, figures) = tokio::task::block_in_place(|| running.get("/metrics"));
    let counted = |line: &&str| line.starts_with("postrider_dead_letters_total{") && !line.ends_with(" 0");
    assert_eq!(figures.lines().find(counted), None);
}
