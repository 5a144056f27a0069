//! Shared code of the broker transports: URLs with options, secrets that are never shown, and short constructors of
//! outcomes.
//!
//! Owns: the format of those URLs (`scheme://user:password@host:port,host:port/path?option=value`). Must not: know any
//! broker. Invariant: no message or `Debug` text made here contains a secret.

mod address;
mod mistakes;
mod options;
mod outcome;

pub use address::{Address, Host, plaintext};
pub use mistakes::Mistakes;
pub use options::Options;
pub use outcome::{exhausted, record, rejected, shorten, uncertain, unreachable};
pub use postrider_seams::Secret;
