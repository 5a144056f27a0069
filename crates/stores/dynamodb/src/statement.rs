//! PartiQL statements of the specification, with the conditions that make concurrent workers safe.
//!
//! Invariant: values are bound; names come from the layout or the contract, and are quoted.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use postrider_contract::Contract;
use postrider_rows::Row;
use postrider_seams::Value;

use crate::layout::{ATTRIBUTES, LATEST, META, REASON, RecordLayout};
use crate::locks::INTERNAL_ID;
use crate::record::Record;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PartiqlStatement {
    pub text: String,
    values: Vec<AttributeValue>,
    /// Whether to read consistently; only for reads of the table itself.
    pub consistent: bool,
}

impl PartiqlStatement {
    pub(crate) fn new(text: String, values: Vec<AttributeValue>) -> Self {
        Self { text, values, consistent: false }
    }

    /// Returns the values to bind; `None` if there are none, because DynamoDB rejects an empty list.
    pub(crate) fn parameters(&self) -> Option<Vec<AttributeValue>> {
        (!self.values.is_empty()).then(|| self.values.clone())
    }
}

/// The table and index that the statements use.
#[derive(Debug, Clone)]
pub(crate) struct TableTarget {
    pub table: String,
    pub index: String,
    /// The attribute with the time at which DynamoDB may delete a record.
    pub ttl: String,
    /// Whether the index contains it.
    pub projects_ttl: bool,
}

pub(crate) fn text(text: impl Into<String>) -> AttributeValue {
    AttributeValue::S(text.into())
}

fn number(number: i64) -> AttributeValue {
    AttributeValue::N(number.to_string())
}

impl TableTarget {
    pub(crate) fn new(contract: &Contract, projects_ttl: bool) -> Self {
        let dynamodb = contract.dynamodb.as_ref();
        let table = match &contract.table.schema {
            // A dot is part of the table's name in DynamoDB.
            Some(schema) => format!("{schema}.{}", contract.table.name),
            None => contract.table.name.clone(),
        };
        Self {
            table,
            index: dynamodb.map_or_else(|| "StatusIndex".to_owned(), |names| names.index.clone()),
            ttl: dynamodb.map_or_else(|| "TTL".to_owned(), |names| names.ttl.clone()),
            projects_ttl,
        }
    }

    /// Selects the `_META` records in one state, or in all, from the index.
    pub(crate) fn by_state(&self, status: Option<&str>) -> PartiqlStatement {
        let Self { table, index, ttl, .. } = self;
        let ttl = if self.projects_ttl { format!(", \"{ttl}\"") } else { String::new() };
        let mut query = format!(
            "SELECT \"Id\", \"Status\", \"Attributes\"{ttl} FROM \"{table}\".\"{index}\" WHERE \"Status\"=?"
        );
        let mut values = vec![text(META)];
        if let Some(status) = status {
            query.push_str(" AND \"Attributes\".\"Latest\"=?");
            values.push(text(status));
        }
        PartiqlStatement::new(query, values)
    }

    /// Selects one `_META` record, with a consistent read.
    pub(crate) fn meta(&self, id: &str) -> PartiqlStatement {
        let query = format!("SELECT * FROM \"{}\" WHERE \"Id\"=? AND \"Status\"=?", self.table);
        PartiqlStatement { consistent: true, ..PartiqlStatement::new(query, vec![text(id), text(META)]) }
    }

    /// Selects all records of one e-mail, with a consistent read.
    pub(crate) fn all_records(&self, id: &str) -> PartiqlStatement {
        let query = format!("SELECT * FROM \"{}\" WHERE \"Id\"=?", self.table);
        PartiqlStatement { consistent: true, ..PartiqlStatement::new(query, vec![text(id)]) }
    }

