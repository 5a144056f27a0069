//! Pool limits apply to all instances together, clients are served round-robin, and limits survive a restart.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use postrider_contract::Contract;
use postrider_engine::{Engine, Lane, Limits};
use postrider_seams::{
    Composer, Envelope, Failure, Inspect as _, Outcome, Receipt, Transport, Value, inspect, transport,
};
use postrider_store_memory::{MemoryStore, MemoryTable, PoolLimits, Row};
use tokio::time::Instant;

use crate::fixtures::{AcceptingComposer, NoJitter, count, limits, until};

const MINUTE: Duration = Duration::from_mins(1);

fn contract() -> Contract {
    let text = Contract::builtin("dispatch_jobs").expect("a built-in");
    Contract::parse("dispatch_jobs.toml", text).expect("a valid contract")
}

fn table() -> Arc<MemoryTable> {
    MemoryTable::new(contract())
}

fn job(table: &MemoryTable, id: &str, client: &str) -> Row {
    let text = |text: &str| Value::Text(text.to_owned());
    BTreeMap::from([
        ("id".to_owned(), text(id)),
        ("status".to_owned(), text("QUEUED")),
        ("attempt_count".to_owned(), Value::Int(0)),
        ("created_at".to_owned(), Value::Int(table.now())),
        ("mode".to_owned(), text("IMMEDIATE")),
        ("client_id".to_owned(), text(client)),
    ])
}

fn fill(table: &MemoryTable, what: &str, jobs: usize, client: &str, pool: Option<&str>) {
    for n in 0..jobs {
        let mut row = job(table, &format!("{what}{n:06}"), client);
        if let Some(pool) = pool {
            row.insert("dispatch_pool_id".to_owned(), Value::Text(pool.to_owned()));
        }
        table.insert(row);
    }
}

/// A receiver that records how many deliveries of each kind (the first letter of the row) are in flight, and when each
/// ended.
#[derive(Default)]
struct Receiver {
    under: Mutex<HashMap<char, usize>>,
    most: Mutex<HashMap<char, usize>>,
    ended: Mutex<Vec<(String, Instant)>>,
    refuses: Option<&'static str>,
    /// Deliveries of this kind never return within the test.
    hangs: Option<char>,
}

impl Receiver {
    fn most(&self, kind: char) -> usize {
        self.most.lock().expect("no panic").get(&kind).copied().unwrap_or(0)
    }

    fn ended(&self, kind: char) -> Vec<Instant> {
        let ended = self.ended.lock().expect("no panic");
        ended.iter().filter(|(row, _)| row.starts_with(kind)).map(|(_, at)| *at).collect()
    }
}

#[async_trait]
impl Transport for Receiver {
    fn capabilities(&self) -> transport::Capabilities {
        transport::Capabilities::new(1, 16)
    }

    async fn deliver(&self, batch: &[Envelope], _deadline: Instant) -> Vec<Outcome> {
        let row = &batch[0].row;
        let kind = row.chars().next().unwrap_or('?');
        {
            let mut under = self.under.lock().expect("no panic");
            let now = under.entry(kind).or_default();
            *now += 1;
            let mut most = self.most.lock().expect("no panic");
            let most = most.entry(kind).or_default();
            *most = (*most).max(*now);
        }
        let hangs = self.hangs == Some(kind);
        tokio::time::sleep(if hangs { 10 * MINUTE } else { Duration::from_millis(20) }).await;
        *self.under.lock().expect("no panic").entry(kind).or_default() -= 1;
        self.ended.lock().expect("no panic").push((row.clone(), Instant::now()));
        vec![if self.refuses == Some(row.as_str()) {
            Outcome::Rejected(Failure::new("410 Gone"))
        } else {
            Outcome::Delivered(Receipt::default())
        }]
    }

    async fn probe(&self) -> Result<(), transport::Error> {
        Ok(())
    }
}

fn start(table: &Arc<MemoryTable>, receiver: &Arc<Receiver>, worker: &str) -> Engine {
    start_with(table, receiver, worker, limits())
}

fn start_with(table: &Arc<MemoryTable>, receiver: &Arc<Receiver>, worker: &str, limits: Limits) -> Engine {
    let engine = Engine::new(Arc::new(NoJitter));
    let composer: Arc<dyn Composer> = Arc::new(AcceptingComposer { limit: 1024 * 1024 });
    engine.start(Lane {
        name: "webhooks".to_owned(),
        contract: Arc::new(contract()),
        stage: 0,
        store: MemoryStore::open(table, 0, worker),
        composer,
        transport: Arc::clone(receiver) as Arc<dyn Transport>,
        queue: None,
        contract_memory: None,
        limits,
    });
    engine
}

