//! A lane with an external queue: an in-memory queue that can be made unavailable.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use postrider_contract::Contract;
use postrider_engine::{Engine, Health, Lane, Limits};
use postrider_seams::queue::{AckToken, Error, Pointer, Queue};
use postrider_seams::{Failure, Outcome, Receipt, RowId, Store, Transport, Value};
use postrider_store_memory::{MemoryStore, MemoryTable, PoolLimits, Row};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::fixtures::{AcceptingComposer, FaultyStore, NoJitter, Scripted, count, limits, until};

const MINUTE: Duration = Duration::from_mins(1);

/// An in-memory queue. It checks the table when a pointer is acknowledged.
struct Pointers {
    table: Arc<MemoryTable>,
    waiting: Mutex<VecDeque<Option<RowId>>>,
    held: Mutex<BTreeMap<String, Option<RowId>>>,
    arrived: Notify,
    away: AtomicBool,
    /// Whether its consumer delivers nothing, whatever waits.
    stuck: AtomicBool,
    published: AtomicUsize,
    received: AtomicUsize,
    acknowledged: AtomicUsize,
}

impl Pointers {
    fn new(table: &Arc<MemoryTable>) -> Arc<Self> {
        Arc::new(Self {
            table: Arc::clone(table),
            waiting: Mutex::default(),
            held: Mutex::default(),
            arrived: Notify::new(),
            away: AtomicBool::new(false),
            stuck: AtomicBool::new(false),
            published: AtomicUsize::new(0),
            received: AtomicUsize::new(0),
            acknowledged: AtomicUsize::new(0),
        })
    }

    fn put(&self, row: Option<&str>) {
        self.waiting.lock().expect("no panic").push_back(row.map(|row| RowId::Text(row.into())));
        self.arrived.notify_one();
    }

    fn answer(&self) -> Result<(), Error> {
        if self.away.load(SeqCst) { Err(Error::Unavailable("the queue is away".to_owned())) } else { Ok(()) }
    }
}

#[async_trait]
impl Queue for Pointers {
    fn receivers(&self) -> usize {
        1
    }

    async fn publish(&self, rows: &[RowId], _deadline: Instant) -> Vec<Result<(), Error>> {
        let publish = |row: &RowId| {
            self.answer()?;
            self.published.fetch_add(1, SeqCst);
            self.waiting.lock().expect("no panic").push_back(Some(row.clone()));
            self.arrived.notify_one();
            Ok(())
        };
        rows.iter().map(publish).collect()
    }

    async fn receive(&self, most: usize) -> Result<Vec<Pointer>, Error> {
        self.answer()?;
        let _ = tokio::time::timeout(Duration::from_secs(1), self.arrived.notified()).await;
        if self.stuck.load(SeqCst) {
            return Ok(Vec::new());
        }
        let mut waiting = self.waiting.lock().expect("no panic");
        let mut pointers = Vec::new();
        while pointers.len() < most {
            let Some(row) = waiting.pop_front() else { break };
            let token = self.received.fetch_add(1, SeqCst).to_string();
            self.held.lock().expect("no panic").insert(token.clone(), row.clone());
            pointers.push(Pointer { row, token: AckToken(token) });
        }
        if !waiting.is_empty() {
            self.arrived.notify_one();
        }
        Ok(pointers)
    }

    async fn acknowledge(&self, tokens: &[AckToken]) -> Result<(), Error> {
        self.answer()?;
        for token in tokens {
            let row = self
                .held
                .lock()
                .expect("no panic")
                .remove(&token.0)
                .expect("it was received, and not yet told of");
            let state = row.and_then(|row| self.table.row(&row)).and_then(|row| row.get("status").cloned());
            assert_ne!(state, Some(Value::Text("QUEUED".to_owned())), "acknowledged before it was claimed");
            self.acknowledged.fetch_add(1, SeqCst);
        }
        Ok(())
    }

    async fn give_back(&self, tokens: &[AckToken], _after: Duration) -> Result<(), Error> {
        for token in tokens {
            let row = self.held.lock().expect("no panic").remove(&token.0).expect("it was received");
            self.waiting.lock().expect("no panic").push_back(row);
        }
        self.arrived.notify_one();
        Ok(())
    }

