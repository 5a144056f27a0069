//! Records: rows of 50 keys, four workers, a real broker. Two workers are killed while they hold rows, the broker is
//! stopped and restarted; then an independent client reads all records. Nothing may be lost, the first copies of a
//! key's records are in order, and a second copy is allowed only if its row counted another attempt or the broker
//! stopped before it acknowledged the first.

mod audit;
pub mod broker;
mod faults;
mod producer;
mod setup;

use std::time::Instant;

use super::parameters::CrashParameters;
use super::{all_settled, list_violations};
use crate::support::database::Kind;
use broker::Protocol;
use faults::FaultInjector;
use producer::Producer;
use setup::OutboxSetup;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o08_order_and_every_row_survive_kills_from_postgres_to_nats() {
    run(Kind::Postgres, Protocol::Nats, 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o08_order_and_every_row_survive_kills_from_postgres_to_rabbitmq() {
    run(Kind::Postgres, Protocol::Amqp, 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o08_order_and_every_row_survive_kills_from_postgres_to_kafka() {
    run(Kind::Postgres, Protocol::Kafka, 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o08_order_and_every_row_survive_kills_from_postgres_to_sqs() {
    run(Kind::Postgres, Protocol::Sqs, 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o08_order_and_every_row_survive_kills_from_mariadb_to_kafka() {
    run(Kind::MariaDb, Protocol::Kafka, 2).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o08_order_and_every_row_survive_kills_from_sqlite_to_nats() {
    run(Kind::Sqlite, Protocol::Nats, 2).await;
}

async fn run(kind: Kind, protocol: Protocol, share: u32) {
    let parameters = CrashParameters::of_outbox(kind, share);
    let name = format!("crash {kind:?} to {protocol:?}");
    eprintln!("{name}: seed {} (POSTRIDER_CRASH_SEED replays its choices)", parameters.seed);
    let mut setup = OutboxSetup::open(kind, protocol).await;
    setup.installation.sandbox.run(&["migrate"]).success();

    let started = Instant::now();
    let producer = Producer::start(&setup, &parameters);
    let mut faults = FaultInjector::start(&mut setup, &parameters, producer);
    faults.inject().await;
    let (workers, kills) = faults.finish().await;

    all_settled(&setup.sql, "outbox WHERE status NOT IN ('DELIVERED', 'FAILED')", parameters.timeout()).await;
    for worker in workers {
        setup.installation.stop(worker).await;
    }
    let seconds = started.elapsed().as_secs_f64();
    let cut = reclaimed_rows(&setup.installation.logs());
    let findings = audit::compare(&setup, parameters.rows).await;
    eprintln!(
        "{name}: {} rows, {kills} kills, one restart of the broker; {cut} leases cut, {} attempts spent in all, {} second copies, \
         {} repeated by the broker itself, {seconds:.1} s, seed {}",
        parameters.rows, findings.spent, findings.copies, findings.echoes, parameters.seed
    );
    assert!(findings.violations.is_empty(), "{}", list_violations(&findings.violations));
    assert!(cut > 0, "no kill cut a lease: the run shows nothing");
}

/// The number of rows whose lease ran out, begun or only held, as the workers logged when they reclaimed them.
fn reclaimed_rows(logs: &str) -> u64 {
    let lines = logs.lines().filter_map(|line| line.split_once("reclaimed rows with expired leases"));
    let counts = lines.flat_map(|(_, counts)| counts.split_whitespace());
    let rows = counts.filter_map(|count| count.strip_prefix("retried=").or(count.strip_prefix("free=")));
    rows.filter_map(|rows| rows.parse::<u64>().ok()).sum()
}
