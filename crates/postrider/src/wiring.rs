//! Builds stores, transports, composers and queues from settings. This module and its parts are
//! the only place that matches on backend kinds.
//!
//! Owns: the databases, and which URL or name means which store, transport, queue or composer (`kinds`). Must not: run
//! lanes. Invariant: all lanes on one store share one database and its connection pool.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use postrider_contract::Contract;
use postrider_seams::store::Error;
use postrider_seams::{Backend, ClockOffset, Migrate, Produce, Queue, Secrets, TableDescription, Transport};
use postrider_sender::Reliable;
use postrider_sql::describe::describe;
use postrider_sql::driver::execute::Execute;
#[cfg(feature = "aws")]
use postrider_store_dynamodb as dynamodb;
use tempfile::TempDir;
use {
    postrider_store_mysql as mysql, postrider_store_postgres as postgres, postrider_store_sqlite as sqlite,
};

mod clock;
mod composers;
pub mod emails;
mod kinds;
pub mod notifications;
mod optional;
mod queues;
mod scrubbed;
mod senders;
mod stores;
mod transports;
pub mod webhooks;

pub use clock::StoreClock;
pub use composers::email_settings;
pub use kinds::{ComposerKind, DISK, QueueKind, StoreKind, TransportKind};
pub use queues::queue_mistakes;
pub use stores::{store_mistakes, unsupported_keys};
pub use transports::transport_mistakes;

use crate::failure::Failure;
use crate::settings::{LaneSettings, QueueSettings, Settings, StoreSettings, TransportSettings};

/// Everything that commands and lanes can do with a lane's table.
pub trait LaneTable: Backend + Produce {}
impl<T: Backend + Produce> LaneTable for T {}

/// The handling of a SQLite file that does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MissingFile {
    /// Return an error.
    Refuse,
    Create,
    /// Treat it as empty, and create no file: `migrate --print`.
    TreatAsEmpty,
}

/// Connects lanes to their databases and targets. Databases connect at first use.
pub struct Wiring {
    databases: BTreeMap<String, Database>,
    /// Transports, created at first use; lanes with the same target share its connections. A Kafka producer is bound to
    /// a publish timeout, so lanes share one only if they have the same timeout.
    transports: Mutex<BTreeMap<TransportKey, Arc<dyn Transport>>>,
    reliables: Mutex<BTreeMap<String, Arc<Reliable>>>,
    targets: BTreeMap<String, TransportSettings>,
    /// External queues, created at first use: a lane and the API share one.
    queues: Mutex<BTreeMap<String, Arc<dyn Queue>>>,
    queue_settings: BTreeMap<String, QueueSettings>,
    /// Store → the table of its first lane.
    #[cfg(feature = "aws")]
    tables: BTreeMap<String, String>,
    base: PathBuf,
    /// The temporary folder of [`MissingFile::TreatAsEmpty`], removed on drop.
    _empty_folder: Option<TempDir>,
    secrets: Arc<dyn Secrets>,
    directories: Mutex<BTreeMap<String, Arc<webhooks::HubDirectory>>>,
    clocks: BTreeMap<String, Arc<ClockOffset>>,
}

/// A transport's name, and the publish timeout that it is bound to.
type TransportKey = (String, Option<Duration>);

#[derive(Clone)]
enum Database {
    Postgres(Box<postgres::Database>),
    Mysql(mysql::Database),
    Sqlite(sqlite::Database),
    #[cfg(feature = "aws")]
    DynamoDb(dynamodb::Database),
}

impl Wiring {
    /// Builds the databases; `acquire_timeout` is the longest wait for a connection to one.
    pub fn new(
        settings: &Settings,
        missing_file: MissingFile,
        acquire_timeout: Duration,
    ) -> Result<Self, Failure> {
        let empty_folder =
            if missing_file == MissingFile::TreatAsEmpty { Some(tempfile::tempdir()?) } else { None };
        let mut databases = BTreeMap::new();
        for (name, store) in &settings.stores {
            let create = missing_file == MissingFile::Create;
            let empty_folder = empty_folder.as_ref();
            let database = Database::connect(store, &settings.base, create, empty_folder, acquire_timeout)
                .map_err(|error| Failure::Failed(format!("store `{name}`: {error}")))?;
            databases.insert(name.clone(), database);
        }
        let (targets, base) = (settings.transports.clone(), settings.base.clone());
        let (transports, reliables) = (Mutex::default(), Mutex::default());
        let secrets: Arc<dyn Secrets> = Arc::clone(&settings.secrets) as _;
        let clocks = databases.keys().map(|name| (name.clone(), Arc::default())).collect();
        Ok(Self {
            databases,
            transports,
            reliables,
            targets,
            queues: Mutex::default(),
            queue_settings: settings.queues.clone(),
            #[cfg(feature = "aws")]
            tables: first_tables(&settings.lanes),
            base,
            _empty_folder: empty_folder,
            secrets,
            directories: Mutex::default(),
            clocks,
        })
    }

