//! The `mail_job` composer (rules N5, N7–N11): composes one notification into one mail to one subscriber.
//!
//! Fields: `notification_id`, `open_event_id`, `subscription_id`, `dedupe`, `created` of the row; `event.*`,
//! `subscription.*`, `section.*`, `course.*` of the tables that the contract joins; `history.sent`,
//! `history.duplicates`, `history.in_flight`, which the contract counts; `clock`, the database's time. One query loads
//! them for all rows of a claim.
//!
//! Each row is checked in a fixed order, so that the same row always gets the same code. Contact type, subscription,
//! preferences, duplicate, recipient: skipped, as no operator can fix them. Schema, template, locale, variable: failed,
//! as an operator must fix them. Snooze and delivery window come last; waiting for them uses no attempt.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use postrider_mail::{Address, LiveTemplates};
use postrider_seams::{ClaimedRow, Composer, Envelope, Outcome};

mod job;
mod links;
mod message;
mod not_composed;
mod preferences;
mod row;
mod schema;
#[cfg(test)]
mod tests;
mod window;

use self::job::{EventSnapshot, JobParts};
use self::not_composed::NotComposed;
use self::preferences::Metadata;
use self::row::NotificationRow;
use crate::email;
use crate::email::compose::ComposedMail;

pub use chrono_tz::Tz as Zone;
pub use links::UrlPattern;
pub use schema::{SCHEMA, VERSION, validate_job};

/// Shortest lock TTL that the schema allows.
pub const MIN_LOCK_TTL: Duration = Duration::from_secs(30);
/// Largest number of entries in a job's retry schedule.
pub const MAX_RETRY_ENTRIES: u32 = 100;
/// Time that a row waits while another row with the same key and subscription is being sent.
const DUPLICATE_WAIT: Duration = Duration::from_secs(5);
/// Rows composed before yielding to other tasks.
const YIELD_EVERY: usize = 16;

/// The settings of one lane's notifications.
#[derive(Debug)]
pub struct Settings {
    /// Sender, bounces, signers and limits, as for the `email` composer.
    pub mail: Arc<email::Settings>,
    pub templates: LiveTemplates,
    /// Locale of subscriptions that name none.
    pub locale: String,
    /// Time zone of delivery windows.
    pub zone: Tz,
    pub manage_url: UrlPattern,
    pub unsubscribe_url: Option<UrlPattern>,
    pub policy: Policy,
    /// Age at which the lane expires a waiting row; no row is deferred beyond it.
    pub expires: Option<Duration>,
}

/// The lane's retry policy, as it is written into the job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    pub max_attempts: u32,
    pub lock_ttl: Duration,
    pub retry_schedule: Vec<Duration>,
}

/// Composes one mail per notification.
#[derive(Debug, Clone)]
pub struct MailJobComposer {
    settings: Arc<Settings>,
    /// Returns Unix milliseconds; used for rows that come without the database's clock.
    now: fn() -> i64,
}

impl MailJobComposer {
    /// Creates a composer that uses the system clock.
    pub fn new(settings: Settings) -> Self {
        Self { settings: Arc::new(settings), now: || postrider_mail::date::now() * 1000 }
    }
}

#[async_trait]
impl Composer for MailJobComposer {
    async fn compose(&self, rows: &[ClaimedRow]) -> Vec<Result<Envelope, Outcome>> {
        let mut composed = Vec::with_capacity(rows.len());
        for rows in rows.chunks(YIELD_EVERY) {
            let one = |row| compose(&self.settings, row, self.now).map_err(NotComposed::into_outcome);
            composed.extend(rows.iter().map(one));
            tokio::task::yield_now().await;
        }
        if !self.settings.mail.signers.is_empty() {
            composed = email::sign::sign(&self.settings.mail, composed).await;
        }
        composed.into_iter().map(|composed| composed.map(ComposedMail::into_envelope)).collect()
    }

    fn size_limit(&self) -> u64 {
        self.settings.mail.size_limit
    }

    async fn recipients(&self, rows: &[&ClaimedRow]) -> Vec<Vec<String>> {
        let one = |row: &&ClaimedRow| {
            let contact = row.fields.as_ref()?.get("subscription.contact_value").as_text()?.to_owned();
            Some(Address::parse(&contact).ok()?.as_str().to_owned())
        };
        rows.iter().map(|row| one(row).into_iter().collect()).collect()
    }
}

