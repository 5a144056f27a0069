//! The contract language: describes as data what the columns and states of a table mean.
//!
//! Owns: the TOML language (`parse`), the checks that its state machine is valid (`verify`), and the pure decision from
//! a row's counters and an outcome to its next state (`decide`). Must not: use a database, a clock, a file or an async
//! runtime. Invariant: every [`Contract`] value is valid, because only [`Contract::parse`] and its variants create one.

mod assign;
mod builtin;
mod crash;
mod decide;
mod graph;
mod group_order;
mod handoff;
mod identifier;
mod layer;
mod message;
mod model;
mod moves;
mod parse;
mod resolve;
mod settings;
mod transition;
mod verify;

pub use assign::{
    Assignment, DEFERRED_OWNER, LEASE_EXPIRED, NO_ATTEMPTS_LEFT, POISON, POISON_MESSAGE, Set, TAKEOVERS,
};
pub use crash::{CRASHED, Crash, LEAST_CRASHES, SUSPECT_CRASHES, wait_after_crashes};
pub use decide::{AttemptResult, Counters, Decision, LONGEST_RETRY_AFTER, ResultKind, listed_delays};
pub use graph::Edge;
pub use handoff::QueueSweeps;
pub use layer::Layer;
pub use message::{FINGERPRINT, RESULTS, SOURCE, STORED_RECIPIENTS};
pub use model::*;
pub use moves::Move;
pub use resolve::Missing;
pub use settings::{ExternalSettings, LaneDefaults};
pub use transition::Transition;
