//! Creating and listing jobs, and the isolation of clients.

use postrider_hub::access::Role;
use postrider_hub::job::{Created, DispatchStatus, Filter, MetadataFilter, NewJob};
use postrider_hub::page::PageQuery;
use postrider_hub::{Error, Moment};
use serde_json::{Value, json};

use crate::fixture::{Fixture, on_every_database, root};

on_every_database!(
    j01_every_field_is_returned_as_created,
    j01_defaults_match_the_specification,
    j03_a_scheduled_job_is_pending,
    j13_the_same_request_returns_the_first_job,
    j13_keys_are_distinct_by_client_and_case,
    j13_concurrent_repeats_create_one_job,
    j16_each_common_query_is_a_filter,
    j16_paging_returns_every_job_once,
    a_batch_has_a_result_for_each_job,
    a_job_of_another_client_is_not_found,
    invalid_jobs_are_not_stored,
    j15_a_name_that_resolves_to_a_private_address_is_refused,
    j17_the_creator_of_a_job_is_in_the_audit_log,
);

pub fn new(value: Value) -> NewJob {
    serde_json::from_value(value).expect("a request")
}

pub fn plain(code: &str) -> NewJob {
    new(json!({"code": code, "targetUrl": "https://example.com/hook", "payload": "{}"}))
}

async fn j01_every_field_is_returned_as_created(fixture: &Fixture) {
    let given = json!({
        "externalId": "ext-1", "source": "ecommerce-api", "kind": "TASK", "code": "ecommerce:orders:order:created",
        "subject": "order:12345", "eventId": "0HZXEQ5Y8JY00", "correlationId": "req-abc-123",
        "metadata": [{"key": "customer_id", "value": "cust_789"}, {"key": "region", "value": "Zürich 🚀"}],
        "targetUrl": "https://notifications.acme.com/webhooks/orders", "protocol": "HTTP_WEBHOOK",
        "headers": {"X-Custom-Header": "value"}, "payload": "{\"orderId\": \"12345\", \"text\": \"a\\\\b'c\\\"d 🚀\\n\"}",
        "payloadContentType": "application/vnd.acme+json; charset=utf-8", "dataOnly": false, "clientId": "acme",
        "mode": "NEXT_ON_ERROR", "messageGroup": "order-notifications:order:12345", "sequence": -7, "timeoutSeconds": 12,
        "schemaId": "unregistered", "maxRetries": 5, "retryStrategy": "[5,60]",
        "scheduledFor": "2124-01-15T10:30:00.125Z", "expiresAt": "2124-01-16T10:30:00Z", "idempotencyKey": "order-created-12345",
    });
    let (created, job) = fixture.hub.create_job(&root(), new(given.clone())).await.expect("a job");
    assert!(matches!(created, Created::New { .. }));
    let shown = serde_json::to_value(&job).expect("JSON");
    for (field, value) in given.as_object().expect("an object") {
        if field != "metadata" {
            assert_eq!(&shown[field], value, "{field}");
        }
    }
    let metadata: Vec<(&str, &str)> =
        job.metadata.iter().map(|one| (one.key.as_str(), one.value.as_str())).collect();
    assert_eq!(metadata, [("customer_id", "cust_789"), ("region", "Zürich 🚀")]);
    assert!(job.metadata.iter().all(|one| one.id.len() == 13));
    assert_eq!(shown["attempts"], json!([]));
    let found = fixture.hub.job(&root(), &job.id).await.expect("the job");
    assert_eq!(serde_json::to_value(&found).expect("JSON"), shown);
    let row = format!("FROM dispatch_jobs WHERE id = '{}'", job.id);
    assert_eq!(fixture.text(&format!("SELECT payload {row}")).await.as_deref(), given["payload"].as_str());
    assert_eq!(fixture.text(&format!("SELECT retry_budget {row}")).await.as_deref(), Some("5"));
    let group = fixture.text(&format!("SELECT group_key {row}")).await.expect("a group");
    assert!(group.contains("acme") && group.contains("order:12345"), "{group}");
}

