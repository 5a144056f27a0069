//! Operator moves of jobs, and their audit entries.

use postrider_contract::Transition;
use postrider_hub::Error;
use postrider_hub::access::Role;
use postrider_hub::job::{DispatchStatus, Filter};
use postrider_hub::page::PageQuery;
use postrider_seams::row::Value;
use postrider_seams::store::{LeaseResult, Settlement};

use crate::fixture::{Fixture, on_every_database, root};
use crate::jobs::plain;

on_every_database!(
    j06_a_retry_adds_the_original_budget,
    j14_any_state_but_completed_can_be_cancelled,
    j14_an_attempt_of_a_job_cancelled_meanwhile_is_recorded,
    j02_only_an_error_can_be_completed,
    j17_a_bulk_retry_retries_the_dead_jobs_of_the_filter,
);

async fn job(fixture: &Fixture, code: &str) -> String {
    fixture.hub.create_job(&root(), plain(code)).await.expect("a job").1.id
}

async fn j06_a_retry_adds_the_original_budget(fixture: &Fixture) {
    let id = job(fixture, "a").await;
    let queued = fixture.hub.retry_job(&root(), &id).await;
    assert!(matches!(queued, Err(Error::Conflict { .. })), "{queued:?}");
    for (spent, budget) in [(3, 6), (6, 9)] {
        let set =
            format!("status = 'ERROR', attempt_count = {spent}, next_attempt_at = NULL, last_error = 'no'");
        fixture.run(&format!("UPDATE dispatch_jobs SET {set} WHERE id = '{id}'")).await;
        let retried = fixture.hub.retry_job(&root(), &id).await.expect("retried");
        assert_eq!(retried.status, DispatchStatus::Error, "ERROR goes to IN_PROGRESS, never back to QUEUED");
        assert_eq!((retried.attempt_count, retried.max_retries), (spent, Some(budget)));
        assert!(retried.next_attempt_at.is_some());
    }
    // A job that is retried anyway becomes due now and gets no additional attempts.
    let again = fixture.hub.retry_job(&root(), &id).await.expect("retried");
    assert_eq!(again.max_retries, Some(9));
    assert_eq!(
        fixture.text("SELECT count(*) FROM postrider_audit WHERE action = 'retry'").await.as_deref(),
        Some("3")
    );
}

async fn j14_any_state_but_completed_can_be_cancelled(fixture: &Fixture) {
    for state in ["QUEUED", "PENDING", "IN_PROGRESS", "ERROR"] {
        let id = job(fixture, state).await;
        fixture.run(&format!("UPDATE dispatch_jobs SET status = '{state}' WHERE id = '{id}'")).await;
        let cancelled = fixture.hub.cancel_job(&root(), &id).await.expect(state);
        assert_eq!(cancelled.status, DispatchStatus::Cancelled);
        let again = fixture.hub.cancel_job(&root(), &id).await.expect("it is");
        assert_eq!(again.updated_at, cancelled.updated_at);
    }
    let id = job(fixture, "done").await;
    fixture.run(&format!("UPDATE dispatch_jobs SET status = 'COMPLETED' WHERE id = '{id}'")).await;
    assert!(matches!(fixture.hub.cancel_job(&root(), &id).await, Err(Error::Conflict { .. })));
    assert_eq!(
        fixture.text("SELECT count(*) FROM postrider_audit WHERE action = 'cancel'").await.as_deref(),
        Some("4")
    );
}

async fn j02_only_an_error_can_be_completed(fixture: &Fixture) {
    let id = job(fixture, "a").await;
    assert!(matches!(fixture.hub.complete_job(&root(), &id).await, Err(Error::Conflict { .. })));
    fixture.run(&format!("UPDATE dispatch_jobs SET status = 'ERROR' WHERE id = '{id}'")).await;
    let completed = fixture.hub.complete_job(&root(), &id).await.expect("completed");
    assert_eq!(completed.status, DispatchStatus::Completed);
    assert!(completed.completed_at.is_some());
    let audit = fixture
        .hub
        .audit(&root(), Some("dispatchJob"), Some(&id), &PageQuery::default())
        .await
        .expect("a log");
    assert_eq!(audit.items.len(), 2, "made and completed");
    assert_eq!(
        (audit.items[0].action.as_str(), audit.items[0].key_name.as_deref()),
        ("complete", Some("root"))
    );
}

async fn j17_a_bulk_retry_retries_the_dead_jobs_of_the_filter(fixture: &Fixture) {
    let acme = fixture.actor(Role::Operator, &["acme"]).await;
    for index in 0..6 {
        let mut new = plain(if index % 2 == 0 { "even" } else { "odd" });
        new.client_id = (index < 4).then(|| "acme".to_owned());
        fixture.hub.create_job(&root(), new).await.expect("a job");
    }
    let dead = "status = 'ERROR', next_attempt_at = NULL, attempt_count = 3";
    fixture.run(&format!("UPDATE dispatch_jobs SET {dead}")).await;
    let odd = Filter { code: Some("odd".to_owned()), ..Filter::default() };
    let retried = fixture.hub.retry_jobs(&acme, &odd).await.expect("retried");
    assert_eq!((retried.retried, retried.more), (2, false));
    let open = "SELECT count(*) FROM dispatch_jobs WHERE next_attempt_at IS NOT NULL AND max_retries = 6";
    assert_eq!(fixture.text(open).await.as_deref(), Some("2"));
    let rest = fixture.hub.retry_jobs(&root(), &Filter::default()).await.expect("retried");
    assert_eq!(rest.retried, 4);
    assert_eq!(fixture.count("postrider_audit WHERE action = 'retry'").await, 6);
}

async fn j14_an_attempt_of_a_job_cancelled_meanwhile_is_recorded(fixture: &Fixture) {
    let lane = fixture.lane.as_ref().expect("a lane");
    let outcome = [
        ("result", Value::Text("SUCCESS".to_owned())),
        ("status", Value::Int(200)),
        ("duration_ms", Value::Int(12)),
    ];
    let outcome = outcome.map(|(name, value): (&str, Value)| (name.to_owned(), value));
    for transition in [Transition::Delivered, Transition::Retry] {
        let id = job(fixture, "a").await;
        let claimed = lane.claim(10).await.expect("a claim").remove(0);
        let cancelled = fixture.hub.cancel_job(&root(), &id).await.expect("cancelled");
        assert_eq!((cancelled.status, cancelled.attempt_count), (DispatchStatus::Cancelled, 0));
        let end = Settlement {
            transition,
            outcome: outcome.clone().into(),
            delay: std::time::Duration::from_secs(30),
            ..Settlement::released(claimed.lease)
        };
        for _ in 0..2 {
            assert_eq!(
                lane.settle(std::slice::from_ref(&end)).await.expect("an answer"),
                [LeaseResult::Lost],
                "the cancel wins"
            );
        }
        let job = fixture.hub.job(&root(), &id).await.expect("the job");
        assert_eq!((job.status, job.next_attempt_at), (DispatchStatus::Cancelled, None));
        assert_eq!((job.attempt_count, job.duration_millis), (1, Some(12)));
        let attempts = job.attempts.expect("attempts");
        assert_eq!(attempts.len(), 1, "once");
        assert_eq!((attempts[0].attempt_number, attempts[0].response_code), (1, Some(200)));
    }
}
