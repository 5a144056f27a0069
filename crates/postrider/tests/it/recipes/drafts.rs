//! `contract draft` reads real tables, and drafts the recipes.

use super::{Recipe, mails, records};
use crate::sandbox::{SQLITE, Sandbox};

/// The lines that matter, without comments and alignment.
fn lines(contract: &str) -> Vec<String> {
    let code = contract.lines().map(|line| line.split('#').next().unwrap_or_default());
    let spaced = code.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    spaced.filter(|line| !line.is_empty()).collect()
}

async fn drafted(recipe: &Recipe) {
    let (sandbox, _) = recipe.installed("url = \"file:out\"").await;
    let made =
        sandbox.run(&["contract", "draft", "--store", "main", "--table", recipe.table, "--yes"]).success();
    let (draft, wanted) = (lines(&made.stdout), lines(&recipe.file("toml")));
    let missing = wanted.iter().filter(|line| !draft.contains(line)).count();
    let more = draft.iter().filter(|line| !wanted.contains(line)).count();
    assert!(missing.max(more) <= 5, "{}: {missing} and {more}\n{}", recipe.name, made.stdout);
    assert!(made.stderr.contains(&format!("docs/recipes/{}.md", recipe.name)), "{}", made.stderr);
    assert!(made.stderr.contains("claims are exclusive"), "check runs:\n{}", made.stderr);
    std::fs::write(sandbox.path("draft.toml"), &made.stdout).unwrap();
    sandbox.run(&["contract", "verify", "draft.toml"]).success();
}

/// The page of a recipe prints the file that is tested.
#[test]
fn each_recipes_page_has_its_contract() {
    for recipe in records::ALL.into_iter().chain(mails::ALL) {
        let page = recipe.file("md");
        assert!(page.contains(&format!("```toml\n{}```", recipe.file("toml"))), "{}.md", recipe.name);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_draft_of_each_recipe_differs_in_at_most_five_lines() {
    for recipe in records::ALL.into_iter().chain(mails::ALL) {
        drafted(recipe).await;
    }
}

/// PostgreSQL folds names that are not quoted: the table is not taken for a missing one.
#[tokio::test(flavor = "multi_thread")]
async fn a_name_in_another_case_is_found() {
    let (sandbox, _) = records::ALL[0].installed("url = \"file:out\"").await;
    let made = sandbox.run(&["contract", "draft", "--table", "TXNO_OUTBOX", "--yes"]).code(1);
    assert!(made.stderr.contains("there is txno_outbox"), "{}", made.stderr);
}

const JOBS: &str = "CREATE TABLE jobs (id integer PRIMARY KEY, url text NOT NULL, body text, state text NOT NULL, \
                    tries integer NOT NULL DEFAULT 0, run_at text, taken_at text, last_error text, created_at text NOT NULL);
INSERT INTO jobs (url, body, state, created_at) VALUES ('https://example.com', '{}', 'new', '2026-01-01 00:00:00');
INSERT INTO jobs (url, body, state, created_at) VALUES ('https://example.com', '{}', 'delivered', '2026-01-01 00:00:00');
INSERT INTO jobs (url, body, state, created_at) VALUES ('https://example.com', '{}', 'expired', '2026-01-01 00:00:00')";

async fn jobs() -> Sandbox {
    let sandbox = Sandbox::new(Some(SQLITE));
    let pool = sandbox.sql_creating().await;
    sqlx::raw_sql(JOBS).execute(&pool).await.unwrap();
    sandbox
}

#[tokio::test]
async fn a_draft_of_a_table_that_nobody_knows() {
    let sandbox = jobs().await;
    let words =
        ["contract", "draft", "--store", "main", "--table", "jobs", "--for", "webhook", "--yes", "--output"];
    let made = sandbox.run(&[&words[..], &["jobs.toml"]].concat()).success();
    assert_eq!(made.stdout, "");
    let text = std::fs::read_to_string(sandbox.path("jobs.toml")).unwrap();
    for line in [
        "ready     = \"new\"",
        "delivered = \"delivered\"",
        "url     = \"url\"",
        "# Left alone: expired (1 of",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    assert!(text.contains("# QUESTION 1: which value of state has rows that failed permanently?"), "{text}");
    assert!(made.stderr.contains("1 question(s) were left open"), "{}", made.stderr);
    sandbox.run(&["contract", "verify", "jobs.toml"]).success();
    let again = sandbox.run(&[&words[..], &["jobs.toml"]].concat()).code(1);
    assert!(again.stderr.contains("cannot write jobs.toml"), "{}", again.stderr);
}

#[tokio::test]
async fn a_draft_as_json() {
    let sandbox = jobs().await;
    let made = sandbox.run(&["contract", "draft", "--table", "jobs", "--json"]).success();
    assert_eq!(made.stderr, "");
    let object = &made.json()[0];
    assert_eq!((&object["table"], &object["valid"]), (&"jobs".into(), &true.into()));
    assert_eq!(object["questions"][0]["key"], "dead");
    assert!(object["findings"].as_array().is_some_and(|findings| !findings.is_empty()));
    let missing = sandbox.run(&["contract", "draft", "--table", "nothing", "--yes"]).code(2);
    assert!(missing.stderr.contains("has no table `nothing`"), "{}", missing.stderr);
    let wrong = sandbox.run(&["contract", "draft", "--store", "mian", "--table", "jobs"]).code(2);
    assert!(wrong.stderr.contains("did you mean `main`"), "{}", wrong.stderr);
}
