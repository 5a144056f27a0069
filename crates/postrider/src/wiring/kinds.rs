//! The kinds of stores, transports, queues and composers: which URL or name means which, and which fit together.

use postrider_composers::record;

use super::optional::Feature;
use crate::settings::{DeadLetter, listed, suggest};

/// A kind of database that contracts run on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreKind {
    Postgres,
    Mysql,
    Sqlite,
    DynamoDb,
}

/// A kind of transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransportKind {
    Smtp,
    Folder,
    Kafka,
    Nats,
    Amqp,
    Sqs,
    /// A mail provider's HTTP API.
    Provider,
    /// Several mail transports combined.
    Reliable,
    Webhook,
}

/// A kind of external queue that carries pointers to jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueKind {
    Nats,
    Amqp,
    Sqs,
}

/// A kind of composer, which turns rows into envelopes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ComposerKind {
    Email,
    Record,
    MailJob,
    Webhook,
    /// The stages of the e-mail pipeline: intake, send, callbacks.
    Eml,
    RawEml,
    Callback,
}

const STORES: [(&str, StoreKind); 6] = [
    ("postgres", StoreKind::Postgres),
    ("postgresql", StoreKind::Postgres),
    ("mysql", StoreKind::Mysql),
    ("mariadb", StoreKind::Mysql),
    ("sqlite", StoreKind::Sqlite),
    ("dynamodb", StoreKind::DynamoDb),
];
const TRANSPORTS: [(&str, TransportKind); 17] = [
    ("smtp", TransportKind::Smtp),
    ("smtps", TransportKind::Smtp),
    ("file", TransportKind::Folder),
    ("kafka", TransportKind::Kafka),
    ("kafkas", TransportKind::Kafka),
    ("nats", TransportKind::Nats),
    ("tls", TransportKind::Nats),
    ("amqp", TransportKind::Amqp),
    ("amqps", TransportKind::Amqp),
    ("sqs", TransportKind::Sqs),
    ("ses", TransportKind::Provider),
    ("sendgrid", TransportKind::Provider),
    ("postmark", TransportKind::Provider),
    ("mailgun", TransportKind::Provider),
    ("resend", TransportKind::Provider),
    ("reliable", TransportKind::Reliable),
    ("webhook", TransportKind::Webhook),
];
const QUEUES: [(&str, QueueKind); 5] = [
    ("nats", QueueKind::Nats),
    ("tls", QueueKind::Nats),
    ("amqp", QueueKind::Amqp),
    ("amqps", QueueKind::Amqp),
    ("sqs", QueueKind::Sqs),
];
const COMPOSERS: [(&str, ComposerKind); 7] = [
    ("email", ComposerKind::Email),
    ("record", ComposerKind::Record),
    ("mail_job", ComposerKind::MailJob),
    ("webhook", ComposerKind::Webhook),
    ("eml", ComposerKind::Eml),
    ("raw_eml", ComposerKind::RawEml),
    ("callback", ComposerKind::Callback),
];

/// The name of intake's transport, the disk, which needs no `[transports.NAME]`.
pub const DISK: &str = "(disk)";

impl StoreKind {
    /// Returns the kind by the URL's scheme. The error shows only the scheme, as the rest may hold a password.
    pub fn of(url: &str) -> Result<Self, String> {
        by_scheme(url, &STORES, Self::feature, Feature::is_built)
    }

    /// The Cargo feature that brings it; `None` if every build has it.
    fn feature(self) -> Option<Feature> {
        match self {
            Self::Postgres | Self::Mysql | Self::Sqlite => None,
            Self::DynamoDb => Some(Feature::Aws),
        }
    }
}

impl QueueKind {
    /// Returns the kind by the URL's scheme; the error shows only the scheme.
    pub fn of(url: &str) -> Result<Self, String> {
        by_scheme(url, &QUEUES, Self::feature, Feature::is_built)
    }

    /// The Cargo feature that brings it.
    #[expect(clippy::unnecessary_wraps, reason = "like the other kinds, some of which every build has")]
    fn feature(self) -> Option<Feature> {
        Some(match self {
            Self::Nats => Feature::Nats,
            Self::Amqp => Feature::Amqp,
            Self::Sqs => Feature::Aws,
        })
    }
}

impl TransportKind {
    /// Returns the kind by the URL's scheme; the error shows only the scheme.
    pub fn of(url: &str) -> Result<Self, String> {
        by_scheme(url, &TRANSPORTS, Self::feature, Feature::is_built)
    }

    /// The Cargo feature that brings it; `None` if every build has it.
    fn feature(self) -> Option<Feature> {
        match self {
            Self::Smtp | Self::Folder | Self::Reliable | Self::Webhook => None,
            Self::Kafka => Some(Feature::Kafka),
            Self::Nats => Some(Feature::Nats),
            Self::Amqp => Some(Feature::Amqp),
            Self::Sqs => Some(Feature::Aws),
            Self::Provider => Some(Feature::Providers),
        }
    }

    /// Whether it delivers mails directly; false for a combination of transports.
    pub fn sends_mail(self) -> bool {
        matches!(self, Self::Smtp | Self::Folder | Self::Provider)
    }

