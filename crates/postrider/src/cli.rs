//! The command line: what may be written, and what it means. The help texts are the reference (docs/reference/cli.txt).

mod access;
mod rows;
mod send;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub use access::{AccountCommand, CredentialArgs, KeyCommand, KeyCreateArgs, SecretCommand};
pub use rows::{LaneArgs, ListArgs, MoveArgs, ShowArgs};
pub use send::{MailArgs, RecordArgs, SendCommand, WebhookArgs};

/// Drains outbox tables: delivers the rows that an application wrote, and never loses one.
#[derive(Debug, Parser)]
#[command(name = "postrider", version, about, arg_required_else_help = true, max_term_width = 100)]
#[command(
    after_help = "Data goes to stdout, the rest to stderr. Exit codes: 0 fine, 1 failed, 2 misuse (arguments or \
                        settings). With no settings file: one SQLite file, mails and records to ./outbox."
)]
pub struct Cli {
    /// The settings file [default: ./postrider.toml, or built-in settings if there is none]
    #[arg(long, short, global = true, value_name = "FILE", env = "POSTRIDER_CONFIG")]
    pub config: Option<PathBuf>,

    /// How logs are written (to stderr); RUST_LOG chooses which
    #[arg(long, global = true, value_enum, default_value_t = LogFormat::Text, env = "POSTRIDER_LOG_FORMAT")]
    pub log_format: LogFormat,

    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    Text,
    Json,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run all lanes and the HTTP listener until SIGTERM or SIGINT
    Run(RunArgs),
    /// Show it all working: a temporary database, a mail server of our own, some hundred mails, signed webhooks; ends by itself
    Demo(DemoArgs),
    /// Create the lanes' tables, or add what existing ones lack; never drops or rewrites
    Migrate(MigrateArgs),
    /// Compare tables with contracts, probe targets, and print the DDL that is missing; changes nothing
    Check(CheckArgs),
    /// Rows by state and how far behind each lane is
    Status(StatusArgs),
    /// List a lane's rows, newest first
    List(ListArgs),
    /// Show one row, all its columns
    Show(ShowArgs),
    /// Put rows back to be tried, with a fresh budget of attempts
    Requeue(MoveArgs),
    /// Cancel rows, where the contract has a cancelled state
    Cancel(MoveArgs),
    /// Hand claimed rows back before their lease ends, unspent; a worker that still holds one may have delivered it
    Release(MoveArgs),
    /// Stop a lane from claiming, on every instance; what is under way is finished
    Pause(LaneArgs),
    /// Let a paused lane go on
    Resume(LaneArgs),
    /// Delete finished rows that are past their retention, in chunks
    Purge(LaneArgs),
    /// Addresses and domains that get no mail any more
    #[command(subcommand)]
    Suppress(SuppressCommand),
    /// Contracts: what tables mean
    #[command(subcommand)]
    Contract(ContractCommand),
    /// Mail templates: the shipped ones, and those of a folder
    #[command(subcommand)]
    Template(TemplateCommand),
    /// Write a row into a lane's table, as an application would
    #[command(subcommand)]
    Send(SendCommand),
    /// Secrets in references: encrypted://, sealed with a key of yours
    #[command(subcommand)]
    Secret(SecretCommand),
    /// Keys of the HTTP API
    #[command(subcommand)]
    Key(KeyCommand),
    /// Service accounts, whose credentials webhooks carry
    #[command(subcommand)]
    Account(AccountCommand),
    /// Measure claim and settle on the lanes' own databases, with scratch tables, beside what the database itself can do
    Bench(BenchArgs),
    /// Print a settings file with every key, its meaning and its default
    Settings {
        /// One JSON object a key
        #[arg(long)]
        json: bool,
    },
    /// Print a completion script for a shell
    Completions(CompletionsArgs),
    /// Write the manual pages, one for each command, into a folder
    Manual { folder: PathBuf },
}

#[derive(Debug, Args)]
pub struct RunArgs {
    /// Where to answer /healthz, /readyz and /metrics, or `off`; wins over [server] listen
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<String>,
}

