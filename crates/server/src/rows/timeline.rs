//! What happened to a row, oldest first: from its own times, and from what moves left beside it.

use postrider_contract::{Contract, Role};
use postrider_hub::Moment;
use postrider_seams::inspect::{Recorded, RowView};
use serde::Serialize;
use utoipa::ToSchema;

use super::cut;
use super::mask::Named;

/// Characters of a response's body, or of any other text.
const SHOWN: usize = 4_000;

#[derive(Debug, Serialize, ToSchema)]
pub struct TimelineEntry {
    pub at: Option<Moment>,
    /// `created`, `claimed`, `attempt 2: HTTP_ERROR`, a state that was reached.
    pub what: String,
    pub detail: Option<String>,
    /// `good`, `bad` or empty.
    pub tone: &'static str,
    /// What was answered.
    pub body: Option<String>,
    /// All that was recorded.
    pub facts: Vec<Named>,
}

pub fn timeline(contract: &Contract, row: &RowView, history: &[Recorded]) -> Vec<TimelineEntry> {
    let mut entries: Vec<TimelineEntry> = history.iter().map(recorded).collect();
    let own = [
        (Role::Created, "created"),
        (Role::ClaimedAt, "claimed"),
        (Role::Attempted, "last attempt ended"),
        (Role::Finished, "finished"),
    ];
    for (role, what) in own {
        // A time that says the same as another (`updated_at` as both) is told once.
        if let Some(at) = row.times.get(&role).filter(|at| is_past(row, **at)) {
            let owner = contract.column(Role::Owner).and_then(|column| row.column(column));
            let detail = owner.filter(|_| role == Role::ClaimedAt).map(|owner| format!("by {owner}"));
            entries.push(entry(*at, what, detail));
        }
    }
    entries.sort_by_key(|entry| entry.at);
    entries
}

fn is_past(row: &RowView, at: i64) -> bool {
    at <= row.read_at
}

fn entry(at: i64, what: &str, detail: Option<String>) -> TimelineEntry {
    let at = Some(Moment::from_micros(at));
    TimelineEntry { at, what: what.to_owned(), detail, tone: "", body: None, facts: Vec::new() }
}

fn recorded(record: &Recorded) -> TimelineEntry {
    let get = |name: &str| {
        record.columns.iter().find(|(known, _)| known == name).and_then(|(_, value)| value.as_deref())
    };
    let state = get("status").or_else(|| get("state")).or_else(|| get("event_type")).unwrap_or(&record.table);
    let what = match get("attempt_number") {
        Some(number) => format!("attempt {number}: {state}"),
        None => state.to_owned(),
    };
    let code = get("response_code").map(|code| format!("answered {code}"));
    let took = get("duration_millis").map(|millis| format!("after {millis} ms"));
    let why = get("error_message").or_else(|| get("reason")).map(|text| cut(text, SHOWN).0);
    let parts: Vec<String> = [code, took, why].into_iter().flatten().collect();
    let tone = match state {
        "SUCCESS" | "SENT" | "sent" | "delivered" | "COMPLETED" => "good",
        other if get("error_message").is_some() || other.contains("FAIL") || other.contains("ERROR") => "bad",
        _ => "",
    };
    let facts = record.columns.iter().filter(|(name, value)| value.is_some() && name != "response_body");
    let fact = |(name, value): &(String, Option<String>)| Named {
        name: name.clone(),
        value: value.as_deref().map(|value| cut(value, SHOWN).0),
    };
    TimelineEntry {
        at: record.at.map(Moment::from_micros),
        what,
        detail: (!parts.is_empty()).then(|| parts.join(", ")),
        tone,
        body: get("response_body").filter(|body| !body.is_empty()).map(|body| cut(body, SHOWN).0),
        facts: facts.map(fact).collect(),
    }
}
