//! The NATS transport: publishes a whole batch, then waits for its acknowledgements.

use std::collections::HashMap;
use std::future::IntoFuture as _;
use std::time::Duration;

use async_nats::client::RequestErrorKind;
use async_nats::jetstream::context::{GetStreamByNameErrorKind, PublishAckFuture, PublishErrorKind};
use async_nats::jetstream::publish::PublishAck;
use async_trait::async_trait;
use postrider_broker::{rejected, uncertain, unreachable};
use postrider_seams::{Envelope, Failure, Outcome, Receipt, Record, Transport, transport};
use tokio::time::{Instant, sleep_until, timeout_at};

use crate::config::Settings;
use crate::connection::{Connection, Link};
use crate::error::Error;
use crate::{classify, encode};

/// Time limit of a probe; a slower answer counts as a failure of the servers.
const PROBE: Duration = Duration::from_secs(10);
/// Time limit of the query about a subject without an acknowledgement.
const QUESTION: Duration = Duration::from_millis(500);
/// Interval between probes of an idle lane, each a query over the open connection.
const LOOK_EVERY: Duration = Duration::from_secs(4);

/// Publishes records to one NATS system.
pub struct Nats {
    link: Link,
}

/// A record that was published or failed before.
enum Sent<'a> {
    Waiting { record: &'a Record, ack: PublishAckFuture, denials: u64 },
    Answered(Outcome),
}

impl Nats {
    /// Checks the settings, without connecting.
    pub fn new(settings: Settings) -> Result<Self, Error> {
        settings.check()?;
        Ok(Self { link: Link::new(settings) })
    }

    /// Creates the transport from a URL: see [`Settings::from_url`].
    pub fn from_url(url: &str, beside: &[(String, String)]) -> Result<Self, Error> {
        Self::new(Settings::from_url(url, beside)?)
    }

    /// Returns the settings of the NATS system.
    pub fn settings(&self) -> &Settings {
        &self.link.settings
    }

    /// Returns the link that the transport publishes on, to share its connection.
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
    if let Err(outcome) = envelope.may_begin() {
        return Sent::Answered(outcome);
    }
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

/// Collects the acknowledgements of one call.
struct Acks<'a> {
    connection: &'a Connection,
    /// No acknowledgement is awaited after this time.
    until: Instant,
    deadline: Instant,
    /// Outcomes of subjects without an acknowledgement, from JetStream's answer.
    silent: HashMap<&'a str, Outcome>,
}

impl<'a> Acks<'a> {
    fn new(connection: &'a Connection, ack_timeout: Duration, deadline: Instant) -> Self {
        let now = Instant::now();
        let time_to_ask = deadline.checked_sub(QUESTION).unwrap_or(deadline);
        Self { connection, until: time_to_ask.min(now + ack_timeout), deadline, silent: HashMap::new() }
    }

    async fn answer(&mut self, record: &'a Record, ack: PublishAckFuture, denials: u64) -> Outcome {
        let connection = self.connection;
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
                () = sleep_until(self.until) => return self.unacknowledged(&record.topic).await,
            }
        };
        match answer {
            Ok(ack) => Outcome::Delivered(receipt(&ack)),
            Err(error) if error.kind() == PublishErrorKind::TimedOut => {
                self.unacknowledged(&record.topic).await
            }
            Err(error) => {
                if let Some(outcome) = classify::outcome(&error) {
                    return outcome;
                }
                let stream = stream_of(connection, &record.topic, self.deadline).await;
                classify::unheard(&record.topic, stream)
            }
        }
    }

    /// Returns the outcome of a record without an acknowledgement. A subject that only plain subscribers have never
    /// gives one: asks JetStream, once per subject, and not again once it does not answer.
    async fn unacknowledged(&mut self, subject: &'a str) -> Outcome {
        if let Some(known) = self.silent.get(subject) {
            return known.clone();
        }
        let stream = if self.silent.values().any(|outcome| matches!(outcome, Outcome::Uncertain(_))) {
            Err(())
        } else {
            stream_of(self.connection, subject, Instant::now() + QUESTION).await.map_err(drop)
        };
        let outcome = classify::unacknowledged(subject, &stream);
        self.silent.insert(subject, outcome.clone());
        outcome
    }
}

/// Asks JetStream which stream has the subject.
async fn stream_of(connection: &Connection, subject: &str, until: Instant) -> Result<Option<String>, String> {
    match timeout_at(until, connection.context.stream_by_subject(subject)).await {
        Ok(Ok(stream)) => Ok(Some(stream)),
        Ok(Err(error)) if error.kind() == GetStreamByNameErrorKind::NotFound => Ok(None),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err("no answer in time".to_owned()),
    }
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
        let publish_by = deadline.min(Instant::now() + self.settings().ack_timeout);
        for envelope in batch {
            sent.push(publish(&connection, envelope, publish_by).await);
        }
        let mut acks = Acks::new(&connection, self.settings().ack_timeout, deadline);
        let mut outcomes = Vec::with_capacity(batch.len());
        for sent in sent {
            outcomes.push(match sent {
                Sent::Answered(outcome) => outcome,
                Sent::Waiting { record, ack, denials } => acks.answer(record, ack, denials).await,
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
