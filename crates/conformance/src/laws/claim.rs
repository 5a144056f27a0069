//! Laws of claims: which worker claims which rows, and in which order.

use std::collections::BTreeSet;
use std::time::Duration;

use postrider_contract::{ClaimOrder, ColumnRole, OrderBy, StateId, When};
use postrider_seams::store::SweepKind;
use postrider_seams::{ClaimedRow, Value};

use crate::cell::{Cell, Row};
use crate::row::{self, HOUR, SECOND};
use crate::subject::Subject;
use crate::test_case::{TOLERANCE, TestCase, Worker};
use crate::test_table::TestedStore;

const WORKERS: usize = 8;
const ROWS: usize = 600;

pub(crate) async fn exclusive_claim(case: &TestCase) {
    // The emulator copies the whole table for every transaction, so use fewer rows.
    let rows = if case.table.kind() == TestedStore::DynamoDb { ROWS / 10 } else { ROWS };
    case.put_ready(rows).await;
    let names: Vec<String> = (0..WORKERS).map(|n| format!("worker-{n}")).collect();
    let workers = futures::future::join_all(names.iter().map(|name| case.worker(name))).await;
    let claims = workers.into_iter().map(|worker| tokio::spawn(drain(worker)));
    let mut claimed_ids = Vec::new();
    for claim in claims.collect::<Vec<_>>() {
        claimed_ids.extend(claim.await.expect("a worker that claims does not fail"));
    }
    let distinct: BTreeSet<_> = claimed_ids.iter().cloned().collect();
    assert_eq!(distinct.len(), claimed_ids.len(), "a row was claimed twice");
    assert_eq!(claimed_ids.len(), rows, "a row was claimed by nobody");
    for row in case.rows().await {
        assert_eq!(row::state_of(&case.subject, &row), Some(case.subject.claimed()));
    }
}

async fn drain(worker: Worker) -> Vec<String> {
    let mut claimed_ids = Vec::new();
    let mut empty = 0;
    // An empty claim may only mean that other workers hold these rows at the moment.
    while empty < 5 {
        let rows = worker.claim(25).await;
        empty = if rows.is_empty() { empty + 1 } else { 0 };
        claimed_ids.extend(rows.iter().map(|row| row.lease.id.to_string()));
        tokio::task::yield_now().await;
    }
    claimed_ids
}

pub(crate) async fn claim_limit(case: &TestCase) {
    case.put_ready(20).await;
    let worker = case.worker("a").await;
    assert_eq!(worker.claim(7).await.len(), 7);
    assert_eq!(worker.claim(7).await.len(), 7);
    assert_eq!(worker.claim(7).await.len(), 6);
    assert_eq!(worker.claim(7).await.len(), 0);
}

pub(crate) async fn claim_order(case: &TestCase) {
    let order = case.subject.contract.claim.order.clone();
    let now = case.table.now().await;
    let mut rows = Vec::new();
    // Keys and times are in opposite order, and two rows share each time.
    for n in 1..=10_i64 {
        let mut row = case.ready_row(usize::try_from(n).expect("small")).await;
        for role in [ColumnRole::Due, ColumnRole::Created, ColumnRole::Updated] {
            if let Some(column) = case.subject.column(role) {
                row.insert(column.to_owned(), Cell::Time(now - HOUR - (n * 7 % 5) * 60 * SECOND));
            }
        }
        rows.push(row.clone());
        case.put(row).await;
    }
    rows.sort_by(|a, b| compare(case, &order, a, b));
    let expected: Vec<Cell> = rows.iter().map(|row| row[&case.subject.contract.table.id].clone()).collect();
    let worker = case.worker("a").await;
    let mut claimed = worker.claim(6).await;
    for _ in 0..4 {
        claimed.push(worker.claim_one().await);
    }
    for (place, (expected, claimed)) in expected.iter().zip(&claimed).enumerate() {
        assert!(
            case.is(expected, &claimed.lease.id),
            "place {place}: {} is not {expected:?}",
            claimed.lease.id
        );
    }
}

fn compare(case: &TestCase, order: &[ClaimOrder], a: &Row, b: &Row) -> std::cmp::Ordering {
    let value = |row: &Row, by: &OrderBy| match by {
        OrderBy::Role(role) => case.role(row, *role).clone(),
        OrderBy::Column(column) => row.get(column).cloned().unwrap_or(Cell::Null),
    };
    let key = |row: &Row, by: &OrderBy| match value(row, by) {
        Cell::Time(time) => (time, String::new()),
        Cell::Int(int) => (int, String::new()),
        Cell::Text(text) => (0, text),
        Cell::Null | Cell::Bytes(_) => (i64::MIN, String::new()),
    };
    let by = |order: &ClaimOrder| {
        let found = key(a, &order.by).cmp(&key(b, &order.by));
        if order.descending { found.reverse() } else { found }
    };
    let orders = order.iter().map(by);
    orders.fold(std::cmp::Ordering::Equal, std::cmp::Ordering::then).then(by(&ClaimOrder::of(ColumnRole::Id)))
}

