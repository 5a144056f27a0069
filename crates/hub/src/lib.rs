//! The webhook domain: dispatch jobs, events, subscriptions, pools, service accounts, and who may touch them.
//!
//! Owns: their tables, what a caller may say of each, and what an operator may do. Must not: deliver anything, know a
//! driver or speak HTTP; it only writes rows that a lane delivers. Invariant: every change is one transaction, with its
//! line in the audit log, and nothing of one client is ever read or written for a caller of another.

pub mod access;
pub mod account;
pub mod audit;
mod check;
mod cursor;
pub mod deliver;
mod draft;
mod error;
pub mod event;
mod hub;
pub mod job;
pub mod mask;
pub mod migrate;
mod moment;
mod names;
pub mod page;
pub mod pool;
mod purge;
mod remove;
pub mod request;
pub mod schema;
mod seal;
mod sheet;
pub mod subscription;
mod target;
mod trace;

pub use deliver::{Credentials, Standing};
pub use error::{Error, Fault, NOT_YOURS};
pub use hub::{Hub, Settings, clock_offset};
pub use moment::Moment;
pub use seal::Seal;
pub use trace::traceparent;
