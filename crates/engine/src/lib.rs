//! The engine: runs lanes. Claim → compose → deliver → decide → settle; leases, maintenance, retention, drain.
//!
//! Owns: the loop, and the health of each lane. Must not: know a database, a protocol or a file. Invariant: a claimed
//! row is settled, handed back, or left to its lease; it is never forgotten while the process lives.

mod batch;
mod begun;
mod boot_instant;
mod call;
mod claimer;
mod compose;
mod dead_letters;
mod decide;
mod deliverer;
mod engine;
mod fair_queue;
mod first_breaks;
mod first_rows;
pub mod lane;
mod large;
mod lease_extender;
mod maintenance;
mod missing_acks;
mod observed;
mod outcomes;
mod prober;
mod queue_publisher;
mod queue_receiver;
mod recipients;
mod refused;
mod retry_timer;
mod room;
mod runner;
mod runs;
mod send;
mod settler;
mod sizes;
mod state;
pub mod status;
mod suspect;
mod unanswered;
mod waiting;
mod watchdog;

pub use engine::{AnnouncedLane, Drained, Engine, Handle};
pub use lane::{Lane, Limits};
pub use queue_publisher::QueueNewRowPublisher;
pub use status::{Health, LaneStatus};
