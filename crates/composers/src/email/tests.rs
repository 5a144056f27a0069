use mail_parser::MessageParser;
use postrider_mail::address::parse_mailbox;
use postrider_seams::envelope::{Recipient, RecipientResult};
use postrider_seams::{Content, Fields, Lease, Mail, RowId, Value};
use proptest::prelude::*;

use super::*;

mod templates;

const NOW: i64 = 1_700_000_000;
const FIELDS: [&str; 15] = [
    "to",
    "cc",
    "bcc",
    "from",
    "reply_to",
    "subject",
    "text",
    "html",
    "headers",
    "attachments",
    "template",
    "variables",
    "locale",
    "dedupe",
    "results",
];

/// A row from field names and values, on top of a complete one.
pub fn row(id: i64, changes: &[(&str, Value)]) -> ClaimedRow {
    let mut fields = vec![
        ("to".to_owned(), text("b@example.net")),
        ("from".to_owned(), text("Ann <ann@example.org>")),
        ("subject".to_owned(), text("Hello")),
        ("text".to_owned(), text("Hello.\n")),
    ];
    for (name, value) in changes {
        fields.retain(|(known, _)| known != name);
        fields.push(((*name).to_owned(), value.clone()));
    }
    let (names, values): (Vec<_>, Vec<_>) = fields.into_iter().unzip();
    ClaimedRow {
        lease: Lease { id: RowId::Int(id), fence: Box::default() },
        counters: postrider_contract::Counters { attempts: 2, max_attempts: None, schedule: None },
        from: None,
        group: None,
        pool: None,
        share: None,
        crashes: 0,
        since_crash: 0,
        waited_micros: 0,
        size: 100,
        fields: Some(Fields::new(names.into(), values)),
    }
}

pub fn text(text: impl Into<String>) -> Value {
    Value::Text(text.into())
}

fn composer(settings: Settings) -> EmailComposer {
    EmailComposer { now: || NOW, ..EmailComposer::new(settings) }
}

async fn compose_with(settings: Settings, changes: &[(&str, Value)]) -> Result<Mail, String> {
    let composed = composer(settings).compose(&[row(42, changes)]).await.remove(0);
    match composed {
        Ok(Envelope { content: Content::Mail(mail), .. }) => Ok(mail),
        Err(Outcome::Rejected(failure)) => Err(failure.reason),
        other => panic!("{other:?}"),
    }
}

async fn compose(changes: &[(&str, Value)]) -> Result<Mail, String> {
    compose_with(Settings::new("mails"), changes).await
}

fn message(mail: &Mail) -> String {
    String::from_utf8(mail.message.to_vec()).unwrap()
}

