//! Laws of leases: expired ones are reclaimed, live ones are kept.

use std::time::Duration;

use postrider_contract::{LEASE_EXPIRED, LEAST_CRASHES, Role, Transition};
use postrider_seams::store::{Held, Reclaimed};

use crate::arena::Kind;
use crate::cell::Cell;
use crate::expected::Expected;
use crate::row::SECOND;
use crate::subject::Subject;
use crate::trial::{Trial, patiently};

/// Returns the expected answer of a reclaim, by the number of rows retried, dead and handed back at no cost.
fn took(retried: u64, dead: u64, free: u64) -> Reclaimed {
    Reclaimed { retried, dead, free }
}

pub(crate) async fn crash_is_recovered(trial: &Trial) {
    let expected = Expected::of(&trial.subject);
    let (gone, next) = (trial.worker("gone").await, trial.worker("next").await);
    let (id, first) = trial.claimed_by(&gone, 1).await;
    // Delivered, but never settled.
    trial.crash(&gone, &id, &first).await;
    assert!(next.claim(10).await.is_empty(), "an expired lease is first taken back");
    assert_eq!(next.reclaim().await, took(1, 0, 0));
    trial.assert_state(&id, trial.subject.stage().retry).await;
    assert_eq!(trial.attempts(&id).await, i64::from(expected.recovery_counts), "recovery counts as said");
    let row = trial.row(&id).await;
    if expected.recovery_counts {
        trial.assert_error(&row, LEASE_EXPIRED);
    }
    assert_eq!(next.reclaim().await, Reclaimed::default(), "a second reclaim finds nothing");
    let again = next.claim_one().await;
    assert_eq!(again.lease.id, first.lease.id, "it is delivered again");
    assert_eq!(i64::from(again.counters.attempts), trial.attempts(&id).await);
    assert_eq!(again.crashes, 1);
    assert_eq!(next.end(&again, Transition::Delivered).await, Held::Held);
}

pub(crate) async fn held_rows_come_back_free(trial: &Trial) {
    let (gone, next) = (trial.worker("gone").await, trial.worker("next").await);
    let ids = trial.put_ready(2).await;
    let before = [trial.row(&ids[0]).await, trial.row(&ids[1]).await];
    let claimed = gone.claim(10).await;
    assert_eq!(claimed.len(), 2);
    // The worker had begun the other row, and has settled it since.
    let other = claimed.iter().find(|row| trial.is(&ids[1], &row.lease.id)).expect("both");
    assert_eq!(gone.begin(&other.lease).await, Held::Held);
    assert_eq!(gone.end(other, Transition::Released).await, Held::Held);
    trial.expire(&ids[0]).await;
    assert_eq!(next.reclaim().await, took(0, 0, 1));
    trial.assert_state(&ids[0], trial.subject.untried()).await;
    assert_eq!(trial.attempts(&ids[0]).await, 0, "nothing was tried, so it costs nothing");
    let after = trial.row(&ids[0]).await;
    assert_eq!(trial.role(&after, Role::Error), trial.role(&before[0], Role::Error), "no error is claimed");
    assert_eq!(trial.role(&after, Role::Due), trial.role(&before[0], Role::Due), "it is due as before");
    let again = next.claim(10).await;
    assert_eq!(again.len(), 2, "both are due at once");
    assert!(again.iter().all(|row| row.crashes == 0), "and no crash is counted");
}

pub(crate) async fn begin_checks_the_lease(trial: &Trial) {
    let (slow, quick) = (trial.worker("slow").await, trial.worker("quick").await);
    let (id, old) = trial.claimed_by(&slow, 1).await;
    assert_eq!(slow.begin(&old.lease).await, Held::Held);
    let before = trial.row(&id).await;
    assert_eq!(slow.begin(&old.lease).await, Held::Held, "as often as it likes");
    assert_eq!(trial.row(&id).await, before, "a mark does not touch the row");
    trial.expire(&id).await;
    assert_eq!(slow.begin(&old.lease).await, Held::Lost, "its time is over, taken back or not");
    assert_eq!(quick.reclaim().await, took(0, 0, 1), "it was told not to send it: no crash is charged");
    assert_eq!(trial.attempts(&id).await, 0);
    assert_eq!(slow.begin(&old.lease).await, Held::Lost);
    let new = quick.claim_one().await;
    assert_eq!(new.crashes, 0);
    assert_eq!(slow.begin(&old.lease).await, Held::Lost, "another worker has it");
    assert_eq!(quick.begin(&new.lease).await, Held::Held);
}

