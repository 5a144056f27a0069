//! Builds rows as producers write them, and determines states without the store.

use postrider_contract::{ColumnRole, Condition, Literal, StateId};

use crate::cell::{Cell, Row};
use crate::subject::{Subject, UNMAPPED_COLUMN};
use crate::test_table::{ColumnKind, TableColumn};

pub(crate) const SECOND: i64 = 1_000_000;
pub(crate) const HOUR: i64 = 3600 * SECOND;

/// 9999-12-31, in microseconds.
pub(crate) const NEVER: i64 = 253_402_214_400 * SECOND;

/// Returns the key of the n-th row.
pub(crate) fn key(columns: &[TableColumn], subject: &Subject, n: usize) -> Cell {
    let id = columns.iter().find(|column| column.name == subject.contract.table.id);
    filler(id.expect("a table has its key"), n, 0)
}

/// Returns the n-th row, due for a minute, with all the columns that a careful producer writes.
pub(crate) fn ready(columns: &[TableColumn], subject: &Subject, n: usize, now: i64) -> Row {
    in_state(columns, subject, n, now, subject.ready())
}

/// Returns the n-th row as if it had entered this state an hour ago.
pub(crate) fn in_state(
    columns: &[TableColumn],
    subject: &Subject,
    n: usize,
    now: i64,
    state: StateId,
) -> Row {
    let mut row = bare(columns, subject, n, now);
    let times = [(ColumnRole::Created, HOUR), (ColumnRole::Updated, HOUR), (ColumnRole::Due, 60 * SECOND)];
    for (role, ago) in times {
        put_role(&mut row, subject, role, Cell::Time(now - ago));
    }
    put_role(&mut row, subject, ColumnRole::Attempts, Cell::Int(0));
    put_role(&mut row, subject, ColumnRole::Version, Cell::Int(1));
    put_state(&mut row, subject, state, now);
    row
}

/// Returns a row with only the required columns and those that define its state.
pub(crate) fn bare(columns: &[TableColumn], subject: &Subject, n: usize, now: i64) -> Row {
    let needed = columns.iter().filter(|column| column.required && !column.generated);
    let mut row: Row = needed.map(|column| (column.name.clone(), filler(column, n, now))).collect();
    row.insert(subject.contract.table.id.clone(), key(columns, subject, n));
    row.insert(UNMAPPED_COLUMN.to_owned(), Cell::text(format!("kept {n}")));
    // Laws about groups set the group themselves.
    if let Some(by) = subject.contract.group.as_ref().and_then(|group| row.get_mut(&group.by)) {
        *by = Cell::Null;
    }
    put_state(&mut row, subject, subject.ready(), now);
    row
}

/// Sets the columns so that the state's conditions hold.
pub(crate) fn put_state(row: &mut Row, subject: &Subject, state: StateId, now: i64) {
    for (column, condition) in &subject.contract.state(state).conditions {
        let cell = match condition {
            Condition::Is(literal) => of_literal(literal),
            Condition::Null(true) => Cell::Null,
            Condition::Null(false) => Cell::Time(now - 60 * SECOND),
            Condition::Never(true) => Cell::Time(NEVER),
            Condition::Never(false) => continue,
        };
        row.insert(column.clone(), cell);
    }
}

/// Returns the state of a row, by the values of its columns.
pub(crate) fn state_of(subject: &Subject, row: &Row) -> Option<StateId> {
    let holds = |(column, condition): &(String, Condition)| {
        let cell = row.get(column).unwrap_or(&Cell::Null);
        match condition {
            Condition::Is(literal) => *cell == of_literal(literal),
            Condition::Null(null) => cell.is_null() == *null,
            Condition::Never(never) => cell.as_time().is_some_and(|time| time >= NEVER) == *never,
        }
    };
    let states = &subject.contract.states;
    states.iter().position(|state| !state.deletes && state.conditions.iter().all(holds)).map(StateId)
}

fn put_role(row: &mut Row, subject: &Subject, role: ColumnRole, cell: Cell) {
    if let Some(column) = subject.column(role) {
        row.insert(column.to_owned(), cell);
    }
}

fn of_literal(literal: &Literal) -> Cell {
    match literal {
        Literal::Bool(value) => Cell::Int(i64::from(*value)),
        Literal::Int(value) => Cell::Int(*value),
        Literal::Float(value) => Cell::text(value.to_string()),
        Literal::Text(value) => Cell::text(value),
    }
}

/// Returns a value that fits the column and differs from row to row.
fn filler(column: &TableColumn, n: usize, now: i64) -> Cell {
    match column.kind {
        ColumnKind::Int => Cell::Int(i64::try_from(n).expect("tests have few rows")),
        ColumnKind::Time => Cell::Time(now - HOUR),
        ColumnKind::Uuid => Cell::text(format!("00000000-0000-4000-8000-{n:012}")),
        ColumnKind::Json => Cell::text("{}"),
        ColumnKind::Text => {
            let width = column.length.unwrap_or(13).clamp(1, 13);
            let text = format!("{n:0width$}");
            Cell::text(&text[text.len() - width..])
        }
    }
}
