//! Every contract in the documentation passes `contract verify`; the guide's contract also fits the table next to it.

use std::path::Path;

use sqlx::{AssertSqlSafe, Connection, Executor};

use super::root;
use crate::databases::{fresh, server};
use crate::sandbox::Sandbox;

/// The fenced blocks of a language, in the order of the page.
fn blocks(text: &str, language: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some(info) = line.strip_prefix("```") else { continue };
        let body: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        if info.split_whitespace().next() == Some(language) {
            found.push(body.join("\n") + "\n");
        }
    }
    found
}

/// Whether a block is a contract, which states its version; settings of a lane only name a contract.
fn is_contract(block: &str) -> bool {
    let table: toml::Table = toml::from_str(block).unwrap_or_else(|error| panic!("{error}:\n{block}"));
    table.contains_key("version")
}

fn pages(folder: &Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            pages(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "md") {
            found.push(path);
        }
    }
}

#[test]
fn every_printed_contract_is_valid() {
    let mut files = vec![root().join("README.md"), root().join("ARCHITECTURE.md")];
    pages(&root().join("docs"), &mut files);
    let sandbox = Sandbox::new(None);
    let mut contracts = 0;
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        for block in blocks(&text, "toml").iter().filter(|block| is_contract(block)) {
            contracts += 1;
            std::fs::write(sandbox.path("c.toml"), block).unwrap();
            let output = sandbox.run(&["contract", "verify", "c.toml"]);
            assert_eq!(output.code, Some(0), "{}: {}\n{block}", file.display(), output.stderr);
        }
    }
    assert!(contracts >= 2, "the book prints contracts");
}

#[tokio::test]
async fn the_guides_contract_fits_the_guides_table() {
    let text = std::fs::read_to_string(root().join("docs/guides/own-table.md")).unwrap();
    let ddl = blocks(&text, "sql").into_iter().find(|block| block.contains("TABLE")).expect("a table");
    let contracts = blocks(&text, "toml").into_iter().filter(|block| is_contract(block));
    let contract = contracts.into_iter().find(|block| block.contains("order_mail")).expect("a contract");
    let example = std::fs::read_to_string(root().join("examples/own-table/order_mail.toml")).unwrap();
    assert!(example.ends_with(&contract), "the guide prints the file of the example");

    let url = fresh(&server("POSTRIDER_TEST_POSTGRES"), "guide_table").await;
    let mut connection = sqlx::PgConnection::connect(&url).await.unwrap();
    connection.execute(AssertSqlSafe(ddl)).await.unwrap();
    let settings = format!(
        "[stores.shop]\nurl = \"{url}\"\n[transports.mail]\nurl = \"file:outbox\"\n\
         [lanes.orders]\ncontract = \"order_mail.toml\"\n"
    );
    let sandbox = Sandbox::new(Some(&settings));
    std::fs::write(sandbox.path("order_mail.toml"), contract).unwrap();
    sandbox.run(&["migrate"]).success();
    let checked = sandbox.run(&["check", "--json"]).success().json().remove(0);
    for finding in checked["findings"].as_array().unwrap() {
        let lease = finding["text"].as_str().unwrap().contains("no lease columns");
        assert!(finding["level"] == "ok" || lease, "{finding}");
    }
}

/// The view of the guide, over a table of an application: rows are claimed, settled and left alone through it.
#[tokio::test(flavor = "multi_thread")]
async fn the_guides_view_is_drained() {
    let text = std::fs::read_to_string(root().join("docs/guides/own-table.md")).unwrap();
    let view = blocks(&text, "sql").into_iter().find(|block| block.contains("VIEW")).expect("a view");
    let contracts = blocks(&text, "toml").into_iter().filter(|block| is_contract(block));
    let contract = contracts.into_iter().find(|block| block.contains("order_events")).expect("a contract");
    let url = fresh(&server("POSTRIDER_TEST_POSTGRES"), "guide_view").await;
    let mut connection = sqlx::PgConnection::connect(&url).await.unwrap();
    let table = "CREATE TABLE orders (order_id bigint PRIMARY KEY, customer_id text, document jsonb, exported boolean NOT NULL, \
                 export_state text NOT NULL DEFAULT 'waiting', export_tries integer NOT NULL DEFAULT 0, \
                 export_at timestamptz, export_error text);";
    let rows = "INSERT INTO orders (order_id, customer_id, document, exported) VALUES (1, 'c', '{}', true), \
                (2, 'c', NULL, true), (3, 'c', '{}', false);";
    for sql in [table, &view, rows] {
        sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).execute(&mut connection).await.unwrap();
    }
    let settings = format!(
        "[stores.shop]\nurl = \"{url}\"\n[transports.out]\nurl = \"file:out\"\n\
         [lanes.orders]\ncontract = \"./orders.toml\"\npoll = \"50ms\"\n"
    );
    let sandbox = Sandbox::new(Some(&settings));
    std::fs::write(sandbox.path("orders.toml"), contract).unwrap();
    let _running = sandbox.start();
    for _ in 0..400 {
        let states: Vec<(String,)> = sqlx::query_as("SELECT export_state FROM orders ORDER BY order_id")
            .fetch_all(&mut connection)
            .await
            .unwrap();
        let states: Vec<&str> = states.iter().map(|(state,)| state.as_str()).collect();
        if states == ["exported", "failed", "waiting"] {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    panic!("the rows of the view have not ended after 20 s");
}
