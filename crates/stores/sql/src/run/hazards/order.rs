//! Do the rows of a group have an order? Times alone tie: rows of one transaction often have the same.

use postrider_contract::Role;
use postrider_seams::inspect::{Finding, Level};
use postrider_seams::store::Error;

use super::{count, finding};
use crate::column::Kind;
use crate::run::{Opened, Run};
use crate::table::Table;

/// A step of this many microseconds or more is a whole second.
const SECOND: i64 = 1_000_000;

impl Opened {
    /// `None` where the order is sure, or none is asked for.
    pub(super) async fn order_hazard(
        &self,
        on: &impl Run,
        table: &Table<'_>,
    ) -> Result<Option<Finding>, Error> {
        let Some(group) = self.contract.group.as_ref().filter(|group| group.keeps_order()) else {
            return Ok(None);
        };
        let by = &group.by;
        let nullable: Vec<&str> = group
            .sequence
            .iter()
            .filter(|column| {
                self.shape.column(column).is_some_and(|column| column.nullable && !column.has_default)
            })
            .map(String::as_str)
            .collect();
        if !nullable.is_empty() {
            let text = format!(
                "rows of the same {by} may lose their order: {} may be NULL, and rows without it go first; declare it NOT NULL",
                nullable.join(" and ")
            );
            return Ok(Some(finding(Level::Warning, text, None)));
        }
        let id = &self.contract.table.id;
        let counts = |column: &str| table.time(column).is_none() && table.kind(column) == Kind::Integer;
        if counts(id) || group.sequence.iter().any(|column| counts(column)) {
            return Ok(None);
        }
        let mut columns: Vec<&str> = vec![by];
        columns.extend(group.sequence.iter().map(String::as_str));
        let list: Vec<String> = columns.iter().map(|column| format!("n.{}", table.quote(column))).collect();
        let sql = format!(
            "SELECT COUNT(*) FROM (SELECT {first} FROM ({newest}) AS n WHERE {first} IS NOT NULL GROUP BY {list} HAVING COUNT(*) > 1) AS d",
            first = list[0],
            newest = self.newest(table, &columns),
            list = list.join(", ")
        );
        let ties = count(on, "look for rows of a group without an order", sql).await?;
        let coarse = |column: &&String| table.time(column).is_some_and(|time| time.tick() >= SECOND);
        let seconds =
            if group.sequence.iter().any(|column| coarse(&column)) { ", in whole seconds" } else { "" };
        let order = group.sequence.join(", ");
        let found = match ties {
            0 => String::new(),
            ties => format!(" (as {ties} times among the newest rows)"),
        };
        let created = self.contract.column(Role::Created).unwrap_or("created");
        let text = format!(
            "rows of the same {by} may lose their order: they are ordered by {order}{seconds}, and rows with the same \
             {order}{found} by {id}, which does not count up; rows inserted in one transaction often have the same {created}. \
             Add a column that counts up, and name it in group.sequence"
        );
        Ok(Some(finding(Level::Warning, text, None)))
    }
}
