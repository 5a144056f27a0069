//! Creates a fresh table for each trial, in its own database or file.

mod dynamodb;
mod mariadb;
mod memory;
mod postgres;
mod sqlite;

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use libtest_mimic::Failed;
use postrider_conformance::{Subject, TestTable, TestedStore};

pub async fn make(kind: TestedStore, subject: &Subject) -> Result<Box<dyn TestTable>, Failed> {
    Ok(match kind {
        TestedStore::Memory => Box::new(memory::MemoryTestTable::new(subject)),
        TestedStore::Postgres => Box::new(postgres::PostgresTable::new(subject).await?),
        TestedStore::MariaDb => Box::new(mariadb::MariaDbTable::new(subject).await?),
        TestedStore::DynamoDb => Box::new(dynamodb::DynamoDbTable::new(subject).await?),
        TestedStore::Sqlite => Box::new(sqlite::SqliteTable::new(subject).await?),
    })
}

/// Returns the URL of a server.
fn server(variable: &str) -> Result<String, Failed> {
    std::env::var(variable).map_err(|_| format!("{variable} is not set: run `cargo xtask test`").into())
}

/// Returns a database name that is not in use.
fn fresh_name() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("law_{}_{}", std::process::id(), NEXT.fetch_add(1, Relaxed))
}
