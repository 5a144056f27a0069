//! Builds stores, transports, composers and queues from settings. The only place that matches on backend kinds.
//!
//! Owns: which URL means which store or transport, which name means which composer. Must not: run lanes. Invariant:
//! all lanes on one store share one database and its connection pool.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use postrider_composers::{EmailComposer, MailJobComposer, RecordComposer, WebhookComposer, email, record};
use postrider_contract::Contract;
use postrider_mail::address::parse_mailbox;
use postrider_mail::{Address, LiveTemplates, Signer};
use postrider_seams::store::{Class, Error};
use postrider_seams::{Backend, ClockOffset, Composer, Migrate, Produce, Queue, Secrets, Transport};
use postrider_sender::Reliable;
use postrider_sql::plain::Plain;
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
    postrider_store_dynamodb as dynamodb, postrider_store_mysql as mysql,
    postrider_store_postgres as postgres, postrider_store_sqlite as sqlite,
};

mod clock;
pub mod emails;
pub mod hooks;
mod kinds;
pub mod notifications;
mod queues;
mod scrubbed;
mod senders;

pub use clock::StoreClock;

pub use kinds::{ComposerKind, DISK, QueueKind, StoreKind, TransportKind};
pub use queues::queue_mistakes;

use crate::descriptors;
use crate::failure::Failure;
use crate::settings::{
    LaneSettings, MailSettings, QueueSettings, RecordSettings, Settings, StoreSettings, TransportSettings,
};

/// Everything that commands and lanes can do with a lane's table.
pub trait Table: Backend + Produce {}
impl<T: Backend + Produce> Table for T {}

/// The handling of a SQLite file that does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Absent {
    /// Return an error.
    Refuse,
    Make,
    /// Treat it as empty, and create no file: `migrate --print`.
    Imagine,
}

/// Connects lanes to their databases and targets. Databases connect at first use.
pub struct Wiring {
    databases: BTreeMap<String, Database>,
    /// Transports, created at first use; lanes with the same target share its connections. A Kafka producer is bound to
    /// a publish timeout, so lanes share one only if they have the same timeout.
    transports: Mutex<BTreeMap<Shared, Arc<dyn Transport>>>,
    reliables: Mutex<BTreeMap<String, Arc<Reliable>>>,
    targets: BTreeMap<String, TransportSettings>,
    /// External queues, created at first use: a lane and the API share one.
    queues: Mutex<BTreeMap<String, Arc<dyn Queue>>>,
    queue_settings: BTreeMap<String, QueueSettings>,
    /// Store → the table of its first lane.
    tables: BTreeMap<String, String>,
    base: PathBuf,
    /// The temporary folder of [`Absent::Imagine`], removed on drop.
    _imagined: Option<TempDir>,
    secrets: Arc<dyn Secrets>,
    ledgers: Mutex<BTreeMap<String, Arc<hooks::Ledger>>>,
    clocks: BTreeMap<String, Arc<ClockOffset>>,
}

/// A transport's name, and the publish timeout that it is bound to.
type Shared = (String, Option<Duration>);

#[derive(Clone)]
enum Database {
    Postgres(Box<postgres::Database>),
    Mysql(mysql::Database),
    Sqlite(sqlite::Database),
    DynamoDb(dynamodb::Database),
}

impl Wiring {
    /// Builds the databases; `patience` is the longest wait for a connection to one.
    pub fn new(settings: &Settings, absent: Absent, patience: Duration) -> Result<Self, Failure> {
        let imagined = if absent == Absent::Imagine { Some(tempfile::tempdir()?) } else { None };
        let mut databases = BTreeMap::new();
        for (name, store) in &settings.stores {
            let create = absent == Absent::Make;
            let imagined = imagined.as_ref();
            let database = Database::connect(store, &settings.base, create, imagined, patience)
                .map_err(|error| Failure::Failed(format!("store `{name}`: {error}")))?;
            databases.insert(name.clone(), database);
        }
        let (targets, base) = (settings.transports.clone(), settings.base.clone());
        let (transports, reliables) = (Mutex::default(), Mutex::default());
        let secrets: Arc<dyn Secrets> = Arc::clone(&settings.secrets) as _;
        let tables = settings.lanes.iter().rev();
        let tables = tables.map(|lane| (lane.store.clone(), lane.contract.table.name.clone())).collect();
        let clocks = databases.keys().map(|name| (name.clone(), Arc::default())).collect();
        Ok(Self {
            databases,
            transports,
            reliables,
            targets,
            queues: Mutex::default(),
            queue_settings: settings.queues.clone(),
            tables,
            base,
            _imagined: imagined,
            secrets,
            ledgers: Mutex::default(),
            clocks,
        })
    }

