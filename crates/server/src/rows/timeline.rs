//! The timeline of a row, oldest first: from its time columns, and from the records that changes left.

use postrider_contract::{ColumnRole, Contract};
use postrider_hub::Moment;
use postrider_seams::inspect::{HistoryEntry, RowView};
use serde::Serialize;
use utoipa::ToSchema;

use super::attempt::{attempt, is_attempt};
use super::columns::{MASK, NameValue, is_secret};
use super::{cut, error_text, role_of};

/// Maximum characters of a response's body, or of any other text.
pub(super) const MAX_TEXT_CHARS: usize = 4_000;

/// Something that happened to a row, or that is to happen.
#[derive(Debug, Default, Serialize, ToSchema)]
pub struct TimelineEntry {
    /// When it happened; in the future for the next attempt. Null: unknown.
    pub at: Option<Moment>,
    /// What happened: `Written`, `Attempt 2: 503 Service Unavailable from shop.example`, a new state.
    pub what: String,
    /// How long it took, why, when it is retried.
    pub detail: Option<String>,
    /// `good`, `bad` or empty.
    pub tone: &'static str,
    /// Response of the receiver.
    pub body: Option<String>,
    /// Everything that was recorded.
    pub facts: Vec<NameValue>,
}

/// Returns the timeline of a row.
pub fn timeline(contract: &Contract, row: &RowView, history: &[HistoryEntry]) -> Vec<TimelineEntry> {
    let role = row.state.as_deref().and_then(|state| contract.state_named(state));
    let story = RowContext { contract, row, role: role.map_or("", |state| role_of(contract, state)) };
    let attempts: Vec<&HistoryEntry> = history.iter().filter(|record| is_attempt(record)).collect();
    let mut entries = Vec::new();
    for record in history {
        let place = attempts.iter().position(|attempt| std::ptr::eq(*attempt, record));
        entries.push(match place {
            Some(place) => attempt(&story, record, attempts.get(place + 1).copied()),
            None => reached(record),
        });
    }
    entries.extend(story.written());
    entries.extend(story.last_attempt(history));
    entries.extend(story.finished());
    entries.extend(story.next_try());
    entries.sort_by_key(|entry| entry.at);
    entries
}

/// The row with the meaning of its columns.
pub(super) struct RowContext<'a> {
    pub contract: &'a Contract,
    pub row: &'a RowView,
    /// Meaning of its state.
    pub role: &'static str,
}

