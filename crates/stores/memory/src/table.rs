//! The rows, the clock and the index by state that all stores on one table share.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use postrider_contract::{Contract, Role, StateId};
use postrider_rows::{Row, state_of};
use postrider_seams::{Lease, RowId, Value};
use tokio::sync::Notify;
use tokio::time::Instant;

/// Where the table's clock starts; any date will do, as long as it is not near zero.
const EPOCH: i64 = 1_767_225_600_000_000;

/// One table, shared by any number of stores (workers).
pub struct MemoryTable {
    pub(crate) contract: Contract,
    inner: Mutex<Table>,
    started: Instant,
    pub(crate) written: Notify,
}

#[derive(Default)]
pub(crate) struct Table {
    pub rows: HashMap<RowId, Row>,
    /// State → rows in the order of claims.
    pub index: HashMap<Option<StateId>, BTreeSet<(Vec<Key>, RowId)>>,
    /// Rows that effects inserted: table, values.
    pub effects: Vec<(String, Row)>,
    pub locks: HashMap<String, (String, i64)>,
    pub paused: BTreeSet<String>,
    pub pools: BTreeMap<String, crate::pools::Pool>,
    /// Stage and worker → the leases whose delivery it has begun.
    pub begun: HashMap<(usize, String), Vec<Lease>>,
    /// Stage and row → crashes in a row at which it was being delivered, and when the last one was counted.
    pub crashes: HashMap<(usize, RowId), (u32, i64)>,
    pub next_tsid: u64,
}

/// One part of a row's place in the order of claims; NULLs come first, or last where the order descends.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Key {
    NullFirst,
    Int(i64),
    Text(String),
    Descending(std::cmp::Reverse<i64>),
    NullLast,
}

impl MemoryTable {
    pub fn new(contract: Contract) -> Arc<Self> {
        let contract = contract.remembering_recipients("recipients");
        Arc::new(Self { contract, inner: Mutex::default(), started: Instant::now(), written: Notify::new() })
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Table> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The table's own clock, in microseconds since 1970.
    pub fn now(&self) -> i64 {
        EPOCH + i64::try_from(self.started.elapsed().as_micros()).unwrap_or(i64::MAX - EPOCH)
    }

    /// Inserts or replaces a row; its key column must be there.
    pub fn insert(&self, row: Row) {
        let id = row_id(&row[&self.contract.table.id]);
        self.lock().write(&self.contract, &id, row);
        self.written.notify_waiters();
    }

    pub fn row(&self, id: &RowId) -> Option<Row> {
        self.lock().rows.get(id).cloned()
    }

    pub fn rows(&self) -> Vec<Row> {
        let table = self.lock();
        let mut rows: Vec<_> = table.rows.iter().collect();
        rows.sort_by(|a, b| a.0.cmp(b.0));
        rows.into_iter().map(|(_, row)| row.clone()).collect()
    }

    /// What effects have inserted so far.
    pub fn effects(&self) -> Vec<(String, Row)> {
        self.lock().effects.clone()
    }

    /// Changes a row as another program would, past every fence.
    pub fn edit(&self, id: &RowId, change: impl FnOnce(&mut Row)) {
        let mut table = self.lock();
        if let Some(mut row) = table.rows.get(id).cloned() {
            change(&mut row);
            table.write(&self.contract, id, row);
        }
    }
}

impl Table {
    /// The one way to change a row: keeps the index true.
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

    pub fn delete(&mut self, contract: &Contract, id: &RowId) {
        if let Some(old) = self.rows.remove(id)
            && let Some(rows) = self.index.get_mut(&state_of(contract, &old))
        {
            rows.remove(&(order_key(contract, &old), id.clone()));
        }
    }

    /// Keys of rows in any of these states, in the order of claims.
    pub fn in_states(&self, states: &[StateId]) -> Vec<RowId> {
        let mut places: Vec<_> =
            states.iter().filter_map(|state| self.index.get(&Some(*state))).flatten().collect();
        if states.len() > 1 {
            places.sort();
        }
        places.into_iter().map(|(_, id)| id.clone()).collect()
    }
}

fn order_key(contract: &Contract, row: &Row) -> Vec<Key> {
    contract
        .claim
        .order
        .iter()
        .filter(|order| order.role != Role::Id)
        .map(|order| {
            let value =
                contract.column(order.role).and_then(|column| row.get(column)).unwrap_or(&Value::Null);
            key(value, order.descending)
        })
        .collect()
}

pub(crate) fn key(value: &Value, descending: bool) -> Key {
    match (value, descending) {
        (Value::Int(int), false) => Key::Int(*int),
        (Value::Int(int), true) => Key::Descending(std::cmp::Reverse(*int)),
        (Value::Text(text), _) => Key::Text(text.clone()),
        (_, false) => Key::NullFirst,
        (_, true) => Key::NullLast,
    }
}

/// A key column's value as the key that crosses the seam.
pub(crate) fn row_id(value: &Value) -> RowId {
    match value {
        Value::Int(int) => RowId::Int(*int),
        Value::Text(text) => RowId::Text(text.as_str().into()),
        other => panic!("a key is a whole number or text, not {other:?}"),
    }
}
