//! Ordered groups on a real server: query plans, and a column and indexes for each mode.

use postrider_contract::{Contract, Layer, Transition};
use postrider_seams::Migrate as _;
use postrider_seams::inspect::{Inspect as _, Level};
use postrider_seams::migrate::MigrateOptions;
use postrider_seams::store::{LeaseResult, Store as _};
use postrider_sql::{Param, Step};
use sqlx::{AssertSqlSafe, Column as _, Row as _};

use crate::server::{Server, claim, settlement, with_database};

/// The contract of a lane that sets `group.on_error`.
fn outbox(on_error: &str) -> Contract {
    let over: toml::Table = format!("[group]\non_error = {on_error:?}").parse().expect("TOML");
    let text = Contract::builtin("outbox").expect("a contract of ours");
    Contract::parse_with("outbox.toml", text, &[Layer::new("settings", "lanes.events", over)])
        .expect("a lane may override it")
}

/// The numbers from 1 to `last`, as `seq`; MySQL has no sequence tables, and limits recursive queries to 1,000 rows.
pub fn numbers(last: i64) -> String {
    let digits = (0..5).map(|at| format!("{DIGITS} AS d{at}")).collect::<Vec<_>>().join(" CROSS JOIN ");
    let sum = "d0.n + 10 * d1.n + 100 * d2.n + 1000 * d3.n + 10000 * d4.n + 1";
    format!("(SELECT {sum} AS seq FROM {digits} ORDER BY seq LIMIT {last}) AS numbers")
}

const DIGITS: &str = "(SELECT 0 AS n UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL \
                      SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9)";

/// Inserts `keys` groups of `rows` rows each, all due; a row's number is its position.
async fn insert(server: &Server, keys: i64, rows: i64) {
    server
        .run(&format!(
            "INSERT INTO outbox (topic, partition_key, payload, status, created_at) \
             SELECT 't', CONCAT('k-', LPAD(seq % {keys}, 5, '0')), '{{}}', 'PENDING', \
             UTC_TIMESTAMP(6) - INTERVAL 1 HOUR + INTERVAL seq * 1000 MICROSECOND FROM {}",
            numbers(keys * rows)
        ))
        .await;
}

/// For each line of the plan: the table, the access type, the key, and the extra information.
async fn plan(server: &Server, step: &Step) -> Vec<[String; 4]> {
    let mut sql = step.sql.clone();
    for bind in &step.params {
        let (mark, value) = match bind {
            Param::Cursor => ("?", "'k-00500'"),
            Param::Fresh => ("?", "200"),
            Param::Jumps => ("?", "500"),
            Param::Group => ("?", "'k-00001'"),
            Param::Run => ("?", "50"),
            Param::Ids => ("{ids}", "1, 2, 3"),
            other => panic!("a claim of groups binds no {other:?}"),
        };
        sql = sql.replacen(mark, value, 1);
    }
    let rows = sqlx::query(AssertSqlSafe(format!("EXPLAIN FORMAT=TRADITIONAL {sql}")))
        .fetch_all(&server.sql)
        .await
        .unwrap_or_else(|error| panic!("{error}: {sql}"));
    let cell = |row: &sqlx::mysql::MySqlRow, name: &str| {
        let at = row.columns().iter().position(|column| column.name().eq_ignore_ascii_case(name));
        at.and_then(|at| row.try_get_unchecked::<Option<String>, _>(at).ok().flatten()).unwrap_or_default()
    };
    rows.iter().map(|row| ["table", "type", "key", "Extra"].map(|name| cell(row, name))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn o08_the_claim_of_groups_reads_its_indexes() {
    with_database(|server| async move {
        let store = server.open("outbox", "publish").await;
        insert(&server, 2000, 20).await;
        server.run("UPDATE outbox SET status = 'DELIVERED' WHERE id % 4 <> 0").await;
        server.run("ANALYZE TABLE outbox").await;
        let groups = store.opened().statements.groups.as_ref().expect("outbox has groups");
        for scripts in [&groups.first, &groups.after] {
            let find = scripts.find.as_ref().expect("a search before the transaction");
            for step in find.script.steps.iter().chain(&scripts.take.script.steps[..2]) {
                let plan = plan(&server, step).await;
                let of_table: Vec<_> = plan.iter().filter(|line| line[0] == "t").collect();
                assert!(!of_table.is_empty(), "{plan:?}");
                for [_, how, key, more] in of_table {
                    assert!(how != "ALL" && !key.is_empty(), "a scan: {plan:?}");
                    assert!(!more.contains("filesort"), "a sort: {plan:?}");
                }
            }
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn o08_verify_names_each_missing_index_of_groups_and_prints_it() {
    with_database(|server| async move {
        let store = server.open("outbox", "publish").await;
        for index in ["outbox_publish_order", "outbox_publish_ready", "outbox_publish_in_flight"] {
            server.run(&format!("DROP INDEX {index} ON outbox")).await;
            let findings = store.verify().await.expect("verify");
            let text = format!("lacks the index {index};");
            let reported =
                findings.iter().find(|one| one.level == Level::Warning && one.text.contains(&text));
            let reported = reported.unwrap_or_else(|| panic!("{index}: {findings:?}"));
            let fix = reported.fix.as_deref().expect("with its remedy");
            assert!(fix.contains("CREATE INDEX") && fix.contains(index), "{fix}");
            server.run(fix).await;
        }
        let findings = store.verify().await.expect("verify");
        assert!(!findings.iter().any(|finding| finding.text.contains("lacks")), "{findings:?}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn o08_a_lane_that_blocks_gets_a_column_of_its_own() {
    with_database(|server| async move {
        server.open("outbox", "publish").await;
        insert(&server, 1, 2).await;
        let database = server.database();
        let refused = database.open(outbox("block"), "publish", "test").await.err().expect("not yet");
        assert!(refused.to_string().contains("live_group_block"), "{refused}");
        database.migration(outbox("block")).apply(MigrateOptions::default()).await.expect("migrate");
        let store = database.open(outbox("block"), "publish", "test").await.expect("open");
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
async fn o08_a_group_that_another_worker_is_claiming_is_left_alone() {
    with_database(|server| async move {
        let store = server.open("outbox", "publish").await;
        insert(&server, 2, 2).await;
        // The lock that a claim holds before it reads the run: the first row of the group, here row 1.
        let mut other = server.sql.begin().await.expect("a transaction");
        sqlx::query("SELECT id FROM outbox WHERE id = 1 FOR UPDATE")
            .fetch_all(&mut *other)
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
