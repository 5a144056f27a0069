//! Rows that cannot be sent, on every database.

use crate::support::database::{Kind, fresh_with};
use crate::support::installation::Installation;
use crate::support::relay::Relay;
use crate::support::sql::{Cell, Sql};
use crate::support::wait::{TIMEOUT, wait_until};

#[tokio::test(flavor = "multi_thread")]
async fn m09_bad_rows_fail_with_a_reason_and_stop_no_other_row_on_postgres() {
    bad_rows_fail_alone(Kind::Postgres).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn m09_bad_rows_fail_with_a_reason_and_stop_no_other_row_on_mariadb() {
    bad_rows_fail_alone(Kind::MariaDb).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn m09_bad_rows_fail_with_a_reason_and_stop_no_other_row_on_sqlite() {
    bad_rows_fail_alone(Kind::Sqlite).await;
}

/// A row that cannot be sent, and what its `last_error` must contain.
struct BadRow {
    name: &'static str,
    cells: Vec<(&'static str, Cell)>,
    says: [&'static str; 2],
}

fn bad_rows(sql: &Sql) -> Vec<BadRow> {
    let bad = |name, column, cell, says| BadRow { name, cells: vec![(column, cell)], says };
    vec![
        bad("address", "to_addresses", "no address at all".into(), ["to", "address"]),
        bad(
            "address-crlf",
            "to_addresses",
            "a@example.org\r\nRCPT TO:<b@example.org>".into(),
            ["to", "control character"],
        ),
        bad("subject", "subject", "Hello\r\nBcc: all@example.org".into(), ["subject", "control character"]),
        bad("header", "headers", r#"{"X-Tag": "a\r\nBcc: all@example.org"}"#.into(), ["headers", "X-Tag"]),
        bad("size", "body_text", Cell::Sql(too_long(sql)), ["bytes", "26214400"]),
        bad("utf8", "body_text", Cell::Sql(not_utf8(sql)), ["text", "not valid UTF-8"]),
        bad("headers-json", "headers", r#"{"X-Tag": "#.into(), ["headers", "JSON"]),
        bad("attachments-json", "attachments", "[{]".into(), ["attachments", "JSON"]),
        bad("results-json", "recipient_results", "neither".into(), ["results", "JSON"]),
    ]
}

/// An expression of more than 25 MB, evaluated by the database.
fn too_long(sql: &Sql) -> String {
    match sql {
        Sql::Postgres(_) | Sql::MariaDb(_) => "repeat('0123456789', 2650000)".to_owned(),
        Sql::Sqlite(_) => "replace(hex(zeroblob(6625000)), '00', '0123')".to_owned(),
    }
}

/// `café` in Latin-1.
fn not_utf8(sql: &Sql) -> String {
    match sql {
        Sql::Postgres(_) => r"E'caf\xe9'".to_owned(),
        Sql::MariaDb(_) => "x'636166e9'".to_owned(),
        Sql::Sqlite(_) => "CAST(x'636166e9' AS TEXT)".to_owned(),
    }
}

async fn bad_rows_fail_alone(kind: Kind) {
    let mut installation = Installation::new();
    // PostgreSQL accepts invalid UTF-8 only in a database without an encoding.
    let encoding = "ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0";
    let options = if kind == Kind::Postgres { encoding } else { "" };
    let (url, sql) = fresh_with(kind, "bad_rows", &installation.sandbox, options).await;
    let relay = Relay::shared();
    installation.write_settings(&settings(&url, &relay));
    installation.sandbox.run(&["migrate"]).success();
    prepare(&sql, &url).await;

    let mark = format!("bad-rows-{kind:?}-{:08x}", rand::random::<u32>());
    let rows = bad_rows(&sql);
    for (number, bad) in rows.iter().enumerate() {
        write(&sql, &format!("{mark} good {number}"), &format!("good-{number}"), &[]).await;
        write(&sql, &format!("{mark} {}", bad.name), bad.name, &bad.cells).await;
    }
    write(&sql, &format!("{mark} good last"), "good-last", &[]).await;

    let worker = installation.start_worker();
    wait_until("every row is settled", TIMEOUT, || async {
        let open = sql.count("mail_outbox WHERE status NOT IN ('sent', 'failed')").await?;
        (open == 0).then_some(())
    })
    .await;
    installation.stop(worker).await;

    for bad in &rows {
        assert_failed(&sql, bad).await;
    }
    let good =
        sql.count("mail_outbox WHERE status = 'sent' AND retry_count = 0 AND last_error IS NULL").await;
    assert_eq!(good, Some(rows.len() as u64 + 1), "every good row between them was sent at once");
    assert_eq!(relay.accepted(&mark).len(), rows.len() + 1, "the relay saw the good rows, once each");
}

async fn assert_failed(sql: &Sql, bad: &BadRow) {
    let columns =
        ["status", "retry_count", "last_error", "claimed_by"].map(|column| sql.text(column)).join(", ");
    let query = format!("SELECT {columns} FROM mail_outbox WHERE idempotency_key = '{}'", bad.name);
    let row = sql.rows(&query).await.expect("the table can be read").remove(0);
    let row: Vec<&str> = row.iter().map(|cell| cell.as_deref().unwrap_or("NULL")).collect();
    let [status, retries, error, owner] = row.as_slice() else { panic!("four columns were asked for") };
    assert_eq!((*status, *retries, *owner), ("failed", "1", "NULL"), "{}: {error}", bad.name);
    for word in bad.says {
        assert!(error.contains(word), "{}: `{error}` does not say `{word}`", bad.name);
    }
    assert!(!error.contains(['\r', '\n']), "{}: one line, whatever the row holds", bad.name);
}

/// Relaxes the table where the database would refuse a bad row.
async fn prepare(sql: &Sql, url: &str) {
    if let Sql::MariaDb(_) = sql {
        let wider = Sql::mariadb(url);
        wider.must("SET GLOBAL max_allowed_packet = 67108864").await;
        wider.must("ALTER TABLE mail_outbox MODIFY body_text LONGBLOB").await;
        wider.close().await;
    }
}

/// Inserts a row as an application does, with the table's defaults.
async fn write(sql: &Sql, subject: &str, key: &str, cells: &[(&'static str, Cell)]) {
    let mut row: Vec<(&str, Cell)> = vec![
        ("idempotency_key", key.into()),
        ("from_address", "app@example.org".into()),
        ("to_addresses", "someone@example.net".into()),
        ("subject", subject.into()),
        ("body_text", "Hello.".into()),
    ];
    for (column, cell) in cells {
        row.retain(|(known, _)| known != column);
        row.push((*column, cell.clone()));
    }
    sql.insert("mail_outbox", &row).await;
}

fn settings(url: &str, relay: &Relay) -> String {
    format!(
        "[stores.main]\nurl = \"{url}\"\n[transports.relay]\nurl = \"smtp://{}\"\n\
         [lanes.mail_outbox]\ncontract = \"mail_outbox\"\npoll = \"200ms\"\n",
        relay.address
    )
}
