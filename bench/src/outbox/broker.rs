//! Connects to the brokers that `cargo xtask bench` started.

use std::time::Duration;

use async_nats::jetstream;
use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;

use crate::servers::variable;

/// The topic or stream of the bench.
pub const TOPIC: &str = "bench";
/// Size of a payload in bytes.
pub const PAYLOAD: usize = 200;
const PARTITIONS: i32 = 8;

/// A broker by its URL.
pub enum Broker {
    Kafka { url: String },
    Nats { url: String },
}

impl Broker {
    /// The Kafka broker that was started.
    pub fn kafka() -> Self {
        Self::Kafka { url: variable("POSTRIDER_TEST_KAFKA") }
    }

    /// The NATS server that was started.
    pub fn nats() -> Self {
        Self::Nats { url: variable("POSTRIDER_TEST_NATS") }
    }

    /// The name of the broker, for figures.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Kafka { .. } => "kafka",
            Self::Nats { .. } => "nats",
        }
    }

    /// The URL of the broker.
    pub fn url(&self) -> &str {
        match self {
            Self::Kafka { url } | Self::Nats { url } => url,
        }
    }

    /// Deletes the topic and creates it again.
    pub async fn empty(&self) {
        match self {
            Self::Kafka { url } => empty_topic(servers(url)).await,
            Self::Nats { url } => {
                let stream = jetstream::stream::Config {
                    name: TOPIC.to_owned(),
                    subjects: vec![TOPIC.to_owned()],
                    ..jetstream::stream::Config::default()
                };
                let client = async_nats::connect(url).await.expect("NATS answers");
                let context = jetstream::new(client);
                // There is none in the first round.
                let _ = context.delete_stream(TOPIC).await;
                context.create_stream(stream).await.expect("a stream can be made");
            }
        }
    }
}

/// The bootstrap servers of the client library.
pub fn servers(url: &str) -> &str {
    url.strip_prefix("kafka://").unwrap_or(url)
}

async fn empty_topic(servers: &str) {
    let admin: AdminClient<DefaultClientContext> =
        ClientConfig::new().set("bootstrap.servers", servers).create().expect("an admin client");
    let options = AdminOptions::new().operation_timeout(Some(Duration::from_secs(10)));
    // There is none in the first round.
    let _ = admin.delete_topics(&[TOPIC], &options).await;
    let topic = NewTopic::new(TOPIC, PARTITIONS, TopicReplication::Fixed(1));
    let created = admin.create_topics(&[topic], &options).await.expect("the broker answers");
    assert!(created.iter().all(Result::is_ok), "the topic could not be created: {created:?}");
}
