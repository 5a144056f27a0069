//! The SQLite store: runs the scripts that `postrider-sql` renders, on one file with one writer.
//!
//! Owns: connections, binding and reading, error classes, patience with a locked file, the watch on `data_version`.
//! Must not: hold SQL about a contract's columns (that is rendered) nor decide anything about a row. Invariant: every
//! write goes through the one writer; scripts of several steps begin IMMEDIATE.

mod connect;
mod error;
mod migrate;
mod plain;
mod script;
mod session;
mod shape;
mod store;
mod suppressions;
mod verify;
mod wake;

pub use connect::{Database, Settings};
pub use migrate::Migration;
pub use store::{SqliteStore, SqliteTable};
