//! The tests' own SQL: inserts like an application, and queries like an auditor.

use std::fmt::Write as _;
use std::time::Duration;

use sqlx::mysql::{MySqlPool, MySqlPoolOptions};
use sqlx::postgres::{PgPool, PgPoolOptions};
use sqlx::sqlite::{SqliteConnectOptions, SqlitePool, SqlitePoolOptions};
use sqlx::{AssertSqlSafe, Row as _};

/// A value to insert.
#[derive(Debug, Clone)]
pub enum Cell {
    Text(String),
    /// An SQL expression, inserted unquoted.
    Sql(String),
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

#[derive(Clone)]
pub enum Sql {
    Postgres(PgPool),
    MariaDb(MySqlPool),
    Sqlite(SqlitePool),
}

/// Makes the same call on the pool of either database.
macro_rules! on {
    ($sql:expr, $pool:ident => $call:expr) => {
        match $sql {
            Sql::Postgres($pool) => $call,
            Sql::MariaDb($pool) => $call,
            Sql::Sqlite($pool) => $call,
        }
    };
}

const ACQUIRE: Duration = Duration::from_secs(30);

impl Sql {
    pub fn postgres(url: &str) -> Self {
        let pool = PgPoolOptions::new().max_connections(3).acquire_timeout(ACQUIRE).connect_lazy(url);
        Self::Postgres(pool.expect("a right URL"))
    }

    pub fn mariadb(url: &str) -> Self {
        let pool = MySqlPoolOptions::new().max_connections(3).acquire_timeout(ACQUIRE).connect_lazy(url);
        Self::MariaDb(pool.expect("a right URL"))
    }

    pub fn sqlite(path: &std::path::Path) -> Self {
        let options = SqliteConnectOptions::new().filename(path).busy_timeout(ACQUIRE);
        Self::Sqlite(SqlitePoolOptions::new().max_connections(3).connect_lazy_with(options))
    }

    /// Runs a statement; returns the number of rows that it changed.
    pub async fn execute(&self, sql: &str) -> Result<u64, sqlx::Error> {
        let query = AssertSqlSafe(sql.to_owned());
        Ok(on!(self, pool => sqlx::query(query).execute(pool).await?.rows_affected()))
    }

    /// Runs a statement that must succeed.
    pub async fn must(&self, sql: &str) -> u64 {
        self.execute(sql).await.unwrap_or_else(|error| panic!("{error}\n{sql}"))
    }

    /// Returns rows of text; every expression must be text already (see [`Sql::text`]).
    pub async fn rows(&self, sql: &str) -> Result<Vec<Vec<Option<String>>>, sqlx::Error> {
        let query = AssertSqlSafe(sql.to_owned());
        on!(self, pool => {
            let rows = sqlx::query(query).fetch_all(pool).await?;
            rows.iter().map(|row| (0..row.len()).map(|at| row.try_get_unchecked(at)).collect()).collect()
        })
    }

    /// Counts rows; `None` while the database is unavailable.
    pub async fn count(&self, table_and_condition: &str) -> Option<u64> {
        let sql = format!("SELECT {} FROM {table_and_condition}", self.text("count(*)"));
        self.rows(&sql).await.ok()?.first()?.first()?.as_deref()?.parse().ok()
    }

    /// Inserts one row.
    pub async fn insert(&self, table: &str, cells: &[(&str, Cell)]) {
        let columns: Vec<String> = cells.iter().map(|(column, _)| self.quoted(column)).collect();
        let mut values = String::new();
        let mut bound = 0;
        for (at, (_, cell)) in cells.iter().enumerate() {
            values.push_str(if at == 0 { "" } else { ", " });
            match (cell, self) {
                (Cell::Sql(expression), _) => values.push_str(expression),
                (_, Self::Postgres(_)) => {
                    bound += 1;
                    write!(values, "${bound}").expect("writing to a String cannot fail");
                }
                _ => values.push('?'),
            }
        }
        let sql = format!("INSERT INTO {} ({}) VALUES ({values})", self.quoted(table), columns.join(", "));
        on!(self, pool => {
            let mut query = sqlx::query(AssertSqlSafe(sql.clone()));
            for (_, cell) in cells {
                query = match cell {
                    Cell::Text(text) => query.bind(text.as_str()),
                    Cell::Sql(_) => query,
                };
            }
            if let Err(error) = query.execute(pool).await {
                panic!("{error}\n{sql}");
            }
        });
    }

    /// Converts an expression to text.
    pub fn text(&self, expression: &str) -> String {
        match self {
            Self::Postgres(_) => format!("({expression})::text"),
            Self::MariaDb(_) => format!("CAST({expression} AS CHAR)"),
            Self::Sqlite(_) => format!("CAST({expression} AS TEXT)"),
        }
    }

    /// The current time as an application would write it: the test databases are far from UTC, their tables hold UTC.
    pub fn now(&self) -> &'static str {
        match self {
            Self::Postgres(_) => "now()",
            Self::MariaDb(_) => "UTC_TIMESTAMP(6)",
            Self::Sqlite(_) => "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')",
        }
    }

    pub fn quoted(&self, name: &str) -> String {
        match self {
            Self::MariaDb(_) => format!("`{name}`"),
            _ => format!("\"{name}\""),
        }
    }

    pub async fn close(&self) {
        on!(self, pool => pool.close().await);
    }
}
