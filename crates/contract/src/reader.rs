//! Reading the raw tree key by key: every value with its key path, every mistake noted, reading goes on.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::time::Duration;

use crate::problem::Problem;
use crate::raw::{Entry, Node, Place, Raw};
use crate::words;
use crate::{Layer, Literal};

#[cfg(test)]
thread_local! {
    /// Every key that was asked for, so that a test can compare the list of keys with them.
    pub(crate) static ASKED: RefCell<std::collections::BTreeSet<String>> = RefCell::default();
}

/// Collects mistakes, and knows where each key stands.
pub(crate) struct Log<'a> {
    file: &'a str,
    text: &'a str,
    layers: &'a [Layer],
    places: BTreeMap<String, Place>,
    problems: RefCell<Vec<Problem>>,
}

impl<'a> Log<'a> {
    pub fn new(file: &'a str, text: &'a str, layers: &'a [Layer]) -> Self {
        Self { file, text, layers, places: BTreeMap::new(), problems: RefCell::default() }
    }

    /// Remembers the place of every key below `root`, so that later checks can name keys alone.
    pub fn learn(&mut self, root: &Node) {
        learn(&mut self.places, "", root);
    }

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

    /// A mistake at a key, wherever it stands; a key that is not there counts as the nearest one above it.
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

    /// Is the key given anywhere?
    pub fn knows(&self, key: &str) -> bool {
        self.places.contains_key(key)
    }

    /// Of keys that are wrong together, the one that was set from outside the file; else the first.
    pub fn outermost(&self, keys: &[String]) -> String {
        let outside = keys.iter().find(|key| matches!(self.places.get(*key), Some(Place::Layer(_))));
        outside.or(keys.first()).cloned().unwrap_or_default()
    }

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

/// `stage.send` where the element has a name, else `sweep.2`, from 1.
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

/// A table being read. Whatever is not asked for by the time of [`Scope::finish`] is unknown, and a mistake.
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

    /// The value under `key`, if it is there.
    pub fn get(&self, key: &'static str) -> Option<Item<'a>> {
        #[cfg(test)]
        ASKED.with_borrow_mut(|asked| asked.insert(join(&self.path, key)));
        self.known.borrow_mut().push(key);
        let entry = self.entries.iter().find(|entry| entry.key == key)?;
        Some(Item { log: self.log, path: join(&self.path, key), node: &entry.node })
    }

    /// The value under `key`; a mistake if it is not there.
    pub fn need(&self, key: &'static str, remedy: &str) -> Option<Item<'a>> {
        let found = self.get(key);
        if found.is_none() {
            self.log.at(self.place, &join(&self.path, key), "is required", remedy);
        }
        found
    }

    /// Every entry, for tables whose keys are the user's own.
    pub fn all(&self) -> impl Iterator<Item = (&'a str, Item<'a>)> + '_ {
        self.open.set(true);
        self.entries.iter().map(|entry| {
            let path = join(&self.path, &entry.key);
            (entry.key.as_str(), Item { log: self.log, path, node: &entry.node })
        })
    }

    pub fn scope(&self, key: &'static str) -> Option<Scope<'a>> {
        self.get(key)?.scope()
    }

    /// Complains about every key that nobody asked for.
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
    pub fn wrong(&self, what: impl Into<String>, remedy: impl Into<String>) {
        self.log.at(self.node.place, &self.path, what, remedy);
    }

    fn expected<T>(&self, expected: &str) -> Option<T> {
        self.wrong(format!("expected {expected}, found {}", self.node.value.kind()), "");
        None
    }

    pub fn text(&self) -> Option<&'a str> {
        match &self.node.value {
            Raw::Text(text) => Some(text),
            _ => self.expected("text"),
        }
    }

    pub fn truth(&self) -> Option<bool> {
        match self.node.value {
            Raw::Bool(truth) => Some(truth),
            _ => self.expected("true or false"),
        }
    }

    /// A whole number in a range.
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

    /// A number in a range.
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

    pub fn positive(&self) -> Option<Duration> {
        let duration = self.duration()?;
        if duration.is_zero() {
            self.wrong("can't be zero", "write for example \"30s\"");
            return None;
        }
        Some(duration)
    }

    pub fn literal(&self) -> Option<Literal> {
        match &self.node.value {
            Raw::Text(text) => Some(Literal::Text(text.clone())),
            Raw::Int(number) => Some(Literal::Int(*number)),
            Raw::Float(number) => Some(Literal::Float(*number)),
            Raw::Bool(truth) => Some(Literal::Bool(*truth)),
            _ => self.expected("text, a number, or true or false"),
        }
    }

    /// One of a few words.
    pub fn choice<T: Copy>(&self, choices: &[(&'static str, T)]) -> Option<T> {
        let text = self.text()?;
        let found = choices.iter().find(|(word, _)| *word == text);
        if found.is_none() {
            let remedy = words::meant(text, choices.iter().map(|(word, _)| *word));
            self.wrong(format!("{text:?} is not one of the choices"), remedy);
        }
        found.map(|(_, value)| *value)
    }

    pub fn is_table(&self) -> bool {
        matches!(self.node.value, Raw::Table(_))
    }

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

    /// The elements of a list, or the value alone where one is as good as a list of one.
    pub fn one_or_many(&self) -> Vec<Item<'a>> {
        match &self.node.value {
            Raw::List(items) => self.elements(items),
            _ => vec![self.clone()],
        }
    }

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

/// Ten years: nothing in a contract waits longer, and sums stay far from any database's limits.
const LONGEST: Duration = Duration::from_hours(3_650 * 24);
