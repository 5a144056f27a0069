//! Reasons why a message value cannot be computed. Every reason names the field and the column.

/// The reason why a message value cannot be computed from a row.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    #[error("{field}: {column} has no value, and the contract gives no default")]
    NoValue { field: String, column: String },
    #[error("{field}: {column} is not valid UTF-8")]
    NotUtf8 { field: String, column: String },
    #[error("{field}: {column} is not valid JSON")]
    NotJson { field: String, column: String },
    #[error("{field}: {column} is not a JSON object")]
    NotObject { field: String, column: String },
    #[error("{field}: the join {join} has more than {limit} rows")]
    ManyRows { field: String, join: String, limit: u32 },
    #[error("{field}: the map has no value for {value:?} of {column}")]
    NotInMap { field: String, column: String, value: String },
    #[error("{field}: the map has no value for a {column} that is NULL or empty")]
    NullInMap { field: String, column: String },
}
