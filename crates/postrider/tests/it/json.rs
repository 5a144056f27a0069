//! `--json`: every command that prints data has it, and then prints only JSON.

use crate::help::leaves;
use crate::sandbox::{CommandOutput, SQLITE, Sandbox};

/// Commands that print no data: logs, a demonstration, a script, files.
const WITHOUT: [&[&str]; 4] = [&["run"], &["demo"], &["completions"], &["manual"]];

#[test]
fn every_command_that_prints_data_has_json() {
    let sandbox = Sandbox::new(None);
    for command in leaves(&sandbox) {
        let words: Vec<&str> = command.iter().map(String::as_str).chain(["--help"]).collect();
        let has = sandbox.run(&words).success().stdout.contains("      --json ");
        let wanted = !WITHOUT.contains(&&words[..words.len() - 1]);
        assert_eq!(has, wanted, "postrider {}: --json", command.join(" "));
    }
}

/// Asserts that every line of both streams is a JSON object, whether the command succeeded or not.
#[track_caller]
fn objects(output: &CommandOutput) -> Vec<serde_json::Value> {
    for line in output.stdout.lines().chain(output.stderr.lines()) {
        let value: serde_json::Value =
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert!(value.is_object(), "{line}");
    }
    output.json()
}

#[track_caller]
fn run_json(sandbox: &Sandbox, words: &str) -> Vec<serde_json::Value> {
    let words: Vec<&str> = words.split(' ').chain(["--json"]).collect();
    let output = sandbox.run(&words).success();
    assert_eq!(output.stderr, "", "{words:?}: nothing but data");
    objects(&output)
}

const ALL: &str = "[stores.jobs]\nurl = \"sqlite:jobs.db\"\n[transports.hooks]\nurl = \"webhook://\"\n\
                   [lanes.jobs]\ncontract = \"dispatch_jobs\"\nstore = \"jobs\"\ntransport = \"hooks\"\n";

fn sandbox() -> Sandbox {
    let mail = SQLITE.replace("poll =", "store = \"main\"\ntransport = \"out\"\npoll =");
    Sandbox::new(Some(&format!("{mail}{ALL}")))
}

#[test]
fn operator_commands_print_json() {
    let sandbox = sandbox();
    let planned = run_json(&sandbox, "migrate --print");
    assert_eq!((&planned[0]["lane"], &planned[0]["applied"]), (&"jobs".into(), &false.into()));
    let made = run_json(&sandbox, "migrate");
    assert_eq!(made.len(), 3, "two lanes and the API: {made:?}");
    assert_eq!(made[0]["statements"], planned[0]["statements"]);
    assert_eq!(made[2]["api"], "jobs");
    assert!(run_json(&sandbox, "check").iter().all(|lane| lane["ok"] == true));

    let sent = &run_json(&sandbox, "send mail --to a@example.com --subject Hello --text Text")[0];
    assert_eq!((&sent["lane"], &sent["table"]), (&"mail".into(), &"mail_outbox".into()));
    let id = sent["id"].as_str().unwrap();
    assert_eq!(run_json(&sandbox, "list mail")[0]["id"], id);
    assert_eq!(run_json(&sandbox, &format!("show mail {id}"))[0]["state"], "queued");
    assert_eq!(run_json(&sandbox, &format!("requeue mail {id}"))[0]["requeued"], 0);
    assert_eq!(
        run_json(&sandbox, "requeue mail --state failed"),
        [serde_json::json!({ "lane": "mail", "requeued": 0 })]
    );
    assert_eq!(run_json(&sandbox, "purge mail")[0]["deleted"], 0);
    assert_eq!(run_json(&sandbox, "pause mail"), [serde_json::json!({ "lane": "mail", "paused": true })]);
    assert_eq!(run_json(&sandbox, "status")[1]["paused"], true);
    assert_eq!(run_json(&sandbox, "resume mail")[0]["paused"], false);

    let job = "send webhook https://example.com/hook --code shop:orders:order:created --payload {}";
    let id = run_json(&sandbox, job)[0]["id"].as_str().unwrap().to_owned();
    let cancelled = &run_json(&sandbox, &format!("cancel jobs {id} 0HZXEQ5Y8JY5Z"))[0];
    assert_eq!((&cancelled["cancelled"], &cancelled["asked"]), (&1.into(), &2.into()));
}

