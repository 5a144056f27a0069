//! The traces of claimed rows until they are settled, and the spans built from them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use postrider_contract::Transition;
use postrider_seams::store::{LeaseResult, Settlement};
use postrider_seams::{ClaimedRow, Content, Envelope, Outcome};
use tokio::time::Instant;

use super::propagation;
use crate::context::{TraceContext, new_span_id, new_trace_id};
use crate::exporter::Exporter;
use crate::span::{AttributeValue, Span, SpanKind};

/// The start and end of a step.
pub type TimeRange = (Instant, Instant);

/// Age after which a claimed row that was never settled is dropped: another worker has taken it over.
const MAX_AGE: Duration = Duration::from_hours(1);
/// Number of traced rows above which such rows are dropped.
const CLEANUP_THRESHOLD: usize = 10_000;

/// The traces of one lane's claimed rows.
pub struct LaneTraces {
    lane: String,
    contract: String,
    exporter: Arc<Exporter>,
    rows: Mutex<HashMap<String, RowTrace>>,
}

struct RowTrace {
    claimed: TimeRange,
    waited: i64,
    attempt: u32,
    sampled: Option<SampledTrace>,
}

/// The recorded data of a row whose trace is sampled.
struct SampledTrace {
    trace: u128,
    parent: Option<u64>,
    /// Ids of the row's span and of the span of its delivery.
    id: u64,
    deliver_id: u64,
    composed: TimeRange,
    delivered: Option<(TimeRange, &'static str)>,
    error: Option<String>,
    kind: SpanKind,
    target: Option<(&'static str, String)>,
}

impl LaneTraces {
    /// Creates an empty collection for a lane of this contract.
    pub fn new(lane: &str, contract: &str, exporter: Arc<Exporter>) -> Self {
        Self { lane: lane.to_owned(), contract: contract.to_owned(), exporter, rows: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, RowTrace>> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the traces of newly claimed rows.
    pub fn claimed(&self, rows: &[ClaimedRow], claimed: TimeRange) {
        if rows.is_empty() {
            return;
        }
        let mut traces = self.lock();
        if traces.len() > CLEANUP_THRESHOLD {
            traces.retain(|_, trace| trace.claimed.1 + MAX_AGE > claimed.1);
        }
        for row in rows {
            let trace = RowTrace {
                claimed,
                waited: row.waited_micros,
                attempt: row.counters.attempts.saturating_add(1),
                sampled: None,
            };
            traces.insert(row.lease.id.to_string(), trace);
        }
    }

    /// Decides whether the row is sampled; if so, writes the trace context into its envelope.
    pub fn composed(
        &self,
        row: &ClaimedRow,
        composition: &mut Result<Envelope, Outcome>,
        composed: TimeRange,
    ) {
        let from_message =
            composition.as_ref().ok().and_then(|envelope| propagation::from_content(&envelope.content));
        let parent = from_message.or_else(|| propagation::from_row(row));
        let is_sampled =
            parent.map_or_else(|| rand::random::<f64>() < self.exporter.ratio, |parent| parent.sampled);
        if !is_sampled {
            return;
        }
        let mut sampled = SampledTrace {
            trace: parent.map_or_else(new_trace_id, |parent| parent.trace),
            parent: parent.map(|parent| parent.span),
            id: new_span_id(),
            deliver_id: new_span_id(),
            composed,
            delivered: None,
            error: None,
            kind: SpanKind::Client,
            target: None,
        };
        match composition {
            Ok(envelope) => {
                (sampled.kind, sampled.target) = target(&envelope.content);
                let context = TraceContext { trace: sampled.trace, span: sampled.deliver_id, sampled: true };
                propagation::inject(&mut envelope.content, &context);
            }
            Err(outcome) => sampled.error = outcome.failure().map(|failure| failure.reason.clone()),
        }
        if let Some(trace) = self.lock().get_mut(&row.lease.id.to_string()) {
            trace.sampled = Some(sampled);
        }
    }

    /// Records the outcomes of a delivery for the rows that are sampled.
    pub fn delivered(&self, envelopes: &[Envelope], outcomes: &[Outcome], delivered: TimeRange) {
        let mut traces = self.lock();
        for (envelope, outcome) in envelopes.iter().zip(outcomes) {
            let Some(sampled) = traces.get_mut(&envelope.row).and_then(|trace| trace.sampled.as_mut()) else {
                continue;
            };
            sampled.delivered = Some((delivered, outcome_name(outcome)));
            sampled.error = outcome.failure().map(|failure| failure.reason.clone());
        }
    }

    /// Ends the traces of settled rows and exports their spans.
    pub fn settled(&self, moves: &[Settlement], results: &[LeaseResult], settled: TimeRange) {
        let mut spans = Vec::new();
        {
            let mut traces = self.lock();
            for (settlement, result) in moves.iter().zip(results) {
                for lease in &settlement.releases {
                    traces.remove(&lease.id.to_string());
                }
                // The engine settles the row again.
                if *result == LeaseResult::Refused {
                    continue;
                }
                let id = settlement.lease.id.to_string();
                let Some(trace) = traces.remove(&id) else { continue };
                let Some(sampled) = &trace.sampled else { continue };
                spans.extend(self.spans(&id, &trace, sampled, (settlement.transition, *result), settled));
            }
        }
        if !spans.is_empty() {
            self.exporter.queue(spans);
        }
    }

    fn spans(
        &self,
        row: &str,
        trace: &RowTrace,
        sampled: &SampledTrace,
        (transition, held): (Transition, LeaseResult),
        settled: TimeRange,
    ) -> Vec<Span> {
        let text = |text: &str| AttributeValue::Text(text.to_owned());
        let child = |name: &str, id: u64, (start, end): TimeRange| Span {
            trace: sampled.trace,
            id,
            parent: Some(sampled.id),
            name: name.to_owned(),
            kind: SpanKind::Internal,
            start,
            end,
            attributes: Vec::new(),
            error: None,
        };
        let row_span = Span {
            parent: sampled.parent,
            kind: SpanKind::Consumer,
            attributes: vec![
                ("postrider.lane", text(&self.lane)),
                ("postrider.contract", text(&self.contract)),
                ("postrider.row", text(row)),
                ("postrider.attempt", AttributeValue::Int(trace.attempt.into())),
                (
                    "postrider.transition",
                    text(if held == LeaseResult::Held { transition.name() } else { "lost" }),
                ),
                ("postrider.waited_ms", AttributeValue::Int(trace.waited / 1000)),
            ],
            error: sampled.error.clone(),
            ..child(&format!("postrider {}", self.lane), sampled.id, (trace.claimed.0, settled.1))
        };
        let mut spans = vec![
            row_span,
            child("claim", new_span_id(), trace.claimed),
            child("compose", new_span_id(), sampled.composed),
        ];
        if let Some((delivered, outcome)) = sampled.delivered {
            let mut attributes = vec![("postrider.outcome", text(outcome))];
            attributes.extend(sampled.target.as_ref().map(|(name, value)| (*name, text(value))));
            spans.push(Span {
                kind: sampled.kind,
                attributes,
                error: sampled.error.clone(),
                ..child("deliver", sampled.deliver_id, delivered)
            });
        }
        spans.push(child("settle", new_span_id(), settled));
        spans
    }
}

/// Returns the kind of the delivery's span, and its target attribute. Of a URL only the origin, because the rest may
/// contain a token.
fn target(content: &Content) -> (SpanKind, Option<(&'static str, String)>) {
    match content {
        Content::Record(record) => {
            (SpanKind::Producer, Some(("messaging.destination.name", record.topic.clone())))
        }
        Content::Webhook(webhook) => {
            let host = postrider_http::Target::parse(&webhook.url).ok();
            (SpanKind::Client, host.map(|target| ("postrider.target", target.origin())))
        }
        Content::Mail(_) | Content::Nothing => (SpanKind::Client, None),
    }
}

fn outcome_name(outcome: &Outcome) -> &'static str {
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
