//! The crate's one integration test binary.

mod every_key;
mod pretty;
mod snapshots;
mod sqlite;
