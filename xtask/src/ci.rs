//! `cargo xtask ci`: the checks that every change must pass. All steps run, so that one run reports every failure.

use std::fmt::Write as _;
use std::time::Instant;

use crate::run::{self, Failure, Result};
use crate::{test, tidy};

type Step = (&'static str, fn() -> Result);

/// The steps, cheap ones first, so that their findings are visible while the rest builds.
const STEPS: [Step; 6] = [
    ("format", || run::cargo(&["fmt", "--all", "--check"])),
    ("tidy", || tidy::command(&[])),
    ("deny", deny),
    ("clippy", || {
        run::cargo(&["clippy", "--locked", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"])
    }),
    // The build of the quick start, without optional backends. Not its tests, which need every backend. Some functions
    // can only fail with one of these backends.
    ("lean", || {
        run::cargo(&[
            "clippy",
            "--locked",
            "--package",
            "postrider",
            "--no-default-features",
            "--quiet",
            "--",
            "-D",
            "warnings",
            "-A",
            "clippy::unnecessary-wraps",
        ])
    }),
    ("test", || test::command(&["--locked"])),
];

/// Runs all steps; an error names those that failed.
pub fn command(words: &[&str]) -> Result {
    if !words.is_empty() {
        return Err(Failure::Misuse("ci takes no arguments\n".into()));
    }
    let start = Instant::now();
    let mut summary = String::new();
    let mut failed = Vec::new();
    for (name, step) in STEPS {
        eprintln!("── {name}");
        let begun = Instant::now();
        let outcome = step();
        let seconds = begun.elapsed().as_secs_f64();
        if let Err(failure) = &outcome {
            eprintln!("{failure}");
            failed.push(name);
        }
        let verdict = if outcome.is_ok() { "passed" } else { "FAILED" };
        writeln!(summary, "{name:<8} {verdict} {seconds:>8.1} s").expect("writing to a String cannot fail");
    }
    writeln!(summary, "{:<8}        {:>8.1} s", "all", start.elapsed().as_secs_f64())
        .expect("writing to a String cannot fail");
    run::print(&summary);
    if failed.is_empty() { Ok(()) } else { Err(Failure::Failed(format!("failed: {}", failed.join(", ")))) }
}

fn deny() -> Result {
    if !run::has_cargo_deny() {
        eprintln!("cargo-deny is not installed; tidy has checked licences and banned crates");
        return Ok(());
    }
    run::cargo(&["deny", "check", "licenses", "bans", "sources"])
}