pub(crate) async fn marks_follow_an_extension(trial: &Trial) {
    let (gone, next) = (trial.worker("gone").await, trial.worker("next").await);
    let (id, mut claimed) = trial.claimed_by(&gone, 1).await;
    assert_eq!(gone.begin(&claimed.lease).await, Held::Held);
    claimed.lease = gone.extend(&claimed.lease).await.expect("it is held");
    trial.crash(&gone, &id, &claimed).await;
    assert_eq!(next.reclaim().await, took(1, 0, 0), "it was begun");
}

pub(crate) async fn completed_tries_clear_crashes(trial: &Trial) {
    let worker = trial.worker("a").await;
    let id = trial.put(trial.ready_row(1).await).await;
    for crashes in 0..2 {
        let claimed = worker.claim_one().await;
        assert_eq!(claimed.crashes, crashes);
        trial.crash(&worker, &id, &claimed).await;
        assert_eq!(worker.reclaim().await, took(1, 0, 0));
    }
    // Keep the attempt counter low: attempts must not end the row here.
    let attempts = trial.subject.column(Role::Attempts).expect("every contract counts").to_owned();
    trial.set(&id, &attempts, Cell::Int(0)).await;
    let free = worker.claim_one().await;
    assert_eq!(free.crashes, 2);
    assert_eq!(worker.end(&free, Transition::Released).await, Held::Held);
    let tried = worker.claim_one().await;
    assert_eq!(tried.crashes, 2, "handed back untried: nothing has changed");
    assert_eq!(worker.end(&tried, Transition::Retry).await, Held::Held);
    trial.age(&id, Duration::from_hours(2)).await;
    assert_eq!(worker.claim_one().await.crashes, 0, "a try that was completed clears them");
}

pub(crate) async fn live_lease_is_left_alone(trial: &Trial) {
    let (holder, other) = (trial.worker("holder").await, trial.worker("other").await);
    let (id, claimed) = trial.claimed_by(&holder, 1).await;
    for wait in [Duration::ZERO, trial.subject.stage().lease.duration.saturating_sub(Duration::from_secs(20))]
    {
        trial.age_lease(&id, wait).await;
        let before = trial.row(&id).await;
        assert_eq!(other.reclaim().await, Reclaimed::default(), "after {wait:?}");
        assert!(other.claim(10).await.is_empty());
        assert_eq!(trial.row(&id).await, before);
    }
    if trial.subject.has(Role::LeaseUntil) {
        // The fence is unchanged, so the holder can still settle.
        assert_eq!(holder.end(&claimed, Transition::Delivered).await, Held::Held);
    }
}

pub(crate) fn no_poison_guard(subject: &Subject, _: Kind) -> Option<&'static str> {
    (!subject.stage().lease.spend).then_some("recovery costs nothing; take-overs are noted instead")
}

pub(crate) async fn poison_guard(trial: &Trial) {
    let expected = Expected::of(&trial.subject);
    let worker = trial.worker("a").await;
    let id = trial.put(trial.ready_row(1).await).await;
    let crashes = expected.tries.max(LEAST_CRASHES);
    for crash in 1..=crashes {
        let claimed = worker.claim_one().await;
        assert_eq!(claimed.crashes, crash - 1, "crashes are counted");
        // `crash` ages the table's times but not the time of the crash.
        assert!((0..60 * SECOND).contains(&claimed.since_crash), "{} µs since the last", claimed.since_crash);
        trial.crash(&worker, &id, &claimed).await;
        let last = crash == crashes;
        assert_eq!(worker.reclaim().await, took(u64::from(!last), u64::from(last), 0), "crash {crash}");
        let attempts = trial.attempts(&id).await;
        assert!(last || attempts < i64::from(expected.tries), "a crash never spends the last attempt");
    }
    trial.assert_state(&id, trial.subject.stage().dead).await;
    let row = trial.row(&id).await;
    trial.assert_error(&row, "poison");
    assert!(worker.claim(10).await.is_empty(), "it kills no more workers");
}

