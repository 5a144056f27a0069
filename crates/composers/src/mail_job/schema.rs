//! Validates jobs against the schema of the specification, and checks their version (rule N7).

use std::sync::LazyLock;

use jsonschema::{Draft, Validator};
use serde_json::Value;

/// The JSON Schema of a job, exactly as in the specification.
pub const SCHEMA: &str = include_str!("../../schema/mail_job.schema.json");
/// The job version that we emit.
pub const VERSION: &str = "1.0";
const MAJOR: &str = "1";
/// Largest number of errors reported per job.
const MAX_ERRORS: usize = 3;

static PARSED: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(SCHEMA).expect("a test parses the shipped schema"));

static VALIDATOR: LazyLock<Validator> = LazyLock::new(|| {
    jsonschema::options()
        .with_draft(Draft::Draft202012)
        .should_validate_formats(true)
        .build(&PARSED)
        .expect("a test compiles the shipped schema")
});

/// Validates a job of any minor version of major 1 and returns it as version 1.0: members that a later minor version
/// added to closed objects are removed. The error names every invalid member, without its value.
pub fn validate_job(mut job: Value) -> Result<Value, String> {
    match job.get("version").and_then(Value::as_str) {
        Some(VERSION) | None => {}
        Some(later) => {
            let (major, minor) = later.split_once('.').unwrap_or((later, ""));
            if major != MAJOR || minor.is_empty() || !minor.bytes().all(|byte| byte.is_ascii_digit()) {
                return Err(format!("version: {later:?} is not {MAJOR}.x, which this worker reads"));
            }
            job["version"] = VERSION.into();
            drop_unknown(&PARSED, &mut job);
        }
    }
    if VALIDATOR.is_valid(&job) {
        return Ok(job);
    }
    let mistakes = VALIDATOR.iter_errors(&job).take(MAX_ERRORS).map(|error| {
        let path = error.instance_path().to_string();
        let place = path.trim_start_matches('/').replace('/', ".");
        let place = if place.is_empty() { "job" } else { place.as_str() };
        format!("{place}: {}", error.masked())
    });
    Err(mistakes.collect::<Vec<_>>().join("; "))
}

/// Removes members that the schema does not define from closed objects.
fn drop_unknown(schema: &Value, value: &mut Value) {
    let (Some(properties), Some(object)) =
        (schema.get("properties").and_then(Value::as_object), value.as_object_mut())
    else {
        return;
    };
    if schema.get("additionalProperties") == Some(&Value::Bool(false)) {
        object.retain(|key, _| properties.contains_key(key));
    }
    for (key, value) in object {
        if let Some(schema) = properties.get(key) {
            drop_unknown(schema, value);
        }
    }
}
