//! Reads what message values are made of: columns of the row and its joins, and members of the JSON in them.

use std::collections::BTreeMap;

use postrider_contract::{Contract, MessageValue, Source, SourceColumn, ValueMap};
use postrider_seams::{Fields, Value};
use serde_json::value::RawValue;

use super::{Reason, texts};

/// The members of a JSON object, each as its text.
type Members<'a> = BTreeMap<String, &'a RawValue>;

/// The values of one row.
pub(super) struct RowSources<'a> {
    contract: &'a Contract,
    fields: &'a Fields,
}

impl<'a> RowSources<'a> {
    /// Creates the sources of a row with these fields.
    pub fn new(contract: &'a Contract, fields: &'a Fields) -> Self {
        Self { contract, fields }
    }

    /// Computes a field.
    pub fn value(&self, field: &str, value: &MessageValue) -> Result<Value, Reason> {
        match value {
            MessageValue::Column(_) => Ok(self.fields.get(field).clone()),
            MessageValue::Member(source) => self.read(field, source),
            MessageValue::Text(template) => texts::render(self, field, template).map(Value::Text),
            MessageValue::Map(map) => self.mapped(field, map),
        }
    }

    fn mapped(&self, field: &str, map: &ValueMap) -> Result<Value, Reason> {
        let value = texts::referenced(self, field, &map.by)?;
        let template = value.as_ref().and_then(|value| map.values.get(value)).or(map.otherwise.as_ref());
        if let Some(template) = template {
            return texts::render(self, field, template).map(Value::Text);
        }
        let (field, column) = (field.to_owned(), name(&map.by.source));
        Err(match value {
            Some(value) => Reason::NotInMap { field, column, value },
            None => Reason::NullInMap { field, column },
        })
    }

    /// Returns the value of a source; NULL where a member is missing.
    pub fn read(&self, field: &str, source: &Source) -> Result<Value, Reason> {
        let value = match &source.column {
            SourceColumn::Own(column) => self.fields.get(&self.contract.field_of_column(&column.name)),
            SourceColumn::Joined { alias, column } => self.fields.get(&format!("{alias}.{column}")),
            SourceColumn::Rows { alias } => return self.rows(field, alias),
            SourceColumn::Absent => return Ok(Value::Null),
        };
        if source.path.is_empty() {
            return Ok(value.clone());
        }
        let text = crate::text::scalar(value)
            .map_err(|_| Reason::NotUtf8 { field: field.to_owned(), column: name(source) })?;
        let Some(text) = text.filter(|text| !text.trim().is_empty()) else { return Ok(Value::Null) };
        member(&text, &source.path).map_err(|problem| match problem {
            Problem::NotJson => Reason::NotJson { field: field.to_owned(), column: name(source) },
            Problem::NotObject => Reason::NotObject { field: field.to_owned(), column: name(source) },
        })
    }
}

impl RowSources<'_> {
    /// Returns the list of a join of several rows; NULL if there are none.
    fn rows(&self, field: &str, alias: &str) -> Result<Value, Reason> {
        let Some(list) = self.fields.get(alias).as_text() else { return Ok(Value::Null) };
        let rows = serde_json::from_str::<Vec<&RawValue>>(list).map_or(0, |rows| rows.len());
        let many =
            self.contract.joins.iter().find(|join| join.alias == alias).and_then(|join| join.many.as_ref());
        match many {
            Some(many) if rows > many.at_most as usize => {
                Err(Reason::ManyRows { field: field.to_owned(), join: alias.to_owned(), limit: many.at_most })
            }
            _ if rows == 0 => Ok(Value::Null),
            _ => Ok(Value::Text(list.to_owned())),
        }
    }
}

#[derive(Debug)]
enum Problem {
    NotJson,
    NotObject,
}

/// Returns the member that the path leads to. Objects and lists are returned byte for byte.
fn member(json: &str, path: &[String]) -> Result<Value, Problem> {
    let mut raw: &RawValue = serde_json::from_str(json).map_err(|_| Problem::NotJson)?;
    for name in path {
        if raw.get() == "null" {
            return Ok(Value::Null);
        }
        if !raw.get().starts_with('{') {
            return Err(Problem::NotObject);
        }
        let mut members: Members<'_> = serde_json::from_str(raw.get()).map_err(|_| Problem::NotJson)?;
        let Some(found) = members.remove(name.as_str()) else { return Ok(Value::Null) };
        raw = found;
    }
    let text = raw.get();
    if text.starts_with(['{', '[']) {
        return Ok(Value::Text(text.to_owned()));
    }
    Ok(match serde_json::from_str(text).map_err(|_| Problem::NotJson)? {
        serde_json::Value::Bool(truth) => Value::Bool(truth),
        serde_json::Value::String(text) => Value::Text(text),
        serde_json::Value::Number(number) => {
            number.as_i64().map_or_else(|| Value::Text(text.to_owned()), Value::Int)
        }
        _ => Value::Null,
    })
}

/// Returns the name of a source as a contract writes it.
pub(super) fn name(source: &Source) -> String {
    let column = match &source.column {
        SourceColumn::Own(column) => column.name.clone(),
        SourceColumn::Joined { alias, column } => format!("{alias}.{column}"),
        SourceColumn::Rows { alias } => alias.clone(),
        SourceColumn::Absent => "a column that the table lacks".to_owned(),
    };
    let path = source.path.iter().map(|member| format!(".{member}"));
    std::iter::once(column).chain(path).collect()
}