    /// Moves the `_META` record, if its state and time are still those that we read.
    pub(crate) fn update_meta(
        &self,
        layout: &RecordLayout,
        before: &Record,
        after: &Row,
        ttl: Option<i64>,
    ) -> PartiqlStatement {
        let (mut sets, mut removes, mut values) = (Vec::new(), Vec::new(), Vec::new());
        for (column, attribute) in layout.pairs() {
            let (old, new) = (before.row.get(column), after.get(column));
            let path = format!("\"{ATTRIBUTES}\".\"{attribute}\"");
            match new {
                // Every program with this layout writes the reason with each move, empty if there is none.
                None | Some(Value::Null) if attribute == REASON => {
                    sets.push(format!("{path}=?"));
                    values.push(text(""));
                }
                None | Some(Value::Null) if matches!(old, None | Some(Value::Null)) => {}
                None | Some(Value::Null) => removes.push(path),
                Some(value) if old != new || column == layout.updated => {
                    sets.push(format!("{path}=?"));
                    values.push(layout.to_attribute(column, value));
                }
                Some(_) => {}
            }
        }
        let root = format!("\"{}\"", self.ttl);
        match ttl {
            Some(ttl) => {
                sets.push(format!("{root}=?"));
                values.push(number(ttl));
            }
            None if before.ttl.is_some() => removes.push(root),
            None => {}
        }
        if before.legacy_ttl {
            removes.push(format!("\"{ATTRIBUTES}\".\"{}\"", self.ttl));
        }
        if let Some(first) = removes.first_mut() {
            first.insert_str(0, " REMOVE ");
        }
        let mut query = format!(
            "UPDATE \"{}\" SET {}{} WHERE \"Id\"=? AND \"Status\"=? AND \"{ATTRIBUTES}\".\"{LATEST}\"=?",
            self.table,
            sets.join(", "),
            removes.join(" REMOVE "),
        );
        values.extend([text(&before.id), text(META)]);
        let status = before.row.get(&layout.status).and_then(Value::as_text).unwrap_or_default();
        values.push(text(status));
        match &before.updated {
            // NULL is not a time, but it is what the record holds.
            Some(AttributeValue::Null(_)) => query += " AND \"Attributes\".\"UpdatedAt\" IS NULL",
            Some(updated) => {
                query += " AND \"Attributes\".\"UpdatedAt\"=?";
                values.push(updated.clone());
            }
            None => query += " AND \"Attributes\".\"UpdatedAt\" IS MISSING",
        }
        PartiqlStatement::new(query, values)
    }

    /// Inserts the record of a state that is reached for the first time, or the `_META` record of a new e-mail.
    pub(crate) fn insert(
        &self,
        id: &str,
        status: &str,
        attributes: HashMap<String, AttributeValue>,
        ttl: Option<i64>,
    ) -> PartiqlStatement {
        let mut members = "'Id': ?, 'Status': ?, 'Attributes': ?".to_owned();
        let mut values = vec![text(id), text(status), AttributeValue::M(attributes)];
        if let Some(ttl) = ttl {
            members = format!("{members}, '{}': ?", self.ttl);
            values.push(number(ttl));
        }
        PartiqlStatement::new(format!("INSERT INTO \"{}\" VALUE {{{members}}}", self.table), values)
    }

    /// Inserts or replaces an internal record; `ttl` is when DynamoDB may delete it.
    pub(crate) fn put_internal(
        &self,
        is_new: bool,
        status: &str,
        numbers: [(&str, i64); 2],
        ttl: i64,
    ) -> PartiqlStatement {
        let [first, second] = numbers;
        let numbers = [first, second, (self.ttl.as_str(), ttl)];
        let values = numbers.iter().map(|(_, value)| number(*value));
        let keys = [text(INTERNAL_ID), text(status)];
        if is_new {
            let members: Vec<String> = numbers.iter().map(|(name, _)| format!("'{name}': ?")).collect();
            let members = members.join(", ");
            let query = format!("INSERT INTO \"{}\" VALUE {{'Id': ?, 'Status': ?, {members}}}", self.table);
            return PartiqlStatement::new(query, keys.into_iter().chain(values).collect());
        }
        let sets: Vec<String> = numbers.iter().map(|(name, _)| format!("\"{name}\"=?")).collect();
        let query =
            format!("UPDATE \"{}\" SET {} WHERE \"Id\"=? AND \"Status\"=?", self.table, sets.join(", "));
        PartiqlStatement::new(query, values.chain(keys).collect())
    }

    /// Updates the record of a state to which the e-mail returns.
    pub(crate) fn update(
        &self,
        id: &str,
        status: &str,
        attributes: HashMap<String, AttributeValue>,
        ttl: Option<i64>,
    ) -> PartiqlStatement {
        let root = format!("\"{}\"", self.ttl);
        let mut values = vec![AttributeValue::M(attributes)];
        let ttl = if let Some(ttl) = ttl {
            values.push(number(ttl));
            format!(", {root}=?")
        } else {
            format!(" REMOVE {root}")
        };
        values.extend([text(id), text(status)]);
        let query =
            format!("UPDATE \"{}\" SET \"{ATTRIBUTES}\"=?{ttl} WHERE \"Id\"=? AND \"Status\"=?", self.table);
        PartiqlStatement::new(query, values)
    }

    /// Sets only the time to live of a record.
    pub(crate) fn set_ttl(&self, id: &str, status: &str, ttl: Option<i64>) -> PartiqlStatement {
        let root = format!("\"{}\"", self.ttl);
        let (change, mut values) = match ttl {
            Some(ttl) => (format!("SET {root}=?"), vec![number(ttl)]),
            None => (format!("REMOVE {root}"), Vec::new()),
        };
        values.extend([text(id), text(status)]);
        PartiqlStatement::new(
            format!("UPDATE \"{}\" {change} WHERE \"Id\"=? AND \"Status\"=?", self.table),
            values,
        )
    }

    pub(crate) fn delete(&self, id: &str, status: &str) -> PartiqlStatement {
        let query = format!("DELETE FROM \"{}\" WHERE \"Id\"=? AND \"Status\"=?", self.table);
        PartiqlStatement::new(query, vec![text(id), text(status)])
    }
}