    /// Whether it parses the options next to its URL itself: brokers have several hosts, which no URL library
    /// parses, and providers have none.
    pub fn parses_own_options(self) -> bool {
        matches!(self, Self::Kafka | Self::Nats | Self::Amqp | Self::Sqs | Self::Provider | Self::Webhook)
    }

    /// Checks that it can deliver what this composer makes. The error continues a sentence after the transport's name.
    pub fn carries(self, composer: ComposerKind) -> Result<(), &'static str> {
        use ComposerKind::{Callback, Email, Eml, MailJob, RawEml, Record, Webhook};
        let mail = matches!(self, Self::Folder | Self::Smtp | Self::Provider | Self::Reliable);
        let records = matches!(self, Self::Folder | Self::Kafka | Self::Nats | Self::Amqp | Self::Sqs);
        let fits = match composer {
            Email | MailJob | RawEml => mail,
            Record => records,
            Webhook | Callback => self == Self::Webhook,
            // Intake needs no transport.
            Eml => true,
        };
        if fits {
            return Ok(());
        }
        Err(match (composer, self) {
            (Webhook, Self::Folder) => {
                "is a folder, but this contract creates webhooks: use a transport with webhook://"
            }
            (Webhook | Callback, _) => {
                "makes no HTTP requests, but this contract needs them: use a transport with webhook://"
            }
            (_, Self::Webhook) => "sends webhooks, but this contract creates none",
            (Record, _) => {
                "sends mail, but this contract creates none: use a transport with kafka://, nats://, amqp://, sqs:// or file:"
            }
            _ => {
                "is a broker, but this contract creates no records: use a transport with smtp://, smtps:// or file:"
            }
        })
    }

    /// Returns where dead letters are published by this kind; an error if it cannot publish them as `wanted`.
    pub fn dead_letters(self, wanted: &DeadLetter) -> Result<record::DeadLetters, String> {
        let queue = self == Self::Sqs;
        let suffix = match wanted {
            DeadLetter::Usual if queue => "-dlq",
            DeadLetter::Usual => ".dlq",
            DeadLetter::Suffix(suffix) if queue && suffix.contains('.') => {
                return Err(format!(
                    "{suffix:?}: SQS allows no dot in a queue's name; use for example \"-dlq\""
                ));
            }
            DeadLetter::Suffix(suffix) => suffix,
        };
        // The name of every FIFO queue must end with `.fifo`.
        let last = queue.then_some(".fifo");
        Ok(record::DeadLetters { suffix: suffix.to_owned(), keep_last: last.map(str::to_owned) })
    }
}

impl ComposerKind {
    /// Whether its envelopes are mails.
    pub fn makes_mails(self) -> bool {
        match self {
            Self::Email | Self::MailJob | Self::RawEml => true,
            Self::Record | Self::Webhook | Self::Eml | Self::Callback => false,
        }
    }

    /// The keys of `[lanes.NAME.mail]` that it reads.
    pub fn mail_keys(self) -> &'static [&'static str] {
        match self {
            Self::Email => {
                &["from", "domain", "templates", "locale", "bounces", "recipient_limit", "size_limit", "dkim"]
            }
            // Each of its mails has one recipient.
            Self::MailJob => &[
                "from",
                "domain",
                "templates",
                "locale",
                "bounces",
                "size_limit",
                "dkim",
                "manage_url",
                "unsubscribe_url",
                "time_zone",
            ],
            Self::Eml => &["from", "domain", "recipient_limit", "size_limit"],
            // Its files are complete messages.
            Self::RawEml => &["bounces", "recipient_limit", "size_limit"],
            Self::Record | Self::Webhook | Self::Callback => &[],
        }
    }

    /// The keys of `[lanes.NAME.emails]` that it reads.
    pub fn emails_keys(self) -> &'static [&'static str] {
        match self {
            Self::Eml | Self::RawEml => &["base", "folder", "remove_files_after"],
            Self::Callback => &["callback_url", "callback_secret", "callback_old_secret"],
            Self::Email | Self::Record | Self::MailJob | Self::Webhook => &[],
        }
    }

    /// Returns the kind by the composer's name; the error suggests a known name.
    pub fn of(name: &str) -> Result<Self, String> {
        let names = COMPOSERS.map(|(name, _)| name);
        COMPOSERS.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind).ok_or_else(|| {
            format!("its composer `{name}` is not known to this version, which has {}", listed(&names))
        })
    }
}

fn by_scheme<T: Copy>(
    url: &str,
    known: &[(&'static str, T)],
    feature: impl Fn(T) -> Option<Feature>,
    is_built: impl Fn(Feature) -> bool,
) -> Result<T, String> {
    let Some((scheme, _)) = url.split_once(':') else {
        let schemes: Vec<&str> = known.iter().map(|(scheme, _)| *scheme).collect();
        return Err(format!("has no scheme: it must start with one of {}, and a colon", listed(&schemes)));
    };
    let found = known.iter().find(|(name, _)| *name == scheme).map(|(_, kind)| *kind);
    let kind = found.ok_or_else(|| {
        format!("unknown scheme `{scheme}:`{}", suggest(scheme, known.iter().map(|(scheme, _)| *scheme)))
    })?;
    match feature(kind).filter(|feature| !is_built(*feature)) {
        Some(feature) => Err(format!("`{scheme}:` {}", feature.refusal())),
        None => Ok(kind),
    }
}

#[cfg(test)]
mod tests;
