//! Tests of invalid input: an error that names the field, and nothing stored.

use axum::body::Body;
use axum::http::Request;
use postrider_hub::access::Role;
use serde_json::{Value, json};

use crate::fixture::{Fixture, on_every_database};
use crate::routes::job;
use crate::test_api::TestApi;

on_every_database!(invalid_input_is_reported_and_not_stored, invalid_json_is_refused_with_its_position);

async fn invalid_input_is_reported_and_not_stored(fixture: &Fixture) {
    let api = TestApi::new(fixture);
    let (key, _) = fixture.key(Role::Admin, &[]).await;
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
        ("targetUrl", json!({"targetUrl": "https://example.com:0/"})),
        ("targetUrl", json!({"targetUrl": "https://example.com\\@127.0.0.1/"})),
        ("headers.x-a", json!({"headers": {"X-A": "1", "x-a": "2"}})),
        (
            "headers",
            json!({"headers": {"A": "x".repeat(2000), "B": "x".repeat(2000), "C": "x".repeat(2000),
            "D": "x".repeat(2000), "E": "x".repeat(2000)}}),
        ),
        ("payload", json!({"dataOnly": false, "payload": format!("{}{}", "[".repeat(500), "]".repeat(500))})),
        ("mode", json!({"mode": {"IMMEDIATE": null}})),
        ("metadata[0]", json!({"metadata": [["key", "value"]]})),
    ] {
        api.post(&key, "/dispatch-jobs", &job(&with)).await.problem(422, field);
    }
    api.post(&key, "/dispatch-jobs", &json!({"code": "a"})).await.problem(422, "targetUrl");
    api.post(&key, "/dispatch-jobs", &json!([])).await.expect(422);
    let bad = json!({"jobs": [job(&json!({"x": 1})), job(&json!({"mode": "SOMETIMES"})), 7]});
    let refused = api.post(&key, "/dispatch-jobs/batch", &bad).await;
    let text = refused.json();
    refused.problem(422, "jobs[0].x");
    assert_eq!(text["errors"][1]["pointer"], "/jobs/1/mode");
    assert_eq!(text["results"][2]["status"], 422);
    api.post(&key, "/dispatch-jobs/batch", &json!({"jobs": []})).await.problem(422, "jobs");
    let raw = |kind: &str, body: Vec<u8>| {
        let request = Request::post("/api/v1/dispatch-jobs").header("authorization", format!("Bearer {key}"));
        request.header("content-type", kind).body(Body::from(body)).expect("a request")
    };
    let whole = job(&json!({})).to_string();
    api.ask(raw("application/json", whole.as_bytes()[..whole.len() - 2].to_vec())).await.expect(400);
    api.ask(raw("application/json", format!("{whole} {whole}").into_bytes())).await.expect(400);
    api.ask(raw("application/json", vec![0xff, 0xfe])).await.expect(400);
    api.ask(raw("text/plain", whole.clone().into_bytes())).await.expect(415);
    api.ask(raw("application/json", vec![b' '; 3 << 20])).await.problem(413, "body");
    let twice = whole.replacen('{', "{\"code\":\"b\",", 1);
    api.ask(raw("application/json", twice.into_bytes())).await.problem(422, "code");
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
        api.get(&key, &format!("/dispatch-jobs?{query}")).await.problem(422, field);
    }
    let method = Request::delete("/api/v1/dispatch-jobs").header("authorization", format!("Bearer {key}"));
    let refused = api.ask(method.body(Body::empty()).expect("a request")).await;
    assert!(refused.headers["allow"].to_str().expect("methods").contains("POST"));
    assert_eq!(refused.expect(405)["title"], "Method Not Allowed");
    for table in ["dispatch_jobs", "dispatch_job_metadata", "postrider_audit WHERE entity <> 'apiKey'"] {
        assert_eq!(fixture.count(table).await, 0, "{table}");
    }
    let nothing: Value = api.get(&key, "/dispatch-jobs").await.expect(200);
    assert_eq!(nothing["items"], json!([]));
}

