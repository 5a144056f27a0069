//! The picture: what the API answers.

use std::collections::BTreeMap;

use postrider_contract::Claimed;
use postrider_engine::LaneStatus;
use postrider_hub::Moment;
use postrider_seams::inspect::Count;
use serde::Serialize;
use utoipa::ToSchema;

use super::attention::{self, Attention};
use super::counts::Counts;
use super::rates::{Rates, STEP};
use crate::LaneControl;
use crate::api::{LaneMake, health_words};

/// Every lane at a glance. Rates and history are of this instance; counts and lag are the database's own.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Overview {
    pub at: Moment,
    /// What needs attention, the worst first.
    pub attention: Vec<Attention>,
    pub lanes: Vec<LaneOverview>,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LaneOverview {
    pub name: String,
    pub contract: String,
    pub stage: String,
    /// As in `/lanes`.
    pub health: &'static str,
    /// Why it does not move.
    pub reason: Option<String>,
    pub paused: bool,
    /// Rows in this instance's hands.
    pub held: u64,
    /// Rows that wait.
    pub backlog: Bounded,
    /// Rows that some instance has claimed.
    pub in_flight: Bounded,
    pub delivered_per_second: f64,
    pub failed_per_second: f64,
    /// Since the oldest due row fell due.
    pub oldest_due_seconds: Option<f64>,
    /// The same; 0 where no row is due.
    pub lag_seconds: f64,
    /// Since the oldest claimed row was claimed.
    pub oldest_claim_seconds: Option<f64>,
    pub store: Side,
    pub transport: Side,
    pub history: History,
    /// Rows by state; empty while the database is away.
    pub states: Vec<StateCount>,
}

/// A count that stops at 10,000.
#[derive(Debug, Clone, Copy, Default, Serialize, ToSchema)]
pub struct Bounded {
    pub rows: u64,
    /// There are more.
    pub more: bool,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct StateCount {
    pub state: String,
    pub rows: u64,
    /// There are more: the count stopped at 10,000.
    pub more: bool,
}

/// One end of a lane.
#[derive(Debug, Serialize, ToSchema)]
pub struct Side {
    /// As the settings call it.
    pub name: String,
    /// `ok` or `trouble`
    pub state: &'static str,
    pub reason: Option<String>,
}

/// Rows a second, a value for each step of the last hour, oldest first.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct History {
    pub step_seconds: u64,
    pub delivered: Vec<f64>,
    pub failed: Vec<f64>,
}

pub fn drawn(
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
        .map(|lane| lane_drawn(lanes.make(&lane.lane).as_ref(), lane, rates, of(lane)))
        .collect();
    Overview { at: Moment::now(), attention, lanes }
}

fn lane_drawn(make: Option<&LaneMake>, lane: &LaneStatus, rates: &Rates, counts: &Counts) -> LaneOverview {
    let (health, reason) = health_words(&lane.health);
    let (delivered_per_second, failed_per_second) = rates.now(&lane.lane);
    let (delivered, failed) = rates.history(&lane.lane);
    let stage = make.map(|make| &make.contract.stages[make.stage]);
    let names = |states: &[postrider_contract::StateId]| -> Vec<&str> {
        let contract = make.map(|make| &make.contract);
        states
            .iter()
            .filter_map(|state| contract.map(|contract| contract.state(*state).name.as_str()))
            .collect()
    };
    let backlog = summed(&counts.states, &stage.map(|stage| names(&stage.ready)).unwrap_or_default());
    let in_flight = match stage.map(|stage| stage.claimed) {
        Some(Claimed::State(state)) => summed(&counts.states, &names(&[state])),
        _ => Bounded { rows: lane.held, more: false },
    };
    let side = |name: Option<String>, reason: Option<String>| Side {
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
        store: side(make.map(|make| make.store.clone()), store_trouble),
        transport: side(make.map(|make| make.transport.clone()), lane.target_trouble.clone()),
        history: History { step_seconds: STEP.as_secs(), delivered, failed },
        states: counts.states.iter().map(shown).collect(),
    }
}

fn shown(count: &Count) -> StateCount {
    StateCount { state: count.state.clone(), rows: count.rows, more: count.more }
}

fn summed(counts: &[Count], states: &[&str]) -> Bounded {
    let chosen = counts.iter().filter(|count| states.contains(&count.state.as_str()));
    chosen.fold(Bounded::default(), |sum, count| Bounded {
        rows: sum.rows + count.rows,
        more: sum.more || count.more,
    })
}
