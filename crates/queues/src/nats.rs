//! NATS JetStream: pointers in a work-queue stream, with one durable consumer from which all workers pull.

use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::consumer::{AckPolicy, Consumer, pull};
use async_nats::jetstream::context::GetStreamErrorKind;
use async_nats::jetstream::stream::{self, RetentionPolicy, Stream};
use async_nats::jetstream::{AckKind, Message};
use async_trait::async_trait;
use bytes::Bytes;
use futures::StreamExt as _;
use postrider_seams::queue::{AckToken, Error, Pointer, Queue};
use postrider_seams::{RowId, Transport as _};
use postrider_target_options::InvalidOptions;
use postrider_transport_nats::connection::Connection;
use postrider_transport_nats::{Nats, Settings};
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};

use crate::publish::publish;
use crate::{CALL_TIMEOUT, PREFETCH, RECEIVE_WAIT, from_transport, name, pointer};

/// Largest number of unacknowledged pointers, of all workers together.
const MAX_ACK_PENDING: i64 = 20_000;

/// The names of the stream, the subject and the consumer of a queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NatsNames {
    pub stream: String,
    pub subject: String,
    pub consumer: String,
}

/// An external queue in JetStream.
pub struct NatsQueue {
    nats: Nats,
    names: NatsNames,
    redelivery_timeout: Duration,
    /// The consumer, valid while its connection lives.
    live_consumer: Mutex<Option<LiveConsumer>>,
}

struct LiveConsumer {
    connection: Arc<Connection>,
    consumer: Arc<Consumer<pull::Config>>,
}

impl NatsQueue {
    /// Checks the settings; does not connect yet. Pointers that are not acknowledged within `redelivery_timeout` are delivered
    /// again.
    pub fn new(
        settings: Settings,
        names: NatsNames,
        redelivery_timeout: Duration,
    ) -> Result<Self, InvalidOptions> {
        let mistakes = [
            name::stream("queue", &names.stream),
            name::subject(&names.subject),
            name::stream("consumer", &names.consumer),
        ];
        name::check("NATS", mistakes)?;
        Ok(Self { nats: Nats::new(settings)?, names, redelivery_timeout, live_consumer: Mutex::default() })
    }

    async fn connection(&self) -> Result<Arc<Connection>, Error> {
        self.nats.shared_connection().get(Instant::now() + CALL_TIMEOUT).await.map_err(from_transport)
    }

    fn missing_stream(&self) -> Error {
        Error::Refused(format!("there is no stream {}: run `postrider migrate`", self.names.stream))
    }

    /// Returns the stream, or `None` if it does not exist.
    async fn stream(&self, connection: &Connection) -> Result<Option<Stream>, Error> {
        match with_timeout(connection.context.get_stream(&self.names.stream)).await? {
            Ok(stream) => Ok(Some(stream)),
            Err(error) => match error.kind() {
                GetStreamErrorKind::JetStream(answer) if answer.code() == 404 => Ok(None),
                _ => Err(Error::Unavailable(format!("stream {}: {error}", self.names.stream))),
            },
        }
    }

    async fn consumer(&self, connection: &Connection) -> Result<Consumer<pull::Config>, Error> {
        let stream = self.stream(connection).await?.ok_or_else(|| self.missing_stream())?;
        let config = pull::Config {
            durable_name: Some(self.names.consumer.clone()),
            ack_policy: AckPolicy::Explicit,
            ack_wait: self.redelivery_timeout,
            max_ack_pending: MAX_ACK_PENDING,
            ..pull::Config::default()
        };
        with_timeout(stream.get_or_create_consumer(&self.names.consumer, config))
            .await?
            .map_err(|error| Error::Refused(format!("consumer {}: {error}", self.names.consumer)))
    }

    /// Returns the consumer on a live connection.
    async fn live_consumer(&self) -> Result<(Arc<Connection>, Arc<Consumer<pull::Config>>), Error> {
        let mut live_consumer = self.live_consumer.lock().await;
        if let Some(live_consumer) =
            live_consumer.as_ref().filter(|live_consumer| !live_consumer.connection.is_lost())
        {
            return Ok((Arc::clone(&live_consumer.connection), Arc::clone(&live_consumer.consumer)));
        }
        *live_consumer = None;
        let connection = self.connection().await?;
        let consumer = Arc::new(self.consumer(&connection).await?);
        *live_consumer =
            Some(LiveConsumer { connection: Arc::clone(&connection), consumer: Arc::clone(&consumer) });
        Ok((connection, consumer))
    }

    async fn drop_consumer(&self) {
        *self.live_consumer.lock().await = None;
    }