/// Refuses JSON that parsers may read differently: duplicate members, lists instead of objects, deep nesting.
async fn invalid_json_is_refused_with_its_position(fixture: &Fixture) {
    let api = TestApi::new(fixture);
    let (key, _) = fixture.key(Role::Admin, &[]).await;
    let ask = async |path: &str, kind: &str, body: &str| {
        let request =
            Request::post(format!("/api/v1{path}")).header("authorization", format!("Bearer {key}"));
        api.ask(request.header("content-type", kind).body(Body::from(body.to_owned())).expect("a request"))
            .await
    };
    let job = |more: &str| format!(r#"{{"code":"a","targetUrl":"https://example.com/"{more}}}"#);
    let event =
        |more: &str| format!(r#"{{"specversion":"1.0","id":"1","source":"/s","type":"a:b:c:d"{more}}}"#);
    let deep = format!("{}{}", "[".repeat(500), "]".repeat(500));
    let json = "application/json";
    for (status, field, path, body) in [
        (422, "headers.X", "/dispatch-jobs", job(r#","headers":{"X":"1","X":"2"}"#)),
        (400, "payload", "/dispatch-jobs", job(r#","payload":"\ud800""#)),
        (400, "sequence", "/dispatch-jobs", job(r#","sequence":1e999"#)),
        (400, "body", "/dispatch-jobs", "{".to_owned()),
        (422, "type", "/events", event(r#","type":"a:b:c:e""#)),
        (422, "data.a", "/events", event(r#","data":{"a":1,"a":2}"#)),
        (400, "data.a", "/events", event(r#","data":{"a":"\ud800"}"#)),
        (422, "ext", "/events", event(r#","ext":"a\r\nb""#)),
        (422, "body", "/dispatch-pools", r#"["p","n",null,null,null,null]"#.to_owned()),
        (422, "filters[0]", "/subscriptions", r#"{"code":"s","name":"S","eventCode":"a:b:c:d","targetUrl":"https://example.com/","filters":[["/a","EQUALS",1]]}"#.to_owned()),
        (422, "roles[0]", "/service-accounts", r#"{"code":"a","name":"A","roles":[["r",null]]}"#.to_owned()),
        (422, "webhookCredentials", "/service-accounts", r#"{"code":"a","name":"A","webhookCredentials":[null,null,null,null]}"#.to_owned()),
        (422, "expiresAt", "/api-keys", r#"{"name":"n","role":"viewer","expiresAt":"2001-01-01T00:00:00Z"}"#.to_owned()),
    ] {
        ask(path, json, &body).await.problem(status, field);
    }
    let nested = ask("/events", json, &event(&format!(r#","data":{{"a":{deep}}}"#))).await;
    assert!(nested.json()["errors"][0]["field"].as_str().is_some_and(|field| field.starts_with("data.a[0]")));
    nested.expect(400);
    let mixed = format!("[{},{}]", event(r#","data":{"a":1,"a":2}"#), event(r#","type":"x""#));
    ask("/events/batch", json, &mixed).await.problem(422, "[0].data.a");
    ask("/dispatch-jobs", "text/plain", &job("")).await.problem(415, "Content-Type");
    let request = Request::post("/api/v1/dispatch-jobs").header("authorization", format!("Bearer {key}"));
    let request = request.header("content-type", json).header("content-encoding", "gzip");
    api.ask(request.body(Body::from(job(""))).expect("a request")).await.problem(415, "Content-Encoding");
    let binary = |name: &str, value: &str| {
        Request::post("/api/v1/events")
            .header("authorization", format!("Bearer {key}"))
            .header("ce-specversion", "1.0")
            .header("ce-id", "1")
            .header("ce-source", "/s")
            .header("ce-type", "a:b:c:d")
            .header("content-type", json)
            .header(name, value)
            .body(Body::from("{}"))
            .expect("a request")
    };
    api.ask(binary("ce-data", "x")).await.problem(422, "ce-data");
    api.ask(binary("ce-datacontenttype", "text/plain")).await.problem(422, "ce-datacontenttype");
    for path in ["/schemas?x=1", "/dispatch-jobs/0000000000000?x=1", "/lanes?x=1"] {
        api.get(&key, path).await.problem(422, "x");
    }
    for table in
        ["dispatch_jobs", "dispatch_events", "dispatch_pools", "dispatch_subscriptions", "service_accounts"]
    {
        assert_eq!(fixture.count(table).await, 0, "{table}");
    }
}
