//! Changes must affect only what they name, and must not overwrite a concurrent change.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use postrider_hub::access::Role;
use postrider_hub::job::{Created, DispatchStatus, Filter};
use postrider_hub::{Error, Hub, Settings};
use postrider_sql::Dialect;
use postrider_sql::driver::execute::{Answers, Execute, Statement};
use serde_json::json;

use crate::fixture::{Fixture, on_every_database, root};
use crate::jobs::plain;

on_every_database!(
    j17_a_move_changes_only_its_own_job,
    j06_a_retry_removes_only_an_expiry_that_has_passed,
    j02_a_late_move_changes_nothing,
    j17_a_bulk_retry_changes_no_other_job,
    j17_a_bulk_retry_skips_jobs_that_changed_meanwhile,
    j17_a_change_affects_only_its_own_object,
    j01_a_duplicate_id_of_another_process_loses_no_job,
);

/// The columns that moves write.
const COLUMNS: [&str; 11] = [
    "status",
    "next_attempt_at",
    "claimed_by",
    "lease_until",
    "max_retries",
    "retry_budget",
    "attempt_count",
    "completed_at",
    "expires_at",
    "queued_at",
    "updated_at",
];

type Row = Vec<Option<String>>;

async fn row(fixture: &Fixture, id: &str) -> Row {
    let mut row = Vec::new();
    for column in COLUMNS {
        row.push(fixture.text(&format!("SELECT {column} FROM dispatch_jobs WHERE id = '{id}'")).await);
    }
    row
}

async fn job(fixture: &Fixture, code: &str, set: &str) -> String {
    let id = fixture.hub.create_job(&root(), plain(code)).await.expect("a job").1.id;
    fixture.run(&format!("UPDATE dispatch_jobs SET {set} WHERE id = '{id}'")).await;
    id
}

const DEAD: &str = "status = 'ERROR', attempt_count = 3, next_attempt_at = NULL";
const RETRYING: &str = "status = 'ERROR', attempt_count = 1, next_attempt_at = '2030-01-01 00:00:00'";
const FLYING: &str = "status = 'IN_PROGRESS', claimed_by = 'w', lease_until = '2030-01-01 00:00:00'";
const QUEUED: &str = "status = 'QUEUED'";
const PENDING: &str = "status = 'PENDING'";

/// One job in each state.
async fn bystanders(fixture: &Fixture) -> Vec<(String, Row)> {
    let mut found = Vec::new();
    for set in [DEAD, RETRYING, FLYING, QUEUED, PENDING, "status = 'COMPLETED'", "status = 'CANCELLED'"] {
        let id = job(fixture, "other", set).await;
        let before = row(fixture, &id).await;
        found.push((id, before));
    }
    found
}

async fn are_as_before(fixture: &Fixture, rows: &[(String, Row)], what: &str) {
    for (id, before) in rows {
        assert_eq!(&row(fixture, id).await, before, "{what}: {}", before[0].as_deref().unwrap_or_default());
    }
}

async fn j17_a_move_changes_only_its_own_job(fixture: &Fixture) {
    let others = bystanders(fixture).await;
    let (root, hub) = (root(), &fixture.hub);
    let dead = job(fixture, "a", &format!("{DEAD}, completed_at = '2020-01-01 00:00:00'")).await;
    let retried = hub.retry_job(&root, &dead).await.expect("retried");
    assert_eq!((retried.max_retries, retried.completed_at), (Some(6), None));
    are_as_before(fixture, &others, "retry").await;
    let waiting = job(fixture, "a", RETRYING).await;
    let retried = hub.retry_job(&root, &waiting).await.expect("retried");
    assert_eq!(retried.max_retries, Some(3), "its budget is not spent");
    for state in [FLYING, RETRYING] {
        let id = job(fixture, "a", state).await;
        hub.cancel_job(&root, &id).await.expect("cancelled");
        let now = row(fixture, &id).await;
        assert_eq!(now[..4], [Some("CANCELLED".to_owned()), None, None, None], "{state}: nobody holds it");
        are_as_before(fixture, &others, "cancel").await;
    }
    for state in [RETRYING, DEAD] {
        let id = job(fixture, "a", state).await;
        hub.complete_job(&root, &id).await.expect("completed");
        assert_eq!(row(fixture, &id).await[..2], [Some("COMPLETED".to_owned()), None], "{state}");
        are_as_before(fixture, &others, "complete").await;
    }
}

