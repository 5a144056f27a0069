//! `contract draft`: drafts a contract from an existing table, and checks the result. Changes nothing.

use std::io::{BufRead, IsTerminal as _, Write};
use std::path::{Path, PathBuf};

use postrider_composers::message;
use postrider_config::Mistakes;
use postrider_contract::Contract;
use postrider_draft::{Answers, Draft, Purpose, Question, draft};
use postrider_seams::TableDescription;
use postrider_seams::inspect::{Finding, Level};
use postrider_seams::migrate::MigrateOptions;
use serde_json::json;

use super::{CONNECT_TIMEOUT, check};
use crate::cli::{DraftArgs, PurposeName};
use crate::failure::Failure;
use crate::output::line;
use crate::settings::{Settings, Sources, suggest};
use crate::wiring::{MissingFile, Wiring};

/// How messages call a draft that is not in a file.
const UNNAMED: &str = "the draft";

/// Prints a draft of the table's contract, and what `verify` and `check` find in it.
pub async fn run(config: Option<PathBuf>, args: &DraftArgs) -> Result<(), Failure> {
    let settings = Settings::load_without_lanes(&Sources::of_process(config))?;
    let store = store(&settings, args.store.as_deref())?;
    let wiring = Wiring::new(&settings, MissingFile::Refuse, CONNECT_TIMEOUT)?;
    let Some(table) = wiring.describe(store, &args.table).await? else {
        return Err(Failure::Misuse(format!("store `{store}` has no table `{}`", args.table)));
    };
    let draft = made(&table, args)?;
    let origin = args.output.as_deref().map_or(UNNAMED.to_owned(), |file| file.display().to_string());
    if let Some(file) = &args.output {
        write_new(file, &draft.text)?;
    } else if !args.json {
        std::io::stdout().write_all(draft.text.as_bytes())?;
    }
    let checked = verified(&origin, &draft.text);
    let findings = match &checked {
        Ok(contract) => findings(&wiring, store, contract).await,
        Err(_) => Vec::new(),
    };
    if args.json {
        line(object(&draft, &table, &checked, &findings))?;
    } else {
        print_findings(&draft, &checked, &findings)?;
    }
    if checked.is_ok() { Ok(()) } else { Err(Failure::Reported) }
}

/// Returns the named store, or the only one.
fn store<'a>(settings: &'a Settings, name: Option<&str>) -> Result<&'a str, Failure> {
    let mut names = settings.stores.keys().map(String::as_str);
    let all = || settings.stores.keys().map(String::as_str);
    let Some(name) = name else {
        return match (names.next(), names.next()) {
            (Some(only), None) => Ok(only),
            (None, _) => Err(Failure::Misuse("there is no store: add [stores.NAME] with a url".to_owned())),
            (Some(first), Some(_)) => {
                Err(Failure::Misuse(format!("there are several stores: add --store {first}")))
            }
        };
    };
    all()
        .find(|known| *known == name)
        .ok_or_else(|| Failure::Misuse(format!("no [stores.{name}]{}", suggest(name, all()))))
}

/// Drafts the contract; on a terminal asks what it could not decide, and drafts again.
fn made(table: &TableDescription, args: &DraftArgs) -> Result<Draft, Failure> {
    let purpose = args.purpose.map(|name| match name {
        PurposeName::Mail => Purpose::Mail,
        PurposeName::Record => Purpose::Record,
        PurposeName::Webhook => Purpose::Webhook,
    });
    let mut answers = Answers::new();
    let first = draft(table, purpose, &answers);
    let asks = !args.yes && !args.json && std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    if !asks {
        return Ok(first);
    }
    let (mut input, mut output) = (std::io::stdin().lock(), std::io::stderr());
    ask_all(table, purpose, &mut answers, &mut input, &mut output)
}

/// Asks question after question: an answer may raise others. An empty line leaves a question open.
fn ask_all(
    table: &TableDescription,
    purpose: Option<Purpose>,
    answers: &mut Answers,
    input: &mut impl BufRead,
    output: &mut impl Write,
) -> Result<Draft, Failure> {
    let mut left_open: Vec<&str> = Vec::new();
    loop {
        let made = draft(table, purpose, answers);
        let open =
            |question: &&Question| !left_open.contains(&question.key) && !answers.contains_key(question.key);
        let Some(question) = made.questions.iter().find(open) else { return Ok(made) };
        let key = question.key;
        match ask(question, input, output)? {
            Some(answer) => drop(answers.insert(key, answer)),
            None => left_open.push(key),
        }
    }
}

