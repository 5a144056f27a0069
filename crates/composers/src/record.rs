//! The `record` composer (rule O9): composes one row into one record for a broker.
//!
//! Fields: `topic`; `key` (text or an integer; rows with the same key stay in order); `payload` (text, JSON or binary,
//! sent byte for byte); `dedupe` (a stable key; default: the row's id); `traceparent`; `headers.NAME` (one column each)
//! and `headers` (a JSON object); for CloudEvents also `type`, `subject` and `time`.
//!
//! Headers of every record: `id` (the row's), `idempotency-key`, `attempt`; and `traceparent` if the row has one. A row
//! that cannot be composed is rejected with a reason that names the field; the other rows are not affected.

use std::sync::Arc;

use async_trait::async_trait;
use postrider_seams::{ClaimedRow, Composer, Content, Envelope, Failure, Outcome, Record, row::Detail};

mod cloud_events;
mod dead_letters;
mod fields;
mod headers;
mod reason;
#[cfg(test)]
mod tests;

pub use cloud_events::CloudEvents;
pub use dead_letters::DeadLetters;
pub use reason::Reason;

/// Default payload limit: 1 MiB, the default of SQS and NATS and slightly below Kafka's.
pub const PAYLOAD_LIMIT: u64 = 1024 * 1024;
/// Size limit, in bytes, of the other columns together.
const REST_LIMIT: u64 = 64 * 1024;
/// Longest topic, in bytes: a queue URL is the longest kind of topic.
const TOPIC_LIMIT: usize = 1024;
const KEY_LIMIT: usize = 16 * 1024;
/// Rows composed before yielding to other tasks.
const YIELD_EVERY: usize = 128;

/// The settings of one lane's records.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Largest payload in bytes.
    pub payload_limit: u64,
    /// Adds the headers of CloudEvents 1.0 in binary mode.
    pub cloud_events: Option<CloudEvents>,
    /// Topic of dead letters; `None` if undelivered records produce none.
    pub dead_letters: Option<DeadLetters>,
}

impl Default for Settings {
    fn default() -> Self {
        Self { payload_limit: PAYLOAD_LIMIT, cloud_events: None, dead_letters: None }
    }
}

/// Composes one record per row.
#[derive(Debug, Clone)]
pub struct RecordComposer {
    settings: Arc<Settings>,
}

impl RecordComposer {
    /// Creates a composer with these settings.
    pub fn new(settings: Settings) -> Self {
        Self { settings: Arc::new(settings) }
    }
}

#[async_trait]
impl Composer for RecordComposer {
    async fn compose(&self, rows: &[ClaimedRow]) -> Vec<Result<Envelope, Outcome>> {
        let mut composed = Vec::with_capacity(rows.len());
        for rows in rows.chunks(YIELD_EVERY) {
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
        self.settings.dead_letters.as_ref()?.dead_letter(envelope, reason)
    }
}

fn compose(settings: &Settings, row: &ClaimedRow) -> Result<Envelope, Reason> {
    let fields = row.fields.as_ref().ok_or(Reason::NotLoaded)?;
    let id = row.lease.id.to_string();
    let attempt = row.counters.attempts.saturating_add(1);
    let topic = fields::topic(fields)?;
    let key = fields::key(fields, "key", KEY_LIMIT)?;
    let payload = fields::payload(fields, settings.payload_limit)?;
    let dedupe = fields::key(fields, "dedupe", KEY_LIMIT)?.unwrap_or_else(|| id.clone());
    let mut headers = headers::from_row(fields)?;
    if let Some(events) = &settings.cloud_events {
        events.add_headers(fields, &topic, key.as_deref(), &dedupe, &mut headers)?;
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
