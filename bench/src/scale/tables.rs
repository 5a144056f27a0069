//! Copies of the mail outbox on PostgreSQL, and lanes that drain them into nothing.

use std::sync::Arc;
use std::time::Duration;

use postrider_composers::NullComposer;
use postrider_contract::Contract;
use postrider_engine::{Engine, Lane};
use postrider_seams::ThreadDice;
use postrider_store_postgres::{Database, Settings};
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection};
use tokio::time::Instant;

use crate::lane::{NoOp, lane, limits, rate};
use crate::servers::{BenchTable, SUBJECT, migrate};

pub const BATCH: u32 = 500;

/// A database with some tables, and the lanes of each of its users.
pub struct Tables {
    url: String,
    contracts: Vec<Contract>,
}

impl Tables {
    /// Creates a new database with this many tables.
    pub async fn create(count: usize) -> Self {
        let contracts: Vec<Contract> = (1..=count).map(contract).collect();
        let BenchTable::Postgres { database, url } = BenchTable::postgres(&contracts[0]).await else {
            unreachable!("this table is on PostgreSQL")
        };
        for contract in &contracts[1..] {
            migrate(&*database.migration(contract.clone())).await;
        }
        Self { url, contracts }
    }

    /// Empties the first tables, fills them with due rows, the same number each, and vacuums them.
    pub async fn fill(&self, tables: usize, rows: u64) {
        let mut connection = PgConnection::connect(&self.url).await.expect("connected");
        for contract in &self.contracts[..tables] {
            let table = &contract.table.name;
            let insert = format!(
                "INSERT INTO {table} (status, retry_count, next_attempt_at, created_at, to_addresses, from_address, subject) \
                 SELECT 'queued', 0, now() - interval '1 s', now(), 'to@example.org', 'from@example.org', '{SUBJECT}' \
                 FROM generate_series(1, {rows})"
            );
            for statement in [format!("TRUNCATE {table}"), insert, format!("VACUUM ANALYZE {table}")] {
                connection.execute(AssertSqlSafe(statement)).await.expect("filled");
            }
        }
        connection.execute("CHECKPOINT").await.expect("written");
    }

    /// Opens lanes of the first tables for one instance, which has connections of its own.
    pub async fn instance(&self, tables: usize) -> Vec<Lane> {
        let database = Database::connect(&Settings::new(self.url.clone())).expect("settings are right");
        let mut lanes = Vec::new();
        for contract in &self.contracts[..tables] {
            let name = contract.table.name.clone();
            let store =
                database.open(contract.clone(), &contract.stages[0].name, &name).await.expect("opened");
            let composer = Arc::new(NullComposer);
            lanes.push(Lane { name, ..lane(contract, store, composer, Arc::new(NoOp), limits(BATCH)) });
        }
        lanes
    }
}

/// The built-in contract for a table of another name.
fn contract(number: usize) -> Contract {
    let name = "name = \"mail_outbox\"";
    let text = Contract::builtin("mail_outbox").expect("a built-in");
    assert!(text.contains(name), "the built-in contract names its table");
    let text = text.replace(name, &format!("name = \"mail_outbox_{number}\""));
    let mut contract = Contract::parse("mail_outbox.toml", &text).expect("a built-in contract is valid");
    contract.claim.batch = BATCH;
    contract
}

/// Runs the instances, each with its lanes, until `rows` rows are delivered by all together; returns rows per second.
pub async fn drain(instances: Vec<Vec<Lane>>, rows: u64) -> f64 {
    let engines: Vec<Engine> = instances.iter().map(|_| Engine::new(Arc::new(ThreadDice))).collect();
    let started = Instant::now();
    for (engine, lanes) in engines.iter().zip(instances) {
        for lane in lanes {
            engine.start(lane);
        }
    }
    let handles: Vec<_> = engines.iter().map(Engine::handle).collect();
    loop {
        tokio::time::sleep(Duration::from_millis(2)).await;
        let lanes: Vec<_> = handles.iter().flat_map(postrider_engine::Handle::lanes).collect();
        let failed: u64 = lanes.iter().map(|lane| lane.failed + lane.lost).sum();
        assert_eq!(failed, 0, "a bench row failed: {lanes:?}");
        if lanes.iter().map(|lane| lane.delivered).sum::<u64>() >= rows {
            break;
        }
    }
    let rate = rate(rows, started.elapsed());
    for engine in engines {
        engine.drain(Duration::from_secs(10)).await;
    }
    rate
}