    async fn send_acks(&self, tokens: &[AckToken], kind: AckKind) -> Result<(), Error> {
        let connection = self.connection().await?;
        let client = connection.context.client();
        let sent = async {
            for token in tokens {
                client
                    .publish(token.0.clone(), Bytes::from(kind))
                    .await
                    .map_err(|error| error.to_string())?;
            }
            client.flush().await.map_err(|error| error.to_string())
        };
        with_timeout(sent).await?.map_err(Error::Unavailable)
    }
}

/// Waits for a response within the time limit.
async fn with_timeout<T>(call: impl IntoFuture<Output = T>) -> Result<T, Error> {
    timeout(CALL_TIMEOUT, call)
        .await
        .map_err(|_| Error::Unavailable("JetStream does not answer in time".to_owned()))
}

/// Pulls the waiting messages: waits for the first one, then also fetches those that are already there.
async fn pull(consumer: &Consumer<pull::Config>, limit: usize) -> Result<Vec<Message>, async_nats::Error> {
    let mut messages = collect_messages(consumer.fetch().max_messages(limit).messages().await?).await?;
    if messages.is_empty() {
        messages = collect_messages(consumer.batch().max_messages(1).expires(RECEIVE_WAIT).messages().await?)
            .await?;
        if !messages.is_empty() && limit > 1 {
            // The first messages are already ours, whether or not this fetch succeeds.
            if let Ok(more) = consumer.fetch().max_messages(limit - 1).messages().await {
                messages.extend(collect_messages(more).await.unwrap_or_default());
            }
        }
    }
    Ok(messages)
}

async fn collect_messages(mut batch: pull::Batch) -> Result<Vec<Message>, async_nats::Error> {
    let mut messages = Vec::new();
    while let Some(message) = batch.next().await {
        match message {
            Ok(message) => messages.push(message),
            Err(error) if messages.is_empty() => return Err(error),
            Err(_) => break,
        }
    }
    Ok(messages)
}

#[async_trait]
impl Queue for NatsQueue {
    fn receivers(&self) -> usize {
        1
    }

    async fn publish(&self, rows: &[RowId], deadline: Instant) -> Vec<Result<(), Error>> {
        publish(&self.nats, &self.names.subject, rows, deadline).await
    }

    async fn receive(&self, limit: usize) -> Result<Vec<Pointer>, Error> {
        let (connection, consumer) = self.live_consumer().await?;
        let pulled = with_timeout(pull(&consumer, limit.min(PREFETCH.into()))).await;
        let messages = match pulled {
            Ok(Ok(messages)) if !connection.is_lost() || !messages.is_empty() => messages,
            failed => {
                self.drop_consumer().await;
                let target = self.nats.settings().target();
                return Err(match failed {
                    Ok(Ok(_)) => Error::Unavailable(format!("the connection to {target} was lost")),
                    Ok(Err(error)) => {
                        Error::Unavailable(format!("consumer {}: {error}", self.names.consumer))
                    }
                    Err(error) => error,
                });
            }
        };
        let pointers = messages.into_iter().filter_map(|message| {
            let token = AckToken(message.reply.as_ref()?.to_string());
            Some(Pointer { row: pointer::decode(&message.payload), token })
        });
        Ok(pointers.collect())
    }

    async fn acknowledge(&self, tokens: &[AckToken]) -> Result<(), Error> {
        self.send_acks(tokens, AckKind::Ack).await
    }

    async fn give_back(&self, tokens: &[AckToken], after: Duration) -> Result<(), Error> {
        self.send_acks(tokens, AckKind::Nak(Some(after).filter(|after| !after.is_zero()))).await
    }

    async fn waiting(&self) -> Result<u64, Error> {
        let (_, consumer) = self.live_consumer().await?;
        // A copy, as `info` caches its result in the consumer.
        let mut consumer = (*consumer).clone();
        let info = with_timeout(consumer.info()).await?;
        info.map(|info| info.num_pending)
            .map_err(|error| Error::Unavailable(format!("consumer {}: {error}", self.names.consumer)))
    }

    async fn probe(&self) -> Result<(), Error> {
        self.nats.probe().await.map_err(from_transport)?;
        let connection = self.connection().await?;
        self.stream(&connection).await?.map(|_| ()).ok_or_else(|| self.missing_stream())
    }

    async fn declare(&self) -> Result<Vec<String>, Error> {
        let connection = self.connection().await?;
        let mut created = Vec::new();
        if self.stream(&connection).await?.is_none() {
            let config = stream::Config {
                name: self.names.stream.clone(),
                subjects: vec![self.names.subject.clone()],
                retention: RetentionPolicy::WorkQueue,
                ..stream::Config::default()
            };
            with_timeout(connection.context.create_stream(config))
                .await?
                .map_err(|error| Error::Refused(format!("stream {}: {error}", self.names.stream)))?;
            created.push(format!("stream {} for the subject {}", self.names.stream, self.names.subject));
        }
        self.consumer(&connection).await?;
        Ok(created)
    }
}
