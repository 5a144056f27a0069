//! Reads the raw tree key by key. Every value knows its key path; mistakes are collected and reading continues.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::time::Duration;

use crate::problem::Problem;
use crate::raw::{Entry, Node, Place, Raw};
use crate::words;
use crate::{Layer, Literal};

#[cfg(test)]
thread_local! {
    /// Every key that was read, so that a test can compare it with the list of keys.
    pub(crate) static ASKED: RefCell<std::collections::BTreeSet<String>> = RefCell::default();
}

/// Collects mistakes, and knows the place of each key.
pub(crate) struct Log<'a> {
    file: &'a str,
    text: &'a str,
    layers: &'a [Layer],
    places: BTreeMap<String, Place>,
    problems: RefCell<Vec<Problem>>,
}

impl<'a> Log<'a> {
    /// Creates an empty log; `file` only names the source in messages.
    pub fn new(file: &'a str, text: &'a str, layers: &'a [Layer]) -> Self {
        Self { file, text, layers, places: BTreeMap::new(), problems: RefCell::default() }
    }

    /// Records the place of every key below `root`, so that later checks can refer to keys alone.
    pub fn learn(&mut self, root: &Node) {
        learn(&mut self.places, "", root);
    }

    /// Reports a mistake at a place.
    pub fn at(&self, place: Place, key: &str, what: impl Into<String>, remedy: impl Into<String>) {
        let (origin, place, key) = match place {
            Place::File(offset) => {
                (self.file.to_owned(), Some(line_and_column(self.text, offset)), key.to_owned())
            }
            Place::Layer(index) => {
                let layer = &self.layers[index];
                (layer.origin.clone(), None, layer.label(key))
            }
        };
        let (what, remedy) = (what.into(), remedy.into());
        self.problems.borrow_mut().push(Problem { origin, place, key, what, remedy });
    }

    /// Reports a mistake at a key; an absent key is reported at the nearest one above it.
    pub fn key(&self, key: &str, what: impl Into<String>, remedy: impl Into<String>) {
        let mut near = key;
        let place = loop {
            if let Some(place) = self.places.get(near) {
                break *place;
            }
            match near.rfind('.') {
                Some(dot) => near = &near[..dot],
                None => break Place::File(0),
            }
        };
        self.at(place, key, what, remedy);
    }

    /// Whether the key is given in the file or a layer.
    pub fn knows(&self, key: &str) -> bool {
        self.places.contains_key(key)
    }

    /// Returns, of keys that conflict, the one that a layer set; else the first.
    pub fn outermost(&self, keys: &[String]) -> String {
        let outside = keys.iter().find(|key| matches!(self.places.get(*key), Some(Place::Layer(_))));
        outside.or(keys.first()).cloned().unwrap_or_default()
    }

    /// Returns the collected mistakes, in the order in which they were found.
    pub fn into_problems(self) -> Vec<Problem> {
        self.problems.into_inner()
    }
}

fn learn(places: &mut BTreeMap<String, Place>, path: &str, node: &Node) {
    match &node.value {
        Raw::Table(entries) => {
            for entry in entries {
                let path = join(path, &entry.key);
                places.insert(path.clone(), entry.place);
                learn(places, &path, &entry.node);
            }
        }
        Raw::List(items) => {
            for (index, item) in items.iter().enumerate() {
                let path = element(path, index, item);
                places.insert(path.clone(), item.place);
                learn(places, &path, item);
            }
        }
        _ => {}
    }
}

pub(crate) fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

/// Returns the path of a list element: `stage.send` if it has a name, else `sweep.2`, from 1.
fn element(path: &str, index: usize, item: &Node) -> String {
    match item.name() {
        Some(name) => join(path, name),
        None => join(path, &(index + 1).to_string()),
    }
}

pub(crate) fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    let before = &text[..offset];
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (before.matches('\n').count() + 1, before[start..].chars().count() + 1)
}

