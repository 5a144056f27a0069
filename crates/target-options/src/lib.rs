//! URLs of targets and their options, for transports, queues and stores.
//!
//! Owns: the format of those URLs (`scheme://user:password@host:port,host:port/path?option=value`). Must not: know any
//! target. Invariant: no message or `Debug` text made here contains a secret.

mod invalid;
mod options;
mod query;
mod target_url;

pub use invalid::{InvalidOptions, OptionMistake};
pub use options::UrlOptions;
pub use query::query_mistakes;
pub use target_url::{Host, TargetUrl, certificates_without_tls, plaintext_credentials_mistake};
