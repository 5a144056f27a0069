//! The record layout: which attribute stores which column of the contract, and in what format.
//!
//! ```text
//! Id      Status      Attributes                                                            TTL
//! 7f3a…   _META       { Latest, UpdatedAt, Reason, EmlFilePath, PayloadFilePath, Attempts, … }   epoch seconds
//! 7f3a…   ACCEPTED    { UpdatedAt, Reason, … }                                              the same
//! 7f3a…   INTAKING    { UpdatedAt, Reason, … }                                              the same
//! ```

use std::collections::BTreeSet;

use aws_sdk_dynamodb::primitives::{DateTime, DateTimeFormat};
use aws_sdk_dynamodb::types::AttributeValue;
use postrider_contract::{ColumnRole, Contract};
use postrider_seams::Value;

/// The sort key of the record with an e-mail's current state.
pub(crate) const META: &str = "_META";
pub(crate) const ID: &str = "Id";
pub(crate) const STATUS: &str = "Status";
pub(crate) const ATTRIBUTES: &str = "Attributes";
pub(crate) const LATEST: &str = "Latest";
pub(crate) const UPDATED_AT: &str = "UpdatedAt";
pub(crate) const REASON: &str = "Reason";
/// The attribute with the time at which the e-mail reached a callback stage; also the column's name, as the contract
/// has none.
pub(crate) const REACHED_AT: &str = "ReachedAt";

/// The attribute with the results of a mail's recipients, if they differ; also the column's name.
pub(crate) const RECIPIENTS: &str = "Recipients";

/// Alternative attribute names of other programs; read if ours is absent.
const ALTERNATIVE_NAMES: [(&str, &str); 1] = [("EmlFilePath", "EMLFilePath")];

/// The mapping between columns and attributes.
#[derive(Debug, Clone)]
pub(crate) struct RecordLayout {
    /// Column, and its attribute in `Attributes`.
    pairs: Vec<(String, String)>,
    times: BTreeSet<String>,
    pub(crate) id: String,
    pub(crate) status: String,
    pub(crate) updated: String,
    /// The column with the reason.
    pub(crate) error: String,
}

impl RecordLayout {
    pub(crate) fn new(contract: &Contract) -> Self {
        let mut layout = Self {
            pairs: Vec::new(),
            times: BTreeSet::new(),
            id: contract.table.id.clone(),
            status: contract.column(ColumnRole::Status).unwrap_or("status").to_owned(),
            updated: contract.column(ColumnRole::Updated).unwrap_or("updated_at").to_owned(),
            error: contract.column(ColumnRole::Error).unwrap_or("reason").to_owned(),
        };
        let roles = ColumnRole::ALL.into_iter().filter(|role| *role != ColumnRole::Id);
        for (role, column) in roles.filter_map(|role| Some((role, contract.column(role)?))) {
            if role.is_time() {
                layout.times.insert(column.to_owned());
            }
            layout.map_column(column, attribute_of(role).unwrap_or(column));
        }
        for (field, column) in contract.message_columns() {
            let attribute = match field.as_str() {
                "payload_path" => "PayloadFilePath",
                "eml_path" => "EmlFilePath",
                "traceparent" => "Traceparent",
                _ => &column,
            };
            layout.map_column(&column, attribute);
        }
        if contract.history.as_ref().is_some_and(|history| !history.reached_for.is_empty()) {
            layout.times.insert(REACHED_AT.to_owned());
            layout.map_column(REACHED_AT, REACHED_AT);
        }
        layout
    }

    /// Maps a column to an attribute, unless it is mapped already.
    fn map_column(&mut self, column: &str, attribute: &str) {
        if !self.pairs.iter().any(|(known, _)| known == column) {
            self.pairs.push((column.to_owned(), attribute.to_owned()));
        }
    }

