//! RabbitMQ: declares a queue and reads its messages.

use std::time::Duration;

use futures::StreamExt as _;
use lapin::message::Delivery;
use lapin::options::{BasicConsumeOptions, QueueDeclareOptions};
use lapin::types::FieldTable;
use lapin::{Connection, ConnectionProperties};

use super::Seen;

/// Creates a durable queue of that name.
pub async fn make(url: &str, topic: &str) {
    let connection = Connection::connect(url, ConnectionProperties::default()).await.unwrap();
    let channel = connection.create_channel().await.unwrap();
    let durable = QueueDeclareOptions { durable: true, ..QueueDeclareOptions::default() };
    channel.queue_declare(topic.into(), durable, FieldTable::default()).await.unwrap();
}

/// The number of records in the queue.
pub async fn waiting(url: &str, topic: &str) -> usize {
    let connection = Connection::connect(url, ConnectionProperties::default()).await.unwrap();
    let channel = connection.create_channel().await.unwrap();
    let passive = QueueDeclareOptions { passive: true, ..QueueDeclareOptions::default() };
    let queue = channel.queue_declare(topic.into(), passive, FieldTable::default()).await.unwrap();
    usize::try_from(queue.message_count()).unwrap()
}

/// Reads the records and removes them from the queue.
pub async fn read(url: &str, topic: &str, count: usize) -> Vec<Seen> {
    let connection = Connection::connect(url, ConnectionProperties::default()).await.unwrap();
    let channel = connection.create_channel().await.unwrap();
    let options = BasicConsumeOptions { no_ack: true, ..BasicConsumeOptions::default() };
    let consumer = channel.basic_consume(topic.into(), "reader".into(), options, FieldTable::default());
    let messages = consumer.await.unwrap().take(count).map(Result::unwrap).collect();
    let messages: Vec<Delivery> =
        tokio::time::timeout(Duration::from_mins(1), messages).await.expect("they come");
    messages.iter().map(seen).collect()
}

fn seen(message: &Delivery) -> Seen {
    let headers = message.properties.headers().as_ref().unwrap().inner().iter();
    let mut headers: std::collections::BTreeMap<String, String> = headers
        .map(|(name, value)| (name.to_string(), value.as_long_string().unwrap().to_string()))
        .collect();
    if let Some(content_type) = message.properties.content_type() {
        headers.insert("content-type".to_owned(), content_type.to_string());
    }
    Seen::new(message.data.clone(), headers)
}
