//! One run of the simulator: workers start and die over one table until every row has ended.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use postrider_contract::{ColumnRole, Condition, Literal, StateId};
use postrider_engine::{Engine, Lane, Limits};
use postrider_seams::{RowId, Value};
use postrider_store_memory::{MemoryStore, MemoryTable, Row};
use tokio::time::Instant;

use super::SimReport;
use super::group_order::GroupOrder;
use super::journal::{self, CountingRules, Event, FinalRow, SimJournal};
use super::random::SimRandom;
use super::store::{FaultyStore, SimState};
use super::target::{AcceptAllComposer, FaultyTarget};
use super::worker_life::WorkerLife;
use crate::expected::{CountedEvents, Expected};
use crate::subject::Subject;

const ROWS: i64 = 40;
const WORKERS: usize = 3;

/// Time during which faults happen; after it everything must end.
const FAULT_TIME: Duration = Duration::from_mins(8);

/// Time limit of a run, longer than every backoff and lease.
const TIME_LIMIT: Duration = Duration::from_hours(12);

struct Worker {
    number: usize,
    engine: Engine,
    life: Arc<WorkerLife>,
}

pub(crate) async fn simulate(subject: Subject, seed: u64) -> Result<SimReport, String> {
    let table = MemoryTable::new(subject.contract.clone());
    let order = GroupOrder::of(&subject.contract, ROWS);
    (1..=ROWS).for_each(|n| {
        let mut row = new_row(&table, &subject, n);
        order.write(&subject.contract, n, table.now(), &mut row);
        table.insert(row);
    });
    let shared = Arc::new(SimState {
        subject,
        table,
        random: Arc::new(SimRandom::new(seed)),
        journal: Arc::new(SimJournal::default()),
        faulty: AtomicBool::new(true),
        away: AtomicBool::new(false),
        holders: std::sync::Mutex::default(),
        begun: std::sync::Mutex::default(),
        unanswered: std::sync::Mutex::default(),
        pipelined: !order.is_empty() && seed % 2 == 1,
        order,
    });
    let mut workers: Vec<Worker> = (0..WORKERS).map(|number| start(&shared, number)).collect();
    let mut crashes = 0;
    let started = Instant::now();
    while !all_ended(&shared) {
        if started.elapsed() > TIME_LIMIT {
            break;
        }
        if started.elapsed() > FAULT_TIME {
            shared.faulty.store(false, Relaxed);
        }
        let faulty = shared.faulty.load(Relaxed);
        shared.away.store(faulty && shared.random.once_in(12), Relaxed);
        if faulty && shared.random.once_in(8) {
            workers[random_worker(&shared)].life.kill();
        }
        if faulty && shared.random.once_in(8) {
            // Longer than its leases: other workers claim its rows before it comes back.
            let lease = shared.subject.stage().lease.duration;
            workers[random_worker(&shared)].life.freeze(lease + shared.random.wait(lease));
        }
        tokio::time::sleep(Duration::from_secs(1) + shared.random.wait(Duration::from_secs(20))).await;
        for worker in &mut workers {
            if !worker.life.is_alive() {
                crashes += 1;
                shared.journal.record(Event::Crashed { worker: worker.number });
                let next = start(&shared, worker.number + WORKERS);
                // Its store and its target never answer again, so this only ends its tasks.
                std::mem::replace(worker, next).engine.drain(Duration::ZERO).await;
            }
        }
    }
    for worker in workers {
        worker.engine.drain(Duration::from_mins(1)).await;
    }
    let events = shared.journal.events();
    let duplicates = journal::check(&events, &final_rows(&shared), &rules(&shared.subject))?;
    shared.order.check(&events)?;
    let accepted = events.iter().filter(|event| matches!(event, Event::Accepted { .. })).count();
    Ok(SimReport { seed, subject: shared.subject.name(), crashes, accepted, duplicates, events })
}

fn random_worker(shared: &SimState) -> usize {
    shared.random.below(u32::try_from(WORKERS).expect("few")) as usize
}

fn start(shared: &Arc<SimState>, number: usize) -> Worker {
    let life = Arc::new(WorkerLife::new());
    let dice = Arc::clone(&shared.random);
    let engine = Engine::new(dice);
    let store = FaultyStore {
        shared: Arc::clone(shared),
        inner: MemoryStore::open(&shared.table, shared.subject.stage, &format!("worker-{number}")),
        life: Arc::clone(&life),
    };
    engine.start(Lane {
        name: "sim".to_owned(),
        contract: Arc::new(shared.subject.contract.clone()),
        stage: shared.subject.stage,
        store: Arc::new(store),
        composer: Arc::new(AcceptAllComposer),
        transport: Arc::new(FaultyTarget { shared: Arc::clone(shared), life: Arc::clone(&life) }),
        queue: None,
        contract_memory: None,
        limits: Limits {
            concurrency: 4,
            batch: 10,
            max_batch: 40,
            max_batch_distant: 40,
            max_held: 20,
            large_row_bytes: 1 << 20,
            timeout: Duration::from_secs(30),
            poll_interval: Duration::from_secs(5),
            maintenance_interval: Duration::from_secs(5),
            single_claimer: false,
        },
    });
    Worker { number, engine, life }
}

