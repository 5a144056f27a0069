//! Laws of how runs of ordered groups end: released, deferred, cut short, reclaimed, moved by operators.

use postrider_contract::{GroupMode, Transition};
use postrider_seams::store::{LeaseResult, Settlement};

use super::group_rows::{RETRY_DELAY, modes, settle_and_hand_back};
use crate::row::SECOND;
use crate::subject::Subject;
use crate::test_case::{TestCase, by_id, settlement};
use crate::test_table::TestedStore;

pub(crate) fn no_cancel(subject: &Subject, kind: TestedStore) -> Option<&'static str> {
    let not_applicable = super::groups::no_group(subject, kind);
    not_applicable.or(subject.contract.cancel.is_none().then_some("no cancelled state"))
}

pub(crate) async fn crashed_run_is_recovered_in_order(case: &TestCase) {
    let (crashed, successor) = (case.worker("gone").await, case.worker("heir").await);
    let mode = modes(&case.subject)[0];
    // Leases may expire from the front or the back: neither half is claimed before the other is reclaimed.
    for (name, early) in [("a", 0..2), ("b", 2..4)] {
        let ids = case.put_group(name, 4, mode).await;
        let all: Vec<_> = ids.iter().collect();
        case.assert_rows(&crashed.claim(10).await, &all);
        let (first, second): (Vec<_>, Vec<_>) =
            ids.iter().enumerate().partition(|(place, _)| early.contains(place));
        for (_, id) in first {
            case.expire(id).await;
        }
        assert_eq!(successor.reclaim().await.free, 2);
        assert!(successor.claim(10).await.is_empty(), "the other half is still in flight");
        for (_, id) in second {
            case.expire(id).await;
        }
        assert_eq!(successor.reclaim().await.free, 2);
        case.assert_rows(&successor.claim(10).await, &all);
        for id in &ids {
            case.finish_by_hand(id).await;
        }
    }
}

pub(crate) async fn released_run_comes_again(case: &TestCase) {
    let (one, two) = (case.worker("one").await, case.worker("two").await);
    for mode in modes(&case.subject) {
        let ids = case.put_group("a", 3, mode).await;
        let all: Vec<_> = ids.iter().collect();
        let run = one.claim(10).await;
        settle_and_hand_back(&one, &run, Transition::Released).await;
        let run = two.claim(10).await;
        case.assert_rows(&run, &all);
        for id in &ids {
            assert_eq!(case.attempts(id).await, 0, "what was never tried has spent nothing");
        }
        // Half of the run is delivered, the rest is handed back.
        assert_eq!(two.settle_with(&run[0], Transition::Delivered).await, LeaseResult::Held);
        settle_and_hand_back(&two, &run[1..], Transition::Released).await;
        case.assert_rows(&one.claim(10).await, &all[1..]);
        for id in &ids {
            case.finish_by_hand(id).await;
        }
    }
}

pub(crate) async fn deferred_head_holds(case: &TestCase) {
    let worker = case.worker("one").await;
    for mode in modes(&case.subject) {
        let ids = case.put_group("a", 2, mode).await;
        let run = worker.claim(10).await;
        settle_and_hand_back(&worker, &run, Transition::Deferred).await;
        assert!(worker.claim(10).await.is_empty(), "it was not tried, so it is still the first");
        case.set_due(&ids[0], case.table.now().await - SECOND).await;
        case.assert_rows(&worker.claim(10).await, &ids.iter().collect::<Vec<_>>());
        for id in &ids {
            case.finish_by_hand(id).await;
        }
    }
}

