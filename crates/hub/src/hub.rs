//! The hub itself: the handle to one database, its settings, and the helpers that run statements.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use postrider_http::{Guard, Resolve, SystemResolver};
use postrider_seams::queue::NewRowPublisher;
use postrider_seams::row::RowId;
use ring::hmac;
use ring::rand::{SecureRandom as _, SystemRandom};

use crate::access::{Actor, RecentKeys, hex};
use crate::audit::{AuditWriter, Change};
use crate::event::EventWriter;
use crate::group_commit::GroupCommit;
use crate::job::{JOBS, JobStates, JobWriter};
use crate::schema::Validators;
use crate::sql::{
    self, Answer, Clauses as _, Dialect, Execute, Insert, NewRow, RowReader, SqlBuilder, Statement, Table,
    now, time_text,
};
use crate::target::TargetDns;
use crate::validation::is_id;
use crate::{EncryptSecret, Error, Moment};

/// Settings of the hub that an operator can change.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Rules for target addresses, the same as those of the transport that dials them.
    pub guard: Guard,
    /// Maximum size of a payload, in bytes. Default: 1 MiB.
    pub payload_limit: usize,
    /// Maximum number of attempts of a job without a limit of its own, as the lane of jobs has it. Default: 3.
    pub max_attempts: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self { guard: Guard::default(), payload_limit: 1 << 20, max_attempts: 3 }
    }
}

/// The webhook domain on one database.
pub struct Hub {
    database: Arc<dyn Execute>,
    pub(crate) settings: Settings,
    pub(crate) encryption: Option<Arc<dyn EncryptSecret>>,
    pub(crate) cursor_key: hmac::Key,
    pub(crate) last_use: LastUse,
    pub(crate) target_dns: TargetDns,
    pub(crate) recent_keys: RecentKeys,
    pub(crate) job_commits: Arc<GroupCommit<JobWriter>>,
    pub(crate) event_commits: Arc<GroupCommit<EventWriter>>,
    pub(crate) audit_commits: Arc<GroupCommit<AuditWriter>>,
    pub(crate) queue: Option<Arc<dyn NewRowPublisher>>,
    pub(crate) validators: Arc<Validators>,
    pub(crate) job_states: JobStates,
}

impl Hub {
    /// Opens the hub on a database whose tables exist. `encryption` encrypts generated secrets; without it none can be
    /// generated.
    pub async fn open(
        database: Arc<dyn Execute>,
        settings: Settings,
        encryption: Option<Arc<dyn EncryptSecret>>,
    ) -> Result<Self, Error> {
        let key = cursor_key(&*database).await?;
        let cursor_key = hmac::Key::new(hmac::HMAC_SHA256, key.as_bytes());
        let target_dns = TargetDns::new(Arc::new(SystemResolver::default()));
        let job_commits = GroupCommit::new(JobWriter(Arc::clone(&database)));
        let event_commits = GroupCommit::new(EventWriter(Arc::clone(&database)));
        let audit_commits = GroupCommit::new(AuditWriter(Arc::clone(&database)));
        let last_use = LastUse::default();
        let job_states = JobStates::new(database.dialect(), settings.max_attempts);
        Ok(Self {
            database,
            settings,
            encryption,
            cursor_key,
            last_use,
            target_dns,
            recent_keys: RecentKeys::default(),
            job_commits,
            event_commits,
            audit_commits,
            queue: None,
            validators: Arc::default(),
            job_states,
        })
    }

    /// Resolves the host names of targets with this resolver instead of the system's.
    #[must_use]
    pub fn with_resolver(mut self, resolver: Arc<dyn Resolve>) -> Self {
        self.target_dns = TargetDns::new(resolver);
        self
    }

    /// Publishes new jobs to the external queue of the lane that delivers them.
    #[must_use]
    pub fn with_queue(mut self, queue: Arc<dyn NewRowPublisher>) -> Self {
        self.queue = Some(queue);
        self
    }

