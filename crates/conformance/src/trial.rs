//! Trial: a law's hands. A worker acts through the store; everything else goes around it.

use std::sync::Arc;
use std::time::Duration;

use postrider_contract::{Decision, Got, Role, StateId, Transition, Verdict};
use postrider_seams::inspect::Which;
use postrider_seams::row::Detail;
use postrider_seams::store::{Class, Error, Held, Reclaimed, Settlement, SweepKind};
use postrider_seams::{Backend, Claimed, Lease, RowId, Value, Want};

use crate::arena::Arena;
use crate::cell::{Cell, Row};
use crate::expected::Expected;
use crate::row::{self, NEVER};
use crate::subject::Subject;

/// One law on one subject in one arena.
pub struct Trial {
    pub subject: Subject,
    pub arena: Box<dyn Arena>,
}

/// One worker: a store of its own.
pub struct Worker {
    pub store: Arc<dyn Backend>,
}

/// How far two clocks may differ: whole-second columns, and a slow machine.
pub(crate) const TOLERANCE: i64 = 5 * row::SECOND;

impl Trial {
    pub async fn worker(&self, name: &str) -> Worker {
        Worker { store: self.arena.open(name).await }
    }

    pub async fn put(&self, row: Row) -> Cell {
        let id = row[&self.subject.contract.table.id].clone();
        self.arena.insert(&self.subject.contract.table.name, &[row]).await;
        id
    }

    /// Rows 1 to `count`, ready and due.
    pub async fn put_ready(&self, count: usize) -> Vec<Cell> {
        let now = self.arena.now().await;
        let rows: Vec<Row> =
            (1..=count).map(|n| row::ready(self.arena.columns(), &self.subject, n, now)).collect();
        self.arena.insert(&self.subject.contract.table.name, &rows).await;
        rows.into_iter().map(|row| row[&self.subject.contract.table.id].clone()).collect()
    }

    /// The n-th ready row, for the law to change before it puts it.
    pub async fn ready_row(&self, n: usize) -> Row {
        row::ready(self.arena.columns(), &self.subject, n, self.arena.now().await)
    }

    /// The n-th row, placed in a state.
    pub async fn row_in(&self, n: usize, state: StateId) -> Row {
        row::in_state(self.arena.columns(), &self.subject, n, self.arena.now().await, state)
    }

    /// A ready row, claimed by this worker.
    pub async fn claimed_by(&self, worker: &Worker, n: usize) -> (Cell, Claimed) {
        let id = self.put(self.ready_row(n).await).await;
        (id, worker.claim_one().await)
    }

    pub async fn row(&self, id: &Cell) -> Row {
        self.find(id).await.unwrap_or_else(|| panic!("row {id:?} is gone"))
    }

    pub async fn find(&self, id: &Cell) -> Option<Row> {
        let table = &self.subject.contract.table;
        self.arena.select(&table.name, Some((&table.id, id))).await.pop()
    }

    pub async fn rows(&self) -> Vec<Row> {
        self.arena.select(&self.subject.contract.table.name, None).await
    }

    pub async fn state(&self, id: &Cell) -> StateId {
        let row = self.row(id).await;
        row::state_of(&self.subject, &row).unwrap_or_else(|| panic!("a row in no state: {row:?}"))
    }

    pub async fn assert_state(&self, id: &Cell, expected: StateId) {
        let (found, wanted) = (self.state(id).await, expected);
        let name = |state| self.subject.state_name(state);
        assert_eq!(found, wanted, "the row is {}, should be {}", name(found), name(wanted));
    }

