//! From settings to things that work. The only place that matches on backend kinds.
//!
//! Owns: which URL means which store or transport, which name means which composer. Must not: run lanes. Invariant:
//! every lane on one store shares one database, and with it its connections.

mod senders;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use postrider_composers::webhook::{NoDirectory, Recent};
use postrider_composers::{EmailComposer, MailJobComposer, RecordComposer, WebhookComposer, email, record};
use postrider_mail::address::parse_mailbox;
use postrider_mail::{Address, LiveTemplates, Signer};
use postrider_seams::store::Error;
use postrider_seams::{Backend, Composer, Migrate, Produce, Secrets, Transport};
use postrider_sender::Reliable;
use postrider_transport_amqp::Amqp;
use postrider_transport_file::{Config, FileTransport};
use postrider_transport_kafka::{self as kafka, Kafka};
use postrider_transport_nats::Nats;
use postrider_transport_provider::Provider;
use postrider_transport_smtp::Smtp;
use postrider_transport_sqs::Sqs;
use postrider_transport_webhook::Webhooks;
use tempfile::TempDir;
use {
    postrider_store_mysql as mysql, postrider_store_postgres as postgres, postrider_store_sqlite as sqlite,
};

pub mod notifications;

use crate::failure::Failure;
use crate::settings::{
    DeadLetter, LaneSettings, MailSettings, RecordSettings, Settings, StoreSettings, TransportSettings,
    listed, suggest,
};

/// A database that contracts can be run on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreKind {
    Postgres,
    Mysql,
    Sqlite,
}

/// A way to deliver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransportKind {
    Smtp,
    Folder,
    Kafka,
    Nats,
    Amqp,
    Sqs,
    /// A mail provider's HTTP interface.
    Provider,
    /// Several mail transports as one.
    Reliable,
    Webhook,
}

/// What makes envelopes of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ComposerKind {
    Email,
    Record,
    MailJob,
    Webhook,
}

const STORES: [(&str, StoreKind); 5] = [
    ("postgres", StoreKind::Postgres),
    ("postgresql", StoreKind::Postgres),
    ("mysql", StoreKind::Mysql),
    ("mariadb", StoreKind::Mysql),
    ("sqlite", StoreKind::Sqlite),
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
const COMPOSERS: [(&str, ComposerKind); 4] = [
    ("email", ComposerKind::Email),
    ("record", ComposerKind::Record),
    ("mail_job", ComposerKind::MailJob),
    ("webhook", ComposerKind::Webhook),
];

impl StoreKind {
    /// By the URL's scheme. The error shows only that: the rest may hold a password.
    pub fn of(url: &str) -> Result<Self, String> {
        by_scheme(url, &STORES)
    }
}

impl TransportKind {
    pub fn of(url: &str) -> Result<Self, String> {
        by_scheme(url, &TRANSPORTS)
    }

    /// Does it deliver mails, by itself?
    pub fn sends_mail(self) -> bool {
        matches!(self, Self::Smtp | Self::Folder | Self::Provider)
    }

    /// Does it read what stands beside its URL by itself? Brokers have several hosts, which no URL library takes, and
    /// providers have none.
    pub fn reads_beside(self) -> bool {
        matches!(self, Self::Kafka | Self::Nats | Self::Amqp | Self::Sqs | Self::Provider | Self::Webhook)
    }

    /// Can it carry what this composer makes? The error goes on after the transport's name.
    pub fn carries(self, composer: ComposerKind) -> Result<(), &'static str> {
        let takes = match self {
            Self::Folder if composer == ComposerKind::Webhook => {
                return Err("is a folder, and this contract makes webhooks: name one with webhook:");
            }
            Self::Folder => return Ok(()),
            Self::Smtp | Self::Provider | Self::Reliable => ComposerKind::Email,
            Self::Kafka | Self::Nats | Self::Amqp | Self::Sqs => ComposerKind::Record,
            Self::Webhook => ComposerKind::Webhook,
        };
        if takes == composer || (takes.makes_mails() && composer.makes_mails()) {
            return Ok(());
        }
        Err(match takes {
            ComposerKind::Email | ComposerKind::MailJob => {
                "sends mail, and this contract makes none: name one with kafka:, nats:, amqp:, sqs: or file:"
            }
            ComposerKind::Record => {
                "is a broker, and this contract makes no records: name one with smtp:, smtps: or file:"
            }
            ComposerKind::Webhook => "posts webhooks, and this contract makes none",
        })
    }

    /// Where dead letters go here.
    pub fn dead_letters(self, wanted: &DeadLetter) -> Result<record::DeadLetters, String> {
        let queue = self == Self::Sqs;
        let suffix = match wanted {
            DeadLetter::Usual if queue => "-dlq",
            DeadLetter::Usual => ".dlq",
            DeadLetter::Suffix(suffix) if queue && suffix.contains('.') => {
                return Err(format!(
                    "{suffix:?}: SQS takes no dot in a queue's name; write for example \"-dlq\""
                ));
            }
            DeadLetter::Suffix(suffix) => suffix,
        };
        // The name of a FIFO queue ends so, whatever it is for.
        let last = queue.then_some(".fifo");
        Ok(record::DeadLetters { suffix: suffix.to_owned(), before: last.map(str::to_owned) })
    }
}