#[test]
fn a_page_that_is_not_the_last_has_a_cursor() {
    let sandbox = sandbox();
    sandbox.run(&["migrate"]).success();
    for _ in 0..2 {
        run_json(&sandbox, "send mail --to a@example.com --subject Hello --text Text");
    }
    let output = sandbox.run(&["list", "mail", "--limit", "1", "--json"]).success();
    assert_eq!(objects(&output).len(), 1);
    let next: serde_json::Value = serde_json::from_str(&output.stderr).unwrap();
    let cursor = next["next"].as_str().unwrap();
    assert_eq!(run_json(&sandbox, &format!("list mail --after {cursor}")).len(), 1);
}

#[test]
fn keys_accounts_and_lists_print_json() {
    let sandbox = sandbox();
    sandbox.run(&["migrate"]).success();
    let key = &run_json(&sandbox, "key create ci --role viewer")[0];
    assert!(key["key"].as_str().unwrap().len() > 20, "{key}");
    let id = key["id"].as_str().unwrap();
    assert_eq!(run_json(&sandbox, "key list")[0]["id"], id);
    assert!(!run_json(&sandbox, &format!("key revoke {id}"))[0]["revokedAt"].is_null());
    assert_eq!(run_json(&sandbox, "account create shop --host * --signing env://SECRET")[0]["code"], "shop");
    let added = run_json(&sandbox, "suppress add a@example.com");
    assert_eq!(added, [serde_json::json!({ "entry": "a@example.com", "store": "main", "new": true })]);
    assert_eq!(run_json(&sandbox, "suppress list")[0]["entry"], "a@example.com");
    assert_eq!(run_json(&sandbox, "suppress remove a@example.com")[0]["removed"], true);
    let output = sandbox.run(&["suppress", "remove", "a@example.com", "--json"]).code(1);
    assert_eq!(objects(&output)[0]["removed"], false);
}

#[test]
fn commands_without_a_database_print_json() {
    let sandbox = Sandbox::new(None);
    assert_eq!(run_json(&sandbox, "contract list").len(), 5);
    assert_eq!(run_json(&sandbox, "contract show outbox")[0]["table"]["name"], "outbox");
    let ddl = &run_json(&sandbox, "contract ddl outbox --dialect mysql")[0];
    assert!(ddl["statements"][0].as_str().unwrap().contains("CREATE TABLE"), "{ddl}");
    let text = sandbox.run(&["contract", "show", "outbox"]).success().stdout;
    std::fs::write(sandbox.path("mine.toml"), text).unwrap();
    let verified = &run_json(&sandbox, "contract verify mine.toml")[0];
    assert_eq!((&verified["valid"], &verified["sound"]), (&true.into(), &true.into()), "{verified}");
    assert_eq!(run_json(&sandbox, "template check").len(), 2);
    assert!(run_json(&sandbox, "template render open-seat")[0]["html"].as_str().unwrap().contains("<html"));
    assert!(run_json(&sandbox, "secret key k7")[0]["key"].as_str().unwrap().starts_with("k7"));
    assert!(
        run_json(&sandbox, "settings").iter().any(|key| key["table"] == "server" && key["name"] == "listen")
    );
}

