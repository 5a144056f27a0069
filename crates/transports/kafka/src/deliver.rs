//! The Kafka transport: queues a whole batch, then waits for its delivery reports.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use postrider_broker::{rejected, uncertain};
use postrider_seams::{Envelope, Failure, Outcome, Receipt, Transport, transport};
use rdkafka::error::{KafkaError, RDKafkaErrorCode as Code};
use rdkafka::producer::Producer as _;
use rdkafka::producer::future_producer::{Delivery, DeliveryFuture};
use tokio::time::{Instant, sleep, sleep_until, timeout_at};

use crate::classify::{self, Circumstances};
use crate::config::Settings;
use crate::encode;
use crate::error::Error;
use crate::link::Mark;
use crate::producer::{Company, Producer};

/// The queue is purged this long before the deadline, so that its reports come in time.
const GRACE: Duration = Duration::from_millis(100);
/// Delay between two tries while the local queue is full.
const FULL: Duration = Duration::from_millis(5);
/// Time limit of a probe; a slower answer counts as a failure of the cluster.
const PROBE: Duration = Duration::from_secs(10);
/// Interval between probes of an idle lane, each a query over the open connection.
const LOOK_EVERY: Duration = Duration::from_secs(4);
/// Additional wait of a probe that finds all brokers down: a name may have a second address that answers.
const LAST_CHANCE: Duration = Duration::from_secs(1);

/// Delivers records to one cluster.
pub struct Kafka {
    settings: Settings,
    current: Mutex<Arc<Producer>>,
    /// Producer that sends every record in its own request; started at its first use.
    alone: Mutex<Option<Arc<Producer>>>,
}

/// The result of one record.
enum Answer {
    Outcome(Outcome),
    /// The record shared a request that was refused as a whole.
    Shared(Outcome),
}

/// A record that was queued or failed before.
enum Sent {
    Waiting(DeliveryFuture, Mark),
    Answered(Outcome),
}

impl Kafka {
    /// Checks the settings and starts a producer, which connects in the background.
    pub fn new(settings: Settings) -> Result<Self, Error> {
        settings.check()?;
        let producer = Arc::new(Producer::start(&settings, Company::Many)?);
        Ok(Self { settings, current: Mutex::new(producer), alone: Mutex::default() })
    }

    /// Creates the transport from a URL: see [`Settings::from_url`].
    pub fn from_url(url: &str, beside: &[(String, String)]) -> Result<Self, Error> {
        Self::new(Settings::from_url(url, beside)?)
    }

    /// Returns the settings of the cluster.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns the current producer; starts a new one if the last was retired.
    fn producer(&self) -> Result<Arc<Producer>, Error> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if current.is_retired() {
            *current = Arc::new(Producer::start(&self.settings, Company::Many)?);
        }
        Ok(Arc::clone(&current))
    }

    fn producer_alone(&self) -> Result<Arc<Producer>, Error> {
        let mut alone = self.alone.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(producer) = alone.as_ref().filter(|producer| !producer.is_retired()) {
            return Ok(Arc::clone(producer));
        }
        let producer = Arc::new(Producer::start(&self.settings, Company::Alone)?);
        *alone = Some(Arc::clone(&producer));
        Ok(producer)
    }

    /// Sends a record in its own request, so that its result concerns no other record. Brokers refuse a request as a
    /// whole: because of one invalid record, or because it exceeds a topic's size limit.
    async fn send_alone(&self, envelope: &Envelope, deadline: Instant) -> Outcome {
        let producer = match self.producer_alone() {
            Ok(producer) => producer,
            Err(error) => return Outcome::Refused(Failure::new(error.to_string())),
        };
        match queue(&producer, envelope, deadline).await {
            Sent::Answered(outcome) => outcome,
            Sent::Waiting(waiting, queued) => {
                match answer(&producer, topic(envelope), waiting, queued, deadline).await {
                    Answer::Outcome(outcome) | Answer::Shared(outcome) => outcome,
                }
            }
        }
    }
}

/// Queues one record; waits while the local queue is full.
async fn queue(producer: &Producer, envelope: &Envelope, deadline: Instant) -> Sent {
    let record = match postrider_broker::record(envelope) {
        Ok(record) => record,
        Err(outcome) => return Sent::Answered(outcome),
    };
    if let Err(outcome) = encode::check(&record.topic) {
        return Sent::Answered(outcome);
    }
    loop {
        if let Err(outcome) = envelope.may_begin() {
            return Sent::Answered(outcome);
        }
        if producer.is_retired() {
            return Sent::Answered(classify::outcome(Code::PurgeQueue, &about(producer, None)));
        }
        let mark = producer.link.mark();
        match producer.inner().send_result(encode::encode(record)) {
            Ok(waiting) => return Sent::Waiting(waiting, mark),
            Err((KafkaError::MessageProduction(Code::QueueFull), _)) if Instant::now() + FULL < deadline => {
                sleep(FULL).await;
            }
            Err((KafkaError::MessageProduction(Code::QueueFull), _)) => {
                let reason = "the local queue stayed full: the cluster takes records too slowly";
                return Sent::Answered(Outcome::Retryable(Failure::new(reason)));
            }
            Err((error, _)) => return Sent::Answered(failed(producer, &error, mark)),
        }
    }
}