pub(crate) async fn crashes_never_spend_the_last_attempt(trial: &Trial) {
    let expected = Expected::of(&trial.subject);
    let worker = trial.worker("a").await;
    let attempts = trial.subject.column(Role::Attempts).expect("every contract counts").to_owned();
    let left = i64::from(expected.tries) - 1;
    for n in 1..=3 {
        let mut row = trial.ready_row(n).await;
        row.insert(attempts.clone(), Cell::Int(left));
        let id = trial.put(row).await;
        let claimed = worker.claim_one().await;
        trial.crash(&worker, &id, &claimed).await;
        assert_eq!(patiently(|| worker.store.reclaim(1)).await, took(1, 0, 0), "row {n}");
        assert_eq!(trial.attempts(&id).await, left);
        let again = worker.claim_one().await;
        assert_eq!(
            (again.crashes, i64::from(again.counters.attempts)),
            (1, left),
            "its last try is still to come"
        );
        trial.expel(&id).await;
    }
}

pub(crate) fn no_foreign_claims(subject: &Subject, _: Kind) -> Option<&'static str> {
    (!subject.has(Role::LeaseUntil)).then_some("its lease is the claim time that every worker writes")
}

pub(crate) async fn foreign_claims_expire(trial: &Trial) {
    let worker = trial.worker("a").await;
    let id = trial.put(trial.row_in(1, trial.subject.claimed()).await).await;
    let now = trial.arena.now().await;
    let claimed_at = trial.subject.column(Role::ClaimedAt).expect("it says when").to_owned();
    // Our lease would have expired; the other program's is counted from the claim, and is longer.
    trial.set(&id, &claimed_at, Cell::Time(now - 4 * 60 * SECOND)).await;
    assert_eq!(worker.reclaim().await, Reclaimed::default(), "after four minutes");
    trial.set(&id, &claimed_at, Cell::Time(now - 6 * 60 * SECOND)).await;
    assert_eq!(worker.reclaim().await, took(0, 0, 1), "after six minutes");
    trial.assert_state(&id, trial.subject.untried()).await;
}

pub(crate) fn no_claims_without_a_time(subject: &Subject, _: Kind) -> Option<&'static str> {
    let told = subject.contract.stamped(subject.stage()).is_none();
    told.then_some("a claimed row of it always has its claim time")
}

/// Rule O5: rows that another program claimed before the table had a column for the claim time.
pub(crate) async fn claims_without_a_time_expire(trial: &Trial) {
    let (worker, other) = (trial.worker("a").await, trial.worker("b").await);
    let stage = trial.subject.stage();
    let claimed_at = trial.subject.column(Role::ClaimedAt).expect("it says when").to_owned();
    let mut row = trial.row_in(1, trial.subject.claimed()).await;
    row.insert(claimed_at.clone(), Cell::Null);
    if let Some(created) = trial.subject.column(Role::Created) {
        // The row is old but its claim may be recent: only the age of the claim counts.
        row.insert(created.to_owned(), Cell::Time(trial.arena.now().await - 24 * 3600 * SECOND));
    }
    let id = trial.put(row).await;
    let before = trial.row(&id).await;
    assert_eq!(worker.reclaim().await, Reclaimed::default(), "it may be in work: it gets a whole lease");
    let stamped = trial.row(&id).await;
    let age = trial.arena.now().await - stamped[&claimed_at].as_time().expect("it was stamped");
    assert!((-SECOND..60 * SECOND).contains(&age), "with the time of the look, not {age}");
    assert_eq!(
        before,
        {
            let mut row = stamped.clone();
            row.insert(claimed_at.clone(), Cell::Null);
            row
        },
        "nothing else"
    );
    assert_eq!(other.reclaim().await, Reclaimed::default());
    assert_eq!(trial.row(&id).await, stamped, "only the first look counts");
    let lease = if trial.subject.has(Role::LeaseUntil) { stage.lease.without } else { stage.lease.duration };
    let back = i64::try_from(lease.as_micros()).expect("short") + 10 * SECOND;
    trial.set(&id, &claimed_at, Cell::Time(trial.arena.now().await - back)).await;
    assert_eq!(worker.reclaim().await, took(0, 0, 1), "a lease later it is taken back");
    trial.assert_state(&id, trial.subject.untried()).await;
}

