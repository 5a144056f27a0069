//! Runs the API in the binary: creates its tables, opens its hub once the database is available, makes its first key.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use postrider_contract::Contract;
use postrider_engine::{Engine, Handle, LaneStatus};
use postrider_hub::{Error, Hub};
use postrider_seams::inspect::Finding;
use postrider_seams::migrate::MigrateOptions;
use postrider_seams::transport::TargetHold;
use postrider_seams::{Envelope, Inspect, store};
use postrider_server::api::Limits;
use postrider_server::{Api, LaneControl, LaneDefinition};

use crate::commands::{CommandContext, check};
use crate::effective_settings;
use crate::emails::api::EmailApi;
use crate::failure::Failure;
use crate::first_key;
use crate::preview;
use crate::settings::LaneSettings;
use crate::wiring::LaneTable;
use crate::wiring::webhooks::SecretEncryptor;

/// First and longest delay between two attempts to open the API's store.
const MIN_RETRY_DELAY: Duration = Duration::from_millis(500);
const MAX_RETRY_DELAY: Duration = Duration::from_secs(15);
const PURGE_EVERY: Duration = Duration::from_mins(10);

/// Creates the API's tables, or with `print` returns the statements that are missing. `notify`: with the notification
/// trigger, for workers in other processes.
pub async fn migrate(context: &CommandContext, print: bool, notify: bool) -> Result<Vec<String>, Failure> {
    let Some(store) = context.settings.api_store() else { return Ok(Vec::new()) };
    let mut statements = Vec::new();
    // A lane that delivers the jobs has just created their table; without such a lane the API creates it.
    if context.settings.jobs_lane().is_none_or(|lane| lane.store != store) {
        let jobs = context.wiring.migration_on(store, jobs_contract());
        let options = MigrateOptions { notify, ..MigrateOptions::default() };
        statements.extend(if print { jobs.plan(options).await? } else { jobs.apply(options).await? });
    }
    let database = context.wiring.internal_tables(store)?;
    statements.extend(if print {
        postrider_hub::migrate::plan(&*database).await?
    } else {
        postrider_hub::migrate::apply(&*database).await?
    });
    Ok(statements)
}

fn jobs_contract() -> Contract {
    let text = Contract::builtin("dispatch_jobs").expect("the contract is built in");
    Contract::parse("dispatch_jobs (built in)", text).expect("a built-in contract parses: a test reads it")
}

/// Starts the API if the settings enable it. It answers 503 until its database is available.
pub fn start(context: &Arc<CommandContext>, engine: &Engine) -> Option<Api> {
    let store = context.settings.api_store()?.to_owned();
    let control =
        EngineControl { handle: engine.handle(), context: Arc::clone(context), tables: Mutex::default() };
    let limit = usize::try_from(context.settings.server.payload_limit).unwrap_or(usize::MAX);
    let limits = Limits::default();
    let bodies = usize::try_from(context.settings.server.body_budget).unwrap_or(usize::MAX);
    let api = Api::new(
        Arc::new(control),
        Limits { body: limits.body.max(limit.saturating_mul(2)), bodies, ..limits },
    )
    .with_email_intake(EmailApi::open(context));
    tokio::spawn(open(Arc::clone(context), store, api.clone()));
    Some(api)
}

async fn open(context: Arc<CommandContext>, store: String, api: Api) {
    let mut wait = MIN_RETRY_DELAY;
    loop {
        match open_hub(&context, &store).await {
            Ok(hub) => {
                tokio::spawn(purge(Arc::clone(&hub), context.settings.server.audit_retention));
                return api.open(hub);
            }
            Err(error) => {
                tracing::warn!(%error, store, "the API waits for its store; if its tables are missing, run `postrider migrate`");
            }
        }
        tokio::time::sleep(wait).await;
        wait = (wait * 2).min(MAX_RETRY_DELAY);
    }
}

/// Deletes expired idempotency records and audit entries at intervals, for as long as the process lives.
async fn purge(hub: Arc<Hub>, audit: Option<Duration>) {
    loop {
        match hub.purge(audit).await {
            Ok(0) => {}
            Ok(lines) => tracing::info!(lines, "deleted old audit log entries"),
            Err(error) => tracing::warn!(%error, "cannot purge the audit log; will retry later"),
        }
        tokio::time::sleep(PURGE_EVERY).await;
    }
}

