//! Publishes one batch in order, over as many channels as needed, until every record has its outcome.
//!
//! Records are published in the order of the batch. Confirms may come in any order, several at once; a returned
//! message comes before its confirm, but the client library delivers it with any confirm: it is matched by its id.

use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use lapin::message::BasicReturnMessage;
use lapin::options::BasicPublishOptions;
use lapin::{BasicProperties, Confirmation, PublisherConfirm};
use postrider_seams::outcome::uncertain;
use postrider_seams::{Envelope, Outcome, Record};
use tokio::time::{Instant, timeout_at};

use crate::channel_pool::ConfirmChannel;
use crate::classify;
use crate::config::Settings;
use crate::encode::{self, Route};

/// The time between two reports of confirmed records, while others of the call still wait for their confirm.
const REPORT: Duration = Duration::from_millis(50);

/// A record that is encoded and can be published.
struct EncodedRecord<'a> {
    envelope: &'a Envelope,
    record: &'a Record,
    route: Route,
    id: &'a str,
    properties: BasicProperties,
}

impl EncodedRecord<'_> {
    /// Whether this is the record in a returned message.
    fn is_in(&self, message: &BasicReturnMessage) -> bool {
        let id = message.delivery.properties.message_id().as_ref();
        id.is_some_and(|id| id.as_str() == self.id) && self.route.key == message.delivery.routing_key.as_str()
    }
}

/// The records of one batch, and the outcomes known so far.
pub(crate) struct PublishBatch<'a> {
    /// `None` for records that had their outcome before anything was sent.
    encoded: Vec<Option<EncodedRecord<'a>>>,
    outcomes: Vec<Option<Outcome>>,
    ack_timeout: Duration,
}

/// The result of one publication.
enum PublishResult {
    Ack,
    Nack,
    ChannelLost(lapin::Error),
    TimedOut,
}

/// Whether the channel can be used again.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ChannelState {
    Usable,
    Broken,
}

impl<'a> PublishBatch<'a> {
    pub(crate) fn new(settings: &Settings, batch: &'a [Envelope]) -> Self {
        let (mut encoded, mut outcomes) = (Vec::with_capacity(batch.len()), Vec::with_capacity(batch.len()));
        for envelope in batch {
            match encode_record(settings, envelope) {
                Ok(record) => {
                    encoded.push(Some(record));
                    outcomes.push(None);
                }
                Err(outcome) => {
                    encoded.push(None);
                    outcomes.push(Some(outcome));
                }
            }
        }
        Self { encoded, outcomes, ack_timeout: settings.ack_timeout }
    }

    /// Returns the number of records without an outcome.
    pub(crate) fn pending(&self) -> usize {
        self.outcomes.iter().filter(|outcome| outcome.is_none()).count()
    }

    /// Gives all remaining records this outcome.
    pub(crate) fn set_remaining(&mut self, outcome: &Outcome) {
        for slot in self.outcomes.iter_mut().filter(|slot| slot.is_none()) {
            *slot = Some(outcome.clone());
        }
    }

    pub(crate) fn into_outcomes(self) -> Vec<Outcome> {
        self.outcomes.into_iter().map(|outcome| outcome.expect("every record has its outcome")).collect()
    }

