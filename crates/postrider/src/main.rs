//! The binary: the command line, the settings, and the wiring of lanes to databases and targets.
//!
//! Owns: one file per command, and `wiring`, the only place that matches on backend kinds. Must not: hold rules
//! about rows; those belong to the contract and the engine.

mod api;
mod cli;
mod clocks;
mod commands;
mod contract_memory;
mod demo;
mod descriptors;
mod effective_settings;
mod emails;
mod failure;
mod first_key;
mod lag;
mod logs;
mod output;
mod preview;
mod progress;
mod settings;
mod text_table;
mod wiring;

use std::process::ExitCode;

use crate::cli::LogFormat;
use crate::failure::Failure;

/// Worker threads of the runtime. Few are enough: the work is waiting for networks, and each thread costs memory.
const THREADS: usize = 4;

fn main() -> ExitCode {
    let json = output::json_wanted();
    let cli = match cli::Cli::of_process() {
        Ok(cli) => cli,
        // clap returns `--help` and `--version` as errors, but they are not.
        Err(error) if json && error.use_stderr() => {
            let text = error.to_string();
            let text = text.trim_end().trim_start_matches("error: ");
            return Failure::Misuse(text.to_owned()).report(json);
        }
        Err(error) => error.exit(),
    };
    logs::start(if json { LogFormat::Json } else { cli.log_format }, &cli.command);
    let threads = std::thread::available_parallelism().map_or(2, std::num::NonZero::get).clamp(2, THREADS);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => {
            return Failure::Failed(format!("cannot start threads: {error}")).report(json);
        }
    };
    let done = runtime.block_on(commands::run_command(cli));
    // Blocking calls that are still running (a name lookup, a file) must not delay the exit.
    runtime.shutdown_background();
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(json),
    }
}
