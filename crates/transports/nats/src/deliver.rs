//! The NATS transport: publishes a whole batch, then waits for its acknowledgements.

use std::collections::HashMap;
use std::future::IntoFuture as _;
use std::time::Duration;

use async_nats::jetstream::context::{
    GetStreamByNameErrorKind, PublishAckFuture, PublishErrorKind, RequestErrorKind,
};
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::publish::PublishAck;
use async_nats::jetstream::response::Response;
use async_trait::async_trait;
use futures::future::join_all;
use postrider_seams::outcome::{rejected, uncertain, unreachable};
use postrider_seams::{Envelope, Failure, Outcome, Receipt, Record, Transport, transport};
use serde::de::IgnoredAny;
use tokio::time::{Instant, sleep_until, timeout_at};

use crate::config::Settings;
use crate::connection::{Connection, SharedConnection};
use crate::error::Error;
use crate::{classify, encode};

/// Time limit of a probe; a slower answer counts as a failure of the servers.
const PROBE_TIMEOUT: Duration = Duration::from_secs(10);
/// Time limit of the query about a subject without an acknowledgement.
const STREAM_LOOKUP_TIMEOUT: Duration = Duration::from_millis(500);
/// The longest wait for room in the connection before a record's lease is checked again.
const ROOM_WAIT: Duration = Duration::from_millis(50);
/// Interval between probes of an idle lane, each a query over the open connection.
const PROBE_INTERVAL: Duration = Duration::from_secs(4);

/// Publishes records to one NATS system.
pub struct Nats {
    connection: SharedConnection,
}

/// A record that was published or failed before.
enum Published<'a> {
    AwaitingAck { envelope: &'a Envelope, record: &'a Record, ack: PublishAckFuture, denials: u64 },
    Finished(Outcome),
}

/// The answer to a published record.
enum Answer<'a> {
    Outcome(Outcome),
    /// There was none, for a record of this subject.
    Silent(&'a str),
}

impl From<Outcome> for Answer<'_> {
    fn from(outcome: Outcome) -> Self {
        Self::Outcome(outcome)
    }
}

impl Nats {
    /// Checks the settings, without connecting.
    pub fn new(settings: Settings) -> Result<Self, Error> {
        settings.check()?;
        Ok(Self { connection: SharedConnection::new(settings) })
    }

    /// Creates the transport from a URL: see [`Settings::from_url`].
    pub fn from_url(url: &str, overrides: &[(String, String)]) -> Result<Self, Error> {
        Self::new(Settings::from_url(url, overrides)?)
    }

    /// Returns the settings of the NATS system.
    pub fn settings(&self) -> &Settings {
        &self.connection.settings
    }

    /// Returns the link that the transport publishes on, to share its connection.
    pub fn shared_connection(&self) -> &SharedConnection {
        &self.connection
    }
}

/// Returns the record and its message; an error is the outcome of one that cannot be published.
fn prepare(envelope: &Envelope) -> Result<(&Record, PublishMessage), Outcome> {
    let record = postrider_seams::outcome::record(envelope)?;
    encode::check_subject(&record.topic)?;
    Ok((record, encode::encode(record, &envelope.dedupe)?))
}

