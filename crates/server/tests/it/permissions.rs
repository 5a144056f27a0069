//! Tests of permissions, and of what an unauthorized caller sees.

use axum::body::Body;
use axum::http::Request;
use postrider_hub::access::Role;
use serde_json::json;

use crate::fixture::{Fixture, on_every_database};
use crate::routes::job;
use crate::test_api::TestApi;

on_every_database!(
    every_route_needs_a_key,
    each_role_has_exactly_its_permissions,
    a_foreign_id_gets_the_same_response_as_an_unknown_one,
    a_producer_reads_no_payload_of_another_key,
    secret_headers_are_shown_only_to_operators,
    an_error_names_what_is_wrong,
);

async fn every_route_needs_a_key(fixture: &Fixture) {
    let api = TestApi::new(fixture);
    let (key, _) = fixture.key(Role::Admin, &[]).await;
    let forged = format!("{}A", &key[..key.len() - 1]);
    let forged = if forged == key { format!("{}B", &key[..key.len() - 1]) } else { forged };
    let mut bodies = std::collections::BTreeSet::new();
    for path in
        ["/dispatch-jobs", "/dispatch-jobs/0000000000000", "/lanes", "/nothing", "/events", "/api-keys"]
    {
        for header in [
            None,
            Some("Bearer".to_owned()),
            Some(format!("Bearer {forged}")),
            Some(format!("Basic {key}")),
            Some("Bearer pr_x".to_owned()),
        ] {
            let mut request = Request::get(format!("/api/v1{path}"));
            if let Some(header) = &header {
                request = request.header("authorization", header);
            }
            let answer = api.ask(request.body(Body::empty()).expect("a request")).await;
            assert_eq!(answer.status, 401, "{path} {header:?}");
            assert_eq!(answer.headers["www-authenticate"], "Bearer");
            bodies.insert(answer.bytes);
        }
    }
    assert_eq!(bodies.len(), 1, "all answers are the same");
    api.get(&key, "/nothing").await.expect(404);
    for path in ["/api/reference", "/api/openapi.json"] {
        assert_eq!(api.ask(Request::get(path).body(Body::empty()).expect("a request")).await.status, 200);
    }
    assert_eq!(TestApi::closed().get(&key, "/dispatch-jobs").await.status, 503);
}

async fn each_role_has_exactly_its_permissions(fixture: &Fixture) {
    let api = TestApi::new(fixture);
    let (admin, _) = fixture.key(Role::Admin, &[]).await;
    let made = api.post(&admin, "/dispatch-jobs", &job(&json!({}))).await.expect(201);
    let id = made["id"].as_str().expect("an id");
    fixture.run("UPDATE dispatch_jobs SET status = 'ERROR'").await;
    let account = json!({"code": "a", "name": "A", "allowedHosts": ["*"]});
    let pool = json!({"code": "p", "name": "P"});
    for (role, may) in [
        (Role::Viewer, [true, false, false, false, false]),
        (Role::Producer, [true, true, false, false, false]),
        (Role::Operator, [true, true, true, true, false]),
        (Role::Admin, [true, true, true, true, true]),
    ] {
        let (key, _) = fixture.key(role, &[]).await;
        fixture.run("DELETE FROM dispatch_pools").await;
        let answers = [
            api.get(&key, "/dispatch-jobs").await,
            api.post(&key, "/dispatch-jobs", &job(&json!({}))).await,
            api.act(&key, &format!("/dispatch-jobs/{id}/retry")).await,
            api.post(&key, "/dispatch-pools", &pool).await,
            api.post(&key, "/service-accounts", &account).await,
        ];
        for (index, (answer, may)) in answers.iter().zip(may).enumerate() {
            assert_eq!(answer.status.is_success(), may, "{role:?} {index} {}", answer.json());
            assert!(may || answer.status == 403, "{role:?} {index}");
        }
    }
    let (scoped, _) = fixture.key(Role::Admin, &["acme"]).await;
    for path in ["/lanes", "/schemas"] {
        api.get(&scoped, path).await.expect(403);
    }
    assert_eq!(fixture.count("service_accounts").await, 1);
}

