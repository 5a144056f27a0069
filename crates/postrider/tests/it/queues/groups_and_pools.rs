//! Ordered groups and pools: no queue can guarantee their rules, so their jobs stay in the table.

use std::time::Duration;

use serde_json::json;

use super::setup::{QueueSetup, nats};
use crate::support::database::Kind;
use crate::support::wait::{TIMEOUT, wait_until};
use crate::support::webhook_receiver::Reply;

async fn order_and_limits_hold(kind: Kind) {
    let broker = nats();
    let script = |request: &crate::support::webhook_receiver::ReceivedRequest, before| {
        let refused = before == 0 && request.path == "/first";
        Reply::status(if refused { 503 } else { 200 }).after(Duration::from_millis(40))
    };
    let mut setup = QueueSetup::open_at(kind, &broker.url(), "", script).await;
    let (one, two) = (setup.start(), setup.start());
    let pool = json!({"code": "narrow", "name": "narrow", "concurrency": 1});
    let (code, pool) = setup.request(&one, "POST", "/api/v1/dispatch-pools", &pool);
    assert_eq!(code, 201, "{pool}");
    let pool = pool["id"].as_str().expect("an id").to_owned();
    let mut ordered = Vec::new();
    for n in 0..12 {
        let path = if n == 3 { "first" } else { "hook" };
        let job = json!({
            "targetUrl": setup.receiver.url(path), "messageGroup": "g", "mode": "BLOCK_ON_ERROR",
            "sequence": n, "retryStrategy": "[1]"
        });
        ordered.push(setup.create_job(if n % 2 == 0 { &one } else { &two }, &job).0);
        let job = json!({"targetUrl": setup.receiver.url("pool"), "dispatchPoolId": pool});
        setup.create_job(&two, &job);
        setup.create_job(&one, &json!({}));
    }
    wait_until("all are delivered", TIMEOUT, || async {
        (setup.sql.count("dispatch_jobs WHERE status = 'COMPLETED'").await? == 36).then_some(())
    })
    .await;
    let journal = setup.receiver.journal();
    let taken: Vec<&str> = journal
        .iter()
        .filter(|request| request.answered.is_some_and(|(_, status)| status == 200))
        .map(crate::support::webhook_receiver::ReceivedRequest::id)
        .filter(|id| ordered.iter().any(|known| known == id))
        .collect();
    assert_eq!(taken, ordered, "in their order");
    let mut pooled: Vec<(u64, u64)> = journal
        .iter()
        .filter(|request| request.path == "/pool")
        .map(|request| (request.arrived, request.answered.expect("it was answered").0))
        .collect();
    pooled.sort_unstable();
    assert!(pooled.windows(2).all(|two| two[0].1 < two[1].0), "one at a time: {pooled:?}");
    for worker in [one, two] {
        setup.installation.stop(worker).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn j08_j09_order_and_limits_hold_with_a_queue_on_postgres() {
    order_and_limits_hold(Kind::Postgres).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn j08_j09_order_and_limits_hold_with_a_queue_on_mariadb() {
    order_and_limits_hold(Kind::MariaDb).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn j08_j09_order_and_limits_hold_with_a_queue_on_sqlite() {
    order_and_limits_hold(Kind::Sqlite).await;
}
