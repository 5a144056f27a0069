//! The SQS transport: sorts a call's records by queue, and sends them in waves of batches.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use async_trait::async_trait;
use futures::stream::{self, StreamExt as _};
use postrider_broker::uncertain;
use postrider_seams::{Envelope, Failure, Outcome, Receipt, Transport, transport};
use tokio::sync::OnceCell;
use tokio::time::{Instant, timeout_at};

use crate::classify;
use crate::client::Connected;
use crate::config::Settings;
use crate::encode::{self, Entry};
use crate::error::Error;
use crate::plan::{Plan, Request};

/// Time limit of a probe; a slower answer counts as a failure of the service.
const PROBE: Duration = Duration::from_secs(10);
/// Wait of records that were not sent before the deadline.
const SHORTLY: Duration = Duration::from_secs(1);
/// Interval between probes of an idle lane, each a query over the open connection.
const LOOK_EVERY: Duration = Duration::from_secs(4);

/// Sends records to the queues of one account and region.
pub struct Sqs {
    settings: Settings,
    connected: OnceCell<Connected>,
}

/// The records of a call, and their outcomes.
struct Call {
    entries: HashMap<usize, Entry>,
    outcomes: Vec<Option<Outcome>>,
}

impl Sqs {
    /// Checks the settings; loads AWS's own at the first use.
    pub fn new(settings: Settings) -> Result<Self, Error> {
        settings.check()?;
        Ok(Self { settings, connected: OnceCell::new() })
    }

    /// Creates the transport from a URL: see [`Settings::from_url`].
    pub fn from_url(url: &str, beside: &[(String, String)]) -> Result<Self, Error> {
        Self::new(Settings::from_url(url, beside)?)
    }

    /// Returns the settings of the account and region.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns the client, which is created at the first use, to share its connections.
    pub async fn connected(&self) -> &Connected {
        self.connected.get_or_init(|| Connected::new(&self.settings)).await
    }

    /// Sends all records of one queue.
    async fn send_to(
        &self,
        topic: &str,
        places: Vec<usize>,
        batch: &[Envelope],
        call: &mut Call,
        deadline: Instant,
    ) {
        let connected = self.connected().await;
        let until = deadline.min(Instant::now() + self.settings.request_timeout);
        let url = match timeout_at(until, connected.queue(topic)).await {
            Ok(Ok(url)) => url,
            Ok(Err(outcome)) => return call.settle(&places, &outcome),
            Err(_) => return call.settle(&places, &no_queue(topic)),
        };
        let mut plan = Plan::new(places, encode::is_fifo(topic), self.settings.max_size);
        loop {
            let wave = plan.wave(&call.entries);
            if wave.is_empty() {
                return;
            }
            let entries = &call.entries;
            let (url, time) = (&url, self.settings.request_timeout);
            let answers: Vec<Vec<(usize, Outcome)>> = stream::iter(wave)
                .map(|request| send_held(connected, url, request, (batch, entries), deadline, time))
                .buffered(self.settings.requests)
                .collect()
                .await;
            for (place, outcome) in answers.into_iter().flatten() {
                call.note(place, outcome, &mut plan);
            }
        }
    }
}

impl Call {
    fn new(settings: &Settings, batch: &[Envelope]) -> (Self, BTreeMap<String, Vec<usize>>) {
        let mut call =
            Self { entries: HashMap::with_capacity(batch.len()), outcomes: Vec::with_capacity(batch.len()) };
        let mut queues: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (place, envelope) in batch.iter().enumerate() {
            let encoded = postrider_broker::record(envelope)
                .and_then(|record| Ok((record, encode::encode(envelope, record, settings.max_size)?)));
            match encoded {
                Ok((record, entry)) => {
                    queues.entry(record.topic.clone()).or_default().push(place);
                    call.entries.insert(place, entry);
                    call.outcomes.push(None);
                }
                Err(outcome) => call.outcomes.push(Some(outcome)),
            }
        }
        (call, queues)
    }

    fn settle(&mut self, places: &[usize], outcome: &Outcome) {
        for &place in places {
            self.outcomes[place] = Some(outcome.clone());
        }
    }

    /// Records an outcome. A record that may be retried holds back the rest of its group (rule O8); a dead one does
    /// not.
    fn note(&mut self, place: usize, outcome: Outcome, plan: &mut Plan) {
        let passed = matches!(outcome, Outcome::Delivered(_) | Outcome::Rejected(_));
        self.outcomes[place] = Some(outcome);
        if let (false, Some((group, _))) = (passed, &self.entries[&place].fifo) {
            let held = plan.hold(group, &self.entries);
            let reason = "not sent: a record of its group before it was not taken, and order is kept";
            self.settle(&held, &Outcome::Deferred(Failure::new(reason)));
        }
    }
}

