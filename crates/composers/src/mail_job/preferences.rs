//! A subscriber's preferences (rule N11), from the subscription's metadata.
//!
//! The JSON is `{"preferences": {…}}`, or the preferences themselves. The schema checks the types later; this module
//! ignores values of a wrong type.

use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use serde_json::{Map, Value};

use super::window::Window;

const PREFERENCE_KEYS: [&str; 4] = ["notifyOn", "maxNotifications", "deliveryWindow", "snoozeUntil"];

/// The metadata of a subscription: preferences, name and locale.
#[derive(Debug, Clone, Default)]
pub struct Metadata {
    /// The preferences as the job carries them; `None` if there are none.
    pub preferences: Option<Value>,
    pub name: Option<String>,
    pub locale: Option<String>,
}

impl Metadata {
    /// Parses the metadata; no text gives empty metadata. The error describes what is invalid.
    pub fn parse(text: Option<&str>) -> Result<Self, String> {
        let Some(text) = text.filter(|text| !text.trim().is_empty()) else { return Ok(Self::default()) };
        let mut object = match serde_json::from_str(text) {
            Ok(Value::Object(object)) => object,
            Ok(Value::Null) => return Ok(Self::default()),
            Ok(_) => return Err("subscription metadata: must be a JSON object".to_owned()),
            Err(error) => return Err(format!("subscription metadata: invalid JSON: {error}")),
        };
        let text_at = |key: &str| object.get(key).and_then(Value::as_str).map(str::to_owned);
        let (name, locale) = (text_at("name"), text_at("locale"));
        let preferences = match object.remove("preferences") {
            Some(Value::Null) | None => {
                let own: Map<String, Value> =
                    object.into_iter().filter(|(key, _)| PREFERENCE_KEYS.contains(&key.as_str())).collect();
                (!own.is_empty()).then_some(Value::Object(own))
            }
            given => given,
        };
        Ok(Self { preferences: preferences.map(without_nulls), name, locale })
    }

    fn get(&self, key: &str) -> Option<&Value> {
        self.preferences.as_ref()?.get(key)
    }

    /// Whether the subscriber wants notifications about this status; without a list, about every status.
    pub fn wants(&self, status: &str) -> bool {
        let Some(listed) = self.get("notifyOn").and_then(Value::as_array) else { return true };
        let is_it = |check_preferences: &Value| {
            check_preferences
                .as_str()
                .is_some_and(|check_preferences| check_preferences.trim().eq_ignore_ascii_case(status.trim()))
        };
        listed.is_empty() || listed.iter().any(is_it)
    }

    /// Returns the largest number of mails that the subscriber wants in total; `None` for no limit.
    pub fn max_notifications(&self) -> Option<i64> {
        self.get("maxNotifications").and_then(integer)
    }

    /// Returns the time until which the mail must wait: the end of a snooze, or the next opening of the delivery
    /// window.
    pub fn not_before(&self, now: DateTime<Utc>, zone: Tz) -> Option<DateTime<Utc>> {
        let snooze = self.get("snoozeUntil").and_then(Value::as_str);
        let snooze = snooze.and_then(|text| DateTime::parse_from_rfc3339(text).ok());
        let snooze = snooze.map(|until| until.with_timezone(&Utc)).filter(|until| *until > now);
        let awake = snooze.unwrap_or(now);
        let opens = self.window().ok().flatten().and_then(|window| window.next_opening(awake, zone));
        opens.or(snooze)
    }

    fn window(&self) -> Result<Option<Window>, String> {
        let Some(window) = self.get("deliveryWindow").filter(|window| window.is_object()) else {
            return Ok(None);
        };
        let side = |key: &str| window.get(key).and_then(integer);
        let (start, end) = (side("startMinutes"), side("endMinutes"));
        let out_of_range =
            "subscription.preferences.deliveryWindow: minutes of a day are 0 to 1439 (an end may be 1440)";
        Window::new(start, end).map(Some).ok_or_else(|| out_of_range.to_owned())
    }

    /// Returns an error about values that have the right type but are out of range.
    pub fn out_of_range(&self) -> Option<String> {
        if self.max_notifications().is_some_and(|most| most < 0) {
            return Some("subscription.preferences.maxNotifications: can't be negative".to_owned());
        }
        self.window().err()
    }
}

/// Returns an integer; JSON Schema treats 3 and 3.0 as the same one.
fn integer(value: &Value) -> Option<i64> {
    #[expect(clippy::cast_possible_truncation, reason = "checked to be whole and small")]
    let from_float = |float: f64| (float.fract() == 0.0 && float.abs() < 1e15).then_some(float as i64);
    value.as_i64().or_else(|| value.as_f64().and_then(from_float))
}

/// Removes members that are null, which means that they are not set.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(object) => Value::Object(
            object
                .into_iter()
                .filter(|(_, value)| !value.is_null())
                .map(|(key, value)| (key, without_nulls(value)))
                .collect(),
        ),
        other => other,
    }
}
