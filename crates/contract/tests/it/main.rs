//! The integration tests of the crate, in one binary.

mod assign;
mod builtin;
mod decide;
mod fuzz;
mod graph;
mod layers;
mod message;
mod mistakes;
mod old_spelling;
mod own_tables;
mod resolve;
mod settings;
mod verify;

use postrider_config::{Mistake, Mistakes};
use postrider_contract::Contract;

/// Returns a built-in contract, parsed and verified.
fn builtin(name: &str) -> Contract {
    let text = Contract::builtin(name).expect("a built-in");
    Contract::parse(&format!("{name}.toml"), text).unwrap_or_else(|problems| panic!("{problems}"))
}

/// Returns the mistakes of a built-in contract in which `from` was replaced by `to`.
fn broken(name: &str, from: &str, to: &str) -> Vec<Mistake> {
    let text = Contract::builtin(name).expect("a built-in");
    assert!(text.contains(from), "{name} has no {from:?}");
    let text = text.replacen(from, to, 1);
    Contract::parse("c.toml", &text).err().map(Mistakes::into_vec).unwrap_or_default()
}

/// Returns the line, from 1, of `part` in the replacement.
fn line_of(name: &str, from: &str, to: &str, part: &str) -> usize {
    let text = Contract::builtin(name).expect("a built-in");
    let start = text.find(from).expect("what is replaced is there");
    let inside = to.find(part).expect("the part is in the replacement");
    text[..start].matches('\n').count() + to[..inside].matches('\n').count() + 1
}
