use std::time::Duration;

use postrider_seams::row::Value;
use postrider_seams::store::{Class, Store as _};
use postrider_sql::driver::execute::{Execute as _, Statement};
use postrider_store_mysql::{Database, Settings};

use crate::server::{contract, with_database};

#[tokio::test(flavor = "multi_thread")]
async fn cut_connections_are_a_transient_error_and_then_work_again() {
    with_database(|server| async move {
        let store = server.mail_store().await;
        server.insert_mails(3).await;
        let own = "SELECT GROUP_CONCAT(id) FROM information_schema.processlist \
                   WHERE db = DATABASE() AND id <> CONNECTION_ID() AND command = 'Sleep'";
        for id in server.text(own).await.expect("connections").split(',') {
            sqlx::raw_sql(sqlx::AssertSqlSafe(format!("KILL {id}"))).execute(&server.sql).await.ok();
        }
        let mut claimed = 0;
        for _ in 0..20 {
            match store.claim(10).await {
                Ok(rows) => {
                    claimed = rows.len();
                    break;
                }
                Err(error) => assert_eq!(error.class, Class::Transient, "{error}"),
            }
        }
        assert_eq!(claimed, 3);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_away_is_transient_and_the_password_stays_secret() {
    let mut settings = Settings::new("mysql://postrider:hunter2@127.0.0.1:1/mail");
    settings.acquire_timeout = Duration::from_millis(300);
    assert!(!format!("{settings:?}").contains("hunter2"));
    let database = Database::connect(&settings).expect("connecting is lazy");
    let error =
        database.open(contract("mail_outbox"), "dispatch", "mail").await.err().expect("nobody listens");
    assert_eq!(error.class, Class::Transient, "{error}");
    assert!(!format!("{error} {error:?}").contains("hunter2"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_operator_must_fix_is_misconfigured() {
    with_database(|server| async move {
        let open = async |url: &str| {
            let database = Database::connect(&Settings::new(url)).expect("settings");
            database.open(contract("mail_outbox"), "dispatch", "mail").await.err().expect("it can't open")
        };
        let error = open(&server.url).await;
        assert!(
            error.class == Class::Misconfigured && error.message.contains("postrider migrate"),
            "{error}"
        );
        let error = open(&format!("{}_nowhere", server.url)).await;
        assert_eq!(error.class, Class::Misconfigured, "{error}");
        server.run("CREATE USER IF NOT EXISTS 'pr_locked'@'%' IDENTIFIED BY 'right'").await;
        let (_, rest) = server.url.split_once("://").expect("a URL");
        let (_, host) = rest.rsplit_once('@').unwrap_or(("", rest));
        let error = open(&format!("mysql://pr_locked:hunter2@{host}")).await;
        assert_eq!(error.class, Class::Misconfigured, "{error}");
        assert!(!format!("{error} {error:?}").contains("hunter2"), "{error:?}");
        assert!(Database::connect(&Settings::new("mysql://localhost")).is_err(), "no database named");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn g05_a_session_is_utc_and_read_committed_whatever_the_server_says() {
    with_database(|server| async move {
        server.run("SET GLOBAL time_zone = SYSTEM").await;
        let store = server.mail_store().await;
        server.insert_mails(1).await;
        store.claim(1).await.expect("claim");
        let off =
            "SELECT ABS(TIMESTAMPDIFF(SECOND, last_attempt_at, UTC_TIMESTAMP(6))) <= 5 FROM mail_outbox";
        assert_eq!(server.text(off).await.as_deref(), Some("1"));
    })
    .await;
}

/// The server's own limit is hours, for which it would keep the row locks of a worker that vanished.
#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_stays_silent_is_ended_by_the_server() {
    with_database(|server| async move {
        let settings = Settings { timeout: Duration::from_mins(5), ..Settings::new(&server.url) };
        for (database, expected) in
            [(server.database(), 90), (Database::connect(&settings).expect("settings"), 330)]
        {
            let sql = "SELECT CAST(@@SESSION.wait_timeout AS SIGNED)".to_owned();
            let answers = database.transact("read", &[Statement { sql, args: Vec::new() }]).await;
            assert_eq!(answers.expect("an answer")[0].rows[0], [Value::Int(expected)]);
        }
    })
    .await;
}
