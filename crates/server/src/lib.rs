//! The HTTP listener: liveness, readiness, metrics, the API, and the console.
//!
//! Owns: `/healthz`, `/readyz`, `/metrics`, `/api`, the console at `/`, and their responses. Must not: know a store or
//! a transport; lanes are reached through [`Lanes`] and [`LaneControl`], everything else through the hub. Invariant:
//! health is answered from memory, so immediately even when a database hangs; every other route, except static files,
//! needs a key or a session.

pub mod api;
mod console;
mod guess_limit;
mod listener;
mod overview;
mod prometheus;
mod ready;
mod rows;

pub use api::{Api, LaneControl, LaneDefinition};
pub use listener::{BindError, ConnectionLimits, Listener, MetricsAccess};
pub use prometheus::{MetricsError, MetricsRecorder};
pub use ready::Lanes;
pub use rows::{MessageView, NameValue, message};
