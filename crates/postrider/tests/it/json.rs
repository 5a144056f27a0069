//! `--json`: every command that prints data has it, and then prints only JSON.

use crate::help::leaves;
use crate::shop::{SQLITE, Said, Shop};

/// Commands that print no data: logs, a demonstration, a script, files.
const WITHOUT: [&[&str]; 4] = [&["run"], &["demo"], &["completions"], &["manual"]];

#[test]
fn every_command_that_prints_data_has_json() {
    let shop = Shop::new(None);
    for command in leaves(&shop) {
        let words: Vec<&str> = command.iter().map(String::as_str).chain(["--help"]).collect();
        let has = shop.run(&words).fine().out.contains("      --json ");
        let wanted = !WITHOUT.contains(&&words[..words.len() - 1]);
        assert_eq!(has, wanted, "postrider {}: --json", command.join(" "));
    }
}

/// Asserts that every line of both streams is a JSON object, whether the command succeeded or not.
#[track_caller]
fn objects(said: &Said) -> Vec<serde_json::Value> {
    for line in said.out.lines().chain(said.err.lines()) {
        let value: serde_json::Value =
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert!(value.is_object(), "{line}");
    }
    said.json()
}

#[track_caller]
fn says(shop: &Shop, words: &str) -> Vec<serde_json::Value> {
    let words: Vec<&str> = words.split(' ').chain(["--json"]).collect();
    let said = shop.run(&words).fine();
    assert_eq!(said.err, "", "{words:?}: nothing but data");
    objects(&said)
}

const ALL: &str = "[stores.jobs]\nurl = \"sqlite:jobs.db\"\n[transports.hooks]\nurl = \"webhook://\"\n\
                   [lanes.jobs]\ncontract = \"dispatch_jobs\"\nstore = \"jobs\"\ntransport = \"hooks\"\n";

fn shop() -> Shop {
    let mail = SQLITE.replace("poll =", "store = \"main\"\ntransport = \"out\"\npoll =");
    Shop::new(Some(&format!("{mail}{ALL}")))
}

#[test]
fn operators_commands_speak_json() {
    let shop = shop();
    let planned = says(&shop, "migrate --print");
    assert_eq!((&planned[0]["lane"], &planned[0]["applied"]), (&"jobs".into(), &false.into()));
    let made = says(&shop, "migrate");
    assert_eq!(made.len(), 3, "two lanes and the API: {made:?}");
    assert_eq!(made[0]["statements"], planned[0]["statements"]);
    assert_eq!(made[2]["api"], "jobs");
    assert!(says(&shop, "check").iter().all(|lane| lane["ok"] == true));

    let sent = &says(&shop, "send mail --to a@example.com --subject Hello --text Text")[0];
    assert_eq!((&sent["lane"], &sent["table"]), (&"mail".into(), &"mail_outbox".into()));
    let id = sent["id"].as_str().unwrap();
    assert_eq!(says(&shop, "list mail")[0]["id"], id);
    assert_eq!(says(&shop, &format!("show mail {id}"))[0]["state"], "queued");
    assert_eq!(says(&shop, &format!("requeue mail {id}"))[0]["requeued"], 0);
    assert_eq!(
        says(&shop, "requeue mail --state failed"),
        [serde_json::json!({ "lane": "mail", "requeued": 0 })]
    );
    assert_eq!(says(&shop, "purge mail")[0]["deleted"], 0);
    assert_eq!(says(&shop, "pause mail"), [serde_json::json!({ "lane": "mail", "paused": true })]);
    assert_eq!(says(&shop, "status")[1]["paused"], true);
    assert_eq!(says(&shop, "resume mail")[0]["paused"], false);

    let job = "send webhook https://example.com/hook --code shop:orders:order:created --payload {}";
    let id = says(&shop, job)[0]["id"].as_str().unwrap().to_owned();
    let cancelled = &says(&shop, &format!("cancel jobs {id} 0HZXEQ5Y8JY5Z"))[0];
    assert_eq!((&cancelled["cancelled"], &cancelled["asked"]), (&1.into(), &2.into()));
}

#[test]
fn a_page_that_is_not_the_last_says_where_the_next_begins() {
    let shop = shop();
    shop.run(&["migrate"]).fine();
    for _ in 0..2 {
        says(&shop, "send mail --to a@example.com --subject Hello --text Text");
    }
    let said = shop.run(&["list", "mail", "--limit", "1", "--json"]).fine();
    assert_eq!(objects(&said).len(), 1);
    let next: serde_json::Value = serde_json::from_str(&said.err).unwrap();
    let cursor = next["next"].as_str().unwrap();
    assert_eq!(says(&shop, &format!("list mail --after {cursor}")).len(), 1);
}

#[test]
fn keys_accounts_and_lists_speak_json() {
    let shop = shop();
    shop.run(&["migrate"]).fine();
    let key = &says(&shop, "key create ci --role viewer")[0];
    assert!(key["key"].as_str().unwrap().len() > 20, "{key}");
    let id = key["id"].as_str().unwrap();
    assert_eq!(says(&shop, "key list")[0]["id"], id);
    assert!(!says(&shop, &format!("key revoke {id}"))[0]["revokedAt"].is_null());
    assert_eq!(says(&shop, "account create shop --host * --signing env://SECRET")[0]["code"], "shop");
    let added = says(&shop, "suppress add a@example.com");
    assert_eq!(added, [serde_json::json!({ "entry": "a@example.com", "store": "main", "new": true })]);
    assert_eq!(says(&shop, "suppress list")[0]["entry"], "a@example.com");
    assert_eq!(says(&shop, "suppress remove a@example.com")[0]["removed"], true);
    let said = shop.run(&["suppress", "remove", "a@example.com", "--json"]).code(1);
    assert_eq!(objects(&said)[0]["removed"], false);
}

