//! Notifications on one SQLite file: Python's sqlite3 writes in WAL mode while two workers drain it and are killed
//! repeatedly. Then each row is sent, its attempts equal its settled sends, and each row has one event.

use std::collections::BTreeMap;
use std::process::Stdio;
use std::time::{Duration, Instant};

use postrider_services::{SmtpOptions, SmtpServer};
use rand::Rng as _;

use super::parameters::CrashParameters;
use super::{all_settled, list_violations};
use crate::support::installation::Installation;
use crate::support::journal;
use crate::support::sql::Sql;
use crate::support::wait::{TIMEOUT, wait_until};
use crate::support::worker::Worker;

/// Most rows that a worker holds.
const HELD: u64 = 30;
const TABLE: &str = "open_event_notifications";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn n12_python_writes_while_two_workers_drain_one_file_and_are_killed() {
    let parameters = CrashParameters::of_notify();
    eprintln!("crash notify: seed {} (POSTRIDER_CRASH_SEED replays its choices)", parameters.seed);
    let mut installation = Installation::new();
    let relay = tokio::task::block_in_place(|| SmtpServer::start(&SmtpOptions::default()))
        .expect("the SMTP server starts");
    installation.write_settings(&settings(&relay));
    installation.sandbox.run(&["migrate"]).success();
    let sql = Sql::sqlite(&installation.sandbox.path("app.db"));

    let started = Instant::now();
    let producer = write(&installation, &parameters);
    let mut workers = vec![installation.start_worker(), installation.start_worker()];
    let mut rng = parameters.rng(2);
    for _ in 0..parameters.kills {
        let victim = rng.random_range(0..workers.len());
        kill_one(
            &mut installation,
            &mut workers,
            victim,
            Duration::from_millis(rng.random_range(100..=1500)),
        )
        .await;
    }
    let output = tokio::task::spawn_blocking(|| producer.wait_with_output()).await.expect("it is waited for");
    let output = output.expect("the producer ends");
    assert!(
        output.status.success(),
        "the producer met an error:\n{}",
        String::from_utf8_lossy(&output.stderr)
    );

    let open = format!("{TABLE} WHERE fanout_status = 'pending'");
    all_settled(&sql, &open, parameters.timeout()).await;
    for worker in workers {
        installation.stop(worker).await;
    }
    let seconds = started.elapsed().as_secs_f64();
    let (surplus, violations) = audit(&sql, &relay, &parameters).await;
    let logs = installation.logs();
    assert!(!logs.contains("database is locked"), "no worker may show SQLITE_BUSY to its user");
    eprintln!(
        "crash notify: {} rows, {} kills, {surplus} second copies, {seconds:.1} s, seed {}",
        parameters.rows, parameters.kills, parameters.seed
    );
    assert!(violations.is_empty(), "{}", list_violations(&violations));
}

fn write(installation: &Installation, parameters: &CrashParameters) -> std::process::Child {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/crash/notify/producer.py");
    std::process::Command::new("python3")
        .arg(script)
        .arg(installation.sandbox.path("app.db"))
        .args([parameters.rows.to_string(), parameters.seed.to_string()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("python3 starts")
}

/// Kills the worker with SIGKILL some time after it has started to deliver, and starts another.
async fn kill_one(
    installation: &mut Installation,
    workers: &mut Vec<Worker>,
    victim: usize,
    moment: Duration,
) {
    let worker = &workers[victim];
    wait_until("a worker is running", TIMEOUT, || async { worker.log().contains("running").then_some(()) })
        .await;
    tokio::time::sleep(moment).await;
    let worker = workers.swap_remove(victim);
    installation.kill(worker);
    workers.push(installation.start_worker());
}

async fn audit(sql: &Sql, relay: &SmtpServer, parameters: &CrashParameters) -> (u64, Vec<String>) {
    let query = format!(
        "SELECT contact_value, fanout_status, CAST(fanout_attempts AS TEXT), locked_by, CAST(locked_at AS TEXT), \
         json_extract(error, '$.status'), json_extract(error, '$.providerMessageId'), \
         CAST((SELECT count(*) FROM subscription_events e WHERE e.subscription_id = n.subscription_id \
         AND event_type = 'notify_sent' AND section_status = 'Open') AS TEXT) \
         FROM {TABLE} n JOIN subscriptions USING (subscription_id)"
    );
    let rows = sql.rows(&query).await.expect("the table can be read");
    let entries = journal::read(&relay.journal());
    let mut mails: BTreeMap<&str, u64> = BTreeMap::new();
    for entry in &entries {
        *mails.entry(entry.to[0].as_str()).or_default() += 1;
    }
    let mut violations = Vec::new();
    if rows.len() != parameters.rows as usize {
        violations.push(format!("{} rows were written, the table has {}", parameters.rows, rows.len()));
    }
    for row in &rows {
        let text: Vec<&str> = row.iter().map(|cell| cell.as_deref().unwrap_or("NULL")).collect();
        let right = matches!(text[1..], ["sent", "1", "NULL", "NULL", "sent", id, "1"] if id != "NULL");
        if !right || mails.get(text[0]).is_none_or(|copies| *copies == 0) {
            violations.push(format!("{text:?}, {:?} mails", mails.get(text[0])));
        }
    }
    let surplus = (entries.len() as u64).saturating_sub(u64::from(parameters.rows));
    if surplus > u64::from(parameters.kills) * HELD {
        violations.push(format!(
            "{surplus} second copies after {} kills of workers that hold {HELD}",
            parameters.kills
        ));
    }
    (surplus, violations)
}

/// Settings with the shortest lock that the schema allows.
fn settings(relay: &SmtpServer) -> String {
    format!(
        r#"
[stores.main]
url = "sqlite:app.db"

[transports.relay]
url = "smtp://{}"
connections = 4

[mail]
from = "Seats <seats@example.org>"
manage_url = "https://seats.example.org/s/{{subscription_id}}"
unsubscribe_url = "https://seats.example.org/u?t={{token}}"

[lanes.notify]
contract = "open_event_notifications"
concurrency = 4
batch = 15
held = {HELD}
poll = "200ms"
sweep = "1s"
timeout = "20s"
lease.for = "30s"
"#,
        relay.address()
    )
}