impl ComposerKind {
    /// Are its envelopes mails?
    pub fn makes_mails(self) -> bool {
        match self {
            Self::Email | Self::MailJob => true,
            Self::Record | Self::Webhook => false,
        }
    }

    pub fn of(name: &str) -> Result<Self, String> {
        let names = COMPOSERS.map(|(name, _)| name);
        COMPOSERS.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind).ok_or_else(|| {
            format!("its composer `{name}` is not in this version, which has {}", listed(&names))
        })
    }
}

fn by_scheme<T: Copy>(url: &str, known: &[(&'static str, T)]) -> Result<T, String> {
    let Some((scheme, _)) = url.split_once(':') else {
        let schemes: Vec<&str> = known.iter().map(|(scheme, _)| *scheme).collect();
        return Err(format!("has no scheme: it starts with one of {}, and a colon", listed(&schemes)));
    };
    let found = known.iter().find(|(name, _)| *name == scheme).map(|(_, kind)| *kind);
    found.ok_or_else(|| {
        format!("`{scheme}:` is not known here{}", suggest(scheme, known.iter().map(|(scheme, _)| *scheme)))
    })
}

/// Everything that can be done with a lane's table.
pub trait Table: Backend + Produce {}
impl<T: Backend + Produce> Table for T {}

/// What to do about a SQLite file that is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Absent {
    /// Say so.
    Refuse,
    Make,
    /// Take it for an empty one, and leave no trace: `migrate --print`.
    Imagine,
}

/// The lanes' way to their databases and targets. Databases connect when first used.
pub struct Wiring {
    databases: BTreeMap<String, Database>,
    /// Made when first asked for; lanes with the same target share its connections. A producer of Kafka is bound to a
    /// publish timeout, so lanes share one if they have that in common too.
    transports: Mutex<BTreeMap<Shared, Arc<dyn Transport>>>,
    reliables: Mutex<BTreeMap<String, Arc<Reliable>>>,
    targets: BTreeMap<String, TransportSettings>,
    base: PathBuf,
    /// Removed with us.
    _imagined: Option<TempDir>,
    secrets: Arc<dyn Secrets>,
}

/// A transport's name, and the publish timeout that it is bound to.
type Shared = (String, Option<Duration>);

#[derive(Clone)]
enum Database {
    Postgres(Box<postgres::Database>),
    Mysql(mysql::Database),
    Sqlite(sqlite::Database),
}

impl Wiring {
    pub fn new(settings: &Settings, absent: Absent) -> Result<Self, Failure> {
        let imagined = if absent == Absent::Imagine { Some(tempfile::tempdir()?) } else { None };
        let mut databases = BTreeMap::new();
        for (name, store) in &settings.stores {
            let create = absent == Absent::Make;
            let database = Database::connect(store, &settings.base, create, imagined.as_ref())
                .map_err(|error| Failure::Failed(format!("store `{name}`: {error}")))?;
            databases.insert(name.clone(), database);
        }
        let (targets, base) = (settings.transports.clone(), settings.base.clone());
        let (transports, reliables) = (Mutex::default(), Mutex::default());
        let secrets: Arc<dyn Secrets> = Arc::clone(&settings.secrets) as _;
        Ok(Self { databases, transports, reliables, targets, base, _imagined: imagined, secrets })
    }

    fn database(&self, lane: &LaneSettings) -> &Database {
        self.databases.get(&lane.store).expect("the settings were looked up: every lane's store is there")
    }

    /// The lane's table, opened. A database that is away is a transient error.
    pub async fn open(&self, lane: &LaneSettings) -> Result<Arc<dyn Table>, Error> {
        let contract = (*lane.contract).clone();
        let stage = contract.stages[lane.stage].name.clone();
        Ok(match self.database(lane) {
            Database::Postgres(database) => database.open(contract, &stage, &lane.name).await?,
            Database::Mysql(database) => database.open(contract, &stage, &lane.name).await?,
            Database::Sqlite(database) => database.open(contract, &stage, &lane.name).await?,
        })
    }

    /// The lane's table for `migrate`, whether it is there or not.
    pub fn migration(&self, lane: &LaneSettings) -> Arc<dyn Migrate> {
        let contract = (*lane.contract).clone();
        match self.database(lane) {
            Database::Postgres(database) => database.migration(contract),
            Database::Mysql(database) => database.migration(contract),
            Database::Sqlite(database) => database.migration(contract),
        }
    }

    pub fn composer(&self, lane: &LaneSettings) -> Result<Arc<dyn Composer>, Failure> {
        let name = &lane.contract.stages[lane.stage].composer;
        match ComposerKind::of(name).map_err(Failure::Misuse)? {
            ComposerKind::Email => {
                let settings = email_settings(&lane.name, &lane.mail)
                    .map_err(|mistakes| Failure::Misuse(mistakes.join("; ")))?;
                Ok(Arc::new(EmailComposer::new(settings)))
            }
            ComposerKind::MailJob => {
                let stage = &lane.contract.stages[lane.stage];
                let settings = notifications::settings(&lane.name, &lane.contract, stage, &lane.mail)
                    .map_err(|mistakes| Failure::Misuse(mistakes.join("; ")))?;
                Ok(Arc::new(MailJobComposer::new(settings)))
            }
            ComposerKind::Record => {
                let settings = record_settings(&lane.records, self.targets[&lane.transport].kind);
                Ok(Arc::new(RecordComposer::new(settings.map_err(Failure::Misuse)?)))
            }
            ComposerKind::Webhook => {
                let directory = Arc::new(Recent::new(NoDirectory));
                Ok(Arc::new(WebhookComposer::new(directory, Arc::clone(&self.secrets))))
            }
        }
    }

    /// Gives the connections back.
    pub async fn close(&self) {
        for database in self.databases.values() {
            match database {
                Database::Postgres(database) => database.close().await,
                Database::Mysql(database) => database.close().await,
                Database::Sqlite(database) => database.close().await,
            }
        }
    }
}

impl Database {
    fn connect(
        store: &StoreSettings,
        base: &Path,
        create: bool,
        imagined: Option<&TempDir>,
    ) -> Result<Self, Error> {
        let url = store.url.reveal();
        match store.kind {
            StoreKind::Postgres => {
                let mut settings = postgres::Settings::new(url);
                settings.listen_url = store.listen_url.as_ref().map(|url| url.reveal().to_owned());
                settings.connections = store.connections.unwrap_or(settings.connections);
                postgres::Database::connect(&settings).map(Box::new).map(Self::Postgres)
            }
            StoreKind::Mysql => {
                let mut settings = mysql::Settings::new(url);
                settings.connections = store.connections.unwrap_or(settings.connections);
                mysql::Database::connect(&settings).map(Self::Mysql)
            }
            StoreKind::Sqlite => {
                let file = sqlite_file(url, base);
                let imagined =
                    imagined.filter(|_| !file.exists()).map(|folder| folder.path().join("empty.db"));
                let mut settings =
                    sqlite::Settings::new(format!("sqlite:{}", imagined.as_ref().unwrap_or(&file).display()));
                settings.create = create || imagined.is_some();
                sqlite::Database::connect(&settings).map(Self::Sqlite)
            }
        }
    }
}

/// A relative file name starts at the settings file's folder, wherever we were started.
fn sqlite_file(url: &str, base: &Path) -> PathBuf {
    let name = url.strip_prefix("sqlite:").unwrap_or(url);
    base.join(name.strip_prefix("//").unwrap_or(name))
}

fn connect_transport(
    transport: &TransportSettings,
    base: &Path,
    publish: Duration,
) -> Result<Arc<dyn Transport>, String> {
    let (url, beside) = (transport.url.reveal(), transport.beside());
    match transport.kind {
        TransportKind::Smtp => made(Smtp::from_url(url).map_err(|error| error.mistakes.join("; "))),
        TransportKind::Folder => made(FileTransport::new(Config::new(base.join(folder_name(url))))),
        TransportKind::Kafka => {
            let settings = kafka::Settings::from_url(url, &beside).map_err(|error| error.to_string())?;
            made(Kafka::new(settings.within(publish)))
        }
        TransportKind::Nats => made(Nats::from_url(url, &beside)),
        TransportKind::Amqp => made(Amqp::from_url(url, &beside)),
        TransportKind::Sqs => made(Sqs::from_url(url, &beside)),
        TransportKind::Provider => made(Provider::from_url(url, &beside)),
        TransportKind::Reliable => Err("is several senders as one, and none by itself".to_owned()),
        TransportKind::Webhook => made(Webhooks::from_url(url, &beside)),
    }
}

fn made<T: Transport + 'static>(
    transport: Result<T, impl std::fmt::Display>,
) -> Result<Arc<dyn Transport>, String> {
    transport.map(|transport| Arc::new(transport) as Arc<dyn Transport>).map_err(|error| error.to_string())
}

