//! One binary for the crate's tests.

mod builtin;
