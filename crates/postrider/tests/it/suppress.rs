//! The suppression list, on each database, with the real binary and a real relay.

use crate::sandbox::Sandbox;
use crate::support::database::{Kind, fresh};
use crate::support::installation::Installation;
use crate::support::relay::Relay;
use crate::support::sql::Sql;
use crate::support::wait::{TIMEOUT, wait_until};

fn send(sandbox: &Sandbox, to: &[&str], subject: &str) -> String {
    let mut arguments = vec!["send", "mail", "--subject", subject, "--text", "hi"];
    for to in to {
        arguments.extend(["--to", to]);
    }
    sandbox.run(&arguments).success().stdout.trim().to_owned()
}

/// Status, attempts and the other columns of a row in a final state.
async fn final_row(sql: &Sql, id: &str) -> (String, String, String, String) {
    let [attempts, key] = ["retry_count", "id"].map(|column| sql.text(column));
    let query = format!(
        "SELECT status, {attempts}, COALESCE(last_error, ''), COALESCE({}, '') FROM mail_outbox WHERE {key} = '{id}'",
        sql.text("recipient_results")
    );
    let rows = wait_until("the row is over", TIMEOUT, || async {
        let rows = sql.rows(&query).await.ok()?;
        matches!(rows.first()?.first()?.as_deref()?, "sent" | "failed").then_some(rows)
    })
    .await;
    let text = |at: usize| rows[0][at].clone().unwrap_or_default();
    (text(0), text(1), text(2), text(3))
}

async fn entries(sql: &Sql) -> Vec<String> {
    let rows = sql.rows("SELECT entry FROM postrider_suppressions ORDER BY entry").await.unwrap();
    rows.into_iter().flatten().flatten().collect()
}

async fn the_list_is_honoured(kind: Kind, name: &str) {
    let mut installation = Installation::new();
    let (url, sql) = fresh(kind, name, &installation.sandbox).await;
    let relay = Relay::shared();
    installation.write_settings(&format!(
        "[stores.main]\nurl = \"{url}\"\n[transports.relay]\nurl = \"smtp://{}\"\n\
         [mail]\nfrom = \"shop@example.com\"\n[lanes.mail]\ncontract = \"mail_outbox\"\npoll = \"50ms\"\n",
        relay.address
    ));
    let early = installation.sandbox.run(&["suppress", "list"]).code(1);
    let remedy = if kind == Kind::Sqlite { "is the path right" } else { "postrider migrate" };
    assert!(early.stderr.contains(remedy), "{}", early.stderr);
    installation.sandbox.run(&["migrate"]).success();
    installation
        .sandbox
        .run(&["suppress", "add", "Ann@Example.COM", "MÜNCHEN.example", "--reason", "it's over"])
        .success();
    assert_eq!(entries(&sql).await, ["ann@example.com", "xn--mnchen-3ya.example"]);
    let again = installation.sandbox.run(&["suppress", "add", "ann@example.com"]).success();
    assert!(again.stderr.contains("already"), "{}", again.stderr);

    let worker = installation.start_worker();
    let mark = format!("{name}-{:08x}", rand::random::<u32>());
    let gone = format!("rcpt-550-{mark}@example.com");
    let policy = format!("rcpt-554-{mark}@example.com");

    let (status, attempts, error, _) =
        final_row(&sql, &send(&installation.sandbox, &["ANN@example.com"], &mark)).await;
    assert_eq!((status.as_str(), attempts.as_str()), ("failed", "1"));
    assert!(error.contains("ann@example.com is on the list (it's over)"), "{error}");
    let (status, ..) = final_row(&sql, &send(&installation.sandbox, &["eve@münchen.example"], &mark)).await;
    assert_eq!(status, "failed");

    let (status, _, _, results) =
        final_row(&sql, &send(&installation.sandbox, &["bob@example.com", "ann@example.com"], &mark)).await;
    assert_eq!(status, "sent");
    let results: serde_json::Value = serde_json::from_str(&results).unwrap();
    assert_eq!(
        (&results[0]["address"], &results[0]["result"]),
        (&"ann@example.com".into(), &"refused".into())
    );
    assert_eq!(
        (&results[1]["address"], &results[1]["result"]),
        (&"bob@example.com".into(), &"accepted".into())
    );

    let (status, attempts, error, _) = final_row(&sql, &send(&installation.sandbox, &[&gone], &mark)).await;
    assert_eq!((status.as_str(), attempts.as_str()), ("failed", "1"));
    assert!(error.contains("5.1.1"), "{error}");
    let (_, _, error, _) = final_row(&sql, &send(&installation.sandbox, &[&gone], &mark)).await;
    assert!(error.contains("is on the list (550 5.1.1"), "{error}");
    let (status, _, error, _) = final_row(&sql, &send(&installation.sandbox, &[&policy], &mark)).await;
    assert!(status == "failed" && error.contains("5.7.1"), "{error}");
    assert_eq!(entries(&sql).await, ["ann@example.com", &gone, "xn--mnchen-3ya.example"]);

    let first = installation.sandbox.run(&["suppress", "list", "--json", "--limit", "2"]).success();
    assert_eq!(
        first.json().iter().map(|one| &one["entry"]).collect::<Vec<_>>(),
        ["ann@example.com", gone.as_str()]
    );
    assert!(first.json()[0]["since"].as_str().unwrap().ends_with('Z'));
    assert_eq!(first.stderr, format!("{}\n", serde_json::json!({ "next": gone })));
    let stderr = installation.sandbox.run(&["suppress", "list", "--limit", "2"]).success().stderr;
    assert!(stderr.contains(&format!("--after '{gone}'")), "{stderr}");
    let second = installation.sandbox.run(&["suppress", "list", "--json", "--after", &gone]).success();
    assert_eq!((second.json().len(), second.stderr.as_str()), (1, ""));

    installation.sandbox.run(&["suppress", "remove", "ANN@EXAMPLE.com", "münchen.example"]).success();
    assert_eq!(entries(&sql).await, [gone.as_str()]);
    installation.sandbox.run(&["suppress", "remove", "ann@example.com"]).code(1);
    let (status, ..) = final_row(&sql, &send(&installation.sandbox, &["ann@example.com"], &mark)).await;
    assert_eq!(status, "sent", "an entry that is taken off takes effect at once");
    let sent: Vec<Vec<String>> = relay.accepted(&mark).into_iter().map(|entry| entry.to).collect();
    assert_eq!(sent, [["bob@example.com"], ["ann@example.com"]]);
    installation.stop(worker).await;
    sql.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn m09_postgres_honours_the_suppression_list() {
    the_list_is_honoured(Kind::Postgres, "suppress").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn m09_mariadb_honours_the_suppression_list() {
    the_list_is_honoured(Kind::MariaDb, "suppress").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn m09_sqlite_honours_the_suppression_list() {
    the_list_is_honoured(Kind::Sqlite, "suppress").await;
}

#[test]
fn invalid_addresses_and_domains_are_refused() {
    let sandbox = Sandbox::ready();
    let output =
        sandbox.run(&["suppress", "add", "fine@example.com", "two words", "a@b@", "localhost"]).code(2);
    for wrong in ["two words", "a@b@", "localhost"] {
        assert!(output.stderr.contains(wrong), "{}", output.stderr);
    }
    assert_eq!(sandbox.run(&["suppress", "list", "--json"]).success().stdout, "", "nothing was added");
    let output = sandbox.run(&["suppress", "list", "--store", "mian"]).code(2);
    assert!(output.stderr.contains("did you mean `main`?"), "{}", output.stderr);
}
