//! Composers: each one turns the fields of claimed rows into envelopes, or returns why it cannot.
//!
//! Owns the meaning of a row's fields. Must not send, store, or decide what happens to a row.

pub mod base_folder;
pub mod callback;
pub mod computed;
pub mod email;
pub mod eml;
mod fingerprint;
pub mod mail_job;
pub mod message;
pub mod null;
pub mod raw_eml;
mod recipients;
pub mod record;
mod text;
pub mod webhook;

pub use callback::CallbackComposer;
pub use computed::ComputedFields;
pub use email::EmailComposer;
pub use eml::EmlComposer;
pub use mail_job::MailJobComposer;
pub use null::NullComposer;
pub use raw_eml::RawEmlComposer;
pub use record::RecordComposer;
pub use webhook::WebhookComposer;

/// Longest reason, in characters.
const REASON_LIMIT: usize = 300;

/// Shortens a reason: parsers quote the input that they reject, which may be long and private to the row (rule G7).
fn shortened(reason: &str) -> String {
    match reason.char_indices().nth(REASON_LIMIT) {
        Some((end, _)) => format!("{}…", &reason[..end]),
        None => reason.to_owned(),
    }
}
