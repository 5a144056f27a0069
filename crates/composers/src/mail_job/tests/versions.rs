//! Jobs against the schema of the specification, with formats asserted, and the rule for versions (rule N7).

use super::*;

fn job() -> serde_json::Value {
    json!({
        "version": "1.0", "notificationId": 1, "openEventId": 2, "subscriptionId": 3, "dedupeKey": "k",
        "locale": "en", "recipient": { "email": "a@example.net" },
        "template": { "id": "open-seat", "variables": {
            "courseTitle": "", "courseString": "", "sectionIndex": "", "sectionNumber": "",
            "meetingSummary": "", "manageUrl": "https://x.example" } },
        "event": { "termId": "", "campusCode": "", "indexNumber": "", "statusAfter": "Open",
            "eventAt": "2026-11-16T00:00:00Z" },
        "links": {},
    })
}

fn changed(pointer: &str, key: &str, value: serde_json::Value) -> serde_json::Value {
    let mut job = job();
    job.pointer_mut(pointer).unwrap()[key] = value;
    job
}

#[test]
fn n07_the_shipped_schema_is_the_specifications_and_accepts_a_minimal_job() {
    let schema: serde_json::Value = serde_json::from_str(SCHEMA).unwrap();
    assert_eq!(schema["$id"], "https://better-course-schedule/notify/mail_job.schema.json");
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    assert_eq!(validate_job(job()), Ok(job()));
}

#[test]
fn n07_formats_are_asserted() {
    for (pointer, key, value) in [
        ("/recipient", "email", "not an address"),
        ("/event", "eventAt", "2026-11-16 00:00"),
        ("/links", "manageUrl", "no uri"),
        ("/template/variables", "unsubscribeUrl", "::"),
    ] {
        let error = validate_job(changed(pointer, key, value.into())).unwrap_err();
        assert!(error.contains(key), "{error}");
    }
}

#[test]
fn n07_closed_objects_are_closed_for_1_0_and_forgiving_for_later_minors() {
    for pointer in ["", "/recipient", "/template", "/links"] {
        let mut later = changed(pointer, "added", json!(1));
        assert!(validate_job(later.clone()).unwrap_err().contains("dditional"), "{pointer}");
        later["version"] = "1.7".into();
        assert_eq!(validate_job(later), Ok(job()), "{pointer}: dropped");
    }
    let open = changed("/event", "added", json!(1));
    assert_eq!(validate_job(open.clone()), Ok(open.clone()), "an open object keeps what it has");
    let mut later = open.clone();
    later["version"] = "1.12".into();
    assert_eq!(validate_job(later), Ok(open));
}

#[test]
fn n07_another_major_is_refused() {
    for version in ["2.0", "0.9", "10.0", "1", "1.", "1.x", "one", "", "1.0.0"] {
        let error = validate_job(changed("", "version", version.into())).unwrap_err();
        assert!(error.starts_with("version: "), "{version}: {error}");
    }
}

#[tokio::test]
async fn n07_a_producer_of_a_later_minor_is_read() {
    let payload = |version: &str| {
        let template = json!({ "theme": "dark" });
        let payload =
            json!({ "version": version, "courseTitle": "A", "sectionNumber": "1", "template": template });
        ("event.payload", text(payload.to_string()))
    };
    assert_eq!(outcome(&[payload("1.3")]).await, "mail");
    let found = outcome(&[payload("1.0")]).await;
    assert!(found.starts_with("failed validation_error: template"), "{found}");
}
