//! Checks whether the columns can hold every state: an enum type or a CHECK may lack one, and the database then rejects
//! the move.

use postrider_contract::{Condition, Literal};
use postrider_seams::inspect::{Finding, Level};
use postrider_seams::store::{Class, Error};

use super::{Constraints, count, finding};
use crate::Dialect;
use crate::driver::Driver;
use crate::open_table::OpenTable;
use crate::render::column;
use crate::render::table::Table;

impl OpenTable {
    /// Every state that a value in a column defines: state, column, value.
    fn held(&self) -> impl Iterator<Item = (&str, &str, &Literal)> {
        self.contract.states.iter().flat_map(|state| {
            state.conditions.iter().filter_map(|(column, condition)| match condition {
                Condition::Is(literal) => Some((state.name.as_str(), column.as_str(), literal)),
                Condition::Null(_) | Condition::Never(_) => None,
            })
        })
    }

    /// Values that a column's enumerated type does not have.
    pub(crate) fn refused_values(&self, table: &Table<'_>, constraints: &Constraints) -> Vec<Finding> {
        let mut found = Vec::new();
        for (state, column, literal) in self.held() {
            let Literal::Text(value) = literal else { continue };
            let labels =
                constraints.enums.iter().find(|(known, _)| known == column).map(|(_, labels)| labels);
            let same = |label: &String| match table.dialect {
                // Compared in the column's collation, which usually ignores case.
                Dialect::Mysql => label.eq_ignore_ascii_case(value),
                Dialect::Postgres | Dialect::Sqlite => label == value,
            };
            if labels.is_none_or(|labels| labels.iter().any(same)) {
                continue;
            }
            let sql_type = &table.shape_of(column).sql_type;
            let fix = (table.dialect == Dialect::Postgres)
                .then(|| format!("ALTER TYPE {sql_type} ADD VALUE {}", table.text(value)));
            let text = format!(
                "{column} can't hold `{value}` (state {state}): its enumerated type has no such value; add it, or name the \
                 value that the table uses in [states]"
            );
            found.push(finding(Level::Error, text, fix));
        }
        found
    }

    /// Finds values that a CHECK constraint rejects. A constraint that also reads other columns cannot be decided by a
    /// value alone, and is skipped.
    pub(crate) async fn checked_values(
        &self,
        on: &impl Driver,
        table: &Table<'_>,
        constraints: &Constraints,
    ) -> Result<Vec<Finding>, Error> {
        let mut found = Vec::new();
        for (state, column, literal) in self.held() {
            let value = typed(table, column, literal);
            let quoted = table.quote(column);
            for check in constraints.checks.iter().filter(|check| check.contains(column)) {
                let sql =
                    format!("SELECT COUNT(*) FROM (SELECT {value} AS {quoted}) AS t WHERE NOT ({check})");
                match count(on, "try a CHECK constraint", sql).await {
                    Ok(0) => {}
                    Ok(_) => {
                        let value = table.literal(literal);
                        let text = format!(
                            "{column} can't hold {value} (state {state}): the constraint CHECK ({check}) refuses it; \
                             change the constraint, or name the value that the table uses in [states]"
                        );
                        found.push(finding(Level::Error, text, None));
                    }
                    Err(error) if error.class == Class::Transient => return Err(error),
                    // The expression names a column other than the state's.
                    Err(_) => {}
                }
            }
        }
        Ok(found)
    }
}

fn typed(table: &Table<'_>, column: &str, literal: &Literal) -> String {
    let value = table.literal(literal);
    match table.dialect {
        Dialect::Postgres => {
            format!("CAST({value} AS {})", column::postgres_type(&table.shape_of(column).sql_type))
        }
        Dialect::Mysql | Dialect::Sqlite => value,
    }
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
