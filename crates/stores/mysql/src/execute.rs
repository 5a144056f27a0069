//! Runs statements on MySQL and MariaDB: begins transactions, binds arguments, and reads the returned rows.

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
use sqlx::mysql::{MySql, MySqlArguments, MySqlConnection, MySqlRow, MySqlTypeInfo};
use sqlx::query::Query;
use sqlx::{
    AssertSqlSafe, Column as _, Connection as _, Executor as _, FromRow, Row as _, Type, TypeInfo as _,
    ValueRef as _,
};

use crate::connect::Database;
use crate::error::{self, Errors};
use crate::session::Connector;

impl Driver for Database {
    const DIALECT: Dialect = Dialect::Mysql;

    driver_over_sqlx!(MySql);

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

    async fn begin<'c>(
        &self,
        connection: &'c mut MySqlConnection,
        _: Access,
    ) -> Result<Self::Transaction<'c>, sqlx::Error> {
        connection.begin().await
    }

    async fn roll_back(transaction: Self::Transaction<'_>, cause: sqlx::Error) -> sqlx::Error {
        roll_back::<Errors>(transaction.rollback(), cause).await
    }

    fn error(&self, doing: &str, cause: sqlx::Error) -> Error {
        error::classify(&self.place, doing, cause)
    }
}

impl Database {
    /// Returns the rows of a catalog query.
    pub(crate) async fn all<O>(&self, doing: &str, query: MyQuery) -> Result<Vec<O>, Error>
    where
        O: for<'r> FromRow<'r, MySqlRow> + Send + Unpin,
    {
        let rows = self.catalog_rows(query).await;
        let read = rows.and_then(|rows| rows.iter().map(O::from_row).collect());
        read.map_err(|cause| self.error(doing, cause))
    }

    async fn catalog_rows(&self, query: MyQuery) -> Result<Vec<MySqlRow>, sqlx::Error> {
        let mut connection = self.pool.acquire().await?;
        let outcome = connection.deadline(self.long_deadline).run(connection.fetch_all(query)).await;
        connection.end(outcome)
    }
}

type MyQuery = Query<'static, MySql, MySqlArguments>;

fn bound(_: &Database, statement: &Statement) -> MyQuery {
    let query = sqlx::query(AssertSqlSafe(statement.sql.clone()));
    statement.args.iter().cloned().fold(query, |query, arg| match arg {
        Arg::Text(text) => query.bind(text),
        Arg::Int(number) => query.bind(number),
        Arg::Float(number) => query.bind(number),
        Arg::Flag(flag) => query.bind(flag),
        Arg::Bytes(bytes) => query.bind(bytes),
        Arg::Texts(_) | Arg::Floats(_) => unreachable!("MySQL has no arrays: {}", statement.sql),
    })
}

fn reader() -> impl FnMut(&MySqlRow) -> Vec<Value> {
    |row| (0..row.len()).map(|index| value(row, index)).collect()
}

/// Converts a column to a value. Values that cannot be decoded are returned as bytes, never as an error: one bad row
/// must not lose the claim of the others.
fn value(row: &MySqlRow, index: usize) -> Value {
    match row.try_get_raw(index) {
        Ok(raw) if !raw.is_null() => {}
        _ => return Value::Null,
    }
    let info = row.column(index).type_info();
    let name = info.name();
    let read = match name {
        "DOUBLE" => row.try_get_unchecked::<f64, _>(index).map(Value::Float),
        "FLOAT" => row.try_get_unchecked::<f32, _>(index).map(|number| Value::Float(number.into())),
        "BOOLEAN" => row.try_get_unchecked::<bool, _>(index).map(|flag| Value::Int(flag.into())),
        _ if name.ends_with("UNSIGNED") => row
            .try_get_unchecked::<u64, _>(index)
            .map(|number| i64::try_from(number).map_or_else(|_| Value::Text(number.to_string()), Value::Int)),
        _ if name.ends_with("INT") => row.try_get_unchecked::<i64, _>(index).map(Value::Int),
        _ => row.try_get_unchecked::<Vec<u8>, _>(index).map(|bytes| text_or_bytes(info, bytes)),
    };
    read.unwrap_or_default()
}

/// Returns text or bytes. The type name alone is ambiguous: text with a `_bin` collation is reported as binary as well.
fn text_or_bytes(info: &MySqlTypeInfo, bytes: Vec<u8>) -> Value {
    let binary = ["BLOB", "BINARY", "BIT"].into_iter().any(|end| info.name().ends_with(end));
    if binary && !<str as Type<MySql>>::compatible(info) {
        return Value::Bytes(bytes);
    }
    match String::from_utf8(bytes) {
        Ok(text) => Value::Text(text),
        Err(broken) => Value::Bytes(broken.into_bytes()),
    }
}