/// Opens the hub on a store that already has its tables.
pub async fn hub(context: &CommandContext, store: &str) -> Result<Hub, Error> {
    let payload_limit = usize::try_from(context.settings.server.payload_limit).unwrap_or(usize::MAX);
    let guard = context.wiring.guard(context.settings.jobs_lane());
    let mut settings = postrider_hub::Settings { guard, payload_limit, ..postrider_hub::Settings::default() };
    if let Some(stage) = context.settings.jobs_lane().and_then(|lane| lane.contract.stages.first()) {
        settings.max_attempts = stage.attempts.max;
    }
    let sealer = Arc::new(SecretEncryptor(Arc::clone(&context.settings.secrets)));
    let hub = Hub::open(context.wiring.internal_tables(store)?, settings, Some(sealer)).await?;
    let lane = context.settings.jobs_lane().filter(|lane| lane.store == store && lane.queue.is_some());
    Ok(match lane {
        Some(lane) => match context.wiring.new_row_publisher(lane).await? {
            Some(new_row_publisher) => hub.with_queue(new_row_publisher),
            None => hub,
        },
        None => hub,
    })
}

async fn open_hub(context: &CommandContext, store: &str) -> Result<Arc<Hub>, Error> {
    let hub = hub(context, store).await?;
    first_key::hand_out(&hub, &context.settings.base).await?;
    Ok(Arc::new(hub))
}

/// The lanes, as the API controls them.
struct EngineControl {
    handle: Handle,
    context: Arc<CommandContext>,
    /// Tables by lane, opened at the first request: opening reads the catalog.
    tables: Mutex<BTreeMap<String, Arc<dyn LaneTable>>>,
}

impl EngineControl {
    async fn open_table(&self, lane: &LaneSettings) -> Result<Arc<dyn LaneTable>, store::Error> {
        let known = self.tables.lock().unwrap_or_else(PoisonError::into_inner).get(&lane.name).cloned();
        if let Some(table) = known {
            return Ok(table);
        }
        let table = self.context.wiring.open(lane).await?;
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(Arc::clone(tables.entry(lane.name.clone()).or_insert(table)))
    }
}

#[async_trait]
impl LaneControl for EngineControl {
    fn lanes(&self) -> Vec<LaneStatus> {
        self.handle.lanes()
    }

    fn definition(&self, lane: &str) -> Option<LaneDefinition> {
        let lane = self.context.settings.lane(lane).ok()?;
        Some(LaneDefinition {
            contract: Arc::clone(&lane.contract),
            stage: lane.stage,
            store: lane.store.clone(),
            transport: lane.transport.clone(),
            settings: effective_settings::list(&self.context.settings, lane),
        })
    }

    async fn table(&self, lane: &str) -> Result<Option<Arc<dyn Inspect>>, store::Error> {
        let Ok(lane) = self.context.settings.lane(lane) else { return Ok(None) };
        Ok(Some(self.open_table(lane).await?))
    }

    async fn compose(&self, lane: &str, id: &str) -> Result<Option<Result<Envelope, String>>, store::Error> {
        let Ok(lane) = self.context.settings.lane(lane) else { return Ok(None) };
        let table = self.open_table(lane).await?;
        preview::compose(&self.context.wiring, lane, &*table, id).await
    }

    fn hold(&self, lane: &str, envelope: &Envelope) -> Option<TargetHold> {
        let lane = self.context.settings.lane(lane).ok()?;
        self.context.wiring.transport(lane).ok()?.hold(envelope)
    }

    async fn check(&self, lane: &str) -> Vec<Finding> {
        match self.context.settings.lane(lane) {
            Ok(lane) => check::findings(&self.context, lane).await,
            Err(_) => Vec::new(),
        }
    }

    async fn set_paused(&self, lane: &str, paused: bool) -> Result<bool, store::Error> {
        let Ok(lane) = self.context.settings.lane(lane) else { return Ok(false) };
        self.open_table(lane).await?.set_paused(&lane.name, paused).await?;
        Ok(true)
    }

    async fn publish_ready_rows(&self, lane: &str) {
        if let Ok(lane) = self.context.settings.lane(lane) {
            self.context.wiring.publish_ready_rows(lane).await;
        }
    }
}
