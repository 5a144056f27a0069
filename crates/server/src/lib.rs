//! The HTTP listener: liveness, readiness, metrics, the API, and the console.
//!
//! Owns: `/healthz`, `/readyz`, `/metrics`, `/api`, the console at `/`, and their responses. Must not: know a store or
//! a transport; lanes are reached through [`Lanes`] and [`LaneControl`], everything else through the hub. Invariant:
//! health is answered from memory, so immediately even when a database hangs; every other route, except static files,
//! needs a key or a session.

pub mod api;
mod console;
mod figures;
mod guesses;
mod listener;
mod overview;
mod ready;
mod rows;

pub use api::{Api, LaneControl, LaneMake};
pub use figures::{Figures, FiguresError};
pub use listener::{BindError, ConnectionLimits, Listener, Metrics};
pub use ready::Lanes;
