//! Parses addresses in the forms that producers write: `a@b`, `Name <a@b>`, comma-separated lists, and JSON of either.

use serde::Deserialize;

use super::{Address, Error, Mailbox};
use crate::quote;

/// Parses a column of addresses. Empty text is an empty list.
///
/// Text that starts with `[` or `{` is JSON: strings, or objects with `email` (or `address`) and `name`. A single JSON
/// string, as JSON columns return it, is accepted as well. Anything else is a comma-separated list.
pub fn parse_list(text: &str) -> Result<Vec<Mailbox>, Error> {
    let text = text.trim();
    if text.is_empty() || text == "null" {
        return Ok(Vec::new());
    }
    if text.starts_with(['[', '{']) {
        return parse_json(text);
    }
    if text.len() > 1 && text.starts_with('"') && text.ends_with('"') && !text.contains('<') {
        let inner: String = serde_json::from_str(text).map_err(|error| Error::Json(error.to_string()))?;
        return parse_commas(&inner);
    }
    parse_commas(text)
}

/// Parses exactly one mailbox, `a@b` or `Name <a@b>`.
pub fn parse_mailbox(text: &str) -> Result<Mailbox, Error> {
    let text = text.trim_matches(' ');
    if text.is_empty() {
        return Err(Error::Empty);
    }
    if text.chars().any(char::is_control) {
        return Err(Error::Control(quote(text)));
    }
    let Some(inner) = text.strip_suffix('>') else {
        return Ok(Mailbox { name: None, address: Address::parse(text)? });
    };
    // A quoted name may contain a `<`; the last one opens the address.
    let open = inner.rfind('<').ok_or_else(|| Error::Form(quote(text)))?;
    Mailbox::new(&parse_name(inner[..open].trim(), text)?, Address::parse(&inner[open + 1..])?)
}

/// Parses a display name: plain words, or one quoted string.
fn parse_name(name: &str, whole: &str) -> Result<String, Error> {
    if !name.starts_with('"') {
        let special = |c: char| matches!(c, '"' | '<' | '>' | '\\');
        return if name.contains(special) { Err(Error::Form(quote(whole))) } else { Ok(name.to_owned()) };
    }
    let mut chars = name[1..].chars();
    let mut plain = String::with_capacity(name.len());
    while let Some(c) = chars.next() {
        match c {
            '\\' => plain.push(chars.next().ok_or_else(|| Error::Unclosed(quote(whole)))?),
            '"' if chars.as_str().is_empty() => return Ok(plain),
            '"' => return Err(Error::Form(quote(whole))),
            other => plain.push(other),
        }
    }
    Err(Error::Unclosed(quote(whole)))
}

/// Splits the text at commas outside quotes and angle brackets.
fn parse_commas(text: &str) -> Result<Vec<Mailbox>, Error> {
    let mut found = Vec::new();
    let (mut start, mut quoted, mut angled, mut escaped) = (0, false, false, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            '<' if !quoted => angled = true,
            '>' if !quoted => angled = false,
            ',' if !quoted && !angled => {
                found.push(parse_mailbox(&text[start..at])?);
                start = at + 1;
            }
            _ => {}
        }
    }
    if quoted || angled {
        return Err(Error::Unclosed(quote(text)));
    }
    found.push(parse_mailbox(&text[start..])?);
    Ok(found)
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Json {
    Many(Vec<JsonMailbox>),
    One(JsonMailbox),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum JsonMailbox {
    Text(String),
    Parts {
        #[serde(alias = "address")]
        email: String,
        #[serde(default)]
        name: Option<String>,
    },
}

fn parse_json(text: &str) -> Result<Vec<Mailbox>, Error> {
    // Check the syntax first: the error of an untagged enum would not name the position.
    let value: serde_json::Value =
        serde_json::from_str(text).map_err(|error| Error::Json(error.to_string()))?;
    let shape = "expected strings, or objects with `email` and `name`";
    let json: Json = serde_json::from_value(value).map_err(|_| Error::Json(shape.to_owned()))?;
    let many = match json {
        Json::Many(many) => many,
        Json::One(one) => vec![one],
    };
    many.iter()
        .map(|mailbox| match mailbox {
            JsonMailbox::Text(text) => parse_mailbox(text),
            JsonMailbox::Parts { email, name } => {
                Mailbox::new(name.as_deref().unwrap_or_default(), Address::parse(email)?)
            }
        })
        .collect()
}
