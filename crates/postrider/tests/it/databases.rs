//! Tests of the binary on the database servers that `cargo xtask test` starts.

use sqlx::Connection;

use crate::sandbox::{SQLITE, Sandbox, eventually};

/// The server's URL; panics with a remedy if it is missing, so that the test is never skipped silently.
pub fn server(variable: &str) -> String {
    std::env::var(variable)
        .unwrap_or_else(|_| panic!("{variable} is not set: run the tests with `cargo xtask test`"))
}

fn wrong_password(url: &str) -> String {
    let mut url = url::Url::parse(url).unwrap();
    url.set_username("nobody_at_all").unwrap();
    url.set_password(Some("hunter2")).unwrap();
    url.to_string()
}

fn sandbox_on(url: &str) -> Sandbox {
    Sandbox::new(Some(&SQLITE.replace("sqlite:app.db", url)))
}

/// Creates a separate database, so that tests do not see each other's tables and pauses.
pub async fn fresh(server: &str, name: &str) -> String {
    let name = format!("{name}_{}", std::process::id());
    let create = sqlx::AssertSqlSafe(format!("CREATE DATABASE {name}"));
    if server.starts_with("postgres") {
        let mut connection = sqlx::PgConnection::connect(server).await.unwrap();
        sqlx::raw_sql(create).execute(&mut connection).await.unwrap();
    } else {
        let mut connection = sqlx::MySqlConnection::connect(server).await.unwrap();
        sqlx::raw_sql(create).execute(&mut connection).await.unwrap();
    }
    let mut url = url::Url::parse(server).unwrap();
    url.set_path(&name);
    url.to_string()
}

fn lifecycle(url: &str) {
    let sandbox = sandbox_on(url);
    let missing = sandbox.run(&["run", "--listen", "127.0.0.1:0"]).code(1);
    assert!(missing.stderr.contains("postrider migrate"), "{}", missing.stderr);
    assert!(sandbox.run(&["check"]).code(1).stdout.contains("CREATE TABLE"));
    sandbox.run(&["migrate"]).success();
    assert_eq!(sandbox.run(&["migrate"]).success().stdout, "");
    sandbox.run(&["check"]).success();

    let id = sandbox
        .run(&["send", "mail", "--to", "a@example.com", "--subject", "It's \\ here", "--text", "Body"])
        .success();
    let running = sandbox.start();
    eventually("the mail is in the folder", || (sandbox.mails() == 1).then_some(()));
    eventually("the row is sent", || {
        let shown = sandbox.run(&["show", "mail", id.stdout.trim(), "--json"]).success();
        (shown.json()[0]["state"] == "sent").then_some(())
    });
    drop(running);
    let shown = &sandbox.run(&["show", "mail", id.stdout.trim(), "--json"]).success().json()[0];
    assert_eq!(shown["columns"]["subject"], "It's \\ here");
    assert!(sandbox.run(&["status"]).success().stdout.contains("sent"));
    sandbox.run(&["pause", "mail"]).success();
    assert_eq!(sandbox.run(&["status", "--json"]).success().json()[0]["paused"], true);
    sandbox.run(&["resume", "mail"]).success();
}

fn assert_refused(url: &str) {
    let sandbox = sandbox_on(&wrong_password(url));
    for command in [&["run", "--listen", "127.0.0.1:0"][..], &["status"], &["check"], &["migrate"]] {
        let output = sandbox.run(command).code(1);
        let all = format!("{}{}", output.stdout, output.stderr);
        assert!(
            all.contains("nobody_at_all")
                || all.to_lowercase().contains("password")
                || all.contains("denied"),
            "{all}"
        );
        assert!(!all.contains("hunter2"), "{all}");
    }
}

#[tokio::test]
async fn postgres_from_nothing_to_a_sent_mail() {
    lifecycle(&fresh(&server("POSTRIDER_TEST_POSTGRES"), "cli_lifecycle").await);
}

#[tokio::test]
async fn mysql_from_nothing_to_a_sent_mail() {
    lifecycle(&fresh(&server("POSTRIDER_TEST_MYSQL"), "cli_lifecycle").await);
}

#[tokio::test]
async fn postgres_wrong_user_or_password_is_one_clear_message() {
    assert_refused(&fresh(&server("POSTRIDER_TEST_POSTGRES"), "cli_refused").await);
}

#[tokio::test]
async fn mysql_wrong_user_or_password_is_one_clear_message() {
    assert_refused(&fresh(&server("POSTRIDER_TEST_MYSQL"), "cli_refused").await);
}

