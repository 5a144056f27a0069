//! PostgreSQL: an INSERT that does nothing if the key exists. Unlike an error, that does not abort the transaction.

use sqlx::{AssertSqlSafe, PgConnection};

use crate::connection::{Connection, Dialect, Speaks};
use crate::insert::{Bound, Insert};
use crate::{Enqueued, Error, Times};

/// Number of tries: the existing row may be purged between our INSERT and our SELECT, but hardly several times.
const TRIES: usize = 5;

impl Dialect for PgConnection {
    const QUOTE: char = '"';
    const TIMES: Times = Times::Zoned;
    const CASTS: bool = true;

    fn placeholder(n: usize) -> String {
        format!("${n}")
    }

    /// Uses `clock_timestamp()`, because `now()` is constant within a transaction and records of one key are ordered by
    /// the time at which they were enqueued.
    fn now(times: Times) -> String {
        zoned(times, "clock_timestamp()")
    }

    fn after(times: Times, micros: &str) -> String {
        zoned(times, &format!("(clock_timestamp() + {micros} * interval '1 microsecond')"))
    }

    fn at(times: Times, micros: &str) -> String {
        zoned(times, &format!("('1970-01-01T00:00:00Z'::timestamptz + {micros} * interval '1 microsecond')"))
    }

    fn as_text(column: &str) -> String {
        format!("CAST({column} AS text)")
    }
}

fn zoned(times: Times, moment: &str) -> String {
    match times {
        Times::Zoned => moment.to_owned(),
        Times::Utc => format!("({moment} AT TIME ZONE 'UTC')"),
    }
}

impl Connection for PgConnection {}

impl Speaks for PgConnection {
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
            let made = query.fetch_optional(&mut *self).await.map_err(|cause| insert.failed(cause))?;
            if let Some(id) = made {
                return Ok(Enqueued { id, fresh: true });
            }
            let found: Option<(String, String)> = sqlx::query_as(AssertSqlSafe(earlier.as_str()))
                .bind(insert.dedupe)
                .fetch_optional(&mut *self)
                .await
                .map_err(|cause| insert.failed(cause))?;
            if let Some((id, key)) = found {
                return insert.same_key(key).map(|()| Enqueued { id, fresh: false });
            }
        }
        Err(insert.vanished())
    }
}
