//! Reads one value as the type that its key has. A value of another type or out of range is a mistake.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::time::Duration;

use crate::duration::{format_duration, parse_duration};
use crate::mistake::Place;
use crate::node::{Node, Value};
use crate::report::{Report, element};
use crate::size::{format_size, parse_size};
use crate::suggest::suggestion;
use crate::table_reader::TableReader;

/// A value being read.
#[derive(Clone)]
pub struct Item<'a> {
    pub report: &'a Report,
    /// The full name of the key: `lanes.mail.batch`.
    pub path: String,
    pub node: &'a Node,
}

impl<'a> Item<'a> {
    /// Returns the place of the value.
    pub fn place(&self) -> &'a Place {
        &self.node.place
    }

    /// Reports a mistake at this value.
    pub fn mistake(&self, what: impl Into<String>, remedy: impl Into<String>) {
        self.report.add_at(&self.node.place, self.node.layer, &self.path, what.into(), remedy.into());
    }

    /// Reports that the value is not what the key expects.
    pub fn expected(&self, expected: impl Display) {
        self.mistake(self.invalid(expected), "");
    }

    fn invalid(&self, expected: impl Display) -> String {
        match &self.node.value {
            Value::List(_) | Value::Table(_) => {
                format!("expected {expected}, found {}", self.node.value.kind())
            }
            value => format!("invalid value {}: expected {expected}", shown(value)),
        }
    }

    fn required<T>(&self, found: Option<T>, expected: impl Display) -> Option<T> {
        if found.is_none() {
            self.expected(expected);
        }
        found
    }

    /// Returns the text; any other kind of value is reported.
    pub fn text(&self) -> Option<&'a str> {
        let found = match &self.node.value {
            Value::Text(text) | Value::Untyped(text) => Some(text.as_str()),
            _ => None,
        };
        self.required(found, "text in quotes")
    }

    /// Whether the value is this text.
    pub fn is(&self, text: &str) -> bool {
        matches!(&self.node.value, Value::Text(found) | Value::Untyped(found) if found == text)
    }

    /// Returns the boolean; any other kind of value is reported.
    pub fn boolean(&self) -> Option<bool> {
        let found = match &self.node.value {
            Value::Bool(boolean) => Some(*boolean),
            Value::Untyped(text) => text.trim().parse().ok(),
            _ => None,
        };
        self.required(found, "true or false")
    }

    /// Returns the whole number; one outside the range is reported.
    pub fn number(&self, range: RangeInclusive<u32>) -> Option<u32> {
        let number = match &self.node.value {
            Value::Integer(number) => Some(*number),
            Value::Untyped(text) => text.trim().parse().ok(),
            _ => None,
        };
        let found =
            number.and_then(|number| u32::try_from(number).ok()).filter(|number| range.contains(number));
        let (from, to) = range.into_inner();
        let limits =
            if to == u32::MAX { format!("of at least {from}") } else { format!("from {from} to {to}") };
        self.required(found, format_args!("a whole number {limits}"))
    }

    /// Returns the number; one outside the range is reported.
    pub fn fraction(&self, range: RangeInclusive<f64>) -> Option<f64> {
        let number = match &self.node.value {
            #[expect(clippy::cast_precision_loss, reason = "a rate or a share: far below 2^53")]
            Value::Integer(number) => Some(*number as f64),
            Value::Float(number) => Some(*number),
            Value::Untyped(text) => text.trim().parse().ok(),
            _ => None,
        };
        let found = number.filter(|number| range.contains(number));
        self.required(found, format_args!("a number from {} to {}", range.start(), range.end()))
    }

    /// Returns the duration; one outside the range, or without a unit, is reported.
    pub fn duration(&self, range: RangeInclusive<Duration>) -> Option<Duration> {
        let (least, most) = (format_duration(*range.start()), format_duration(*range.end()));
        let limits = match range.start().as_nanos() {
            0 => format!("up to {most}"),
            1..1_000_000 => format!("above zero and up to {most}"),
            _ => format!("from {least} to {most}"),
        };
        let expected = format!("a duration {limits}, such as \"30s\"");
        let text = match &self.node.value {
            Value::Text(text) | Value::Untyped(text) => text.trim(),
            Value::Integer(number) => {
                self.mistake(
                    format!("invalid value `{number}`: a duration needs a unit"),
                    format!("write \"{number}s\" for seconds"),
                );
                return None;
            }
            _ => return self.required(None, expected),
        };
        match parse_duration(text) {
            Ok(found) if range.contains(&found) => Some(found),
            Ok(_) => self.required(None, expected),
            Err(remedy) => {
                self.mistake(self.invalid(expected), remedy);
                None
            }
        }
    }

    /// Returns the size in bytes; one outside the range is reported.
    pub fn size(&self, range: RangeInclusive<u64>) -> Option<u64> {
        let bytes = match &self.node.value {
            Value::Integer(number) => u64::try_from(*number).ok(),
            Value::Text(text) | Value::Untyped(text) => parse_size(text),
            _ => None,
        };
        let (least, most) = (format_size(*range.start()), format_size(*range.end()));
        let found = bytes.filter(|bytes| range.contains(bytes));
        self.required(found, format_args!("a size from {least} to {most}, such as \"25MB\""))
    }

    /// Returns the choice with this name; any other text is reported.
    pub fn choice<T: Copy>(&self, choices: &[(&'static str, T)]) -> Option<T> {
        let text = self.text()?;
        let found = choices.iter().find(|(name, _)| *name == text);
        if found.is_none() {
            let remedy = suggestion(text, choices.iter().map(|(name, _)| *name));
            self.mistake(format!("invalid value {}", shown(&self.node.value)), remedy);
        }
        found.map(|(_, value)| *value)
    }

    /// Returns a single value as text, for another parser; a list or a table is reported.
    pub fn scalar(&self) -> Option<String> {
        let found = match &self.node.value {
            Value::Text(text) | Value::Untyped(text) => Some(text.clone()),
            Value::Integer(number) => Some(number.to_string()),
            Value::Float(number) => Some(number.to_string()),
            Value::Bool(boolean) => Some(boolean.to_string()),
            Value::List(_) | Value::Table(_) | Value::Other { .. } => None,
        };
        self.required(found, "a single value")
    }

    /// Whether the value is a table.
    pub fn is_table(&self) -> bool {
        matches!(self.node.value, Value::Table(_))
    }

    /// Returns the table; any other kind of value is reported.
    pub fn table(&self) -> Option<TableReader<'a>> {
        if self.is_table() {
            return Some(TableReader::new(self.report, self.path.clone(), self.node));
        }
        self.required(None, format_args!("a table, `[{}]`", self.path))
    }

    /// Returns the elements of a list; a single value counts as a list of one.
    pub fn one_or_many(&self) -> Vec<Self> {
        match &self.node.value {
            Value::List(items) => self.elements(items),
            _ => vec![self.clone()],
        }
    }

    /// Returns the elements of a list; any other kind of value is reported.
    pub fn list(&self) -> Option<Vec<Self>> {
        match &self.node.value {
            Value::List(items) => Some(self.elements(items)),
            _ => self.required(None, "a list"),
        }
    }

    fn elements(&self, items: &'a [Node]) -> Vec<Self> {
        let item = |(index, node)| Self { report: self.report, path: element(&self.path, index, node), node };
        items.iter().enumerate().map(item).collect()
    }
}

/// Formats a single value for a message: text in quotes, everything else as it is written.
fn shown(value: &Value) -> String {
    match value {
        Value::Text(text) => format!("{text:?}"),
        Value::Untyped(text) | Value::Other { text, .. } => format!("`{text}`"),
        Value::Integer(number) => format!("`{number}`"),
        Value::Float(number) => format!("`{number}`"),
        Value::Bool(boolean) => format!("`{boolean}`"),
        Value::List(_) | Value::Table(_) => value.kind().to_owned(),
    }
}

#[cfg(test)]
mod tests;
