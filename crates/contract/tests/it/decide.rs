//! Tests the decision against the numbers of the specifications, and with random input over all five contracts.

use std::time::Duration;

use postrider_contract::{
    AttemptCounting, AttemptResult, Contract, Counters, LONGEST_RETRY_AFTER, ResultKind, Schedule, Stage,
    Transition, listed_delays,
};
use proptest::prelude::*;

use crate::builtin;

fn result(kind: ResultKind) -> AttemptResult {
    AttemptResult { kind, after: None, partly_accepted: false }
}

fn after(attempts: u32) -> Counters {
    Counters { attempts, ..Counters::default() }
}

/// Returns the milliseconds between the attempts of a row that always fails, without jitter.
fn waits(stage: &Stage) -> Vec<u128> {
    (0..stage.attempts.max)
        .map(|attempts| stage.decide(&after(attempts), result(ResultKind::Retryable), 0.0))
        .take_while(|decision| decision.transition == Transition::Retry)
        .map(|decision| decision.delay.as_millis())
        .collect()
}

#[test]
fn m04_backoff_by_default() {
    let stage = &builtin("mail_outbox").stages[0];
    assert_eq!(waits(stage), [60_000, 120_000, 240_000, 480_000]);
    assert_eq!(stage.decide(&after(4), result(ResultKind::Retryable), 0.0).transition, Transition::Dead);
}

/// Only the specifications of notifications and jobs name a Retry-After. Brokers send none.
#[test]
fn m04_e09_a_retry_after_counts_only_where_the_specification_names_it() {
    let follows = |name: &str| {
        let mut stages = builtin(name).stages.into_iter().map(|stage| stage.follows_retry_after());
        let first = stages.next().expect("a stage");
        assert!(stages.all(|follows| follows == first), "{name}");
        first
    };
    assert!(!follows("mail_outbox") && !follows("emails"));
    assert!(follows("open_event_notifications") && follows("dispatch_jobs"));
}

#[test]
fn j06_a_row_follows_the_schedule_that_the_api_accepts() {
    let seconds = |text: &str| {
        let delays: Vec<f64> = listed_delays(text)?.iter().map(Duration::as_secs_f64).collect();
        Some(delays)
    };
    assert_eq!(seconds("[5, 60.5]"), Some(vec![5.0, 60.5]));
    for wrong in ["", "[]", "[05]", "[-1]", "[\"5\"]", "5", "[1e999]"] {
        assert_eq!(seconds(wrong), None, "{wrong}");
    }
}

#[test]
fn m04_the_cap_comes_before_the_jitter() {
    let mut stage = builtin("mail_outbox").stages[0].clone();
    stage.attempts.max = 100;
    let wait = |chance| stage.decide(&after(50), result(ResultKind::Retryable), chance).delay.as_secs_f64();
    assert!((wait(1.0) - 4320.0).abs() < 1e-6);
    assert!((wait(-1.0) - 2880.0).abs() < 1e-6);
}

#[test]
fn m09_a_partly_delivered_mail_is_sent_when_no_recipient_is_left_to_try() {
    let stage = &builtin("mail_outbox").stages[0];
    let partly = |kind| AttemptResult { partly_accepted: true, ..result(kind) };
    assert_eq!(stage.decide(&after(0), partly(ResultKind::Rejected), 0.0).transition, Transition::Delivered);
    assert_eq!(stage.decide(&after(4), partly(ResultKind::Retryable), 0.0).transition, Transition::Dead);
    assert_eq!(stage.decide(&after(0), partly(ResultKind::Retryable), 0.0).transition, Transition::Retry);
    assert_eq!(stage.decide(&after(0), result(ResultKind::Rejected), 0.0).transition, Transition::Rejected);
}

#[test]
fn o02_o05_backoff_of_the_outbox() {
    assert_eq!(waits(&builtin("outbox").stages[0]), [1_000, 2_000]);
}

#[test]
fn n04_n06_schedule_and_limit_of_notifications() {
    let stage = &builtin("open_event_notifications").stages[0];
    assert_eq!(waits(stage), [0, 2_000]);
    assert_eq!(stage.decide(&after(1), result(ResultKind::Skipped), 0.0).transition, Transition::Skipped);
    assert_eq!(
        stage.decide(&after(2), result(ResultKind::Skipped), 0.0).transition,
        Transition::Dead,
        "at the limit"
    );
    assert_eq!(stage.decide(&after(2), result(ResultKind::Delivered), 0.0).transition, Transition::Delivered);
}

#[test]
fn e08_backoff_of_every_stage() {
    for stage in &builtin("emails").stages {
        assert_eq!(waits(stage), [30_000, 60_000, 120_000, 240_000], "{}", stage.name);
    }
}

#[test]
fn j06_the_row_chooses_its_schedule_and_its_limit() {
    let stage = &builtin("dispatch_jobs").stages[0];
    let wait = |schedule: Option<&str>, attempts| {
        let row = Counters { attempts, max_attempts: Some(9), schedule: schedule.map(str::to_owned) };
        stage.decide(&row, result(ResultKind::Retryable), 0.0).delay.as_millis()
    };
    let of = |schedule| [wait(schedule, 0), wait(schedule, 1), wait(schedule, 2), wait(schedule, 7)];
    assert_eq!(of(None), [30_000, 60_000, 120_000, 3_600_000]);
    assert_eq!(of(Some("exponential")), [30_000, 60_000, 120_000, 3_600_000]);
    assert_eq!(of(Some("immediate")), [0; 4]);
    assert_eq!(of(Some("fixed")), [30_000; 4]);
    assert_eq!(of(Some("[1, 2.5, 60]")), [1_000, 2_500, 60_000, 60_000]);
    assert_eq!(of(Some("nonsense")), [30_000, 60_000, 120_000, 3_600_000]);
    assert_eq!(of(Some("[]")), [30_000, 60_000, 120_000, 3_600_000]);
    let none = Counters { max_attempts: Some(0), ..Counters::default() };
    assert_eq!(stage.decide(&none, result(ResultKind::Retryable), 0.0).transition, Transition::Dead);
}

