//! What kind of values a column holds, and how its name is compared.

use postrider_seams::TableDescription;
use postrider_seams::table::{ColumnDescription, DatabaseKind};

/// The kind of values that a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Boolean,
    Integer,
    Time,
    Json,
    Bytes,
    Text,
}

/// Returns the kind by the declared type; by an example where the type says little.
pub fn kind(column: &ColumnDescription) -> Kind {
    let sql_type = column.sql_type.to_ascii_lowercase();
    let has = |parts: &[&str]| parts.iter().any(|part| sql_type.contains(part));
    if has(&["bool", "tinyint(1)", "bit(1)"]) {
        Kind::Boolean
    } else if has(&["json"]) {
        Kind::Json
    } else if has(&["bytea", "blob", "binary"]) {
        Kind::Bytes
    } else if has(&["timestamp", "datetime", "date"]) {
        Kind::Time
    } else if has(&["int", "serial", "numeric", "decimal", "number"]) && !has(&["point", "interval"]) {
        Kind::Integer
    } else {
        Kind::Text
    }
}

/// Whether the column may hold a time: one of the types of times, a number, or on SQLite a text.
pub fn may_be_time(table: &TableDescription, column: &ColumnDescription) -> bool {
    let is_iso = || column.example.as_deref().is_some_and(looks_like_iso_time);
    match kind(column) {
        Kind::Time | Kind::Integer => true,
        Kind::Text => is_iso() || (table.database == DatabaseKind::Sqlite && column.example.is_none()),
        Kind::Boolean | Kind::Json | Kind::Bytes => false,
    }
}

/// Whether the text starts as `2026-01-31`.
fn looks_like_iso_time(text: &str) -> bool {
    let date: Vec<&str> = text.get(..10).unwrap_or_default().split('-').collect();
    let digits = |part: &&str| part.bytes().all(|byte| byte.is_ascii_digit());
    date.len() == 3 && date[0].len() == 4 && date.iter().all(digits)
}

/// The name without case and underscores: `nextAttemptTime` and `next_attempt_time` are the same word.
pub fn squeezed(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// A column that was chosen by its name, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    pub column: String,
    /// Other columns whose names fit as well.
    pub others: Vec<String>,
}

/// Chooses the column with the first of these names that is accepted.
pub fn choose(
    table: &TableDescription,
    names: &[&str],
    accept: impl Fn(&ColumnDescription) -> bool,
) -> Option<Choice> {
    let wanted = names.iter().map(|name| squeezed(name));
    let fits =
        |name: String| table.columns.iter().find(|column| squeezed(&column.name) == name && accept(column));
    let mut found = wanted.filter_map(fits).map(|column| column.name.clone());
    let column = found.next()?;
    let others = found.filter(|other| *other != column).collect();
    Some(Choice { column, others })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(name: &str, sql_type: &str, example: Option<&str>) -> ColumnDescription {
        ColumnDescription {
            name: name.to_owned(),
            sql_type: sql_type.to_owned(),
            example: example.map(str::to_owned),
            ..ColumnDescription::default()
        }
    }

    #[test]
    fn kinds_are_read_from_types() {
        for (sql_type, expected) in [
            ("boolean", Kind::Boolean),
            ("tinyint(1)", Kind::Boolean),
            ("tinyint(4)", Kind::Integer),
            ("bigint unsigned", Kind::Integer),
            ("timestamp(6) without time zone", Kind::Time),
            ("datetime(6)", Kind::Time),
            ("jsonb", Kind::Json),
            ("bytea", Kind::Bytes),
            ("longblob", Kind::Bytes),
            ("character varying(20)", Kind::Text),
            ("enum('a','b')", Kind::Text),
            ("uuid", Kind::Text),
        ] {
            assert_eq!(kind(&column("c", sql_type, None)), expected, "{sql_type}");
        }
    }

    #[test]
    fn a_text_is_a_time_only_if_it_holds_one() {
        let table = TableDescription::default();
        assert!(may_be_time(&table, &column("c", "text", Some("2026-01-31T10:00:00Z"))));
        assert!(!may_be_time(&table, &column("c", "text", Some("soon"))));
        assert!(!may_be_time(&table, &column("c", "text", None)));
        let sqlite = TableDescription { database: DatabaseKind::Sqlite, ..table };
        assert!(may_be_time(&sqlite, &column("c", "TEXT", None)));
    }

    #[test]
    fn names_are_compared_without_case_and_underscores() {
        let table = TableDescription {
            columns: vec![column("NextAttemptTime", "datetime", None), column("run_at", "datetime", None)],
            ..TableDescription::default()
        };
        let chosen = choose(&table, &["next_attempt_at", "next_attempt_time", "run_at"], |_| true).unwrap();
        assert_eq!(chosen.column, "NextAttemptTime");
        assert_eq!(chosen.others, ["run_at"]);
    }
}
