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
use postrider_seams::queue::{AckToken, Error, Pointer, Queue};
use postrider_seams::{RowId, Transport as _};
use postrider_target_options::{InvalidOptions, OptionMistake};
use postrider_transport_amqp::{Amqp, Settings};
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};

use crate::publish::publish;
use crate::{CALL_TIMEOUT, PREFETCH, RECEIVE_WAIT, from_transport, name, pointer};

/// An external queue on an AMQP broker.
pub struct AmqpQueue {
    amqp: Amqp,
    queue: String,
    consumer_state: Mutex<ConsumerState>,
}

#[derive(Default)]
struct ConsumerState {
    /// Number of the current channel: receipts of an earlier channel are invalid.
    generation: u64,
    current: Option<ConsumerChannel>,
}

struct ConsumerChannel {
    channel: Channel,
    consumer: Consumer,
}

impl AmqpQueue {
    /// Checks the settings and reads the certificate files; does not connect yet.
    pub fn new(settings: Settings, queue: String) -> Result<Self, InvalidOptions> {
        name::check("AMQP", [name::amqp(&queue), exchange(&settings)])?;
        Ok(Self { amqp: Amqp::new(settings)?, queue, consumer_state: Mutex::default() })
    }

    async fn channel(&self) -> Result<Channel, Error> {
        self.amqp.pool().open_plain_channel(Instant::now() + CALL_TIMEOUT).await.map_err(from_transport)
    }

    async fn start_consumer(&self) -> Result<ConsumerChannel, Error> {
        let channel = self.channel().await?;
        let opened = async {
            channel.basic_qos(PREFETCH, BasicQosOptions::default()).await?;
            let (queue, tag) = (self.queue.as_str().into(), "".into());
            channel.basic_consume(queue, tag, BasicConsumeOptions::default(), FieldTable::default()).await
        };
        let consumer = with_timeout(opened).await?.map_err(|error| self.queue_error(&error))?;
        Ok(ConsumerChannel { channel, consumer })
    }

    fn queue_error(&self, error: &lapin::Error) -> Error {
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
            _ => Error::Unavailable(format!("queue {queue}: {error}")),
        }
    }

    /// Declares the queue, or checks that it exists if `passive`; returns the number of waiting messages.
    async fn declare_queue(&self, passive: bool) -> Result<u64, Error> {
        let channel = self.channel().await?;
        let options = QueueDeclareOptions { passive, durable: true, ..QueueDeclareOptions::default() };
        let declared = channel.queue_declare(self.queue.as_str().into(), options, FieldTable::default());
        let queue = with_timeout(declared).await?.map_err(|error| self.queue_error(&error))?;
        Ok(queue.message_count().into())
    }

    /// Returns the current channel and the delivery tags of those receipts that belong to it.
    async fn current_tags(&self, tokens: &[AckToken]) -> Option<(Channel, Vec<u64>)> {
        let consumer_state = self.consumer_state.lock().await;
        let channel = consumer_state.current.as_ref()?.channel.clone();
        let tag = |token: &AckToken| {
            let (generation, tag) = token.0.split_once(':')?;
            tag.parse().ok().filter(|_| generation.parse() == Ok(consumer_state.generation))
        };
        Some((channel, tokens.iter().filter_map(tag).collect()))
    }
}

/// Returns the mistake of an exchange: pointers are published to the queue directly.
fn exchange(settings: &Settings) -> Option<OptionMistake> {
    let what = "is only for transports: pointers are published to the queue directly";
    settings.exchange.as_ref().map(|_| OptionMistake::of("exchange", what))
}

async fn with_timeout<T>(call: impl Future<Output = T>) -> Result<T, Error> {
    timeout(CALL_TIMEOUT, call)
        .await
        .map_err(|_| Error::Unavailable("the broker does not answer in time".to_owned()))
}

#[async_trait]
impl Queue for AmqpQueue {
    fn receivers(&self) -> usize {
        1
    }

    async fn publish(&self, rows: &[RowId], deadline: Instant) -> Vec<Result<(), Error>> {
        publish(&self.amqp, &self.queue, rows, deadline).await
    }

    async fn receive(&self, limit: usize) -> Result<Vec<Pointer>, Error> {
        let mut consumer_state = self.consumer_state.lock().await;
        if consumer_state.current.is_none() {
            consumer_state.current = Some(self.start_consumer().await?);
            consumer_state.generation += 1;
        }
        let generation = consumer_state.generation;
        let Some(current) = consumer_state.current.as_mut() else { return Ok(Vec::new()) };
        let mut pointers = Vec::new();
        let Ok(mut next) = timeout(RECEIVE_WAIT, current.consumer.next()).await else { return Ok(pointers) };
        loop {
            match next {
                Some(Ok(delivery)) => pointers.push(Pointer {
                    row: pointer::decode(&delivery.data),
                    token: AckToken(format!("{generation}:{}", delivery.delivery_tag)),
                }),
                ended => {
                    consumer_state.current = None;
                    // The broker requeues the unacknowledged messages and delivers them to another consumer.
                    let queue = &self.queue;
                    return Err(match ended {
                        Some(Err(error)) => self.queue_error(&error),
                        _ => Error::Unavailable(format!("queue {queue}: the broker ended the consumer")),
                    });
                }
            }
            if pointers.len() >= limit {
                return Ok(pointers);
            }
            let Some(more) = current.consumer.next().now_or_never() else { return Ok(pointers) };
            next = more;
        }
    }

    async fn acknowledge(&self, tokens: &[AckToken]) -> Result<(), Error> {
        let Some((channel, tags)) = self.current_tags(tokens).await else { return Ok(()) };
        let request = async {
            for tag in tags {
                channel.basic_ack(tag, BasicAckOptions::default()).await?;
            }
            Ok::<_, lapin::Error>(())
        };
        with_timeout(request).await?.map_err(|error| self.queue_error(&error))
    }

    async fn give_back(&self, tokens: &[AckToken], after: Duration) -> Result<(), Error> {
        let Some((channel, tags)) = self.current_tags(tokens).await else { return Ok(()) };
        let request = async move {
            let options = BasicNackOptions { multiple: false, requeue: true };
            for tag in tags {
                channel.basic_nack(tag, options).await?;
            }
            Ok::<_, lapin::Error>(())
        };
        if after.is_zero() {
            return with_timeout(request).await?.map_err(|error| self.queue_error(&error));
        }
        // AMQP has no delay. If the process ends during it, the channel closes and the broker requeues the messages.
        tokio::spawn(async move {
            tokio::time::sleep(after).await;
            if let Err(error) = request.await {
                tracing::debug!(%error, "pointers go back with their channel");
            }
        });
        Ok(())
    }

    async fn release_prefetched(&self) {
        let current = self.consumer_state.lock().await.current.take();
        if let Some(current) = current {
            // The broker requeues messages that were not acknowledged.
            let _ = timeout(CALL_TIMEOUT, current.channel.close(200, "paused".into())).await;
        }
    }

    async fn waiting(&self) -> Result<u64, Error> {
        self.declare_queue(true).await
    }

    async fn probe(&self) -> Result<(), Error> {
        self.amqp.probe().await.map_err(from_transport)?;
        self.declare_queue(true).await.map(|_| ())
    }

    async fn declare(&self) -> Result<Vec<String>, Error> {
        match self.declare_queue(true).await {
            Ok(_) => return Ok(Vec::new()),
            Err(Error::Unavailable(reason)) => return Err(Error::Unavailable(reason)),
            Err(Error::Refused(_)) => {}
        }
        self.declare_queue(false).await?;
        Ok(vec![format!("durable queue {}", self.queue)])
    }
}
