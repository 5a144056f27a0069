//! Tests on a real SQLite: times in every form, compared as instants and written as found (G5), and query plans that
//! use the created indexes.

use std::collections::BTreeSet;

use postrider_contract::{Contract, Transition};
use postrider_sql::{Dialect, Field, Param, Script, Statements, Step, ddl, render};
use sqlx::sqlite::{SqlitePool, SqlitePoolOptions, SqliteRow};
use sqlx::{AssertSqlSafe, Row as _};

struct Bench {
    pool: SqlitePool,
    statements: Statements,
}

/// One stage of a built-in contract on its reference table.
async fn open(name: &str, stage: usize, time: Option<&str>) -> Bench {
    let mut text = Contract::builtin(name).expect("one of ours").to_owned();
    if let Some(time) = time {
        text = text.replacen("id   = \"id\"", &format!("id   = \"id\"\ntime = \"{time}\""), 1);
    }
    let contract = Contract::parse(name, &text).expect("it parses");
    let shape = ddl::reference_shape(&contract, Dialect::Sqlite).expect("one of ours");
    let present: BTreeSet<String> = shape.columns.iter().map(|column| column.name.clone()).collect();
    let resolved = contract.resolve(&present).expect("the reference table has all");
    let program = render(&resolved, &resolved.stages[stage], Dialect::Sqlite, &shape).expect("it renders");
    let pool = SqlitePoolOptions::new()
        .max_connections(1)
        .connect("sqlite::memory:")
        .await
        .expect("SQLite opens in memory");
    let bench = Bench { pool, statements: program };
    for statement in ddl::create(&contract, Dialect::Sqlite).expect("it renders") {
        bench.execute(&statement).await;
    }
    bench
}

/// The values that a test binds; a list of keys is a JSON array.
#[derive(Default)]
struct Values {
    keys: String,
    rows: String,
    fence: String,
}

impl Bench {
    async fn execute(&self, sql: &str) {
        sqlx::query(AssertSqlSafe(sql.to_owned()))
            .execute(&self.pool)
            .await
            .unwrap_or_else(|error| panic!("{error}: {sql}"));
    }

    async fn texts(&self, sql: &str) -> Vec<Option<String>> {
        let rows: Vec<SqliteRow> =
            sqlx::query(AssertSqlSafe(sql.to_owned())).fetch_all(&self.pool).await.expect("it runs");
        rows.iter().map(|row| row.get_unchecked::<Option<String>, _>(0)).collect()
    }

    async fn run(&self, step: &Step, values: &Values) -> Vec<SqliteRow> {
        let mut query = sqlx::query(AssertSqlSafe(step.sql.clone()));
        for bind in &step.params {
            query = match bind {
                Param::Limit => query.bind(100_i64),
                Param::Owner => query.bind("worker"),
                Param::Ids | Param::Held => query.bind(values.keys.clone()),
                Param::Rows(_) => query.bind(values.rows.clone()),
                Param::One(Field::Fence(_)) => query.bind(values.fence.clone()),
                Param::One(Field::Delay) => query.bind(60.0),
                _ => query.bind(None::<String>),
            };
        }
        query.fetch_all(&self.pool).await.unwrap_or_else(|error| panic!("{error}: {}", step.sql))
    }

    /// Keys in claim order, each with its fence.
    async fn claim(&self) -> Vec<(i64, String)> {
        let steps = &self.statements.claim[0].script.steps;
        let keys = self.run(&steps[0], &Values::default()).await;
        let keys: Vec<i64> = keys.iter().map(|row| row.get(0)).collect();
        let rows = self.run(&steps[1], &Values { keys: format!("{keys:?}"), ..Values::default() }).await;
        let fence = |key: &i64| {
            let row =
                rows.iter().find(|row| row.get::<i64, _>(0) == *key).expect("every picked row is updated");
            (*key, row.get::<String, _>(1))
        };
        keys.iter().map(fence).collect()
    }

