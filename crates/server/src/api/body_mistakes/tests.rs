use std::time::{Duration, Instant};

use postrider_hub::job::NewJob;

use super::*;
use crate::api::body::{parse_any, parse_json};

/// Returns field, pointer and message of each mistake.
fn mistakes(json: &str) -> Vec<(String, String, String)> {
    let problem = parse_json::<NewJob>(json.as_bytes()).expect_err("it is refused");
    assert_eq!(problem.status(), 422);
    let texts = |fault: &Fault| {
        (fault.field.clone(), fault.pointer.clone().unwrap_or_default(), fault.message.clone())
    };
    problem.faults().iter().map(texts).collect()
}

fn expected(field: &str, pointer: &str, message: &str) -> (String, String, String) {
    (field.to_owned(), pointer.to_owned(), message.to_owned())
}

#[test]
fn every_mistake_is_listed_at_once() {
    let found = mistakes(
        r#"{"targetURL": "https://example.com/", "code": 5, "dataOnly": "yes", "timeoutSeconds": 1.5, "maxRetries": 0,
            "metadata": [{"key": "a", "value": "b"}, {"key": "a", "valeu": "b"}, 7], "mode": "BLOCK_ON_EROR",
            "expiresAt": "tomorrow", "headers": {"X-A": 1}, "payload": ["a\u0000"], "code": "b"}"#,
    );
    assert_eq!(
        found,
        [
            expected("targetURL", "/targetURL", "unknown field `targetURL`; did you mean `targetUrl`?"),
            expected("code", "/code", "must be a string"),
            expected("dataOnly", "/dataOnly", "must be true or false or null"),
            expected("timeoutSeconds", "/timeoutSeconds", "must be a whole number or null"),
            expected("maxRetries", "/maxRetries", "must be at least 1"),
            expected(
                "metadata[1].valeu",
                "/metadata/1/valeu",
                "unknown field `valeu`; did you mean `value`?"
            ),
            expected("metadata[1].value", "/metadata/1/value", "is missing"),
            expected("metadata[2]", "/metadata/2", "must be an object"),
            expected("mode", "/mode", "unknown value `BLOCK_ON_EROR`; did you mean `BLOCK_ON_ERROR`?"),
            expected("expiresAt", "/expiresAt", "must be an RFC 3339 time such as 2026-01-31T09:30:00Z"),
            expected("headers.X-A", "/headers/X-A", "must be a string"),
            expected("payload", "/payload", "must be a string or null"),
            expected("payload[0]", "/payload/0", "must not contain the character NUL"),
            expected("code", "/code", "duplicate field `code`"),
            expected("targetUrl", "/targetUrl", "is missing"),
        ]
    );
}

#[test]
fn a_name_that_resembles_none_is_answered_with_the_known_ones() {
    let found = mistakes(r#"{"weather": 1, "code": "a", "targetUrl": "https://example.com/"}"#);
    let [(field, _, message)] = &found[..] else { panic!("{found:?}") };
    assert!(field == "weather" && message.starts_with("unknown field `weather`; known are `"), "{message}");
}

#[test]
fn a_body_that_is_no_object_is_one_mistake() {
    assert_eq!(mistakes("[1]"), [expected("body", "", "must be an object")]);
}

#[test]
fn parts_without_a_schema_are_checked_for_duplicates() {
    let problem = parse_any::<serde_json::Value>(br#"{"a": {"b": 1, "b": 2, "c": 1, "c": 2}}"#);
    let problem = problem.expect_err("it is refused");
    let fields: Vec<&str> = problem.faults().iter().map(|fault| fault.field.as_str()).collect();
    assert_eq!(fields, ["a.b", "a.c"]);
}

/// Every body type of the API has a schema that refuses unknown members, as serde does.
#[test]
fn the_schemas_of_all_requests_are_closed() {
    let document = crate::api::openapi::document();
    let document = serde_json::to_value(&document).expect("the document is JSON");
    let schemas = &document["components"]["schemas"];
    let bodies = document["paths"].as_object().expect("paths").values();
    let bodies = bodies.filter_map(|path| path["post"]["requestBody"]["content"].as_object());
    let names = bodies.flat_map(|content| content.values());
    let names = names.filter_map(|content| content["schema"]["$ref"].as_str()?.rsplit('/').next());
    let mut checked = 0;
    for name in names.filter(|name| !matches!(*name, "CloudEvent" | "NewEmail")) {
        assert_eq!(schemas[name]["additionalProperties"], false, "{name}");
        checked += 1;
    }
    assert!(checked >= 5, "{checked} bodies");
}

#[test]
fn the_list_and_the_time_are_bounded() {
    let many: Vec<String> = (0..200_000).map(|n| format!("\"no{n}\": 1")).collect();
    let start = Instant::now();
    assert_eq!(mistakes(&format!("{{{}}}", many.join(", "))).len(), MAX_MISTAKES);
    let long = "x".repeat(1 << 20);
    assert_eq!(mistakes(&format!("{{\"{long}\": 1, \"{long}\": 1}}")).len(), 1);
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
}
