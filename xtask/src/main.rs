//! The development commands of this repository: test, ci, tidy, bench and others.
//!
//! Owns: the list of commands. Must not: depend on the product; it only runs cargo and servers.

mod bench;
mod ci;
mod crash;
mod failures;
mod run;
mod services;
mod test;
mod tidy;

use std::process::ExitCode;

use run::Failure;

const USAGE: &str = "usage: cargo xtask COMMAND

  test [--with mysql] [-p CRATE]… [WORD…]
                             start real servers, build once, run all tests, or those whose names contain a WORD;
                             --with mysql uses MySQL instead of MariaDB
  ci                         run the checks that every change must pass: format, tidy, deny, clippy, test
  tidy                       check the rules of this repository that no compiler checks
  bench NAME [--json] […]    build for release, start real servers, run a bench
  crash [--lane mail|outbox|notify|emails|webhook] [--kills N] [--seed N] [--rows N]
                             run the crash tests at full length: workers are killed, databases and brokers restarted;
                             then the tables are compared with what the targets received
  services                   start databases, SMTP servers and brokers, print their addresses, stop at Ctrl-C
  services exec -- CMD…      run a command with the addresses in its environment, then stop the servers
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["test", rest @ ..] => test::command(rest),
        ["ci", rest @ ..] => ci::command(rest),
        ["tidy", rest @ ..] => tidy::command(rest),
        ["bench", rest @ ..] => bench::command(rest),
        ["crash", rest @ ..] => crash::command(rest),
        ["services", rest @ ..] => services::command(rest),
        ["help" | "--help" | "-h"] => {
            run::print(USAGE);
            Ok(())
        }
        _ => Err(Failure::Misuse(String::new())),
    };
    let Err(failure) = outcome else { return ExitCode::SUCCESS };
    match &failure {
        Failure::Misuse(what) => eprint!("{what}{USAGE}"),
        other => eprintln!("{other}"),
    }
    ExitCode::from(failure.code())
}