fn about(producer: &Producer, queued: Option<Mark>) -> Circumstances {
    let link = &producer.link;
    Circumstances {
        never_sent: queued.is_some_and(|queued| queued.nothing_until(link.mark())),
        refusal: link.refusal(),
        trouble: link.trouble(),
        fatal: producer.fatal(),
    }
}

fn failed(producer: &Producer, error: &KafkaError, queued: Mark) -> Outcome {
    let Some(code) = error.rdkafka_error_code() else { return rejected(error.to_string()) };
    // Later records must not overtake this one when it is retried.
    if matches!(code, Code::MessageTimedOut | Code::TimedOutQueue | Code::Fatal) || producer.fatal().is_some()
    {
        producer.retire();
    }
    if is_from_a_broker(code) {
        producer.link.answered();
    }
    classify::outcome(code, &about(producer, Some(queued)))
}

/// Whether a broker returned this code; negative codes are librdkafka's own.
fn is_from_a_broker(code: Code) -> bool {
    code as i32 > 0
}

async fn answer(
    producer: &Producer,
    topic: &str,
    mut waiting: DeliveryFuture,
    queued: Mark,
    deadline: Instant,
) -> Answer {
    let cut = deadline.checked_sub(GRACE).unwrap_or(deadline);
    let first = tokio::select! {
        biased;
        answer = &mut waiting => Some(answer),
        () = producer.link.refused() => None,
        () = sleep_until(cut) => None,
    };
    let answer = if first.is_some() {
        first
    } else {
        producer.retire();
        timeout_at(deadline, &mut waiting).await.ok()
    };
    Answer::Outcome(match answer {
        Some(Ok(Ok(delivery))) => {
            producer.link.answered();
            Outcome::Delivered(receipt(topic, &delivery))
        }
        Some(Ok(Err((error, _)))) => {
            let outcome = failed(producer, &error, queued);
            if error.rdkafka_error_code().is_some_and(classify::is_of_the_request) {
                return Answer::Shared(outcome);
            }
            outcome
        }
        Some(Err(_)) => uncertain("the producer ended before the record was answered"),
        None => uncertain("no acknowledgement by the deadline"),
    })
}

fn topic(envelope: &Envelope) -> &str {
    postrider_broker::record(envelope).map_or("", |record| record.topic.as_str())
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
            .looked_at_every(LOOK_EVERY)
    }

    async fn deliver(&self, batch: &[Envelope], deadline: Instant) -> Vec<Outcome> {
        let producer = match self.producer() {
            Ok(producer) => producer,
            Err(error) => return vec![Outcome::Refused(Failure::new(error.to_string())); batch.len()],
        };
        let mut sent = Vec::with_capacity(batch.len());
        for envelope in batch {
            // No record may overtake one that is not sent because its lease ran out.
            let held_back = match sent.last() {
                Some(Sent::Answered(outcome @ Outcome::Deferred(_))) => Some(outcome.clone()),
                _ => None,
            };
            sent.push(match held_back {
                Some(outcome) => Sent::Answered(outcome),
                None => queue(&producer, envelope, deadline).await,
            });
        }
        let mut outcomes = Vec::with_capacity(batch.len());
        let mut again = Vec::new();
        for (place, (sent, envelope)) in sent.into_iter().zip(batch).enumerate() {
            outcomes.push(match sent {
                Sent::Answered(outcome) => outcome,
                Sent::Waiting(waiting, queued) => {
                    match answer(&producer, topic(envelope), waiting, queued, deadline).await {
                        Answer::Outcome(outcome) => outcome,
                        Answer::Shared(outcome) => {
                            again.push(place);
                            outcome
                        }
                    }
                }
            });
        }
        for place in again {
            outcomes[place] = self.send_alone(&batch[place], deadline).await;
        }
        outcomes
    }

    async fn probe(&self) -> Result<(), transport::Error> {
        let producer = self.producer().map_err(|error| transport::Error::Refused(error.to_string()))?;
        let asked = Arc::clone(&producer);
        let ask = tokio::task::spawn_blocking(move || asked.inner().client().fetch_metadata(None, PROBE));
        let gone = async {
            producer.link.gone().await;
            sleep(LAST_CHANCE).await;
        };
        let answer = tokio::select! {
            answer = ask => answer.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic())),
            () = producer.link.refused() => Err(KafkaError::Canceled),
            () = gone => Err(KafkaError::Canceled),
        };
        match (answer, producer.link.refusal()) {
            (Ok(_), None) => {
                producer.link.answered();
                Ok(())
            }
            (_, Some(refusal)) => {
                producer.retire();
                Err(transport::Error::Refused(refusal))
            }
            (Err(error), None) => {
                let trouble = producer.link.trouble().unwrap_or_else(|| error.to_string());
                let target = self.settings.target();
                Err(transport::Error::Unreachable(format!("no broker of {target} answers: {trouble}")))
            }
        }
    }
}
