//! Tests the assignments of each move, for all five contracts.

use postrider_contract::{Absent, Assignment, Condition, Contract, Expr, Literal, Move, Set, Transition};

use crate::builtin;

fn settle<'a>(contract: &'a Contract, stage: &str, transition: Transition) -> Move<'a> {
    contract.lease_move(contract.stage(stage).expect("the stage"), transition)
}

fn set(contract: &Contract, step: &Move<'_>, column: &str) -> Option<Set> {
    let found: Vec<Assignment> =
        contract.assignments(step).into_iter().filter(|assignment| assignment.column == column).collect();
    assert!(found.len() <= 1, "{column} is written once");
    found.into_iter().next().map(|assignment| assignment.set)
}

fn text(text: &str) -> Set {
    Set::Literal(Literal::Text(text.to_owned()))
}

#[test]
fn m01_m03_a_mail_is_claimed_and_sent() {
    let contract = builtin("mail_outbox");
    let claim = settle(&contract, "dispatch", Transition::Claimed);
    assert_eq!(set(&contract, &claim, "status"), Some(text("dispatching")));
    assert_eq!(set(&contract, &claim, "last_attempt_at"), Some(Set::NowLater));
    assert_eq!(set(&contract, &claim, "lease_until"), Some(Set::LeaseEnd));
    assert_eq!(set(&contract, &claim, "retry_count"), None);
    assert_eq!(set(&contract, &claim, "next_attempt_at"), None);
    let sent = settle(&contract, "dispatch", Transition::Delivered);
    assert_eq!(set(&contract, &sent, "last_error"), Some(Set::Null), "success empties last_error");
    assert_eq!(set(&contract, &sent, "retry_count"), None);
    assert_eq!(set(&contract, &sent, "sent_at"), Some(Set::Now));
    assert_eq!(set(&contract, &sent, "last_attempt_at"), None, "the claim set it");
    assert_eq!(set(&contract, &sent, "claimed_by"), Some(Set::Null));
}

#[test]
fn m03_m09_every_failure_counts_once_and_keeps_the_results_of_recipients() {
    let contract = builtin("mail_outbox");
    for transition in [Transition::Retry, Transition::Dead, Transition::Rejected, Transition::Skipped] {
        let step = settle(&contract, "dispatch", transition);
        assert_eq!(set(&contract, &step, "retry_count"), Some(Set::Increment), "{transition}");
        assert_eq!(set(&contract, &step, "last_error"), Some(Set::Reason), "{transition}");
        let kept =
            matches!(set(&contract, &step, "recipient_results"), Some(Set::ExprOrKeep(Expr::Outcome { .. })));
        assert!(kept, "{transition}: a failure without results keeps those of the attempt before");
    }
    let retry = settle(&contract, "dispatch", Transition::Retry);
    assert_eq!(set(&contract, &retry, "next_attempt_at"), Some(Set::AfterDelay));
}

#[test]
fn m09_an_interrupted_mail_costs_nothing_and_keeps_the_results_of_recipients() {
    let contract = builtin("mail_outbox");
    let step = settle(&contract, "dispatch", Transition::Deferred);
    assert_eq!(set(&contract, &step, "retry_count"), None);
    let kept = set(&contract, &step, "recipient_results");
    assert!(matches!(kept, Some(Set::ExprOrKeep(Expr::Outcome { .. }))), "{kept:?}");
}

#[test]
fn g01_what_was_never_tried_costs_nothing() {
    for name in Contract::builtin_names() {
        let contract = builtin(name);
        let attempts = contract.column(postrider_contract::ColumnRole::Attempts).expect("a counter");
        for stage in &contract.stages {
            for transition in [Transition::Claimed, Transition::Released, Transition::Deferred] {
                let step = contract.lease_move(stage, transition);
                assert_eq!(set(&contract, &step, attempts), None, "{name} {transition}");
            }
        }
    }
}

#[test]
fn m07_an_expired_lease_costs_an_attempt() {
    let contract = builtin("mail_outbox");
    let stage = &contract.stages[0];
    for to in [stage.retryable, stage.dead] {
        let step = contract.reclaim_move(stage, to);
        assert_eq!(set(&contract, &step, "retry_count"), Some(Set::Increment));
        assert_eq!(set(&contract, &step, "last_error"), Some(Set::Reason));
    }
    let back = contract.reclaim_move(stage, stage.retryable);
    assert_eq!(set(&contract, &back, "next_attempt_at"), Some(Set::Now));
}

