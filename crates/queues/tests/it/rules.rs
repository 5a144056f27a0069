//! Rules that hold for every queue.

use std::collections::BTreeSet;
use std::time::Duration;

use postrider_seams::RowId;
use postrider_seams::queue::{AckToken, Error, Pointer, Queue};
use tokio::time::Instant;

use crate::broker::{Broker, unique};

const REDELIVERY_TIMEOUT: Duration = Duration::from_mins(1);

fn row(id: &str) -> RowId {
    RowId::Text(id.into())
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(20)
}

/// Receives until `count` pointers have arrived.
async fn received(queue: &dyn Queue, count: usize) -> Vec<Pointer> {
    let until = Instant::now() + Duration::from_mins(1);
    let mut all = Vec::new();
    while all.len() < count {
        assert!(Instant::now() < until, "{} of {count} came", all.len());
        all.extend(queue.receive(count - all.len()).await.unwrap());
    }
    all
}

fn tokens(pointers: &[Pointer]) -> Vec<AckToken> {
    pointers.iter().map(|pointer| pointer.token.clone()).collect()
}

async fn pointers_are_delivered_until_acknowledged(broker: Broker) {
    let (_, queue) = broker.declared(REDELIVERY_TIMEOUT).await;
    let rows: Vec<RowId> = (0..25).map(|n| row(&format!("job-{n}"))).chain([RowId::Int(7)]).collect();
    assert!(queue.publish(&rows, soon()).await.iter().all(Result::is_ok));
    let pointers = received(&*queue, rows.len()).await;
    let came: BTreeSet<RowId> = pointers.iter().filter_map(|pointer| pointer.row.clone()).collect();
    assert_eq!(came, rows.into_iter().collect());
    queue.acknowledge(&tokens(&pointers)).await.unwrap();
    queue.release_prefetched().await;
    assert!(queue.receive(10).await.unwrap().is_empty(), "nothing is left");
}

async fn a_second_publication_is_delivered_too(broker: Broker) {
    // A broker that drops duplicates would lose a job that must be retried.
    let (_, queue) = broker.declared(REDELIVERY_TIMEOUT).await;
    for _ in 0..2 {
        assert!(queue.publish(&[row("job")], soon()).await[0].is_ok());
    }
    let pointers = received(&*queue, 2).await;
    assert!(pointers.iter().all(|pointer| pointer.row == Some(row("job"))));
    queue.acknowledge(&tokens(&pointers)).await.unwrap();
}

async fn pointers_given_back_are_delivered_again(broker: Broker) {
    let (_, queue) = broker.declared(REDELIVERY_TIMEOUT).await;
    queue.publish(&[row("job")], soon()).await[0].as_ref().unwrap();
    for after in [Duration::ZERO, Duration::from_secs(1)] {
        let pointers = received(&*queue, 1).await;
        queue.give_back(&tokens(&pointers), after).await.unwrap();
    }
    let pointers = received(&*queue, 1).await;
    assert_eq!(pointers[0].row, Some(row("job")));
    queue.acknowledge(&tokens(&pointers)).await.unwrap();
}

async fn unacknowledged_pointers_go_to_another_worker(broker: Broker) {
    let (name, one) = broker.declared(Duration::from_secs(5)).await;
    one.publish(&[row("job")], soon()).await[0].as_ref().unwrap();
    let first = received(&*one, 1).await;
    // The first worker is gone: its connection ends, or the acknowledgement times out.
    drop(one);
    let two = broker.queue(&name, Duration::from_secs(5));
    let second = received(&*two, 1).await;
    assert_eq!(first[0].row, second[0].row);
    two.acknowledge(&tokens(&second)).await.unwrap();
}

async fn an_unreadable_message_can_be_acknowledged(broker: Broker) {
    let (name, queue) = broker.declared(REDELIVERY_TIMEOUT).await;
    let huge = "x".repeat(100_000);
    for body in [&b"hello"[..], b"{\"v\":9,\"id\":\"a\"}", huge.as_bytes()] {
        broker.put(&name, body).await;
    }
    let pointers = received(&*queue, 3).await;
    assert!(pointers.iter().all(|pointer| pointer.row.is_none()), "{pointers:?}");
    queue.acknowledge(&tokens(&pointers)).await.unwrap();
    queue.release_prefetched().await;
    assert!(queue.receive(10).await.unwrap().is_empty(), "never a loop");
}

async fn a_missing_queue_is_reported_and_can_be_created(broker: Broker) {
    let name = unique("absent");
    let queue = broker.queue(&name, REDELIVERY_TIMEOUT);
    for result in [queue.probe().await, queue.receive(1).await.map(|_| ())] {
        let Err(Error::Refused(text)) = result else { panic!("{result:?}") };
        assert!(text.contains("postrider migrate"), "{text}");
    }
    assert!(queue.publish(&[row("job")], soon()).await[0].is_err());
    assert_eq!(queue.declare().await.unwrap().len(), 1);
    assert!(queue.declare().await.unwrap().is_empty(), "it is there");
    queue.probe().await.unwrap();
    queue.publish(&[row("job")], soon()).await[0].as_ref().unwrap();
    assert_eq!(received(&*queue, 1).await[0].row, Some(row("job")));
}

macro_rules! on_each {
    ($($rule:ident)*) => {
        mod nats { use super::*; $(#[tokio::test] async fn $rule() { super::$rule(Broker::Nats).await })* }
        mod amqp { use super::*; $(#[tokio::test] async fn $rule() { super::$rule(Broker::Amqp).await })* }
        mod sqs { use super::*; $(#[tokio::test] async fn $rule() { super::$rule(Broker::Sqs).await })* }
    };
}

on_each! {
    pointers_are_delivered_until_acknowledged
    a_second_publication_is_delivered_too
    pointers_given_back_are_delivered_again
    unacknowledged_pointers_go_to_another_worker
    an_unreadable_message_can_be_acknowledged
    a_missing_queue_is_reported_and_can_be_created
}