    /// What a role's column holds; NULL where there is none.
    pub fn role<'a>(&self, row: &'a Row, role: Role) -> &'a Cell {
        self.subject.column(role).and_then(|column| row.get(column)).unwrap_or(&Cell::Null)
    }

    pub async fn attempts(&self, id: &Cell) -> i64 {
        self.role(&self.row(id).await, Role::Attempts).as_int().unwrap_or(0)
    }

    /// The error column tells `why`; a stage that leaves the column alone has left it empty.
    pub fn assert_error(&self, row: &Row, why: &str) {
        let error = self.role(row, Role::Error).as_text().unwrap_or_default();
        if Expected::writes_error(&self.subject) {
            assert!(error.contains(why), "the reason is kept: {why:?}, not {error:?}");
        } else {
            assert_eq!(error, "", "the column is left alone");
        }
    }

    pub async fn set(&self, id: &Cell, column: &str, cell: Cell) {
        self.arena.update(id, &Row::from([(column.to_owned(), cell)])).await;
    }

    /// Moves a row as another program would: what tells its state is written, all else stays.
    pub async fn move_by_hand(&self, id: &Cell, state: StateId) {
        let mut moved = Row::new();
        row::put_state(&mut moved, &self.subject, state, self.arena.now().await);
        self.arena.update(id, &moved).await;
    }

    /// Out of the way of the rows to come.
    pub async fn expel(&self, id: &Cell) {
        self.move_by_hand(id, self.subject.stage().delivered).await;
    }

    /// As if `by` had passed for this row: all its times move into the past.
    pub async fn age(&self, id: &Cell, by: Duration) {
        let columns: Vec<String> = self.subject.time_columns().into_iter().collect();
        self.shift(id, &columns, by).await;
    }

    /// As if the lease had been running for `by` longer.
    pub async fn age_lease(&self, id: &Cell, by: Duration) {
        let role = if self.subject.has(Role::LeaseUntil) { Role::LeaseUntil } else { Role::ClaimedAt };
        let column = self.subject.column(role).expect("a lease by time has a column for it");
        self.shift(id, &[column.to_owned()], by).await;
    }

    /// As if the worker that holds it had been gone for long.
    pub async fn expire(&self, id: &Cell) {
        self.age_lease(id, self.subject.stage().lease.duration + Duration::from_secs(10)).await;
    }

    /// As if the worker had died while it delivered the row: begun, and its lease has run out.
    pub async fn crash(&self, worker: &Worker, id: &Cell, claimed: &Claimed) {
        assert_eq!(worker.begin(&claimed.lease).await, Held::Held, "it is held");
        self.expire(id).await;
        // Where the lease's time is part of the fence, the row's age has changed it: so the mark is made to fit.
        let mut aged = claimed.lease.clone();
        for (role, value) in self.subject.stage().lease.fence.iter().zip(&mut aged.fence) {
            if *role == Role::ClaimedAt && !self.subject.has(Role::LeaseUntil) {
                let column = self.subject.column(*role).expect("it is part of the fence");
                *value = self.arena.fence(id, column).await;
            }
        }
        if aged != claimed.lease {
            patiently(|| worker.store.begin(&[], std::slice::from_ref(&aged))).await;
        }
    }

    async fn shift(&self, id: &Cell, columns: &[String], by: Duration) {
        let row = self.row(id).await;
        let by = i64::try_from(by.as_micros()).expect("tests shift by days at most");
        let times = columns.iter().filter_map(|column| Some((column, row.get(column)?.as_time()?)));
        let changes: Row = times
            .filter(|(_, time)| *time < NEVER)
            .map(|(column, time)| (column.clone(), Cell::Time(time - by)))
            .collect();
        if !changes.is_empty() {
            self.arena.update(id, &changes).await;
        }
    }

    /// What the contract decides for a row whose try failed for now, with no jitter.
    pub fn decide(&self, claimed: &Claimed, got: Got) -> Decision {
        self.subject.stage().decide(&claimed.counters, Verdict { got, after: None, partly: false }, 0.0)
    }

    /// Which of `ids` is this?
    pub fn is(&self, id: &Cell, row: &RowId) -> bool {
        match (id, row) {
            (Cell::Int(id), RowId::Int(row)) => id == row,
            (Cell::Text(id), RowId::Text(row)) => **id == **row,
            _ => false,
        }
    }
}

impl Worker {
    /// As many as `limit`, trying again where the store says that it would help.
    pub async fn claim(&self, limit: u32) -> Vec<Claimed> {
        let want = Want { limit };
        patiently(|| self.store.claim(&want)).await
    }