async fn j06_a_retry_removes_only_an_expiry_that_has_passed(fixture: &Fixture) {
    for (ends, lifted) in [("2020-01-01 00:00:00", true), ("2120-01-01 00:00:00", false)] {
        let id = job(fixture, "a", &format!("{DEAD}, expires_at = '{ends}'")).await;
        let retried = fixture.hub.retry_job(&root(), &id).await.expect("retried");
        assert_eq!(retried.expires_at.is_none(), lifted, "{ends}");
    }
}

/// A database on which another statement is executed just before the hub's own.
struct Overtaken {
    database: Arc<dyn Execute>,
    doing: &'static str,
    first: Statement,
}

impl Execute for Overtaken {
    fn dialect(&self) -> Dialect {
        self.database.dialect()
    }

    fn transact<'a>(&'a self, doing: &'a str, statements: &'a [Statement]) -> Answers<'a> {
        Box::pin(async move {
            if doing == self.doing {
                self.database.transact("overtake", std::slice::from_ref(&self.first)).await?;
            }
            self.database.transact(doing, statements).await
        })
    }

    fn wake(&self, table: &str) {
        self.database.wake(table);
    }
}

/// A hub that loses a race: `sql` is executed just before its own statement `doing`.
async fn late(fixture: &Fixture, doing: &'static str, sql: String) -> Hub {
    let first = Statement { sql, args: Vec::new() };
    let database = Overtaken { database: Arc::clone(&fixture.database), doing, first };
    Hub::open(Arc::new(database), Settings::default(), None).await.expect("the hub opens")
}

/// A database on which another process has just inserted the same ids; this happens once.
struct Twin {
    database: Arc<dyn Execute>,
    came: AtomicBool,
}

impl Execute for Twin {
    fn dialect(&self) -> Dialect {
        self.database.dialect()
    }

    fn transact<'a>(&'a self, doing: &'a str, statements: &'a [Statement]) -> Answers<'a> {
        Box::pin(async move {
            if doing == "create dispatch jobs" && !self.came.swap(true, Ordering::Relaxed) {
                let rows = statements[0].args[0].as_text().expect("the jobs as JSON");
                let rows: Vec<serde_json::Value> = serde_json::from_str(rows).expect("JSON");
                for id in rows.iter().filter_map(|row| row["id"].as_str()) {
                    let sql = format!(
                        "INSERT INTO dispatch_jobs (id, code, target_url, payload, client_id) \
                         VALUES ('{id}', 'theirs', 'https://example.com/', 'theirs', 'other')"
                    );
                    self.database.transact("be first", &[Statement { sql, args: Vec::new() }]).await?;
                }
            }
            self.database.transact(doing, statements).await
        })
    }

    fn wake(&self, table: &str) {
        self.database.wake(table);
    }
}

async fn j01_a_duplicate_id_of_another_process_loses_no_job(fixture: &Fixture) {
    let twin = || async {
        let database = Twin { database: Arc::clone(&fixture.database), came: AtomicBool::new(false) };
        Hub::open(Arc::new(database), Settings::default(), None).await.expect("the hub opens")
    };
    let job = twin().await.create_job(&root(), plain("mine")).await.expect("a job").1;
    assert_eq!((job.code.as_str(), job.client_id), ("mine", None));
    let made = twin().await.create_jobs(&root(), vec![plain("mine"), plain("mine")]).await.expect("jobs");
    assert!(made.iter().all(|one| matches!(one, Ok(Created::New { .. }))), "{made:?}");
    assert_eq!(fixture.count("dispatch_jobs WHERE code = 'mine'").await, 3);
    let theirs = "dispatch_jobs WHERE code = 'theirs' AND payload = 'theirs' AND client_id = 'other'";
    assert_eq!(fixture.count(theirs).await, 3, "theirs are as they wrote them");
}

