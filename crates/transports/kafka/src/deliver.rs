//! The Kafka transport: queues a whole batch, then waits for its delivery reports.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use futures::future::{Either, join_all, ready};
use postrider_seams::outcome::{rejected, uncertain};
use postrider_seams::{Envelope, Failure, Outcome, Receipt, Transport, transport};
use rdkafka::error::{KafkaError, RDKafkaErrorCode as Code};
use rdkafka::producer::Producer as _;
use rdkafka::producer::future_producer::{Delivery, DeliveryFuture};
use tokio::time::{Instant, sleep, sleep_until, timeout_at};

use crate::classify::{self, FailureContext};
use crate::config::Settings;
use crate::connection_monitor::ConnectionMark;
use crate::encode;
use crate::error::Error;
use crate::producer::{Batching, Producer};

/// The queue is purged this long before the deadline, so that its reports come in time.
const PURGE_MARGIN: Duration = Duration::from_millis(100);
/// Delay between two tries while the local queue is full.
const QUEUE_FULL_DELAY: Duration = Duration::from_millis(5);
/// Time limit of a probe; a slower answer counts as a failure of the cluster.
const PROBE_TIMEOUT: Duration = Duration::from_secs(10);
/// Interval between probes of an idle lane, each a query over the open connection.
const PROBE_INTERVAL: Duration = Duration::from_secs(4);
/// Additional wait of a probe that finds all brokers down: a name may have a second address that answers.
const SECOND_ADDRESS_WAIT: Duration = Duration::from_secs(1);

/// Delivers records to one cluster.
pub struct Kafka {
    settings: Settings,
    current: Mutex<Arc<Producer>>,
    /// Producer that sends every record in its own request; started at its first use.
    single: Mutex<Option<Arc<Producer>>>,
}

/// The result of one record.
enum DeliveryResult {
    Outcome(Outcome),
    /// The record shared a request that was refused as a whole.
    RequestRefused(Outcome),
}

/// A record that was queued or failed before.
enum Queued {
    AwaitingReport(DeliveryFuture, ConnectionMark),
    Finished(Outcome),
}

impl Kafka {
    /// Checks the settings and starts a producer, which connects in the background.
    pub fn new(settings: Settings) -> Result<Self, Error> {
        settings.check()?;
        let producer = Arc::new(Producer::start(&settings, Batching::Batched)?);
        Ok(Self { settings, current: Mutex::new(producer), single: Mutex::default() })
    }

    /// Creates the transport from a URL: see [`Settings::from_url`].
    pub fn from_url(url: &str, overrides: &[(String, String)]) -> Result<Self, Error> {
        Self::new(Settings::from_url(url, overrides)?)
    }

    /// Returns the settings of the cluster.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns the current producer; starts a new one if the last was retired.
    fn producer(&self) -> Result<Arc<Producer>, Error> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if current.is_retired() {
            *current = Arc::new(Producer::start(&self.settings, Batching::Batched)?);
        }
        Ok(Arc::clone(&current))
    }

    fn single_producer(&self) -> Result<Arc<Producer>, Error> {
        let mut single = self.single.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(producer) = single.as_ref().filter(|producer| !producer.is_retired()) {
            return Ok(Arc::clone(producer));
        }
        let producer = Arc::new(Producer::start(&self.settings, Batching::Single)?);
        *single = Some(Arc::clone(&producer));
        Ok(producer)
    }

    /// Sends a record in its own request, so that its result concerns no other record. Brokers refuse a request as a
    /// whole: because of one invalid record, or because it exceeds a topic's size limit.
    async fn send_single(&self, envelope: &Envelope, deadline: Instant) -> Outcome {
        let producer = match self.single_producer() {
            Ok(producer) => producer,
            Err(error) => return Outcome::Refused(Failure::new(error.to_string())),
        };
        match queue(&producer, envelope, deadline).await {
            Queued::Finished(outcome) => outcome,
            Queued::AwaitingReport(report, mark) => {
                match reported_result(&producer, envelope, report, mark, deadline).await {
                    DeliveryResult::Outcome(outcome) | DeliveryResult::RequestRefused(outcome) => outcome,
                }
            }
        }
    }
}

