//! Tests of the overview and its permissions.

use axum::body::Body;
use axum::http::{Request, header};
use http_body_util::BodyExt as _;
use postrider_hub::access::Role;
use serde_json::json;

use crate::fixture::{Fixture, on_every_database};
use crate::routes::job;
use crate::test_api::TestApi;

on_every_database!(
    the_overview_counts_rows_by_state_and_reports_failures,
    the_stream_sends_at_once_and_ends_with_its_key,
);

async fn the_overview_counts_rows_by_state_and_reports_failures(fixture: &Fixture) {
    let api = TestApi::new(fixture);
    let (key, _) = fixture.key(Role::Admin, &[]).await;
    for _ in 0..3 {
        api.post(&key, "/dispatch-jobs", &job(&json!({}))).await.expect(201);
    }
    fixture.run(
        "UPDATE dispatch_jobs SET status = 'ERROR', next_attempt_at = NULL, last_error = '410 gone' WHERE id = \
         (SELECT id FROM (SELECT min(id) AS id FROM dispatch_jobs) AS first)",
    )
    .await;
    let (viewer, _) = fixture.key(Role::Viewer, &[]).await;
    let seen = api.get(&viewer, "/overview").await.expect(200);
    let lane = &seen["lanes"][0];
    assert_eq!((&lane["name"], &lane["health"]), (&json!("dispatch_jobs"), &json!("running")));
    assert_eq!(lane["backlog"], json!({"rows": 2, "more": false}));
    assert_eq!(lane["store"], json!({"name": "main", "state": "ok", "reason": null}));
    let dead = lane["states"].as_array().expect("states").iter().find(|state| state["state"] == "DEAD");
    assert_eq!(dead.expect("the state")["rows"], 1);
    let text = seen["attention"][0]["text"].as_str().expect("a sentence");
    assert!(text.starts_with("1 row ") && text.contains("410 gone"), "{text}");
    let (scoped, _) = fixture.key(Role::Admin, &["acme"]).await;
    api.get(&scoped, "/overview").await.expect(403);
    api.get(&scoped, "/overview/stream").await.expect(403);
}

async fn the_stream_sends_at_once_and_ends_with_its_key(fixture: &Fixture) {
    let api = TestApi::new(fixture);
    let (key, _) = fixture.key(Role::Viewer, &[]).await;
    let request = Request::get("/api/v1/overview/stream").header("authorization", format!("Bearer {key}"));
    let answer = api.answer(request.body(Body::empty()).expect("a request")).await;
    assert_eq!(answer.headers()[header::CONTENT_TYPE], "text/event-stream");
    let mut body = answer.into_body();
    let first = body.frame().await.expect("a frame").expect("no error").into_data().expect("data");
    let text = String::from_utf8(first.to_vec()).expect("text");
    assert!(text.starts_with("event: overview\ndata: {\"at\":"), "{text}");
    fixture.run("UPDATE postrider_api_keys SET revoked_at = created_at").await;
    // The stream checks its key every ten seconds and then ends.
    while body.frame().await.is_some() {}
}