impl RowContext<'_> {
    /// Returns the column with this role, `None` if the contract has none or it is NULL or empty.
    pub fn column(&self, role: ColumnRole) -> Option<&str> {
        let text = self.contract.column(role).and_then(|column| self.row.column(column));
        text.filter(|text| !text.is_empty())
    }

    fn past(&self, role: ColumnRole) -> Option<i64> {
        self.row.times.get(&role).copied().filter(|at| *at <= self.row.read_at)
    }

    /// Returns the host of a webhook's URL.
    pub fn host(&self) -> Option<&str> {
        let columns = self.contract.message_columns();
        let (_, column) = columns.iter().find(|(field, _)| field == "url")?;
        let (_, rest) = self.row.column(column)?.split_once("://")?;
        rest.split(['/', '?', '#']).next().filter(|host| !host.is_empty())
    }

    fn written(&self) -> Option<TimelineEntry> {
        self.past(ColumnRole::Created).map(|at| entry(at, "Written", None, ""))
    }

    /// Returns the claim while the row is claimed; else the last attempt, if the history has no attempts.
    fn last_attempt(&self, history: &[HistoryEntry]) -> Option<TimelineEntry> {
        if self.role == "claimed" {
            let by = self.column(ColumnRole::Owner).map(|owner| format!("by {owner}"));
            return self.past(ColumnRole::ClaimedAt).map(|at| entry(at, "Claimed", by, ""));
        }
        let has_attempts = history.iter().any(is_attempt);
        // A column that every change writes says nothing about attempts.
        let moves = self.contract.column(ColumnRole::Updated);
        let role = [ColumnRole::Attempted, ColumnRole::ClaimedAt].into_iter();
        let mut role =
            role.filter(|role| self.contract.column(*role).is_some_and(|name| Some(name) != moves));
        let at = role.find_map(|role| self.past(role)).filter(|_| !has_attempts)?;
        let number = self.column(ColumnRole::Attempts).filter(|number| *number != "0");
        let spent = number.map(|number| match number {
            "1" => "1 attempt so far".to_owned(),
            more => format!("{more} attempts so far"),
        });
        if self.role == "delivered" {
            return None;
        }
        let error =
            self.column(ColumnRole::Error).and_then(error_text).map(|error| cut(&error, MAX_TEXT_CHARS).0);
        let (what, tone) =
            if error.is_some() { ("Last attempt failed", "bad") } else { ("Last attempt", "") };
        let words: Vec<String> = [error, spent].into_iter().flatten().collect();
        Some(entry(at, what, (!words.is_empty()).then(|| words.join(" · ")), tone))
    }

    fn finished(&self) -> Option<TimelineEntry> {
        let at = self.past(ColumnRole::Finished)?;
        if self.role == "delivered" {
            let receipt = self
                .column(ColumnRole::Receipt)
                .map(|receipt| format!("receipt {}", cut(receipt, MAX_TEXT_CHARS).0));
            return Some(entry(at, "Delivered", receipt, "good"));
        }
        let state = self.row.state.as_deref().unwrap_or("finished");
        Some(entry(at, &format!("Ended as {state}"), None, if self.role == "failed" { "bad" } else { "" }))
    }

    fn next_try(&self) -> Option<TimelineEntry> {
        let left = self.row.due_in.filter(|left| *left > 0 && matches!(self.role, "ready" | "waiting"))?;
        let what = if self.role == "ready" { "Next attempt" } else { "Next step" };
        Some(entry(self.row.read_at.saturating_add(left), what, None, ""))
    }
}

pub(super) fn entry(at: i64, what: &str, detail: Option<String>, tone: &'static str) -> TimelineEntry {
    let at = Some(Moment::from_micros(at));
    TimelineEntry { at, what: what.to_owned(), detail, tone, ..TimelineEntry::default() }
}

pub(super) fn value<'a>(record: &'a HistoryEntry, name: &str) -> Option<&'a str> {
    let found = record.columns.iter().find(|(known, _)| known == name);
    found.and_then(|(_, value)| value.as_deref()).filter(|value| !value.is_empty())
}

/// Returns everything that was recorded, except the fields in `shown`.
pub(super) fn facts(record: &HistoryEntry, shown: &[&str]) -> Vec<NameValue> {
    let left = record.columns.iter().filter(|(name, _)| !shown.contains(&name.as_str()));
    let fact = |(name, value): &(String, Option<String>)| {
        let value = value.as_deref().filter(|value| !value.is_empty())?;
        let value = if is_secret(name) { MASK.to_owned() } else { cut(value, MAX_TEXT_CHARS).0 };
        Some(NameValue { name: name.clone(), value: Some(value) })
    };
    left.filter_map(fact).collect()
}

/// Describes a state that the row reached, or an event that a change recorded.
fn reached(record: &HistoryEntry) -> TimelineEntry {
    let names = ["status", "state", "event_type"];
    let state = names.iter().find_map(|name| value(record, name)).unwrap_or(&record.table);
    let upper = state.to_ascii_uppercase();
    let tone = if upper.contains("FAIL") || upper.contains("ERROR") || upper.contains("REJECT") {
        "bad"
    } else if ["SENT", "DELIVERED", "COMPLETED", "NOTIFY_SENT"].contains(&upper.as_str()) {
        "good"
    } else {
        ""
    };
    TimelineEntry {
        at: record.at.map(Moment::from_micros),
        what: state.to_owned(),
        detail: value(record, "reason").map(|reason| cut(reason, MAX_TEXT_CHARS).0),
        tone,
        body: None,
        facts: facts(record, &["status", "state", "event_type", "reason"]),
    }
}
