//! Migrations of the hub's tables: finds what is missing and creates it. It only ever adds.

use std::collections::{BTreeMap, BTreeSet};

use postrider_seams::hosts::ANY;
use postrider_seams::row::Value;
use postrider_seams::store::Error;
use url::Url;

use crate::sql::{Dialect, Execute, NEWEST, RowReader, SqlBuilder, Statement};

const DDL: &str = include_str!("../ddl/hub.sql");

/// Columns of `dispatch_jobs` that only the API needs; a table created by an application may lack them.
const API_COLUMNS: [(&str, &str); 4] = [
    ("retry_budget", "{int}"),
    ("request_hash", "{short}"),
    ("created_by", "{id}"),
    ("idempotency_key", "{name}"),
];

/// Returns the missing statements in order. The table of jobs must exist; the migration of its contract creates it.
pub async fn plan(database: &dyn Execute) -> Result<Vec<String>, Error> {
    let dialect = database.dialect();
    let existing = ExistingSchema::read(database).await?;
    let mut statements: Vec<String> = API_COLUMNS
        .iter()
        .filter(|(name, _)| !existing.columns.contains(*name))
        .map(|(name, sql_type)| {
            format!("ALTER TABLE dispatch_jobs ADD COLUMN {name} {}", for_dialect(dialect, sql_type))
        })
        .collect();
    if existing.tables.contains("service_accounts") && !existing.account_columns.contains("allowed_hosts") {
        let column = for_dialect(dialect, "allowed_hosts {text}");
        statements.push(format!("ALTER TABLE service_accounts ADD COLUMN {column}"));
    }
    if dialect == Dialect::Mysql && !existing.columns.contains("client_key") {
        let rule = "client_key VARCHAR(64) GENERATED ALWAYS AS (COALESCE(client_id, '')) VIRTUAL";
        statements.push(format!("ALTER TABLE dispatch_jobs ADD COLUMN {rule}"));
    }
    statements.extend(all(dialect).into_iter().filter(|statement| !existing.has(statement)));
    Ok(statements)
}

/// Executes the statements of [`plan`] and returns those that were executed.
///
/// Idempotent, and safe while another instance does the same. A unique index that existing duplicates prevent is
/// reported in the result and is no error.
pub async fn apply(database: &dyn Execute) -> Result<Vec<String>, Error> {
    let statements = plan(database).await?;
    let mut executed = Vec::new();
    for text in statements {
        // This query makes the writer of SQLite reload the schema, in case another process has changed it.
        let query = catalog_queries(database.dialect())[0].to_owned();
        let statements = [query, text.clone()].map(|sql| Statement { sql, args: Vec::new() });
        match database.transact("migrate", &statements).await {
            Ok(_) => executed.push(text),
            Err(_) if !plan(database).await?.contains(&text) => {}
            // Existing duplicates prevent the index: report it, but do not fail.
            Err(_) if text.starts_with("CREATE UNIQUE INDEX") => {
                executed.push(postrider_sql::ddl::migrate::not_made(&text));
            }
            Err(error) => return Err(error),
        }
    }
    set_missing_allowed_hosts(database).await?;
    Ok(executed)
}

/// Sets the allowed hosts of accounts created before that column: the hosts of their subscriptions. Any host only for
/// accounts without a subscription: a subscription whose URL cannot be read allows none.
async fn set_missing_allowed_hosts(database: &dyn Execute) -> Result<(), Error> {
    let dialect = database.dialect();
    let query = "SELECT a.id, s.target_url FROM service_accounts AS a LEFT JOIN dispatch_subscriptions AS s \
                 ON s.service_account_id = a.id WHERE a.allowed_hosts IS NULL";
    let doing = "find accounts without allowed hosts";
    let answers = database.transact(doing, &[SqlBuilder::new(dialect, query).finish()]).await?;
    let mut accounts: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for row in answers.into_iter().flat_map(|answer| answer.rows) {
        let mut row = RowReader::new(row);
        let hosts = accounts.entry(row.required_text()).or_default();
        hosts.extend(match row.text() {
            Some(url) => Url::parse(&url).ok().and_then(|url| url.host_str().map(str::to_owned)),
            None => Some(ANY.to_owned()),
        });
    }
    for (id, hosts) in accounts {
        let update = SqlBuilder::new(dialect, "UPDATE service_accounts SET allowed_hosts = ")
            .text(&serde_json::json!(hosts).to_string())
            .push(" WHERE allowed_hosts IS NULL AND id = ")
            .text(&id);
        database.transact("set the allowed hosts of an account", &[update.finish()]).await?;
    }
    Ok(())
}

/// Returns all statements of the schema, whether or not they are needed.
pub fn all(dialect: Dialect) -> Vec<String> {
    let statements = DDL.split(";\n").map(str::trim).filter(|text| !text.is_empty());
    let of_dialect = |text: &str| match text.strip_prefix(MYSQL_ONLY) {
        Some(text) => (dialect == Dialect::Mysql).then(|| text.trim().to_owned()),
        None => Some(text.to_owned()),
    };
    statements.filter_map(of_dialect).map(|text| for_dialect(dialect, &text)).collect()
}

/// The beginning of a statement for MySQL alone: elsewhere the contract has an index that serves.
const MYSQL_ONLY: &str = "{mysql only}";

