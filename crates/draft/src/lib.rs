//! Drafts a contract from the description of a table: guesses roles, states and the message from names, types and
//! sampled values, and asks what it cannot decide.
//!
//! Owns: the guesses, the layouts of well-known libraries, and the text of the draft. Must not: read a database.
//! Invariant: the draft names only columns of the table, and says of each guess why it was made.

mod columns;
mod layouts;
mod message;
mod roles;
mod states;
mod text;
mod values;

use std::collections::BTreeMap;

use postrider_seams::TableDescription;

pub use layouts::{Layout, known as known_layouts};

/// The use of the rows of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    Mail,
    Record,
    Webhook,
}

impl Purpose {
    /// Every purpose.
    pub const ALL: [Self; 3] = [Self::Mail, Self::Record, Self::Webhook];

    /// Returns the name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mail => "mail",
            Self::Record => "record",
            Self::Webhook => "webhook",
        }
    }

    fn composer(self) -> &'static str {
        match self {
            Self::Mail => "email",
            Self::Record => "record",
            Self::Webhook => "webhook",
        }
    }
}

/// Something that the table does not say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// Names the question in [`Answers`].
    pub key: &'static str,
    pub text: String,
    /// Possible answers, the likeliest first; empty if any text is one.
    pub choices: Vec<String>,
}

/// Answers to questions of an earlier draft, by their key.
pub type Answers = BTreeMap<&'static str, String>;

/// A draft of a contract.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    /// The contract as TOML, with its reasons as comments.
    pub text: String,
    /// What could not be decided; also at the top of the text.
    pub questions: Vec<Question>,
    /// The name of the well-known layout, if it is one.
    pub layout: Option<&'static str>,
}

/// Drafts a contract. A purpose that is not given is guessed as well; answers win over guesses.
pub fn draft(table: &TableDescription, purpose: Option<Purpose>, answers: &Answers) -> Draft {
    match layouts::matching(table, purpose) {
        Some(layout) => Draft { text: layout.draft(table), questions: Vec::new(), layout: Some(layout.name) },
        None => guess(table, purpose, answers),
    }
}

/// Drafts a contract from names, types and values alone, also for a table of a well-known layout.
pub fn guess(table: &TableDescription, purpose: Option<Purpose>, answers: &Answers) -> Draft {
    text::Guesser::new(table, purpose, answers).draft()
}
