//! Mail transport over the HTTP APIs of providers: Amazon SES v2, SendGrid, Postmark, Mailgun, Resend.
//!
//! Owns: the HTTP client, one file per provider (`api/`), and the classification of their responses. Must not: retry,
//! keep suppression lists, or know a contract.
//!
//! Invariant: a mail is delivered when the provider answered 2xx. A request that was sent and got no response is
//! uncertain; no key appears in any message or `Debug` text.
//!
//! SES and Mailgun accept the raw message. SendGrid, Postmark and Resend accept its parts as JSON and build their own
//! message: recipients that a delivery leaves out are then not in its header either, and our DKIM signature is lost.

mod api;
mod classify;
mod client;
pub mod config;
mod deliver;
mod encode;
pub mod error;
mod outcome;
mod parsed_message;
mod recipient_groups;

pub use config::{Kind, Settings};
pub use deliver::Provider;
pub use error::Error;
