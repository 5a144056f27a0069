//! `[mail]`, and `[lanes.NAME.mail]` over it: what every mail of a lane has in common.

use std::path::PathBuf;

use postrider_seams::Secret;

use super::reader::Reader;
use super::secret::References;

/// Large enough for attachments; most relays refuse more.
const SIZE_LIMIT: u64 = 25 << 20;

#[derive(Debug, Clone)]
pub struct MailSettings {
    /// For rows that name no sender.
    pub from: Option<String>,
    /// The right side of Message-IDs; the sender's domain if none.
    pub domain: Option<String>,
    /// Where templates are; rows with a template are rejected if none.
    pub templates: Option<PathBuf>,
    /// For rows that name no locale.
    pub locale: Option<String>,
    /// Where bounces go, if not to the sender.
    pub bounces: Option<String>,
    /// The most recipients that one mail may have.
    pub recipient_limit: u32,
    /// The most bytes that one row may have.
    pub size_limit: u64,
    pub dkim: Vec<Dkim>,
    /// Notifications: where a subscriber manages and ends the subscription, and the zone of delivery windows.
    pub manage_url: Option<String>,
    pub unsubscribe_url: Option<String>,
    pub time_zone: Option<String>,
}

/// A key to sign with.
#[derive(Debug, Clone)]
pub struct Dkim {
    pub domain: String,
    pub selector: String,
    /// PEM: RSA, or Ed25519.
    pub key: Secret,
}

impl Default for MailSettings {
    fn default() -> Self {
        Self {
            from: None,
            domain: None,
            templates: None,
            locale: None,
            bounces: None,
            recipient_limit: 1_000,
            size_limit: SIZE_LIMIT,
            dkim: Vec::new(),
            manage_url: None,
            unsubscribe_url: None,
            time_zone: None,
        }
    }
}

impl MailSettings {
    /// Reads over `self`: what is not written stays as it is.
    pub fn read(mut reader: Reader<'_>, before: Self) -> Self {
        let base = reader.base().to_owned();
        let mut mail = before;
        let mut text = |key: &'static str, slot: &mut Option<String>| {
            if let Some(found) = reader.text(key) {
                *slot = Some(found.value);
            }
        };
        text("from", &mut mail.from);
        text("domain", &mut mail.domain);
        text("locale", &mut mail.locale);
        text("bounces", &mut mail.bounces);
        text("manage_url", &mut mail.manage_url);
        text("unsubscribe_url", &mut mail.unsubscribe_url);
        text("time_zone", &mut mail.time_zone);
        if let Some(found) = reader.text("templates") {
            mail.templates = Some(base.join(found.value));
        }
        if let Some(limit) = reader.count("recipient_limit", 1..=100_000) {
            mail.recipient_limit = limit;
        }
        if let Some(size) = reader.bytes("size_limit", 1 << 10..=1 << 30) {
            mail.size_limit = size;
        }
        let dkim = reader.list_of_tables("dkim");
        if !dkim.is_empty() {
            mail.dkim = dkim.into_iter().filter_map(Dkim::read).collect();
        }
        reader.finish();
        mail
    }
}

impl Dkim {
    fn read(mut reader: Reader<'_>) -> Option<Self> {
        let domain = reader.text("domain");
        let domain = reader.required("domain", domain, "domain = \"example.com\"");
        let selector = reader.text("selector");
        let selector = reader.required("selector", selector, "selector = \"mail\"");
        let key = reader.secret("key", References::All);
        let key = reader.required("key", key, "key = \"file://dkim.pem\"");
        reader.finish();
        Some(Self { domain: domain?.value, selector: selector?.value, key: key?.value })
    }
}
