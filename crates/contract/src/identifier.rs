//! Checks names of tables and columns.

/// The longest name in bytes that every database accepts.
const LONGEST_NAME: usize = 63;

/// Checks that this is a name that can be quoted on every database.
pub(crate) fn identifier(text: &str) -> Result<(), String> {
    if text.is_empty() {
        return Err("a name can't be empty".to_owned());
    }
    if text.len() > LONGEST_NAME {
        return Err(format!("a name of {} bytes: must be at most {LONGEST_NAME} bytes", text.len()));
    }
    match text.chars().find(|c| !(c.is_alphanumeric() || matches!(c, '_' | '$'))) {
        Some(c) => Err(format!("{c:?} can't be in a name: letters, digits, `_` and `$` can")),
        None => Ok(()),
    }
}