    async fn waiting(&self) -> Result<u64, Error> {
        self.answer()?;
        Ok(self.waiting.lock().expect("no panic").len() as u64)
    }

    async fn probe(&self) -> Result<(), Error> {
        self.answer()
    }

    async fn declare(&self) -> Result<Vec<String>, Error> {
        Ok(Vec::new())
    }
}

fn contract() -> Contract {
    let text = Contract::builtin("dispatch_jobs").expect("a built-in");
    Contract::parse("dispatch_jobs.toml", text).expect("a valid contract").with_queue()
}

fn job(table: &MemoryTable, id: &str, more: &[(&str, Value)]) {
    let text = |text: &str| Value::Text(text.to_owned());
    let mut row: Row = BTreeMap::from([
        ("id".to_owned(), text(id)),
        ("status".to_owned(), text("QUEUED")),
        ("attempt_count".to_owned(), Value::Int(0)),
        ("created_at".to_owned(), Value::Int(table.now())),
        ("queued_at".to_owned(), Value::Int(table.now())),
        ("mode".to_owned(), text("IMMEDIATE")),
    ]);
    row.extend(more.iter().map(|(column, value)| ((*column).to_owned(), value.clone())));
    table.insert(row);
}

fn start(table: &Arc<MemoryTable>, queue: &Arc<Pointers>, transport: &Arc<Scripted>, worker: &str) -> Engine {
    start_on(MemoryStore::open(table, 0, worker), queue, transport, limits())
}

fn start_on(
    store: Arc<dyn Store>,
    queue: &Arc<Pointers>,
    transport: &Arc<Scripted>,
    limits: Limits,
) -> Engine {
    let engine = Engine::new(Arc::new(NoJitter));
    engine.start(Lane {
        name: "webhooks".to_owned(),
        contract: Arc::new(contract()),
        stage: 0,
        store,
        composer: Arc::new(AcceptingComposer { limit: 1024 * 1024 }),
        transport: Arc::clone(transport) as Arc<dyn Transport>,
        queue: Some(Arc::clone(queue) as Arc<dyn Queue>),
        contract_memory: None,
        limits,
    });
    engine
}

fn health(engine: &Engine) -> Health {
    engine.handle().lane("webhooks").expect("the lane is there").health
}

fn queued(table: &MemoryTable, id: &str) -> bool {
    let row = table.row(&RowId::Text(id.into())).expect("the row is there");
    row.get("status") == Some(&Value::Text("QUEUED".to_owned()))
}

#[tokio::test(start_paused = true)]
async fn j03_what_a_pointer_names_is_claimed_and_nothing_else() {
    let table = MemoryTable::new(contract());
    let queue = Pointers::new(&table);
    let transport = Arc::new(Scripted::delivers());
    for id in ["a", "b", "c"] {
        job(&table, id, &[]);
    }
    let engines = [start(&table, &queue, &transport, "one"), start(&table, &queue, &transport, "two")];
    for row in [Some("a"), None, Some("b"), Some("a"), Some("nobody")] {
        queue.put(row);
    }
    until("all are told of", MINUTE, || queue.acknowledged.load(SeqCst) == 5).await;
    until("delivered", MINUTE, || count(&table, "COMPLETED") == 2).await;
    tokio::time::sleep(MINUTE).await;
    assert!(queued(&table, "c"), "it waits for its pointer");
    assert_eq!((transport.times("a"), transport.times("b"), transport.total()), (1, 1, 2));
    assert!(engines.iter().all(|engine| health(engine) == Health::Running));
}

#[tokio::test(start_paused = true)]
async fn j03_what_the_queue_refuses_waits_in_the_table_and_comes_automatically() {
    let table = MemoryTable::new(contract());
    let queue = Pointers::new(&table);
    queue.away.store(true, SeqCst);
    let transport = Arc::new(Scripted::delivers());
    job(&table, "late", &[("status", Value::Text("PENDING".to_owned())), ("queued_at", Value::Null)]);
    job(&table, "back", &[("queued_at", Value::Null)]);
    let engine = start(&table, &queue, &transport, "one");
    until("it says so", MINUTE, || matches!(health(&engine), Health::QueueUnavailable { .. })).await;
    assert!(health(&engine).is_ready(), "the instance still takes jobs");
    tokio::time::sleep(MINUTE).await;
    assert_eq!(transport.total(), 0, "nothing is on its way");
    assert_eq!(count(&table, "PENDING") + count(&table, "QUEUED"), 2);
    queue.away.store(false, SeqCst);
    until("delivered", MINUTE, || count(&table, "COMPLETED") == 2).await;
    until("it is well", MINUTE, || health(&engine) == Health::Running).await;
}

