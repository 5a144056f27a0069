//! Can the lane write its table? A replica and a read-only file answer every read, so `check` has to try a write.

use super::{Opened, Run};
use crate::bind::Given;
use crate::{Script, Step, Yields, ddl, ident};

impl Opened {
    /// Why the table can't be written, if it can't: an update of a column that every claim writes, of no row, shows it.
    pub async fn write_refusal(&self, on: &impl Run) -> Option<String> {
        let dialect = on.dialect();
        let fence = self.stage.lease.fence.iter().find_map(|role| self.contract.column(*role))?;
        let (table, fence) = (ddl::table_name(&self.contract, dialect), ident::quote(dialect, fence));
        let sql = format!("UPDATE {table} SET {fence} = {fence} WHERE 1 = 0");
        let script = Script { steps: vec![Step { sql, binds: Vec::new(), yields: Yields::Nothing }] };
        let tried = on.run("write the table", &script, &Given::limit(on.owner(), 0)).await;
        tried.err().map(|error| error.message)
    }
}
