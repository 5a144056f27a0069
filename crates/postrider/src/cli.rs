//! The command line: commands, options and their help texts. The help is also the reference (docs/reference/cli.txt).

mod access;
mod contract;
mod rows;
mod send;
#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum};

pub use access::{AccountCommand, CredentialArgs, KeyCommand, KeyCreateArgs, SecretCommand};
pub use contract::{ContractCommand, DialectName, DraftArgs, PurposeName};
pub use rows::{LaneArgs, ListArgs, MoveArgs, PreviewArgs, ShowArgs};
pub use send::{MailArgs, RecordArgs, SendCommand, WebhookArgs};

/// Deliver the rows of outbox tables: e-mails, webhooks and records for message brokers
#[derive(Debug, Parser)]
#[command(name = "postrider", version, about, arg_required_else_help = true, max_term_width = 100)]
#[command(
    after_help = "Data goes to stdout, everything else to stderr. Exit codes: 0 success, 1 failure, 2 invalid arguments or \
                        settings. Without a settings file: one SQLite file, mails and records in ./outbox."
)]
pub struct Cli {
    /// Settings file [default: ./postrider.toml, or built-in settings if it does not exist]
    #[arg(long, short, global = true, value_name = "FILE", env = "POSTRIDER_CONFIG")]
    pub config: Option<PathBuf>,

    /// Format of the log on stderr; RUST_LOG sets its level
    #[arg(long, global = true, value_enum, default_value_t = LogFormat::Text, env = "POSTRIDER_LOG_FORMAT")]
    pub log_format: LogFormat,

    #[command(subcommand)]
    pub command: Command,
}

impl Cli {
    /// Parses the command line of this process; refuses `--config` for commands that read no settings.
    pub fn of_process() -> Result<Self, clap::Error> {
        Self::parsed(std::env::args_os())
    }

    fn parsed(line: impl IntoIterator<Item = OsString>) -> Result<Self, clap::Error> {
        let mut command = Self::command();
        let matches = command.try_get_matches_from_mut(line)?;
        let cli = Self::from_arg_matches(&matches)?;
        // The variable may be set for other commands.
        let given = matches.value_source("config") == Some(ValueSource::CommandLine);
        if given && !cli.command.reads_settings() {
            let name = matches.subcommand_name().unwrap_or_default();
            let text = format!("`postrider {name}` reads no settings file: leave out --config");
            return Err(command.error(ErrorKind::ArgumentConflict, text));
        }
        Ok(cli)
    }
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
    /// Demonstrate Postrider on a temporary database, with its own mail server, a few hundred mails and signed webhooks; ends automatically
    Demo(DemoArgs),
    /// Create the lanes' tables, or add what is missing in existing ones; never drops or rewrites anything
    Migrate(MigrateArgs),
    /// Compare tables with contracts, probe targets, and print the missing DDL; changes nothing
    Check(CheckArgs),
    /// Show rows by state and the lag of each lane
    Status(StatusArgs),
    /// List a lane's rows, newest first
    List(ListArgs),
    /// Show one row with all its columns
    Show(ShowArgs),
    /// Compose rows and show the messages as they would be sent; claims nothing and sends nothing
    Preview(PreviewArgs),
    /// Requeue rows; each gets all its attempts again
    Requeue(MoveArgs),
    /// Cancel rows; not possible if the contract has no cancelled state
    Cancel(MoveArgs),
    /// Hand claimed rows back before their lease ends, without using an attempt; a worker that still holds one may have delivered it
    Release(MoveArgs),
    /// Pause a lane on every instance; deliveries in progress are finished
    Pause(LaneArgs),
    /// Resume a paused lane, or one that stopped because the first rows of its contract were rejected
    Resume(LaneArgs),
    /// Delete finished rows that are older than their retention, in chunks
    Purge(LaneArgs),
    /// Manage the addresses and domains that get no mail
    #[command(subcommand)]
    Suppress(SuppressCommand),
    /// Draft, list, show and verify contracts, which define what tables mean
    #[command(subcommand)]
    Contract(ContractCommand),
    /// Render and check mail templates, built-in ones and those of a folder
    #[command(subcommand)]
    Template(TemplateCommand),
    /// Write a row into a lane's table, as an application would
    #[command(subcommand)]
    Send(SendCommand),
    /// Encrypt secrets for encrypted:// references
    #[command(subcommand)]
    Secret(SecretCommand),
    /// Manage API keys
    #[command(subcommand)]
    Key(KeyCommand),
    /// Manage service accounts, whose credentials webhooks use
    #[command(subcommand)]
    Account(AccountCommand),
    /// Measure claim and settle on the lanes' databases, in scratch tables, and compare with what the database can do
    Bench(BenchArgs),
    /// Print a settings file with every key, its meaning and its default
    Settings {
        /// Print one JSON object per key
        #[arg(long)]
        json: bool,
    },
    /// Print a completion script for a shell
    Completions(CompletionsArgs),
    /// Write the manual pages, one for each command, into a folder
    Manual {
        /// Folder to write to; created if it does not exist
        folder: PathBuf,
    },
}

