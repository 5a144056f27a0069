//! Tests of several senders as one: fail-over, rate limits, cool-down, and retries after an uncertain send.

use std::sync::Arc;
use std::time::Duration;

use postrider_seams::{Envelope, Failure, Outcome, Transport, transport};
use postrider_sender::{Reliable, RetryPlan, Sender};
use tokio::time::Instant;

use crate::fixtures::*;

const MINUTE: Duration = Duration::from_mins(1);

fn reliable(senders: &[(&str, &Arc<Scripted>)]) -> Arc<Reliable> {
    rated(senders, None)
}

fn rated(senders: &[(&str, &Arc<Scripted>)], rate: Option<f64>) -> Arc<Reliable> {
    let senders = senders
        .iter()
        .map(|(name, transport)| Sender {
            name: (*name).to_owned(),
            transport: Arc::clone(transport) as Arc<dyn Transport>,
            rate,
        })
        .collect();
    Arc::new(Reliable::new(senders, RetryPlan::default(), Arc::new(Fair)))
}

async fn send(reliable: &impl Transport, key: &str) -> Outcome {
    one(reliable, mail(key, &["ann@example.com"]), MINUTE).await
}

async fn one(reliable: &(impl Transport + ?Sized), envelope: Envelope, time: Duration) -> Outcome {
    let mut outcomes = reliable.deliver(&[envelope], Instant::now() + time).await;
    assert_eq!(outcomes.len(), 1, "one outcome per envelope");
    outcomes.remove(0)
}

#[tokio::test(start_paused = true)]
async fn n02_inner_tries_are_one_outcome() {
    let first = Scripted::new([later(), later()]);
    let outcome = send(&*reliable(&[("a", &first)]), "k").await;
    assert!(matches!(&outcome, Outcome::Delivered(receipt) if receipt.id.as_deref() == Some("id")));
    assert_eq!(provider(&outcome), "a");
    assert_eq!(first.times(), [0, 500, 2500], "by the plan");
}

