//! Starts all brokers together and provides the variables through which tests and benches find them.
//!
//! Separate from the fleet: RabbitMQ needs ten seconds and much of a core to start, and most work needs no broker.

use std::thread;

use crate::error::Result;
use crate::install::{self, Dependency};
use crate::ministack::Ministack;
use crate::nats::Nats;
use crate::rabbitmq::RabbitMq;
use crate::server::{first_stopped, join};
use crate::tansu::Tansu;

/// One broker of each kind; all are stopped and removed on drop.
#[derive(Debug)]
pub struct Brokers {
    pub nats: Nats,
    pub rabbitmq: RabbitMq,
    pub tansu: Tansu,
    pub ministack: Ministack,
}

impl Brokers {
    /// Installs what is missing in one step, then starts all brokers concurrently.
    pub fn start() -> Result<Self> {
        install::ensure(&[Dependency::Nats, Dependency::RabbitMq, Dependency::Pip])?;
        thread::scope(|scope| {
            let nats = scope.spawn(|| Nats::start(""));
            let rabbitmq = scope.spawn(|| RabbitMq::start(""));
            let tansu = scope.spawn(Tansu::start);
            let ministack = scope.spawn(Ministack::start);
            // Join all threads before the first error is returned, so that no broker is left half started.
            let (nats, rabbitmq, tansu, ministack) =
                (join(nats), join(rabbitmq), join(tansu), join(ministack));
            Ok(Self { nats: nats?, rabbitmq: rabbitmq?, tansu: tansu?, ministack: ministack? })
        })
    }

    /// Names and values of the environment variables of tests and benches: URLs in the transports' syntax.
    pub fn variables(&self) -> Vec<(&'static str, String)> {
        vec![
            ("POSTRIDER_TEST_NATS", self.nats.url()),
            ("POSTRIDER_TEST_AMQP", self.rabbitmq.url()),
            ("POSTRIDER_TEST_KAFKA", self.tansu.url()),
            ("POSTRIDER_TEST_SQS", self.ministack.url()),
            ("POSTRIDER_TEST_DYNAMODB", self.ministack.dynamodb_url()),
        ]
    }

    /// The name of a broker that ended unexpectedly, if one did.
    pub fn first_stopped_server(&mut self) -> Option<&'static str> {
        first_stopped([
            ("NATS", self.nats.is_running()),
            ("RabbitMQ", self.rabbitmq.is_running()),
            ("Tansu", self.tansu.is_running()),
            ("Ministack", self.ministack.is_running()),
        ])
    }
}
