//! NUL characters: refused with 422 wherever they stand in a request, and nothing is stored.

use axum::body::Body;
use axum::http::Request;
use postrider_hub::access::Role;
use serde_json::{Value, json};

use crate::desk::Desk;
use crate::routes::job;
use crate::site::{Site, on_every_database};
use crate::walk::{event, subscription};

on_every_database!(a_nul_anywhere_in_a_request_is_refused);

const NUL: &str = "a\u{0}b";

/// Every text of a value, one at a time, with a NUL in it; and every name.
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

async fn a_nul_anywhere_in_a_request_is_refused(site: &Site) {
    let desk = Desk::new(site);
    let (key, _) = site.key(Role::Admin, &[]).await;
    let full = job(
        &json!({"payload": "p", "headers": {"X": "y"}, "metadata": [{"key": "k", "value": "v"}], "source": "s"}),
    );
    let mut happened = event("1");
    happened["data"] = json!({"deep": [{"er": "text"}]});
    happened["extension"] = json!("x");
    let account = json!({"code": "a", "name": "A", "description": "d", "clientIds": ["c"], "roles": [{"roleName": "r"}]});
    for (method, path, body) in [
        ("POST", "/dispatch-jobs", full.clone()),
        ("POST", "/dispatch-jobs/batch", json!({"jobs": [full]})),
        ("POST", "/dispatch-jobs/retry", json!({"code": "c"})),
        ("POST", "/events", happened.clone()),
        ("POST", "/events/batch", json!([happened])),
        ("POST", "/subscriptions", subscription()),
        ("POST", "/dispatch-pools", json!({"code": "p", "name": "P", "description": "d"})),
        ("POST", "/service-accounts", account),
        ("PUT", "/schemas/s", json!({"schema": {"title": "t", "properties": {"a": {"const": "x"}}}})),
        ("POST", "/api-keys", json!({"name": "n", "role": "viewer", "clientIds": ["c"]})),
        ("POST", "/emails", json!({"to": ["a@example.net"], "subject": "s", "custom_headers": {"X": "y"}})),
        ("POST", "/lanes/dispatch_jobs/requeue", json!({"ids": ["a"]})),
        ("POST", "/lanes/dispatch_jobs/requeue", json!({"state": "ERROR"})),
    ] {
        for bad in spoiled(&body) {
            let answer = desk.send(method, &key, path, &bad).await;
            assert_eq!(
                answer.status,
                422,
                "{method} {path} {bad}: {}",
                String::from_utf8_lossy(&answer.bytes)
            );
        }
    }
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
        let answer = desk.get(&key, path).await;
        assert_eq!(answer.status, 422, "{path}: {}", String::from_utf8_lossy(&answer.bytes));
    }
    let binary = |name: &str, value: &str, kind: &str, body: &'static [u8]| {
        let request = Request::post("/api/v1/events").header("authorization", format!("Bearer {key}"));
        let request =
            request.header("ce-specversion", "1.0").header("ce-source", "/s").header("ce-type", "a:b:c:d");
        let request = request.header(name, value).header("content-type", kind);
        request.body(Body::from(body)).expect("a request")
    };
    desk.ask(binary("ce-id", "a%00", "application/json", b"{}")).await.problem(422, "ce-id");
    desk.ask(binary("ce-id", "1", "text/plain", b"a\0b")).await.problem(422, "body");
    desk.ask(binary("ce-id", "1", "application/json", b"{\"a\":\"\\u0000\"}")).await.problem(422, "a");
    let mail = Request::post("/api/v1/emails").header("authorization", format!("Bearer {key}"));
    let mail = mail.header("content-type", "message/rfc822").body(Body::from("Subject: a\0\r\n\r\n"));
    desk.ask(mail.expect("a request")).await.problem(422, "body");
    for table in
        ["dispatch_jobs", "dispatch_events", "dispatch_pools", "dispatch_subscriptions", "dispatch_schemas"]
    {
        assert_eq!(site.count(table).await, 0, "{table}");
    }
}
