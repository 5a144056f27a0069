//! Optional members may be left out in any combination, on a connection that has seen the other combinations before:
//! PostgreSQL keeps the argument types of a prepared statement, so a NULL without a type would fail a later request.

use postrider_hub::access::Role;
use serde_json::{Map, Value, json};

use crate::desk::Desk;
use crate::site::{Site, on_every_database};

on_every_database!(optional_members_may_be_left_out_in_every_combination);

/// A request body: what it must have, and what it may have.
struct Form {
    method: &'static str,
    path: String,
    required: Value,
    optional: Vec<(&'static str, Value)>,
}

impl Form {
    fn body(&self, index: usize, chosen: impl Fn(usize) -> bool) -> Value {
        let mut body: Map<String, Value> = self.required.as_object().expect("an object").clone();
        for (place, (name, value)) in self.optional.iter().enumerate() {
            if chosen(place) {
                body.insert((*name).to_owned(), value.clone());
            }
        }
        // Codes and keys are unique; a PUT keeps the code that it was made with.
        if self.method == "POST" && body.contains_key("code") {
            body.insert("code".to_owned(), json!(format!("c-{index}")));
        }
        if body.contains_key("idempotencyKey") {
            body.insert("idempotencyKey".to_owned(), json!(format!("k-{index}")));
        }
        body.into()
    }

    /// Every subset of few members; of many: none, all, each one alone, all but each one, and random ones.
    fn subsets(&self) -> Vec<u64> {
        let count = self.optional.len();
        let all = (1u64 << count) - 1;
        if count <= 5 {
            return (0..=all).collect();
        }
        let ones = (0..count).map(|place| 1u64 << place);
        let mut seed = 0x9e37_79b9_7f4a_7c15u64;
        let random = std::iter::repeat_with(move || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 20) & all
        });
        [0, all]
            .into_iter()
            .chain(ones.clone())
            .chain(ones.map(|one| all & !one))
            .chain(random.take(20))
            .collect()
    }
}

fn job_members(pool: &str, account: &str) -> Vec<(&'static str, Value)> {
    vec![
        ("externalId", json!("x-1")),
        ("source", json!("/s")),
        ("kind", json!("TASK")),
        ("subject", json!("s")),
        ("eventId", json!("e-1")),
        ("correlationId", json!("co-1")),
        ("metadata", json!([{"key": "k", "value": "v"}])),
        ("protocol", json!("HTTP_WEBHOOK")),
        ("headers", json!({"X-A": "1"})),
        ("payload", json!("{}")),
        ("payloadContentType", json!("application/json")),
        ("dataOnly", json!(true)),
        ("serviceAccountId", json!(account)),
        ("clientId", json!("acme")),
        ("mode", json!("IMMEDIATE")),
        ("dispatchPoolId", json!(pool)),
        ("messageGroup", json!("g")),
        ("sequence", json!(3)),
        ("timeoutSeconds", json!(5)),
        ("schemaId", json!("none")),
        ("maxRetries", json!(4)),
        ("retryStrategy", json!("fixed")),
        ("scheduledFor", json!("2030-01-01T00:00:00Z")),
        ("expiresAt", json!("2031-01-01T00:00:00Z")),
        ("idempotencyKey", json!("k")),
    ]
}

fn subscription_members(pool: &str, account: &str) -> Vec<(&'static str, Value)> {
    vec![
        ("description", json!("d")),
        ("sourcePrefix", json!("/s")),
        ("filters", json!([{"path": "/a", "op": "EXISTS"}])),
        ("headers", json!({"X-A": "1"})),
        ("serviceAccountId", json!(account)),
        ("dispatchPoolId", json!(pool)),
        ("mode", json!("IMMEDIATE")),
        ("sequence", json!(3)),
        ("dataOnly", json!(false)),
        ("timeoutSeconds", json!(5)),
        ("maxRetries", json!(4)),
        ("retryStrategy", json!("fixed")),
        ("expiresAfterSeconds", json!(60)),
        ("honoursAck", json!(true)),
        ("active", json!(true)),
    ]
}

