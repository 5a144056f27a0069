//! What a row went through so far, and the spans that tell it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use postrider_contract::Transition;
use postrider_seams::store::{Held, Settlement};
use postrider_seams::{Claimed, Content, Envelope, Outcome};
use tokio::time::Instant;

use super::carry;
use crate::context::{Context, fresh_span, fresh_trace};
use crate::exporter::Exporter;
use crate::span::{Attribute, Kind, Span};

/// From when to when.
pub type Time = (Instant, Instant);

/// Rows that were claimed so long ago, and never settled, were lost to another worker.
const FORGET: Duration = Duration::from_hours(1);
/// Rows are looked through for such when there are more than this.
const MANY: usize = 10_000;

/// One lane's rows on their way.
pub struct Stories {
    lane: String,
    contract: String,
    exporter: Arc<Exporter>,
    rows: Mutex<HashMap<String, Story>>,
}

struct Story {
    claimed: Time,
    waited: i64,
    attempt: u32,
    told: Option<Told>,
}

/// A row that is traced.
struct Told {
    trace: u128,
    parent: Option<u64>,
    /// The whole of it, and its delivery.
    id: u64,
    deliver_id: u64,
    composed: Time,
    delivered: Option<(Time, &'static str)>,
    error: Option<String>,
    kind: Kind,
    target: Option<(&'static str, String)>,
}

impl Stories {
    pub fn new(lane: &str, contract: &str, exporter: Arc<Exporter>) -> Self {
        Self { lane: lane.to_owned(), contract: contract.to_owned(), exporter, rows: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Story>> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn claimed(&self, rows: &[Claimed], claimed: Time) {
        if rows.is_empty() {
            return;
        }
        let mut stories = self.lock();
        if stories.len() > MANY {
            stories.retain(|_, story| story.claimed.1 + FORGET > claimed.1);
        }
        for row in rows {
            let story = Story {
                claimed,
                waited: row.waited_micros,
                attempt: row.counters.attempts.saturating_add(1),
                told: None,
            };
            stories.insert(row.lease.id.to_string(), story);
        }
    }

    /// Decides whether the row is traced, and hands the context on with the envelope.
    pub fn composed(&self, row: &Claimed, made: &mut Result<Envelope, Outcome>, composed: Time) {
        let own = made.as_ref().ok().and_then(|envelope| carry::of_content(&envelope.content));
        let parent = own.or_else(|| carry::of_row(row));
        let sampled =
            parent.map_or_else(|| rand::random::<f64>() < self.exporter.ratio, |parent| parent.sampled);
        if !sampled {
            return;
        }
        let mut told = Told {
            trace: parent.map_or_else(fresh_trace, |parent| parent.trace),
            parent: parent.map(|parent| parent.span),
            id: fresh_span(),
            deliver_id: fresh_span(),
            composed,
            delivered: None,
            error: None,
            kind: Kind::Client,
            target: None,
        };
        match made {
            Ok(envelope) => {
                (told.kind, told.target) = target(&envelope.content);
                let context = Context { trace: told.trace, span: told.deliver_id, sampled: true };
                carry::put(&mut envelope.content, &context);
            }
            Err(outcome) => told.error = outcome.failure().map(|failure| failure.reason.clone()),
        }
        if let Some(story) = self.lock().get_mut(&row.lease.id.to_string()) {
            story.told = Some(told);
        }
    }

    pub fn delivered(&self, envelopes: &[Envelope], outcomes: &[Outcome], delivered: Time) {
        let mut stories = self.lock();
        for (envelope, outcome) in envelopes.iter().zip(outcomes) {
            let Some(told) = stories.get_mut(&envelope.row).and_then(|story| story.told.as_mut()) else {
                continue;
            };
            told.delivered = Some((delivered, name(outcome)));
            told.error = outcome.failure().map(|failure| failure.reason.clone());
        }
    }

    /// The end: all of it is told.
    pub fn settled(&self, moves: &[Settlement], answers: &[Held], settled: Time) {
        let mut spans = Vec::new();
        {
            let mut stories = self.lock();
            for (settlement, answer) in moves.iter().zip(answers) {
                for lease in &settlement.hands_back {
                    stories.remove(&lease.id.to_string());
                }
                let id = settlement.lease.id.to_string();
                let Some(story) = stories.remove(&id) else { continue };
                let Some(told) = &story.told else { continue };
                spans.extend(self.spans(&id, &story, told, (settlement.transition, *answer), settled));
            }
        }
        if !spans.is_empty() {
            self.exporter.take(spans);
        }
    }

    fn spans(
        &self,
        row: &str,
        story: &Story,
        told: &Told,
        (transition, held): (Transition, Held),
        settled: Time,
    ) -> Vec<Span> {
        let text = |text: &str| Attribute::Text(text.to_owned());
        let child = |name: &str, id: u64, (start, end): Time| Span {
            trace: told.trace,
            id,
            parent: Some(told.id),
            name: name.to_owned(),
            kind: Kind::Internal,
            start,
            end,
            attributes: Vec::new(),
            error: None,
        };
        let whole = Span {
            parent: told.parent,
            kind: Kind::Consumer,
            attributes: vec![
                ("postrider.lane", text(&self.lane)),
                ("postrider.contract", text(&self.contract)),
                ("postrider.row", text(row)),
                ("postrider.attempt", Attribute::Int(story.attempt.into())),
                ("postrider.transition", text(if held == Held::Held { transition.name() } else { "lost" })),
                ("postrider.waited_ms", Attribute::Int(story.waited / 1000)),
            ],
            error: told.error.clone(),
            ..child(&format!("postrider {}", self.lane), told.id, (story.claimed.0, settled.1))
        };
        let mut spans = vec![
            whole,
            child("claim", fresh_span(), story.claimed),
            child("compose", fresh_span(), told.composed),
        ];
        if let Some((delivered, outcome)) = told.delivered {
            let mut attributes = vec![("postrider.outcome", text(outcome))];
            attributes.extend(told.target.as_ref().map(|(name, value)| (*name, text(value))));
            spans.push(Span {
                kind: told.kind,
                attributes,
                error: told.error.clone(),
                ..child("deliver", told.deliver_id, delivered)
            });
        }
        spans.push(child("settle", fresh_span(), settled));
        spans
    }
}

/// What the delivery's span is, and whom it is for. Of a URL only its host: the rest may hold a token.
fn target(content: &Content) -> (Kind, Option<(&'static str, String)>) {
    match content {
        Content::Record(record) => {
            (Kind::Producer, Some(("messaging.destination.name", record.topic.clone())))
        }
        Content::Webhook(webhook) => {
            let host = postrider_http::Target::parse(&webhook.url).ok();
            (Kind::Client, host.map(|target| ("postrider.target", target.origin())))
        }
        Content::Mail(_) | Content::Nothing => (Kind::Client, None),
    }
}

fn name(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Delivered(_) => "delivered",
        Outcome::Retryable(_) => "retryable",
        Outcome::Rejected(_) => "rejected",
        Outcome::Skipped(_) => "skipped",
        Outcome::Deferred(_) => "deferred",
        Outcome::Refused(_) => "refused",
        Outcome::Uncertain(_) => "uncertain",
    }
}
