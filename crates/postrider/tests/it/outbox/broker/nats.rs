//! NATS JetStream: creates a stream and reads its messages.

use std::time::Duration;

use async_nats::jetstream::{self, consumer, stream};
use futures::StreamExt as _;

use super::Seen;

async fn context(url: &str) -> jetstream::Context {
    let plain = url::Url::parse(url).unwrap();
    let mut options = async_nats::ConnectOptions::new();
    if let Some(password) = plain.password() {
        options = options.user_and_password(plain.username().to_owned(), password.to_owned());
    }
    let address = format!("{}:{}", plain.host_str().unwrap(), plain.port().unwrap());
    jetstream::new(options.connect(address).await.unwrap())
}

/// Creates a stream of that name for that subject only.
pub async fn make(url: &str, topic: &str) {
    let config = stream::Config {
        name: topic.replace('.', "_"),
        subjects: vec![topic.to_owned()],
        ..stream::Config::default()
    };
    context(url).await.create_stream(config).await.unwrap();
}

pub async fn read(url: &str, topic: &str, count: usize) -> Vec<Seen> {
    let stream = context(url).await.get_stream(topic.replace('.', "_")).await.unwrap();
    let consumer = stream.create_consumer(consumer::pull::OrderedConfig::default()).await.unwrap();
    let messages = consumer.messages().await.unwrap().take(count).map(Result::unwrap);
    let messages: Vec<jetstream::Message> =
        tokio::time::timeout(Duration::from_mins(1), messages.collect()).await.expect("they come");
    messages.iter().map(seen).collect()
}

fn seen(message: &jetstream::Message) -> Seen {
    let headers = message.headers.as_ref().unwrap().iter();
    let headers = headers.map(|(name, values)| (name.to_string(), values[0].to_string())).collect();
    Seen::new(message.payload.to_vec(), headers)
}
