//! SQLite: an INSERT that does nothing if the key exists. There is one writer at a time, so each sees earlier rows.

use sqlx::{AssertSqlSafe, SqliteConnection};

use crate::connection::{Dialect, insert_or_find};
use crate::insert::Insert;
use crate::{Enqueued, Error, Times};

const FORM: &str = "%Y-%m-%dT%H:%M:%fZ";

impl Dialect for SqliteConnection {
    const QUOTE: char = '"';
    const TIMES: Times = Times::Utc;
    const CASTS: bool = false;

    fn placeholder(n: usize) -> String {
        format!("?{n}")
    }

    fn now(_: Times) -> String {
        format!("strftime('{FORM}', 'now')")
    }

    fn after(_: Times, micros: &str) -> String {
        format!("strftime('{FORM}', 'now', printf('%.3f seconds', {micros} / 1000000.0))")
    }

    fn at(_: Times, micros: &str) -> String {
        format!("strftime('{FORM}', {micros} / 1000000.0, 'unixepoch')")
    }

    fn as_text(column: &str) -> String {
        format!("CAST({column} AS text)")
    }
}

insert_or_find!(SqliteConnection);
