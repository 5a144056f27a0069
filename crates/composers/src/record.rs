//! The `record` composer (rule O9): one row is one record for a broker.
//!
//! Fields: `topic`; `key` (text or a whole number; rows of one key stay in order); `payload` (text, JSON or binary,
//! handed on to the byte); `dedupe` (a stable key; else the row's id is it); `traceparent`; `headers.NAME` (one column
//! each) and `headers` (a JSON object); for CloudEvents also `type`, `subject` and `time`.
//!
//! Headers that every record has: `id` (the row's), `idempotency-key`, `attempt`; and `traceparent` where the row has
//! one. A row that can't be composed is rejected with a reason that names the field; the rows beside it go on.

use std::sync::Arc;

use async_trait::async_trait;
use postrider_seams::{Claimed, Composer, Content, Envelope, Failure, Outcome, Record, row::Detail};

mod events;
mod fields;
mod headers;
mod letters;
mod reason;
#[cfg(test)]
mod tests;

pub use events::CloudEvents;
pub use letters::DeadLetters;
pub use reason::Reason;

/// What brokers take unless told otherwise: Kafka's own limit is a little over, SQS's and NATS's are the same.
pub const PAYLOAD_LIMIT: u64 = 1024 * 1024;
/// Room for the columns beside the payload.
const REST_LIMIT: u64 = 64 * 1024;
/// A queue's URL is the longest thing that a topic can be.
const TOPIC_LIMIT: usize = 1024;
const KEY_LIMIT: usize = 16 * 1024;
/// Rows between two points where other tasks get their turn.
const TURN: usize = 128;

/// How records are composed for one lane.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Bytes of a payload.
    pub payload_limit: u64,
    /// Headers of CloudEvents 1.0 in binary mode beside the usual ones.
    pub cloud_events: Option<CloudEvents>,
    /// Where records that end undelivered are told of.
    pub dead_letters: Option<DeadLetters>,
}

impl Default for Settings {
    fn default() -> Self {
        Self { payload_limit: PAYLOAD_LIMIT, cloud_events: None, dead_letters: None }
    }
}

/// Composes records.
#[derive(Debug, Clone)]
pub struct RecordComposer {
    settings: Arc<Settings>,
}

impl RecordComposer {
    pub fn new(settings: Settings) -> Self {
        Self { settings: Arc::new(settings) }
    }
}

#[async_trait]
impl Composer for RecordComposer {
    async fn compose(&self, rows: &[Claimed]) -> Vec<Result<Envelope, Outcome>> {
        let mut composed = Vec::with_capacity(rows.len());
        for rows in rows.chunks(TURN) {
            composed.extend(rows.iter().map(|row| {
                compose(&self.settings, row)
                    .map_err(|reason| Outcome::Rejected(Failure::new(reason.to_string())))
            }));
            tokio::task::yield_now().await;
        }
        composed
    }

    fn size_limit(&self) -> u64 {
        self.settings.payload_limit.saturating_add(REST_LIMIT)
    }

    fn dead_letter(&self, envelope: &Envelope, reason: &str) -> Option<Envelope> {
        self.settings.dead_letters.as_ref()?.write(envelope, reason)
    }
}

fn compose(settings: &Settings, row: &Claimed) -> Result<Envelope, Reason> {
    let fields = row.fields.as_ref().ok_or(Reason::NotLoaded)?;
    let id = row.lease.id.to_string();
    let attempt = row.counters.attempts.saturating_add(1);
    let topic = fields::topic(fields)?;
    let key = fields::key(fields, "key", KEY_LIMIT)?;
    let payload = fields::payload(fields, settings.payload_limit)?;
    let dedupe = fields::key(fields, "dedupe", KEY_LIMIT)?.unwrap_or_else(|| id.clone());
    let mut headers = headers::of_the_row(fields)?;
    if let Some(events) = &settings.cloud_events {
        events.describe(fields, &topic, key.as_deref(), &dedupe, &mut headers)?;
    }
    headers::set(&mut headers, "id", &id);
    headers::set(&mut headers, "idempotency-key", &dedupe);
    headers::set(&mut headers, "attempt", &attempt.to_string());
    let record = Record { topic, key, payload, headers };
    Ok(Envelope {
        row: id,
        dedupe,
        attempt,
        lease: postrider_seams::LeaseCheck::default(),
        content: Content::Record(record),
        detail: Detail::new(),
    })
}
