use std::collections::HashMap;

use postrider_seams::secret::Error;
use postrider_seams::{Lease, RowId, Secret};

use super::*;

struct Safe(HashMap<&'static str, &'static str>);

#[async_trait]
impl Secrets for Safe {
    async fn secret(&self, reference: &str) -> Result<Secret, Error> {
        self.0
            .get(reference)
            .map(|&secret| Secret::new(secret))
            .ok_or_else(|| Error::Unavailable("no answer".to_owned()))
    }
}

/// A directory with fixed content.
struct Listed(LookupResult);

#[async_trait]
impl Directory for Listed {
    async fn look_up(&self, _asked: &LookupRequest) -> Result<LookupResult, DirectoryUnavailable> {
        Ok(self.0.clone())
    }

    async fn pause_subscription(&self, _subscription: &str) -> Result<(), DirectoryUnavailable> {
        Ok(())
    }
}

fn text(text: impl Into<String>) -> Value {
    Value::Text(text.into())
}

fn row(changes: &[(&str, Value)]) -> ClaimedRow {
    let mut fields = vec![
        ("url".to_owned(), text("https://a.example/hook")),
        ("payload".to_owned(), text("{\"b\": 1.10, \"a\": 2}")),
        ("dedupe".to_owned(), text("0HZXEQ5Y8JY5Z")),
        ("code".to_owned(), text("ecommerce:orders:order:created")),
        ("source".to_owned(), text("ecommerce-api")),
    ];
    for (name, value) in changes {
        fields.retain(|(known, _)| known != name);
        fields.push(((*name).to_owned(), value.clone()));
    }
    let (names, values): (Vec<_>, Vec<_>) = fields.into_iter().unzip();
    ClaimedRow {
        lease: Lease { id: RowId::Text("0HZXEQ5Y8JY5Z".into()), fence: Box::default() },
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

fn account(clients: &[&str], auth: Option<Auth>, signing: &[&str]) -> Account {
    let own = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
    let hosts = vec!["*.example".to_owned()];
    Account { active: true, clients: own(clients), hosts, auth, signing: own(signing) }
}

fn composer() -> WebhookComposer {
    let bearer = Some(Auth::Bearer("vault://token".to_owned()));
    let basic = |reference: &str| Some(Auth::Basic(reference.to_owned()));
    let accounts = [
        ("signed", account(&[], bearer.clone(), &["vault://new", "vault://old"])),
        ("away", account(&[], None, &["vault://new", "vault://lost"])),
        ("empty", account(&[], None, &["vault://empty"])),
        ("basic", account(&[], basic("vault://login"), &[])),
        ("encoded", account(&[], basic("vault://encoded"), &[])),
        ("neither", account(&[], basic("vault://token"), &[])),
        ("acme", account(&["acme"], bearer, &[])),
        ("inactive", Account { active: false, ..account(&[], None, &["vault://new"]) }),
    ];
    let directory = Listed(LookupResult {
        accounts: accounts.map(|(id, account)| (id.to_owned(), account)).into(),
        subscriptions: [("patient".to_owned(), Subscription { may_postpone: true, paused: false })].into(),
    });
    let secrets = Safe(HashMap::from([
        ("vault://token", "hunter2"),
        ("vault://login", "shop:hunter2"),
        ("vault://encoded", "c2hvcDpodW50ZXIy"),
        ("vault://new", "whsec_bmV3"),
        ("vault://old", "whsec_b2xk"),
        ("vault://empty", " \n"),
    ]));
    WebhookComposer::new(Arc::new(directory), Arc::new(secrets))
}

async fn composed(changes: &[(&str, Value)]) -> Result<Envelope, Outcome> {
    composer().compose(&[row(changes)]).await.pop().unwrap()
}

async fn webhook(changes: &[(&str, Value)]) -> Webhook {
    match composed(changes).await.unwrap().content {
        Content::Webhook(webhook) => *webhook,
        other => panic!("{other:?}"),
    }
}

async fn rejection(changes: &[(&str, Value)]) -> String {
    match composed(changes).await {
        Err(Outcome::Rejected(failure)) => failure.reason,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn j12_a_row_becomes_a_request_with_its_payload_as_it_is() {
    let changes = [
        ("headers", text(r#"{"X-Custom-Header": "value", "x-count": 3, "x-none": null}"#)),
        ("timeout", Value::Int(7)),
        ("content_type", text("text/plain")),
        ("data_only", Value::Int(1)),
    ];
    let webhook = webhook(&changes).await;
    assert_eq!(webhook.body, "{\"b\": 1.10, \"a\": 2}");
    assert_eq!(
        (webhook.content_type.as_str(), webhook.timeout),
        ("text/plain", Some(Duration::from_secs(7)))
    );
    let expected = [("X-Custom-Header", "value"), ("x-count", "3")];
    assert_eq!(webhook.headers.len(), 2);
    for (name, value) in expected {
        assert!(webhook.headers.contains(&(name.to_owned(), value.to_owned())), "{name}");
    }
    assert_eq!((webhook.signing.len(), webhook.authorization), (0, None));
    let envelope = composed(&changes).await.unwrap();
    assert_eq!((envelope.dedupe.as_str(), envelope.attempt), ("0HZXEQ5Y8JY5Z", 3));
    assert_eq!(envelope.detail["signed"], Value::Bool(false), "unsigned, and marked so");
}

#[tokio::test]
async fn j12_without_data_only_it_is_a_cloud_event() {
    let changes = [
        ("data_only", Value::Bool(false)),
        ("event", text("0HZXEQ5Y8JY00")),
        ("subject", text("order:12345")),
        ("correlation", text("req-abc-123")),
        ("time", text("2024-01-15 10:30:00.123+00")),
    ];
    let json = webhook(&changes).await;
    assert_eq!(json.content_type, "application/cloudevents+json; charset=utf-8");
    let body = std::str::from_utf8(&json.body).unwrap();
    assert!(body.contains(r#""data":{"b": 1.10, "a": 2}}"#), "the data is not rewritten: {body}");
    let event: serde_json::Value = serde_json::from_str(body).unwrap();
    let expected = serde_json::json!({
        "specversion": "1.0", "id": "0HZXEQ5Y8JY00", "source": "ecommerce-api", "type": "ecommerce:orders:order:created",
        "subject": "order:12345", "time": "2024-01-15T10:30:00Z", "correlationid": "req-abc-123", "jobid": "0HZXEQ5Y8JY5Z",
        "datacontenttype": "application/json", "data": {"b": 1.10, "a": 2},
    });
    assert_eq!(event, expected);
    let plain = [("data_only", text("f")), ("content_type", text("text/plain")), ("payload", text("a\"b"))];
    let event: serde_json::Value = serde_json::from_slice(&webhook(&plain).await.body).unwrap();
    assert_eq!(
        (&event["data"], &event["id"]),
        (&serde_json::json!("a\"b"), &serde_json::json!("0HZXEQ5Y8JY5Z"))
    );
    let binary = [
        ("data_only", Value::Bool(false)),
        ("content_type", text("image/png")),
        ("payload", Value::Bytes(vec![0xff, 0])),
    ];
    let event: serde_json::Value = serde_json::from_slice(&webhook(&binary).await.body).unwrap();
    assert_eq!(event["data_base64"], "/wA=");
    let broken = [("data_only", Value::Bool(false)), ("payload", text("{\"a\": 1}}"))];
    assert!(rejection(&broken).await.contains("JSON"));
}

#[tokio::test]
async fn j10_an_accounts_credentials_go_with_its_rows() {
    let webhook = webhook(&[("account", text("signed"))]).await;
    assert_eq!(webhook.authorization, Some(Secret::new("Bearer hunter2")));
    assert_eq!(
        webhook.signing,
        [Secret::new("whsec_bmV3"), Secret::new("whsec_b2xk")],
        "both, the newest first"
    );
    assert_eq!(webhook.allowed_hosts, Some(vec!["*.example".to_owned()]));
    assert!(!format!("{webhook:?}").contains("hunter2"));
    for account in ["basic", "encoded"] {
        let webhook = self::webhook(&[("account", text(account))]).await;
        assert_eq!(webhook.authorization, Some(Secret::new("Basic c2hvcDpodW50ZXIy")), "{account}");
    }
}

#[tokio::test]
async fn j10_a_row_waits_for_credentials_and_never_goes_without() {
    let acme = |client: Value| vec![("account", text("acme")), ("client", client)];
    for changes in [
        vec![("account", text("nobody"))],
        vec![("account", text("inactive"))],
        vec![("account", text("away"))],
        vec![("account", text("empty"))],
        vec![("account", text("neither"))],
        acme(text("other")),
        acme(Value::Null),
    ] {
        match composed(&changes).await {
            Err(Outcome::Deferred(failure)) => {
                assert!(failure.after.is_some() && !failure.reason.contains("hunter2"), "{failure:?}");
            }
            other => panic!("{changes:?}: {other:?}"),
        }
    }
    assert!(webhook(&acme(text("acme"))).await.authorization.is_some());
}

#[tokio::test]
async fn j05_postponing_is_the_subscriptions_choice() {
    assert!(webhook(&[("subscription", text("patient"))]).await.may_postpone);
    assert!(!webhook(&[("subscription", text("unknown"))]).await.may_postpone);
    assert!(!webhook(&[]).await.may_postpone);
}

#[tokio::test]
async fn j12_headers_that_would_inject_others_are_refused_with_their_name() {
    for (headers, named) in [
        (r#"{"X-A": "1\r\nX-B: 2"}"#, "headers.X-A"),
        (r#"{"X-A": "1\u0000"}"#, "headers.X-A"),
        (r#"{"X-A\r\nX-B": "1"}"#, "headers"),
        (r#"{"X A": "1"}"#, "headers"),
        (r#"{"": "1"}"#, "headers"),
        (r#"{"X-A": ["1"]}"#, "headers"),
        ("[]", "headers"),
        ("{", "headers"),
    ] {
        let reason = rejection(&[("headers", text(headers))]).await;
        assert!(reason.starts_with(named), "{headers}: {reason}");
    }
    assert!(
        rejection(&[("content_type", text("text/plain\r\nX: y"))]).await.starts_with("headers.content-type")
    );
    let long = format!(r#"{{"x": "{}"}}"#, "v".repeat(9000));
    assert!(rejection(&[("headers", text(long))]).await.contains("8192"));
}

#[tokio::test]
async fn invalid_rows_are_rejected_with_a_reason() {
    for (field, value) in [
        ("url", Value::Null),
        ("url", Value::Bytes(vec![0xff])),
        ("data_only", Value::Int(2)),
        ("timeout", Value::Int(0)),
        ("timeout", text("soon")),
        ("payload", text("x".repeat(1024 * 1024 + 1))),
    ] {
        let reason = rejection(&[(field, value)]).await;
        assert!(reason.starts_with(field), "{reason}");
    }
}

/// A directory whose one account and subscription can be changed.
#[derive(Default)]
struct Changing(std::sync::Mutex<LookupResult>);

#[async_trait]
impl Directory for Changing {
    async fn look_up(&self, _asked: &LookupRequest) -> Result<LookupResult, DirectoryUnavailable> {
        Ok(self.0.lock().unwrap().clone())
    }

    async fn pause_subscription(&self, subscription: &str) -> Result<(), DirectoryUnavailable> {
        let paused = Subscription { may_postpone: false, paused: true };
        self.0.lock().unwrap().subscriptions.insert(subscription.to_owned(), paused);
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn j10_a_change_while_a_request_waited_defers_it() {
    let directory = Arc::new(Changing::default());
    let accounts = HashMap::from([("shop".to_owned(), account(&[], None, &["vault://old"]))]);
    directory.0.lock().unwrap().accounts = accounts;
    let secrets = Safe(HashMap::from([("vault://old", "whsec_b2xk"), ("vault://new", "whsec_bmV3")]));
    let clock = Arc::new(ClockOffset::default());
    clock.set(600);
    let composer = WebhookComposer::new(Arc::clone(&directory) as Arc<dyn Directory>, Arc::new(secrets));
    let composer = composer.with_clock(clock);
    let changes = [("account", text("shop")), ("subscription", text("orders"))];
    let compose = async || match composer.compose(&[row(&changes)]).await.pop().unwrap().unwrap().content {
        Content::Webhook(webhook) => *webhook,
        other => panic!("{other:?}"),
    };
    let first = compose().await;
    assert_eq!(first.clock_offset, 600);
    let recheck = first.recheck.unwrap().0;
    let moment = async || tokio::time::sleep(Duration::from_millis(20)).await;
    moment().await;
    assert!(recheck.revalidate().await.is_ok(), "nothing changed");
    let rotated = account(&[], None, &["vault://new", "vault://old"]);
    directory.0.lock().unwrap().accounts.insert("shop".to_owned(), rotated);
    let failure = recheck.revalidate().await.unwrap_err();
    assert_eq!(failure.after, Some(Duration::ZERO), "{failure:?}");
    let second = compose().await;
    assert_eq!(second.signing.len(), 2, "both secrets sign");
    let recheck = second.recheck.unwrap().0;
    directory.0.lock().unwrap().accounts.clear();
    assert!(recheck.revalidate().await.is_ok(), "it was composed this moment");
    moment().await;
    let failure = recheck.revalidate().await.unwrap_err();
    assert!(failure.reason.contains("changed while the request waited"), "{failure:?}");
    recheck.record_receiver_gone().await;
    let failure = recheck.revalidate().await.unwrap_err();
    assert!(failure.reason.contains("paused"), "{failure:?}");
}
