//! Renders a contract to SQL for a dialect, and interprets the results. Opens no connection; rendering is
//! deterministic.
//!
//! Owns: every statement that the three SQL stores run on a contract's table, and the DDL that creates or completes it.
//! Must not: know how a driver binds or reads. Invariant: identifiers are validated and quoted, values are bound or are
//! literals of the contract, never of a row.

pub mod bind;
mod claim;
mod column;
mod condition;
pub mod ddl;
mod draft;
mod effect;
mod error;
mod find;
mod group_claim;
mod handoff;
mod history;
mod ident;
mod inspect;
mod join;
mod layout;
mod moves;
mod ordered;
pub mod own;
pub mod plain;
pub mod produce;
mod program;
mod recover;
mod render;
pub mod run;
mod settle;
mod share;
mod table;
mod takeover;
mod tally;
mod time;
mod tsid;
mod unheld;
mod unreadable;
mod value;

pub use error::Error;
pub use program::*;
pub use render::render;
pub use unheld::UnheldScripts;
