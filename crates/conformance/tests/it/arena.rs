//! Creates a fresh table for each trial, in its own database or file.

mod dynamodb;
mod mariadb;
mod memory;
mod postgres;
mod sqlite;

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use libtest_mimic::Failed;
use postrider_conformance::{Arena, Kind, Subject};

pub async fn make(kind: Kind, subject: &Subject) -> Result<Box<dyn Arena>, Failed> {
    Ok(match kind {
        Kind::Memory => Box::new(memory::MemoryArena::new(subject)),
        Kind::Postgres => Box::new(postgres::PostgresArena::new(subject).await?),
        Kind::MariaDb => Box::new(mariadb::MariaDbArena::new(subject).await?),
        Kind::DynamoDb => Box::new(dynamodb::DynamoDbArena::new(subject).await?),
        Kind::Sqlite => Box::new(sqlite::SqliteArena::new(subject).await?),
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
