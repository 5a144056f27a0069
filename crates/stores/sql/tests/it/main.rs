//! The crate's one integration test binary.

mod pretty;
mod every_key;
mod snapshots;
mod sqlite;
