//! Validation of mails before a statement is sent, and the values that they write.

use super::*;

fn refused(mail: &Mail) -> String {
    mail.insert(&Table::mail_outbox()).err().expect("it is refused").to_string()
}

fn fine() -> Mail {
    Mail::to("ann@example.org").subject("Hello").text("Hello.")
}

#[test]
fn invalid_or_smuggled_addresses_are_refused() {
    assert!(fine().insert(&Table::mail_outbox()).is_ok());
    let smuggled = "ann@example.org\r\nBcc: all@example.org";
    for mail in [Mail::to(smuggled), fine().cc(smuggled), fine().from(smuggled), fine().reply_to(smuggled)] {
        assert!(refused(&mail.text("")).contains("control character"));
    }
    assert!(refused(&fine().bcc(Mailbox::named("A\nB", "a@example.org"))).starts_with("bcc holds a control"));
    for wrong in ["ann", "@example.org", "ann@", "a@b, c@d", "a@b c", "a@b@c", "<a@b", ""] {
        let problem = refused(&Mail::to(wrong).text("x"));
        assert!(problem.starts_with("to: "), "{wrong}: {problem}");
    }
    assert!(refused(&Mail::to(format!("{}@b", "x".repeat(65))).text("x")).contains("too long"));
}

#[test]
fn names_with_special_characters_survive() {
    let list = [
        Mailbox::from("ann@example.org"),
        Mailbox::from(" Ann <ann@example.org>"),
        Mailbox::from("\"Smith, \\\"Ann\\\"\" <ann@example.org>"),
        Mailbox::named("Smith; Ann <x>", "ann@example.org"),
    ];
    let text = mailbox::json("to", &list).expect("all are fine");
    let expected = serde_json::json!([
        "ann@example.org",
        { "email": "ann@example.org", "name": "Ann" },
        { "email": "ann@example.org", "name": "Smith, \"Ann\"" },
        { "email": "ann@example.org", "name": "Smith; Ann <x>" },
    ]);
    assert_eq!(serde_json::from_str::<Value>(&text).expect("JSON"), expected);
}

#[test]
fn bodies_and_templates_exclude_each_other() {
    let bare = || Mail::to("ann@example.org").subject("Hello");
    assert!(refused(&bare()).starts_with("the mail has no body"));
    assert!(refused(&fine().template("welcome")).starts_with("the mail has a template and a body"));
    assert!(refused(&fine().variables(&BTreeMap::from([("a", 1)]))).starts_with("the mail has variables"));
    assert!(refused(&bare().template("welcome").variables(&[1, 2])).starts_with("variables must be"));
    let templated = bare().template("welcome").variables(&BTreeMap::from([("a", 1)])).locale("de");
    assert!(templated.insert(&Table::mail_outbox()).is_ok());
    let attached = bare().attach(Attachment::new("a.pdf", "application/pdf", "x"));
    assert!(attached.insert(&Table::mail_outbox()).is_ok(), "an attachment is enough");
}

#[test]
fn subjects_headers_and_attachments_are_checked() {
    assert!(refused(&fine().subject("a\r\nBcc: b@example.org")).starts_with("subject holds a control"));
    assert!(refused(&fine().header("X-A", "a\nb")).starts_with("header X-A holds a control"));
    for name in ["From", "bcc", "Content-Type", "Received", "X A", "X:", ""] {
        assert!(refused(&fine().header(name, "x")).starts_with("header \""), "{name}");
    }
    for (name, kind) in [("", "text/plain"), ("a/b", "text/plain"), ("a", "pdf"), ("a", "message/rfc822")] {
        assert!(refused(&fine().attach(Attachment::new(name, kind, "x"))).starts_with("attachment "));
    }
    let inline = Attachment::new("logo.png", "image/png", "x").inline("a b");
    assert!(refused(&fine().attach(inline)).contains("cid"));
}

#[test]
fn debug_output_of_a_mail_has_no_address_or_body() {
    let shown = format!("{:?}", fine().attach(Attachment::new("a", "text/plain", "secret")));
    assert!(!shown.contains("ann@") && !shown.contains("Hello") && !shown.contains("secret"), "{shown}");
}
