//! Renders the insert of a new row, as a producer writes it: for `send` and the API.

use std::collections::BTreeMap;

use postrider_contract::{ColumnRole, Condition, Contract, Stage};
use postrider_seams::produce::KEY;
use postrider_seams::row::{Detail, Value};

use crate::bind::params::field_arg;
use crate::render::column::{self, Kind, Time, postgres_type};
use crate::render::step_builder::{Source, StepBuilder};
use crate::render::table::Table;
use crate::typed::{Bound, Params, typed_script};
use crate::{Dialect, Error, Field, Param, Script, Shape, Step, Yields};

typed_script! {
    /// Inserts a row, and yields its key.
    pub InsertRow(NewRow<'_>) -> String, Write, |_, mut row| match row.value() {
        Value::Text(key) => Some(key),
        Value::Int(key) => Some(key.to_string()),
        _ => None,
    }
}

/// The message fields of a new row, and its key unless the database generates it.
#[derive(Debug, Clone, Copy)]
pub struct NewRow<'a>(pub &'a Detail);

impl Params for NewRow<'_> {
    fn value(&self, param: &Param, dialect: Dialect) -> Option<Bound<'_>> {
        let Param::One(Field::Envelope(name)) = param else { return None };
        Some(Bound::One(field_arg(self.0.get(name)?.clone(), dialect)))
    }
}

/// The field that makes inserting the same row twice harmless.
const DEDUPE: &str = "dedupe";

/// Whether the caller must generate the row's key; integer keys and columns with a default come from the database.
pub fn needs_key(contract: &Contract, shape: &Shape) -> bool {
    shape
        .column(&contract.table.id)
        .is_some_and(|id| Kind::of(&id.sql_type) != Kind::Integer && !id.has_default)
}

/// Returns the script that inserts one row, ready for `stage`; its last step yields the key as text.
///
/// The named message fields are bound as `$envelope` values.
pub fn produce(
    contract: &Contract,
    stage: &Stage,
    dialect: Dialect,
    shape: &Shape,
    fields: &[&str],
) -> Result<InsertRow, Error> {
    let table = Table::new(contract, stage, dialect, shape)?;
    let known: BTreeMap<String, String> = contract.message_columns().into_iter().collect();
    let missing: Vec<String> =
        fields.iter().filter(|field| !known.contains_key(**field)).map(|field| (*field).to_owned()).collect();
    if !missing.is_empty() {
        return Err(Error::MissingColumns { table: contract.table.name.clone(), columns: missing });
    }
    let fresh = Fresh { table: &table, known: &known };
    let dedupe = fields.contains(&DEDUPE).then(|| known[DEDUPE].as_str());
    let mut steps = vec![fresh.insert(fields, dedupe.is_some())];
    // With a dedupe key the row may exist already, and its history has begun.
    steps.extend(fresh.first_line().filter(|_| dedupe.is_none()));
    if let Some(column) = dedupe {
        steps.push(fresh.select_by(DEDUPE, column));
    } else if dialect == Dialect::Mysql {
        steps.push(fresh.select_last());
    }
    Ok(InsertRow { script: Script { steps } })
}

struct Fresh<'a> {
    table: &'a Table<'a>,
    /// Field → column.
    known: &'a BTreeMap<String, String>,
}