pub(crate) async fn extension_keeps_the_lease(trial: &Trial) {
    let (holder, other) = (trial.worker("holder").await, trial.worker("other").await);
    let (id, claimed) = trial.claimed_by(&holder, 1).await;
    let lease = trial.subject.stage().lease.duration;
    let first = holder.extend(&claimed.lease).await.expect("it is held");
    if trial.subject.has(Role::LeaseUntil) {
        trial.age_lease(&id, lease * 3 / 4).await;
    }
    let second = holder.extend(&first).await.expect("it is still held");
    trial.assert_state(&id, trial.subject.claimed()).await;
    let (row, now) = (trial.row(&id).await, trial.arena.now().await);
    let micros = i64::try_from(lease.as_micros()).expect("short");
    let end = trial.role(&row, Role::LeaseUntil).as_time();
    let end = end.or_else(|| Some(trial.role(&row, Role::ClaimedAt).as_time()? + micros));
    let left = end.expect("a lease ends") - now;
    assert!((left - micros).abs() < 5 * SECOND, "a whole lease is left again, not {} s", left / SECOND);
    assert_eq!(other.reclaim().await, Reclaimed::default());
    assert_eq!(trial.attempts(&id).await, 0, "keeping costs nothing");
    assert_eq!(holder.end_lease(&second, Transition::Delivered).await, Held::Held);
    trial.assert_state(&id, trial.subject.stage().delivered).await;
}

pub(crate) fn no_takeovers(subject: &Subject, _: Kind) -> Option<&'static str> {
    subject.stage().lease.poison.is_none().then_some("recovery is counted as an attempt")
}

/// Returns the JSON of the error column.
async fn error_of(trial: &Trial, id: &Cell) -> serde_json::Value {
    let row = trial.row(id).await;
    let error = trial.role(&row, Role::Error).as_text().expect("there is an error");
    serde_json::from_str(error).unwrap_or_else(|problem| panic!("{error}: {problem}"))
}

pub(crate) async fn takeovers_are_noted(trial: &Trial) {
    let worker = trial.worker("a").await;
    let error = trial.subject.column(Role::Error).expect("checked").to_owned();
    let texts = [
        Cell::Null,
        Cell::text(r#"{"code":"network_error","message":"{\"takeovers\":9}"}"#),
        Cell::text("{}"),
        Cell::text("no JSON"),
    ];
    for (n, before) in texts.into_iter().enumerate() {
        let mut row = trial.ready_row(n + 1).await;
        row.insert(error.clone(), before.clone());
        let id = trial.put(row).await;
        for times in 1..LEAST_CRASHES {
            let claimed = worker.claim_one().await;
            trial.crash(&worker, &id, &claimed).await;
            assert_eq!(worker.reclaim().await, took(1, 0, 0), "time {times}, {before:?}");
            let noted = error_of(trial, &id).await;
            assert_eq!(noted["takeovers"], times, "{noted}");
            match n {
                1 => assert_eq!(
                    (noted["code"].as_str(), noted["message"].as_str()),
                    (Some("network_error"), Some(r#"{"takeovers":9}"#))
                ),
                3 => assert_eq!(noted["message"], "no JSON"),
                _ => {}
            }
            assert_eq!(trial.attempts(&id).await, 0, "nothing is counted");
        }
        let claimed = worker.claim_one().await;
        trial.crash(&worker, &id, &claimed).await;
        assert_eq!(worker.reclaim().await, took(0, 1, 0), "the last, {before:?}");
        trial.assert_state(&id, trial.subject.stage().dead).await;
        let noted = error_of(trial, &id).await;
        assert_eq!((noted["code"].as_str(), noted["takeovers"].as_i64()), (Some("poison"), Some(7)));
        assert_eq!(trial.attempts(&id).await, 0, "nothing is counted");
    }
}

pub(crate) async fn deferral_is_no_takeover(trial: &Trial) {
    let worker = trial.worker("a").await;
    let (id, claimed) = trial.claimed_by(&worker, 1).await;
    trial.crash(&worker, &id, &claimed).await;
    worker.reclaim().await;
    for _ in 0..6 {
        let claimed = worker.claim_one().await;
        let mut put_off = crate::trial::settlement(&claimed.lease, Transition::Deferred);
        put_off.delay = Duration::from_mins(10);
        assert_eq!(worker.settle_one(put_off).await, Held::Held);
        trial.age_lease(&id, Duration::from_mins(9)).await;
        assert_eq!(worker.reclaim().await, Reclaimed::default(), "not yet");
        trial.age_lease(&id, Duration::from_secs(61)).await;
        assert_eq!(worker.reclaim().await, took(0, 0, 1));
        assert_eq!(error_of(trial, &id).await["takeovers"], 1, "the one before");
    }
}
