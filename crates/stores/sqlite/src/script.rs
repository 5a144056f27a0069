//! Runs scripts: binds the values that each step names, reads the returned rows, and waits while the file is locked.

use postrider_seams::row::Value;
use postrider_seams::store::Error;
use postrider_sql::bind::{self, Given};
use postrider_sql::run::pool::Pool;
use postrider_sql::run::{Done, Progress, Run};
use postrider_sql::{Bind, Dialect, Script, Step, Yields};
use sqlx::query::Query;
use sqlx::sqlite::{SqliteArguments, SqliteConnection, SqliteRow};
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, Row as _, Sqlite, TypeInfo as _, ValueRef as _};
use tokio::time::Instant;

use crate::connect::Database;
use crate::error;
use crate::session::{Connector, rolled_back};

impl Run for Database {
    fn dialect(&self) -> Dialect {
        Dialect::Sqlite
    }

    fn owner(&self) -> &str {
        &self.instance
    }

    /// Returns the same database: every call already has the time that locks of other processes need.
    fn unhurried(&self) -> Self {
        self.clone()
    }

    async fn run_all(&self, doing: &str, scripts: &[(&Script, Given<'_>)]) -> Result<Vec<Done>, Error> {
        let mut patience = Patience::new(self, doing);
        loop {
            match self.try_run(scripts).await {
                Ok(done) => return Ok(done),
                Err(cause) => patience.wait(cause).await?,
            }
        }
    }

    async fn ask(
        &self,
        doing: &str,
        sql: &'static str,
        args: Vec<Value>,
    ) -> Result<Option<Vec<Vec<Value>>>, Error> {
        self.fetch(&self.writer, doing, sql, &args).await
    }

    async fn look(
        &self,
        doing: &str,
        sql: &'static str,
        args: Vec<Value>,
    ) -> Result<Option<Vec<Vec<Value>>>, Error> {
        self.fetch(&self.readers, doing, sql, &args).await
    }
}

/// The retry of one call while another connection holds a lock on the file.
pub struct Patience<'a> {
    database: &'a Database,
    doing: &'a str,
    give_up: Instant,
    tried: u32,
}

impl<'a> Patience<'a> {
    /// Starts the retry of a call, with the database's patience as its time limit; `doing` completes "could not …".
    pub fn new(database: &'a Database, doing: &'a str) -> Self {
        Self { database, doing, give_up: Instant::now() + database.patience, tried: 0 }
    }

    /// Waits before the next try; returns the error if it is no lock or the time is over.
    pub async fn wait(&mut self, cause: sqlx::Error) -> Result<(), Error> {
        if !error::is_busy(&cause) || Instant::now() >= self.give_up {
            return Err(error::classify(&self.database.place, self.doing, cause));
        }
        tokio::time::sleep(bind::collision_pause(self.tried)).await;
        self.tried += 1;
        Ok(())
    }
}

impl Database {
    async fn fetch(
        &self,
        pool: &Pool<Connector>,
        doing: &str,
        sql: &'static str,
        args: &[Value],
    ) -> Result<Option<Vec<Vec<Value>>>, Error> {
        let mut patience = Patience::new(self, doing);
        loop {
            let query = args.iter().cloned().fold(sqlx::query(sql), one);
            match self.try_fetch(pool, query).await {
                Ok(rows) => return Ok(Some(rows.iter().map(values).collect())),
                Err(cause) if error::is_missing_table(&cause) => return Ok(None),
                Err(cause) => patience.wait(cause).await?,
            }
        }
    }

    async fn try_fetch(
        &self,
        pool: &Pool<Connector>,
        query: Query<'static, Sqlite, SqliteArguments>,
    ) -> Result<Vec<SqliteRow>, sqlx::Error> {
        let mut lease = pool.acquire().await?;
        let outcome = lease.bound(self.deadline).run(lease.fetch_all(query)).await;
        lease.end(outcome)
    }

