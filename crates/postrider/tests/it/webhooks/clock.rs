//! A worker whose clock differs from its database's.

use crate::rig::database::{Kind, fresh};
use crate::rig::home::Home;
use crate::rig::hooks::{Receiver, Reply};
use crate::rig::sql::Sql;
use crate::rig::wait::{PATIENCE, until};

/// Sets every `now()` of this database ten minutes ahead, as if the worker's clock were ten minutes behind.
async fn shift(sql: &Sql, url: &str) {
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
async fn g5_signatures_are_dated_by_the_databases_clock_and_the_difference_is_warned_about() {
    let receiver = Receiver::start(|_, _| Reply::status(200)).await;
    let mut home = Home::new();
    let (url, sql) = fresh(Kind::Postgres, "clock", &home.shop).await;
    shift(&sql, &url).await;
    home.settle_in(&format!(
        "[stores.main]\nurl = \"{url}\"\n[transports.hooks]\nurl = \"webhook://\"\nallow = \"127.0.0.0/8\"\n\
         [lanes.jobs]\ncontract = \"dispatch_jobs\"\npoll = \"50ms\"\n"
    ));
    home.shop.run(&["migrate"]).fine();
    let said = home.shop.run(&["check"]).fine().out;
    assert!(said.contains("the clock of store `main` is 600 s ahead of this machine's"), "{said}");
    let worker = home.start_worker();
    let sent =
        home.shop.run(&["send", "webhook", &receiver.url("x"), "--code", "a:b:c:d", "--payload", "{}"]);
    let id = sent.fine().out.trim().to_owned();
    let arrival = until("it arrives", PATIENCE, || async { receiver.of(&id).pop() }).await;
    let dated: i64 = arrival.header("webhook-timestamp").parse().unwrap();
    let now = sql.rows("SELECT CAST(floor(extract(epoch FROM pg_catalog.now())) AS text)").await.unwrap();
    let now: i64 = now[0][0].as_deref().unwrap().parse().unwrap();
    assert!((dated - now - 600).abs() <= 20, "dated {dated}, and it is {now} here");
    assert!(home.logs().contains("is 600 s ahead of this machine's"), "{}", home.logs());
    home.stop(worker).await;
}