    fn encoded(&self, index: usize) -> &EncodedRecord<'a> {
        self.encoded[index].as_ref().expect("records without an outcome are encoded")
    }

    /// Publishes the records without an outcome. If the channel breaks, records that cannot have been accepted keep
    /// none.
    pub(crate) async fn publish_on(
        &mut self,
        channel: &mut ConfirmChannel,
        deadline: Instant,
    ) -> ChannelState {
        let mut unconfirmed = Vec::new();
        for index in 0..self.encoded.len() {
            if self.outcomes[index].is_some() {
                continue;
            }
            let exchange = self.encoded(index).route.exchange.clone();
            let is_known = channel.known_exchanges.contains(&exchange);
            // An exchange that is missing or forbidden closes the channel: publish to it with nothing else in flight.
            if !is_known
                && self.confirm(std::mem::take(&mut unconfirmed), deadline).await == ChannelState::Broken
            {
                return ChannelState::Broken;
            }
            // After that wait, which may outlast the lease.
            if let Err(outcome) = self.encoded(index).envelope.may_begin() {
                self.outcomes[index] = Some(outcome);
                continue;
            }
            let publish_by = deadline.min(Instant::now() + self.ack_timeout);
            let Some(confirm) = publish(channel, self.encoded(index), publish_by).await else {
                self.confirm(unconfirmed, deadline).await;
                return ChannelState::Broken;
            };
            unconfirmed.push((index, confirm));
            if !is_known {
                if self.confirm(std::mem::take(&mut unconfirmed), deadline).await == ChannelState::Broken {
                    return ChannelState::Broken;
                }
                channel.known_exchanges.insert(exchange);
            }
        }
        self.confirm(unconfirmed, deadline).await
    }

    /// Waits for the confirms and records the outcomes.
    async fn confirm(
        &mut self,
        unconfirmed: Vec<(usize, PublisherConfirm)>,
        deadline: Instant,
    ) -> ChannelState {
        let deadline = deadline.min(Instant::now() + self.ack_timeout);
        let mut results = Vec::with_capacity(unconfirmed.len());
        let mut returns = Vec::new();
        let each = |(index, confirm)| async move { (index, timeout_at(deadline, confirm).await) };
        let mut confirms: FuturesUnordered<_> = unconfirmed.into_iter().map(each).collect();
        let mut report = tokio::time::interval_at(Instant::now() + REPORT, REPORT);
        let mut reported = 0;
        loop {
            let (index, confirm) = tokio::select! {
                biased;
                confirm = confirms.next() => match confirm {
                    Some(confirm) => confirm,
                    None => break,
                },
                // Nothing more has been confirmed, so the returned messages of all these records are known.
                _ = report.tick() => {
                    self.report(&results[reported..], &returns);
                    reported = results.len();
                    continue;
                }
            };
            let result = match confirm {
                Ok(Ok(Confirmation::Ack(returned))) => {
                    returns.extend(returned);
                    PublishResult::Ack
                }
                Ok(Ok(Confirmation::Nack(returned))) => {
                    returns.extend(returned);
                    PublishResult::Nack
                }
                Ok(Ok(Confirmation::NotRequested)) => unreachable!("every channel is in confirm mode"),
                Ok(Err(error)) => PublishResult::ChannelLost(error),
                Err(_) => PublishResult::TimedOut,
            };
            results.push((index, result));
        }
        // The call may go on: a record to another exchange waits for these confirms, and then for its own.
        self.report(&results[reported..], &returns);
        results.sort_unstable_by_key(|(index, _)| *index);
        for message in &returns {
            self.record_return(message, &results);
        }
        self.record_results(results)
    }

    /// Reports confirmed records as delivered while others of the call still wait for their confirm.
    fn report(&self, results: &[(usize, PublishResult)], returns: &[BasicReturnMessage]) {
        for (index, result) in results {
            let encoded = self.encoded(*index);
            if matches!(result, PublishResult::Ack) && !returns.iter().any(|message| encoded.is_in(message)) {
                encoded.envelope.report_delivered(&encode::receipt(encoded.id));
            }
        }
    }

    /// Matches a returned message to its record; one of an earlier call is ignored.
    fn record_return(&mut self, message: &BasicReturnMessage, results: &[(usize, PublishResult)]) {
        let matching = results.iter().map(|(index, _)| *index).find(|&index| {
            self.outcomes[index].is_none()
                && self.encoded[index].as_ref().is_some_and(|encoded| encoded.is_in(message))
        });
        if let Some(index) = matching {
            self.outcomes[index] = Some(classify::returned_message(message, &self.encoded(index).route));
        }
    }

    fn record_results(&mut self, results: Vec<(usize, PublishResult)>) -> ChannelState {
        let mut state = ChannelState::Usable;
        let mut cause_found = false;
        for (index, result) in results {
            if !matches!(result, PublishResult::Ack | PublishResult::Nack) {
                state = ChannelState::Broken;
            }
            if self.outcomes[index].is_some() {
                continue;
            }
            let encoded = self.encoded(index);
            self.outcomes[index] = match result {
                PublishResult::Ack => Some(Outcome::Delivered(encode::receipt(encoded.id))),
                PublishResult::Nack => Some(classify::nack()),
                PublishResult::TimedOut => Some(uncertain("no confirm in time (ack_timeout)")),
                PublishResult::ChannelLost(error) => match classify::channel_error(&error) {
                    Some(channel_error)
                        if classify::concerns(
                            channel_error,
                            &encoded.route,
                            encoded.record.payload.len(),
                        ) =>
                    {
                        cause_found = true;
                        Some(classify::rejected_by_broker(channel_error))
                    }
                    // After its error the broker reads nothing more from that channel.
                    Some(_) if cause_found => None,
                    _ => Some(classify::unconfirmed(&error)),
                },
            };
        }
        state
    }
}

fn encode_record<'a>(settings: &Settings, envelope: &'a Envelope) -> Result<EncodedRecord<'a>, Outcome> {
    let record = postrider_seams::outcome::record(envelope)?;
    let route = Route::of(&record.topic, settings.exchange.as_deref())?;
    let id = encode::message_id(envelope);
    Ok(EncodedRecord { envelope, record, route, id, properties: encode::properties(record, id)? })
}

/// Publishes one record; `None` if the channel did not accept it, so that it was not sent.
async fn publish(
    channel: &ConfirmChannel,
    encoded: &EncodedRecord<'_>,
    deadline: Instant,
) -> Option<PublisherConfirm> {
    let options = BasicPublishOptions { mandatory: true, immediate: false };
    let published = channel.inner.basic_publish(
        encoded.route.exchange.as_str().into(),
        encoded.route.key.as_str().into(),
        options,
        &encoded.record.payload,
        encoded.properties.clone(),
    );
    timeout_at(deadline, published).await.ok()?.ok()
}