pub(crate) async fn claim_marks_the_row(case: &TestCase) {
    let worker = case.worker("a").await;
    let before = case.ready_row(1).await;
    let (id, claimed) = case.claimed_by(&worker, 1).await;
    let now = case.table.now().await;
    let row = case.row(&id).await;
    case.assert_state(&id, case.subject.claimed()).await;
    assert_eq!(claimed.counters.attempts, 0);
    assert_eq!(
        case.role(&row, ColumnRole::Attempts),
        case.role(&before, ColumnRole::Attempts),
        "a claim counts nothing"
    );
    if case.subject.has(ColumnRole::Owner) {
        assert!(!case.role(&row, ColumnRole::Owner).is_null(), "the row says who has it");
    }
    if let Some(time) = case.role(&row, ColumnRole::ClaimedAt).as_time() {
        assert!((time - now).abs() < TOLERANCE, "claimed at {time}, it is {now}");
    }
    if let Some(until) = case.role(&row, ColumnRole::LeaseUntil).as_time() {
        let lease = i64::try_from(case.subject.stage().lease.duration.as_micros()).expect("short");
        assert!((until - now - lease).abs() < TOLERANCE, "the lease ends at {until}, it is {now}");
    }
    assert!(claimed.waited_micros >= 50 * SECOND, "it waited for a minute, not {}", claimed.waited_micros);
}

pub(crate) async fn other_states_are_left_alone(case: &TestCase) {
    let stage = case.subject.stage();
    let worker = case.worker("a").await;
    let mut inserted = Vec::new();
    for StateId(index) in case.subject.states() {
        let state = StateId(index);
        if stage.ready.contains(&state) || state == case.subject.claimed() {
            continue;
        }
        // Except for its state, the row could be claimed, reclaimed or swept: due, expired, out of attempts.
        let mut row = case.row_in(index + 1, state).await;
        for role in [ColumnRole::ClaimedAt, ColumnRole::LeaseUntil, ColumnRole::Attempted] {
            if let Some(column) = case.subject.column(role) {
                row.entry(column.to_owned()).or_insert(Cell::Time(case.table.now().await - HOUR));
            }
        }
        let mut spent = row.clone();
        let key = row::key(case.table.columns(), &case.subject, 100 + index);
        set_unique_columns(case, &mut spent, 100 + index).await;
        spent.insert(case.subject.contract.table.id.clone(), key);
        if let Some(attempts) = case.subject.column(ColumnRole::Attempts) {
            spent.insert(attempts.to_owned(), Cell::Int(99));
        }
        inserted.push(case.put(row).await);
        inserted.push(case.put(spent).await);
    }
    let before = futures::future::join_all(inserted.iter().map(|id| case.row(id))).await;
    assert!(worker.claim(100).await.is_empty(), "a claim takes ready rows only");
    let reclaimed = worker.reclaim().await;
    assert_eq!(reclaimed.rows(), 0, "a reclaim takes claimed rows only");
    assert_eq!(worker.sweep(SweepKind::Exhausted).await, 0, "only ready rows are swept as spent");
    assert_eq!(worker.store.next_due().await.expect("next_due succeeds"), None, "nothing is waiting");
    for (id, before) in inserted.iter().zip(before) {
        assert_eq!(case.row(id).await, before, "nothing may change");
    }
}

/// Gives a copied row its own values in unique columns.
async fn set_unique_columns(case: &TestCase, row: &mut Row, n: usize) {
    let fresh = row::bare(case.table.columns(), &case.subject, n, case.table.now().await);
    let states: BTreeSet<&String> = case
        .subject
        .contract
        .states
        .iter()
        .flat_map(|state| state.conditions.iter().map(|(column, _)| column))
        .collect();
    for (column, cell) in fresh {
        if !states.contains(&column) && !case.subject.time_columns().contains(&column) {
            row.insert(column, cell);
        }
    }
}

pub(crate) fn no_minimum_age(subject: &Subject, _: TestedStore) -> Option<&'static str> {
    subject.contract.claim.min_age.is_zero().then_some("no minimum age")
}

pub(crate) async fn minimum_age(case: &TestCase) {
    let worker = case.worker("a").await;
    let mut row = case.ready_row(1).await;
    let created = case.subject.column(ColumnRole::Created).expect("an age is since `created`").to_owned();
    // A creation time ahead of the clock, so that the row is too young even on a slow machine.
    row.insert(created.clone(), Cell::Time(case.table.now().await + 30 * SECOND));
    let id = case.put(row).await;
    assert!(worker.claim(10).await.is_empty(), "too young");
    case.set(&id, &created, Cell::Time(case.table.now().await - 2 * SECOND)).await;
    assert_eq!(worker.claim(10).await.len(), 1, "old enough");
}

pub(crate) fn no_defaults(_: &Subject, kind: TestedStore) -> Option<&'static str> {
    (kind == TestedStore::Memory).then_some("memory has no column defaults")
}

