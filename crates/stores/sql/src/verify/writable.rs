//! Checks whether the lane can write its table: a replica and a read-only file answer every read, so `check` tries a
//! write.

use crate::bind::Values;
use crate::driver::Driver;
use crate::open_table::OpenTable;
use crate::{Script, Step, Yields, ddl};

impl OpenTable {
    /// Returns the reason why the table cannot be written; `None` if it can.
    ///
    /// The test is an update of no row that sets a column which every claim writes.
    pub async fn write_refusal(&self, on: &impl Driver) -> Option<String> {
        let dialect = on.dialect();
        let fence = self.stage.lease.fence.iter().find_map(|role| self.contract.column(*role))?;
        let (table, fence) = (ddl::table_name(&self.contract, dialect), dialect.quoted(fence));
        let sql = format!("UPDATE {table} SET {fence} = {fence} WHERE 1 = 0");
        let script = Script { steps: vec![Step { sql, params: Vec::new(), yields: Yields::Nothing }] };
        let tried = on.run("write the table", &script, &Values::limit(on.owner(), 0)).await;
        tried.err().map(|error| error.message)
    }
}
