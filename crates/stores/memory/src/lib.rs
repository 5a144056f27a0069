//! An in-memory store that interprets the contract row by row, as simply as possible.
//!
//! Owns: the reference implementation of a contract, with which the simulator, the engine's tests and the conformance
//! suite compare the SQL stores. Must not: trade simplicity for speed. It uses tokio's clock, so that tests can pause
//! it. Invariant: every change of a row goes through [`table::TableState::write`], which keeps the index consistent.

mod apply;
mod claim;
mod count_field;
mod error;
mod group;
mod handoff;
mod inspect;
mod migrate;
mod pools;
mod recover;
mod settle;
mod store;
mod suppressions;
mod sweep;
mod table;

pub use pools::PoolLimits;
pub use postrider_rows::Row;
pub use store::MemoryStore;
pub use suppressions::MemorySuppressions;
pub use table::MemoryTable;
