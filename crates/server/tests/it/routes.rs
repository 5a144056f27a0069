//! Tests of each route, from creating to retrying, on every database.

use axum::body::Body;
use axum::http::Request;
use postrider_hub::access::Role;
use serde_json::{Value, json};

use crate::fixture::{Fixture, on_every_database};
use crate::test_api::TestApi;

on_every_database!(
    a_job_is_created_found_and_moved,
    events_subscriptions_pools_and_accounts,
    j13_repeated_posts_create_one_object,
    j13_repeated_keys_replays_and_tests_are_created_once,
    j17_subscriptions_and_pools_are_deleted_when_no_job_waits,
    lanes_keys_schemas_and_the_log
);

pub fn job(with: &Value) -> Value {
    let mut job = json!({"code": "a:b:c:d", "targetUrl": "https://example.com/hook", "payload": "{\"a\":1}"});
    job.as_object_mut().expect("an object").extend(with.as_object().expect("an object").clone());
    job
}

async fn a_job_is_created_found_and_moved(fixture: &Fixture) {
    let api = TestApi::new(fixture);
    let (key, _) = fixture.key(Role::Operator, &[]).await;
    let made =
        api.post(&key, "/dispatch-jobs", &job(&json!({"idempotencyKey": "k", "clientId": "acme"}))).await;
    let place = made.headers["location"].to_str().expect("a place").to_owned();
    let made = made.expect(201);
    let id = made["id"].as_str().expect("an id");
    assert_eq!(place, format!("/api/v1/dispatch-jobs/{id}"));
    assert_eq!(made["status"], "QUEUED");
    let again =
        api.post(&key, "/dispatch-jobs", &job(&json!({"idempotencyKey": "k", "clientId": "acme"}))).await;
    assert_eq!(again.expect(200)["id"], id);
    let other = job(&json!({"idempotencyKey": "k", "clientId": "acme", "code": "x"}));
    api.post(&key, "/dispatch-jobs", &other).await.problem(409, "idempotencyKey");
    assert_eq!(api.get(&key, &format!("/dispatch-jobs/{id}")).await.expect(200)["payload"], "{\"a\":1}");
    let list = api.get(&key, "/dispatch-jobs?clientId=acme&status=QUEUED&limit=1").await.expect(200);
    assert_eq!(list["items"][0]["id"], id);
    assert!(list["items"][0].get("attempts").is_none() && list["nextCursor"].is_null());
    fixture.run("UPDATE dispatch_jobs SET status = 'ERROR', attempt_count = 3").await;
    let retried = api.act(&key, &format!("/dispatch-jobs/{id}/retry")).await.expect(200);
    assert_eq!((&retried["maxRetries"], &retried["status"]), (&json!(6), &json!("ERROR")));
    fixture.run("UPDATE dispatch_jobs SET next_attempt_at = NULL").await;
    assert_eq!(api.act(&key, "/dispatch-jobs/retry").await.expect(200), json!({"retried": 1, "more": false}));
    assert_eq!(
        api.act(&key, &format!("/dispatch-jobs/{id}/complete")).await.expect(200)["status"],
        "COMPLETED"
    );
    api.act(&key, &format!("/dispatch-jobs/{id}/cancel")).await.problem(409, "status");
    let header = Request::post("/api/v1/dispatch-jobs")
        .header("authorization", format!("bearer {key}"))
        .header("content-type", "application/json; charset=utf-8")
        .header("idempotency-key", "from-the-header")
        .body(Body::from(job(&json!({})).to_string()))
        .expect("a request");
    assert_eq!(api.ask(header).await.expect(201)["idempotencyKey"], "from-the-header");
    let batch =
        json!({"jobs": [job(&json!({})), job(&json!({"targetUrl": "https://10.0.0.1/"})), job(&json!({}))]});
    let results = api.post(&key, "/dispatch-jobs/batch", &batch).await.expect(200);
    let statuses: Vec<&Value> = (0..3).map(|index| &results["results"][index]["status"]).collect();
    assert_eq!(statuses, [201, 422, 201]);
    assert_eq!(results["results"][1]["problem"]["errors"][0]["field"], "targetUrl");
    assert_eq!(fixture.count("dispatch_jobs").await, 4);
}

