//! What the transports to brokers share: reading a URL with options, secrets that can't be shown, and outcomes in
//! few words.
//!
//! Owns: the shape of those URLs (`scheme://user:password@host:port,host:port/path?option=value`). Must not: know
//! any broker. Invariant: no secret is in any message or `Debug` text made here.

mod address;
mod aws;
mod mistakes;
mod options;
mod outcome;

pub use address::{Address, Host, plaintext};
pub use aws::{Registering, register_credentials};
pub use mistakes::Mistakes;
pub use options::Options;
pub use outcome::{exhausted, record, rejected, shorten, uncertain, unreachable};
pub use postrider_seams::Secret;