pub(crate) async fn lost_head_hands_back_the_rest(case: &TestCase) {
    let (slow, successor) = (case.worker("slow").await, case.worker("heir").await);
    let mode = modes(&case.subject)[0];
    let ids = case.put_group("a", 3, mode).await;
    let run = slow.claim(10).await;
    case.expire(&ids[0]).await;
    assert_eq!(successor.reclaim().await.free, 1);
    assert!(successor.claim(10).await.is_empty(), "those behind it are still in flight");
    let rest: Vec<_> = run[1..].iter().map(|row| row.lease.clone()).collect();
    let late = Settlement {
        delay: RETRY_DELAY,
        releases: rest.clone(),
        ..settlement(&run[0].lease, Transition::Retry)
    };
    assert_eq!(slow.settle_one(late.clone()).await, LeaseResult::Lost, "another took it back meanwhile");
    let again = successor.claim(10).await;
    case.assert_rows(&again, &ids.iter().collect::<Vec<_>>());
    // All leases of the first claim are void now: a repeated settlement changes nothing.
    assert_eq!(slow.settle_one(late).await, LeaseResult::Lost);
    for row in &again {
        assert_eq!(
            successor.settle_with(row, Transition::Delivered).await,
            LeaseResult::Held,
            "nobody touched {:?}",
            row.lease.id
        );
    }
}

pub(crate) async fn lost_rest_stays_with_its_new_owner(case: &TestCase) {
    let (slow, successor) = (case.worker("slow").await, case.worker("heir").await);
    let mode = modes(&case.subject)[0];
    let ids = case.put_group("a", 3, mode).await;
    let run = slow.claim(10).await;
    for id in &ids {
        case.expire(id).await;
    }
    assert_eq!(successor.reclaim().await.free, 3);
    let again = successor.claim(10).await;
    assert_eq!(again.len(), 3);
    let rest = run[1..].iter().map(|row| row.lease.clone()).collect();
    let late = Settlement { releases: rest, ..settlement(&run[0].lease, Transition::Retry) };
    assert_eq!(slow.settle_one(late).await, LeaseResult::Lost);
    for id in &ids {
        case.assert_state(id, case.subject.claimed()).await;
    }
    for row in &again {
        assert_eq!(successor.settle_with(row, Transition::Delivered).await, LeaseResult::Held);
    }
}

pub(crate) async fn cancelled_head_releases(case: &TestCase) {
    let worker = case.worker("one").await;
    for mode in modes(&case.subject) {
        let ids = case.put_group("a", 3, mode).await;
        case.set_due(&ids[0], case.table.now().await + crate::row::HOUR).await;
        assert!(worker.claim(10).await.is_empty());
        assert_eq!(worker.store.cancel(&by_id(&ids[0])).await.expect("there is a cancelled state"), 1);
        let run = worker.claim(10).await;
        case.assert_rows(&run, &[&ids[1], &ids[2]]);
        // A cancel of a row in flight wins over the settle that follows.
        assert_eq!(worker.store.cancel(&by_id(&ids[1])).await.expect("there is a cancelled state"), 1);
        assert_eq!(worker.settle_with(&run[0], Transition::Delivered).await, LeaseResult::Lost);
        assert!(worker.claim(10).await.is_empty(), "the last of the run is still in flight");
        assert_eq!(worker.settle_with(&run[1], Transition::Delivered).await, LeaseResult::Held);
    }
}

pub(crate) async fn rejected_head(case: &TestCase) {
    let worker = case.worker("one").await;
    for mode in modes(&case.subject) {
        for transition in [Transition::Rejected, Transition::Skipped] {
            let ids = case.put_group("a", 2, mode).await;
            let head = worker.claim(1).await;
            case.assert_rows(&head, &[&ids[0]]);
            assert_eq!(worker.settle_with(&head[0], transition).await, LeaseResult::Held);
            let stage = case.subject.stage();
            let target = stage.target(transition).expect("the contract has the move");
            let next = worker.claim(10).await;
            if mode == GroupMode::Block && stage.operator_states().contains(&target) {
                assert!(next.is_empty(), "{transition} ends where an operator must act");
            } else {
                case.assert_rows(&next, &[&ids[1]]);
            }
            for id in &ids {
                case.finish_by_hand(id).await;
            }
        }
    }
}
