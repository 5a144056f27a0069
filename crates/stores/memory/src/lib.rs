//! A store in memory: the contract interpreted row by row, with nothing clever about it.
//!
//! Owns: the plainest reading of what a contract means, which the simulator, the engine's tests and the conformance
//! suite compare the SQL stores with. Must not: be fast at the price of being plain. Its time is tokio's, so a paused
//! clock drives it. Invariant: every change of a row goes through [`table::Table::write`], which keeps the index true.

mod apply;
mod claim;
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
mod tally;

pub use pools::PoolLimits;
pub use postrider_rows::Row;
pub use store::MemoryStore;
pub use suppressions::MemorySuppressions;
pub use table::MemoryTable;
