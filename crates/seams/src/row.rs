//! A claimed row as a store passes it to the engine and the composer.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use postrider_contract::{Counters, GroupMode, StateId};

/// A row's key. Key types that are not integers (UUID, CHAR, TSID) are represented as text.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RowId {
    Int(i64),
    Text(Arc<str>),
}

impl fmt::Display for RowId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(id) => write!(f, "{id}"),
            Self::Text(id) => f.write_str(id),
        }
    }
}

/// One value of a column, in the few types that all stores share.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Value {
    #[default]
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    /// A binary column, or text that is not valid UTF-8.
    Bytes(Vec<u8>),
}

impl Value {
    /// Returns the text; `None` for any other type.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// The right to settle one row: its key, and the values that the claim (or the last extension) wrote, as read back.
#[derive(Debug, Clone, PartialEq)]
pub struct Lease {
    pub id: RowId,
    pub fence: Box<[Value]>,
}

/// A row that this worker holds.
#[derive(Debug, Clone)]
pub struct ClaimedRow {
    pub lease: Lease,
    pub counters: Counters,
    /// Consecutive crashes during a delivery of this row; see [`postrider_contract::SUSPECT_CRASHES`].
    pub crashes: u32,
    /// Microseconds since the last crash, by the database's clock.
    pub since_crash: i64,
    /// The ready state from which it was claimed, if the store knows it.
    pub from: Option<StateId>,
    /// The ordered group: rows of one key are delivered in the order of the claim, one after another. `None` without
    /// order.
    pub group: Option<RowGroup>,
    pub pool: Option<Arc<str>>,
    /// The fairness key; `None` if the contract has none.
    pub share: Option<Arc<str>>,
    /// Microseconds for which the row had been due when it was claimed, by the database's clock.
    pub waited_micros: i64,
    /// Size of all message columns in bytes. Above `store::INLINE_LIMIT` `fields` is `None`: `Store::load` fetches
    /// them.
    pub size: u64,
    pub fields: Option<Fields>,
}

impl ClaimedRow {
    /// Returns the bytes of message columns that the row holds in memory.
    pub fn inline_bytes(&self) -> u64 {
        if self.fields.is_some() { self.size } else { 0 }
    }
}

/// The ordered group of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowGroup {
    pub key: Arc<str>,
    /// The effect of a failure of this row on those behind it; never `Parallel`.
    pub on_error: GroupMode,
}

/// The field that holds the database's time, in milliseconds since 1970, if the contract joins or counts.
pub const CLOCK: &str = "clock";

/// The field that holds the time at which the row reached its stage, in milliseconds since 1970, if the contract has a
/// history.
pub const REACHED: &str = "history.reached";

/// The message columns of one row, under the composer's field names (`to`, `headers.deal_id`, `event.section_id`).
/// Clones share the values.
#[derive(Debug, Clone, Default)]
pub struct Fields {
    names: Arc<[String]>,
    values: Arc<[Value]>,
    /// Fields that were computed from the others, which they override.
    computed: Option<Arc<Fields>>,
}

impl Fields {
    /// Creates fields; `names` is shared by all rows of a statement.
    pub fn new(names: Arc<[String]>, values: Vec<Value>) -> Self {
        debug_assert_eq!(names.len(), values.len(), "one value per name");
        Self { names, values: values.into(), computed: None }
    }

    /// Returns the fields with computed ones, which override fields of the same name.
    #[must_use]
    pub fn with_computed(&self, names: Arc<[String]>, values: Vec<Value>) -> Self {
        Self { computed: Some(Arc::new(Self::new(names, values))), ..self.clone() }
    }

    /// Returns the value of a field; `Null` if the table has no such column.
    pub fn get(&self, name: &str) -> &Value {
        static NULL: Value = Value::Null;
        if let Some(computed) = self.computed.as_ref().filter(|computed| computed.has(name)) {
            return computed.get(name);
        }
        self.names.iter().position(|known| known == name).map_or(&NULL, |index| &self.values[index])
    }

    /// Whether the table has a column for this field, or it is computed.
    pub fn has(&self, name: &str) -> bool {
        let computed = self.computed.as_ref().is_some_and(|computed| computed.has(name));
        computed || self.names.iter().any(|known| known == name)
    }

    /// Iterates over names and values: those of the statement in its order, then the computed ones.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        let computed = self.computed.as_deref().into_iter().flat_map(Self::own);
        self.own().chain(computed)
    }

    fn own(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.names.iter().map(String::as_str).zip(self.values.iter())
    }
}

/// Named values from a composer or a transport, for a contract's `$envelope.X` and `$outcome.X`.
pub type Detail = BTreeMap<String, Value>;
