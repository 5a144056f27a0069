//! Named locks and paused lanes, in two internal tables. Without these tables, every lock is granted and no lane is
//! paused.

use std::time::Duration;

use postrider_seams::store::{Class, Error};

use super::{LANES, LOCKS, now, upsert};
use crate::Dialect;
use crate::driver::execute::{Arg, SqlBuilder, Statement};
use crate::driver::{Access, Driver};
use crate::typed::{Columns, Row};

/// Acquires or renews a lock and returns whether it is held; without the table it always is.
pub async fn acquire(on: &impl Driver, name: &str, ttl: Duration) -> Result<bool, Error> {
    let acquire = lock_acquire(on.dialect(), name, on.owner(), ttl);
    if on.internal("acquire a lock", Access::Write, acquire).await?.is_none() {
        return Ok(true);
    }
    // It follows a write, which a reader of a pool might not see yet.
    let holder = on.internal("read who holds a lock", Access::Write, lock_owner(on.dialect(), name)).await?;
    Ok(holder.is_none_or(|rows| first_text(rows).as_deref() == Some(on.owner())))
}

/// Whether there is a table of locks, so that a lock excludes other workers.
pub async fn exist(on: &impl Driver) -> Result<bool, Error> {
    let nobody = lock_owner(on.dialect(), "");
    Ok(on.internal("find the table of locks", Access::Read, nobody).await?.is_some())
}

/// Releases a lock.
pub async fn release(on: &impl Driver, name: &str) -> Result<(), Error> {
    let release = lock_release(on.dialect(), name, on.owner());
    on.internal("release a lock", Access::Write, release).await.map(drop)
}

/// Whether an operator paused the lane.
pub async fn paused(on: &impl Driver, lane: &str) -> Result<bool, Error> {
    let text = format!("SELECT CASE WHEN paused THEN 1 ELSE 0 END FROM {LANES} WHERE lane = ");
    let query = SqlBuilder::new(on.dialect(), text).text(lane).finish();
    let rows = on.internal("read whether the lane is paused", Access::Read, query).await?;
    Ok(rows.into_iter().flatten().any(|row| Columns::new(row).count() == 1))
}

/// Pauses or resumes the lane.
pub async fn set_paused(on: &impl Driver, lane: &str, paused: bool) -> Result<(), Error> {
    let dialect = on.dialect();
    let set = SqlBuilder::new(dialect, format!("INSERT INTO {LANES} (lane, paused, changed_at) VALUES ("));
    let set = set.text(lane).push(", ").flag(paused).push(&format!(", {})", now(dialect)));
    let set = set.push(&upsert(dialect, "lane", &["paused", "changed_at"])).finish();
    match on.internal("pause or resume the lane", Access::Write, set).await? {
        Some(_) => Ok(()),
        None => Err(Error::new(
            Class::Misconfigured,
            format!("there is no table {LANES} to keep a pause in: run `postrider migrate`"),
        )),
    }
}

fn first_text(rows: Vec<Row>) -> Option<String> {
    rows.into_iter().next().and_then(|row| Columns::new(row).text())
}

/// Acquires or renews a lock. It is held if [`lock_owner`] then returns the owner.
fn lock_acquire(dialect: Dialect, name: &str, owner: &str, ttl: Duration) -> Statement {
    let insert = SqlBuilder::new(dialect, format!("INSERT INTO {LOCKS} (name, owner, expires_at) VALUES ("));
    let (before, after) = match dialect {
        Dialect::Postgres => ("now() + make_interval(secs => ", ")"),
        Dialect::Mysql => ("UTC_TIMESTAMP(6) + INTERVAL ROUND(", " * 1000000) MICROSECOND"),
        Dialect::Sqlite => ("strftime('%Y-%m-%dT%H:%M:%fZ', 'now', ", " || ' seconds')"),
    };
    let insert = insert.text(name).push(", ").text(owner).push(", ").push(before);
    let insert = insert.value(Arg::Float(Some(ttl.as_secs_f64()))).push(after).push(")");
    let now = now(dialect);
    let conflict = match dialect {
        // MySQL assigns from left to right: the time is decided by the previous owner.
        Dialect::Mysql => format!(
            " ON DUPLICATE KEY UPDATE \
             expires_at = IF(owner = VALUES(owner) OR expires_at < {now}, VALUES(expires_at), expires_at), \
             owner = IF(expires_at = VALUES(expires_at), VALUES(owner), owner)"
        ),
        Dialect::Postgres | Dialect::Sqlite => format!(
            "{} WHERE {LOCKS}.owner = excluded.owner OR {LOCKS}.expires_at < {now}",
            upsert(dialect, "name", &["owner", "expires_at"])
        ),
    };
    insert.push(&conflict).finish()
}

/// Yields the current holder of a lock.
fn lock_owner(dialect: Dialect, name: &str) -> Statement {
    let query = SqlBuilder::new(dialect, format!("SELECT owner FROM {LOCKS} WHERE name = ")).text(name);
    query.push(&format!(" AND expires_at >= {}", now(dialect))).finish()
}

fn lock_release(dialect: Dialect, name: &str, owner: &str) -> Statement {
    let delete = SqlBuilder::new(dialect, format!("DELETE FROM {LOCKS} WHERE name = ")).text(name);
    delete.push(" AND owner = ").text(owner).finish()
}
