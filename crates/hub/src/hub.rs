//! The hub itself: the handle to one database, its settings, and the helpers that run statements.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use postrider_http::{Guard, Resolve, SystemResolver};
use postrider_seams::queue::Handing;
use postrider_seams::row::{RowId, Value};
use postrider_sql::Dialect;
use postrider_sql::plain::{Answer, Plain, Statement};
use ring::hmac;
use ring::rand::{SecureRandom as _, SystemRandom};

use crate::access::hex;
use crate::draft::Draft;
use crate::job::Gathering;
use crate::names::Names;
use crate::schema::Validators;
use crate::sheet::{Fresh, Insert, Kind, Reader};
use crate::{Error, Moment, Seal};

/// Settings of the hub that an operator can change.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Rules for target addresses, the same as those of the transport that dials them.
    pub guard: Guard,
    /// Maximum size of a payload, in bytes. Default: 1 MiB.
    pub payload_limit: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self { guard: Guard::default(), payload_limit: 1 << 20 }
    }
}

/// The webhook domain on one database.
pub struct Hub {
    database: Arc<dyn Plain>,
    pub(crate) settings: Settings,
    pub(crate) sealer: Option<Arc<dyn Seal>>,
    pub(crate) cursor_key: hmac::Key,
    pub(crate) used: Used,
    pub(crate) names: Names,
    pub(crate) gathering: Arc<Gathering>,
    pub(crate) handing: Option<Arc<dyn Handing>>,
    pub(crate) validators: Arc<Validators>,
}

impl Hub {
    /// Opens the hub on a database whose tables exist. `sealer` encrypts generated secrets; without it none can be
    /// generated.
    pub async fn open(
        database: Arc<dyn Plain>,
        settings: Settings,
        sealer: Option<Arc<dyn Seal>>,
    ) -> Result<Self, Error> {
        let key = cursor_key(&*database).await?;
        let cursor_key = hmac::Key::new(hmac::HMAC_SHA256, key.as_bytes());
        let names = Names::new(Arc::new(SystemResolver::default()));
        let gathering = Gathering::new(Arc::clone(&database));
        let used = Used::default();
        Ok(Self {
            database,
            settings,
            sealer,
            cursor_key,
            used,
            names,
            gathering,
            handing: None,
            validators: Arc::default(),
        })
    }

    /// Resolves the host names of targets with this resolver instead of the system's.
    #[must_use]
    pub fn with_resolver(mut self, resolver: Arc<dyn Resolve>) -> Self {
        self.names = Names::new(resolver);
        self
    }

    /// Publishes new jobs to the external queue of the lane that delivers them.
    #[must_use]
    pub fn with_handing(mut self, handing: Arc<dyn Handing>) -> Self {
        self.handing = Some(handing);
        self
    }

    /// Publishes committed jobs to the external queue, if there is one. Returns how many the queue refused; these are
    /// set to PENDING. If that fails too, they stay QUEUED until maintenance finds them stale.
    pub(crate) async fn hand(&self, ids: Vec<String>) -> u64 {
        let Some(handing) = self.handing.as_ref().filter(|_| !ids.is_empty()) else { return 0 };
        let rows: Vec<RowId> = ids.into_iter().map(|id| RowId::Text(id.into())).collect();
        handing.hand(&rows).await.unwrap_or_else(|error| {
            tracing::warn!(%error, jobs = rows.len(), "cannot yet take back jobs that the queue refused");
            0
        })
    }

    pub(crate) fn database(&self) -> &dyn Plain {
        &*self.database
    }

    pub(crate) fn dialect(&self) -> Dialect {
        self.database.dialect()
    }

    /// Runs the statements in one transaction. `doing` completes the error message "could not …".
    pub(crate) async fn run(&self, doing: &str, statements: Vec<Statement>) -> Result<Vec<Answer>, Error> {
        Ok(self.database.transact(doing, &statements).await?)
    }

