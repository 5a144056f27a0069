//! Values of any type as text.

use std::borrow::Cow;

use postrider_seams::Value;

/// Returns a value as text; `None` for NULL. The error is the position of the first byte that is not UTF-8.
pub fn scalar(value: &Value) -> Result<Option<Cow<'_, str>>, usize> {
    Ok(Some(match value {
        Value::Null => return Ok(None),
        Value::Text(text) => Cow::Borrowed(text.as_str()),
        Value::Int(number) => Cow::Owned(number.to_string()),
        Value::Float(number) => Cow::Owned(number.to_string()),
        Value::Bool(truth) => Cow::Borrowed(if *truth { "true" } else { "false" }),
        Value::Bytes(bytes) => {
            Cow::Borrowed(std::str::from_utf8(bytes).map_err(|error| error.valid_up_to())?)
        }
    }))
}
