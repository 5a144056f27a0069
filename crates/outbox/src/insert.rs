//! One fresh row as an INSERT: which fields, which values, and the text of the statement. Pure; the drivers run it.

use std::fmt::Write as _;
use std::time::{Duration, SystemTime};

use crate::connection::Dialect;
use crate::{Error, Table};

/// When the row may be delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Due {
    #[default]
    Now,
    After(Duration),
    At(SystemTime),
}

/// What is bound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Bound<'a> {
    Text(&'a str),
    Made(String),
    Int(i64),
}

enum Value<'a> {
    Bound(Bound<'a>),
    /// SQL of ours, or a checked literal.
    Fixed(String),
    Now,
    Due(Due),
}

/// A row to be.
pub struct Insert<'a> {
    pub table: &'a Table,
    pub dedupe: Option<&'a str>,
    pub id: Option<&'a str>,
    values: Vec<(String, Value<'a>)>,
}

/// A statement and its values.
pub struct Statement<'a> {
    pub text: String,
    pub bound: Vec<Bound<'a>>,
}

impl<'a> Insert<'a> {
    /// What every fresh row has.
    pub fn new(table: &'a Table) -> Self {
        let status = Value::Fixed(format!("'{}'", table.ready_status()));
        let mut insert = Self { table, dedupe: None, id: None, values: Vec::new() };
        for (field, value) in [
            ("status", status),
            ("attempts", Value::Fixed("0".to_owned())),
            ("version", Value::Fixed("0".to_owned())),
            ("created", Value::Now),
        ] {
            if table.column_of(field).is_some() {
                insert.values.push((field.to_owned(), value));
            }
        }
        insert
    }

    pub fn text(&mut self, field: &str, text: &'a str) -> Result<(), Error> {
        self.push(field, Value::Bound(Bound::Text(text)))
    }

    pub fn made(&mut self, field: &str, text: String) -> Result<(), Error> {
        self.push(field, Value::Bound(Bound::Made(text)))
    }

    pub fn int(&mut self, field: &str, number: i64) -> Result<(), Error> {
        self.push(field, Value::Bound(Bound::Int(number)))
    }

    /// When it may be delivered; a record that is due at once has no time for it, as the contract has it.
    pub fn due(&mut self, due: Due) -> Result<(), Error> {
        self.push("due", Value::Due(due))
    }

    pub fn dedupe(&mut self, key: &'a str) -> Result<(), Error> {
        self.dedupe = Some(key);
        self.text("dedupe", key)
    }

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

    /// `INSERT INTO … VALUES (…)`, without an end of its own.
    pub fn render<D: Dialect>(&self) -> Result<Statement<'a>, Error> {
        let mut draft = Draft { text: String::new(), bound: Vec::new() };
        for (field, value) in &self.values {
            let separator = if draft.text.is_empty() { "" } else { ", " };
            let shown = draft.value::<D>(self.table, field, value)?;
            write!(draft.text, "{separator}{shown}").expect("a String takes all");
        }
        let names: Vec<String> = self.values.iter().map(|(field, _)| self.column::<D>(field)).collect();
        let text =
            format!("INSERT INTO {} ({}) VALUES ({})", self.place::<D>(), names.join(", "), draft.text);
        Ok(Statement { text, bound: draft.bound })
    }

    /// The same, doing nothing if the key is there, and yielding the id if it was not. The key's own index is named:
    /// other conflicts stay errors.
    #[cfg(any(feature = "postgres", feature = "sqlite"))]
    pub fn render_repeatable<D: Dialect>(&self) -> Result<Statement<'a>, Error> {
        let Statement { text, bound } = self.render::<D>()?;
        let ending = match self.dedupe {
            Some(_) => format!(" ON CONFLICT ({}) DO NOTHING", self.column::<D>("dedupe")),
            None => String::new(),
        };
        let id = D::as_text(&self.column::<D>("id"));
        Ok(Statement { text: format!("{text}{ending} RETURNING {id}"), bound })
    }

    /// The row that has this key already: its id and its key.
    pub fn earlier<D: Dialect>(&self) -> String {
        let key = self.column::<D>("dedupe");
        let wanted = shaped::<D>(self.table, "dedupe", D::placeholder(1));
        let (id, found, place) = (D::as_text(&self.column::<D>("id")), D::as_text(&key), self.place::<D>());
        format!("SELECT {id}, {found} FROM {place} WHERE {key} = {wanted}")
    }

    /// Is `found`, which the database calls equal, really the key that was given?
    pub fn same_key(&self, found: String) -> Result<(), Error> {
        let given = self.dedupe.unwrap_or_default();
        // A column of another type may spell it in another way.
        if found == given || self.table.cast_of("dedupe").is_some() {
            return Ok(());
        }
        Err(Error::SameKey { table: self.table.name().to_owned(), given: given.to_owned(), found })
    }

    pub fn column<D: Dialect>(&self, field: &str) -> String {
        quote::<D>(self.table.column_of(field).unwrap_or(field))
    }

    fn place<D: Dialect>(&self) -> String {
        self.table.name().split('.').map(quote::<D>).collect::<Vec<_>>().join(".")
    }

    pub fn failed(&self, source: sqlx::Error) -> Error {
        Error::Database { table: self.table.name().to_owned(), source }
    }

    pub fn vanished(&self) -> Error {
        Error::Vanished { table: self.table.name().to_owned() }
    }
}

fn quote<D: Dialect>(name: &str) -> String {
    format!("{}{name}{}", D::QUOTE, D::QUOTE)
}

fn shaped<D: Dialect>(table: &Table, field: &str, value: String) -> String {
    match table.cast_of(field) {
        Some(sql_type) if D::CASTS => format!("CAST({value} AS {sql_type})"),
        _ => value,
    }
}

struct Draft<'a> {
    text: String,
    bound: Vec<Bound<'a>>,
}

impl<'a> Draft<'a> {
    fn value<D: Dialect>(&mut self, table: &Table, field: &str, value: &Value<'a>) -> Result<String, Error> {
        let times = table.chosen_times().unwrap_or(D::TIMES);
        Ok(match value {
            Value::Bound(bound) => {
                let place = self.bind::<D>(bound.clone());
                shaped::<D>(table, field, place)
            }
            Value::Fixed(text) => text.clone(),
            Value::Now | Value::Due(Due::Now) => D::now(times),
            Value::Due(Due::After(delay)) => {
                let place = self.bind::<D>(Bound::Int(micros(*delay)?));
                D::after(times, &place)
            }
            Value::Due(Due::At(moment)) => {
                let since = moment.duration_since(SystemTime::UNIX_EPOCH).map_err(|_| Error::Time)?;
                let place = self.bind::<D>(Bound::Int(micros(since)?));
                D::at(times, &place)
            }
        })
    }

    fn bind<D: Dialect>(&mut self, bound: Bound<'a>) -> String {
        self.bound.push(bound);
        D::placeholder(self.bound.len())
    }
}

/// Microseconds, up to the year 9999: no database goes further.
fn micros(duration: Duration) -> Result<i64, Error> {
    const LATEST: i64 = 253_402_300_799_000_000;
    i64::try_from(duration.as_micros()).ok().filter(|micros| *micros <= LATEST).ok_or(Error::Time)
}
