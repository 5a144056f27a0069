//! Parses `[states]`, and defines states that are only named elsewhere.

use postrider_config::{Item, TableReader, suggestion};

use crate::{ColumnRole, Columns, Condition, Literal, State, StateId};

use super::columns::Names;
use super::values::literal;

/// The word for a move that deletes the row.
pub(super) const DELETE: &str = "delete";

fn refuse_delete(item: &Item<'_>) {
    let what = "\"delete\" is no state: only `delivered`, `dead`, `rejected` and `skipped` of a stage can be \"delete\"";
    item.mistake(what, "name a state; [retention] deletes rows after a time");
}

/// The states found so far. A name that is not in `[states]` means that text in the status column.
pub(crate) struct States {
    status: Option<String>,
    pub list: Vec<State>,
}

impl States {
    /// Parses `[states]`.
    pub fn read(reader: &TableReader<'_>, names: &Names, columns: &Columns) -> Self {
        let mut states =
            Self { status: columns.get(ColumnRole::Status).map(str::to_owned), list: Vec::new() };
        if let Some(described) = reader.table("states") {
            for (name, item) in described.all() {
                if name == DELETE {
                    item.mistake("is reserved: it deletes the row", "choose another name for the state");
                }
                states.describe(name, &item, names);
            }
        }
        states
    }

    fn describe(&mut self, name: &str, item: &Item<'_>, names: &Names) {
        let conditions = if item.is_table() {
            item.table().map(|reader| self.conditions(&reader, names)).unwrap_or_default()
        } else {
            match (&self.status, literal(item)) {
                (Some(status), Some(literal)) => vec![(status.clone(), Condition::Is(literal))],
                (None, Some(_)) => {
                    item.mistake(
                        "there is no status column",
                        "add status = \"COLUMN\" to [columns], or write { COLUMN = value }",
                    );
                    Vec::new()
                }
                (_, None) => Vec::new(),
            }
        };
        self.list.push(State { name: name.to_owned(), conditions, deletes: false });
    }

    fn conditions(&self, reader: &TableReader<'_>, names: &Names) -> Vec<(String, Condition)> {
        let mut found: Vec<(String, Condition)> = reader
            .all()
            .filter_map(|(column, item)| Some((names.column(column, &item), condition(&item)?)))
            .collect();
        // The status column comes first in every statement, because indexes start with it.
        found.sort_by_key(|(column, _)| self.status.as_ref() != Some(column));
        if found.is_empty() {
            reader.report.add_for_key(
                &reader.path,
                "has no condition",
                "write { COLUMN = value }, { COLUMN = { null = true } } or { COLUMN = { never = true } }",
            );
        }
        found
    }

    /// Returns the state in which a stage ends: of that name, or the deletion of the row.
    pub fn end(&mut self, item: &Item<'_>) -> Option<StateId> {
        if !item.is(DELETE) {
            return self.intern(item);
        }
        if self.find(DELETE).is_none() {
            self.list.push(State { name: DELETE.to_owned(), conditions: Vec::new(), deletes: true });
        }
        self.find(DELETE)
    }

    /// Returns the state of that name; defines it if it is new.
    pub fn intern(&mut self, item: &Item<'_>) -> Option<StateId> {
        let name = item.text()?;
        if name == DELETE {
            refuse_delete(item);
            return None;
        }
        if let Some(id) = self.find(name) {
            return Some(id);
        }
        let Some(status) = &self.status else {
            item.mistake(
                format!("state `{name}` is not defined, and there is no status column"),
                "define it in [states]",
            );
            return None;
        };
        if name.is_empty() || name.chars().any(char::is_control) {
            item.mistake(format!("invalid state name {name:?}"), "use printable text");
            return None;
        }
        let conditions = vec![(status.clone(), Condition::Is(Literal::Text(name.to_owned())))];
        self.list.push(State { name: name.to_owned(), conditions, deletes: false });
        Some(StateId(self.list.len() - 1))
    }

    /// Returns the state of that name; reports a mistake if it is not defined.
    pub fn known(&self, item: &Item<'_>) -> Option<StateId> {
        let name = item.text()?;
        self.known_name(name, item)
    }

    /// Returns the state called `name`; reports a mistake at `item` if it is not defined.
    pub fn known_name(&self, name: &str, item: &Item<'_>) -> Option<StateId> {
        if name == DELETE {
            refuse_delete(item);
            return None;
        }
        let found = self.find(name);
        if found.is_none() {
            let remedy = suggestion(name, self.list.iter().map(|state| state.name.as_str()));
            item.mistake(format!("unknown state `{name}`"), remedy);
        }
        found
    }

    fn find(&self, name: &str) -> Option<StateId> {
        self.list.iter().position(|state| state.name == name).map(StateId)
    }

    /// Parses `producer`: the states that the application inserts rows in; empty if not given.
    pub fn producer(&self, reader: &TableReader<'_>) -> Vec<StateId> {
        let Some(item) = reader.get("producer") else { return Vec::new() };
        item.one_or_many().iter().filter_map(|item| self.known(item)).collect()
    }
}

fn condition(item: &Item<'_>) -> Option<Condition> {
    if !item.is_table() {
        return Some(Condition::Is(literal(item)?));
    }
    let reader = item.table()?;
    let null = reader.get("null").map(|item| item.boolean().map(Condition::Null));
    let never = reader.get("never").map(|item| item.boolean().map(Condition::Never));
    reader.finish();
    match (null, never) {
        (Some(condition), None) | (None, Some(condition)) => condition,
        _ => {
            item.mistake("must have either `null` or `never`", "write { null = true } or { never = true }");
            None
        }
    }
}
