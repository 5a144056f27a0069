//! The brokers of the tests: independent clients create topics and read records.

mod amqp;
mod kafka;
mod nats;
mod sqs;

use std::collections::BTreeMap;

use crate::support::database::variable;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    Kafka,
    Nats,
    Amqp,
    Sqs,
}

pub const ALL: [Protocol; 4] = [Protocol::Kafka, Protocol::Nats, Protocol::Amqp, Protocol::Sqs];

/// A record as a consumer receives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    pub key: Option<String>,
    pub payload: Vec<u8>,
    /// The headers without the key, which some brokers send among them.
    pub headers: BTreeMap<String, String>,
}

/// A broker to publish to.
#[derive(Debug, Clone)]
pub struct Broker {
    pub protocol: Protocol,
    pub url: String,
}

impl Broker {
    /// The broker that all tests share.
    pub fn shared(protocol: Protocol) -> Self {
        let name = match protocol {
            Protocol::Kafka => "POSTRIDER_TEST_KAFKA",
            Protocol::Nats => "POSTRIDER_TEST_NATS",
            Protocol::Amqp => "POSTRIDER_TEST_AMQP",
            Protocol::Sqs => "POSTRIDER_TEST_SQS",
        };
        Self { protocol, url: variable(name) }
    }

    /// Creates the topic, queue or stream.
    pub async fn make(&self, topic: &str) {
        match self.protocol {
            Protocol::Kafka => kafka::make(&self.url, topic).await,
            Protocol::Nats => nats::make(&self.url, topic).await,
            Protocol::Amqp => amqp::make(&self.url, topic).await,
            Protocol::Sqs => sqs::make(&self.url, topic).await,
        }
    }

    /// Reads until `count` records have arrived.
    pub async fn read(&self, topic: &str, count: usize) -> Vec<Seen> {
        match self.protocol {
            Protocol::Kafka => {
                let (url, topic) = (self.url.clone(), topic.to_owned());
                let reading = tokio::task::spawn_blocking(move || kafka::read(&url, &topic, count));
                reading.await.expect("the reader ends")
            }
            Protocol::Nats => nats::read(&self.url, topic, count).await,
            Protocol::Amqp => amqp::read(&self.url, topic, count).await,
            Protocol::Sqs => sqs::read(&self.url, topic, count).await,
        }
    }

    /// The number of records that wait in an AMQP queue.
    pub async fn waiting(&self, queue: &str) -> usize {
        assert_eq!(self.protocol, Protocol::Amqp, "others do not say it");
        amqp::waiting(&self.url, queue).await
    }
}

impl Seen {
    fn new(payload: Vec<u8>, mut headers: BTreeMap<String, String>) -> Self {
        let key = headers.remove("key");
        Self { key, payload, headers }
    }

    #[track_caller]
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).unwrap_or_else(|| panic!("no header {name} in {:?}", self.headers))
    }
}

/// A name that no other test uses.
pub fn unique(name: &str) -> String {
    format!("{name}-{}-{:08x}", std::process::id(), rand::random::<u32>())
}
