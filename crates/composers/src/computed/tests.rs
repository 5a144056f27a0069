use postrider_contract::Counters;
use postrider_seams::{Content, Lease, Record, RowId};

use super::*;
use crate::record::Settings;
use crate::{EmailComposer, RecordComposer, WebhookComposer, email, webhook};

struct NoSecrets;

#[async_trait]
impl postrider_seams::Secrets for NoSecrets {
    async fn secret(
        &self,
        _reference: &str,
    ) -> Result<postrider_seams::Secret, postrider_seams::secret::Error> {
        Err(postrider_seams::secret::Error::Unavailable("there is none".to_owned()))
    }
}

const TABLE: &str = "[table]\nname = \"t\"\nid = \"id\"\n[columns]\nstatus = \"s\"\nattempts = \"n\"\n\
    claimed_at = \"c\"\ndue = \"d\"\n[[stage]]\nname = \"go\"\nready = \"a\"\nclaimed = \"b\"\ndelivered = \"e\"\n\
    retryable = \"a\"\ndead = \"x\"\n[retry]\nbase = \"1s\"\n\
    [[join]]\nas = \"customer\"\ntable = \"customers\"\non = { id = \"row.customer\" }\ncolumns = [\"name\", \"meta\"]\n";

fn contract(composer: &str, message: &str) -> Contract {
    let text = format!(
        "contract = \"t\"\nversion = \"1.0\"\ncomposer = \"{composer}\"\n{TABLE}[message]\n{message}"
    );
    Contract::parse("t.toml", &text).unwrap_or_else(|mistakes| panic!("{mistakes}"))
}

