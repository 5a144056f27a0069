//! A new row as an INSERT statement: its fields, its values and its SQL. Pure; the modules of the databases execute it.

use std::time::{Duration, SystemTime};

#[cfg(any(feature = "postgres", feature = "sqlite"))]
use postrider_sql_builder::Statement;
use postrider_sql_builder::{Dialect, SqlBuilder};

use crate::{Error, Table, TimeColumnType};

/// The earliest time at which the row may be delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Due {
    #[default]
    Now,
    After(Duration),
    At(SystemTime),
}

/// A value to bind: a borrowed text, an owned text, or an integer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BoundValue<'a> {
    Borrowed(&'a str),
    Owned(String),
    Int(i64),
}

enum Value<'a> {
    Bound(BoundValue<'a>),
    /// An expression of this library, or a validated literal.
    Sql(String),
    Now,
    Due(Due),
}

/// A row to insert into a table.
pub struct Insert<'a> {
    pub table: &'a Table,
    pub dedupe: Option<&'a str>,
    pub id: Option<&'a str>,
    values: Vec<(String, Value<'a>)>,
}

impl<'a> Insert<'a> {
    /// Starts a row with the columns that every new row has: status, attempts, version and creation time.
    pub fn new(table: &'a Table) -> Self {
        let status = Value::Sql(format!("'{}'", table.status_of_new_rows()));
        let mut insert = Self { table, dedupe: None, id: None, values: Vec::new() };
        for (field, value) in [
            ("status", status),
            ("attempts", Value::Sql("0".to_owned())),
            ("version", Value::Sql("0".to_owned())),
            ("created", Value::Now),
        ] {
            if table.column_of(field).is_some() {
                insert.values.push((field.to_owned(), value));
            }
        }
        insert
    }

    /// Sets a field to a borrowed text; an error if the table has no column for it.
    pub fn text(&mut self, field: &str, text: &'a str) -> Result<(), Error> {
        self.push(field, Value::Bound(BoundValue::Borrowed(text)))
    }

    /// Sets a field to an owned text; an error if the table has no column for it.
    pub fn owned_text(&mut self, field: &str, text: String) -> Result<(), Error> {
        self.push(field, Value::Bound(BoundValue::Owned(text)))
    }

    /// Sets a field to an integer; an error if the table has no column for it.
    pub fn int(&mut self, field: &str, number: i64) -> Result<(), Error> {
        self.push(field, Value::Bound(BoundValue::Int(number)))
    }

    /// Sets the earliest time of delivery. Records that are due at once leave it NULL, as their contract defines.
    pub fn due(&mut self, due: Due) -> Result<(), Error> {
        self.push("due", Value::Due(due))
    }

    /// Sets the idempotency key; an error if the table has no column for it.
    pub fn dedupe(&mut self, key: &'a str) -> Result<(), Error> {
        self.dedupe = Some(key);
        self.text("dedupe", key)
    }

    /// Sets the id of the row, for tables that do not generate one.
    pub fn id(&mut self, id: &'a str) -> Result<(), Error> {
        self.id = Some(id);
        self.text("id", id)
    }

    fn push(&mut self, field: &str, value: Value<'a>) -> Result<(), Error> {
        if self.table.column_of(field).is_none() {
            return Err(Error::NoColumn { table: self.table.name().to_owned(), field: field.to_owned() });
        }
        self.values.push((field.to_owned(), value));
        Ok(())
    }

