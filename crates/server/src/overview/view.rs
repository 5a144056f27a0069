//! The response of `GET /overview`: per-lane health, counts, rates, and what needs attention.

use std::collections::BTreeMap;

use postrider_contract::ClaimedState;
use postrider_engine::LaneStatus;
use postrider_hub::Moment;
use postrider_seams::inspect;
use serde::Serialize;
use utoipa::ToSchema;

use super::attention::{self, Attention};
use super::counts::Counts;
use super::rates::{Rates, STEP};
use crate::LaneControl;
use crate::api::{LaneDefinition, health_text};

/// The state of every lane. Rates and history are those of this instance; counts and lag come from the database.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Overview {
    /// When the values were read.
    pub at: Moment,
    /// What needs attention, most severe first.
    pub attention: Vec<Attention>,
    /// Every lane.
    pub lanes: Vec<LaneOverview>,
}

/// The state of a lane.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LaneOverview {
    /// Name of the lane.
    pub name: String,
    /// Contract of the lane.
    pub contract: String,
    /// Stage of the contract that the lane runs.
    pub stage: String,
    /// Health of the lane, as in `/lanes`.
    pub health: &'static str,
    /// Why the lane does not deliver. Null: it does.
    pub reason: Option<String>,
    /// Whether an operator paused the lane.
    pub paused: bool,
    /// Rows that this instance holds now.
    pub held: u64,
    /// Rows that wait for delivery.
    pub backlog: RowCount,
    /// Rows that any instance has claimed.
    pub in_flight: RowCount,
    /// Deliveries of this instance, in rows per second.
    pub delivered_per_second: f64,
    /// Failures of this instance, in rows per second.
    pub failed_per_second: f64,
    /// Seconds since the oldest due row became due. Null: no row is due.
    pub oldest_due_seconds: Option<f64>,
    /// Seconds since the oldest due row became due. 0: no row is due.
    pub lag_seconds: f64,
    /// Seconds since the oldest claimed row was claimed. Null: no row is claimed.
    pub oldest_claim_seconds: Option<f64>,
    /// The database of the lane.
    pub store: Endpoint,
    /// The target of the lane.
    pub transport: Endpoint,
    /// Rates of the last hour.
    pub history: RateHistory,
    /// Number of rows by state. Empty while the database is not available.
    pub states: Vec<StateCount>,
}

/// A number of rows, counted up to 10,000.
#[derive(Debug, Clone, Copy, Default, Serialize, ToSchema)]
pub struct RowCount {
    /// Number of rows, at most 10,000.
    pub rows: u64,
    /// Whether there are more rows than were counted.
    pub more: bool,
}

/// The number of rows in a state, counted up to 10,000.
#[derive(Debug, Serialize, ToSchema)]
pub struct StateCount {
    /// Name of the state.
    pub state: String,
    /// Number of rows, at most 10,000.
    pub rows: u64,
    /// Whether there are more rows than were counted.
    pub more: bool,
}

/// The database or the target of a lane.
#[derive(Debug, Serialize, ToSchema)]
pub struct Endpoint {
    /// Its name in the settings.
    pub name: String,
    /// `ok` or `trouble`.
    pub state: &'static str,
    /// What is wrong. Null: nothing.
    pub reason: Option<String>,
}

/// Rates of the last hour, in rows per second: one value per step, oldest first.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = RateHistory)]
pub struct RateHistory {
    /// Length of a step, in seconds.
    pub step_seconds: u64,
    /// Deliveries per second in each step.
    pub delivered: Vec<f64>,
    /// Failures per second in each step.
    pub failed: Vec<f64>,
}

/// Builds the overview from the lanes' status, rates and counts.
pub fn build_overview(
    lanes: &dyn LaneControl,
    statuses: &[LaneStatus],
    rates: &Rates,
    counts: &BTreeMap<String, Counts>,
) -> Overview {
    let none = Counts::default();
    let of = |lane: &LaneStatus| counts.get(&lane.lane).unwrap_or(&none);
    let mut attention: Vec<Attention> =
        statuses.iter().flat_map(|lane| attention::of(lane, of(lane))).collect();
    attention.sort_by_key(|sentence| sentence.rank);
    let lanes = statuses
        .iter()
        .map(|lane| lane_overview(lanes.definition(&lane.lane).as_ref(), lane, rates, of(lane)))
        .collect();
    Overview { at: Moment::now(), attention, lanes }
}

fn lane_overview(
    definition: Option<&LaneDefinition>,
    lane: &LaneStatus,
    rates: &Rates,
    counts: &Counts,
) -> LaneOverview {
    let (health, reason) = health_text(&lane.health);
    let (delivered_per_second, failed_per_second) = rates.now(&lane.lane);
    let (delivered, failed) = rates.history(&lane.lane);
    let stage = definition.map(|definition| &definition.contract.stages[definition.stage]);
    let names = |states: &[postrider_contract::StateId]| -> Vec<&str> {
        let contract = definition.map(|definition| &definition.contract);
        states
            .iter()
            .filter_map(|state| contract.map(|contract| contract.state(*state).name.as_str()))
            .collect()
    };
    let backlog = summed(&counts.states, &stage.map(|stage| names(&stage.ready)).unwrap_or_default());
    let in_flight = match stage.map(|stage| stage.claimed) {
        Some(ClaimedState::State(state)) => summed(&counts.states, &names(&[state])),
        _ => RowCount { rows: lane.held, more: false },
    };
    let side = |name: Option<String>, reason: Option<String>| Endpoint {
        name: name.unwrap_or_default(),
        state: if reason.is_some() { "trouble" } else { "ok" },
        reason,
    };
    let store_trouble = lane.store_trouble.clone().or_else(|| counts.away.clone());
    LaneOverview {
        name: lane.lane.clone(),
        contract: lane.contract.clone(),
        stage: lane.stage.clone(),
        health,
        reason,
        paused: lane.health == postrider_engine::Health::Paused,
        held: lane.held,
        backlog,
        in_flight,
        delivered_per_second,
        failed_per_second,
        oldest_due_seconds: counts.lag.oldest_due_seconds,
        lag_seconds: counts.lag.oldest_due_seconds.unwrap_or(0.0).max(0.0),
        oldest_claim_seconds: counts.lag.oldest_claim_seconds,
        store: side(definition.map(|definition| definition.store.clone()), store_trouble),
        transport: side(
            definition.map(|definition| definition.transport.clone()),
            lane.target_trouble.clone(),
        ),
        history: RateHistory { step_seconds: STEP.as_secs(), delivered, failed },
        states: counts.states.iter().map(state_count).collect(),
    }
}

fn state_count(count: &inspect::StateCount) -> StateCount {
    StateCount { state: count.state.clone(), rows: count.rows, more: count.more }
}

fn summed(counts: &[inspect::StateCount], states: &[&str]) -> RowCount {
    let chosen = counts.iter().filter(|count| states.contains(&count.state.as_str()));
    chosen.fold(RowCount::default(), |sum, count| RowCount {
        rows: sum.rows + count.rows,
        more: sum.more || count.more,
    })
}