async fn events_subscriptions_pools_and_accounts(fixture: &Fixture) {
    let api = TestApi::new(fixture);
    let (key, _) = fixture.key(Role::Admin, &[]).await;
    let pool = json!({"code": "slow", "name": "Slow", "concurrency": 2, "ratePerMinute": 60});
    let pool = api.post(&key, "/dispatch-pools", &pool).await.expect(201);
    let pool = pool["id"].as_str().expect("an id").to_owned();
    let changed = json!({"name": "Slower", "concurrency": 1});
    let changed = api.send("PUT", &key, &format!("/dispatch-pools/{pool}"), &changed).await.expect(200);
    assert_eq!((&changed["concurrency"], &changed["ratePerMinute"]), (&json!(1), &Value::Null));
    assert_eq!(api.act(&key, &format!("/dispatch-pools/{pool}/pause")).await.expect(200)["paused"], true);
    assert_eq!(api.act(&key, &format!("/dispatch-pools/{pool}/resume")).await.expect(200)["paused"], false);
    let account = api
        .post(&key, "/service-accounts", &json!({"code": "acc", "name": "Acc", "allowedHosts": ["*"]}))
        .await
        .expect(201);
    assert!(account["signingSecret"].as_str().expect("a secret").starts_with("whsec_"));
    let account = account["id"].as_str().expect("an id").to_owned();
    let shown = api.get(&key, &format!("/service-accounts/{account}")).await.expect(200);
    assert!(shown.get("signingSecret").is_none());
    let again =
        api.act(&key, &format!("/service-accounts/{account}/regenerate-credentials")).await.expect(200);
    assert!(again["signingSecret"].is_string() && again["webhookCredentials"]["regeneratedAt"].is_string());
    let subscription = json!({"code": "s", "name": "S", "eventCode": "a:b:*:d", "targetUrl": "https://example.com/",
        "serviceAccountId": account, "dispatchPoolId": pool});
    let subscription = api.post(&key, "/subscriptions", &subscription).await.expect(201);
    let event = json!({"specversion": "1.0", "id": "1", "source": "/s", "type": "a:b:c:d", "data": {"x": 1}});
    let made = api.post(&key, "/events", &event).await.expect(201);
    let id = made["jobIds"][0].as_str().expect("a job");
    let job = api.get(&key, &format!("/dispatch-jobs/{id}")).await.expect(200);
    for (field, value) in [("serviceAccountId", &account), ("dispatchPoolId", &pool)] {
        assert_eq!(job[field], json!(value));
    }
    assert_eq!(job["subscriptionId"], subscription["id"]);
    assert_eq!(api.post(&key, "/events", &event).await.expect(200)["known"], true);
    let batch = api.post(&key, "/events/batch", &json!([event, {"specversion": "1.0"}])).await.expect(200);
    assert_eq!((&batch["results"][0]["status"], &batch["results"][1]["status"]), (&json!(200), &json!(422)));
    let event = made["id"].as_str().expect("an id");
    assert_eq!(
        api.act(&key, &format!("/events/{event}/replay")).await.expect(200)["jobIds"]
            .as_array()
            .map(Vec::len),
        Some(1)
    );
    assert_eq!(api.get(&key, "/events?code=a:b:c:d").await.expect(200)["items"][0]["data"], "{\"x\":1}");
    binary_events(&api, &key).await;
    api.act(&key, &format!("/service-accounts/{account}/deactivate")).await.expect(200);
    let refused = self::job(&json!({"serviceAccountId": account}));
    api.post(&key, "/dispatch-jobs", &refused).await.problem(422, "serviceAccountId");
}

async fn j13_repeated_posts_create_one_object(fixture: &Fixture) {
    let api = TestApi::new(fixture);
    let (key, _) = fixture.key(Role::Admin, &[]).await;
    let made = [
        ("/dispatch-pools", json!({"code": "p", "name": "P"}), "dispatch_pools"),
        (
            "/subscriptions",
            json!({"code": "s", "name": "S", "eventCode": "a:b:c:d", "targetUrl": "https://example.com/"}),
            "dispatch_subscriptions",
        ),
        (
            "/service-accounts",
            json!({"code": "acc", "name": "Acc", "allowedHosts": ["*"]}),
            "service_accounts",
        ),
        (
            "/events",
            json!({"specversion": "1.0", "id": "1", "source": "/s", "type": "a:b:x:d"}),
            "dispatch_events",
        ),
    ];
    for (path, body, table) in &made {
        let first = api.post_once(&key, path, "k-1", body).await.expect(201);
        let second = api.post_once(&key, path, "k-1", body).await.expect(200);
        assert_eq!(first["id"], second["id"], "{path}");
        assert!(second.get("signingSecret").is_none(), "a secret is shown once");
        let mut another = body.clone();
        for (field, value) in [("name", "Another"), ("code", "another"), ("id", "2")] {
            if another.get(field).is_some() {
                another[field] = json!(value);
            }
        }
        api.post_once(&key, path, "k-1", &another).await.problem(409, "Idempotency-Key");
        api.post_once(&key, path, "a b", body).await.problem(422, "Idempotency-Key");
        assert_eq!(fixture.count(table).await, 1, "{path}");
    }
    let batch = json!([{"specversion": "1.0", "id": "3", "source": "/s", "type": "a:b:x:d"}]);
    api.post_once(&key, "/events/batch", "k-1", &batch).await.expect(200);
    api.post_once(&key, "/events/batch", "k-1", &batch).await.expect(200);
    api.post_once(&key, "/events/batch", "k-1", &json!([{"id": "4"}])).await.problem(409, "Idempotency-Key");
    assert_eq!(fixture.count("dispatch_events").await, 2);
    let jobs = json!({"jobs": [job(&json!({})), job(&json!({}))]});
    let first = api.post_once(&key, "/dispatch-jobs/batch", "k-1", &jobs).await.expect(200);
    let second = api.post_once(&key, "/dispatch-jobs/batch", "k-1", &jobs).await.expect(200);
    assert_eq!(first["results"][1]["id"], second["results"][1]["id"]);
    assert_eq!(second["results"][1]["status"], 200);
    assert_eq!(fixture.count("dispatch_jobs").await, 2);
}

