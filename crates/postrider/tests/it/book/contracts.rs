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
    let ddl = blocks(&text, "sql").into_iter().next().expect("the guide has a table");
    let contract = blocks(&text, "toml").into_iter().find(|block| is_contract(block)).expect("a contract");
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
