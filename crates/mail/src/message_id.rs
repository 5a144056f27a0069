//! Message-IDs: the same for every delivery of the same row, so that receivers can drop duplicates.

use ring::digest::{SHA256, digest};

#[cfg(test)]
mod tests;

/// Longest part in bytes; longer keys are truncated and made unique by a hash.
const KEY_LIMIT: usize = 100;

/// Returns `{name}.{key}@{domain}`, without angle brackets. Characters that are invalid in a Message-ID are replaced.
/// If that or truncation changed a part, a hash of the original is appended, so that different keys stay different.
pub fn message_id(name: &str, key: &str, domain: &str) -> String {
    let mut id = String::with_capacity(name.len() + key.len() + domain.len() + 2);
    push_clean(&mut id, name);
    id.push('.');
    push_clean(&mut id, key);
    id.push('@');
    id.push_str(domain);
    id
}

/// Appends a part reduced to letters, digits, `-`, `_` and single dots between them.
fn push_clean(id: &mut String, part: &str) {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    let dotted = part.split('.').all(|atom| !atom.is_empty() && atom.bytes().all(plain));
    if dotted && part.len() <= KEY_LIMIT {
        id.push_str(part);
        return;
    }
    let replaced = part.bytes().take(KEY_LIMIT / 2).map(|b| if plain(b) { char::from(b) } else { '_' });
    id.extend(replaced);
    id.push('-');
    push_hash(id, part);
}

/// Appends the first 12 bytes of the SHA-256 hash, in hexadecimal.
pub(crate) fn push_hash(to: &mut String, text: &str) {
    push_hex(to, &digest(&SHA256, text.as_bytes()).as_ref()[..12]);
}

pub(crate) fn push_hex(to: &mut String, bytes: &[u8]) {
    for byte in bytes {
        for nibble in [byte >> 4, byte & 15] {
            to.push(char::from(b"0123456789abcdef"[usize::from(nibble)]));
        }
    }
}
