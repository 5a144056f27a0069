//! Retention: deletes old entries of the audit log, if a retention is set, and expired idempotency keys.

use std::time::Duration;

use crate::sql::{Dialect, SqlBuilder, now_plus};
use crate::{Error, Hub};

/// Maximum number of entries per statement, so that a purge does not block writers of the log.
const CHUNK: u32 = 1000;

impl Hub {
    /// Deletes expired idempotency keys, and audit entries older than `audit`; `None` keeps all entries.
    ///
    /// Returns the number of deleted entries. Deletes in small steps and is safe on several instances at once.
    pub async fn purge(&self, audit: Option<Duration>) -> Result<u64, Error> {
        self.run("delete expired idempotency keys", vec![self.delete_expired_requests().finish()]).await?;
        let Some(retention) = audit else { return Ok(0) };
        let mut purged = 0;
        loop {
            let answers =
                self.run("purge the audit log", vec![self.delete_oldest_entries(retention).finish()]).await?;
            let deleted = answers.first().map_or(0, |answer| answer.changed);
            purged += deleted;
            if deleted < u64::from(CHUNK) {
                return Ok(purged);
            }
        }
    }

    /// The statement that deletes the oldest entries. Ids grow with time, so these are at the start of the primary key.
    fn delete_oldest_entries(&self, retention: Duration) -> SqlBuilder {
        let dialect = self.dialect();
        let seconds = i64::try_from(retention.as_secs()).unwrap_or(i64::MAX);
        let old = format!("{} < {}", dialect.quoted("at"), now_plus(dialect, -seconds));
        match dialect {
            Dialect::Mysql => {
                self.sql(format!("DELETE FROM postrider_audit WHERE {old} ORDER BY id LIMIT "))
                    .int(CHUNK)
            }
            Dialect::Postgres | Dialect::Sqlite => self.sql(
                format!(
                    "DELETE FROM postrider_audit WHERE id IN (SELECT id FROM postrider_audit WHERE {old} ORDER BY id LIMIT "
                ),
            )
            .int(CHUNK)
            .push(")"),
        }
    }
}
