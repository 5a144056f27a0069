//! The commands, one file each. Data goes to stdout, everything else to stderr.

mod account;
mod bench;
pub mod check;
mod completions;
mod contract;
mod draft;
mod key;
mod list;
mod manual;
mod migrate;
mod moves;
mod pause;
mod preview;
mod purge;
mod run;
mod secret;
mod send;
mod settings;
mod show;
mod status;
mod suppress;
mod template;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use postrider_seams::inspect::OperatorAction;
use postrider_seams::migrate::MigrateOptions;
use postrider_seams::{queue, store, transport};
use postrider_secrets::Keyring;

use crate::api;
use crate::cli::{Cli, Command};
use crate::demo;
use crate::failure::Failure;
use crate::settings::{LaneSettings, Settings, Sources};
use crate::wiring::{LaneTable, MissingFile, StoreKind, Wiring};

/// Runs the command of the command line.
pub async fn run_command(cli: Cli) -> Result<(), Failure> {
    let Cli { config, command, .. } = cli;
    match command {
        Command::Demo(args) => Box::pin(demo::run(&args)).await,
        Command::Settings { json } => settings::run(json),
        Command::Completions(args) => completions::run(&args),
        Command::Manual { folder } => manual::run(&folder),
        Command::Contract(command) => contract::run(config, &command).await,
        Command::Secret(command) => secret::run(&command),
        Command::Key(command) => key::run(&CommandContext::open(config)?, &command).await,
        Command::Account(command) => {
            account::run(&CommandContext::open_with_tables(config).await?, command).await
        }
        Command::Run(args) => {
            Box::pin(run::run(CommandContext::open_with_tables(config).await?, &args)).await
        }
        Command::Migrate(args) => migrate::run(config, &args).await,
        Command::Bench(args) => bench::run(&CommandContext::open(config)?, &args).await,
        Command::Check(args) => check::run(&CommandContext::open(config)?, &args).await,
        Command::Status(args) => status::run(&CommandContext::open(config)?, &args).await,
        Command::List(args) => list::run(&CommandContext::open(config)?, &args).await,
        Command::Show(args) => show::run(&CommandContext::open(config)?, &args).await,
        Command::Preview(args) => preview::run(&CommandContext::open(config)?, &args).await,
        Command::Requeue(args) => {
            moves::run(&CommandContext::open(config)?, &args, OperatorAction::Requeue).await
        }
        Command::Cancel(args) => {
            moves::run(&CommandContext::open(config)?, &args, OperatorAction::Cancel).await
        }
        Command::Release(args) => {
            moves::run(&CommandContext::open(config)?, &args, OperatorAction::Release).await
        }
        Command::Pause(args) => pause::run(&CommandContext::open(config)?, &args, true).await,
        Command::Resume(args) => pause::run(&CommandContext::open(config)?, &args, false).await,
        Command::Purge(args) => purge::run(&CommandContext::open(config)?, &args).await,
        Command::Suppress(command) => suppress::run(&CommandContext::open(config)?, &command).await,
        Command::Template(command) => template::run(config, &command),
        Command::Send(command) => send::run(&CommandContext::open_with_tables(config).await?, &command).await,
    }
}

/// Longest wait for a database connection: users of a terminal want a quick answer; `run` waits longer.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// Time limit of a target's probe, which may include a name lookup, a TLS handshake and a login.
const PROBE_TIMEOUT: Duration = Duration::from_secs(3);
const RUN_CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The context of most commands: the settings, and the wiring from a lane to its table.
pub struct CommandContext {
    pub settings: Settings,
    pub wiring: Wiring,
}

impl CommandContext {
    /// Opens the settings for commands that only read; a missing SQLite file is an error.
    pub fn open(config: Option<PathBuf>) -> Result<Self, Failure> {
        Self::open_with(config, MissingFile::Refuse)
    }

    /// Opens the settings; `missing_file` decides about a missing SQLite file.
    pub fn open_with(config: Option<PathBuf>, missing_file: MissingFile) -> Result<Self, Failure> {
        let settings = Settings::load(&Sources::of_process(config))?;
        let wiring = Wiring::new(&settings, missing_file, CONNECT_TIMEOUT)?;
        Ok(Self { settings, wiring })
    }

    /// Opens the settings for `run` and `send`. With the built-in settings alone, it also creates the file
    /// and the tables.
    pub async fn open_with_tables(config: Option<PathBuf>) -> Result<Self, Failure> {
        let settings = Settings::load(&Sources::of_process(config))?;
        let missing_file = if settings.creates_tables { MissingFile::Create } else { MissingFile::Refuse };
        let wiring = Wiring::new(&settings, missing_file, RUN_CONNECT_TIMEOUT)?;
        let context = Self { settings, wiring };
        if context.settings.creates_tables {
            context.create_key_file()?;
            context.create_tables().await?;
        }
        Ok(context)
    }

