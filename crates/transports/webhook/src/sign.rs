//! Webhook signatures according to Standard Webhooks: HMAC-SHA256 over `id.timestamp.body`.

use base64::Engine as _;
use base64::alphabet::STANDARD as ALPHABET;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD};
use postrider_seams::Secret;
use ring::hmac;

#[cfg(test)]
mod tests;

/// Prefix of secrets that are encoded in base64.
pub const PREFIX: &str = "whsec_";

/// Key lengths that the standard recommends, in bytes.
const USUAL: std::ops::RangeInclusive<usize> = 24..=64;

const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &ALPHABET,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Decodes the key of a secret.
/// With the prefix `whsec_` it is base64. Without, it is base64 if it decodes as such to a usual length, as the
/// standard's libraries read it, else the bytes themselves.
pub fn key(secret: &Secret) -> Result<hmac::Key, &'static str> {
    let text = secret.reveal().trim();
    let bytes = match text.strip_prefix(PREFIX) {
        Some(encoded) => {
            LENIENT.decode(encoded).map_err(|_| "the signing secret is not base64 after whsec_")?
        }
        None => match LENIENT.decode(text) {
            Ok(bytes) if USUAL.contains(&bytes.len()) => bytes,
            _ => text.as_bytes().to_vec(),
        },
    };
    if bytes.is_empty() {
        return Err("the signing secret is empty");
    }
    Ok(hmac::Key::new(hmac::HMAC_SHA256, &zeroizing(bytes)))
}

/// Wraps bytes that are wiped when dropped.
fn zeroizing(bytes: Vec<u8>) -> zeroize::Zeroizing<Vec<u8>> {
    zeroize::Zeroizing::new(bytes)
}

/// Returns the value of `webhook-signature`: one signature per key, the newest first.
pub fn signatures(keys: &[hmac::Key], id: &str, timestamp: i64, body: &[u8]) -> String {
    let head = format!("{id}.{timestamp}.");
    let one = |key: &hmac::Key| {
        let mut signing = hmac::Context::with_key(key);
        signing.update(head.as_bytes());
        signing.update(body);
        format!("v1,{}", STANDARD.encode(signing.sign()))
    };
    keys.iter().map(one).collect::<Vec<_>>().join(" ")
}
