//! Columns of a row with secrets masked.

use postrider_contract::{Contract, SOURCE};
pub use postrider_hub::mask::{MASK, is_secret};
use postrider_seams::inspect::RowView;
use serde::Serialize;
use utoipa::ToSchema;

use super::cut;

/// Maximum characters of one column.
const MAX_TEXT_CHARS: usize = 64 * 1024;

/// A name and a value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct NameValue {
    /// Name of the column, header or field.
    pub name: String,
    /// Its value as text. Null: NULL in the database.
    pub value: Option<String>,
}

/// Returns every column of a row; in headers, values that may be credentials are masked.
pub fn columns(contract: &Contract, row: &RowView) -> Vec<NameValue> {
    let fields = contract.message_columns();
    // Headers may be members of a column from which fields are computed.
    let has_headers = |field: &str| field == "headers" || field.starts_with(SOURCE);
    let is_headers = |name: &str| fields.iter().any(|(field, column)| has_headers(field) && column == name);
    let shown = |(name, value): &(String, Option<String>)| {
        let value =
            value.as_deref().map(|text| if is_headers(name) { masked(text) } else { text.to_owned() });
        let value =
            value.map(|text| if is_secret(name) { MASK.to_owned() } else { cut(&text, MAX_TEXT_CHARS).0 });
        NameValue { name: name.clone(), value }
    };
    row.columns.iter().map(shown).collect()
}

/// Masks some values of an object of headers; a text that is not an object is masked completely.
fn masked(text: &str) -> String {
    let Ok(serde_json::Value::Object(mut headers)) = serde_json::from_str(text) else {
        return if is_secret(text) { MASK.to_owned() } else { text.to_owned() };
    };
    for (name, value) in &mut headers {
        if is_secret(name) {
            *value = MASK.into();
        }
    }
    serde_json::Value::Object(headers).to_string()
}
