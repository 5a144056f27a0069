//! Connects to DynamoDB lazily, so that a process can start while the service is unavailable.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use aws_sdk_dynamodb::Client;
use postrider_aws::ClientConfig;
use postrider_contract::{ColumnRole, Contract};
use postrider_seams::store::{Class, Error};
use tokio::sync::OnceCell;

use crate::clock::Clock;
use crate::config::Settings;
use crate::migrate::Migration;
use crate::store::DynamoStore;
use crate::unsupported::unsupported_keys;
use crate::verify::TableShape;

/// The only record layout that this store supports.
const LAYOUT: &str = "meta_and_history";

/// The tables of one account in one region; all lanes share its connections.
#[derive(Clone)]
pub struct Database {
    pub(crate) settings: Arc<Settings>,
    pub(crate) clock: Clock,
    pub(crate) reads: Arc<AtomicU64>,
    pub(crate) writes: Arc<AtomicU64>,
    client: Arc<OnceCell<Client>>,
}

impl Database {
    /// Creates the handle; connects on the first request.
    pub fn connect(settings: &Settings) -> Self {
        Self {
            settings: Arc::new(settings.clone()),
            clock: Clock::default(),
            reads: Arc::default(),
            writes: Arc::default(),
            client: Arc::default(),
        }
    }

    /// Opens a contract's table for one stage. `lane` names the lane in messages. Returns a transient error if the
    /// service is unavailable.
    pub async fn open(&self, contract: Contract, stage: &str, lane: &str) -> Result<Arc<DynamoStore>, Error> {
        let place = self.settings.place();
        let refused = |what: String| {
            Error::new(Class::Misconfigured, format!("{place}: lane {lane} can't run there: {what}"))
        };
        let contract = adapted(contract).map_err(refused)?;
        let Some(index) = contract.stages.iter().position(|known| known.name == stage) else {
            return Err(refused(format!("contract {} has no stage {stage}", contract.name)));
        };
        let table = &contract.table.name;
        // The SDK's futures are large: box them to keep the caller's small.
        let shape = Box::pin(TableShape::read(self, &contract))
            .await?
            .ok_or_else(|| refused(format!("there is no table {table}: run `postrider migrate`")))?;
        if let Some(mistake) = shape.mistakes(&contract).into_iter().next() {
            return Err(refused(mistake));
        }
        Ok(Arc::new(DynamoStore::new(self.clone(), contract, index, shape.projects_ttl)))
    }

    /// Opens a contract for `migrate`; its table need not exist.
    pub fn migration(&self, contract: Contract) -> Arc<Migration> {
        Arc::new(Migration { database: self.clone(), contract })
    }

    /// Returns by how many microseconds the service's clock is ahead of this machine's. Any answer suffices, even an
    /// error.
    pub async fn clock_offset(&self) -> Result<i64, String> {
        match self.client().await.list_tables().limit(1).send().await {
            Err(error) if error.raw_response().is_none() => Err(error.to_string()),
            Ok(_) | Err(_) => Ok(self.clock.offset()),
        }
    }

    pub(crate) async fn client(&self) -> &Client {
        self.client.get_or_init(|| Box::pin(make_client(&self.settings, &self.clock))).await
    }
}

/// Creates the client; AWS's default chain supplies the settings that are not given.
async fn make_client(settings: &Settings, clock: &Clock) -> Client {
    // Retries are implemented in `requests.rs` only.
    let config = ClientConfig {
        region: settings.region.as_deref(),
        endpoint: settings.endpoint.as_deref(),
        static_credentials: settings
            .credentials
            .as_ref()
            .map(|(access, secret)| (access.as_str(), secret.reveal())),
        connect_timeout: settings.connect_timeout,
        request_timeout: settings.timeout,
    };
    let config = aws_sdk_dynamodb::config::Builder::from(&config.load().await).interceptor(clock.clone());
    Client::from_conf(config.build())
}

/// Returns the contract as DynamoDB runs it, or why it cannot.
///
/// There is no version column (it is always 0 in the specification). The fence is the time of the last move, which
/// every program that moves a record writes.
pub fn adapted(mut contract: Contract) -> Result<Contract, String> {
    let name = &contract.name;
    match &contract.dynamodb {
        Some(dynamodb) if dynamodb.layout == LAYOUT => {}
        Some(dynamodb) => return Err(format!("`{}` is not a known layout: {LAYOUT} is", dynamodb.layout)),
        None => return Err(format!("contract {name} has no [dynamodb] layout; `emails` has one")),
    }
    if let Some((key, reason)) = unsupported_keys(&contract).into_iter().next() {
        return Err(format!("contract {name}: {key} {reason}"));
    }
    let updated = contract.column(ColumnRole::Updated);
    if updated.is_none() || contract.column(ColumnRole::ClaimedAt) != updated {
        return Err(format!("contract {name}: `claimed_at` and `updated` must be one column there"));
    }
    contract.columns.0.remove(&ColumnRole::Version);
    for stage in &mut contract.stages {
        stage.lease.fence = vec![ColumnRole::ClaimedAt];
    }
    Ok(contract)
}
