//! The tree of written values, each with its place, before they are interpreted; and layers merged over it.

use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::mistake::{Mistake, Mistakes, Place};

/// A written value and its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    pub place: Place,
    /// Which layer the value comes from: 0 is the document itself, `n` the `n`-th layer merged over it.
    pub layer: usize,
    pub value: Value,
}

/// A written value.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Text(String),
    Integer(i64),
    Float(f64),
    Bool(bool),
    List(Vec<Node>),
    /// In the order of the document.
    Table(Vec<Entry>),
    /// The value of an environment variable: the key that is read decides about its type.
    Untyped(String),
    /// A TOML date or a number out of range, which no key accepts.
    Other {
        kind: &'static str,
        text: String,
    },
}

/// A key of a table, with its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    pub key: String,
    pub place: Place,
    pub node: Node,
}

/// Parses TOML; every syntax error is a mistake. `source` names the document in messages.
pub fn parse(source: &str, text: &str) -> Result<Node, Mistakes> {
    let lines = Lines::new(source, text);
    let (table, errors) = DeTable::parse_recoverable(text);
    let mistakes = errors.iter().map(|error| Mistake {
        place: lines.place(error.span().map_or(0, |span| span.start)),
        key: String::new(),
        what: format!("not TOML: {}", error.message().replace('\n', ", ")),
        remedy: String::new(),
    });
    Mistakes::check(mistakes.collect())?;
    let value = Value::Table(lines.entries(table.get_ref()));
    Ok(Node { place: lines.place(table.span().start), layer: 0, value })
}

/// Converts byte offsets of a text to places.
struct Lines<'a> {
    source: Arc<str>,
    text: &'a str,
    /// The offset of the first byte of each line.
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    fn new(source: &str, text: &'a str) -> Self {
        let after = text.match_indices('\n').map(|(at, _)| at + 1);
        Self { source: source.into(), text, starts: std::iter::once(0).chain(after).collect() }
    }

    fn place(&self, offset: usize) -> Place {
        let offset = self.text.floor_char_boundary(offset);
        let line = self.starts.partition_point(|start| *start <= offset);
        let column = self.text[self.starts[line - 1]..offset].chars().count() + 1;
        Place { source: self.source.clone(), position: Some((line, column)) }
    }

    fn entries(&self, table: &DeTable<'_>) -> Vec<Entry> {
        let mut entries: Vec<(usize, Entry)> = table
            .iter()
            .map(|(key, value)| {
                let start = key.span().start;
                let node = self.node(value, start);
                (start, Entry { key: key.get_ref().to_string(), place: self.place(start), node })
            })
            .collect();
        entries.sort_by_key(|(start, _)| *start);
        entries.into_iter().map(|(_, entry)| entry).collect()
    }

    fn node(&self, value: &Spanned<DeValue<'_>>, key: usize) -> Node {
        let start = value.span().start;
        let value = self.value(value.get_ref());
        // The span of a dotted or headed table is its first mention. Report the key instead.
        let start = if matches!(value, Value::Table(_)) { key } else { start };
        Node { place: self.place(start), layer: 0, value }
    }

    fn value(&self, value: &DeValue<'_>) -> Value {
        let other = |kind, text: String| Value::Other { kind, text };
        match value {
            DeValue::String(text) => Value::Text(text.to_string()),
            DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
                .map_or_else(|_| other("a number out of range", number.to_string()), Value::Integer),
            DeValue::Float(number) => number
                .as_str()
                .parse()
                .map_or_else(|_| other("a number out of range", number.to_string()), Value::Float),
            DeValue::Boolean(boolean) => Value::Bool(*boolean),
            DeValue::Datetime(time) => other("a date or time", time.to_string()),
            DeValue::Array(list) => {
                Value::List(list.iter().map(|item| self.node(item, item.span().start)).collect())
            }
            DeValue::Table(table) => Value::Table(self.entries(table)),
        }
    }
}

impl Value {
    /// Returns the kind of value as messages call it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) | Self::Untyped(_) => "text",
            Self::Integer(_) => "a whole number",
            Self::Float(_) => "a number",
            Self::Bool(_) => "true or false",
            Self::List(_) => "a list",
            Self::Table(_) => "a table",
            Self::Other { kind, .. } => kind,
        }
    }
}

impl Node {
    /// Creates a tree of TOML values that all have the same place.
    pub fn from_toml(value: &toml::Value, place: &Place) -> Self {
        let inner = |value: &toml::Value| Self::from_toml(value, place);
        let value = match value {
            toml::Value::String(text) => Value::Text(text.clone()),
            toml::Value::Integer(number) => Value::Integer(*number),
            toml::Value::Float(number) => Value::Float(*number),
            toml::Value::Boolean(boolean) => Value::Bool(*boolean),
            toml::Value::Datetime(time) => Value::Other { kind: "a date or time", text: time.to_string() },
            toml::Value::Array(list) => Value::List(list.iter().map(inner).collect()),
            toml::Value::Table(table) => Value::Table(
                table
                    .iter()
                    .map(|(key, value)| Entry { key: key.clone(), place: place.clone(), node: inner(value) })
                    .collect(),
            ),
        };
        Self { place: place.clone(), layer: 0, value }
    }

