//! Events: CloudEvents in, a job for each subscription that matches (J4).
//!
//! Owns: events and the jobs that they make. Must not: deliver. Invariant: an event and its jobs are one transaction, and
//! an event that was there before makes none.

mod create;
mod new;
mod view;

pub use create::{EventMade, Replayed};
pub use new::{CloudEvent, NewEvent};
pub use view::{Event, EventFilter};