#[tokio::test(start_paused = true)]
async fn j03_a_job_that_is_to_be_tried_again_is_published_once_each_time() {
    let table = MemoryTable::new(contract());
    let queue = Pointers::new(&table);
    let tries = AtomicUsize::new(0);
    let transport = Arc::new(Scripted::new(move |_| match tries.fetch_add(1, SeqCst) {
        0 => Outcome::Retryable(Failure::new("503")),
        1 => Outcome::Deferred(Failure { after: Some(Duration::from_secs(7)), ..Failure::new("busy") }),
        _ => Outcome::Delivered(Receipt::default()),
    }));
    job(&table, "a", &[("retry_strategy", Value::Text("fixed".to_owned()))]);
    let _engine = start(&table, &queue, &transport, "one");
    queue.put(Some("a"));
    until("delivered", 3 * MINUTE, || count(&table, "COMPLETED") == 1).await;
    assert_eq!((transport.total(), queue.published.load(SeqCst)), (3, 2));
}

#[tokio::test(start_paused = true)]
async fn j03_what_is_to_be_tried_at_once_does_not_wait_for_the_poller() {
    let table = MemoryTable::new(contract());
    let queue = Pointers::new(&table);
    let tries = AtomicUsize::new(0);
    let transport = Arc::new(Scripted::new(move |_| match tries.fetch_add(1, SeqCst) {
        0 => Outcome::Retryable(Failure::new("503")),
        1 => Outcome::Deferred(Failure { after: Some(Duration::from_millis(300)), ..Failure::new("busy") }),
        _ => Outcome::Delivered(Receipt::default()),
    }));
    job(&table, "a", &[("retry_strategy", Value::Text("immediate".to_owned()))]);
    let _engine = start(&table, &queue, &transport, "one");
    // The pollers have polled once.
    tokio::time::sleep(Duration::from_millis(100)).await;
    let began = Instant::now();
    queue.put(Some("a"));
    until("delivered", MINUTE, || count(&table, "COMPLETED") == 1).await;
    assert_eq!((transport.total(), queue.published.load(SeqCst)), (3, 2));
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}, with a poller every 5 s", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn j03_what_is_to_be_tried_at_once_waits_in_the_table_while_the_queue_is_away() {
    let table = MemoryTable::new(contract());
    let queue = Pointers::new(&table);
    let tries = AtomicUsize::new(0);
    let gone = Arc::clone(&queue);
    let transport = Arc::new(Scripted::new(move |_| {
        if tries.fetch_add(1, SeqCst) > 0 {
            return Outcome::Delivered(Receipt::default());
        }
        gone.away.store(true, SeqCst);
        Outcome::Retryable(Failure::new("503"))
    }));
    job(&table, "a", &[("retry_strategy", Value::Text("immediate".to_owned()))]);
    let engine = start(&table, &queue, &transport, "one");
    queue.put(Some("a"));
    until("it says so", MINUTE, || matches!(health(&engine), Health::QueueUnavailable { .. })).await;
    tokio::time::sleep(MINUTE).await;
    let row = table.row(&RowId::Text("a".into())).expect("it is there");
    assert_eq!(row.get("status"), Some(&Value::Text("ERROR".to_owned())));
    assert!(
        matches!(row.get("queued_at"), None | Some(Value::Null)),
        "it is not believed to be on the queue"
    );
    queue.away.store(false, SeqCst);
    until("delivered", MINUTE, || count(&table, "COMPLETED") == 1).await;
    assert_eq!(transport.total(), 2);
}