/// A table with only the fields of the specification and those of the message: no `migrate`, no time of creation.
fn minimal_table(columns: &str, due: &str) -> [String; 2] {
    [
        format!(
            "CREATE TABLE mail_outbox ({columns}, status VARCHAR(20) NOT NULL, retry_count INTEGER NOT NULL, \
             next_attempt_at {due} NOT NULL, last_error TEXT NULL, last_attempt_at {due} NULL, to_addresses TEXT, \
             subject TEXT, body_text TEXT)"
        ),
        "INSERT INTO mail_outbox (id, status, retry_count, next_attempt_at, to_addresses, subject, body_text) \
         VALUES (1, 'queued', 0, '2026-01-01 00:00:00', 'ann@example.com', 'Hi', 'Hello')"
            .to_owned(),
    ]
}

fn assert_drains(sandbox: &Sandbox) {
    let checked = sandbox.run(&["check"]);
    assert!(checked.stdout.contains("created_at"), "{}{}", checked.stdout, checked.stderr);
    let running = sandbox.start();
    eventually("the mail is in the folder", || (sandbox.mails() == 1).then_some(()));
    eventually("the row is sent", || {
        let shown = sandbox.run(&["show", "mail", "1", "--json"]).success();
        (shown.json()[0]["state"] == "sent").then_some(())
    });
    drop(running);
    sandbox.run(&["migrate"]).success();
    sandbox.run(&["check"]).success();
}

#[tokio::test]
async fn m02_the_specified_columns_suffice_on_postgres() {
    let url = fresh(&server("POSTRIDER_TEST_POSTGRES"), "cli_bare").await;
    let sandbox = sandbox_on(&url);
    let mut connection = sqlx::PgConnection::connect(&url).await.unwrap();
    for statement in minimal_table("id BIGINT PRIMARY KEY", "TIMESTAMP") {
        sqlx::raw_sql(sqlx::AssertSqlSafe(statement)).execute(&mut connection).await.unwrap();
    }
    assert_drains(&sandbox);
}

#[tokio::test]
async fn m02_the_specified_columns_suffice_on_mysql() {
    let url = fresh(&server("POSTRIDER_TEST_MYSQL"), "cli_bare").await;
    let sandbox = sandbox_on(&url);
    let mut connection = sqlx::MySqlConnection::connect(&url).await.unwrap();
    for statement in minimal_table("id BIGINT PRIMARY KEY", "DATETIME") {
        sqlx::raw_sql(sqlx::AssertSqlSafe(statement)).execute(&mut connection).await.unwrap();
    }
    assert_drains(&sandbox);
}

#[tokio::test]
async fn m02_the_specified_columns_suffice_on_sqlite() {
    let sandbox = Sandbox::new(Some(SQLITE));
    let pool = sandbox.sql_creating().await;
    for statement in minimal_table("id INTEGER PRIMARY KEY", "TIMESTAMP") {
        sqlx::raw_sql(sqlx::AssertSqlSafe(statement)).execute(&pool).await.unwrap();
    }
    pool.close().await;
    assert_drains(&sandbox);
}

#[tokio::test]
async fn g05_rows_with_an_unreadable_time_are_reported_and_ended() {
    let sandbox = Sandbox::ready();
    let pool = sandbox.sql().await;
    for _ in 0..3 {
        sandbox.insert(&pool, "ann@example.com").await;
    }
    let broken = "UPDATE mail_outbox SET next_attempt_at = 'tomorrow-ish' WHERE id > 1";
    sqlx::query(broken).execute(&pool).await.unwrap();
    let about = "2 of the newest 10000 rows of mail_outbox hold a time in next_attempt_at that can't be read";
    let checked = sandbox.run(&["check"]);
    assert!(checked.stdout.contains(about), "{}", checked.stdout);
    assert!(sandbox.run(&["status"]).success().stdout.contains(about));
    let warnings = &sandbox.run(&["status", "--json"]).success().json()[0]["warnings"];
    assert!(warnings[0].as_str().unwrap().starts_with(about), "{warnings}");

    let running = sandbox.start();
    eventually("the readable row goes", || (sandbox.mails() == 1).then_some(()));
    eventually("the log reports the others", || {
        running.log().contains("whose time can't be read").then_some(())
    });
    let shown = sandbox.run(&["show", "mail", "2", "--json"]).success();
    assert_eq!(shown.json()[0]["state"], "failed");
    assert_eq!(shown.json()[0]["columns"]["last_error"], "next_attempt_at holds a time that can't be read");
}