    /// Keys that the general settle moved.
    async fn settle(&self, transition: Transition, id: i64, fence: &str) -> Vec<i64> {
        let rows = format!(r#"[{{"id": {id}, "f0": "{fence}", "delay": 60.0, "reason": "no"}}]"#);
        let step = &self.statements.settle[&transition].each.script.steps[0];
        let moved = self.run(step, &Values { rows, ..Values::default() }).await;
        moved.iter().map(|row| row.get(0)).collect()
    }

    async fn plan(&self, step: &Step) -> String {
        let explained = Step { sql: format!("EXPLAIN QUERY PLAN {}", step.sql), ..step.clone() };
        let rows =
            self.run(&explained, &Values { keys: "[]".into(), rows: "[]".into(), ..Values::default() }).await;
        rows.iter().map(|row| row.get::<String, _>(3)).collect::<Vec<_>>().join("\n")
    }
}

const INSERT: &str =
    "INSERT INTO mail_outbox (id, to_addresses, subject, next_attempt_at, created_at) VALUES ";

/// Four forms of the same few seconds of 2026-01-01, each later than the one before, and one far ahead in each form.
async fn mixed(bench: &Bench) {
    bench
        .execute(&format!(
            "{INSERT} (4, 'a', 's', '2026-01-01 00:00:01', '2026-01-01 00:00:01'), \
             (3, 'a', 's', '2026-01-01T01:00:02.500+01:00', '2026-01-01T00:00:00Z'), \
             (2, 'a', 's', 1767225603250, 1767225600000), \
             (1, 'a', 's', '2026-01-01T00:00:04Z', '2026-01-01T00:00:00Z'), \
             (11, 'a', 's', '2999-01-01 00:00:01', '2026-01-01 00:00:01'), \
             (12, 'a', 's', '2999-01-01T00:00:01Z', '2026-01-01 00:00:01'), \
             (13, 'a', 's', 32472144000000, 1767225600000)"
        ))
        .await;
}

#[tokio::test]
async fn g05_mixed_forms_are_compared_as_instants() {
    let bench = open("mail_outbox", 0, None).await;
    mixed(&bench).await;
    let claimed: Vec<i64> = bench.claim().await.into_iter().map(|(id, _)| id).collect();
    assert_eq!(claimed, [4, 3, 2, 1]);
}

#[tokio::test]
async fn g05_times_are_written_in_the_form_found() {
    let bench = open("mail_outbox", 0, None).await;
    mixed(&bench).await;
    for (id, fence) in bench.claim().await {
        let moved = bench.settle(Transition::Retry, id, &fence).await;
        assert_eq!(moved, [id]);
    }
    let written = "SELECT last_attempt_at || '|' || next_attempt_at || '|' || typeof(next_attempt_at) FROM mail_outbox \
                   WHERE id < 10 ORDER BY id";
    let shapes: Vec<String> =
        bench.texts(written).await.into_iter().map(|text| shape_of(&text.expect("it was tried"))).collect();
    let iso = "9999-99-99T99:99:99.999Z|9999-99-99T99:99:99.999Z|text";
    // A number in a column declared TEXT is kept as its digits.
    assert_eq!(
        shapes,
        [
            iso,
            "9999999999999|9999999999999|text",
            iso,
            "9999-99-99 99:99:99.999|9999-99-99 99:99:99.999|text"
        ]
    );
    let ahead = "SELECT CAST((julianday(next_attempt_at) - julianday('now')) * 86400 > 55 AS TEXT) FROM mail_outbox \
                 WHERE id IN (1, 3, 4)";
    assert_eq!(bench.texts(ahead).await, vec![Some("1".to_owned()); 3], "the delay is a minute");
}

/// Replaces digits by 9, so that only the form is compared.
fn shape_of(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_digit() { '9' } else { c }).collect()
}

#[tokio::test]
async fn a_stale_fence_settles_nothing_even_within_one_tick() {
    let bench = open("mail_outbox", 0, None).await;
    bench.execute(&format!("{INSERT} (1, 'a', 's', '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z')")).await;
    let stale = bench.claim().await.remove(0).1;
    assert_eq!(bench.settle(Transition::Released, 1, &stale).await, [1]);
    let fresh = bench.claim().await.remove(0).1;
    assert!(fresh > stale, "{fresh} is later than {stale}");
    assert_eq!(bench.settle(Transition::Delivered, 1, &stale).await, Vec::<i64>::new());
    assert_eq!(bench.settle(Transition::Delivered, 1, &fresh).await, [1]);
}

#[tokio::test]
async fn epoch_seconds_and_millis_are_read_and_written_as_numbers() {
    for (time, now) in [("epoch_s", "1767225600"), ("epoch_ms", "1767225600000")] {
        let bench = open("mail_outbox", 0, Some(time)).await;
        bench
            .execute(&format!("{INSERT} (1, 'a', 's', {now}, {now}), (2, 'a', 's', {now} + {now}, {now})"))
            .await;
        let claimed = bench.claim().await;
        assert_eq!(claimed.len(), 1, "{time}: only what is due");
        assert_eq!(claimed[0].1.len(), now.len(), "{time}: {}", claimed[0].1);
        assert_eq!(bench.settle(Transition::Delivered, 1, &claimed[0].1).await, [1]);
    }
}

#[tokio::test]
async fn every_claim_is_served_by_its_index_without_a_sort() {
    for name in Contract::builtin_names() {
        let contract =
            Contract::parse(name, Contract::builtin(name).expect("one of ours")).expect("it parses");
        // Rows of shares have a claim of their own, which the store's tests examine.
        let stages = contract.stages.iter().enumerate().filter(|_| !contract.limits_claims());
        for (index, stage) in stages {
            let bench = open(name, index, None).await;
            let plan = bench.plan(&bench.statements.claim[0].script.steps[0]).await;
            let kind = if contract.group.is_some() { "ready" } else { "claim" };
            let claim_index = format!("{name}_{}_{kind}", stage.name);
            // One index serves the stages whose ready state is a status alone.
            let common = contract.stages.len() > 1 && !plan.contains(&claim_index);
            let claim_index = if common { format!("{name}_claim") } else { claim_index };
            assert!(
                plan.contains(&claim_index) && !plan.contains("TEMP B-TREE"),
                "{name} {}: {plan}",
                stage.name
            );
            let ranged = contract.claim.order[0].is_by(postrider_contract::ColumnRole::Due);
            assert!(!ranged || plan.contains("(<expr><?)"), "{name}: the due time bounds the scan: {plan}");
        }
    }
}

#[tokio::test]
async fn settles_are_driven_by_the_key_alone() {
    for name in Contract::builtin_names() {
        let bench = open(name, 0, None).await;
        for (transition, settle) in &bench.statements.settle {
            let scripts: [Option<&Script>; 2] =
                [settle.uniform.as_ref().map(|typed| &typed.script), Some(&settle.each.script)];
            for script in scripts.into_iter().flatten() {
                let plan = bench.plan(&script.steps[0]).await;
                let by_key = plan.contains("USING INTEGER PRIMARY KEY") || plan.contains("sqlite_autoindex");
                assert!(
                    by_key && !plan.contains("_lease") && !plan.contains("SCAN t"),
                    "{name} {transition}: {plan}"
                );
            }
        }
    }
}
