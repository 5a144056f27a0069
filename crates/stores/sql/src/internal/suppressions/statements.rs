//! The internal table of the suppression list: `entry` (an address or a domain, case-folded), `reason`, `created_at`.

use crate::Dialect;

/// The name of the suppression list's table.
pub const SUPPRESSIONS: &str = "postrider_suppressions";

/// Returns the query for those of the given entries that are listed. Binds a JSON array of texts; yields entry and
/// reason.
pub fn among(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Postgres => {
            "SELECT entry, reason FROM postrider_suppressions \
             WHERE entry = ANY (ARRAY(SELECT jsonb_array_elements_text($1::jsonb)))"
        }
        Dialect::Mysql => {
            "SELECT s.entry, s.reason FROM JSON_TABLE(?, '$[*]' COLUMNS (entry varchar(320) CHARACTER SET utf8mb4 PATH '$')) \
             AS v STRAIGHT_JOIN postrider_suppressions s ON s.entry = CONVERT(v.entry USING utf8mb4) COLLATE utf8mb4_bin"
        }
        Dialect::Sqlite => {
            "SELECT entry, reason FROM postrider_suppressions WHERE entry IN (SELECT value FROM json_each(?))"
        }
    }
}

/// Returns the statement that adds an entry if it is not listed. Binds entry and reason.
pub fn add(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Postgres => {
            "INSERT INTO postrider_suppressions (entry, reason, created_at) VALUES ($1, $2, now()) \
             ON CONFLICT (entry) DO NOTHING"
        }
        // Not INSERT IGNORE, which would truncate long entries.
        Dialect::Mysql => {
            "INSERT INTO postrider_suppressions (entry, reason, created_at) VALUES (?, ?, UTC_TIMESTAMP(6)) \
             ON DUPLICATE KEY UPDATE entry = VALUES(entry)"
        }
        Dialect::Sqlite => {
            "INSERT INTO postrider_suppressions (entry, reason, created_at) \
             VALUES (?, ?, strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) ON CONFLICT (entry) DO NOTHING"
        }
    }
}

/// Returns the statement that removes an entry. Binds it.
pub fn remove(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Postgres => "DELETE FROM postrider_suppressions WHERE entry = $1",
        Dialect::Mysql | Dialect::Sqlite => "DELETE FROM postrider_suppressions WHERE entry = ?",
    }
}

/// Returns the query for one page. Binds the entry to start after and the maximum number of rows; yields entry, reason,
/// time.
pub fn page(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Postgres => {
            "SELECT entry, reason, to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"') \
             FROM postrider_suppressions WHERE entry > $1 ORDER BY entry LIMIT $2"
        }
        Dialect::Mysql => {
            "SELECT entry, reason, DATE_FORMAT(created_at, '%Y-%m-%dT%H:%i:%sZ') \
             FROM postrider_suppressions WHERE entry > ? ORDER BY entry LIMIT ?"
        }
        Dialect::Sqlite => {
            "SELECT entry, reason, strftime('%Y-%m-%dT%H:%M:%SZ', created_at) \
             FROM postrider_suppressions WHERE entry > ? ORDER BY entry LIMIT ?"
        }
    }
}
