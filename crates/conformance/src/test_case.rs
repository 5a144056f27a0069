//! Helpers for laws: workers act through the store, everything else bypasses it.

use std::sync::Arc;
use std::time::Duration;

use postrider_contract::{AttemptResult, ColumnRole, Decision, ResultKind, StateId, Transition};
use postrider_seams::inspect::SelectedRows;
use postrider_seams::row::Detail;
use postrider_seams::store::{Class, Error, LeaseResult, Reclaimed, Settlement, SweepKind};
use postrider_seams::{Backend, ClaimedRow, Lease, RowId, Value};

use crate::cell::{Cell, Row};
use crate::expected::Expected;
use crate::row::{self, NEVER};
use crate::subject::Subject;
use crate::test_table::TestTable;

/// One run of a law on one subject on one test table.
pub struct TestCase {
    pub subject: Subject,
    pub table: Box<dyn TestTable>,
}

/// One worker, with its own store.
pub struct Worker {
    pub store: Arc<dyn Backend>,
}

/// Microseconds by which two clocks may differ: columns with whole seconds, and slow machines.
pub(crate) const TOLERANCE: i64 = 5 * row::SECOND;

impl TestCase {
    /// Opens a store for the worker of that name.
    pub async fn worker(&self, name: &str) -> Worker {
        Worker { store: self.table.open(name).await }
    }

    /// Inserts a row; returns its key.
    pub async fn put(&self, row: Row) -> Cell {
        let id = row[&self.subject.contract.table.id].clone();
        self.table.insert(&self.subject.contract.table.name, &[row]).await;
        id
    }

    /// Inserts rows 1 to `count`, ready and due; returns their keys.
    pub async fn put_ready(&self, count: usize) -> Vec<Cell> {
        let now = self.table.now().await;
        let rows: Vec<Row> =
            (1..=count).map(|n| row::ready(self.table.columns(), &self.subject, n, now)).collect();
        self.table.insert(&self.subject.contract.table.name, &rows).await;
        rows.into_iter().map(|row| row[&self.subject.contract.table.id].clone()).collect()
    }

    /// Returns the n-th ready row, not inserted yet, so that the law can change it.
    pub async fn ready_row(&self, n: usize) -> Row {
        row::ready(self.table.columns(), &self.subject, n, self.table.now().await)
    }

    /// Returns the n-th row in a state, not inserted yet.
    pub async fn row_in(&self, n: usize, state: StateId) -> Row {
        row::in_state(self.table.columns(), &self.subject, n, self.table.now().await, state)
    }

    /// Inserts a ready row and claims it with this worker.
    pub async fn claimed_by(&self, worker: &Worker, n: usize) -> (Cell, ClaimedRow) {
        let id = self.put(self.ready_row(n).await).await;
        (id, worker.claim_one().await)
    }

    /// Reads a row; panics if it does not exist. A row that was deleted by a delivery is empty.
    pub async fn row(&self, id: &Cell) -> Row {
        let missing = || if self.subject.deletes { Row::new() } else { panic!("row {id:?} is gone") };
        self.find(id).await.unwrap_or_else(missing)
    }

    /// Reads a row; `None` if it does not exist.
    pub async fn find(&self, id: &Cell) -> Option<Row> {
        let table = &self.subject.contract.table;
        self.table.select(&table.name, Some((&table.id, id))).await.pop()
    }

    /// Reads all rows of the table.
    pub async fn rows(&self) -> Vec<Row> {
        self.table.select(&self.subject.contract.table.name, None).await
    }

    /// Reads the state of a row; panics if it is in none.
    pub async fn state(&self, id: &Cell) -> StateId {
        let row = self.row(id).await;
        if row.is_empty() {
            return self.subject.stage().delivered;
        }
        row::state_of(&self.subject, &row).unwrap_or_else(|| panic!("a row in no state: {row:?}"))
    }