    fn database(&self, lane: &LaneSettings) -> &Database {
        self.named(&lane.store)
    }

    fn named(&self, store: &str) -> &Database {
        self.databases.get(store).expect("the settings were looked up: every store that is named is there")
    }

    /// The offset of a store's clock from this machine's, as last measured (`clocks.rs`).
    pub fn clock(&self, store: &str) -> Arc<ClockOffset> {
        self.clocks.get(store).cloned().unwrap_or_default()
    }

    /// The names of all stores.
    pub fn stores(&self) -> impl Iterator<Item = &str> {
        self.databases.keys().map(String::as_str)
    }

    /// The stores that have a clock of their own, that is all but SQLite.
    pub fn store_clocks(&self) -> Vec<(String, StoreClock)> {
        let clock = |(name, database): (&String, &Database)| {
            let clock = match database {
                Database::Postgres(database) => StoreClock::Sql(Arc::new((**database).clone())),
                Database::Mysql(database) => StoreClock::Sql(Arc::new(database.clone())),
                Database::DynamoDb(database) => StoreClock::DynamoDb(Box::new(database.clone())),
                Database::Sqlite(_) => return None,
            };
            Some((name.clone(), clock))
        };
        self.databases.iter().filter_map(clock).collect()
    }

    /// Opens the lane's table. An unavailable database is a transient error.
    pub async fn open(&self, lane: &LaneSettings) -> Result<Arc<dyn Table>, Error> {
        let contract = (*lane.contract).clone();
        let stage = contract.stages[lane.stage].name.clone();
        Ok(match self.database(lane) {
            Database::Postgres(database) => database.open(contract, &stage, &lane.name).await?,
            Database::Mysql(database) => database.open(contract, &stage, &lane.name).await?,
            Database::Sqlite(database) => database.open(contract, &stage, &lane.name).await?,
            Database::DynamoDb(database) => database.open(contract, &stage, &lane.name).await?,
        })
    }

    /// The migration of the lane's table, whether it exists or not.
    pub fn migration(&self, lane: &LaneSettings) -> Arc<dyn Migrate> {
        self.migration_on(&lane.store, (*lane.contract).clone())
    }

    /// Opens a store for internal tables.
    pub fn own_tables(&self, store: &str) -> Result<Arc<dyn Plain>, Error> {
        match self.named(store) {
            Database::Postgres(database) => Ok(Arc::new((**database).clone())),
            Database::Mysql(database) => Ok(Arc::new(database.clone())),
            Database::Sqlite(database) => Ok(Arc::new(database.clone())),
            Database::DynamoDb(_) => {
                let text =
                    format!("[server] api: {store} is DynamoDB; the API needs PostgreSQL, MySQL or SQLite");
                Err(Error::new(Class::Misconfigured, text))
            }
        }
    }

    /// The migration of a contract's table on a store.
    pub fn migration_on(&self, store: &str, contract: Contract) -> Arc<dyn Migrate> {
        match self.named(store) {
            Database::Postgres(database) => database.migration(contract),
            Database::Mysql(database) => database.migration(contract),
            Database::Sqlite(database) => database.migration(contract),
            Database::DynamoDb(database) => database.migration(contract),
        }
    }

