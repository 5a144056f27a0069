//! All brokers at once, and the variables through which tests and benches find them.
//!
//! Apart from the fleet: RabbitMQ takes ten seconds and much of a core to start, and most work needs no broker.

use std::thread;

use crate::error::Result;
use crate::install::{self, Need};
use crate::ministack::Ministack;
use crate::nats::Nats;
use crate::rabbitmq::RabbitMq;
use crate::tansu::Tansu;

/// One of each. Dropped, all are gone.
#[derive(Debug)]
pub struct Brokers {
    pub nats: Nats,
    pub rabbitmq: RabbitMq,
    pub tansu: Tansu,
    pub ministack: Ministack,
}

impl Brokers {
    /// Installs what is missing in one go, then starts all side by side.
    pub fn start() -> Result<Self> {
        install::ensure(&[Need::Nats, Need::RabbitMq, Need::Pip])?;
        thread::scope(|scope| {
            let nats = scope.spawn(|| Nats::start(""));
            let rabbitmq = scope.spawn(|| RabbitMq::start(""));
            let tansu = scope.spawn(Tansu::start);
            let ministack = scope.spawn(Ministack::start);
            // All are joined before the first error is told, so that none is left half started.
            let (nats, rabbitmq, tansu, ministack) =
                (join(nats), join(rabbitmq), join(tansu), join(ministack));
            Ok(Self { nats: nats?, rabbitmq: rabbitmq?, tansu: tansu?, ministack: ministack? })
        })
    }

    /// Names and values for the environment of tests and benches: URLs as the transports take them.
    pub fn variables(&self) -> Vec<(&'static str, String)> {
        vec![
            ("POSTRIDER_TEST_NATS", self.nats.url()),
            ("POSTRIDER_TEST_AMQP", self.rabbitmq.url()),
            ("POSTRIDER_TEST_KAFKA", self.tansu.url()),
            ("POSTRIDER_TEST_SQS", self.ministack.url()),
            ("POSTRIDER_TEST_DYNAMODB", self.ministack.dynamodb_url()),
        ]
    }

    /// The name of a server that ended by itself, if one did.
    pub fn first_lost(&mut self) -> Option<&'static str> {
        [
            ("NATS", self.nats.is_running()),
            ("RabbitMQ", self.rabbitmq.is_running()),
            ("Tansu", self.tansu.is_running()),
            ("Ministack", self.ministack.is_running()),
        ]
        .into_iter()
        .find_map(|(name, running)| (!running).then_some(name))
    }
}

fn join<T>(starter: thread::ScopedJoinHandle<'_, T>) -> T {
    starter.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
