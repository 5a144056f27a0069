//! The webhook domain: dispatch jobs, events, subscriptions, pools, service accounts, API keys and the audit log.
//!
//! Owns: the tables of these, the validation of requests, and the moves of operators. Must not: deliver, depend on a
//! database driver, or handle HTTP; it only writes rows that a lane delivers. Invariant: every change is one
//! transaction that includes its audit entry, and a caller never reads or writes anything of a client outside its
//! scope.

pub mod access;
pub mod account;
pub mod audit;
mod cursor;
mod delete;
pub mod delivery;
mod encryption;
mod error;
pub mod event;
pub mod group_commit;
mod hub;
pub mod idempotency;
pub mod job;
pub mod mask;
pub mod migrate;
mod moment;
pub mod page;
pub mod pool;
mod purge;
pub mod schema;
mod sql;
pub mod subscription;
mod target;
mod text_format;
mod trace;
mod validation;

pub use delivery::{Credentials, SubscriptionState};
pub use encryption::EncryptSecret;
pub use error::{CLIENT_NOT_ALLOWED, Error, Fault};
pub use hub::{Hub, Settings, clock_offset};
pub use moment::Moment;
pub use text_format::expand_text_format;
pub use trace::traceparent;