async fn j01_defaults_match_the_specification(fixture: &Fixture) {
    let (_, job) = fixture.hub.create_job(&root(), plain("a")).await.expect("a job");
    let shown = serde_json::to_value(&job).expect("JSON");
    for (field, value) in json!({
        "kind": "TASK", "mode": "IMMEDIATE", "timeoutSeconds": 30, "maxRetries": 3, "retryStrategy": "exponential",
        "payloadContentType": "application/json", "dataOnly": true, "sequence": 99, "expiresAt": null,
        "protocol": "HTTP_WEBHOOK", "status": "QUEUED", "attemptCount": 0, "headers": {}, "metadata": [],
    })
    .as_object()
    .expect("an object")
    {
        assert_eq!(&shown[field], value, "{field}");
    }
    let valid = |c: u8| b"0123456789ABCDEFGHJKMNPQRSTVWXYZ".contains(&c);
    assert!(job.id.len() == 13 && job.id.bytes().all(valid), "{}", job.id);
    assert_eq!(
        fixture.text("SELECT count(*) FROM dispatch_jobs WHERE queued_at IS NOT NULL").await.as_deref(),
        Some("1")
    );
    assert!(job.created_at.is_some() && job.created_at == job.updated_at);
}

async fn j03_a_scheduled_job_is_pending(fixture: &Fixture) {
    let mut later = plain("later");
    later.scheduled_for = Moment::parse("2124-01-01T00:00:00Z");
    let mut earlier = plain("earlier");
    earlier.scheduled_for = Moment::parse("2024-01-01T00:00:00Z");
    let (_, later) = fixture.hub.create_job(&root(), later).await.expect("a job");
    let (_, earlier) = fixture.hub.create_job(&root(), earlier).await.expect("a job");
    assert_eq!((later.status, earlier.status), (DispatchStatus::Pending, DispatchStatus::Queued));
}

fn keyed(client: Option<&str>, key: &str, code: &str) -> NewJob {
    let mut job = plain(code);
    job.client_id = client.map(str::to_owned);
    job.idempotency_key = Some(key.to_owned());
    job.metadata = serde_json::from_value(json!([{"key": "k", "value": "v"}])).expect("metadata");
    job
}

async fn j13_the_same_request_returns_the_first_job(fixture: &Fixture) {
    let (_, first) = fixture.hub.create_job(&root(), keyed(Some("acme"), "k1", "a")).await.expect("a job");
    let (again, second) =
        fixture.hub.create_job(&root(), keyed(Some("acme"), "k1", "a")).await.expect("the first job");
    assert_eq!(again, Created::Existing { id: first.id.clone() });
    assert_eq!(second.id, first.id);
    let other = fixture.hub.create_job(&root(), keyed(Some("acme"), "k1", "b")).await;
    assert!(matches!(other, Err(Error::Conflict { field: Some("idempotencyKey"), .. })), "{other:?}");
    assert_eq!(fixture.count("dispatch_jobs").await, 1);
    assert_eq!(fixture.count("dispatch_job_metadata").await, 1);
}

async fn j13_keys_are_distinct_by_client_and_case(fixture: &Fixture) {
    let clients = [None, Some("acme"), Some("ACME"), Some("other")];
    for client in clients {
        for key in ["k", "K"] {
            let (created, _) = fixture.hub.create_job(&root(), keyed(client, key, "a")).await.expect("a job");
            assert!(matches!(created, Created::New { .. }), "{client:?} {key}");
        }
        let (created, _) = fixture.hub.create_job(&root(), keyed(client, "k", "a")).await.expect("a job");
        assert!(matches!(created, Created::Existing { .. }), "{client:?}");
    }
    assert_eq!(fixture.count("dispatch_jobs").await, 8);
}

async fn j13_concurrent_repeats_create_one_job(fixture: &Fixture) {
    let one = |_| {
        let hub = std::sync::Arc::clone(&fixture.hub);
        tokio::spawn(async move { hub.create_job(&root(), keyed(None, "race", "a")).await.expect("a job").0 })
    };
    let mut fresh = 0;
    let mut ids = std::collections::BTreeSet::new();
    for task in (0..12).map(one).collect::<Vec<_>>() {
        let created = task.await.expect("it ended");
        fresh += usize::from(matches!(created, Created::New { .. }));
        ids.insert(created.id().to_owned());
    }
    assert_eq!((fresh, ids.len()), (1, 1));
    assert_eq!(fixture.count("dispatch_jobs").await, 1);
    assert_eq!(fixture.count("dispatch_job_metadata").await, 1);
}

