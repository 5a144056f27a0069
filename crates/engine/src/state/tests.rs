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
    state.set_store(Some(StoreTrouble::Away("down".to_owned())));
    assert!(matches!(state.health(), Health::StoreAway { .. }));
    state.set_target(Some(TargetTrouble::Refused("535".to_owned())));
    assert!(matches!(state.health(), Health::Misconfigured { .. }));
    state.set_phase(Phase::Draining);
    assert_eq!(state.health(), Health::Draining);
}

#[test]
fn a_lane_is_open_only_while_it_runs_unpaused_with_a_sound_target() {
    let state = running();
    assert!(state.is_open());
    state.set_store(Some(StoreTrouble::Away("down".to_owned())));
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
