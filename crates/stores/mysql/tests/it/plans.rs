//! Rows that the statements of a lane with pools, fair queue and external queue read from a large backlog, as the
//! server counts them: only the rows they return, none of those that wait for something else.

use postrider_seams::migrate::{Migrate as _, MigrateOptions};
use postrider_sql::{Param, Script, Step};
use sqlx::{AssertSqlSafe, Executor as _, Row as _};

use crate::groups::numbers;
use crate::server::{Server, contract, with_database};

/// Rows of the backlog; `POSTRIDER_BACKLOG` makes it larger.
fn backlog() -> i64 {
    std::env::var("POSTRIDER_BACKLOG").ok().and_then(|text| text.parse().ok()).unwrap_or(40_000)
}

/// Inserts rows of every kind that a statement should not read: finished, on the queue, in groups and in a paused pool
/// (with and without a mark), to be retried later, dead, scheduled. Then ten rows of each kind that a statement
/// selects.
async fn fill(server: &Server) {
    let columns = "id, `code`, target_url, payload, client_id, `status`, `mode`, message_group, dispatch_pool_id, \
                   attempt_count, queued_at, next_attempt_at, scheduled_for, expires_at, created_at";
    let now = "UTC_TIMESTAMP(6)";
    for from in (0..backlog()).step_by(20_000) {
        server
            .run(&format!(
                "INSERT INTO dispatch_jobs ({columns}) SELECT LPAD(n, 13, '0'), 'a:b:c:d', 'http://x/', '{{}}', \
                 CONCAT('c', n % 7), CASE WHEN k < 5 THEN 'COMPLETED' WHEN k < 14 OR k = 19 THEN 'QUEUED' WHEN k < 18 THEN \
                 'ERROR' ELSE 'PENDING' END, CASE WHEN k BETWEEN 8 AND 11 THEN 'BLOCK_ON_ERROR' ELSE 'IMMEDIATE' END, \
                 CASE WHEN k BETWEEN 8 AND 11 THEN CONCAT('g', n % 500) END, CASE WHEN k BETWEEN 12 AND 13 THEN 'still' END, \
                 CASE WHEN k BETWEEN 14 AND 17 THEN 1 ELSE 0 END, CASE WHEN k BETWEEN 5 AND 7 OR k = 19 THEN {now} WHEN k IN \
                 (10, 11, 13) THEN {now} - INTERVAL 1 DAY END, CASE WHEN k BETWEEN 14 AND 16 THEN {now} + INTERVAL 1 HOUR END, \
                 CASE WHEN k = 18 THEN {now} + INTERVAL 1 DAY END, CASE WHEN k = 19 THEN {now} + INTERVAL 1 DAY END, \
                 {now} - INTERVAL n SECOND FROM (SELECT seq + {from} AS n, (seq + {from}) % 20 AS k FROM {}) AS `rows`",
                numbers((backlog() - from).min(20_000))
            ))
            .await;
    }
    server
        .run(&format!(
            "INSERT INTO dispatch_jobs ({columns}) SELECT CONCAT('S', LPAD(seq, 12, '0')), 'a:b:c:d', 'http://x/', '{{}}', 'c', \
             CASE WHEN seq % 4 = 3 THEN 'PENDING' WHEN seq % 4 = 1 THEN 'ERROR' ELSE 'QUEUED' END, 'IMMEDIATE', NULL, NULL, \
             seq % 4 % 2, CASE WHEN seq % 4 = 2 THEN {now} - INTERVAL 1 HOUR END, \
             CASE WHEN seq % 4 = 1 THEN {now} - INTERVAL 1 MINUTE END, NULL, NULL, {now} FROM {}",
            numbers(40)
        ))
        .await;
    server
        .run("CREATE TABLE dispatch_pools (id VARCHAR(13) PRIMARY KEY, concurrency integer, rate_per_minute integer, paused boolean)")
        .await;
    server.run("INSERT INTO dispatch_pools (id, paused) VALUES ('still', true)").await;
    server.run("INSERT INTO postrider_pools (pool, free_at) VALUES ('still', 0)").await;
    server.run("ANALYZE TABLE dispatch_jobs").await;
}

