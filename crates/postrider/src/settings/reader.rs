//! Reads a raw table key by key. Keys that were never read are unknown; mistakes are recorded and reading continues, so
//! that one run reports all of them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::path::Path;
use std::time::Duration;

use postrider_seams::Secret;

use super::mistake::{Mistake, Place, suggest};
use super::secret::{References, resolve};
use super::tree::{Entry, Tree, Value};
use super::units;

// All keys that a reader of this thread has read, for the test that compares them with the reference.
#[cfg(test)]
thread_local! {
    pub static ASKED: RefCell<std::collections::BTreeSet<String>> = const { RefCell::new(std::collections::BTreeSet::new()) };
}

/// The state that all readers of one load share.
pub struct Context<'a> {
    pub mistakes: RefCell<Vec<Mistake>>,
    /// The folder that relative paths start from: the settings file's.
    pub base: &'a Path,
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// Resolves a secret reference; the error describes what is wrong with it.
    pub follow: &'a dyn Fn(&str) -> Result<Secret, String>,
}

/// A reader of one table.
pub struct Reader<'a> {
    context: &'a Context<'a>,
    path: String,
    place: Place,
    tree: Tree,
    asked: Vec<&'static str>,
}

impl<'a> Reader<'a> {
    /// Creates a reader of `tree`; `path` is the table's full name, empty for the top.
    pub fn new(context: &'a Context<'a>, path: impl Into<String>, place: Place, tree: Tree) -> Self {
        Self { context, path: path.into(), place, tree, asked: Vec::new() }
    }