    pub(crate) fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.pairs.iter().map(|(column, attribute)| (column.as_str(), attribute.as_str()))
    }

    pub(crate) fn is_time(&self, column: &str) -> bool {
        self.times.contains(column)
    }

    /// Returns the column of an attribute; the attribute's name if it has none.
    pub(crate) fn column<'a>(&'a self, attribute: &'a str) -> &'a str {
        self.pairs().find(|(_, known)| *known == attribute).map_or(attribute, |(column, _)| column)
    }

    pub(crate) fn to_attribute(&self, column: &str, value: &Value) -> AttributeValue {
        match value {
            Value::Int(micros) if self.is_time(column) => AttributeValue::S(time(*micros)),
            Value::Int(int) => AttributeValue::N(int.to_string()),
            Value::Float(float) => AttributeValue::N(float.to_string()),
            Value::Bool(bool) => AttributeValue::Bool(*bool),
            Value::Text(text) => AttributeValue::S(text.clone()),
            Value::Bytes(bytes) => AttributeValue::B(aws_sdk_dynamodb::primitives::Blob::new(bytes.clone())),
            Value::Null => AttributeValue::Null(true),
        }
    }

    /// Converts an attribute to the column's value; NULL if it has an unexpected type or format.
    pub(crate) fn read(&self, column: &str, value: &AttributeValue) -> Value {
        match value {
            AttributeValue::S(text) if self.is_time(column) => micros(text).map_or(Value::Null, Value::Int),
            AttributeValue::S(text) => Value::Text(text.clone()),
            AttributeValue::N(number) if self.is_time(column) => number
                .parse::<i64>()
                .map_or(Value::Null, |seconds| Value::Int(seconds.saturating_mul(1_000_000))),
            AttributeValue::N(number) => number
                .parse()
                .map(Value::Int)
                .or_else(|_| number.parse().map(Value::Float))
                .unwrap_or(Value::Null),
            AttributeValue::Bool(bool) => Value::Bool(*bool),
            AttributeValue::B(bytes) => Value::Bytes(bytes.clone().into_inner()),
            _ => Value::Null,
        }
    }
}

fn attribute_of(role: ColumnRole) -> Option<&'static str> {
    Some(match role {
        ColumnRole::Status => LATEST,
        ColumnRole::Updated | ColumnRole::ClaimedAt => UPDATED_AT,
        ColumnRole::Error => REASON,
        ColumnRole::Created => "CreatedAt",
        ColumnRole::Attempts => "Attempts",
        ColumnRole::Due => "NextAttemptAt",
        ColumnRole::Owner => "ClaimedBy",
        _ => return None,
    })
}

/// Returns the alternative name of an attribute.
pub(crate) fn alternative_name(attribute: &str) -> Option<&'static str> {
    ALTERNATIVE_NAMES.iter().find(|(ours, _)| *ours == attribute).map(|(_, other)| *other)
}

pub(crate) fn is_alternative_name(attribute: &str) -> bool {
    ALTERNATIVE_NAMES.iter().any(|(_, other)| *other == attribute)
}

/// Formats a time as RFC 3339 in UTC with microseconds.
pub(crate) fn time(micros: i64) -> String {
    let nanos = u32::try_from(micros.rem_euclid(1_000_000) * 1000).expect("less than a second");
    let time = DateTime::from_secs_and_nanos(micros.div_euclid(1_000_000), nanos);
    time.fmt(DateTimeFormat::DateTime).unwrap_or_else(|_| "9999-12-31T00:00:00Z".to_owned())
}

/// Parses an RFC 3339 time with any offset; returns microseconds since 1970.
pub(crate) fn micros(text: &str) -> Option<i64> {
    let time = DateTime::from_str(text, DateTimeFormat::DateTimeWithOffset).ok()?;
    let micros = i64::from(time.subsec_nanos()) / 1000;
    time.secs().checked_mul(1_000_000)?.checked_add(micros)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_rfc_3339() {
        assert_eq!(time(1_767_225_600_000_001), "2026-01-01T00:00:00.000001Z");
        assert_eq!(time(1_767_225_600_000_000), "2026-01-01T00:00:00Z");
        assert_eq!(time(postrider_rows::NEVER), "9999-12-31T00:00:00Z");
        for text in
            ["2026-01-01T00:00:00Z", "2026-01-01T01:00:00+01:00", "2025-12-31T18:15:00.000000000-05:45"]
        {
            assert_eq!(micros(text), Some(1_767_225_600_000_000), "{text}");
        }
        assert_eq!(micros("2026-01-01T00:00:00.123456789Z"), Some(1_767_225_600_123_456));
        assert_eq!(micros("yesterday"), None);
        assert_eq!(micros(&time(postrider_rows::NEVER)), Some(postrider_rows::NEVER));
    }
}
