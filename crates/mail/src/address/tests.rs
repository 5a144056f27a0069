use super::*;

fn addresses(text: &str) -> Vec<String> {
    parse_list(text).unwrap().iter().map(|mailbox| mailbox.address.to_string()).collect()
}

fn one(text: &str) -> (Option<String>, String) {
    let mailbox = parse_mailbox(text).unwrap();
    (mailbox.name, mailbox.address.to_string())
}

#[test]
fn bare_and_named_addresses_are_parsed() {
    assert_eq!(one("a@b.org"), (None, "a@b.org".into()));
    assert_eq!(one(" a@b.org "), (None, "a@b.org".into()));
    assert_eq!(one("<a@b.org>"), (None, "a@b.org".into()));
    assert_eq!(one("Ann Lee <a@b.org>"), (Some("Ann Lee".into()), "a@b.org".into()));
    assert_eq!(one("\"Lee, Ann \\\"A\\\"\" <a@b.org>"), (Some("Lee, Ann \"A\"".into()), "a@b.org".into()));
    assert_eq!(one("Änne 🎉 <a@b.org>"), (Some("Änne 🎉".into()), "a@b.org".into()));
    assert_eq!(one("\"a<b\" <a@b.org>"), (Some("a<b".into()), "a@b.org".into()));
}

#[test]
fn lists_are_split_at_their_commas() {
    assert_eq!(addresses("a@b.org, \"x, y\" <c@d.org>,<e@f.org>"), ["a@b.org", "c@d.org", "e@f.org"]);
    assert_eq!(
        addresses(r#"["a@b.org", "N <c@d.org>", {"email":"e@f.org","name":"E"}]"#),
        ["a@b.org", "c@d.org", "e@f.org"]
    );
    assert_eq!(addresses(r#"{"address":"a@b.org","name":null}"#), ["a@b.org"]);
    assert_eq!(addresses(r#""a@b.org, c@d.org""#), ["a@b.org", "c@d.org"]);
    assert!(addresses("").is_empty() && addresses(" [] ").is_empty() && addresses("null").is_empty());
}

#[test]
fn domains_become_lower_case_a_labels_and_locals_stay() {
    let address = Address::parse("User.Name@BÜCHER.Example").unwrap();
    assert_eq!(address.as_str(), "User.Name@xn--bcher-kva.example");
    assert_eq!((address.local(), address.domain()), ("User.Name", "xn--bcher-kva.example"));
    assert!(!address.needs_utf8());
    assert_eq!(Address::parse("a@EXAMPLE.org").unwrap().domain(), "example.org");
}

#[test]
fn a_local_part_beyond_ascii_needs_smtputf8() {
    let address = Address::parse("jörg@bücher.example").unwrap();
    assert!(address.needs_utf8());
    assert_eq!(address.as_str(), "jörg@xn--bcher-kva.example");
}

#[test]
fn unusual_valid_addresses_are_accepted() {
    for text in [
        "a+tag@b.org",
        "o'neil@b.org",
        "\"a.b..c\"@b.org",
        "x@localhost",
        "a@1.2.org",
        "!#$%&'*/=?^_`{|}~@b.org",
    ] {
        assert_eq!(Address::parse(text).unwrap().as_str(), text);
    }
}

#[test]
fn m09_invalid_addresses_are_refused() {
    let invalid = [
        "",
        " ",
        "a",
        "@",
        "a@",
        "@b.org",
        "a@b@c.org",
        "a b@c.org",
        "a@b c.org",
        "a@b..org",
        "a@.org",
        "a@b.org.",
        "a@-b.org",
        "a@b-.org",
        ".a@b.org",
        "a.@b.org",
        "a..b@c.org",
        "a@b_c.org",
        "a@[127.0.0.1]",
        "a@b.org>",
        "<a@b.org",
        "N <a@b.org> x",
        "\"N <a@b.org>",
        "a@b.org;c@d.org",
        "a@b.org (comment)",
        "\"a b\"@c.org",
        "\"a>\"@c.org",
        "\"a\\\"b\"@c.org",
        "a@b.org,",
        ",a@b.org",
        "a@b.org,,c@d.org",
        "a,b@c.org",
        "a@b.org\u{7f}",
        "N\tX <a@b.org>",
        "a@b\u{200b}.org, x",
        "group: a@b.org;",
        "a@xn--\u{fc}.org",
        "a@xn--0.org",
    ];
    for text in invalid {
        assert!(text.trim().is_empty() || parse_list(text).is_err(), "{text:?} was accepted");
        assert!(Address::parse(text).is_err(), "{text:?} was accepted as an address");
    }
}

#[test]
fn control_characters_are_refused_everywhere() {
    for control in ['\r', '\n', '\0', '\t', '\u{1b}', '\u{85}'] {
        for text in
            [format!("a{control}b@c.org"), format!("a@b{control}.org"), format!("N{control} <a@b.org>")]
        {
            assert!(matches!(parse_list(&text), Err(Error::Control(_))), "{text:?}");
        }
        let json = serde_json::json!([{ "email": "a@b.org", "name": format!("x{control}y") }]).to_string();
        assert!(matches!(parse_list(&json), Err(Error::Control(_))), "{json}");
    }
}

#[test]
fn lengths_have_limits() {
    let local = "l".repeat(64);
    let labels = format!("{}.{}.{}.{}", "a".repeat(63), "b".repeat(63), "c".repeat(63), "d".repeat(61));
    assert!(Address::parse(&format!("{local}@{labels}")).is_ok());
    assert!(matches!(Address::parse(&format!("{local}l@b.org")), Err(Error::LocalTooLong(_))));
    assert!(Address::parse(&format!("a@{labels}.toolong")).is_err());
    assert!(Address::parse(&format!("a@{}.org", "a".repeat(64))).is_err());
    assert!(Address::parse(&format!("a@{}", "a.".repeat(5000))).is_err());
    assert!(matches!(Address::parse(&format!("{}@b.org", "é".repeat(33))), Err(Error::LocalTooLong(_))));
}

#[test]
fn invalid_json_is_reported() {
    assert!(matches!(parse_list("[\"a@b.org\""), Err(Error::Json(_))));
    assert!(matches!(parse_list("[1]"), Err(Error::Json(_))));
    assert!(matches!(parse_list("{\"mail\":\"a@b.org\"}"), Err(Error::Json(_))));
}

#[test]
fn errors_quote_the_address_short_and_on_one_line() {
    let long = format!("{}\n@", "x".repeat(500));
    let error = parse_list(&long).unwrap_err().to_string();
    assert!(error.len() < 200 && !error.contains('\n'), "{error}");
    let error = parse_list("not an address").unwrap_err().to_string();
    assert_eq!(
        error,
        "\"not an address\" is not an address: there is no @ with something on both sides of it"
    );
}
