//! A worker whose clock differs from its database's.

use crate::support::database::{Kind, fresh};
use crate::support::installation::Installation;
use crate::support::sql::Sql;
use crate::support::wait::{TIMEOUT, wait_until};
use crate::support::webhook_receiver::{Reply, WebhookReceiver};

/// Sets every `now()` of this database ten minutes ahead, as if the worker's clock were ten minutes behind.
async fn shift_database_clock(sql: &Sql, url: &str) {
    let database = url.rsplit('/').next().unwrap().split('?').next().unwrap();
    sql.must("CREATE SCHEMA shifted").await;
    sql.must(
        "CREATE FUNCTION shifted.now() RETURNS timestamptz LANGUAGE sql STABLE \
         AS $$ SELECT pg_catalog.now() + interval '10 minutes' $$",
    )
    .await;
    sql.must(&format!("ALTER DATABASE {database} SET search_path = public, shifted, pg_catalog")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn g05_signatures_use_the_databases_clock_and_a_difference_is_logged() {
    let receiver = WebhookReceiver::start(|_, _| Reply::status(200)).await;
    let mut installation = Installation::new();
    let (url, sql) = fresh(Kind::Postgres, "clock", &installation.sandbox).await;
    shift_database_clock(&sql, &url).await;
    installation.write_settings(&format!(
        "[stores.main]\nurl = \"{url}\"\n[transports.hooks]\nurl = \"webhook://\"\nallow = \"127.0.0.0/8\"\n\
         [lanes.jobs]\ncontract = \"dispatch_jobs\"\npoll = \"50ms\"\n"
    ));
    installation.sandbox.run(&["migrate"]).success();
    let output = installation.sandbox.run(&["check"]).success().stdout;
    assert!(output.contains("the clock of store `main` is 600 s ahead of this machine's"), "{output}");
    let worker = installation.start_worker();
    let sent = installation.sandbox.run(&[
        "send",
        "webhook",
        &receiver.url("x"),
        "--code",
        "a:b:c:d",
        "--payload",
        "{}",
    ]);
    let id = sent.success().stdout.trim().to_owned();
    let request = wait_until("it arrives", TIMEOUT, || async { receiver.requests_of(&id).pop() }).await;
    let dated: i64 = request.header("webhook-timestamp").parse().unwrap();
    let now = sql.rows("SELECT CAST(floor(extract(epoch FROM pg_catalog.now())) AS text)").await.unwrap();
    let now: i64 = now[0][0].as_deref().unwrap().parse().unwrap();
    assert!((dated - now - 600).abs() <= 20, "dated {dated}, and it is {now} here");
    assert!(installation.logs().contains("is 600 s ahead of this machine's"), "{}", installation.logs());
    installation.stop(worker).await;
}
