//! Tests of delivery, order, and a service that goes down and comes back.

use std::sync::Arc;
use std::time::Duration;

use aws_sdk_sqs::types::MessageSystemAttributeName;
use postrider_seams::{Content, Outcome, Transport as _, transport};
use postrider_services::Ministack;
use postrider_transport_sqs::Sqs;
use tokio::time::Instant;

use crate::server::{attribute, client, create, sqs, take, url};
use crate::world::*;

#[tokio::test]
async fn o10_delivered_records_can_be_read() {
    let (url, name) = (url().await, unique("deals"));
    let client = client(&url).await;
    let queue = create(&client, &name).await;
    let sqs = sqs(&url);
    sqs.probe().await.unwrap();
    let outcomes = send(&sqs, &numbered(&name, 5, 0..57)).await;
    all_delivered(&outcomes);
    assert!(delivered(&outcomes[0]).id.is_some());
    let mut numbers: Vec<usize> = take(&client, &queue, 57)
        .await
        .iter()
        .map(|message| message.body().unwrap().parse().unwrap())
        .collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..57).collect::<Vec<_>>());
}

#[tokio::test]
async fn o09_payload_and_headers_arrive() {
    let (url, name) = (url().await, unique("deals"));
    let client = client(&url).await;
    let queue = create(&client, &name).await;
    let sqs = sqs(&url);
    all_delivered(&send(&sqs, &[record(&queue, Some("k"), "{\"ü\": \"<&>\"}\n", "d-1")]).await);
    let message = &take(&client, &queue, 1).await[0];
    assert_eq!(message.body(), Some("{\"ü\": \"<&>\"}\n"));
    assert_eq!(attribute(message, "idempotency-key"), Some("d-1"));
    assert_eq!(attribute(message, "key"), Some("k"));
    all_delivered(&send(&sqs, &[record(&name, None, vec![0xff, 0], "d-2")]).await);
    let message = &take(&client, &queue, 1).await[0];
    assert_eq!((message.body(), attribute(message, "payload-encoding")), (Some("/wA="), Some("base64")));
}

#[tokio::test]
async fn o09_more_than_ten_headers_are_one_attribute_as_documented() {
    let (url, name) = (url().await, unique("deals"));
    let client = client(&url).await;
    let queue = create(&client, &name).await;
    let sqs = sqs(&url);
    let with_headers = |count: usize| {
        let mut envelope = record(&queue, Some("k"), "x", "d");
        let Content::Record(record) = &mut envelope.content else { panic!("a record") };
        record.headers = (1..=count).map(|n| (format!("h{n}"), format!("v{n}"))).collect();
        envelope
    };
    all_delivered(&send(&sqs, &[with_headers(9)]).await);
    let message = &take(&client, &queue, 1).await[0];
    assert_eq!(message.message_attributes().unwrap().len(), 10, "nine headers and the key");
    assert_eq!((attribute(message, "h9"), attribute(message, "key")), (Some("v9"), Some("k")));
    all_delivered(&send(&sqs, &[with_headers(10)]).await);
    let message = &take(&client, &queue, 1).await[0];
    assert_eq!(message.message_attributes().unwrap().len(), 1);
    let all: serde_json::Value = serde_json::from_str(attribute(message, "headers").unwrap()).unwrap();
    assert_eq!(all.as_object().unwrap().len(), 11);
    assert_eq!((&all["h10"], &all["key"]), (&"v10".into(), &"k".into()));
}

#[tokio::test]
async fn o08_a_fifo_queue_keeps_the_order_of_each_key_and_drops_duplicates() {
    let (url, name) = (url().await, format!("{}.fifo", unique("deals")));
    let client = client(&url).await;
    let queue = create(&client, &name).await;
    let sqs = sqs(&url);
    let batch = numbered(&name, 4, 0..60);
    all_delivered(&send(&sqs, &batch).await);
    all_delivered(&send(&sqs, &batch[..10]).await);
    let messages = take(&client, &queue, 60).await;
    let seen = messages
        .iter()
        .map(|message| {
            let attributes = message.attributes().unwrap();
            let group = attributes[&MessageSystemAttributeName::MessageGroupId].clone();
            (group, message.body().unwrap().parse().unwrap())
        })
        .collect();
    assert_eq!(in_order(&seen, 60), 0);
}

