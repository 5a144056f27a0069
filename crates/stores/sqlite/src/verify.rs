//! Compares the table with its contract, and checks the query plan of the claim.

use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use postrider_seams::inspect::Finding;
use postrider_seams::migrate::MigrateOptions;
use postrider_seams::row::Value;
use postrider_seams::store::Error;
use postrider_sql::Dialect;
use postrider_sql::driver::execute::Statement;
use postrider_sql::driver::{Access, Driver as _};
use postrider_sql::typed::Row;
use postrider_sql::verify::{Facts, Waking};

use crate::shape;
use crate::store::SqliteTable;

/// Bytes by which the write-ahead log must at least be able to grow.
const ROOM: usize = 64 << 10;

impl SqliteTable {
    pub(crate) async fn verified(&self) -> Result<Vec<Finding>, Error> {
        let query = Statement { sql: "SELECT sqlite_version()".to_owned(), args: Vec::new() };
        let version = self.database.rows("read the version", Access::Write, query).await?;
        let version = version.into_iter().flatten().next();
        let constraints = shape::constraints(&self.database, &self.opened.contract).await?;
        let facts = Facts {
            hazards: self.opened.hazards(&self.database, &constraints).await?,
            server: format!("SQLite {}", version.as_ref().and_then(Value::as_text).unwrap_or_default()),
            write_refusal: self.write_refusal().await,
            claim_plan: self.claim_scan().await?.into(),
            missing: self.migration.missing(MigrateOptions::default()).await?,
            unneeded: self.migration.unneeded().await?,
            duplicates: self.opened.duplicates(&self.database).await?,
            unknown_states: self.opened.unknown_states(&self.database).await?,
            waking: Waking::AtOnce,
            declared: self.migration.declared(),
            internal_tables: shape::internal_tables(&self.database).await?,
        };
        Ok(self.opened.findings(Dialect::Sqlite, &facts))
    }

    /// Returns why nothing can be written. On a full disk the write-ahead log may still have room, so that a small
    /// write succeeds: this checks whether the log can grow.
    async fn write_refusal(&self) -> Option<String> {
        let refused = self.opened.write_refusal(&self.database).await;
        if refused.is_some() {
            return refused;
        }
        let scratch = scratch_file(&self.database.file, &self.database.instance);
        let written = tokio::task::spawn_blocking(move || write_and_remove(&scratch)).await.ok()?;
        let cause = written.err().filter(|cause| is_disk_failure(cause.kind()))?;
        let place = &self.database.place;
        Some(format!(
            "{place}: the disk is full or can't be written ({cause}): less than {} KiB are free",
            ROOM >> 10
        ))
    }

    /// Returns what is wrong with the plan of the claim's first step, which picks the rows.
    async fn claim_scan(&self) -> Result<Option<String>, Error> {
        for statement in self.opened.picks(&self.database) {
            let rows = self.plan("explain the claim", statement).await?;
            let details = rows.iter().filter_map(|row| row.last().and_then(Value::as_text));
            for detail in details {
                if detail.starts_with("SCAN t") && !detail.contains("USING") {
                    return Ok(Some("a scan of the whole table".to_owned()));
                }
                if detail.contains("TEMP B-TREE FOR ORDER BY") {
                    return Ok(Some("a sort of all due rows".to_owned()));
                }
            }
        }
        self.group_scan().await
    }

    /// Returns what is wrong with the plan of the search for free groups; its derived tables are small.
    async fn group_scan(&self) -> Result<Option<String>, Error> {
        for statement in self.opened.group_picks(&self.database) {
            let rows = self.plan("explain the search for groups", statement).await?;
            let mut details = rows.iter().filter_map(|row| row.last().and_then(Value::as_text));
            if details.any(|detail| {
                detail == "SCAN t" || detail.starts_with("SCAN t ") && !detail.contains("USING")
            }) {
                return Ok(Some("a scan of the table for each group".to_owned()));
            }
        }
        Ok(None)
    }

    async fn plan(&self, doing: &str, Statement { sql, args }: Statement) -> Result<Vec<Row>, Error> {
        let explained = Statement { sql: format!("EXPLAIN QUERY PLAN {sql}"), args };
        self.database.rows(doing, Access::Write, explained).await
    }
}

/// Returns a path next to the file, where its log is, named as SQLite names its own side files.
fn scratch_file(file: &Path, instance: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(format!("-check-{instance}"));
    PathBuf::from(name)
}

/// Writes and removes a test file. Some file systems report only on sync that there is no space.
fn write_and_remove(path: &Path) -> io::Result<()> {
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).open(path)?;
    let written = file.write_all(&vec![0; ROOM]).and_then(|()| file.sync_data());
    std::fs::remove_file(path)?;
    written
}

/// Whether the disk is full or read-only. A folder without write permission is no failure: the side files may exist.
fn is_disk_failure(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::ReadOnlyFilesystem)
}
