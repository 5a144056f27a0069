//! The limit of the engine: the same table, contract and composer, with a no-op transport.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use postrider_composers::WebhookComposer;
use postrider_composers::webhook::NoDirectory;
use postrider_contract::Contract;
use postrider_engine::Limits;
use postrider_seams::row::Detail;
use postrider_seams::secret::Error;
use postrider_seams::{Envelope, Outcome, Receipt, Secret, Secrets, Transport, Value, transport};
use tokio::time::Instant;

use crate::lane;

struct NoOpWebhooks;

#[async_trait]
impl Transport for NoOpWebhooks {
    fn capabilities(&self) -> transport::Capabilities {
        transport::Capabilities::new(500, 4)
    }

    async fn deliver(&self, batch: &[Envelope], _deadline: Instant) -> Vec<Outcome> {
        let detail = Detail::from([
            ("result".to_owned(), Value::Text("SUCCESS".to_owned())),
            ("duration_ms".to_owned(), Value::Int(0)),
            ("status".to_owned(), Value::Int(200)),
            ("body".to_owned(), Value::Text("{\"received\":true}".to_owned())),
        ]);
        batch.iter().map(|_| Outcome::Delivered(Receipt { id: None, detail: detail.clone() })).collect()
    }

    async fn probe(&self) -> Result<(), transport::Error> {
        Ok(())
    }
}

/// A directory without accounts, as the jobs name none.
struct NoSecrets;

#[async_trait]
impl Secrets for NoSecrets {
    async fn secret(&self, _reference: &str) -> Result<Secret, Error> {
        Err(Error::Unavailable("there are none".to_owned()))
    }
}

/// Drains a filled table; returns jobs per second.
pub async fn run(url: &str, rows: u64) -> f64 {
    let text = Contract::builtin("dispatch_jobs").expect("a built-in");
    let contract = Contract::parse("dispatch_jobs.toml", text).expect("a built-in contract is valid");
    let settings = postrider_store_postgres::Settings::new(url.to_owned());
    let database = postrider_store_postgres::Database::connect(&settings).expect("settings are right");
    let store = database.open(contract.clone(), &contract.stages[0].name, "bench").await.expect("opened");
    let limits = Limits {
        concurrency: 4,
        batch: 500,
        max_batch: 500,
        max_batch_distant: 500,
        max_held: 2000,
        large_row_bytes: 64 * 1024 * 1024,
        timeout: Duration::from_secs(30),
        poll_interval: Duration::from_millis(500),
        maintenance_interval: Duration::from_secs(10),
        single_claimer: false,
    };
    let composer = Arc::new(WebhookComposer::new(Arc::new(NoDirectory), Arc::new(NoSecrets)));
    lane::drain(lane::lane(&contract, store, composer, Arc::new(NoOpWebhooks), limits), rows).await
}
