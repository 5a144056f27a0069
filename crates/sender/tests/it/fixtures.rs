//! Scripted transports, and mails for them.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use postrider_seams::row::Detail;
use postrider_seams::{
    Content, Dice, Envelope, Failure, Mail, Outcome, Receipt, Transport, Value, transport,
};
use tokio::time::Instant;

/// The answer of a transport to one call.
#[derive(Debug, Clone)]
pub enum Answer {
    Say(Outcome),
    /// The same outcome after a delay.
    After(Duration, Outcome),
    Panic,
    Nothing,
}

/// A transport that answers from its script, then with "delivered".
#[derive(Default)]
pub struct Scripted {
    pub script: Mutex<VecDeque<Answer>>,
    /// Time and recipients of each mail.
    pub seen: Mutex<Vec<(Instant, Vec<String>)>>,
    pub deduplicates: bool,
    pub refuses_probes: bool,
}

impl Scripted {
    pub fn new(script: impl IntoIterator<Item = Answer>) -> Arc<Self> {
        Arc::new(Self { script: Mutex::new(script.into_iter().collect()), ..Self::default() })
    }

    /// A transport whose target drops duplicates.
    pub fn idempotent(script: impl IntoIterator<Item = Answer>) -> Arc<Self> {
        let script = Mutex::new(script.into_iter().collect());
        Arc::new(Self { script, deduplicates: true, ..Self::default() })
    }

    pub fn count(&self) -> usize {
        self.seen.lock().unwrap().len()
    }

    /// Milliseconds from the first try to each one.
    pub fn times(&self) -> Vec<u128> {
        let seen = self.seen.lock().unwrap();
        seen.iter().map(|(at, _)| (*at - seen[0].0).as_millis()).collect()
    }
}

#[async_trait]
impl Transport for Scripted {
    fn capabilities(&self) -> transport::Capabilities {
        transport::Capabilities::new(8, 4).deduplicating(self.deduplicates)
    }

    async fn deliver(&self, batch: &[Envelope], _deadline: Instant) -> Vec<Outcome> {
        let mut outcomes = Vec::new();
        for envelope in batch {
            let Content::Mail(mail) = &envelope.content else { panic!("mails only") };
            self.seen.lock().unwrap().push((Instant::now(), mail.to.clone()));
            let answer = self.script.lock().unwrap().pop_front();
            outcomes.push(match answer {
                None => delivered("id"),
                Some(Answer::Say(outcome)) => outcome,
                Some(Answer::After(wait, outcome)) => {
                    tokio::time::sleep(wait).await;
                    outcome
                }
                Some(Answer::Panic) => panic!("scripted panic"),
                Some(Answer::Nothing) => return Vec::new(),
            });
        }
        outcomes
    }

    async fn probe(&self) -> Result<(), transport::Error> {
        if self.refuses_probes { Err(transport::Error::Refused("no".to_owned())) } else { Ok(()) }
    }
}

pub struct Fair;

impl Dice for Fair {
    fn roll(&self) -> f64 {
        0.0
    }
}

pub fn mail(key: &str, to: &[&str]) -> Envelope {
    Envelope {
        row: key.to_owned(),
        dedupe: key.to_owned(),
        attempt: 1,
        lease: postrider_seams::LeaseCheck::default(),
        content: Content::Mail(Mail {
            from: "box@example.org".to_owned(),
            to: to.iter().map(|&to| to.to_owned()).collect(),
            message: Bytes::from_static(b"From: box@example.org\r\n\r\nhi\r\n"),
            rest: None,
            message_id: format!("lane.{key}@example.org"),
            utf8: false,
            settled: Vec::new(),
            metadata: Vec::new(),
        }),
        detail: Detail::new(),
    }
}

pub fn delivered(id: &str) -> Outcome {
    Outcome::Delivered(Receipt { id: Some(id.to_owned()), detail: Detail::new() })
}

pub fn later() -> Answer {
    Answer::Say(Outcome::Retryable(Failure::new("500 later")))
}

pub fn away() -> Answer {
    Answer::Say(Outcome::Retryable(Failure { unreachable: true, ..Failure::new("away") }))
}

pub fn wait(seconds: u64) -> Answer {
    Answer::Say(Outcome::Retryable(Failure {
        after: Some(Duration::from_secs(seconds)),
        ..Failure::new("429 too fast")
    }))
}

pub fn uncertain() -> Answer {
    Answer::Say(Outcome::Uncertain(Failure::new("no answer")))
}

pub fn refused() -> Answer {
    Answer::Say(Outcome::Refused(Failure::new("401 who are you")))
}

pub fn detail(outcome: &Outcome) -> &Detail {
    match outcome {
        Outcome::Delivered(receipt) => &receipt.detail,
        other => &other.failure().unwrap().detail,
    }
}

pub fn provider(outcome: &Outcome) -> &str {
    detail(outcome).get("provider").and_then(Value::as_text).unwrap_or_default()
}
