//! Collects the mistakes in one configuration document, each with its key and its location (file and line).

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use crate::mistake::{Mistake, Mistakes, Place};
use crate::node::{Node, Value};

/// The mistakes found so far in one document and the layers over it.
pub struct Report {
    whole: Place,
    /// The prefix of keys of each layer in messages: `lanes.mail`.
    prefixes: Vec<String>,
    /// The place and the layer of every key.
    keys: BTreeMap<String, (Place, usize)>,
    mistakes: RefCell<Vec<Mistake>>,
    /// Every key that was read, so that a test can compare it with a list of keys.
    keys_read: RefCell<BTreeSet<String>>,
}

impl Report {
    /// Creates an empty report about a document.
    pub fn new(root: &Node) -> Self {
        Self::with_layers(root, Vec::new())
    }

    /// Creates an empty report about a document with layers, whose keys have these prefixes in messages.
    pub fn with_layers(root: &Node, prefixes: Vec<String>) -> Self {
        let mut keys = BTreeMap::new();
        collect(&mut keys, "", root);
        let (mistakes, keys_read) = (RefCell::default(), RefCell::default());
        Self { whole: root.place.clone(), prefixes, keys, mistakes, keys_read }
    }

    /// Adds a mistake.
    pub fn add(&self, mistake: Mistake) {
        self.mistakes.borrow_mut().push(mistake);
    }

    /// Reports a mistake about a value.
    pub(crate) fn add_at(&self, place: &Place, layer: usize, key: &str, what: String, remedy: String) {
        let key = match layer.checked_sub(1).and_then(|index| self.prefixes.get(index)) {
            Some(prefix) => join(prefix, key),
            None => key.to_owned(),
        };
        self.add(Mistake { place: place.clone(), key, what, remedy });
    }

    /// Reports a mistake about a key; an absent key is reported at the place of the nearest one above it.
    pub fn add_for_key(&self, key: &str, what: impl Into<String>, remedy: impl Into<String>) {
        let mut near = Some(key);
        let found = std::iter::from_fn(|| {
            let this = near?;
            near = this.rsplit_once('.').map(|(above, _)| above);
            Some(self.keys.get(this))
        });
        let (place, layer) =
            found.flatten().next().map_or((&self.whole, 0), |(place, layer)| (place, *layer));
        self.add_at(place, layer, key, what.into(), remedy.into());
    }

    /// Whether the key is given, in the document or in a layer.
    pub fn has_key(&self, key: &str) -> bool {
        self.keys.contains_key(key)
    }

    /// Whether a mistake about this key was reported.
    pub fn has_mistake_at(&self, key: &str) -> bool {
        self.mistakes.borrow().iter().any(|mistake| mistake.key == key)
    }

    /// Returns, of keys that conflict, the one that a layer set; else the first.
    pub fn outermost(&self, keys: &[String]) -> String {
        let outside = keys.iter().find(|key| self.keys.get(*key).is_some_and(|(_, layer)| *layer > 0));
        outside.or(keys.first()).cloned().unwrap_or_default()
    }

    pub(crate) fn mark_read(&self, key: String) {
        self.keys_read.borrow_mut().insert(key);
    }

    /// Returns every key that was read so far.
    pub fn keys_read(&self) -> BTreeSet<String> {
        self.keys_read.borrow().clone()
    }

    /// Returns the collected mistakes; `Ok` if there are none.
    pub fn finish(self) -> Result<(), Mistakes> {
        Mistakes::check(self.mistakes.into_inner())
    }
}

fn collect(keys: &mut BTreeMap<String, (Place, usize)>, path: &str, node: &Node) {
    match &node.value {
        Value::Table(entries) => {
            for entry in entries {
                let path = join(path, &entry.key);
                keys.insert(path.clone(), (entry.place.clone(), entry.node.layer));
                collect(keys, &path, &entry.node);
            }
        }
        Value::List(items) => {
            for (index, item) in items.iter().enumerate() {
                let path = element(path, index, item);
                keys.insert(path.clone(), (item.place.clone(), item.layer));
                collect(keys, &path, item);
            }
        }
        _ => {}
    }
}

/// Joins a path and a key with a dot.
pub fn join(path: &str, key: &str) -> String {
    match (path, key) {
        ("", key) => key.to_owned(),
        (path, "") => path.to_owned(),
        (path, key) => format!("{path}.{key}"),
    }
}

/// Returns the path of a list element: `stage.send` if it has a name, else `sweep.2`, from 1.
pub(crate) fn element(path: &str, index: usize, item: &Node) -> String {
    match item.name() {
        Some(name) => join(path, name),
        None => join(path, &(index + 1).to_string()),
    }
}