/// Every mistake in a transport's URL and options. Makes and connects nothing.
pub fn transport_mistakes(transport: &TransportSettings) -> Vec<String> {
    let (url, beside) = (transport.url.reveal(), transport.beside());
    match transport.kind {
        TransportKind::Smtp => postrider_transport_smtp::Settings::from_url(url)
            .err()
            .map_or_else(Vec::new, |error| error.mistakes),
        TransportKind::Folder if folder_name(url).is_empty() => {
            vec!["names no folder: write for example \"file:outbox\"".to_owned()]
        }
        TransportKind::Folder => Vec::new(),
        TransportKind::Kafka => told(kafka::Settings::from_url(url, &beside)),
        TransportKind::Nats => told(postrider_transport_nats::Settings::from_url(url, &beside)),
        TransportKind::Amqp => told(postrider_transport_amqp::Settings::from_url(url, &beside)),
        TransportKind::Sqs => told(postrider_transport_sqs::Settings::from_url(url, &beside)),
        TransportKind::Provider => told(postrider_transport_provider::Settings::from_url(url, &beside)),
        TransportKind::Reliable if url == "reliable:" => Vec::new(),
        TransportKind::Reliable => vec![
            "takes nothing after \"reliable:\", and beside it senders, rates, waits, jitter, cool_down and patience"
                .to_owned(),
        ],
        TransportKind::Webhook => told(postrider_transport_webhook::Settings::from_url(url, &beside)),
    }
}

