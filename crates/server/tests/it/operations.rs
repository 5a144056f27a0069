//! Tests every operation of the document: which roles may call it, and what a caller of another client sees.

use axum::body::Body;
use axum::http::{HeaderMap, Request, StatusCode};
use postrider_hub::access::Role;
use postrider_server::api::document;
use serde_json::{Value, json};

use crate::fixture::{Fixture, on_every_database};
use crate::routes::job;
use crate::test_api::{Answer, TestApi};

on_every_database!(
    every_operation_needs_its_role_and_scope,
    no_operation_distinguishes_foreign_and_unknown_ids,
    no_reference_distinguishes_foreign_and_unknown_ids,
);

const UNKNOWN: &str = "0000000000000";
const ROLES: [Role; 4] = [Role::Viewer, Role::Producer, Role::Operator, Role::Admin];

/// The callers that an operation is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum For {
    /// Also keys limited to some clients.
    AnyScope,
    AllClients,
    /// The same, except producers: rows contain what others produced.
    AllButProducers,
}

struct Operation {
    method: &'static str,
    path: &'static str,
    role: Role,
    of: For,
    body: Value,
}

pub fn event(id: &str) -> Value {
    json!({"specversion": "1.0", "id": id, "source": "/s", "type": "a:b:c:d"})
}

pub fn subscription() -> Value {
    json!({"code": "s", "name": "S", "eventCode": "a:b:c:d", "targetUrl": "https://example.com/"})
}

