//! The optional PostgreSQL trigger that wakes workers: one NOTIFY per statement, for any number of rows.

use postrider_contract::Contract;

use super::table_name;
use crate::Dialect;
use crate::render::ident;

/// Returns the channel that a table's trigger notifies.
pub fn channel(contract: &Contract) -> String {
    let table = &contract.table;
    let path = match &table.schema {
        Some(schema) => format!("{schema}_{}", table.name),
        None => table.name.clone(),
    };
    let safe: String =
        path.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' }).collect();
    ident::bounded(&format!("postrider_{safe}"))
}

/// Returns the statements that create the function and the trigger; they can be run repeatedly.
pub fn notify(contract: &Contract) -> Vec<String> {
    let channel = channel(contract);
    let name = Dialect::Postgres.quoted(&channel);
    let function = match &contract.table.schema {
        Some(schema) => format!("{}.{name}", Dialect::Postgres.quoted(schema)),
        None => name.clone(),
    };
    let table = table_name(contract, Dialect::Postgres);
    vec![
        format!(
            "CREATE OR REPLACE FUNCTION {function}() RETURNS trigger LANGUAGE plpgsql AS $postrider$\n\
             BEGIN\n  PERFORM pg_notify('{channel}', '');\n  RETURN NULL;\nEND\n$postrider$"
        ),
        // CREATE OR REPLACE TRIGGER needs PostgreSQL 14.
        format!(
            "DO $postrider$\nBEGIN\n  IF NOT EXISTS (SELECT 1 FROM pg_trigger WHERE tgname = '{channel}' AND tgrelid = \
             '{table}'::regclass) THEN\n    CREATE TRIGGER {name} AFTER INSERT ON {table} FOR EACH STATEMENT EXECUTE \
             FUNCTION {function}();\n  END IF;\nEND\n$postrider$"
        ),
    ]
}
