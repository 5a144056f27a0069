//! The commands on lanes and rows: `migrate`, `check`, `list`, `show`, `requeue`, `purge`, `status`, `contract`, `send`.

use crate::sandbox::{SQLITE, Sandbox, count, eventually};

#[test]
fn migrate_prints_or_creates_tables_and_then_nothing_is_missing() {
    let sandbox = Sandbox::new(Some(SQLITE));
    let printed = sandbox.run(&["migrate", "--print"]).success();
    assert!(printed.stdout.contains("CREATE TABLE"), "{}", printed.stdout);
    assert!(!sandbox.path("app.db").exists(), "printing changes nothing");
    let output = sandbox.run(&["run", "--listen", "127.0.0.1:0"]).code(1);
    assert!(output.stderr.contains("app.db"), "a missing file is named: {}", output.stderr);
    assert_eq!(sandbox.run(&["migrate"]).success().stdout, printed.stdout, "what was printed is what is run");
    let again = sandbox.run(&["migrate"]).success();
    assert_eq!(again.stdout, "");
    assert!(again.stderr.contains("nothing is missing"), "{}", again.stderr);
}

#[test]
fn check_succeeds_after_migrate_and_prints_the_ddl_before() {
    let sandbox = Sandbox::new(Some(SQLITE));
    let output = sandbox.run(&["check"]).code(1);
    assert!(
        output.stdout.contains("error") && output.stdout.contains("`postrider migrate` makes the file"),
        "{}",
        output.stdout
    );
    assert!(output.stdout.contains("CREATE TABLE"), "{}", output.stdout);
    assert!(!sandbox.path("app.db").exists(), "looking changes nothing");
    let output = sandbox.run(&["status"]).code(1);
    assert!(output.stdout.contains("postrider migrate"), "{}", output.stdout);
    sandbox.run(&["migrate"]).success();
    let output = sandbox.run(&["check"]).success();
    assert!(output.stdout.contains("  ok  "), "{}", output.stdout);
    assert!(!output.stdout.contains("  error  "), "{}", output.stdout);
    let output = sandbox.run(&["check", "--json"]).success();
    assert_eq!(output.json()[0]["ok"], true);
}

#[tokio::test]
async fn check_prints_ddl_that_fixes_the_table() {
    let sandbox = Sandbox::ready();
    let pool = sandbox.sql().await;
    let indexes: Vec<(String,)> =
        sqlx::query_as("SELECT name FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL")
            .fetch_all(&pool)
            .await
            .unwrap();
    assert!(!indexes.is_empty());
    for (index,) in &indexes {
        sqlx::query(sqlx::AssertSqlSafe(format!("DROP INDEX \"{index}\""))).execute(&pool).await.unwrap();
    }
    let output = sandbox.run(&["check"]);
    assert!(output.stdout.contains("warning") || output.stdout.contains("error"), "{}", output.stdout);
    let report = &sandbox.run(&["check", "--json"]).json()[0];
    assert!(report["fix"].as_array().is_some_and(|fix| !fix.is_empty()), "{report}");
    assert!(
        report["findings"].as_array().unwrap().iter().any(|finding| finding["fix"].is_string()),
        "{report}"
    );
    let same = |object: &serde_json::Value| object["fix"] == object["mend"];
    assert!(same(report) && report["findings"].as_array().unwrap().iter().all(same), "{report}");
    let (_, ddl) = output.stdout.split_once("SQL to fix").expect(&output.stdout);
    let (_, ddl) = ddl.split_once('\n').unwrap();
    sqlx::raw_sql(sqlx::AssertSqlSafe(ddl.to_owned())).execute(&pool).await.unwrap();
    assert!(!sandbox.run(&["check"]).success().stdout.contains("SQL to fix"));
}

