//! Bad input: a problem that names the field, and nothing stored.

use axum::body::Body;
use axum::http::Request;
use postrider_hub::access::Role;
use serde_json::{Value, json};

use crate::desk::Desk;
use crate::routes::job;
use crate::site::{Site, on_every_database};

on_every_database!(bad_input_is_told_and_not_stored);

async fn bad_input_is_told_and_not_stored(site: &Site) {
    let desk = Desk::new(site);
    let (key, _) = site.key(Role::Admin, &[]).await;
    for (field, with) in [
        ("unknown", json!({"unknown": 1})),
        ("mode", json!({"mode": "SOMETIMES"})),
        ("kind", json!({"kind": "EVENT"})),
        ("kind", json!({"kind": "OTHER"})),
        ("protocol", json!({"protocol": "SMTP"})),
        ("status", json!({"status": "COMPLETED"})),
        ("attemptCount", json!({"attemptCount": 7})),
        ("timeoutSeconds", json!({"timeoutSeconds": "30"})),
        ("timeoutSeconds", json!({"timeoutSeconds": 301})),
        ("scheduledFor", json!({"scheduledFor": "tomorrow"})),
        ("metadata[0].extra", json!({"metadata": [{"key": "k", "value": "v", "extra": 1}]})),
        ("metadata[0].value", json!({"metadata": [{"key": "k"}]})),
        ("targetUrl", json!({"targetUrl": "https://127.0.0.1:8080/"})),
        ("targetUrl", json!({"targetUrl": "https://[::ffff:169.254.169.254]/"})),
        ("targetUrl", json!({"targetUrl": "https://localhost/"})),
        ("targetUrl", json!({"targetUrl": "https://inside.example/"})),
        ("targetUrl", json!({"targetUrl": "https://example.com/\r\nEvil: 1"})),
        ("headers.Transfer-Encoding", json!({"headers": {"Transfer-Encoding": "chunked"}})),
        ("headers.Webhook-Signature", json!({"headers": {"Webhook-Signature": "v1,x"}})),
        ("payloadContentType", json!({"payloadContentType": "text/plain\r\nEvil: 1"})),
        ("headers.X", json!({"headers": {"X": "a\r\nEvil: 1"}})),
        ("headers.X\r\nEvil", json!({"headers": {"X\r\nEvil": "1"}})),
        ("headers.webhook-id", json!({"headers": {"webhook-id": "1"}})),
        ("payload", json!({"payload": "x".repeat((1 << 20) + 1)})),
        ("clientId", json!({"clientId": "a\u{0}"})),
    ] {
        desk.post(&key, "/dispatch-jobs", &job(&with)).await.problem(422, field);
    }
    desk.post(&key, "/dispatch-jobs", &json!({"code": "a"})).await.problem(422, "targetUrl");
    desk.post(&key, "/dispatch-jobs", &json!([])).await.expect(422);
    let bad = json!({"jobs": [job(&json!({"x": 1})), job(&json!({"mode": "SOMETIMES"})), 7]});
    let refused = desk.post(&key, "/dispatch-jobs/batch", &bad).await;
    let told = refused.json();
    refused.problem(422, "jobs[0].x");
    assert_eq!(told["errors"][1]["pointer"], "/jobs/1/mode");
    assert_eq!(told["results"][2]["status"], 422);
    desk.post(&key, "/dispatch-jobs/batch", &json!({"jobs": []})).await.problem(422, "jobs");
    let raw = |kind: &str, body: Vec<u8>| {
        let request = Request::post("/api/v1/dispatch-jobs").header("authorization", format!("Bearer {key}"));
        request.header("content-type", kind).body(Body::from(body)).expect("a request")
    };
    let whole = job(&json!({})).to_string();
    desk.ask(raw("application/json", whole.as_bytes()[..whole.len() - 2].to_vec())).await.expect(400);
    desk.ask(raw("application/json", format!("{whole} {whole}").into_bytes())).await.expect(400);
    desk.ask(raw("application/json", vec![0xff, 0xfe])).await.expect(400);
    desk.ask(raw("text/plain", whole.clone().into_bytes())).await.expect(415);
    desk.ask(raw("application/json", vec![b' '; 3 << 20])).await.problem(413, "body");
    let twice = whole.replacen('{', "{\"code\":\"b\",", 1);
    desk.ask(raw("application/json", twice.into_bytes())).await.problem(422, "code");
    for (field, query) in [
        ("status", "status=DONE"),
        ("unknown", "unknown=1"),
        ("limit", "limit=0"),
        ("limit", "limit=201"),
        ("limit", "limit=many"),
        ("cursor", "cursor=abc"),
        ("createdAfter", "createdAfter=yesterday"),
        ("metadataValue", "metadataKey=a"),
        ("code", "code=%00"),
    ] {
        desk.get(&key, &format!("/dispatch-jobs?{query}")).await.problem(422, field);
    }
    let method = Request::delete("/api/v1/dispatch-jobs").header("authorization", format!("Bearer {key}"));
    let refused = desk.ask(method.body(Body::empty()).expect("a request")).await;
    assert!(refused.headers["allow"].to_str().expect("methods").contains("POST"));
    assert_eq!(refused.expect(405)["title"], "Method Not Allowed");
    for table in ["dispatch_jobs", "dispatch_job_metadata", "postrider_audit WHERE entity <> 'apiKey'"] {
        assert_eq!(site.count(table).await, 0, "{table}");
    }
    let nothing: Value = desk.get(&key, "/dispatch-jobs").await.expect(200);
    assert_eq!(nothing["items"], json!([]));
}
