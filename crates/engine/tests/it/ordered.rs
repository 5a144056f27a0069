//! Rows of one group are delivered in order, one at a time; groups do not wait for each other.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use postrider_contract::{Contract, GroupMode, OnError};
use postrider_engine::{Engine, Lane};
use postrider_seams::{Composer, Envelope, Failure, Outcome, Receipt, Transport, Value, transport};
use postrider_store_memory::{MemoryStore, MemoryTable, Row};
use tokio::time::Instant;

use crate::fixtures::{AcceptingComposer, NoJitter, count, int, limits, text, until};

const MINUTE: Duration = Duration::from_mins(1);

pub fn contract() -> Contract {
    let text = Contract::builtin("outbox").expect("a built-in");
    Contract::parse("outbox.toml", text).expect("a valid contract")
}

fn table(on_error: GroupMode) -> Arc<MemoryTable> {
    let mut contract = contract();
    contract.group.as_mut().expect("it has one").on_error = OnError::Always(on_error);
    MemoryTable::new(contract)
}

/// Row `id` of a group; the key's order is the group's.
pub fn record(table: &MemoryTable, id: i64, key: Option<&str>) -> Row {
    let mut row = BTreeMap::from([
        ("id".to_owned(), Value::Int(id)),
        ("status".to_owned(), Value::Text("PENDING".to_owned())),
        ("retry_count".to_owned(), Value::Int(0)),
        ("version".to_owned(), Value::Int(0)),
        ("created_at".to_owned(), Value::Int(table.now() - 60_000_000)),
        ("payload".to_owned(), Value::Text("x".to_owned())),
    ]);
    if let Some(key) = key {
        row.insert("partition_key".to_owned(), Value::Text(key.to_owned()));
    }
    row
}

/// Returns the outcome for a row, given how often it was tried before.
type Script = dyn Fn(&str, usize) -> Outcome + Send + Sync;

/// A target with a journal: which rows it accepted, in which order, and which overlapped.
struct Broker {
    pipelined: bool,
    batch: usize,
    takes: Duration,
    script: Box<Script>,
    tries: Mutex<Vec<String>>,
    taken: Mutex<Vec<String>>,
    calls: Mutex<Vec<Vec<String>>>,
    /// Rows in flight, to check that no two of them are of one group.
    under: Mutex<BTreeSet<String>>,
    overlapped: AtomicBool,
}

impl Broker {
    fn new(pipelined: bool, script: impl Fn(&str, usize) -> Outcome + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self {
            pipelined,
            batch: if pipelined { 50 } else { 1 },
            takes: Duration::from_millis(20),
            script: Box::new(script),
            tries: Mutex::default(),
            taken: Mutex::default(),
            calls: Mutex::default(),
            under: Mutex::default(),
            overlapped: AtomicBool::new(false),
        })
    }

    fn tries(&self) -> Vec<String> {
        self.tries.lock().expect("no panic").clone()
    }

    fn taken(&self) -> Vec<String> {
        self.taken.lock().expect("no panic").clone()
    }
}

fn delivered() -> Outcome {
    Outcome::Delivered(Receipt::default())
}

/// Rows 1–99 are of one group, 101–199 of the next, and so on.
fn group_of(row: &str) -> String {
    (row.parse::<i64>().expect("a number") / 100).to_string()
}

#[async_trait]
impl Transport for Broker {
    fn capabilities(&self) -> transport::Capabilities {
        transport::Capabilities::new(self.batch, 8).keeping_order(self.pipelined)
    }

    async fn deliver(&self, batch: &[Envelope], _deadline: Instant) -> Vec<Outcome> {
        let rows: Vec<String> = batch.iter().map(|envelope| envelope.row.clone()).collect();
        let groups: BTreeSet<String> = rows.iter().map(|row| group_of(row)).collect();
        {
            let mut under = self.under.lock().expect("no panic");
            if groups.iter().any(|group| under.contains(group)) {
                self.overlapped.store(true, SeqCst);
            }
            under.extend(groups.iter().cloned());
        }
        tokio::time::sleep(self.takes).await;
        self.under.lock().expect("no panic").retain(|group| !groups.contains(group));
        self.calls.lock().expect("no panic").push(rows.clone());
        let answer = |row: &String| {
            let mut tries = self.tries.lock().expect("no panic");
            let before = tries.iter().filter(|tried| *tried == row).count();
            tries.push(row.clone());
            let outcome = (self.script)(row, before);
            if matches!(outcome, Outcome::Delivered(_)) {
                self.taken.lock().expect("no panic").push(row.clone());
            }
            outcome
        };
        rows.iter().map(answer).collect()
    }