/// Returns a row as a producer writes it.
fn new_row(table: &MemoryTable, subject: &Subject, n: i64) -> Row {
    let mut row = Row::from([(subject.contract.table.id.clone(), Value::Int(n))]);
    let past = Value::Int(table.now() - 60_000_000);
    let roles = [
        (ColumnRole::Attempts, Value::Int(0)),
        (ColumnRole::Version, Value::Int(1)),
        (ColumnRole::Created, past.clone()),
        (ColumnRole::Updated, past.clone()),
        (ColumnRole::Due, past),
    ];
    for (role, value) in roles {
        if let Some(column) = subject.column(role) {
            row.insert(column.to_owned(), value);
        }
    }
    for (column, condition) in &subject.contract.state(subject.ready()).conditions {
        match condition {
            Condition::Is(Literal::Text(text)) => row.insert(column.clone(), Value::Text(text.clone())),
            Condition::Null(true) => row.insert(column.clone(), Value::Null),
            _ => None,
        };
    }
    row
}

/// Returns key, state and counter of every row.
pub(crate) fn rows(table: &MemoryTable, subject: &Subject) -> Vec<(String, Option<StateId>, i64)> {
    let state = |row: &Row| {
        let holds = |(column, condition): &(String, Condition)| {
            let value = row.get(column).unwrap_or(&Value::Null);
            match condition {
                Condition::Is(Literal::Text(text)) => value.as_text() == Some(text),
                Condition::Is(_) => false,
                Condition::Null(null) => (*value == Value::Null) == *null,
                Condition::Never(never) => is_never(value) == *never,
            }
        };
        let states = &subject.contract.states;
        states.iter().position(|state| state.conditions.iter().all(holds)).map(StateId)
    };
    let attempts = |row: &Row| match subject.column(ColumnRole::Attempts).and_then(|column| row.get(column)) {
        Some(Value::Int(count)) => *count,
        _ => 0,
    };
    let key = |row: &Row| match &row[&subject.contract.table.id] {
        Value::Int(id) => RowId::Int(*id).to_string(),
        other => panic!("the rows here have whole numbers as keys, not {other:?}"),
    };
    table.rows().iter().map(|row| (key(row), state(row), attempts(row))).collect()
}

fn is_never(value: &Value) -> bool {
    matches!(value, Value::Int(time) if *time >= crate::row::NEVER)
}

/// Whether the stage ends in this state.
fn is_end(subject: &Subject, state: Option<StateId>) -> bool {
    let stage = subject.stage();
    state.is_some_and(|state| {
        state != subject.claimed() && state != stage.retryable && !stage.ready.contains(&state)
    })
}

fn all_ended(shared: &SimState) -> bool {
    let rows = rows(&shared.table, &shared.subject);
    let dead = dead(shared, &rows);
    let ended = |(row, state, _): &(String, Option<StateId>, i64)| {
        is_end(&shared.subject, *state) || shared.order.is_blocked(row, &dead)
    };
    rows.iter().all(ended)
}

/// Returns the rows that only an operator can move.
fn dead(shared: &SimState, rows: &[(String, Option<StateId>, i64)]) -> BTreeSet<String> {
    let stopped = shared.subject.stage().operator_states();
    let is_dead = |state: &Option<StateId>| state.is_some_and(|state| stopped.contains(&state));
    rows.iter().filter(|(_, state, _)| is_dead(state)).map(|(row, _, _)| row.clone()).collect()
}

fn final_rows(shared: &SimState) -> Vec<FinalRow> {
    let subject = &shared.subject;
    let found = rows(&shared.table, subject);
    let dead = dead(shared, &found);
    let final_row = |n: i64| {
        let known = found.iter().find(|(row, _, _)| *row == n.to_string());
        let (state, attempts) = known.map_or((None, 0), |(_, state, attempts)| (*state, *attempts));
        let reset = state.is_some_and(|state| subject.begins_another_stage(state));
        FinalRow {
            row: n.to_string(),
            state: state.map_or("gone", |state| subject.state_name(state)).to_owned(),
            finished: is_end(subject, state) || shared.order.is_blocked(&n.to_string(), &dead),
            delivered: state == Some(subject.stage().delivered),
            attempts: (!reset).then_some(attempts),
        }
    };
    (1..=ROWS).map(final_row).collect()
}

fn rules(subject: &Subject) -> CountingRules {
    let expected = Expected::of(subject);
    CountingRules {
        counts: Box::new(move |transition| expected.counts(transition)),
        recovery_counts: expected.recovery_counts,
        last_recovery_counts: expected.counts != CountedEvents::Retry,
        max: expected.tries,
    }
}