    pub async fn claim_one(&self) -> Claimed {
        let mut rows = self.claim(1).await;
        assert_eq!(rows.len(), 1, "there is one row to claim");
        rows.pop().expect("there is one")
    }

    pub async fn settle(&self, moves: &[Settlement]) -> Vec<Held> {
        patiently(|| self.store.settle(moves)).await
    }

    pub async fn end(&self, claimed: &Claimed, transition: Transition) -> Held {
        self.settle_one(settlement(&claimed.lease, transition)).await
    }

    pub async fn end_lease(&self, lease: &Lease, transition: Transition) -> Held {
        self.settle_one(settlement(lease, transition)).await
    }

    pub async fn settle_one(&self, settlement: Settlement) -> Held {
        let answers = self.settle(&[settlement]).await;
        assert_eq!(answers.len(), 1, "one answer per settlement");
        answers[0]
    }

    pub async fn extend(&self, lease: &Lease) -> Option<Lease> {
        let mut answers = patiently(|| self.store.extend(std::slice::from_ref(lease))).await;
        assert_eq!(answers.len(), 1, "one answer per lease");
        answers.pop().expect("there is one")
    }

    /// Marks one row as begun, and nothing else.
    pub async fn begin(&self, lease: &Lease) -> Held {
        let answers = patiently(|| self.store.begin(std::slice::from_ref(lease), &[])).await;
        assert_eq!(answers.len(), 1, "one answer per lease");
        answers[0]
    }

    pub async fn reclaim(&self) -> Reclaimed {
        patiently(|| self.store.reclaim(100)).await
    }

    pub async fn sweep(&self, kind: SweepKind) -> u64 {
        patiently(|| self.store.sweep(kind, 100)).await
    }

    pub async fn purge(&self) -> u64 {
        patiently(|| self.store.purge(100)).await
    }

    pub async fn requeue(&self, id: &Cell) -> u64 {
        let which = one(id);
        patiently(|| self.store.requeue(&which)).await
    }
}

/// The operator means this row.
pub(crate) fn one(id: &Cell) -> Which {
    Which::Ids(vec![match id {
        Cell::Int(id) => id.to_string(),
        Cell::Text(id) => id.clone(),
        other => panic!("no key: {other:?}"),
    }])
}

/// A settlement with all that any contract may want to write.
pub fn settlement(lease: &Lease, transition: Transition) -> Settlement {
    let text = |text: &str| Value::Text(text.to_owned());
    let failed = transition.is_failure();
    let outcome = Detail::from([
        ("duration_ms".to_owned(), Value::Int(12)),
        ("result".to_owned(), text(if failed { "SERVER_ERROR" } else { "SUCCESS" })),
        ("class".to_owned(), if failed { text("TRANSIENT") } else { Value::Null }),
        ("status".to_owned(), Value::Int(if failed { 503 } else { 200 })),
        ("code".to_owned(), text("provider_error")),
        ("message".to_owned(), text("the relay is busy")),
        ("provider".to_owned(), text("smtp")),
        ("message_id".to_owned(), text("m-1")),
    ]);
    Settlement {
        lease: lease.clone(),
        transition,
        delay: Duration::ZERO,
        reason: failed.then(|| "the relay is busy".to_owned()),
        receipt: (transition == Transition::Delivered).then(|| "m-1".to_owned()),
        envelope: Detail::from([("section_status".to_owned(), text("OPEN"))]),
        outcome,
        hands_back: Vec::new(),
    }
}

/// What the engine does with a store that is away for a moment.
pub(crate) async fn patiently<T, F, R>(ask: F) -> T
where
    F: Fn() -> R,
    R: Future<Output = Result<T, Error>>,
{
    for _ in 0..200 {
        match ask().await {
            Ok(answer) => return answer,
            Err(error) if error.class == Class::Transient => {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            Err(error) => panic!("the store refused: {error} ({:?})", error.source),
        }
    }
    panic!("the store stayed away");
}
