//! Rewrites old spellings of the language to the current ones, in the raw tree, before it is read.
//!
//! Owns: the list of renamed keys and values. The other files of the parser know only the current language. Invariant:
//! an old spelling means the same as the new one, also if a layer uses the old one and the file the new one.

use postrider_config::{Entry, Mistake, Node, Place, Value, join};

use crate::Layer;

/// Renamed keys: the table, the old key, the new key. A value that is a table keeps its key: `[stage.retryable]` is the
/// schedule of a stage, `retry = "STATE"` was a state.
const KEYS: [(&str, &str, &str); 7] = [
    ("stage.*", "retry", "retryable"),
    ("stage.*.retry", "asked", "retry_after"),
    ("retry", "asked", "retry_after"),
    ("due", "wish", "retry_after"),
    ("sweep.*", "bars_claims", "blocks_claims"),
    ("sweep.*", "only", "only_if"),
    ("history", "tells", "reached_for"),
];

/// Renamed values: the table, the (new) key, the old value, the new value.
const VALUES: [(&str, &str, &str, &str); 3] = [
    ("stage.*.retry", "retry_after", "least", "minimum"),
    ("retry", "retry_after", "least", "minimum"),
    ("sweep.*", "only_if", "queued", "external_queue"),
];

/// Tables of `column = value`, and what a `?` at the end of a value meant there.
const ASSIGNMENTS: [(&str, &str); 3] =
    [("write.*", " or keep"), ("sweep.*.write", " or keep"), ("effect.*.values", " or null")];

/// The meaning of a `?` at the end of a value inside a JSON object.
const IN_JSON: &str = " or null";

/// An old spelling in a contract or a layer.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct OldSpelling {
    place: Place,
    /// 0 is the file, `n` the `n`-th layer.
    layer: usize,
    /// The key as it was written.
    path: String,
    what: String,
    remedy: String,
    /// Whether the new spelling is given too, in the same file or layer.
    conflict: bool,
}

impl OldSpelling {
    /// Returns the warning about this spelling.
    pub(super) fn warning(self) -> Mistake {
        Mistake { place: self.place, key: self.path, what: self.what, remedy: self.remedy }
    }

    /// Returns the mistake if both spellings are given.
    pub(super) fn conflict(self, layers: &[Layer]) -> Option<Mistake> {
        let prefix = self.layer.checked_sub(1).and_then(|index| layers.get(index));
        let key = prefix.map_or_else(|| self.path.clone(), |layer| join(&layer.prefix, &self.path));
        let what = format!("{}, which is given too", self.what);
        let remedy = "keep only the new one".to_owned();
        self.conflict.then_some(Mistake { place: self.place, key, what, remedy })
    }
}

/// Rewrites every old spelling below `root`, and returns what it rewrote.
pub(super) fn rewrite(root: &mut Node) -> Vec<OldSpelling> {
    let mut found = Vec::new();
    for (table, old, new) in KEYS {
        each_table(root, "", table, &mut |path, entries| rename(path, entries, old, new, &mut found));
    }
    each_table(root, "", "stage.*", &mut |path, entries| lift_state(path, entries, &mut found));
    for (table, key, old, new) in VALUES {
        each_table(root, "", table, &mut |path, entries| {
            let Some(entry) = entries.iter_mut().find(|entry| entry.key == key) else { return };
            if matches!(&entry.node.value, Value::Text(text) if text == old) {
                entry.node.value = Value::Text(new.to_owned());
                let what = format!("\"{old}\" is now called \"{new}\"");
                found.push(renamed(
                    (&entry.node.place, entry.node.layer),
                    join(path, key),
                    what,
                    format!("write {key} = \"{new}\""),
                ));
            }
        });
    }
    for (table, absent) in ASSIGNMENTS {
        each_table(root, "", table, &mut |path, entries| {
            for entry in entries {
                absent_value(&join(path, &entry.key), &mut entry.node, absent, &mut found);
            }
        });
    }
    found
}

fn renamed((place, layer): (&Place, usize), path: String, what: String, remedy: String) -> OldSpelling {
    OldSpelling { place: place.clone(), layer, path, what, remedy, conflict: false }
}

/// Calls `act` with every table that matches the pattern; a star stands for one key, or for one element of a list.
fn each_table(node: &mut Node, path: &str, pattern: &str, act: &mut dyn FnMut(&str, &mut Vec<Entry>)) {
    let (first, rest) = pattern.split_once('.').unwrap_or((pattern, ""));
    match &mut node.value {
        Value::Table(entries) if first.is_empty() => act(path, entries),
        Value::Table(entries) => {
            for entry in entries.iter_mut().filter(|entry| first == "*" || entry.key == first) {
                each_table(&mut entry.node, &join(path, &entry.key), rest, act);
            }
        }
        Value::List(items) if first == "*" => {
            for (index, item) in items.iter_mut().enumerate() {
                let name = item.name().map_or_else(|| (index + 1).to_string(), str::to_owned);
                each_table(item, &join(path, &name), rest, act);
            }
        }
        _ => {}
    }
}

fn rename(path: &str, entries: &mut Vec<Entry>, old: &str, new: &str, found: &mut Vec<OldSpelling>) {
    let is_old = |entry: &Entry| entry.key == old && !matches!(entry.node.value, Value::Table(_));
    let Some(index) = entries.iter().position(is_old) else { return };
    let entry = entries.remove(index);
    let what = format!("`{old}` is now called `{new}`");
    let spelling = renamed((&entry.place, entry.node.layer), join(path, old), what, "rename it".to_owned());
    found.push(put(entries, entry, new, spelling));
}

/// Moves `[stage.retryable] to`, which was a state, to the stage.
fn lift_state(path: &str, entries: &mut Vec<Entry>, found: &mut Vec<OldSpelling>) {
    let retry = entries.iter_mut().find(|entry| entry.key == "retry");
    let Some(Value::Table(inner)) = retry.map(|entry| &mut entry.node.value) else { return };
    let Some(index) = inner.iter().position(|entry| entry.key == "to") else { return };
    let entry = inner.remove(index);
    let what = "`retry.to` is now the key `retryable` of the stage".to_owned();
    let remedy = "move it to the stage, and rename it to `retryable`".to_owned();
    let spelling = renamed((&entry.place, entry.node.layer), join(path, "retry.to"), what, remedy);
    found.push(put(entries, entry, "retryable", spelling));
}

/// Adds the entry under its new key. It replaces a value of that key from another source, over which it was merged.
fn put(entries: &mut Vec<Entry>, mut entry: Entry, new: &str, mut spelling: OldSpelling) -> OldSpelling {
    new.clone_into(&mut entry.key);
    match entries.iter_mut().find(|known| known.key == new) {
        Some(known) if known.node.layer == entry.node.layer => spelling.conflict = true,
        Some(known) => *known = entry,
        None => entries.push(entry),
    }
    spelling
}

/// Replaces the `?` at the end of a value by what it meant.
fn absent_value(path: &str, node: &mut Node, absent: &str, found: &mut Vec<OldSpelling>) {
    match &mut node.value {
        Value::Text(text) if text.starts_with('$') && !text.starts_with("$$") => {
            let Some(name) = text.strip_suffix('?') else { return };
            let new = format!("{name}{absent}");
            let what = format!("`{text}`: a `?` marks only columns that the table may lack");
            found.push(renamed((&node.place, node.layer), path.to_owned(), what, format!("write \"{new}\"")));
            *text = new;
        }
        Value::Table(entries) => {
            for entry in entries {
                absent_value(&join(path, &entry.key), &mut entry.node, IN_JSON, found);
            }
        }
        _ => {}
    }
}