    /// The full path of a key of this table: `stores.main.url`.
    pub fn key(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// An environment variable, for tables that standard variables also configure.
    pub fn variable(&self, name: &str) -> Option<String> {
        (self.context.variable)(name)
    }

    /// Reads the table of that name; an empty one if there is none.
    pub fn table_or_empty(&mut self, key: &'static str) -> Self {
        let empty = Self::new(self.context, self.key(key), self.place.clone(), Tree::new());
        self.table(key).unwrap_or(empty)
    }

    /// The place of this table.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// The folder that relative paths start from.
    pub fn base(&self) -> &Path {
        self.context.base
    }

    /// Records a mistake about this table as a whole.
    pub fn wrong(&self, text: impl Into<String>) {
        self.wrong_at(self.place.clone(), self.path.clone(), text);
    }

    /// Records a mistake about one key of this table.
    pub fn wrong_at(&self, place: Place, key: impl Into<String>, text: impl Into<String>) {
        self.context.mistakes.borrow_mut().push(Mistake { place, key: key.into(), text: text.into() });
    }

    /// The place of a key; `None` if it was not written or is already read.
    pub fn stands(&self, key: &str) -> Option<Place> {
        self.tree.get(key).map(|entry| entry.place.clone())
    }

    /// Whether the key was written as a table.
    pub fn is_table(&self, key: &str) -> bool {
        self.tree.get(key).is_some_and(|entry| matches!(entry.value, Value::Table(_)))
    }

    /// Puts back the unread rest of a table, for another reader.
    pub fn put_back(&mut self, key: &'static str, rest: Reader<'_>) {
        self.tree.insert(key.to_owned(), Entry { place: rest.place, value: Value::Table(rest.tree) });
    }

    /// Reads the value as written.
    pub fn take(&mut self, key: &'static str) -> Option<Entry> {
        self.asked.push(key);
        #[cfg(test)]
        ASKED.with_borrow_mut(|asked| asked.insert(self.key(key)));
        self.tree.remove(key)
    }

    fn read<T>(
        &mut self,
        key: &'static str,
        expected: &str,
        convert: impl FnOnce(&Value) -> Option<T>,
    ) -> Option<Found<T>> {
        let entry = self.take(key)?;
        let value = convert(&entry.value);
        if value.is_none() {
            let text = format!("invalid value {}: expected {expected}", shown(&entry.value));
            self.wrong_at(entry.place.clone(), self.key(key), text);
        }
        value.map(|value| Found { value, place: entry.place })
    }

    /// Reads a text.
    pub fn text(&mut self, key: &'static str) -> Option<Found<String>> {
        self.read(key, "a text in quotes", |value| match value {
            Value::Text(text) | Value::Untyped(text) => Some(text.clone()),
            _ => None,
        })
    }

    /// Reads true or false.
    pub fn boolean(&mut self, key: &'static str) -> Option<bool> {
        let found = self.read(key, "true or false", |value| match value {
            Value::Bool(truth) => Some(*truth),
            Value::Untyped(text) => text.parse().ok(),
            _ => None,
        });
        found.map(|found| found.value)
    }

    /// Reads a whole number within `range`.
    pub fn count(&mut self, key: &'static str, range: RangeInclusive<u32>) -> Option<u32> {
        let expected = format!("a whole number from {} to {}", range.start(), range.end());
        let found = self.read(key, &expected, |value| {
            let number = match value {
                Value::Integer(number) => *number,
                Value::Untyped(text) => text.trim().parse().ok()?,
                _ => return None,
            };
            u32::try_from(number).ok().filter(|number| range.contains(number))
        });
        found.map(|found| found.value)
    }

    /// Reads a duration within `range`.
    pub fn duration(&mut self, key: &'static str, range: RangeInclusive<Duration>) -> Option<Duration> {
        let (least, most) = (units::written(*range.start()), units::written(*range.end()));
        let expected = format!("a duration from {least} to {most}, such as \"30s\"");
        let found = self.read(key, &expected, |value| match value {
            Value::Text(text) | Value::Untyped(text) => {
                units::duration(text).filter(|duration| range.contains(duration))
            }
            _ => None,
        });
        found.map(|found| found.value)
    }

    /// Reads a size in bytes within `range`.
    pub fn bytes(&mut self, key: &'static str, range: RangeInclusive<u64>) -> Option<u64> {
        let expected = format!("a size from {} to {} bytes, such as \"25MB\"", range.start(), range.end());
        let found = self.read(key, &expected, |value| {
            let size = match value {
                Value::Integer(number) => u64::try_from(*number).ok()?,
                Value::Text(text) | Value::Untyped(text) => units::bytes(text)?,
                _ => return None,
            };
            Some(size).filter(|size| range.contains(size))
        });
        found.map(|found| found.value)
    }

    /// Reads a text and parses it; the error of `parse` describes what would be valid.
    pub fn parsed<T, E: Display>(
        &mut self,
        key: &'static str,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Option<T> {
        let found = self.text(key)?;
        match parse(&found.value) {
            Ok(value) => Some(value),
            Err(error) => {
                self.wrong_at(found.place, self.key(key), format!("`{}`: {error}", found.value));
                None
            }
        }
    }

    /// Reads a secret and resolves its reference.
    pub fn secret(&mut self, key: &'static str, allowed: References) -> Option<Found<Secret>> {
        let entry = self.take(key)?;
        let (Value::Text(written) | Value::Untyped(written)) = &entry.value else {
            let text = format!("invalid value {}: expected a text in quotes", entry.value.kind());
            self.wrong_at(entry.place, self.key(key), text);
            return None;
        };
        match resolve(written, allowed, self.context.follow) {
            Ok(value) => Some(Found { value, place: entry.place }),
            Err(text) => {
                self.wrong_at(entry.place, self.key(key), text);
                None
            }
        }
    }

    /// Reads any scalar value as text, for another parser.
    pub fn scalar(&mut self, key: &'static str) -> Option<String> {
        let found = self.read(key, "a single value", |value| match value {
            Value::Text(text) | Value::Untyped(text) => Some(text.clone()),
            Value::Integer(number) => Some(number.to_string()),
            Value::Float(number) => Some(number.to_string()),
            Value::Bool(truth) => Some(truth.to_string()),
            Value::List(_) | Value::Table(_) | Value::Time(_) => None,
        });
        found.map(|found| found.value)
    }

    /// Reads a number within `range`.
    pub fn number(&mut self, key: &'static str, range: RangeInclusive<f64>) -> Option<f64> {
        let expected = format!("a number from {} to {}", range.start(), range.end());
        self.read(key, &expected, |value| number(value, &range)).map(|found| found.value)
    }

    /// Reads this whole table as names with numbers within `range`.
    pub fn numbers(self, range: RangeInclusive<f64>) -> BTreeMap<String, f64> {
        let expected = format!("a number from {} to {}", range.start(), range.end());
        let one = |(name, entry): (&String, &Entry)| {
            let value = number(&entry.value, &range);
            if value.is_none() {
                let text = format!("invalid value {}: expected {expected}", shown(&entry.value));
                self.wrong_at(entry.place.clone(), self.key(name), text);
            }
            value.map(|value| (name.clone(), value))
        };
        self.tree.iter().filter_map(one).collect()
    }

    /// Reads a list of texts; in a variable they are separated by commas.
    pub fn texts(&mut self, key: &'static str) -> Vec<Found<String>> {
        let Some(entry) = self.take(key) else { return Vec::new() };
        let entries = match entry.value {
            Value::List(entries) => entries,
            Value::Untyped(text) => {
                let one = |part: &str| Entry {
                    value: Value::Text(part.trim().to_owned()),
                    place: entry.place.clone(),
                };
                text.split(',').map(one).collect()
            }
            other => vec![Entry { value: other, place: entry.place }],
        };
        let mut texts = Vec::with_capacity(entries.len());
        for entry in entries {
            if let Value::Text(value) = entry.value {
                texts.push(Found { value, place: entry.place });
            } else {
                let text = format!("invalid value {}: expected texts in quotes", shown(&entry.value));
                self.wrong_at(entry.place, self.key(key), text);
            }
        }
        texts
    }

    /// Reads a list of durations, each `most` at most.
    pub fn durations(&mut self, key: &'static str, most: Duration) -> Vec<Duration> {
        let texts = self.texts(key);
        let mut durations = Vec::with_capacity(texts.len());
        for found in texts {
            let Some(duration) = units::duration(&found.value).filter(|duration| *duration <= most) else {
                let (wrong, most) = (&found.value, units::written(most));
                let text =
                    format!("invalid value `{wrong}`: expected durations up to {most}, such as \"500ms\"");
                self.wrong_at(found.place, self.key(key), text);
                continue;
            };
            durations.push(duration);
        }
        durations
    }

    /// Reads any scalar value as text, and resolves it if it is a secret reference.
    pub fn option(&mut self, key: &'static str) -> Option<String> {
        let place = self.stands(key);
        let written = self.scalar(key)?;
        match resolve(&written, References::All, self.context.follow) {
            Ok(value) => Some(value.reveal().to_owned()),
            Err(text) => {
                self.wrong_at(place.unwrap_or_else(|| self.place.clone()), self.key(key), text);
                None
            }
        }
    }

    /// Reads a table within this table.
    pub fn table(&mut self, key: &'static str) -> Option<Reader<'a>> {
        let entry = self.take(key)?;
        self.inner(key, entry)
    }

    /// Reads a table of named tables: `[stores.NAME]`.
    pub fn tables(&mut self, key: &'static str) -> Vec<(String, Reader<'a>)> {
        let Some(Reader { tree, path, context, .. }) = self.table(key) else { return Vec::new() };
        let outer = Reader::new(context, path, self.place.clone(), Tree::new());
        tree.into_iter()
            .filter_map(|(name, entry)| outer.inner(&name, entry).map(|inner| (name, inner)))
            .collect()
    }

    /// Reads a list of tables: `[[mail.dkim]]`.
    pub fn list_of_tables(&mut self, key: &'static str) -> Vec<Reader<'a>> {
        let Some(entry) = self.take(key) else { return Vec::new() };
        match entry.value {
            Value::List(list) => list.into_iter().filter_map(|entry| self.inner(key, entry)).collect(),
            _ => self.inner(key, entry).into_iter().collect(),
        }
    }

    fn inner(&self, key: &str, entry: Entry) -> Option<Reader<'a>> {
        let path = self.key(key);
        match entry.value {
            Value::Table(tree) => Some(Reader::new(self.context, path, entry.place, tree)),
            other => {
                let text = format!("invalid value {}: expected a table, `[{path}]`", shown(&other));
                self.wrong_at(entry.place, path, text);
                None
            }
        }
    }

    /// Records a mistake if a required key is missing.
    pub fn required<T>(&self, key: &str, found: Option<T>, example: &str) -> Option<T> {
        if found.is_none() && !self.has_mistake_at(&self.key(key)) {
            self.wrong(format!("`{key}` is missing: set {example}"));
        }
        found
    }

    fn has_mistake_at(&self, key: &str) -> bool {
        self.context.mistakes.borrow().iter().any(|mistake| mistake.key == key)
    }

    /// Records every key that was not read as unknown.
    pub fn finish(self) {
        for (key, entry) in &self.tree {
            let text = format!("unknown key{}", suggest(key, self.asked.iter().copied()));
            self.wrong_at(entry.place.clone(), self.key(key), text);
        }
    }
}

/// A value and its place, for mistakes that are found later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found<T> {
    pub value: T,
    pub place: Place,
}

fn number(value: &Value, range: &RangeInclusive<f64>) -> Option<f64> {
    let number = match value {
        #[expect(clippy::cast_precision_loss, reason = "a rate or a share: far below 2^53")]
        Value::Integer(number) => *number as f64,
        Value::Float(number) => *number,
        Value::Untyped(text) => text.trim().parse().ok()?,
        _ => return None,
    };
    Some(number).filter(|number| range.contains(number))
}

fn shown(value: &Value) -> String {
    match value {
        Value::Text(text) | Value::Untyped(text) | Value::Time(text) => format!("`{text}`"),
        Value::Integer(number) => format!("`{number}`"),
        Value::Float(number) => format!("`{number}`"),
        Value::Bool(truth) => format!("`{truth}`"),
        Value::List(_) | Value::Table(_) => value.kind().to_owned(),
    }
}
