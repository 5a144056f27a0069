//! `cargo xtask bench NAME`: builds the bench and the product in release mode, starts the servers, and runs the bench.

use postrider_services::{Durability, Error, Fleet, Ministack, Nats, Peers, Tansu};

use crate::run::{self, Failure, Result};

/// Runs the bench with these arguments.
pub fn command(words: &[&str]) -> Result {
    if words.first().is_none_or(|name| name.starts_with('-')) {
        return Err(Failure::Misuse("bench needs a name, such as `store` or `mail`\n".into()));
    }
    run::cargo(&["build", "--release", "--package", "postrider-bench", "--package", "postrider"])?;
    // Benches measure commits that are flushed to the disk.
    let fleet = Fleet::start(Durability::Stock)?;
    let mut variables = fleet.variables();
    let brokers = matches!(words[0], "outbox" | "all").then(|| Ok((Nats::start("")?, Tansu::start()?)));
    let brokers: Option<(Nats, Tansu)> = brokers.transpose().map_err(|error: Error| Failure::from(error))?;
    if let Some((nats, tansu)) = &brokers {
        variables.push(("POSTRIDER_TEST_NATS", nats.url()));
        variables.push(("POSTRIDER_TEST_KAFKA", tansu.url()));
    }
    let emulator = matches!(words[0], "emails" | "all").then(Ministack::start).transpose()?;
    variables.extend(emulator.iter().map(|emulator| ("POSTRIDER_TEST_DYNAMODB", emulator.dynamodb_url())));
    if matches!(words[0], "peers" | "all") {
        variables.extend(Peers::install()?.variables());
    }
    variables.push(("PATH", fleet.search_path()));
    // Not with `cargo run`: for a single package it would choose other features and rebuild everything.
    run::run_with(&variables, &built()?, words)
}

/// The path of the bench's binary.
fn built() -> Result<String> {
    let metadata = run::metadata(run::workspace(), &["--no-deps"])?;
    let folder = metadata["target_directory"].as_str().unwrap_or("target");
    Ok(format!("{folder}/release/postrider-bench"))
}
