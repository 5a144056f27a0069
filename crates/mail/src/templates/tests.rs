use std::fs;

use serde_json::json;

use super::*;

/// A folder of templates from (path, content) pairs.
fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, content) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    folder
}

fn load(files: &[(&str, &str)]) -> Templates {
    Templates::load(folder(files).path(), "en").unwrap()
}

#[test]
fn subject_html_and_text_with_html_escaped_only_in_html() {
    let templates = load(&[
        ("hello/v1/en/subject.txt", "Hello {{ name }}!\n"),
        ("hello/v1/en/body.html", "<p>Hello {{ name }}</p>"),
        ("hello/v1/en/body.txt", "Hello {{ name }}"),
    ]);
    let rendered = templates.render("hello", None, &json!({ "name": "<Ann & Co>" })).unwrap();
    assert_eq!(rendered.subject.as_deref(), Some("Hello <Ann & Co>!"));
    assert_eq!(rendered.html.as_deref(), Some("<p>Hello &lt;Ann &amp; Co&gt;</p>"));
    assert_eq!(rendered.text, "Hello <Ann & Co>");
}

#[test]
fn a_missing_text_is_made_from_the_html() {
    let templates = load(&[("hello/v1/en/body.html", "<p>Hello {{ name }}</p><p>Bye</p>")]);
    let rendered = templates.render("hello", None, &json!({ "name": "A&B" })).unwrap();
    assert_eq!((rendered.text.as_str(), rendered.subject), ("Hello A&B\n\nBye\n", None));
}

#[test]
fn locales_fall_back_to_the_language_and_then_the_default() {
    let templates = load(&[
        ("hello/v1/en/body.txt", "en"),
        ("hello/v1/de/body.txt", "de"),
        ("hello/v1/de_AT/body.txt", "de-AT"),
        ("german/v1/de/body.txt", "de"),
    ]);
    let text = |locale| templates.render("hello", Some(locale), &json!({})).unwrap().text;
    assert_eq!(
        ["de-AT", "de_at", "de-CH", "de", "fr", ""].map(text),
        ["de-AT", "de-AT", "de", "de", "en", "en"]
    );
    let error = templates.render("german", Some("fr"), &json!({})).unwrap_err();
    assert_eq!(error.to_string(), "template german has neither the locale \"fr\" nor the default en");
}

#[test]
fn versions_are_named_or_the_newest_is_taken() {
    let files = ["v1", "v9", "v10"].map(|version| (format!("hello/{version}/en/body.txt"), version));
    let templates = load(&files.each_ref().map(|(path, version)| (path.as_str(), *version)));
    let text = |name| templates.render(name, None, &json!({})).map(|rendered| rendered.text);
    assert_eq!(text("hello").unwrap(), "v10");
    assert_eq!(text("hello@v9").unwrap(), "v9");
    assert!(matches!(text("hello@v2"), Err(Error::VersionMissing { .. })));
}

#[test]
fn each_mistake_is_an_error_of_its_own() {
    let templates = load(&[
        ("hello/v1/en/body.txt", "Hello {{ user.name }}"),
        (
            "endless/v1/en/body.txt",
            "{% for a in range(9999) %}{% for b in range(9999) %}x{% endfor %}{% endfor %}",
        ),
        ("sum/v1/en/body.txt", "\n{{ a / 0 }}"),
    ]);
    let error = |name: &str, variables| templates.render(name, None, &variables).unwrap_err();
    assert_eq!(error("nothing", json!({})), Error::Missing("\"nothing\"".into()));
    let missing =
        Error::VariableMissing { template: "hello/v1/en/body.txt".into(), variable: "user.name".into() };
    assert_eq!(error("hello", json!({ "user": {} })), missing);
    assert!(matches!(error("hello", json!({})), Error::VariableMissing { .. }));
    assert_eq!(error("endless", json!({})), Error::TooLarge("endless/v1/en/body.txt".into()));
    assert!(
        matches!(error("sum", json!({ "a": "secret" })), Error::Invalid { reason, .. } if !reason.contains("secret"))
    );
}

#[test]
fn no_name_is_a_path() {
    let templates = load(&[("hello/v1/en/body.txt", "x")]);
    for name in ["../hello", "hello/v1", "/etc/passwd", "..", ".", "", "hello@../v1", "hello@", "a\0b", "a b"]
    {
        assert!(matches!(templates.render(name, None, &json!({})), Err(Error::Name(_))), "{name:?}");
    }
    assert_eq!(templates.render("hello", Some("../../en"), &json!({})).unwrap().text, "x");
}

