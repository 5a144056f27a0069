//! AMQP 0.9.1: pointers in a durable queue of the default exchange, read by one consumer with a bounded prefetch.

use std::time::Duration;

use async_trait::async_trait;
use futures::{FutureExt as _, StreamExt as _};
use lapin::options::{
    BasicAckOptions, BasicConsumeOptions, BasicNackOptions, BasicQosOptions, QueueDeclareOptions,
};
use lapin::protocol::{AMQPErrorKind, AMQPSoftError};
use lapin::types::FieldTable;
use lapin::{Channel, Consumer, ErrorKind};
use postrider_broker::Mistakes;
use postrider_seams::queue::{Error, Pointer, Queue, Receipt};
use postrider_seams::{RowId, Transport as _};
use postrider_transport_amqp::{Amqp, Settings};
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};

use crate::publish::publish;
use crate::{AHEAD, ANSWER, IDLE, fault, name, pointer};

/// An external queue on an AMQP broker.
pub struct AmqpQueue {
    amqp: Amqp,
    queue: String,
    consuming: Mutex<Consuming>,
}

#[derive(Default)]
struct Consuming {
    /// Number of the current channel: receipts of an earlier channel are invalid.
    generation: u64,
    line: Option<Line>,
}

struct Line {
    channel: Channel,
    consumer: Consumer,
}

impl AmqpQueue {
    /// Checks the settings and reads the certificate files; does not connect yet.
    pub fn new(settings: Settings, queue: String) -> Result<Self, Mistakes> {
        name::check("AMQP", [name::amqp(&queue)])?;
        // Pointers are published to the queue directly, even if records use another exchange.
        let settings = Settings { exchange: None, ..settings };
        Ok(Self { amqp: Amqp::new(settings)?, queue, consuming: Mutex::default() })
    }

    async fn channel(&self) -> Result<Channel, Error> {
        self.amqp.pool().channel(Instant::now() + ANSWER).await.map_err(fault)
    }

    async fn consume(&self) -> Result<Line, Error> {
        let channel = self.channel().await?;
        let opened = async {
            channel.basic_qos(AHEAD, BasicQosOptions::default()).await?;
            let (queue, tag) = (self.queue.as_str().into(), "".into());
            channel.basic_consume(queue, tag, BasicConsumeOptions::default(), FieldTable::default()).await
        };
        let consumer = asked(opened).await?.map_err(|error| self.refused(&error))?;
        Ok(Line { channel, consumer })
    }

    fn refused(&self, error: &lapin::Error) -> Error {
        let queue = &self.queue;
        match error.kind() {
            ErrorKind::ProtocolError(answer)
                if *answer.kind() == AMQPErrorKind::Soft(AMQPSoftError::NOTFOUND) =>
            {
                Error::Refused(format!("there is no queue {queue}: run `postrider migrate`"))
            }
            ErrorKind::ProtocolError(answer) => {
                Error::Refused(format!("queue {queue}: {}", answer.get_message()))
            }
            _ => Error::Away(format!("queue {queue}: {error}")),
        }
    }

    /// Declares the queue, or checks that it exists if `passive`; returns the number of waiting messages.
    async fn declared(&self, passive: bool) -> Result<u64, Error> {
        let channel = self.channel().await?;
        let options = QueueDeclareOptions { passive, durable: true, ..QueueDeclareOptions::default() };
        let declared = channel.queue_declare(self.queue.as_str().into(), options, FieldTable::default());
        let queue = asked(declared).await?.map_err(|error| self.refused(&error))?;
        Ok(queue.message_count().into())
    }

    /// Returns the current channel and the delivery tags of those receipts that belong to it.
    async fn owned(&self, receipts: &[Receipt]) -> Option<(Channel, Vec<u64>)> {
        let consuming = self.consuming.lock().await;
        let channel = consuming.line.as_ref()?.channel.clone();
        let tag = |receipt: &Receipt| {
            let (generation, tag) = receipt.0.split_once(':')?;
            tag.parse().ok().filter(|_| generation.parse() == Ok(consuming.generation))
        };
        Some((channel, receipts.iter().filter_map(tag).collect()))
    }
}