#[tokio::test(start_paused = true)]
async fn j09_a_pool_is_used_to_its_limit_and_no_further_by_two_instances() {
    let table = table();
    table.set_pool("narrow", PoolLimits { concurrency: Some(3), ..PoolLimits::default() });
    fill(&table, "p", 60, "a", Some("narrow"));
    fill(&table, "f", 60, "a", None);
    let receiver = Arc::new(Receiver::default());
    let began = Instant::now();
    let _engines = [start(&table, &receiver, "one"), start(&table, &receiver, "two")];
    until("all delivered", MINUTE, || count(&table, "COMPLETED") == 120).await;
    assert_eq!(receiver.most('p'), 3);
    assert!(receiver.most('f') > 3, "the others know no such limit");
    // 60 rows of 20 ms, three at once, take 400 ms; with a poll between any two of them it would be ten times that.
    assert!(began.elapsed() < Duration::from_secs(2), "took {:?}", began.elapsed());
    let last_free = receiver.ended('f').into_iter().max().expect("some");
    assert!(
        last_free - began < Duration::from_millis(600),
        "the full pool held up the others: {last_free:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn j09_a_rate_paces_a_pool_and_nothing_else() {
    let table = table();
    // One per second.
    table.set_pool("slow", PoolLimits { rate: Some(60), ..PoolLimits::default() });
    fill(&table, "s", 20, "a", Some("slow"));
    fill(&table, "f", 20, "a", None);
    let receiver = Arc::new(Receiver::default());
    let began = Instant::now();
    let _engines = [start(&table, &receiver, "one"), start(&table, &receiver, "two")];
    until("the others", Duration::from_secs(1), || receiver.ended('f').len() == 20).await;
    until("all delivered", MINUTE, || count(&table, "COMPLETED") == 40).await;
    let took = began.elapsed();
    assert!(took >= Duration::from_secs(19), "20 at one a second took {took:?}");
    assert!(took < Duration::from_secs(25), "the pool has what its rate allows: {took:?}");
}

#[tokio::test(start_paused = true)]
async fn j09_changes_of_a_pool_apply_within_seconds() {
    let table = table();
    table.set_pool("still", PoolLimits { paused: true, ..PoolLimits::default() });
    fill(&table, "p", 10, "a", Some("still"));
    let receiver = Arc::new(Receiver::default());
    let _engine = start(&table, &receiver, "one");
    tokio::time::sleep(MINUTE).await;
    assert!(receiver.ended('p').is_empty(), "it is paused");
    table.set_pool("still", PoolLimits::default());
    until("resumed", Duration::from_secs(3), || count(&table, "COMPLETED") == 10).await;
}

#[tokio::test(start_paused = true)]
async fn j09_ten_jobs_of_one_client_do_not_wait_for_thousands_of_another() {
    let table = table();
    // 10 s of work for one instance with eight concurrent deliveries.
    fill(&table, "a", 4000, "a", None);
    let receiver = Arc::new(Receiver::default());
    let _engine = start(&table, &receiver, "one");
    until("under way", MINUTE, || receiver.ended('a').len() > 100).await;
    let began = Instant::now();
    fill(&table, "b", 10, "b", None);
    until("all of b", MINUTE, || receiver.ended('b').len() == 10).await;
    assert!(began.elapsed() < Duration::from_secs(2), "took {:?}", began.elapsed());
    assert!(receiver.ended('a').len() < 3000, "a has not gone first");
}

#[tokio::test(start_paused = true)]
async fn j09_a_client_whose_receivers_hang_holds_up_no_other() {
    let table = table();
    fill(&table, "a", 500, "a", None);
    let receiver = Arc::new(Receiver { hangs: Some('a'), ..Receiver::default() });
    let limits = Limits { concurrency: 16, timeout: 20 * MINUTE, ..limits() };
    let _engine = start_with(&table, &receiver, "one", limits);
    until("the lane is full", MINUTE, || count(&table, "IN_PROGRESS") == 40).await;
    tokio::time::sleep(MINUTE).await;
    assert_eq!(receiver.most('a'), 14, "all but an eighth");
    fill(&table, "b", 10, "b", None);
    until("all of b", Duration::from_secs(5), || receiver.ended('b').len() == 10).await;
    assert!(receiver.ended('a').is_empty());
}

#[tokio::test(start_paused = true)]
async fn j08_a_hold_survives_a_restart() {
    let table = table();
    for n in 0..3 {
        let mut row = job(&table, &format!("g{n}"), "a");
        row.insert("mode".to_owned(), Value::Text("BLOCK_ON_ERROR".to_owned()));
        row.insert("group_key".to_owned(), Value::Text("a:orders".to_owned()));
        row.insert("sequence".to_owned(), Value::Int(n));
        table.insert(row);
    }
    let receiver = Arc::new(Receiver { refuses: Some("g0"), ..Receiver::default() });
    let first = start(&table, &receiver, "one");
    until("the head failed", MINUTE, || receiver.ended('g').len() == 1).await;
    tokio::time::sleep(MINUTE).await;
    first.drain(Duration::from_secs(5)).await;
    let _second = start(&table, &receiver, "two");
    tokio::time::sleep(MINUTE).await;
    assert_eq!(receiver.ended('g').len(), 1, "the group waits for its head");
    let operator = MemoryStore::open(&table, 0, "operator");
    let which = inspect::SelectedRows::Ids(vec!["g0".to_owned()]);
    assert_eq!(operator.cancel(&which).await.expect("it is there"), 1);
    until("the rest", MINUTE, || count(&table, "COMPLETED") == 2).await;
}
