//! Runs statements on PostgreSQL: begins transactions, binds arguments, and reads the returned rows.

use std::time::Duration;

use postrider_seams::WakeUps;
use postrider_seams::row::Value;
use postrider_seams::store::Error;
use postrider_sql::Dialect;
use postrider_sql::driver::errors::roll_back;
use postrider_sql::driver::execute::{Arg, Statement};
use postrider_sql::driver::pool::Pool;
use postrider_sql::driver::{Access, Driver};
use postrider_sql::driver_over_sqlx;
use sqlx::postgres::{PgArguments, PgConnection, PgRow, PgValueFormat};
use sqlx::query::Query;
use sqlx::{
    AssertSqlSafe, Column as _, Executor as _, FromRow, Postgres, Row as _, TypeInfo as _, ValueRef as _,
};

use crate::connect::Database;
use crate::error::{self, Errors};
use crate::session::Connector;

impl Driver for Database {
    const DIALECT: Dialect = Dialect::Postgres;

    driver_over_sqlx!(Postgres);

    fn owner(&self) -> &str {
        &self.instance
    }

    fn with_long_deadline(&self) -> Self {
        Self { deadline: self.long_deadline, ..self.clone() }
    }

    fn wake_ups(&self) -> &WakeUps {
        &self.wake_ups
    }

    fn pool(&self, _: Access) -> &Pool<Connector> {
        &self.pool
    }

    fn deadline(&self) -> Duration {
        self.deadline
    }

    /// Behind a pooler every call is a transaction, which begins with its settings.
    fn runs_alone(&self) -> bool {
        self.names_statements()
    }

    async fn begin<'c>(
        &self,
        connection: &'c mut PgConnection,
        _: Access,
    ) -> Result<Self::Transaction<'c>, sqlx::Error> {
        self.pool.connector().transaction(connection, self.deadline).await
    }

    async fn roll_back(transaction: Self::Transaction<'_>, cause: sqlx::Error) -> sqlx::Error {
        roll_back::<Errors>(transaction.rollback(), cause).await
    }

    fn error(&self, doing: &str, cause: sqlx::Error) -> Error {
        error::classify(&self.place, doing, cause)
    }
}

impl Database {
    /// Whether statements may be prepared by name and reused, which requires a persistent session.
    fn names_statements(&self) -> bool {
        self.pool.connector().pooler().keeps_sessions()
    }

    /// Returns the rows of a catalog query.
    pub(crate) async fn all<O>(&self, doing: &str, query: PgQuery<'_>) -> Result<Vec<O>, Error>
    where
        O: for<'r> FromRow<'r, PgRow> + Send + Unpin,
    {
        let rows = self.with_long_deadline().catalog_rows(query).await;
        let read = rows.and_then(|rows| rows.iter().map(O::from_row).collect());
        read.map_err(|cause| self.error(doing, cause))
    }

    /// Returns the single row of a catalog query.
    pub(crate) async fn one<O>(&self, doing: &str, query: PgQuery<'_>) -> Result<O, Error>
    where
        O: for<'r> FromRow<'r, PgRow> + Send + Unpin,
    {
        let first = self.all(doing, query).await?.into_iter().next();
        first.ok_or_else(|| self.error(doing, sqlx::Error::RowNotFound))
    }

    async fn catalog_rows(&self, query: PgQuery<'_>) -> Result<Vec<PgRow>, sqlx::Error> {
        let mut connection = self.pool.acquire().await?;
        let outcome =
            connection.deadline(self.deadline).run(self.catalog_rows_on(&mut connection, query)).await;
        connection.end(outcome)
    }

    async fn catalog_rows_on(
        &self,
        connection: &mut PgConnection,
        query: PgQuery<'_>,
    ) -> Result<Vec<PgRow>, sqlx::Error> {
        if self.names_statements() {
            return connection.fetch_all(query).await;
        }
        let mut transaction = self.begin(connection, Access::Read).await?;
        match transaction.fetch_all(query.persistent(false)).await {
            Ok(rows) => transaction.commit().await.map(|()| rows),
            Err(cause) => Err(Self::roll_back(transaction, cause).await),
        }
    }
}

type PgQuery<'q> = Query<'q, Postgres, PgArguments>;

fn bound<'s>(database: &Database, statement: &'s Statement) -> PgQuery<'s> {
    let query = sqlx::query(AssertSqlSafe(statement.sql.as_str())).persistent(database.names_statements());
    statement.args.iter().cloned().fold(query, |query, arg| match arg {
        Arg::Text(text) => query.bind(text),
        Arg::Int(number) => query.bind(number),
        Arg::Float(number) => query.bind(number),
        Arg::Flag(flag) => query.bind(flag),
        Arg::Bytes(bytes) => query.bind(bytes),
        Arg::Texts(texts) => query.bind(texts),
        Arg::Floats(numbers) => query.bind(numbers),
    })
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

/// Returns a function that reads the rows of one result.
fn reader() -> impl FnMut(&PgRow) -> Vec<Value> {
    let mut kinds: Vec<Kind> = Vec::new();
    move |row| {
        if kinds.is_empty() {
            kinds = row.columns().iter().map(|column| Kind::of(column.type_info().name())).collect();
        }
        kinds.iter().enumerate().map(|(index, kind)| value(row, index, *kind)).collect()
    }
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
