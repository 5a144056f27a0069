//! Tests of records and credentials that the broker refuses.

use std::sync::atomic::Ordering;

use lapin::types::{AMQPValue, FieldTable};
use postrider_seams::{Content, Envelope, LeaseCheck, Transport as _, transport};

use crate::server::{self, amqp, queue, seen};
use crate::world::*;

#[tokio::test]
async fn unroutable_records_are_rejected_one_by_one() {
    let (url, name) = (server::url().await, unique("deals"));
    queue(&url, &name, FieldTable::default()).await;
    let nowhere = unique("nowhere");
    // Every third record is unroutable, among many confirms.
    let mut batch = numbered(&name, 5, 0..300);
    for envelope in batch.iter_mut().skip(1).step_by(3) {
        let Content::Record(record) = &mut envelope.content else { panic!("no record") };
        record.topic.clone_from(&nowhere);
    }
    let outcomes = send(&amqp(&url), &batch).await;
    for (n, outcome) in outcomes.iter().enumerate() {
        if n % 3 == 1 {
            assert!(rejected(outcome).reason.contains("NO_ROUTE"), "{n}: {outcome:?}");
        } else {
            delivered(outcome);
        }
    }
    let seen = seen(&url, &name, 200).await;
    assert!(seen.iter().all(|(_, number)| number % 3 != 1));
}

#[tokio::test]
async fn a_missing_exchange_affects_no_other_record() {
    let (url, name) = (server::url().await, unique("deals"));
    queue(&url, &name, FieldTable::default()).await;
    let mut batch = numbered(&name, 5, 0..50);
    for n in [0, 20, 21, 49] {
        let Content::Record(record) = &mut batch[n].content else { panic!("no record") };
        record.topic = "no-such-exchange/key".to_owned();
    }
    let outcomes = send(&amqp(&url), &batch).await;
    for (n, outcome) in outcomes.iter().enumerate() {
        if [0, 20, 21, 49].contains(&n) {
            assert!(rejected(outcome).reason.contains("no exchange 'no-such-exchange'"), "{n}: {outcome:?}");
        } else {
            delivered(outcome);
        }
    }
    assert_eq!(in_order(&seen(&url, &name, 46).await, 46), 0, "once each, in order");
}

#[tokio::test]
async fn records_that_amqp_cannot_encode_are_rejected() {
    let (url, name) = (server::url().await, unique("deals"));
    queue(&url, &name, FieldTable::default()).await;
    let nothing = Envelope { content: Content::Nothing, ..record(&name, None, "", "1") };
    let batch = [nothing, record(&"x".repeat(300), None, "", "2"), record(&name, Some("k"), "0", "3")];
    let outcomes = send(&amqp(&url), &batch).await;
    rejected(&outcomes[0]);
    rejected(&outcomes[1]);
    delivered(&outcomes[2]);
}

#[tokio::test]
async fn a_full_queue_is_retryable() {
    let (url, name) = (server::url().await, unique("deals"));
    let mut arguments = FieldTable::default();
    arguments.insert("x-max-length".into(), AMQPValue::LongInt(2));
    arguments.insert("x-overflow".into(), AMQPValue::LongString("reject-publish".into()));
    let channel = queue(&url, &name, arguments).await;
    let amqp = amqp(&url);
    let batch = numbered(&name, 1, 0..3);
    let outcomes = send(&amqp, &batch).await;
    all_delivered(&outcomes[..2]);
    assert!(retryable(&outcomes[2]).reason.contains("nack"), "{outcomes:?}");
    channel.queue_purge(name.as_str().into(), lapin::options::QueuePurgeOptions::default()).await.unwrap();
    all_delivered(&send(&amqp, &batch[2..]).await);
}

#[tokio::test]
async fn a_record_over_the_brokers_limit_affects_no_other() {
    let server = server::start("max_message_size = 100000\n").await;
    let (url, name) = (server.url(), unique("deals"));
    queue(&url, &name, FieldTable::default()).await;
    let mut batch = numbered(&name, 2, 0..10);
    batch.insert(5, record(&name, Some("key-0"), vec![b'x'; 200_000], "large"));
    let outcomes = send(&amqp(&url), &batch).await;
    assert!(rejected(&outcomes[5]).reason.contains("larger than configured max size"), "{outcomes:?}");
    // Records before it may have lost their confirm; those after it were sent again.
    all_delivered(&outcomes[6..]);
    in_order(&seen(&url, &name, 10).await, 10);
}

#[tokio::test]
async fn g03_a_wrong_password_or_vhost_pauses_the_lane() {
    let url = server::url().await;
    let wrong = [url.replace("guest:guest", "guest:hunter2"), format!("{url}/no-such-vhost")];
    for url in wrong {
        let amqp = amqp(&url);
        let error = amqp.probe().await.unwrap_err();
        assert!(matches!(error, transport::Error::Refused(_)), "{error:?}");
        for outcome in send(&amqp, &numbered("deals", 1, 0..3)).await {
            assert!(!refused(&outcome).reason.contains("hunter2"), "{outcome:?}");
        }
    }
}

#[tokio::test]
async fn g02_a_record_whose_lease_ran_out_is_not_published() {
    let (url, name) = (server::url().await, unique("deals"));
    queue(&url, &name, FieldTable::default()).await;
    defers_without_lease(&amqp(&url), &name).await;
    let numbers: Vec<usize> = seen(&url, &name, 2).await.into_iter().map(|(_, number)| number).collect();
    assert_eq!(numbers, [1, 3]);
}

/// The first record is confirmed before the second is published, as the channel does not know its exchange yet: the
/// lease is lost in between.
#[tokio::test]
async fn g02_a_record_that_loses_its_lease_while_earlier_ones_are_confirmed_is_not_published() {
    let (url, name, exchange) = (server::url().await, unique("deals"), unique("exchange"));
    queue(&url, &name, FieldTable::default()).await;
    server::exchange(&url, &exchange, &name, "made").await;
    let (lease, lost) = losable_lease();
    let confirmed = LeaseCheck::new(|| true).reporting(move |_| lost.store(true, Ordering::SeqCst));
    let batch = [
        Envelope { lease: confirmed, ..record(&name, Some("a"), "0", "1") },
        Envelope { lease, ..record(&format!("{exchange}/made"), Some("b"), "1", "2") },
        record(&name, Some("c"), "1", "3"),
    ];
    let outcomes = send(&amqp(&url), &batch).await;
    delivered(&outcomes[0]);
    assert!(deferred(&outcomes[1]).reason.contains("lease"), "{outcomes:?}");
    delivered(&outcomes[2]);
    let keys: Vec<String> = seen(&url, &name, 2).await.into_iter().map(|(key, _)| key).collect();
    assert_eq!(keys, ["a", "c"]);
}
