//! Engine: runs lanes. Claim → compose → deliver → decide → settle; leases, safety nets, retention, drain.
//!
//! Owns: the loop, and what a lane's health is. Must not: know a database, a protocol or a file. Invariant: a row that
//! was claimed is settled, handed back, or left to its lease; never forgotten while the process lives.

pub mod lane;
pub mod status;

pub use lane::{Lane, Limits};
pub use status::{Health, LaneStatus};