    async fn probe(&self) -> Result<(), transport::Error> {
        Ok(())
    }
}

fn start(table: &Arc<MemoryTable>, broker: &Arc<Broker>, worker: &str) -> Engine {
    let engine = Engine::new(Arc::new(NoJitter));
    let composer: Arc<dyn Composer> = Arc::new(AcceptingComposer { limit: 1024 * 1024 });
    let store = MemoryStore::open(table, 0, worker);
    engine.start(Lane {
        name: "outbox".to_owned(),
        contract: Arc::new(contract()),
        stage: 0,
        store,
        composer,
        transport: Arc::clone(broker) as Arc<dyn Transport>,
        queue: None,
        contract_memory: None,
        limits: limits(),
    });
    engine
}

fn fill(table: &MemoryTable, groups: i64, rows: i64) {
    for group in 0..groups {
        for n in 1..=rows {
            let id = group * 100 + n;
            table.insert(record(table, id, Some(&format!("k{group}"))));
        }
    }
}

fn in_order(broker: &Broker, groups: i64, rows: i64) {
    let taken = broker.taken();
    for group in 0..groups {
        let of_group: Vec<&String> = taken.iter().filter(|row| group_of(row) == group.to_string()).collect();
        let expected: Vec<String> = (1..=rows).map(|n| (group * 100 + n).to_string()).collect();
        assert_eq!(of_group, expected.iter().collect::<Vec<_>>(), "group {group}");
    }
    assert!(!broker.overlapped.load(SeqCst), "two deliveries of one group at once");
}

