//! Webhooks: three processes, each worker and server, and a receiver that refuses some jobs at first. One application
//! writes jobs into the table, another creates some over the API. Processes are killed at random moments, the database
//! is stopped twice; then table, attempts and the receiver's journal must agree to the attempt, every requested job
//! must exist once, and no job of a group may have arrived before its predecessor was accepted.

mod api_client;
mod audit;
pub mod broker;
mod jobs;

use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::time::{Duration, Instant};

use super::faults::FaultInjector;
use super::parameters::CrashParameters;
use super::setup::CrashSetup;
use super::{all_settled, producer};
use crate::crash;
use crate::support::database::Kind;
use crate::support::webhook_receiver::{Reply, WebhookReceiver};
use api_client::ApiClient;
use broker::Broker;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn j02_no_job_is_lost_on_postgres_and_every_attempt_is_recorded() {
    run(Kind::Postgres).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn j02_no_job_is_lost_on_mariadb_and_every_attempt_is_recorded() {
    run(Kind::MariaDb).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn j02_no_job_is_lost_on_sqlite_and_every_attempt_is_recorded() {
    run(Kind::Sqlite).await;
}

/// After a third of the run the queue's broker is killed and restarted as well; see `cargo xtask crash --queue`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn j03_no_job_is_lost_when_the_queue_is_stopped_as_well() {
    let (broker, kind) = Broker::wanted();
    run_with(kind, Some(broker)).await;
}

async fn run(kind: Kind) {
    run_with(kind, None).await;
}

async fn run_with(kind: Kind, mut broker: Option<Broker>) {
    let parameters = CrashParameters::of_mail(kind);
    eprintln!("crash webhook {kind:?}: seed {} (POSTRIDER_CRASH_SEED replays its choices)", parameters.seed);
    let receiver = WebhookReceiver::start(|request, before| {
        // Answer slowly, so that a kill hits some deliveries in flight.
        let refused = before == 0 && jobs::is_refused_at_first(&request.body);
        Reply::status(if refused { 503 } else { 200 }).after(Duration::from_millis(60))
    })
    .await;
    let (mut setup, url) = CrashSetup::open(kind).await;
    setup.installation.write_settings(&settings(&url, broker.as_ref()));
    setup.installation.sandbox.run(&["migrate"]).success();

    let started = Instant::now();
    let kills = Arc::new(AtomicU32::new(0));
    let writing = producer::write(
        setup.sql.clone(),
        jobs::jobs(receiver.url("hook")),
        parameters.clone(),
        Arc::clone(&kills),
    );
    let producer = tokio::spawn(writing);
    let key = setup.installation.sandbox.run(&["key", "create", "crash", "--role", "admin"]).success();
    let client = ApiClient {
        folder: setup.installation.sandbox.path(""),
        key: key.stdout.trim().to_owned(),
        url: receiver.url("hook"),
    };
    let creating = tokio::spawn(client.create_jobs(parameters.clone(), Arc::clone(&kills)));
    let name = broker.as_ref().map_or("", Broker::name);
    let mut faults = FaultInjector::start(&mut setup, &parameters);
    if let Some(broker) = &mut broker {
        faults.with_broker(broker);
    }
    faults.inject(&kills).await;
    producer.await.expect("the producer wrote all its jobs");
    let requests = creating.await.expect("the client created all its jobs");
    let workers = faults.finish();

    all_settled(
        &setup.sql,
        "dispatch_jobs WHERE status NOT IN ('COMPLETED', 'CANCELLED')",
        parameters.timeout(),
    )
    .await;
    for worker in workers {
        setup.installation.stop(worker).await;
    }
    let seconds = started.elapsed().as_secs_f64();
    let findings = audit::compare(&setup.sql, &receiver, parameters.rows).await;
    eprintln!(
        "crash webhook {kind:?} {name}: {} jobs, {} kills and 2 more while the database was away, {} attempts of lost workers, \
         {} refused, {} second copies, {seconds:.1} s, seed {}",
        parameters.rows, parameters.kills, findings.lost, findings.refused, findings.copies, parameters.seed
    );
    eprintln!(
        "crash webhook {kind:?} {name}: {} of them over the API, {} requests again under their key, {} answered PENDING",
        requests.made, requests.again, requests.pending
    );
    assert!(findings.violations.is_empty(), "{}", crash::list_violations(&findings.violations));
}

/// Settings with short leases, so that recovery takes seconds instead of minutes; no circuit breaker, because the
/// receiver refuses some jobs on purpose.
fn settings(url: &str, broker: Option<&Broker>) -> String {
    // Find jobs that a dead worker marked but did not publish within seconds, not within a quarter of an hour.
    let queue = broker.map_or_else(String::new, |broker| {
        format!(
            "queue = \"jobs\"\n[lanes.jobs.sweep.pending]\nevery = \"1s\"\n\
             [lanes.jobs.sweep.stale]\nevery = \"2s\"\nolder_than = \"8s\"\n\
             [queues.jobs]\nurl = \"{}\"\nqueue = \"jobs\"\npatience = \"5s\"\n",
            broker.url()
        )
    });
    format!(
        r#"
[stores.main]
url = "{url}"

[transports.hooks]
url = "webhook://"
allow = "127.0.0.0/8"
breaker_failures = 1000000
per_host = 8

[lanes.jobs]
contract = "dispatch_jobs"
batch = 40
held = 80
poll = "200ms"
sweep.every = "1s"
timeout = "10s"
lease.for = "6s"
{queue}"#
    )
}
