//! The suppression list: `entry` (an address or a domain, folded), `reason`, `created_at`.

use crate::Dialect;

pub const SUPPRESSIONS: &str = "postrider_suppressions";

/// Which entries of a list are there. Binds a JSON array of texts; yields entry and reason.
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

/// Puts an entry on the list, if it is not there. Binds entry and reason.
pub fn add(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Postgres => {
            "INSERT INTO postrider_suppressions (entry, reason, created_at) VALUES ($1, $2, now()) \
             ON CONFLICT (entry) DO NOTHING"
        }
        // Not INSERT IGNORE, which would cut what is too long.
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

/// Takes an entry off the list. Binds it.
pub fn remove(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Postgres => "DELETE FROM postrider_suppressions WHERE entry = $1",
        Dialect::Mysql | Dialect::Sqlite => "DELETE FROM postrider_suppressions WHERE entry = ?",
    }
}

/// One page. Binds the entry that it comes after and the most rows; yields entry, reason and time.
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
