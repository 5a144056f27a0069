//! The required and optional members of every operation's body. Compared with the document, so that no operation and
//! no member is missed.

use std::collections::{BTreeMap, BTreeSet};

use axum::body::Body;
use axum::http::Request;
use postrider_server::api::document;
use serde_json::{Map, Value, json};

use crate::operations::{event, subscription};
use crate::test_api::{Answer, TestApi};

pub struct Form {
    /// Operation as the document names it: `put /schemas/{id}`.
    pub operation: &'static str,
    pub path: String,
    pub required: Value,
    /// Optional members by name; `a.b` is a member of the member `a`.
    pub optional: Vec<(&'static str, Value)>,
    /// Whether every combination of members is valid.
    pub free: bool,
    pub wrap: fn(Value) -> Value,
}

impl Form {
    fn new(operation: &'static str, id: &str, required: &Value, optional: &[(&'static str, Value)]) -> Self {
        let (_, path) = operation.split_once(' ').expect("a method and a path");
        let (path, required) = (path.replace("{id}", id), required.clone());
        Self { operation, path, required, optional: optional.to_vec(), free: true, wrap: |body| body }
    }

    /// Marks that some combinations of members are refused.
    fn choosy(self) -> Self {
        Self { free: false, ..self }
    }

    fn wrapped(self, wrap: fn(Value) -> Value) -> Self {
        Self { wrap, ..self }
    }

    /// Returns the body with a subset of the optional members, one bit each. Unique values are derived from `index`.
    pub fn body(&self, index: usize, subset: u64) -> Value {
        let mut body: Map<String, Value> = self.required.as_object().expect("an object").clone();
        for (place, (name, value)) in self.optional.iter().enumerate() {
            if subset >> place & 1 == 0 {
                continue;
            }
            match name.split_once('.') {
                Some((outer, inner)) => {
                    let outer = body.entry(outer).or_insert_with(|| json!({}));
                    outer[inner] = value.clone();
                }
                None => drop(body.insert((*name).to_owned(), value.clone())),
            }
        }
        // PUT keeps the code of the existing object.
        let unique: &[&str] = match self.operation {
            operation if operation.starts_with("put") => &[],
            operation if operation.starts_with("post /events") => &["id"],
            _ => &["code", "idempotencyKey"],
        };
        for name in unique.iter().filter(|name| body.contains_key(**name)).copied().collect::<Vec<_>>() {
            body.insert(name.to_owned(), json!(format!("c-{index}")));
        }
        (self.wrap)(body.into())
    }

    /// Returns the body with all optional members.
    pub fn whole(&self) -> Value {
        self.body(0, u64::MAX)
    }

    pub async fn send(&self, api: &TestApi, key: &str, body: &Value, traced: bool) -> Answer {
        let (method, _) = self.operation.split_once(' ').expect("a method");
        let mut request = Request::builder()
            .method(method.to_uppercase().as_str())
            .uri(format!("/api/v1{}", self.path))
            .header("authorization", format!("Bearer {key}"))
            .header("content-type", "application/json");
        if traced {
            request =
                request.header("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
        }
        api.ask(request.body(Body::from(body.to_string())).expect("a request")).await
    }
}

fn job_members(pool: &str, account: &str) -> Vec<(&'static str, Value)> {
    vec![
        ("externalId", json!("x-1")),
        ("source", json!("/s")),
        ("kind", json!("TASK")),
        ("subject", json!("s")),
        ("eventId", json!("e-1")),
        ("correlationId", json!("co-1")),
        ("metadata", json!([{"key": "k", "value": "v"}])),
        ("protocol", json!("HTTP_WEBHOOK")),
        ("headers", json!({"X-A": "1"})),
        ("payload", json!("{}")),
        ("payloadContentType", json!("application/json")),
        ("dataOnly", json!(true)),
        ("serviceAccountId", json!(account)),
        ("clientId", json!("acme")),
        ("mode", json!("IMMEDIATE")),
        ("dispatchPoolId", json!(pool)),
        ("messageGroup", json!("g")),
        ("sequence", json!(3)),
        ("timeoutSeconds", json!(5)),
        ("schemaId", json!("none")),
        ("maxRetries", json!(4)),
        ("retryStrategy", json!("fixed")),
        ("scheduledFor", json!("2030-01-01T00:00:00Z")),
        ("expiresAt", json!("2031-01-01T00:00:00Z")),
        ("idempotencyKey", json!("k")),
    ]
}

