//! The specification's open points (O5) and its claims (O1), on every database.

use std::time::Duration;

use super::broker::{Broker, Protocol, unique};
use super::setup::{Event, OutboxLane};
use crate::support::database::Kind;
use crate::support::sql::{Cell, Sql};
use crate::support::wait::{TIMEOUT, wait_until};

const EVERYWHERE: [Kind; 3] = [Kind::Postgres, Kind::MariaDb, Kind::Sqlite];

async fn nats_broker() -> (Broker, String) {
    let broker = Broker::shared(Protocol::Nats);
    let topic = unique("deals");
    broker.make(&topic).await;
    (broker, topic)
}

/// A queue that accepts one record only.
pub async fn full_queue() -> (Broker, String) {
    use lapin::types::{AMQPValue, FieldTable};
    let broker = Broker::shared(Protocol::Amqp);
    let topic = unique("full");
    let connection =
        lapin::Connection::connect(&broker.url, lapin::ConnectionProperties::default()).await.unwrap();
    let channel = connection.create_channel().await.unwrap();
    let mut arguments = FieldTable::default();
    arguments.insert("x-max-length".into(), AMQPValue::LongInt(1));
    arguments.insert("x-overflow".into(), AMQPValue::LongString("reject-publish".into()));
    let durable = lapin::options::QueueDeclareOptions { durable: true, ..Default::default() };
    channel.queue_declare(topic.as_str().into(), durable, arguments).await.unwrap();
    let properties = lapin::BasicProperties::default();
    let options = lapin::options::BasicPublishOptions::default();
    channel.basic_publish("".into(), topic.as_str().into(), options, b"first", properties).await.unwrap();
    (broker, topic)
}

#[tokio::test(flavor = "multi_thread")]
async fn o01_a_row_is_not_claimed_until_it_is_old_enough() {
    let (broker, topic) = nats_broker().await;
    let outbox = OutboxLane::open(Kind::Postgres, &broker, "claim.min_age = \"1h\"").await;
    outbox.insert(&Event { topic: &topic, payload: "young", dedupe: "young", key: None }).await;
    let old = [
        ("idempotency_key", Cell::from("old")),
        ("topic", Cell::from(topic.as_str())),
        ("payload", Cell::from("old")),
        ("created_at", Cell::Sql(outbox.ago(2 * 3600))),
    ];
    outbox.sql.insert("outbox", &old).await;
    let _running = outbox.start();
    outbox.eventually("old", "DELIVERED").await;
    assert_eq!(outbox.row("young").await.status, "PENDING");
}

/// The age of the claim counts: a row that was written long ago and claimed just now belongs to its worker.
#[tokio::test(flavor = "multi_thread")]
async fn o05_stuck_claims_are_reclaimed_by_their_claim_time() {
    let (broker, topic) = nats_broker().await;
    for kind in EVERYWHERE {
        let outbox = OutboxLane::open(kind, &broker, "").await;
        let names = ["stuck", "busy", "unknown"].map(|name| format!("{name}-{kind:?}"));
        for (name, claimed) in names.iter().zip([outbox.ago(120), outbox.ago(5), "NULL".to_owned()]) {
            let cells = [
                ("idempotency_key", Cell::from(name.as_str())),
                ("topic", Cell::from(topic.as_str())),
                ("payload", Cell::from("{}")),
                ("status", Cell::from("PROCESSING")),
                ("created_at", Cell::Sql(outbox.ago(86_400))),
                ("claimed_at", Cell::Sql(claimed)),
            ];
            outbox.sql.insert("outbox", &cells).await;
        }
        let running = outbox.start();
        let row = outbox.eventually(&names[0], "DELIVERED").await;
        assert_eq!(row.retries, 0, "{kind:?}: a claim whose delivery never began costs nothing");
        for name in &names[1..] {
            assert_eq!(outbox.row(name).await.status, "PROCESSING", "{kind:?}: {name}");
        }
        let stamped = format!("outbox WHERE idempotency_key = '{}' AND claimed_at IS NOT NULL", names[2]);
        assert_eq!(outbox.sql.count(&stamped).await, Some(1), "{kind:?}: seen, and counted from now");
        // Move the claim one lease back.
        outbox
            .sql
            .must(&format!("UPDATE outbox SET claimed_at = {} WHERE status = 'PROCESSING'", outbox.ago(120)))
            .await;
        outbox.eventually(&names[2], "DELIVERED").await;
        let (_, figures) = tokio::task::block_in_place(|| running.get("/metrics"));
        assert!(figures.contains("outbox_stuck_recovered_total{lane=\"events\"} 3"), "{kind:?}: {figures}");
    }
}

/// 1 s, then 2 s; the third failure is final (O2).
#[tokio::test(flavor = "multi_thread")]
async fn o05_failures_back_off_exponentially_and_the_last_one_fails_the_row() {
    let (broker, topic) = full_queue().await;
    for kind in EVERYWHERE {
        let outbox = OutboxLane::open(kind, &broker, "").await;
        outbox.insert(&Event { topic: &topic, payload: "{}", dedupe: "e-1", key: Some("k") }).await;
        let _running = outbox.start();
        let mut waits = Vec::new();
        for retries in 1..=2 {
            let wait = wait_until("a failure is counted", TIMEOUT, || async {
                backoff_seconds(&outbox, retries).await
            });
            waits.push(wait.await);
        }
        let row = outbox.eventually("e-1", "FAILED").await;
        assert_eq!(row.retries, 2, "{kind:?}: the last failure leaves the counter");
        assert!(row.error.is_some_and(|reason| reason.contains("nack")) && !row.finished, "{kind:?}");
        assert!(waits[0] >= 0.99 && waits[1] >= 1.99, "{kind:?}: {waits:?}");
        assert!(waits[0] < waits[1], "{kind:?}: {waits:?}");
    }
}