/// Replaces the placeholders by the types and names of the dialect.
fn for_dialect(dialect: Dialect, text: &str) -> String {
    let placeholders: [(&str, [&str; 3]); 15] = [
        ("{id}", ["varchar(13)", "VARCHAR(13)", "TEXT"]),
        ("{short}", ["varchar(64)", "VARCHAR(64)", "TEXT"]),
        ("{short128}", ["varchar(128)", "VARCHAR(128)", "TEXT"]),
        ("{name}", ["varchar(255)", "VARCHAR(255)", "TEXT"]),
        ("{long}", ["varchar(2000)", "VARCHAR(2000)", "TEXT"]),
        ("{text}", ["text", "LONGTEXT", "TEXT"]),
        ("{int}", ["integer", "INT", "INTEGER"]),
        ("{flag}", ["boolean", "BOOLEAN", "BOOLEAN"]),
        ("{time}", ["timestamptz", "DATETIME(6)", "TEXT"]),
        (
            "{stamp}",
            [
                "timestamptz NOT NULL DEFAULT now()",
                "DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6))",
                "TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))",
            ],
        ),
        ("{options}", ["", " ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin", ""]),
        ("{newest}", [NEWEST, "", ""]),
        ("{unless}", ["IF NOT EXISTS", "", "IF NOT EXISTS"]),
        ("{client}", ["coalesce(client_id, '')", "client_key", "coalesce(client_id, '')"]),
        (
            "{client_key}",
            ["", "    client_key VARCHAR(64) GENERATED ALWAYS AS (COALESCE(client_id, '')) VIRTUAL,\n", ""],
        ),
    ];
    let at = match dialect {
        Dialect::Postgres => 0,
        Dialect::Mysql => 1,
        Dialect::Sqlite => 2,
    };
    let mut sql = text.to_owned();
    for (placeholder, forms) in placeholders {
        sql = sql.replace(placeholder, forms[at]);
    }
    for name in ["key", "value", "status", "code", "source", "mode", "sequence", "role", "at", "action"] {
        sql = sql.replace(&format!("{{{name}}}"), &dialect.quoted(name));
    }
    for column in ["client_id", "event_id", "subscription_id", "idempotency_key"] {
        let partial = format!(" WHERE {column} IS NOT NULL");
        let partial = if dialect == Dialect::Mysql { "" } else { &partial };
        sql = sql.replace(&format!("{{where {column}}}"), partial);
    }
    sql.replace("INDEX  ", "INDEX ")
}

/// The existing tables, indexes and columns.
struct ExistingSchema {
    tables: BTreeSet<String>,
    indexes: BTreeSet<String>,
    /// Columns of `dispatch_jobs`.
    columns: BTreeSet<String>,
    account_columns: BTreeSet<String>,
}

impl ExistingSchema {
    async fn read(database: &dyn Execute) -> Result<Self, Error> {
        let statements = catalog_queries(database.dialect())
            .map(|sql| Statement { sql: sql.to_owned(), args: Vec::new() });
        let mut answers =
            database.transact("read the tables of the database", &statements).await?.into_iter();
        let mut next = || {
            let rows = answers.next().unwrap_or_default().rows.into_iter();
            rows.filter_map(|row| row.first().and_then(Value::as_text).map(str::to_owned)).collect()
        };
        Ok(Self { tables: next(), indexes: next(), columns: next(), account_columns: next() })
    }

    fn has(&self, statement: &str) -> bool {
        let words: Vec<&str> = statement.split_whitespace().collect();
        let Some(table) = statement.strip_prefix("CREATE TABLE IF NOT EXISTS ") else {
            let on = words.iter().position(|word| *word == "ON").unwrap_or_default();
            return on > 0 && self.indexes.contains(words[on - 1]);
        };
        table.split_whitespace().next().is_some_and(|table| self.tables.contains(table))
    }
}

fn catalog_queries(dialect: Dialect) -> [&'static str; 4] {
    match dialect {
        Dialect::Postgres => [
            "SELECT tablename::text FROM pg_tables WHERE schemaname = ANY (current_schemas(false))",
            "SELECT indexname::text FROM pg_indexes WHERE schemaname = ANY (current_schemas(false))",
            "SELECT attname::text FROM pg_attribute WHERE attrelid = to_regclass('dispatch_jobs') AND attnum > 0 \
             AND NOT attisdropped",
            "SELECT attname::text FROM pg_attribute WHERE attrelid = to_regclass('service_accounts') AND attnum > 0 \
             AND NOT attisdropped",
        ],
        Dialect::Mysql => [
            "SELECT CAST(table_name AS CHAR) FROM information_schema.tables WHERE table_schema = DATABASE()",
            "SELECT DISTINCT CAST(index_name AS CHAR) FROM information_schema.statistics WHERE table_schema = DATABASE()",
            "SELECT CAST(column_name AS CHAR) FROM information_schema.columns WHERE table_schema = DATABASE() AND \
             table_name = 'dispatch_jobs'",
            "SELECT CAST(column_name AS CHAR) FROM information_schema.columns WHERE table_schema = DATABASE() AND \
             table_name = 'service_accounts'",
        ],
        Dialect::Sqlite => [
            "SELECT name FROM sqlite_master WHERE type = 'table'",
            "SELECT name FROM sqlite_master WHERE type = 'index'",
            "SELECT name FROM pragma_table_xinfo('dispatch_jobs')",
            "SELECT name FROM pragma_table_xinfo('service_accounts')",
        ],
    }
}
