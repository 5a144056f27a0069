//! The effect of flags that no other test uses. `src/cli/proofs.txt` lists the test of every flag.

use std::io::Write as _;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::sandbox::{RunningBinary, SQLITE, Sandbox, eventually};

const JOBS: &str = "[transports.hooks]\nurl = \"webhook://\"\n\
                    [lanes.jobs]\ncontract = \"dispatch_jobs\"\nstore = \"main\"\ntransport = \"hooks\"\n";

/// Lanes of mails and webhooks on one file.
fn sandbox() -> Sandbox {
    let mail = SQLITE.replace("poll =", "store = \"main\"\ntransport = \"out\"\npoll =");
    let sandbox = Sandbox::new(Some(&format!("{mail}{JOBS}")));
    sandbox.run(&["migrate"]).success();
    sandbox
}

/// The objects that a command prints with `--json`.
#[track_caller]
fn json(sandbox: &Sandbox, words: &str) -> Vec<Value> {
    let words: Vec<&str> = words.split(' ').chain(["--json"]).collect();
    sandbox.run(&words).success().json()
}

#[track_caller]
fn send(sandbox: &Sandbox, to: &str) -> String {
    let sent = json(sandbox, &format!("send mail --to {to} --subject Hello --text Text"));
    sent[0]["id"].as_str().unwrap().to_owned()
}

fn ids(rows: &[Value]) -> Vec<&str> {
    rows.iter().map(|row| row["id"].as_str().unwrap()).collect()
}

#[test]
fn commands_about_lanes_are_limited_to_those_that_they_name() {
    let sandbox = sandbox();
    for command in ["migrate", "check", "migrate --print"] {
        let printed = json(&sandbox, &format!("{command} jobs"));
        let lanes: Vec<&Value> = printed.iter().map(|one| &one["lane"]).collect();
        assert_eq!(lanes, ["jobs"], "{command}");
    }
}

#[test]
fn a_list_is_searched_and_ordered() {
    let sandbox = sandbox();
    let (ann, bob, _) = (
        send(&sandbox, "ann@example.com"),
        send(&sandbox, "bob@example.com"),
        send(&sandbox, "cid@example.com"),
    );
    assert_eq!(ids(&json(&sandbox, &format!("list mail --search id={bob}"))), [bob.as_str()]);
    assert_eq!(ids(&json(&sandbox, "list mail --oldest --limit 2")), [ann.as_str(), bob.as_str()]);
    let keyed = "send mail --to a@example.com --subject Hello --text Text --idempotency-key order-17";
    let keyed = json(&sandbox, keyed)[0]["id"].as_str().unwrap().to_owned();
    assert!(json(&sandbox, "list mail --search key=order-").is_empty());
    assert_eq!(ids(&json(&sandbox, "list mail --search key=order- --prefix")), [keyed.as_str()]);
}

