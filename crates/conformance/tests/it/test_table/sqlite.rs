//! A SQLite file for each trial.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use libtest_mimic::Failed;
use postrider_conformance::subject::UNMAPPED_COLUMN;
use postrider_conformance::{
    CREATE_POOLS, Cell, ColumnKind, Row, Subject, TableColumn, TestPoolLimits, TestTable, TestedStore,
};
use postrider_seams::{Backend, Migrate as _, Value, migrate};
use postrider_store_sqlite::{Database, Settings};
use sqlx::sqlite::{SqliteConnectOptions, SqlitePool, SqlitePoolOptions};
use sqlx::{AssertSqlSafe, Executor as _, Row as _};
use tempfile::TempDir;

pub struct SqliteTable {
    subject: Subject,
    url: String,
    sql: SqlitePool,
    columns: Vec<TableColumn>,
    _folder: TempDir,
}

fn settings(url: &str) -> Settings {
    Settings { create: true, durable: false, ..Settings::new(url) }
}

impl SqliteTable {
    pub async fn new(subject: &Subject) -> Result<Self, Failed> {
        let folder = TempDir::new()?;
        let file = folder.path().join("law.db");
        let url = format!("sqlite:{}", file.display());
        let database = Database::connect(&settings(&url))?;
        database.migration(subject.contract.clone()).apply(migrate::MigrateOptions::default()).await?;
        let options = SqliteConnectOptions::new().filename(&file).busy_timeout(Duration::from_secs(30));
        let sql = SqlitePoolOptions::new().max_connections(1).connect_with(options).await?;
        if subject.contract.pool.is_some() {
            sql.execute(CREATE_POOLS).await?;
        }
        let table = &subject.contract.table.name;
        sql.execute(AssertSqlSafe(format!("ALTER TABLE {} ADD COLUMN {UNMAPPED_COLUMN} text", quote(table))))
            .await?;
        let columns = describe(&sql, table).await;
        Ok(Self { subject: subject.clone(), url, sql, columns, _folder: folder })
    }
}

fn quote(name: &str) -> String {
    format!("\"{name}\"")
}

async fn describe(sql: &SqlitePool, table: &str) -> Vec<TableColumn> {
    let text = "SELECT name, upper(type), \"notnull\" AND dflt_value IS NULL AND hidden = 0, hidden > 1 \
                FROM pragma_table_xinfo(?)";
    let rows = sqlx::query(text).bind(table).fetch_all(sql).await.expect("the catalogue answers");
    rows.iter()
        .map(|row| {
            let (name, sql_type): (String, String) = (row.get(0), row.get(1));
            // SQLite has no time type; the column names of the reference tables show it.
            let is_time = name.ends_with("_at") || name.ends_with("_until") || name == "scheduled_for";
            let kind = match sql_type.as_str() {
                "INTEGER" | "BIGINT" | "BOOLEAN" => ColumnKind::Int,
                _ if is_time => ColumnKind::Time,
                _ => ColumnKind::Text,
            };
            TableColumn { name, kind, required: row.get(2), generated: row.get(3), length: None }
        })
        .collect()
}

fn typed(columns: &[TableColumn], name: &str, cell: &Cell) -> &'static str {
    let known = columns.iter().find(|column| column.name == name);
    let known = known.unwrap_or_else(|| panic!("the table has no column {name}"));
    match (known.kind, cell) {
        (ColumnKind::Time, _) => "strftime('%Y-%m-%dT%H:%M:%fZ', ? / 1000000.0, 'unixepoch')",
        (_, Cell::Bytes(_)) => "CAST(? AS TEXT)",
        _ => "?",
    }
}

type Query<'q> = sqlx::query::Query<'q, sqlx::Sqlite, sqlx::sqlite::SqliteArguments>;

fn bind<'q>(query: Query<'q>, cell: &Cell) -> Query<'q> {
    match cell {
        Cell::Null => query.bind(None::<i64>),
        Cell::Int(int) | Cell::Time(int) => query.bind(*int),
        Cell::Text(text) => query.bind(text.clone()),
        Cell::Bytes(bytes) => query.bind(bytes.clone()),
    }
}

/// Converts the results of `typeof` and `hex`; for a time, its microseconds.
fn cell(kind: ColumnKind, storage: &str, hex: &str, micros: Option<i64>) -> Cell {
    if storage == "null" {
        return Cell::Null;
    }
    if kind == ColumnKind::Time {
        return Cell::Time(micros.unwrap_or_else(|| panic!("no time: {hex}")));
    }
    let digit = |n: usize| u8::from_str_radix(&hex[n..n + 2], 16).expect("two digits");
    let bytes: Vec<u8> = (0..hex.len()).step_by(2).map(digit).collect();
    match (storage, String::from_utf8(bytes)) {
        ("integer", Ok(text)) => Cell::Int(text.parse().expect("a whole number")),
        (_, Ok(text)) => Cell::Text(text),
        (_, Err(error)) => Cell::Bytes(error.into_bytes()),
    }
}

