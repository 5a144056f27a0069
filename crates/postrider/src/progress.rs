//! How far long work has come, on stderr: one line that moves on a terminal, now and then a line elsewhere.

use std::io::{IsTerminal as _, Write as _};

/// Counts, and says so.
#[derive(Debug)]
pub struct Progress {
    what: &'static str,
    total: u64,
    said: u64,
    terminal: bool,
}

/// Where no terminal is, every so many rows are worth a line.
const EVERY: u64 = 10_000;

impl Progress {
    pub fn new(what: &'static str) -> Self {
        Self { what, total: 0, said: 0, terminal: std::io::stderr().is_terminal() }
    }

    pub fn add(&mut self, count: u64) {
        self.total += count;
        if self.terminal {
            eprint!("\r{} {}", self.total, self.what);
            // A progress line that can't be shown is no reason to stop.
            let _ = std::io::stderr().flush();
        } else if self.total - self.said >= EVERY {
            self.said = self.total;
            eprintln!("{} {}", self.total, self.what);
        }
    }

    pub fn finish(&self) {
        let start = if self.terminal { "\r" } else { "" };
        eprintln!("{start}{} {}", self.total, self.what);
    }

    pub fn total(&self) -> u64 {
        self.total
    }
}
