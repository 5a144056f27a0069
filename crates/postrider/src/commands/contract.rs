//! `contract`: lists, shows and verifies contracts, and prints the tables that they describe.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use postrider_composers::message;
use postrider_config::Mistakes;
use postrider_contract::Contract;
use postrider_sql::Dialect;
use serde_json::json;

use super::draft;
use crate::cli::{ContractCommand, DialectName};
use crate::failure::Failure;
use crate::output::{Output, line};
use crate::settings::{contract_source, listed, suggest};
use crate::text_table::TextTable;
use crate::wiring::ComposerKind;

/// Runs a `contract` command; an invalid contract is an error.
pub async fn run(config: Option<PathBuf>, command: &ContractCommand) -> Result<(), Failure> {
    match command {
        ContractCommand::Draft(args) => draft::run(config, args).await,
        ContractCommand::List { json } => list(*json),
        ContractCommand::Show { name, json } => show(name, *json),
        ContractCommand::Verify { file, json } => verify(file, Output::new(*json)),
        ContractCommand::Ddl { name, dialect, json } => ddl(name, *dialect, *json),
    }
}

fn list(as_json: bool) -> Result<(), Failure> {
    let mut table = TextTable::new(&["name", "version", "table", "stages", "runs here"]);
    for name in Contract::builtin_names() {
        let (file, text) = contract_source(name, Path::new("")).map_err(Failure::Failed)?;
        let contract = Contract::parse(&file, &text)?;
        let stages = stages(&contract);
        let runs = contract.stages.iter().any(|stage| ComposerKind::of(&stage.composer).is_ok());
        if as_json {
            line(json!({
                "name": name, "version": contract.version.to_string(), "table": contract.table.name,
                "stages": stages, "runs": runs,
            }))?;
            continue;
        }
        table.row(vec![
            name.to_owned(),
            contract.version.to_string(),
            contract.table.name.clone(),
            stages.join(", "),
            if runs { "yes" } else { "not yet" }.to_owned(),
        ]);
    }
    if as_json { Ok(()) } else { Ok(table.write(&mut std::io::stdout().lock())?) }
}

fn show(name: &str, as_json: bool) -> Result<(), Failure> {
    let text = Contract::builtin(name).ok_or_else(|| {
        Failure::Misuse(format!(
            "there is no built-in contract `{name}`{}",
            suggest(name, Contract::builtin_names())
        ))
    })?;
    if as_json {
        let whole: toml::Table = toml::from_str(text).map_err(|error| Failure::Failed(error.to_string()))?;
        return line(whole);
    }
    Ok(std::io::stdout().write_all(text.as_bytes())?)
}

fn verify(file: &Path, output: Output) -> Result<(), Failure> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| Failure::Misuse(format!("cannot read {}: {error}", file.display())))?;
    let origin = file.display().to_string();
    let contract = Contract::parse(&origin, &text)?;
    Mistakes::check(message::verify(&contract, &origin))?;
    for old in Contract::old_spellings(&origin, &text) {
        output.note(format_args!("warning: {old}"));
    }
    let (stages, states) = (stages(&contract), contract.states.len());
    let (name, version) = (&contract.name, contract.version.to_string());
    let summary = format!("contract {name} {version} is valid: {states} states, stages {}", listed(&stages));
    let object = json!({
        "contract": name, "version": version, "valid": true, "states": states, "stages": stages,
        // The former name of `valid`, for programs that know only that one.
        "sound": true,
    });
    output.data(object, summary)
}

fn ddl(name: &str, dialect: DialectName, as_json: bool) -> Result<(), Failure> {
    let (file, text) = contract_source(name, Path::new("")).map_err(Failure::Misuse)?;
    let contract = Contract::parse(&file, &text)?;
    let (dialect, called) = match dialect {
        DialectName::Postgres => (Dialect::Postgres, "postgres"),
        DialectName::Mysql => (Dialect::Mysql, "mysql"),
        DialectName::Sqlite => (Dialect::Sqlite, "sqlite"),
    };
    let statements =
        postrider_sql::ddl::create(&contract, dialect).map_err(|error| Failure::Failed(error.to_string()))?;
    if as_json {
        return line(json!({ "contract": contract.name, "dialect": called, "statements": statements }));
    }
    let mut out = std::io::stdout().lock();
    for statement in statements {
        writeln!(out, "{};\n", statement.trim_end_matches([';', '\n']))?;
    }
    Ok(())
}

fn stages(contract: &Contract) -> Vec<&str> {
    contract.stages.iter().map(|stage| stage.name.as_str()).collect()
}
