//! The real binary behind a real PgBouncer in transaction mode: an ordered outbox lane, a mail lane, and the API with
//! its jobs, over fewer server connections than they would use.

use postrider_services::{PgBouncer, PoolMode};
use serde_json::json;
use sqlx::{Connection as _, PgConnection};

use crate::api::request;
use crate::databases::{fresh, server};
use crate::sandbox::{Sandbox, eventually};
use crate::webhooks::receiver;

const ROWS: i64 = 120;

fn settings(url: &str, pooler: &str) -> String {
    format!(
        "[stores.main]\nurl = \"{url}\"\n{pooler}\n\
         [transports.out]\nurl = \"file:outbox\"\n[transports.hooks]\nurl = \"webhook://?allow=127.0.0.0/8\"\n\
         [mail]\nfrom = \"shop@example.com\"\n\
         [lanes.mail]\ncontract = \"mail_outbox\"\ntransport = \"out\"\npoll = \"50ms\"\n\
         [lanes.events]\ncontract = \"outbox\"\ntransport = \"out\"\npoll = \"50ms\"\n\
         [lanes.jobs]\ncontract = \"dispatch_jobs\"\ntransport = \"hooks\"\npoll = \"50ms\"\n"
    )
}

async fn number(direct: &mut PgConnection, sql: &'static str) -> i64 {
    sqlx::query_scalar(sql).fetch_one(direct).await.unwrap()
}

async fn delivers_all(name: &str, pooler: &str) {
    let url = fresh(&server("POSTRIDER_TEST_POSTGRES"), name).await;
    let port = url::Url::parse(&url).unwrap().port().unwrap();
    let started = tokio::task::spawn_blocking(move || PgBouncer::start(port, PoolMode::Transaction)).await;
    let bouncer = started.unwrap().unwrap();
    let mut pooled = url::Url::parse(&url).unwrap();
    pooled.set_port(Some(bouncer.port())).unwrap();
    let sandbox = Sandbox::new(Some(&settings(pooled.as_str(), pooler)));
    sandbox.run(&["migrate"]).success();
    sandbox.run(&["check"]).success();
    let mut direct = PgConnection::connect(&url).await.unwrap();
    for sql in [
        "INSERT INTO mail_outbox (to_addresses, subject, body_text, status, retry_count, next_attempt_at, created_at) \
         SELECT '[\"a@example.com\"]', 'Hello', 'Text', 'queued', 0, now(), now() FROM generate_series(1, 120)",
        "INSERT INTO outbox (topic, partition_key, payload, status, retry_count, version, created_at) \
         SELECT 'deals', 'key' || (n % 7), '{}', 'PENDING', 0, 0, \
         now() - interval '1 minute' + n * interval '1 ms' FROM generate_series(1, 120) AS n",
    ] {
        sqlx::raw_sql(sql).execute(&mut direct).await.unwrap();
    }
    let (target, _received) = receiver();
    let running = sandbox.start();
    let key = running.first_key();
    let job = json!({"code": "a", "targetUrl": format!("{target}/200"), "payload": "{}"});
    for _ in 0..20 {
        eventually("the API takes a job", || {
            (request(&running, &key, "POST", "/api/v1/dispatch-jobs", &job).0 == 201).then_some(())
        });
    }
    for (sql, wanted) in [
        ("SELECT count(*) FROM mail_outbox WHERE status = 'sent'", ROWS),
        ("SELECT count(*) FROM outbox WHERE status = 'DELIVERED'", ROWS),
        ("SELECT count(*) FROM dispatch_jobs WHERE status = 'COMPLETED'", 20),
    ] {
        let mut left = 800;
        while number(&mut direct, sql).await != wanted {
            left -= 1;
            assert!(left > 0, "{sql}: {}\n{}", number(&mut direct, sql).await, running.log());
            tokio::time::sleep(std::time::Duration::from_millis(25)).await;
        }
    }
    assert_eq!(sandbox.mails(), 120, "each mail once");
    let log = bouncer.log().unwrap();
    assert!(!log.contains("prepared statement"), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn all_lanes_and_the_api_work_behind_a_detected_transaction_pooler() {
    delivers_all("pooler_found", "").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn all_lanes_and_the_api_work_behind_a_configured_transaction_pooler() {
    delivers_all("pooler_set", "pooler = \"transaction\"").await;
}