    /// Publishes committed jobs to the external queue, if there is one. Returns how many the queue refused; these are
    /// set to PENDING. If that fails too, they stay QUEUED until maintenance finds them stale.
    pub(crate) async fn publish(&self, ids: Vec<String>) -> u64 {
        let Some(queue) = self.queue.as_ref().filter(|_| !ids.is_empty()) else { return 0 };
        let rows: Vec<RowId> = ids.into_iter().map(|id| RowId::Text(id.into())).collect();
        queue.publish(&rows).await.unwrap_or_else(|error| {
            tracing::warn!(%error, jobs = rows.len(), "cannot set jobs to PENDING that the queue refused");
            0
        })
    }

    /// Makes committed jobs known to those that deliver them: wakes the lanes of this process, and publishes the jobs to
    /// the external queue, if there is one. Returns how many the queue refused.
    pub(crate) async fn announce(&self, ids: Vec<String>) -> u64 {
        if ids.is_empty() {
            return 0;
        }
        self.database.wake(JOBS);
        self.publish(ids).await
    }

    pub(crate) fn database(&self) -> &dyn Execute {
        &*self.database
    }

    pub(crate) fn dialect(&self) -> Dialect {
        self.database.dialect()
    }

    /// Runs the statements in one transaction. `doing` completes the error message "could not …".
    pub(crate) async fn run(&self, doing: &str, statements: Vec<Statement>) -> Result<Vec<Answer>, Error> {
        Ok(self.database.transact(doing, &statements).await?)
    }

    /// Runs the statements in one transaction, and returns the first row of the last one.
    pub(crate) async fn run_and_read(
        &self,
        doing: &str,
        statements: Vec<Statement>,
    ) -> Result<Option<RowReader>, Error> {
        let answer = self.run(doing, statements).await?.pop().unwrap_or_default();
        Ok(answer.rows.into_iter().next().map(RowReader::new))
    }

    pub(crate) async fn fetch_all(&self, doing: &str, query: SqlBuilder) -> Result<Vec<RowReader>, Error> {
        self.fetch_rows(doing, query.finish()).await
    }

    pub(crate) async fn fetch_rows(&self, doing: &str, query: Statement) -> Result<Vec<RowReader>, Error> {
        let answer = self.run(doing, vec![query]).await?.pop().unwrap_or_default();
        Ok(answer.rows.into_iter().map(RowReader::new).collect())
    }

    pub(crate) async fn fetch_first(
        &self,
        doing: &str,
        query: SqlBuilder,
    ) -> Result<Option<RowReader>, Error> {
        self.run_and_read(doing, vec![query.finish()]).await
    }

    /// Records when a key or an account was last used, at most once per minute.
    pub(crate) async fn record_use(&self, doing: &str, table: &str, id: &str) -> Result<(), Error> {
        if self.last_use.is_due(id) {
            let update = self.sql(format!("UPDATE {table} SET last_used_at = ")).now();
            self.run(doing, vec![update.push(" WHERE id = ").text(id).finish()]).await?;
        }
        Ok(())
    }

    /// Starts a statement with this SQL text.
    pub(crate) fn sql(&self, text: impl Into<String>) -> SqlBuilder {
        SqlBuilder::new(self.dialect(), text)
    }

    /// Starts a query for all columns of a table, to which conditions can be appended with ` AND …`.
    pub(crate) fn select(&self, table: &Table) -> SqlBuilder {
        sql::select(self.dialect(), table)
    }

    /// Starts `UPDATE … SET …` with the values of the row.
    pub(crate) fn update(&self, table: &Table, row: NewRow) -> SqlBuilder {
        sql::update(self.dialect(), table.name, row)
    }

    /// Returns the row of a table with this id; `None` if there is none or the id does not have the form of one.
    pub(crate) async fn fetch_by_id(
        &self,
        doing: &str,
        table: &Table,
        id: &str,
    ) -> Result<Option<RowReader>, Error> {
        if !is_id(id) {
            return Ok(None);
        }
        self.fetch_first(doing, self.select(table).and_equals("id", Some(id))).await
    }