fn compose(settings: &Settings, claimed: &ClaimedRow, now: fn() -> i64) -> Result<ComposedMail, NotComposed> {
    let fields =
        claimed.fields.as_ref().ok_or_else(|| NotComposed::invalid("the row's fields were not loaded"))?;
    let row = NotificationRow::read(fields)?;
    let now = row.clock().unwrap_or_else(now);
    let now = DateTime::<Utc>::from_timestamp_millis(now)
        .ok_or_else(|| NotComposed::invalid("the database's time is out of range"))?;

    check_subscription(&row)?;
    let metadata = Metadata::parse(row.text("subscription.metadata").as_deref());
    check_preferences(&row, metadata.as_ref().ok())?;
    check_duplicate(&row)?;
    let contact = row.text("subscription.contact_value").unwrap_or_default();
    let recipient = Address::parse(&contact)
        .map_err(|error| NotComposed::skip(not_composed::INVALID_RECIPIENT, error.to_string()))?;

    let metadata = metadata.map_err(NotComposed::invalid)?;
    let snapshot =
        EventSnapshot::parse(row.text("event.payload").as_deref()).map_err(NotComposed::invalid)?;
    if row.all_null(&["event.term_id", "event.index_number", "event.status_after", "event.event_at"]) {
        return Err(NotComposed::invalid(format!("there is no open event {}", row.open_event)));
    }
    if settings.manage_url.needs_token() && row.non_blank("subscription.unsubscribe_token").is_none() {
        let id = row.subscription;
        let missing =
            format!("subscription {id} has no unsubscribe_token, which mail.manage_url needs for {{token}}");
        return Err(NotComposed::invalid(missing));
    }
    let parts = JobParts { row: &row, snapshot: &snapshot, metadata: &metadata, recipient: &recipient };
    let job = validate_job(job::build(settings, &parts)).map_err(NotComposed::invalid)?;
    if let Some(out_of_range) = metadata.out_of_range() {
        return Err(NotComposed::invalid(out_of_range));
    }

    let input = message::MessageInput {
        claimed,
        row: &row,
        job: &job,
        recipient: recipient.clone(),
        now: now.timestamp(),
    };
    let composed = message::compose(settings, input)?;
    match metadata.not_before(now, settings.zone) {
        Some(until) => Err(wait(settings, &row, now, until)),
        None => Ok(composed),
    }
}

/// Checks the contact type, then the subscription's status.
fn check_subscription(row: &NotificationRow<'_>) -> Result<(), NotComposed> {
    if row.all_null(&["subscription.status", "subscription.contact_type", "subscription.contact_value"]) {
        let gone = format!("there is no subscription {}", row.subscription);
        return Err(NotComposed::skip(not_composed::SUBSCRIPTION_MISSING, gone));
    }
    let contact = row.text("subscription.contact_type").unwrap_or_default();
    if contact != "email" {
        let message = format!("the contact type is {contact:?}, not \"email\"");
        return Err(NotComposed::skip(not_composed::UNSUPPORTED_CONTACT, message));
    }
    let status = row.text("subscription.status").unwrap_or_default();
    match status.as_ref() {
        "active" => Ok(()),
        "unsubscribed" => {
            Err(NotComposed::skip(not_composed::UNSUBSCRIBED, "the subscriber has unsubscribed"))
        }
        other => {
            let message = format!("the subscription is {other:?}, not \"active\"");
            Err(NotComposed::skip(not_composed::SUBSCRIPTION_INACTIVE, message))
        }
    }
}

/// Checks the subscriber's preferences. Invalid ones pass here; the schema rejects them later in the order.
fn check_preferences(row: &NotificationRow<'_>, metadata: Option<&Metadata>) -> Result<(), NotComposed> {
    let Some(metadata) = metadata else { return Ok(()) };
    if let Some(status) = row.text("event.status_after").filter(|status| !metadata.wants(status)) {
        let message = format!("the subscriber is not subscribed to status {status:?}");
        return Err(NotComposed::skip(not_composed::NOTIFY_ON, message));
    }
    let sent = row.count("history.sent");
    if let Some(most) = metadata.max_notifications().filter(|most| *most >= 0 && sent >= *most) {
        let message = format!("{sent} mails were sent, and the subscriber wants at most {most}");
        return Err(NotComposed::skip(not_composed::MAX_NOTIFICATIONS, message));
    }
    Ok(())
}

/// Checks that no row with the same key and subscription was sent within the window or is being sent (rule N8).
fn check_duplicate(row: &NotificationRow<'_>) -> Result<(), NotComposed> {
    if row.count("history.duplicates") > 0 {
        let message = "a mail with this dedupe key went to this subscription within the window";
        return Err(NotComposed::skip(not_composed::DUPLICATE, message));
    }
    if row.count("history.in_flight") > 0 {
        let message = "another row with this dedupe key and subscription is being sent".to_owned();
        return Err(NotComposed::Wait { after: DUPLICATE_WAIT, message });
    }
    Ok(())
}

/// Defers a row without using an attempt, but never beyond the time at which the row expires.
fn wait(
    settings: &Settings,
    row: &NotificationRow<'_>,
    now: DateTime<Utc>,
    until: DateTime<Utc>,
) -> NotComposed {
    let age = row.seconds("created").and_then(|created| u64::try_from(now.timestamp() - created).ok());
    let left =
        age.zip(settings.expires).map(|(age, expires)| expires.saturating_sub(Duration::from_secs(age)));
    let after = (until - now).to_std().unwrap_or_default();
    let after = left.map_or(after, |left| after.min(left));
    NotComposed::Wait {
        after,
        message: format!(
            "deferred until {}: snoozed, or outside the subscriber's delivery window",
            until.to_rfc3339()
        ),
    }
}
