//! Tests of limits: guessing of keys, streams of one key, and internal addresses in errors.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::Request;
use postrider_hub::access::Role;
use postrider_server::api::Limits;
use postrider_server::{Api, Listener, MetricsAccess, MetricsRecorder};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::fixture::{self, Fixture, on_every_database};
use crate::operations::changes_of_others;
use crate::routes::job;
use crate::test_api::{Lanes, TestApi};

on_every_database!(
    wrong_keys_are_limited_and_a_valid_key_is_always_accepted,
    only_operators_see_resolved_addresses
);

async fn wrong_keys_are_limited_and_a_valid_key_is_always_accepted(fixture: &Fixture) {
    let api = TestApi::new(fixture);
    let (key, _) = fixture.key(Role::Admin, &[]).await;
    let ask = async |address: [u8; 4], key: &str, method: &str| {
        let request = Request::builder().method(method).uri("/api/v1/dispatch-jobs");
        let request = request.header("authorization", format!("Bearer {key}"));
        let request = request.extension(ConnectInfo(SocketAddr::from((address, 1234))));
        api.ask(request.body(Body::empty()).expect("a request")).await.status.as_u16()
    };
    let forged = format!("{}{}", &key[..key.len() - 2], if key.ends_with("AA") { "BB" } else { "AA" });
    for guess in 0..10 {
        let method = if guess % 2 == 0 { "GET" } else { "POST" };
        assert_eq!(ask([192, 0, 2, 1], &forged, method).await, 401);
        assert_eq!(ask([192, 0, 2, 1], &key, "GET").await, 200, "a right key is not counted");
    }
    assert_eq!(ask([192, 0, 2, 1], &forged, "GET").await, 429);
    assert_eq!(ask([192, 0, 2, 1], &key, "GET").await, 200, "a right key always opens");
    let (other, _) = fixture.key(Role::Viewer, &[]).await;
    assert_eq!(ask([192, 0, 2, 1], &other, "GET").await, 200, "one that was not seen before, too");
    assert_eq!(ask([192, 0, 2, 2], &forged, "GET").await, 401, "another address has its own count");
}

async fn only_operators_see_resolved_addresses(fixture: &Fixture) {
    let api = TestApi::new(fixture);
    let (producer, _) = fixture.key(Role::Producer, &[]).await;
    let (operator, _) = fixture.key(Role::Operator, &[]).await;
    let inside = job(&json!({"targetUrl": "https://inside.example/"}));
    let text = async |key: &str| {
        let answer = api.post(key, "/dispatch-jobs", &inside).await.expect(422);
        answer["errors"][0]["message"].as_str().expect("a message").to_owned()
    };
    assert_eq!(text(&producer).await, "is not an allowed target");
    assert!(text(&operator).await.contains("inside.example resolves to"));
    let id = api.post(&producer, "/dispatch-jobs", &job(&json!({}))).await.expect(201)["id"].clone();
    fixture
        .run("UPDATE dispatch_jobs SET status = 'ERROR', last_error = 'a.example is 10.0.0.7, not allowed'")
        .await;
    let path = format!("/dispatch-jobs/{}", id.as_str().expect("an id"));
    for (key, shown) in [
        (&producer, "a.example is (address hidden), not allowed"),
        (&operator, "a.example is 10.0.0.7, not allowed"),
    ] {
        assert_eq!(api.get(key, &path).await.expect(200)["lastError"], shown);
        assert_eq!(api.get(key, "/dispatch-jobs").await.expect(200)["items"][0]["lastError"], shown);
    }
}

/// Returns a request whose body never arrives.
fn endless(key: &str, method: &str, path: &str) -> Request<Body> {
    let request = Request::builder().method(method).uri(format!("/api/v1{path}"));
    let request =
        request.header("authorization", format!("Bearer {key}")).header("content-type", "application/json");
    let body = Body::from_stream(futures::stream::pending::<Result<Vec<u8>, std::io::Error>>());
    request.body(body).expect("a request")
}

#[tokio::test(flavor = "multi_thread")]
async fn the_role_is_checked_before_the_body_is_read() {
    fixture::sqlite(|fixture| async move {
        let api = TestApi::new(&fixture);
        let (viewer, _) = fixture.key(Role::Viewer, &[]).await;
        let changes: Vec<(String, String)> = changes_of_others().collect();
        assert!(changes.len() > 20, "{changes:?}");
        for (method, path) in changes {
            let asked = api.ask(endless(&viewer, &method, &path));
            let answer = tokio::time::timeout(std::time::Duration::from_secs(5), asked).await;
            assert_eq!(answer.expect("an answer at once").status, 403, "{method} {path}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_key_cannot_use_all_streams() {
    fixture::sqlite(|fixture| async move {
        let api = TestApi::new(&fixture);
        let (greedy, _) = fixture.key(Role::Viewer, &[]).await;
        let (other, _) = fixture.key(Role::Viewer, &[]).await;
        let open = async |key: &str| {
            let request =
                Request::get("/api/v1/overview/stream").header("authorization", format!("Bearer {key}"));
            api.answer(request.body(Body::empty()).expect("a request")).await
        };
        let mut held = Vec::new();
        for _ in 0..20 {
            held.push(open(&greedy).await);
            assert_eq!(held.last().expect("a stream").status(), 200);
        }
        assert_eq!(open(&greedy).await.status(), 429);
        assert_eq!(open(&other).await.status(), 200);
        held.pop();
        assert_eq!(open(&greedy).await.status(), 200, "a stream that ended makes room");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn readiness_waits_for_the_api() {
    fixture::sqlite(|fixture| async move {
        let listener = Listener::bind(([127, 0, 0, 1], 0).into()).await.expect("a port");
        let address = listener.address();
        let api = Api::new(Arc::new(Lanes::default()), Limits::default());
        let recorder = MetricsRecorder::install().expect("no other test of this binary installs them");
        let lanes = Arc::new(Vec::new);
        tokio::spawn(listener.serve(
            lanes,
            recorder,
            Some(api.clone()),
            MetricsAccess::Open,
            std::future::pending(),
        ));
        let ready = async || {
            let mut stream = tokio::net::TcpStream::connect(address).await.expect("it listens");
            stream
                .write_all(b"GET /readyz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
                .await
                .expect("sent");
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await.expect("an answer");
            answer
        };
        let before = ready().await;
        assert!(
            before.starts_with("HTTP/1.1 503") && before.contains("the API waits for its database"),
            "{before}"
        );
        api.open(Arc::clone(&fixture.hub));
        let after = ready().await;
        assert!(after.starts_with("HTTP/1.1 200"), "{after}");
    })
    .await;
}
