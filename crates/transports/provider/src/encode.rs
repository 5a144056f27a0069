//! Encoding shared by all providers: JSON bodies, mailboxes as text, valid tags, idempotency keys.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::Method;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue};
use postrider_seams::Secret;
use postrider_seams::{Envelope, Mail};
use serde_json::Value;

use crate::client::ProviderRequest;
use crate::parsed_message::{ParsedMailbox, ParsedMessage};
use crate::recipient_groups::RecipientGroup;

#[cfg(test)]
mod tests;

/// The part of a mail that one request sends.
pub(crate) struct RequestContext<'a> {
    pub envelope: &'a Envelope,
    pub mail: &'a Mail,
    /// The parts of the message, for providers that need them.
    pub parsed: &'a ParsedMessage,
    pub group: &'a RecipientGroup,
    /// Idempotency key: the same in every delivery of this part.
    pub key: String,
}

/// Returns an idempotency key that fits in a header: the envelope's own if possible, else its digest.
/// Two lanes may use equal keys for different mails, so it includes the Message-ID, which contains the lane. Each part
/// of a mail has its own key.
pub(crate) fn idempotency_key(
    dedupe: &str,
    message_id: &str,
    group: &RecipientGroup,
    groups: usize,
) -> String {
    let fits =
        dedupe.len() <= 180 && !dedupe.is_empty() && dedupe.bytes().all(|byte| byte.is_ascii_graphic());
    let base = if fits { dedupe.to_owned() } else { digest(dedupe.as_bytes()) };
    let mut hashed = vec![message_id];
    if groups > 1 {
        hashed.extend(group.addresses());
    }
    format!("{base}/{}", &digest(hashed.join("\n").as_bytes())[..24])
}

pub(crate) fn digest(bytes: &[u8]) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, bytes);
    digest.as_ref().iter().flat_map(|byte| [byte >> 4, byte & 15]).map(hex_digit).collect()
}

fn hex_digit(value: u8) -> char {
    char::from(b"0123456789abcdef"[usize::from(value)])
}

pub(crate) fn base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// Returns the sender's metadata, including the idempotency key.
pub(crate) fn metadata<'a>(context: &'a RequestContext<'_>) -> impl Iterator<Item = (&'a str, &'a str)> {
    let dedupe_entry =
        (!context.envelope.dedupe.is_empty()).then_some(("dedupeKey", context.envelope.dedupe.as_str()));
    let metadata_entries = context.mail.metadata.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let repeated = context.mail.metadata.iter().any(|(name, _)| name == "dedupeKey");
    metadata_entries.chain(dedupe_entry.filter(|_| !repeated))
}

/// Replaces characters of a tag's name or value that are not letters, digits, `_` or `-`, and cuts it at `limit`.
pub(crate) fn tag_text(text: &str, limit: usize) -> String {
    let allowed = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    text.chars().take(limit).map(allowed).collect()
}

/// Formats `"Name" <a@b>`, the name quoted.
pub(crate) fn format_mailbox(mailbox: &ParsedMailbox) -> String {
    match &mailbox.name {
        None => mailbox.email.clone(),
        Some(name) => {
            let mut quoted = String::with_capacity(name.len() + mailbox.email.len() + 5);
            quoted.push('"');
            for c in name.chars().filter(|c| !c.is_control()) {
                if matches!(c, '"' | '\\') {
                    quoted.push('\\');
                }
                quoted.push(c);
            }
            quoted + "\" <" + &mailbox.email + ">"
        }
    }
}

pub(crate) fn format_mailboxes(list: &[ParsedMailbox]) -> Vec<String> {
    list.iter().map(format_mailbox).collect()
}

/// Builds a JSON object without empty members.
pub(crate) fn object(members: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    let is_present = |value: &Value| match value {
        Value::Null => false,
        Value::Array(list) => !list.is_empty(),
        Value::Object(members) => !members.is_empty(),
        _ => true,
    };
    Value::Object(
        members
            .into_iter()
            .filter(|(_, value)| is_present(value))
            .map(|(name, value)| (name.to_owned(), value))
            .collect(),
    )
}

/// Builds a POST request with a JSON body.
pub(crate) fn post(path: &str, body: &Value, headers: Vec<(HeaderName, HeaderValue)>) -> ProviderRequest {
    let mut all = vec![
        (CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (ACCEPT, HeaderValue::from_static("application/json")),
    ];
    all.extend(headers);
    ProviderRequest {
        method: Method::POST,
        path: path.to_owned(),
        headers: all,
        body: Bytes::from(body.to_string()),
    }
}

/// Builds a header that contains a key, marked sensitive so that it is never shown.
pub(crate) fn secret_header(name: HeaderName, prefix: &str, key: &Secret) -> (HeaderName, HeaderValue) {
    let mut value = HeaderValue::try_from(format!("{prefix}{}", key.reveal()))
        .expect("the settings were checked: a key has visible characters only");
    value.set_sensitive(true);
    (name, value)
}