/// A row as a store returns it: the columns that the contract reads, and those of the join.
fn row(contract: &Contract, columns: &[(&str, Value)]) -> ClaimedRow {
    let value = |name: &str| columns.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone());
    let own = contract.message_columns().into_iter();
    let joined = ["customer.name", "customer.meta"].map(|name| (name.to_owned(), name.to_owned()));
    let (names, values): (Vec<String>, Vec<Value>) =
        own.chain(joined).map(|(field, column)| (field, value(&column).unwrap_or_default())).unzip();
    ClaimedRow {
        lease: Lease { id: RowId::Int(42), fence: Box::default() },
        counters: Counters { attempts: 0, max_attempts: None, schedule: None },
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

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

async fn composed(contract: &Contract, columns: &[(&str, Value)]) -> Result<Content, String> {
    let composer: Arc<dyn Composer> = match contract.stages[0].composer.as_str() {
        "record" => Arc::new(RecordComposer::new(Settings::default())),
        "webhook" => {
            let directory = Arc::new(webhook::NoDirectory);
            Arc::new(WebhookComposer::new(directory, Arc::new(NoSecrets)))
        }
        _ => {
            let mut settings = email::Settings::new("lane");
            settings.from = Some(postrider_mail::address::parse_mailbox("me@shop.example").unwrap());
            Arc::new(EmailComposer::new(settings))
        }
    };
    let composer = ComputedFields::wrap(contract, composer);
    match composer.compose(&[row(contract, columns)]).await.remove(0) {
        Ok(envelope) => Ok(envelope.content),
        Err(Outcome::Rejected(failure)) => Err(failure.reason),
        Err(other) => panic!("{other:?}"),
    }
}

async fn record(message: &str, columns: &[(&str, Value)]) -> Result<Record, String> {
    match composed(&contract("record", message), columns).await? {
        Content::Record(record) => Ok(record),
        other => panic!("{other:?}"),
    }
}

async fn topic(value: &str, columns: &[(&str, Value)]) -> Result<String, String> {
    let all: Vec<_> = columns.iter().cloned().chain([("body", text("{}"))]).collect();
    Ok(record(&format!("topic = {value}\npayload = \"body\"\n"), &all).await?.topic)
}

#[tokio::test]
async fn o09_a_constant_and_templates_make_a_topic() {
    let kind = |kind: &str| [("kind", text(kind)), ("region", Value::Int(7))];
    for (value, found) in [
        ("{ text = \"orders\" }", "orders"),
        ("{ text = \"a.{kind}.{region}\" }", "a.Order Line.7"),
        ("{ text = \"{kind|lower|replace:' ':'-'}\" }", "order-line"),
        ("{ text = \"{kind|upper|replace:' ':''}\" }", "ORDERLINE"),
        ("{ text = \"{{{region}}}\" }", "{7}"),
        ("{ text = \"{absent|default:'it''s|}'|upper}\" }", "IT'S|}"),
        ("{ text = \"{ kind | lower | replace : ' ' : '_' }\" }", "order_line"),
    ] {
        let composed = topic(value, &kind("Order Line")).await;
        // The composer checks what was computed as it checks a column.
        if found.contains(' ') {
            assert!(composed.unwrap_err().contains("must not contain blanks"), "{value}");
        } else {
            assert_eq!(composed.unwrap(), found, "{value}");
        }
    }
    let injected = topic("{ text = \"a.{kind}\" }", &kind("x\r\ny")).await.unwrap_err();
    assert!(injected.contains("control characters"), "{injected}");
}

#[tokio::test]
async fn a_value_that_is_missing_rejects_the_row_and_says_why() {
    for missing in [Value::Null, text("")] {
        let columns = [("kind", missing)];
        let reason = topic("{ text = \"a.{kind}\" }", &columns).await.unwrap_err();
        assert_eq!(reason, "topic: kind has no value, and the contract gives no default");
        assert_eq!(topic("{ text = \"a.{kind|default:'x'}\" }", &columns).await.unwrap(), "a.x");
        let map = "{ map = \"kind\", order = \"orders\" }";
        let reason = topic(map, &columns).await.unwrap_err();
        assert_eq!(reason, "topic: the map has no value for a kind that is NULL or empty");
    }
    let bytes = topic("{ text = \"{kind}\" }", &[("kind", Value::Bytes(vec![0xff]))]).await.unwrap_err();
    assert_eq!(bytes, "topic: kind is not valid UTF-8");
}

#[tokio::test]
async fn a_map_chooses_by_value() {
    let map = "{ map = \"kind|lower\", order = \"orders.{region}\", 7 = \"seven\", else = \"other\" }";
    for (kind, found) in [
        (text("ORDER"), "orders.eu"),
        (Value::Int(7), "seven"),
        (text("refund"), "other"),
        (Value::Null, "other"),
    ] {
        assert_eq!(topic(map, &[("kind", kind), ("region", text("eu"))]).await.unwrap(), found);
    }
    let reason = topic("{ map = \"kind\", order = \"x\" }", &[("kind", text("refund"))]).await.unwrap_err();
    assert_eq!(reason, "topic: the map has no value for \"refund\" of kind");
}

#[tokio::test]
async fn members_of_json_keep_their_bytes_and_types() {
    let body =
        r#" {"to": {"topic": "t1"}, "data":{"b": 1.50, "a": [2]}, "meta": {"x": "1", "n": 2, "no": null}} "#;
    let message = "topic = \"body.to.topic\"\npayload = \"body.data\"\nkey = { json = \"body\", member = \"a.b\" }\n\
        headers = { \"*\" = \"body.meta\", x = { text = \"{body.meta.n}!\" }, who = \"customer.name\" }\n";
    let columns = [("body", text(body)), ("customer.name", text("Ann"))];
    let found = record(message, &columns).await.unwrap();
    assert_eq!(found.topic, "t1");
    assert_eq!(&found.payload[..], br#"{"b": 1.50, "a": [2]}"#);
    assert_eq!(found.key, None, "the name of a member may have dots");
    let header =
        |name: &str| found.headers.iter().find(|(known, _)| known == name).map(|(_, value)| &value[..]);
    assert_eq!(
        (header("x"), header("n"), header("who"), header("no")),
        (Some("2!"), Some("2"), Some("Ann"), None)
    );

    let dotted = [("body", text(r#"{"a.b": "k", "to": {"topic": "t"}, "data": 1, "meta": {"n": 1}}"#))];
    assert_eq!(record(message, &dotted).await.unwrap().key.as_deref(), Some("k"));
    for (body, reason) in [
        ("{", "is not valid JSON"),
        ("[1]", "is not a JSON object"),
        (r#"{"to": 1}"#, "body.to.topic is not a JSON object"),
        (r#"{"to": {}}"#, "topic: empty; every record needs one"),
    ] {
        let message = "topic = \"body.to.topic\"\npayload = { text = \"x\" }\n";
        let found = record(message, &[("body", text(body))]).await.unwrap_err();
        assert!(found.contains(reason), "{body}: {found}");
    }
}

#[tokio::test]
async fn a_join_wins_over_a_column_of_its_name() {
    let columns = [("customer", text("{\"name\": \"no\"}")), ("customer.meta", text("{\"lang\": \"de\"}"))];
    assert_eq!(topic("\"customer.meta.lang\"", &columns).await.unwrap(), "de");
}

#[tokio::test]
async fn a_rejected_row_does_not_stop_the_others() {
    let contract = contract("record", "topic = { text = \"t.{kind}\" }\npayload = \"body\"\n");
    let composer = ComputedFields::wrap(&contract, Arc::new(RecordComposer::new(Settings::default())));
    let kinds = [text("a"), Value::Null, text("c")];
    let rows = kinds.map(|kind| row(&contract, &[("kind", kind), ("body", text("{}"))]));
    let composed = composer.compose(&rows).await;
    assert!(composed[0].is_ok() && composed[1].is_err() && composed[2].is_ok(), "{composed:?}");
}

#[tokio::test]
async fn webhooks_check_computed_urls_and_headers() {
    let contract = contract(
        "webhook",
        "url = { map = \"kind\", order = \"https://x.example/{id}\" }\npayload = \"body\"\n\
         headers = { \"*\" = \"extra\", X-Kind = \"kind\", X-Source = { text = \"shop\" } }\n",
    );
    let extra = text(r#"{"x-kind": "lost", "x-other": "kept"}"#);
    let columns = [("kind", text("order")), ("id", Value::Int(5)), ("extra", extra)];
    let Ok(Content::Webhook(found)) = composed(&contract, &columns).await else { panic!("a webhook") };
    assert_eq!(found.url, "https://x.example/5");
    let headers: Vec<(&str, &str)> = found.headers.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    assert_eq!(headers, [("x-other", "kept"), ("X-Kind", "order"), ("X-Source", "shop")]);
    let injected = contract_with_header("kind");
    let columns = [("kind", text("a\r\nX-Evil: 1"))];
    assert!(composed(&injected, &columns).await.unwrap_err().contains("control character"));
}

fn contract_with_header(column: &str) -> Contract {
    contract(
        "webhook",
        &format!(
            "url = {{ text = \"https://x.example\" }}\nheaders = {{ X-A = {{ text = \"{{{column}}}\" }} }}\n"
        ),
    )
}

#[tokio::test]
async fn m08_mails_take_addresses_and_standard_headers_from_json() {
    let contract = contract(
        "email",
        "to = \"meta.to\"\nsubject = { text = \"Order {id}\" }\ntext = \"body\"\nheaders = { \"*\" = \"meta.headers\", X-Id = \"id\" }\n",
    );
    let meta = r#"{"to": ["a@x.example", {"email": "b@x.example"}], "headers": {"Reply-To": "Desk <desk@x.example>",
        "Sender": "Bötchen <bot@x.example>", "Message-ID": "<m.1@x.example>"}}"#;
    let columns = [("meta", text(meta)), ("id", Value::Int(9)), ("body", text("Hi"))];
    let Ok(Content::Mail(mail)) = composed(&contract, &columns).await else { panic!("a mail") };
    assert_eq!(mail.to, ["a@x.example", "b@x.example"]);
    assert_eq!(mail.message_id, "m.1@x.example");
    let message = String::from_utf8(mail.message.to_vec()).unwrap();
    for line in
        ["Message-ID: <m.1@x.example>", "Subject: Order 9", "Reply-To: \"Desk\" <desk@x.example>", "X-Id: 9"]
    {
        assert!(message.contains(&format!("{line}\r\n")), "{line}\n{message}");
    }
    assert!(message.contains("Sender: =?utf-8?") && message.contains("<bot@x.example>"), "{message}");
    for (headers, reason) in [
        (r#"{"Message-ID": "a b@x"}"#, "is not <NAME@DOMAIN>"),
        (r#"{"Reply-To": "nobody"}"#, "header Reply-To: "),
        (r#"{"Sender": "a@x.example, b@x.example"}"#, "header Sender: "),
        (r#"{"Bcc": "c@x.example"}"#, "can't be set here"),
        (r#"{"X-A": "1\r\nBcc: c@x.example"}"#, "control character"),
    ] {
        let meta = format!(r#"{{"to": "a@x.example", "headers": {headers}}}"#);
        let columns = [("meta", text(&meta)), ("id", Value::Int(9)), ("body", text("Hi"))];
        let found = composed(&contract, &columns).await.unwrap_err();
        assert!(found.contains(reason), "{headers}: {found}");
    }
}

#[tokio::test]
async fn m09_computed_recipients_are_known_before_composing() {
    let contract = contract("email", "to = { text = \"{user}@x.example\" }\ntext = \"body\"\n");
    let composer = ComputedFields::wrap(&contract, Arc::new(EmailComposer::new(email::Settings::new("l"))));
    let rows = [text("ann"), Value::Null].map(|user| row(&contract, &[("user", user)]));
    let found = composer.recipients(&[&rows[0], &rows[1]]).await;
    assert_eq!(found, [vec!["ann@x.example".to_owned()], vec![]]);
}