async fn codes(fixture: &Fixture, filter: Filter) -> Vec<String> {
    let page = fixture.hub.jobs(&root(), &filter, &PageQuery::default()).await.expect("a page");
    assert_eq!(page.next_cursor, None);
    let mut codes: Vec<String> = page.items.into_iter().map(|job| job.code).collect();
    codes.sort();
    codes
}

async fn j16_each_common_query_is_a_filter(fixture: &Fixture) {
    for code in ["plain", "later", "spent", "failed", "event", "subscription", "metadata", "client"] {
        let mut job = plain(code);
        match code {
            "later" => job.scheduled_for = Moment::parse("2124-01-01T00:00:00Z"),
            "event" => job.event_id = Some("E-1".to_owned()),
            "client" => job.client_id = Some("acme".to_owned()),
            "metadata" => {
                job.metadata =
                    serde_json::from_value(json!([{"key": "customer_id", "value": "c1"}])).expect("metadata");
            }
            _ => {}
        }
        fixture.hub.create_job(&root(), job).await.expect("a job");
    }
    fixture.run("UPDATE dispatch_jobs SET status = 'ERROR', attempt_count = 3 WHERE code = 'spent'").await;
    fixture.run("UPDATE dispatch_jobs SET status = 'ERROR', attempt_count = 2 WHERE code = 'failed'").await;
    fixture.run("UPDATE dispatch_jobs SET subscription_id = 'S-1' WHERE code = 'subscription'").await;
    fixture.run("UPDATE dispatch_jobs SET status = 'PENDING' WHERE code = 'plain'").await;
    fixture.run("UPDATE dispatch_jobs SET created_at = '2020-01-01 00:00:00' WHERE code = 'client'").await;
    fixture.run("UPDATE dispatch_jobs SET created_at = '2020-06-01 00:00:00' WHERE code = 'event'").await;
    let none = Filter::default;
    let time = |text: &str| Moment::parse(text);
    let (may, july) = (time("2020-05-01T00:00:00Z"), time("2020-07-01T00:00:00Z"));
    assert_eq!(codes(fixture, Filter { created_before: may, ..none() }).await, ["client"]);
    assert_eq!(codes(fixture, Filter { created_after: may, ..none() }).await.len(), 7);
    let between = Filter { created_after: may, created_before: july, ..none() };
    assert_eq!(codes(fixture, between).await, ["event"]);
    let status = |status| Filter { status: Some(status), ..none() };
    assert_eq!(codes(fixture, Filter { due: true, ..none() }).await, ["plain"]);
    assert_eq!(codes(fixture, Filter { retryable: true, ..none() }).await, ["failed"]);
    assert_eq!(codes(fixture, Filter { event_id: Some("E-1".into()), ..none() }).await, ["event"]);
    assert_eq!(codes(fixture, Filter { event_id: Some("e-1".into()), ..none() }).await, Vec::<String>::new());
    assert_eq!(
        codes(fixture, Filter { subscription_id: Some("S-1".into()), ..none() }).await,
        ["subscription"]
    );
    assert_eq!(codes(fixture, status(DispatchStatus::Error)).await, ["failed", "spent"]);
    assert_eq!(codes(fixture, status(DispatchStatus::Pending)).await, ["later", "plain"]);
    assert_eq!(codes(fixture, Filter { code: Some("client".into()), ..none() }).await, ["client"]);
    assert_eq!(codes(fixture, Filter { client_id: Some("acme".into()), ..none() }).await, ["client"]);
    let metadata = |value: &str| Filter {
        metadata: Some(MetadataFilter { key: "customer_id".into(), value: value.into() }),
        ..none()
    };
    assert_eq!(codes(fixture, metadata("c1")).await, ["metadata"]);
    assert_eq!(codes(fixture, metadata("C1")).await, Vec::<String>::new());
    let future = Moment::parse("2124-01-01T00:00:00Z");
    assert_eq!(codes(fixture, Filter { created_after: future, ..none() }).await.len(), 0);
    assert_eq!(codes(fixture, Filter { created_before: future, ..none() }).await.len(), 8);
}

