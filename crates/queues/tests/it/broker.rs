//! A private queue for each test on the shared brokers, and a way to write to it directly.

use std::time::Duration;

use postrider_queues::{AmqpQueue, NatsNames, NatsQueue, SqsQueue};
use postrider_seams::row::Detail;
use postrider_seams::{Content, Envelope, Outcome, Queue, Record, Transport};
use postrider_transport_amqp::Amqp;
use postrider_transport_nats::Nats;
use postrider_transport_sqs::Sqs;
use tokio::time::Instant;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Broker {
    Nats,
    Amqp,
    Sqs,
}

/// A name that is unique to the test.
pub fn unique(name: &str) -> String {
    format!("{name}-{}-{:08x}", std::process::id(), rand::random::<u32>())
}

impl Broker {
    fn url(self) -> String {
        let name = match self {
            Self::Nats => "POSTRIDER_TEST_NATS",
            Self::Amqp => "POSTRIDER_TEST_AMQP",
            Self::Sqs => "POSTRIDER_TEST_SQS",
        };
        std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set: run `cargo xtask test`"))
    }

    /// A queue that is not declared yet.
    pub fn queue(self, name: &str, redelivery_timeout: Duration) -> Box<dyn Queue> {
        let url = self.url();
        match self {
            Self::Nats => {
                let names = NatsNames {
                    stream: name.to_owned(),
                    subject: format!("{name}.pointers"),
                    consumer: "workers".to_owned(),
                };
                let settings = postrider_transport_nats::Settings::from_url(&url, &[]).unwrap();
                Box::new(NatsQueue::new(settings, names, redelivery_timeout).unwrap())
            }
            Self::Amqp => {
                let settings = postrider_transport_amqp::Settings::from_url(&url, &[]).unwrap();
                Box::new(AmqpQueue::new(settings, name.to_owned()).unwrap())
            }
            Self::Sqs => {
                let settings = postrider_transport_sqs::Settings::from_url(&url, &[]).unwrap();
                Box::new(SqsQueue::new(settings, name.to_owned(), redelivery_timeout).unwrap())
            }
        }
    }

    pub async fn declared(self, redelivery_timeout: Duration) -> (String, Box<dyn Queue>) {
        let name = unique("queue");
        let queue = self.queue(&name, redelivery_timeout);
        assert_eq!(queue.declare().await.unwrap().len(), 1);
        (name, queue)
    }

    /// Writes any message to the queue, without our encoding.
    pub async fn put(self, name: &str, body: &[u8]) {
        let url = self.url();
        let topic = if self == Self::Nats { format!("{name}.pointers") } else { name.to_owned() };
        let record = Record { topic, key: None, payload: body.to_vec().into(), headers: Vec::new() };
        let envelope = Envelope {
            row: "x".to_owned(),
            dedupe: unique("put"),
            attempt: 1,
            lease: postrider_seams::LeaseCheck::default(),
            content: Content::Record(record),
            detail: Detail::new(),
        };
        let transport: Box<dyn Transport> = match self {
            Self::Nats => Box::new(Nats::from_url(&url, &[]).unwrap()),
            Self::Amqp => Box::new(Amqp::from_url(&url, &[]).unwrap()),
            Self::Sqs => Box::new(Sqs::from_url(&url, &[]).unwrap()),
        };
        let outcomes = transport.deliver(&[envelope], Instant::now() + Duration::from_secs(20)).await;
        assert!(matches!(outcomes[0], Outcome::Delivered(_)), "{outcomes:?}");
    }
}
