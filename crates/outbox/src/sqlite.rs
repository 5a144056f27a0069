//! SQLite: an INSERT that does nothing if the key exists. There is one writer at a time, so each sees earlier rows.

use sqlx::{AssertSqlSafe, SqliteConnection};

use crate::connection::{Connection, Dialect, Speaks};
use crate::insert::{Bound, Insert};
use crate::{Enqueued, Error, Times};

/// Number of tries: outside a transaction, the existing row may be purged between our INSERT and our SELECT.
const TRIES: usize = 5;

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

impl Connection for SqliteConnection {}

impl Speaks for SqliteConnection {
    async fn insert(&mut self, insert: &Insert<'_>) -> Result<Enqueued, Error> {
        let statement = insert.render_repeatable::<Self>()?;
        let earlier = insert.earlier::<Self>();
        for _ in 0..TRIES {
            let mut query = sqlx::query_scalar::<_, String>(AssertSqlSafe(statement.text.as_str()));
            for bound in &statement.bound {
                query = match bound {
                    Bound::Text(text) => query.bind(*text),
                    Bound::Made(text) => query.bind(text.as_str()),
                    Bound::Int(number) => query.bind(*number),
                };
            }
            // Fetches all rows, not only the first: a statement that is not finished keeps its lock.
            let mut made = query.fetch_all(&mut *self).await.map_err(|cause| insert.failed(cause))?;
            if let Some(id) = made.pop() {
                return Ok(Enqueued { id, fresh: true });
            }
            let found: Vec<(String, String)> = sqlx::query_as(AssertSqlSafe(earlier.as_str()))
                .bind(insert.dedupe)
                .fetch_all(&mut *self)
                .await
                .map_err(|cause| insert.failed(cause))?;
            if let Some((id, key)) = found.into_iter().next() {
                return insert.same_key(key).map(|()| Enqueued { id, fresh: false });
            }
        }
        Err(insert.vanished())
    }
}
