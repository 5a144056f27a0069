//! Masks secrets and addresses in what the API returns: values of secret headers, and the addresses that host names
//! resolve to, which would let a caller that may set targets explore the private network.
//!
//! Invariant: masking affects only what is shown. Stored and sent values stay unchanged.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use crate::access::{Actor, Role};

/// The text shown in place of a value that may be a secret.
pub const MASK: &str = "••••••";

/// Whether a header or column of this name may hold a secret, such as `Authorization` or `X-Api-Key`.
pub fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["authorization", "cookie", "token", "secret", "password", "api-key", "apikey", "api_key"]
        .iter()
        .any(|word| name.contains(word))
}

/// Masks secret headers. Operators see all values; a producer sees those of its own jobs.
pub(crate) fn headers(actor: &Actor, own: bool, headers: &mut BTreeMap<String, String>) {
    if actor.role >= Role::Operator || (actor.role == Role::Producer && own) {
        return;
    }
    for (name, value) in headers {
        if is_secret(name) {
            MASK.clone_into(value);
        }
    }
}

/// The text shown in place of an address.
const HIDDEN: &str = "(address hidden)";

/// Hides addresses in an error text, unless the target URL contains them. Operators see the whole text.
pub(crate) fn addresses(actor: &Actor, target: &str, text: &mut Option<String>) {
    if actor.role >= Role::Operator {
        return;
    }
    if let Some(found) = text {
        *found = without_addresses(found, target);
    }
}

/// Whether the character can be part of an IP address with a port.
fn in_address(c: char) -> bool {
    c.is_ascii_hexdigit() || matches!(c, '.' | ':' | '[' | ']' | '%')
}

fn without_addresses(text: &str, target: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(in_address) {
        let (before, from) = rest.split_at(start);
        let length = from.find(|c| !in_address(c)).unwrap_or(from.len());
        let (word, after) = from.split_at(length);
        let bare = word.trim_end_matches(['.', ':']);
        shown.push_str(before);
        if is_address(bare) && !target.contains(bare) {
            shown.push_str(HIDDEN);
            shown.push_str(&word[bare.len()..]);
        } else {
            shown.push_str(word);
        }
        rest = after;
    }
    shown + rest
}

fn is_address(text: &str) -> bool {
    let bare = text.trim_start_matches('[').trim_end_matches(']');
    text.parse::<SocketAddr>().is_ok() || bare.parse::<IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::without_addresses;

    #[test]
    fn addresses_are_hidden_unless_the_target_names_them() {
        for (text, target, shown) in [
            (
                "a.example is 10.0.0.7, which may not be dialled",
                "https://a.example/",
                "a.example is (address hidden), which may not be dialled",
            ),
            ("10.0.0.7:443: refused", "https://a.example/", "(address hidden): refused"),
            ("[fd00::1]:443 refused", "https://a.example/", "(address hidden) refused"),
            ("fd00::1 refused.", "https://a.example/", "(address hidden) refused."),
            ("10.0.0.7:443: refused", "https://10.0.0.7:443/", "10.0.0.7:443: refused"),
            ("HTTP 503 after 1.5 s: bad gateway", "https://a.example/", "HTTP 503 after 1.5 s: bad gateway"),
        ] {
            assert_eq!(without_addresses(text, target), shown);
        }
    }
}
