//! Describes what a contract needs and a table lacks: each column once, with what needs it and how to fix it.

use std::collections::BTreeMap;

use postrider_contract::{Contract, Missing};

use crate::{Shape, ddl, error};

/// Returns a sentence for each missing column, then those for related tables.
pub(crate) fn listed(
    contract: &Contract,
    shape: &Shape,
    missing: Vec<Missing>,
    beside: Vec<String>,
) -> String {
    let mut columns: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for Missing { column, needed_by } in missing {
        columns.entry(column).or_default().push(format!("`{needed_by}`"));
    }
    // `migrate` changes nothing as long as a column is missing that it may not add.
    let migrates =
        columns.keys().all(|column| ddl::is_addable(contract, column) && shape.namesake(column).is_none());
    let sentence = |(column, needed_by): (String, Vec<String>)| {
        if let Some(there) = shape.namesake(&column) {
            return error::folded(&column, there);
        }
        let needs = if needed_by.len() == 1 { "needs" } else { "need" };
        let needed_by = needed_by.join(", ");
        let remedy = match ddl::is_addable(contract, &column) {
            true if migrates => "`postrider migrate` adds it",
            true => "`postrider migrate` adds it when the others are there",
            false => "add it to the table, or name another column in the contract",
        };
        format!("column {column} is missing: the contract's {needed_by} {needs} it; {remedy}")
    };
    columns.into_iter().map(sentence).chain(beside).collect::<Vec<_>>().join("\n")
}
