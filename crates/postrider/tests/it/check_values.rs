//! Findings of `check` about columns that cannot hold what the contract writes into them.

use crate::check_hazards::{CONTRACT, TABLE, TestDatabase, everywhere};

everywhere! {
    a_column_that_is_too_short_is_reported;
    a_foreign_key_to_a_table_that_lacks_a_state_is_reported;
    constants_that_a_column_refuses_are_reported;
}

fn errors(database: &TestDatabase) -> Vec<String> {
    let errors = database.faults().into_iter().filter(|(level, _)| level == "error");
    errors.map(|(_, text)| text).collect()
}

async fn a_column_that_is_too_short_is_reported(kind: &'static str) {
    let database = TestDatabase::new(kind, CONTRACT).await;
    database.sql(&TABLE.replace("state varchar(20)", "state varchar(5)")).await;
    let found = errors(&database);
    if kind == "sqlite" {
        assert!(found.is_empty(), "SQLite ignores the length: {found:#?}");
        return;
    }
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(found[0].starts_with("state can't hold `broken` (state broken): "), "{found:#?}");
    assert!(found[0].contains("holds 5 characters, and this has 6; make the column longer"), "{found:#?}");
}

async fn a_foreign_key_to_a_table_that_lacks_a_state_is_reported(kind: &'static str) {
    let database = TestDatabase::new(kind, CONTRACT).await;
    database.sql("CREATE TABLE states (name varchar(20) PRIMARY KEY)").await;
    database.sql("INSERT INTO states VALUES ('new'), ('done'), ('broken')").await;
    let key = "payload text NOT NULL, FOREIGN KEY (state) REFERENCES states (name))";
    database.sql(&TABLE.replace("payload text NOT NULL)", key)).await;
    if kind == "sqlite" {
        assert!(errors(&database).is_empty(), "our connections enforce no foreign keys");
        return;
    }
    database
        .assert_fault("error", "state can't hold `taken` (state taken): a foreign key requires a row of ");
    database.sql("INSERT INTO states VALUES ('taken')").await;
    assert_eq!(errors(&database), Vec::<String>::new());
}

/// Enum types, and CHECK on SQLite, which has none.
async fn constants_that_a_column_refuses_are_reported(kind: &'static str) {
    let more = "[write]\nretry.mood = \"sad\"\n[[effect]]\non = [\"delivered\"]\ninsert = \"log\"\n\
                values = { job = \"$id\", kind = \"sent\", now = \"$state\" }\n";
    let database = TestDatabase::new(kind, &format!("{CONTRACT}{more}")).await;
    let only = |column: &str, value: &str| match kind {
        "postgres" => format!("{column} {value}_only"),
        "mysql" => format!("{column} enum('{value}')"),
        _ => format!("{column} TEXT CHECK ({column} IN ('{value}'))"),
    };
    if kind == "postgres" {
        for value in ["glad", "other", "new"] {
            database.sql(&format!("CREATE TYPE {value}_only AS ENUM ('{value}')")).await;
        }
    }
    let table = TABLE.replace("payload text", &format!("{}, payload text", only("mood", "glad")));
    database.sql(&table).await;
    let log =
        format!("CREATE TABLE log (job varchar(40), {}, {})", only("kind", "other"), only("now", "new"));
    database.sql(&log).await;
    database.assert_fault("error", "mood can't hold `sad` ([write] of retry)");
    database.assert_fault("error", "log.kind can't hold `sent` (the effect of delivered)");
    database.assert_fault("error", "log.now can't hold `done` (the effect of delivered)");
    assert_eq!(errors(&database).len(), 3, "{:#?}", errors(&database));
}

#[tokio::test]
async fn a_domain_that_lacks_a_state_is_reported() {
    let database = TestDatabase::new("postgres", CONTRACT).await;
    database.sql("CREATE DOMAIN job_state AS varchar(20) CHECK (VALUE IN ('new', 'done', 'broken'))").await;
    database.sql(&TABLE.replace("state varchar(20)", "state job_state")).await;
    database.assert_fault("error", "state can't hold `taken` (state taken): its domain job_state refuses it");
    assert_eq!(errors(&database).len(), 1, "{:#?}", errors(&database));

    let database = TestDatabase::new("postgres", CONTRACT).await;
    database
        .sql("CREATE TYPE label AS ENUM ('new', 'done', 'broken'); CREATE DOMAIN job_state AS label")
        .await;
    database.sql(&TABLE.replace("state varchar(20)", "state job_state")).await;
    database.assert_fault(
        "error",
        "state can't hold `taken` (state taken): its enumerated type has no such value",
    );
}
