//! The contract language: describes as data what the columns and states of a table mean.
//!
//! Owns: the TOML language (`parse`), the checks that its state machine is valid (`verify`), and the pure decision from
//! a row's counters and an outcome to its next state (`decide`). Must not: use a database, a clock, a file or an async
//! runtime. Invariant: every [`Contract`] value is valid, because only [`Contract::parse`] and its variants create one.

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
