//! A MariaDB database for each trial.

use std::sync::Arc;

use async_trait::async_trait;
use libtest_mimic::Failed;
use postrider_conformance::subject::UNMAPPED_COLUMN;
use postrider_conformance::{
    CREATE_POOLS, Cell, ColumnKind, Row, Subject, TableColumn, TestPoolLimits, TestTable, TestedStore,
};
use postrider_seams::{Backend, Migrate as _, Value, migrate};
use postrider_store_mysql::{Database, Settings};
use sqlx::mysql::{MySqlPool, MySqlPoolOptions};
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, MySqlConnection, Row as _};

use super::{fresh_name, server};

pub struct MariaDbTable {
    subject: Subject,
    admin: String,
    name: String,
    url: String,
    sql: MySqlPool,
    columns: Vec<TableColumn>,
}

impl MariaDbTable {
    pub async fn new(subject: &Subject) -> Result<Self, Failed> {
        let admin = server("POSTRIDER_TEST_MYSQL")?;
        let name = fresh_name();
        let mut connection = MySqlConnection::connect(&admin).await?;
        connection.execute(AssertSqlSafe(format!("CREATE DATABASE {name}"))).await?;
        connection.close().await?;
        let (base, _) = admin.rsplit_once('/').ok_or("the server's address ends with a slash")?;
        let url = format!("{base}/{name}");
        let database = Database::connect(&Settings::new(&url))?;
        database.migration(subject.contract.clone()).apply(migrate::MigrateOptions::default()).await?;
        database.close().await;
        let sql = MySqlPoolOptions::new().max_connections(2).connect(&url).await?;
        if subject.contract.pool.is_some() {
            sql.execute(CREATE_POOLS).await?;
        }
        let table = &subject.contract.table.name;
        sql.execute(AssertSqlSafe(format!("ALTER TABLE {} ADD COLUMN {UNMAPPED_COLUMN} text", quote(table))))
            .await?;
        let columns = describe(&sql, table).await;
        Ok(Self { subject: subject.clone(), admin, name, url, sql, columns })
    }
}

fn quote(name: &str) -> String {
    format!("`{name}`")
}

async fn describe(sql: &MySqlPool, table: &str) -> Vec<TableColumn> {
    let text = "SELECT CAST(column_name AS CHAR), CAST(data_type AS CHAR), \
                CAST(is_nullable = 'NO' AND column_default IS NULL AND extra NOT LIKE '%auto_increment%' \
                AND extra NOT REGEXP 'VIRTUAL|STORED|PERSISTENT' AS SIGNED), \
                CAST(extra REGEXP 'VIRTUAL|STORED|PERSISTENT' AS SIGNED), \
                CAST(character_maximum_length AS SIGNED) FROM information_schema.columns \
                WHERE table_schema = DATABASE() AND table_name = ? ORDER BY ordinal_position";
    let rows = sqlx::query(text).bind(table).fetch_all(sql).await.expect("the catalogue answers");
    rows.iter()
        .map(|row| {
            let sql_type: String = row.get(1);
            let kind = match sql_type.as_str() {
                "tinyint" | "smallint" | "mediumint" | "int" | "bigint" => ColumnKind::Int,
                "datetime" | "timestamp" => ColumnKind::Time,
                "uuid" => ColumnKind::Uuid,
                "json" => ColumnKind::Json,
                _ => ColumnKind::Text,
            };
            let length: Option<i64> = row.get(4);
            TableColumn {
                name: row.get(0),
                kind,
                required: row.get::<i64, _>(2) != 0,
                generated: row.get::<i64, _>(3) != 0,
                length: length.and_then(|length| usize::try_from(length).ok()),
            }
        })
        .collect()
}

fn kind_of(columns: &[TableColumn], name: &str) -> ColumnKind {
    let known = columns.iter().find(|column| column.name == name);
    known.unwrap_or_else(|| panic!("the table has no column {name}")).kind
}

