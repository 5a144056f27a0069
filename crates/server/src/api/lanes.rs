//! Routes of `/lanes`: shows lanes; pauses and resumes them on all instances.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use axum::Json;
use axum::extract::State;
use postrider_contract::{Contract, StateId, Transition};
use postrider_engine::{Health, LaneStatus};
use postrider_hub::Error;
use postrider_hub::access::Role;
use postrider_hub::audit::Change;
use postrider_seams::inspect::{Finding, OperatorAction, Searchable};
use postrider_seams::transport::TargetHold;
use postrider_seams::{Envelope, Inspect, store};
use serde::Serialize;
use utoipa::ToSchema;

use super::auth::Caller;
use super::params::Id;
use super::{Api, Problem};
use crate::rows::role_of;

/// Time limit of a lane's database; after that the lane is shown without what only the database knows.
const DATABASE_TIMEOUT: Duration = Duration::from_secs(3);

/// Queries and controls the lanes of this instance.
#[async_trait]
pub trait LaneControl: Send + Sync {
    /// Returns the status of every lane, from memory.
    fn lanes(&self) -> Vec<LaneStatus>;

    /// Returns contract, stage and settings of a lane, from memory; `None` if there is no such lane.
    fn definition(&self, lane: &str) -> Option<LaneDefinition>;

    /// Opens a lane's table; `None` if there is no such lane.
    async fn table(&self, lane: &str) -> Result<Option<Arc<dyn Inspect>>, store::Error>;

    /// Composes a row: the envelope, or why there is none. `None` if there is no such row.
    async fn compose(&self, lane: &str, id: &str) -> Result<Option<Result<Envelope, String>>, store::Error>;

    /// Returns the hold of an envelope's target on this instance, from memory; `None` if it may be sent.
    fn hold(&self, lane: &str, envelope: &Envelope) -> Option<TargetHold>;

    /// Runs `postrider check` for a lane.
    async fn check(&self, lane: &str) -> Vec<Finding>;

    /// Pauses or resumes a lane for all instances on its database; false if there is no such lane. Idempotent.
    async fn set_paused(&self, lane: &str, paused: bool) -> Result<bool, store::Error>;

    /// Publishes rows that an operator made ready to the lane's external queue, if it has one. The lane's poller finds
    /// the rows that cannot be published.
    async fn publish_ready_rows(&self, lane: &str);
}

/// The contract, stage, backends and settings of a lane.
#[derive(Debug, Clone)]
pub struct LaneDefinition {
    pub contract: Arc<Contract>,
    /// Index into `contract.stages`.
    pub stage: usize,
    /// Names of the store and the transport in the settings.
    pub store: String,
    pub transport: String,
    /// Settings in force, by key, without secrets.
    pub settings: Vec<(String, String)>,
}

/// A lane as this instance sees it. Counters start at zero when the instance starts.
#[derive(Debug, Serialize, ToSchema)]
pub struct LaneView {
    /// Name of the lane.
    name: String,
    /// Contract of the lane.
    contract: String,
    /// Stage of the contract that the lane runs.
    stage: String,
    /// `starting`, `running`, `paused`, `unreachable`, `misconfigured`, `store_away`, `queue_away`, `stalled`,
    /// `draining` or `stopped`.
    health: String,
    /// Why the lane does not deliver. Null: it does.
    reason: Option<String>,
    /// Whether the lane counts as ready in `/readyz`.
    ready: bool,
    /// Rows that this instance holds now.
    held: u64,
    /// Rows claimed.
    claimed: u64,
    /// Rows delivered.
    delivered: u64,
    /// Attempts that failed and are retried.
    retried: u64,
    /// Rows that failed permanently.
    failed: u64,
    /// Results that were not written because the lease was lost.
    lost: u64,
    /// Rows whose lease expired and that were reclaimed.
    reclaimed: u64,
}

/// All lanes.
#[derive(Debug, Serialize, ToSchema)]
pub struct LaneList {
    /// The lanes.
    items: Vec<LaneView>,
}

