//! The rules of a table that its columns do not show, and how they are read from a database's descriptions.

use std::collections::BTreeMap;

/// The constraints of a table that its columns do not show.
#[derive(Debug, Clone, Default)]
pub struct Constraints {
    /// The columns of each unique key that covers all rows.
    pub unique: Vec<Vec<String>>,
    /// Columns of an enumerated type, and its values.
    pub enums: Vec<(String, Vec<String>)>,
    /// Columns of a domain, and the domain as SQL: a cast to it applies its checks.
    pub domains: Vec<(String, String)>,
    /// The expressions of CHECK constraints.
    pub checks: Vec<String>,
    /// Columns whose value must exist in another table.
    pub references: Vec<Reference>,
    /// The same of the tables that effects write to; only for the contract's own table.
    pub related: BTreeMap<String, Constraints>,
}

/// A foreign key of one column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    pub column: String,
    /// The other table: `name` or `schema.name`.
    pub table: String,
    pub to: String,
}

/// Returns the columns of each unique key, from rows of (key, column) in order.
///
/// A part that is an expression has no column, and its key is left out: it keeps the other columns unique only together
/// with the expression.
pub fn unique_keys(parts: impl IntoIterator<Item = (String, Option<String>)>) -> Vec<Vec<String>> {
    let mut keys: Vec<(String, Option<Vec<String>>)> = Vec::new();
    for (key, column) in parts {
        if keys.last().is_none_or(|(last, _)| *last != key) {
            keys.push((key, Some(Vec::new())));
        }
        let columns = &mut keys.last_mut().expect("pushed above").1;
        *columns = columns.take().zip(column).map(|(mut columns, column)| {
            columns.push(column);
            columns
        });
    }
    keys.into_iter().filter_map(|(_, columns)| columns).collect()
}

/// Returns the number of characters that a declared type holds: 20 of `varchar(20)`. `None` if it names no such limit.
pub(super) fn declared_length(sql_type: &str) -> Option<usize> {
    let lower = sql_type.to_ascii_lowercase();
    let (name, rest) = lower.split_once('(')?;
    let known = ["varchar", "char", "character varying", "character", "bpchar"];
    known.contains(&name.trim()).then(|| rest.split(')').next()?.trim().parse().ok()).flatten()
}

/// Returns the values of MySQL's `enum('a','b')`; `None` for any other type.
pub fn enum_values(sql_type: &str) -> Option<Vec<String>> {
    let lower = sql_type.to_ascii_lowercase();
    let inside = lower.strip_prefix("enum(").map(|_| &sql_type["enum(".len()..])?.strip_suffix(')')?;
    let mut values = Vec::new();
    let mut value: Option<String> = None;
    let mut chars = inside.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, &mut value) {
            ('\'', None) => value = Some(String::new()),
            ('\'', Some(text)) if chars.peek() == Some(&'\'') => {
                chars.next();
                text.push('\'');
            }
            ('\'', Some(_)) => values.extend(value.take()),
            (c, Some(text)) => text.push(c),
            (_, None) => {}
        }
    }
    Some(values)
}

/// Returns the expressions of `CHECK (…)` in a CREATE TABLE statement, which is all that SQLite keeps of them.
pub fn check_expressions(create: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut quote = None;
    let (mut depth, mut start): (usize, Option<(usize, usize)>) = (0, None);
    for (at, c) in create.char_indices() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"' | '`') => quote = Some(c),
            (None, '(') => {
                depth += 1;
                let before = create[..at].trim_end().to_ascii_uppercase();
                if start.is_none() && before.ends_with("CHECK") {
                    start = Some((at + 1, depth));
                }
            }
            (None, ')') => {
                if let Some((from, _)) = start.filter(|(_, opened)| *opened == depth) {
                    found.push(create[from..at].to_owned());
                    start = None;
                }
                depth = depth.saturating_sub(1);
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(parts: &[(&str, Option<&str>)]) -> Vec<Vec<String>> {
        unique_keys(parts.iter().map(|(key, column)| ((*key).to_owned(), column.map(str::to_owned))))
    }

    #[test]
    fn a_key_with_an_expression_keeps_none_of_its_columns_unique() {
        let found = keys(&[
            ("a", Some("id")),
            ("b", None),
            ("c", Some("id")),
            ("c", None),
            ("d", Some("topic")),
            ("d", Some("seq")),
            ("e", None),
            ("e", Some("id")),
        ]);
        assert_eq!(found, [vec!["id"], vec!["topic", "seq"]]);
    }

    #[test]
    fn the_length_of_a_declared_type_is_read() {
        for (sql_type, length) in [
            ("varchar(8)", Some(8)),
            ("character varying(20)", Some(20)),
            ("CHAR(3)", Some(3)),
            ("text", None),
            ("numeric(8)", None),
            ("enum('a')", None),
        ] {
            assert_eq!(declared_length(sql_type), length, "{sql_type}");
        }
    }

    #[test]
    fn values_of_an_enum_are_read() {
        assert_eq!(enum_values("enum('a','it''s','b,c')").unwrap(), ["a", "it's", "b,c"]);
        assert_eq!(enum_values("ENUM('A')").unwrap(), ["A"]);
        assert_eq!(enum_values("varchar(10)"), None);
    }

    #[test]
    fn checks_of_a_create_table_are_found() {
        let create = "CREATE TABLE t (a TEXT CHECK (a IN ('x)', 'y')), b INTEGER check(b > 0), CONSTRAINT c CHECK ((a) <> b))";
        assert_eq!(check_expressions(create), ["a IN ('x)', 'y')", "b > 0", "(a) <> b"]);
        assert!(check_expressions("CREATE TABLE t (\"CHECK\" TEXT, b TEXT DEFAULT ('CHECK (x'))").is_empty());
    }
}