/// Publishes one record; waits while the connection has no room for it. The lease is checked again after each part of
/// that wait.
async fn publish<'a>(connection: &Connection, envelope: &'a Envelope, deadline: Instant) -> Published<'a> {
    loop {
        let (record, message) = match prepare(envelope) {
            Ok(prepared) => prepared,
            Err(outcome) => return Published::Finished(outcome),
        };
        if let Err(outcome) = envelope.may_begin() {
            return Published::Finished(outcome);
        }
        if connection.is_lost() {
            return Published::Finished(unreachable("not sent: the connection was lost"));
        }
        let denials = connection.events.denials(&record.topic);
        // Dropped while it waits for room, this has sent nothing.
        let sending = connection.context.send_publish(record.topic.clone(), message);
        match timeout_at(deadline.min(Instant::now() + ROOM_WAIT), sending).await {
            Ok(Ok(ack)) => return Published::AwaitingAck { envelope, record, ack, denials },
            Ok(Err(error)) => {
                let unknown = || uncertain("the connection ended while the record was sent");
                return Published::Finished(classify::outcome(&error).unwrap_or_else(unknown));
            }
            Err(_) if Instant::now() < deadline => {}
            Err(_) => {
                let reason = "not sent: the server accepts records too slowly";
                return Published::Finished(Outcome::Deferred(Failure::new(reason)));
            }
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
    unacknowledged_outcomes: HashMap<&'a str, Outcome>,
    /// Whether JetStream has not answered a query about a subject.
    jetstream_silent: bool,
}

impl<'a> Acks<'a> {
    fn new(connection: &'a Connection, ack_timeout: Duration, deadline: Instant) -> Self {
        let now = Instant::now();
        let lookup_start = deadline.checked_sub(STREAM_LOOKUP_TIMEOUT).unwrap_or(deadline);
        Self {
            connection,
            until: lookup_start.min(now + ack_timeout),
            deadline,
            unacknowledged_outcomes: HashMap::new(),
            jetstream_silent: false,
        }
    }

    /// Waits for the acknowledgement of one record, and reports it while others of the call still wait for theirs.
    async fn answer(&self, published: Published<'a>) -> Answer<'a> {
        let (envelope, record, ack, denials) = match published {
            Published::Finished(outcome) => return Answer::Outcome(outcome),
            Published::AwaitingAck { envelope, record, ack, denials } => (envelope, record, ack, denials),
        };
        let connection = self.connection;
        let mut changes = connection.events.changes();
        let mut ack = ack.into_future();
        let answer = loop {
            if connection.events.denials(&record.topic) > denials {
                let reason =
                    format!("the server denies permission to publish to the subject {}", record.topic);
                return rejected(reason).into();
            }
            if connection.is_lost() {
                return uncertain("the connection was lost before the acknowledgement").into();
            }
            tokio::select! {
                biased;
                answer = &mut ack => break answer,
                _ = changes.changed() => {}
                () = sleep_until(self.until) => return Answer::Silent(&record.topic),
            }
        };
        match answer {
            Ok(ack) => {
                let receipt = receipt(&ack);
                envelope.report_delivered(&receipt);
                Outcome::Delivered(receipt).into()
            }
            Err(error) if error.kind() == PublishErrorKind::TimedOut => Answer::Silent(&record.topic),
            Err(error) => {
                if let Some(outcome) = classify::outcome(&error) {
                    return outcome.into();
                }
                let stream = stream_with_subject(connection, &record.topic, self.deadline).await;
                classify::no_stream_answered(&record.topic, stream).into()
            }
        }
    }

    /// Returns the outcome of a record without an acknowledgement. A subject that only plain subscribers have never
    /// gives one: asks JetStream, once per subject, and not again once it does not answer.
    async fn unacknowledged(&mut self, subject: &'a str) -> Outcome {
        if let Some(outcome) = self.unacknowledged_outcomes.get(subject) {
            return outcome.clone();
        }
        let stream = if self.jetstream_silent {
            Err(())
        } else {
            let until = self.deadline.min(Instant::now() + STREAM_LOOKUP_TIMEOUT);
            stream_with_subject(self.connection, subject, until).await.map_err(drop)
        };
        self.jetstream_silent = stream.is_err();
        let outcome = classify::unacknowledged(subject, &stream);
        self.unacknowledged_outcomes.insert(subject, outcome.clone());
        outcome
    }
}

/// Asks JetStream which stream has the subject.
async fn stream_with_subject(
    connection: &Connection,
    subject: &str,
    until: Instant,
) -> Result<Option<String>, String> {
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
            .with_probe_interval(PROBE_INTERVAL)
    }

    async fn deliver(&self, batch: &[Envelope], deadline: Instant) -> Vec<Outcome> {
        let connection = match self.connection.get(deadline).await {
            Ok(connection) => connection,
            Err(error) => return vec![Outcome::from(error); batch.len()],
        };
        let mut published = Vec::with_capacity(batch.len());
        let publish_by = deadline.min(Instant::now() + self.settings().ack_timeout);
        for envelope in batch {
            published.push(publish(&connection, envelope, publish_by).await);
        }
        let mut acks = Acks::new(&connection, self.settings().ack_timeout, deadline);
        let answers = join_all(published.into_iter().map(|one| acks.answer(one))).await;
        let mut outcomes = Vec::with_capacity(batch.len());
        for answer in answers {
            outcomes.push(match answer {
                Answer::Outcome(outcome) => outcome,
                Answer::Silent(subject) => acks.unacknowledged(subject).await,
            });
        }
        outcomes
    }

    async fn probe(&self) -> Result<(), transport::Error> {
        let until = Instant::now() + PROBE_TIMEOUT;
        let connection = self.connection.get(until).await?;
        let request = connection.context.request("INFO", b"");
        let answer = match timeout_at(until, request).await {
            Ok(Ok(Response::Ok(IgnoredAny))) => return Ok(()),
            Ok(Ok(Response::Err { error })) => error.to_string(),
            Ok(Err(error)) if error.kind() == RequestErrorKind::NoResponders => {
                "it is not enabled".to_owned()
            }
            Ok(Err(error)) => error.to_string(),
            Err(_) => "no answer in time".to_owned(),
        };
        Err(transport::Error::Unreachable(format!(
            "JetStream of {} is not available: {answer}",
            self.settings().target()
        )))
    }
}
