//! A private broker for the lane's queue, which can be stopped.

use postrider_services::{Ministack, Nats, RabbitMq};

use crate::support::database::Kind;

pub enum Broker {
    Nats(Nats),
    Amqp(RabbitMq),
    Sqs(Ministack),
}

impl Broker {
    /// The broker that `POSTRIDER_CRASH_QUEUE` names, by default NATS, and the database that is tested with it: every
    /// broker and every database once.
    pub fn wanted() -> (Self, Kind) {
        let name = std::env::var("POSTRIDER_CRASH_QUEUE").unwrap_or_else(|_| "nats".to_owned());
        tokio::task::block_in_place(|| match name.as_str() {
            "nats" => (Self::Nats(Nats::start("").expect("NATS starts")), Kind::Postgres),
            "amqp" => (Self::Amqp(RabbitMq::start("").expect("RabbitMQ starts")), Kind::MariaDb),
            "sqs" => (Self::Sqs(Ministack::start().expect("Ministack starts")), Kind::Sqlite),
            other => panic!("POSTRIDER_CRASH_QUEUE is nats, amqp or sqs, not {other}"),
        })
    }

    pub fn name(&self) -> &'static str {
        match self {
            Self::Nats(_) => "NATS",
            Self::Amqp(_) => "AMQP",
            Self::Sqs(_) => "SQS",
        }
    }

    pub fn url(&self) -> String {
        match self {
            Self::Nats(server) => server.url(),
            Self::Amqp(server) => server.url(),
            Self::Sqs(server) => server.url(),
        }
    }

    /// Stops the broker: with SIGKILL if it promises to survive that; the SQS emulator in order.
    pub fn stop(&mut self) {
        tokio::task::block_in_place(|| match self {
            Self::Nats(server) => server.kill(),
            Self::Amqp(server) => server.kill(),
            Self::Sqs(server) => server.stop(),
        });
    }

    /// Starts the broker again on the same port, with its data.
    pub fn restart(&mut self) {
        tokio::task::block_in_place(|| match self {
            Self::Nats(server) => server.restart(),
            Self::Amqp(server) => server.restart(),
            Self::Sqs(server) => server.restart(),
        })
        .expect("the broker starts again");
    }
}
