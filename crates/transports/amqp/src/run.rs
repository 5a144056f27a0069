//! One batch: published in order, over as many channels as needed, until every record has its outcome.
//!
//! Records are published in the order of the batch. Confirms may come in any order, several at once; a returned
//! message comes before its confirm, but the client library delivers it with any confirm: it is matched by its id.

use std::time::Duration;

use lapin::options::BasicPublishOptions;
use lapin::{BasicProperties, Confirmation, PublisherConfirm};
use postrider_broker::uncertain;
use postrider_seams::{Envelope, Outcome, Record};
use tokio::time::{Instant, timeout_at};

use crate::classify;
use crate::config::Settings;
use crate::encode::{self, Route};
use crate::pool::Line;

/// A record that is encoded and can be published.
struct Ready<'a> {
    envelope: &'a Envelope,
    record: &'a Record,
    route: Route,
    id: &'a str,
    properties: BasicProperties,
}

pub(crate) struct Run<'a> {
    /// `None` for records that had their outcome before anything was sent.
    ready: Vec<Option<Ready<'a>>>,
    outcomes: Vec<Option<Outcome>>,
    ack_timeout: Duration,
}

/// The result of one publication.
enum Answer {
    Ack,
    Nack,
    Lost(lapin::Error),
    Silent,
}

/// Whether the channel can be used again.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum End {
    Sound,
    Broken,
}

impl<'a> Run<'a> {
    pub(crate) fn new(settings: &Settings, batch: &'a [Envelope]) -> Self {
        let (mut ready, mut outcomes) = (Vec::with_capacity(batch.len()), Vec::with_capacity(batch.len()));
        for envelope in batch {
            match prepare(settings, envelope) {
                Ok(prepared) => {
                    ready.push(Some(prepared));
                    outcomes.push(None);
                }
                Err(outcome) => {
                    ready.push(None);
                    outcomes.push(Some(outcome));
                }
            }
        }
        Self { ready, outcomes, ack_timeout: settings.ack_timeout }
    }

    pub(crate) fn open(&self) -> usize {
        self.outcomes.iter().filter(|outcome| outcome.is_none()).count()
    }

    /// Gives all remaining records this outcome.
    pub(crate) fn settle_rest(&mut self, outcome: &Outcome) {
        for place in self.outcomes.iter_mut().filter(|place| place.is_none()) {
            *place = Some(outcome.clone());
        }
    }

    pub(crate) fn finish(self) -> Vec<Outcome> {
        self.outcomes.into_iter().map(|outcome| outcome.expect("every record has its outcome")).collect()
    }

