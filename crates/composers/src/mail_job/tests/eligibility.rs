//! The order of the checks (rule N5), and the preferences of rule N11.

use super::*;

fn metadata(json: &serde_json::Value) -> (&'static str, Value) {
    ("subscription.metadata", text(json.to_string()))
}

#[tokio::test]
async fn n05_each_check_has_its_code_and_comes_in_its_order() {
    // Each line adds a change that fails an earlier check: the earlier check wins.
    let ladder: [(&'static str, Value, &str); 9] = [
        (
            "event.payload",
            text(r#"{"courseTitle":"A","sectionNumber":"1","template":{"version":"v9"}}"#),
            "failed template_missing_locale",
        ),
        ("event.term_id", Value::Null, "failed validation_error"),
        ("subscription.contact_value", text("nobody"), "skipped invalid_recipient"),
        ("history.duplicates", Value::Int(1), "skipped duplicate"),
        ("subscription.metadata", text(r#"{"preferences":{"notifyOn":["Waitlist"]}}"#), "skipped notify_on"),
        ("subscription.status", text("paused"), "skipped subscription_inactive"),
        ("subscription.status", text("unsubscribed"), "skipped unsubscribed"),
        ("subscription.contact_type", text("sms"), "skipped unsupported_contact"),
        ("subscription.contact_type", Value::Null, "skipped unsupported_contact"),
    ];
    let mut wrong = Vec::new();
    for (field, value, expected) in ladder {
        wrong.push((field, value));
        let found = outcome(&wrong).await;
        assert!(found.starts_with(expected), "{field}: {found}, not {expected}");
    }
}

#[tokio::test]
async fn n05_only_active_subscriptions_get_mail() {
    for status in ["pending", "paused", "suppressed", "no such status", ""] {
        let found = outcome(&[("subscription.status", text(status))]).await;
        assert_eq!(found, "skipped subscription_inactive", "{status:?}");
    }
    let gone = ["subscription.status", "subscription.contact_type", "subscription.contact_value"];
    assert_eq!(outcome(&gone.map(|field| (field, Value::Null))).await, "skipped subscription_missing");
}

#[tokio::test]
async fn n08_a_row_waits_at_no_cost_while_its_duplicate_is_sent() {
    let twin = ("history.in_flight", Value::Int(1));
    assert_eq!(outcome(std::slice::from_ref(&twin)).await, "deferred 5");
    assert_eq!(outcome(&[twin, ("history.duplicates", text("1"))]).await, "skipped duplicate");
}

#[tokio::test]
async fn n11_notify_on_compares_with_the_status_ignoring_case() {
    for (listed, expected) in [
        (json!(["open"]), "mail"),
        (json!(["Waitlist", " OPEN "]), "mail"),
        (json!([]), "mail"),
        (json!(["closed"]), "skipped notify_on"),
    ] {
        let roofed = metadata(&json!({ "preferences": { "notifyOn": listed } }));
        assert_eq!(outcome(&[roofed]).await, expected, "{listed}");
        assert_eq!(outcome(&[metadata(&json!({ "notifyOn": listed }))]).await, expected, "{listed}, bare");
    }
}

#[tokio::test]
async fn n11_max_notifications_counts_sent_mails() {
    for (most, sent, expected) in
        [(3, 2, "mail"), (3, 3, "skipped max_notifications"), (0, 0, "skipped max_notifications")]
    {
        let preferences = metadata(&json!({ "preferences": { "maxNotifications": most } }));
        assert_eq!(
            outcome(&[preferences, ("history.sent", Value::Int(sent))]).await,
            expected,
            "{sent} of {most}"
        );
    }
}

#[tokio::test]
async fn n11_snooze_and_window_defer_free() {
    let snoozed = |until: &str| metadata(&json!({ "preferences": { "snoozeUntil": until } }));
    assert_eq!(outcome(&[snoozed("2026-11-16T13:00:00Z")]).await, "deferred 3600");
    assert_eq!(outcome(&[snoozed("2026-11-16T14:00:00+01:00")]).await, "deferred 3600");
    assert_eq!(outcome(&[snoozed("2026-11-16T11:00:00Z")]).await, "mail");
    let window = |start: i64, end: i64| {
        let window = json!({ "startMinutes": start, "endMinutes": end });
        metadata(&json!({ "preferences": { "deliveryWindow": window } }))
    };
    assert_eq!(outcome(&[window(700, 730)]).await, "mail", "12:00 is minute 720");
    assert_eq!(outcome(&[window(780, 900)]).await, "deferred 3600");
    assert_eq!(outcome(&[window(900, 730)]).await, "mail", "it wraps midnight");
    assert_eq!(outcome(&[window(5, 5)]).await, "mail", "the whole day");
    let zone = Settings { zone: Tz::Asia__Shanghai, ..settings() }; // 20:00 there
    assert_eq!(summary(compose_with(zone, &[window(1260, 1320)]).await), "deferred 3600");
    let both = json!({ "preferences": {
        "snoozeUntil": "2026-11-16T13:00:00Z",
        "deliveryWindow": { "startMinutes": 840, "endMinutes": 900 },
    } });
    assert_eq!(outcome(&[metadata(&both)]).await, "deferred 7200", "awake at 13:00, open at 14:00");
}

#[tokio::test]
async fn n11_no_row_is_deferred_beyond_its_expiry() {
    let snoozed = metadata(&json!({ "preferences": { "snoozeUntil": "2026-11-20T13:00:00Z" } }));
    let day_less_a_minute = 24 * 3600 - 60;
    assert_eq!(outcome(std::slice::from_ref(&snoozed)).await, format!("deferred {day_less_a_minute}"));
    let old = ("created", text("2026-11-14 11:59:00"));
    assert_eq!(outcome(&[snoozed.clone(), old.clone()]).await, "deferred 0");
    let forever = Settings { expires: None, ..settings() };
    let found = summary(compose_with(forever, &[snoozed, old]).await);
    assert_eq!(found, format!("deferred {}", 4 * 86_400 + 3600));
}
