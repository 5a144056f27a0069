//! Tests of the composers through their public API, and of the whole notification lane with a simulated clock.

mod lane;
mod public_api;
mod semantics;