#[test]
fn what_needs_no_database_speaks_json() {
    let shop = Shop::new(None);
    assert_eq!(says(&shop, "contract list").len(), 5);
    assert_eq!(says(&shop, "contract show outbox")[0]["table"]["name"], "outbox");
    let ddl = &says(&shop, "contract ddl outbox --dialect mysql")[0];
    assert!(ddl["statements"][0].as_str().unwrap().contains("CREATE TABLE"), "{ddl}");
    let text = shop.run(&["contract", "show", "outbox"]).fine().out;
    std::fs::write(shop.path("mine.toml"), text).unwrap();
    assert_eq!(says(&shop, "contract verify mine.toml")[0]["sound"], true);
    assert_eq!(says(&shop, "template check").len(), 2);
    assert!(says(&shop, "template render open-seat")[0]["html"].as_str().unwrap().contains("<html"));
    assert!(says(&shop, "secret key k7")[0]["key"].as_str().unwrap().starts_with("k7"));
    assert!(says(&shop, "settings").iter().any(|key| key["table"] == "server" && key["name"] == "listen"));
}

#[tokio::test]
async fn a_bench_leaves_nothing_behind() {
    let shop = Shop::ready();
    let said = shop.run(&["bench", "--rows", "1000"]).fine();
    assert!(said.out.contains("claim and settle") && said.out.contains("plain updates"), "{}", said.out);
    let figures = says(&shop, "bench mail --rows 500");
    assert_eq!(figures.len(), 3, "{figures:?}");
    assert!(figures.iter().all(|figure| figure["value"].as_f64().unwrap() > 0.0), "{figures:?}");
    assert!(figures[2]["ratio"].as_f64().unwrap() > 0.0, "{figures:?}");
    let left: (i64,) = sqlx::query_as("SELECT COUNT(*) FROM sqlite_master WHERE name LIKE '%bench%'")
        .fetch_one(&shop.sql().await)
        .await
        .unwrap();
    assert_eq!(left.0, 0, "the scratch tables are dropped");
}

#[test]
fn errors_are_json_too_and_keep_their_exit_codes() {
    let shop = Shop::ready();
    let failed = shop.run(&["show", "mail", "999", "--json"]).code(1);
    assert_eq!(failed.out, "");
    let error: serde_json::Value = serde_json::from_str(&failed.err).unwrap();
    assert_eq!(error["exit_code"], 1);
    assert!(error["error"].as_str().unwrap().contains("999"), "{error}");

    for words in [&["list", "--json"][..], &["fly", "--json"], &["list", "mial", "--json"]] {
        let misused = shop.run(words).code(2);
        let error: serde_json::Value = serde_json::from_str(&misused.err).expect(&misused.err);
        assert_eq!(error["exit_code"], 2, "{words:?}");
    }

    std::fs::write(shop.path("bad.toml"), "contract = \"x\"\nversion = \"9.0\"\ntabel = 1\n").unwrap();
    let said = shop.run(&["contract", "verify", "bad.toml", "--json"]).code(1);
    let error: serde_json::Value = serde_json::from_str(&said.err).unwrap();
    assert!(error["mistakes"].as_array().unwrap().len() > 1, "{error}");

    let wrong = Shop::new(Some(&format!("{SQLITE}concurency = 4\nbatch = 0\n")));
    let said = wrong.run(&["status", "--json"]).code(2);
    let error: serde_json::Value = serde_json::from_str(&said.err).unwrap();
    assert_eq!(error["mistakes"][0]["key"], "lanes.mail.concurency");
    assert_eq!(error["mistakes"].as_array().unwrap().len(), 2);
}

/// The output of a command in a terminal, which `script` provides.
fn at_a_terminal(shop: &Shop, command: &str) -> String {
    let binary = env!("CARGO_BIN_EXE_postrider");
    let mut script = std::process::Command::new("script");
    script
        .args(["--quiet", "--flush", "--return", "--command"])
        .arg(format!("{binary} {command}"))
        .arg("/dev/null");
    let said = script.current_dir(shop.path(".")).stdin(std::process::Stdio::null()).output().unwrap();
    assert!(said.status.success(), "{said:?}");
    String::from_utf8(said.stdout).unwrap()
}

#[tokio::test]
async fn at_a_terminal_progress_has_a_rate_and_what_is_left() {
    let shop = Shop::ready();
    let pool = shop.sql().await;
    for _ in 0..1_200 {
        shop.insert(&pool, "a@example.com").await;
    }
    sqlx::query("UPDATE mail_outbox SET status = 'failed'").execute(&pool).await.unwrap();
    let seen = at_a_terminal(&shop, "requeue mail --state failed");
    assert!(seen.contains("\r500 of 1200 rows requeued, "), "{seen:?}");
    assert!(seen.contains("/s, ") && seen.contains(" left"), "{seen:?}");
    let seen = at_a_terminal(&shop, "requeue mail --state failed --json");
    assert!(!seen.contains('\x1b'), "never beside JSON: {seen:?}");
}

#[test]
fn progress_is_for_terminals_alone() {
    let shop = Shop::ready();
    for words in [&["requeue", "mail", "--state", "failed"][..], &["purge", "mail"], &["migrate"]] {
        let said = shop.run(words).fine();
        assert!(!said.err.contains(['\r', '\x1b']), "{words:?}: {:?}", said.err);
    }
}
