//! The e-mail pipeline: workers are killed while they hold rows of any stage, on MariaDB and on DynamoDB. Then
//! every mail is in a final state, the relay has it, the application received its callback, and the history is
//! complete and ordered.

pub mod audit;
pub mod ground;

use std::time::{Duration, Instant};

use postrider_services::{SmtpOptions, SmtpServer};
use rand::Rng as _;

use super::plan::Plan;
use super::told;
use crate::rig::home::Home;
use crate::rig::receiver::Receiver;
use crate::rig::wait::{PATIENCE, until};
use crate::rig::worker::Worker;
use audit::Evidence;
use ground::Ground;

const WORKERS: usize = 2;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn e10_no_mail_is_lost_on_mariadb_whoever_is_killed() {
    run(Plan::of_emails(60, 1000), "MariaDB").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn e10_no_mail_is_lost_on_dynamodb_whoever_is_killed() {
    // The emulator copies its whole table for every transaction.
    run(Plan::of_emails(30, 150), "DynamoDB").await;
}

async fn run(plan: Plan, name: &str) {
    eprintln!("crash emails on {name}: seed {} (POSTRIDER_CRASH_SEED replays its choices)", plan.seed);
    let mut home = Home::new();
    let relay = tokio::task::block_in_place(|| SmtpServer::start(&SmtpOptions::default()))
        .expect("the SMTP server starts");
    let receiver = Receiver::start(0, Duration::from_millis(20));
    let ground = if name == "MariaDB" { Ground::mariadb().await } else { Ground::dynamodb() };
    home.settle_in(&settings(&ground, &relay, &receiver));
    home.shop.run(&["migrate"]).fine();
    let base = home.shop.path("mnt");
    let payloads = audit::write_payloads(&base, plan.rows);
    ground.accept(&payloads).await;

    let begun = Instant::now();
    let mut workers: Vec<Worker> = (0..WORKERS).map(|_| home.start_worker()).collect();
    let mut dice = plan.dice(2);
    for _ in 0..plan.kills {
        let victim = dice.random_range(0..workers.len());
        let moment = Duration::from_millis(dice.random_range(0..=150));
        strike(&mut home, &mut workers, victim, moment).await;
    }
    until("every mail is at its end", plan.patience() + PATIENCE, || async {
        (ground.open().await? == 0).then_some(())
    })
    .await;
    for worker in workers {
        home.stop(worker).await;
    }
    let seconds = begun.elapsed().as_secs_f64();
    let evidence = Evidence {
        histories: ground.histories().await,
        mails: crate::rig::journal::read(&relay.journal()),
        calls: receiver.bodies(),
    };
    let findings = audit::compare(&evidence, plan.rows);
    eprintln!(
        "crash emails on {name}: {} mails, {} kills, {} steps back, {} second copies, {} second calls, {seconds:.1} s, seed {}",
        plan.rows, plan.kills, findings.steps_back, findings.copies, findings.calls, plan.seed
    );
    assert!(findings.breaches.is_empty(), "{}", told(&findings.breaches));
}

/// Kills the worker with SIGKILL while it holds rows of any stage, or without rows if none are left.
async fn strike(home: &mut Home, workers: &mut Vec<Worker>, victim: usize, moment: Duration) {
    let worker = &workers[victim];
    until("a worker is running", PATIENCE, || async { worker.log().contains("running").then_some(()) }).await;
    let end = Instant::now() + Duration::from_secs(3);
    while worker.held() == 0 && Instant::now() < end {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    tokio::time::sleep(moment).await;
    let worker = workers.swap_remove(victim);
    home.kill(worker);
    workers.push(home.start_worker());
}

/// Settings with short leases, and so many attempts that recovery never exhausts a mail.
fn settings(ground: &Ground, relay: &SmtpServer, receiver: &Receiver) -> String {
    let lane = |name: &str, stage: &str, transport: &str| {
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
base = "mnt"
callback_url = "{url}"
callback_secret = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3"
"#,
            url = receiver.url,
            lease = audit::LEASE,
        )
    };
    [
        format!("[stores.mail]\nurl = \"{}\"\n", ground.url()),
        format!("[transports.relay]\nurl = \"smtp://{}\"\nconnections = 4\n", relay.address()),
        "[transports.hooks]\nurl = \"webhook://?allow=127.0.0.0/8&plain_http=allowed\"\n".to_owned(),
        lane("intake", "intake", ""),
        lane("send", "send", "transport = \"relay\""),
        lane("sent", "sent_callback", "transport = \"hooks\""),
        lane("failed", "failed_callback", "transport = \"hooks\""),
    ]
    .concat()
}
