//! `/lanes`: how they are; pausing and resuming them on all instances.

use std::sync::Arc;

use async_trait::async_trait;
use axum::Json;
use axum::extract::State;
use postrider_contract::Contract;
use postrider_engine::{Health, LaneStatus};
use postrider_hub::Error;
use postrider_hub::access::Role;
use postrider_hub::audit::Change;
use postrider_seams::{Inspect, store};
use serde::Serialize;
use utoipa::ToSchema;

use super::admit::Caller;
use super::params::Id;
use super::{Api, Problem};

/// What can be done with lanes.
#[async_trait]
pub trait LaneControl: Send + Sync {
    /// From memory.
    fn lanes(&self) -> Vec<LaneStatus>;

    /// What a lane is made of, from memory; `None` where there is none of that name.
    fn make(&self, lane: &str) -> Option<LaneMake>;

    /// A lane's table, opened; `None` where there is none of that name.
    async fn table(&self, lane: &str) -> Result<Option<Arc<dyn Inspect>>, store::Error>;

    /// Pauses or resumes a lane for all instances on its database; false where there is none of that name. Idempotent.
    async fn set_paused(&self, lane: &str, paused: bool) -> Result<bool, store::Error>;
}

/// What a lane is made of.
#[derive(Debug, Clone)]
pub struct LaneMake {
    pub contract: Arc<Contract>,
    /// An index into `contract.stages`.
    pub stage: usize,
    /// As the settings call them.
    pub store: String,
    pub transport: String,
    /// The settings in force, by key; no secret among them.
    pub settings: Vec<(String, String)>,
}

/// A lane, as this instance sees it; the figures are since its start.
#[derive(Debug, Serialize, ToSchema)]
pub struct LaneView {
    name: String,
    contract: String,
    stage: String,
    /// `starting`, `running`, `paused`, `unreachable`, `misconfigured`, `store_away`, `queue_away`, `stalled`, `draining`, `stopped`
    health: String,
    /// Why it does not move.
    reason: Option<String>,
    ready: bool,
    /// Rows in hand now.
    held: u64,
    claimed: u64,
    delivered: u64,
    retried: u64,
    failed: u64,
    lost: u64,
    reclaimed: u64,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct LaneList {
    items: Vec<LaneView>,
}

/// What an operator asked for. The lane follows within seconds.
#[derive(Debug, Serialize, ToSchema)]
pub struct LanePaused {
    name: String,
    paused: bool,
}

/// A lane's health in one word, and why it does not move.
pub fn health_words(health: &Health) -> (&'static str, Option<String>) {
    match health {
        Health::Starting => ("starting", None),
        Health::Running => ("running", None),
        Health::Paused => ("paused", None),
        Health::Unreachable { reason } => ("unreachable", Some(reason.clone())),
        Health::Misconfigured { reason } => ("misconfigured", Some(reason.clone())),
        Health::StoreAway { reason } => ("store_away", Some(reason.clone())),
        Health::QueueAway { reason } => ("queue_away", Some(reason.clone())),
        Health::Stalled { reason } => ("stalled", Some(reason.clone())),
        Health::Draining => ("draining", None),
        Health::Stopped => ("stopped", None),
    }
}

fn view(lane: LaneStatus) -> LaneView {
    let ready = lane.health.is_ready();
    let (health, reason) = health_words(&lane.health);
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

#[utoipa::path(get, path = "/lanes", tag = "lanes",
    responses((status = 200, description = "All lanes", body = LaneList)))]
pub async fn list(State(api): State<Api>, caller: Caller) -> Result<Json<LaneList>, Problem> {
    caller.of_all_clients(Role::Viewer)?;
    Ok(Json(LaneList { items: api.lanes.lanes().into_iter().map(view).collect() }))
}

/// How one lane is.
#[utoipa::path(get, path = "/lanes/{id}", tag = "lanes", params(("id" = String, Path, description = "Its name")),
    responses((status = 200, description = "The lane", body = LaneView)))]
pub async fn get(State(api): State<Api>, caller: Caller, Id(id): Id) -> Result<Json<LaneView>, Problem> {
    caller.of_all_clients(Role::Viewer)?;
    let found = api.lanes.lanes().into_iter().find(|lane| lane.lane == id);
    Ok(Json(found.map(view).ok_or(Error::Absent("lane"))?))
}

/// Its rows wait, on all instances.
#[utoipa::path(post, path = "/lanes/{id}/pause", tag = "lanes", params(("id" = String, Path, description = "Its name")),
    responses((status = 200, description = "It pauses", body = LanePaused)))]
pub async fn pause(State(api): State<Api>, caller: Caller, Id(id): Id) -> Result<Json<LanePaused>, Problem> {
    set(&api, &caller, id, true).await
}

#[utoipa::path(post, path = "/lanes/{id}/resume", tag = "lanes", params(("id" = String, Path, description = "Its name")),
    responses((status = 200, description = "It goes on", body = LanePaused)))]
pub async fn resume(State(api): State<Api>, caller: Caller, Id(id): Id) -> Result<Json<LanePaused>, Problem> {
    set(&api, &caller, id, false).await
}

async fn set(api: &Api, caller: &Caller, name: String, paused: bool) -> Result<Json<LanePaused>, Problem> {
    let actor = caller.of_all_clients(Role::Operator)?;
    if !api.lanes.set_paused(&name, paused).await.map_err(Error::from)? {
        return Err(Error::Absent("lane").into());
    }
    let change = Change::new(if paused { "pause" } else { "resume" }, "lane", &name);
    api.hub()?.note(actor, change).await?;
    Ok(Json(LanePaused { name, paused }))
}
