//! Tests that the caller's trace is stored with every job that its request creates, so that the delivery continues it.

use axum::body::Body;
use axum::http::Request;
use postrider_hub::access::Role;
use serde_json::{Value, json};

use crate::fixture::{Fixture, on_every_database};
use crate::operations::{event, subscription};
use crate::routes::job;
use crate::test_api::{Answer, TestApi};

on_every_database!(a_trace_goes_from_the_request_to_every_job_that_it_creates);

const HEADER: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const OWN: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";

async fn send(api: &TestApi, key: &str, path: &str, kind: &str, trace: &str, body: &Value) -> Answer {
    let request = Request::post(format!("/api/v1{path}"))
        .header("authorization", format!("Bearer {key}"))
        .header("content-type", kind)
        .header("traceparent", trace);
    api.ask(request.body(Body::from(body.to_string())).expect("a request")).await
}

async fn a_trace_goes_from_the_request_to_every_job_that_it_creates(fixture: &Fixture) {
    let api = TestApi::new(fixture);
    let (key, _) = fixture.key(Role::Admin, &[]).await;
    let trace = async |id: &Value| {
        let id = id.as_str().expect("a job");
        fixture.text(&format!("SELECT traceparent FROM dispatch_jobs WHERE id = '{id}'")).await
    };
    let one = send(&api, &key, "/dispatch-jobs", "application/json", HEADER, &job(&json!({}))).await;
    assert_eq!(trace(&one.expect(201)["id"]).await.as_deref(), Some(HEADER));
    let many = json!({"jobs": [job(&json!({})), job(&json!({}))]});
    let many = send(&api, &key, "/dispatch-jobs/batch", "application/json", HEADER, &many).await.expect(200);
    assert_eq!(trace(&many["results"][1]["id"]).await.as_deref(), Some(HEADER));
    let wrong = send(&api, &key, "/dispatch-jobs", "application/json", "00-x", &job(&json!({}))).await;
    assert_eq!(trace(&wrong.expect(201)["id"]).await, None);

    api.post(&key, "/subscriptions", &subscription()).await.expect(201);
    let whole = "application/cloudevents+json";
    let made = send(&api, &key, "/events", whole, HEADER, &event("1")).await.expect(201);
    assert_eq!(trace(&made["jobIds"][0]).await.as_deref(), Some(HEADER));
    let id = made["id"].as_str().expect("an id");
    let again = api.act(&key, &format!("/events/{id}/replay")).await.expect(200);
    assert_eq!(trace(&again["jobIds"][0]).await.as_deref(), Some(HEADER), "a replay goes on with it");
    let mut own = event("2");
    own["traceparent"] = json!(OWN);
    let made = send(&api, &key, "/events", whole, HEADER, &own).await.expect(201);
    assert_eq!(
        trace(&made["jobIds"][0]).await.as_deref(),
        Some(OWN),
        "the event's own is nearer to its cause"
    );
    let list = "application/cloudevents-batch+json";
    for (path, ids) in [("/events/batch", ["3", "4"]), ("/events", ["5", "6"])] {
        let mut own = event(ids[1]);
        own["traceparent"] = json!(OWN);
        let made = send(&api, &key, path, list, HEADER, &json!([event(ids[0]), own])).await.expect(200);
        for (index, wanted) in [HEADER, OWN].into_iter().enumerate() {
            let job = &made["results"][index]["event"]["jobIds"][0];
            assert_eq!(trace(job).await.as_deref(), Some(wanted), "{path} {index}");
        }
    }
    let request = Request::post("/api/v1/events")
        .header("authorization", format!("Bearer {key}"))
        .header("content-type", "application/json")
        .header("ce-specversion", "1.0")
        .header("ce-id", "7")
        .header("ce-source", "/s")
        .header("ce-type", "a:b:c:d")
        .header("ce-traceparent", OWN)
        .header("traceparent", HEADER)
        .body(Body::from("{}"));
    let made = api.ask(request.expect("a request")).await.expect(201);
    assert_eq!(trace(&made["jobIds"][0]).await.as_deref(), Some(OWN), "binary mode has it, too");
    let email = json!({"to": ["ann@example.net"]});
    send(&api, &key, "/emails", "application/json", HEADER, &email).await.expect(202);
    assert_eq!(*api.intake.0.lock().unwrap(), [Some(HEADER.to_owned())], "e-mails have it, too");
}
