//! The headers of a mail that its row sets: from a JSON object, and from one field each, which win.

use postrider_mail::header::{MessageHeaders, parse_with_standard};
use postrider_seams::Fields;

use super::{Reason, fields};

/// The prefix of fields with one header each.
pub const PREFIX: &str = "headers.";

/// Reads the headers of a row.
pub fn read(row: &Fields) -> Result<MessageHeaders, Reason> {
    let mut pairs = match fields::json(row, "headers")? {
        Some(json) => parse_with_standard(json)?,
        None => Vec::new(),
    };
    for (field, value) in row.iter() {
        let Some(name) = field.strip_prefix(PREFIX) else { continue };
        if let Some(text) =
            crate::text::scalar(value).map_err(|at| Reason::HeaderUtf8 { name: name.to_owned(), at })?
        {
            pairs.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
            pairs.push((name.to_owned(), text.into_owned()));
        }
    }
    Ok(MessageHeaders::new(&pairs)?)
}
