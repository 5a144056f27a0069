//! Reasons why a contract cannot be rendered for a table.

/// The reason why a contract cannot be rendered for a table.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum Error {
    #[error(
        "`{0}` is no usable identifier: use letters, digits, `_`, `$`, `-` or blanks, at most 63 bytes; rename it in the contract"
    )]
    Identifier(String),
    #[error("table `{table}` lacks {}; add what is missing, or name the right columns in the contract", quoted(.columns))]
    MissingColumns { table: String, columns: Vec<String> },
    #[error("table `{table}` lacks {}; run `postrider migrate`", quoted(.columns))]
    NotMigrated { table: String, columns: Vec<String> },
    #[error("{}", folded(.column, .there))]
    Folded { column: String, there: String },
    #[error(
        "column `{column}` is `{sql_type}`, which holds no time as `{form}` means it; set `time` in [table], or change the column"
    )]
    NotATime { column: String, sql_type: String, form: &'static str },
    #[error(
        "`{0}` can't be a literal in SQL: control characters and the markers {{ids}} and {{held}} are not allowed"
    )]
    Literal(String),
    #[error(
        "the fence of stage `{stage}` names role `{role}`, which has no column or is not written by a claim"
    )]
    Fence { stage: String, role: &'static str },
    #[error("the fence of stage `{0}` has more than one time; MySQL and MariaDB can compare only one")]
    FenceTimes(String),
    #[error("stage `{stage}` needs a column for `{role}`: {why}")]
    MissingRole { stage: String, role: &'static str, why: &'static str },
}

/// The message for a column whose name differs from an existing one only in case.
pub(crate) fn folded(column: &str, there: &str) -> String {
    format!(
        "column {column} is missing, but there is {there}: PostgreSQL folds names that are not quoted to lower case; write \
         {there} in the contract"
    )
}

fn quoted(names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.len() {
        1 => format!("column {}", quoted[0]),
        _ => format!("columns {}", quoted.join(", ")),
    }
}
