use std::time::Duration;

use postrider_seams::store::{Class, Store as _};
use postrider_store_sqlite::{Database, Settings};
use tokio::time::Instant;

use crate::file::{File, claim, contract};

#[tokio::test(flavor = "multi_thread")]
async fn a_lock_of_another_process_is_waited_for() {
    let file = File::new();
    let store = file.mail_store().await;
    file.insert_mails(3).await;
    let mut other = file.sql.begin_with("BEGIN IMMEDIATE").await.expect("their lock");
    sqlx::query("UPDATE mail_outbox SET subject = 'theirs'").execute(&mut *other).await.expect("their write");
    let started = Instant::now();
    let waiting = tokio::spawn(async move { claim(&store, 10).await });
    // Longer than SQLite's own busy timeout.
    tokio::time::sleep(Duration::from_secs(4)).await;
    other.commit().await.expect("commit");
    let rows = waiting.await.expect("the claim");
    assert_eq!(rows.len(), 3);
    assert!(started.elapsed() >= Duration::from_secs(4));
    assert_eq!(rows[0].fields.as_ref().expect("small").get("subject").as_text(), Some("theirs"));
}

#[tokio::test(flavor = "multi_thread")]
async fn past_our_patience_it_is_a_transient_error_and_readers_go_on() {
    let file = File::new();
    file.mail_store().await;
    file.insert_mails(3).await;
    let settings = Settings { patience: Duration::from_millis(100), ..file.settings() };
    let database = Database::connect(&settings).expect("settings");
    let store = database.open(contract("mail_outbox"), "dispatch", "mail").await.expect("open");
    let other = file.sql.begin_with("BEGIN IMMEDIATE").await.expect("their lock");
    let error = store.claim(1).await.expect_err("locked");
    assert_eq!(error.class, Class::Transient, "{error}");
    assert!(store.next_due().await.expect("a reader is not held up").is_some());
    drop(other);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_operator_must_fix_is_misconfigured() {
    let file = File::new();
    let missing = Settings { create: false, ..file.settings() };
    let database = Database::connect(&missing).expect("connecting is lazy");
    let error = database.open(contract("mail_outbox"), "dispatch", "mail").await.err().expect("no file");
    assert_eq!(error.class, Class::Misconfigured, "{error}");

    let database = file.database();
    let error = database.open(contract("mail_outbox"), "dispatch", "mail").await.err().expect("no table");
    assert!(error.class == Class::Misconfigured && error.message.contains("postrider migrate"), "{error}");

    let error = Database::connect(&Settings::new("sqlite::memory:")).err().expect("no file at all");
    assert_eq!(error.class, Class::Misconfigured, "{error}");

    std::fs::write(
        file.folder.path().join("text.db"),
        "this is not a database, but long enough to be read as one",
    )
    .expect("a file");
    let url = format!("sqlite:{}", file.folder.path().join("text.db").display());
    let database = Database::connect(&Settings::new(url)).expect("settings");
    let error = database.open(contract("mail_outbox"), "dispatch", "mail").await.err().expect("no database");
    assert_eq!(error.class, Class::Misconfigured, "{error}");
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn a_new_file_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let file = File::new();
    let _store = file.mail_store().await;
    file.insert_mails(1).await;
    for name in ["test.db", "test.db-wal"] {
        let mode = std::fs::metadata(file.folder.path().join(name)).expect(name).permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}