    pub(crate) async fn all(&self, doing: &str, query: Draft) -> Result<Vec<Vec<Value>>, Error> {
        Ok(self.run(doing, vec![query.done()]).await?.pop().unwrap_or_default().rows)
    }

    /// Returns the time of the database.
    pub(crate) async fn clock(&self) -> Result<Moment, Error> {
        clock(&*self.database).await
    }

    pub(crate) async fn first(&self, doing: &str, query: Draft) -> Result<Option<Vec<Value>>, Error> {
        Ok(self.all(doing, query).await?.into_iter().next())
    }
}

async fn clock(database: &dyn Plain) -> Result<Moment, Error> {
    let text = match database.dialect() {
        Dialect::Postgres => "SELECT to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')",
        Dialect::Mysql => "SELECT DATE_FORMAT(UTC_TIMESTAMP(6), '%Y-%m-%dT%H:%i:%s.%fZ')",
        Dialect::Sqlite => "SELECT strftime('%Y-%m-%dT%H:%M:%fZ', 'now')",
    };
    let answers = database.transact("read the clock", &[Draft::new(database.dialect(), text).done()]).await?;
    let row = answers.into_iter().next().and_then(|answer| answer.rows.into_iter().next());
    row.and_then(|row| Reader::new(row).time()).ok_or_else(|| Error::broken("the database's clock"))
}

/// Returns the microseconds by which the database's clock is ahead of this machine's; negative if it is behind.
///
/// The error is at most half the duration of the query.
pub async fn clock_offset(database: &dyn Plain) -> Result<i64, Error> {
    let before = Moment::now().micros();
    let theirs = clock(database).await?.micros();
    let after = Moment::now().micros();
    Ok(theirs - (before + (after - before) / 2))
}

/// Returns the key that signs cursors. All instances share it; the first one creates it.
async fn cursor_key(database: &dyn Plain) -> Result<String, Error> {
    let dialect = database.dialect();
    let mut bytes = [0; 32];
    SystemRandom::new().fill(&mut bytes).expect("the system has randomness");
    let row = Fresh::new().text("name", "cursor_key".to_owned()).text("value", hex(&bytes));
    let columns = [("name", Kind::Text), ("value", Kind::Text)];
    let taken = "NOT EXISTS (SELECT 1 FROM postrider_settings AS s WHERE s.name = 'cursor_key')";
    let insert = Insert {
        table: "postrider_settings",
        columns: &columns,
        only: Some(taken.to_owned()),
        ..Insert::default()
    };
    let find = Draft::new(dialect, "SELECT t.")
        .name("value")
        .push(" FROM postrider_settings AS t WHERE t.name = 'cursor_key'");
    let find = find.done();
    let read = |answers: Vec<Answer>| {
        let row = answers.into_iter().last()?.rows.into_iter().next()?;
        row.into_iter().next()?.as_text().map(str::to_owned)
    };
    let doing = "prepare the API";
    if let Some(key) = read(database.transact(doing, std::slice::from_ref(&find)).await?) {
        return Ok(key);
    }
    // Another instance may insert its key first; then that key is used.
    if let Err(error) = database.transact(doing, &[insert.rows(dialect, vec![row])]).await
        && read(database.transact(doing, std::slice::from_ref(&find)).await?).is_none()
    {
        return Err(error.into());
    }
    read(database.transact(doing, &[find]).await?).ok_or_else(|| Error::broken("the key that signs cursors"))
}

/// The last recorded use of each key and account, so that it is written at most once per minute.
#[derive(Debug, Default)]
pub struct Used(Mutex<HashMap<String, Instant>>);

const MINUTE: Duration = Duration::from_mins(1);

impl Used {
    /// Whether the use of this id must be recorded now; if so, it counts as recorded.
    pub fn is_due(&self, id: &str) -> bool {
        let mut used = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if used.get(id).is_some_and(|last| now.duration_since(*last) < MINUTE) {
            return false;
        }
        used.retain(|_, last| now.duration_since(*last) < MINUTE);
        used.insert(id.to_owned(), now);
        true
    }
}