async fn j16_paging_returns_every_job_once(fixture: &Fixture) {
    let jobs = (0..25).map(|index| plain(&format!("job-{index:02}"))).collect();
    // All in one statement: the creation time is the same, so only the id orders them.
    fixture.hub.create_jobs(&root(), jobs).await.expect("jobs");
    for index in 25..30 {
        fixture.hub.create_job(&root(), plain(&format!("job-{index:02}"))).await.expect("a job");
    }
    let mut seen = Vec::new();
    let mut cursor = None;
    loop {
        let page = PageQuery { limit: Some(7), cursor: cursor.take() };
        let page = fixture.hub.jobs(&root(), &Filter::default(), &page).await.expect("a page");
        seen.extend(page.items.into_iter().map(|job| job.code));
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    let newest_first: Vec<String> = (0..30).rev().map(|index| format!("job-{index:02}")).collect();
    assert_eq!(seen, newest_first);
}

async fn a_batch_has_a_result_for_each_job(fixture: &Fixture) {
    let mut bad = plain("bad");
    "http://169.254.169.254/latest/meta-data".clone_into(&mut bad.target_url);
    let batch =
        vec![plain("one"), bad, keyed(None, "k", "two"), keyed(None, "k", "two"), keyed(None, "k", "three")];
    let outcomes = fixture.hub.create_jobs(&root(), batch).await.expect("a batch");
    assert!(matches!(outcomes[0], Ok(Created::New { .. })));
    assert!(
        matches!(&outcomes[1], Err(Error::Invalid(faults)) if faults[0].field == "targetUrl"),
        "{:?}",
        outcomes[1]
    );
    assert!(matches!(outcomes[2], Ok(Created::New { .. })));
    assert_eq!(outcomes[3].as_ref().expect("known").id(), outcomes[2].as_ref().expect("fresh").id());
    assert!(matches!(outcomes[4], Err(Error::Conflict { .. })), "{:?}", outcomes[4]);
    assert_eq!(fixture.count("dispatch_jobs").await, 2);
}

async fn a_job_of_another_client_is_not_found(fixture: &Fixture) {
    let acme = fixture.actor(Role::Operator, &["acme"]).await;
    let other = fixture.actor(Role::Operator, &["ACME"]).await;
    let (_, job) = fixture.hub.create_job(&acme, plain("mine")).await.expect("a job");
    assert_eq!(job.client_id.as_deref(), Some("acme"));
    let foreign = fixture.hub.job(&other, &job.id).await.expect_err("a foreign job").to_string();
    let unknown = fixture.hub.job(&other, "0000000000000").await.expect_err("no job").to_string();
    assert_eq!(foreign, unknown);
    for moved in [
        fixture.hub.cancel_job(&other, &job.id).await,
        fixture.hub.retry_job(&other, &job.id).await,
        fixture.hub.complete_job(&other, &job.id).await,
    ] {
        assert!(matches!(moved, Err(Error::NotFound(_))), "{moved:?}");
    }
    let all = Filter::default();
    assert_eq!(fixture.hub.jobs(&other, &all, &PageQuery::default()).await.expect("a page").items.len(), 0);
    let asked = Filter { client_id: Some("acme".to_owned()), ..Filter::default() };
    assert_eq!(fixture.hub.jobs(&other, &asked, &PageQuery::default()).await.expect("a page").items.len(), 0);
    fixture.hub.create_job(&acme, plain("mine too")).await.expect("a job");
    let page = PageQuery { limit: Some(1), cursor: None };
    let cursor = fixture.hub.jobs(&acme, &all, &page).await.expect("a page").next_cursor;
    assert!(cursor.is_some());
    let stolen = fixture.hub.jobs(&other, &all, &PageQuery { limit: Some(1), cursor }).await;
    assert!(matches!(&stolen, Err(Error::Invalid(faults)) if faults[0].field == "cursor"), "{stolen:?}");
    let mut for_other = plain("not mine");
    for_other.client_id = Some("acme".to_owned());
    assert!(matches!(
        fixture.hub.create_job(&other, for_other).await,
        Err(Error::ClientNotAllowed("clientId"))
    ));
}

async fn invalid_jobs_are_not_stored(fixture: &Fixture) {
    let wrong: [(&str, Value); 22] = [
        ("code", json!({"code": ""})),
        ("code", json!({"code": "a\u{0}b"})),
        ("kind", json!({"kind": "EVENT"})),
        ("targetUrl", json!({"targetUrl": "http://10.0.0.1/"})),
        ("targetUrl", json!({"targetUrl": "ftp://example.com/"})),
        ("headers.X-A", json!({"headers": {"X-A": "a\r\nX-B: b"}})),
        ("headers.X A", json!({"headers": {"X A": "a"}})),
        ("headers.Host", json!({"headers": {"Host": "evil"}})),
        ("headers.Webhook-Signature", json!({"headers": {"Webhook-Signature": "v1,x"}})),
        ("payload", json!({"payload": "x".repeat((1 << 20) + 1)})),
        ("payload", json!({"payload": "a\u{0}b"})),
        ("payload", json!({"payload": "no json", "dataOnly": false})),
        ("payloadContentType", json!({"payloadContentType": "text/plain\r\nX: y"})),
        ("serviceAccountId", json!({"serviceAccountId": "0000000000000"})),
        ("dispatchPoolId", json!({"dispatchPoolId": "0000000000000"})),
        ("clientId", json!({"clientId": "a b"})),
        ("timeoutSeconds", json!({"timeoutSeconds": 0})),
        ("maxRetries", json!({"maxRetries": 0})),
        ("retryStrategy", json!({"retryStrategy": "sometimes"})),
        ("sequence", json!({"sequence": 3_000_000_000_i64})),
        ("expiresAt", json!({"scheduledFor": "2124-01-02T00:00:00Z", "expiresAt": "2124-01-01T00:00:00Z"})),
        ("metadata[0].key", json!({"metadata": [{"key": "", "value": "v"}]})),
    ];
    for (field, with) in wrong {
        let mut request = json!({"code": "a", "targetUrl": "https://example.com/", "payload": "{}"});
        request.as_object_mut().expect("an object").extend(with.as_object().expect("an object").clone());
        match fixture.hub.create_job(&root(), new(request)).await {
            Err(Error::Invalid(faults)) => assert_eq!(faults[0].field, field),
            other => panic!("{field}: {other:?}"),
        }
    }
    assert_eq!(fixture.count("dispatch_jobs").await, 0);
}

async fn j15_a_name_that_resolves_to_a_private_address_is_refused(fixture: &Fixture) {
    let job = |target: &str| NewJob::to("a", target);
    match fixture.hub.create_job(&root(), job("https://inside.example/hook")).await {
        Err(Error::Invalid(faults)) => {
            assert_eq!(faults[0].pointer.as_deref(), Some("/targetUrl"));
            assert!(faults[0].message.contains("a private address"), "{faults:?}");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(fixture.count("dispatch_jobs").await, 0);
    // One allowed address is enough, and a name that does not resolve may do so later.
    for fine in ["https://both.example/", "https://nowhere.example/"] {
        fixture.hub.create_job(&root(), job(fine)).await.expect(fine);
    }
    let subscription = serde_json::from_value(json!({
        "code": "s", "name": "s", "eventCode": "a:b:c:d", "targetUrl": "https://inside.example/",
    }));
    let refused = fixture.hub.create_subscription(&root(), subscription.expect("a request")).await;
    assert!(matches!(refused, Err(Error::Invalid(_))), "{refused:?}");
}

async fn j17_the_creator_of_a_job_is_in_the_audit_log(fixture: &Fixture) {
    let (_, acme) = fixture.key(Role::Producer, &["acme"]).await;
    let keyed = || NewJob { idempotency_key: Some("k".to_owned()), ..plain("a") };
    let (made, _) = fixture.hub.create_job(&acme, keyed()).await.expect("a job");
    fixture.hub.create_job(&acme, keyed()).await.expect("the same job");
    fixture.hub.create_jobs(&acme, vec![keyed(), plain("b")]).await.expect("two answers");
    let lines = "postrider_audit WHERE entity = 'dispatchJob' AND action = 'create'";
    assert_eq!(fixture.count(lines).await, 2, "one for each job that was made");
    let line = format!("SELECT key_name FROM {lines} AND entity_id = '{}' AND client_id = 'acme'", made.id());
    assert_eq!(fixture.text(&line).await.as_deref(), Some(acme.name.as_str()));
}
