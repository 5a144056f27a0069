use postrider_contract::Transition;

use super::{CountingRules, Event, FinalRow, check};

fn rules() -> CountingRules {
    CountingRules {
        counts: Box::new(Transition::is_failure),
        recovery_counts: true,
        last_recovery_counts: true,
        max: 3,
    }
}

fn final_row(attempts: i64) -> FinalRow {
    FinalRow {
        row: "1".to_owned(),
        state: "sent".to_owned(),
        finished: true,
        delivered: true,
        attempts: Some(attempts),
    }
}

fn moved(transition: Transition) -> Event {
    Event::Moved { row: "1".to_owned(), transition, died: false }
}

fn taken() -> Event {
    Event::Accepted { row: "1".to_owned() }
}

#[test]
fn a_plain_delivery_is_fine() {
    let events = [moved(Transition::Claimed), taken(), moved(Transition::Delivered)];
    assert_eq!(check(&events, &[final_row(0)], &rules()), Ok(0));
}

#[test]
fn a_duplicate_needs_a_cut_lease() {
    let twice = [taken(), taken(), moved(Transition::Delivered)];
    assert!(check(&twice, &[final_row(0)], &rules()).is_err());
    let cut = Event::LeaseExpired { row: "1".to_owned() };
    let cut = [taken(), cut, moved(Transition::Reclaimed), taken(), moved(Transition::Delivered)];
    assert_eq!(check(&cut, &[final_row(1)], &rules()), Ok(1));
}

#[test]
fn a_row_that_never_ended_is_lost() {
    let stuck = FinalRow { finished: false, ..final_row(0) };
    assert!(check(&[taken(), moved(Transition::Delivered)], &[stuck], &rules()).is_err());
}

#[test]
fn a_delivered_row_was_sent() {
    assert!(check(&[moved(Transition::Delivered)], &[final_row(0)], &rules()).is_err());
}

#[test]
fn attempts_are_exact() {
    let failed_once = [moved(Transition::Retry), taken(), moved(Transition::Delivered)];
    assert_eq!(check(&failed_once, &[final_row(1)], &rules()), Ok(0));
    assert!(check(&failed_once, &[final_row(0)], &rules()).is_err());
    assert!(check(&failed_once, &[final_row(2)], &rules()).is_err());
}

#[test]
fn a_second_settle_is_caught() {
    let events = [taken(), moved(Transition::Delivered), moved(Transition::Delivered)];
    assert!(check(&events, &[final_row(0)], &rules()).is_err());
}

#[test]
fn a_broken_fence_is_reported() {
    let broken = Event::GuaranteeBroken { row: "1".to_owned(), what: "somebody else's retry".to_owned() };
    let events = [taken(), moved(Transition::Delivered), broken];
    assert!(check(&events, &[final_row(0)], &rules()).is_err());
}
