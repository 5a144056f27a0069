//! Renders times: the database's clock, compared with a column and written to it in the column's own form.
//!
//! Owns: every expression with a clock in it. Must not: use a worker's clock. Invariant: the value that
//! [`Table::later`] writes differs from what the column held, in the column's precision: it is later, unless the old
//! value is far ahead of the clock.

mod mysql;
mod postgres;
mod sqlite;

use std::time::Duration;

use postrider_contract::ColumnRole;

use crate::Dialect;
use crate::render::column::Time;
use crate::render::table::Table;

/// Maximum time in microseconds that a column may be ahead of the clock for [`Table::later`] to continue from it.
const MOST_AHEAD: i64 = 60_000_000;

/// An offset from the current time.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Shift {
    /// Microseconds; negative is the past.
    Micros(i64),
    /// Seconds from an SQL expression, plus microseconds.
    Values { seconds: String, micros: i64 },
}

impl Shift {
    /// The current time.
    pub const NOW: Self = Self::Micros(0);

    /// The time that lies this long in the past.
    pub fn back(duration: Duration) -> Self {
        Self::Micros(-micros(duration))
    }
}

pub(crate) fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}

impl Table<'_> {
    fn form(&self, column: &str) -> Time {
        self.time(column).expect("Table::new knows every time column")
    }

    /// Returns the time in the column's form, to write.
    pub fn moment(&self, column: &str, shift: &Shift) -> String {
        let form = self.form(column);
        match self.dialect {
            Dialect::Postgres => postgres::shaped(form, &postgres::clock(shift)),
            Dialect::Mysql => mysql::shaped(form, &mysql::clock(shift)),
            Dialect::Sqlite => sqlite::shaped(form, &sqlite::clock(shift), &self.found(column)),
        }
    }

    /// Returns the current time in the column's form, to insert; on SQLite any row of the table shows the form.
    pub fn inserted(&self, column: &str) -> String {
        if self.dialect != Dialect::Sqlite {
            return self.moment(column, &Shift::NOW);
        }
        let found = format!("(SELECT {} FROM {} LIMIT 1)", self.quote(column), self.name());
        sqlite::shaped(self.form(column), &sqlite::clock(&Shift::NOW), &found)
    }

    /// Returns the current time in a given form, for a column outside the contract's table.
    pub fn now_as(&self, form: Time) -> String {
        match (self.dialect, form) {
            (Dialect::Postgres, form) => postgres::shaped(form, &postgres::clock(&Shift::NOW)),
            (Dialect::Mysql, form) => mysql::shaped(form, &mysql::clock(&Shift::NOW)),
            (Dialect::Sqlite, form @ Time::Found { .. }) => {
                let found = self
                    .role(ColumnRole::Created)
                    .or_else(|| self.role(ColumnRole::Due))
                    .unwrap_or("NULL".to_owned());
                sqlite::shaped(form, &sqlite::clock(&Shift::NOW), &found)
            }
            (Dialect::Sqlite, _) => "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')".to_owned(),
        }
    }

    /// Returns a time to write that is later than what the column holds.
    pub fn later(&self, column: &str, shift: &Shift) -> String {
        let form = self.form(column);
        let old = self.col(column);
        match self.dialect {
            Dialect::Postgres => postgres::later(form, &old, &postgres::clock(shift)),
            Dialect::Mysql => mysql::later(form, &old, &mysql::clock(shift)),
            Dialect::Sqlite => sqlite::later(form, &old, &sqlite::clock(shift), &self.found(column)),
        }
    }

    /// Returns the column in a form that can be compared with [`Table::bound`].
    pub fn instant(&self, column: &str) -> String {
        match self.dialect {
            Dialect::Postgres | Dialect::Mysql => self.col(column),
            Dialect::Sqlite => sqlite::instant(self.form(column), &self.col(column)),
        }
    }

    /// Returns the same for a column in which NULL means "at once". An index on this expression is used.
    pub fn instant_or_first(&self, column: &str) -> String {
        format!("COALESCE({}, {})", self.instant(column), self.first_instant(column))
    }

    /// Returns a value that comes before every [`Table::instant`] of the column.
    pub fn first_instant(&self, column: &str) -> &'static str {
        match (self.dialect, self.form(column)) {
            (Dialect::Postgres, Time::Zoned { .. } | Time::Zoneless { .. }) => "'-infinity'",
            (_, Time::Iso) => "''",
            _ => "0",
        }
    }

    /// Returns the time in a form that can be compared with [`Table::instant`].
    pub fn comparable(&self, column: &str, shift: &Shift) -> String {
        match self.dialect {
            Dialect::Postgres | Dialect::Mysql => self.moment(column, shift),
            Dialect::Sqlite => sqlite::clock(shift),
        }
    }

    /// Returns 9999-12-31 in the column's form, to write.
    pub fn never(&self, column: &str) -> String {
        match (self.dialect, self.form(column)) {
            (Dialect::Sqlite, form) => sqlite::shaped(form, NEVER_MILLIS, &self.found(column)),
            (_, form) => never_literal(form),
        }
    }

    /// Returns the condition that the column is 9999-12-31, or, if not `never`, that it is not.
    pub fn is_never(&self, column: &str, never: bool) -> String {
        let instant = self.instant(column);
        let bound = match self.dialect {
            Dialect::Sqlite => NEVER_MILLIS.to_owned(),
            Dialect::Postgres | Dialect::Mysql => never_literal(self.form(column)),
        };
        if never {
            format!("{instant} >= {bound}")
        } else {
            format!("({instant} IS NULL OR {instant} < {bound})")
        }
    }

    /// Returns the whole microseconds from the column's time to now; NULL if there is none.
    pub fn micros_since(&self, column: &str) -> String {
        self.micros_since_as(self.form(column), &self.col(column))
    }

    /// Returns the same for a column of another table, or any expression that holds a time in that form.
    pub fn micros_since_as(&self, form: Time, col: &str) -> String {
        match self.dialect {
            Dialect::Postgres => postgres::micros_since(form, col),
            Dialect::Mysql => mysql::micros_since(form, col),
            Dialect::Sqlite => {
                format!("(({}) - {}) * 1000", sqlite::clock(&Shift::NOW), sqlite::instant(form, col))
            }
        }
    }

    /// SQLite: the columns that show the form of this row's times.
    fn found(&self, column: &str) -> String {
        let mut places = vec![self.col(column)];
        for role in [ColumnRole::Due, ColumnRole::Created] {
            if let Some(name) = self.contract.column(role).filter(|name| *name != column) {
                places.push(self.col(name));
            }
        }
        if places.len() == 1 { places.remove(0) } else { format!("COALESCE({})", places.join(", ")) }
    }
}

const NEVER_MILLIS: &str = "253402214400000";

fn never_literal(form: Time) -> String {
    match form {
        Time::EpochSeconds => "253402214400".to_owned(),
        Time::EpochMillis => NEVER_MILLIS.to_owned(),
        Time::Iso => "'9999-12-31T00:00:00.000Z'".to_owned(),
        _ => "'9999-12-31 00:00:00'".to_owned(),
    }
}
