//! Tests of mails from templates, and of their signatures.

use std::fs;

use super::*;

fn with_templates() -> (tempfile::TempDir, Settings) {
    let folder = tempfile::tempdir().unwrap();
    for (locale, hello) in [("en", "Hello"), ("de", "Hallo")] {
        let path = folder.path().join("hello/v1").join(locale);
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join("subject.txt"), format!("{hello} {{{{ name }}}}")).unwrap();
        fs::write(path.join("body.html"), format!("<p>{hello} {{{{ name }}}}</p>")).unwrap();
    }
    let templates = LiveTemplates::open(Some(folder.path()), "en").unwrap();
    (folder, Settings { templates: Some(templates), ..Settings::new("mails") })
}

#[tokio::test]
async fn m08_template_variables_and_locale_instead_of_bodies() {
    let (_folder, settings) = with_templates();
    let changes = [
        ("text", Value::Null),
        ("subject", text("")),
        ("template", text("hello")),
        ("variables", text(r#"{"name":"<Ann>"}"#)),
        ("locale", text("de-AT")),
    ];
    let mail = compose_with(settings, &changes).await.unwrap();
    let parsed = MessageParser::default().parse(&mail.message).unwrap();
    assert_eq!(parsed.subject(), Some("Hallo <Ann>"));
    assert_eq!(parsed.body_html(0).unwrap().trim_end(), "<p>Hallo &lt;Ann&gt;</p>");
    assert_eq!(parsed.body_text(0).unwrap().trim_end(), "Hallo <Ann>");
}

#[tokio::test]
async fn the_rows_subject_overrides_the_templates() {
    let (_folder, settings) = with_templates();
    let changes = [
        ("text", text("")),
        ("template", text("hello")),
        ("variables", text(r#"{"name":"Ann"}"#)),
        ("subject", text("Mine")),
    ];
    let mail = compose_with(settings, &changes).await.unwrap();
    assert!(message(&mail).contains("Subject: Mine\r\n"));
}

#[tokio::test]
async fn template_errors_are_distinguished() {
    let cases = [
        ("template", "bye", "template: there is no template \"bye\""),
        ("template", "../x", "template: \"../x\" is not a template name"),
        ("variables", "{}", "template: template hello/v1/en/subject.txt needs the variable name"),
        ("variables", "{", "variables: invalid JSON"),
        ("variables", "[]", "variables: must be a JSON object"),
        ("variables", r#"{"name":"a\r\nBcc: x@y.org"}"#, "subject: contains a control character"),
    ];
    for (field, value, reason) in cases {
        let (_folder, settings) = with_templates();
        let variables = ("variables", text(r#"{"name":"Ann"}"#));
        let changes = [
            ("text", Value::Null),
            ("subject", Value::Null),
            ("template", text("hello")),
            variables,
            (field, text(value)),
        ];
        let found = compose_with(settings, &changes).await.expect_err(value);
        assert!(found.starts_with(reason), "{found}");
    }
    let reason = compose(&[("text", Value::Null), ("template", text("hello"))]).await.unwrap_err();
    assert!(reason.contains("no template folder is set"), "{reason}");
}

#[tokio::test]
async fn mails_are_signed_in_order_by_the_keys_of_their_domain() {
    let key = include_str!("../../../../mail/tests/dkim/ed25519.pem");
    let signers = vec![Signer::new("example.org", "s", key).unwrap()];
    let settings = Settings { signers, ..Settings::new("mails") };
    let mut rows: Vec<_> = (0..50).map(|id| row(id, &[])).collect();
    rows[20] = row(20, &[("to", text("bad"))]);
    rows[21] = row(21, &[("from", text("a@elsewhere.org"))]);
    let composed = composer(settings).compose(&rows).await;
    assert_eq!(composed.len(), 50);
    for (id, composed) in composed.into_iter().enumerate() {
        let Ok(envelope) = composed else {
            assert_eq!(id, 20);
            continue;
        };
        assert_eq!(envelope.row, id.to_string());
        let Content::Mail(mail) = envelope.content else { panic!("no mail") };
        let signed = message(&mail).starts_with("DKIM-Signature: v=1; a=ed25519-sha256;");
        assert_eq!(signed, id != 21);
    }
}
