//! A record that a broker refuses is FAILED with the broker's reason at once, while other rows are delivered.

use lapin::options::ExchangeDeclareOptions;
use lapin::types::FieldTable;
use lapin::{Connection, ConnectionProperties, ExchangeKind};
use postrider_services::{Nats, RabbitMq};
use rdkafka::mocking::MockCluster;
use rdkafka::producer::DefaultProducerContext;
use rdkafka::types::RDKafkaRespErr;

use super::broker::{Broker, Protocol, unique};
use super::site::{Event, Site};
use crate::rig::database::Kind;
use crate::rig::sql::{Cell, Sql};
use crate::rig::wait::{PATIENCE, until};

/// A row that the broker refuses, and a part of the reason.
struct Unwanted<'a> {
    event: Event<'a>,
    because: &'a str,
}

fn unwanted<'a>(dedupe: &'a str, topic: &'a str, payload: &'a str, because: &'a str) -> Unwanted<'a> {
    Unwanted { event: Event { topic, key: Some("k-bad"), payload, dedupe }, because }
}

/// Inserts refused rows between good ones; the good ones must be delivered, also those of the same key.
async fn others_flow(site: &Site, good: &str, unwanted: &[Unwanted<'_>]) {
    for (number, bad) in unwanted.iter().enumerate() {
        let dedupe = format!("good-{number}");
        let key = if number % 2 == 0 { "k-good" } else { "k-bad" };
        site.insert(&Event { topic: good, key: Some(key), payload: "{}", dedupe: &dedupe }).await;
        site.insert(&bad.event).await;
    }
    let running = site.start();
    for bad in unwanted {
        let row = site.eventually(bad.event.dedupe, "FAILED").await;
        let reason = row.error.unwrap_or_default();
        assert!(reason.contains(bad.because), "{}: {reason}", bad.event.dedupe);
        assert_eq!(row.retries, 0, "{}: a permanent refusal is not tried again", bad.event.dedupe);
    }
    site.until_count("DELIVERED", unwanted.len() as u64).await;
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
    let site = Site::open(Kind::Postgres, &of("me:hunter2"), "").await;
    let large = "x".repeat(6000);
    let list = [
        unwanted("missing", "nobody", "{}", "no stream takes the subject nobody"),
        unwanted("large", "deals", &large, "payload"),
        unwanted("denied", "secret", "{}", "denies us the subject secret"),
        unwanted("name", "deals.*", "{}", "topic"),
        Unwanted {
            event: Event { topic: "deals", key: Some("a\nb"), payload: "{}", dedupe: "key" },
            because: "key holds a line break",
        },
    ];
    others_flow(&site, "deals", &list).await;
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
    let site = Site::open(Kind::MariaDb, &broker, "").await;
    let large = "x".repeat(6000);
    let list = [
        unwanted("missing", "nobody", "{}", "NO_ROUTE"),
        unwanted("exchange", "nowhere/key", "{}", "no exchange 'nowhere'"),
        unwanted("large", "deals", &large, "larger than configured max size"),
        unwanted("denied", "secret/plan", "{}", "'secret'"),
    ];
    others_flow(&site, "deals", &list).await;
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
    let site = Site::open(Kind::Postgres, &broker, "").await;
    let large = "x".repeat(200_000);
    let list = [
        unwanted("missing", "nobody", "{}", "nknown topic"),
        unwanted("large", "deals", &large, "large"),
        unwanted("denied", "secret", "{}", "uthorization failed"),
        unwanted("name", "no/topic", "{}", "Kafka takes only letters"),
    ];
    others_flow(&site, "deals", &list).await;
    assert_eq!(broker.read("deals", 4).await.len(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn o02_sqs_refuses_rows_one_by_one() {
    let broker = Broker::shared(Protocol::Sqs);
    let (topic, missing) = (unique("deals"), unique("nobody"));
    broker.make(&topic).await;
    let site = Site::open_with(Kind::Sqlite, &format!("url = \"{}\"\nmax_size = 5000", broker.url), "").await;
    let large = "x".repeat(6000);
    let list = [
        unwanted("missing", &missing, "{}", "Queue"),
        unwanted("large", &topic, &large, "SQS takes 5000"),
        unwanted("empty", &topic, "", "empty"),
    ];
    others_flow(&site, &topic, &list).await;
    assert_eq!(broker.read(&topic, 3).await.len(), 3);
}

/// A group id of SQS allows few characters, a key all: a key that does not fit is sent as its hash, still in order.
#[tokio::test(flavor = "multi_thread")]
async fn o08_any_key_makes_a_group_of_a_fifo_queue() {
    let broker = Broker::shared(Protocol::Sqs);
    let topic = format!("{}.fifo", unique("deals"));
    broker.make(&topic).await;
    let site = Site::open(Kind::Postgres, &broker, "").await;
    let key = "größer als\n128 ".repeat(12);
    for number in 0..5 {
        let (payload, dedupe) = (number.to_string(), format!("e-{number}"));
        site.insert(&Event { topic: &topic, key: Some(&key), payload: &payload, dedupe: &dedupe }).await;
    }
    let _running = site.start();
    site.until_count("DELIVERED", 5).await;
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
    let site = Site::open(kind, &broker, "").await;
    if let Sql::MariaDb(_) = &site.sql {
        site.sql.must("ALTER TABLE outbox MODIFY payload LONGTEXT NULL").await;
    }
    for dedupe in ["first", "second"] {
        site.insert(&Event { topic: &topic, key: Some("k"), payload: "{}", dedupe }).await;
        let cells = [
            ("idempotency_key", Cell::from(format!("{dedupe}-bad").as_str())),
            ("topic", Cell::from(topic.as_str())),
            ("partition_key", Cell::Sql(key.to_owned())),
            ("payload", Cell::Sql(payload.to_owned())),
            ("created_at", Cell::Sql(site.ago(9))),
        ];
        site.sql.insert("outbox", &cells).await;
    }
    let _running = site.start();
    for dedupe in ["first", "second"] {
        let reason = site.eventually(&format!("{dedupe}-bad"), "FAILED").await.error.unwrap_or_default();
        assert!(reason.contains(because), "{kind:?}: {reason}");
        site.eventually(dedupe, "DELIVERED").await;
    }
    let listed = tokio::task::block_in_place(|| site.shop.run(&["list", "events"]).fine());
    assert_eq!(listed.out.lines().count(), 5, "{}", listed.out);
}

/// SQLite stores bytes in a text column.
#[tokio::test(flavor = "multi_thread")]
async fn o02_a_key_that_is_no_text_fails_alone() {
    fails_alone(Kind::Sqlite, "x'fffe'", "'{}'", "key: not valid UTF-8").await;
}

/// Tombstones are not supported.
#[tokio::test(flavor = "multi_thread")]
async fn o09_a_null_payload_fails_alone() {
    fails_alone(Kind::MariaDb, "'k'", "NULL", "payload: empty").await;
}

/// Wrong credentials are a fault of the lane: it waits, and no row is charged.
#[tokio::test(flavor = "multi_thread")]
async fn g3_a_wrong_password_pauses_the_lane_and_costs_nothing() {
    let server = tokio::task::block_in_place(|| Nats::start(NATS).unwrap());
    let wrong = [
        format!("nats://me:wrong-one@127.0.0.1:{}", server.port()),
        Broker::shared(Protocol::Amqp).url.replace("guest:guest", "guest:wrong-one"),
    ];
    for url in wrong {
        let broker = Broker { protocol: Protocol::Nats, url };
        let site = Site::open(Kind::Sqlite, &broker, "").await;
        site.insert(&Event { topic: "deals", key: None, payload: "{}", dedupe: "e-1" }).await;
        let running = site.start();
        let told = until("the lane says that it is refused", PATIENCE, || async {
            let (code, body) = tokio::task::block_in_place(|| running.get("/readyz"));
            (code == 503 && body.contains("misconfigured")).then_some(body)
        });
        let body = told.await;
        assert!(!body.contains("wrong-one") && !running.log().contains("wrong-one"), "{body}");
        let row = site.eventually("e-1", "PENDING").await;
        assert_eq!((row.retries, row.error), (0, None));
    }
}