/// Queues one record; waits while the local queue is full.
async fn queue(producer: &Producer, envelope: &Envelope, deadline: Instant) -> Queued {
    let record = match postrider_seams::outcome::record(envelope) {
        Ok(record) => record,
        Err(outcome) => return Queued::Finished(outcome),
    };
    if let Err(outcome) = encode::check_topic(&record.topic) {
        return Queued::Finished(outcome);
    }
    loop {
        if let Err(outcome) = envelope.may_begin() {
            return Queued::Finished(outcome);
        }
        if producer.is_retired() {
            return Queued::Finished(classify::outcome(Code::PurgeQueue, &failure_context(producer, None)));
        }
        let mark = producer.monitor.mark();
        match producer.inner().send_result(encode::encode(record)) {
            Ok(report) => return Queued::AwaitingReport(report, mark),
            Err((KafkaError::MessageProduction(Code::QueueFull), _))
                if Instant::now() + QUEUE_FULL_DELAY < deadline =>
            {
                sleep(QUEUE_FULL_DELAY).await;
            }
            Err((KafkaError::MessageProduction(Code::QueueFull), _)) => {
                let reason = "not sent: the local queue stayed full, the cluster accepts records too slowly";
                return Queued::Finished(Outcome::Deferred(Failure::new(reason)));
            }
            Err((error, _)) => return Queued::Finished(delivery_failed(producer, &error, mark)),
        }
    }
}

fn failure_context(producer: &Producer, mark: Option<ConnectionMark>) -> FailureContext {
    let monitor = &producer.monitor;
    FailureContext {
        never_sent: mark.is_some_and(|mark| mark.no_connection_until(monitor.mark())),
        refusal: monitor.refusal(),
        last_error: monitor.last_error(),
        fatal: producer.fatal(),
    }
}

fn delivery_failed(producer: &Producer, error: &KafkaError, mark: ConnectionMark) -> Outcome {
    let Some(code) = error.rdkafka_error_code() else { return rejected(error.to_string()) };
    // Later records must not overtake this one when it is retried.
    if matches!(code, Code::MessageTimedOut | Code::TimedOutQueue | Code::Fatal) || producer.fatal().is_some()
    {
        producer.retire();
    }
    if is_broker_code(code) {
        producer.monitor.record_answer();
    }
    classify::outcome(code, &failure_context(producer, Some(mark)))
}

/// Whether a broker returned this code; negative codes are librdkafka's own.
fn is_broker_code(code: Code) -> bool {
    code as i32 > 0
}

async fn delivery_result(
    producer: &Producer,
    topic: &str,
    mut report: DeliveryFuture,
    mark: ConnectionMark,
    deadline: Instant,
) -> DeliveryResult {
    let purge_at = deadline.checked_sub(PURGE_MARGIN).unwrap_or(deadline);
    let first = tokio::select! {
        biased;
        answer = &mut report => Some(answer),
        () = producer.monitor.wait_refused() => None,
        () = sleep_until(purge_at) => None,
    };
    let answer = if first.is_some() {
        first
    } else {
        producer.retire();
        timeout_at(deadline, &mut report).await.ok()
    };
    DeliveryResult::Outcome(match answer {
        Some(Ok(Ok(delivery))) => {
            producer.monitor.record_answer();
            Outcome::Delivered(receipt(topic, &delivery))
        }
        Some(Ok(Err((error, _)))) => {
            let outcome = delivery_failed(producer, &error, mark);
            if error.rdkafka_error_code().is_some_and(classify::applies_to_request) {
                return DeliveryResult::RequestRefused(outcome);
            }
            outcome
        }
        Some(Err(_)) => uncertain("the producer ended before the record was answered"),
        None => uncertain("no acknowledgement by the deadline"),
    })
}