#[derive(Debug, Args)]
pub struct DemoArgs {
    /// How many mails to write
    #[arg(long, default_value_t = 600, value_name = "N", value_parser = clap::value_parser!(u32).range(10..=100_000))]
    pub rows: u32,
}

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own on the command line")]
pub struct MigrateArgs {
    /// Print the statements instead of running them
    #[arg(long)]
    pub print: bool,
    /// Also the trigger that wakes workers at once (PostgreSQL)
    #[arg(long)]
    pub notify: bool,
    /// Also the indexes by which the console finds rows of any age by their key, recipient or group
    #[arg(long)]
    pub search: bool,
    /// Only these lanes
    #[arg(value_name = "LANE")]
    pub lanes: Vec<String>,
    /// One JSON object a lane
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct BenchArgs {
    /// How many rows to write, claim and settle
    #[arg(long, default_value_t = 20_000, value_name = "N", value_parser = clap::value_parser!(u64).range(500..=10_000_000))]
    pub rows: u64,
    /// One JSON object a figure
    #[arg(long)]
    pub json: bool,
    /// Only the stores of these lanes
    #[arg(value_name = "LANE")]
    pub lanes: Vec<String>,
}

#[derive(Debug, Args)]
pub struct CheckArgs {
    /// One JSON object a lane
    #[arg(long)]
    pub json: bool,
    /// Only these lanes
    #[arg(value_name = "LANE")]
    pub lanes: Vec<String>,
}

#[derive(Debug, Args)]
pub struct StatusArgs {
    /// One JSON object a lane
    #[arg(long)]
    pub json: bool,
    /// Go on looking, every so many seconds, until Ctrl-C
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "2", value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub watch: Option<u64>,
}

#[derive(Debug, Subcommand)]
pub enum SuppressCommand {
    /// Send no more mail to these; takes effect with the next mail, on every instance
    Add(SuppressAddArgs),
    /// Let these get mail again
    Remove(SuppressRemoveArgs),
    /// Who gets no mail, in the order of the alphabet
    List(SuppressListArgs),
}

#[derive(Debug, Args)]
pub struct SuppressAddArgs {
    /// Addresses and domains; a domain is that one alone, not those below it
    #[arg(required = true, value_name = "ADDRESS|DOMAIN")]
    pub entries: Vec<String>,
    /// Why; rows that it concerns say so
    #[arg(long, default_value = "by hand", value_name = "TEXT")]
    pub reason: String,
    /// Whose list [default: of every store that mail lanes use]
    #[arg(long, value_name = "STORE")]
    pub store: Option<String>,
    /// One JSON object an entry and store
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct SuppressRemoveArgs {
    #[arg(required = true, value_name = "ADDRESS|DOMAIN")]
    pub entries: Vec<String>,
    /// Whose list [default: of every store that mail lanes use]
    #[arg(long, value_name = "STORE")]
    pub store: Option<String>,
    /// One JSON object an entry and store
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct SuppressListArgs {
    /// At most this many entries
    #[arg(long, default_value_t = 50, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub limit: u32,
    /// Where the page before ended
    #[arg(long, value_name = "ENTRY")]
    pub after: Option<String>,
    /// One JSON object an entry
    #[arg(long)]
    pub json: bool,
    /// Whose list [default: of the only store that mail lanes use]
    #[arg(long, value_name = "STORE")]
    pub store: Option<String>,
}

#[derive(Debug, Subcommand)]
pub enum ContractCommand {
    /// The built-in contracts
    List {
        /// One JSON object a contract
        #[arg(long)]
        json: bool,
    },
    /// Print a built-in contract's TOML
    Show {
        name: String,
        /// The whole contract as one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Check a contract file; every mistake at once
    Verify {
        file: PathBuf,
        /// One JSON object; mistakes as one on stderr
        #[arg(long)]
        json: bool,
    },
    /// Print the DDL of a contract's table (a built-in name or a file)
    Ddl {
        name: String,
        #[arg(long, value_enum)]
        dialect: DialectName,
        /// One JSON object
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

#[derive(Debug, Subcommand)]
pub enum TemplateCommand {
    /// Print what a template comes to: subject and text, or one part
    Render(RenderArgs),
    /// Read every template, list what each has and needs, and tell every mistake at once
    Check {
        /// The folder [default: that of the settings]
        folder: Option<PathBuf>,
        /// One JSON object a template and locale
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
pub struct RenderArgs {
    /// `id`, the newest version, or `id@version`
    pub template: String,
    #[arg(long)]
    pub locale: Option<String>,
    /// A JSON object; `-` reads it from stdin [default: the shipped sample]
    #[arg(long, value_name = "FILE")]
    pub variables: Option<PathBuf>,
    /// Only this part
    #[arg(long, value_enum)]
    pub part: Option<TemplatePart>,
    /// A folder of templates over the shipped ones [default: that of the settings]
    #[arg(long, value_name = "FOLDER")]
    pub templates: Option<PathBuf>,
    /// One JSON object
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TemplatePart {
    Subject,
    Html,
    Text,
}

#[derive(Debug, Args)]
pub struct CompletionsArgs {
    pub shell: clap_complete::Shell,
}
