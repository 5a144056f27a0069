//! Notifications with the real binary: the steps of the guide; invalid input, operators, senders and templates.

mod bad_input;
mod operator;
mod refusals;
mod senders;
mod tables;
mod templates;

use std::process::Command;

use crate::sandbox::Sandbox;
use crate::support::sql::{Cell, Sql};
use crate::support::wait::{TIMEOUT, wait_until};

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/notifications");

fn settings(url: &str) -> String {
    let text = std::fs::read_to_string(format!("{EXAMPLE}/postrider.toml")).expect("the example is there");
    text.replace("sqlite:app.db", url)
}

fn sandbox(url: &str) -> Sandbox {
    let sandbox = Sandbox::new(None);
    std::fs::write(sandbox.path("postrider.toml"), settings(url)).expect("the settings can be written");
    sandbox
}

async fn wait_until_settled(sql: &Sql) {
    wait_until("every row is settled", TIMEOUT, || async {
        let left = sql.count("open_event_notifications WHERE fanout_status = 'pending'").await?;
        (left == 0).then_some(())
    })
    .await;
}

async fn final_rows(sql: &Sql) -> Vec<Vec<String>> {
    let columns =
        ["contact_value", "fanout_status", "fanout_attempts", "error"].map(|column| sql.text(column));
    let query = format!(
        "SELECT {} FROM open_event_notifications JOIN subscriptions USING (subscription_id) ORDER BY subscription_id",
        columns.join(", ")
    );
    let rows = sql.rows(&query).await.expect("the tables can be read");
    rows.into_iter().map(|row| row.into_iter().map(Option::unwrap_or_default).collect()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn n12_the_example_fans_out_and_subscribers_are_notified_or_not() {
    let sandbox = sandbox("sqlite:app.db");
    sandbox.run(&["migrate"]).success();
    let sql = Sql::sqlite(&sandbox.path("app.db"));
    let people = std::fs::read_to_string(format!("{EXAMPLE}/people.sql")).expect("the example is there");
    for statement in people.split(";\n").filter(|statement| !statement.trim().is_empty()) {
        sql.must(statement).await;
    }
    let fan_out = |before: &str| {
        let output = Command::new("python3")
            .arg(format!("{EXAMPLE}/fanout.py"))
            .arg(sandbox.path("app.db"))
            .args(["--section", "1", "--before", before, "--after", "Open", "--index", "07214"])
            .output()
            .expect("python3 starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("it is text")
    };
    assert_eq!(fan_out("Open"), "0 notifications\n", "nothing opened");
    assert_eq!(fan_out("Wait"), "4 notifications\n");
    let running = sandbox.start();
    wait_until_settled(&sql).await;
    let rows = final_rows(&sql).await;
    let short: Vec<String> = rows.iter().map(|row| format!("{} {} {}", row[0], row[1], row[2])).collect();
    assert_eq!(
        short,
        [
            "ann@example.net sent 1",
            "li@example.net sent 1",
            "bob@example.net skipped 1",
            "eve@example.net skipped 1"
        ]
    );
    assert!(rows[2][3].contains(r#""code":"notify_on""#), "{:?}", rows[2]);
    assert!(rows[3][3].contains(r#""code":"unsubscribed""#), "{:?}", rows[3]);
    let events =
        sql.count("subscription_events WHERE event_type = 'notify_sent' AND section_status = 'Open'").await;
    assert_eq!(events, Some(2));
    let mails =
        std::fs::read_dir(sandbox.path("mails/new")).or_else(|_| std::fs::read_dir(sandbox.path("mails")));
    let names: Vec<_> =
        mails.expect("the folder of mails").filter_map(Result::ok).map(|entry| entry.path()).collect();
    let texts: Vec<String> = names
        .iter()
        .filter(|path| path.is_file())
        .map(|path| std::fs::read_to_string(path).unwrap_or_default())
        .collect();
    let one_click = texts.iter().filter(|text| text.contains("List-Unsubscribe=One-Click")).count();
    assert_eq!(one_click, 2, "{names:?}");
    drop(running);
}

/// The required fields of a payload if there is no section.
const PAYLOAD: &str =
    r#"{"courseTitle":"Algorithms","sectionNumber":"03","courseString":"01:198","meetingSummary":"Mon"}"#;

/// Inserts an event, its only subscriber and the notification, all with the same id.
async fn insert_notification(sql: &Sql, id: usize, contact: &str, payload: &str, metadata: &str) {
    let id = Cell::Sql(id.to_string());
    let event = [
        ("open_event_id", id.clone()),
        ("term_id", "2026F".into()),
        ("campus_code", "NB".into()),
        ("index_number", "07214".into()),
        ("status_after", "Open".into()),
        ("event_at", Cell::Sql(sql.now().to_owned())),
        ("dedupe_key", "key".into()),
        ("payload", payload.into()),
    ];
    sql.insert("open_events", &event).await;
    let mut person = vec![
        ("subscription_id", id.clone()),
        ("contact_value", contact.into()),
        ("unsubscribe_token", "t".into()),
    ];
    if !metadata.is_empty() {
        person.push(("metadata", metadata.into()));
    }
    sql.insert("subscriptions", &person).await;
    let notification = [("open_event_id", id.clone()), ("subscription_id", id), ("dedupe_key", "key".into())];
    sql.insert("open_event_notifications", &notification).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn n03_a_row_and_its_event_are_written_together_or_not_at_all() {
    let sandbox = sandbox("sqlite:app.db");
    sandbox.run(&["migrate"]).success();
    let sql = Sql::sqlite(&sandbox.path("app.db"));
    for id in 1..=5 {
        insert_notification(&sql, id, &format!("p{id}@example.net"), PAYLOAD, "").await;
    }
    sql.must(
        "CREATE TRIGGER refuses BEFORE INSERT ON subscription_events WHEN NEW.subscription_id = 3 \
         BEGIN SELECT RAISE(ABORT, 'not this one'); END",
    )
    .await;
    let running = sandbox.start();
    wait_until("the other rows are settled", TIMEOUT, || async {
        let sent = sql.count("open_event_notifications WHERE fanout_status = 'sent'").await?;
        (sent == 4 && running.log().contains("not this one")).then_some(())
    })
    .await;
    let row = final_rows(&sql).await.remove(2);
    assert_eq!(
        row[1..3],
        ["pending", "0"],
        "neither its state nor its counter went without its event: {row:?}"
    );
    assert_eq!(sql.count("subscription_events").await, Some(4));
    drop(running);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn n08_two_rows_of_one_key_and_subscription_result_in_one_mail() {
    let sandbox = sandbox("sqlite:app.db");
    sandbox.run(&["migrate"]).success();
    let sql = Sql::sqlite(&sandbox.path("app.db"));
    let payload = r#"{"courseTitle":"A","sectionNumber":"1","courseString":"B","meetingSummary":"Mon"}"#;
    sql.must("INSERT INTO subscriptions (subscription_id, contact_value) VALUES (1, 'ann@example.net')")
        .await;
    for event in [1, 2] {
        sql.must(&format!(
            "INSERT INTO open_events (open_event_id, term_id, campus_code, index_number, status_after, event_at, dedupe_key, \
             payload) VALUES ({event}, 'T', 'C', 'I', 'Open', datetime('now'), 'key', '{payload}')"
        ))
        .await;
        sql.must(&format!(
            "INSERT INTO open_event_notifications (open_event_id, subscription_id, dedupe_key) VALUES ({event}, 1, 'key')"
        ))
        .await;
    }
    let text = settings("sqlite:app.db").replace("{token}", "x") + "sweep = \"200ms\"\n";
    std::fs::write(sandbox.path("postrider.toml"), text).expect("the settings can be written");
    let running = sandbox.start();
    wait_until_settled(&sql).await;
    let states: Vec<String> = final_rows(&sql).await.into_iter().map(|row| row[1].clone()).collect();
    let (sent, skipped) = (
        states.iter().filter(|state| *state == "sent").count(),
        states.iter().filter(|state| *state == "skipped").count(),
    );
    assert_eq!((sent, skipped), (1, 1), "{states:?}");
    assert_eq!(sql.count("subscription_events").await, Some(1));
    drop(running);
}
