//! Executes every statement of the guide for producers exactly as printed.

use postrider_sql::Dialect;

use crate::base::{Base, on_every_database};

const GUIDE: &str = include_str!("../../../../docs/guides/producing.md");

on_every_database!(every_statement_of_the_guide_runs);

/// A fenced code block: the words after the fence, and its content.
struct Block {
    language: String,
    database: String,
    table: String,
    statement: String,
}

fn blocks() -> Vec<Block> {
    let mut found = Vec::new();
    for part in GUIDE.split("\n```").skip(1).step_by(2) {
        let (words, text) = part.split_once('\n').expect("a fence ends its line");
        let words: Vec<&str> = words.split(' ').collect();
        let [language, database, table] = words[..] else {
            assert!(!text.contains("INSERT INTO"), "a statement that names no database: {text}");
            continue;
        };
        let statement = if language == "sql" { text } else { literal(text) };
        assert_eq!(text.matches("INSERT INTO").count(), 1, "one statement a block: {text}");
        found.push(Block {
            language: language.to_owned(),
            database: database.to_owned(),
            table: table.to_owned(),
            statement: statement.trim().to_owned(),
        });
    }
    found
}

/// Returns the SQL in a snippet: its multi-line string.
fn literal(text: &str) -> &str {
    let quote = if text.contains("\"\"\"") { "\"\"\"" } else { "`" };
    text.split(quote).nth(1).expect("the snippet quotes its statement")
}

/// Converts the placeholders of the driver: `%s` (psycopg) and `?` (JDBC) become `$1`, `$2` on PostgreSQL.
fn placeholders(dialect: Dialect, statement: &str) -> (String, usize) {
    let statement = statement.replace("%s", "?");
    if dialect != Dialect::Postgres || !statement.contains('?') {
        let count = statement.matches('?').count() + statement.matches('$').count();
        return (statement, count);
    }
    let mut parts = statement.split('?');
    let mut text = parts.next().expect("a first part").to_owned();
    let mut count = 0;
    for part in parts {
        count += 1;
        text = format!("{text}${count}{part}");
    }
    (text, count)
}

async fn every_statement_of_the_guide_runs<B: Base>(base: &B) {
    base.create("outbox").await;
    base.create("mail_outbox").await;
    let name = match B::DIALECT {
        Dialect::Postgres => "postgres",
        Dialect::Mysql => "mysql",
        Dialect::Sqlite => "sqlite",
    };
    let mine: Vec<Block> = blocks().into_iter().filter(|block| block.database == name).collect();
    assert!(
        mine.iter().filter(|block| block.language == "sql").count() >= 3,
        "the guide has lost its statements"
    );
    assert!(mine.iter().any(|block| block.language != "sql"), "no language shows {name}");
    let mut expected = [("outbox", 0), ("mail_outbox", 0)];
    for (n, block) in mine.iter().enumerate() {
        let (statement, count) = placeholders(B::DIALECT, &block.statement);
        let values = ["[\"ann@example.org\"]", "subject or key", "body or payload", &format!("key {n}")];
        let values: Vec<String> = values[..count].iter().map(ToString::to_string).collect();
        let first = base.run_with(&statement, &values).await;
        let again = base.run_with(&statement, &values).await;
        let dedupes = statement.contains("idempotency_key");
        if dedupes && B::DIALECT == Dialect::Mysql {
            assert!(first.is_some() && first == again, "{statement}: {first:?}, {again:?}");
        } else if dedupes {
            assert_eq!(again, None, "{statement}");
        }
        assert!(first.is_some() || !statement.contains("RETURNING"), "{statement}");
        let rows = expected.iter_mut().find(|(table, _)| *table == block.table).expect("a table of ours");
        rows.1 += if dedupes { 1 } else { 2 };
        assert_eq!(base.count(&block.table).await, rows.1.to_string(), "{statement}");
    }
    let fresh = format!("{} < 10", B::age("created_at"));
    for (table, ready, rows) in
        [("outbox", "PENDING", expected[0].1), ("mail_outbox", "queued", expected[1].1)]
    {
        let good = format!("{table} WHERE status = '{ready}' AND retry_count = 0 AND {fresh}");
        assert_eq!(base.count(&good).await, rows.to_string(), "{good}");
    }
    let ahead = B::age("next_attempt_at");
    let later = format!("mail_outbox WHERE {ahead} BETWEEN -3601 AND -3500");
    assert_eq!(base.count(&later).await, "2", "an hour is an hour");
    assert_eq!(base.claim("mail_outbox", "dispatch").await.len(), expected[1].1 - 2, "the others are due");
}
