//! Rows whose delivery has begun, as one list for each worker, and the crashes that were counted against rows.

use crate::Dialect;

/// One list of begun leases for each table, stage and worker: `place`, `worker`, `leases` (JSON), `begun_at`.
pub const BEGUN: &str = "postrider_begun";
/// Crashes in a row at which a row was being delivered: `place`, `row_id`, `crashes`, `crashed_at`.
pub const CRASHES: &str = "postrider_crashes";

/// Replaces a worker's list. Binds place, worker, leases. As durable as a settle: a request to a target must not be forgotten
/// when worker and database die together.
pub fn write(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Postgres => {
            "INSERT INTO postrider_begun (place, worker, leases, begun_at) \
             VALUES ($1, $2, $3, now()) \
             ON CONFLICT (place, worker) DO UPDATE SET leases = excluded.leases, begun_at = excluded.begun_at"
        }
        Dialect::Mysql => {
            "INSERT INTO postrider_begun (place, worker, leases, begun_at) VALUES (?, ?, ?, UTC_TIMESTAMP(6)) \
             ON DUPLICATE KEY UPDATE leases = VALUES(leases), begun_at = VALUES(begun_at)"
        }
        Dialect::Sqlite => {
            "INSERT INTO postrider_begun (place, worker, leases, begun_at) \
             VALUES (?, ?, ?, strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) \
             ON CONFLICT (place, worker) DO UPDATE SET leases = excluded.leases, begun_at = excluded.begun_at"
        }
    }
}

/// Removes a worker's list. Binds place, worker.
pub fn clear(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Postgres => "DELETE FROM postrider_begun WHERE place = $1 AND worker = $2",
        Dialect::Mysql | Dialect::Sqlite => "DELETE FROM postrider_begun WHERE place = ? AND worker = ?",
    }
}

/// The lists of all workers. Binds place; yields leases.
pub fn lists(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Postgres => "SELECT leases FROM postrider_begun WHERE place = $1",
        Dialect::Mysql | Dialect::Sqlite => "SELECT leases FROM postrider_begun WHERE place = ?",
    }
}

/// Binds place; yields row_id, crashes, microseconds since the last one.
pub fn crashes(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Postgres => {
            "SELECT row_id, crashes, (extract(epoch FROM clock_timestamp() - crashed_at) * 1000000)::bigint \
             FROM postrider_crashes WHERE place = $1"
        }
        Dialect::Mysql => {
            "SELECT row_id, crashes, TIMESTAMPDIFF(MICROSECOND, crashed_at, UTC_TIMESTAMP(6)) \
             FROM postrider_crashes WHERE place = ?"
        }
        Dialect::Sqlite => {
            "SELECT row_id, crashes, CAST((julianday('now') - julianday(crashed_at)) * 86400000000 AS INTEGER) \
             FROM postrider_crashes WHERE place = ?"
        }
    }
}

/// A delivery of the row was completed. Binds place, row_id.
pub fn forgive(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Postgres => "DELETE FROM postrider_crashes WHERE place = $1 AND row_id = $2",
        Dialect::Mysql | Dialect::Sqlite => "DELETE FROM postrider_crashes WHERE place = ? AND row_id = ?",
    }
}

/// Removes the lists of workers that have been gone for a day, and crashes that are a month old: none of them can concern
/// a row that is claimed now.
pub fn forget(dialect: Dialect) -> [&'static str; 2] {
    match dialect {
        Dialect::Postgres => [
            "DELETE FROM postrider_begun WHERE begun_at < now() - interval '1 day'",
            "DELETE FROM postrider_crashes WHERE crashed_at < now() - interval '30 days'",
        ],
        Dialect::Mysql => [
            "DELETE FROM postrider_begun WHERE begun_at < UTC_TIMESTAMP(6) - INTERVAL 1 DAY",
            "DELETE FROM postrider_crashes WHERE crashed_at < UTC_TIMESTAMP(6) - INTERVAL 30 DAY",
        ],
        Dialect::Sqlite => [
            "DELETE FROM postrider_begun WHERE begun_at < strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-1 day')",
            "DELETE FROM postrider_crashes WHERE crashed_at < strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-30 days')",
        ],
    }
}
