//! Ordered groups on a real file: query plans, and indexes for each mode.

use postrider_contract::{Contract, Layer, Transition};
use postrider_seams::Migrate as _;
use postrider_seams::inspect::{Inspect as _, Level};
use postrider_seams::migrate::MigrateOptions;
use postrider_seams::store::{LeaseResult, Store as _};
use postrider_sql::{Param, Step};
use sqlx::{AssertSqlSafe, Row as _};

use crate::file::{File, claim, settlement};

/// The contract of a lane that sets `group.on_error`.
fn outbox(on_error: &str) -> Contract {
    let over: toml::Table = format!("[group]\non_error = {on_error:?}").parse().expect("TOML");
    let text = Contract::builtin("outbox").expect("a contract of ours");
    Contract::parse_with("outbox.toml", text, &[Layer::new("settings", "lanes.events", over)])
        .expect("a lane may override it")
}

/// Inserts `keys` groups of `rows` rows each, all due; a row's number is its position.
async fn insert(file: &File, keys: i64, rows: i64) {
    file.run(&format!(
        "WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s LIMIT {}) \
         INSERT INTO outbox (topic, partition_key, payload, status, created_at) \
         SELECT 't', printf('k-%05d', n % {keys}), '{{}}', 'PENDING', \
         strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-1 hours', '+' || (n / 1000.0) || ' seconds') FROM s",
        keys * rows
    ))
    .await;
}

async fn plan(file: &File, step: &Step) -> String {
    let mut sql = step.sql.clone();
    for (index, bind) in step.params.iter().enumerate().rev() {
        let value = match bind {
            Param::Cursor => "'k-00500'",
            Param::Fresh => "200",
            Param::Jumps | Param::Limit => "500",
            Param::Groups => "'[\"k-00001\", \"k-00002\"]'",
            Param::Run => "50",
            other => panic!("a claim of groups binds no {other:?}"),
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

#[tokio::test(flavor = "multi_thread")]
async fn o08_the_claim_of_groups_reads_its_indexes() {
    let file = File::new();
    let store = file.open("outbox", "publish").await;
    insert(&file, 500, 20).await;
    file.run("UPDATE outbox SET status = 'DELIVERED' WHERE id % 4 <> 0").await;
    file.run("ANALYZE").await;
    let groups = store.opened().statements.groups.as_ref().expect("outbox has groups");
    for scripts in [&groups.first, &groups.after] {
        let find = scripts.find.as_ref().expect("a search before the transaction");
        for step in [&find.script.steps[0], &scripts.take.script.steps[0]] {
            let plan = plan(&file, step).await;
            let scans = |line: &str| line.starts_with("SCAN t") && !line.contains("outbox_publish_ready");
            assert!(!plan.lines().any(scans), "a scan of the table: {plan}");
            assert!(plan.contains("outbox_publish_order"), "{plan}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn o08_verify_names_each_missing_index_of_groups_and_prints_it() {
    let file = File::new();
    let store = file.open("outbox", "publish").await;
    for index in ["outbox_publish_order", "outbox_publish_ready", "outbox_states3"] {
        file.run(&format!("DROP INDEX {index}")).await;
        let findings = store.verify().await.expect("verify");
        let text = format!("lacks the index {index};");
        let reported = findings.iter().find(|one| one.level == Level::Warning && one.text.contains(&text));
        let reported = reported.unwrap_or_else(|| panic!("{index}: {findings:?}"));
        let fix = reported.fix.as_deref().expect("with its remedy");
        assert!(fix.contains("CREATE INDEX") && fix.contains(index), "{fix}");
        file.run(fix).await;
    }
    let findings = store.verify().await.expect("verify");
    assert!(!findings.iter().any(|finding| finding.text.contains("lacks")), "{findings:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn o08_a_lane_that_blocks_gets_an_index_of_its_own() {
    let file = File::new();
    file.open("outbox", "publish").await;
    insert(&file, 1, 2).await;
    let database = file.database();
    let store = database.open(outbox("block"), "publish", "test").await.expect("open");
    let reported = |finding: &postrider_seams::inspect::Finding| {
        finding.text.contains("lacks the index outbox_publish_order_block;")
    };
    assert!(store.verify().await.expect("verify").iter().any(reported));
    database.migration(outbox("block")).apply(MigrateOptions::default()).await.expect("migrate");
    assert!(!store.verify().await.expect("verify").iter().any(reported));
    let head = claim(&store, 1).await;
    let dead = settlement(&head[0].lease, Transition::Dead);
    assert_eq!(store.settle(&[dead]).await.expect("settle"), [LeaseResult::Held]);
    assert!(claim(&store, 10).await.is_empty(), "the FAILED row holds its key");
    // A lane in mode `wait` works on the same table.
    let waits = database.open(outbox("wait"), "publish", "test").await.expect("open");
    assert_eq!(claim(&waits, 10).await.len(), 1);
}
