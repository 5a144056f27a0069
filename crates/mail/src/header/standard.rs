//! The standard headers that a row may set among its own: `Reply-To` and `Message-ID`. (`Sender` is a custom header whose
//! value must be a mailbox.)

use crate::address::{Mailbox, parse_list};
use crate::quote;

use super::{COUNT_LIMIT, CustomHeader, Error, MESSAGE_ID_LIMIT, pairs};

/// The names, in lower case.
const STANDARD: [&str; 2] = ["reply-to", "message-id"];

/// The headers of one message, checked.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MessageHeaders {
    pub custom: Vec<CustomHeader>,
    pub reply_to: Vec<Mailbox>,
    /// The Message-ID without angle brackets.
    pub message_id: Option<String>,
}

/// Parses a JSON object of names and values, as [`super::parse`], in which standard headers may occur. The values are
/// not checked before [`MessageHeaders::new`].
pub fn parse_with_standard(json: &str) -> Result<Vec<(String, String)>, Error> {
    pairs(json, &STANDARD)
}

impl MessageHeaders {
    /// Checks names and values.
    pub fn new(pairs: &[(String, String)]) -> Result<Self, Error> {
        if pairs.len() > COUNT_LIMIT {
            return Err(Error::Many);
        }
        let mut headers = Self::default();
        for (name, value) in pairs {
            match name.to_ascii_lowercase().as_str() {
                "reply-to" => {
                    let mailboxes = parse_list(value);
                    let problem = |source| Error::Address { name: name.clone(), source };
                    headers.reply_to.extend(mailboxes.map_err(problem)?);
                }
                "message-id" => headers.message_id = Some(message_id(value)?),
                _ => headers.custom.push(CustomHeader::new(name, value)?),
            }
        }
        Ok(headers)
    }
}

/// Checks a Message-ID of RFC 5322: `<NAME@DOMAIN>`, with or without the angle brackets.
fn message_id(value: &str) -> Result<String, Error> {
    let text = value.trim_matches([' ', '\t']);
    let bare = text.strip_prefix('<').and_then(|text| text.strip_suffix('>')).unwrap_or(text);
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-/=?^_`{|}~".contains(&byte);
    let is_dotted = |part: &str| part.split('.').all(|atom| !atom.is_empty() && atom.bytes().all(is_plain));
    let is_valid = bare.split_once('@').is_some_and(|(name, domain)| is_dotted(name) && is_dotted(domain));
    if is_valid && bare.len() <= MESSAGE_ID_LIMIT {
        Ok(bare.to_owned())
    } else {
        Err(Error::MessageId(quote(value)))
    }
}
