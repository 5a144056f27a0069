//! The conformance suite: laws that every store must obey for every contract, and a simulator that runs the real engine
//! under faults.
//!
//! Owns: the laws, the harness in which they run, and the generated table of which law holds where. Must not: trust a
//! store's own answers; the harness reads rows back with its own queries. Invariant: no law waits for time to pass;
//! rows are aged instead.

pub mod cell;
pub mod docs_page;
mod expected;
pub mod law;
mod laws;
mod row;
pub mod sim;
pub mod subject;
pub mod test_case;
pub mod test_table;

pub use cell::{Cell, Row};
pub use law::{LAWS, Law};
pub use subject::Subject;
pub use test_case::TestCase;
pub use test_table::{
    CREATE_POOLS, ColumnKind, OtherProgram, TableColumn, TestPoolLimits, TestTable, TestedStore,
};
