//! Measures Postrider and its baselines in one run. `cargo xtask bench NAME` starts the servers and runs this program
//! in release mode. Every case is interleaved with its baseline, for three rounds; the figures are medians.

mod binary;
mod console;
mod emails;
mod groups;
mod lane;
mod latency;
mod mail;
mod memory;
mod notify;
mod outbox;
mod peers;
mod postgres;
mod report;
mod round_trip;
mod scale;
mod servers;
mod store;
mod svix_like;
mod webhook;

use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::report::Report;

#[derive(Parser)]
#[command(name = "postrider-bench", about = "Measure Postrider and its baselines in one run")]
struct Arguments {
    #[command(subcommand)]
    bench: Bench,
    /// Print one JSON object per line instead of a table
    #[arg(long, global = true)]
    json: bool,
    /// Number of interleaved rounds; the figures are medians
    #[arg(long, global = true, default_value_t = 3)]
    rounds: usize,
}

#[derive(Subcommand)]
enum Bench {
    /// Measure rows/s claimed and settled through the whole engine, compared with a bare loop and pgbench
    Store {
        /// Number of rows per round
        #[arg(long, default_value_t = 100_000)]
        rows: u64,
        /// Number of rows of the large backlog, at which the latency of claims is measured
        #[arg(long, default_value_t = 1_000_000)]
        backlog: u64,
    },
    /// Measure rows/s of ordered groups at the store, with and without 100,000 rows of held groups in front
    Groups {
        /// Number of rows per round
        #[arg(long, default_value_t = 60_000)]
        rows: u64,
    },
    /// Measure mails/s to a fast SMTP sink, compared with Postfix's smtp-source
    Mail {
        #[arg(long, default_value_t = 20_000)]
        rows: u64,
        /// Number of SMTP connections of both
        #[arg(long, default_value_t = 8)]
        connections: usize,
    },
    /// Measure the time from insert to delivery on PostgreSQL at 100 rows/s; with --rtt, mails/s with a distant database
    Latency {
        #[arg(long, default_value_t = 20)]
        seconds: u64,
        /// Measure mails/s with a database this many milliseconds away, compared with one that is 1 ms away; separate
        /// several by commas
        #[arg(long, value_name = "MS", value_delimiter = ',')]
        rtt: Vec<u64>,
        /// Number of mails per round, with --rtt
        #[arg(long, default_value_t = 60_000)]
        rows: u64,
    },
    /// Measure the memory of the binary: idle, and while it drains a large backlog
    Memory {
        #[arg(long, default_value_t = 1_000_000)]
        rows: u64,
    },
    /// Measure notifications/s on SQLite, with a no-op sender and with an SMTP sink
    Notify {
        #[arg(long, default_value_t = 20_000)]
        rows: u64,
    },
    /// Measure rows/s from PostgreSQL to a Kafka-protocol broker and to NATS, compared with a bare producer of the same library
    Outbox {
        #[arg(long, default_value_t = 100_000)]
        rows: u64,
        /// Number of rows of blocked keys in front
        #[arg(long, default_value_t = 100_000)]
        blocked: u64,
    },
    /// Measure mails/s through the e-mail pipeline on MariaDB, and count the requests per mail to DynamoDB
    Emails {
        #[arg(long, default_value_t = 5000)]
        rows: u64,
    },
    /// Measure jobs/s from PostgreSQL to an HTTP sink, compared with a bare client, the engine alone, and targets that hang
    Webhook {
        #[arg(long, default_value_t = 30_000)]
        rows: u64,
    },
    /// Measure jobs/s, events/s and e-mails/s that the API accepts, one a request over 64 connections
    Api {
        #[arg(long, default_value_t = 30_000)]
        rows: u64,
    },
    /// Measure the console's calls with millions of rows in a lane, and the load of an open overview on the database
    Console {
        #[arg(long, default_value_t = 5_000_000)]
        rows: u64,
    },
    /// Measure the delivery time of ten jobs of one client while a million jobs of another wait in PostgreSQL
    Fairness {
        #[arg(long, default_value_t = 1_000_000)]
        rows: u64,
    },
    /// Measure no-op rows/s beside graphile-worker, pg-boss, PgQueuer and pgbench on one PostgreSQL server, and mails/s
    /// beside nodemailer and smtp-source
    Peers {
        /// Number of rows per round; the mails are a fifth as many
        #[arg(long, default_value_t = 100_000)]
        rows: u64,
    },
    /// Measure how the cost of a row grows with instances, with lanes and with the backlog, on PostgreSQL
    Scale {
        /// Number of rows that a case drains; the backlogs are a tenth, as many, and ten times as many
        #[arg(long, default_value_t = 100_000)]
        rows: u64,
        /// Measure a backlog of a hundred times as many rows as well
        #[arg(long)]
        long: bool,
        /// Draw the results as SVG files in this folder
        #[arg(long, value_name = "FOLDER")]
        plots: Option<PathBuf>,
    },
    /// Measure events/s from the API, one per request over 64 connections, to the recorded attempts of their webhooks
    SvixLike {
        /// Number of events per round
        #[arg(long, default_value_t = 30_000)]
        rows: u64,
        /// Number of subscriptions that match each event
        #[arg(long, default_value_t = 1)]
        subscriptions: u64,
    },
    /// Run all benches with their defaults
    All,
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let arguments = Arguments::parse();
    let report = Report { json: arguments.json };
    let rounds = arguments.rounds.max(1);
    match arguments.bench {
        Bench::Store { rows, backlog } => store::run(report, rounds, rows, backlog).await,
        Bench::Groups { rows } => groups::run(report, rounds, rows).await,
        Bench::Mail { rows, connections } => mail::run(report, rounds, rows, connections).await,
        Bench::Latency { seconds, rtt, .. } if rtt.is_empty() => latency::run(report, rounds, seconds).await,
        Bench::Latency { rtt, rows, .. } => round_trip::run(report, rounds, rows, &rtt).await,
        Bench::Memory { rows } => memory::run(report, rows).await,
        Bench::Notify { rows } => notify::run(report, rounds, rows).await,
        Bench::Emails { rows } => emails::run(report, rounds, rows).await,
        Bench::Outbox { rows, blocked } => outbox::run(report, rounds, rows, blocked).await,
        Bench::Webhook { rows } => webhook::run(report, rounds, rows).await,
        Bench::Api { rows } => webhook::run_api(report, rounds, rows).await,
        Bench::Console { rows } => console::run(report, rows).await,
        Bench::Fairness { rows } => webhook::fairness::run(report, rows).await,
        Bench::Peers { rows } => peers::run(report, rounds, rows).await,
        Bench::Scale { rows, long, plots } => scale::run(report, rounds, rows, long, plots.as_deref()).await,
        Bench::SvixLike { rows, subscriptions } => svix_like::run(report, rounds, rows, subscriptions).await,
        Bench::All => {
            store::run(report, rounds, 100_000, 1_000_000).await;
            groups::run(report, rounds, 60_000).await;
            mail::run(report, rounds, 20_000, 8).await;
            latency::run(report, rounds, 20).await;
            round_trip::run(report, rounds, 60_000, &[100]).await;
            memory::run(report, 1_000_000).await;
            outbox::run(report, rounds, 100_000, 100_000).await;
            notify::run(report, rounds, 20_000).await;
            emails::run(report, rounds, 5000).await;
            webhook::run(report, rounds, 30_000).await;
            console::run(report, 5_000_000).await;
            webhook::fairness::run(report, 1_000_000).await;
            svix_like::run(report, rounds, 30_000, 1).await;
            peers::run(report, rounds, 100_000).await;
            scale::run(report, rounds, 100_000, false, None).await;
        }
    }
}