    /// Renders `INSERT INTO … VALUES (…)`; an error if a time is before 1970 or after the year 9999.
    pub fn render(&self, dialect: Dialect) -> Result<SqlBuilder<BoundValue<'a>>, Error> {
        let names: Vec<String> = self.values.iter().map(|(field, _)| self.column(dialect, field)).collect();
        let start = format!("INSERT INTO {} ({}) VALUES (", self.table_name(dialect), names.join(", "));
        let mut insert = SqlBuilder::new(dialect, start);
        for (index, (field, value)) in self.values.iter().enumerate() {
            let rendered = self.value(&mut insert, field, value)?;
            insert = insert.push(if index == 0 { "" } else { ", " }).push(&rendered);
        }
        Ok(insert.push(")"))
    }

    fn value(
        &self,
        insert: &mut SqlBuilder<BoundValue<'a>>,
        field: &str,
        value: &Value<'a>,
    ) -> Result<String, Error> {
        let dialect = insert.dialect();
        let times = self.table.chosen_times().unwrap_or_else(|| TimeColumnType::of_reference_tables(dialect));
        Ok(match value {
            Value::Bound(bound) => {
                let placeholder = insert.bind_bare(bound.clone());
                self.cast(dialect, field, placeholder)
            }
            Value::Sql(text) => text.clone(),
            Value::Now | Value::Due(Due::Now) => times.now(dialect),
            Value::Due(Due::After(delay)) => {
                times.after(dialect, &insert.bind_bare(BoundValue::Int(micros(*delay)?)))
            }
            Value::Due(Due::At(moment)) => {
                let since = moment.duration_since(SystemTime::UNIX_EPOCH).map_err(|_| Error::Time)?;
                times.at(dialect, &insert.bind_bare(BoundValue::Int(micros(since)?)))
            }
        })
    }

    /// Renders an INSERT that does nothing if the idempotency key exists, and otherwise returns the id.
    ///
    /// It names the unique index of the key, so that other conflicts remain errors.
    #[cfg(any(feature = "postgres", feature = "sqlite"))]
    pub fn render_idempotent(&self, dialect: Dialect) -> Result<Statement<BoundValue<'a>>, Error> {
        let mut insert = self.render(dialect)?;
        if self.dedupe.is_some() {
            insert = insert.push(&format!(" ON CONFLICT ({}) DO NOTHING", self.column(dialect, "dedupe")));
        }
        let id = as_text(dialect, &self.column(dialect, "id"));
        Ok(insert.push(&format!(" RETURNING {id}")).finish())
    }

    /// Renders the query for the id and key of the existing row with this idempotency key.
    pub fn select_existing(&self, dialect: Dialect) -> String {
        let key = self.column(dialect, "dedupe");
        let wanted = self.cast(dialect, "dedupe", dialect.placeholder(1));
        let (id, found) = (as_text(dialect, &self.column(dialect, "id")), as_text(dialect, &key));
        format!("SELECT {id}, {found} FROM {} WHERE {key} = {wanted}", self.table_name(dialect))
    }

    /// Checks that `found`, which the database considers equal, is exactly the given key.
    pub fn check_same_key(&self, found: String) -> Result<(), Error> {
        let given = self.dedupe.unwrap_or_default();
        // A column of another type may format the key differently.
        if found == given || self.table.cast_of("dedupe").is_some() {
            return Ok(());
        }
        Err(Error::KeyDiffersByCollation {
            table: self.table.name().to_owned(),
            given: given.to_owned(),
            found,
        })
    }

    /// Returns the quoted column of a field.
    fn column(&self, dialect: Dialect, field: &str) -> String {
        dialect.quoted(self.table.column_of(field).unwrap_or(field))
    }

    fn table_name(&self, dialect: Dialect) -> String {
        dialect.quoted_path(self.table.name())
    }

    /// Casts a value to the type that the table names for the field. Only PostgreSQL needs it: other databases assign
    /// text to columns of any type.
    fn cast(&self, dialect: Dialect, field: &str, value: String) -> String {
        match self.table.cast_of(field) {
            Some(sql_type) if dialect == Dialect::Postgres => format!("CAST({value} AS {sql_type})"),
            _ => value,
        }
    }

    /// Wraps an error of the database with the name of the table.
    pub fn failed(&self, source: sqlx::Error) -> Error {
        Error::Database { table: self.table.name().to_owned(), source }
    }

    /// The error if the existing row with this key disappeared at every try.
    pub fn deleted_concurrently(&self) -> Error {
        Error::DeletedConcurrently { table: self.table.name().to_owned() }
    }
}

/// Returns the expression for a column as text.
fn as_text(dialect: Dialect, column: &str) -> String {
    let text = if dialect == Dialect::Mysql { "CHAR" } else { "text" };
    format!("CAST({column} AS {text})")
}

/// Converts to microseconds; an error after the year 9999, which no database supports.
fn micros(duration: Duration) -> Result<i64, Error> {
    const LATEST: i64 = 253_402_300_799_000_000;
    i64::try_from(duration.as_micros()).ok().filter(|micros| *micros <= LATEST).ok_or(Error::Time)
}
