//! SQL of the hub: shared clauses, table definitions, rows to insert, and reading of rows.
//!
//! Owns: everything that differs between the dialects. Invariant: values are always bound, with their type.

mod clauses;
mod dialect;
mod insert;
mod table;

pub use postrider_sql::Dialect;
pub use postrider_sql::bind::tsid;
pub use postrider_sql::driver::execute::{Answer, Execute, SqlBuilder, Statement};

pub use clauses::{Clauses, select, update};
pub use dialect::{NEWEST, client_key, now, now_plus, status_for_lists, time_text};
pub use insert::{Insert, NewRow, source_column, source_value};
pub(crate) use table::columns;
pub use table::{Column, ColumnType, RowReader, Table};