#[tokio::test]
async fn o10_an_unavailable_service_is_reported_and_used_again_when_it_is_back() {
    let mut server = tokio::task::spawn_blocking(|| Ministack::start().unwrap()).await.unwrap();
    server.kill();
    let (url, name) = (server.url(), unique("deals"));
    let sqs = sqs(&url);
    let error = sqs.probe().await.unwrap_err();
    assert!(matches!(error, transport::Error::Unreachable(_)), "{error:?}");
    for outcome in send(&sqs, &numbered(&name, 1, 0..12)).await {
        assert!(retryable(&outcome).unreachable, "{outcome:?}");
    }
    for _ in 0..2 {
        server = tokio::task::spawn_blocking(move || {
            server.restart().unwrap();
            server
        })
        .await
        .unwrap();
        let client = client(&url).await;
        let queue = create(&client, &name).await;
        send_until_delivered(&sqs, &numbered(&name, 1, 0..12)).await;
        assert!(take(&client, &queue, 12).await.len() >= 12);
        server.kill();
    }
}

/// The queues of a call are served one after the other.
#[tokio::test]
async fn o02_an_accepted_record_is_reported_while_another_queue_does_not_answer() {
    let server = tokio::task::spawn_blocking(|| Ministack::start().unwrap()).await.unwrap();
    let client = client(&server.url()).await;
    let (first, second) = (create(&client, "a-deals").await, create(&client, "b-deals").await);
    let sqs = Sqs::from_url(&server.url(), &[("request_timeout".to_owned(), "1s".to_owned())]).unwrap();
    let batch = [record(&first, None, "1", "1"), record(&second, None, "2", "2")];
    let server = Arc::new(server);
    reports_early(&sqs, batch, 0, move || server.freeze()).await;
}

#[tokio::test]
async fn a_silent_service_makes_records_uncertain_by_the_deadline() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("sqs://a:b@us-east-1?endpoint=http://{}", listener.local_addr().unwrap());
    let held = tokio::spawn(async move {
        let mut held = Vec::new();
        while let Ok((stream, _)) = listener.accept().await {
            held.push(stream);
        }
    });
    let start = Instant::now();
    // Named by URL, so that no query for the queue's URL comes first.
    let outcomes = send_by(&sqs(&url), &numbered("http://q/000000000000/deals", 1, 0..12), within(1.0)).await;
    assert!(start.elapsed() < Duration::from_secs(3));
    assert!(outcomes.iter().all(|outcome| matches!(outcome, Outcome::Uncertain(_))), "{outcomes:?}");
    // No time left: nothing was attempted. No answer about the queue's URL: nothing was sent, and the service may be
    // down.
    let late = send_by(&sqs(&url), &numbered("http://q/000000000000/deals", 1, 0..1), within(0.0)).await;
    assert!(matches!(late[0], Outcome::Deferred(_)), "{late:?}");
    let unknown = send_by(&sqs(&url), &numbered("deals", 1, 0..1), within(0.5)).await;
    assert!(matches!(&unknown[0], Outcome::Retryable(failure) if failure.unreachable), "{unknown:?}");
    held.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn o10_half_open_connections_are_replaced_within_ten_seconds() {
    let (url, name) = (url().await, unique("deals"));
    let client = client(&url).await;
    create(&client, &name).await;
    let behind = url.split_once("endpoint=http://").unwrap().1.trim_end_matches('/').to_owned();
    let proxy = postrider_services::Proxy::start(behind.parse().unwrap()).unwrap();
    let sqs = sqs(&url.replace(&behind, &proxy.address().to_string()));
    proxy.delay(Duration::from_millis(100));
    all_delivered(&send(&sqs, &numbered(&name, 5, 0..40)).await);
    assert!(proxy.open() > 1, "several connections are kept: {}", proxy.open());
    proxy.delay(Duration::ZERO);
    proxy.freeze();
    let lost = Instant::now();
    let batch = numbered(&name, 1, 40..42);
    while !send_by(&sqs, &batch, within(30.0)).await.iter().all(|one| matches!(one, Outcome::Delivered(_))) {
        assert!(lost.elapsed() < Duration::from_secs(10), "{:?}", lost.elapsed());
    }
    assert!(lost.elapsed() > Duration::from_secs(1), "the connections were half-open: {:?}", lost.elapsed());
    assert!(lost.elapsed() < Duration::from_secs(10), "{:?}", lost.elapsed());
}
