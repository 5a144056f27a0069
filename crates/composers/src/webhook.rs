//! The `webhook` composer (rules J1, J10, J12): one row is one HTTP request.
//!
//! Fields: `url`; `payload` (text, JSON or binary); `content_type`; `data_only` (the payload as it is, or a CloudEvents
//! envelope around it); `headers` (a JSON object); `timeout` (seconds); `account` (whose credentials it carries),
//! `client`, `subscription`; `dedupe` (a stable id; else the row's own); for the envelope `code`, `source`, `subject`,
//! `event`, `correlation` and `time`.
//!
//! Invariant: a row that names an account carries its credentials, all of them, or waits. Only a row that names none goes
//! unsigned, and is marked so.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use postrider_seams::row::Detail;
use postrider_seams::{
    Claimed, Composer, Content, Envelope, Failure, Fields, Outcome, Secrets, Value, Webhook,
};

mod credentials;
mod directory;
mod event;
mod fields;
mod headers;
mod reason;
#[cfg(test)]
mod tests;

pub use directory::{Account, Auth, Away, Directory, Listed, NoDirectory, Recent, Subscription};
pub use headers::check as check_header;
pub use reason::Reason;

/// Bytes of a payload, unless told otherwise.
pub const PAYLOAD_LIMIT: u64 = 1024 * 1024;
/// Room for the columns beside the payload.
const REST_LIMIT: u64 = 64 * 1024;
/// How long a row waits whose account or secret can't be had.
const WAIT: Duration = Duration::from_secs(30);

/// Composes webhooks.
#[derive(Clone)]
pub struct WebhookComposer {
    directory: Arc<dyn Directory>,
    secrets: Arc<dyn Secrets>,
    payload_limit: u64,
}

impl WebhookComposer {
    pub fn new(directory: Arc<dyn Directory>, secrets: Arc<dyn Secrets>) -> Self {
        Self { directory, secrets, payload_limit: PAYLOAD_LIMIT }
    }

    #[must_use]
    pub fn with_payload_limit(mut self, bytes: u64) -> Self {
        self.payload_limit = bytes;
        self
    }

    async fn one(&self, row: &Claimed) -> Result<Envelope, Outcome> {
        let fields = row.fields.as_ref().ok_or_else(|| rejected(&Reason::NotLoaded))?;
        let id = row.lease.id.to_string();
        let dedupe = fields::text(fields, "dedupe").map_err(|reason| rejected(&reason))?.unwrap_or(id);
        let mut webhook = draft(fields, &dedupe, self.payload_limit).map_err(|reason| rejected(&reason))?;
        if let Some(account) = fields::text(fields, "account").map_err(|reason| rejected(&reason))? {
            let credentials = self.credentials(&account, webhook.client.as_deref()).await?;
            webhook.authorization = credentials.authorization;
            webhook.signing = credentials.signing;
        }
        if let Some(subscription) = &webhook.subscription {
            let known = self.directory.subscription(subscription).await.map_err(|Away(why)| deferred(why))?;
            if known.is_some_and(|subscription| subscription.paused) {
                return Err(deferred(format!("subscription {subscription} is paused")));
            }
            webhook.may_postpone = known.is_some_and(|subscription| subscription.may_postpone);
        }
        let detail = Detail::from([("signed".to_owned(), Value::Bool(!webhook.signing.is_empty()))]);
        let attempt = row.counters.attempts.saturating_add(1);
        let content = Content::Webhook(Box::new(webhook));
        Ok(Envelope { row: row.lease.id.to_string(), dedupe, attempt, content, detail })
    }
}

#[async_trait]
impl Composer for WebhookComposer {
    async fn compose(&self, rows: &[Claimed]) -> Vec<Result<Envelope, Outcome>> {
        let mut composed = Vec::with_capacity(rows.len());
        for row in rows {
            composed.push(self.one(row).await);
        }
        composed
    }

    fn size_limit(&self) -> u64 {
        self.payload_limit.saturating_add(REST_LIMIT)
    }
}

/// Everything that the row itself says.
fn draft(fields: &Fields, dedupe: &str, payload_limit: u64) -> Result<Webhook, Reason> {
    let url = fields::text(fields, "url")?.ok_or(Reason::Missing { field: "url" })?;
    let payload = fields::payload(fields, payload_limit)?;
    let content_type = fields::text(fields, "content_type")?.unwrap_or_else(|| "application/json".to_owned());
    headers::check("content-type", &content_type)?;
    let data_only = fields::flag(fields, "data_only")?.unwrap_or(true);
    let (content_type, body) = if data_only {
        (content_type, payload)
    } else {
        (event::CONTENT_TYPE.to_owned(), event::envelope(fields, dedupe, &content_type, &payload)?)
    };
    Ok(Webhook {
        url,
        headers: headers::of_the_row(fields)?,
        content_type,
        body,
        timeout: fields::seconds(fields, "timeout")?,
        authorization: None,
        signing: Vec::new(),
        may_postpone: false,
        subscription: fields::text(fields, "subscription")?,
        client: fields::text(fields, "client")?,
    })
}

/// The row is at fault: one attempt, on record like any other.
fn rejected(reason: &Reason) -> Outcome {
    let text = |text: &str| Value::Text(text.to_owned());
    let detail = Detail::from([
        ("result".to_owned(), text("CLIENT_ERROR")),
        ("class".to_owned(), text("PERMANENT")),
        ("duration_ms".to_owned(), Value::Int(0)),
    ]);
    Outcome::Rejected(Failure { detail, ..Failure::new(reason.to_string()) })
}

/// Something beside the row is missing: it waits, and it costs nothing.
fn deferred(why: impl Into<String>) -> Outcome {
    Outcome::Deferred(Failure { after: Some(WAIT), ..Failure::new(why) })
}
