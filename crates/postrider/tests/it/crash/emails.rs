//! The e-mail pipeline: workers are killed while they hold rows of any stage, on MariaDB and on DynamoDB. Then
//! every mail is in a final state, the relay has it, the application received its callback, and the history is
//! complete and ordered.

pub mod audit;
pub mod table;

use std::time::{Duration, Instant};

use postrider_services::{SmtpOptions, SmtpServer};
use rand::Rng as _;

use super::list_violations;
use super::parameters::CrashParameters;
use crate::support::callback_receiver::CallbackReceiver;
use crate::support::installation::Installation;
use crate::support::wait::{TIMEOUT, wait_until};
use crate::support::worker::Worker;
use audit::Evidence;
use table::EmailTable;

const WORKERS: usize = 2;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn e10_no_mail_is_lost_on_mariadb_when_workers_are_killed() {
    run(CrashParameters::of_emails(60, 1000), "MariaDB").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn e10_no_mail_is_lost_on_dynamodb_when_workers_are_killed() {
    // The emulator copies its whole table for every transaction.
    run(CrashParameters::of_emails(30, 150), "DynamoDB").await;
}

async fn run(parameters: CrashParameters, name: &str) {
    eprintln!("crash emails on {name}: seed {} (POSTRIDER_CRASH_SEED replays its choices)", parameters.seed);
    let mut installation = Installation::new();
    let relay = tokio::task::block_in_place(|| SmtpServer::start(&SmtpOptions::default()))
        .expect("the SMTP server starts");
    let receiver = CallbackReceiver::start(0, Duration::from_millis(20));
    let table = if name == "MariaDB" { EmailTable::mariadb().await } else { EmailTable::dynamodb() };
    installation.write_settings(&settings(&table, &relay, &receiver));
    installation.sandbox.run(&["migrate"]).success();
    let base = installation.sandbox.path("mnt");
    let payloads = audit::write_payloads(&base, parameters.rows);
    table.accept(&payloads).await;

    let started = Instant::now();
    let mut workers: Vec<Worker> = (0..WORKERS).map(|_| installation.start_worker()).collect();
    let mut rng = parameters.rng(2);
    for _ in 0..parameters.kills {
        let victim = rng.random_range(0..workers.len());
        let moment = Duration::from_millis(rng.random_range(0..=150));
        kill_one(&mut installation, &mut workers, victim, moment).await;
    }
    wait_until("every mail is at its end", parameters.timeout() + TIMEOUT, || async {
        (table.open().await? == 0).then_some(())
    })
    .await;
    for worker in workers {
        installation.stop(worker).await;
    }
    let seconds = started.elapsed().as_secs_f64();
    let evidence = Evidence {
        histories: table.histories().await,
        mails: crate::support::journal::read(&relay.journal()),
        calls: receiver.bodies(),
    };
    let findings = audit::compare(&evidence, parameters.rows);
    eprintln!(
        "crash emails on {name}: {} mails, {} kills, {} steps back, {} second copies, {} second calls, {seconds:.1} s, seed {}",
        parameters.rows,
        parameters.kills,
        findings.steps_back,
        findings.copies,
        findings.calls,
        parameters.seed
    );
    assert!(findings.violations.is_empty(), "{}", list_violations(&findings.violations));
}

/// Kills the worker with SIGKILL while it holds rows of any stage, or without rows if none are left.
async fn kill_one(
    installation: &mut Installation,
    workers: &mut Vec<Worker>,
    victim: usize,
    moment: Duration,
) {
    let worker = &workers[victim];
    wait_until("a worker is running", TIMEOUT, || async { worker.log().contains("running").then_some(()) })
        .await;
    let end = Instant::now() + Duration::from_secs(3);
    while worker.held() == 0 && Instant::now() < end {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    tokio::time::sleep(moment).await;
    let worker = workers.swap_remove(victim);
    installation.kill(worker);
    workers.push(installation.start_worker());
}

/// Settings with short leases, and so many attempts that recovery never exhausts a mail.
fn settings(table: &EmailTable, relay: &SmtpServer, receiver: &CallbackReceiver) -> String {
    let base = "base = \"mnt\"".to_owned();
    let calls = format!(
        "callback_url = \"{}\"\ncallback_secret = \"whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3\"",
        receiver.url
    );
    let lane = |name: &str, stage: &str, transport: &str, emails: &str| {
        format!(
            r#"
[lanes.{name}]
contract = "emails"
stage = "{stage}"
store = "mail"
{transport}
concurrency = 4
batch = 10
held = 20
poll = "200ms"
sweep = "1s"
timeout = "20s"
lease.for = "{lease}s"
attempts.max = 60
retry.base = "1s"
retry.cap = "2s"
[lanes.{name}.emails]
{emails}
"#,
            lease = audit::LEASE,
        )
    };
    [
        format!("[stores.mail]\nurl = \"{}\"\n", table.url()),
        format!("[transports.relay]\nurl = \"smtp://{}\"\nconnections = 4\n", relay.address()),
        "[transports.hooks]\nurl = \"webhook://?allow=127.0.0.0/8&plain_http=allowed\"\n".to_owned(),
        lane("intake", "intake", "", &base),
        lane("send", "send", "transport = \"relay\"", &base),
        lane("sent", "sent_callback", "transport = \"hooks\"", &calls),
        lane("failed", "failed_callback", "transport = \"hooks\"", &calls),
    ]
    .concat()
}
