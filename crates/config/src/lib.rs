//! Parses and validates configuration; shared by contracts, settings and target URLs.
//!
//! Owns: the tree of values with their places ([`Node`]), the readers that collect every mistake ([`Report`], [`TableReader`],
//! [`Item`]), the form of a mistake ([`Mistake`]), durations, sizes, the syntax of secret references, and suggestions for
//! misspelled names. Must not: read files, variables or clocks, or know any key. Invariant: reading continues after a
//! mistake, and each mistake has a place, the key and what would be right.
//!
//! ```text
//! text ──parse──▶ Node ◀──merge── layers, variables      (values with their places)
//!                  │
//!        Report ◀──┴── Scope (a table), Item (a value)    (typed values; mistakes are collected)
//!          │
//!          └──▶ Mistakes: postrider.toml:8:1: lanes.mail.concurency: unknown key; did you mean `concurrency`?
//! ```

mod duration;
mod item;
mod mistake;
mod node;
mod reference;
mod report;
mod size;
mod suggest;
mod table_reader;

pub use duration::{duration_or_seconds, format_duration, parse_duration};
pub use item::Item;
pub use mistake::{Mistake, Mistakes, Place};
pub use node::{Entry, Node, Value, parse};
pub use reference::{Reference, Scheme};
pub use report::{Report, join};
pub use size::{format_size, parse_size};
pub use suggest::{closest, suggestion};
pub use table_reader::TableReader;