    /// Creates an empty table.
    pub fn table(place: Place) -> Self {
        Self { place, layer: 0, value: Value::Table(Vec::new()) }
    }

    /// Gives every value of a variable the type that it has in TOML; what is no TOML value is text.
    #[must_use]
    pub fn typed(self) -> Self {
        let value = match self.value {
            Value::Untyped(text) => match text.parse::<toml::Value>() {
                Ok(value) => return Self { layer: self.layer, ..Self::from_toml(&value, &self.place) },
                Err(_) => Value::Text(text),
            },
            Value::List(list) => Value::List(list.into_iter().map(Self::typed).collect()),
            Value::Table(entries) => Value::Table(
                entries.into_iter().map(|entry| Entry { node: entry.node.typed(), ..entry }).collect(),
            ),
            other => other,
        };
        Self { value, ..self }
    }

    /// Returns the entries of a table; none for any other value.
    pub fn entries(&self) -> &[Entry] {
        if let Value::Table(entries) = &self.value { entries } else { &[] }
    }

    /// Returns the entry of a table.
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries().iter().find(|entry| entry.key == key)
    }

    /// Whether this is a table without keys, or no table.
    pub fn is_empty(&self) -> bool {
        self.entries().is_empty()
    }

    /// Returns the value under a path of tables.
    pub fn at(&self, path: &[&str]) -> Option<&Self> {
        path.iter().try_fold(self, |node, key| node.entry(key).map(|entry| &entry.node))
    }

    /// Returns the name of a list element: its key `name` or `as`.
    pub fn name(&self) -> Option<&str> {
        let named = self.entries().iter().find(|entry| entry.key == "name" || entry.key == "as");
        named.and_then(|entry| match &entry.node.value {
            Value::Text(text) => Some(text.as_str()),
            _ => None,
        })
    }

    /// Sets the value under a path; tables that are missing are added, and other values on the way become tables.
    pub fn set_at(&mut self, path: &[&str], place: &Place, value: Value) {
        let Some((key, rest)) = path.split_first() else {
            *self = Self { place: place.clone(), layer: self.layer, value };
            return;
        };
        if !matches!(self.value, Value::Table(_)) {
            *self = Self { layer: self.layer, ..Self::table(place.clone()) };
        }
        let Value::Table(entries) = &mut self.value else { return };
        let index = entries.iter().position(|entry| entry.key == *key).unwrap_or_else(|| {
            let node = Self::table(place.clone());
            entries.push(Entry { key: (*key).to_owned(), place: place.clone(), node });
            entries.len() - 1
        });
        let entry = &mut entries[index];
        entry.node.set_at(rest, place, value);
        if rest.is_empty() {
            entry.place = place.clone();
        }
    }

    /// Merges a layer over this tree; its values win. `stage.NAME` in the layer addresses an element of a list by name.
    pub fn merge(&mut self, over: &Self, layer: usize) {
        let Value::Table(over_entries) = &over.value else {
            *self = over.in_layer(layer);
            return;
        };
        match &mut self.value {
            Value::Table(entries) => {
                for over in over_entries {
                    match entries.iter_mut().find(|entry| entry.key == over.key) {
                        Some(entry) => {
                            entry.node.merge(&over.node, layer);
                            if entry.node.layer == layer {
                                entry.place = over.place.clone();
                            }
                        }
                        None => entries.push(Entry { node: over.node.in_layer(layer), ..over.clone() }),
                    }
                }
            }
            Value::List(items) if items.iter().all(|item| matches!(item.value, Value::Table(_))) => {
                for over in over_entries {
                    match items.iter_mut().find(|item| item.name() == Some(&over.key)) {
                        Some(item) => item.merge(&over.node, layer),
                        None => items.push(named(over, layer)),
                    }
                }
            }
            _ => *self = over.in_layer(layer),
        }
    }

    fn in_layer(&self, layer: usize) -> Self {
        let value = match &self.value {
            Value::List(list) => Value::List(list.iter().map(|node| node.in_layer(layer)).collect()),
            Value::Table(entries) => Value::Table(
                entries
                    .iter()
                    .map(|entry| Entry { node: entry.node.in_layer(layer), ..entry.clone() })
                    .collect(),
            ),
            other => other.clone(),
        };
        Self { place: self.place.clone(), layer, value }
    }
}

/// Adds a list element that the layer names but the document lacks, so that the checks can report it.
fn named(over: &Entry, layer: usize) -> Node {
    let mut node = over.node.in_layer(layer);
    if let Value::Table(entries) = &mut node.value {
        let name = Node { place: over.place.clone(), layer, value: Value::Text(over.key.clone()) };
        entries.push(Entry { key: "name".to_owned(), place: over.place.clone(), node: name });
    }
    node
}

#[cfg(test)]
mod tests;
