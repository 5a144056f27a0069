//! The binary: the command line, the settings, and the wiring of lanes to databases and targets.
//!
//! Owns: one file a command; `wiring.rs`, the only place that matches on backend kinds. Must not: hold a rule about a
//! row: those are the contract's and the engine's.

mod api;
mod cli;
mod commands;
mod demo;
mod emails;
mod failure;
mod lag;
mod logs;
mod progress;
mod settings;
mod table;
mod wiring;

use std::process::ExitCode;

use clap::Parser as _;

/// Few: the work is waiting for networks, and each thread costs memory.
const THREADS: usize = 4;

fn main() -> ExitCode {
    let cli = cli::Cli::parse();
    logs::start(cli.log_format, &cli.command);
    let threads = std::thread::available_parallelism().map_or(2, std::num::NonZero::get).clamp(2, THREADS);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("error: can't start threads: {error}");
            return ExitCode::from(1);
        }
    };
    let done = runtime.block_on(commands::obey(cli));
    // Whatever still blocks (a name lookup, a file) must not hold up the exit.
    runtime.shutdown_background();
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
