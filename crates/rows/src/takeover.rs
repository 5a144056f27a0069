//! Take-over counts in the JSON of the error column, and other numbers in JSON columns.

use std::time::Duration;

use postrider_contract::{LONGEST_RETRY_AFTER, POISON, POISON_MESSAGE, TAKEOVERS};
use postrider_seams::Value;
use serde_json::{Map, Value as Json};

fn object(value: &Value) -> Map<String, Json> {
    match value.as_text().map(serde_json::from_str) {
        Some(Ok(Json::Object(object))) => object,
        Some(Err(_)) => Map::from_iter([("message".to_owned(), value.as_text().into())]),
        _ => Map::new(),
    }
}

/// Returns the number of take-overs so far; 0 if the column has none.
pub fn count(error: &Value) -> i64 {
    object(error).get(TAKEOVERS).and_then(Json::as_i64).unwrap_or(0)
}

/// Returns the error column with one more take-over counted; a text that is no JSON is kept as `message`.
pub fn add_takeover(error: &Value) -> Value {
    let mut object = object(error);
    object.insert(TAKEOVERS.to_owned(), (count(error) + 1).into());
    Value::Text(Json::Object(object).to_string())
}

/// Returns the error column of a row that had too many take-overs.
pub fn poisoned_error(error: &Value) -> Value {
    let object =
        serde_json::json!({ "code": POISON, "message": POISON_MESSAGE, TAKEOVERS: count(error) + 1 });
    Value::Text(object.to_string())
}

/// Returns the duration in seconds from a member of a JSON column, limited to the longest that a target may request.
pub fn seconds(value: &Value, member: &str) -> Duration {
    let seconds = object(value).get(member).and_then(Json::as_f64).unwrap_or(0.0);
    Duration::try_from_secs_f64(seconds).unwrap_or_default().min(LONGEST_RETRY_AFTER)
}
