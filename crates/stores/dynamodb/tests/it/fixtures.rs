//! Creates a table for each test, and runs boto3 programs on it.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use postrider_contract::Contract;
use postrider_seams::{ClaimedRow, Migrate as _, Store as _, migrate};
use postrider_services::{Ministack, boto3};
use postrider_store_dynamodb::{Database, DynamoStore, Settings};

/// The beginning of every program: `db`, `table`, `put(id, latest, …)`, `all(id)`; `answer(value)` returns a result.
const PRELUDE: &str = r#"
import sys, json, time, boto3
from decimal import Decimal
given = json.load(sys.stdin)
session = dict(endpoint_url=given['endpoint'], region_name='us-east-1', aws_access_key_id='t', aws_secret_access_key='t')
client = boto3.client('dynamodb', **session)
name = given['table']
table = boto3.resource('dynamodb', **session).Table(name)
def put(id, latest, ttl=None, legacy=None, **more):
    attributes = dict(Latest=latest, UpdatedAt='2026-01-01T00:00:00Z', Reason='', PayloadFilePath=f'/in/{id}.json', **more)
    if legacy: attributes['TTL'] = legacy
    for status in ('_META', latest):
        item = dict(Id=id, Status=status, Attributes=attributes)
        if ttl: item['TTL'] = ttl
        table.put_item(Item=item)
def all(id):
    items = client.execute_statement(Statement=f'SELECT * FROM "{name}" WHERE Id=?', Parameters=[{'S': id}])['Items']
    deserializer = boto3.dynamodb.types.TypeDeserializer()
    plain = [{key: deserializer.deserialize(value) for key, value in item.items()} for item in items]
    return {item['Status']: item for item in plain}
def answer(value): print(json.dumps(value, default=lambda n: int(n)))
"#;

pub struct Fixture {
    pub settings: Settings,
    pub contract: Contract,
}

/// Returns the URL in the environment, or starts one emulator for all tests here.
fn url() -> String {
    static SHARED: OnceLock<String> = OnceLock::new();
    let start = || {
        let server = Ministack::start().unwrap();
        let url = server.dynamodb_url();
        // Its guardian process stops it after the tests.
        std::mem::forget(server);
        url
    };
    SHARED.get_or_init(|| std::env::var("POSTRIDER_TEST_DYNAMODB").unwrap_or_else(|_| start())).clone()
}

impl Fixture {
    /// Creates a fixture without the table.
    pub async fn bare() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let url = tokio::task::spawn_blocking(url).await.unwrap();
        let text = Contract::builtin("emails").unwrap();
        let mut contract = Contract::parse("emails.toml", text).unwrap();
        contract.table.name = format!("it_{}_{}", std::process::id(), NEXT.fetch_add(1, Relaxed));
        Self { settings: Settings::from_url(&url).unwrap(), contract }
    }

    pub async fn new() -> Self {
        let fixture = Self::bare().await;
        fixture
            .database()
            .migration(fixture.contract.clone())
            .apply(migrate::MigrateOptions::default())
            .await
            .unwrap();
        fixture
    }

    pub fn database(&self) -> Database {
        Database::connect(&self.settings)
    }

    pub async fn open(&self, stage: &str) -> Arc<DynamoStore> {
        self.database().open(self.contract.clone(), stage, "test").await.unwrap()
    }

    /// Runs a boto3 program; returns its answer.
    pub async fn boto3(&self, program: &str) -> serde_json::Value {
        let input =
            serde_json::json!({ "endpoint": self.settings.endpoint, "table": self.contract.table.name });
        let program = format!("{PRELUDE}{program}");
        let ran = tokio::task::spawn_blocking(move || boto3::run(&program, &input.to_string()));
        let said = ran.await.unwrap().unwrap().unwrap_or_else(|complaint| panic!("{complaint}"));
        serde_json::from_str(&said).unwrap_or(serde_json::Value::Null)
    }
}

pub async fn claim(store: &DynamoStore, limit: u32) -> Vec<ClaimedRow> {
    store.claim(limit).await.unwrap()
}

/// Returns the keys of claimed rows, sorted.
pub fn ids(claimed: &[ClaimedRow]) -> Vec<String> {
    let mut ids: Vec<String> = claimed.iter().map(|row| row.lease.id.to_string()).collect();
    ids.sort();
    ids
}
