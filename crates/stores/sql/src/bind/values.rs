//! Values as the databases take them: texts, and the JSON that MySQL and SQLite unpack.

use postrider_seams::row::{RowId, Value};
use serde_json::{Map, Number, Value as Json};

use crate::Field;

/// Returns a value as text, for databases that cast it themselves; `None` for NULL. Bytes become PostgreSQL's hex
/// format.
pub fn text(value: Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Int(number) => Some(number.to_string()),
        Value::Float(number) => Some(number.to_string()),
        Value::Text(text) => Some(without_nul(text)),
        Value::Bytes(bytes) => Some(hex(&bytes)),
    }
}

/// Replaces NUL characters, which not every database stores in text: one reason with a NUL must not fail its whole
/// batch.
pub fn without_nul(text: String) -> String {
    if text.contains('\0') { text.replace('\0', "\u{fffd}") } else { text }
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::from("\\x"), |mut text, byte| {
        write!(text, "{byte:02x}").expect("writing to a String can't fail");
        text
    })
}

/// Returns texts as a JSON array.
pub fn json_texts(texts: &[String]) -> String {
    Json::Array(texts.iter().map(|text| Json::from(text.as_str())).collect()).to_string()
}

/// Returns keys as a JSON array.
pub fn json_ids(ids: &[RowId]) -> String {
    let ids = ids.iter().map(|id| match id {
        RowId::Int(id) => Json::from(*id),
        RowId::Text(id) => Json::from(&**id),
    });
    Json::Array(ids.collect()).to_string()
}

/// Returns a JSON array with one object per row, with these members.
pub(crate) fn json_rows<T>(rows: &[T], fields: &[Field], value: impl Fn(&T, &Field) -> Value) -> String {
    let member = |row: &T, field: &Field| (field.key(), json(value(row, field)));
    let object = |row: &T| Json::Object(fields.iter().map(|field| member(row, field)).collect::<Map<_, _>>());
    Json::Array(rows.iter().map(object).collect()).to_string()
}

/// Returns a value as JSON. Bytes become text.
pub(crate) fn json(value: Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Bool(flag) => Json::Bool(flag),
        Value::Int(number) => Json::from(number),
        Value::Float(number) => Number::from_f64(number).map_or(Json::Null, Json::Number),
        Value::Text(text) => Json::String(without_nul(text)),
        Value::Bytes(bytes) => Json::String(String::from_utf8_lossy(&bytes).into_owned()),
    }
}
