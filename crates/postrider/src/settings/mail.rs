//! Reads `[mail]` and its override `[lanes.NAME.mail]`: the settings that all mails of a lane share.

use std::path::PathBuf;

use postrider_seams::Secret;

use super::reader::Reader;
use super::secret::References;

/// Default size limit in bytes: large enough for attachments; most relays refuse more.
const SIZE_LIMIT: u64 = 25 << 20;

/// The keys of the table.
pub const KEYS: [&str; 11] = [
    "from",
    "domain",
    "templates",
    "locale",
    "bounces",
    "recipient_limit",
    "size_limit",
    "dkim",
    "manage_url",
    "unsubscribe_url",
    "time_zone",
];

/// The mail settings of a lane.
#[derive(Debug, Clone)]
pub struct MailSettings {
    /// The sender of rows that name none.
    pub from: Option<String>,
    /// The right side of Message-IDs. Default: the sender's domain.
    pub domain: Option<String>,
    /// The folder of templates; if `None`, rows with a template are rejected.
    pub templates: Option<PathBuf>,
    /// The locale of rows that name none.
    pub locale: Option<String>,
    /// The address for bounces. Default: the sender.
    pub bounces: Option<String>,
    /// Most recipients of one mail.
    pub recipient_limit: u32,
    /// Most bytes of one row.
    pub size_limit: u64,
    pub dkim: Vec<Dkim>,
    /// The URLs to manage and end a subscription, and the time zone of delivery windows; for notifications only.
    pub manage_url: Option<String>,
    pub unsubscribe_url: Option<String>,
    pub time_zone: Option<String>,
}

/// A DKIM signing key.
#[derive(Debug, Clone)]
pub struct Dkim {
    pub domain: String,
    pub selector: String,
    /// The private key in PEM: RSA or Ed25519.
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
    /// Reads the table on top of `before`: keys that are not written keep its values.
    pub fn read(reader: &Reader<'_>, before: Self) -> Self {
        let base = reader.base().to_owned();
        let mut mail = before;
        let text = |key: &'static str, slot: &mut Option<String>| {
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
        if let Some(limit) = reader.number("recipient_limit", 1..=100_000) {
            mail.recipient_limit = limit;
        }
        if let Some(size) = reader.size("size_limit", 1 << 10..=1 << 30) {
            mail.size_limit = size;
        }
        let dkim = reader.list_of_tables("dkim");
        if !dkim.is_empty() {
            mail.dkim = dkim.iter().filter_map(Dkim::read).collect();
        }
        reader.finish();
        mail
    }
}

impl Dkim {
    fn read(reader: &Reader<'_>) -> Option<Self> {
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
