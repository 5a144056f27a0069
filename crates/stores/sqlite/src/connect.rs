//! Connects to a database file: one writer, a few readers, one watcher. Lazily, so that a process can start while the
//! file is unavailable.

use std::io;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use postrider_contract::Contract;
use postrider_seams::WakeUps;
use postrider_seams::store::{Class, Error};
use postrider_sql::driver::pool::{Limits, Pool};
use postrider_sql::open_table::OpenTable;
use postrider_sql::store::SqlStore;
use postrider_sql::{Dialect, bind};
use postrider_target_options::OptionMistake;
use sqlx::ConnectOptions as _;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};

use crate::error::DatabaseAddress;
use crate::migrate::Migration;
use crate::session::Connector;
use crate::shape;
use crate::store::{SqliteStore, SqliteTable};
use crate::wake::{RowNotifier, Watch};

/// Largest number of keys per statement.
const BATCH: usize = 1000;

/// The settings of a database file.
#[derive(Debug, Clone)]
pub struct Settings {
    /// `sqlite:postrider.db`, `sqlite:///var/lib/postrider/mail.db`.
    pub url: String,
    /// Whether to create the file, readable by its owner only, if it is missing.
    pub create: bool,
    /// Longest time to wait for another process's lock before the call fails.
    pub patience: Duration,
    /// Whether a commit is on disk before it is confirmed. Without it, a power failure (not a crash of the process) can
    /// undo the last settles, so that their mails are sent twice.
    pub durable: bool,
}

impl Settings {
    /// Creates settings that do not create the file, wait 30 seconds for locks, and are durable.
    pub fn new(url: impl Into<String>) -> Self {
        Self { url: url.into(), create: false, patience: Duration::from_secs(30), durable: true }
    }
}

/// A database file; all its lanes share the connections.
#[derive(Clone)]
pub struct Database {
    pub(crate) writer: Pool<Connector>,
    pub(crate) readers: Pool<Connector>,
    pub(crate) watch: Arc<Watch>,
    /// The worker's id, unique for each opened table: distinguishes the rows of one lane from those of another.
    pub(crate) instance: Arc<str>,
    pub(crate) wake_ups: WakeUps,
    pub(crate) place: DatabaseAddress,
    pub(crate) file: Arc<Path>,
    pub(crate) patience: Duration,
    /// Time limit of a call, including waits for locks of other processes.
    pub(crate) deadline: Duration,
}

impl Database {
    /// Checks the settings and creates the file if configured; connects on first use.
    pub fn connect(settings: &Settings) -> Result<Self, Error> {
        let options = options(settings)?;
        let file = Arc::from(options.get_filename());
        let place = DatabaseAddress::new(&file);
        if settings.create {
            create(&file).map_err(|cause| {
                Error::new(Class::Misconfigured, format!("{place} can't be made: {cause}")).caused_by(cause)
            })?;
        }
        let reading = options.clone();
        // WAL is a property of the file, so the writer alone sets it.
        let synchronous = if settings.durable { SqliteSynchronous::Full } else { SqliteSynchronous::Normal };
        let writing = options.journal_mode(SqliteJournalMode::Wal).synchronous(synchronous);
        // Callers wait for the writer at least as long as the writer waits for another process.
        let wait = settings.patience * 2 + Duration::from_secs(10);
        let pool = |connections: u32, options: SqliteConnectOptions| {
            Pool::new(
                Connector(options),
                Limits {
                    connections,
                    row_call_timeout: Duration::ZERO,
                    acquire: wait,
                    connect: wait,
                    lifetime: None,
                    idle: None,
                },
            )
        };
        Ok(Self {
            writer: pool(1, writing),
            readers: pool(4, reading.clone()),
            watch: Watch::new(pool(1, reading)),
            instance: bind::instance_id().into(),
            wake_ups: WakeUps::default(),
            place,
            file,
            patience: settings.patience,
            deadline: wait,
        })
    }

