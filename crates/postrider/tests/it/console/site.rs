//! A running Postrider with rows in every state, and API keys for it.

use serde_json::{Value, json};

use super::folder;
use super::seed::{self, Seeds};
use crate::rig::database::{self, Kind};
use crate::rig::hooks::Receiver;
use crate::rig::sql::Sql;
use crate::shop::{Running, Shop, eventually};

pub struct Site {
    pub running: Running,
    pub seeds: Seeds,
    shop: Shop,
    sql: Sql,
}

impl Site {
    pub async fn open(name: &str, receiver: &Receiver) -> Self {
        let shop = Shop::new(None);
        let (url, sql) = database::fresh(Kind::Postgres, name, &shop).await;
        let settings = seed::settings(&url, &shop.path("mnt"));
        std::fs::write(shop.path("postrider.toml"), settings).expect("the settings can be written");
        shop.run(&["migrate"]).fine();
        let seeds = seed::sow(&shop, &sql, &receiver.url("hook")).await;
        let secret = shop.run(&["secret", "key", "test"]).fine().out.trim().to_owned();
        let running = shop.start_with("run.log", &[("POSTRIDER_SECRET_KEY", &secret)]);
        eventually("the API is open", || (running.get("/console/login").0 == 200).then_some(()));
        Self { running, seeds, shop, sql }
    }

    pub fn key(&self, name: &str, more: &[&str]) -> String {
        let words = [&["key", "create", name, "--role"], more].concat();
        self.shop.run(&words).fine().out.trim().to_owned()
    }

    /// The input of every script, with `more` added.
    pub fn input(&self, more: Value) -> Value {
        let mut input = json!({
            "base": format!("http://{}", self.running.address()),
            "folder": folder(),
            "admin": self.key("first", &["admin"]),
        });
        for source in [self.seeds.told(), more] {
            let Value::Object(entries) = source else { continue };
            input.as_object_mut().expect("it is one").extend(entries);
        }
        input
    }

    /// Runs a statement on the database, without the console.
    pub async fn must(&self, statement: &str) {
        self.sql.must(statement).await;
    }

    /// Returns one value from the database, without the console.
    pub async fn one(&self, query: &str) -> String {
        let rows = self.sql.rows(query).await.expect(query);
        rows[0][0].clone().unwrap_or_default()
    }

    /// The status of a job.
    pub async fn job(&self, id: &str) -> String {
        self.one(&format!("SELECT status FROM dispatch_jobs WHERE id = '{id}'")).await
    }
}
