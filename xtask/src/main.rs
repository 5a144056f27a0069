//! The workshop: everything that is done with this repository beside running the product.
//!
//! Owns: which commands exist. Must not: know the product; it only runs cargo and servers.

mod run;
mod services;

use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask COMMAND

  services                 start PostgreSQL, MariaDB and SMTP servers, print how to reach them, stop at Ctrl-C
  services exec -- CMD…    run a command with the servers' addresses in its environment, then stop them
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["services", rest @ ..] => services::command(rest),
        _ => Err(run::Failure::Misuse(String::new())),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(run::Failure::Misuse(what)) => {
            eprintln!("{what}{USAGE}");
            ExitCode::from(2)
        }
        Err(run::Failure::Failed(why)) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}
