//! Tests that every operation that changes something writes an audit log entry with the caller's key.

use std::collections::BTreeSet;

use postrider_hub::access::{Actor, Role};
use serde_json::{Value, json};

use crate::fixture::{Fixture, on_every_database};
use crate::operations::{ask, documented, event, subscription};
use crate::routes::job;
use crate::test_api::TestApi;

on_every_database!(every_change_is_in_the_audit_log);

/// A caller that performs one change after another.
struct Walker<'a> {
    fixture: &'a Fixture,
    api: TestApi,
    key: String,
    actor: Actor,
    walked: BTreeSet<String>,
}

impl Walker<'_> {
    async fn lines(&self) -> u64 {
        self.fixture.count(&format!("postrider_audit WHERE key_id = '{}'", self.actor.key)).await
    }

    /// Performs an operation and asserts that its audit log entry exists.
    async fn does(&mut self, operation: &str, id: &str, body: Value) -> Value {
        let (method, template) = operation.split_once(' ').expect("a method and a path");
        let before = self.lines().await;
        let path = template.replace("{id}", id);
        let answer = ask(&self.api, Some(&self.key), method, &path, &body).await;
        assert!(answer.status.is_success(), "{operation}: {} {}", answer.status, answer.json());
        assert!(self.lines().await > before, "{operation} is not in the log");
        self.walked.insert(operation.to_owned());
        answer.json()
    }

    async fn makes(&mut self, operation: &str, body: Value) -> String {
        self.does(operation, "", body).await["id"].as_str().expect("an id").to_owned()
    }

    async fn jobs(&mut self) {
        let id = self.makes("post /dispatch-jobs", job(&json!({}))).await;
        self.does("post /dispatch-jobs/batch", "", json!({"jobs": [job(&json!({}))]})).await;
        self.fixture.run("UPDATE dispatch_jobs SET status = 'ERROR', attempt_count = 3").await;
        self.does("post /dispatch-jobs/{id}/retry", &id, Value::Null).await;
        self.does("post /dispatch-jobs/retry", "", Value::Null).await;
        self.does("post /dispatch-jobs/{id}/complete", &id, Value::Null).await;
        let id = self.makes("post /dispatch-jobs", job(&json!({}))).await;
        self.does("post /dispatch-jobs/{id}/cancel", &id, Value::Null).await;
    }

    async fn subscriptions_and_events(&mut self) {
        let id = self.makes("post /subscriptions", subscription()).await;
        self.does("put /subscriptions/{id}", &id, subscription()).await;
        self.does("post /subscriptions/{id}/pause", &id, Value::Null).await;
        self.does("post /subscriptions/{id}/resume", &id, Value::Null).await;
        self.does("post /subscriptions/{id}/test", &id, Value::Null).await;
        let made = self.makes("post /events", event("1")).await;
        self.does("post /events/batch", "", json!([event("2")])).await;
        self.does("post /events/{id}/replay", &made, Value::Null).await;
        self.fixture.run("UPDATE dispatch_jobs SET status = 'CANCELLED'").await;
        self.does("delete /subscriptions/{id}", &id, Value::Null).await;
    }

    async fn pools_accounts_schemas_and_keys(&mut self) {
        let id = self.makes("post /dispatch-pools", json!({"code": "p", "name": "P"})).await;
        self.does("put /dispatch-pools/{id}", &id, json!({"name": "Q"})).await;
        self.does("post /dispatch-pools/{id}/pause", &id, Value::Null).await;
        self.does("post /dispatch-pools/{id}/resume", &id, Value::Null).await;
        self.does("delete /dispatch-pools/{id}", &id, Value::Null).await;
        let id = self
            .makes("post /service-accounts", json!({"code": "a", "name": "A", "allowedHosts": ["*"]}))
            .await;
        self.does("put /service-accounts/{id}", &id, json!({"name": "B"})).await;
        self.does("post /service-accounts/{id}/regenerate-credentials", &id, Value::Null).await;
        self.does("post /service-accounts/{id}/deactivate", &id, Value::Null).await;
        self.does("post /service-accounts/{id}/activate", &id, Value::Null).await;
        self.does("put /schemas/{id}", "order", json!({"schema": {}})).await;
        self.does("delete /schemas/{id}", "order", Value::Null).await;
        let id = self.makes("post /api-keys", json!({"name": "n", "role": "viewer"})).await;
        self.does("post /api-keys/{id}/revoke", &id, Value::Null).await;
    }

    async fn lanes(&mut self) {
        self.does("post /emails", "", json!({"to": ["ann@example.net"]})).await;
        let id = self.makes("post /dispatch-jobs", job(&json!({}))).await;
        for verb in ["pause", "resume"] {
            self.does(&format!("post /lanes/{{id}}/{verb}"), "dispatch_jobs", Value::Null).await;
        }
        for verb in ["requeue", "cancel", "release"] {
            self.does(&format!("post /lanes/{{id}}/{verb}"), "dispatch_jobs", json!({"ids": [id]})).await;
        }
    }
}

async fn every_change_is_in_the_audit_log(fixture: &Fixture) {
    let (key, actor) = fixture.key(Role::Admin, &[]).await;
    let mut walker = Walker { fixture, api: TestApi::new(fixture), key, actor, walked: BTreeSet::new() };
    walker.jobs().await;
    walker.subscriptions_and_events().await;
    walker.pools_accounts_schemas_and_keys().await;
    walker.lanes().await;
    let changes = documented().into_iter().filter(|operation| !operation.starts_with("get "));
    assert_eq!(
        walker.walked,
        changes.collect::<BTreeSet<String>>(),
        "every operation that changes something was walked"
    );
    let named =
        fixture.text("SELECT count(*) FROM postrider_audit WHERE action = '' OR entity_id = ''").await;
    assert_eq!(named.as_deref(), Some("0"), "each line says what was done to what");
}
