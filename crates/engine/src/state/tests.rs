use std::time::Duration;

use super::{LaneState, Phase, StoreTrouble, TargetTrouble};
use crate::Health;

fn running() -> LaneState {
    let state = LaneState::new("mail", "mail_outbox", "dispatch");
    assert_eq!(state.health(), Health::Starting);
    assert!(!state.health().is_ready());
    state.set_phase(Phase::Running);
    assert_eq!(state.health(), Health::Running);
    state
}

#[test]
fn what_an_operator_must_act_on_comes_first() {
    let state = running();
    state.set_paused(true);
    assert_eq!(state.health(), Health::Paused);
    state.set_stalled(Some("nothing moves".to_owned()));
    assert!(matches!(state.health(), Health::Stalled { .. }));
    state.set_target(Some(TargetTrouble::Unreachable("refused".to_owned())));
    assert!(matches!(state.health(), Health::Unreachable { .. }));
    state.set_store(Some(StoreTrouble::Unavailable("down".to_owned())));
    assert!(matches!(state.health(), Health::StoreUnavailable { .. }));
    state.set_target(Some(TargetTrouble::Refused("535".to_owned())));
    assert!(matches!(state.health(), Health::Misconfigured { .. }));
    state.set_phase(Phase::Draining);
    assert_eq!(state.health(), Health::Draining);
}

#[test]
fn a_lane_is_open_only_while_it_runs_unpaused_with_a_available_target() {
    let state = running();
    assert!(state.is_open());
    state.set_store(Some(StoreTrouble::Unavailable("down".to_owned())));
    assert!(state.is_open(), "the claimer itself finds out when the store is back");
    state.set_paused(true);
    assert!(!state.is_open());
    state.set_paused(false);
    state.set_target(Some(TargetTrouble::Refused("535".to_owned())));
    assert!(!state.is_open());
    state.set_target(None);
    state.set_phase(Phase::Draining);
    assert!(!state.is_open());
}

#[tokio::test(start_paused = true)]
async fn a_lane_is_stuck_from_its_first_trouble_until_all_of_it_is_over() {
    let state = running();
    let stuck = || state.status().stuck_for;
    assert_eq!(stuck(), None);
    state.set_store(Some(StoreTrouble::Unavailable("down".to_owned())));
    tokio::time::advance(Duration::from_mins(2)).await;
    // The store is back, but nothing moves: for an operator the outage continues.
    state.set_stalled(Some("nothing moves".to_owned()));
    state.set_store(None);
    tokio::time::advance(Duration::from_mins(4)).await;
    assert_eq!(stuck(), Some(Duration::from_mins(6)), "/healthz fails by this");
    state.set_stalled(None);
    assert_eq!(stuck(), None);
    state.set_target(Some(TargetTrouble::Unreachable("refused".to_owned())));
    state.set_store(Some(StoreTrouble::Misconfigured("no table".to_owned())));
    assert_eq!(stuck(), None, "a restart would not help");
}
