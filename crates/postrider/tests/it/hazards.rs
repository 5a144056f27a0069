//! Findings of `check` about tables whose own rules would harm a lane, on each database, with tables that
//! have the fault.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use sqlx::{AssertSqlSafe, Connection as _, Executor as _};

use crate::databases::{fresh, server};
use crate::shop::Shop;

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
retry     = "new"
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
static PLACES: AtomicUsize = AtomicUsize::new(0);

/// A database, and its SQL dialect.
pub struct Place {
    pub shop: Shop,
    pub url: String,
    kind: &'static str,
}

impl Place {
    pub async fn new(kind: &'static str, contract: &str) -> Self {
        let name = format!("hazards{}", PLACES.fetch_add(1, Relaxed));
        let url = match kind {
            "postgres" => fresh(&server("POSTRIDER_TEST_POSTGRES"), &name).await,
            "mysql" => fresh(&server("POSTRIDER_TEST_MYSQL"), &name).await,
            _ => "sqlite:app.db".to_owned(),
        };
        let settings = format!(
            "[stores.main]\nurl = \"{url}\"\n[transports.out]\nurl = \"file:outbox\"\n\
             [lanes.jobs]\ncontract = \"jobs.toml\"\n"
        );
        let shop = Shop::new(Some(&settings));
        std::fs::write(shop.path("jobs.toml"), contract).unwrap();
        let url = match kind {
            "sqlite" => format!("sqlite://{}?mode=rwc", shop.path("app.db").display()),
            _ => url,
        };
        Self { shop, url, kind }
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

    /// Level and text of every finding except the good ones.
    pub fn faults(&self) -> Vec<(String, String)> {
        let report = self.shop.run(&["check", "--json"]).json().remove(0);
        let findings = report["findings"].as_array().unwrap().clone();
        let text = |finding: &serde_json::Value, key: &str| finding[key].as_str().unwrap().to_owned();
        let all = findings.iter().map(|finding| (text(finding, "level"), text(finding, "text")));
        all.filter(|(level, _)| level != "ok").collect()
    }

    #[track_caller]
    pub fn says(&self, level: &str, part: &str) {
        let faults = self.faults();
        let said = faults.iter().filter(|(found, text)| found == level && text.contains(part)).count();
        assert_eq!(said, 1, "{}: {level} {part:?} in {faults:#?}", self.kind);
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

everywhere! {
    a_sound_table_has_no_hazard;
    keys_that_are_not_unique_are_reported;
    a_group_without_an_order_is_reported;
    rows_without_attempts_are_reported;
    null_into_not_null_is_reported;
    an_effect_that_the_other_table_refuses_is_reported;
    a_check_that_lacks_a_state_is_reported;
    rows_in_no_state_are_counted;
    a_missing_column_is_listed_once_with_what_helps;
}

async fn a_sound_table_has_no_hazard(kind: &'static str) {
    let place = Place::new(kind, CONTRACT).await;
    place.sql(TABLE).await;
    place.shop.run(&["migrate"]).fine();
    place.sql(&insert("1", "new", "0")).await;
    let faults = place.faults();
    let lease = |text: &str| text.contains("no lease columns");
    assert!(faults.iter().all(|(_, text)| lease(text)), "{faults:#?}");
}

async fn keys_that_are_not_unique_are_reported(kind: &'static str) {
    let place = Place::new(kind, CONTRACT).await;
    place.sql(&TABLE.replace("PRIMARY KEY", "NOT NULL")).await;
    place.sql(&insert("1", "new", "0")).await;
    place.says("warning", "no primary key or unique index keeps id unique");
    let said = place.shop.run(&["check"]).fine().out;
    assert!(said.contains("SQL to fix lane jobs by hand"), "migrate does not add it:\n{said}");
    place.sql(&insert("1", "new", "0")).await;
    place.says("error", "id is not unique: 1 of its values");
}

async fn a_group_without_an_order_is_reported(kind: &'static str) {
    let place = Place::new(kind, &format!("{CONTRACT}{GROUP}")).await;
    place.sql(TABLE).await;
    place.shop.run(&["migrate"]).fine();
    let lost = "rows of the same topic may lose their order: they are ordered by made_at";
    place.says("warning", lost);
    place.sql(&(insert("b", "new", "0") + &insert("a", "new", "0"))).await;
    place.says("warning", "as 1 times among the newest rows");
    let ok = place.shop.run(&["check"]).fine().out;
    assert!(!ok.contains("keep their order"), "{ok}");

    let counted = format!("{CONTRACT}{GROUP}sequence = [\"seq\"]\n");
    let place = Place::new(kind, &counted).await;
    place.sql(&TABLE.replace("payload text", "seq bigint NOT NULL, payload text")).await;
    place.shop.run(&["migrate"]).fine();
    assert!(place.shop.run(&["check"]).fine().out.contains("rows of the same topic keep their order"));
    let numbered =
        |id: &str| insert(id, "new", "0").replace("payload)", "payload, seq)").replace("'x')", "'x', 7)");
    place.sql(&(numbered("b") + &numbered("a"))).await;
    place.says(
        "warning",
        "rows with the same seq (as 1 times among the newest rows) by id, which does not count up",
    );
    assert!(!place.shop.run(&["check"]).fine().out.contains("keep their order"));
    place.sql("DELETE FROM jobs; CREATE UNIQUE INDEX place ON jobs (topic, seq)").await;
    assert!(place.shop.run(&["check"]).fine().out.contains("rows of the same topic keep their order"));
    let place = Place::new(kind, &counted).await;
    place.sql(&TABLE.replace("payload text", "seq bigint, payload text")).await;
    place.shop.run(&["migrate"]).fine();
    place.says("warning", "seq may be NULL, and rows without it go first");
}

async fn rows_without_attempts_are_reported(kind: &'static str) {
    let place = Place::new(kind, CONTRACT).await;
    place.sql(&TABLE.replace("tries integer NOT NULL", "tries integer")).await;
    place.says("warning", "tries may be NULL");
    place.sql(&(insert("1", "new", "NULL") + &insert("2", "done", "NULL"))).await;
    place.says("error", "1 rows are never claimed: tries is NULL");
    std::fs::write(place.shop.path("jobs.toml"), format!("{CONTRACT}[attempts]\nnullable = true\n")).unwrap();
    assert!(!place.faults().iter().any(|(_, text)| text.contains("tries")));
}

async fn null_into_not_null_is_reported(kind: &'static str) {
    let place = Place::new(kind, CONTRACT).await;
    place.sql(&TABLE.replace("failure text", "failure varchar(200) NOT NULL")).await;
    place.says("error", "failure is NOT NULL, and delivered, requeued writes NULL");
}

async fn an_effect_that_the_other_table_refuses_is_reported(kind: &'static str) {
    let effect = "[[effect]]\non = [\"delivered\"]\ninsert = \"log\"\n\
                  values = { job = \"$id\", note = \"$reason?\" }\n";
    let place = Place::new(kind, &format!("{CONTRACT}{effect}")).await;
    place.sql(TABLE).await;
    let serial = match kind {
        "postgres" => "id bigserial PRIMARY KEY",
        "mysql" => "id bigint AUTO_INCREMENT PRIMARY KEY",
        _ => "id INTEGER PRIMARY KEY",
    };
    place
        .sql(&format!(
            "CREATE TABLE log ({serial}, job varchar(40) NOT NULL, note text NOT NULL, who text NOT NULL)"
        ))
        .await;
    place.says(
        "warning",
        "log.note is NOT NULL, and the effect of delivered writes NULL where there is no value",
    );
    place.says("error", "log.who is NOT NULL, and the effect of delivered gives it no value");
    assert!(!place.faults().iter().any(|(_, text)| text.contains("log.id") || text.contains("log.job")));
}

async fn a_check_that_lacks_a_state_is_reported(kind: &'static str) {
    let place = Place::new(kind, CONTRACT).await;
    let check = "state varchar(20) NOT NULL CHECK (state IN ('new', 'done', 'broken'))";
    place.sql(&TABLE.replace("state varchar(20) NOT NULL", check)).await;
    place.says("error", "state can't hold 'taken' (state taken)");
}

async fn rows_in_no_state_are_counted(kind: &'static str) {
    let place = Place::new(kind, CONTRACT).await;
    place.sql(TABLE).await;
    place.sql(&(insert("1", "odd", "0") + &insert("2", "odd", "0") + &insert("3", "new", "0"))).await;
    place.says("warning", "2 of the newest");

    let several =
        format!("{CONTRACT}[states]\ntaken = {{ state = \"taken\", taken_at = {{ null = false }} }}\n");
    let place = Place::new(kind, &several).await;
    place.sql(TABLE).await;
    place.sql(&insert("1", "taken", "0")).await;
    place.says("warning", "have `taken` in state and are in no state that the contract knows");
}

async fn a_missing_column_is_listed_once_with_what_helps(kind: &'static str) {
    let place = Place::new(kind, CONTRACT).await;
    place.sql(&TABLE.replace("state varchar(20) NOT NULL, ", "").replace("taken_at TIME, ", "")).await;
    let said = place.shop.run(&["check"]).code(1).out;
    assert_eq!(said.matches("column state is missing").count(), 1, "{said}");
    let line = said.lines().find(|line| line.contains("column state is missing")).unwrap();
    assert!(line.ends_with("add it to the table, or name another column in the contract"), "{line}");
    assert!(
        said.contains("column taken_at is missing: the contract's `columns.claimed_at` needs it"),
        "{said}"
    );
    let refused = place.shop.run(&["migrate"]);
    assert_ne!(refused.code, Some(0));
    assert!(!refused.err.contains("run `"), "no hint to what was just run: {}", refused.err);
}

#[tokio::test]
async fn an_enumerated_type_that_lacks_a_state_is_reported() {
    let place = Place::new("postgres", CONTRACT).await;
    place.sql("CREATE TYPE job_state AS ENUM ('new', 'done', 'broken')").await;
    place.sql(&TABLE.replace("state varchar(20)", "state job_state")).await;
    place.says("error", "state can't hold `taken` (state taken): its enumerated type has no such value");
    place.sql("ALTER TYPE job_state ADD VALUE 'taken'").await;
    assert!(!place.faults().iter().any(|(level, _)| level == "error"));

    let place = Place::new("mysql", CONTRACT).await;
    place.sql(&TABLE.replace("state varchar(20)", "state enum('new', 'done', 'broken')")).await;
    place.says("error", "state can't hold `taken` (state taken): its enumerated type has no such value");
}

#[tokio::test]
async fn postgres_folds_names_and_migrate_makes_no_twin() {
    let contract = CONTRACT.replace("taken_at", "takenAt");
    let place = Place::new("postgres", &contract).await;
    place.sql(&TABLE.replace("taken_at", "takenAt")).await;
    let fold = "column takenAt is missing, but there is takenat: PostgreSQL folds names";
    place.says("error", fold);
    let refused = place.shop.run(&["migrate"]);
    assert_ne!(refused.code, Some(0), "{}", refused.out);
    assert!(refused.err.contains(fold), "{}", refused.err);

    let place = Place::new("postgres", &CONTRACT.replace("name = \"jobs\"", "name = \"Jobs\"")).await;
    place.sql(TABLE).await;
    let fold = "has no table Jobs, but there is jobs: PostgreSQL folds names";
    place.says("error", fold);
    let refused = place.shop.run(&["migrate"]);
    assert!(refused.err.contains(fold), "{}", refused.err);
    let mut connection = sqlx::PgConnection::connect(&place.url).await.unwrap();
    let tables = "SELECT count(*) FROM pg_class WHERE relkind = 'r' AND lower(relname) = 'jobs'";
    let tables: i64 = sqlx::query_scalar(tables).fetch_one(&mut connection).await.unwrap();
    assert_eq!(tables, 1, "no twin");
}

#[tokio::test]
async fn names_in_another_case_are_the_same_where_the_database_says_so() {
    for kind in ["mysql", "sqlite"] {
        let place = Place::new(kind, &CONTRACT.replace("taken_at", "takenAt")).await;
        place.sql(&TABLE.replace("taken_at", "TAKENAT")).await;
        place.shop.run(&["migrate"]).fine();
        let faults = place.faults();
        assert!(faults.iter().all(|(_, text)| text.contains("no lease columns")), "{kind}: {faults:#?}");
    }
}

#[test]
fn contract_verify_knows_what_the_composer_reads() {
    let shop = Shop::new(None);
    let wrong = CONTRACT.replace("payload = \"payload\"", "body = \"payload\"");
    std::fs::write(shop.path("jobs.toml"), wrong).unwrap();
    let said = shop.run(&["contract", "verify", "jobs.toml"]);
    assert_ne!(said.code, Some(0));
    assert!(
        said.err.contains("message.payload") && said.err.contains("is required by the composer `record`"),
        "{}",
        said.err
    );
    assert!(
        said.err.contains("message.body") && said.err.contains("is not read by the composer"),
        "{}",
        said.err
    );
}
