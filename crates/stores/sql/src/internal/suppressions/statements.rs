//! The internal table of the suppression list: `entry` (an address or a domain, case-folded), `reason`, `created_at`.

use crate::Dialect;
use crate::driver::execute::{SqlBuilder, Statement};
use crate::internal::now;

/// The name of the suppression list's table.
pub const SUPPRESSIONS: &str = "postrider_suppressions";

/// Returns the query for those of the given entries that are listed; it yields entry and reason.
pub fn among(dialect: Dialect, entries: &[&String]) -> Statement {
    let entries = serde_json::to_string(entries).expect("texts are JSON");
    let (before, after) = match dialect {
        Dialect::Postgres => (
            "SELECT entry, reason FROM postrider_suppressions \
             WHERE entry = ANY (ARRAY(SELECT jsonb_array_elements_text((",
            ")::jsonb)))",
        ),
        Dialect::Mysql => (
            "SELECT s.entry, s.reason FROM JSON_TABLE(",
            ", '$[*]' COLUMNS (entry varchar(320) CHARACTER SET utf8mb4 PATH '$')) AS v \
             STRAIGHT_JOIN postrider_suppressions s \
             ON s.entry = CONVERT(v.entry USING utf8mb4) COLLATE utf8mb4_bin",
        ),
        Dialect::Sqlite => (
            "SELECT entry, reason FROM postrider_suppressions WHERE entry IN (SELECT value FROM json_each(",
            "))",
        ),
    };
    SqlBuilder::new(dialect, before).text(&entries).push(after).finish()
}

/// Returns the statement that adds an entry if it is not listed.
pub fn add(dialect: Dialect, entry: &str, reason: &str) -> Statement {
    let insert = format!("INSERT INTO {SUPPRESSIONS} (entry, reason, created_at) VALUES (");
    let insert = SqlBuilder::new(dialect, insert).text(entry).push(", ").text(reason);
    let insert = insert.push(&format!(", {})", now(dialect)));
    let conflict = match dialect {
        // Not INSERT IGNORE, which would truncate long entries.
        Dialect::Mysql => " ON DUPLICATE KEY UPDATE entry = VALUES(entry)",
        Dialect::Postgres | Dialect::Sqlite => " ON CONFLICT (entry) DO NOTHING",
    };
    insert.push(conflict).finish()
}

/// Returns the statement that removes an entry.
pub fn remove(dialect: Dialect, entry: &str) -> Statement {
    SqlBuilder::new(dialect, format!("DELETE FROM {SUPPRESSIONS} WHERE entry = ")).text(entry).finish()
}

/// Returns the query for one page of entries after the given one; it yields entry, reason, time.
pub fn page(dialect: Dialect, after: &str, limit: u32) -> Statement {
    let time = match dialect {
        Dialect::Postgres => "to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')",
        Dialect::Mysql => "DATE_FORMAT(created_at, '%Y-%m-%dT%H:%i:%sZ')",
        Dialect::Sqlite => "strftime('%Y-%m-%dT%H:%M:%SZ', created_at)",
    };
    let query = format!("SELECT entry, reason, {time} FROM {SUPPRESSIONS} WHERE entry > ");
    SqlBuilder::new(dialect, query).text(after).push(" ORDER BY entry LIMIT ").int(limit).finish()
}
