//! The command line: what may be written, and what it means. The help texts are the reference (docs/reference/cli.txt).

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

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
    Requeue(RequeueArgs),
    /// Cancel rows, where the contract has a cancelled state
    Cancel(CancelArgs),
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
pub struct MigrateArgs {
    /// Print the statements instead of running them
    #[arg(long)]
    pub print: bool,
    /// Also the trigger that wakes workers at once (PostgreSQL)
    #[arg(long)]
    pub notify: bool,
    /// Only these lanes
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

#[derive(Debug, Args)]
pub struct LaneArgs {
    pub lane: String,
}

#[derive(Debug, Args)]
pub struct ListArgs {
    pub lane: String,
    /// Only rows in this state
    #[arg(long, value_name = "STATE")]
    pub state: Option<String>,
    /// At most this many rows
    #[arg(long, default_value_t = 50, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub limit: u32,
    /// Where the page before ended
    #[arg(long, value_name = "CURSOR")]
    pub after: Option<String>,
    /// One JSON object a row
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct ShowArgs {
    pub lane: String,
    pub id: String,
    /// One JSON object
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct RequeueArgs {
    pub lane: String,
    /// The rows' ids
    #[arg(required_unless_present = "state", conflicts_with = "state")]
    pub ids: Vec<String>,
    /// All rows in this state
    #[arg(long, value_name = "STATE")]
    pub state: Option<String>,
    /// Only those that changed within this time: 30m, 12h, 7d
    #[arg(long, value_name = "AGE", requires = "state")]
    pub since: Option<String>,
}

#[derive(Debug, Args)]
pub struct CancelArgs {
    pub lane: String,
    /// The rows' ids
    #[arg(required = true)]
    pub ids: Vec<String>,
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
}

#[derive(Debug, Args)]
pub struct SuppressRemoveArgs {
    #[arg(required = true, value_name = "ADDRESS|DOMAIN")]
    pub entries: Vec<String>,
    /// Whose list [default: of every store that mail lanes use]
    #[arg(long, value_name = "STORE")]
    pub store: Option<String>,
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
    List,
    /// Print a built-in contract's TOML
    Show { name: String },
    /// Check a contract file; every mistake at once
    Verify { file: PathBuf },
    /// Print the DDL of a contract's table (a built-in name or a file)
    Ddl {
        name: String,
        #[arg(long, value_enum)]
        dialect: DialectName,
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
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TemplatePart {
    Subject,
    Html,
    Text,
}

#[derive(Debug, Subcommand)]
pub enum SendCommand {
    /// A mail
    Mail(MailArgs),
    /// A record for a broker
    Record(RecordArgs),
    /// A webhook
    Webhook(WebhookArgs),
}

#[derive(Debug, Args)]
pub struct MailArgs {
    /// The lane to write to [default: the only one that sends mail]
    #[arg(long)]
    pub lane: Option<String>,
    #[arg(long, required = true, value_name = "ADDRESS")]
    pub to: Vec<String>,
    #[arg(long, value_name = "ADDRESS")]
    pub cc: Vec<String>,
    #[arg(long, value_name = "ADDRESS")]
    pub bcc: Vec<String>,
    #[arg(long, value_name = "ADDRESS")]
    pub from: Option<String>,
    #[arg(long)]
    pub subject: String,
    /// The text body; `-` reads it from stdin
    #[arg(long, required_unless_present = "html")]
    pub text: Option<String>,
    /// The HTML body
    #[arg(long)]
    pub html: Option<String>,
    /// The same key twice is one mail
    #[arg(long, value_name = "KEY")]
    pub idempotency_key: Option<String>,
}

#[derive(Debug, Args)]
pub struct RecordArgs {
    /// The lane to write to [default: the only one that publishes records]
    #[arg(long)]
    pub lane: Option<String>,
    /// The topic, subject, routing key or queue
    #[arg(long)]
    pub topic: String,
    /// Records of one key stay in order
    #[arg(long)]
    pub key: Option<String>,
    /// The payload; `-` reads it from stdin
    #[arg(long)]
    pub payload: String,
    /// The W3C trace that the record belongs to
    #[arg(long, value_name = "TRACE")]
    pub traceparent: Option<String>,
    /// The same key twice is one record
    #[arg(long, value_name = "KEY")]
    pub idempotency_key: Option<String>,
}

#[derive(Debug, Args)]
pub struct WebhookArgs {
    /// Where it is posted
    pub url: String,
    /// The body; `-` reads it from stdin
    #[arg(long)]
    pub payload: String,
    /// What it is about, such as shop:orders:order:created
    #[arg(long)]
    pub code: String,
    /// The lane to write to [default: the only one that posts webhooks]
    #[arg(long)]
    pub lane: Option<String>,
    /// The body's type [default: application/json]
    #[arg(long, value_name = "TYPE")]
    pub content_type: Option<String>,
    /// A header, NAME=VALUE; may be repeated
    #[arg(long = "header", value_name = "NAME=VALUE")]
    pub headers: Vec<String>,
    /// The service account whose credentials it carries
    #[arg(long, value_name = "ID")]
    pub account: Option<String>,
    /// Seconds for one attempt [default: 30]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..=3600))]
    pub timeout: Option<u32>,
    /// A CloudEvents envelope around the payload
    #[arg(long)]
    pub envelope: bool,
    /// The aggregate that it is about
    #[arg(long)]
    pub subject: Option<String>,
    /// Where it comes from
    #[arg(long)]
    pub source: Option<String>,
}

#[derive(Debug, Subcommand)]
pub enum AccountCommand {
    /// Make one; a signing secret is made too, and shown this once, unless references are given
    Create {
        /// Its unique code
        code: String,
        /// What people call it [default: its code]
        #[arg(long)]
        name: Option<String>,
        /// A client whose jobs may use it; may be repeated [default: all]
        #[arg(long = "client", value_name = "ID")]
        clients: Vec<String>,
        #[command(flatten)]
        credentials: CredentialArgs,
    },
    /// Give it a new signing secret, or new references; the old secret stays valid for 24 hours, and both sign
    Regenerate {
        /// Its id
        id: String,
        #[command(flatten)]
        credentials: CredentialArgs,
    },
}

#[derive(Debug, Args)]
pub struct CredentialArgs {
    /// Where the signing secret is, such as env://SIGNING_SECRET
    #[arg(long, value_name = "REFERENCE")]
    pub signing: Option<String>,
    /// Where the token of `Authorization: Bearer` is
    #[arg(long, value_name = "REFERENCE", conflicts_with = "basic")]
    pub bearer: Option<String>,
    /// Where user:password of `Authorization: Basic` is
    #[arg(long, value_name = "REFERENCE")]
    pub basic: Option<String>,
}

#[derive(Debug, Subcommand)]
pub enum SecretCommand {
    /// Print a fresh key for POSTRIDER_SECRET_KEY, or for the file that POSTRIDER_SECRET_KEY_FILE names
    Key {
        /// What the key is called; references hold this name
        #[arg(default_value = "k1")]
        id: String,
    },
    /// Read a secret from stdin and print its encrypted:// reference
    Encrypt,
    /// Read encrypted:// references from stdin, one a line, and print each sealed with the first key
    Reencrypt,
}

#[derive(Debug, Subcommand)]
pub enum KeyCommand {
    /// Make a key and print it; it is shown this once
    Create(KeyCreateArgs),
    /// Every key, never what it opens with
    List {
        /// One JSON object a key
        #[arg(long)]
        json: bool,
    },
    /// End keys at once
    Revoke {
        #[arg(required = true, value_name = "ID")]
        ids: Vec<String>,
    },
}

#[derive(Debug, Args)]
pub struct KeyCreateArgs {
    /// What it is for
    pub name: String,
    /// What it may do: each may do what those before it may
    #[arg(long, value_name = "ROLE", value_parser = ["viewer", "producer", "operator", "admin"])]
    pub role: String,
    /// A client whose things it may see; again for more [default: all]
    #[arg(long = "client", value_name = "CLIENT")]
    pub clients: Vec<String>,
    /// When it ends: 2027-01-31T09:30:00Z
    #[arg(long, value_name = "TIME")]
    pub expires_at: Option<String>,
}

#[derive(Debug, Args)]
pub struct CompletionsArgs {
    pub shell: clap_complete::Shell,
}