async fn j13_repeated_keys_replays_and_tests_are_created_once(fixture: &Fixture) {
    let api = TestApi::new(fixture);
    let (key, _) = fixture.key(Role::Admin, &[]).await;
    let new = json!({"name": "shop", "role": "producer"});
    let first = api.post_once(&key, "/api-keys", "k", &new).await.expect(201);
    let again = api.post_once(&key, "/api-keys", "k", &new).await.expect(200);
    assert!(first["key"].is_string() && again.get("key").is_none(), "a key is shown once: {again}");
    assert_eq!(first["id"], again["id"]);
    let other = json!({"name": "shop", "role": "admin"});
    api.post_once(&key, "/api-keys", "k", &other).await.problem(409, "Idempotency-Key");
    let together = (0..6).map(|_| api.post_once(&key, "/api-keys", "race", &new));
    let together = futures::future::join_all(together).await;
    let made: std::collections::BTreeSet<String> =
        together.into_iter().map(|answer| answer.json()["id"].to_string()).collect();
    assert_eq!((made.len(), fixture.count("postrider_api_keys").await), (1, 3), "{made:?}");

    let subscription =
        json!({"code": "s", "name": "S", "eventCode": "a:b:c:d", "targetUrl": "https://example.com/"});
    let made = api.post(&key, "/subscriptions", &subscription).await.expect(201);
    let event = json!({"specversion": "1.0", "id": "1", "source": "/s", "type": "a:b:c:d"});
    let event = api.post(&key, "/events", &event).await.expect(201);
    let replay = format!("/events/{}/replay", event["id"].as_str().expect("an id"));
    let test = format!("/subscriptions/{}/test", made["id"].as_str().expect("an id"));
    for (jobs, path) in [(2, &replay), (3, &test)] {
        let first = api.post_once(&key, path, "k", &json!({})).await.expect(200);
        assert_eq!(first["jobIds"].as_array().map(Vec::len), Some(1), "{path}");
        assert_eq!(api.post_once(&key, path, "k", &json!({})).await.expect(200), first, "{path}");
        assert_eq!(fixture.count("dispatch_jobs").await, jobs, "{path}");
    }
    let only = json!({"subscriptionId": made["id"]});
    api.post_once(&key, &replay, "k", &only).await.problem(409, "Idempotency-Key");
    let second = api.post_once(&key, &replay, "another", &only).await.expect(200);
    assert_eq!(second["jobIds"].as_array().map(Vec::len), Some(1));
    api.act(&key, &replay).await.expect(200);
    assert_eq!(fixture.count("dispatch_jobs").await, 5, "another key, and none: made anew");
}

