//! Laws of pools and fair queues: limits hold over all workers, and no client waits for another client's rows.

use std::time::Duration;

use postrider_contract::{ColumnRole, GroupMode, StateId, Transition};
use postrider_seams::ClaimedRow;

use crate::cell::{Cell, Row};
use crate::row;
use crate::subject::Subject;
use crate::test_case::{TestCase, Worker, retry_transient, settlement};
use crate::test_table::{TestPoolLimits, TestedStore};

use super::group_rows::modes;

pub(crate) fn no_pools(subject: &Subject, _: TestedStore) -> Option<&'static str> {
    subject.contract.pool.is_none().then_some("no pools")
}

pub(crate) fn no_fairness(subject: &Subject, _: TestedStore) -> Option<&'static str> {
    subject.contract.claim.fair.is_none().then_some("no fair queue")
}

pub(crate) fn no_ordered_pools(subject: &Subject, kind: TestedStore) -> Option<&'static str> {
    no_pools(subject, kind).or(modes(subject).is_empty().then_some("no ordered groups"))
}

fn concurrency_limit(most: i64) -> TestPoolLimits {
    TestPoolLimits { concurrency: Some(most), ..TestPoolLimits::default() }
}

impl TestCase {
    /// Inserts `count` ready rows of a pool and a client, from key `first` on.
    async fn put_pooled(&self, first: usize, count: usize, pool: Option<&str>, client: &str) -> Vec<Cell> {
        let mut rows = Vec::with_capacity(count);
        for n in first..first + count {
            rows.push(self.pooled(self.ready_row(n).await, pool, client));
        }
        self.table.insert(&self.subject.contract.table.name, &rows).await;
        rows.into_iter().map(|row| row[&self.subject.contract.table.id].clone()).collect()
    }

    fn pooled(&self, mut row: Row, pool: Option<&str>, client: &str) -> Row {
        let column = self.subject.column(ColumnRole::Pool).expect("the contract has pools").to_owned();
        row.insert(column, pool.map_or(Cell::Null, Cell::text));
        if let Some(fair) = &self.subject.contract.claim.fair {
            row.insert(fair.name.clone(), Cell::text(client));
        }
        row
    }

    /// Counts the rows of the pool in this state, with the harness's own query.
    async fn count_pooled(&self, pool: &str, state: StateId) -> usize {
        let rows = self.rows().await;
        let counts = |row: &&Row| {
            self.role(row, ColumnRole::Pool).as_text() == Some(pool)
                && row::state_of(&self.subject, row) == Some(state)
        };
        rows.iter().filter(counts).count()
    }
}

fn of_pool(claimed: &[ClaimedRow], pool: &str) -> usize {
    claimed.iter().filter(|row| row.pool.as_deref() == Some(pool)).count()
}