/// Returns the SQL of a bind parameter for the column.
fn typed(columns: &[TableColumn], name: &str) -> &'static str {
    match kind_of(columns, name) {
        ColumnKind::Time => "TIMESTAMP '1970-01-01 00:00:00' + INTERVAL ? MICROSECOND",
        _ => "?",
    }
}

fn bound(cell: &Cell) -> Option<String> {
    match cell {
        Cell::Null => None,
        Cell::Int(int) | Cell::Time(int) => Some(int.to_string()),
        Cell::Text(text) => Some(text.clone()),
        Cell::Bytes(_) => panic!("MariaDB admits no invalid text"),
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
impl TestTable for MariaDbTable {
    fn kind(&self) -> TestedStore {
        TestedStore::MariaDb
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
        let text = "SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))";
        sqlx::query_scalar(text).fetch_one(&self.sql).await.expect("it has a clock")
    }

    async fn insert(&self, table: &str, rows: &[Row]) {
        let columns = describe(&self.sql, table).await;
        let mut transaction = self.sql.begin().await.expect("a transaction");
        for row in rows {
            let names: Vec<String> = row.keys().map(|column| quote(column)).collect();
            let values: Vec<&str> = row.keys().map(|column| typed(&columns, column)).collect();
            let text =
                format!("INSERT INTO {} ({}) VALUES ({})", quote(table), names.join(", "), values.join(", "));
            let query =
                row.values().fold(sqlx::query(AssertSqlSafe(text)), |query, cell| query.bind(bound(cell)));
            query.execute(&mut *transaction).await.unwrap_or_else(|error| panic!("{error}: {row:?}"));
        }
        transaction.commit().await.expect("a commit");
    }

    async fn select(&self, table: &str, key: Option<(&str, &Cell)>) -> Vec<Row> {
        let columns = describe(&self.sql, table).await;
        let shown = |column: &TableColumn| match column.kind {
            ColumnKind::Time => {
                format!("CAST(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', {}) AS CHAR)", quote(&column.name))
            }
            _ => format!("CAST({} AS CHAR)", quote(&column.name)),
        };
        let list: Vec<String> = columns.iter().map(shown).collect();
        let filter = key.map_or_else(String::new, |(column, _)| format!(" WHERE {} = ?", quote(column)));
        let text = format!("SELECT {} FROM {}{filter}", list.join(", "), quote(table));
        let mut query = sqlx::query(AssertSqlSafe(text));
        if let Some((_, cell)) = key {
            query = query.bind(bound(cell));
        }
        let rows = query.fetch_all(&self.sql).await.expect("rows");
        let read = |row: &sqlx::mysql::MySqlRow| {
            let cells = columns.iter().enumerate();
            cells.map(|(n, column)| (column.name.clone(), cell(column.kind, row.get(n)))).collect()
        };
        rows.iter().map(read).collect()
    }

    async fn update(&self, id: &Cell, changes: &Row) {
        let table = &self.subject.contract.table;
        let set = |column: &String| format!("{} = {}", quote(column), typed(&self.columns, column));
        let sets: Vec<String> = changes.keys().map(set).collect();
        let (name, key) = (quote(&table.name), quote(&table.id));
        let text = format!("UPDATE {name} SET {} WHERE {key} = ?", sets.join(", "));
        let query = sqlx::query(AssertSqlSafe(text));
        let query = changes.values().fold(query, |query, cell| query.bind(bound(cell)));
        query.bind(bound(id)).execute(&self.sql).await.expect("an update");
    }

    async fn fence(&self, id: &Cell, column: &str) -> Value {
        let table = &self.subject.contract.table;
        let (name, key) = (quote(&table.name), quote(&table.id));
        let text = format!("SELECT CAST({} AS CHAR) FROM {name} WHERE {key} = ?", quote(column));
        let found = sqlx::query_scalar(AssertSqlSafe(text)).bind(bound(id)).fetch_one(&self.sql).await;
        Value::Text(found.expect("the row is there"))
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
        if let Ok(mut connection) = MySqlConnection::connect(&self.admin).await {
            let text = format!("DROP DATABASE IF EXISTS {}", self.name);
            let _ = connection.execute(AssertSqlSafe(text)).await;
        }
    }
}
