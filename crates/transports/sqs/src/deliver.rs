//! The SQS transport: sorts a call's records by queue, and sends them in waves of batches.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use async_trait::async_trait;
use futures::stream::{self, StreamExt as _};
use postrider_seams::outcome::uncertain;
use postrider_seams::{Envelope, Failure, Outcome, Receipt, Transport, transport};
use tokio::sync::OnceCell;
use tokio::time::{Instant, timeout_at};

use crate::classify;
use crate::client::SqsClient;
use crate::config::Settings;
use crate::encode::{self, BatchEntry};
use crate::error::Error;
use crate::request_plan::{RequestIndexes, RequestPlan};

/// Time limit of a probe; a slower answer counts as a failure of the service.
const PROBE_TIMEOUT: Duration = Duration::from_secs(10);
/// Wait of records that were not sent before the deadline.
const NOT_SENT_DELAY: Duration = Duration::from_secs(1);
/// Interval between probes of an idle lane, each a query over the open connection.
const PROBE_INTERVAL: Duration = Duration::from_secs(4);

/// Sends records to the queues of one account and region.
pub struct Sqs {
    settings: Settings,
    client: OnceCell<SqsClient>,
}

/// The records of a call, and their outcomes.
struct SendBatch {
    entries: HashMap<usize, BatchEntry>,
    outcomes: Vec<Option<Outcome>>,
}

impl Sqs {
    /// Checks the settings; loads AWS's own at the first use.
    pub fn new(settings: Settings) -> Result<Self, Error> {
        settings.check()?;
        Ok(Self { settings, client: OnceCell::new() })
    }

    /// Creates the transport from a URL: see [`Settings::from_url`].
    pub fn from_url(url: &str, overrides: &[(String, String)]) -> Result<Self, Error> {
        Self::new(Settings::from_url(url, overrides)?)
    }

    /// Returns the settings of the account and region.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns the client, which is created at the first use, to share its connections.
    pub async fn client(&self) -> &SqsClient {
        self.client.get_or_init(|| SqsClient::new(&self.settings)).await
    }

    /// Sends all records of one queue.
    async fn send_to(
        &self,
        topic: &str,
        indexes: Vec<usize>,
        batch: &[Envelope],
        records: &mut SendBatch,
        deadline: Instant,
    ) {
        let client = self.client().await;
        let until = deadline.min(Instant::now() + self.settings.request_timeout);
        let url = match timeout_at(until, client.queue_url(topic)).await {
            Ok(Ok(url)) => url,
            Ok(Err(outcome)) => return records.set_outcomes(&indexes, &outcome),
            Err(_) => return records.set_outcomes(&indexes, &queue_url_timeout(topic)),
        };
        let mut plan = RequestPlan::new(indexes, encode::is_fifo(topic), self.settings.max_size);
        loop {
            let wave = plan.wave(&records.entries);
            if wave.is_empty() {
                return;
            }
            let entries = &records.entries;
            let (url, timeout) = (&url, self.settings.request_timeout);
            let answers: Vec<Vec<(usize, Outcome)>> = stream::iter(wave)
                .map(|request| send_leased(client, url, request, (batch, entries), deadline, timeout))
                .buffered(self.settings.requests)
                .collect()
                .await;
            for (index, outcome) in answers.into_iter().flatten() {
                records.record_outcome(index, outcome, &mut plan);
            }
        }
    }
}

impl SendBatch {
    fn new(settings: &Settings, batch: &[Envelope]) -> (Self, BTreeMap<String, Vec<usize>>) {
        let mut records =
            Self { entries: HashMap::with_capacity(batch.len()), outcomes: Vec::with_capacity(batch.len()) };
        let mut queues: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (index, envelope) in batch.iter().enumerate() {
            let encoded = postrider_seams::outcome::record(envelope)
                .and_then(|record| Ok((record, encode::encode(envelope, record, settings.max_size)?)));
            match encoded {
                Ok((record, entry)) => {
                    queues.entry(record.topic.clone()).or_default().push(index);
                    records.entries.insert(index, entry);
                    records.outcomes.push(None);
                }
                Err(outcome) => records.outcomes.push(Some(outcome)),
            }
        }
        (records, queues)
    }

    fn set_outcomes(&mut self, indexes: &[usize], outcome: &Outcome) {
        for &index in indexes {
            self.outcomes[index] = Some(outcome.clone());
        }
    }

