//! Renders a contract to SQL for a dialect. Pure: no connection, no runtime; the same input gives the same text.
//!
//! Owns: every statement that the three SQL stores run on a contract's table, and the DDL that creates or mends it.
//! Must not: know how a driver binds or reads. Invariant: identifiers are validated and quoted, values are bound or
//! are literals of the contract, never of a row.

pub mod bind;
mod column;
mod error;
mod ident;
pub mod own;
mod program;

pub use error::Error;
pub use program::*;
