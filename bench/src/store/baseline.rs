//! The baseline: the same two statements in the same batches without the engine, the limit of the database itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

use postrider_contract::{Contract, Transition};
use postrider_seams::store::Settlement;
use postrider_sql::bind::{Claiming, Limit, Settlements};
use postrider_sql::driver::Driver;
use postrider_sql::open_table::OpenTable;
use postrider_sql::{Field, Param, Step};
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::query::Query;
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection, Postgres, Row};
use tokio::time::Instant;

use crate::lane::{self, rate};
use crate::servers::BenchTable;

/// Concurrent loops of claim and settle: as many connections as the engine uses.
const LOOPS: usize = 4;

/// Claims and settles `rows` rows; returns rows per second.
pub async fn run(table: &BenchTable, contract: &Contract, rows: u64, batch: u32) -> f64 {
    let left = Arc::new(AtomicI64::new(i64::try_from(rows).expect("fewer rows than that")));
    let stage = &contract.stages[0].name;
    let started = Instant::now();
    match table {
        BenchTable::Postgres { database, url } => {
            let store = database.open(contract.clone(), stage, "bench").await.expect("opened");
            let loops = (0..LOOPS).map(|_| {
                let (opened, url, left) = (store.opened().clone(), url.clone(), Arc::clone(&left));
                tokio::spawn(async move { postgres(&opened, &url, batch, &left).await })
            });
            for ended in loops.collect::<Vec<_>>() {
                ended.await.expect("a loop ended well");
            }
        }
        BenchTable::Mariadb { database, .. } => {
            let store = database.open(contract.clone(), stage, "bench").await.expect("opened");
            let loops = (0..LOOPS).map(|_| {
                let (opened, database, left) = (store.opened().clone(), database.clone(), Arc::clone(&left));
                tokio::spawn(async move { scripts(&database, &opened, batch, &left).await })
            });
            for ended in loops.collect::<Vec<_>>() {
                ended.await.expect("a loop ended well");
            }
        }
        BenchTable::Sqlite { database, .. } => {
            let store = database.open(contract.clone(), stage, "bench").await.expect("opened");
            scripts(database, store.opened(), batch, &left).await;
        }
    }
    rate(rows, started.elapsed())
}

/// Runs the loop on PostgreSQL with the bare driver.
async fn postgres(opened: &OpenTable, url: &str, batch: u32, left: &AtomicI64) {
    let mut connection = PgConnection::connect(url).await.expect("connected");
    connection.execute("SET TIME ZONE 'UTC'").await.expect("set");
    let claim = &opened.statements.claim[0].script.steps[0];
    let settle =
        opened.statements.settle[&Transition::Delivered].uniform.as_ref().expect("mail has a uniform settle");
    while left.load(Relaxed) > 0 {
        let rows = connection.fetch_all(bound(claim, batch, &[], None)).await.expect("claimed");
        if rows.is_empty() {
            // Another loop holds the last rows.
            return;
        }
        let fence: Option<String> = rows[0].get(1);
        let keys: Vec<String> = rows.iter().map(key).collect();
        let moved = connection
            .fetch_all(bound(&settle.script.steps[0], batch, &keys, fence.as_deref()))
            .await
            .expect("settled");
        left.fetch_sub(i64::try_from(moved.len()).expect("a batch"), Relaxed);
    }
}

fn key(row: &PgRow) -> String {
    row.get::<i64, _>(0).to_string()
}

fn bound<'q>(
    step: &'q Step,
    limit: u32,
    keys: &[String],
    fence: Option<&str>,
) -> Query<'q, Postgres, PgArguments> {
    let mut query = sqlx::query(AssertSqlSafe(step.sql.as_str()));
    for bind in &step.params {
        query = match bind {
            Param::Limit => query.bind(i64::from(limit)),
            Param::Owner => query.bind("bare"),
            Param::Ids | Param::Array(Field::Id) => query.bind(keys.to_vec()),
            Param::One(Field::Fence(_)) => query.bind(fence.map(str::to_owned)),
            _ => query.bind(None::<String>),
        };
    }
    query
}

/// Runs the loop on MariaDB and SQLite with the store's script runner, which adds only the transaction.
async fn scripts(database: &impl Driver, opened: &OpenTable, batch: u32, left: &AtomicI64) {
    let settle = &opened.statements.settle[&Transition::Delivered];
    let script = settle.uniform.as_ref().unwrap_or(&settle.each);
    while left.load(Relaxed) > 0 {
        let claim = &opened.statements.claim[0];
        let params = Claiming::new(&opened.statements.layout, Limit(batch));
        let rows = database.fetch("claim", claim, params).await.expect("claimed");
        if rows.is_empty() {
            return;
        }
        let moves: Vec<Settlement> = rows.into_iter().map(|row| lane::delivered(row.lease)).collect();
        let moves: Vec<&Settlement> = moves.iter().collect();
        let settled = database.fetch("settle", script, Settlements(&moves)).await.expect("settled");
        left.fetch_sub(i64::try_from(settled.len()).expect("a batch"), Relaxed);
    }
}
