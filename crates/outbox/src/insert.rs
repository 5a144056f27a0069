//! A new row as an INSERT statement: its fields, its values and its SQL. Pure; the modules of the databases execute it.
//!
//! The library renders its few statements itself: applications must not depend on the crates of the engine.

use std::fmt::Write as _;
use std::time::{Duration, SystemTime};

use crate::connection::Dialect;
use crate::{Error, Table};

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

/// The SQL of a statement and its bound values.
pub struct Statement<'a> {
    pub text: String,
    pub bound: Vec<BoundValue<'a>>,
}

impl<'a> Insert<'a> {
    /// Starts a row with the columns that every new row has: status, attempts, version and creation time.
    pub fn new(table: &'a Table) -> Self {
        let status = Value::Sql(format!("'{}'", table.ready_status()));
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
    pub fn render<D: Dialect>(&self) -> Result<Statement<'a>, Error> {
        let mut list = ValueList { text: String::new(), bound: Vec::new() };
        for (field, value) in &self.values {
            let separator = if list.text.is_empty() { "" } else { ", " };
            let rendered = list.render::<D>(self.table, field, value)?;
            write!(list.text, "{separator}{rendered}").expect("writing to a String never fails");
        }
        let names: Vec<String> = self.values.iter().map(|(field, _)| self.column::<D>(field)).collect();
        let text =
            format!("INSERT INTO {} ({}) VALUES ({})", self.table_name::<D>(), names.join(", "), list.text);
        Ok(Statement { text, bound: list.bound })
    }

    /// Renders an INSERT that does nothing if the idempotency key exists, and otherwise returns the id.
    ///
    /// It names the unique index of the key, so that other conflicts remain errors.
    #[cfg(any(feature = "postgres", feature = "sqlite"))]
    pub fn render_idempotent<D: Dialect>(&self) -> Result<Statement<'a>, Error> {
        let Statement { text, bound } = self.render::<D>()?;
        let ending = match self.dedupe {
            Some(_) => format!(" ON CONFLICT ({}) DO NOTHING", self.column::<D>("dedupe")),
            None => String::new(),
        };
        let id = D::as_text(&self.column::<D>("id"));
        Ok(Statement { text: format!("{text}{ending} RETURNING {id}"), bound })
    }

    /// Renders the query for the id and key of the existing row with this idempotency key.
    pub fn select_existing<D: Dialect>(&self) -> String {
        let key = self.column::<D>("dedupe");
        let wanted = cast::<D>(self.table, "dedupe", D::placeholder(1));
        let (id, found, place) =
            (D::as_text(&self.column::<D>("id")), D::as_text(&key), self.table_name::<D>());
        format!("SELECT {id}, {found} FROM {place} WHERE {key} = {wanted}")
    }

    /// Checks that `found`, which the database considers equal, is exactly the given key.
    pub fn check_same_key(&self, found: String) -> Result<(), Error> {
        let given = self.dedupe.unwrap_or_default();
        // A column of another type may format the key differently.
        if found == given || self.table.cast_of("dedupe").is_some() {
            return Ok(());
        }
        Err(Error::SameKey { table: self.table.name().to_owned(), given: given.to_owned(), found })
    }

    /// Returns the quoted column of a field.
    pub fn column<D: Dialect>(&self, field: &str) -> String {
        quote::<D>(self.table.column_of(field).unwrap_or(field))
    }

    fn table_name<D: Dialect>(&self) -> String {
        self.table.name().split('.').map(quote::<D>).collect::<Vec<_>>().join(".")
    }

    /// Wraps an error of the database with the name of the table.
    pub fn failed(&self, source: sqlx::Error) -> Error {
        Error::Database { table: self.table.name().to_owned(), source }
    }

    /// The error if the existing row with this key disappeared at every try.
    pub fn vanished(&self) -> Error {
        Error::Vanished { table: self.table.name().to_owned() }
    }
}

fn quote<D: Dialect>(name: &str) -> String {
    format!("{}{name}{}", D::QUOTE, D::QUOTE)
}

fn cast<D: Dialect>(table: &Table, field: &str, value: String) -> String {
    match table.cast_of(field) {
        Some(sql_type) if D::CASTS => format!("CAST({value} AS {sql_type})"),
        _ => value,
    }
}

/// The values of an INSERT, as rendered so far.
struct ValueList<'a> {
    text: String,
    bound: Vec<BoundValue<'a>>,
}

impl<'a> ValueList<'a> {
    fn render<D: Dialect>(&mut self, table: &Table, field: &str, value: &Value<'a>) -> Result<String, Error> {
        let times = table.chosen_times().unwrap_or(D::TIMES);
        Ok(match value {
            Value::Bound(bound) => {
                let place = self.bind::<D>(bound.clone());
                cast::<D>(table, field, place)
            }
            Value::Sql(text) => text.clone(),
            Value::Now | Value::Due(Due::Now) => D::now(times),
            Value::Due(Due::After(delay)) => {
                let place = self.bind::<D>(BoundValue::Int(micros(*delay)?));
                D::after(times, &place)
            }
            Value::Due(Due::At(moment)) => {
                let since = moment.duration_since(SystemTime::UNIX_EPOCH).map_err(|_| Error::Time)?;
                let place = self.bind::<D>(BoundValue::Int(micros(since)?));
                D::at(times, &place)
            }
        })
    }

    fn bind<D: Dialect>(&mut self, bound: BoundValue<'a>) -> String {
        self.bound.push(bound);
        D::placeholder(self.bound.len())
    }
}

/// Converts to microseconds; an error after the year 9999, which no database supports.
fn micros(duration: Duration) -> Result<i64, Error> {
    const LATEST: i64 = 253_402_300_799_000_000;
    i64::try_from(duration.as_micros()).ok().filter(|micros| *micros <= LATEST).ok_or(Error::Time)
}
