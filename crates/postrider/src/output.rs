//! What a command says: data to stdout, for people or as JSON; notes for people to stderr.
//!
//! Invariant: with `--json` every line of stdout is one JSON object, and so is every line of stderr.

use std::fmt::Display;
use std::io::Write as _;

use serde::Serialize;

use crate::failure::Failure;

/// How one command speaks.
#[derive(Debug, Clone, Copy)]
pub struct Output {
    json: bool,
}

impl Output {
    pub fn new(json: bool) -> Self {
        Self { json }
    }

    pub fn is_json(self) -> bool {
        self.json
    }

    /// A piece of data: the object with `--json`, else the text.
    pub fn data(self, object: impl Serialize, text: impl Display) -> Result<(), Failure> {
        if self.json { line(object) } else { Ok(writeln!(std::io::stdout(), "{text}")?) }
    }

    /// What only people want to hear.
    pub fn note(self, text: impl Display) {
        if !self.json {
            eprintln!("{text}");
        }
    }
}

/// One line of JSON.
pub fn line(object: impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string(&object).map_err(|error| Failure::Failed(error.to_string()))?;
    Ok(writeln!(std::io::stdout(), "{text}")?)
}

/// Is JSON wanted? Asked before the arguments are understood, so that what is wrong with them can be told as JSON too.
pub fn json_wanted() -> bool {
    std::env::args_os().skip(1).take_while(|word| word != "--").any(|word| word == "--json")
}
