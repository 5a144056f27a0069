//! Records the traces of one lane: collects what happens to a row from its claim to its settle, then exports the spans.
//!
//! Invariant: a row has one trace, that of its producer if the row carries one; the target receives the span of the
//! delivery as its parent.

mod decorators;
mod propagation;
mod trace;

pub use decorators::{LaneParts, observe};