fn out_of_time() -> Outcome {
    Outcome::Deferred(Failure { after: Some(SHORTLY), ..Failure::new("no time was left to send it") })
}

/// Returns the outcome of a record whose queue URL is unknown: nothing was sent, and an outage costs nothing.
fn no_queue(topic: &str) -> Outcome {
    let reason = format!("no answer in time to where the queue {topic} is");
    Outcome::Retryable(Failure { unreachable: true, ..Failure::new(reason) })
}

/// Sends the records that still have their lease.
async fn send_held(
    connected: &Connected,
    url: &str,
    request: Request,
    (batch, entries): (&[Envelope], &HashMap<usize, Entry>),
    deadline: Instant,
    time: Duration,
) -> Vec<(usize, Outcome)> {
    let (mut held, mut answers) = (Vec::with_capacity(request.len()), Vec::new());
    for place in request {
        match batch[place].may_begin() {
            Ok(()) => held.push(place),
            Err(outcome) => answers.push((place, outcome)),
        }
    }
    if !held.is_empty() {
        answers.extend(send(connected, url, held, entries, deadline.min(Instant::now() + time)).await);
    }
    answers
}

/// Sends one request of up to ten entries.
async fn send(
    connected: &Connected,
    url: &str,
    request: Request,
    entries: &HashMap<usize, Entry>,
    deadline: Instant,
) -> Vec<(usize, Outcome)> {
    let all = |outcome: &Outcome| request.iter().map(|&place| (place, outcome.clone())).collect();
    if Instant::now() >= deadline {
        return all(&out_of_time());
    }
    let built = request.iter().map(|place| entries[place].build(*place)).collect();
    let asked = connected.client.send_message_batch().queue_url(url).set_entries(Some(built)).send();
    let answer = match timeout_at(deadline, asked).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(error)) => return all(&classify::request(&error)),
        Err(_) => return all(&uncertain("no answer in time (request_timeout)")),
    };
    let mut outcomes: HashMap<String, Outcome> = HashMap::with_capacity(request.len());
    for sent in answer.successful() {
        let receipt = Receipt { id: Some(sent.message_id().to_owned()), ..Receipt::default() };
        outcomes.insert(sent.id().to_owned(), Outcome::Delivered(receipt));
    }
    for failed in answer.failed() {
        let outcome =
            classify::entry(failed.sender_fault(), failed.code(), failed.message().unwrap_or_default());
        outcomes.insert(failed.id().to_owned(), outcome);
    }
    let silent = || uncertain("SQS said nothing about this entry");
    request.iter().map(|&place| (place, outcomes.remove(&place.to_string()).unwrap_or_else(silent))).collect()
}

#[async_trait]
impl Transport for Sqs {
    fn capabilities(&self) -> transport::Capabilities {
        transport::Capabilities::new(self.settings.batch, self.settings.concurrency)
            .looked_at_every(LOOK_EVERY)
    }

    async fn deliver(&self, batch: &[Envelope], deadline: Instant) -> Vec<Outcome> {
        let (mut call, queues) = Call::new(&self.settings, batch);
        for (topic, places) in queues {
            self.send_to(&topic, places, batch, &mut call, deadline).await;
        }
        call.outcomes.into_iter().map(|outcome| outcome.expect("every record was settled")).collect()
    }

    async fn probe(&self) -> Result<(), transport::Error> {
        let connected = self.connected().await;
        let asked = connected.client.list_queues().max_results(1).send();
        let target = self.settings.target();
        match tokio::time::timeout(PROBE, asked).await {
            Ok(Ok(_)) => Ok(()),
            Err(_) => Err(transport::Error::Unreachable(format!("{target} does not answer in time"))),
            Ok(Err(error)) => match classify::request(&error) {
                Outcome::Refused(failure) => Err(transport::Error::Refused(failure.reason)),
                // Permissions for queues need not include listing them.
                Outcome::Rejected(_) => Ok(()),
                other => {
                    let reason = other.failure().map(|failure| failure.reason.clone()).unwrap_or_default();
                    Err(transport::Error::Unreachable(format!("{target}: {reason}")))
                }
            },
        }
    }
}