/// A lane with the states of its contract and its settings.
#[derive(Debug, Serialize, ToSchema)]
pub struct LaneDetail {
    #[serde(flatten)]
    lane: LaneView,
    /// States of a row.
    states: Vec<StateView>,
    /// The state machine: every change of state that a row can make.
    moves: Vec<MoveView>,
    /// What rows can be searched by.
    searches: Vec<SearchView>,
    /// What an operator can do with rows.
    verbs: Vec<VerbView>,
    /// The settings in force, without secrets.
    settings: Vec<SettingView>,
}

/// A state of a contract.
#[derive(Debug, Serialize, ToSchema)]
pub struct StateView {
    /// Name of the state, as the table has it.
    name: String,
    /// What the state means: `ready`, `claimed`, `waiting`, `delivered`, `failed` or `ended`.
    role: &'static str,
}

/// A change of state.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MoveView {
    /// State before.
    from: String,
    /// State after.
    to: String,
    /// What causes the change: `claimed`, `delivered`, `retry`, …
    verb: String,
    /// Whether only an operator makes this change.
    by_hand: bool,
}

/// A way to search rows.
#[derive(Debug, Serialize, ToSchema)]
pub struct SearchView {
    /// What to search by: `id`, `key`, `recipient`, `group` or `error`.
    by: &'static str,
    /// Whether a search can ask for an exact match.
    exact: bool,
    /// Whether a search can ask for a prefix.
    prefix: bool,
    /// Whether an index is used, over all rows. Otherwise the newest 10,000 rows are searched.
    indexed: bool,
}

/// Something that an operator can do with rows.
#[derive(Debug, Serialize, ToSchema)]
pub struct VerbView {
    /// Last part of the route: `requeue`, `cancel` or `release`.
    name: &'static str,
    /// Label of the button.
    title: &'static str,
    /// States in which it is possible.
    from: Vec<String>,
}

/// A setting of a lane.
#[derive(Debug, Serialize, ToSchema)]
pub struct SettingView {
    /// Name of the setting.
    key: String,
    /// Value in force, as text.
    value: String,
}

/// Returns the description of an operator's action: its label and the states that allow it.
pub fn verb_view(definition: &LaneDefinition, action: OperatorAction) -> VerbView {
    let moves = action.moves(&definition.contract, &definition.contract.stages[definition.stage]);
    let title = match action {
        OperatorAction::Requeue => "Requeue",
        OperatorAction::Cancel => "Cancel",
        OperatorAction::Release => "Release",
    };
    let from = moves.iter().map(|(from, _)| definition.contract.state(*from).name.clone()).collect();
    VerbView { name: action.name(), title, from }
}

fn detail(lane: LaneStatus, definition: &LaneDefinition, searches: Vec<Searchable>) -> LaneDetail {
    let contract = &definition.contract;
    let name = |state: StateId| contract.state(state).name.clone();
    let states = (0..contract.states.len()).map(StateId);
    let verbs = OperatorAction::ALL
        .into_iter()
        .map(|verb| verb_view(definition, verb))
        .filter(|verb| !verb.from.is_empty());
    let moved = |(from, verb, to): (StateId, Transition, StateId)| MoveView {
        from: name(from),
        to: name(to),
        verb: verb.to_string(),
        by_hand: verb.is_by_operator(),
    };
    let search = |search: Searchable| SearchView {
        by: search.by.name(),
        exact: search.exact,
        prefix: search.prefix,
        indexed: search.indexed,
    };
    let setting = |(key, value): &(String, String)| SettingView { key: key.clone(), value: value.clone() };
    LaneDetail {
        lane: view(lane),
        states: states.map(|state| StateView { name: name(state), role: role_of(contract, state) }).collect(),
        moves: contract.edges().into_iter().map(moved).collect(),
        searches: searches.into_iter().map(search).collect(),
        verbs: verbs.collect(),
        settings: definition.settings.iter().map(setting).collect(),
    }
}

/// The state that an operator requested. The lane follows within seconds.
#[derive(Debug, Serialize, ToSchema)]
pub struct LanePaused {
    /// Name of the lane.
    name: String,
    /// Whether the lane is to be paused.
    paused: bool,
}

