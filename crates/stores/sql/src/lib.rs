//! Renders a contract to SQL for a dialect, runs it, and interprets the results. Opens no connection; rendering is
//! deterministic.
//!
//! Each verb is one folder: what it renders (`statements.rs`), and beside it what it binds and what its answer means.
//! `render` has what the statements of several verbs share, `driver` what a database must provide.
//!
//! Owns: every statement that the three SQL stores run on a contract's table, and the DDL that creates or completes it.
//! Must not: know how a driver binds or reads. Invariant: identifiers are validated and quoted, values are bound or are
//! literals of the contract, never of a row.

mod begin;
pub mod bind;
mod claim;
pub mod ddl;
pub mod describe;
pub mod driver;
mod error;
mod find;
mod groups;
mod handoff;
mod inspect;
pub mod internal;
pub mod open_table;
mod pools;
mod produce;
mod render;
mod samples;
mod script;
mod settle;
mod shape;
mod state_index;
mod statements;
pub mod store;
mod sweep;
pub mod typed;
pub mod verify;

pub use error::Error;
pub use postrider_sql_builder::Dialect;
pub use render::render;
pub use samples::Sample;
pub use script::{Field, Layout, Param, Script, Step, Yields};
pub use shape::{Shape, ShapeColumn};
pub use state_index::StateIndex;
pub use statements::*;
