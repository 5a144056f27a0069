//! Each kind of invalid row ends as N5 requires, with its code, and the others are delivered; on each database.

use super::{PAYLOAD, final_rows, insert_notification, settings, wait_until_settled};
use crate::sandbox::Sandbox;
use crate::support::database::{Kind, fresh};

/// A row and its expected result.
struct Row {
    contact: &'static str,
    metadata: &'static str,
    payload: &'static str,
    status: &'static str,
    code: &'static str,
}

const FINE: Row = Row { contact: "fine@example.net", metadata: "", payload: "", status: "sent", code: "" };
const BAD: Row = Row { contact: "bad@example.net", status: "failed", code: "validation_error", ..FINE };

const ROWS: [Row; 14] = [
    FINE,
    // Unknown template, unknown version, and a template that is a path.
    Row { payload: r#"{"courseTitle":"A","sectionNumber":"1","template":{"id":"no-such"}}"#, ..BAD },
    Row {
        payload: r#"{"courseTitle":"A","sectionNumber":"1","template":{"version":"v9"}}"#,
        code: "template_missing_locale",
        ..BAD
    },
    Row { payload: r#"{"courseTitle":"A","sectionNumber":"1","template":{"version":"../v1"}}"#, ..BAD },
    // A missing variable that the schema requires, and one that only this template requires.
    Row { payload: r#"{"sectionNumber":"1"}"#, ..BAD },
    Row {
        payload: r#"{"courseTitle":"A","sectionNumber":"1","template":{"version":"v2"}}"#,
        code: "template_variable_missing",
        ..BAD
    },
    // Broken JSON.
    Row { metadata: "{broken", ..BAD },
    Row { metadata: "[]", ..BAD },
    Row { payload: "{broken", ..BAD },
    // Wrong version.
    Row { payload: r#"{"version":"2.0"}"#, ..BAD },
    // A newline in the address.
    Row {
        contact: "f@example.net\nBcc: eve@example.net",
        status: "skipped",
        code: "invalid_recipient",
        ..FINE
    },
    // Invalid delivery windows.
    Row { metadata: r#"{"preferences":{"deliveryWindow":{"startMinutes":-5,"endMinutes":9999}}}"#, ..BAD },
    Row { metadata: r#"{"preferences":{"deliveryWindow":{"startMinutes":"noon"}}}"#, ..BAD },
    FINE,
];

async fn bad_input(kind: Kind) {
    let sandbox = Sandbox::new(None);
    let (url, sql) = fresh(kind, "notify", &sandbox).await;
    let text = settings(&url).replace("[mail]", "[mail]\ntemplates = \"templates\"");
    std::fs::write(sandbox.path("postrider.toml"), text).expect("the settings can be written");
    let template = sandbox.path("templates/open-seat/v2/en-US");
    std::fs::create_dir_all(&template).expect("the folder can be made");
    std::fs::write(template.join("body.txt"), "{{ professor }}").expect("the template can be written");
    sandbox.run(&["migrate"]).success();
    for (at, row) in ROWS.iter().enumerate() {
        // No section provides what the payload of a bad row omits.
        let payload = match row.payload {
            "" => PAYLOAD.to_owned(),
            bad => bad.replacen("{\"", r#"{"courseString":"01:198","meetingSummary":"Mon",""#, 1),
        };
        insert_notification(&sql, at + 1, row.contact, &payload, row.metadata).await;
    }
    let running = sandbox.start();
    wait_until_settled(&sql).await;
    let ended = final_rows(&sql).await;
    assert_eq!(ended.len(), ROWS.len());
    for (found, row) in ended.iter().zip(&ROWS) {
        assert_eq!(found[..3], [row.contact, row.status, "1"], "{found:?}");
        let error: serde_json::Value = serde_json::from_str(&found[3]).expect("the error is JSON");
        let code = error["code"].as_str().unwrap_or_default();
        assert_eq!(code, row.code, "{found:?}");
        assert_eq!(error["message"].is_string(), !row.code.is_empty(), "{found:?}");
    }
    assert_eq!(sql.count("subscription_events").await, Some(2), "two rows were sent");
    drop(running);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn n05_bad_rows_are_reported_and_the_others_are_delivered_on_sqlite() {
    bad_input(Kind::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn n05_bad_rows_are_reported_and_the_others_are_delivered_on_postgres() {
    bad_input(Kind::Postgres).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn n05_bad_rows_are_reported_and_the_others_are_delivered_on_mariadb() {
    bad_input(Kind::MariaDb).await;
}
