use std::time::Duration;

use postrider_seams::row::Value;
use postrider_seams::store::{Class, Store as _};
use postrider_sql::driver::execute::{Execute as _, Statement};
use postrider_store_postgres::{Database, Settings};

use crate::server::{contract, with_database};

#[tokio::test(flavor = "multi_thread")]
async fn cut_connections_are_a_transient_error_and_then_work_again() {
    with_database(|server| async move {
        let store = server.mail_store().await;
        server.insert_mails(3).await;
        server
            .run(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                  WHERE application_name = 'postrider' AND datname = current_database()",
            )
            .await;
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
    let mut settings = Settings::new("postgres://postrider:hunter2@127.0.0.1:1/mail");
    settings.acquire_timeout = Duration::from_millis(300);
    assert!(!format!("{settings:?}").contains("hunter2"));
    let database = Database::connect(&settings).expect("connecting is lazy");
    let Err(error) = database.open(contract("mail_outbox"), "dispatch", "mail").await else {
        panic!("nobody listens there");
    };
    assert_eq!(error.class, Class::Transient, "{error}");
    assert!(error.message.contains("127.0.0.1:1"), "{error}");
    assert!(!format!("{error} {error:?}").contains("hunter2"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_operator_must_fix_is_misconfigured() {
    with_database(|server| async move {
        let database = server.database();
        let error = database.open(contract("mail_outbox"), "dispatch", "mail").await.err().expect("no table");
        assert_eq!(error.class, Class::Misconfigured);
        assert!(error.message.contains("postrider migrate"), "{error}");

        server.run("CREATE TABLE mail_outbox (id bigint PRIMARY KEY, subject text)").await;
        let error =
            database.open(contract("mail_outbox"), "dispatch", "mail").await.err().expect("no columns");
        assert_eq!(error.class, Class::Misconfigured);
        assert!(
            error.message.contains("retry_count") && error.message.contains("status"),
            "all of them: {error}"
        );

        let nowhere = format!("{}_nowhere", server.url);
        let database = Database::connect(&Settings::new(nowhere)).expect("settings");
        let error =
            database.open(contract("mail_outbox"), "dispatch", "mail").await.err().expect("no database");
        assert_eq!(error.class, Class::Misconfigured, "{error}");

        let error = Database::connect(&Settings::new("postgres://:hunter2@:x/")).err().expect("no URL");
        assert!(
            error.class == Class::Misconfigured && !format!("{error:?}").contains("hunter2"),
            "{error:?}"
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_ends_when_its_peer_is_gone() {
    with_database(|server| async move {
        let sql = "SELECT current_setting('tcp_user_timeout'), current_setting('tcp_keepalives_idle'), \
                   current_setting('idle_in_transaction_session_timeout')"
            .to_owned();
        let answers = server.database().transact("read", &[Statement { sql, args: Vec::new() }]).await;
        let expected = ["30000", "30", "8s"].map(|text| Value::Text(text.to_owned()));
        assert_eq!(answers.expect("an answer")[0].rows[0], expected);
    })
    .await;
}