#[tokio::test(start_paused = true)]
async fn n09_a_retry_after_is_kept_and_a_long_one_is_a_cool_down() {
    let first = Scripted::new([wait(4)]);
    send(&*reliable(&[("a", &first)]), "k").await;
    assert_eq!(first.times(), [0, 4000]);

    let (first, second) = (Scripted::new([wait(600)]), Scripted::new([]));
    let both = reliable(&[("a", &first), ("b", &second)]);
    assert_eq!(provider(&send(&*both, "k1").await), "b");
    tokio::time::advance(Duration::from_secs(599)).await;
    assert_eq!(provider(&send(&*both, "k2").await), "b");
    tokio::time::advance(Duration::from_secs(2)).await;
    assert_eq!(provider(&send(&*both, "k3").await), "a");
    assert_eq!((first.count(), second.count()), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn n09_the_next_sender_takes_over_and_the_first_cools_down() {
    let (first, second) = (Scripted::new([away(), away(), away()]), Scripted::new([]));
    let both = reliable(&[("a", &first), ("b", &second)]);
    assert_eq!(provider(&send(&*both, "k1").await), "b");
    assert_eq!(first.count(), 3);
    assert_eq!(provider(&send(&*both, "k2").await), "b");
    assert_eq!(first.count(), 3, "it cools down");
    tokio::time::advance(Duration::from_secs(31)).await;
    assert_eq!(provider(&send(&*both, "k3").await), "a");
}

#[tokio::test(start_paused = true)]
async fn n09_a_rejected_mail_is_not_tried_at_another_sender() {
    let (first, second) =
        (Scripted::new([Answer::Say(Outcome::Rejected(Failure::new("no such user")))]), Scripted::new([]));
    let outcome = send(&*reliable(&[("a", &first), ("b", &second)]), "k").await;
    assert!(matches!(outcome, Outcome::Rejected(_)));
    assert_eq!((first.count(), second.count()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_partly_accepted_mail_is_recorded_before_another_sender() {
    let partly = || Failure { partly_accepted: true, accepted_now: true, ..Failure::new("some") };
    for said in [Outcome::Retryable(partly()), Outcome::Deferred(partly())] {
        let (first, second) = (Scripted::new([Answer::Say(said.clone())]), Scripted::new([]));
        let outcome = send(&*reliable(&[("a", &first), ("b", &second)]), "k").await;
        assert_eq!(outcome.attempt_result(), said.attempt_result());
        assert!(outcome.failure().is_some_and(|failure| failure.accepted_now), "{outcome:?}");
        assert_eq!((first.count(), second.count()), (1, 0));
    }
}

/// Recipients that accepted the mail in an earlier attempt do not prevent fail-over to the next sender.
#[tokio::test(start_paused = true)]
async fn m09_a_mail_accepted_for_some_in_an_earlier_attempt_fails_over() {
    let before =
        || Answer::Say(Outcome::Retryable(Failure { partly_accepted: true, ..Failure::new("500 later") }));
    let (first, second) = (Scripted::new([before(), before(), before()]), Scripted::new([]));
    let outcome = send(&*reliable(&[("a", &first), ("b", &second)]), "k").await;
    assert!(matches!(outcome, Outcome::Delivered(_)), "{outcome:?}");
    assert_eq!((first.count(), second.count()), (3, 1));
}

#[tokio::test(start_paused = true)]
async fn g03_senders_that_refuse_us_are_skipped_and_the_lane_stops_if_all_do() {
    let (first, second) = (Scripted::new([refused()]), Scripted::new([]));
    let both = reliable(&[("a", &first), ("b", &second)]);
    assert_eq!(provider(&send(&*both, "k").await), "b");
    assert_eq!(first.count(), 1, "a refusal of us is not tried again");

    let (first, second) = (Scripted::new([refused()]), Scripted::new([refused()]));
    let both = reliable(&[("a", &first), ("b", &second)]);
    assert!(matches!(send(&*both, "k1").await, Outcome::Refused(_)));
    let outcome = send(&*both, "k2").await;
    assert!(matches!(&outcome, Outcome::Deferred(failure) if failure.after.is_some()), "{outcome:?}");
    both.probe().await.unwrap();
    assert_eq!(provider(&send(&*both, "k3").await), "a", "a good probe ends the cool-down");
}

#[tokio::test(start_paused = true)]
async fn g01_if_all_senders_are_unreachable_so_is_the_group() {
    let (first, second) = (Scripted::new(vec![away(); 3]), Scripted::new(vec![away(); 3]));
    let outcome = send(&*reliable(&[("a", &first), ("b", &second)]), "k").await;
    assert!(matches!(outcome, Outcome::Retryable(failure) if failure.unreachable));
    let (first, second) = (Scripted::new(vec![away(); 3]), Scripted::new(vec![later(); 3]));
    let outcome = send(&*reliable(&[("a", &first), ("b", &second)]), "k").await;
    assert!(matches!(&outcome, Outcome::Retryable(failure) if !failure.unreachable), "{outcome:?}");
}

#[tokio::test(start_paused = true)]
async fn n09_no_answer_is_never_failed_over_in_the_same_attempt() {
    let (first, second) = (Scripted::new([uncertain()]), Scripted::new([]));
    let both = reliable(&[("a", &first), ("b", &second)]);
    assert!(matches!(send(&*both, "k").await, Outcome::Uncertain(_)));
    assert_eq!((first.count(), second.count()), (1, 0));
    assert_eq!(provider(&send(&*both, "k").await), "a", "the next attempt asks the same sender first");
}

#[tokio::test(start_paused = true)]
async fn n09_a_sender_that_may_have_accepted_is_tried_first_even_while_it_cools_down() {
    let first = Scripted::new([uncertain(), later(), later(), later()]);
    let second = Scripted::new([]);
    let both = reliable(&[("a", &first), ("b", &second)]);
    assert!(matches!(send(&*both, "k").await, Outcome::Uncertain(_)));
    assert_eq!(provider(&send(&*both, "other").await), "b", "after three failures of the first");
    assert_eq!((first.count(), second.count()), (4, 1));
    assert_eq!(provider(&send(&*both, "k").await), "a");
    assert_eq!((first.count(), second.count()), (5, 1));
}

#[tokio::test(start_paused = true)]
async fn n09_where_repeats_are_dropped_no_answer_is_tried_again_at_the_same_sender() {
    let (first, second) = (Scripted::idempotent([uncertain()]), Scripted::new([]));
    assert_eq!(provider(&send(&*reliable(&[("a", &first), ("b", &second)]), "k").await), "a");
    assert_eq!((first.count(), second.count()), (2, 0));

    let first = Scripted::idempotent([uncertain(), away(), away()]);
    let outcome = send(&*reliable(&[("a", &first), ("b", &second)]), "k").await;
    assert!(matches!(outcome, Outcome::Uncertain(_)), "the first try may have been taken: {outcome:?}");
    assert_eq!((first.count(), second.count()), (3, 0));
}

#[tokio::test(start_paused = true)]
async fn n09_concurrent_sends_of_one_key_are_one_send() {
    let slow = Answer::After(Duration::from_secs(3), delivered("once"));
    let first = Scripted::new([slow]);
    let only = reliable(&[("a", &first)]);
    let (one, two) = tokio::join!(send(&*only, "k"), send(&*only, "k"));
    assert_eq!(one, two);
    assert_eq!(first.count(), 1);
    send(&*only, "k").await;
    assert_eq!(first.count(), 2, "a later send is a send of its own");
    let (_, _) = tokio::join!(send(&*only, "k1"), send(&*only, "k2"));
    assert_eq!(first.count(), 4, "other keys are other mails");
}

#[tokio::test(start_paused = true)]
async fn n09_a_cancelled_send_does_not_block_a_later_one() {
    let first = Scripted::new([Answer::After(Duration::from_hours(1), delivered("never"))]);
    let only = reliable(&[("a", &first)]);
    let given_up = tokio::time::timeout(Duration::from_secs(1), send(&*only, "k")).await;
    assert!(given_up.is_err());
    assert!(matches!(send(&*only, "k").await, Outcome::Delivered(_)));
}

#[tokio::test(start_paused = true)]
async fn n09_everything_ends_within_three_quarters_of_the_lease() {
    let endless = || Scripted::new(vec![wait(9); 100]);
    let (first, second) = (endless(), endless());
    let both = reliable(&[("a", &first), ("b", &second)]);
    let lane = both.for_lane(Duration::from_secs(20), true);
    let started = Instant::now();
    let outcome = one(&*lane, mail("k", &["ann@example.com"]), Duration::from_mins(5)).await;
    assert!(matches!(outcome, Outcome::Retryable(_)));
    assert!(started.elapsed() <= Duration::from_secs(15), "{:?}", started.elapsed());

    let hangs = Scripted::new([Answer::After(Duration::from_hours(1), delivered("late"))]);
    let lane = reliable(&[("a", &hangs)]).for_lane(Duration::from_secs(20), true);
    let started = Instant::now();
    let outcome = one(&*lane, mail("k", &["ann@example.com"]), Duration::from_mins(5)).await;
    assert!(matches!(outcome, Outcome::Uncertain(_)), "{outcome:?}");
    assert!(started.elapsed() <= Duration::from_secs(17), "{:?}", started.elapsed());
}

#[tokio::test(start_paused = true)]
async fn n09_a_token_bucket_paces_each_sender() {
    let first = Scripted::new([]);
    let paced = rated(&[("a", &first)], Some(2.0));
    tokio::time::advance(MINUTE).await;
    let batch: Vec<Envelope> = (0..6).map(|n| mail(&format!("k{n}"), &["ann@example.com"])).collect();
    let outcomes = paced.deliver(&batch, Instant::now() + MINUTE).await;
    assert!(outcomes.iter().all(|outcome| matches!(outcome, Outcome::Delivered(_))));
    assert_eq!(first.times(), [0, 0, 500, 1000, 1500, 2000]);
}

#[tokio::test(start_paused = true)]
async fn g01_a_rate_that_leaves_no_room_costs_nothing() {
    let first = Scripted::new([]);
    let paced = rated(&[("a", &first)], Some(0.1));
    assert!(matches!(send(&*paced, "k1").await, Outcome::Delivered(_)));
    let outcome = one(&*paced, mail("k2", &["ann@example.com"]), Duration::from_secs(5)).await;
    assert!(matches!(&outcome, Outcome::Deferred(failure) if failure.after.is_some()), "{outcome:?}");
    assert_eq!(first.count(), 1);
}

/// Our own rate limit defers; its delay must not be recorded as one that a provider requested.
#[tokio::test(start_paused = true)]
async fn n04_only_a_providers_retry_after_is_recorded() {
    let first = Scripted::new([wait(600)]);
    let second = Scripted::new([Answer::Say(Outcome::Deferred(Failure {
        after: Some(Duration::from_secs(1)),
        ..Failure::new("its rate leaves no room")
    }))]);
    let outcome = send(&*reliable(&[("a", &first), ("b", &second)]), "k").await;
    assert!(
        matches!(&outcome, Outcome::Retryable(failure) if failure.after == Some(Duration::from_mins(10))),
        "{outcome:?}"
    );

    let second = Scripted::new([Answer::Say(Outcome::Deferred(Failure {
        after: Some(Duration::from_secs(1)),
        ..Failure::new("its rate leaves no room")
    }))]);
    let first = Scripted::new([later(), later(), later()]);
    let outcome = send(&*reliable(&[("a", &first), ("b", &second)]), "k").await;
    assert!(matches!(&outcome, Outcome::Retryable(failure) if failure.after.is_none()), "{outcome:?}");
}

/// A try that may have been accepted, then a deferral: the wait of the deferral is ours.
#[tokio::test(start_paused = true)]
async fn n04_our_own_wait_is_not_recorded_after_a_try_without_an_answer() {
    let deferred = Answer::Say(Outcome::Deferred(Failure {
        after: Some(Duration::from_secs(5)),
        ..Failure::new("no descriptors left")
    }));
    let first = Scripted::idempotent([uncertain(), deferred]);
    let outcome = send(&*reliable(&[("a", &first)]), "k").await;
    assert!(matches!(&outcome, Outcome::Uncertain(failure) if failure.after.is_none()), "{outcome:?}");

    let first = Scripted::idempotent([uncertain(), wait(600)]);
    let outcome = send(&*reliable(&[("a", &first)]), "k").await;
    let after = outcome.failure().unwrap().after;
    assert_eq!(after, Some(Duration::from_mins(10)), "the provider's is kept: {outcome:?}");
}

/// A table may store a deferral as a lock, which is no longer than a lease.
#[tokio::test(start_paused = true)]
async fn n04_rows_are_deferred_for_one_lease_at_most_while_the_only_sender_cools_down() {
    let first = Scripted::new([wait(3600)]);
    let lane = reliable(&[("a", &first)]).for_lane(Duration::from_mins(2), true);
    assert!(matches!(one(&*lane, mail("k1", &["ann@example.com"]), MINUTE).await, Outcome::Retryable(_)));
    let outcome = one(&*lane, mail("k2", &["ann@example.com"]), MINUTE).await;
    assert!(
        matches!(&outcome, Outcome::Deferred(failure) if failure.after == Some(Duration::from_mins(2))),
        "{outcome:?}"
    );
}

/// `mail_outbox` and `emails` ignore Retry-After; notifications over the same sender follow it.
#[tokio::test(start_paused = true)]
async fn m04_a_retry_after_holds_no_row_of_a_contract_that_ignores_it() {
    let first = Scripted::new([wait(3600), wait(3600), wait(3600), wait(3600)]);
    let senders = reliable(&[("a", &first)]);
    let follows = senders.for_lane(Duration::from_mins(2), true);
    let ignores = senders.for_lane(Duration::from_mins(2), false);
    let ann = |key: &str| mail(key, &["ann@example.com"]);
    assert!(matches!(one(&*follows, ann("k1"), MINUTE).await, Outcome::Retryable(_)));
    // The usual cool-down passes.
    tokio::time::advance(MINUTE).await;
    assert!(matches!(one(&*follows, ann("k1"), MINUTE).await, Outcome::Deferred(_)));
    let outcome = one(&*ignores, ann("k2"), MINUTE).await;
    assert!(matches!(&outcome, Outcome::Retryable(failure) if failure.after.is_none()), "{outcome:?}");
    assert_eq!(first.count(), 4, "one try that requested a pause, and all tries of the other lane");
    tokio::time::advance(MINUTE).await;
    assert!(matches!(one(&*ignores, ann("k2"), MINUTE).await, Outcome::Delivered(_)));
}

#[tokio::test(start_paused = true)]
async fn n09_a_retry_after_that_no_clock_reaches_is_a_cool_down_of_a_day() {
    let endless = Failure { after: Some(Duration::MAX), ..Failure::new("429") };
    for answer in [Outcome::Retryable(endless.clone()), Outcome::Uncertain(endless)] {
        let (first, second) = (Scripted::idempotent([Answer::Say(answer)]), Scripted::new([]));
        let both = reliable(&[("a", &first), ("b", &second)]);
        send(&*both, "k1").await;
        assert_eq!(provider(&send(&*both, "k2").await), "b");
        tokio::time::advance(Duration::from_hours(25)).await;
        assert_eq!(provider(&send(&*both, "k3").await), "a");
    }
}

#[tokio::test(start_paused = true)]
async fn n09_a_panic_is_an_uncertain_outcome() {
    for answer in [Answer::Panic, Answer::Nothing] {
        let outcome = send(&*reliable(&[("a", &Scripted::new([answer]))]), "k").await;
        assert!(matches!(outcome, Outcome::Uncertain(_)), "{outcome:?}");
        assert_eq!(provider(&outcome), "a");
    }
}

#[tokio::test(start_paused = true)]
async fn one_sender_that_answers_is_enough_for_a_probe() {
    let refusing = Arc::new(Scripted { refuses_probes: true, ..Scripted::default() });
    let fine = Scripted::new([]);
    reliable(&[("a", &refusing), ("b", &fine)]).probe().await.unwrap();
    let none = reliable(&[("a", &refusing)]).probe().await;
    assert!(matches!(none, Err(transport::Error::Refused(_))));
}