#[tokio::test]
async fn list_show_requeue_and_purge_on_real_rows() {
    let sandbox = Sandbox::ready();
    let pool = sandbox.sql().await;
    let mut ids = Vec::new();
    for number in 0..5 {
        ids.push(sandbox.insert(&pool, &format!("c{number}@example.com")).await.to_string());
    }
    sqlx::query("UPDATE mail_outbox SET status = 'failed', retry_count = 5, last_error = '550 no'||char(10)||'such mailbox' WHERE id <= ?")
        .bind(ids[2].parse::<i64>().unwrap())
        .execute(&pool)
        .await
        .unwrap();

    let listed = sandbox.run(&["list", "mail", "--state", "failed"]).success();
    assert_eq!(listed.stdout.lines().count(), 4, "a heading and three rows: {}", listed.stdout);
    assert!(listed.stdout.contains("550 no␣such mailbox"), "{}", listed.stdout);
    let page = sandbox.run(&["list", "mail", "--limit", "2", "--json"]).success();
    assert_eq!(page.json().len(), 2);
    let next: serde_json::Value = serde_json::from_str(&page.stderr).expect(&page.stderr);
    let cursor = next["next"].as_str().expect(&page.stderr).to_owned();
    let rest = sandbox.run(&["list", "mail", "--after", &cursor, "--json"]).success();
    assert_eq!(rest.json().len(), 3, "the pages together are all rows");

    let shown = sandbox.run(&["show", "mail", &ids[0], "--json"]).success();
    assert_eq!(shown.json()[0]["columns"]["to_addresses"], "c0@example.com");
    assert!(
        sandbox.run(&["show", "mail", &ids[0]]).success().stdout.contains("retry_count"),
        "for people too"
    );
    assert!(sandbox.run(&["show", "mail", "999999"]).code(1).stderr.contains("999999"));

    assert_eq!(
        sandbox.run(&["requeue", "mail", &ids[0], &ids[4]]).success().stdout,
        "1\n",
        "only the failed one"
    );
    assert_eq!(sandbox.run(&["requeue", "mail", "--state", "failed"]).success().stdout, "2\n");
    assert_eq!(
        sandbox.run(&["requeue", "mail", "--state", "failed"]).success().stdout,
        "0\n",
        "again changes nothing"
    );
    assert_eq!(count(&pool, "queued").await, 5);
    let output = sandbox.run(&["requeue", "mail", "--state", "fialed"]).code(2);
    assert!(output.stderr.contains("did you mean `failed`?"), "{}", output.stderr);

    let output = sandbox.run(&["cancel", "mail", &ids[0]]).code(2);
    assert!(output.stderr.contains("no cancelled state"), "{}", output.stderr);

    assert_eq!(
        sandbox.run(&["purge", "mail"]).success().stdout,
        "0\n",
        "rows are kept unless retention is set"
    );
    assert!(sandbox.run(&["list", "mial"]).code(2).stderr.contains("did you mean `mail`?"));
}

#[tokio::test]
async fn g06_purge_deletes_only_rows_past_their_retention() {
    let sandbox = Sandbox::new(Some(&format!("{SQLITE}[lanes.mail.retention]\nsent = \"7d\"\n")));
    sandbox.run(&["migrate"]).success();
    let pool = sandbox.sql().await;
    for (status, age) in
        [("sent", "-8 days"), ("sent", "-6 days"), ("queued", "-9 days"), ("failed", "-9 days")]
    {
        let id = sandbox.insert(&pool, "a@example.com").await;
        sqlx::query(
            "UPDATE mail_outbox SET status = ?, created_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now', ?), \
             sent_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now', ?) WHERE id = ?",
        )
        .bind(status)
        .bind(age)
        .bind(age)
        .bind(id)
        .execute(&pool)
        .await
        .unwrap();
    }
    assert_eq!(sandbox.run(&["purge", "mail"]).success().stdout, "1\n");
    assert_eq!(
        (count(&pool, "sent").await, count(&pool, "queued").await, count(&pool, "failed").await),
        (1, 1, 1)
    );
}

