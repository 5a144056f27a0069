use crate::shop::{SQLITE, Shop, count, eventually};

#[test]
fn migrate_prints_or_makes_and_then_nothing_is_missing() {
    let shop = Shop::new(Some(SQLITE));
    let printed = shop.run(&["migrate", "--print"]).fine();
    assert!(printed.out.contains("CREATE TABLE"), "{}", printed.out);
    assert!(!shop.path("app.db").exists(), "printing changes nothing");
    let said = shop.run(&["run", "--listen", "127.0.0.1:0"]).code(1);
    assert!(said.err.contains("app.db"), "a missing file is named: {}", said.err);
    assert_eq!(shop.run(&["migrate"]).fine().out, printed.out, "what was printed is what is run");
    let again = shop.run(&["migrate"]).fine();
    assert_eq!(again.out, "");
    assert!(again.err.contains("nothing is missing"), "{}", again.err);
}

#[test]
fn check_is_fine_after_migrate_and_tells_the_ddl_before() {
    let shop = Shop::new(Some(SQLITE));
    let said = shop.run(&["check"]).code(1);
    assert!(
        said.out.contains("error") && said.out.contains("`postrider migrate` makes the file"),
        "{}",
        said.out
    );
    assert!(said.out.contains("CREATE TABLE"), "{}", said.out);
    assert!(!shop.path("app.db").exists(), "looking changes nothing");
    let said = shop.run(&["status"]).code(1);
    assert!(said.out.contains("postrider migrate"), "{}", said.out);
    shop.run(&["migrate"]).fine();
    let said = shop.run(&["check"]).fine();
    assert!(said.out.contains("  ok  "), "{}", said.out);
    assert!(!said.out.contains("  error  "), "{}", said.out);
    let said = shop.run(&["check", "--json"]).fine();
    assert_eq!(said.json()[0]["ok"], true);
}

#[tokio::test]
async fn check_prints_ddl_that_mends() {
    let shop = Shop::ready();
    let pool = shop.sql().await;
    let indexes: Vec<(String,)> =
        sqlx::query_as("SELECT name FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL")
            .fetch_all(&pool)
            .await
            .unwrap();
    assert!(!indexes.is_empty());
    for (index,) in &indexes {
        sqlx::query(sqlx::AssertSqlSafe(format!("DROP INDEX \"{index}\""))).execute(&pool).await.unwrap();
    }
    let said = shop.run(&["check"]);
    assert!(said.out.contains("warning") || said.out.contains("error"), "{}", said.out);
    let (_, ddl) = said.out.split_once("SQL to fix").expect(&said.out);
    let (_, ddl) = ddl.split_once('\n').unwrap();
    sqlx::raw_sql(sqlx::AssertSqlSafe(ddl.to_owned())).execute(&pool).await.unwrap();
    assert!(!shop.run(&["check"]).fine().out.contains("SQL to fix"));
}

#[tokio::test]
async fn list_show_requeue_and_purge_on_real_rows() {
    let shop = Shop::ready();
    let pool = shop.sql().await;
    let mut ids = Vec::new();
    for number in 0..5 {
        ids.push(shop.insert(&pool, &format!("c{number}@example.com")).await.to_string());
    }
    sqlx::query("UPDATE mail_outbox SET status = 'failed', retry_count = 5, last_error = '550 no'||char(10)||'such mailbox' WHERE id <= ?")
        .bind(ids[2].parse::<i64>().unwrap())
        .execute(&pool)
        .await
        .unwrap();

    let listed = shop.run(&["list", "mail", "--state", "failed"]).fine();
    assert_eq!(listed.out.lines().count(), 4, "a heading and three rows: {}", listed.out);
    assert!(listed.out.contains("550 no␣such mailbox"), "{}", listed.out);
    let page = shop.run(&["list", "mail", "--limit", "2", "--json"]).fine();
    assert_eq!(page.json().len(), 2);
    let next: serde_json::Value = serde_json::from_str(&page.err).expect(&page.err);
    let cursor = next["next"].as_str().expect(&page.err).to_owned();
    let rest = shop.run(&["list", "mail", "--after", &cursor, "--json"]).fine();
    assert_eq!(rest.json().len(), 3, "the pages together are all rows");

    let shown = shop.run(&["show", "mail", &ids[0], "--json"]).fine();
    assert_eq!(shown.json()[0]["columns"]["to_addresses"], "c0@example.com");
    assert!(shop.run(&["show", "mail", &ids[0]]).fine().out.contains("retry_count"), "for people too");
    assert!(shop.run(&["show", "mail", "999999"]).code(1).err.contains("999999"));

    assert_eq!(shop.run(&["requeue", "mail", &ids[0], &ids[4]]).fine().out, "1\n", "only the failed one");
    assert_eq!(shop.run(&["requeue", "mail", "--state", "failed"]).fine().out, "2\n");
    assert_eq!(
        shop.run(&["requeue", "mail", "--state", "failed"]).fine().out,
        "0\n",
        "again changes nothing"
    );
    assert_eq!(count(&pool, "queued").await, 5);
    let said = shop.run(&["requeue", "mail", "--state", "fialed"]).code(2);
    assert!(said.err.contains("did you mean `failed`?"), "{}", said.err);

    let said = shop.run(&["cancel", "mail", &ids[0]]).code(2);
    assert!(said.err.contains("no cancelled state"), "{}", said.err);

    assert_eq!(shop.run(&["purge", "mail"]).fine().out, "0\n", "rows are kept unless retention is set");
    assert!(shop.run(&["list", "mial"]).code(2).err.contains("did you mean `mail`?"));
}

