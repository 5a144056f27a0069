//! The forms in which a text may repeat a secret. Pure functions.

use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use zeroize::Zeroizing;

use super::decode::View;

/// URL options whose values are secrets.
const OPTIONS: [&str; 7] = ["key", "password", "token", "nkey", "secret", "secret_key", "session_token"];

/// Schemes in which a user without a password is the secret itself.
const TOKENS: [&str; 5] = ["nats", "sendgrid", "postmark", "mailgun", "resend"];

/// URLs without a host: folders, files and names of other settings. They contain no secret.
const PLACES: [&str; 4] = ["file:", "sqlite:", "reliable:", "webhook:"];

/// The prefix of a webhook's signing secret.
const SIGNING: &str = "whsec_";

/// Returns the secrets in a value: those of a URL, otherwise the value itself.
pub fn secrets_in(value: &str) -> Vec<Zeroizing<String>> {
    let value = value.trim();
    let found = match value.split_once("://") {
        Some((scheme, rest)) if is_scheme(scheme) => in_url(scheme, rest),
        _ if PLACES.iter().any(|scheme| value.starts_with(scheme)) => Vec::new(),
        _ => vec![value.to_owned(), value.strip_prefix(SIGNING).unwrap_or_default().to_owned()],
    };
    found.into_iter().filter(|secret| !secret.is_empty()).map(Zeroizing::new).collect()
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
}

/// Finds secrets without a URL parser: several hosts, or a password with an invalid character, must not hide one.
fn in_url(scheme: &str, rest: &str) -> Vec<String> {
    let (before, query) = rest.split_once('?').unwrap_or((rest, ""));
    let authority = before.split('/').next().unwrap_or_default();
    // A password may contain an unencoded slash: it ends at the last @ before the options.
    let login = authority.rsplit_once('@').or_else(|| before.rsplit_once('@')).map(|(login, _)| login);
    let mut found = Vec::new();
    match login.map(|login| login.split_once(':').ok_or(login)) {
        Some(Ok((_, password))) => found.push(password.to_owned()),
        Some(Err(user)) if TOKENS.contains(&scheme) => found.push(user.to_owned()),
        _ => {}
    }
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    found.extend(pairs.filter(|(name, _)| OPTIONS.contains(name)).map(|(_, value)| value.to_owned()));
    let decoded: Vec<String> = found.iter().map(|secret| decoded(secret)).collect();
    found.extend(decoded);
    found
}

fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let (mut plain, mut at) = (Vec::with_capacity(bytes.len()), 0);
    while at < bytes.len() {
        let hex = bytes.get(at + 1..at + 3).and_then(|hex| std::str::from_utf8(hex).ok());
        let byte = hex.filter(|_| bytes[at] == b'%').and_then(|hex| u8::from_str_radix(hex, 16).ok());
        plain.push(byte.unwrap_or(bytes[at]));
        at += if byte.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&plain).into_owned()
}

/// Returns every form of a secret, each once: verbatim, base64, and without what looks like an escape in it. Escapes of
/// the text itself are undone before these are searched for.
pub fn of(secret: &str) -> Vec<Zeroizing<Vec<u8>>> {
    // In a form of a web page a blank is a plus sign.
    let mut forms = vec![secret.to_owned().into_bytes(), secret.replace(' ', "+").into_bytes()];
    for offset in 0..3 {
        forms.push(base64(&STANDARD_NO_PAD, secret, offset).into_bytes());
        forms.push(base64(&URL_SAFE_NO_PAD, secret, offset).into_bytes());
    }
    forms.extend(View::decode(secret.as_bytes()).map(|view| view.bytes));
    forms.sort_unstable();
    forms.dedup();
    forms.into_iter().map(Zeroizing::new).collect()
}

/// Returns the base64 characters that depend on the secret alone, if it begins `offset` bytes after a group of three.
fn base64(engine: &impl base64::Engine, secret: &str, offset: usize) -> String {
    let bytes = Zeroizing::new([&[0; 2][..offset], secret.as_bytes()].concat());
    let text = engine.encode(&*bytes);
    let (first, end) = ((offset * 8).div_ceil(6), bytes.len() * 8 / 6);
    text[first..end].to_owned()
}