fn ask(
    question: &Question,
    input: &mut impl BufRead,
    output: &mut impl Write,
) -> Result<Option<String>, Failure> {
    writeln!(output, "{}", question.text)?;
    if !question.choices.is_empty() {
        writeln!(output, "  possible: {}", question.choices.join(", "))?;
    }
    write!(output, "  answer (Enter: leave it open): ")?;
    output.flush()?;
    let mut answer = String::new();
    input.read_line(&mut answer)?;
    Ok(Some(answer.trim().to_owned()).filter(|answer| !answer.is_empty()))
}

fn write_new(file: &Path, text: &str) -> Result<(), Failure> {
    let created = std::fs::OpenOptions::new().write(true).create_new(true).open(file);
    let written = created.and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| Failure::Failed(format!("cannot write {}: {error}", file.display())))
}

/// What `contract verify` does.
fn verified(origin: &str, text: &str) -> Result<Contract, Mistakes> {
    let contract = Contract::parse(origin, text)?;
    Mistakes::check(message::verify(&contract, origin))?;
    Ok(contract)
}

/// What `check` says of the table.
async fn findings(wiring: &Wiring, store: &str, contract: &Contract) -> Vec<Finding> {
    let verified = match wiring.open_on(store, contract.clone(), 0, &contract.name).await {
        Ok(table) => table.verify().await,
        Err(error) => Err(error),
    };
    match verified {
        Ok(findings) => findings,
        Err(error) => {
            let migration = wiring.migration_on(store, contract.clone());
            let plan = migration.plan(MigrateOptions::default()).await.unwrap_or_default();
            let fix = Some(plan.join(";\n")).filter(|plan| !plan.is_empty());
            vec![Finding { level: Level::Error, text: error.to_string(), fix }]
        }
    }
}

fn object(
    draft: &Draft,
    table: &TableDescription,
    checked: &Result<Contract, Mistakes>,
    findings: &[Finding],
) -> serde_json::Value {
    let question = |question: &Question| json!({ "key": question.key, "text": question.text, "choices": question.choices });
    let mistakes: Vec<String> = checked
        .as_ref()
        .err()
        .into_iter()
        .flat_map(|mistakes| mistakes.iter().map(ToString::to_string))
        .collect();
    json!({
        "table": table.path(), "layout": draft.layout, "text": draft.text, "valid": checked.is_ok(),
        "questions": draft.questions.iter().map(question).collect::<Vec<_>>(), "mistakes": mistakes,
        "findings": findings.iter().map(check::finding_json).collect::<Vec<_>>(),
    })
}

fn print_findings(
    draft: &Draft,
    checked: &Result<Contract, Mistakes>,
    findings: &[Finding],
) -> Result<(), Failure> {
    let mut out = std::io::stderr().lock();
    match (&draft.layout, draft.questions.len()) {
        (Some(layout), _) => writeln!(out, "the layout is known: docs/recipes/{layout}.md")?,
        (None, 0) => writeln!(out, "nothing was left open")?,
        (None, open) => writeln!(out, "{open} question(s) were left open: they are at the top of the draft")?,
    }
    match checked {
        Ok(contract) => writeln!(out, "contract {} is valid; check says of its table:", contract.name)?,
        Err(mistakes) => writeln!(out, "the draft is not valid yet:\n{mistakes}")?,
    }
    check::print_findings(&mut out, findings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use postrider_seams::table::ColumnDescription;

    fn table() -> TableDescription {
        let column = |name: &str, sql_type: &str| ColumnDescription {
            name: name.to_owned(),
            sql_type: sql_type.to_owned(),
            ..ColumnDescription::default()
        };
        TableDescription {
            name: "jobs".to_owned(),
            columns: vec![
                column("id", "bigint"),
                column("state", "integer"),
                column("tries", "integer"),
                column("run_at", "timestamp"),
                column("subject_line", "text"),
                column("body", "text"),
            ],
            unique: vec![vec!["id".to_owned()]],
            ..TableDescription::default()
        }
    }

    #[test]
    fn questions_are_asked_until_none_is_left() {
        let mut answers = Answers::new();
        let mut output = Vec::new();
        let typed = "subject_line\n0\n\n8\n";
        let made = ask_all(&table(), None, &mut answers, &mut typed.as_bytes(), &mut output).unwrap();
        let asked = String::from_utf8(output).unwrap();
        assert_eq!(asked.matches("answer (Enter").count(), 4, "{asked}");
        assert!(made.text.contains("topic   = \"subject_line\""), "{}", made.text);
        assert!(made.text.contains("failed = 8"), "{}", made.text);
        let open: Vec<&str> = made.questions.iter().map(|question| question.key).collect();
        assert_eq!(open, ["delivered"], "{asked}");
        verified("test", &made.text).unwrap_or_else(|mistakes| panic!("{mistakes}\n{}", made.text));
    }
}
