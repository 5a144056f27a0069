//! Parses a finished message into its parts, for providers that build the message themselves.

use mail_parser::{Address, Message, MessageParser, MessagePart, MimeHeaders as _, PartType};

#[cfg(test)]
mod tests;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ParsedMailbox {
    pub name: Option<String>,
    pub email: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ParsedAttachment {
    pub name: String,
    pub media_type: String,
    /// Without angle brackets.
    pub content_id: Option<String>,
    pub inline: bool,
    pub content: Vec<u8>,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct ParsedMessage {
    pub from: Option<ParsedMailbox>,
    pub reply_to: Vec<ParsedMailbox>,
    pub to: Vec<ParsedMailbox>,
    pub cc: Vec<ParsedMailbox>,
    pub subject: String,
    pub text: Option<String>,
    pub html: Option<String>,
    /// All other headers, unfolded.
    pub headers: Vec<(String, String)>,
    pub attachments: Vec<ParsedAttachment>,
}

/// Headers that have their own field, belong to the message's encoding, or are written by the provider.
const EXCLUDED_HEADERS: [&str; 16] = [
    "from",
    "to",
    "cc",
    "bcc",
    "reply-to",
    "sender",
    "subject",
    "date",
    "message-id",
    "mime-version",
    "return-path",
    "received",
    "dkim-signature",
    "content-type",
    "content-transfer-encoding",
    "content-disposition",
];

/// Parses a message into its parts.
pub(crate) fn parse(message: &[u8]) -> Result<ParsedMessage, String> {
    let parsed = MessageParser::default().parse(message).ok_or("the message can't be read as MIME")?;
    let mut message = ParsedMessage {
        from: mailboxes(parsed.from()).into_iter().next(),
        reply_to: mailboxes(parsed.reply_to()),
        to: parsed.all_to().flat_map(|to| mailboxes(Some(to))).collect(),
        cc: parsed.all_cc().flat_map(|cc| mailboxes(Some(cc))).collect(),
        subject: parsed.subject().unwrap_or_default().to_owned(),
        ..ParsedMessage::default()
    };
    if message.from.is_none() {
        return Err("the message has no From".to_owned());
    }
    for (name, value) in parsed.headers_raw() {
        if !EXCLUDED_HEADERS.contains(&name.to_ascii_lowercase().as_str()) {
            message.headers.push((name.to_owned(), unfold(value)));
        }
    }
    bodies(&parsed, &mut message);
    message.attachments = parsed.attachments().map(attachment).collect();
    Ok(message)
}

/// Returns the address in the message's `From` header.
pub(crate) fn sender(message: &[u8]) -> Option<String> {
    let parsed = MessageParser::default().parse_headers(message)?;
    mailboxes(parsed.from()).into_iter().next().map(|from| from.email.to_ascii_lowercase())
}

/// Collects the bodies. The parser converts text to HTML and the reverse; only the written ones are used.
fn bodies(parsed: &Message<'_>, message: &mut ParsedMessage) {
    let part = |id: &u32| parsed.parts.get(*id as usize);
    message.text = parsed.text_body.iter().filter_map(part).find_map(|part| match &part.body {
        PartType::Text(text) => Some(text.to_string()),
        _ => None,
    });
    message.html = parsed.html_body.iter().filter_map(part).find_map(|part| match &part.body {
        PartType::Html(html) => Some(html.to_string()),
        _ => None,
    });
}

fn attachment(part: &MessagePart<'_>) -> ParsedAttachment {
    let media_type = part.content_type().map_or_else(
        || "application/octet-stream".to_owned(),
        |kind| match kind.subtype() {
            Some(subtype) => format!("{}/{subtype}", kind.ctype()),
            None => kind.ctype().to_owned(),
        },
    );
    let content_id = part.content_id().map(|id| id.trim_matches(['<', '>']).to_owned());
    ParsedAttachment {
        name: part.attachment_name().unwrap_or("attachment").to_owned(),
        media_type,
        inline: content_id.is_some()
            && part.content_disposition().is_some_and(mail_parser::ContentType::is_inline),
        content_id,
        content: part.contents().to_vec(),
    }
}

fn mailboxes(address: Option<&Address<'_>>) -> Vec<ParsedMailbox> {
    let Some(address) = address else { return Vec::new() };
    address
        .iter()
        .filter_map(|found| {
            let email = found.address()?.to_owned();
            let name = found.name().map(str::to_owned).filter(|name| !name.is_empty());
            Some(ParsedMailbox { name, email })
        })
        .collect()
}

fn unfold(value: &str) -> String {
    value.replace(['\r', '\n'], "").trim().to_owned()
}
