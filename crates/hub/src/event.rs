//! Events: receives CloudEvents and creates a job for each subscription that matches (J4).
//!
//! Owns: events and the jobs created from them. Must not: deliver. Invariant: an event and its jobs are written in one
//! transaction, and an event that was received before creates no jobs.

mod batch;
mod create;
mod new;
mod view;
mod write;

pub use create::{CreatedEvent, CreatedJobs};
pub use new::{CloudEvent, NewEvent};
pub use view::{Event, EventFilter};
pub(crate) use write::EventWriter;
