//! Builds the job: the joined columns in the form of the specification's schema (rules N7, N9).

use chrono::DateTime;
use postrider_mail::Address;
use serde_json::{Map, Value, json};

use super::Settings;
use super::links::Placeholders;
use super::preferences::Metadata;
use super::row::NotificationRow;
use super::schema::VERSION;

/// The content of `open_events.payload`: the data as it was when the open seat was detected.
#[derive(Debug, Default)]
pub struct EventSnapshot(Map<String, Value>);

impl EventSnapshot {
    /// Parses the snapshot; no text gives an empty one. The error describes what is invalid.
    pub fn parse(text: Option<&str>) -> Result<Self, String> {
        match text.filter(|text| !text.trim().is_empty()).map(serde_json::from_str) {
            None | Some(Ok(Value::Null)) => Ok(Self::default()),
            Some(Ok(Value::Object(object))) => Ok(Self(object)),
            Some(Ok(_)) => Err("open event payload: must be a JSON object".to_owned()),
            Some(Err(error)) => Err(format!("open event payload: invalid JSON: {error}")),
        }
    }

    /// Returns a member that is present and not null; numbers become text where the schema requires text.
    fn get(&self, key: &str) -> Option<Value> {
        match self.0.get(key)? {
            Value::Null => None,
            Value::Number(number) => Some(Value::String(number.to_string())),
            other => Some(other.clone()),
        }
    }
}

/// A JSON object that leaves out members without a value.
#[derive(Default)]
struct Object(Map<String, Value>);

impl Object {
    fn put(&mut self, key: &str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.0.insert(key.to_owned(), value.into());
        }
    }

    fn put_text(&mut self, key: &str, text: Option<impl Into<String>>) {
        self.put(key, text.map(|text| Value::String(text.into())));
    }
}

/// The parts from which a job is built.
pub struct JobParts<'a> {
    pub row: &'a NotificationRow<'a>,
    pub snapshot: &'a EventSnapshot,
    pub metadata: &'a Metadata,
    pub recipient: &'a Address,
}

/// Builds the job in the version that we emit. Missing members are left out; the schema check reports them.
pub fn build(settings: &Settings, parts: &JobParts<'_>) -> Value {
    let JobParts { row, snapshot, metadata, recipient } = *parts;
    let links = links(settings, row);
    let mut job = Object::default();
    job.put("version", Some(snapshot.0.get("version").cloned().unwrap_or_else(|| VERSION.into())));
    job.put("notificationId", Some(row.notification));
    job.put("openEventId", Some(row.open_event));
    job.put("subscriptionId", Some(row.subscription));
    job.put_text("dedupeKey", Some(row.dedupe.clone()));
    job.put_text("traceId", row.non_blank("event.trace_id"));
    job.put_text("locale", Some(locale(settings, row, metadata)));
    job.put("recipient", Some(to(recipient, metadata)));
    job.put("template", Some(template(settings, parts, &links)));
    job.put("event", Some(event(row, snapshot)));
    job.put("subscription", Some(subscription(row, metadata, recipient)));
    job.put("links", Some(Value::Object(links)));
    job.put("deliveryPolicy", Some(settings.policy.to_json()));
    Value::Object(job.0)
}

fn locale(settings: &Settings, row: &NotificationRow<'_>, metadata: &Metadata) -> String {
    let own = row.non_blank("subscription.locale").map(|locale| locale.trim().to_owned());
    own.or_else(|| metadata.locale.clone()).unwrap_or_else(|| settings.locale.clone())
}

fn to(recipient: &Address, metadata: &Metadata) -> Value {
    let mut to = Object::default();
    to.put_text("email", Some(recipient.as_str()));
    to.put_text("name", metadata.name.clone());
    Value::Object(to.0)
}

fn links(settings: &Settings, row: &NotificationRow<'_>) -> Map<String, Value> {
    let token = row.non_blank("subscription.unsubscribe_token");
    let placeholders = Placeholders { subscription: row.subscription, token: token.as_deref() };
    let mut links = Object::default();
    links.put_text("manageUrl", settings.manage_url.fill(&placeholders));
    let unsubscribe = settings.unsubscribe_url.as_ref().and_then(|pattern| pattern.fill(&placeholders));
    links.put_text("unsubscribeUrl", unsubscribe);
    links.0
}