    /// Opens a contract's table for one stage: reads its columns and renders its statements. `lane` names the lane in
    /// messages. Returns a transient error, which can be retried, if the file stays locked.
    pub async fn open(&self, contract: Contract, stage: &str, lane: &str) -> Result<Arc<SqliteStore>, Error> {
        let shape = shape::read(self, &contract).await?.ok_or_else(|| self.no_table(&contract, lane))?;
        let opened = OpenTable::new(&contract, stage, Dialect::Sqlite, shape, BATCH).map_err(|what| {
            let place = &self.place;
            let text =
                format!("{place}: lane {lane} does not fit its table: {what}; `postrider check` shows all");
            Error::new(Class::Misconfigured, text)
        })?;
        let migration = Migration::new(self.clone(), contract);
        let waker =
            RowNotifier::new(Arc::clone(&self.watch), self.wake_ups.subscribe(&opened.contract.table.name));
        let database = Self { instance: bind::instance_id().into(), ..self.clone() };
        Ok(Arc::new(SqlStore(SqliteTable { database, opened, waker, migration })))
    }

    /// Opens a contract for `migrate`, whether or not its table exists.
    pub fn migration(&self, contract: Contract) -> Arc<Migration> {
        Arc::new(Migration::new(self.clone(), contract))
    }

    /// Closes the file after the running calls have ended.
    pub async fn close(&self) {
        self.watch.close().await;
        self.readers.close().await;
        self.writer.close().await;
    }

    /// Whether the file certainly does not exist. If that cannot be determined, opening it reports the reason.
    pub(crate) fn is_missing(&self) -> bool {
        matches!(self.file.try_exists(), Ok(false))
    }

    fn no_table(&self, contract: &Contract, lane: &str) -> Error {
        let (place, table) = (&self.place, &contract.table.name);
        let text = if self.is_missing() {
            format!(
                "{place} is not there (lane {lane}): is the path right? `postrider migrate` makes the file and its tables"
            )
        } else {
            format!("{place} has no table {table} (lane {lane}): run `postrider migrate`")
        };
        Error::new(Class::Misconfigured, text)
    }
}

/// Lists every mistake in the URL of a database file: it is a name and nothing else, as Postrider sets every option.
pub fn url_mistakes(url: &str) -> Vec<OptionMistake> {
    let name = url.strip_prefix("sqlite:").unwrap_or(url);
    let name = name.strip_prefix("//").unwrap_or(name);
    if name.is_empty() || name.contains(":memory:") {
        return vec!["names no file: a SQLite store needs one, such as sqlite:postrider.db".into()];
    }
    if name.contains('?') {
        return vec!["is a file without ?options: Postrider sets them itself".into()];
    }
    Vec::new()
}

fn options(settings: &Settings) -> Result<SqliteConnectOptions, Error> {
    let options = SqliteConnectOptions::from_str(&settings.url).map_err(|cause| {
        let text = format!("the store's URL can't be read: it should be sqlite:FILE ({cause})");
        Error::new(Class::Misconfigured, text)
    })?;
    let file = options.get_filename().to_string_lossy().into_owned();
    // Each connection would have its own database.
    if file.is_empty() || file.contains(":memory:") || file.starts_with("file:sqlx-in-memory") {
        let text = "in-memory databases are not supported: name a file, such as sqlite:postrider.db";
        return Err(Error::new(Class::Misconfigured, text));
    }
    // Short, so that our code controls the wait: the store retries until its patience ends.
    Ok(options
        .create_if_missing(false)
        .busy_timeout(Duration::from_secs(2))
        .foreign_keys(false)
        .disable_statement_logging())
}

/// Creates an empty file that only its owner can read, if there is none. SQLite copies its permissions to the WAL
/// files.
fn create(path: &Path) -> io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Ok(_) => Ok(()),
        Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(cause) => Err(cause),
    }
}

#[cfg(test)]
mod tests {
    use super::url_mistakes;

    #[test]
    fn the_url_is_a_file_and_nothing_else() {
        for fine in ["sqlite:app.db", "sqlite:///var/lib/app.db", "sqlite:a%3Fb.db"] {
            assert!(url_mistakes(fine).is_empty(), "{fine}");
        }
        for wrong in ["sqlite:app.db?mode=ro", "sqlite:", "sqlite::memory:"] {
            assert_eq!(url_mistakes(wrong).len(), 1, "{wrong}");
        }
    }
}