async fn asked<T>(question: impl Future<Output = T>) -> Result<T, Error> {
    timeout(ANSWER, question).await.map_err(|_| Error::Away("the broker does not answer in time".to_owned()))
}

#[async_trait]
impl Queue for AmqpQueue {
    fn receivers(&self) -> usize {
        1
    }

    async fn publish(&self, rows: &[RowId], deadline: Instant) -> Vec<Result<(), Error>> {
        publish(&self.amqp, &self.queue, rows, deadline).await
    }

    async fn receive(&self, most: usize) -> Result<Vec<Pointer>, Error> {
        let mut consuming = self.consuming.lock().await;
        if consuming.line.is_none() {
            consuming.line = Some(self.consume().await?);
            consuming.generation += 1;
        }
        let generation = consuming.generation;
        let Some(line) = consuming.line.as_mut() else { return Ok(Vec::new()) };
        let mut pointers = Vec::new();
        let Ok(mut next) = timeout(IDLE, line.consumer.next()).await else { return Ok(pointers) };
        loop {
            match next {
                Some(Ok(delivery)) => pointers.push(Pointer {
                    row: pointer::decode(&delivery.data),
                    receipt: Receipt(format!("{generation}:{}", delivery.delivery_tag)),
                }),
                ended => {
                    consuming.line = None;
                    // The broker requeues the unacknowledged messages and delivers them to another consumer.
                    let queue = &self.queue;
                    return Err(match ended {
                        Some(Err(error)) => self.refused(&error),
                        _ => Error::Away(format!("queue {queue}: the broker ended the consumer")),
                    });
                }
            }
            if pointers.len() >= most {
                return Ok(pointers);
            }
            let Some(more) = line.consumer.next().now_or_never() else { return Ok(pointers) };
            next = more;
        }
    }

    async fn acknowledge(&self, receipts: &[Receipt]) -> Result<(), Error> {
        let Some((channel, tags)) = self.owned(receipts).await else { return Ok(()) };
        let told = async {
            for tag in tags {
                channel.basic_ack(tag, BasicAckOptions::default()).await?;
            }
            Ok::<_, lapin::Error>(())
        };
        asked(told).await?.map_err(|error| self.refused(&error))
    }

    async fn give_back(&self, receipts: &[Receipt], after: Duration) -> Result<(), Error> {
        let Some((channel, tags)) = self.owned(receipts).await else { return Ok(()) };
        let told = async move {
            let options = BasicNackOptions { multiple: false, requeue: true };
            for tag in tags {
                channel.basic_nack(tag, options).await?;
            }
            Ok::<_, lapin::Error>(())
        };
        if after.is_zero() {
            return asked(told).await?.map_err(|error| self.refused(&error));
        }
        // AMQP has no delay. If the process ends during it, the channel closes and the broker requeues the messages.
        tokio::spawn(async move {
            tokio::time::sleep(after).await;
            if let Err(error) = told.await {
                tracing::debug!(%error, "pointers go back with their channel");
            }
        });
        Ok(())
    }

    async fn rest(&self) {
        let line = self.consuming.lock().await.line.take();
        if let Some(line) = line {
            // The broker requeues messages that were not acknowledged.
            let _ = timeout(ANSWER, line.channel.close(200, "resting".into())).await;
        }
    }

    async fn waiting(&self) -> Result<u64, Error> {
        self.declared(true).await
    }

    async fn probe(&self) -> Result<(), Error> {
        self.amqp.probe().await.map_err(fault)?;
        self.declared(true).await.map(|_| ())
    }

    async fn declare(&self) -> Result<Vec<String>, Error> {
        match self.declared(true).await {
            Ok(_) => return Ok(Vec::new()),
            Err(Error::Away(reason)) => return Err(Error::Away(reason)),
            Err(Error::Refused(_)) => {}
        }
        self.declared(false).await?;
        Ok(vec![format!("durable queue {}", self.queue)])
    }
}