async fn j02_a_late_move_changes_nothing(fixture: &Fixture) {
    let lines = fixture.count("postrider_audit").await;
    for (made, verb, meanwhile) in [
        (RETRYING, "retry", FLYING),
        (DEAD, "retry", "status = 'CANCELLED'"),
        (QUEUED, "cancel", "status = 'COMPLETED'"),
        (FLYING, "cancel", "status = 'COMPLETED', claimed_by = NULL, lease_until = NULL"),
        (RETRYING, "complete", FLYING),
        (DEAD, "complete", "status = 'CANCELLED'"),
    ] {
        let id = job(fixture, "a", made).await;
        let moved = format!("UPDATE dispatch_jobs SET {meanwhile} WHERE id = '{id}'");
        let hub = late(fixture, "move a dispatch job", moved.clone()).await;
        let root = root();
        let refused = match verb {
            "retry" => hub.retry_job(&root, &id).await,
            "cancel" => hub.cancel_job(&root, &id).await,
            _ => hub.complete_job(&root, &id).await,
        };
        assert!(matches!(refused, Err(Error::Conflict { field: Some("status"), .. })), "{verb}: {refused:?}");
        let now = row(fixture, &id).await;
        fixture.run(&moved).await;
        assert_eq!(row(fixture, &id).await, now, "{verb}: it is as the other one left it");
    }
    let made = fixture.count("postrider_audit WHERE action = 'create'").await;
    assert_eq!(fixture.count("postrider_audit").await, lines + made, "what did not happen has no line");
}

async fn j17_a_bulk_retry_changes_no_other_job(fixture: &Fixture) {
    let others = bystanders(fixture).await;
    let own = |client: &str| {
        let mut new = plain("mine");
        new.client_id = Some(client.to_owned());
        new
    };
    let mut dead = Vec::new();
    for client in ["acme", "other"] {
        let id = fixture.hub.create_job(&root(), own(client)).await.expect("a job").1.id;
        fixture.run(&format!("UPDATE dispatch_jobs SET {DEAD} WHERE id = '{id}'")).await;
        let before = row(fixture, &id).await;
        dead.push((id, before));
    }
    // A job in every state, all with the code and client of the filter.
    let mut alive = Vec::new();
    for set in [RETRYING, FLYING, QUEUED, PENDING, "status = 'COMPLETED'", "status = 'CANCELLED'"] {
        let id = fixture.hub.create_job(&root(), own("acme")).await.expect("a job").1.id;
        fixture.run(&format!("UPDATE dispatch_jobs SET {set} WHERE id = '{id}'")).await;
        let before = row(fixture, &id).await;
        alive.push((id, before));
    }
    let filter =
        Filter { client_id: Some("acme".to_owned()), code: Some("mine".to_owned()), ..Filter::default() };
    let retried = fixture.hub.retry_jobs(&root(), &filter).await.expect("retried");
    assert_eq!(retried.retried, 1);
    are_as_before(fixture, &others, "another code").await;
    are_as_before(fixture, &alive, "not dead").await;
    are_as_before(fixture, &dead[1..], "another client").await;
    let mine = fixture.hub.job(&root(), &dead[0].0).await.expect("the job");
    assert_eq!((mine.status, mine.max_retries), (DispatchStatus::Error, Some(6)));
}

async fn j17_a_bulk_retry_skips_jobs_that_changed_meanwhile(fixture: &Fixture) {
    let (gone, stays) = (job(fixture, "a", DEAD).await, job(fixture, "a", DEAD).await);
    let cancelled = format!("UPDATE dispatch_jobs SET status = 'CANCELLED' WHERE id = '{gone}'");
    let hub = late(fixture, "retry dispatch jobs", cancelled).await;
    let retried = hub.retry_jobs(&root(), &Filter::default()).await.expect("retried");
    assert_eq!(retried.retried, 1);
    let now = row(fixture, &gone).await;
    assert_eq!((now[0].as_deref(), now[1].as_deref()), (Some("CANCELLED"), None));
    assert!(row(fixture, &stays).await[1].is_some());
    let line = |id: &str| format!("postrider_audit WHERE action = 'retry' AND entity_id = '{id}'");
    assert_eq!((fixture.count(&line(&gone)).await, fixture.count(&line(&stays)).await), (0, 1));
}

