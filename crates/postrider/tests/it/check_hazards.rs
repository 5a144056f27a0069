//! Findings of `check` about tables whose own rules would harm a lane, on each database, with tables that
//! have the fault.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use sqlx::{AssertSqlSafe, Connection as _, Executor as _};

use crate::databases::{fresh, server};
use crate::sandbox::Sandbox;

pub const CONTRACT: &str = r#"
contract = "jobs"
version  = "1.0"
composer = "record"
[table]
name = "jobs"
id   = "id"
[columns]
status     = "state"
attempts   = "tries"
due        = "due_at"
claimed_at = "taken_at"
error      = "failure"
created    = "made_at"
[message]
topic   = "topic"
payload = "payload"
[[stage]]
name      = "go"
ready     = "new"
claimed   = "taken"
delivered = "done"
retryable = "new"
dead      = "broken"
[due]
null = "now"
[retry]
base = "1s"
[requeue]
from = ["broken"]
"#;

pub const GROUP: &str = "[group]\nby = \"topic\"\n";

async fn run<C: sqlx::Connection>(mut connection: C, sql: AssertSqlSafe<String>)
where
    for<'c> &'c mut C: sqlx::Executor<'c>,
{
    let text = sql.0.clone();
    if let Err(error) = connection.execute(sql).await {
        panic!("{text}: {error}");
    }
    connection.close().await.unwrap();
}

/// Number of databases created so far; each test has its own.
static DATABASES: AtomicUsize = AtomicUsize::new(0);

/// A database, and its SQL dialect.
pub struct TestDatabase {
    pub sandbox: Sandbox,
    pub url: String,
    kind: &'static str,
}

impl TestDatabase {
    pub async fn new(kind: &'static str, contract: &str) -> Self {
        let name = format!("hazards{}", DATABASES.fetch_add(1, Relaxed));
        let url = match kind {
            "postgres" => fresh(&server("POSTRIDER_TEST_POSTGRES"), &name).await,
            "mysql" => fresh(&server("POSTRIDER_TEST_MYSQL"), &name).await,
            _ => "sqlite:app.db".to_owned(),
        };
        let settings = format!(
            "[stores.main]\nurl = \"{url}\"\n[transports.out]\nurl = \"file:outbox\"\n\
             [lanes.jobs]\ncontract = \"jobs.toml\"\n"
        );
        let sandbox = Sandbox::new(Some(&settings));
        std::fs::write(sandbox.path("jobs.toml"), contract).unwrap();
        let url = match kind {
            "sqlite" => format!("sqlite://{}?mode=rwc", sandbox.path("app.db").display()),
            _ => url,
        };
        Self { sandbox, url, kind }
    }

    /// Runs statements; `TIME` in them is replaced with the database's type for times.
    pub async fn sql(&self, statements: &str) {
        let time = match self.kind {
            "postgres" => "timestamptz",
            "mysql" => "DATETIME(6)",
            _ => "TEXT",
        };
        for statement in statements.split(';').map(str::trim).filter(|statement| !statement.is_empty()) {
            let sql = AssertSqlSafe(statement.replace("TIME", time));
            match self.kind {
                "postgres" => run(sqlx::PgConnection::connect(&self.url).await.unwrap(), sql).await,
                "mysql" => run(sqlx::MySqlConnection::connect(&self.url).await.unwrap(), sql).await,
                _ => run(sqlx::SqliteConnection::connect(&self.url).await.unwrap(), sql).await,
            }
        }
    }

    /// Returns the number that a query counts.
    pub async fn count(&self, query: &str) -> i64 {
        let sql = AssertSqlSafe(query.to_owned());
        match self.kind {
            "postgres" => {
                let mut connection = sqlx::PgConnection::connect(&self.url).await.unwrap();
                sqlx::query_scalar(sql).fetch_one(&mut connection).await.unwrap()
            }
            "mysql" => {
                let mut connection = sqlx::MySqlConnection::connect(&self.url).await.unwrap();
                sqlx::query_scalar(sql).fetch_one(&mut connection).await.unwrap()
            }
            _ => {
                let mut connection = sqlx::SqliteConnection::connect(&self.url).await.unwrap();
                sqlx::query_scalar(sql).fetch_one(&mut connection).await.unwrap()
            }
        }
    }

    /// Adds keys to the settings of the lane.
    pub fn add_to_lane(&self, keys: &str) {
        let path = self.sandbox.path("postrider.toml");
        let settings = std::fs::read_to_string(&path).unwrap();
        std::fs::write(path, format!("{settings}{keys}")).unwrap();
    }

