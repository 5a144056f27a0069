//! Tests of brokers that go down, come back, or hang.

use std::sync::Arc;
use std::time::Duration;

use lapin::types::FieldTable;
use postrider_seams::{Outcome, Transport as _, transport};
use postrider_services::RabbitMq;
use postrider_transport_amqp::Amqp;
use tokio::time::Instant;

use crate::server::{self, amqp, header, queue, seen, take};
use crate::world::*;

#[tokio::test]
async fn o10_delivered_records_can_be_read_in_order() {
    let (url, name) = (server::url().await, unique("deals"));
    queue(&url, &name, FieldTable::default()).await;
    let amqp = amqp(&url);
    amqp.probe().await.unwrap();
    all_delivered(&send(&amqp, &numbered(&name, 7, 0..500)).await);
    assert_eq!(in_order(&seen(&url, &name, 500).await, 500), 0);
}

#[tokio::test]
async fn o09_a_record_arrives_to_the_byte_and_twice_with_the_same_id() {
    let (url, name, exchange) = (server::url().await, unique("deals"), unique("exchange"));
    queue(&url, &name, FieldTable::default()).await;
    server::exchange(&url, &exchange, &name, "made.#").await;
    let payload = vec![0, 0xff, b'\n', 0];
    let batch = [record(&format!("{exchange}/made.eu"), Some("k"), payload.clone(), "d-1")];
    let by_topic = amqp(&url);
    all_delivered(&send(&by_topic, &batch).await);
    let by_setting = Amqp::from_url(&url, &[("exchange".to_owned(), exchange.clone())]).unwrap();
    all_delivered(&send(&by_setting, &[record("made.us", Some("k"), payload.clone(), "d-1")]).await);
    let mut keys = Vec::new();
    take(&url, &name, |delivery| {
        assert_eq!(delivery.data, payload);
        assert_eq!(delivery.exchange.as_str(), exchange);
        let properties = &delivery.properties;
        assert_eq!(properties.message_id().as_ref().map(ToString::to_string).as_deref(), Some("d-1"));
        assert_eq!(properties.delivery_mode(), &Some(2));
        assert_eq!(header(delivery, "idempotency-key").as_deref(), Some("d-1"));
        assert_eq!(header(delivery, "key").as_deref(), Some("k"));
        keys.push(delivery.routing_key.to_string());
        keys.len() == 2
    })
    .await;
    assert_eq!(keys, ["made.eu", "made.us"]);
}

/// Nothing listens there, so that each connect fails at once; one that waits for its timeout has lost the error.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_connection_is_reported_at_once_every_time() {
    for attempt in 0..1_000 {
        let amqp = Amqp::from_url("amqp://127.0.0.1:1", &[]).unwrap();
        let error = amqp.probe().await.unwrap_err().to_string();
        assert!(error.contains("onnection refused"), "attempt {attempt}: {error}");
    }
}

async fn started_again(mut server: RabbitMq) -> RabbitMq {
    let starting = tokio::task::spawn_blocking(move || {
        server.restart().unwrap();
        server
    });
    starting.await.unwrap()
}

#[tokio::test]
async fn o10_the_transport_recovers_from_a_restart_of_the_broker() {
    let mut server = server::start("").await;
    let (url, name) = (server.url(), unique("deals"));
    let channel = queue(&url, &name, FieldTable::default()).await;
    // A clean stop the first time: a queue that was just declared does not survive SIGKILL.
    server.stop();
    drop(channel);
    let mut server = started_again(server).await;
    let amqp = amqp(&url);
    all_delivered(&send(&amqp, &numbered(&name, 5, 0..100)).await);
    server.kill();
    // Down: reported as such, by a transport that was connected and by one that never was.
    let late = Amqp::from_url(&url, &[]).unwrap();
    for amqp in [&amqp, &late] {
        let error = amqp.probe().await.unwrap_err();
        assert!(matches!(error, transport::Error::Unreachable(_)), "{error:?}");
        for outcome in send(amqp, &numbered(&name, 5, 100..110)).await {
            assert!(retryable(&outcome).unreachable, "{outcome:?}");
        }
    }
    let server = started_again(server).await;
    send_until_delivered(&amqp, &numbered(&name, 5, 100..300)).await;
    send_until_delivered(&late, &numbered(&name, 5, 300..400)).await;
    assert_eq!(in_order(&seen(&server.url(), &name, 400).await, 400), 0);
}

