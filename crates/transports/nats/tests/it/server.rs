//! A NATS server, streams, and an independent consumer.

use std::time::Duration;

use async_nats::jetstream::{self, consumer, stream};
use futures::StreamExt as _;
use postrider_services::Nats as Server;
use postrider_transport_nats::Nats;

use crate::world::Seen;

/// Starts a server. That takes a tenth of a second, so each test has its own.
pub async fn start(settings: &'static str) -> Server {
    tokio::task::spawn_blocking(move || Server::start(settings).unwrap()).await.unwrap()
}

pub fn nats(server: &Server) -> Nats {
    Nats::from_url(&server.url(), &[]).unwrap()
}

pub async fn context(server: &Server) -> jetstream::Context {
    jetstream::new(async_nats::connect(server.url()).await.unwrap())
}

/// Creates a stream of all subjects under its name.
pub async fn stream(server: &Server, name: &str) -> stream::Stream {
    let config = stream::Config {
        name: name.to_owned(),
        subjects: vec![format!("{name}.>")],
        ..stream::Config::default()
    };
    context(server).await.create_stream(config).await.unwrap()
}

/// Returns the messages of a stream, in order.
pub async fn messages(server: &Server, name: &str) -> Vec<jetstream::Message> {
    let stream = context(server).await.get_stream(name).await.unwrap();
    let count = usize::try_from(stream.cached_info().state.messages).unwrap();
    let config = consumer::pull::OrderedConfig::default();
    let consumer = stream.create_consumer(config).await.unwrap();
    let messages = consumer.messages().await.unwrap().take(count).map(Result::unwrap).collect();
    tokio::time::timeout(Duration::from_secs(30), messages).await.expect("all messages of the stream")
}

pub async fn seen(server: &Server, name: &str) -> Seen {
    let text = |message: &jetstream::Message| {
        let key = message.headers.as_ref().unwrap().get("key").unwrap().to_string();
        (key, std::str::from_utf8(&message.payload).unwrap().parse().unwrap())
    };
    messages(server, name).await.iter().map(text).collect()
}
