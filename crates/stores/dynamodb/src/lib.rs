//! E-mails in one DynamoDB table: a `_META` record that says where each e-mail is, and a record for each state reached.
//!
//! Owns: the layout of the records (`layout.rs`), the PartiQL that reads and moves them, and what is specific to
//! DynamoDB: an index that lags, no clock, no order, throttling. Must not: decide anything; the contract defines what a
//! move writes. Invariant: a record changes only by a transaction whose condition names the state and the `UpdatedAt`
//! that the worker read; the index is only a hint.

mod apply_move;
mod begin;
mod claim;
mod clock;
mod config;
mod connect;
mod error;
mod extend;
mod index_scan;
mod inspect;
mod layout;
mod locks;
mod migrate;
mod produce;
mod reached_at;
mod record;
mod requests;
mod settle;
mod statement;
mod store;
mod suppressions;
mod sweep;
mod unsupported;
mod verify;

pub use config::{InvalidOptions, Settings};
pub use connect::{Database, adapted};
pub use migrate::Migration;
pub use requests::Usage;
pub use store::DynamoStore;
pub use suppressions::SuppressionList;
pub use unsupported::unsupported_keys;