#[test]
fn g03_a_relay_that_refuses_our_account_costs_the_row_nothing() {
    for name in Contract::builtin_names() {
        for stage in &builtin(name).stages {
            assert_eq!(
                stage.decide(&after(4), result(ResultKind::Refused), 0.0).transition,
                Transition::Released
            );
        }
    }
}

fn any_got() -> impl Strategy<Value = ResultKind> {
    prop::sample::select(vec![
        ResultKind::Delivered,
        ResultKind::Retryable,
        ResultKind::Rejected,
        ResultKind::Skipped,
        ResultKind::Deferred,
        ResultKind::Refused,
        ResultKind::Uncertain,
    ])
}

fn any_stage() -> impl Strategy<Value = (Contract, usize)> {
    let stages: Vec<(Contract, usize)> = Contract::builtin_names()
        .map(builtin)
        .flat_map(|contract| (0..contract.stages.len()).map(move |index| (contract.clone(), index)))
        .collect();
    prop::sample::select(stages)
}

proptest! {
    #[test]
    fn no_row_is_ever_lost(
        (contract, index) in any_stage(),
        attempts in any::<u32>(),
        max in proptest::option::of(any::<u32>()),
        schedule in proptest::option::of(".*"),
        kind in any_got(),
        seconds in proptest::option::of(any::<u64>()),
        partly_accepted in any::<bool>(),
        chance in -1.0..=1.0,
    ) {
        let stage = &contract.stages[index];
        let row = Counters { attempts, max_attempts: max, schedule };
        let result = AttemptResult { kind, after: seconds.map(Duration::from_secs), partly_accepted };
        let decision = stage.decide(&row, result, chance);
        prop_assert!(Transition::SETTLES.contains(&decision.transition));
        let to = stage.target(decision.transition).expect("every settle leads somewhere");
        prop_assert!(to.0 < contract.states.len());
        prop_assert!(decision.delay <= Duration::from_hours(3_650 * 24), "a time that databases can hold");
    }

    #[test]
    fn attempts_never_exceed_the_maximum((contract, index) in any_stage(), max in 1_u32..20, gots in prop::collection::vec(any_got(), 0..60)) {
        let mut stage = contract.stages[index].clone();
        stage.attempts.max = max;
        let mut attempts = 0;
        for kind in gots {
            let row = after(attempts);
            let decision = stage.decide(&row, result(kind), 0.0);
            attempts += u32::from(stage.attempts.count.counts(decision.transition));
            prop_assert!(attempts <= max);
            let back = stage.target(decision.transition) == Some(stage.retryable);
            if !back {
                break;
            }
            prop_assert!(attempts < max, "a row that goes back has an attempt left");
        }
    }

    #[test]
    fn failures_alone_always_end((contract, index) in any_stage(), max in 1_u32..50) {
        let mut stage = contract.stages[index].clone();
        stage.attempts.max = max;
        let tries = waits(&stage).len();
        prop_assert_eq!(tries + 1, max as usize, "exactly max tries");
        prop_assert_ne!(stage.attempts.count, AttemptCounting::Claims);
    }

    #[test]
    fn the_delay_stays_within_the_jitter((contract, index) in any_stage(), attempts in 0_u32..200, chance in -1.0..=1.0) {
        let mut stage = contract.stages[index].clone();
        stage.attempts.max = u32::MAX;
        let planned = stage.delay(&after(attempts), 0.0).as_secs_f64();
        let real = stage.delay(&after(attempts), chance).as_secs_f64();
        let jitter = match stage.retry_rule.schedule {
            Schedule::Exponential { jitter, cap, .. } => {
                prop_assert!(planned <= cap.as_secs_f64());
                jitter
            }
            Schedule::Delays { jitter, .. } => jitter,
        };
        prop_assert!(real >= planned * (1.0 - jitter) - 1e-6 && real <= planned * (1.0 + jitter) + 1e-6);
        if jitter == 0.0 {
            prop_assert!((real - planned).abs() < 1e-9, "without jitter it is deterministic");
        }
    }
}

#[test]
fn j05_retry_after_replaces_the_planned_delay() {
    let asked = |name: &str, seconds: u64| {
        let result =
            AttemptResult { after: Some(Duration::from_secs(seconds)), ..result(ResultKind::Retryable) };
        builtin(name).stages[0].decide(&after(0), result, 0.0).delay.as_secs()
    };
    assert_eq!((asked("dispatch_jobs", 2), asked("dispatch_jobs", 90)), (2, 90), "30 s were planned");
    assert_eq!(asked("dispatch_jobs", 999_999), LONGEST_RETRY_AFTER.as_secs());
    assert_eq!((asked("outbox", 0), asked("outbox", 90)), (1, 90), "1 s was planned: the longer counts");
}

#[test]
fn m04_retry_after_changes_no_delay_where_the_specification_does_not_name_it() {
    let result = AttemptResult { after: Some(Duration::from_mins(150)), ..result(ResultKind::Retryable) };
    for name in ["mail_outbox", "emails"] {
        for stage in &builtin(name).stages {
            let planned = stage.delay(&after(0), 0.0);
            assert_eq!(stage.decide(&after(0), result, 0.0).delay, planned, "{name}, {}", stage.name);
        }
    }
}
