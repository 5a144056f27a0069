//! Rows as operators read them: in lists, alone, with what happened and what is waited for, in words.
//!
//! Owns: what is made of a row's columns for people. Must not: ask a database or know a driver. Invariant: what could be a
//! secret is masked, and nothing is longer than a page can show.

mod attempt;
mod item;
mod mask;
mod message;
mod timeline;
mod waiting;

use postrider_contract::{Contract, Stage, StateId};

pub use item::{RowItem, item};
pub use mask::{Named, columns};
pub use message::{MessageView, html_of, message};
pub use timeline::{TimelineEntry, timeline};
pub use waiting::{Surroundings, waiting};

/// What a state means, in one word.
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

/// What an error column says to people: its message where it holds a JSON object; nothing where that tells of no error.
pub fn error_words(text: &str) -> Option<String> {
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

/// At most so many characters, and whether some were cut off.
fn cut(text: &str, most: usize) -> (String, bool) {
    match text.char_indices().nth(most) {
        Some((end, _)) => (format!("{}…", &text[..end]), true),
        None => (text.to_owned(), false),
    }
}

#[cfg(test)]
mod tests;
