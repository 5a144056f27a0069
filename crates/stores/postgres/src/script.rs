//! Runs scripts: binds the values that each step names, and reads the returned rows.

use postrider_seams::row::{RowId, Value};
use postrider_seams::store::Error;
use postrider_sql::bind::{self, Given};
use postrider_sql::run::{Done, Patience, Progress, Run};
use postrider_sql::{Bind, Dialect, Field, Script, Step, Yields};
use sqlx::postgres::{PgArguments, PgConnection, PgRow, PgValueFormat};
use sqlx::query::Query;
use sqlx::{
    AssertSqlSafe, Column as _, Executor as _, FromRow, Postgres, Row as _, TypeInfo as _, ValueRef as _,
};

use crate::connect::Database;
use crate::error;
use crate::session::rolled_back;

impl Run for Database {
    fn dialect(&self) -> Dialect {
        Dialect::Postgres
    }

    fn owner(&self) -> &str {
        &self.instance
    }

    fn unhurried(&self) -> Self {
        Self { deadline: self.patience, ..self.clone() }
    }

    async fn run_all(&self, doing: &str, scripts: &[(&Script, Given<'_>)]) -> Result<Vec<Done>, Error> {
        let mut patience = Patience::default();
        loop {
            match self.try_run(scripts).await {
                Ok(done) => return Ok(done),
                Err(cause) => self.bear(&mut patience, doing, cause).await?,
            }
        }
    }

    async fn ask(
        &self,
        doing: &str,
        sql: &'static str,
        args: Vec<Value>,
    ) -> Result<Option<Vec<Vec<Value>>>, Error> {
        let mut patience = Patience::default();
        loop {
            let query = args.iter().cloned().fold(sqlx::query(sql), |query, arg| match arg {
                Value::Float(number) => query.bind(number),
                Value::Bool(flag) => query.bind(flag),
                Value::Int(number) => query.bind(number),
                other => query.bind(bind::text(other)),
            });
            match self.fetch(query).await {
                Ok(rows) => return Ok(Some(values(&rows))),
                Err(cause) if error::is_missing_table(&cause) => return Ok(None),
                Err(cause) => self.bear(&mut patience, doing, cause).await?,
            }
        }
    }
}

impl Database {
    /// Waits before retrying a transaction that collided; returns the error if it must not be retried.
    pub(crate) async fn bear(
        &self,
        patience: &mut Patience,
        doing: &str,
        cause: sqlx::Error,
    ) -> Result<(), Error> {
        let ended = patience.wait(cause, error::is_collision).await;
        ended.map_err(|cause| error::classify(&self.place, doing, cause))
    }

    async fn try_run(&self, scripts: &[(&Script, Given<'_>)]) -> Result<Vec<Done>, sqlx::Error> {
        let mut lease = self.pool.acquire().await?;
        let outcome = lease.bound(self.deadline).run(self.run_on(&mut lease, scripts)).await;
        lease.end(outcome)
    }

    /// Runs the scripts on a connection. A single statement needs no explicit transaction, except behind a pooler.
    async fn run_on(
        &self,
        connection: &mut PgConnection,
        scripts: &[(&Script, Given<'_>)],
    ) -> Result<Vec<Done>, sqlx::Error> {
        let named = self.names_statements();
        if let [(script, given)] = scripts
            && script.steps.len() == 1
            && named
        {
            return Ok(vec![run_steps(connection, &script.steps, given, named).await?]);
        }
        let mut transaction = self.pool.connector().transaction(connection, self.deadline).await?;
        let mut done = Vec::with_capacity(scripts.len());
        for (script, given) in scripts {
            match run_steps(&mut transaction, &script.steps, given, named).await {
                Ok(one) => done.push(one),
                Err(cause) => return Err(rolled_back(transaction, cause).await),
            }
        }
        transaction.commit().await?;
        Ok(done)
    }

    /// Whether statements may be prepared by name and reused, which requires a persistent session.
    pub(crate) fn names_statements(&self) -> bool {
        self.pool.connector().pooler().keeps_sessions()
    }

    /// Returns the rows of one statement.
    async fn fetch(&self, query: PgQuery<'_>) -> Result<Vec<PgRow>, sqlx::Error> {
        let mut lease = self.pool.acquire().await?;
        let outcome = lease.bound(self.deadline).run(self.fetch_on(&mut lease, query)).await;
        lease.end(outcome)
    }

    async fn fetch_on(
        &self,
        connection: &mut PgConnection,
        query: PgQuery<'_>,
    ) -> Result<Vec<PgRow>, sqlx::Error> {
        if self.names_statements() {
            return connection.fetch_all(query).await;
        }
        let mut transaction = self.pool.connector().transaction(connection, self.deadline).await?;
        match transaction.fetch_all(query.persistent(false)).await {
            Ok(rows) => transaction.commit().await.map(|()| rows),
            Err(cause) => Err(rolled_back(transaction, cause).await),
        }
    }

    /// Returns the rows of a catalog query.
    pub(crate) async fn all<O>(&self, doing: &str, query: PgQuery<'_>) -> Result<Vec<O>, Error>
    where
        O: for<'r> FromRow<'r, PgRow> + Send + Unpin,
    {
        let rows = self.unhurried().fetch(query).await;
        let read = rows.and_then(|rows| rows.iter().map(O::from_row).collect());
        read.map_err(|cause| error::classify(&self.place, doing, cause))
    }

    /// Returns the single row of a catalog query.
    pub(crate) async fn one<O>(&self, doing: &str, query: PgQuery<'_>) -> Result<O, Error>
    where
        O: for<'r> FromRow<'r, PgRow> + Send + Unpin,
    {
        let first = self.all(doing, query).await?.into_iter().next();
        first.ok_or_else(|| error::classify(&self.place, doing, sqlx::Error::RowNotFound))
    }
}

pub(crate) type PgQuery<'q> = Query<'q, Postgres, PgArguments>;

async fn run_steps(
    connection: &mut PgConnection,
    steps: &[Step],
    given: &Given<'_>,
    named: bool,
) -> Result<Done, sqlx::Error> {
    let mut progress = Progress::new(given);
    for step in steps {
        if progress.skips(step) {
            continue;
        }
        let query = bound(step, given, &progress).persistent(named);
        if step.yields == Yields::Nothing {
            progress.changed(connection.execute(query).await?.rows_affected());
            continue;
        }
        let rows = values(&connection.fetch_all(query).await?);
        progress.yielded(given, step, rows);
    }
    Ok(progress.done)
}

/// Returns the query plan of a step, line by line, without running it.
pub async fn explain(
    connection: &mut PgConnection,
    step: &Step,
    given: &Given<'_>,
) -> Result<Vec<String>, sqlx::Error> {
    let step = Step { sql: format!("EXPLAIN {}", step.sql), ..step.clone() };
    let rows = connection.fetch_all(bound(&step, given, &Progress::new(given)).persistent(false)).await?;
    Ok(rows.iter().filter_map(|row| row.try_get::<String, _>(0).ok()).collect())
}

fn bound<'q>(step: &'q Step, given: &Given<'_>, progress: &Progress) -> Query<'q, Postgres, PgArguments> {
    let mut query = sqlx::query(AssertSqlSafe(step.sql.as_str()));
    for bind in &step.binds {
        query = match bind {
            Bind::Limit => query.bind(i64::from(given.limit)),
            Bind::Owner => query.bind(given.owner.to_owned()),
            Bind::Array(Field::Delay) => query.bind(floats(&given.column(&Field::Delay))),
            Bind::Array(field) => query.bind(texts(given.column(field))),
            Bind::Rows(fields) => query.bind(given.json_rows(fields)),
            Bind::One(Field::Delay) => query.bind(float(&given.shared(&Field::Delay))),
            Bind::One(field) => query.bind(bind::text(given.shared(field))),
            Bind::Ids => query.bind(keys(&given.ids)),
            Bind::Held => query.bind(keys(&progress.held)),
            // Only MySQL's claim reads the time back, and handles groups and fair shares one by one.
            Bind::ClaimTime | Bind::Group | Bind::Share => unreachable!("{bind:?} is in no statement here"),
            Bind::Since => query.bind(given.since),
            Bind::GroupsWanted => query.bind(i64::from(given.groups.wanted)),
            Bind::Jumps => query.bind(i64::from(given.groups.jumps)),
            Bind::Fresh => query.bind(i64::from(given.groups.fresh)),
            Bind::Cursor => query.bind(given.groups.cursor.clone()),
            Bind::Groups => query.bind(progress.groups.clone()),
            Bind::Run => query.bind(i64::from(progress.run_length())),
            Bind::Shares => query.bind(progress.permits.shares_json()),
            Bind::Open => query.bind(progress.permits.open_json()),
            Bind::Permits => query.bind(progress.permits.left_json()),
            Bind::Quota => query.bind(i64::from(progress.permits.quota())),
            Bind::Pools => query.bind(given.shares.limited.clone()),
        };
    }
    query
}

fn texts(values: Vec<Value>) -> Vec<Option<String>> {
    values.into_iter().map(bind::text).collect()
}

fn keys(ids: &[RowId]) -> Vec<String> {
    ids.iter().map(ToString::to_string).collect()
}

fn floats(values: &[Value]) -> Vec<Option<f64>> {
    values.iter().map(float).collect()
}

fn float(value: &Value) -> Option<f64> {
    match value {
        Value::Float(number) => Some(*number),
        Value::Null => None,
        // NULL would mean no delay at all.
        other => unreachable!("{other:?} is no number of seconds"),
    }
}

/// The decoding of a column, determined once for all rows of a result.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Int8,
    Int4,
    Int2,
    Bool,
    Float8,
    Float4,
    Bytes,
    Text,
}

impl Kind {
    fn of(type_name: &str) -> Self {
        match type_name {
            "INT8" => Self::Int8,
            "INT4" => Self::Int4,
            "INT2" => Self::Int2,
            "BOOL" => Self::Bool,
            "FLOAT8" => Self::Float8,
            "FLOAT4" => Self::Float4,
            "BYTEA" => Self::Bytes,
            _ => Self::Text,
        }
    }
}

/// Returns the values of all rows, column by column.
pub(crate) fn values(rows: &[PgRow]) -> Vec<Vec<Value>> {
    let Some(first) = rows.first() else { return Vec::new() };
    let kinds: Vec<Kind> = first.columns().iter().map(|column| Kind::of(column.type_info().name())).collect();
    let read = |row: &PgRow| kinds.iter().enumerate().map(|(index, kind)| value(row, index, *kind)).collect();
    rows.iter().map(read).collect()
}

/// Converts a column to a value. Values that cannot be decoded are returned as bytes, never as an error: one bad row
/// must not lose the claim of the others.
fn value(row: &PgRow, index: usize, kind: Kind) -> Value {
    let Ok(raw) = row.try_get_raw(index) else { return Value::Null };
    if raw.is_null() {
        return Value::Null;
    }
    let read = match kind {
        Kind::Int8 => row.try_get_unchecked::<i64, _>(index).map(Value::Int),
        Kind::Int4 => row.try_get_unchecked::<i32, _>(index).map(|number| Value::Int(number.into())),
        Kind::Int2 => row.try_get_unchecked::<i16, _>(index).map(|number| Value::Int(number.into())),
        Kind::Bool => row.try_get_unchecked::<bool, _>(index).map(Value::Bool),
        Kind::Float8 => row.try_get_unchecked::<f64, _>(index).map(Value::Float),
        Kind::Float4 => row.try_get_unchecked::<f32, _>(index).map(|number| Value::Float(number.into())),
        Kind::Bytes => row.try_get_unchecked::<Vec<u8>, _>(index).map(Value::Bytes),
        Kind::Text => row.try_get_unchecked::<String, _>(index).map(Value::Text),
    };
    read.unwrap_or_else(|_| {
        debug_assert_eq!(raw.format(), PgValueFormat::Binary, "prepared statements answer in binary");
        raw.as_bytes().map_or(Value::Null, |bytes| Value::Bytes(bytes.to_vec()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delay_is_bound_as_it_is() {
        assert_eq!(floats(&[Value::Float(1.5), Value::Null]), [Some(1.5), None]);
    }

    #[test]
    #[should_panic(expected = "is no number of seconds")]
    fn an_unknown_value_is_never_bound_as_null() {
        float(&Value::Int(3));
    }
}
