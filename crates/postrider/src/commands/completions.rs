//! `completions`: prints the completion script of a shell.

use std::io::Write as _;

use clap::CommandFactory;

use crate::cli::{Cli, CompletionsArgs};
use crate::failure::Failure;

/// Prints the script to stdout.
pub fn run(args: &CompletionsArgs) -> Result<(), Failure> {
    // Build the script first: the generator panics if stdout is closed.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "postrider", &mut script);
    Ok(std::io::stdout().write_all(&script)?)
}
