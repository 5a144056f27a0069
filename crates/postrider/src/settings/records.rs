//! Reads the settings of the records that a lane publishes.

use postrider_config::{Place, Value};

use super::reader::Reader;

/// Longest suffix in characters.
const SUFFIX_LIMIT: usize = 64;

/// The settings of lanes whose composer makes records.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecordSettings {
    /// Most bytes of a payload.
    pub payload_limit: Option<u64>,
    /// The source of CloudEvents headers; `None` publishes none.
    pub cloud_events: Option<String>,
    pub dead_letter: Option<DeadLetter>,
}

/// The target of records that could not be published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeadLetter {
    /// `dead_letter = true`: the usual suffix of this broker.
    Usual,
    Suffix(String),
}

impl RecordSettings {
    /// Reads the keys, and returns the place of the first one, for the error if the lane makes no records.
    pub fn read(reader: &Reader<'_>) -> (Self, Option<Place>) {
        let place =
            ["payload_limit", "cloud_events", "dead_letter"].into_iter().find_map(|key| reader.place_of(key));
        let settings = Self {
            payload_limit: reader.size("payload_limit", 1..=1 << 30),
            cloud_events: reader.text("cloud_events").map(|found| found.value),
            dead_letter: dead_letter(reader),
        };
        (settings, place)
    }
}

fn dead_letter(reader: &Reader<'_>) -> Option<DeadLetter> {
    let item = reader.get("dead_letter")?;
    let suffix = match &item.node.value {
        Value::Bool(true) => return Some(DeadLetter::Usual),
        Value::Bool(false) => return None,
        Value::Untyped(text) if text == "true" => return Some(DeadLetter::Usual),
        Value::Untyped(text) if text == "false" => return None,
        Value::Text(text) | Value::Untyped(text) => Some(text.clone()).filter(|text| is_suffix(text)),
        _ => None,
    };
    if suffix.is_none() {
        item.expected(
            "true, false, or what follows the topic's name, such as \"-dead\" (letters, digits, '.', '_' and '-')",
        );
    }
    suffix.map(DeadLetter::Suffix)
}

fn is_suffix(text: &str) -> bool {
    let fine = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    (1..=SUFFIX_LIMIT).contains(&text.len()) && text.bytes().all(fine)
}
