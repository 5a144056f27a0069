//! Reads a table key by key. A key that is never read is unknown.

use std::cell::{Cell, RefCell};

use crate::item::Item;
use crate::mistake::Place;
use crate::node::{Entry, Node};
use crate::report::{Report, join};
use crate::suggest::suggestion;

/// A table being read. A key that was not read before [`TableReader::finish`] is reported as unknown.
pub struct TableReader<'a> {
    pub report: &'a Report,
    /// The full name of the table; empty for the document itself.
    pub path: String,
    node: &'a Node,
    known: RefCell<Vec<&'static str>>,
    open: Cell<bool>,
}

impl<'a> TableReader<'a> {
    /// Creates the reader of a whole document.
    pub fn root(report: &'a Report, node: &'a Node) -> Self {
        Self::new(report, String::new(), node)
    }

    /// Creates the reader of a table; `path` is its full name.
    pub fn new(report: &'a Report, path: String, node: &'a Node) -> Self {
        Self { report, path, node, known: RefCell::default(), open: Cell::new(false) }
    }

    /// Returns the place of the table.
    pub fn place(&self) -> &'a Place {
        &self.node.place
    }

    /// Returns the full name of a key of this table: `stores.main.url`.
    pub fn key(&self, key: &str) -> String {
        join(&self.path, key)
    }

    /// Returns the value of `key`, if it is given.
    pub fn get(&self, key: &'static str) -> Option<Item<'a>> {
        self.report.mark_read(self.key(key));
        self.known.borrow_mut().push(key);
        self.node.entry(key).map(|entry| self.item(entry))
    }

    /// Returns the value of `key`; reports a mistake if it is not given.
    pub fn required(&self, key: &'static str, remedy: &str) -> Option<Item<'a>> {
        let found = self.get(key);
        if found.is_none() {
            let (key, what) = (self.key(key), "is required".to_owned());
            self.report.add_at(&self.node.place, self.node.layer, &key, what, remedy.to_owned());
        }
        found
    }

    /// Returns every entry, for tables whose keys the user chooses.
    pub fn all(&self) -> impl Iterator<Item = (&'a str, Item<'a>)> + '_ {
        self.open.set(true);
        self.node.entries().iter().map(|entry| (entry.key.as_str(), self.item(entry)))
    }

    fn item(&self, entry: &'a Entry) -> Item<'a> {
        Item { report: self.report, path: self.key(&entry.key), node: &entry.node }
    }

    /// Returns the table under `key`; `None` if it is absent, or is not a table (reported).
    pub fn table(&self, key: &'static str) -> Option<Self> {
        self.get(key)?.table()
    }

    /// Reports a mistake about this table as a whole.
    pub fn mistake(&self, what: impl Into<String>, remedy: impl Into<String>) {
        self.report.add_at(&self.node.place, self.node.layer, &self.path, what.into(), remedy.into());
    }

    /// Reports every key that was not read.
    pub fn finish(&self) {
        if self.open.get() {
            return;
        }
        let known = self.known.borrow();
        for entry in self.node.entries() {
            if !known.contains(&entry.key.as_str()) {
                let remedy = suggestion(&entry.key, known.iter().copied());
                let (layer, key) = (entry.node.layer, self.key(&entry.key));
                self.report.add_at(&entry.place, layer, &key, "unknown key".to_owned(), remedy);
            }
        }
    }
}
