//! A schema in PostgreSQL for each trial.

use std::sync::Arc;

use async_trait::async_trait;
use libtest_mimic::Failed;
use postrider_conformance::subject::UNMAPPED_COLUMN;
use postrider_conformance::{
    CREATE_POOLS, Cell, ColumnKind, OtherProgram, Row, Subject, TableColumn, TestPoolLimits, TestTable,
    TestedStore,
};
use postrider_seams::{Backend, Migrate as _, Value, migrate};
use postrider_store_postgres::{Database, Settings};
use sqlx::postgres::{PgPool, PgPoolOptions};
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection, Row as _};

use super::{fresh_name, server};

pub struct PostgresTable {
    subject: Subject,
    admin: String,
    name: String,
    url: String,
    sql: PgPool,
    columns: Vec<TableColumn>,
}

/// A column and the type to cast to.
struct Described {
    column: TableColumn,
    sql_type: String,
}

impl PostgresTable {
    pub async fn new(subject: &Subject) -> Result<Self, Failed> {
        let admin = server("POSTRIDER_TEST_POSTGRES")?;
        let name = fresh_name();
        // A schema isolates the trial as well as a database does, and is created a hundred times faster.
        let mut connection = PgConnection::connect(&admin).await?;
        connection.execute(AssertSqlSafe(format!("CREATE SCHEMA {name}"))).await?;
        connection.close().await?;
        let url = format!("{admin}?options=-c%20search_path%3D{name}");
        let database = Database::connect(&Settings::new(&url))?;
        database.migration(subject.contract.clone()).apply(migrate::MigrateOptions::default()).await?;
        database.close().await;
        let sql = PgPoolOptions::new().max_connections(2).connect(&url).await?;
        if subject.contract.pool.is_some() {
            sql.execute(CREATE_POOLS).await?;
        }
        let table = &subject.contract.table.name;
        sql.execute(AssertSqlSafe(format!("ALTER TABLE {} ADD COLUMN {UNMAPPED_COLUMN} text", quote(table))))
            .await?;
        let columns = describe(&sql, table).await.into_iter().map(|known| known.column).collect();
        Ok(Self { subject: subject.clone(), admin, name, url, sql, columns })
    }
}

fn quote(name: &str) -> String {
    format!("\"{name}\"")
}

async fn describe(sql: &PgPool, table: &str) -> Vec<Described> {
    let text = "SELECT attname::text, format_type(atttypid, atttypmod), \
                attnotnull AND NOT atthasdef AND attidentity = '' AND attgenerated = '', attgenerated <> '', \
                CASE WHEN atttypid = 'varchar'::regtype AND atttypmod > 4 THEN atttypmod - 4 END \
                FROM pg_attribute WHERE attrelid = $1::text::regclass AND attnum > 0 AND NOT attisdropped \
                ORDER BY attnum";
    let rows = sqlx::query(text).bind(quote(table)).fetch_all(sql).await.expect("the catalogue answers");
    rows.iter()
        .map(|row| {
            let sql_type: String = row.get(1);
            let kind = match sql_type.as_str() {
                "smallint" | "integer" | "bigint" | "boolean" => ColumnKind::Int,
                "uuid" => ColumnKind::Uuid,
                "json" | "jsonb" => ColumnKind::Json,
                other if other.starts_with("timestamp") => ColumnKind::Time,
                _ => ColumnKind::Text,
            };
            let length: Option<i32> = row.get(4);
            let column = TableColumn {
                name: row.get(0),
                kind,
                required: row.get(2),
                generated: row.get(3),
                length: length.and_then(|length| usize::try_from(length).ok()),
            };
            Described { column, sql_type }
        })
        .collect()
}

/// Returns the n-th bind parameter with a cast to the column's type.
fn typed(described: &[Described], column: &str, n: usize) -> String {
    let known = described.iter().find(|known| known.column.name == column);
    let known = known.unwrap_or_else(|| panic!("the table has no column {column}"));
    match known.column.kind {
        ColumnKind::Time => {
            format!(
                "('epoch'::timestamptz + ${n}::text::bigint * interval '1 microsecond')::{}",
                known.sql_type
            )
        }
        _ if known.sql_type == "boolean" => format!("(${n}::text::integer <> 0)"),
        _ => format!("${n}::text::{}", known.sql_type),
    }
}

fn bound(cell: &Cell) -> Option<String> {
    match cell {
        Cell::Null => None,
        Cell::Int(int) | Cell::Time(int) => Some(int.to_string()),
        Cell::Text(text) => Some(text.clone()),
        Cell::Bytes(_) => panic!("PostgreSQL admits no invalid text"),
    }
}

fn shown(known: &Described) -> String {
    let name = quote(&known.column.name);
    match known.column.kind {
        ColumnKind::Time => format!("(extract(epoch FROM {name}) * 1000000)::bigint::text"),
        _ if known.sql_type == "boolean" => format!("{name}::integer::text"),
        _ => format!("{name}::text"),
    }
}

fn cell(kind: ColumnKind, text: Option<String>) -> Cell {
    let Some(text) = text else { return Cell::Null };
    match kind {
        ColumnKind::Int => Cell::Int(text.parse().expect("a whole number")),
        ColumnKind::Time => Cell::Time(text.parse().expect("microseconds")),
        ColumnKind::Text | ColumnKind::Uuid | ColumnKind::Json => Cell::Text(text),
    }
}

#[async_trait]
impl TestTable for PostgresTable {
    fn kind(&self) -> TestedStore {
        TestedStore::Postgres
    }

