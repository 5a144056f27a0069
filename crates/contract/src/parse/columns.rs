//! Parses `[table]` and `[columns]`, and resolves column names in the rest of the file.

use std::collections::{BTreeMap, BTreeSet};

use postrider_config::{Item, Node, TableReader, Value, suggestion};

use crate::identifier::identifier;
use crate::{Column, ColumnRole, Columns, Table, TimeForm};

use super::message::is_group;

/// The column names of the file that layers have renamed.
pub(crate) struct Names {
    renamed: BTreeMap<String, String>,
}

impl Names {
    /// Compares the file (`base`) with the merged tree (`root`).
    pub fn new(base: &Node, root: &Node) -> Self {
        let (before, after) = (mapped(base), mapped(root));
        let still_used: BTreeSet<&String> = after.values().collect();
        let renamed = before
            .iter()
            .filter_map(|(key, old)| after.get(key).map(|new| (old.clone(), new.clone())))
            .filter(|(old, new)| old != new && !still_used.contains(old))
            .collect();
        Self { renamed }
    }

    /// Returns the column that a key or value mentions, under its name in this lane.
    pub fn column(&self, name: &str, item: &Item<'_>) -> String {
        let name = self.renamed(name, item);
        check(&name, item);
        name
    }

    /// Returns the same without a check of the name.
    pub fn renamed(&self, name: &str, item: &Item<'_>) -> String {
        let in_file = item.node.layer == 0;
        let renamed = self.renamed.get(name).filter(|_| in_file);
        renamed.map_or(name, String::as_str).to_owned()
    }

    /// Returns the same for a name that may end in `?`.
    pub fn optional(&self, name: &str, item: &Item<'_>) -> Column {
        let (bare, optional) = split(name);
        Column { name: self.column(bare, item), optional }
    }

    /// Returns the role's column if the word is a role with a column, else the column of that name.
    pub fn role_or_column(&self, columns: &Columns, item: &Item<'_>) -> Option<String> {
        let text = item.text()?;
        let role = ColumnRole::from_name(text).and_then(|role| columns.get(role));
        Some(role.map_or_else(|| self.column(text, item), str::to_owned))
    }
}

/// Returns key path → column for every key that assigns a meaning to a column.
fn mapped(root: &Node) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for path in [&["columns"][..], &["message"], &["table", "id"]] {
        if let Some(node) = root.at(path) {
            collect(&path.join("."), node, &mut found);
        }
    }
    found
}

/// Whether this value of a message is not a column, although it has texts.
fn is_computed(path: &str, key: &str, value: &Value) -> bool {
    let in_message = path == "message" || path.starts_with("message.");
    match value {
        Value::Text(text) => in_message && text.contains('.'),
        Value::Table(_) => in_message && (path != "message" || !is_group(key, value)),
        _ => false,
    }
}

fn collect(path: &str, node: &Node, found: &mut BTreeMap<String, String>) {
    match &node.value {
        Value::Text(text) => {
            found.insert(path.to_owned(), split(text).0.to_owned());
        }
        Value::Table(entries) => {
            for entry in entries.iter().filter(|entry| !is_computed(path, &entry.key, &entry.node.value)) {
                collect(&postrider_config::join(path, &entry.key), &entry.node, found);
            }
        }
        _ => {}
    }
}

fn split(name: &str) -> (&str, bool) {
    name.strip_suffix('?').map_or((name, false), |bare| (bare, true))
}

pub(super) fn check(name: &str, item: &Item<'_>) {
    if let Err(why) = identifier(name) {
        item.mistake(why, "");
    }
}

const TIME_FORMS: [(&str, TimeForm); 4] = [
    ("native", TimeForm::Native),
    ("epoch_s", TimeForm::EpochSeconds),
    ("epoch_ms", TimeForm::EpochMillis),
    ("iso8601", TimeForm::Iso8601),
];

pub(super) fn table(reader: &TableReader<'_>, names: &Names) -> Option<Table> {
    let Some(table) = reader.table("table") else {
        if reader.get("table").is_none() {
            reader.required("table", "add [table] with name and id");
        }
        return None;
    };
    let name = table.required("name", "write name = \"TABLE\" or \"SCHEMA.TABLE\"").and_then(|item| {
        let text = item.text()?;
        let (schema, name) = match text.split_once('.') {
            Some((schema, name)) => (Some(schema), name),
            None => (None, text),
        };
        schema.into_iter().chain([name]).for_each(|part| check(part, &item));
        Some((schema.map(str::to_owned), name.to_owned()))
    });
    let id = table.required("id", "write id = \"COLUMN\": the column with the key").and_then(|item| {
        let text = item.text()?;
        check(text, &item);
        Some(text.to_owned())
    });
    let time = table.get("time").and_then(|item| item.choice(&TIME_FORMS));
    let times = table.table("times").map(|times| {
        let one =
            |(name, item): (&str, Item<'_>)| Some((names.column(name, &item), item.choice(&TIME_FORMS)?));
        times.all().filter_map(one).collect()
    });
    table.finish();
    let (schema, name) = name?;
    Some(Table {
        schema,
        name,
        id: id?,
        time: time.unwrap_or(TimeForm::Native),
        times: times.unwrap_or_default(),
    })
}

pub(super) fn column(item: &Item<'_>) -> Option<Column> {
    let (name, optional) = split(item.text()?);
    check(name, item);
    Some(Column { name: name.to_owned(), optional })
}

pub(super) fn columns(reader: &TableReader<'_>) -> Columns {
    let mut found = Columns::default();
    let Some(columns) = reader.table("columns") else { return found };
    for (key, item) in columns.all() {
        match ColumnRole::from_name(key) {
            Some(ColumnRole::Id) => item.mistake("`id` is not a role", "remove it: [table] id names the key"),
            Some(role) => {
                if let Some(column) = column(&item) {
                    found.0.insert(role, column);
                }
            }
            None => {
                let roles =
                    ColumnRole::ALL.iter().filter(|role| **role != ColumnRole::Id).map(|role| role.name());
                item.mistake("unknown role", suggestion(key, roles));
            }
        }
    }
    found
}