#[tokio::test(start_paused = true)]
async fn o08_rows_of_a_group_go_one_after_another_and_groups_side_by_side() {
    let table = table(GroupMode::Wait);
    fill(&table, 8, 12);
    let broker = Broker::new(false, |_, _| delivered());
    let began = Instant::now();
    let _engines = [start(&table, &broker, "one"), start(&table, &broker, "two")];
    until("all delivered", MINUTE, || count(&table, "DELIVERED") == 96).await;
    in_order(&broker, 8, 12);
    // 96 rows of 20 ms each take 1.9 s one by one; eight groups in parallel take an eighth of that.
    assert!(began.elapsed() < Duration::from_secs(1), "took {:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn o08_a_run_goes_in_one_call_where_the_transport_keeps_its_order() {
    let table = table(GroupMode::Wait);
    fill(&table, 2, 30);
    let broker = Broker::new(true, |_, _| delivered());
    let _engine = start(&table, &broker, "one");
    until("all delivered", MINUTE, || count(&table, "DELIVERED") == 60).await;
    in_order(&broker, 2, 30);
    let calls = broker.calls.lock().expect("no panic").len();
    assert!(calls <= 12, "{calls} calls for two groups");
}

#[tokio::test(start_paused = true)]
async fn o08_a_call_takes_one_row_of_each_group_where_the_transport_keeps_no_order() {
    let table = table(GroupMode::Wait);
    fill(&table, 40, 6);
    let mut broker = Broker::new(false, |_, _| delivered());
    Arc::get_mut(&mut broker).expect("not shared yet").batch = 50;
    let _engine = start(&table, &broker, "one");
    until("all delivered", MINUTE, || count(&table, "DELIVERED") == 240).await;
    in_order(&broker, 40, 6);
    let calls = broker.calls.lock().expect("no panic").clone();
    for call in &calls {
        let groups: BTreeSet<String> = call.iter().map(|row| group_of(row)).collect();
        assert_eq!(groups.len(), call.len(), "two rows of one group in {call:?}");
    }
    assert!(calls.len() < 120, "{} calls for 240 rows", calls.len());
}

#[tokio::test(start_paused = true)]
async fn o08_a_row_that_is_tried_again_holds_its_group_alone_and_the_rest_spends_nothing() {
    for pipelined in [false, true] {
        let table = table(GroupMode::Wait);
        fill(&table, 2, 5);
        let fails = |row: &str, tried: usize| {
            if row == "2" && tried == 0 {
                Outcome::Retryable(Failure::new("not now"))
            } else if tried == 0 && group_of(row) == "0" && row > "2" {
                // The answer of an ordered broker for records behind a failed one.
                Outcome::Deferred(Failure::new("not sent"))
            } else {
                delivered()
            }
        };
        let broker = Broker::new(pipelined, fails);
        let _engine = start(&table, &broker, "one");
        until("the other group is through", MINUTE, || {
            broker.taken().iter().filter(|row| group_of(row) == "1").count() == 5
        })
        .await;
        until("all delivered", MINUTE, || count(&table, "DELIVERED") == 10).await;
        in_order(&broker, 2, 5);
        assert_eq!(int(&table, 2, "retry_count"), Some(1));
        for id in 3..=5 {
            assert_eq!(int(&table, id, "retry_count"), Some(0), "row {id} was never tried before");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn o08_a_dead_head_lets_its_group_go_in_wait_and_holds_it_in_block() {
    let refuses = |row: &str, _: usize| {
        if row == "1" { Outcome::Rejected(Failure::new("too large")) } else { delivered() }
    };
    for (mode, delivered) in [(GroupMode::Wait, 2), (GroupMode::Block, 0)] {
        let table = table(mode);
        fill(&table, 1, 3);
        let broker = Broker::new(false, refuses);
        let _engine = start(&table, &broker, "one");
        until("the head is dead", MINUTE, || count(&table, "FAILED") == 1).await;
        tokio::time::sleep(MINUTE).await;
        assert_eq!(count(&table, "DELIVERED"), delivered, "{mode:?}");
        assert_eq!(count(&table, "PENDING"), 2 - delivered, "{mode:?}");
        assert_eq!(broker.tries().iter().filter(|row| *row != "1").count(), delivered, "{mode:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn j08_in_next_the_run_goes_on_after_a_failure() {
    let table = table(GroupMode::Next);
    fill(&table, 1, 3);
    let broker = Broker::new(false, |row, tried| {
        if row == "1" && tried == 0 { Outcome::Retryable(Failure::new("not now")) } else { delivered() }
    });
    let _engine = start(&table, &broker, "one");
    until("all delivered", MINUTE, || count(&table, "DELIVERED") == 3).await;
    assert_eq!(broker.taken(), ["2", "3", "1"]);
    assert!(!broker.overlapped.load(SeqCst), "one at a time all the same");
}

#[tokio::test(start_paused = true)]
async fn a_group_is_claimed_again_when_its_run_is_settled_not_at_the_next_poll() {
    let table = table(GroupMode::Wait);
    fill(&table, 1, 60);
    let broker = Broker::new(true, |_, _| delivered());
    let began = Instant::now();
    let _engine = start(&table, &broker, "one");
    until("all delivered", MINUTE, || count(&table, "DELIVERED") == 60).await;
    in_order(&broker, 1, 60);
    assert!(began.elapsed() < limits().poll_interval, "took {:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_drain_in_the_middle_of_runs_leaves_every_row_delivered_or_unspent() {
    let table = table(GroupMode::Wait);
    fill(&table, 4, 20);
    let broker = Broker::new(false, |_, _| delivered());
    let engine = start(&table, &broker, "one");
    until("some delivered", MINUTE, || broker.taken().len() > 10).await;
    assert_eq!(engine.drain(MINUTE).await.left, 0);
    assert_eq!(count(&table, "PROCESSING"), 0, "nothing is left in flight");
    assert_eq!(count(&table, "DELIVERED") + count(&table, "PENDING"), 80);
    let _engine = start(&table, &broker, "two");
    until("all delivered", MINUTE, || count(&table, "DELIVERED") == 80).await;
    in_order(&broker, 4, 20);
    assert_eq!(text(&table, 1, "status").as_deref(), Some("DELIVERED"));
}
