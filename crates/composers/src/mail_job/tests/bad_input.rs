//! Invalid rows get a reason, and the next row is still composed.

use super::*;

fn payload(json: &serde_json::Value) -> (&'static str, Value) {
    ("event.payload", text(json.to_string()))
}

fn preferences(json: &serde_json::Value) -> (&'static str, Value) {
    ("subscription.metadata", text(json!({ "preferences": json }).to_string()))
}

fn template(template: &serde_json::Value) -> (&'static str, Value) {
    payload(&json!({ "courseTitle": "A", "sectionNumber": "1", "template": template }))
}

async fn holds(rows: &[((&'static str, Value), &str)]) {
    for (change, expected) in rows {
        let composer = MailJobComposer::new(settings());
        let mut composed = composer.compose(&[row(std::slice::from_ref(change)), row(&[])]).await;
        assert!(composed.pop().unwrap().is_ok(), "{change:?}: the next row goes on");
        let found = summary(composed.pop().unwrap());
        assert!(found.starts_with(expected), "{change:?}: {found}, not {expected}");
    }
}

#[tokio::test]
async fn n05_an_invalid_event_fails_and_the_next_row_is_composed() {
    holds(&[
        (template(&json!({ "id": "closed-seat" })), "failed validation_error: template.id"),
        (template(&json!({ "version": "v9" })), "failed template_missing_locale: "),
        (template(&json!({ "version": "../v1" })), "failed validation_error: "),
        (template(&json!("v1")), "failed validation_error: template"),
        (("section.meeting_summary", Value::Null), "failed validation_error: template.variables: "),
        (("event.payload", text("{broken")), "failed validation_error: open event payload: invalid JSON"),
        (payload(&json!({ "version": "2.0" })), "failed validation_error: version: \"2.0\""),
        (payload(&json!({ "version": "1" })), "failed validation_error: version: \"1\""),
        (payload(&json!({ "version": 1 })), "failed validation_error: version"),
        (("event.event_at", text("yesterday")), "failed validation_error: event.eventAt"),
        (("notification_id", text("0")), "failed validation_error: notificationId"),
        (("subscription_id", text("x")), "failed validation_error: subscription_id"),
    ])
    .await;
}

#[tokio::test]
async fn n05_an_invalid_recipient_is_skipped_and_the_next_row_is_composed() {
    let newline = text("ann@example.net\nBcc: eve@example.net");
    let skipped = "skipped invalid_recipient";
    let rows = [newline, text(""), text("ann"), Value::Null];
    holds(&rows.map(|contact| (("subscription.contact_value", contact), skipped))).await;
}

#[tokio::test]
async fn n11_invalid_preferences_fail_and_the_next_row_is_composed() {
    let window = "failed validation_error: subscription.preferences.deliveryWindow";
    holds(&[
        (
            ("subscription.metadata", text("{broken")),
            "failed validation_error: subscription metadata: invalid JSON",
        ),
        (("subscription.metadata", text("[1]")), "failed validation_error: subscription metadata: must be"),
        (preferences(&json!({ "deliveryWindow": { "startMinutes": 9999 } })), window),
        (preferences(&json!({ "deliveryWindow": { "startMinutes": "9" } })), window),
        (preferences(&json!({ "deliveryWindow": "nine to five" })), window),
        (
            preferences(&json!({ "notifyOn": "Open" })),
            "failed validation_error: subscription.preferences.notify",
        ),
        (
            preferences(&json!({ "maxNotifications": -1 })),
            "failed validation_error: subscription.preferences.max",
        ),
        (
            preferences(&json!({ "snoozeUntil": "soon" })),
            "failed validation_error: subscription.preferences.snooze",
        ),
        (preferences(&json!("all")), "failed validation_error: subscription.preferences"),
    ])
    .await;
}

#[tokio::test]
async fn n07_a_missing_event_is_reported() {
    let gone =
        ["event.term_id", "event.index_number", "event.status_after", "event.event_at", "event.payload"];
    let found = outcome(&gone.map(|field| (field, Value::Null))).await;
    assert_eq!(found, "failed validation_error: there is no open event 31");
}

#[tokio::test]
async fn g07_a_reason_is_short_and_contains_no_secret() {
    let secret = ("subscription.unsubscribe_token", text("s3cret"));
    let found = outcome(&[secret, ("section.meeting_summary", Value::Null)]).await;
    assert!(!found.contains("s3cret"), "{found}");
    let long = text(format!("{}@", "x".repeat(9_000)));
    let Err(Outcome::Skipped(failure)) = compose(&[("subscription.contact_value", long)]).await else {
        panic!("no recipient")
    };
    assert!(failure.reason.chars().count() <= 301, "{}", failure.reason);
}

#[tokio::test]
async fn n10_a_variable_that_only_the_template_needs_has_its_own_code() {
    let folder = tempfile::tempdir().unwrap();
    let locale = folder.path().join("open-seat/v2/en-US");
    std::fs::create_dir_all(&locale).unwrap();
    std::fs::write(locale.join("body.txt"), "{{ professor }}").unwrap();
    let with = |default: &str| {
        let templates = LiveTemplates::open(Some(folder.path()), default).unwrap();
        Settings { templates, ..settings() }
    };
    let found = summary(compose_with(with("en"), &[template(&json!({ "version": "v2" }))]).await);
    assert!(
        found.starts_with("failed template_variable_missing: ") && found.contains("professor"),
        "{found}"
    );
    let given = template(&json!({ "version": "v2", "variables": { "professor": "Knuth" } }));
    assert_eq!(summary(compose_with(with("en"), std::slice::from_ref(&given)).await), "mail");
    let nowhere = [given, ("subscription.locale", text("fr"))];
    let found = summary(compose_with(with("de"), &nowhere).await);
    assert!(found.starts_with("failed template_missing_locale: "), "{found}");
}
