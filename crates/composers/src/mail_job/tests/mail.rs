//! Content of the mail and of its envelope (rules N8, N9, N10).

use super::*;

#[tokio::test]
async fn n09_the_envelope_has_everything_that_a_sender_needs() {
    let envelope = compose(&[]).await.unwrap();
    let mail = mail(&envelope);
    assert_eq!((mail.from.as_str(), mail.to[0].as_str()), ("seats@example.org", "ann@example.net"));
    assert_eq!(envelope.dedupe, "sha:abc:52", "all subscribers of an event share its key");
    let metadata: Vec<(&str, &str)> =
        mail.metadata.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    assert_eq!(
        metadata,
        [
            ("subscriptionId", "52"),
            ("openEventId", "31"),
            ("term", "2026F"),
            ("campus", "NB"),
            ("templateId", "open-seat"),
            ("templateVersion", "v1"),
            ("traceId", "trace-1"),
            ("dedupeKey", "sha:abc"),
        ]
    );
    let detail = |key: &str| envelope.detail[key].as_text().unwrap().to_owned();
    assert_eq!(detail("section_status"), "Open");
    assert_eq!(detail("dedupe_key"), "sha:abc", "handed on unchanged");
    assert_eq!(detail("unsubscribe_url"), "https://seats.example/u?t=t0k");
}

#[tokio::test]
async fn n07_title_and_number_come_from_the_snapshot() {
    let envelope = compose(&[]).await.unwrap();
    let variables: serde_json::Value =
        serde_json::from_str(envelope.detail["variables"].as_text().unwrap()).unwrap();
    let expected = json!({
        "courseTitle": "Algorithms", "courseString": "01:198:344", "sectionIndex": "07214",
        "sectionNumber": "03", "meetingSummary": "Mon 10:20", "campus": "NB",
        "eventDetectedAt": "2026-11-16T11:58:30Z", "eventDetectedLocal": "2026-11-16 11:58 UTC",
        "manageUrl": "https://seats.example/s/52", "unsubscribeUrl": "https://seats.example/u?t=t0k",
    });
    assert_eq!(variables, expected);
}

#[tokio::test]
async fn n10_a_mail_has_subject_text_html_and_one_click_unsubscription() {
    let title = json!({ "courseTitle": "R&D <Lab>\nBcc: x@y", "sectionNumber": "03" });
    let envelope = compose(&[("event.payload", text(title.to_string()))]).await.unwrap();
    let bytes = mail(&envelope).message.to_vec();
    let parsed = MessageParser::default().parse(&bytes).unwrap();
    assert_eq!(parsed.subject(), Some("A seat is open: R&D <Lab> Bcc: x@y (07214)"));
    assert!(parsed.header("Bcc").is_none());
    assert!(parsed.body_html(0).unwrap().contains("R&amp;D &lt;Lab&gt;"));
    assert!(parsed.body_text(0).unwrap().contains("R&D <Lab>"));
    assert_eq!(parsed.header_raw("List-Unsubscribe").unwrap().trim(), "<https://seats.example/u?t=t0k>");
    assert_eq!(parsed.header_raw("List-Unsubscribe-Post").unwrap().trim(), "List-Unsubscribe=One-Click");
    assert_eq!(parsed.message_id().unwrap(), mail(&envelope).message_id);
    assert_eq!(parsed.date().unwrap().to_timestamp(), NOW / 1000 - 60, "a retry has the same bytes");
}

#[tokio::test]
async fn n10_one_click_needs_a_token_and_https() {
    let headers = async |settings: Settings, token: Value| {
        let envelope = compose_with(settings, &[("subscription.unsubscribe_token", token)]).await.unwrap();
        let bytes = mail(&envelope).message.to_vec();
        let parsed = MessageParser::default().parse(&bytes).unwrap();
        ["List-Unsubscribe", "List-Unsubscribe-Post"].map(|name| parsed.header(name).is_some())
    };
    assert_eq!(headers(settings(), text("t")).await, [true, true]);
    assert_eq!(headers(settings(), Value::Null).await, [false, false]);
    let plain = UrlPattern::parse("http://seats.example/u/{subscription_id}").unwrap();
    let plain = Settings { unsubscribe_url: Some(plain), ..settings() };
    assert_eq!(headers(plain, Value::Null).await, [true, false]);
}

#[tokio::test]
async fn n10_the_locale_is_the_subscriptions_its_language_or_the_default() {
    let subject = async |locale: Value| {
        let envelope = compose(&[("subscription.locale", locale)]).await.unwrap();
        let bytes = mail(&envelope).message.to_vec();
        MessageParser::default().parse(&bytes).unwrap().subject().unwrap().to_owned()
    };
    for locale in ["zh-CN", "zh_cn", "zh", "zh-TW"] {
        assert!(subject(text(locale)).await.starts_with("有空位了"), "{locale}");
    }
    for locale in [text("en-GB"), text("fr-FR"), text(" "), Value::Null] {
        assert!(subject(locale.clone()).await.starts_with("A seat is open"), "{locale:?}");
    }
}

#[tokio::test]
async fn n08_one_event_with_three_subscribers_is_three_mails() {
    let composer = MailJobComposer::new(settings());
    let rows: Vec<ClaimedRow> =
        (1..=3).map(|subscription| row(&[("subscription_id", Value::Int(subscription))])).collect();
    let mut ids: Vec<(String, String)> = Vec::new();
    for envelope in composer.compose(&rows).await {
        let envelope = envelope.unwrap();
        ids.push((envelope.dedupe.clone(), mail(&envelope).message_id.clone()));
    }
    ids.dedup();
    assert_eq!(ids.len(), 3, "{ids:?}");
}

#[tokio::test]
async fn n09_metadata_and_trace_are_headers_of_the_mail() {
    let header = async |changes: &[(&'static str, Value)], name: &str| {
        let bytes = mail(&compose(changes).await.unwrap()).message.to_vec();
        let parsed = MessageParser::default().parse(&bytes).unwrap();
        parsed.header_raw(name.to_owned()).map(|value| value.trim().to_owned())
    };
    for (name, value) in [
        ("X-Trace-Id", "trace-1"),
        ("X-Metadata-Subscription-Id", "52"),
        ("X-Metadata-Open-Event-Id", "31"),
        ("X-Metadata-Term", "2026F"),
        ("X-Metadata-Campus", "NB"),
        ("X-Metadata-Dedupe-Key", "sha:abc"),
    ] {
        assert_eq!(header(&[], name).await.as_deref(), Some(value), "{name}");
    }
    // A value that is invalid in a header is left out; the mail is still sent.
    let broken = ("event.trace_id", text("a\r\nBcc: x@example.org"));
    assert_eq!(header(std::slice::from_ref(&broken), "X-Trace-Id").await, None);
    assert_eq!(header(&[broken], "Bcc").await, None);
}

#[tokio::test]
async fn n10_a_missing_unsubscribe_token_is_named() {
    let mut settings = settings();
    settings.manage_url = UrlPattern::parse("https://seats.example/s?t={token}").unwrap();
    let composed = compose_with(settings, &[("subscription.unsubscribe_token", Value::Null)]).await;
    assert_eq!(
        summary(composed),
        "failed validation_error: subscription 52 has no unsubscribe_token, which mail.manage_url needs for {token}"
    );
}
