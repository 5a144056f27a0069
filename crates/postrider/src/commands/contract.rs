//! `contract`: what there is, what it says, whether it is right, and the table it asks for.

use std::io::Write as _;
use std::path::Path;

use postrider_contract::{Contract, Problems};
use postrider_sql::Dialect;

use crate::cli::{ContractCommand, DialectName};
use crate::failure::Failure;
use crate::settings::{contract_source, listed, suggest};
use crate::table::Table;
use crate::wiring::ComposerKind;

pub fn run(command: &ContractCommand) -> Result<(), Failure> {
    match command {
        ContractCommand::List => list(),
        ContractCommand::Show { name } => show(name),
        ContractCommand::Verify { file } => verify(file),
        ContractCommand::Ddl { name, dialect } => ddl(name, *dialect),
    }
}

fn list() -> Result<(), Failure> {
    let mut table = Table::new(&["name", "version", "table", "stages", "runs here"]);
    for name in Contract::builtin_names() {
        let (file, text) = contract_source(name, Path::new("")).map_err(Failure::Failed)?;
        let contract = Contract::parse(&file, &text).map_err(|problems| wrong(&problems))?;
        let stages: Vec<&str> = contract.stages.iter().map(|stage| stage.name.as_str()).collect();
        let runs = contract.stages.iter().any(|stage| ComposerKind::of(&stage.composer).is_ok());
        table.row(vec![
            name.to_owned(),
            contract.version.to_string(),
            contract.table.name.clone(),
            stages.join(", "),
            if runs { "yes" } else { "not yet" }.to_owned(),
        ]);
    }
    Ok(table.write(&mut std::io::stdout().lock())?)
}

fn show(name: &str) -> Result<(), Failure> {
    let text = Contract::builtin(name).ok_or_else(|| {
        Failure::Misuse(format!(
            "no contract `{name}` is built in{}",
            suggest(name, Contract::builtin_names())
        ))
    })?;
    Ok(std::io::stdout().write_all(text.as_bytes())?)
}

fn verify(file: &Path) -> Result<(), Failure> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| Failure::Misuse(format!("{} can't be read: {error}", file.display())))?;
    let contract =
        Contract::parse(&file.display().to_string(), &text).map_err(|problems| wrong(&problems))?;
    let stages: Vec<&str> = contract.stages.iter().map(|stage| stage.name.as_str()).collect();
    writeln!(
        std::io::stdout(),
        "contract {} {} is sound: {} states, stages {}",
        contract.name,
        contract.version,
        contract.states.len(),
        listed(&stages)
    )?;
    Ok(())
}

fn ddl(name: &str, dialect: DialectName) -> Result<(), Failure> {
    let (file, text) = contract_source(name, Path::new("")).map_err(Failure::Misuse)?;
    let contract = Contract::parse(&file, &text).map_err(|problems| wrong(&problems))?;
    let dialect = match dialect {
        DialectName::Postgres => Dialect::Postgres,
        DialectName::Mysql => Dialect::Mysql,
        DialectName::Sqlite => Dialect::Sqlite,
    };
    let statements =
        postrider_sql::ddl::create(&contract, dialect).map_err(|error| Failure::Failed(error.to_string()))?;
    let mut out = std::io::stdout().lock();
    for statement in statements {
        writeln!(out, "{};\n", statement.trim_end_matches([';', '\n']))?;
    }
    Ok(())
}

/// A contract that is wrong is a failed check, not a misuse of ours: exit code 1.
fn wrong(problems: &Problems) -> Failure {
    let count = problems.iter().count();
    Failure::Failed(format!("the contract is not right\n{problems}\n{count} mistake(s)"))
}
