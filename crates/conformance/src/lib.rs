//! Conformance: what every store must do for every contract, as one table of laws, and a simulator that runs the real
//! engine under faults.
//!
//! Owns: the laws, the harness that they run in, the generated table of what holds where. Must not: ask a store about
//! itself: what a law checks is read back by queries of the harness's own. Invariant: no law waits for time to pass;
//! rows are aged instead.

pub mod arena;
pub mod cell;
mod expected;
pub mod law;
mod laws;
mod row;
pub mod sim;
pub mod subject;
pub mod table;
pub mod trial;

pub use arena::{Arena, CREATE_POOLS, ColumnKind, Foreign, Kind, PoolLimits, TableColumn};
pub use cell::{Cell, Row};
pub use law::{LAWS, Law};
pub use subject::Subject;
pub use trial::Trial;
