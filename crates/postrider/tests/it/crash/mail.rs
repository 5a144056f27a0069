//! Mail: three workers and a real SMTP server. Workers are killed at random moments, the database is stopped twice;
//! then the table and the relay's journal must agree.

mod audit;
mod mails;
mod setup;

use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::time::Instant;

use super::faults::FaultInjector;
use super::parameters::CrashParameters;
use super::{all_settled, list_violations, producer};
use crate::support::database::Kind;
use setup::MailSetup;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_row_is_lost_on_postgres_when_workers_are_killed() {
    run(Kind::Postgres).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_row_is_lost_on_mariadb_when_workers_are_killed() {
    run(Kind::MariaDb).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_row_is_lost_on_sqlite_when_workers_are_killed() {
    run(Kind::Sqlite).await;
}

async fn run(kind: Kind) {
    let parameters = CrashParameters::of_mail(kind);
    eprintln!("crash {kind:?}: seed {} (POSTRIDER_CRASH_SEED replays its choices)", parameters.seed);
    let mut setup = MailSetup::open(kind).await;
    setup.base.installation.sandbox.run(&["migrate"]).success();

    let started = Instant::now();
    let kills = Arc::new(AtomicU32::new(0));
    let producer = tokio::spawn(producer::write(
        setup.base.sql.clone(),
        mails::mails(),
        parameters.clone(),
        Arc::clone(&kills),
    ));
    let mut faults = FaultInjector::start(&mut setup.base, &parameters);
    faults.inject(&kills).await;
    producer.await.expect("the producer wrote all its rows");
    let workers = faults.finish();

    all_settled(&setup.base.sql, "mail_outbox WHERE status NOT IN ('sent', 'failed')", parameters.timeout())
        .await;
    for worker in workers {
        setup.base.installation.stop(worker).await;
    }
    let seconds = started.elapsed().as_secs_f64();
    let findings = audit::compare(&setup, parameters.rows).await;
    eprintln!(
        "crash {kind:?}: {} rows, {} kills and 2 more while the database was away, {} reclaimed, {} duplicates, {seconds:.1} s, seed {}",
        parameters.rows, parameters.kills, findings.reclaimed, findings.duplicates, parameters.seed
    );
    assert!(findings.violations.is_empty(), "{}", list_violations(&findings.violations));
}
