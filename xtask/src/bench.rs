//! `cargo xtask bench NAME`: builds the bench and the product for release, starts the servers, and hands over.

use postrider_services::{Durability, Fleet};

use crate::run::{self, Failure, Result};

pub fn command(words: &[&str]) -> Result {
    if words.first().is_none_or(|name| name.starts_with('-')) {
        return Err(Failure::Misuse("bench needs a name, such as `store` or `mail`\n".into()));
    }
    run::cargo(&["build", "--release", "--package", "postrider-bench", "--package", "postrider"])?;
    // Figures are for commits that reach the disk.
    let fleet = Fleet::start(Durability::Stock)?;
    let mut variables = fleet.variables();
    variables.push(("PATH", fleet.search_path()));
    let mut arguments = vec!["run", "--quiet", "--release", "--package", "postrider-bench", "--"];
    arguments.extend(words);
    run::with(&variables, &run::cargo_program(), &arguments)
}
