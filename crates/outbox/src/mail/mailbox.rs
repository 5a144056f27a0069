//! Mail addresses with optional names, in the format of the column: JSON, so that names need no quoting.

use serde_json::{Value, json};

use crate::{Error, check};

/// The limits of RFC 5321, 4.5.3.1, in bytes.
const LOCAL_LIMIT: usize = 64;
const DOMAIN_LIMIT: usize = 255;

/// A mail address with an optional name. It is checked when the mail is enqueued.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mailbox {
    name: Option<String>,
    address: String,
}

impl Mailbox {
    /// Creates a mailbox without a name.
    pub fn new(address: impl Into<String>) -> Self {
        Self { name: None, address: address.into() }
    }

    /// Creates a mailbox with a name, which needs no quotes or escapes.
    pub fn named(name: impl Into<String>, address: impl Into<String>) -> Self {
        Self { name: Some(name.into()), address: address.into() }
    }

    fn check(&self, field: &'static str) -> Result<(), Error> {
        check::line(field, &self.address)?;
        check::line(field, self.name.as_deref().unwrap_or_default())?;
        let refuse = |why| Err(Error::Address { field, given: self.address.clone(), why });
        let Some((local, domain)) = self.address.rsplit_once('@') else { return refuse("there is no @") };
        if local.is_empty() || domain.is_empty() {
            return refuse("there is nothing before or after the @");
        }
        if local.len() > LOCAL_LIMIT || domain.len() > DOMAIN_LIMIT {
            return refuse("it is too long: 64 bytes before the @, 255 after it");
        }
        // A quoted local part may contain all of these.
        let stray = |text: &str| text.contains([' ', '\t', ',', ';', '<', '>', '@']);
        if stray(domain) || (!local.starts_with('"') && stray(local)) {
            return refuse(
                "it holds a space, a comma, a bracket or a second @; give each address by a call of its own",
            );
        }
        Ok(())
    }

    fn json(&self) -> Value {
        match &self.name {
            Some(name) if !name.trim().is_empty() => json!({ "email": self.address, "name": name }),
            _ => json!(self.address),
        }
    }
}

/// Returns the addresses as a JSON list; an error if one of them is invalid.
pub fn json(field: &'static str, list: &[Mailbox]) -> Result<String, Error> {
    list.iter().try_for_each(|mailbox| mailbox.check(field))?;
    Ok(Value::Array(list.iter().map(Mailbox::json).collect()).to_string())
}

/// Parses `ann@example.org`, `Ann <ann@example.org>` or `"Smith, Ann" <ann@example.org>`.
impl From<&str> for Mailbox {
    fn from(text: &str) -> Self {
        let text = text.trim_matches(' ');
        let Some((name, address)) = text.strip_suffix('>').and_then(|text| text.rsplit_once('<')) else {
            return Self::new(text);
        };
        let name = name.trim_matches(' ');
        let bare = name.strip_prefix('"').and_then(|name| name.strip_suffix('"'));
        match bare {
            Some(quoted) => Self::named(quoted.replace("\\\"", "\"").replace("\\\\", "\\"), address),
            None => Self::named(name, address),
        }
    }
}

impl From<String> for Mailbox {
    fn from(text: String) -> Self {
        Self::from(text.as_str())
    }
}
