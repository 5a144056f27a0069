//! The `webhook` composer (rules J1, J10, J12): composes one row into one HTTP request.
//!
//! Fields: `url`; `payload` (text, JSON or binary); `content_type`; `data_only` (send the payload unchanged instead of
//! in a CloudEvents envelope); `headers` (a JSON object); `timeout` (seconds); `account` (whose credentials are used),
//! `client`, `subscription`; `dedupe` (a stable id; default: the row's id); for the envelope `code`, `source`,
//! `subject`, `event`, `correlation` and `time`.
//!
//! Invariant: a request whose row names an account carries all of its credentials, or the row waits. Only rows that
//! name no account are sent unsigned, and they are marked as such.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use postrider_seams::recheck::Recheck;
use postrider_seams::row::Detail;
use postrider_seams::{
    ClaimedRow, ClockOffset, Composer, Content, Envelope, Failure, Fields, Outcome, Secrets, Value, Webhook,
};
use tokio::time::Instant;

mod batched_lookups;
mod credentials;
mod directory;
mod event;
mod fields;
mod headers;
mod reason;
mod recheck;
#[cfg(test)]
mod tests;

use batched_lookups::BatchedLookups;
pub use directory::{
    Account, Auth, Directory, DirectoryUnavailable, LookupRequest, LookupResult, NoDirectory, Subscription,
};
pub use headers::check as check_header;
pub use reason::Reason;
use recheck::WebhookRecheck;

/// Default payload limit: 1 MiB.
pub const PAYLOAD_LIMIT: u64 = 1024 * 1024;
/// Size limit, in bytes, of the other columns together.
const REST_LIMIT: u64 = 64 * 1024;
/// Delay before a row is retried whose account or secret is unavailable.
const UNAVAILABLE_DELAY: Duration = Duration::from_secs(30);

/// Composes one webhook per row.
#[derive(Clone)]
pub struct WebhookComposer {
    lookups: Arc<BatchedLookups>,
    clock: Arc<ClockOffset>,
    secrets: Arc<dyn Secrets>,
    payload_limit: u64,
    follows_retry_after: bool,
}

impl WebhookComposer {
    /// Creates a composer with the default payload limit that dates signatures by the system clock.
    pub fn new(directory: Arc<dyn Directory>, secrets: Arc<dyn Secrets>) -> Self {
        let lookups = Arc::new(BatchedLookups::new(directory));
        Self {
            lookups,
            clock: Arc::default(),
            secrets,
            payload_limit: PAYLOAD_LIMIT,
            follows_retry_after: true,
        }
    }

    /// Dates signatures by this clock instead of the system clock.
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<ClockOffset>) -> Self {
        self.clock = clock;
        self
    }

    /// Sets the largest payload in bytes.
    #[must_use]
    pub fn with_payload_limit(mut self, bytes: u64) -> Self {
        self.payload_limit = bytes;
        self
    }

    /// Sets whether a Retry-After of the receivers counts; it does by default.
    #[must_use]
    pub fn with_retry_after(mut self, follows: bool) -> Self {
        self.follows_retry_after = follows;
        self
    }

    async fn compose_one(&self, row: &ClaimedRow) -> Result<Envelope, Outcome> {
        let fields = row.fields.as_ref().ok_or_else(|| rejected(&Reason::NotLoaded))?;
        let id = row.lease.id.to_string();
        let dedupe = fields::text(fields, "dedupe").map_err(|reason| rejected(&reason))?.unwrap_or(id);
        let mut webhook = request(fields, &dedupe, self.payload_limit).map_err(|reason| rejected(&reason))?;
        let account = fields::text(fields, "account").map_err(|reason| rejected(&reason))?;
        let since = Instant::now();
        let found = self.lookups.look_up(account.as_deref(), webhook.subscription.as_deref()).await;
        let found = found.map_err(|DirectoryUnavailable(reason)| deferred(reason))?;
        if let Some(account) = &account {
            let known = found.accounts.get(account);
            let credentials = self.credentials(account, known, webhook.client.as_deref()).await?;
            webhook.authorization = credentials.authorization;
            webhook.signing = credentials.signing;
            webhook.allowed_hosts = known.map(|known| known.hosts.clone());
        }
        if let Some(subscription) = &webhook.subscription {
            let known = found.subscriptions.get(subscription);
            if known.is_some_and(|known| known.paused) {
                return Err(Outcome::Deferred(paused(subscription)));
            }
            webhook.may_postpone = known.is_some_and(|known| known.may_postpone);
        }
        webhook.follows_retry_after = self.follows_retry_after;
        webhook.clock_offset = self.clock.seconds();
        webhook.recheck =
            WebhookRecheck::for_row(&self.lookups, account, webhook.subscription.clone(), &found, since)
                .map(Recheck);
        let detail = Detail::from([("signed".to_owned(), Value::Bool(!webhook.signing.is_empty()))]);
        let attempt = row.counters.attempts.saturating_add(1);
        let content = Content::Webhook(Box::new(webhook));
        Ok(Envelope {
            row: row.lease.id.to_string(),
            dedupe,
            attempt,
            lease: postrider_seams::LeaseCheck::default(),
            content,
            detail,
        })
    }
}

#[async_trait]
impl Composer for WebhookComposer {
    async fn compose(&self, rows: &[ClaimedRow]) -> Vec<Result<Envelope, Outcome>> {
        let mut composed = Vec::with_capacity(rows.len());
        for row in rows {
            composed.push(self.compose_one(row).await);
        }
        composed
    }

    fn size_limit(&self) -> u64 {
        self.payload_limit.saturating_add(REST_LIMIT)
    }
}

/// Builds the request from the row's fields, without credentials.
fn request(fields: &Fields, dedupe: &str, payload_limit: u64) -> Result<Webhook, Reason> {
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
        headers: headers::from_row(fields)?,
        content_type,
        body,
        timeout: fields::seconds(fields, "timeout")?,
        authorization: None,
        signing: Vec::new(),
        may_postpone: false,
        follows_retry_after: true,
        subscription: fields::text(fields, "subscription")?,
        client: fields::text(fields, "client")?,
        allowed_hosts: None,
        clock_offset: 0,
        recheck: None,
    })
}

/// Rejects an invalid row; this counts as an attempt and is recorded like any other.
fn rejected(reason: &Reason) -> Outcome {
    let text = |text: &str| Value::Text(text.to_owned());
    let detail = Detail::from([
        ("result".to_owned(), text("CLIENT_ERROR")),
        ("class".to_owned(), text("PERMANENT")),
        ("duration_ms".to_owned(), Value::Int(0)),
    ]);
    Outcome::Rejected(Failure { detail, ..Failure::new(reason.to_string()) })
}

/// Defers a row because something outside it is unavailable; this uses no attempt.
fn deferred(reason: impl Into<String>) -> Outcome {
    Outcome::Deferred(Failure { after: Some(UNAVAILABLE_DELAY), ..Failure::new(reason) })
}

fn paused(subscription: &str) -> Failure {
    Failure {
        after: Some(UNAVAILABLE_DELAY),
        ..Failure::new(format!("subscription {subscription} is paused"))
    }
}
