//! Mail: three workers and a real SMTP server. Workers are killed at random moments, the database is stopped twice;
//! then the table and the relay's journal must agree.

mod audit;
mod mails;
mod site;

use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::time::Instant;

use super::plan::Plan;
use super::storm::Storm;
use super::{all_settled, producer, told};
use crate::rig::database::Kind;
use site::Site;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_row_is_lost_on_postgres_whoever_is_killed() {
    run(Kind::Postgres).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_row_is_lost_on_mariadb_whoever_is_killed() {
    run(Kind::MariaDb).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_row_is_lost_on_sqlite_whoever_is_killed() {
    run(Kind::Sqlite).await;
}

async fn run(kind: Kind) {
    let plan = Plan::of_mail(kind);
    eprintln!("crash {kind:?}: seed {} (POSTRIDER_CRASH_SEED replays its choices)", plan.seed);
    let mut site = Site::open(kind).await;
    site.ground.home.shop.run(&["migrate"]).fine();

    let begun = Instant::now();
    let kills = Arc::new(AtomicU32::new(0));
    let producer = tokio::spawn(producer::write(
        site.ground.sql.clone(),
        mails::mails(),
        plan.clone(),
        Arc::clone(&kills),
    ));
    let mut storm = Storm::begin(&mut site.ground, &plan);
    storm.rage(&kills).await;
    producer.await.expect("the producer wrote all its rows");
    let workers = storm.calm();

    all_settled(&site.ground.sql, "mail_outbox WHERE status NOT IN ('sent', 'failed')", plan.patience())
        .await;
    for worker in workers {
        site.ground.home.stop(worker).await;
    }
    let seconds = begun.elapsed().as_secs_f64();
    let findings = audit::compare(&site, plan.rows).await;
    eprintln!(
        "crash {kind:?}: {} rows, {} kills and 2 more while the database was away, {} reclaimed, {} duplicates, {seconds:.1} s, seed {}",
        plan.rows, plan.kills, findings.reclaimed, findings.duplicates, plan.seed
    );
    assert!(findings.breaches.is_empty(), "{}", told(&findings.breaches));
}
