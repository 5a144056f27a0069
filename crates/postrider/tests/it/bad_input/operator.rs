//! Mistakes of the operator: one clear message each, exit code 1 or 2, nothing changed.

use crate::sandbox::Sandbox;
use crate::support::database::{Kind, Server, fresh, on_server};
use crate::support::sql::Sql;

fn write(sandbox: &Sandbox, settings: &str) {
    std::fs::write(sandbox.path("postrider.toml"), settings).expect("the settings can be written");
}

fn settings(url: &str) -> String {
    format!(
        "[server]\nlisten = \"off\"\n[stores.main]\nurl = \"{url}\"\n[transports.relay]\nurl = \"smtp://127.0.0.1:9\"\n\
         [lanes.mail_outbox]\ncontract = \"mail_outbox\"\n"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_table_is_reported_and_not_created() {
    for kind in [Kind::Postgres, Kind::MariaDb] {
        let sandbox = Sandbox::new(None);
        let (url, sql) = fresh(kind, "missing_table", &sandbox).await;
        write(&sandbox, &settings(&url));
        let output = sandbox.run(&["run"]).code(1);
        assert!(
            output.stderr.contains("mail_outbox") && output.stderr.contains("postrider migrate"),
            "{}",
            output.stderr
        );
        assert_eq!(tables(&sql).await, Some(0), "{kind:?}: nothing was made");
    }
}

async fn tables(sql: &Sql) -> Option<u64> {
    match sql {
        Sql::Postgres(_) => sql.count("pg_tables WHERE schemaname = 'public'").await,
        Sql::MariaDb(_) => sql.count("information_schema.tables WHERE table_schema = database()").await,
        Sql::Sqlite(_) => panic!("SQLite's mistakes are tested with the commands"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_password_is_reported_without_showing_it_on_mariadb() {
    let sandbox = Sandbox::new(None);
    let (url, sql) = fresh(Kind::MariaDb, "wrong_password", &sandbox).await;
    let (user, before) = (format!("guarded_{:08x}", rand::random::<u32>()), tables(&sql).await);
    sql.must(&format!("CREATE USER '{user}'@'127.0.0.1' IDENTIFIED BY 'right-one'")).await;
    write(&sandbox, &settings(&url.replace("root@", &format!("{user}:wrong-hunter2@"))));
    assert_refused(&sandbox, "check user and password");
    assert_eq!(tables(&sql).await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_password_is_reported_without_showing_it_on_postgres() {
    let sandbox = Sandbox::new(None);
    // A separate server: login without a password is a setting of the whole server.
    let server = Server::start(Kind::Postgres);
    let (url, sql) = on_server(Kind::Postgres, &server.url(), "guarded", "").await;
    sql.must("CREATE ROLE guarded LOGIN PASSWORD 'right-one'").await;
    sql.must(
        "DO $$ BEGIN EXECUTE format('COPY (VALUES (''host all guarded 127.0.0.1/32 scram-sha-256''), \
         (''host all all 127.0.0.1/32 trust'')) TO %L', current_setting('hba_file')); END $$",
    )
    .await;
    sql.must("SELECT pg_reload_conf()").await;
    write(&sandbox, &settings(&url.replace("postgres@", "guarded:wrong-hunter2@")));
    assert_refused(&sandbox, "check user and password");
    assert_eq!(tables(&sql).await, Some(0));
}

/// Asserts that every command that connects reports the error, exits with 1, and shows no password.
fn assert_refused(sandbox: &Sandbox, advice: &str) {
    for command in ["run", "migrate", "status"] {
        let output = sandbox.run(&[command]).code(1);
        let whole = format!("{}{}", output.stderr, output.stdout);
        assert!(whole.contains(advice), "{command}: {whole}");
        assert!(!whole.contains("wrong-hunter2"), "{command} shows the password: {whole}");
    }
}
