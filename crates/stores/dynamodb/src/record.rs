//! A `_META` record as read: the contract's row, and the attributes that are not in the row.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use postrider_rows::Row;
use postrider_seams::Value;

use crate::layout::{self, ATTRIBUTES, ID, LATEST, RecordLayout, UPDATED_AT};
use crate::requests::Item;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Record {
    pub id: String,
    pub row: Row,
    /// `UpdatedAt` exactly as stored, of whatever type: the condition of every move.
    pub updated: Option<AttributeValue>,
    /// The time to live in Unix seconds: at the root, else in `Attributes` as in old records.
    pub ttl: Option<i64>,
    /// Whether the time to live is in `Attributes` as in old records; the next move writes it at the root.
    pub legacy_ttl: bool,
}

impl Record {
    /// Reads a record; `None` if it is not an e-mail: no `Attributes`, or no `Latest` in them.
    pub(crate) fn read(layout: &RecordLayout, ttl: &str, item: &Item) -> Option<Self> {
        let (Some(AttributeValue::S(id)), Some(AttributeValue::M(attributes))) =
            (item.get(ID), item.get(ATTRIBUTES))
        else {
            return None;
        };
        attributes.get(LATEST)?.as_s().ok()?;
        let mut row = Row::from([(layout.id.clone(), Value::Text(id.clone()))]);
        for (name, value) in attributes.iter().filter(|(name, _)| !layout::is_alternative_name(name)) {
            let column = layout.column(name);
            row.insert(column.to_owned(), layout.read(column, value));
        }
        // In this layout an empty reason stands for none.
        row.retain(|column, value| *column != layout.error || value.as_text() != Some(""));
        for (column, attribute) in layout.pairs() {
            if !row.contains_key(column)
                && let Some(value) =
                    layout::alternative_name(attribute).and_then(|other| attributes.get(other))
            {
                row.insert(column.to_owned(), layout.read(column, value));
            }
        }
        row.remove(ttl);
        Some(Self {
            id: id.clone(),
            row,
            updated: attributes.get(UPDATED_AT).cloned(),
            ttl: ttl_of(ttl, item),
            legacy_ttl: attributes.contains_key(ttl),
        })
    }

    /// Returns the fence: the text of `UpdatedAt`, which every claim changes.
    pub(crate) fn fence(&self) -> Option<&str> {
        self.updated.as_ref()?.as_s().ok().map(String::as_str)
    }

    /// Whether the time to live is over. DynamoDB may take days to delete the record; this store ignores it at once.
    pub(crate) fn is_expired(&self, now: i64) -> bool {
        self.ttl.is_some_and(|ttl| ttl <= now / 1_000_000)
    }

    /// Returns the attributes of a state's record, from the row of the `_META` record.
    pub(crate) fn history(
        layout: &RecordLayout,
        row: &Row,
        reason: Option<&str>,
    ) -> HashMap<String, AttributeValue> {
        let mut attributes = HashMap::new();
        for (column, attribute) in
            layout.pairs().filter(|(_, attribute)| !matches!(*attribute, LATEST | layout::REASON))
        {
            match row.get(column) {
                None | Some(Value::Null) => {}
                Some(value) => {
                    attributes.insert(attribute.to_owned(), layout.to_attribute(column, value));
                }
            }
        }
        let reason = reason.unwrap_or_default().to_owned();
        attributes.insert(layout::REASON.to_owned(), AttributeValue::S(reason));
        attributes
    }
}

/// Returns the time to live: at the root, else in `Attributes` as in old records.
pub(crate) fn ttl_of(ttl: &str, item: &Item) -> Option<i64> {
    let legacy = || item.get(ATTRIBUTES)?.as_m().ok()?.get(ttl).and_then(seconds);
    item.get(ttl).and_then(seconds).or_else(legacy)
}

/// Converts an attribute to Unix seconds.
fn seconds(value: &AttributeValue) -> Option<i64> {
    match value {
        AttributeValue::N(number) => number.parse().ok().or_else(|| integer_part(number)),
        _ => None,
    }
}

/// Parses a number without its fraction; `None` if it is out of range for a time.
fn integer_part(number: &str) -> Option<i64> {
    let number: f64 = number.parse().ok()?;
    #[expect(clippy::cast_possible_truncation, reason = "the range was looked at")]
    (number.abs() < 1e15).then(|| number.floor() as i64)
}
