//! Records one lane's traces through its seams: collects what happens to a row from its claim to its settle, then exports
//! the spans.
//!
//! Invariant: a row has one trace, its producer's if it brought one; the target receives the delivery's span as its parent.

mod propagation;
mod seams;
mod trace;

pub use seams::{Seams, observe};
