//! The raw form of the settings: the written values with their places, before they are interpreted.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use toml::de::{DeTable, DeValue};

use super::mistake::{Mistake, Place};

/// One written value and its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    pub place: Place,
    pub value: Value,
}

/// A written value.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Text(String),
    Integer(i64),
    Float(f64),
    Bool(bool),
    List(Vec<Entry>),
    Table(Tree),
    /// A value of an environment variable: the key that is read decides about its type.
    Untyped(String),
    /// A TOML date or time, which no key accepts.
    Time(String),
}

/// A table: its entries by key.
pub type Tree = BTreeMap<String, Entry>;

impl Value {
    /// The name of the type, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) | Self::Untyped(_) => "a text",
            Self::Integer(_) => "a whole number",
            Self::Float(_) => "a number",
            Self::Bool(_) => "true or false",
            Self::List(_) => "a list",
            Self::Table(_) => "a table",
            Self::Time(_) => "a time",
        }
    }

    /// Converts to TOML, for the contract's reader. An untyped value is parsed as TOML; if that fails it is a text.
    pub fn to_toml(&self) -> toml::Value {
        match self {
            Self::Text(text) | Self::Time(text) => toml::Value::String(text.clone()),
            Self::Integer(number) => toml::Value::Integer(*number),
            Self::Float(number) => toml::Value::Float(*number),
            Self::Bool(truth) => toml::Value::Boolean(*truth),
            Self::List(list) => toml::Value::Array(list.iter().map(|entry| entry.value.to_toml()).collect()),
            Self::Table(tree) => toml::Value::Table(to_toml(tree)),
            Self::Untyped(text) => {
                text.parse().unwrap_or_else(|_: toml::de::Error| toml::Value::String(text.clone()))
            }
        }
    }
}

/// Converts a tree to a TOML table.
pub fn to_toml(tree: &Tree) -> toml::Table {
    tree.iter().map(|(key, entry)| (key.clone(), entry.value.to_toml())).collect()
}

/// Parses TOML; every syntax error becomes a mistake.
pub fn parse(text: &str, file: Option<&Arc<Path>>) -> Result<Tree, Vec<Mistake>> {
    let places = Places { text, file };
    let (table, errors) = DeTable::parse_recoverable(text);
    if errors.is_empty() {
        return Ok(places.tree(table.get_ref()));
    }
    let mistakes = errors.iter().map(|error| Mistake {
        place: places.at(error.span().map_or(0, |span| span.start)),
        key: String::new(),
        text: format!("not TOML: {}", error.message().replace('\n', ", ")),
    });
    Err(mistakes.collect())
}

struct Places<'a> {
    text: &'a str,
    file: Option<&'a Arc<Path>>,
}

impl Places<'_> {
    fn at(&self, offset: usize) -> Place {
        match self.file {
            None => Place::BuiltIn,
            Some(file) => {
                let before = &self.text.as_bytes()[..offset.min(self.text.len())];
                let line = 1 + before.split(|byte| *byte == b'\n').count().saturating_sub(1);
                Place::Line { file: file.clone(), line }
            }
        }
    }

    fn tree(&self, table: &DeTable<'_>) -> Tree {
        table
            .iter()
            .map(|(key, value)| {
                let place = self.at(key.span().start);
                (key.get_ref().to_string(), Entry { place, value: self.value(value.get_ref()) })
            })
            .collect()
    }

    fn value(&self, value: &DeValue<'_>) -> Value {
        match value {
            DeValue::String(text) => Value::Text(text.to_string()),
            // A number out of range is kept as text, which no key accepts.
            DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
                .map_or_else(|_| Value::Time(number.to_string()), Value::Integer),
            DeValue::Float(number) => {
                number.as_str().parse().map_or_else(|_| Value::Time(number.to_string()), Value::Float)
            }
            DeValue::Boolean(truth) => Value::Bool(*truth),
            DeValue::Datetime(time) => Value::Time(time.to_string()),
            DeValue::Array(list) => Value::List(
                list.iter()
                    .map(|item| Entry {
                        place: self.at(item.span().start),
                        value: self.value(item.get_ref()),
                    })
                    .collect(),
            ),
            DeValue::Table(table) => Value::Table(self.tree(table)),
        }
    }
}
