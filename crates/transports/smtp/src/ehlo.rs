//! The extensions that a relay offers in its reply to EHLO.

use crate::reply::Reply;

/// The offered extensions that change what we send.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a keyword that the relay says or does not say")]
pub(crate) struct Extensions {
    pub pipelining: bool,
    pub starttls: bool,
    pub eight_bit: bool,
    pub utf8: bool,
    pub size: bool,
    /// Maximum size of a message in bytes, if announced.
    pub max_size: Option<u64>,
    pub plain: bool,
    pub login: bool,
    pub xoauth2: bool,
}

impl Extensions {
    pub(crate) fn read(reply: &Reply<'_>) -> Self {
        let mut extensions = Self::default();
        // The first line is the relay's name.
        for text in reply.texts().skip(1) {
            let text = String::from_utf8_lossy(text).to_ascii_uppercase();
            // Old relays write "AUTH=LOGIN".
            let mut words = text.split([' ', '=']).filter(|word| !word.is_empty());
            match words.next() {
                Some("PIPELINING") => extensions.pipelining = true,
                Some("STARTTLS") => extensions.starttls = true,
                Some("8BITMIME") => extensions.eight_bit = true,
                Some("SMTPUTF8") => extensions.utf8 = true,
                Some("SIZE") => {
                    extensions.size = true;
                    extensions.max_size =
                        words.next().and_then(|size| size.parse().ok()).filter(|size| *size > 0);
                }
                Some("AUTH") => extensions.mechanisms(words),
                _ => {}
            }
        }
        extensions
    }

    fn mechanisms<'a>(&mut self, names: impl Iterator<Item = &'a str>) {
        for name in names {
            match name {
                "PLAIN" => self.plain = true,
                "LOGIN" => self.login = true,
                "XOAUTH2" => self.xoauth2 = true,
                _ => {}
            }
        }
    }
}
