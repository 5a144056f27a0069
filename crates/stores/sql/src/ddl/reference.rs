//! The tables of the five built-in contracts, kept as SQL files in which `{table}` stands for the contract's table.

use postrider_contract::Contract;

use super::{Index, table_name};
use crate::render::ident;
use crate::{Dialect, Shape, ShapeColumn};

macro_rules! files {
    ($($name:literal),*) => {
        &[$((
            $name,
            [
                include_str!(concat!("../../ddl/", $name, ".postgres.sql")),
                include_str!(concat!("../../ddl/", $name, ".mysql.sql")),
                include_str!(concat!("../../ddl/", $name, ".sqlite.sql")),
            ],
        )),*]
    };
}

const FILES: &[(&str, [&str; 3])] =
    files!("mail_outbox", "dispatch_jobs", "open_event_notifications", "emails", "outbox");

fn file(contract: &Contract, dialect: Dialect) -> Option<&'static str> {
    let (_, texts) = FILES.iter().find(|(name, _)| *name == contract.name)?;
    Some(match dialect {
        Dialect::Postgres => texts[0],
        Dialect::Mysql => texts[1],
        Dialect::Sqlite => texts[2],
    })
}

fn raw_statements(contract: &Contract, dialect: Dialect) -> impl Iterator<Item = &'static str> {
    let text = file(contract, dialect).unwrap_or_default();
    text.split(";\n").map(str::trim).filter(|statement| !statement.is_empty())
}

/// Returns every statement of the reference file, with the contract's table name filled in.
pub(crate) fn statements(contract: &Contract, dialect: Dialect) -> Vec<String> {
    let table = table_name(contract, dialect);
    raw_statements(contract, dialect).map(|statement| statement.replace("{table}", &table)).collect()
}

/// Returns the statements that create one of the related tables and its indexes.
pub(crate) fn statements_of(contract: &Contract, dialect: Dialect, table: &str) -> Vec<String> {
    let create = format!("CREATE TABLE IF NOT EXISTS {table} (");
    let index = format!(" ON {table} (");
    let own = table_name(contract, dialect);
    raw_statements(contract, dialect)
        .filter(|statement| {
            statement.starts_with(&create) || (statement.contains("INDEX ") && statement.contains(&index))
        })
        .map(|statement| statement.replace("{table}", &own))
        .collect()
}

/// Returns the reference table as a shape; `None` for a contract that is not built in.
pub fn shape(contract: &Contract, dialect: Dialect) -> Option<Shape> {
    file(contract, dialect)?;
    let mut shape = Shape::default();
    for statement in raw_statements(contract, dialect) {
        let Some(rest) = statement.strip_prefix("CREATE TABLE IF NOT EXISTS ") else { continue };
        let (name, body) = rest.split_once(" (\n").expect("a reference file opens its tables like this");
        let columns: Vec<ShapeColumn> = body
            .lines()
            .take_while(|line| !line.starts_with(')'))
            .filter_map(|line| column(dialect, line))
            .collect();
        if name == "{table}" {
            shape.columns = columns;
        } else {
            shape.related.insert(name.to_owned(), columns);
        }
    }
    Some(shape)
}

/// Returns the plain indexes of the reference table: those that the specification demands.
pub fn indexes(contract: &Contract, dialect: Dialect) -> Vec<Index> {
    let mut found = Vec::new();
    for statement in raw_statements(contract, dialect) {
        if let Some((head, columns)) = statement.split_once(" ON {table} (") {
            found.extend(head.strip_prefix("CREATE INDEX ").map(|head| (last_word(head), columns)));
        } else if statement.starts_with("CREATE TABLE IF NOT EXISTS {table} (") {
            let lines = statement.lines().filter_map(|line| line.trim().strip_prefix("INDEX "));
            found.extend(lines.filter_map(|line| line.split_once(" (")));
        }
    }
    let index = |(name, columns): (&str, &str)| {
        let columns = columns.split(')').next().unwrap_or_default().split(',');
        let columns = columns.map(|column| column.trim().trim_matches(['"', '`']).to_owned()).collect();
        Index { name: name.to_owned(), columns, partial: false }
    };
    found.into_iter().map(index).collect()
}

fn last_word(text: &str) -> &str {
    text.rsplit(' ').next().unwrap_or(text)
}

/// Parses a line with one column: name, type, constraints.
fn column(dialect: Dialect, line: &str) -> Option<ShapeColumn> {
    let line = line.trim().trim_end_matches(',');
    let (name, rest) = line.split_once(' ')?;
    let name = name.trim_matches(['"', '`']);
    if matches!(name, "UNIQUE" | "FOREIGN" | "CHECK" | "INDEX") || ident::check(name).is_err() {
        return None;
    }
    let sql_type = match rest.split_once(')') {
        Some((opened, _)) if opened.contains('(') && !opened.split('(').next()?.contains(' ') => {
            format!("{opened})")
        }
        _ => rest.split(' ').next()?.to_owned(),
    };
    let sql_type =
        if dialect == Dialect::Mysql && sql_type == "BOOLEAN" { "tinyint(1)".to_owned() } else { sql_type };
    let nullable = !rest.contains("NOT NULL") && !rest.contains("PRIMARY KEY");
    Some(ShapeColumn { nullable, has_default: rest.contains("DEFAULT"), ..ShapeColumn::new(name, sql_type) })
}
