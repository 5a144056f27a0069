//! One claimed row and the tables that the contract joins to it, read by field name.

use std::borrow::Cow;

use chrono::{DateTime, SecondsFormat, Utc};
use postrider_mail::date;
use postrider_seams::row::CLOCK;
use postrider_seams::{Fields, Value};

use super::not_composed::NotComposed;

/// A claimed notification: its ids, its key, and access to the joined columns.
pub struct NotificationRow<'a> {
    fields: &'a Fields,
    pub notification: i64,
    pub open_event: i64,
    pub subscription: i64,
    pub dedupe: Cow<'a, str>,
}

impl<'a> NotificationRow<'a> {
    /// Reads the ids of the row; fails if one of them is not an integer.
    pub fn read(fields: &'a Fields) -> Result<Self, NotComposed> {
        let key = |name: &str| {
            integer(fields.get(name))
                .ok_or_else(|| NotComposed::invalid(format!("{name}: must be a whole number")))
        };
        Ok(Self {
            fields,
            notification: key("notification_id")?,
            open_event: key("open_event_id")?,
            subscription: key("subscription_id")?,
            dedupe: text(fields.get("dedupe")).unwrap_or_default(),
        })
    }

    /// Returns a column of the row or of a joined table as text; `None` for NULL and if there is no joined row.
    pub fn text(&self, name: &str) -> Option<Cow<'a, str>> {
        text(self.fields.get(name))
    }

    /// Returns a column as text; `None` also if it is blank.
    pub fn non_blank(&self, name: &str) -> Option<Cow<'a, str>> {
        self.text(name).filter(|text| !text.trim().is_empty())
    }

    /// Returns a column as an integer; `None` for NULL and for text that is no integer.
    pub fn integer(&self, name: &str) -> Option<i64> {
        integer(self.fields.get(name))
    }

    /// Returns a count that the contract defines; 0 if the store returned none.
    pub fn count(&self, name: &str) -> i64 {
        self.integer(name).unwrap_or(0)
    }

    /// Returns the database's time when the row was read, in Unix milliseconds.
    pub fn clock(&self) -> Option<i64> {
        self.integer(CLOCK)
    }

    /// Returns a time column in Unix seconds.
    pub fn seconds(&self, name: &str) -> Option<i64> {
        match self.integer(name) {
            Some(number) => Some(date::from_epoch(number)),
            None => date::parse(&self.text(name)?),
        }
    }

    /// Returns a time column as RFC 3339. Text that is no time is returned unchanged; the schema check rejects it.
    pub fn rfc3339(&self, name: &str) -> Option<Cow<'a, str>> {
        let text = self.text(name)?;
        if DateTime::parse_from_rfc3339(&text).is_ok() {
            return Some(text);
        }
        let moment = self.seconds(name).and_then(|seconds| DateTime::<Utc>::from_timestamp(seconds, 0));
        Some(moment.map_or(text, |moment| moment.to_rfc3339_opts(SecondsFormat::Secs, true).into()))
    }

    /// Whether all of these fields are NULL, which means that there is no joined row.
    pub fn all_null(&self, names: &[&str]) -> bool {
        names.iter().all(|name| *self.fields.get(name) == Value::Null)
    }
}

fn text(value: &Value) -> Option<Cow<'_, str>> {
    Some(match value {
        Value::Null => return None,
        Value::Text(text) => Cow::Borrowed(text),
        Value::Bytes(bytes) => String::from_utf8_lossy(bytes),
        Value::Int(number) => number.to_string().into(),
        Value::Float(number) => number.to_string().into(),
        Value::Bool(truth) => truth.to_string().into(),
    })
}

fn integer(value: &Value) -> Option<i64> {
    match value {
        Value::Int(number) => Some(*number),
        _ => text(value)?.trim().parse().ok(),
    }
}
