//! Describes a recorded attempt in a sentence: the response, the receiver, the duration, and what came next.

use axum::http::StatusCode;
use postrider_hub::Moment;
use postrider_seams::inspect::HistoryEntry;

use super::cut;
use super::timeline::{MAX_TEXT_CHARS, RowContext, TimelineEntry, facts, value};
use crate::overview::span;

/// Fields that the sentence and the response already show.
const SHOWN_ELSEWHERE: [&str; 9] = [
    "id",
    "job_id",
    "attempt_number",
    "status",
    "response_code",
    "response_body",
    "duration_millis",
    "error_message",
    "created_at",
];

pub(super) fn is_attempt(record: &HistoryEntry) -> bool {
    value(record, "attempt_number").is_some()
}

/// Describes an attempt; `next` is the attempt after it.
pub(super) fn attempt(
    context: &RowContext<'_>,
    record: &HistoryEntry,
    next: Option<&HistoryEntry>,
) -> TimelineEntry {
    let number = value(record, "attempt_number").unwrap_or("?");
    let is_good = value(record, "status") == Some("SUCCESS");
    let took = value(record, "duration_millis").map(|millis| format!("{millis} ms"));
    let why = value(record, "error_message").filter(|_| !is_good).map(|why| cut(why, MAX_TEXT_CHARS).0);
    let parts: Vec<String> =
        [took, why, next_step(context, record, next, is_good)].into_iter().flatten().collect();
    TimelineEntry {
        at: record.at.map(Moment::from_micros),
        what: format!("Attempt {number}: {}", result_text(context, record)),
        detail: (!parts.is_empty()).then(|| parts.join(" · ")),
        tone: if is_good { "good" } else { "bad" },
        body: value(record, "response_body").map(|body| cut(body, MAX_TEXT_CHARS).0),
        facts: facts(record, &SHOWN_ELSEWHERE),
    }
}

/// Returns the result, such as `503 Service Unavailable from shop.example`.
fn result_text(context: &RowContext<'_>, record: &HistoryEntry) -> String {
    let host = context.host().unwrap_or("its target");
    if let Some(code) = value(record, "response_code") {
        let known = code.parse::<u16>().ok().and_then(|code| StatusCode::from_u16(code).ok());
        let words = known.and_then(|code| code.canonical_reason()).map(|words| format!(" {words}"));
        return format!("{code}{} from {host}", words.unwrap_or_default());
    }
    match value(record, "status").unwrap_or("unknown") {
        "SUCCESS" => format!("accepted by {host}"),
        "TIMEOUT" => format!("no answer from {host} in time"),
        "CONNECTION_ERROR" if value(record, "error_message") == Some("worker lost") => {
            "it is not known whether it arrived".to_owned()
        }
        "CONNECTION_ERROR" => format!("no connection to {host}"),
        "CLIENT_ERROR" => "not sent: the job is not valid".to_owned(),
        other => other.replace('_', " ").to_lowercase(),
    }
}

/// Returns what came after a failure.
fn next_step(
    context: &RowContext<'_>,
    record: &HistoryEntry,
    next: Option<&HistoryEntry>,
    is_good: bool,
) -> Option<String> {
    if is_good {
        return None;
    }
    if let Some(next) = next {
        // The time of an attempt is that of its end.
        let took: i64 =
            value(next, "duration_millis").and_then(|millis| millis.parse().ok()).unwrap_or(0) * 1000;
        let later = next.at.zip(record.at).map(|(next, at)| next - took - at)?;
        #[expect(clippy::cast_precision_loss, reason = "a span for people")]
        return Some(format!("retried {} later", span(later.max(0) as f64 / 1e6)));
    }
    match (context.role, context.row.due_in) {
        ("ready", Some(left)) if left > 0 => {
            #[expect(clippy::cast_precision_loss, reason = "a span for people")]
            let left = span(left as f64 / 1e6);
            Some(format!("next attempt in {left}"))
        }
        ("ready", _) => Some("next attempt is due now".to_owned()),
        ("failed", _) => Some("not retried".to_owned()),
        _ => None,
    }
}
