//! Arguments of the commands about contracts.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

#[derive(Debug, Subcommand)]
pub enum ContractCommand {
    /// Draft a contract from an existing table; changes nothing
    Draft(DraftArgs),
    /// List the built-in contracts
    List {
        /// Print one JSON object per contract
        #[arg(long)]
        json: bool,
    },
    /// Print the TOML of a built-in contract
    Show {
        /// Name of the contract
        name: String,
        /// Print the whole contract as one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Check a contract file and report all mistakes at once
    Verify {
        /// Contract file to check
        file: PathBuf,
        /// Print one JSON object; mistakes are one JSON object on stderr
        #[arg(long)]
        json: bool,
    },
    /// Print the DDL of a contract's table
    Ddl {
        /// Name of a built-in contract, or a contract file
        name: String,
        /// Database to print it for
        #[arg(long, value_enum)]
        dialect: DialectName,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DialectName {
    Postgres,
    Mysql,
    Sqlite,
}

#[derive(Debug, Args)]
pub struct DraftArgs {
    /// Table to read: NAME or SCHEMA.NAME
    #[arg(long, value_name = "TABLE")]
    pub table: String,
    /// Store of the table [default: the only store]
    #[arg(long, value_name = "STORE")]
    pub store: Option<String>,
    /// What a row is [default: guessed from the columns]
    #[arg(long = "for", value_enum, value_name = "WHAT")]
    pub purpose: Option<PurposeName>,
    /// Ask nothing, and write the questions into the draft; so it is without a terminal
    #[arg(long)]
    pub yes: bool,
    /// File to write the draft to, which must not exist [default: stdout]
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Print one JSON object with the draft, its questions and its findings
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PurposeName {
    Mail,
    Record,
    Webhook,
}