impl Fresh<'_> {
    fn insert(&self, fields: &[&str], repeatable: bool) -> Step {
        let table = self.table;
        let builder = StepBuilder::new(table, Source::Uniform);
        let mut values: BTreeMap<&str, String> = BTreeMap::new();
        for field in fields {
            let column = self.known[*field].as_str();
            values.insert(column, typed(&builder, field, column));
        }
        for (column, value) in self.ready() {
            values.entry(column).or_insert(value);
        }
        let id = table.contract.table.id.as_str();
        if needs_key(table.contract, table.shape) {
            values.insert(id, typed(&builder, KEY, id));
        }
        let names: Vec<String> = values.keys().map(|column| table.quote(column)).collect();
        let list: Vec<&str> = values.values().map(String::as_str).collect();
        let id = table.quote(id);
        let ending = match (table.dialect, repeatable) {
            (Dialect::Mysql, true) => format!("\nON DUPLICATE KEY UPDATE {id} = {id}"),
            (Dialect::Mysql, false) => String::new(),
            (_, true) => "\nON CONFLICT DO NOTHING".to_owned(),
            (_, false) => format!("\nRETURNING CAST({id} AS text)"),
        };
        let text = format!(
            "INSERT INTO {} ({})\nVALUES ({}){ending}",
            table.name(),
            names.join(", "),
            list.join(", ")
        );
        let yields =
            if repeatable || table.dialect == Dialect::Mysql { Yields::Nothing } else { Yields::Other };
        builder.finish(&text, yields)
    }

    /// Inserts the first history record of a row: the state that it starts in.
    fn first_line(&self) -> Option<Step> {
        let table = self.table;
        let history = table.contract.history.as_ref().filter(|_| needs_key(table.contract, table.shape))?;
        let builder = StepBuilder::new(table, Source::Uniform);
        let state = table.literal(table.status_literal(table.stage.ready[0])?);
        let key = typed(&builder, KEY, &table.contract.table.id);
        let mut names = vec![table.quote(&history.row), table.quote(&history.state)];
        let mut values = vec![key, state];
        if let Some(time) = &history.time {
            let columns = table.shape.related.get(&history.table);
            let shape = columns.and_then(|columns| columns.iter().find(|column| column.name == *time));
            let form =
                shape.and_then(|shape| column::time(table.dialect, table.contract.table.time, shape).ok());
            names.push(table.quote(time));
            values.push(match form {
                Some(Time::Found { .. }) | None => table.now_as(Time::Iso),
                Some(form) => table.now_as(form),
            });
        }
        let into = table.dialect.quoted_path(&history.table);
        let text = format!("INSERT INTO {into} ({})\nVALUES ({})", names.join(", "), values.join(", "));
        Some(builder.finish(&text, Yields::Nothing))
    }

    /// The values that make a row ready: its state, first due time and counters.
    fn ready(&self) -> Vec<(&str, String)> {
        let table = self.table;
        let mut values = Vec::new();
        let state = table.contract.state(table.stage.ready[0]);
        for (column, condition) in &state.conditions {
            let value = match condition {
                Condition::Is(literal) => table.literal(literal),
                Condition::Null(true) => "NULL".to_owned(),
                // Times are written below.
                Condition::Null(false) | Condition::Never(_) => continue,
            };
            values.push((column.as_str(), value));
        }
        for (column, literal) in &table.contract.claim.filter {
            values.push((column, table.literal(literal)));
        }
        for role in [ColumnRole::Due, ColumnRole::Created, ColumnRole::Updated] {
            if let Some(column) = table.contract.column(role) {
                values.push((column, table.inserted(column)));
            }
        }
        for role in [ColumnRole::Attempts, ColumnRole::Version] {
            if let Some(column) =
                table.contract.column(role).filter(|column| !table.shape_of(column).has_default)
            {
                values.push((column, "0".to_owned()));
            }
        }
        values
    }

    fn select_by(&self, field: &str, column: &str) -> Step {
        let builder = StepBuilder::new(self.table, Source::Uniform);
        let text = format!(
            "SELECT {} FROM {} AS t WHERE {} = {}",
            self.key(),
            self.table.name(),
            self.table.col(column),
            typed(&builder, field, column)
        );
        builder.finish(&text, Yields::Other)
    }

    /// MySQL's INSERT returns no rows, so the key is selected.
    fn select_last(&self) -> Step {
        let table = self.table;
        let builder = StepBuilder::new(table, Source::Uniform);
        let id = table.contract.table.id.as_str();
        let last = if needs_key(table.contract, table.shape) {
            typed(&builder, KEY, id)
        } else {
            "LAST_INSERT_ID()".to_owned()
        };
        let text = format!("SELECT {} FROM {} AS t WHERE {} = {last}", self.key(), table.name(), table.id());
        builder.finish(&text, Yields::Other)
    }

    fn key(&self) -> String {
        let text = if self.table.dialect == Dialect::Mysql { "char" } else { "text" };
        format!("CAST({} AS {text})", self.table.id())
    }
}

/// A bound value cast to its column's type.
fn typed(builder: &StepBuilder<'_>, field: &str, column: &str) -> String {
    let value = builder.field(Field::Envelope(field.to_owned()));
    match builder.table.dialect {
        Dialect::Postgres => {
            format!("({value})::{}", postgres_type(&builder.table.shape_of(column).sql_type))
        }
        Dialect::Mysql | Dialect::Sqlite => value,
    }
}

#[cfg(test)]
mod tests;
