//! A record that a broker refuses is FAILED with the broker's reason at once, while other rows are delivered.

use lapin::options::ExchangeDeclareOptions;
use lapin::types::FieldTable;
use lapin::{Connection, ConnectionProperties, ExchangeKind};
use postrider_services::{Nats, RabbitMq};
use rdkafka::mocking::MockCluster;
use rdkafka::producer::DefaultProducerContext;
use rdkafka::types::RDKafkaRespErr;

use super::broker::{Broker, Protocol, unique};
use super::setup::{Event, OutboxLane};
use crate::support::database::Kind;
use crate::support::sql::{Cell, Sql};
use crate::support::wait::{TIMEOUT, wait_until};

/// A row that the broker refuses, and a part of the reason.
struct RefusedRow<'a> {
    event: Event<'a>,
    because: &'a str,
}

fn refused_row<'a>(dedupe: &'a str, topic: &'a str, payload: &'a str, because: &'a str) -> RefusedRow<'a> {
    RefusedRow { event: Event { topic, key: Some("k-bad"), payload, dedupe }, because }
}

/// Inserts refused rows between good ones; the good ones must be delivered, also those of the same key.
async fn others_are_delivered(outbox: &OutboxLane, good: &str, unwanted: &[RefusedRow<'_>]) {
    for (number, bad) in unwanted.iter().enumerate() {
        let dedupe = format!("good-{number}");
        let key = if number % 2 == 0 { "k-good" } else { "k-bad" };
        outbox.insert(&Event { topic: good, key: Some(key), payload: "{}", dedupe: &dedupe }).await;
        outbox.insert(&bad.event).await;
    }
    let running = outbox.start();
    for bad in unwanted {
        let row = outbox.eventually(bad.event.dedupe, "FAILED").await;
        let reason = row.error.unwrap_or_default();
        assert!(reason.contains(bad.because), "{}: {reason}", bad.event.dedupe);
        assert_eq!(row.retries, 0, "{}: a permanent refusal is not tried again", bad.event.dedupe);
    }
    outbox.wait_for_count("DELIVERED", unwanted.len() as u64).await;
    let (code, body) = tokio::task::block_in_place(|| running.get("/readyz"));
    assert_eq!(code, 200, "none of it is the lane's fault: {body}");
}

const NATS: &str = r#"
max_payload: 5000
authorization {
  users: [
    { user: me, password: hunter2, permissions: { publish: ["deals", "nobody", "$JS.>", "_INBOX.>"], subscribe: ">" } }
    { user: boss, password: boss }
  ]
}
"#;

#[tokio::test(flavor = "multi_thread")]
async fn o02_nats_refuses_rows_one_by_one() {
    let server = tokio::task::block_in_place(|| Nats::start(NATS).unwrap());
    let of = |user: &str| Broker {
        protocol: Protocol::Nats,
        url: format!("nats://{user}@127.0.0.1:{}", server.port()),
    };
    for topic in ["deals", "secret"] {
        of("boss:boss").make(topic).await;
    }
    let outbox = OutboxLane::open(Kind::Postgres, &of("me:hunter2"), "").await;
    let large = "x".repeat(6000);
    let list = [
        refused_row("missing", "nobody", "{}", "no stream has the subject nobody"),
        refused_row("large", "deals", &large, "payload"),
        refused_row("denied", "secret", "{}", "denies permission to publish to the subject secret"),
        refused_row("name", "deals.*", "{}", "topic"),
        RefusedRow {
            event: Event { topic: "deals", key: Some("a\nb"), payload: "{}", dedupe: "key" },
            because: "key contains a line break",
        },
    ];
    others_are_delivered(&outbox, "deals", &list).await;
    assert_eq!(of("boss:boss").read("deals", 5).await.len(), 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn o02_rabbitmq_refuses_rows_one_by_one() {
    // Some versions apply one of the two limits in place of the other.
    let settings = "max_message_size = 5000\ndefault_permissions.configure = .*\n\
                    default_permissions.read = ^(deals|nowhere|amq.default)$\n\
                    default_permissions.write = ^(deals|nowhere|amq.default)$\n";
    let server = tokio::task::block_in_place(|| RabbitMq::start(settings).unwrap());
    let broker = Broker { protocol: Protocol::Amqp, url: server.url() };
    broker.make("deals").await;
    let connection = Connection::connect(&broker.url, ConnectionProperties::default()).await.unwrap();
    let channel = connection.create_channel().await.unwrap();
    let (plain, none) = (ExchangeDeclareOptions::default(), FieldTable::default());
    channel.exchange_declare("secret".into(), ExchangeKind::Topic, plain, none).await.unwrap();
    let outbox = OutboxLane::open(Kind::MariaDb, &broker, "").await;
    let large = "x".repeat(6000);
    let list = [
        refused_row("missing", "nobody", "{}", "NO_ROUTE"),
        refused_row("exchange", "nowhere/key", "{}", "no exchange 'nowhere'"),
        refused_row("large", "deals", &large, "larger than configured max size"),
        refused_row("denied", "secret/plan", "{}", "'secret'"),
    ];
    others_are_delivered(&outbox, "deals", &list).await;
    assert_eq!(broker.read("deals", 4).await.len(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn o02_kafka_refuses_rows_one_by_one() {
    let cluster: MockCluster<'static, DefaultProducerContext> = MockCluster::new(1).unwrap();
    cluster.create_topic("deals", 3, 1).unwrap();
    cluster.topic_error("nobody", RDKafkaRespErr::RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART).unwrap();
    cluster.topic_error("secret", RDKafkaRespErr::RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED).unwrap();
    let url = format!("kafka://{}?max_size=5000", cluster.bootstrap_servers());
    let broker = Broker { protocol: Protocol::Kafka, url };
    let outbox = OutboxLane::open(Kind::Postgres, &broker, "").await;
    let large = "x".repeat(200_000);
    let list = [
        refused_row("missing", "nobody", "{}", "nknown topic"),
        refused_row("large", "deals", &large, "large"),
        refused_row("denied", "secret", "{}", "uthorization failed"),
        refused_row("name", "no/topic", "{}", "must contain only letters"),
    ];
    others_are_delivered(&outbox, "deals", &list).await;
    assert_eq!(broker.read("deals", 4).await.len(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn o02_sqs_refuses_rows_one_by_one() {
    let broker = Broker::shared(Protocol::Sqs);
    let (topic, missing) = (unique("deals"), unique("nobody"));
    broker.make(&topic).await;
    let outbox =
        OutboxLane::open_with(Kind::Sqlite, &format!("url = \"{}\"\nmax_size = 5000", broker.url), "").await;
    let large = "x".repeat(6000);
    let list = [
        refused_row("missing", &missing, "{}", "Queue"),
        refused_row("large", &topic, &large, "at most 5000 are allowed"),
        refused_row("empty", &topic, "", "empty"),
    ];
    others_are_delivered(&outbox, &topic, &list).await;
    assert_eq!(broker.read(&topic, 3).await.len(), 3);
}

/// A group id of SQS allows few characters, a key all: a key that does not fit is sent as its hash, still in order.
#[tokio::test(flavor = "multi_thread")]
async fn o08_any_key_is_a_group_of_a_fifo_queue() {
    let broker = Broker::shared(Protocol::Sqs);
    let topic = format!("{}.fifo", unique("deals"));
    broker.make(&topic).await;
    let outbox = OutboxLane::open(Kind::Postgres, &broker, "").await;
    let key = "größer als\n128 ".repeat(12);
    for number in 0..5 {
        let (payload, dedupe) = (number.to_string(), format!("e-{number}"));
        outbox.insert(&Event { topic: &topic, key: Some(&key), payload: &payload, dedupe: &dedupe }).await;
    }
    let _running = outbox.start();
    outbox.wait_for_count("DELIVERED", 5).await;
    let seen = broker.read(&topic, 5).await;
    let payloads: Vec<&[u8]> = seen.iter().map(|seen| seen.payload.as_slice()).collect();
    assert_eq!(payloads, [b"0", b"1", b"2", b"3", b"4"]);
    assert!(seen.iter().all(|seen| seen.key.as_deref() == Some(key.as_str())));
}

/// Between good rows, inserts a row whose key or payload is this expression; only that row fails.
async fn fails_alone(kind: Kind, key: &str, payload: &str, because: &str) {
    let broker = Broker::shared(Protocol::Nats);
    let topic = unique("deals");
    broker.make(&topic).await;
    let outbox = OutboxLane::open(kind, &broker, "").await;
    if let Sql::MariaDb(_) = &outbox.sql {
        outbox.sql.must("ALTER TABLE outbox MODIFY payload LONGTEXT NULL").await;
    }
    for dedupe in ["first", "second"] {
        outbox.insert(&Event { topic: &topic, key: Some("k"), payload: "{}", dedupe }).await;
        let cells = [
            ("idempotency_key", Cell::from(format!("{dedupe}-bad").as_str())),
            ("topic", Cell::from(topic.as_str())),
            ("partition_key", Cell::Sql(key.to_owned())),
            ("payload", Cell::Sql(payload.to_owned())),
            ("created_at", Cell::Sql(outbox.ago(9))),
        ];
        outbox.sql.insert("outbox", &cells).await;
    }
    let _running = outbox.start();
    for dedupe in ["first", "second"] {
        let reason = outbox.eventually(&format!("{dedupe}-bad"), "FAILED").await.error.unwrap_or_default();
        assert!(reason.contains(because), "{kind:?}: {reason}");
        outbox.eventually(dedupe, "DELIVERED").await;
    }
    let listed = tokio::task::block_in_place(|| outbox.sandbox.run(&["list", "events"]).success());
    assert_eq!(listed.stdout.lines().count(), 5, "{}", listed.stdout);
}

/// SQLite stores bytes in a text column.
#[tokio::test(flavor = "multi_thread")]
async fn o02_a_key_that_is_not_text_fails_alone() {
    fails_alone(Kind::Sqlite, "x'fffe'", "'{}'", "key: not valid UTF-8").await;
}

/// Tombstones are not supported.
#[tokio::test(flavor = "multi_thread")]
async fn o09_a_null_payload_fails_alone() {
    fails_alone(Kind::MariaDb, "'k'", "NULL", "payload: empty").await;
}

/// Wrong credentials are a fault of the lane: it waits, and no row is charged.
#[tokio::test(flavor = "multi_thread")]
async fn g03_a_wrong_password_pauses_the_lane_and_costs_nothing() {
    let server = tokio::task::block_in_place(|| Nats::start(NATS).unwrap());
    let wrong = [
        format!("nats://me:wrong-one@127.0.0.1:{}", server.port()),
        Broker::shared(Protocol::Amqp).url.replace("guest:guest", "guest:wrong-one"),
    ];
    for url in wrong {
        let broker = Broker { protocol: Protocol::Nats, url };
        let outbox = OutboxLane::open(Kind::Sqlite, &broker, "").await;
        outbox.insert(&Event { topic: "deals", key: None, payload: "{}", dedupe: "e-1" }).await;
        let running = outbox.start();
        let readiness = wait_until("the lane says that it is refused", TIMEOUT, || async {
            let (code, body) = tokio::task::block_in_place(|| running.get("/readyz"));
            (code == 503 && body.contains("misconfigured")).then_some(body)
        });
        let body = readiness.await;
        assert!(!body.contains("wrong-one") && !running.log().contains("wrong-one"), "{body}");
        let row = outbox.eventually("e-1", "PENDING").await;
        assert_eq!((row.retries, row.error), (0, None));
    }
}