#[tokio::test]
async fn g6_purge_deletes_only_what_is_past_its_retention() {
    let shop = Shop::new(Some(&format!("{SQLITE}[lanes.mail.retention]\nsent = \"7d\"\n")));
    shop.run(&["migrate"]).fine();
    let pool = shop.sql().await;
    for (status, age) in
        [("sent", "-8 days"), ("sent", "-6 days"), ("queued", "-9 days"), ("failed", "-9 days")]
    {
        let id = shop.insert(&pool, "a@example.com").await;
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
    assert_eq!(shop.run(&["purge", "mail"]).fine().out, "1\n");
    assert_eq!(
        (count(&pool, "sent").await, count(&pool, "queued").await, count(&pool, "failed").await),
        (1, 1, 1)
    );
}

#[tokio::test]
async fn status_counts_states_and_tells_who_is_paused() {
    let shop = Shop::ready();
    let pool = shop.sql().await;
    shop.insert(&pool, "a@example.com").await;
    shop.run(&["pause", "mail"]).fine();
    let status = &shop.run(&["status", "--json"]).fine().json()[0];
    assert_eq!(status["paused"], true);
    let queued =
        status["states"].as_array().unwrap().iter().find(|count| count["state"] == "queued").unwrap();
    assert_eq!(queued["rows"], 1);
    assert!(shop.run(&["status"]).fine().out.contains("paused"));
    shop.run(&["resume", "mail"]).fine();
    assert_eq!(shop.run(&["status", "--json"]).fine().json()[0]["paused"], false);
}

#[test]
fn status_goes_on_looking_until_it_is_interrupted() {
    let shop = Shop::ready();
    let out = shop.path("watch.out");
    let file = std::fs::File::create(&out).unwrap();
    let mut watching = shop.command(&["status", "--watch", "1"]).stdout(file).spawn().unwrap();
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
    let shop = Shop::new(None);
    let listed = shop.run(&["contract", "list"]).fine();
    for name in ["mail_outbox", "dispatch_jobs", "open_event_notifications", "emails", "outbox"] {
        assert!(listed.out.contains(name), "{}", listed.out);
        let shown = shop.run(&["contract", "show", name]).fine();
        std::fs::write(shop.path("mine.toml"), &shown.out).unwrap();
        let said = shop.run(&["contract", "verify", "mine.toml"]).fine();
        assert!(said.out.contains("is valid"), "{}", said.out);
        for dialect in ["postgres", "mysql", "sqlite"] {
            let said = shop.run(&["contract", "ddl", name, "--dialect", dialect]).fine();
            assert!(said.out.contains("CREATE TABLE"), "{}", said.out);
        }
    }
    std::fs::write(shop.path("bad.toml"), "contract = \"x\"\nversion = \"9.0\"\ntabel = 1\n").unwrap();
    let said = shop.run(&["contract", "verify", "bad.toml"]).code(1);
    assert!(
        said.err.contains("bad.toml:2") && said.err.contains("bad.toml:3"),
        "every mistake: {}",
        said.err
    );
    assert!(
        shop.run(&["contract", "show", "mial_outbox"]).code(2).err.contains("did you mean `mail_outbox`?")
    );
}

#[tokio::test]
async fn send_writes_a_row_as_an_application_would() {
    let shop = Shop::ready();
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
    let id = shop.run(&mail).fine().out.trim().to_owned();
    let row = &shop.run(&["show", "mail", &id, "--json"]).fine().json()[0];
    assert_eq!(row["state"], "queued");
    assert_eq!(row["columns"]["subject"], "It's here");
    let keyed = [&mail[..], &["--idempotency-key", "k1"]].concat();
    shop.run(&keyed).fine();
    shop.run(&keyed).fine();
    assert_eq!(count(&shop.sql().await, "queued").await, 2, "the same key twice is one mail");
}
