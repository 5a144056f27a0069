//! Times in SQL: the database's clock, compared with a column and written to it in the column's own form.
//!
//! Owns: every expression with a clock in it. Must not: let a worker's clock in. Invariant: what [`Table::later`]
//! writes is not what the column held, in the column's own precision: it is later, unless that is far ahead of the clock.

mod mysql;
mod postgres;
mod sqlite;

use std::time::Duration;

use postrider_contract::Role;

use crate::Dialect;
use crate::column::Time;
use crate::table::Table;

/// Microseconds that a column may be ahead of the clock and still be followed.
const MOST_AHEAD: i64 = 60_000_000;

/// A distance from now.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Shift {
    /// Microseconds, ahead or (negative) back.
    Micros(i64),
    /// Seconds that an SQL expression gives, and microseconds on top.
    Given { seconds: String, micros: i64 },
}

impl Shift {
    pub const NOW: Self = Self::Micros(0);

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

    /// The moment in the column's form, to write.
    pub fn moment(&self, column: &str, shift: &Shift) -> String {
        let form = self.form(column);
        match self.dialect {
            Dialect::Postgres => postgres::shaped(form, &postgres::clock(shift)),
            Dialect::Mysql => mysql::shaped(form, &mysql::clock(shift)),
            Dialect::Sqlite => sqlite::shaped(form, &sqlite::clock(shift), &self.found(column)),
        }
    }

    /// Now in the column's form, to insert: there is no row yet to show the form, so any row of the table does.
    pub fn inserted(&self, column: &str) -> String {
        if self.dialect != Dialect::Sqlite {
            return self.moment(column, &Shift::NOW);
        }
        let found = format!("(SELECT {} FROM {} LIMIT 1)", self.quote(column), self.name());
        sqlite::shaped(self.form(column), &sqlite::clock(&Shift::NOW), &found)
    }

    /// Now in a form that no column of the contract's table has.
    pub fn now_as(&self, form: Time) -> String {
        match (self.dialect, form) {
            (Dialect::Postgres, form) => postgres::shaped(form, &postgres::clock(&Shift::NOW)),
            (Dialect::Mysql, form) => mysql::shaped(form, &mysql::clock(&Shift::NOW)),
            (Dialect::Sqlite, form @ Time::Found { .. }) => {
                let found =
                    self.role(Role::Created).or_else(|| self.role(Role::Due)).unwrap_or("NULL".to_owned());
                sqlite::shaped(form, &sqlite::clock(&Shift::NOW), &found)
            }
            (Dialect::Sqlite, _) => "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')".to_owned(),
        }
    }

    /// The same, but later than what the column holds.
    pub fn later(&self, column: &str, shift: &Shift) -> String {
        let form = self.form(column);
        let old = self.col(column);
        match self.dialect {
            Dialect::Postgres => postgres::later(form, &old, &postgres::clock(shift)),
            Dialect::Mysql => mysql::later(form, &old, &mysql::clock(shift)),
            Dialect::Sqlite => sqlite::later(form, &old, &sqlite::clock(shift), &self.found(column)),
        }
    }

    /// The column as something that [`Table::bound`] can be compared with.
    pub fn instant(&self, column: &str) -> String {
        match self.dialect {
            Dialect::Postgres | Dialect::Mysql => self.col(column),
            Dialect::Sqlite => sqlite::instant(self.form(column), &self.col(column)),
        }
    }

    /// The same where NULL means "at once". An index on this very expression serves it.
    pub fn instant_or_first(&self, column: &str) -> String {
        let first = match (self.dialect, self.form(column)) {
            (Dialect::Postgres, Time::Zoned { .. } | Time::Zoneless { .. }) => "'-infinity'",
            (_, Time::Iso) => "''",
            _ => "0",
        };
        format!("COALESCE({}, {first})", self.instant(column))
    }

    /// The moment as something to compare [`Table::instant`] with.
    pub fn bound(&self, column: &str, shift: &Shift) -> String {
        match self.dialect {
            Dialect::Postgres | Dialect::Mysql => self.moment(column, shift),
            Dialect::Sqlite => sqlite::clock(shift),
        }
    }

    /// 9999-12-31, to write.
    pub fn never(&self, column: &str) -> String {
        match (self.dialect, self.form(column)) {
            (Dialect::Sqlite, form) => sqlite::shaped(form, NEVER_MILLIS, &self.found(column)),
            (_, form) => never_literal(form),
        }
    }

    /// Is the column (not) 9999-12-31?
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

    /// Whole microseconds from the column's time to now; NULL where there is none.
    pub fn micros_since(&self, column: &str) -> String {
        self.micros_since_as(self.form(column), &self.col(column))
    }

    /// The same for a column of another table, or any expression that holds a time in that form.
    pub fn micros_since_as(&self, form: Time, col: &str) -> String {
        match self.dialect {
            Dialect::Postgres => postgres::micros_since(form, col),
            Dialect::Mysql => mysql::micros_since(form, col),
            Dialect::Sqlite => {
                format!("(({}) - {}) * 1000", sqlite::clock(&Shift::NOW), sqlite::instant(form, col))
            }
        }
    }

    /// SQLite: where to look for the form in which this row keeps its times.
    fn found(&self, column: &str) -> String {
        let mut places = vec![self.col(column)];
        for role in [Role::Due, Role::Created] {
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
