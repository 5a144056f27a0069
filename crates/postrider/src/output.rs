//! The output of a command: data to stdout, as text or as JSON; notes for people to stderr.
//!
//! Invariant: with `--json` every line of stdout is one JSON object, and so is every line of stderr.

use std::fmt::Display;
use std::io::Write as _;

use serde::Serialize;

use crate::failure::Failure;

/// The output format of one command: text or JSON.
#[derive(Debug, Clone, Copy)]
pub struct Output {
    json: bool,
}

impl Output {
    /// Creates an output; `json` chooses JSON objects over text.
    pub fn new(json: bool) -> Self {
        Self { json }
    }

    /// Whether the output is JSON.
    pub fn is_json(self) -> bool {
        self.json
    }

    /// Prints one piece of data: `object` with `--json`, otherwise `text`.
    pub fn data(self, object: impl Serialize, text: impl Display) -> Result<(), Failure> {
        if self.json { line(object) } else { Ok(writeln!(std::io::stdout(), "{text}")?) }
    }

    /// Prints a note for people to stderr; prints nothing with `--json`.
    pub fn note(self, text: impl Display) {
        if !self.json {
            eprintln!("{text}");
        }
    }
}

/// Prints an object as one line of JSON.
pub fn line(object: impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string(&object).map_err(|error| Failure::Failed(error.to_string()))?;
    Ok(writeln!(std::io::stdout(), "{text}")?)
}

/// Whether the arguments contain `--json`; read before clap parses them, so that its errors can be JSON too.
pub fn json_wanted() -> bool {
    std::env::args_os().skip(1).take_while(|word| word != "--").any(|word| word == "--json")
}
