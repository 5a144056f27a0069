//! The crate's one integration test binary.

mod pretty;
mod snapshots;
mod sqlite;