fn told<T>(settings: Result<T, impl std::fmt::Display>) -> Vec<String> {
    settings.err().map(|error| error.to_string()).into_iter().collect()
}

/// `file:outbox`, `file:///var/outbox`; options are for other transports.
fn folder_name(url: &str) -> &str {
    let name = url.strip_prefix("file:").unwrap_or(url);
    name.strip_prefix("//").unwrap_or(name)
}

/// In front of CloudEvents attributes, as each protocol's binding says.
fn event_prefix(kind: TransportKind) -> &'static str {
    match kind {
        TransportKind::Kafka => "ce_",
        TransportKind::Amqp => "cloudEvents_",
        _ => "ce-",
    }
}

fn record_settings(records: &RecordSettings, kind: TransportKind) -> Result<record::Settings, String> {
    let mut settings = record::Settings::default();
    if let Some(limit) = records.payload_limit {
        settings.payload_limit = limit;
    }
    let events = records.cloud_events.as_deref();
    settings.cloud_events = events.map(|source| record::CloudEvents::new(source, event_prefix(kind)));
    settings.dead_letters =
        records.dead_letter.as_ref().map(|wanted| kind.dead_letters(wanted)).transpose()?;
    Ok(settings)
}

/// What the composer needs of `[mail]`, or every mistake in it.
pub fn email_settings(lane: &str, mail: &MailSettings) -> Result<email::Settings, Vec<String>> {
    let mut settings = email::Settings::new(lane);
    let mut mistakes = Vec::new();
    settings.from = noted(&mut mistakes, "from", mail.from.as_deref().map(parse_mailbox));
    settings.bounces = noted(&mut mistakes, "bounces", mail.bounces.as_deref().map(Address::parse));
    settings.domain.clone_from(&mail.domain);
    settings.size_limit = mail.size_limit;
    settings.recipient_limit = mail.recipient_limit as usize;
    for dkim in &mail.dkim {
        let signer = Signer::new(&dkim.domain, &dkim.selector, dkim.key.reveal());
        settings.signers.extend(noted(&mut mistakes, "dkim", Some(signer)));
    }
    let locale = mail.locale.as_deref().unwrap_or("en");
    let templates = mail.templates.as_deref().map(|folder| LiveTemplates::open(Some(folder), locale));
    settings.templates = noted(&mut mistakes, "templates", templates);
    if mistakes.is_empty() { Ok(settings) } else { Err(mistakes) }
}

fn noted<T, E: std::fmt::Display>(
    mistakes: &mut Vec<String>,
    key: &str,
    made: Option<Result<T, E>>,
) -> Option<T> {
    made?.map_err(|error| mistakes.push(format!("{key}: {error}"))).ok()
}
