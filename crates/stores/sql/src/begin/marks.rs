//! The internal tables of begun deliveries, as one list per worker, and of the crashes counted against rows.

use crate::Dialect;

/// The table with one list of begun leases for each stage and worker: `place`, `worker`, `leases` (JSON), `begun_at`.
pub const BEGUN: &str = "postrider_begun";
/// The table of consecutive crashes during a row's delivery: `place`, `row_id`, `crashes`, `crashed_at`.
pub const CRASHES: &str = "postrider_crashes";

/// Returns the statement that replaces a worker's list. Binds place, worker, leases.
///
/// It is as durable as a settle: a request to a target must not be forgotten if worker and database fail together.
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

/// Returns the statement that removes a worker's list. Binds place, worker.
pub fn clear(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Postgres => "DELETE FROM postrider_begun WHERE place = $1 AND worker = $2",
        Dialect::Mysql | Dialect::Sqlite => "DELETE FROM postrider_begun WHERE place = ? AND worker = ?",
    }
}

/// Returns the query for the lists of all workers. Binds place; yields leases.
pub fn lists(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Postgres => "SELECT leases FROM postrider_begun WHERE place = $1",
        Dialect::Mysql | Dialect::Sqlite => "SELECT leases FROM postrider_begun WHERE place = ?",
    }
}

/// Returns the query for crash counts. Binds place; yields row_id, crashes, microseconds since the last crash.
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

/// Returns the statement that deletes a row's crash count after a completed delivery. Binds place, row_id.
pub fn forgive(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Postgres => "DELETE FROM postrider_crashes WHERE place = $1 AND row_id = $2",
        Dialect::Mysql | Dialect::Sqlite => "DELETE FROM postrider_crashes WHERE place = ? AND row_id = ?",
    }
}

/// Returns the statements that remove lists older than a day and crashes older than a month.
///
/// None of them can concern a row that is claimed now.
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
