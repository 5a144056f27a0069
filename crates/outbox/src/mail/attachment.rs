//! Attachments in the format of the column: a JSON list with the content in base64.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::Error;

const COUNT_LIMIT: usize = 100;
const NAME_LIMIT: usize = 255;

/// A file attached to a mail. Name and type are checked when the mail is enqueued.
#[derive(Clone, PartialEq, Eq)]
pub struct Attachment {
    filename: String,
    content_type: String,
    content: Vec<u8>,
    cid: Option<String>,
}

impl Attachment {
    /// Creates an attachment: `Attachment::new("invoice.pdf", "application/pdf", bytes)`.
    pub fn new(
        filename: impl Into<String>,
        content_type: impl Into<String>,
        content: impl Into<Vec<u8>>,
    ) -> Self {
        Self {
            filename: filename.into(),
            content_type: content_type.into(),
            content: content.into(),
            cid: None,
        }
    }

    /// Shows the attachment within the HTML body, which refers to it as `cid:…`.
    #[must_use]
    pub fn inline(mut self, cid: impl Into<String>) -> Self {
        self.cid = Some(cid.into());
        self
    }

    fn check(&self) -> Result<(), Error> {
        let refuse = |why| Err(Error::Attachment { name: self.filename.clone(), why });
        let bad = |c: char| c.is_control() || matches!(c, '/' | '\\' | '\u{2028}' | '\u{2029}');
        let nameless = self.filename.is_empty() && self.cid.is_none();
        if nameless || self.filename.len() > NAME_LIMIT || self.filename.contains(bad) {
            return refuse("the file name is empty, too long, or holds a slash or a control character");
        }
        let printable = self.content_type.bytes().all(|byte| (32..=126).contains(&byte));
        let Some((kind, subtype)) = self.content_type.split_once('/') else {
            return refuse("the content type is not one such as application/pdf");
        };
        if !printable || kind.trim().is_empty() || subtype.trim().is_empty() {
            return refuse("the content type is not one such as application/pdf");
        }
        if ["multipart", "message"].iter().any(|structured| kind.trim().eq_ignore_ascii_case(structured)) {
            return refuse("this type cannot be attached as it is; use application/octet-stream");
        }
        let fine = |byte: u8| byte.is_ascii_alphanumeric() || b"._-@+".contains(&byte);
        match &self.cid {
            Some(cid) if cid.is_empty() || cid.len() > NAME_LIMIT || !cid.bytes().all(fine) => {
                refuse("its cid may hold only letters, digits and . _ - @ +")
            }
            _ => Ok(()),
        }
    }

    fn json(&self) -> Value {
        let mut object = json!({
            "filename": self.filename,
            "content_type": self.content_type,
            "content": STANDARD.encode(&self.content),
        });
        if let Some(cid) = &self.cid {
            object["cid"] = json!(cid);
        }
        object
    }
}

/// Returns the attachments as JSON; an error if there are more than 100, or if one is invalid.
pub fn json(list: &[Attachment]) -> Result<String, Error> {
    if let Some(beyond) = list.get(COUNT_LIMIT) {
        return Err(Error::Attachment { name: beyond.filename.clone(), why: "a mail may have 100 at most" });
    }
    list.iter().try_for_each(Attachment::check)?;
    Ok(Value::Array(list.iter().map(Attachment::json).collect()).to_string())
}

/// Omits the content.
impl fmt::Debug for Attachment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attachment")
            .field("filename", &self.filename)
            .field("content_type", &self.content_type)
            .field("bytes", &self.content.len())
            .finish_non_exhaustive()
    }
}