    /// Runs the scripts once. Scripts that only read use a reader and leave the writer free.
    async fn try_run(&self, scripts: &[(&Script, Given<'_>)]) -> Result<Vec<Done>, sqlx::Error> {
        let pool =
            if matches!(scripts, [(script, _)] if only_reads(script)) { &self.readers } else { &self.writer };
        let mut lease = pool.acquire().await?;
        let outcome = lease.bound(self.deadline).run(run_on(&mut lease, scripts)).await;
        lease.end(outcome)
    }
}

fn only_reads(script: &Script) -> bool {
    script.steps.iter().all(|step| step.sql.trim_start().starts_with("SELECT"))
}

/// Runs the scripts on a connection. A single statement needs no explicit transaction.
async fn run_on(
    connection: &mut SqliteConnection,
    scripts: &[(&Script, Given<'_>)],
) -> Result<Vec<Done>, sqlx::Error> {
    if let [(script, given)] = scripts
        && (script.steps.len() == 1 || only_reads(script))
    {
        return Ok(vec![run_steps(connection, &script.steps, given).await?]);
    }
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
    let mut done = Vec::with_capacity(scripts.len());
    for (script, given) in scripts {
        match run_steps(&mut transaction, &script.steps, given).await {
            Ok(one) => done.push(one),
            Err(cause) => return Err(rolled_back(transaction, cause).await),
        }
    }
    transaction.commit().await?;
    Ok(done)
}

async fn run_steps(
    connection: &mut SqliteConnection,
    steps: &[Step],
    given: &Given<'_>,
) -> Result<Done, sqlx::Error> {
    let mut progress = Progress::new(given);
    for step in steps {
        if progress.skips(step) {
            continue;
        }
        let query = bound(step, given, &progress);
        if step.yields == Yields::Nothing {
            progress.changed(connection.execute(query).await?.rows_affected());
            continue;
        }
        let rows = connection.fetch_all(query).await?.iter().map(values).collect();
        progress.yielded(given, step, rows);
    }
    Ok(progress.done)
}

fn bound(step: &Step, given: &Given<'_>, progress: &Progress) -> Query<'static, Sqlite, SqliteArguments> {
    let mut query = sqlx::query(AssertSqlSafe(step.sql.as_str()));
    for bind in &step.binds {
        query = match bind {
            Bind::Limit => query.bind(i64::from(given.limit)),
            Bind::Owner => query.bind(given.owner.to_owned()),
            // Only PostgreSQL binds arrays.
            Bind::Array(_) | Bind::ClaimTime | Bind::Group | Bind::Share => {
                unreachable!("{bind:?} is in no statement here")
            }
            Bind::Rows(fields) => query.bind(given.json_rows(fields)),
            Bind::One(field) => one(query, given.shared(field)),
            Bind::Ids => query.bind(bind::json_ids(&given.ids)),
            Bind::Held => query.bind(bind::json_ids(&progress.held)),
            Bind::Since => query.bind(given.since),
            Bind::GroupsWanted => query.bind(i64::from(given.groups.wanted)),
            Bind::Jumps => query.bind(i64::from(given.groups.jumps)),
            Bind::Fresh => query.bind(i64::from(given.groups.fresh)),
            Bind::Cursor => query.bind(given.groups.cursor.clone()),
            Bind::Groups => query.bind(bind::json_texts(&progress.groups)),
            Bind::Run => query.bind(i64::from(progress.run_length())),
            Bind::Shares => query.bind(progress.permits.shares_json()),
            Bind::Open => query.bind(progress.permits.open_json()),
            Bind::Permits => query.bind(progress.permits.left_json()),
            Bind::Quota => query.bind(i64::from(progress.permits.quota())),
            Bind::Pools => query.bind(bind::json_texts(&given.shares.limited)),
        };
    }
    query
}

fn one(
    query: Query<'static, Sqlite, SqliteArguments>,
    value: Value,
) -> Query<'static, Sqlite, SqliteArguments> {
    match value {
        Value::Int(number) => query.bind(number),
        Value::Float(number) => query.bind(number),
        Value::Bool(flag) => query.bind(flag),
        Value::Bytes(bytes) => query.bind(bytes),
        other => query.bind(bind::text(other)),
    }
}

pub(crate) fn values(row: &SqliteRow) -> Vec<Value> {
    (0..row.len()).map(|index| value(row, index)).collect()
}

/// Converts a column to a value. SQLite values have their own type, and text need not be UTF-8: such text is returned
/// as bytes, never as an error, as one bad row must not lose the claim of the others.
fn value(row: &SqliteRow, index: usize) -> Value {
    let Ok(raw) = row.try_get_raw(index) else { return Value::Null };
    if raw.is_null() {
        return Value::Null;
    }
    let info = raw.type_info().into_owned();
    drop(raw);
    let read = match info.name() {
        "INTEGER" => row.try_get_unchecked::<i64, _>(index).map(Value::Int),
        "REAL" => row.try_get_unchecked::<f64, _>(index).map(Value::Float),
        "BOOLEAN" => row.try_get_unchecked::<bool, _>(index).map(Value::Bool),
        "BLOB" => row.try_get_unchecked::<Vec<u8>, _>(index).map(Value::Bytes),
        _ => row.try_get_unchecked::<Vec<u8>, _>(index).map(|bytes| match String::from_utf8(bytes) {
            Ok(text) => Value::Text(text),
            Err(broken) => Value::Bytes(broken.into_bytes()),
        }),
    };
    read.unwrap_or_default()
}
