//! The HTTP listener: is the process up, are its lanes moving, its figures, the API, and the console over it.
//!
//! Owns: `/healthz`, `/readyz`, `/metrics`, `/api`, the console at `/`, and what they answer. Must not: know a store or a transport; lanes come
//! through [`Lanes`] and [`LaneControl`], everything else through the hub. Invariant: health is answered from memory, so that
//! it comes at once even when a database hangs; nothing else answers without a key or a session, but for static files.

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
