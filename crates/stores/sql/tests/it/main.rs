//! The crate's one integration test binary.

mod snapshots;
mod sqlite;