pub(crate) async fn producer_row(case: &TestCase) {
    let worker = case.worker("a").await;
    let now = case.table.now().await;
    let mut row = row::bare(case.table.columns(), &case.subject, 1, now);
    if case.subject.contract.claim.min_age > Duration::ZERO {
        let created = case.subject.column(ColumnRole::Created).expect("an age is since `created`");
        row.insert(created.to_owned(), Cell::Time(now - HOUR));
    }
    let id = case.put(row).await;
    let claimed = worker.claim_one().await;
    assert!(case.is(&id, &claimed.lease.id));
    assert_eq!(claimed.counters.attempts, 0, "nothing was tried yet");
    worker.settle_with(&claimed, postrider_contract::Transition::Delivered).await;
    case.assert_state(&id, case.subject.stage().delivered).await;
}

pub(crate) fn no_blocking_sweeps(subject: &Subject, _: TestedStore) -> Option<&'static str> {
    let bars = subject.contract.sweeps.iter().any(|sweep| sweep.blocks_claims);
    (!bars).then_some("none of its sweeps blocks claims")
}

impl TestCase {
    /// Returns the indexes of the contract's sweeps that bar claims.
    pub(super) fn blocking_sweeps(&self) -> Vec<usize> {
        let sweeps = self.subject.contract.sweeps.iter().enumerate();
        sweeps.filter(|(_, sweep)| sweep.blocks_claims).map(|(index, _)| index).collect()
    }

    /// Sets the row's time so that the sweep applies now (`applies_now`), or only in an hour.
    pub(super) async fn set_sweep_time(&self, sweep: usize, row: &mut Row, applies_now: bool) {
        let sweep = &self.subject.contract.sweeps[sweep];
        let past = if applies_now { HOUR } else { -HOUR };
        let now = self.table.now().await;
        let (column, time) = match &sweep.when {
            When::OlderThan { since, age } => {
                (since, now - i64::try_from(age.as_micros()).expect("short") - past)
            }
            When::At { column } => (column, now - past),
            When::Before { column } => (column, now + past),
            When::Always => panic!("it would bar every row"),
        };
        row.insert(column.clone(), Cell::Time(time));
    }
}

pub(crate) async fn rows_about_to_be_swept(case: &TestCase) {
    let worker = case.worker("a").await;
    for (place, index) in case.blocking_sweeps().into_iter().enumerate() {
        let mut ids = Vec::new();
        for (n, claimed_ids) in [(1, true), (2, false)] {
            let mut row = case.ready_row(2 * place + n).await;
            case.set_sweep_time(index, &mut row, claimed_ids).await;
            ids.push(case.put(row).await);
        }
        let claimed = worker.claim(10).await;
        assert_eq!(claimed.len(), 1, "only the one that sweep {index} leaves alone");
        assert!(case.is(&ids[1], &claimed[0].lease.id));
        assert_eq!(
            worker.store.next_due().await.expect("next_due succeeds"),
            None,
            "nothing is to be claimed"
        );
        assert_eq!(worker.sweep(SweepKind::Contract(index)).await, 1);
        case.assert_state(&ids[0], case.subject.contract.sweeps[index].to).await;
    }
}

pub(crate) fn no_counts(subject: &Subject, _: TestedStore) -> Option<&'static str> {
    subject.contract.counts.is_empty().then_some("its composer needs no counts")
}

pub(crate) async fn counts_of_matching_rows(case: &TestCase) {
    let worker = case.worker("a").await;
    let subject = &case.subject;
    let (sent, now) = (subject.stage().delivered, case.table.now().await);
    let attempted =
        subject.column(ColumnRole::Attempted).expect("the contract has an attempt-time column").to_owned();
    let put = async |n: usize, state: StateId, key: &str, ago: i64| {
        let mut row = case.row_in(n, state).await;
        row.insert("subscription_id".to_owned(), Cell::Int(7));
        row.insert("dedupe_key".to_owned(), Cell::text(key));
        if state == sent {
            row.insert(attempted.clone(), Cell::Time(now - ago * SECOND));
        }
        case.put(row).await
    };
    put(1, sent, "same", 60).await;
    put(2, sent, "same", 600).await;
    put(3, sent, "other", 60).await;
    put(4, subject.ready(), "same", 0).await;
    put(5, subject.ready(), "same", 0).await;
    put(6, subject.ready(), "lone", 0).await;
    let mut unrelated = case.row_in(7, sent).await;
    unrelated.insert("subscription_id".to_owned(), Cell::Int(8));
    case.put(unrelated).await;
    let counts = |claimed: &ClaimedRow| {
        let fields = claimed.fields.as_ref().expect("small rows come whole");
        let count = |name: &str| match fields.get(name) {
            Value::Int(count) => *count,
            other => panic!("{name}: {other:?}"),
        };
        let clock = count("clock");
        assert!((clock - now / 1000).abs() < 60_000, "the database's clock, not {clock}");
        ["history.sent", "history.duplicates", "history.in_flight"].map(count)
    };
    let mut claimed = worker.claim(10).await;
    claimed.sort_by(|one, other| one.lease.id.cmp(&other.lease.id));
    let found: Vec<[i64; 3]> = claimed.iter().map(counts).collect();
    assert_eq!(found, [[3, 1, 0], [3, 1, 1], [3, 0, 0]], "sent, sent lately with the key, claimed before");
}
