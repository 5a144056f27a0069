use std::collections::BTreeMap;
use std::sync::mpsc;
use std::time::Duration;

use async_trait::async_trait;
use postrider_contract::Contract;
use postrider_seams::{ClaimedRow, Composer, Dice, Envelope, Outcome, RowId, Transport, Value, transport};
use postrider_store_memory::{MemoryStore, MemoryTable};
use tokio::time::Instant;

use super::*;
use crate::batch::Batch;
use crate::boot_instant::BootInstant;
use crate::lane::{Lane, Limits};
use crate::state::LaneState;

struct Unused;

impl Dice for Unused {
    fn roll(&self) -> f64 {
        0.0
    }
}

#[async_trait]
impl Composer for Unused {
    async fn compose(&self, _rows: &[ClaimedRow]) -> Vec<Result<Envelope, Outcome>> {
        Vec::new()
    }

    fn size_limit(&self) -> u64 {
        u64::MAX
    }
}

#[async_trait]
impl Transport for Unused {
    fn capabilities(&self) -> transport::Capabilities {
        transport::Capabilities::new(1, 1)
    }

    async fn deliver(&self, _batch: &[Envelope], _deadline: Instant) -> Vec<Outcome> {
        Vec::new()
    }

    async fn probe(&self) -> Result<(), transport::Error> {
        Ok(())
    }
}

fn runner(table: &Arc<MemoryTable>, contract: Contract) -> Arc<Runner> {
    let second = Duration::from_secs(1);
    let lane = Lane {
        name: "mail".to_owned(),
        contract: Arc::new(contract),
        stage: 0,
        store: MemoryStore::open(table, 0, "worker"),
        composer: Arc::new(Unused),
        transport: Arc::new(Unused),
        queue: None,
        contract_memory: None,
        limits: Limits {
            concurrency: 1,
            batch: 1,
            max_batch: 1,
            max_batch_distant: 1,
            max_held: 10,
            large_row_bytes: 1024,
            timeout: second,
            poll_interval: second,
            maintenance_interval: second,
            single_claimer: false,
        },
    };
    let state = Arc::new(LaneState::new("mail", "mail_outbox", "send"));
    Runner::new(lane, state, Arc::new(Unused), Arc::default())
}

fn queued(table: &MemoryTable) -> BTreeMap<String, Value> {
    BTreeMap::from([
        ("id".to_owned(), Value::Int(1)),
        ("status".to_owned(), Value::Text("queued".to_owned())),
        ("retry_count".to_owned(), Value::Int(0)),
        ("next_attempt_at".to_owned(), Value::Int(table.now())),
        ("created_at".to_owned(), Value::Int(table.now())),
    ])
}

/// Waits long enough for another thread to reach the lock on which it must block.
#[expect(clippy::disallowed_methods, reason = "a test of threads; no runtime runs on this one")]
fn step() {
    std::thread::sleep(Duration::from_millis(200));
}

/// An extension that ran between a settle and the closing of its leases would find them lost, and report that.
#[test]
fn leases_are_closed_before_an_extension_may_begin() {
    let contract = || {
        let text = Contract::builtin("mail_outbox").expect("a built-in");
        Contract::parse("mail_outbox.toml", text).expect("a valid contract")
    };
    let table = MemoryTable::new(contract());
    table.insert(queued(&table));
    let runner = runner(&table, contract());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let rows = runtime.block_on(runner.store.claim(1)).expect("claimed");
    let (batch, mut held) = Batch::open(rows, BootInstant::now(), Duration::from_mins(1));
    let ended = [DecidedRow::released(held.pop().expect("one row").lease)];

    // The store does not answer before this message arrives.
    let (answer, held_back) = mpsc::channel::<()>();
    let locked = Arc::clone(&table);
    let store = std::thread::spawn(move || {
        locked.edit(&RowId::Int(1), |_| {
            held_back.recv_timeout(Duration::from_secs(10)).expect("the test lets it go on");
        });
    });
    step();
    let settling = Arc::clone(&runner);
    let settler = std::thread::spawn(move || {
        runtime.block_on(try_settle(&settling, ended.iter().map(|one| (one, Form::Whole)).collect()))
    });
    step();
    assert!(runner.gate.try_write().is_err(), "the settle waits for the store, under the gate");
    let leases = batch.held_still();
    answer.send(()).expect("the store waits");
    store.join().expect("no panic");
    step();
    assert!(
        runner.gate.try_write().is_err(),
        "the row is settled, its lease not closed yet: no extension may begin"
    );
    drop(leases);
    settler.join().expect("no panic").expect("settled");
    assert!(batch.is_done());
    assert!(runner.gate.try_write().is_ok());
}
