//! The SQL dialects, and what they write differently in every statement.

/// The SQL dialect to render for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Dialect {
    Postgres,
    /// MySQL 8+ and MariaDB 10.6+.
    Mysql,
    Sqlite,
}

impl Dialect {
    /// Returns the placeholder of the argument at `position`, counted from 1. On MySQL placeholders have no numbers.
    pub fn placeholder(self, position: usize) -> String {
        match self {
            Self::Postgres => format!("${position}"),
            Self::Sqlite => format!("?{position}"),
            Self::Mysql => "?".to_owned(),
        }
    }

    /// Returns a name quoted for the dialect. The name must be validated, or one of ours: it is not escaped.
    pub fn quoted(self, name: &str) -> String {
        match self {
            Self::Mysql => format!("`{name}`"),
            Self::Postgres | Self::Sqlite => format!("\"{name}\""),
        }
    }

    /// Returns `name` or `schema.name` with each part quoted, as [`Dialect::quoted`] does.
    pub fn quoted_path(self, path: &str) -> String {
        path.split('.').map(|part| self.quoted(part)).collect::<Vec<_>>().join(".")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_paths_are_quoted() {
        assert_eq!(Dialect::Postgres.quoted("order"), "\"order\"");
        assert_eq!(Dialect::Mysql.quoted("nextAttemptAt"), "`nextAttemptAt`");
        assert_eq!(Dialect::Sqlite.quoted_path("main.select"), "\"main\".\"select\"");
    }
}