    /// Records an outcome. A record that may be retried holds back the rest of its group (rule O8); a dead one does
    /// not.
    fn record_outcome(&mut self, index: usize, outcome: Outcome, plan: &mut RequestPlan) {
        let passed = matches!(outcome, Outcome::Delivered(_) | Outcome::Rejected(_));
        self.outcomes[index] = Some(outcome);
        if let (false, Some((group, _))) = (passed, &self.entries[&index].fifo) {
            let removed = plan.remove_group(group, &self.entries);
            let reason = "not sent: an earlier record of its group was not accepted, and order is kept";
            self.set_outcomes(&removed, &Outcome::Deferred(Failure::new(reason)));
        }
    }
}

fn out_of_time() -> Outcome {
    Outcome::Deferred(Failure { after: Some(NOT_SENT_DELAY), ..Failure::new("no time was left to send it") })
}

/// Returns the outcome of a record whose queue URL is unknown: nothing was sent, and an outage costs nothing.
fn queue_url_timeout(topic: &str) -> Outcome {
    let reason = format!("the URL of the queue {topic} did not arrive in time");
    Outcome::Retryable(Failure { unreachable: true, ..Failure::new(reason) })
}

/// Sends the records that still have their lease.
async fn send_leased(
    client: &SqsClient,
    url: &str,
    request: RequestIndexes,
    (batch, entries): (&[Envelope], &HashMap<usize, BatchEntry>),
    deadline: Instant,
    timeout: Duration,
) -> Vec<(usize, Outcome)> {
    let (mut leased, mut answers) = (Vec::with_capacity(request.len()), Vec::new());
    for index in request {
        match batch[index].may_begin() {
            Ok(()) => leased.push(index),
            Err(outcome) => answers.push((index, outcome)),
        }
    }
    if !leased.is_empty() {
        answers.extend(send(client, url, leased, entries, deadline.min(Instant::now() + timeout)).await);
        for (index, outcome) in &answers {
            if let Outcome::Delivered(receipt) = outcome {
                batch[*index].report_delivered(receipt);
            }
        }
    }
    answers
}

/// Sends one request of up to ten entries.
async fn send(
    client: &SqsClient,
    url: &str,
    request: RequestIndexes,
    entries: &HashMap<usize, BatchEntry>,
    deadline: Instant,
) -> Vec<(usize, Outcome)> {
    let all = |outcome: &Outcome| request.iter().map(|&index| (index, outcome.clone())).collect();
    if Instant::now() >= deadline {
        return all(&out_of_time());
    }
    let built = request.iter().map(|index| entries[index].build(*index)).collect();
    let response = client.sdk.send_message_batch().queue_url(url).set_entries(Some(built)).send();
    let answer = match timeout_at(deadline, response).await {
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
    let no_result = || uncertain("SQS returned no result for this entry");
    request
        .iter()
        .map(|&index| (index, outcomes.remove(&index.to_string()).unwrap_or_else(no_result)))
        .collect()
}

#[async_trait]
impl Transport for Sqs {
    fn capabilities(&self) -> transport::Capabilities {
        transport::Capabilities::new(self.settings.batch, self.settings.concurrency)
            .with_probe_interval(PROBE_INTERVAL)
    }

    async fn deliver(&self, batch: &[Envelope], deadline: Instant) -> Vec<Outcome> {
        let (mut records, queues) = SendBatch::new(&self.settings, batch);
        for (topic, indexes) in queues {
            self.send_to(&topic, indexes, batch, &mut records, deadline).await;
        }
        records.outcomes.into_iter().map(|outcome| outcome.expect("every record has its outcome")).collect()
    }

    async fn probe(&self) -> Result<(), transport::Error> {
        let client = self.client().await;
        let request = client.sdk.list_queues().max_results(1).send();
        let target = self.settings.target();
        match tokio::time::timeout(PROBE_TIMEOUT, request).await {
            Ok(Ok(_)) => Ok(()),
            Err(_) => Err(transport::Error::Unreachable(format!("{target} does not answer in time"))),
            // Permissions for queues need not include listing them, and are checked after the credentials.
            Ok(Err(error)) if classify::denies_access(&error) => Ok(()),
            Ok(Err(error)) => match classify::request(&error) {
                Outcome::Refused(failure) | Outcome::Rejected(failure) => {
                    Err(transport::Error::Refused(format!("{target}: {}", failure.reason)))
                }
                other => {
                    let reason = other.failure().map(|failure| failure.reason.clone()).unwrap_or_default();
                    Err(transport::Error::Unreachable(format!("{target}: {reason}")))
                }
            },
        }
    }
}