/// A table being read. A key that was not read before [`Scope::finish`] is reported as unknown.
pub(crate) struct Scope<'a> {
    pub log: &'a Log<'a>,
    pub path: String,
    place: Place,
    entries: &'a [Entry],
    known: RefCell<Vec<&'static str>>,
    open: Cell<bool>,
}

/// A value being read.
#[derive(Clone)]
pub(crate) struct Item<'a> {
    pub log: &'a Log<'a>,
    pub path: String,
    pub node: &'a Node,
}

impl<'a> Scope<'a> {
    /// Creates the scope of the file's root table.
    pub fn root(log: &'a Log<'a>, node: &'a Node) -> Self {
        let entries: &[Entry] = if let Raw::Table(entries) = &node.value { entries } else { &[] };
        Self {
            log,
            path: String::new(),
            place: node.place,
            entries,
            known: RefCell::default(),
            open: Cell::new(false),
        }
    }

    /// Returns the value of `key`, if it is given.
    pub fn get(&self, key: &'static str) -> Option<Item<'a>> {
        #[cfg(test)]
        ASKED.with_borrow_mut(|asked| asked.insert(join(&self.path, key)));
        self.known.borrow_mut().push(key);
        let entry = self.entries.iter().find(|entry| entry.key == key)?;
        Some(Item { log: self.log, path: join(&self.path, key), node: &entry.node })
    }

    /// Returns the value of `key`; reports a mistake if it is not given.
    pub fn need(&self, key: &'static str, remedy: &str) -> Option<Item<'a>> {
        let found = self.get(key);
        if found.is_none() {
            self.log.at(self.place, &join(&self.path, key), "is required", remedy);
        }
        found
    }

    /// Returns every entry, for tables whose keys the user chooses.
    pub fn all(&self) -> impl Iterator<Item = (&'a str, Item<'a>)> + '_ {
        self.open.set(true);
        self.entries.iter().map(|entry| {
            let path = join(&self.path, &entry.key);
            (entry.key.as_str(), Item { log: self.log, path, node: &entry.node })
        })
    }

    /// Returns the table under `key`; `None` if it is absent, or is not a table (reported).
    pub fn scope(&self, key: &'static str) -> Option<Scope<'a>> {
        self.get(key)?.scope()
    }

    /// Reports every key that was not read.
    pub fn finish(&self) {
        if self.open.get() {
            return;
        }
        let known = self.known.borrow();
        for entry in self.entries {
            if !known.contains(&entry.key.as_str()) {
                let remedy = words::meant(&entry.key, known.iter().copied());
                self.log.at(entry.place, &join(&self.path, &entry.key), "unknown key", remedy);
            }
        }
    }
}

impl<'a> Item<'a> {
    /// Reports a mistake at this value.
    pub fn wrong(&self, what: impl Into<String>, remedy: impl Into<String>) {
        self.log.at(self.node.place, &self.path, what, remedy);
    }

    fn expected<T>(&self, expected: &str) -> Option<T> {
        self.wrong(format!("expected {expected}, found {}", self.node.value.kind()), "");
        None
    }

    /// Returns the text; any other kind of value is reported.
    pub fn text(&self) -> Option<&'a str> {
        match &self.node.value {
            Raw::Text(text) => Some(text),
            _ => self.expected("text"),
        }
    }

    /// Returns the boolean; any other kind of value is reported.
    pub fn truth(&self) -> Option<bool> {
        match self.node.value {
            Raw::Bool(truth) => Some(truth),
            _ => self.expected("true or false"),
        }
    }

    /// Returns the whole number; one outside the range is reported.
    pub fn number(&self, range: std::ops::RangeInclusive<u32>) -> Option<u32> {
        let Raw::Int(number) = self.node.value else { return self.expected("a whole number") };
        match u32::try_from(number) {
            Ok(number) if range.contains(&number) => Some(number),
            _ => {
                let (from, to) = range.into_inner();
                let allowed =
                    if to == u32::MAX { format!("at least {from}") } else { format!("{from} to {to}") };
                self.wrong(format!("{number} is out of range"), format!("allowed: {allowed}"));
                None
            }
        }
    }

    /// Returns the number; one outside the range is reported.
    #[expect(clippy::cast_precision_loss, reason = "a whole number where a fraction is asked for is small")]
    pub fn fraction(&self, range: std::ops::RangeInclusive<f64>) -> Option<f64> {
        let number = match self.node.value {
            Raw::Int(number) => number as f64,
            Raw::Float(number) => number,
            _ => return self.expected("a number"),
        };
        if range.contains(&number) {
            return Some(number);
        }
        self.wrong(
            format!("{number} is out of range"),
            format!("allowed: {} to {}", range.start(), range.end()),
        );
        None
    }

    /// Returns the duration, at most [`LONGEST`]; anything else is reported.
    pub fn duration(&self) -> Option<Duration> {
        match &self.node.value {
            Raw::Text(text) => match crate::duration(text) {
                Ok(duration) if duration <= LONGEST => Some(duration),
                Ok(_) => {
                    self.wrong(format!("{text:?} is out of range"), "allowed: up to 3650 days");
                    None
                }
                Err(remedy) => {
                    self.wrong(format!("{text:?} is no duration"), remedy);
                    None
                }
            },
            Raw::Int(number) => {
                self.wrong(format!("{number} has no unit"), format!("write \"{number}s\" for seconds"));
                None
            }
            _ => self.expected("a duration such as \"30s\""),
        }
    }

    /// Returns the duration; zero is reported.
    pub fn positive(&self) -> Option<Duration> {
        let duration = self.duration()?;
        if duration.is_zero() {
            self.wrong("can't be zero", "write for example \"30s\"");
            return None;
        }
        Some(duration)
    }

    /// Returns the constant; a list or table is reported.
    pub fn literal(&self) -> Option<Literal> {
        match &self.node.value {
            Raw::Text(text) => Some(Literal::Text(text.clone())),
            Raw::Int(number) => Some(Literal::Int(*number)),
            Raw::Float(number) => Some(Literal::Float(*number)),
            Raw::Bool(truth) => Some(Literal::Bool(*truth)),
            _ => self.expected("text, a number, or true or false"),
        }
    }

    /// Returns the choice whose word this is; any other word is reported.
    pub fn choice<T: Copy>(&self, choices: &[(&'static str, T)]) -> Option<T> {
        let text = self.text()?;
        let found = choices.iter().find(|(word, _)| *word == text);
        if found.is_none() {
            let remedy = words::meant(text, choices.iter().map(|(word, _)| *word));
            self.wrong(format!("{text:?} is not one of the choices"), remedy);
        }
        found.map(|(_, value)| *value)
    }

    /// Whether the value is a table.
    pub fn is_table(&self) -> bool {
        matches!(self.node.value, Raw::Table(_))
    }

    /// Returns the table; any other kind of value is reported.
    pub fn scope(&self) -> Option<Scope<'a>> {
        match &self.node.value {
            Raw::Table(entries) => Some(Scope {
                log: self.log,
                path: self.path.clone(),
                place: self.node.place,
                entries,
                known: RefCell::default(),
                open: Cell::new(false),
            }),
            _ => self.expected("a table"),
        }
    }

    /// Returns the elements of a list; a single value counts as a list of one.
    pub fn one_or_many(&self) -> Vec<Item<'a>> {
        match &self.node.value {
            Raw::List(items) => self.elements(items),
            _ => vec![self.clone()],
        }
    }

    /// Returns the elements of a list; any other kind of value is reported.
    pub fn list(&self) -> Option<Vec<Item<'a>>> {
        match &self.node.value {
            Raw::List(items) => Some(self.elements(items)),
            _ => self.expected("a list"),
        }
    }

    fn elements(&self, items: &'a [Node]) -> Vec<Item<'a>> {
        items
            .iter()
            .enumerate()
            .map(|(index, node)| Item { log: self.log, path: element(&self.path, index, node), node })
            .collect()
    }
}

/// The longest duration in a contract, ten years: sums stay far below the limits of every database.
const LONGEST: Duration = Duration::from_hours(3_650 * 24);
