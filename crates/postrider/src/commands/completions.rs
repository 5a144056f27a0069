//! `completions`: a script for the shell.

use std::io::Write as _;

use clap::CommandFactory;

use crate::cli::{Cli, CompletionsArgs};
use crate::failure::Failure;

pub fn run(args: &CompletionsArgs) -> Result<(), Failure> {
    // Written at once: the generator panics where the reader has gone.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "postrider", &mut script);
    Ok(std::io::stdout().write_all(&script)?)
}
