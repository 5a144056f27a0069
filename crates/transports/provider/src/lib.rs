//! Hands mails to the HTTP interfaces of mail providers: Amazon SES v2, SendGrid, Postmark, Mailgun, Resend.
//!
//! Owns: the HTTP client, one file per provider (`api/`), and the reading of their answers. Must not: retry, keep lists,
//! or know a contract.
//!
//! Invariant: a mail is delivered when the provider has answered 2xx. What was sent and had no answer is uncertain; no key
//! is in any message or `Debug` text.
//!
//! SES and Mailgun take the message as it is. SendGrid, Postmark and Resend take its parts as JSON and write a message of
//! their own: recipients that are left out of a delivery are then not in its header either, and a DKIM signature of ours
//! is left behind.

mod api;
mod classify;
mod client;
pub mod config;
mod deliver;
mod draft;
mod encode;
pub mod error;
mod outcome;
mod plan;

pub use config::{Kind, Settings};
pub use deliver::Provider;
pub use error::Error;