    fn ready(&self, index: usize) -> &Ready<'a> {
        self.ready[index].as_ref().expect("records without an outcome are ready")
    }

    /// Publishes the records without an outcome. If the channel breaks, records that cannot have been accepted keep
    /// none.
    pub(crate) async fn carry(&mut self, line: &mut Line, deadline: Instant) -> End {
        let mut waiting = Vec::new();
        for index in 0..self.ready.len() {
            if self.outcomes[index].is_some() {
                continue;
            }
            let exchange = self.ready(index).route.exchange.clone();
            let proven = line.proven.contains(&exchange);
            if let Err(outcome) = self.ready(index).envelope.may_begin() {
                self.outcomes[index] = Some(outcome);
                continue;
            }
            // An exchange that is missing or forbidden closes the channel: publish to it with nothing else in flight.
            if !proven && self.confirm(std::mem::take(&mut waiting), deadline).await == End::Broken {
                return End::Broken;
            }
            let publish_by = deadline.min(Instant::now() + self.ack_timeout);
            let Some(confirm) = publish(line, self.ready(index), publish_by).await else {
                self.confirm(waiting, deadline).await;
                return End::Broken;
            };
            waiting.push((index, confirm));
            if !proven {
                if self.confirm(std::mem::take(&mut waiting), deadline).await == End::Broken {
                    return End::Broken;
                }
                line.proven.insert(exchange);
            }
        }
        self.confirm(waiting, deadline).await
    }

    /// Waits for the confirms and records the outcomes.
    async fn confirm(&mut self, waiting: Vec<(usize, PublisherConfirm)>, deadline: Instant) -> End {
        let deadline = deadline.min(Instant::now() + self.ack_timeout);
        let mut answers = Vec::with_capacity(waiting.len());
        let mut returns = Vec::new();
        for (index, confirm) in waiting {
            let answer = match timeout_at(deadline, confirm).await {
                Ok(Ok(Confirmation::Ack(returned))) => {
                    returns.extend(returned);
                    Answer::Ack
                }
                Ok(Ok(Confirmation::Nack(returned))) => {
                    returns.extend(returned);
                    Answer::Nack
                }
                Ok(Ok(Confirmation::NotRequested)) => unreachable!("every channel is in confirm mode"),
                Ok(Err(error)) => Answer::Lost(error),
                Err(_) => Answer::Silent,
            };
            answers.push((index, answer));
        }
        for message in &returns {
            self.note_return(message, &answers);
        }
        self.note_answers(answers)
    }

    /// Matches a returned message to its record; one of an earlier call is ignored.
    fn note_return(&mut self, message: &lapin::message::BasicReturnMessage, answers: &[(usize, Answer)]) {
        let id = message.delivery.properties.message_id().as_ref().map(ToString::to_string);
        let owner = answers.iter().map(|(index, _)| *index).find(|&index| {
            self.outcomes[index].is_none()
                && self.ready[index].as_ref().is_some_and(|ready| {
                    id.as_deref() == Some(ready.id)
                        && ready.route.key == message.delivery.routing_key.as_str()
                })
        });
        if let Some(index) = owner {
            self.outcomes[index] = Some(classify::returned(message, &self.ready(index).route));
        }
    }

    fn note_answers(&mut self, answers: Vec<(usize, Answer)>) -> End {
        let mut end = End::Sound;
        let mut culprit_found = false;
        for (index, answer) in answers {
            if !matches!(answer, Answer::Ack | Answer::Nack) {
                end = End::Broken;
            }
            if self.outcomes[index].is_some() {
                continue;
            }
            let ready = self.ready(index);
            self.outcomes[index] = match answer {
                Answer::Ack => Some(Outcome::Delivered(encode::receipt(ready.id))),
                Answer::Nack => Some(classify::nack()),
                Answer::Silent => Some(uncertain("no confirm in time (ack_timeout)")),
                Answer::Lost(error) => match classify::complaint(&error) {
                    Some(complaint)
                        if classify::is_about(complaint, &ready.route, ready.record.payload.len()) =>
                    {
                        culprit_found = true;
                        Some(classify::refused(complaint))
                    }
                    // After its error the broker reads nothing more from that channel.
                    Some(_) if culprit_found => None,
                    _ => Some(classify::lost(&error)),
                },
            };
        }
        end
    }
}

fn prepare<'a>(settings: &Settings, envelope: &'a Envelope) -> Result<Ready<'a>, Outcome> {
    let record = postrider_broker::record(envelope)?;
    let route = Route::of(&record.topic, settings.exchange.as_deref())?;
    let id = encode::message_id(envelope);
    Ok(Ready { envelope, record, route, id, properties: encode::properties(record, id)? })
}

/// Publishes one record; `None` if the channel did not accept it, so that it was not sent.
async fn publish(line: &Line, ready: &Ready<'_>, deadline: Instant) -> Option<PublisherConfirm> {
    let options = BasicPublishOptions { mandatory: true, immediate: false };
    let published = line.channel.basic_publish(
        ready.route.exchange.as_str().into(),
        ready.route.key.as_str().into(),
        options,
        &ready.record.payload,
        ready.properties.clone(),
    );
    timeout_at(deadline, published).await.ok()?.ok()
}
