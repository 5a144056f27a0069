//! Findings of `check` about keys that are not unique, or NULL, and what lanes do with rows without a key.

use crate::check_hazards::{CONTRACT, GROUP, TABLE, TestDatabase, everywhere, insert};
use crate::sandbox::eventually;

everywhere! {
    a_key_with_a_part_that_is_no_column_makes_nothing_unique;
    rows_without_a_key_are_reported;
    rows_behind_those_without_a_key_are_delivered;
}

/// Unique keys on something else than whole columns. MariaDB has none on expressions.
async fn a_key_with_a_part_that_is_no_column_makes_nothing_unique(kind: &'static str) {
    let (alone, beside) = match kind {
        "mysql" => ("payload(20)", "id, payload(20)"),
        _ => ("lower(payload)", "id, lower(payload)"),
    };
    let database = TestDatabase::new(kind, &format!("{CONTRACT}{GROUP}")).await;
    database.sql(&TABLE.replace("PRIMARY KEY", "NOT NULL")).await;
    database
        .sql(&format!("CREATE UNIQUE INDEX a ON jobs ({alone}); CREATE UNIQUE INDEX b ON jobs ({beside})"))
        .await;
    database.sandbox.run(&["migrate"]).success();
    database.assert_fault("warning", "no primary key or unique index keeps id unique");
    database.assert_fault("warning", "rows of the same topic may lose their order");
}

/// Values with different beginnings are different.
#[tokio::test]
async fn a_unique_beginning_makes_the_key_unique() {
    let database = TestDatabase::new("mysql", CONTRACT).await;
    database.sql(&TABLE.replace("PRIMARY KEY", "NOT NULL")).await;
    database.sql("CREATE UNIQUE INDEX beginning ON jobs (id(20))").await;
    assert!(!database.faults().iter().any(|(_, text)| text.contains("unique")));
}

/// SQLite allows NULL in a primary key, the others in a unique column.
fn nullable_key(kind: &str) -> String {
    if kind == "sqlite" { TABLE.to_owned() } else { TABLE.replace("PRIMARY KEY", "UNIQUE") }
}

fn keyless(number: usize) -> String {
    insert("", "new", "0").repeat(number).replace("''", "NULL")
}

async fn rows_without_a_key_are_reported(kind: &'static str) {
    let database = TestDatabase::new(kind, CONTRACT).await;
    database.sql(&nullable_key(kind)).await;
    database.sql(&insert("1", "new", "0")).await;
    assert!(!database.faults().iter().any(|(_, text)| text.contains("their id is NULL")));
    database.sql(&keyless(2)).await;
    database.assert_fault("error", "no lane handles 2 rows, as their id is NULL; give each a id of its own");
    database.sandbox.run(&["check"]).code(1);
}

async fn rows_behind_those_without_a_key_are_delivered(kind: &'static str) {
    let pools = "[claim]\nfair = \"topic\"\n";
    for claim in ["", &format!("{GROUP}sequence = [\"seq\"]\n"), pools] {
        let database = TestDatabase::new(kind, &format!("{CONTRACT}{claim}")).await;
        database.sql(&nullable_key(kind).replace("payload text", "seq bigint NOT NULL, payload text")).await;
        database.add_to_lane("batch = 2\npoll = \"50ms\"\n");
        database.sandbox.run(&["migrate"]).success();
        let row = |row: String, seq: u32| {
            row.replace("payload)", "payload, seq)").replace("'x')", &format!("'x', {seq})"))
        };
        // More than a claim takes, and before the others in every order.
        for seq in 1..=5 {
            database.sql(&row(keyless(1).replace("2026-01-01", "2025-01-01"), seq)).await;
        }
        for seq in 6..=8 {
            database.sql(&row(insert(&seq.to_string(), "new", "0"), seq)).await;
        }
        let running = database.sandbox.start();
        let done = || {
            let listed =
                database.sandbox.run(&["list", "jobs", "--state", "done", "--json"]).success().json();
            (listed.len() == 3).then_some(())
        };
        eventually(&format!("{kind} {claim:?}: rows with a key are delivered"), done);
        let counts = database.sandbox.run(&["status", "--json"]).json().remove(0).to_string();
        assert!(counts.contains("\"new\""), "{counts}");
        drop(running);
    }
}
