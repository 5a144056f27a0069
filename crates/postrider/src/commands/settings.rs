//! `settings`: prints a settings file with every key and its meaning.

use std::io::Write as _;

use serde_json::json;

use crate::failure::Failure;
use crate::output::line;
use crate::settings::keys;

/// Prints the file, or the keys as JSON.
pub fn run(as_json: bool) -> Result<(), Failure> {
    if !as_json {
        return Ok(std::io::stdout().write_all(keys::file().as_bytes())?);
    }
    for section in keys::sections() {
        for key in &section.keys {
            let mut object = json!({ "table": section.path() });
            if let (Some(object), Ok(serde_json::Value::Object(rest))) =
                (object.as_object_mut(), serde_json::to_value(key))
            {
                object.extend(rest);
            }
            line(object)?;
        }
    }
    Ok(())
}
