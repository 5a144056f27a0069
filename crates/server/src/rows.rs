//! Rows as operators read them: in lists, in detail, with their timeline and the reason why they wait.
//!
//! Owns: the readable form of a row's columns. Must not: query a database or know a driver. Invariant: possible
//! secrets are masked, and no text is longer than a page can show.

mod attempt;
mod columns;
mod item;
mod message;
mod timeline;
mod waiting;

use postrider_contract::{Contract, Stage, StateId};

pub use columns::{NameValue, columns};
pub use item::{RowItem, item};
pub use message::{MessageView, html_of, message};
pub use timeline::{TimelineEntry, timeline};
pub use waiting::{WaitContext, waiting};

/// Returns the meaning of a state in one word: `ready`, `claimed`, `waiting`, `delivered`, `failed` or `ended`.
pub fn role_of(contract: &Contract, state: StateId) -> &'static str {
    let ends = |end: fn(&Stage) -> StateId| contract.stages.iter().any(|stage| end(stage) == state);
    if contract.is_claimed(state) {
        "claimed"
    } else if contract.is_ready(state) {
        "ready"
    } else if !contract.is_final(state) {
        "waiting"
    } else if ends(|stage| stage.delivered) {
        "delivered"
    } else if ends(|stage| stage.dead) || ends(|stage| stage.rejected) {
        "failed"
    } else {
        "ended"
    }
}

/// Returns an error column as readable text: the message of a JSON object, or the text itself. `None` if there is no
/// error.
pub fn error_text(text: &str) -> Option<String> {
    let text = text.trim();
    let parsed =
        text.starts_with('{').then(|| serde_json::from_str::<serde_json::Value>(text).ok()).flatten();
    match parsed {
        Some(object) => match object.get("message").and_then(serde_json::Value::as_str) {
            Some(message) => Some(message.to_owned()),
            None => (object.get("status").is_none_or(|status| status != "sent")).then(|| text.to_owned()),
        },
        None => (!text.is_empty()).then(|| text.to_owned()),
    }
}

/// Cuts a text to at most `most` characters; returns whether it was cut.
fn cut(text: &str, most: usize) -> (String, bool) {
    match text.char_indices().nth(most) {
        Some((end, _)) => (format!("{}…", &text[..end]), true),
        None => (text.to_owned(), false),
    }
}

#[cfg(test)]
mod tests;
