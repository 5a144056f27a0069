//! A RabbitMQ server, queues, and an independent consumer.

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

/// Returns the server that the environment names, or one shared by all tests here: it takes ten seconds to start.
pub async fn url() -> String {
    static SHARED: OnceLock<String> = OnceLock::new();
    let shared = || {
        std::env::var("POSTRIDER_TEST_AMQP").unwrap_or_else(|_| {
            let server = RabbitMq::start("").unwrap();
            let url = server.url();
            // Its guardian process stops it after this process ends.
            std::mem::forget(server);
            url
        })
    };
    tokio::task::spawn_blocking(move || SHARED.get_or_init(shared).clone()).await.unwrap()
}

/// Starts a server for one test, to kill or to configure differently.
pub async fn start(settings: &'static str) -> RabbitMq {
    tokio::task::spawn_blocking(move || RabbitMq::start(settings).unwrap()).await.unwrap()
}

pub fn amqp(url: &str) -> Amqp {
    Amqp::from_url(url, &[]).unwrap()
}

pub async fn channel(url: &str) -> Channel {
    let connection = Connection::connect(url, ConnectionProperties::default()).await.unwrap();
    let channel = connection.create_channel().await.unwrap();
    // Tests are short: keep it open as long as the process.
    std::mem::forget(connection);
    channel
}

/// Declares a durable queue of that name.
pub async fn queue(url: &str, name: &str, arguments: FieldTable) -> Channel {
    let channel = channel(url).await;
    let durable = QueueDeclareOptions { durable: true, ..QueueDeclareOptions::default() };
    channel.queue_declare(name.into(), durable, arguments).await.unwrap();
    channel
}

/// Declares a topic exchange, bound to a queue by a routing key.
pub async fn exchange(url: &str, name: &str, queue: &str, key: &str) {
    let channel = channel(url).await;
    let durable = ExchangeDeclareOptions { durable: true, ..ExchangeDeclareOptions::default() };
    channel.exchange_declare(name.into(), ExchangeKind::Topic, durable, FieldTable::default()).await.unwrap();
    let options = QueueBindOptions::default();
    channel.queue_bind(queue.into(), name.into(), key.into(), options, FieldTable::default()).await.unwrap();
}

/// Consumes messages of a queue until `enough` returns true.
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

/// Returns keys and numbers of a queue, once every number of `0..numbers` was seen.
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
