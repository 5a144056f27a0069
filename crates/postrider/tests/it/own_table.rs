//! Custom tables: the guide's example, with a UUID key, integers for states, reserved words and camelCase as names and
//! a nullable due time, is drained with a user's contract on each database.

use sqlx::{Connection, Executor};

use crate::databases::{fresh, server};
use crate::sandbox::{Sandbox, eventually};

const CONTRACT: &str = include_str!("../../../../examples/own-table/order_mail.toml");

/// Three rows that can be delivered, one of them later; and one that cannot.
const ROWS: [(&str, &str, Option<&str>); 4] = [
    ("6f1c1a52-0000-4000-8000-000000000001", "ada@example.com", None),
    ("6f1c1a52-0000-4000-8000-000000000002", "this is no address", None),
    ("6f1c1a52-0000-4000-8000-000000000003", "grace@example.com", Some("2001-01-01 00:00:00")),
    ("6f1c1a52-0000-4000-8000-000000000004", "later@example.com", Some("2101-01-01 00:00:00")),
];

/// The inserts of an application that does not know Postrider. `quote` is the dialect's quote of identifiers.
fn inserts(quote: char) -> Vec<String> {
    let columns = ["orderId", "to", "from", "select", "body", "notBefore", "amount"]
        .map(|column| format!("{quote}{column}{quote}"))
        .join(", ");
    ROWS.iter()
        .map(|(id, to, not_before)| {
            let not_before = not_before.map_or("NULL".to_owned(), |time| format!("'{time}'"));
            format!(
                "INSERT INTO {quote}order{quote} ({columns}) VALUES \
                 ('{id}', '{to}', 'shop@example.com', 'Your order', 'It is on its way.', {not_before}, 19.90)"
            )
        })
        .collect()
}

fn sandbox(url: &str) -> Sandbox {
    let settings = format!(
        "[stores.main]\nurl = \"{url}\"\n[transports.out]\nurl = \"file:outbox\"\n\
         [lanes.orders]\ncontract = \"order_mail.toml\"\npoll = \"50ms\"\n"
    );
    let sandbox = Sandbox::new(Some(&settings));
    std::fs::write(sandbox.path("order_mail.toml"), CONTRACT).unwrap();
    sandbox
}

/// Runs the lane until two rows are delivered, and checks the result of each with separate SQL.
fn drain(sandbox: &Sandbox) {
    sandbox.run(&["contract", "verify", "order_mail.toml"]).success();
    let checked = sandbox.run(&["check"]).success();
    assert!(checked.stdout.contains("CREATE INDEX"), "the index that it lacks is shown:\n{}", checked.stdout);
    let running = sandbox.start();
    eventually("two mails", || (sandbox.mails() == 2).then_some(()));
    let state =
        |id: &str| sandbox.run(&["show", "orders", id, "--json"]).success().json()[0]["state"].clone();
    eventually("three rows are finished", || {
        (state(ROWS[0].0) == "done" && state(ROWS[1].0) == "broken" && state(ROWS[2].0) == "done")
            .then_some(())
    });
    assert_eq!(state(ROWS[3].0), "new", "not before its time");
    drop(running);
    sandbox.run(&["requeue", "orders", ROWS[1].0]).success();
    assert_eq!(state(ROWS[1].0), "new");
}

/// (state, tries, amount) of each row, read with separate SQL.
type RowResult = (i64, Option<i64>, String);

fn assert_rows(rows: &[RowResult]) {
    let amounts: Vec<_> = rows.iter().map(|row| row.2.trim_end_matches('0').to_owned()).collect();
    assert_eq!(amounts, ["19.9"; 4], "columns that the contract does not name are not touched");
    assert_eq!(rows.iter().map(|row| row.0).collect::<Vec<_>>(), [2, 0, 2, 0], "after the requeue");
    assert_eq!(rows[0].1.unwrap_or(0), 0, "a delivery is no failure");
    assert_eq!(rows[1].1, Some(0), "a requeue starts afresh");
}

#[tokio::test]
async fn a_custom_table_on_postgres() {
    let url = fresh(&server("POSTRIDER_TEST_POSTGRES"), "own_table").await;
    let mut connection = sqlx::PgConnection::connect(&url).await.unwrap();
    connection.execute(include_str!("../../../../examples/own-table/postgres.sql")).await.unwrap();
    for insert in inserts('"') {
        connection.execute(sqlx::AssertSqlSafe(insert)).await.unwrap();
    }
    drain(&sandbox(&url));
    let query =
        r#"SELECT "state"::bigint, "tryCount"::bigint, "amount"::text FROM "order" ORDER BY "orderId""#;
    assert_rows(&sqlx::query_as::<_, RowResult>(query).fetch_all(&mut connection).await.unwrap());
}

#[tokio::test]
async fn a_custom_table_on_mysql() {
    let url = fresh(&server("POSTRIDER_TEST_MYSQL"), "own_table").await;
    let mut connection = sqlx::MySqlConnection::connect(&url).await.unwrap();
    connection.execute(include_str!("../../../../examples/own-table/mysql.sql")).await.unwrap();
    for insert in inserts('`') {
        connection.execute(sqlx::AssertSqlSafe(insert)).await.unwrap();
    }
    drain(&sandbox(&url));
    let query = "SELECT CAST(`state` AS SIGNED), CAST(`tryCount` AS SIGNED), CAST(`amount` AS CHAR) FROM `order` ORDER BY `orderId`";
    assert_rows(&sqlx::query_as::<_, RowResult>(query).fetch_all(&mut connection).await.unwrap());
}

#[tokio::test]
async fn a_custom_table_on_sqlite() {
    let sandbox = sandbox("sqlite:app.db");
    let pool = sandbox.sql_creating().await;
    pool.execute(include_str!("../../../../examples/own-table/sqlite.sql")).await.unwrap();
    for insert in inserts('"') {
        pool.execute(sqlx::AssertSqlSafe(insert)).await.unwrap();
    }
    drain(&sandbox);
    let query = r#"SELECT "state", "tryCount", CAST("amount" AS TEXT) FROM "order" ORDER BY "orderId""#;
    assert_rows(&sqlx::query_as::<_, RowResult>(query).fetch_all(&pool).await.unwrap());
}
