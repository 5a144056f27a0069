//! The rows, the clock and the index by state that all stores on one table share.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use postrider_contract::{ColumnRole, Contract, StateId};
use postrider_rows::{Row, state_of};
use postrider_seams::{Lease, RowId, Value};
use tokio::sync::Notify;
use tokio::time::Instant;

/// The start of the table's clock, in microseconds since 1970; any date that is not near zero.
const EPOCH: i64 = 1_767_225_600_000_000;

/// One table, shared by any number of stores (workers).
pub struct MemoryTable {
    pub(crate) contract: Contract,
    inner: Mutex<TableState>,
    started: Instant,
    pub(crate) written: Notify,
}

#[derive(Default)]
pub(crate) struct TableState {
    pub rows: HashMap<RowId, Row>,
    /// The rows of each state, in the order of claims.
    pub index: HashMap<Option<StateId>, BTreeSet<(Vec<OrderKey>, RowId)>>,
    /// The rows that effects inserted, each with the name of its table.
    pub effects: Vec<(String, Row)>,
    pub locks: HashMap<String, (String, i64)>,
    pub paused: BTreeSet<String>,
    pub pools: BTreeMap<String, crate::pools::PoolState>,
    /// The leases whose delivery has begun, by stage and worker.
    pub begun: HashMap<(usize, String), Vec<Lease>>,
    /// Consecutive crashes during a delivery of a row, and when the last one was counted, by stage and row.
    pub crashes: HashMap<(usize, RowId), (u32, i64)>,
    pub next_tsid: u64,
}

/// One part of a row's position in the order of claims; NULLs are first, or last if the order is descending.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum OrderKey {
    NullFirst,
    Int(i64),
    Text(String),
    Descending(std::cmp::Reverse<i64>),
    NullLast,
}

impl MemoryTable {
    /// Creates an empty table for a contract, with its clock at `EPOCH`.
    pub fn new(contract: Contract) -> Arc<Self> {
        let contract = contract.storing_recipients("recipients");
        Arc::new(Self { contract, inner: Mutex::default(), started: Instant::now(), written: Notify::new() })
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, TableState> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the time of the table's own clock, in microseconds since 1970.
    pub fn now(&self) -> i64 {
        EPOCH + i64::try_from(self.started.elapsed().as_micros()).unwrap_or(i64::MAX - EPOCH)
    }

    /// Inserts or replaces a row; it must contain its key column.
    pub fn insert(&self, row: Row) {
        let id = row_id(&row[&self.contract.table.id]);
        self.lock().write(&self.contract, &id, row);
        self.written.notify_waiters();
    }

    /// Returns a copy of one row; `None` if there is none with this key.
    pub fn row(&self, id: &RowId) -> Option<Row> {
        self.lock().rows.get(id).cloned()
    }

    /// Returns copies of all rows, in the order of their keys.
    pub fn rows(&self) -> Vec<Row> {
        let table = self.lock();
        let mut rows: Vec<_> = table.rows.iter().collect();
        rows.sort_by(|a, b| a.0.cmp(b.0));
        rows.into_iter().map(|(_, row)| row.clone()).collect()
    }

    /// Returns the rows that effects have inserted so far, each with the name of its table.
    pub fn effects(&self) -> Vec<(String, Row)> {
        self.lock().effects.clone()
    }

    /// Changes a row as another program would, without checking the fence.
    pub fn edit(&self, id: &RowId, change: impl FnOnce(&mut Row)) {
        let mut table = self.lock();
        if let Some(mut row) = table.rows.get(id).cloned() {
            change(&mut row);
            table.write(&self.contract, id, row);
        }
    }
}

impl TableState {
    /// Inserts or replaces a row and updates the index: the only way to change a row.
    pub fn write(&mut self, contract: &Contract, id: &RowId, row: Row) {
        if let Some(old) = self.rows.get(id) {
            let place = (order_key(contract, old), id.clone());
            if let Some(rows) = self.index.get_mut(&state_of(contract, old)) {
                rows.remove(&place);
            }
        }
        let place = (order_key(contract, &row), id.clone());
        self.index.entry(state_of(contract, &row)).or_default().insert(place);
        self.rows.insert(id.clone(), row);
    }

    /// Deletes a row and updates the index.
    pub fn delete(&mut self, contract: &Contract, id: &RowId) {
        if let Some(old) = self.rows.remove(id)
            && let Some(rows) = self.index.get_mut(&state_of(contract, &old))
        {
            rows.remove(&(order_key(contract, &old), id.clone()));
        }
    }

    /// Returns the keys of rows in any of these states, in the order of claims.
    pub fn in_states(&self, states: &[StateId]) -> Vec<RowId> {
        let mut places: Vec<_> =
            states.iter().filter_map(|state| self.index.get(&Some(*state))).flatten().collect();
        if states.len() > 1 {
            places.sort();
        }
        places.into_iter().map(|(_, id)| id.clone()).collect()
    }
}

fn order_key(contract: &Contract, row: &Row) -> Vec<OrderKey> {
    contract
        .claim
        .order
        .iter()
        .filter(|order| !order.is_by(ColumnRole::Id))
        .map(|order| {
            let value =
                contract.order_column(order).and_then(|column| row.get(column)).unwrap_or(&Value::Null);
            sort_key(value, order.descending)
        })
        .collect()
}

pub(crate) fn sort_key(value: &Value, descending: bool) -> OrderKey {
    match (value, descending) {
        (Value::Int(int), false) => OrderKey::Int(*int),
        (Value::Int(int), true) => OrderKey::Descending(std::cmp::Reverse(*int)),
        (Value::Text(text), _) => OrderKey::Text(text.clone()),
        (_, false) => OrderKey::NullFirst,
        (_, true) => OrderKey::NullLast,
    }
}

/// Converts the value of a key column to a row id; panics on a type that cannot be a key.
pub(crate) fn row_id(value: &Value) -> RowId {
    match value {
        Value::Int(int) => RowId::Int(*int),
        Value::Text(text) => RowId::Text(text.as_str().into()),
        other => panic!("a key is a whole number or text, not {other:?}"),
    }
}