#[test]
fn m06_the_spent_sweep_keeps_the_last_error() {
    let contract = builtin("mail_outbox");
    let step = contract.exhausted_move(&contract.stages[0]);
    assert_eq!(set(&contract, &step, "status"), Some(text("failed")));
    assert_eq!(
        set(&contract, &step, "last_error"),
        Some(Set::ExprIfNull(Expr::Reason { absent: Absent::Null }))
    );
    assert_eq!(set(&contract, &step, "retry_count"), None);
}

#[test]
fn j02_a_release_into_retrying_always_has_a_due_time() {
    // Regression: a release into a state that requires a due time made rows dead.
    let contract = builtin("dispatch_jobs");
    for transition in [Transition::Released, Transition::Deferred, Transition::Retry] {
        let step = settle(&contract, "deliver", transition);
        let due = set(&contract, &step, "next_attempt_at");
        assert!(matches!(due, Some(Set::NowIfNull | Set::AfterDelay)), "{transition}: {due:?}");
    }
    let dead = settle(&contract, "deliver", Transition::Dead);
    assert_eq!(set(&contract, &dead, "next_attempt_at"), Some(Set::Null));
}

#[test]
fn j01_durations_add_up() {
    let contract = builtin("dispatch_jobs");
    let step = settle(&contract, "deliver", Transition::Retry);
    assert!(matches!(set(&contract, &step, "duration_millis"), Some(Set::Plus(Expr::Outcome { .. }))));
}

#[test]
fn j03_a_sweep_without_a_reason_leaves_the_error_alone() {
    let contract = builtin("dispatch_jobs");
    let stage = &contract.stages[0];
    let publish = contract.sweep_move(stage, &contract.sweeps[1]);
    assert_eq!(set(&contract, &publish, "last_error"), None);
    assert_eq!(set(&contract, &publish, "queued_at"), Some(Set::Expr(Expr::Now)));
    let expired = contract.sweep_move(stage, &contract.sweeps[2]);
    assert_eq!(set(&contract, &expired, "last_error"), Some(Set::Reason));
    assert_eq!(set(&contract, &expired, "next_attempt_at"), Some(Set::Null));
    assert_eq!(set(&contract, &expired, "attempt_count"), None, "expired: no attempt");
}

#[test]
fn n02_n03_exactly_one_attempt_and_the_lock_cleared() {
    let contract = builtin("open_event_notifications");
    for transition in [Transition::Delivered, Transition::Retry, Transition::Dead, Transition::Skipped] {
        let step = settle(&contract, "notify", transition);
        assert_eq!(set(&contract, &step, "fanout_attempts"), Some(Set::Increment), "{transition}");
        assert_eq!(set(&contract, &step, "locked_by"), Some(Set::Null), "{transition}");
        assert_eq!(set(&contract, &step, "locked_at"), Some(Set::Null), "{transition}");
        assert_eq!(set(&contract, &step, "last_attempt_at"), Some(Set::Now), "{transition}");
        assert!(matches!(set(&contract, &step, "error"), Some(Set::Expr(Expr::Json(_)))), "{transition}");
    }
}

#[test]
fn n06_n11_moves_without_a_send_write_json_too() {
    let contract = builtin("open_event_notifications");
    let stage = &contract.stages[0];
    let expired = contract.sweep_move(stage, &contract.sweeps[0]);
    let Some(Set::Expr(Expr::Json(members))) = set(&contract, &expired, "error") else { panic!("JSON") };
    assert_eq!(members[0], ("code".into(), Expr::Literal(Literal::Text("expired".into()))));
    let spent = contract.exhausted_move(stage);
    assert!(
        matches!(set(&contract, &spent, "error"), Some(Set::ExprIfNull(Expr::Json(_)))),
        "last attempt kept"
    );
}

#[test]
fn n13_a_take_over_counts_nothing() {
    let contract = builtin("open_event_notifications");
    let stage = &contract.stages[0];
    let step = contract.reclaim_move(stage, stage.retryable);
    assert_eq!(set(&contract, &step, "fanout_attempts"), None);
    assert_eq!(set(&contract, &step, "last_attempt_at"), None);
    assert_eq!(set(&contract, &step, "locked_at"), Some(Set::Null));
}