/// Builds the template. The producer may name another version and add variables, but cannot replace the links.
fn template(settings: &Settings, parts: &JobParts<'_>, links: &Map<String, Value>) -> Value {
    let given = parts.snapshot.0.get("template").filter(|given| !given.is_null());
    let mut template = match given {
        None => Map::new(),
        Some(Value::Object(template)) => template.clone(),
        Some(other) => return other.clone(),
    };
    template.entry("id").or_insert_with(|| "open-seat".into());
    template.entry("version").or_insert_with(|| "v1".into());
    let own = template.remove("variables").filter(|own| !own.is_null());
    let variables = match own {
        None => variables(settings, parts, &Map::new(), links),
        Some(Value::Object(own)) => variables(settings, parts, &own, links),
        Some(other) => other,
    };
    template.insert("variables".to_owned(), variables);
    Value::Object(template)
}

fn variables(
    settings: &Settings,
    parts: &JobParts<'_>,
    own: &Map<String, Value>,
    links: &Map<String, Value>,
) -> Value {
    let JobParts { row, snapshot, .. } = parts;
    let known = |key: &str, column: &str| snapshot.get(key).or_else(|| row.non_blank(column).map(Into::into));
    let detected = row.rfc3339("event.event_at");
    let mut all = Object::default();
    all.put("courseTitle", known("courseTitle", "course.title"));
    all.put("courseString", known("courseString", "course.course_string"));
    all.put_text("sectionIndex", row.non_blank("event.index_number"));
    all.put("sectionNumber", known("sectionNumber", "section.section_number"));
    all.put("meetingSummary", known("meetingSummary", "section.meeting_summary"));
    all.put("campus", known("campus", "event.campus_code"));
    all.put_text("eventDetectedAt", detected.clone());
    all.put_text("eventDetectedLocal", detected.and_then(|detected| local(settings, &detected)));
    all.put("notes", snapshot.get("notes"));
    all.0.extend(own.iter().map(|(key, value)| (key.clone(), value.clone())));
    for link in ["manageUrl", "unsubscribeUrl"] {
        all.0.remove(link);
        all.put(link, links.get(link).cloned());
    }
    Value::Object(all.0)
}

/// Formats a time for readers, in the lane's time zone.
fn local(settings: &Settings, moment: &str) -> Option<String> {
    let moment = DateTime::parse_from_rfc3339(moment).ok()?;
    Some(moment.with_timezone(&settings.zone).format("%Y-%m-%d %H:%M %Z").to_string())
}

/// Builds the event. Ids and codes come from the event's row; hash, title and number come from the snapshot, so that a
/// later change of a course does not change the mail.
fn event(row: &NotificationRow<'_>, snapshot: &EventSnapshot) -> Value {
    let mut event = Object::default();
    event.put("sectionId", row.integer("event.section_id"));
    event.put_text("termId", row.text("event.term_id"));
    event.put_text("campusCode", row.text("event.campus_code"));
    event.put_text("indexNumber", row.text("event.index_number"));
    event.put("sectionNumber", snapshot.get("sectionNumber"));
    event.put_text("subjectCode", row.non_blank("section.subject_code"));
    event.put("courseTitle", snapshot.get("courseTitle"));
    event.put_text("statusBefore", row.text("event.status_before"));
    event.put_text("statusAfter", row.text("event.status_after"));
    event.put_text("eventAt", row.rfc3339("event.event_at"));
    event.put_text("detectedBy", row.text("event.detected_by"));
    event.put("snapshotHash", snapshot.get("snapshotHash"));
    Value::Object(event.0)
}

fn subscription(row: &NotificationRow<'_>, metadata: &Metadata, recipient: &Address) -> Value {
    let mut subscription = Object::default();
    subscription.put_text("status", row.text("subscription.status"));
    subscription.put_text("contactType", row.text("subscription.contact_type"));
    subscription.put_text("contactValue", Some(recipient.as_str()));
    subscription.put_text("contactHash", row.text("subscription.contact_hash"));
    subscription.put_text("lastKnownSectionStatus", row.text("subscription.last_known_section_status"));
    subscription.put("preferences", metadata.preferences.clone());
    Value::Object(subscription.0)
}

impl super::Policy {
    fn to_json(&self) -> Value {
        json!({
            "maxAttempts": self.max_attempts,
            "lockTtlSeconds": self.lock_ttl.as_secs(),
            "retryScheduleMs": self.retry_schedule.iter().map(|delay| u64::try_from(delay.as_millis()).unwrap_or(u64::MAX)).collect::<Vec<_>>(),
        })
    }
}
