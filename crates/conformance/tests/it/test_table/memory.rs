//! A table in memory; the harness reads its rows directly.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use postrider_conformance::subject::UNMAPPED_COLUMN;
use postrider_conformance::{
    Cell, ColumnKind, Row, Subject, TableColumn, TestPoolLimits, TestTable, TestedStore,
};
use postrider_contract::ColumnRole;
use postrider_seams::{Backend, RowId, Value};
use postrider_store_memory::{MemoryStore, MemoryTable};

pub struct MemoryTestTable {
    table: Arc<MemoryTable>,
    stage: usize,
    name: String,
    id: String,
    times: BTreeSet<String>,
    columns: Vec<TableColumn>,
}

impl MemoryTestTable {
    pub fn new(subject: &Subject) -> Self {
        let contract = &subject.contract;
        Self {
            table: MemoryTable::new(contract.clone()),
            stage: subject.stage,
            name: contract.table.name.clone(),
            id: contract.table.id.clone(),
            times: subject.time_columns(),
            columns: columns(subject),
        }
    }

    fn cells(&self, row: &postrider_store_memory::Row) -> Row {
        row.iter().map(|(column, value)| (column.clone(), self.cell(column, value))).collect()
    }

    fn cell(&self, column: &str, value: &Value) -> Cell {
        match value {
            Value::Null => Cell::Null,
            Value::Int(micros) if self.times.contains(column) => Cell::Time(*micros),
            Value::Int(int) => Cell::Int(*int),
            Value::Bool(value) => Cell::Int(i64::from(*value)),
            Value::Float(value) => Cell::text(value.to_string()),
            Value::Text(text) => Cell::text(text),
            Value::Bytes(bytes) => Cell::Bytes(bytes.clone()),
        }
    }
}

/// Returns columns with whole-number keys where the reference tables have them; all message columns are required.
fn columns(subject: &Subject) -> Vec<TableColumn> {
    let contract = &subject.contract;
    let column = |name: &str, kind, required| TableColumn {
        name: name.to_owned(),
        kind,
        required,
        generated: false,
        length: None,
    };
    let id = if contract.name == "mail_outbox" { ColumnKind::Int } else { ColumnKind::Text };
    let mut columns =
        vec![column(&contract.table.id, id, true), column(UNMAPPED_COLUMN, ColumnKind::Text, true)];
    let mut known: BTreeSet<String> = columns.iter().map(|column| column.name.clone()).collect();
    let roles = ColumnRole::ALL.into_iter().filter_map(|role| Some((role, contract.column(role)?)));
    for (role, name) in roles {
        let kind = match role {
            ColumnRole::Attempts
            | ColumnRole::MaxAttempts
            | ColumnRole::Version
            | ColumnRole::Duration
            | ColumnRole::Priority => ColumnKind::Int,
            role if role.is_time() => ColumnKind::Time,
            _ => ColumnKind::Text,
        };
        if known.insert(name.to_owned()) {
            columns.push(column(name, kind, false));
        }
    }
    for (_, name) in contract.message_columns() {
        if known.insert(name.clone()) {
            columns.push(column(&name, ColumnKind::Text, true));
        }
    }
    columns
}

fn value(cell: &Cell) -> Value {
    match cell {
        Cell::Null => Value::Null,
        Cell::Int(int) | Cell::Time(int) => Value::Int(*int),
        Cell::Text(text) => Value::Text(text.clone()),
        Cell::Bytes(bytes) => Value::Bytes(bytes.clone()),
    }
}

fn row_id(cell: &Cell) -> RowId {
    match cell {
        Cell::Int(id) => RowId::Int(*id),
        Cell::Text(id) => RowId::Text(id.as_str().into()),
        other => panic!("no key: {other:?}"),
    }
}

#[async_trait]
impl TestTable for MemoryTestTable {
    fn kind(&self) -> TestedStore {
        TestedStore::Memory
    }

    async fn open(&self, worker: &str) -> Arc<dyn Backend> {
        MemoryStore::open(&self.table, self.stage, worker)
    }

    fn columns(&self) -> &[TableColumn] {
        &self.columns
    }

    async fn now(&self) -> i64 {
        self.table.now()
    }

    async fn insert(&self, table: &str, rows: &[Row]) {
        assert_eq!(table, self.name, "only the contract's own table is kept as rows");
        for row in rows {
            self.table.insert(row.iter().map(|(column, cell)| (column.clone(), value(cell))).collect());
        }
    }

    async fn select(&self, table: &str, key: Option<(&str, &Cell)>) -> Vec<Row> {
        let rows: Vec<Row> = if table == self.name {
            self.table.rows().iter().map(|row| self.cells(row)).collect()
        } else {
            let effects = self.table.effects();
            effects.iter().filter(|(name, _)| name == table).map(|(_, row)| self.cells(row)).collect()
        };
        let wanted = |row: &Row| key.is_none_or(|(column, cell)| row.get(column) == Some(cell));
        rows.into_iter().filter(wanted).collect()
    }

    async fn fence(&self, id: &Cell, column: &str) -> Value {
        let id = match id {
            Cell::Int(id) => RowId::Int(*id),
            Cell::Text(id) => RowId::Text(id.as_str().into()),
            other => panic!("no key: {other:?}"),
        };
        self.table.row(&id).expect("the row is there")[column].clone()
    }

    async fn set_pool(&self, name: &str, limits: TestPoolLimits) {
        let small = |limit: i64| u32::try_from(limit).expect("a small number");
        let TestPoolLimits { concurrency, rate, paused } = limits;
        let limits = postrider_store_memory::PoolLimits {
            concurrency: concurrency.map(small),
            rate: rate.map(small),
            paused,
        };
        self.table.set_pool(name, limits);
    }

    async fn update(&self, id: &Cell, changes: &Row) {
        assert!(!changes.contains_key(&self.id), "a key stays");
        self.table.edit(&row_id(id), |row| {
            row.extend(changes.iter().map(|(column, cell)| (column.clone(), value(cell))));
        });
    }
}
