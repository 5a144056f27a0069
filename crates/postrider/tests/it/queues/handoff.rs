//! Jobs from the API through the queue to the receiver.

use serde_json::json;

use super::site::{Site, nats, put};
use crate::outbox::broker::Protocol;
use crate::rig::database::Kind;
use crate::rig::hooks::Reply;
use crate::rig::wait::{PATIENCE, until};

async fn jobs_go_by_the_queue(kind: Kind, protocol: Protocol) {
    let mut site = Site::open(kind, protocol).await;
    let checked = site.home.shop.run(&["check"]).fine();
    assert!(checked.out.contains("queue `jobs` is reachable and accepts the credentials"), "{}", checked.out);
    let (one, two) = (site.start(), site.start());
    let mut ids = Vec::new();
    for n in 0..10 {
        let (id, status) = site.make(&one, &json!({}));
        assert_eq!(status, "QUEUED", "job {n}");
        ids.push(id);
    }
    let batch: Vec<_> = (0..30)
        .map(|_| json!({"code": "a:b:c:d", "targetUrl": site.receiver.url("hook"), "payload": "{}"}))
        .collect();
    let (code, made) = site.ask(&two, "POST", "/api/v1/dispatch-jobs/batch", &json!({ "jobs": batch }));
    assert_eq!(code / 100, 2, "{made}");
    until("all are delivered", PATIENCE, || async {
        let done = site.sql.count("dispatch_jobs WHERE status = 'COMPLETED' AND attempt_count = 1").await?;
        (done == 40).then_some(())
    })
    .await;
    assert_eq!(site.receiver.journal().len(), 40, "each once");
    assert_eq!(site.sql.count("dispatch_attempts").await, Some(40));
    let sum = |name: &str| one.figure(name) + two.figure(name);
    assert_eq!(sum("postrider_queue_published_total{"), 40);
    assert_eq!(
        sum("postrider_queue_pointers_total{lane=\"jobs\",fate=\"claimed\"}"),
        40,
        "none from the table"
    );
    until("all are acknowledged", PATIENCE, || async {
        (sum("postrider_queue_acknowledged_total{") >= 40).then_some(())
    })
    .await;
    for worker in [one, two] {
        site.home.stop(worker).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn j3_jobs_go_by_nats_on_postgres() {
    jobs_go_by_the_queue(Kind::Postgres, Protocol::Nats).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn j3_jobs_go_by_amqp_on_mariadb() {
    jobs_go_by_the_queue(Kind::MariaDb, Protocol::Amqp).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn j3_jobs_go_by_sqs_on_sqlite() {
    jobs_go_by_the_queue(Kind::Sqlite, Protocol::Sqs).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn j3_a_second_pointer_and_what_is_no_pointer_do_nothing() {
    let broker = nats();
    let mut site = Site::open_at(Kind::Sqlite, &broker.url(), "", |_, _| Reply::status(200)).await;
    let worker = site.start();
    let (id, _) = site.make(&worker, &json!({}));
    assert_eq!(site.becomes(&id, "COMPLETED").await, 1);
    let (url, queue) = (broker.url(), site.queue.clone());
    for _ in 0..3 {
        put(&url, &queue, &format!("{{\"v\":1,\"id\":\"{id}\"}}")).await;
    }
    for body in ["hello", "{\"v\":2}", "{\"v\":1,\"id\":\"NOBODYKNOWS00\"}", &"x".repeat(100_000)] {
        put(&url, &queue, body).await;
    }
    until("all are looked at", PATIENCE, || async {
        let lost = worker.figure("postrider_queue_pointers_total{lane=\"jobs\",fate=\"lost\"}");
        let strange = worker.figure("postrider_queue_pointers_total{lane=\"jobs\",fate=\"unreadable\"}");
        (lost == 4 && strange == 3).then_some(())
    })
    .await;
    assert_eq!(site.receiver.of(&id).len(), 1, "delivered once");
    let (last, _) = site.make(&worker, &json!({}));
    site.becomes(&last, "COMPLETED").await;
    // Pointers are acknowledged during the delivery of their jobs.
    until("the last is acknowledged", PATIENCE, || async {
        (worker.figure("postrider_queue_acknowledged_total{") >= 9).then_some(())
    })
    .await;
    assert_eq!(worker.figure("postrider_queue_acknowledged_total{"), 9, "never a loop");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn j3_events_and_retries_go_by_the_queue() {
    let broker = nats();
    let script = |_: &crate::rig::hooks::Arrival, before| Reply::status(if before == 0 { 404 } else { 200 });
    let mut site = Site::open_at(Kind::Postgres, &broker.url(), "", script).await;
    let worker = site.start();
    let subscription = json!({
        "code": "orders", "name": "orders", "eventCode": "shop:orders:order:created",
        "targetUrl": site.receiver.url("hook")
    });
    let (code, made) = site.ask(&worker, "POST", "/api/v1/subscriptions", &subscription);
    assert_eq!(code, 201, "{made}");
    let event = json!({
        "specversion": "1.0", "id": "e1", "source": "/shop", "type": "shop:orders:order:created", "data": {}
    });
    let (code, made) = site.ask(&worker, "POST", "/api/v1/events", &event);
    assert_eq!(code, 201, "{made}");
    let id = made["jobIds"][0].as_str().expect("a job").to_owned();
    assert_eq!(site.becomes(&id, "ERROR").await, 1, "refused for good");
    let (code, said) = site.ask(&worker, "POST", &format!("/api/v1/dispatch-jobs/{id}/retry"), &json!(null));
    assert_eq!(code, 200, "{said}");
    assert_eq!(site.becomes(&id, "COMPLETED").await, 2);
    assert!(worker.figure("postrider_queue_pointers_total{lane=\"jobs\",fate=\"claimed\"}") == 2);
}

/// The pollers of this lane run every ten minutes: the process that makes a job ready must publish it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn j3_who_makes_a_job_ready_does_not_wait_for_a_poller() {
    let broker = nats();
    let script = |arrival: &crate::rig::hooks::Arrival, before| {
        let refused = match arrival.path.as_str() {
            "/once" => (before == 0).then_some(503),
            "/dead" => (before < 2).then_some(404),
            _ => None,
        };
        Reply::status(refused.unwrap_or(200))
    };
    let mut site = Site::open_at(Kind::Sqlite, &broker.url(), "", script).await;
    site.home.settle_in(&site.settings(&broker.url(), "10m"));
    let worker = site.start();
    let once = json!({"targetUrl": site.receiver.url("once"), "retryStrategy": "immediate"});
    let (once, _) = site.make(&worker, &once);
    assert_eq!(site.becomes(&once, "COMPLETED").await, 2, "a retry without delay");
    let (dead, _) = site.make(&worker, &json!({"targetUrl": site.receiver.url("dead")}));
    assert_eq!(site.becomes(&dead, "ERROR").await, 1);
    let (code, said) =
        site.ask(&worker, "POST", "/api/v1/lanes/jobs/requeue", &json!({ "ids": [dead.clone()] }));
    assert_eq!((code, &said["moved"]), (200, &json!(1)), "{said}");
    until("it was tried again", PATIENCE, || async { (site.receiver.of(&dead).len() == 2).then_some(()) })
        .await;
    site.becomes(&dead, "ERROR").await;
    until("requeued at the terminal", PATIENCE, || async {
        let said = site.home.shop.run(&["requeue", "jobs", &dead]);
        (said.code == Some(0) && said.out.trim() == "1").then_some(())
    })
    .await;
    site.becomes(&dead, "COMPLETED").await;
    let sent = site
        .home
        .shop
        .run(&["send", "webhook", &site.receiver.url("hook"), "--code", "a:b:c:d", "--payload", "{}"])
        .fine();
    assert_eq!(site.becomes(sent.out.trim(), "COMPLETED").await, 1);
    site.home.stop(worker).await;
}
