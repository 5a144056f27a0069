use std::collections::BTreeMap;

use mail_parser::MessageParser;
use postrider_mail::address::parse_mailbox;
use postrider_seams::{Content, Fields, Lease, Mail, RowId, Value};
use serde_json::json;

use super::*;

mod bad_input;
mod eligibility;
mod mail;
mod versions;

/// 2026-11-16T12:00:00Z.
const NOW: i64 = 1_794_830_400_000;

pub fn text(text: impl Into<String>) -> Value {
    Value::Text(text.into())
}

/// A complete row, as the SQL stores return it: text, except for counts.
fn complete() -> BTreeMap<&'static str, Value> {
    BTreeMap::from([
        ("notification_id", text("7")),
        ("open_event_id", text("31")),
        ("subscription_id", text("52")),
        ("dedupe", text("sha:abc")),
        ("created", text("2026-11-16T11:59:00.000Z")),
        ("clock", Value::Int(NOW)),
        ("event.section_id", text("9")),
        ("event.term_id", text("2026F")),
        ("event.campus_code", text("NB")),
        ("event.index_number", text("07214")),
        ("event.status_before", text("Closed")),
        ("event.status_after", text("Open")),
        ("event.event_at", text("2026-11-16 11:58:30")),
        ("event.detected_by", text("poller")),
        ("event.trace_id", text("trace-1")),
        ("event.payload", text(r#"{"snapshotHash":"h1","courseTitle":"Algorithms","sectionNumber":"03"}"#)),
        ("subscription.status", text("active")),
        ("subscription.contact_type", text("email")),
        ("subscription.contact_value", text("ann@example.net")),
        ("subscription.contact_hash", text("ch")),
        ("subscription.locale", text("en-US")),
        ("subscription.unsubscribe_token", text("t0k")),
        ("section.section_number", text("99")),
        ("section.subject_code", text("198")),
        ("section.meeting_summary", text("Mon 10:20")),
        ("course.title", text("Renamed since")),
        ("course.course_string", text("01:198:344")),
    ])
}

pub fn row(changes: &[(&'static str, Value)]) -> ClaimedRow {
    let mut fields = complete();
    fields.extend(changes.iter().cloned());
    let (names, values): (Vec<String>, Vec<Value>) =
        fields.into_iter().map(|(name, value)| (name.to_owned(), value)).unzip();
    ClaimedRow {
        lease: Lease { id: RowId::Int(7), fence: Box::default() },
        counters: postrider_contract::Counters::default(),
        from: None,
        group: None,
        pool: None,
        share: None,
        crashes: 0,
        since_crash: 0,
        waited_micros: 0,
        size: 100,
        fields: Some(Fields::new(names.into(), values)),
    }
}

pub fn settings() -> Settings {
    let mut mail = email::Settings::new("notify");
    mail.from = Some(parse_mailbox("Seats <seats@example.org>").unwrap());
    Settings {
        mail: Arc::new(mail),
        templates: LiveTemplates::open(None, "en-US").unwrap(),
        locale: "en-US".to_owned(),
        zone: Tz::UTC,
        manage_url: UrlPattern::parse("https://seats.example/s/{subscription_id}").unwrap(),
        unsubscribe_url: Some(UrlPattern::parse("https://seats.example/u?t={token}").unwrap()),
        policy: Policy {
            max_attempts: 3,
            lock_ttl: Duration::from_mins(2),
            retry_schedule: [0, 2000, 7000].map(Duration::from_millis).to_vec(),
        },
        expires: Some(Duration::from_hours(24)),
    }
}

pub async fn compose_with(
    settings: Settings,
    changes: &[(&'static str, Value)],
) -> Result<Envelope, Outcome> {
    MailJobComposer::new(settings).compose(&[row(changes)]).await.remove(0)
}

pub async fn compose(changes: &[(&'static str, Value)]) -> Result<Envelope, Outcome> {
    compose_with(settings(), changes).await
}

/// `skipped duplicate`, `failed validation_error: …`, `deferred 3600`, or `mail`.
pub async fn outcome(changes: &[(&'static str, Value)]) -> String {
    summary(compose(changes).await)
}

pub fn summary(composed: Result<Envelope, Outcome>) -> String {
    let code = |failure: &postrider_seams::Failure| {
        assert_eq!(failure.detail["message"].as_text(), Some(failure.reason.as_str()));
        failure.detail["code"].as_text().unwrap().to_owned()
    };
    match composed {
        Ok(_) => "mail".to_owned(),
        Err(Outcome::Skipped(failure)) => format!("skipped {}", code(&failure)),
        Err(Outcome::Rejected(failure)) => format!("failed {}: {}", code(&failure), failure.reason),
        Err(Outcome::Deferred(failure)) => format!("deferred {}", failure.after.unwrap().as_secs()),
        other => panic!("{other:?}"),
    }
}

pub fn mail(envelope: &Envelope) -> &Mail {
    match &envelope.content {
        Content::Mail(mail) => mail,
        other => panic!("{other:?}"),
    }
}
