//! The engine: runs lanes. Claim → compose → deliver → decide → settle; leases, maintenance, retention, drain.
//!
//! Owns: the loop, and the health of each lane. Must not: know a database, a protocol or a file. Invariant: a claimed
//! row is settled, handed back, or left to its lease; it is never forgotten while the process lives.

mod aliases;
mod batch;
mod begin;
mod claimer;
mod crowd;
mod decide;
mod deliverer;
mod ended;
mod engine;
mod keeper;
pub mod lane;
mod large;
mod letters;
mod nets;
mod observed;
mod offers;
mod ordered;
mod pace;
mod pointers;
mod prober;
mod questions;
mod reach;
mod recipients;
mod room;
mod runner;
mod settler;
mod silence;
mod soon;
mod state;
pub mod status;
mod suspect;
mod turns;
mod unanswered;
mod waiting;
mod watchdog;

pub use engine::{Berth, Drained, Engine, Handle};
pub use lane::{Lane, Limits};
pub use status::{Health, LaneStatus};
