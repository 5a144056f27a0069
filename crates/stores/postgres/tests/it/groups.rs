//! Ordered groups on a real server: query plans, indexes for each mode, and rows that another session has locked.

use std::sync::{Arc, Mutex};

use postrider_contract::{Contract, Layer, Transition};
use postrider_seams::Migrate as _;
use postrider_seams::inspect::{Finding, Inspect as _, Level};
use postrider_seams::migrate::MigrateOptions;
use postrider_seams::store::{LeaseResult, Store as _};
use postrider_sql::{Param, Step};
use sqlx::{AssertSqlSafe, Executor as _};

use crate::server::{Server, claim, settlement, with_database};

/// The contract of a lane that sets `group.on_error`.
fn outbox(on_error: &str) -> Contract {
    let over: toml::Table = format!("[group]\non_error = {on_error:?}").parse().expect("TOML");
    let text = Contract::builtin("outbox").expect("a contract of ours");
    Contract::parse_with("outbox.toml", text, &[Layer::new("settings", "lanes.events", over)])
        .expect("a lane may override it")
}

/// Inserts `keys` groups of `rows` rows each, all due; a row's number is its position.
async fn insert(server: &Server, keys: i64, rows: i64) {
    server
        .run(&format!(
            "INSERT INTO outbox (topic, partition_key, payload, status, created_at) \
             SELECT 't', 'k-' || lpad((n % {keys})::text, 5, '0'), '{{}}', 'PENDING', \
             now() - interval '1 hour' + n * interval '1 millisecond' FROM generate_series(1, {keys} * {rows}) AS n"
        ))
        .await;
}

fn missing<'a>(findings: &'a [Finding], index: &str) -> Option<&'a Finding> {
    let text = format!("lacks the index {index};");
    findings.iter().find(|finding| finding.level == Level::Warning && finding.text.contains(&text))
}

/// The statement with literals for its parameters.
fn with_values(step: &Step, cursor: &str, groups: &str) -> String {
    let mut sql = step.sql.clone();
    for (index, bind) in step.params.iter().enumerate().rev() {
        let value = match bind {
            Param::Cursor => cursor,
            Param::Fresh => "200",
            Param::GroupsWanted => "10",
            Param::Jumps => "2000",
            Param::Groups => groups,
            Param::Run => "50",
            Param::Limit => "500",
            Param::Owner => "'worker'",
            other => panic!("a claim of groups binds no {other:?}"),
        };
        sql = sql.replace(&format!("${}", index + 1), value);
    }
    sql
}

/// The plan that the server chooses without hints.
async fn plan(server: &Server, step: &Step) -> String {
    let sql = with_values(step, "'k-00500'", "ARRAY['k-00001', 'k-00002', 'k-00003']");
    let lines: Vec<String> = sqlx::query_scalar(AssertSqlSafe(format!("EXPLAIN {sql}")))
        .fetch_all(&server.sql)
        .await
        .expect("it explains");
    lines.join("\n")
}

#[tokio::test(flavor = "multi_thread")]
async fn o08_the_claim_of_groups_reads_its_indexes() {
    with_database(|server| async move {
        let store = server.open("outbox", "publish").await;
        insert(&server, 2000, 20).await;
        server.run("UPDATE outbox SET status = 'DELIVERED' WHERE id % 4 <> 0").await;
        server.run("VACUUM ANALYZE outbox").await;
        let groups = store.opened().statements.groups.as_ref().expect("outbox has groups");
        for scripts in [&groups.first, &groups.after] {
            let [search, take] = &*scripts.take.script.steps else { panic!("two statements") };
            for (step, indexes) in [
                (search, ["outbox_publish_order", "outbox_publish_ready"]),
                (take, ["outbox_publish_order", "outbox_states3"]),
            ] {
                let plan = plan(&server, step).await;
                assert!(!plan.contains("Seq Scan on outbox"), "{plan}");
                assert!(!plan.contains("Anti Join"), "each group with every row in flight: {plan}");
                assert!(indexes.iter().all(|index| plan.contains(index)), "{indexes:?}: {plan}");
            }
        }
    })
    .await;
}