#[tokio::test(start_paused = true)]
async fn j03_what_the_queue_lost_is_published_again_after_a_quarter_of_an_hour() {
    let table = MemoryTable::new(contract());
    let queue = Pointers::new(&table);
    let transport = Arc::new(Scripted::delivers());
    job(&table, "a", &[]);
    let began = Instant::now();
    let _engine = start(&table, &queue, &transport, "one");
    tokio::time::sleep(14 * MINUTE).await;
    until("delivered", 4 * MINUTE, || count(&table, "COMPLETED") == 1).await;
    let minutes = began.elapsed().as_secs() / 60;
    assert!((15..18).contains(&minutes), "after {minutes} minutes");
}

#[tokio::test(start_paused = true)]
async fn j08_j09_ordered_jobs_and_those_of_pools_need_no_pointer() {
    let table = MemoryTable::new(contract());
    table.set_pool("narrow", PoolLimits { concurrency: Some(1), ..PoolLimits::default() });
    let queue = Pointers::new(&table);
    let transport = Arc::new(Scripted::delivers());
    let text = |text: &str| Value::Text(text.to_owned());
    for (n, id) in ["o1", "o2", "o3"].into_iter().enumerate() {
        let sequence = Value::Int(i64::try_from(n).expect("small"));
        job(
            &table,
            id,
            &[("group_key", text("g")), ("mode", text("BLOCK_ON_ERROR")), ("sequence", sequence)],
        );
    }
    job(&table, "p", &[("dispatch_pool_id", text("narrow"))]);
    job(&table, "plain", &[]);
    let _engine = start(&table, &queue, &transport, "one");
    // Pointers to these rows only wake the lane's claimer.
    for row in ["o3", "p"] {
        queue.put(Some(row));
    }
    until("delivered", MINUTE, || count(&table, "COMPLETED") == 4).await;
    let sent = transport.sent.lock().expect("no panic").clone();
    let ordered: Vec<&String> = sent.iter().filter(|row| row.starts_with('o')).collect();
    assert_eq!(ordered, ["o1", "o2", "o3"]);
    assert!(queued(&table, "plain"));
    assert_eq!(queue.published.load(SeqCst), 0);
}

#[tokio::test(start_paused = true)]
async fn j17_a_paused_lane_leaves_the_queue_alone() {
    let table = MemoryTable::new(contract());
    let queue = Pointers::new(&table);
    let transport = Arc::new(Scripted::delivers());
    let store = MemoryStore::open(&table, 0, "operator");
    store.set_paused("webhooks", true).await.expect("memory is there");
    let engine = start(&table, &queue, &transport, "one");
    until("paused", MINUTE, || health(&engine) == Health::Paused).await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    let before = queue.received.load(SeqCst);
    job(&table, "a", &[]);
    queue.put(Some("a"));
    tokio::time::sleep(MINUTE).await;
    assert_eq!(queue.received.load(SeqCst), before, "it does not drain the queue");
    store.set_paused("webhooks", false).await.expect("memory is there");
    until("delivered", MINUTE, || count(&table, "COMPLETED") == 1).await;
}

#[tokio::test(start_paused = true)]
async fn j03_a_lane_that_drains_leaves_what_it_has_not_claimed_to_others() {
    let table = MemoryTable::new(contract());
    let queue = Pointers::new(&table);
    let slow = Arc::new(Scripted::delivers().taking(Duration::from_millis(100)));
    for n in 0..300 {
        job(&table, &format!("{n:03}"), &[]);
        queue.put(Some(&format!("{n:03}")));
    }
    let engine = start(&table, &queue, &slow, "one");
    until("some are delivered", MINUTE, || count(&table, "COMPLETED") > 10).await;
    assert_eq!(engine.drain(MINUTE).await.left, 0);
    assert!(queue.held.lock().expect("no panic").is_empty(), "every pointer was told of, or went back");
    assert!(count(&table, "COMPLETED") < 300, "it was stopped in the middle");
    let _other = start(&table, &queue, &slow, "two");
    until("the other delivers the rest", 2 * MINUTE, || count(&table, "COMPLETED") == 300).await;
    assert_eq!(slow.total(), 300, "each once");
}

