//! `demo`: runs an application, a mail server, a receiver of signed webhooks and real workers on a temporary SQLite
//! file, and ends when all rows are delivered.
//!
//! Owns: the course of the demo and its audit. Must not: help the workers, which are separate `postrider run`
//! processes; one of them is killed halfway. Invariant: the numbers of the summary were counted with plain SQL and by
//! the receivers, not by the workers.

mod application;
mod audit;
mod display;
mod mail_server;
mod webhook_receiver;
mod worker;

use std::path::Path;
use std::time::Duration;

use tokio::time::Instant;

use crate::cli::DemoArgs;
use crate::commands::CommandContext;
use crate::failure::Failure;
use crate::wiring::MissingFile;
use application::Application;
use audit::Audit;
use display::Display;
use mail_server::MailServer;
use webhook_receiver::WebhookReceiver;
use worker::Worker;

/// Time limit of the whole demo; exceeding it is reported as a failure.
const LIMIT: Duration = Duration::from_mins(1);
const TICK: Duration = Duration::from_millis(500);

/// Runs the demo; returns an error if a rule of the audit does not hold or the time limit passes.
pub async fn run(args: &DemoArgs) -> Result<(), Failure> {
    let folder = tempfile::Builder::new().prefix("postrider-demo-").tempdir()?;
    let mail_server = MailServer::start().await?;
    let settings = settings(mail_server.port());
    let file = folder.path().join("postrider.toml");
    std::fs::write(&file, &settings)?;
    print_indented("Settings for this demo (postrider.toml):", &settings);
    let account = Box::pin(create_tables(&file)).await?;

    let webhooks = WebhookReceiver::start(folder.path()).await?;
    let application = Application::open(folder.path(), args.rows, webhooks.url(), account).await?;
    let started = Instant::now();
    let mut workers = DemoWorkers { started, worker: Worker::start(folder.path(), 1)?, killed: None };
    let writing = tokio::spawn(application.clone().write_orders());
    let mut display = Display::new(args.rows);
    loop {
        tokio::time::sleep(TICK).await;
        let now = application.count_rows().await?;
        display.show(started.elapsed(), &now, mail_server.accepted());
        if workers.killed.is_none() && now.sent >= u64::from(args.rows) * 3 / 10 {
            workers.kill_and_replace(folder.path(), &application, &mut display).await?;
        }
        if writing.is_finished() && now.live() == 0 && application.webhooks_left().await? == 0 {
            break;
        }
        if started.elapsed() > LIMIT {
            return Err(Failure::Failed(format!(
                "the demo did not end within {LIMIT:?}; the last log lines of its worker:\n{}",
                workers.worker.last_log_lines()
            )));
        }
    }
    let elapsed = started.elapsed();
    let written = writing.await.map_err(|error| Failure::Failed(error.to_string()))??;
    workers.worker.stop().await?;
    let held = workers.killed.unwrap_or_default();
    Audit::collect(&application, &mail_server.journal(), &webhooks.received(), written, held)
        .await?
        .print(elapsed)
}

/// The workers of the demo.
struct DemoWorkers {
    started: Instant,
    worker: Worker,
    /// The customers whose rows the killed worker held.
    killed: Option<Vec<String>>,
}

impl DemoWorkers {
    /// Kills a worker while it holds rows and starts another, to show that nothing is lost.
    async fn kill_and_replace(
        &mut self,
        folder: &Path,
        application: &Application,
        display: &mut Display,
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
        display.print_line(&format!(
            "{seconds:5.1} s  worker 1 killed with SIGKILL; it held {count} rows. Worker 2 starts."
        ));
        self.killed = Some(held);
        self.worker = Worker::start(folder, 2)?;
        Ok(())
    }
}

/// Creates the tables, and the account whose secret signs the webhooks.
async fn create_tables(file: &Path) -> Result<String, Failure> {
    let context = CommandContext::open_with(Some(file.to_owned()), MissingFile::Create)?;
    context.create_tables().await?;
    let account = webhook_receiver::account(&context).await?;
    context.wiring.close().await;
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
fn print_indented(heading: &str, text: &str) {
    println!("{heading}\n");
    for line in text.lines() {
        println!("    {line}");
    }
    println!();
}
