//! Rows of states that the contract does not know: nobody takes them, so somebody must be told.

use std::collections::BTreeSet;

use postrider_contract::{Condition, Literal, Role, State};
use postrider_seams::inspect::COUNT_LIMIT;
use postrider_seams::store::Error;

use super::{Opened, Run};
use crate::bind::{self, Given};
use crate::{Dialect, Script, Step, Yields, ident};

/// States that are told.
const TOLD: u32 = 10;

impl Opened {
    /// Each such state, and how many rows have it, in words.
    pub async fn strange(&self, on: &impl Run) -> Result<Vec<String>, Error> {
        let Some(step) = self.looking(on.dialect()) else { return Ok(Vec::new()) };
        let script = Script { steps: vec![step] };
        let rows =
            on.run("look for unknown states", &script, &Given::limit(on.owner(), TOLD)).await?.into_rows();
        let table = &self.contract.table.name;
        let told = |row: &Vec<postrider_seams::Value>| {
            let state = row.first().and_then(postrider_seams::Value::as_text).unwrap_or("NULL").to_owned();
            let count = row.get(1).map_or(0, bind::count);
            format!(
                "{count} of the newest {COUNT_LIMIT} rows of {table} are in state `{state}`, which the contract does not know: \
                 no lane takes them"
            )
        };
        Ok(rows.iter().map(told).collect())
    }

    /// `None` where states are not told by one column.
    fn looking(&self, dialect: Dialect) -> Option<Step> {
        let status = self.contract.column(Role::Status)?;
        let literals = self
            .contract
            .states
            .iter()
            .map(|state| literal_of(state, status))
            .collect::<Option<Vec<&Literal>>>()?;
        // An enumeration of PostgreSQL can't be compared with what it does not have.
        let as_text = literals.iter().all(|literal| matches!(literal, Literal::Text(_)));
        let known: BTreeSet<String> =
            literals.iter().map(|literal| ident::literal(dialect, literal)).collect();
        let known: Vec<String> = known.into_iter().collect();
        let (column, id) = (ident::quote(dialect, status), ident::quote(dialect, &self.contract.table.id));
        let text = match dialect {
            Dialect::Postgres => format!("(n.{column})::text"),
            Dialect::Mysql => format!("CAST(n.{column} AS CHAR)"),
            Dialect::Sqlite => format!("CAST(n.{column} AS TEXT)"),
        };
        let compared = if as_text { text.clone() } else { format!("n.{column}") };
        let mut table = ident::quote(dialect, &self.contract.table.name);
        if let Some(schema) = &self.contract.table.schema {
            table = format!("{}.{table}", ident::quote(dialect, schema));
        }
        let sql = format!(
            "SELECT {text}, COUNT(*) FROM (SELECT {column} FROM {table} ORDER BY {id} DESC LIMIT {COUNT_LIMIT}) AS n \
             WHERE n.{column} IS NULL OR {compared} NOT IN ({}) GROUP BY 1 ORDER BY 2 DESC LIMIT {TOLD}",
            known.join(", ")
        );
        Some(Step { sql, binds: Vec::new(), yields: Yields::Other })
    }
}

fn literal_of<'a>(state: &'a State, status: &str) -> Option<&'a Literal> {
    state.conditions.iter().find_map(|(column, condition)| match condition {
        Condition::Is(literal) if column == status => Some(literal),
        _ => None,
    })
}
