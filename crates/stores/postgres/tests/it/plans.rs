//! Rows that the statements of a lane with pools, fair queue and external queue read from a large backlog, as the
//! server counts them: only the rows they return, none of those that wait for something else.

use postrider_seams::migrate::{Migrate as _, MigrateOptions};
use postrider_sql::{Param, Script, Step};
use sqlx::{AssertSqlSafe, Executor as _, Row as _};

use crate::server::{Server, contract, with_database};

/// Rows of the backlog; `POSTRIDER_BACKLOG` makes it larger.
fn backlog() -> i64 {
    std::env::var("POSTRIDER_BACKLOG").ok().and_then(|text| text.parse().ok()).unwrap_or(40_000)
}

/// Inserts rows of every kind that a statement should not read: finished, on the queue, in groups and in a paused pool
/// (with and without a mark), to be retried later, dead, scheduled. Then ten rows of each kind that a statement
/// selects.
async fn fill(server: &Server) {
    let columns = "id, code, target_url, payload, client_id, status, mode, message_group, dispatch_pool_id, attempt_count, \
                   queued_at, next_attempt_at, scheduled_for, expires_at, created_at";
    server
        .run(&format!(
            "INSERT INTO dispatch_jobs ({columns}) SELECT lpad(n::text, 13, '0'), 'a:b:c:d', 'http://x/', '{{}}', 'c' || n % 7, \
             CASE WHEN k < 5 THEN 'COMPLETED' WHEN k < 14 OR k = 19 THEN 'QUEUED' WHEN k < 18 THEN 'ERROR' ELSE 'PENDING' END, \
             CASE WHEN k BETWEEN 8 AND 11 THEN 'BLOCK_ON_ERROR' ELSE 'IMMEDIATE' END, \
             CASE WHEN k BETWEEN 8 AND 11 THEN 'g' || n % 500 END, \
             CASE WHEN k BETWEEN 12 AND 13 THEN 'still' END, CASE WHEN k BETWEEN 14 AND 17 THEN 1 ELSE 0 END, \
             CASE WHEN k BETWEEN 5 AND 7 OR k = 19 THEN now() WHEN k IN (10, 11, 13) THEN now() - interval '1 day' END, \
             CASE WHEN k BETWEEN 14 AND 16 THEN now() + interval '1 hour' END, \
             CASE WHEN k = 18 THEN now() + interval '1 day' END, CASE WHEN k = 19 THEN now() + interval '1 day' END, \
             now() - n * interval '1 second' FROM (SELECT n, n % 20 AS k FROM generate_series(1, {}) AS n) AS rows",
            backlog()
        ))
        .await;
    server
        .run(&format!(
            "INSERT INTO dispatch_jobs ({columns}) SELECT 'S' || lpad(n::text, 12, '0'), 'a:b:c:d', 'http://x/', '{{}}', 'c', \
             CASE WHEN n % 4 = 3 THEN 'PENDING' WHEN n % 4 = 1 THEN 'ERROR' ELSE 'QUEUED' END, 'IMMEDIATE', NULL, NULL, n % 4 % 2, \
             CASE WHEN n % 4 = 2 THEN now() - interval '1 hour' END, CASE WHEN n % 4 = 1 THEN now() - interval '1 minute' END, \
             NULL, NULL, now() FROM generate_series(1, 40) AS n"
        ))
        .await;
    server
        .run("CREATE TABLE dispatch_pools (id varchar(13) PRIMARY KEY, concurrency integer, rate_per_minute integer, paused boolean)")
        .await;
    server.run("INSERT INTO dispatch_pools (id, paused) VALUES ('still', true)").await;
    server.run("INSERT INTO postrider_pools (pool, free_at) VALUES ('still', 0)").await;
    server.run("VACUUM ANALYZE dispatch_jobs").await;
}

/// Returns the number of table rows that a step reads, and its plan.
async fn reads(server: &Server, step: &Step) -> (f64, String) {
    let mut sql = step.sql.clone();
    for (index, bind) in step.params.iter().enumerate().rev() {
        let value = match bind {
            Param::Limit | Param::Jumps => "500",
            Param::Owner => "'me'",
            Param::Cursor => "'f'",
            Param::Quota => "50",
            Param::Shares => r#"E'[{"s": "f\\tc1", "n": 50}, {"s": "fstill\\tc2", "n": 50}]'"#,
            Param::Pools => "ARRAY['still']",
            Param::Ids | Param::Held => "ARRAY['S000000000001', '0000000000005', '0000000000008']",
            other => panic!("nothing here binds {other:?}"),
        };
        sql = sql.replace(&format!("${}", index + 1), value);
    }
    let mut change = server.sql.begin().await.expect("a transaction");
    for setting in ["enable_bitmapscan = off", "jit = off"] {
        change.execute(AssertSqlSafe(format!("SET LOCAL {setting}"))).await.expect("as the store has it");
    }
    let explain = format!("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) {sql}");
    let rows =
        change.fetch_all(AssertSqlSafe(explain)).await.unwrap_or_else(|error| panic!("{error}: {sql}"));
    let lines: Vec<String> = rows.iter().map(|row| row.get::<String, _>(0)).collect();
    change.rollback().await.expect("nothing is kept");
    (read_by(&lines), lines.join("\n"))
}

/// Sums up the rows that scans of the table returned and filtered out.
fn read_by(lines: &[String]) -> f64 {
    let number = |line: &str, after: &str| -> f64 {
        let rest = line.split_once(after).map(|(_, rest)| rest).unwrap_or_default();
        rest.chars()
            .take_while(|c| c.is_ascii_digit() || *c == '.')
            .collect::<String>()
            .parse()
            .unwrap_or(0.0)
    };
    let (mut read, mut loops) = (0.0, 0.0);
    for line in lines {
        if line.contains("->") || line.contains("Scan ") {
            let of_table = line.contains(" on dispatch_jobs") && line.contains("Scan ");
            loops = if of_table { number(line, "loops=") } else { 0.0 };
            read += number(line, "rows=") * loops;
        } else if line.contains("Rows Removed by") {
            read += number(line, ": ") * loops;
        }
    }
    read
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
            ("spent", &program.spent.as_ref().expect("it counts").script),
            ("reclaim", &program.reclaim.as_ref().expect("it has leases").find.script),
        ];
        scripts.extend(handoff.due.iter().map(|typed| ("offer", &typed.script)));
        scripts.extend(handoff.recall.iter().map(|typed| ("recall", &typed.script)));
        scripts.extend(program.sweeps.iter().map(|typed| ("sweep", &typed.script)));
        for (what, script) in scripts {
            for step in &script.steps {
                let (read, plan) = reads(&server, step).await;
                assert!(read <= 1000.0, "{what} reads {read} rows:\n{}\n{plan}", step.sql);
            }
        }
    })
    .await;
}