#[test]
fn includes_cannot_leave_the_folder() {
    let templates = load(&[("hello/v1/en/body.txt", "{% include '/etc/passwd' %}")]);
    let error = templates.render("hello", None, &json!({})).unwrap_err();
    assert!(matches!(error, Error::Invalid { .. }), "{error}");
}

#[test]
fn every_mistake_of_a_folder_is_reported_at_once() {
    let folder = folder(&[
        ("one/v1/en/body.txt", "{{ open"),
        ("two/v1/en/subject.txt", "only a subject"),
        ("a b/v1/en/body.txt", "x"),
        ("README.md", "not a template"),
    ]);
    let LoadError(mistakes) = Templates::load(folder.path(), "en").unwrap_err();
    assert_eq!(mistakes.len(), 3, "{mistakes:?}");
    let missing = Templates::load(&folder.path().join("nowhere"), "en").unwrap_err();
    assert!(missing.to_string().contains("can't be read"), "{missing}");
}

#[test]
fn another_region_of_the_language_is_better_than_the_default() {
    let templates = load(&[
        ("hello/v1/en-US/body.txt", "en-US"),
        ("hello/v1/zh-CN/body.txt", "zh-CN"),
        ("hello/v1/pt-BR/body.txt", "pt-BR"),
        ("hello/v1/pt/body.txt", "pt"),
    ]);
    let text = |locale| templates.render("hello", Some(locale), &json!({})).unwrap().text;
    assert_eq!(["zh", "zh-Hans-CN", "pt-PT", "fr"].map(text), ["zh-CN", "zh-CN", "pt", "en-US"]);
}

#[test]
fn n10_open_seat_renders_in_both_locales_with_the_least_and_with_all_variables() {
    let templates = Templates::with_shipped(None, "en").unwrap();
    let all: serde_json::Value = serde_json::from_str(SAMPLE).unwrap();
    let least: serde_json::Value =
        ["courseTitle", "courseString", "sectionIndex", "sectionNumber", "meetingSummary", "manageUrl"]
            .into_iter()
            .map(|name| (name.to_owned(), json!(format!("<{name}>"))))
            .collect::<serde_json::Map<_, _>>()
            .into();
    for (locale, lang) in [("en-US", "lang=\"en-US\""), ("zh-CN", "lang=\"zh-CN\"")] {
        let full = templates.render("open-seat@v1", Some(locale), &all).unwrap();
        let html = full.html.unwrap();
        assert!(html.contains(lang) && html.contains("New Brunswick"), "{html}");
        assert!(!html.contains("src=") && !html.contains("url("), "no remote assets");
        assert!(full.text.contains("unsubscribe?token=8f1c"), "{}", full.text);
        let bare = templates.render("open-seat@v1", Some(locale), &least).unwrap();
        assert!(bare.html.as_ref().unwrap().contains("&lt;courseTitle&gt;"));
        assert!(bare.subject.unwrap().contains("<courseTitle>"), "a subject is not HTML");
    }
}

#[test]
fn a_folder_replaces_a_shipped_locale_and_adds_its_own() {
    let folder = folder(&[
        ("open-seat/v1/en-US/body.html", "<p>ours</p>"),
        ("open-seat/v2/en-US/body.txt", "next"),
        ("other/v1/en/body.txt", "{{ a }} {{ b.c }}"),
    ]);
    let templates = Templates::with_shipped(Some(folder.path()), "en").unwrap();
    let text = |name, locale| templates.render(name, Some(locale), &json!({})).map(|rendered| rendered.text);
    assert_eq!(text("open-seat@v1", "en-US").unwrap(), "ours\n");
    assert_eq!(text("open-seat", "en").unwrap(), "next");
    assert!(
        matches!(text("open-seat@v1", "zh"), Err(Error::VariableMissing { .. })),
        "still the shipped one"
    );
    let listed = templates.list();
    let other = listed.iter().find(|listed| listed.id == "other").unwrap();
    assert_eq!(
        (other.parts.as_slice(), other.variables.as_slice()),
        (&["body.txt"][..], &["a".to_owned(), "b".to_owned()][..])
    );
    assert_eq!(listed.len(), 4);
}