#[tokio::test]
async fn a_bench_leaves_nothing_behind() {
    let sandbox = Sandbox::ready();
    let output = sandbox.run(&["bench", "--rows", "1000"]).success();
    assert!(
        output.stdout.contains("claim and settle") && output.stdout.contains("plain updates"),
        "{}",
        output.stdout
    );
    let figures = run_json(&sandbox, "bench mail --rows 500");
    assert_eq!(figures.len(), 3, "{figures:?}");
    assert!(figures.iter().all(|figure| figure["value"].as_f64().unwrap() > 0.0), "{figures:?}");
    assert!(figures[2]["ratio"].as_f64().unwrap() > 0.0, "{figures:?}");
    let left: (i64,) = sqlx::query_as("SELECT COUNT(*) FROM sqlite_master WHERE name LIKE '%bench%'")
        .fetch_one(&sandbox.sql().await)
        .await
        .unwrap();
    assert_eq!(left.0, 0, "the scratch tables are dropped");
}

#[test]
fn errors_are_json_too_and_keep_their_exit_codes() {
    let sandbox = Sandbox::ready();
    let failed = sandbox.run(&["show", "mail", "999", "--json"]).code(1);
    assert_eq!(failed.stdout, "");
    let error: serde_json::Value = serde_json::from_str(&failed.stderr).unwrap();
    assert_eq!(error["exit_code"], 1);
    assert!(error["error"].as_str().unwrap().contains("999"), "{error}");

    for words in [&["list", "--json"][..], &["fly", "--json"], &["list", "mial", "--json"]] {
        let misused = sandbox.run(words).code(2);
        let error: serde_json::Value = serde_json::from_str(&misused.stderr).expect(&misused.stderr);
        assert_eq!(error["exit_code"], 2, "{words:?}");
    }

    std::fs::write(sandbox.path("bad.toml"), "contract = \"x\"\nversion = \"9.0\"\ntabel = 1\n").unwrap();
    let output = sandbox.run(&["contract", "verify", "bad.toml", "--json"]).code(1);
    let error: serde_json::Value = serde_json::from_str(&output.stderr).unwrap();
    assert!(error["mistakes"].as_array().unwrap().len() > 1, "{error}");

    let wrong = Sandbox::new(Some(&format!("{SQLITE}concurency = 4\nbatch = 0\n")));
    let output = wrong.run(&["status", "--json"]).code(2);
    let error: serde_json::Value = serde_json::from_str(&output.stderr).unwrap();
    assert_eq!(error["mistakes"][0]["key"], "lanes.mail.concurency");
    assert_eq!(error["mistakes"].as_array().unwrap().len(), 2);
}

/// The output of a command in a terminal, which `script` provides.
fn run_in_terminal(sandbox: &Sandbox, command: &str) -> String {
    let binary = env!("CARGO_BIN_EXE_postrider");
    let mut script = std::process::Command::new("script");
    script
        .args(["--quiet", "--flush", "--return", "--command"])
        .arg(format!("{binary} {command}"))
        .arg("/dev/null");
    let output = script.current_dir(sandbox.path(".")).stdin(std::process::Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test]
async fn progress_on_a_terminal_has_a_rate_and_the_time_left() {
    let sandbox = Sandbox::ready();
    let pool = sandbox.sql().await;
    for _ in 0..1_200 {
        sandbox.insert(&pool, "a@example.com").await;
    }
    sqlx::query("UPDATE mail_outbox SET status = 'failed'").execute(&pool).await.unwrap();
    let seen = run_in_terminal(&sandbox, "requeue mail --state failed");
    assert!(seen.contains("\r500 of 1200 rows requeued, "), "{seen:?}");
    assert!(seen.contains("/s, ") && seen.contains(" left"), "{seen:?}");
    let seen = run_in_terminal(&sandbox, "requeue mail --state failed --json");
    assert!(!seen.contains('\x1b'), "never together with JSON: {seen:?}");
}

#[test]
fn progress_is_printed_only_on_terminals() {
    let sandbox = Sandbox::ready();
    for words in [&["requeue", "mail", "--state", "failed"][..], &["purge", "mail"], &["migrate"]] {
        let output = sandbox.run(words).success();
        assert!(!output.stderr.contains(['\r', '\x1b']), "{words:?}: {:?}", output.stderr);
    }
}
