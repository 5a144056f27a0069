//! Composers: each turns the fields of claimed rows into envelopes, or says why it can't.
//!
//! Owns: what a row's fields mean. Must not: send, store, or decide what becomes of a row.

pub mod base;
pub mod callback;
pub mod email;
pub mod eml;
pub mod mail_job;
pub mod message;
pub mod null;
pub mod raw_eml;
mod recipients;
pub mod record;
pub mod webhook;

pub use callback::CallbackComposer;
pub use email::EmailComposer;
pub use eml::EmlComposer;
pub use mail_job::MailJobComposer;
pub use null::NullComposer;
pub use raw_eml::RawEmlComposer;
pub use record::RecordComposer;
pub use webhook::WebhookComposer;

/// Characters of a reason.
const REASON_LIMIT: usize = 300;

/// Parsers quote what they stumble over, which may be long and is the row's business (rule G7).
fn shortened(reason: &str) -> String {
    match reason.char_indices().nth(REASON_LIMIT) {
        Some((end, _)) => format!("{}…", &reason[..end]),
        None => reason.to_owned(),
    }
}
