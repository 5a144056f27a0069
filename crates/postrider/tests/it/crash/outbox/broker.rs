//! A private broker that can be stopped, and an independent client that reads from it.

use postrider_services::{BrokerClient, Ministack, Nats, RabbitMq};
use rdkafka::mocking::MockCluster;
use rdkafka::producer::DefaultProducerContext;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    Nats,
    Amqp,
    Kafka,
    Sqs,
}

enum Server {
    Nats(Nats),
    Amqp(RabbitMq),
    /// librdkafka's mock cluster in this process; it keeps its records while it is down.
    Kafka(MockCluster<'static, DefaultProducerContext>),
    Sqs(Ministack),
}

pub struct Broker {
    pub protocol: Protocol,
    server: Server,
    client: BrokerClient,
}

const PARTITIONS: i32 = 8;
/// The only broker of the mock cluster.
const BROKER: i32 = 1;

impl Broker {
    /// Starts the broker and creates the topic.
    pub fn start(protocol: Protocol) -> Self {
        tokio::task::block_in_place(|| {
            let server = match protocol {
                Protocol::Nats => Server::Nats(Nats::start("").expect("NATS starts")),
                Protocol::Amqp => Server::Amqp(RabbitMq::start("").expect("RabbitMQ starts")),
                Protocol::Kafka => Server::Kafka(MockCluster::new(1).expect("a mock cluster starts")),
                Protocol::Sqs => Server::Sqs(Ministack::start().expect("Ministack starts")),
            };
            let client = BrokerClient::new().expect("Python's clients can be had");
            let mut broker = Self { protocol, server, client };
            match &broker.server {
                Server::Kafka(cluster) => {
                    cluster.create_topic(broker.topic(), PARTITIONS, 1).expect("a topic can be made");
                }
                _ => {
                    broker.client.prepare(&broker.url(), broker.topic()).expect("a topic can be made");
                }
            }
            if let Server::Amqp(server) = &mut broker.server {
                // Restart in order: a queue that was just declared does not survive SIGKILL.
                server.stop();
                server.restart().expect("RabbitMQ starts again");
            }
            broker
        })
    }

    pub fn url(&self) -> String {
        match &self.server {
            Server::Nats(server) => server.url(),
            Server::Amqp(server) => server.url(),
            Server::Kafka(cluster) => format!("kafka://{}", cluster.bootstrap_servers()),
            Server::Sqs(server) => server.url(),
        }
    }

    pub fn topic(&self) -> &'static str {
        match self.protocol {
            Protocol::Sqs => "outbox.fifo",
            _ => "outbox",
        }
    }

    /// Stops the broker: with SIGKILL if it promises to survive that; the SQS emulator in order.
    pub fn stop(&mut self) {
        tokio::task::block_in_place(|| match &mut self.server {
            Server::Nats(server) => server.kill(),
            Server::Amqp(server) => server.kill(),
            Server::Kafka(cluster) => cluster.broker_down(BROKER).expect("it was up"),
            Server::Sqs(server) => server.stop(),
        });
    }

    /// Starts the broker again on the same port, with its data.
    pub fn restart(&mut self) {
        tokio::task::block_in_place(|| match &mut self.server {
            Server::Nats(server) => server.restart().expect("NATS starts again"),
            Server::Amqp(server) => server.restart().expect("RabbitMQ starts again"),
            Server::Kafka(cluster) => cluster.broker_up(BROKER).expect("it was down"),
            Server::Sqs(server) => server.restart().expect("Ministack starts again"),
        });
    }

    /// The records that a consumer receives, one JSON object per line.
    pub fn read(&self) -> String {
        tokio::task::block_in_place(|| self.client.read(&self.url(), self.topic()))
            .unwrap_or_else(|error| panic!("{error}"))
    }
}