/// Seconds from the claim to the next attempt, once this many retries are counted.
async fn backoff_seconds(outbox: &OutboxLane, retries: u32) -> Option<f64> {
    let seconds = match &outbox.sql {
        Sql::Postgres(_) => "extract(epoch FROM next_attempt_at - claimed_at)",
        Sql::MariaDb(_) => "TIMESTAMPDIFF(MICROSECOND, claimed_at, next_attempt_at) / 1000000",
        Sql::Sqlite(_) => "(julianday(next_attempt_at) - julianday(claimed_at)) * 86400",
    };
    let query = format!(
        "SELECT {} FROM outbox WHERE status = 'PENDING' AND retry_count = {retries}",
        outbox.sql.text(seconds)
    );
    outbox.sql.rows(&query).await.ok()?.first()?.first()?.as_deref()?.parse().ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn o05_delivered_rows_are_purged_seven_days_after_they_were_processed() {
    let (broker, topic) = nats_broker().await;
    let day = 86_400;
    for kind in EVERYWHERE {
        let outbox = OutboxLane::open(kind, &broker, "").await;
        let rows = [("gone", "DELIVERED", 8), ("kept", "DELIVERED", 6), ("failed", "FAILED", 30)];
        for (name, status, days) in rows {
            let cells = [
                ("idempotency_key", Cell::from(name)),
                ("topic", Cell::from(topic.as_str())),
                ("payload", Cell::from("{}")),
                ("status", Cell::from(status)),
                ("created_at", Cell::Sql(outbox.ago(60 * day))),
                ("processed_at", Cell::Sql(outbox.ago(days * day))),
            ];
            outbox.sql.insert("outbox", &cells).await;
        }
        let _running = outbox.start();
        wait_until("the old one is gone", TIMEOUT, || async {
            (outbox.sql.count("outbox WHERE idempotency_key = 'gone'").await == Some(0)).then_some(())
        })
        .await;
        assert_eq!(outbox.sql.count("outbox").await, Some(2), "{kind:?}: the others stay");
    }
}

/// One instance claims with `single` and the others stand by; when it ends, another one claims.
#[tokio::test(flavor = "multi_thread")]
async fn o05_a_single_active_poller_can_be_configured() {
    let (broker, topic) = nats_broker().await;
    let outbox = OutboxLane::open(Kind::Postgres, &broker, "single = true").await;
    let mut running =
        [outbox.sandbox.start_with_log("first.log"), outbox.sandbox.start_with_log("second.log")];
    let claimed = |running: &crate::sandbox::RunningBinary| -> u64 {
        let (_, figures) = tokio::task::block_in_place(|| running.get("/metrics"));
        let line = figures
            .lines()
            .find_map(|line| line.strip_prefix("postrider_rows_claimed_total{lane=\"events\"} "));
        line.map_or(0, |count| count.parse().unwrap())
    };
    for number in 0..20_u64 {
        let dedupe = format!("e-{number}");
        outbox.insert(&Event { topic: &topic, payload: "{}", dedupe: &dedupe, key: None }).await;
        outbox.wait_for_count("DELIVERED", number + 1).await;
    }
    let shares = [claimed(&running[0]), claimed(&running[1])];
    assert!(shares == [20, 0] || shares == [0, 20], "{shares:?}");
    let active = usize::from(shares[1] > 0);
    running[active].signal(rustix::process::Signal::TERM);
    assert_eq!(running[active].ended(Duration::from_secs(30)), Some(0));
    outbox.insert(&Event { topic: &topic, payload: "{}", dedupe: "after", key: None }).await;
    outbox.eventually("after", "DELIVERED").await;
    assert_eq!(claimed(&running[1 - active]), 1);
}

/// A broker that accepts connections and never answers is away: no row is charged an attempt.
#[tokio::test(flavor = "multi_thread")]
async fn o02_a_broker_that_never_answers_costs_no_attempt() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap();
    for scheme in ["kafka", "nats", "amqp"] {
        let broker = Broker { protocol: Protocol::Nats, url: format!("{scheme}://{address}") };
        let more =
            "attempts.max = 1\nattempts.count = \"failures\"\ntimeout = \"1s\"\nretry.base = \"100ms\"";
        let outbox = OutboxLane::open(Kind::Sqlite, &broker, more).await;
        outbox.insert(&Event { topic: "deals", payload: "{}", dedupe: "e-1", key: None }).await;
        let running = outbox.start();
        wait_until("/readyz says that the broker is away", TIMEOUT, || async {
            let (code, body) = tokio::task::block_in_place(|| running.get("/readyz"));
            (code == 503 && body.contains("unreachable")).then_some(())
        })
        .await;
        let row = outbox.row("e-1").await;
        assert_ne!(row.status, "FAILED", "{scheme}: {row:?}");
        assert_eq!(row.retries, 0, "{scheme}: {row:?}");
    }
}