async fn j17_subscriptions_and_pools_are_deleted_when_no_job_waits(fixture: &Fixture) {
    let api = TestApi::new(fixture);
    let (key, _) = fixture.key(Role::Operator, &[]).await;
    let (viewer, _) = fixture.key(Role::Viewer, &[]).await;
    let pool = api.post(&key, "/dispatch-pools", &json!({"code": "p", "name": "P"})).await.expect(201);
    let pool = format!("/dispatch-pools/{}", pool["id"].as_str().expect("an id"));
    let subscription = json!({"code": "s", "name": "S", "eventCode": "a:b:c:d", "targetUrl": "https://example.com/",
        "dispatchPoolId": pool.rsplit('/').next()});
    let made = api.post(&key, "/subscriptions", &subscription).await.expect(201);
    let subscription = format!("/subscriptions/{}", made["id"].as_str().expect("an id"));
    let tested = api.act(&key, &format!("{subscription}/test")).await.expect(200);
    api.send("DELETE", &viewer, &pool, &Value::Null).await.expect(403);
    for path in [&pool, &subscription] {
        api.send("DELETE", &key, path, &Value::Null).await.problem(409, "id");
    }
    let job = tested["jobIds"][0].as_str().expect("a job");
    api.act(&key, &format!("/dispatch-jobs/{job}/cancel")).await.expect(200);
    for path in [&subscription, &pool] {
        api.send("DELETE", &key, path, &Value::Null).await.expect(204);
        api.send("DELETE", &key, path, &Value::Null).await.expect(404);
        api.get(&key, path).await.expect(404);
    }
}

async fn lanes_keys_schemas_and_the_log(fixture: &Fixture) {
    let api = TestApi::new(fixture);
    let (key, _) = fixture.key(Role::Admin, &[]).await;
    let lanes = api.get(&key, "/lanes").await.expect(200);
    assert_eq!(
        (&lanes["items"][0]["health"], &lanes["items"][0]["delivered"]),
        (&json!("running"), &json!(3))
    );
    let one = api.get(&key, "/lanes/dispatch_jobs").await.expect(200);
    for (name, value) in lanes["items"][0].as_object().expect("a lane") {
        assert_eq!(&one[name], value, "what the list says of a lane, its own page says too");
    }
    api.get(&key, "/lanes/nothing").await.expect(404);
    api.act(&key, "/lanes/dispatch_jobs/pause").await.expect(200);
    api.act(&key, "/lanes/nothing/pause").await.expect(404);
    assert_eq!(api.lanes.paused.lock().unwrap()[0], ("dispatch_jobs".to_owned(), true));
    let made = api.post(&key, "/api-keys", &json!({"name": "n", "role": "viewer"})).await.expect(201);
    let fresh = made["key"].as_str().expect("a key");
    api.get(fresh, "/dispatch-jobs").await.expect(200);
    api.act(&key, &format!("/api-keys/{}/revoke", made["id"].as_str().expect("an id"))).await.expect(200);
    api.get(fresh, "/dispatch-jobs").await.expect(401);
    let listed = api.get(&key, "/api-keys").await.expect(200);
    assert!(listed["items"].as_array().is_some_and(|keys| keys.iter().all(|key| key.get("key").is_none())));
    api.send("PUT", &key, "/schemas/order", &json!({"schema": {"type": "object"}})).await.expect(200);
    api.send("PUT", &key, "/schemas/order", &json!({"schema": {"type": 7}})).await.problem(422, "schema");
    api.post(&key, "/dispatch-jobs", &job(&json!({"schemaId": "order", "payload": "[]"})))
        .await
        .problem(422, "payload");
    api.send("DELETE", &key, "/schemas/order", &Value::Null).await.expect(204);
    api.get(&key, "/schemas/order").await.expect(404);
    let log = api.get(&key, "/audit-log?entity=lane").await.expect(200);
    assert_eq!(
        (&log["items"][0]["action"], &log["items"][0]["entityId"]),
        (&json!("pause"), &json!("dispatch_jobs"))
    );
}

/// Sends events in binary mode: attributes as headers, data as the body.
async fn binary_events(api: &TestApi, key: &str) {
    let request = |id: &str, kind: &str, body: &str| {
        Request::post("/api/v1/events")
            .header("authorization", format!("Bearer {key}"))
            .header("content-type", kind)
            .header("ce-specversion", "1.0")
            .header("ce-id", id)
            .header("ce-source", "/binary")
            .header("ce-type", "a:b:c:d")
            .header("ce-subject", "Z%C3%BCrich")
            .body(Body::from(body.to_owned()))
            .expect("a request")
    };
    for (id, kind, data) in [("b1", "application/json", "{\"n\": 1.50}"), ("b2", "text/plain", "hello")] {
        let made = api.ask(request(id, kind, data)).await.expect(201);
        let event =
            api.get(key, &format!("/events/{}", made["id"].as_str().expect("an id"))).await.expect(200);
        assert_eq!((&event["data"], &event["dataContentType"]), (&json!(data), &json!(kind)));
        assert_eq!((&event["subject"], &event["source"]), (&json!("Zürich"), &json!("/binary")));
    }
    api.ask(request("b3", "application/json", "{")).await.expect(400);
    api.ask(request("%ff", "application/json", "{}")).await.problem(422, "ce-id");
}
