//! What a text column holds: its length and its character set. A text that does not fit fails the whole statement.

use crate::{Dialect, ShapeColumn};

/// Returns the longest text that a column holds, in characters, or in bytes for MySQL's `TINYTEXT` and `TEXT`; `None` if
/// it has no limit that matters.
pub(crate) fn length(dialect: Dialect, column: &ShapeColumn) -> Option<usize> {
    let sql_type = column.sql_type.to_ascii_lowercase();
    match (dialect, sql_type.as_str()) {
        (Dialect::Sqlite, _) => None,
        (Dialect::Mysql, "tinytext") => Some(255),
        (Dialect::Mysql, "text") => Some(65_535),
        _ => characters(&sql_type),
    }
}

/// Returns the number in `varchar(number)`, `character varying(number)` and the like.
fn characters(sql_type: &str) -> Option<usize> {
    let (name, rest) = sql_type.split_once('(')?;
    if !name.to_ascii_lowercase().contains("char") {
        return None;
    }
    rest.split(')').next()?.trim().parse().ok()
}

/// Returns a text as the column holds it: truncated, and on MySQL with `?` for characters that its character set lacks.
pub(crate) fn fitting(dialect: Dialect, column: &ShapeColumn, text: &str) -> String {
    if dialect == Dialect::Mysql && column.sql_type.eq_ignore_ascii_case("tinytext") {
        // Its limit is in bytes.
        return format!("LEFT({}, 255)", without(NOT_ASCII, text));
    }
    let text = match lacking(column).filter(|_| dialect == Dialect::Mysql) {
        Some(characters) => without(characters, text),
        None => text.to_owned(),
    };
    match characters(&column.sql_type).filter(|_| dialect != Dialect::Sqlite) {
        Some(length) => format!("LEFT({text}, {length})"),
        None => text,
    }
}

const NOT_ASCII: &str = "[^[:ascii:]]";

/// Returns the characters that the column's character set lacks, as a regular expression; `None` if it has all of them,
/// or is not known. Collations are named after their set.
fn lacking(column: &ShapeColumn) -> Option<&'static str> {
    match column.collation.as_deref()?.split('_').next()? {
        "ascii" => Some(NOT_ASCII),
        "latin1" => Some(r"[^[:ascii:]\\x{A0}-\\x{FF}]"),
        "utf8" | "utf8mb3" => Some(r"[\\x{10000}-\\x{10FFFF}]"),
        _ => None,
    }
}

/// Returns a text with `?` for these characters. `CONVERT` would fail on MariaDB in a strict mode.
fn without(characters: &str, text: &str) -> String {
    format!("REGEXP_REPLACE({text}, '{characters}', '?')")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(sql_type: &str, collation: Option<&str>) -> ShapeColumn {
        ShapeColumn { collation: collation.map(str::to_owned), ..ShapeColumn::new("last_error", sql_type) }
    }

    #[test]
    fn texts_are_cut_to_the_length_and_the_character_set_of_their_column() {
        let fit = |dialect, sql_type, collation| fitting(dialect, &column(sql_type, collation), "x");
        assert_eq!(fit(Dialect::Postgres, "character varying(26)", None), "LEFT(x, 26)");
        assert_eq!(fit(Dialect::Postgres, "text", None), "x");
        assert_eq!(fit(Dialect::Sqlite, "varchar(26)", None), "x", "SQLite has no limits");
        assert_eq!(fit(Dialect::Mysql, "varchar(26)", Some("utf8mb4_general_ci")), "LEFT(x, 26)");
        let latin = r"REGEXP_REPLACE(x, '[^[:ascii:]\\x{A0}-\\x{FF}]', '?')";
        assert_eq!(fit(Dialect::Mysql, "text", Some("latin1_swedish_ci")), latin);
        let both = r"LEFT(REGEXP_REPLACE(x, '[\\x{10000}-\\x{10FFFF}]', '?'), 26)";
        assert_eq!(fit(Dialect::Mysql, "varchar(26)", Some("utf8mb3_general_ci")), both);
        let tiny = "LEFT(REGEXP_REPLACE(x, '[^[:ascii:]]', '?'), 255)";
        assert_eq!(fit(Dialect::Mysql, "tinytext", Some("utf8mb4_bin")), tiny);
    }

    #[test]
    fn the_length_of_a_column_is_known() {
        let of = |dialect, sql_type| length(dialect, &column(sql_type, None));
        assert_eq!(of(Dialect::Mysql, "varchar(255)"), Some(255));
        assert_eq!(of(Dialect::Mysql, "TINYTEXT"), Some(255));
        assert_eq!(of(Dialect::Mysql, "text"), Some(65_535));
        assert_eq!(of(Dialect::Mysql, "longtext"), None);
        assert_eq!(of(Dialect::Postgres, "character varying(80)"), Some(80));
        assert_eq!(of(Dialect::Postgres, "numeric(8)"), None);
        assert_eq!(of(Dialect::Sqlite, "varchar(255)"), None);
    }
}