fn filled(step: &Step) -> String {
    let mut sql = step.sql.clone();
    let keys = "'S000000000001', '0000000000005', '0000000000008'";
    for bind in &step.params {
        let (mark, value) = match bind {
            Param::Limit | Param::Jumps => ("?", "500"),
            Param::Owner => ("?", "'me'"),
            Param::Cursor => ("?", "'f'"),
            Param::Quota => ("?", "50"),
            Param::Share => ("?", "'fstill\\tc2'"),
            Param::ClaimTime => ("?", "UTC_TIMESTAMP(6)"),
            Param::Pools => ("{pools}", "'still'"),
            Param::Ids => ("{ids}", keys),
            Param::Held => ("{held}", keys),
            other => panic!("nothing here binds {other:?}"),
        };
        sql = sql.replacen(mark, value, 1);
    }
    sql
}

/// Returns the number of rows, of tables and indexes, that a step reads.
async fn reads(server: &Server, sql: &str) -> u64 {
    let mut change = server.sql.begin().await.expect("a transaction");
    let before = handled(&mut change).await;
    change.fetch_all(AssertSqlSafe(sql)).await.unwrap_or_else(|error| panic!("{error}: {sql}"));
    let read = handled(&mut change).await - before;
    change.rollback().await.expect("nothing is kept");
    read
}

/// Returns the query plan: table, access type, index, rows, and extra information.
async fn plan(server: &Server, sql: &str) -> String {
    let explain = format!("EXPLAIN FORMAT=TRADITIONAL {sql}");
    let rows = sqlx::raw_sql(AssertSqlSafe(explain)).fetch_all(&server.sql).await.expect("a plan");
    let cell = |row: &sqlx::mysql::MySqlRow, name: &str| {
        row.try_get::<Option<String>, _>(name).ok().flatten().unwrap_or_default()
    };
    let line = |row| ["table", "type", "key", "ref", "Extra"].map(|name| cell(row, name)).join(" | ");
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

async fn handled(connection: &mut sqlx::MySqlConnection) -> u64 {
    let rows = connection.fetch_all("SHOW SESSION STATUS LIKE 'Handler_read%'").await.expect("a status");
    rows.iter().map(|row| row.get::<String, _>(1).parse::<u64>().expect("a number")).sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn j03_j09_no_poller_and_no_claim_reads_the_backlog() {
    with_database(|server| async move {
        let queued = contract("dispatch_jobs").with_queue();
        let database = server.database();
        database.migration(queued.clone()).apply(MigrateOptions::default()).await.expect("migrate");
        let store = database.open(queued, "deliver", "test").await.expect("open");
        fill(&server).await;
        let program = &store.opened().statements;
        let handoff = program.handoff.as_ref().expect("it has a queue");
        let shares = program.shares.as_ref().expect("it has shares");
        let pools = shares.pools.as_ref().expect("it has pools");
        let mut scripts: Vec<(&str, &Script)> = vec![
            ("shares", &shares.first.script),
            ("more shares", &shares.after.script),
            ("claim of shares", &shares.take.script),
            ("claim of shares of limited pools", &pools.take.script),
            ("pools", &pools.limits.script),
            ("claim by key", &handoff.claim.script),
            ("standing", &handoff.unclaimed_reasons.script),
            ("next due", &program.next_due.script),
            ("reclaim", &program.reclaim.as_ref().expect("it has leases").find.script),
        ];
        scripts.extend(handoff.due.iter().map(|typed| ("offer", &typed.script)));
        scripts.extend(handoff.recall.iter().map(|typed| ("recall", &typed.script)));
        scripts.extend(program.sweeps.iter().map(|typed| ("sweep", &typed.script)));
        for (what, script) in scripts {
            for step in &script.steps {
                let sql = filled(step);
                let read = reads(&server, &sql).await;
                assert!(read <= 1000, "{what} reads {read} rows:\n{sql}\n{}", plan(&server, &sql).await);
            }
        }
    })
    .await;
}