#[tokio::test]
async fn status_counts_states_and_shows_paused_lanes() {
    let sandbox = Sandbox::ready();
    let pool = sandbox.sql().await;
    sandbox.insert(&pool, "a@example.com").await;
    sandbox.run(&["pause", "mail"]).success();
    let status = &sandbox.run(&["status", "--json"]).success().json()[0];
    assert_eq!(status["paused"], true);
    let queued =
        status["states"].as_array().unwrap().iter().find(|count| count["state"] == "queued").unwrap();
    assert_eq!(queued["rows"], 1);
    assert!(sandbox.run(&["status"]).success().stdout.contains("paused"));
    sandbox.run(&["resume", "mail"]).success();
    assert_eq!(sandbox.run(&["status", "--json"]).success().json()[0]["paused"], false);
}

#[test]
fn status_watch_refreshes_until_it_is_interrupted() {
    let sandbox = Sandbox::ready();
    let out = sandbox.path("watch.out");
    let file = std::fs::File::create(&out).unwrap();
    let mut watching = sandbox.command(&["status", "--watch", "1"]).stdout(file).spawn().unwrap();
    eventually("a second look", || {
        let looks = std::fs::read_to_string(&out).unwrap().matches("LANE  STATE").count();
        (looks >= 2).then_some(())
    });
    let id = rustix::process::Pid::from_child(&watching);
    rustix::process::kill_process(id, rustix::process::Signal::INT).unwrap();
    assert_eq!(watching.wait().unwrap().code(), Some(0), "Ctrl-C is how it ends");
}

#[test]
fn contracts_are_listed_shown_and_verified() {
    let sandbox = Sandbox::new(None);
    let listed = sandbox.run(&["contract", "list"]).success();
    for name in ["mail_outbox", "dispatch_jobs", "open_event_notifications", "emails", "outbox"] {
        assert!(listed.stdout.contains(name), "{}", listed.stdout);
        let shown = sandbox.run(&["contract", "show", name]).success();
        std::fs::write(sandbox.path("mine.toml"), &shown.stdout).unwrap();
        let output = sandbox.run(&["contract", "verify", "mine.toml"]).success();
        assert!(output.stdout.contains("is valid"), "{}", output.stdout);
        assert_eq!(output.stderr, "", "no warning");
        std::fs::write(sandbox.path("old.toml"), shown.stdout.replace("retryable =", "retry =")).unwrap();
        let output = sandbox.run(&["contract", "verify", "old.toml"]).success();
        assert!(output.stderr.contains("warning: old.toml:"), "{}", output.stderr);
        assert!(output.stderr.contains("`retry` is now called `retryable`; rename it"), "{}", output.stderr);
        for dialect in ["postgres", "mysql", "sqlite"] {
            let output = sandbox.run(&["contract", "ddl", name, "--dialect", dialect]).success();
            assert!(output.stdout.contains("CREATE TABLE"), "{}", output.stdout);
        }
    }
    std::fs::write(sandbox.path("bad.toml"), "contract = \"x\"\nversion = \"9.0\"\ntabel = 1\n").unwrap();
    let output = sandbox.run(&["contract", "verify", "bad.toml"]).code(1);
    assert!(
        output.stderr.contains("bad.toml:2") && output.stderr.contains("bad.toml:3"),
        "every mistake: {}",
        output.stderr
    );
    assert!(
        sandbox
            .run(&["contract", "show", "mial_outbox"])
            .code(2)
            .stderr
            .contains("did you mean `mail_outbox`?")
    );
}

#[tokio::test]
async fn send_writes_a_row_as_an_application_would() {
    let sandbox = Sandbox::ready();
    let mail = [
        "send",
        "mail",
        "--to",
        "a@example.com",
        "--to",
        "b@example.com",
        "--subject",
        "It's here",
        "--text",
        "Body",
    ];
    let id = sandbox.run(&mail).success().stdout.trim().to_owned();
    let row = &sandbox.run(&["show", "mail", &id, "--json"]).success().json()[0];
    assert_eq!(row["state"], "queued");
    assert_eq!(row["columns"]["subject"], "It's here");
    let keyed = [&mail[..], &["--idempotency-key", "k1"]].concat();
    sandbox.run(&keyed).success();
    sandbox.run(&keyed).success();
    assert_eq!(count(&sandbox.sql().await, "queued").await, 2, "the same key twice is one mail");
}