    async fn open(&self, _worker: &str) -> Arc<dyn Backend> {
        let settings = Settings { connections: 2, ..Settings::new(&self.url) };
        let database = Database::connect(&settings).expect("the address is right");
        let stage = &self.subject.stage().name;
        database.open(self.subject.contract.clone(), stage, "law").await.expect("the table is there")
    }

    fn columns(&self) -> &[TableColumn] {
        &self.columns
    }

    async fn now(&self) -> i64 {
        let text = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint";
        sqlx::query_scalar(text).fetch_one(&self.sql).await.expect("it has a clock")
    }

    async fn insert(&self, table: &str, rows: &[Row]) {
        let described = describe(&self.sql, table).await;
        let mut transaction = self.sql.begin().await.expect("a transaction");
        for row in rows {
            let names: Vec<String> = row.keys().map(|column| quote(column)).collect();
            let values: Vec<String> =
                row.keys().enumerate().map(|(n, column)| typed(&described, column, n + 1)).collect();
            let text =
                format!("INSERT INTO {} ({}) VALUES ({})", quote(table), names.join(", "), values.join(", "));
            let query =
                row.values().fold(sqlx::query(AssertSqlSafe(text)), |query, cell| query.bind(bound(cell)));
            query.execute(&mut *transaction).await.unwrap_or_else(|error| panic!("{error}: {row:?}"));
        }
        transaction.commit().await.expect("a commit");
    }

    async fn select(&self, table: &str, key: Option<(&str, &Cell)>) -> Vec<Row> {
        let described = describe(&self.sql, table).await;
        let columns: Vec<String> = described.iter().map(shown).collect();
        let filter =
            key.map_or_else(String::new, |(column, _)| format!(" WHERE {}::text = $1", quote(column)));
        let text = format!("SELECT {} FROM {}{filter}", columns.join(", "), quote(table));
        let mut query = sqlx::query(AssertSqlSafe(text));
        if let Some((_, cell)) = key {
            query = query.bind(bound(cell));
        }
        let rows = query.fetch_all(&self.sql).await.expect("rows");
        let read = |row: &sqlx::postgres::PgRow| {
            let cells = described.iter().enumerate();
            cells.map(|(n, known)| (known.column.name.clone(), cell(known.column.kind, row.get(n)))).collect()
        };
        rows.iter().map(read).collect()
    }

    async fn update(&self, id: &Cell, changes: &Row) {
        let table = &self.subject.contract.table;
        let described = describe(&self.sql, &table.name).await;
        let sets: Vec<String> = changes
            .keys()
            .enumerate()
            .map(|(n, column)| format!("{} = {}", quote(column), typed(&described, column, n + 2)))
            .collect();
        let (name, key) = (quote(&table.name), quote(&table.id));
        let text = format!("UPDATE {name} SET {} WHERE {key}::text = $1", sets.join(", "));
        let query = sqlx::query(AssertSqlSafe(text)).bind(bound(id));
        let query = changes.values().fold(query, |query, cell| query.bind(bound(cell)));
        let done = query.execute(&self.sql).await.expect("an update");
        assert_eq!(done.rows_affected(), 1, "the row is there");
    }

    fn foreign(&self) -> Option<&dyn OtherProgram> {
        Some(self)
    }

    async fn fence(&self, id: &Cell, column: &str) -> Value {
        let table = &self.subject.contract.table;
        let (name, key) = (quote(&table.name), quote(&table.id));
        let text = format!("SELECT {}::text FROM {name} WHERE {key}::text = $1", quote(column));
        let found = sqlx::query_scalar(AssertSqlSafe(text)).bind(bound(id)).fetch_one(&self.sql).await;
        Value::Text(found.expect("the row is there"))
    }

    async fn set_pool(&self, name: &str, limits: TestPoolLimits) {
        let text = "INSERT INTO dispatch_pools VALUES ($1, $2, $3, $4) ON CONFLICT (id) DO UPDATE SET \
                    concurrency = excluded.concurrency, rate_per_minute = excluded.rate_per_minute, \
                    paused = excluded.paused";
        let query = sqlx::query(text)
            .bind(name.to_owned())
            .bind(limits.concurrency.map(i32::try_from).transpose().expect("a small number"))
            .bind(limits.rate.map(i32::try_from).transpose().expect("a small number"))
            .bind(limits.paused);
        query.execute(&self.sql).await.expect("a pool");
    }

    async fn close(&self) {
        self.sql.close().await;
        if let Ok(mut connection) = PgConnection::connect(&self.admin).await {
            let text = format!("DROP SCHEMA IF EXISTS {} CASCADE", self.name);
            let _ = connection.execute(AssertSqlSafe(text)).await;
        }
    }
}

/// The claim in the specification of `mail_outbox`, verbatim except for its parameters.
const SEED_CLAIM: &str = "
WITH candidates AS (
  SELECT id
  FROM mail_outbox
  WHERE status = 'queued'
    AND next_attempt_at <= NOW()
    AND retry_count < $1
  ORDER BY next_attempt_at ASC, id ASC
  LIMIT $2
  FOR UPDATE SKIP LOCKED
)
UPDATE mail_outbox
SET status = 'dispatching',
    last_attempt_at = NOW()
FROM candidates
WHERE mail_outbox.id = candidates.id
RETURNING mail_outbox.id";

#[async_trait]
impl OtherProgram for PostgresTable {
    async fn claim(&self, limit: i64) -> Vec<Cell> {
        let mut transaction = self.sql.begin().await.expect("a transaction");
        let ids: Vec<i64> = sqlx::query_scalar(SEED_CLAIM)
            .bind(5)
            .bind(limit)
            .fetch_all(&mut *transaction)
            .await
            .expect("their claim");
        transaction.commit().await.expect("a commit");
        ids.into_iter().map(Cell::Int).collect()
    }
}
