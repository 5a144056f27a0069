//! `migrate --search`: rows of any age are found by recipient and group, and no value is too long for the index.

use serde_json::Value;

use super::request;
use crate::sandbox::{RunningBinary, Sandbox, eventually};
use crate::support::database::{Kind, fresh};
use crate::support::sql::Sql;

/// More rows than a search without an index scans.
const NEWER: usize = 10_050;

fn settings(url: &str) -> String {
    format!(
        "[server]\napi = \"main\"\n[stores.main]\nurl = \"{url}\"\n[transports.out]\nurl = \"file:outbox\"\n\
         [mail]\nfrom = \"shop@example.com\"\n[lanes.mail]\ncontract = \"mail_outbox\"\n\
         [lanes.events]\ncontract = \"outbox\"\n"
    )
}

async fn insert_mails(sql: &Sql, to: &[String]) {
    for some in to.chunks(500) {
        let rows: Vec<String> = some.iter().map(|to| format!("('{to}', 'x', 'x', 'sent')")).collect();
        let rows = rows.join(", ");
        sql.must(&format!(
            "INSERT INTO mail_outbox (to_addresses, subject, body_text, status) VALUES {rows}"
        ))
        .await;
    }
}

async fn insert_events(sql: &Sql, groups: &[String]) {
    let now = sql.now();
    for some in groups.chunks(500) {
        let row = |group: &String| format!("('deals', '{group}', '{{}}', 'DELIVERED', {now})");
        let rows = some.iter().map(row).collect::<Vec<_>>().join(", ");
        sql.must(&format!(
            "INSERT INTO outbox (topic, partition_key, payload, status, created_at) VALUES {rows}"
        ))
        .await;
    }
}

fn open(sandbox: &Sandbox, key: Option<&str>) -> (RunningBinary, String) {
    let running = sandbox.start();
    let key = key.map_or_else(|| running.first_key(), str::to_owned);
    eventually("both lanes are known", || {
        let (_, lanes) = request(&running, &key, "GET", "/api/v1/lanes", &Value::Null);
        lanes["items"].as_array().filter(|lanes| lanes.len() == 2).map(drop)
    });
    (running, key)
}

/// The number of rows that a search finds, and its note about the rows that it scanned.
fn found(running: &RunningBinary, key: &str, search: &str) -> (usize, String) {
    let (lane, search) = search.split_once('?').expect("a lane and a search");
    let path = format!("/api/v1/lanes/{lane}/rows?{search}");
    let (code, page) = request(running, key, "GET", &path, &Value::Null);
    assert_eq!(code, 200, "{page}");
    (page["items"].as_array().expect("rows").len(), page["note"].as_str().unwrap_or_default().to_owned())
}

const SEARCHES: [&str; 4] = [
    "mail?by=recipient&text=old@example.net",
    "mail?by=recipient&text=old@ex&match=prefix",
    "events?by=group&text=deal-old",
    "events?by=group&text=deal-ol&match=prefix",
];

async fn rows_of_any_age_are_found(kind: Kind) {
    let sandbox = Sandbox::new(None);
    let (url, sql) = fresh(kind, "search", &sandbox).await;
    std::fs::write(sandbox.path("postrider.toml"), settings(&url)).expect("settings can be written");
    sandbox.run(&["migrate"]).success();
    insert_mails(&sql, &["old@example.net".to_owned()]).await;
    insert_mails(&sql, &(0..NEWER).map(|n| format!("c{n}@example.com")).collect::<Vec<_>>()).await;
    insert_events(&sql, &["deal-old".to_owned()]).await;
    insert_events(&sql, &(0..NEWER).map(|n| format!("deal-{n}")).collect::<Vec<_>>()).await;
    let (running, key) = open(&sandbox, None);
    // Some databases have an index for the order of groups; none has one for recipients.
    let (rows, note) = found(&running, &key, SEARCHES[0]);
    assert!(rows == 0 && note.contains("`postrider migrate --search` creates one"), "{rows}: {note}");
    drop(running);

    let made = sandbox.run(&["migrate", "--search"]).success();
    assert!(made.stdout.contains("mail_outbox_search_to_addresses"), "{}", made.stdout);
    assert_eq!(sandbox.run(&["migrate", "--search"]).success().stdout, "", "once");
    assert_eq!(sandbox.run(&["check"]).success().code, Some(0));
    let (running, key) = open(&sandbox, Some(&key));
    for search in SEARCHES {
        assert_eq!(found(&running, &key, search), (1, String::new()), "{search}");
    }
    // A text without repetitions, which no database can compress.
    let long = (0..700).fold(String::from("long-"), |text, n| format!("{text}{:06x}", n * 7919 % 99_991));
    insert_mails(&sql, &[format!("{long}@example.net")]).await;
    // Search for more characters than the index holds.
    for (text, rows) in [("long-", 1), (&long[..300], 1), (&format!("{}!", &long[..299]), 0)] {
        let search = format!("mail?by=recipient&text={text}&match=prefix");
        assert_eq!(found(&running, &key, &search), (rows, String::new()), "{search}");
    }
    sql.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_of_any_age_are_found_on_postgres() {
    rows_of_any_age_are_found(Kind::Postgres).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_of_any_age_are_found_on_mariadb() {
    rows_of_any_age_are_found(Kind::MariaDb).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_of_any_age_are_found_on_sqlite() {
    rows_of_any_age_are_found(Kind::Sqlite).await;
}
