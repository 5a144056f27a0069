//! Topic, key, payload and headers arrive as they were written (O9), from every database at every broker (O10).

use super::broker::{ALL, Broker, Protocol, unique};
use super::setup::{Event, OutboxLane};
use crate::support::database::Kind;
use crate::support::sql::{Cell, Sql};

const TRACE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
/// A payload whose white space and order matter if it is signed; a line break and non-ASCII letters must be kept.
const PAYLOAD: &str = "{\"b\": 1,  \"a\":\"größer\u{1F600}\"}\n";

async fn arrives(kind: Kind) {
    for protocol in ALL {
        let broker = Broker::shared(protocol);
        let topic = unique("deals");
        broker.make(&topic).await;
        let outbox = OutboxLane::open(kind, &broker, "").await;
        outbox
            .sql
            .insert(
                "outbox",
                &[
                    ("idempotency_key", "event-1".into()),
                    ("deal_id", "deal-7".into()),
                    ("topic", Cell::from(topic.as_str())),
                    ("partition_key", "Schlüssel 7".into()),
                    ("payload", PAYLOAD.into()),
                    ("traceparent", TRACE.into()),
                    ("created_at", Cell::Sql(outbox.ago(5))),
                ],
            )
            .await;
        outbox.insert(&Event { topic: &topic, payload: "plain", dedupe: "event-2", key: None }).await;
        let _running = outbox.start();
        let row = outbox.eventually("event-1", "DELIVERED").await;
        assert!(row.finished && row.error.is_none() && row.retries == 0, "{protocol:?}: {row:?}");
        outbox.eventually("event-2", "DELIVERED").await;

        let seen = broker.read(&topic, 2).await;
        let first = seen.iter().find(|seen| seen.header("idempotency-key") == "event-1").unwrap();
        let second = seen.iter().find(|seen| seen.header("idempotency-key") == "event-2").unwrap();
        assert_eq!(first.payload, PAYLOAD.as_bytes(), "{protocol:?}: to the byte");
        assert_eq!(first.key.as_deref(), Some("Schlüssel 7"), "{protocol:?}");
        assert_eq!((first.header("id"), first.header("attempt")), ("1", "1"), "{protocol:?}");
        assert_eq!((first.header("traceparent"), first.header("deal_id")), (TRACE, "deal-7"), "{protocol:?}");
        assert_eq!((second.key.as_deref(), second.payload.as_slice()), (None, b"plain".as_slice()));
        assert!(!second.headers.contains_key("traceparent"), "{protocol:?}: a row without a trace has none");
        assert!(!second.headers.keys().any(|name| name.starts_with("ce")), "{protocol:?}: only on request");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn o09_postgres_to_every_broker() {
    arrives(Kind::Postgres).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn o09_mariadb_to_every_broker() {
    arrives(Kind::MariaDb).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn o09_sqlite_to_every_broker() {
    arrives(Kind::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn o09_cloud_events_headers_on_request() {
    for protocol in ALL {
        let broker = Broker::shared(protocol);
        let topic = unique("deals");
        broker.make(&topic).await;
        let outbox = OutboxLane::open(Kind::Sqlite, &broker, "cloud_events = \"/shop/deals\"").await;
        outbox.insert(&Event { topic: &topic, key: Some("k"), payload: "{}", dedupe: "e-1" }).await;
        let _running = outbox.start();
        outbox.eventually("e-1", "DELIVERED").await;
        let seen = &broker.read(&topic, 1).await[0];
        let prefix = match protocol {
            Protocol::Kafka => "ce_",
            Protocol::Amqp => "cloudEvents_",
            Protocol::Nats | Protocol::Sqs => "ce-",
        };
        let event = |name: &str| seen.header(&format!("{prefix}{name}"));
        assert_eq!((event("specversion"), event("id")), ("1.0", "e-1"), "{protocol:?}");
        assert_eq!((event("source"), event("type")), ("/shop/deals", topic.as_str()), "{protocol:?}");
        assert_eq!(
            (event("subject"), seen.header("content-type")),
            ("k", "application/json"),
            "{protocol:?}"
        );
        assert_eq!(seen.payload, b"{}");
    }
}

/// A payload in a binary column, with every possible byte.
#[tokio::test(flavor = "multi_thread")]
async fn o09_bytes_that_are_not_text_arrive_unchanged() {
    let bytes: Vec<u8> = (0..=255).collect();
    let literal = (0..=255).fold(String::new(), |text, byte| format!("{text}{byte:02x}"));
    for protocol in ALL {
        let broker = Broker::shared(protocol);
        let topic = unique("deals");
        broker.make(&topic).await;
        let outbox = OutboxLane::open(Kind::Postgres, &broker, "").await;
        outbox.sql.must("ALTER TABLE outbox ALTER COLUMN payload TYPE bytea USING payload::bytea").await;
        let cells = [
            ("idempotency_key", "b-1".into()),
            ("topic", Cell::from(topic.as_str())),
            ("payload", Cell::Sql(format!("'\\x{literal}'::bytea"))),
            ("created_at", Cell::Sql(outbox.ago(5))),
        ];
        outbox.sql.insert("outbox", &cells).await;
        let _running = outbox.start();
        outbox.eventually("b-1", "DELIVERED").await;
        assert_eq!(broker.read(&topic, 1).await[0].payload, bytes, "{protocol:?}");
    }
}

/// A table as the specification defines it has neither our three columns nor a trace column; `migrate` adds them.
#[tokio::test(flavor = "multi_thread")]
async fn o07_the_specified_table_is_drained() {
    let broker = Broker::shared(Protocol::Nats);
    let topic = unique("deals");
    broker.make(&topic).await;
    for kind in [Kind::Postgres, Kind::MariaDb, Kind::Sqlite] {
        let outbox = OutboxLane::open(kind, &broker, "").await;
        outbox.sql.must("DROP TABLE outbox").await;
        let (key, time) = match &outbox.sql {
            Sql::Postgres(_) => ("bigserial PRIMARY KEY", "timestamptz"),
            Sql::MariaDb(_) => ("BIGINT AUTO_INCREMENT PRIMARY KEY", "DATETIME(6)"),
            Sql::Sqlite(_) => ("INTEGER PRIMARY KEY", "TEXT"),
        };
        let table = format!(
            "CREATE TABLE outbox (id {key}, deal_id varchar(64), idempotency_key varchar(120) UNIQUE, \
             topic varchar(200) NOT NULL, partition_key varchar(120), payload text NOT NULL, \
             status varchar(20) NOT NULL, retry_count int NOT NULL, version int NOT NULL, \
             created_at {time} NOT NULL, processed_at {time})"
        );
        outbox.sql.must(&table).await;
        let insert = format!(
            "INSERT INTO outbox (idempotency_key, topic, payload, status, retry_count, version, created_at) \
             VALUES ('old-{kind:?}', '{topic}', '{{}}', 'PENDING', 0, 0, {})",
            outbox.ago(60)
        );
        outbox.sql.must(&insert).await;
        outbox.sandbox.run(&["migrate"]).success();
        assert_eq!(outbox.count("PENDING").await, 1, "{kind:?}: nothing is rewritten");
        let _running = outbox.start();
        outbox.eventually(&format!("old-{kind:?}"), "DELIVERED").await;
    }
    assert_eq!(broker.read(&topic, 3).await.len(), 3);
}
