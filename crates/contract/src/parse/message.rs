//! Parses `[message]`: the source of each composer field.

use std::collections::BTreeMap;

use postrider_config::{Item, TableReader, Value};

use crate::identifier::identifier;
use crate::{Column, Join, MessageValue, Source, Template, ValueMap};

use super::columns::{Names, column};
use super::template::{self, Find, Problem};

/// The field whose table has one entry for each header, instead of being a value.
const HEADERS: &str = "headers";
/// The entry of such a table with a whole JSON column of headers.
const WHOLE: &str = "*";
/// The keys that make a table a value.
const FORMS: [&str; 3] = ["text", "json", "map"];

/// The columns that message values may name.
struct Scope<'a> {
    names: &'a Names,
    joins: &'a [Join],
    item: &'a Item<'a>,
}

impl Find for Scope<'_> {
    fn column(&self, name: &str, optional: bool) -> Result<Column, Problem> {
        let name = self.names.renamed(name, self.item);
        identifier(&name).map_err(|why| (why, String::new()))?;
        Ok(Column { name, optional })
    }

    fn join(&self, name: &str) -> Option<Vec<&str>> {
        let join = self.joins.iter().find(|join| join.alias == name)?;
        Some(join.columns.iter().map(|column| column.name.as_str()).collect())
    }

    fn is_list(&self, name: &str) -> bool {
        self.joins.iter().any(|join| join.alias == name && join.many.is_some())
    }
}

pub(super) fn message(
    reader: &TableReader<'_>,
    names: &Names,
    joins: &[Join],
) -> BTreeMap<String, MessageValue> {
    let mut found = BTreeMap::new();
    let Some(message) = reader.table("message") else { return found };
    for (field, item) in message.all() {
        if !is_group(field, &item.node.value) {
            found.extend(value(&item, names, joins).map(|value| (field.to_owned(), value)));
            continue;
        }
        let Some(group) = item.table() else { continue };
        for (name, item) in group.all() {
            let field = if name == WHOLE { field.to_owned() } else { format!("{field}.{name}") };
            found.extend(value(&item, names, joins).map(|value| (field, value)));
        }
    }
    found
}

/// Whether the table of a field has fields of its own, instead of being a value.
pub(super) fn is_group(field: &str, value: &Value) -> bool {
    match value {
        Value::Table(entries) => {
            field == HEADERS || !entries.iter().any(|entry| FORMS.contains(&entry.key.as_str()))
        }
        _ => false,
    }
}

fn value(item: &Item<'_>, names: &Names, joins: &[Join]) -> Option<MessageValue> {
    let scope = Scope { names, joins, item };
    if item.is_table() {
        return of_table(&scope);
    }
    let text = item.text()?;
    if !text.contains('.') && !scope.is_list(text) {
        return Some(MessageValue::Column(column(item)?));
    }
    read(item, template::source(text, &scope)).map(MessageValue::Member)
}

/// Returns what was parsed, or reports the problem.
fn read<T>(item: &Item<'_>, parsed: Result<T, Problem>) -> Option<T> {
    parsed.map_err(|(what, remedy)| item.mistake(what, remedy)).ok()
}

fn of_table(scope: &Scope<'_>) -> Option<MessageValue> {
    let item = scope.item;
    let reader = item.table()?;
    let given = |key: &&&str| item.node.entry(key).is_some();
    let forms: Vec<&&str> = FORMS.iter().filter(given).collect();
    let [form] = forms.as_slice() else {
        let what = "must have one of `text`, `json` and `map`";
        item.mistake(what, "write { text = \"TEMPLATE\" }, { json = \"COLUMN\", member = \"NAME\" } or { map = \"COLUMN\", VALUE = \"TEMPLATE\" }");
        return None;
    };
    match **form {
        "map" => map(&reader, scope),
        "json" => {
            let column = reader.get("json").and_then(|item| column(&item));
            let name = reader.required("member", "write member = \"NAME\"").and_then(|item| item.text());
            reader.finish();
            let column = crate::SourceColumn::Own(column?);
            Some(MessageValue::Member(Source { column, path: vec![name?.to_owned()] }))
        }
        _ => {
            let text = reader.get("text").and_then(|item| text(&item, scope));
            reader.finish();
            text.map(MessageValue::Text)
        }
    }
}

fn map(reader: &TableReader<'_>, scope: &Scope<'_>) -> Option<MessageValue> {
    let by = reader.get("map").and_then(|item| read(&item, template::reference(item.text()?, scope)));
    let otherwise = reader.get("else").map(|item| text(&item, scope));
    let mut values = BTreeMap::new();
    let mut complete = true;
    for (key, item) in reader.all().filter(|(key, _)| !["map", "else"].contains(key)) {
        let text = text(&item, scope);
        complete &= text.is_some();
        values.extend(text.map(|text| (key.to_owned(), text)));
    }
    if values.is_empty() && complete {
        reader
            .mistake("has no value", "write { map = \"COLUMN\", VALUE = \"TEMPLATE\", else = \"TEMPLATE\" }");
        return None;
    }
    let otherwise = match otherwise {
        Some(text) => Some(text?),
        None => None,
    };
    complete.then_some(MessageValue::Map(ValueMap { by: by?, values, otherwise }))
}

fn text(item: &Item<'_>, scope: &Scope<'_>) -> Option<Template> {
    let scope = Scope { item, ..*scope };
    if let Value::Integer(_) | Value::Float(_) | Value::Bool(_) = item.node.value {
        item.expected("text in quotes, also for a number or a boolean");
        return None;
    }
    read(item, template::template(item.text()?, &scope))
}
