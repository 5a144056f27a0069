//! `cargo xtask services`: starts the servers for manual use.

use std::fmt::Write as _;
use std::thread;
use std::time::Duration;

use postrider_services::{Brokers, Durability, Fleet};

use crate::run::{self, Failure, Result};

/// Starts all servers and waits for Ctrl-C, or runs `exec -- CMD…` with their variables.
pub fn command(words: &[&str]) -> Result {
    match words {
        [] => run_until_interrupted(),
        ["exec", "--", command, arguments @ ..] => {
            let (fleet, brokers) = start()?;
            run::run_with(&[fleet.variables(), brokers.variables()].concat(), command, arguments)
        }
        _ => Err(Failure::Misuse("services takes no arguments, or `exec -- CMD…`\n".into())),
    }
}

fn start() -> Result<(Fleet, Brokers)> {
    thread::scope(|scope| {
        let brokers = scope.spawn(Brokers::start);
        let fleet = Fleet::start(Durability::default());
        let brokers = brokers.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        Ok((fleet?, brokers?))
    })
}

fn run_until_interrupted() -> Result {
    let (mut fleet, mut brokers) = start()?;
    let mut exports = String::new();
    for (name, value) in [fleet.variables(), brokers.variables()].concat() {
        writeln!(exports, "export {name}='{value}'").expect("writing to a String cannot fail");
    }
    run::print(&exports);
    eprintln!("all servers are running; Ctrl-C stops them");
    // Ctrl-C ends this process at once, and the guardians then end the servers.
    loop {
        run::pause(Duration::from_secs(1));
        if let Some(name) = fleet.first_stopped_server().or_else(|| brokers.first_stopped_server()) {
            return Err(Failure::Failed(format!("{name} ended unexpectedly; the others are stopped too")));
        }
    }
}
