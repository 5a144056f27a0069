//! Loads the settings: finds the file, applies the variables, and checks the result.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use postrider_config::{Mistake, Node, Place, Report, TableReader, Value};
use postrider_secrets::{Environment, SecretResolver};

use super::backends::{StoreSettings, TransportSettings};
use super::lanes::RawLane;
use super::lookup::lookup;
use super::mail::MailSettings;
use super::mistake::InvalidSettings;
use super::queues::QueueSettings;
use super::reader::{Context, Reader};
use super::server::Server;
use super::{Settings, secret, telemetry, variables};

/// The variables that name the keys of `encrypted://`, and the key file that is used with the built-in settings.
const KEYS: [&str; 2] = ["POSTRIDER_SECRET_KEY", "POSTRIDER_SECRET_KEY_FILE"];
const OWN_KEY: &str = "postrider.key";

const BUILT_IN: &str = include_str!("default.toml");
const BUILT_IN_NAME: &str = "built-in settings";

/// The settings file that is read if none is named.
const FILE_NAME: &str = "postrider.toml";

/// The sources of settings.
#[derive(Debug, Clone)]
pub struct Sources {
    /// `--config` or `POSTRIDER_CONFIG`.
    pub config: Option<PathBuf>,
    /// The working directory.
    pub folder: PathBuf,
    pub variables: Vec<(String, String)>,
}

impl Sources {
    /// The sources of this process: its environment and working directory.
    pub fn of_process(config: Option<PathBuf>) -> Self {
        // A variable that is not UTF-8 is never one of ours.
        let variables = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        Self { config, folder: PathBuf::new(), variables }
    }

    fn variable(&self, name: &str) -> Option<String> {
        self.variables.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
    }

    /// The file to read, if there is one.
    fn file(&self) -> Option<PathBuf> {
        match &self.config {
            Some(file) => Some(self.folder.join(file)),
            None => Some(self.folder.join(FILE_NAME)).filter(|file| file.exists()),
        }
    }
}

impl Settings {
    /// Reads and checks the settings; the error lists every mistake.
    pub fn load(sources: &Sources) -> Result<Self, InvalidSettings> {
        Self::load_with(sources, true)
    }

    /// Reads the settings without the lanes, whose contracts may be yet to write.
    pub fn load_without_lanes(sources: &Sources) -> Result<Self, InvalidSettings> {
        Self::load_with(sources, false)
    }

    fn load_with(sources: &Sources, with_lanes: bool) -> Result<Self, InvalidSettings> {
        let file = sources.file();
        let whole = Place::new(file.as_ref().map_or(BUILT_IN_NAME.into(), |file| file.display().to_string()));
        let mut tree = read(file.as_deref(), &whole)?;
        variables::overlay(&mut tree, &sources.variables);
        if tree.entry("telemetry").is_none() {
            // Standard variables configure telemetry without the table.
            tree.set_at(&["telemetry"], &whole, Value::Table(Vec::new()));
        }
        let base = file.as_deref().and_then(Path::parent).unwrap_or(&sources.folder).to_owned();
        let generated_key_file = (file.is_none()
            && !KEYS.iter().any(|name| sources.variable(name).is_some()))
        .then(|| PathBuf::from(OWN_KEY));
        let named_key = generated_key_file.iter().map(|key| (KEYS[1].to_owned(), key.display().to_string()));
        let environment = Environment::new(sources.variables.iter().cloned().chain(named_key), &base);
        let secrets = Arc::new(SecretResolver::new(environment));
        let follow = |reference: &str| secret::follow(&secrets, reference);
        let report = Report::new(&tree);
        let variable = |name: &str| sources.variable(name);
        let context = Context { report: &report, base: &base, variable: &variable, follow: &follow };
        let written = RawSettings::read(&Reader::new(&context, TableReader::root(&report, &tree)));
        secrets.set_ttl(written.server.secret_ttl);
        let lanes = if with_lanes { lookup(&written, &context, &whole) } else { Vec::new() };
        if let Some((found, text)) = written.server.mistake(&written.store_names) {
            context.wrong(&found.place, "server.api", text);
        }
        #[cfg(test)]
        super::keys::KEYS_READ.with_borrow_mut(|keys| keys.extend(report.keys_read()));
        report.finish().map_err(InvalidSettings)?;
        let creates_tables =
            file.is_none() && !sources.variables.iter().any(|(name, _)| variables::concerns_tables(name));
        Ok(Self {
            server: written.server,
            telemetry: written.telemetry,
            stores: written.stores.into_iter().map(|store| (store.name.clone(), store)).collect(),
            transports: written
                .transports
                .into_iter()
                .map(|transport| (transport.name.clone(), transport))
                .collect(),
            queues: written.queues.into_iter().map(|queue| (queue.name.clone(), queue)).collect(),
            lanes,
            creates_tables,
            generated_key_file,
            base,
            secrets,
        })
    }
}

fn read(file: Option<&Path>, whole: &Place) -> Result<Node, InvalidSettings> {
    let Some(file) = file else {
        let table = BUILT_IN.parse().expect("the built-in settings are TOML: a test reads them");
        return Ok(Node::from_toml(&toml::Value::Table(table), whole));
    };
    let text = std::fs::read_to_string(file).map_err(|error| {
        let what = format!("cannot be read: {error}");
        let mistake = Mistake { place: whole.clone(), key: String::new(), what, remedy: String::new() };
        InvalidSettings(mistake.into())
    })?;
    postrider_config::parse(&whole.source, &text).map_err(InvalidSettings)
}

/// The settings as written, before names are resolved.
pub(super) struct RawSettings {
    pub server: Server,
    pub telemetry: Option<postrider_telemetry::Settings>,
    pub stores: Vec<StoreSettings>,
    /// All stores that have a table, invalid ones too, so that lanes that name one are not reported as well.
    pub store_names: Vec<String>,
    pub transports: Vec<TransportSettings>,
    pub transport_names: Vec<String>,
    pub queues: Vec<QueueSettings>,
    pub queue_names: Vec<String>,
    pub lanes: Vec<RawLane>,
}

impl RawSettings {
    fn read(reader: &Reader<'_>) -> Self {
        let server = reader.table("server").map(|inner| Server::read(&inner)).unwrap_or_default();
        let stores = reader.tables("stores");
        let store_names = stores.iter().map(|(name, _)| name.clone()).collect();
        let stores =
            stores.into_iter().filter_map(|(name, inner)| StoreSettings::read(name, &inner)).collect();
        let transports = reader.tables("transports");
        let transport_names = transports.iter().map(|(name, _)| name.clone()).collect();
        let transports = transports
            .into_iter()
            .filter_map(|(name, inner)| TransportSettings::read(name, &inner))
            .collect();
        let queues = reader.tables("queues");
        let queue_names = queues.iter().map(|(name, _)| name.clone()).collect();
        let queues =
            queues.into_iter().filter_map(|(name, inner)| QueueSettings::read(name, &inner)).collect();
        let mail = match reader.table("mail") {
            Some(inner) => MailSettings::read(&inner, MailSettings::default()),
            None => MailSettings::default(),
        };
        let telemetry = reader.table("telemetry").and_then(|inner| telemetry::read(&inner));
        let lanes = reader.tables("lanes");
        let lanes = lanes.into_iter().map(|(name, inner)| RawLane::read(name, &inner, &mail)).collect();
        reader.finish();
        Self {
            server,
            telemetry,
            stores,
            store_names,
            transports,
            transport_names,
            queues,
            queue_names,
            lanes,
        }
    }
}