#[test]
fn e01_entering_another_stage_resets_attempts_and_due_time() {
    let contract = builtin("emails");
    let stage = contract.stage("send").expect("the stage");
    let zero = Some(Set::Literal(Literal::Int(0)));
    for step in [
        contract.lease_move(stage, Transition::Delivered),
        contract.lease_move(stage, Transition::Dead),
        contract.lease_move(stage, Transition::Rejected),
        contract.reclaim_move(stage, stage.dead),
        contract.exhausted_move(stage),
    ] {
        assert_eq!(set(&contract, &step, "attempts"), zero, "{step:?}");
        assert_eq!(set(&contract, &step, "next_attempt_at"), Some(Set::Now), "{step:?}");
    }
    let back = contract.reclaim_move(stage, stage.retryable);
    assert_eq!(set(&contract, &back, "attempts"), Some(Set::Increment));
}

#[test]
fn e09_a_callback_never_overwrites_why_the_mail_failed_or_who_refused_it() {
    let contract = builtin("emails");
    for transition in Transition::SETTLES {
        for stage in ["failed_callback", "sent_callback"] {
            let step = settle(&contract, stage, transition);
            assert_eq!(set(&contract, &step, "reason"), None, "{stage} {transition}");
        }
    }
    let sent = settle(&contract, "send", Transition::Delivered);
    assert_eq!(set(&contract, &sent, "reason"), Some(Set::Reason), "who refused it, if any");
    let given_up = settle(&contract, "sent_callback", Transition::Dead);
    assert_eq!(set(&contract, &given_up, "next_attempt_at"), Some(Set::Never));
}

#[test]
fn e02_every_move_bumps_the_version_and_is_kept_in_history() {
    let contract = builtin("emails");
    for stage in &contract.stages {
        for transition in std::iter::once(Transition::Claimed).chain(Transition::SETTLES) {
            let step = contract.lease_move(stage, transition);
            assert_eq!(set(&contract, &step, "version"), Some(Set::Increment));
            assert!(contract.effects[0].on.contains(&transition), "{transition}");
        }
    }
    for transition in [Transition::Reclaimed, Transition::Swept, Transition::Requeued] {
        assert!(contract.effects[0].on.contains(&transition), "{transition}");
    }
    let claim = settle(&contract, "send", Transition::Claimed);
    assert_eq!(
        set(&contract, &claim, "updated_at"),
        Some(Set::NowLater),
        "the same column is the claim time"
    );
}

#[test]
fn e07_a_stage_that_writes_no_file_keeps_its_path() {
    let contract = builtin("emails");
    let step = settle(&contract, "send", Transition::Delivered);
    assert!(matches!(set(&contract, &step, "eml_file_path"), Some(Set::ExprOrKeep(_))));
}

#[test]
fn o02_the_last_failure_leaves_the_counter() {
    let contract = builtin("outbox");
    let stage = &contract.stages[0];
    assert_eq!(
        set(&contract, &contract.lease_move(stage, Transition::Retry), "retry_count"),
        Some(Set::Increment)
    );
    assert_eq!(set(&contract, &contract.lease_move(stage, Transition::Dead), "retry_count"), None);
    assert_eq!(set(&contract, &contract.reclaim_move(stage, stage.dead), "retry_count"), None);
    assert_eq!(
        set(&contract, &contract.reclaim_move(stage, stage.retryable), "retry_count"),
        Some(Set::Increment)
    );
}

#[test]
fn requeue_gives_a_fresh_row() {
    let contract = builtin("outbox");
    let pair = contract.requeue.as_ref().expect("a requeue").moves[0];
    let step = contract.operator_move(&contract.stages[0], Transition::Requeued, &pair);
    assert_eq!(set(&contract, &step, "retry_count"), Some(Set::Literal(Literal::Int(0))));
    assert_eq!(set(&contract, &step, "next_attempt_at"), Some(Set::Now));
    assert_eq!(set(&contract, &step, "last_error"), Some(Set::Null));
    assert_eq!(set(&contract, &step, "processed_at"), Some(Set::Null));
}

#[test]
fn an_extension_writes_the_lease_and_never_the_state() {
    for name in Contract::builtin_names() {
        let contract = builtin(name);
        for stage in &contract.stages {
            let written: Vec<String> =
                contract.extension(stage).into_iter().map(|assignment| assignment.column).collect();
            assert!(!written.is_empty(), "{name}");
            let states = contract.states.iter().flat_map(|state| &state.conditions);
            for (column, _) in states.filter(|(_, condition)| matches!(condition, Condition::Is(_))) {
                assert!(!written.contains(column), "{name} {column}");
            }
        }
    }
}
