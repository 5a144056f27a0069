//! Tests of rows from other programs with values that this version does not know: they are listed as unknown, and the
//! rest of their page is shown.

use std::time::Duration;

use postrider_hub::access::Role;
use serde_json::json;

use crate::fixture::{Fixture, on_every_database};
use crate::operations::{event, subscription};
use crate::routes::job;
use crate::test_api::TestApi;

on_every_database!(
    objects_with_unknown_values_are_listed,
    rows_with_unknown_values_are_listed_as_unknown,
    a_key_with_an_unreadable_row_is_refused,
    a_subscription_with_unreadable_filters_matches_nothing,
);

async fn rows_with_unknown_values_are_listed_as_unknown(fixture: &Fixture) {
    let api = TestApi::new(fixture);
    let (key, _) = fixture.key(Role::Admin, &[]).await;
    let mut ids = Vec::new();
    for _ in 0..6 {
        let made = api.post(&key, "/dispatch-jobs", &job(&json!({}))).await.expect(201);
        ids.push(made["id"].as_str().expect("an id").to_owned());
    }
    let strange = [
        ("status", "status", "PAUSED"),
        ("kind", "kind", "MESSAGE"),
        ("protocol", "protocol", "GRPC"),
        ("mode", "mode", "SOMETIMES"),
    ];
    for ((column, _, value), id) in strange.iter().zip(&ids) {
        fixture.run(&format!("UPDATE dispatch_jobs SET {column} = '{value}' WHERE id = '{id}'")).await;
    }
    fixture.run(&format!("UPDATE dispatch_jobs SET headers = 'no json' WHERE id = '{}'", ids[4])).await;
    let page = api.get(&key, "/dispatch-jobs").await.expect(200);
    let items = page["items"].as_array().expect("jobs");
    assert_eq!(items.len(), 6);
    for ((_, member, _), id) in strange.iter().zip(&ids) {
        let listed = items.iter().find(|item| item["id"] == id.as_str()).expect("the job");
        assert_eq!(listed[member], "UNKNOWN", "{member}");
        let alone = api.get(&key, &format!("/dispatch-jobs/{id}")).await.expect(200);
        assert_eq!(alone[member], "UNKNOWN", "{member}");
    }
    api.post(&key, "/dispatch-jobs", &job(&json!({"mode": "UNKNOWN"}))).await.problem(422, "mode");
    api.get(&key, "/dispatch-jobs?status=UNKNOWN").await.problem(422, "status");
    for id in &ids {
        api.get(&key, &format!("/lanes/dispatch_jobs/rows/{id}")).await.expect(200);
    }
    assert_eq!(
        api.get(&key, "/lanes/dispatch_jobs/rows").await.expect(200)["items"].as_array().map(Vec::len),
        Some(6)
    );
}

async fn a_key_with_an_unreadable_row_is_refused(fixture: &Fixture) {
    let api = TestApi::new(fixture);
    let (key, _) = fixture.key(Role::Admin, &[]).await;
    for change in ["role = 'owner'", "client_ids = 'no json'"] {
        let (lost, actor) = fixture.key(Role::Admin, &["acme"]).await;
        api.get(&lost, "/dispatch-jobs").await.expect(200);
        fixture.run(&format!("UPDATE postrider_api_keys SET {change} WHERE id = '{}'", actor.key)).await;
        // The last lookup of a key is used for a second.
        tokio::time::sleep(Duration::from_millis(1050)).await;
        api.get(&lost, "/dispatch-jobs").await.expect(401);
        let list = api.get(&key, "/api-keys").await.expect(200);
        let listed =
            list["items"].as_array().expect("keys").iter().find(|one| one["id"] == actor.key.as_str());
        assert_eq!(listed.expect("the key is listed")["role"], json!(null), "{change}");
    }
}

async fn a_subscription_with_unreadable_filters_matches_nothing(fixture: &Fixture) {
    let api = TestApi::new(fixture);
    let (key, _) = fixture.key(Role::Admin, &[]).await;
    api.post(&key, "/subscriptions", &subscription()).await.expect(201);
    let made = api.post(&key, "/events", &event("1")).await.expect(201);
    assert_eq!(made["jobIds"].as_array().map(Vec::len), Some(1), "{made}");
    for (number, change) in ["filters = 'no json'", "filters = '[]', mode = 'SOMETIMES'"].iter().enumerate() {
        fixture.run(&format!("UPDATE dispatch_subscriptions SET {change}")).await;
        let made = api.post(&key, "/events", &event(&format!("x{number}"))).await.expect(201);
        assert_eq!(made["jobIds"].as_array().map(Vec::len), Some(0), "{change}: {made}");
    }
    let listed = api.get(&key, "/subscriptions").await.expect(200);
    assert_eq!(listed["items"][0]["mode"], "UNKNOWN");
}

async fn objects_with_unknown_values_are_listed(fixture: &Fixture) {
    let api = TestApi::new(fixture);
    let (key, _) = fixture.key(Role::Admin, &[]).await;
    let credentials =
        json!({"authType": "BEARER", "authTokenRef": "env://T", "signingAlgorithm": "HMAC_SHA256"});
    let account = json!({"code": "a", "name": "A", "allowedHosts": ["*"], "webhookCredentials": credentials});
    let account = api.post(&key, "/service-accounts", &account).await.expect(201)["id"].clone();
    api.post(&key, "/dispatch-pools", &json!({"code": "p", "name": "P"})).await.expect(201);
    api.post(&key, "/events", &event("1")).await.expect(201);
    let made = api.post(&key, "/dispatch-jobs", &job(&json!({}))).await.expect(201)["id"].clone();
    let made = made.as_str().expect("an id");
    for statement in [
        "UPDATE service_accounts SET auth_type = 'MAGIC', signing_algorithm = 'ROT13', roles = 'no json', \
         client_ids = 'no json', allowed_hosts = 'no json'",
        "UPDATE dispatch_pools SET concurrency = -1, rate_per_minute = -1",
        "UPDATE dispatch_events SET extensions = 'no json', data = 'no json'",
        "UPDATE postrider_audit SET action = 'juggle', entity = 'ball', detail = 'no json'",
        &format!(
            "INSERT INTO dispatch_attempts (id, job_id, attempt_number, status, error_type) \
             VALUES ('0000000000001', '{made}', 1, 'EXPLODED', 'SAD')"
        ),
    ] {
        fixture.run(statement).await;
    }
    for path in ["/service-accounts", "/dispatch-pools", "/events", "/audit-log", "/dispatch-jobs"] {
        let page = api.get(&key, path).await.expect(200);
        assert!(page["items"].as_array().is_some_and(|items| !items.is_empty()), "{path}: {page}");
    }
    let account = api.get(&key, &format!("/service-accounts/{}", account.as_str().expect("an id"))).await;
    let account = account.expect(200)["webhookCredentials"].clone();
    assert_eq!((&account["authType"], &account["signingAlgorithm"]), (&json!("UNKNOWN"), &json!("UNKNOWN")));
    let attempt = api.get(&key, &format!("/dispatch-jobs/{made}")).await.expect(200)["attempts"][0].clone();
    assert_eq!((&attempt["status"], &attempt["errorType"]), (&json!("UNKNOWN"), &json!("UNKNOWN")));
    let wrong = json!({"code": "b", "name": "B", "allowedHosts": ["*"], "webhookCredentials": {"authType": "UNKNOWN"}});
    let refused = api.post(&key, "/service-accounts", &wrong).await;
    assert_eq!(refused.status, 422, "nobody may ask for it");
}