fn operations() -> Vec<Operation> {
    use For::{AllButProducers, AllClients, AnyScope};
    use Role::{Admin, Operator, Producer, Viewer};
    let pool = json!({"code": "p", "name": "P"});
    let account = json!({"code": "a", "name": "A", "allowedHosts": ["*"]});
    let rows = json!({"ids": [UNKNOWN]});
    let none = Value::Null;
    let all = [
        ("get", "/dispatch-jobs", Viewer, AnyScope, &none),
        ("post", "/dispatch-jobs", Producer, AnyScope, &job(&json!({}))),
        ("post", "/dispatch-jobs/batch", Producer, AnyScope, &json!({"jobs": [job(&json!({}))]})),
        ("post", "/dispatch-jobs/retry", Operator, AnyScope, &none),
        ("get", "/dispatch-jobs/{id}", Viewer, AnyScope, &none),
        ("post", "/dispatch-jobs/{id}/retry", Operator, AnyScope, &none),
        ("post", "/dispatch-jobs/{id}/cancel", Operator, AnyScope, &none),
        ("post", "/dispatch-jobs/{id}/complete", Operator, AnyScope, &none),
        ("get", "/events", Viewer, AnyScope, &none),
        ("post", "/events", Producer, AnyScope, &event("1")),
        ("post", "/events/batch", Producer, AnyScope, &json!([event("1")])),
        ("get", "/events/{id}", Viewer, AnyScope, &none),
        ("post", "/events/{id}/replay", Operator, AnyScope, &none),
        ("get", "/subscriptions", Viewer, AnyScope, &none),
        ("post", "/subscriptions", Operator, AnyScope, &subscription()),
        ("get", "/subscriptions/{id}", Viewer, AnyScope, &none),
        ("put", "/subscriptions/{id}", Operator, AnyScope, &subscription()),
        ("delete", "/subscriptions/{id}", Operator, AnyScope, &none),
        ("post", "/subscriptions/{id}/pause", Operator, AnyScope, &none),
        ("post", "/subscriptions/{id}/resume", Operator, AnyScope, &none),
        ("post", "/subscriptions/{id}/test", Operator, AnyScope, &none),
        ("get", "/dispatch-pools", Viewer, AnyScope, &none),
        ("post", "/dispatch-pools", Operator, AnyScope, &pool),
        ("get", "/dispatch-pools/{id}", Viewer, AnyScope, &none),
        ("put", "/dispatch-pools/{id}", Operator, AnyScope, &json!({"name": "P"})),
        ("delete", "/dispatch-pools/{id}", Operator, AnyScope, &none),
        ("post", "/dispatch-pools/{id}/pause", Operator, AnyScope, &none),
        ("post", "/dispatch-pools/{id}/resume", Operator, AnyScope, &none),
        ("get", "/service-accounts", Operator, AnyScope, &none),
        ("post", "/service-accounts", Admin, AnyScope, &account),
        ("get", "/service-accounts/{id}", Operator, AnyScope, &none),
        ("put", "/service-accounts/{id}", Admin, AnyScope, &json!({"name": "A"})),
        ("post", "/service-accounts/{id}/regenerate-credentials", Admin, AnyScope, &none),
        ("post", "/service-accounts/{id}/activate", Admin, AnyScope, &none),
        ("post", "/service-accounts/{id}/deactivate", Admin, AnyScope, &none),
        ("get", "/schemas", Viewer, AllClients, &none),
        ("get", "/schemas/{id}", Viewer, AllClients, &none),
        ("put", "/schemas/{id}", Operator, AllClients, &json!({"schema": {}})),
        ("delete", "/schemas/{id}", Operator, AllClients, &none),
        ("get", "/api-keys", Admin, AnyScope, &none),
        ("post", "/api-keys", Admin, AnyScope, &json!({"name": "n", "role": "viewer"})),
        ("post", "/api-keys/{id}/revoke", Admin, AnyScope, &none),
        ("get", "/audit-log", Admin, AnyScope, &none),
        ("post", "/emails", Producer, AllClients, &json!({"to": ["ann@example.net"]})),
        ("get", "/overview", Viewer, AllClients, &none),
        ("get", "/overview/stream", Viewer, AllClients, &none),
        ("get", "/check", Viewer, AllClients, &none),
        ("get", "/lanes", Viewer, AllClients, &none),
        ("get", "/lanes/{id}", Viewer, AllClients, &none),
        ("post", "/lanes/{id}/pause", Operator, AllClients, &none),
        ("post", "/lanes/{id}/resume", Operator, AllClients, &none),
        ("get", "/lanes/{id}/rows", Viewer, AllButProducers, &none),
        ("get", "/lanes/{id}/rows/{row}", Viewer, AllButProducers, &none),
        ("get", "/lanes/{id}/rows/{row}/mail.html", Viewer, AllButProducers, &none),
        ("get", "/lanes/{id}/rows/{row}/mail.eml", Viewer, AllButProducers, &none),
        ("post", "/lanes/{id}/requeue", Operator, AllClients, &rows),
        ("post", "/lanes/{id}/cancel", Operator, AllClients, &rows),
        ("post", "/lanes/{id}/release", Operator, AllClients, &rows),
    ];
    let all =
        all.map(|(method, path, role, of, body)| Operation { method, path, role, of, body: body.clone() });
    let mut listed: Vec<String> = all.iter().map(|op| format!("{} {}", op.method, op.path)).collect();
    listed.sort();
    assert_eq!(listed, documented(), "every operation of the document is in the list, and no other");
    all.into()
}

/// Returns method and path of every operation that a viewer may not call and that changes something.
pub fn changes_of_others() -> impl Iterator<Item = (String, String)> {
    let changes = operations()
        .into_iter()
        .filter(|operation| operation.method != "get" && operation.role > Role::Viewer);
    changes.map(|operation| {
        let path = operation.path.replace("{id}", UNKNOWN).replace("{row}", UNKNOWN);
        (operation.method.to_uppercase(), path)
    })
}

/// Returns every operation of the document as `get /events/{id}`, sorted.
pub fn documented() -> Vec<String> {
    let document = serde_json::to_value(document()).expect("JSON");
    let paths = document["paths"].as_object().expect("paths").iter();
    let all = paths.flat_map(|(path, item)| {
        item.as_object().expect("methods").keys().map(move |method| format!("{method} {path}"))
    });
    let mut all: Vec<String> = all.collect();
    all.sort();
    all
}

