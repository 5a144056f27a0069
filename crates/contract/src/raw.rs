//! The raw form of a contract: a tree of TOML values with the source of each, and layers merged over it.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::Layer;

/// The source of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// A byte offset in the file.
    File(usize),
    /// An index into the layers.
    Layer(usize),
}

#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub place: Place,
    pub value: Raw,
}

#[derive(Debug, Clone)]
pub(crate) enum Raw {
    Text(String),
    Int(i64),
    Float(f64),
    Bool(bool),
    /// A TOML date-time, or a number beyond 64 bits: no key accepts one.
    Other(&'static str),
    List(Vec<Node>),
    /// In the order of the file.
    Table(Vec<Entry>),
}

#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub key: String,
    pub place: Place,
    pub node: Node,
}

impl Raw {
    /// Returns the kind of value as messages call it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) => "text",
            Self::Int(_) => "a whole number",
            Self::Float(_) => "a number",
            Self::Bool(_) => "true or false",
            Self::Other(kind) => kind,
            Self::List(_) => "a list",
            Self::Table(_) => "a table",
        }
    }
}

/// Builds the tree of a parsed file.
pub(crate) fn from_file(table: &Spanned<DeTable<'_>>) -> Node {
    Node { place: Place::File(table.span().start), value: Raw::Table(entries_of(table.get_ref())) }
}

fn entries_of(table: &DeTable<'_>) -> Vec<Entry> {
    let mut entries: Vec<(usize, Entry)> = table
        .iter()
        .map(|(key, value)| {
            let start = key.span().start;
            let entry = Entry {
                key: key.get_ref().to_string(),
                place: Place::File(start),
                node: node_of(value, start),
            };
            (start, entry)
        })
        .collect();
    entries.sort_by_key(|(start, _)| *start);
    entries.into_iter().map(|(_, entry)| entry).collect()
}

fn node_of(value: &Spanned<DeValue<'_>>, key: usize) -> Node {
    let raw = match value.get_ref() {
        DeValue::String(text) => Raw::Text(text.to_string()),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .map_or(Raw::Other("a number too large"), Raw::Int),
        DeValue::Float(number) => {
            number.as_str().parse().map_or(Raw::Other("a number out of range"), Raw::Float)
        }
        DeValue::Boolean(truth) => Raw::Bool(*truth),
        DeValue::Datetime(_) => Raw::Other("a date"),
        DeValue::Array(items) => {
            Raw::List(items.iter().map(|item| node_of(item, item.span().start)).collect())
        }
        DeValue::Table(table) => Raw::Table(entries_of(table)),
    };
    // The span of a dotted or headed table is its first mention. Report the key instead.
    let start = if matches!(raw, Raw::Table(_)) { key } else { value.span().start };
    Node { place: Place::File(start), value: raw }
}

/// Merges a layer over `base`; the layer's values win.
pub(crate) fn merge(base: &mut Node, layer: &Layer, index: usize) {
    merge_table(base, &layer.values, Place::Layer(index));
}

fn merge_table(base: &mut Node, over: &toml::Table, place: Place) {
    match &mut base.value {
        Raw::Table(entries) => {
            for (key, value) in over {
                match entries.iter_mut().find(|entry| entry.key == *key) {
                    Some(entry) => {
                        merge_value(&mut entry.node, value, place);
                        entry.place = entry.node.place;
                    }
                    None => entries.push(Entry { key: key.clone(), place, node: from_value(value, place) }),
                }
            }
        }
        Raw::List(items) if items.iter().all(|item| matches!(item.value, Raw::Table(_))) => {
            for (name, value) in over {
                match items.iter_mut().find(|item| item.name() == Some(name)) {
                    Some(item) => merge_value(item, value, place),
                    None => items.push(named(name, value, place)),
                }
            }
        }
        _ => *base = from_value(&toml::Value::Table(over.clone()), place),
    }
}

fn merge_value(base: &mut Node, over: &toml::Value, place: Place) {
    match over {
        toml::Value::Table(table) => merge_table(base, table, place),
        other => *base = from_value(other, place),
    }
}

/// Adds a list element that the layer names but the file lacks, so that the checks can report it.
fn named(name: &str, value: &toml::Value, place: Place) -> Node {
    let mut node = from_value(value, place);
    if let Raw::Table(entries) = &mut node.value {
        let name = Node { place, value: Raw::Text(name.to_owned()) };
        entries.push(Entry { key: "name".to_owned(), place, node: name });
    }
    node
}

fn from_value(value: &toml::Value, place: Place) -> Node {
    let raw = match value {
        toml::Value::String(text) => Raw::Text(text.clone()),
        toml::Value::Integer(number) => Raw::Int(*number),
        toml::Value::Float(number) => Raw::Float(*number),
        toml::Value::Boolean(truth) => Raw::Bool(*truth),
        toml::Value::Datetime(_) => Raw::Other("a date"),
        toml::Value::Array(items) => Raw::List(items.iter().map(|item| from_value(item, place)).collect()),
        toml::Value::Table(table) => Raw::Table(
            table
                .iter()
                .map(|(key, value)| Entry { key: key.clone(), place, node: from_value(value, place) })
                .collect(),
        ),
    };
    Node { place, value: raw }
}

impl Node {
    /// Returns the name of a list element: its key `name` or `as`.
    pub fn name(&self) -> Option<&str> {
        let Raw::Table(entries) = &self.value else { return None };
        entries.iter().find(|entry| entry.key == "name" || entry.key == "as").and_then(|entry| {
            match &entry.node.value {
                Raw::Text(text) => Some(text.as_str()),
                _ => None,
            }
        })
    }

    /// Returns the value under a dotted path of tables.
    pub fn at(&self, path: &[&str]) -> Option<&Self> {
        path.iter().try_fold(self, |node, key| match &node.value {
            Raw::Table(entries) => entries.iter().find(|entry| entry.key == *key).map(|entry| &entry.node),
            _ => None,
        })
    }
}