async fn forms(desk: &Desk, key: &str) -> Vec<Form> {
    let made = async |path: &str, body: Value| {
        let answer = desk.post(key, path, &body).await.expect(201);
        answer["id"].as_str().expect("an id").to_owned()
    };
    let pool = made("/dispatch-pools", json!({"code": "p", "name": "P"})).await;
    let account = made("/service-accounts", json!({"code": "a", "name": "A"})).await;
    let subscribed =
        json!({"code": "s", "name": "S", "eventCode": "a:b:c:d", "targetUrl": "https://example.com/"});
    let subscription = made("/subscriptions", subscribed.clone()).await;
    let limits = vec![("description", json!("d")), ("concurrency", json!(7)), ("ratePerMinute", json!(60))];
    let who = vec![
        ("description", json!("d")),
        ("clientIds", json!(["acme"])),
        ("applicationId", json!("app")),
        ("roles", json!([{"roleName": "r"}])),
    ];
    let found = vec![
        ("clientId", json!("acme")),
        ("code", json!("c")),
        ("eventId", json!("e-1")),
        ("subscriptionId", json!("s-1")),
        ("createdAfter", json!("2020-01-01T00:00:00Z")),
        ("createdBefore", json!("2030-01-01T00:00:00Z")),
    ];
    let job = json!({"code": "c", "targetUrl": "https://example.com/"});
    let form = |method, path: String, required: &Value, optional: &[(&'static str, Value)]| Form {
        method,
        path,
        required: required.clone(),
        optional: optional.to_vec(),
    };
    vec![
        form("POST", "/dispatch-jobs".to_owned(), &job, &job_members(&pool, &account)),
        form("POST", "/dispatch-jobs/retry".to_owned(), &json!({}), &found),
        form("POST", "/subscriptions".to_owned(), &subscribed, &subscription_members(&pool, &account)),
        form(
            "PUT",
            format!("/subscriptions/{subscription}"),
            &subscribed,
            &subscription_members(&pool, &account),
        ),
        form("POST", "/dispatch-pools".to_owned(), &json!({"code": "c", "name": "P"}), &limits),
        form("PUT", format!("/dispatch-pools/{pool}"), &json!({"name": "P"}), &limits),
        form("POST", "/service-accounts".to_owned(), &json!({"code": "c", "name": "A"}), &who),
        form("PUT", format!("/service-accounts/{account}"), &json!({"name": "A"}), &who[..1]),
        form(
            "POST",
            "/api-keys".to_owned(),
            &json!({"name": "n", "role": "viewer"}),
            &[("clientIds", json!(["acme"])), ("expiresAt", json!("2030-01-01T00:00:00Z"))],
        ),
        form(
            "POST",
            "/lanes/dispatch_jobs/requeue".to_owned(),
            &json!({"state": "DEAD"}),
            &[("since", json!("2020-01-01T00:00:00Z")), ("preview", json!(true))],
        ),
    ]
}

async fn optional_members_may_be_left_out_in_every_combination(site: &Site) {
    let desk = Desk::new(site);
    let (key, _) = site.key(Role::Admin, &[]).await;
    let mut index = 0;
    for form in forms(&desk, &key).await {
        let mut subsets = form.subsets();
        // There and back: each combination comes before and after each other one.
        let back: Vec<u64> = subsets.iter().rev().copied().collect();
        subsets.extend(back);
        for subset in subsets {
            index += 1;
            let body = form.body(index, |place| subset >> place & 1 == 1);
            let answer = desk.send(form.method, &key, &form.path, &body).await;
            let status = answer.status.as_u16();
            assert!(
                matches!(status, 200 | 201),
                "{} {} {body}: {status} {}",
                form.method,
                form.path,
                String::from_utf8_lossy(&answer.bytes)
            );
        }
    }
}
