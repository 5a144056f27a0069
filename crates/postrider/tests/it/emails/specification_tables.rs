//! E8's fallback: the specification's tables without the columns that `migrate` adds. Attempts are counted in the
//! history, and a row is due at its last change plus its backoff.

use std::time::Duration;

use postrider_services::{SmtpOptions, SmtpServer};

use super::{history, settings, state, wait_for_state};
use crate::sandbox::Sandbox;
use crate::support::callback_receiver::CallbackReceiver;
use crate::support::database::{self, Kind};
use crate::support::sql::Sql;
use crate::support::wait::{TIMEOUT, wait_until};

/// The tables of the specification; on the other two databases the ENUM is text.
const MYSQL: [&str; 2] = [
    "CREATE TABLE IF NOT EXISTS emails (
        id CHAR(36) PRIMARY KEY,
        status ENUM('ACCEPTED','INTAKING','READY','PROCESSING','SENT','FAILED','INVALID','CALLING-SENT-CALLBACK',
                    'CALLING-FAILED-CALLBACK','SENT-ACKNOWLEDGED','FAILED-ACKNOWLEDGED') NOT NULL,
        eml_file_path VARCHAR(500), payload_file_path VARCHAR(500), reason TEXT,
        version INT NOT NULL DEFAULT 1,
        created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
        updated_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
        INDEX idx_status (status), INDEX idx_status_updated (status, updated_at)
    ) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4",
    "CREATE TABLE IF NOT EXISTS email_statuses (
        id BIGINT AUTO_INCREMENT PRIMARY KEY, email_id CHAR(36) NOT NULL, status VARCHAR(50) NOT NULL, reason TEXT,
        created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
        INDEX idx_email_id (email_id), FOREIGN KEY (email_id) REFERENCES emails(id) ON DELETE CASCADE
    ) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4",
];

fn related_tables(time: &str, key: &str) -> [String; 4] {
    [
        format!(
            "CREATE TABLE emails (id CHAR(36) PRIMARY KEY, status VARCHAR(50) NOT NULL, eml_file_path VARCHAR(500), \
             payload_file_path VARCHAR(500), reason TEXT, version INT NOT NULL DEFAULT 1, \
             created_at {time} NOT NULL DEFAULT CURRENT_TIMESTAMP, updated_at {time} NOT NULL DEFAULT CURRENT_TIMESTAMP)"
        ),
        "CREATE INDEX idx_status_updated ON emails (status, updated_at)".to_owned(),
        format!(
            "CREATE TABLE email_statuses (id {key}, email_id CHAR(36) NOT NULL REFERENCES emails(id) ON DELETE CASCADE, \
             status VARCHAR(50) NOT NULL, reason TEXT, created_at {time} NOT NULL DEFAULT CURRENT_TIMESTAMP)"
        ),
        "CREATE INDEX idx_email_id ON email_statuses (email_id)".to_owned(),
    ]
}

pub async fn create(kind: Kind, sql: &Sql) {
    let statements: Vec<String> = match kind {
        Kind::MariaDb => MYSQL.map(str::to_owned).to_vec(),
        Kind::Postgres => {
            related_tables("TIMESTAMPTZ", "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY").to_vec()
        }
        Kind::Sqlite => related_tables("TIMESTAMP", "INTEGER PRIMARY KEY AUTOINCREMENT").to_vec(),
    };
    for statement in statements {
        sql.must(&statement).await;
    }
}

/// Writes a message file, and inserts a READY row that names it.
async fn insert_ready(sql: &Sql, base: &std::path::Path, id: &str, to: &str) {
    let path = base.join(format!("{id}.eml"));
    std::fs::write(&path, format!("From: a@example.org\r\nTo: {to}\r\nSubject: {id}\r\n\r\nHello\r\n"))
        .unwrap();
    let path = path.display().to_string();
    let cells = [("id", id.into()), ("status", "READY".into()), ("eml_file_path", path.as_str().into())];
    sql.insert("emails", &cells).await;
}

fn claims(states: &[String], state: &str) -> usize {
    states.iter().filter(|known| *known == state).count()
}

async fn count_in_history(kind: Kind) {
    let sandbox = Sandbox::new(None);
    if kind == Kind::Sqlite {
        sandbox.sql_creating().await.close().await;
    }
    let (url, sql) = database::fresh(kind, "emails", &sandbox).await;
    create(kind, &sql).await;
    let relay = tokio::task::block_in_place(|| SmtpServer::start(&SmtpOptions::default())).expect("a relay");
    // The callbacks of one e-mail are refused until they are given up, and accepted later.
    let receiver = CallbackReceiver::refusing("gone", 3, Duration::ZERO);
    let base = sandbox.path("mnt");
    std::fs::create_dir_all(&base).unwrap();
    let text = settings(&url, base.to_str().unwrap(), &receiver.url)
        .replace("url = \"file:outbox\"", &format!("url = \"smtp://{}\"", relay.address()))
        .replace("retry.base = \"100ms\"", "retry.base = \"1s\"\nattempts.max = 3");
    std::fs::write(sandbox.path("postrider.toml"), text).unwrap();
    let output = sandbox.run(&["check", "send"]).success();
    assert!(output.stdout.contains("they are counted in email_statuses"), "{}", output.stdout);

    insert_ready(&sql, &base, "gone", "rcpt-450-a@example.net").await;
    insert_ready(&sql, &base, "once", "once-451-b@example.net").await;
    let running = sandbox.start();
    // The relay answers 450 to each of three attempts, then the mail is failed; its callback is given up after
    // three as well.
    let reason = wait_for_state(&sql, "gone", "FAILED").await;
    assert!(reason.contains("450"), "{reason}");
    wait_until("the callback was given up", TIMEOUT, || async {
        let states = history(&sql, "gone").await;
        let given_up = claims(&states, "CALLING-FAILED-CALLBACK") == 3 && states.last()? == "FAILED";
        given_up.then_some(())
    })
    .await;
    let states = history(&sql, "gone").await;
    assert_eq!(states[..6], ["PROCESSING", "READY", "PROCESSING", "READY", "PROCESSING", "FAILED"]);
    assert!(state(&sql, "gone").await.1.contains("450"), "the reason of the failure is kept");
    wait_for_state(&sql, "once", "SENT-ACKNOWLEDGED").await;
    let states = history(&sql, "once").await;
    assert_eq!(states[..4], ["PROCESSING", "READY", "PROCESSING", "SENT"]);

    // There is no fourth callback until an operator requests it.
    insert_ready(&sql, &base, "later", "c@example.net").await;
    wait_for_state(&sql, "later", "SENT-ACKNOWLEDGED").await;
    assert_eq!(claims(&history(&sql, "gone").await, "CALLING-FAILED-CALLBACK"), 3);
    sandbox.run(&["requeue", "failed", "gone"]).success();
    wait_for_state(&sql, "gone", "FAILED-ACKNOWLEDGED").await;
    drop(running);
    sql.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e08_attempts_are_counted_in_the_history_on_mariadb() {
    count_in_history(Kind::MariaDb).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e08_attempts_are_counted_in_the_history_on_postgres() {
    count_in_history(Kind::Postgres).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e08_attempts_are_counted_in_the_history_on_sqlite() {
    count_in_history(Kind::Sqlite).await;
}