#[tokio::test]
async fn m08_a_row_becomes_an_envelope() {
    let changes = [
        ("cc", text(r#"["c@example.net"]"#)),
        ("bcc", text("blind@example.net, b@example.net")),
        ("headers", text(r#"{"X-Tag":"t"}"#)),
        ("html", text("<p>Hello.</p>")),
    ];
    let envelope = composer(Settings::new("mails")).compose(&[row(42, &changes)]).await.remove(0).unwrap();
    assert_eq!((envelope.row.as_str(), envelope.dedupe.as_str(), envelope.attempt), ("42", "42", 3));
    assert_eq!(envelope.detail.get("message_id"), Some(&text("mails.42@example.org")));
    let Content::Mail(mail) = envelope.content else { panic!("no mail") };
    assert_eq!(mail.from, "ann@example.org");
    assert_eq!(mail.to, ["b@example.net", "c@example.net", "blind@example.net"], "each once");
    assert!(!mail.utf8 && mail.settled.is_empty());
    let parsed = MessageParser::default().parse(&mail.message).unwrap();
    assert_eq!(parsed.message_id(), Some("mails.42@example.org"));
    assert_eq!(parsed.subject(), Some("Hello"));
    assert_eq!(parsed.body_html(0).unwrap().trim_end(), "<p>Hello.</p>");
    assert_eq!(parsed.date().unwrap().to_timestamp(), NOW);
    assert!(message(&mail).contains("\r\nX-Tag: t\r\n"));
    assert!(!message(&mail).contains("blind@") && !message(&mail).contains("Bcc"), "Bcc is never written");
}

async fn fingerprint(settings: Settings, now: fn() -> i64, row: ClaimedRow) -> Value {
    let composer = EmailComposer { now, ..EmailComposer::new(settings) };
    composer.compose(&[row]).await.remove(0).unwrap().detail["fingerprint"].clone()
}

/// A row has the same fingerprint in every attempt, and another row another one, even with the same recipients.
#[tokio::test]
async fn m09_the_fingerprint_is_that_of_the_row_not_of_its_attempt() {
    let of =
        async |changes: &[(&str, Value)]| fingerprint(Settings::new("mails"), || NOW, row(42, changes)).await;
    let first = of(&[]).await;
    let mut later = row(42, &[("results", text("[]")), ("cc", Value::Null), ("created", Value::Null)]);
    later.counters.attempts = 0;
    let from = Settings { domain: Some("example.com".to_owned()), ..Settings::new("renamed") };
    assert_eq!(fingerprint(from, || NOW + 5000, later).await, first);
    for change in [
        ("from", text("b@example.org")),
        ("reply_to", text("b@example.org")),
        ("subject", text("Hello, again")),
        ("text", text("Hello")),
        ("html", text("Hello.\n")),
        ("headers", text(r#"{"X-A":"1"}"#)),
        ("attachments", text("[]")),
        ("locale", text("de")),
        ("dedupe", text("order-7")),
        ("created", text("2026-11-18 10:00:00")),
    ] {
        assert_ne!(of(std::slice::from_ref(&change)).await, first, "{}", change.0);
    }
}

#[tokio::test]
async fn m08_the_message_id_is_the_idempotency_key_s() {
    let dedupe = ("dedupe", text("order-7"));
    assert_eq!(compose(std::slice::from_ref(&dedupe)).await.unwrap().message_id, "mails.order-7@example.org");
    assert_eq!(compose(&[("dedupe", Value::Int(7))]).await.unwrap().message_id, "mails.7@example.org");
    assert_eq!(compose(&[("dedupe", text(""))]).await.unwrap().message_id, "mails.42@example.org");
    let settings = Settings { domain: Some("mx.example.com".into()), ..Settings::new("mails") };
    assert_eq!(compose_with(settings, &[dedupe]).await.unwrap().message_id, "mails.order-7@mx.example.com");
}

#[tokio::test]
async fn a_retry_has_the_same_bytes_where_the_row_has_a_date() {
    let row = row(1, &[("date", text("2023-11-14 20:00:00")), ("html", text("<p>x</p>"))]);
    let at = |now| EmailComposer { now, ..EmailComposer::new(Settings::new("mails")) };
    let first = at(|| NOW).compose(std::slice::from_ref(&row)).await.remove(0).unwrap();
    let second = at(|| NOW + 3600).compose(std::slice::from_ref(&row)).await.remove(0).unwrap();
    let (Content::Mail(first), Content::Mail(second)) = (first.content, second.content) else { panic!() };
    assert_eq!(first.message, second.message);
    assert!(message(&first).starts_with("Date: Tue, 14 Nov 2023 20:00:00 +0000\r\n"));
}

#[tokio::test]
async fn mail_that_waited_for_days_is_dated_now() {
    for date in [text("2023-11-01 00:00:00"), text("2033-01-01 00:00:00"), Value::Int(0), Value::Null] {
        let mail = compose(&[("date", date)]).await.unwrap();
        assert!(message(&mail).starts_with("Date: Tue, 14 Nov 2023 22:13:20 +0000\r\n"));
    }
}

#[tokio::test]
async fn defaults_of_the_lane() {
    let settings = || Settings {
        from: Some(parse_mailbox("Shop <shop@example.com>").unwrap()),
        bounces: Some(Address::parse("bounces@example.com").unwrap()),
        ..Settings::new("mails")
    };
    let mail = compose_with(settings(), &[("from", Value::Null)]).await.unwrap();
    assert_eq!(
        (mail.from.as_str(), mail.message_id.as_str()),
        ("bounces@example.com", "mails.42@example.com")
    );
    assert!(message(&mail).contains("From: \"Shop\" <shop@example.com>\r\n"));
    let mail = compose_with(settings(), &[]).await.unwrap();
    assert!(message(&mail).contains("From: \"Ann\" <ann@example.org>\r\n"));
}

#[tokio::test]
async fn smtputf8_only_where_an_address_needs_it() {
    let mail = compose(&[("to", text("Jörg <joerg@bücher.example>"))]).await.unwrap();
    assert_eq!((mail.to[0].as_str(), mail.utf8), ("joerg@xn--bcher-kva.example", false));
    assert!(mail.message.is_ascii());
    for field in ["to", "bcc", "from", "reply_to"] {
        assert!(compose(&[(field, text("jörg@example.net"))]).await.unwrap().utf8, "{field}");
    }
}

#[tokio::test]
async fn m09_every_invalid_field_is_named_in_the_reason() {
    let bytes = |bytes: &[u8]| Value::Bytes(bytes.to_vec());
    let cases = [
        ("to", text("not an address"), "to: \"not an address\" is not an address"),
        ("to", text(""), "to: no recipient"),
        ("cc", text("[\"a@b.org\""), "cc: the list is not JSON of addresses: EOF"),
        ("bcc", text("a@b.org\r\nX: y"), "bcc: \"a@b.org\\r\\nX: y\" contains a control character"),
        ("from", text("a@b.org, c@d.org"), "from: there are 2 addresses where one is expected"),
        ("from", Value::Null, "from: the row has no sender"),
        ("reply_to", text("x"), "reply_to: \"x\" is not an address"),
        ("subject", text("a\r\nBcc: x@y.org"), "subject: contains a control character such as CR"),
        ("subject", bytes(b"a\xffb"), "subject: not valid UTF-8 (first wrong byte at 1)"),
        ("subject", Value::Int(3), "subject: a number or boolean where text is expected"),
        ("text", bytes(b"\xc3\x28"), "text: not valid UTF-8"),
        ("html", text("a\0b"), "html: contains a NUL character"),
        ("text", Value::Null, "text: the row has neither text, html, template nor attachments"),
        ("headers", text("{"), "headers: not a JSON object of header names and values: EOF"),
        ("headers", text(r#"{"X":"a\r\nb"}"#), "headers: header X contains a control character such as CR"),
        ("headers", text(r#"{"Bcc":"a@b.org"}"#), "headers: header Bcc can't be set here"),
        ("attachments", text("{}"), "attachments: not a JSON list of attachments"),
        (
            "attachments",
            text(r#"[{"filename":"a","content":"?"}]"#),
            "attachments: attachment 1: the content is not base64",
        ),
        ("template", text("hello"), "template: the row has a template and bodies of its own"),
        ("results", text("[{}]"), "results: invalid JSON"),
        ("date", text("soon"), "date: not a time"),
    ];
    for (field, value, reason) in cases {
        let found = compose(&[(field, value)]).await.expect_err(field);
        assert!(found.starts_with(reason), "{field}: {found}");
    }
}

#[tokio::test]
async fn an_invalid_row_does_not_stop_the_others() {
    let rows = [row(1, &[]), row(2, &[("to", text("bad"))]), row(3, &[])];
    let composed = composer(Settings::new("mails")).compose(&rows).await;
    assert!(composed[0].is_ok() && composed[1].is_err());
    assert_eq!(composed[2].as_ref().unwrap().row, "3");
}

#[tokio::test]
async fn m08_a_message_over_the_size_limit_is_rejected() {
    let settings = || Settings { size_limit: 2000, ..Settings::new("mails") };
    assert_eq!(composer(settings()).size_limit(), 2000);
    assert!(compose_with(settings(), &[("text", text("x\n".repeat(300)))]).await.is_ok());
    let reason = compose_with(settings(), &[("text", text("x\n".repeat(900)))]).await.unwrap_err();
    assert!(
        reason.starts_with("the message has ") && reason.ends_with("more than the limit of 2000"),
        "{reason}"
    );
    assert_eq!(Settings::new("mails").size_limit, 25 * 1024 * 1024);
}

#[tokio::test]
async fn too_many_recipients_are_rejected() {
    let settings = Settings { recipient_limit: 2, ..Settings::new("mails") };
    let changes = [("to", text("a@b.org,c@d.org")), ("bcc", text("e@f.org"))];
    let reason = compose_with(settings, &changes).await.unwrap_err();
    assert_eq!(reason, "to: 3 recipients (cc and bcc included), more than the limit of 2");
}

fn results(results: &[(&str, RecipientResult)]) -> Value {
    let all: Vec<_> = results
        .iter()
        .map(|(address, result)| Recipient {
            address: (*address).to_owned(),
            result: *result,
            reply: String::new(),
        })
        .collect();
    text(serde_json::to_string(&all).unwrap())
}

#[tokio::test]
async fn m09_accepted_recipients_never_get_the_mail_again() {
    use RecipientResult::{Accepted, Deferred, Refused};
    let to = ("to", text("a@x.org, b@x.org, c@x.org, d@x.org"));
    let earlier = results(&[("a@x.org", Accepted), ("b@x.org", Deferred), ("c@x.org", Refused)]);
    let mail = compose(&[to, ("results", earlier)]).await.unwrap();
    assert_eq!(mail.to, ["b@x.org", "d@x.org"]);
    let settled: Vec<_> = mail.settled.iter().map(|one| one.address.as_str()).collect();
    assert_eq!(settled, ["a@x.org", "c@x.org"], "what is settled stays on record");
    assert!(message(&mail).contains("a@x.org"), "the header still names everyone");
}

#[tokio::test]
async fn m09_a_requeue_retries_refused_recipients_and_never_accepted_ones() {
    use RecipientResult::{Accepted, Refused};
    let to = ("to", text("a@x.org, b@x.org"));
    let mail =
        compose(&[to.clone(), ("results", results(&[("a@x.org", Accepted), ("b@x.org", Refused)]))]).await;
    let mail = mail.unwrap();
    assert_eq!((mail.to, mail.settled.len()), (vec!["b@x.org".to_owned()], 1));
    let all = results(&[("a@x.org", Accepted), ("b@x.org", Accepted)]);
    let reason = compose(&[to, ("results", all)]).await.unwrap_err();
    assert!(reason.starts_with("results: every recipient has accepted"), "{reason}");
}

#[tokio::test]
async fn reasons_are_short() {
    let long = format!(r#"[{{"filename":"a","content":"","{}":1}}]"#, "x".repeat(5000));
    let reason = compose(&[("attachments", text(long))]).await.unwrap_err();
    assert!(reason.chars().count() <= 301, "{}", reason.len());
}

/// Any value that a column might hold; likely ones more often.
fn any_value() -> impl Strategy<Value = Value> {
    let likely = [
        "",
        "null",
        "[]",
        "{}",
        "a@b.org",
        "Ann <a@b.org>, c@d.org",
        "[\"a@b.org\"]",
        "{\"X-A\":\"b\"}",
        "hello",
        "2023-11-14 22:00:00",
        "[{\"filename\":\"a\",\"content\":\"AA==\"}]",
        "[{\"address\":\"a@b.org\",\"result\":\"accepted\"}]",
    ];
    prop_oneof![
        1 => Just(Value::Null),
        6 => proptest::sample::select(likely.to_vec()).prop_map(text),
        1 => "\\PC{0,30}".prop_map(text),
        1 => "[a@.<>\",:\r\n\0{}\\[\\]é]{0,20}".prop_map(text),
        1 => any::<i64>().prop_map(Value::Int),
        1 => any::<bool>().prop_map(Value::Bool),
        1 => any::<f64>().prop_map(Value::Float),
        1 => proptest::collection::vec(any::<u8>(), 0..20).prop_map(Value::Bytes),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn m09_no_row_can_stop_the_lane(values in proptest::collection::hash_map(proptest::sample::select(FIELDS.to_vec()), any_value(), 0..6)) {
        let changes: Vec<_> = values.into_iter().collect();
        match compose::compose(&Settings::new("mails"), &row(1, &changes), NOW) {
            Err(reason) => prop_assert!(!reason.to_string().contains(['\r', '\n', '\0'])),
            Ok(composed) => {
                let Content::Mail(mail) = composed.into_envelope().content else { panic!("no mail") };
                prop_assert!(!mail.to.is_empty());
                prop_assert!(mail.utf8 || mail.message.is_ascii());
                for line in message(&mail).split("\r\n") {
                    prop_assert!(line.len() <= 998 && !line.contains(['\r', '\n', '\0']), "{line:?}");
                }
            }
        }
    }
}