async fn j17_a_change_affects_only_its_own_object(fixture: &Fixture) {
    let (root, hub) = (root(), &fixture.hub);
    let (mut pools, mut subscriptions, mut accounts) = (Vec::new(), Vec::new(), Vec::new());
    for code in ["one", "two"] {
        let pool = serde_json::from_value(json!({"code": code, "name": code})).expect("a pool");
        pools.push(hub.create_pool(&root, pool).await.expect("a pool").id);
        let new =
            json!({"code": code, "name": code, "eventCode": "a:b:c:d", "targetUrl": "https://example.com/"});
        let new = serde_json::from_value(new).expect("a subscription");
        subscriptions.push(hub.create_subscription(&root, new).await.expect("a subscription").id);
        let new = json!({"code": code, "name": code, "allowedHosts": ["*"]});
        let new = serde_json::from_value(new).expect("an account");
        accounts.push(hub.create_account(&root, new).await.expect("an account").account.id);
        hub.put_schema(&root, code, &json!({"type": "object"})).await.expect("a schema");
    }
    let (spared_key, _) = fixture.key(Role::Viewer, &[]).await;
    let (_, revoked) = fixture.key(Role::Viewer, &[]).await;
    let seen = async || {
        let pool = hub.pool(&root, &pools[1]).await.expect("the other pool");
        let subscription = hub.subscription(&root, &subscriptions[1]).await.expect("the other subscription");
        let account = hub.account(&root, &accounts[1]).await.expect("the other account");
        let schema = hub.schema("two").await.expect("the other schema");
        assert_eq!([&pool.id, &subscription.id, &account.id], [&pools[1], &subscriptions[1], &accounts[1]]);
        format!("{pool:?}\n{subscription:?}\n{account:?}\n{schema:?}")
    };
    let before = seen().await;
    let what = serde_json::from_value(json!({"name": "new", "concurrency": 7})).expect("a change");
    hub.change_pool(&root, &pools[0], &what).await.expect("changed");
    hub.pause_pool(&root, &pools[0], true).await.expect("paused");
    let what =
        json!({"code": "one", "name": "new", "eventCode": "x:b:c:d", "targetUrl": "https://example.com/x"});
    let what = serde_json::from_value(what).expect("a change");
    hub.change_subscription(&root, &subscriptions[0], &what).await.expect("changed");
    hub.pause_subscription(&root, &subscriptions[0], true).await.expect("paused");
    hub.pause_gone_subscription(&subscriptions[0], "gone").await.expect("paused");
    let what = serde_json::from_value(json!({"name": "new"})).expect("a change");
    hub.change_account(&root, &accounts[0], &what).await.expect("changed");
    hub.activate_account(&root, &accounts[0], false).await.expect("deactivated");
    let anew = serde_json::from_value(json!({})).expect("a request");
    hub.regenerate(&root, &accounts[0], &anew).await.expect("regenerated");
    let active = async |id: &String| {
        let named = hub.delivery_data(&[id.clone()].into(), &[].into()).await.expect("asked");
        named.accounts[id].active
    };
    assert!(!active(&accounts[0]).await, "its use is noted");
    hub.put_schema(&root, "one", &json!({"type": "array"})).await.expect("changed");
    assert_eq!(seen().await, before);
    assert!(active(&accounts[1]).await);
    hub.revoke_key(&root, &revoked.key).await.expect("revoked");
    assert!(hub.authenticate(&spared_key).await.expect("asked").is_some(), "the other key still opens");
    hub.delete_subscription(&root, &subscriptions[0]).await.expect("deleted");
    hub.delete_pool(&root, &pools[0]).await.expect("deleted");
    hub.delete_schema(&root, "one").await.expect("deleted");
    for table in ["dispatch_subscriptions", "dispatch_pools", "dispatch_schemas"] {
        assert_eq!(fixture.count(table).await, 1, "{table}");
    }
    assert!(hub.pool(&root, &pools[1]).await.is_ok() && hub.schema("two").await.is_ok());
}