    /// Builds the composer of the lane's stage; an error if its settings are invalid.
    pub fn composer(&self, lane: &LaneSettings) -> Result<Arc<dyn Composer>, Failure> {
        let name = &lane.contract.stages[lane.stage].composer;
        let kind = ComposerKind::of(name).map_err(Failure::Misuse)?;
        match kind {
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
                let composer = WebhookComposer::new(self.ledger(&lane.store)?, Arc::clone(&self.secrets));
                Ok(Arc::new(composer.with_clock(self.clock(&lane.store))))
            }
            ComposerKind::Eml | ComposerKind::RawEml | ComposerKind::Callback => {
                emails::composer(kind, lane, self.clock(&lane.store))
                    .map_err(|mistakes| Failure::Misuse(mistakes.join("; ")))
            }
        }
    }

    /// Closes the connections of every database.
    pub async fn close(&self) {
        for database in self.databases.values() {
            match database {
                Database::Postgres(database) => database.close().await,
                Database::Mysql(database) => database.close().await,
                Database::Sqlite(database) => database.close().await,
                // Its HTTP connections close when they are dropped.
                Database::DynamoDb(_) => {}
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
        patience: Duration,
    ) -> Result<Self, Error> {
        let url = store.url.reveal();
        match store.kind {
            StoreKind::Postgres => {
                let mut settings = postgres::Settings::new(url);
                settings.listen_url = store.listen_url.as_ref().map(|url| url.reveal().to_owned());
                settings.connections = store.connections.unwrap_or(settings.connections);
                settings.acquire_timeout = patience;
                settings.timeout = store.timeout.unwrap_or(settings.timeout);
                settings.pooler = store.pooler;
                postgres::Database::connect(&settings).map(Box::new).map(Self::Postgres)
            }
            StoreKind::Mysql => {
                let mut settings = mysql::Settings::new(url);
                settings.connections = store.connections.unwrap_or(settings.connections);
                settings.acquire_timeout = patience;
                settings.timeout = store.timeout.unwrap_or(settings.timeout);
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
            StoreKind::DynamoDb => {
                let settings = dynamodb::Settings::from_url(url)
                    .map_err(|mistakes| Error::new(Class::Misconfigured, mistakes.to_string()))?;
                Ok(Self::DynamoDb(dynamodb::Database::connect(&settings)))
            }
        }
    }
}

/// Resolves a relative file name against the folder of the settings file, not the working directory.
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
        TransportKind::Reliable => Err("is a group of senders, not a sender itself".to_owned()),
        TransportKind::Webhook => {
            let settings = postrider_transport_webhook::Settings::from_url(url, &beside);
            made(settings.map(descriptors::for_webhooks).and_then(Webhooks::new))
        }
    }
}

fn made<T: Transport + 'static>(
    transport: Result<T, impl std::fmt::Display>,
) -> Result<Arc<dyn Transport>, String> {
    let transport = transport.map_err(|error| error.to_string())?;
    Ok(Arc::new(scrubbed::Scrubbed(Arc::new(transport))))
}

/// Lists every mistake in a transport's URL and options, without building or connecting anything.
pub fn transport_mistakes(transport: &TransportSettings) -> Vec<String> {
    let (url, beside) = (transport.url.reveal(), transport.beside());
    match transport.kind {
        TransportKind::Smtp => postrider_transport_smtp::Settings::from_url(url)
            .err()
            .map_or_else(Vec::new, |error| error.mistakes),
        TransportKind::Folder if folder_name(url).is_empty() => {
            vec!["names no folder: use for example \"file:outbox\"".to_owned()]
        }
        TransportKind::Folder => Vec::new(),
        TransportKind::Kafka => told(kafka::Settings::from_url(url, &beside)),
        TransportKind::Nats => told(postrider_transport_nats::Settings::from_url(url, &beside)),
        TransportKind::Amqp => told(postrider_transport_amqp::Settings::from_url(url, &beside)),
        TransportKind::Sqs => told(postrider_transport_sqs::Settings::from_url(url, &beside)),
        TransportKind::Provider => told(postrider_transport_provider::Settings::from_url(url, &beside)),
        TransportKind::Reliable if url == "reliable:" => Vec::new(),
        TransportKind::Reliable => vec![
            "must be just \"reliable:\"; its options are senders, rates, waits, jitter, cool_down and patience"
                .to_owned(),
        ],
        TransportKind::Webhook => told(postrider_transport_webhook::Settings::from_url(url, &beside)),
    }
}

fn told<T>(settings: Result<T, impl std::fmt::Display>) -> Vec<String> {
    settings.err().map(|error| error.to_string()).into_iter().collect()
}

/// The folder of `file:outbox` or `file:///var/outbox`; options belong to other transports.
fn folder_name(url: &str) -> &str {
    let name = url.strip_prefix("file:").unwrap_or(url);
    name.strip_prefix("//").unwrap_or(name)
}

/// The prefix of CloudEvents attributes in the binding of each protocol.
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

/// Builds the composer's settings from `[mail]`, or returns every mistake in it.
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