/// Delivers half of a backlog of 1,000 keys, and returns the buffers that the two statements of the next claim read.
/// With `pinned` a transaction that is older than the drain keeps every version of the delivered rows.
async fn buffers_of_the_next_claim(server: Server, pinned: bool) -> [u64; 2] {
    let store = server.open("outbox", "publish").await;
    insert(&server, 1000, 10).await;
    server.run("VACUUM ANALYZE outbox").await;
    let mut old = server.sql.begin().await.expect("a transaction");
    let _old = if pinned {
        old.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ").await.expect("a level");
        old.execute("SELECT count(*) FROM outbox").await.expect("a snapshot");
        Some(old)
    } else {
        old.rollback().await.expect("no snapshot");
        None
    };
    for _ in 0..10 {
        let rows = claim(&store, 500).await;
        assert_eq!(rows.len(), 500);
        let moves: Vec<_> = rows.iter().map(|row| settlement(&row.lease, Transition::Delivered)).collect();
        assert_eq!(store.settle(&moves).await.expect("settle"), vec![LeaseResult::Held; 500]);
    }
    server.run("VACUUM outbox").await;
    // Keys are claimed in their order: the cursor is at the last one that was delivered.
    let last = "SELECT max(partition_key) FROM outbox WHERE status = 'DELIVERED'";
    let cursor = format!("'{}'", server.text(last).await.expect("a key"));
    let next = format!(
        "ARRAY(SELECT DISTINCT partition_key FROM outbox WHERE partition_key > {cursor} ORDER BY 1 LIMIT 10)"
    );
    let groups = store.opened().statements.groups.as_ref().expect("outbox has groups");
    let [search, take] = &*groups.after.take.script.steps else { panic!("two statements") };
    let mut buffers = [0; 2];
    for (step, read) in [search, take].into_iter().zip(&mut buffers) {
        let sql = with_values(step, &cursor, &next);
        // The first run marks index entries of rows that nobody sees any more.
        for _ in 0..2 {
            *read = buffers_of(&server, &sql).await;
        }
    }
    buffers
}

/// Runs a statement as the store does, rolls it back, and returns the number of buffers that it read.
async fn buffers_of(server: &Server, sql: &str) -> u64 {
    let mut transaction = server.sql.begin().await.expect("a transaction");
    for setting in ["enable_bitmapscan = off", "jit = off"] {
        transaction
            .execute(AssertSqlSafe(format!("SET LOCAL {setting}")))
            .await
            .expect("as the store has it");
    }
    let explain = format!("EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF) {sql}");
    let lines: Vec<String> =
        sqlx::query_scalar(AssertSqlSafe(explain)).fetch_all(&mut *transaction).await.expect("it explains");
    transaction.rollback().await.expect("nothing is kept");
    // The first line is that of the whole plan: "Buffers: shared hit=33 read=2".
    let line = lines.iter().find_map(|line| line.split_once("Buffers: shared ")).expect("it counts buffers");
    let counts = line.1.split(' ').filter(|part| part.starts_with("hit=") || part.starts_with("read="));
    counts.filter_map(|part| part.split_once('=')?.1.parse::<u64>().ok()).sum()
}

