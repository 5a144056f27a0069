//! `completions`: a script for the shell.

use clap::CommandFactory;

use crate::cli::{Cli, CompletionsArgs};
use crate::failure::Failure;

#[expect(clippy::unnecessary_wraps, reason = "every command has the same shape")]
pub fn run(args: &CompletionsArgs) -> Result<(), Failure> {
    clap_complete::generate(args.shell, &mut Cli::command(), "postrider", &mut std::io::stdout());
    Ok(())
}