    /// Creates the file with the key that encrypts the API's secrets, readable by its owner only.
    fn create_key_file(&self) -> Result<(), Failure> {
        use std::io::Write as _;
        use std::os::unix::fs::OpenOptionsExt as _;
        let Some(key) = &self.settings.generated_key_file else { return Ok(()) };
        let path = self.settings.base.join(key);
        match std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
            Ok(mut file) => Ok(writeln!(file, "{}", Keyring::generate_key("k1").reveal())?),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(Failure::Failed(format!("cannot create {}: {error}", path.display()))),
        }
    }

    /// Creates the table of every lane, or adds what it lacks.
    pub async fn create_tables(&self) -> Result<(), Failure> {
        for lane in &self.settings.lanes {
            self.wiring.migration(lane).apply(MigrateOptions::default()).await?;
        }
        api::migrate(self, false, MigrateOptions::default().notify).await?;
        Ok(())
    }

    /// Returns the kind of the lane's store.
    pub fn kind_of(&self, lane: &LaneSettings) -> StoreKind {
        self.settings.stores[&lane.store].kind
    }

    /// Returns the lane of this name; an error lists the lanes that exist.
    pub fn lane(&self, name: &str) -> Result<&LaneSettings, Failure> {
        self.settings.lane(name).map_err(Failure::Misuse)
    }

    /// Returns the lanes of these names; all lanes if `names` is empty.
    pub fn lanes(&self, names: &[String]) -> Result<Vec<&LaneSettings>, Failure> {
        self.settings.lanes_named(names).map_err(Failure::Misuse)
    }

    /// Probes the lane's target, and returns what that shows; the error is the reason.
    pub async fn probe(&self, lane: &LaneSettings) -> Result<transport::Probe, String> {
        let transport = self.wiring.transport(lane).map_err(|failure| failure.to_string())?;
        match tokio::time::timeout(PROBE_TIMEOUT, transport.probe()).await {
            Ok(Ok(())) => Ok(transport.capabilities().probe),
            Ok(Err(transport::Error::Refused(text))) => Err(text),
            Ok(Err(error)) => {
                Err(format!("{error}; check that it runs and that the transport's URL is correct"))
            }
            Err(_) => Err(format!("no answer within {} s; check that it runs", PROBE_TIMEOUT.as_secs())),
        }
    }

    /// Checks the lane's external queue in the same way; `None` if it has no queue.
    pub async fn probe_queue(&self, lane: &LaneSettings) -> Option<Result<(), String>> {
        let queue = match self.wiring.queue(lane) {
            Ok(queue) => queue?,
            Err(failure) => return Some(Err(failure.to_string())),
        };
        Some(match tokio::time::timeout(PROBE_TIMEOUT, queue.probe()).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(queue::Error::Refused(text))) => Err(text),
            Ok(Err(error)) => Err(format!("{error}; check that it runs and that the queue's URL is correct")),
            Err(_) => Err(format!("no answer within {} s; check that it runs", PROBE_TIMEOUT.as_secs())),
        })
    }

    /// Opens the table of the named lane and returns it with the lane's settings.
    pub async fn table(&self, name: &str) -> Result<(&LaneSettings, Arc<dyn LaneTable>), Failure> {
        let lane = self.lane(name)?;
        Ok((lane, self.wiring.open(lane).await?))
    }
}

/// Returns what is wrong with a lane that needs a lock on a store that has none: every instance would claim.
async fn missing_locks(lane: &LaneSettings, table: &dyn LaneTable) -> Result<Option<String>, store::Error> {
    if !lane.limits.single_claimer || table.has_locks().await? {
        return Ok(None);
    }
    let text = "single = true needs a lock, and the database has no table postrider_locks, so that every instance would \
                claim; run `postrider migrate`";
    Ok(Some(text.to_owned()))
}

/// Refuses a state that the lane's contract does not have.
fn check_state(lane: &LaneSettings, state: &str) -> Result<(), Failure> {
    if lane.contract.state_named(state).is_some() {
        return Ok(());
    }
    let states = lane.contract.states.iter().map(|state| state.name.as_str());
    let remedy = crate::settings::suggest(state, states);
    Err(Failure::Misuse(format!("contract `{}` has no state `{state}`{remedy}", lane.contract.name)))
}
