//! The crate's one integration test binary.

mod every_key;
mod index_counts;
mod pretty;
mod snapshots;
mod sqlite;
