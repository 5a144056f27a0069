//! The contract language: what a table means, as data.
//!
//! Owns: the TOML language (`parse`), the proof that its state machine is sound (`verify`), and the pure decision
//! from a row's counters and an outcome to its next state (`decide`). Must not: touch a database, a clock, a file or
//! a runtime. Invariant: a [`Contract`] in hand is well formed; every way to make one goes through [`Contract::parse`].

mod assign;
mod builtin;
mod crash;
mod decide;
mod duration;
mod graph;
mod handoff;
mod hold;
mod layer;
mod message;
mod model;
mod parse;
mod problem;
mod raw;
mod reader;
mod resolve;
mod settings;
mod transition;
mod verify;
mod words;

pub use assign::{
    ATTEMPTS_SPENT, Assignment, DEFERRED_OWNER, LEASE_EXPIRED, Move, POISON, POISON_MESSAGE, Set, TAKEOVERS,
};
pub use crash::{CRASHED, Crash, LEAST_CRASHES, SUSPECT_CRASHES, wait_after_crashes};
pub use decide::{Counters, Decision, Got, LONGEST_WISH, Verdict};
pub use duration::duration;
pub use graph::Edge;
pub use handoff::Handoff;
pub use layer::Layer;
pub use message::{REMEMBERED, RESULTS};
pub use model::*;
pub use problem::{Problem, Problems};
pub use resolve::Missing;
pub use settings::{LaneSettings, Outside};
pub use transition::Transition;