fn subscription_members(pool: &str, account: &str) -> Vec<(&'static str, Value)> {
    vec![
        ("description", json!("d")),
        ("sourcePrefix", json!("/s")),
        ("filters", json!([{"path": "/a", "op": "EXISTS"}])),
        ("headers", json!({"X-A": "1"})),
        ("serviceAccountId", json!(account)),
        ("dispatchPoolId", json!(pool)),
        ("mode", json!("IMMEDIATE")),
        ("sequence", json!(3)),
        ("dataOnly", json!(false)),
        ("timeoutSeconds", json!(5)),
        ("maxRetries", json!(4)),
        ("retryStrategy", json!("fixed")),
        ("expiresAfterSeconds", json!(60)),
        ("honoursAck", json!(true)),
        ("active", json!(true)),
        ("clientId", json!("acme")),
    ]
}

/// Returns the members that select rows of lanes: by ids or by state.
fn chosen() -> Vec<(&'static str, Value)> {
    vec![
        ("ids", json!(["0000000000000"])),
        ("state", json!("ERROR")),
        ("since", json!("2020-01-01T00:00:00Z")),
        ("preview", json!(true)),
    ]
}

fn found() -> Vec<(&'static str, Value)> {
    vec![
        ("clientId", json!("acme")),
        ("code", json!("c")),
        ("eventId", json!("e-1")),
        ("subscriptionId", json!("0000000000000")),
        ("metadataKey", json!("k")),
        ("metadataValue", json!("v")),
        ("createdAfter", json!("2020-01-01T00:00:00Z")),
        ("createdBefore", json!("2030-01-01T00:00:00Z")),
    ]
}

fn event_members() -> Vec<(&'static str, Value)> {
    vec![
        ("clientid", json!("acme")),
        ("correlationid", json!("co-1")),
        ("data", json!({"a": 1})),
        ("datacontenttype", json!("application/json")),
        ("dataschema", json!("https://example.com/schema")),
        ("subject", json!("s")),
        ("time", json!("2024-01-01T00:00:00Z")),
    ]
}

fn account_members() -> Vec<(&'static str, Value)> {
    vec![
        ("description", json!("d")),
        ("clientIds", json!(["acme"])),
        ("applicationId", json!("app")),
        ("roles", json!([{"roleName": "r"}])),
    ]
}

fn email_members() -> Vec<(&'static str, Value)> {
    vec![
        ("id", json!("e-1")),
        ("from", json!("shop@example.org")),
        ("reply_to", json!("shop@example.org")),
        ("to", json!(["ann@example.net"])),
        ("cc", json!(["ann@example.net"])),
        ("bcc", json!(["ann@example.net"])),
        ("subject", json!("s")),
        ("body_text", json!("t")),
        ("body_html", json!("h")),
        ("attachments", json!([])),
        ("custom_headers", json!({"X": "y"})),
    ]
}

