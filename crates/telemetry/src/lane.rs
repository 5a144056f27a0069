//! Watches one lane through its seams: what a row went through is gathered from its claim to its settle, and told then.
//!
//! Invariant: a row has one trace, its producer's if it brought one; the target gets the span of its delivery as parent.

mod carry;
mod seams;
mod story;

pub use seams::{Seams, observe};