    /// Asserts that the row is in this state.
    pub async fn assert_state(&self, id: &Cell, expected: StateId) {
        let (found, wanted) = (self.state(id).await, expected);
        let name = |state| self.subject.state_name(state);
        assert_eq!(found, wanted, "the row is {}, should be {}", name(found), name(wanted));
    }

    /// Returns the value of a role's column; NULL if there is no such column.
    pub fn role<'a>(&self, row: &'a Row, role: ColumnRole) -> &'a Cell {
        self.subject.column(role).and_then(|column| row.get(column)).unwrap_or(&Cell::Null)
    }

    /// Reads the attempt counter of a row; 0 if it is NULL.
    pub async fn attempts(&self, id: &Cell) -> i64 {
        self.role(&self.row(id).await, ColumnRole::Attempts).as_int().unwrap_or(0)
    }

    /// Asserts that the error column contains `why`, or is empty if the stage does not write it.
    pub fn assert_error(&self, row: &Row, why: &str) {
        let error = self.role(row, ColumnRole::Error).as_text().unwrap_or_default();
        if Expected::writes_error(&self.subject) {
            assert!(error.contains(why), "the reason is kept: {why:?}, not {error:?}");
        } else {
            assert_eq!(error, "", "the column is left alone");
        }
    }

    /// Updates one column without comparing the fence.
    pub async fn set(&self, id: &Cell, column: &str, cell: Cell) {
        self.table.update(id, &Row::from([(column.to_owned(), cell)])).await;
    }

    /// Moves a row to a state as another program would: writes only the columns that define the state.
    pub async fn move_by_hand(&self, id: &Cell, state: StateId) {
        let mut moved = Row::new();
        row::put_state(&mut moved, &self.subject, state, self.table.now().await);
        self.table.update(id, &moved).await;
    }

    /// Moves a row to a finished state, so that it does not interfere with later rows.
    pub async fn finish_by_hand(&self, id: &Cell) {
        if self.find(id).await.is_some() {
            self.move_by_hand(id, self.subject.finished()).await;
        }
    }

    /// Ages a row as if `by` had passed: all its times move into the past.
    pub async fn age(&self, id: &Cell, by: Duration) {
        let columns: Vec<String> = self.subject.time_columns().into_iter().collect();
        self.shift(id, &columns, by).await;
    }

    /// Ages a lease as if it had been running for `by` longer.
    pub async fn age_lease(&self, id: &Cell, by: Duration) {
        let role = if self.subject.has(ColumnRole::LeaseUntil) {
            ColumnRole::LeaseUntil
        } else {
            ColumnRole::ClaimedAt
        };
        let column = self.subject.column(role).expect("a lease by time has a column for it");
        self.shift(id, &[column.to_owned()], by).await;
    }

    /// Ages a lease until it has expired, as if its worker were gone.
    pub async fn expire(&self, id: &Cell) {
        self.age_lease(id, self.subject.stage().lease.duration + Duration::from_secs(10)).await;
    }

    /// Simulates a worker that died during the delivery of the row: the row is begun and its lease has expired.
    pub async fn crash(&self, worker: &Worker, id: &Cell, claimed: &ClaimedRow) {
        assert_eq!(worker.begin(&claimed.lease).await, LeaseResult::Held, "it is held");
        self.expire(id).await;
        // If the claim time is part of the fence, `expire` has changed it: record the row as begun with the new fence.
        let mut aged = claimed.lease.clone();
        for (role, value) in self.subject.stage().lease.fence.iter().zip(&mut aged.fence) {
            if *role == ColumnRole::ClaimedAt && !self.subject.has(ColumnRole::LeaseUntil) {
                let column = self.subject.column(*role).expect("it is part of the fence");
                *value = self.table.fence(id, column).await;
            }
        }
        if aged != claimed.lease {
            retry_transient(|| worker.store.begin(&[], std::slice::from_ref(&aged))).await;
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
            self.table.update(id, &changes).await;
        }
    }

    /// Returns the contract's decision for the result of an attempt, without jitter.
    pub fn decide(&self, claimed: &ClaimedRow, kind: ResultKind) -> Decision {
        self.subject.stage().decide(
            &claimed.counters,
            AttemptResult { kind, after: None, partly_accepted: false },
            0.0,
        )
    }

    /// Whether `row` is the key `id`.
    pub fn is(&self, id: &Cell, row: &RowId) -> bool {
        match (id, row) {
            (Cell::Int(id), RowId::Int(row)) => id == row,
            (Cell::Text(id), RowId::Text(row)) => **id == **row,
            _ => false,
        }
    }
}

