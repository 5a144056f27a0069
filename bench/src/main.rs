//! Measures Postrider and its baselines in one run. `cargo xtask bench NAME` starts the servers and runs this program
//! in release mode. Every case is interleaved with its baseline, for three rounds; the figures are medians.

mod console;
mod emails;
mod groups;
mod lane;
mod latency;
mod mail;
mod memory;
mod notify;
mod outbox;
mod product;
mod report;
mod round_trip;
mod servers;
mod store;
mod webhook;

use clap::{Parser, Subcommand};

use crate::report::Report;

#[derive(Parser)]
#[command(name = "postrider-bench", about = "Measures Postrider beside what it is compared with, in one run")]
struct Arguments {
    #[command(subcommand)]
    bench: Bench,
    /// One JSON object a line, instead of a table.
    #[arg(long, global = true)]
    json: bool,
    /// Interleaved rounds; the figures are medians.
    #[arg(long, global = true, default_value_t = 3)]
    rounds: usize,
}

#[derive(Subcommand)]
enum Bench {
    /// Rows/s claimed and settled through the whole engine, beside a bare loop and pgbench.
    Store {
        /// Rows per round.
        #[arg(long, default_value_t = 100_000)]
        rows: u64,
        /// Rows of the large backlog for the claim's latency.
        #[arg(long, default_value_t = 1_000_000)]
        backlog: u64,
    },
    /// Rows/s of ordered groups at the store, beside the same with 100,000 rows of held groups in front.
    Groups {
        /// Rows per round.
        #[arg(long, default_value_t = 60_000)]
        rows: u64,
    },
    /// Mails/s to a fast SMTP sink, beside the sink's own source.
    Mail {
        #[arg(long, default_value_t = 20_000)]
        rows: u64,
        /// SMTP connections, ours and the source's.
        #[arg(long, default_value_t = 8)]
        connections: usize,
    },
    /// Insert to hand-over on PostgreSQL at a steady 100 rows/s; with --rtt, mails/s with a distant database.
    Latency {
        #[arg(long, default_value_t = 20)]
        seconds: u64,
        /// Measure mails/s with a database this many milliseconds away, beside one that is 1 ms away. A comma
        /// separates several.
        #[arg(long, value_name = "MS", value_delimiter = ',')]
        rtt: Vec<u64>,
        /// Mails per round, with --rtt.
        #[arg(long, default_value_t = 10_000)]
        rows: u64,
    },
    /// Memory of the real binary: idle, and draining a large backlog.
    Memory {
        #[arg(long, default_value_t = 1_000_000)]
        rows: u64,
    },
    /// Notifications/s on SQLite, with a sender that does nothing and with an SMTP sink.
    Notify {
        #[arg(long, default_value_t = 20_000)]
        rows: u64,
    },
    /// Rows/s from PostgreSQL to a Kafka-protocol broker and to NATS, beside a bare producer of the same library.
    Outbox {
        #[arg(long, default_value_t = 100_000)]
        rows: u64,
        /// Rows of blocked keys in front.
        #[arg(long, default_value_t = 100_000)]
        blocked: u64,
    },
    /// Mails/s through the e-mail pipeline on MariaDB, and what a mail asks of DynamoDB.
    Emails {
        #[arg(long, default_value_t = 5000)]
        rows: u64,
    },
    /// Jobs/s from PostgreSQL to an HTTP sink, beside a bare client, the engine alone, and targets that hang.
    Webhook {
        #[arg(long, default_value_t = 30_000)]
        rows: u64,
    },
    /// How long the console's calls take with millions of rows in a lane, and what an open overview costs the database.
    Console {
        #[arg(long, default_value_t = 5_000_000)]
        rows: u64,
    },
    /// Seconds for ten jobs of one client while a million of another wait in PostgreSQL.
    Fairness {
        #[arg(long, default_value_t = 1_000_000)]
        rows: u64,
    },
    /// All of them, with their defaults.
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
        Bench::Console { rows } => console::run(report, rows).await,
        Bench::Fairness { rows } => webhook::fairness::run(report, rows).await,
        Bench::All => {
            store::run(report, rounds, 100_000, 1_000_000).await;
            groups::run(report, rounds, 60_000).await;
            mail::run(report, rounds, 20_000, 8).await;
            latency::run(report, rounds, 20).await;
            round_trip::run(report, rounds, 10_000, &[100]).await;
            memory::run(report, 1_000_000).await;
            outbox::run(report, rounds, 100_000, 100_000).await;
            notify::run(report, rounds, 20_000).await;
            emails::run(report, rounds, 5000).await;
            webhook::run(report, rounds, 30_000).await;
            console::run(report, 5_000_000).await;
            webhook::fairness::run(report, 1_000_000).await;
        }
    }
}
