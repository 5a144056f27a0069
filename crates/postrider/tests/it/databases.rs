//! The same binary on the servers that `cargo xtask test` starts.

use sqlx::Connection;

use crate::shop::{SQLITE, Shop, eventually};

/// The server's URL; its absence is a failure with a remedy, never a silent pass.
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

fn on(url: &str) -> Shop {
    Shop::new(Some(&SQLITE.replace("sqlite:app.db", url)))
}

/// A database of the test's own, so that none sees another's tables and pauses.
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
    let shop = on(url);
    let missing = shop.run(&["run", "--listen", "127.0.0.1:0"]).code(1);
    assert!(missing.err.contains("postrider migrate"), "{}", missing.err);
    assert!(shop.run(&["check"]).code(1).out.contains("CREATE TABLE"));
    shop.run(&["migrate"]).fine();
    assert_eq!(shop.run(&["migrate"]).fine().out, "");
    shop.run(&["check"]).fine();

    let id = shop
        .run(&["send", "mail", "--to", "a@example.com", "--subject", "It's \\ here", "--text", "Body"])
        .fine();
    let running = shop.start();
    eventually("the mail is in the folder", || (shop.mails() == 1).then_some(()));
    eventually("the row is sent", || {
        let shown = shop.run(&["show", "mail", id.out.trim(), "--json"]).fine();
        (shown.json()[0]["state"] == "sent").then_some(())
    });
    drop(running);
    let shown = &shop.run(&["show", "mail", id.out.trim(), "--json"]).fine().json()[0];
    assert_eq!(shown["columns"]["subject"], "It's \\ here");
    assert!(shop.run(&["status"]).fine().out.contains("sent"));
    shop.run(&["pause", "mail"]).fine();
    assert_eq!(shop.run(&["status", "--json"]).fine().json()[0]["paused"], true);
    shop.run(&["resume", "mail"]).fine();
}

fn refused(url: &str) {
    let shop = on(&wrong_password(url));
    for command in [&["run", "--listen", "127.0.0.1:0"][..], &["status"], &["check"], &["migrate"]] {
        let said = shop.run(command).code(1);
        let all = format!("{}{}", said.out, said.err);
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
    refused(&fresh(&server("POSTRIDER_TEST_POSTGRES"), "cli_refused").await);
}

#[tokio::test]
async fn mysql_wrong_user_or_password_is_one_clear_message() {
    refused(&fresh(&server("POSTRIDER_TEST_MYSQL"), "cli_refused").await);
}