async fn a_foreign_id_gets_the_same_response_as_an_unknown_one(fixture: &Fixture) {
    let api = TestApi::new(fixture);
    let (acme, _) = fixture.key(Role::Admin, &["acme"]).await;
    let (other, _) = fixture.key(Role::Admin, &["other"]).await;
    let subscription =
        json!({"code": "s", "name": "S", "eventCode": "*:*:*:*", "targetUrl": "https://example.com/"});
    let event = json!({"specversion": "1.0", "id": "1", "source": "/s", "type": "a:b:c:d"});
    let made = [
        ("/dispatch-jobs", job(&json!({})), vec!["", "/retry", "/cancel", "/complete"]),
        ("/subscriptions", subscription, vec!["", "/pause", "/resume", "/test"]),
        ("/dispatch-pools", json!({"code": "p", "name": "P"}), vec!["", "/pause", "/resume"]),
        (
            "/service-accounts",
            json!({"code": "acme.a", "name": "A", "allowedHosts": ["*"]}),
            vec!["", "/activate", "/deactivate", "/regenerate-credentials"],
        ),
        ("/events", event, vec!["", "/replay"]),
        ("/api-keys", json!({"name": "n", "role": "viewer"}), vec!["/revoke"]),
    ];
    for (path, body, actions) in made {
        let id = api.post(&acme, path, &body).await.expect(201)["id"].as_str().expect("an id").to_owned();
        for action in actions {
            let ask = async |id: &str| {
                let path = format!("{path}/{id}{action}");
                let answer = if action.is_empty() {
                    api.get(&other, &path).await
                } else {
                    api.act(&other, &path).await
                };
                (answer.status, answer.headers.clone(), answer.bytes)
            };
            let foreign = ask(&id).await;
            assert_eq!(foreign.0, 404, "{path}{action}");
            for unknown in ["0000000000000", "ZZZZZZZZZZZZZ", "no-id", "%E2%82%AC"] {
                assert_eq!(ask(unknown).await, foreign, "{path}{action} {unknown}");
            }
        }
        if path != "/api-keys" {
            let list = api.get(&other, path).await.expect(200);
            assert_eq!(list["items"], json!([]), "{path}");
        }
    }
    // A cursor of one client is invalid for another client, for another list, and after a change to it.
    api.post(&acme, "/dispatch-jobs", &job(&json!({}))).await.expect(201);
    let page = api.get(&acme, "/dispatch-jobs?limit=1").await.expect(200);
    let cursor = page["nextCursor"].as_str().expect("a cursor");
    api.get(&acme, &format!("/dispatch-jobs?limit=1&cursor={cursor}")).await.expect(200);
    api.get(&other, &format!("/dispatch-jobs?limit=1&cursor={cursor}")).await.problem(422, "cursor");
    api.get(&acme, &format!("/events?limit=1&cursor={cursor}")).await.problem(422, "cursor");
    api.get(&acme, &format!("/dispatch-jobs?limit=1&cursor=A{}", &cursor[1..])).await.problem(422, "cursor");
}