/// Creates the objects that the forms need, and returns the forms of all operations.
pub async fn forms(api: &TestApi, key: &str) -> Vec<Form> {
    let made = async |path: &str, body: &Value| {
        let answer = api.post(key, path, body).await.expect(201);
        answer["id"].as_str().expect("an id").to_owned()
    };
    let pool = made("/dispatch-pools", &json!({"code": "p", "name": "P"})).await;
    let account = json!({"code": "a", "name": "A", "allowedHosts": ["*"]});
    let account_id = made("/service-accounts", &account).await;
    let subscribed = made("/subscriptions", &subscription()).await;
    let happened = made("/events", &event("first")).await;
    let limits = [("description", json!("d")), ("concurrency", json!(7)), ("ratePerMinute", json!(60))];
    let of_client = [&limits[..], &[("clientId", json!("acme"))]].concat();
    let credentials = [
        ("webhookCredentials.authType", json!("BEARER")),
        ("webhookCredentials.authTokenRef", json!("env://TOKEN")),
        ("webhookCredentials.signingSecretRef", json!("env://SECRET")),
        ("webhookCredentials.signingAlgorithm", json!("HMAC_SHA256")),
    ];
    let regenerated = [
        ("authType", json!("BEARER")),
        ("authTokenRef", json!("env://TOKEN")),
        ("signingSecretRef", json!("env://SECRET")),
    ];
    let job = json!({"code": "c", "targetUrl": "https://example.com/"});
    let jobs = job_members(&pool, &account_id);
    let subscriptions = subscription_members(&pool, &account_id);
    let hosts = [&account_members()[..], &[("allowedHosts", json!(["example.com"]))]].concat();
    let none = json!({});
    vec![
        Form::new("post /dispatch-jobs", "", &job, &jobs),
        Form::new("post /dispatch-jobs/batch", "", &job, &jobs).wrapped(|job| json!({"jobs": [job]})),
        Form::new("post /dispatch-jobs/retry", "", &none, &found()).choosy(),
        Form::new("post /events", "", &event("c"), &event_members()),
        Form::new("post /events/batch", "", &event("c"), &event_members()).wrapped(|event| json!([event])),
        Form::new("post /events/{id}/replay", &happened, &none, &[("subscriptionId", json!(subscribed))])
            .choosy(),
        Form::new("post /subscriptions", "", &subscription(), &subscriptions),
        Form::new("put /subscriptions/{id}", &subscribed, &subscription(), &subscriptions).choosy(),
        Form::new("post /dispatch-pools", "", &json!({"code": "c", "name": "P"}), &of_client),
        Form::new("put /dispatch-pools/{id}", &pool, &json!({"name": "P"}), &limits),
        Form::new("post /service-accounts", "", &account, &[&account_members()[..], &credentials].concat())
            .choosy(),
        Form::new("put /service-accounts/{id}", &account_id, &json!({"name": "A"}), &hosts),
        Form::new("post /service-accounts/{id}/regenerate-credentials", &account_id, &none, &regenerated)
            .choosy(),
        Form::new("put /schemas/{id}", "s", &json!({"schema": {"title": "t"}}), &[]),
        Form::new(
            "post /api-keys",
            "",
            &json!({"name": "n", "role": "viewer"}),
            &[("clientIds", json!(["acme"])), ("expiresAt", json!("2030-01-01T00:00:00Z"))],
        ),
        Form::new("post /emails", "", &none, &email_members()).choosy(),
        Form::new("post /lanes/{id}/requeue", "dispatch_jobs", &none, &chosen()).choosy(),
        Form::new("post /lanes/{id}/cancel", "dispatch_jobs", &none, &chosen()).choosy(),
        Form::new("post /lanes/{id}/release", "dispatch_jobs", &none, &chosen()).choosy(),
    ]
}

/// Fails if the document has an operation or a member that no form has.
pub fn assert_complete(forms: &[Form]) {
    let document = serde_json::to_value(document()).expect("JSON");
    let mut documented: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (path, item) in document["paths"].as_object().expect("paths") {
        for (method, operation) in item.as_object().expect("methods") {
            let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
            if !schema.is_null() {
                let members = documented.entry(format!("{method} {path}")).or_default();
                collect(&document, schema, "", members);
            }
        }
    }
    let listed: BTreeSet<&str> = forms.iter().map(|form| form.operation).collect();
    assert_eq!(
        listed,
        documented.keys().map(String::as_str).collect(),
        "every operation with a body has a form"
    );
    for form in forms {
        let required = form.required.as_object().expect("an object").keys().map(String::as_str);
        let known: BTreeSet<&str> = form.optional.iter().map(|(name, _)| *name).chain(required).collect();
        for member in &documented[form.operation] {
            assert!(known.contains(member.as_str()), "{} has a new member: {member}", form.operation);
        }
    }
}

/// Collects the members of a body; of its entries if it is a list, or an object with only a list.
fn collect(document: &Value, schema: &Value, before: &str, members: &mut BTreeSet<String>) {
    let Some(schema) = object(document, schema) else { return };
    let properties = schema["properties"].as_object().expect("an object");
    for (name, member) in properties {
        let sole = properties.len() == 1 && before.is_empty();
        match object(document, member) {
            Some(inner) if sole && member.get("items").is_some() => collect(document, inner, before, members),
            Some(inner) if member.get("items").is_none() => {
                collect(document, inner, &format!("{before}{name}."), members);
            }
            _ => drop(members.insert(format!("{before}{name}"))),
        }
    }
}

/// Returns the object schema that a schema is, refers to, or is a list of.
fn object<'a>(document: &'a Value, schema: &'a Value) -> Option<&'a Value> {
    if let Some(reference) = schema["$ref"].as_str() {
        return object(document, document.pointer(reference.trim_start_matches('#'))?);
    }
    if let Some(choices) = schema["oneOf"].as_array() {
        return choices.iter().find_map(|choice| object(document, choice));
    }
    if let Some(entries) = schema.get("items") {
        return object(document, entries);
    }
    schema.get("properties").map(|_| schema)
}
