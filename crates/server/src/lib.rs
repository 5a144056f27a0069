//! The HTTP listener: is the process up, are its lanes moving, and its figures.
//!
//! Owns: `/healthz`, `/readyz`, `/metrics`, and what they answer. Must not: know a store or a transport; lanes come
//! through [`Lanes`]. Invariant: every answer is made from memory, so that it comes at once even when a database hangs.

mod figures;
mod listener;
mod ready;

pub use figures::{Figures, FiguresError};
pub use listener::{BindError, Listener};
pub use ready::Lanes;