    /// Level and text of every finding except the good ones.
    pub fn faults(&self) -> Vec<(String, String)> {
        let report = self.sandbox.run(&["check", "--json"]).json().remove(0);
        let findings = report["findings"].as_array().unwrap().clone();
        let text = |finding: &serde_json::Value, key: &str| finding[key].as_str().unwrap().to_owned();
        let all = findings.iter().map(|finding| (text(finding, "level"), text(finding, "text")));
        all.filter(|(level, _)| level != "ok").collect()
    }

    #[track_caller]
    pub fn assert_fault(&self, level: &str, part: &str) {
        let faults = self.faults();
        let found = faults.iter().filter(|(found, text)| found == level && text.contains(part)).count();
        assert_eq!(found, 1, "{}: {level} {part:?} in {faults:#?}", self.kind);
    }
}

/// A valid table.
pub const TABLE: &str = "CREATE TABLE jobs (id varchar(40) PRIMARY KEY, state varchar(20) NOT NULL, \
    tries integer NOT NULL, due_at TIME, taken_at TIME, failure text, made_at TIME NOT NULL, \
    topic varchar(40) NOT NULL, payload text NOT NULL)";

pub fn insert(id: &str, state: &str, tries: &str) -> String {
    format!(
        "INSERT INTO jobs (id, state, tries, made_at, topic, payload) \
         VALUES ('{id}', '{state}', {tries}, '2026-01-01 00:00:00', 'a', 'x');"
    )
}