/// `--preview` counts and changes nothing; `--since` leaves out rows that changed before.
#[tokio::test]
async fn moves_by_state_are_counted_first_and_limited_by_age() {
    let sandbox = sandbox();
    let sql = sandbox.sql().await;
    let job = "send webhook https://example.com/hook --code shop:orders:order:created --payload {}";
    for _ in 0..2 {
        send(&sandbox, "ann@example.com");
        json(&sandbox, job);
    }
    let make = async |text: &'static str| sqlx::query(text).execute(&sql).await.unwrap();
    let time = "strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-2 days')";
    make("UPDATE mail_outbox SET status = 'failed', last_attempt_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now')")
        .await;
    let old = |table: &str, columns: &[&str]| {
        let sets: Vec<String> = columns.iter().map(|column| format!("{column} = {time}")).collect();
        let first = format!("(SELECT min(id) FROM {table})");
        sqlx::AssertSqlSafe(format!("UPDATE {table} SET {} WHERE id = {first}", sets.join(", ")))
    };
    let mails = old("mail_outbox", &["last_attempt_at", "created_at"]);
    sqlx::query(mails).execute(&sql).await.unwrap();
    let jobs = old("dispatch_jobs", &["created_at", "updated_at"]);
    sqlx::query(jobs).execute(&sql).await.unwrap();

    for (words, verb) in
        [("requeue mail --state failed", "requeued"), ("cancel jobs --state QUEUED", "cancelled")]
    {
        assert_eq!(json(&sandbox, &format!("{words} --preview"))[0]["matched"], 2, "{words}");
        assert_eq!(json(&sandbox, &format!("{words} --since 1h --preview"))[0]["matched"], 1, "{words}");
        assert_eq!(json(&sandbox, &format!("{words} --since 1h"))[0][verb], 1, "{words}");
        assert_eq!(json(&sandbox, words)[0][verb], 1, "{words}");
    }
    make("UPDATE mail_outbox SET status = 'dispatching', last_attempt_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now')").await;
    let mails = old("mail_outbox", &["last_attempt_at", "created_at"]);
    sqlx::query(mails).execute(&sql).await.unwrap();
    let held = "release mail --state dispatching";
    assert_eq!(json(&sandbox, &format!("{held} --preview"))[0]["matched"], 2);
    assert_eq!(json(&sandbox, &format!("{held} --since 1h"))[0]["released"], 1);
    let left = json(&sandbox, "list mail --state dispatching");
    let one = json(&sandbox, &format!("release mail {}", ids(&left)[0]));
    assert_eq!((&one[0]["released"], &one[0]["asked"]), (&1.into(), &1.into()));
}

#[test]
fn one_list_of_suppressions_is_changed() {
    let other = "[stores.other]\nurl = \"sqlite:other.db\"\n[lanes.more]\ncontract = \"mail_outbox\"\n\
                 store = \"other\"\ntransport = \"out\"\n";
    let mail = SQLITE.replace("poll =", "store = \"main\"\npoll =");
    let sandbox = Sandbox::new(Some(&format!("{mail}{other}")));
    sandbox.run(&["migrate"]).success();
    json(&sandbox, "suppress add a@example.com --reason bounced");
    json(&sandbox, "suppress remove a@example.com --store other");
    assert!(json(&sandbox, "suppress list --store other").is_empty());
    assert_eq!(json(&sandbox, "suppress list --store main")[0]["reason"], "bounced");
    json(&sandbox, "suppress add b@example.com --store other");
    assert_eq!(json(&sandbox, "suppress list --store other").len(), 1);
}

#[test]
fn a_template_is_rendered_with_its_arguments() {
    let sandbox = Sandbox::new(None);
    let folder = sandbox.path("own/hello/v1/de");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("subject.txt"), "Hallo {{ name }}").unwrap();
    std::fs::write(folder.join("body.html"), "<p>Guten Tag, {{ name }}</p>").unwrap();
    std::fs::write(sandbox.path("ada.json"), "{\"name\": \"Ada\"}").unwrap();
    let render = "template render hello --templates own --locale de --variables ada.json";
    assert_eq!(json(&sandbox, render)[0]["subject"], "Hallo Ada");
    let part = |part: &str| {
        let words: Vec<&str> = render.split(' ').chain(["--part", part]).collect();
        sandbox.run(&words).success().stdout
    };
    assert_eq!(part("subject"), "Hallo Ada\n");
    assert!(part("html").contains("<p>Guten Tag, Ada</p>"));
    assert!(!part("text").contains('<'));
    let checked = json(&sandbox, "template check own");
    assert!(checked.iter().any(|one| one["id"] == "hello" && one["locale"] == "de"), "{checked:?}");
}

