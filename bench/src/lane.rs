//! Lanes for benches: a no-op transport, a recorder of delivery times, and how to wait for the end.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use postrider_contract::{Contract, Transition};
use postrider_engine::{Engine, Lane, Limits};
use postrider_seams::row::Detail;
use postrider_seams::store::Settlement;
use postrider_seams::{Composer, Envelope, Lease, Outcome, Receipt, Store, ThreadDice, Transport, transport};
use tokio::time::Instant;

/// The built-in contract of the bench's table, with this claim size.
pub fn contract(batch: u32) -> Contract {
    let text = Contract::builtin("mail_outbox").expect("a built-in");
    let mut contract = Contract::parse("mail_outbox.toml", text).expect("a built-in contract is valid");
    contract.claim.batch = batch;
    contract
}

/// The limits of a lane with this claim size.
pub fn limits(batch: u32) -> Limits {
    Limits {
        concurrency: 8,
        batch,
        max_batch: batch,
        max_batch_distant: batch,
        max_held: batch as usize * 6,
        large_row_bytes: 64 * 1024 * 1024,
        timeout: Duration::from_secs(30),
        poll_interval: Duration::from_millis(500),
        maintenance_interval: Duration::from_secs(10),
        single_claimer: false,
    }
}

/// A transport that accepts everything at once, so that only the engine and the store are measured.
pub struct NoOp;

#[async_trait]
impl Transport for NoOp {
    fn capabilities(&self) -> transport::Capabilities {
        transport::Capabilities::new(500, 4)
    }

    async fn deliver(&self, batch: &[Envelope], _deadline: Instant) -> Vec<Outcome> {
        batch.iter().map(|_| Outcome::Delivered(Receipt::default())).collect()
    }

    async fn probe(&self) -> Result<(), transport::Error> {
        Ok(())
    }
}

/// A transport that accepts everything, and records the time at which it received each row.
#[derive(Default)]
pub struct Recorder {
    pub seen: Mutex<HashMap<String, Instant>>,
}

#[async_trait]
impl Transport for Recorder {
    fn capabilities(&self) -> transport::Capabilities {
        transport::Capabilities::new(50, 8)
    }

    async fn deliver(&self, batch: &[Envelope], _deadline: Instant) -> Vec<Outcome> {
        let now = Instant::now();
        let mut seen = self.seen.lock().expect("no panic holds it");
        for envelope in batch {
            seen.insert(envelope.row.clone(), now);
        }
        batch.iter().map(|_| Outcome::Delivered(Receipt::default())).collect()
    }

    async fn probe(&self) -> Result<(), transport::Error> {
        Ok(())
    }
}

/// Builds a lane from these parts.
pub fn lane(
    contract: &Contract,
    store: Arc<dyn Store>,
    composer: Arc<dyn Composer>,
    transport: Arc<dyn Transport>,
    limits: Limits,
) -> Lane {
    Lane {
        name: "bench".to_owned(),
        contract: Arc::new(contract.clone()),
        stage: 0,
        store,
        composer,
        transport,
        queue: None,
        contract_memory: None,
        limits,
    }
}

/// Runs the lane until `rows` are settled as delivered; returns rows per second from the start of the engine.
pub async fn drain(lane: Lane, rows: u64) -> f64 {
    let engine = Engine::new(Arc::new(ThreadDice));
    let handle = engine.handle();
    let started = Instant::now();
    engine.start(lane);
    loop {
        tokio::time::sleep(Duration::from_millis(2)).await;
        let status = handle.lane("bench").expect("the lane was started");
        assert_eq!(status.failed + status.lost, 0, "a bench row failed: {status:?}");
        if status.delivered >= rows {
            break;
        }
    }
    let rate = rate(rows, started.elapsed());
    engine.drain(Duration::from_secs(10)).await;
    rate
}

/// Rows per second.
#[allow(clippy::cast_precision_loss)] // row counts are far below 2^52
pub fn rate(rows: u64, elapsed: Duration) -> f64 {
    rows as f64 / elapsed.as_secs_f64()
}

/// The settlement of a delivered row.
pub fn delivered(lease: Lease) -> Settlement {
    Settlement {
        lease,
        transition: Transition::Delivered,
        delay: Duration::ZERO,
        releases: Vec::new(),
        reason: None,
        receipt: None,
        envelope: Detail::new(),
        outcome: Detail::new(),
    }
}
