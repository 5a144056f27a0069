//! Rows and modes of ordered groups, shared by the laws about them.

use std::time::Duration;

use postrider_contract::{ColumnRole, GroupMode, OnError, Transition};
use postrider_seams::ClaimedRow;
use postrider_seams::store::{LeaseResult, Settlement};

use crate::cell::{Cell, Row};
use crate::row::{self, HOUR, SECOND};
use crate::subject::Subject;
use crate::test_case::{TestCase, Worker, settlement};

pub(super) const RETRY_DELAY: Duration = Duration::from_mins(15);

/// Returns the contract's modes that keep an order.
pub(super) fn modes(subject: &Subject) -> Vec<GroupMode> {
    let Some(group) = &subject.contract.group else { return Vec::new() };
    let holds = [GroupMode::Next, GroupMode::Wait, GroupMode::Block].into_iter();
    match &group.on_error {
        OnError::Always(hold) => holds.filter(|one| one == hold).collect(),
        OnError::ByColumn { values, .. } => {
            holds.filter(|hold| values.values().any(|one| one == hold)).collect()
        }
    }
}

/// Returns the modes in which a row that is retried holds back later rows.
pub(super) fn holding_modes(case: &TestCase) -> Vec<GroupMode> {
    modes(&case.subject).into_iter().filter(|hold| *hold != GroupMode::Next).collect()
}

/// Returns a row's position in that many sequence columns. The first column has pairs that only the second orders, and
/// the second alone would order the pairs wrongly, so a claim that ignores either fails.
fn sequence_values(seq: i64, columns: usize) -> Vec<i64> {
    if columns == 1 {
        return vec![seq];
    }
    let pair = (seq + 1) / 2;
    let mut values = vec![pair, seq - 4 * pair];
    values.resize(columns, 0);
    values
}

impl TestCase {
    /// Returns a ready row at its position in a group. Keys are in the opposite order.
    pub(super) fn group_row(&self, group: &str, seq: i64, mode: GroupMode, now: i64) -> Row {
        static NEXT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
        let n = 900_000 - NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let mut row = row::ready(self.table.columns(), &self.subject, n, now);
        let rule = self.subject.contract.group.as_ref().expect("the contract has groups");
        let generated = self.table.columns().iter().any(|column| column.name == rule.by && column.generated);
        let by = if generated { "message_group" } else { &rule.by };
        row.insert(by.to_owned(), Cell::text(group));
        if let OnError::ByColumn { column, values } = &rule.on_error {
            let value = values.iter().find(|(_, hold)| **hold == mode).map(|(value, _)| value);
            row.insert(column.clone(), Cell::text(value.expect("the contract has the mode")));
        }
        for (column, place) in rule.sequence.iter().zip(sequence_values(seq, rule.sequence.len())) {
            let time = self.subject.time_columns().contains(column);
            let cell = if time { Cell::Time(now - HOUR + place * SECOND) } else { Cell::Int(place) };
            row.insert(column.clone(), cell);
        }
        row
    }

    /// Inserts rows 1 to `count` of a group, not in their order.
    pub(super) async fn put_group(&self, group: &str, count: i64, mode: GroupMode) -> Vec<Cell> {
        let now = self.table.now().await;
        let mut rows: Vec<Row> = (1..=count).map(|seq| self.group_row(group, seq, mode, now)).collect();
        let id = |row: &Row| row[&self.subject.contract.table.id].clone();
        let keys = rows.iter().map(id).collect();
        rows.reverse();
        self.table.insert(&self.subject.contract.table.name, &rows).await;
        keys
    }

    /// Inserts rows that have no group.
    pub(super) async fn put_ungrouped(&self, count: usize) -> Vec<Cell> {
        let rule = self.subject.contract.group.as_ref().expect("the contract has groups");
        let generated = self.table.columns().iter().any(|column| column.name == rule.by && column.generated);
        let mut ids = Vec::new();
        for n in 1..=count {
            let mut row = self.ready_row(n).await;
            if !generated {
                row.insert(rule.by.clone(), Cell::Null);
            }
            ids.push(self.put(row).await);
        }
        ids
    }

    pub(super) async fn set_due(&self, id: &Cell, due: i64) {
        let column = self.subject.column(ColumnRole::Due).expect("retries have a due time").to_owned();
        self.set(id, &column, Cell::Time(due)).await;
    }

    pub(super) fn assert_rows(&self, claimed: &[ClaimedRow], expected: &[&Cell]) {
        let got: Vec<String> = claimed.iter().map(|row| row.lease.id.to_string()).collect();
        let same = claimed.iter().zip(expected).all(|(row, id)| self.is(id, &row.lease.id));
        assert!(same && claimed.len() == expected.len(), "claimed {got:?}, should be {expected:?}");
    }
}

/// Settles the first row of a run and hands back the rest in the same call.
pub(super) async fn settle_and_hand_back(worker: &Worker, run: &[ClaimedRow], transition: Transition) {
    let own = settlement(&run[0].lease, transition);
    let rest = run[1..].iter().map(|row| row.lease.clone()).collect();
    let held = worker.settle_one(Settlement { delay: RETRY_DELAY, releases: rest, ..own }).await;
    assert_eq!(held, LeaseResult::Held);
}
