//! Mistakes of the operator: one clear message each, exit code 1 or 2, nothing changed.

use crate::rig::database::{Kind, Server, fresh, on_server};
use crate::rig::sql::Sql;
use crate::shop::Shop;

fn write(shop: &Shop, settings: &str) {
    std::fs::write(shop.path("postrider.toml"), settings).expect("the settings can be written");
}

fn settings(url: &str) -> String {
    format!(
        "[server]\nlisten = \"off\"\n[stores.main]\nurl = \"{url}\"\n[transports.relay]\nurl = \"smtp://127.0.0.1:9\"\n\
         [lanes.mail_outbox]\ncontract = \"mail_outbox\"\n"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_table_is_told_and_not_made() {
    for kind in [Kind::Postgres, Kind::MariaDb] {
        let shop = Shop::new(None);
        let (url, sql) = fresh(kind, "missing_table", &shop).await;
        write(&shop, &settings(&url));
        let said = shop.run(&["run"]).code(1);
        assert!(said.err.contains("mail_outbox") && said.err.contains("postrider migrate"), "{}", said.err);
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
async fn a_wrong_password_is_told_without_showing_it_on_mariadb() {
    let shop = Shop::new(None);
    let (url, sql) = fresh(Kind::MariaDb, "wrong_password", &shop).await;
    let (user, before) = (format!("guarded_{:08x}", rand::random::<u32>()), tables(&sql).await);
    sql.must(&format!("CREATE USER '{user}'@'127.0.0.1' IDENTIFIED BY 'right-one'")).await;
    write(&shop, &settings(&url.replace("root@", &format!("{user}:wrong-hunter2@"))));
    refused(&shop, "check user and password");
    assert_eq!(tables(&sql).await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_password_is_told_without_showing_it_on_postgres() {
    let shop = Shop::new(None);
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
    write(&shop, &settings(&url.replace("postgres@", "guarded:wrong-hunter2@")));
    refused(&shop, "check user and password");
    assert_eq!(tables(&sql).await, Some(0));
}

/// Asserts that every command that connects reports the error, exits with 1, and shows no password.
fn refused(shop: &Shop, advice: &str) {
    for command in ["run", "migrate", "status"] {
        let said = shop.run(&[command]).code(1);
        let whole = format!("{}{}", said.err, said.out);
        assert!(whole.contains(advice), "{command}: {whole}");
        assert!(!whole.contains("wrong-hunter2"), "{command} shows the password: {whole}");
    }
}
