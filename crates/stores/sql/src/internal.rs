//! The internal tables of Postrider, beside the contract's table.
//!
//! They are: named locks (leases of a name), lanes (paused by an operator), limited pools (a lock and a rate bucket
//! each), the suppression list, recipient results of partly delivered mail, rows whose delivery has begun, and crash
//! counts of rows.
//!
//! Owns: their DDL and statements. Must not: be required. A database without them has no locks, no paused lanes and no
//! suppression list, and counts no crashes. Invariant: the database's clock decides when a lock expires.

pub mod locks;
pub mod suppressions;

pub use crate::begin::marks::BEGUN;
use crate::begin::marks::CRASHES;
pub use crate::settle::recipients::RECIPIENTS;
use crate::{Dialect, ShapeColumn};
use suppressions::statements::SUPPRESSIONS;

/// The table of named locks: `name`, `owner`, `expires_at`.
pub const LOCKS: &str = "postrider_locks";
/// The table of lanes that an operator touched: `lane`, `paused`, `changed_at`.
pub const LANES: &str = "postrider_lanes";

/// The table of limited pools, with a lock and a rate bucket each: `pool`, `free_at`.
///
/// `free_at` is in seconds since 1970: the time at which the rate has paid for everything taken so far.
pub const POOLS: &str = "postrider_pools";

/// All internal tables, in the order of [`create`].
pub const TABLES: [&str; 7] = [LOCKS, LANES, SUPPRESSIONS, POOLS, RECIPIENTS, BEGUN, CRASHES];

/// Returns the advice for a missing table or column, by the database's error message.
///
/// `migrate` creates internal tables. In other tables it adds only what the contract assigns to Postrider, so advising
/// it there could be useless.
pub fn absent_advice(message: &str) -> &'static str {
    if TABLES.iter().any(|table| message.contains(table)) {
        "run `postrider migrate`"
    } else {
        "`postrider check` names what is missing: `postrider migrate` adds Postrider's columns; add the others to the table yourself"
    }
}

/// Returns the statements that create the tables if they are missing.
pub fn create(dialect: Dialect) -> [String; TABLES.len()] {
    let (name, flag, time) = match dialect {
        Dialect::Postgres => ("text", "boolean", "timestamptz"),
        Dialect::Mysql => {
            ("varchar(190) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin", "boolean", "datetime(6)")
        }
        Dialect::Sqlite => ("TEXT", "INTEGER", "TEXT"),
    };
    // Byte order, so that the index serves the pages regardless of the database's locale.
    let (entry, reason) = match dialect {
        Dialect::Postgres => ("text COLLATE \"C\"", "text"),
        Dialect::Mysql => (
            "varchar(320) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
            "varchar(500) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
        ),
        Dialect::Sqlite => ("TEXT", "TEXT"),
    };
    let long =
        if dialect == Dialect::Mysql { "longtext CHARACTER SET utf8mb4 COLLATE utf8mb4_bin" } else { "text" };
    let seconds = if dialect == Dialect::Sqlite { "REAL" } else { "double precision" };
    let (key, list, count) = match dialect {
        Dialect::Postgres => ("text", "text", "bigint"),
        Dialect::Mysql => (MYSQL_KEY, "mediumtext CHARACTER SET utf8mb4 COLLATE utf8mb4_bin", "bigint"),
        Dialect::Sqlite => ("TEXT", "TEXT", "INTEGER"),
    };
    [
        format!(
            "CREATE TABLE IF NOT EXISTS {LOCKS} (name {name} NOT NULL PRIMARY KEY, owner {name} NOT NULL, \
             expires_at {time} NOT NULL)"
        ),
        format!(
            "CREATE TABLE IF NOT EXISTS {LANES} (lane {name} NOT NULL PRIMARY KEY, paused {flag} NOT NULL, \
             changed_at {time} NOT NULL)"
        ),
        format!(
            "CREATE TABLE IF NOT EXISTS {SUPPRESSIONS} (entry {entry} NOT NULL PRIMARY KEY, reason {reason} NOT NULL, \
             created_at {time} NOT NULL)"
        ),
        format!(
            "CREATE TABLE IF NOT EXISTS {POOLS} (pool {name} NOT NULL PRIMARY KEY, free_at {seconds} NOT NULL)"
        ),
        format!(
            "CREATE TABLE IF NOT EXISTS {RECIPIENTS} (source {name} NOT NULL, row_id {key} NOT NULL, \
             results {long} NOT NULL, changed_at {time} NOT NULL, PRIMARY KEY (source, row_id))"
        ),
        format!(
            "CREATE TABLE IF NOT EXISTS {BEGUN} (place {name} NOT NULL, worker {name} NOT NULL, leases {list} NOT NULL, \
             begun_at {time} NOT NULL, PRIMARY KEY (place, worker))"
        ),
        format!(
            "CREATE TABLE IF NOT EXISTS {CRASHES} (place {name} NOT NULL, row_id {key} NOT NULL, crashes {count} NOT NULL, \
             crashed_at {time} NOT NULL, PRIMARY KEY (place, row_id))"
        ),
    ]
}

