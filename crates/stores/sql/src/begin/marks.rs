//! The internal tables of begun deliveries, as one list per worker, and of the crashes counted against rows.
//!
//! Without these tables nothing is recorded, and every answer is empty.

use std::collections::{HashMap, HashSet};

use postrider_seams::row::RowId;
use postrider_seams::store::Error;

use crate::Dialect;
use crate::driver::execute::{Arg, SqlBuilder, Statement};
use crate::driver::{Access, Driver};
use crate::internal::{ago, now, upsert};
use crate::typed::Columns;

/// The table with one list of begun leases for each stage and worker: `place`, `worker`, `leases` (JSON), `begun_at`.
pub const BEGUN: &str = "postrider_begun";
/// The table of consecutive crashes during a row's delivery: `place`, `row_id`, `crashes`, `crashed_at`.
pub const CRASHES: &str = "postrider_crashes";

/// A lease as the lists keep it: the key, then the fence, as text.
pub type Mark = Vec<Option<String>>;

/// Consecutive crashes of one row, and the microseconds since the last one.
#[derive(Debug, Clone, Copy, Default)]
pub struct Crashes {
    pub count: u32,
    pub since: i64,
}

/// Replaces the list of a worker; returns false if there is no table for it.
///
/// It is as durable as a settle: a request to a target must not be forgotten if worker and database fail together.
pub async fn write(on: &impl Driver, stage: &str, worker: &str, marks: &[Mark]) -> Result<bool, Error> {
    let dialect = on.dialect();
    let list = serde_json::to_string(marks).expect("lists of texts are JSON");
    let insert =
        SqlBuilder::new(dialect, format!("INSERT INTO {BEGUN} (place, worker, leases, begun_at) VALUES ("));
    let insert = insert.text(stage).push(", ").text(worker).push(", ").text(&list);
    let insert = insert.push(&format!(", {})", now(dialect)));
    let insert = insert.push(&upsert(dialect, "place, worker", &["leases", "begun_at"]));
    Ok(on.internal("mark rows as begun", Access::Write, insert.finish()).await?.is_some())
}

/// PostgreSQL: a statement that replaces the list of a worker, and returns the rows of `query`.
pub fn write_with(query: Statement, stage: &str, worker: &str, marks: &[Mark]) -> Statement {
    let Statement { sql, mut args } = query;
    let list = serde_json::to_string(marks).expect("lists of texts are JSON");
    let [place, name, leases] = [stage, worker, &list].map(|text| {
        args.push(Arg::Text(Some(text.to_owned())));
        format!("${}::text", args.len())
    });
    let upsert = upsert(Dialect::Postgres, "place, worker", &["leases", "begun_at"]);
    let now = now(Dialect::Postgres);
    let sql = format!(
        "WITH mark AS (\nINSERT INTO {BEGUN} (place, worker, leases, begun_at) VALUES ({place}, {name}, {leases}, \
         {now}){upsert})\n{sql}"
    );
    Statement { sql, args }
}

/// Deletes the list of a worker.
pub async fn delete(on: &impl Driver, stage: &str, worker: &str) -> Result<(), Error> {
    let delete = SqlBuilder::new(on.dialect(), format!("DELETE FROM {BEGUN} WHERE place = "));
    let delete = delete.text(stage).push(" AND worker = ").text(worker);
    on.internal("remove marks of begun rows", Access::Write, delete.finish()).await.map(drop)
}

/// Reads the leases that the workers of this stage have begun.
pub async fn begun(on: &impl Driver, stage: &str) -> Result<HashSet<Mark>, Error> {
    let query =
        SqlBuilder::new(on.dialect(), format!("SELECT leases FROM {BEGUN} WHERE place = ")).text(stage);
    let rows = on.internal("read which rows were begun", Access::Read, query.finish()).await?;
    let lists = rows.unwrap_or_default().into_iter().filter_map(|row| Columns::new(row).text());
    Ok(lists.filter_map(|list| serde_json::from_str::<Vec<Mark>>(&list).ok()).flatten().collect())
}

/// Reads the crash counts by row.
pub async fn crashes(on: &impl Driver, stage: &str) -> Result<HashMap<String, Crashes>, Error> {
    let micros = match on.dialect() {
        Dialect::Postgres => "(extract(epoch FROM clock_timestamp() - crashed_at) * 1000000)::bigint",
        Dialect::Mysql => "TIMESTAMPDIFF(MICROSECOND, crashed_at, UTC_TIMESTAMP(6))",
        Dialect::Sqlite => "CAST((julianday('now') - julianday(crashed_at)) * 86400000000 AS INTEGER)",
    };
    let text = format!("SELECT row_id, crashes, {micros} FROM {CRASHES} WHERE place = ");
    let query = SqlBuilder::new(on.dialect(), text).text(stage);
    let rows = on.internal("read crashes", Access::Read, query.finish()).await?;
    let read = |row| {
        let mut row = Columns::new(row);
        let id = row.text()?;
        Some((id, Crashes { count: row.small_count(), since: row.whole().unwrap_or(0) }))
    };
    Ok(rows.unwrap_or_default().into_iter().filter_map(read).collect())
}

/// Deletes the crash count of a row after a completed delivery.
pub async fn clear_crashes(on: &impl Driver, stage: &str, id: &RowId) -> Result<(), Error> {
    let delete = SqlBuilder::new(on.dialect(), format!("DELETE FROM {CRASHES} WHERE place = "));
    let delete = delete.text(stage).push(" AND row_id = ").text(&id.to_string());
    on.internal("clear crashes", Access::Write, delete.finish()).await.map(drop)
}

/// Deletes lists older than a day and crashes older than a month. None of them can concern a row that is claimed now.
pub async fn delete_old(on: &impl Driver) -> Result<(), Error> {
    for (table, column, days) in [(BEGUN, "begun_at", 1), (CRASHES, "crashed_at", 30)] {
        let text = format!("DELETE FROM {table} WHERE {column} < {}", ago(on.dialect(), days));
        let delete = SqlBuilder::new(on.dialect(), text);
        on.internal("remove old marks", Access::Write, delete.finish()).await?;
    }
    Ok(())
}