#[async_trait]
impl TestTable for SqliteTable {
    fn kind(&self) -> TestedStore {
        TestedStore::Sqlite
    }

    async fn open(&self, _worker: &str) -> Arc<dyn Backend> {
        let database = Database::connect(&settings(&self.url)).expect("the address is right");
        let stage = &self.subject.stage().name;
        database.open(self.subject.contract.clone(), stage, "law").await.expect("the table is there")
    }

    fn columns(&self) -> &[TableColumn] {
        &self.columns
    }

    async fn now(&self) -> i64 {
        let text = "SELECT CAST(ROUND(unixepoch('now', 'subsec') * 1000000) AS INTEGER)";
        sqlx::query_scalar(text).fetch_one(&self.sql).await.expect("it has a clock")
    }

    async fn insert(&self, table: &str, rows: &[Row]) {
        let columns = describe(&self.sql, table).await;
        let mut transaction = self.sql.begin_with("BEGIN IMMEDIATE").await.expect("a transaction");
        for row in rows {
            let names: Vec<String> = row.keys().map(|column| quote(column)).collect();
            let values: Vec<&str> = row.iter().map(|(column, cell)| typed(&columns, column, cell)).collect();
            let text =
                format!("INSERT INTO {} ({}) VALUES ({})", quote(table), names.join(", "), values.join(", "));
            let query = row.values().fold(sqlx::query(AssertSqlSafe(text)), bind);
            query.execute(&mut *transaction).await.unwrap_or_else(|error| panic!("{error}: {row:?}"));
        }
        transaction.commit().await.expect("a commit");
    }

    async fn select(&self, table: &str, key: Option<(&str, &Cell)>) -> Vec<Row> {
        let columns = describe(&self.sql, table).await;
        let shown = |column: &TableColumn| {
            let name = quote(&column.name);
            let micros = match column.kind {
                ColumnKind::Time => format!("CAST(ROUND(unixepoch({name}, 'subsec') * 1000000) AS INTEGER)"),
                _ => "NULL".to_owned(),
            };
            format!("typeof({name}), hex({name}), {micros}")
        };
        let list: Vec<String> = columns.iter().map(shown).collect();
        let filter = key.map_or_else(String::new, |(column, _)| format!(" WHERE {} = ?", quote(column)));
        let text = format!("SELECT {} FROM {}{filter}", list.join(", "), quote(table));
        let mut query = sqlx::query(AssertSqlSafe(text));
        if let Some((_, cell)) = key {
            query = bind(query, cell);
        }
        let rows = query.fetch_all(&self.sql).await.expect("rows");
        let read = |row: &sqlx::sqlite::SqliteRow| {
            let cells = columns.iter().enumerate().map(|(n, column)| {
                let (storage, hex): (String, Option<String>) = (row.get(n * 3), row.get(n * 3 + 1));
                let found = cell(column.kind, &storage, hex.as_deref().unwrap_or(""), row.get(n * 3 + 2));
                (column.name.clone(), found)
            });
            cells.collect()
        };
        rows.iter().map(read).collect()
    }

    async fn update(&self, id: &Cell, changes: &Row) {
        let table = &self.subject.contract.table;
        let set = |(column, cell): (&String, &Cell)| {
            format!("{} = {}", quote(column), typed(&self.columns, column, cell))
        };
        let sets: Vec<String> = changes.iter().map(set).collect();
        let (name, key) = (quote(&table.name), quote(&table.id));
        let text = format!("UPDATE {name} SET {} WHERE {key} = ?", sets.join(", "));
        let query = changes.values().fold(sqlx::query(AssertSqlSafe(text)), bind);
        let done = bind(query, id).execute(&self.sql).await.expect("an update");
        assert_eq!(done.rows_affected(), 1, "the row is there");
    }

    async fn fence(&self, id: &Cell, column: &str) -> Value {
        let table = &self.subject.contract.table;
        let (name, key) = (quote(&table.name), quote(&table.id));
        let text = format!("SELECT CAST({} AS TEXT) FROM {name} WHERE {key} = ?", quote(column));
        let found = bind(sqlx::query(AssertSqlSafe(text)), id).fetch_one(&self.sql).await;
        Value::Text(found.expect("the row is there").get(0))
    }

    async fn set_pool(&self, name: &str, limits: TestPoolLimits) {
        let text = "REPLACE INTO dispatch_pools VALUES (?, ?, ?, ?)";
        let query = sqlx::query(text)
            .bind(name.to_owned())
            .bind(limits.concurrency)
            .bind(limits.rate)
            .bind(limits.paused);
        query.execute(&self.sql).await.expect("a pool");
    }

    async fn close(&self) {
        self.sql.close().await;
    }
}
