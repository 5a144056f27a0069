//! Checks whether the rows of a group have a definite order. Times tie, as rows of one transaction often have the same;
//! so do numbers that no constraint keeps unique. Numbers in a text column are not in the order of numbers.

use postrider_contract::{ColumnRole, GroupRule};
use postrider_seams::inspect::{Finding, Level};
use postrider_seams::store::Error;

use super::{Constraints, count, finding};
use crate::driver::Driver;
use crate::open_table::OpenTable;
use crate::render::column::Kind;
use crate::render::table::Table;

/// A resolution of this many microseconds or more is a whole second.
const SECOND: i64 = 1_000_000;

impl OpenTable {
    /// Returns the finding; `None` if the order is definite, or the contract asks for none.
    pub(crate) async fn order_hazard(
        &self,
        on: &impl Driver,
        table: &Table<'_>,
        constraints: &Constraints,
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
        if let Some(finding) = text_order(table, group) {
            return Ok(Some(finding));
        }
        let counts = |column: &str| table.time(column).is_none() && table.kind(column) == Kind::Integer;
        if counts(&self.contract.table.id) || is_unique(group, constraints) {
            return Ok(None);
        }
        let ties = self.ties(on, table, group).await?;
        let numbered = group.sequence.iter().any(|column| counts(column));
        if numbered && ties == 0 {
            return Ok(None);
        }
        Ok(Some(finding(Level::Warning, self.tied(table, group, ties, numbered), None)))
    }

    /// Counts how often rows of one group tie, among the newest rows.
    async fn ties(&self, on: &impl Driver, table: &Table<'_>, group: &GroupRule) -> Result<u64, Error> {
        let mut columns: Vec<&str> = vec![&group.by];
        columns.extend(group.sequence.iter().map(String::as_str));
        let list: Vec<String> = columns.iter().map(|column| format!("n.{}", table.quote(column))).collect();
        let sql = format!(
            "SELECT COUNT(*) FROM (SELECT {first} FROM ({newest}) AS n WHERE {first} IS NOT NULL GROUP BY {list} HAVING COUNT(*) > 1) AS d",
            first = list[0],
            newest = self.newest(table, &columns),
            list = list.join(", ")
        );
        count(on, "find rows of a group without an order", sql).await
    }

    fn tied(&self, table: &Table<'_>, group: &GroupRule, ties: u64, numbered: bool) -> String {
        let (by, id, order) = (&group.by, &self.contract.table.id, group.sequence.join(", "));
        let coarse = |column: &String| table.time(column).is_some_and(|time| time.tick() >= SECOND);
        let seconds = if group.sequence.iter().any(coarse) { ", in whole seconds" } else { "" };
        let found = match ties {
            0 => String::new(),
            ties => format!(" (as {ties} times among the newest rows)"),
        };
        let remedy = if numbered {
            format!("Keep {order} unique within {by}, or name a column that counts up in group.sequence")
        } else {
            let created = self.contract.column(ColumnRole::Created).unwrap_or("created");
            format!(
                "Rows inserted in one transaction often have the same {created}. Add a column that counts up, and name it \
                 in group.sequence"
            )
        };
        format!(
            "rows of the same {by} may lose their order: they are ordered by {order}{seconds}, and rows with the same \
             {order}{found} by {id}, which does not count up. {remedy}"
        )
    }
}

/// Text is ordered by its characters: 10 goes before 9.
fn text_order(table: &Table<'_>, group: &GroupRule) -> Option<Finding> {
    let is_text = |column: &&String| table.time(column).is_none() && table.kind(column) == Kind::Text;
    let column = group.sequence.iter().find(is_text)?;
    let (by, sql_type) = (&group.by, &table.shape_of(column).sql_type);
    let text = format!(
        "rows of the same {by} may lose their order: {column} is text ({sql_type}), so that 10 goes before 9; make it a number, \
         or write values of one length only"
    );
    Some(finding(Level::Warning, text, None))
}

/// Whether a unique key prevents ties between rows of a group.
fn is_unique(group: &GroupRule, constraints: &Constraints) -> bool {
    let orders = |column: &String| *column == group.by || group.sequence.contains(column);
    constraints.unique.iter().any(|columns| columns.iter().all(orders))
}
