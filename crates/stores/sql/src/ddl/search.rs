//! Indexes for an operator's searches. They are optional, because each one costs every write a little.
//!
//! They hold only the first characters of a value, so that no value is too long to index.

use postrider_contract::Contract;
use postrider_seams::inspect::SearchBy;

use super::table_name;
use crate::render::column::Kind;
use crate::{Dialect, Shape, ShapeColumn};

/// Number of leading characters that a search index holds: MySQL can index 191 four-byte characters in all row formats.
pub const BEGINNING: usize = 190;

/// The searches, other than by id, that an index can serve.
const SEARCHES: [SearchBy; 3] = [SearchBy::Key, SearchBy::Recipient, SearchBy::Group];

/// Returns the columns that operators search, with the names of their indexes.
pub fn names(contract: &Contract) -> Vec<(String, String)> {
    let mut columns: Vec<String> = SEARCHES.iter().filter_map(|by| by.column(contract)).collect();
    columns.sort();
    columns.dedup();
    let name = |column: &str| format!("{}_search_{column}", contract.table.name);
    columns.into_iter().map(|column| (column.clone(), name(&column))).collect()
}

/// Returns the statements that create missing search indexes, for text columns that no index can search by prefix.
pub fn statements(contract: &Contract, dialect: Dialect, shape: &Shape) -> Vec<String> {
    let table = table_name(contract, dialect);
    let lacking = |(column, name): (String, String)| {
        let found = shape.column(&column).filter(|column| Kind::of(&column.sql_type) == Kind::Text)?;
        let is_served = shape.indexed.get(&column) == Some(&true) || shape.prefix_indexed.contains(&column);
        let (name, key) = (dialect.quoted(&name), key(dialect, found));
        let unless = if dialect == Dialect::Mysql { "" } else { "IF NOT EXISTS " };
        (!is_served).then(|| format!("CREATE INDEX {unless}{name} ON {table} ({key})"))
    };
    names(contract).into_iter().filter_map(lacking).collect()
}

fn key(dialect: Dialect, column: &ShapeColumn) -> String {
    let quoted = dialect.quoted(&column.name);
    match dialect {
        Dialect::Postgres => format!("left({quoted}, {BEGINNING}) text_pattern_ops"),
        Dialect::Mysql if is_short(&column.sql_type) => quoted,
        Dialect::Mysql => format!("{quoted}({BEGINNING})"),
        Dialect::Sqlite => quoted,
    }
}

/// Whether a declared length, as in `varchar(120)`, is within the prefix: MySQL rejects a prefix longer than the
/// column.
fn is_short(sql_type: &str) -> bool {
    let length = sql_type.split_once('(').and_then(|(_, rest)| rest.split(')').next()?.trim().parse().ok());
    length.is_some_and(|length: usize| length <= BEGINNING)
}