    fn database_named(&self, store: &str) -> &Database {
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
                #[cfg(feature = "aws")]
                Database::DynamoDb(database) => StoreClock::DynamoDb(Box::new(database.clone())),
                Database::Sqlite(_) => return None,
            };
            Some((name.clone(), clock))
        };
        self.databases.iter().filter_map(clock).collect()
    }

    /// Opens the lane's table. An unavailable database is a transient error.
    pub async fn open(&self, lane: &LaneSettings) -> Result<Arc<dyn LaneTable>, Error> {
        self.open_on(&lane.store, (*lane.contract).clone(), lane.stage, &lane.name).await
    }

    /// Opens a contract's table on a store; `lane` names it in messages.
    pub async fn open_on(
        &self,
        store: &str,
        contract: Contract,
        stage: usize,
        lane: &str,
    ) -> Result<Arc<dyn LaneTable>, Error> {
        let stage = contract.stages[stage].name.clone();
        Ok(match self.database_named(store) {
            Database::Postgres(database) => database.open(contract, &stage, lane).await?,
            Database::Mysql(database) => database.open(contract, &stage, lane).await?,
            Database::Sqlite(database) => database.open(contract, &stage, lane).await?,
            #[cfg(feature = "aws")]
            Database::DynamoDb(database) => database.open(contract, &stage, lane).await?,
        })
    }

    /// Describes a table that no contract names yet; `None` if there is no such table.
    pub async fn describe(&self, store: &str, table: &str) -> Result<Option<TableDescription>, Error> {
        match self.database_named(store) {
            Database::Postgres(database) => describe(&**database, table).await,
            Database::Mysql(database) => describe(database, table).await,
            Database::Sqlite(database) => describe(database, table).await,
            #[cfg(feature = "aws")]
            Database::DynamoDb(_) => Err(optional::dynamodb::no_description(store)),
        }
    }

    /// The migration of the lane's table, whether it exists or not.
    pub fn migration(&self, lane: &LaneSettings) -> Arc<dyn Migrate> {
        self.migration_on(&lane.store, (*lane.contract).clone())
    }

    /// Opens a store for internal tables.
    pub fn internal_tables(&self, store: &str) -> Result<Arc<dyn Execute>, Error> {
        match self.database_named(store) {
            Database::Postgres(database) => Ok(Arc::new((**database).clone())),
            Database::Mysql(database) => Ok(Arc::new(database.clone())),
            Database::Sqlite(database) => Ok(Arc::new(database.clone())),
            #[cfg(feature = "aws")]
            Database::DynamoDb(_) => Err(optional::dynamodb::no_internal_tables(store)),
        }
    }

    /// The migration of a contract's table on a store.
    pub fn migration_on(&self, store: &str, contract: Contract) -> Arc<dyn Migrate> {
        match self.database_named(store) {
            Database::Postgres(database) => database.migration(contract),
            Database::Mysql(database) => database.migration(contract),
            Database::Sqlite(database) => database.migration(contract),
            #[cfg(feature = "aws")]
            Database::DynamoDb(database) => database.migration(contract),
        }
    }

    /// Closes the connections of every database.
    pub async fn close(&self) {
        for database in self.databases.values() {
            match database {
                Database::Postgres(database) => database.close().await,
                Database::Mysql(database) => database.close().await,
                Database::Sqlite(database) => database.close().await,
                #[cfg(feature = "aws")]
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
        empty_folder: Option<&TempDir>,
        acquire_timeout: Duration,
    ) -> Result<Self, Error> {
        let url = store.url.reveal();
        match store.kind {
            StoreKind::Postgres => {
                let mut settings = postgres::Settings::new(url);
                settings.listen_url = store.listen_url.as_ref().map(|url| url.reveal().to_owned());
                settings.connections = store.connections.unwrap_or(settings.connections);
                settings.acquire_timeout = acquire_timeout;
                settings.timeout = store.timeout.unwrap_or(settings.timeout);
                settings.pooler = store.pooler;
                postgres::Database::connect(&settings).map(Box::new).map(Self::Postgres)
            }
            StoreKind::Mysql => {
                let mut settings = mysql::Settings::new(url);
                settings.connections = store.connections.unwrap_or(settings.connections);
                settings.acquire_timeout = acquire_timeout;
                settings.timeout = store.timeout.unwrap_or(settings.timeout);
                mysql::Database::connect(&settings).map(Self::Mysql)
            }
            StoreKind::Sqlite => {
                let file = sqlite_file(url, base);
                let empty_folder =
                    empty_folder.filter(|_| !file.exists()).map(|folder| folder.path().join("empty.db"));
                let mut settings = sqlite::Settings::new(format!(
                    "sqlite:{}",
                    empty_folder.as_ref().unwrap_or(&file).display()
                ));
                settings.create = create || empty_folder.is_some();
                sqlite::Database::connect(&settings).map(Self::Sqlite)
            }
            StoreKind::DynamoDb => optional::dynamodb::connect(url),
        }
    }
}

#[cfg(feature = "aws")]
fn first_tables(lanes: &[LaneSettings]) -> BTreeMap<String, String> {
    lanes.iter().rev().map(|lane| (lane.store.clone(), lane.contract.table.name.clone())).collect()
}

/// Resolves a relative file name against the folder of the settings file, not the working directory.
fn sqlite_file(url: &str, base: &Path) -> PathBuf {
    let name = url.strip_prefix("sqlite:").unwrap_or(url);
    base.join(name.strip_prefix("//").unwrap_or(name))
}
