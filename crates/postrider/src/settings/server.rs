//! Reads `[server]`: the listener, the API, and settings of the process as a whole.

use std::net::SocketAddr;
use std::time::Duration;

use postrider_server::{ConnectionLimits, MetricsAccess};

use super::mistake::suggest;
use super::reader::{Located, Reader};

/// The settings of the listener, the API and the process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// The address of the listener; `None` disables it (`listen = "off"`).
    pub listen: Option<SocketAddr>,
    /// Time limit of a drain, after which the remaining rows are handed back.
    pub drain: Duration,
    /// Time after which `/healthz` fails for a stalled lane; zero: never.
    pub stalled_after: Duration,
    /// The access to `/metrics`.
    pub metrics: MetricsAccess,
    /// The store of the API's tables.
    pub api: ApiStore,
    /// Most bytes of a job's payload.
    pub payload_limit: u64,
    /// Limits of the listener's connections.
    pub connections: ConnectionLimits,
    /// Most bytes of all request bodies together.
    pub body_budget: u64,
    /// Time after which audit log entries are deleted; `None` keeps them forever.
    pub audit_retention: Option<Duration>,
    /// Time for which resolved secrets are cached.
    pub secret_ttl: Duration,
}

/// The store that holds the API's tables.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ApiStore {
    /// The store of the lane of dispatch jobs; without such a lane the API is disabled.
    #[default]
    JobsLaneStore,
    Off,
    Named(Located<String>),
}

impl Default for Server {
    fn default() -> Self {
        Self {
            listen: Some(([127, 0, 0, 1], 8080).into()),
            drain: Duration::from_secs(25),
            stalled_after: Duration::from_mins(5),
            metrics: MetricsAccess::Open,
            api: ApiStore::JobsLaneStore,
            payload_limit: 1 << 20,
            connections: ConnectionLimits::default(),
            body_budget: 64 << 20,
            audit_retention: None,
            secret_ttl: postrider_secrets::DEFAULT_TTL,
        }
    }
}

impl Server {
    /// Reads the table; missing keys have their defaults.
    pub fn read(reader: &Reader<'_>) -> Self {
        let mut server = Self::default();
        if let Some(listen) = reader.parsed("listen", address) {
            server.listen = listen;
        }
        if let Some(drain) = reader.duration("drain", Duration::ZERO..=Duration::from_hours(1)) {
            server.drain = drain;
        }
        if let Some(stalled) = reader.duration("stalled_after", Duration::ZERO..=Duration::from_hours(24)) {
            server.stalled_after = stalled;
        }
        if let Some(metrics) = reader.parsed("metrics", metrics) {
            server.metrics = metrics;
        }
        if let Some(store) = reader.text("api") {
            server.api = if store.value == "off" { ApiStore::Off } else { ApiStore::Named(store) };
        }
        if let Some(limit) = reader.size("payload_limit", 1..=(16 << 20)) {
            server.payload_limit = limit;
        }
        if let Some(total) = reader.number("connections", 8..=100_000) {
            server.connections.total = total as usize;
        }
        if let Some(per_address) = reader.number("connections_per_address", 1..=100_000) {
            server.connections.per_address = per_address as usize;
        }
        if let Some(budget) = reader.size("body_budget", (32 << 20)..=(16 << 30)) {
            server.body_budget = budget;
        }
        let days = Duration::from_hours(24);
        server.audit_retention = reader.duration("audit_retention", days..=days * 36_500);
        if let Some(ttl) = reader.duration("secret_ttl", Duration::ZERO..=days) {
            server.secret_ttl = ttl;
        }
        reader.finish();
        server
    }

    /// The mistake in the name of the API's store, given the stores that exist.
    pub(super) fn mistake(&self, stores: &[String]) -> Option<(Located<String>, String)> {
        let ApiStore::Named(named) = &self.api else { return None };
        if stores.contains(&named.value) {
            return None;
        }
        let remedy = suggest(&named.value, stores.iter().map(String::as_str));
        Some((named.clone(), format!("no [stores.{}]{remedy}; \"off\" for no API", named.value)))
    }
}

fn metrics(text: &str) -> Result<MetricsAccess, &'static str> {
    match text {
        "open" => Ok(MetricsAccess::Open),
        "key" => Ok(MetricsAccess::Key),
        _ => Err("expected \"open\", or \"key\" to require an API key"),
    }
}

/// Parses `HOST:PORT` with a numeric host, or `off`, which is `None`.
pub fn address(text: &str) -> Result<Option<SocketAddr>, &'static str> {
    if text == "off" {
        return Ok(None);
    }
    text.parse()
        .map(Some)
        .map_err(|_| "expected an address and a port, such as \"127.0.0.1:8080\", or \"off\"")
}