/// Waits for the result of a record, and reports its delivery while the others of the call still wait.
async fn reported_result(
    producer: &Producer,
    envelope: &Envelope,
    report: DeliveryFuture,
    mark: ConnectionMark,
    deadline: Instant,
) -> DeliveryResult {
    let result = delivery_result(producer, topic(envelope), report, mark, deadline).await;
    if let DeliveryResult::Outcome(Outcome::Delivered(receipt)) = &result {
        envelope.report_delivered(receipt);
    }
    result
}

fn topic(envelope: &Envelope) -> &str {
    postrider_seams::outcome::record(envelope).map_or("", |record| record.topic.as_str())
}

fn receipt(topic: &str, delivery: &Delivery) -> Receipt {
    let id = format!("{topic}/{}/{}", delivery.partition, delivery.offset);
    Receipt { id: Some(id), ..Receipt::default() }
}

#[async_trait]
impl Transport for Kafka {
    /// One producer keeps a partition's order through its own retries, and drops a record only with those behind it.
    fn capabilities(&self) -> transport::Capabilities {
        transport::Capabilities::new(self.settings.batch, self.settings.concurrency)
            .keeping_order(true)
            .with_probe_interval(PROBE_INTERVAL)
    }

    async fn deliver(&self, batch: &[Envelope], deadline: Instant) -> Vec<Outcome> {
        let producer = match self.producer() {
            Ok(producer) => producer,
            Err(error) => return vec![Outcome::Refused(Failure::new(error.to_string())); batch.len()],
        };
        let mut queued = Vec::with_capacity(batch.len());
        for envelope in batch {
            // No record may overtake one that was not sent: its lease ran out, or the queue stayed full.
            let held_back = match queued.last() {
                Some(Queued::Finished(outcome @ Outcome::Deferred(_))) => Some(outcome.clone()),
                _ => None,
            };
            queued.push(match held_back {
                Some(outcome) => Queued::Finished(outcome),
                None => queue(&producer, envelope, deadline).await,
            });
        }
        let results = queued.into_iter().zip(batch).map(|(queued, envelope)| match queued {
            Queued::Finished(outcome) => Either::Left(ready(DeliveryResult::Outcome(outcome))),
            Queued::AwaitingReport(report, mark) => {
                Either::Right(reported_result(&producer, envelope, report, mark, deadline))
            }
        });
        let mut outcomes = Vec::with_capacity(batch.len());
        let mut resend = Vec::new();
        for (index, result) in join_all(results).await.into_iter().enumerate() {
            outcomes.push(match result {
                DeliveryResult::Outcome(outcome) => outcome,
                DeliveryResult::RequestRefused(outcome) => {
                    resend.push(index);
                    outcome
                }
            });
        }
        for index in resend {
            outcomes[index] = self.send_single(&batch[index], deadline).await;
        }
        outcomes
    }

    async fn probe(&self) -> Result<(), transport::Error> {
        let producer = self.producer().map_err(|error| transport::Error::Refused(error.to_string()))?;
        let metadata_producer = Arc::clone(&producer);
        let metadata = tokio::task::spawn_blocking(move || {
            metadata_producer.inner().client().fetch_metadata(None, PROBE_TIMEOUT)
        });
        let all_down = async {
            producer.monitor.all_down().await;
            sleep(SECOND_ADDRESS_WAIT).await;
        };
        let answer = tokio::select! {
            answer = metadata => answer.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic())),
            () = producer.monitor.wait_refused() => Err(KafkaError::Canceled),
            () = all_down => Err(KafkaError::Canceled),
        };
        match (answer, producer.monitor.refusal()) {
            (Ok(_), None) => {
                producer.monitor.record_answer();
                Ok(())
            }
            (_, Some(refusal)) => {
                producer.retire();
                Err(transport::Error::Refused(refusal))
            }
            (Err(error), None) => {
                let last_error = producer.monitor.last_error().unwrap_or_else(|| error.to_string());
                let target = self.settings.target();
                Err(transport::Error::Unreachable(format!("no broker of {target} answers: {last_error}")))
            }
        }
    }
}
