//! Checks whether the lane can write its table: a replica and a read-only file answer every read, so `check` tries a
//! write.

use crate::ddl;
use crate::driver::execute::SqlBuilder;
use crate::driver::{Access, Driver};
use crate::open_table::OpenTable;

impl OpenTable {
    /// Returns the reason why the table cannot be written; `None` if it can.
    ///
    /// The test is an update of no row that sets a column which every claim writes.
    pub async fn write_refusal(&self, on: &impl Driver) -> Option<String> {
        let dialect = on.dialect();
        let fence = self.stage.lease.fence.iter().find_map(|role| self.contract.column(*role))?;
        let (table, fence) = (ddl::table_name(&self.contract, dialect), dialect.quoted(fence));
        let sql = format!("UPDATE {table} SET {fence} = {fence} WHERE 1 = 0");
        let update = SqlBuilder::new(dialect, sql).finish();
        let tried = on.rows("write the table", Access::Write, update).await;
        tried.err().map(|error| error.message)
    }
}
