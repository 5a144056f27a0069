//! SQL of the hub: the statement builder, table definitions, and reading of rows.
//!
//! Owns: everything that differs between the dialects. Invariant: values are always bound, with their type.

mod builder;
mod dialect;
mod insert;
mod table;

pub use postrider_sql::Dialect;
pub use postrider_sql::bind::tsid;
pub use postrider_sql::driver::execute::{Answer, Execute, Statement};

pub use builder::SqlBuilder;
pub use dialect::{NEWEST, client_key, now, now_plus, quoted, status_for_lists, time_text};
pub use insert::{Insert, NewRow, source_column, source_value};
pub(crate) use table::columns;
pub use table::{Column, ColumnType, RowReader, Table};