    /// Executes `UPDATE … SET …` for the row with this id, and writes the audit entry.
    pub(crate) async fn update_by_id(
        &self,
        doing: &str,
        id: &str,
        update: SqlBuilder,
        entry: Statement,
    ) -> Result<(), Error> {
        let update = update.push(", updated_at = ").now().push(" WHERE id = ").text(id);
        self.run(doing, vec![update.finish(), entry]).await?;
        Ok(())
    }

    /// Inserts one row with a unique `code` and its audit entry; fails with a conflict if the code is in use.
    pub(crate) async fn insert_with_code(
        &self,
        doing: &str,
        (table, id): (&Table, &str),
        row: NewRow,
        actor: &Actor,
        change: Change,
    ) -> Result<(), Error> {
        let dialect = self.dialect();
        let insert = Insert::into(table.name).skip_duplicates(true).row(dialect, row);
        let entry = change.entry_if_exists(dialect, actor, table.name);
        let find = self.sql(format!("SELECT 1 FROM {} WHERE id = ", table.name)).text(id);
        let answers = self.run(doing, vec![insert, entry, find.finish()]).await?;
        match answers.last() {
            Some(answer) if !answer.rows.is_empty() => Ok(()),
            _ => Err(Error::conflict("code", "is already in use")),
        }
    }

    /// Returns the time of the database.
    pub(crate) async fn clock(&self) -> Result<Moment, Error> {
        clock(&*self.database).await
    }
}

pub(crate) async fn clock(database: &dyn Execute) -> Result<Moment, Error> {
    let dialect = database.dialect();
    let query = SqlBuilder::new(dialect, format!("SELECT {}", time_text(dialect, now(dialect))));
    let answers = database.transact("read the clock", &[query.finish()]).await?;
    let row = answers.into_iter().next().and_then(|answer| answer.rows.into_iter().next());
    row.and_then(|row| RowReader::new(row).time()).ok_or_else(|| Error::unreadable("the database's clock"))
}

/// Returns the microseconds by which the database's clock is ahead of this machine's; negative if it is behind.
///
/// The error is at most half the duration of the query.
pub async fn clock_offset(database: &dyn Execute) -> Result<i64, Error> {
    let before = Moment::now().micros();
    let database_time = clock(database).await?.micros();
    let after = Moment::now().micros();
    Ok(database_time - (before + (after - before) / 2))
}

/// Returns the key that signs cursors. All instances share it; the first one creates it.
async fn cursor_key(database: &dyn Execute) -> Result<String, Error> {
    let dialect = database.dialect();
    let mut bytes = [0; 32];
    SystemRandom::new().fill(&mut bytes).expect("the system has randomness");
    let row = NewRow::new().text("name", "cursor_key".to_owned()).text("value", hex(&bytes));
    let missing = "NOT EXISTS (SELECT 1 FROM postrider_settings AS s WHERE s.name = 'cursor_key')";
    let insert = Insert::into("postrider_settings").only(Some(missing.to_owned())).row(dialect, row);
    let find = SqlBuilder::new(dialect, "SELECT t.")
        .column("value")
        .push(" FROM postrider_settings AS t WHERE t.name = 'cursor_key'")
        .finish();
    let read = |answers: Vec<Answer>| {
        let row = answers.into_iter().last()?.rows.into_iter().next()?;
        row.into_iter().next()?.as_text().map(str::to_owned)
    };
    let doing = "read the key that signs cursors";
    if let Some(key) = read(database.transact(doing, std::slice::from_ref(&find)).await?) {
        return Ok(key);
    }
    // Another instance may insert its key first; then that key is used.
    if let Err(error) = database.transact(doing, &[insert]).await
        && read(database.transact(doing, std::slice::from_ref(&find)).await?).is_none()
    {
        return Err(error.into());
    }
    read(database.transact(doing, &[find]).await?)
        .ok_or_else(|| Error::unreadable("the key that signs cursors"))
}

/// The last recorded use of each key and account, so that it is written at most once per minute.
#[derive(Debug, Default)]
pub struct LastUse(Mutex<HashMap<String, Instant>>);

const MINUTE: Duration = Duration::from_mins(1);

impl LastUse {
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
