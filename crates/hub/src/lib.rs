//! The webhook domain: dispatch jobs, events, subscriptions, pools, service accounts, API keys and the audit log.
//!
//! Owns: the tables of these, the validation of requests, and the moves of operators. Must not: deliver, depend on a
//! database driver, or handle HTTP; it only writes rows that a lane delivers. Invariant: every change is one
//! transaction that includes its audit entry, and a caller never reads or writes anything of a client outside its
//! scope.

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
