//! Deleting subscriptions and pools, and retention.

use std::time::Duration;

use postrider_hub::Error;
use postrider_hub::access::Role;
use postrider_hub::idempotency::IdempotentRequest;
use postrider_hub::pool::NewPool;
use postrider_hub::subscription::NewSubscription;

use crate::fixture::{Fixture, on_every_database, root};
use crate::jobs::plain;

on_every_database!(
    j17_a_pool_in_use_cannot_be_deleted,
    j17_a_subscription_with_waiting_jobs_cannot_be_deleted,
    old_audit_entries_are_purged_if_configured,
    j13_an_idempotency_key_is_stored_for_a_day_per_scope,
);

fn pool(code: &str) -> NewPool {
    let (code, name) = (code.to_owned(), "A pool".to_owned());
    NewPool { code, name, description: None, client_id: None, concurrency: Some(1), rate_per_minute: None }
}

fn subscription(code: &str, pool: Option<&str>) -> NewSubscription {
    let text = serde_json::json!({"code": code, "name": "S", "eventCode": "a:b:c:d",
        "targetUrl": "https://example.com/", "dispatchPoolId": pool});
    serde_json::from_value(text).expect("a subscription")
}

async fn j17_a_pool_in_use_cannot_be_deleted(fixture: &Fixture) {
    let made = fixture.hub.create_pool(&root(), pool("p")).await.expect("a pool");
    let mut new = plain("a");
    new.dispatch_pool_id = Some(made.id.clone());
    let job = fixture.hub.create_job(&root(), new).await.expect("a job").1;
    for state in
        ["'QUEUED'", "'PENDING'", "'IN_PROGRESS'", "'ERROR', next_attempt_at = '2030-01-01 00:00:00'"]
    {
        fixture.run("UPDATE dispatch_jobs SET next_attempt_at = NULL").await;
        fixture.run(&format!("UPDATE dispatch_jobs SET status = {state}")).await;
        let refused = fixture.hub.delete_pool(&root(), &made.id).await;
        assert!(matches!(refused, Err(Error::Conflict { .. })), "{state}: {refused:?}");
    }
    fixture.hub.cancel_job(&root(), &job.id).await.expect("cancelled");
    let named = fixture.hub.create_subscription(&root(), subscription("s", Some(&made.id))).await;
    let named = named.expect("a subscription");
    assert!(matches!(fixture.hub.delete_pool(&root(), &made.id).await, Err(Error::Conflict { .. })));
    let stranger = fixture.actor(Role::Operator, &["acme"]).await;
    assert!(matches!(fixture.hub.delete_pool(&stranger, &made.id).await, Err(Error::NotFound(_))));
    assert_eq!(fixture.count("postrider_audit WHERE action = 'delete'").await, 0);
    fixture.hub.delete_subscription(&root(), &named.id).await.expect("no jobs of it");
    fixture.hub.delete_pool(&root(), &made.id).await.expect("nobody needs it");
    assert!(matches!(fixture.hub.delete_pool(&root(), &made.id).await, Err(Error::NotFound(_))));
    assert_eq!(fixture.count("dispatch_pools").await, 0);
    assert_eq!(fixture.count("postrider_audit WHERE action = 'delete'").await, 2);
}

async fn j17_a_subscription_with_waiting_jobs_cannot_be_deleted(fixture: &Fixture) {
    let made = fixture.hub.create_subscription(&root(), subscription("s", None)).await.expect("made");
    let tested = fixture.hub.test_subscription(&root(), &made.id, None).await.expect("a job");
    let refused = fixture.hub.delete_subscription(&root(), &made.id).await;
    assert!(matches!(refused, Err(Error::Conflict { .. })), "{refused:?}");
    fixture.run("UPDATE dispatch_jobs SET status = 'COMPLETED'").await;
    fixture.hub.delete_subscription(&root(), &made.id).await.expect("its jobs are done");
    assert_eq!(fixture.count("dispatch_subscriptions").await, 0);
    let job = fixture.hub.job(&root(), &tested.job_ids[0]).await.expect("what was delivered stays on record");
    assert_eq!(job.subscription_id.as_deref(), Some(made.id.as_str()));
}

async fn old_audit_entries_are_purged_if_configured(fixture: &Fixture) {
    fixture.hub.create_pool(&root(), pool("a")).await.expect("a pool");
    fixture.run("UPDATE postrider_audit SET at = '2020-01-01 00:00:00'").await;
    fixture.hub.create_pool(&root(), pool("b")).await.expect("a pool");
    let before = fixture.count("postrider_audit").await;
    assert_eq!(fixture.hub.purge(None).await.expect("nothing"), 0);
    assert_eq!(fixture.count("postrider_audit").await, before, "kept, unless said otherwise");
    let month = Duration::from_hours(24 * 30);
    assert_eq!(fixture.hub.purge(Some(month)).await.expect("purged"), before - 1);
    assert_eq!(fixture.count("postrider_audit").await, 1, "what is young stays");
}

async fn j13_an_idempotency_key_is_stored_for_a_day_per_scope(fixture: &Fixture) {
    let (acme, other) =
        (fixture.actor(Role::Admin, &["acme"]).await, fixture.actor(Role::Admin, &["other"]).await);
    let request = IdempotentRequest::new("k".to_owned(), "{}");
    let hub = &fixture.hub;
    assert_eq!(hub.find_created(&acme, "pool", &request).await.expect("asked"), None);
    hub.store_request(&acme, "pool", &request, "ONE").await.expect("noted");
    hub.store_request(&acme, "pool", &request, "TWO").await.expect("the first stays");
    assert_eq!(hub.find_created(&acme, "pool", &request).await.expect("asked").as_deref(), Some("ONE"));
    assert_eq!(hub.find_created(&other, "pool", &request).await.expect("asked"), None);
    assert_eq!(hub.find_created(&acme, "subscription", &request).await.expect("asked"), None);
    let another = IdempotentRequest::new("k".to_owned(), "{\"a\":1}");
    let refused = hub.find_created(&acme, "pool", &another).await;
    assert!(matches!(refused, Err(Error::Conflict { field: Some("Idempotency-Key"), .. })), "{refused:?}");
    fixture.run("UPDATE postrider_requests SET created_at = '2020-01-01 00:00:00'").await;
    assert_eq!(hub.find_created(&acme, "pool", &another).await.expect("asked"), None, "a day has passed");
    hub.store_request(&acme, "pool", &another, "THREE").await.expect("noted");
    assert_eq!(hub.find_created(&acme, "pool", &another).await.expect("asked").as_deref(), Some("THREE"));
    fixture.run("UPDATE postrider_requests SET created_at = '2020-01-01 00:00:00'").await;
    hub.purge(None).await.expect("purged");
    assert_eq!(fixture.count("postrider_requests").await, 0);
}
