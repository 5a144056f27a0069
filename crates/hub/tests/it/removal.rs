//! Deleting subscriptions and pools, and retention.

use std::time::Duration;

use postrider_hub::Error;
use postrider_hub::access::Role;
use postrider_hub::pool::NewPool;
use postrider_hub::request::Request;
use postrider_hub::subscription::NewSubscription;

use crate::jobs::plain;
use crate::site::{Site, on_every_database, root};

on_every_database!(
    j17_a_pool_that_is_in_use_stays,
    j17_a_subscription_whose_jobs_wait_stays,
    old_lines_of_the_log_are_purged_where_that_is_said,
    j13_a_key_is_remembered_for_a_day_and_in_its_scope,
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

async fn j17_a_pool_that_is_in_use_stays(site: &Site) {
    let made = site.hub.create_pool(&root(), pool("p")).await.expect("a pool");
    let mut new = plain("a");
    new.dispatch_pool_id = Some(made.id.clone());
    let job = site.hub.create_job(&root(), new).await.expect("a job").1;
    for state in
        ["'QUEUED'", "'PENDING'", "'IN_PROGRESS'", "'ERROR', next_attempt_at = '2030-01-01 00:00:00'"]
    {
        site.run("UPDATE dispatch_jobs SET next_attempt_at = NULL").await;
        site.run(&format!("UPDATE dispatch_jobs SET status = {state}")).await;
        let refused = site.hub.delete_pool(&root(), &made.id).await;
        assert!(matches!(refused, Err(Error::Conflict { .. })), "{state}: {refused:?}");
    }
    site.hub.cancel_job(&root(), &job.id).await.expect("cancelled");
    let named = site.hub.create_subscription(&root(), subscription("s", Some(&made.id))).await;
    let named = named.expect("a subscription");
    assert!(matches!(site.hub.delete_pool(&root(), &made.id).await, Err(Error::Conflict { .. })));
    let stranger = site.actor(Role::Operator, &["acme"]).await;
    assert!(matches!(site.hub.delete_pool(&stranger, &made.id).await, Err(Error::Absent(_))));
    assert_eq!(site.count("postrider_audit WHERE action = 'delete'").await, 0);
    site.hub.delete_subscription(&root(), &named.id).await.expect("no jobs of it");
    site.hub.delete_pool(&root(), &made.id).await.expect("nobody needs it");
    assert!(matches!(site.hub.delete_pool(&root(), &made.id).await, Err(Error::Absent(_))));
    assert_eq!(site.count("dispatch_pools").await, 0);
    assert_eq!(site.count("postrider_audit WHERE action = 'delete'").await, 2);
}

async fn j17_a_subscription_whose_jobs_wait_stays(site: &Site) {
    let made = site.hub.create_subscription(&root(), subscription("s", None)).await.expect("made");
    let tested = site.hub.test_subscription(&root(), &made.id, None).await.expect("a job");
    let refused = site.hub.delete_subscription(&root(), &made.id).await;
    assert!(matches!(refused, Err(Error::Conflict { .. })), "{refused:?}");
    site.run("UPDATE dispatch_jobs SET status = 'COMPLETED'").await;
    site.hub.delete_subscription(&root(), &made.id).await.expect("its jobs are done");
    assert_eq!(site.count("dispatch_subscriptions").await, 0);
    let job = site.hub.job(&root(), &tested.job_ids[0]).await.expect("what was delivered stays on record");
    assert_eq!(job.subscription_id.as_deref(), Some(made.id.as_str()));
}

async fn old_lines_of_the_log_are_purged_where_that_is_said(site: &Site) {
    site.hub.create_pool(&root(), pool("a")).await.expect("a pool");
    site.run("UPDATE postrider_audit SET at = '2020-01-01 00:00:00'").await;
    site.hub.create_pool(&root(), pool("b")).await.expect("a pool");
    let before = site.count("postrider_audit").await;
    assert_eq!(site.hub.purge(None).await.expect("nothing"), 0);
    assert_eq!(site.count("postrider_audit").await, before, "kept, unless said otherwise");
    let month = Duration::from_hours(24 * 30);
    assert_eq!(site.hub.purge(Some(month)).await.expect("purged"), before - 1);
    assert_eq!(site.count("postrider_audit").await, 1, "what is young stays");
}

async fn j13_a_key_is_remembered_for_a_day_and_in_its_scope(site: &Site) {
    let (acme, other) = (site.actor(Role::Admin, &["acme"]).await, site.actor(Role::Admin, &["other"]).await);
    let request = Request::new("k".to_owned(), "{}");
    let hub = &site.hub;
    assert_eq!(hub.made_before(&acme, "pool", &request).await.expect("asked"), None);
    hub.remember(&acme, "pool", &request, "ONE").await.expect("noted");
    hub.remember(&acme, "pool", &request, "TWO").await.expect("the first stays");
    assert_eq!(hub.made_before(&acme, "pool", &request).await.expect("asked").as_deref(), Some("ONE"));
    assert_eq!(hub.made_before(&other, "pool", &request).await.expect("asked"), None);
    assert_eq!(hub.made_before(&acme, "subscription", &request).await.expect("asked"), None);
    let another = Request::new("k".to_owned(), "{\"a\":1}");
    let refused = hub.made_before(&acme, "pool", &another).await;
    assert!(matches!(refused, Err(Error::Conflict { field: Some("Idempotency-Key"), .. })), "{refused:?}");
    site.run("UPDATE postrider_requests SET created_at = '2020-01-01 00:00:00'").await;
    assert_eq!(hub.made_before(&acme, "pool", &another).await.expect("asked"), None, "a day has passed");
    hub.remember(&acme, "pool", &another, "THREE").await.expect("noted");
    assert_eq!(hub.made_before(&acme, "pool", &another).await.expect("asked").as_deref(), Some("THREE"));
    site.run("UPDATE postrider_requests SET created_at = '2020-01-01 00:00:00'").await;
    hub.purge(None).await.expect("purged");
    assert_eq!(site.count("postrider_requests").await, 0);
}
