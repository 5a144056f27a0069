//! Jobs from the API through the queue to the receiver.

use serde_json::json;

use super::setup::{QueueSetup, nats, publish};
use crate::outbox::broker::Protocol;
use crate::support::database::Kind;
use crate::support::wait::{TIMEOUT, wait_until};
use crate::support::webhook_receiver::Reply;

async fn jobs_pass_through_the_queue(kind: Kind, protocol: Protocol) {
    let mut setup = QueueSetup::open(kind, protocol).await;
    let checked = setup.installation.sandbox.run(&["check"]).success();
    assert!(
        checked.stdout.contains("queue `jobs` is reachable and accepts the credentials"),
        "{}",
        checked.stdout
    );
    let (one, two) = (setup.start(), setup.start());
    let mut ids = Vec::new();
    for n in 0..10 {
        let (id, status) = setup.create_job(&one, &json!({}));
        assert_eq!(status, "QUEUED", "job {n}");
        ids.push(id);
    }
    let batch: Vec<_> = (0..30)
        .map(|_| json!({"code": "a:b:c:d", "targetUrl": setup.receiver.url("hook"), "payload": "{}"}))
        .collect();
    let (code, made) = setup.request(&two, "POST", "/api/v1/dispatch-jobs/batch", &json!({ "jobs": batch }));
    assert_eq!(code / 100, 2, "{made}");
    wait_until("all are delivered", TIMEOUT, || async {
        let done = setup.sql.count("dispatch_jobs WHERE status = 'COMPLETED' AND attempt_count = 1").await?;
        (done == 40).then_some(())
    })
    .await;
    assert_eq!(setup.receiver.journal().len(), 40, "each once");
    assert_eq!(setup.sql.count("dispatch_attempts").await, Some(40));
    let sum = |name: &str| one.metric(name) + two.metric(name);
    assert_eq!(sum("postrider_queue_published_total{"), 40);
    assert_eq!(
        sum("postrider_queue_pointers_total{lane=\"jobs\",fate=\"claimed\"}"),
        40,
        "none from the table"
    );
    wait_until("all are acknowledged", TIMEOUT, || async {
        (sum("postrider_queue_acknowledged_total{") >= 40).then_some(())
    })
    .await;
    for worker in [one, two] {
        setup.installation.stop(worker).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn j03_jobs_pass_through_nats_on_postgres() {
    jobs_pass_through_the_queue(Kind::Postgres, Protocol::Nats).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn j03_jobs_pass_through_amqp_on_mariadb() {
    jobs_pass_through_the_queue(Kind::MariaDb, Protocol::Amqp).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn j03_jobs_pass_through_sqs_on_sqlite() {
    jobs_pass_through_the_queue(Kind::Sqlite, Protocol::Sqs).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn j03_duplicate_and_invalid_pointers_have_no_effect() {
    let broker = nats();
    let mut setup = QueueSetup::open_at(Kind::Sqlite, &broker.url(), "", |_, _| Reply::status(200)).await;
    let worker = setup.start();
    let (id, _) = setup.create_job(&worker, &json!({}));
    assert_eq!(setup.wait_for_status(&id, "COMPLETED").await, 1);
    let (url, queue) = (broker.url(), setup.queue.clone());
    for _ in 0..3 {
        publish(&url, &queue, &format!("{{\"v\":1,\"id\":\"{id}\"}}")).await;
    }
    for body in ["hello", "{\"v\":2}", "{\"v\":1,\"id\":\"NOBODYKNOWS00\"}", &"x".repeat(100_000)] {
        publish(&url, &queue, body).await;
    }
    wait_until("all are looked at", TIMEOUT, || async {
        let lost = worker.metric("postrider_queue_pointers_total{lane=\"jobs\",fate=\"lost\"}");
        let strange = worker.metric("postrider_queue_pointers_total{lane=\"jobs\",fate=\"unreadable\"}");
        (lost == 4 && strange == 3).then_some(())
    })
    .await;
    assert_eq!(setup.receiver.requests_of(&id).len(), 1, "delivered once");
    let (last, _) = setup.create_job(&worker, &json!({}));
    setup.wait_for_status(&last, "COMPLETED").await;
    // Pointers are acknowledged during the delivery of their jobs.
    wait_until("the last is acknowledged", TIMEOUT, || async {
        (worker.metric("postrider_queue_acknowledged_total{") >= 9).then_some(())
    })
    .await;
    assert_eq!(worker.metric("postrider_queue_acknowledged_total{"), 9, "never a loop");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn j03_events_and_retries_pass_through_the_queue() {
    let broker = nats();
    let script = |_: &crate::support::webhook_receiver::ReceivedRequest, before| {
        Reply::status(if before == 0 { 404 } else { 200 })
    };
    let mut setup = QueueSetup::open_at(Kind::Postgres, &broker.url(), "", script).await;
    let worker = setup.start();
    let subscription = json!({
        "code": "orders", "name": "orders", "eventCode": "shop:orders:order:created",
        "targetUrl": setup.receiver.url("hook")
    });
    let (code, made) = setup.request(&worker, "POST", "/api/v1/subscriptions", &subscription);
    assert_eq!(code, 201, "{made}");
    let event = json!({
        "specversion": "1.0", "id": "e1", "source": "/shop", "type": "shop:orders:order:created", "data": {}
    });
    let (code, made) = setup.request(&worker, "POST", "/api/v1/events", &event);
    assert_eq!(code, 201, "{made}");
    let id = made["jobIds"][0].as_str().expect("a job").to_owned();
    assert_eq!(setup.wait_for_status(&id, "ERROR").await, 1, "refused for good");
    let (code, output) =
        setup.request(&worker, "POST", &format!("/api/v1/dispatch-jobs/{id}/retry"), &json!(null));
    assert_eq!(code, 200, "{output}");
    assert_eq!(setup.wait_for_status(&id, "COMPLETED").await, 2);
    assert!(worker.metric("postrider_queue_pointers_total{lane=\"jobs\",fate=\"claimed\"}") == 2);
}

/// The pollers of this lane run every ten minutes: the process that makes a job ready must publish it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn j03_a_job_that_becomes_ready_is_published_without_a_poller() {
    let broker = nats();
    let script = |request: &crate::support::webhook_receiver::ReceivedRequest, before| {
        let refused = match request.path.as_str() {
            "/once" => (before == 0).then_some(503),
            "/dead" => (before < 2).then_some(404),
            _ => None,
        };
        Reply::status(refused.unwrap_or(200))
    };
    let mut setup = QueueSetup::open_at(Kind::Sqlite, &broker.url(), "", script).await;
    setup.installation.write_settings(&setup.settings(&broker.url(), "10m"));
    let worker = setup.start();
    let once = json!({"targetUrl": setup.receiver.url("once"), "retryStrategy": "immediate"});
    let (once, _) = setup.create_job(&worker, &once);
    assert_eq!(setup.wait_for_status(&once, "COMPLETED").await, 2, "a retry without delay");
    let (dead, _) = setup.create_job(&worker, &json!({"targetUrl": setup.receiver.url("dead")}));
    assert_eq!(setup.wait_for_status(&dead, "ERROR").await, 1);
    let (code, output) =
        setup.request(&worker, "POST", "/api/v1/lanes/jobs/requeue", &json!({ "ids": [dead.clone()] }));
    assert_eq!((code, &output["moved"]), (200, &json!(1)), "{output}");
    wait_until("it was tried again", TIMEOUT, || async {
        (setup.receiver.requests_of(&dead).len() == 2).then_some(())
    })
    .await;
    setup.wait_for_status(&dead, "ERROR").await;
    wait_until("requeued at the terminal", TIMEOUT, || async {
        let output = setup.installation.sandbox.run(&["requeue", "jobs", &dead]);
        (output.code == Some(0) && output.stdout.trim() == "1").then_some(())
    })
    .await;
    setup.wait_for_status(&dead, "COMPLETED").await;
    let sent = setup
        .installation
        .sandbox
        .run(&["send", "webhook", &setup.receiver.url("hook"), "--code", "a:b:c:d", "--payload", "{}"])
        .success();
    assert_eq!(setup.wait_for_status(sent.stdout.trim(), "COMPLETED").await, 1);
    setup.installation.stop(worker).await;
}
