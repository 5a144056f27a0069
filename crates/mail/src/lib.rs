//! E-mail: addresses, MIME messages, templates and DKIM.
//!
//! Owns the conversion of checked parts into the bytes of a message. Must not read rows, send anything, or know a
//! contract. Invariant: no text of a row can add a header, a recipient or a MIME part that the row's fields don't name.

pub mod address;
pub mod attachment;
pub mod date;
pub mod dkim;
pub mod header;
pub mod message;
pub mod message_id;
mod mime;
pub mod plain_text;
pub mod templates;

pub use address::{Address, Mailbox};
pub use attachment::Attachment;
pub use dkim::Signer;
pub use message::MessageParts;
pub use message_id::message_id;
pub use templates::{LiveTemplates, Templates};

/// Quotes untrusted text for an error: short, on one line, without unprintable characters.
pub(crate) fn quote(text: &str) -> String {
    const SHOWN: usize = 60;
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("\"{}…\"", text[..end].escape_debug()),
        None => format!("\"{}\"", text.escape_debug()),
    }
}