/// Sends one request; `Null` means no body. A stream is not read: its head is sufficient.
pub async fn ask(api: &TestApi, key: Option<&str>, method: &str, path: &str, body: &Value) -> Answer {
    let mut request = Request::builder().method(method.to_uppercase().as_str()).uri(format!("/api/v1{path}"));
    if let Some(key) = key {
        request = request.header("authorization", format!("Bearer {key}"));
    }
    let content = match body {
        Value::Null => Body::empty(),
        body => {
            request = request.header("content-type", "application/json");
            Body::from(body.to_string())
        }
    };
    let request = request.body(content).expect("a request");
    if path.ends_with("/stream") {
        let answer = api.answer(request).await;
        return Answer { status: answer.status(), headers: answer.headers().clone(), bytes: Vec::new() };
    }
    api.ask(request).await
}

async fn every_operation_needs_its_role_and_scope(fixture: &Fixture) {
    let api = TestApi::new(fixture);
    let mut keys = Vec::new();
    for role in ROLES {
        keys.push((role, false, fixture.key(role, &[]).await.0));
        keys.push((role, true, fixture.key(role, &["acme"]).await.0));
    }
    for op in operations() {
        let path = op.path.replace("{id}", UNKNOWN).replace("{row}", UNKNOWN);
        let what = format!("{} {path}", op.method);
        let stranger = ask(&api, None, op.method, &path, &op.body).await;
        assert_eq!(stranger.status, 401, "{what}");
        assert_eq!(stranger.headers["www-authenticate"], "Bearer", "{what}");
        for (role, scoped, key) in &keys {
            let may = *role >= op.role
                && !(*scoped && op.of != For::AnyScope)
                && !(*role == Role::Producer && op.of == For::AllButProducers);
            let answer = ask(&api, Some(key), op.method, &path, &op.body).await;
            let text = format!("{what} as {role:?}, scoped {scoped}: {} {}", answer.status, answer.json());
            assert_eq!(answer.status != StatusCode::FORBIDDEN, may, "{text}");
            assert!(answer.status.as_u16() != 401 && answer.status.as_u16() < 500, "{text}");
            if !may {
                assert_eq!(answer.headers["content-type"], "application/problem+json", "{text}");
            }
        }
    }
}

type Seen = (StatusCode, HeaderMap, Vec<u8>);

async fn seen(api: &TestApi, key: &str, method: &str, path: &str, body: &Value) -> Seen {
    let answer = ask(api, Some(key), method, path, body).await;
    (answer.status, answer.headers, answer.bytes)
}

/// Creates one object of each kind for client acme; returns path and id.
async fn things(api: &TestApi, acme: &str) -> Vec<(&'static str, String)> {
    let made = [
        ("/dispatch-jobs", job(&json!({}))),
        ("/events", event("1")),
        ("/subscriptions", subscription()),
        ("/dispatch-pools", json!({"code": "p", "name": "P"})),
        ("/service-accounts", json!({"code": "acme.a", "name": "A", "allowedHosts": ["*"]})),
        ("/api-keys", json!({"name": "n", "role": "viewer"})),
    ];
    let mut things = Vec::new();
    for (path, body) in made {
        let id = api.post(acme, path, &body).await.expect(201)["id"].as_str().expect("an id").to_owned();
        things.push((path, id));
    }
    things
}

async fn no_operation_distinguishes_foreign_and_unknown_ids(fixture: &Fixture) {
    let api = TestApi::new(fixture);
    let (acme, _) = fixture.key(Role::Admin, &["acme"]).await;
    let things = things(&api, &acme).await;
    let lines = fixture.count("postrider_audit").await;
    let mut walked = 0;
    for role in ROLES {
        let (other, _) = fixture.key(role, &["other"]).await;
        for op in operations().iter().filter(|op| op.path.contains("{id}") && op.of == For::AnyScope) {
            let place = op.path.split("/{id}").next().expect("a place");
            let (_, id) = things.iter().find(|(path, _)| *path == place).expect("a thing of that kind");
            let answer =
                async |id: &str| seen(&api, &other, op.method, &op.path.replace("{id}", id), &op.body).await;
            let foreign = answer(id).await;
            assert_eq!(
                foreign.0.as_u16(),
                if role >= op.role { 404 } else { 403 },
                "{} {}",
                op.method,
                op.path
            );
            for unknown in [UNKNOWN, "ZZZZZZZZZZZZZ", "no-id", "%E2%82%AC"] {
                assert_eq!(answer(unknown).await, foreign, "{role:?} {} {} {unknown}", op.method, op.path);
            }
            walked += 1;
        }
        for (path, _) in things.iter().filter(|(path, _)| role >= Role::Admin || *path != "/api-keys") {
            let list = ask(&api, Some(&other), "get", path, &Value::Null).await;
            assert!(
                list.status == 403 || list.json()["items"] == json!([]) || *path == "/api-keys",
                "{path}"
            );
            assert!(!things.iter().any(|(_, id)| list.json().to_string().contains(id)), "{path}");
        }
    }
    assert!(walked >= 4 * 20, "{walked}");
    assert_eq!(
        fixture.count("postrider_audit").await,
        lines + 4,
        "four keys were made, and nothing was changed"
    );
}

