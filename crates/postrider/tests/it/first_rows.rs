//! `preview`, and the lane that stops because most of the first rows of its contract are rejected.

use serde_json::Value;

use crate::databases::{fresh, server};
use crate::sandbox::{Sandbox, eventually};

const CONTRACT: &str = r#"
contract = "events"
version  = "1.0"
composer = "record"
[table]
name = "events"
id   = "id"
[columns]
status     = "state"
attempts   = "tries"
due        = "due_at"
claimed_at = "taken_at"
error      = "failure"
created    = "made_at"
[message]
topic   = "TOPIC"
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

/// A table whose column `title` is no topic, and 60 rows.
async fn sandbox(url: &str) -> Sandbox {
    let settings = format!(
        "[stores.main]\nurl = \"{url}\"\n[transports.out]\nurl = \"file:out\"\n\
         [lanes.events]\ncontract = \"./events.toml\"\npoll = \"50ms\"\nsweep = \"200ms\"\n"
    );
    let sandbox = Sandbox::new(Some(&settings));
    let time = if url.starts_with("postgres") { "timestamp" } else { "datetime(6)" };
    let create = format!(
        "CREATE TABLE events (id integer PRIMARY KEY, topic varchar(50), title varchar(50), payload varchar(200), \
         state varchar(20) NOT NULL, tries integer NOT NULL DEFAULT 0, due_at {time}, taken_at {time}, failure text, made_at {time})"
    );
    let rows: Vec<String> =
        (1..=60).map(|id| format!("({id}, 'orders', 'Order no {id}', 'payload {id}', 'new')")).collect();
    let insert = format!("INSERT INTO events (id, topic, title, payload, state) VALUES {}", rows.join(", "));
    let run = async |sql: String| {
        let sql = sqlx::AssertSqlSafe(sql);
        if url.starts_with("postgres") {
            let pool = sqlx::PgPool::connect(url).await.unwrap();
            sqlx::query(sql).execute(&pool).await.map(drop).unwrap();
        } else if url.starts_with("mysql") {
            let pool = sqlx::MySqlPool::connect(url).await.unwrap();
            sqlx::query(sql).execute(&pool).await.map(drop).unwrap();
        } else {
            let pool = sandbox.sql_creating().await;
            sqlx::query(sql).execute(&pool).await.map(drop).unwrap();
        }
    };
    run(create).await;
    run(insert).await;
    with_topic(&sandbox, "title");
    sandbox.run(&["migrate"]).success();
    sandbox
}

/// Writes the contract with this column as the topic.
fn with_topic(sandbox: &Sandbox, column: &str) {
    std::fs::write(sandbox.path("events.toml"), CONTRACT.replace("TOPIC", column)).unwrap();
}

fn rows_in(sandbox: &Sandbox, state: &str) -> u64 {
    let status = &sandbox.run(&["status", "--json"]).success().json()[0];
    let states = status["states"].as_array().unwrap();
    let count = states.iter().find(|count| count["state"] == state).unwrap();
    count["rows"].as_u64().unwrap()
}

async fn stops_and_goes_on(url: &str) {
    let sandbox = sandbox(url).await;
    let running = sandbox.start();
    let (code, text) = eventually("the lane stops", || {
        let (code, text) = running.get("/readyz");
        text.contains("were rejected").then_some((code, text))
    });
    assert_eq!(code, 503, "{text}");
    assert!(text.contains("postrider preview events") && text.contains("postrider resume events"), "{text}");
    eventually("every row was handed back", || (rows_in(&sandbox, "new") == 60).then_some(()));
    assert_eq!(rows_in(&sandbox, "broken"), 0, "no row was ended");
    let status = sandbox.run(&["status"]).success().stdout;
    assert!(status.contains("stopped: most of the first rows"), "{status}");
    drop(running);

    let shown = sandbox.run(&["preview", "events", "--rows", "3"]).success().stdout;
    assert!(shown.contains("0 rows can be sent, 3 cannot"), "{shown}");
    with_topic(&sandbox, "topic");
    let shown = sandbox.run(&["preview", "events", "--rows", "3"]).success().stdout;
    assert!(shown.contains("3 rows can be sent, 0 cannot") && shown.contains("topic: orders"), "{shown}");
    assert!(shown.contains("  | payload 1\n"), "{shown}");

    let running = sandbox.start();
    eventually("every row is delivered", || (rows_in(&sandbox, "done") == 60).then_some(()));
    drop(running);
    let finished = sandbox.run(&["preview", "events", "--finished", "--json"]).success().json();
    let counts: Vec<&Value> = finished.iter().filter(|one| one.get("composed").is_some()).collect();
    assert_eq!((finished.len(), &counts[0]["composed"]), (21, &20.into()), "{finished:?}");
    assert_eq!((&finished[0]["state"], &finished[0]["kind"]), (&"done".into(), &"record".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_contract_ends_no_row_on_postgres() {
    stops_and_goes_on(&fresh(&server("POSTRIDER_TEST_POSTGRES"), "first_rows").await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_contract_ends_no_row_on_mysql() {
    stops_and_goes_on(&fresh(&server("POSTRIDER_TEST_MYSQL"), "first_rows").await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_contract_ends_no_row_on_sqlite() {
    stops_and_goes_on("sqlite:app.db").await;
}

/// An operator who knows that the rows are bad accepts the contract; the running lane goes on, and later starts too.
#[tokio::test(flavor = "multi_thread")]
async fn resume_accepts_the_contract() {
    let sandbox = sandbox("sqlite:app.db").await;
    let running = sandbox.start();
    eventually("the lane stops", || running.get("/readyz").1.contains("were rejected").then_some(()));
    sandbox.run(&["resume", "events"]).success();
    eventually("every row ended", || (rows_in(&sandbox, "broken") == 60).then_some(()));
    drop(running);
    let dead = sandbox.run(&["list", "events", "--state", "broken", "--limit", "1"]).success().stdout;
    assert!(dead.contains("topic"), "with a reason: {dead}");
    sandbox.run(&["requeue", "events", "--state", "broken"]).success();
    let running = sandbox.start();
    eventually("they end at once", || (rows_in(&sandbox, "broken") == 60).then_some(()));
    drop(running);
}
