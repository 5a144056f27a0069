//! A server, queues, and a consumer that is not ours.

use std::sync::OnceLock;
use std::time::Duration;

use futures::StreamExt as _;
use lapin::message::Delivery;
use lapin::options::{BasicConsumeOptions, ExchangeDeclareOptions, QueueBindOptions, QueueDeclareOptions};
use lapin::types::FieldTable;
use lapin::{Channel, Connection, ConnectionProperties, ExchangeKind};
use postrider_services::RabbitMq;
use postrider_transport_amqp::Amqp;

use crate::world::Seen;

/// The one that the environment names, or one for all tests here: it takes ten seconds to start.
pub async fn url() -> String {
    static SHARED: OnceLock<String> = OnceLock::new();
    let shared = || {
        std::env::var("POSTRIDER_TEST_AMQP").unwrap_or_else(|_| {
            let server = RabbitMq::start("").unwrap();
            let url = server.url();
            // Its guardian ends it after us.
            std::mem::forget(server);
            url
        })
    };
    tokio::task::spawn_blocking(move || SHARED.get_or_init(shared).clone()).await.unwrap()
}

/// One of a test's own, to kill or to set up otherwise.
pub async fn start(settings: &'static str) -> RabbitMq {
    tokio::task::spawn_blocking(move || RabbitMq::start(settings).unwrap()).await.unwrap()
}

pub fn amqp(url: &str) -> Amqp {
    Amqp::from_url(url, &[]).unwrap()
}

pub async fn channel(url: &str) -> Channel {
    let connection = Connection::connect(url, ConnectionProperties::default()).await.unwrap();
    let channel = connection.create_channel().await.unwrap();
    // Tests are short: it lives as long as the process.
    std::mem::forget(connection);
    channel
}

/// A durable queue of that name.
pub async fn queue(url: &str, name: &str, arguments: FieldTable) -> Channel {
    let channel = channel(url).await;
    let durable = QueueDeclareOptions { durable: true, ..QueueDeclareOptions::default() };
    channel.queue_declare(name.into(), durable, arguments).await.unwrap();
    channel
}

/// A topic exchange, bound to a queue by a routing key.
pub async fn exchange(url: &str, name: &str, queue: &str, key: &str) {
    let channel = channel(url).await;
    let durable = ExchangeDeclareOptions { durable: true, ..ExchangeDeclareOptions::default() };
    channel.exchange_declare(name.into(), ExchangeKind::Topic, durable, FieldTable::default()).await.unwrap();
    let options = QueueBindOptions::default();
    channel.queue_bind(queue.into(), name.into(), key.into(), options, FieldTable::default()).await.unwrap();
}

/// Takes messages out of a queue until `enough` of them were seen.
pub async fn take(url: &str, queue: &str, mut enough: impl FnMut(&Delivery) -> bool) {
    let channel = channel(url).await;
    let options = BasicConsumeOptions { no_ack: true, ..BasicConsumeOptions::default() };
    let mut consumer =
        channel.basic_consume(queue.into(), "reader".into(), options, FieldTable::default()).await.unwrap();
    loop {
        let next = tokio::time::timeout(Duration::from_secs(30), consumer.next()).await;
        let delivery = next.expect("more messages").expect("the consumer goes on").unwrap();
        if enough(&delivery) {
            return;
        }
    }
}

/// Keys and numbers of a queue, until every number of `0..numbers` was seen.
pub async fn seen(url: &str, queue: &str, numbers: usize) -> Seen {
    let mut seen = Seen::new();
    let mut known = std::collections::HashSet::new();
    take(url, queue, |delivery| {
        let number: usize = std::str::from_utf8(&delivery.data).unwrap().parse().unwrap();
        seen.push((header(delivery, "key").unwrap(), number));
        known.insert(number);
        known.len() == numbers
    })
    .await;
    seen
}

pub fn header(delivery: &Delivery, name: &str) -> Option<String> {
    let headers = delivery.properties.headers().as_ref()?;
    let value = headers.inner().get(name)?;
    Some(value.as_long_string()?.to_string())
}
