//! The transport: publishes a whole batch, then waits for its acknowledgements.

use std::future::IntoFuture as _;
use std::time::Duration;

use async_nats::client::RequestErrorKind;
use async_nats::jetstream::context::{GetStreamByNameErrorKind, PublishAckFuture};
use async_nats::jetstream::publish::PublishAck;
use async_trait::async_trait;
use postrider_broker::{rejected, uncertain, unreachable};
use postrider_seams::{Envelope, Failure, Outcome, Receipt, Record, Transport, transport};
use tokio::time::{Instant, sleep_until, timeout_at};

use crate::config::Settings;
use crate::connection::{Connection, Link};
use crate::error::Error;
use crate::{classify, encode};

/// A probe that takes longer tells that the servers are not well.
const PROBE: Duration = Duration::from_secs(10);
/// Between two looks of an idle lane: a question over the connection that is there anyway.
const LOOK_EVERY: Duration = Duration::from_secs(4);

/// Publishes records to one NATS system.
pub struct Nats {
    link: Link,
}

/// A record on its way.
enum Sent<'a> {
    Waiting { record: &'a Record, ack: PublishAckFuture, denials: u64 },
    Answered(Outcome),
}

impl Nats {
    /// Checks the settings; connects to nothing yet.
    pub fn new(settings: Settings) -> Result<Self, Error> {
        settings.check()?;
        Ok(Self { link: Link::new(settings) })
    }

    /// See [`Settings::from_url`].
    pub fn from_url(url: &str, beside: &[(String, String)]) -> Result<Self, Error> {
        Self::new(Settings::from_url(url, beside)?)
    }

    pub fn settings(&self) -> &Settings {
        &self.link.settings
    }

    /// The connection that it publishes on, for others who use the same system.
    pub fn link(&self) -> &Link {
        &self.link
    }
}

async fn publish<'a>(connection: &Connection, envelope: &'a Envelope, deadline: Instant) -> Sent<'a> {
    let prepared = postrider_broker::record(envelope).and_then(|record| {
        encode::check(&record.topic)?;
        Ok((record, encode::encode(record, &envelope.dedupe)?))
    });
    let (record, message) = match prepared {
        Ok(prepared) => prepared,
        Err(outcome) => return Sent::Answered(outcome),
    };
    if connection.is_lost() {
        return Sent::Answered(unreachable("not sent: the connection was lost"));
    }
    let denials = connection.events.denials(&record.topic);
    match timeout_at(deadline, connection.context.send_publish(record.topic.clone(), message)).await {
        Ok(Ok(ack)) => Sent::Waiting { record, ack, denials },
        Ok(Err(error)) => {
            let unsure = || uncertain("the connection ended while the record was sent");
            Sent::Answered(classify::outcome(&error).unwrap_or_else(unsure))
        }
        Err(_) => {
            Sent::Answered(Outcome::Retryable(Failure::new("the connection took no more records in time")))
        }
    }
}

async fn answer(
    connection: &Connection,
    record: &Record,
    ack: PublishAckFuture,
    denials: u64,
    deadline: Instant,
) -> Outcome {
    let mut changes = connection.events.changes();
    let mut ack = ack.into_future();
    let answer = loop {
        if connection.events.denials(&record.topic) > denials {
            return rejected(format!("the server denies us the subject {}", record.topic));
        }
        if connection.is_lost() {
            return uncertain("the connection was lost before the acknowledgement");
        }
        tokio::select! {
            biased;
            answer = &mut ack => break answer,
            _ = changes.changed() => {}
            () = sleep_until(deadline) => return uncertain("no acknowledgement by the deadline"),
        }
    };
    match answer {
        Ok(ack) => Outcome::Delivered(receipt(&ack)),
        Err(error) => match classify::outcome(&error) {
            Some(outcome) => outcome,
            None => unheard(connection, &record.topic, deadline).await,
        },
    }
}

/// Nobody listens on the subject: asks JetStream whether a stream should.
async fn unheard(connection: &Connection, subject: &str, deadline: Instant) -> Outcome {
    let asked = timeout_at(deadline, connection.context.stream_by_subject(subject)).await;
    let stream = match asked {
        Ok(Ok(stream)) => Ok(Some(stream)),
        Ok(Err(error)) if error.kind() == GetStreamByNameErrorKind::NotFound => Ok(None),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err("no answer in time".to_owned()),
    };
    classify::unheard(subject, stream)
}

fn receipt(ack: &PublishAck) -> Receipt {
    Receipt { id: Some(format!("{}/{}", ack.stream, ack.sequence)), ..Receipt::default() }
}

#[async_trait]
impl Transport for Nats {
    fn capabilities(&self) -> transport::Capabilities {
        transport::Capabilities::new(self.settings().batch, self.settings().concurrency)
            .looked_at_every(LOOK_EVERY)
    }

    async fn deliver(&self, batch: &[Envelope], deadline: Instant) -> Vec<Outcome> {
        let connection = match self.link.connection(deadline).await {
            Ok(connection) => connection,
            Err(fault) => return vec![Outcome::from(fault); batch.len()],
        };
        let mut sent = Vec::with_capacity(batch.len());
        for envelope in batch {
            sent.push(publish(&connection, envelope, deadline).await);
        }
        let mut outcomes = Vec::with_capacity(batch.len());
        for sent in sent {
            outcomes.push(match sent {
                Sent::Answered(outcome) => outcome,
                Sent::Waiting { record, ack, denials } => {
                    answer(&connection, record, ack, denials, deadline).await
                }
            });
        }
        outcomes
    }

    async fn probe(&self) -> Result<(), transport::Error> {
        let until = Instant::now() + PROBE;
        let connection = self.link.connection(until).await?;
        let subject = match &self.settings().domain {
            Some(domain) => format!("$JS.{domain}.API.INFO"),
            None => "$JS.API.INFO".to_owned(),
        };
        let asked = connection.context.client();
        let answer = match timeout_at(until, asked.request(subject, "".into())).await {
            Ok(Ok(_)) => return Ok(()),
            Ok(Err(error)) if error.kind() == RequestErrorKind::NoResponders => {
                "it is not enabled".to_owned()
            }
            Ok(Err(error)) => error.to_string(),
            Err(_) => "no answer in time".to_owned(),
        };
        Err(transport::Error::Unreachable(format!(
            "JetStream of {} does not answer: {answer}",
            self.settings().target()
        )))
    }
}
