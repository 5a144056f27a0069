//! Laws of how runs of ordered groups end: released, deferred, cut short, reclaimed, moved by operators.

use postrider_contract::{Hold, Transition};
use postrider_seams::store::{Held, Settlement};

use super::groups::{LATER, end_with_rest, modes};
use crate::arena::Kind;
use crate::row::SECOND;
use crate::subject::Subject;
use crate::trial::{Trial, one, settlement};

pub(crate) fn no_cancel(subject: &Subject, kind: Kind) -> Option<&'static str> {
    let silent = super::groups::no_group(subject, kind);
    silent.or(subject.contract.cancel.is_none().then_some("no cancelled state"))
}

pub(crate) async fn crashed_run_is_recovered_in_order(trial: &Trial) {
    let (gone, heir) = (trial.worker("gone").await, trial.worker("heir").await);
    let mode = modes(&trial.subject)[0];
    // Leases may expire from the front or the back: neither half is claimed before the other is reclaimed.
    for (name, early) in [("a", 0..2), ("b", 2..4)] {
        let ids = trial.put_group(name, 4, mode).await;
        let all: Vec<_> = ids.iter().collect();
        trial.assert_rows(&gone.claim(10).await, &all);
        let (first, second): (Vec<_>, Vec<_>) =
            ids.iter().enumerate().partition(|(place, _)| early.contains(place));
        for (_, id) in first {
            trial.expire(id).await;
        }
        assert_eq!(heir.reclaim().await.free, 2);
        assert!(heir.claim(10).await.is_empty(), "the other half is still in flight");
        for (_, id) in second {
            trial.expire(id).await;
        }
        assert_eq!(heir.reclaim().await.free, 2);
        trial.assert_rows(&heir.claim(10).await, &all);
        for id in &ids {
            trial.expel(id).await;
        }
    }
}

pub(crate) async fn released_run_comes_again(trial: &Trial) {
    let (one, two) = (trial.worker("one").await, trial.worker("two").await);
    for mode in modes(&trial.subject) {
        let ids = trial.put_group("a", 3, mode).await;
        let all: Vec<_> = ids.iter().collect();
        let run = one.claim(10).await;
        end_with_rest(&one, &run, Transition::Released).await;
        let run = two.claim(10).await;
        trial.assert_rows(&run, &all);
        for id in &ids {
            assert_eq!(trial.attempts(id).await, 0, "what was never tried has spent nothing");
        }
        // Half of the run is delivered, the rest is handed back.
        assert_eq!(two.end(&run[0], Transition::Delivered).await, Held::Held);
        end_with_rest(&two, &run[1..], Transition::Released).await;
        trial.assert_rows(&one.claim(10).await, &all[1..]);
        for id in &ids {
            trial.expel(id).await;
        }
    }
}

pub(crate) async fn deferred_head_holds(trial: &Trial) {
    let worker = trial.worker("one").await;
    for mode in modes(&trial.subject) {
        let ids = trial.put_group("a", 2, mode).await;
        let run = worker.claim(10).await;
        end_with_rest(&worker, &run, Transition::Deferred).await;
        assert!(worker.claim(10).await.is_empty(), "it was not tried, so it is still the first");
        trial.set_due(&ids[0], trial.arena.now().await - SECOND).await;
        trial.assert_rows(&worker.claim(10).await, &ids.iter().collect::<Vec<_>>());
        for id in &ids {
            trial.expel(id).await;
        }
    }
}

pub(crate) async fn lost_head_hands_back_the_rest(trial: &Trial) {
    let (slow, heir) = (trial.worker("slow").await, trial.worker("heir").await);
    let mode = modes(&trial.subject)[0];
    let ids = trial.put_group("a", 3, mode).await;
    let run = slow.claim(10).await;
    trial.expire(&ids[0]).await;
    assert_eq!(heir.reclaim().await.free, 1);
    assert!(heir.claim(10).await.is_empty(), "those behind it are still in flight");
    let rest: Vec<_> = run[1..].iter().map(|row| row.lease.clone()).collect();
    let late =
        Settlement { delay: LATER, hands_back: rest.clone(), ..settlement(&run[0].lease, Transition::Retry) };
    assert_eq!(slow.settle_one(late.clone()).await, Held::Lost, "another took it back meanwhile");
    let again = heir.claim(10).await;
    trial.assert_rows(&again, &ids.iter().collect::<Vec<_>>());
    // All leases of the first claim are void now: a repeated settlement changes nothing.
    assert_eq!(slow.settle_one(late).await, Held::Lost);
    for row in &again {
        assert_eq!(
            heir.end(row, Transition::Delivered).await,
            Held::Held,
            "nobody touched {:?}",
            row.lease.id
        );
    }
}

pub(crate) async fn lost_rest_stays_with_its_new_owner(trial: &Trial) {
    let (slow, heir) = (trial.worker("slow").await, trial.worker("heir").await);
    let mode = modes(&trial.subject)[0];
    let ids = trial.put_group("a", 3, mode).await;
    let run = slow.claim(10).await;
    for id in &ids {
        trial.expire(id).await;
    }
    assert_eq!(heir.reclaim().await.free, 3);
    let again = heir.claim(10).await;
    assert_eq!(again.len(), 3);
    let rest = run[1..].iter().map(|row| row.lease.clone()).collect();
    let late = Settlement { hands_back: rest, ..settlement(&run[0].lease, Transition::Retry) };
    assert_eq!(slow.settle_one(late).await, Held::Lost);
    for id in &ids {
        trial.assert_state(id, trial.subject.claimed()).await;
    }
    for row in &again {
        assert_eq!(heir.end(row, Transition::Delivered).await, Held::Held);
    }
}

pub(crate) async fn cancelled_head_lets_go(trial: &Trial) {
    let worker = trial.worker("one").await;
    for mode in modes(&trial.subject) {
        let ids = trial.put_group("a", 3, mode).await;
        trial.set_due(&ids[0], trial.arena.now().await + crate::row::HOUR).await;
        assert!(worker.claim(10).await.is_empty());
        assert_eq!(worker.store.cancel(&one(&ids[0])).await.expect("there is a cancelled state"), 1);
        let run = worker.claim(10).await;
        trial.assert_rows(&run, &[&ids[1], &ids[2]]);
        // A cancel of a row in flight wins over the settle that follows.
        assert_eq!(worker.store.cancel(&one(&ids[1])).await.expect("there is a cancelled state"), 1);
        assert_eq!(worker.end(&run[0], Transition::Delivered).await, Held::Lost);
        assert!(worker.claim(10).await.is_empty(), "the last of the run is still in flight");
        assert_eq!(worker.end(&run[1], Transition::Delivered).await, Held::Held);
    }
}

pub(crate) async fn hopeless_head(trial: &Trial) {
    let worker = trial.worker("one").await;
    for mode in modes(&trial.subject) {
        for transition in [Transition::Rejected, Transition::Skipped] {
            let ids = trial.put_group("a", 2, mode).await;
            let head = worker.claim(1).await;
            trial.assert_rows(&head, &[&ids[0]]);
            assert_eq!(worker.end(&head[0], transition).await, Held::Held);
            let stage = trial.subject.stage();
            let target = stage.target(transition).expect("the contract has the move");
            let next = worker.claim(10).await;
            if mode == Hold::Block && stage.stopped().contains(&target) {
                assert!(next.is_empty(), "{transition} ends where an operator must act");
            } else {
                trial.assert_rows(&next, &[&ids[1]]);
            }
            for id in &ids {
                trial.expel(id).await;
            }
        }
    }
}