/// The deadline of a lane may be minutes away; a confirm has its own, shorter limit.
#[tokio::test]
async fn o02_a_hung_broker_makes_records_uncertain_after_the_ack_timeout() {
    let server = server::start("").await;
    let (url, name) = (server.url(), unique("deals"));
    queue(&url, &name, FieldTable::default()).await;
    let amqp = Amqp::from_url(&url, &[("ack_timeout".to_owned(), "1s".to_owned())]).unwrap();
    all_delivered(&send(&amqp, &numbered(&name, 1, 0..1)).await);
    server.freeze();
    let start = Instant::now();
    let outcomes = send_by(&amqp, &numbered(&name, 1, 1..11), within(300.0)).await;
    assert!(start.elapsed() < Duration::from_secs(4), "{:?}", start.elapsed());
    assert!(outcomes.iter().all(|outcome| matches!(outcome, Outcome::Uncertain(_))), "{outcomes:?}");
    // The next call needs a new channel, which the hung broker does not open.
    let outcomes = send_by(&amqp, &numbered(&name, 1, 1..11), within(300.0)).await;
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    assert!(outcomes.iter().all(|outcome| retryable(outcome).unreachable), "{outcomes:?}");
    server.thaw();
    send_until_delivered(&amqp, &numbered(&name, 1, 1..11)).await;
}

/// The second record's exchange is unknown to the channel: it is published once the first is confirmed.
#[tokio::test]
async fn o02_a_confirmed_record_is_reported_while_one_to_another_exchange_waits() {
    let server = Arc::new(server::start("").await);
    let (url, name, exchange) = (server.url(), unique("deals"), unique("exchange"));
    queue(&url, &name, FieldTable::default()).await;
    server::exchange(&url, &exchange, &name, "made").await;
    let amqp = Amqp::from_url(&url, &[("ack_timeout".to_owned(), "1s".to_owned())]).unwrap();
    let batch = [record(&name, None, "1", "1"), record(&format!("{exchange}/made"), None, "2", "2")];
    reports_early(&amqp, batch, 0, move || server.freeze()).await;
}

#[tokio::test]
async fn a_silent_broker_is_given_up_at_the_deadline() {
    // A fake broker that accepts everything and never answers.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("amqp://127.0.0.1:{}", listener.local_addr().unwrap().port());
    let held = tokio::spawn(async move {
        let mut held = Vec::new();
        while let Ok((stream, _)) = listener.accept().await {
            held.push(stream);
        }
    });
    let start = Instant::now();
    let outcomes = send_by(&amqp(&url), &numbered("deals", 1, 0..3), within(1.0)).await;
    assert!(start.elapsed() < Duration::from_secs(3));
    assert!(
        outcomes.iter().all(|outcome| matches!(outcome, Outcome::Retryable(failure) if failure.unreachable))
    );
    held.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn o10_a_half_open_connection_is_replaced_within_ten_seconds() {
    let (url, name) = (server::url().await, unique("deals"));
    queue(&url, &name, FieldTable::default()).await;
    let rest = url.split_once("127.0.0.1:").unwrap().1;
    let port: u16 = rest.split('/').next().unwrap().parse().unwrap();
    let proxy = postrider_services::Proxy::start(([127, 0, 0, 1], port).into()).unwrap();
    let amqp = amqp(&url.replace(&format!("127.0.0.1:{port}"), &proxy.address().to_string()));
    all_delivered(&send(&amqp, &numbered(&name, 1, 0..10)).await);
    proxy.freeze();
    let lost = Instant::now();
    let batch = numbered(&name, 1, 10..20);
    while !send_by(&amqp, &batch, within(1.0)).await.iter().all(|one| matches!(one, Outcome::Delivered(_))) {
        assert!(lost.elapsed() < Duration::from_secs(10), "{:?}", lost.elapsed());
    }
    drop(proxy);
    seen(&url, &name, 20).await;
}