impl Command {
    /// Whether the command reads a settings file.
    fn reads_settings(&self) -> bool {
        !matches!(
            self,
            Self::Demo(_)
                | Self::Contract(
                    ContractCommand::List { .. }
                        | ContractCommand::Show { .. }
                        | ContractCommand::Verify { .. }
                        | ContractCommand::Ddl { .. }
                )
                | Self::Secret(_)
                | Self::Settings { .. }
                | Self::Completions(_)
                | Self::Manual { .. }
        )
    }
}

#[derive(Debug, Args)]
pub struct RunArgs {
    /// Address of /healthz, /readyz, /metrics, the API and the console, or `off`; overrides [server] listen
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<String>,
}

#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Number of mails to write
    #[arg(long, default_value_t = 600, value_name = "N", value_parser = clap::value_parser!(u32).range(10..=100_000))]
    pub rows: u32,
}

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own on the command line")]
pub struct MigrateArgs {
    /// Print the statements instead of running them
    #[arg(long)]
    pub print: bool,
    /// Create no trigger that wakes workers at once (PostgreSQL); rows of other programs are then found by polling
    #[arg(long)]
    pub no_notify: bool,
    /// Create that trigger, which is the default
    #[arg(long, conflicts_with = "no_notify")]
    pub notify: bool,
    /// Also create the indexes that let the console search all rows by key, recipient or group
    #[arg(long)]
    pub search: bool,
    /// Only these lanes
    #[arg(value_name = "LANE")]
    pub lanes: Vec<String>,
    /// Print one JSON object per lane
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct BenchArgs {
    /// Number of rows to write, claim and settle
    #[arg(long, default_value_t = 20_000, value_name = "N", value_parser = clap::value_parser!(u64).range(500..=10_000_000))]
    pub rows: u64,
    /// Print one JSON object per result
    #[arg(long)]
    pub json: bool,
    /// Only the stores of these lanes
    #[arg(value_name = "LANE")]
    pub lanes: Vec<String>,
}

#[derive(Debug, Args)]
pub struct CheckArgs {
    /// Print one JSON object per lane
    #[arg(long)]
    pub json: bool,
    /// Only these lanes
    #[arg(value_name = "LANE")]
    pub lanes: Vec<String>,
}

#[derive(Debug, Args)]
pub struct StatusArgs {
    /// Print one JSON object per lane
    #[arg(long)]
    pub json: bool,
    /// Show live status until Ctrl-C, refreshed every SECONDS
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "2", value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub watch: Option<u64>,
}

#[derive(Debug, Subcommand)]
pub enum SuppressCommand {
    /// Send no more mail to addresses or domains; takes effect with the next mail, on every instance
    Add(SuppressAddArgs),
    /// Allow mail to addresses or domains again
    Remove(SuppressRemoveArgs),
    /// List the addresses and domains that get no mail, in alphabetical order
    List(SuppressListArgs),
}

#[derive(Debug, Args)]
pub struct SuppressAddArgs {
    /// Addresses and domains; a domain does not include its subdomains
    #[arg(required = true, value_name = "ADDRESS|DOMAIN")]
    pub entries: Vec<String>,
    /// Reason; it is recorded in the rows that are not sent
    #[arg(long, default_value = "by hand", value_name = "TEXT")]
    pub reason: String,
    /// Store of the list [default: every store that mail lanes use]
    #[arg(long, value_name = "STORE")]
    pub store: Option<String>,
    /// Print one JSON object per entry and store
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct SuppressRemoveArgs {
    /// Addresses and domains to remove
    #[arg(required = true, value_name = "ADDRESS|DOMAIN")]
    pub entries: Vec<String>,
    /// Store of the list [default: every store that mail lanes use]
    #[arg(long, value_name = "STORE")]
    pub store: Option<String>,
    /// Print one JSON object per entry and store
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct SuppressListArgs {
    /// Maximum number of entries
    #[arg(long, default_value_t = 50, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub limit: u32,
    /// Last entry of the previous page
    #[arg(long, value_name = "ENTRY")]
    pub after: Option<String>,
    /// Print one JSON object per entry
    #[arg(long)]
    pub json: bool,
    /// Store of the list [default: the only store that mail lanes use]
    #[arg(long, value_name = "STORE")]
    pub store: Option<String>,
}

#[derive(Debug, Subcommand)]
pub enum TemplateCommand {
    /// Print a rendered template: subject and text, or one part
    Render(RenderArgs),
    /// Check every template: list its parts and variables, and report all mistakes at once
    Check {
        /// Folder of templates [default: the one in the settings]
        folder: Option<PathBuf>,
        /// Print one JSON object per template and locale
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
pub struct RenderArgs {
    /// Template id for its newest version, or ID@VERSION
    pub template: String,
    /// Locale, for example `de` or `de-AT` [default: the one in the settings, or en-US]
    #[arg(long)]
    pub locale: Option<String>,
    /// File with a JSON object of variables; `-` reads stdin [default: the sample that ships with the template]
    #[arg(long, value_name = "FILE")]
    pub variables: Option<PathBuf>,
    /// Print only this part
    #[arg(long, value_enum, conflicts_with = "json")]
    pub part: Option<TemplatePart>,
    /// Folder of templates that override the built-in ones [default: the one in the settings]
    #[arg(long, value_name = "FOLDER")]
    pub templates: Option<PathBuf>,
    /// Print one JSON object
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
    /// Shell to print the script for
    pub shell: clap_complete::Shell,
}