async fn a_producer_reads_no_payload_of_another_key(fixture: &Fixture) {
    let api = TestApi::new(fixture);
    let (mine, _) = fixture.key(Role::Producer, &[]).await;
    let (other, _) = fixture.key(Role::Producer, &[]).await;
    let (viewer, _) = fixture.key(Role::Viewer, &[]).await;
    let made = job(&json!({"payload": "{\"secret\":1}"}));
    let id = api.post(&mine, "/dispatch-jobs", &made).await.expect(201)["id"].clone();
    let path = format!("/dispatch-jobs/{}", id.as_str().expect("an id"));
    let event =
        json!({"specversion": "1.0", "id": "1", "source": "/s", "type": "a:b:c:d", "data": {"secret": 1}});
    let event = api.post(&mine, "/events", &event).await.expect(201)["id"].clone();
    let event = format!("/events/{}", event.as_str().expect("an id"));
    for (key, reads) in [(&mine, true), (&other, false), (&viewer, true)] {
        let job = api.get(key, &path).await.expect(200);
        assert_eq!(job["payload"].is_string(), reads, "{job}");
        assert!(job.get("createdBy").is_none());
        let one = api.get(key, &event).await.expect(200);
        assert_eq!(one["data"].is_string(), reads, "{one}");
        let list = api.get(key, "/events").await.expect(200);
        assert_eq!(list["items"][0]["data"].is_string(), reads, "{list}");
    }
}

async fn secret_headers_are_shown_only_to_operators(fixture: &Fixture) {
    let api = TestApi::new(fixture);
    let (mine, _) = fixture.key(Role::Producer, &[]).await;
    let (other, _) = fixture.key(Role::Producer, &[]).await;
    let (viewer, _) = fixture.key(Role::Viewer, &[]).await;
    let (operator, _) = fixture.key(Role::Operator, &[]).await;
    let headers = json!({"X-Api-Key": "hunter2", "X-Shop": "acme"});
    let made = api.post(&mine, "/dispatch-jobs", &job(&json!({"headers": headers}))).await.expect(201);
    assert_eq!(made["headers"], headers);
    let own = format!("/dispatch-jobs/{}", made["id"].as_str().expect("an id"));
    let subscription = json!({"code": "s", "name": "S", "eventCode": "a:b:c:d", "targetUrl": "https://example.com/",
        "headers": headers});
    let subscription = api.post(&operator, "/subscriptions", &subscription).await.expect(201);
    let subscription = format!("/subscriptions/{}", subscription["id"].as_str().expect("an id"));
    let event = json!({"specversion": "1.0", "id": "1", "source": "/s", "type": "a:b:c:d"});
    let event = api.post(&mine, "/events", &event).await.expect(201);
    let matched = format!("/dispatch-jobs/{}", event["jobIds"][0].as_str().expect("a job"));
    for (path, whole) in [
        (own.as_str(), vec![&mine, &operator]),
        (matched.as_str(), vec![&operator]),
        (subscription.as_str(), vec![&operator]),
        ("/dispatch-jobs", vec![&operator]),
        ("/subscriptions", vec![&operator]),
    ] {
        for key in [&mine, &other, &viewer, &operator] {
            let answer = api.get(key, path).await.expect(200).to_string();
            assert!(answer.contains("X-Api-Key") && answer.contains("acme"), "{answer}");
            assert_eq!(answer.contains("hunter2"), whole.contains(&key), "{path}: {answer}");
        }
    }
    let stored = "dispatch_jobs WHERE headers LIKE '%hunter2%'";
    assert_eq!(fixture.count(stored).await, 2, "what is sent is as it was given");
}

async fn an_error_names_what_is_wrong(fixture: &Fixture) {
    let api = TestApi::new(fixture);
    let (acme, _) = fixture.key(Role::Admin, &["acme"]).await;
    let (viewer, _) = fixture.key(Role::Viewer, &[]).await;
    api.post(&viewer, "/dispatch-jobs", &job(&json!({}))).await.problem(403, "Authorization");
    api.get(&acme, "/lanes").await.problem(403, "Authorization");
    api.get(&acme, "/dispatch-jobs/0000000000000").await.problem(404, "id");
    let named = json!({"code": "acme.a", "name": "A", "allowedHosts": ["*"], "webhookCredentials": {"signingSecretRef": "env://HOME"}});
    api.post(&acme, "/service-accounts", &named).await.problem(403, "webhookCredentials.signingSecretRef");
}
