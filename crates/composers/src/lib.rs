//! Composers: each turns the fields of claimed rows into envelopes, or says why it can't.
//!
//! Owns: what a row's fields mean. Must not: send, store, or decide what becomes of a row.

pub mod email;
pub mod mail_job;
pub mod null;
pub mod record;
pub mod webhook;

pub use email::EmailComposer;
pub use mail_job::MailJobComposer;
pub use null::NullComposer;
pub use record::RecordComposer;
pub use webhook::WebhookComposer;
