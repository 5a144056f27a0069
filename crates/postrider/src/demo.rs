//! `demo`: runs an application, a mail server, a receiver of signed webhooks and real workers on a temporary SQLite
//! file, and ends when all rows are delivered.
//!
//! Owns: the course of the demo and its audit. Must not: help the workers, which are separate `postrider run`
//! processes; one of them is killed halfway. Invariant: the numbers of the summary were counted with plain SQL and by
//! the receivers, not by the workers.

mod application;
mod audit;
mod board;
mod receiver;
mod webhooks;
mod worker;

use std::path::Path;
use std::time::Duration;

use tokio::time::Instant;

use crate::cli::DemoArgs;
use crate::commands::Desk;
use crate::failure::Failure;
use crate::wiring::Absent;
use application::Application;
use audit::Audit;
use board::Board;
use receiver::Receiver;
use webhooks::Webhooks;
use worker::Worker;

/// Time limit of the whole demo; exceeding it is reported as a failure.
const LIMIT: Duration = Duration::from_mins(1);
const TICK: Duration = Duration::from_millis(500);

/// Runs the demo; returns an error if a rule of the audit does not hold or the time limit passes.
pub async fn run(args: &DemoArgs) -> Result<(), Failure> {
    let folder = tempfile::Builder::new().prefix("postrider-demo-").tempdir()?;
    let receiver = Receiver::start().await?;
    let settings = settings(receiver.port());
    let file = folder.path().join("postrider.toml");
    std::fs::write(&file, &settings)?;
    println_all("Settings for this demo (postrider.toml):", &settings);
    let account = make_tables(&file).await?;

    let webhooks = Webhooks::start(folder.path()).await?;
    let application = Application::open(folder.path(), args.rows, webhooks.url(), account).await?;
    let started = Instant::now();
    let mut told = Told { started, worker: Worker::start(folder.path(), 1)?, killed: None };
    let writing = tokio::spawn(application.clone().write_orders());
    let mut board = Board::new(args.rows);
    loop {
        tokio::time::sleep(TICK).await;
        let now = application.look().await?;
        board.show(started.elapsed(), &now, receiver.accepted());
        if told.killed.is_none() && now.sent >= u64::from(args.rows) * 3 / 10 {
            told.kill_and_replace(folder.path(), &application, &mut board).await?;
        }
        if writing.is_finished() && now.live() == 0 && application.webhooks_left().await? == 0 {
            break;
        }
        if started.elapsed() > LIMIT {
            return Err(Failure::Failed(format!(
                "the demo did not end within {LIMIT:?}; the last log lines of its worker:\n{}",
                told.worker.last_words()
            )));
        }
    }
    let elapsed = started.elapsed();
    let written = writing.await.map_err(|error| Failure::Failed(error.to_string()))??;
    told.worker.stop().await?;
    let held = told.killed.unwrap_or_default();
    Audit::take(&application, &receiver.journal(), &webhooks.told(), written, held).await?.tell(elapsed)
}

/// The events so far.
struct Told {
    started: Instant,
    worker: Worker,
    /// The customers whose rows the killed worker held.
    killed: Option<Vec<String>>,
}

impl Told {
    /// Kills a worker while it holds rows and starts another, to show that nothing is lost.
    async fn kill_and_replace(
        &mut self,
        folder: &Path,
        application: &Application,
        board: &mut Board,
    ) -> Result<(), Failure> {
        let patience = Instant::now() + Duration::from_secs(2);
        while application.held().await?.is_empty() && Instant::now() < patience {
            // Wait until the worker holds rows: killing an idle one would show nothing.
            tokio::time::sleep(Duration::from_millis(3)).await;
        }
        self.worker.kill().await?;
        let held = application.held().await?;
        let seconds = self.started.elapsed().as_secs_f64();
        let count = held.len();
        board.say(&format!(
            "{seconds:5.1} s  worker 1 killed with SIGKILL; it held {count} rows. Worker 2 starts."
        ));
        self.killed = Some(held);
        self.worker = Worker::start(folder, 2)?;
        Ok(())
    }
}

/// Creates the tables, and the account whose secret signs the webhooks.
async fn make_tables(file: &Path) -> Result<String, Failure> {
    let desk = Desk::open_with(Some(file.to_owned()), Absent::Make)?;
    desk.make_tables().await?;
    let account = webhooks::account(&desk).await?;
    desk.wiring.close().await;
    Ok(account)
}

/// Settings with short delays and leases, as the demo cannot wait for the usual ones.
fn settings(port: u16) -> String {
    format!(
        r#"[stores.main]
url = "sqlite:app.db"

[transports.relay]
url = "smtp://127.0.0.1:{port}"

[transports.webhooks]
url   = "webhook://"
allow = "127.0.0.0/8"              # the demo's receiver is on this machine, which is refused otherwise

[mail]
from = "Shop <shop@example.com>"

[lanes.jobs]
contract  = "dispatch_jobs"        # webhooks
transport = "webhooks"
poll      = "100ms"
sweep     = "500ms"
lease.for = "2s"

[lanes.mail]
contract  = "mail_outbox"          # the built-in contract; a table of your own is one TOML file
store     = "main"
transport = "relay"
poll      = "100ms"
sweep     = "500ms"

[lanes.mail.attempts]
max = 3

[lanes.mail.retry]
base   = "250ms"                   # 0.5 s, then 1 s, each +-20 %
jitter = 0.2

[lanes.mail.lease]
for = "2s"                         # a dead worker's rows are taken back after this
"#
    )
}

#[expect(clippy::print_stdout, reason = "the demo's output is its data")]
fn println_all(heading: &str, text: &str) {
    println!("{heading}\n");
    for line in text.lines() {
        println!("    {line}");
    }
    println!();
}
