//! Group commit: jobs created by concurrent requests share transactions, but not their results.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::future::join_all;
use postrider_hub::Error;
use postrider_hub::access::Role;
use postrider_hub::audit::Change;
use postrider_hub::job::{Created, NewJob};

use crate::fixture::{Fixture, on_every_database, root};
use crate::jobs::{new, plain};

on_every_database!(
    j13_concurrent_requests_get_their_own_results,
    j17_concurrent_jobs_are_audited_under_their_own_keys,
    a_disconnected_caller_affects_no_other_result,
    j17_entries_of_concurrent_changes_are_all_written,
);

fn keyed(key: &str, code: &str) -> NewJob {
    new(serde_json::json!({
        "code": code, "targetUrl": "https://example.com/hook", "idempotencyKey": key,
        "metadata": [{"key": "of", "value": code}],
    }))
}

/// Three requests per key: two identical ones and a different one.
async fn j13_concurrent_requests_get_their_own_results(fixture: &Fixture) {
    let asked: Vec<(String, &str)> =
        (0..20).flat_map(|key| ["a", "a", "b"].map(|code| (format!("key-{key:02}"), code))).collect();
    let actor = root();
    let answers =
        join_all(asked.iter().map(|(key, code)| fixture.hub.create_job(&actor, keyed(key, code)))).await;
    let mut fresh = BTreeSet::new();
    let (mut known, mut refused) = (Vec::new(), 0);
    for ((key, code), answer) in asked.iter().zip(answers) {
        match answer {
            Ok((created, job)) => {
                assert_eq!((job.idempotency_key.as_ref(), job.code.as_str()), (Some(key), *code));
                assert_eq!((job.id.as_str(), job.metadata[0].value.as_str()), (created.id(), *code));
                match created {
                    Created::New { id } => assert!(fresh.insert(id)),
                    Created::Existing { id } => known.push(id),
                }
            }
            Err(Error::Conflict { field, .. }) => {
                assert_eq!(field, Some("idempotencyKey"));
                refused += 1;
            }
            Err(other) => panic!("{key} {code}: {other}"),
        }
    }
    assert_eq!((fresh.len(), known.len() + refused), (20, 40));
    assert!(known.iter().all(|id| fresh.contains(id)));
    assert_eq!(fixture.count("dispatch_jobs").await, 20);
    assert_eq!(fixture.count("dispatch_job_metadata").await, 20);
    assert_eq!(fixture.count("postrider_audit WHERE entity = 'dispatchJob'").await, 20);
}

async fn j17_concurrent_jobs_are_audited_under_their_own_keys(fixture: &Fixture) {
    let actors =
        [fixture.actor(Role::Producer, &["acme"]).await, fixture.actor(Role::Producer, &["other"]).await];
    let made =
        join_all((0..30).map(|index| {
            let actor = &actors[index % 2];
            async move {
                (actor.key.clone(), fixture.hub.create_job(actor, plain("a")).await.expect("a job").1.id)
            }
        }))
        .await;
    for (key, id) in made {
        let line = format!(
            "SELECT key_id FROM postrider_audit WHERE action = 'create' AND entity = 'dispatchJob' AND entity_id = '{id}'"
        );
        assert_eq!(fixture.text(&line).await, Some(key));
    }
}

async fn j17_entries_of_concurrent_changes_are_all_written(fixture: &Fixture) {
    let actors = [fixture.actor(Role::Operator, &[]).await, fixture.actor(Role::Admin, &[]).await];
    let write = |number: usize| {
        let change = Change::new("pause", "lane", &format!("lane-{number}"));
        let change = if number.is_multiple_of(3) { change.detail("rows", number) } else { change };
        fixture.hub.write_audit_entry(&actors[number % 2], change)
    };
    for written in join_all((0..40).map(write)).await {
        written.expect("written");
    }
    for number in 0..40 {
        let entry = format!("FROM postrider_audit WHERE entity_id = 'lane-{number}'");
        assert_eq!(
            fixture.text(&format!("SELECT key_id {entry}")).await.as_ref(),
            Some(&actors[number % 2].key)
        );
        let detail = fixture.text(&format!("SELECT detail {entry}")).await;
        assert_eq!(detail.is_some(), number.is_multiple_of(3), "{number}");
    }
}

async fn a_disconnected_caller_affects_no_other_result(fixture: &Fixture) {
    let tasks: Vec<_> = (0..40)
        .map(|_| {
            let hub = Arc::clone(&fixture.hub);
            tokio::spawn(async move { hub.create_job(&root(), plain("a")).await.map(|(_, job)| job.id) })
        })
        .collect();
    tasks.iter().step_by(2).for_each(tokio::task::JoinHandle::abort);
    for task in tasks.into_iter().skip(1).step_by(2) {
        let id = task.await.expect("it was not ended").expect("a job");
        assert_eq!(fixture.count(&format!("dispatch_jobs WHERE id = '{id}'")).await, 1);
    }
}

mod postgres_alone {
    use super::{Error, join_all, plain, root};

    #[tokio::test(flavor = "multi_thread")]
    async fn concurrent_jobs_share_a_commit() {
        crate::fixture::postgres(|fixture| async move {
            let actor = root();
            for answer in join_all((0..64).map(|_| fixture.hub.create_job(&actor, plain("a")))).await {
                answer.expect("a job");
            }
            let transactions = fixture.text("SELECT count(DISTINCT xmin::text) FROM dispatch_jobs").await;
            let transactions: u64 = transactions.expect("a count").parse().expect("a number");
            assert!(transactions < 32, "{transactions} transactions for 64 jobs");
        })
        .await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_refused_job_does_not_affect_the_others() {
        crate::fixture::postgres(|fixture| async move {
            fixture.run("ALTER TABLE dispatch_jobs ADD CHECK (code <> 'bad')").await;
            let actor = root();
            let asked = |index| plain(if index % 10 == 5 { "bad" } else { "good" });
            let answers = join_all((0..40).map(|index| fixture.hub.create_job(&actor, asked(index)))).await;
            for (index, answer) in answers.into_iter().enumerate() {
                match answer {
                    Ok((_, job)) => assert_eq!(job.code, "good"),
                    Err(Error::Store(_)) => assert_eq!(index % 10, 5),
                    Err(other) => panic!("{other}"),
                }
            }
            assert_eq!(fixture.count("dispatch_jobs").await, 36);
        })
        .await;
    }
}
