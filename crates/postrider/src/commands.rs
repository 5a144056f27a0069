//! One file a command. Data goes to stdout, the rest to stderr.

mod account;
mod bench;
pub mod check;
mod completions;
mod contract;
mod key;
mod list;
mod manual;
mod migrate;
mod moves;
mod pause;
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

use postrider_seams::inspect::Verb;
use postrider_seams::migrate::Options;
use postrider_seams::{queue, transport};
use postrider_secrets::Keyring;

use crate::api;
use crate::cli::{Cli, Command};
use crate::demo;
use crate::failure::Failure;
use crate::settings::{LaneSettings, Settings, Sources};
use crate::wiring::{Absent, Table, Wiring};

/// Does what the command line says.
pub async fn obey(cli: Cli) -> Result<(), Failure> {
    let Cli { config, command, .. } = cli;
    match command {
        Command::Demo(args) => demo::run(&args).await,
        Command::Settings { json } => settings::run(json),
        Command::Completions(args) => completions::run(&args),
        Command::Manual { folder } => manual::run(&folder),
        Command::Contract(command) => contract::run(&command),
        Command::Secret(command) => secret::run(&command),
        Command::Key(command) => key::run(&Desk::open(config)?, &command).await,
        Command::Account(command) => account::run(&Desk::open_ready(config).await?, command).await,
        Command::Run(args) => Box::pin(run::run(Desk::open_ready(config).await?, &args)).await,
        Command::Migrate(args) => migrate::run(config, &args).await,
        Command::Bench(args) => bench::run(&Desk::open(config)?, &args).await,
        Command::Check(args) => check::run(&Desk::open(config)?, &args).await,
        Command::Status(args) => status::run(&Desk::open(config)?, &args).await,
        Command::List(args) => list::run(&Desk::open(config)?, &args).await,
        Command::Show(args) => show::run(&Desk::open(config)?, &args).await,
        Command::Requeue(args) => moves::run(&Desk::open(config)?, &args, Verb::Requeue).await,
        Command::Cancel(args) => moves::run(&Desk::open(config)?, &args, Verb::Cancel).await,
        Command::Release(args) => moves::run(&Desk::open(config)?, &args, Verb::Release).await,
        Command::Pause(args) => pause::run(&Desk::open(config)?, &args, true).await,
        Command::Resume(args) => pause::run(&Desk::open(config)?, &args, false).await,
        Command::Purge(args) => purge::run(&Desk::open(config)?, &args).await,
        Command::Suppress(command) => suppress::run(&Desk::open(config)?, &command).await,
        Command::Template(command) => template::run(config, &command),
        Command::Send(command) => send::run(&Desk::open_ready(config).await?, &command).await,
    }
}

/// Whoever asks at the terminal wants to know soon that a server is away; `run` has more time.
const PATIENCE: Duration = Duration::from_secs(2);
/// A target may have to be looked up, agree on TLS and check a password.
const PROBE: Duration = Duration::from_secs(3);
const LONGER: Duration = Duration::from_secs(5);

/// What most commands need: the settings, and the way from a lane to its table.
pub struct Desk {
    pub settings: Settings,
    pub wiring: Wiring,
}

impl Desk {
    /// For commands that look at what is there.
    pub fn open(config: Option<PathBuf>) -> Result<Self, Failure> {
        Self::open_with(config, Absent::Refuse)
    }

    pub fn open_with(config: Option<PathBuf>, absent: Absent) -> Result<Self, Failure> {
        let settings = Settings::load(&Sources::of_process(config))?;
        let wiring = Wiring::new(&settings, absent, PATIENCE)?;
        Ok(Self { settings, wiring })
    }

    /// For `run` and `send`: where nobody set anything, file and tables are made without being asked for.
    pub async fn open_ready(config: Option<PathBuf>) -> Result<Self, Failure> {
        let settings = Settings::load(&Sources::of_process(config))?;
        let absent = if settings.makes_tables { Absent::Make } else { Absent::Refuse };
        let wiring = Wiring::new(&settings, absent, LONGER)?;
        let desk = Self { settings, wiring };
        if desk.settings.makes_tables {
            desk.make_key()?;
            desk.make_tables().await?;
        }
        Ok(desk)
    }

    /// The key that seals the secrets which the API makes, for us alone to read.
    fn make_key(&self) -> Result<(), Failure> {
        use std::io::Write as _;
        use std::os::unix::fs::OpenOptionsExt as _;
        let Some(key) = &self.settings.own_key else { return Ok(()) };
        let path = self.settings.base.join(key);
        match std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
            Ok(mut file) => Ok(writeln!(file, "{}", Keyring::fresh_key("k1").reveal())?),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(Failure::Failed(format!("cannot create {}: {error}", path.display()))),
        }
    }

    /// Every lane's table, with what it lacks.
    pub async fn make_tables(&self) -> Result<(), Failure> {
        for lane in &self.settings.lanes {
            self.wiring.migration(lane).apply(Options::default()).await?;
        }
        api::migrate(self, false).await?;
        Ok(())
    }

    pub fn lane(&self, name: &str) -> Result<&LaneSettings, Failure> {
        self.settings.lane(name).map_err(Failure::Misuse)
    }

    pub fn lanes(&self, names: &[String]) -> Result<Vec<&LaneSettings>, Failure> {
        self.settings.lanes_named(names).map_err(Failure::Misuse)
    }

    /// Is the lane's target there, and does it accept us? The error says why not.
    pub async fn probe(&self, lane: &LaneSettings) -> Result<(), String> {
        let transport = self.wiring.transport(lane).map_err(|failure| failure.to_string())?;
        match tokio::time::timeout(PROBE, transport.probe()).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(transport::Error::Refused(text))) => Err(text),
            Ok(Err(away)) => {
                Err(format!("{away}; check that it runs and that the transport's URL is correct"))
            }
            Err(_) => Err(format!("no answer within {} s; check that it runs", PROBE.as_secs())),
        }
    }

    /// The same for its external queue; `None` where it has none.
    pub async fn probe_queue(&self, lane: &LaneSettings) -> Option<Result<(), String>> {
        let queue = match self.wiring.queue(lane) {
            Ok(queue) => queue?,
            Err(failure) => return Some(Err(failure.to_string())),
        };
        Some(match tokio::time::timeout(PROBE, queue.probe()).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(queue::Error::Refused(text))) => Err(text),
            Ok(Err(away)) => Err(format!("{away}; check that it runs and that the queue's URL is correct")),
            Err(_) => Err(format!("no answer within {} s; check that it runs", PROBE.as_secs())),
        })
    }

    /// The named lane's settings and its table, opened.
    pub async fn table(&self, name: &str) -> Result<(&LaneSettings, Arc<dyn Table>), Failure> {
        let lane = self.lane(name)?;
        Ok((lane, self.wiring.open(lane).await?))
    }
}

/// Refuses a state that the lane's contract does not have.
fn known_state(lane: &LaneSettings, state: &str) -> Result<(), Failure> {
    if lane.contract.state_named(state).is_some() {
        return Ok(());
    }
    let states = lane.contract.states.iter().map(|state| state.name.as_str());
    let remedy = crate::settings::suggest(state, states);
    Err(Failure::Misuse(format!("contract `{}` has no state `{state}`{remedy}", lane.contract.name)))
}
