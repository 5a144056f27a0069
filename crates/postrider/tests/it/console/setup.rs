//! A running Postrider with rows in every state, and API keys for it.

use serde_json::{Value, json};

use super::fixtures::{self, Fixtures};
use super::folder;
use crate::sandbox::{RunningBinary, Sandbox, eventually};
use crate::support::database::{self, Kind};
use crate::support::sql::Sql;
use crate::support::webhook_receiver::WebhookReceiver;

pub struct ConsoleSetup {
    pub running: RunningBinary,
    pub fixtures: Fixtures,
    sandbox: Sandbox,
    sql: Sql,
}

impl ConsoleSetup {
    pub async fn open(name: &str, receiver: &WebhookReceiver) -> Self {
        let sandbox = Sandbox::new(None);
        let (url, sql) = database::fresh(Kind::Postgres, name, &sandbox).await;
        let settings = fixtures::settings(&url, &sandbox.path("mnt"));
        std::fs::write(sandbox.path("postrider.toml"), settings).expect("the settings can be written");
        sandbox.run(&["migrate"]).success();
        let fixtures = fixtures::insert(&sandbox, &sql, &receiver.url("hook")).await;
        let secret = sandbox.run(&["secret", "key", "test"]).success().stdout.trim().to_owned();
        let running = sandbox.start_with("run.log", &[("POSTRIDER_SECRET_KEY", &secret)]);
        eventually("the API is open", || (running.get("/console/login").0 == 200).then_some(()));
        Self { running, fixtures, sandbox, sql }
    }

    pub fn key(&self, name: &str, more: &[&str]) -> String {
        let words = [&["key", "create", name, "--role"], more].concat();
        self.sandbox.run(&words).success().stdout.trim().to_owned()
    }

    /// The input of every script, with `more` added.
    pub fn input(&self, more: Value) -> Value {
        let mut input = json!({
            "base": format!("http://{}", self.running.address()),
            "folder": folder(),
            "admin": self.key("first", &["admin"]),
        });
        for source in [self.fixtures.to_json(), more] {
            let Value::Object(entries) = source else { continue };
            input.as_object_mut().expect("it is one").extend(entries);
        }
        input
    }

    /// Runs a statement on the database, without the console.
    pub async fn execute(&self, statement: &str) {
        self.sql.must(statement).await;
    }

    /// Returns one value from the database, without the console.
    pub async fn query_one(&self, query: &str) -> String {
        let rows = self.sql.rows(query).await.expect(query);
        rows[0][0].clone().unwrap_or_default()
    }

    /// The status of a job.
    pub async fn job(&self, id: &str) -> String {
        self.query_one(&format!("SELECT status FROM dispatch_jobs WHERE id = '{id}'")).await
    }
}