/// Claims until there are rows: a store's pool cache may be slightly out of date.
async fn claim_soon(worker: &Worker, limit: u32) -> Vec<ClaimedRow> {
    for _ in 0..500 {
        let claimed = worker.claim(limit).await;
        if !claimed.is_empty() {
            return claimed;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("nothing was claimed within ten seconds");
}

/// Claims until there is a row of this pool.
async fn claim_soon_of(worker: &Worker, pool: &str) -> Vec<ClaimedRow> {
    let mut claimed = Vec::new();
    while of_pool(&claimed, pool) == 0 {
        claimed = claim_soon(worker, 20).await;
    }
    claimed
}

pub(crate) async fn full_pool_delays_no_other(case: &TestCase) {
    case.table.set_pool("narrow", concurrency_limit(2)).await;
    let narrow = case.put_pooled(1, 30, Some("narrow"), "a").await;
    case.put_pooled(100, 5, None, "a").await;
    case.put_pooled(200, 4, Some("nobody knows"), "a").await;
    let worker = case.worker("one").await;
    let claimed = worker.claim(20).await;
    let pools = ["narrow", "nobody knows"].map(|pool| of_pool(&claimed, pool));
    assert_eq!((pools, claimed.len()), ([2, 4], 11), "two of the pool, and all others");
    let mut waiting = Vec::new();
    for id in &narrow {
        let row = case.row(id).await;
        if row::state_of(&case.subject, &row) == Some(case.subject.ready()) {
            waiting.push((id, row));
        }
    }
    assert_eq!(waiting.len(), 28);
    for name in ["one", "two", "three"] {
        assert!(case.worker(name).await.claim(20).await.is_empty(), "the pool is full for all");
    }
    for (id, before) in waiting {
        assert_eq!(case.row(id).await, before, "who waits for a pool costs no write");
    }
    let done = claimed.iter().find(|row| row.pool.as_deref() == Some("narrow")).expect("two of them");
    worker.settle_with(done, Transition::Delivered).await;
    assert_eq!(of_pool(&claim_soon(&worker, 20).await, "narrow"), 1, "what is done lets the next go");
}

pub(crate) async fn pool_limit_over_workers(case: &TestCase) {
    case.table.set_pool("narrow", concurrency_limit(3)).await;
    case.put_pooled(1, 20, Some("narrow"), "a").await;
    case.put_pooled(100, 20, Some("narrow"), "b").await;
    let workers =
        futures::future::join_all(["one", "two", "three", "four"].map(|name| case.worker(name))).await;
    let (mut delivered, mut rounds) = (0, 0);
    while delivered < 40 {
        let claims = workers.iter().map(|worker| worker.claim(10));
        let claimed = futures::future::join_all(claims).await;
        let in_flight = case.count_pooled("narrow", case.subject.claimed()).await;
        assert_eq!(in_flight, claimed.iter().map(Vec::len).sum::<usize>(), "who claims a row holds it");
        assert!(in_flight <= 3, "{in_flight} in flight, with a limit of 3");
        for (worker, rows) in workers.iter().zip(&claimed) {
            for row in rows {
                worker.settle_with(row, Transition::Delivered).await;
                delivered += 1;
            }
        }
        rounds += 1;
        assert!(rounds < 400, "{delivered} delivered in {rounds} turns");
    }
}

pub(crate) async fn paused_pool_waits(case: &TestCase) {
    case.table.set_pool("still", TestPoolLimits { paused: true, ..TestPoolLimits::default() }).await;
    let ids = case.put_pooled(1, 5, Some("still"), "a").await;
    let before = case.row(&ids[0]).await;
    let worker = case.worker("one").await;
    assert!(worker.claim(10).await.is_empty());
    assert_eq!(case.row(&ids[0]).await, before);
    case.table.set_pool("still", TestPoolLimits::default()).await;
    assert_eq!(claim_soon(&worker, 10).await.len(), 5, "resumed");
}

pub(crate) async fn rate_over_workers(case: &TestCase) {
    // One per minute is longer than this test waits.
    case.table.set_pool("slow", TestPoolLimits { rate: Some(1), ..TestPoolLimits::default() }).await;
    case.put_pooled(1, 5, Some("slow"), "a").await;
    let (one, two) = (case.worker("one").await, case.worker("two").await);
    let first = one.claim(10).await;
    assert_eq!(first.len(), 1);
    assert!(one.claim(10).await.is_empty() && two.claim(10).await.is_empty(), "for all together");
    let wait = retry_transient(|| one.store.next_due()).await.expect("rows wait");
    assert!(wait > Duration::from_secs(15) && wait <= Duration::from_mins(1), "{wait:?}");
    one.settle_with(&first[0], Transition::Released).await;
    let again = claim_soon(&one, 10).await;
    assert_eq!(again.len(), 1, "what was never tried cost nothing");
    one.settle_with(&again[0], Transition::Delivered).await;
    assert!(one.claim(10).await.is_empty(), "a delivery has its price");
    case.table.set_pool("slow", TestPoolLimits { rate: Some(6000), ..TestPoolLimits::default() }).await;
    assert!(!claim_soon(&two, 10).await.is_empty(), "a new rate applies at once");
    rates_of_others(case, &one).await;
}

pub(crate) async fn postponed_row_counts(case: &TestCase) {
    // One per minute is longer than this test waits.
    case.table.set_pool("slow", TestPoolLimits { rate: Some(1), ..TestPoolLimits::default() }).await;
    case.put_pooled(1, 2, Some("slow"), "a").await;
    let worker = case.worker("one").await;
    let first = worker.claim(10).await;
    assert_eq!(first.len(), 1);
    let mut untried = settlement(&first[0].lease, Transition::Deferred);
    untried.outcome.remove("status");
    worker.settle_one(untried).await;
    let again = claim_soon(&worker, 10).await;
    assert_eq!(again.len(), 1, "no request was made: the permit is refunded");
    worker.settle_one(settlement(&again[0].lease, Transition::Deferred)).await;
    assert!(worker.claim(10).await.is_empty(), "the receiver answered: the request counts");
    let wait = retry_transient(|| worker.store.next_due()).await.expect("rows wait");
    assert!(wait > Duration::from_secs(15), "{wait:?}");
}

/// Checks that each pool has its own rate, that a rate of zero allows nothing, and that a burst of one second is
/// allowed.
async fn rates_of_others(case: &TestCase, worker: &Worker) {
    let limits = |rate| TestPoolLimits { rate: Some(rate), ..TestPoolLimits::default() };
    case.table.set_pool("seen", TestPoolLimits { paused: true, ..limits(1) }).await;
    case.table.set_pool("other", limits(1)).await;
    case.put_pooled(50, 3, Some("seen"), "a").await;
    case.put_pooled(20, 3, Some("other"), "a").await;
    let claimed = claim_soon_of(worker, "other").await;
    assert_eq!(of_pool(&claimed, "other"), 1, "what another pool took is nothing to it");
    case.table.set_pool("seen", limits(1)).await;
    let claimed = claim_soon_of(worker, "seen").await;
    assert_eq!(of_pool(&claimed, "seen"), 1, "nor to one that was there all along");
    for (pool, rate) in [("none", 0), ("brisk", 180)] {
        case.table.set_pool(pool, limits(rate)).await;
    }
    case.put_pooled(30, 3, Some("none"), "a").await;
    case.put_pooled(40, 9, Some("brisk"), "a").await;
    let claimed = claim_soon_of(worker, "brisk").await;
    assert_eq!(of_pool(&claimed, "none"), 0);
    let brisk = of_pool(&claimed, "brisk");
    assert!((1..9).contains(&brisk), "{brisk} of a minute's 180 at once");
}

pub(crate) async fn clients_are_served_round_robin(case: &TestCase) {
    case.put_pooled(1, 60, None, "a").await;
    let late = case.put_pooled(500, 3, None, "b").await;
    let claimed = case.worker("one").await.claim(20).await;
    assert_eq!(claimed.len(), 20, "what one leaves, the other takes");
    for id in &late {
        assert!(claimed.iter().any(|row| case.is(id, &row.lease.id)), "{id:?} had no turn");
    }
    assert!(claimed.iter().all(|row| row.share.is_some()), "a row says whose turn it is");
}

pub(crate) async fn ordered_rows_need_permits(case: &TestCase) {
    let mode = modes(&case.subject).pop().unwrap_or(GroupMode::Wait);
    case.table.set_pool("narrow", concurrency_limit(3)).await;
    case.table.set_pool("still", TestPoolLimits { paused: true, ..TestPoolLimits::default() }).await;
    let now = case.table.now().await;
    let id = |row: &Row| row[&case.subject.contract.table.id].clone();
    let group = |name: &str, count: i64, pool: Option<&str>| -> Vec<Row> {
        let row = |seq| case.pooled(case.group_row(name, seq, mode, now), pool, "a");
        (1..=count).map(row).collect()
    };
    let (a, b) = (group("a", 10, Some("narrow")), group("b", 4, None));
    let mut rows = [a.clone(), b.clone()].concat();
    for held in 0..30 {
        rows.extend(group(&format!("held{held:02}"), 2, Some("still")));
    }
    case.table.insert(&case.subject.contract.table.name, &rows).await;
    let worker = case.worker("one").await;
    let claimed = worker.claim(40).await;
    let of = |claimed: &[ClaimedRow], rows: &[Row]| -> Vec<usize> {
        let place = |row: &ClaimedRow| rows.iter().position(|one| case.is(&id(one), &row.lease.id));
        claimed.iter().filter_map(place).collect()
    };
    assert_eq!(of(&claimed, &a), [0, 1, 2], "its first three, in order");
    assert_eq!(
        (of(&claimed, &b), claimed.len()),
        (vec![0, 1, 2, 3], 7),
        "the others go, the paused ones do not"
    );
    assert_eq!(case.count_pooled("narrow", case.subject.claimed()).await, 3);
    for row in &claimed {
        worker.settle_with(row, Transition::Delivered).await;
    }
    let next = claim_soon(&worker, 40).await;
    assert_eq!(of(&next, &a), [3, 4, 5], "and on from there");
}

pub(crate) async fn run_ends_at_its_pools_limit(case: &TestCase) {
    case.table.set_pool("single", concurrency_limit(1)).await;
    let now = case.table.now().await;
    let id = |row: &Row| row[&case.subject.contract.table.id].clone();
    for mode in modes(&case.subject) {
        let name = format!("{mode:?}");
        let row = |(seq, pool)| case.pooled(case.group_row(&name, seq, mode, now), pool, "a");
        let rows: Vec<Row> = [(1, Some("single")), (2, Some("single")), (3, None), (4, None)].map(row).into();
        case.table.insert(&case.subject.contract.table.name, &rows).await;
        let worker = case.worker(&name).await;
        let mut order = Vec::new();
        while order.len() < rows.len() {
            let claimed = claim_soon(&worker, 10).await;
            for row in &claimed {
                order.extend(rows.iter().position(|one| case.is(&id(one), &row.lease.id)));
                worker.settle_with(row, Transition::Delivered).await;
            }
        }
        assert_eq!(order, [0, 1, 2, 3], "{mode:?}: a row held by its pool is not overtaken");
    }
}