#[test]
fn fields_of_rows_are_written_to_their_columns() {
    let sandbox = sandbox();
    let columns = |lane: &str, sent: Vec<Value>| {
        let id = sent[0]["id"].as_str().unwrap().to_owned();
        json(&sandbox, &format!("show {lane} {id}")).remove(0)["columns"].take()
    };
    let mail = "send mail --lane mail --to a@example.com --cc c@example.com --bcc d@example.com --from e@example.com \
                --subject Hello --html <p>Hi</p>";
    let mail = columns("mail", json(&sandbox, mail));
    assert_eq!(mail["cc_addresses"], "[\"c@example.com\"]", "{mail}");
    assert_eq!(mail["bcc_addresses"], "[\"d@example.com\"]", "{mail}");
    assert_eq!(
        (&mail["from_address"], &mail["body_html"]),
        (&json!("e@example.com"), &json!("<p>Hi</p>")),
        "{mail}"
    );
    let job = "send webhook https://example.com/hook --lane jobs --code shop:orders:order:created --payload {} \
               --content-type text/plain --subject order-1 --source shop";
    let job = columns("jobs", json(&sandbox, job));
    assert_eq!(job["payload_content_type"], "text/plain", "{job}");
    assert_eq!((&job["subject"], &job["source"]), (&json!("order-1"), &json!("shop")), "{job}");

    let records = "[stores.main]\nurl = \"sqlite:app.db\"\n[transports.out]\nurl = \"file:outbox\"\n\
                   [lanes.one]\ncontract = \"outbox\"\n[lanes.two]\ncontract = \"outbox\"\n[lanes.two.table]\nname = \"outbox2\"\n";
    let sandbox = Sandbox::new(Some(records));
    sandbox.run(&["migrate"]).success();
    let sent = json(&sandbox, "send record --lane two --topic orders --payload {}");
    assert_eq!((&sent[0]["lane"], &sent[0]["table"]), (&json!("two"), &json!("outbox2")));
}

#[test]
fn secrets_are_printed_as_json() {
    let sandbox = Sandbox::new(None);
    let key = json(&sandbox, "secret key k7")[0]["key"].as_str().unwrap().to_owned();
    let run = |words: &[&str], input: &str| -> Value {
        let mut command = sandbox.command(words);
        command.env("POSTRIDER_SECRET_KEY", &key).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        serde_json::from_slice(&child.wait_with_output().unwrap().stdout).unwrap()
    };
    let sealed = run(&["secret", "encrypt", "--json"], "whsec_1\n");
    let reference = sealed["reference"].as_str().unwrap();
    assert!(reference.starts_with("encrypted://"), "{reference}");
    let again = run(&["secret", "reencrypt", "--json"], reference);
    assert_eq!((&again["changed"], &again["reference"]), (&json!(false), &json!(reference)));
}

#[test]
fn accounts_have_the_credentials_of_their_arguments() {
    let sandbox = sandbox();
    let create =
        "account create shop --name Shop --client acme --client bigco --host example.com --basic env://BASIC";
    let account = json(&sandbox, create).remove(0);
    assert_eq!((&account["code"], &account["name"]), (&json!("shop"), &json!("Shop")), "{account}");
    assert_eq!(account["clientIds"], json!(["acme", "bigco"]), "{account}");
    let credentials = &account["webhookCredentials"];
    assert_eq!(
        (&credentials["authType"], &credentials["authTokenRef"]),
        (&json!("BASIC"), &json!("env://BASIC"))
    );
    let id = account["id"].as_str().unwrap();
    let changed = |flags: &str| {
        json(&sandbox, &format!("account regenerate {id} {flags}")).remove(0)["webhookCredentials"].take()
    };
    let bearer = changed("--signing env://SIGNING --bearer env://TOKEN");
    assert_eq!(
        (&bearer["authType"], &bearer["authTokenRef"]),
        (&json!("BEARER"), &json!("env://TOKEN")),
        "{bearer}"
    );
    assert_eq!(bearer["signingSecretRef"], "env://SIGNING", "{bearer}");
    assert_eq!(changed("--basic env://OTHER")["authTokenRef"], "env://OTHER");
    assert_eq!(json(&sandbox, "account reencrypt")[0]["references"], 0);
}

#[test]
fn the_log_has_the_format_that_is_asked_for() {
    let sandbox = Sandbox::ready();
    let mut command = sandbox.command(&["run", "--listen", "off", "--log-format", "json"]);
    let running = RunningBinary::spawn(&mut command, sandbox.path("log"));
    let lines = eventually("a line of the log", || {
        let text = running.log();
        text.contains('\n').then_some(text)
    });
    let first: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert!(first.is_object(), "{lines}");
}
