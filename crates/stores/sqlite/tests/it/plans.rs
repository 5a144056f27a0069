//! Query plans of a lane with pools, fair queue and external queue: each statement finds its rows by an index on just
//! those rows, in order, so that no backlog is scanned or sorted.

use postrider_seams::migrate::{Migrate as _, MigrateOptions};
use postrider_sql::{Param, Script, Step};
use sqlx::{AssertSqlSafe, Row as _};

use crate::file::{File, contract};

async fn plan(file: &File, step: &Step) -> String {
    let mut sql = step.sql.clone();
    let keys = "'[\"S000000000001\", \"0000000000005\"]'";
    for (index, bind) in step.params.iter().enumerate().rev() {
        let value = match bind {
            Param::Limit | Param::Jumps => "500",
            Param::Owner => "'me'",
            Param::Cursor => "'f'",
            Param::Quota => "50",
            Param::Shares => "'[{\"s\": \"f\\tc1\", \"n\": 50}]'",
            Param::Pools => "'[\"still\"]'",
            Param::Ids | Param::Held => keys,
            other => panic!("nothing here binds {other:?}"),
        };
        sql = sql.replace(&format!("?{}", index + 1), value);
    }
    let rows = sqlx::query(AssertSqlSafe(format!("EXPLAIN QUERY PLAN {sql}")))
        .fetch_all(&file.sql)
        .await
        .unwrap_or_else(|error| panic!("{error}: {sql}"));
    let lines: Vec<String> = rows.iter().map(|row| row.get::<String, _>(3)).collect();
    lines.join("\n")
}

/// Without statistics, and with those of a large backlog: statistics must not lead to worse plans.
#[tokio::test(flavor = "multi_thread")]
async fn j03_j09_no_poller_and_no_claim_reads_the_backlog() {
    let file = File::new();
    let queued = contract("dispatch_jobs").with_queue();
    let database = file.database();
    database.migration(queued.clone()).apply(MigrateOptions::default()).await.expect("migrate");
    let store = database.open(queued, "deliver", "test").await.expect("open");
    file.run("CREATE TABLE dispatch_pools (id TEXT PRIMARY KEY, concurrency INTEGER, rate_per_minute INTEGER, paused BOOLEAN)")
        .await;
    let program = &store.opened().statements;
    check(&file, program).await;
    file.run(
        "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 20000) \
         INSERT INTO dispatch_jobs (id, code, target_url, payload, client_id, status, mode, message_group, dispatch_pool_id, \
         queued_at, next_attempt_at, scheduled_for) SELECT printf('%013d', n), 'a:b:c:d', 'http://x/', '{}', 'c' || n % 7, \
         CASE WHEN n % 20 < 5 THEN 'COMPLETED' WHEN n % 20 < 14 THEN 'QUEUED' WHEN n % 20 < 18 THEN 'ERROR' ELSE 'PENDING' END, \
         CASE WHEN n % 20 BETWEEN 8 AND 11 THEN 'BLOCK_ON_ERROR' ELSE 'IMMEDIATE' END, \
         CASE WHEN n % 20 BETWEEN 8 AND 11 THEN 'g' || n % 500 END, CASE WHEN n % 20 = 12 THEN 'still' END, \
         CASE WHEN n % 2 = 0 THEN '2026-01-01T00:00:00.000Z' END, \
         CASE WHEN n % 20 BETWEEN 14 AND 16 THEN '2999-01-01T00:00:00.000Z' END, \
         CASE WHEN n % 20 > 17 THEN '2999-01-01T00:00:00.000Z' END FROM n",
    )
    .await;
    file.run("ANALYZE").await;
    check(&file, program).await;
}

async fn check(file: &File, program: &postrider_sql::Statements) {
    let handoff = program.handoff.as_ref().expect("it has a queue");
    let shares = program.shares.as_ref().expect("it has shares");
    let pools = shares.pools.as_ref().expect("it has pools");
    let mut scripts: Vec<(&str, &Script, Option<&str>)> = vec![
        ("shares", &shares.first.script, Some("deliver_ready")),
        ("more shares", &shares.after.script, Some("deliver_ready")),
        ("claim of shares", &shares.take.script, Some("deliver_ready")),
        ("claim of shares of limited pools", &pools.take.script, None),
        ("pools", &pools.limits.script, Some("dispatch_jobs_states3_own")),
        ("claim by key", &handoff.claim.script, None),
        ("standing", &handoff.unclaimed_reasons.script, None),
        ("next due", &program.next_due.script, Some("deliver_ready")),
        ("spent", &program.spent.as_ref().expect("it counts").script, Some("dispatch_jobs_states3_own")),
        (
            "reclaim",
            &program.reclaim.as_ref().expect("it has leases").find.script,
            Some("dispatch_jobs_states3_own"),
        ),
    ];
    // QUEUED rows without a mark, and rows to be retried with no mark or an old one.
    let offers = ["deliver_offer (", "deliver_offer2 (", "deliver_queued2 ("];
    assert_eq!(handoff.due.len(), offers.len());
    scripts
        .extend(handoff.due.iter().zip(offers).map(|(typed, index)| ("offer", &typed.script, Some(index))));
    scripts.extend(handoff.recall.iter().map(|typed| ("recall", &typed.script, None)));
    let sweeps =
        ["deliver_queued (", "sweep_on_scheduled_for (", "sweep_expires_at (", "sweep_on_scheduled_for ("];
    assert_eq!(program.sweeps.len(), sweeps.len());
    scripts.extend(
        program.sweeps.iter().zip(sweeps).map(|(typed, index)| ("sweep", &typed.script, Some(index))),
    );
    for (what, script, index) in scripts {
        for (at, step) in script.steps.iter().enumerate() {
            let plan = plan(file, step).await;
            let scans = |line: &str| line.starts_with("SCAN t") && !line.contains("USING");
            assert!(!plan.lines().any(scans), "{what} scans the table:\n{plan}\n{}", step.sql);
            // A few rows, given by id or found by fair share, may be sorted.
            let few = plan.contains("CO-ROUTINE") || plan.contains("json_each");
            let sorts = plan.contains("TEMP B-TREE FOR ORDER BY") && !few;
            assert!(!sorts, "{what} sorts:\n{plan}\n{}", step.sql);
            if let Some(index) = index.filter(|_| at == 0) {
                assert!(plan.contains(index), "{what} does not read {index}:\n{plan}\n{}", step.sql);
            }
        }
    }
}