impl Worker {
    /// Claims up to `limit` rows; repeats the call after a transient error.
    pub async fn claim(&self, limit: u32) -> Vec<ClaimedRow> {
        retry_transient(|| self.store.claim(limit)).await
    }

    /// Claims one row; panics if there is none.
    pub async fn claim_one(&self) -> ClaimedRow {
        let mut rows = self.claim(1).await;
        assert_eq!(rows.len(), 1, "there is one row to claim");
        rows.pop().expect("there is one")
    }

    /// Settles rows; repeats the call after a transient error.
    pub async fn settle(&self, moves: &[Settlement]) -> Vec<LeaseResult> {
        retry_transient(|| self.store.settle(moves)).await
    }

    /// Settles a claimed row with this transition.
    pub async fn settle_with(&self, claimed: &ClaimedRow, transition: Transition) -> LeaseResult {
        self.settle_one(settlement(&claimed.lease, transition)).await
    }

    /// Settles a lease with this transition.
    pub async fn settle_lease(&self, lease: &Lease, transition: Transition) -> LeaseResult {
        self.settle_one(settlement(lease, transition)).await
    }

    /// Settles one row; returns whether its lease was held.
    pub async fn settle_one(&self, settlement: Settlement) -> LeaseResult {
        let answers = self.settle(&[settlement]).await;
        assert_eq!(answers.len(), 1, "one answer per settlement");
        answers[0]
    }

    /// Extends a lease; `None` if it was lost.
    pub async fn extend(&self, lease: &Lease) -> Option<Lease> {
        let mut answers = retry_transient(|| self.store.extend(std::slice::from_ref(lease))).await;
        assert_eq!(answers.len(), 1, "one answer per lease");
        answers.pop().expect("there is one")
    }

    /// Marks one row as begun, and no others.
    pub async fn begin(&self, lease: &Lease) -> LeaseResult {
        let answers = retry_transient(|| self.store.begin(std::slice::from_ref(lease), &[])).await;
        assert_eq!(answers.len(), 1, "one answer per lease");
        answers[0]
    }

    /// Reclaims up to 100 rows whose lease has expired.
    pub async fn reclaim(&self) -> Reclaimed {
        retry_transient(|| self.store.reclaim(100)).await
    }

    /// Runs a sweep over up to 100 rows; returns how many it moved.
    pub async fn sweep(&self, kind: SweepKind) -> u64 {
        retry_transient(|| self.store.sweep(kind, 100)).await
    }

    /// Deletes up to 100 rows by the contract's retention; returns how many.
    pub async fn purge(&self) -> u64 {
        retry_transient(|| self.store.purge(100)).await
    }

    /// Requeues one row as an operator would; returns how many rows moved.
    pub async fn requeue(&self, id: &Cell) -> u64 {
        let which = by_id(id);
        retry_transient(|| self.store.requeue(&which)).await
    }
}

/// Selects this row for an operator's move.
pub(crate) fn by_id(id: &Cell) -> SelectedRows {
    SelectedRows::Ids(vec![match id {
        Cell::Int(id) => id.to_string(),
        Cell::Text(id) => id.clone(),
        other => panic!("no key: {other:?}"),
    }])
}

/// Returns a settlement with every value that a contract may write.
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
        releases: Vec::new(),
    }
}

/// Repeats a call while the store returns transient errors, as the engine does; panics after 200 of them.
pub(crate) async fn retry_transient<T, F, R>(ask: F) -> T
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