/// Defines tests that run on every database.
macro_rules! everywhere {
    ($($name:ident;)+) => {
        mod postgres { $(#[tokio::test] async fn $name() { super::$name("postgres").await; })+ }
        mod mysql { $(#[tokio::test] async fn $name() { super::$name("mysql").await; })+ }
        mod sqlite { $(#[tokio::test] async fn $name() { super::$name("sqlite").await; })+ }
    };
}

pub(crate) use everywhere;

everywhere! {
    a_valid_table_has_no_hazard;
    keys_that_are_not_unique_are_reported;
    a_group_without_an_order_is_reported;
    a_group_ordered_by_text_is_reported;
    rows_without_attempts_are_reported;
    null_into_not_null_is_reported;
    an_effect_that_the_other_table_refuses_is_reported;
    a_check_that_lacks_a_state_is_reported;
    rows_in_no_state_are_counted;
    a_missing_column_is_listed_once_with_its_remedy;
}

async fn a_valid_table_has_no_hazard(kind: &'static str) {
    let database = TestDatabase::new(kind, CONTRACT).await;
    database.sql(TABLE).await;
    database.sandbox.run(&["migrate"]).success();
    database.sql(&insert("1", "new", "0")).await;
    let faults = database.faults();
    let lease = |text: &str| text.contains("no lease columns");
    assert!(faults.iter().all(|(_, text)| lease(text)), "{faults:#?}");
}

async fn keys_that_are_not_unique_are_reported(kind: &'static str) {
    let database = TestDatabase::new(kind, CONTRACT).await;
    database.sql(&TABLE.replace("PRIMARY KEY", "NOT NULL")).await;
    database.sql(&insert("1", "new", "0")).await;
    database.assert_fault("warning", "no primary key or unique index keeps id unique");
    let output = database.sandbox.run(&["check"]).success().stdout;
    assert!(output.contains("SQL to fix lane jobs by hand"), "migrate does not add it:\n{output}");
    database.sql(&insert("1", "new", "0")).await;
    database.assert_fault("error", "id is not unique: 1 of its values");
}

async fn a_group_without_an_order_is_reported(kind: &'static str) {
    let database = TestDatabase::new(kind, &format!("{CONTRACT}{GROUP}")).await;
    database.sql(TABLE).await;
    database.sandbox.run(&["migrate"]).success();
    let lost = "rows of the same topic may lose their order: they are ordered by made_at";
    database.assert_fault("warning", lost);
    database.sql(&(insert("b", "new", "0") + &insert("a", "new", "0"))).await;
    database.assert_fault("warning", "as 1 times among the newest rows");
    let ok = database.sandbox.run(&["check"]).success().stdout;
    assert!(!ok.contains("keep their order"), "{ok}");

    let counted = format!("{CONTRACT}{GROUP}sequence = [\"seq\"]\n");
    let database = TestDatabase::new(kind, &counted).await;
    database.sql(&TABLE.replace("payload text", "seq bigint NOT NULL, payload text")).await;
    database.sandbox.run(&["migrate"]).success();
    assert!(
        database.sandbox.run(&["check"]).success().stdout.contains("rows of the same topic keep their order")
    );
    let numbered =
        |id: &str| insert(id, "new", "0").replace("payload)", "payload, seq)").replace("'x')", "'x', 7)");
    database.sql(&(numbered("b") + &numbered("a"))).await;
    database.assert_fault(
        "warning",
        "rows with the same seq (as 1 times among the newest rows) by id, which does not count up",
    );
    assert!(!database.sandbox.run(&["check"]).success().stdout.contains("keep their order"));
    database.sql("DELETE FROM jobs; CREATE UNIQUE INDEX place ON jobs (topic, seq)").await;
    assert!(
        database.sandbox.run(&["check"]).success().stdout.contains("rows of the same topic keep their order")
    );
    let database = TestDatabase::new(kind, &counted).await;
    database.sql(&TABLE.replace("payload text", "seq bigint, payload text")).await;
    database.sandbox.run(&["migrate"]).success();
    database.assert_fault("warning", "seq may be NULL, and rows without it go first");
}

async fn a_group_ordered_by_text_is_reported(kind: &'static str) {
    let database = TestDatabase::new(kind, &format!("{CONTRACT}{GROUP}sequence = [\"seq\"]\n")).await;
    database.sql(&TABLE.replace("payload text", "seq varchar(20) NOT NULL, payload text")).await;
    database.sql("CREATE UNIQUE INDEX place ON jobs (topic, seq)").await;
    database.sandbox.run(&["migrate"]).success();
    database.assert_fault("warning", "rows of the same topic may lose their order: seq is text");
    let output = database.sandbox.run(&["check"]).success().stdout;
    assert!(!output.contains("keep their order"), "{output}");
}

async fn rows_without_attempts_are_reported(kind: &'static str) {
    let database = TestDatabase::new(kind, CONTRACT).await;
    database.sql(&TABLE.replace("tries integer NOT NULL", "tries integer")).await;
    database.sql(&(insert("1", "new", "NULL") + &insert("2", "done", "NULL"))).await;
    assert!(!database.faults().iter().any(|(_, text)| text.contains("tries")), "NULL counts as 0");
    std::fs::write(database.sandbox.path("jobs.toml"), format!("{CONTRACT}[attempts]\nnullable = false\n"))
        .unwrap();
    database.assert_fault("error", "1 rows are never claimed: tries is NULL");
    database.sql("UPDATE jobs SET tries = 0").await;
    database.assert_fault("warning", "tries may be NULL");
}

async fn null_into_not_null_is_reported(kind: &'static str) {
    let database = TestDatabase::new(kind, CONTRACT).await;
    database.sql(&TABLE.replace("failure text", "failure varchar(200) NOT NULL")).await;
    database.assert_fault("error", "failure is NOT NULL, and delivered, requeued writes NULL");
}

async fn an_effect_that_the_other_table_refuses_is_reported(kind: &'static str) {
    let effect = "[[effect]]\non = [\"delivered\"]\ninsert = \"log\"\n\
                  values = { job = \"$id\", note = \"$reason or null\" }\n";
    let database = TestDatabase::new(kind, &format!("{CONTRACT}{effect}")).await;
    database.sql(TABLE).await;
    let serial = match kind {
        "postgres" => "id bigserial PRIMARY KEY",
        "mysql" => "id bigint AUTO_INCREMENT PRIMARY KEY",
        _ => "id INTEGER PRIMARY KEY",
    };
    database
        .sql(&format!(
            "CREATE TABLE log ({serial}, job varchar(40) NOT NULL, note text NOT NULL, who text NOT NULL)"
        ))
        .await;
    database.assert_fault(
        "warning",
        "log.note is NOT NULL, and the effect of delivered writes NULL if there is no value",
    );
    database.assert_fault("error", "log.who is NOT NULL, and the effect of delivered gives it no value");
    assert!(!database.faults().iter().any(|(_, text)| text.contains("log.id") || text.contains("log.job")));
}

async fn a_check_that_lacks_a_state_is_reported(kind: &'static str) {
    let database = TestDatabase::new(kind, CONTRACT).await;
    let check = "state varchar(20) NOT NULL CHECK (state IN ('new', 'done', 'broken'))";
    database.sql(&TABLE.replace("state varchar(20) NOT NULL", check)).await;
    database.assert_fault("error", "state can't hold `taken` (state taken)");
}

async fn rows_in_no_state_are_counted(kind: &'static str) {
    let database = TestDatabase::new(kind, CONTRACT).await;
    database.sql(TABLE).await;
    database.sql(&(insert("1", "odd", "0") + &insert("2", "odd", "0") + &insert("3", "new", "0"))).await;
    database.assert_fault("warning", "2 of the newest");

    let several =
        format!("{CONTRACT}[states]\ntaken = {{ state = \"taken\", taken_at = {{ null = false }} }}\n");
    let database = TestDatabase::new(kind, &several).await;
    database.sql(TABLE).await;
    database.sql(&insert("1", "taken", "0")).await;
    database.assert_fault("warning", "have `taken` in state and are in no state that the contract knows");
}

async fn a_missing_column_is_listed_once_with_its_remedy(kind: &'static str) {
    let database = TestDatabase::new(kind, CONTRACT).await;
    database.sql(&TABLE.replace("state varchar(20) NOT NULL, ", "").replace("taken_at TIME, ", "")).await;
    let output = database.sandbox.run(&["check"]).code(1).stdout;
    assert_eq!(output.matches("column state is missing").count(), 1, "{output}");
    let line = output.lines().find(|line| line.contains("column state is missing")).unwrap();
    assert!(line.ends_with("add it to the table, or name another column in the contract"), "{line}");
    assert!(
        output.contains("column taken_at is missing: the contract's `columns.claimed_at` needs it"),
        "{output}"
    );
    let refused = database.sandbox.run(&["migrate"]);
    assert_ne!(refused.code, Some(0));
    assert!(!refused.stderr.contains("run `"), "no hint to what was just run: {}", refused.stderr);
}

#[tokio::test]
async fn an_enum_type_that_lacks_a_state_is_reported() {
    let database = TestDatabase::new("postgres", CONTRACT).await;
    database.sql("CREATE TYPE job_state AS ENUM ('new', 'done', 'broken')").await;
    database.sql(&TABLE.replace("state varchar(20)", "state job_state")).await;
    database.assert_fault(
        "error",
        "state can't hold `taken` (state taken): its enumerated type has no such value",
    );
    database.sql("ALTER TYPE job_state ADD VALUE 'taken'").await;
    assert!(!database.faults().iter().any(|(level, _)| level == "error"));

    let database = TestDatabase::new("mysql", CONTRACT).await;
    database.sql(&TABLE.replace("state varchar(20)", "state enum('new', 'done', 'broken')")).await;
    database.assert_fault(
        "error",
        "state can't hold `taken` (state taken): its enumerated type has no such value",
    );
}

#[tokio::test]
async fn postgres_folds_names_and_migrate_creates_no_duplicate_table() {
    let contract = CONTRACT.replace("taken_at", "takenAt");
    let database = TestDatabase::new("postgres", &contract).await;
    database.sql(&TABLE.replace("taken_at", "takenAt")).await;
    let fold = "column takenAt is missing, but there is takenat: PostgreSQL folds names";
    database.assert_fault("error", fold);
    let refused = database.sandbox.run(&["migrate"]);
    assert_ne!(refused.code, Some(0), "{}", refused.stdout);
    assert!(refused.stderr.contains(fold), "{}", refused.stderr);

    let database =
        TestDatabase::new("postgres", &CONTRACT.replace("name = \"jobs\"", "name = \"Jobs\"")).await;
    database.sql(TABLE).await;
    let fold = "has no table Jobs, but there is jobs: PostgreSQL folds names";
    database.assert_fault("error", fold);
    let refused = database.sandbox.run(&["migrate"]);
    assert!(refused.stderr.contains(fold), "{}", refused.stderr);
    let mut connection = sqlx::PgConnection::connect(&database.url).await.unwrap();
    let tables = "SELECT count(*) FROM pg_class WHERE relkind = 'r' AND lower(relname) = 'jobs'";
    let tables: i64 = sqlx::query_scalar(tables).fetch_one(&mut connection).await.unwrap();
    assert_eq!(tables, 1, "no twin");
}

#[tokio::test]
async fn names_in_another_case_match_if_the_database_ignores_case() {
    for kind in ["mysql", "sqlite"] {
        let database = TestDatabase::new(kind, &CONTRACT.replace("taken_at", "takenAt")).await;
        database.sql(&TABLE.replace("taken_at", "TAKENAT")).await;
        database.sandbox.run(&["migrate"]).success();
        let faults = database.faults();
        assert!(faults.iter().all(|(_, text)| text.contains("no lease columns")), "{kind}: {faults:#?}");
    }
}

#[test]
fn contract_verify_checks_the_fields_of_the_composer() {
    let sandbox = Sandbox::new(None);
    let wrong = CONTRACT.replace("payload = \"payload\"", "body = \"payload\"");
    std::fs::write(sandbox.path("jobs.toml"), wrong).unwrap();
    let output = sandbox.run(&["contract", "verify", "jobs.toml"]);
    assert_ne!(output.code, Some(0));
    assert!(
        output.stderr.contains("message.payload")
            && output.stderr.contains("is required by the composer `record`"),
        "{}",
        output.stderr
    );
    assert!(
        output.stderr.contains("message.body") && output.stderr.contains("is not read by the composer"),
        "{}",
        output.stderr
    );
}
