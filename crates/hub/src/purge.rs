//! Retention: deletes old entries of the audit log, if a retention is set, and expired idempotency keys.

use std::time::Duration;

use postrider_sql::Dialect;

use crate::draft::Draft;
use crate::sheet::{now_and, quoted};
use crate::{Error, Hub};

/// Maximum number of entries per statement, so that a purge does not block writers of the log.
const CHUNK: u32 = 1000;

impl Hub {
    /// Deletes expired idempotency keys, and audit entries older than `audit`; `None` keeps all entries.
    ///
    /// Returns the number of deleted entries. Deletes in small steps and is safe on several instances at once.
    pub async fn purge(&self, audit: Option<Duration>) -> Result<u64, Error> {
        self.run("forget idempotency keys", vec![self.forget_requests().done()]).await?;
        let Some(kept) = audit else { return Ok(0) };
        let mut purged = 0;
        loop {
            let answers = self.run("purge the audit log", vec![self.oldest_lines(kept).done()]).await?;
            let gone = answers.first().map_or(0, |answer| answer.changed);
            purged += gone;
            if gone < u64::from(CHUNK) {
                return Ok(purged);
            }
        }
    }

    /// The statement that deletes the oldest entries. Ids grow with time, so these are at the start of the primary key.
    fn oldest_lines(&self, kept: Duration) -> Draft {
        let dialect = self.dialect();
        let seconds = i64::try_from(kept.as_secs()).unwrap_or(i64::MAX);
        let old = format!("{} < {}", quoted(dialect, "at"), now_and(dialect, -seconds));
        match dialect {
            Dialect::Mysql => {
                Draft::new(dialect, format!("DELETE FROM postrider_audit WHERE {old} ORDER BY id LIMIT "))
                    .int(CHUNK)
            }
            Dialect::Postgres | Dialect::Sqlite => Draft::new(
                dialect,
                format!(
                    "DELETE FROM postrider_audit WHERE id IN (SELECT id FROM postrider_audit WHERE {old} ORDER BY id LIMIT "
                ),
            )
            .int(CHUNK)
            .push(")"),
        }
    }
}