/// Jobs with a pointer, and ordered jobs that are claimed from the table: both sources compete for little room.
async fn small_held_moves_everything(held: usize, batch: u32) {
    let table = MemoryTable::new(contract());
    let queue = Pointers::new(&table);
    let transport = Arc::new(Scripted::delivers().taking(Duration::from_millis(20)));
    let text = |text: String| Value::Text(text);
    let limits = Limits { max_held: held, batch, max_batch: batch, ..limits() };
    let mut store = FaultyStore::new(&table, "one");
    store.claim_takes = Duration::from_millis(3);
    let engine = start_on(Arc::new(store), &queue, &transport, limits);
    for n in 0..200 {
        job(&table, &format!("q{n:03}"), &[]);
        queue.put(Some(&format!("q{n:03}")));
        let more = [
            ("group_key", text(format!("g{}", n % 10))),
            ("mode", text("BLOCK_ON_ERROR".to_owned())),
            ("sequence", Value::Int(n)),
        ];
        job(&table, &format!("o{n:03}"), &more);
        tokio::time::sleep(Duration::from_millis(3)).await;
    }
    until("all are delivered", 5 * MINUTE, || {
        assert!(engine.handle().lane("webhooks").expect("there").held <= held as u64);
        count(&table, "COMPLETED") == 400
    })
    .await;
    assert_eq!(transport.total(), 400, "each once");
    // Neither source had to wait until the other was empty.
    let sent = transport.sent.lock().expect("no panic").clone();
    let first = |kind: char| sent.iter().position(|row| row.starts_with(kind)).expect("some");
    assert!(first('q') < 100 && first('o') < 100, "{} {}", first('q'), first('o'));
    assert_eq!(health(&engine), Health::Running);
}

#[tokio::test(start_paused = true)]
async fn j03_a_queue_lane_that_may_hold_one_row_moves_everything() {
    small_held_moves_everything(1, 20).await;
}

#[tokio::test(start_paused = true)]
async fn j03_a_queue_lane_that_may_hold_two_rows_moves_everything() {
    small_held_moves_everything(2, 20).await;
}

#[tokio::test(start_paused = true)]
async fn j03_a_queue_lane_that_may_hold_one_batch_moves_everything() {
    small_held_moves_everything(20, 20).await;
}

#[tokio::test(start_paused = true)]
async fn j03_messages_that_nobody_receives_are_a_stall() {
    let table = MemoryTable::new(contract());
    let queue = Pointers::new(&table);
    queue.stuck.store(true, SeqCst);
    let transport = Arc::new(Scripted::delivers());
    let engine = start(&table, &queue, &transport, "one");
    tokio::time::sleep(MINUTE).await;
    assert_eq!(health(&engine), Health::Running, "nothing waits");
    job(&table, "a", &[]);
    queue.put(Some("a"));
    let stalled =
        || matches!(health(&engine), Health::Stalled { reason } if reason.contains("the queue has messages"));
    until("it says so", Duration::from_secs(15), stalled).await;
    assert!(!health(&engine).is_ready());
    queue.stuck.store(false, SeqCst);
    until("it moves", Duration::from_secs(10), || health(&engine) == Health::Running).await;
    assert_eq!(count(&table, "COMPLETED"), 1);
}

#[tokio::test(start_paused = true)]
async fn g02_a_lost_answer_to_a_claim_by_pointer_costs_neither_the_row_nor_its_pointer() {
    let table = MemoryTable::new(contract());
    let queue = Pointers::new(&table);
    let transport = Arc::new(Scripted::delivers());
    for id in ["a", "b", "c"] {
        job(&table, id, &[]);
        queue.put(Some(id));
    }
    let mut store = FaultyStore::new(&table, "one");
    store.inner = MemoryStore::open(&table, 0, "one");
    store.loses_claims.store(2, SeqCst);
    let _engine = start_on(Arc::new(store), &queue, &transport, limits());
    until("delivered long before the lease ends", Duration::from_secs(5), || count(&table, "COMPLETED") == 3)
        .await;
    tokio::time::sleep(MINUTE).await;
    assert_eq!((transport.times("a"), transport.times("b"), transport.total()), (1, 1, 3), "each once");
    let attempts = |row: &Row| row.get("attempt_count") == Some(&Value::Int(1));
    assert!(table.rows().iter().all(attempts), "one attempt each");
}