/// Returns a lane's health in one word, and the reason why it does not deliver.
pub fn health_text(health: &Health) -> (&'static str, Option<String>) {
    match health {
        Health::Starting => ("starting", None),
        Health::Running => ("running", None),
        Health::Paused => ("paused", None),
        Health::Unreachable { reason } => ("unreachable", Some(reason.clone())),
        Health::Misconfigured { reason } => ("misconfigured", Some(reason.clone())),
        Health::StoreUnavailable { reason } => ("store_away", Some(reason.clone())),
        Health::QueueUnavailable { reason } => ("queue_away", Some(reason.clone())),
        Health::Stalled { reason } => ("stalled", Some(reason.clone())),
        Health::Draining => ("draining", None),
        Health::Stopped => ("stopped", None),
    }
}

fn view(lane: LaneStatus) -> LaneView {
    let ready = lane.health.is_ready();
    let (health, reason) = health_text(&lane.health);
    LaneView {
        name: lane.lane,
        contract: lane.contract,
        stage: lane.stage,
        health: health.to_owned(),
        reason,
        ready,
        held: lane.held,
        claimed: lane.claimed,
        delivered: lane.delivered,
        retried: lane.retried,
        failed: lane.failed,
        lost: lane.lost,
        reclaimed: lane.reclaimed,
    }
}

/// List lanes
///
/// Returns the health and the counters of every lane on this instance.
#[utoipa::path(get, path = "/lanes", tag = "lanes",
    responses((status = 200, description = "All lanes", body = LaneList)))]
pub async fn list(State(api): State<Api>, caller: Caller) -> Result<Json<LaneList>, Problem> {
    caller.of_all_clients(Role::Viewer)?;
    Ok(Json(LaneList { items: api.lanes.lanes().into_iter().map(view).collect() }))
}

/// Get a lane
///
/// Returns the health, the state machine and the settings of the lane.
#[utoipa::path(get, path = "/lanes/{id}", tag = "lanes", params(("id" = String, Path, description = "Name of the lane")),
    responses((status = 200, description = "The lane", body = LaneDetail)))]
pub async fn get(State(api): State<Api>, caller: Caller, Id(id): Id) -> Result<Json<LaneDetail>, Problem> {
    caller.of_all_clients(Role::Viewer)?;
    let found = api.lanes.lanes().into_iter().find(|lane| lane.lane == id).ok_or(Error::NotFound("lane"))?;
    let definition = api.lanes.definition(&id).ok_or(Error::NotFound("lane"))?;
    // While its database is not available, a lane is shown without searches.
    let table = tokio::time::timeout(DATABASE_TIMEOUT, api.lanes.table(&id)).await;
    let table = table.ok().and_then(Result::ok).flatten();
    let searches = table.map(|table| table.searches()).unwrap_or_default();
    Ok(Json(detail(found, &definition, searches)))
}

/// Pause a lane
///
/// Rows of the lane wait, on all instances.
#[utoipa::path(post, path = "/lanes/{id}/pause", tag = "lanes", params(("id" = String, Path, description = "Name of the lane")),
    responses((status = 200, description = "The lane is being paused", body = LanePaused)))]
pub async fn pause(State(api): State<Api>, caller: Caller, Id(id): Id) -> Result<Json<LanePaused>, Problem> {
    set(&api, &caller, id, true).await
}

/// Resume a lane
///
/// Rows of the lane are delivered again, on all instances.
#[utoipa::path(post, path = "/lanes/{id}/resume", tag = "lanes", params(("id" = String, Path, description = "Name of the lane")),
    responses((status = 200, description = "The lane is being resumed", body = LanePaused)))]
pub async fn resume(State(api): State<Api>, caller: Caller, Id(id): Id) -> Result<Json<LanePaused>, Problem> {
    set(&api, &caller, id, false).await
}

async fn set(api: &Api, caller: &Caller, name: String, paused: bool) -> Result<Json<LanePaused>, Problem> {
    let actor = caller.of_all_clients(Role::Operator)?;
    if !api.lanes.set_paused(&name, paused).await.map_err(Error::from)? {
        return Err(Error::NotFound("lane").into());
    }
    let change = Change::new(if paused { "pause" } else { "resume" }, "lane", &name);
    api.hub()?.write_audit_entry(actor, change).await?;
    Ok(Json(LanePaused { name, paused }))
}