async fn no_reference_distinguishes_foreign_and_unknown_ids(fixture: &Fixture) {
    let api = TestApi::new(fixture);
    let (acme, _) = fixture.key(Role::Admin, &["acme"]).await;
    let (other, _) = fixture.key(Role::Admin, &["other"]).await;
    let things = things(&api, &acme).await;
    let id = |path: &str| things.iter().find(|(known, _)| *known == path).expect("a thing").1.clone();
    let own = api.post(&other, "/events", &event("2")).await.expect(201);
    let replay = format!("/events/{}/replay", own["id"].as_str().expect("an id"));
    for (field, foreign) in
        [("serviceAccountId", id("/service-accounts")), ("dispatchPoolId", id("/dispatch-pools"))]
    {
        for (path, body) in [("/dispatch-jobs", job(&json!({}))), ("/subscriptions", subscription())] {
            let of = |id: &str| {
                let mut body = body.clone();
                body[field] = json!(id);
                body
            };
            let foreign = seen(&api, &other, "post", path, &of(&foreign)).await;
            assert_eq!(foreign.0, 422, "{path} {field}");
            assert_eq!(seen(&api, &other, "post", path, &of(UNKNOWN)).await, foreign, "{path} {field}");
        }
    }
    let subscription = id("/subscriptions");
    for (path, foreign, unknown) in [
        (replay.as_str(), json!({"subscriptionId": subscription}), json!({"subscriptionId": UNKNOWN})),
        ("/dispatch-jobs/retry", json!({"subscriptionId": subscription}), json!({"subscriptionId": UNKNOWN})),
        ("/dispatch-jobs/retry", json!({"clientId": "acme"}), json!({"clientId": "nobody"})),
        (
            "/dispatch-pools",
            json!({"code": "q", "name": "Q", "clientId": "acme"}),
            json!({"code": "q", "name": "Q", "clientId": "nobody"}),
        ),
        (
            "/api-keys",
            json!({"name": "n", "role": "viewer", "clientIds": ["acme"]}),
            json!({"name": "n", "role": "viewer", "clientIds": ["nobody"]}),
        ),
    ] {
        let foreign = seen(&api, &other, "post", path, &foreign).await;
        assert_eq!(seen(&api, &other, "post", path, &unknown).await, foreign, "{path}");
    }
    for (query, foreign, unknown) in [
        ("/dispatch-jobs?eventId=", id("/events"), UNKNOWN),
        ("/dispatch-jobs?subscriptionId=", subscription, UNKNOWN),
        ("/dispatch-jobs?clientId=", "acme".to_owned(), "nobody"),
        ("/events?clientId=", "acme".to_owned(), "nobody"),
        ("/service-accounts?code=", "a".to_owned(), "b"),
        ("/audit-log?entityId=", id("/dispatch-jobs"), UNKNOWN),
    ] {
        let foreign = seen(&api, &other, "get", &format!("{query}{foreign}"), &Value::Null).await;
        assert_eq!(foreign.0, 200, "{query}");
        let unknown = seen(&api, &other, "get", &format!("{query}{unknown}"), &Value::Null).await;
        assert_eq!(unknown, foreign, "{query}");
    }
}
