use super::super::{Source, rules};
use super::leading_ids;

fn source(path: &str, text: &str) -> Source {
    Source { path: path.to_owned(), text: text.to_owned() }
}

#[test]
fn rules_and_tests_name_each_other() {
    let page = source(
        "docs/rules.md",
        "| id | rule | where |\n|---|---|---|\n| M4 | Backoff. | SQL |\n| O10 | Brokers. | SQL |\n",
    );
    let tests = |text: &str| [source("docs/rules.md", &page.text), source("crates/a/tests/it.rs", text)];
    let found =
        |text: &str| -> Vec<String> { rules::check(&tests(text)).iter().map(ToString::to_string).collect() };
    assert_eq!(
        found(
            "#[test]\nfn m04_backs_off() {}\n\n#[tokio::test]\nasync fn o10_kafka() {}\n\nfn e_mail() {}\n"
        ),
        Vec::<String>::new()
    );
    let made = "macro_rules! everywhere {\n    ($($name:ident;)+) => { $(#[test] fn $name() {})+ };\n}\n\n\
                everywhere! {\n    m04_backs_off;\n    o10_kafka;\n}\n\nfn m04_backs_off() {}\n\nfn o10_kafka() {}\n";
    assert_eq!(found(made), Vec::<String>::new());
    // Functions that nothing runs.
    let unused = found("fn m04_backs_off() {}\n\n#[test]\nfn other() {}\n\nasync fn o10_kafka() {}\n");
    assert_eq!(unused.len(), 2, "{unused:?}");
    assert!(unused.iter().all(|line| line.contains("no test names rule")), "{unused:?}");
    assert_eq!(
        found("#[test]\nfn m4_backs_off() {}\n#[test]\nfn o9_dead_letters() {}\n"),
        [
            "crates/a/tests/it.rs:4: a test names rule O9, which docs/rules.md does not list: list the rule, or rename the test",
            "docs/rules.md:4: no test names rule O10: write a test whose name begins with the id",
        ]
    );
}

#[test]
fn the_tests_of_each_rule_are_listed() {
    let law = "    claim::claim_order [always] [M4] \"Rows are claimed in order.\";\n";
    let mut sources = vec![
        source("docs/rules.md", "| id | rule | where |\n|---|---|---|\n| M4 | Backoff. | SQL |\n"),
        source(
            "crates/a/tests/it.rs",
            "#[tokio::test]\nasync fn m04_backs_off() {}\n#[test]\nfn m4_has_a_limit() {}\n",
        ),
        source("crates/conformance/src/law.rs", law),
    ];
    let page = rules::tests_page(&sources);
    let listed = "## M4\n\n- laws: `claim_order`\n\
                  - [crates/a/tests/it.rs](../crates/a/tests/it.rs): `m04_backs_off`, `m4_has_a_limit`\n";
    assert!(page.ends_with(listed), "{page}");
    sources.push(source(rules::TESTS_PAGE, &page));
    assert!(rules::check(&sources).is_empty());
    sources[2] = source("crates/conformance/src/law.rs", &law.replace("M4", "M5"));
    let found: Vec<String> = rules::check(&sources).iter().map(ToString::to_string).collect();
    assert_eq!(
        found,
        [
            "crates/conformance/src/law.rs:1: a test names rule M5, which docs/rules.md does not list: \
             list the rule, or rename the test",
            "docs/rule-tests.md:1: the list of tests is out of date: run UPDATE_REFERENCE=1 cargo xtask tidy",
        ]
    );
}

#[test]
fn every_id_at_the_start_of_a_name_counts() {
    assert_eq!(leading_ids("m03_m4_backs_off"), [('m', 3), ('m', 4)]);
    assert_eq!(leading_ids("g1_m09_costs_nothing"), [('g', 1), ('m', 9)]);
    assert_eq!(leading_ids("n02_to_n04_acks"), [('n', 2), ('n', 3), ('n', 4)]);
    assert_eq!(leading_ids("m4_to_the_end"), [('m', 4)]);
    assert_eq!(leading_ids("a_row_m4"), []);
    let page = "| id | rule | where |\n|---|---|---|\n| M4 | Backoff. | SQL |\n";
    let test = "#[test]\nfn m4_m5_backs_off() {}\n";
    let found = rules::check(&[source("docs/rules.md", page), source("crates/a/tests/it.rs", test)]);
    let found: Vec<&str> = found.iter().map(|violation| violation.what.as_str()).collect();
    assert_eq!(found, ["a test names rule M5, which docs/rules.md does not list"]);
}

#[test]
fn a_rule_is_proven_on_every_store_that_it_names() {
    let found = |stores: &str, law: &str, path: &str, name: &str| -> Vec<String> {
        let sources = [
            source(
                "docs/rules.md",
                &format!("| id | rule | where |\n|---|---|---|\n| E7 | Intake. | {stores} |\n"),
            ),
            source("crates/conformance/src/law.rs", &format!("    claim::{law} [always] [E7] \"Rows.\";\n")),
            source(path, &format!("#[test]\nfn e7_{name}() {{}}\n")),
            source(
                "docs/conformance.md",
                "| `order` | Rows. | E7 |\n\n## Where they hold\n\n| law | mail_outbox<br>dispatch | emails<br>send |\n\
                 |---|---|---|\n| `order` | all | all |\n| `effects` | all | SQL |\n| `large` | all | — |\n\
                 | `row` | — | mariadb, dynamodb |\n",
            ),
        ];
        rules::check(&sources).into_iter().map(|violation| violation.what).collect()
    };
    let (neutral, mysql) = ("crates/engine/tests/it.rs", "crates/stores/mysql/tests/it.rs");
    let none = Vec::<String>::new();
    assert_eq!(found("all", "order", mysql, "reads"), none);
    assert_eq!(found("SQL", "large", neutral, "reads"), none);
    assert_eq!(found("all", "effects", neutral, "reads_on_dynamodb"), none);
    assert_eq!(found("MySQL/MariaDB, DynamoDB", "row", mysql, "reads"), none);
    let missing = |stores: &str| [format!("no law and no test of E7 reaches {stores}")];
    assert_eq!(found("all", "effects", neutral, "reads"), missing("DynamoDB"));
    assert_eq!(found("SQL", "large", mysql, "reads"), missing("PostgreSQL, SQLite"));
    assert_eq!(found("SQL", "large", neutral, "reads_on_mariadb"), missing("PostgreSQL, SQLite"));
    assert_eq!(
        found("Oracle", "order", mysql, "reads"),
        ["`Oracle` is neither `all`, `SQL`, nor a list of stores"]
    );
}