/// The type of a row's key in internal tables of MySQL: as long as an index of two such columns allows.
const MYSQL_KEY: &str = "varchar(500) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin";

/// Returns the statement that completes a table of recipient results which an earlier version created on MySQL; `None`
/// if its keys are long enough. It changes the definition alone.
pub fn widen_recipients(columns: &[ShapeColumn]) -> Option<String> {
    let column = columns.iter().find(|column| column.name.eq_ignore_ascii_case("row_id"))?;
    column
        .sql_type
        .eq_ignore_ascii_case("varchar(190)")
        .then(|| format!("ALTER TABLE {RECIPIENTS} MODIFY row_id {MYSQL_KEY} NOT NULL"))
}

/// The current time, as the internal tables keep it.
pub(crate) fn now(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Postgres => "now()",
        Dialect::Mysql => "UTC_TIMESTAMP(6)",
        Dialect::Sqlite => "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')",
    }
}

/// The time this number of days ago, as the internal tables keep it.
pub(crate) fn ago(dialect: Dialect, days: u32) -> String {
    match dialect {
        Dialect::Postgres => format!("now() - interval '{days} days'"),
        Dialect::Mysql => format!("UTC_TIMESTAMP(6) - INTERVAL {days} DAY"),
        Dialect::Sqlite => format!("strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-{days} days')"),
    }
}

/// The end of an insert that overwrites these columns of an existing row.
pub(crate) fn upsert(dialect: Dialect, key: &str, columns: &[&str]) -> String {
    let set = |value: fn(&str) -> String| {
        columns.iter().map(|column| format!("{column} = {}", value(column))).collect::<Vec<_>>().join(", ")
    };
    match dialect {
        Dialect::Mysql => format!(" ON DUPLICATE KEY UPDATE {}", set(|column| format!("VALUES({column})"))),
        Dialect::Postgres | Dialect::Sqlite => {
            format!(" ON CONFLICT ({key}) DO UPDATE SET {}", set(|column| format!("excluded.{column}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A database with another default character set must not truncate or change what is written here.
    #[test]
    fn every_text_column_on_mysql_names_its_character_set() {
        for statement in create(Dialect::Mysql) {
            let (_, columns) = statement.split_once('(').expect("its columns");
            let texts = columns.matches("varchar(").count() + columns.matches("text").count();
            assert!(texts > 0, "{statement}");
            let named = columns.matches("CHARACTER SET utf8mb4 COLLATE utf8mb4_bin").count();
            assert_eq!(named, texts, "{statement}");
        }
    }

    #[test]
    fn only_our_own_tables_are_left_to_migrate_alone() {
        for ours in [
            "relation \"postrider_lanes\" does not exist",
            "Table 'shop.postrider_locks' doesn't exist",
            "no such table: postrider_begun",
        ] {
            assert_eq!(absent_advice(ours), "run `postrider migrate`", "{ours}");
        }
        for other in [
            "relation \"clients\" does not exist",
            "column t.note does not exist",
            "Unknown column 't.note' in 'SET'",
            "no such table: log",
        ] {
            let advice = absent_advice(other);
            assert!(advice.starts_with("`postrider check` names what is missing"), "{other}: {advice}");
        }
    }
}
