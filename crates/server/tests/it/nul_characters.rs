//! Tests that NUL characters are refused with 422 anywhere in a request, and nothing is stored.

use axum::body::Body;
use axum::http::Request;
use postrider_hub::access::Role;
use serde_json::{Value, json};

use crate::fixture::{Fixture, on_every_database};
use crate::operations::event;
use crate::request_bodies::{assert_complete, forms};
use crate::test_api::TestApi;

on_every_database!(a_nul_anywhere_in_a_request_is_refused);

const NUL: &str = "a\u{0}b";

/// Returns copies of a value, each with a NUL in another text or name.
fn spoiled(value: &Value) -> Vec<Value> {
    match value {
        Value::String(_) => vec![json!(NUL)],
        Value::Array(list) => list
            .iter()
            .enumerate()
            .flat_map(|(at, entry)| {
                spoiled(entry).into_iter().map(move |bad| {
                    let mut copy = list.clone();
                    copy[at] = bad;
                    Value::Array(copy)
                })
            })
            .collect(),
        Value::Object(members) => members
            .iter()
            .flat_map(|(name, member)| {
                let texts = spoiled(member).into_iter().map(|bad| {
                    let mut copy = members.clone();
                    copy.insert(name.clone(), bad);
                    Value::Object(copy)
                });
                let mut named = members.clone();
                named.insert(format!("{name}\u{0}"), member.clone());
                texts.chain([Value::Object(named)]).collect::<Vec<_>>()
            })
            .collect(),
        _ => Vec::new(),
    }
}

async fn a_nul_anywhere_in_a_request_is_refused(fixture: &Fixture) {
    let api = TestApi::new(fixture);
    let (key, _) = fixture.key(Role::Admin, &[]).await;
    let forms = forms(&api, &key).await;
    assert_complete(&forms);
    let tables =
        ["dispatch_jobs", "dispatch_events", "dispatch_pools", "dispatch_subscriptions", "dispatch_schemas"];
    let mut before = Vec::new();
    for table in tables {
        before.push(fixture.count(table).await);
    }
    for form in &forms {
        let mut whole = vec![form.whole()];
        if form.operation.starts_with("post /events") && form.path.matches('/').count() < 3 {
            let mut happened = event("1");
            happened["data"] = json!({"deep": [{"er": "text"}]});
            happened["extension"] = json!("x");
            whole.push((form.wrap)(happened));
            let mut binary = event("1");
            binary["data_base64"] = json!("aGk=");
            whole.push((form.wrap)(binary));
        }
        for body in whole {
            for bad in spoiled(&body) {
                let answer = form.send(&api, &key, &bad, false).await;
                let text = String::from_utf8_lossy(&answer.bytes);
                assert_eq!(answer.status, 422, "{} {bad}: {text}", form.operation);
            }
        }
    }
    let entry = Request::post("/console/login").header("content-type", "application/json");
    let entry = entry.body(Body::from(json!({"key": NUL}).to_string())).expect("a request");
    let refused = api.ask(entry).await;
    assert!(matches!(refused.status.as_u16(), 401 | 422), "a sign-in: {}", refused.status);
    for path in [
        "/dispatch-jobs/%00",
        "/dispatch-jobs?code=a%00b",
        "/dispatch-jobs?%00=a",
        "/events?code=%00",
        "/audit-log?entityId=%00",
        "/lanes/%00/rows",
        "/lanes/dispatch_jobs/rows/a%00",
        "/lanes/dispatch_jobs/rows?by=key&text=%00",
        "/lanes/dispatch_jobs/rows?cursor=00",
        "/schemas/%00",
    ] {
        let answer = api.get(&key, path).await;
        assert_eq!(answer.status, 422, "{path}: {}", String::from_utf8_lossy(&answer.bytes));
    }
    let binary = |name: &str, value: &str, kind: &str, body: &'static [u8]| {
        let request = Request::post("/api/v1/events").header("authorization", format!("Bearer {key}"));
        let request =
            request.header("ce-specversion", "1.0").header("ce-source", "/s").header("ce-type", "a:b:c:d");
        let request = request.header(name, value).header("content-type", kind);
        request.body(Body::from(body)).expect("a request")
    };
    api.ask(binary("ce-id", "a%00", "application/json", b"{}")).await.problem(422, "ce-id");
    api.ask(binary("ce-id", "1", "text/plain", b"a\0b")).await.problem(422, "body");
    api.ask(binary("ce-id", "1", "application/json", b"{\"a\":\"\\u0000\"}")).await.problem(422, "a");
    let mail = Request::post("/api/v1/emails").header("authorization", format!("Bearer {key}"));
    let mail = mail.header("content-type", "message/rfc822").body(Body::from("Subject: a\0\r\n\r\n"));
    api.ask(mail.expect("a request")).await.problem(422, "body");
    for (table, count) in tables.into_iter().zip(before) {
        assert_eq!(fixture.count(table).await, count, "{table}");
    }
}