/// A transaction that is open for hours keeps all versions of delivered rows, and their index entries. Claims of a
/// backlog continue behind them.
#[tokio::test(flavor = "multi_thread")]
async fn o08_claims_of_a_backlog_read_no_delivered_rows_that_an_old_transaction_keeps() {
    let measured = Arc::new(Mutex::new(Vec::new()));
    for pinned in [false, true] {
        let measured = Arc::clone(&measured);
        with_database(move |server| async move {
            let buffers = buffers_of_the_next_claim(server, pinned).await;
            measured.lock().unwrap().push(buffers);
        })
        .await;
    }
    let measured = measured.lock().unwrap();
    for (free, pinned) in measured[0].iter().zip(&measured[1]) {
        assert!(
            *pinned <= 2 * free + 100,
            "each claim reads {pinned} buffers instead of {free}: {measured:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn o08_verify_names_each_missing_index_of_groups_and_prints_it() {
    with_database(|server| async move {
        let store = server.open("outbox", "publish").await;
        let content = store.verify().await.expect("verify");
        assert!(!content.iter().any(|finding| finding.text.contains("index outbox_")), "{content:?}");
        let order = |finding: &&Finding| finding.text.contains("partition_key keep their order");
        assert!(content.iter().any(|finding| order(&finding)), "{content:?}");
        for index in ["outbox_publish_order", "outbox_publish_ready", "outbox_states3"] {
            server.run(&format!("DROP INDEX {index}")).await;
            let findings = store.verify().await.expect("verify");
            let reported = missing(&findings, index).unwrap_or_else(|| panic!("{index}: {findings:?}"));
            let fix = reported.fix.as_deref().expect("with its remedy");
            assert!(fix.contains("CREATE INDEX") && fix.contains(index), "{fix}");
            let scans = findings.iter().any(|finding| finding.text.contains("the claim reads more"));
            assert!(scans || index != "outbox_publish_order", "the planner must scan: {findings:?}");
            server.run(fix).await;
        }
        let findings = store.verify().await.expect("verify");
        assert!(
            !findings.iter().any(|finding| finding.text.contains("the claim reads more")),
            "{findings:?}"
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn o08_a_lane_that_blocks_gets_an_index_of_its_own() {
    with_database(|server| async move {
        server.open("outbox", "publish").await;
        insert(&server, 1, 2).await;
        let database = server.database();
        let store = database.open(outbox("block"), "publish", "test").await.expect("open");
        let findings = store.verify().await.expect("verify");
        assert!(missing(&findings, "outbox_publish_order_block").is_some(), "{findings:?}");
        database.migration(outbox("block")).apply(MigrateOptions::default()).await.expect("migrate");
        let findings = store.verify().await.expect("verify");
        assert!(missing(&findings, "outbox_publish_order_block").is_none(), "{findings:?}");
        let head = claim(&store, 1).await;
        let dead = settlement(&head[0].lease, Transition::Dead);
        assert_eq!(store.settle(&[dead]).await.expect("settle"), [LeaseResult::Held]);
        assert!(claim(&store, 10).await.is_empty(), "the FAILED row holds its key");
        // A lane in mode `wait` works on the same table.
        let waits = database.open(outbox("wait"), "publish", "test").await.expect("open");
        assert_eq!(claim(&waits, 10).await.len(), 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn o08_a_row_that_somebody_locked_holds_its_own_group_only() {
    with_database(|server| async move {
        let store = server.open("outbox", "publish").await;
        insert(&server, 3, 4).await;
        // A transaction left open by an operator: rows 1, 4, 7, 10 are of one group, rows 2, 5, 8, 11 of another.
        let mut forgotten = server.sql.begin().await.expect("a transaction");
        forgotten.execute("SELECT 1 FROM outbox WHERE id IN (1, 8) FOR UPDATE").await.expect("locked");
        let rows = claim(&store, 100).await;
        let mut ids: Vec<String> = rows.iter().map(|row| row.lease.id.to_string()).collect();
        ids.sort_by_key(|id| id.parse::<u64>().expect("a number"));
        assert_eq!(
            ids,
            ["2", "3", "5", "6", "9", "12"],
            "none of the first group, and two before the locked one"
        );
        drop(forgotten);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn o08_a_group_that_another_worker_is_claiming_is_left_alone() {
    with_database(|server| async move {
        let store = server.open("outbox", "publish").await;
        insert(&server, 2, 2).await;
        // The locks that a claim holds between its two statements.
        let mut other = server.sql.begin().await.expect("a transaction");
        other
            .execute(
                "SELECT pg_advisory_xact_lock(hashtext('outbox'::regclass::oid::text || '/publish'), hashtext('k-00001'))",
            )
            .await
            .expect("the mutex");
        let rows = claim(&store, 100).await;
        let keys: Vec<&str> = rows.iter().map(|row| &*row.group.as_ref().expect("a group").key).collect();
        assert_eq!(keys, ["k-00000", "k-00000"]);
        other.rollback().await.expect("given up");
        assert_eq!(claim(&store, 100).await.len(), 2);
    })
    .await;
}
